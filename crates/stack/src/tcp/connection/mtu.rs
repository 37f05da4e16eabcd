//! Packetization layer path MTU discovery (RFC 4821): segments that are too long for their path are found by what arrives,
//! where no router tells of them.
//!
//! Segments that time out again and again may be too long: they become shorter (black-hole detection, section 7.7). Then a
//! longer one is tried now and then, a probe, out of new data; its acknowledgement raises the segment size to its own. The
//! segment size is `search_low` and `eff_pmtu` of the RFC in one, and all sizes are of data without options.

use super::super::seq::Seq;
use super::super::{MILLISECOND, SECOND};
use super::{Connection, End, LEAST_MSS, State};

/// Time-outs in a row after which segments are taken for too long: three transmissions more of the same were lost, which is
/// R1 (RFC 4821, section 7.7; RFC 9293, section 3.8.3).
const TIMEOUTS: u8 = 4;
/// Segment size that nearly all paths take (section 7.2).
const BASE: u32 = 1024;
/// Bytes that a longer segment must gain at least, and so the error of a search that has ended (section 7.3).
const MARGIN: u32 = 8;
/// Segments that must be able to follow a probe, so that its loss is found without a time-out (section 7.4).
const BEHIND: u32 = 3;
/// Time for which a lost probe says that the path takes no more; then the search begins anew (RFC 8201, section 4).
const MEMORY: u64 = 600 * SECOND;

/// Search for the longest segment that a path takes (RFC 4821).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MtuSearch {
    /// Only routers tell of a path that takes less than its ends.
    Off,
    /// Segments that time out again and again become shorter; longer ones are tried then, and when what a router has told is
    /// forgotten.
    #[default]
    AfterBlackHole,
    /// A connection begins with short segments, and tries longer ones.
    Always,
}

/// A segment that is longer than others.
#[derive(Clone, Copy, Debug)]
struct Probe {
    from: Seq,
    to: Seq,
    mss: u32,
    /// It is lost: bytes that are yet to be sent again.
    lost: Option<u32>,
}

/// Knowledge of the path.
#[derive(Debug)]
pub(super) struct Path {
    how: MtuSearch,
    /// Most that the link and the peer take; most that routers and the link take; the lesser of both.
    ends: u32,
    told: u32,
    ceiling: u32,
    /// Least that every path takes.
    least: u32,
    /// Most that may get through (`search_high`), and the time until which that is believed.
    high: u32,
    until: u64,
    /// A router has told it: it is tried first.
    named: bool,
    probe: Option<Probe>,
    /// Time before which no probe is sent.
    rests: u64,
    /// Time-outs since something was acknowledged last, and whether an ICMP error says why.
    timeouts: u8,
    explained: bool,
}

impl Path {
    pub(super) fn new(how: MtuSearch, mss: u32) -> Self {
        Self {
            how,
            ends: mss,
            told: mss,
            ceiling: mss,
            least: LEAST_MSS,
            high: mss,
            until: 0,
            named: false,
            probe: None,
            rests: 0,
            timeouts: 0,
            explained: false,
        }
    }

    /// Size of segments that nearly all paths take.
    fn base(&self) -> u32 {
        BASE.max(self.least)
    }

    /// Takes what link and peer take; returns the size of the first segments.
    pub(super) fn begin(&mut self, ends: u32) -> u32 {
        self.ends = ends;
        self.ceiling = ends.min(self.told);
        self.high = self.ceiling;
        if self.how == MtuSearch::Always { self.ceiling.min(self.base()) } else { self.ceiling }
    }

    /// Size of the next probe (section 7.3): half-way to what may get through, or that itself, where a router has told it
    /// or little is left to it; None where it is not worth a probe.
    fn next(&self, mss: u32) -> Option<u32> {
        let gap = self.high.saturating_sub(mss);
        let last = self.named || self.high == self.ceiling && gap < 4 * MARGIN;
        (gap >= MARGIN).then(|| if last { self.high } else { mss + gap.div_ceil(2) })
    }

    /// Something was acknowledged.
    #[inline]
    pub(super) fn progressed(&mut self) {
        (self.timeouts, self.explained) = (0, false);
    }
}

/// Next of what is new to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Turn {
    /// Segments of the usual size.
    Plain,
    /// A probe of this size.
    Probe(u32),
    /// A probe, which the congestion window will have room for soon.
    Held,
}

impl Connection {
    /// Takes the size of what the path takes, without options: the link's, or less where a router has told so. No path takes
    /// less than `least`. Where it is less than the segment size, what is under way was too long, and is sent again in shorter
    /// segments (RFC 1191, section 6.5).
    #[inline]
    pub fn set_path_mss(&mut self, mss: u32, least: u32) {
        if (self.path.told, self.path.least) != (mss.max(LEAST_MSS), least.max(LEAST_MSS)) {
            self.take_path(mss.max(LEAST_MSS), least.max(LEAST_MSS));
        }
    }

    #[cold]
    fn take_path(&mut self, mss: u32, least: u32) {
        let path = &mut self.path;
        let before = path.ceiling;
        (path.told, path.least, path.ceiling) = (mss, least, path.ends.min(mss));
        let ceiling = path.ceiling;
        if ceiling < self.mss {
            // A router says what was wrong: nothing has to be found out.
            path.progressed();
            (path.high, path.probe) = (ceiling, None);
            self.mss = ceiling;
            self.congestion.set_mss(self.segment());
            return self.flight.lose_all(false);
        }
        if ceiling > before {
            // What a router told was forgotten (RFC 1191, section 6.3).
            (path.high, path.named) = (ceiling, false);
        } else if ceiling < path.high {
            // RFC 4821, section 7.6.2: a router tells of a probe. That of a size in between is not for nothing.
            (path.high, path.named) = (ceiling, true);
            if let Some(probe) = path.probe.filter(|probe| probe.mss > ceiling && probe.lost.is_none()) {
                self.flight.lose(probe.from, probe.to);
                self.is_only_a_probe_lost();
            }
        }
        let sure = if self.path.how == MtuSearch::Off { ceiling } else { least.min(ceiling) };
        if sure > self.mss {
            self.lengthen(sure);
        }
    }

    /// Sends longer segments from now on. The congestion window counts bytes, and does not grow by that (RFC 4821, section 4).
    fn lengthen(&mut self, mss: u32) {
        self.mss = mss;
        self.congestion.resize(self.segment());
    }

    /// Takes the news that the peer cannot be reached. It ends a connection that is being made, as in the usual systems (RFC
    /// 5461, section 4.1), no other (RFC 1122, section 4.2.3.9): there it is the reason told if nothing is acknowledged in time,
    /// and time-outs are no sign of segments that are too long (section 7.7).
    pub fn unreachable(&mut self) {
        self.path.explained = true;
        if self.state == State::SynSent {
            self.learn_of_failure();
            self.give_up();
        }
    }

    /// Ends the connection: the peer acknowledges nothing, or cannot be reached.
    pub(super) fn give_up(&mut self) {
        self.finish(Some(if self.path.explained { End::Unreachable } else { End::TimedOut }));
    }

    // ---- probes ----

    /// Decides whether a probe is next of what is new.
    #[inline]
    pub(super) fn turn(&mut self, now: u64) -> Turn {
        if self.mss + MARGIN > self.path.ceiling { Turn::Plain } else { self.look_for_probe(now) }
    }

    /// RFC 4821, section 7.4: there is no probe and no loss, the rest after a lost probe is over, and data and windows are
    /// enough for a probe and those behind it.
    fn look_for_probe(&mut self, now: u64) -> Turn {
        let path = &mut self.path;
        if path.high < path.ceiling && now >= path.until && !path.named {
            path.high = path.ceiling;
        }
        let Some(mss) = path.next(self.mss).filter(|_| path.probe.is_none() && now >= path.rests) else {
            return Turn::Plain;
        };
        let len = mss - self.stamps.len();
        let needs = len + BEHIND * self.segment();
        // Our FIN, or what a window let out that has shrunk since, may lie behind either.
        let until = |end: Seq| if self.nxt.is_before(end) { self.nxt.to(end) } else { 0 };
        let (unsent, window) = (until(self.front.plus(self.queue.len())), until(self.una.plus(self.window)));
        let forced = self.timers.tail_new || self.timers.forced;
        let losses = !self.phase.is_open() || self.flight.sacked() > 0;
        if forced || losses || self.timers.duplicates > 0 || unsent.min(window).min(self.congestion.window()) < needs {
            return Turn::Plain;
        }
        // Acknowledgements of what is under way make room for it: less than a window's worth is waited for.
        let room = self.congestion.window().saturating_sub(self.flight.flying());
        if room >= len { Turn::Probe(mss) } else { Turn::Held }
    }

    /// Notes that a probe was sent.
    pub(super) fn sent_probe(&mut self, from: Seq, to: Seq, mss: u32) {
        self.counters.path_probes += 1;
        self.path.probe = Some(Probe { from, to, mss, lost: None });
    }

    /// Looks after an acknowledgement what it says of a probe.
    #[inline]
    pub(super) fn judge_probe(&mut self, now: u64) {
        if let Some(probe) = self.path.probe.filter(|probe| probe.from.is_before(self.una)) {
            self.judge(now, probe);
        }
    }

    fn judge(&mut self, now: u64, probe: Probe) {
        match probe.lost {
            // Something between has cut it.
            None if self.una.is_before(probe.to) => {}
            // It waits until all of it is acknowledged, so that losses behind it are seen before.
            Some(_) if self.una.is_before(probe.to) => return,
            Some(0) => self.probe_failed(now, probe.mss, 1),
            // Section 7.6.1. It is the same if it was only late.
            _ => {
                self.path.named = false;
                self.lengthen(probe.mss.max(self.mss));
            }
        }
        self.path.probe = None;
    }

    /// Section 7.6.2: the path takes less. As a loss that does not slow the sender down must be rarer than those that do, no
    /// probe follows for as many round trips as the congestion window has segments; section 7.6.3: five times as many where
    /// it was found by a time-out.
    fn probe_failed(&mut self, now: u64, mss: u32, times: u64) {
        let trip = self.rtt.smoothed().unwrap_or(SECOND).max(MILLISECOND / 10);
        let trips = u64::from(self.congestion.window() / self.segment()).max(1);
        self.path.rests = now.saturating_add(trip.saturating_mul(trips * times));
        self.path.until = now.saturating_add(MEMORY);
        // A router may have told of it before.
        if mss <= self.path.high {
            (self.path.high, self.path.named) = (mss - 1, false);
        }
    }

    /// True if a probe is all that is lost: that is no sign of congestion (section 7.6.2). Where other segments are lost, too,
    /// before it or behind it, the probe has told nothing (section 7.6.4).
    pub(super) fn is_only_a_probe_lost(&mut self) -> bool {
        let Some(probe) = &mut self.path.probe else { return false };
        let within = match probe.lost {
            Some(left) => left,
            None => self.flight.lost_within(probe.from, probe.to),
        };
        let known = within > 0 || probe.lost.is_some();
        if self.phase.is_open() && self.flight.lost() <= within {
            probe.lost = known.then_some(within);
            return true;
        }
        if known {
            self.path.probe = None;
        }
        false
    }

    /// Notes that a range was sent again, in segments of the usual size: it may be of a probe.
    #[inline]
    pub(super) fn sent_probe_again(&mut self, from: Seq, to: Seq) {
        if let Some(Probe { from: first, to: last, lost: Some(left), .. }) = &mut self.path.probe {
            let (from, to) = (from.max(*first), to.min(*last));
            *left = left.saturating_sub(if from.is_before(to) { from.to(to) } else { 0 });
        }
    }

    /// Bytes of a first segment that is lost, where receivers do not say what has arrived behind it.
    pub(super) fn first(&self) -> u32 {
        let probe = self.path.probe.filter(|probe| probe.lost.is_none() && probe.from == self.una);
        probe.map_or(self.segment(), |probe| probe.from.to(probe.to))
    }

    // ---- black holes ----

    /// Takes a time-out, after which all is to be sent again.
    pub(super) fn path_timed_out(&mut self, now: u64) {
        if let Some(probe) = self.path.probe.take()
            && probe.from == self.una
            && probe.lost.is_none()
        {
            self.probe_failed(now, probe.mss, 5);
        }
        self.path.timeouts = self.path.timeouts.saturating_add(1);
        if self.path.how != MtuSearch::Off && !self.path.explained && self.path.timeouts >= TIMEOUTS {
            self.suspect_black_hole();
        }
    }

    /// RFC 4821, section 7.7: segments become as short as nearly all paths take them, and with each further time-out half as
    /// long; not those that are no longer than that anyway.
    fn suspect_black_hole(&mut self) {
        let path = &mut self.path;
        let halves = (path.timeouts - TIMEOUTS).min(31);
        let mss = (path.base() >> halves).max(path.least);
        let lost = self.flight.next_lost(self.mss).map_or(0, |(from, to)| from.to(to));
        if mss >= self.mss || lost <= mss - self.stamps.len() {
            return;
        }
        (path.high, path.named) = (path.ceiling, false);
        self.mss = mss;
        self.congestion.resize(self.segment());
        self.counters.black_holes += 1;
    }
}

//! Timers: of retransmission, of the tail's probe, of reordering, of a closed window, and of the end.

use super::super::seq::Seq;
use super::super::{MILLISECOND, SECOND};
use super::recovery::Phase;
use super::{Connection, State};
use crate::due::Due;

/// Time for which a receiver may hold back the acknowledgement of a single segment (RFC 8985, section 7.2, WCDelAckT).
const HELD_BACK: u64 = 200 * MILLISECOND;
/// Time for which any may be late.
const SHORT: u64 = 2 * MILLISECOND;
/// Least time between two challenge ACKs (RFC 5961, section 7; as Linux does).
const CHALLENGES: u64 = 500 * MILLISECOND;
/// Silence after which empty memory is given back.
const REST: u64 = SECOND;
/// Time for which a SYN is sent again before the connection is given up: six times, in the end 64 s apart.
const SYN_PATIENCE: u64 = 127 * SECOND;
/// The same where it is in the way of others: twice. Linux prunes such ones likewise.
const CROWDED: u64 = 3 * SECOND;

/// Times at which something is due.
#[derive(Debug)]
pub(super) struct Timers {
    /// Retransmission time-out.
    timeout: Due,
    /// Something that was overtaken is lost then (RFC 8985, section 6.2).
    pub(super) reorder: Due,
    /// Probe of the tail (RFC 8985, section 7.2).
    tail: Due,
    /// More new data may leave.
    pub(super) pace: Due,
    /// Probe of a window that is closed (RFC 9293, section 3.8.6.1), and the number of those in a row.
    persist: Due,
    persists: u8,
    /// End of TIME-WAIT, or of FIN-WAIT-2 when nobody waits for more.
    wait: Due,
    /// Memory that is empty then, and was for a while, is given back.
    rest: Due,
    /// Time since which nothing was acknowledged.
    pub(super) since: u64,
    challenged: Option<u64>,
    /// Acknowledgements that tell nothing new, in a row.
    pub(super) duplicates: u8,
    /// A probe of the tail is under way: the number behind all that was sent by then, and the end of the probe, if it is of
    /// something that was sent before.
    pub(super) probed: Option<(Seq, Option<Seq>)>,
    /// To be sent: the tail again, or a segment of new data beyond the congestion window.
    pub(super) tail_again: bool,
    pub(super) tail_new: bool,
    /// To be sent: less than a segment, though the window is small; a probe of the window.
    pub(super) forced: bool,
    pub(super) probe: bool,
}

impl Timers {
    pub(super) fn new(now: u64) -> Self {
        Self {
            timeout: Due::NEVER,
            reorder: Due::NEVER,
            tail: Due::NEVER,
            pace: Due::NEVER,
            persist: Due::NEVER,
            persists: 0,
            wait: Due::NEVER,
            rest: Due::NEVER,
            since: now,
            challenged: None,
            duplicates: 0,
            probed: None,
            tail_again: false,
            tail_new: false,
            forced: false,
            probe: false,
        }
    }

    /// Nothing is due any more.
    pub(super) fn clear(&mut self) {
        *self = Self { challenged: self.challenged, ..Self::new(self.since) };
    }

    /// Something was acknowledged (RFC 6298, sections 5.2 and 5.3).
    #[inline]
    pub(super) fn progressed(&mut self, now: u64, timeout: u64, done: bool) {
        self.since = now;
        self.timeout = if done { Due::NEVER } else { Due::after(now, timeout) };
        self.tail = Due::NEVER;
    }

    /// Data were sent: the tail is another one (RFC 8985, section 7.2).
    #[inline]
    pub(super) fn sent_data(&mut self) {
        self.tail = Due::NEVER;
    }

    /// The first of what is under way was sent again: a time-out before its acknowledgement can be here would be for nothing.
    pub(super) fn wait_anew(&mut self, now: u64, timeout: u64) {
        self.timeout = Due::after(now, timeout);
    }

    /// The peer's window is open again.
    pub(super) fn opened(&mut self) {
        (self.persist, self.persists, self.probe, self.forced) = (Due::NEVER, 0, false, false);
    }

    /// Ends the connection at a time, unless that is set already.
    pub(super) fn wait_once(&mut self, until: u64) {
        self.wait.set_once(Due::at(until));
    }

    /// Ends TIME-WAIT at a time.
    pub(super) fn wait(&mut self, until: u64) {
        self.wait = Due::at(until);
    }

    /// True if a challenge ACK may be sent now.
    pub(super) fn may_challenge(&mut self, now: u64) -> bool {
        let may = self.challenged.is_none_or(|before| now.saturating_sub(before) >= CHALLENGES);
        if may {
            self.challenged = Some(now);
        }
        may
    }

    #[inline]
    fn next(&self) -> Due {
        let (first, second) = (self.timeout.min(self.reorder), self.tail.min(self.persist));
        first.min(second).min(self.wait.min(self.rest)).min(self.pace)
    }
}

impl Connection {
    /// Time at which [`poll`](Self::poll) has something to do, if nothing happens before.
    #[must_use]
    #[inline]
    pub fn poll_timeout(&self) -> Option<u64> {
        self.due().time()
    }

    /// The same.
    #[inline]
    pub(crate) fn due(&self) -> Due {
        let now = if self.reset.is_some() { Due::NOW } else { Due::NEVER };
        self.timers.next().min(self.keep.at).min(self.receive.due_at()).min(now)
    }

    /// Sets the timers that what is under way needs.
    #[inline]
    pub(super) fn arm(&mut self, now: u64) {
        if !self.timers.rest.is_set() && self.queue.is_empty() && self.memory() > 0 {
            self.timers.rest = Due::after(now, REST);
        }
        if self.flight.is_empty() {
            (self.timers.timeout, self.timers.tail, self.timers.reorder) = (Due::NEVER, Due::NEVER, Due::NEVER);
            self.timers.probed = None;
            return self.arm_persist(now);
        }
        self.timers.persist = Due::NEVER;
        let timeout = self.timers.timeout.set_once(Due::after(now, self.rtt.timeout()));
        // RFC 8985, section 7.2; but in a recovery, too. What is sent again there may be acknowledged all at once: that one
        // segment or its acknowledgement is lost would be known by a time-out only.
        let recovers = matches!(self.phase, Phase::Recovery { .. });
        let may = recovers || self.phase.is_open() && self.flight.sacked() == 0;
        if !may || !self.sack || self.timers.probed.is_some() || self.una == self.iss {
            self.timers.tail = Due::NEVER;
            return;
        }
        if !self.timers.tail.is_set() {
            let trip = self.rtt.smoothed().map_or(SECOND, |smoothed| 2 * smoothed);
            let waits = !recovers && self.flight.flying() <= self.segment();
            let held = if waits { HELD_BACK } else { SHORT };
            self.timers.tail = Due::after(now, trip.saturating_add(held)).min(timeout);
        }
    }

    /// With nothing under way and something to be sent, the window is probed.
    fn arm_persist(&mut self, now: u64) {
        let end = self.front.plus(self.queue.len()).plus(u32::from(self.closing));
        let waits = self.nxt.is_before(end) && self.una != self.iss && self.state != State::Closed;
        if !waits {
            self.timers.opened();
        } else if !self.timers.persist.is_set() {
            let time = self.rtt.timeout().saturating_mul(1 << self.timers.persists.min(16)).min(60 * SECOND);
            self.timers.persist = Due::after(now, time);
        }
    }

    /// Does what is due.
    pub(super) fn fire(&mut self, now: u64) {
        if self.keep.at.has_come(now) {
            self.keep_alive(now);
        }
        if !self.timers.next().has_come(now) {
            return;
        }
        if self.timers.wait.take(now) {
            return self.finish(None);
        }
        if self.timers.rest.take(now) {
            self.rest(now);
        }
        self.timers.pace.take(now);
        if self.timers.reorder.take(now) {
            self.find_lost(now, 0);
        }
        if self.timers.tail.take(now) {
            self.probe_tail(now);
        }
        if self.timers.timeout.take(now) && !self.flight.is_empty() {
            self.time_out(now);
        }
        if self.timers.persist.take(now) {
            if now.saturating_sub(self.timers.since) > self.config.patience {
                return self.give_up();
            }
            self.timers.persists = self.timers.persists.saturating_add(1);
            if self.window == 0 {
                self.timers.probe = true
            } else {
                self.timers.forced = true
            }
            self.counters.probes += 1;
        }
    }

    /// Gives back memory that has been empty since the time that the timer was set for.
    fn rest(&mut self, now: u64) {
        let since = self.last_sent.max(self.heard);
        if now.saturating_sub(since) < REST {
            self.timers.rest = Due::after(since, REST);
            return;
        }
        if self.queue.is_empty() {
            self.queue.release();
        }
        self.receive.rest();
    }

    /// RFC 8985, section 7.3: new data, or the last segment again.
    fn probe_tail(&mut self, now: u64) {
        let (end, edge) = (self.front.plus(self.queue.len()), self.una.plus(self.window));
        let least = if self.config.nagle { self.segment() } else { 1 };
        let fits = self.nxt.plus(least).is_until(end.min(edge));
        if fits {
            self.timers.tail_new = true
        } else {
            self.timers.tail_again = true
        }
        self.timers.probed = Some((self.nxt, (!fits).then_some(self.nxt)));
        self.timers.timeout = Due::after(now, self.rtt.timeout());
        self.counters.probes += 1;
    }

    /// RFC 6298, sections 5.4 to 5.7; RFC 5681, section 3.1.
    fn time_out(&mut self, now: u64) {
        let handshake = self.una == self.iss;
        let patience = match handshake {
            true if self.crowded => CROWDED,
            true => SYN_PATIENCE,
            false => u64::MAX,
        };
        let patience = patience.min(self.config.patience);
        if now.saturating_sub(self.timers.since) >= patience {
            let told = (!handshake).then(|| (self.nxt, Some(self.receive.nxt())));
            self.give_up();
            self.reset = told;
            return;
        }
        if self.counters.timeouts == 0 {
            self.learn_of_failure();
        }
        self.counters.timeouts += 1;
        let first = !self.phase.is_slow();
        self.flight.lose_all(!first);
        if !handshake {
            self.path_timed_out(now);
            self.congestion.timed_out(self.in_use(), first);
            self.has_reduced();
            self.phase = Phase::Loss { point: self.nxt, doubted: first && self.sack };
        }
        self.rtt.back_off();
        (self.timers.tail, self.timers.reorder, self.timers.probed) = (Due::NEVER, Due::NEVER, None);
        (self.timers.tail_again, self.timers.tail_new, self.timers.duplicates) = (false, false, 0);
        self.timers.timeout = Due::after(now, self.rtt.timeout());
    }
}

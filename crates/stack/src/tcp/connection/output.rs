//! Output: what may be sent, in which order (RFC 9293, sections 3.7.4 and 3.8.6.2.1).

use super::super::segment::Outgoing;
use super::super::seq::Seq;
use super::super::{MILLISECOND, low};
use super::mtu::Turn;
use super::{Connection, State};
use crate::due::Due;
use linerate_wire::{SackBlocks, TcpFlags, TcpOptions};

/// Bytes that options take at most.
const OPTIONS: usize = TcpOptions::MAX_LEN;

impl Connection {
    /// Does what is due, and hands out segments while `out` has room for them. To be called after segments have arrived,
    /// after the user's calls, and at [`poll_timeout`](Self::poll_timeout).
    pub fn poll(&mut self, now: u64, out: &mut impl FnMut(&Outgoing<'_>) -> bool) {
        self.wait_as_orphan(now);
        self.fire(now);
        if let Some((seq, ack)) = self.reset {
            let flags = if ack.is_some() { TcpFlags::RST.union(TcpFlags::ACK) } else { TcpFlags::RST };
            let rst = Outgoing {
                seq,
                ack: ack.unwrap_or_default(),
                flags,
                window: 0,
                options: TcpOptions::default(),
                payload: Outgoing::NO_DATA,
                mss: self.mss,
                may_be_marked: false,
                traffic: self.traffic,
            };
            if !out(&rst) {
                return;
            }
            self.reset = None;
        }
        if self.state == State::Closed {
            return;
        }
        if matches!(self.state, State::SynSent | State::SynReceived) && !self.send_syn(now, out) {
            return self.arm(now);
        }
        // Gaps are told of in acknowledgements of their own: data have no room for that.
        if self.receive.is_due(now) && self.receive.tells() && !self.send_acks(now, out) {
            return;
        }
        let room = !self.may_send_data() || self.send_lost(now, out) && self.send_new(now, out);
        if room {
            self.send_acks(now, out);
        }
        self.arm(now);
    }

    /// Sends SYN, or the answer to one; false if `out` has no room.
    fn send_syn(&mut self, now: u64, out: &mut impl FnMut(&Outgoing<'_>) -> bool) -> bool {
        let end = self.iss.plus(1);
        let (again, lost) = (self.nxt != self.iss, self.flight.next_lost(1) == Some((self.iss, end)));
        if again && !lost {
            return true;
        }
        let answers = self.passive || self.state != State::SynSent;
        let cookie = self.option_of_syn(answers, again);
        let options = TcpOptions {
            // An MSS counts no options (RFC 6691); what does not fit is told as the greatest.
            mss: Some(self.own_mss),
            window_scale: (if answers { self.shift.1 > 0 || self.shift.0 > 0 } else { self.config.scaling })
                .then_some(self.receive.shift()),
            sack_permitted: self.sack,
            timestamps: self.stamps.option(now),
            sack: SackBlocks::default(),
            fast_open: cookie,
        };
        let carried = if again { 0 } else { self.data_of_syn(cookie, options.len()) };
        let bits = if answers { TcpFlags::SYN.union(TcpFlags::ACK) } else { TcpFlags::SYN };
        let flags = bits.union(self.ecn_of_syn(answers, again));
        let syn = Outgoing {
            seq: self.iss,
            ack: self.receive.nxt(),
            flags,
            window: self.receive.window(self.receive.nxt(), false),
            options,
            payload: self.queue.get(0, carried as usize),
            mss: self.mss,
            may_be_marked: false,
            traffic: self.traffic,
        };
        if !out(&syn) {
            return false;
        }
        if again {
            self.flight.sent_again(now, self.iss, end);
        } else {
            self.nxt = end.plus(carried);
            self.flight.sent(now, self.iss, end);
            if carried > 0 {
                self.flight.sent(now, end, self.nxt);
                self.last_sent = now;
            }
            self.timers.since = now;
        }
        if answers {
            self.receive.sent_ack(self.receive.nxt());
        }
        true
    }

    /// Sends what is lost again, as far as the congestion window allows; false if `out` has no room.
    fn send_lost(&mut self, now: u64, out: &mut impl FnMut(&Outgoing<'_>) -> bool) -> bool {
        while self.flight.lost() > 0 {
            let segment = self.segment();
            let flying = self.flight.flying();
            let room = self.congestion.window().saturating_sub(flying);
            // One may always go out when nothing is under way.
            if room < segment && flying > 0 {
                return true;
            }
            let most = (room.min(self.burst()) / segment).max(1) * segment;
            let Some((from, to)) = self.flight.next_lost(most) else { return true };
            if !self.send_range(now, from, to, segment, false, out) {
                return false;
            }
            self.flight.sent_again(now, from, to);
            self.sent_probe_again(from, to);
            if from == self.una {
                // Its acknowledgement has a time-out of its own.
                self.timers.wait_anew(now, self.rtt.timeout());
            }
            self.timers.sent_data();
            self.goes_out(from.to(to));
            self.take_pace(now, from.to(to));
            self.count_again(from.to(to));
        }
        if std::mem::take(&mut self.timers.tail_again)
            && let Some((from, to)) = self.flight.tail(self.segment())
        {
            if !self.send_range(now, from, to, self.segment(), false, out) {
                self.timers.tail_again = true;
                return false;
            }
            self.flight.sent_again(now, from, to);
            self.timers.probed = self.timers.probed.map(|(end, _)| (end, Some(to)));
            self.count_again(from.to(to));
        }
        true
    }

    fn count_again(&mut self, bytes: u32) {
        self.counters.sent_again += u64::from(bytes);
        let segments = bytes.div_ceil(self.segment().max(1)).max(1);
        self.counters.segments_again = self.counters.segments_again.wrapping_add(segments);
    }

    /// Sends new data, and FIN; false if `out` has no room.
    fn send_new(&mut self, now: u64, out: &mut impl FnMut(&Outgoing<'_>) -> bool) -> bool {
        self.timers.pace = Due::NEVER;
        let (first, probes) = (self.nxt, self.timers.tail_new);
        loop {
            let (mut len, mut waits) = self.sendable(now);
            let (turn, mut mss) = (self.turn(now), self.segment());
            match turn {
                Turn::Plain => {}
                Turn::Held => return true,
                Turn::Probe(size) => {
                    mss = size - self.stamps.len();
                    (len, waits) = (mss, false);
                }
            }
            let end = self.nxt.plus(len);
            // Where acknowledgements let out a little at a time, more of them are under way: and a receiver that joins segments
            // stops at PSH.
            waits &= probes || first.to(end) >= self.congestion.window() / 2;
            // FIN goes with the last data, or alone; it takes a number of the window.
            let fin = self.fin() == Some(end) && end.is_before(self.una.plus(self.window.max(1)));
            // Before the handshake is over it waits (RFC 9293, section 3.10.4).
            let fin = fin && self.state != State::SynReceived;
            if len == 0 && !fin {
                return true;
            }
            let to = end.plus(u32::from(fin));
            if !self.send_range(now, self.nxt, to, mss, waits, out) {
                return false;
            }
            if let Turn::Probe(size) = turn {
                self.sent_probe(self.nxt, to, size);
            }
            if self.flight.is_empty() {
                self.timers.since = now;
            }
            self.flight.sent(now, self.nxt, to);
            self.timers.sent_data();
            self.peaks[0] = self.peaks[0].max(self.flight.bytes());
            self.goes_out(len);
            self.take_pace(now, len);
            (self.nxt, self.last_sent) = (to, now);
            (self.timers.tail_new, self.timers.forced) = (false, false);
        }
    }

    /// Most bytes that go out at once: no more than a millisecond's share of the congestion window, so that a slow path is not
    /// given a queue's worth at a time, but two segments at least.
    #[inline]
    fn burst(&self) -> u32 {
        let trip = self.rtt.smoothed().unwrap_or(0).max(1);
        let share = u64::from(self.congestion.window()) * MILLISECOND / trip;
        self.burst.min(low(share.min(self.burst.into())).max(2 * self.segment()))
    }

    /// Bytes of new data that may go out at once, FIN not counted, and true if the congestion window lets out no more behind them.
    #[inline]
    fn sendable(&mut self, now: u64) -> (u32, bool) {
        let end = self.front.plus(self.queue.len());
        if !self.nxt.is_before(end) {
            return (0, false);
        }
        let edge = self.una.plus(self.window);
        let unsent = self.nxt.to(end);
        let window = if self.nxt.is_before(edge) { self.nxt.to(edge) } else { 0 };
        let segment = self.segment();
        let flying = self.flight.flying();
        if self.flight.is_empty() && now.saturating_sub(self.last_sent) > self.rtt.timeout() {
            self.congestion.restart();
        }
        let mut room = self.congestion.window().saturating_add(self.limited()).saturating_sub(flying);
        if flying == 0 || self.timers.tail_new {
            room = room.max(segment);
        }
        let len = unsent.min(window).min(room);
        let mut allowance = self.allowance(now);
        if flying == 0 || self.timers.tail_new {
            allowance = allowance.max(segment);
        }
        if allowance < len.min(segment) {
            self.wait_for_pace();
        }
        let len = len.min(allowance).min(self.burst().max(segment));
        if len >= segment {
            let len = len / segment * segment;
            return (len, room - len < segment);
        }
        // Less than a segment: the end of what there is, or of a window that was never larger (section 3.8.6.2.1).
        let whole =
            len == unsent && (!self.config.nagle || self.flight.is_empty() || self.closing || self.flies_syn_alone());
        let most = len == window && len >= self.greatest / 2 && len > 0;
        let forced = self.timers.forced && len == unsent.min(window);
        if room >= len && (whole || most || forced) { (len, false) } else { (0, false) }
    }

    /// Sends numbers `from` to `to`: data, in segments of `mss` bytes, and FIN if it is among them. If more than that is to be
    /// sent but waits for an acknowledgement, the receiver is told that nothing follows (RFC 9293, section 3.9.1.2): it would hold
    /// back the acknowledgement of a last segment, and when the one before was lost, that is all there is to wait for.
    #[inline]
    fn send_range(
        &mut self,
        now: u64,
        from: Seq,
        to: Seq,
        mss: u32,
        waits: bool,
        out: &mut impl FnMut(&Outgoing<'_>) -> bool,
    ) -> bool {
        let fin = self.fin().is_some_and(|fin| fin.is_before(to));
        let end = if fin { to.minus(1) } else { to };
        let len = if from.is_before(end) { from.to(end) } else { 0 };
        // Only new data may be marked, and tell of a reduction (RFC 3168, sections 6.1.2 and 6.1.5).
        let new = len > 0 && from == self.nxt;
        let mut flags = TcpFlags::ACK.union(self.ecn_bits(new));
        if fin {
            flags = flags.union(TcpFlags::FIN);
        }
        if len > 0 && (waits || self.pushed == end) {
            flags = flags.union(TcpFlags::PSH);
        }
        let ack = self.receive.next_ack();
        let window = self.receive.window(ack, true);
        let payload =
            if len > 0 { self.queue.get(self.front.to(from) as usize, len as usize) } else { Outgoing::NO_DATA };
        let segment = Outgoing {
            seq: from,
            ack,
            flags,
            window,
            options: self.options(now),
            payload,
            mss,
            may_be_marked: new && self.marks.on,
            traffic: self.traffic,
        };
        let sent = out(&segment);
        if sent {
            self.receive.sent_ack(ack);
            if new {
                self.has_told();
            }
        }
        sent
    }

    /// Sends acknowledgements that are due, and a probe of the window; false if `out` has no room.
    fn send_acks(&mut self, now: u64, out: &mut impl FnMut(&Outgoing<'_>) -> bool) -> bool {
        if std::mem::take(&mut self.timers.probe) {
            // A number that was acknowledged before: it is answered with the window (as 4.4BSD's and Linux's do).
            if !self.send_ack(now, self.una.minus(1), out) {
                self.timers.probe = true;
                return false;
            }
        }
        while self.receive.is_due(now) {
            if !self.send_ack(now, self.nxt, out) {
                return false;
            }
        }
        true
    }

    fn send_ack(&mut self, now: u64, seq: Seq, out: &mut impl FnMut(&Outgoing<'_>) -> bool) -> bool {
        let (mut options, acked) = (self.options(now), self.receive.next_ack());
        if self.sack && acked == self.receive.nxt() {
            options.sack = self.receive.blocks(OPTIONS - options.len());
        }
        let ack = Outgoing {
            seq,
            ack: acked,
            flags: TcpFlags::ACK.union(self.ecn_bits(false)),
            window: self.receive.window(acked, true),
            options,
            payload: Outgoing::NO_DATA,
            mss: self.mss,
            may_be_marked: false,
            traffic: self.traffic,
        };
        let sent = out(&ack);
        if sent {
            self.receive.sent_ack(acked);
        }
        sent
    }
}

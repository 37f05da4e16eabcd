//! Arrival of a segment (RFC 9293, section 3.10.7; RFC 5961; RFC 7323).

use super::super::segment::Segment;
use super::super::seq::Seq;
use super::super::{MILLISECOND, count, low};
use super::receive::Delay;
use super::recovery::Phase;
use super::{Connection, End, State};
use linerate_wire::TcpFlags;

/// Longest time for which the acknowledgement of a whole segment waits while nothing is sent.
const LONE: u64 = 5 * MILLISECOND;

impl Connection {
    /// Takes a segment whose addresses, ports and checksum are right.
    #[inline]
    pub fn arrive(&mut self, now: u64, segment: &Segment<'_>) {
        self.counters.received += 1;
        self.heard = now;
        match self.state {
            State::Closed => self.refuse(segment),
            State::SynSent => self.arrive_at_syn_sent(now, segment),
            _ => self.arrive_at_rest(now, segment),
        }
    }

    /// Answers a segment for no connection (section 3.10.7.1).
    fn refuse(&mut self, segment: &Segment<'_>) {
        if !segment.has(TcpFlags::RST) {
            self.reset = Some(if segment.has(TcpFlags::ACK) {
                (segment.ack, None)
            } else {
                (Seq(0), Some(segment.seq.plus(segment.len())))
            });
        }
    }

    /// Section 3.10.7.3.
    fn arrive_at_syn_sent(&mut self, now: u64, segment: &Segment<'_>) {
        let answers = segment.has(TcpFlags::ACK);
        if answers && !(self.iss.is_before(segment.ack) && segment.ack.is_until(self.nxt)) {
            if !segment.has(TcpFlags::RST) {
                self.reset = Some((segment.ack, None));
                // The peer remembers a connection from before, which the reset ends: SYN goes behind it, as Linux sends it again
                // without waiting. A peer that goes on like this is not answered so each time.
                if self.counters.timeouts == 0 && self.flies_syn_alone() && self.timers.may_challenge(now) {
                    self.flight.lose_first(1);
                    self.timers.wait_anew(now, self.rtt.timeout());
                }
            }
            return;
        }
        if segment.has(TcpFlags::RST) {
            if answers {
                self.finish(Some(End::Refused));
            }
            return;
        }
        if !segment.has(TcpFlags::SYN) {
            return;
        }
        self.take_syn(now, segment);
        if !answers {
            // Both have begun at the same time (section 3.5, figure 8): our SYN goes out again, with ACK.
            self.state = State::SynReceived;
            self.flight.lose_first(1);
            return;
        }
        self.learn_of_answer(segment);
        self.establish(now, segment);
        self.receive.acknowledge_now();
        // Its text stands behind SYN, and is cut to the window like any.
        self.take_trimmed(now, &Segment { seq: segment.seq.plus(1), ..*segment });
    }

    /// Our SYN is acknowledged.
    fn establish(&mut self, now: u64, segment: &Segment<'_>) {
        // Our user may have closed it already.
        self.state = if self.closing { State::FinWait1 } else { State::Established };
        self.keep(now);
        let lost = self.counters.timeouts > 0;
        self.take_back_data_of_syn(segment.ack);
        if lost && segment.ack.is_before(self.nxt) {
            // What was sent before the handshake was over (Fast Open) goes out again in slow start.
            self.phase = Phase::Loss { point: self.nxt, doubted: false };
        }
        self.take_ack(now, segment);
        if lost {
            self.rtt.after_lost_syn();
            // RFC 5681, section 3.1: after a lost SYN the first window is one segment.
            self.congestion.set_window(self.segment());
        }
    }

    /// Sections 3.10.7.4 and following.
    fn arrive_at_rest(&mut self, now: u64, segment: &Segment<'_>) {
        let reset = segment.has(TcpFlags::RST);
        if self.state == State::SynReceived && !reset && self.is_first_syn(segment) {
            return self.arrive_again(now, segment);
        }
        if !reset && self.stamps.is_old(now, segment.options.timestamps) {
            // RFC 7323, section 5.3, R1; it may be a duplicate, of which DSACK tells.
            self.counters.old_timestamps = self.counters.old_timestamps.saturating_add(1);
            self.came_again(segment);
            return self.challenge(now);
        }
        let (nxt, edge) = (self.receive.nxt(), self.receive.edge());
        if !self.is_acceptable(segment, nxt, edge) {
            self.counters.outside_window = self.counters.outside_window.saturating_add(1);
            if !reset {
                self.came_again(segment);
                // Section 3.10.7.4, first: "an acknowledgment should be sent in reply".
                self.answer(now, segment);
                if self.state == State::TimeWait && !segment.is_empty() && !segment.has(TcpFlags::SYN) {
                    // The acknowledgement of the FIN was lost (section 3.10.7.4, eighth), or even that of data before it. A SYN
                    // may be that of a new connection, which would keep itself waiting.
                    self.timers.wait(now.saturating_add(self.config.linger));
                }
            }
            return;
        }
        if reset {
            // RFC 1337, fix F1: late resets do not end TIME-WAIT. Otherwise RFC 5961, section 3.2.
            if self.state == State::TimeWait {
                return;
            }
            if segment.seq == nxt {
                self.finish(match self.state {
                    State::SynReceived if self.passive && !self.fast.on => Some(End::Refused),
                    // Section 3.10.7.4, second: no error, for all has arrived but the acknowledgement of our FIN.
                    State::Closing | State::LastAck if self.queue.is_empty() => None,
                    _ => Some(End::Reset),
                });
            } else {
                self.challenge(now);
            }
            return;
        }
        if segment.has(TcpFlags::SYN) {
            // RFC 5961, section 4.2.
            return self.challenge(now);
        }
        if !segment.has(TcpFlags::ACK) {
            return;
        }
        let begins = self.state == State::SynReceived;
        if begins && !self.is_new(segment.ack) {
            self.reset = Some((segment.ack, None));
            return;
        }
        // RFC 5961, section 5.2; but what was never sent was never acknowledged either, however large the window is: a
        // forged segment has fewer numbers to hit (as in Linux).
        let oldest = self.una.minus(low(self.counters.acknowledged.min(self.greatest.into())));
        if !begins && (segment.ack.is_before(oldest) || self.nxt.is_before(segment.ack)) {
            return self.challenge(now);
        }
        if segment.seq.is_until(self.receive.acked()) {
            self.stamps.take(now, segment.options.timestamps);
        }
        self.take_mark(segment);
        if begins {
            self.establish(now, segment)
        } else {
            self.take_ack(now, segment)
        }
        self.after_ack(now);
        if matches!(self.state, State::Established | State::FinWait1 | State::FinWait2) {
            self.take_trimmed(now, segment);
        }
    }

    /// True if a segment is the SYN that this connection has already taken. Until that is answered, no other segment has told
    /// the window.
    fn is_first_syn(&self, segment: &Segment<'_>) -> bool {
        segment.has(TcpFlags::SYN) && segment.seq == self.told.0
    }

    /// The SYN of a peer that has begun at the same time comes with an acknowledgement (section 3.5, figure 8), or a peer's
    /// SYN comes again: it has not seen our answer.
    fn arrive_again(&mut self, now: u64, segment: &Segment<'_>) {
        if segment.has(TcpFlags::ACK) && self.is_new(segment.ack) {
            self.establish(now, segment);
            self.receive.acknowledge_now();
        } else {
            self.flight.lose_first(1);
        }
    }

    /// True if an acknowledgement is of something that was not acknowledged before, and was sent.
    fn is_new(&self, ack: Seq) -> bool {
        self.una.is_before(ack) && ack.is_until(self.nxt)
    }

    /// Section 3.10.7.4, first: some of the segment lies within the window.
    #[inline]
    fn is_acceptable(&self, segment: &Segment<'_>, nxt: Seq, edge: Seq) -> bool {
        let len = segment.len();
        if len == 0 {
            // At a window of 0 what is expected next is acceptable; so it is with a window, its end included.
            return segment.seq.is_until(edge) && nxt.is_until(segment.seq);
        }
        // One that begins before the window, and ends behind what was received.
        let last = segment.seq.plus(len);
        segment.seq.is_before(edge) && nxt.is_before(last)
    }

    /// The state may change after an acknowledgement of our FIN (section 3.10.7.4, fifth).
    fn after_ack(&mut self, now: u64) {
        if !self.is_fin_acknowledged() {
            return;
        }
        match self.state {
            State::FinWait1 => {
                self.state = State::FinWait2;
                self.wait_as_orphan(now);
            }
            State::Closing => self.wait(now),
            State::LastAck => self.finish(None),
            _ => {}
        }
    }

    /// A peer that never closes keeps nothing for ever that nobody uses (as in the usual systems).
    pub(super) fn wait_as_orphan(&mut self, now: u64) {
        if self.orphaned && self.state == State::FinWait2 {
            self.timers.wait_once(now.saturating_add(self.config.linger));
        }
    }

    /// Takes text, cut to the window (sections 3.10.7.4, seventh and eighth).
    #[inline]
    pub(super) fn take_trimmed(&mut self, now: u64, segment: &Segment<'_>) {
        let fin = segment.has(TcpFlags::FIN);
        if segment.payload.is_empty() && !fin {
            return;
        }
        if self.orphaned && self.receive.nxt().is_before(segment.seq.plus(count(segment.payload.len()))) {
            return self.abort();
        }
        let nxt = self.receive.nxt();
        let (mut seq, mut payload) = (segment.seq, segment.payload);
        if seq.is_before(nxt) {
            let old = seq.to(nxt).min(count(payload.len()));
            self.receive.came_twice(seq, seq.plus(old));
            (seq, payload) = (seq.plus(old), &payload[old as usize..]);
        }
        let room = self.receive.room(seq);
        let cut = payload.len() > room;
        self.take_text(now, seq, &payload[..payload.len().min(room)], fin && !cut);
        if cut {
            self.receive.acknowledge_now();
        }
    }

    fn take_text(&mut self, now: u64, seq: Seq, payload: &[u8], fin: bool) {
        let delay = self.config.delay;
        // Whoever sends nothing has nothing that could carry it soon, and a whole segment without another behind it may be all
        // that the peer's window lets out, or its probe of a tail: the peer waits.
        let talks = now.saturating_sub(self.last_sent) < delay;
        let whole = if talks { delay } else { delay.min(LONE) };
        let over = self.receive.take(now, seq, payload, fin, Delay { whole, small: delay }, self.sack);
        self.receive.grow(now, self.rtt.smoothed().unwrap_or(0));
        if !over {
            return;
        }
        match self.state {
            State::Established | State::SynReceived => self.state = State::CloseWait,
            State::FinWait1 if self.is_fin_acknowledged() => self.wait(now),
            State::FinWait1 => self.state = State::Closing,
            State::FinWait2 => self.wait(now),
            _ => {}
        }
    }

    /// Enters TIME-WAIT.
    fn wait(&mut self, now: u64) {
        self.state = State::TimeWait;
        self.queue.release();
        self.timers.clear();
        self.timers.wait(now.saturating_add(self.config.linger));
    }

    /// Tells of a segment that came again, by DSACK (RFC 2883).
    fn came_again(&mut self, segment: &Segment<'_>) {
        let nxt = self.receive.nxt();
        let end = segment.seq.plus(count(segment.payload.len()));
        if self.sack && !segment.payload.is_empty() && end.is_until(nxt) {
            self.receive.came_twice(segment.seq, end);
        }
    }

    /// Answers a segment that is outside of the window: data, or a probe of the window, at once; other ones as a challenge,
    /// or two ends that are at odds would answer each other for ever. So is a SYN (RFC 5961, section 4.2).
    fn answer(&mut self, now: u64, segment: &Segment<'_>) {
        let limited = segment.is_empty() || segment.has(TcpFlags::SYN);
        if limited { self.challenge(now) } else { self.receive.acknowledge_now() }
    }

    /// Sends a challenge ACK (RFC 5961), not too many (section 7).
    fn challenge(&mut self, now: u64) {
        if self.timers.may_challenge(now) {
            self.receive.acknowledge_now();
        }
    }
}

//! An acknowledgement: what it frees, the window that it tells, and what is lost (RFC 9293, section 3.10.7.4, fifth).

use super::super::congestion::Acked;
use super::super::flight::Delivered;
use super::super::segment::Segment;
use super::Connection;
use linerate_wire::TcpFlags;

impl Connection {
    /// Takes the acknowledgement and the window of a segment; its number was sent.
    #[inline]
    pub(super) fn take_ack(&mut self, now: u64, segment: &Segment<'_>) {
        let ack = segment.ack;
        let before = self.una;
        let full = self.is_window_full();
        // Numbers that were acknowledged before tell nothing of them, but perhaps of others.
        let advanced = before.is_before(ack);
        if advanced {
            self.una = ack;
            self.path.progressed();
            self.free();
        }
        let resized = self.take_window(segment);
        if self.flight.is_empty() {
            // Whoever answers a probe of its window is alive (RFC 9293, section 3.8.6.1).
            self.timers.since = now;
        }
        if !advanced && (self.flight.is_empty() || segment.options.sack.all().is_empty() && self.sack) {
            return;
        }
        let marked = self.take_echo(segment);
        let dsack = self.take_dsack(segment);
        let (stamps, option) = (self.stamps, segment.options.timestamps);
        let sacked = if self.sack { segment.options.sack.all() } else { &[] };
        let is_seen = |sent| stamps.is_seen(option, sent);
        let delivered = self.flight.acked(now, self.una, sacked, self.rtt.least(), is_seen);
        if let Some(rtt) = delivered.rtt {
            self.rtt.measured(now, rtt);
        } else if advanced {
            self.rtt.restore();
        }
        if advanced {
            self.timers.progressed(now, self.rtt.timeout(), self.flight.is_empty());
        }
        self.judge_probe(now);
        // RFC 5681, section 2: one of another window tells of that alone.
        let duplicate = !advanced && !resized && segment.payload.is_empty() && !self.sack;
        self.end_probe(dsack);
        let round = advanced && self.round.is_before(self.una);
        if round {
            (self.round, self.peaks) = (self.nxt, [self.flight.bytes(), self.peaks[0]]);
        }
        // What ends a recovery was delivered in it: the window is the threshold then (RFC 6582, section 3.2).
        let grows = !marked && (self.phase.is_open() || self.phase.is_slow());
        self.recover(now, segment, advanced, duplicate, &delivered);
        if grows {
            self.grow(now, &delivered, advanced, round, full);
        }
        self.find_lost(now, delivered.bytes);
        self.arm(now);
    }

    /// True if the congestion window is what limits the sender.
    fn is_window_full(&self) -> bool {
        let (used, window) = (self.in_use(), self.congestion.window());
        // In slow start half of it in use is enough: the other half is yet to be asked for.
        if self.congestion.is_slow_start() { used.saturating_mul(2) >= window } else { used + self.segment() > window }
    }

    fn grow(&mut self, now: u64, delivered: &Delivered, advanced: bool, round: bool, full: bool) {
        if !advanced {
            return;
        }
        let smoothed = self.rtt.smoothed().unwrap_or(0);
        self.congestion.acked(&Acked { now, bytes: delivered.bytes, rtt: delivered.rtt, smoothed, round, full });
    }

    /// Frees memory of what is acknowledged.
    #[inline]
    fn free(&mut self) {
        let end = self.front.plus(self.queue.len());
        // SYN and FIN are in no memory.
        let una = self.una.max(self.front).min(end);
        let bytes = self.front.to(una);
        if bytes > 0 {
            self.queue.drop_front(bytes as usize);
            self.front = una;
            self.counters.acknowledged += u64::from(bytes);
            if self.queue.is_empty() && self.closing {
                self.queue.release();
            }
        }
    }

    /// Takes the window of a segment, unless it is older than the one that told of it last; true if it is another one. Those of
    /// segments beyond a gap, and with old acknowledgements, are left: a stranger need only hit the window to forge them, and all
    /// later ones of the peer would be older.
    #[inline]
    fn take_window(&mut self, segment: &Segment<'_>) -> bool {
        let (seq, ack) = self.told;
        let newer = seq.is_before(segment.seq) || seq == segment.seq && ack.is_until(segment.ack);
        if !newer || segment.ack.is_before(self.una) || self.receive.nxt().is_before(segment.seq) {
            return false;
        }
        // A SYN's window is not scaled (RFC 7323, section 2.2).
        let shift = if segment.has(TcpFlags::SYN) { 0 } else { self.shift.0 };
        let window = u32::from(segment.window) << shift;
        if self.window == 0 && window > 0 {
            self.timers.opened();
        }
        self.greatest = self.greatest.max(window);
        self.told = (segment.seq, segment.ack);
        std::mem::replace(&mut self.window, window) != window
    }
}

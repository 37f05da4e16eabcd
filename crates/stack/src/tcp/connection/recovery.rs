//! Recovery from loss: when it begins and ends, and how much goes out meanwhile (RFC 6675, RFC 9937, RFC 8985, RFC 5682).

use super::super::flight::Delivered;
use super::super::segment::Segment;
use super::super::seq::Seq;
use super::Connection;
use crate::due::Due;

/// Acknowledgements that tell nothing new after which the first segment is lost, without SACK (RFC 5681, section 3.2).
const DUPLICATES: u8 = 3;

/// Reaction of a connection to loss.
#[derive(Clone, Copy, Debug)]
pub(super) enum Phase {
    /// Nothing is known to be lost.
    Open,
    /// Something was, and is sent again, until `point` is acknowledged.
    Recovery {
        point: Seq,
        prr: Prr,
        /// Time at which it began, while it can still turn out to be for nothing.
        began: Option<u64>,
    },
    /// There was a time-out: all is lost, and sent again in slow start, until `point` is acknowledged.
    Loss {
        point: Seq,
        /// It may have been for nothing (F-RTO).
        doubted: bool,
    },
}

/// Proportional rate reduction (RFC 9937).
#[derive(Clone, Copy, Debug)]
pub(super) struct Prr {
    delivered: u64,
    out: u64,
    /// Bytes that were under way when recovery began.
    flight: u64,
}

impl Phase {
    #[inline]
    pub(super) fn is_open(&self) -> bool {
        matches!(self, Self::Open)
    }

    /// True after a time-out.
    #[inline]
    pub(super) fn is_slow(&self) -> bool {
        matches!(self, Self::Loss { .. })
    }
}

impl Connection {
    /// Bytes that may be under way beyond the window, for duplicates before there are enough of them to take something for lost:
    /// each tells that a segment has left the network (limited transmit, RFC 3042). With SACK that segment is not under way.
    #[inline]
    pub(super) fn limited(&self) -> u32 {
        if self.phase.is_open() { u32::from(self.timers.duplicates.min(DUPLICATES - 1)) * self.segment() } else { 0 }
    }

    /// Goes on with recovery after an acknowledgement.
    pub(super) fn recover(
        &mut self,
        now: u64,
        segment: &Segment<'_>,
        advanced: bool,
        duplicate: bool,
        delivered: &Delivered,
    ) {
        let (mut delivered, lost) = (*delivered, self.flight.lost());
        if duplicate {
            self.timers.duplicates = self.timers.duplicates.saturating_add(1);
            // Each tells that a segment has arrived (RFC 9937).
            delivered.bytes = self.segment();
            if self.timers.duplicates == DUPLICATES && self.phase.is_open() {
                self.flight.lose_first(self.first());
            }
        } else if advanced {
            self.timers.duplicates = 0;
        }
        match self.phase {
            Phase::Open => {}
            Phase::Recovery { point, .. } if point.is_until(self.una) => self.end_recovery(),
            Phase::Recovery { began, .. } => {
                // What is acknowledged now was sent before anything was sent again (RFC 3522, section 3.2).
                if advanced && began.is_some_and(|began| self.stamps.is_before(segment.options.timestamps, began)) {
                    return self.undo();
                }
                if advanced && !self.sack {
                    // A partial acknowledgement: the next one is lost, too (RFC 6582, section 3.2).
                    self.flight.lose_first(self.segment());
                }
                // Before the window is made: what is lost is not under way.
                self.find_lost(now, 0);
                self.reduce_rate(delivered.bytes, advanced && self.flight.lost() <= lost);
            }
            Phase::Loss { point, doubted } => {
                if doubted && delivered.original {
                    // RFC 5682, section 3: something arrived that was not sent again.
                    return self.undo();
                }
                if point.is_until(self.una) {
                    self.phase = Phase::Open;
                    self.flight.recovered();
                } else if advanced && !self.sack {
                    self.flight.lose_first(self.segment());
                }
            }
        }
    }

    /// A probe of the tail has been answered (RFC 8985, section 7.4): if it was of something lost, the loss is answered for,
    /// unless it came twice.
    pub(super) fn end_probe(&mut self, dsack: bool) {
        let Some((end, again)) = self.timers.probed else { return };
        if dsack || end.is_until(self.una) {
            self.timers.probed = None;
            if again.is_some() && !dsack && self.phase.is_open() {
                self.congestion.congested(self.congestion.window());
                self.congestion.set_window(self.congestion.threshold());
            }
        }
    }

    /// Takes what is lost by RACK, which needs SACK (RFC 8985, section 3.3); recovery begins when something is. So many bytes have
    /// just been delivered.
    pub(super) fn find_lost(&mut self, now: u64, delivered: u32) {
        if self.sack && (self.flight.sacked() > 0 || !self.phase.is_open()) {
            let recovers = !self.phase.is_open();
            let window = self.flight.reordering_window(self.segment(), recovers, self.rtt.least(), self.rtt.smoothed());
            let (_, wait) = self.flight.find_lost(now, window);
            self.timers.reorder = wait.map_or(Due::NEVER, Due::at);
        } else {
            self.timers.reorder = Due::NEVER;
        }
        if self.flight.lost() > 0 && !self.is_only_a_probe_lost() && self.phase.is_open() {
            self.begin_recovery(now, delivered);
        }
    }

    /// Bytes of the window that are in use (RFC 5681, section 3.1, FlightSize). What is under way just now may be little of
    /// it: acknowledgements that come together are taken before anything is sent for them.
    pub(super) fn in_use(&self) -> u32 {
        self.peaks[0].max(self.peaks[1]).max(self.flight.bytes())
    }

    fn begin_recovery(&mut self, now: u64, delivered: u32) {
        // What had arrived before is not delivered in it (RFC 9937, RecoverFS).
        let flight = (self.flight.bytes() - self.flight.sacked()).saturating_add(delivered);
        self.congestion.congested(self.in_use());
        self.counters.recoveries += 1;
        self.has_reduced();
        let prr = Prr { delivered: 0, out: 0, flight: u64::from(flight.max(1)) };
        self.phase = Phase::Recovery { point: self.nxt, prr, began: Some(now) };
        self.reduce_rate(delivered, false);
        // The first goes out at once (RFC 6675, section 5, step 4.3).
        let least = self.flight.flying() + self.segment();
        self.congestion.set_window(self.congestion.window().max(least));
    }

    /// Window in recovery (RFC 9937). It may grow only with acknowledgements that go forward and tell of no more loss (SafeACK):
    /// otherwise what is sent again meets a queue that is full already, and is lost again.
    fn reduce_rate(&mut self, bytes: u32, safe: bool) {
        let (pipe, threshold) = (u64::from(self.flight.flying()), u64::from(self.congestion.threshold()));
        let segment = u64::from(self.segment());
        let Phase::Recovery { prr, .. } = &mut self.phase else { return };
        prr.delivered += u64::from(bytes);
        let sends = if pipe > threshold {
            (prr.delivered * threshold).div_ceil(prr.flight).saturating_sub(prr.out)
        } else {
            // As much as was delivered; in slow start, where that is safe.
            let more = if safe { segment } else { 0 };
            let limit = prr.delivered.saturating_sub(prr.out).max(u64::from(bytes)) + more;
            limit.min(threshold - pipe)
        };
        self.congestion.set_window(u32::try_from(pipe + sends).unwrap_or(0));
    }

    /// Counts bytes that go out in recovery.
    #[inline]
    pub(super) fn goes_out(&mut self, bytes: u32) {
        if let Phase::Recovery { prr, .. } = &mut self.phase {
            prr.out += u64::from(bytes);
        }
    }

    fn end_recovery(&mut self) {
        self.phase = Phase::Open;
        self.flight.recovered();
        // RFC 9937: the window is the threshold then.
        self.congestion.set_window(self.congestion.threshold());
    }

    /// Nothing was lost: window and threshold are what they were.
    fn undo(&mut self) {
        self.counters.undone += 1;
        self.flight.find_again();
        self.congestion.undo();
        self.phase = Phase::Open;
        self.rtt.restore();
    }

    /// Takes a DSACK: the first block is of something that came twice (RFC 2883, section 4). True if there is one.
    pub(super) fn take_dsack(&mut self, segment: &Segment<'_>) -> bool {
        if !self.sack {
            return false;
        }
        let all = segment.options.sack.all();
        let Some((from, to)) = all.first().map(|(from, to)| (Seq(*from), Seq(*to))) else { return false };
        let within = |(a, b): &(u32, u32)| Seq(*a).is_until(from) && to.is_until(Seq(*b));
        let twice = from.is_before(to) && (to.is_until(segment.ack) || all.get(1).is_some_and(within));
        // A probe of the tail comes twice for lack of an acknowledgement, not for reordering.
        let of_probe = self.timers.probed.is_some_and(|(_, again)| again == Some(to));
        if twice && !of_probe {
            self.flight.was_late();
        }
        twice
    }
}

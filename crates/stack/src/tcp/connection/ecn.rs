//! Explicit congestion notification (RFC 3168): routers mark packets where they would drop them.

use super::super::segment::Segment;
use super::super::seq::Seq;
use super::Connection;
use linerate_wire::TcpFlags;

/// Use of explicit congestion notification.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ecn {
    /// It is refused.
    Off,
    /// It is used if the peer asks for it.
    #[default]
    Accept,
    /// Our SYN asks for it.
    Ask,
}

/// State of a connection.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Marks {
    /// Both ends use it.
    pub(super) on: bool,
    /// Our last SYN has asked.
    asked: bool,
    /// A mark has come, and the peer has not said yet that it sends less.
    echo: bool,
    /// The window was reduced for a mark, or a loss: the next new data say so.
    tell: bool,
    /// Marks of what was sent before this number were answered for.
    point: Option<Seq>,
}

impl Connection {
    /// Bits of a SYN, or of its answer (section 6.1.1). One that is sent again does not ask: what lay on the way may have
    /// dropped it for that (section 6.1.1.1).
    pub(super) fn ecn_of_syn(&mut self, answers: bool, again: bool) -> TcpFlags {
        if answers {
            return if self.marks.on { TcpFlags::ECE } else { TcpFlags::default() };
        }
        self.marks.asked = self.config.ecn == Ecn::Ask && !again;
        if self.marks.asked { TcpFlags::ECE.union(TcpFlags::CWR) } else { TcpFlags::default() }
    }

    /// Takes what the peer's SYN says of it.
    pub(super) fn agree_on_ecn(&mut self, syn: &Segment<'_>) {
        let (ece, cwr) = (syn.has(TcpFlags::ECE), syn.has(TcpFlags::CWR));
        self.marks.on = if syn.has(TcpFlags::ACK) {
            self.marks.asked && ece && !cwr
        } else {
            self.config.ecn != Ecn::Off && ece && cwr
        };
    }

    /// Notes whether data were marked on their way, and whether the peer has heard of earlier marks (section 6.1.3).
    #[inline]
    pub(super) fn take_mark(&mut self, segment: &Segment<'_>) {
        if !self.marks.on {
            return;
        }
        self.marks.echo &= !segment.has(TcpFlags::CWR);
        if segment.is_marked && !segment.payload.is_empty() {
            self.marks.echo = true;
            self.receive.acknowledge_now();
        }
    }

    /// Takes the peer's echo of a mark: the window is reduced as for a loss, once a round trip (section 6.1.2). True if the
    /// acknowledgement has an echo.
    #[inline]
    pub(super) fn take_echo(&mut self, segment: &Segment<'_>) -> bool {
        if !self.marks.on || !segment.has(TcpFlags::ECE) || segment.has(TcpFlags::SYN) {
            return false;
        }
        let answered = self.marks.point.is_some_and(|point| self.una.is_before(point));
        if self.phase.is_open() && !answered {
            self.congestion.congested(self.in_use());
            self.congestion.set_window(self.congestion.threshold());
            self.counters.marked += 1;
            self.has_reduced();
        }
        true
    }

    /// The window was reduced, for whatever reason: the peer is told (section 6.1.2).
    pub(super) fn has_reduced(&mut self) {
        if self.marks.on {
            (self.marks.tell, self.marks.point) = (true, Some(self.nxt));
        }
    }

    /// Bits of a segment with new data, or without.
    #[inline]
    pub(super) fn ecn_bits(&self, new: bool) -> TcpFlags {
        let echo = if self.marks.echo { TcpFlags::ECE } else { TcpFlags::default() };
        if new && self.marks.tell { echo.union(TcpFlags::CWR) } else { echo }
    }

    /// New data were sent, with the bits that they had to have.
    #[inline]
    pub(super) fn has_told(&mut self) {
        self.marks.tell = false;
    }
}

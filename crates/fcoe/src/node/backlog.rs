//! Link services that found no room in the port: they go out before anything else when there is some.
//!
//! Data fills a port's queue whenever it can, so that a reply may meet a full one at any time. A reply that is lost costs
//! its requester a time-out of 20 seconds, and if it is one of ADISC the session.

use crate::{Link, Sequence, Transmit};
use linerate_wire::FcHeader;
use std::collections::VecDeque;

/// Most frames that wait; more are lost, as in a network.
const MOST: usize = 64;

/// Frames that wait for room, in order.
#[derive(Debug, Default)]
pub(super) struct Backlog(VecDeque<Waiting>);

#[derive(Debug)]
enum Waiting {
    /// A frame of FIP.
    Fip(Vec<u8>),
    /// A sequence of one frame.
    Fc { link: Link, header: FcHeader, max_payload: usize, payload: Vec<u8> },
}

impl Waiting {
    /// True if there was room.
    fn is_sent(&self, out: &mut impl Transmit) -> bool {
        match self {
            Self::Fip(frame) => out.frame(frame),
            Self::Fc { link, header, max_payload, payload } => {
                let (link, header, max_payload) = (*link, *header, *max_payload);
                out.sequence(&Sequence { link, header, max_payload, start: true, end: true, payload: &[payload] }) > 0
            }
        }
    }
}

impl Backlog {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Sends what there is room for.
    #[inline]
    pub(super) fn flush(&mut self, out: &mut impl Transmit) {
        while self.0.front().is_some_and(|first| first.is_sent(out)) {
            self.0.pop_front();
        }
    }

    /// Forgets all: the addresses of its frames hold no more.
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    /// True if there was a place for a frame.
    fn has_kept(&mut self, waiting: impl FnOnce() -> Waiting) -> bool {
        let fits = self.0.len() < MOST;
        if fits {
            self.0.push_back(waiting());
        }
        fits
    }
}

/// A port with a backlog before it, for frames of which each is a whole sequence.
pub(super) struct Patient<'a, T> {
    pub(super) backlog: &'a mut Backlog,
    pub(super) out: &'a mut T,
}

impl<T: Transmit> Transmit for Patient<'_, T> {
    fn sequence(&mut self, sequence: &Sequence<'_>) -> usize {
        let Sequence { link, header, max_payload, payload, .. } = *sequence;
        // What waits already goes first.
        let sent = self.backlog.is_empty() && self.out.sequence(sequence) > 0;
        let keep = || Waiting::Fc { link, header, max_payload, payload: payload.concat() };
        usize::from(sent || self.backlog.has_kept(keep))
    }

    fn frame(&mut self, frame: &[u8]) -> bool {
        let sent = self.backlog.is_empty() && self.out.frame(frame);
        sent || self.backlog.has_kept(|| Waiting::Fip(frame.to_vec()))
    }

    fn room(&self) -> usize {
        MOST - self.backlog.0.len()
    }
}

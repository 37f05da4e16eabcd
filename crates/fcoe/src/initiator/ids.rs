//! Exchange identifiers: which exchange has which, and which must not be used yet.
//!
//! They are given out in turn, so that a frame of an exchange that has ended meets no other for some ten thousand
//! exchanges; one that was aborted rests for R_A_TOV in addition (FC-FS-3, recovery qualifier).

use crate::PeerId;
use linerate_wire::FcHeader;
use std::collections::VecDeque;

/// Identifiers of commands are below this one.
pub(super) const COMMANDS: u16 = 0xe000;

const FREE: u16 = u16::MAX;
const RESTS: u16 = u16::MAX - 1;

#[derive(Debug)]
pub(super) struct Ids {
    owners: Vec<u16>,
    next: u16,
    free: usize,
    /// In the order in which they were put to rest.
    resting: VecDeque<Resting>,
}

/// An identifier that was aborted.
#[derive(Debug, Clone, Copy)]
pub(super) struct Resting {
    pub(super) ox_id: u16,
    pub(super) until: u64,
    /// To whom RRQ goes then, and how it calls the exchange.
    pub(super) qualifier: Option<(PeerId, u16)>,
    /// The name of that RRQ, once it is sent.
    pub(super) service: u16,
}

impl Ids {
    pub(super) fn new() -> Self {
        let owners = vec![FREE; usize::from(COMMANDS)];
        Self { free: owners.len(), owners, next: 0, resting: VecDeque::new() }
    }

    /// One that is free, for the exchange at this place.
    pub(super) fn take(&mut self, place: u16) -> Option<u16> {
        if self.free == 0 {
            return None;
        }
        while self.owners[usize::from(self.next)] != FREE {
            self.advance();
        }
        let ox_id = self.next;
        self.advance();
        self.owners[usize::from(ox_id)] = place;
        self.free -= 1;
        Some(ox_id)
    }

    fn advance(&mut self) {
        self.next = if self.next + 1 == COMMANDS { 0 } else { self.next + 1 };
    }

    /// Where the exchange of this name is.
    pub(super) fn place(&self, ox_id: u16) -> Option<usize> {
        let place = *self.owners.get(usize::from(ox_id))?;
        (place < RESTS).then_some(usize::from(place))
    }

    /// It is free.
    pub(super) fn release(&mut self, ox_id: u16) {
        if let Some(owner) = self.owners.get_mut(usize::from(ox_id))
            && *owner != FREE
        {
            *owner = FREE;
            self.free += 1;
        }
    }

    /// It is free later.
    pub(super) fn rest(&mut self, resting: Resting) {
        if let Some(owner) = self.owners.get_mut(usize::from(resting.ox_id)) {
            *owner = RESTS;
            self.resting.push_back(resting);
        }
    }

    /// When the next one has rested.
    pub(super) fn rested_at(&self) -> Option<u64> {
        self.resting.front().map(|resting| resting.until)
    }

    /// Takes one that has rested: the caller releases it or lets it rest again.
    pub(super) fn rested(&mut self, now: u64) -> Option<Resting> {
        self.resting.pop_front_if(|resting| resting.until <= now)
    }

    /// Nobody needs an RRQ of this peer any more.
    pub(super) fn forget(&mut self, peer: PeerId) {
        for resting in &mut self.resting {
            if resting.qualifier.is_some_and(|(whose, _)| whose == peer) {
                resting.qualifier = None;
            }
        }
    }
}

/// What a link service request of ours is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Service {
    /// REC of the exchange at this place.
    Rec(usize),
    /// SRR of the exchange at this place.
    Srr(usize),
    /// RRQ of some OX_ID.
    Rrq,
}

/// Identifiers of link service requests: above those of commands, below those of a target's.
#[derive(Debug)]
pub(super) struct Services {
    entries: Vec<Option<(PeerId, Service)>>,
    next: usize,
}

impl Services {
    const COUNT: usize = 0x0f00;

    pub(super) fn new() -> Self {
        Self { entries: vec![None; Self::COUNT], next: 0 }
    }

    /// A name for a request; the oldest one's when all are in use.
    pub(super) fn take(&mut self, peer: PeerId, service: Service) -> u16 {
        let free = (0..Self::COUNT).map(|i| (self.next + i) % Self::COUNT).find(|&i| self.entries[i].is_none());
        let at = free.unwrap_or(self.next);
        self.entries[at] = Some((peer, service));
        self.next = (at + 1) % Self::COUNT;
        u16::try_from(at).map_or(FcHeader::NO_ID, |at| COMMANDS + at)
    }

    /// What a reply answers; it is answered with that.
    pub(super) fn answered(&mut self, peer: PeerId, ox_id: u16) -> Option<Service> {
        let at = usize::from(ox_id.checked_sub(COMMANDS)?);
        self.entries.get_mut(at)?.take_if(|(whose, _)| *whose == peer).map(|(_, service)| service)
    }

    /// Nobody waits for the reply any more.
    pub(super) fn release(&mut self, ox_id: u16) {
        if let Some(entry) = ox_id.checked_sub(COMMANDS).and_then(|at| self.entries.get_mut(usize::from(at))) {
            *entry = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_are_given_in_turn_and_rest() {
        let mut ids = Ids::new();
        assert_eq!((ids.take(7), ids.take(8)), (Some(0), Some(1)));
        assert_eq!((ids.place(0), ids.place(1), ids.place(2), ids.place(0xffff)), (Some(7), Some(8), None, None));
        ids.release(0);
        ids.rest(Resting { ox_id: 1, until: 10, qualifier: None, service: FcHeader::NO_ID });
        assert_eq!((ids.place(0), ids.place(1)), (None, None));
        for expected in 2..COMMANDS {
            assert_eq!(ids.take(9), Some(expected));
        }
        assert_eq!((ids.take(9), ids.take(9)), (Some(0), None), "1 rests");
        assert!(ids.rested(9).is_none());
        let resting = ids.rested(10).unwrap();
        ids.release(resting.ox_id);
        ids.release(resting.ox_id);
        assert_eq!((ids.take(3), ids.take(3)), (Some(1), None));
    }

    #[test]
    fn a_reply_is_its_peers() {
        let (peer, other) = (PeerId { index: 1, generation: 0 }, PeerId { index: 1, generation: 1 });
        let mut services = Services::new();
        let ox_id = services.take(peer, Service::Rec(3));
        assert_eq!(ox_id, 0xe000);
        assert_eq!(services.answered(other, ox_id), None);
        assert_eq!(services.answered(peer, ox_id), Some(Service::Rec(3)));
        assert_eq!(services.answered(peer, ox_id), None);
        for i in 1..=0x0f00 {
            assert_eq!(services.take(peer, Service::Srr(0)), 0xe000 + i % 0x0f00);
        }
        assert_eq!(services.answered(peer, 0xef00), None);
    }
}

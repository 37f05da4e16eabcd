//! OX_IDs: the exchange of each, and the ones that must rest.
//!
//! They are assigned in turn, so that a late frame of an ended exchange matches no other for some ten thousand
//! exchanges; one that was aborted rests for R_A_TOV in addition (FC-FS-3, recovery qualifier).

use super::exchange::ExchangeIndex;
use crate::PeerId;
use linerate_wire::{OxId, RxId};
use std::collections::VecDeque;

/// Upper bound of the commands' OX_IDs.
pub(super) const COMMANDS: u16 = 0xe000;

/// Values instead of an exchange: the OX_ID is free, or was aborted and rests.
const FREE: ExchangeIndex = ExchangeIndex(u16::MAX);
const RESTS: ExchangeIndex = ExchangeIndex(u16::MAX - 1);

#[derive(Debug)]
pub(super) struct Ids {
    owners: Vec<ExchangeIndex>,
    next: u16,
    free: usize,
    /// Resting OX_IDs, in the order of their aborts.
    resting: VecDeque<Resting>,
}

/// An OX_ID that was aborted.
#[derive(Debug, Clone, Copy)]
pub(super) struct Resting {
    pub(super) ox_id: OxId,
    pub(super) until: u64,
    /// Peer that gets RRQ after the rest, and its RX_ID of the exchange.
    pub(super) qualifier: Option<(PeerId, RxId)>,
    /// OX_ID of that RRQ, once it is sent.
    pub(super) service: OxId,
}

impl Ids {
    pub(super) fn new() -> Self {
        let owners = vec![FREE; usize::from(COMMANDS)];
        Self { free: owners.len(), owners, next: 0, resting: VecDeque::new() }
    }

    /// Assigns a free OX_ID to the exchange at this index.
    pub(super) fn take(&mut self, at: ExchangeIndex) -> Option<OxId> {
        if self.free == 0 {
            return None;
        }
        while self.owners[usize::from(self.next)] != FREE {
            self.advance();
        }
        let ox_id = OxId(self.next);
        self.advance();
        self.owners[usize::from(ox_id.0)] = at;
        self.free -= 1;
        Some(ox_id)
    }

    fn advance(&mut self) {
        self.next = if self.next + 1 == COMMANDS { 0 } else { self.next + 1 };
    }

    /// Index of the exchange with this OX_ID.
    pub(super) fn place(&self, ox_id: OxId) -> Option<ExchangeIndex> {
        self.owners.get(usize::from(ox_id.0)).copied().filter(|at| at.0 < RESTS.0)
    }

    /// Frees an OX_ID.
    pub(super) fn release(&mut self, ox_id: OxId) {
        if let Some(owner) = self.owners.get_mut(usize::from(ox_id.0))
            && *owner != FREE
        {
            *owner = FREE;
            self.free += 1;
        }
    }

    /// Puts an OX_ID to rest; it is freed later.
    pub(super) fn rest(&mut self, resting: Resting) {
        if let Some(owner) = self.owners.get_mut(usize::from(resting.ox_id.0)) {
            *owner = RESTS;
            self.resting.push_back(resting);
        }
    }

    /// Time at which the next OX_ID has rested.
    pub(super) fn rested_at(&self) -> Option<u64> {
        self.resting.front().map(|resting| resting.until)
    }

    /// Takes an OX_ID that has rested: the caller releases it or lets it rest again.
    pub(super) fn rested(&mut self, now: u64) -> Option<Resting> {
        self.resting.pop_front_if(|resting| resting.until <= now)
    }

    /// Cancels the pending RRQs for a peer.
    pub(super) fn forget(&mut self, peer: PeerId) {
        for resting in &mut self.resting {
            if resting.qualifier.is_some_and(|(whose, _)| whose == peer) {
                resting.qualifier = None;
            }
        }
    }
}

/// Subject of a link service request of ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Service {
    /// REC for the exchange at this index.
    Rec(ExchangeIndex),
    /// SRR for the exchange at this index.
    Srr(ExchangeIndex),
    /// RRQ for an aborted OX_ID.
    Rrq,
}

/// OX_IDs of link service requests: above those of commands, below those of a target's.
#[derive(Debug)]
pub(super) struct Services {
    entries: Vec<Option<(PeerId, Service)>>,
    next: u16,
}

impl Services {
    const COUNT: u16 = 0x0f00;

    pub(super) fn new() -> Self {
        Self { entries: vec![None; usize::from(Self::COUNT)], next: 0 }
    }

    /// Assigns an OX_ID to a request; that of the oldest one when all are in use.
    pub(super) fn take(&mut self, peer: PeerId, service: Service) -> OxId {
        let free =
            (0..Self::COUNT).map(|i| (self.next + i) % Self::COUNT).find(|&i| self.entries[usize::from(i)].is_none());
        let at = free.unwrap_or(self.next);
        self.entries[usize::from(at)] = Some((peer, service));
        self.next = (at + 1) % Self::COUNT;
        OxId(COMMANDS + at)
    }

    /// Subject of the request that a reply answers; the request is removed.
    pub(super) fn answered(&mut self, peer: PeerId, ox_id: OxId) -> Option<Service> {
        let at = usize::from(ox_id.0.checked_sub(COMMANDS)?);
        self.entries.get_mut(at)?.take_if(|(whose, _)| *whose == peer).map(|(_, service)| service)
    }

    /// Cancels the wait for a reply.
    pub(super) fn release(&mut self, ox_id: OxId) {
        if let Some(entry) = ox_id.0.checked_sub(COMMANDS).and_then(|at| self.entries.get_mut(usize::from(at))) {
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
        assert_eq!((ids.take(ExchangeIndex(7)), ids.take(ExchangeIndex(8))), (Some(OxId(0)), Some(OxId(1))));
        assert_eq!(
            (ids.place(OxId(0)), ids.place(OxId(1)), ids.place(OxId(2)), ids.place(OxId::UNASSIGNED)),
            (Some(ExchangeIndex(7)), Some(ExchangeIndex(8)), None, None)
        );
        ids.release(OxId(0));
        ids.rest(Resting { ox_id: OxId(1), until: 10, qualifier: None, service: OxId::UNASSIGNED });
        assert_eq!((ids.place(OxId(0)), ids.place(OxId(1))), (None, None));
        for expected in 2..COMMANDS {
            assert_eq!(ids.take(ExchangeIndex(9)), Some(OxId(expected)));
        }
        assert_eq!((ids.take(ExchangeIndex(9)), ids.take(ExchangeIndex(9))), (Some(OxId(0)), None), "1 rests");
        assert!(ids.rested(9).is_none());
        let resting = ids.rested(10).unwrap();
        ids.release(resting.ox_id);
        ids.release(resting.ox_id);
        assert_eq!((ids.take(ExchangeIndex(3)), ids.take(ExchangeIndex(3))), (Some(OxId(1)), None));
    }

    #[test]
    fn a_reply_is_its_peers() {
        let (peer, other) = (PeerId { index: 1, generation: 0 }, PeerId { index: 1, generation: 1 });
        let mut services = Services::new();
        let ox_id = services.take(peer, Service::Rec(ExchangeIndex(3)));
        assert_eq!(ox_id, OxId(0xe000));
        assert_eq!(services.answered(other, ox_id), None);
        assert_eq!(services.answered(peer, ox_id), Some(Service::Rec(ExchangeIndex(3))));
        assert_eq!(services.answered(peer, ox_id), None);
        for i in 1..=0x0f00 {
            assert_eq!(services.take(peer, Service::Srr(ExchangeIndex(0))), OxId(0xe000 + i % 0x0f00));
        }
        assert_eq!(services.answered(peer, OxId(0xef00)), None);
    }
}

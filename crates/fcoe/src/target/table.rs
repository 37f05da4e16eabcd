//! Table of exchanges: allocated once, found by RX_ID or by peer and OX_ID, kept in intrusive lists.

use super::exchange::{Exchange, ExchangeIndex, NIL, State, Which};
use crate::PeerId;
use crate::indexed::{Indexed, TableIndex};
use linerate_block::Tag;
use linerate_wire::{OxId, RxId};

/// A fixed number of exchanges.
///
/// Entries are reused at once, the last freed first, so that few exchanges in flight touch little memory. RX_IDs are
/// assigned in a circle, each reused as late as possible: a late frame finds no other exchange by it.
#[derive(Debug)]
pub(super) struct Table {
    slots: Indexed<ExchangeIndex, Exchange>,
    free: Vec<ExchangeIndex>,
    /// Entries from here on were never used.
    touched: u16,
    /// Entry of each RX_ID.
    by_rx_id: Box<[ExchangeIndex]>,
    next_rx_id: RxId,
    /// First entry of each bucket of peer and OX_ID. OX_IDs of one peer spread evenly over the buckets in any case, so
    /// no peer can make a long chain.
    buckets: Box<[ExchangeIndex]>,
    lists: [List; 3],
}

#[derive(Debug, Clone, Copy)]
struct List {
    head: ExchangeIndex,
    tail: ExchangeIndex,
    len: usize,
}

impl Table {
    /// Table with this number of entries, 1 to 32768.
    pub(super) fn new(max_exchanges: u16) -> Self {
        let max = max_exchanges.clamp(1, 0x8000);
        Self {
            slots: Indexed::filled(max, Exchange::free),
            free: (0..max).rev().map(ExchangeIndex).collect(),
            touched: 0,
            by_rx_id: vec![NIL; 1 << 16].into_boxed_slice(),
            next_rx_id: RxId(0),
            buckets: vec![NIL; usize::from(max).next_power_of_two() * 2].into_boxed_slice(),
            lists: [List { head: NIL, tail: NIL, len: 0 }; 3],
        }
    }

    /// Entry whose task has this tag.
    pub(super) fn of_tag(&self, tag: Tag) -> Option<ExchangeIndex> {
        u16::try_from(tag.0).ok().map(ExchangeIndex).filter(|place| place.number() < self.slots.len())
    }

    /// Entries that were ever used: all exchanges are among them.
    pub(super) fn touched(&self) -> impl Iterator<Item = ExchangeIndex> + use<> {
        (0..self.touched).map(ExchangeIndex)
    }

    /// Number of entries in use.
    pub(super) fn used(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    pub(super) fn at(&self, place: ExchangeIndex) -> &Exchange {
        &self.slots[place]
    }

    pub(super) fn at_mut(&mut self, place: ExchangeIndex) -> &mut Exchange {
        &mut self.slots[place]
    }

    /// Entry for a new exchange, with an RX_ID; None when all are in use.
    pub(super) fn open(&mut self, peer: PeerId, ox_id: OxId) -> Option<ExchangeIndex> {
        let place = self.free.pop()?;
        self.touched = self.touched.max(place.0 + 1);
        // At most half of all RX_IDs are in use, so there is a free one.
        while !self.next_rx_id.is_assigned() || self.by_rx_id[usize::from(self.next_rx_id.0)] != NIL {
            self.next_rx_id = RxId(self.next_rx_id.0.wrapping_add(1));
        }
        let rx_id = self.next_rx_id;
        self.next_rx_id = RxId(rx_id.0.wrapping_add(1));
        self.by_rx_id[usize::from(rx_id.0)] = place;
        let bucket = self.bucket(peer, ox_id);
        let chain = std::mem::replace(&mut self.buckets[bucket], place);
        *self.at_mut(place) = Exchange { peer, ox_id, rx_id, chain, state: State::Working, ..Exchange::free() };
        Some(place)
    }

    /// Ends an exchange and frees its entry.
    pub(super) fn close(&mut self, place: ExchangeIndex) {
        self.remove(place);
        let (peer, ox_id, rx_id) = (self.at(place).peer, self.at(place).ox_id, self.at(place).rx_id);
        let bucket = self.bucket(peer, ox_id);
        let after = self.at(place).chain;
        if self.buckets[bucket] == place {
            self.buckets[bucket] = after;
        } else {
            let mut before = self.buckets[bucket];
            while self.at(before).chain != place {
                before = self.at(before).chain;
            }
            self.at_mut(before).chain = after;
        }
        self.by_rx_id[usize::from(rx_id.0)] = NIL;
        *self.at_mut(place) = Exchange::free();
        self.free.push(place);
    }

    /// Exchange of a peer with this OX_ID and RX_ID; by its OX_ID alone when `rx_id` is unassigned.
    pub(super) fn find(&self, peer: PeerId, ox_id: OxId, rx_id: RxId) -> Option<ExchangeIndex> {
        let matches = |place: ExchangeIndex| {
            let exchange = self.at(place);
            (exchange.peer, exchange.ox_id) == (peer, ox_id)
        };
        if rx_id != RxId::UNASSIGNED {
            let place = self.by_rx_id[usize::from(rx_id.0)];
            return (place != NIL && matches(place)).then_some(place);
        }
        let mut place = self.buckets[self.bucket(peer, ox_id)];
        while place != NIL && !matches(place) {
            place = self.at(place).chain;
        }
        (place != NIL).then_some(place)
    }

    /// Appends an exchange to a list, out of the one that it was in.
    pub(super) fn append(&mut self, which: Which, place: ExchangeIndex) {
        self.remove(place);
        let tail = self.lists[which as usize].tail;
        let exchange = self.at_mut(place);
        (exchange.list, exchange.prev, exchange.next) = (Some(which), tail, NIL);
        let list = &mut self.lists[which as usize];
        list.tail = place;
        list.len += 1;
        match tail {
            NIL => list.head = place,
            tail => self.at_mut(tail).next = place,
        }
    }

    /// Removes an exchange from the list that it is in.
    pub(super) fn remove(&mut self, place: ExchangeIndex) {
        let exchange = self.at_mut(place);
        let Some(which) = exchange.list.take() else { return };
        let (prev, next) = (exchange.prev, exchange.next);
        match prev {
            NIL => self.lists[which as usize].head = next,
            prev => self.at_mut(prev).next = next,
        }
        match next {
            NIL => self.lists[which as usize].tail = prev,
            next => self.at_mut(next).prev = prev,
        }
        self.lists[which as usize].len -= 1;
    }

    /// Exchange that has been in a list for the longest time.
    pub(super) fn first(&self, which: Which) -> Option<ExchangeIndex> {
        Some(self.lists[which as usize].head).filter(|place| *place != NIL)
    }

    /// Number of exchanges in a list.
    pub(super) fn count(&self, which: Which) -> usize {
        self.lists[which as usize].len
    }

    fn bucket(&self, peer: PeerId, ox_id: OxId) -> usize {
        usize::from(ox_id.0.wrapping_add(peer.index.wrapping_mul(0x9e37))) & (self.buckets.len() - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PEER: PeerId = PeerId { index: 1, generation: 7 };

    #[test]
    fn an_exchange_is_found_by_either_name_and_only_by_its_peer() {
        let mut table = Table::new(4);
        let places: Vec<ExchangeIndex> = (0..4).map(|i| table.open(PEER, OxId(i * 8)).unwrap()).collect();
        assert_eq!((table.open(PEER, OxId(1)), table.used()), (None, 4));
        for (i, place) in (0..).zip(&places) {
            let rx_id = table.at(*place).rx_id;
            assert_eq!(table.find(PEER, OxId(i * 8), rx_id), Some(*place));
            assert_eq!(table.find(PEER, OxId(i * 8), RxId::UNASSIGNED), Some(*place));
            assert_eq!(table.find(PEER, OxId(i * 8 + 1), rx_id), None);
            assert_eq!(table.find(PeerId { generation: 8, ..PEER }, OxId(i * 8), rx_id), None);
            assert_eq!(table.find(PeerId { index: 2, ..PEER }, OxId(i * 8), RxId::UNASSIGNED), None);
        }
        for place in [places[1], places[3], places[0], places[2]] {
            let (ox_id, rx_id) = (table.at(place).ox_id, table.at(place).rx_id);
            table.close(place);
            assert_eq!((table.find(PEER, ox_id, rx_id), table.find(PEER, ox_id, RxId::UNASSIGNED)), (None, None));
        }
        assert_eq!(table.used(), 0);
    }

    #[test]
    fn an_rx_id_comes_again_only_after_all_others() {
        let mut table = Table::new(2);
        let kept = table.open(PEER, OxId(5)).unwrap();
        let mut last = table.at(kept).rx_id;
        for _ in 0..70_000 {
            let place = table.open(PEER, OxId(0)).unwrap();
            let rx_id = table.at(place).rx_id;
            let expected = match last.0.wrapping_add(1) {
                0xffff => RxId(1),
                id => RxId(id),
            };
            assert_eq!(rx_id, expected, "the unassigned number is no name, 0 is in use");
            last = rx_id;
            table.close(place);
        }
    }

    #[test]
    fn lists_keep_their_order_and_an_exchange_is_in_one() {
        let mut table = Table::new(3);
        let [a, b, c] = [0, 1, 2].map(|i| table.open(PEER, OxId(i)).unwrap());
        for place in [a, b, c] {
            table.append(Which::Ready, place);
        }
        table.append(Which::Finished, b);
        assert_eq!((table.first(Which::Ready), table.count(Which::Ready)), (Some(a), 2));
        table.append(Which::Ready, a);
        assert_eq!(table.first(Which::Ready), Some(c));
        table.close(c);
        assert_eq!((table.first(Which::Ready), table.first(Which::Finished)), (Some(a), Some(b)));
        table.remove(a);
        assert_eq!((table.first(Which::Ready), table.count(Which::Ready), table.count(Which::Finished)), (None, 0, 1));
    }
}

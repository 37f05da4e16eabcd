//! Places in the table: allocation, eviction, and the packets held there.

use super::{Entry, FREE, IDLE, Neighbours, State, UNPROVEN};
use std::net::IpAddr;

impl Neighbours {
    /// Allocates a place for `ip`, which has none; without timer and MAC address yet.
    pub(super) fn create(&mut self, ip: IpAddr) -> Option<usize> {
        let place = self.ranks.first(FREE).or_else(|| self.evict());
        let Some(place) = place else {
            self.counters.table_full += 1;
            return None;
        };
        self.entries[place].ip = ip;
        self.index.insert(ip, place);
        self.ranks.append(UNPROVEN, place);
        Some(place)
    }

    /// Evicts an entry that never answered or, while these hold less than a quarter of the table, the longest unused
    /// one: so neither do floods of made-up addresses push out real ones, nor real ones all new ones.
    fn evict(&mut self) -> Option<usize> {
        let unproven = self.ranks.first(UNPROVEN);
        let many = self.ranks.len(UNPROVEN) > self.entries.len() / 4;
        let place = if many { unproven } else { self.ranks.first(IDLE).or(unproven) }?;
        self.counters.evicted += 1;
        self.clear(place);
        Some(place)
    }

    /// Empties `place`, dropping its packets.
    pub(super) fn clear(&mut self, place: usize) {
        self.counters.held_dropped += self.entries[place].queue.len() as u64;
        drop(self.take_held(place));
        self.invalidate(place);
        self.index.remove(self.entries[place].ip, place);
        self.timers.remove(place);
        self.ranks.append(FREE, place);
        self.entries[place] = Entry::EMPTY;
    }

    pub(super) fn take_held(&mut self, place: usize) -> Vec<Vec<u8>> {
        self.holders.remove(place);
        let packets = std::mem::take(&mut self.entries[place].queue);
        self.held_bytes -= packets.iter().map(Vec::len).sum::<usize>();
        packets
    }

    pub(super) fn drop_oldest(&mut self, place: usize) {
        let queue = &mut self.entries[place].queue;
        self.held_bytes -= queue.remove(0).len();
        self.counters.held_dropped += 1;
        if queue.is_empty() {
            self.holders.remove(place);
        }
    }

    /// Puts `place` into the list of its eviction rank, or into none.
    pub(super) fn rank(&mut self, place: usize) {
        let entry = &self.entries[place];
        let rank = match entry.state {
            State::Permanent => None,
            _ if !entry.proven => Some(UNPROVEN),
            State::Stale => Some(IDLE),
            _ => None,
        };
        match rank {
            // Its position among entries of this rank stays.
            Some(rank) if self.ranks.list_of(place) == Some(rank) => {}
            Some(rank) => self.ranks.append(rank, place),
            None => self.ranks.remove(place),
        }
    }
}

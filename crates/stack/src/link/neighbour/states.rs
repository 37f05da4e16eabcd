//! State transitions (RFC 4861, section 7.3.2): by messages, and by time.

use super::{DELAY, Neighbours, REACHABLE, REACHABLE_V6, State};
use linerate_wire::MacAddr;

impl Neighbours {
    /// RFC 4861, section 7.2.3: the source link-layer address of a message to us.
    pub(super) fn solicited_by(&mut self, now: u64, place: usize, mac: MacAddr) -> Vec<Vec<u8>> {
        let entry = &self.entries[place];
        if entry.state == State::Incomplete || entry.mac != mac {
            self.assign(place, mac);
            self.stale(place);
        }
        self.release(now, place)
    }

    /// RFC 4861, section 7.2.5: a neighbour advertisement, or the ARP equivalent.
    pub(super) fn advertised(
        &mut self,
        now: u64,
        place: usize,
        mac: Option<MacAddr>,
        (solicited, overrides, router): (bool, bool, bool),
    ) -> Vec<Vec<u8>> {
        let entry = &self.entries[place];
        let incomplete = entry.state == State::Incomplete;
        if incomplete && mac.is_none() {
            self.counters.ignored += 1;
            return Vec::new();
        }
        let moved = mac.filter(|&mac| incomplete || mac != entry.mac);
        if let Some(mac) = moved {
            if !incomplete && !overrides {
                // I: it contradicts and must not replace; REACHABLE becomes STALE.
                self.counters.ignored += 1;
                if entry.state == State::Reachable {
                    self.invalidate(place);
                    self.stale(place);
                }
                return Vec::new();
            }
            self.assign(place, mac);
        }
        self.entries[place].router = router;
        if solicited {
            self.reachable(now, place);
        } else if moved.is_some() {
            self.stale(place);
        }
        self.release(now, place)
    }

    /// Returns the held packets; sending them is a use of the neighbour.
    fn release(&mut self, now: u64, place: usize) -> Vec<Vec<u8>> {
        let packets = self.take_held(place);
        if !packets.is_empty() && self.entries[place].state == State::Stale {
            self.delay(now, place);
        }
        packets
    }

    /// Sets the MAC address of `place`, under a new generation if it differs.
    pub(super) fn assign(&mut self, place: usize, mac: MacAddr) {
        let entry = &mut self.entries[place];
        let known = entry.generation != 0;
        if known && entry.mac == mac {
            return;
        }
        self.stamp += 1;
        entry.generation = self.stamp;
        entry.mac = mac;
        if known {
            self.counters.moved += 1;
            self.invalidate(place);
        }
    }

    pub(super) fn reachable(&mut self, now: u64, place: usize) {
        self.entries[place].proven = true;
        let v6 = self.entries[place].ip.is_ipv6();
        let (list, time) =
            if v6 { (REACHABLE_V6, self.v6.reachable_ns) } else { (REACHABLE, self.config.reachable_ns) };
        self.enter(place, State::Reachable, list, now.saturating_add(time));
    }

    pub(super) fn delay(&mut self, now: u64, place: usize) {
        self.enter(place, State::Delay, DELAY, now.saturating_add(self.config.delay_ns));
    }

    /// A STALE neighbour has no timer: it waits for use or for eviction.
    pub(super) fn stale(&mut self, place: usize) {
        self.entries[place].state = State::Stale;
        self.timers.remove(place);
        self.rank(place);
    }

    pub(super) fn enter(&mut self, place: usize, state: State, timer: usize, deadline: u64) {
        self.entries[place].state = state;
        self.entries[place].deadline = deadline;
        self.timers.append(timer, place);
        self.rank(place);
    }

    /// Makes those who cache this mapping look it up again.
    pub(super) fn invalidate(&mut self, place: usize) {
        if std::mem::take(&mut self.entries[place].handed_out) {
            self.generation += 1;
        }
    }
}

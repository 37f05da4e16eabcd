//! The switch as a querier (RFC 3376, section 6; RFC 3810, section 7.6): asks which groups hosts listen to where no router
//! does, and whether others are there when one has left.
//!
//! It asks in each VLAN that has untagged frames at a port, and in those that a report came from. It is silent in a VLAN
//! while a querier is about that has precedence: the one with the lower address, and any that has one where this has
//! none (0.0.0.0, as RFC 4541, section 2.1.1, rule 1 has it); of two without, the lower MAC address.

use super::snoop::Family;
use super::table::PortId;
use super::ticks;
use linerate_wire::GroupQuery;
use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Seconds from a general query to the next (RFC 3376, section 8.2), and at the start (section 8.6).
pub(super) const INTERVAL: u8 = 125;
const START_INTERVAL: u32 = 31;
/// Time in ms to answer a general query (section 8.3), and one about a group that a listener left (section 8.8).
pub(super) const WITHIN: u64 = 10_000;
const WITHIN_LAST: u64 = 1_000;
/// Queries at the start, and about a group that a listener left (sections 8.7 and 8.9).
const TIMES: u8 = 2;
/// Most general queries at a time: VLANs take turns.
const AT_ONCE: usize = 16;
/// Most groups at a time that listeners have left, of one port and of all; more end with their time.
const MOST_OF_PORT: usize = 8;
const MOST_ASKS: usize = 256;

/// A group that a listener at a port has left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ask {
    pub(super) vid: u16,
    pub(super) group: IpAddr,
    pub(super) port: PortId,
}

/// A query to be sent: in a VLAN, to all of its ports or one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Due {
    pub(super) vid: u16,
    pub(super) to: Option<PortId>,
    pub(super) query: GroupQuery,
}

#[derive(Clone, Copy)]
struct Turn {
    next: u32,
    /// Queries of the start that are left.
    left: u8,
    /// Last tick for which another querier has precedence.
    silent: u32,
    /// A query was sent.
    begun: bool,
}

/// See the module's text.
pub(super) struct Querier {
    source: u64,
    addresses: [IpAddr; 2],
    turns: HashMap<u16, [Turn; 2]>,
    asks: Vec<(Ask, u8)>,
}

/// The link-local address of a MAC address (RFC 4291, appendix A).
fn link_local([a, b, c, d, e, f]: [u8; 6]) -> Ipv6Addr {
    Ipv6Addr::from([0xfe, 0x80, 0, 0, 0, 0, 0, 0, a ^ 2, b, c, 0xff, 0xfe, d, e, f])
}

impl Querier {
    /// A querier of this MAC address, and of an IPv4 address or 0.0.0.0.
    pub(super) fn new(mac: [u8; 6], address: Ipv4Addr) -> Self {
        let [a, b, c, d, e, f] = mac;
        Self {
            source: u64::from_be_bytes([0, 0, a, b, c, d, e, f]),
            addresses: [address.into(), link_local(mac).into()],
            turns: HashMap::new(),
            asks: Vec::new(),
        }
    }

    /// True if this switch asks in a VLAN.
    pub(super) fn asks(&self, tick: u32, vid: u16, family: Family) -> bool {
        self.turns.get(&vid).map(|turns| turns[family as usize]).is_some_and(|turn| turn.begun && tick > turn.silent)
    }

    /// Address that a family's queries come from.
    pub(super) fn address(&self, family: Family) -> IpAddr {
        self.addresses[family as usize]
    }

    /// Asks in all VLANs as soon as may be: there is somebody new.
    pub(super) fn hurry(&mut self) {
        for turn in self.turns.values_mut().flatten() {
            (turn.next, turn.left) = (0, TIMES);
        }
    }

    /// Takes note of another querier's general query; it counts for so many ticks.
    pub(super) fn hear(&mut self, tick: u32, (vid, family): (u16, Family), other: IpAddr, source: u64, counts: u32) {
        let own = self.addresses[family as usize];
        let precedes = match (own.is_unspecified(), other.is_unspecified()) {
            (true, false) => true,
            (false, true) => false,
            (_, _) => (other, source) < (own, self.source),
        };
        if precedes {
            self.turn(vid)[family as usize].silent = tick + counts;
        }
    }

    fn turn(&mut self, vid: u16) -> &mut [Turn; 2] {
        self.turns.entry(vid).or_insert([Turn { next: 0, left: TIMES, silent: 0, begun: false }; 2])
    }

    /// Takes note of a group to be asked for; false if there are too many.
    pub(super) fn will_ask(&mut self, ask: Ask) -> bool {
        let of_port = self.asks.iter().filter(|(other, _)| other.port == ask.port).count();
        let full = of_port >= MOST_OF_PORT || self.asks.len() >= MOST_ASKS;
        match self.asks.iter_mut().find(|(other, _)| *other == ask) {
            Some((_, left)) => *left = TIMES,
            None if full => return false,
            None => self.asks.push((ask, TIMES)),
        }
        true
    }

    /// The queries to be sent now, about a second after the last ones; `vlans`: those to ask in.
    pub(super) fn due(&mut self, tick: u32, vlans: impl Iterator<Item = u16>) -> Vec<Due> {
        let mut due = Vec::new();
        let mut asks = std::mem::take(&mut self.asks);
        asks.retain_mut(|(Ask { vid, group, port }, left)| {
            let family = Family::of(*group);
            let query =
                GroupQuery { from: self.address(family), group: Some(*group), sources: false, within_ms: WITHIN_LAST };
            if self.asks(tick, *vid, family) {
                due.push(Due { vid: *vid, to: Some(*port), query });
            }
            *left -= 1;
            *left > 0
        });
        self.asks = asks;
        let mut general = 0;
        for vid in vlans {
            for family in Family::ALL {
                let from = self.address(family);
                let turn = &mut self.turn(vid)[family as usize];
                if general == AT_ONCE || tick <= turn.silent || tick < turn.next {
                    continue;
                }
                general += 1;
                turn.left = turn.left.saturating_sub(1);
                let pause = if turn.left > 0 { START_INTERVAL } else { INTERVAL.into() };
                (turn.next, turn.begun) = (tick + ticks(pause) - 1, true);
                let query = GroupQuery { from, group: None, sources: false, within_ms: WITHIN };
                due.push(Due { vid, to: None, query });
            }
        }
        due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAC: [u8; 6] = [2, 0, 0, 0, 0, 9];

    fn querier(address: &str) -> Querier {
        Querier::new(MAC, address.parse().unwrap())
    }

    fn general(due: &[Due]) -> usize {
        due.iter().filter(|due| due.query.group.is_none()).count()
    }

    #[test]
    fn it_asks_at_the_start_and_then_each_125_seconds() {
        let mut q = querier("0.0.0.0");
        assert!(!q.asks(1, 1, Family::V4), "it has asked nobody yet");
        let asked: Vec<u32> = (1..400).filter(|tick| general(&q.due(*tick, [1].into_iter())) == 2).collect();
        assert_eq!(asked, [1, 30, 147, 264, 381], "ticks of 1.07 s");
        assert!(q.asks(400, 1, Family::V6) && !q.asks(400, 2, Family::V6));
        q.hurry();
        assert_eq!(general(&q.due(400, [1].into_iter())), 2);
        // Many VLANs take turns.
        let first = q.due(500, 1..=4094);
        assert_eq!(general(&first), AT_ONCE);
        let rounds = (501..).take_while(|tick| general(&q.due(*tick, 1..=4094)) == AT_ONCE).take(20).count();
        assert_eq!(rounds, 20);
    }

    #[test]
    fn the_lower_address_asks() {
        for (own, other, mac, silent) in [
            ("0.0.0.0", "10.0.0.9", 99, true),
            ("0.0.0.0", "0.0.0.0", 1, true),
            ("0.0.0.0", "0.0.0.0", u64::MAX, false),
            ("10.0.0.5", "10.0.0.4", 99, true),
            ("10.0.0.5", "10.0.0.6", 1, false),
            ("10.0.0.5", "0.0.0.0", 1, false),
            ("10.0.0.5", "fe80::1", 1, false),
        ] {
            let mut q = querier(own);
            q.due(1, [1].into_iter());
            let other: IpAddr = other.parse().unwrap();
            q.hear(2, (1, Family::of(other)), other, mac, 240);
            assert_eq!(q.asks(200, 1, Family::V4), !silent, "{own} beside {other}");
            assert!(q.asks(243, 1, Family::V4), "the other one has gone");
        }
        let mut q = querier("0.0.0.0");
        assert_eq!(q.address(Family::V6).to_string(), "fe80::ff:fe00:9");
        q.due(1, [1].into_iter());
        q.hear(2, (1, Family::V6), "fe80::ff:fe00:8".parse().unwrap(), u64::MAX, 240);
        assert!(!q.asks(3, 1, Family::V6) && q.asks(3, 1, Family::V4));
        q.hear(2, (1, Family::V6), "fe80::ff:fe00:a".parse().unwrap(), 0, 900);
        assert!(q.asks(300, 1, Family::V6));
    }

    #[test]
    fn a_group_that_was_left_is_asked_for_twice_and_a_port_cannot_ask_for_all() {
        let mut q = querier("0.0.0.0");
        q.due(1, [1].into_iter());
        let ask = |n: u8, port| Ask { vid: 1, group: IpAddr::from([239, 0, 0, n]), port };
        assert!(q.will_ask(ask(1, 3)) && q.will_ask(ask(1, 3)));
        for tick in 2..6 {
            let due = q.due(tick, [1].into_iter());
            let last: Vec<_> = due.iter().map(|due| (due.to, due.query.group, due.query.within_ms)).collect();
            let wanted = (Some(3), Some(IpAddr::from([239, 0, 0, 1])), 1000);
            assert_eq!(last, if tick < 4 { vec![wanted] } else { vec![] }, "tick {tick}");
        }
        assert_eq!((0..100).filter(|n| q.will_ask(ask(*n, 3))).count(), MOST_OF_PORT);
        assert!(q.will_ask(ask(1, 4)), "others can");
        q.hear(6, (1, Family::V4), [10, 0, 0, 1].into(), 0, 240);
        assert_eq!(q.due(7, [1].into_iter()), [], "whoever asks in its place");
    }
}

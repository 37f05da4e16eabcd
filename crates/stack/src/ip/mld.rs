//! Multicast listener discovery, the listener's part (MLDv2: RFC 3810; MLDv1: RFC 2710): tells which groups the host
//! receives, so that bridges and routers that forward groups to listeners only pass them on. Neighbour discovery needs it:
//! the solicitations for a host's address go to a group.
//!
//! Out of scope: lists of sources (the host takes all of them), and MLDv1's suppression of reports, which is allowed and
//! not required. IPv4 needs nothing: its only group is all hosts, which is never reported (RFC 3376, section 6).

use super::{Ip, Packet};
use crate::Transmit;
use crate::address::{Own, is_link_local};
use crate::counters::Discard;
use crate::due::Due;
use crate::secret::Keyed;
use linerate_wire::{Icmpv6Packet, IpProtocol, Ipv6Repr, solicited_node};
use std::hash::BuildHasher;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

/// ICMPv6 types (RFC 2710, section 3.1; RFC 3810, section 5).
pub(super) const QUERY: u8 = 130;
const REPORT_V1: u8 = 131;
const REPORT_V2: u8 = 143;
/// Kinds of a record: what the host is in, and what it has joined (RFC 3810, section 5.2.12).
const MODE_IS_EXCLUDE: u8 = 2;
const CHANGE_TO_EXCLUDE: u8 = 4;
/// All routers that know MLDv2 (RFC 3810, section 5.2.14).
const ALL_V2_ROUTERS: Ipv6Addr = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 0x16);
/// Reports of a change, the first at once (RFC 3810, sections 9.1 and 9.11), and nanoseconds between them.
const TIMES: u8 = 2;
const BETWEEN: u64 = 1_000_000_000;
/// Nanoseconds for which a querier of MLDv1 is answered in its version (RFC 3810, section 9.12).
const V1_HOLDS: u64 = 260 * 1_000_000_000;
/// Least nanoseconds from a report to the answer to a query: who asks without pause gets no more than ten a second.
const PAUSE: u64 = 100_000_000;
const NEVER: u64 = u64::MAX;
const MS: u64 = 1_000_000;

/// State of the listener, shared by the shards.
#[derive(Debug)]
pub(super) struct Listener {
    /// Time of the next report.
    due: AtomicU64,
    state: Mutex<State>,
    key: Keyed,
}

#[derive(Clone, Copy, Debug, Default)]
struct State {
    /// The link has been up: changes are reported from then on.
    begun: bool,
    /// Reports of a change that are still to be sent.
    left: u8,
    /// A query is to be answered.
    asked: bool,
    /// Until then a querier of MLDv1 is about.
    v1_until: u64,
    /// Time from which queries are answered again.
    quiet_until: u64,
}

/// What is sent now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Report {
    V1,
    V2 { record: u8 },
}

impl Listener {
    pub(super) fn new(key: Keyed) -> Self {
        Self { due: AtomicU64::new(NEVER), state: Mutex::default(), key }
    }

    fn with<T>(&self, work: impl FnOnce(&mut State) -> T) -> T {
        work(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Time of the next report, if there is one to be sent.
    #[inline]
    pub(super) fn due(&self) -> Due {
        // Relaxed, as all accesses: the number stands for itself, and the state has a lock.
        Due::at(self.due.load(Relaxed))
    }

    /// The link came up: all groups are new to it.
    pub(super) fn begin(&self) {
        self.with(|state| state.begun = true);
        self.change();
    }

    /// Addresses have changed.
    pub(super) fn change(&self) {
        self.with(|state| {
            if state.begun {
                state.left = TIMES;
                self.due.store(0, Relaxed);
            }
        });
    }

    /// A query came that is to be answered within so many milliseconds.
    fn asked(&self, now: u64, v1: bool, within: u64) {
        self.with(|state| {
            if v1 {
                state.v1_until = now.saturating_add(V1_HOLDS);
            }
            state.asked = true;
            // All listeners were asked at once: they answer at different times.
            let at = now.saturating_add(self.key.hash_one(now) % (within + 1) * MS);
            self.due.fetch_min(at.max(state.quiet_until), Relaxed);
        });
    }

    /// The report that is due; the next one is scheduled.
    fn take(&self, now: u64) -> Option<Report> {
        if self.due.load(Relaxed) > now {
            return None;
        }
        self.with(|state| {
            // Another shard may have been first.
            if self.due.load(Relaxed) > now {
                return None;
            }
            state.quiet_until = now.saturating_add(PAUSE);
            let record = if state.left > 0 { CHANGE_TO_EXCLUDE } else { MODE_IS_EXCLUDE };
            let any = state.left > 0 || state.asked;
            state.asked = false;
            state.left = state.left.saturating_sub(1);
            self.due.store(if state.left > 0 { now.saturating_add(BETWEEN) } else { NEVER }, Relaxed);
            let v1 = now < state.v1_until;
            any.then_some(if v1 { Report::V1 } else { Report::V2 { record } })
        })
    }
}

/// Groups that the host receives, other than all nodes, which is never reported (RFC 3810, section 6).
fn groups(own: &Own) -> Vec<Ipv6Addr> {
    let mut groups = Vec::new();
    for cidr in own.all() {
        if let IpAddr::V6(addr) = cidr.addr()
            && !groups.contains(&solicited_node(addr))
        {
            groups.push(solicited_node(addr));
        }
    }
    groups
}

/// Time in ms within which a query wants an answer (RFC 3810, section 5.1.3).
fn maximum_response(v1: bool, code: u16) -> u64 {
    let (exponent, mantissa) = (code >> 12 & 7, code & 0xfff);
    if v1 || code < 0x8000 { code.into() } else { u64::from(mantissa | 0x1000) << (exponent + 3) }
}

/// True if a packet has the option that makes routers look at it (RFC 2711), first of all its extension headers.
fn alerts_routers(whole: &[u8]) -> bool {
    let hop_by_hop = whole.get(6) == Some(&0);
    let len = whole.get(41).map_or(0, |units| 8 + usize::from(*units) * 8);
    let Some(mut options) = whole.get(42..40 + len).filter(|_| hop_by_hop) else { return false };
    while let Some((kind, rest)) = options.split_first() {
        options = match (kind, rest.split_first()) {
            (0, _) => rest,
            (5, Some((2, value))) => return value.starts_with(&[0, 0]),
            (_, Some((len, value))) => value.get(usize::from(*len)..).unwrap_or_default(),
            (_, None) => return false,
        };
    }
    false
}

/// A message in a packet that routers look at and that stays on the link.
fn packet((from, to): (Ipv6Addr, Ipv6Addr), message: &mut [u8]) -> Vec<u8> {
    if let Ok(mut icmp) = Icmpv6Packet::new_checked(&mut *message) {
        icmp.fill_checksum(from, to);
    }
    // Hop-by-hop options: next header, length, router alert for MLD (RFC 2711, section 2.1), padding.
    let options = [IpProtocol::ICMPV6.0, 0, 5, 2, 0, 0, 1, 0];
    let payload_len = options.len() + message.len();
    let ip = Ipv6Repr { payload_len, hop_limit: 1, ..Ipv6Repr::new(from, to, IpProtocol::HOP_BY_HOP) };
    let mut packet = vec![0; 40 + payload_len];
    if let Ok(rest) = ip.emit(&mut packet) {
        rest[..options.len()].copy_from_slice(&options);
        rest[options.len()..].copy_from_slice(message);
    }
    packet
}

impl Ip {
    /// Processes a query (RFC 3810, sections 5.1 and 6.2).
    pub(super) fn take_query(&mut self, now: u64, packet: &Packet<'_>) -> Result<(), Discard> {
        if !is_link_local(packet.from) || packet.hops != 1 || !alerts_routers(packet.whole) {
            return Err(Discard::BadAddress);
        }
        let v1 = match packet.payload.len() {
            24 => true,
            28.. => false,
            _ => return Err(Discard::Malformed),
        };
        let code = packet.payload.get(4..6).map_or(0, |code| u16::from_be_bytes([code[0], code[1]]));
        let group = packet.payload.get(8..).and_then(<[u8]>::first_chunk::<16>).map(|bytes| Ipv6Addr::from(*bytes));
        self.link.counters.neighbours += 1;
        if group.is_some_and(|group| group.is_unspecified() || groups(&self.settings.own).contains(&group)) {
            self.shared.listener.asked(now, v1, maximum_response(v1, code));
        }
        Ok(())
    }

    /// Sends the report that is due.
    pub(super) fn poll_listener<T: Transmit>(&mut self, now: u64, tx: &mut T) {
        let Some(report) = self.shared.listener.take(now) else { return };
        let own = &self.settings.own;
        let groups = groups(own);
        let station = self.link.station;
        if groups.is_empty() || !station.up || !station.carrier {
            return;
        }
        let local = own.all().iter().map(crate::address::Cidr::addr).find(|addr| is_link_local(*addr));
        // RFC 3590: a host without a link-local address reports from none.
        let from = local.map_or(Ipv6Addr::UNSPECIFIED, |addr| match addr {
            IpAddr::V6(addr) => addr,
            IpAddr::V4(_) => Ipv6Addr::UNSPECIFIED,
        });
        let mut packets = Vec::new();
        match report {
            Report::V1 => packets.extend(groups.iter().map(|group| {
                let mut message = [&[REPORT_V1, 0, 0, 0, 0, 0, 0, 0][..], &group.octets()].concat();
                (*group, packet((from, *group), &mut message))
            })),
            Report::V2 { record } => {
                // Header and options, the report's own, and 20 bytes a record.
                let most = station.mtu.saturating_sub(48 + 8) / 20;
                for some in groups.chunks(most.max(1)) {
                    let [high, low] = u16::try_from(some.len()).unwrap_or(0).to_be_bytes();
                    let mut message = vec![REPORT_V2, 0, 0, 0, 0, 0, high, low];
                    for group in some {
                        message.extend([record, 0, 0, 0]);
                        message.extend(group.octets());
                    }
                    packets.push((ALL_V2_ROUTERS, packet((from, ALL_V2_ROUTERS), &mut message)));
                }
            }
        }
        for (to, packet) in packets {
            if !self.link.send(now, to.into(), packet, &self.settings.own, tx) {
                self.link.counters.discard(Discard::NoRoom);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_of_long_times_are_floating_point() {
        for (code, ms) in [(0, 0), (10_000, 10_000), (0x7fff, 32_767), (0x8000, 32_768), (0xffff, 8_387_584)] {
            assert_eq!(maximum_response(false, code), ms, "{code:#x}");
        }
        assert_eq!(maximum_response(true, 0xffff), 65_535);
    }

    #[test]
    fn the_alert_is_found_among_other_options() {
        let with = |next: u8, options: &[u8]| {
            let mut whole = vec![0; 40];
            whole[6] = next;
            whole.extend([58, u8::try_from((options.len() + 2) / 8 - 1).unwrap()]);
            whole.extend(options);
            alerts_routers(&whole)
        };
        assert!(with(0, &[5, 2, 0, 0, 1, 0]) && with(0, &[0, 5, 2, 0, 0, 0]) && with(0, &[1, 0, 5, 2, 0, 0]));
        assert!(with(0, &[1, 8, 0, 0, 0, 0, 0, 0, 0, 0, 5, 2, 0, 0]));
        for options in [[1, 4, 0, 0, 0, 0], [5, 2, 0, 1, 1, 0], [1, 9, 5, 2, 0, 0], [0; 6], [1, 3, 5, 2, 0, 5]] {
            assert!(!with(0, &options), "{options:?}");
        }
        assert!(!with(58, &[5, 2, 0, 0, 1, 0]), "no extension header");
        for len in 0..48 {
            assert!(!alerts_routers(&vec![0; len]), "{len} bytes");
        }
    }
}

//! Claims to addresses: whether another station has one that this host wants, or has (IPv4: RFC 5227; IPv6: RFC 4862,
//! section 5.4).
//!
//! A host is usable at once: its addresses are in use while they are checked, as RFC 4429 allows over IPv6 under rules that
//! keep others' caches as they are, which the link minds; over IPv4 the same is done. An address that is found to be
//! another's during the check is given up.
//!
//! Out of scope: messages are made and read by the link, and a station that answers to no check is not found by it.

use super::{Ip, Origin};
use crate::address::{Cidr, Own};
use crate::counters::Discard;
use crate::due::Due;
use crate::link::Conflict;
use crate::secret::Keyed;
use crate::{Event, Transmit};
use linerate_wire::{Icmpv6Packet, IpProtocol, Ipv6Packet, NdpPacket, NdpRepr};
use std::hash::BuildHasher;
use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

const SECOND: u64 = 1_000_000_000;
/// Probes for an IPv4 address (PROBE_NUM), the least time between two (PROBE_MIN), and what is added at random (PROBE_MAX
/// less PROBE_MIN). The first is sent at once: PROBE_WAIT is for hosts that are all switched on at the same time.
const PROBES_V4: u8 = 3;
const PROBE_MIN: u64 = SECOND;
const PROBE_SPREAD: u64 = SECOND;
/// Time from the last probe to the announcement (ANNOUNCE_WAIT), announcements (ANNOUNCE_NUM), and the time between them
/// (ANNOUNCE_INTERVAL).
const ANNOUNCE_WAIT: u64 = 2 * SECOND;
const ANNOUNCEMENTS: u8 = 2;
const ANNOUNCE_INTERVAL: u64 = 2 * SECOND;
/// Time in which an IPv4 address is defended once (DEFEND_INTERVAL; RFC 5227, section 1.1 for all of these).
const DEFEND_INTERVAL: u64 = 10 * SECOND;
/// Solicitations for an IPv6 address (DupAddrDetectTransmits), and the time to wait for an answer (RetransTimer; RFC 4862,
/// section 5.1).
const PROBES_V6: u8 = 1;
const RETRANS: u64 = SECOND;
const NEVER: u64 = u64::MAX;

/// Claims to all addresses, shared by the shards.
#[derive(Debug)]
pub(super) struct Claims {
    /// Time of the next step.
    due: AtomicU64,
    state: Mutex<State>,
    key: Keyed,
}

#[derive(Debug, Default)]
struct State {
    /// The link is up: new addresses are checked.
    begun: bool,
    claims: Vec<Claim>,
}

#[derive(Clone, Copy, Debug)]
struct Claim {
    cidr: Cidr,
    /// Probes and announcements that were sent.
    probes: u8,
    announcements: u8,
    /// Time of the next step.
    at: u64,
    /// Time at which another station claimed the address last.
    contested: Option<u64>,
}

/// The step that is taken for an address now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Probe,
    /// Nobody else has it: the first announcement.
    Succeed,
    Announce,
}

/// Consequence of another station's claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    GiveUp,
    Defend,
    Nothing,
}

impl Claim {
    fn new(cidr: Cidr) -> Self {
        Self { cidr, probes: 0, announcements: 0, at: 0, contested: None }
    }

    /// The step that is due; the next one is scheduled.
    fn step(&mut self, now: u64, key: Keyed) -> Step {
        let v4 = self.cidr.addr().is_ipv4();
        let wait = |ns: u64| now.saturating_add(ns);
        if self.probes < if v4 { PROBES_V4 } else { PROBES_V6 } {
            self.probes += 1;
            self.at = match (v4, self.probes) {
                (false, _) => wait(RETRANS),
                (true, PROBES_V4) => wait(ANNOUNCE_WAIT),
                (true, sent) => wait(PROBE_MIN + key.hash_one((now, sent)) % PROBE_SPREAD),
            };
            return Step::Probe;
        }
        self.announcements += 1;
        self.at = if v4 && self.announcements < ANNOUNCEMENTS { wait(ANNOUNCE_INTERVAL) } else { NEVER };
        if self.announcements == 1 { Step::Succeed } else { Step::Announce }
    }

    /// Consequence of another station's claim to an address that is being checked, or is in use.
    ///
    /// An address in use is not given up, since it was given to this host (RFC 5227, section 2.4 c) and one forged packet
    /// would take it away. Claims in succession, each within so long of the one before, are answered once, or two hosts
    /// would answer each other for ever.
    fn contest(&mut self, now: u64, checking: bool) -> Verdict {
        let before = self.contested.replace(now);
        let lately = before.is_some_and(|before| now.saturating_sub(before) < DEFEND_INTERVAL);
        match (checking, lately) {
            (true, _) => Verdict::GiveUp,
            (false, true) => Verdict::Nothing,
            (false, false) => Verdict::Defend,
        }
    }
}

impl Claims {
    pub(super) fn new(key: Keyed) -> Self {
        Self { due: AtomicU64::new(NEVER), state: Mutex::default(), key }
    }

    fn with<T>(&self, work: impl FnOnce(&mut State) -> T) -> T {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let done = work(&mut state);
        let due = state.claims.iter().map(|claim| claim.at).min().filter(|_| state.begun);
        // Relaxed, as all accesses: the number stands for itself, and the state has a lock.
        self.due.store(due.unwrap_or(NEVER), Relaxed);
        done
    }

    /// Time of the next step, if there is one.
    #[inline]
    pub(super) fn due(&self) -> Due {
        Due::at(self.due.load(Relaxed))
    }

    /// The link came up: all addresses are checked (RFC 5227, section 2.1).
    fn begin(&self, own: &Own) {
        self.with(|state| {
            state.begun = true;
            state.claims = own.all().iter().map(|cidr| Claim::new(*cidr)).collect();
        });
    }

    /// The link went down: nothing is sent.
    fn end(&self) {
        self.with(|state| state.begun = false);
    }

    /// Follows changes of the addresses; true if there are new ones to be checked.
    fn follow(&self, own: &Own) -> bool {
        self.with(|state| {
            state.claims.retain(|claim| own.is_ours(claim.cidr.addr()));
            let claimed = |cidr: &&Cidr| !state.claims.iter().any(|claim| claim.cidr.addr() == cidr.addr());
            let new: Vec<_> = own.all().iter().filter(claimed).map(|cidr| Claim::new(*cidr)).collect();
            if !state.begun || new.is_empty() {
                return false;
            }
            state.claims.extend(new);
            true
        })
    }

    /// The steps that are due.
    fn take(&self, now: u64) -> Vec<(IpAddr, Step)> {
        if self.due.load(Relaxed) > now {
            return Vec::new();
        }
        self.with(|state| {
            let due = state.claims.iter_mut().filter(|claim| claim.at <= now);
            due.map(|claim| (claim.cidr.addr(), claim.step(now, self.key))).collect()
        })
    }

    /// Another station claims an address.
    fn contest(&self, now: u64, address: IpAddr, checking: bool) -> Option<(Cidr, Verdict)> {
        self.with(|state| {
            let claim = state.claims.iter_mut().find(|claim| claim.cidr.addr() == address)?;
            Some((claim.cidr, claim.contest(now, checking)))
        })
    }
}

impl Ip {
    /// The link came up: addresses are checked, then announced.
    pub(super) fn begin_claims(&mut self) {
        self.change(|settings| settings.own.check_all());
        self.shared.claims.begin(&self.settings.own);
    }

    /// The link went down.
    pub(super) fn end_claims(&self) {
        self.shared.claims.end();
    }

    /// Follows changes of the addresses.
    pub(crate) fn follow_claims(&mut self) {
        if self.shared.claims.follow(&self.settings.own) {
            let claims = &self.shared.claims;
            let new = claims.with(|state| {
                let new = state.claims.iter().filter(|claim| claim.at == 0 && claim.probes == 0);
                new.map(|claim| claim.cidr.addr()).collect::<Vec<_>>()
            });
            self.change(|settings| new.iter().for_each(|addr| settings.own.set_checked(*addr, true)));
        }
    }

    /// Sends the probes and announcements that are due.
    pub(super) fn poll_claims<T: Transmit>(&mut self, now: u64, tx: &mut T) {
        for (address, step) in self.shared.claims.take(now) {
            if step == Step::Succeed {
                self.change(|settings| settings.own.set_checked(address, false));
            }
            let sent = match step {
                Step::Probe => self.link.probe(address, tx),
                Step::Succeed | Step::Announce => self.link.announce_one(address, tx),
            };
            if let Err(why) = sent {
                self.link.counters.discard(why);
            }
        }
    }

    /// Processes an ARP packet.
    pub(crate) fn take_arp<T: Transmit>(&mut self, now: u64, payload: &[u8], tx: &mut T) -> Result<(), Discard> {
        let taken = self.link.take_arp(now, payload, &self.settings.own, tx);
        self.judge(now, tx);
        taken
    }

    /// Looks into a packet over IPv6 that is discarded because its source is ours, from outside: the owner of an address
    /// answers from it to who asks for it (RFC 4862, section 5.4.4).
    #[cold]
    pub(crate) fn suspect<T: Transmit>(&mut self, now: u64, whole: &[u8], origin: Origin, tx: &mut T) {
        let own = &self.settings.own;
        let Some((station, _)) = origin.stations.filter(|(station, _)| *station != self.link.station.mac) else {
            return;
        };
        let Ok(ip) = Ipv6Packet::new_checked(whole) else { return };
        let to_us = own.is_to_all(ip.dst().into()) || own.is_ours(ip.dst().into());
        if !to_us || ip.next_header() != IpProtocol::ICMPV6 || ip.hop_limit() != 255 {
            return;
        }
        let right = Icmpv6Packet::new_checked(ip.payload()).is_ok_and(|icmp| icmp.verify_checksum(ip.src(), ip.dst()));
        let said = NdpPacket::new_checked(ip.payload()).map(|ndp| NdpRepr::parse(&ndp));
        if let (true, Ok(NdpRepr::NeighborAdvertisement { target, mac, .. })) = (right, said)
            && target == ip.src()
            && own.is_ours(target.into())
        {
            let mac = mac.filter(|mac| !mac.is_multicast()).unwrap_or(station);
            self.link.conflict = Some(Conflict { address: target.into(), mac });
            self.judge(now, tx);
        }
    }

    /// Judges another station's claim to an address of ours, if the last message was one.
    pub(super) fn judge<T: Transmit>(&mut self, now: u64, tx: &mut T) {
        let Some(Conflict { address, mac }) = self.link.conflict.take() else { return };
        let checking = self.settings.own.is_checked(address);
        let Some((cidr, verdict)) = self.shared.claims.contest(now, address, checking) else { return };
        self.link.counters.conflicts += 1;
        match verdict {
            Verdict::Nothing => {}
            Verdict::GiveUp => {
                self.change(|settings| settings.remove_address(address));
                self.addresses_changed();
                self.shared.events.push(Event::AddressLost { address: cidr, mac });
            }
            Verdict::Defend => {
                let sent = if address.is_ipv4() { self.link.announce_one(address, tx) } else { Ok(()) };
                if let Err(why) = sent {
                    self.link.counters.discard(why);
                }
                self.shared.events.push(Event::AddressContested { address: cidr, mac });
            }
        }
    }
}

//! Autoconfiguration over IPv6: routers are asked for (RFC 4861, section 6.3.7), and what they advertise is used: the default
//! route, prefixes on the link, the MTU, the hop limit, neighbours' times (section 6.3.4), and addresses made of prefixes (RFC 4862,
//! section 5.5).
//!
//! Interface identifiers are formed from the MAC address (RFC 4291, appendix A). Those of RFC 7217, which tell nobody who the
//! host is, need a secret that outlives the program, and there is no place for one here: with a new secret at each start a
//! host could not be found again.
//!
//! Out of scope: RetransTimer where addresses are checked (RFC 4862, section 5.4: a second there), routers' preferences, and DHCPv6.

mod terms;

use super::Ip;
use crate::Transmit;
use crate::address::{Cidr, is_link_local, link_local};
use crate::counters::Discard;
use crate::due::Due;
use crate::link::{Heard, Message};
use crate::{ConfigError, Event, Route};
use linerate_wire::{MacAddr, NdpRouter};
use std::net::{IpAddr, Ipv6Addr};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use terms::{Change, Terms};

/// Solicitations (MAX_RTR_SOLICITATIONS), and the time between them (RTR_SOLICITATION_INTERVAL; RFC 4861, section 10). The
/// first is sent at once: the delay of section 6.3.7 is for hosts that are all switched on at the same time.
const SOLICITATIONS: u8 = 3;
const INTERVAL: u64 = 4_000_000_000;
const NEVER: u64 = u64::MAX;
/// Hop limit of messages that come from the link itself (RFC 4861, section 6.1.2).
const HOPS: u8 = 255;

/// State of autoconfiguration, shared by the shards.
#[derive(Debug)]
pub(super) struct Auto {
    /// Time at which there is something to do.
    due: AtomicU64,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    on: bool,
    /// Solicitations that are still to be sent, the next one at this time.
    left: u8,
    at: u64,
    terms: Terms,
}

impl Auto {
    pub(super) fn new() -> Self {
        Self { due: AtomicU64::new(NEVER), state: Mutex::default() }
    }

    fn with<T>(&self, work: impl FnOnce(&mut State) -> T) -> T {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let done = work(&mut state);
        let asks = if state.left > 0 { state.at } else { NEVER };
        // Relaxed, as all accesses: the number stands for itself, and the state has a lock.
        self.due.store(asks.min(state.terms.due()), Relaxed);
        done
    }

    /// Time at which there is something to do.
    #[inline]
    pub(super) fn due(&self) -> Due {
        Due::at(self.due.load(Relaxed))
    }

    fn is_on(&self) -> bool {
        self.with(|state| state.on)
    }

    /// The link came up, or autoconfiguration was switched on: routers are asked for.
    pub(super) fn begin(&self) {
        self.with(|state| {
            state.left = if state.on { SOLICITATIONS } else { 0 };
            state.at = 0;
        });
    }

    /// The link went down: nobody can be asked.
    pub(super) fn end(&self) {
        self.with(|state| state.left = 0);
    }

    /// True if a solicitation is due; the next one is scheduled.
    fn solicits(&self, now: u64) -> bool {
        self.with(|state| {
            let due = state.left > 0 && state.at <= now;
            if due {
                state.left -= 1;
                state.at = now.saturating_add(INTERVAL);
            }
            due
        })
    }
}

impl Ip {
    /// Switches autoconfiguration on: there is a link-local address, and routers are asked for. What they gave stays when it
    /// is switched off, until its time is over.
    pub(crate) fn set_auto(&mut self, on: bool) -> Result<(), ConfigError> {
        if on {
            let local = link_local(self.settings.station.mac);
            if !self.settings.own.is_ours(local.addr()) {
                self.try_change(|settings| settings.add_address(local))?;
                self.addresses_changed();
            }
        }
        self.shared.auto.with(|state| state.on = on);
        self.shared.auto.begin();
        Ok(())
    }

    /// Processes a router advertisement; None if none is wanted.
    pub(super) fn take_advertisement<T: Transmit>(
        &mut self,
        now: u64,
        message: Message,
        router: &NdpRouter,
        source: Option<MacAddr>,
        tx: &mut T,
    ) -> Option<Result<(), Discard>> {
        if !self.shared.auto.is_on() {
            return None;
        }
        // RFC 4861, section 6.1.2.
        let from = IpAddr::V6(message.from);
        if message.hops != HOPS || !is_link_local(from) || source.is_some_and(MacAddr::is_multicast) {
            return Some(Err(Discard::BadAddress));
        }
        self.link.counters.neighbours += 1;
        if source.is_some() {
            self.link.learn(now, from, source, Heard::Solicitation, tx);
        }
        let time = |ms: u32| (ms > 0).then_some(u64::from(ms) * 1_000_000);
        self.link.common.neighbours().advise(time(router.reachable_ms), time(router.retrans_ms));
        let mut changes = Vec::new();
        self.shared.auto.with(|state| {
            if router.lifetime_s > 0 {
                // RFC 4861, section 6.3.7: who has a default router asks for no more.
                state.left = 0;
            }
            state.terms.advertised(now, message.from, router, &self.settings, &mut changes);
        });
        self.apply(&changes);
        Some(Ok(()))
    }

    /// Sends a solicitation that is due, and ends what has come to its end.
    pub(super) fn poll_auto<T: Transmit>(&mut self, now: u64, tx: &mut T) {
        if !self.shared.auto.due().has_come(now) {
            return;
        }
        if self.shared.auto.solicits(now)
            && let Err(why) = self.link.solicit_routers(&self.settings.own, tx)
        {
            self.link.counters.discard(why);
        }
        let mut changes = Vec::new();
        self.shared.auto.with(|state| state.terms.settle(now, &self.settings, &mut changes));
        self.apply(&changes);
    }

    /// Applies changes to the settings, and tells of them.
    fn apply(&mut self, changes: &[Change]) {
        for change in changes {
            match *change {
                Change::Make { address, router } => {
                    // One too many, or one that no host can have, is not made.
                    if self.try_change(|settings| settings.add_address(address)).is_ok() {
                        self.addresses_changed();
                        self.shared.events.push(Event::AddressMade { address, router });
                    }
                }
                Change::Expire { address } => {
                    if self.change(|settings| settings.remove_address(address.addr())) {
                        self.addresses_changed();
                        self.shared.events.push(Event::AddressExpired { address });
                    }
                }
                Change::Deprecate { address, deprecated } => {
                    self.change(|settings| settings.own.set_deprecated(address, deprecated));
                }
                Change::OnLink { network } => {
                    self.change(|settings| settings.routes.set(Route { to: network, via: None }));
                }
                Change::OffLink { network } => {
                    self.change(|settings| settings.routes.remove(network));
                }
                Change::Default { router } => {
                    let to = default();
                    self.change(|settings| match router {
                        Some(router) => settings.routes.set(Route { to, via: Some(router.into()) }),
                        None => settings.routes.remove(to),
                    });
                    self.shared.events.push(Event::DefaultRouter { router });
                }
                Change::Mtu { mtu } => self.change(|settings| settings.mtu_v6 = Some(mtu)),
                Change::Hops { hops } => self.change(|settings| settings.hops_v6 = Some(hops)),
            }
        }
    }
}

/// The network of all destinations.
fn default() -> Cidr {
    let any = Ipv6Addr::UNSPECIFIED.into();
    Cidr::new(any, 0).unwrap_or(Cidr::host(any))
}

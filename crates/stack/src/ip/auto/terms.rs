//! Advertisements of routers, with their lifetimes: default routers, prefixes on the link, addresses made of prefixes.

use super::{NEVER, default};
use crate::address::{Cidr, is_link_local, link_local};
use crate::ip::Settings;
use linerate_wire::{NdpPrefix, NdpRouter};
use std::net::{IpAddr, Ipv6Addr};
use std::num::NonZeroU8;

const SECOND: u64 = 1_000_000_000;
/// Two hours: no advertisement, which anybody can forge, shortens an address's life to less (RFC 4862, section 5.5.3 e).
const TWO_HOURS: u64 = 7200 * SECOND;
/// Most of each kind; a network has one or two.
const ROUTERS: usize = 8;
const PREFIXES: usize = 16;
const ADDRESSES: usize = 16;
/// Least MTU of a link (RFC 8200, section 5).
const LEAST_MTU: usize = 1280;

/// Change of the host's settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Change {
    /// There is a new address.
    Make { address: Cidr, router: Ipv6Addr },
    /// An address is over.
    Expire { address: Cidr },
    /// An address is a source for new datagrams, or no longer.
    Deprecate { address: IpAddr, deprecated: bool },
    /// Addresses of a network are neighbours.
    OnLink { network: Cidr },
    /// They are not any more.
    OffLink { network: Cidr },
    /// The default route is by another router, or by none.
    Default { router: Option<Ipv6Addr> },
    /// The longest IPv6 packet of the link.
    Mtu { mtu: usize },
    /// The hop limit of IPv6 packets.
    Hops { hops: NonZeroU8 },
}

/// An address that was made of a prefix. It stays in the list if another station turns out to have it, and so is not made
/// again.
#[derive(Clone, Copy, Debug)]
struct Made {
    address: Cidr,
    valid_until: u64,
    preferred_until: u64,
    deprecated: bool,
}

/// All that is advertised.
#[derive(Debug, Default)]
pub(super) struct Terms {
    /// Default routers, the longest known first, each until its time is over.
    routers: Vec<(Ipv6Addr, u64)>,
    /// Router of the present default route, if it is ours.
    default: Option<Ipv6Addr>,
    prefixes: Vec<(Cidr, u64)>,
    made: Vec<Made>,
}

/// End of a lifetime in seconds; all ones are for ever (RFC 4861, section 4.6.2).
fn end(now: u64, lifetime_s: u32) -> u64 {
    if lifetime_s == u32::MAX { NEVER } else { now.saturating_add(u64::from(lifetime_s) * SECOND) }
}

impl Terms {
    /// Time at which something ends.
    pub(super) fn due(&self) -> u64 {
        let routers = self.routers.iter().map(|(_, until)| *until);
        let prefixes = self.prefixes.iter().map(|(_, until)| *until);
        let ends =
            |made: &Made| if made.deprecated { made.valid_until } else { made.valid_until.min(made.preferred_until) };
        routers.chain(prefixes).chain(self.made.iter().map(ends)).min().unwrap_or(NEVER)
    }

    /// Processes an advertisement.
    pub(super) fn advertised(
        &mut self,
        now: u64,
        from: Ipv6Addr,
        router: &NdpRouter,
        settings: &Settings,
        changes: &mut Vec<Change>,
    ) {
        let until = end(now, router.lifetime_s.into());
        match self.routers.iter().position(|(known, _)| *known == from) {
            // A lifetime of nought ends in `settle`.
            Some(at) => self.routers[at].1 = until,
            None if router.lifetime_s > 0 && self.routers.len() < ROUTERS => self.routers.push((from, until)),
            None => {}
        }
        let mtu = router.mtu.and_then(|mtu| usize::try_from(mtu).ok());
        let fits = |mtu: &usize| (LEAST_MTU..=settings.station.mtu).contains(mtu) && settings.mtu_v6 != Some(*mtu);
        if let Some(mtu) = mtu.filter(fits) {
            changes.push(Change::Mtu { mtu });
        }
        if let Some(hops) = NonZeroU8::new(router.hop_limit) {
            changes.push(Change::Hops { hops });
        }
        for prefix in router.prefixes.iter().flatten() {
            // RFC 4861, section 6.3.4; RFC 4862, section 5.5.3 b.
            let Some(network) = Cidr::new(prefix.prefix.into(), prefix.len).map(|cidr| cidr.network()) else {
                continue;
            };
            if is_link_local(network.addr()) || network.addr().is_multicast() {
                continue;
            }
            if prefix.on_link {
                self.on_link(now, network, prefix.valid_s, settings, changes);
            }
            if prefix.autonomous {
                self.autonomous(now, from, network, prefix, settings, changes);
            }
        }
        self.settle(now, settings, changes);
    }

    /// A prefix whose addresses are neighbours (RFC 4861, section 6.3.4).
    fn on_link(&mut self, now: u64, network: Cidr, valid_s: u32, settings: &Settings, changes: &mut Vec<Change>) {
        match self.prefixes.iter().position(|(known, _)| *known == network) {
            Some(at) => self.prefixes[at].1 = end(now, valid_s),
            // What is configured by hand stays as it is.
            None if valid_s == 0 || settings.routes.iter().any(|route| route.to == network) => {}
            None if self.prefixes.len() < PREFIXES => {
                self.prefixes.push((network, end(now, valid_s)));
                changes.push(Change::OnLink { network });
            }
            None => {}
        }
    }

    /// A prefix of which an address is made, or whose address lives longer (RFC 4862, section 5.5.3).
    fn autonomous(
        &mut self,
        now: u64,
        from: Ipv6Addr,
        network: Cidr,
        prefix: &NdpPrefix,
        settings: &Settings,
        changes: &mut Vec<Change>,
    ) {
        let (valid, preferred) = (end(now, prefix.valid_s), end(now, prefix.preferred_s));
        // Section 5.5.3 c and d: identifiers have 64 bits (RFC 2464, section 4).
        let IpAddr::V6(high) = network.addr() else { return };
        if preferred > valid || prefix.len != 64 {
            return;
        }
        let IpAddr::V6(low) = link_local(settings.station.mac).addr() else { return };
        let addr = IpAddr::V6(Ipv6Addr::from_bits(high.to_bits() | low.to_bits() & u128::from(u64::MAX)));
        if let Some(made) = self.made.iter_mut().find(|made| network.contains(made.address.addr())) {
            let left = made.valid_until.saturating_sub(now);
            let given = valid.saturating_sub(now);
            // Section 5.5.3 e.
            if given > TWO_HOURS || given > left {
                made.valid_until = valid;
            } else if left > TWO_HOURS {
                made.valid_until = now.saturating_add(TWO_HOURS);
            }
            made.preferred_until = preferred;
            return;
        }
        let known = settings.own.all().iter().any(|ours| ours.addr() == addr);
        if prefix.valid_s == 0 || known || self.made.len() >= ADDRESSES {
            return;
        }
        // The prefix of one that is not on the link is reached by the router.
        let on_link = Cidr::new(addr, prefix.len).filter(|_| prefix.on_link);
        let address = on_link.unwrap_or(Cidr::host(addr));
        self.made.push(Made { address, valid_until: valid, preferred_until: preferred, deprecated: false });
        changes.push(Change::Make { address, router: from });
    }

    /// Ends what has come to its end, and chooses the default router.
    pub(super) fn settle(&mut self, now: u64, settings: &Settings, changes: &mut Vec<Change>) {
        self.made.retain_mut(|made| {
            let (over, old) = (made.valid_until <= now, made.preferred_until <= now);
            if over {
                changes.push(Change::Expire { address: made.address });
            } else if old != made.deprecated {
                changes.push(Change::Deprecate { address: made.address.addr(), deprecated: old });
            }
            made.deprecated = old;
            !over
        });
        let expired = changes.iter().any(|change| matches!(change, Change::Expire { .. }));
        self.prefixes.retain(|(network, until)| {
            let network = *network;
            if *until <= now {
                changes.push(Change::OffLink { network });
            } else if expired {
                // With its last address a network's route goes, which is still wanted.
                changes.push(Change::OnLink { network });
            }
            *until > now
        });
        self.routers.retain(|(_, until)| *until > now);
        // The present one as long as it is there (RFC 4861, section 6.3.6).
        let stays = self.default.filter(|router| self.routers.iter().any(|(known, _)| known == router));
        let router = stays.or_else(|| self.routers.first().map(|(router, _)| *router));
        let by_hand = self.default.is_none() && settings.routes.iter().any(|route| route.to == default());
        if router != self.default && !by_hand {
            self.default = router;
            changes.push(Change::Default { router });
        }
    }
}

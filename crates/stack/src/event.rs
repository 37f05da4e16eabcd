//! Events of a host: what its neighbours made of its addresses, and what routers gave it.

use crate::Cidr;
use linerate_wire::MacAddr;
use std::collections::VecDeque;
use std::fmt;
use std::net::Ipv6Addr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

/// Event of a host, of whichever of its shards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// Another station has this address: the host uses it no longer.
    AddressLost {
        /// The address.
        address: Cidr,
        /// MAC address of the other station.
        mac: MacAddr,
    },
    /// Another station claims this address, and the host goes on using it: over IPv4 it has said so to all, once (RFC 5227,
    /// section 2.4 c); over IPv6 nothing can be done (RFC 4862, section 5.4.4).
    AddressContested {
        /// The address.
        address: Cidr,
        /// MAC address of the other station.
        mac: MacAddr,
    },
    /// The host has made an address of a router's prefix (RFC 4862, section 5.5.3).
    AddressMade {
        /// The address.
        address: Cidr,
        /// The router.
        router: Ipv6Addr,
    },
    /// An address that was made of a prefix has come to the end of its lifetime (RFC 4862, section 5.5.4).
    AddressExpired {
        /// The address.
        address: Cidr,
    },
    /// The host has another default router, or none (RFC 4861, section 6.3.4).
    DefaultRouter {
        /// The router.
        router: Option<Ipv6Addr>,
    },
}

impl fmt::Display for Event {
    /// A line that says what it is, and what can be done.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AddressLost { address, mac } => write!(
                f,
                "{address} is not used any more: the station {mac} has it; give this host another address, or take it from \
                 that one"
            ),
            Self::AddressContested { address, mac } => {
                write!(f, "{address} is claimed by the station {mac}, too; give one of the two another address")
            }
            Self::AddressMade { address, router } => write!(f, "address {address}, by the router {router}"),
            Self::AddressExpired { address } => write!(f, "address {address} has expired"),
            Self::DefaultRouter { router: Some(router) } => write!(f, "default route by {router}"),
            Self::DefaultRouter { router: None } => f.write_str("no default route any more"),
        }
    }
}

/// State of one of a host's addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AddressState {
    /// In use, while the host asks whether another station has it (RFC 4429: "optimistic").
    Checking,
    /// In use.
    Preferred,
    /// In use, but no longer as the source of something new (RFC 4862, section 5.5.4).
    Deprecated,
}

/// Most events that wait; older ones are dropped.
const MOST: usize = 64;

/// Events that nobody has taken yet.
#[derive(Debug, Default)]
pub(crate) struct Events {
    /// True if there are any, so that they can be asked for without the lock.
    any: AtomicBool,
    queue: Mutex<VecDeque<Event>>,
}

impl Events {
    pub(crate) fn push(&self, event: Event) {
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        if queue.len() >= MOST {
            queue.pop_front();
        }
        queue.push_back(event);
        // Relaxed, as below: the events themselves are read under the lock.
        self.any.store(true, Ordering::Relaxed);
    }

    #[inline]
    pub(crate) fn pop(&self) -> Option<Event> {
        if self.any.load(Ordering::Relaxed) { self.take() } else { None }
    }

    #[cold]
    fn take(&self) -> Option<Event> {
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        let event = queue.pop_front();
        self.any.store(!queue.is_empty(), Ordering::Relaxed);
        event
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_come_in_order_and_the_oldest_give_way() {
        let events = Events::default();
        assert_eq!(events.pop(), None);
        let event = |n: u16| Event::DefaultRouter { router: Some(Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, n)) };
        (0..66).for_each(|n| events.push(event(n)));
        assert_eq!((2..66).map(event).collect::<Vec<_>>(), std::iter::from_fn(|| events.pop()).collect::<Vec<_>>());
        assert_eq!(events.pop(), None);
    }
}

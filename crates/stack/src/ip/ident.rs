//! Identifications of packets that may be fragmented: those of two hosts have a number that goes on by one, from a beginning that
//! only this host knows (RFC 7739, section 5.3, the hash-based algorithm). So no peer learns from those that it gets what is sent to others,
//! or what others will get next.
//!
//! Over IPv4, a packet that is not to be fragmented has none: it is 0 (RFC 6864, section 4.1).

use crate::address::Key;
use crate::keyed::Keyed;
use linerate_wire::IpProtocol;
use std::hash::BuildHasher;
use std::net::IpAddr;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// Counters, each for all pairs of hosts that a hash assigns to it.
const COUNTERS: usize = 1024;

/// Identification of a packet that is not fragmented: any will do, for it is never put together.
pub(crate) const ATOMIC: u16 = 0;

/// True if a packet of IPv4 with this payload is not to be fragmented on its way, unless we have done it. A sender that can be
/// told that its packet was too long sets "don't fragment" (RFC 1191, section 3); nobody would resend an ICMP message.
pub(super) fn is_atomic(protocol: IpProtocol) -> bool {
    protocol != IpProtocol::ICMP
}

/// Identification of a packet's fragments.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ident(u32);

impl Ident {
    /// Over IPv6 (RFC 8200, section 4.5).
    pub(super) fn whole(self) -> u32 {
        self.0
    }

    /// Over IPv4 (RFC 791, section 3.1).
    pub(super) fn low(self) -> u16 {
        let [.., a, b] = self.0.to_be_bytes();
        u16::from_be_bytes([a, b])
    }
}

/// Source of identifications, of all shards of a host: no two may send fragments with the same one.
#[derive(Debug)]
pub(super) struct Idents {
    begins: Keyed,
    places: Keyed,
    counters: Box<[AtomicU32]>,
}

impl Idents {
    pub(super) fn new(seed: u64) -> Self {
        // Each hash of a host has a key of its own.
        let (begins, places) = (Keyed(seed ^ 0x4944_454e_5442_4547), Keyed(seed ^ 0x4944_454e_5450_4c41));
        Self { begins, places, counters: (0..COUNTERS).map(|_| AtomicU32::new(0)).collect() }
    }

    /// The next identification between two hosts. Protocols share it, as over IPv6 they do when fragments are put together.
    pub(super) fn next(&self, (from, to): (IpAddr, IpAddr)) -> Ident {
        let ends = (Key::new(from).bits(), Key::new(to).bits());
        let [.., a, b, c, d] = self.begins.hash_one(ends).to_be_bytes();
        let place = usize::try_from(self.places.hash_one(ends) % COUNTERS as u64).unwrap_or(0);
        // Relaxed: the number stands for itself.
        Ident(u32::from_be_bytes([a, b, c, d]).wrapping_add(self.counters[place].fetch_add(1, Relaxed)))
    }
}

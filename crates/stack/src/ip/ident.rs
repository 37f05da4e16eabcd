//! Identifications of packets that may be fragmented: those of two hosts have a number that goes on by one, from a beginning that
//! only this host knows (RFC 7739, section 5.3, the hash-based algorithm). So no peer learns from those that it gets what is sent to others,
//! or what others will get next.
//!
//! Over IPv4, a packet that is not to be fragmented has none: it is 0 (RFC 6864, section 4.1).

use crate::address::Key;
use crate::secret::{Keyed, Numbers};
use linerate_wire::IpProtocol;
use std::net::IpAddr;

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
pub(super) struct Idents(Numbers);

impl Idents {
    pub(super) fn new(key: Keyed) -> Self {
        Self(Numbers::new(key))
    }

    /// The next identification between two hosts. Protocols share it, as over IPv6 they do when fragments are put together.
    pub(super) fn next(&self, (from, to): (IpAddr, IpAddr)) -> Ident {
        Ident(self.0.next((Key::new(from).bits(), Key::new(to).bits())))
    }
}

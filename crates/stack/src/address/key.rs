//! Addresses in the form in which they are compared: in registers. Comparing an enum's bytes would wait for the stores
//! that made them, and a packet has four addresses.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// An address; IPv4 addresses are mapped into IPv6 (RFC 4291, section 2.5.5.2), where no packet may have one itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Key(u128);

impl Key {
    /// All IPv4 addresses, and all IPv6 addresses, for sockets bound to any address.
    const ANY_V4: Self = Self::v4(Ipv4Addr::UNSPECIFIED);
    const ANY_V6: Self = Self(0);

    #[inline]
    pub(crate) const fn v4(addr: Ipv4Addr) -> Self {
        Self(0xffff << 32 | addr.to_bits() as u128)
    }

    #[inline]
    pub(crate) const fn v6(addr: Ipv6Addr) -> Self {
        Self(addr.to_bits())
    }

    #[inline]
    pub(crate) const fn new(addr: IpAddr) -> Self {
        match addr {
            IpAddr::V4(addr) => Self::v4(addr),
            IpAddr::V6(addr) => Self::v6(addr),
        }
    }

    #[inline]
    pub(crate) const fn is_v4(self) -> bool {
        self.0 >> 32 == 0xffff
    }

    /// The address as a number.
    #[inline]
    pub(crate) const fn bits(self) -> u128 {
        self.0
    }

    /// Key of a socket bound to all addresses of this one's family.
    #[inline]
    pub(crate) const fn any(self) -> Self {
        if self.is_v4() { Self::ANY_V4 } else { Self::ANY_V6 }
    }

    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "the low half is IPv4's address")]
    pub(crate) const fn addr(self) -> IpAddr {
        if self.is_v4() {
            IpAddr::V4(Ipv4Addr::from_bits(self.0 as u32))
        } else {
            IpAddr::V6(Ipv6Addr::from_bits(self.0))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_addresses() {
        for (text, any) in [("10.0.0.1", "0.0.0.0"), ("0.0.0.0", "0.0.0.0"), ("fd00::1", "::"), ("::", "::")] {
            let addr: IpAddr = text.parse().unwrap();
            let key = Key::new(addr);
            assert_eq!((key.addr(), key.any().addr()), (addr, any.parse().unwrap()));
        }
        assert_ne!(Key::new("0.0.0.1".parse().unwrap()), Key::new("::1".parse().unwrap()));
    }
}

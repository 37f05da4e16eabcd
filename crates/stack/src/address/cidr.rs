//! Addresses with their networks.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;
use thiserror::Error;

/// An address and the number of leading bits that name its network: `10.0.0.2/24`, `fd00::2/64`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Cidr {
    addr: IpAddr,
    prefix: u8,
}

/// Reason for which a text is no address with a network.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum CidrError {
    /// The text has no slash.
    #[error("'{0}' names no network: write it as 10.0.0.2/24 or fd00::2/64")]
    NoPrefix(String),
    /// The part before the slash is invalid.
    #[error("'{0}' is no IPv4 or IPv6 address")]
    Address(String),
    /// The part after the slash is invalid.
    #[error("'/{0}' is no prefix length: give 0 to {1}")]
    Prefix(String, u8),
}

impl Cidr {
    /// Joins an address and a prefix length; None if the prefix is longer than the address.
    #[must_use]
    pub fn new(addr: IpAddr, prefix: u8) -> Option<Self> {
        (prefix <= bits(addr)).then_some(Self { addr, prefix })
    }

    /// A network of one address.
    #[must_use]
    pub fn host(addr: IpAddr) -> Self {
        Self { addr, prefix: bits(addr) }
    }

    /// The address, with its host bits.
    #[must_use]
    pub fn addr(&self) -> IpAddr {
        self.addr
    }

    /// Prefix length in bits.
    #[must_use]
    pub fn prefix(&self) -> u8 {
        self.prefix
    }

    /// True if an address is in the network.
    #[must_use]
    pub fn contains(&self, addr: IpAddr) -> bool {
        match (self.addr, addr) {
            (IpAddr::V4(a), IpAddr::V4(b)) => {
                let mask = u32::MAX.checked_shl(32 - u32::from(self.prefix)).unwrap_or(0);
                (a.to_bits() ^ b.to_bits()) & mask == 0
            }
            (IpAddr::V6(a), IpAddr::V6(b)) => {
                let mask = u128::MAX.checked_shl(128 - u32::from(self.prefix)).unwrap_or(0);
                (a.to_bits() ^ b.to_bits()) & mask == 0
            }
            _ => false,
        }
    }

    /// Broadcast address of the network; IPv6 and networks of one or two hosts have none (RFC 3021).
    #[must_use]
    pub fn broadcast(&self) -> Option<Ipv4Addr> {
        match self.addr {
            IpAddr::V4(a) if self.prefix < 31 => {
                Some(Ipv4Addr::from_bits(a.to_bits() | u32::MAX.checked_shr(self.prefix.into()).unwrap_or(0)))
            }
            _ => None,
        }
    }

    /// The network itself: the address with its host bits zero.
    #[must_use]
    pub fn network(&self) -> Self {
        let addr = match self.addr {
            IpAddr::V4(a) => {
                let mask = u32::MAX.checked_shl(32 - u32::from(self.prefix)).unwrap_or(0);
                IpAddr::V4(Ipv4Addr::from_bits(a.to_bits() & mask))
            }
            IpAddr::V6(a) => {
                let mask = u128::MAX.checked_shl(128 - u32::from(self.prefix)).unwrap_or(0);
                IpAddr::V6(Ipv6Addr::from_bits(a.to_bits() & mask))
            }
        };
        Self { addr, prefix: self.prefix }
    }
}

fn bits(addr: IpAddr) -> u8 {
    if addr.is_ipv4() { 32 } else { 128 }
}

impl fmt::Display for Cidr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.addr, self.prefix)
    }
}

impl FromStr for Cidr {
    type Err = CidrError;

    fn from_str(text: &str) -> Result<Self, CidrError> {
        let (addr, prefix) = text.split_once('/').ok_or_else(|| CidrError::NoPrefix(text.into()))?;
        let addr: IpAddr = addr.parse().map_err(|_| CidrError::Address(addr.into()))?;
        let wrong = || CidrError::Prefix(prefix.into(), bits(addr));
        Self::new(addr, prefix.parse().map_err(|_| wrong())?).ok_or_else(wrong)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cidr(text: &str) -> Cidr {
        text.parse().unwrap()
    }

    #[test]
    fn texts_are_read_and_written() {
        for text in ["10.0.0.2/24", "0.0.0.0/0", "fd00::2/64", "::/0", "192.0.2.1/32"] {
            assert_eq!(cidr(text).to_string(), text);
        }
        for (text, why) in [
            ("10.0.0.2", "'10.0.0.2' names no network: write it as 10.0.0.2/24 or fd00::2/64"),
            ("10.0.0/24", "'10.0.0' is no IPv4 or IPv6 address"),
            ("10.0.0.2/33", "'/33' is no prefix length: give 0 to 32"),
            ("fd00::/x", "'/x' is no prefix length: give 0 to 128"),
        ] {
            assert_eq!(text.parse::<Cidr>().unwrap_err().to_string(), why);
        }
    }

    #[test]
    fn networks_hold_what_is_theirs() {
        assert!(cidr("10.1.2.3/8").contains("10.255.0.1".parse().unwrap()));
        assert!(!cidr("10.1.2.3/32").contains("10.1.2.4".parse().unwrap()));
        assert!(cidr("0.0.0.0/0").contains("8.8.8.8".parse().unwrap()));
        assert!(!cidr("0.0.0.0/0").contains("::1".parse().unwrap()));
        assert!(cidr("::/0").contains("fe80::1".parse().unwrap()));
        assert!(!cidr("fd00::1/64").contains("fd00:0:0:1::1".parse().unwrap()));
        assert_eq!(cidr("10.1.2.3/24").broadcast(), Some([10, 1, 2, 255].into()));
        assert_eq!(cidr("10.1.2.3/31").broadcast(), None);
        assert_eq!(cidr("10.1.2.3/0").broadcast(), Some([255; 4].into()));
        assert_eq!(cidr("10.1.2.3/20").network().to_string(), "10.1.0.0/20");
        assert_eq!(cidr("fd00::5/64").network().to_string(), "fd00::/64");
    }
}

//! IP addresses of interfaces (RTM_GETADDR, linux/if_addr.h).

use super::source::{Question, Source};
use crate::absent::Part;
use crate::netlink::message::{attribute, ip, word};
use std::net::IpAddr;

/// `struct ifaddrmsg`.
const HEADER: usize = 8;
const IFA_ADDRESS: u16 = 1;
const IFA_LOCAL: u16 = 2;
const IFA_FLAGS: u16 = 8;
/// IFA_F_PERMANENT
const PERMANENT: u32 = 0x80;
const FLAGS: &[(u32, &str)] = &[(0x08, "dadfailed"), (0x20, "deprecated"), (0x40, "tentative")];

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    /// Index of the interface.
    pub link: u32,
    pub address: IpAddr,
    /// Address of the other end of a point-to-point link.
    pub other_end: Option<IpAddr>,
    /// Bits of the network.
    pub prefix: u8,
    /// States in which it is not used as others are, by iproute2's names.
    pub states: Vec<&'static str>,
    /// It ends unless somebody renews it: of IPv6, a router's advertisement gave it, or DHCP.
    pub dynamic: bool,
}

impl Address {
    fn parse(body: &[u8]) -> Option<Self> {
        let (header, rest) = body.split_at_checked(HEADER)?;
        let flags = attribute(rest, IFA_FLAGS).map_or(u32::from(header[2]), |flags| word(flags, 0));
        let address = attribute(rest, IFA_ADDRESS).and_then(ip);
        // Of a link with two ends IFA_ADDRESS is the other one.
        let local = attribute(rest, IFA_LOCAL).and_then(ip);
        Some(Self {
            link: word(header, 4),
            address: local.or(address)?,
            other_end: address.filter(|address| local.is_some_and(|local| local != *address)),
            prefix: header[1],
            states: FLAGS.iter().filter(|(bit, _)| flags & bit != 0).map(|(_, name)| *name).collect(),
            dynamic: flags & PERMANENT == 0,
        })
    }
}

impl Address {
    /// True if another address is of its network, and that has more than one.
    #[must_use]
    pub fn has(&self, other: IpAddr) -> bool {
        match (self.address, other) {
            (IpAddr::V4(own), IpAddr::V4(other)) => {
                (1..32).contains(&self.prefix) && (own.to_bits() ^ other.to_bits()) >> (32 - self.prefix) == 0
            }
            (IpAddr::V6(own), IpAddr::V6(other)) => {
                (1..128).contains(&self.prefix) && (own.to_bits() ^ other.to_bits()) >> (128 - self.prefix) == 0
            }
            _ => false,
        }
    }
}

/// Addresses of all interfaces.
pub fn addresses(source: &mut dyn Source) -> Part<Vec<Address>> {
    Ok(source.ask(Question::Addresses, None)?.iter().filter_map(|body| Address::parse(body)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adapter::notation::read;

    #[test]
    fn an_address_has_its_states_whatever_is_cut() {
        let text = "message\nraw hex 0a400000\nraw u32 7\n1 hex fd000000000000000000000000000009\n8 u32 72\n\
                    message\nraw hex 02208000\nraw u32 3\n1 hex 0a000002\n2 hex 0a000001\n";
        let bodies = read(text).unwrap();
        let all: Vec<_> = bodies.iter().filter_map(|body| Address::parse(body)).collect();
        let wanted = [
            Address {
                link: 7,
                address: "fd00::9".parse().unwrap(),
                other_end: None,
                prefix: 64,
                states: vec!["dadfailed", "tentative"],
                dynamic: true,
            },
            Address {
                link: 3,
                address: "10.0.0.1".parse().unwrap(),
                other_end: "10.0.0.2".parse().ok(),
                prefix: 32,
                states: vec![],
                dynamic: false,
            },
        ];
        assert_eq!(all, wanted);
        for end in 0..bodies[1].len() {
            assert!(Address::parse(&bodies[1][..end]).is_none_or(|one| one.link == 3));
        }
    }
}

//! Neighbours and their link-layer addresses (RTM_GETNEIGH, linux/neighbour.h).

use super::link::hex;
use super::source::{Question, Source};
use crate::absent::Part;
use crate::netlink::message::{attribute, half, ip, word};
use std::net::IpAddr;

/// `struct ndmsg`.
const HEADER: usize = 12;
const NDA_DST: u16 = 1;
const NDA_LLADDR: u16 = 2;
/// NTF_EXT_LEARNED
const LEARNED: u8 = 0x10;
const STATES: &[(u16, &str)] = &[
    (0x01, "incomplete"),
    (0x02, "reachable"),
    (0x04, "stale"),
    (0x08, "delay"),
    (0x10, "probe"),
    (0x20, "failed"),
    (0x40, "noarp"),
    (0x80, "permanent"),
];

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Neighbour {
    /// Index of the interface.
    pub link: u32,
    pub address: IpAddr,
    /// Link-layer address, if it is known.
    pub mac: Option<String>,
    /// State, by iproute2's names.
    pub state: &'static str,
    /// A program of the network has learned it elsewhere (`extern_learn`).
    pub learned: bool,
}

impl Neighbour {
    fn parse(body: &[u8]) -> Option<Self> {
        let (header, rest) = body.split_at_checked(HEADER)?;
        let state = half(header, 8);
        Some(Self {
            link: word(header, 4),
            address: attribute(rest, NDA_DST).and_then(ip)?,
            mac: attribute(rest, NDA_LLADDR).and_then(hex),
            state: STATES.iter().find(|(bit, _)| state & bit != 0).map_or("none", |(_, name)| *name),
            learned: header[10] & LEARNED != 0,
        })
    }
}

/// Neighbours of all interfaces.
pub fn neighbours(source: &mut dyn Source) -> Part<Vec<Neighbour>> {
    Ok(source.ask(Question::Neighbours, None)?.iter().filter_map(|body| Neighbour::parse(body)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adapter::notation::read;

    #[test]
    fn a_neighbour_has_its_state_whatever_is_cut() {
        let text = "raw hex 02000000\nraw u32 7\nraw u16 128\nraw hex 1001\n1 hex 0a000002\n2 hex 020000000002\n";
        let body = read(text).unwrap().pop().unwrap();
        let wanted = Neighbour {
            link: 7,
            address: "10.0.0.2".parse().unwrap(),
            mac: Some("02:00:00:00:00:02".into()),
            state: "permanent",
            learned: true,
        };
        assert_eq!(Neighbour::parse(&body), Some(wanted));
        for end in 0..body.len() {
            assert!(Neighbour::parse(&body[..end]).is_none_or(|one| one.link == 7));
        }
    }
}

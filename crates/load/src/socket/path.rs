//! Path between the two ends of a workload, as its parameters name it: a pair of hosts that is made, or the way to a server
//! that is there.

use super::{Pair, Uplink, Via, peer};
use crate::parameters::{count, word};
use linerate_result::{Parameters, PortUsed};
use std::net::SocketAddr;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Path {
    /// Between two hosts in this process, whose packets have so many bytes at most.
    Pair(Via, u32),
    /// To a server, by an interface that has this MTU, if one is given.
    Server(SocketAddr, Option<u64>),
}

/// Both ends of a path that is open.
pub(crate) enum Ends {
    Pair(Pair),
    Server(SocketAddr, Uplink),
}

impl Path {
    /// Reads `via`, `peer` and `mtu`.
    pub(crate) fn of(all: &Parameters) -> Result<Self, String> {
        let via = word(all, "via", Via::parse, &Via::WORDS)?.unwrap_or(Via::Kernel);
        let peer = peer(all)?;
        if peer.is_some() && via == Via::Stack {
            return Err("peer: tests with another machine are over the kernel's sockets; leave via out".to_owned());
        }
        let mtu = count(all, "mtu", 576..=65_535, 1500)?;
        Ok(match peer {
            Some(peer) => Self::Server(peer, all.contains_key("mtu").then_some(mtu)),
            None => Self::Pair(via, u32::try_from(mtu).unwrap_or(1500)),
        })
    }

    /// Description of what [`Self::open`] makes or uses.
    pub(crate) fn describe(&self) -> String {
        match self {
            Self::Pair(via, mtu) => Pair::describe(*via, *mtu),
            Self::Server(peer, _) => format!("the kernel's sockets with the server {peer}"),
        }
    }

    /// Makes the pair, or looks the way to the server up.
    pub(crate) fn open(&self) -> Result<Ends, String> {
        match *self {
            Self::Pair(via, mtu) => Pair::new(via, 0, mtu).map(Ends::Pair),
            Self::Server(peer, mtu) => Uplink::to(peer, mtu).map(|uplink| Ends::Server(peer, uplink)),
        }
    }
}

impl Ends {
    pub(crate) fn ports(&self) -> &[PortUsed] {
        match self {
            Self::Pair(pair) => &pair.ports,
            Self::Server(_, uplink) => &uplink.ports,
        }
    }
}

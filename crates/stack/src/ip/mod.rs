//! IP, version 4 and 6: the host's addresses and routes, headers, fragments, and ICMP.
//!
//! Upwards it delivers payloads for the protocols above, and reports of ICMP or of neighbour resolution about their
//! packets ([`Taken`], [`Report`]). Downwards it chooses source and next hop ([`NextHop`]) and gives whole packets to
//! the link.
//!
//! Out of scope: it forwards nothing, and knows no sockets.

mod header;
mod icmp;
mod looped;
mod options;
mod output;
mod packet;
mod pmtu;
mod reassembly;
mod route;
mod settings;
mod v4;
mod v6;

use crate::Transmit;
use crate::address::Own;
use crate::link::Link;
pub(crate) use header::{PayloadLen, emit_ip, header_len, hops, whole_packet};
use icmp::Allowance;
pub(crate) use icmp::{Report, Told, Wrong};
use looped::Looped;
pub(crate) use output::NextHop;
pub(crate) use packet::{Origin, Packet, Taken};
use pmtu::Pmtu;
pub use reassembly::{
    Config as ReassemblyConfig, Counters as ReassemblyCounters, Fragment, Fragments, Outcome, Reason, Reassembly,
};
pub use route::Route;
use route::Routes;
pub use settings::ConfigError;
pub(crate) use settings::check_mtu;

/// IP over one link.
#[derive(Debug)]
pub(crate) struct Ip {
    pub(crate) link: Link,
    pub(crate) own: Own,
    routes: Routes,
    pmtu: Pmtu,
    reassembly: Reassembly,
    pub(crate) looped: Looped,
    allowance: Allowance,
    /// Identification of the next packet over IPv4, and of the next fragmented datagram over IPv6.
    pub(crate) ident: u16,
    ident_v6: u32,
}

impl Ip {
    /// Makes a layer without addresses and routes.
    pub(crate) fn new(link: Link, seed: u64) -> Self {
        Self {
            link,
            own: Own::default(),
            routes: Routes::default(),
            pmtu: Pmtu::default(),
            reassembly: Reassembly::new(ReassemblyConfig::default()),
            looped: Looped::default(),
            allowance: Allowance::default(),
            ident: u16::try_from(seed >> 16 & 0xffff).unwrap_or(0),
            ident_v6: u32::try_from(seed >> 32).unwrap_or(0),
        }
    }

    /// Does the work that is due: requests to neighbours, and errors for fragments that never came.
    pub(crate) fn poll<T: Transmit>(&mut self, now: u64, tx: &mut T) {
        self.link.poll(now, &self.own, tx);
        self.end_fragments(now, tx);
    }

    /// Time of the next call of [`Ip::poll`]; 0 if a packet from the host to itself is queued.
    pub(crate) fn poll_timeout(&self) -> Option<u64> {
        if !self.looped.is_empty() {
            return Some(0);
        }
        [self.link.poll_timeout(), self.reassembly.poll_timeout()].into_iter().flatten().min()
    }
}

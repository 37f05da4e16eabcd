//! IP hosts in user space: Ethernet, ARP, neighbour discovery, IPv4, IPv6, ICMP and UDP.
//!
//! Sans-IO: frames and times are passed in, frames are handed out, and no call blocks.
//!
//! Out of scope: it makes no system call, reads no clock, starts no thread, and knows no port.

#![deny(missing_docs)]
#![forbid(unsafe_code)]

mod address;
mod counters;
mod due;
mod event;
mod host;
mod ip;
mod link;
mod secret;
mod stage;
pub mod tcp;
mod transmit;
mod udp;

pub use address::{Cidr, CidrError};
pub use counters::{Counters, Discard};
pub use event::{AddressState, Event};
pub use host::{Config, Host};
pub use ip::{
    ConfigError, Fragment, Fragments, Outcome, Reason as FragmentDrop, Reassembly, ReassemblyConfig,
    ReassemblyCounters, Route, RouteError, Traffic,
};
pub use link::{
    Action as NeighbourAction, Heard, HoldError, Lookup, Neighbour, NeighbourConfig, NeighbourCounters, NeighbourTable,
    Neighbours, State as NeighbourState, TableFull,
};
pub use stage::{ARRIVAL, DATAGRAM, Probe, SEGMENT, STAGES, Stage};
pub use transmit::Transmit;
pub use udp::{BindError, Fills, Inbox, Path, Prepared, SendError, UdpId};

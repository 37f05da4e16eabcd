//! IP hosts without a kernel: Ethernet, ARP, neighbour discovery, IPv4, IPv6, ICMP and UDP.
//!
//! Sans-IO: frames and times are passed in, frames are handed out, and nothing in between waits.
//!
//! What this crate refuses to do: it makes no system call, reads no clock, starts no thread, and knows no port.

#![forbid(unsafe_code)]

mod neighbour;
mod reassembly;

pub use neighbour::{
    Action as NeighbourAction, Config as NeighbourConfig, Counters as NeighbourCounters, Heard, HoldError, Lookup,
    Neighbour, Neighbours, State as NeighbourState, TableFull,
};
pub use reassembly::{
    Config as ReassemblyConfig, Counters as ReassemblyCounters, Fragment, Fragments, Outcome, Reason as FragmentDrop,
    Reassembly,
};

//! Workloads and their measurement: pkt-gen, iperf3's and iperf 2's streams, netperf, xdd, FCoE loads, benches and profiles.

pub mod bench;
pub mod bridge;
pub mod check;
pub mod fcoe;
pub mod flags;
pub mod frame;
pub mod iperf;
pub mod netperf;
pub mod pktgen;
pub mod ports;
pub mod profile;
pub mod rfc2544;
mod sequence;
pub mod simulate;
mod socket;
pub mod stream;
pub mod switch;
pub mod validity;
pub mod vis;
pub mod xdd;

#[cfg(test)]
mod lines;
mod name;
mod output;
mod parameters;
mod sampler;
mod team;
pub mod together;
mod turn;
mod units;
mod workload;
mod workloads;

pub use linerate_port::switch::{Headroom, Span};
pub use name::resolve;
pub use output::{Keeper, Output, Over, Record, Speaker};
pub use socket::{Handshake, acknowledges, connect_from, handshake};
pub use workload::{ParameterRow, Workload};
pub use workloads::WORKLOADS;

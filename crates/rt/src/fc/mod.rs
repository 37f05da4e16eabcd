//! Fibre Channel over a port: sequences cut straight into the slots of a queue, and received frames checked.
//!
//! What this module refuses to do: it knows no exchange and no login, and decides nothing but what cannot be carried.

mod node;
mod receive;
mod remote;
mod transmit;

pub use node::{FcError, FcNode, FcOptions, FcPort, IP, Watcher};
pub use receive::{FcRx, FcRxCounters};
pub use remote::{Remote, RemoteCompletion, RemoteUnit};
pub use transmit::{FcOut, FcTx, FcTxCounters};

use linerate_offload::{MAX_FC_HEADER, MAX_FC_PAYLOAD};
use linerate_wire::FcoeFrame;

/// Octets of the longest frame there is, tags included.
const LONGEST: usize = MAX_FC_HEADER + MAX_FC_PAYLOAD + FcoeFrame::TRAILER_LEN;

#[cfg(test)]
mod tests;

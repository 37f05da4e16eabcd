//! Fibre Channel over a port: sequences segmented directly into the slots of a queue, and received frames checked.
//!
//! Out of scope: this module knows no exchange and no login; it drops only frames that cannot be carried.

mod node;
mod receive;
mod remote;
mod transmit;
mod vlan;

pub use node::{FcError, FcNode, FcOptions, FcPort, IP, WANTED, Watcher};
pub use receive::{FcRx, FcRxCounters};
pub use remote::{Integrity, Mismatches, Remote, RemoteCompletion, RemoteUnit};
pub use transmit::{FcOut, FcTx, FcTxCounters};
pub use vlan::find_vlan;

use linerate_offload::{MAX_FC_HEADER, MAX_FC_PAYLOAD};
use linerate_wire::FcoeFrame;

/// Bytes of the longest possible frame, tags included.
const LONGEST: usize = MAX_FC_HEADER + MAX_FC_PAYLOAD + FcoeFrame::TRAILER_LEN;

#[cfg(test)]
mod tests;

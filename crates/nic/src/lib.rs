//! The software adapter: what a NIC does between the stack and the wire, over any port.
//!
//! What this crate refuses to do: it knows no sessions and no host adapters.

#![forbid(unsafe_code)]

mod adapter;
mod flags;
mod offload;

pub use adapter::{
    Control, Count, FRAMING, MAX_INTERFACES, MAX_MTU, MIN_MTU, Nic, NicConfig, NicError, NicQueue, NicRx, NicTx,
    PARAMETERS, Parameter, RxFrame, RxLedger, RxMeta, ViCounters, ViSettings, on_the_wire,
};
pub use flags::{AdapterFlags, Change, FLAGS, Flag, FlagError, Flags, PUBLISHED};
pub use offload::*;

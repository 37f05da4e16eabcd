//! The software adapter: what a NIC does between the stack and the wire, over any port.
//!
//! What this crate refuses to do: it knows no sessions and no host adapters.

#![forbid(unsafe_code)]

mod flags;
mod offload;

pub use flags::{AdapterFlags, Change, FLAGS, Flag, FlagError, Flags, PUBLISHED};
pub use offload::*;

//! Block devices: what LUNs live on beyond memory, and block devices handed to others over NBD.
//!
//! A [`Device`] is a [`Backend`] with a place in a thread's loop. Its operations are begun and taken without
//! waiting; while there are none to take, the thread sleeps on what [`Device::waits_for`] shows.
//!
//! What this module refuses to do: it knows no SCSI, interprets no data, and keeps no cache.

mod access;
mod error;
mod file;
mod grammar;
mod kinds;
pub mod nbd;
mod protected;
mod shared;

pub use access::{Access, Cache};
pub use error::{DeviceError, Want};
pub use file::{FileBackend, FileOptions};
pub use grammar::{DeviceSpec, Opened, size};
pub use kinds::{KINDS, Kind, Naming};
pub use protected::Protected;
pub use shared::Waits;

use crate::machine::Sleeper;
use linerate_block::Backend;

/// A back end in a thread's loop.
pub trait Device: Backend + Send {
    /// How its blocks are reached, to be printed: "io_uring, O_DIRECT".
    fn path(&self) -> String;

    /// Shows what to sleep on until an operation ends; nothing if operations end as they are submitted.
    fn waits_for(&mut self, visit: &mut dyn FnMut(&mut dyn Sleeper));
}

/// The FNV-1a hash of a name (IETF draft-eastlake-fnv): a serial number that stays the same for as long as the name does.
fn serial(name: &[u8]) -> u64 {
    name.iter().fold(0xcbf2_9ce4_8422_2325, |hash, octet| (hash ^ u64::from(*octet)).wrapping_mul(0x100_0000_01b3))
}

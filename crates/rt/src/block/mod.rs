//! Block devices: storage of LUNs beyond memory, and block devices exported over NBD.
//!
//! A [`Device`] is a [`Backend`] that fits into a thread's loop. Its operations are submitted and completed without
//! blocking; while none has completed, the thread sleeps on the descriptors shown by [`Device::waits_for`].
//!
//! Out of scope: this module knows no SCSI, interprets no data, and keeps no cache.

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
pub use grammar::{DeviceSpec, LunOptions, Opened};
pub use kinds::{KINDS, Kind, Naming};
pub use protected::{Protected, ProtectedOptions};
pub use shared::Waits;

use crate::machine::Sleeper;
use linerate_block::Backend;

/// A back end for a thread's loop.
pub trait Device: Backend + Send {
    /// Access path to its blocks, for display: "io_uring, O_DIRECT".
    fn path(&self) -> String;

    /// Takes a sentence about what has become of the device since the last call: "the server is lost".
    fn news(&mut self) -> Option<String> {
        None
    }

    /// Sentence about what is lost when the device is closed; None if nothing is.
    fn loss(&self) -> Option<String> {
        None
    }

    /// Visits the sleepers to wait for until an operation completes; none if operations complete as they are submitted.
    fn waits_for(&mut self, visit: &mut dyn FnMut(&mut dyn Sleeper));
}

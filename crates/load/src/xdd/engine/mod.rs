//! Engines that execute requests: one trait, one file per kind of device access.

mod blocks;
mod device;
mod failure;
mod fcoe;
mod kinds;
mod sg;

pub use blocks::Blocks;
pub use device::path_of;
pub use failure::{Ended, Failure};
pub use kinds::{Kind, Open, Request, examples, is_file, kind_of, open};
pub use sg::{Generic, Outcome, ScsiGeneric, Transfer};

use linerate_block::{Operation, Tag};
use linerate_port::Sleep;
use linerate_rt::Sleeper;

/// Properties of a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Path by which it was actually opened, such as `file, O_DIRECT, io_uring`.
    pub path: String,
    /// Bytes per block: requests are whole numbers of blocks.
    pub block_size: u32,
    pub blocks: u64,
    pub read_only: bool,
    /// True if protection information is made from each buffer that is written: it is filled just before.
    pub protected: bool,
}

impl Shape {
    /// Size in bytes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.blocks.saturating_mul(u64::from(self.block_size))
    }
}

/// Opened device: one engine per unit; or the fault and the mend.
pub type Opened = Result<Vec<Box<dyn Engine>>, String>;

/// A device, driven by the thread that opened it. It never blocks: operations are submitted and complete later, in any
/// order.
pub trait Engine {
    fn shape(&self) -> &Shape;

    /// Begins an operation. Operations in flight have different tags; there are at most as many as it was opened for,
    /// and a flush.
    fn submit(&mut self, tag: Tag, operation: Operation);

    /// Passes on the submitted operations, in one system call for all.
    fn flush(&mut self) {}

    /// Takes an operation that has ended.
    fn complete(&mut self) -> Option<Ended>;

    /// Visits the objects that a thread sleeps on while operations are in flight. By default there are none, and the
    /// thread polls every 0.1 ms.
    fn waits_for(&mut self, visit: &mut dyn FnMut(&mut dyn Sleeper)) {
        visit(&mut Sleep::default());
    }
}

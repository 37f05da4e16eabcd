//! What requests are handed to: one trait, a file a way to a device.

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

/// What a device is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shape {
    /// The way to it that was really got, as `file, O_DIRECT, io_uring`.
    pub path: String,
    /// Octets of a block: requests are whole numbers of them.
    pub block_size: u32,
    /// Blocks there are.
    pub blocks: u64,
    /// Nothing can be written.
    pub read_only: bool,
}

impl Shape {
    /// Octets there are.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.blocks.saturating_mul(u64::from(self.block_size))
    }
}

/// A device that was opened: an engine a unit; or what is wrong and what to do.
pub type Opened = Result<Vec<Box<dyn Engine>>, String>;

/// A device, driven by the thread that opened it. It never waits: operations are submitted and complete later, in any order.
pub trait Engine {
    /// What it is.
    fn shape(&self) -> &Shape;

    /// Begins an operation. Tags of operations under way differ; there are at most as many as it was opened for, and a flush.
    fn submit(&mut self, tag: Tag, operation: Operation);

    /// Hands on what was submitted, in one system call for all.
    fn flush(&mut self) {}

    /// Takes an operation that has ended.
    fn complete(&mut self) -> Option<Ended>;

    /// Shows what a thread sleeps on while operations are under way. By default there is nothing of that kind, and the thread
    /// looks again every 0.1 ms.
    fn waits_for(&mut self, visit: &mut dyn FnMut(&mut dyn Sleeper)) {
        visit(&mut Sleep::default());
    }
}

//! FCoE under load: one target and some initiators in this process, a thread each side, whole frames over cables between
//! them, with CRCs that are made and checked.
//!
//! One initiator is on a plain cable. Several are behind a switch that pauses, which the initiators' thread runs, so that
//! no more than two threads are ever busy.
//!
//! Beside it, an initiator for a while ([`Visit`]): it finds the disks of targets on a port, or [copies](copy) one.
//!
//! What this module refuses to do: it compares nothing and prints nothing.

mod beside;
mod client;
mod copy;
mod load;
mod mix;
mod pattern;
mod site;
mod stream;
mod wire;
mod workload;

pub use client::{Found, Visit, number};
pub use copy::{Copied, CopyDirection, Opened, Order, copy};
pub use mix::Mix;
pub use wire::Wire;
pub use workload::WORKLOAD;

use hdrhistogram::Histogram;
use linerate_port::OpenError;
use linerate_result::Latency;
use linerate_rt::fc::FcError;
use linerate_rt::{Stop, WaitMode};
use std::time::Duration;
use thiserror::Error;

/// What the target's disks are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Medium {
    /// They read as zeros, which is checked, and forget what is written: the published "null-rw".
    Null,
    /// Memory of so many octets each. Every 512 octets say which they are and how often they were written; that is checked
    /// with each READ, and after WRITEs by reading all of it again.
    Ram(u64),
}

/// Who does what, and for how long.
#[derive(Clone, Debug)]
pub struct Setup {
    /// The disks.
    pub medium: Medium,
    /// Initiators.
    pub initiators: u16,
    /// Disks of each initiator.
    pub luns: u16,
    /// Requests under way at once on each disk.
    pub queue_depth: u16,
    /// Octets of a request: a multiple of 512.
    pub io_bytes: u32,
    /// Requests of a hundred that read.
    pub reads: u32,
    /// The largest layer 3 packet, octets.
    pub mtu: u32,
    /// Slots of each ring.
    pub slots: u32,
    /// Bits a second of the target's wire, each way.
    pub rate: Option<u64>,
    /// UDP datagrams a second that go from the first initiator's port to the target's beside all that, from IP host to IP
    /// host; none: there are no IP hosts.
    pub datagrams: Option<u32>,
    /// How both threads wait.
    pub wait: WaitMode,
    /// The processors of the target and of the initiators.
    pub cores: [usize; 2],
    /// How long they are at it before anything counts.
    pub warm: Duration,
    /// How long is measured.
    pub time: Duration,
}

impl Setup {
    /// 16 requests under way at once on each of 4 disks, between two spinning threads, with full frames.
    #[must_use]
    pub fn new(medium: Medium, io_bytes: u32, reads: u32, cores: [usize; 2], time: Duration) -> Self {
        Self {
            medium,
            initiators: 1,
            luns: 4,
            queue_depth: 16,
            io_bytes,
            reads,
            mtu: 2180,
            slots: 256,
            rate: None,
            datagrams: None,
            wait: WaitMode::Busy,
            cores,
            warm: Duration::from_millis(100),
            time,
        }
    }
}

/// How a side's thread has spent its time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Thread {
    /// Processor time while requests went, as a share of that time.
    pub cpu: f64,
    /// The share of all its polls that found work.
    pub busy: f64,
    /// FC frames sent.
    pub frames: u64,
}

/// What came out.
#[derive(Clone, Debug)]
pub struct Measured {
    /// Requests done in the time that counts.
    pub requests: u64,
    /// Their octets.
    pub octets: u64,
    /// How long that was.
    pub seconds: f64,
    /// Requests that failed, or moved wrong data, at any time.
    pub errors: u64,
    /// Datagrams that were sent beside, a second of all the time that it took, and how many of all did not arrive.
    pub datagrams: f64,
    /// See there.
    pub datagrams_lost: u64,
    /// Nanoseconds of a part of the requests.
    pub latency: Histogram<u64>,
    /// The target's thread.
    pub target: Thread,
    /// The initiators' thread.
    pub initiators: Thread,
}

impl Measured {
    /// Requests a second.
    #[must_use]
    pub fn iops(&self) -> f64 {
        self.requests as f64 / self.seconds
    }

    /// Octets a second.
    #[must_use]
    pub fn bytes_per_s(&self) -> f64 {
        self.octets as f64 / self.seconds
    }

    /// Of the requests that were timed.
    #[must_use]
    pub fn latency(&self) -> Option<Latency> {
        Latency::of(&self.latency)
    }
}

/// Why nothing was measured.
#[derive(Debug, Error)]
pub enum FcoeError {
    /// A port.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// A node on it.
    #[error(transparent)]
    Node(#[from] FcError),
    /// The request size is no number of blocks, or of no use.
    #[error(
        "requests of {0} bytes are not to be had: give a multiple of 512, at most 8 MiB, and disks of more than twice the queue"
    )]
    Size(u32),
    /// A number that must not be zero, or not so large.
    #[error("{0} initiators, {1} LUNs each and queue depth {2}: give 1 to 16, 1 to 64 and 1 to 256")]
    Count(u16, u16, u16),
    /// The system.
    #[error("{0}: end other programs")]
    System(#[from] std::io::Error),
    /// The initiators did not get on.
    #[error("{0}")]
    Stuck(&'static str),
    /// It was told to.
    #[error("stopped")]
    Stopped,
}

/// Measures. A `stop` that is asked for ends it early, with [`FcoeError::Stopped`].
///
/// # Errors
/// [`FcoeError`].
pub fn measure(setup: &Setup, stop: &Stop) -> Result<Measured, FcoeError> {
    let Setup { initiators, luns, queue_depth, io_bytes, .. } = *setup;
    if !(1..=16).contains(&initiators) || !(1..=64).contains(&luns) || !(1..=256).contains(&queue_depth) {
        return Err(FcoeError::Count(initiators, luns, queue_depth));
    }
    let whole = io_bytes > 0 && io_bytes.is_multiple_of(512) && io_bytes <= 8 << 20;
    if !whole || load::positions(setup) <= 2 * u64::from(queue_depth) {
        return Err(FcoeError::Size(io_bytes));
    }
    site::run(setup, stop)
}

#[cfg(test)]
mod tests;

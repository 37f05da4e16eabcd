//! FCoE under load: one target and some initiators in this process, one thread per side, whole frames over cables
//! between them, with CRCs generated and checked.
//!
//! A single initiator is on a plain cable. Several are behind a switch with pause, which the initiators' thread runs,
//! so that no more than two threads are ever busy.
//!
//! Besides, an initiator for a limited time ([`Visit`]): it finds the disks of targets on a port, or [copies](copy)
//! one.
//!
//! Out of scope: this module compares nothing and prints nothing.

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

pub use client::{Found, Visit};
pub use copy::{Copied, CopyDirection, Opened, Order, copy};
pub(crate) use load::Load;
pub use mix::Mix;
pub(crate) use site::{as_initiator, as_target, disks};
pub use wire::Wire;
pub use workload::WORKLOAD;

use hdrhistogram::Histogram;
use linerate_port::OpenError;
use linerate_result::Latency;
use linerate_rt::fc::FcError;
use linerate_rt::{Stop, WaitMode};
use std::time::Duration;
use thiserror::Error;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Medium {
    /// Disks that read as zeros, which is checked, and discard writes: the published "null-rw".
    Null,
    /// Memory of so many bytes each. Every 512 bytes identify their position and number of writes; that is checked with
    /// each READ, and after WRITEs by reading all of it again.
    Ram(u64),
}

#[derive(Clone, Debug)]
pub struct Setup {
    pub medium: Medium,
    pub initiators: u16,
    /// Number of disks of each initiator.
    pub luns: u16,
    /// Requests in flight on each disk.
    pub queue_depth: u16,
    /// Bytes per request: a multiple of 512.
    pub io_bytes: u32,
    /// READs per hundred requests.
    pub reads: u32,
    /// Largest layer 3 packet, bytes.
    pub mtu: u32,
    pub slots: u32,
    /// Bits per second of the target's wire in each direction; `None` for no limit.
    pub rate: Option<u64>,
    /// UDP datagrams per second from the IP host on the first initiator's port to the one on the target's port; `None`
    /// for no IP hosts.
    pub datagrams: Option<u32>,
    pub wait: WaitMode,
    /// Processors of the target and of the initiators.
    pub cores: [usize; 2],
    /// Duration of the load before anything counts.
    pub warm: Duration,
    pub time: Duration,
}

impl Setup {
    /// Set-up of 16 requests in flight on each of 4 disks, between two spinning threads, with full frames.
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

/// Time and frames of a side's thread.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Thread {
    /// Processor time while requests ran, as a share of that time.
    pub cpu: f64,
    /// Share of all its polls that found work.
    pub busy: f64,
    /// FC frames sent.
    pub frames: u64,
}

#[derive(Clone, Debug)]
pub struct Measured {
    /// Requests completed in the time that counts.
    pub requests: u64,
    pub bytes: u64,
    /// Duration of that time, seconds.
    pub seconds: f64,
    /// Requests that failed, or moved wrong data, at any time.
    pub errors: u64,
    /// UDP datagrams sent per second, over the whole run.
    pub datagrams: f64,
    pub datagrams_lost: u64,
    /// Latency of a sample of the requests, nanoseconds.
    pub latency: Histogram<u64>,
    pub target: Thread,
    pub initiators: Thread,
}

impl Measured {
    #[must_use]
    pub fn iops(&self) -> f64 {
        self.requests as f64 / self.seconds
    }

    #[must_use]
    pub fn bytes_per_s(&self) -> f64 {
        self.bytes as f64 / self.seconds
    }

    #[must_use]
    pub fn latency(&self) -> Option<Latency> {
        Latency::of(&self.latency)
    }
}

#[derive(Debug, Error)]
pub enum FcoeError {
    #[error(transparent)]
    Open(#[from] OpenError),
    #[error(transparent)]
    Node(#[from] FcError),
    #[error(
        "requests of {0} bytes are not to be had: give a multiple of 512, at most 8 MiB, and disks of more than twice the queue"
    )]
    Size(u32),
    #[error("{0} initiators, {1} LUNs each and queue depth {2}: give 1 to 16, 1 to 64 and 1 to 256")]
    Count(u16, u16, u16),
    #[error("{0}: end other programs")]
    System(#[from] std::io::Error),
    #[error("{0}")]
    Stuck(&'static str),
    #[error("stopped")]
    Stopped,
}

/// Runs a measurement. A requested `stop` ends it early, with [`FcoeError::Stopped`].
pub fn measure(setup: &Setup, stop: &Stop) -> Result<Measured, FcoeError> {
    check(setup)?;
    site::run(setup, stop)
}

/// Checks numbers and sizes.
pub(crate) fn check(setup: &Setup) -> Result<(), FcoeError> {
    let Setup { initiators, luns, queue_depth, io_bytes, .. } = *setup;
    if !(1..=16).contains(&initiators) || !(1..=64).contains(&luns) || !(1..=256).contains(&queue_depth) {
        return Err(FcoeError::Count(initiators, luns, queue_depth));
    }
    let whole = io_bytes > 0 && io_bytes.is_multiple_of(512) && io_bytes <= 8 << 20;
    if !whole || load::positions(setup) <= 2 * u64::from(queue_depth) {
        return Err(FcoeError::Size(io_bytes));
    }
    Ok(())
}

#[cfg(test)]
mod tests;

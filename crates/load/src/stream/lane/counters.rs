//! Counters of a lane, which it alone writes and others read.

use crate::stream::protocol::Receipt;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Counters of a lane, on cache lines of their own. Each is a figure of its own; nothing else is published by them, so
/// relaxed memory order is sufficient.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(in crate::stream) struct Counters {
    bytes: AtomicU64,
    sent: AtomicU64,
    highest: AtomicU64,
    lost: AtomicU64,
    out_of_order: AtomicU64,
    jitter: AtomicU64,
}

/// Values of the counters.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(in crate::stream) struct Counts {
    pub(in crate::stream) bytes: u64,
    /// Datagrams sent, or the highest number received.
    pub(in crate::stream) packets: u64,
    pub(in crate::stream) lost: u64,
    pub(in crate::stream) out_of_order: u64,
    pub(in crate::stream) jitter: f64,
}

impl Counters {
    /// Sets the number of bytes so far.
    #[inline]
    pub(super) fn bytes(&self, bytes: u64) {
        self.bytes.store(bytes, Relaxed);
    }

    /// Sets the number of datagrams sent so far.
    #[inline]
    pub(super) fn sent(&self, packets: u64) {
        self.sent.store(packets, Relaxed);
    }

    /// Sets the account of datagrams received so far.
    #[inline]
    pub(super) fn received(&self, receipt: &Receipt) {
        self.highest.store(receipt.highest, Relaxed);
        self.lost.store(receipt.lost, Relaxed);
        self.out_of_order.store(receipt.out_of_order, Relaxed);
        self.jitter.store(receipt.jitter.to_bits(), Relaxed);
    }

    pub(in crate::stream) fn read(&self) -> Counts {
        Counts {
            bytes: self.bytes.load(Relaxed),
            packets: self.sent.load(Relaxed).max(self.highest.load(Relaxed)),
            lost: self.lost.load(Relaxed),
            out_of_order: self.out_of_order.load(Relaxed),
            jitter: f64::from_bits(self.jitter.load(Relaxed)),
        }
    }
}

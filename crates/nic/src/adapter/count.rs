//! Counters, kept where things happen: each interface's frames on each port queue, and why frames were not carried.

use linerate_text::counters;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// One counter of an interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum Count {
    /// Frames taken and put into the port's ring; a super-frame is one.
    TxFrames,
    /// Their bytes, without FCS.
    TxBytes,
    /// Super-frames that the adapter segmented.
    TxSegmented,
    /// The segments that it made of them.
    TxSegments,
    /// Checksums that the adapter filled in, those of segments not counted.
    TxChecksums,
    /// Frames whose request was handed down to the port.
    TxHandedDown,
    /// Times that a frame was refused because the ring was full, or it was another interface's turn.
    TxRefused,
    /// Times that a frame was refused because of the interface's rate.
    TxCapped,
    /// Frames not sent: the interface is down.
    TxDown,
    /// Frames not sent: longer than the interface's MTU allows, or than the port's ring can hold.
    TxTooLong,
    /// Frames not sent: shorter than an Ethernet header.
    TxTooShort,
    /// Frames not sent: they asked for an offload whose flag is off.
    TxOffloadOff,
    /// Frames not sent: they asked for something that their own headers do not allow.
    TxBadRequest,
    /// Frames handed to the reader; of merged ones each counts.
    RxFrames,
    /// Their bytes as they came, without FCS.
    RxBytes,
    /// Frames whose checksums were found right by the adapter or the port.
    RxCsumGood,
    /// Frames with a wrong checksum. They were handed over nevertheless, marked.
    RxCsumBad,
    /// Frames that went into another one (LRO).
    RxMerged,
    /// VLAN tags taken out.
    RxUntagged,
    /// Frames not handed over: the interface filters their VLAN out.
    RxVlan,
    /// Frames not handed over: nobody had read them when the next poll came.
    RxUnread,
    /// Frames not handed over: a receive filter says so.
    RxFiltered,
}

/// All counters in order, and whether each counts frames that were not carried.
const COUNTS: [(Count, &str, bool); 22] = [
    (Count::TxFrames, "tx.frames", false),
    (Count::TxBytes, "tx.bytes", false),
    (Count::TxSegmented, "tx.segmented", false),
    (Count::TxSegments, "tx.segments", false),
    (Count::TxChecksums, "tx.checksums", false),
    (Count::TxHandedDown, "tx.handed_down", false),
    (Count::TxRefused, "tx.refused", false),
    (Count::TxCapped, "tx.capped", false),
    (Count::TxDown, "tx.drop.down", true),
    (Count::TxTooLong, "tx.drop.too_long", true),
    (Count::TxTooShort, "tx.drop.too_short", true),
    (Count::TxOffloadOff, "tx.drop.offload_off", true),
    (Count::TxBadRequest, "tx.drop.bad_request", true),
    (Count::RxFrames, "rx.frames", false),
    (Count::RxBytes, "rx.bytes", false),
    (Count::RxCsumGood, "rx.csum_good", false),
    (Count::RxCsumBad, "rx.csum_bad", false),
    (Count::RxMerged, "rx.merged", false),
    (Count::RxUntagged, "rx.untagged", false),
    (Count::RxVlan, "rx.drop.vlan", true),
    (Count::RxUnread, "rx.drop.unread", true),
    (Count::RxFiltered, "rx.drop.filtered", true),
];

impl Count {
    /// Its sysctl-like name, behind `dev.lr.N.`.
    #[must_use]
    pub fn name(self) -> &'static str {
        COUNTS[self as usize].1
    }
}

/// Counters of an interface, of one port queue or of all of them. The ledger: what was given to send is
/// [`Count::TxFrames`] and the transmit drops; what arrived for it is [`Count::RxFrames`] and the receive drops.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ViCounters([u64; COUNTS.len()]);

impl ViCounters {
    /// One counter.
    #[must_use]
    pub fn of(&self, count: Count) -> u64 {
        self.0[count as usize]
    }

    /// All counters by name.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, u64)> + '_ {
        COUNTS.iter().map(|(count, name, _)| (*name, self.of(*count)))
    }

    /// Frames that arrived for the interface and were handed over or dropped with a reason.
    #[must_use]
    pub fn arrived(&self) -> u64 {
        self.of(Count::RxFrames) + self.drops("rx.")
    }

    /// Frames that were given to the interface to send, and sent or dropped with a reason.
    #[must_use]
    pub fn given(&self) -> u64 {
        self.of(Count::TxFrames) + self.drops("tx.")
    }

    fn drops(&self, way: &str) -> u64 {
        let drops = COUNTS.iter().filter(|(_, name, drop)| *drop && name.starts_with(way));
        drops.map(|(count, ..)| self.of(*count)).sum()
    }

    pub(crate) fn add(&mut self, other: &Self) {
        self.0.iter_mut().zip(other.0).for_each(|(mine, theirs)| *mine += theirs);
    }
}

counters! {
    /// Counters of what a port queue received. `frames + copies` is what arrived for all interfaces ([`ViCounters::arrived`]) and the
    /// others.
    pub struct RxLedger {
        /// Frames that the port's ring delivered.
        pub frames: u64,
        /// Further receivers of frames that went to several interfaces.
        pub copies: u64,
        /// Frames for an address that no interface has.
        pub no_interface: u64,
        /// Frames shorter than an Ethernet header and two bytes.
        pub too_short: u64,
        /// Frames whose slots another process spoiled, or that were longer than can be kept.
        pub spoiled: u64,
        /// Frames that a filter of the adapter dropped.
        pub filtered: u64,
        /// Messages of congestion points that were obeyed (QCN).
        pub cnm: u64,
        /// Messages that were cut off, or said more than they had.
        pub cnm_damaged: u64,
        /// Messages about a flow that is not here.
        pub cnm_no_flow: u64,
    }
}

impl RxLedger {
    /// Frames that were for no reader.
    #[must_use]
    pub fn nobody(&self) -> u64 {
        let messages = self.cnm + self.cnm_damaged + self.cnm_no_flow;
        self.no_interface + self.too_short + self.spoiled + self.filtered + messages
    }
}

/// One interface's counters on one port queue. Each counter has one writer: the thread of the queue's half that it is of.
#[derive(Default)]
#[repr(align(64))]
pub(crate) struct ViCells([AtomicU64; COUNTS.len()]);

impl ViCells {
    #[inline]
    pub(crate) fn add(&self, count: Count, n: u64) {
        let cell = &self.0[count as usize];
        // One writer, so nothing is lost between load and store; readers want any recent value.
        cell.store(cell.load(Relaxed).wrapping_add(n), Relaxed);
    }

    pub(crate) fn read(&self) -> ViCounters {
        ViCounters(self.0.each_ref().map(|cell| cell.load(Relaxed)))
    }
}

/// A queue's [`RxLedger`], written by its receiving thread.
#[derive(Default)]
pub(crate) struct LedgerCells([AtomicU64; 9]);

impl LedgerCells {
    pub(crate) fn write(&self, ledger: &RxLedger) {
        let RxLedger { frames, copies, no_interface, too_short, spoiled, filtered, .. } = *ledger;
        let RxLedger { cnm, cnm_damaged, cnm_no_flow, .. } = *ledger;
        let values = [frames, copies, no_interface, too_short, spoiled, filtered, cnm, cnm_damaged, cnm_no_flow];
        self.0.iter().zip(values).for_each(|(cell, value)| cell.store(value, Relaxed));
    }

    pub(crate) fn read(&self) -> RxLedger {
        let [frames, copies, no_interface, too_short, spoiled, filtered, cnm, cnm_damaged, cnm_no_flow] =
            self.0.each_ref().map(|cell| cell.load(Relaxed));
        RxLedger { frames, copies, no_interface, too_short, spoiled, filtered, cnm, cnm_damaged, cnm_no_flow }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_counter_stands_at_its_place() {
        for (i, (count, name, drop)) in COUNTS.iter().enumerate() {
            assert_eq!((*count as usize, count.name()), (i, *name));
            assert_eq!(*drop, name.contains(".drop."));
        }
    }
}

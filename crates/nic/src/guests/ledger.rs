//! Accounting of every frame of an adapter with programs at its interfaces.
//!
//! A frame that a program sent is refused with a reason, stays inside, or is given to the port; copies for other interfaces
//! are counted where they are made and where they come. What came for an interface is put into its program's ring, or is
//! dropped with a reason. Both sides of each step are counted independently, so that unexplained frames are a finding and
//! not a definition.

use crate::adapter::{Count, RxLedger, ViCounters};
use linerate_port::switch::Guest;
use linerate_port::{DropReason, Drops, TxCounters};
use linerate_text::counters;

/// Counters of an interface, from the adapter's side.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GuestCounters {
    /// Frames that its program sent.
    pub sent: u64,
    /// Bytes of those that were carried.
    pub sent_bytes: u64,
    /// Refused: the source address is not the interface's.
    pub spoofed: u64,
    /// Refused: a VLAN that is not the interface's.
    pub vlan: u64,
    /// Refused: of an EtherType that is the adapter's own.
    pub reserved: u64,
    /// Refused: shorter than an Ethernet header.
    pub too_short: u64,
    /// Refused: longer than any frame.
    pub too_long: u64,
    /// Refused: of too many slots, or not whole.
    pub broken: u64,
    /// Refused: its program has gone, and the port, whose link is down, has no room.
    pub left: u64,
    /// Given to the port's queue, whose counters say what became of them.
    pub to_port: u64,
    /// For other interfaces of the adapter alone.
    pub stayed: u64,
    /// Copies that were made of its frames for other interfaces.
    pub copies: u64,
    /// Frames from the port for the interface.
    pub from_port: u64,
    /// Copies of other interfaces' frames for the interface.
    pub from_inside: u64,
    /// Put into its program's ring.
    pub put: u64,
    /// Bytes of these.
    pub put_bytes: u64,
    /// Dropped: of a VLAN that is not the interface's.
    pub vlan_in: u64,
    /// Dropped: there was no room in the program's ring.
    pub no_room: u64,
    /// Dropped: there was no program.
    pub no_program: u64,
    /// Dropped: longer than the program's frames.
    pub too_long_in: u64,
}

impl GuestCounters {
    /// Frames that its program sent and that were refused.
    #[must_use]
    pub fn refused(&self) -> u64 {
        self.spoofed + self.vlan + self.reserved + self.too_short + self.too_long + self.broken + self.left
    }

    /// Frames for the interface that did not get into its program's ring.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.vlan_in + self.no_room + self.no_program + self.too_long_in
    }

    /// Counters of frames that were not carried, by name: those that the program sent, and those that were for it.
    pub fn drops(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let rows = [
            ("tx.spoofed", self.spoofed),
            ("tx.vlan", self.vlan),
            ("tx.reserved", self.reserved),
            ("tx.too_short", self.too_short),
            ("tx.too_long", self.too_long),
            ("tx.broken", self.broken),
            ("tx.left", self.left),
            ("rx.vlan", self.vlan_in),
            ("rx.no_room", self.no_room),
            ("rx.no_program", self.no_program),
            ("rx.too_long", self.too_long_in),
        ];
        rows.into_iter().filter(|(_, n)| *n > 0)
    }
}

counters! {
    /// Fate of frames that were put into a program's rings, from the counts of their engines.
    pub struct Fate {
        /// Frames that the program was given.
        pub carried: u64,
        /// Frames whose program went before it took them.
        pub lost: u64,
        /// Frames that the engine refused.
        pub refused: u64,
        /// Slots not given back yet.
        pub in_ring: u64,
        /// Bad slots that programs have sent.
        pub bad: u64,
    }
}

impl Fate {
    pub(super) fn of(guest: &Guest) -> Self {
        let mut fate = Self::default();
        for tx in &guest.tx {
            let count = tx.counters();
            let died = count.dropped.of(DropReason::PeerDied);
            // Frames that died with their receiver were counted as carried before.
            fate.carried += count.frames - died.min(count.frames);
            fate.lost += died;
            fate.refused += count.dropped.total() - died;
            fate.in_ring += u64::from(tx.ring.outstanding());
        }
        fate
    }

    /// The program has gone: what is in its rings is lost.
    pub(super) fn part(&mut self) {
        self.lost += std::mem::take(&mut self.in_ring);
    }

    /// Frames of `put` that are missing here, or too many.
    fn unexplained(&self, put: u64) -> u64 {
        let known = self.carried + self.lost + self.refused;
        if known > put { known - put } else { (put - known).saturating_sub(self.in_ring) }
    }
}

/// Report on one interface.
#[derive(Clone, Debug)]
pub struct InterfaceReport {
    /// Its number.
    pub interface: usize,
    /// It exists.
    pub exists: bool,
    /// There is a program at it.
    pub present: bool,
    /// Counters of what its program sent and got.
    pub count: GuestCounters,
    /// The adapter's own counters.
    pub nic: ViCounters,
    /// Fate of the frames put into its programs' rings.
    pub fate: Fate,
}

impl InterfaceReport {
    /// True if any frame was counted.
    #[must_use]
    pub fn is_busy(&self) -> bool {
        self.count != GuestCounters::default() || self.nic.given() + self.nic.arrived() > 0
    }

    fn unexplained(&self) -> u64 {
        let (refused, dropped) = (self.count.refused(), self.count.dropped());
        let GuestCounters { sent, to_port, stayed, from_port, from_inside, put, .. } = self.count;
        // A super-frame is one to us, and as many to the adapter as it made of it.
        let segments = self.nic.of(Count::TxSegments).saturating_sub(self.nic.of(Count::TxSegmented));
        let given = self.nic.given().saturating_sub(segments);
        let shown = self.nic.of(Count::RxFrames).saturating_sub(self.nic.of(Count::RxMerged));
        sent.abs_diff(refused + to_port + stayed)
            + to_port.abs_diff(given)
            + from_port.abs_diff(shown)
            + (from_port + from_inside).abs_diff(put + dropped)
            + self.fate.unexplained(put)
    }
}

/// Report on the port.
#[derive(Clone, Copy, Debug)]
pub struct UplinkReport {
    /// Counters of its transmit queue.
    pub sent: TxCounters,
    /// Frames that its receive queues did not deliver.
    pub missed: Drops,
    /// Fate of the received frames.
    pub given_out: RxLedger,
    /// Slots of its transmit queue that are not given back yet.
    pub in_ring: u64,
}

/// Totals of an adapter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GuestLedger {
    /// Frames that programs sent.
    pub sent: u64,
    /// Frames of theirs that were refused.
    pub refused: u64,
    /// Frames that the port's queue was given.
    pub to_port: u64,
    /// Frames that stayed inside.
    pub stayed: u64,
    /// Copies between interfaces.
    pub copies: u64,
    /// Frames that the port delivered.
    pub received: u64,
    /// Frames for no interface, and others that became nothing.
    pub nobody: u64,
    /// Frames and copies put into programs' rings.
    pub put: u64,
    /// Frames and copies that were for a program and did not get there.
    pub dropped: u64,
    /// Frames in rings of programs that went before they took them.
    pub lost: u64,
    /// Frames that the counts above miss, or count twice.
    pub unexplained: u64,
}

impl GuestLedger {
    /// Totals of an adapter's interfaces and port.
    #[must_use]
    pub fn of(interfaces: &[InterfaceReport], uplink: &UplinkReport) -> Self {
        let mut sum = Self::default();
        let (mut came_inside, mut left, mut arrived) = (0, 0, 0);
        for report in interfaces {
            let count = &report.count;
            sum.sent += count.sent;
            sum.refused += count.refused();
            sum.to_port += count.to_port;
            sum.stayed += count.stayed;
            sum.copies += count.copies;
            sum.put += count.put;
            sum.dropped += count.dropped();
            sum.lost += report.fate.lost;
            sum.unexplained += report.unexplained();
            came_inside += count.from_inside;
            left += report.nic.of(Count::TxFrames);
            arrived += report.nic.arrived();
        }
        let RxLedger { frames, copies, .. } = uplink.given_out;
        sum.received = frames;
        sum.nobody = uplink.given_out.nobody();
        sum.unexplained += sum.copies.abs_diff(came_inside);
        sum.unexplained += (frames + copies).abs_diff(arrived + sum.nobody);
        let sent = uplink.sent.frames + uplink.sent.dropped.total();
        sum.unexplained += if sent > left { sent - left } else { (left - sent).saturating_sub(uplink.in_ring) };
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Frames from the port, each of which became nothing for another reason, and one more that nothing explains.
    #[test]
    fn each_frame_from_the_port_is_explained_once() {
        let given_out = RxLedger { no_interface: 2, too_short: 3, spoiled: 5, filtered: 11, ..RxLedger::default() };
        let given_out = RxLedger { frames: 30, cnm: 1, cnm_damaged: 3, cnm_no_flow: 4, ..given_out };
        let uplink = UplinkReport { sent: TxCounters::default(), missed: Drops::default(), given_out, in_ring: 0 };
        let sum = GuestLedger::of(&[], &uplink);
        assert_eq!((sum.received, sum.nobody, sum.unexplained), (30, 29, 1));
    }

    /// Of what was given to the port's queue some may still be in its ring, but no more than that.
    #[test]
    fn what_left_is_explained_by_the_ring_and_no_more() {
        let sent = TxCounters { frames: 40, ..TxCounters::default() };
        let uplink = UplinkReport { sent, missed: Drops::default(), given_out: RxLedger::default(), in_ring: 7 };
        assert_eq!(GuestLedger::of(&[], &uplink).unexplained, 40, "nobody sent them");
    }
}

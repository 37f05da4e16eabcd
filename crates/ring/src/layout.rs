//! `netmap.h` (API 14), field for field, as a C program compiled against netmap's headers finds it in the mapping.
//!
//! These structures describe memory; they are never borrowed as Rust values. Rings are read and written through atomic
//! words (see [`crate::SlotCell`]), because another thread or process may look at the same bytes.

use std::mem::{offset_of, size_of};

/// One slot of a ring (`struct netmap_slot`, 16 bytes).
#[repr(C)]
pub struct NetmapSlot {
    /// Index of the buffer.
    pub buf_idx: u32,
    /// Bytes of the frame, or of its part, in that buffer.
    pub len: u16,
    /// [`flags`].
    pub flags: u16,
    /// Pointer for indirect buffers; with OFFSETS the data's offset in the buffer.
    pub ptr: u64,
}

/// The head of a ring (`struct netmap_ring`); the slots follow at byte 256.
#[repr(C)]
pub struct NetmapRing {
    /// Distance from this structure to buffer 0, in bytes.
    pub buf_ofs: i64,
    /// Slots in the ring.
    pub num_slots: u32,
    /// Distance between two buffers, in bytes.
    pub nr_buf_size: u32,
    /// The queue's number.
    pub ringid: u16,
    /// 0 transmit, 1 receive.
    pub dir: u16,
    /// First slot the user owns.
    pub head: u32,
    /// Slot from which on the user wants to be woken.
    pub cur: u32,
    /// First slot the port owns.
    pub tail: u32,
    /// `NR_*` flags.
    pub flags: u32,
    /// Time of the last sync (`struct timeval`).
    pub ts: [i64; 2],
    /// Bits of a slot's `ptr` that are the data's offset; 0 if the user did not ask for OFFSETS.
    pub offset_mask: u64,
    /// Alignment of buffers.
    pub buf_align: u64,
    /// The kernel's semaphore; unused here.
    pub sem: [u64; 22],
}

/// One end of a port (`struct netmap_if`); ring offsets follow at byte 56 (tx, host tx, rx, host rx).
#[repr(C)]
pub struct NetmapIf {
    /// Name, zero-terminated.
    pub name: [u8; 16],
    /// [`API`].
    pub version: u32,
    /// `NI_*` flags.
    pub flags: u32,
    /// Transmit rings.
    pub tx_rings: u32,
    /// Receive rings.
    pub rx_rings: u32,
    /// Head of the list of extra buffers.
    pub bufs_head: u32,
    /// Host transmit rings.
    pub host_tx_rings: u32,
    /// Host receive rings.
    pub host_rx_rings: u32,
    /// Reserved by netmap.
    pub spare: [u32; 3],
}

/// The netmap API version that this layout is compatible with.
pub const API: u32 = 14;
/// Offset of a ring's first slot, in bytes from the ring.
pub const SLOTS_OFFSET: usize = 256;
/// Offset of an interface's table of ring offsets, in bytes from the interface.
pub const RING_OFS_OFFSET: usize = 56;
/// Most slots of one frame (`NETMAP_MAX_FRAGS`).
pub const MAX_FRAGS: usize = 64;

/// Slot flags (`NS_*`).
pub mod flags {
    /// The slot holds another buffer than before.
    pub const BUF_CHANGED: u16 = 0x01;
    /// Report when this slot has been sent.
    pub const REPORT: u16 = 0x02;
    /// Hand the frame on to the other ring (host or NIC).
    pub const FORWARD: u16 = 0x04;
    /// `ptr` points to the data.
    pub const INDIRECT: u16 = 0x10;
    /// The frame goes on in the next slot.
    pub const MOREFRAG: u16 = 0x20;
    /// Extension of linerate: the slot's metadata record is valid. Cleared before a foreign program sees the slot.
    pub const META: u16 = 0x80;
}

const _: () = {
    assert!(size_of::<NetmapSlot>() == 16);
    assert!(offset_of!(NetmapRing, head) == 20 && offset_of!(NetmapRing, cur) == 24);
    assert!(offset_of!(NetmapRing, tail) == 28 && offset_of!(NetmapRing, flags) == 32);
    assert!(offset_of!(NetmapRing, ts) == 40 && offset_of!(NetmapRing, offset_mask) == 56);
    assert!(offset_of!(NetmapRing, buf_align) == 64 && size_of::<NetmapRing>() <= SLOTS_OFFSET);
    assert!(size_of::<NetmapIf>() == RING_OFS_OFFSET);
};

/// Bytes of a ring with `slots` slots.
#[must_use]
pub const fn ring_bytes(slots: usize) -> usize {
    SLOTS_OFFSET + slots * size_of::<NetmapSlot>()
}

/// Bytes of an interface with `tx` and `rx` rings (no host rings).
#[must_use]
pub const fn if_bytes(tx: usize, rx: usize) -> usize {
    RING_OFS_OFFSET + (tx + rx) * 8
}

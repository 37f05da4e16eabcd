//! The block ring of packet sockets for receiving (TPACKET_V3, `packet(7)`), mapped.

use super::packet::{SOL_PACKET, socket};
use super::socket::set_option;
use crate::vnet;
use linerate_ring::Meta;
use std::io;
use std::mem::{size_of, zeroed};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering::Acquire, Ordering::Release};

/// Milliseconds after which the kernel delivers a block that is not full.
const RETIRE_MS: u32 = 1;
/// Bytes of a block: two of the longest super-frames.
pub(crate) const BLOCK: u32 = 128 << 10;
/// Frame size given to the kernel, which only has to divide the block; TPACKET_V3 packs frames as they come.
const ALLOTMENT: u32 = 2048;

/// A socket that receives into a mapped ring of blocks, and has received nothing yet: see [`super::packet::receive_from`].
pub(crate) struct BlockRing {
    fd: OwnedFd,
    base: NonNull<u8>,
    blocks: u32,
    /// The block being read, or to be read next.
    block: u32,
    /// Frames of it that are not passed yet, including the current one; 0 before the kernel has delivered it.
    left: u32,
    /// Offset of the current frame's header in the mapping.
    at: usize,
    current: Option<Received>,
    /// Blocks read since the ring was last found empty.
    run: u32,
    /// The kernel may have dropped frames since statistics were last read.
    losing: bool,
}

/// A frame in the ring, to be read.
pub(crate) struct InBlock<'a> {
    /// The frame, its VLAN tag in place.
    pub(crate) bytes: &'a [u8],
    /// The frame was longer than the ring could take.
    pub(crate) truncated: bool,
    /// Metadata from the kernel about its checksum and segments.
    pub(crate) meta: Option<Meta>,
}

/// Position of a frame in the ring.
#[derive(Clone, Copy, Debug)]
struct Received {
    at: usize,
    len: usize,
    truncated: bool,
    meta: Option<Meta>,
}

// SAFETY: the mapping belongs to this value alone.
unsafe impl Send for BlockRing {}

impl BlockRing {
    pub(crate) fn new(blocks: u32) -> io::Result<Self> {
        let fd = socket()?;
        set_option(fd.as_fd(), SOL_PACKET, libc::PACKET_VERSION, &(libc::tpacket_versions::TPACKET_V3 as libc::c_int))?;
        set_option(fd.as_fd(), SOL_PACKET, libc::PACKET_VNET_HDR, &1)?;
        set_option(fd.as_fd(), SOL_PACKET, libc::PACKET_IGNORE_OUTGOING, &1)?;
        let request = libc::tpacket_req3 {
            tp_block_size: BLOCK,
            tp_block_nr: blocks,
            tp_frame_size: ALLOTMENT,
            tp_frame_nr: BLOCK / ALLOTMENT * blocks,
            tp_retire_blk_tov: RETIRE_MS,
            tp_sizeof_priv: 0,
            tp_feature_req_word: 0,
        };
        set_option(fd.as_fd(), SOL_PACKET, libc::PACKET_RX_RING, &request)?;
        let len = BLOCK as usize * blocks as usize;
        // SAFETY: a new mapping at an address of the kernel's choice touches no memory of ours.
        let base = unsafe {
            let protection = libc::PROT_READ | libc::PROT_WRITE;
            libc::mmap(std::ptr::null_mut(), len, protection, libc::MAP_SHARED, fd.as_raw_fd(), 0)
        };
        if base == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let base = NonNull::new(base.cast()).ok_or_else(|| io::Error::from(io::ErrorKind::OutOfMemory))?;
        Ok(Self { fd, base, blocks, block: 0, left: 0, at: 0, current: None, run: 0, losing: false })
    }

    /// The current frame; None if nothing has arrived.
    pub(crate) fn frame(&mut self) -> Option<InBlock<'_>> {
        if self.current.is_none() && !self.advance() {
            return None;
        }
        let Received { at, len, truncated, meta } = self.current?;
        // SAFETY: the block is ours until it is released, which takes `&mut self`; the frame was checked to lie inside.
        let bytes = unsafe { std::slice::from_raw_parts(self.base.as_ptr().add(at), len) };
        Some(InBlock { bytes, truncated, meta })
    }

    /// Moves to the next frame. The last frame of a block gives the block back to the kernel.
    pub(crate) fn pass(&mut self) {
        if self.current.take().is_none() {
            return;
        }
        self.left -= 1;
        if self.left > 0 {
            self.at += self.read::<libc::tpacket3_hdr>(self.at).map_or(0, |header| header.tp_next_offset as usize);
        } else {
            self.release();
        }
    }

    /// True if a frame is ready.
    pub(crate) fn ready(&self) -> bool {
        self.current.is_some() || self.left > 0 || self.status().load(Acquire) & libc::TP_STATUS_USER != 0
    }

    /// True if the kernel has reported drops since the last call.
    pub(crate) fn losing(&mut self) -> bool {
        std::mem::take(&mut self.losing)
    }

    /// Frames that the kernel has dropped since the last call for lack of room.
    pub(crate) fn dropped(&mut self) -> u64 {
        // SAFETY: a `tpacket_stats_v3` is plain data, for which zeros are fine.
        let mut stats: libc::tpacket_stats_v3 = unsafe { zeroed() };
        let mut len = u32::try_from(size_of::<libc::tpacket_stats_v3>()).unwrap_or(0);
        // SAFETY: `stats` is writable for `len` bytes. Reading clears the kernel's counts.
        let result = unsafe {
            let value = (&raw mut stats).cast();
            libc::getsockopt(self.fd.as_raw_fd(), SOL_PACKET, libc::PACKET_STATISTICS, value, &raw mut len)
        };
        if result == 0 { stats.tp_drops.into() } else { 0 }
    }

    /// Offset of the current block.
    fn block_at(&self) -> usize {
        self.block as usize * BLOCK as usize
    }

    /// Status of the current block: its owner, the kernel or this process.
    fn status(&self) -> &AtomicU32 {
        const AT: usize = std::mem::offset_of!(libc::tpacket_block_desc, hdr)
            + std::mem::offset_of!(libc::tpacket_hdr_v1, block_status);
        // SAFETY: inside the mapping and aligned; the kernel writes it too, so it is an atomic.
        unsafe { self.base.add(self.block_at() + AT).cast().as_ref() }
    }

    /// A copy of a header in the current block; None if it does not lie inside.
    fn read<T: Copy>(&self, at: usize) -> Option<T> {
        let inside = at >= self.block_at() && at + size_of::<T>() <= self.block_at() + BLOCK as usize;
        // SAFETY: inside the mapping, in a block that is ours; `T` is one of the kernel's plain headers.
        inside.then(|| unsafe { self.base.add(at).cast::<T>().read_unaligned() })
    }

    /// Finds the next frame; false if nothing has arrived.
    fn advance(&mut self) -> bool {
        while self.left == 0 {
            // Pairs with the kernel's barrier before it hands the block over: its frames are written.
            if self.status().load(Acquire) & libc::TP_STATUS_USER == 0 {
                // A ring that was read from end to end without a pause may have been full.
                self.losing |= self.run >= self.blocks;
                self.run = 0;
                return false;
            }
            let Some(descriptor) = self.read::<libc::tpacket_block_desc>(self.block_at()) else { return false };
            // SAFETY: TPACKET_V3 has this one form of the header.
            let header = unsafe { descriptor.hdr.bh1 };
            self.run += 1;
            self.left = header.num_pkts;
            self.at = self.block_at() + header.offset_to_first_pkt as usize;
            if self.left == 0 {
                self.release();
            }
        }
        self.current = self.parse();
        if self.current.is_none() {
            // Not a ring as the kernel makes it: nothing more of this block can be trusted.
            self.left = 0;
            self.release();
        }
        self.current.is_some()
    }

    fn release(&mut self) {
        // Pairs with the kernel's look at the status before it fills the block: our reads are over.
        self.status().store(libc::TP_STATUS_KERNEL, Release);
        self.block = (self.block + 1) % self.blocks;
    }

    /// Reads the header of the current frame, and puts the VLAN tag back where the kernel took it from.
    fn parse(&mut self) -> Option<Received> {
        let header = self.read::<libc::tpacket3_hdr>(self.at)?;
        let (mut at, mut len) = (self.at + usize::from(header.tp_mac), header.tp_snaplen as usize);
        let vnet = self.read::<[u8; vnet::SHORT]>(at.checked_sub(vnet::SHORT)?)?;
        if at + len > self.block_at() + BLOCK as usize {
            return None;
        }
        self.losing |= header.tp_status & libc::TP_STATUS_LOSING != 0;
        let tagged = header.tp_status & libc::TP_STATUS_VLAN_VALID != 0 && len >= 12;
        if tagged {
            let tpid = match header.tp_status & libc::TP_STATUS_VLAN_TPID_VALID {
                0 => 0x8100,
                _ => header.hv1.tp_vlan_tpid,
            };
            let [a, b] = tpid.to_be_bytes();
            let [.., c, d] = header.hv1.tp_vlan_tci.to_be_bytes();
            // SAFETY: the four bytes before the frame are the end of the virtio header, which has been read; all lies
            // in a block that is ours.
            unsafe {
                let frame = self.base.as_ptr().add(at);
                std::ptr::copy(frame, frame.sub(4), 12);
                std::ptr::copy_nonoverlapping([a, b, c, d].as_ptr(), frame.add(8), 4);
            }
            (at, len) = (at - 4, len + 4);
        }
        let meta = vnet::meta(&vnet, if tagged { 4 } else { 0 });
        Some(Received { at, len, truncated: header.tp_snaplen < header.tp_len, meta })
    }
}

impl AsFd for BlockRing {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

impl Drop for BlockRing {
    fn drop(&mut self) {
        // SAFETY: the mapping is this value's, and no slice of it outlives the value.
        unsafe { libc::munmap(self.base.as_ptr().cast(), BLOCK as usize * self.blocks as usize) };
    }
}

//! A region: one mapping with interfaces, rings and, after them, the buffers.
//!
//! ```text
//!  0        objects: netmap_if, netmap_ring, metadata, pipe lines; handed out upwards, 128-byte aligned
//!  buf_area buffers: `buffers` of `buf_size` bytes each; 0 and 1 stay unused, as in netmap (0 says "none")
//! ```
//! Sizes are fixed when the region is made; untouched pages take no memory.

mod buffer;

pub use buffer::Buffer;

use crate::cell::{MetaCell, SlotCell, SlotWord};
use crate::claim::{Claim, Half, next_id};
use crate::error::RegionError;
use crate::frame::Frame;
use crate::layout::{self, NetmapIf, NetmapRing};
use crate::sys::closing::Foreign;
use crate::sys::{self, HUGE, Mapping, Page};
use std::mem::{offset_of, size_of};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

/// Headroom before each frame, hidden from users of netmap's layout; AF_XDP reserves as much.
pub const HEADROOM: usize = 256;
/// Buffers 0 and 1 are never handed out.
pub const BUFFERS_RESERVED: u32 = 2;
/// Two cache lines, in bytes: the pair that an adjacent-line prefetcher fetches together.
pub(crate) const LINES: usize = 128;

/// Processes that may map a region.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sharing {
    /// Only this process; frames may be borrowed as slices.
    Private,
    /// Other processes too, once handed the region's file; frames are copied in and out.
    Shared,
}

/// Parameters of a new region.
#[derive(Clone, Copy, Debug)]
pub struct RegionConfig {
    /// Bytes of a buffer, headroom included: a power of two, 512 to 65536.
    pub buf_size: u32,
    /// Buffers wanted, without the two reserved ones.
    pub buffers: u32,
    /// Bytes for interfaces, rings, metadata and pipe lines; see [`Region::ring_room`].
    pub ring_bytes: usize,
    /// Processes that may map the region.
    pub sharing: Sharing,
    /// Use reserved 2 MiB pages if available; for a private region only. No seal stops another process from punching
    /// holes into a file of such pages, and where no page is left to fill a hole, the next access ends the process
    /// (SIGBUS).
    pub huge: bool,
}

/// Offsets of a ring and of its metadata, in bytes from the region's start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RingSpot {
    /// Offset of the `netmap_ring`.
    pub ring: u64,
    /// Offset of the ring's metadata records.
    pub meta: u64,
    /// Number of slots.
    pub slots: u32,
}

/// A transmit ring, the receive ring at its far end, and the cache lines through which the two publish.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RingPair {
    /// The sender's ring.
    pub tx: RingSpot,
    /// The receiver's ring.
    pub rx: RingSpot,
    /// Offset of the shared counters (`PipeLines`).
    pub lines: u64,
    /// First of the buffers that both rings start with, one for each slot.
    pub first_buf: u32,
}

/// Memory for rings and buffers; see the module's documentation.
#[derive(Debug)]
pub struct Region {
    map: Mapping,
    file: Option<OwnedFd>,
    id: u64,
    buf_area: usize,
    buf_size: u32,
    /// Capacity of a buffer, in the width of a slot's length.
    pub(crate) usable: u16,
    buffers: u32,
    sharing: Sharing,
    next: Mutex<Next>,
    /// Pairs of a private region, with the claims not yet taken of their two halves.
    pairs: Mutex<Vec<(RingPair, [Option<Claim>; 2])>>,
}

#[derive(Debug)]
struct Next {
    object: usize,
    buffer: u32,
}

/// Capacity of buffers of this size, headroom excluded; None for a size that no region has.
fn usable(buf_size: u32) -> Option<u16> {
    let valid = buf_size.is_power_of_two() && (512..=65536).contains(&buf_size);
    // The headroom is what makes the largest size fit: a slot's length has 16 bits.
    u16::try_from((buf_size as usize).checked_sub(HEADROOM)?).ok().filter(|_| valid)
}

fn range(what: &'static str, got: u64, ok: bool, want: &'static str) -> Result<(), RegionError> {
    if ok { Ok(()) } else { Err(RegionError::Config { what, got, want }) }
}

impl Region {
    /// Bytes of `ring_bytes` that one ring of `slots` slots takes, with its metadata and shared lines.
    #[must_use]
    pub fn ring_room(slots: u32) -> usize {
        let slots = slots as usize;
        layout::ring_bytes(slots).next_multiple_of(LINES) + slots * size_of::<MetaCell>() + size_of::<PipeLines>()
    }

    /// Bytes of `ring_bytes` that one interface of `tx` and `rx` rings takes.
    #[must_use]
    pub fn if_room(tx: u32, rx: u32) -> usize {
        layout::if_bytes(tx as usize, rx as usize).next_multiple_of(LINES)
    }

    /// Makes a region.
    pub fn new(config: &RegionConfig) -> Result<Arc<Self>, RegionError> {
        let RegionConfig { buf_size, buffers, ring_bytes, sharing, huge } = *config;
        let usable = usable(buf_size).ok_or(RegionError::Config {
            what: "the buffer size",
            got: buf_size.into(),
            want: "a power of two from 512 to 65536",
        })?;
        let most = u32::MAX / 4;
        range("the number of buffers", buffers.into(), buffers <= most, "at most 2^30")?;
        range("the ring room", ring_bytes as u64, ring_bytes <= 1 << 34, "at most 16 GiB")?;
        let buffers = buffers + BUFFERS_RESERVED;
        let buf_area = (LINES + ring_bytes).next_multiple_of(if cfg!(miri) { 4096 } else { HUGE });
        let len =
            (buf_area + buffers as usize * buf_size as usize).next_multiple_of(if cfg!(miri) { 4096 } else { HUGE });
        let oops = |what| move |source| RegionError::System { what, source };
        let (map, file) = match sharing {
            Sharing::Private => (Mapping::private(len, huge).map_err(oops("memory for the region"))?, None),
            Sharing::Shared => {
                let shared = sys::memory_file(len).and_then(|file| Ok((Mapping::shared(&file, len)?, file)));
                let (map, file) = shared.map_err(oops("shared memory for the region"))?;
                (map, Some(file))
            }
        };
        let next = Mutex::new(Next { object: LINES, buffer: BUFFERS_RESERVED });
        let pairs = Mutex::default();
        Ok(Arc::new(Self { map, file, id: next_id(), buf_area, buf_size, usable, buffers, sharing, next, pairs }))
    }

    /// Maps a region that another process made and described by `buf_area`, `buf_size` and `buffers`.
    ///
    /// Refuses a file that could shrink or lose pages after it is mapped, and a description that does not fit the file.
    pub fn join(file: Foreign, buf_area: u64, buf_size: u32, buffers: u32) -> Result<Arc<Self>, RegionError> {
        let foreign = RegionError::Foreign;
        let size = sys::sealed_size(&file).ok().flatten().ok_or(foreign("its size is not sealed"))?;
        if sys::has_reserved_pages(&file).unwrap_or(true) {
            return Err(foreign("its pages are reserved ones (hugetlb)"));
        }
        // Only memory files have seals.
        let file = file.trusted();
        let usable = usable(buf_size).ok_or(foreign("its buffer size"))?;
        let end = u64::from(buffers).checked_mul(buf_size.into()).and_then(|b| b.checked_add(buf_area));
        let much = |end: u64| size - end > 2 * HUGE as u64;
        if !buf_area.is_multiple_of(4096) || buf_area == 0 || end.is_none_or(|end| end > size || much(end)) {
            return Err(foreign("its size"));
        }
        let oops = |source| RegionError::System { what: "mapping the other process's region", source };
        let size = usize::try_from(size).map_err(|_| foreign("its size"))?;
        let map = Mapping::shared(&file, size).map_err(oops)?;
        let buf_area = usize::try_from(buf_area).map_err(|_| foreign("its size"))?;
        // Nothing is left to hand out: only the region's maker allocates.
        let next = Mutex::new(Next { object: buf_area, buffer: buffers });
        Ok(Arc::new(Self {
            map,
            file: Some(file),
            id: next_id(),
            buf_area,
            buf_size,
            usable,
            buffers,
            sharing: Sharing::Shared,
            next,
            pairs: Mutex::default(),
        }))
    }

    /// Identifier of this region, unique in this process.
    #[inline]
    #[must_use]
    pub fn id(&self) -> u64 {
        self.id
    }

    /// Processes that may map the region.
    #[inline]
    #[must_use]
    pub fn sharing(&self) -> Sharing {
        self.sharing
    }

    /// Bytes of a buffer, headroom included.
    #[must_use]
    pub fn buf_size(&self) -> u32 {
        self.buf_size
    }

    /// Number of buffers, the two reserved ones included.
    #[must_use]
    pub fn buffers(&self) -> u32 {
        self.buffers
    }

    /// Offset of buffer 0, in bytes from the region's start.
    #[must_use]
    pub fn buf_area(&self) -> u64 {
        self.buf_area as u64
    }

    /// Largest frame, or part of one, that a buffer holds.
    #[inline]
    #[must_use]
    pub fn usable(&self) -> usize {
        self.usable.into()
    }

    /// The file behind a shared region, to be sent to another process.
    #[must_use]
    pub fn file(&self) -> Option<BorrowedFd<'_>> {
        self.file.as_ref().map(AsFd::as_fd)
    }

    /// Page size that the mapping got.
    #[must_use]
    pub fn page(&self) -> Page {
        self.map.page()
    }

    /// Start and length of the buffers, for interfaces that register memory (AF_XDP's UMEM).
    #[must_use]
    pub fn buffer_memory(&self) -> (NonNull<u8>, usize) {
        (self.at(self.buf_area), self.buffers as usize * self.buf_size as usize)
    }

    /// The first `len` bytes of a buffer in hand; None if it is another region's or holds fewer.
    #[inline]
    pub fn frame<'a>(&'a self, buffer: &'a mut Buffer, len: usize) -> Option<Frame<'a>> {
        if !buffer.is_of(self) || len > self.usable() {
            return None;
        }
        // SAFETY: a buffer's index is below the region's count (`Buffer::from_index`), so its data lies in the mapping, which
        // lives as long as the region. Nobody else holds the buffer while it is borrowed.
        unsafe {
            let at = self.data().add(buffer.index() as usize * self.buf_size as usize);
            Some(Frame::new(at, len, self.sharing() == Sharing::Shared))
        }
    }

    /// The start of the first buffer's data (behind the headroom).
    #[inline]
    pub(crate) fn data(&self) -> NonNull<u8> {
        self.at(self.buf_area + HEADROOM)
    }

    #[inline]
    fn at(&self, offset: usize) -> NonNull<u8> {
        debug_assert!(offset < self.map.len());
        // SAFETY: callers pass offsets that were checked against the mapping when the object was made or offered.
        unsafe { self.map.base().add(offset) }
    }

    fn object(&self, bytes: usize) -> Result<usize, RegionError> {
        let mut next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        let bytes = bytes.next_multiple_of(LINES);
        let left = self.buf_area - next.object;
        if bytes > left {
            return Err(RegionError::Exhausted { what: "ring bytes", left: left as u64, wanted: bytes as u64 });
        }
        let at = next.object;
        next.object += bytes;
        Ok(at)
    }

    fn take_buffers(&self, n: u32) -> Result<u32, RegionError> {
        let mut next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        let left = self.buffers - next.buffer;
        if n > left {
            return Err(RegionError::Exhausted { what: "buffers", left: left.into(), wanted: n.into() });
        }
        let first = next.buffer;
        next.buffer += n;
        let from = self.buf_area + first as usize * self.buf_size as usize;
        self.map.advise_huge(from, from + n as usize * self.buf_size as usize);
        Ok(first)
    }

    /// Extra buffers, which belong to no slot.
    pub fn extra_buffers(&self, n: u32) -> Result<Vec<Buffer>, RegionError> {
        let first = self.take_buffers(n)?;
        // SAFETY: each index is handed out once.
        Ok((first..first + n).map(|i| unsafe { Buffer::from_index(i, self) }).collect())
    }

    /// A ring of `slots` slots (a power of two, 64 to 65536) without buffers; `dir` is 0 for transmit, 1 for receive.
    pub(crate) fn ring(&self, dir: u16, id: u16, slots: u32) -> Result<RingSpot, RegionError> {
        let fits = slots.is_power_of_two() && (64..=65536).contains(&slots);
        range("the number of slots", slots.into(), fits, "a power of two from 64 to 65536")?;
        let ring = self.object(layout::ring_bytes(slots as usize))?;
        let meta = self.object(slots as usize * size_of::<MetaCell>())?;
        let u16_at = |offset: usize, value: u16| {
            let [lo, hi] = value.to_le_bytes();
            self.u8_at(ring + offset).store(lo, Relaxed);
            self.u8_at(ring + offset + 1).store(hi, Relaxed);
        };
        // `buf_ofs` counts from the ring to buffer 0's data: the headroom is hidden.
        let buf_ofs = (self.buf_area + HEADROOM - ring) as u64;
        self.u64_at(ring + offset_of!(NetmapRing, buf_ofs)).store(buf_ofs, Relaxed);
        self.u32_at(ring + offset_of!(NetmapRing, num_slots)).store(slots, Relaxed);
        self.u32_at(ring + offset_of!(NetmapRing, nr_buf_size)).store(self.buf_size, Relaxed);
        self.u64_at(ring + offset_of!(NetmapRing, buf_align)).store(64, Relaxed);
        u16_at(offset_of!(NetmapRing, ringid), id);
        u16_at(offset_of!(NetmapRing, dir), dir);
        Ok(RingSpot { ring: ring as u64, meta: meta as u64, slots })
    }

    /// A pair of rings and their shared lines; both start with the same buffers, one for each slot.
    pub fn ring_pair(&self, id: u16, slots: u32) -> Result<RingPair, RegionError> {
        let (tx, rx) = (self.ring(0, id, slots)?, self.ring(1, id, slots)?);
        let lines = self.object(size_of::<PipeLines>())? as u64;
        let first_buf = self.take_buffers(slots)?;
        let pair = RingPair { tx, rx, lines, first_buf };
        if self.sharing == Sharing::Private {
            self.pairs.lock().unwrap_or_else(PoisonError::into_inner).push((pair, Claim::both()));
        }
        Ok(pair)
    }

    /// Takes one half of a pair of this region; in a private region each half can be taken once, in a shared one it is
    /// not checked.
    pub(crate) fn claim(&self, pair: &RingPair, half: Half, start: u32) -> Result<Option<Claim>, RegionError> {
        if self.sharing == Sharing::Shared {
            return Ok(None);
        }
        let mut pairs = self.pairs.lock().unwrap_or_else(PoisonError::into_inner);
        let claim = pairs
            .iter_mut()
            .find(|(made, _)| made == pair && start == 0)
            .and_then(|(_, halves)| halves[half as usize].take());
        let half = if half == Half::Sender { "sender" } else { "receiver" };
        claim.map(Some).ok_or(RegionError::Taken { half })
    }

    /// A ring without a peer ring, with a buffer in each slot; gives the first buffer's index too.
    pub(crate) fn ring_with_buffers(&self, dir: u16, id: u16, slots: u32) -> Result<(RingSpot, u32), RegionError> {
        let spot = self.ring(dir, id, slots)?;
        Ok((spot, self.take_buffers(slots)?))
    }

    /// A `netmap_if` over rings of this region; gives its offset. Ring offsets are relative to it.
    pub fn interface(&self, name: &str, tx: &[RingSpot], rx: &[RingSpot]) -> Result<u64, RegionError> {
        let count = |n: usize| {
            let (what, want) = ("the number of rings", "at most 2^32 - 1");
            u32::try_from(n).map_err(|_| RegionError::Config { what, got: n as u64, want })
        };
        let (tx_rings, rx_rings) = (count(tx.len())?, count(rx.len())?);
        let at = self.object(layout::if_bytes(tx.len(), rx.len()))?;
        for (i, byte) in name.bytes().take(15).enumerate() {
            self.u8_at(at + i).store(byte, Relaxed);
        }
        self.u32_at(at + offset_of!(NetmapIf, version)).store(layout::API, Relaxed);
        self.u32_at(at + offset_of!(NetmapIf, tx_rings)).store(tx_rings, Relaxed);
        self.u32_at(at + offset_of!(NetmapIf, rx_rings)).store(rx_rings, Relaxed);
        for (i, spot) in tx.iter().chain(rx).enumerate() {
            let ofs = spot.ring.wrapping_sub(at as u64);
            self.u64_at(at + layout::RING_OFS_OFFSET + i * 8).store(ofs, Relaxed);
        }
        Ok(at as u64)
    }

    /// Resets a pair for a pairing that starts at cursor `start`: its shared lines, and the receiver's slots with the
    /// buffers that the pair was made with. Nobody may be using the pair. An invalid pair is ignored, and so is a pair
    /// of a private region, whose lines live exactly as long as its two halves.
    pub fn renew(&self, pair: &RingPair, start: u32) {
        if self.sharing == Sharing::Private || self.check_pair(pair).is_err() {
            return;
        }
        // SAFETY: inside the region and aligned; the lines are atomics.
        unsafe { self.lines_at(pair.lines).as_ref() }.renew(start);
        for k in 0..pair.rx.slots {
            // SAFETY: inside the region and aligned; slots are atomics.
            unsafe { self.slots_at(&pair.rx).add(k as usize).as_ref() }.set(SlotWord::new(pair.first_buf + k, 0, 0));
        }
    }

    /// Checks pairs that another process described: everything inside the region, aligned, legal in size, and without
    /// overlap.
    pub fn check_pairs<'a>(&self, pairs: impl IntoIterator<Item = &'a RingPair>) -> Result<(), RegionError> {
        let (mut objects, mut buffers) = (Vec::new(), Vec::new());
        for pair in pairs {
            self.check_pair(pair)?;
            for spot in [&pair.tx, &pair.rx] {
                objects.push((spot.ring, spot.ring + layout::ring_bytes(spot.slots as usize) as u64));
                objects.push((spot.meta, spot.meta + u64::from(spot.slots) * size_of::<MetaCell>() as u64));
            }
            objects.push((pair.lines, pair.lines + size_of::<PipeLines>() as u64));
            buffers.push((u64::from(pair.first_buf), u64::from(pair.first_buf) + u64::from(pair.tx.slots)));
        }
        for list in [&mut objects, &mut buffers] {
            list.sort_unstable();
            if list.windows(2).any(|two| two[0].1 > two[1].0) {
                return Err(RegionError::Foreign("rings or buffers in one place"));
            }
        }
        Ok(())
    }

    pub(crate) fn check_pair(&self, pair: &RingPair) -> Result<(), RegionError> {
        self.check_spot(&pair.tx)?;
        self.check_spot(&pair.rx)?;
        self.check_lines(pair.lines)?;
        self.check_bufs(pair.first_buf, pair.tx.slots)?;
        if pair.tx.slots != pair.rx.slots {
            return Err(RegionError::Foreign("rings of two sizes"));
        }
        Ok(())
    }

    /// Checks a spot that another process described: inside the object area, aligned, a legal number of slots.
    fn check_spot(&self, spot: &RingSpot) -> Result<(), RegionError> {
        let fits = spot.slots.is_power_of_two() && (64..=65536).contains(&spot.slots);
        if !fits {
            return Err(RegionError::Foreign("its slots"));
        }
        let slots = spot.slots as usize;
        self.check_object(spot.ring, layout::ring_bytes(slots))?;
        self.check_object(spot.meta, slots * size_of::<MetaCell>())
    }

    fn check_lines(&self, lines: u64) -> Result<(), RegionError> {
        self.check_object(lines, size_of::<PipeLines>())
    }

    fn check_bufs(&self, first: u32, n: u32) -> Result<(), RegionError> {
        let end = first.checked_add(n);
        if first < BUFFERS_RESERVED || end.is_none_or(|end| end > self.buffers) {
            return Err(RegionError::Foreign("its buffers"));
        }
        Ok(())
    }

    fn check_object(&self, at: u64, bytes: usize) -> Result<(), RegionError> {
        let end = at.checked_add(bytes as u64);
        if !at.is_multiple_of(LINES as u64) || end.is_none_or(|end| end > self.buf_area as u64) {
            return Err(RegionError::Foreign("where its rings lie"));
        }
        Ok(())
    }

    fn u8_at(&self, offset: usize) -> &AtomicU8 {
        // SAFETY: inside the mapping; any bytes are a valid atomic.
        unsafe { self.at(offset).cast().as_ref() }
    }

    pub(crate) fn u32_at(&self, offset: usize) -> &AtomicU32 {
        debug_assert!(offset.is_multiple_of(4));
        // SAFETY: inside the mapping and aligned: objects are, and so are netmap's fields in them.
        unsafe { self.at(offset).cast().as_ref() }
    }

    pub(crate) fn u64_at(&self, offset: usize) -> &AtomicU64 {
        debug_assert!(offset.is_multiple_of(8));
        // SAFETY: inside the mapping and aligned: objects are, and so are netmap's fields in them.
        unsafe { self.at(offset).cast().as_ref() }
    }

    pub(crate) fn slots_at(&self, spot: &RingSpot) -> NonNull<SlotCell> {
        self.at(Self::offset(spot.ring) + layout::SLOTS_OFFSET).cast()
    }

    pub(crate) fn meta_at(&self, spot: &RingSpot) -> NonNull<MetaCell> {
        self.at(Self::offset(spot.meta)).cast()
    }

    pub(crate) fn lines_at(&self, lines: u64) -> NonNull<PipeLines> {
        self.at(Self::offset(lines)).cast()
    }

    pub(crate) fn offset(at: u64) -> usize {
        usize::try_from(at).expect("offsets were checked against the mapping's size")
    }
}

/// Counters and flags that the two sides of a pipe publish: each side has cache lines to itself, so that a store by one
/// does not take away the line that the other is writing.
#[repr(C, align(128))]
pub(crate) struct PipeLines {
    pub(crate) producer: ProducerLine,
    pub(crate) consumer: ConsumerLine,
    pub(crate) producer_asleep: SleepLine,
    pub(crate) consumer_asleep: SleepLine,
    pub(crate) told: ToldLine,
}

/// Number of numbers that a producer can tell its consumer ([`crate::PipeTx::tell`]).
pub const TOLD: usize = 19;

/// Numbers that a producer tells its consumer beside the frames; their meaning is agreed between the two.
#[repr(C, align(128))]
pub(crate) struct ToldLine(pub(crate) [AtomicU64; TOLD]);

#[repr(C, align(128))]
pub(crate) struct ProducerLine {
    pub(crate) published: AtomicU32,
}

#[repr(C, align(128))]
pub(crate) struct ConsumerLine {
    pub(crate) released: AtomicU32,
    /// Not 0 once the consumer has put other buffers into slots: then the producer must read the slots it gets back.
    pub(crate) swaps: AtomicU32,
    /// Pause request of the consumer; see [`crate::Pause`].
    pub(crate) pause: AtomicU32,
}

#[repr(C, align(128))]
pub(crate) struct SleepLine {
    pub(crate) asleep: AtomicU32,
}

impl PipeLines {
    /// Sets both counters to `start`, nobody asleep, nothing swapped, paused or told.
    pub(crate) fn renew(&self, start: u32) {
        self.producer.published.store(start, Relaxed);
        self.consumer.swaps.store(0, Relaxed);
        self.consumer.pause.store(0, Relaxed);
        self.producer_asleep.asleep.store(0, Relaxed);
        self.consumer_asleep.asleep.store(0, Relaxed);
        self.told.0.iter().for_each(|number| number.store(0, Relaxed));
        // The next pairing is announced through a socket or a lock, which orders all stores above before it.
        self.consumer.released.store(start, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_buffer_holds_fits_a_slots_length() {
        let known = [512, 2048, 65536].map(usable);
        assert_eq!(known, [Some(256), Some(1792), Some(65280)]);
        assert!([0, 256, 768, 65535, 1 << 17, 1 << 31].into_iter().all(|size| usable(size).is_none()));
    }

    #[test]
    fn the_last_bytes_and_the_last_buffer_are_given_out_and_no_more() {
        let config = RegionConfig { buf_size: 512, buffers: 8, ring_bytes: 0, sharing: Sharing::Private, huge: false };
        let region = Region::new(&config).unwrap();
        let left = region.buf_area - LINES;
        assert!(region.object(left + 1).is_err());
        assert_eq!(region.object(left).unwrap(), LINES);
        assert!(region.object(1).is_err());
        assert!(region.take_buffers(9).is_err());
        assert_eq!(region.take_buffers(8).unwrap(), BUFFERS_RESERVED);
        assert!(region.take_buffers(1).is_err());
    }

    #[test]
    fn a_buffer_in_hand_is_read_and_written_in_its_own_region_only() {
        for sharing in [Sharing::Private, Sharing::Shared] {
            if cfg!(miri) && sharing == Sharing::Shared {
                continue;
            }
            let room = Region::ring_room(64);
            let config = RegionConfig { buf_size: 512, buffers: 8, ring_bytes: room, sharing, huge: false };
            let [region, other] = [(); 2].map(|()| Region::new(&config).unwrap());
            let mut buffers = region.extra_buffers(2).unwrap();
            let usable = region.usable();
            for (n, buffer) in (1u8..).zip(&mut buffers) {
                assert!(other.frame(buffer, 10).is_none() && region.frame(buffer, usable + 1).is_none());
                let mut frame = region.frame(buffer, usable).unwrap();
                assert!(frame.write(0, &vec![n; usable]) && !frame.write(1, &vec![n; usable]));
                assert_eq!(frame.bytes().is_some(), sharing == Sharing::Private, "a shared one is copied");
            }
            for (n, buffer) in (1u8..).zip(&mut buffers) {
                assert_eq!(region.frame(buffer, 200).unwrap().to_vec(), [n; 200]);
            }
        }
    }
}

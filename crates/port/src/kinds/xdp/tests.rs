//! The engines against a kernel simulated by the test: order of completions, invalid descriptors, data at odd offsets.

use super::device::{Interface, Socket};
use super::rx::XdpRx;
use super::tx::{Shape, XdpTx};
use crate::counters::{DropReason, RxCounters, TxCounters};
use crate::queue::{RxEngine, TxEngine};
use crate::sys::umem::Umem;
use crate::sys::xsk::Xsk;
use crate::sys::xsk_ring::{Consumer, Desc, Producer, ring};
use linerate_host::Control;
use linerate_ring::layout::SLOTS_OFFSET;
use linerate_ring::{HEADROOM, Meta, Region, RegionConfig, RxRing, Sharing, TxRing, flags};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

const SLOTS: u32 = 64;
const LARGEST: usize = 9022;

fn region() -> Arc<Region> {
    region_for(Sharing::Private)
}

fn region_for(sharing: Sharing) -> Arc<Region> {
    let ring_bytes = 2 * Region::ring_room(SLOTS);
    let config = RegionConfig { buf_size: 2048, buffers: 2 * SLOTS, ring_bytes, sharing, huge: false };
    Region::new(&config).unwrap()
}

fn socket() -> Arc<Socket> {
    let interface = Arc::new(Interface::new(Control::nowhere().unwrap(), Arc::new(())));
    Arc::new(Socket::new(0, Xsk::nowhere(), interface))
}

struct TxBench {
    engine: XdpTx,
    ring: TxRing,
    count: TxCounters,
    /// The kernel's ends.
    sent: Consumer<Desc>,
    completed: Producer<u64>,
    socket: Arc<Socket>,
    umem: Umem,
}

impl TxBench {
    fn new(shape: Shape) -> Self {
        Self::over(&region(), shape, true)
    }

    fn asking(shape: Shape, requests: bool) -> Self {
        Self::over(&region(), shape, requests)
    }

    fn over(region: &Arc<Region>, shape: Shape, requests: bool) -> Self {
        let ((tx, sent), (completed, completion)) = (ring(SLOTS), ring(SLOTS));
        let socket = socket();
        let umem = Umem::new(region);
        let engine = XdpTx::new(&socket, (tx, completion), &umem, SLOTS, LARGEST, (shape, requests));
        let ring = TxRing::new(region, 0, SLOTS).unwrap();
        Self { engine, ring, count: TxCounters::default(), sent, completed, socket, umem }
    }

    fn sync(&mut self) {
        self.engine.serve(&mut self.ring, &mut self.count);
    }

    fn commit(&mut self, slots: &[(usize, u16)]) {
        self.commit_asking(slots, None);
    }

    fn commit_asking(&mut self, slots: &[(usize, u16)], meta: Option<Meta>) {
        let n = u32::try_from(slots.len()).unwrap();
        let mut batch = self.ring.reserve(n);
        for (i, (len, flags)) in (0..n).zip(slots) {
            let fill = u8::try_from(i % 251 + 1).unwrap();
            assert!(batch.put(i, &vec![fill; *len]));
            batch.set(i, *len, *flags);
        }
        if let Some(meta) = meta {
            batch.set_meta(0, meta);
        }
        batch.commit(n);
        self.sync();
    }

    /// Takes the descriptors in the transmit ring, as the kernel does.
    fn take(&mut self) -> Vec<Desc> {
        let n = self.sent.available();
        let descs = (0..n).map(|i| self.sent.peek(i)).collect();
        self.sent.release(n);
        descs
    }

    fn complete(&mut self, addrs: &[u64]) {
        for addr in addrs {
            self.completed.put(*addr);
        }
        self.completed.publish();
        self.sync();
    }
}

#[test]
fn slots_come_back_in_order_whatever_the_order_of_completions() {
    let mut bench = TxBench::new(Shape::One);
    // Many rounds, so that indices wrap.
    for round in 0..200u64 {
        bench.commit(&[(60, 0); 7]);
        let addrs: Vec<_> = bench.take().iter().map(|desc| desc.addr).collect();
        assert_eq!(addrs.len(), 7);
        bench.complete(&[addrs[2], addrs[1]]);
        assert_eq!(bench.ring.outstanding(), 7, "the oldest is out");
        bench.complete(&[addrs[0]]);
        assert_eq!(bench.ring.outstanding(), 4);
        // A duplicate, and an address outside the memory: refused, and no slot comes back for them.
        bench.complete(&[addrs[0], u64::MAX, 5 << 40]);
        assert_eq!(bench.ring.outstanding(), 4);
        bench.complete(&[addrs[6], addrs[5], addrs[4]]);
        assert_eq!(bench.ring.outstanding(), 4);
        bench.complete(&[addrs[3]]);
        assert_eq!((bench.ring.outstanding(), bench.ring.free()), (0, SLOTS - 1));
        assert_eq!((bench.count.frames, bench.count.bytes), ((round + 1) * 7, (round + 1) * 420));
        assert_eq!(bench.socket.unknown_buffers.load(Relaxed), (round + 1) * 3);
    }
}

#[test]
fn chains_take_the_shape_that_the_kernel_takes() {
    const MORE: u16 = flags::MOREFRAG;
    let mut many = vec![(100, MORE); 29];
    many.push((100, 0));
    // Empty parts give no descriptor; the frame's last descriptor says so.
    let hollow = [(0, MORE), (700, MORE), (0, MORE), (800, MORE), (0, 0)];
    for (shape, lens, dropped) in [
        (Shape::One, vec![vec![1500]], 1),
        (Shape::Socket, vec![vec![700, 800], vec![1792, 1208]], 0),
        (Shape::Few, vec![vec![1500], vec![1792, 1208]], 0),
    ] {
        let mut bench = TxBench::new(shape);
        bench.commit(&hollow);
        bench.commit(&many);
        let descs = bench.take();
        let frames: Vec<&[Desc]> = descs.split_inclusive(|desc| !desc.has_more()).collect();
        let got: Vec<Vec<u32>> = frames.iter().map(|frame| frame.iter().map(|desc| desc.len).collect()).collect();
        assert_eq!(got, lens, "{shape:?}");
        assert_eq!(bench.count.dropped.of(DropReason::TooLong), dropped, "{shape:?}");
        bench.complete(&descs.iter().map(|desc| desc.addr).collect::<Vec<_>>());
        assert_eq!(bench.ring.outstanding(), 0);
        assert_eq!((bench.count.frames, bench.count.bytes), if dropped == 1 { (1, 1500) } else { (2, 4500) });
    }
}

#[test]
fn a_frame_that_the_ring_cannot_hold_does_not_stop_it() {
    let mut bench = TxBench::new(Shape::Socket);
    bench.commit(&[(20, flags::MOREFRAG); SLOTS as usize - 1]);
    assert_eq!((bench.ring.free(), bench.ring.pending()), (SLOTS - 1, 0));
    bench.commit(&[(20, flags::MOREFRAG), (20, 0), (60, 0)]);
    assert_eq!(bench.take().iter().map(|desc| desc.len).collect::<Vec<_>>(), [60]);
    assert_eq!(bench.count.dropped.iter().collect::<Vec<_>>(), [("too_many_fragments", 1)]);
}

/// Regression: lengths were read again after they had been checked, so that another process that has the region mapped
/// (a cable's other end) could give the kernel a frame without end, or of more buffers than it gives back.
#[test]
fn lengths_that_another_process_changes_meanwhile_break_no_frame() {
    const MOST_BUFFERS: usize = 17;
    /// Ends the other thread, also when an assertion fails.
    struct Stops<'a>(&'a AtomicBool);
    impl Drop for Stops<'_> {
        fn drop(&mut self) {
            self.0.store(true, Relaxed);
        }
    }
    let region = region_for(Sharing::Shared);
    let mut bench = TxBench::over(&region, Shape::Socket, true);
    let (stop, slots) = (AtomicBool::new(false), bench.ring.spot().ring + SLOTS_OFFSET as u64);
    let memory = File::from(region.file().unwrap().try_clone_to_owned().unwrap());
    std::thread::scope(|scope| {
        let _stops = Stops(&stop);
        scope.spawn(|| {
            while !stop.load(Relaxed) {
                for (k, len) in (0..u64::from(SLOTS)).flat_map(|k| [0u16, 1792, 300].map(|len| (k, len))) {
                    memory.write_all_at(&len.to_le_bytes(), slots + 16 * k + 4).unwrap();
                }
            }
        });
        for _ in 0..4000 {
            for parts in [2, 20] {
                let mut chain = vec![(300, flags::MOREFRAG); parts];
                chain[parts - 1].1 = 0;
                bench.commit(&chain);
                let descs = bench.take();
                assert!(descs.last().is_none_or(|last| !last.has_more()), "it ends");
                assert!(descs.len() <= MOST_BUFFERS && descs.iter().all(|desc| desc.len > 0));
                assert!(descs.iter().map(|desc| desc.len as usize).sum::<usize>() <= LARGEST);
                bench.complete(&descs.iter().map(|desc| desc.addr).collect::<Vec<_>>());
                assert_eq!((bench.ring.outstanding(), bench.socket.unknown_buffers.load(Relaxed)), (0, 0));
            }
        }
    });
}

const ASKS: Meta = Meta {
    flags: Meta::NEEDS_CSUM,
    gso_type: 0,
    hdr_len: 0,
    gso_size: 0,
    csum_start: 34,
    csum_offset: 6,
    vlan_tci: 0,
    hash: 0,
};

/// Documentation/networking/xsk-tx-metadata.rst.
#[test]
fn a_request_stands_before_the_data_of_the_part_that_it_goes_with() {
    const MORE: u16 = flags::MOREFRAG;
    for (slots, lens) in [
        (vec![(60, 0)], vec![60]),
        // As it is: the first part that has any bytes holds the field.
        (vec![(0, MORE), (42, MORE), (100, 0)], vec![42, 100]),
        // Copied together: it does not.
        (vec![(41, MORE), (100, 0)], vec![141]),
    ] {
        let mut bench = TxBench::new(Shape::Socket);
        // Another time the same buffers go without.
        for meta in [Some(ASKS), None, Some(Meta { flags: Meta::DATA_VALID, ..ASKS }), Some(ASKS)] {
            bench.commit_asking(&slots, meta);
            let descs = bench.take();
            let asks = meta == Some(ASKS);
            if asks {
                assert_eq!(descs.iter().map(|desc| desc.len).collect::<Vec<_>>(), lens);
                assert_eq!(bench.umem.request(descs[0].addr), [2, 34 | 6 << 16, 0]);
            }
            let marked: Vec<_> = descs.iter().map(|desc| desc.options & Desc::REQUEST != 0).collect();
            assert_eq!(marked[0], asks);
            assert!(!marked[1..].contains(&true), "a frame's first only");
            bench.complete(&descs.iter().map(|desc| desc.addr).collect::<Vec<_>>());
            assert_eq!(bench.ring.outstanding(), 0);
        }
        assert_eq!((bench.count.frames, bench.count.dropped.total()), (4, 0));
    }
}

/// The kernel would keep such a frame, and all frames behind it, for ever (xsk_skb_metadata, xsk_build_skb: EINVAL).
#[test]
fn a_request_that_cannot_be_is_a_counted_drop() {
    const MORE: u16 = flags::MOREFRAG;
    let mut bench = TxBench::new(Shape::Socket);
    let beyond = [Meta { csum_start: 54, ..ASKS }, Meta { csum_offset: 27, ..ASKS }];
    let most = Meta { csum_start: u16::MAX, csum_offset: u16::MAX, ..ASKS };
    for meta in [beyond[0], beyond[1], most] {
        bench.commit_asking(&[(60, 0)], Some(meta));
        bench.commit_asking(&[(30, MORE), (30, 0)], Some(meta));
    }
    // Within the frame, beyond the first buffer.
    bench.commit_asking(&[(1792, MORE), (1000, 0)], Some(Meta { csum_start: 1785, ..ASKS }));
    assert_eq!(bench.count.dropped.iter().collect::<Vec<_>>(), [("refused", 7)]);
    for gso_type in [1, 4, 5] {
        bench.commit_asking(&[(60, 0)], Some(Meta { gso_type, ..ASKS }));
        bench.commit_asking(&[(30, MORE), (30, 0)], Some(Meta { gso_type, ..ASKS }));
    }
    assert_eq!(bench.count.dropped.of(DropReason::Unfinished), 6);
    bench.commit_asking(&[(60, 0)], Some(Meta { csum_start: 52, ..ASKS }));
    let descs = bench.take();
    assert_eq!(descs.len(), 1, "the last one goes, up to its very end");
    bench.complete(&[descs[0].addr]);
    assert_eq!((bench.ring.outstanding(), bench.count.frames), (0, 1));
}

#[test]
fn a_port_that_does_not_complete_checksums_asks_nobody_to() {
    let mut bench = TxBench::asking(Shape::One, false);
    bench.commit_asking(&[(60, 0)], Some(ASKS));
    assert_eq!(bench.take()[0].options, 0);
}

struct RxBench {
    engine: XdpRx,
    ring: RxRing,
    count: RxCounters,
    /// The kernel's ends.
    received: Producer<Desc>,
    filled: Consumer<u64>,
    socket: Arc<Socket>,
    region: Arc<Region>,
}

impl RxBench {
    fn new() -> Self {
        let region = region();
        let ((received, rx), (fill, filled)) = (ring(SLOTS), ring(SLOTS));
        let socket = socket();
        let mut ring = RxRing::new(&region, 0, SLOTS).unwrap();
        let engine = XdpRx::new(&socket, (rx, fill), &Umem::new(&region), &mut ring, false);
        Self { engine, ring, count: RxCounters::default(), received, filled, socket, region }
    }

    /// Addresses that the kernel may receive into.
    fn offered(&mut self) -> Vec<u64> {
        self.engine.serve(&mut self.ring, &mut self.count);
        let n = self.filled.available();
        let addrs = (0..n).map(|i| self.filled.peek(i)).collect();
        self.filled.release(n);
        addrs
    }

    fn receive(&mut self, descs: &[(u64, u32, bool)]) {
        for (addr, len, more) in descs {
            self.received.put(Desc { addr: *addr, len: *len, options: if *more { Desc::MORE } else { 0 } });
        }
        self.received.publish();
        self.engine.serve(&mut self.ring, &mut self.count);
    }

    /// Lengths and first bytes of what was delivered; released.
    fn delivered(&mut self) -> Vec<(usize, u8, bool)> {
        let mut batch = self.ring.batch(u32::MAX);
        let n = batch.len();
        let mut got = Vec::new();
        for i in 0..n {
            let (frame, flags) = batch.frame(i).unwrap();
            got.push((frame.len(), frame.to_vec()[0], flags & flags::MOREFRAG != 0));
        }
        batch.release(n);
        got
    }
}

#[test]
fn only_lent_buffers_and_whole_frames_are_delivered() {
    let mut bench = RxBench::new();
    let all = bench.offered();
    assert_eq!(all.len(), SLOTS as usize);
    assert!(all.iter().all(|addr| addr % 2048 == HEADROOM as u64), "where a slot's data begins");
    let end = u64::from(bench.region.buffers()) * 2048;
    // Invalid: outside the memory, not lent (the reserved buffer 0), too long, beyond the buffer, empty.
    bench.receive(&[(end, 60, false), (HEADROOM as u64, 60, false), (u64::MAX, 60, false)]);
    bench.receive(&[(all[0], 1793, false), (all[1] + 100, 1700, false), (all[2], 0, false)]);
    assert!(bench.delivered().is_empty());
    assert_eq!(bench.count.dropped.of(DropReason::BadIndex), 3);
    assert_eq!(bench.count.dropped.of(DropReason::BadLength), 3);
    assert_eq!(bench.socket.unknown_buffers.load(Relaxed), 3);
    // The buffers of this port went back to the kernel.
    assert_eq!(bench.offered(), [all[0], all[1], all[2]]);
    // A duplicate: the first is delivered, the second names no lent buffer.
    bench.receive(&[(all[3], 60, false), (all[3], 60, false)]);
    assert_eq!(bench.delivered().len(), 1);
    assert_eq!(bench.count.dropped.of(DropReason::BadIndex), 4);
    // Half a frame waits for its end.
    bench.receive(&[(all[4], 1792, true)]);
    assert!(bench.delivered().is_empty());
    bench.receive(&[(all[5], 8, false)]);
    assert_eq!(
        bench.delivered().iter().map(|(len, _, more)| (*len, *more)).collect::<Vec<_>>(),
        [(1792, true), (8, false)]
    );
    // A frame with a bad part is dropped as a whole, and its good buffers go back.
    bench.offered();
    bench.receive(&[(all[6], 1792, true), (end, 60, false)]);
    assert!(bench.delivered().is_empty());
    assert_eq!(bench.offered(), [all[6]]);
    // One buffer twice in a frame.
    bench.receive(&[(all[6], 1792, true), (all[6], 60, false)]);
    assert!(bench.delivered().is_empty());
    assert_eq!(bench.offered(), [all[6]]);
    assert_eq!(bench.count.slots, 3);
}

#[test]
fn a_frame_that_can_never_fit_is_dropped_and_one_that_can_waits() {
    let mut bench = RxBench::new();
    let all = bench.offered();
    let chain: Vec<_> = all.iter().enumerate().map(|(i, addr)| (*addr, 60, i + 1 < all.len())).collect();
    bench.receive(&chain);
    assert_eq!(bench.count.dropped.of(DropReason::TooManyFragments), 1);
    let mut back = bench.offered();
    back.sort_unstable();
    assert_eq!(back, all, "all buffers went back");
    // 62 slots are taken, so two do not fit until one is released.
    let singles: Vec<_> = all[..62].iter().map(|addr| (*addr, 60, false)).collect();
    bench.receive(&singles);
    bench.receive(&[(all[62], 60, true), (all[63], 60, false)]);
    assert_eq!(bench.ring.available(), 62);
    assert_eq!(bench.delivered().len(), 62);
    bench.offered();
    assert_eq!(bench.delivered().len(), 2);
}

/// The kernel delivers frames before it publishes that it has read their buffers' entries.
#[test]
fn buffers_go_back_before_the_kernel_has_said_that_it_took_them() {
    let mut bench = RxBench::new();
    // Longer than the longest pause.
    let pause = || std::thread::sleep(std::time::Duration::from_micros(20));
    for n in 0..3 * SLOTS {
        let addr = bench.filled.peek(0);
        pause();
        bench.receive(&[(addr, 60 + n % 100, false)]);
        assert_eq!(bench.delivered().len(), 1);
        // Back it goes, into a ring that by its index has no room.
        pause();
        bench.engine.serve(&mut bench.ring, &mut bench.count);
        bench.filled.release(1);
        assert_eq!(bench.filled.available(), SLOTS, "all are the kernel's again");
    }
    assert_eq!(bench.count.slots, u64::from(3 * SLOTS));
}

#[test]
fn data_at_an_odd_place_is_moved() {
    let mut bench = RxBench::new();
    let all = bench.offered();
    let umem = Umem::new(&bench.region);
    for (i, shift) in [16u64, 1, 100].into_iter().enumerate() {
        // The kernel writes behind, and before, where data usually begins.
        let addr = all[i] + shift;
        umem.dma(addr, &[7, 8, 9]);
        bench.receive(&[(addr, 3, false)]);
        let addr = all[i + 3] - shift;
        umem.dma(addr, &[7, 8, 9]);
        bench.receive(&[(addr, 3, false)]);
        let mut batch = bench.ring.batch(2);
        for i in 0..2 {
            assert_eq!(batch.frame(i).unwrap().0.to_vec(), [7, 8, 9]);
        }
        batch.release(2);
    }
}

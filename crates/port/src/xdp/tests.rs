//! The engines against a kernel that is played by the test: order of completions, nonsense, data at odd places.

use super::device::{Interface, Socket};
use super::rx::XdpRx;
use super::tx::{Shape, XdpTx};
use crate::counters::{DropReason, RxCounters, TxCounters};
use crate::queue::{RxEngine, TxEngine};
use crate::sys::interface::Control;
use crate::sys::umem::Umem;
use crate::sys::xsk::Xsk;
use crate::sys::xsk_ring::{Consumer, Desc, Producer, ring};
use linerate_ring::{HEADROOM, Region, RegionConfig, RxRing, Sharing, TxRing, flags};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

const SLOTS: u32 = 64;

fn region() -> Arc<Region> {
    let ring_bytes = 2 * Region::ring_room(SLOTS);
    let config =
        RegionConfig { buf_size: 2048, buffers: 2 * SLOTS, ring_bytes, sharing: Sharing::Private, huge: false };
    Region::new(&config).unwrap()
}

fn socket() -> Arc<Socket> {
    let interface = Arc::new(Interface::new(Control::nowhere(), Arc::new(())));
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
}

impl TxBench {
    fn new(shape: Shape) -> Self {
        let region = region();
        let ((tx, sent), (completed, completion)) = (ring(SLOTS), ring(SLOTS));
        let socket = socket();
        let engine = XdpTx::new(&socket, (tx, completion), &Umem::new(&region), SLOTS, 9022, shape);
        let ring = TxRing::new(&region, 0, SLOTS).unwrap();
        Self { engine, ring, count: TxCounters::default(), sent, completed, socket }
    }

    fn sync(&mut self) {
        self.engine.sync(&mut self.ring, &mut self.count);
    }

    fn commit(&mut self, slots: &[(usize, u16)]) {
        let n = u32::try_from(slots.len()).unwrap();
        let mut batch = self.ring.reserve(n);
        for (i, (len, flags)) in (0..n).zip(slots) {
            let fill = u8::try_from(i % 251 + 1).unwrap();
            assert!(batch.put(i, &vec![fill; *len]));
            batch.set(i, *len, *flags);
        }
        batch.commit(n);
        self.sync();
    }

    /// What the kernel finds in the transmit ring.
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
    // Round and round, so that indices wrap.
    for round in 0..200u64 {
        bench.commit(&[(60, 0); 7]);
        let addrs: Vec<_> = bench.take().iter().map(|desc| desc.addr).collect();
        assert_eq!(addrs.len(), 7);
        bench.complete(&[addrs[2], addrs[1]]);
        assert_eq!(bench.ring.outstanding(), 7, "the oldest is out");
        bench.complete(&[addrs[0]]);
        assert_eq!(bench.ring.outstanding(), 4);
        // Once more, and an address that is nobody's: refused, and nothing comes back for it.
        bench.complete(&[addrs[0], u64::MAX, 5 << 40]);
        assert_eq!(bench.ring.outstanding(), 4);
        bench.complete(&[addrs[6], addrs[5], addrs[4]]);
        assert_eq!(bench.ring.outstanding(), 4);
        bench.complete(&[addrs[3]]);
        assert_eq!((bench.ring.outstanding(), bench.ring.free()), (0, SLOTS - 1));
        assert_eq!((bench.count.frames, bench.count.bytes), ((round + 1) * 7, (round + 1) * 420));
        assert_eq!(bench.socket.nonsense.load(Relaxed), (round + 1) * 3);
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
        let engine = XdpRx::new(&socket, (rx, fill), &Umem::new(&region), &mut ring);
        Self { engine, ring, count: RxCounters::default(), received, filled, socket, region }
    }

    /// Addresses that the kernel may receive into.
    fn offered(&mut self) -> Vec<u64> {
        self.engine.sync(&mut self.ring, &mut self.count);
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
        self.engine.sync(&mut self.ring, &mut self.count);
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
    // Nonsense: outside the memory, not lent (the reserved buffer 0), too long, beyond the buffer, empty.
    bench.receive(&[(end, 60, false), (HEADROOM as u64, 60, false), (u64::MAX, 60, false)]);
    bench.receive(&[(all[0], 1793, false), (all[1] + 100, 1700, false), (all[2], 0, false)]);
    assert!(bench.delivered().is_empty());
    assert_eq!(bench.count.dropped.of(DropReason::BadIndex), 3);
    assert_eq!(bench.count.dropped.of(DropReason::BadLength), 3);
    assert_eq!(bench.socket.nonsense.load(Relaxed), 3);
    // The buffers that were ours went back to the kernel.
    assert_eq!(bench.offered(), [all[0], all[1], all[2]]);
    // Twice the same: the first is delivered, the second is nobody's.
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
    // A frame with a bad part goes as a whole, and its good buffers back.
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

/// The kernel hands frames over before it says that it has read their buffers' entries.
#[test]
fn buffers_go_back_before_the_kernel_has_said_that_it_took_them() {
    let mut bench = RxBench::new();
    // Longer than a look is ever put off.
    let pause = || std::thread::sleep(std::time::Duration::from_micros(20));
    for n in 0..3 * SLOTS {
        let addr = bench.filled.peek(0);
        pause();
        bench.receive(&[(addr, 60 + n % 100, false)]);
        assert_eq!(bench.delivered().len(), 1);
        // Back it goes, into a ring that by its index has no room.
        pause();
        bench.engine.sync(&mut bench.ring, &mut bench.count);
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

//! An honest end on memory that a hostile end scribbles on, driven by a script of bytes.
//!
//! The hostile end writes through the region's file, so no rule of this crate binds it. Whatever the script: nothing
//! panics, no frame reaches beyond a buffer, no ring counts more slots than it has, and a region's maker knows at any
//! time where each of its buffers is.

use linerate_ring::{Buffer, Meta, Pipe, PipeRx, PipeTx, Region, RegionConfig, RingPair, RxRing, Sharing, TxRing};
use linerate_ring::{flags, forward};
use std::cell::RefCell;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

const SLOTS: u32 = 64;
const LINE: u64 = 128;

/// The bytes of a script, taken one after the other.
struct Script<'a>(&'a [u8]);

impl Script<'_> {
    fn byte(&mut self) -> Option<u8> {
        let (byte, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*byte)
    }

    fn below(&mut self, n: u32) -> u32 {
        u32::from(self.byte().unwrap_or(0)) % n
    }

    /// A cursor: often near the true one, sometimes arbitrary.
    fn cursor(&mut self, truth: u32) -> u32 {
        match self.below(4) {
            0 => truth.wrapping_add(self.below(80)),
            1 => truth.wrapping_sub(self.below(80)),
            2 => truth.wrapping_add(1 << self.below(32)),
            _ => u32::from_le_bytes([0; 4].map(|_: u8| self.byte().unwrap_or(0xff))),
        }
    }

    fn word(&mut self, own: u32, buffers: u32) -> u64 {
        let buf = match self.below(6) {
            0 => 0,
            1 => 1,
            2 => own,
            3 => buffers.wrapping_sub(2).wrapping_add(self.below(4)),
            4 => u32::MAX,
            _ => self.below(buffers),
        };
        let len = match self.below(5) {
            0 => 0,
            1 => u32::from(u16::MAX),
            2 => 256,
            3 => 257,
            _ => self.below(256),
        };
        let flags = match self.below(4) {
            0 => 0,
            1 => flags::MOREFRAG,
            2 => u16::MAX,
            _ => flags::BUF_CHANGED | flags::META,
        };
        u64::from(buf) | u64::from(len) << 32 | u64::from(flags) << 48
    }
}

/// Scripts run on one region, each with two extra buffers of its own. Making a region costs more than a script.
const REUSED: u32 = 500;

/// A region that holds both ends, as its maker and as a joiner have mapped it.
struct Arena {
    made: Arc<Region>,
    joined: Arc<Region>,
    file: Arc<File>,
    pairs: [RingPair; 2],
    extra: Vec<Buffer>,
}

impl Arena {
    fn new() -> Self {
        let (ring_bytes, buffers) = (4 * Region::ring_room(SLOTS), 2 * SLOTS + 2 * REUSED);
        let config = RegionConfig { buf_size: 512, buffers, ring_bytes, sharing: Sharing::Shared, huge: false };
        let made = Region::new(&config).expect("memory");
        let pairs = [0, 1].map(|id| made.ring_pair(id, SLOTS).expect("room"));
        let joined = join(&made);
        joined.check_pairs(&pairs).expect("honest pairs");
        let file = made.file().expect("a shared region").try_clone_to_owned().expect("a descriptor");
        let extra = made.extra_buffers(2 * REUSED).expect("room");
        Self { made, joined, file: Arc::new(file.into()), pairs, extra }
    }
}

fn join(made: &Region) -> Arc<Region> {
    let file = made.file().expect("a shared region").try_clone_to_owned().expect("a descriptor");
    Region::join(file.into(), made.buf_area(), made.buf_size(), made.buffers()).expect("an honest offer")
}

thread_local! {
    static ARENA: RefCell<Arena> = RefCell::new(Arena::new());
}

/// The honest end and the state it is checked against.
struct Honest {
    region: Arc<Region>,
    /// The same region as an honest successor maps it.
    joined: Arc<Region>,
    pairs: [RingPair; 2],
    tx: TxRing,
    tx_pipe: PipeTx,
    rx: RxRing,
    rx_pipe: PipeRx,
    extra: Vec<Buffer>,
    maker: bool,
    buffers: Vec<u32>,
    scratch: Vec<u8>,
}

impl Honest {
    fn new(maker: bool, start: u32) -> (Self, Arc<File>) {
        ARENA.with_borrow_mut(|arena| {
            if arena.extra.is_empty() {
                *arena = Arena::new();
            }
            let pairs = arena.pairs;
            pairs.iter().for_each(|pair| arena.made.renew(pair, start));
            let extra = arena.extra.split_off(if maker { arena.extra.len() - 2 } else { arena.extra.len() });
            let (region, role) = if maker { (&arena.made, Pipe::Maker) } else { (&arena.joined, Pipe::Joiner) };
            let (tx, tx_pipe) = role.sender(region, &pairs[0], start).expect("a sender");
            let (rx, rx_pipe) = role.receiver(region, &pairs[1], start).expect("a receiver");
            let (region, joined) = (region.clone(), arena.joined.clone());
            let (scratch, buffers) = (vec![0; region.usable()], Vec::new());
            let mut honest = Self { region, joined, pairs, tx, tx_pipe, rx, rx_pipe, extra, maker, buffers, scratch };
            honest.buffers = honest.held();
            (honest, arena.file.clone())
        })
    }

    /// Indices of all buffers that this end can name.
    fn held(&self) -> Vec<u32> {
        let mut all: Vec<u32> = self.extra.iter().map(Buffer::index).collect();
        all.extend((0..SLOTS).map(|k| self.tx.slot_word(k).buf_idx()));
        all.extend((0..SLOTS).map(|k| self.rx.slot_word(k).buf_idx()));
        all
    }

    fn check(&self) {
        assert_eq!(self.tx.free() + self.tx.outstanding(), SLOTS - 1);
        assert_eq!(self.tx.pending() + self.tx.in_flight(), self.tx.outstanding());
        assert!(self.rx.available() < SLOTS, "{} delivered slots", self.rx.available());
        let held = self.held();
        assert!(held.iter().all(|buf| (2..self.region.buffers()).contains(buf)), "a buffer outside the region");
        if self.maker {
            // As many as at the start, and each of those: so none is lost and none is in two places.
            let mut there = vec![false; self.region.buffers() as usize];
            held.iter().for_each(|buf| there[*buf as usize] = true);
            assert!(self.buffers.iter().all(|buf| there[*buf as usize]), "the maker's buffers");
        }
    }

    fn commit(&mut self, len: usize, flags: u16, meta: bool) {
        let mut batch = self.tx.reserve(1);
        if batch.is_empty() {
            return;
        }
        assert!(batch.put(0, &self.scratch[..len]));
        batch.set(0, len, flags);
        if meta {
            batch.set_meta(0, Meta { gso_size: 7, ..Meta::default() });
        }
        batch.commit(1);
    }

    fn receive(&mut self, n: u32, swap: bool) {
        let mut batch = self.rx.batch(n);
        for i in 0..batch.len() {
            if let Some((frame, _)) = batch.frame(i) {
                let len = frame.len();
                assert!(len <= self.scratch.len());
                assert!(frame.bytes().is_none(), "hostile memory is never borrowed");
                assert!(frame.read(0, &mut self.scratch[..len]));
            }
            let _ = batch.meta(i);
            if swap && let Some(extra) = self.extra.first_mut() {
                batch.swap(i, extra);
            }
        }
        let n = batch.len();
        batch.release(n);
    }

    fn reset(&mut self) {
        let out = self.tx.in_flight();
        let (lost, start) = self.tx_pipe.reset(&mut self.tx);
        assert!(lost <= u64::from(out) && self.tx.in_flight() == 0 && start == self.tx_pipe.cursor());
        let available = self.rx.available();
        let left = self.rx_pipe.reset(&mut self.rx);
        assert!(left.is_some() || self.rx.available() > 0 || available > 0);
    }
}

/// Runs a script; panics if the honest end can be harmed.
pub(crate) fn run(bytes: &[u8]) {
    let mut script = Script(bytes);
    let head = script.byte().unwrap_or(0);
    let start = if head & 2 == 0 { 0 } else { u32::MAX - 70 };
    let (mut honest, hostile) = Honest::new(head & 1 == 0, start);
    let write = |at: u64, bytes: &[u8]| hostile.write_all_at(bytes, at).expect("the region's file");
    // Scripts are short; a longer one would only do the same again.
    for _ in 0..2000 {
        let Some(op) = script.byte() else { break };
        match op % 16 {
            0 | 1 => {
                let flags = if op & 16 == 0 { 0 } else { flags::MOREFRAG };
                honest.commit(script.below(257) as usize, flags, op & 32 != 0);
            }
            2 | 3 => {
                let most = script.below(40) * 100;
                let mut sum = 0;
                let moved = honest.tx_pipe.sync(&mut honest.tx, |bytes| {
                    sum += bytes;
                    sum <= most as usize
                });
                assert!(moved.frames <= moved.slots && moved.slots < SLOTS);
            }
            4 => assert!(honest.rx_pipe.sync(&mut honest.rx) < SLOTS),
            5 => honest.receive(script.below(SLOTS), op & 16 != 0),
            // The hostile end's counters: of the ring it reads and of the one that it writes.
            6 => write(honest.pairs[0].lines + LINE, &script.cursor(honest.tx_pipe.cursor()).to_le_bytes()),
            7 => write(honest.pairs[1].lines, &script.cursor(honest.rx_pipe.cursor()).to_le_bytes()),
            8 | 9 => {
                let pair = honest.pairs[script.below(2) as usize];
                let spot = if op & 16 == 0 { pair.rx } else { pair.tx };
                let k = script.below(SLOTS);
                let word = script.word(pair.first_buf + k, honest.region.buffers());
                write(spot.ring + 256 + u64::from(k) * 16, &word.to_le_bytes());
            }
            10 => {
                // Flags of sleepers, the count of swaps, or metadata.
                let pair = honest.pairs[script.below(2) as usize];
                let at =
                    [pair.lines + 2 * LINE, pair.lines + 3 * LINE, pair.lines + LINE + 4, pair.rx.meta, pair.tx.meta];
                write(at[script.below(5) as usize], &[script.byte().unwrap_or(1), 1, 0xff, 0xff]);
            }
            11 => {
                // Any value, anywhere among the rings.
                let area = u32::try_from(honest.pairs[1].lines + 4 * LINE).expect("a small region");
                let at = script.cursor(0) % (area - 8);
                write(at.into(), &[0; 8].map(|_: u8| script.byte().unwrap_or(0xff)));
            }
            12 => {
                let _ = (honest.tx_pipe.must_wake(), honest.rx_pipe.must_wake());
                let _ = (honest.tx_pipe.fall_asleep(), honest.rx_pipe.fall_asleep());
                honest.tx_pipe.wake_up();
                honest.rx_pipe.wake_up();
            }
            13 => {
                let n = script.below(SLOTS);
                let moved = forward(honest.rx.batch(n), honest.tx.reserve(n), n, |_| true);
                assert_eq!(moved.is_some(), honest.maker, "only the maker may swap");
            }
            14 => {
                let mut batch = honest.tx.reserve(1);
                if let (false, Some(extra)) = (batch.is_empty(), honest.extra.first_mut()) {
                    assert!(batch.swap(0, extra));
                }
            }
            _ => honest.reset(),
        }
        honest.check();
    }
    serve_the_next(&mut honest);
}

/// Replaces the hostile end by an honest one: all slots come back, and the new end is served.
fn serve_the_next(honest: &mut Honest) {
    let (_, tx_start) = honest.tx_pipe.reset(&mut honest.tx);
    let rx_start = loop {
        match honest.rx_pipe.reset(&mut honest.rx) {
            Some(start) => break start,
            None => honest.receive(SLOTS, false),
        }
    };
    honest.check();
    assert_eq!(honest.tx.in_flight(), 0, "all slots are back");
    if !honest.maker {
        return;
    }
    let (mut tx, mut tx_pipe) = Pipe::Joiner.sender(&honest.joined, &honest.pairs[1], rx_start).expect("a sender");
    let (mut rx, mut rx_pipe) = Pipe::Joiner.receiver(&honest.joined, &honest.pairs[0], tx_start).expect("a receiver");
    let violations = (honest.tx_pipe.violations(), honest.rx_pipe.violations());
    // Slots committed meanwhile come first, as the hostile end left them: they lay in memory that it could write. A
    // further frame ends a chain without an end.
    for _ in 0..3 {
        honest.commit(1, 0, false);
        honest.tx_pipe.sync(&mut honest.tx, |_| true);
        rx_pipe.sync(&mut rx);
        let n = rx.available();
        rx.batch(n).release(n);
        rx_pipe.sync(&mut rx);
    }
    assert!(honest.tx.pending() == 0, "nothing sticks");
    // A ring that was full to its last slot has room again once it sees that all slots were released.
    assert_eq!(honest.tx_pipe.sync(&mut honest.tx, |_| true).slots, 0);
    for value in 0..70u8 {
        honest.scratch[..4].fill(value);
        honest.commit(4, 0, false);
        assert_eq!(honest.tx_pipe.sync(&mut honest.tx, |_| true).frames, 1);
        rx_pipe.sync(&mut rx);
        assert_eq!(rx.batch(1).frame(0).expect("a frame").0.to_vec(), [value; 4]);
        rx.batch(1).release(1);
        rx_pipe.sync(&mut rx);
        let mut batch = tx.reserve(1);
        assert!(batch.put(0, &[value; 3]));
        batch.commit(1);
        tx_pipe.sync(&mut tx, |_| true);
        assert_eq!(honest.rx_pipe.sync(&mut honest.rx), 1);
        assert_eq!(honest.rx.batch(1).frame(0).expect("a frame").0.to_vec(), [value; 3]);
        honest.rx.batch(1).release(1);
        honest.rx_pipe.sync(&mut honest.rx);
    }
    assert_eq!(
        (honest.tx_pipe.violations(), honest.rx_pipe.violations()),
        violations,
        "no violation of an honest end is counted"
    );
    honest.check();
}

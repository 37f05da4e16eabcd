//! Headroom at the ends of wires that have a rate and a length, with senders that stop as late as they may: it suffices, and less does
//! not. Pauses go as frames, behind frames of the switch's own; what finds no place when it arrives counts as lost, as a wire
//! keeps nothing.

use super::pfc::{of, storage};
use super::*;
use crate::switch::headroom::Headroom;
use linerate_sum::SplitMix64;
use linerate_wire::MacControl;
use std::collections::VecDeque;

/// Times are in ps: of a byte at 10 Gb/s, of 100 m of cable, and of 60 quanta of 512 bits.
const BYTE: u64 = 800;
const CABLE: u64 = 500_000;
const RESPONSE: u64 = 60 * 51_200;
/// Shortest and largest frame without FCS, and what it has on the wire besides.
const SHORT: usize = 60;
const LARGE: usize = 1522;
const FRAMING: usize = 24;
/// Cells of a largest frame.
const LARGE_CELLS: u32 = 6;
const NEVER: u64 = u64::MAX;
const NAMES: [&str; 10] = ["a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9"];

/// Seeds that are tried: `LINERATE_SEEDS`, or 10.
fn seeds() -> u64 {
    std::env::var("LINERATE_SEEDS").map_or(10, |seeds| seeds.parse().unwrap())
}

fn on_wire(len: usize) -> u64 {
    (len + FRAMING) as u64 * BYTE
}

/// A sender at the far end of its wire.
struct Sender {
    stopped: bool,
    /// Time at which it has sent its last frame.
    free: u64,
    /// Ends of frames on their way to the switch, with their lengths.
    ways: VecDeque<(u64, usize)>,
    /// Times at which it stops, or goes on.
    orders: VecDeque<(u64, bool)>,
}

/// Ten senders, and a receiver.
struct Wires {
    b: Bench,
    senders: Vec<Sender>,
    /// Pauses that were asked for, frames that have come, and those that had when the first was.
    pauses: usize,
    arrived: usize,
    asked: Option<usize>,
}

impl Wires {
    /// A switch whose headroom has so many cells less than the arithmetic says.
    fn new(less: u32) -> Self {
        let mut b = Bench::plain(&[&NAMES[..], &["b"]].concat());
        b.switch.buffers(&Buffers { bytes: 1 << 20, reserved: 0, classes: storage(), ..Buffers::default() });
        b.send("b", &frame(ALL, mac(99)));
        let mut senders = Vec::new();
        for name in NAMES {
            let id = b.switch.find(name).unwrap();
            b.switch.members[usize::from(id)].as_mut().unwrap().masks = false;
            b.switch.store.as_mut().unwrap().ingress.shorten(id, 1, less);
            b.receive(name);
            senders.push(Sender { stopped: false, free: 0, ways: VecDeque::new(), orders: VecDeque::new() });
        }
        Self { b, senders, pauses: 0, arrived: 0, asked: None }
    }

    /// Runs until this time; true if nothing was lost. `size` has the length of a sender's next frame, with its beginning and the
    /// next order; `ahead` the time until what the switch sends to a sender has left; the receiver takes frames at its wire's rate
    /// if it `takes` any.
    fn run(
        &mut self,
        end: u64,
        takes: bool,
        mut size: impl FnMut(usize, u64, Option<u64>) -> usize,
        mut ahead: impl FnMut() -> u64,
    ) -> bool {
        let mut taken = if takes { 0 } else { NEVER };
        loop {
            // Of what happens at one time, orders are first: who is to stop begins no frame then.
            let order = |n: usize, s: &Sender| (s.orders.front().map_or(NEVER, |(at, _)| *at), 0, n);
            let arrival = |n: usize, s: &Sender| (s.ways.front().map_or(NEVER, |(at, _)| *at), 1, n);
            let begin = |n: usize, s: &Sender| (if s.stopped { NEVER } else { s.free }, 2, n);
            let each = self.senders.iter().enumerate();
            let next = each.flat_map(|(n, s)| [order(n, s), arrival(n, s), begin(n, s)]).min().unwrap();
            let (now, kind, n) = next.min((taken, 3, 0));
            if now >= end {
                return true;
            }
            self.b.now = SECOND + now / 1000;
            let sender = &mut self.senders[n];
            match kind {
                0 => {
                    sender.stopped = sender.orders.pop_front().unwrap().1;
                    sender.free = sender.free.max(now);
                }
                1 => {
                    let (_, len) = sender.ways.pop_front().unwrap();
                    let mut bytes = of(3, 99, u8::try_from(n).unwrap());
                    bytes.resize(len, 0x5a);
                    self.b.send(NAMES[n], &bytes);
                    self.arrived += 1;
                    if self.b.switch.has_waiting() {
                        return false;
                    }
                }
                2 => {
                    let len = size(n, now, sender.orders.front().map(|(at, _)| *at));
                    sender.free = now + on_wire(len);
                    sender.ways.push_back((sender.free + CABLE, len));
                }
                _ => {
                    let took: u64 = self.b.receive("b").iter().map(|frame| on_wire(frame.len())).sum();
                    self.b.poll();
                    taken = now + took.max(on_wire(SHORT));
                }
            }
            for n in if kind == 1 { n..n + 1 } else { 0..if kind == 3 { 10 } else { 0 } } {
                for control in self.b.receive(NAMES[n]) {
                    let Ok(MacControl::Pfc { quanta, .. }) = MacControl::parse(&control[14..]) else {
                        panic!("{control:?}")
                    };
                    let at = now + ahead() + on_wire(SHORT) + CABLE + RESPONSE;
                    self.pauses += usize::from(quanta[3] > 0);
                    self.asked.get_or_insert(self.arrived);
                    self.senders[n].orders.push_back((at, quanta[3] > 0));
                }
            }
        }
    }

    /// One sender that sends the worst that it may: shortest frames, so many that the share becomes full to a cell, then largest
    /// ones, the last of which is too many, then shortest ones, and a largest at the last moment. True if nothing is lost.
    fn worst(less: u32, first: usize) -> bool {
        let run = |until: usize| {
            let (mut wires, mut sent) = (Self::new(less), 0);
            wires.senders[1..].iter_mut().for_each(|other| other.stopped = true);
            let size = |_, now, stop: Option<u64>| {
                sent += 1;
                let last = stop.is_some_and(|stop| now + on_wire(SHORT) >= stop);
                if (first..until).contains(&(sent - 1)) || last { LARGE } else { SHORT }
            };
            // A largest frame has just begun to be sent to it.
            (wires.run(1_000_000_000, false, size, || on_wire(LARGE)), wires)
        };
        let asked = run(usize::MAX).1.asked.expect("the share ends");
        let (kept, wires) = run(asked);
        assert_eq!(wires.asked, Some(asked));
        kept
    }
}

/// The arithmetic is right to a cell: one of the two frames at the ends may overlap the time between them by less than a shortest one.
#[test]
fn headroom_suffices_in_the_worst_case_and_a_largest_frame_less_does_not() {
    assert_eq!(Headroom::new(&Span::default(), LARGE).terms[3].1 * BYTE, CABLE);
    let keeps = |less| (0..LARGE_CELLS as usize).all(|first| Wires::worst(less, first));
    assert!(keeps(0));
    assert!(!keeps(LARGE_CELLS), "a largest frame less");
    assert!(!keeps(2), "two cells less");
}

/// Whatever the seed: ten senders at the wire's rate, with shortest frames, which need the most cells, or ones of any length, begin at
/// any time, and are stopped again and again.
#[test]
fn ten_senders_at_the_rate_of_their_wires_lose_nothing() {
    for seed in 1..=seeds() {
        let (mut random, mut wires) = (SplitMix64::new(seed), Wires::new(0));
        wires.senders.iter_mut().for_each(|sender| sender.free = random.next_u64() % on_wire(LARGE));
        let mut lengths = SplitMix64::new(!seed);
        let size = |n, _, _: Option<u64>| match lengths.next_u64() % 4 {
            _ if n % 2 == 0 => SHORT,
            0 => LARGE,
            1 => SHORT + usize::try_from(lengths.next_u64() % (LARGE - SHORT) as u64).unwrap(),
            _ => SHORT,
        };
        assert!(wires.run(1_000_000_000, true, size, || random.next_u64() % (on_wire(LARGE) + 1)), "{seed}");
        assert!(wires.pauses > 20, "{seed}: {}", wires.pauses);
        wires.b.ledger();
    }
}

//! The ledger is exact: frames that are removed without being counted are unexplained, to the frame.

use super::*;
use crate::frame::{Layout, Payload, Template};
use crate::pktgen::job::{Done, Job, Lane, Setup, Tally};
use crate::pktgen::source::Cut;
use linerate_port::{RxCounters, RxEngine, RxQueue, Sleeper, TxCounters, TxEngine, TxQueue};
use linerate_result::Ledger;
use linerate_ring::{OwnRx, OwnTx, Region, RegionConfig, RxRing, Sharing, TxRing};
use linerate_rt::{WaitMode, Waiter};
use std::collections::VecDeque;

/// Selection of frames by their number.
type Chooses = fn(u64) -> bool;

/// A wire that removes frames, or changes their bytes, without counting.
struct Thief {
    queue: Arc<Mutex<VecDeque<Vec<u8>>>>,
    sent: u64,
    steals: Chooses,
    spoils: Chooses,
}

impl Sleeper for Thief {}

impl TxEngine for Thief {
    fn sync(&mut self, ring: &mut OwnTx<'_>, count: &mut TxCounters) {
        let n = ring.pending();
        for i in 0..n {
            let mut frame = ring.pending_frame(i).to_vec();
            count.frames += 1;
            count.bytes += frame.len() as u64;
            if (self.spoils)(self.sent) {
                let at = frame.len() / 2;
                frame[at] ^= 1;
            }
            if !(self.steals)(self.sent) {
                self.queue.lock().unwrap().push_back(frame);
            }
            self.sent += 1;
        }
        ring.take(n);
        ring.complete(n);
    }
}

struct Far(Arc<Mutex<VecDeque<Vec<u8>>>>);

impl Sleeper for Far {}

impl RxEngine for Far {
    fn sync(&mut self, ring: &mut OwnRx<'_>, _: &mut RxCounters) {
        let mut queue = self.0.lock().unwrap();
        while let Some(frame) = queue.pop_front() {
            if !ring.deliver_copy(&frame, None) {
                queue.push_front(frame);
                break;
            }
        }
    }
}

fn region() -> Arc<Region> {
    let config = RegionConfig {
        buf_size: 2048,
        buffers: 2048,
        ring_bytes: 4 * Region::ring_room(1024),
        sharing: Sharing::Private,
        huge: false,
    };
    Region::new(&config).unwrap()
}

fn setup(flags: &str, count: u64, streams: Option<u16>) -> Setup {
    Setup {
        config: Arc::new(super::config(&format!("-i null {flags}")).unwrap()),
        run: 9,
        template: Template {
            layout: Layout { vnet: 0, v6: false },
            src_mac: [0; 6],
            dst_mac: [0xff; 6],
            stream: 0,
            payload: Payload::Marked,
        },
        packet: None,
        replay: Mutex::default(),
        cut: Cut { slots: 1, most: 1792 },
        count,
        rate: 0,
        streams,
        plan: None,
        joint: None,
        wanted: None,
        tally: Arc::new(Tally::new()),
        output: {
            let stop = Stop::new().unwrap();
            Arc::new(Output::new(Box::new(Lines::default()), Box::new(Lines::default()), false, &stop))
        },
    }
}

/// Runs the work of a mode over one lane.
fn work(mode: &str, setup: &Setup, lane: Lane, stop: &Stop) -> Done {
    let mode = MODES.iter().find(|known| known.name == mode).unwrap();
    let mut job: Box<dyn Job> = (mode.job)(setup, vec![lane]);
    linerate_rt::run(&mut *job, &mut Waiter::new(WaitMode::Sleep), stop);
    job.finish()
}

/// Sends `n` frames past a thief; returns the joined ledger, and the number of corrupt frames found.
fn pass(n: u64, steals: Chooses, spoils: Chooses) -> (Ledger, u64) {
    let region = region();
    let wire = Arc::new(Mutex::new(VecDeque::new()));
    let thief = Thief { queue: wire.clone(), sent: 0, steals, spoils };
    let tx = TxQueue::new(TxRing::new(&region, 0, 1024).unwrap(), Box::new(thief));
    let rx = RxQueue::new(RxRing::new(&region, 0, 1024).unwrap(), Box::new(Far(wire)));
    let stop = Stop::new().unwrap();
    let sent = work("tx", &setup("-f tx", n, None), Lane { index: 0, tx: Some(tx), rx: None }, &stop);
    stop.ask(0);
    let got = work("rx", &setup("-f rx", 0, Some(1)), Lane { index: 0, tx: None, rx: Some(rx) }, &stop);
    let mut ledger = sent.ledger;
    ledger.add(&got.ledger);
    (ledger, got.received.unwrap().corrupt)
}

#[test]
fn nothing_taken_leaves_nothing_over() {
    let (ledger, corrupt) = pass(1000, |_| false, |_| false);
    assert!(ledger.settle().is_zero(), "{ledger:?}");
    assert_eq!((ledger.sent, ledger.received, corrupt), (Some(1000), Some(1000), 0));
}

#[test]
fn what_waits_behind_the_rings_when_the_sender_has_ended_is_received() {
    let (ledger, _) = pass(5000, |_| false, |_| false);
    assert!(ledger.settle().is_zero(), "{ledger:?}");
    assert_eq!((ledger.sent, ledger.received), (Some(5000), Some(5000)));
}

#[test]
fn k_frames_taken_behind_the_counters_are_exactly_k_unexplained() {
    let cases: [(Chooses, i64); 5] = [
        (|k| k == 0, 1),
        (|k| k == 999, 1),
        (|k| k % 7 == 3, 143),
        (|k| (100..350).contains(&k), 250),
        (|_| true, 1000),
    ];
    for (steals, taken) in cases {
        let (ledger, corrupt) = pass(1000, steals, |_| false);
        let left = ledger.settle();
        assert_eq!((left.sending, left.receiving, corrupt), (Some(0), Some(taken), 0), "{ledger:?}");
    }
}

#[test]
fn spoiled_frames_are_received_and_corrupt() {
    let (ledger, corrupt) = pass(1000, |_| false, |k| k % 100 == 50);
    assert_eq!((ledger.received, corrupt), (Some(1000), 10));
    assert!(ledger.settle().is_zero(), "they did arrive");
}

#[test]
fn a_frame_of_several_slots_is_taken_whole_though_its_burst_ends_in_it() {
    let wire = Arc::new(Mutex::new(VecDeque::from([vec![1; 5000], vec![2; 60], vec![3; 5000]])));
    let rx = RxQueue::new(RxRing::new(&region(), 0, 1024).unwrap(), Box::new(Far(wire)));
    let stop = Stop::new().unwrap();
    stop.ask(0);
    let setup = setup("-f rx -b 1", 3, None);
    let got = work("rx", &setup, Lane { index: 0, tx: None, rx: Some(rx) }, &stop);
    assert_eq!((got.frames, got.bytes, got.ledger.foreign), (3, 10_060, 3));
}

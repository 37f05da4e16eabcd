//! `-f rx`: receives, and checks every byte of linerate's frames.

use super::config::options;
use super::dump::dump;
use super::job::{Done, Job, Lane, Latencies, Setup, Tally, Wanted};
use super::modes::{Mode, Role};
use super::output::Output;
use super::pace::up_to;
use super::tx;
use crate::check::{Check, Received};
use crate::frame::{Stamp, Template};
use linerate_port::RxQueue;
use linerate_ring::{Frame, Gathered, RxBatch, flags};
use linerate_rt::{Clock, Machine, Progress, Sleeper};
use std::sync::Arc;

pub(super) const MODE: Mode = Mode {
    name: "rx",
    about: "receive and check",
    role: Role::Receiver,
    burst: 512,
    single: false,
    far: None,
    job: |setup, lanes| Box::new(Rx::new(setup, lanes, check(setup))),
};

/// Time limit for the rest after a requested end, nanoseconds; some ports always have more.
const REST_NS: u64 = 200_000_000;
/// The same behind a sender of this process, which has ended: what is left was all sent, and a busy machine may give this
/// thread a few milliseconds of each second.
const SENT_REST_NS: u64 = 10_000_000_000;
/// Time without frames after which `-W` ends the run, nanoseconds.
const SILENCE_NS: u64 = 1_000_000_000;

/// Time between two looks at what other threads have received, nanoseconds.
const LOOK_NS: u64 = 20_000_000;

/// Check of the frames.
pub(super) trait Verify: Send {
    /// Checks a frame in a ring's buffer.
    fn frame(&mut self, frame: &Frame<'_>);
    /// Checks a frame that was reassembled.
    fn bytes(&mut self, frame: &[u8]);
    /// Frames and bytes so far, at low cost.
    fn counted(&self) -> Received;
    /// Number of copies sent that have arrived.
    fn come(&self) -> u64;
    /// All counts.
    fn received(&self) -> Received;
    /// Time-stamp of the last frame.
    fn stamp(&self) -> Option<Stamp>;
    /// Hands over the last counts; no more frames follow.
    fn settle(&mut self);
}

impl Verify for Check {
    #[inline]
    fn frame(&mut self, frame: &Frame<'_>) {
        Self::frame(self, frame);
    }
    fn bytes(&mut self, frame: &[u8]) {
        Self::bytes(self, frame);
    }
    #[inline]
    fn counted(&self) -> Received {
        Self::counted(self)
    }
    fn come(&self) -> u64 {
        Self::come(self)
    }
    fn received(&self) -> Received {
        Self::received(self)
    }
    #[inline]
    fn stamp(&self) -> Option<Stamp> {
        Self::stamp(self)
    }
    fn settle(&mut self) {
        Self::settle(self);
    }
}

pub(super) struct Rx<V> {
    lanes: Vec<RxLane>,
    /// One check for all queues: a NIC may spread a stream over them.
    check: V,
    burst: u32,
    /// Number of frames still wanted.
    left: u64,
    /// Frames still wanted by all threads, if there are several.
    wanted: Option<Arc<Wanted>>,
    /// Time of the last look.
    now: u64,
    events: u64,
    first: Option<u64>,
    /// Frames and bytes that were present at that time.
    before: (u64, u64),
    last: u64,
    exit_idle: bool,
    /// The sender is in this process, and ends first.
    ours: bool,
    /// Time limit after a requested end: frames in the rings are still taken until then.
    until: Option<u64>,
    latency: Option<Latencies>,
    /// Clock for the exact time of arrival; read only if latency is measured.
    clock: Clock,
    tally: Arc<Tally>,
    dump: Option<Arc<Output>>,
}

struct RxLane {
    index: u16,
    queue: RxQueue,
    /// Buffer in which frames of several slots are reassembled.
    whole: Vec<u8>,
}

impl<V: Verify> Rx<V> {
    pub(super) fn new(setup: &Setup, lanes: Vec<Lane>, check: V) -> Self {
        let lane = |lane: Lane| Some(RxLane { index: lane.index, queue: lane.rx?, whole: Vec::new() });
        Self {
            lanes: lanes.into_iter().filter_map(lane).collect(),
            check,
            burst: setup.config.burst(),
            left: if setup.count == 0 { u64::MAX } else { setup.count },
            wanted: setup.wanted.clone(),
            now: 0,
            events: 0,
            first: None,
            before: (0, 0),
            last: 0,
            exit_idle: setup.config.exit_idle,
            ours: setup.streams.is_some(),
            until: None,
            latency: setup.config.latency.then(Latencies::new),
            clock: Clock::new(),
            tally: setup.tally.clone(),
            dump: setup.config.has(options::DUMP).then(|| setup.output.clone()),
        }
    }

    fn tell(&self) {
        let counted = self.check.counted();
        self.tally.set(counted.frames, counted.bytes, self.events);
        self.tally.came(self.check.come());
    }
}

/// Makes a check that knows as much of the streams as this process does.
fn check(setup: &Setup) -> Check {
    let config = &setup.config;
    let run = setup.streams.map(|_| setup.run).or(config.run);
    let mut check = Check::new(config.vnet, run);
    if let Some(joint) = &setup.joint {
        check.join(joint.clone());
    }
    if let Some(plan) = setup.plan {
        check.plan(plan);
    }
    for stream in 0..setup.streams.unwrap_or(0) {
        let template = Template { stream, ..setup.template.clone() };
        let flow = tx::flows(setup, 1).single();
        check.expect(&template, setup.run, flow, config.sizes.longest() + config.vnet);
    }
    check
}

impl RxLane {
    /// Dumps the frames that will be taken next.
    #[cold]
    fn show(&mut self, most: u32, output: &Output) {
        let ring = format!("rx{}", self.index);
        let mut batch = self.queue.ring.batch(u32::MAX);
        let mut more = false;
        for i in 0..batch.len() {
            if i >= most && !more {
                break;
            }
            more = false;
            if let Some((frame, slot)) = batch.frame(i) {
                more = slot & flags::MOREFRAG != 0;
                dump(output, &ring, i, slot, &frame);
            }
        }
    }

    /// Takes the frames that begin in the next `most` slots; returns the number of slots.
    #[inline]
    fn take(&mut self, most: u32, check: &mut impl Verify, arrived: u64, latency: &mut Option<Latencies>) -> u32 {
        // The last frame may extend beyond those slots.
        let mut batch = self.queue.ring.batch(u32::MAX);
        let most = most.min(batch.len());
        let mut at = 0;
        while at < most {
            let Some((frame, slot)) = batch.frame(at) else {
                at += 1;
                continue;
            };
            if slot & flags::MOREFRAG == 0 {
                check.frame(&frame);
                at += 1;
            } else {
                let Some(slots) = join(&mut batch, at, &mut self.whole) else { break };
                check.bytes(&self.whole);
                at += slots;
            }
            if let Some(latency) = latency
                && let Some(stamp) = check.stamp()
            {
                latency.record(stamp, arrived);
            }
        }
        batch.release(at);
        at
    }
}

/// Reassembles a frame of several slots; returns their number, or `None` if its end has not arrived. A chain that
/// cannot be a frame gives a frame of no bytes: it is counted, and fails the check.
#[cold]
fn join(batch: &mut RxBatch<'_>, first: u32, whole: &mut Vec<u8>) -> Option<u32> {
    whole.clear();
    match batch.gather(first, usize::MAX, whole) {
        Gathered::Whole { slots } | Gathered::Spoiled { slots } | Gathered::TooLong { slots } => Some(slots),
        Gathered::Later => None,
    }
}

impl<V: Verify> Machine for Rx<V> {
    fn handle(&mut self, now: u64) -> Progress {
        let mut slots = 0;
        self.now = now;
        for lane in &mut self.lanes {
            lane.queue.sync();
            let ring = &lane.queue.ring;
            self.tally.space(ring.slots() - ring.available());
            let most = up_to(self.burst, self.left);
            // What has not come is left to the others.
            let claim = |wanted: &Arc<Wanted>| wanted.claim(most.min(ring.available()));
            let most = self.wanted.as_ref().map_or(most, claim);
            let before = self.check.counted().frames;
            if let Some(output) = &self.dump {
                lane.show(most, output);
            }
            let arrived = if self.latency.is_some() { self.clock.now() } else { now };
            let n = lane.take(most, &mut self.check, arrived, &mut self.latency);
            slots += n;
            let frames = self.check.counted().frames - before;
            self.left = self.left.saturating_sub(frames);
            if let Some(wanted) = &self.wanted {
                wanted.received(most, frames);
            }
            self.events += u64::from(n > 0);
        }
        if slots > 0 {
            if self.first.is_none() {
                let counted = self.check.counted();
                (self.first, self.before) = (Some(now), (counted.frames, counted.bytes));
            }
            self.last = now;
            self.tell();
        }
        // At the end of all files no more frames follow.
        let over = slots == 0 && self.lanes.iter().all(|lane| lane.queue.ended());
        let silent = self.exit_idle && self.first.is_some() && now >= self.last + SILENCE_NS;
        let enough = self.left == 0 || self.wanted.as_ref().is_some_and(|wanted| wanted.is_over());
        if enough || silent || over || self.until.is_some_and(|until| slots == 0 || now >= until) {
            // Slots released last are returned now, so that the sender sees them.
            for lane in &mut self.lanes {
                lane.queue.sync();
            }
            Progress::Done
        } else if slots > 0 {
            Progress::Worked
        } else {
            Progress::Idle
        }
    }

    fn poll_timeout(&self) -> Option<u64> {
        let silence = (self.exit_idle && self.first.is_some()).then_some(self.last + SILENCE_NS);
        // The last frame may come to another thread.
        let others = self.wanted.as_ref().map(|_| self.now + LOOK_NS);
        [silence, others].into_iter().flatten().min()
    }

    fn waits_for(&mut self, visit: &mut dyn FnMut(&mut dyn Sleeper)) {
        for lane in &mut self.lanes {
            visit(&mut lane.queue);
        }
    }

    /// Takes the frames that have arrived by now. Those of foreign senders are no more than the rings hold, since a port may
    /// always have more; those of our own, which has ended, may wait behind the rings, as in a socket.
    fn stop(&mut self, now: u64) {
        self.until = Some(now + if self.ours { SENT_REST_NS } else { REST_NS });
        if self.ours {
            return;
        }
        let arrived: u64 = self.lanes.iter().map(|lane| u64::from(lane.queue.ring.slots())).sum();
        self.left = self.left.min(arrived);
    }
}

impl<V: Verify> Job for Rx<V> {
    fn finish(mut self: Box<Self>) -> Done {
        self.check.settle();
        let mut done = Done {
            events: self.events,
            times: self.first.map(|first| (first, self.last)),
            before: self.before,
            latency: self.latency,
            ..Done::default()
        };
        account(&mut done, &self.check);
        for lane in self.lanes {
            settle(&mut done, lane.index, lane.queue);
        }
        done
    }
}

/// Adds the counts of a check to the receiver's side of the ledger.
pub(super) fn account(done: &mut Done, check: &impl Verify) {
    let received = check.received();
    done.frames += received.frames;
    done.bytes += received.bytes;
    let ledger = &mut done.ledger;
    *ledger.received.get_or_insert(0) += received.ours;
    ledger.duplicated += received.duplicates;
    ledger.foreign += received.foreign;
    *done.received.get_or_insert_default() += received;
}

/// Adds a receive queue's counters, and the frames left in it, to the receiver's side of the ledger.
pub(super) fn settle(done: &mut Done, index: u16, mut queue: RxQueue) {
    queue.refresh();
    let count = queue.counters();
    let ledger = &mut done.ledger;
    for (reason, n) in count.dropped.iter() {
        let dropped = ledger.dropped.entry(reason.into()).or_default();
        *dropped = dropped.saturating_add(n);
    }
    let mut rest = queue.ring.batch(u32::MAX);
    for i in 0..rest.len() {
        ledger.in_flight += u64::from(rest.frame(i).is_some_and(|(_, slot)| slot & flags::MOREFRAG == 0));
    }
    done.count_queue("rx", index, "batches", count.batches);
    done.count_queue("rx", index, "syscalls", count.syscalls);
}

//! `-f tx`: sends.

use super::captured::Replay;
use super::config::options;
use super::dump::dump;
use super::job::{Done, Job, Lane, Setup, Tally};
use super::modes::{Mode, Role};
use super::output::Output;
use super::pace::Pace;
use super::pace::up_to;
use super::source::{Content, Source};
use crate::frame::{Flows, Template};
use linerate_port::capture::Counts;
use linerate_port::{DropReason, TxQueue};
use linerate_rt::{Machine, Progress, Sleeper};
use std::sync::{Arc, PoisonError};

pub(super) const MODE: Mode = Mode {
    name: "tx",
    about: "send",
    role: Role::Sender,
    burst: 512,
    single: false,
    far: Some(&super::rx::MODE),
    job: |setup, lanes| Box::new(Tx::new(setup, lanes)),
};

/// Time limit for the port to hand back the last frames, nanoseconds.
const LINGER_NS: u64 = 100_000_000;
/// Time limit for a port to accept the frames in the rings after a requested stop, nanoseconds.
const FLUSH_NS: u64 = 200_000_000;

pub(super) struct Tx {
    lanes: Vec<TxLane>,
    pace: Pace,
    burst: u32,
    /// Number of frames still to be put into rings.
    left: u64,
    events: u64,
    times: Option<(u64, u64)>,
    /// Time at which the wait for rings to empty ends.
    patience: Option<u64>,
    lingers: Option<u64>,
    tally: Arc<Tally>,
    dump: Option<Arc<Output>>,
}

struct TxLane {
    index: u16,
    queue: TxQueue,
    source: Source,
    slots: usize,
    offered: u64,
}

impl TxLane {
    /// Dumps the slots committed last.
    #[cold]
    fn show(&mut self, slots: u32, output: &Output) {
        let (name, ring) = (format!("tx{}", self.index), &mut self.queue.ring);
        let pending = ring.pending();
        for i in pending - slots..pending {
            let word = ring.pending_word(i);
            let all = ring.pending_frame(i);
            dump(output, &name, i, word.flags(), &all);
        }
    }
}

pub(super) fn source(setup: &Setup, index: u16) -> Source {
    let config = &setup.config;
    let seed = u64::from(setup.run) << 32 | u64::from(index) << 1;
    let replay = setup.replay.lock().unwrap_or_else(PoisonError::into_inner).take();
    let content = match (replay, &setup.packet) {
        (Some(replay), _) => Content::Replayed(replay),
        (None, Some(bytes)) => Content::Copied(bytes.to_vec()),
        _ if config.has(options::RUBBISH) => Content::Rubbish,
        _ => Content::Made {
            template: Template { stream: index, ..setup.template.clone() },
            flows: flows(setup, seed),
            run: setup.run,
        },
    };
    let mut source = Source::new(content, config.sizes.clone(), config.vnet, setup.cut, seed);
    source.prefetch(config.has(options::PREFETCH));
    source.copy_by_libc(config.has(options::MEMCPY));
    source
}

pub(super) fn flows(setup: &Setup, seed: u64) -> Flows {
    let config = &setup.config;
    let (src, dst) = (config.has(options::RANDOM_SRC), config.has(options::RANDOM_DST));
    Flows::new(config.src, config.dst, src, dst, seed)
}

impl Tx {
    pub(super) fn new(setup: &Setup, lanes: Vec<Lane>) -> Self {
        let lane = |lane: Lane| {
            let queue = lane.tx?;
            let source = source(setup, lane.index);
            let slots = source.slots_of_longest();
            Some(TxLane { index: lane.index, queue, source, slots, offered: 0 })
        };
        // A capture is replayed once, whatever the number of queues.
        let queues = if setup.config.replay.is_some() { 1 } else { usize::MAX };
        Self {
            lanes: lanes.into_iter().take(queues).filter_map(lane).collect(),
            pace: Pace::new(setup.rate, setup.config.burst()),
            burst: setup.config.burst(),
            left: if setup.count == 0 { u64::MAX } else { setup.count },
            events: 0,
            times: None,
            patience: None,
            lingers: None,
            tally: setup.tally.clone(),
            dump: setup.config.has(options::DUMP).then(|| setup.output.clone()),
        }
    }

    /// Waits, after all frames were offered, until the port has taken them.
    fn finish(&mut self, now: u64) -> Progress {
        let pending: u32 = self.lanes.iter().map(|lane| lane.queue.ring.pending()).sum();
        if pending > 0 && self.patience.is_none_or(|until| now < until) {
            return Progress::Idle;
        }
        let lingers = *self.lingers.get_or_insert_with(|| {
            self.times = self.times.map(|(start, _)| (start, now));
            now + LINGER_NS
        });
        let out: u32 = self.lanes.iter().map(|lane| lane.queue.ring.outstanding()).sum();
        if out == 0 || now >= lingers || pending > 0 { Progress::Done } else { Progress::Idle }
    }

    fn tell(&self) {
        let (mut frames, mut bytes) = (0, 0);
        for lane in &self.lanes {
            let count = lane.queue.counters();
            frames += count.frames;
            bytes += count.bytes;
        }
        self.tally.set(frames, bytes, self.events);
    }
}

impl Machine for Tx {
    fn handle(&mut self, now: u64) -> Progress {
        let start = self.times.get_or_insert((now, now)).0;
        let mut worked = false;
        for lane in &mut self.lanes {
            let most = up_to(self.pace.allowance(now).min(self.burst), self.left);
            self.tally.space(lane.queue.ring.free());
            let filled = lane.source.fill(&mut lane.queue.ring, most, now);
            if let Some(output) = &self.dump {
                lane.show(filled.slots, output);
            }
            if filled.frames > 0 {
                worked = true;
                self.pace.pass(filled.frames);
                self.left -= u64::from(filled.frames);
                lane.offered += u64::from(filled.frames);
                self.events += 1;
            }
            lane.queue.sync();
            if lane.source.ended() {
                self.left = 0;
            }
            // Slots that were just returned are filled before the thread sleeps.
            let held_back = lane.source.due().is_some_and(|at| at > now);
            worked |= most > filled.frames && !held_back && lane.queue.ring.free() as usize >= lane.slots;
        }
        self.tell();
        if self.left == 0 {
            return self.finish(now);
        }
        self.times = Some((start, now));
        if worked { Progress::Worked } else { Progress::Idle }
    }

    fn poll_timeout(&self) -> Option<u64> {
        match (self.left, self.lingers, self.patience) {
            (0, Some(at), _) | (0, None, Some(at)) => Some(at),
            (0, None, None) => None,
            // A rate, or a captured frame's time; a full ring has its own wake-up.
            _ => self.pace.next().max(self.lanes.iter().filter_map(|lane| lane.source.due()).min()),
        }
    }

    fn waits_for(&mut self, visit: &mut dyn FnMut(&mut dyn Sleeper)) {
        for lane in &mut self.lanes {
            let ring = &lane.queue.ring;
            let full = self.left > 0 && (ring.free() as usize) < lane.slots;
            let last = self.left == 0 && ring.outstanding() > 0;
            if full || last || ring.pending() > 0 {
                visit(&mut lane.queue);
            }
        }
    }

    fn stop(&mut self, now: u64) {
        self.left = 0;
        self.patience = Some(now + FLUSH_NS);
    }
}

impl Job for Tx {
    fn finish(self: Box<Self>) -> Done {
        let mut done = Done { events: self.events, times: self.times, ..Done::default() };
        for lane in &self.lanes {
            let too_long = lane.source.too_long();
            settle(&mut done, lane.index, &lane.queue, lane.offered + too_long);
            if too_long > 0 {
                refuse(&mut done, DropReason::TooLong.name(), too_long);
                done.left_out
                    .push(format!("{too_long} captured frames are longer than the port carries, and were left out"));
            }
            if let Some(replay) = lane.source.replay() {
                replayed(&mut done, replay);
            }
        }
        done
    }
}

fn refuse(done: &mut Done, reason: &str, frames: u64) {
    *done.ledger.refused.entry(reason.into()).or_default() += frames;
}

/// Adds the counts of a capture, as the port `pcap:` reports them.
fn replayed(done: &mut Done, replay: &Replay) {
    let Counts { truncated, bad, other, .. } = replay.counts();
    if bad > 0 {
        *done.ledger.offered.get_or_insert(0) += bad;
        refuse(done, DropReason::BadRecord.name(), bad);
        done.left_out.push(format!(
            "{bad} records of the capture are damaged, cut off or no Ethernet frames, and were left out"
        ));
    }
    if truncated > 0 {
        done.notes.push(format!("{truncated} frames were captured shorter than they were, and are sent as captured"));
    }
    if other > 0 {
        done.notes
            .push(format!("{other} frames of the capture are of other interfaces or link types, and were skipped"));
    }
    done.count("capture_other_interfaces", other);
    done.count("capture_truncated", truncated);
    done.failures.extend(replay.broken.clone());
}

/// Adds a transmit queue's counters and its side of the ledger.
pub(super) fn settle(done: &mut Done, index: u16, queue: &TxQueue, offered: u64) {
    let count = queue.counters();
    done.frames += count.frames;
    done.bytes += count.bytes;
    let ledger = &mut done.ledger;
    *ledger.offered.get_or_insert(0) += offered;
    *ledger.sent.get_or_insert(0) += count.frames;
    for (reason, n) in count.dropped.iter() {
        // Lost in transit, so sent before; or not accepted at all.
        let transit = reason == DropReason::PeerDied.name();
        let terms = if transit { &mut ledger.dropped } else { &mut ledger.refused };
        *terms.entry(reason.into()).or_default() += n;
    }
    let left = pending_frames(queue);
    if left > 0 {
        *ledger.refused.entry("left_in_ring".into()).or_default() += left;
    }
    done.count_queue("tx", index, "batches", count.batches);
    done.count_queue("tx", index, "syscalls", count.syscalls);
}

/// Number of whole frames that the port has not accepted.
fn pending_frames(queue: &TxQueue) -> u64 {
    let ring = &queue.ring;
    let last = (0..ring.pending()).filter(|i| !ring.pending_word(*i).has(linerate_ring::flags::MOREFRAG));
    last.count() as u64
}

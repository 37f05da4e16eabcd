//! `-f ping`: sends, waits for the echo, and reports the round trip time.
//!
//! Without a rate the next burst is sent when all echoes of the one before have arrived, or timed out. The time of
//! sending is kept here, by sequence, so that frames of 60 bytes suffice.

use super::job::{Done, Job, Lane, Latencies, Setup, Tally};
use super::modes::{Mode, Role};
use super::output::Output;
use super::pace::Pace;
use super::pace::up_to;
use super::source::Source;
use super::{rx, tx};
use crate::check::Check;
use crate::frame::{Layout, Mark, Stamp};
use linerate_port::{RxQueue, TxQueue};
use linerate_rt::{Clock, Machine, Progress, Sleeper};
use linerate_text::saturating_ns;
use std::sync::Arc;

pub(super) const MODE: Mode = Mode {
    name: "ping",
    about: "send, and time the echo",
    role: Role::Other,
    burst: 1,
    single: true,
    far: Some(&super::pong::MODE),
    job: |setup, lanes| Box::new(Ping::new(setup, lanes)),
};

/// Time limit for an echo, nanoseconds.
const PATIENCE_NS: u64 = 1_000_000_000;
/// Number of frames whose time of sending is kept: greatest number in flight.
const KEPT: usize = 1 << 16;

struct Ping {
    tx: Option<TxQueue>,
    rx: Option<RxQueue>,
    source: Source,
    check: Check,
    layout: Layout,
    pace: Pace,
    paced: bool,
    burst: u32,
    left: u64,
    sent: u64,
    echoed: u64,
    events: u64,
    /// Time of sending of each frame, by its sequence; 0 once its echo arrived.
    left_at: Vec<u64>,
    /// Time at which the last frame was sent.
    last: u64,
    times: Option<(u64, u64)>,
    all: Latencies,
    window: Window,
    clock: Clock,
    stopped: bool,
    tally: Arc<Tally>,
    output: Arc<Output>,
}

/// Round trips since the last line.
struct Window {
    since: u64,
    every: u64,
    count: u64,
    least: u64,
    sum: u64,
    /// Counts by the highest bit of the ns.
    buckets: [u64; 64],
}

impl Ping {
    fn new(setup: &Setup, lanes: Vec<Lane>) -> Self {
        let config = &setup.config;
        let (tx, rx) = lanes.into_iter().next().map_or((None, None), |lane| (lane.tx, lane.rx));
        Self {
            source: tx::source(setup, 0),
            check: Check::new(config.vnet, Some(setup.run)),
            layout: setup.template.layout,
            pace: Pace::new(setup.rate, config.burst()),
            paced: setup.rate > 0,
            burst: config.burst(),
            left: if setup.count == 0 { u64::MAX } else { setup.count },
            sent: 0,
            echoed: 0,
            events: 0,
            left_at: vec![0; KEPT],
            last: 0,
            times: None,
            all: Latencies::new(),
            window: Window::new(saturating_ns(config.report)),
            clock: Clock::new(),
            stopped: false,
            tally: setup.tally.clone(),
            output: setup.output.clone(),
            tx,
            rx,
        }
    }

    fn place(sequence: u64) -> usize {
        usize::try_from(sequence).unwrap_or(0) % KEPT
    }

    /// Receives echoes; returns their number.
    fn receive(&mut self) -> u32 {
        let Some(rx) = &mut self.rx else { return 0 };
        rx.sync();
        let now = self.clock.now();
        let mut batch = rx.ring.batch(512);
        let n = batch.len();
        for i in 0..n {
            let Some((frame, _)) = batch.frame(i) else { continue };
            let corrupt = self.check.received().corrupt;
            self.check.frame(&frame);
            let bytes = frame.to_vec();
            let Some(mark) = Mark::of(&bytes, self.layout) else { continue };
            let left = &mut self.left_at[Self::place(mark.sequence)];
            // Neither a repeated echo nor a damaged one.
            if mark.sequence >= self.sent || *left == 0 || self.check.received().corrupt > corrupt {
                continue;
            }
            self.all.record(Stamp { ns: *left, tagged: true }, now);
            self.window.add(now.saturating_sub(*left));
            *left = 0;
            self.echoed += 1;
        }
        batch.release(n);
        n
    }

    /// Sends the frames that may be sent now; returns their number.
    fn send(&mut self, now: u64) -> u32 {
        let answered = self.echoed == self.sent || now >= self.last + PATIENCE_NS;
        if !self.paced && !answered {
            return 0;
        }
        let most = up_to(self.pace.allowance(now).min(self.burst), self.left);
        let Some(tx) = &mut self.tx else { return 0 };
        let filled = self.source.fill(&mut tx.ring, most, now);
        if filled.frames > 0 {
            self.last = self.clock.now();
            for k in 0..u64::from(filled.frames) {
                self.left_at[Self::place(self.sent + k)] = self.last;
            }
            self.sent += u64::from(filled.frames);
            self.left -= u64::from(filled.frames);
            self.pace.pass(filled.frames);
            self.events += 1;
        }
        tx.sync();
        filled.frames
    }
}

impl Machine for Ping {
    fn handle(&mut self, now: u64) -> Progress {
        let (start, _) = *self.times.get_or_insert((now, now));
        let echoes = self.receive();
        let more = self.left > 0 && !self.stopped;
        let sent = if more { self.send(now) } else { 0 };
        self.times = Some((start, now));
        let bytes = self.tx.as_ref().map_or(0, |tx| tx.counters().bytes);
        self.tally.set(self.sent, bytes, self.events);
        for line in self.window.lines(now, false) {
            self.output.remark("ping_body", 1060, &line);
        }
        let waited = self.echoed == self.sent || now >= self.last + PATIENCE_NS;
        if self.stopped || (self.left == 0 && waited) {
            return Progress::Done;
        }
        if echoes + sent > 0 { Progress::Worked } else { Progress::Idle }
    }

    fn poll_timeout(&self) -> Option<u64> {
        let patience = self.last + PATIENCE_NS;
        let next = if self.left > 0 && self.paced { self.pace.next().unwrap_or(patience) } else { patience };
        Some(next.min(self.window.since + self.window.every))
    }

    fn waits_for(&mut self, visit: &mut dyn FnMut(&mut dyn Sleeper)) {
        if let Some(rx) = &mut self.rx {
            visit(rx);
        }
        if let Some(tx) = self.tx.as_mut().filter(|tx| tx.ring.pending() > 0) {
            visit(tx);
        }
    }

    fn stop(&mut self, _: u64) {
        self.stopped = true;
    }
}

impl Job for Ping {
    fn finish(mut self: Box<Self>) -> Done {
        for line in self.window.lines(u64::MAX, true) {
            self.output.remark("ping_body", 1060, &line);
        }
        let all = &self.all.own;
        if !all.is_empty() {
            let line = format!("RTT over {} packets: min {} av {:.0} ns", all.len(), all.min(), all.mean());
            self.output.remark("ping_body", 1090, &line);
        }
        let mut done = Done { events: self.events, times: self.times, ..Done::default() };
        if let Some(tx) = &self.tx {
            tx::settle(&mut done, 0, tx, self.sent);
        }
        let mut echoes = Done::default();
        rx::account(&mut echoes, &self.check);
        if let Some(rx) = self.rx.take() {
            rx::settle(&mut echoes, 0, rx);
        }
        // Echoes are other frames than those sent: they have no place in the ledger.
        done.received = echoes.received;
        done.queues.append(&mut echoes.queues);
        done.count("ping.echoes", self.echoed);
        done.count("ping.no_echo", self.sent - self.echoed);
        done.latency = Some(self.all);
        done
    }
}

impl Window {
    fn new(every: u64) -> Self {
        Self { since: 0, every, count: 0, least: u64::MAX, sum: 0, buckets: [0; 64] }
    }

    fn add(&mut self, ns: u64) {
        self.count += 1;
        self.least = self.least.min(ns);
        self.sum += ns;
        self.buckets[ns.max(1).ilog2() as usize] += 1;
    }

    /// netmap's two lines, when they are due, or at the `end`.
    fn lines(&mut self, now: u64, end: bool) -> Vec<String> {
        if self.since == 0 {
            self.since = now;
        }
        if !end && now < self.since + self.every {
            return Vec::new();
        }
        let mut lines = Vec::new();
        if self.count > 0 {
            lines.push(format!("count {} RTT: min {} av {} ns", self.count, self.least, self.sum / self.count));
            let low = self.buckets.iter().position(|n| *n > 0).unwrap_or(0);
            let high = self.buckets.iter().rposition(|n| *n > 0).unwrap_or(0);
            let list: String = self.buckets[low..=high].iter().map(|n| format!(" {n:5}")).collect();
            lines.push(format!("k: {} .. {}\n\t{list}", 1u64 << low, 1u64 << high));
        }
        *self = Self { since: now, ..Self::new(self.every) };
        lines
    }
}

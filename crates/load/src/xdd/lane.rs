//! Load on one target: keeps its queue full, counts and checks completions.

use super::config::{Target, Verify};
use super::engine::{Ended, Engine};
use super::order::{Order, Request};
use super::pace::Pace;
use super::tally::Account;
use linerate_block::{Buffer, Operation, Tag};
use linerate_rt::{Clock, Progress, Sleeper, monotonic_ns};
use linerate_text::saturating_ns;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

/// Time limit for requests in flight when a pass is to end: as long as Linux gives a SCSI command.
const DRAIN_NS: u64 = 30_000_000_000;

#[derive(Debug)]
pub(super) struct Shared {
    pub(super) errors: AtomicU64,
    /// Number of errors that end the run.
    pub(super) enough: u64,
    /// True if the run is to end.
    pub(super) over: AtomicBool,
    pub(super) step: Option<u64>,
    /// Counters of each target so far.
    pub(super) live: Vec<Live>,
}

#[derive(Debug, Default)]
pub(super) struct Live {
    pub(super) ops: AtomicU64,
    pub(super) bytes: AtomicU64,
    /// Progress, for targets that wait for each other.
    pub(super) step: AtomicU64,
}

/// A place in the queue for a request.
struct Slot {
    request: Request,
    begun: u64,
    /// Number of times that the request was repeated.
    retries: u32,
    /// Present while the request is not in flight.
    buffer: Option<Buffer>,
    /// True if it holds the pattern, which is the same everywhere.
    filled: bool,
}

/// A target with its queue.
pub(super) struct Lane {
    pub(super) number: usize,
    /// Account of the pass.
    pub(super) account: Account,
    target: Target,
    engine: Box<dyn Engine>,
    block: u64,
    order: Order,
    slots: Vec<Slot>,
    /// True if buffers are filled for each write: the pattern moves, or protection information is made from them.
    refills: bool,
    free: Vec<u32>,
    /// Number of operations in flight, a flush included.
    under_way: usize,
    flushing: bool,
    writes: u64,
    shared: Arc<Shared>,
    /// Requests and bytes of all passes so far.
    sum: (u64, u64),
    /// Number of errors, and of late requests, that still get a line.
    tell: u64,
    tell_late: u64,
    /// Time beyond which a request is late, ns.
    threshold: u64,
    /// Begin of the pass, and its latest end.
    from: u64,
    until: u64,
    pace: Pace,
    /// Begin of the pass's first request.
    first: u64,
    /// True if a request was repeated and not passed on yet.
    repeated: bool,
    /// Time of the last completion in the present pass.
    last: u64,
    /// Time limit for requests in flight, once no more are submitted.
    drain: Option<u64>,
    done: bool,
}

impl Lane {
    /// Gives a target its queue.
    ///
    /// # Errors
    /// Target's number and the setting that does not fit.
    pub(super) fn new(
        target: Target,
        number: usize,
        engine: Box<dyn Engine>,
        shared: Arc<Shared>,
        tell: u64,
    ) -> Result<Self, String> {
        let shape = engine.shape();
        let block = u64::from(shape.block_size.max(1));
        if shape.read_only && target.writes() {
            let name = &target.name;
            return Err(format!("target {number} ({name}): it is read-only; give -op read, or make it writable"));
        }
        let order = Order::new(&target, number, shape.bytes(), block)?;
        let buffer = || {
            let mut buffer = Buffer::new(order.longest());
            // Memory is touched before the time is measured.
            target.pattern.fill(0, buffer.bytes_mut());
            Some(buffer)
        };
        let slot = || Slot { request: Request::default(), begun: 0, retries: 0, buffer: buffer(), filled: false };
        Ok(Self {
            number,
            account: Account::default(),
            slots: (0..target.depth).map(|_| slot()).collect(),
            free: (0..target.depth).rev().collect(),
            refills: target.pattern.moves() || shape.protected,
            engine,
            block,
            order,
            under_way: 0,
            flushing: false,
            writes: 0,
            pace: Pace::new(&target, shared.step),
            shared,
            sum: (0, 0),
            tell,
            tell_late: tell,
            threshold: target.threshold.map_or(u64::MAX, saturating_ns),
            from: 0,
            until: u64::MAX,
            first: 0,
            repeated: false,
            last: 0,
            drain: None,
            done: true,
            target,
        })
    }

    /// Begins a pass at `from`, which ends at `until` at the latest.
    pub(super) fn begin(&mut self, pass: u64, from: u64, until: u64) {
        self.account.clear();
        self.order.begin(pass);
        let from = if pass == 0 { from.saturating_add(saturating_ns(self.target.start_delay)) } else { from };
        self.from = from;
        self.until = self.target.time_limit.map_or(until, |limit| until.min(from.saturating_add(saturating_ns(limit))));
        self.pace.begin(pass, from);
        (self.first, self.last, self.drain, self.done) = (from, from, None, false);
    }

    /// Stops submitting requests.
    pub(super) fn stop(&mut self, now: u64) {
        self.drain.get_or_insert(now.saturating_add(DRAIN_NS));
    }

    /// Takes completions and submits requests as far as there is room.
    #[inline]
    pub(super) fn handle(&mut self, now: u64, clock: &mut Clock) -> Progress {
        if self.done {
            return Progress::Done;
        }
        let mut worked = false;
        if self.under_way > 0
            && let Some(first) = self.engine.complete()
        {
            worked = true;
            let now = clock.now();
            self.ended(first, now);
            while let Some(next) = self.engine.complete() {
                self.ended(next, now);
            }
            self.last = now;
            let live = &self.shared.live[self.number];
            live.ops.store(self.sum.0, Relaxed);
            live.bytes.store(self.sum.1, Relaxed);
            if std::mem::take(&mut self.repeated) {
                self.engine.flush();
            }
        }
        if now >= self.until || self.shared.over.load(Relaxed) {
            self.stop(now);
        }
        if self.drain.is_none() && now >= self.from {
            worked |= self.submit(clock);
        }
        if self.under_way == 0 && (self.drain.is_some() || self.order.ended()) {
            self.finish();
        } else if self.drain.is_some_and(|at| now >= at) {
            self.account.lost = self.under_way as u64;
            self.tell(format!("{} requests did not end within 30 s", self.under_way));
            // A request still in flight may end in the middle of another pass.
            self.shared.over.store(true, Relaxed);
            self.finish();
        }
        match (self.done, worked) {
            (true, _) => Progress::Done,
            (false, true) => Progress::Worked,
            (false, false) => Progress::Idle,
        }
    }

    /// Fills the queue; true if anything was submitted.
    #[inline]
    fn submit(&mut self, clock: &mut Clock) -> bool {
        let before = self.under_way;
        while let Some(&place) = self.free.last() {
            let begun = clock.now();
            if self.target.serial && self.under_way > 0
                || self.pace.not_before() > begun
                || !self.pace.in_step(&self.shared.live)
            {
                break;
            }
            let Some(request) = self.order.next() else { break };
            self.free.pop();
            self.begin_request(place, request, begun);
            if request.write {
                self.writes += 1;
                if self.target.flush_every.is_some_and(|n| self.writes.is_multiple_of(n)) && !self.flushing {
                    self.flushing = true;
                    self.under_way += 1;
                    self.engine.submit(Tag(self.target.depth), Operation::Flush);
                }
            }
        }
        let any = self.under_way > before;
        if any {
            self.engine.flush();
        }
        any
    }

    #[inline]
    fn begin_request(&mut self, place: u32, request: Request, begun: u64) {
        if self.pace.is_first() {
            self.first = begun;
        }
        self.pace.begun(begun, &self.shared.live[self.number]);
        let slot = &mut self.slots[place as usize];
        (slot.request, slot.begun, slot.retries) = (request, begun, 0);
        self.issue(place);
    }

    /// Submits the request of a place.
    #[inline]
    fn issue(&mut self, place: u32) {
        let slot = &mut self.slots[place as usize];
        let request = slot.request;
        // An engine that kept a failed request's buffer gets another.
        slot.filled &= slot.buffer.is_some();
        let mut buffer = slot.buffer.take().unwrap_or_else(|| Buffer::new(self.order.longest()));
        buffer.resize(request.len);
        let lba = request.offset / self.block;
        let operation = if request.write {
            if self.refills || !slot.filled {
                self.target.pattern.fill(request.offset, buffer.bytes_mut());
            }
            Operation::Write { lba, buffer, fua: self.target.sync_write }
        } else {
            Operation::Read { lba, buffer }
        };
        slot.filled = request.write && request.len == self.order.longest();
        self.under_way += 1;
        self.engine.submit(Tag(place), operation);
    }

    #[inline]
    fn ended(&mut self, completion: Ended, now: u64) {
        self.under_way -= 1;
        let Tag(place) = completion.tag;
        let Some(slot) = self.slots.get_mut(place as usize) else {
            self.flushing = false;
            if let Err(why) = completion.result {
                self.account.writes.errors += 1;
                self.failed(format!("flush: {why}"));
            }
            return;
        };
        let (request, ns) = (slot.request, now.saturating_sub(slot.begun));
        slot.buffer = completion.buffer;
        let again = completion.result.is_err() && slot.retries < self.target.retries && self.drain.is_none();
        if again && !self.shared.over.load(Relaxed) {
            slot.retries += 1;
            self.account.retries += 1;
            self.repeated = true;
            return self.issue(place);
        }
        self.free.push(place);
        self.pace.ended(now);
        if ns > self.threshold {
            self.late(request, ns);
        }
        let tally = if request.write { &mut self.account.writes } else { &mut self.account.reads };
        match completion.result {
            Ok(()) => {
                tally.done(request.len as u64, ns);
                self.sum = (self.sum.0 + 1, self.sum.1 + request.len as u64);
                if !request.write && self.target.verify != Verify::Nothing {
                    self.verify(place, request);
                }
            }
            Err(why) => {
                tally.errors += 1;
                let what = if request.write { "write" } else { "read" };
                let lba = request.offset / self.block;
                self.failed(format!("{what} of {} bytes at {} (LBA {lba}): {why}", request.len, request.offset));
            }
        }
    }

    fn verify(&mut self, place: u32, Request { offset, len, .. }: Request) {
        let Some(buffer) = &self.slots[place as usize].buffer else { return };
        let got = buffer.bytes();
        let wrong = match self.target.verify {
            Verify::Nothing => None,
            Verify::Contents => self.target.pattern.mismatch(offset, got).map(|(at, want)| {
                let at_block = (offset + at as u64) / self.target.block_size;
                format!("content mismatch: read of {len} bytes at {offset}, byte {at} (block {at_block}): expected 0x{want:02x}, got 0x{:02x}", got[at])
            }),
            Verify::Location => {
                let found = got.first_chunk().map(|word| u64::from_le_bytes(*word));
                let wrong = found.filter(|found| *found != offset);
                wrong.map(|found| format!("location mismatch: read of {len} bytes at {offset}, found {found}"))
            }
        };
        if let Some(line) = wrong {
            self.account.miscompares += 1;
            self.failed(line);
        }
    }

    #[cold]
    fn late(&mut self, request: Request, ns: u64) {
        self.account.late += 1;
        if self.tell_late > 0 {
            self.tell_late -= 1;
            let (what, lba) = (if request.write { "write" } else { "read" }, request.offset / self.block);
            let (name, us, most) = (&self.target.name, ns / 1000, self.threshold / 1000);
            let line = format!(
                "target {} ({name}): {what} of {} bytes at {} (LBA {lba}) took {us} us, the threshold is {most} us",
                self.number, request.len, request.offset
            );
            self.account.late_told.push(line);
        }
    }

    #[cold]
    fn failed(&mut self, line: String) {
        self.tell(line);
        let errors = self.shared.errors.fetch_add(1, Relaxed) + 1;
        if errors >= self.shared.enough {
            self.shared.over.store(true, Relaxed);
        }
    }

    fn tell(&mut self, line: String) {
        if self.tell > 0 {
            self.tell -= 1;
            self.account.told.push(format!("target {} ({}): {line}", self.number, self.target.name));
        }
    }

    /// Time at which it must be polled again even without a completion.
    pub(super) fn timeout(&self) -> Option<u64> {
        if self.done {
            return None;
        }
        let end = self.drain.unwrap_or(self.until);
        let full = self.free.is_empty() || self.target.serial && self.under_way > 0;
        let next = match self.drain.is_none() && !full && !self.order.ended() {
            true if self.pace.in_step(&self.shared.live) => self.from.max(self.pace.not_before()),
            // No event tells when the others have caught up.
            true => Pace::look_again(monotonic_ns()),
            false => u64::MAX,
        };
        Some(end.min(next)).filter(|at| *at < u64::MAX)
    }

    /// Visits the objects to wait for while requests are in flight.
    pub(super) fn waits_for(&mut self, visit: &mut dyn FnMut(&mut dyn Sleeper)) {
        if self.under_way > 0 {
            self.engine.waits_for(visit);
        }
    }

    fn finish(&mut self) {
        self.done = true;
        self.pace.end(&self.shared.live[self.number]);
        self.account.elapsed_ns = self.last.saturating_sub(self.from);
        self.account.from_first_ns = self.last.saturating_sub(self.first);
    }
}

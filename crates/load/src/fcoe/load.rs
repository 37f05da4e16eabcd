//! The load of an initiator: keeps the queues of its disks full, and checks the data read.

use super::pattern::{Pattern, SECTOR};
use super::site::share;
use super::{Medium, Setup};
use hdrhistogram::Histogram;
use linerate_block::{Buffer, Tag};
use linerate_fcoe::{
    Command, Completed, Data, Disks, Initiator, Logins, Lun, Node, NodeEvent, Outcome, PeerId, TaskAttribute,
};
use linerate_rt::fc::Watcher;
use linerate_rt::{Sleeper, ThreadTime};
use linerate_text::saturating_ns;
use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering::Relaxed};

const SECOND: u64 = 1_000_000_000;
/// Time limit without progress, or without a login, nanoseconds.
const PATIENCE: u64 = 20 * SECOND;
/// Time limit of a command, nanoseconds.
const TIMEOUT: u64 = 10 * SECOND;
/// Bytes of a disk that are used.
const SPAN: u64 = 1 << 30;
/// UNIT ATTENTION (SPC-4, clause 4.5.6): the disk reports a change of state, and did not execute the command.
const UNIT_ATTENTION: u8 = 0x06;

/// Number of adjacent requests on a disk. It is odd, so that with alternating READs and WRITEs a position is read in
/// one lap and written in the next.
pub(super) fn positions(setup: &Setup) -> u64 {
    let size = match setup.medium {
        Medium::Null => SPAN,
        Medium::Ram(size) => size.min(SPAN),
    };
    (size / u64::from(setup.io_bytes).max(1)).saturating_sub(1) | 1
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// The target has not logged in yet.
    Waiting,
    Running,
    /// Requests in flight come to an end.
    Draining,
    /// All data written is read again.
    Verifying,
    Done,
}

/// Requests of a disk.
struct Queue {
    lun: u16,
    /// Position of the next request.
    next: u64,
    /// READs that are due, in hundredths.
    due: u32,
    /// Number of writes of each position; empty for disks that keep nothing.
    generations: Vec<u32>,
    /// Positions with a request under way, likewise: another one might be done before it, or behind it.
    taken: Vec<bool>,
}

impl Queue {
    /// Takes note that a position has a request under way, or none.
    fn take(&mut self, position: u64, taken: bool) {
        if let Some(place) = usize::try_from(position).ok().and_then(|at| self.taken.get_mut(at)) {
            *place = taken;
        }
    }

    fn is_taken(&self, position: u64) -> bool {
        usize::try_from(position).ok().and_then(|at| self.taken.get(at)).is_some_and(|taken| *taken)
    }
}

/// A request in flight.
#[derive(Clone, Copy)]
struct Flight {
    position: u64,
    read: bool,
    started: u64,
}

/// Work of an initiator, and its results.
pub(crate) struct Load {
    pattern: Pattern,
    queues: Vec<Queue>,
    /// Request by tag: a queue's number times the queue depth, and on.
    flights: Vec<Flight>,
    depth: usize,
    /// Of so many requests of a disk one has its latency recorded.
    sample: usize,
    io_bytes: u32,
    reads: u32,
    positions: u64,
    /// Buffers that were not used yet, or came back from refused requests.
    fresh: Vec<Buffer>,
    /// Tags without a request in flight.
    idle: Vec<u32>,
    peer: Option<PeerId>,
    /// Number of initiators that the target has not logged in. They all begin together: an early one would fill the
    /// wire on which the others still look for the target, and be measured alone.
    missing: Arc<AtomicU16>,
    phase: Phase,
    under_way: usize,
    warm: u64,
    time: u64,
    /// Begin and end of counting.
    window: (u64, u64),
    /// Time of the last progress.
    alive: u64,
    /// Time at which requests began, and the thread's processor time then.
    began: (u64, ThreadTime),
    /// Processor time of the thread while requests ran, as a share of that time.
    pub(super) cpu: f64,
    pub(crate) requests: u64,
    pub(crate) errors: u64,
    pub(crate) latency: Histogram<u64>,
    /// Reason why it made no progress.
    pub(crate) stuck: Option<&'static str>,
}

impl Load {
    /// Makes the load of initiator `number`. It begins when no initiator is `missing` any more.
    pub(crate) fn new(setup: &Setup, number: u16, missing: &Arc<AtomicU16>) -> Self {
        /// One minute; longer requests count as that.
        const LONGEST: u64 = 60 * SECOND;
        let depth = usize::from(setup.queue_depth);
        let requests = usize::from(setup.luns) * depth;
        let positions = positions(setup);
        let kept = match setup.medium {
            Medium::Null => 0,
            Medium::Ram(_) => usize::try_from(positions).unwrap_or(0),
        };
        let queue = |lun| Queue { lun, next: 0, due: 0, generations: vec![0; kept], taken: vec![false; kept] };
        let size = setup.io_bytes as usize;
        let pattern = match setup.medium {
            Medium::Null => Pattern::zeros(),
            Medium::Ram(_) => Pattern::named(),
        };
        let fresh = |_| {
            let mut buffer = Buffer::new(size);
            pattern.write(buffer.bytes_mut(), 0, 0, 0);
            buffer
        };
        Self {
            queues: (number * setup.luns..(number + 1) * setup.luns).map(queue).collect(),
            flights: vec![Flight { position: 0, read: true, started: 0 }; requests],
            depth,
            sample: depth,
            io_bytes: setup.io_bytes,
            reads: setup.reads,
            positions,
            fresh: (0..requests).map(fresh).collect(),
            pattern,
            // The first tag of each queue comes first.
            idle: (0..u32::try_from(requests).unwrap_or(0)).rev().collect(),
            peer: None,
            missing: missing.clone(),
            phase: Phase::Waiting,
            under_way: 0,
            warm: saturating_ns(setup.warm),
            time: saturating_ns(setup.time),
            window: (0, 0),
            alive: 0,
            began: (0, ThreadTime::default()),
            cpu: 0.0,
            requests: 0,
            errors: 0,
            latency: Histogram::new_with_max(LONGEST, 3).unwrap_or_else(|_| unreachable!("such a histogram there is")),
            stuck: None,
        }
    }

    /// The same with the latency of each request recorded: where time costs nothing.
    pub(crate) fn timing_all(self) -> Self {
        Self { sample: 1, ..self }
    }

    fn end(&mut self, why: Option<&'static str>) {
        self.stuck = why;
        self.phase = Phase::Done;
    }

    /// Next request of a queue: position, and true for a READ. `None` when all has been read again.
    fn next(&mut self, queue: usize) -> Option<(u64, bool)> {
        let verifying = self.phase == Phase::Verifying;
        let queue = &mut self.queues[queue];
        let mut position = queue.next;
        if verifying {
            queue.next += 1;
            return (position < self.positions).then_some((position, true));
        }
        let after = |position| if position + 1 == self.positions { 0 } else { position + 1 };
        // There are more than twice as many positions as requests.
        while queue.is_taken(position) {
            position = after(position);
        }
        queue.next = after(position);
        queue.due += self.reads;
        let read = queue.due >= 100;
        if read {
            queue.due -= 100;
        }
        Some((position, read))
    }

    /// Gives a queue's next request to the initiator; false if it was refused.
    #[inline]
    fn go(&mut self, now: u64, tag: u32, buffer: Buffer, to: (&mut Initiator, &linerate_fcoe::Peer)) -> bool {
        let Some((position, read)) = self.next(tag as usize / self.depth) else {
            self.fresh.push(buffer);
            self.idle.push(tag);
            return true;
        };
        self.flights[tag as usize] = Flight { position, read, started: now };
        self.send(now, tag, buffer, to)
    }

    fn send(&mut self, now: u64, tag: u32, mut buffer: Buffer, to: (&mut Initiator, &linerate_fcoe::Peer)) -> bool {
        let Flight { position, read, .. } = self.flights[tag as usize];
        let queue = &mut self.queues[tag as usize / self.depth];
        queue.take(position, true);
        let blocks = self.io_bytes / 512;
        let lba = position * u64::from(blocks);
        if !read {
            let generation = at(&mut queue.generations, position).map_or(0, |generation| {
                *generation = generation.wrapping_add(1);
                *generation
            });
            self.pattern.name_all(buffer.bytes_mut(), queue.lun, lba, generation);
        }
        let command = command(tag, queue.lun, lba, blocks, read, buffer);
        match to.0.submit(now, to.1, command) {
            Ok(()) => {
                self.under_way += 1;
                true
            }
            Err((_, command)) => {
                // The next request uses the tag and the buffer again.
                if let Data::In(buffer) | Data::Out(buffer) = command.data {
                    self.fresh.push(buffer);
                }
                self.errors += 1;
                self.idle.push(tag);
                false
            }
        }
    }

    /// Fills the queues from idle tags.
    fn fill(&mut self, now: u64, initiator: &mut Initiator, peer: &linerate_fcoe::Peer) {
        for tag in std::mem::take(&mut self.idle) {
            let Some(buffer) = self.fresh.pop() else { return self.end(Some("a buffer was lost: this is a bug")) };
            if !self.go(now, tag, buffer, (initiator, peer)) {
                return self.end(Some("the initiator takes no more commands: lower the queue depth"));
            }
        }
    }

    #[inline]
    fn ended(&mut self, now: u64, done: Completed, to: (&mut Initiator, &linerate_fcoe::Peer)) {
        let Tag(tag) = done.tag;
        self.under_way -= 1;
        let good = done.is_good() && done.residual == 0;
        let Some(mut buffer) = done.buffer else { return self.end(Some("a buffer was lost: this is a bug")) };
        let Flight { position, read, started } = self.flights[tag as usize];
        let queue = &mut self.queues[tag as usize / self.depth];
        let news = done.outcome == Outcome::Response && done.status == 2 && done.sense[2] & 0x0f == UNIT_ATTENTION;
        if news {
            // Nothing was done: the request is sent again.
            if !read && let Some(generation) = at(&mut queue.generations, position) {
                *generation = generation.wrapping_sub(1);
            }
            self.send(now, tag, buffer, to);
            return;
        }
        queue.take(position, false);
        let lba = position * u64::from(self.io_bytes / 512);
        let right = good
            && (!read || {
                let generation = at(&mut queue.generations, position).map_or(0, |generation| *generation);
                self.pattern.check(buffer.bytes(), queue.lun, lba, generation)
            });
        if right {
            if (self.window.0..self.window.1).contains(&now) {
                self.requests += 1;
                if (tag as usize).is_multiple_of(self.sample) {
                    self.latency.saturating_record(now - started);
                }
            }
        } else {
            self.errors += 1;
            self.pattern.write(buffer.bytes_mut(), 0, 0, 0);
        }
        match self.phase {
            Phase::Running | Phase::Verifying => {
                self.go(now, tag, buffer, to);
            }
            _ => {
                self.fresh.push(buffer);
                self.idle.push(tag);
            }
        }
    }

    /// Continues when no request is in flight any more: verifies, or ends.
    fn drained(&mut self, now: u64, initiator: &mut Initiator, peer: &linerate_fcoe::Peer) {
        if self.phase == Phase::Draining && self.queues.iter().any(|queue| queue.generations.iter().any(|g| *g > 0)) {
            self.phase = Phase::Verifying;
            self.queues.iter_mut().for_each(|queue| queue.next = 0);
            self.fill(now, initiator, peer);
        } else {
            self.end(None);
        }
    }

    fn work(&mut self, now: u64, initiator: &mut Initiator, logins: &Logins) -> bool {
        let Some(peer) = self.peer.and_then(|id| logins.peer(id)) else { return false };
        let mut worked = false;
        while let Some(done) = initiator.poll_completion() {
            worked = true;
            self.ended(now, done, (initiator, peer));
        }
        if worked {
            self.alive = now;
        }
        match self.phase {
            Phase::Waiting if self.missing.load(Relaxed) == 0 => {
                self.phase = Phase::Running;
                self.began = (now, ThreadTime::of_this_thread());
                let begin = now + self.warm;
                self.window = (begin, begin + self.time);
                self.fill(now, initiator, peer);
                worked = true;
            }
            Phase::Running if now >= self.window.1 => {
                self.phase = Phase::Draining;
                self.cpu = share(self.began, (now, ThreadTime::of_this_thread()));
            }
            Phase::Draining | Phase::Verifying if self.under_way == 0 => {
                self.drained(now, initiator, peer);
                worked = true;
            }
            _ => {}
        }
        worked
    }
}

/// Entry of a position, if there are entries.
fn at(generations: &mut [u32], position: u64) -> Option<&mut u32> {
    generations.get_mut(usize::try_from(position).ok()?)
}

/// READ (10) or WRITE (10) (SBC-3, clauses 5.12 and 5.33), as xdd sends for blocks within their range.
fn command(tag: u32, lun: u16, lba: u64, blocks: u32, read: bool, buffer: Buffer) -> Command {
    let mut cdb = [0; 32];
    let [high, low] = lun.to_be_bytes();
    let [_, _, _, _, lba @ ..] = lba.to_be_bytes();
    let [_, _, blocks @ ..] = blocks.to_be_bytes();
    cdb[0] = if read { 0x28 } else { 0x2a };
    cdb[2..6].copy_from_slice(&lba);
    cdb[7..9].copy_from_slice(&blocks);
    Command {
        tag: Tag(tag),
        lun: Lun([high, low, 0, 0, 0, 0, 0, 0]),
        cdb,
        cdb_len: 10,
        attribute: TaskAttribute::Simple,
        data: if read { Data::In(buffer) } else { Data::Out(buffer) },
        timeout: TIMEOUT,
    }
}

impl Watcher<Disks> for Load {
    fn event(&mut self, now: u64, event: &NodeEvent, _: &mut Node<Disks>) {
        match event {
            NodeEvent::Up(peer) if peer.role.target && self.phase == Phase::Waiting => {
                if self.peer.replace(peer.id).is_none() {
                    self.missing.fetch_sub(1, Relaxed);
                }
                self.alive = now;
            }
            NodeEvent::Down(peer, _) if self.peer == Some(peer.id) && self.phase != Phase::Done => {
                self.end(Some("the target logged out in the midst of it: this is a bug"));
            }
            _ => {}
        }
    }

    #[inline]
    fn turn(&mut self, now: u64, node: &mut Node<Disks>) -> bool {
        if self.phase == Phase::Done {
            return false;
        }
        if self.alive == 0 {
            self.alive = now;
        }
        if now > self.alive + PATIENCE {
            self.end(Some("nothing came for 20 s: this is a bug, or the machine stood still"));
            return true;
        }
        match node.initiator_mut() {
            Some((initiator, logins)) => self.work(now, initiator, logins),
            None => false,
        }
    }

    fn poll_timeout(&self) -> Option<u64> {
        match self.phase {
            Phase::Running => Some(self.window.1),
            Phase::Done => None,
            _ => Some(self.alive + PATIENCE + 1),
        }
    }

    fn waits_for(&mut self, _: &mut dyn FnMut(&mut dyn Sleeper)) {}

    fn is_done(&self) -> bool {
        self.phase == Phase::Done
    }
}

const _: () = assert!(SECTOR == 512, "blocks of the disks are sectors of the pattern");

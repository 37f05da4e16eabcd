//! A connection in the transmission phase: requests under way, bytes to send, bytes received.

use super::{CLIENT_SLICES, ClientOptions, InDoubt, Lost};
use crate::coverage::Coverage;
use crate::plan::{Part, RequestPlan};
use crate::wire::{Reply, Request, chunk, command};
use linerate_block::{BackendError, Buffer, Completion, Tag};
use std::collections::VecDeque;
use std::io::IoSlice;
use std::time::Instant;

/// Requests under way at once.
const DEPTH: u32 = 128;
/// Bytes received at once that do not go straight into the buffer of a read.
const INPUT: usize = 64 << 10;
/// Requests sent at once.
pub(super) const BATCH: usize = 16;
/// Most error chunks in one reply.
const ERRORS: u32 = 256;

/// An operation, and its request that is under way.
#[derive(Debug)]
pub(super) struct Job {
    tag: Tag,
    pub(super) plan: RequestPlan,
    pub(super) part: Part,
    buffer: Option<Buffer>,
    coverage: Coverage,
    /// Error number of the first error chunk, and the number of error chunks.
    error: u32,
    errors: u32,
    /// Time at which the server was first lost during the operation.
    pub(super) lost: Option<Instant>,
    /// Number of changes that its FLUSH covers: those completed before it began.
    pub(super) covers: u64,
}

impl Job {
    pub(super) fn new(tag: Tag, plan: RequestPlan, buffer: Option<Buffer>) -> Self {
        let part = plan.part();
        Self { tag, plan, part, buffer, coverage: Coverage::default(), error: 0, errors: 0, lost: None, covers: 0 }
    }

    /// Ends the operation with this result.
    pub(super) fn end(self, result: Result<(), BackendError>) -> Completion {
        // A buffer of zeros that stood in for WRITE_ZEROES is not the submitter's.
        Completion { tag: self.tag, buffer: self.buffer.filter(|_| self.plan.is_transfer()), result }
    }

    /// Bytes of the part's data, from offset `at` within the part on.
    fn data(&mut self, at: usize, len: usize) -> Option<&mut [u8]> {
        let from = self.part.from.checked_add(at)?;
        self.buffer.as_mut()?.bytes_mut().get_mut(from..from.checked_add(len)?)
    }
}

/// Next part of the server's stream.
#[derive(Clone, Copy, Debug)]
enum Expect {
    /// The head of a reply.
    Head,
    /// Data of a read, from offset `at` of the part on; the reply ends after it if `last`.
    Data { index: usize, at: usize, left: usize, last: bool },
    /// The rest of an error's message.
    Message { index: usize, left: usize, last: bool },
}

/// A connection to a server that has agreed on an export.
#[derive(Debug)]
pub(super) struct Link {
    jobs: Vec<Option<Job>>,
    /// Number of uses of each place: part of the cookie, so that a duplicate reply matches no later request.
    uses: Vec<u32>,
    free: Vec<usize>,
    /// Places whose request has not been sent, and the number of bytes of the first that have.
    sending: VecDeque<(usize, [u8; Request::LEN])>,
    sent: usize,
    input: Box<[u8]>,
    start: usize,
    end: usize,
    expect: Expect,
    /// Time at which the server last sent something, or owed nothing.
    heard: Instant,
    /// Start time of the request at each place, and a time not after the first start of those under way.
    begun: Vec<Instant>,
    oldest: Instant,
    look: bool,
}

impl Link {
    pub(super) fn new(now: Instant) -> Self {
        let depth = DEPTH as usize;
        Self {
            jobs: (0..depth).map(|_| None).collect(),
            uses: vec![0; depth],
            free: (0..depth).rev().collect(),
            sending: VecDeque::with_capacity(depth),
            sent: 0,
            input: vec![0; INPUT].into(),
            start: 0,
            end: 0,
            expect: Expect::Head,
            heard: now,
            begun: vec![now; depth],
            oldest: now,
            look: false,
        }
    }

    pub(super) fn has_room(&self) -> bool {
        !self.free.is_empty()
    }

    pub(super) fn has_output(&self) -> bool {
        !self.sending.is_empty()
    }

    fn is_idle(&self) -> bool {
        self.free.len() == self.jobs.len()
    }

    /// Time since when the server has been lost, if it is now: since it was last heard, if it owes a reply.
    pub(super) fn lost_since(&self, now: Instant) -> Instant {
        if self.is_idle() { now } else { self.heard }
    }

    /// Changes under way that the server may do or have done: of their requests, something has been sent.
    pub(super) fn in_doubt(&self) -> Option<InDoubt> {
        let unsent = |index| {
            let at = self.sending.iter().position(|(sending, _)| *sending == index);
            at.is_some_and(|at| at > 0 || self.sent == 0)
        };
        let sent =
            self.jobs.iter().enumerate().filter(|(index, _)| !unsent(*index)).filter_map(|(_, job)| job.as_ref());
        sent.filter(|job| job.part.is_change()).fold(None, |doubt, Job { part, .. }| {
            let (start, end) = (part.offset, part.offset + u64::from(part.len));
            let InDoubt { changes, bytes } = doubt.unwrap_or(InDoubt { changes: 0, bytes: start..end });
            Some(InDoubt { changes: changes + 1, bytes: bytes.start.min(start)..bytes.end.max(end) })
        })
    }

    /// Takes all operations out.
    pub(super) fn abandon(&mut self) -> impl Iterator<Item = Job> {
        self.jobs.iter_mut().filter_map(Option::take)
    }

    /// True if no reply is due, and the caller did not ask for a check of the connection.
    pub(super) fn expects_nothing(&self) -> bool {
        self.is_idle() && !self.look
    }

    /// Has the connection checked although no reply is due: the server may have hung up.
    pub(super) fn look(&mut self) {
        self.look = true;
    }

    /// Time at which the server's silence becomes too long, or a request may become late.
    pub(super) fn due(&self, options: &ClientOptions) -> Option<Instant> {
        (!self.is_idle()).then(|| (self.heard + options.timeout).min(self.oldest + options.patience))
    }

    /// True if a request has taken too long.
    pub(super) fn is_late(&mut self, options: &ClientOptions, now: Instant) -> bool {
        if self.is_idle() || now < self.oldest + options.patience {
            return false;
        }
        let under_way = self.jobs.iter().zip(&self.begun).filter(|(job, _)| job.is_some());
        self.oldest = under_way.map(|(_, begun)| *begun).min().unwrap_or(now);
        now >= self.oldest + options.patience
    }

    /// Starts a request. There must be room.
    pub(super) fn begin(&mut self, mut job: Job, now: Instant) {
        if self.is_idle() {
            (self.heard, self.oldest) = (now, now);
        }
        let index = self.free.pop().expect("the caller asks for room first");
        self.begun[index] = now;
        self.uses[index] = self.uses[index].wrapping_add(1);
        let Part { kind, flags, offset, len, .. } = job.part;
        job.coverage.clear();
        (job.error, job.errors) = (0, 0);
        self.jobs[index] = Some(job);
        let cookie = u64::from(self.uses[index]) << 32 | index as u64;
        self.sending.push_back((index, Request { flags, kind, cookie, offset, len }.emit()));
    }

    /// Shows the bytes to send next; returns the number of slices.
    pub(super) fn output<'a>(&'a self, slices: &mut [IoSlice<'a>; CLIENT_SLICES]) -> usize {
        let (mut n, mut skip) = (0, self.sent);
        for (index, head) in self.sending.iter().take(BATCH) {
            for bytes in [&head[..], payload(self.jobs[*index].as_ref())] {
                let skipped = skip.min(bytes.len());
                skip -= skipped;
                slices[n] = IoSlice::new(&bytes[skipped..]);
                n += 1;
            }
        }
        n
    }

    /// Takes note that so many of these bytes have been sent.
    pub(super) fn sent(&mut self, count: usize) {
        self.sent += count;
        while let Some((index, head)) = self.sending.front() {
            let len = head.len() + payload(self.jobs[*index].as_ref()).len();
            if self.sent < len {
                break;
            }
            self.sent -= len;
            self.sending.pop_front();
        }
    }

    /// Processes received bytes up to the end of a reply; returns its operation and error number, or None if that end
    /// has not arrived yet.
    pub(super) fn next(&mut self) -> Result<Option<(Job, u32)>, Lost> {
        let Some(index) = self.step()? else { return Ok(None) };
        self.free.push(index);
        let job = self.jobs[index].take().ok_or(Lost)?;
        let number = job.error;
        Ok(Some((job, number)))
    }

    /// Place for the next bytes received: the buffer of a read if they are its data, else the input buffer.
    pub(super) fn room(&mut self) -> &mut [u8] {
        match self.expect {
            Expect::Data { index, at, left, .. } if self.start == self.end => {
                self.jobs[index].as_mut().and_then(|job| job.data(at, left)).unwrap_or_default()
            }
            _ => {
                self.input.copy_within(self.start..self.end, 0);
                (self.start, self.end) = (0, self.end - self.start);
                &mut self.input[self.end..]
            }
        }
    }

    /// Takes note that so many bytes were received into [`Self::room`].
    pub(super) fn received(&mut self, count: usize, now: Instant) {
        self.heard = now;
        match &mut self.expect {
            Expect::Data { at, left, .. } if self.start == self.end => {
                let count = count.min(*left);
                (*at, *left) = (*at + count, *left - count);
            }
            _ => self.end = self.end.saturating_add(count).min(self.input.len()),
        }
    }

    /// Takes note that nothing more can be received now; true if the server has been silent for too long.
    pub(super) fn is_silent(&mut self, options: &ClientOptions, now: Instant) -> bool {
        self.look = false;
        !self.is_idle() && now.saturating_duration_since(self.heard) >= options.timeout
    }

    /// Processes received bytes; returns the place whose reply is complete, or None if more must arrive first.
    fn step(&mut self) -> Result<Option<usize>, Lost> {
        loop {
            let input = &self.input[self.start..self.end];
            let (index, last) = match self.expect {
                Expect::Head => match self.head()? {
                    true => continue,
                    false => return Ok(None),
                },
                Expect::Data { index, at, left, last } => {
                    let n = left.min(input.len());
                    let job = self.jobs[index].as_mut().ok_or(Lost)?;
                    job.data(at, n).ok_or(Lost)?.copy_from_slice(&input[..n]);
                    self.start += n;
                    if n < left {
                        self.expect = Expect::Data { index, at: at + n, left: left - n, last };
                        return Ok(None);
                    }
                    (index, last)
                }
                Expect::Message { index, left, last } => {
                    let n = left.min(input.len());
                    self.start += n;
                    if n < left {
                        self.expect = Expect::Message { index, left: left - n, last };
                        return Ok(None);
                    }
                    (index, last)
                }
            };
            self.expect = Expect::Head;
            if last {
                let job = self.jobs[index].as_ref().ok_or(Lost)?;
                // A READ reply that ends with neither an error nor all its data.
                if job.error == 0 && job.part.kind == command::READ && !job.coverage.is_whole(job.part.bytes()) {
                    return Err(Lost);
                }
                return Ok(Some(index));
            }
        }
    }

    /// Reads the head of a reply or chunk; false if it has not arrived completely.
    fn head(&mut self) -> Result<bool, Lost> {
        let input = &self.input[self.start..self.end];
        let Some((reply, taken)) = Reply::parse(input).map_err(|_| Lost)? else { return Ok(false) };
        let body = &input[taken..];
        let cookie = match reply {
            Reply::Simple { cookie, .. } | Reply::Chunk { cookie, .. } => cookie,
        };
        let index = usize::try_from(cookie & 0xffff_ffff).map_err(|_| Lost)?;
        let known = self.uses.get(index).is_some_and(|uses| u64::from(*uses) == cookie >> 32);
        // A reply to a request that has not been sent completely cannot be genuine.
        let left = !self.sending.iter().any(|(sending, _)| *sending == index);
        let job = self.jobs.get_mut(index).and_then(Option::as_mut).filter(|_| known && left).ok_or(Lost)?;
        let whole = job.part.bytes();
        let is_read = job.part.kind == command::READ;
        let (expect, used) = match reply {
            Reply::Simple { error, .. } => {
                job.error = error;
                let left = if is_read && error == 0 { whole } else { 0 };
                if left > 0 && !job.coverage.add(0..left) {
                    return Err(Lost);
                }
                let expect = match left {
                    0 => Expect::Message { index, left, last: true },
                    left => Expect::Data { index, at: 0, left, last: true },
                };
                (expect, 0)
            }
            Reply::Chunk { flags, kind, len, .. } => {
                let last = flags & chunk::FLAG_DONE != 0;
                let len = usize::try_from(len).map_err(|_| Lost)?;
                match kind {
                    chunk::NONE if len == 0 && last => (Expect::Message { index, left: 0, last }, 0),
                    chunk::OFFSET_DATA if is_read && len > 8 => {
                        let Some(offset) = number(body, 0) else { return Ok(false) };
                        let at = place(job, offset, len - 8)?;
                        (Expect::Data { index, at, left: len - 8, last }, 8)
                    }
                    chunk::OFFSET_HOLE if is_read && len == 12 => {
                        let (Some(offset), Some(hole)) = (number(body, 0), body.get(8..12)) else { return Ok(false) };
                        let hole = u32::from_be_bytes(hole.try_into().map_err(|_| Lost)?);
                        let hole = usize::try_from(hole).map_err(|_| Lost)?;
                        let at = place(job, offset, hole)?;
                        job.data(at, hole).ok_or(Lost)?.fill(0);
                        (Expect::Message { index, left: 0, last }, 12)
                    }
                    kind if kind & chunk::ERROR != 0 && (6..=INPUT).contains(&len) => {
                        let Some(error) = body.first_chunk() else { return Ok(false) };
                        let error = u32::from_be_bytes(*error);
                        job.errors += 1;
                        if job.errors > ERRORS {
                            return Err(Lost);
                        }
                        if job.error == 0 {
                            // An error chunk with error number 0 is still an error.
                            job.error = error.max(1);
                        }
                        (Expect::Message { index, left: len - 4, last }, 4)
                    }
                    _ => return Err(Lost),
                }
            }
        };
        self.start += taken + used;
        self.expect = expect;
        Ok(true)
    }
}

/// Data that a request carries.
fn payload(job: Option<&Job>) -> &[u8] {
    let data = job.filter(|job| job.part.kind == command::WRITE).and_then(|job| {
        let end = job.part.from.checked_add(job.part.bytes())?;
        job.buffer.as_ref()?.bytes().get(job.part.from..end)
    });
    data.unwrap_or_default()
}

fn number(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_be_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
}

/// Offset of a piece of a read within its part, if it has not arrived before.
fn place(job: &mut Job, offset: u64, len: usize) -> Result<usize, Lost> {
    let at = offset.checked_sub(job.part.offset).and_then(|at| usize::try_from(at).ok()).ok_or(Lost)?;
    let end = at.checked_add(len).filter(|end| len > 0 && *end <= job.part.bytes()).ok_or(Lost)?;
    if job.coverage.add(at..end) { Ok(at) } else { Err(Lost) }
}

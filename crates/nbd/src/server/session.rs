//! One client of a server: its requests, and the answers to them.

use super::answers::Answers;
use super::memory::{Memory, Share};
use super::offer::{Offer, Verdict};
use super::request::{Asked, BEARABLE, number, operation, wrong};
use super::{Gone, SERVER_SLICES};
use crate::plan::is_change;
use crate::service::Export;
use crate::wire::{Request, command, error};
use linerate_block::{BackendError, Buffer, Operation};
use std::io::IoSlice;
use std::time::{Duration, Instant};

/// Most requests of one client at once, unsent replies included; further ones stay in its connection.
pub(super) const DEPTH: usize = 128;
/// Size of the input buffer. Larger than any option.
const INPUT: usize = 128 << 10;
/// Time that a client may take to choose an export.
pub const PATIENCE: Duration = Duration::from_secs(10);
/// Time that a client may take to send the data of one WRITE, and to receive one answer.
pub const STALL: Duration = Duration::from_secs(60);
/// Bytes of unsent negotiation answers beyond which no more options are processed.
const EARLY: usize = 64 << 10;

#[derive(Debug)]
enum Phase {
    Offer(Offer),
    /// Requests to the export at this place; `structured`: reads are answered in chunks.
    Export {
        place: usize,
        structured: bool,
    },
}

/// Bytes that follow a request.
#[derive(Debug)]
enum Payload {
    None,
    /// Data of a WRITE, and the number of bytes received.
    Write(Asked, Operation, usize),
    /// Number of data bytes to skip, and the error to answer with after them.
    Skip(Asked, usize, u32),
}

#[derive(Debug)]
pub(super) struct Session {
    phase: Phase,
    /// Time at which the client connected.
    since: Instant,
    /// Time of the last request.
    heard: Instant,
    /// Time at which the client last did something that costs it something: a request, data of one, taking an answer.
    proved: Option<Instant>,
    share: Share,
    input: Box<[u8]>,
    start: usize,
    end: usize,
    payload: Payload,
    under_way: usize,
    /// Answer to the client's question for the default export, until it is taken.
    default: Option<Option<usize>>,
    /// The client has disconnected, or is to be closed: the session ends when all is answered.
    closing: bool,
    /// The next request waits for memory, or for changes that an earlier client left behind: no input is read until then.
    waits: bool,
    answers: Answers,
}

impl Session {
    pub(super) fn new(now: Instant) -> Self {
        let mut early = Vec::new();
        let phase = Phase::Offer(Offer::new(&mut early));
        Self {
            phase,
            since: now,
            heard: now,
            proved: None,
            share: Share::default(),
            input: vec![0; INPUT].into(),
            start: 0,
            end: 0,
            payload: Payload::None,
            under_way: 0,
            default: None,
            closing: false,
            waits: false,
            answers: Answers::new(early, DEPTH, now),
        }
    }

    /// Takes no more requests.
    pub(super) fn close(&mut self) {
        self.closing = true;
    }

    /// True if all has been answered and the session can be dropped.
    pub(super) fn is_over(&self, now: Instant) -> bool {
        let done = self.closing && self.under_way == 0 && self.answers.is_empty();
        done || self.deadline().is_some_and(|at| at <= now)
    }

    /// Takes the answer to a question for the default export: the export's place, or None if it was refused.
    pub(super) fn take_default(&mut self) -> Option<Option<usize>> {
        self.default.take()
    }

    /// Time at which the client last proved that it is one: now, while an operation is under way; None if it has never sent a
    /// request.
    pub(super) fn proved(&self, now: Instant) -> Option<Instant> {
        if self.under_way > 0 { Some(now) } else { self.proved }
    }

    /// Deadline for the client to choose an export, to send the rest of a WRITE's data, or to receive an answer.
    pub(super) fn deadline(&self) -> Option<Instant> {
        let chosen = matches!(self.phase, Phase::Offer(_)).then(|| self.since + PATIENCE);
        let received = (!matches!(self.payload, Payload::None)).then(|| self.heard + STALL);
        let sent = self.answers.since().map(|since| since + STALL);
        [chosen, received, sent].into_iter().flatten().min()
    }

    fn listens(&self) -> bool {
        !self.closing && self.under_way + self.answers.replies() < DEPTH && self.answers.early_len() < EARLY
    }

    /// True if more bytes are to be received.
    pub(super) fn wants_input(&self) -> bool {
        self.listens() && !self.waits
    }

    pub(super) fn has_output(&self) -> bool {
        !self.answers.is_empty()
    }

    /// Place for the next bytes received: the buffer of a WRITE if they are its data, else the input buffer.
    pub(super) fn room(&mut self) -> &mut [u8] {
        match &mut self.payload {
            Payload::Write(_, Operation::Write { buffer, .. }, come) if self.start == self.end => {
                &mut buffer.bytes_mut()[*come..]
            }
            _ => {
                self.input.copy_within(self.start..self.end, 0);
                (self.start, self.end) = (0, self.end - self.start);
                &mut self.input[self.end..]
            }
        }
    }

    /// Takes note that so many bytes were received into [`Self::room`].
    pub(super) fn received(&mut self, now: Instant, count: usize) {
        self.moved(now);
        match &mut self.payload {
            Payload::Write(_, Operation::Write { buffer, .. }, come) if self.start == self.end => {
                *come = come.saturating_add(count).min(buffer.len());
            }
            _ => self.end = self.end.saturating_add(count).min(self.input.len()),
        }
    }

    /// The client's next operation; None if more bytes must arrive first, or if it is a change of an export that is
    /// `unsettled`.
    pub(super) fn next(
        &mut self,
        now: Instant,
        exports: &[Export],
        memory: &mut Memory,
        unsettled: impl Fn(usize) -> bool,
    ) -> Result<Option<(Asked, Operation)>, Gone> {
        self.waits = false;
        let next = self.step(now, exports, memory, unsettled)?;
        self.under_way += usize::from(next.is_some());
        Ok(next)
    }

    /// Processes received bytes.
    fn step(
        &mut self,
        now: Instant,
        exports: &[Export],
        memory: &mut Memory,
        unsettled: impl Fn(usize) -> bool,
    ) -> Result<Option<(Asked, Operation)>, Gone> {
        while self.listens() {
            let input = &self.input[self.start..self.end];
            let (place, structured) = match &mut self.phase {
                Phase::Export { place, structured } => (*place, *structured),
                Phase::Offer(offer) => {
                    let (used, verdict) = offer.handle(input, exports, self.answers.early());
                    self.start += used;
                    self.default = offer.take_default().or(self.default);
                    match verdict {
                        Verdict::More if used == 0 => return Ok(None),
                        Verdict::More => {}
                        Verdict::Begin(place) => {
                            self.phase = Phase::Export { place, structured: offer.is_structured() };
                        }
                        Verdict::End if self.answers.early_len() == 0 => return Err(Gone),
                        Verdict::End => self.closing = true,
                    }
                    continue;
                }
            };
            match std::mem::replace(&mut self.payload, Payload::None) {
                Payload::None => {
                    let Some(head) = input.first_chunk() else { return Ok(None) };
                    let request = Request::parse(head).map_err(|_| Gone)?;
                    (self.heard, self.proved) = (now, Some(now));
                    if is_change(request.kind) && unsettled(place) {
                        self.waits = true;
                        return Ok(None);
                    }
                    if let Some((asked, operation)) = self.request(&request, place, exports, structured, memory)? {
                        return Ok(Some((asked, operation)));
                    }
                    if self.waits {
                        return Ok(None);
                    }
                }
                Payload::Write(asked, mut operation, mut come) => {
                    let Operation::Write { buffer, .. } = &mut operation else { return Err(Gone) };
                    let n = input.len().min(buffer.len() - come);
                    buffer.bytes_mut()[come..come + n].copy_from_slice(&input[..n]);
                    self.start += n;
                    come += n;
                    if come == buffer.len() {
                        return Ok(Some((asked, operation)));
                    }
                    self.payload = Payload::Write(asked, operation, come);
                    return Ok(None);
                }
                Payload::Skip(asked, left, number) => {
                    let n = input.len().min(left);
                    self.start += n;
                    if n < left {
                        self.payload = Payload::Skip(asked, left - n, number);
                        return Ok(None);
                    }
                    self.reply(asked, structured, Err(number), None);
                }
            }
        }
        Ok(None)
    }

    /// Processes a request: returns its operation, answers it at once, or prepares to receive its data.
    fn request(
        &mut self,
        request: &Request,
        place: usize,
        exports: &[Export],
        structured: bool,
        memory: &mut Memory,
    ) -> Result<Option<(Asked, Operation)>, Gone> {
        if request.kind == command::DISC {
            self.closing = true;
            return Ok(None);
        }
        let len = usize::try_from(request.len).map_err(|_| Gone)?;
        let is_write = request.kind == command::WRITE;
        let asked = Asked::new(request, place, len);
        let export = exports.get(place);
        let number = export.map_or(error::EIO, |export| wrong(export, request));
        if number != 0 {
            self.start += Request::LEN;
            match is_write {
                true if request.len > BEARABLE => return Err(Gone),
                true => self.payload = Payload::Skip(asked, len, number),
                false => self.reply(asked, structured, Err(number), None),
            }
            return Ok(None);
        }
        let block = export.map_or(1, |export| export.geometry.block_size);
        let Some(operation) = operation(request, block, || memory.take(&mut self.share, len)) else {
            self.waits = true;
            return Ok(None);
        };
        self.start += Request::LEN;
        if is_write {
            self.payload = Payload::Write(asked, operation, 0);
            return Ok(None);
        }
        Ok(Some((asked, operation)))
    }

    /// Answers an operation that has ended; a read's buffer goes with the reply.
    pub(super) fn answer(
        &mut self,
        asked: Asked,
        result: Result<(), BackendError>,
        buffer: Option<Buffer>,
        memory: &mut Memory,
    ) {
        self.under_way = self.under_way.saturating_sub(1);
        let data = match buffer {
            Some(buffer) if asked.is_read() && result.is_ok() => Some(buffer),
            buffer => {
                memory.give(&mut self.share, asked.memory, buffer);
                None
            }
        };
        let Phase::Export { structured, .. } = self.phase else { return };
        self.reply(asked, structured, result.map_err(number), data);
    }

    fn reply(&mut self, asked: Asked, structured: bool, result: Result<(), u32>, data: Option<Buffer>) {
        let Asked { cookie, offset, .. } = asked;
        let error = result.err().unwrap_or(0);
        // Once structured replies are agreed, reads must be answered in chunks; all else may have a simple reply.
        match (structured && asked.is_read(), data) {
            (false, data) => self.answers.simple(cookie, error, data),
            (true, Some(data)) if error == 0 => self.answers.chunk(cookie, offset, data),
            (true, _) => self.answers.error_chunk(cookie, error),
        }
    }

    /// Shows the bytes to send next; returns the number of slices.
    pub(super) fn output<'a>(&'a mut self, now: Instant, slices: &mut [IoSlice<'a>; SERVER_SLICES]) -> usize {
        self.answers.output(now, slices)
    }

    /// Bytes have come or gone.
    fn moved(&mut self, now: Instant) {
        self.proved = self.proved.map(|_| now);
    }

    /// Takes note that so many of these bytes have been sent.
    pub(super) fn sent(&mut self, now: Instant, count: usize, memory: &mut Memory) {
        self.moved(now);
        let share = &mut self.share;
        self.answers.sent(now, count, |buffer| memory.give(share, buffer.len(), Some(buffer)));
    }

    /// Number of operations under way.
    pub(super) fn under_way(&self) -> usize {
        self.under_way
    }

    /// Gives back all memory of the client, except that of operations under way.
    pub(super) fn end(mut self, memory: &mut Memory) {
        for buffer in self.answers.into_buffers() {
            memory.give(&mut self.share, buffer.len(), Some(buffer));
        }
        if let Payload::Write(asked, Operation::Write { buffer, .. }, _) = self.payload {
            memory.give(&mut self.share, asked.memory, Some(buffer));
        }
        memory.leave(&self.share);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::{OptionHeader, option};
    use linerate_block::{Backend, Null};

    #[test]
    fn answers_that_nobody_takes_are_not_heaped_up_in_the_negotiation() {
        let geometry = Null::new(1 << 20, 512, 1).unwrap().geometry().clone();
        let exports = [Export { name: "x".into(), description: "d".repeat(EARLY), geometry, ended: false }];
        let (now, mut memory) = (Instant::now(), Memory::new(1));
        let mut session = Session::new(now);
        let list = OptionHeader { option: option::LIST, len: 0 }.emit();
        let asked = [&3u32.to_be_bytes()[..], &list.repeat(50)].concat();
        let mut left = &asked[..];
        let mut turn = |session: &mut Session| {
            assert!(session.next(now, &exports, &mut memory, |_| false).unwrap().is_none());
            if session.wants_input() {
                let room = session.room();
                let n = room.len().min(left.len());
                room[..n].copy_from_slice(&left[..n]);
                left = &left[n..];
                session.received(now, n);
            }
        };
        for _ in 0..100 {
            turn(&mut session);
        }
        assert!(session.answers.early_len() < 3 * EARLY, "{} bytes", session.answers.early_len());
        let mut all = 0;
        for _ in 0..1000 {
            let mut slices = [IoSlice::new(&[]); SERVER_SLICES];
            let n = session.output(now, &mut slices);
            let some = slices[..n].iter().map(|slice| slice.len()).sum::<usize>().min(10_000);
            session.sent(now, some, &mut Memory::new(1));
            all += some;
            turn(&mut session);
        }
        assert!(all > 50 * EARLY && !session.has_output(), "all are answered: {all}");
    }
}

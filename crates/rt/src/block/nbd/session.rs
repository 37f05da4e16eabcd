//! One client of a server: what it asks for, and what it is answered.

use super::super::watch::Watch;
use super::memory::{Memory, Share};
use super::offer::{Offer, Verdict};
use super::service::{Export, LONGEST};
use super::stream::{Peer, Stream};
use super::wire::{Reply, Request, chunk, command, error};
use crate::wait::Sleeper;
use linerate_block::{BackendError, Buffer, Operation};
use linerate_port::Interest;
use std::collections::VecDeque;
use std::io::{ErrorKind, IoSlice, Read, Write};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

/// Requests of one client at once, those whose reply has not left included; more are left in its socket.
pub(super) const DEPTH: usize = 128;
/// Octets received at once. Larger than any option.
const INPUT: usize = 128 << 10;
/// How long a client may take to choose an export.
pub(super) const PATIENCE: Duration = Duration::from_secs(10);
/// How long a client may take to send the data of one WRITE, and to take one answer.
pub(super) const STALL: Duration = Duration::from_secs(60);
/// Octets of answers in the negotiation that wait to be taken; until then no more options are heard.
const EARLY: usize = 64 << 10;
/// Longest WRITE whose data is thrown away with an error rather than its client (`doc/proto.md`, "Block size constraints").
const BEARABLE: u32 = 64 << 20;
/// Octets of the longest head of a reply.
const HEAD: usize = Reply::CHUNK_LEN + 8;
/// Replies that leave in one system call.
const BATCH: usize = 16;
/// Times that a client is read from in its turn.
const READS: usize = 64;

/// A request that is under way.
#[derive(Clone, Copy, Debug)]
pub(super) struct Asked {
    /// The export's place.
    pub(super) export: usize,
    cookie: u64,
    kind: u16,
    offset: u64,
    /// Octets of memory that it has.
    pub(super) memory: usize,
    /// A TRIM that shall be on stable storage: a flush follows.
    pub(super) then_flush: bool,
}

impl Asked {
    pub(super) fn is_read(&self) -> bool {
        self.kind == command::READ
    }
}

/// The client has gone, or talks nonsense.
#[derive(Debug)]
pub(super) struct Gone;

enum Phase {
    Offer(Offer),
    /// Requests to the export at this place; reads are answered in chunks or not.
    Export {
        place: usize,
        structured: bool,
    },
}

/// What the octets after a request are.
enum Payload {
    None,
    /// Data of a WRITE, of which so many octets have come.
    Write(Asked, Operation, usize),
    /// So many octets of data that nobody wants; then this error is the answer.
    Skip(Asked, usize, u32),
}

struct Outgoing {
    head: [u8; HEAD],
    len: usize,
    data: Option<Buffer>,
}

impl Outgoing {
    fn parts(&self) -> [&[u8]; 2] {
        [&self.head[..self.len], self.data.as_ref().map_or(&[], |data| data.bytes())]
    }
}

pub(super) struct Session {
    stream: Stream,
    peer: Peer,
    phase: Phase,
    /// When it came.
    since: Instant,
    /// When it last asked for something, and whether it ever has.
    heard: Instant,
    has_asked: bool,
    /// Since when the first of the answers has been there to be taken.
    sending: Option<Instant>,
    share: Share,
    input: Box<[u8]>,
    start: usize,
    end: usize,
    payload: Payload,
    under_way: usize,
    /// It has said goodbye, or is told to go: closed when all is answered.
    closing: bool,
    /// There was no memory for its request: it is not listened to until there is.
    starved: bool,
    /// The answers of the negotiation.
    early: Vec<u8>,
    replies: VecDeque<Outgoing>,
    sent: usize,
}

impl Session {
    pub(super) fn new(stream: Stream, peer: Peer, now: Instant) -> Self {
        let mut early = Vec::new();
        let phase = Phase::Offer(Offer::new(&mut early));
        Self {
            stream,
            peer,
            phase,
            since: now,
            heard: now,
            has_asked: false,
            sending: Some(now),
            share: Share::default(),
            input: vec![0; INPUT].into(),
            start: 0,
            end: 0,
            payload: Payload::None,
            under_way: 0,
            closing: false,
            starved: false,
            early,
            replies: VecDeque::with_capacity(DEPTH),
            sent: 0,
        }
    }

    /// Takes no more requests.
    pub(super) fn close(&mut self) {
        self.closing = true;
    }

    /// Whether all has been answered and it can be dropped.
    pub(super) fn is_over(&self, now: Instant) -> bool {
        let done = self.closing && self.under_way == 0 && self.early.is_empty() && self.replies.is_empty();
        done || self.deadline().is_some_and(|at| at <= now)
    }

    /// Who it is.
    pub(super) fn peer(&self) -> Peer {
        self.peer
    }

    /// When it last asked for something.
    pub(super) fn heard(&self) -> Instant {
        self.heard
    }

    /// Whether it has ever asked for something.
    pub(super) fn has_asked(&self) -> bool {
        self.has_asked
    }

    /// Whether it has asked for nothing that is not done and taken.
    pub(super) fn is_idle(&self) -> bool {
        self.under_way == 0 && self.replies.is_empty() && matches!(self.payload, Payload::None)
    }

    /// When it must have chosen an export, sent the rest of what it began, or taken an answer.
    fn deadline(&self) -> Option<Instant> {
        let chosen = matches!(self.phase, Phase::Offer(_)).then(|| self.since + PATIENCE);
        let received = (!matches!(self.payload, Payload::None)).then(|| self.heard + STALL);
        let sent = self.sending.map(|since| since + STALL);
        [chosen, received, sent].into_iter().flatten().min()
    }

    fn listens(&self) -> bool {
        !self.closing && self.under_way + self.replies.len() < DEPTH && self.early.len() < EARLY
    }

    fn has_to_send(&self) -> bool {
        !self.early.is_empty() || !self.replies.is_empty()
    }

    /// Shows what to sleep on.
    pub(super) fn waits_for(&self, visit: &mut dyn FnMut(&mut dyn Sleeper)) {
        if self.listens() && !self.starved {
            visit(&mut Watch::new(self.stream.as_fd(), Interest::Readable).until(self.deadline()));
        }
        if self.has_to_send() {
            visit(&mut Watch::new(self.stream.as_fd(), Interest::Writable).until(self.deadline()));
        }
    }

    /// The next operation that it asks for; none if more must come first.
    pub(super) fn next(
        &mut self,
        now: Instant,
        exports: &[Export],
        memory: &mut Memory,
    ) -> Result<Option<(Asked, Operation)>, Gone> {
        self.starved = false;
        // Data of refused WRITEs is read for nothing: others have their turn meanwhile.
        for _ in 0..READS {
            if !self.listens() {
                break;
            }
            if let Some(next) = self.step(now, exports, memory)? {
                self.under_way += 1;
                return Ok(Some(next));
            }
            if self.closing || self.starved || !self.read()? {
                break;
            }
        }
        Ok(None)
    }

    /// Reads what has come; false if nothing has.
    fn read(&mut self) -> Result<bool, Gone> {
        loop {
            let read = if let Payload::Write(_, Operation::Write { buffer, .. }, come) = &mut self.payload
                && self.start == self.end
            {
                self.stream.read(&mut buffer.bytes_mut()[*come..]).inspect(|n| *come += n)
            } else {
                self.input.copy_within(self.start..self.end, 0);
                (self.start, self.end) = (0, self.end - self.start);
                self.stream.read(&mut self.input[self.end..]).inspect(|n| self.end += n)
            };
            match read {
                Ok(0) => return Err(Gone),
                Ok(_) => return Ok(true),
                Err(e) if e.kind() == ErrorKind::WouldBlock => return Ok(false),
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(_) => return Err(Gone),
            }
        }
    }

    /// Uses octets that have come.
    fn step(
        &mut self,
        now: Instant,
        exports: &[Export],
        memory: &mut Memory,
    ) -> Result<Option<(Asked, Operation)>, Gone> {
        while self.listens() {
            let input = &self.input[self.start..self.end];
            let (place, structured) = match &mut self.phase {
                Phase::Export { place, structured } => (*place, *structured),
                Phase::Offer(offer) => {
                    let (used, verdict) = offer.handle(input, exports, &mut self.early);
                    self.start += used;
                    match verdict {
                        Verdict::More if used == 0 => return Ok(None),
                        Verdict::More => {}
                        Verdict::Begin(place) => {
                            self.phase = Phase::Export { place, structured: offer.is_structured() };
                        }
                        Verdict::End if self.early.is_empty() => return Err(Gone),
                        Verdict::End => self.closing = true,
                    }
                    continue;
                }
            };
            match std::mem::replace(&mut self.payload, Payload::None) {
                Payload::None => {
                    let Some(head) = input.first_chunk() else { return Ok(None) };
                    let request = Request::parse(head).map_err(|_| Gone)?;
                    (self.heard, self.has_asked) = (now, true);
                    if let Some((asked, operation)) = self.request(&request, place, exports, structured, memory)? {
                        return Ok(Some((asked, operation)));
                    }
                    if self.starved {
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

    /// A request: an operation, or an answer at once, or data that must come first.
    fn request(
        &mut self,
        request: &Request,
        place: usize,
        exports: &[Export],
        structured: bool,
        memory: &mut Memory,
    ) -> Result<Option<(Asked, Operation)>, Gone> {
        let Request { flags, kind, cookie, offset, len } = *request;
        if kind == command::DISC {
            self.closing = true;
            return Ok(None);
        }
        let stable = flags & command::FLAG_FUA != 0;
        let export = exports.get(place);
        let octets = usize::try_from(len).map_err(|_| Gone)?;
        let is_write = kind == command::WRITE;
        let held = if matches!(kind, command::READ | command::WRITE) { octets } else { 0 };
        let then_flush = kind == command::TRIM && stable;
        let asked = Asked { export: place, cookie, kind, offset, memory: held, then_flush };
        let number = export.map_or(error::EIO, |export| wrong(export, request));
        if number != 0 {
            self.start += Request::LEN;
            match is_write {
                true if len > BEARABLE => return Err(Gone),
                true => self.payload = Payload::Skip(asked, octets, number),
                false => self.reply(asked, structured, Err(number), None),
            }
            return Ok(None);
        }
        let block = export.map_or(1, |export| u64::from(export.geometry.block_size));
        let (lba, blocks) = (offset / block, u64::from(len) / block);
        let mut buffer = || match memory.take(&mut self.share, octets) {
            Some(buffer) => Some(buffer),
            None => {
                self.starved = true;
                None
            }
        };
        let operation = match kind {
            command::READ => {
                let Some(buffer) = buffer() else { return Ok(None) };
                Operation::Read { lba, buffer }
            }
            command::WRITE => {
                let Some(buffer) = buffer() else { return Ok(None) };
                Operation::Write { lba, buffer, fua: stable }
            }
            command::TRIM => Operation::Discard { lba, blocks },
            command::WRITE_ZEROES => {
                Operation::WriteZeroes { lba, blocks, discard: flags & command::FLAG_NO_HOLE == 0, fua: stable }
            }
            _ => Operation::Flush,
        };
        self.start += Request::LEN;
        if is_write {
            self.payload = Payload::Write(asked, operation, 0);
            return Ok(None);
        }
        Ok(Some((asked, operation)))
    }

    /// An operation has ended; a read's buffer goes with the answer.
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
        let Asked { cookie, kind, offset, .. } = asked;
        let flags = chunk::FLAG_DONE;
        let mut head = [0; HEAD];
        let error = result.err().unwrap_or(0);
        // Reads must be answered in chunks once that is agreed, all else may be answered simply.
        let (reply, more): (_, &[u8]) = match (structured && kind == command::READ, &data) {
            (false, _) => (Reply::Simple { error, cookie }, &[]),
            (true, Some(data)) if error == 0 => {
                let len = u32::try_from(data.len()).unwrap_or(0).saturating_add(8);
                (Reply::Chunk { flags, kind: chunk::OFFSET_DATA, cookie, len }, &offset.to_be_bytes())
            }
            // The error, and a message without octets.
            (true, _) => {
                let [a, b, c, d] = error.to_be_bytes();
                (Reply::Chunk { flags, kind: chunk::ERROR | 1, cookie, len: 6 }, &[a, b, c, d, 0, 0])
            }
        };
        let mut first = [0; Reply::CHUNK_LEN];
        let len = reply.emit(&mut first);
        head[..len].copy_from_slice(&first[..len]);
        head[len..len + more.len()].copy_from_slice(more);
        let data = data.filter(|_| error == 0);
        self.replies.push_back(Outgoing { head, len: len + more.len(), data });
    }

    /// Sends answers until all have left or the socket is full; gives back their buffers. True if something left.
    pub(super) fn send(&mut self, now: Instant, memory: &mut Memory) -> Result<bool, Gone> {
        let mut worked = false;
        self.sending = self.has_to_send().then(|| self.sending.unwrap_or(now));
        while self.has_to_send() {
            let mut slices = [IoSlice::new(&[]); 1 + 2 * BATCH];
            slices[0] = IoSlice::new(&self.early);
            let (mut n, mut skip) = (1, self.sent);
            for part in self.replies.iter().take(BATCH).flat_map(Outgoing::parts) {
                let skipped = skip.min(part.len());
                skip -= skipped;
                slices[n] = IoSlice::new(&part[skipped..]);
                n += 1;
            }
            let mut left = match self.stream.write_vectored(&slices[..n]) {
                Ok(0) => return Err(Gone),
                Ok(sent) => sent,
                Err(e) if e.kind() == ErrorKind::WouldBlock => break,
                Err(e) if e.kind() == ErrorKind::Interrupted => continue,
                Err(_) => return Err(Gone),
            };
            worked = true;
            if !self.early.is_empty() {
                left -= self.early.drain(..left.min(self.early.len())).count();
                self.sending = Some(now).filter(|_| self.early.is_empty()).or(self.sending);
            }
            self.sent += left;
            while let Some(first) = self.replies.front() {
                let len = first.parts().iter().map(|part| part.len()).sum();
                if self.sent < len {
                    break;
                }
                self.sent -= len;
                self.sending = Some(now);
                if let Some(buffer) = self.replies.pop_front().and_then(|gone| gone.data) {
                    memory.give(&mut self.share, buffer.len(), Some(buffer));
                }
            }
        }
        self.sending = self.sending.filter(|_| self.has_to_send());
        Ok(worked)
    }

    /// Operations under way.
    pub(super) fn under_way(&self) -> usize {
        self.under_way
    }

    /// Gives back all its memory but for operations that are under way.
    pub(super) fn end(mut self, memory: &mut Memory) {
        for buffer in self.replies.into_iter().filter_map(|reply| reply.data) {
            memory.give(&mut self.share, buffer.len(), Some(buffer));
        }
        if let Payload::Write(asked, Operation::Write { buffer, .. }, _) = self.payload {
            memory.give(&mut self.share, asked.memory, Some(buffer));
        }
        memory.leave(&self.share);
    }
}

/// The error number of a request that cannot be done; 0 if it can be tried.
fn wrong(export: &Export, request: &Request) -> u32 {
    let g = &export.geometry;
    let (len, block) = (u64::from(request.len), u64::from(g.block_size));
    let writes = matches!(request.kind, command::WRITE | command::TRIM | command::WRITE_ZEROES);
    let moves = matches!(request.kind, command::READ | command::WRITE);
    let end = request.offset.checked_add(len);
    match request.kind {
        command::FLUSH => 0,
        _ if writes && g.read_only => error::EPERM,
        command::TRIM if !g.discards => error::ENOTSUP,
        command::READ | command::WRITE | command::TRIM | command::WRITE_ZEROES => {
            let aligned = len > 0 && request.offset.is_multiple_of(block) && len.is_multiple_of(block);
            let within = end.is_some_and(|end| end <= export.info().size);
            match (aligned && !(moves && request.len > LONGEST), within) {
                (true, true) => 0,
                (true, false) if writes && request.kind != command::TRIM => error::ENOSPC,
                _ => error::EINVAL,
            }
        }
        _ => error::EINVAL,
    }
}

fn number(error: BackendError) -> u32 {
    match error {
        BackendError::Medium | BackendError::Gone => error::EIO,
        BackendError::NoSpace => error::ENOSPC,
        BackendError::Unsupported => error::ENOTSUP,
        BackendError::ReadOnly => error::EPERM,
    }
}

#[cfg(test)]
mod tests {
    use super::super::wire::{OptionHeader, option};
    use super::*;
    use linerate_block::{Backend, Null};
    use std::os::unix::net::UnixStream;

    #[test]
    fn answers_that_nobody_takes_are_not_heaped_up_in_the_negotiation() {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        ours.set_nonblocking(true).unwrap();
        let geometry = Null::new(1 << 20, 512, 1).unwrap().geometry().clone();
        let exports = [Export { name: "x".into(), description: "d".repeat(EARLY), geometry }];
        let (now, mut memory) = (Instant::now(), Memory::new(1));
        let mut session = Session::new(Stream::Unix(ours), Peer::Process(None), now);
        let list = OptionHeader { option: option::LIST, len: 0 }.emit();
        theirs.write_all(&[&3u32.to_be_bytes()[..], &list.repeat(50)].concat()).unwrap();
        for _ in 0..100 {
            assert!(session.next(now, &exports, &mut memory).unwrap().is_none());
            session.send(now, &mut memory).unwrap();
        }
        assert!(session.early.len() < 3 * EARLY, "{} octets", session.early.len());
        theirs.set_nonblocking(true).unwrap();
        let (mut all, mut octets) = (0, vec![0; 1 << 20]);
        for _ in 0..1000 {
            all += theirs.read(&mut octets).unwrap_or(0);
            assert!(session.next(now, &exports, &mut memory).unwrap().is_none());
            session.send(now, &mut memory).unwrap();
        }
        assert!(all > 50 * EARLY && session.early.is_empty(), "all are answered: {all}");
    }
}

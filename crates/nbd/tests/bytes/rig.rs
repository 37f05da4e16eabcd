//! A server with memory behind it, and messages.

use linerate_block::{Operation, Ram, Tag};
use linerate_nbd::wire::{Go, OptionHeader, OptionReply, Reply, Request, option, reply};
use linerate_nbd::{BlockService, Exported, Gone, SERVER_SLICES, Server};
use std::io::IoSlice;
use std::time::Instant;

pub(crate) const SIZE: u64 = 1 << 20;

/// A server, and a disk of 1 MiB called "disk" whose operations end at once, or are kept.
pub(crate) struct Rig {
    pub(crate) server: Server,
    pub(crate) disk: Exported<Ram>,
    pub(crate) keeps: bool,
    pub(crate) kept: Vec<(Tag, Operation)>,
    pub(crate) now: Instant,
}

impl Rig {
    /// With one client, at place 0.
    pub(crate) fn new() -> Self {
        let (now, mut server) = (Instant::now(), Server::new());
        server.enter(0, now);
        let disk = Exported::new("disk", Ram::new(SIZE, 512, false, 1).unwrap());
        Self { server, disk, keeps: false, kept: Vec::new(), now }
    }

    /// Receives bytes as far as the server takes them, and does what they ask for; gives how many it took.
    pub(crate) fn say(&mut self, bytes: &[u8]) -> Result<usize, Gone> {
        let mut left = bytes;
        loop {
            while let Some((export, tag, operation)) = self.server.next(0, self.now, self.disk.exports())? {
                if self.keeps {
                    self.kept.push((tag, operation));
                } else {
                    self.disk.submit(export, tag, operation);
                    self.end();
                }
            }
            if left.is_empty() || !self.server.wants_input(0) {
                return Ok(bytes.len() - left.len());
            }
            let room = self.server.room(0);
            let n = room.len().min(left.len());
            assert!(n > 0, "it wants bytes, and has no room for them");
            room[..n].copy_from_slice(&left[..n]);
            left = &left[n..];
            self.server.received(0, self.now, n);
        }
    }

    /// Does what is done.
    pub(crate) fn end(&mut self) {
        while let Some(completion) = self.disk.complete() {
            let tag = completion.tag;
            if let Some(export) = self.server.completed(completion) {
                self.disk.submit(export, tag, Operation::Flush);
            }
        }
    }

    /// Sends all that is to be sent, so many bytes at once.
    pub(crate) fn hear(&mut self, at_once: usize) -> Vec<u8> {
        let mut all = Vec::new();
        loop {
            let mut slices = [IoSlice::new(&[]); SERVER_SLICES];
            let n = self.server.output(0, self.now, &mut slices);
            let some = joined(&slices[..n], at_once);
            if some.is_empty() {
                return all;
            }
            self.server.sent(0, self.now, some.len());
            all.extend(some);
        }
    }
}

/// The first bytes of slices.
pub(crate) fn joined(slices: &[IoSlice<'_>], at_most: usize) -> Vec<u8> {
    slices.iter().flat_map(|slice| slice.iter().copied()).take(at_most).collect()
}

pub(crate) fn ask(option: u32, data: &[u8]) -> Vec<u8> {
    let len = u32::try_from(data.len()).unwrap();
    [&OptionHeader { option, len }.emit()[..], data].concat()
}

/// The client's flags and GO, with STRUCTURED_REPLY before it or without.
pub(crate) fn begin(structured: bool) -> Vec<u8> {
    let go = ask(option::GO, &Go { name: "disk".into(), wanted: vec![] }.emit());
    let first = if structured { ask(option::STRUCTURED_REPLY, &[]) } else { Vec::new() };
    [&3u32.to_be_bytes()[..], &first, &go].concat()
}

pub(crate) fn request(kind: u16, flags: u16, cookie: u64, offset: u64, len: u32) -> Vec<u8> {
    Request { flags, kind, cookie, offset, len }.emit().to_vec()
}

pub(crate) fn answer(option: u32, kind: u32, data: &[u8]) -> Vec<u8> {
    let len = u32::try_from(data.len()).unwrap();
    [&OptionReply { option, kind, len }.emit()[..], data].concat()
}

/// The replies to options at the start of these bytes, up to an acknowledged GO or the end; and what is behind them.
pub(crate) fn replies(mut bytes: &[u8]) -> (Vec<OptionReply>, &[u8]) {
    let mut all = Vec::new();
    while let Some((head, rest)) = bytes.split_first_chunk() {
        let head = OptionReply::parse(head).unwrap();
        all.push(head);
        bytes = &rest[usize::try_from(head.len).unwrap()..];
        if head.kind == reply::ACK && head.option == option::GO {
            break;
        }
    }
    (all, bytes)
}

pub(crate) fn emit(reply: Reply) -> Vec<u8> {
    let mut head = [0; Reply::CHUNK_LEN];
    let len = reply.emit(&mut head);
    head[..len].to_vec()
}

pub(crate) fn simple(cookie: u64, error: u32) -> Vec<u8> {
    emit(Reply::Simple { error, cookie })
}

pub(crate) fn chunk(flags: u16, kind: u16, cookie: u64, body: &[u8]) -> Vec<u8> {
    let len = u32::try_from(body.len()).unwrap();
    [emit(Reply::Chunk { flags, kind, cookie, len }), body.to_vec()].concat()
}

//! Output queue of a client: negotiation answers, and replies, whose data is sent from the buffer that it was read
//! into.

use super::SERVER_SLICES;
use crate::wire::{Reply, chunk};
use linerate_block::Buffer;
use std::collections::VecDeque;
use std::io::IoSlice;
use std::time::Instant;

/// Bytes of the longest reply head.
const HEAD: usize = Reply::CHUNK_LEN + 8;
/// Replies sent at once.
pub(super) const BATCH: usize = 16;

/// Answers that have not been sent.
#[derive(Debug)]
pub(super) struct Answers {
    /// The answers of the negotiation.
    early: Vec<u8>,
    replies: VecDeque<Outgoing>,
    /// Bytes of the first reply that have been sent.
    sent: usize,
    /// Time since which the first of the answers has been ready to send.
    since: Option<Instant>,
}

#[derive(Debug)]
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

impl Answers {
    /// Queue with a greeting only, and room for `depth` replies.
    pub(super) fn new(early: Vec<u8>, depth: usize, now: Instant) -> Self {
        Self { early, replies: VecDeque::with_capacity(depth), sent: 0, since: Some(now) }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.early.is_empty() && self.replies.is_empty()
    }

    /// The answers of the negotiation.
    pub(super) fn early(&mut self) -> &mut Vec<u8> {
        &mut self.early
    }

    /// Bytes of the negotiation answers.
    pub(super) fn early_len(&self) -> usize {
        self.early.len()
    }

    /// Number of replies in the queue.
    pub(super) fn replies(&self) -> usize {
        self.replies.len()
    }

    /// Time since which the first answer has been ready to send.
    pub(super) fn since(&self) -> Option<Instant> {
        self.since
    }

    /// Queues a simple reply, with the data of a READ if that has succeeded.
    pub(super) fn simple(&mut self, cookie: u64, error: u32, data: Option<Buffer>) {
        self.push(Reply::Simple { error, cookie }, &[], data.filter(|_| error == 0));
    }

    /// Queues the data of a READ as the one chunk of its reply.
    pub(super) fn chunk(&mut self, cookie: u64, offset: u64, data: Buffer) {
        let len = u32::try_from(data.len()).unwrap_or(0).saturating_add(8);
        let head = Reply::Chunk { flags: chunk::FLAG_DONE, kind: chunk::OFFSET_DATA, cookie, len };
        self.push(head, &offset.to_be_bytes(), Some(data));
    }

    /// Queues the error of a READ as the one chunk of its reply: a number, and an empty message.
    pub(super) fn error_chunk(&mut self, cookie: u64, error: u32) {
        let [a, b, c, d] = error.to_be_bytes();
        let head = Reply::Chunk { flags: chunk::FLAG_DONE, kind: chunk::ERROR | 1, cookie, len: 6 };
        self.push(head, &[a, b, c, d, 0, 0], None);
    }

    fn push(&mut self, reply: Reply, more: &[u8], data: Option<Buffer>) {
        let mut first = [0; Reply::CHUNK_LEN];
        let len = reply.emit(&mut first);
        let mut head = [0; HEAD];
        head[..len].copy_from_slice(&first[..len]);
        head[len..len + more.len()].copy_from_slice(more);
        self.replies.push_back(Outgoing { head, len: len + more.len(), data });
    }

    /// Shows the bytes to send next; returns the number of slices.
    pub(super) fn output<'a>(&'a mut self, now: Instant, slices: &mut [IoSlice<'a>; SERVER_SLICES]) -> usize {
        if self.is_empty() {
            self.since = None;
            return 0;
        }
        self.since.get_or_insert(now);
        slices[0] = IoSlice::new(&self.early);
        let (mut n, mut skip) = (1, self.sent);
        for part in self.replies.iter().take(BATCH).flat_map(Outgoing::parts) {
            let skipped = skip.min(part.len());
            skip -= skipped;
            slices[n] = IoSlice::new(&part[skipped..]);
            n += 1;
        }
        n
    }

    /// Takes note that so many bytes have been sent; gives back the data buffers of completely sent replies.
    pub(super) fn sent(&mut self, now: Instant, count: usize, mut give: impl FnMut(Buffer)) {
        let mut left = count;
        if !self.early.is_empty() {
            left -= self.early.drain(..left.min(self.early.len())).count();
            if self.early.is_empty() {
                self.since = Some(now);
            }
        }
        self.sent += left;
        while let Some(first) = self.replies.front() {
            let len = first.parts().iter().map(|part| part.len()).sum();
            if self.sent < len {
                break;
            }
            self.sent -= len;
            self.since = Some(now);
            if let Some(buffer) = self.replies.pop_front().and_then(|gone| gone.data) {
                give(buffer);
            }
        }
        self.since = self.since.filter(|_| !self.is_empty());
    }

    /// Data buffers of all replies.
    pub(super) fn into_buffers(self) -> impl Iterator<Item = Buffer> {
        self.replies.into_iter().filter_map(|reply| reply.data)
    }
}

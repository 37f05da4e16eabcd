//! Roof of a TCP stream: the same bytes copied, copied and summed, summed, and copied out, without frames, rings or protocol.

use super::tcp::MSS;
use super::tcp_stream::{Pair, Receives, Sends};
use super::{Missing, failed};
use linerate_sum::{Sum, copy_and_sum};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

/// Segments of a piece that goes from core to core, and pieces: as many segments as a ring of 1024 slots has.
const SEGMENTS: usize = 44;
const PIECES: usize = 23;

/// Segments that go from core to core, and the sum of each.
struct Piece {
    bytes: Vec<u8>,
    sums: Vec<u16>,
}

/// Sender: its memory, and what of it is filled; pieces that come back, and those that go.
struct Giver {
    memory: Vec<u8>,
    held: usize,
    free: Receiver<Piece>,
    full: SyncSender<Piece>,
}

/// Receiver: pieces that come, the present one and its first segment that was not read, and the way back.
struct Taker {
    full: Receiver<Piece>,
    free: SyncSender<Piece>,
    piece: Option<(Piece, usize)>,
}

pub(super) fn pair() -> Result<Pair, Missing> {
    let (back, free) = sync_channel(PIECES);
    let (forth, full) = sync_channel(PIECES);
    for _ in 0..PIECES {
        let piece = Piece { bytes: vec![0; SEGMENTS * MSS], sums: vec![0; SEGMENTS] };
        back.send(piece).map_err(failed)?;
    }
    let giver = Giver { memory: vec![0; SEGMENTS * MSS], held: 0, free, full: forth };
    Ok((Box::new(giver), Box::new(Taker { full, free: back, piece: None })))
}

impl Sends for Giver {
    fn turn(&mut self, _now: u64) -> Result<(), Missing> {
        Ok(())
    }

    #[inline]
    fn write(&mut self, bytes: &[u8]) -> usize {
        if self.held == self.memory.len() {
            let Ok(mut piece) = self.free.try_recv() else { return 0 };
            let segments = self.memory.chunks_exact(MSS).zip(piece.bytes.chunks_exact_mut(MSS));
            for ((from, to), sum) in segments.zip(&mut piece.sums) {
                *sum = copy_and_sum(to, from).finish();
            }
            if self.full.try_send(piece).is_err() {
                return 0;
            }
            self.held = 0;
        }
        let n = bytes.len().min(self.memory.len() - self.held);
        self.memory[self.held..self.held + n].copy_from_slice(&bytes[..n]);
        self.held += n;
        n
    }
}

impl Receives for Taker {
    fn turn(&mut self, _now: u64) {}

    fn read(&mut self, into: &mut [u8]) -> Result<usize, Missing> {
        let Some((piece, first)) = self.piece.take().or_else(|| Some((self.full.try_recv().ok()?, 0))) else {
            return Ok(0);
        };
        let end = SEGMENTS.min(first + into.len() / MSS);
        for ((from, to), sum) in piece.bytes[first * MSS..end * MSS]
            .chunks_exact(MSS)
            .zip(into.chunks_exact_mut(MSS))
            .zip(&piece.sums[first..end])
        {
            if Sum::new().add_bytes(from).finish() != *sum {
                return Err(failed("a checksum is wrong"));
            }
            to.copy_from_slice(from);
        }
        let read = (end - first) * MSS;
        if end < SEGMENTS {
            self.piece = Some((piece, end));
        } else {
            // Who sends may be gone.
            let _ = self.free.try_send(piece);
        }
        Ok(read)
    }
}

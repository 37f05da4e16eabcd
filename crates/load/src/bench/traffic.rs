//! Frames for benches in which one thread is sender and receiver: written, numbered, and checked byte for byte.

use super::{Missing, failed};
use crate::check::Check;
use crate::frame::{Flow, Layout, Mark, Payload, Template};
use linerate_port::{RxQueue, TxQueue};
use std::net::IpAddr;

/// Frames per turn.
pub(super) const BATCH: u32 = 256;
/// Length of each frame, bytes.
const SIZE: usize = 64;

/// Address of a station: 1 sends, 2 receives.
pub(super) fn station(number: u8) -> [u8; 6] {
    [2, 0, 0, 0, 0, number]
}

pub(super) struct Traffic {
    bytes: Vec<u8>,
    words: usize,
    check: Check,
    next: u64,
}

/// Run number in the frames' marks.
const RUN: u16 = 1;

impl Traffic {
    pub(super) fn new() -> Self {
        let layout = Layout { vnet: 0, v6: false };
        let template =
            Template { layout, src_mac: station(1), dst_mac: station(2), stream: 0, payload: Payload::Marked };
        let address = |last| IpAddr::from([10, 0, 0, last]);
        let flow = Flow { src: address(1), dst: address(2), src_port: 1234, dst_port: 1234 };
        let mut check = Check::new(0, Some(RUN));
        check.expect(&template, RUN, Some(flow), SIZE);
        Self { bytes: template.frame(SIZE, &flow, RUN, 0, 0), words: layout.words(), check, next: 0 }
    }

    /// Writes and commits a batch of frames, as far as there is room; the caller syncs.
    pub(super) fn write(&mut self, queue: &mut TxQueue) -> Result<(), Missing> {
        let mut batch = queue.ring.reserve(BATCH);
        let n = batch.len();
        for i in 0..n {
            let mark = Mark::bytes(Mark::word(RUN, self.next));
            if !batch.put(i, &self.bytes) || !batch.frame(i).write(self.words, &mark) {
                return Err(failed("a frame does not fit"));
            }
            self.next += 1;
        }
        batch.commit(n);
        Ok(())
    }

    /// Checks and releases a batch of the frames that the last sync delivered, and returns its length; the caller syncs again.
    pub(super) fn read(&mut self, queue: &mut RxQueue) -> u64 {
        let mut batch = queue.ring.batch(BATCH);
        let n = batch.len();
        for i in 0..n {
            if let Some((frame, _)) = batch.frame(i) {
                self.check.frame(&frame);
            }
        }
        batch.release(n);
        n.into()
    }

    /// Checks that exactly so many frames have arrived whole and in order, and nothing else.
    pub(super) fn judge(&self, frames: u64) -> Result<(), Missing> {
        let r = self.check.received();
        if r.corrupt + r.foreign + r.duplicates + r.lost + r.reordered > 0 || r.ours != frames || frames == 0 {
            return Err(failed(format!("of {frames} frames forwarded {} arrived whole and in order", r.ours)));
        }
        Ok(())
    }
}

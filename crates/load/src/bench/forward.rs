//! A forwarder that swaps buffers between two cables.

use super::{Bench, Missing, Setting, Unit};
use crate::check::Check;
use crate::frame::{Flow, Layout, Mark, Payload, Template};
use linerate_port::{RxQueue, TxQueue, open_all};
use linerate_ring::forward;
use linerate_rt::{Clock, spawn};
use std::net::IpAddr;

pub(super) const BENCH: Bench = Bench {
    name: "forward",
    about: "64-byte frames from one cable to another by a swap of buffers: the forwarder's own time, on one core",
    unit: Unit::Pps,
    two_cores: false,
    bound: Some(200e6),
    run,
    peers: &[],
};

/// Frames a turn.
const BATCH: u32 = 256;
/// Length of each.
const SIZE: usize = 64;

fn run(setting: &Setting) -> Result<f64, Missing> {
    let (core, time) = (setting.cores[0], setting.time);
    let failed = |e: &dyn std::fmt::Display| Missing::Failed(e.to_string());
    let work = spawn("forward", &[core], move || measure(time.as_nanos().try_into().unwrap_or(u64::MAX)));
    work.map_err(|e| failed(&e))?.join().map_err(|_| failed(&"the thread panicked"))?
}

/// One thread plays sender, forwarder and receiver in turn; only the forwarder's turns are timed.
fn measure(time: u64) -> Result<f64, Missing> {
    let failed = |e: &dyn std::fmt::Display| Missing::Failed(e.to_string());
    let names = ["cable:in{1", "cable:in}1", "cable:out{1", "cable:out}1"];
    let mut ports = open_all(&names).map_err(|e| failed(&e))?;
    let no_queue = || failed(&"no queue");
    let mut sender = ports[0].take_tx(0).ok_or_else(no_queue)?;
    let mut from = ports[1].take_rx(0).ok_or_else(no_queue)?;
    let mut to = ports[2].take_tx(0).ok_or_else(no_queue)?;
    let mut receiver = ports[3].take_rx(0).ok_or_else(no_queue)?;
    let mut traffic = Traffic::new();
    let mut clock = Clock::new();
    let (start, mut spent, mut frames) = (clock.now(), 0, 0u64);
    while clock.now() < start + time {
        traffic.send(&mut sender)?;
        let before = clock.now();
        from.sync();
        let moved = forward(from.ring.batch(BATCH), to.ring.reserve(BATCH), BATCH);
        to.sync();
        from.sync();
        spent += clock.now() - before;
        frames += u64::from(moved.ok_or_else(|| failed(&"the ports do not share a region"))?.1);
        traffic.receive(&mut receiver);
    }
    traffic.judge(frames)?;
    Ok(frames as f64 * 1e9 / spent as f64)
}

/// The frames, written and checked byte for byte at the ends.
struct Traffic {
    bytes: Vec<u8>,
    words: usize,
    check: Check,
    next: u64,
}

/// The run in the frames' marks.
const RUN: u16 = 1;

impl Traffic {
    fn new() -> Self {
        let layout = Layout { vnet: 0, v6: false };
        let template = Template {
            layout,
            src_mac: [2, 0, 0, 0, 0, 1],
            dst_mac: [2, 0, 0, 0, 0, 2],
            stream: 0,
            payload: Payload::Marked,
        };
        let address = |last| IpAddr::from([10, 0, 0, last]);
        let flow = Flow { src: address(1), dst: address(2), src_port: 1234, dst_port: 1234 };
        let mut check = Check::new(0, Some(RUN));
        check.expect(&template, RUN, Some(flow), SIZE);
        Self { bytes: template.frame(SIZE, &flow, RUN, 0, 0), words: layout.words(), check, next: 0 }
    }

    fn send(&mut self, queue: &mut TxQueue) -> Result<(), Missing> {
        let mut batch = queue.ring.reserve(BATCH);
        let n = batch.len();
        for i in 0..n {
            let mark = Mark::bytes(Mark::word(RUN, self.next));
            if !batch.put(i, &self.bytes) || !batch.frame(i).write(self.words, &mark) {
                return Err(Missing::Failed("a frame does not fit".into()));
            }
            self.next += 1;
        }
        batch.commit(n);
        queue.sync();
        Ok(())
    }

    fn receive(&mut self, queue: &mut RxQueue) {
        queue.sync();
        let mut batch = queue.ring.batch(BATCH);
        let n = batch.len();
        for i in 0..n {
            if let Some((frame, _)) = batch.frame(i) {
                self.check.frame(&frame);
            }
        }
        batch.release(n);
        queue.sync();
    }

    fn judge(&self, frames: u64) -> Result<(), Missing> {
        let r = self.check.received();
        if r.corrupt + r.foreign + r.duplicates + r.lost + r.reordered > 0 || r.ours != frames || frames == 0 {
            return Err(Missing::Failed(format!("of {frames} frames forwarded {} arrived whole and in order", r.ours)));
        }
        Ok(())
    }
}

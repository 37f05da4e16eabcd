//! Bench of a sender's cost per frame without its bytes: reserve, set, commit and sync on a port that discards all
//! frames.

use super::alone::{each_ns, on_core};
use super::{Bench, Missing, Setting, failed};
use linerate_port::open_all;
use linerate_result::Unit;
use std::time::Duration;

pub(super) const BENCH: Bench = Bench {
    name: "null",
    about: "transmit bookkeeping: slots reserved, set, committed and synced, no bytes written; one core",
    unit: Unit::Ns,
    two_cores: false,
    bound: Some(3.0),
    run,
    peers: &[],
};

/// Frames per batch.
const BATCH: u32 = 256;

fn run(setting: &Setting) -> Result<f64, Missing> {
    let time = setting.time;
    on_core(setting.cores[0], move || measure(time))
}

fn measure(time: Duration) -> Result<f64, Missing> {
    let mut ports = open_all(&["null:"]).map_err(failed)?;
    let mut tx = ports[0].take_tx(0).ok_or_else(|| failed("no queue"))?;
    let mut frames = 0u64;
    let ns = each_ns(time, || {
        let before = frames;
        for _ in 0..64 {
            let mut batch = tx.ring.reserve(BATCH);
            let n = batch.len();
            for i in 0..n {
                batch.set(i, 60, 0);
            }
            batch.commit(n);
            tx.sync();
            frames += u64::from(n);
        }
        Ok(frames - before)
    })?;
    let count = tx.counters();
    if count.frames != frames || count.bytes != 60 * frames || count.syscalls != 0 {
        return Err(Missing::Failed(format!("{frames} frames were sent and {} counted", count.frames)));
    }
    Ok(ns)
}

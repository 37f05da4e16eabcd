//! What a frame costs its sender beside its bytes: reserve, set, commit and sync on a port that swallows all.

use super::{Bench, Missing, Setting, Unit};
use linerate_port::open_all;
use linerate_rt::{Clock, spawn};

pub(super) const BENCH: Bench = Bench {
    name: "null",
    about: "transmit bookkeeping: slots reserved, set, committed and synced, no bytes written; one core",
    unit: Unit::Ns,
    two_cores: false,
    bound: Some(3.0),
    run,
    peers: &[],
};

/// Frames a batch.
const BATCH: u32 = 256;

fn run(setting: &Setting) -> Result<f64, Missing> {
    let (core, time) = (setting.cores[0], setting.time.as_nanos().try_into().unwrap_or(u64::MAX));
    let failed = |e: &dyn std::fmt::Display| Missing::Failed(e.to_string());
    let work = spawn("null", &[core], move || measure(time));
    work.map_err(|e| failed(&e))?.join().map_err(|_| failed(&"the thread panicked"))?
}

fn measure(time: u64) -> Result<f64, Missing> {
    let failed = |e: &dyn std::fmt::Display| Missing::Failed(e.to_string());
    let mut ports = open_all(&["null:"]).map_err(|e| failed(&e))?;
    let mut tx = ports[0].take_tx(0).ok_or_else(|| failed(&"no queue"))?;
    let mut clock = Clock::new();
    let (start, mut frames) = (clock.now(), 0u64);
    while clock.now() < start + time {
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
    }
    let spent = clock.now() - start;
    let count = tx.counters();
    if count.frames != frames || count.bytes != 60 * frames || count.syscalls != 0 {
        return Err(Missing::Failed(format!("{frames} frames were sent and {} counted", count.frames)));
    }
    Ok(spent as f64 / frames as f64)
}

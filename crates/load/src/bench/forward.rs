//! Bench of a forwarder that swaps buffers between two cables.

use super::alone::on_core;
use super::traffic::{BATCH, Traffic};
use super::{Bench, Missing, Setting, failed};
use linerate_port::open_all;
use linerate_result::Unit;
use linerate_ring::forward;
use linerate_rt::Clock;
use linerate_text::saturating_ns;

pub(super) const BENCH: Bench = Bench {
    name: "forward",
    about: "64-byte frames from one cable to another by a swap of buffers: the forwarder's own time, on one core",
    unit: Unit::Pps,
    two_cores: false,
    bound: Some(200e6),
    run,
    peers: &[],
};

fn run(setting: &Setting) -> Result<f64, Missing> {
    let time = setting.time;
    on_core(setting.cores[0], move || measure(saturating_ns(time)))
}

/// Measures with one thread as sender, forwarder and receiver in turn; only the forwarder's turns are timed.
fn measure(time: u64) -> Result<f64, Missing> {
    let names = ["cable:in{1", "cable:in}1", "cable:out{1", "cable:out}1"];
    let mut ports = open_all(&names).map_err(failed)?;
    let no_queue = || failed("no queue");
    let mut sender = ports[0].take_tx(0).ok_or_else(no_queue)?;
    let mut from = ports[1].take_rx(0).ok_or_else(no_queue)?;
    let mut to = ports[2].take_tx(0).ok_or_else(no_queue)?;
    let mut receiver = ports[3].take_rx(0).ok_or_else(no_queue)?;
    let mut traffic = Traffic::new();
    let mut clock = Clock::new();
    let (start, mut spent, mut frames) = (clock.now(), 0, 0u64);
    while clock.now() < start + time {
        traffic.write(&mut sender)?;
        sender.sync();
        let before = clock.now();
        from.sync();
        let moved = forward(from.ring.batch(BATCH), to.ring.reserve(BATCH), BATCH, |_| true);
        to.sync();
        from.sync();
        spent += clock.now() - before;
        frames += u64::from(moved.ok_or_else(|| failed("the ports do not share a region"))?.1);
        receiver.sync();
        traffic.read(&mut receiver);
        receiver.sync();
    }
    traffic.judge(frames)?;
    Ok(frames as f64 * 1e9 / spent as f64)
}

//! Bench of the time that a request of one byte and its answer take over TCP, an end on each core.

use super::tcp_pair::{PATIENCE, connect, hosts, listen};
use super::{Bench, How, Missing, Peer, Setting, failed};
use hdrhistogram::Histogram;
use linerate_port::open_all;
use linerate_result::Unit;
use linerate_rt::{Clock, spawn};
use linerate_text::saturating_ns;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

macro_rules! bench {
    ($name:literal, $about:literal, $quantile:literal, $wanted:expr) => {
        Bench {
            name: $name,
            about: $about,
            unit: Unit::Ns,
            two_cores: true,
            bound: None,
            run: |setting| tcp(setting, $quantile),
            peers: &[Peer {
                name: "a frame of 64 bytes and its echo",
                how: How::Own(|setting| frames(setting, $quantile)),
                wanted: $wanted,
            }],
        }
    };
}

pub(super) const TRIP: Bench = bench!(
    "tcp-trip",
    "a byte and its answer over one TCP connection over a cable, an end on each core, both spinning: median",
    0.5,
    Some(0.67)
);
pub(super) const TAIL: Bench = bench!("tcp-trip-p999", "the same: 999 of 1000 take no longer", 0.999, None);

/// Times of round trips, ns.
struct Trips(Histogram<u64>);

impl Trips {
    fn new() -> Result<Self, Missing> {
        Histogram::new_with_max(1_000_000_000, 3).map(Self).map_err(failed)
    }

    fn quantile(&self, quantile: f64) -> Result<f64, Missing> {
        if self.0.is_empty() { Err(failed("no answer came")) } else { Ok(self.0.value_at_quantile(quantile) as f64) }
    }
}

/// Runs both ends, each on its core: `ask` measures until `over` is set by it, `answer` until then.
fn both(
    setting: &Setting,
    quantile: f64,
    ask: impl FnOnce(u64) -> Result<Trips, Missing> + Send + 'static,
    answer: impl FnMut(u64) -> Result<(), Missing> + Send + 'static,
) -> Result<f64, Missing> {
    let time = saturating_ns(setting.time);
    let over = Arc::new(AtomicBool::new(false));
    let (ends, mut answer) = (over.clone(), answer);
    let answering = spawn("trip-answer", &[setting.cores[1]], move || {
        let mut clock = Clock::new();
        while !ends.load(Relaxed) {
            answer(clock.now())?;
        }
        Ok::<_, Missing>(())
    });
    let asking = spawn("trip-ask", &[setting.cores[0]], move || {
        let trips = ask(time);
        over.store(true, Relaxed);
        trips
    });
    let trips = asking.map_err(failed)?.join().map_err(|_| failed("who asks panicked"))?;
    answering.map_err(failed)?.join().map_err(|_| failed("who answers panicked"))??;
    trips?.quantile(quantile)
}

fn tcp(setting: &Setting, quantile: f64) -> Result<f64, Missing> {
    let mut hosts = hosts("tcp-trip", 256)?;
    let listener = listen(&mut hosts, 5001)?;
    let (ours, theirs) = connect(&mut hosts, listener, 1)?[0];
    let [mut near, mut far] = hosts;
    let ask = move |time| {
        let (mut clock, mut trips, mut number) = (Clock::new(), Trips::new()?, 0_u8);
        let until = clock.now() + time;
        loop {
            let start = clock.now();
            if start >= until {
                return Ok(trips);
            }
            number = number.wrapping_add(1);
            near.ip.host.tcp_write(ours, &[number]);
            let mut byte = [0];
            loop {
                let now = clock.now();
                near.handle(now);
                if near.ip.host.tcp_read(ours, &mut byte) == Some(1) {
                    break;
                }
                if now > start + PATIENCE {
                    return Err(failed("no answer comes"));
                }
            }
            if byte != [number] {
                return Err(failed("another answer came"));
            }
            trips.0.saturating_record(clock.now() - start);
        }
    };
    let answer = move |now| {
        far.handle(now);
        let mut bytes = [0; 64];
        let n = far.ip.host.tcp_read(theirs, &mut bytes).unwrap_or(0);
        if n > 0 {
            far.ip.host.tcp_write(theirs, &bytes[..n]);
            far.handle(now);
        }
        Ok(())
    };
    both(setting, quantile, ask, answer)
}

/// The same with bare frames, one at a time.
fn frames(setting: &Setting, quantile: f64) -> Result<f64, Missing> {
    let mut ports = open_all(&["cable:trip{1,slots=256", "cable:trip}1,slots=256"]).map_err(failed)?;
    let no_queue = || failed("no queue");
    let mut near = (ports[0].take_tx(0).ok_or_else(no_queue)?, ports[0].take_rx(0).ok_or_else(no_queue)?);
    let mut far = (ports[1].take_tx(0).ok_or_else(no_queue)?, ports[1].take_rx(0).ok_or_else(no_queue)?);
    let ask = move |time| {
        let (mut clock, mut trips, mut frame) = (Clock::new(), Trips::new()?, [0_u8; 64]);
        let until = clock.now() + time;
        loop {
            let start = clock.now();
            if start >= until {
                return Ok(trips);
            }
            frame[63] = frame[63].wrapping_add(1);
            let mut batch = near.0.ring.reserve(1);
            if !batch.put(0, &frame) {
                return Err(failed("a frame does not fit"));
            }
            batch.commit(1);
            near.0.sync();
            loop {
                near.1.sync();
                let mut batch = near.1.ring.batch(1);
                if !batch.is_empty() {
                    if batch.frame(0).is_none_or(|(came, _)| came.bytes() != Some(&frame[..])) {
                        return Err(failed("another frame came"));
                    }
                    batch.release(1);
                    near.1.sync();
                    break;
                }
                if clock.now() > start + PATIENCE {
                    return Err(failed("no frame comes"));
                }
            }
            trips.0.saturating_record(clock.now() - start);
        }
    };
    let answer = move |_| {
        far.1.sync();
        let mut batch = far.1.ring.batch(1);
        if !batch.is_empty() {
            let Some((came, _)) = batch.frame(0) else { return Err(failed("no whole frame came")) };
            let mut back = far.0.ring.reserve(1);
            if !came.bytes().is_some_and(|bytes| back.put(0, bytes)) {
                return Err(failed("an echo does not fit"));
            }
            back.commit(1);
            batch.release(1);
            far.1.sync();
        }
        far.0.sync();
        Ok(())
    };
    both(setting, quantile, ask, answer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_and_frames_come_back() {
        let Some(setting) = Setting::brief() else { return };
        assert!(tcp(&setting, 0.5).unwrap() > 0.0 && frames(&setting, 0.5).unwrap() > 0.0);
    }
}

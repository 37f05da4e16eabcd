//! A switch of its own thread, as `linerate switch` runs it, with programs' ports that have nothing to say: the processor
//! time that it takes.

use super::super::{Missing, Setting, failed};
use crate::switch::{SwitchJob, serve};
use linerate_port::switch::{Ledger, Listener, Switch};
use linerate_port::{Port, RxQueue, open};
use linerate_rt::control::callee;
use linerate_rt::{Stop, ThreadTime, WaitMode, monotonic_ns, raise_descriptors, spawn};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Acquire, Ordering::Relaxed, Ordering::Release};
use std::time::{Duration, Instant};

/// Descriptors for a port: both ends are in this process.
const DESCRIPTORS: u64 = 28;
/// Interval between two frames that each wake the switch.
const EACH: Duration = Duration::from_micros(400);
/// Interval between two looks at an idle switch.
const RESTS: Duration = Duration::from_millis(50);
/// Time for which frames that do not arrive are waited for.
const PATIENCE: Duration = Duration::from_secs(5);
/// Readings are a second apart, and two are needed.
const LEAST: Duration = Duration::from_millis(2300);
/// Time for two where others have the cores for seconds.
const LATEST: Duration = Duration::from_secs(60);

/// State of the switch's thread at one time.
#[derive(Clone, Copy)]
struct Reading {
    at: u64,
    spent: Duration,
    frames: u64,
}

/// Measures the time that a switch of `n` idle ports takes in a second, in ns.
pub(super) fn idle(setting: &Setting, n: usize) -> Result<f64, Missing> {
    let (first, last) = readings(setting, n, WaitMode::Adaptive, false)?;
    Ok((last.spent - first.spent).as_nanos() as f64 * 1e9 / (last.at - first.at) as f64)
}

/// Measures the time that a switch of `n` ports takes for a frame that wakes it, in ns.
pub(super) fn wake(setting: &Setting, n: usize) -> Result<f64, Missing> {
    let (first, last) = readings(setting, n, WaitMode::Sleep, true)?;
    match last.frames - first.frames {
        0 => Err(failed("no frame arrived")),
        frames => Ok((last.spent - first.spent).as_nanos() as f64 / frames as f64),
    }
}

/// Runs a switch with `n` programs' ports; returns its first and its last reading after they had come.
fn readings(setting: &Setting, n: usize, wait: WaitMode, sends: bool) -> Result<(Reading, Reading), Missing> {
    let name = format!("scale-{}", std::process::id());
    let descriptors = raise_descriptors().map_err(failed)?;
    if descriptors < DESCRIPTORS * n as u64 {
        return Err(Missing::Skipped(format!("a process may have {descriptors} descriptors only (ulimit -Hn)")));
    }
    let (listener, stop) = (Listener::open(&name, None).map_err(failed)?, Stop::new().map_err(failed)?);
    let (theirs, asked) = (Arc::new((AtomicBool::new(false), AtomicU64::new(0), AtomicU64::new(0))), stop.clone());
    let mine = theirs.clone();
    let calls = callee().map_err(failed)?;
    let switching = spawn("switch", &[setting.cores[1]], move || {
        let (mut job, mut readings) = (SwitchJob { switch: Switch::new(), listener, dcb: None }, Vec::new());
        serve(&mut job, &calls, None, wait, &asked, &mut |_| {
            if theirs.0.load(Acquire) {
                let time = ThreadTime::of_this_thread();
                let frames = theirs.1.load(Relaxed);
                readings.push(Reading { at: monotonic_ns(), spent: time.user + time.system, frames });
                theirs.2.fetch_add(1, Relaxed);
            }
        });
        (readings, Ledger::of(&job.switch.ports()))
    })
    .map_err(failed)?;
    let ran = attach(&name, n).and_then(|mut ports| {
        mine.0.store(true, Release);
        let (begin, least) = (Instant::now(), setting.time.max(LEAST));
        let goes_on = || begin.elapsed() < least || mine.2.load(Relaxed) < 2 && begin.elapsed() < LATEST;
        if sends { trickle(&mut ports, &mine.1, goes_on) } else { rest(goes_on) }
    });
    stop.ask(0);
    let (readings, ledger) = switching.join().map_err(|_| failed("the switch panicked"))?;
    let lost = ran?;
    // The first frame may come before the switch has taken over the port that it is for, and is refused then.
    let (dropped, refused) = (ledger.dropped.total(), ledger.refused.total());
    if ledger.unexplained != 0 || lost != dropped + refused {
        return Err(failed(format!("{lost} frames did not arrive: {ledger:?}")));
    }
    if dropped > 0 {
        return Err(Missing::Discarded(format!(
            "others had the switch's core for long, and {dropped} frames were dropped"
        )));
    }
    match *readings.as_slice() {
        [first, .., last] => Ok((first, last)),
        _ => Err(failed(format!("the switch did not run for two seconds in {} s", LATEST.as_secs()))),
    }
}

fn rest(goes_on: impl Fn() -> bool) -> Result<u64, Missing> {
    while goes_on() {
        std::thread::sleep(RESTS);
    }
    Ok(0)
}

fn attach(name: &str, n: usize) -> Result<Vec<Port>, Missing> {
    (0..n).map(|port| open(&format!("vale:{name}:p{port},slots=64")).map_err(failed)).collect()
}

/// Sends frames to and fro between the first two ports, so far apart that the switch sleeps between them; returns the number
/// of those that did not arrive.
fn trickle(ports: &mut [Port], arrived: &AtomicU64, goes_on: impl Fn() -> bool) -> Result<u64, Missing> {
    let no_queue = || failed("no queue");
    let mut ends = Vec::new();
    for port in &mut ports[..2] {
        ends.push((port.take_tx(0).ok_or_else(no_queue)?, port.take_rx(0).ok_or_else(no_queue)?));
    }
    let frame = |to: u8, from: u8| {
        let mut frame = [0; 60];
        frame[..6].copy_from_slice(&[2, 0, 0, 0, 0, to]);
        frame[6..12].copy_from_slice(&[2, 0, 0, 0, 0, from]);
        frame[12..14].copy_from_slice(&[0x88, 0xb5]);
        frame
    };
    let frames = [frame(1, 0), frame(0, 1)];
    let (mut from, mut sent, mut came) = (0, 0u64, 0u64);
    while goes_on() {
        let (tx, _) = &mut ends[from];
        tx.sync();
        let mut batch = tx.ring.reserve(1);
        // Without room the switch has not run for long: others keep its core.
        if !batch.is_empty() && batch.put(0, &frames[from]) {
            batch.commit(1);
            tx.sync();
            sent += 1;
        }
        std::thread::sleep(EACH);
        from = 1 - from;
        came += take(&mut ends[from].1);
        arrived.store(came, Relaxed);
    }
    let patience = Instant::now() + PATIENCE;
    while came < sent && Instant::now() < patience {
        std::thread::sleep(EACH);
        came += ends.iter_mut().map(|(_, rx)| take(rx)).sum::<u64>();
    }
    Ok(sent.saturating_sub(came))
}

/// Takes all frames that have arrived; returns their number.
fn take(rx: &mut RxQueue) -> u64 {
    rx.sync();
    let batch = rx.ring.batch(u32::MAX);
    let n = batch.len();
    batch.release(n);
    rx.sync();
    n.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_switch_that_sleeps_carries_what_wakes_it() {
        let cores = [linerate_rt::cpus()[0]; 2];
        let setting = Setting { cores, time: Duration::from_millis(10), rounds: 1, peers: None };
        // What others disturb is measured again.
        let woken = (0..100).map(|_| wake(&setting, 3)).find(|woken| !matches!(woken, Err(Missing::Discarded(_))));
        assert!(woken.expect("others have the core each time").unwrap() > 0.0);
    }
}

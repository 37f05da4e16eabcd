//! Benches of two ports of a switch: in one process, and in two.

use super::alone::{Stretches, on_core};
use super::traffic::{Traffic, station};
use super::{Bench, How, Missing, Peer, Setting, failed};
use crate::check::{Check, Received};
use linerate_port::switch::{Ledger, Listener, Policy, Switch};
use linerate_port::{RxQueue, TxQueue, open_all};
use linerate_result::Unit;
use linerate_rt::{Clock, spawn};
use linerate_text::saturating_ns;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Acquire, Ordering::Release};

pub(super) const WITHIN: Bench = Bench {
    name: "switch",
    about: "64-byte frames from one vale: port to another of this process, copied: the switch's own time, on one core",
    unit: Unit::Pps,
    two_cores: false,
    bound: Some(30e6),
    run: |setting| within(setting, |times| &times.switch),
    peers: &[Peer {
        name: "with sender and receiver",
        how: How::Own(|setting| within(setting, |times| &times.all)),
        wanted: None,
    }],
};

pub(super) const BETWEEN: Bench = Bench {
    name: "switch-2p",
    about: "64-byte frames from another process's vale: port to a receiver on the switch's core, every byte checked",
    unit: Unit::Pps,
    two_cores: true,
    bound: None,
    run: between,
    peers: &[Peer { name: "dpdk-vhost", how: How::Script(&["dpdk-vhost", "--burst", "256"]), wanted: Some(1.0) }],
};

/// Durations per batch.
struct Times {
    switch: Stretches,
    /// Time including writing and checking.
    all: Stretches,
}

fn within(setting: &Setting, time: fn(&Times) -> &Stretches) -> Result<f64, Missing> {
    let limit = saturating_ns(setting.time);
    on_core(setting.cores[0], move || time(&one_core(limit)?).each_ns()).map(|ns| 1e9 / ns)
}

/// Measures with one thread as sender and receiver; the switch works in the sender's sync.
fn one_core(limit: u64) -> Result<Times, Missing> {
    let mut ports = open_all(&["vale:bench:left", "vale:bench:right"]).map_err(failed)?;
    let no_queue = || failed("no queue");
    let mut tx = ports[0].take_tx(0).ok_or_else(no_queue)?;
    let mut back = ports[0].take_rx(0).ok_or_else(no_queue)?;
    let mut rx = ports[1].take_rx(0).ok_or_else(no_queue)?;
    let mut announcing = ports[1].take_tx(0).ok_or_else(no_queue)?;
    // The switch learns the port of the receiver's address.
    announce(&mut announcing)?;
    drain(&mut back);
    let mut traffic = Traffic::new();
    let mut times = Times { switch: Stretches::new()?, all: Stretches::new()? };
    let mut clock = Clock::new();
    let (mut now, mut frames) = (clock.now(), 0);
    let until = now + limit;
    while now < until {
        let begin = now;
        traffic.write(&mut tx)?;
        let before = clock.now();
        tx.sync();
        rx.sync();
        let after = clock.now();
        traffic.read(&mut rx);
        now = clock.now();
        let sent = tx.counters().frames;
        times.switch.add(after - before, sent - frames);
        times.all.add(now - begin, sent - frames);
        frames = sent;
    }
    traffic.judge(frames)?;
    back.sync();
    if back.ring.available() > 0 {
        return Err(failed("frames came back to their sender"));
    }
    Ok(times)
}

/// Sends a frame from the receiver's address.
fn announce(tx: &mut TxQueue) -> Result<(), Missing> {
    let mut frame = [0; 60];
    frame[..6].copy_from_slice(&station(1));
    frame[6..12].copy_from_slice(&station(2));
    // The local experimental EtherType (IEEE 802).
    frame[12..14].copy_from_slice(&[0x88, 0xb5]);
    let mut batch = tx.ring.reserve(1);
    if batch.is_empty() || !batch.put(0, &frame) {
        return Err(failed("no room for a frame"));
    }
    batch.commit(1);
    tx.sync();
    Ok(())
}

fn drain(rx: &mut RxQueue) {
    rx.sync();
    let batch = rx.ring.batch(u32::MAX);
    let n = batch.len();
    batch.release(n);
    rx.sync();
}

/// Run number in the frames' marks.
const RUN: u16 = 2;
/// Time without arrivals after which no frame is in transit any more, once the sender has ended, nanoseconds.
const PATIENCE: u64 = 200_000_000;

/// Measures with another process as the sender; here one thread runs the switch and receives.
fn between(setting: &Setting) -> Result<f64, Missing> {
    let name = format!("bench-{}", std::process::id());
    let (listener, ended) = (Listener::open(&name, None).map_err(failed)?, Arc::new(AtomicBool::new(false)));
    let theirs = ended.clone();
    let switching =
        spawn("switch", &[setting.cores[1]], move || forward_and_check(&listener, &theirs)).map_err(failed)?;
    let sent = send_from_outside(setting, &name);
    ended.store(true, Release);
    let seen = switching.join().map_err(|_| failed("the switch panicked"))??;
    seen.rate(sent?)
}

/// Runs a pkt-gen in its own process; returns the number of frames that it sent.
fn send_from_outside(setting: &Setting, switch: &str) -> Result<u64, Missing> {
    let mac = |last| linerate_text::colons(&station(last));
    let arguments = [
        ("-i", format!("vale:{switch}:sender")),
        ("-S", mac(1)),
        ("-D", mac(2)),
        ("-a", setting.cores[0].to_string()),
        ("--seconds", setting.time.as_secs_f64().to_string()),
        ("--run", RUN.to_string()),
    ];
    let out = Command::new(std::env::current_exe().map_err(failed)?)
        .args(["pkt-gen", "-f", "tx", "-l", "64", "-w", "0", "-b", "256", "--wait", "busy", "--json"])
        .args(arguments.iter().flat_map(|(flag, value)| [*flag, value.as_str()]))
        .stdin(Stdio::null())
        .output()
        .map_err(failed)?;
    let said: serde_json::Value = serde_json::from_slice(&out.stdout).unwrap_or_default();
    let sent = said["tests"][0]["ledger"]["sent"].as_u64();
    sent.filter(|_| out.status.success()).ok_or_else(|| {
        let complaint = String::from_utf8_lossy(&out.stderr);
        failed(format!("the sender failed: {}", complaint.lines().last().unwrap_or("it said nothing")))
    })
}

/// Account of the other process's frames.
struct Seen {
    received: Received,
    /// Frames dropped by the switch with a reason.
    dropped: u64,
    /// Frames that the switch cannot account for.
    unexplained: u64,
    /// Time from before the first frame to behind the last one, nanoseconds.
    time: u64,
}

/// Runs a switch, and receives at one of its ports, until the sender has ended and nothing arrives any more.
fn forward_and_check(listener: &Listener, ended: &AtomicBool) -> Result<Seen, Missing> {
    let mut ports = open_all(&["cable:bench-switch{1", "cable:bench-switch}1"]).map_err(failed)?.into_iter();
    let (Some(near), Some(mut far)) = (ports.next(), ports.next()) else { return Err(failed("no cable")) };
    let (Some(mut rx), Some(mut tx)) = (far.take_rx(0), far.take_tx(0)) else { return Err(failed("no queue")) };
    let mut switch = Switch::new();
    switch.attach("receiver", near, Policy::default()).map_err(failed)?;
    announce(&mut tx)?;
    let mut check = Check::new(0, Some(RUN));
    let mut clock = Clock::new();
    while switch.poll(clock.now()) {}
    // The announcement was not carried, since there was no other port.
    let before = not_carried(&Ledger::of(&switch.ports()));
    let (mut first, mut last) = (None, clock.now());
    loop {
        let now = clock.now();
        let came = listener.admit(&mut switch);
        let worked = switch.poll(now);
        rx.sync();
        let mut batch = rx.ring.batch(u32::MAX);
        let n = batch.len();
        for i in 0..n {
            if let Some((frame, _)) = batch.frame(i) {
                check.frame(&frame);
            }
        }
        batch.release(n);
        if n > 0 {
            first.get_or_insert(now);
            last = clock.now();
        } else if !came && !worked && ended.load(Acquire) && now > last + PATIENCE {
            let (received, ledger) = (check.received(), Ledger::of(&switch.ports()));
            let dropped = not_carried(&ledger) - before;
            let time = last - first.unwrap_or(last);
            return Ok(Seen { received, dropped, unexplained: ledger.unexplained + ledger.lost, time });
        }
    }
}

/// Frames that a switch did not forward, with a reason.
fn not_carried(ledger: &Ledger) -> u64 {
    ledger.refused.total() + ledger.dropped.total()
}

impl Seen {
    /// Frames received per second; an error if a frame was wrong, or neither received nor counted as dropped.
    fn rate(&self, sent: u64) -> Result<f64, Missing> {
        let Self { received: r, dropped, unexplained, time } = self;
        let wrong = r.corrupt + r.foreign + r.duplicates + r.reordered + unexplained;
        if wrong > 0 || r.ours == 0 || r.ours + dropped != sent {
            let what = format!("{} arrived and {dropped} were dropped with a reason", r.ours);
            return Err(failed(format!("of {sent} frames {what}, {wrong} of them wrong or unexplained")));
        }
        Ok(r.ours as f64 * 1e9 / (*time).max(1) as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_sent_through_the_switch_comes_out_of_it() {
        let times = one_core(10_000_000).unwrap();
        let [switch, all] = [times.switch, times.all].map(|times| times.each_ns().unwrap());
        assert!(switch > 0.0 && switch < all);
    }

    #[test]
    fn a_frame_that_is_missing_or_wrong_fails_the_run() {
        let received = Received { frames: 90, ours: 90, ..Received::default() };
        let good = Seen { received, dropped: 10, unexplained: 0, time: 1000 };
        assert_eq!(good.rate(100), Ok(90e6));
        assert!(good.rate(101).is_err(), "one is missing");
        assert!(good.rate(99).is_err(), "one is too many");
        assert!(Seen { received: Received { corrupt: 1, ..received }, ..good }.rate(100).is_err());
        assert!(Seen { unexplained: 1, ..good }.rate(100).is_err());
    }
}

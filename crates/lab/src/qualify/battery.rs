//! The tests that every stage goes through.

use super::Order;
use super::measure::{FAULT, Probe, add, config, mode, once, repeated};
use super::stage::Stage;
use linerate_load::result::{Number, Repeat, Role, Test, unit};
use linerate_rt::{Stop, WaitMode};
use std::time::Duration;

/// One test, or a family of them.
pub struct Row {
    /// Its name in the result.
    pub workload: &'static str,
    /// What it is.
    pub title: &'static str,
    /// It needs two pairs of ports.
    pub(super) second_pair: bool,
    pub(super) run: fn(&Stage, &Row, &Order, &Stop) -> Vec<Test>,
}

/// All tests.
pub const BATTERY: &[Row] = &[
    Row {
        workload: "tx",
        title: "rate by frame size, one port: sent, received, every byte checked",
        second_pair: false,
        run: by_size,
    },
    Row { workload: "tx", title: "rate of 64-byte frames, two ports at once", second_pair: true, run: two_ports },
    Row { workload: "latency", title: "round trip of a ping", second_pair: false, run: latency },
    Row { workload: "paced", title: "a rate that was asked for", second_pair: false, run: paced },
    Row { workload: "faults", title: "faults put in on purpose, found by the ledger", second_pair: false, run: faults },
];

/// Frame lengths with FCS.
const SIZES: [u32; 6] = [64, 128, 256, 512, 1024, 1518];
/// What is asked for in `paced`, frames per second, over a cable and over a kernel's interface.
const PACE: [u64; 2] = [1_000_000, 50_000];
/// Faults that are put in, one kind a test: how they are asked for, and what the port calls them.
const FAULTS: [(&str, &str); 3] =
    [("drop", "fault_dropped"), ("dup", "fault_duplicated"), ("corrupt", "fault_corrupted")];
/// Frames of each such test; one in a hundred is faulty.
const FAULTY: u64 = 50_000;

fn named(mut test: Test, stage: &Stage, row: &Row, id: &str, title: String) -> Test {
    test.id = format!("{}-{id}", stage.key);
    test.title = title;
    test.workload = row.workload.into();
    test
}

fn missing(stage: &Stage, row: &Row, id: &str, why: String) -> Test {
    named(Test { skipped: Some(why), ..Test::default() }, stage, row, id, row.title.into())
}

/// For each length two tests of the same run: what the sender put on the port, what the receiver took off it.
fn by_size(stage: &Stage, row: &Row, order: &Order, stop: &Stop) -> Vec<Test> {
    let mut tests = Vec::new();
    for wire in SIZES {
        if stop.asked() {
            break;
        }
        // What arrived of what was sent, repeat by repeat.
        let mut shares = Vec::new();
        let measured = repeated(order.repeats, Probe::Yes, stop, || {
            let mut config = config(stage, &stage.pair, wire);
            config.seconds = Some(order.time);
            let test = once(stage, config, stop)?;
            shares.push(share_received(&test));
            Ok(test)
        });
        let id = format!("tx-{wire}-1p");
        match measured {
            Err(why) => tests.push(missing(stage, row, &id, why)),
            Ok(mut test) => {
                let title = format!("{}: {wire} B, sent", stage.key);
                test.wire_bytes = Some(wire);
                test.summarize(unit::PPS);
                tests.push(received(&test, &shares, stage, wire));
                tests.insert(tests.len() - 1, named(test, stage, row, &id, title));
            }
        }
    }
    tests
}

/// Which part of the frames sent was received; None if a side was not counted.
fn share_received(test: &Test) -> Option<f64> {
    let (received, sent) = test.ledger.as_ref().and_then(|ledger| ledger.received.zip(ledger.sent))?;
    #[expect(clippy::cast_precision_loss, reason = "a share to fifteen digits")]
    let share = received as f64 / sent.max(1) as f64;
    Some(share)
}

/// The receiver's side of a test: what arrived of what was sent, over the time of sending.
fn received(sent: &Test, shares: &[Option<f64>], stage: &Stage, wire: u32) -> Test {
    let mut test = sent.clone();
    for (repeat, share) in test.repeats.iter_mut().zip(shares) {
        let value = repeat.value.known().zip(*share).map(|(rate, share)| rate * share);
        repeat.value = value.map_or(Number::UNKNOWN, Number::new);
    }
    test.samples.clear();
    // The frames are accounted for in the sender's test, once.
    test.ledger = None;
    test.cpu.retain(|cpu| cpu.thread.starts_with("rx"));
    test.warnings.clear();
    let first = 1.min(test.ports.len());
    test.ports.rotate_left(first);
    test.summarize(unit::PPS);
    let row = Row { workload: "rx", title: "", second_pair: false, run: by_size };
    let title = format!("{}: {wire} B, received and checked", stage.key);
    named(test, stage, &row, &format!("rx-{wire}-1p"), title)
}

/// Two pkt-gens at once, as published.
fn two_ports(stage: &Stage, row: &Row, order: &Order, stop: &Stop) -> Vec<Test> {
    let Some(second) = &stage.second else { return Vec::new() };
    let measured = repeated(order.repeats, Probe::Yes, stop, || {
        let run = |pair: &[String; 2]| {
            let mut config = config(stage, pair, 64);
            config.seconds = Some(order.time);
            // Four threads: pinned or spinning they would stand in each other's way.
            (config.affinity, config.wait) = (None, WaitMode::Adaptive);
            once(stage, config, stop)
        };
        let (one, two) = std::thread::scope(|scope| {
            let other = scope.spawn(|| run(second));
            (run(&stage.pair), other.join())
        });
        let two = two.map_err(|_| "a measurement panicked")??;
        Ok(side_by_side(one?, two))
    });
    let id = "tx-64-2p";
    vec![match measured {
        Err(why) => missing(stage, row, id, why),
        Ok(mut test) => {
            test.summarize(unit::PPS);
            test.wire_bytes = Some(64);
            named(test, stage, row, id, format!("{}: 64 B, two ports at once, sent", stage.key))
        }
    }]
}

/// Two runs at the same time: their rates add up.
fn side_by_side(mut one: Test, mut two: Test) -> Test {
    let other = std::mem::take(&mut two.repeats);
    for (mine, theirs) in one.repeats.iter_mut().zip(other) {
        let sum = mine.value.known().zip(theirs.value.known()).map(|(a, b)| a + b);
        mine.value = sum.map_or(Number::UNKNOWN, Number::new);
        mine.valid &= theirs.valid;
    }
    for (mine, theirs) in one.samples.iter_mut().zip(std::mem::take(&mut two.samples)) {
        let sum = mine.value.known().zip(theirs.value.known()).map(|(a, b)| a + b);
        mine.value = sum.map_or(Number::UNKNOWN, Number::new);
    }
    one.ports.append(&mut two.ports);
    add(&mut one, two);
    one
}

fn latency(stage: &Stage, row: &Row, order: &Order, stop: &Stop) -> Vec<Test> {
    let mut config = config(stage, &stage.pair, 64);
    config.mode = mode("ping");
    config.seconds = Some(2 * order.time);
    config.latency = true;
    let id = "ping";
    vec![match repeated(1, Probe::No, stop, || once(stage, config.clone(), stop)) {
        Err(why) => missing(stage, row, id, why),
        Ok(mut test) => {
            let median = test.latency.as_ref().map_or(Number::UNKNOWN, |latency| latency.p50);
            for repeat in &mut test.repeats {
                repeat.value = median;
            }
            test.ports.iter_mut().for_each(|port| port.role = Role::Both);
            test.summarize(unit::NS);
            test.samples.clear();
            named(test, stage, row, id, format!("{}: ping, median round trip", stage.key))
        }
    }]
}

fn paced(stage: &Stage, row: &Row, order: &Order, stop: &Stop) -> Vec<Test> {
    let rate = PACE[usize::from(stage.kernel)];
    let measured = repeated(1, Probe::No, stop, || {
        let mut config = config(stage, &stage.pair, 64);
        config.rate = Some(rate);
        config.seconds = Some((2 * order.time).max(Duration::from_millis(500)));
        once(stage, config, stop)
    });
    let id = "paced";
    vec![match measured {
        Err(why) => missing(stage, row, id, why),
        Ok(mut test) => {
            test.parameters.insert("-R".into(), rate.to_string());
            test.summarize(unit::PPS);
            named(test, stage, row, id, format!("{}: paced at {rate} frames/s", stage.key))
        }
    }]
}

/// A sender whose port loses, doubles or damages frames: the receiver's checks must find exactly as many.
fn faults(stage: &Stage, row: &Row, _: &Order, stop: &Stop) -> Vec<Test> {
    let one = |(kind, counter): (&str, &str)| {
        let option = format!("faults={kind}:0.01/seed:7");
        let pair = [format!("{},{option}", stage.pair[0]), stage.pair[1].clone()];
        let measured = repeated(1, Probe::No, stop, || {
            let mut config = config(stage, &pair, 64);
            config.count = FAULTY;
            // Slowly enough for the kernel to lose nothing of its own accord.
            config.rate = stage.kernel.then_some(PACE[1]);
            once(stage, config, stop)
        });
        let id = format!("faults-{kind}");
        match measured {
            Err(why) => missing(stage, row, &id, why),
            Ok(mut test) => {
                let share = found(&mut test, kind, counter);
                test.repeats = vec![Repeat { value: Number::new(share), valid: true, ..Repeat::default() }];
                test.samples.clear();
                test.parameters.insert("faults".into(), option);
                test.summarize(unit::RATIO);
                named(test, stage, row, &id, format!("{}: faults put in ({kind}), share found", stage.key))
            }
        }
    };
    FAULTS.into_iter().map(one).collect()
}

/// Compares what the faulty port did with what the receiver found; the share of faults found.
fn found(test: &mut Test, kind: &str, counter: &str) -> f64 {
    let sum = |suffix: &str| -> u64 {
        test.counters.iter().filter(|(name, _)| name.ends_with(suffix)).map(|(_, n)| *n).sum()
    };
    let put_in = sum(counter);
    let found = match (kind, &test.ledger) {
        ("corrupt", _) => sum("check.corrupt"),
        ("dup", Some(ledger)) => ledger.duplicated,
        (_, Some(ledger)) => ledger.offered.unwrap_or(0).saturating_sub(ledger.received.unwrap_or(0)),
        (_, None) => 0,
    };
    // That frames arrive damaged is what was asked for here.
    test.warnings.retain(|w| !(w.starts_with(FAULT) && w.contains("other bytes")));
    if put_in != found || put_in == 0 {
        test.warnings.push(format!("{FAULT}{put_in} faults ({kind}) were put in, {found} were found"));
    }
    #[expect(clippy::cast_precision_loss, reason = "a share to fifteen digits")]
    let share = found as f64 / put_in.max(1) as f64;
    share
}

#[cfg(test)]
mod tests {
    use super::*;
    use linerate_load::result::Ledger;

    /// One repeat's loss once lowered the receiver's figure of all of them.
    #[test]
    fn each_repeat_is_told_by_its_own_loss() {
        let lossy = |received| Test {
            ledger: Some(Ledger { sent: Some(100), received: Some(received), ..Ledger::default() }),
            ..Test::default()
        };
        let shares = [share_received(&lossy(100)), share_received(&lossy(50)), share_received(&Test::default())];
        assert_eq!(shares, [Some(1.0), Some(0.5), None]);
        let repeat = Repeat { value: Number::new(8.0), valid: true, ..Repeat::default() };
        let sent = Test { repeats: vec![repeat; 3], ..Test::default() };
        let order = Order { ports: Some(["null:".into(), "null:".into()]), ..Order::default() };
        let stage = crate::qualify::stage::of(&order).pop().and_then(Result::ok).unwrap();
        let values: Vec<_> = received(&sent, &shares, &stage, 64).repeats.iter().map(|r| r.value.known()).collect();
        assert_eq!(values, [Some(8.0), Some(4.0), None]);
    }
}

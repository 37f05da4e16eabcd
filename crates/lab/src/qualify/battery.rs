//! The tests that every stage goes through.

use super::Order;
use super::measure::{Probe, config, mode, once, repeated, summarize};
use super::stage::Stage;
use linerate_result::{Number, Repeat, Role, Test, Unit};
use linerate_rt::{Stop, WaitMode};
use std::time::Duration;

pub struct Row {
    pub workload: &'static str,
    pub title: &'static str,
    /// True if the test needs two pairs of ports.
    pub(super) second_pair: bool,
    pub(super) run: fn(&Stage, &Row, &Order, &Stop) -> Vec<Test>,
}

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
/// Rate to send at in `paced`, frames per second: over a cable, and over a kernel interface.
const PACE: [u64; 2] = [1_000_000, 50_000];
/// Kinds of faults to inject, one per test, by their option names.
const FAULTS: [&str; 3] = ["drop", "dup", "corrupt"];
/// Number of frames in each test with faults; one in a hundred is faulty.
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

/// Runs a test for each frame length; gives two tests of the same run: frames sent, and frames received.
fn by_size(stage: &Stage, row: &Row, order: &Order, stop: &Stop) -> Vec<Test> {
    let mut tests = Vec::new();
    for wire in SIZES {
        if stop.asked() {
            break;
        }
        // Share of the sent frames that was received, repeat by repeat.
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
                summarize(&mut test, order.repeats, Unit::Pps);
                tests.push(received(&test, &shares, stage, wire, order.repeats));
                tests.insert(tests.len() - 1, named(test, stage, row, &id, title));
            }
        }
    }
    tests
}

/// Share of the sent frames that was received; `None` if a side was not counted.
fn share_received(test: &Test) -> Option<f64> {
    let (received, sent) = test.ledger.as_ref().and_then(|ledger| ledger.received.zip(ledger.sent))?;
    #[expect(clippy::cast_precision_loss, reason = "a share to fifteen digits")]
    let share = received as f64 / sent.max(1) as f64;
    Some(share)
}

/// Makes the receiver's test: the share of the sent frames that was received, over the time of sending.
fn received(sent: &Test, shares: &[Option<f64>], stage: &Stage, wire: u32, repeats: usize) -> Test {
    let mut test = sent.clone();
    for (repeat, share) in test.repeats.iter_mut().zip(shares) {
        let value = repeat.value.known().zip(*share).map(|(rate, share)| rate * share);
        repeat.value = value.map_or(Number::UNKNOWN, Number::new);
    }
    test.samples.clear();
    // The frames are accounted for in the sender's test, once.
    test.ledger = None;
    test.cpu.retain(|cpu| cpu.thread.starts_with("rx"));
    (test.failures, test.warnings) = Default::default();
    let first = 1.min(test.ports.len());
    test.ports.rotate_left(first);
    summarize(&mut test, repeats, Unit::Pps);
    let row = Row { workload: "rx", title: "", second_pair: false, run: by_size };
    let title = format!("{}: {wire} B, received and checked", stage.key);
    named(test, stage, &row, &format!("rx-{wire}-1p"), title)
}

/// Runs two pkt-gens at once, as in the publication.
fn two_ports(stage: &Stage, row: &Row, order: &Order, stop: &Stop) -> Vec<Test> {
    let Some(second) = &stage.second else { return Vec::new() };
    let measured = repeated(order.repeats, Probe::Yes, stop, || {
        let run = |pair: &[String; 2]| {
            let mut config = config(stage, pair, 64);
            config.seconds = Some(order.time);
            // Pinned or spinning, four threads would take processor time from each other.
            (config.affinity, config.wait) = (None, WaitMode::Adaptive);
            once(stage, config, stop)
        };
        let (one, two) = std::thread::scope(|scope| {
            let other = scope.spawn(|| run(second));
            (run(&stage.pair), other.join())
        });
        let two = two.map_err(|_| "a measurement panicked")??;
        let mut both = one?;
        both.beside(two);
        Ok(both)
    });
    let id = "tx-64-2p";
    vec![match measured {
        Err(why) => missing(stage, row, id, why),
        Ok(mut test) => {
            summarize(&mut test, order.repeats, Unit::Pps);
            test.wire_bytes = Some(64);
            named(test, stage, row, id, format!("{}: 64 B, two ports at once, sent", stage.key))
        }
    }]
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
            summarize(&mut test, 1, Unit::Ns);
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
            test.parameters.insert("-R".into(), rate.into());
            summarize(&mut test, 1, Unit::Pps);
            named(test, stage, row, id, format!("{}: paced at {rate} frames/s", stage.key))
        }
    }]
}

/// Runs a sender whose port loses, doubles or damages frames: the receiver's checks must find those frames and no
/// others.
fn faults(stage: &Stage, row: &Row, _: &Order, stop: &Stop) -> Vec<Test> {
    let one = |kind: &str| {
        let option = format!("faults={kind}:0.01/seed:7");
        let pair = [format!("{},{option}", stage.pair[0]), stage.pair[1].clone()];
        let measured = repeated(1, Probe::No, stop, || {
            let mut config = config(stage, &pair, 64);
            config.count = FAULTY;
            // A rate low enough for the kernel to drop nothing by itself.
            config.rate = stage.kernel.then_some(PACE[1]);
            once(stage, config, stop)
        });
        let id = format!("faults-{kind}");
        match measured {
            Err(why) => missing(stage, row, &id, why),
            Ok(mut test) => {
                test.repeats = vec![found(&mut test, kind)];
                test.samples.clear();
                test.parameters.insert("faults".into(), option.into());
                summarize(&mut test, 1, Unit::Ratio);
                named(test, stage, row, &id, format!("{}: faults put in ({kind}), share found", stage.key))
            }
        }
    };
    FAULTS.into_iter().map(one).collect()
}

/// Share of the injected faults that were found, without those dropped in transit, matched by frame number. A fault
/// that was found but not injected has already failed the run.
fn found(test: &mut Test, kind: &str) -> Repeat {
    let count = |what: &str| test.counters.total(&format!("check.{kind}.{what}")).unwrap_or(0);
    let (put_in, found) = (count("put_in"), count("found"));
    if put_in == 0 {
        let why = Some(format!("no faulty frame ({kind}) got as far as the receiver"));
        return Repeat { valid: false, why_invalid: why, ..Repeat::default() };
    }
    // One copy of a doubled frame may be dropped for lack of room, like any frame; the drop is counted where it
    // happens.
    let dropped: u64 = test.ledger.iter().flat_map(|ledger| ledger.dropped.values()).sum();
    let gone = if kind == "dup" { dropped.min(put_in.saturating_sub(found)) } else { 0 };
    if put_in - gone != found {
        test.failures.push(format!("{put_in} faults ({kind}) were put in, {found} were found"));
    }
    #[expect(clippy::cast_precision_loss, reason = "a share to fifteen digits")]
    let share = found as f64 / (put_in - gone).max(1) as f64;
    Repeat { value: Number::new(share), valid: true, ..Repeat::default() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use linerate_result::Ledger;

    /// Drops of the kernel are neither faults nor findings.
    #[test]
    fn what_the_kernel_dropped_and_counted_is_no_fault_found() {
        let lossy = |kind: &str, put_in, found, dropped| Test {
            counters: [("put_in", put_in), ("found", found)]
                .into_iter()
                .map(|(k, n)| (format!("check.{kind}.{k}"), n))
                .collect(),
            ledger: Some(Ledger { dropped: [("no_room".to_owned(), dropped)].into(), ..Ledger::default() }),
            ..Test::default()
        };
        for (kind, put_in, found_, dropped, share, faults) in [
            ("drop", 500, 500, 14, Some(1.0), 0),
            ("dup", 500, 486, 14, Some(1.0), 0),
            ("dup", 500, 485, 14, Some(485.0 / 486.0), 1),
            ("corrupt", 497, 497, 100, Some(1.0), 0),
            ("corrupt", 500, 499, 100, Some(0.998), 1),
            ("drop", 0, 0, 100, None, 0),
        ] {
            let mut test = lossy(kind, put_in, found_, dropped);
            let repeat = found(&mut test, kind);
            assert_eq!((repeat.value.known(), repeat.valid), (share, share.is_some()), "{kind}");
            assert_eq!(test.failures.len(), faults, "{kind}");
        }
    }

    /// The loss of one repeat once lowered the receiver's figure of all repeats.
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
        let values: Vec<_> = received(&sent, &shares, &stage, 64, 3).repeats.iter().map(|r| r.value.known()).collect();
        assert_eq!(values, [Some(8.0), Some(4.0), None]);
    }
}

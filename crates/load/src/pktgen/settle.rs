//! Result of a run: the last lines, the ledger and the result document.

use super::job::Latencies;
use super::judge::judge;
use super::modes::Role;
use super::report::{Progressed, float};
use super::run::teller;
use super::team::{Common, Worked};
use crate::check::{Matched, Received};
use hdrhistogram::Histogram;
use linerate_port::Port;
use linerate_result::{
    Counters, Cpu, Latency, Ledger, Number, Parameter, Parameters, PortUsed, Queues, Repeat, RunResult, Sample, Test,
    Timestamp, Unit, parameters,
};
use std::collections::BTreeMap;

/// Facts known when all threads have ended.
pub(super) struct Facts<'a> {
    pub(super) common: &'a Common,
    pub(super) command: Vec<String>,
    pub(super) start: Timestamp,
    pub(super) elapsed: u64,
    pub(super) ports: &'a [Port],
    pub(super) main: Vec<Worked>,
    pub(super) far: Option<Vec<Worked>>,
    pub(super) samples: Vec<Sample>,
    pub(super) signal: Option<u8>,
}

#[derive(Clone, Debug)]
pub struct Finished {
    /// The result document as it is stored.
    pub result: RunResult,
    /// Counts of the checking side, if there was one.
    pub received: Option<Received>,
    /// Reason why nothing was measured, if no frame was sent or none arrived; it is one of the result's reasons.
    pub idle: Option<String>,
    /// Frames, and the time from the first to the last, at a port of this process to which they were sent.
    pub arrived: Option<Progressed>,
    /// Rate of the sender's link, bit/s, if it has one.
    pub link: Option<u64>,
}

/// Sums the results of a team's threads: frames, and the time from the first start to the last end.
fn sum(team: &[Worked]) -> (Progressed, Ledger, Option<Received>, Option<Latencies>) {
    let (mut x, mut ledger, mut received, mut latency) = (Progressed::default(), Ledger::default(), None, None);
    let (mut first, mut last) = (u64::MAX, 0);
    for Worked { done, .. } in team {
        x.frames += done.frames;
        x.bytes += done.bytes;
        x.events += done.events;
        ledger.add(&done.ledger);
        if let Some((start, end)) = done.times {
            if start < first {
                (first, x.before) = (start, done.before);
            }
            last = last.max(end);
        }
        if let Some(more) = &done.received {
            *received.get_or_insert_default() += *more;
        }
        if let Some(more) = &done.latency {
            latency.get_or_insert_with(Latencies::new).add(more);
        }
    }
    x.usec = last.saturating_sub(first.min(last)) / 1000;
    (x, ledger, received, latency)
}

/// Prints the last lines and makes the result.
pub(super) fn settle(facts: Facts<'_>) -> Finished {
    let Facts { common, ports, .. } = &facts;
    let (config, output) = (&common.config, &common.output);
    let (x, mut ledger, mut received, mut latency) = sum(&facts.main);
    let mut arrived = None;
    if let Some(far) = &facts.far {
        let (come, theirs, checked, timed) = sum(far);
        arrived = Some(come);
        ledger.add(&theirs);
        received = received.or(checked);
        latency = latency.or(timed);
    }
    // A frame that a faulty port doubled on purpose counts once in `sent`.
    let doubled = ports.iter().flat_map(Port::raw_counters).filter(|(name, _)| name == "fault_duplicated");
    ledger.doubled = doubled.map(|(_, n)| n).sum();
    ledger.sent = ledger.sent.map(|sent| sent.saturating_sub(ledger.doubled));
    if let (Some(received), true) = (&mut received, facts.far.is_some()) {
        if config.mode.name != "tx" {
            // Frames without a mark are not looked up in the plan.
            received.unsent = received.unsent.saturating_sub(ledger.doubled);
        }
        ledger.unsent = received.unsent;
    }
    let verdict = judge(&facts, &x, &ledger, received.as_ref());
    let verb = match config.mode.role {
        Role::Sender => Some("Sent"),
        Role::Receiver => Some("Received"),
        Role::Other => None,
    };
    if let Some(verb) = verb {
        for line in teller(config).last(verb, &x) {
            output.line(&line);
        }
    }
    if let Some(latency) = latency.as_ref().filter(|_| config.latency) {
        latency_lines(latency, config.mode.role).iter().for_each(|line| output.line(line));
    }
    output.line(&ledger_line(&ledger));
    if let Some(received) = &received {
        output.line(&received_line(received));
    }
    for warning in &verdict.notes {
        output.remark("main", 2950, &format!("note: {warning}"));
    }
    verdict.failed.iter().for_each(|reason| output.remark("main", 2951, &format!("failed: {reason}")));
    verdict.partial.iter().for_each(|reason| output.remark("main", 2951, &format!("partial: {reason}")));
    if config.verbose > 0 {
        for worked in facts.main.iter().chain(facts.far.iter().flatten()) {
            let (w, cpu) = (worked.waits, worked.cpu);
            let text = format!(
                "{}: {} polls, {} empty, {} sleeps, {:.3} s user, {:.3} s system",
                worked.name,
                w.polls,
                w.empty_polls,
                w.sleeps,
                cpu.user.as_secs_f64(),
                cpu.system.as_secs_f64()
            );
            output.remark("main", 2952, &text);
        }
    }

    let mut result = RunResult::new(format!("{:04x}", common.run), facts.command.clone(), facts.start);
    result.elapsed_s = Number::new(float(facts.elapsed) / 1e9);
    result.outcome = verdict.outcome();
    let failures = verdict.failed.clone();
    result.reasons = [verdict.failed, verdict.partial].concat();
    result.signal = facts.signal;
    // A rate that cannot be true is no result.
    let rate = verdict.impossible.map_or_else(|| x.rates().map(|(pps, _)| pps), Err);
    let mut test = Test {
        id: format!("pkt-gen-{}", config.mode.name),
        title: format!("pkt-gen -f {}: {}", config.mode.name, config.mode.about),
        workload: config.mode.name.to_owned(),
        ports: ports.iter().enumerate().map(|(k, port)| port_used(port, k, config.mode.role)).collect(),
        frame_bytes: u32::try_from(config.sizes.longest()).ok(),
        wire_bytes: u32::try_from(config.sizes.longest() + 4).ok(),
        parameters: asked(common),
        repeats: vec![Repeat {
            value: rate.as_ref().ok().copied().into(),
            seconds: Number::new(float(x.usec) / 1e6),
            valid: rate.is_ok(),
            why_invalid: rate.err(),
            ..Repeat::default()
        }],
        latency: latency.as_ref().map(|latency| Latency::of(&latency.own).unwrap_or_default()),
        burst_latency: latency.as_ref().and_then(|latency| Latency::of(&latency.burst)),
        ledger: Some(ledger),
        counters: counters(&facts, received.as_ref()),
        cpu: facts.main.iter().chain(facts.far.iter().flatten()).map(cpu).collect(),
        samples: facts.samples.clone(),
        failures,
        warnings: verdict.notes,
        ..Test::default()
    };
    test.summarize(Unit::Pps);
    result.tests.push(test);
    Finished { result, received, idle: verdict.idle, arrived, link: ports.first().and_then(|port| port.info().rate) }
}

fn ledger_line(ledger: &Ledger) -> String {
    let known = |n: Option<u64>| n.map_or_else(|| "?".to_owned(), |n| n.to_string());
    let reasons = |map: &BTreeMap<String, u64>| {
        let total: u64 = map.values().sum();
        let list: Vec<_> = map.iter().filter(|(_, n)| **n > 0).map(|(reason, n)| format!("{reason} {n}")).collect();
        if list.is_empty() { total.to_string() } else { format!("{total} ({})", list.join(", ")) }
    };
    let left = ledger.settle().frames();
    let foreign = if ledger.foreign > 0 { format!(" (and {} foreign)", ledger.foreign) } else { String::new() };
    format!(
        "Ledger: offered {} = sent {} + refused {}; received {}{foreign}, dropped {}, in flight {}, unexplained {}.",
        known(ledger.offered),
        known(ledger.sent),
        reasons(&ledger.refused),
        known(ledger.received),
        reasons(&ledger.dropped),
        ledger.in_flight,
        known(left)
    )
}

fn received_line(r: &Received) -> String {
    format!(
        "Checked: {} of {} frames, {} of this run, {} corrupt, {} lost, {} duplicates, {} reordered, {} foreign.",
        r.frames - r.foreign.min(r.frames),
        r.frames,
        r.ours,
        r.corrupt,
        r.lost,
        r.duplicates,
        r.reordered,
        r.foreign
    )
}

fn latency_lines(latency: &Latencies, role: Role) -> Vec<String> {
    let (name, frames) = if role == Role::Other { ("Round trip", "") } else { ("Latency", "tagged ") };
    let line = |name: &str, of: &Histogram<u64>, frames: &str| {
        let q = |q| of.value_at_quantile(q);
        format!(
            "{name} ns: min {} p50 {} p90 {} p99 {} p99.9 {} p99.99 {} max {} mean {:.0} over {} {frames}frames.",
            of.min(),
            q(0.5),
            q(0.9),
            q(0.99),
            q(0.999),
            q(0.9999),
            of.max(),
            of.mean(),
            of.len()
        )
    };
    let both = [(name, &latency.own, frames), ("Latency with the time in the burst", &latency.burst, "other ")];
    let lines: Vec<_> =
        both.iter().filter(|(_, of, _)| !of.is_empty()).map(|(name, of, n)| line(name, of, n)).collect();
    if lines.is_empty() { vec!["Latency: no frame carried a time-stamp.".into()] } else { lines }
}

fn port_used(port: &Port, k: usize, role: Role) -> PortUsed {
    use linerate_result::Role as Used;
    let info = port.info();
    let queues = u32::try_from(info.tx_queues).ok().zip(u32::try_from(info.rx_queues).ok());
    PortUsed {
        name: info.name.clone(),
        role: match (k, role) {
            (0, Role::Sender) => Used::Tx,
            (0, Role::Other) => Used::Both,
            _ => Used::Rx,
        },
        path: info.path.clone(),
        mtu: u32::try_from(info.mtu).ok(),
        queues: queues.map(|(tx, rx)| Queues { tx, rx }),
    }
}

fn asked(common: &Common) -> Parameters {
    let config = &common.config;
    let mut all: Vec<(&str, Parameter)> = vec![
        ("burst", config.burst().into()),
        ("threads", config.threads.into()),
        ("sizes", config.sizes.to_string().into()),
        ("wait", config.wait.to_string().into()),
    ];
    if let Some(path) = config.packet_file.as_ref().or(config.replay.as_ref().map(|replay| &replay.path)) {
        all.push(("capture", path.display().to_string().into()));
    }
    all.extend(config.rate.map(|rate| ("rate", rate.into())));
    if config.count > 0 {
        all.push(("count", config.count.into()));
    }
    if config.options != 0 {
        all.push(("options", config.options.into()));
    }
    parameters(all)
}

fn counters(facts: &Facts<'_>, received: Option<&Received>) -> Counters {
    let mut all = Counters::default();
    let name = |index: usize| facts.ports.get(index).map(|port| port.info().name.as_str());
    for (port, team) in [(name(0), Some(&facts.main)), (name(1), facts.far.as_ref())] {
        for Worked { done, .. } in team.into_iter().flatten() {
            done.queues.iter().for_each(|(name, n)| all.add(port, name, *n));
            done.counters.iter().for_each(|(name, n)| all.add(None, *name, *n));
        }
    }
    for port in facts.ports {
        port.raw_counters().into_iter().for_each(|(name, n)| all.add(Some(&port.info().name), name, n));
    }
    if let Some(r) = received {
        let mut check = |name: &str, n| all.add(None, format!("check.{name}"), n);
        check("corrupt", r.corrupt);
        check("lost", r.lost);
        check("reordered", r.reordered);
        check("duplicates", r.duplicates);
        let injected = [("drop", r.injected.dropped), ("dup", r.injected.doubled), ("corrupt", r.injected.corrupted)];
        for (kind, Matched { put_in, found }) in injected.into_iter().filter(|(_, matched)| matched.put_in > 0) {
            check(&format!("{kind}.put_in"), put_in);
            check(&format!("{kind}.found"), found);
        }
    }
    all
}

fn cpu(worked: &Worked) -> Cpu {
    Cpu {
        thread: worked.name.clone(),
        core: worked.core.and_then(|core| u32::try_from(core).ok()),
        user_s: Number::new(worked.cpu.user.as_secs_f64()),
        system_s: Number::new(worked.cpu.system.as_secs_f64()),
        softirq_s: worked.softirq.map(|time| time.as_secs_f64()).into(),
        busy_polls: Some(worked.waits.polls - worked.waits.empty_polls),
        empty_polls: Some(worked.waits.empty_polls),
    }
}

#[test]
fn polls_that_found_work_are_those_that_did_not_find_nothing() {
    let waits = linerate_rt::WaitStats { polls: 10, empty_polls: 3, sleeps: 1 };
    let mut worked = Worked {
        name: "t".to_owned(),
        core: Some(1),
        done: super::job::Done::default(),
        cpu: linerate_rt::ThreadTime::default(),
        softirq: None,
        delayed: None,
        waits,
    };
    let cpu = cpu(&worked);
    assert_eq!((cpu.core, cpu.busy_polls, cpu.empty_polls), (Some(1), Some(7), Some(3)));
    // Repeats in which it waited for different times say the same line, which their test has once.
    let mut said = [None, Some(100), Some(400), Some(900)].map(|ms| {
        worked.delayed = ms.map(std::time::Duration::from_millis);
        super::judge::waited(&worked, std::time::Duration::from_secs(1))
    });
    assert_eq!((said[0].take(), said[1].take()), (None, None), "not known, and within a tenth");
    assert!(said[2].as_ref().is_some_and(|line| line.starts_with("t waited")) && said[2] == said[3], "{said:?}");
}

//! The result document of a run.

use super::run::Facts;
use super::tally::{Account, float};
use linerate_result::{Cpu, Latency, Number, Outcome, PortUsed, Repeat, RunResult, Summary, Test, Unit, parameters};
use linerate_rt::random;

pub(super) fn of(facts: &Facts<'_>) -> RunResult {
    let mut run = RunResult::new(format!("{:08x}", random() & 0xffff_ffff), facts.command.clone(), facts.start);
    run.elapsed_s = Number::new(float(facts.elapsed) / 1e9);
    run.signal = facts.signal;
    run.tests.push(whole(facts));
    if facts.accounts.len() > 1 {
        let each = facts.accounts.iter().enumerate();
        run.tests.extend(each.map(|(number, account)| one(facts, number, account)));
    }
    run.reasons.clone_from(&run.tests[0].failures);
    run.outcome = match (facts.all.errors() > 0, facts.signal.is_some() || facts.config.dry) {
        (true, _) => Outcome::Failed,
        (false, true) => Outcome::Partial,
        (false, false) => Outcome::Pass,
    };
    run
}

/// Test of all targets together.
fn whole(facts: &Facts<'_>) -> Test {
    let depth: u64 = facts.config.targets.iter().map(|target| u64::from(target.depth)).sum();
    let mut test = test(facts, &facts.all, "xdd".into());
    test.title = format!("{} targets, {depth} under way at once", facts.config.targets.len());
    test.ports = (0..facts.config.targets.len()).map(|number| port(facts, number)).collect();
    if facts.all.elapsed_ns > 0 {
        test.further.insert("cpu".into(), Summary::once(facts.cpu_percent(), Unit::PerCent));
    }
    test.cpu.push(Cpu {
        thread: "process".into(),
        user_s: Number::new(facts.cpu.0.as_secs_f64()),
        system_s: Number::new(facts.cpu.1.as_secs_f64()),
        ..Cpu::default()
    });
    test.samples.clone_from(&facts.samples);
    test.failures.clone_from(&facts.all.told);
    let errors = facts.all.errors();
    if errors > 0 && test.failures.is_empty() {
        test.failures.push(format!("{errors} requests failed or miscompared"));
    }
    test.warnings.clone_from(&facts.notes);
    test.counters.add(None, "passes", facts.passes);
    if facts.config.dry {
        test.skipped = Some("-dryrun".into());
    }
    test
}

fn one(facts: &Facts<'_>, number: usize, account: &Account) -> Test {
    let target = &facts.config.targets[number];
    let mut test = test(facts, account, format!("target-{number}"));
    test.title = format!("target {number}, {}", target.name);
    test.ports = vec![port(facts, number)];
    test
}

fn test(facts: &Facts<'_>, account: &Account, id: String) -> Test {
    let target = &facts.config.targets[0];
    let seconds = float(account.elapsed_ns) / 1e9;
    let per_second = |n: u64| Number::new(float(n) / seconds);
    let mut test = Test { id, workload: "xdd".into(), ..Test::default() };
    test.repeats = vec![Repeat {
        value: per_second(account.ops()),
        seconds: Number::new(seconds),
        valid: account.ops() > 0,
        ..Repeat::default()
    }];
    test.summarize(Unit::Iops);
    let mut further = |name: &str, value: Number, unit: Unit| {
        if let Some(value) = value.known() {
            test.further.insert(name.into(), Summary::once(value, unit));
        }
    };
    further("throughput", per_second(account.bytes()), Unit::BytesPerSecond);
    if account.reads.ops > 0 && account.writes.ops > 0 {
        further("reads", per_second(account.reads.ops), Unit::Iops);
        further("writes", per_second(account.writes.ops), Unit::Iops);
    }
    test.latency = Latency::of(&account.latency());
    let counters = [
        ("reads", account.reads.ops),
        ("writes", account.writes.ops),
        ("read_bytes", account.reads.bytes),
        ("written_bytes", account.writes.bytes),
        ("read_errors", account.reads.errors),
        ("write_errors", account.writes.errors),
        ("miscompares", account.miscompares),
        ("lost", account.lost),
    ];
    test.counters = counters.into_iter().collect();
    test.parameters = parameters([
        ("reqsize", target.request_blocks.into()),
        ("blocksize", target.block_size.into()),
        ("queuedepth", target.depth.into()),
        ("rwratio", (f64::from(target.reads) / 100.0).into()),
    ]);
    test
}

fn port(facts: &Facts<'_>, number: usize) -> PortUsed {
    let name = facts.config.targets[number].name.clone();
    let path = facts.devices.get(number).map(|device| device.path.clone()).unwrap_or_default();
    PortUsed { name, path, ..PortUsed::default() }
}

//! A made-up result that looks like a real one. Every figure is invented test data.

#![expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "invented counts")]

use std::collections::BTreeMap;

use linerate_lab::published;
use linerate_result::{
    Comparison, Cpu, Environment, HugePages, Interface, Kind, Latency, Ledger, Number, Outcome, Parameters, PortUsed,
    Queues, Repeat, Role, RunResult, Sample, Test, Unit,
};

fn asked(pairs: &[(&str, u32)]) -> Parameters {
    pairs.iter().map(|&(name, value)| (name.to_owned(), value.into())).collect()
}

fn frames(pairs: &[(&str, u64)]) -> BTreeMap<String, u64> {
    pairs.iter().map(|&(name, value)| (name.to_owned(), value)).collect()
}

fn port(name: &str, role: Role, path: &str) -> PortUsed {
    PortUsed {
        name: name.to_owned(),
        role,
        path: path.to_owned(),
        mtu: Some(1500),
        queues: Some(Queues { tx: 1, rx: 1 }),
    }
}

/// Pseudo-random number in -1..1, the same in every run.
fn wobble(step: u32) -> f64 {
    let x = f64::from(step);
    ((x * 12.9898).sin() * 43758.5453).fract()
}

struct Path {
    name: &'static str,
    from: &'static str,
    to: &'static str,
}

const CABLE: Path = Path { name: "shared memory, 1024 slots, copy-free", from: "cable:test{1", to: "cable:test}1" };
const XDP: Path = Path { name: "AF_XDP copy mode, generic (veth)", from: "xdp:test0", to: "xdp:test1" };

fn rate(path: &Path, workload: &str, wire_bytes: u32, senders: usize, pps: f64, tag: &str) -> Test {
    let repeats: Vec<Repeat> = (0..5u32)
        .map(|round| Repeat {
            value: (pps * (1.0 + 0.035 * wobble(round + wire_bytes))).into(),
            seconds: 2.0.into(),
            rtt_ns_before: (118.0 + 4.0 * wobble(round)).into(),
            rtt_ns_after: (if round == 3 { 241.0 } else { 119.0 }).into(),
            valid: round != 3,
            why_invalid: (round == 3).then(|| "core-to-core round trip changed from 118 ns to 241 ns".to_owned()),
        })
        .collect();
    let total = repeats.iter().filter_map(|repeat| repeat.value.known()).map(|pps| (pps * 2.0) as u64).sum::<u64>();
    let mut ports = Vec::new();
    for end in 1..=senders {
        let numbered = |name: &str| if senders > 1 { name.replace('1', &end.to_string()) } else { name.to_owned() };
        ports.push(port(&numbered(path.from), Role::Tx, path.name));
        ports.push(port(&numbered(path.to), Role::Rx, path.name));
    }
    let mut test = Test {
        id: format!("{workload}-{wire_bytes}-{senders}p{tag}"),
        title: match senders {
            1 => format!("Transmit, {wire_bytes} B, one port{}", tag.replace('-', ", ")),
            _ => format!("Transmit, {wire_bytes} B, two ports{}", tag.replace('-', ", ")),
        },
        workload: workload.to_owned(),
        ports,
        frame_bytes: Some(wire_bytes - 4),
        wire_bytes: Some(wire_bytes),
        parameters: asked(&[("burst", 512), ("seconds", 2), ("repeats", 5), ("slots", 1024)]),
        repeats,
        ledger: Some(Ledger {
            offered: Some(total + 1311),
            sent: Some(total),
            refused: frames(&[("ring_full", 1311)]),
            received: Some(total),
            ..Ledger::default()
        }),
        counters: [
            ("tx.doorbells", 412),
            ("tx.syncs", total / 498),
            ("rx.syncs", total / 471),
            ("rx.bytes", total * u64::from(wire_bytes - 4)),
        ]
        .into_iter()
        .collect(),
        cpu: vec![
            Cpu {
                thread: "sender".to_owned(),
                core: Some(0),
                user_s: 9.93.into(),
                system_s: 0.04.into(),
                softirq_s: 0.0.into(),
                busy_polls: Some(total / 498),
                empty_polls: Some(total / 4200),
            },
            Cpu {
                thread: "receiver".to_owned(),
                core: Some(1),
                user_s: 9.91.into(),
                system_s: 0.05.into(),
                softirq_s: Number::UNKNOWN,
                busy_polls: Some(total / 471),
                empty_polls: Some(total / 2600),
            },
        ],
        samples: (1..=100u32)
            .map(|step| Sample {
                t_s: (f64::from(step) / 10.0).into(),
                value: (pps * (1.0 + 0.03 * wobble(step + wire_bytes)) * if step == 63 { 0.71 } else { 1.0 }).into(),
            })
            .collect(),
        ..Test::default()
    };
    test.summarize(Unit::Pps);
    test
}

fn latency() -> Test {
    let ns = |value: f64| Number::new(value);
    let mut test = Test {
        id: "latency-64".to_owned(),
        title: "Round trip, 64 B, busy polling".to_owned(),
        workload: "latency".to_owned(),
        ports: vec![port(CABLE.from, Role::Both, CABLE.name), port(CABLE.to, Role::Both, CABLE.name)],
        frame_bytes: Some(60),
        wire_bytes: Some(64),
        repeats: vec![Repeat { value: ns(412.0), seconds: ns(4.0), valid: true, ..Repeat::default() }],
        latency: Some(Latency {
            count: 8_123_411,
            min: ns(301.0),
            p50: ns(412.0),
            p90: ns(455.0),
            p99: ns(640.0),
            p99_9: ns(4_820.0),
            p99_99: ns(31_700.0),
            max: ns(1_204_000.0),
            mean: ns(431.7),
            ..Latency::default()
        }),
        ledger: Some(Ledger {
            offered: Some(8_123_411),
            sent: Some(8_123_411),
            received: Some(8_123_411),
            ..Ledger::default()
        }),
        ..Test::default()
    };
    test.summarize(Unit::Ns);
    test
}

fn sleeping() -> Test {
    let mut test = latency();
    test.id = "latency-64-sleeping".to_owned();
    test.title = "Round trip, 64 B, sleeping".to_owned();
    let scale = |number: Number, by: f64| Number::from(number.known().map(|ns| ns * by));
    if let Some(latency) = &mut test.latency {
        latency.count = 100_000;
        latency.min = scale(latency.min, 21.0);
        latency.p50 = scale(latency.p50, 24.0);
        latency.p90 = scale(latency.p90, 29.0);
        latency.p99 = scale(latency.p99, 40.0);
        latency.p99_9 = scale(latency.p99_9, 14.0);
        latency.p99_99 = scale(latency.p99_99, 9.0);
        latency.max = scale(latency.max, 1.9);
        latency.mean = scale(latency.mean, 25.0);
    }
    test.warnings = vec!["the processor's idle states were not held; wake-ups include them".to_owned()];
    test
}

/// A run that passed.
pub(crate) fn passed() -> RunResult {
    let mut run = RunResult::new(
        "7e57da7a".to_owned(),
        ["linerate", "qualify", "cable:test{1", "cable:test}1"].map(str::to_owned).into(),
        "2001-02-03T04:05:06.789Z".parse().unwrap(),
    );
    run.elapsed_s = 192.4.into();
    run.outcome = Outcome::Pass;
    run.environment = Environment {
        linerate: Some("0.0.0-test".to_owned()),
        build: Some("release".to_owned()),
        host: Some("testhost".to_owned()),
        kernel: Some("Linux 6.0.0-test".to_owned()),
        os: Some("Test OS 1 (sample)".to_owned()),
        cpu: Some("Sample Processor T-1000 @ 2.30 GHz".to_owned()),
        cores: Some(2),
        memory_bytes: Some(25_276_510_208),
        hypervisor: Some("present, unnamed".to_owned()),
        huge_pages_2m: Some(HugePages { total: 512, free: 448 }),
        interfaces: BTreeMap::from([(
            "test0".to_owned(),
            Interface {
                driver: Some("veth".to_owned()),
                mtu: Some(1500),
                speed_mbps: Some(10_000),
                state: Some("up".to_owned()),
                offloads: Some(BTreeMap::from([
                    ("rx-checksumming".to_owned(), true),
                    ("tx-checksumming".to_owned(), true),
                    ("large-receive-offload".to_owned(), false),
                ])),
                queues: Some(Queues { tx: 1, rx: 1 }),
                ..Interface::default()
            },
        )]),
    };
    for (wire_bytes, pps) in
        [(64, 51.97e6), (128, 49.2e6), (256, 44.1e6), (512, 33.8e6), (1024, 21.6e6), (1518, 15.9e6)]
    {
        run.tests.push(rate(&CABLE, "tx", wire_bytes, 1, pps, ""));
    }
    run.tests.push(rate(&CABLE, "tx", 64, 2, 58.4e6, ""));
    for (wire_bytes, pps) in [(64, 1.83e6), (512, 1.71e6), (1518, 1.42e6)] {
        run.tests.push(rate(&XDP, "tx", wire_bytes, 1, pps, "-xdp"));
    }
    run.tests.push(latency());
    run.tests.push(sleeping());
    run.tests.push(Test {
        id: "tx-64-netmap".to_owned(),
        title: "Transmit, 64 B, native netmap".to_owned(),
        workload: "tx".to_owned(),
        skipped: Some("/dev/netmap is not there: load the netmap module, or leave this test out".to_owned()),
        ..Test::default()
    });
    run.comparisons = published::compare(&run.tests).unwrap();
    let ours = run.tests[7].value.as_ref().unwrap().median;
    run.comparisons.push(
        Comparison::new(
            Kind::Peer,
            "tx-64-1p-xdp",
            "a peer's txonly 1.2",
            "peer -i test0 -z",
            Unit::Pps,
            1.9e6.into(),
            ours,
        )
        .with_rounds(&[(1.80e6.into(), 1.92e6.into()), (1.86e6.into(), 1.88e6.into())], 2),
    );
    run
}

/// The same run with missing frames, a signal, and a matching outcome.
pub(crate) fn failed() -> RunResult {
    let mut run = passed();
    run.outcome = Outcome::Failed;
    run.reasons = vec!["tx-512-1p: 37 frames are unexplained".to_owned()];
    let ledger = run.tests[3].ledger.as_mut().unwrap();
    ledger.received = ledger.received.map(|frames| frames - 37 - 1200);
    ledger.dropped = frames(&[("rx_ring_full", 1200)]);
    run.signal = Some(2);
    run
}

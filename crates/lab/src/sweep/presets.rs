//! Plans by their names: the published measurements.

use super::plan::{Beside, Form, Part, Plan, Point, Via};
use crate::published::nic::emulex_plan;
use linerate_load::Workload;
use linerate_load::fcoe::{Mix, WORKLOAD, Wire};
use linerate_load::netperf::{TCP_RR, UDP_RR};
use linerate_load::pktgen::{PAIR, WORKLOAD as PKT_GEN};
use linerate_load::rfc2544::{BACK_TO_BACK, LOSS, THROUGHPUT};
use linerate_load::stream::{TCP_BIDIR, TCP_MAERTS, TCP_SENDFILE, TCP_STREAM, UDP_STREAM};
use linerate_result::{Parameters, parameters};
use linerate_text::saturating_ns;
use std::time::Duration;

pub struct Preset {
    /// Name as typed on the command line.
    pub name: &'static str,
    pub about: &'static str,
    /// Function that makes all points.
    points: Points,
}

/// Function that makes the points of a preset.
enum Points {
    /// Of a preset that measures one thing.
    Plain(fn(Form) -> Vec<Point>),
    /// Of one that has sockets.
    Via(fn(Form, Via) -> Vec<Point>),
    /// Of one that measures what is between two ports: where frames are sent, and where they arrive.
    Between(fn(Form, [&str; 2]) -> Vec<Point>),
}

/// Ports of a preset between two, if none are given: the ends of a cable of 10 Gb/s, which shows what the tester itself can do.
const CABLE: [&str; 2] = ["cable:rfc2544{1,rate=10G", "cable:rfc2544}1,rate=10G"];

pub const PRESETS: &[Preset] = &[
    // Name, description, points.
    row("t5-fcoe", "the published FCoE measurements, three sizes of a request or seven", Points::Plain(t5_fcoe)),
    row(
        "t5-netmap",
        "the published pkt-gen measurement: 64-byte frames, 4 queues and a thread, one port and two at once",
        Points::Plain(t5_netmap),
    ),
    row(
        "t5-nic",
        "the published iperf measurements, I/O of 1K to 256K, 8 streams, each way and both",
        Points::Via(t5_nic),
    ),
    row(
        "emulex-netperf",
        "the published netperf plan: TCP_STREAM, TCP_SENDFILE, UDP_STREAM by I/O size at MTU 576, 1500 and 9000",
        Points::Via(emulex_netperf),
    ),
    row(
        "latency-under-load",
        "requests in datagrams, alone and beside 1, 4 and 16 TCP streams to the other end",
        Points::Via(latency_under_load),
    ),
    row(
        "rfc2544",
        "RFC 2544's tests of what is between two ports, for 64 to 1518 bytes: throughput and latency, loss, back-to-back",
        Points::Between(rfc2544),
    ),
    row(
        "rrul",
        "flent's, without marks and ICMP: 4 TCP streams each way beside requests over UDP and TCP, which are alone before",
        Points::Via(rrul),
    ),
];

const fn row(name: &'static str, about: &'static str, points: Points) -> Preset {
    Preset { name, about, points }
}

impl Preset {
    /// True if its plan has a choice of sockets.
    #[must_use]
    pub fn has_via(&self) -> bool {
        matches!(self.points, Points::Via(_))
    }

    /// True if its plan has a choice of ports.
    #[must_use]
    pub fn has_ports(&self) -> bool {
        matches!(self.points, Points::Between(_))
    }

    /// Makes the plan of this preset; `via` has no effect on one without a choice of sockets, `ports` on one without a choice of
    /// ports.
    #[must_use]
    pub fn plan(&self, form: Form, via: Via, ports: Option<[&str; 2]>) -> Plan {
        match self.points {
            Points::Plain(points) => Plan::of_preset(self.name, None, form, points(form)),
            Points::Between(points) => Plan::of_preset(self.name, None, form, points(form, ports.unwrap_or(CABLE))),
            Points::Via(points) => Plan::of_preset(self.name, Some(via), form, points(form, via)),
        }
    }
}

/// The published request sizes, bytes.
const SIZES: [u32; 7] = [512, 1024, 2048, 4096, 8192, 16384, 32768];
const QUICK: [u32; 3] = [512, 4096, 32768];

/// The published FCoE table: one target with 48 LUNs, 4 initiators with 12 of them each, queue depth 16, MTU 2180; for
/// each speed of the wire all sizes, for each size READ, WRITE and 50/50.
fn t5_fcoe(form: Form) -> Vec<Point> {
    Wire::ALL.into_iter().flat_map(|wire| fcoe(form, wire, form.time())).collect()
}

/// Points of the published FCoE table over one wire, each measured for `time`.
pub(crate) fn fcoe(form: Form, wire: Wire, time: Duration) -> Vec<Point> {
    let sizes = match form {
        Form::Quick => &QUICK[..],
        Form::Full => &SIZES[..],
    };
    let milliseconds = saturating_ns(time) / 1_000_000;
    let point = |io_bytes: u32, mix: Mix| Point {
        id: format!("fcoe-{}-{}-{io_bytes}", wire.word(), mix.word()),
        title: format!("{} of {io_bytes} bytes, {}", mix.title(), wire.title()),
        workload: &WORKLOAD,
        parameters: parameters([
            ("io_bytes", io_bytes.into()),
            ("op", mix.word().into()),
            ("wire", wire.word().into()),
            ("queue_depth", 16_u32.into()),
            ("initiators", 4_u32.into()),
            ("luns", 48_u32.into()),
            ("mtu", 2180_u32.into()),
            ("time_ms", milliseconds.into()),
        ]),
        beside: Beside::default(),
    };
    sizes.iter().flat_map(|&size| Mix::ALL.map(|mix| point(size, mix))).collect()
}

/// The published pkt-gen measurement: `pkt-gen -f tx -l 60 -p 1 -w 2` on ports of 4 queues, and two of them at once. Each port is an
/// end of a cable whose other end takes all frames and checks them.
fn t5_netmap(form: Form) -> Vec<Point> {
    let time = u64::from(seconds(form, NETMAP_SECONDS));
    let point = |ports: u32, workload: &'static Workload, title: &str| {
        let all = [
            ("-i", "cable:t5a{1,queues=4"),
            ("--to", "cable:t5a}1,queues=4"),
            ("second", "cable:t5b{1,queues=4"),
            ("second-to", "cable:t5b}1,queues=4"),
            ("-f", "tx"),
        ];
        let mut asked =
            parameters([("-l", 60_u32.into()), ("-p", 1_u32.into()), ("-w", 2_u32.into()), ("--seconds", time.into())]);
        let own = all.iter().filter(|(name, _)| ports == 2 || !name.starts_with("second"));
        asked.extend(own.map(|(name, value)| ((*name).to_owned(), (*value).into())));
        let id = format!("netmap-tx-64-{ports}p");
        Point {
            id,
            title: format!("64-byte frames, {title}, sent"),
            workload,
            parameters: asked,
            beside: Beside::default(),
        }
    };
    vec![point(1, &PKT_GEN, "one port"), point(2, &PAIR, "two ports at once")]
}

/// I/O sizes of the published iperf figure, and those of the quick form: 1K to 256K.
const IO: [u32; 9] = [1, 2, 4, 8, 16, 32, 64, 128, 256];
/// Seconds of a point in the quick form, and as published.
const SECONDS: u32 = 1;
const NETMAP_SECONDS: u32 = 10;
const IPERF_SECONDS: u32 = 30;
const NETPERF_SECONDS: u32 = 60;

fn seconds(form: Form, published: u32) -> u32 {
    match form {
        Form::Quick => SECONDS,
        Form::Full => published,
    }
}

/// The published iperf figure: `-P 8 -w 512k -t 30`, MTU 1500, each way and both.
fn t5_nic(form: Form, via: Via) -> Vec<Point> {
    let tests = [(&TCP_STREAM, "tx", "transmit"), (&TCP_MAERTS, "rx", "receive"), (&TCP_BIDIR, "both", "both ways")];
    let point = |(workload, word, title): (&'static Workload, &str, &str), kibi: u32| Point {
        id: format!("nic-{word}-{kibi}K"),
        title: format!("{title}, I/O of {kibi}K, 8 streams"),
        workload,
        parameters: parameters([
            ("via", via.word().into()),
            ("io_bytes", (kibi * 1024).into()),
            ("parallel", 8_u32.into()),
            // 512k to iperf 2, whose command line it is: small letters are thousands.
            ("window", 512_000_u32.into()),
            ("mtu", 1500_u32.into()),
            ("seconds", seconds(form, IPERF_SECONDS).into()),
        ]),
        beside: Beside::default(),
    };
    tests.into_iter().flat_map(|test| IO.map(|kibi| point(test, kibi))).collect()
}

/// Frame sizes of RFC 2544, section 9.1, with FCS.
const FRAMES: [u32; 7] = [64, 128, 256, 512, 1024, 1280, 1518];
/// Loads of the loss test (section 26.3), per cent.
const LOADS: [u32; 10] = [100, 90, 80, 70, 60, 50, 40, 30, 20, 10];

/// RFC 2544's tests. Only the full form has the times that the RFC asks for, and takes hours.
fn rfc2544(form: Form, [sends, receives]: [&str; 2]) -> Vec<Point> {
    let (seconds, settle, loads) = match form {
        Form::Quick => (1_u32, 0_u32, &LOADS[..1]),
        Form::Full => (60, 5, &LOADS[..]),
    };
    let point = |(id, title): (&str, String), workload: &'static Workload, frame: u32, load: Option<u32>| {
        let mut asked = parameters([
            ("-i", sends.into()),
            ("--to", receives.into()),
            ("frame_bytes", frame.into()),
            ("trial_seconds", seconds.into()),
            ("settle", settle.into()),
        ]);
        asked.extend(load.map(|load| ("load".to_owned(), load.into())));
        let load = load.map_or(String::new(), |load| format!("-{load}"));
        let title = format!("{title}, frames of {frame} bytes");
        Point { id: format!("{id}-{frame}{load}"), title, workload, parameters: asked, beside: Beside::default() }
    };
    let throughput = FRAMES.map(|frame| point(("throughput", "throughput".to_owned()), &THROUGHPUT, frame, None));
    let loss = FRAMES.into_iter().flat_map(|frame| {
        loads
            .iter()
            .map(move |load| point(("loss", format!("loss at {load} % of the rate")), &LOSS, frame, Some(*load)))
    });
    let bursts = FRAMES.map(|frame| point(("burst", "back-to-back frames".to_owned()), &BACK_TO_BACK, frame, None));
    throughput.into_iter().chain(loss).chain(bursts).collect()
}

/// Seconds of latency beside streams, and of latency alone before, as in flent's tests.
const LOADED_SECONDS: u32 = 60;
const IDLE_SECONDS: u64 = 5;
/// Bytes of a write of the streams beside, netperf's own for a socket of the kernel's.
const BULK: u32 = 16_384;

/// Conditions of workloads at the same time: sockets, MTU, seconds; and the seconds before.
fn conditions(form: Form, via: Via) -> (Parameters, u64) {
    let quiet = if form == Form::Quick { u64::from(SECONDS) } else { IDLE_SECONDS };
    let seconds = seconds(form, LOADED_SECONDS).into();
    (parameters([("via", via.word().into()), ("mtu", 1500_u32.into()), ("seconds", seconds)]), quiet)
}

/// Streams beside, under a name.
fn streams(name: &str, workload: &'static Workload, parallel: u32, conditions: &Parameters) -> Part {
    let mut asked = conditions.clone();
    asked.extend(parameters([("io_bytes", BULK.into()), ("parallel", parallel.into())]));
    Part { name: name.to_owned(), workload, parameters: asked }
}

/// Latency beside streams in one direction.
fn latency_under_load(form: Form, via: Via) -> Vec<Point> {
    let (conditions, quiet) = conditions(form, via);
    let point = |parallel: u32| {
        let beside = Beside {
            name: "ping".to_owned(),
            others: vec![streams("up", &TCP_STREAM, parallel, &conditions)],
            axes: format!(", {parallel} streams"),
            told: parameters([("up.parallel", parallel.into())]),
            quiet,
        };
        Point::together(format!("ping-{parallel}"), &UDP_RR, conditions.clone(), beside)
    };
    [1, 4, 16].map(point).into()
}

/// Realtime response under load: flent's `rrul` has marks of four classes on its streams and requests, and ICMP beside them.
fn rrul(form: Form, via: Via) -> Vec<Point> {
    let (conditions, quiet) = conditions(form, via);
    let rr = Part { name: "tcp".to_owned(), workload: &TCP_RR, parameters: conditions.clone() };
    let both = [("up", &TCP_STREAM), ("down", &TCP_MAERTS)];
    let both = both.map(|(name, workload)| streams(name, workload, 4, &conditions));
    let beside = Beside {
        name: "udp".to_owned(),
        others: std::iter::once(rr).chain(both).collect(),
        quiet,
        ..Beside::default()
    };
    vec![Point::together("rrul".to_owned(), &UDP_RR, conditions, beside)]
}

/// The published netperf plan, all 111 points in both forms: at each MTU each test at each I/O size.
fn emulex_netperf(form: Form, via: Via) -> Vec<Point> {
    let mut points = Vec::new();
    for mtu in [576_u32, 1500, 9000] {
        for row in emulex_plan().unwrap_or_default() {
            let tests = [&TCP_STREAM, &TCP_SENDFILE, &UDP_STREAM];
            let Some(workload) = tests.into_iter().find(|workload| workload.name == row.test) else { continue };
            for size in row.sizes {
                let mut asked = parameters([
                    ("via", via.word().into()),
                    ("io_bytes", size.into()),
                    ("mtu", mtu.into()),
                    ("seconds", seconds(form, NETPERF_SECONDS).into()),
                ]);
                // Our stack's queues of datagrams have one size.
                if let Some(bytes) = row.buffers.filter(|_| via == Via::Kernel) {
                    asked.insert("window".into(), bytes.into());
                }
                let title = format!("{}, I/O of {size} bytes, MTU {mtu}", row.test);
                let id = format!("{}-{mtu}-{size}", row.test.to_ascii_lowercase().replace('_', "-"));
                points.push(Point { id, title, workload, parameters: asked, beside: Beside::default() });
            }
        }
    }
    points
}

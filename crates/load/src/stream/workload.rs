//! Streams in the table of workloads: netperf's names, a row for each test, measured between two hosts in this process.

use super::measure::{Measured, ask, measure};
use super::settings::{BLOCK, DATAGRAM, Direction, LEAST_DATAGRAM, STREAMS, Settings, TIME, Transport, WINDOW};
use crate::parameters::count;
use crate::socket::{Ends, Path, Via, Wire};
use crate::together::fairness;
use crate::turn::Turn;
use crate::validity::sent_again;
use crate::workload::{Job, ParameterRow, Workload, nothing_needed};
use linerate_result::{Number, Parameters, PortUsed, Repeat, Role, Sample, Summary, Test, Unit};
use linerate_rt::Stop;

const PORT: u16 = 5201;

#[derive(Clone, Copy)]
struct Kind {
    name: &'static str,
    transport: Transport,
    direction: Direction,
    zero_copy: bool,
}

const fn tcp(name: &'static str, direction: Direction, zero_copy: bool) -> Kind {
    Kind { name, transport: Transport::Tcp, direction, zero_copy }
}

const STREAM: Kind = tcp("TCP_STREAM", Direction::Forward, false);
const MAERTS: Kind = tcp("TCP_MAERTS", Direction::Reverse, false);
const BIDIRECTIONAL: Kind = tcp("TCP_BIDIR", Direction::Both, false);
const SENDFILE: Kind = tcp("TCP_SENDFILE", Direction::Forward, true);
const UDP: Kind =
    Kind { name: "UDP_STREAM", transport: Transport::Udp, direction: Direction::Forward, zero_copy: false };

/// Figures of TCP, and of UDP.
const TCP_REPORTS: &[(&str, Unit)] = &[
    ("throughput", Unit::BitsPerSecond),
    ("cpu", Unit::PerCent),
    ("cpu_remote", Unit::PerCent),
    ("fairness", Unit::Ratio),
];
const UDP_REPORTS: &[(&str, Unit)] = &[
    ("throughput", Unit::BitsPerSecond),
    ("cpu", Unit::PerCent),
    ("cpu_remote", Unit::PerCent),
    ("offered", Unit::BitsPerSecond),
    ("lost", Unit::PerCent),
    ("fairness", Unit::Ratio),
];

macro_rules! row {
    ($kind:ident, $about:literal, $reports:ident) => {
        Workload::new(($kind.name, $about), parameters, nothing_needed, $reports, |all| prepare($kind, all))
    };
}

pub const TCP_STREAM: Workload = row!(STREAM, "TCP from here to there: bits that the other end received", TCP_REPORTS);
pub const TCP_MAERTS: Workload = row!(MAERTS, "TCP from there to here: bits that this end received", TCP_REPORTS);
pub const TCP_BIDIR: Workload =
    row!(BIDIRECTIONAL, "TCP both ways at once, by streams of their own: the sum of both", TCP_REPORTS);
pub const TCP_SENDFILE: Workload = row!(SENDFILE, "TCP from here to there by sendfile(2), without a copy", TCP_REPORTS);
pub const UDP_STREAM: Workload =
    row!(UDP, "datagrams from here to there, as fast as they can be sent: bits that arrived", UDP_REPORTS);

fn parameters() -> Vec<ParameterRow> {
    let rows = [
        ("via", "kernel|stack", "the kernel's sockets over a veth pair, or linerate's own stack over a cable (kernel)"),
        (
            "peer",
            "IP:PORT",
            "the kernel's sockets with a server of iperf3's protocol that is there, instead of a veth pair",
        ),
        ("io_bytes", "N", "bytes of a write or a datagram"),
        ("parallel", "N", "streams at once, in each direction (1)"),
        ("window", "N", "bytes of each socket buffer; 0: the system's own (0)"),
        ("mtu", "N", "the largest IP packet, bytes (1500)"),
        ("seconds", "N", "how long is measured (1)"),
    ];
    rows.map(|(name, value, about)| ParameterRow { name: name.into(), value: value.into(), about: about.into() }).into()
}

fn prepare(kind: Kind, all: &Parameters) -> Result<Job, String> {
    let path = Path::of(all)?;
    let udp = kind.transport == Transport::Udp;
    let (least, most) = if udp { (LEAST_DATAGRAM, DATAGRAM) } else { (1, BLOCK) };
    if !all.contains_key("io_bytes") {
        return Err("io_bytes: give bytes of a write or a datagram".to_owned());
    }
    // All of them are far below what fits.
    let size = |n: u64| usize::try_from(n).unwrap_or_default();
    let settings = Settings {
        transport: kind.transport,
        direction: kind.direction,
        streams: size(count(all, "parallel", 1..=STREAMS as u64, 1)?),
        block: size(count(all, "io_bytes", least as u64..=most as u64, 0)?),
        time: count(all, "seconds", 1..=TIME, 1)?,
        window: count(all, "window", 0..=WINDOW, 0)?,
        zero_copy: kind.zero_copy,
        wide_counters: udp,
        ..Settings::default()
    };
    if udp && settings.window > 0 && matches!(path, Path::Pair(Via::Stack, _)) {
        return Err(
            "window: linerate's own stack has queues of datagrams of one size; give 0, or leave it out".to_owned()
        );
    }
    let (seconds, speaks) = (settings.time, format!("iperf3's protocol for {} s", settings.time));
    Ok(Job::over(path, seconds, &speaks, move |ends: &Ends, turn: &Turn<'_>, stop: &Stop| match ends {
        Ends::Pair(pair) => {
            let measured = measure(&pair.at(turn.port(PORT)), &settings, turn, stop)?;
            Ok(test(kind, &pair.ports, &measured))
        }
        Ends::Server(peer, uplink) => {
            let wire = Wire::watch(&uplink.ports);
            let measured = ask(&uplink.site, peer.ip(), &settings, turn, stop)?;
            let mut test = test(kind, &uplink.ports, &measured);
            wire.judge(&mut test, turn.is_alone());
            Ok(test)
        }
    }))
}

fn test(kind: Kind, ports: &[PortUsed], measured: &Measured) -> Test {
    let rate = |bytes: u64| 8.0 * bytes as f64 / measured.seconds.max(1e-9);
    let failure = (measured.received == 0).then(|| "nothing arrived".to_owned());
    let mut test = Test {
        workload: kind.name.to_owned(),
        ports: ports.to_vec(),
        repeats: vec![Repeat {
            value: rate(measured.received).into(),
            seconds: measured.seconds.into(),
            valid: failure.is_none(),
            why_invalid: failure.clone(),
            ..Repeat::default()
        }],
        failures: failure.into_iter().collect(),
        // This end counts what it sends; of datagrams that is not what arrives.
        samples: if kind.transport == Transport::Udp { Vec::new() } else { samples(&measured.samples) },
        samples_of: (kind.transport == Transport::Tcp).then_some(match kind.direction {
            Direction::Forward => Role::Tx,
            Direction::Reverse => Role::Rx,
            Direction::Both => Role::Both,
        }),
        ..Test::default()
    };
    test.summarize(Unit::BitsPerSecond);
    let [here, there] = measured.cpu;
    for (name, cpu) in [("cpu", here), ("cpu_remote", there)] {
        test.further.insert(name.to_owned(), Summary::once(cpu.total, Unit::PerCent));
    }
    if let Some(fairness) = fairness_of(&measured.streams) {
        test.further.insert("fairness".to_owned(), Summary::once(fairness, Unit::Ratio));
    }
    test.counters.add(None, "bytes sent", measured.sent);
    test.counters.add(None, "bytes received", measured.received);
    if kind.transport == Transport::Udp {
        test.further.insert("offered".to_owned(), Summary::once(rate(measured.sent), Unit::BitsPerSecond));
        let lost = 100.0 * measured.lost as f64 / measured.datagrams.max(1) as f64;
        test.further.insert("lost".to_owned(), Summary::once(lost, Unit::PerCent));
        test.counters.add(None, "datagrams sent", measured.datagrams);
        test.counters.add(None, "datagrams lost", measured.lost);
    } else {
        test.counters.add(None, "segments sent again", measured.retransmits);
        test.connections.clone_from(&measured.connections);
        test.warnings.extend(sent_again(ports, measured.retransmits));
    }
    test
}

/// Fairness among the streams of one direction, of the direction in which it is less; none if there is only one stream in each.
fn fairness_of(streams: &[(bool, u64)]) -> Option<f64> {
    let of = |way: bool| {
        fairness(&streams.iter().filter(|(sends, _)| *sends == way).map(|(_, bytes)| *bytes as f64).collect::<Vec<_>>())
    };
    [of(true), of(false)].into_iter().flatten().reduce(f64::min)
}

/// Rates up to each time.
fn samples(all: &[(f64, u64)]) -> Vec<Sample> {
    let mut before = 0.0;
    let sample = |&(end, bytes): &(f64, u64)| {
        let seconds = end - std::mem::replace(&mut before, end);
        Sample { t_s: end.into(), value: Number::new(8.0 * bytes as f64 / seconds.max(1e-9)) }
    };
    all.iter().map(sample).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use linerate_result::parameters;
    use std::time::Instant;

    #[test]
    fn each_test_moves_bytes_over_each_path_at_each_mtu() {
        let stop = Stop::new().unwrap();
        for workload in [TCP_STREAM, TCP_MAERTS, TCP_BIDIR, TCP_SENDFILE, UDP_STREAM] {
            for (via, mtu) in [("kernel", 1500_u32), ("kernel", 576), ("stack", 1500), ("stack", 9000)] {
                let asked = parameters([
                    ("via", via.into()),
                    ("io_bytes", 2048_u32.into()),
                    ("mtu", mtu.into()),
                    ("parallel", 2_u32.into()),
                ]);
                let began = Instant::now();
                let test = match workload.measure(&asked, &stop) {
                    Err(why) if why.contains("network namespace") => {
                        linerate_skip::skip!("{why}");
                        continue;
                    }
                    test => test.unwrap_or_else(|why| panic!("{} {via} {mtu}: {why}", workload.name)),
                };
                assert_eq!(test.failures, [""; 0], "{}", workload.name);
                assert!(test.ports.iter().all(|port| port.mtu == Some(mtu)));
                let seconds = test.repeats[0].seconds.known().unwrap();
                let took = began.elapsed().as_secs_f64();
                assert!(seconds >= 0.8 && seconds <= took && took < 60.0, "{} {via} {mtu}: {seconds}", workload.name);
                // Its sender knows all of a connection, its receiver what was sent again.
                let tcp =
                    |sends: bool| test.connections.iter().filter(|of| of.rtt_ns.known().is_some() == sends).count();
                let (here, there) = match workload.name {
                    "UDP_STREAM" => (0, 0),
                    "TCP_MAERTS" => (0, 2),
                    "TCP_BIDIR" => (2, 2),
                    _ => (2, 0),
                };
                assert_eq!((tcp(true), tcp(false)), (here, there), "{} {via} {mtu}", workload.name);
                assert!(test.connections.iter().all(|of| of.sent_again.is_some()));
                let again: u64 = test.connections.iter().filter_map(|of| of.sent_again).sum();
                assert_eq!(test.counters.get(None, "segments sent again").unwrap_or(0), again);
                let told = test.warnings.iter().any(|line| line.contains("sent again"));
                assert_eq!(told, again > 0, "{} {via} {mtu}: {:?}", workload.name, test.warnings);
                let cpu = test.further["cpu"].median.known().unwrap();
                assert!(cpu > 0.0 && cpu < 400.0, "{} {via} {mtu}: {cpu}", workload.name);
            }
        }
    }

    #[test]
    fn a_server_that_is_there_is_asked() {
        let stop = Stop::new().unwrap();
        let server = super::super::Server::at([127, 0, 0, 1].into()).unwrap();
        let peer = format!("127.0.0.1:{}", server.port());
        for workload in [TCP_STREAM, TCP_MAERTS, UDP_STREAM] {
            let test =
                workload.measure(&parameters([("peer", peer.as_str().into()), ("io_bytes", 2048_u32.into())]), &stop);
            let test = test.unwrap();
            assert_eq!((&test.failures[..], &test.ports[0].name[..]), (&[][..], "lo"), "{}", workload.name);
            assert!(test.value.unwrap().median.known().unwrap() > 1e6);
        }
        drop(server);
        let asked = parameters([("peer", peer.as_str().into()), ("io_bytes", 2048_u32.into())]);
        let error = TCP_STREAM.measure(&asked, &stop).unwrap_err();
        assert!(error.contains("Connection refused"), "{error}");
    }

    #[test]
    fn what_cannot_be_measured_is_said_before_anything_is_made() {
        let stop = Stop::new().unwrap();
        let (stream, udp) = (&TCP_STREAM, &UDP_STREAM);
        for (workload, list, told) in [
            (stream, &[][..], "io_bytes: give bytes"),
            (stream, &[("io_bytes", "0")], "io_bytes: give a number from 1 to 1048576"),
            (stream, &[("io_bytes", "64"), ("via", "air")], "via: give one of kernel, stack"),
            (stream, &[("io_bytes", "64"), ("mtu", "100")], "mtu: give a number from 576"),
            (udp, &[("io_bytes", "8")], "io_bytes: give a number from 16 to 65507"),
            (udp, &[("io_bytes", "64"), ("via", "stack"), ("window", "9000")], "window: linerate's own stack"),
            (stream, &[("io_bytes", "64"), ("peer", "there")], "peer: give an address and a port"),
            (
                stream,
                &[("io_bytes", "64"), ("peer", "127.0.0.1:9"), ("via", "stack")],
                "peer: tests with another machine",
            ),
            (
                stream,
                &[("io_bytes", "64"), ("peer", "127.0.0.1:9"), ("mtu", "1400")],
                "mtu: lo, the way to 127.0.0.1, has",
            ),
        ] {
            let number = |text: &str| text.parse::<u32>().map_or_else(|_| text.into(), Into::into);
            let asked = parameters(list.iter().map(|(name, text)| (*name, number(text))));
            let error = workload.measure(&asked, &stop).unwrap_err();
            assert!(error.starts_with(told), "{told}: {error}");
        }
        stop.ask(2);
        let asked = parameters([("io_bytes", 64_u32.into()), ("via", "stack".into())]);
        assert_eq!(stream.measure(&asked, &stop), Err("stopped".to_owned()));
    }
}

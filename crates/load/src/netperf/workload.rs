//! Transactions in the table of workloads: netperf's names, a row for each test, measured between two hosts in this process.

use super::figures::{EndFigures, Figures};
use super::measure::{ask, measure};
use super::ring::BLOCK;
use super::settings::{DATAGRAM, Length, PORT, Settings};
use super::table::{Test, Transport};
use crate::parameters::count;
use crate::socket::{Ends, Path};
use crate::turn::Turn;
use crate::validity::sent_again;
use crate::workload::{Job, ParameterRow, Workload, nothing_needed};
use linerate_result::{Latency, Number, Parameters, PortUsed, Repeat, Summary, Unit};
use linerate_rt::Stop;
use linerate_text::cut;
use std::time::Duration;

/// Figures of all rows.
const REPORTS: &[(&str, Unit)] = &[
    ("transactions", Unit::TransactionsPerSecond),
    ("p50", Unit::Ns),
    ("p90", Unit::Ns),
    ("p99", Unit::Ns),
    ("p99.9", Unit::Ns),
    ("cpu", Unit::PerCent),
    ("cpu_remote", Unit::PerCent),
];

/// Time after which a datagram's response is lost, with its transaction.
const PATIENCE: Duration = Duration::from_secs(1);
/// Longest test, seconds.
const TIME: u64 = 86_400;

macro_rules! row {
    ($name:literal, $about:literal) => {
        Workload::new(($name, $about), parameters, nothing_needed, REPORTS, |all| prepare($name, all))
    };
}

pub const TCP_RR: Workload = row!("TCP_RR", "requests and responses over TCP, one at a time, and how long each takes");
pub const TCP_CRR: Workload =
    row!("TCP_CRR", "a connection for each request and its response, from its opening to its end");
pub const UDP_RR: Workload =
    row!("UDP_RR", "requests and responses in datagrams, one at a time, and how long each takes");

fn parameters() -> Vec<ParameterRow> {
    let rows = [
        ("via", "kernel|stack", "the kernel's sockets over a veth pair, or linerate's own stack over a cable (kernel)"),
        ("peer", "IP:PORT", "the kernel's sockets with a netserver that is there, instead of a veth pair"),
        ("request_bytes", "N", "bytes of a request (1)"),
        ("response_bytes", "N", "bytes of a response (1)"),
        ("mtu", "N", "the largest IP packet, bytes (1500)"),
        ("seconds", "N", "how long is measured (1)"),
    ];
    rows.map(|(name, value, about)| ParameterRow { name: name.into(), value: value.into(), about: about.into() }).into()
}

fn prepare(name: &str, all: &Parameters) -> Result<Job, String> {
    let test = Test::by_name(name).ok_or_else(|| format!("{name}: not built here"))?;
    let path = Path::of(all)?;
    let most = if test.transport == Transport::Udp { DATAGRAM } else { BLOCK };
    let bytes = |name| count(all, name, 1..=most.into(), 1).map(|n| cut(n, most));
    let mut settings = Settings::new(test, "");
    (settings.request, settings.response) = (bytes("request_bytes")?, bytes("response_bytes")?);
    let seconds = count(all, "seconds", 1..=TIME, 1)?;
    settings.length = Length::Time(cut(seconds, u32::MAX));
    (settings.local.cpu, settings.remote.cpu, settings.latency) = (true, true, true);
    settings.patience = Some(PATIENCE).filter(|_| test.transport == Transport::Udp);
    Ok(Job::over(path, seconds, "netperf's protocol", move |ends: &Ends, turn: &Turn<'_>, stop: &Stop| {
        let figures = match ends {
            Ends::Pair(pair) => measure(&pair.at(turn.port(PORT)), &settings, turn, stop)?,
            Ends::Server(peer, uplink) => {
                let place = uplink.site.place().clone();
                ask(uplink, &Settings { host: peer.ip().to_string(), place, ..settings }, turn, stop)?
            }
        };
        Ok(told(test, ends.ports(), &figures))
    }))
}

fn told(of: &Test, ports: &[PortUsed], figures: &Figures) -> linerate_result::Test {
    let failure = (figures.transactions == 0).then(|| "no request was answered".to_owned());
    let latency = figures.times.as_ref().and_then(Latency::of);
    let mut test = linerate_result::Test {
        workload: of.name.to_owned(),
        ports: ports.to_vec(),
        repeats: vec![Repeat {
            value: figures.transactions_per_second().into(),
            seconds: figures.seconds.into(),
            valid: failure.is_none(),
            why_invalid: failure.clone(),
            ..Repeat::default()
        }],
        failures: failure.into_iter().collect(),
        ..linerate_result::Test::default()
    };
    test.summarize(Unit::TransactionsPerSecond);
    if let Some(latency) = &latency {
        for (name, ns) in [("p50", latency.p50), ("p90", latency.p90), ("p99", latency.p99), ("p99.9", latency.p99_9)] {
            test.further.insert(name.to_owned(), Summary::once(known(ns), Unit::Ns));
        }
    }
    test.latency = latency;
    for (name, end) in [("cpu", &figures.local), ("cpu_remote", &figures.remote)] {
        test.further.insert(name.to_owned(), Summary::once(cpu(end), Unit::PerCent));
    }
    test.counters.add(None, "transactions", figures.transactions);
    test.counters.add(None, "bytes sent", figures.local.sent);
    test.counters.add(None, "bytes received", figures.local.received);
    if of.transport == Transport::Udp {
        // Each has one request, and the last one may still be under way at the end.
        let lost = figures.local.sends.saturating_sub(figures.transactions + 1);
        test.counters.add(None, "requests without a response", lost);
    } else if !of.connects {
        // Those of the responses, if the server says.
        let [again, there] =
            [&figures.local, &figures.remote].map(|end| u64::from(end.retransmits.max(0).unsigned_abs()));
        test.counters.add(None, "segments sent again", again);
        test.connections.extend(figures.connection);
        test.warnings.extend(sent_again(ports, again + there));
    }
    test
}

fn known(n: Number) -> f64 {
    n.known().unwrap_or(f64::NAN)
}

fn cpu(of: &EndFigures) -> f64 {
    of.cpu.map_or(f64::NAN, |cpu| cpu.all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use linerate_result::parameters;
    use std::time::Instant;

    #[test]
    fn each_test_counts_and_times_transactions_over_each_path() {
        let stop = Stop::new().unwrap();
        let mut cut = Vec::new();
        for workload in [TCP_RR, TCP_CRR, UDP_RR] {
            for (via, mtu, request, response) in [
                ("kernel", 1500_u32, 1_u32, 1_u32),
                ("kernel", 576, 100, 2000),
                ("stack", 1500, 1, 1),
                ("stack", 9000, 2000, 100),
            ] {
                let asked = parameters([
                    ("via", via.into()),
                    ("mtu", mtu.into()),
                    ("request_bytes", request.into()),
                    ("response_bytes", response.into()),
                ]);
                let what = format!("{} {via} {mtu} {request} {response}", workload.name);
                let began = Instant::now();
                let test = match workload.measure(&asked, &stop) {
                    Err(why) if why.contains("network namespace") => {
                        linerate_skip::skip!("{why}");
                        continue;
                    }
                    test => test.unwrap_or_else(|why| panic!("{what}: {why}")),
                };
                assert_eq!(test.failures, [""; 0], "{what}");
                assert!(test.ports.len() == 2 && test.ports.iter().all(|port| port.mtu == Some(mtu)), "{what}");
                let seconds = test.repeats[0].seconds.known().unwrap();
                let took = began.elapsed().as_secs_f64();
                assert!(seconds >= 0.9 && seconds <= took && took < 60.0, "{what}: {seconds}");
                let rate = test.value.as_ref().unwrap().median.known().unwrap();
                let [p50, p90, p99, p999] =
                    ["p50", "p90", "p99", "p99.9"].map(|name| test.further[name].median.known().unwrap());
                assert!(
                    p50 > 1000.0 && p50 <= p90 && p90 <= p99 && p99 <= p999 && p999 <= 1e9 * took,
                    "{what}: {test:?}"
                );
                assert_eq!(test.connections.len(), usize::from(workload.name == "TCP_RR"), "{what}");
                assert!(test.connections.iter().all(|of| of.rtt_ns.known() > Some(0.0)), "{what}: {test:?}");
                // One at a time: the mean of all times is the time over their number, but for a last one that the end cuts off.
                let mean = test.latency.as_ref().unwrap().mean.known().unwrap();
                assert!(mean * rate / 1e9 < 1.2, "{what}: {mean} {rate}");
                // Nor does one say anything that was held up.
                if mean * rate / 1e9 < 0.8 && seconds < 1.5 {
                    cut.push(format!("{what}: {mean} {rate}"));
                }
                for name in ["cpu", "cpu_remote"] {
                    // The thread of the end, and that of its host.
                    let cpu = test.further[name].median.known().unwrap();
                    assert!(cpu > 0.1 && cpu < 210.0, "{what}: {name} {cpu}");
                }
                // The last response, or a part of it, may have come behind the end, or before the end of its connection.
                let count = |name: &str| test.counters.get(None, name).unwrap();
                let rest = count("bytes received") - count("transactions") * u64::from(response);
                assert!(count("transactions") > 0 && rest <= u64::from(response), "{what}: {rest}");
            }
        }
        // A long one is a thread that had no processor: on a busy machine Linux was seen to let some wait for up to two seconds.
        assert!(cut.len() <= 1, "{cut:?}");
    }

    #[test]
    fn what_cannot_be_measured_is_said_before_anything_is_made() {
        let stop = Stop::new().unwrap();
        for (workload, list, told) in [
            (&TCP_RR, &[("request_bytes", "0")][..], "request_bytes: give a number from 1 to 16777216"),
            (&UDP_RR, &[("response_bytes", "65508")], "response_bytes: give a number from 1 to 65507"),
            (&TCP_CRR, &[("via", "air")], "via: give one of kernel, stack"),
            (&TCP_CRR, &[("mtu", "100")], "mtu: give a number from 576"),
            (&TCP_CRR, &[("seconds", "0")], "seconds: give a number from 1"),
            (&TCP_RR, &[("io_bytes", "1")], "TCP_RR has no parameter 'io_bytes'"),
        ] {
            let number = |text: &str| text.parse::<u32>().map_or_else(|_| text.into(), Into::into);
            let asked = parameters(list.iter().map(|(name, text)| (*name, number(text))));
            let error = workload.measure(&asked, &stop).unwrap_err();
            assert!(error.starts_with(told), "{told}: {error}");
        }
        stop.ask(2);
        let asked = parameters([("via", "stack".into())]);
        assert_eq!(TCP_RR.measure(&asked, &stop), Err("stopped".to_owned()));
    }
}

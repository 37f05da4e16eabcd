//! The output of our own programs, as text and as values for other programs, says the same as the kept test: each
//! set of flags is a test whose output is imported, and held against the run that --keep kept.

use super::Data;
use crate::ends::{port, until_open};
use crate::process::Process;
use linerate_result::{Number, RunResult, Test};
use std::collections::BTreeMap;
use std::fs;

/// The last run.
fn last(data: &Data) -> RunResult {
    RunResult::from_json(&data.out(&["show", "last", "--json"])).unwrap()
}

/// Name of a test by what both ways to it tell: workload, direction, protocol, streams, end, sizes.
fn key(test: &Test) -> (String, BTreeMap<String, String>) {
    const NAMES: &[&str] =
        &["reverse", "bidir", "protocol", "streams", "message_bytes", "request_bytes", "response_bytes"];
    let told = NAMES.iter().filter_map(|name| Some(((*name).to_owned(), test.parameters.get(*name)?.to_string())));
    (test.workload.clone(), told.filter(|(_, value)| value != "false").collect())
}

/// Checks that two runs have the same tests with the same figures, but for the digits that a program writes.
fn same(flags: &str, printed: &RunResult, kept: &RunResult) {
    let by_key =
        |run: &RunResult| -> BTreeMap<_, Test> { run.tests.iter().map(|test| (key(test), test.clone())).collect() };
    let (printed, kept) = (by_key(printed), by_key(kept));
    assert_eq!(printed.keys().collect::<Vec<_>>(), kept.keys().collect::<Vec<_>>(), "{flags}");
    for (key, one) in &printed {
        let other = &kept[key];
        let median = |test: &Test| test.value.as_ref().map(|value| (value.median, value.unit.clone()));
        let near = |a: Number, b: Number, by: f64| {
            let (a, b) = (a.known().unwrap(), b.known().unwrap());
            assert!((a - b).abs() <= by * a.abs().max(b.abs()) + 1e-9, "{flags} {key:?}: {a} and {b}");
        };
        let ((a, unit), (b, of)) = (median(one).unwrap(), median(other).unwrap());
        assert_eq!(unit, of, "{flags}");
        near(a, b, 6e-3);
        // Three digits at least are written of rates; of jitter a microsecond.
        for (name, summary) in &one.further {
            let Some(other) = other.further.get(name).filter(|other| other.unit == summary.unit) else { continue };
            if ["sent", "throughput"].contains(&name.as_str()) {
                near(summary.median, other.median, 6e-3);
            }
            if name == "lost" {
                near(summary.median, other.median, 1e-6);
            }
        }
        for name in ["retransmits", "packets", "lost_packets"] {
            if let (Some(a), Some(b)) = (one.counters.total(name), other.counters.total(name)) {
                assert_eq!(a, b, "{flags} {key:?}: {name}");
            }
        }
    }
}

/// Runs a client with `--keep` and each set of flags, and imports what it prints.
fn speak(program: &str, server: &[&str], address: &[&str], udp: bool, sets: &[&str]) {
    let (data, other, at) = (Data::new(), Data::new(), port());
    let number = at.to_string();
    let words = [server, &["-p", &number]].concat();
    let end = Process::start(data.command(&words));
    until_open(at, udp);
    for flags in sets {
        let flags_of: Vec<&str> = flags.split_whitespace().collect();
        let words = [&[program][..], address, &["-p", &number, "--keep"], &flags_of].concat();
        let said = data.run(&words);
        assert_eq!((said.code, said.log.as_str()), (0, ""), "{words:?}: {}", said.out);
        fs::write(other.path("log"), &said.out).unwrap();
        other.out(&["import", "log"]);
        let (printed, kept) = (last(&other), last(&data));
        same(&format!("{program} {flags}"), &printed, &kept);
        if flags.contains("-J") || flags.contains("--json-stream") {
            // A document has every digit, and the whole key.
            let of = |run: &RunResult| {
                run.tests
                    .iter()
                    .map(|test| (test.id.clone(), test.value.clone(), test.parameters.clone()))
                    .collect::<Vec<_>>()
            };
            assert_eq!(of(&printed), of(&kept), "{program} {flags}");
        }
    }
    end.signal("INT");
    end.end();
}

#[test]
fn what_stream_prints_is_what_is_kept_of_it() {
    let sets = [
        "-t 1",
        "-n 8M",
        "-n 4M -P 3",
        "-n 4M -R",
        "-n 4M -R -P 2 -V",
        "-t 1 --bidir -P 2",
        "-n 4M -V",
        "-n 4M -f K",
        "-n 4M -f g -P 2",
        "-n 4M --get-server-output",
        "-n 4M -V --get-server-output -R",
        "-n 4M -T title",
        "-n 4M -J",
        "-t 1 --bidir -J",
        "-n 4M -R --json-stream",
        "-n 4M -P 2 --json-stream",
        "-u -b 20M -t 1",
        "-u -b 20M -n 200K -P 2",
        "-u -b 20M -n 200K -R",
        "-u -b 20M -t 1 --bidir -i 0.5",
        "-u -b 20M -n 200K -J",
        "-u -b 20M -n 200K -V -f k",
    ];
    speak("stream", &["stream", "-s"], &["-c", "127.0.0.1"], false, &sets);
}

#[test]
fn what_iperf_prints_is_what_is_kept_of_it() {
    let sets = [
        "-t 1",
        "-t 1 -P 2",
        "-t 1 -i 0.5 -P 2",
        "-t 1 -R",
        "-t 1 -e",
        "-t 1 -e -i 0.5",
        "-t 1 -f M",
        "-t 1 --full-duplex",
        "-t 1 -y C",
        "-t 1 -y C -P 2",
    ];
    speak("iperf", &["iperf", "-s"], &["-c", "127.0.0.1"], false, &sets);
    let sets = ["-u -b 5M -t 1", "-u -b 5M -t 1 -P 2", "-u -b 5M -t 1 -i 0.5 -e", "-u -b 5M -t 1 -R"];
    speak("iperf", &["iperf", "-s", "-u"], &["-c", "127.0.0.1"], true, &sets);
}

#[test]
fn what_netperf_prints_is_what_is_kept_of_it() {
    let sets = [
        "-l 1 -t TCP_STREAM",
        "-l 1 -t TCP_STREAM -c -C -- -m 4096",
        "-l 1 -t TCP_STREAM -f K",
        "-l 1 -t TCP_STREAM -D 0.3",
        "-l 1 -t TCP_STREAM -v 2",
        "-l 1 -t TCP_STREAM -- -k",
        "-l 1 -t TCP_STREAM -- -o",
        "-l 1 -t TCP_STREAM -- -k all",
        "-l 1 -t TCP_STREAM -- -o all",
        "-l 1 -t TCP_MAERTS",
        "-l 1 -t UDP_STREAM -- -m 1024",
        "-l 1 -t UDP_STREAM -- -m 1024 -k all",
        "-l -2000 -t TCP_RR",
        "-l -2000 -t TCP_RR -- -r 10,200 -o all",
        "-l -2000 -t TCP_RR -- -k all",
        "-l -2000 -t UDP_RR",
        "-l -200 -t TCP_CRR",
    ];
    speak("netperf", &["netserver", "-D"], &["-H", "127.0.0.1"], false, &sets);
}

//! Tests of runs that stream, iperf and netperf keep.

use super::{Data, said};
use crate::ends::{port, until_open};
use crate::process::Process;
use linerate_result::{RunResult, Unit};
use serde_json::Value;

/// Runs from the last one on, each with its workload, its tests' directions, and its value.
fn kept(data: &Data) -> Vec<(String, Vec<bool>, f64)> {
    let one = |id: &String| {
        let run = RunResult::from_json(&data.out(&["show", id, "--json"])).unwrap();
        assert!(run.reasons.is_empty() && run.environment.linerate.is_some(), "{run:?}");
        for test in &run.tests {
            // A server of iperf3's protocol does not hear what arrived of what it sent.
            let told = "the document does not tell what arrived: the figure is what was sent";
            assert!(test.warnings.iter().all(|warning| warning == told), "{test:?}");
            assert_eq!(test.ports[0].path, "the kernel's sockets", "{test:?}");
        }
        let reverse =
            |test: &linerate_result::Test| test.parameters.get("reverse").is_some_and(|on| *on == true.into());
        let value = run.tests[0].value.as_ref().unwrap();
        assert!(matches!(value.unit, Unit::BitsPerSecond | Unit::TransactionsPerSecond), "{value:?}");
        (run.tests[0].workload.clone(), run.tests.iter().map(reverse).collect(), value.median.known().unwrap())
    };
    data.ids().iter().map(one).collect()
}

/// Both ends keep each test, with the same figure: what the receiver counted.
#[test]
fn both_ends_of_a_stream_keep_its_tests() {
    for (program, udp, client, workload, ways) in [
        ("stream", false, "-t 1 -P 2", "iperf3-tcp", &[false][..]),
        ("stream", false, "-t 1 --bidir", "iperf3-tcp", &[false, true]),
        ("stream", false, "-u -b 5M -t 1 -R", "iperf3-udp", &[true]),
        ("iperf", false, "-t 1 -P 3", "iperf-tcp", &[false]),
        ("iperf", false, "-t 1 -i 0.2 --full-duplex", "iperf-tcp", &[false, true]),
        ("iperf", true, "-u -b 5M -t 1", "iperf-udp", &[false]),
    ] {
        let (data, at) = (Data::new(), port());
        let number = at.to_string();
        let words = [program, "-s", if udp { "-u" } else { "-4" }, "-p", &number, "--keep"];
        let server = Process::start(data.command(&words));
        until_open(at, udp);
        let asked: Vec<&str> = client.split(' ').collect();
        let words = [&[program, "-c", "127.0.0.1", "-p", &number, "--keep"][..], &asked].concat();
        let said = data.run(&words);
        assert_eq!(said.code, 0, "{words:?}: {said:?}");
        crate::process::until("the server has kept it", || data.ids().len() >= 2);
        server.signal("INT");
        server.end();
        let kept = kept(&data);
        let [(a, a_ways, one), (b, b_ways, other)] = &kept[..] else { panic!("{words:?}: {kept:?}") };
        assert_eq!((a.as_str(), b.as_str()), (workload, workload), "{words:?}");
        assert_eq!((&a_ways[..], &b_ways[..]), (ways, ways), "{words:?}");
        assert!(one / other > 0.2 && one / other < 5.0, "{words:?}: {kept:?}");
        // The list has both command lines, and what it shows was printed by nobody else.
        let list: Value = serde_json::from_str(&data.out(&["runs", "--json"])).unwrap();
        let of = |n: usize| list["runs"][n]["command_line"][1].as_str().unwrap().to_owned();
        assert_eq!([of(0), of(1)], [program, program], "{list}");
    }
}

#[test]
fn netperf_keeps_its_test() {
    let (data, at) = (Data::new(), port());
    let number = at.to_string();
    let server = Process::start(data.command(&["netserver", "-D", "-p", &number]));
    until_open(at, false);
    for (words, workload) in [("-t TCP_STREAM -c", "netperf-tcp_stream"), ("-t TCP_RR -l -100", "netperf-tcp_rr")] {
        let words: Vec<&str> = words.split(' ').collect();
        let words = [&["netperf", "-H", "127.0.0.1", "-p", &number, "-l", "1", "--keep"][..], &words].concat();
        let said = data.run(&words);
        assert_eq!(said.code, 0, "{words:?}: {said:?}");
        let kept = kept(&data);
        assert_eq!(kept[0].0, workload);
    }
    server.signal("INT");
    server.end();
    assert_eq!(data.ids().len(), 2);
}

#[test]
fn a_test_that_cannot_be_kept_says_so_and_fails() {
    let (data, at) = (Data::new(), port());
    let number = at.to_string();
    let server = Process::start(data.command(&["stream", "-s", "-1", "-p", &number]));
    until_open(at, false);
    std::fs::write(data.path("file"), "").unwrap();
    let mut command = data.command(&["stream", "-c", "127.0.0.1", "-p", &number, "-n", "1M", "--keep"]);
    let said = said(command.env("XDG_DATA_HOME", data.path("file")));
    assert!(said.code == 1 && said.log.contains("--keep: ") && said.out.contains("iperf Done."), "{said:?}");
    server.end();
}

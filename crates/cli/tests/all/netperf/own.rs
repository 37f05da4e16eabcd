//! Tests of netperf by a host of linerate's own stack: with itself over a cable, and with Debian's netperf and the kernel's sockets
//! over TAP, AF_PACKET and AF_XDP.

use super::{End, has_netperf, numbers};
use crate::ends::{cable, hosted, until_open};
use crate::process::{BINARY, Ended, Process};
use crate::stack::{Link, link};
use std::process::Command;

/// Line that a server prints when it listens.
const READY: &str = "Starting netserver";
/// netserver's port.
const PORT: u16 = 12_865;

/// A server at one end of a cable, and the cable's other end.
fn over_cable(name: &str) -> (Process, String) {
    let [near, far] = cable(&format!("netperf-{name}"));
    let server = hosted("netserver", &near, "10.0.0.1/24", &["-D", "-v", "2"]);
    (Process::ready(server, READY), far)
}

/// Runs a client at the other end.
fn client(far: &str, words: &str) -> Ended {
    let words: Vec<&str> = words.split_whitespace().collect();
    let client = hosted("netperf", far, "10.0.0.2/24", &[&["-H", "10.0.0.1"][..], &words].concat());
    Process::start(client).end()
}

/// Ends a server, which has nothing to tell of its clients.
fn ends(server: Process, what: &str) {
    server.signal("TERM");
    let ended = server.end();
    assert_eq!((ended.code, &*ended.log), (Some(143), ""), "{what}: {}", ended.said());
}

/// Last figure of netperf's last line of figures: what arrived, or the transactions of a second.
fn figure(text: &str) -> f64 {
    let figures = text.lines().map(numbers).rfind(|line| line.len() >= 4);
    *figures.and_then(|line| line.last().copied()).as_ref().unwrap_or_else(|| panic!("no figures: {text}"))
}

#[test]
fn every_test_runs_over_a_cable_and_both_ends_count_the_same() {
    let names = "LOCAL_BYTES_SENT,LOCAL_BYTES_RECVD,REMOTE_BYTES_SENT,REMOTE_BYTES_RECVD,ELAPSED_TIME,\
                 LOCAL_CPU_UTIL,REMOTE_CPU_UTIL";
    let (server, far) = over_cable("every");
    for (test, of_test) in [
        ("TCP_STREAM", ""),
        ("TCP_STREAM", "-m 100 -D -K reno,cubic -s 64K -S 128K"),
        ("TCP_MAERTS", "-m ,1000"),
        ("TCP_SENDFILE", "-m 64K"),
        ("UDP_STREAM", "-m 1400"),
        ("UDP_STREAM", "-m 9000 -n -R 1"),
        ("TCP_RR", ""),
        ("TCP_RR", "-r 100,20000 -D"),
        ("UDP_RR", "-r 100,200 -e 1"),
        ("UDP_RR", "-n -P 7000,7001"),
        ("TCP_CRR", "-r 32,1K"),
    ] {
        let ended = client(
            &far,
            &format!("-t {test} -l 1 -P 0 -c -C -S -- -o {names} {of_test}").replace(
                // Neither datagrams nor the older dialect have it.
                if test.starts_with("UDP") || test == "TCP_SENDFILE" { "-S --" } else { "\0" },
                "--",
            ),
        );
        assert_eq!((ended.code, &*ended.log), (Some(0), ""), "{test} {of_test}: {}", ended.said());
        let [sent, received, remote_sent, remote_received, seconds, cpu, remote_cpu] =
            numbers(&ended.out.replace(',', " "))[..]
        else {
            panic!("{test}: {}", ended.out)
        };
        assert!((0.9..30.0).contains(&seconds), "{test} {of_test}: {}", ended.out);
        // All of the system's processors, so those of the hosts' threads too.
        assert!(cpu > 0.0 && cpu < 100.1 && remote_cpu > 0.0 && remote_cpu < 100.1, "{test} {of_test}: {}", ended.out);
        match test {
            "UDP_STREAM" => assert!(remote_received > 0.0 && remote_received <= sent, "{of_test}: {}", ended.out),
            "TCP_MAERTS" => assert!(received > 0.0 && received <= remote_sent, "{}", ended.out),
            "TCP_STREAM" | "TCP_SENDFILE" => assert!(sent > 0.0 && sent == remote_received, "{test} {}", ended.out),
            // The last response counts for nothing if it comes behind the end.
            _ => {
                assert!(received > 0.0 && received <= remote_sent && remote_sent < received + 20_001.0, "{}", ended.out)
            }
        }
    }
    ends(server, "every");
}

/// Bytes, transactions and their times are counted as over the kernel's sockets, and a title says whose sockets they are.
#[test]
fn numbers_of_bytes_and_transactions_end_a_test_over_a_cable() {
    let (server, far) = over_cable("count");
    for (test, count) in [("TCP_STREAM", 3_000_000), ("TCP_MAERTS", 3_000_000), ("TCP_RR", 500), ("TCP_CRR", 500)] {
        let ended = client(&far, &format!("-t {test} -l -{count}"));
        assert_eq!((ended.code, &*ended.log), (Some(0), ""), "{test}: {}", ended.said());
        assert!(figure(&ended.out) > 0.0, "{test}: {}", ended.out);
        let title = ended.out.lines().next().unwrap();
        assert!(title.contains(&format!(" : via {far}")), "{test}: {title}");
    }
    let names = "TRANSACTION_RATE,P50_LATENCY,P90_LATENCY,P99_LATENCY,MAX_LATENCY";
    let ended = client(&far, &format!("-t UDP_RR -l -500 -P 0 -- -o {names}"));
    let [rate, p50, p90, p99, max] = numbers(&ended.out.replace(',', " "))[..] else { panic!("{}", ended.said()) };
    assert!(rate > 0.0 && p50 > 0.0 && p50 <= p90 && p90 <= p99 && p99 <= max, "{}", ended.out);
    ends(server, "count");
}

#[test]
fn longer_packets_and_ipv6_go_over_a_cable_too() {
    let [near, far] = cable("netperf-v6");
    let mtus = |end: &str| format!("{end},mtu=9000");
    let server = hosted("netserver", &mtus(&near), "fd00::1/64", &["-D", "--mtu", "9000", "-6"]);
    let server = Process::ready(server, READY);
    for test in ["TCP_STREAM", "UDP_RR"] {
        let words = ["-H", "fd00::1", "-P", "0", "-t", test, "-l", "1", "--mtu=9000", "--", "-k", "TRANSPORT_MSS"];
        let words = if test == "UDP_RR" { &words[..10] } else { &words[..] };
        let ended = Process::start(hosted("netperf", &mtus(&far), "fd00::2/64", words)).end();
        assert_eq!((ended.code, &*ended.log), (Some(0), ""), "{test}: {}", ended.said());
        assert!(test == "UDP_RR" || ended.out.contains("TRANSPORT_MSS=89"), "{}", ended.out);
    }
    ends(server, "v6");
}

#[test]
fn ctrl_c_ends_a_client_over_a_cable_with_what_was_measured() {
    let (server, far) = over_cable("stop");
    for test in ["TCP_STREAM", "TCP_RR", "UDP_RR"] {
        let words = ["-H", "10.0.0.1", "-l", "0", "-D", "0.1", "-t", test];
        let client = Process::ready(hosted("netperf", &far, "10.0.0.2/24", &words), "Interim result");
        client.signal("INT");
        let ended = client.end();
        assert_eq!(ended.code, Some(130), "{test}: {}", ended.said());
        assert!(figure(&ended.out) > 0.0, "{test}: {}", ended.said());
    }
    let words = ["-H", "10.0.0.1", "-l", "0", "-D", "0.1"];
    let client = Process::ready(hosted("netperf", &far, "10.0.0.2/24", &words), "Interim result");
    server.signal("TERM");
    assert_eq!(server.end().code, Some(143));
    let ended = client.end();
    assert_eq!((ended.code, ended.log.lines().count()), (Some(1), 1), "{}", ended.said());
}

/// Runs a test between our host at one end of a link, and netperf or ours at the kernel's; gives the client's output.
fn over_link(link: &Link, kernel: End, is_server: bool, words: &str) -> String {
    let ours = |command: &str, words: &[&str]| hosted(command, &link.port, "10.9.0.2/24", words);
    let to = if is_server { "10.9.0.2" } else { "10.9.0.1" };
    let words: Vec<&str> = words.split_whitespace().collect();
    let words = [&["-H", to, "-l", "1"][..], &words].concat();
    let (server, client) = if is_server {
        let server = link.start(ours("netserver", &["-D", "-v", "2"]), Some(READY));
        (server, kernel.command("netperf", "netperf", &words))
    } else {
        let server = link.start(kernel.command("netserver", "netserver", &["-D"]), None);
        link.ns.run_in(|| until_open(PORT, false)).unwrap();
        (server, ours("netperf", &words))
    };
    let what = format!("{} {kernel:?} {is_server} {words:?}", link.port);
    let ended = link.start(client, None).end();
    assert_eq!((ended.code, &*ended.log), (Some(0), ""), "{what}: {}", ended.said());
    if is_server {
        ends(server, &what);
    }
    ended.out
}

fn with_the_kernel(kind: &str) {
    if !has_netperf() {
        return;
    }
    let all = ["TCP_STREAM", "UDP_STREAM", "TCP_RR", "TCP_CRR", "UDP_RR", "TCP_MAERTS", "TCP_SENDFILE"];
    for (kernel, tests) in [(End::Theirs, &all[..]), (End::Ours, &all[..4])] {
        for is_server in [true, false] {
            let Some(link) = link(kind, kind != "packet") else { return };
            for test in tests {
                let datagrams = if *test == "UDP_STREAM" { "-- -m 1400" } else { "" };
                let out = over_link(&link, kernel, is_server, &format!("-t {test} {datagrams}"));
                assert!(figure(&out) > 0.0, "{kind} {kernel:?} {is_server} {test}: {out}");
            }
            if (kernel, is_server) == (End::Theirs, true) {
                for directions in ["-d send", "-d recv", "-d rr -r 100,200", "-d rr -T udp", "-d send -T udp -m 1000"] {
                    let out =
                        over_link(&link, kernel, true, &format!("-t omni -- {directions} -k THROUGHPUT,ELAPSED_TIME"));
                    let value = out.lines().find_map(|line| line.strip_prefix("THROUGHPUT=")?.parse().ok());
                    assert!(value > Some(0.0), "{kind} omni {directions}: {out}");
                }
            }
        }
    }
}

#[test]
fn netperf_and_the_kernels_sockets_talk_with_a_host_of_ours_over_tap() {
    with_the_kernel("tap");
}

#[test]
fn netperf_and_the_kernels_sockets_talk_with_a_host_of_ours_over_packet() {
    with_the_kernel("packet");
}

#[test]
fn netperf_and_the_kernels_sockets_talk_with_a_host_of_ours_over_xdp() {
    with_the_kernel("xdp");
}

/// Flags that a host of ours has no use for, on the command line and as a server hears of them.
#[test]
fn flags_that_only_the_kernel_knows_are_refused() {
    let refused = |words: &[&str]| {
        let run = Command::new(BINARY).args(words).output().unwrap();
        (run.status.code(), String::from_utf8(run.stderr).unwrap())
    };
    let host = "netperf -H 10.0.0.1 --via cable:none}1 --addr 10.0.0.2/24";
    for (words, why) in [
        (&*format!("{host} -L 10.0.0.2"), "-L: a host of our own (--via) has no such thing"),
        (&format!("{host} -- -P 7000"), "-P: a host of our own"),
        (&format!("{host} -t UDP_STREAM -- -s 64K"), "-s for datagrams: a host of our own"),
        ("netperf --via cable:none}1 --addr 10.0.0.2/24", "--via: a host of our own does not reach localhost"),
        ("netperf -- --via cable:none}1", "--via: give it before --"),
        ("netperf -H x --addr 10.0.0.2/24", "--addr: the kernel has its own"),
        ("netperf -H x --route=0.0.0.0/0=10.0.0.1", "--route: the kernel has its own"),
        ("netperf -H x --via cable:a{1", "--via cable:a{1: a host needs an address"),
        ("netperf -H x --via", "--via: no value; give --via kernel|PORT"),
        ("netperf -H x --vie cable:a{1", "--vie: no such flag; did you mean --via?"),
        ("netperf -H x --via cable:a{1 --addr 10.0.0.2/24 --mtu 9", "--mtu 9: "),
        ("netserver -D --via cable:a{1 --addr 10.0.0.2", "--addr 10.0.0.2: "),
        ("netserver -D --mtu 1500", "--mtu: the kernel has its own"),
        (
            "netserver --via cable:a{1 --addr 10.0.0.2/24",
            "--via: a host of our own does not leave the terminal; give -D too",
        ),
    ] {
        let (code, line) = refused(&words.split_whitespace().collect::<Vec<_>>());
        assert_eq!((code, line.lines().count()), (Some(2), 1), "{words}: {line}");
        assert!(line.contains(why), "{words}: {line}");
    }
    for program in ["netperf -H 10.0.0.1", "netserver -D"] {
        let words = format!("{program} --via packet:nosuchif --addr 10.0.0.2/24");
        let (code, line) = refused(&words.split_whitespace().collect::<Vec<_>>());
        assert_eq!((code, line.lines().count()), (Some(1), 1), "{line}");
        assert!(line.contains("nosuchif"), "{line}");
    }
    // Of what a client asks of it a server hears later; and no data leave the networks of the host if they must not.
    let (server, far) = over_cable("refused");
    for (words, why) in [
        ("-t UDP_RR -- -S 64K", "remote error 95 "),
        ("-t TCP_STREAM -- -K cubic,vegas", "remote error 2 "),
        ("-t TCP_STREAM -- -K vegas,cubic", "congestion control: "),
    ] {
        let ended = client(&far, words);
        assert_eq!((ended.code, ended.log.lines().count()), (Some(1), 1), "{words}: {}", ended.said());
        assert!(ended.log.contains(why), "{words}: {}", ended.log);
    }
    drop(server);
}

#[test]
fn data_that_must_not_go_by_a_gateway_do_not() {
    let [near, far] = cable("netperf-near");
    // It is its own router.
    let server = hosted("netserver", &near, "10.0.0.1/24", &["--addr", "10.1.0.1/24", "-D", "-v", "2"]);
    let server = Process::ready(server, READY);
    let client = |words: &str| {
        let words = format!("--route 10.0.0.1/32=10.1.0.1 -H 10.0.0.1 -P 0 -l 1 {words}");
        Process::start(hosted("netperf", &far, "10.1.0.2/24", &words.split_whitespace().collect::<Vec<_>>())).end()
    };
    for words in ["-t UDP_STREAM", "-t TCP_STREAM -- -R 0"] {
        let ended = client(words);
        assert_eq!((ended.code, ended.log.lines().count()), (Some(1), 1), "{words}: {}", ended.said());
        assert!(ended.log.contains("data connection: Network is unreachable"), "{words}: {}", ended.log);
    }
    for words in ["-t UDP_STREAM -- -R 1", "-t TCP_STREAM"] {
        let ended = client(words);
        assert_eq!((ended.code, &*ended.log), (Some(0), ""), "{words}: {}", ended.said());
        assert!(figure(&ended.out) > 0.0, "{words}: {}", ended.out);
    }
    ends(server, "near");
}

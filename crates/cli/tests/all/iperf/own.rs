//! Tests of iperf by a host of linerate's own stack: with itself over a cable, and with Debian's iperf and the kernel's sockets
//! over TAP, AF_PACKET and AF_XDP.

use super::{End, TESTS, cut_short, ended, field, has_iperf, moved, whole};
use crate::ends::{cable, hosted, until_open};
use crate::process::{BINARY, Ended, Process};
use crate::stack::{Link, link};
use std::process::Command;
use std::thread::scope;

/// Line that a server of ours prints when it listens.
const READY: &str = "Server listening";
/// iperf's port, and a client's for `-d` and `-r`.
const PORT: u16 = 5001;
const BACK: &str = "6001";

/// Words of a server for these of a client.
fn serving<'a>(words: &[&str], more: &[&'a str]) -> Vec<&'a str> {
    let udp: &[&str] = if words.contains(&"-u") { &["-u"] } else { &[] };
    [&["-s"][..], udp, more].concat()
}

/// Words with a port for connections back.
fn with_port<'a>(words: &[&'a str]) -> Vec<&'a str> {
    words.iter().map(|word| if *word == "LPORT" { BACK } else { *word }).collect()
}

/// Runs a test over a cable: both ends are ours. The client must succeed, and neither end may have a fault.
fn over_cable(name: &str, words: &[&str], of_server: &[&str]) -> (Ended, Ended) {
    let [near, far] = cable(&format!("iperf-{name}"));
    let server = hosted("iperf", &near, "10.0.0.1/24", &serving(words, of_server));
    let server = Process::ready(server, READY);
    let client = [&["-c", "10.0.0.1"][..], &with_port(words)].concat();
    let client = Process::start(hosted("iperf", &far, "10.0.0.2/24", &client)).end();
    assert_eq!((client.code, &*client.log), (Some(0), ""), "{words:?}: {}", client.said());
    let server = ended(End::Ours, server);
    assert_eq!(server.log, "", "{words:?}: {}", server.said());
    (client, server)
}

#[test]
fn data_flow_over_a_cable_in_all_directions() {
    let dual: (&[&str], usize, usize) = (&["-u", "-t", "1", "-b", "5m", "-d", "-L", "LPORT"], 3, 3);
    for (at, (words, of_client, of_server)) in TESTS.into_iter().chain([dual]).enumerate() {
        let (client, server) = over_cable(&format!("flow{at}"), words, &[]);
        let said = format!("{words:?}:\n{}\nserver:\n{}", client.said(), server.said());
        assert_eq!((moved(&client.out), moved(&server.out)), (of_client, of_server), "{said}");
        assert!(server.out.contains("local 10.0.0.1 port 5001 connected with 10.0.0.2 port "), "{said}");
        assert!(client.out.contains("local 10.0.0.2 port "), "{said}");
    }
}

/// Both ends count the same bytes, of blocks and of a file.
#[test]
fn both_ends_count_the_same_bytes_over_a_cable() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("sent");
    std::fs::write(&file, vec![7; 1_234_567]).unwrap();
    for (name, words, bytes, amount) in [
        ("blocks", &["-n", "3000000", "-l", "7000"][..], 3_000_000, "sec  2930 KBytes"),
        ("file", &["-C", "-F", file.to_str().unwrap()], 1_234_567, "sec  1206 KBytes"),
    ] {
        let (client, server) = over_cable(name, &[words, &["-y", "C"]].concat(), &["-f", "k"]);
        assert_eq!(field(&client.out, 7), bytes, "{name}: {}", client.out);
        assert!(server.out.contains(amount), "{name}: {}", server.out);
    }
}

/// What comes before a session has its socket belongs to it, and so does the datagram that says the end: said again, it would
/// count one that was never sent.
#[test]
fn datagrams_that_come_at_once_are_all_of_their_session() {
    for n in 0..5 {
        let (client, server) = over_cable(&format!("burst{n}"), &["-u", "-n", "100k", "-b", "10g"], &[]);
        assert!(server.out.contains(" 0/69 (0%)"), "{}{}", client.out, server.out);
    }
}

/// Lines have what our TCP knows where iperf's have what the kernel's knows, and the options that it has reach it.
#[test]
fn lines_have_what_our_tcp_knows() {
    let words = ["-t", "1", "-b", "20m", "-e", "-m", "-w", "64K", "-Z", "reno", "-N"];
    let (client, server) = over_cable("lines", &words, &["-e", "-m", "-w", "100M", "-Z", "reno"]);
    let said = format!("{}{}", client.out, server.out);
    for words in ["MSS size 1460 bytes", "TCP congestion control set to reno", "/1460/"] {
        assert!(client.out.contains(words) && server.out.contains(words), "{words}: {said}");
    }
    assert!(client.out.contains("TCP window size: 64.0 KByte\n"), "{said}");
    // As the kernel cuts what is beyond its limit.
    assert!(server.out.contains("TCP window size: 4.00 MByte (WARNING: requested  100 MByte)"), "{said}");
    assert!(client.out.contains("and nodelay (Nagle off)"), "{said}");
    for out in [&client.out, &server.out] {
        assert!(out.lines().next().is_some_and(|line| line.starts_with("cable:iperf-lines")), "{said}");
    }
    let last = client.out.lines().rfind(|line| line.contains("] 0.0000-")).unwrap();
    let state = last.split_whitespace().find_map(|word| word.split_once("K/")).unwrap();
    let rtt: u64 = state.1.split('(').next().unwrap().parse().unwrap();
    assert!(state.0.parse::<u64>().unwrap() > 0 && rtt > 0, "{last}");
}

#[test]
fn longer_packets_and_ipv6_go_over_a_cable_too() {
    let [near, far] = cable("iperf-v6").map(|end| format!("{end},mtu=9000"));
    for words in [&["-n", "4M", "-m"][..], &["-u", "-n", "200k", "-b", "20m", "-l", "8000"]] {
        // A host with addresses of both families takes in what -V says.
        let serving = serving(words, &["-V", "--mtu", "9000", "--addr", "10.0.0.1/24"]);
        let server = Process::ready(hosted("iperf", &near, "fd00::1/64", &serving), READY);
        let to = [&["-c", "fd00::1", "-V", "--mtu", "9000"], words].concat();
        let client = Process::start(hosted("iperf", &far, "fd00::2/64", &to)).end();
        assert_eq!((client.code, &*client.log), (Some(0), ""), "{words:?}: {}", client.said());
        assert!(words.contains(&"-u") || client.out.contains("MSS size 8940 bytes"), "{}", client.out);
        assert_eq!(moved(&ended(End::Ours, server).out), 1, "{words:?}");
    }
}

/// Runs a test between our host at one end of a link, and iperf or ours at the kernel's.
fn over_link(link: &Link, kernel: End, is_server: bool, (words, of_client, of_server): (&[&str], usize, usize)) {
    let ours = |words: &[&str]| hosted("iperf", &link.port, "10.9.0.2/24", words);
    let (to, serving) = (if is_server { "10.9.0.2" } else { "10.9.0.1" }, serving(words, &[]));
    let words = [&["-c", to][..], &with_port(words)].concat();
    let once = || {
        let (server, client) = if is_server {
            (link.start(ours(&serving), Some(READY)), kernel.command("iperf", "iperf", &words))
        } else {
            let server = link.start(kernel.command("iperf", "iperf", &serving), None);
            // What iperf prints is behind its buffer.
            link.ns.run_in(|| until_open(PORT, serving.contains(&"-u"))).unwrap();
            (server, ours(&words))
        };
        let client = link.start(client, None).end();
        (client, ended(if is_server { End::Ours } else { kernel }, server))
    };
    let (client, server) = whole(if is_server { kernel } else { End::Ours }, once);
    let what =
        format!("{} {kernel:?} {is_server} {words:?}:\n{}\nserver:\n{}", link.port, client.said(), server.said());
    assert_eq!(client.code, Some(0), "{what}");
    assert_eq!((moved(&client.out), moved(&server.out)), (of_client, of_server), "{what}");
}

/// Runs tests over links of a kind: with both programs at the kernel's end, in both parts.
fn with_the_kernel(kind: &str, tests: &[(&[&str], usize, usize)]) {
    if !has_iperf() {
        return;
    }
    scope(|scope| {
        for (kernel, is_server) in [(End::Theirs, true), (End::Theirs, false), (End::Ours, true), (End::Ours, false)] {
            scope.spawn(move || {
                let Some(link) = link(kind, kind != "packet") else { return };
                tests.iter().for_each(|test| over_link(&link, kernel, is_server, *test));
            });
        }
    });
}

/// Tests for kinds of ports that differ in nothing that iperf sees.
const FEW: [(&[&str], usize, usize); 5] = [
    (&["-n", "8M", "-P", "2"], 2, 2),
    (&["-t", "1", "-b", "20m", "-r", "-L", "LPORT"], 2, 2),
    (&["-t", "1", "-b", "20m", "--full-duplex"], 2, 2),
    (&["-u", "-t", "1", "-b", "5m"], 2, 1),
    (&["-u", "-t", "1", "-b", "5m", "-R"], 1, 1),
];

#[test]
fn iperf_and_the_kernels_sockets_talk_with_a_host_of_ours_over_tap() {
    with_the_kernel("tap", &TESTS);
}

#[test]
fn iperf_and_the_kernels_sockets_talk_with_a_host_of_ours_over_packet() {
    with_the_kernel("packet", &FEW);
}

#[test]
fn iperf_and_the_kernels_sockets_talk_with_a_host_of_ours_over_xdp() {
    with_the_kernel("xdp", &FEW);
}

/// A client that vanishes costs its own session, and what came of it is told, whichever end is ours.
#[test]
fn clients_that_vanish_cost_their_own_session() {
    for is_server in [true, false] {
        for udp in [&[][..], &["-u", "-b", "5m"]] {
            let Some(link) = link("packet", false) else { return };
            let ours = |words: &[&str]| hosted("iperf", &link.port, "10.9.0.2/24", words);
            let kernels = |words: &[&str]| End::Ours.command("iperf", "iperf", words);
            let serving = serving(udp, &[]);
            let server = if is_server { ours(&serving) } else { kernels(&serving) };
            let server = link.start(server, Some(READY));
            let client = |words: &[&str], ready: Option<&str>| {
                let to = if is_server { "10.9.0.2" } else { "10.9.0.1" };
                let words = [&["-c", to][..], udp, words].concat();
                link.start(if is_server { kernels(&words) } else { ours(&words) }, ready)
            };
            client(&["-t", "60", "-i", "0.2"], Some("] 0.2")).kill();
            let next = client(&["-n", "100k"], None).end();
            assert_eq!(next.code, Some(0), "{is_server} {udp:?}: {}", next.said());
            // Of one without a connection it does not know that it is gone.
            let said = cut_short(server);
            assert_eq!(moved(&said.out), 2, "{is_server} {udp:?}: {}", said.said());
        }
    }
}

/// A client of ours whose server has vanished says what it has sent and received: at once, if it can send no more, and otherwise
/// when it is told to end.
#[test]
fn a_client_whose_server_vanishes_ends() {
    // An hour: none of them ends by itself within the time limit.
    for words in [
        &["-t", "3600"][..],
        &["-t", "3600", "-R"],
        &["-t", "3600", "--full-duplex"],
        &["-t", "3600", "-u", "-b", "5m"],
    ] {
        let [near, far] = cable("iperf-gone");
        let server = Process::ready(hosted("iperf", &near, "10.0.0.1/24", &serving(words, &[])), READY);
        let to = [&["-c", "10.0.0.1", "-i", "0.2"][..], words].concat();
        let mut client = Process::start(hosted("iperf", &far, "10.0.0.2/24", &to));
        client.until(" 0.2");
        server.kill();
        let sends_more = !words.contains(&"-u");
        if sends_more {
            client.signal("INT");
        }
        let ended = client.end();
        assert_eq!(ended.code, Some(if sends_more { 130 } else { 1 }), "{words:?}: {}", ended.said());
        assert_eq!(ended.log.lines().count(), usize::from(!sends_more), "{words:?}: {}", ended.said());
        let whole = ended.out.lines().filter(|line| line.contains("] 0.0000-") && !line.contains("] 0.0000-0.2"));
        assert!(whole.count() >= 1, "{words:?}: {}", ended.said());
    }
}

/// Flags that a host of ours has no use for, on the command line and as a server hears of them.
#[test]
fn flags_that_only_the_kernel_knows_are_refused() {
    let refused = |words: &[&str]| {
        let run = Command::new(BINARY).arg("iperf").args(words).output().unwrap();
        (run.status.code(), String::from_utf8(run.stderr).unwrap())
    };
    let host = ["--via", "cable:none}1", "--addr", "10.0.0.2/24"];
    for (line, why) in [
        ("-c 10.0.0.1 -M 1000", "-M: a host of our own"),
        ("-c 10.0.0.1 -S 8", "-S: a host of our own"),
        ("-c 10.0.0.1 -T 8", "-T: a host of our own"),
        ("-c 10.0.0.1 -B 10.0.0.2", "-B: a host of our own"),
        ("-c 10.0.0.1 -B 10.0.0.2:9000", "-B: a host of our own"),
        ("-c 10.0.0.1%eth0", "HOST%INTERFACE: a host of our own"),
        ("-c 10.0.0.1 -Z bbr", "-Z bbr: a host of our own (--via) has cubic and reno"),
        ("-c 10.0.0.1 -u -w 64k", "-w for datagrams: a host of our own"),
        ("-s -u -w 64k", "-w for datagrams: a host of our own"),
        ("-s -D", "-D: a host of our own"),
        ("-s -S 8", "-S: a host of our own"),
        ("-s -B 10.0.0.2%eth0", "HOST%INTERFACE: a host of our own"),
    ] {
        let words: Vec<&str> = line.split(' ').chain(host).collect();
        let (code, said) = refused(&words);
        assert_eq!((code, said.lines().count()), (Some(2), 1), "{line}: {said}");
        assert!(said.starts_with(&format!("linerate iperf: {why}")), "{line}: {said}");
    }
    for (words, why) in [
        (&["-c", "x", "--addr", "10.0.0.2/24"][..], "--addr: the kernel has its own"),
        (&["-s", "--mtu", "1500"], "--mtu: the kernel has its own"),
        (&["-c", "x", "--via", "cable:a{1"], "a host needs an address"),
        (&["-c", "x", "--via", "cable:a{1", "--addr", "10.0.0.2"], "--addr 10.0.0.2: "),
        (&["-c", "x", "--via", "cable:a{1", "--addr", "10.0.0.2/24", "--mtu", "9"], "--mtu 9: "),
        (&["-c", "x", "--via", "cable:a{1", "--addr", "10.0.0.2/24", "--route", "x"], "--route x: write it as"),
    ] {
        let (code, line) = refused(words);
        assert_eq!((code, line.lines().count()), (Some(2), 1), "{words:?}: {line}");
        assert!(line.contains(why), "{words:?}: {line}");
    }
    let (code, line) = refused(&["-s", "--via", "packet:nosuchif", "--addr", "10.0.0.2/24"]);
    assert_eq!((code, line.lines().count()), (Some(1), 1), "{line}");
    assert!(line.contains("nosuchif"), "{line}");
    // Of the client's wishes a server hears later: data that it would have to send with a type of service.
    let Some(link) = link("packet", false) else { return };
    let mut server = link.start(hosted("iperf", &link.port, "10.9.0.2/24", &["-s"]), Some(READY));
    for (more, refused) in [(&["-R"][..], true), (&[], false)] {
        let words = [&["-c", "10.9.0.2", "-n", "100k", "-S", "0x10"], more].concat();
        let client = link.start(End::Ours.command("iperf", "iperf", &words), None).end();
        assert_eq!(moved(&client.out) == 0, refused, "{more:?}: {}", client.said());
        if refused {
            server.line_with("refused: it wants data with type of service 0x10");
        }
    }
    let said = ended(End::Ours, server);
    assert_eq!((moved(&said.out), said.log.lines().count()), (1, 1), "{}", said.said());
}

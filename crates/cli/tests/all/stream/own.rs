//! Tests of streams by a host of linerate's own stack: with itself over a cable, and with iperf3 and the kernel's sockets over
//! TAP, AF_PACKET and AF_XDP.

use super::{End, has_iperf3, lines};
use crate::ends::{cable, hosted};
use crate::process::{BINARY, Ended, Process};
use crate::stack::{Link, link};
use linerate_skip::{is_installed, skip};
use serde_json::Value;
use std::process::Command;

/// Runs a test over a cable: both ends are ours.
fn over_cable(name: &str, words: &[&str], of_server: &[&str]) -> (Ended, Ended) {
    let [near, far] = cable(&format!("stream-{name}"));
    let server = hosted("stream", &near, "10.0.0.1/24", &[&["-s", "-1"][..], of_server].concat());
    let server = Process::ready(server, "Server listening");
    let client = hosted("stream", &far, "10.0.0.2/24", &[&["-c", "10.0.0.1"][..], words].concat());
    let client = Process::start(client).end();
    assert_eq!(client.code, Some(0), "{words:?}: {}", client.said());
    let server = server.end();
    assert_eq!(server.code, Some(0), "{words:?}: {}", server.said());
    (client, server)
}

#[test]
fn bytes_and_datagrams_flow_over_a_cable_in_all_directions() {
    for (at, (words, senders)) in [
        (&["-n", "40M"][..], 1),
        (&["-n", "40M", "-R"], 1),
        (&["-t", "1", "--bidir"], 2),
        (&["-n", "40M", "-P", "4"], 5),
        (&["-k", "1000", "-l", "1000", "-N"], 1),
        (&["-n", "40M", "-Z"], 1),
        (&["-n", "4M", "-w", "256K", "-C", "reno"], 1),
        (&["-u", "-n", "2M", "-b", "100M", "--cport", "9100"], 1),
        (&["-u", "-n", "2M", "-b", "100M", "-R", "-P", "3"], 4),
        (&["-u", "-t", "1", "-b", "20M", "--bidir"], 2),
    ]
    .into_iter()
    .enumerate()
    {
        let (client, server) = over_cable(&format!("flow{at}"), words, &[]);
        let received = lines(&client.out, "receiver");
        assert_eq!(received.len(), senders, "{words:?}: {}", client.out);
        assert!(received.iter().all(|line| !line.contains(" 0.00 Bytes")), "{words:?}: {}", client.out);
        assert!(server.out.contains("local 10.0.0.1 port 5201 connected to 10.0.0.2"), "{words:?}: {}", server.out);
        assert!(!client.out.contains("local 0.0.0.0"), "{words:?}: {}", client.out);
    }
}

/// All bytes of a file arrive, by writes and without a copy.
#[test]
fn a_file_arrives_over_a_cable() {
    let folder = tempfile::tempdir().unwrap();
    let data: Vec<u8> = (0..3_000_000_u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let sent = folder.path().join("sent");
    std::fs::write(&sent, &data).unwrap();
    for (name, more) in [("written", &[][..]), ("sent-as-file", &["-Z"])] {
        let got = folder.path().join(name);
        let words = [&["-F", sent.to_str().unwrap()][..], more].concat();
        over_cable(name, &words, &["-F", got.to_str().unwrap()]);
        assert!(std::fs::read(&got).unwrap() == data, "{name}");
    }
}

/// The document has the state of our TCP where iperf3's has the kernel's.
#[test]
fn a_document_has_what_our_tcp_knows() {
    let (client, _) = over_cable("document", &["-t", "1", "-J"], &[]);
    let document: Value = serde_json::from_str(&client.out).unwrap();
    let stream = &document["intervals"][0]["streams"][0];
    for field in ["snd_cwnd", "snd_wnd", "rtt", "pmtu"] {
        assert!(stream[field].as_u64().is_some_and(|n| n > 0), "{field}: {stream}");
    }
    assert_eq!(stream["pmtu"], 1500, "{stream}");
    assert_eq!(document["end"]["sender_tcp_congestion"], "cubic", "{}", document["end"]);
    let cpu = document["end"]["cpu_utilization_percent"]["host_total"].as_f64().unwrap();
    assert!(cpu > 0.0, "{cpu}");
}

/// Runs a test between our host at one end of a link, and iperf3 or ours at the kernel's.
fn over_link(link: &Link, kernel: End, is_server: bool, words: &[&str]) {
    let ours = |words: &[&str]| hosted("stream", &link.port, "10.9.0.2/24", words);
    // iperf3 writes its lines when its buffer is full, but for this flag.
    let flush = if kernel == End::Theirs { &["--forceflush"][..] } else { &[] };
    let (server, client) = if is_server {
        let to = [&["-c", "10.9.0.2"][..], words].concat();
        (link.start(ours(&["-s", "-1"]), Some("Server listening")), kernel.command("stream", "iperf3", &to))
    } else {
        let to = [&["-c", "10.9.0.1"][..], words].concat();
        let server = kernel.command("stream", "iperf3", &[&["-s", "-1"][..], flush].concat());
        (link.start(server, Some("Server listening")), ours(&to))
    };
    let what = format!("{} {kernel:?} {is_server} {words:?}", link.port);
    let client = link.start(client, None).end();
    assert_eq!(client.code, Some(0), "{what}: {}", client.said());
    assert!(lines(&client.out, "receiver").iter().all(|line| !line.contains(" 0.00 Bytes")), "{what}: {}", client.out);
    let server = server.end();
    assert_eq!(server.code, Some(0), "{what}: {}", server.said());
}

fn with_the_kernel(kind: &str) {
    if !has_iperf3() {
        return;
    }
    for kernel in [End::Theirs, End::Ours] {
        for is_server in [true, false] {
            let Some(link) = link(kind, kind != "packet") else { return };
            for words in [
                &["-n", "20M"][..],
                &["-n", "20M", "-R", "-P", "2"],
                &["-t", "1", "-b", "100M", "--bidir"],
                &["-u", "-t", "1", "-b", "20M"],
                &["-u", "-t", "1", "-b", "20M", "-R", "-P", "2"],
            ] {
                over_link(&link, kernel, is_server, words);
            }
        }
    }
}

#[test]
fn iperf3_and_the_kernels_sockets_talk_with_a_host_of_ours_over_tap() {
    with_the_kernel("tap");
}

#[test]
fn iperf3_and_the_kernels_sockets_talk_with_a_host_of_ours_over_packet() {
    with_the_kernel("packet");
}

#[test]
fn iperf3_and_the_kernels_sockets_talk_with_a_host_of_ours_over_xdp() {
    with_the_kernel("xdp");
}

#[test]
fn several_clients_of_a_host_of_ours_are_served_at_once_and_a_silent_one_disturbs_nobody() {
    let Some(link) = link("packet", false) else { return };
    let server = link.start(hosted("stream", &link.port, "10.9.0.2/24", &["-s"]), Some("Server listening"));
    let silent = link.ns.run_in(|| std::net::TcpStream::connect("10.9.0.2:5201")).unwrap().unwrap();
    let client = |words: &[&str]| {
        let words = [&["-c", "10.9.0.2"][..], words].concat();
        link.start(End::Ours.command("stream", "iperf3", &words), None)
    };
    let clients =
        [client(&["-t", "1", "-b", "20M"]), client(&["-t", "1", "-R", "-b", "20M"]), client(&["-u", "-t", "1"])];
    for client in clients {
        let ended = client.end();
        assert_eq!(ended.code, Some(0), "{}", ended.said());
    }
    drop(silent);
    server.signal("INT");
    let ended = server.end();
    assert!(ended.log.contains("the server has terminated"), "{}", ended.said());
}

/// As a trace of the port has them.
#[test]
fn a_host_of_ours_has_the_segments_types_of_service_flow_labels_and_ports_that_are_asked_for() {
    if !is_installed("tshark") {
        skip!("tshark is not installed");
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let fields = ["ip.dsfield", "ipv6.tclass", "ipv6.flow", "tcp.srcport", "tcp.options.mss_val", "tcp.len"];
    for (at, (addresses, class)) in [(["10.0.0.1", "10.0.0.2"], 0), (["fd00::1", "fd00::2"], 1)].into_iter().enumerate()
    {
        let trace = dir.path().join(format!("{at}.pcap"));
        let [near, far] = cable(&format!("stream-asked{at}"));
        let [server, client] = addresses.map(|address| format!("{address}/{}", if class == 0 { "24" } else { "64" }));
        let server = Process::ready(hosted("stream", &near, &server, &["-s", "-1"]), "Server listening");
        let words = ["-c", addresses[0], "-n", "1M", "-M", "700", "-S", "0xb8", "--cport", "9000", "-P", "2"];
        let label: &[&str] = if class == 0 { &[] } else { &["-L", "0x12345"] };
        let far = format!("{far},trace={}", trace.display());
        let ended = Process::start(hosted("stream", &far, &client, &[&words[..], label].concat())).end();
        assert_eq!(ended.code, Some(0), "{}", ended.said());
        assert_eq!(server.end().code, Some(0));
        let mut tshark = Command::new("tshark");
        tshark.args(["-n", "-r", trace.to_str().unwrap(), "-Y", "tcp", "-T", "fields", "-E", "separator=,"]);
        let told = tshark.args(fields.iter().flat_map(|field| ["-e", *field])).output().unwrap();
        let told = String::from_utf8(told.stdout).unwrap();
        let rows: Vec<Vec<&str>> = told.lines().map(|line| line.split(',').collect()).collect();
        let number = |text: &str| u32::from_str_radix(text.trim_start_matches("0x"), 16).unwrap();
        for port in ["9000", "9001"] {
            let of: Vec<_> = rows.iter().filter(|row| row[3] == port).collect();
            // How the streams share the bytes is theirs: one may have sent most before the other began.
            assert!(of.iter().any(|row| row[4] == "700"), "{port}: {told}");
            for row in of {
                let label = if class == 0 { 0 } else { number(row[2]) };
                assert_eq!((number(row[class]) & !3, label), (0xb8, 0x12345 * u32::from(class == 1)), "{port}: {told}");
                assert!(row[5].parse::<u32>().unwrap() <= 700, "{port}: {told}");
            }
        }
        assert!(rows.len() > (1 << 20) / 700, "{told}");
        // The server's, which has heard of it from the client.
        let acknowledges = |row: &&Vec<&str>| row[3] == "5201" && number(row[class]) == 0xb8 && row[5] == "0";
        assert!(rows.iter().filter(acknowledges).count() > 2, "{told}");
    }
}

/// Of datagrams, both ends' are of the client's type of service.
#[test]
fn datagrams_of_a_host_of_ours_have_their_type_of_service() {
    if !is_installed("tshark") {
        skip!("tshark is not installed");
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    for (addresses, net, field) in
        [(["10.0.0.1", "10.0.0.2"], "24", "ip.dsfield"), (["fd00::1", "fd00::2"], "64", "ipv6.tclass")]
    {
        let trace = dir.path().join(field);
        let [near, far] = cable(&format!("stream-class{net}"));
        let [server, client] = addresses.map(|address| format!("{address}/{net}"));
        let server = Process::ready(hosted("stream", &near, &server, &["-s", "-1"]), "Server listening");
        let words = ["-c", addresses[0], "-u", "-n", "100K", "-l", "1000", "-b", "0", "--dscp", "ef"];
        let far = format!("{far},trace={}", trace.display());
        let ended = Process::start(hosted("stream", &far, &client, &words)).end();
        assert_eq!((ended.code, server.end().code), (Some(0), Some(0)), "{}", ended.said());
        let mut tshark = Command::new("tshark");
        tshark.args(["-n", "-r", trace.to_str().unwrap(), "-Y", "udp.length > 1000", "-T", "fields", "-e", field]);
        let told = String::from_utf8(tshark.output().unwrap().stdout).unwrap();
        assert!(told.lines().count() >= 100, "{told}");
        assert!(told.lines().all(|class| class.starts_with("0x") && class.ends_with("b8")), "{told}");
    }
}

/// Flags that a host of ours has no use for, on the command line and as a server hears of them.
#[test]
fn flags_that_only_the_kernel_knows_are_refused() {
    let refused = |words: &[&str]| {
        let run = Command::new(BINARY).arg("stream").args(words).output().unwrap();
        (run.status.code(), String::from_utf8(run.stderr).unwrap())
    };
    let host = ["-c", "10.0.0.1", "--via", "cable:none}1", "--addr", "10.0.0.2/24"];
    for (more, why) in [
        (&["-B", "10.0.0.2"][..], "-B: a host of our own"),
        (&["--cntl-ka"], "--cntl-ka: a host of our own"),
        (&["--fq-rate", "1G"], "--fq-rate: a host of our own"),
        (&["-u", "--dont-fragment"], "--dont-fragment: a host of our own"),
    ] {
        let (code, line) = refused(&[&host[..], more].concat());
        assert_eq!((code, line.lines().count()), (Some(2), 1), "{more:?}: {line}");
        assert!(line.contains(why), "{more:?}: {line}");
    }
    for (words, why) in [
        (&["-c", "x", "--addr", "10.0.0.2/24"][..], "--addr: the kernel has its own"),
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
    // Of the client's wishes a server hears later.
    let Some(link) = link("packet", false) else { return };
    let server = link.start(hosted("stream", &link.port, "10.9.0.2/24", &["-s", "-1"]), Some("Server listening"));
    let client = End::Ours.command("stream", "iperf3", &["-c", "10.9.0.2", "-t", "1", "-u", "--dont-fragment"]);
    let client = link.start(client, None).end();
    assert_eq!(client.code, Some(1), "{}", client.said());
    assert!(client.log.contains("unable to set IP Do-Not-Fragment flag"), "{}", client.said());
    assert_eq!(server.end().code, Some(1));
}

//! Tests of `linerate stack up` over TCP against the kernel's TCP: echo, discard, chargen over TAP, AF_PACKET and AF_XDP, with
//! faults on the way, many connections at a time, closed ports and resets; tshark checks its segments.
#![cfg(target_os = "linux")]

use crate::process::{LIMIT, counter, until};
use crate::stack::{Host, Link, V4, V6, are_installed, link, run};
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::time::{Duration, Instant};

fn connect(link: &Link, to: &str, port: u16) -> std::io::Result<TcpStream> {
    let to = SocketAddr::new(to.parse().unwrap(), port);
    let stream = link.ns.run_in(|| TcpStream::connect_timeout(&to, LIMIT)).unwrap()?;
    stream.set_read_timeout(Some(LIMIT))?;
    stream.set_write_timeout(Some(LIMIT))?;
    Ok(stream)
}

fn bytes(len: usize, seed: u64) -> Vec<u8> {
    (0..len as u64).map(|i| ((i + seed).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8).collect()
}

/// Sends bytes to echo, closes, and has all of them back.
fn echoes(link: &Link, to: &str, len: usize) {
    let mut stream = connect(link, to, 7).unwrap();
    let sent = bytes(len, 1);
    let mut back = Vec::with_capacity(len);
    std::thread::scope(|scope| {
        let mut writer = stream.try_clone().unwrap();
        let all = &sent;
        scope.spawn(move || {
            writer.write_all(all).unwrap();
            writer.shutdown(Shutdown::Write).unwrap();
        });
        stream.read_to_end(&mut back).unwrap();
    });
    assert!(back == sent, "{len} bytes to {to}: {} came back", back.len());
}

/// Runs all of it. Returns the counters.
fn talks(kind: &str, more: &str, kernel_fills: bool, most: usize) -> Option<String> {
    let link = link(kind, kernel_fills)?;
    let host = Host::start(&link, &format!("--services echo,discard,chargen {more}"));
    for to in [V4, V6] {
        for len in [0, 1, 536, 1460, 100_000, most] {
            echoes(&link, to, len);
        }
        // A port without a listener.
        assert_eq!(connect(&link, to, 99).unwrap_err().kind(), ErrorKind::ConnectionRefused, "{to}");
        // All of it is taken, and then the other side closes, too.
        let mut discard = connect(&link, to, 9).unwrap();
        discard.write_all(&bytes(most, 2)).unwrap();
        discard.shutdown(Shutdown::Write).unwrap();
        assert_eq!(discard.read(&mut [0; 100]).unwrap(), 0, "{to}");
        // It goes on until it is left; what is under way then is answered with a reset.
        let mut chargen = connect(&link, to, 19).unwrap();
        let mut lines = vec![0; 74 * 1000];
        chargen.read_exact(&mut lines).unwrap();
        for (i, line) in lines.chunks(74).enumerate() {
            let right: Vec<u8> = (0..72).map(|c| b' ' + u8::try_from((i + c) % 95).unwrap()).chain(*b"\r\n").collect();
            assert_eq!(line, right, "line {i} of {to}");
        }
    }
    let (code, counters) = host.stop();
    assert_eq!(code, Some(130), "{counters}");
    assert_eq!(counter(&counters, "unexplained"), 0, "{counters}");
    for wrong in ["discarded.malformed", "discarded.bad_checksum", "discarded.bad_address"] {
        assert!(!counters.contains(wrong), "{counters}");
    }
    let taken = 2 * (1 + 536 + 1460 + 100_000 + most) as u64;
    let figures = ["echo.tcp.received", "echo.tcp.sent", "echo.tcp.connections"].map(|name| counter(&counters, name));
    assert_eq!(figures, [taken, taken, 12], "{counters}");
    assert_eq!(counter(&counters, "discard.tcp.received"), 2 * most as u64, "{counters}");
    Some(counters)
}

const MOST: usize = 20_000_000;

#[test]
fn the_kernels_tcp_talks_with_ours_over_tap() {
    talks("tap", "", true, MOST);
}

#[test]
fn the_kernels_tcp_talks_with_ours_over_packet() {
    let Some(counters) = talks("packet", "", false, MOST) else { return };
    // The kernel cuts super-frames, of which the stack sends fewer than there are segments.
    let (sent, bytes) = (counter(&counters, "tcp_sent"), counter(&counters, "echo.tcp.sent"));
    assert!(sent * 4000 < bytes, "{counters}");
}

#[test]
fn the_kernels_tcp_talks_with_ours_over_xdp_where_we_make_all_checksums() {
    talks("xdp", "--no-offload", true, MOST);
}

/// The adapter joins segments (LRO) and is asked for all that it can.
#[test]
fn the_kernels_tcp_talks_with_ours_over_an_adapter_with_all_offloads() {
    talks("packet", "--nic=", false, MOST);
}

/// Bytes each way over each kind of port at each MTU: `LINERATE_TCP_MIB` says how many MiB.
fn volume() -> usize {
    std::env::var("LINERATE_TCP_MIB").map_or(24, |mib| mib.parse::<usize>().unwrap()) << 20
}

/// Sends bytes to echo and has them back, for the kinds of ports and MTUs; `faults` are of what linerate sends.
fn each_mtu(kind: &str, faults: &str, len: usize) {
    for mtu in [576, 1500, 9000] {
        let Some(mut link) = link(kind, kind == "tap") else { return };
        link.port.push_str(faults);
        for interface in ["va", "vb"].iter().take(if kind == "tap" { 1 } else { 2 }) {
            assert!(run(&link.ns, &format!("ip link set dev {interface} mtu {mtu}")).status.success());
        }
        let host = Host::start_at(&link, &["10.9.0.2/24"], &format!("--mtu {mtu}"));
        echoes(&link, V4, len);
        let (_, counters) = host.stop();
        assert_eq!(counter(&counters, "echo.tcp.sent"), len as u64, "{kind} {mtu}: {counters}");
        assert_eq!(counter(&counters, "unexplained"), 0, "{kind} {mtu}: {counters}");
        assert!(!counters.contains("discarded.bad_checksum"), "{kind} {mtu}: {counters}");
    }
}

#[test]
fn each_mtu_carries_tcp_over_tap() {
    each_mtu("tap", "", volume());
}

#[test]
fn each_mtu_carries_tcp_over_packet() {
    each_mtu("packet", "", volume());
}

#[test]
fn each_mtu_carries_tcp_over_xdp() {
    each_mtu("xdp", "", volume());
}

/// One in a hundred lost, doubled, and late.
#[test]
fn each_mtu_carries_tcp_through_faults() {
    for kind in ["tap", "packet", "xdp"] {
        each_mtu(kind, ",faults=drop:0.01/dup:0.01/reorder:0.01/seed:5", volume() / 20);
    }
}

/// The kernel asks for explicit congestion notification, and gets it.
#[test]
fn the_kernel_and_we_agree_on_ecn() {
    if !are_installed(&["ss"]) {
        return;
    }
    let Some(link) = link("packet", false) else { return };
    let ecn = link.ns.run_in(|| std::fs::write("/proc/sys/net/ipv4/tcp_ecn", "1")).unwrap();
    ecn.unwrap();
    let host = Host::start(&link, "");
    let mut stream = connect(&link, V4, 7).unwrap();
    stream.write_all(b"marked?").unwrap();
    stream.read_exact(&mut [0; 7]).unwrap();
    let told = String::from_utf8(run(&link.ns, "ss -tino").stdout).unwrap();
    assert!(told.contains(" ecn "), "{told}");
    drop(stream);
    echoes(&link, V4, 1_000_000);
    let (_, counters) = host.stop();
    assert_eq!(counter(&counters, "unexplained"), 0, "{counters}");
}

/// Either end has small packets: the segments are as small as the smaller end's.
#[test]
fn small_packets_carry_tcp() {
    let Some(link) = link("packet", false) else { return };
    let host = Host::start(&link, "--mtu 1280");
    echoes(&link, V4, 1_000_000);
    echoes(&link, V6, 1_000_000);
    // An interface of less than 1280 bytes carries no IPv6.
    assert!(run(&link.ns, "ip link set dev va mtu 576").status.success());
    echoes(&link, V4, 1_000_000);
    let (_, counters) = host.stop();
    assert_eq!(counter(&counters, "echo.tcp.sent"), 3_000_000, "{counters}");
}

/// The path to the kernel takes frames of 1200 bytes, though the kernel has told of segments of 1460, and drops longer ones
/// without a word: all arrives, and soon in longer segments than the shortest (RFC 4821).
#[test]
fn a_path_that_drops_long_frames_silently_carries_tcp() {
    if !are_installed(&["ss"]) {
        return;
    }
    let Some(link) = link("packet", false) else { return };
    let host = Host::start(&link, "");
    assert!(run(&link.ns, "ip link set dev va mtu 1200").status.success());
    assert!(run(&link.ns, "ip route replace 10.9.0.0/24 dev va advmss 1460").status.success());
    let mut stream = connect(&link, V4, 7).unwrap();
    // After each probe that is lost the host rests for as many round trips as its window has segments: seconds on a busy machine.
    let (sent, mut back, until) = (bytes(50_000, 3), vec![0; 50_000], Instant::now() + 5 * LIMIT);
    loop {
        for _ in 0..100 {
            stream.write_all(&sent).unwrap();
            stream.read_exact(&mut back).unwrap();
            assert!(back == sent);
        }
        // Of segments that the kernel has got: with timestamps it takes 1148 bytes.
        let told = String::from_utf8(run(&link.ns, "ss -tin").stdout).unwrap();
        let largest = told.split("rcvmss:").nth(1).and_then(|rest| rest.split(' ').next()?.parse::<u32>().ok());
        if largest.is_some_and(|largest| (1140..=1148).contains(&largest)) {
            break;
        }
        assert!(Instant::now() < until, "{told}");
    }
    drop(stream);
    let (_, counters) = host.stop();
    assert_eq!(counter(&counters, "unexplained"), 0, "{counters}");
}

/// Frames that linerate sends are lost, doubled, reordered and damaged, data and acknowledgements alike.
#[test]
fn faults_on_the_way_lose_no_byte() {
    for faults in ["drop:0.01/seed:3", "drop:0.02/dup:0.02/reorder:0.05/corrupt:0.01/seed:4"] {
        let Some(mut link) = link("packet", false) else { return };
        link.port = format!("{},faults={faults}", link.port);
        let host = Host::start(&link, "");
        echoes(&link, V4, 5_000_000);
        echoes(&link, V6, 300_000);
        let (_, counters) = host.stop();
        assert_eq!(counter(&counters, "echo.tcp.sent"), 5_300_000, "{counters}");
        assert_eq!(counter(&counters, "unexplained"), 0, "{counters}");
        assert!(counter(&counters, "tx_dropped.fault") > 0, "{counters}");
    }
}

/// As many as `LINERATE_CONNECTIONS` says.
#[test]
fn hundreds_of_connections_at_a_time() {
    let Some(link) = link("packet", false) else { return };
    let host = Host::start(&link, "");
    let count = std::env::var("LINERATE_CONNECTIONS").map_or(400, |count| count.parse::<usize>().unwrap());
    let mut all: Vec<_> = (0..count).map(|_| connect(&link, V4, 7).unwrap()).collect();
    for (i, stream) in all.iter_mut().enumerate() {
        stream.write_all(&bytes(3000, i as u64)).unwrap();
    }
    for (i, stream) in all.iter_mut().enumerate() {
        let mut back = vec![0; 3000];
        stream.read_exact(&mut back).unwrap();
        assert!(back == bytes(3000, i as u64), "connection {i}");
    }
    // Half of them are reset: what they have not read is thrown away.
    for stream in &mut all[..count / 2] {
        stream.write_all(b"unread").unwrap();
    }
    std::thread::sleep(Duration::from_millis(100));
    drop(all);
    echoes(&link, V4, 1000);
    let (_, counters) = host.stop();
    assert_eq!(counter(&counters, "echo.tcp.connections"), count as u64 + 1, "{counters}");
    assert_eq!(counter(&counters, "unexplained"), 0, "{counters}");
}

/// tshark finds no wrong checksum, and its experts nothing that a correct sender would not cause.
#[test]
fn tshark_has_nothing_to_say() {
    if !are_installed(&["tshark", "tcpdump"]) {
        return;
    }
    // A machine that is busy with other tests for longer than a time-out makes either end send again: once is enough.
    for attempt in 1.. {
        let Some((right, wrong, trouble)) = captured() else { return };
        assert!(right >= 696 && wrong.is_empty(), "{right} segments; {wrong}");
        if trouble.is_empty() {
            return;
        }
        assert!(attempt < 30, "{trouble}");
        // What keeps the machine busy ends some time.
        std::thread::sleep(Duration::from_secs(2));
    }
}

/// Number of our segments whose checksum is right, those whose checksum is wrong, and what tshark's experts think odd.
fn captured() -> Option<(usize, String, String)> {
    let link = link("packet", true)?;
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("tcp.pcap");
    let host = Host::start(&link, "--no-offload");
    let mut command = std::process::Command::new("tcpdump");
    command.args(["-i", "va", "-U", "--immediate-mode", "-B", "65536", "-s", "2000", "-w"]).arg(&file).arg("tcp");
    let capture = link.ns.run_in(|| crate::process::Process::ready(command, "listening on")).unwrap();
    for to in [V4, V6] {
        echoes(&link, to, 500_000);
    }
    let shown = |filter: &str| {
        let name = file.to_str().unwrap();
        let said = run(&link.ns, &format!("tshark -n -r {name} -o tcp.check_checksum:TRUE -Y {filter}"));
        String::from_utf8(said.stdout).unwrap()
    };
    let ours = format!("(ip.src=={V4}||ipv6.src=={V6})");
    // It writes what it has a little later; of each connection our end, too, closes its way.
    until("the ends of both connections are captured", || {
        shown(&format!("{ours}&&tcp.flags.fin==1")).lines().count() >= 2
    });
    capture.signal("INT");
    capture.end();
    host.stop();
    let right = shown(&format!("{ours}&&tcp.checksum.status==1")).lines().count();
    let odd = ["retransmission", "out_of_order", "lost_segment", "zero_window", "window_full"];
    let odd = odd.map(|name| format!("tcp.analysis.{name}")).join("||");
    Some((right, shown(&format!("{ours}&&tcp.checksum.status==0")), shown(&format!("{odd}||_ws.malformed"))))
}

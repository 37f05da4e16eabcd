//! Tests of `linerate stack up` against the kernel's stack: ping, UDP and traceroute over TAP, AF_PACKET and AF_XDP;
//! tshark checks its frames.
#![cfg(target_os = "linux")]

use crate::process::{BINARY, LIMIT, Process, counter, until};
use crate::rig;
use linerate_host::{Namespace, Offloads, VethPair};
use linerate_port::{Cause, open};
use linerate_rt::net::{Net, Options};
use linerate_wire::VlanTag;
use std::fmt::Write as _;
use std::io::ErrorKind;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::path::Path;
use std::process::{Command, Output};
use std::time::{Duration, Instant};

/// The kernel's interface, and linerate's.
const KERNEL: &str = "va";
const OURS: &str = "vb";
const MAC: &str = "02:00:00:00:00:02";
pub(crate) const V4: &str = "10.9.0.2";
pub(crate) const V6: &str = "fd09::2";

// ---- the two ends ----

/// A kernel with an interface, and the name of linerate's port at its other end.
pub(crate) struct Link {
    pub(crate) port: String,
    /// Must be dropped before the namespace.
    pair: Option<VethPair>,
    pub(crate) ns: Namespace,
}

impl Link {
    /// Starts a command beside the kernel's interface; returns at once, or when a line of its output has these words.
    pub(crate) fn start(&self, command: Command, ready: Option<&str>) -> Process {
        let start = || match ready {
            Some(words) => Process::ready(command, words),
            None => Process::start(command),
        };
        self.ns.run_in(start).unwrap()
    }
}

/// True if all tools are installed; otherwise reports a skip.
pub(crate) fn are_installed(tools: &[&str]) -> bool {
    let missing = tools.iter().find(|tool| !linerate_skip::is_installed(tool));
    missing.iter().for_each(|tool| linerate_skip::skip!("{tool} is not installed"));
    missing.is_none()
}

/// Makes a link; `None`, with a skip reported, if a privilege, a feature or a tool is missing.
pub(crate) fn link(kind: &str, kernel_fills: bool) -> Option<Link> {
    link_of(kind, kernel_fills, 1)
}

/// The same with several queues.
fn link_of(kind: &str, kernel_fills: bool, queues: u32) -> Option<Link> {
    if !are_installed(&["ip", "ping"]) {
        return None;
    }
    let ns = linerate_skip::permitted(Namespace::new(), |e| e.cause == linerate_host::Cause::Capability)?;
    let port = format!("{kind}:{}", if kind == "tap" { KERNEL } else { OURS });
    let port = if queues > 1 { format!("{port},queues={queues}") } else { port };
    let pair = if kind == "tap" {
        let several = if queues > 1 { " multi_queue" } else { "" };
        if let Err(why) = ip(&ns, &format!("tuntap add dev {KERNEL} mode tap{several}")) {
            linerate_skip::skip!("no TAP interface: {why}");
            return None;
        }
        ip(&ns, &format!("link set dev {KERNEL} up")).unwrap();
        None
    } else {
        let pair = ns.run_in(|| VethPair::new([KERNEL, OURS], queues, 1500)).unwrap().unwrap();
        pair.set_offloads(KERNEL, Offloads { tx_checksum: !kernel_fills, tso: false, gso: false, gro: false }).unwrap();
        // The kernel's stack stays silent at our end.
        ns.run_in(|| std::fs::write(format!("/proc/sys/net/ipv6/conf/{OURS}/disable_ipv6"), "1")).unwrap().unwrap();
        linerate_skip::permitted(ns.run_in(|| open(&port)).unwrap(), |e| e.cause == Cause::Capability)?;
        Some(pair)
    };
    addresses(&ns, KERNEL);
    Some(Link { port, pair, ns })
}

fn addresses(ns: &Namespace, interface: &str) {
    ip(ns, &format!("addr add 10.9.0.1/24 dev {interface}")).unwrap();
    ip(ns, &format!("-6 addr add fd09::1/64 dev {interface} nodad")).unwrap();
}

fn ip(ns: &Namespace, arguments: &str) -> Result<String, String> {
    let Output { status, stdout, stderr } = run(ns, &format!("ip {arguments}"));
    if status.success() { Ok(String::from_utf8(stdout).unwrap()) } else { Err(String::from_utf8(stderr).unwrap()) }
}

/// Runs a command in a namespace, killed if it hangs.
pub(crate) fn run(ns: &Namespace, line: &str) -> Output {
    let limit = LIMIT.as_secs().to_string();
    ns.run_in(|| Command::new("timeout").arg(limit).args(line.split(' ')).output()).unwrap().unwrap()
}

/// `linerate stack up` while it runs.
pub(crate) struct Host(Process);

impl Host {
    /// Starts it, and returns when it has printed its addresses.
    pub(crate) fn start(link: &Link, more: &str) -> Self {
        Self::start_at(link, &["10.9.0.2/24", "fd09::2/64"], more)
    }

    /// The same with other addresses.
    pub(crate) fn start_at(link: &Link, addresses: &[&str], more: &str) -> Self {
        let mut command = Command::new(BINARY);
        command.args(["stack", "up", "-i", &link.port, "--mac", MAC]);
        command.args(addresses.iter().flat_map(|address| ["--addr", address]));
        command.args(more.split_whitespace());
        let mut host = link.ns.run_in(|| Process::start(command)).unwrap();
        let line = host.until("link up: ");
        assert!(line.contains(MAC) && addresses.iter().all(|address| line.contains(address)), "{line}");
        Self(host)
    }

    /// Sends Ctrl-C; returns its exit code and its counters.
    pub(crate) fn stop(self) -> (Option<i32>, String) {
        self.0.signal("INT");
        let ended = self.0.end();
        (ended.code, ended.out)
    }
}

// ---- what the kernel does with it ----

/// Echoes of sizes that fit a header, a frame, two fragments and forty-five; ping compares the bytes.
fn pings(ns: &Namespace) {
    for (to, sizes) in [(V4, [0, 56, 1472, 1473, 8000, 65507]), (V6, [0, 56, 1452, 1453, 9000, 65000])] {
        // One at a time: once one is answered, ping waits for the next no longer than that took twice, whatever -W says.
        for size in sizes.into_iter().chain(sizes) {
            let said = run(ns, &format!("ping -n -c 1 -W 10 -s {size} {to}"));
            let text = String::from_utf8_lossy(&said.stdout);
            assert!(said.status.success() && text.contains(" 1 received, 0% packet loss"), "{size} to {to}: {text}");
            assert!(!text.contains("wrong data") && !text.contains("DUP"), "{text}");
        }
    }
    // What ping has recorded: where it passed, and when.
    for (option, shows) in [("-R", "RR: "), ("-T tsandaddr", "TS: ")] {
        let said = run(ns, &format!("ping -n -c 1 -W 10 {option} {V4}"));
        let text = String::from_utf8_lossy(&said.stdout);
        let ours = text.split(shows).nth(1).is_some_and(|recorded| recorded.contains(V4));
        assert!(said.status.success() && ours, "{option}: {text}");
    }
}

fn socket(ns: &Namespace, to: &str, port: u16) -> UdpSocket {
    let to = SocketAddr::new(to.parse().unwrap(), port);
    let any: IpAddr = if to.is_ipv4() { [0; 4].into() } else { [0; 16].into() };
    let socket = ns.run_in(|| UdpSocket::bind((any, 0))).unwrap().unwrap();
    socket.connect(to).unwrap();
    socket.set_read_timeout(Some(LIMIT)).unwrap();
    socket
}

/// Echo in several sizes, ports without a listener, of which chargen's is one unless it is asked for. Returns the number of datagrams echoed.
fn datagrams(ns: &Namespace) -> u64 {
    let sizes = [0usize, 1, 22, 1400, 1452, 1453, 1472, 1473, 5000, 65_000];
    for to in [V4, V6] {
        let echo = socket(ns, to, 7);
        for size in sizes {
            let datagram: Vec<u8> = (0..size).map(|i| u8::try_from(i * 7 % 251).unwrap()).collect();
            echo.send(&datagram).unwrap();
            let mut buffer = vec![0; 70_000];
            let n = echo.recv(&mut buffer).unwrap_or_else(|e| panic!("{size} to {to}: {e}"));
            assert_eq!((n, &buffer[..n]), (size, &datagram[..]), "{to}");
        }
        for port in [19, 99] {
            let closed = socket(ns, to, port);
            closed.send(b"x").unwrap();
            assert_eq!(closed.recv(&mut [0; 100]).unwrap_err().kind(), ErrorKind::ConnectionRefused, "{to} {port}");
        }
    }
    2 * sizes.len() as u64
}

fn traceroutes(ns: &Namespace) {
    for options in ["", " -I", " -6", " -6 -I"] {
        let to = if options.contains("-6") { V6 } else { V4 };
        let said = run(ns, &format!("traceroute{options} -n -w 10 -q 3 -m 3 {to}"));
        let text = String::from_utf8_lossy(&said.stdout);
        let hops: Vec<&str> = text.lines().skip(1).collect();
        assert_eq!(hops.len(), 1, "{options}: {text}{}", String::from_utf8_lossy(&said.stderr));
        assert!(hops[0].trim().starts_with(&format!("1  {to} ")) && !hops[0].contains(['*', '!']), "{text}");
    }
}

fn neighbours(ns: &Namespace) {
    for to in [V4, V6] {
        let entry = ip(ns, &format!("neigh show {to}")).unwrap();
        assert!(entry.contains(&format!("lladdr {MAC}")), "{to}: {entry}");
        assert!(["REACHABLE", "STALE", "DELAY", "PROBE"].iter().any(|state| entry.contains(state)), "{entry}");
    }
}

/// Runs all of it. Without offloads, the frames that linerate sends are captured too.
fn serves(kind: &str, more: &str, kernel_fills: bool) {
    if !are_installed(&["traceroute", "tshark"]) {
        return;
    }
    let Some(link) = link(kind, kernel_fills) else { return };
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("ours.pcapng");
    let capture = more.contains("--no-offload").then(|| Capture::start(&link.ns, &file));
    let host = Host::start(&link, more);
    pings(&link.ns);
    let echoed = datagrams(&link.ns);
    traceroutes(&link.ns);
    neighbours(&link.ns);
    let (code, counters) = host.stop();
    assert_eq!(code, Some(130), "{counters}");
    assert_eq!(counter(&counters, "unexplained"), 0, "{counters}");
    let [received, sent] = ["echo.received", "echo.sent"].map(|name| counter(&counters, name));
    assert_eq!((received, sent), (echoed, echoed), "{counters}");
    assert!(counter(&counters, "echoes") >= 24, "{counters}");
    for wrong in ["discarded.malformed", "discarded.bad_checksum", "discarded.fragments", "discarded.no_room"] {
        assert!(!counters.contains(wrong), "{counters}");
    }
    if let Some(capture) = capture {
        capture.judge(&file);
    }
}

// ---- what tshark thinks of it ----

struct Capture(Process);

impl Capture {
    /// Starts a capture, and returns when it has begun.
    fn start(ns: &Namespace, file: &Path) -> Self {
        let mut command = Command::new("tshark");
        // A large buffer: the capture must not lose frames.
        command.args(["-i", KERNEL, "-Q", "-B", "64", "-f", &format!("ether src {MAC}"), "-w"]).arg(file);
        let mut capture = ns.run_in(|| Process::start(command)).unwrap();
        // dumpcap opens the interface, then the file, which begins with a header.
        let deadline = Instant::now() + LIMIT;
        while std::fs::metadata(file).map_or(0, |file| file.len()) == 0 {
            let ended = capture.ends_within(Duration::from_millis(5));
            assert!(Instant::now() < deadline && !ended, "tshark does not begin");
        }
        Self(capture)
    }

    /// Checks that no frame is malformed, that no checksum is wrong, and that there are enough frames of each kind.
    fn judge(self, file: &Path) {
        // tshark's output is a buffer behind.
        let count = |filter: &str| {
            let output = Command::new("tshark")
                .args(["-n", "-r"])
                .arg(file)
                .args(["ip", "udp"].iter().flat_map(|p| ["-o".to_owned(), format!("{p}.check_checksum:TRUE")]))
                .args(["-Y", filter, "-T", "fields", "-e", "frame.number"])
                .output()
                .unwrap();
            String::from_utf8(output.stdout).unwrap().lines().count()
        };
        let deadline = Instant::now() + LIMIT;
        // The last frames of the test: traceroute by echoes.
        while count("icmpv6.type == 129 && ipv6.plen < 100") < 7 {
            assert!(Instant::now() < deadline, "the capture does not end");
        }
        self.0.signal("INT");
        self.0.done();
        let mut table = String::new();
        for (kind, least) in [
            ("ip.checksum.status == 1", 100),
            ("ip.flags.mf == 1", 90),
            ("ipv6.fraghdr", 90),
            ("icmp.type == 0 && icmp.checksum.status == 1", 12),
            ("icmp.type == 3 && icmp.checksum.status == 1", 4),
            ("icmpv6.type == 129 && icmpv6.checksum.status == 1", 12),
            ("icmpv6.type == 1 && icmpv6.checksum.status == 1", 4),
            ("icmpv6.type == 136 && icmpv6.checksum.status == 1", 1),
            ("arp.opcode == 2", 1),
            ("ip && udp.srcport == 7 && udp.checksum.status == 1", 10),
            ("ipv6 && udp.srcport == 7 && udp.checksum.status == 1", 10),
        ] {
            let n = count(kind);
            writeln!(table, "{kind}: {n}").unwrap();
            assert!(n >= least, "{table}");
        }
        let sums = ["ip", "icmp", "icmpv6", "udp"].map(|protocol| format!("{protocol}.checksum.status == 0"));
        assert_eq!(count(&format!("_ws.malformed || {}", sums.join(" || "))), 0);
    }
}

// ---- the tests ----

#[test]
fn the_kernel_talks_with_a_host_over_tap() {
    serves("tap", "", true);
}

#[test]
fn the_kernel_talks_with_a_host_over_tap_that_makes_all_checksums() {
    serves("tap", "--no-offload", true);
}

/// The kernel leaves checksums to the adapter, and so does linerate.
#[test]
fn the_kernel_talks_with_a_host_over_packet() {
    serves("packet", "", false);
}

#[test]
fn the_kernel_talks_with_a_host_over_packet_that_makes_all_checksums() {
    serves("packet", "--no-offload", true);
}

#[test]
fn the_kernel_talks_with_a_host_over_xdp() {
    serves("xdp", "", true);
}

#[test]
fn the_kernel_talks_with_a_host_over_xdp_that_makes_all_checksums() {
    serves("xdp", "--no-offload", true);
}

/// Datagrams to all, and from the port of a service, are refused and counted; chargen answers when it is asked for.
#[test]
fn services_do_not_answer_what_could_make_a_flood() {
    let Some(link) = link("packet", false) else { return };
    let host = Host::start(&link, "--services echo,chargen");
    let all = link.ns.run_in(|| UdpSocket::bind("10.9.0.1:0")).unwrap().unwrap();
    all.set_broadcast(true).unwrap();
    for to in ["255.255.255.255:7", "10.9.0.255:7", "10.9.0.255:19"] {
        all.send_to(b"x", to).unwrap();
    }
    let service = link.ns.run_in(|| UdpSocket::bind("10.9.0.1:53")).unwrap().unwrap();
    service.send_to(b"x", (V4, 7)).unwrap();
    let mut line = [0; 100];
    let chargen = socket(&link.ns, V4, 19);
    chargen.send(b"x").unwrap();
    assert_eq!((chargen.recv(&mut line).unwrap(), &line[72..74]), (74, &b"\r\n"[..]));
    for silent in [&all, &service] {
        // All that came before has been processed by now.
        silent.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
        assert_eq!(silent.recv(&mut line).unwrap_err().kind(), ErrorKind::WouldBlock);
    }
    let (_, counters) = host.stop();
    let shown = ["echo.refused", "chargen.refused", "chargen.sent", "discarded.broadcast", "unexplained"];
    assert_eq!(shown.map(|name| counter(&counters, name)), [3, 1, 1, 3, 0], "{counters}");
}

/// Regression: of a port with several queues only the first was read.
#[test]
fn the_kernel_reaches_a_host_by_all_queues() {
    const FLOWS: u16 = 64;
    for kind in ["tap", "xdp"] {
        let Some(link) = link_of(kind, true, 4) else { return };
        let host = Host::start(&link, "");
        let mut buffer = [0; 64];
        for i in 0..FLOWS {
            let echo = socket(&link.ns, if i % 2 == 0 { V4 } else { V6 }, 7);
            echo.send(&i.to_be_bytes()).unwrap();
            let n = echo.recv(&mut buffer).unwrap_or_else(|e| panic!("{kind}, flow {i}: {e}"));
            assert_eq!(buffer[..n], i.to_be_bytes(), "{kind}");
        }
        let said = run(&link.ns, &format!("ping -n -c 2 -i 0.2 -W 10 -s 8000 {V4}"));
        assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stdout));
        let (code, counters) = host.stop();
        assert!(counters.contains("4 queues, a thread each"), "{counters}");
        assert_eq!((code, counter(&counters, "unexplained")), (Some(130), 0), "{counters}");
        assert_eq!(counter(&counters, "echo.sent"), u64::from(FLOWS), "{counters}");
    }
}

/// Regression: datagrams that the kernel sends as one super-frame (UDP_SEGMENT) arrived as one datagram.
#[test]
fn datagrams_that_the_kernel_sends_at_once_arrive_each_by_itself() {
    const TRAIN: &str = "import socket,sys
for family, to in ((socket.AF_INET, sys.argv[1]), (socket.AF_INET6, sys.argv[2])):
    s = socket.socket(family, socket.SOCK_DGRAM)
    s.settimeout(10)
    s.connect((to, 7))
    s.send(b'met'); s.recv(9)
    s.setsockopt(17, 103, 1000)
    body = bytes(i % 251 for i in range(4500))
    s.send(body)
    back = [s.recv(65536) for _ in range(5)]
    assert sorted(back) == sorted(body[i:i + 1000] for i in range(0, 4500, 1000)), [len(b) for b in back]
print('met')";
    if !are_installed(&["python3"]) {
        return;
    }
    for (kind, port) in [("packet", "packet:vb"), ("tap", "tap:va,gso=on")] {
        let Some(mut link) = link(kind, false) else { return };
        if let Some(pair) = &link.pair {
            pair.set_offloads(KERNEL, Offloads { tx_checksum: true, tso: true, gso: true, gro: true }).unwrap();
        }
        link.port = port.to_owned();
        let host = Host::start(&link, "");
        let said = link.ns.run_in(|| Command::new("timeout").args(["60", "python3", "-c", TRAIN, V4, V6]).output());
        let said = said.unwrap().unwrap();
        assert!(said.status.success(), "{kind}: {}", String::from_utf8_lossy(&said.stderr));
        let (_, counters) = host.stop();
        assert_eq!([counter(&counters, "echo.sent"), counter(&counters, "unexplained")], [12, 0], "{kind}: {counters}");
    }
}

/// Regression: without reports of its groups, a host behind a bridge that snoops hears no solicitations.
#[test]
fn a_host_behind_a_bridge_that_snoops_is_found_over_ipv6() {
    let Some(link) = link("packet", false) else { return };
    let bridge = "link add br0 type bridge mcast_snooping 1 mcast_querier 1 mcast_query_response_interval 100";
    if let Err(why) = ip(&link.ns, bridge) {
        linerate_skip::skip!("no bridge: {why}");
        return;
    }
    for line in ["link set va master br0", "link set br0 up", "-6 addr add fd09::9/64 dev br0 nodad"] {
        ip(&link.ns, line).unwrap();
    }
    // The bridge asks, and begins to look at who answers, after the time of an answer.
    std::thread::sleep(Duration::from_secs(3));
    let host = Host::start(&link, "");
    let deadline = Instant::now() + LIMIT;
    loop {
        let said = run(&link.ns, "bridge mdb show dev br0");
        let table = String::from_utf8_lossy(&said.stdout).into_owned();
        // Its address, and its link-local one.
        if table.contains("va grp ff02::1:ff00:2") {
            break;
        }
        assert!(Instant::now() < deadline, "no report: {table}");
        std::thread::sleep(Duration::from_millis(100));
    }
    for _ in 0..3 {
        let said = run(&link.ns, &format!("ping -n -c 1 -W 10 -I br0 {V6}"));
        let text = String::from_utf8_lossy(&said.stdout);
        assert!(text.contains(" 1 received, 0% packet loss"), "{text}");
    }
    let (_, counters) = host.stop();
    assert_eq!(counter(&counters, "unexplained"), 0, "{counters}");
}

/// Tagged frames are four bytes longer; the kernel strips the tags and passes them as metadata, or leaves them in the
/// frame.
#[test]
fn two_hosts_talk_in_a_vlan_through_the_kernels_link() {
    for kinds in [["packet", "packet"], ["packet", "xdp"], ["xdp", "xdp"]] {
        let Some(link) = link(kinds[1], true) else { return };
        let ports = [format!("{}:{KERNEL}", kinds[0]), format!("{}:{OURS}", kinds[1])];
        for more in ["", "--no-offload"] {
            let tag = VlanTag::new(3, false, 7).unwrap();
            let options = Options { vlan: Some(tag), software: !more.is_empty(), ..Options::default() };
            let addresses = ["10.9.1.1/24".parse().unwrap(), "10.9.1.2/24".parse().unwrap()];
            let nets = link.ns.run_in(|| Net::open_pair([&ports[0], &ports[1]], addresses, &options)).unwrap();
            let [left, right] = nets.unwrap_or_else(|e| panic!("{e}"));
            let server = right.udp_bind("0.0.0.0:7000".parse().unwrap()).unwrap();
            let client = left.udp_bind("0.0.0.0:0".parse().unwrap()).unwrap();
            server.set_read_timeout(Some(LIMIT));
            for size in [1, 1472, 1473, 5000] {
                let datagram: Vec<u8> = (0..size).map(|i| u8::try_from(i % 251).unwrap()).collect();
                client.send_to(&datagram, "10.9.1.2:7000".parse().unwrap()).unwrap();
                let mut buffer = vec![0; 70_000];
                let n = server.recv(&mut buffer).unwrap_or_else(|e| panic!("{size} over {ports:?} {more}: {e}"));
                assert!(buffer[..n] == datagram);
            }
        }
    }
}

/// Over AF_PACKET the kernel strips the tags and passes them as metadata; over TAP they are in the frame. If the host's
/// kernel has no VLAN interfaces, the test runs in a virtual machine, with this program in the same role.
#[test]
fn the_kernel_talks_with_a_host_in_a_vlan() {
    let vlans = Namespace::new().is_ok_and(|ns| {
        let dummy = "link add lower type veth peer name upper";
        ip(&ns, dummy).and_then(|_| ip(&ns, "link add link lower name tagged type vlan id 7")).is_ok()
    });
    if vlans {
        return talks_in_a_vlan();
    }
    if !rig::is_there() || !are_installed(&["ping"]) {
        return;
    }
    let this = std::env::current_exe().unwrap();
    let (path, name) = (this.to_str().unwrap(), this.file_name().unwrap().to_str().unwrap());
    // busybox has programs of these names too, and its timeout runs only its own.
    let tools = Command::new("sh").args(["-c", "command -v ping; command -v timeout"]).output().unwrap().stdout;
    let tools = String::from_utf8(tools).unwrap();
    let folder = Path::new(BINARY).parent().unwrap().display();
    let command = format!(
        "for m in 8021q veth tun; do modprobe $m; done; ln -s /usr/bin/ip /rig/ip; mkdir -p {folder}; ln -s /rig/linerate {BINARY}; \
         LINERATE_ROLE=1 {name} stack::a_host_in_a_vlan --exact --ignored --nocapture 2>&1; echo ENDED $?"
    );
    let dir = tempfile::tempdir().unwrap();
    let link = ["a", "b"].map(|end| dir.path().join(end).to_str().unwrap().to_owned()).join(":");
    let programs = [path, BINARY].into_iter().chain(tools.lines()).flat_map(|program| ["--bring", program]);
    let arguments: Vec<&str> = ["--mode", "none", "--ipv6", "--cmd", &command].into_iter().chain(programs).collect();
    let said = rig::machine("bare", &link, &arguments).done();
    assert!(said.contains("talked over tap") && said.contains("talked over packet"), "{said}");
    assert!(said.contains("ENDED 0") && !said.contains("skipped: "), "{said}");
}

#[test]
#[ignore = "a role of another test"]
fn a_host_in_a_vlan() {
    if std::env::var_os("LINERATE_ROLE").is_some() {
        talks_in_a_vlan();
    }
}

fn talks_in_a_vlan() {
    for kind in ["tap", "packet"] {
        let Some(link) = link(kind, false) else { return };
        ip(&link.ns, &format!("addr flush dev {KERNEL}")).unwrap();
        ip(&link.ns, &format!("link add link {KERNEL} name tagged type vlan id 7")).unwrap();
        ip(&link.ns, "link set dev tagged up").unwrap();
        addresses(&link.ns, "tagged");
        let host = Host::start(&link, "--vlan 7");
        pings(&link.ns);
        datagrams(&link.ns);
        let (code, counters) = host.stop();
        assert_eq!((code, counter(&counters, "unexplained")), (Some(130), 0), "{counters}");
        println!("talked over {kind}");
    }
}

// ---- addresses ----

/// Hardware address of the kernel's interface.
fn kernels(ns: &Namespace) -> String {
    let said = ip(ns, &format!("link show dev {KERNEL}")).unwrap();
    said.split("link/ether ").nth(1).and_then(|rest| rest.split(' ').next()).unwrap().to_owned()
}

/// `linerate stack up` with these arguments, until it has printed its addresses.
fn host(link: &Link, arguments: &str) -> Process {
    let mut command = Command::new(BINARY);
    command.args(["stack", "up", "-i", &link.port, "--mac", MAC]).args(arguments.split_whitespace());
    let mut host = link.ns.run_in(|| Process::start(command)).unwrap();
    host.until("link up: ");
    host
}

/// The kernel has 10.9.0.1 and fd09::1, and answers who asks for them (RFC 5227, RFC 4862).
#[test]
fn an_address_that_the_kernel_has_is_not_taken_and_the_others_go_on() {
    for (taken, free) in [("10.9.0.1/24", V4), ("fd09::1/64", V6)] {
        let Some(link) = link("packet", false) else { return };
        let net = if free == V4 { 24 } else { 64 };
        let mut host = host(&link, &format!("--addr {taken} --addr {free}/{net}"));
        let line = host.line_with("is not used any more");
        let mac = kernels(&link.ns);
        assert!(
            line.starts_with(&format!("linerate: {taken} is not used any more: the station {mac} has it; ")),
            "{line}"
        );
        let said = run(&link.ns, &format!("ping -n -c 2 -i 0.2 -W 10 {free}"));
        assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stdout));
        let counters = host.stop();
        assert_eq!([counter(&counters, "address_conflicts"), counter(&counters, "unexplained")], [1, 0], "{counters}");
    }
}

#[test]
fn a_host_that_is_left_without_an_address_ends_and_says_why() {
    for (kind, taken) in [("packet", "10.9.0.1/24"), ("packet", "fd09::1/64"), ("tap", "10.9.0.1/24")] {
        let Some(link) = link_of(kind, false, if kind == "tap" { 2 } else { 1 }) else { return };
        let ended = host(&link, &format!("--addr {taken}")).end();
        assert_eq!(ended.code, Some(1), "{}", ended.said());
        // Other tests have hosts on interfaces of the same name, in namespaces of their own.
        let lines: Vec<&str> = ended.log.lines().filter(|line| !line.contains("another one has that name")).collect();
        let [lost, end] = lines[..] else { panic!("{}", ended.log) };
        assert!(lost.contains(&format!("{taken} is not used any more")) && lost.contains(&kernels(&link.ns)), "{lost}");
        assert!(end.contains("other stations have all addresses of this host"), "{end}");
        assert_eq!(counter(&ended.out, "address_conflicts"), 1, "{}", ended.out);
    }
}

/// The kernel's own check (RFC 4862, section 5.4) finds our address, and ours is not disturbed by it.
#[test]
fn the_kernel_does_not_take_an_address_of_ours() {
    if !are_installed(&["tshark"]) {
        return;
    }
    let Some(link) = link("packet", false) else { return };
    // The end of our own check, in which none of two that want an address gets it, is an announcement.
    let mut command = Command::new("tshark");
    command.args(["-l", "-n", "-i", KERNEL, "-f", "icmp6", "-T", "fields"]);
    command.args(["na", "ns"].iter().flat_map(|kind| ["-e".to_owned(), format!("icmpv6.nd.{kind}.target_address")]));
    let mut seen = link.start(command, None);
    // It says that it captures before it does: somebody is asked for until it has seen that.
    let mut asks = Command::new("ping");
    asks.args(["-i", "0.2", "fd09::99"]);
    let asks = link.start(asks, None);
    seen.until("\tfd09::99");
    drop(asks);
    let host = Host::start(&link, "");
    seen.until(&format!("{V6}\t"));
    ip(&link.ns, &format!("-6 addr add {V6}/64 dev {KERNEL}")).unwrap();
    until("the kernel does not take it", || {
        let all = ip(&link.ns, &format!("-6 addr show dev {KERNEL}")).unwrap();
        let line = all.lines().find(|line| line.contains(&format!("{V6}/"))).unwrap();
        // It waits for a second, in which the host may be kept from answering: it asks again.
        if !line.contains("tentative") && !line.contains("dadfailed") {
            ip(&link.ns, &format!("-6 addr del {V6}/64 dev {KERNEL}")).unwrap();
            ip(&link.ns, &format!("-6 addr add {V6}/64 dev {KERNEL}")).unwrap();
        }
        line.contains("dadfailed")
    });
    ip(&link.ns, &format!("-6 addr del {V6}/64 dev {KERNEL}")).unwrap();
    pings(&link.ns);
    let (code, counters) = host.stop();
    assert_eq!((code, counter(&counters, "unexplained")), (Some(130), 0), "{counters}");
}

/// A router: it waits for a solicitation, and advertises a prefix and itself.
const ROUTER: &str = "import socket,struct,sys,time
index = socket.if_nametoindex(sys.argv[1])
s = socket.socket(socket.AF_INET6, socket.SOCK_RAW, socket.IPPROTO_ICMPV6)
s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_JOIN_GROUP, socket.inet_pton(socket.AF_INET6, 'ff02::2') + struct.pack('@I', index))
s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_HOPS, 255)
s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_IF, index)
s.settimeout(50)
print('listening', flush=True)
while s.recv(2000)[0] != 133: pass
prefix = struct.pack('!BBBBIII', 3, 4, 64, 0xc0, 7200, 3600, 0) + socket.inet_pton(socket.AF_INET6, 'fd0a::')
s.sendto(struct.pack('!BBHBBHII', 134, 0, 0, 64, 0, 1800, 0, 0) + prefix + struct.pack('!BBHI', 5, 1, 0, 1400), ('ff02::1', 0, 0, index))
print('advertised', flush=True)";

#[test]
fn a_host_takes_its_address_and_its_way_out_from_a_router() {
    if !are_installed(&["python3"]) {
        return;
    }
    let Some(link) = link("packet", false) else { return };
    ip(&link.ns, "-6 addr add fd0a::1/64 dev va nodad").unwrap();
    // What an advertisement comes from.
    ip(&link.ns, "-6 addr add fe80::9/64 dev va nodad").unwrap();
    let mut command = Command::new("python3");
    command.args(["-c", ROUTER, KERNEL]);
    let router = link.ns.run_in(|| Process::ready(command, "listening")).unwrap();
    let mut host = host(&link, "--addr auto --addr 10.9.0.2/24");
    let made = host.until("address ");
    assert!(made.starts_with("address fd0a::ff:fe00:2/64, by the router fe80::9"), "{made}");
    host.until("default route by fe80::9");
    router.done();
    for to in [V4, "fd0a::ff:fe00:2"] {
        let said = run(&link.ns, &format!("ping -n -c 2 -i 0.2 -W 10 {to}"));
        assert!(said.status.success(), "{to}: {}", String::from_utf8_lossy(&said.stdout));
    }
    // From beyond the router: the kernel has the other side's address, and answers are sent to it by the default route. They
    // are as long as the link carries, by what the router said: 1400.
    ip(&link.ns, "link set dev lo up").unwrap();
    ip(&link.ns, "-6 addr add fd0b::1/128 dev lo nodad").unwrap();
    let said = run(&link.ns, "ping -n -c 2 -i 0.2 -W 10 -s 1390 -I fd0b::1 fd0a::ff:fe00:2");
    assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stdout));
    let counters = host.stop();
    assert_eq!([counter(&counters, "address_conflicts"), counter(&counters, "unexplained")], [0, 0], "{counters}");
}

#[test]
fn wrong_usage_is_one_line_and_exit_code_2() {
    for (arguments, contains) in [
        ("-i null:", "--addr"),
        ("--addr 10.0.0.2/24", "-i"),
        ("-i null: --addr 10.0.0.2", "names no network"),
        ("-i null: --addr 10.0.0/24", "10.0.0"),
        ("-i null: --addr 10.0.0.2/33", "/33"),
        ("-i null: --addr fd00::2/129", "/129"),
        ("-i null: --addr fd00::g/64", "fd00::g"),
        ("-i null: --addr 10.0.0.255/24", "10.0.0.255/24"),
        ("-i null: --addr 10.0.0.0/24", "10.0.0.0/24"),
        ("-i null: --addr 224.0.0.1/24", "224.0.0.1/24"),
        ("-i null: --addr 127.0.0.1/8", "127.0.0.1/8"),
        ("-i null: --addr ff02::1/64", "ff02::1/64"),
        ("-i null: --addr 10.0.0.2/24 --route 0.0.0.0/0", "0.0.0.0/0=10.0.0.1"),
        ("-i null: --addr 10.0.0.2/24 --route 0.0.0.0/0=10.0.1.1", "10.0.1.1"),
        ("-i null: --addr 10.0.0.2/24 --route 0.0.0.0/0=x", "'x'"),
        ("-i null: --addr 10.0.0.2/24 --route 10.0.0.0=10.0.0.1", "names no network"),
        ("-i null: --addr 10.0.0.2/24 --route ::/0=10.0.0.1", "10.0.0.1"),
        ("-i null: --addr 10.0.0.2/24 --mac 02:00", "02:00"),
        ("-i null: --addr 10.0.0.2/24 --mac ff:ff:ff:ff:ff:ff", "ff:ff:ff:ff:ff:ff"),
        ("-i null: --addr 10.0.0.2/24 --mac 00:00:00:00:00:00", "00:00:00:00:00:00"),
        ("-i null: --addr 10.0.0.2/24 --mtu 67", "67"),
        ("-i null: --addr 10.0.0.2/24 --mtu 1501", "at most 1500"),
        ("-i null: --addr 10.0.0.2/24 --mtu 65536", "65536"),
        ("-i null: --addr 10.0.0.2/24 --mtu x", "x"),
        ("-i null: --addr fd00::2/64 --mtu 1279", "1279"),
        ("-i null: --addr 10.0.0.2/24 --vlan 0", "1 to 4094"),
        ("-i null: --addr 10.0.0.2/24 --vlan 4095", "1 to 4094"),
        ("-i null: --addr 10.0.0.2/24 --services ftp", "echo, discard, chargen"),
        ("-i null: --addr 10.0.0.2/24 --services echo,echo", "name each service once"),
        ("-i null: --addr 10.0.0.2/24 --wait long", "adaptive"),
        ("-i null: --addr 10.0.0.2/24 --seconds -1", "-1"),
        ("-i wire:x --addr 10.0.0.2/24", "wire"),
        ("-i no-such-interface0 --addr 10.0.0.2/24", "no-such-interface0"),
        ("-i packet:no-such-interface0 --addr 10.0.0.2/24", "no-such-interface0"),
        ("-i null: --addr 10.0.0.2/24 extra", "extra"),
    ] {
        // A case that is wrongly accepted would run for ever.
        let more = if arguments.contains("--seconds") { "" } else { " --seconds 1" };
        let mut command = Command::new(BINARY);
        command.args(["stack", "up"]).args(format!("{arguments}{more}").split_whitespace());
        let Output { status, stdout, stderr } = command.output().unwrap();
        let log = String::from_utf8(stderr).unwrap();
        assert_eq!(status.code(), Some(2), "{arguments}: {log}");
        assert!(stdout.is_empty() && log.lines().count() == 1 && log.contains(contains), "{arguments}: {log}");
    }
}

#[test]
fn an_end_in_time_is_no_failure_and_the_counters_are_one_document() {
    let arguments = ["-i", "null:", "--addr", "10.0.0.2/24", "--addr", "fd00::2/64", "--mac", MAC, "--seconds", "1"];
    let run = |more: &[&str]| Command::new(BINARY).args(["stack", "up"]).args(arguments).args(more).output().unwrap();
    let Output { status, stdout, stderr } = run(&["--json"]);
    assert_eq!((status.code(), stderr.len()), (Some(0), 0));
    let document: serde_json::Value = serde_json::from_slice(&stdout).unwrap();
    assert_eq!(document["schema"], "linerate.stack");
    assert_eq!((&document["mac"], &document["mtu"]), (&MAC.into(), &1500.into()));
    assert_eq!(document["addresses"].as_array().unwrap().len(), 3, "and the link-local one");
    // null: delivers frames of zeros as fast as they are taken; all are dropped, and the adapter counts them.
    let counters = &document["counters"];
    assert!(counters["nic.rx.drop.no_interface"].as_u64().is_some_and(|n| n > 0), "{document}");
    assert_eq!((&counters["frames"], &counters["unexplained"]), (&0.into(), &0.into()));
    let text = String::from_utf8(run(&[]).stdout).unwrap();
    assert_eq!((counter(&text, "frames"), counter(&text, "unexplained")), (0, 0));
    assert!(counter(&text, "nic.rx.drop.no_interface") > 0);
}

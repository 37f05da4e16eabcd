//! TCP between the kernels of two namespaces with default offloads, through `bridge` and `switch`: frames whose checksums
//! are open, and super-frames, to a port that completes neither.
#![cfg(target_os = "linux")]

use crate::ends::accepted;
use crate::process::{BINARY, LIMIT, Process};
use linerate_host::{Cause, Namespace, Rtnetlink, VethPair};
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::process::Command;
use std::time::{Duration, Instant};

const ADDRESS: [Ipv4Addr; 2] = [Ipv4Addr::new(10, 7, 0, 1), Ipv4Addr::new(10, 7, 0, 2)];

fn bytes(n: usize) -> Vec<u8> {
    (0..n).map(|i| u8::try_from((i * 31 + i / 251) % 256).unwrap_or(0)).collect()
}

/// A kernel in a namespace, and the port before it.
struct End<'a> {
    ns: &'a Namespace,
    /// What the forwarder opens, and the kernel's interface.
    port: String,
    interface: String,
    pair: Option<VethPair>,
}

impl<'a> End<'a> {
    /// `kind` may have options behind a comma. Interfaces of a veth pair are made here; a TAP interface is made by who
    /// opens it, and gets to its kernel by [`End::up`].
    fn new(kind: &str, n: usize, ns: &'a Namespace, between: &Namespace) -> Self {
        let (kind, options) = kind.split_once(',').map_or((kind, String::new()), |(kind, o)| (kind, format!(",{o}")));
        let (ours, theirs) = (format!("f{n}"), format!("e{n}"));
        if kind == "tap" {
            return Self { ns, port: format!("tap:{ours}{options}"), interface: ours, pair: None };
        }
        let pair = between.run_in(|| VethPair::new([&ours, &theirs], 1, 1500)).unwrap().unwrap();
        between.run_in(|| Rtnetlink::open().unwrap().move_to(&theirs, ns).unwrap()).unwrap();
        Self { ns, port: format!("{kind}:{ours}{options}"), interface: theirs, pair: Some(pair) }
    }

    /// Gives the interface to the kernel, if it has not got it, and an address.
    fn up(&self, between: &Namespace, address: Ipv4Addr) {
        if self.pair.is_none() {
            between.run_in(|| Rtnetlink::open().unwrap().move_to(&self.interface, self.ns).unwrap()).unwrap();
        }
        let set = || {
            let mut net = Rtnetlink::open().unwrap();
            net.add_address(&self.interface, address, 24).unwrap();
            net.set_up(&self.interface, true).unwrap();
        };
        self.ns.run_in(set).unwrap();
    }
}

/// Sends bytes there and others back by the kernels' TCP.
fn talk(what: &str, a: &Namespace, b: &Namespace) {
    let (sent, back) = (bytes(8 << 20), bytes(1 << 20));
    let listener = b.run_in(|| TcpListener::bind((ADDRESS[1], 7000)).unwrap()).unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut stream = accepted(&listener);
            let mut got = vec![0; sent.len()];
            stream.set_read_timeout(Some(LIMIT)).unwrap();
            stream.read_exact(&mut got).unwrap_or_else(|e| panic!("{what}: {e}"));
            assert!(got == sent, "{what}: every byte");
            stream.write_all(&back).unwrap();
        });
        let stream = a.run_in(|| TcpStream::connect_timeout(&(ADDRESS[1], 7000).into(), LIMIT));
        let stream = stream.unwrap().unwrap_or_else(|e| panic!("{what}: {e}"));
        stream.set_write_timeout(Some(LIMIT)).unwrap();
        stream.set_read_timeout(Some(LIMIT)).unwrap();
        (&stream).write_all(&sent).unwrap();
        let mut got = vec![0; back.len()];
        (&stream).read_exact(&mut got).unwrap_or_else(|e| panic!("{what}, back: {e}"));
        assert!(got == back, "{what}: every byte back");
    });
}

#[test]
fn the_kernels_tcp_passes_between_all_kinds_of_interfaces() {
    let made = || linerate_skip::permitted(Namespace::quiet(), |e| e.cause == Cause::Capability);
    for kinds in [
        ["packet", "packet"],
        ["packet", "xdp"],
        ["xdp", "packet"],
        ["xdp", "xdp"],
        ["tap", "packet"],
        ["tap,gso=on", "packet"],
        ["tap,gso=on", "xdp"],
        ["xdp", "tap,gso=on"],
        ["packet", "tap"],
        ["tap,gso=on", "tap"],
    ] {
        for forwarder in ["bridge", "switch"] {
            let (Some(between), Some(a), Some(b)) = (made(), made(), made()) else { return };
            let what = format!("{forwarder} from {} to {}", kinds[0], kinds[1]);
            let ends = [End::new(kinds[0], 0, &a, &between), End::new(kinds[1], 1, &b, &between)];
            let [from, to] = [&ends[0].port, &ends[1].port];
            let switch = format!("tcp-{}", std::process::id());
            let mut program = Command::new(BINARY);
            match forwarder {
                "bridge" => program.args(["bridge", "-i", from, "-i", to]),
                _ => program.args(["switch", &switch, "--attach", from, "--attach", to]),
            };
            let mut running = between.run_in(|| Process::start(program)).unwrap();
            running.until(if forwarder == "bridge" { "by exchanging buffers" } else { "attach to it" });
            ends.iter().zip(ADDRESS).for_each(|(end, address)| end.up(&between, address));
            talk(&what, &a, &b);
            let said = running.stop();
            // A TAP interface takes all requests: `gso=on` is about what the kernel sends there.
            let asks = kinds[0] != "tap" && kinds[1] == "xdp";
            assert!(said.contains("checksums ") || !asks, "{what}: {said}");
            assert!(said.contains("tso ") || !asks || kinds[0] == "xdp", "{what}: {said}");
            assert!(!said.contains("unfinished"), "{what}: {said}");
        }
    }
}

#[test]
fn paths_are_printed_and_links_that_go_and_come() {
    let made = linerate_skip::permitted(Namespace::quiet(), |e| e.cause == Cause::Capability);
    let Some(ns) = made else { return };
    for forwarder in ["bridge", "switch"] {
        let pairs =
            [["f0", "e0"], ["f1", "e1"]].map(|names| ns.run_in(|| VethPair::new(names, 1, 1500)).unwrap().unwrap());
        let name = format!("links-{}", std::process::id());
        let mut program = Command::new(BINARY);
        match forwarder {
            "bridge" => program.args(["bridge", "-i", "packet:f0", "-i", "packet:f1"]),
            _ => program.args(["switch", &name, "--attach", "packet:f0", "--attach", "packet:f1"]),
        };
        let mut running = ns.run_in(|| Process::start(program)).unwrap();
        let path = running.until("packet:f1: ");
        assert!(path.contains("AF_PACKET") && path.contains("frames up to"), "{path}");
        running.until(if forwarder == "bridge" { "by exchanging buffers" } else { "attach to it" });
        pairs[1].set_up("e1", false).unwrap();
        running.until("f1: link down");
        pairs[1].set_up("e1", true).unwrap();
        running.until("f1: link up");
        // The interface is deleted.
        drop(pairs);
        running.until("f0: the interface is gone");
        // Regression: a new one of the name was told as the old one that is up again, and nothing passed.
        let _new =
            [["f0", "e0"], ["f1", "e1"]].map(|names| ns.run_in(|| VethPair::new(names, 1, 1500)).unwrap().unwrap());
        std::thread::sleep(Duration::from_millis(2500));
        let said = running.stop();
        let times = |words| said.matches(words).count();
        let changes = (times("f0: the interface is gone"), times("f0: link up"), times("f1: link up"));
        assert_eq!(changes, (1, 0, 1), "each change once: {said}");
    }
}

/// Processor time of a process in ticks (proc(5): `utime` and `stime`).
fn ticks(id: u32) -> u64 {
    let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap();
    let fields = stat.rsplit(") ").next().unwrap().split(' ').skip(11).take(2);
    fields.map(|field| field.parse::<u64>().unwrap()).sum()
}

/// Regressions: hosts and targets did not tell it, and whoever ran on a deleted TAP interface, whose descriptor is always
/// ready, took a whole processor from then on.
#[test]
fn a_deleted_interface_is_told_by_all_and_costs_nothing() {
    let made = linerate_skip::permitted(Namespace::quiet(), |e| e.cause == Cause::Capability);
    let Some(ns) = made else { return };
    let switch = format!("gone-{}", std::process::id());
    let mut all = Vec::new();
    for (kind, k) in [("packet", 'p'), ("tap", 't')] {
        for (what, ready, words) in [
            ("stack", "link up: ", format!("up -i {kind}:{k}0 --addr 10.3.0.1/24")),
            ("fcoe", "LUN 0", format!("target -i {kind}:{k}1 --lun 0=ram:1M")),
            ("bridge", " -> ", format!("-i {kind}:{k}2 -i cable:{switch}{k}{{1")),
            ("switch", "attach to it", format!("{switch}{k} --attach {kind}:{k}3")),
        ] {
            let name = format!("{k}{}", all.len() % 4);
            if kind == "packet" {
                // The interface outlives its owner here.
                std::mem::forget(ns.run_in(|| VethPair::new([&name, &format!("{name}f")], 1, 1500)).unwrap().unwrap());
            }
            let mut program = Command::new(BINARY);
            program.arg(what).args(words.split(' '));
            let mut running = ns.run_in(|| Process::start(program)).unwrap();
            running.until(ready);
            all.push((name, running));
        }
    }
    for (name, _) in &all {
        let mut delete = Command::new("ip");
        delete.args(["link", "del", name]);
        assert!(ns.run_in(move || delete.status().unwrap()).unwrap().success());
    }
    for (name, running) in &mut all {
        running.line_with(&format!("{name}: the interface is gone"));
    }
    let before: Vec<_> = all.iter().map(|(_, running)| (ticks(running.id()), Instant::now())).collect();
    std::thread::sleep(Duration::from_secs(1));
    for ((name, running), (before, at)) in all.into_iter().zip(before) {
        // A hundred a second are all of one processor.
        let (used, time) = (ticks(running.id()) - before, at.elapsed());
        assert!(used as f64 / time.as_secs_f64() < 25.0, "{name}: {used} ticks in {time:?}");
        running.stop();
    }
}

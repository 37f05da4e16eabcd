//! Two ends of a test: our program or the one that it stands in for, in all pairings.

use crate::process::{BINARY, alone, until};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::process::Command;
use std::sync::atomic::{AtomicU16, Ordering::Relaxed};

/// A program at one end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    Ours,
    Theirs,
}

impl End {
    /// A command of ours, or the program that it stands in for.
    pub(crate) fn command(self, ours: &str, theirs: &str, words: &[&str]) -> Command {
        let mut command = Command::new(if self == Self::Ours { BINARY } else { theirs });
        if self == Self::Ours {
            command.arg(ours);
        }
        command.args(words);
        command
    }
}

/// A command of ours whose sockets are those of a host of our own on a port.
pub(crate) fn hosted(ours: &str, port: &str, address: &str, words: &[&str]) -> Command {
    End::Ours.command(ours, "", &[&["--via", port, "--addr", address][..], words].concat())
}

/// The ends of a cable that nobody else has.
pub(crate) fn cable(name: &str) -> [String; 2] {
    ['{', '}'].map(|end| format!("cable:{name}-{}{end}1", std::process::id()))
}

/// All pairings with at least one of our ends: client, server.
pub(crate) const PAIRINGS: [(End, End); 3] =
    [(End::Ours, End::Theirs), (End::Theirs, End::Ours), (End::Ours, End::Ours)];

/// A port that nobody uses, below those that the system gives to clients.
pub(crate) fn port() -> u16 {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let first = u16::try_from(std::process::id() % 100).unwrap() * 100;
    for _ in 0..1000 {
        let _alone = alone();
        let port = 20_000 + (first + NEXT.fetch_add(1, Relaxed)) % 10_000;
        if TcpListener::bind(("::", port)).is_ok() && UdpSocket::bind(("::", port)).is_ok() {
            return port;
        }
    }
    panic!("no port is free");
}

/// The next connection to a listener, which does not wait for ever if none comes.
pub(crate) fn accepted(listener: &TcpListener) -> TcpStream {
    listener.set_nonblocking(true).unwrap();
    let mut next = None;
    until("a connection comes", || {
        next = listener.accept().ok();
        next.is_some()
    });
    let (stream, _) = next.unwrap();
    stream.set_nonblocking(false).unwrap();
    stream
}

/// Waits until something listens at a TCP port, or receives at a UDP port, in the namespace of this thread: the kernel knows,
/// where a program says nothing.
pub(crate) fn until_open(port: u16, udp: bool) {
    let (files, state) = if udp { (["udp", "udp6"], "07") } else { (["tcp", "tcp6"], "0A") };
    let port_in_table = format!("{port:04X}");
    let is_open = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let of = words.get(1).and_then(|address| address.rsplit_once(':')).map(|(_, port)| port);
        words.get(3) == Some(&state) && of == Some(&port_in_table)
    };
    until(&format!("something is open at port {port}"), || {
        let all =
            files.map(|file| std::fs::read_to_string(format!("/proc/thread-self/net/{file}")).unwrap_or_default());
        all.iter().any(|text| text.lines().any(is_open))
    });
}

/// Counter of the kernel in the namespace of this thread, by file, group and name: `snmp`, `Udp`, `RcvbufErrors`.
pub(crate) fn kernels(file: &str, group: &str, name: &str) -> u64 {
    let all = std::fs::read_to_string(format!("/proc/thread-self/net/{file}")).unwrap();
    let of = |line: &&str| line.split_once(':').is_some_and(|(of, _)| of == group);
    let mut lines = all.lines().filter(of).map(str::split_whitespace);
    let (names, values) = (lines.next().unwrap(), lines.next().unwrap());
    let found = names.zip(values).find(|(named, _)| *named == name);
    found.unwrap_or_else(|| panic!("no {group} {name}: {all}")).1.parse().unwrap()
}

/// Compares what our program prints with what the other one does. What there is of intervals is for the clocks to say: who is kept
/// from running for one has no line for it. So they are compared up to five times.
#[track_caller]
pub(crate) fn are_alike<T: PartialEq + std::fmt::Debug>(what: &[&str], mut both: impl FnMut() -> [T; 2]) {
    for attempt in 1.. {
        let [ours, theirs] = both();
        if ours == theirs {
            return;
        }
        assert!(attempt < 5, "{what:?}: ours: {ours:#?}\ntheirs: {theirs:#?}");
    }
}

/// A line without its numbers: each run of digits and the blanks around it become one mark.
pub(crate) fn shape(line: &str) -> String {
    let mut shape = String::new();
    for c in line.chars() {
        match c {
            '0'..='9' | '.' | ' ' if shape.ends_with('#') => {}
            '0'..='9' | ' ' => shape.push('#'),
            c => shape.push(c),
        }
    }
    // Units follow from the numbers.
    ["KBytes", "MBytes", "GBytes", "Kbits", "Mbits", "Gbits", "Bytes", "bits"]
        .iter()
        .fold(shape, |shape, unit| shape.replace(unit, "unit"))
}

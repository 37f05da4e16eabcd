//! Tests that clients who say nothing, or stop amid what they have to say, shut no door to others: those of servers of loads, over
//! the kernel's sockets and over a host of our own, of NBD, of control sockets, of switches and cables.
#![cfg(target_os = "linux")]

use crate::ends::{port, until_open};
use crate::process::{BINARY, LIMIT, Process, until};
use linerate_host::{Cause, Namespace, Offloads, VethPair};
use std::io::{Read, Write};
use std::net::{TcpStream, UdpSocket};
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// A server, what holds all its places, and a client that wants one.
struct Case {
    server: &'static [&'static str],
    client: &'static [&'static str],
    attack: fn(&str) -> Vec<TcpStream>,
}

const CASES: [Case; 5] = [
    Case { server: &["iperf", "-s", "-u"], client: &["iperf", "-u", "-n", "64K", "-c"], attack: datagrams },
    Case { server: &["iperf", "-s"], client: &["iperf", "-n", "64K", "-c"], attack: silent::<300> },
    Case { server: &["netserver", "-D"], client: &["netperf", "-l", "-65536", "-H"], attack: silent::<150> },
    Case { server: &["stream", "-s"], client: &["stream", "-n", "64K", "-c"], attack: half_open },
    Case { server: &["stream", "-s"], client: &["stream", "-n", "64K", "-c"], attack: announced },
];

/// Single datagrams of iperf, each from an address of its own.
fn datagrams(to: &str) -> Vec<TcpStream> {
    let mut datagram = [0; 64];
    datagram[3] = 1;
    for n in 0..300 {
        let socket = UdpSocket::bind("0.0.0.0:0").unwrap();
        socket.send_to(&datagram, to).unwrap();
        // The server's socket has room for all of them.
        if n % 32 == 0 {
            std::thread::yield_now();
        }
    }
    Vec::new()
}

fn silent<const N: usize>(to: &str) -> Vec<TcpStream> {
    (0..N).map(|_| TcpStream::connect(to).unwrap()).collect()
}

/// Tests of iperf3 that end behind the cookie: each has a session, which awaits its parameters.
fn half_open(to: &str) -> Vec<TcpStream> {
    (0..64).map(|n| asks(to, n)).collect()
}

/// Tests of iperf3 that announce as many streams as there may be, and open none.
fn announced(to: &str) -> Vec<TcpStream> {
    let open = |n| {
        let mut stream = asks(to, n);
        let json = r#"{"tcp":true,"time":1,"parallel":128,"len":1000}"#;
        stream.write_all(&[&u32::try_from(json.len()).unwrap().to_be_bytes(), json.as_bytes()].concat()).unwrap();
        // CREATE_STREAMS.
        assert_eq!(hears(&mut stream), 10);
        stream
    };
    (0..8).map(open).collect()
}

/// A test of iperf3 that has said its cookie.
fn asks(to: &str, number: usize) -> TcpStream {
    let mut stream = TcpStream::connect(to).unwrap();
    stream.set_read_timeout(Some(LIMIT)).unwrap();
    stream.write_all(format!("{number:036}\0").as_bytes()).unwrap();
    // PARAM_EXCHANGE.
    assert_eq!(hears(&mut stream), 9);
    stream
}

fn hears(stream: &mut TcpStream) -> u8 {
    let mut state = [0];
    stream.read_exact(&mut state).unwrap();
    state[0]
}

fn command(words: &[&str], more: &[&str]) -> Command {
    let mut command = Command::new(BINARY);
    command.args(words).args(more);
    command
}

#[test]
fn who_says_nothing_shuts_no_server_of_the_kernels_sockets() {
    for case in CASES {
        let name = port().to_string();
        let server = Process::start(command(case.server, &["-p", &name]));
        until_open(name.parse().unwrap(), case.server.contains(&"-u"));
        let held = (case.attack)(&format!("127.0.0.1:{name}"));
        let ended = Process::start(command(case.client, &["127.0.0.1", "-p", &name])).end();
        assert_eq!(ended.code, Some(0), "{:?}: {}", case.server, ended.said());
        drop(held);
        server.kill();
    }
}

#[test]
fn a_test_that_moves_data_goes_on_while_others_hold_the_places() {
    let name = port().to_string();
    let server = Process::start(command(&["stream", "-s", "-p", &name], &[]));
    until_open(name.parse().unwrap(), false);
    let words = ["stream", "-c", "127.0.0.1", "-p", &name, "-b", "8M", "-t", "4", "-i", "1", "--forceflush"];
    let mut running = Process::start(command(&words, &[]));
    running.until(" sec ");
    let held = half_open(&format!("127.0.0.1:{name}"));
    let ended = Process::start(command(&["stream", "-n", "64K", "-c", "127.0.0.1", "-p", &name], &[])).end();
    assert_eq!(ended.code, Some(0), "{}", ended.said());
    running.done();
    drop(held);
    server.kill();
}

#[test]
fn who_says_nothing_shuts_no_server_of_a_host_of_our_own() {
    let Some(ns) = linerate_skip::permitted(Namespace::new(), |e| e.cause == Cause::Capability) else { return };
    let pair = ns.run_in(|| VethPair::new(["va", "vb"], 1, 1500)).unwrap().unwrap();
    pair.set_offloads("va", Offloads { tx_checksum: false, tso: false, gso: false, gro: false }).unwrap();
    let ip = |words: &[&str]| assert!(Command::new("ip").args(words).status().unwrap().success(), "ip {words:?}");
    ns.run_in(|| ip(&["addr", "add", "10.9.0.1/24", "dev", "va"])).unwrap();
    for case in CASES {
        let via = ["-p", "5999", "--via", "packet:vb", "--addr", "10.9.0.2/24"];
        let server = ns.run_in(|| Process::start(command(case.server, &via))).unwrap();
        let udp = case.server.contains(&"-u");
        let until = Instant::now() + LIMIT;
        // A server of datagrams is there when its host refuses a connection.
        while !ns
            .run_in(|| match TcpStream::connect_timeout(&"10.9.0.2:5999".parse().unwrap(), Duration::from_secs(1)) {
                Ok(_) => true,
                Err(e) => udp && e.kind() == std::io::ErrorKind::ConnectionRefused,
            })
            .unwrap()
        {
            assert!(Instant::now() < until, "{:?}: nobody answers", case.server);
        }
        let held = ns.run_in(|| (case.attack)("10.9.0.2:5999")).unwrap();
        let ended = ns.run_in(|| Process::start(command(case.client, &["10.9.0.2", "-p", "5999"]))).unwrap().end();
        assert_eq!(ended.code, Some(0), "{:?}: {}", case.server, ended.said());
        drop(held);
        server.kill();
    }
}

/// Regression: an honest client's datagrams waited behind a thousand others of one origin, and the socket, which nobody emptied
/// meanwhile, lost most of them.
#[test]
fn single_datagrams_by_the_thousand_shut_no_server_of_datagrams() {
    let name = port().to_string();
    let server = Process::start(command(&["iperf", "-s", "-u", "-p", &name], &[]));
    until_open(name.parse().unwrap(), true);
    let (to, over) = (format!("127.0.0.1:{name}"), AtomicBool::new(false));
    std::thread::scope(|scope| {
        let attack = || {
            let mut datagram = [0; 64];
            datagram[3] = 1;
            let (mut sent, begin) = (0, Instant::now());
            // Each from a port of its own.
            while !over.load(Relaxed) && begin.elapsed() < 6 * LIMIT {
                let socket = UdpSocket::bind("127.0.0.9:0").unwrap();
                sent += u32::from(socket.send_to(&datagram, &to).is_ok());
            }
            f64::from(sent) / begin.elapsed().as_secs_f64()
        };
        let attacks = [(); 2].map(|()| scope.spawn(attack));
        let ended = [(); 6].map(|()| {
            Process::start(command(&["iperf", "-u", "-n", "64K", "-c", "127.0.0.1", "-p", &name], &[])).end()
        });
        over.store(true, Relaxed);
        let rate: f64 = attacks.into_iter().map(|attack| attack.join().unwrap()).sum();
        let (mut all, mut lost) = (0, 0);
        for ended in ended {
            assert_eq!(ended.code, Some(0), "{}", ended.said());
            // Of the server's report: `5/45 (11%)`. What comes before its session has begun is at the door.
            let words = ended.out.split_whitespace();
            let count = words.clone().zip(words.skip(1)).find(|(_, share)| share.ends_with("%)"));
            let (gone, sent) = count.and_then(|(count, _)| count.split_once('/')).unwrap();
            lost += gone.parse::<u32>().unwrap();
            all += sent.parse::<u32>().unwrap();
        }
        assert!(lost * 10 < all, "{lost} of {all} datagrams are lost, at {rate:.0} others a second");
        assert!(rate > 1000.0, "only {rate:.0} datagrams a second");
    });
    server.kill();
}

/// Directory of sockets and port of the servers of a test.
struct Site {
    dir: tempfile::TempDir,
    port: String,
}

impl Site {
    fn command(&self, words: &str) -> Command {
        let mut command = Command::new(BINARY);
        command.env("XDG_RUNTIME_DIR", self.dir.path()).args(words.replace("PORT", &self.port).split_whitespace());
        command.current_dir(self.dir.path());
        command
    }

    fn socket(&self, name: &str) -> PathBuf {
        self.dir.path().join("linerate").join(name)
    }

    /// The door's address, once it is there.
    fn address(&self, door: &Door) -> String {
        let (kind, place) = door.address.split_once(':').unwrap();
        match kind {
            "tcp" | "udp" => {
                until_open(self.port.parse().unwrap(), kind == "udp");
                format!("{kind}:127.0.0.1:{}", self.port)
            }
            _ => {
                let path = if place == "lun" { self.dir.path().join(place) } else { self.socket(place) };
                until(&format!("{} is there", path.display()), || path.exists());
                format!("{kind}:{}", path.display())
            }
        }
    }
}

/// A door, how it is opened, and a client that proves itself there. Further doors of a server follow it.
struct Door {
    servers: &'static [&'static str],
    address: &'static str,
    /// First part of a client's first words, in hexadecimal.
    half: &'static str,
    client: &'static str,
}

const NBD_DISKS: &str =
    "xdd -op read -targets 1 nbd+unix:///?socket=lun -queuedepth 4 -reqsize 8 -blocksize 512 -numreqs 100";

const DOORS: [Door; 8] = [
    Door { servers: &["iperf -s -p PORT"], address: "tcp:", half: "0000", client: "iperf -n 64K -c 127.0.0.1 -p PORT" },
    Door {
        servers: &["iperf -s -u -p PORT"],
        address: "udp:",
        half: "00000001000000000000000000000000000000000000000000000000000000000000000000000000",
        client: "iperf -u -n 64K -c 127.0.0.1 -p PORT",
    },
    Door {
        servers: &["netserver -D -p PORT"],
        address: "tcp:",
        half: "000000",
        client: "netperf -l -65536 -H 127.0.0.1 -p PORT",
    },
    Door {
        servers: &["stream -s -p PORT"],
        address: "tcp:",
        half: "6161616161616161",
        client: "stream -n 64K -c 127.0.0.1 -p PORT",
    },
    Door {
        servers: &["fcoe target -i cable:san{1 --lun 0=ram:64M", "fcoe initiator -i cable:san}1 --nbd unix:lun"],
        address: "unix:lun",
        half: "0000000349484156454f5054",
        client: NBD_DISKS,
    },
    Door {
        servers: &["switch lab"],
        address: "unix:control-switch-lab.sock",
        half: "73686f",
        client: "switch show lab",
    },
    Door {
        servers: &["switch lab"],
        address: "seq:switch-lab.sock",
        half: "6c722d76616c6500",
        client: "pkt-gen -i vale:lab:guestRUN -f tx -n 1000",
    },
    Door {
        servers: &["switch lab --attach cable:x{1 --ports a"],
        address: "seq:cable-x#1.sock",
        half: "6c722d6361626c65",
        client: "pkt-gen -i cable:x}1 -f tx -n 1000",
    },
];

/// Attacks on a door: how its clients behave, and whether they are of many origins. Those are so few that clients of one of them
/// are always more than one honest client, wherever they have all places but one.
const ATTACKS: [(&str, bool); 4] = [("silent", false), ("silent", true), ("half", true), ("dribble", true)];

/// Honest clients are served amid an attack, and after it.
#[test]
#[ignore = "it takes a machine of its own: ./soak doors"]
fn no_door_is_shut_by_who_only_wants_its_places() {
    if !linerate_skip::is_installed("python3") {
        linerate_skip::skip!("python3 is not installed");
        return;
    }
    let script = include_str!("admission/attack.py");
    for door in &DOORS {
        let site = Site { dir: tempfile::tempdir().unwrap(), port: port().to_string() };
        let servers: Vec<_> = door.servers.iter().map(|words| Process::start(site.command(words))).collect();
        let address = site.address(door);
        let runs = std::cell::Cell::new(0);
        let served = |when: &str| {
            runs.set(runs.get() + 1);
            // The name of the guest before may not be free yet.
            let words = door.client.replace("RUN", &runs.get().to_string());
            let ended = Process::start(site.command(&words)).end();
            assert_eq!(ended.code, Some(0), "{}, {when}: {}", door.servers[0], ended.said());
        };
        served("at first");
        for (how, many) in ATTACKS {
            let origins = if !many {
                "1"
            } else if address.contains("127.0.0.1") {
                "50"
            } else {
                "5"
            };
            let mut attack = Command::new("python3");
            attack.args(["-c", script, &address, how, door.half, "300", origins]);
            let attack = Process::ready(attack, "ready");
            for _ in 0..2 {
                served(&format!("while others are {how}, of {origins} origins"));
            }
            attack.kill();
        }
        served("at last");
        drop(servers);
    }
}

//! Each engine that has a peer, whose peer leaves, or dies by SIGKILL, idle or amid traffic, and comes again: the port goes on, its
//! slots come back, and from the first frame on the next peer is served.
//!
//! Peers are this test binary, started again with a role in its environment.
#![cfg(target_os = "linux")]

use linerate_port::switch::{Grant, Listener, Policy, Switch};
use linerate_port::{Link, Port, RxQueue, Spec, TxQueue, open};
use std::any::Any;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Far more than anything here takes on any machine; a test that gets there has hung.
const HUNG: Duration = Duration::from_secs(240);
/// Peers of a case, one after the other.
const ROUNDS: u8 = 3;
/// Frames that have come back before a busy peer goes.
const BUSY: u32 = 200;

/// Ends of a peer.
type End = (&'static str, fn(&mut Peer));

const ENDS: [End; 2] = [("leaves", Peer::leave), ("is killed", Peer::kill)];

struct Engine {
    name: &'static str,
    /// Names of this end's port and of the peer's, in a directory.
    names: fn(&str, &Path) -> [String; 2],
    /// The peer is there first.
    joins: bool,
    /// Program that has to run behind both, by the two names.
    behind: fn(&[String; 2]) -> Option<Box<dyn Any>>,
}

const ENGINES: [Engine; 6] = [
    Engine {
        name: "cable, made here",
        names: |id, _| ['{', '}'].map(|end| format!("cable:{id}{end}1,slots=64")),
        joins: false,
        behind: |_| None,
    },
    Engine {
        name: "cable, joined here",
        names: |id, _| ['}', '{'].map(|end| format!("cable:{id}{end}1,slots=64")),
        joins: true,
        behind: |_| None,
    },
    Engine {
        name: "ports of a switch",
        names: |id, _| ["a", "b"].map(|port| format!("vale:{id}:{port},slots=64")),
        joins: false,
        behind: |names| Some(Box::new(Behind::start(Listener::open(switch(names), None).unwrap(), None))),
    },
    Engine {
        name: "cable attached to a switch",
        names: |id, _| [format!("vale:{id}:a,slots=64"), format!("cable:{id}}}1,slots=64")],
        joins: false,
        behind: |names| {
            let listener = Listener::open(switch(names), None).unwrap();
            Some(Box::new(Behind::start(listener, Some(open(&names[1].replace('}', "{")).unwrap()))))
        },
    },
    Engine {
        name: "interfaces of an adapter",
        names: |id, _| ["1", "2"].map(|vi| format!("cable:{id}{{1/vi{vi},slots=64")),
        joins: false,
        behind: |names| {
            let port = names[0].split('/').next().unwrap();
            let listener = Listener::of_adapter(&Spec::parse(port).unwrap()).unwrap();
            let grant = || Grant { policy: Policy::default(), ..Grant::default() };
            listener.grant(vec![("vi1".into(), grant()), ("vi2".into(), grant())]);
            Some(Box::new(Behind::start(listener, None)))
        },
    },
    Engine {
        name: "unix sockets",
        names: |_, dir| {
            let [a, b] = ["a", "b"].map(|name| dir.join(name).display().to_string());
            [format!("unix:{a}:{b},slots=64"), format!("unix:{b}:{a},slots=64")]
        },
        joins: false,
        behind: |_| None,
    },
];

fn switch(names: &[String; 2]) -> &str {
    names[0].split(':').nth(1).unwrap()
}

/// A switch in a thread of its own, as `linerate switch` runs one.
struct Behind {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Behind {
    fn start(listener: Listener, attached: Option<Port>) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let ended = stop.clone();
        let mut switch = Switch::new();
        if let Some(port) = attached {
            switch.attach("far", port, Policy::default()).unwrap();
        }
        let thread = std::thread::spawn(move || {
            let began = Instant::now();
            while !ended.load(Relaxed) {
                listener.admit(&mut switch);
                if !switch.poll(u64::try_from(began.elapsed().as_nanos()).unwrap()) {
                    std::thread::sleep(Duration::from_micros(50));
                }
            }
        });
        Self { stop, thread: Some(thread) }
    }
}

impl Drop for Behind {
    fn drop(&mut self) {
        self.stop.store(true, Relaxed);
        let _ = self.thread.take().unwrap().join();
    }
}

/// A process that sends back what it gets.
struct Peer {
    child: Child,
    ready: Receiver<()>,
}

impl Peer {
    fn start(port: &str) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["echoing_peer", "--exact", "--nocapture", "--test-threads=1", "--ignored"])
            .env("LINERATE_ROLE", port)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (out, (to, ready)) = (BufReader::new(child.stdout.take().unwrap()), channel());
        std::thread::spawn(move || {
            for line in out.lines().map_while(Result::ok).filter(|line| line.contains("ready")) {
                drop(line);
                let _ = to.send(());
            }
        });
        Self { child, ready }
    }

    fn leave(&mut self) {
        drop(self.child.stdin.take());
        assert!(self.child.wait().unwrap().success());
    }

    fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A frame to all, of a round; those that were sent back are marked.
fn frame(round: u8, back: bool) -> [u8; 60] {
    let mut frame = [0; 60];
    frame[..6].fill(0xff);
    frame[6..16].copy_from_slice(&[2, 0, 0, 0, 0, back.into(), 0x88, 0xb5, round, back.into()]);
    frame
}

fn send(tx: &mut TxQueue, frame: &[u8]) -> bool {
    let mut batch = tx.ring.reserve(1);
    let ok = !batch.is_empty() && batch.put(0, frame);
    batch.commit(ok.into());
    tx.sync();
    ok
}

/// Frames that have come.
fn receive(rx: &mut RxQueue) -> Vec<Vec<u8>> {
    rx.sync();
    let mut batch = rx.ring.batch(u32::MAX);
    let n = batch.len();
    let frames = (0..n).filter_map(|i| batch.frame(i).map(|(frame, _)| frame.to_vec())).collect();
    batch.release(n);
    frames
}

#[test]
#[ignore = "a role of other tests"]
fn echoing_peer() {
    let Ok(name) = std::env::var("LINERATE_ROLE") else { return };
    let deadline = Instant::now() + HUNG;
    let mut port = loop {
        match open(&name) {
            Ok(port) => break port,
            Err(e) => assert!(Instant::now() < deadline, "{e}"),
        }
        std::thread::sleep(Duration::from_millis(2));
    };
    let (mut tx, mut rx) = (port.take_tx(0).unwrap(), port.take_rx(0).unwrap());
    println!("ready");
    let told = std::thread::spawn(|| drop(std::io::stdin().read_line(&mut String::new())));
    while !told.is_finished() {
        tx.sync();
        let frames = receive(&mut rx);
        for frame in &frames {
            if frame.len() == 60 && frame[12..14] == [0x88, 0xb5] && frame[15] == 0 {
                send(&mut tx, &self::frame(frame[14], true));
            }
        }
        if frames.is_empty() {
            std::thread::sleep(Duration::from_micros(50));
        }
    }
}

/// Tries, with both queues synced meanwhile, until it is so.
fn until(what: &str, queues: &mut (TxQueue, RxQueue), mut is_so: impl FnMut(&mut TxQueue, &[Vec<u8>]) -> bool) {
    let deadline = Instant::now() + HUNG;
    loop {
        queues.0.sync();
        let frames = receive(&mut queues.1);
        if is_so(&mut queues.0, &frames) {
            return;
        }
        assert!(Instant::now() < deadline, "{what}");
        std::thread::sleep(Duration::from_micros(50));
    }
}

fn case(engine: &Engine, id: &str, (end_name, end): End, busy: bool) {
    let what = format!("{}, whose peer {end_name} {}", engine.name, if busy { "amid traffic" } else { "idle" });
    let dir = tempfile::tempdir().unwrap();
    let names = (engine.names)(id, dir.path());
    let behind = (engine.behind)(&names);
    let mut first = engine.joins.then(|| {
        let peer = Peer::start(&names[1]);
        peer.ready.recv_timeout(HUNG).unwrap();
        peer
    });
    let mut port = open(&names[0]).unwrap_or_else(|e| panic!("{what}: {e}"));
    let mut queues = (port.take_tx(0).unwrap(), port.take_rx(0).unwrap());
    let slots = queues.0.ring.slots();
    for round in 0..ROUNDS {
        let mut peer = first.take().unwrap_or_else(|| {
            let peer = Peer::start(&names[1]);
            until(&format!("{what}: peer {round} is let in"), &mut queues, |_, _| peer.ready.try_recv().is_ok());
            peer
        });
        let is_back = |frame: &Vec<u8>| frame.len() == 60 && frame[14..16] == [round, 1];
        // The first frame alone: no other one follows that could bring it along.
        until(&format!("{what}: a slot is free in round {round}"), &mut queues, |tx, _| send(tx, &frame(round, false)));
        until(&format!("{what}: the first frame of round {round} comes back"), &mut queues, |_, frames| {
            frames.iter().any(is_back)
        });
        if busy {
            let mut back = 0;
            until(&format!("{what}: round {round} goes on"), &mut queues, |tx, frames| {
                for _ in 0..16 {
                    send(tx, &frame(round, false));
                }
                back += u32::try_from(frames.iter().filter(|frame| is_back(frame)).count()).unwrap();
                back >= BUSY
            });
        }
        end(&mut peer);
        // The next one makes a cable of its own: until this end has noticed, it sends to the one that is gone.
        if engine.joins {
            until(&format!("{what}: the link is down after round {round}"), &mut queues, |_, _| {
                port.link() == Link::Down
            });
        }
        until(&format!("{what}: all slots are back after round {round}"), &mut queues, |tx, _| {
            tx.ring.in_flight() == 0
        });
        assert_eq!(queues.0.ring.free() + queues.0.ring.pending(), slots - 1, "{what}");
    }
    drop((queues, port, behind));
}

#[test]
fn whoever_comes_again_is_served_from_the_first_frame_on() {
    for (at, engine) in ENGINES.iter().enumerate() {
        for (n, end) in ENDS.into_iter().enumerate() {
            for busy in [false, true] {
                let id = format!("again{at}{n}{}-{}", u8::from(busy), std::process::id());
                case(engine, &id, end, busy);
            }
        }
    }
}

//! Five processes on one switch, one of them killed half-way: where every frame went.
//!
//! The switch runs here; the stations are this test binary, started again with a role in its environment. The
//! switch lets their senders wait, so between those that live nothing may be lost. `LINERATE_SWITCH_FRAMES` says how many
//! frames each station sends (100000).

use linerate_port::switch::{Ledger, Listener, Policy, PortReport, Switch};
use linerate_port::{DropReason, Port, RxQueue, TxQueue, open};
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

const STATIONS: usize = 5;
const VICTIM: usize = 4;
/// Limit of the time without any progress.
const PATIENCE: Duration = Duration::from_secs(60);

fn frames() -> u64 {
    std::env::var("LINERATE_SWITCH_FRAMES").ok().and_then(|n| n.parse().ok()).unwrap_or(100_000)
}

fn mac(station: usize) -> [u8; 6] {
    [2, 0, 0, 0, 0, u8::try_from(station).unwrap()]
}

/// A station's frame: to whom, from whom, the how many-th to that one.
fn frame(to: Option<usize>, from: usize, number: u64) -> [u8; 60] {
    let mut bytes = [0; 60];
    bytes[..6].copy_from_slice(&to.map_or([0xff; 6], mac));
    bytes[6..12].copy_from_slice(&mac(from));
    bytes[12..14].copy_from_slice(&[0x88, 0xb5]);
    bytes[14..22].copy_from_slice(&number.to_be_bytes());
    let mut x = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    for byte in &mut bytes[22..] {
        x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        *byte = x.to_be_bytes()[0];
    }
    bytes
}

struct Station {
    me: usize,
    _port: Port,
    tx: TxQueue,
    rx: RxQueue,
    sent: [u64; STATIONS],
    /// Of those meant for this station, by sender.
    received: [u64; STATIONS],
    announced: [bool; STATIONS],
    /// All frames that came.
    all: u64,
    next: usize,
}

impl Station {
    /// Takes what has come; checks order and every byte.
    fn take(&mut self) -> bool {
        self.rx.sync();
        let mut batch = self.rx.ring.batch(u32::MAX);
        let n = batch.len();
        for i in 0..n {
            let mut bytes = [0; 60];
            assert!(batch.frame(i).is_some_and(|(frame, _)| frame.len() == 60 && frame.read(0, &mut bytes)));
            self.all += 1;
            let from = usize::from(bytes[11]);
            let number = u64::from_be_bytes(bytes[14..22].try_into().unwrap());
            if bytes[0] == 0xff {
                assert_eq!(bytes, frame(None, from, number));
                self.announced[from] = true;
            } else if bytes[..6] == mac(self.me) {
                assert_eq!(bytes, frame(Some(self.me), from, self.received[from]), "in order, none lost");
                self.received[from] += 1;
            }
        }
        batch.release(n);
        n > 0
    }

    fn send(&mut self, most: u64) -> u64 {
        self.tx.sync();
        let mut batch = self.tx.ring.reserve(256.min(u32::try_from(most).unwrap_or(256)));
        let n = batch.len();
        for i in 0..n {
            self.next = (self.next + 1) % STATIONS;
            if self.next == self.me {
                self.next = (self.next + 1) % STATIONS;
            }
            assert!(batch.put(i, &frame(Some(self.next), self.me, self.sent[self.next])));
            self.sent[self.next] += 1;
        }
        batch.commit(n);
        self.tx.sync();
        n.into()
    }

    fn announce(&mut self) {
        self.tx.sync();
        let mut batch = self.tx.ring.reserve(1);
        if !batch.is_empty() && batch.put(0, &frame(None, self.me, 0)) {
            batch.commit(1);
        }
        self.tx.sync();
    }
}

/// The role: announces itself until it has heard of all, sends, receives until it is told to stop, says what it saw.
#[test]
#[ignore = "a role of another test"]
fn station() {
    let Ok(role) = std::env::var("LINERATE_ROLE") else { return };
    let (name, me) = role.rsplit_once('/').unwrap();
    let mut port = open(&format!("{name}:s{me},pause=0xff")).unwrap();
    let (tx, rx) = (port.take_tx(0).unwrap(), port.take_rx(0).unwrap());
    let (sent, received, announced) = ([0; STATIONS], [0; STATIONS], [false; STATIONS]);
    let me = me.parse().unwrap();
    let mut s = Station { me, _port: port, tx, rx, sent, received, announced, all: 0, next: me };
    static STOP: AtomicBool = AtomicBool::new(false);
    // Told to stop, or the parent is gone.
    std::thread::spawn(|| {
        let _ = std::io::stdin().read_line(&mut String::new());
        STOP.store(true, Relaxed);
    });
    let mut announcements = 0u64;
    while !(0..STATIONS).all(|k| k == me || s.announced[k]) && !STOP.load(Relaxed) {
        s.announce();
        announcements += 1;
        s.take();
        std::thread::sleep(Duration::from_millis(2));
    }
    println!("\nready");
    let (mut left, mut said) = (frames(), false);
    while !STOP.load(Relaxed) {
        let sent = if left > 0 { s.send(left) } else { 0 };
        left -= sent;
        let moved = s.take() || sent > 0;
        if left == 0 && !said {
            s.tx.sync();
            said = s.tx.ring.outstanding() == 0;
            if said {
                println!("done");
            }
        }
        if !moved {
            std::thread::sleep(Duration::from_micros(100));
        }
    }
    s.take();
    let count = s.tx.counters();
    assert!(count.frames <= announcements + frames() && count.dropped.total() == 0, "{count:?}");
    let list = |n: &[u64]| n.iter().map(u64::to_string).collect::<Vec<_>>().join(",");
    println!("saw {} {} {} {}", list(&s.sent), list(&s.received), s.all, count.frames);
}

struct Process {
    child: Child,
    stdin: Option<ChildStdin>,
    out: BufReader<ChildStdout>,
}

impl Process {
    fn new(switch: &str, station: usize) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["station", "--exact", "--nocapture", "--test-threads=1", "--ignored"])
            .env("LINERATE_ROLE", format!("vale:{switch}/{station}"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (stdin, out) = (child.stdin.take(), BufReader::new(child.stdout.take().unwrap()));
        Self { child, stdin, out }
    }

    /// The next line that begins so.
    fn line(&mut self, word: &str) -> String {
        let mut line = String::new();
        while self.out.read_line(&mut line).unwrap() > 0 {
            if line.starts_with(word) {
                return line;
            }
            line.clear();
        }
        panic!("a station ended before it said {word}");
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn find(ports: &[PortReport], station: usize) -> Option<&PortReport> {
    let name = format!("s{station}");
    ports.iter().find(|port| port.name == name)
}

#[test]
fn five_processes_one_killed_and_every_frame_accounted_for() {
    let name = format!("five-{}", std::process::id());
    let guest = |station| (format!("s{station}"), Policy { pause: 0xff, ..Policy::default() });
    let (listener, mut switch) =
        (Listener::open(&name, Some((0..STATIONS).map(guest).collect())).unwrap(), Switch::new());
    let start = Instant::now();
    let stations: Vec<Process> = (0..STATIONS).map(|station| Process::new(&name, station)).collect();
    // Each on a thread of its own, as its pipe may fill.
    let (tell, told) = std::sync::mpsc::channel();
    let stop = std::sync::Arc::new(AtomicBool::new(false));
    let threads: Vec<_> = stations
        .into_iter()
        .enumerate()
        .map(|(station, mut process)| {
            let (tell, stop) = (tell.clone(), stop.clone());
            std::thread::spawn(move || {
                process.line("ready");
                if station == VICTIM {
                    return (station, Some(process), String::new());
                }
                process.line("done");
                tell.send(station).unwrap();
                while !stop.load(Relaxed) {
                    std::thread::sleep(Duration::from_millis(2));
                }
                drop(process.stdin.take().map(|mut stdin| stdin.write_all(b"stop\n")));
                let line = process.line("saw");
                assert!(process.child.wait().unwrap().success());
                (station, None, line)
            })
        })
        .collect();
    let (mut threads, mut victim) = (threads.into_iter().map(Some).collect::<Vec<_>>(), None);
    let (mut done, mut last, mut quiet) = (0, start, start);
    // The clock of the switch goes while it has turns: what waits for room is lost after a second, and not because this machine
    // stands still.
    let (mut now, mut turned) = (Duration::ZERO, start);
    let is_gone = |switch: &Switch| find(&switch.ports(), VICTIM).is_some_and(|port| port.gone);
    // Until all that live have sent, nothing waits for who is slow to receive, and nothing has moved since.
    while done < STATIONS - 1
        || quiet.elapsed() < Duration::from_millis(300)
        || switch.has_waiting()
        || !is_gone(&switch)
    {
        listener.admit(&mut switch);
        now += turned.elapsed().min(Duration::from_millis(1));
        turned = Instant::now();
        if switch.poll(u64::try_from(now.as_nanos()).unwrap()) {
            (last, quiet) = (Instant::now(), Instant::now());
        } else {
            std::thread::sleep(Duration::from_micros(20));
        }
        assert!(last.elapsed() < PATIENCE, "{done} have sent; {:?}", switch.ports());
        done += told.try_iter().count();
        let half = || find(&switch.ports(), VICTIM).is_some_and(|port| port.count.received >= frames() / 2);
        if victim.is_none() && threads[VICTIM].as_ref().is_some_and(|t| t.is_finished()) && half() {
            let (_, process, _) = threads[VICTIM].take().unwrap().join().unwrap();
            let mut process = process.unwrap();
            process.child.kill().unwrap();
            victim = Some(process);
        }
    }
    assert!(victim.is_some(), "the victim was killed while it was sending");
    let ports = switch.ports();
    stop.store(true, Relaxed);
    let mut saw = vec![None; STATIONS];
    for thread in threads.into_iter().flatten() {
        let (station, _, line) = thread.join().unwrap();
        let words: Vec<Vec<u64>> =
            line.split_whitespace().skip(1).map(|word| word.split(',').map(|n| n.parse().unwrap()).collect()).collect();
        saw[station] = Some(words);
    }
    let ledger = Ledger::of(&ports);
    println!("{ledger:?}");
    assert_eq!(ledger.unexplained, 0, "{ledger:?} {ports:#?}");
    let dead = find(&ports, VICTIM).unwrap();
    assert!(dead.gone && dead.count.received < frames(), "it was half-way: {}", dead.count.received);
    let mut carried_to_the_living = 0;
    for (me, words) in saw.iter().enumerate().filter_map(|(k, words)| Some((k, words.as_ref()?))) {
        let [sent, received, all, taken] = &words[..] else { panic!("{words:?}") };
        let port = find(&ports, me).unwrap();
        assert_eq!(sent.iter().sum::<u64>(), frames());
        assert_eq!(port.count.received + port.count.refused.total(), taken[0], "all that {me} sent came in");
        assert_eq!(
            port.fate.carried - port.fate.lost.of(DropReason::PeerDied),
            all[0],
            "all that went out came to {me}"
        );
        for (from, theirs) in saw.iter().enumerate().filter_map(|(k, words)| Some((k, words.as_ref()?))) {
            assert_eq!(received[from], theirs[0][me], "from {from} to {me}: none lost");
        }
        carried_to_the_living += all[0];
    }
    assert_eq!(ledger.sent - dead.count.sent, carried_to_the_living);
    // Frames sent by the dead process reached their receivers, or are not counted at all.
    let from_dead: u64 = saw.iter().flatten().map(|words| words[1][VICTIM]).sum();
    assert!(from_dead <= dead.count.received);
    assert!(
        dead.count.received - from_dead <= 5_000,
        "announcements, and nothing else: {}",
        dead.count.received - from_dead
    );
}

/// Frames that a port's receiver pauses wait in the switch, priority by priority, and are carried when the pause is over.
#[test]
fn a_receiver_that_pauses_loses_nothing_and_other_classes_pass() {
    let name = format!("pause-{}", std::process::id());
    let (listener, mut switch) = (Listener::open(&name, None).unwrap(), Switch::new());
    let [mut a, mut b] = ["a", "b"].map(|port| {
        let opens = std::thread::spawn({
            let name = name.clone();
            move || open(&format!("vale:{name}:{port},queues=2"))
        });
        while !opens.is_finished() {
            listener.admit(&mut switch);
        }
        opens.join().unwrap().unwrap()
    });
    assert_eq!(switch.ports().len(), 2, "who is open is a port");
    let mut tx = a.take_tx(0).unwrap();
    let mut queues = [0, 1].map(|q| b.take_rx(q).unwrap());
    for rx in &mut queues {
        rx.sync();
        rx.pause(1 << 3);
    }
    for priority in [3u8, 5, 3, 5] {
        let mut bytes = frame(Some(1), 0, priority.into());
        bytes[12..16].copy_from_slice(&[0x81, 0, priority << 5, 5]);
        let mut batch = tx.ring.reserve(1);
        assert!(batch.put(0, &bytes));
        batch.commit(1);
    }
    tx.sync();
    let mut poll = || {
        switch.poll(1);
        queues.each_mut().map(|rx| {
            rx.sync();
            let mut batch = rx.ring.batch(64);
            let priorities: Vec<_> = (0..batch.len()).map(|i| batch.frame(i).unwrap().0.to_vec()[14] >> 5).collect();
            batch.release(u32::try_from(priorities.len()).unwrap());
            priorities
        })
    };
    assert_eq!(poll(), [vec![], vec![5, 5]]);
    queues[0].pause(0);
    let mut poll = || {
        switch.poll(2);
        queues[0].sync();
        queues[0].ring.available()
    };
    assert_eq!(poll(), 2);
    let report = switch.ports().into_iter().find(|port| port.name == "b").unwrap();
    assert_eq!((report.fate.carried, report.count.dropped.total()), (4, 0));
    assert_eq!(Ledger::of(&switch.ports()).unexplained, 0);
}

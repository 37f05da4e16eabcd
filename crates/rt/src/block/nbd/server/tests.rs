//! Tests of clients that take resources from others, at times set by the test.

use super::*;
use linerate_block::{Completion, Ram};
use linerate_nbd::wire::{Go, Greeting, OptionHeader, OptionReply, Reply, Request, command, option, reply};
use linerate_nbd::{Exported, PATIENCE, STALL};
use std::io::{Read, Write};
use std::net::TcpStream;
use tempfile::TempDir;

const MIB: u32 = 1 << 20;
/// Time within which whoever is to be heard is heard, and for which whoever is silent is listened to.
const LIMIT: Duration = Duration::from_secs(60);
const WHILE: Duration = Duration::from_millis(200);
/// Places that one process may have.
fn share() -> usize {
    Limits::new(CLIENTS).share
}
/// Turns within which a server finishes its work.
const TURNS: usize = 10_000;

/// Service whose operations are done at once, or kept.
struct Service {
    ram: Exported<Ram>,
    keeps: bool,
    kept: Vec<(Tag, Operation)>,
}

impl BlockService for Service {
    fn exports(&self) -> &[Export] {
        self.ram.exports()
    }

    fn submit(&mut self, export: usize, tag: Tag, operation: Operation) {
        if self.keeps {
            self.kept.push((tag, operation));
        } else {
            self.ram.submit(export, tag, operation);
        }
    }

    fn flush(&mut self) {
        self.ram.flush();
    }

    fn complete(&mut self) -> Option<Completion> {
        if !self.keeps
            && let Some((tag, operation)) = self.kept.pop()
        {
            self.ram.submit(0, tag, operation);
        }
        self.ram.complete()
    }
}

struct Rig {
    dir: TempDir,
    server: NbdServer,
    service: Service,
    now: Instant,
}

trait Socket: Read + Write {}
impl<T: Read + Write> Socket for T {}

/// A client; its data is read and answered only while [`Rig::turn`] runs.
type Client = Box<dyn Socket>;

impl Rig {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let unix = Address::Unix(dir.path().join("s"));
        let server = NbdServer::listen(&[unix, Address::parse("tcp:127.0.0.1:0").unwrap()], false).unwrap();
        let ram = Exported::new("x", Ram::new(16 << 20, 512, false, 1).unwrap());
        Self { dir, server, service: Service { ram, keeps: false, kept: Vec::new() }, now: Instant::now() }
    }

    /// Runs the server until it has no more work.
    fn turn(&mut self) {
        let mut turns = 0;
        while self.server.handle_at(self.now, &mut self.service) {
            turns += 1;
            assert!(turns < TURNS, "it is always at work");
        }
    }

    fn after(&mut self, time: Duration) {
        self.now += time;
        self.turn();
    }

    /// Connects by UNIX socket; all such clients of a test are of one process.
    fn unix(&mut self) -> Client {
        let stream = UnixStream::connect(self.dir.path().join("s")).unwrap();
        stream.set_nonblocking(true).unwrap();
        self.turn();
        Box::new(stream)
    }

    /// Connects by TCP, as a client of a host.
    fn tcp(&mut self) -> Client {
        let Address::Tcp(host, port) = self.server.addresses()[0].clone() else { panic!("no TCP") };
        let stream = TcpStream::connect((host, port)).unwrap();
        stream.set_nonblocking(true).unwrap();
        self.turn();
        Box::new(stream)
    }

    fn say(&mut self, client: &mut Client, bytes: &[u8]) {
        let mut left = bytes;
        let mut turns = 0;
        while !left.is_empty() {
            match client.write(left) {
                Ok(n) => left = &left[n..],
                Err(e) => assert_eq!(e.kind(), ErrorKind::WouldBlock),
            }
            self.turn();
            turns += 1;
            assert!(turns < TURNS, "it does not hear");
        }
    }

    /// Receives the next `n` bytes; None if the server has hung up.
    fn hear(&mut self, client: &mut Client, n: usize) -> Option<Vec<u8>> {
        match self.hear_within(client, n, LIMIT) {
            Err(ErrorKind::WouldBlock) => panic!("it neither speaks nor hangs up"),
            heard => heard.ok(),
        }
    }

    /// The same; `WouldBlock` if the server sends nothing for this time.
    fn hear_within(&mut self, client: &mut Client, n: usize, time: Duration) -> Result<Vec<u8>, ErrorKind> {
        let (mut bytes, mut come, mut last) = (vec![0; n], 0, Instant::now());
        while come < n {
            self.turn();
            match client.read(&mut bytes[come..]) {
                Ok(0) => return Err(ErrorKind::UnexpectedEof),
                Ok(n) => (come, last) = (come + n, Instant::now()),
                // Over TCP, bytes take a moment.
                Err(e) if e.kind() == ErrorKind::WouldBlock && last.elapsed() < time => {
                    std::thread::sleep(Duration::from_millis(1));
                }
                Err(e) => return Err(e.kind()),
            }
        }
        Ok(bytes)
    }

    /// Negotiates up to the first request.
    fn begin(&mut self, client: &mut Client) {
        self.is_let_in(client, LIMIT).expect("an answer");
    }

    /// Like [`Rig::begin`]; None if the server does not greet within this time.
    fn is_let_in(&mut self, client: &mut Client, time: Duration) -> Option<()> {
        let go = Go { name: "x".into(), wanted: vec![] }.emit();
        let head = OptionHeader { option: option::GO, len: u32::try_from(go.len()).unwrap() }.emit();
        self.say(client, &[&3u32.to_be_bytes()[..], &head, &go].concat());
        self.hear_within(client, Greeting::LEN, time).ok()?;
        loop {
            let bytes = self.hear(client, OptionReply::LEN)?;
            let answer = OptionReply::parse(bytes[..].try_into().unwrap()).unwrap();
            self.hear(client, usize::try_from(answer.len).unwrap());
            if answer.kind == reply::ACK {
                return Some(());
            }
        }
    }

    fn ask(&mut self, client: &mut Client, kind: u16, len: u32) {
        self.say(client, &Request { flags: 0, kind, cookie: 7, offset: 0, len }.emit());
    }

    /// True if a READ of this length is answered.
    fn reads(&mut self, client: &mut Client, len: u32) -> bool {
        self.ask(client, command::READ, len);
        self.hear(client, Reply::SIMPLE_LEN + usize::try_from(len).unwrap()).is_some()
    }

    fn ready(&mut self, client: Client) -> Client {
        let mut client = client;
        self.begin(&mut client);
        client
    }
}

#[test]
fn one_client_that_asks_and_never_reads_starves_nobody() {
    let mut rig = Rig::new();
    let greedy: Vec<Client> = (0..6)
        .map(|_| {
            let unix = rig.unix();
            let mut greedy = rig.ready(unix);
            (0..100).for_each(|_| rig.ask(&mut greedy, command::READ, 4 * MIB));
            greedy
        })
        .collect();
    let unix = rig.unix();
    let mut good = rig.ready(unix);
    for len in [4096, 4 * MIB, MIB] {
        assert!(rig.reads(&mut good, len), "{len} bytes");
    }
    drop(greedy);
    rig.turn();
    assert_eq!(rig.server.clients(), 1);
    assert!(rig.reads(&mut good, 4 * MIB));
}

#[test]
fn writes_without_their_data_starve_nobody() {
    let mut rig = Rig::new();
    let stuck: Vec<Client> = (0..share())
        .map(|_| {
            let unix = rig.unix();
            let mut stuck = rig.ready(unix);
            rig.ask(&mut stuck, command::WRITE, 4 * MIB);
            stuck
        })
        .collect();
    let tcp = rig.tcp();
    let mut good = rig.ready(tcp);
    assert!(rig.reads(&mut good, 4 * MIB));
    assert_eq!(rig.server.clients(), share() + 1);
    drop(stuck);
}

#[test]
fn idle_clients_shut_out_nobody() {
    let mut rig = Rig::new();
    // It came first and is idle longest, but it is its peer's only client, and the others are many.
    let tcp = rig.tcp();
    let mut lone = rig.ready(tcp);
    // The same process, and idle longer than all that follow; but it has made a request.
    let unix = rig.unix();
    let mut worker = rig.ready(unix);
    assert!(rig.reads(&mut worker, 512));
    let mut idle: Vec<Client> = Vec::new();
    for _ in 0..share() - 1 {
        rig.after(Duration::from_millis(10));
        let unix = rig.unix();
        idle.push(rig.ready(unix));
    }
    rig.after(Duration::from_millis(10));
    assert!(rig.reads(&mut idle[0], 512), "the first is no longer idle longest");
    let mut more: Vec<Client> = Vec::new();
    for _ in 0..3 {
        let unix = rig.unix();
        more.push(rig.ready(unix));
        assert!(rig.reads(more.last_mut().unwrap(), 4096));
        rig.after(Duration::from_millis(10));
    }
    assert_eq!(rig.server.clients(), share() + 1);
    let stay = [&mut lone, &mut worker, &mut idle[0]];
    assert!(stay.into_iter().all(|client| rig.reads(client, 512)), "they keep their places");
    for gone in &mut idle[1..3] {
        assert!(rig.hear(gone, 1).is_none());
    }
    assert!(rig.reads(&mut idle[20], 512), "no more than needed go");
}

#[test]
fn where_all_have_something_under_way_one_process_cannot_keep_all_places() {
    let mut rig = Rig::new();
    rig.service.keeps = true;
    let mut busy: Vec<Client> = Vec::new();
    for _ in 0..share() {
        let unix = rig.unix();
        busy.push(rig.ready(unix));
        rig.ask(busy.last_mut().unwrap(), command::READ, 4096);
        rig.after(Duration::from_secs(60));
    }
    // One more of the same process is sent away, and not in the way of others.
    let mut same = rig.unix();
    assert!(rig.hear(&mut same, 1).is_none());
    let tcp = rig.tcp();
    let mut other = rig.ready(tcp);
    rig.service.keeps = false;
    assert!(rig.reads(&mut other, 4096));
    assert!(busy.iter_mut().all(|busy| rig.hear(busy, Reply::SIMPLE_LEN + 4096).is_some()), "all are answered");
    assert_eq!(rig.server.server.left_behind(), 0);
}

/// Regression: of the process with the most clients one was dropped that had worked, for others that only connect.
#[test]
fn who_has_asked_for_something_does_not_go_for_those_who_only_connect() {
    let mut rig = Rig::new();
    let work: Vec<Client> = (0..40)
        .map(|_| {
            let unix = rig.unix();
            let mut client = rig.ready(unix);
            assert!(rig.reads(&mut client, 512));
            client
        })
        .collect();
    // A machine's work pauses now and then.
    rig.after(Duration::from_secs(86_400));
    let silent: Vec<Client> = (0..CLIENTS).map(|_| rig.tcp()).collect();
    let tcp = rig.tcp();
    let mut honest = rig.ready(tcp);
    assert!(rig.reads(&mut honest, 512));
    assert!(work.into_iter().all(|mut client| rig.reads(&mut client, 512)), "they keep their places");
    drop(silent);
}

#[test]
fn greetings_data_and_answers_have_their_time_and_idle_clients_have_all_time() {
    let mut rig = Rig::new();
    let (unix, mut silent, mut dripping) = (rig.unix(), rig.unix(), rig.unix());
    let mut idle = rig.ready(unix);
    for _ in 0..10 {
        rig.after(PATIENCE / 10 - Duration::from_millis(1));
        rig.say(&mut dripping, &[0]);
    }
    assert_eq!(rig.server.clients(), 3);
    assert!(rig.hear(&mut silent, Greeting::LEN).is_some());
    rig.after(Duration::from_millis(10));
    assert!(rig.server.clients() == 1 && rig.hear(&mut silent, 1).is_none());
    rig.after(Duration::from_secs(86_400));
    let (mut writes, mut greedy) = (rig.unix(), rig.unix());
    rig.begin(&mut writes);
    rig.begin(&mut greedy);
    rig.ask(&mut writes, command::WRITE, 4096);
    (0..8).for_each(|_| rig.ask(&mut greedy, command::READ, 4 * MIB));
    for _ in 0..10 {
        rig.after(STALL / 10 - Duration::from_millis(1));
        rig.say(&mut writes, &[1; 100]);
        // Some bytes are read, but no whole answer.
        assert!(rig.hear(&mut greedy, 1000).is_some());
    }
    assert_eq!(rig.server.clients(), 3);
    rig.after(Duration::from_millis(10));
    assert_eq!(rig.server.clients(), 1);
    assert!(rig.reads(&mut idle, 4096));
    // A client that reads its answers in time gets them as long as there are any.
    let mut slow = rig.unix();
    rig.begin(&mut slow);
    (0..8).for_each(|_| rig.ask(&mut slow, command::READ, MIB));
    for _ in 0..8 {
        rig.after(STALL - Duration::from_secs(1));
        assert!(rig.hear(&mut slow, Reply::SIMPLE_LEN + (1 << 20)).is_some());
    }
}

#[test]
fn what_clients_leave_under_way_is_no_way_to_have_more() {
    let mut rig = Rig::new();
    rig.service.keeps = true;
    let unix = rig.unix();
    let mut good = rig.ready(unix);
    let mut came = 0;
    while rig.service.kept.len() < 1000 {
        let mut client = rig.unix();
        if rig.is_let_in(&mut client, WHILE).is_none() {
            break;
        }
        rig.ask(&mut client, command::READ, 4 * MIB);
        came += 1;
    }
    assert!((2..100).contains(&came), "{came}");
    rig.service.keeps = false;
    assert!(rig.reads(&mut good, 4 * MIB));
    rig.turn();
    let unix = rig.unix();
    let mut next = rig.ready(unix);
    assert!(rig.reads(&mut next, 4096), "there is room again");
}

#[test]
fn an_address_that_other_hosts_reach_takes_the_word_insecure() {
    for address in ["tcp:0.0.0.0:0", "tcp:[::]:0"] {
        let address = Address::parse(address).unwrap();
        let line = NbdServer::listen(std::slice::from_ref(&address), false).err().unwrap().to_string();
        assert!(line.contains("no authentication") && line.contains("--insecure"), "{line}");
    }
    for (address, insecure) in [("tcp:127.0.0.1:0", false), ("tcp:127.9.9.9:0", false), ("tcp:0.0.0.0:0", true)] {
        assert!(NbdServer::listen(&[Address::parse(address).unwrap()], insecure).is_ok(), "{address}");
    }
}

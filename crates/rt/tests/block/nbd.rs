//! Tests of our client against our server.

use super::file::{file, open};
use super::model::{BOUND, against_model, one, read, write};
use linerate_block::{Backend, BackendError, Buffer, Operation, Tag};
use linerate_nbd::{BlockService, ClientOptions, Exported};
use linerate_rt::block::nbd::{Address, NbdBackend, NbdServer, NbdUri};
use linerate_rt::block::{Device, FileBackend};
use linerate_rt::{Machine, Progress, Sleeper, Stop, WaitMode, Waiter, run};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tempfile::{NamedTempFile, TempDir};

/// A server of a file in a thread that sleeps while there is no work; it ends when this value is dropped.
pub(crate) struct Serving {
    pub(crate) dir: TempDir,
    pub(crate) tcp: Address,
    pub(crate) file: NamedTempFile,
    stop: Stop,
    thread: Option<JoinHandle<()>>,
}

struct Server {
    server: NbdServer,
    service: Exported<FileBackend>,
}

impl Machine for Server {
    fn handle(&mut self, _: u64) -> Progress {
        match (self.server.handle(&mut self.service), self.server.is_done()) {
            (_, true) => Progress::Done,
            (true, _) => Progress::Worked,
            (false, _) => Progress::Idle,
        }
    }

    fn poll_timeout(&self) -> Option<u64> {
        let left = self.server.due()?.saturating_duration_since(Instant::now());
        Some(linerate_rt::monotonic_ns() + u64::try_from(left.as_nanos()).unwrap())
    }

    fn waits_for(&mut self, visit: &mut dyn FnMut(&mut dyn Sleeper)) {
        self.server.waits_for(visit);
        self.service.backend().waits_for(visit);
    }

    fn stop(&mut self, _: u64) {
        self.server.stop();
    }
}

impl Serving {
    /// Serves `len` bytes in blocks of `block_size`.
    pub(crate) fn new(len: u64, block_size: u32) -> Self {
        let file = file(len);
        let backend = open(file.path(), block_size, true);
        let dir = tempfile::tempdir().unwrap();
        let unix = Address::Unix(dir.path().join("nbd.sock"));
        let server = NbdServer::listen(&[unix, Address::parse("tcp:127.0.0.1:0").unwrap()], false).unwrap();
        let tcp = server.addresses()[0].clone();
        let stop = Stop::new().unwrap();
        let asked = stop.clone();
        let thread = std::thread::spawn(move || {
            let mut machine = Server { server, service: Exported::new("disk", backend) };
            run(&mut machine, &mut Waiter::new(WaitMode::Sleep), &asked);
        });
        Self { dir, tcp, file, stop, thread: Some(thread) }
    }

    pub(crate) fn uri(&self, export: &str) -> String {
        format!("nbd+unix:///{export}?socket={}", self.dir.path().join("nbd.sock").display())
    }

    pub(crate) fn tcp_uri(&self) -> String {
        self.tcp.to_string().replace("tcp:", "nbd://") + "/disk"
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        self.stop.ask(0);
        let ended = self.thread.take().unwrap().join();
        assert!(ended.is_ok() || std::thread::panicking());
    }
}

pub(crate) fn connect(uri: &str) -> NbdBackend {
    NbdBackend::open(&NbdUri::parse(uri).unwrap(), ClientOptions::default()).unwrap_or_else(|e| panic!("{e}"))
}

#[test]
fn random_operations_over_both_kinds_of_socket_do_what_a_model_does() {
    for block_size in [512, 4096] {
        let serving = Serving::new(1 << 20, block_size);
        for uri in [serving.uri("disk"), serving.uri(""), serving.tcp_uri()] {
            let mut client = connect(&uri);
            assert_eq!(
                (client.geometry().block_size, client.geometry().blocks),
                (block_size, (1 << 20) / u64::from(block_size))
            );
            assert_eq!(client.path(), "NBD, structured replies");
            against_model(&mut client, 0x1d ^ u64::from(block_size), 60);
        }
    }
}

#[test]
fn requests_beyond_the_servers_longest_go_in_parts() {
    let serving = Serving::new(16 << 20, 512);
    let mut client = connect(&serving.uri("disk"));
    let bytes: Vec<u8> = (0..9 << 20).map(|i: u32| (i / 512 % 253).to_le_bytes()[0]).collect();
    write(&mut client, 3, &bytes, true);
    assert!(read(&mut client, 3, bytes.len()) == bytes);
    assert!(std::fs::read(serving.file.path()).unwrap()[3 * 512..][..bytes.len()] == bytes);
}

#[test]
fn several_clients_see_what_each_other_wrote() {
    let serving = Serving::new(1 << 20, 512);
    let mut clients: Vec<_> = (0..5).map(|_| connect(&serving.uri("disk"))).collect();
    for (i, lba) in (0..5u8).zip((0u64..).step_by(100)) {
        write(&mut clients[usize::from(i)], lba, &[i + 1; 51200], false);
    }
    for client in &mut clients {
        let bytes = read(client, 0, 5 * 51200);
        assert!(bytes.iter().enumerate().all(|(at, byte)| usize::from(*byte) == at / 51200 + 1));
    }
}

#[test]
fn what_the_server_refuses_is_an_error_that_says_so() {
    let serving = Serving::new(1 << 20, 512);
    let uri = NbdUri::parse(&serving.uri("nothing")).unwrap();
    let line = NbdBackend::open(&uri, ClientOptions::default()).err().unwrap().to_string();
    assert!(line.contains("no such export") && line.contains("; "), "{line}");
    let mut client = connect(&serving.uri("disk"));
    let beyond = Operation::Read { lba: 2047, buffer: Buffer::new(1024) };
    assert_eq!(one(&mut client, beyond).result, Err(BackendError::Medium));
    let beyond = Operation::Write { lba: 2048, buffer: Buffer::new(512), fua: false };
    assert_eq!(one(&mut client, beyond).result, Err(BackendError::NoSpace));
    assert_eq!(read(&mut client, 2047, 512).len(), 512, "it goes on");
}

/// A client of a server that this thread runs.
fn opened(
    uri: NbdUri,
    options: ClientOptions,
    server: &mut NbdServer,
    service: &mut Exported<FileBackend>,
) -> NbdBackend {
    let opening = std::thread::spawn(move || NbdBackend::open(&uri, options).unwrap());
    let until = Instant::now() + BOUND;
    while !opening.is_finished() {
        server.handle(service);
        assert!(Instant::now() < until);
    }
    opening.join().unwrap()
}

/// The server goes away while operations are under way, and comes back.
#[test]
fn a_lost_server_ends_all_and_comes_back() {
    let dir = tempfile::tempdir().unwrap();
    let address = Address::Unix(dir.path().join("s"));
    let file = file(1 << 20);
    let uri = NbdUri::parse(&format!("nbd+unix:///?socket={}", dir.path().join("s").display())).unwrap();
    let mut service = Exported::new("x", open(file.path(), 512, true));
    let mut server = NbdServer::listen(std::slice::from_ref(&address), false).unwrap();
    let mut client = opened(uri, ClientOptions::default(), &mut server, &mut service);
    let until = Instant::now() + BOUND;
    for i in 0..300 {
        client.submit(Tag(i), Operation::Read { lba: u64::from(i), buffer: Buffer::new(512) });
    }
    client.flush();
    drop(server);
    let mut gone = Vec::new();
    while gone.len() < 300 {
        if let Some(completion) = client.complete() {
            assert_eq!(completion.result, Err(BackendError::NotReady));
            assert!(completion.buffer.is_some(), "the buffer comes back");
            gone.push(completion.tag.0);
        }
        assert!(Instant::now() < until);
    }
    gone.sort_unstable();
    assert!(gone.into_iter().eq(0..300));
    assert!(!client.is_up());
    assert_eq!(one(&mut client, Operation::Flush).result, Err(BackendError::NotReady), "nothing waits for it");
    let mut server = NbdServer::listen(std::slice::from_ref(&address), false).unwrap();
    // No operation is under way, so that only the end of a sleep advances it.
    while !client.is_up() {
        server.handle(&mut service);
        client.wake_up();
        assert!(Instant::now() < until);
        std::thread::sleep(Duration::from_millis(1));
    }
    drop(server);
    while client.is_up() {
        client.wake_up();
        assert!(Instant::now() < until);
    }
    let mut server = NbdServer::listen(std::slice::from_ref(&address), false).unwrap();
    while !client.is_up() {
        server.handle(&mut service);
        // A client that never sleeps and goes on submitting finds it too.
        if client.complete().is_none() {
            client.submit(Tag(9), Operation::Flush);
        }
        assert!(Instant::now() < until);
        std::thread::sleep(Duration::from_millis(1));
    }
    client.flush();
    while client.complete().is_none() {
        server.handle(&mut service);
        assert!(Instant::now() < until);
    }
    client.submit(Tag(1), Operation::Read { lba: 0, buffer: Buffer::new(512) });
    client.flush();
    let completion = loop {
        server.handle(&mut service);
        if let Some(completion) = client.complete() {
            break completion;
        }
        assert!(Instant::now() < until);
    };
    assert_eq!(completion.result, Ok(()));
}

/// The same with time to wait: nobody notices but by the clock.
#[test]
fn operations_wait_for_a_lost_server() {
    let dir = tempfile::tempdir().unwrap();
    let address = Address::Unix(dir.path().join("s"));
    let file = file(1 << 20);
    let uri = NbdUri::parse(&format!("nbd+unix:///?socket={}", dir.path().join("s").display())).unwrap();
    let mut service = Exported::new("x", open(file.path(), 512, true));
    let mut server = NbdServer::listen(std::slice::from_ref(&address), false).unwrap();
    let options = ClientOptions { hold: BOUND, ..ClientOptions::default() };
    let mut client = opened(uri, options, &mut server, &mut service);
    let until = Instant::now() + BOUND;
    for i in 0..300_u32 {
        let mut buffer = Buffer::new(512);
        buffer.bytes_mut().fill(i.to_le_bytes()[0]);
        client.submit(Tag(i), Operation::Write { lba: u64::from(i), buffer, fua: false });
    }
    client.flush();
    drop(server);
    while client.is_up() {
        assert!(client.complete().is_none() && Instant::now() < until);
    }
    client.submit(Tag(300), Operation::Flush);
    assert!(client.news().is_some_and(|news| news.contains("lost") && news.contains("wait")));
    let mut server = NbdServer::listen(std::slice::from_ref(&address), false).unwrap();
    let mut ended = 0;
    while ended < 301 {
        server.handle(&mut service);
        client.wake_up();
        while let Some(completion) = client.complete() {
            assert_eq!(completion.result, Ok(()));
            ended += 1;
        }
        assert!(Instant::now() < until);
    }
    assert!(client.news().is_some_and(|news| news.contains("back")));
    let bytes = std::fs::read(file.path()).unwrap();
    assert!(bytes.iter().take(300 * 512).enumerate().all(|(at, byte)| *byte == (at / 512).to_le_bytes()[0]));
}

#[test]
fn a_socket_is_its_users_alone_and_one_left_behind_is_replaced() {
    use std::os::unix::fs::PermissionsExt;
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("s");
    drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
    let address = Address::Unix(path.clone());
    let server = NbdServer::listen(std::slice::from_ref(&address), false).unwrap();
    assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    let line = NbdServer::listen(std::slice::from_ref(&address), false).err().unwrap().to_string();
    assert!(line.contains("; "), "{line}");
    drop(server);
    assert!(!path.exists());
    std::fs::write(&path, "no socket").unwrap();
    assert!(NbdServer::listen(&[address], false).is_err());
    assert!(path.exists(), "what is not ours stays");
}

/// Regression: the socket was bound first, and restricted to its user by a second call. A process that polls its mode
/// sees no other one.
#[test]
fn a_socket_is_never_open_to_others() {
    use std::os::unix::fs::PermissionsExt;
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("s");
    let address = Address::Unix(path.clone());
    let (stop, sees) = (Stop::new().unwrap(), Stop::new().unwrap());
    let watcher = std::thread::spawn({
        let (stop, sees, path) = (stop.clone(), sees.clone(), path.clone());
        move || {
            let mut seen = std::collections::BTreeSet::new();
            while !stop.asked() {
                seen.extend(path.metadata().ok().map(|file| file.permissions().mode() & 0o777));
                if !seen.is_empty() {
                    sees.ask(0);
                }
            }
            seen
        }
    });
    let (mut times, until) = (0, Instant::now() + BOUND);
    while times < 5000 || !sees.asked() {
        times += 1;
        drop(NbdServer::listen(std::slice::from_ref(&address), false).unwrap());
        assert!(Instant::now() < until);
    }
    stop.ask(0);
    let seen = watcher.join().unwrap();
    assert!(seen.iter().eq(&[0o600]), "{seen:?}");
}

/// Read-only exports refuse writing operations, whoever submits them.
#[test]
fn nothing_is_written_to_a_read_only_export() {
    let file = file(1 << 20);
    let options = linerate_rt::block::FileOptions { read_only: true, ..Default::default() };
    let service = Exported::new("ro", FileBackend::open(file.path(), &options).unwrap());
    assert!(service.exports()[0].geometry.read_only);
    let dir = tempfile::tempdir().unwrap();
    let mut server = NbdServer::listen(&[Address::Unix(dir.path().join("s"))], false).unwrap();
    let stop = Stop::new().unwrap();
    let (asked, uri) = (stop.clone(), format!("nbd+unix:///ro?socket={}", dir.path().join("s").display()));
    let thread = std::thread::spawn(move || {
        let mut service = service;
        while !asked.asked() {
            if !server.handle(&mut service) {
                std::thread::sleep(Duration::from_micros(100));
            }
        }
    });
    let mut client = connect(&uri);
    assert!(client.geometry().read_only);
    let write = Operation::Write { lba: 0, buffer: Buffer::new(512), fua: false };
    assert_eq!(one(&mut client, write).result, Err(BackendError::ReadOnly));
    assert_eq!(read(&mut client, 0, 512), [0; 512]);
    stop.ask(0);
    thread.join().unwrap();
}

/// A server that comes back with a disk of another size is not used, and that is said once.
#[test]
fn a_server_that_is_back_with_another_size_is_told_of() {
    let dir = tempfile::tempdir().unwrap();
    let address = Address::Unix(dir.path().join("s"));
    let (first, other) = (file(1 << 20), file(2 << 20));
    let uri = NbdUri::parse(&format!("nbd+unix:///?socket={}", dir.path().join("s").display())).unwrap();
    let mut service = Exported::new("x", open(first.path(), 512, true));
    let mut server = NbdServer::listen(std::slice::from_ref(&address), false).unwrap();
    let mut client = opened(uri, ClientOptions { hold: BOUND, ..ClientOptions::default() }, &mut server, &mut service);
    let until = Instant::now() + BOUND;
    drop(server);
    while client.is_up() {
        client.wake_up();
        assert!(Instant::now() < until);
    }
    assert!(client.news().is_some_and(|news| news.contains("lost")));
    let mut service = Exported::new("x", open(other.path(), 512, true));
    let mut server = NbdServer::listen(std::slice::from_ref(&address), false).unwrap();
    let news = loop {
        server.handle(&mut service);
        client.wake_up();
        if let Some(news) = client.news() {
            break news;
        }
        assert!(Instant::now() < until);
    };
    assert!(
        news.contains("another export: it has 2097152 bytes, and had 1048576; it is not used") && !client.is_up(),
        "{news}"
    );
}

/// Regression: an export that was exchanged while no client was there had the name of the one before.
#[test]
fn another_export_at_the_same_address_is_another_disk() {
    let dir = tempfile::tempdir().unwrap();
    let address = Address::Unix(dir.path().join("s"));
    let (first, other) = (file(1 << 20), file(1 << 20));
    let uri = NbdUri::parse(&format!("nbd+unix:///?socket={}", dir.path().join("s").display())).unwrap();
    let serial = |path: &std::path::Path| {
        let mut service = Exported::new("x", open(path, 512, true));
        let mut server = NbdServer::listen(std::slice::from_ref(&address), false).unwrap();
        opened(uri.clone(), ClientOptions::default(), &mut server, &mut service).geometry().serial
    };
    let known = serial(first.path());
    assert_ne!(serial(other.path()), known);
    assert_eq!(serial(first.path()), known);
}

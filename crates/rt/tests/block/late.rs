//! A server that does a WRITE after its connection is gone: after the client has repeated it, unless the client waits.

use super::hostile::{hear, negotiate, say};
use super::model::{BOUND, one, write};
use linerate_block::{Backend, Buffer, Operation, Tag};
use linerate_nbd::ClientOptions;
use linerate_nbd::wire::{Reply, Request, command, export};
use linerate_rt::block::Device;
use linerate_rt::block::nbd::{NbdBackend, NbdUri};
use std::io::Read;
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// The place of the WRITE that is late.
const PLACE: usize = 4096;

/// The server's disk, and its late WRITE's data.
#[derive(Default)]
struct Disk {
    bytes: Vec<u8>,
    late: Option<Vec<u8>>,
}

impl Disk {
    /// Does the late WRITE.
    fn catch_up(&mut self) {
        if let Some(data) = self.late.take() {
            self.bytes[PLACE..PLACE + data.len()].copy_from_slice(&data);
        }
    }
}

/// Serves one connection; the first WRITE to the place ends it.
fn serve(stream: &mut UnixStream, disk: &Mutex<Disk>, first: bool) {
    negotiate(stream, false, export::HAS_FLAGS | export::SEND_FLUSH);
    let mut head = [0; Request::LEN];
    while stream.read_exact(&mut head).is_ok() {
        let Request { kind, cookie, offset, len, .. } = Request::parse(&head).unwrap();
        let (at, len) = (usize::try_from(offset).unwrap(), usize::try_from(len).unwrap());
        let data = if kind == command::WRITE { hear(stream, len) } else { Vec::new() };
        let mut disk = disk.lock().unwrap();
        if first && kind == command::WRITE && at == PLACE {
            disk.late = Some(data);
            return;
        }
        disk.bytes[at..at + data.len()].copy_from_slice(&data);
        let mut reply = [0; Reply::CHUNK_LEN];
        let n = Reply::Simple { error: 0, cookie }.emit(&mut reply);
        say(stream, &reply[..n]);
        if kind == command::READ {
            say(stream, &disk.bytes[at..at + len]);
        }
    }
}

/// A server that has done the late WRITE when a client comes back after `needs` or later.
fn server(needs: Duration) -> (TempDir, String, Arc<Mutex<Disk>>) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("s");
    let listener = UnixListener::bind(&path).unwrap();
    let disk = Arc::new(Mutex::new(Disk { bytes: vec![0; 1 << 20], late: None }));
    let shared = disk.clone();
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        serve(&mut stream, &shared, true);
        let lost = Instant::now();
        drop(stream);
        let (mut stream, _) = listener.accept().unwrap();
        if lost.elapsed() >= needs {
            shared.lock().unwrap().catch_up();
        }
        serve(&mut stream, &shared, false);
    });
    (dir, format!("nbd+unix:///x?socket={}", path.display()), disk)
}

/// Writes to the place, loses the connection meanwhile, writes newer data there, and flushes. Returns the data that is
/// there when the server has done all, and the news.
fn written_twice(uri: &str, disk: &Mutex<Disk>) -> (u8, String) {
    let options = ClientOptions { hold: BOUND, ..ClientOptions::default() };
    let mut client = NbdBackend::open(&NbdUri::parse(uri).unwrap(), options).unwrap();
    let lba = u64::try_from(PLACE / 512).unwrap();
    write(&mut client, lba, &[1; 512], false);
    let mut news = String::new();
    while let Some(more) = client.news() {
        news += &more;
    }
    write(&mut client, lba, &[2; 512], false);
    assert_eq!(one(&mut client, Operation::Flush).result, Ok(()));
    let mut disk = disk.lock().unwrap();
    disk.catch_up();
    (disk.bytes[PLACE], news)
}

#[test]
fn a_settle_time_lets_a_late_write_end_before_it_is_repeated() {
    // The server's time begins before the client knows of the loss.
    let settle = Duration::from_secs(2);
    let (_dir, uri, disk) = server(settle);
    let (found, news) = written_twice(&format!("{uri}&settle=2"), &disk);
    assert_eq!(found, 2, "what was written and flushed last is there");
    assert!(news.contains("changes under way: 1, within bytes 4096 to 4607; it has 2 s to end them"), "{news}");
}

/// Without it newer data may be lost. NBD has no remedy: what is in doubt is told.
#[test]
fn without_a_settle_time_what_is_in_doubt_is_told() {
    let (_dir, uri, disk) = server(Duration::MAX);
    let (found, news) = written_twice(&uri, &disk);
    assert_eq!(found, 1, "the late write is the last");
    assert!(news.contains("changes under way: 1, within bytes 4096 to 4607; a server that does them after"), "{news}");
}

#[test]
fn nothing_in_doubt_costs_no_settle_time_and_it_must_be_within_the_hold_time() {
    let (_dir, uri, _) = server(Duration::ZERO);
    let uri = NbdUri::parse(&format!("{uri}&settle=3600")).unwrap();
    let options = ClientOptions { hold: Duration::from_secs(20), ..ClientOptions::default() };
    let error = NbdBackend::open(&uri, options).err().unwrap().to_string();
    assert!(error.contains("settle=3600 is no shorter than the 20 s") && error.contains("; give less"), "{error}");

    // A server that ends with nothing but a READ under way: the client is back at once.
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("s");
    let listener = UnixListener::bind(&path).unwrap();
    std::thread::spawn(move || {
        for _ in 0..2 {
            let (mut stream, _) = listener.accept().unwrap();
            negotiate(&mut stream, false, export::HAS_FLAGS);
            hear(&mut stream, Request::LEN);
        }
    });
    let uri = NbdUri::parse(&format!("nbd+unix:///x?socket={}&settle=3600", path.display())).unwrap();
    let mut client = NbdBackend::open(&uri, ClientOptions { hold: 2 * Duration::from_secs(3600), ..options }).unwrap();
    client.submit(Tag(1), Operation::Read { lba: 0, buffer: Buffer::new(512) });
    client.flush();
    let until = Instant::now() + BOUND;
    let mut news = Vec::new();
    while !news.iter().any(|news: &String| news.contains("is back")) {
        assert!(client.complete().is_none() && Instant::now() < until, "{news:?}");
        news.extend(client.news());
    }
    assert!(!news[0].contains("under way"), "{news:?}");
}

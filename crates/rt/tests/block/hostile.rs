//! Tests of peers that break the rules: each ends in an error or is disconnected, within a time limit, and harms nobody
//! else.

use super::model::{BOUND, wait};
use super::nbd::{Serving, connect};
use linerate_block::{Backend, BackendError, Buffer, Operation, Tag};
use linerate_nbd::wire::{
    CHUNK_MAGIC, Go, Greeting, OptionHeader, OptionReply, Reply, Request, SIMPLE_MAGIC, chunk, command, option, reply,
};
use linerate_nbd::{ClientOptions, ExportInfo, wire};
use linerate_rt::block::nbd::{NbdBackend, NbdUri};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::time::Duration;

/// A server that follows a script with one client.
fn server(script: impl FnOnce(&mut UnixStream) + Send + 'static) -> (tempfile::TempDir, NbdUri) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("s");
    let listener = UnixListener::bind(&path).unwrap();
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        script(&mut stream);
        // Open until the client leaves, so that only the script's bytes can end it.
        let _ = stream.read_to_end(&mut Vec::new());
    });
    let uri = NbdUri::parse(&format!("nbd+unix:///x?socket={}", path.display())).unwrap();
    (dir, uri)
}

/// For servers that say no whole greeting; with all others the client has its default of 10 seconds.
const SHORT: ClientOptions = ClientOptions { timeout: Duration::from_secs(2), patience: BOUND, hold: Duration::ZERO };
/// For servers that send false answers: a client that accepts them waits until the test fails.
const ENDLESS: ClientOptions =
    ClientOptions { timeout: Duration::from_secs(3600), patience: Duration::from_secs(3600), hold: Duration::ZERO };

const UNREACHABLE: &str = "cannot be reached";

fn refused(script: impl FnOnce(&mut UnixStream) + Send + 'static, word: &str) {
    let (_dir, uri) = server(script);
    let options = if word == UNREACHABLE { SHORT } else { ClientOptions::default() };
    let line = NbdBackend::open(&uri, options).err().expect("no server at all").to_string();
    assert!(line.contains(word) && line.contains("; ") && !line.contains('\n'), "{line}");
}

pub(super) fn say(stream: &mut UnixStream, bytes: &[u8]) {
    let _ = stream.write_all(bytes);
}

pub(super) fn hear(stream: &mut UnixStream, n: usize) -> Vec<u8> {
    let mut bytes = vec![0; n];
    let _ = stream.read_exact(&mut bytes);
    bytes
}

fn answer(stream: &mut UnixStream, option: u32, kind: u32, data: &[u8]) {
    say(stream, &OptionReply { option, kind, len: u32::try_from(data.len()).unwrap() }.emit());
    say(stream, data);
}

/// Greets, and reads the client's flags and its first option.
fn greet(stream: &mut UnixStream) {
    say(stream, &Greeting { flags: 3 }.emit());
    hear(stream, 4 + OptionHeader::LEN);
}

/// Negotiates up to the transmission phase with an export of 1 MiB; structured replies if so agreed.
fn serve(stream: &mut UnixStream, structured: bool) {
    negotiate(stream, structured, 1);
}

/// The same with these flags of the export.
pub(super) fn negotiate(stream: &mut UnixStream, structured: bool, flags: u16) {
    greet(stream);
    answer(stream, option::STRUCTURED_REPLY, if structured { reply::ACK } else { reply::ERR_UNSUP }, &[]);
    hear(stream, OptionHeader::LEN + Go { name: "x".into(), wanted: vec![3, 1, 2] }.emit().len());
    let info = wire::Info::Export(ExportInfo { size: 1 << 20, flags }).emit();
    answer(stream, option::GO, reply::INFO, &info);
    answer(stream, option::GO, reply::ACK, &[]);
}

#[test]
fn negotiations_that_go_wrong_end_in_an_error() {
    refused(|s| say(s, b"HTTP/1.1 400 Bad Request\r\n\r\n"), "not NBD");
    refused(|s| say(s, b"NBDMAGIC"), UNREACHABLE);
    refused(|s| say(s, b"NBDMAGIC\0\0\x42\x02\x81\x86\x12\x53\0\0"), "oldstyle");
    refused(|_| (), UNREACHABLE);
    refused(
        |s| {
            greet(s);
            answer(s, option::GO, reply::ACK, &[]);
        },
        "out of step",
    );
    refused(
        |s| {
            greet(s);
            say(s, &OptionReply { option: 8, kind: reply::ACK, len: u32::MAX }.emit());
        },
        "a length",
    );
    refused(
        |s| {
            greet(s);
            answer(s, 8, reply::ACK, &[]);
            answer(s, option::GO, reply::INFO, &[0, 0, 1]);
        },
        "a length",
    );
    refused(
        |s| {
            greet(s);
            answer(s, 8, reply::ACK, &[]);
            answer(s, option::GO, reply::ACK, &[]);
        },
        "a length",
    );
    refused(
        |s| {
            greet(s);
            answer(s, 8, reply::ACK, &[]);
            answer(s, option::GO, reply::ERROR | 5, b"TLS\nis needed");
        },
        "TLS is needed",
    );
    // Sends a little more for ever.
    refused(
        |s| {
            greet(s);
            while s.write_all(&OptionReply { option: 8, kind: 99, len: 0 }.emit()).is_ok() {}
        },
        "a length",
    );
    refused(
        |s| {
            for byte in (Greeting { flags: 3 }).emit().iter().cycle() {
                if s.write_all(&[*byte]).is_err() {
                    break;
                }
                std::thread::sleep(Duration::from_millis(200));
            }
        },
        UNREACHABLE,
    );
}

/// Replies to two requests of 4096 bytes, READ and WRITE, with these cookies.
type Replies = fn(read: u64, write: u64) -> Vec<u8>;

fn simple(error: u32, cookie: u64) -> Vec<u8> {
    [&SIMPLE_MAGIC.to_be_bytes()[..], &error.to_be_bytes(), &cookie.to_be_bytes()].concat()
}

fn piece(flags: u16, kind: u16, cookie: u64, len: u32, body: &[u8]) -> Vec<u8> {
    let (flags, kind) = (flags.to_be_bytes(), kind.to_be_bytes());
    [&CHUNK_MAGIC.to_be_bytes()[..], &flags, &kind, &cookie.to_be_bytes(), &len.to_be_bytes(), body].concat()
}

fn data(flags: u16, cookie: u64, offset: u64, len: usize) -> Vec<u8> {
    let len_field = u32::try_from(len + 8).unwrap();
    let body = [&offset.to_be_bytes()[..], &vec![5; len]].concat();
    piece(flags, chunk::OFFSET_DATA, cookie, len_field, &body)
}

#[test]
fn replies_that_cannot_be_lose_the_server() {
    let wrong: &[(&str, Replies)] = &[
        ("another magic", |_, _| vec![0xff; 64]),
        ("a cookie of nobody's", |read, _| simple(0, read ^ 1 << 40)),
        ("a place that is not there", |_, _| simple(0, u64::MAX)),
        ("the same reply twice", |_, write| [simple(0, write), simple(0, write)].concat()),
        ("data for a write", |_, write| data(1, write, 0, 4096)),
        ("data before the request's", |read, _| data(1, read, 0, 4096)),
        ("data behind the request's", |read, _| data(1, read, 4096 + 4096, 512)),
        ("more data than was asked for", |read, _| data(1, read, 4096, 4608)),
        ("data twice", |read, _| [data(0, read, 4096, 512), data(1, read, 4096, 4096)].concat()),
        ("a piece twice, and then the rest", |read, _| {
            [data(0, read, 4096, 512), data(0, read, 4096, 512), data(1, read, 4096 + 512, 3584)].concat()
        }),
        ("a piece twice, and then what is before it", |read, _| {
            [data(0, read, 4096 + 512, 3584), data(0, read, 4096 + 512, 3584), data(1, read, 4096, 512)].concat()
        }),
        ("pieces that overlap, and are as long together as what was asked for", |read, _| {
            [data(0, read, 4096, 2048), data(1, read, 4096 + 1024, 2048)].concat()
        }),
        ("the first half and no more", |read, _| data(1, read, 4096, 2048)),
        ("the second half and no more", |read, _| data(1, read, 4096 + 2048, 2048)),
        ("errors without end", |read, _| piece(0, chunk::ERROR | 1, read, 6, &[0; 6]).repeat(10_000)),
        ("data with a gap", |read, _| data(1, read, 4096 + 512, 4096 - 512)),
        ("the end without data", |read, _| piece(1, chunk::NONE, read, 0, &[])),
        ("nothing with a length", |read, _| piece(1, chunk::NONE, read, 4, &[0; 4])),
        ("a hole without end", |read, _| {
            let body = [&4096u64.to_be_bytes()[..], &u32::MAX.to_be_bytes()].concat();
            piece(1, chunk::OFFSET_HOLE, read, 12, &body)
        }),
        ("an offset that overflows", |read, _| data(1, read, u64::MAX, 512)),
        ("an error too short", |read, _| piece(1, chunk::ERROR | 1, read, 2, &[0; 2])),
        ("an error too long", |read, _| piece(1, chunk::ERROR | 1, read, u32::MAX, &[0; 64])),
        ("a chunk of no kind", |read, _| piece(1, 77, read, 0, &[])),
        ("no data at all", |_, _| vec![]),
        ("half a head", |read, _| simple(0, read)[..7].to_vec()),
        ("half of the data", |read, _| data(1, read, 4096, 4096)[..2000].to_vec()),
    ];
    // Side by side: with some of them the client waits for its whole time-out.
    let lose = |what: &str, replies: Replies| {
        let (_dir, uri) = server(move |s| {
            serve(s, true);
            let read = Request::parse(hear(s, Request::LEN)[..].try_into().unwrap()).unwrap();
            let write = Request::parse(hear(s, Request::LEN)[..].try_into().unwrap()).unwrap();
            assert_eq!((read.kind, read.offset, read.len), (command::READ, 4096, 4096));
            assert_eq!((write.kind, write.len), (command::WRITE, 4096));
            hear(s, 4096);
            say(s, &replies(read.cookie, write.cookie));
        });
        let silent = what.starts_with("half") || what.starts_with("no data");
        let mut client = NbdBackend::open(&uri, if silent { ClientOptions::default() } else { ENDLESS }).unwrap();
        client.submit(Tag(0), Operation::Read { lba: 8, buffer: Buffer::new(4096) });
        client.submit(Tag(1), Operation::Write { lba: 0, buffer: Buffer::new(4096), fua: false });
        let ends = [wait(&mut client), wait(&mut client)];
        for end in &ends {
            // Only the first of two replies is valid.
            let believed = what == "the same reply twice" && end.tag == Tag(1);
            assert_eq!(end.result, if believed { Ok(()) } else { Err(BackendError::NotReady) }, "{what}: {ends:?}");
        }
        assert!(ends.iter().all(|end| end.buffer.is_some()) && !client.is_up(), "{what}");
    };
    std::thread::scope(|scope| wrong.iter().for_each(|(what, replies)| drop(scope.spawn(|| lose(what, *replies)))));
}

/// The client has not even sent all of its data when the server replies that it is written.
#[test]
fn a_reply_before_the_request_is_there_loses_the_server() {
    let (_dir, uri) = server(|s| {
        serve(s, true);
        let write = Request::parse(hear(s, Request::LEN)[..].try_into().unwrap()).unwrap();
        assert_eq!((write.kind, write.len), (command::WRITE, 1 << 20));
        // The whole request is more than a socket holds.
        hear(s, 4096);
        say(s, &simple(0, write.cookie));
        std::thread::sleep(BOUND);
    });
    let mut client = NbdBackend::open(&uri, ENDLESS).unwrap();
    let write = Operation::Write { lba: 0, buffer: Buffer::new(1 << 20), fua: false };
    assert_eq!(super::model::one(&mut client, write).result, Err(BackendError::NotReady));
}

/// A byte now and then shows that the server lives; a request has a time limit all the same.
#[test]
fn a_reply_that_drips_ends_after_the_time_of_one_request() {
    let (_dir, uri) = server(|s| {
        serve(s, true);
        let read = Request::parse(hear(s, Request::LEN)[..].try_into().unwrap()).unwrap();
        for byte in data(1, read.cookie, 0, 4096) {
            say(s, &[byte]);
            std::thread::sleep(Duration::from_millis(100));
        }
    });
    let options = ClientOptions { patience: Duration::from_secs(2), ..ENDLESS };
    let mut client = NbdBackend::open(&uri, options).unwrap();
    let read = Operation::Read { lba: 0, buffer: Buffer::new(4096) };
    assert_eq!(super::model::one(&mut client, read).result, Err(BackendError::NotReady));
}

#[test]
fn errors_in_chunks_and_pieces_in_any_order_are_right() {
    let (_dir, uri) = server(|s| {
        serve(s, true);
        let cookie = |s: &mut UnixStream| Request::parse(hear(s, Request::LEN)[..].try_into().unwrap()).unwrap().cookie;
        let first = cookie(s);
        let hole = [&(4096u64 + 512).to_be_bytes()[..], &512u32.to_be_bytes()].concat();
        say(s, &data(0, first, 4096 + 1024, 3072));
        say(s, &piece(0, chunk::OFFSET_HOLE, first, 12, &hole));
        say(s, &data(0, first, 4096, 512));
        say(s, &piece(1, chunk::NONE, first, 0, &[]));
        let second = cookie(s);
        say(s, &data(0, second, 4096, 512));
        let body = [&28u32.to_be_bytes()[..], &5u16.to_be_bytes(), b"full!"].concat();
        say(s, &piece(1, chunk::ERROR | 1, second, 11, &body));
    });
    let mut client = NbdBackend::open(&uri, ClientOptions::default()).unwrap();
    let bytes = super::model::read(&mut client, 8, 4096);
    assert!(bytes.iter().enumerate().all(|(at, byte)| *byte == if (512..1024).contains(&at) { 0 } else { 5 }));
    let end = super::model::one(&mut client, Operation::Read { lba: 8, buffer: Buffer::new(4096) });
    assert_eq!(end.result, Err(BackendError::NoSpace));
    assert!(client.is_up());
}

/// A client of our server that sends arbitrary bytes.
fn client(serving: &Serving) -> UnixStream {
    let stream = UnixStream::connect(serving.dir.path().join("nbd.sock")).unwrap();
    stream.set_read_timeout(Some(BOUND)).unwrap();
    stream
}

/// Checks that the server hangs up.
fn hangs_up(mut stream: UnixStream) {
    match stream.read_to_end(&mut Vec::new()) {
        Ok(_) => {}
        Err(e) => assert_eq!(e.kind(), ErrorKind::ConnectionReset),
    }
}

/// Negotiates up to the first request.
fn begin(stream: &mut UnixStream) {
    say(stream, &3u32.to_be_bytes());
    let go = Go { name: "disk".into(), wanted: vec![] }.emit();
    say(stream, &OptionHeader { option: option::GO, len: u32::try_from(go.len()).unwrap() }.emit());
    say(stream, &go);
    assert_eq!(hear(stream, Greeting::LEN), Greeting { flags: 3 }.emit());
    loop {
        let reply = OptionReply::parse(hear(stream, OptionReply::LEN)[..].try_into().unwrap()).unwrap();
        hear(stream, usize::try_from(reply.len).unwrap());
        if reply.kind == reply::ACK {
            break;
        }
    }
}

#[test]
fn clients_that_violate_the_protocol_are_disconnected() {
    let serving = Serving::new(1 << 20, 512);
    let mut good = connect(&serving.uri("disk"));
    for invalid in [
        &b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"[..],
        &[0xff; 4096],
        &[&3u32.to_be_bytes()[..], &[0; 16]].concat(),
        &[&3u32.to_be_bytes()[..], &OptionHeader { option: option::GO, len: u32::MAX }.emit()].concat(),
        &[&3u32.to_be_bytes()[..], &OptionHeader { option: option::EXPORT_NAME, len: 3 }.emit(), b"???"].concat(),
        &[&3u32.to_be_bytes()[..], &OptionHeader { option: 99, len: 0 }.emit().repeat(200)].concat(),
        &[&3u32.to_be_bytes()[..], &OptionHeader { option: option::ABORT, len: 0 }.emit()].concat(),
    ] {
        let mut stream = client(&serving);
        say(&mut stream, invalid);
        hangs_up(stream);
    }
    for request in [
        &[0; Request::LEN][..],
        &Request { flags: 0, kind: command::WRITE, cookie: 0, offset: 0, len: u32::MAX }.emit(),
        &Request { flags: 0, kind: command::DISC, cookie: 0, offset: 0, len: 0 }.emit(),
    ] {
        let mut stream = client(&serving);
        begin(&mut stream);
        say(&mut stream, request);
        hangs_up(stream);
    }
    super::model::against_model(&mut good, 3, 5);
}

#[test]
fn requests_that_cannot_be_are_answered_with_an_error() {
    let serving = Serving::new(1 << 20, 512);
    let mut stream = client(&serving);
    begin(&mut stream);
    let (inval, nospc) = (wire::error::EINVAL, wire::error::ENOSPC);
    for (kind, offset, len, number) in [
        (command::READ, 1, 512, inval),
        (command::READ, 0, 100, inval),
        (command::READ, 0, 0, inval),
        (command::READ, 1 << 20, 512, inval),
        (command::READ, u64::MAX - 511, 512, inval),
        (command::READ, 0, u32::MAX, inval),
        (command::WRITE, 1 << 20, 512, nospc),
        (command::WRITE, 3, 5, inval),
        (command::WRITE, 0, 8 << 20, inval),
        (command::WRITE_ZEROES, 0, 2 << 20, nospc),
        (command::TRIM, 512, 1 << 20, inval),
        (99, 0, 0, inval),
        (command::FLUSH, 0, 0, 0),
        (command::WRITE, 0, 512, 0),
    ] {
        say(&mut stream, &Request { flags: 0, kind, cookie: 0xabcd, offset, len }.emit());
        if kind == command::WRITE {
            say(&mut stream, &vec![9; usize::try_from(len).unwrap()]);
        }
        let bytes = hear(&mut stream, Reply::SIMPLE_LEN);
        let (reply, _) = Reply::parse(&bytes).unwrap().unwrap();
        assert_eq!(reply, Reply::Simple { error: number, cookie: 0xabcd }, "{kind} {offset} {len}");
    }
}

#[test]
fn clients_that_never_read_or_never_finish_hold_up_nobody() {
    let serving = Serving::new(1 << 20, 512);
    let mut greedy = client(&serving);
    begin(&mut greedy);
    greedy.set_write_timeout(Some(Duration::from_millis(200))).unwrap();
    // Requests far more than it reads, until its socket is full.
    let ask = Request { flags: 0, kind: command::READ, cookie: 1, offset: 0, len: 1 << 20 }.emit();
    let asked = (0..100_000).take_while(|_| greedy.write_all(&ask).is_ok()).count();
    assert!(asked < 100_000, "it is not heard for ever");
    let mut slow = client(&serving);
    begin(&mut slow);
    say(&mut slow, &Request { flags: 0, kind: command::WRITE, cookie: 1, offset: 0, len: 4096 }.emit());
    say(&mut slow, &[1; 100]);
    // They leave in the middle of the exchange.
    let mut good = connect(&serving.uri("disk"));
    super::model::against_model(&mut good, 4, 10);
    drop(slow);
    super::model::against_model(&mut good, 5, 10);
    drop(good);
    // The server ends although this client still does not read.
    drop(serving);
    hangs_up(greedy);
}

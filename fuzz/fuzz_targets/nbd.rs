//! NBD in both directions: the first byte says which; the rest is what the peer says. Whatever that is, it is refused
//! or understood, what is understood is written again as it was, and nothing grows without bound.
#![no_main]

use libfuzzer_sys::fuzz_target;
use linerate_block::{Buffer, Operation, Ram, Tag};
use linerate_nbd::wire::{Go, Greeting, Info, OptionHeader, OptionReply, Reply, Request};
use linerate_nbd::{
    Agreed, BlockService, CLIENT_SLICES, Client, ClientOptions, Exported, Negotiation, SERVER_SLICES, Server,
};
use linerate_rt::block::nbd::NbdUri;
use std::cell::RefCell;
use std::io::IoSlice;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

/// When all of it happens.
static NOW: LazyLock<Instant> = LazyLock::new(Instant::now);

thread_local! {
    /// One for all: whatever a client leaves behind, the next one finds a server as it was at first.
    static SERVER: RefCell<Server> = RefCell::new(Server::new());
}

/// A client says this to a server, in pieces, and takes what it is answered or does not.
fn to_server(server: &mut Server, bytes: &[u8], piece: usize, takes: bool) {
    let mut disk = Exported::new("a", Ram::new(1 << 16, 512, false, 1).unwrap());
    let mut heard = 0;
    server.enter(0, *NOW);
    for mut part in bytes.chunks(piece) {
        loop {
            loop {
                match server.next(0, *NOW, disk.exports()) {
                    Ok(Some((export, tag, operation))) => disk.submit(export, tag, operation),
                    Ok(None) => break,
                    Err(_) => return over(server, &mut disk),
                }
            }
            complete(server, &mut disk);
            while takes {
                let mut slices = [IoSlice::new(&[]); SERVER_SLICES];
                let n = server.output(0, *NOW, &mut slices);
                let some = slices[..n].iter().map(|slice| slice.len()).sum::<usize>().min(4 * piece);
                if some == 0 {
                    break;
                }
                heard += some;
                server.sent(0, *NOW, some);
            }
            if part.is_empty() || !server.wants_input(0) {
                break;
            }
            let room = server.room(0);
            let n = room.len().min(part.len());
            assert!(n > 0);
            room[..n].copy_from_slice(&part[..n]);
            part = &part[n..];
            server.received(0, *NOW, n);
        }
    }
    assert!(heard < bytes.len() << 16 | 1 << 20);
    over(server, &mut disk);
}

/// Hands the server what has ended.
fn complete(server: &mut Server, disk: &mut Exported<Ram>) {
    while let Some(completion) = disk.complete() {
        let tag = completion.tag;
        if let Some(export) = server.completed(completion) {
            disk.submit(export, tag, Operation::Flush);
        }
    }
}

/// A client leaves; what it left under way ends, and nothing of it stays.
fn over(server: &mut Server, disk: &mut Exported<Ram>) {
    server.leave(0);
    complete(server, disk);
    assert!(server.is_done() && server.left_behind() == 0);
}

/// A server says this to a client, whatever it is asked: up to the first request, and then to two of them.
fn to_client(bytes: &[u8]) {
    let (mut negotiation, mut left) = (Negotiation::new("a"), bytes);
    loop {
        let room = negotiation.room();
        let n = room.len().min(left.len());
        if n == 0 {
            return drop(negotiation.hung_up());
        }
        room[..n].copy_from_slice(&left[..n]);
        left = &left[n..];
        match negotiation.received(n) {
            Ok(None) => assert!(negotiation.output().len() < 1 << 16),
            Ok(Some(agreed)) => return requests(agreed, left),
            Err(_) => return,
        }
    }
}

/// Time that operations are held without a server.
const HOLD: Duration = Duration::from_secs(1);

/// Replies to a READ and a WRITE.
fn requests(agreed: Agreed, mut left: &[u8]) {
    let Ok(mut client) = Client::new(agreed.clone(), ClientOptions { hold: HOLD, ..ClientOptions::default() }, 1, *NOW)
    else {
        return;
    };
    let len = usize::try_from(client.geometry().block_size).unwrap();
    client.submit(Tag(0), Operation::Read { lba: 0, buffer: Buffer::new(2 * len) });
    client.submit(Tag(1), Operation::Write { lba: 1, buffer: Buffer::new(len), fua: true });
    loop {
        client.begin(*NOW);
        while client.has_output() {
            let mut slices = [IoSlice::new(&[]); CLIENT_SLICES];
            let n = client.output(&mut slices);
            let all = slices[..n].iter().map(|slice| slice.len()).sum();
            client.sent(all);
        }
        match client.advance() {
            Ok(true) => continue,
            Ok(false) if client.expects(*NOW) == Ok(true) && !left.is_empty() => {}
            Ok(false) | Err(_) => break,
        }
        let room = client.room();
        let n = room.len().min(left.len());
        assert!(n > 0);
        room[..n].copy_from_slice(&left[..n]);
        left = &left[n..];
        client.received(n, *NOW);
    }
    // What is under way is held, begins again with another server, and ends when that is lost for too long.
    client.lose(*NOW);
    assert!(client.renew(agreed, *NOW).is_ok());
    client.begin(*NOW);
    client.lose(*NOW);
    client.expire(*NOW + HOLD);
    let mut ends = 0;
    while let Some(end) = client.complete() {
        assert!(end.buffer.is_some());
        ends += 1;
    }
    assert_eq!(ends, 2, "each operation ends once");
}

/// Single messages: what is read is written again as it was.
fn messages(bytes: &[u8]) {
    if let Some(head) = bytes.first_chunk()
        && let Ok(greeting) = Greeting::parse(head)
    {
        assert_eq!(greeting.emit(), *head);
    }
    if let Some(head) = bytes.first_chunk()
        && let Ok(option) = OptionHeader::parse(head)
    {
        assert_eq!(option.emit(), *head);
    }
    if let Some(head) = bytes.first_chunk()
        && let Ok(reply) = OptionReply::parse(head)
    {
        assert_eq!(reply.emit(), *head);
    }
    if let Some(head) = bytes.first_chunk()
        && let Ok(request) = Request::parse(head)
    {
        assert_eq!(request.emit(), *head);
    }
    if let Ok(go) = Go::parse(bytes) {
        assert_eq!(go.emit(), bytes);
    }
    match Info::parse(bytes) {
        Ok(info @ (Info::Export(_) | Info::BlockSize(_))) => assert_eq!(info.emit(), bytes),
        // For people: what is no UTF-8 is replaced.
        Ok(info @ (Info::Name(_) | Info::Description(_))) => {
            assert!(info.emit() == bytes || std::str::from_utf8(bytes).is_err());
        }
        Ok(Info::Other(_)) | Err(_) => {}
    }
    let mut rest = bytes;
    while let Ok(Some((reply, taken))) = Reply::parse(rest) {
        let mut head = [0; Reply::CHUNK_LEN];
        assert_eq!(reply.emit(&mut head), taken);
        assert_eq!(head[..taken], rest[..taken]);
        rest = &rest[taken..];
    }
}

fuzz_target!(|bytes: &[u8]| {
    let [which, bytes @ ..] = bytes else { return };
    match which % 4 {
        0 => SERVER.with_borrow_mut(|server| to_server(server, bytes, 1 + usize::from(which / 4), which & 4 == 0)),
        1 => to_client(bytes),
        2 => messages(bytes),
        _ => {
            if let Ok(text) = std::str::from_utf8(bytes)
                && let Err(error) = NbdUri::parse(text)
            {
                let line = error.to_string();
                assert!(line.contains("; ") && !line.chars().any(char::is_control), "{line:?}");
            }
        }
    }
});

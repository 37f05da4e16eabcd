//! The client: operations and a server's bytes in, requests and ends out.

use super::rig::{chunk, joined, simple};
use linerate_block::{BackendError, Buffer, Completion, Operation, Tag};
use linerate_nbd::wire::{Reply, Request, chunk as kind_of, command, error, export};
use linerate_nbd::{
    Agreed, CLIENT_SLICES, Client, ClientOptions, Different, ExportInfo, InDoubt, Labels, Lost, Sizes, Unfit,
};
use std::io::IoSlice;
use std::time::{Duration, Instant};

const ALL: u16 = export::HAS_FLAGS | export::SEND_FLUSH | export::SEND_FUA | export::SEND_TRIM;

fn agreed(structured: bool) -> Agreed {
    let info = ExportInfo { size: 1 << 20, flags: ALL };
    Agreed { info, sizes: Sizes { least: 1, preferred: 4096, most: 1 << 20 }, structured, labels: Labels::default() }
}

fn client(now: Instant) -> Client {
    Client::new(agreed(true), ClientOptions::default(), 1, now).unwrap()
}

/// Begins what there is, and takes the bytes that leave, so many at once.
fn sent(client: &mut Client, now: Instant, at_once: usize) -> Vec<u8> {
    client.begin(now);
    let mut all = Vec::new();
    while client.has_output() {
        let mut slices = [IoSlice::new(&[]); CLIENT_SLICES];
        let n = client.output(&mut slices);
        let some = joined(&slices[..n], at_once);
        client.sent(some.len());
        all.extend(some);
    }
    all
}

/// Receives bytes.
fn hear(client: &mut Client, now: Instant, bytes: &[u8]) -> Result<(), Lost> {
    let mut left = bytes;
    loop {
        if !client.expects(now)? {
            assert!(left.is_empty(), "they are left in the socket");
            return Ok(());
        }
        while client.advance()? {}
        if left.is_empty() {
            return client.nothing_came(now);
        }
        let room = client.room();
        let n = room.len().min(left.len());
        assert!(n > 0, "it expects bytes, and has no room for them");
        room[..n].copy_from_slice(&left[..n]);
        left = &left[n..];
        client.received(n, now);
    }
}

fn request(bytes: &[u8]) -> Request {
    Request::parse(bytes.first_chunk().unwrap()).unwrap()
}

/// A READ of blocks 8 to 15, a WRITE of block 0 and a flush; and the bytes that they send.
fn three(client: &mut Client, now: Instant, at_once: usize) -> (Vec<u8>, [u64; 3]) {
    let mut buffer = Buffer::new(512);
    buffer.bytes_mut().fill(3);
    client.submit(Tag(1), Operation::Read { lba: 8, buffer: Buffer::new(4096) });
    client.submit(Tag(2), Operation::Write { lba: 0, buffer, fua: true });
    client.submit(Tag(3), Operation::Flush);
    let bytes = sent(client, now, at_once);
    let [read, write, flush] = [0, Request::LEN, 2 * Request::LEN + 512].map(|at| request(&bytes[at..]));
    assert_eq!((read.kind, read.flags, read.offset, read.len), (command::READ, 0, 4096, 4096));
    assert_eq!((write.kind, write.flags, write.offset, write.len), (command::WRITE, command::FLAG_FUA, 0, 512));
    assert_eq!((flush.kind, flush.len, bytes.len()), (command::FLUSH, 0, 3 * Request::LEN + 512));
    assert!(bytes[2 * Request::LEN..][..512] == [3; 512]);
    (bytes, [read, write, flush].map(|request| request.cookie))
}

/// Replies to those, the flush's first: the READ in pieces, one of them a hole, and a WRITE that found no room.
fn answers([read, write, flush]: [u64; 3]) -> Vec<u8> {
    let data = |offset: u64, len| [&offset.to_be_bytes()[..], &vec![5; len]].concat();
    let hole = [&(4096u64 + 512).to_be_bytes()[..], &512u32.to_be_bytes()].concat();
    let full = [&error::ENOSPC.to_be_bytes()[..], &5u16.to_be_bytes(), b"full!"].concat();
    [
        simple(flush, 0),
        chunk(0, kind_of::OFFSET_DATA, read, &data(4096 + 1024, 3072)),
        chunk(0, kind_of::OFFSET_HOLE, read, &hole),
        chunk(1, kind_of::ERROR | 1, write, &full),
        chunk(0, kind_of::OFFSET_DATA, read, &data(4096, 512)),
        chunk(1, kind_of::NONE, read, &[]),
    ]
    .concat()
}

fn ends(client: &mut Client) -> Vec<Completion> {
    std::iter::from_fn(|| client.complete()).collect()
}

#[test]
fn replies_are_understood_wherever_they_are_cut() {
    let now = Instant::now();
    let (mut first, mut again) = (client(now), client(now));
    let (bytes, cookies) = three(&mut first, now, usize::MAX);
    assert_eq!(three(&mut again, now, 1).0, bytes, "whatever the socket takes at once");
    let replies = answers(cookies);
    for cut in 0..=replies.len() {
        let mut client = client(now);
        three(&mut client, now, usize::MAX);
        hear(&mut client, now, &replies[..cut]).unwrap();
        if client.expects(now).unwrap() {
            hear(&mut client, now, &replies[cut..]).unwrap();
        }
        let ends = ends(&mut client);
        let how: Vec<_> = ends.iter().map(|end| (end.tag, end.result)).collect();
        assert_eq!(how, [(Tag(3), Ok(())), (Tag(2), Err(BackendError::NoSpace)), (Tag(1), Ok(()))], "cut at {cut}");
        let data = ends[2].buffer.as_ref().unwrap().bytes();
        assert!(data.iter().enumerate().all(|(at, byte)| *byte == if (512..1024).contains(&at) { 0 } else { 5 }));
        assert!(client.due().is_none() && client.is_up());
    }
}

#[test]
fn data_is_sent_and_received_where_it_lies() {
    let now = Instant::now();
    let mut client = client(now);
    let (write, read) = (Buffer::new(4096), Buffer::new(4096));
    let [from, to] = [&write, &read].map(|buffer| buffer.bytes().as_ptr());
    client.submit(Tag(1), Operation::Write { lba: 0, buffer: write, fua: false });
    client.submit(Tag(2), Operation::Read { lba: 0, buffer: read });
    client.begin(now);
    let mut slices = [IoSlice::new(&[]); CLIENT_SLICES];
    let n = client.output(&mut slices);
    assert!(slices[..n].iter().any(|slice| slice.as_ptr() == from && slice.len() == 4096));
    let bytes = sent(&mut client, now, usize::MAX);
    let cookie = request(&bytes[Request::LEN + 4096..]).cookie;
    let whole = chunk(1, kind_of::OFFSET_DATA, cookie, &[0; 8 + 4096]);
    hear(&mut client, now, &whole[..Reply::CHUNK_LEN + 8]).unwrap();
    assert!(client.room().as_ptr() == to && client.room().len() == 4096);
}

#[test]
fn replies_that_cannot_be_lose_the_server() {
    let now = Instant::now();
    let data = |offset: u64, len| [&offset.to_be_bytes()[..], &vec![5; len]].concat();
    let head = |kind, cookie, len| {
        let mut head = [0; Reply::CHUNK_LEN];
        Reply::Chunk { flags: 1, kind, cookie, len }.emit(&mut head);
        [&head[..], &[0; 64]].concat()
    };
    type Wrong<'a> = &'a dyn Fn(u64) -> Vec<u8>;
    let wrong: [(&str, Wrong<'_>); 9] = [
        ("another magic", &|_| vec![0xff; 16]),
        ("a cookie of nobody's", &|read| simple(read ^ 1 << 40, 0)),
        ("a place that is not there", &|_| simple(u64::MAX, 0)),
        ("more data than was asked for", &|read| chunk(1, kind_of::OFFSET_DATA, read, &data(4096, 4608))),
        ("data without end", &|read| head(kind_of::OFFSET_DATA, read, u32::MAX)),
        ("an error without end", &|read| head(kind_of::ERROR | 1, read, u32::MAX)),
        ("no data", &|read| chunk(1, kind_of::NONE, read, &[])),
        ("half of the data", &|read| chunk(1, kind_of::OFFSET_DATA, read, &data(4096, 2048))),
        ("data twice", &|read| chunk(0, kind_of::OFFSET_DATA, read, &data(4096, 512)).repeat(2)),
    ];
    for (what, bytes) in wrong {
        let mut client = client(now);
        let (_, [read, ..]) = three(&mut client, now, usize::MAX);
        assert_eq!(hear(&mut client, now, &bytes(read)), Err(Lost), "{what}");
        client.lose(now);
        let ends = ends(&mut client);
        assert!(ends.len() == 3 && ends.iter().all(|end| end.result == Err(BackendError::NotReady)), "{what}");
    }
}

#[test]
fn silence_and_slowness_have_their_bounds() {
    let now = Instant::now();
    let ClientOptions { timeout, patience, .. } = ClientOptions::default();
    let little = Duration::from_millis(1);
    let mut silent = client(now);
    assert_eq!((silent.due(), silent.expects(now + patience)), (None, Ok(false)), "nothing is owed");
    let (_, cookies) = three(&mut silent, now, usize::MAX);
    assert_eq!(silent.due(), Some(now + timeout));
    assert_eq!(silent.nothing_came(now + timeout - little), Ok(()));
    assert_eq!(silent.nothing_came(now + timeout), Err(Lost));
    // A byte now and then is a sign of life, but a request has its time.
    let mut dripping = client(now);
    three(&mut dripping, now, usize::MAX);
    let replies = answers(cookies);
    let mut at = now;
    for byte in &replies[16..] {
        at += timeout - little;
        if at >= now + patience {
            break;
        }
        hear(&mut dripping, at, &[*byte]).unwrap();
    }
    assert_eq!(dripping.expects(now + patience - little), Ok(true));
    assert_eq!(dripping.expects(now + patience), Err(Lost));
}

#[test]
fn only_an_export_of_the_same_size_and_flags_is_taken_back() {
    let now = Instant::now();
    let mut client = client(now);
    client.lose(now);
    client.submit(Tag(1), Operation::Read { lba: 0, buffer: Buffer::new(512) });
    let end = client.complete().unwrap();
    assert!(end.result == Err(BackendError::NotReady) && end.buffer.is_some() && !client.is_up());
    let same = agreed(false);
    let larger = Agreed { info: ExportInfo { size: 2 << 20, ..same.info }, ..same.clone() };
    let sealed = Agreed { info: ExportInfo { flags: ALL | export::READ_ONLY, ..same.info }, ..same.clone() };
    let coarser = Agreed { sizes: Sizes { least: 1024, ..same.sizes }, ..same.clone() };
    let shorter = Agreed { sizes: Sizes { most: 4096, ..same.sizes }, ..same.clone() };
    let others = [larger, sealed, coarser, shorter];
    assert!(others.iter().all(|other| client.renew(other.clone(), now).is_err()) && !client.is_up());
    assert!(client.renew(same.clone(), now) == Ok(0) && client.is_up() && !client.is_structured());
    let (_, [read, ..]) = three(&mut client, now, usize::MAX);
    hear(&mut client, now, &[simple(read, 0), vec![1; 4096]].concat()).unwrap();
    assert_eq!(client.complete().map(|end| (end.tag, end.result)), Some((Tag(1), Ok(()))));
    let unfit = |least, size| {
        let agreed =
            Agreed { info: ExportInfo { size, ..same.info }, sizes: Sizes { least, ..same.sizes }, ..same.clone() };
        Client::new(agreed, ClientOptions::default(), 1, now).err()
    };
    assert_eq!((unfit(8192, 1 << 20), unfit(512, 511)), (Some(Unfit::BlockSize(8192)), Some(Unfit::Empty)));
}

/// Regression: the bytes after the last whole block were cut off, and a copy of the disk lacked them.
#[test]
fn an_export_of_no_whole_number_of_blocks_is_refused() {
    let of = |least, size| {
        let agreed = Agreed {
            info: ExportInfo { size, flags: ALL },
            sizes: Sizes { least, ..agreed(false).sizes },
            structured: false,
            labels: Labels::default(),
        };
        Client::new(agreed, ClientOptions::default(), 1, Instant::now()).map(|client| client.geometry().blocks)
    };
    assert_eq!((of(1, 1024), of(4096, 8192)), (Ok(2), Ok(2)));
    for (least, size, block_size) in [(1, 1025, 512), (512, 1535, 512), (4096, 8192 + 512, 4096)] {
        assert_eq!(of(least, size), Err(Unfit::Size { size, block_size }));
    }
}

#[test]
fn the_parts_of_an_operation_come_before_operations_that_wait() {
    let now = Instant::now();
    let small = Agreed { sizes: Sizes { most: 4096, ..agreed(false).sizes }, ..agreed(false) };
    let mut client = Client::new(small, ClientOptions::default(), 1, now).unwrap();
    client.submit(Tag(0), Operation::Read { lba: 0, buffer: Buffer::new(8192) });
    for i in 1..200 {
        client.submit(Tag(i), Operation::Read { lba: 100, buffer: Buffer::new(512) });
    }
    let bytes = sent(&mut client, now, usize::MAX);
    assert_eq!((bytes.len(), client.has_waiting()), (128 * Request::LEN, false), "no more at once");
    hear(&mut client, now, &[simple(request(&bytes).cookie, 0), vec![1; 4096]].concat()).unwrap();
    let bytes = sent(&mut client, now, usize::MAX);
    assert_eq!((bytes.len(), request(&bytes).offset, request(&bytes).len), (Request::LEN, 4096, 4096));
}

/// A client that holds operations for 20 seconds.
fn holding(now: Instant) -> Client {
    Client::new(agreed(true), ClientOptions { hold: HOLD, ..ClientOptions::default() }, 1, now).unwrap()
}

const HOLD: Duration = Duration::from_secs(20);
const LITTLE: Duration = Duration::from_millis(1);

fn results(client: &mut Client) -> Vec<(Tag, Result<(), BackendError>)> {
    ends(client).iter().map(|end| (end.tag, end.result)).collect()
}

#[test]
fn an_outage_delays_operations_and_fails_none() {
    let now = Instant::now();
    let mut client = holding(now);
    let (_, cookies) = three(&mut client, now, usize::MAX);
    // Some of the READ's data has come, and half of a WRITE has gone.
    hear(&mut client, now, &answers(cookies)[16..1000]).unwrap();
    client.submit(Tag(4), Operation::Write { lba: 9, buffer: Buffer::new(512), fua: false });
    client.begin(now);
    client.sent(100);
    client.lose(now);
    client.submit(Tag(5), Operation::Read { lba: 1, buffer: Buffer::new(512) });
    client.expire(now + HOLD - LITTLE);
    assert_eq!((results(&mut client), client.due()), (vec![], Some(now + HOLD)));
    assert!(!client.has_waiting() && !client.has_output(), "there is nobody");
    assert_eq!(client.renew(agreed(true), now), Ok(0));
    let again = sent(&mut client, now, usize::MAX);
    let mut at = 0;
    let mut replies = Vec::new();
    let mut kinds = Vec::new();
    while at < again.len() {
        let Request { kind, cookie, offset, len, .. } = request(&again[at..]);
        at += Request::LEN + if kind == command::WRITE { 512 } else { 0 };
        kinds.push((kind, offset, len));
        replies.extend(match kind {
            command::READ => {
                let data = [&offset.to_be_bytes()[..], &vec![7; usize::try_from(len).unwrap()]].concat();
                chunk(1, kind_of::OFFSET_DATA, cookie, &data)
            }
            _ => simple(cookie, 0),
        });
    }
    kinds.sort_unstable();
    let (read, write) = (command::READ, command::WRITE);
    let all = [(read, 512, 512), (read, 4096, 4096), (write, 0, 512), (write, 4608, 512), (command::FLUSH, 0, 0)];
    assert_eq!(kinds, all);
    hear(&mut client, now, &replies).unwrap();
    let ends = ends(&mut client);
    assert!(ends.len() == 5 && ends.iter().all(|end| end.result == Ok(())));
    let read = ends.iter().find(|end| end.tag == Tag(1)).unwrap();
    assert!(read.buffer.as_ref().unwrap().bytes().iter().all(|byte| *byte == 7), "nothing of the first reply");
}

#[test]
fn changes_that_were_under_way_are_in_doubt_and_nothing_else() {
    let now = Instant::now();
    let write = |lba, len| Operation::Write { lba, buffer: Buffer::new(len), fua: false };
    let of = |begins: &dyn Fn(&mut Client), sends: usize| {
        let mut client = holding(now);
        begins(&mut client);
        client.begin(now);
        client.sent(sends);
        client.lose(now)
    };
    let doubt = |changes, bytes| Some(InDoubt { changes, bytes });
    let one = Request::LEN + 512;
    let two = |client: &mut Client| {
        client.submit(Tag(1), write(8, 512));
        client.submit(Tag(2), write(2, 512));
    };
    for (sends, wanted) in [
        (0, None),
        (1, doubt(1, 4096..4608)),
        (one, doubt(1, 4096..4608)),
        (one + 1, doubt(2, 1024..4608)),
        (2 * one, doubt(2, 1024..4608)),
    ] {
        assert_eq!(of(&two, sends), wanted, "{sends} bytes sent");
    }
    let reads = |client: &mut Client| {
        client.submit(Tag(1), Operation::Read { lba: 0, buffer: Buffer::new(512) });
        client.submit(Tag(2), Operation::Flush);
    };
    assert_eq!(of(&reads, 2 * Request::LEN), None);
    let discards = |client: &mut Client| client.submit(Tag(1), Operation::Discard { lba: 1, blocks: 2 });
    assert_eq!(of(&discards, Request::LEN), doubt(1, 512..1536));

    // What was answered is not in doubt, and neither is what a lost server was not asked for.
    let mut client = holding(now);
    let (_, cookies) = three(&mut client, now, usize::MAX);
    hear(&mut client, now, &answers(cookies)).unwrap();
    assert_eq!((client.lose(now), client.lose(now)), (None, None));
}

#[test]
fn what_was_held_for_too_long_ends_and_so_does_what_comes_then() {
    let now = Instant::now();
    let mut client = holding(now);
    three(&mut client, now, usize::MAX);
    // It fell silent 10 seconds ago.
    let noticed = now + ClientOptions::default().timeout;
    client.lose(noticed);
    client.submit(Tag(4), Operation::Flush);
    client.expire(now + HOLD - LITTLE);
    assert_eq!(results(&mut client), []);
    client.expire(now + HOLD);
    let not_ready = Err(BackendError::NotReady);
    let mut all = results(&mut client);
    all.sort_unstable_by_key(|(tag, _)| *tag);
    assert_eq!(all, [1, 2, 3, 4].map(|tag| (Tag(tag), not_ready)));
    client.submit(Tag(5), Operation::Flush);
    assert_eq!((results(&mut client), client.due()), (vec![(Tag(5), not_ready)], None));
    // It is back, and holds again.
    assert!(client.renew(agreed(true), noticed).is_ok());
    client.submit(Tag(6), Operation::Flush);
    client.lose(noticed);
    assert_eq!(results(&mut client), []);
}

/// Regression: an export of the same size was taken for the one that was lost although its server said that it was another.
#[test]
fn an_export_with_another_name_or_description_is_not_taken_back() {
    let now = Instant::now();
    let labelled = |name: Option<&str>, description: Option<&str>| {
        let labels = Labels { name: name.map(Into::into), description: description.map(Into::into) };
        Agreed { labels, ..agreed(true) }
    };
    let first = labelled(Some("a"), Some("A\n"));
    let mut client = Client::new(first.clone(), ClientOptions::default(), 1, now).unwrap();
    client.lose(now);
    for (name, description, line) in [
        (Some("b"), Some("A\n"), r#"its name is "b", and was "a""#),
        (Some("a"), Some("B"), r#"its description is "B", and was "A\n""#),
        (Some("a"), None, r#"its description is none, and was "A\n""#),
        (None, None, r#"its name is none, and was "a""#),
    ] {
        assert_eq!(client.renew(labelled(name, description), now).unwrap_err().to_string(), line);
        assert!(!client.is_up());
    }
    assert_eq!(client.renew(first, now), Ok(0));
    // Regression: a description that was told for the first time was no difference.
    let mut client = Client::new(labelled(None, None), ClientOptions::default(), 1, now).unwrap();
    client.lose(now);
    let told = client.renew(labelled(None, Some("B")), now).unwrap_err().to_string();
    assert_eq!(told, r#"its description is "B", and was none"#);
    assert_eq!(client.renew(labelled(None, None), now), Ok(0));
}

/// Regression: operations on a disk whose server is back with another export ended with the error that initiators take for a
/// reason to try on, for minutes.
#[test]
fn what_waits_for_a_server_that_is_back_with_another_export_ends_when_its_time_is_over() {
    let now = Instant::now();
    let mut client = holding(now);
    three(&mut client, now, usize::MAX);
    client.lose(now);
    let sealed = agreed(true);
    let sealed = Agreed { info: ExportInfo { flags: sealed.info.flags | export::READ_ONLY, ..sealed.info }, ..sealed };
    assert_eq!(client.renew(sealed, now), Err(Different::ReadOnly));
    client.expire(now + HOLD - LITTLE);
    assert_eq!(results(&mut client), [], "it may be put right in time");
    client.expire(now + HOLD);
    let replaced = Err(BackendError::Replaced);
    assert!(results(&mut client).iter().map(|(_, result)| *result).eq([replaced; 3]));
    client.submit(Tag(4), Operation::Flush);
    assert_eq!(results(&mut client), [(Tag(4), replaced)], "a new one at once");
    assert_eq!(client.renew(agreed(true), now), Ok(0));
    client.lose(now);
    client.expire(now + HOLD);
    client.submit(Tag(5), Operation::Flush);
    assert_eq!(results(&mut client), [(Tag(5), Err(BackendError::NotReady))], "lost, and nothing more is known");
}

#[test]
fn an_operation_that_every_server_dies_of_has_its_end_too() {
    let start = Instant::now();
    let mut client = holding(start);
    client.submit(Tag(1), Operation::Read { lba: 0, buffer: Buffer::new(512) });
    for second in 0..20 {
        let now = start + Duration::from_secs(second);
        sent(&mut client, now, usize::MAX);
        client.lose(now);
        assert_eq!(results(&mut client), [], "after {second} s");
        client.renew(agreed(true), now).unwrap();
    }
    let late = start + HOLD;
    sent(&mut client, late, usize::MAX);
    client.submit(Tag(2), Operation::Flush);
    client.lose(late);
    assert_eq!(results(&mut client), [(Tag(1), Err(BackendError::NotReady))], "the other has just begun");
}

#[test]
fn a_server_that_shuts_down_is_lost() {
    let now = Instant::now();
    let mut client = holding(now);
    client.submit(Tag(1), Operation::Flush);
    let cookie = request(&sent(&mut client, now, usize::MAX)).cookie;
    assert_eq!(hear(&mut client, now, &simple(cookie, error::ESHUTDOWN)), Err(Lost));
    client.lose(now);
    client.renew(agreed(true), now).unwrap();
    let cookie = request(&sent(&mut client, now, usize::MAX)).cookie;
    hear(&mut client, now, &simple(cookie, 0)).unwrap();
    assert_eq!(results(&mut client), [(Tag(1), Ok(()))]);
}

#[test]
fn changes_that_were_not_flushed_are_counted() {
    let now = Instant::now();
    let mut client = holding(now);
    let mut tag = 0;
    let mut does = |client: &mut Client, operation| {
        tag += 1;
        client.submit(Tag(tag), operation);
        request(&sent(client, now, usize::MAX)).cookie
    };
    let write = |fua| Operation::Write { lba: 0, buffer: Buffer::new(512), fua };
    let first = does(&mut client, write(false));
    hear(&mut client, now, &simple(first, 0)).unwrap();
    let flush = does(&mut client, Operation::Flush);
    // These two are not covered by the flush that is under way; one of them needs none.
    for fua in [false, true] {
        let second = does(&mut client, write(fua));
        hear(&mut client, now, &simple(second, 0)).unwrap();
    }
    hear(&mut client, now, &simple(flush, 0)).unwrap();
    let refused = does(&mut client, write(false));
    hear(&mut client, now, &simple(refused, error::ENOSPC)).unwrap();
    client.lose(now);
    assert_eq!(client.renew(agreed(true), now), Ok(1));
    client.lose(now);
    assert_eq!(client.renew(agreed(true), now), Ok(0), "it was said once");
}

//! The server: a client's bytes in, answers out.

use super::rig::{Rig, SIZE, ask, begin, chunk, joined, replies, request, simple};
use linerate_block::{Backend, Operation};
use linerate_nbd::wire::{Go, Greeting, OptionHeader, chunk as kind_of, command, error, info, option, reply};
use linerate_nbd::{BlockService, Export, Gone, PATIENCE, SERVER_SLICES, STALL, Server};
use std::io::IoSlice;
use std::time::{Duration, Instant};

/// Options that are haggled over, then all kinds of requests, then goodbye.
fn session() -> Vec<u8> {
    let data: Vec<u8> = (0..1024u32).map(|i| u8::try_from(i % 251).unwrap()).collect();
    let go = Go { name: "disk".into(), wanted: vec![info::NAME, info::DESCRIPTION] }.emit();
    [
        3u32.to_be_bytes().to_vec(),
        ask(99, b"what nobody knows"),
        ask(option::LIST, &[]),
        ask(option::LIST, b"x"),
        ask(option::INFO, &Go { name: "tape".into(), wanted: vec![] }.emit()),
        ask(option::GO, b"no lengths"),
        ask(option::STRUCTURED_REPLY, &[]),
        ask(option::INFO, &go),
        ask(option::GO, &go),
        request(command::WRITE, command::FLAG_FUA, 1, 512, 1024),
        data,
        request(command::READ, 0, 2, 512, 1024),
        request(command::WRITE, 0, 3, SIZE, 512),
        vec![7; 512],
        request(command::READ, 0, 4, 1, 512),
        request(command::TRIM, command::FLAG_FUA, 5, 512, 512),
        request(command::WRITE_ZEROES, 0, 6, 1024, 512),
        request(command::FLUSH, 0, 7, 0, 0),
        request(command::READ, 0, 8, 512, 1024),
        request(99, 0, 9, 0, 0),
        request(command::DISC, 0, 10, 0, 0),
    ]
    .concat()
}

#[test]
fn a_session_is_answered_from_greeting_to_goodbye() {
    let mut rig = Rig::new();
    rig.say(&session()).unwrap();
    let all = rig.hear(usize::MAX);
    let (greeting, rest) = all.split_first_chunk().unwrap();
    assert_eq!(Greeting::parse(greeting), Ok(Greeting { flags: 3 }));
    let (answers, rest) = replies(rest);
    let said: Vec<_> = answers.iter().map(|head| (head.option, head.kind)).collect();
    let (info, go, list) = (option::INFO, option::GO, option::LIST);
    let [told, told_go] = [(info, reply::INFO), (go, reply::INFO)];
    let expected = [
        &[(99, reply::ERR_UNSUP), (list, reply::SERVER), (list, reply::ACK), (list, reply::ERR_INVALID)][..],
        &[(info, reply::ERR_UNKNOWN), (go, reply::ERR_INVALID), (option::STRUCTURED_REPLY, reply::ACK)],
        &[told, told, told, told, (info, reply::ACK), told_go, told_go, told_go, told_go, (go, reply::ACK)],
    ];
    assert_eq!(said, expected.concat());
    let data: Vec<u8> = (0..1024u32).map(|i| u8::try_from(i % 251).unwrap()).collect();
    let offset = 512u64.to_be_bytes();
    let failed =
        |cookie, number: u32| chunk(1, kind_of::ERROR | 1, cookie, &[&number.to_be_bytes()[..], &[0, 0]].concat());
    let expected = [
        simple(1, 0),
        chunk(1, kind_of::OFFSET_DATA, 2, &[&offset[..], &data].concat()),
        simple(3, error::ENOSPC),
        failed(4, error::EINVAL),
        simple(5, 0),
        simple(6, 0),
        simple(7, 0),
        chunk(1, kind_of::OFFSET_DATA, 8, &[&offset[..], &[0; 1024]].concat()),
        simple(9, error::EINVAL),
    ];
    assert!(rest == expected.concat());
    assert!(rig.server.is_over(0, rig.now), "it has said goodbye, and has all its answers");
}

#[test]
fn it_makes_no_difference_where_the_bytes_are_cut() {
    let bytes = session();
    let mut whole = Rig::new();
    whole.say(&bytes).unwrap();
    let expected = whole.hear(usize::MAX);
    for cut in 0..=bytes.len() {
        let mut rig = Rig::new();
        for part in [&bytes[..cut], &bytes[cut..]] {
            assert_eq!(rig.say(part), Ok(part.len()), "cut at {cut}");
        }
        assert!(rig.hear(usize::MAX) == expected && rig.server.is_over(0, rig.now), "cut at {cut}");
    }
    for piece in [1, 2, 3, 7, 27, 28, 29, 511, 513] {
        let (mut rig, mut all) = (Rig::new(), Vec::new());
        for part in bytes.chunks(piece) {
            assert_eq!(rig.say(part), Ok(part.len()), "pieces of {piece}");
            all.extend(rig.hear(piece));
        }
        assert!(all == expected && rig.server.is_over(0, rig.now), "pieces of {piece}");
    }
}

#[test]
fn data_is_received_and_sent_where_it_lies() {
    let mut rig = Rig::new();
    rig.say(&[begin(false), request(command::WRITE, 0, 1, 0, 4096)].concat()).unwrap();
    let room = rig.server.room(0);
    assert_eq!(room.len(), 4096, "the buffer of the WRITE and nothing else");
    let place = room.as_ptr();
    rig.keeps = true;
    rig.say(&[5; 4096]).unwrap();
    let (tag, operation) = rig.kept.pop().unwrap();
    let Operation::Write { buffer, .. } = &operation else { panic!("{operation:?}") };
    assert_eq!((buffer.bytes().as_ptr(), buffer.bytes()), (place, &[5; 4096][..]));
    rig.disk.submit(0, tag, operation);
    rig.end();
    rig.hear(usize::MAX);
    rig.say(&request(command::READ, 0, 2, 0, 4096)).unwrap();
    let (tag, operation) = rig.kept.pop().unwrap();
    let Operation::Read { buffer, .. } = &operation else { panic!("{operation:?}") };
    let place = buffer.bytes().as_ptr();
    rig.disk.submit(0, tag, operation);
    rig.end();
    let mut slices = [IoSlice::new(&[]); SERVER_SLICES];
    let n = rig.server.output(0, rig.now, &mut slices);
    assert!(slices[..n].iter().any(|slice| slice.as_ptr() == place && slice.len() == 4096));
}

#[test]
fn lengths_that_nothing_has_end_the_client() {
    let go = |len| OptionHeader { option: option::GO, len }.emit();
    for bytes in [
        [&3u32.to_be_bytes()[..], &go(u32::MAX)].concat(),
        [&3u32.to_be_bytes()[..], &go(65537)].concat(),
        [&4u32.to_be_bytes()[..], &[0; 16]].concat(),
        [&3u32.to_be_bytes()[..], &[0; 16]].concat(),
        [begin(true), request(command::WRITE, 0, 1, 0, u32::MAX)].concat(),
        [begin(true), request(command::WRITE, 0, 1, 0, (64 << 20) + 1)].concat(),
        [begin(true), vec![0; 28]].concat(),
    ] {
        let mut rig = Rig::new();
        rig.hear(usize::MAX);
        assert_eq!(rig.say(&bytes).err(), Some(Gone));
    }
    // The data of what could still be meant is thrown away.
    let mut rig = Rig::new();
    rig.say(&begin(false)).unwrap();
    rig.hear(usize::MAX);
    rig.say(&request(command::WRITE, 0, 1, 0, 8 << 20)).unwrap();
    for _ in 0..8 {
        assert_eq!(rig.say(&vec![1; 1 << 20]), Ok(1 << 20));
    }
    rig.say(&request(command::READ, 0, 2, 0, u32::MAX)).unwrap();
    assert!(rig.hear(usize::MAX) == [simple(1, error::EINVAL), simple(2, error::EINVAL)].concat());
    assert_eq!(rig.disk.backend().geometry().blocks, SIZE / 512);
}

#[test]
fn unknown_options_are_refused_one_by_one_but_not_for_ever() {
    let mut rig = Rig::new();
    rig.say(&3u32.to_be_bytes()).unwrap();
    rig.hear(usize::MAX);
    for n in 0..100 {
        assert!(rig.say(&ask(1000 + n, &[1; 9])).is_ok());
        let (said, _) = (replies(&rig.hear(usize::MAX)).0, ());
        assert_eq!((said.len(), said[0].option, said[0].kind), (1, 1000 + n, reply::ERR_UNSUP));
    }
    assert_eq!(rig.say(&ask(7, &[])), Err(Gone));
}

#[test]
fn an_option_that_never_ends_has_its_time_and_no_more() {
    let mut rig = Rig::new();
    rig.hear(usize::MAX);
    let whole = [&3u32.to_be_bytes()[..], &ask(option::GO, &[0; 1000])].concat();
    rig.say(&whole[..whole.len() - 1]).unwrap();
    assert!(rig.hear(usize::MAX).is_empty(), "nothing is answered before it is there");
    assert_eq!(rig.server.deadline(0), Some(rig.now + PATIENCE));
    assert!(!rig.server.is_over(0, rig.now + PATIENCE - Duration::from_millis(1)));
    assert!(rig.server.is_over(0, rig.now + PATIENCE));
}

#[test]
fn data_and_answers_have_their_time() {
    let mut rig = Rig::new();
    rig.say(&[begin(false), request(command::WRITE, 0, 1, 0, 512), vec![0; 511]].concat()).unwrap();
    rig.hear(usize::MAX);
    assert!(!rig.server.is_over(0, rig.now + STALL - Duration::from_millis(1)));
    assert!(rig.server.is_over(0, rig.now + STALL));
    rig.say(&[0]).unwrap();
    assert_eq!(rig.server.deadline(0), None, "nobody has asked for its answer yet");
    let mut slices = [IoSlice::new(&[]); SERVER_SLICES];
    assert!(rig.server.output(0, rig.now, &mut slices) > 0);
    assert_eq!(rig.server.deadline(0), Some(rig.now + STALL));
    rig.hear(usize::MAX);
    assert_eq!(rig.server.deadline(0), None, "an idle client has all time");
}

#[test]
fn a_client_has_128_requests_and_what_it_leaves_under_way_is_counted_until_it_ends() {
    let mut rig = Rig::new();
    rig.keeps = true;
    rig.say(&begin(false)).unwrap();
    rig.hear(usize::MAX);
    rig.say(&request(command::READ, 0, 1, 0, 512).repeat(200)).unwrap();
    assert_eq!((rig.kept.len(), rig.server.wants_input(0)), (128, false));
    rig.server.leave(0);
    assert_eq!((rig.server.clients(), rig.server.left_behind(), rig.server.is_done()), (0, 128, false));
    rig.server.enter(0, rig.now);
    for (tag, operation) in rig.kept.drain(..) {
        rig.disk.submit(0, tag, operation);
    }
    rig.end();
    assert_eq!(rig.server.left_behind(), 0);
    let greeting = rig.hear(usize::MAX);
    assert_eq!(greeting.len(), Greeting::LEN, "whoever has the place now gets no answers of another's");
    rig.server.leave(0);
    assert!(rig.server.is_done());
}

/// A client whose connection is lost repeats its changes in another one. Regression: the first ones could be done after
/// that, over data that was written since.
#[test]
fn a_change_waits_for_those_that_a_client_before_left_behind() {
    let write = |cookie, byte| [request(command::WRITE, 0, cookie, 512, 512), vec![byte; 512]].concat();
    let mut rig = Rig::new();
    rig.say(&begin(false)).unwrap();
    rig.hear(usize::MAX);
    rig.keeps = true;
    rig.say(&write(1, 1)).unwrap();
    let left = rig.kept.pop().unwrap();
    rig.server.leave(0);
    rig.server.enter(0, rig.now);
    rig.keeps = false;
    rig.say(&begin(false)).unwrap();
    rig.hear(usize::MAX);
    rig.say(&[request(command::READ, 0, 2, 0, 512), write(3, 2)].concat()).unwrap();
    assert_eq!(rig.hear(usize::MAX), [simple(2, 0), vec![0; 512]].concat(), "only the READ is done");
    assert!(!rig.server.wants_input(0));
    rig.disk.submit(0, left.0, left.1);
    rig.end();
    rig.say(&[]).unwrap();
    assert_eq!(rig.hear(usize::MAX), simple(3, 0));
    rig.say(&request(command::READ, 0, 4, 512, 512)).unwrap();
    assert_eq!(rig.hear(usize::MAX), [simple(4, 0), vec![2; 512]].concat(), "the newer data");

    // A READ that is left behind holds up nothing, and neither does a change those who were there.
    let mut rig = Rig::new();
    rig.say(&begin(false)).unwrap();
    rig.keeps = true;
    rig.say(&request(command::READ, 0, 1, 0, 512)).unwrap();
    rig.server.leave(0);
    rig.server.enter(0, rig.now);
    rig.say(&[begin(false), write(2, 1)].concat()).unwrap();
    assert_eq!(rig.kept.len(), 2);
    rig.server.enter(1, rig.now);
    rig.server.leave(1);
    rig.say(&write(3, 1)).unwrap();
    assert_eq!(rig.kept.len(), 3);
}

#[test]
fn a_client_proves_itself_by_requests_and_by_what_comes_and_goes_for_them() {
    let mut rig = Rig::new();
    let later = |rig: &mut Rig| {
        rig.now += Duration::from_secs(1);
        rig.now
    };
    let proved = |rig: &mut Rig| {
        let now = later(rig);
        rig.server.proved(0, now)
    };
    rig.say(&begin(false)).unwrap();
    later(&mut rig);
    rig.hear(usize::MAX);
    assert_eq!(proved(&mut rig), None, "it has asked for nothing yet");
    let asked = later(&mut rig);
    rig.say(&request(command::WRITE, 0, 1, 0, 512)).unwrap();
    assert_eq!(proved(&mut rig), Some(asked));
    rig.say(&[1; 100]).unwrap();
    let came = rig.now;
    assert_eq!(proved(&mut rig), Some(came), "a part of its data");
    rig.keeps = true;
    rig.say(&[1; 412]).unwrap();
    let now = proved(&mut rig);
    assert_eq!(now, Some(rig.now), "the operation is under way");
    let (tag, operation) = rig.kept.pop().unwrap();
    rig.disk.submit(0, tag, operation);
    rig.end();
    let answered = later(&mut rig);
    rig.hear(usize::MAX);
    assert_eq!(proved(&mut rig), Some(answered), "it has taken the answer");
}

#[test]
fn where_no_number_is_left_for_an_operation_nothing_is_read() {
    let mut rig = Rig::new();
    rig.keeps = true;
    let asks = [begin(false), request(command::READ, 0, 1, 0, 512).repeat(128)].concat();
    while rig.kept.len() < 64 * 128 + 8 * 128 {
        assert_eq!(rig.say(&asks), Ok(asks.len()));
        rig.server.leave(0);
        rig.server.enter(0, rig.now);
    }
    assert_eq!(rig.say(&asks), Ok(0));
    let (tag, operation) = rig.kept.pop().unwrap();
    rig.disk.submit(0, tag, operation);
    rig.end();
    assert!(rig.server.wants_input(0));
    rig.say(&asks).unwrap();
    assert_eq!(rig.kept.len(), 64 * 128 + 8 * 128, "one more and no other");
}

/// Regression: the empty name was that of the first export, whatever that was.
#[test]
fn the_empty_name_is_that_of_the_only_export_and_of_none_where_there_were_several() {
    let geometry = linerate_block::Null::new(1 << 20, 512, 1).unwrap().geometry().clone();
    let export = |at: usize| Export {
        name: format!("disk{at}"),
        description: String::new(),
        geometry: geometry.clone(),
        ended: false,
    };
    let mut exports: Vec<Export> = (0..20).map(export).collect();
    let (now, mut server) = (Instant::now(), Server::new());
    // What a client that chooses this export is answered, and what the server says of the default export.
    let mut choose = |name: &str, exports: &[Export]| {
        server.enter(0, now);
        let go = ask(option::GO, &Go { name: name.into(), wanted: vec![] }.emit());
        let bytes = [&3u32.to_be_bytes()[..], &go].concat();
        server.room(0)[..bytes.len()].copy_from_slice(&bytes);
        server.received(0, now, bytes.len());
        assert!(server.next(0, now, exports).unwrap().is_none());
        let mut slices = [IoSlice::new(&[]); SERVER_SLICES];
        let n = server.output(0, now, &mut slices);
        let said = String::from_utf8_lossy(&joined(&slices[..n], usize::MAX)).into_owned();
        (said, server.take_default(0))
    };
    assert_eq!(choose("", &exports[..1]).1, Some(Some(0)));
    let (said, given) = choose("", &exports);
    assert!(said.contains("name one of disk0, disk1, ") && said.contains("disk15 and 4 more"), "{said}");
    assert_eq!(given, Some(None));
    assert_eq!(choose("disk1", &exports).1, None);
    exports.truncate(2);
    exports[0].ended = true;
    let (said, given) = choose("", &exports);
    assert!(said.ends_with("name one of disk1"), "{said}");
    assert_eq!(given, Some(None), "it was another one before");
    assert_eq!(choose("", &exports[..1]).1, Some(None), "the only one has ended");
}

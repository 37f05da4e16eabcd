//! The client's side of the negotiation: a server's bytes in, options out.

use super::rig::{answer, ask};
use linerate_nbd::wire::{Go, Greeting, Info, OptionReply, WireError, export, info, option, reply};
use linerate_nbd::{Agreed, ExportInfo, Labels, NegotiateError, Negotiation, Sizes};

const INFO: ExportInfo = ExportInfo { size: 1 << 20, flags: export::HAS_FLAGS | export::SEND_FLUSH };
const SIZES: Sizes = Sizes { least: 4096, preferred: 4096, most: 1 << 20 };

/// Outcome of a negotiation with a server that sends these bytes, in pieces; and the bytes that the client sent. The
/// client must take all.
fn negotiate(bytes: &[u8], pieces: &[usize]) -> (Result<Option<Agreed>, NegotiateError>, Vec<u8>) {
    let (mut negotiation, mut told, mut left) = (Negotiation::new("disk"), Vec::new(), bytes);
    for piece in pieces.iter().copied().chain([usize::MAX]) {
        let (mut part, rest) = left.split_at(piece.min(left.len()));
        left = rest;
        while !part.is_empty() {
            let room = negotiation.room();
            let n = room.len().min(part.len());
            assert!(n > 0, "it takes no more");
            room[..n].copy_from_slice(&part[..n]);
            part = &part[n..];
            match negotiation.received(n) {
                Ok(None) => told.extend(negotiation.output()),
                end => {
                    assert!(end.is_err() || part.is_empty() && left.is_empty(), "bytes behind the end were taken");
                    return (end, told);
                }
            }
        }
    }
    (Err(negotiation.hung_up()), told)
}

fn greeting(flags: u16) -> Vec<u8> {
    Greeting { flags }.emit().to_vec()
}

/// All there is: structured replies, information of several kinds, GO.
fn modern() -> Vec<u8> {
    [
        greeting(3),
        answer(option::STRUCTURED_REPLY, reply::ACK, &[]),
        answer(option::GO, reply::INFO, &Info::Export(INFO).emit()),
        answer(option::GO, reply::INFO, &Info::Name("disk".into()).emit()),
        answer(option::GO, reply::INFO, &Info::BlockSize(SIZES).emit()),
        answer(option::GO, reply::ACK, &[]),
    ]
    .concat()
}

fn go() -> Vec<u8> {
    ask(option::GO, &Go { name: "disk".into(), wanted: vec![info::BLOCK_SIZE, info::NAME, info::DESCRIPTION] }.emit())
}

#[test]
fn an_export_is_agreed_on_wherever_the_bytes_are_cut() {
    let bytes = modern();
    let labels = Labels { name: Some("disk".into()), description: None };
    let agreed = Agreed { info: INFO, sizes: SIZES, structured: true, labels };
    let told = [&3u32.to_be_bytes()[..], &ask(option::STRUCTURED_REPLY, &[]), &go()].concat();
    for cut in 0..=bytes.len() {
        assert_eq!(negotiate(&bytes, &[cut]), (Ok(Some(agreed.clone())), told.clone()), "cut at {cut}");
    }
    assert_eq!(negotiate(&bytes, &vec![1; bytes.len()]), (Ok(Some(agreed)), told));
}

#[test]
fn a_server_that_hangs_up_is_told_from_one_without_the_export() {
    let bytes = modern();
    for cut in 0..bytes.len() {
        assert_eq!(negotiate(&bytes[..cut], &[]).0, Err(NegotiateError::HungUp), "after {cut} bytes");
    }
    // EXPORT_NAME has no other way to fail.
    assert_eq!(negotiate(&greeting(2), &[]).0, Err(NegotiateError::NoExport(String::new())));
    let none = answer(option::GO, reply::ERR_UNKNOWN, b"no");
    let bytes = [greeting(3), answer(option::STRUCTURED_REPLY, reply::ACK, &[]), none].concat();
    assert_eq!(negotiate(&bytes, &[]).0, Err(NegotiateError::NoExport(": no".into())));
    let policy = answer(option::GO, reply::ERROR | 2, &[]);
    let bytes = [greeting(3), answer(option::STRUCTURED_REPLY, reply::ERR_UNSUP, &[]), policy].concat();
    assert_eq!(negotiate(&bytes, &[]).0, Err(NegotiateError::Refused(String::new())));
}

#[test]
fn servers_without_go_or_without_options_are_asked_by_name() {
    let told = [&INFO.size.to_be_bytes()[..], &INFO.flags.to_be_bytes()].concat();
    let name = ask(option::EXPORT_NAME, b"disk");
    let agreed =
        |structured| Ok(Some(Agreed { info: INFO, sizes: Sizes::default(), structured, labels: Labels::default() }));
    // No options, and zeros behind the answer or none.
    let bytes = [greeting(0), told.clone(), vec![0; 124]].concat();
    assert_eq!(negotiate(&bytes, &[]), (agreed(false), [&0u32.to_be_bytes()[..], &name].concat()));
    let bytes = [greeting(2), told.clone()].concat();
    assert_eq!(negotiate(&bytes, &[20]), (agreed(false), [&2u32.to_be_bytes()[..], &name].concat()));
    // Options, but no GO; what was said before holds no more.
    let structured = option::STRUCTURED_REPLY;
    let bytes = [
        greeting(3),
        answer(structured, reply::ACK, &[]),
        answer(option::GO, reply::INFO, &Info::BlockSize(SIZES).emit()),
        answer(option::GO, reply::INFO, &Info::Name("disk".into()).emit()),
        answer(option::GO, reply::ERR_UNSUP, &[]),
        told,
    ]
    .concat();
    let asked = [&3u32.to_be_bytes()[..], &ask(structured, &[]), &go(), &name].concat();
    for cut in 0..=bytes.len() {
        assert_eq!(negotiate(&bytes, &[cut]), (agreed(true), asked.clone()), "cut at {cut}");
    }
}

#[test]
fn what_a_server_may_not_say_is_an_error() {
    let wrong = |bytes: &[Vec<u8>]| negotiate(&bytes.concat(), &[]).0;
    let structured = answer(option::STRUCTURED_REPLY, reply::ACK, &[]);
    let (magic, length) = (Err(WireError::Magic.into()), Err(WireError::Length.into()));
    assert_eq!(wrong(&[b"HTTP/1.1 400 Bad Request".to_vec()]), magic);
    assert_eq!(wrong(&[greeting(3), answer(option::GO, reply::ACK, &[])]), magic);
    let long = OptionReply { option: option::STRUCTURED_REPLY, kind: reply::ACK, len: u32::MAX };
    assert_eq!(wrong(&[greeting(3), long.emit().to_vec()]), length);
    let short = answer(option::GO, reply::INFO, &[0, 0, 1]);
    assert_eq!(wrong(&[greeting(3), structured.clone(), short]), length);
    assert_eq!(wrong(&[greeting(3), structured.clone(), answer(option::GO, reply::ACK, &[])]), length);
    let endless = answer(option::GO, 99, b"not yet").repeat(1000);
    assert_eq!(wrong(&[greeting(3), structured, endless]), length);
}

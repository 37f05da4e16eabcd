//! Tests of messages: against bytes that netperf 2.7.0 and its netserver have sent, and both ways.

use super::omni::{self, Half, Request, Response, Results, flag};
use super::{Code, Malformed, Message, stream};
use std::net::IpAddr;

/// A message of these words, and zeros behind them.
fn message(words: &[i32]) -> Message {
    let mut bytes = [0; Message::LEN];
    for (to, word) in bytes.chunks_exact_mut(4).zip(words) {
        to.copy_from_slice(&word.to_be_bytes());
    }
    Message::received(bytes)
}

/// Request of `netperf -t TCP_STREAM -C -T 0,1 -- -H 127.0.0.3 -m 1K,2k -M 3K -s 10K -S 30K,40k -D -P 5555,6666 -K cubic,reno`
/// says.
fn request() -> Message {
    let mut words = vec![97, 1, 30_720, 2000, 8, 0, 21, -1, 40_000, 3072, 8, 0, 0, -1, 41, 0, 1, 0, 0, -1, -1, -1];
    words.extend([6666, 4, 1, 6, 4, 5555, 0, 0, 0, 0, 0, 0, 0x7f00_0003, 0, 0, 0, -1, -1]);
    words.push(i32::from_be_bytes(*b"reno"));
    message(&words)
}

#[test]
fn netperfs_request_is_understood_and_written_again() {
    let read = Request::read(&request()).unwrap();
    assert_eq!(read.cpu, Some(1));
    let half = |socket, block, width| Half {
        socket: Some(socket),
        block: Some(block),
        align: 8,
        offset: 0,
        width,
        transaction: None,
    };
    assert_eq!((read.send, read.receive), (half(30_720, 2000, 21), half(40_000, 3072, 0)));
    assert_eq!(read.flags, flag::NO_DELAY | flag::MEASURE_CPU | flag::ROUTING);
    assert_eq!((read.length, read.data_port, read.client_port, read.direction), (1, 6666, 5555, 4));
    assert_eq!(read.server, Some(IpAddr::from([127, 0, 0, 3])));
    assert_eq!((read.client, &*read.congestion, &*read.fill), (None, "reno", ""));
    assert_eq!(read.message(), request());
    // An address of IPv6 stands in the order of the client's machine.
    let v6 = Request { v6: true, server: Some("2001:db8::1".parse().unwrap()), fill: "/etc/passwd".into(), ..read };
    assert_eq!(&v6.message().bytes()[36 * 4..38 * 4], &[0, 0, 0, 0, 1, 0, 0, 0][..]);
    assert_eq!(Request::read(&v6.message()), Ok(v6));
}

#[test]
fn netservers_response_and_results_are_understood() {
    let rate = 0x42c8_0000;
    let words = [98, 0, 131_072, 131_072, 2, 16_384, -1, 2, 8, rate, 0, 0, 0, 39_971, 0, 0, 0, 0, -1, -1];
    let read = Response::read(&message(&words)).unwrap();
    assert_eq!((read.receive_socket, read.receive_block, read.receive_width), (131_072, 131_072, 2));
    assert_eq!((read.send_socket, read.send_block, read.data_port, read.flags), (16_384, -1, 39_971, 8));
    assert_eq!(Response::read(&read.message()).unwrap(), read);

    // Its kind is the response's, turned round; processors it has measured, interfaces it has not.
    let mut words = vec![0x6200_0000, 0, 1, 159_105_024, 8830, 11_210_668, 0, 0, 0, 4_194_304, 0, 0];
    words.extend([0x3f80_1659, 0x423a_0ae8, 0x40cc_cc03, 0x4212_5a7a, 0, 0, 0x4039_f0e9, -1, 8, 2, 1, 0x4243_320d]);
    let read = Results::read(&message(&words)).unwrap();
    assert_eq!((read.received, read.receives, read.receive_socket), ((1 << 32) + 159_105_024, 8830, 11_210_668));
    assert!((read.seconds - 1.000_682).abs() < 1e-5 && (read.cpu.unwrap()[0] - 46.51).abs() < 0.01);
    assert_eq!((read.method, read.cpus, read.peak_id), (8, 2, 1));
    assert_eq!(Results::read(&read.message()).unwrap(), read);
}

#[test]
fn the_older_dialect_is_understood() {
    let words = [10, -1, -1, -1, 0, 8, 0, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4];
    let read = stream::Request::read(&message(&words)).unwrap();
    assert_eq!(read, stream::Request { align: 8, measure_cpu: true, length: 1, ..stream::Request::default() });
    assert_eq!(read.message(), message(&words));
    let words = [11, 0, 131_072, 131_072, 0, 1, 0, 16_384, 33_701, 0x42c8_0000];
    let read = stream::Response::read(&message(&words)).unwrap();
    assert_eq!((read.receive_socket, read.block, read.send_socket, read.data_port), (131_072, 131_072, 16_384, 33_701));
    assert!(read.measure_cpu && read.message() == message(&words));
    let words = [0x0b00_0000, 0, 0x41ad_df74, 0, 9986, 0x3f80_1544, 0x4230_cccd, 4_194_304, 8, 2];
    let read = stream::Results::read(&message(&words)).unwrap();
    assert_eq!((read.received, read.receives, read.method, read.cpus), (250_591_744.0, 9986, 8, 2));
    assert_eq!(stream::Results::read(&read.message()).unwrap(), read);
}

#[test]
fn what_is_out_of_range_is_named() {
    let with = |at: usize, word: i32| {
        let mut bytes = *request().bytes();
        bytes[4 * at..4 * at + 4].copy_from_slice(&word.to_be_bytes());
        Request::read(&Message::received(bytes))
    };
    assert_eq!(with(0, 98), Err(Malformed::Code(98)));
    assert_eq!(with(22, 65_536), Err(Malformed::Range("the data's port")));
    assert_eq!(with(23, 5), Err(Malformed::Range("the family of addresses")));
    assert_eq!(with(15, 0x7fc0_0000), Err(Malformed::Float("the processors' rate")));
    assert!(with(2, i32::MIN).unwrap().send.socket.is_none());
    assert!(Response::read(&Message::new(Code::OMNI_RESPONSE, 0)).is_ok());
    assert_eq!(Results::read(&Message::new(Code::OMNI, 0)), Err(Malformed::Code(97)));
    let mut bytes = *omni::Results::default().message().bytes();
    bytes[52..56].copy_from_slice(&f32::NAN.to_be_bytes());
    let read = Results::read(&Message::received(bytes)).unwrap();
    assert_eq!(read.cpu, None, "no numbers");
    let negative = stream::Results { received: -1.0, ..stream::Results::default() };
    assert!(stream::Results::read(&negative.message()).is_err());
}

#[test]
fn texts_end_inside_their_fields_and_hold_plain_characters() {
    let long = Request { congestion: "x".repeat(40), ..Request::read(&request()).unwrap() };
    assert_eq!(Request::read(&long.message()).unwrap().congestion, "x".repeat(15));
    let strange = Request { congestion: "\x1b[2J\u{e9}".into(), ..long };
    assert_eq!(Request::read(&strange.message()).unwrap().congestion, "?[2J??");
    assert_eq!(&Message::system().bytes()[8..19], b",Deprecated");
    assert_eq!(Message::rate(100.0, 2).bytes()[8..16], [0x42, 0xc8, 0, 0, 0, 0, 0, 2]);
}

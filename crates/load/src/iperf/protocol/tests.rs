//! Messages of iperf 2.1.8 as they were seen on the wire, and what is written again of them.

use super::*;

/// Bytes of a text of hexadecimal digits.
fn bytes(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.bytes().filter(u8::is_ascii_hexdigit).collect();
    digits.chunks(2).map(|two| u8::from_str_radix(std::str::from_utf8(two).unwrap(), 16).unwrap()).collect()
}

const PLAIN: &str = "40010078 00000001 00008707 000001f4 00000000 000003e8 00000000 00000000 00000000 00020001 \
                     00080003 00000000 00000000 00000000 00000000";
const REVERSED: &str = "44010078 00000001 00008707 000001f4 00000000 000003e8 00000000 00000000 04000000 00020001 \
                        00080003 00000000 00000000 00000000 00000000";
const TRADED: &str = "c0010078 00000001 00001a85 000003e8 00000000 fffffff6 00000000 00000000 00000000 00020001 \
                      00080003 00000000 000f4240 00000000 00000000";
const DUPLEX: &str = "44010078 00000001 00008707 000003e8 00000000 fffffff6 00000000 00000000 08000000 00020001 \
                      00080003 00000000 000f4240 00000000 00000000";
const IN_DATAGRAM: &str = "680100d8 00000001 00008707 000001f4 00000000 fffffff6 00000000 00000000 00100000 00020001 \
                           00080003 00000000 000186a0 00000000 00000000";

#[test]
fn headers_are_read_and_written_as_iperf_writes_them() {
    let plain = Request {
        port: 0x8707,
        block: 500,
        amount: Amount::Bytes(1000),
        wants_ack: true,
        version: Some(VERSION),
        ..Request::default()
    };
    let million = Request { rate: 1_000_000, block: 1000, amount: Amount::Time(10), ..plain };
    for (seen, request) in [
        (PLAIN, plain),
        (REVERSED, Request { ask: Ask::Reverse, wants_ack: false, ..plain }),
        (TRADED, Request { ask: Ask::TradeOff, port: 0x1a85, ..million }),
        (DUPLEX, Request { ask: Ask::FullDuplex, wants_ack: false, ..million }),
    ] {
        let seen = bytes(seen);
        assert_eq!(Request::length(*seen.first_chunk().unwrap()), Ok(Some(60)));
        assert_eq!(Request::read(&seen), Ok(request));
        assert_eq!(request.header(), seen);
    }
}

#[test]
fn a_request_in_a_datagram_is_read_and_written_as_iperf_writes_it() {
    let mut seen = bytes("ffffffc2 6b07d9f2 000e2627 ffffffff");
    seen.extend(bytes(IN_DATAGRAM));
    seen.extend([0; 32]);
    seen.extend(bytes("00000000 6b07d9f2 000c50b5 00000000 00000000"));
    let request = Request::read_datagram(&seen).unwrap();
    let begun = Stamp { seconds: 0x6b07_d9f2, micros: 0x000c_50b5 };
    assert_eq!((request.begun, request.rate, request.wide_numbers), (Some(begun), 100_000, true));
    assert_eq!(request.amount, Amount::Time(10));
    let first = Datagram::read(true, &seen).unwrap();
    assert_eq!((first.number, first.sent.seconds), (-62, 0x6b07_d9f2));
    let mut again = vec![b'0'; seen.len()];
    first.write(&mut again);
    request.write_datagram(&mut again);
    assert_eq!(again, seen);
    // Its end is missing.
    assert_eq!(Request::read_datagram(&seen[..100]), Err(Refusal::Short));
    assert_eq!(Request::read_datagram(&seen[..60]), Err(Refusal::Short));
}

#[test]
fn what_has_no_header_is_data() {
    let digits: Vec<u8> = (b'0'..=b'9').cycle().take(1470).collect();
    for from in 0..10 {
        let first = digits[from..].first_chunk().unwrap();
        assert_eq!(Request::length(*first), Ok(None), "{from}");
    }
    assert_eq!(Request::read_datagram(&digits), Ok(Request::default()));
    assert_eq!(Request::read_datagram(&[]), Ok(Request::default()));
    let mut small = bytes("00000001 00000007 00000008 00000000 0002");
    assert_eq!(Request::read_datagram(&small).unwrap().begun, Some(Stamp { seconds: 7, micros: 8 }));
    small.truncate(17);
    assert_eq!(Request::read_datagram(&small).unwrap().begun, None);
}

#[test]
fn headers_that_lie_are_refused() {
    for (first, why) in [
        ("50010078", Refusal::Key),
        ("00800000", Refusal::BounceBack),
        ("40800000", Refusal::BounceBack),
        ("40010000", Refusal::Short),
        ("40010040", Refusal::Short),
        ("400101fe", Refusal::Short),
    ] {
        let length = Request::length(*bytes(first).first_chunk().unwrap());
        // The greatest length that can be said is one that is taken.
        assert_eq!(length.err(), (first != "400101fe").then_some(why), "{first}");
    }
    let mut times = bytes(PLAIN);
    times[33] = 0x10;
    assert_eq!(Request::read(&times), Err(Refusal::Short), "there is no room for the time");
    let mut frames = bytes(REVERSED);
    frames[33] = 1;
    assert_eq!(Request::read(&frames), Err(Refusal::Bursts));
    assert_eq!(Request::read(&bytes(PLAIN)[..59]), Err(Refusal::Short));
    assert_eq!(Request::read(&[]), Err(Refusal::Short));
}

#[test]
fn old_headers_have_their_first_half_alone() {
    let mut old = bytes(TRADED)[..24].to_vec();
    old[..4].copy_from_slice(&0x8000_0001u32.to_be_bytes());
    let request = Request::read(&old).unwrap();
    assert_eq!((request.ask, request.rate, request.version), (Ask::Dual, 0, None));
    assert!(!request.wants_ack);
}

#[test]
fn answers_are_as_iperf_writes_them() {
    let seen = bytes("00000002 0000001c 00000000 00020001 00080003 00000000 00000000");
    assert_eq!(Ack::bytes(None, Stamp::default()), seen);
    let stamp = Stamp { seconds: 1, micros: 2 };
    let long = Ack::bytes(Some((stamp, stamp)), stamp);
    assert_eq!((long.len(), word(&long, 4), word(&long, 44), word(&long, 48)), (52, 52, 1, 2));
}

#[test]
fn a_report_comes_back_as_it_was_written() {
    let spread = Spread { count: 9, sum: 0.5, least: -0.25, most: 1.5, mean: 0.125, squares: 1e-6 };
    let report = Report {
        bytes: 5 << 32 | 7,
        seconds: 10.25,
        datagrams: 3 << 32 | 9,
        lost: 1 << 33,
        out_of_order: 4,
        jitter: 0.000_017,
        latency: None,
    };
    for report in [report, Report { latency: Some((spread, 853)), ..report }] {
        let written = report.bytes();
        let read = Report::read(&written).unwrap();
        assert_eq!(read.bytes(), written);
        assert_eq!((read.bytes, read.lost, read.datagrams), (report.bytes, report.lost, report.datagrams));
        assert!((read.jitter - report.jitter).abs() < 1e-9 && (read.seconds - report.seconds).abs() < 1e-9);
        assert_eq!(read.latency.map(|(spread, rate)| (spread.least, rate)), report.latency.map(|_| (-0.25, 853)));
        assert_eq!(Report::read(&written[..127]), None);
    }
    assert_eq!(Report::read(&[0; 128]), None);
}

#[test]
fn times_are_spread() {
    let mut spread = Spread::default();
    for n in [2.0, 4.0, 6.0] {
        spread.add(n);
    }
    assert_eq!((spread.count, spread.least, spread.most, spread.mean), (3, 2.0, 6.0, 4.0));
    assert!((spread.deviation() - 2.0).abs() < 1e-12);
}

#[test]
fn blocks_with_times_say_their_size() {
    let burst = Burst { number: 3, size: 1000, sent: Stamp { seconds: 5, micros: 6 } };
    let mut block = vec![b'9'; 1000];
    burst.write(&mut block, Stamp { seconds: 4, micros: 0 }, 2000);
    assert_eq!(Burst::read(block.first_chunk().unwrap()), Some(burst));
    Burst { size: 91, ..burst }.write(&mut block, Stamp::default(), 0);
    assert_eq!(Burst::read(block.first_chunk().unwrap()), None);
}

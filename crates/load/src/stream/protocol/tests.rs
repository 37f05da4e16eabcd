//! Tests of the protocol's bytes: what iperf3 sends, and what nobody should.

use super::*;
use crate::stream::settings::{Direction, Settings, Transport};
use proptest::prelude::*;

#[test]
fn states_have_iperf3s_bytes() {
    for (state, byte) in
        [(State::TestStart, 1), (State::Done, 16), (State::AccessDenied, 0xff), (State::ServerError, 0xfe)]
    {
        assert_eq!((state.byte(), State::from_byte(byte)), (byte, Some(state)));
    }
    assert_eq!((0..=255).filter(|byte| State::from_byte(*byte).is_some()).count(), 12);
    assert!((0..=255).all(|byte| State::from_byte(byte).is_none_or(|state| state.byte() == byte)));
}

#[test]
fn a_cookie_is_36_letters_and_a_zero() {
    let mut seed = 0x9e37_79b9_7f4a_7c15_u64;
    let cookie = Cookie::new(|| {
        seed = seed.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
        seed
    });
    let text = cookie.to_string();
    assert!(text.len() == 36 && text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit()), "{text}");
    assert_eq!(cookie.bytes()[36], 0);
    assert!(text.bytes().collect::<std::collections::BTreeSet<_>>().len() > 10, "{text}");
    assert_eq!(Cookie::received([0x1b; 37]).to_string(), "", "nothing that a terminal would obey");
}

/// Parameters that `iperf3 -c … -u -R -P 2 -b 10M -l 1000` sends.
const SENT: &str = r#"{"udp":true,"omit":0,"time":1,"num":0,"blockcount":0,"parallel":2,"reverse":true,"len":1000,
"bandwidth":10000000,"pacing_timer":1000,"client_version":"3.12"}"#;

#[test]
fn parameters_of_iperf3_are_understood_and_ours_come_back_as_they_were() {
    let read = Parameters::read(SENT.as_bytes()).unwrap().0;
    let expected = Settings {
        transport: Transport::Udp,
        direction: Direction::Reverse,
        streams: 2,
        block: 1000,
        time: 1,
        rate: 10_000_000,
        ..Settings::default()
    };
    assert_eq!(read, expected);
    let all = Settings {
        transport: Transport::Tcp,
        direction: Direction::Both,
        streams: 128,
        block: 1,
        omit: 60,
        time: 0,
        bytes: 1 << 50,
        blocks: 7,
        rate: 1 << 40,
        burst: 1000,
        pacing: 9,
        mss: 9216,
        no_delay: true,
        window: 512 << 20,
        tos: 255,
        flow_label: 0xf_ffff,
        title: Some("t".into()),
        extra_data: Some("x".into()),
        congestion: Some("cubic".into()),
        server_output: true,
        wide_counters: true,
        repeating: true,
        zero_copy: true,
        dont_fragment: true,
        server_cpu: Some(3),
    };
    let sent = framed(&Parameters::of(&all)).unwrap();
    assert_eq!(u32::from_be_bytes(*sent.first_chunk().unwrap()) as usize, sent.len() - 4);
    assert_eq!(Parameters::read(&sent[4..]), Ok((all, None)));
    // cJSON writes large numbers as it likes.
    let read = Parameters::read(br#"{"tcp":true,"num":1e15,"parallel":1.9,"server_affinity":-1}"#).unwrap().0;
    assert_eq!((read.bytes, read.streams, read.server_cpu, read.block), (1_000_000_000_000_000, 1, None, 131_072));
}

#[test]
fn a_login_is_beside_the_settings() {
    let sent = framed(&Parameters::of(&Settings::default()).with(Some("QUJD".to_owned()))).unwrap();
    let text = std::str::from_utf8(&sent[4..]).unwrap();
    assert!(text.ends_with(r#","authtoken":"QUJD","client_version":"3.12"}"#), "{text}");
    assert_eq!(Parameters::read(&sent[4..]).unwrap().1.as_deref(), Some("QUJD"));
    let sent = framed(&Parameters::of(&Settings::default())).unwrap();
    assert!(!std::str::from_utf8(&sent[4..]).unwrap().contains("authtoken"));
    assert!(Parameters::read(SENT.as_bytes()).unwrap().1.is_none());
}

#[test]
fn parameters_that_no_test_can_have_are_refused() {
    for (json, why) in [
        (r#"{"tcp":true,"parallel":129}"#, "parallel is 129"),
        (r#"{"tcp":true,"parallel":1e300}"#, "parallel is "),
        (r#"{"tcp":true,"len":1048577}"#, "len is 1048577"),
        (r#"{"udp":true,"len":15}"#, "len is 15"),
        (r#"{"udp":true,"len":65508}"#, "len is 65508"),
        (r#"{"udp":true,"len":-1}"#, "negative"),
        (r#"{"udp":true,"len":-1.5}"#, "negative"),
        (r#"{"tcp":true,"omit":61}"#, "omit is 61"),
        (r#"{"tcp":true,"time":86401}"#, "time is 86401"),
        (r#"{"tcp":true,"window":536870913}"#, "window is "),
        (r#"{"tcp":true,"TOS":256}"#, "TOS is 256"),
        (r#"{"tcp":true,"flowlabel":1048576}"#, "flowlabel is "),
        (r#"{"tcp":true,"burst":1001}"#, "burst is 1001"),
        (r#"{"tcp":true,"MSS":9217}"#, "MSS is 9217"),
        (r#"{"sctp":true}"#, "SCTP"),
        (r#"{"tcp":true,"title":7}"#, "invalid type"),
        (r#"{"tcp":true,"authtoken":7}"#, "invalid type"),
        (r#"{"tcp":true,"num":{}}"#, "invalid type"),
        ("{", "EOF"),
        ("", "EOF"),
    ] {
        let refused = Parameters::read(json.as_bytes()).unwrap_err().to_string();
        assert!(refused.contains(why), "{json}: {refused}");
    }
    let deep = "[".repeat(100_000);
    assert!(Parameters::read(format!("{{\"x\":{deep}").as_bytes()).is_err());
}

/// Results that an iperf3 server sent after a test of two streams.
const RESULTS: &str = r#"{"cpu_util_total":17.5,"cpu_util_user":0.7,"cpu_util_system":16.8,"sender_has_retransmits":-1,
"congestion_used":"bbr","streams":[{"id":1,"bytes":1000,"retransmits":-1,"jitter":0,"errors":0,"packets":0,
"start_time":0,"end_time":1.004},{"id":3,"bytes":2000,"retransmits":4,"jitter":1e-05,"errors":3,"packets":7}]}"#;

#[test]
fn results_of_iperf3_are_understood_and_written_as_they_were() {
    let read = Results::read(RESULTS.as_bytes()).unwrap();
    assert_eq!((read.streams[0].retransmits, read.streams[1].retransmits), (None, Some(4)));
    assert_eq!((read.streams[1].id, read.streams[1].end_time), (Results::id(1), 0.0));
    assert_eq!((Results::id(0), read.sender_has_retransmits), (1, None));
    // As iperf3 3.12 writes -1.
    let max = RESULTS.replace(":-1", ":18446744073709551615");
    assert_eq!(Results::read(max.as_bytes()), Ok(read.clone()));
    assert_eq!(Results::read(&framed(&read).unwrap()[4..]), Ok(read));
    for json in [r#"{"streams":[]}"#, &RESULTS.replace("\"id\":1,", ""), &RESULTS.replace("1000", "-1000"), "7", ""] {
        assert!(Results::read(json.as_bytes()).is_err(), "{json}");
    }
}

#[test]
fn an_inbox_holds_what_came_and_refuses_what_is_too_long() {
    let mut inbox = Inbox::new(100);
    assert_eq!(inbox.wants(), Ok(4));
    inbox.take(&[0, 0]);
    assert_eq!(inbox.wants(), Ok(2));
    inbox.take(&[0, 3]);
    assert_eq!(inbox.wants(), Ok(3));
    inbox.take(b"{}");
    assert_eq!(inbox.wants(), Ok(1));
    inbox.take(b" ");
    assert_eq!((inbox.wants(), inbox.json()), (Ok(0), &b"{} "[..]));
    for (prefix, wants) in [([0xff; 4], Err(Malformed::Long(u32::MAX))), ([0, 0, 0, 101], Err(Malformed::Long(101)))] {
        let mut inbox = Inbox::new(100);
        inbox.take(&prefix);
        assert_eq!(inbox.wants(), wants);
    }
}

#[test]
fn headers_have_iperf3s_bytes() {
    let header = Header { sent_us: 3_000_007, number: 0x1_0000_0002 };
    let mut datagram = [9; 17];
    header.write(true, &mut datagram);
    assert_eq!(datagram, [0, 0, 0, 3, 0, 0, 0, 7, 0, 0, 0, 1, 0, 0, 0, 2, 9]);
    assert_eq!(Header::read(true, &datagram), Some(header));
    header.write(false, &mut datagram);
    assert_eq!(Header::read(false, &datagram), Some(Header { number: 2, ..header }));
    assert_eq!((Header::read(true, &datagram[..15]), Header::read(false, &datagram[..11])), (None, None));
    assert!(is_connect(&CONNECT) && !is_connect(&datagram) && !is_accepted(&CONNECT) && is_accepted(&reply(&CONNECT)));
    let old = 123_456_789_u32.to_ne_bytes();
    assert!(is_connect(&old) && reply(&old) == 987_654_321_u32.to_ne_bytes() && is_accepted(&reply(&old)));
}

proptest! {
    #[test]
    fn no_bytes_are_too_strange(bytes in prop::collection::vec(any::<u8>(), 0..200), wide: bool) {
        let _ = Parameters::read(&bytes);
        let _ = Results::read(&bytes);
        let _ = Header::read(wide, &bytes);
    }
}

//! IPv4 (RFC 791, RFC 1122), IPv6 (RFC 8200), fragments and path MTUs.

use crate::world::*;
use linerate_stack::{Config, Discard, SendError, Transmit};
use linerate_wire::{MacAddr, VlanTag};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

const PEER4: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);
const US4: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);

/// Type, code and the bytes after the checksum of an ICMP message.
fn parts(frame: &[u8]) -> (u8, u8, [u8; 4]) {
    let (kind, code, rest, _) = message(frame);
    (kind, code, rest)
}

fn echo(options: &[u8], edit: impl FnOnce(&mut [u8])) -> Vec<u8> {
    let message = icmp(peer4(), us4(), 8, 0, [1, 2, 3, 4], b"body");
    framed(&v4_with(PEER4, US4, ICMP, options, &message, edit))
}

#[test]
fn rfc1122_3_2_1_1_and_2_headers_that_are_wrong_are_dropped() {
    let mut world = World::new();
    let mut sum = echo(&[], |_| {});
    sum[24] ^= 1;
    world.drops(Discard::BadChecksum, &sum);
    for edit in
        [|h: &mut [u8]| h[0] = 0x55, |h: &mut [u8]| h[0] = 0x44, |h: &mut [u8]| h[3] = 19, |h: &mut [u8]| h[2] = 9]
    {
        world.drops(Discard::Malformed, &echo(&[], edit));
    }
    let whole = echo(&[], |_| {});
    world.drops(Discard::Malformed, &whole[..whole.len() - 1]);
    world.drops(Discard::Malformed, &whole[..33]);
    world.drops(Discard::Malformed, &whole[..13]);
    world.answer(&whole);
}

#[test]
fn ieee802_3_padding_is_not_part_of_the_packet() {
    let mut world = World::new();
    for (peer, us) in families() {
        let mut padded = ping(peer, us, b"x");
        let len = padded.len();
        padded.extend([0xaa; 20]);
        assert_eq!(world.answer(&padded).len(), len);
        let mut padded = datagram(peer, us, 99, b"x");
        let len = padded.len();
        padded.extend([0xaa; 20]);
        assert_eq!(message(&world.answer(&padded)).3, &padded[14..len], "nor is it quoted");
    }
}

#[test]
fn rfc1122_3_2_1_3_sources_that_cannot_be_are_dropped() {
    let mut world = World::new();
    let spoofed = ["0.0.0.0", "127.0.0.1", "224.0.0.1", "255.255.255.255", "10.0.0.255", "10.0.0.1"];
    for src in spoofed.into_iter().chain(["::1", "ff02::1", "fd00::1"]).map(ip) {
        let us = if src.is_ipv4() { us4() } else { us6() };
        world.drops(Discard::BadAddress, &ping(src, us, b""));
    }
}

#[test]
fn rfc1122_3_3_4_2_what_is_for_another_is_not_for_us() {
    let mut world = World::new();
    for (peer, dst) in [(peer4(), "10.0.0.3"), (peer4(), "127.0.0.1"), (peer6(), "fd00::3"), (peer6(), "::1")] {
        world.drops(Discard::NotForUs, &ping(peer, ip(dst), b""));
    }
    for group in ["224.0.0.5", "239.1.1.1"] {
        world.drops(Discard::NotForUs, &to(MacAddr([1, 0, 0x5e, 0, 0, 5]), ping(peer4(), ip(group), b"")));
    }
    world.drops(Discard::NotForUs, &to(MacAddr([0x33, 0x33, 0, 0, 0, 2]), ping(peer6(), ip("ff02::2"), b"")));
    world.drops(Discard::NotForUs, &to(MacAddr([2, 0, 0, 0, 0, 3]), ping(peer4(), us4(), b"")));
    let from_a_group = ethernet(MacAddr([3, 0, 0, 0, 0, 2]), US, 0x0800, &ping(peer4(), us4(), b"")[14..]);
    world.drops(Discard::BadAddress, &from_a_group);
    world.drops(Discard::NotForUs, &ethernet(PEER, US, 0x88cc, b"not IP"));
    world.drops(Discard::NotForUs, &ethernet(PEER, US, 6, b"\x42\x42\x03ABC"));
}

#[test]
fn rfc1122_3_3_6_what_came_by_a_broadcast_is_for_all_or_for_nobody() {
    let mut world = World::new();
    world.drops(Discard::BadAddress, &to(ALL, ping(peer4(), us4(), b"")));
    world.drops(Discard::BadAddress, &to(ALL, datagram(peer4(), us4(), 99, b"")));
}

#[test]
fn rfc1122_3_2_1_7_a_packet_at_its_end_is_still_for_us() {
    let mut world = World::new();
    for hops in [0, 1] {
        world.answer(&echo(&[], |header| header[8] = hops));
        let mut frame = ping(peer6(), us6(), b"");
        frame[21] = hops;
        world.answer(&frame);
    }
}

#[test]
fn rfc1122_3_2_1_8_options_are_stepped_over() {
    let mut world = World::new();
    for options in [&[1, 1, 1, 0][..], &[148, 4, 0, 0]] {
        let answer = world.answer(&echo(options, |_| {}));
        assert_eq!(message(&answer), (0, 0, [1, 2, 3, 4], &b"body"[..]));
    }
    // Whoever records is heard, whatever the packet carries.
    let id = world.bind(us4(), 7);
    for options in [&[7, 7, 4, 0, 0, 0, 0, 0][..], &[68, 8, 5, 0, 0, 0, 0, 0]] {
        let datagram = udp((peer4(), 4000), (us4(), 7), b"x");
        assert!(world.take(&framed(&v4_with(PEER4, US4, UDP, options, &datagram, |_| {}))).is_empty());
        assert!(world.recv(id).is_some());
    }
}

/// Header and message of an echo reply with options.
fn reply(frame: &[u8]) -> (&[u8], &[u8]) {
    let (header, message) = frame[14..].split_at(usize::from(frame[14] & 15) * 4);
    assert_eq!((header[9], checksum(&[header])), (ICMP, 0));
    (&header[20..], message)
}

#[test]
fn rfc1122_3_2_2_6_a_recorded_route_comes_back_with_our_address() {
    let mut world = World::new();
    // As ping -R asks: room for nine, of which the sender has taken the first.
    let mut options = vec![1, 7, 39, 8, 10, 0, 0, 2];
    options.resize(40, 0);
    let answer = world.answer(&echo(&options, |_| {}));
    let (recorded, message) = reply(&answer);
    assert_eq!(recorded[..11], [7, 39, 12, 10, 0, 0, 2, 10, 0, 0, 1]);
    assert_eq!((recorded.len(), &recorded[11..]), (40, &[0; 29][..]), "not truncated, and padded");
    assert_eq!((message[0], &message[8..]), (0, &b"body"[..]));
    assert_eq!((ends(&answer), stations(&answer)), ((us4(), peer4()), (US, PEER)));
}

#[test]
fn rfc791_3_1_a_timestamp_that_is_not_of_the_day_says_so() {
    let mut world = World::new();
    let answer = world.answer(&echo(&[68, 12, 5, 1, 0, 0, 0, 0, 0, 0, 0, 0], |_| {}));
    let (recorded, _) = reply(&answer);
    let ms = u32::from_be_bytes(recorded[8..].try_into().unwrap());
    assert_eq!((&recorded[..8], ms), (&[68, 12, 13, 1, 10, 0, 0, 1][..], 1_000_000 | 0x8000_0000));
    world.now += 5_000_000;
    let answer = world.answer(&echo(&[68, 8, 5, 0, 0, 0, 0, 0], |_| {}));
    assert_eq!(reply(&answer).0[4..], (1_000_005_u32 | 0x8000_0000).to_be_bytes());
}

#[test]
fn rfc791_3_1_what_was_recorded_is_in_the_first_fragment_of_a_reply() {
    let mut world = World::new();
    let message = icmp(peer4(), us4(), 8, 0, [1, 2, 3, 4], &pattern(1470));
    let options = [7, 7, 4, 0, 0, 0, 0, 0];
    let mut first = v4_with(PEER4, US4, ICMP, &options, &message[..1464], |header| header[6] = 0x20);
    assert!(world.take(&framed(&first)).is_empty());
    let last = v4_with(PEER4, US4, ICMP, &[], &message[1464..], |header| header[7] = 183);
    let sent = world.take(&framed(&last));
    assert_eq!(sent.len(), 2);
    let ((recorded, begin), (none, end)) = (reply(&sent[0]), reply(&sent[1]));
    assert_eq!((recorded, none), (&[7, 7, 8, 10, 0, 0, 1, 0][..], &[][..]));
    assert_eq!([begin, end].concat()[8..], pattern(1470));
    assert!(longest(&sent) <= 1500);
    // One that fits the link with its options goes whole.
    let message = icmp(peer4(), us4(), 8, 0, [1, 2, 3, 4], &pattern(1464));
    first = v4_with(PEER4, US4, ICMP, &options, &message, |_| {});
    assert_eq!((first.len(), world.answer(&framed(&first)).len()), (1500, 1514));
}

#[test]
fn rfc1122_3_2_2_5_a_record_that_cannot_be_is_a_parameter_problem() {
    let mut world = World::new();
    for (options, pointer) in [
        (&[7, 7, 3, 0, 0, 0, 0, 0][..], 22),
        (&[7, 7, 6, 0, 0, 0, 0, 0], 22),
        (&[7, 2, 0, 0], 21),
        (&[68, 8, 9, 0xf0, 0, 0, 0, 0], 23),
        (&[68, 8, 5, 1, 0, 0, 0, 0], 22),
    ] {
        let frame = echo(options, |_| {});
        let answer = world.answer(&frame);
        assert_eq!(message(&answer), (12, 0, [pointer, 0, 0, 0], &frame[14..]), "{options:?}");
    }
    assert_eq!(world.host.counters().discarded(Discard::Malformed), 5);
}

/// The longest IP packet among frames.
fn longest(frames: &[Vec<u8>]) -> usize {
    frames.iter().map(|frame| frame.len() - 14).max().unwrap()
}

#[test]
fn rfc7126_4_3_source_routes_are_dropped() {
    let mut world = World::new();
    for kind in [131, 137] {
        world.drops(Discard::BadAddress, &echo(&[kind, 7, 4, 10, 0, 0, 9, 0], |_| {}));
    }
}

#[test]
fn rfc1122_3_2_2_5_an_option_that_cannot_be_is_a_parameter_problem() {
    let mut world = World::new();
    let frame = echo(&[1, 1, 68, 9], |_| {});
    let answer = world.answer(&frame);
    assert_eq!(message(&answer), (12, 0, [22, 0, 0, 0], &frame[14..]), "it points to the option");
}

#[test]
fn rfc791_fragments_are_joined_in_any_order() {
    for (peer, us) in families() {
        let mut world = World::new();
        let (kind, protocol) = if peer.is_ipv4() { (8, ICMP) } else { (128, ICMPV6) };
        let body = pattern(4000);
        let frames = fragments(peer, us, protocol, &icmp(peer, us, kind, 0, [9, 9, 0, 1], &body), 1000);
        assert_eq!(frames.len(), 5);
        for order in [[0, 1, 2, 3, 4], [4, 3, 2, 1, 0], [2, 4, 0, 1, 3]] {
            let answers: Vec<_> = order.into_iter().flat_map(|i| world.take(&frames[i])).collect();
            assert_eq!(answers.len(), 3, "it is answered in fragments, too");
            let header = if peer.is_ipv4() { 34 } else { 62 };
            let whole: Vec<u8> = answers.iter().flat_map(|frame| frame[header..].to_vec()).collect();
            assert_eq!(whole[8..], body);
        }
        assert_eq!(world.host.counters().fragments, 12);
        assert_eq!(world.host.counters().echoes, 3);
    }
}

/// Linux takes it: small pieces come from a narrow link, or from who tests for what is dropped.
#[test]
fn rfc791_3_2_the_largest_datagram_is_joined_of_small_pieces_too() {
    for (peer, us) in families() {
        for room in [256, 8] {
            let mut world = World::new();
            let id = world.bind(us, 7);
            let body = pattern(65_507);
            let frames = fragments(peer, us, UDP, &udp((peer, 4000), (us, 7), &body), room);
            frames.iter().for_each(|frame| assert!(world.take(frame).is_empty()));
            let (came, _) = world.recv(id).unwrap_or_else(|| panic!("{room}: {:?}", world.host.counters()));
            assert!(came == body, "{room}");
        }
    }
}

#[test]
fn rfc1122_3_3_2_a_sender_is_told_that_fragments_were_late_if_the_first_came() {
    for (peer, us) in families() {
        let mut world = World::new();
        let datagram = udp((peer, 4000), (us, 7), &pattern(200));
        let frames = fragments(peer, us, UDP, &datagram, 64);
        assert!(world.take(&frames[0]).is_empty());
        assert!(world.later(59 * SECOND).is_empty());
        let told = world.later(SECOND).remove(0);
        let (kind, code, _, quoted) = message(&told);
        assert_eq!((kind, code), if peer.is_ipv4() { (11, 1) } else { (3, 1) });
        assert_eq!(quoted, &frames[0][14..]);
        assert_eq!(world.host.counters().discarded(Discard::Late), 1);
        // RFC 792: without the first fragment, no error is sent. Nor about a broadcast.
        assert!(world.take(&frames[1]).is_empty());
        assert!(world.later(61 * SECOND).is_empty());
        if peer.is_ipv4() {
            assert!(world.take(&to(ALL, fragments(peer, ip("10.0.0.255"), UDP, &datagram, 64).remove(0))).is_empty());
            assert!(world.later(61 * SECOND).is_empty());
        }
    }
}

/// RFC 1122, section 3.2.2; RFC 4443, section 2.4 e.1.
#[test]
fn late_fragments_of_an_error_bring_no_error() {
    for (peer, us) in families() {
        let mut world = World::new();
        let (kind, protocol) = if peer.is_ipv4() { (3, ICMP) } else { (1, ICMPV6) };
        let error = icmp(peer, us, kind, 1, [0; 4], &pattern(200));
        assert!(world.take(&fragments(peer, us, protocol, &error, 64)[0]).is_empty());
        assert!(world.later(61 * SECOND).is_empty());
        assert_eq!(world.host.counters().discarded(Discard::Late), 1);
    }
}

#[test]
fn rfc8200_4_5_fragments_that_cannot_be_are_parameter_problems() {
    let mut world = World::new();
    let problem = |world: &mut World, frame: &[u8]| {
        let answer = world.answer(frame);
        let (kind, code, pointer, quoted) = message(&answer);
        assert_eq!((kind, code, quoted), (4, 0, &frame[14..]));
        u32::from_be_bytes(pointer)
    };
    assert_eq!(problem(&mut world, &fragment(peer6(), us6(), UDP, (1, 0, true), &[0; 9])), 4, "the payload length");
    assert_eq!(problem(&mut world, &fragment(peer6(), us6(), UDP, (1, 65528, false), &[0; 9])), 42, "the offset");
    world.drops(Discard::Fragments, &fragment(peer4(), us4(), UDP, (1, 0, true), &[0; 9]));
    world.drops(Discard::Fragments, &fragment(peer4(), us4(), UDP, (1, 65528, false), &[0; 9]));
}

/// Fragments of a ping, which do not show whether they belong to an error: they cannot, as errors are never so long.
#[test]
fn rfc8200_4_5_a_fragment_beyond_the_longest_packet_is_told_whatever_it_carries() {
    for protocol in [UDP, ICMPV6, 132] {
        let mut world = World::new();
        let frame = fragment(peer6(), us6(), protocol, (1, 65_528, false), &[0; 16]);
        let answer = world.answer(&frame);
        assert_eq!(message(&answer), (4, 0, [0, 0, 0, 42], &frame[14..]), "it points to the fragment offset");
        // Behind destination options, which count: the payload length would be 65536.
        let behind = [&[44, 0, 1, 4, 0, 0, 0, 0, protocol, 0, 0xff, 0xf0, 0, 0, 0, 1][..], &[0; 8]].concat();
        let answer = world.answer(&framed(&packet(peer6(), us6(), 60, &behind)));
        assert_eq!(parts(&answer), (4, 0, [0, 0, 0, 50]), "{protocol}");
        // RFC 4443, section 2.4 f: no more of them than of other errors.
        let told: usize = (0..1000).map(|_| world.take(&frame).len()).sum();
        assert_eq!((told, world.host.counters().discarded(Discard::NoRoom)), (48, 952));
        assert_eq!(world.host.counters().discarded(Discard::Fragments), 1002);
        // Nor is anybody told about what went to all.
        let nodes = MacAddr([0x33, 0x33, 0, 0, 0, 1]);
        world.now += SECOND;
        world.drops(
            Discard::Fragments,
            &to(nodes, fragment(peer6(), ip("ff02::1"), protocol, (1, 65_528, false), &[0; 16])),
        );
    }
}

#[test]
fn rfc7112_5_a_first_fragment_without_all_headers_is_told() {
    let cut = |protocol: u8, piece: &[u8]| fragment(peer6(), us6(), protocol, (1, 0, true), piece);
    // No ICMP type at all, half of a header, half of an extension header, an unknown protocol without a byte.
    let (options, message) = ([ICMPV6, 1, 1, 12, 0, 0, 0, 0], icmp(peer6(), us6(), 128, 0, [0; 4], b""));
    for (protocol, piece) in
        [(ICMPV6, &[][..]), (ICMPV6, &message[..4]), (UDP, &[0; 7]), (6, &[0; 16]), (60, &options), (132, &[])]
    {
        let mut world = World::new();
        let frame = cut(protocol, piece);
        let answer = world.answer(&frame);
        assert_eq!(crate::world::message(&answer), (4, 3, [0; 4], &frame[14..]), "{protocol} {piece:?}");
        assert_eq!(world.host.counters().discarded(Discard::Malformed), 1);
        let told: usize = (0..1000).map(|_| world.take(&frame).len()).sum();
        assert_eq!((told, world.host.counters().discarded(Discard::NoRoom)), (49, 951));
    }
    let mut world = World::new();
    // With its header it waits for the others, and a later fragment need not have one.
    assert!(world.take(&cut(ICMPV6, &message)).is_empty());
    assert!(world.take(&fragment(peer6(), us6(), UDP, (2, 8, true), &[0; 8])).is_empty());
    // An error that shows what it is brings no other.
    let error = icmp(peer6(), us6(), 1, 0, [0; 4], b"");
    assert!(world.take(&cut(ICMPV6, &error[..4])).is_empty());
    assert_eq!(world.host.counters().errors_sent, 0);
}

#[test]
fn rfc5722_overlapping_fragments_are_given_up() {
    for (peer, us) in families() {
        let mut world = World::new();
        assert!(world.take(&fragment(peer, us, UDP, (1, 0, true), &[1; 64])).is_empty());
        world.drops(Discard::Fragments, &fragment(peer, us, UDP, (1, 32, false), &[2; 64]));
    }
}

#[test]
fn rfc791_what_is_longer_than_the_link_carries_goes_in_fragments() {
    for tag in [None, VlanTag::new(0, false, 7).ok()] {
        for (peer, us) in families() {
            let mut config = Config::new(US, 7);
            config.vlan = tag;
            let mut world = World::with(&config);
            world.host.neighbours().insert_permanent(peer, PEER).unwrap();
            let id = world.bind(us, 5000);
            let (ip_len, extra) = if peer.is_ipv4() { (20, 0) } else { (40, 8) };
            let whole = 1500 - ip_len - 8;
            let ethernet = if tag.is_some() { 18 } else { 14 };
            assert_eq!(world.send(id, (peer, 7), &pattern(whole)).remove(0).len(), 1500 + ethernet);
            let sent = world.send(id, (peer, 7), &pattern(whole + 1));
            assert_eq!(sent.len(), 2);
            let room = (1500 - ip_len - extra) / 8 * 8;
            assert_eq!(sent[0].len(), ethernet + ip_len + extra + room, "a multiple of 8 bytes of payload");
            assert_eq!(sent[1].len(), ethernet + ip_len + extra + whole + 9 - room);
            let ident = |frame: &[u8]| {
                frame[ethernet + if peer.is_ipv4() { 4 } else { 44 }..][..if peer.is_ipv4() { 2 } else { 4 }].to_vec()
            };
            assert_eq!(ident(&sent[0]), ident(&sent[1]));
            // RFC 6864, section 4.2; RFC 8200, section 4.5: the next datagram's is another.
            let next = world.send(id, (peer, 7), &pattern(whole + 1));
            assert_ne!(ident(&sent[0]), ident(&next[0]));
        }
    }
}

/// Identification and "don't fragment" of a frame with IPv4.
fn ident(frame: &[u8]) -> (u16, bool) {
    (u16::from_be_bytes([frame[18], frame[19]]), frame[20] & 0x40 != 0)
}

#[test]
fn rfc6864_4_1_what_is_not_to_be_fragmented_has_no_identification() {
    let mut world = World::new();
    world.host.neighbours().insert_permanent(peer4(), PEER).unwrap();
    let id = world.bind(us4(), 5000);
    // By the general path, by the socket's headers, and by headers that somebody keeps.
    let mut frames: Vec<Vec<u8>> = (0..3).flat_map(|_| world.send(id, (peer4(), 7), &pattern(100))).collect();
    let mut kept = world.host.udp_prepared(id).unwrap();
    for _ in 0..2 {
        assert_eq!(kept.send(world.now, b"kept", &mut world.ring), Some(true));
    }
    world.host.tcp_connect(world.now, None, SocketAddr::new(peer4(), 80)).unwrap();
    frames.extend(world.later(0));
    assert_eq!(frames.iter().map(|frame| ident(frame)).collect::<Vec<_>>(), [(0, true); 6]);
    assert_eq!(frames[5][23], 6);
    frames.iter().for_each(|frame| right(frame));
    // One that waits for its neighbour, too.
    world.send(id, (ip("10.0.0.9"), 7), b"waits");
    let late = world.take(&arp(2, (MacAddr([2, 0, 0, 0, 0, 9]), Ipv4Addr::new(10, 0, 0, 9)), (US, US4), US));
    assert_eq!(late.iter().map(|frame| ident(frame)).collect::<Vec<_>>(), [(0, true)]);
}

/// Nobody is told how much is sent to another, or what another will get (RFC 7739, section 4).
#[test]
fn rfc7739_5_3_identifications_of_one_host_say_nothing_of_anothers() {
    let mut begins = Vec::new();
    for seed in [7, 8] {
        let mut world = World::with(&Config::new(US, seed));
        for ((peer, us), other) in families().into_iter().zip(["10.0.0.77", "fd00::77"]) {
            let others = [peer, ip(other)];
            others.iter().for_each(|to| drop(world.host.neighbours().insert_permanent(*to, PEER).unwrap()));
            let id = world.bind(us, 5000);
            // Fragments of what we send, and of answers to echoes; over IPv4 answers that are no fragments, too.
            let fragments = |world: &mut World, to: IpAddr| {
                let at = if to.is_ipv4() { 18..20 } else { 58..62 };
                let sent = world.send(id, (to, 7), &pattern(2000)).remove(0);
                sent[at].iter().fold(0, |ident, byte| ident << 8 | u32::from(*byte))
            };
            let mask = if peer.is_ipv4() { 0xffff } else { u32::MAX };
            let first = others.map(|to| fragments(&mut world, to));
            for n in 1..=3 {
                for _ in 0..50 {
                    fragments(&mut world, others[1]);
                }
                assert_eq!(fragments(&mut world, peer), first[0].wrapping_add(n) & mask, "by one for each of its own");
            }
            assert!(first[0].wrapping_sub(first[1]) & mask > 200, "{first:?}");
            if peer.is_ipv4() {
                let answer = |world: &mut World, from| ident(&world.answer(&ping(from, us, b"echo")));
                let now = answer(&mut world, peer);
                assert_eq!(now, (u16::try_from(first[0].wrapping_add(4) & mask).unwrap(), false));
                for _ in 0..9 {
                    answer(&mut world, others[1]);
                }
                assert_eq!(answer(&mut world, peer).0, now.0.wrapping_add(1));
            }
            begins.extend(first);
        }
    }
    begins.sort_unstable();
    begins.dedup();
    assert_eq!(begins.len(), 8, "each pair of hosts, and each seed, has a beginning of its own");
}

/// Regression: what was in the ring already had been sent in vain, and filled the memory of who was to join it; the datagram was
/// sent once more from its beginning, and so it went on.
#[test]
fn fragments_for_which_there_is_no_room_are_sent_when_there_is_some() {
    for (peer, us) in families() {
        let mut world = World::new();
        let id = world.bind(us, 7);
        let (here, there): (SocketAddr, SocketAddr) = ((us, 7).into(), (peer, 7).into());
        let body = pattern(9000);
        let whole = world.send(id, (peer, 7), &body);
        let send = |world: &mut World| world.host.udp_send(world.now, id, Some(there), &body, &mut world.ring);
        let fill =
            |world: &mut World, room: u32| while world.ring.free() > room && world.ring.send(&[0; 60], &[], None) {};
        // None at all: nothing of it is sent, and nothing waits.
        fill(&mut world, 0);
        let sent = world.host.counters().udp_sent;
        assert_eq!((send(&mut world), world.host.wants_room()), (Err(SendError::NoRoom), false));
        assert_eq!(world.host.counters().udp_sent, sent);
        world.sent_with();
        // For some: it is accepted, and no other one is cut until the rest of it is on its way.
        fill(&mut world, 3);
        assert_eq!((send(&mut world), world.host.wants_room()), (Ok(()), true));
        assert_eq!(send(&mut world), Err(SendError::NoRoom));
        let mut frames = world.sent_with();
        frames.drain(..frames.len() - 3);
        fill(&mut world, 2);
        world.host.poll(world.now, &mut world.ring);
        assert!(world.host.wants_room());
        let more = world.sent_with();
        frames.extend(more.into_iter().skip_while(|(frame, _)| frame.len() == 60));
        frames.extend(world.later(0).into_iter().map(|frame| (frame, None)));
        assert!(!world.host.wants_room() && frames.len() == whole.len());
        let mut other = World::new();
        let id = other.bind(ip(if us.is_ipv4() { "0.0.0.0" } else { "::" }), 7);
        for (frame, _) in &frames {
            // The same frames, from the peer to us.
            let frame = swapped(frame, here.ip());
            assert!(other.take(&frame).is_empty());
        }
        assert_eq!(other.recv(id).unwrap().0, body);
        assert_eq!(world.host.counters().udp_sent, sent + 1);
    }
}

/// A frame as if its receiver had sent it.
fn swapped(frame: &[u8], us: IpAddr) -> Vec<u8> {
    let (at, len) = if us.is_ipv4() { (14 + 12, 4) } else { (14 + 8, 16) };
    let mut back = frame.to_vec();
    let (first, second) = back[at..at + 2 * len].split_at_mut(len);
    first.swap_with_slice(second);
    back[..6].copy_from_slice(&US.0);
    back[6..12].copy_from_slice(&PEER.0);
    back
}

#[test]
fn rfc8200_4_7_nothing_is_said_of_no_next_header() {
    let mut world = World::new();
    world.drops(Discard::NotForUs, &framed(&packet(peer6(), us6(), 59, b"")));
    world.drops(Discard::NotForUs, &framed(&packet(peer6(), us6(), 60, &[59, 0, 1, 4, 0, 0, 0, 0])));
}

#[test]
fn rfc8200_4_2_an_unknown_option_is_treated_as_it_says() {
    let mut world = World::new();
    let hop_by_hop = |option: u8, dst: IpAddr| {
        let message = icmp(peer6(), dst, 128, 0, [0; 4], b"");
        framed(&packet(peer6(), dst, 0, &[&[ICMPV6, 0, option, 4, 0, 0, 0, 0][..], &message].concat()))
    };
    let nodes = MacAddr([0x33, 0x33, 0, 0, 0, 1]);
    assert_eq!(message(&world.answer(&hop_by_hop(0x1e, us6()))).0, 129, "00: it is stepped over");
    world.drops(Discard::Malformed, &hop_by_hop(0x5e, us6()));
    for option in [0x9e, 0xde] {
        let (kind, code, pointer) = parts(&world.answer(&hop_by_hop(option, us6())));
        assert_eq!((kind, code, pointer), (4, 2, [0, 0, 0, 42]));
    }
    let to_all = |option| to(nodes, hop_by_hop(option, ip("ff02::1")));
    assert_eq!(message(&world.answer(&to_all(0x9e))).0, 4, "10: also to a group");
    world.drops(Discard::Malformed, &to_all(0xde));
}

#[test]
fn rfc4291_2_5_5_2_ipv4_addresses_in_ipv6_are_nobodys() {
    let mut world = World::new();
    let (mapped, other) = (ip("::ffff:10.0.0.1"), ip("::ffff:10.0.0.2"));
    world.drops(Discard::BadAddress, &ping(other, us6(), b""));
    world.drops(Discard::BadAddress, &ping(peer6(), mapped, b""));
    world.drops(Discard::NotForUs, &discovery(peer6(), group(), 135, 0, mapped, Some((1, PEER))));
    assert!(world.host.udp_bind((mapped, 7).into()).is_err());
    assert!(world.host.add_address("::ffff:10.0.0.9/96".parse().unwrap()).is_err());
    let id = world.bind(ip("::"), 7);
    let sent = world.host.udp_send(world.now, id, Some((other, 7).into()), b"x", &mut world.ring);
    assert_eq!(sent, Err(SendError::BadDestination));
}

#[test]
fn rfc5095_routing_headers_are_not_followed() {
    let mut world = World::new();
    let route = |left: u8| {
        let message = icmp(peer6(), us6(), 128, 0, [0; 4], b"");
        let header = [&[ICMPV6, 2, 0, left, 0, 0, 0, 0][..], &bytes(ip("fd00::9"))].concat();
        framed(&packet(peer6(), us6(), 43, &[&header[..], &message].concat()))
    };
    assert_eq!(message(&world.answer(&route(0))).0, 129);
    assert_eq!(parts(&world.answer(&route(1))).2, [0, 0, 0, 42], "it points to the type");
}

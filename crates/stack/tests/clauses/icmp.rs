//! ICMP (RFC 792, RFC 4443): echoes answered, errors sent, and errors accepted.

use crate::world::*;
use linerate_stack::{Discard, Route, SendError};
use linerate_wire::MacAddr;
use std::net::{IpAddr, SocketAddr};

/// Type and code of "port unreachable".
fn no_port(peer: IpAddr) -> (u8, u8) {
    if peer.is_ipv4() { (3, 3) } else { (1, 4) }
}

#[test]
fn rfc792_an_echo_comes_back_as_it_was() {
    for (peer, us) in families() {
        let mut world = World::new();
        for len in [0, 1, 56, 1400] {
            let answer = world.answer(&ping(peer, us, &pattern(len)));
            let kind = if peer.is_ipv4() { 0 } else { 129 };
            assert_eq!(message(&answer), (kind, 0, [0x12, 0x34, 0, 1], &pattern(len)[..]));
            assert_eq!((ends(&answer), stations(&answer)), ((us, peer), (US, PEER)));
        }
        let mut wrong = ping(peer, us, b"xy");
        *wrong.last_mut().unwrap() ^= 1;
        world.drops(Discard::BadChecksum, &wrong);
        assert_eq!(world.host.counters().echoes, 4);
    }
}

#[test]
fn rfc1122_3_2_2_6_an_echo_to_all_is_not_answered_over_ipv4() {
    let mut world = World::new();
    for all in ["255.255.255.255", "10.0.0.255"] {
        world.drops(Discard::NotForUs, &to(ALL, ping(peer4(), ip(all), b"")));
    }
    world.drops(Discard::NotForUs, &to(MacAddr([1, 0, 0x5e, 0, 0, 1]), ping(peer4(), ip("224.0.0.1"), b"")));
}

#[test]
fn rfc4443_4_2_an_echo_to_all_nodes_is_answered_from_our_own_address() {
    let mut world = World::new();
    let answer = world.answer(&to(MacAddr([0x33, 0x33, 0, 0, 0, 1]), ping(peer6(), ip("ff02::1"), b"x")));
    assert_eq!(ends(&answer), (us6(), peer6()));
    world.drops(Discard::BadAddress, &ping(ip("::"), us6(), b""));
}

#[test]
fn rfc1122_4_1_3_1_a_port_where_nobody_listens_is_told() {
    for (peer, us) in families() {
        let mut world = World::new();
        let asked = datagram(peer, us, 99, b"hello");
        let answer = world.answer(&asked);
        let (kind, code, rest, quoted) = message(&answer);
        assert_eq!(((kind, code), rest, quoted), (no_port(peer), [0; 4], &asked[14..]));
        assert_eq!(ends(&answer), (us, peer));
        assert_eq!(world.host.counters().errors_sent, 1);
        assert_eq!(world.host.counters().discarded(Discard::NoSocket), 1);
    }
}

#[test]
fn rfc1812_4_3_2_3_and_rfc4443_2_4c_as_much_as_fits_is_quoted() {
    for (peer, us) in families() {
        let mut world = World::new();
        let asked = datagram(peer, us, 99, &pattern(1400));
        let answer = world.answer(&asked);
        let (most, head) = if peer.is_ipv4() { (576, 28) } else { (1280, 48) };
        assert_eq!(answer.len(), 14 + most);
        assert_eq!(message(&answer).3, &asked[14..14 + most - head]);
    }
}

#[test]
fn rfc1122_3_2_2_1_and_rfc4443_3_4_an_unknown_protocol_is_told() {
    let mut world = World::new();
    let answer = world.answer(&framed(&packet(peer4(), us4(), 132, &[0; 12])));
    let (kind, code, ..) = message(&answer);
    assert_eq!((kind, code), (3, 2));
    let pointed = |world: &mut World, frame: Vec<u8>| {
        let answer = world.answer(&frame);
        let (kind, code, pointer, _) = message(&answer);
        assert_eq!((kind, code), (4, 1));
        u32::from_be_bytes(pointer)
    };
    assert_eq!(pointed(&mut world, framed(&packet(peer6(), us6(), 132, &[0; 12]))), 6);
    let behind = [&[132, 0, 1, 4, 0, 0, 0, 0][..], &[0; 12]].concat();
    assert_eq!(pointed(&mut world, framed(&packet(peer6(), us6(), 60, &behind))), 40);
}

#[test]
fn rfc1122_3_2_2_and_rfc4443_2_4e_nobody_is_told_about_errors() {
    let mut world = World::new();
    // Unknown options and protocols, in packets that carry errors.
    for kind in [3, 4, 5, 11, 12] {
        let error = icmp(peer4(), us4(), kind, 0, [0; 4], &[0; 28]);
        let (IpAddr::V4(src), IpAddr::V4(dst)) = (peer4(), us4()) else { unreachable!() };
        assert!(world.take(&framed(&v4_with(src, dst, ICMP, &[1, 1, 68, 9], &error, |_| {}))).is_empty());
    }
    for kind in [1, 2, 3, 4, 100, 137] {
        let error = icmp(peer6(), us6(), kind, 0, [0; 4], &[0; 48]);
        let behind = |kinds: &[u8]| {
            let mut chain: Vec<u8> = Vec::new();
            for (i, _) in kinds.iter().enumerate() {
                chain.extend([*kinds.get(i + 1).unwrap_or(&ICMPV6), 0, 0x9e, 4, 0, 0, 0, 0]);
            }
            framed(&packet(peer6(), us6(), kinds[0], &[&chain[..], &error].concat()))
        };
        for kinds in [&[0][..], &[60], &[0, 60]] {
            assert!(world.take(&behind(kinds)).is_empty(), "{kind} behind {kinds:?}");
        }
        // After an extension header of 24 bytes, which are no ICMP message.
        let long = [&[ICMPV6, 2, 0x9e, 20][..], &[0xff; 20], &error].concat();
        assert!(world.take(&framed(&packet(peer6(), us6(), 60, &long))).is_empty(), "{kind}");
    }
    assert_eq!(world.host.counters().errors_sent, 0);
}

#[test]
fn rfc1122_3_2_2_and_rfc4443_2_4e_nobody_is_told_about_what_went_to_all() {
    let mut world = World::new();
    for all in ["255.255.255.255", "10.0.0.255"] {
        world.drops(Discard::NoSocket, &to(ALL, datagram(peer4(), ip(all), 99, b"")));
    }
    world.drops(Discard::NoSocket, &to(MacAddr([1, 0, 0x5e, 0, 0, 1]), datagram(peer4(), ip("224.0.0.1"), 99, b"")));
    let nodes = MacAddr([0x33, 0x33, 0, 0, 0, 1]);
    world.drops(Discard::NoSocket, &to(nodes, datagram(peer6(), ip("ff02::1"), 99, b"")));
    world.drops(Discard::NoSocket, &to(nodes, datagram(peer6(), us6(), 99, b"")));
    // Nor is a sender without address told, even with a default route.
    world.host.set_route(Route { to: "::/0".parse().unwrap(), via: Some(peer6()) }).unwrap();
    world.drops(Discard::NoSocket, &datagram(ip("::"), us6(), 99, b""));
}

#[test]
fn rfc1812_4_3_2_8_errors_are_few() {
    for (peer, us) in families() {
        let mut world = World::new();
        let asked = datagram(peer, us, 99, b"");
        let told: usize = (0..1000).map(|_| world.take(&asked).len()).sum();
        assert_eq!(told, 50);
        assert_eq!(world.host.counters().discarded(Discard::NoRoom), 950);
        world.now += 10_000_000;
        assert_eq!((0..1000).map(|_| world.take(&asked).len()).sum::<usize>(), 10, "one more each millisecond");
        assert_eq!(world.host.counters().discarded(Discard::NoSocket), 2000);
        // Echo replies are not limited.
        world.answer(&ping(peer, us, b""));
    }
}

/// The peer's error about a datagram from our `port` to `to`.
fn error(peer: IpAddr, us: IpAddr, (kind, code): (u8, u8), rest: [u8; 4], port: u16, to: (IpAddr, u16)) -> Vec<u8> {
    icmp_frame(peer, us, kind, code, rest, &packet(us, to.0, UDP, &udp((us, port), to, b"xxxxxxxx")))
}

#[test]
fn rfc1122_4_1_3_3_errors_are_told_to_the_socket_that_is_meant() {
    for (peer, us) in families() {
        let mut world = World::new();
        let (id, free) = (world.bind(us, 5000), world.bind(us, 5001));
        world.host.udp_connect(id, Some(SocketAddr::new(peer, 7)));
        let send = |world: &mut World| world.host.udp_send(world.now, id, None, b"x", &mut world.ring);
        let unreachable = if peer.is_ipv4() { (3, 1) } else { (1, 3) };
        for (what, told) in [(no_port(peer), SendError::Refused), (unreachable, SendError::Unreachable)] {
            assert_eq!((send(&mut world), send(&mut world)), (Ok(()), Ok(())));
            world.sent();
            assert!(world.take(&error(peer, us, what, [0; 4], 5000, (peer, 7))).is_empty());
            assert_eq!(send(&mut world), Err(told), "also by the fast path");
            assert_eq!(send(&mut world), Ok(()), "once");
            world.sent();
            assert!(world.take(&error(peer, us, what, [0; 4], 5000, (peer, 7))).is_empty());
            assert_eq!(world.host.udp_error(id), Some(told));
            assert_eq!(world.host.udp_error(id), None);
        }
        assert_eq!(world.host.counters().errors_received, 4);
        // An error about another socket's datagram, or to an unconnected socket, is not reported.
        world.drops(Discard::NoSocket, &error(peer, us, no_port(peer), [0; 4], 5000, (peer, 8)));
        world.drops(Discard::NoSocket, &error(peer, us, no_port(peer), [0; 4], 4999, (peer, 7)));
        assert!(world.take(&error(peer, us, no_port(peer), [0; 4], 5001, (peer, 7))).is_empty());
        let foreign = packet(peer, us, UDP, &udp((peer, 5000), (us, 7), b"x"));
        let (kind, code) = no_port(peer);
        world.drops(Discard::BadAddress, &icmp_frame(peer, us, kind, code, [0; 4], &foreign));
        assert_eq!((send(&mut world), world.host.udp_error(free)), (Ok(()), None));
    }
}

#[test]
fn rfc6633_source_quench_and_redirects_change_nothing() {
    let mut world = World::new();
    let id = world.bind(us4(), 5000);
    world.host.udp_connect(id, Some(SocketAddr::new(peer4(), 7)));
    for kind in [4, 5] {
        let frame = error(peer4(), us4(), (kind, 0), [10, 0, 0, 9], 5000, (peer4(), 7));
        world.drops(Discard::NotForUs, &frame);
    }
    assert_eq!(world.host.udp_error(id), None);
}

/// "Too big: `mtu`", about a datagram from our port 5000 to the peer's port 7.
fn too_big(peer: IpAddr, us: IpAddr, mtu: u16) -> Vec<u8> {
    let what = if peer.is_ipv4() { (3, 4) } else { (2, 0) };
    let [a, b] = mtu.to_be_bytes();
    error(peer, us, what, [0, 0, a, b], 5000, (peer, 7))
}

/// The longest IP packet among frames.
fn longest(frames: &[Vec<u8>]) -> usize {
    frames.iter().map(|frame| frame.len() - 14).max().unwrap()
}

#[test]
fn rfc1191_and_rfc8201_a_narrow_path_is_minded() {
    for (peer, us) in families() {
        let mut world = World::new();
        let id = world.bind(us, 5000);
        let header = if peer.is_ipv4() { 28 } else { 48 };
        let body = pattern(1500 - header);
        assert_eq!(world.send(id, (peer, 7), &body).len(), 1);
        assert_eq!(world.send(id, (peer, 7), &body).len(), 1, "by the fast path");
        assert!(world.take(&too_big(peer, us, 1400)).is_empty());
        let sent = world.send(id, (peer, 7), &body);
        assert!(sent.len() == 2 && longest(&sent) <= 1400 && longest(&sent) > 1390, "{}", longest(&sent));
        assert!(world.take(&too_big(peer, us, 1450)).is_empty());
        assert!(longest(&world.send(id, (peer, 7), &body)) <= 1400, "a wider one is not believed");
        // Ten minutes later the full size is tried again (RFC 1191, section 6.3).
        world.now += 600 * SECOND;
        assert_eq!(world.send(id, (peer, 7), &body).len(), 1);
    }
}

#[test]
fn rfc8201_4_less_than_1280_is_not_believed() {
    let mut world = World::new();
    let id = world.bind(us6(), 5000);
    world.drops(Discard::Malformed, &too_big(peer6(), us6(), 1279));
    assert_eq!(world.send(id, (peer6(), 7), &pattern(1452)).len(), 1);
    assert!(world.take(&too_big(peer6(), us6(), 1280)).is_empty());
    assert_eq!(longest(&world.send(id, (peer6(), 7), &pattern(1452))), 1280);
}

#[test]
fn rfc1191_nobody_is_talked_into_splitting_to_dust() {
    let mut world = World::new();
    let id = world.bind(us4(), 5000);
    assert!(world.take(&too_big(peer4(), us4(), 68)).is_empty());
    let sent = world.send(id, (peer4(), 7), &pattern(1400));
    assert!(sent.len() == 3 && longest(&sent) == 548 + 4 - 4, "{}", longest(&sent));
    // A router before RFC 1191 reports no MTU.
    let mut world = World::new();
    let id = world.bind(us4(), 5000);
    assert!(world.take(&too_big(peer4(), us4(), 0)).is_empty());
    assert!(longest(&world.send(id, (peer4(), 7), &pattern(1400))) <= 576);
}

#[test]
fn rfc1191_only_who_was_sent_something_tells() {
    for (peer, us) in families() {
        let mut world = World::new();
        let id = world.bind(us, 5000);
        let what = if peer.is_ipv4() { (3, 4) } else { (2, 0) };
        let rest = [0, 0, 5, 0x78];
        world.drops(Discard::NoSocket, &error(peer, us, what, rest, 5001, (peer, 7)));
        let body = pattern(1500 - if peer.is_ipv4() { 28 } else { 48 });
        assert_eq!(world.send(id, (peer, 7), &body).len(), 1);
    }
}

#[test]
fn rfc8201_5_2_an_echo_that_was_too_long_comes_in_fragments_the_next_time() {
    let mut world = World::new();
    let asked = ping(peer6(), us6(), &pattern(1400));
    let answer = world.answer(&asked);
    let told = icmp_frame(peer6(), us6(), 2, 0, [0, 0, 5, 0], &answer[14..1200]);
    assert!(world.take(&told).is_empty());
    let sent = world.take(&asked);
    assert!(sent.len() == 2 && longest(&sent) <= 1280);
}

/// Errors about other messages than echo replies: nobody here sends any that a path could be too narrow for.
#[test]
fn rfc8201_4_an_error_about_what_was_not_sent_narrows_no_path() {
    for kind in [128, 1] {
        let mut world = World::new();
        let asked = ping(peer6(), us6(), &pattern(1400));
        let mut quoted = world.answer(&asked);
        quoted[54] = kind;
        assert!(world.take(&icmp_frame(peer6(), us6(), 2, 0, [0, 0, 5, 0], &quoted[14..1200])).is_empty());
        assert_eq!(longest(&world.take(&asked)), 1448, "type {kind}");
    }
}

#[test]
fn rfc791_an_echo_may_be_cut_on_its_way() {
    let mut world = World::new();
    let answer = world.answer(&ping(peer4(), us4(), &pattern(1400)));
    assert_eq!(answer[20..22], [0, 0], "no DF: nobody would send it again");
    let id = world.bind(us4(), 5000);
    assert_eq!(world.send(id, (peer4(), 7), b"x")[0][20..22], [0x40, 0], "RFC 1191: the path is being measured");
}

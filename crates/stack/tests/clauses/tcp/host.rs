//! Connections of a host: with itself, over both families, to neighbours that are not known, and what it asks of its adapter.

use crate::world::*;
use linerate_ring::Meta;
use linerate_stack::tcp::{MtuSearch, State, TcpId, TcpListenerId, Tso};
use linerate_stack::{Config, Discard, Fills, SendError};
use std::net::SocketAddr;

/// Reads all that is there.
fn read(world: &mut World, id: TcpId) -> Vec<u8> {
    let mut buffer = vec![0; 1 << 20];
    let n = world.host.tcp_read(id, &mut buffer).unwrap();
    buffer.truncate(n);
    buffer
}

/// A host that connects to itself: nothing leaves it, and bytes, ends and resets arrive.
#[test]
fn a_host_talks_with_itself() {
    for us in [us4(), us6()] {
        let mut world = World::new();
        let listener = world.host.tcp_listen(SocketAddr::new(us, 80), 4).unwrap();
        let ours = world.host.tcp_connect(world.now, None, SocketAddr::new(us, 80)).unwrap();
        let settle = |world: &mut World| {
            for _ in 0..200 {
                assert_eq!(world.later(50_000_000 / 200), Vec::<Vec<u8>>::new(), "nothing leaves");
            }
        };
        settle(&mut world);
        let (theirs, from) = world.host.tcp_accept(listener).unwrap();
        assert_eq!((from.ip(), world.host.tcp_state(ours).unwrap().0), (us, State::Established));
        assert_eq!(world.host.tcp_ends(theirs).unwrap(), (SocketAddr::new(us, 80), from));
        let sent = pattern(100_000);
        assert_eq!(world.host.tcp_write(ours, &sent), Some(100_000));
        settle(&mut world);
        assert!(read(&mut world, theirs) == sent, "{us}");
        let count = world.host.counters();
        assert!(count.tcp_sent > 70 && count.looped >= count.tcp_sent - 1, "{us}: {count:?}");
        // One that has read all closes; the other has more to say before it does.
        world.host.tcp_close(theirs);
        assert_eq!(world.host.tcp_write(ours, b"last"), Some(4));
        settle(&mut world);
        assert!(world.host.tcp_connection(ours).unwrap().is_at_end());
        assert_eq!(read(&mut world, theirs), b"last");
        world.host.tcp_close(ours);
        settle(&mut world);
        assert_eq!(world.host.tcp_state(ours).unwrap().0, State::Closed);
        // Where nobody listens is told.
        let refused = world.host.tcp_connect(world.now, None, SocketAddr::new(us, 81)).unwrap();
        settle(&mut world);
        assert_eq!(world.host.tcp_state(refused).unwrap().1.unwrap().to_string(), "connection refused");
    }
}

/// A connection over each family from the peer, whose segments are made by hand.
fn accepted(world: &mut World, peer: std::net::IpAddr, us: std::net::IpAddr) -> (TcpId, u32) {
    let listener = world.host.tcp_listen(SocketAddr::new(us, 80), 4).unwrap();
    accepted_from(world, listener, (peer, us), 4000)
}

/// One from a port of the peer's.
fn accepted_from(
    world: &mut World,
    listener: TcpListenerId,
    (peer, us): (std::net::IpAddr, std::net::IpAddr),
    port: u16,
) -> (TcpId, u32) {
    let first = let_in(world, (peer, us), port).unwrap();
    (world.host.tcp_accept(listener).unwrap().0, first)
}

/// The handshake of one that nobody has accepted yet: our first number, or None if it is not answered.
fn let_in(world: &mut World, ends: (std::net::IpAddr, std::net::IpAddr), port: u16) -> Option<u32> {
    let syn = super::segment::Segment::read(&format!("<SEQ=300><CTL=SYN><MSS=1400><PORT={port}>")).unwrap();
    world.host.handle(world.now, &syn.frame(ends, 80, &[]), None, &mut world.ring);
    world.host.poll(world.now, &mut world.ring);
    let answer = world.sent_with().into_iter().find_map(|(frame, _)| super::segment::Segment::parse(&frame))?;
    let first = answer.seq.wrapping_add(1);
    hear(world, ends, (port, 301, first), &[]);
    Some(first)
}

/// A segment with data comes: its port, number and acknowledgement.
fn hear(world: &mut World, ends: (std::net::IpAddr, std::net::IpAddr), (port, seq, ack): (u16, u32, u32), data: &[u8]) {
    let mut segment = super::segment::Segment::read(&format!("<SEQ={seq}><ACK=0><PORT={port}>")).unwrap();
    segment.ack = ack;
    world.host.handle(world.now, &segment.frame(ends, 80, data), None, &mut world.ring);
    world.host.poll(world.now, &mut world.ring);
}

/// Super-frames are handed down whole to an adapter that segments, with all that it needs to know.
#[test]
fn super_frames_are_handed_down() {
    for (peer, us) in families() {
        let mut config = Config::new(US, 7);
        config.fills = Fills { v4: true, v6: true };
        let mut world = World::with(&config);
        world.host.neighbours().insert_permanent(peer, PEER).unwrap();
        let v4 = peer.is_ipv4();
        world.host.set_tso(Tso { v4, v6: !v4, slots: 64 });
        let (id, first) = accepted(&mut world, peer, us);
        world.host.tcp_write(id, &pattern(7000)).unwrap();
        world.host.poll(world.now, &mut world.ring);
        let slots = world.sent_with();
        let frame: Vec<u8> = slots.iter().flat_map(|(slot, _)| slot.clone()).collect();
        let meta = slots[0].1.unwrap();
        let (ip, header) = if v4 { (14, 20) } else { (14, 40) };
        let tcp = ip + header;
        assert_eq!(
            (meta.gso_type, meta.gso_size),
            (if v4 { Meta::GSO_TCPV4 } else { Meta::GSO_TCPV6 }, 1400),
            "{peer}"
        );
        assert_eq!((meta.flags, usize::from(meta.csum_start), meta.csum_offset), (Meta::NEEDS_CSUM, tcp, 16), "{peer}");
        assert_eq!((usize::from(meta.hdr_len), frame.len()), (tcp + 20, tcp + 20 + 7000), "{peer}");
        assert!(frame[tcp + 20..] == pattern(7000) && frame[tcp + 4..tcp + 8] == first.to_be_bytes(), "{peer}");
        // An adapter that does not segment is given segments, of the other family too.
        world.host.set_tso(Tso { v4: !v4, v6: v4, slots: 64 });
        world.host.tcp_write(id, &pattern(2800)).unwrap();
        world.host.poll(world.now, &mut world.ring);
        let sizes: Vec<_> =
            world.sent_with().into_iter().map(|(frame, meta)| (frame.len(), meta.unwrap().gso_size)).collect();
        assert_eq!(sizes, [(tcp + 20 + 1400, 0); 2], "{peer}");
    }
}

/// A probe of the path (RFC 4821, section 7.5) is a segment of its own size, whatever the adapter segments.
#[test]
fn probes_of_the_path_are_no_super_frames() {
    for (peer, us) in families() {
        let mut world = World::new();
        world.host.set_tso(Tso { v4: true, v6: true, slots: 64 });
        world.host.tcp_config().mtu_search = MtuSearch::Always;
        let (id, _) = accepted(&mut world, peer, us);
        world.host.tcp_write(id, &pattern(20_000)).unwrap();
        world.host.poll(world.now, &mut world.ring);
        let slots = world.sent_with();
        let head = if peer.is_ipv4() { 14 + 20 + 20 } else { 14 + 40 + 20 };
        // Half-way from what nearly all paths take to the peer's 1400.
        let (usual, probe) = if peer.is_ipv4() { (1024, 1212) } else { (1220, 1310) };
        let cut = |at: usize| slots[at].1.map_or(0, |meta: Meta| meta.gso_size);
        assert_eq!((slots[0].0.len(), cut(0), cut(1)), (head + probe, 0, usual), "{peer}");
    }
}

/// Super-frames that wait for their neighbour are cut by the stack, whatever the adapter can do: flags and numbers are those of segments.
#[test]
fn segments_wait_for_their_neighbour() {
    let (peer, us) = families()[0];
    let mut world = World::alone();
    world.host.neighbours().insert_permanent(peer, PEER).unwrap();
    world.host.set_tso(Tso { v4: true, v6: true, slots: 64 });
    let (id, first) = accepted(&mut world, peer, us);
    world.sent();
    assert!(world.host.neighbours().remove(peer));
    world.host.tcp_write(id, &pattern(4200)).unwrap();
    world.host.tcp_close(id);
    let asked = world.later(0);
    assert_eq!(asked.len(), 1, "who has the peer");
    let reply = arp(2, (PEER, "10.0.0.2".parse().unwrap()), (US, "10.0.0.1".parse().unwrap()), US);
    let frames = world.take(&reply);
    let segments: Vec<_> = frames.iter().filter_map(|frame| super::segment::Segment::parse(frame)).collect();
    let told: Vec<_> = segments.iter().map(|s| (s.seq.wrapping_sub(first), s.data, s.ctl)).collect();
    assert_eq!(told, [(0, 1400, 0x10), (1400, 1400, 0x10), (2800, 1400, 0x19)]);
    let data: Vec<u8> = segments.iter().flat_map(|s| s.payload.clone()).collect();
    assert!(data == pattern(4200));
}

/// RFC 1122, section 4.2.3.9: a neighbour that never answers is told to the connection whose segments waited for it, as an ICMP
/// error would be; nothing of that counts as received.
#[test]
fn a_connection_hears_that_its_neighbour_never_answered() {
    for (peer, us) in families() {
        let mut world = World::alone();
        world.later(10 * SECOND);
        let id = world.host.tcp_connect(world.now, None, SocketAddr::new(peer, 80)).unwrap();
        let begun = world.now;
        let state = |world: &World| world.host.tcp_state(id).unwrap();
        while let (State::SynSent, Some(at)) = (state(&world).0, world.host.poll_timeout()) {
            assert!(at < begun + 9 * SECOND, "{us}");
            let sent = world.later(at.saturating_sub(world.now));
            assert!(sent.iter().all(|frame| super::segment::Segment::parse(frame).is_none()), "{us}");
        }
        // Three requests, a second apart.
        assert_eq!((world.now - begun) / SECOND, 3, "{us}");
        assert_eq!(state(&world).1.unwrap().to_string(), "host unreachable", "{us}");
        assert_eq!((world.host.counters().errors_received, world.host.counters().unexplained()), (0, 0), "{us}");
        // One that is made goes on.
        world.host.neighbours().insert_permanent(peer, PEER).unwrap();
        let (id, _) = accepted(&mut world, peer, us);
        world.host.neighbours().remove(peer);
        world.host.tcp_write(id, b"x").unwrap();
        for _ in 0..10 {
            world.later(SECOND);
        }
        assert_eq!(world.host.tcp_state(id).unwrap(), (State::Established, None), "{us}");
    }
}

/// A buffer that is handed over is copied into frames alone, is sent again from where it lies, and is given back when all of it
/// is acknowledged; with what was copied before and behind it, the stream is whole.
#[test]
fn a_buffer_is_sent_from_where_it_lies() {
    let [(peer, us), _] = families();
    let mut world = World::new();
    world.host.neighbours().insert_permanent(peer, PEER).unwrap();
    let (id, first) = accepted(&mut world, peer, us);
    let whole = pattern(3000 + 100_000 + 10);
    let buffer = bytes::Bytes::from(whole[3000..103_000].to_vec());
    assert_eq!(world.host.tcp_write(id, &whole[..3000]), Some(3000));
    let mut left = buffer.clone();
    assert_eq!((world.host.tcp_write_chunk(id, &mut left), left.len()), (Some(100_000), 0));
    let mut short = bytes::Bytes::copy_from_slice(&whole[103_000..]);
    assert_eq!((world.host.tcp_write_chunk(id, &mut short), short.len()), (Some(10), 0), "it is copied");
    let (mut came, mut acked, mut again) = (vec![None; whole.len()], 0, 0);
    for _ in 0..1000 {
        if acked == whole.len() {
            break;
        }
        world.host.poll(world.now, &mut world.ring);
        let segments: Vec<_> = world
            .sent()
            .iter()
            .filter_map(|frame| super::segment::Segment::parse(frame))
            .filter(|s| s.data > 0)
            .collect();
        for segment in segments {
            let at = segment.seq.wrapping_sub(first) as usize;
            // The first time, one is lost; it comes when its time is over.
            if at == 42_000 && again == 0 {
                again = 1;
                continue;
            }
            for (place, byte) in came[at..].iter_mut().zip(&segment.payload) {
                *place = Some(*byte);
            }
        }
        let known = came.iter().position(Option::is_none).unwrap_or(whole.len());
        if known == acked {
            world.now += 1_000_000_000;
            continue;
        }
        acked = known;
        assert!(!buffer.is_unique() || acked >= 103_000, "{acked}");
        let mut ack = super::segment::Segment::read("<SEQ=301><ACK=0><WIN=60000>").unwrap();
        ack.ack = first.wrapping_add(u32::try_from(acked).unwrap());
        world.host.handle(world.now, &ack.frame((peer, us), 80, &[]), None, &mut world.ring);
    }
    assert!(came.iter().map(|byte| byte.unwrap()).eq(whole) && again == 1);
    assert!(buffer.is_unique());
    assert_eq!(world.host.tcp_connection(id).unwrap().unacknowledged(), 0);
    world.host.tcp_close(id);
    assert_eq!(world.host.tcp_write_chunk(id, &mut buffer.clone()), None);
}

/// CWR stands in the first segment of a super-frame alone (RFC 3168, section 6.1.2), whoever cuts it: the adapter is told, and
/// what waits for its neighbour is cut here.
#[test]
fn a_reduction_is_told_by_the_first_segment_alone() {
    for waits in [false, true] {
        let (peer, us) = families()[0];
        let mut world = World::alone();
        world.host.tcp_config().pacing = false;
        world.host.neighbours().insert_permanent(peer, PEER).unwrap();
        world.host.set_tso(Tso { v4: true, v6: true, slots: 64 });
        let listener = world.host.tcp_listen(SocketAddr::new(us, 80), 4).unwrap();
        let come = |world: &mut World, text: &str, ack: u32| {
            let mut segment = super::segment::Segment::read(text).unwrap();
            segment.ack = ack;
            world.host.handle(world.now, &segment.frame((peer, us), 80, &[]), None, &mut world.ring);
            world.host.poll(world.now, &mut world.ring);
            world.sent_with()
        };
        let answer = come(&mut world, "<SEQ=300><CTL=SYN,ECE,CWR><MSS=1400>", 0).remove(0).0;
        let first = super::segment::Segment::parse(&answer).unwrap().seq.wrapping_add(1);
        come(&mut world, "<SEQ=301><ACK=0>", first);
        let (id, _) = world.host.tcp_accept(listener).unwrap();
        world.host.tcp_write(id, &pattern(4200)).unwrap();
        world.host.poll(world.now, &mut world.ring);
        assert_eq!(world.sent_with()[0].1.unwrap().gso_type, Meta::GSO_TCPV4);
        assert_eq!(come(&mut world, "<SEQ=301><ACK=0><CTL=ECE>", first + 4200).len(), 0);
        if waits {
            assert!(world.host.neighbours().remove(peer));
        }
        world.host.tcp_write(id, &pattern(2800)).unwrap();
        world.host.poll(world.now, &mut world.ring);
        if !waits {
            let (frame, meta) = world.sent_with().remove(0);
            assert_eq!(meta.unwrap().gso_type, Meta::GSO_TCPV4 | Meta::GSO_ECN);
            assert_eq!(super::segment::Segment::parse(&frame).unwrap().ctl & 0x80, 0x80);
            continue;
        }
        assert_eq!(world.sent().len(), 1, "who has the peer");
        let reply = arp(2, (PEER, "10.0.0.2".parse().unwrap()), (US, "10.0.0.1".parse().unwrap()), US);
        let segments = world.take(&reply).iter().filter_map(|f| super::segment::Segment::parse(f)).collect::<Vec<_>>();
        assert_eq!(segments.iter().map(|s| (s.data, s.ctl & 0x80)).collect::<Vec<_>>(), [(1400, 0x80), (1400, 0)]);
    }
}

/// Headers that a connection keeps are made anew when something changes that they depend on: the neighbour's address, ours, the
/// route, the MTU, and that the neighbour is known.
#[test]
fn kept_headers_follow_what_they_depend_on() {
    for (peer, us) in families() {
        let mut world = World::new();
        world.host.neighbours().insert_permanent(peer, PEER).unwrap();
        let (id, first) = accepted(&mut world, peer, us);
        let other = |last| linerate_wire::MacAddr([2, 0, 0, 0, 9, last]);
        let (mut said, mut heard) = (first, 301_u32);
        // Sends so much, which the peer acknowledges; what goes out.
        let mut send = |world: &mut World, n: u16| {
            world.host.tcp_write(id, &pattern(n.into())).unwrap();
            world.host.poll(world.now, &mut world.ring);
            let frames = world.sent();
            said = said.wrapping_add(n.into());
            let mut ack = super::segment::Segment::read(&format!("<SEQ={heard}><ACK=0><DATA=1>")).unwrap();
            (ack.ack, heard) = (said, heard + 1);
            world.host.handle(world.now, &ack.frame((peer, us), 80, &[7]), None, &mut world.ring);
            world.later(50_000_000);
            frames
        };
        let macs = |frame: &[u8]| (frame[..6].to_vec(), frame[6..12].to_vec());
        let to = |frames: &[Vec<u8>]| frames.iter().map(|frame| macs(frame)).collect::<Vec<_>>();
        let pair = |to: linerate_wire::MacAddr, from: linerate_wire::MacAddr| (to.0.to_vec(), from.0.to_vec());
        assert_eq!(to(&send(&mut world, 10)), [pair(PEER, US)], "{peer}");
        world.host.neighbours().insert_permanent(peer, other(1)).unwrap();
        assert_eq!(to(&send(&mut world, 10)), [pair(other(1), US)], "{peer}: a neighbour's other address");
        let router = if peer.is_ipv4() { "10.0.0.77".parse().unwrap() } else { "fe80::77".parse().unwrap() };
        world.host.neighbours().insert_permanent(router, other(3)).unwrap();
        let whole = linerate_stack::Cidr::new(peer, if peer.is_ipv4() { 32 } else { 128 }).unwrap();
        world.host.set_route(linerate_stack::Route { to: whole, via: Some(router) }).unwrap();
        assert_eq!(to(&send(&mut world, 10)), [pair(other(3), US)], "{peer}: a route");
        world.host.set_mtu(1300).unwrap();
        let two = 2 * (1300 - if peer.is_ipv4() { 40 } else { 60 });
        let sizes: Vec<_> = send(&mut world, two).iter().map(Vec::len).collect();
        assert_eq!(sizes, [1314; 2], "{peer}: a smaller MTU");
        assert!(world.host.remove_route(whole));
        assert!(world.host.neighbours().remove(peer));
        let asks = send(&mut world, 10);
        assert!(asks.iter().all(|frame| super::segment::Segment::parse(frame).is_none()), "{peer}: who has it");
        world.host.neighbours().insert_permanent(peer, PEER).unwrap();
        world.later(3_000_000_000);
        // What comes for the address before is not ours any more.
        world.host.set_mac(other(2));
        world.host.tcp_write(id, &pattern(2000)).unwrap();
        world.host.poll(world.now, &mut world.ring);
        assert_eq!(to(&world.sent())[0], pair(PEER, other(2)), "{peer}: our other address");
    }
}

/// RSTs for segments of no connection are limited: 64 in a millisecond.
#[test]
fn resets_for_nobody_are_limited() {
    let (peer, us) = families()[0];
    let mut world = World::new();
    let stray = super::segment::Segment::read("<SEQ=300><ACK=5><DATA=0>").unwrap().frame((peer, us), 9, &[]);
    for moment in 0..2 {
        let answer = |world: &mut World| {
            world.now += 1000;
            world.take(&stray).len()
        };
        let answers: usize = (0..100).map(|_| answer(&mut world)).sum();
        assert_eq!(answers, 64, "moment {moment}");
        world.now += 1_000_000;
    }
    assert_eq!(world.host.counters().discarded(Discard::NoSocket), 200);
}

/// Room that was told is there, though memory has become little since: echo reads what it can write, and writes it then.
#[test]
fn room_that_was_told_is_there() {
    let (peer, us) = families()[0];
    let mut config = Config::new(US, 7);
    config.tcp_memory = 30_000;
    let mut world = World::with(&config);
    world.host.neighbours().insert_permanent(peer, PEER).unwrap();
    let listener = world.host.tcp_listen(SocketAddr::new(us, 80), 4).unwrap();
    let (quiet, _) = accepted_from(&mut world, listener, (peer, us), 4000);
    let (busy, first) = accepted_from(&mut world, listener, (peer, us), 4001);
    assert_eq!(world.host.tcp_connection(quiet).unwrap().room(), 256 << 10);
    let mut data = super::segment::Segment::read("<SEQ=301><ACK=0><PORT=4001>").unwrap();
    data.ack = first;
    world.host.handle(world.now, &data.frame((peer, us), 80, &pattern(60_000)), None, &mut world.ring);
    world.host.poll(world.now, &mut world.ring);
    assert!(world.host.tcp_memory() > 30_000);
    let room = |world: &World, id| world.host.tcp_connection(id).unwrap().room();
    assert_eq!((room(&world, quiet), room(&world, busy)), (256 << 10, 256 << 10), "not looked at since");
    assert_eq!(world.host.tcp_write(quiet, &pattern(20_000)), Some(20_000));
    world.host.poll(world.now, &mut world.ring);
    assert_eq!(room(&world, quiet), 0, "it has more than it would have now");
}

/// Regression: connections of one peer that never read, or were never read from, took all memory, and nobody else was let in.
#[test]
fn one_origin_leaves_memory_to_others() {
    const MEMORY: usize = 8 << 20;
    const MANY: u16 = 110;
    let (near, far) = ((peer6(), us6()), (ip("fd00:0:0:1::2"), ip("fd00:0:0:1::1")));
    for (attacker, honest) in [(families()[0], (ip("10.0.0.3"), us4())), (near, far)] {
        for reads in [false, true] {
            let mut config = Config::new(US, 7);
            config.tcp_memory = MEMORY;
            let mut world = World::with(&config);
            world.host.add_address("fd00:0:0:1::1/64".parse().unwrap()).unwrap();
            for (peer, _) in [attacker, honest] {
                world.host.neighbours().insert_permanent(peer, PEER).unwrap();
            }
            let any = if attacker.0.is_ipv4() { ip("0.0.0.0") } else { ip("::") };
            let listener = world.host.tcp_listen(SocketAddr::new(any, 80), 1000).unwrap();
            // All are let in while they hold nothing, and accepted without a turn between.
            let all: Vec<_> = (0..MANY).map(|n| let_in(&mut world, attacker, 4000 + n).unwrap()).collect();
            for (n, first) in (0..).zip(all) {
                let (id, _) = world.host.tcp_accept(listener).unwrap();
                if reads {
                    hear(&mut world, attacker, (4000 + n, 301, first), &pattern(60_000));
                    let most = if n < 96 { 60_000 } else { 16 << 10 };
                    assert_eq!(world.host.tcp_connection(id).unwrap().readable(), most, "connection {n}");
                } else {
                    while world.host.tcp_write(id, &pattern(60_000)).unwrap() > 0 {}
                    // What has made memory little may not fill it.
                    let most = match n {
                        ..23 => 256 << 10,
                        23 => 180_000,
                        _ => 16 << 10,
                    };
                    assert_eq!(world.host.tcp_connection(id).unwrap().unacknowledged(), most, "connection {n}");
                }
            }
            while !world.later(0).is_empty() {}
            let held = world.host.tcp_memory();
            assert!((MEMORY / 4 * 3..MEMORY).contains(&held), "{attacker:?}: {held} bytes, {reads}");
            assert_eq!(let_in(&mut world, attacker, 9000), None, "one more of the same origin");
            // A newcomer has what it had without the others.
            let (id, first) = accepted_from(&mut world, listener, honest, 4000);
            assert_eq!(world.host.tcp_write(id, &pattern(256 << 10)), Some(256 << 10), "{honest:?}");
            hear(&mut world, honest, (4000, 301, first), &pattern(60_000));
            assert_eq!(read(&mut world, id).len(), 60_000, "{honest:?}");
        }
    }
}

/// Calls that change nothing for the peer have nothing sent, and are no news to who made them.
#[test]
fn calls_that_say_nothing_wake_nobody() {
    let (peer, us) = families()[0];
    let mut world = World::new();
    let (id, first) = accepted(&mut world, peer, us);
    let mut data = super::segment::Segment::read("<SEQ=301><ACK=0>").unwrap();
    data.ack = first;
    world.host.handle(world.now, &data.frame((peer, us), 80, &pattern(100)), None, &mut world.ring);
    world.host.poll(world.now, &mut world.ring);
    assert_eq!((world.host.tcp_news(), world.host.tcp_news()), (Some(id), None));
    // Its acknowledgement is due later, whatever was read.
    let due = world.host.poll_timeout();
    assert!(due.is_some_and(|due| due > world.now));
    assert_eq!(world.host.tcp_read(id, &mut [0; 10]), Some(10));
    assert_eq!(world.host.tcp_write(id, &[]), Some(0));
    assert_eq!(world.host.poll_timeout(), due);
    world.host.poll(world.now, &mut world.ring);
    assert_eq!(world.host.tcp_news(), None);
}

/// A host that ends waits for a reset that is still to be sent.
#[test]
fn a_reset_is_owed_until_it_is_sent() {
    let (peer, us) = families()[0];
    let mut world = World::new();
    let (id, _) = accepted(&mut world, peer, us);
    assert_eq!(world.host.tcp_unsent(), (0, 0));
    assert!(world.host.tcp_abort(id));
    assert_eq!(world.host.tcp_unsent(), (1, 0));
    world.host.poll(world.now, &mut world.ring);
    assert_eq!((world.sent().len(), world.host.tcp_unsent()), (1, (0, 0)));
}

/// Nobody connects to all, to a group or to no port (RFC 9293, section 3.9.2.3), nor from one family to the other.
#[test]
fn destinations_that_cannot_be_are_refused() {
    let mut world = World::new();
    let connect = |world: &mut World, from: Option<&str>, to: &str| {
        let from = from.map(|from| from.parse().unwrap());
        world.host.tcp_connect(world.now, from, to.parse().unwrap()).unwrap_err()
    };
    for to in ["0.0.0.0:7", "224.0.0.1:7", "255.255.255.255:7", "10.0.0.255:7", "10.0.0.2:0", "[::]:7", "[ff02::1]:7"] {
        assert_eq!(connect(&mut world, None, to), SendError::BadDestination, "{to}");
    }
    assert_eq!(connect(&mut world, Some("10.0.0.1:5"), "[fd00::2]:7"), SendError::BadDestination);
    assert_eq!(connect(&mut world, None, "8.8.8.8:7"), SendError::NoRoute);
}

/// Settings of connections to come are the same in all shards that are made then.
#[test]
fn shards_have_the_same_settings() {
    let mut world = World::new();
    world.host.tcp_config().linger = 7;
    assert_eq!(world.host.shard().tcp_config().linger, 7);
}

/// A full ring holds segments back; they go when there is room. Looks at the full ring are no news of the connection: who waits
/// for it would be called without end.
#[test]
fn a_full_ring_holds_segments_back() {
    let (peer, us) = families()[0];
    let mut world = World::new();
    let (id, _) = accepted(&mut world, peer, us);
    let free = world.ring.free();
    let fill = |world: &mut World, to| {
        while world.ring.free() > to {
            assert!(linerate_stack::Transmit::send(&mut world.ring, &[0; 60], &[], None));
        }
    };
    fill(&mut world, 3);
    while world.host.tcp_news().is_some() {}
    world.host.tcp_write(id, &pattern(7000)).unwrap();
    assert!(!world.host.wants_room());
    world.host.poll(world.now, &mut world.ring);
    assert!(world.host.wants_room() && world.ring.free() == 0);
    assert_ne!(world.host.poll_timeout(), Some(0), "no time makes room");
    assert_eq!(world.host.tcp_news(), Some(id));
    let sent = world.sent_with().len() - (free as usize - 3);
    assert_eq!(sent, 3);
    fill(&mut world, 0);
    for _ in 0..3 {
        world.host.poll(world.now, &mut world.ring);
        assert!(world.host.wants_room());
        assert_eq!(world.host.tcp_news(), None);
    }
    // Room for all that the connection may have under way.
    let _ = world.sent_with();
    world.host.poll(world.now, &mut world.ring);
    assert!(!world.host.wants_room());
    assert_eq!(world.host.tcp_news(), Some(id));
    assert_eq!(world.sent().len(), 2);
}

/// Regression: an acknowledgement that was due while the ring was full was due again at once, so that its thread turned without end.
#[test]
fn an_acknowledgement_waits_for_room_without_a_time() {
    for ends in families() {
        let mut world = World::new();
        let (_, first) = accepted(&mut world, ends.0, ends.1);
        while linerate_stack::Transmit::send(&mut world.ring, &[0; 60], &[], None) {}
        // Out of order: acknowledged at once (RFC 5681, section 4.2).
        for seq in [1701, 3101] {
            hear(&mut world, ends, (4000, seq, first), &pattern(1400));
            assert!(world.host.wants_room() && world.host.poll_timeout().is_none_or(|at| at > world.now), "{seq}");
        }
        let _ = world.sent_with();
        world.host.poll(world.now, &mut world.ring);
        assert!(!world.sent().is_empty() && !world.host.wants_room());
    }
}

/// Segments for a connection that another shard makes are kept for it, in its order and no more than so much, until that is not
/// expected any more: then it is for nobody.
#[test]
fn answers_that_another_shard_expects_are_kept_for_it() {
    let (peer, us) = families()[0];
    let (local, remote) = (SocketAddr::new(us, 5000), SocketAddr::new(peer, 4000));
    let mut world = World::new();
    let answer = super::segment::Segment::read("<SEQ=300><ACK=777><CTL=SYN>").unwrap().frame((peer, us), 5000, &[]);
    assert!(world.host.tcp_expect(local, remote));
    assert!(!world.host.tcp_expect(local, remote), "somebody expects it already");
    for _ in 0..70 {
        world.host.handle(world.now, &answer, None, &mut world.ring);
    }
    let kept: Vec<_> = std::iter::from_fn(|| world.host.tcp_stray()).collect();
    assert_eq!((kept.len(), kept[0].ends()), (64, (local, remote)));
    // What was too much is answered as if it were for nobody.
    assert_eq!(world.sent().len(), 6);
    world.host.tcp_expect_no_more(local, remote);
    assert_eq!(world.take(&answer).len(), 1);
    assert!(world.host.tcp_stray().is_none());
}

/// A cookie is all shards', and so is the key of those that are given (RFC 7413). A server that answers what came with SYN sends
/// more than one segment before the connection is in its shard.
#[test]
fn shards_share_cookies_of_fast_open() {
    let (peer, us) = families()[0];
    let remote = SocketAddr::new(peer, 4000);
    let mut first = World::new();
    let mut second = World::alone();
    second.host = first.host.shard();
    let connects = |world: &mut World, port: u16| {
        let local = Some(SocketAddr::new(us, port));
        let (id, taken) = world.host.tcp_connect_with(world.now, local, remote, &pattern(500)).unwrap();
        world.host.poll(world.now, &mut world.ring);
        let syn = world.sent().iter().find_map(|frame| super::segment::Segment::parse(frame)).unwrap();
        assert_eq!(taken, 500);
        (id, syn)
    };
    let answer = |world: &World, id: TcpId, syn: &super::segment::Segment, text: &str| {
        let mut answer = super::segment::Segment::read(text).unwrap();
        answer.ack = syn.seq.wrapping_add(1 + u32::try_from(syn.data).unwrap());
        answer.frame((peer, us), world.host.tcp_ends(id).unwrap().0.port(), &pattern(answer.data))
    };
    let (id, syn) = connects(&mut first, 5000);
    assert_eq!((syn.cookie.as_deref(), syn.data), (Some(&[][..]), 0));
    let gives = answer(&first, id, &syn, "<SEQ=300><ACK=0><CTL=SYN><MSS=1400><FO=01020304>");
    first.take(&gives);
    first.host.poll(first.now, &mut first.ring);
    // The other one has it.
    let (id, syn) = connects(&mut second, 5001);
    assert_eq!((syn.cookie.as_deref(), syn.data), (Some(&[1, 2, 3, 4][..]), 500));
    let (ours, _) = second.host.tcp_ends(id).unwrap();
    assert!(first.host.tcp_expect(ours, remote));
    let answers = ["<SEQ=300><ACK=0><CTL=SYN>", "<SEQ=301><ACK=0><DATA=900>"].map(|a| answer(&second, id, &syn, a));
    first.sent();
    answers.iter().for_each(|frame| first.host.handle(first.now, frame, None, &mut first.ring));
    let strays: Vec<_> = std::iter::from_fn(|| first.host.tcp_stray()).collect();
    assert_eq!(strays.len(), 2);
    let moving = second.host.tcp_take_out(id).unwrap();
    let id = first.host.tcp_put_in(first.now, moving, &strays).unwrap();
    first.host.poll(first.now, &mut first.ring);
    assert!(first.host.tcp_connection(id).unwrap().is_fast_open());
    assert_eq!(read(&mut first, id), pattern(900));
    // Cookies that one gives are good for another.
    let mut given = None;
    for world in [&mut first, &mut second] {
        let listener = world.host.tcp_listen(SocketAddr::new(us, 80), 4).unwrap();
        assert!(world.host.tcp_fast_open(listener, 4));
        let mut syn = super::segment::Segment::read("<SEQ=300><CTL=SYN><FO=><DATA=70><PORT=4100>").unwrap();
        syn.cookie = given.or(syn.cookie);
        world.host.handle(world.now, &syn.frame((peer, us), 80, &pattern(70)), None, &mut world.ring);
        world.host.poll(world.now, &mut world.ring);
        let sent: Vec<_> = world
            .sent()
            .iter()
            .filter_map(|frame| super::segment::Segment::parse(frame))
            .filter(|s| s.port == 4100)
            .collect();
        given = sent[0].cookie.clone();
        let accepted = world.host.tcp_accept(listener);
        assert_eq!(accepted.is_some(), given.is_none(), "at once where the cookie is known");
    }
    assert_eq!(given, None);
}

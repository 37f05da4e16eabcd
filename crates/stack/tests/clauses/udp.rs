//! UDP (RFC 768, RFC 1122, section 4.1; RFC 8200, section 8.1), and datagrams from the host to itself.

use crate::world::*;
use linerate_ring::{Meta, Region, RegionConfig, Sharing, TxRing};
use linerate_stack::{Config, Discard, Fills, Path, SendError, Traffic};
use linerate_wire::MacAddr;
use std::net::{IpAddr, SocketAddr};

fn any(like: IpAddr) -> IpAddr {
    if like.is_ipv4() { ip("0.0.0.0") } else { ip("::") }
}

#[test]
fn rfc768_a_datagram_reaches_its_socket_and_an_answer_its_sender() {
    for (peer, us) in families() {
        let mut world = World::new();
        let id = world.bind(any(us), 7);
        for len in [0, 1, 100, 1400] {
            assert!(world.take(&datagram(peer, us, 7, &pattern(len))).is_empty());
            assert_eq!(world.recv(id), Some((pattern(len), SocketAddr::new(peer, 4000))));
            let sent = world.send(id, (peer, 4000), &pattern(len));
            assert_eq!((ends(&sent[0]), stations(&sent[0])), ((us, peer), (US, PEER)));
            assert_eq!(sent[0][if peer.is_ipv4() { 34 } else { 54 }..], udp((us, 7), (peer, 4000), &pattern(len)));
        }
    }
}

/// Made anew, by the kept headers, and in fragments.
#[test]
fn rfc2474_3_datagrams_are_of_their_sockets_traffic_class() {
    for (peer, us) in families() {
        let mut world = World::new();
        let id = world.bind(us, 7);
        world.send(id, (peer, 4000), b"x");
        assert!(world.host.udp_set_traffic(id, Traffic::new(0xb8, 0x1_2345)));
        for len in [100, 100, 4000] {
            let sent = world.send(id, (peer, 4000), &pattern(len));
            assert_eq!(sent.len(), if len == 4000 { 3 } else { 1 });
            for frame in sent {
                let expected: &[u8] = if peer.is_ipv4() { &[0x45, 0xb8] } else { &[0x6b, 0x81, 0x23, 0x45] };
                assert_eq!(&frame[14..14 + expected.len()], expected, "{len} bytes");
            }
        }
        assert!(world.host.counters().udp_fast > 0);
    }
}

#[test]
fn rfc1122_4_1_3_4_a_wrong_checksum_is_dropped() {
    for (peer, us) in families() {
        let mut world = World::new();
        let id = world.bind(any(us), 7);
        let good = datagram(peer, us, 7, b"hello");
        let header = if peer.is_ipv4() { 34 } else { 54 };
        // The ports, the checksum and the body; a wrong length is tested elsewhere.
        for at in (header..good.len()).filter(|at| !(header + 4..header + 6).contains(at)) {
            let mut wrong = good.clone();
            wrong[at] ^= 0x10;
            world.drops(Discard::BadChecksum, &wrong);
        }
        assert_eq!(world.recv(id), None);
    }
}

#[test]
fn rfc768_and_rfc8200_8_1_no_checksum_is_for_ipv4_only() {
    let mut world = World::new();
    let ids = families().map(|(_, us)| world.bind(any(us), 7));
    let [v4, v6] = families().map(|(peer, us)| {
        let mut datagram = udp((peer, 4000), (us, 7), b"hello");
        datagram[6..8].fill(0);
        framed(&packet(peer, us, UDP, &datagram))
    });
    assert!(world.take(&v4).is_empty());
    assert_eq!(world.recv(ids[0]).unwrap().0, b"hello");
    world.drops(Discard::BadChecksum, &v6);
    let verified = Some(Meta { flags: Meta::DATA_VALID, ..Meta::default() });
    world.host.handle(world.now, &v6, verified, &mut world.ring);
    assert_eq!((world.recv(ids[1]), world.host.counters().discarded(Discard::BadChecksum)), (None, 2));
}

#[test]
fn rfc768_lengths_are_minded() {
    for (peer, us) in families() {
        let mut world = World::new();
        let id = world.bind(any(us), 7);
        let with_length = |len: u16| {
            let mut datagram = udp((peer, 4000), (us, 7), b"hello");
            datagram[4..6].copy_from_slice(&len.to_be_bytes());
            framed(&packet(peer, us, UDP, &datagram))
        };
        for len in [0, 7, 14, 65535] {
            world.drops(Discard::Malformed, &with_length(len));
        }
        world.drops(Discard::Malformed, &framed(&packet(peer, us, UDP, &[0; 7])));
        // Bytes of the IP payload after the datagram do not belong to it.
        let longer = [udp((peer, 4000), (us, 7), b"hello"), vec![0xaa; 9]].concat();
        assert!(world.take(&framed(&packet(peer, us, UDP, &longer))).is_empty());
        assert_eq!(world.recv(id).unwrap().0, b"hello");
    }
}

#[test]
fn what_the_adapter_has_verified_is_not_summed_again() {
    let mut world = World::new();
    let id = world.bind(us4(), 7);
    let mut unfilled = datagram(peer4(), us4(), 7, b"hello");
    unfilled[40] ^= 0xff;
    for (flags, reaches) in [(0, false), (Meta::DATA_VALID, true), (Meta::NEEDS_CSUM, true)] {
        let meta = Some(Meta { flags, ..Meta::default() });
        world.host.handle(world.now, &unfilled, meta, &mut world.ring);
        assert_eq!(world.recv(id).is_some(), reaches, "{flags}");
    }
    // A segment of another protocol is not delivered to a socket, whatever its bytes look like.
    for (peer, us) in families() {
        let id = world.bind(us, 9);
        let like = datagram(peer, us, 9, b"hello");
        let header = if us.is_ipv4() { 34 } else { 54 };
        let meta = Some(Meta { flags: Meta::DATA_VALID, ..Meta::default() });
        world.host.handle(world.now, &like, meta, &mut world.ring);
        assert!(world.recv(id).is_some());
        world.host.handle(world.now, &framed(&packet(peer, us, 6, &like[header..])), meta, &mut world.ring);
        assert_eq!(world.recv(id), None);
    }
    // The adapter has seen fragments only.
    for frame in fragments(peer4(), us4(), UDP, &unfilled[34..], 8) {
        let meta = Some(Meta { flags: Meta::DATA_VALID, ..Meta::default() });
        world.host.handle(world.now, &frame, meta, &mut world.ring);
    }
    assert_eq!((world.recv(id), world.host.counters().discarded(Discard::BadChecksum)), (None, 2));
}

#[test]
fn what_the_adapter_fills_in_is_asked_for_by_place_and_prepared() {
    for (peer, us) in families() {
        let mut config = Config::new(US, 7);
        config.fills = Fills { v4: true, v6: true };
        let mut world = World::with(&config);
        world.host.neighbours().insert_permanent(peer, PEER).unwrap();
        let id = world.bind(us, 7);
        for round in 0..3 {
            world.host.udp_send(world.now, id, Some((peer, 9).into()), b"hello", &mut world.ring).unwrap();
            let (mut frame, meta) = world.sent_with().remove(0);
            let meta = meta.unwrap();
            let start = usize::from(meta.csum_start);
            assert_eq!((meta.flags, meta.csum_offset), (Meta::NEEDS_CSUM, 6));
            assert_eq!(start, if peer.is_ipv4() { 34 } else { 54 });
            // The adapter's work: the sum from the start to the end, stored at the offset.
            let sum = checksum(&[&frame[start..]]);
            frame[start + 6..start + 8].copy_from_slice(&sum.to_be_bytes());
            right(&frame);
            assert_eq!(world.host.counters().udp_fast, round);
        }
        // Fragments and datagrams for ourselves are not offloaded to the adapter.
        world.host.udp_send(world.now, id, Some((peer, 9).into()), &[1; 3000], &mut world.ring).unwrap();
        assert!(world.sent_with().iter().all(|(_, meta)| meta.is_none()));
    }
}

/// The fast path takes whatever a slot carries.
#[test]
fn long_datagrams_take_the_fast_path_too() {
    let mut config = Config::new(US, 7);
    config.mtu = 9000;
    let mut world = World::with(&config);
    let region =
        RegionConfig { buf_size: 16384, buffers: 70, ring_bytes: 65536, sharing: Sharing::Private, huge: false };
    world.ring = TxRing::new(&Region::new(&region).unwrap(), 0, 64).unwrap();
    for (peer, us) in families() {
        world.host.neighbours().insert_permanent(peer, PEER).unwrap();
        let before = world.host.counters().udp_fast;
        let id = world.bind(us, 7);
        for _ in 0..3 {
            assert_eq!(world.send(id, (peer, 9), &pattern(8000)).len(), 1);
        }
        assert_eq!(world.host.counters().udp_fast - before, 2, "{peer}");
    }
}

#[test]
fn rfc768_a_sum_of_zero_is_sent_as_all_ones() {
    for (peer, us) in families() {
        let sum = |frame: &[u8]| {
            let at = if peer.is_ipv4() { 40 } else { 60 };
            u16::from_be_bytes([frame[at], frame[at + 1]])
        };
        // A body that complements the sum of the rest.
        let zeros = udp((us, 7), (peer, 9), &[0, 0]);
        for path in [Path::Long, Path::Flow, Path::Fast] {
            let mut world = World::new();
            world.host.set_path(path);
            let id = world.bind(us, 7);
            for _ in 0..2 {
                assert_eq!(sum(&world.send(id, (peer, 9), &zeros[6..8])[0]), 0xffff, "{path:?}");
            }
            let counters = world.host.counters();
            assert_eq!(
                (counters.udp_flow, counters.udp_fast),
                (u64::from(path == Path::Flow), u64::from(path == Path::Fast))
            );
        }
    }
}

#[test]
fn a_full_socket_is_counted_and_nothing_else_suffers() {
    for (peer, us) in families() {
        let mut config = Config::new(US, 7);
        config.inbox = 16_384;
        let mut world = World::with(&config);
        world.host.neighbours().insert_permanent(peer, PEER).unwrap();
        let (full, other) = (world.bind(us, 7), world.bind(us, 9));
        for _ in 0..100 {
            assert!(world.take(&datagram(peer, us, 7, &[1; 1000])).is_empty());
        }
        assert_eq!((world.host.udp_waiting(full), world.host.counters().discarded(Discard::QueueFull)), (16, 84));
        assert!(world.take(&datagram(peer, us, 9, b"x")).is_empty());
        assert_eq!(world.recv(other).unwrap().0, b"x");
        assert_eq!(world.recv(full).unwrap().0, [1; 1000]);
        assert!(world.take(&datagram(peer, us, 7, b"again")).is_empty());
        assert_eq!(world.host.udp_waiting(full), 16);
        // Empty datagrams are bounded, too.
        (0..1000).for_each(|_| drop(world.take(&datagram(peer, us, 9, b""))));
        assert_eq!(world.host.udp_waiting(other), 16_384 / 64);
    }
}

/// A packet that IP refuses is refused too if it looks like a whole datagram for an open socket.
#[test]
fn no_short_way_leads_past_ip() {
    let mut world = World::new();
    let id = world.bind(us4(), 7);
    let body = udp((peer4(), 4000), (us4(), 7), b"sixteen bytes!!!");
    let (IpAddr::V4(src), IpAddr::V4(dst)) = (peer4(), us4()) else { unreachable!() };
    let routed = v4_with(src, dst, UDP, &[131, 7, 4, 10, 0, 0, 9, 0], &body, |_| {});
    world.drops(Discard::BadAddress, &framed(&routed));
    world.drops(Discard::BadAddress, &to(ALL, datagram(peer4(), us4(), 7, b"x")));
    for (offset, more) in [(0, true), (64, false)] {
        assert!(world.take(&fragment(peer4(), us4(), UDP, (1, offset, more), &body)).is_empty());
    }
    assert_eq!((world.recv(id), world.host.counters().fragments), (None, 2));
    let id = world.bind(us6(), 7);
    let body = udp((peer6(), 4000), (us6(), 7), b"sixteen bytes!!!");
    for (offset, more) in [(0, true), (64, false)] {
        assert!(world.take(&fragment(peer6(), us6(), UDP, (1, offset, more), &body)).is_empty());
    }
    assert_eq!((world.recv(id), world.host.counters().fragments), (None, 4));
}

#[test]
fn a_connected_socket_hears_its_peer_only() {
    for (peer, us) in families() {
        let mut world = World::new();
        let id = world.bind(us, 7);
        world.host.udp_connect(id, Some(SocketAddr::new(peer, 4001)));
        world.answer(&datagram(peer, us, 7, b"from port 4000"));
        world.host.udp_connect(id, Some(SocketAddr::new(peer, 4000)));
        assert!(world.take(&datagram(peer, us, 7, b"x")).is_empty());
        assert_eq!(world.recv(id).unwrap().0, b"x");
    }
}

#[test]
fn rfc1122_3_3_6_broadcasts_reach_who_listens_at_all_addresses() {
    let mut world = World::new();
    let (all, one) = (world.bind(ip("0.0.0.0"), 7), world.bind(us4(), 8));
    for to_all in ["255.255.255.255", "10.0.0.255"].map(ip) {
        assert!(world.take(&to(ALL, datagram(peer4(), to_all, 7, b"x"))).is_empty());
        assert_eq!(world.recv(all), Some((b"x".to_vec(), "10.0.0.2:4000".parse().unwrap())));
        world.drops(Discard::NoSocket, &to(ALL, datagram(peer4(), to_all, 8, b"x")));
    }
    assert_eq!(world.recv(one), None);
    let v6 = world.bind(ip("::"), 7);
    let nodes = MacAddr([0x33, 0x33, 0, 0, 0, 1]);
    assert!(world.take(&to(nodes, datagram(peer6(), ip("ff02::1"), 7, b"x"))).is_empty());
    assert_eq!(world.recv(v6).unwrap().0, b"x");
}

#[test]
fn rfc1112_6_1_and_rfc3493_5_2_groups_are_one_hop_away() {
    let mut world = World::new();
    let (v4, v6) = (world.bind(us4(), 7), world.bind(us6(), 7));
    for _ in 0..2 {
        let sent = world.send(v4, (ip("239.1.2.3"), 7), b"x").remove(0);
        assert_eq!((sent[22], stations(&sent).1), (1, MacAddr([1, 0, 0x5e, 1, 2, 3])));
        let sent = world.send(v6, (ip("ff02::1:2"), 7), b"x").remove(0);
        assert_eq!((sent[21], stations(&sent).1), (1, MacAddr([0x33, 0x33, 0, 1, 0, 2])));
        assert_eq!(world.send(v4, (peer4(), 7), b"x")[0][22], 64);
    }
    // In fragments, which may be fragmented further: one hop too.
    let fragments = world.send(v4, (ip("239.1.2.3"), 7), &[7; 4000]);
    assert_eq!(fragments.len(), 3);
    assert!(fragments.iter().all(|sent| (sent[22], sent[20] & 0x40) == (1, 0)));
    assert!(world.host.poll_timeout().is_none(), "groups that we are not in are not heard");
}

#[test]
fn rfc3927_2_6_2_link_local_addresses_are_asked_for_whatever_the_routes_say() {
    let mut world = World::new();
    let via = Some(ip("10.0.0.9"));
    world.host.set_route(linerate_stack::Route { to: "0.0.0.0/0".parse().unwrap(), via }).unwrap();
    let id = world.bind(us4(), 7);
    let asked = world.send(id, (ip("169.254.7.7"), 7), b"x").remove(0);
    assert_eq!((&asked[12..14], &asked[38..42]), (&[0x08, 0x06][..], &[169, 254, 7, 7][..]));
    let asked = world.send(id, (ip("192.0.2.1"), 7), b"x").remove(0);
    assert_eq!((&asked[12..14], &asked[38..42]), (&[0x08, 0x06][..], &[10, 0, 0, 9][..]));
}

#[test]
fn a_closed_socket_is_not_connected() {
    let mut world = World::new();
    let id = world.bind(us4(), 7);
    assert!(world.host.udp_connect(id, Some("10.0.0.2:9".parse().unwrap())));
    assert!(world.host.udp_close(id) && !world.host.udp_close(id));
    assert!(!world.host.udp_connect(id, None) && world.host.udp_ends(id).is_none());
}

#[test]
fn rfc1122_3_3_6_our_own_broadcasts_reach_our_own_sockets() {
    let mut world = World::new();
    let (sender, listener) = (world.bind(us4(), 5000), world.bind(ip("0.0.0.0"), 7));
    // Likewise for a datagram longer than a frame.
    for len in [10, 3000] {
        let sent = world.send(sender, (ip("10.0.0.255"), 7), &pattern(len));
        assert!(!sent.is_empty() && sent.iter().all(|frame| stations(frame) == (US, ALL)));
        assert_eq!(world.recv(listener), None, "not before poll");
        assert_eq!(world.host.poll_timeout(), Some(0));
        assert!(world.later(0).is_empty());
        assert_eq!(world.recv(listener), Some((pattern(len), "10.0.0.1:5000".parse().unwrap())));
    }
    assert!(world.send(sender, (ip("10.0.0.255"), 8), b"x").len() == 1 && world.host.poll_timeout().is_none());
    // A datagram that found no room has not been sent to anybody.
    let busy = |world: &mut World| {
        world.host.udp_send(world.now, sender, Some("10.0.0.255:7".parse().unwrap()), b"x", &mut world.ring)
    };
    while world.ring.free() > 0 {
        assert_eq!(busy(&mut world), Ok(()));
        world.host.poll(world.now, &mut world.ring);
        assert!(world.recv(listener).is_some());
    }
    assert_eq!(busy(&mut world), Err(SendError::NoRoom));
    assert!(world.host.poll_timeout().is_none());
}

#[test]
fn rfc1122_3_2_1_3_what_is_for_ourselves_never_leaves() {
    for (_, us) in families() {
        let mut world = World::new();
        let (client, server) = (world.bind(us, 5000), world.bind(any(us), 7));
        for len in [1, 1400, 5000, 65_507] {
            assert!(world.send(client, (us, 7), &pattern(len)).is_empty());
            assert!(world.later(0).is_empty());
            assert_eq!(world.recv(server), Some((pattern(len), SocketAddr::new(us, 5000))));
        }
        // It cannot come from outside.
        world.drops(Discard::BadAddress, &datagram(us, us, 7, b"x"));
        // A port of ours without listener gives an error, too.
        world.host.udp_connect(client, Some(SocketAddr::new(us, 99)));
        let send = |world: &mut World| world.host.udp_send(world.now, client, None, b"x", &mut world.ring);
        assert_eq!(send(&mut world), Ok(()));
        assert!(world.later(0).is_empty() && world.later(0).is_empty());
        assert_eq!(send(&mut world), Err(SendError::Refused));
    }
}

#[test]
fn destinations_that_cannot_be_are_refused() {
    let mut world = World::new();
    let (v4, v6) = (world.bind(us4(), 7), world.bind(us6(), 7));
    let mut send = |id, to: &str, len: usize| {
        world.host.udp_send(world.now, id, Some(to.parse().unwrap()), &vec![0; len], &mut world.ring).unwrap_err()
    };
    for to in ["10.0.0.2:0", "0.0.0.0:7", "127.0.0.1:7", "[fd00::2]:7"] {
        assert_eq!(send(v4, to, 1), SendError::BadDestination, "{to}");
    }
    for to in ["[fd00::2]:0", "[::]:7", "[::1]:7", "10.0.0.2:7"] {
        assert_eq!(send(v6, to, 1), SendError::BadDestination, "{to}");
    }
    assert_eq!(send(v4, "10.0.0.2:7", 65_508), SendError::TooLong);
    assert_eq!(send(v6, "[fd00::2]:7", 65_528), SendError::TooLong);
    assert_eq!(send(v4, "8.8.8.8:7", 1), SendError::NoRoute);
    assert_eq!(send(v6, "[2001:db8::1]:7", 1), SendError::NoRoute);
}

/// Regression: datagrams that had arrived when the link went down were discarded.
#[test]
fn what_arrived_before_the_carrier_went_is_taken_and_nothing_is_after_the_interface_went_down() {
    for (peer, us) in families() {
        let mut world = World::new();
        let id = world.bind(us, 5000);
        world.host.set_carrier(false);
        assert!(world.take(&datagram(peer, us, 5000, b"before")).is_empty());
        assert_eq!(world.recv(id).map(|(body, _)| body), Some(b"before".to_vec()));
        // Answers would wait in the ring for whoever comes next.
        assert!(world.take(&ping(peer, us, b"?")).is_empty());
        assert_eq!(world.host.counters().discarded(Discard::NoRoom), 1);
        world.host.set_up(false);
        world.drops(Discard::NotForUs, &datagram(peer, us, 5000, b"after"));
        assert_eq!(world.recv(id), None);
    }
}

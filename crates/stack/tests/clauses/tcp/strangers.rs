//! Numbers that a stranger sees of a host tell nothing of those that another one gets: identifications (RFC 7739, section 3),
//! sequence numbers and timestamps (RFC 6528; RFC 7323, section 5.4), ports (RFC 6056, section 3), cookies (RFC 4987; RFC 7413,
//! section 4.1.2).

use super::segment::{SYN, Segment};
use crate::world::*;
use linerate_stack::Config;
use std::collections::BTreeSet;
use std::net::{IpAddr, SocketAddr};

struct Row {
    name: &'static str,
    /// True if what one gets is the same however much others have got.
    apart: bool,
    /// Number that a stranger gets next.
    draw: fn(&mut World, usize) -> u64,
}

const ROWS: [Row; 10] = [
    Row { name: "identification of an answer", apart: true, draw: |world, who| number(&echo(world, v4(who)), 18, 2) },
    Row { name: "identification over IPv4", apart: true, draw: |world, who| number(&large(world, v4(who)), 18, 2) },
    Row { name: "identification over IPv6", apart: true, draw: |world, who| number(&large(world, v6(who)), 58, 4) },
    Row { name: "sequence number over IPv4", apart: true, draw: |world, who| number(&connect(world, v4(who)), 38, 4) },
    Row { name: "sequence number over IPv6", apart: true, draw: |world, who| number(&connect(world, v6(who)), 58, 4) },
    Row { name: "timestamp", apart: true, draw: stamp },
    Row { name: "port of a connection", apart: true, draw: |world, who| number(&connect(world, v4(who)), 34, 2) },
    Row { name: "port of a UDP socket", apart: false, draw: |world, who| number(&large(world, v4(who)), 34, 2) },
    Row { name: "cookie of a SYN", apart: true, draw: |world, who| syn(world, v4(who), 80).0 },
    Row { name: "cookie of Fast Open", apart: true, draw: |world, who| syn(world, v4(who), 81).1 },
];

fn v4(who: usize) -> IpAddr {
    IpAddr::from([10, 0, 0, 3 + u8::try_from(who).unwrap()])
}

fn v6(who: usize) -> IpAddr {
    ip(&format!("fd00::{:x}", 3 + who))
}

/// A number of so many bytes in a frame.
fn number(frame: &[u8], at: usize, len: usize) -> u64 {
    frame[at..at + len].iter().fold(0, |number, byte| number << 8 | u64::from(*byte))
}

fn echo(world: &mut World, peer: IpAddr) -> Vec<u8> {
    world.host.neighbours().insert_permanent(peer, PEER).unwrap();
    world.answer(&ping(peer, us4(), b"is it you?"))
}

/// The first fragment of a datagram of a socket of its own.
fn large(world: &mut World, peer: IpAddr) -> Vec<u8> {
    world.host.neighbours().insert_permanent(peer, PEER).unwrap();
    let id = world.bind(if peer.is_ipv4() { us4() } else { us6() }, 0);
    world.send(id, (peer, 7), &pattern(3000)).remove(0)
}

/// The SYN of a connection.
fn connect(world: &mut World, peer: IpAddr) -> Vec<u8> {
    world.host.neighbours().insert_permanent(peer, PEER).unwrap();
    world.host.tcp_connect(world.now, None, SocketAddr::new(peer, 80)).unwrap();
    world.later(0).remove(0)
}

fn stamp(world: &mut World, who: usize) -> u64 {
    Segment::parse(&connect(world, v4(who))).unwrap().stamps.unwrap().0.into()
}

/// The answer to a SYN: its sequence number, and the cookie of Fast Open.
fn syn(world: &mut World, peer: IpAddr, port: u16) -> (u64, u64) {
    world.host.neighbours().insert_permanent(peer, PEER).unwrap();
    let syn = Segment { ctl: SYN, port: 4000, seq: 300, cookie: (port == 81).then(Vec::new), ..Segment::default() };
    let mut sent = world.take(&syn.frame((peer, us4()), port, &[]));
    sent.extend(world.later(0));
    let answer = sent.iter().filter(|frame| ends(frame).1 == peer).find_map(|frame| Segment::parse(frame)).unwrap();
    (answer.seq.into(), answer.cookie.map_or(0, |cookie| number(&cookie, 0, 8)))
}

/// A host with this secret, whose listener at port 80 has room for no more handshakes, and at port 81 for many.
fn world(seed: u64) -> World {
    let mut world = World::with(&Config { neighbours: 1024, ..Config::new(US, seed) });
    world.host.tcp_listen(SocketAddr::new(us4(), 80), 1).unwrap();
    let fast = world.host.tcp_listen(SocketAddr::new(us4(), 81), 1000).unwrap();
    assert!(world.host.tcp_fast_open(fast, 100));
    syn(&mut world, peer4(), 80);
    world
}

#[test]
fn two_strangers_learn_nothing_of_each_other() {
    for Row { name, apart, draw } in ROWS {
        // The one before has seen much of it: that is of no use to him.
        for who in [1, 7, 30] {
            let (mut alone, mut after) = (world(7), world(7));
            for _ in 0..10 {
                draw(&mut after, 0);
            }
            assert_eq!(draw(&mut alone, who) == draw(&mut after, who), apart, "{name}: of stranger {who}");
        }
        // Nor does he know how far the next one's is from his own.
        let mut host = world(7);
        let steps: BTreeSet<u64> = (0..64)
            .map(|pair| {
                let (one, next) = (draw(&mut host, 2 * pair), draw(&mut host, 2 * pair + 1));
                next.wrapping_sub(one)
            })
            .collect();
        assert!(steps.len() >= 60, "{name}: {} of 64 steps", steps.len());
        // What he has seen at another host is of no use, either.
        let seen = [7, 8].map(|seed| (0..4).map(|who| draw(&mut world(seed), who)).collect::<Vec<_>>());
        assert!(seen[0].iter().zip(&seen[1]).all(|(one, other)| one != other), "{name}: {seen:?}");
    }
}

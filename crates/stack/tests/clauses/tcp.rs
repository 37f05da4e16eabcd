//! Clauses of TCP, by scripts: each cites what it is of, and fails without it.

mod host;
mod script;
mod segment;
mod strangers;

use crate::world::*;
use linerate_stack::Discard;
use linerate_wire::MacAddr;
use segment::{ACK, SYN, Segment};
use std::net::SocketAddr;

macro_rules! scripts {
    ($($name:ident: $file:literal,)*) => {
        $(#[test]
        fn $name() {
            script::run($file, include_str!(concat!("tcp/", $file)));
        })*
    };
}

scripts! {
    opening_and_closing: "connection.txt",
    options_and_challenges: "options.txt",
    cookies: "cookies.txt",
    marks_of_congestion: "ecn.txt",
    fast_open: "fastopen.txt",
    losses: "loss.txt",
    memory: "memory.txt",
    longest_segments: "mtu.txt",
    pacing: "pace.txt",
    windows_and_acknowledgements: "windows.txt",
}

/// RFC 9293, section 3.9.2.3: an address of a group or a broadcast is nobody's end of a connection.
#[test]
fn what_comes_to_all_begins_nothing() {
    let mut world = World::new();
    for (peer, us) in families() {
        world.host.tcp_listen(SocketAddr::new(us, 80), 4).unwrap();
        let any = if us.is_ipv4() { "0.0.0.0" } else { "::" };
        world.host.tcp_listen(SocketAddr::new(ip(any), 81), 4).unwrap();
        let all: &[&str] = if us.is_ipv4() { &["10.0.0.255", "255.255.255.255"] } else { &["ff02::1"] };
        for all in all {
            for (port, ctl) in [(80, SYN), (81, SYN), (81, ACK), (82, SYN)] {
                let syn = Segment { ctl, port: 4000, seq: 300, ..Segment::default() };
                let station = if us.is_ipv4() { ALL } else { MacAddr([0x33, 0x33, 0, 0, 0, 1]) };
                world.drops(Discard::BadAddress, &to(station, syn.frame((peer, ip(all)), port, &[])));
            }
        }
    }
}

/// RFC 4987, section 3.6: an acknowledgement begins a connection only at a listener that has sent cookies. Of two hosts with one
/// secret, one has.
#[test]
fn a_cookie_is_taken_only_where_some_were_sent() {
    let (peer, us) = families()[0];
    let [mut sends, mut none] = [World::new(), World::new()];
    let listeners = [&mut sends, &mut none].map(|world| {
        let id = world.host.tcp_listen(SocketAddr::new(us, 80), 1).unwrap();
        assert!(world.host.tcp_accept(id).is_none());
        id
    });
    let segment = |ctl, port, seq, ack| Segment { ctl, port, seq, ack, ..Segment::default() };
    let arrive = |world: &mut World, segment: Segment| -> Vec<Segment> {
        let mut sent = world.take(&segment.frame((peer, us), 80, &[]));
        sent.extend(world.later(0));
        sent.iter().filter_map(|frame| Segment::parse(frame)).collect()
    };
    arrive(&mut sends, segment(SYN, 4001, 300, 0));
    let cookie = arrive(&mut sends, segment(SYN, 4002, 300, 0)).into_iter().find(|answer| answer.port == 4002).unwrap();
    let answer = segment(ACK, 4002, 301, cookie.seq.wrapping_add(1));
    let [sent, reset] = [&mut sends, &mut none].map(|world| arrive(world, answer.clone()));
    assert!(sent.iter().all(|segment| segment.port != 4002), "{sent:?}");
    assert_eq!(sends.host.tcp_accept(listeners[0]).unwrap().1, SocketAddr::new(peer, 4002));
    assert_eq!(reset.iter().map(|segment| (segment.port, segment.ctl)).collect::<Vec<_>>(), [(4002, 0x04)]);
    assert!(none.host.tcp_accept(listeners[1]).is_none());
}

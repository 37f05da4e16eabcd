//! A host with TCP connections, by a script of segments, calls and time: it never panics, no timer is due for ever, nothing
//! grows beyond its limits, and whatever it sends is right.
//!
//! A step is an operation (1 byte), the time since the last in units of 2^22 ns (1), and what the operation needs. A segment
//! names its numbers by what was seen of the connection: how far from which of them.
#![no_main]

use libfuzzer_sys::fuzz_target;
use linerate_ring::{Region, RegionConfig, Sharing, TxRing};
use linerate_stack::tcp::{Ecn, KeepAlive, TcpId, TcpListenerId};
use linerate_stack::{Config, Host};
use linerate_wire::*;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

const US: MacAddr = MacAddr([2, 0, 0, 0, 0, 1]);
const PEER: MacAddr = MacAddr([2, 0, 0, 0, 0, 2]);
const HERE: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
const THERE: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);
/// Most bytes that wait in either direction.
const LIMIT: u32 = 50_000;

/// What was last seen of a connection between a port of ours and one of the peer's.
#[derive(Clone, Copy, Default)]
struct Seen {
    port: u16,
    next: u32,
    acked: u32,
    stamp: u32,
}

struct World {
    host: Host,
    ring: TxRing,
    now: u64,
    seen: [Seen; 4],
    ids: Vec<TcpId>,
    listener: TcpListenerId,
    /// Cookie of Fast Open that the host has given.
    cookie: Option<FastOpenCookie>,
}

impl World {
    fn new() -> Self {
        let mut host = Host::new(&Config::new(US, 7)).unwrap();
        host.add_address("10.0.0.1/24".parse().unwrap()).unwrap();
        host.neighbours().insert_permanent(IpAddr::V4(THERE), PEER).unwrap();
        let tcp = host.tcp_config();
        (tcp.send, tcp.receive, tcp.ecn) = (LIMIT, LIMIT, Ecn::Ask);
        tcp.keep_alive = Some(KeepAlive { idle: 3_000_000_000, interval: 1_000_000_000, probes: 2 });
        let listener = host.tcp_listen(SocketAddr::new(HERE.into(), 80), 3).unwrap();
        host.tcp_fast_open(listener, 2);
        let region =
            RegionConfig { buf_size: 2048, buffers: 128, ring_bytes: 16384, sharing: Sharing::Private, huge: false };
        let ring = TxRing::new(&Region::new(&region).unwrap(), 0, 64).unwrap();
        let seen = [Seen { port: 80, ..Seen::default() }; 4];
        Self { host, ring, now: 1_000_000_000_000, seen, ids: Vec::new(), listener, cookie: None }
    }

    /// What was sent leaves, and is right.
    fn leave(&mut self) {
        for i in 0..self.ring.pending() {
            let frame = self.ring.pending_frame(i).bytes().unwrap().to_vec();
            let ip = Ipv4Packet::new_checked(&frame[14..]).unwrap();
            assert!(frame.len() <= 1514 && ip.verify_checksum() && usize::from(ip.total_len()) + 14 == frame.len());
            assert_eq!((ip.src(), ip.dst(), ip.protocol()), (HERE, THERE, IpProtocol::TCP));
            let tcp = TcpSegment::new_checked(ip.payload()).unwrap();
            assert!(tcp.verify_checksum_v4(HERE, THERE));
            let (flags, options) = (tcp.flags(), TcpOptions::parse(tcp.options()));
            if flags.contains(TcpFlags::SYN) {
                let carries = options.fast_open.is_some_and(|cookie| !cookie.is_request());
                let may = carries && !flags.intersects(TcpFlags::ACK);
                assert!(!flags.intersects(TcpFlags::FIN) && (may || tcp.payload().is_empty()));
                self.cookie = options.fast_open.filter(|_| flags.intersects(TcpFlags::ACK)).or(self.cookie);
            } else {
                assert_eq!(options.fast_open, None, "RFC 7413, section 4.1.1");
            }
            assert!(ip.tos() == 0 || !tcp.payload().is_empty(), "only data may be marked");
            let Some(seen) = tcp.dst_port().checked_sub(4000).and_then(|at| self.seen.get_mut(usize::from(at))) else {
                continue;
            };
            let bits = u32::from(flags.intersects(TcpFlags::SYN)) + u32::from(flags.intersects(TcpFlags::FIN));
            let len = u32::try_from(tcp.payload().len()).unwrap() + bits;
            (seen.port, seen.next, seen.acked) = (tcp.src_port(), tcp.seq().wrapping_add(len), tcp.ack());
            seen.stamp = options.timestamps.map_or(seen.stamp, |(value, _)| value);
        }
        let n = self.ring.pending();
        self.ring.own().unwrap().take(n);
        self.ring.own().unwrap().complete(n);
    }

    /// A segment of the peer: connection, numbers, flags, window, options as they are, data.
    fn segment(&mut self, what: &[u8]) {
        let [who, near, a, b, flags, window, marked, len, rest @ ..] = what else { return };
        let seen = self.seen[usize::from(who % 4)];
        let off = |by: u8| (u32::from(by & 0x3f) * [1, 536, 1460, 1 << 16][usize::from(by >> 6)]).wrapping_sub(3);
        let seq = if near & 1 == 0 { seen.acked } else { seen.acked.wrapping_add(off(*a)) };
        let ack = if near & 2 == 0 { seen.next } else { seen.next.wrapping_sub(off(*b)) };
        let count = usize::from(near >> 4) * 4;
        let mut options = rest[..rest.len().min(count.min(40)) / 4 * 4].to_vec();
        if near & 4 != 0 {
            let mut stamped = [1, 1, 8, 10, 0, 0, 0, 0, 0, 0, 0, 0];
            stamped[4..8].copy_from_slice(&(u32::from(*window) + 1).to_be_bytes());
            stamped[8..].copy_from_slice(&seen.stamp.to_be_bytes());
            options.splice(0..0, stamped);
            options.truncate(40);
        }
        if let (true, Some(cookie)) = (marked & 4 != 0, self.cookie) {
            let mut option = [0; 12];
            let with = TcpOptions { fast_open: Some(cookie), ..TcpOptions::default() };
            assert_eq!(with.emit(&mut option), Ok(12));
            options.splice(0..0, option);
            options.truncate(40);
        }
        let data = usize::from(*len) * if near & 8 == 0 { 1 } else { 37 };
        let mut packet = vec![0; 20 + 20 + options.len() + data];
        let total = u16::try_from(packet.len()).unwrap();
        packet[0] = 0x45;
        let mut ip = Ipv4Packet::new_checked({
            packet[2..4].copy_from_slice(&total.to_be_bytes());
            &mut packet[..]
        })
        .unwrap();
        ip.set_ttl(64);
        ip.set_protocol(IpProtocol::TCP);
        ip.set_tos(marked & 3);
        ip.set_src(THERE);
        ip.set_dst(HERE);
        ip.fill_checksum();
        let payload = ip.payload_mut();
        payload[12] = 0x50;
        payload[20..20 + options.len()].copy_from_slice(&options);
        let mut tcp = TcpSegment::new_checked(payload).unwrap();
        tcp.set_header_len(u8::try_from(20 + options.len()).unwrap());
        tcp.set_src_port(4000 + u16::from(who % 4));
        tcp.set_dst_port(seen.port);
        tcp.set_seq(seq);
        tcp.set_ack(ack);
        tcp.set_flags(TcpFlags(*flags));
        tcp.set_window([0, 1, 100, 1460, 65_535][usize::from(window % 5)]);
        tcp.fill_checksum_v4(THERE, HERE);
        let frame = [&US.0[..], &PEER.0, &[8, 0], &packet].concat();
        self.host.handle(self.now, &frame, None, &mut self.ring);
    }

    fn call(&mut self, what: u8, len: u8) {
        if what & 7 == 0 {
            let remote = SocketAddr::new(THERE.into(), 4000 + u16::from(len % 4));
            if self.ids.len() < 8 {
                if what & 8 == 0 {
                    self.ids.extend(self.host.tcp_connect(self.now, None, remote));
                } else {
                    let bytes = &[0x55; 2550][..usize::from(len) * 10];
                    self.ids.extend(self.host.tcp_connect_with(self.now, None, remote, bytes).map(|(id, _)| id));
                }
            }
            return;
        }
        if what & 7 == 1 {
            self.ids.extend(self.host.tcp_accept(self.listener).map(|(id, _)| id));
            return;
        }
        if self.ids.is_empty() {
            return;
        }
        let at = usize::from(what >> 3) % self.ids.len();
        let id = self.ids[at];
        match what & 7 {
            2 => drop(self.host.tcp_write(id, &[0x55; 2550][..usize::from(len) * 10])),
            3 => drop(self.host.tcp_read(id, &mut [0; 2550][..usize::from(len) * 10])),
            4 => drop(self.host.tcp_close(id)),
            5 => drop(self.host.tcp_abort(id)),
            6 => drop(self.host.tcp_change(id, |connection| connection.set_nagle(len & 1 == 0))),
            _ => {
                self.host.tcp_release(id);
                self.ids.swap_remove(at);
            }
        }
    }

    /// Does what is due, and looks at everything.
    fn settle(&mut self, full: bool) {
        for round in 0.. {
            assert!(round < 1000, "something is due for ever");
            if self.host.poll_timeout().is_none_or(|at| at > self.now) {
                break;
            }
            self.host.poll(self.now, &mut self.ring);
            if full && self.host.wants_room() {
                break;
            }
            self.leave();
        }
        for (.., connection) in self.host.tcp_all() {
            assert!(connection.readable() <= LIMIT as usize && connection.unacknowledged() <= LIMIT as usize);
        }
        assert!(self.host.tcp_connections() <= 100, "{}", self.host.tcp_connections());
        assert_eq!(self.host.counters().unexplained(), 0);
        while self.host.tcp_news().is_some() || self.host.tcp_arrival().is_some() {}
    }
}

fuzz_target!(|script: &[u8]| {
    let mut world = World::new();
    let mut rest = script;
    while let [operation, wait, after @ ..] = rest {
        world.now += u64::from(*wait) << 22;
        let need = if operation & 3 == 3 { 2 } else { 8 + usize::from(after.get(1).map_or(0, |near| near >> 4)) * 4 };
        let (bytes, after) = after.split_at(after.len().min(need));
        rest = after;
        match (operation & 3, bytes) {
            (3, [what, len]) => world.call(*what, *len),
            (3, _) => {}
            _ => world.segment(bytes),
        }
        // A quarter of the time the ring fills up.
        world.settle(operation & 0xc0 == 0);
    }
    // Left alone, what is nobody's ends: an hour is longer than any time limit.
    world.leave();
    while let Some(id) = world.ids.pop() {
        world.host.tcp_release(id);
    }
    world.host.tcp_unlisten(world.listener);
    let end = world.now + 3_600_000_000_000;
    for round in 0.. {
        assert!(round < 10_000, "it does not end");
        let Some(at) = world.host.poll_timeout().filter(|at| *at <= end) else { break };
        world.now = world.now.max(at);
        world.settle(false);
        world.leave();
    }
    assert_eq!(world.host.tcp_connections(), 0);
});

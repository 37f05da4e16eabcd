//! A host with sockets by a script of frames, sends, settings and time: it never panics, each frame has its fate, all
//! tables stay within their limits, and whatever it sends is right.
//!
//! A step is an operation (1 byte), the time since the last in units of 2^24 ns (1), a length (2, big endian), and so
//! many bytes, which are the frame, the datagram, or the setting.
#![no_main]

use libfuzzer_sys::fuzz_target;
use linerate_ring::{Meta, Region, RegionConfig, Sharing, TxRing, flags};
use linerate_stack::{Config, Fills, Host, Path, Route, UdpId};
use linerate_wire::*;
use std::net::{IpAddr, SocketAddr};

const US: MacAddr = MacAddr([2, 0, 0, 0, 0, 1]);

fn ip(text: &str) -> IpAddr {
    text.parse().unwrap()
}

/// Makes the checksums right, so that more than the first is reached.
fn filled(frame: &mut [u8]) {
    let Some(packet) = frame.get_mut(14..) else { return };
    if let Ok(mut ip) = Ipv4Packet::new_checked(&mut *packet) {
        ip.fill_checksum();
        let (src, dst, protocol, at, end) =
            (ip.src(), ip.dst(), ip.protocol(), ip.header_len(), usize::from(ip.total_len()));
        let payload = &mut packet[at..end];
        match protocol {
            IpProtocol::UDP => drop(UdpDatagram::new_checked(payload).map(|mut udp| udp.fill_checksum_v4(src, dst))),
            IpProtocol::TCP => drop(TcpSegment::new_checked(payload).map(|mut tcp| tcp.fill_checksum_v4(src, dst))),
            IpProtocol::ICMP => drop(Icmpv4Packet::new_checked(payload).map(|mut icmp| icmp.fill_checksum())),
            _ => {}
        }
    } else if let Ok(ip) = Ipv6Packet::new_checked(&*packet) {
        let (src, dst) = (ip.src(), ip.dst());
        let Ok(chain) = Ipv6Chain::walk(&ip) else { return };
        let (protocol, at, end) = (chain.protocol, 40 + chain.offset, 40 + ip.payload().len());
        let payload = &mut packet[at..end];
        match protocol {
            IpProtocol::UDP => drop(UdpDatagram::new_checked(payload).map(|mut udp| udp.fill_checksum_v6(src, dst))),
            IpProtocol::TCP => drop(TcpSegment::new_checked(payload).map(|mut tcp| tcp.fill_checksum_v6(src, dst))),
            IpProtocol::ICMPV6 => {
                let _ = Icmpv6Packet::new_checked(payload).map(|mut icmp| icmp.fill_checksum(src, dst));
            }
            _ => {}
        }
    }
}

/// What leaves is whole, from our station, and its sums are right, unless the adapter was asked for them.
fn right(frame: &[u8], filled_in: bool) {
    let ethernet = EthernetFrame::new_checked(frame).unwrap();
    let (mut ethertype, mut packet) = (ethernet.ethertype(), ethernet.payload());
    if ethertype == EtherType::VLAN {
        let tag = VlanHeader::new_checked(packet).unwrap();
        (ethertype, packet) = (tag.ethertype(), tag.payload());
    }
    match ethertype {
        EtherType::ARP => {
            let arp = ArpRepr::parse(&ArpPacket::new_checked(packet).unwrap());
            // A probe (RFC 5227, section 2.1.1) is a question.
            assert!(!arp.sender_ip.is_unspecified() || arp.operation == ArpOperation::REQUEST);
            assert_eq!(arp.sender_mac, ethernet.src());
        }
        EtherType::IPV4 => {
            let ip = Ipv4Packet::new_checked(packet).unwrap();
            assert!(ip.verify_checksum() && usize::from(ip.total_len()) == packet.len() && ip.ttl() > 0);
            match ip.protocol() {
                _ if ip.is_fragment() => {}
                IpProtocol::UDP => {
                    let udp = UdpDatagram::new_checked(ip.payload()).unwrap();
                    assert!(filled_in || udp.checksum() != 0 && udp.verify_checksum_v4(ip.src(), ip.dst()));
                }
                IpProtocol::ICMP => assert!(Icmpv4Packet::new_checked(ip.payload()).unwrap().verify_checksum()),
                // Nobody listens: each segment is reset.
                IpProtocol::TCP => {
                    let tcp = TcpSegment::new_checked(ip.payload()).unwrap();
                    assert!(filled_in || tcp.verify_checksum_v4(ip.src(), ip.dst()));
                    assert!(tcp.flags().contains(TcpFlags::RST));
                }
                other => panic!("{other:?}"),
            }
        }
        EtherType::IPV6 => {
            let ip = Ipv6Packet::new_checked(packet).unwrap();
            assert!(ip.payload().len() + 40 == packet.len() && ip.hop_limit() > 0);
            let chain = Ipv6Chain::walk(&ip).unwrap();
            let body = &ip.payload()[chain.offset..];
            match chain.protocol {
                _ if chain.fragment.is_some() => {}
                IpProtocol::UDP => {
                    let udp = UdpDatagram::new_checked(body).unwrap();
                    assert!(filled_in || udp.verify_checksum_v6(ip.src(), ip.dst()));
                }
                IpProtocol::TCP => {
                    let tcp = TcpSegment::new_checked(body).unwrap();
                    assert!(filled_in || tcp.verify_checksum_v6(ip.src(), ip.dst()));
                    assert!(tcp.flags().contains(TcpFlags::RST));
                }
                IpProtocol::ICMPV6 => {
                    let icmp = Icmpv6Packet::new_checked(body).unwrap();
                    assert!(icmp.verify_checksum(ip.src(), ip.dst()));
                    // Discovery's messages come from the link itself; who asks whether it may have an address has none, and
                    // says no other (RFC 4861, section 4.3).
                    let discovery = (133..=137).contains(&icmp.kind());
                    assert!(!discovery || ip.hop_limit() == 255 && NdpPacket::new_checked(body).is_ok());
                    let nobody = ip.src().is_unspecified() && discovery;
                    let named = NdpPacket::new_checked(body).is_ok_and(|ndp| ndp.options().count() > 0);
                    assert!(!(nobody && named) && (!nobody || ip.dst().is_multicast()));
                    // Reports of groups, and nothing else, carry an option for routers (RFC 3810, section 5).
                    let reports = [131, 132, 143].contains(&icmp.kind());
                    assert_eq!(reports, chain.offset > 0);
                    assert!(!reports || ip.hop_limit() == 1);
                }
                other => panic!("{other:?}"),
            }
        }
        other => panic!("{other}"),
    }
}

/// All that was sent leaves, frames of several slots in one piece.
fn leave(ring: &mut TxRing) {
    let (mut frame, mut asked) = (Vec::new(), false);
    for i in 0..ring.pending() {
        asked |= ring.pending_meta(i).is_some();
        frame.extend_from_slice(ring.pending_frame(i).bytes().unwrap());
        if !ring.pending_word(i).has(flags::MOREFRAG) {
            right(&frame, asked);
            (frame, asked) = (Vec::new(), false);
        }
    }
    assert!(frame.is_empty());
    let n = ring.pending();
    ring.own().unwrap().take(n);
    ring.own().unwrap().complete(n);
}

/// One change of what can be set.
fn set(host: &mut Host, sockets: &[UdpId], what: &[u8]) {
    let [kind, a, b, ..] = *what else { return };
    let neighbour = IpAddr::from([10, 0, 0, a]);
    match kind % 10 {
        0 => drop(host.set_mtu(usize::from(a) << 8 | usize::from(b))),
        1 => {
            host.set_vlan(VlanTag::new(0, false, u16::from(a) << 8 & 0xf00 | u16::from(b)).ok().filter(|t| t.vid() > 0))
        }
        2 => host.set_up(a & 1 == 0),
        3 => host.set_fills(Fills { v4: a & 1 != 0, v6: a & 2 != 0 }),
        4 => host.set_path([Path::Long, Path::Flow, Path::Fast][usize::from(a) % 3]),
        5 => drop(host.set_route(Route { to: "0.0.0.0/0".parse().unwrap(), via: Some(neighbour) })),
        6 => drop(host.add_address(linerate_stack::Cidr::new(neighbour, b % 33).unwrap())),
        7 => drop(host.remove_address(neighbour)),
        8 => drop(host.udp_connect(sockets[usize::from(a) % sockets.len()], Some((neighbour, b.into()).into()))),
        _ => drop(host.neighbours().insert_permanent(neighbour, MacAddr([2, 0, 0, 0, 0, b]))),
    }
}

fuzz_target!(|script: &[u8]| {
    let mut config = Config::new(US, 7);
    config.inbox = 4096;
    let mut host = Host::new(&config).unwrap();
    host.add_address("10.0.0.1/24".parse().unwrap()).unwrap();
    host.add_address("fd00::1/64".parse().unwrap()).unwrap();
    let region =
        RegionConfig { buf_size: 2048, buffers: 128, ring_bytes: 16384, sharing: Sharing::Private, huge: false };
    let mut ring = TxRing::new(&Region::new(&region).unwrap(), 0, 64).unwrap();
    let bind = |host: &mut Host, at: &str| host.udp_bind(at.parse().unwrap()).unwrap();
    let sockets = ["0.0.0.0:7", "[::]:7", "10.0.0.1:8", "[fd00::1]:8"].map(|at| bind(&mut host, at));
    let (mut now, mut rest) = (1_000_000_000_000u64, script);
    while let [operation, wait, high, low, after @ ..] = rest {
        let len = usize::from(*high) << 8 | usize::from(*low);
        let (bytes, after) = after.split_at(after.len().min(len));
        rest = after;
        now += u64::from(*wait) << 24;
        let socket = sockets[usize::from(operation >> 4) % sockets.len()];
        match operation & 7 {
            0 => host.handle(now, bytes, None, &mut ring),
            1 => {
                let meta = Meta { flags: operation >> 3 & 3, vlan_tci: u16::from(operation >> 5), ..Meta::default() };
                host.handle(now, bytes, Some(meta), &mut ring);
            }
            2 | 3 => {
                let mut frame = bytes.to_vec();
                filled(&mut frame);
                host.handle(now, &frame, None, &mut ring);
            }
            4 => {
                let [last, port, body @ ..] = bytes else { continue };
                let to = if operation & 0x10 == 0 {
                    SocketAddr::new([10, 0, 0, *last].into(), (*port).into())
                } else {
                    SocketAddr::new(ip(&format!("fd00::{last:x}")), (*port).into())
                };
                // A longer one than scripts are.
                let body = body.repeat(if operation & 8 == 0 { 1 } else { 100 });
                let _ = host.udp_send(now, socket, Some(to), &body, &mut ring);
            }
            5 => {
                let mut buffer = [0; 300];
                while let Some((n, whole, from)) = host.udp_recv(socket, &mut buffer) {
                    assert!(n == whole.min(300));
                    let _ = host.udp_send(now, socket, Some(from), &buffer[..n], &mut ring);
                }
            }
            6 => set(&mut host, &sockets, bytes),
            _ => match operation >> 3 & 3 {
                0 => host.announce(&mut ring),
                1 => drop(host.set_carrier(false)),
                2 => drop(host.set_carrier(true)),
                _ => drop(host.set_auto(operation & 0x20 == 0)),
            },
        }
        if host.poll_timeout().is_some_and(|at| at <= now) {
            host.poll(now, &mut ring);
        }
        // Half of the time the ring fills up.
        if operation & 0x80 == 0 {
            leave(&mut ring);
        }
        while let Some(event) = host.poll_event() {
            assert!(!event.to_string().is_empty());
        }
        assert!(host.addresses().len() <= 64 && host.routes().count() <= 1024);
        assert_eq!(host.counters().unexplained(), 0);
        assert!(host.neighbours().len() <= 1024 && host.neighbours().held_bytes() <= 1_000_000);
        assert!(sockets.iter().all(|id| host.udp_waiting(*id) <= 4096 / 64));
    }
});

//! The software forms against the Linux kernel's, bit for bit. A packet socket hands the kernel frames with open checksums
//! and super-frames for a TAP interface that takes neither: what the kernel makes of them in software arrives at the
//! TAP's far end.
//!
//! Needs CAP_NET_ADMIN and CAP_SYS_ADMIN for a network namespace of its own; prints why when it has not.

use std::time::{Duration, Instant};

use linerate_nic::{Headers, Verdict};
use linerate_nic::{Segments, complete_checksum, header_len, insert_tag, pseudo_header, verify_checksums};
use linerate_port::{Cause, Namespace, Port, RxQueue, TxQueue, open};
use linerate_ring::{Meta, flags};
use linerate_wire::*;

const LIMIT: Duration = Duration::from_secs(20);
/// The sender of our frames: what else the kernel sends is told by another.
const SRC: MacAddr = MacAddr([2, 0, 0, 0, 0x5a, 1]);

/// What a frame is made of.
#[derive(Debug, Clone, Copy)]
struct Shape {
    v6: bool,
    udp: bool,
    tags: u8,
    /// TCP's flags.
    flags: u8,
    ident: u16,
    payload: usize,
}

impl Shape {
    /// The frame, its transport checksum open, and the request that says so.
    fn open(self) -> (Vec<u8>, Meta) {
        let mut frame = vec![0; 14 + 40 + 32 + self.payload];
        let ethertype = if self.v6 { EtherType::IPV6 } else { EtherType::IPV4 };
        let ethernet = EthernetRepr { dst: MacAddr([2, 0, 0, 0, 0, 9]), src: SRC, ethertype };
        let packet = ethernet.emit(&mut frame).unwrap();
        let protocol = if self.udp { IpProtocol::UDP } else { IpProtocol::TCP };
        let transport_len = self.payload + if self.udp { 8 } else { 32 };
        let rest = if self.v6 {
            let ip = Ipv6Repr {
                payload_len: transport_len,
                traffic_class: 0x28,
                flow_label: 0xabcde,
                ..Ipv6Repr::new([0xfd; 16].into(), [0xfe; 16].into(), protocol)
            };
            ip.emit(packet).unwrap()
        } else {
            let ip = Ipv4Repr {
                payload_len: transport_len,
                ident: self.ident,
                ..Ipv4Repr::new([10, 0, 0, 1].into(), [10, 0, 0, 2].into(), protocol)
            };
            ip.emit(packet).unwrap()
        };
        let payload = if self.udp {
            UdpRepr { src_port: 1000, dst_port: 2000, payload_len: self.payload }.emit(rest).unwrap()
        } else {
            let (header, payload) = rest.split_at_mut(32);
            header[12] = 0x80;
            header[20..].copy_from_slice(&[1, 1, 8, 10, 0, 0, 1, 2, 0, 0, 3, 4]);
            let mut tcp = TcpSegment::new_checked(header).unwrap();
            tcp.set_src_port(1000);
            tcp.set_dst_port(2000);
            // Wraps within the row of segments.
            tcp.set_seq(0xffff_fff0);
            tcp.set_ack(77);
            tcp.set_flags(TcpFlags(self.flags));
            tcp.set_window(500);
            payload
        };
        for (i, octet) in payload[..self.payload].iter_mut().enumerate() {
            *octet = (i * 31 % 253).to_be_bytes()[7];
        }
        let mut len = 14 + if self.v6 { 40 } else { 20 } + transport_len;
        for tag in 0..self.tags {
            frame.resize(len + 4, 0);
            let tpid = if tag == 1 { EtherType::QINQ } else { EtherType::VLAN };
            len = insert_tag(&mut frame, len, tpid, VlanTag(0x6064 + u16::from(tag))).unwrap();
        }
        frame.truncate(len);

        let headers = Headers::parse(&frame, len).unwrap();
        let ip = headers.ip.unwrap();
        let partial = pseudo_header(&headers, &ip, &frame, u32::try_from(transport_len).unwrap()).fold();
        let csum_offset = if self.udp { 6 } else { 16 };
        let field = ip.transport + usize::from(csum_offset);
        frame[field..field + 2].copy_from_slice(&partial.to_be_bytes());
        let csum_start = u16::try_from(ip.transport).unwrap();
        (frame, Meta { flags: Meta::NEEDS_CSUM, csum_start, csum_offset, ..Meta::default() })
    }
}

/// The kernel between a packet socket and a TAP.
struct Kernel {
    tx: TxQueue,
    rx: RxQueue,
    _ports: [Port; 2],
    _ns: Namespace,
}

impl Kernel {
    fn new() -> Option<Self> {
        let ns = match Namespace::new() {
            Err(e) if e.cause == Cause::Capability => {
                println!("skipped: {e}");
                return None;
            }
            ns => ns.unwrap(),
        };
        // A kernel without IPv6 has no such file, and is silent anyhow.
        let _ = ns.run_in(|| std::fs::write("/proc/sys/net/ipv6/conf/default/disable_ipv6", "1"));
        let port = |name: &str| ns.run_in(|| open(name)).unwrap();
        let mut tap = match port("tap:t0") {
            Err(e) if e.cause == Cause::Capability => {
                println!("skipped: {e}");
                return None;
            }
            tap => tap.unwrap(),
        };
        let mut packet = port("packet:t0").unwrap();
        let (tx, rx) = (packet.take_tx(0).unwrap(), tap.take_rx(0).unwrap());
        Some(Self { tx, rx, _ports: [tap, packet], _ns: ns })
    }

    /// Hands the kernel a frame; false when it refuses it.
    fn send(&mut self, bytes: &[u8], meta: Meta) -> bool {
        let usable = self.tx.ring.usable();
        let before = self.tx.counters().frames;
        let n = u32::try_from(bytes.len().div_ceil(usable)).unwrap();
        let mut batch = self.tx.ring.reserve(n);
        for (i, part) in (0..).zip(bytes.chunks(usable)) {
            assert!(batch.put(i, part));
            batch.set(i, part.len(), if i + 1 < n { flags::MOREFRAG } else { 0 });
        }
        batch.set_meta(0, meta);
        batch.commit(n);
        let until = Instant::now() + LIMIT;
        while self.tx.ring.outstanding() > 0 {
            assert!(Instant::now() < until, "the packet socket does not send");
            self.tx.sync();
        }
        self.tx.counters().frames > before
    }

    /// The next of our frames.
    fn receive(&mut self) -> Vec<u8> {
        let until = Instant::now() + LIMIT;
        loop {
            assert!(Instant::now() < until, "nothing comes");
            self.rx.sync();
            let mut batch = self.rx.ring.batch(1);
            let n = batch.len();
            let bytes = if n > 0 { batch.frame(0).map(|(frame, _)| frame.to_vec()) } else { None };
            batch.release(n);
            match bytes {
                Some(bytes) if bytes.get(6..12) == Some(&SRC.0) => return bytes,
                _ => std::thread::yield_now(),
            }
        }
    }
}

#[test]
fn checksums_are_the_kernels() {
    let Some(mut kernel) = Kernel::new() else { return };
    for v6 in [false, true] {
        for udp in [false, true] {
            for payload in [1, 2, 3, 26, 64, 63, 511, 1000, 1399, 1400] {
                let shape = Shape { v6, udp, tags: 0, flags: 0x18, ident: 9, payload };
                let (mut frame, meta) = shape.open();
                assert!(kernel.send(&frame, meta), "{shape:?}");
                let theirs = kernel.receive();
                assert_eq!(verify_checksums(&theirs, &[]), Verdict::Good, "{shape:?}");
                complete_checksum(&mut frame, &[], &meta).unwrap();
                assert_eq!(frame, theirs, "{shape:?}");
            }
        }
    }
}

#[test]
fn segments_are_the_kernels() {
    let Some(mut kernel) = Kernel::new() else { return };
    let mut refused = Vec::new();
    let mut compared = 0;
    for v6 in [false, true] {
        for udp in [false, true] {
            for tags in 0..3 {
                for (payload, gso_size, flags) in
                    [(3000, 1000, 0x10), (20_000, 1399, 0x99), (65_000, 1448, 0xd8), (5, 2, 0x19)]
                {
                    // The kernel segments no more than 128 datagrams; UDP's IP packet has to fit its length field.
                    let payload = if udp { payload.min(60_000) } else { payload };
                    let shape = Shape { v6, udp, tags, flags, ident: 0xfffe, payload };
                    let (frame, open) = shape.open();
                    let hdr_len = header_len(&frame).unwrap();
                    let gso_type = match (udp, v6) {
                        (true, _) => 5,
                        (false, false) => 1,
                        (false, true) => 4,
                    };
                    let meta = Meta { gso_type, gso_size, hdr_len: u16::try_from(hdr_len).unwrap(), ..open };
                    if !kernel.send(&frame, meta) {
                        refused.push((shape, gso_size));
                        continue;
                    }
                    let (template, payload) = frame.split_at(hdr_len);
                    let slices = [&payload[..payload.len() / 3], &payload[payload.len() / 3..]];
                    let mut segments = Segments::from_meta(template, &slices, &meta).unwrap();
                    let mut number = 0;
                    while let Some(len) = segments.next_len() {
                        let mut ours = vec![0; len];
                        segments.write_next(&mut ours[..]).unwrap();
                        assert_eq!(ours, kernel.receive(), "{shape:?}, segment {number} of {gso_size}");
                        number += 1;
                    }
                    compared += 1;
                }
            }
        }
    }
    // Kernels before 6.2 take no requests for UDP.
    println!("{compared} super-frames compared; refused: {refused:?}");
    assert!(refused.iter().all(|(shape, _)| shape.udp), "TSO was refused: {refused:?}");
}

//! Tests of the software offloads against the Linux kernel's, bit for bit. A packet socket hands the kernel frames with
//! partial checksums and super-frames for a TAP interface without offloads: the result of the kernel's software
//! offloads arrives at the TAP's far end. For the receive side, segments pass a veth pair whose far end merges them.
//!
//! Needs CAP_NET_ADMIN and CAP_SYS_ADMIN for a network namespace of its own; otherwise skips, with the reason.

#![cfg(target_os = "linux")]

use std::process::Command;
use std::time::{Duration, Instant};

use linerate_host::{Namespace, Offloads, VethPair};
use linerate_offload::{
    Frames, Headers, Lro, LroConfig, Merged, Piece, Pushed, Received, Segments, Verdict, complete_checksum, header_len,
    insert_tag, pseudo_header, verify_checksums,
};
use linerate_port::{Cause, Port, RxQueue, TxQueue, open};
use linerate_ring::{Meta, flags};
use linerate_wire::*;

const LIMIT: Duration = Duration::from_secs(20);
/// Source address of our frames: distinguishes them from the kernel's own.
const SRC: MacAddr = MacAddr([2, 0, 0, 0, 0x5a, 1]);

/// Parameters of a test frame.
#[derive(Debug, Clone, Copy)]
struct Shape {
    v6: bool,
    udp: bool,
    tags: u8,
    /// Flags of TCP.
    flags: u8,
    ident: u16,
    payload: usize,
}

impl Shape {
    /// Builds the frame, its transport checksum partial, and the request to complete it.
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
            // Wraps around within the segments.
            tcp.set_seq(0xffff_fff0);
            tcp.set_ack(77);
            tcp.set_flags(TcpFlags(self.flags));
            tcp.set_window(500);
            payload
        };
        for (i, byte) in payload[..self.payload].iter_mut().enumerate() {
            *byte = (i * 31 % 253).to_be_bytes()[7];
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

/// A namespace whose new interfaces send nothing; None, with the reason on standard output, if the privilege is
/// missing.
fn namespace() -> Option<Namespace> {
    linerate_skip::permitted(Namespace::quiet(), |e| e.cause == linerate_host::Cause::Capability)
}

/// The kernel between a packet socket, where frames are sent, and another port, where they are received.
struct Kernel {
    tx: TxQueue,
    rx: RxQueue,
    _ports: [Port; 2],
}

impl Kernel {
    fn between(ns: &Namespace, from: &str, to: &str) -> Option<Self> {
        let port = |name: &str| ns.run_in(|| open(name)).unwrap();
        let mut near = linerate_skip::permitted(port(to), |e| e.cause == Cause::Capability)?;
        let mut far = port(from).unwrap();
        let (tx, rx) = (far.take_tx(0).unwrap(), near.take_rx(0).unwrap());
        Some(Self { tx, rx, _ports: [near, far] })
    }

    /// Hands the kernel a frame; false if the kernel refuses it.
    fn send(&mut self, bytes: &[u8], meta: Option<Meta>) -> bool {
        let usable = self.tx.ring.usable();
        let before = self.tx.counters().frames;
        let n = u32::try_from(bytes.len().div_ceil(usable)).unwrap();
        let mut batch = self.tx.ring.reserve(n);
        for (i, part) in (0..).zip(bytes.chunks(usable)) {
            assert!(batch.put(i, part));
            batch.set(i, part.len(), if i + 1 < n { flags::MOREFRAG } else { 0 });
        }
        if let Some(meta) = meta {
            batch.set_meta(0, meta);
        }
        batch.commit(n);
        let until = Instant::now() + LIMIT;
        while self.tx.ring.outstanding() > 0 {
            assert!(Instant::now() < until, "the packet socket does not send");
            self.tx.sync();
        }
        self.tx.counters().frames > before
    }

    /// Receives the next of our frames, with the kernel's metadata.
    fn receive(&mut self) -> (Vec<u8>, Option<Meta>) {
        let until = Instant::now() + LIMIT;
        loop {
            assert!(Instant::now() < until, "nothing comes");
            self.rx.sync();
            let mut batch = self.rx.ring.batch(u32::MAX);
            let (mut bytes, mut n) = (Vec::new(), 0);
            let meta = if batch.is_empty() { None } else { batch.meta(0) };
            while n < batch.len() {
                let (part, word) = batch.frame(n).unwrap();
                bytes.extend(part.to_vec());
                n += 1;
                if word & flags::MOREFRAG == 0 {
                    break;
                }
            }
            batch.release(n);
            if bytes.get(6..12) == Some(&SRC.0) {
                return (bytes, meta);
            }
            std::thread::yield_now();
        }
    }
}

#[test]
fn checksums_are_the_kernels() {
    let Some(ns) = namespace() else { return };
    let Some(mut kernel) = Kernel::between(&ns, "packet:t0", "tap:t0") else { return };
    for v6 in [false, true] {
        for udp in [false, true] {
            for payload in [1, 2, 3, 26, 64, 63, 511, 1000, 1399, 1400] {
                let shape = Shape { v6, udp, tags: 0, flags: 0x18, ident: 9, payload };
                let (mut frame, meta) = shape.open();
                assert!(kernel.send(&frame, Some(meta)), "{shape:?}");
                let (theirs, _) = kernel.receive();
                assert_eq!(verify_checksums(&theirs, &[]), Verdict::Good, "{shape:?}");
                complete_checksum(&mut frame, &[], &meta).unwrap();
                assert_eq!(frame, theirs, "{shape:?}");
            }
        }
    }
}

#[test]
fn segments_are_the_kernels() {
    let Some(ns) = namespace() else { return };
    let Some(mut kernel) = Kernel::between(&ns, "packet:t0", "tap:t0") else { return };
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
                    if !kernel.send(&frame, Some(meta)) {
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
                        assert_eq!(ours, kernel.receive().0, "{shape:?}, segment {number} of {gso_size}");
                        number += 1;
                    }
                    compared += 1;
                }
            }
        }
    }
    // Kernels before 6.2 accept no such requests for UDP.
    println!("{compared} super-frames compared; refused: {refused:?}");
    assert!(refused.iter().all(|(shape, _)| shape.udp), "TSO was refused: {refused:?}");
}

/// Sends segments through a veth pair whose far end holds received segments for a while, and merges them. How many it
/// merges depends on timing; a packet merged by the kernel must equal ours from the same segments.
#[test]
fn merged_packets_are_the_kernels() {
    let Some(ns) = namespace() else { return };
    let pair = ns.run_in(|| VethPair::new(["va", "vb"], 1, 1500)).unwrap().unwrap();
    // A veth merges only frames that its far end could not have sent as a super-frame.
    pair.set_offloads("va", Offloads { tso: false, ..pair.offloads("va").unwrap() }).unwrap();
    pair.set_offloads("vb", Offloads { gro: true, ..pair.offloads("vb").unwrap() }).unwrap();
    // The namespace's own mount of sysfs, to make the kernel wait 20 ms for more segments.
    let wait = "mount -t sysfs none /sys && echo 20000000 >/sys/class/net/vb/gro_flush_timeout";
    let waits = ns.run_in(|| Command::new("unshare").args(["-m", "sh", "-c", wait]).output()).unwrap();
    if !waits.as_ref().is_ok_and(|output| output.status.success()) {
        linerate_skip::skip!("the kernel cannot be made to wait: {waits:?}");
        return;
    }
    let Some(mut kernel) = Kernel::between(&ns, "packet:va", "packet:vb") else { return };
    let (mut merged, mut whole) = (0, 0);
    // At most 64 segments each, the limit of our packets.
    for (v6, flags, size, ident) in
        [(false, 0x10, 1000, 5), (true, 0x10, 1000, 0), (false, 0x18, 1400, 0xfff8), (true, 0x18, 500, 0)]
    {
        let shape = Shape { v6, udp: false, tags: 0, flags, ident, payload: 30_000 };
        let (frame, _) = shape.open();
        let (template, payload) = frame.split_at(header_len(&frame).unwrap());
        let slices = [payload];
        let mut segments = Segments::new(template, &slices, size).unwrap();
        let mut frames = Vec::new();
        while let Some(len) = segments.next_len() {
            let mut frame = vec![0; len];
            segments.write_next(&mut frame[..]).unwrap();
            assert!(kernel.send(&frame, None));
            frames.push(frame);
        }
        let (mut next, mut lro) = (0, Lro::new(LroConfig { flows: 8, max_len: 65535, max_pieces: 64, timeout: 0 }));
        while next < frames.len() {
            let (theirs, meta) = kernel.receive();
            let first = next;
            let mut bytes = theirs.len() - template.len();
            while bytes > 0 {
                bytes = bytes.checked_sub(frames[next].len() - template.len()).expect("whole segments");
                next += 1;
            }
            if next == first + 1 {
                assert_eq!(theirs, frames[first]);
                continue;
            }
            // The same segments through our LRO; PSH completes a packet.
            let mut ours = Vec::new();
            let mut keep = |packet: Merged<'_>| {
                let piece = |piece: &Piece| frames[piece.frame as usize][usize::from(piece.start)..].to_vec();
                let payload: Vec<u8> = packet.pieces.iter().flat_map(piece).collect();
                ours.push(([packet.header, &payload].concat(), packet.meta));
            };
            for (name, frame) in (0..).zip(&frames).take(next).skip(first) {
                let verdict = verify_checksums(frame, &[]);
                let received = Received { head: frame, len: frame.len(), frame: name, verdict, vlan_tci: 0, hash: 0 };
                assert_eq!(lro.push(0, &received, &mut keep), Pushed::Held);
            }
            lro.flush(&mut keep);
            let (ours, ours_meta) = ours.pop().expect("a packet");
            assert_eq!(ours, theirs, "{shape:?}: segments {first}..{next}");
            let meta = meta.expect("a super-frame says so");
            let places = |meta: Meta| (meta.gso_type, meta.gso_size, meta.csum_start, meta.csum_offset);
            assert_eq!(places(ours_meta), places(meta), "{shape:?}: segments {first}..{next}");
            assert_eq!(meta.flags & Meta::NEEDS_CSUM, ours_meta.flags & Meta::NEEDS_CSUM);
            merged += next - first;
            whole += 1;
        }
    }
    drop(pair);
    println!("{merged} segments in {whole} packets of the kernel's compared");
    if whole == 0 {
        linerate_skip::skip!("this kernel merged nothing");
    }
}

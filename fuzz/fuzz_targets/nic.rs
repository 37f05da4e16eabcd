//! The adapter by a script: two of them and the wire between, on which frames are looked at, changed and made up.
//! Nothing panics; what is given is sent or a counted drop, and what comes is shown or a counted drop; segments hold the
//! payload that was given, and right checksums; what is shown is what came, and what was merged gives it back when it is
//! segmented again.
//!
//! A step is an operation (1 byte), a length (2, big endian), and so many bytes, which are what [`step`] takes them
//! for.
#![no_main]

use libfuzzer_sys::fuzz_target;
use linerate_nic::*;
use linerate_offload::*;
use linerate_port::{RxQueue, TxQueue, open_all};
use linerate_ring::{Meta, flags};
use linerate_wire::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

const A: [u8; 6] = [2, 0, 0, 0, 0, 1];
const B: [u8; 6] = [2, 0, 0, 0, 0, 9];
/// Interfaces of the receiving adapter; the second's address is the next one after [`B`].
const VIS: usize = 2;

/// A frame on the wire, and what stands in its slot's metadata.
type OnWire = (Vec<u8>, Option<Meta>);

struct World {
    near: NicQueue,
    near_control: Control,
    /// The wire: what the near adapter sent, and what the far one gets.
    out: RxQueue,
    into: TxQueue,
    far: NicQueue,
    far_control: Control,
    /// Frames given to the near adapter, and put before the far one.
    given: u64,
    put: u64,
}

impl World {
    fn new(shape: u8) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let n = NEXT.fetch_add(1, Ordering::Relaxed);
        let options =
            ["slots=128,buf=2048", "slots=128,buf=512", "slots=256,buf=4096,mtu=3000"][usize::from(shape) % 3];
        let id = format!("fuzz{}-{n}", std::process::id());
        let names = ["{1", "}1", "{2", "}2"].map(|end| format!("cable:{id}{end},{options}"));
        let Ok([a, mut out, mut into, b]) = <[_; 4]>::try_from(open_all(&names).unwrap()) else { unreachable!() };
        let config = |mac, interfaces| NicConfig { mac: Some(mac), interfaces, ..NicConfig::default() };
        let mut near = Nic::new(a, &config(A, 1)).unwrap();
        let mut far = Nic::new(b, &config(B, VIS)).unwrap();
        let (near_control, far_control) = (near.control(), far.control());
        // In half of all scripts it looks for messages of congestion points.
        far_control.react((shape >= 128).then_some(10_000_000_000));
        let (near, far) = (near.take(0).unwrap(), far.take(0).unwrap());
        let (out, into) = (out.take_rx(0).unwrap(), into.take_tx(0).unwrap());
        Self { near, near_control, out, into, far, far_control, given: 0, put: 0 }
    }

    /// Sends a frame, cut into head and body, and looks at what goes out for it; gives that.
    fn send(&mut self, frame: &[u8], cut: usize, request: Option<Meta>) -> Vec<OnWire> {
        let before = self.near_control.counters(0).unwrap();
        let (head, body) = frame.split_at(cut.min(frame.len()));
        if !self.near.tx.send(0, head, &[body], request) {
            // The wire was empty, and nothing is capped.
            panic!("refused: {} bytes, {request:?}", frame.len());
        }
        self.given += 1;
        self.near.tx.sync(0);
        let sent = frames(&mut self.out);
        self.near.tx.sync(0);
        let after = self.near_control.counters(0).unwrap();
        let of = |count| after.of(count) - before.of(count);
        assert_eq!(of(Count::TxFrames), sent.len() as u64);
        assert!(sent.iter().all(|(_, meta)| meta.is_none()), "a cable is handed nothing down");
        let meta = request.unwrap_or_default();
        let tag = (meta.vlan_tci != 0).then_some(meta.vlan_tci);
        if of(Count::TxSegmented) > 0 {
            let headers = header_len(head).unwrap();
            let mut whole = Vec::new();
            for (segment, _) in &sent {
                let untagged = without(segment, tag);
                assert_ne!(sums(&untagged), Some(false), "{meta:?}");
                assert!(untagged.len() - headers <= meta.gso_size.into());
                whole.extend_from_slice(&untagged[headers..]);
            }
            assert!(whole == frame[headers..], "the payload is another");
        } else if let [(one, _)] = &sent[..] {
            let (mut got, mut gave) = (without(one, tag), frame.to_vec());
            if meta.flags & Meta::NEEDS_CSUM != 0 {
                let at = usize::from(meta.csum_start) + usize::from(meta.csum_offset);
                got[at..at + 2].fill(0);
                gave[at..at + 2].fill(0);
            }
            assert!(got == gave, "the frame is another");
        }
        sent
    }

    /// Puts frames before the far adapter, in parts of so many bytes.
    fn put(&mut self, wire: &[OnWire], part: usize) {
        for (frame, meta) in wire {
            let part = part.clamp(frame.len() / 60 + 1, self.into.ring.usable());
            let parts: Vec<&[u8]> = if frame.is_empty() { vec![&[][..]] } else { frame.chunks(part).collect() };
            let n = u32::try_from(parts.len()).unwrap();
            let mut batch = self.into.ring.reserve(n);
            if batch.len() < n {
                break;
            }
            for (i, part) in (0..n).zip(&parts) {
                assert!(batch.put(i, part));
                batch.set(i, part.len(), if i + 1 < n { flags::MOREFRAG } else { 0 });
            }
            if let Some(meta) = meta {
                batch.set_meta(0, *meta);
            }
            batch.commit(n);
            // One slot without bytes is no frame.
            self.put += u64::from(!frame.is_empty());
        }
        self.into.sync();
    }

    /// Has the far adapter receive, at most so many frames an interface, and looks at what it shows; the wire said
    /// nothing of the frames if they are `honest`.
    fn receive(&mut self, wire: &[OnWire], most: usize, honest: bool) {
        // All that came is taken, or counted as unread.
        for _ in 0..4 {
            self.far.rx.poll(0);
            for vi in 0..VIS {
                let mut left: Vec<Vec<u8>> = wire.iter().map(|(frame, _)| plain(frame, true)).collect();
                self.far.rx.receive(vi, most, |frame| {
                    let (len, about, merged) = (frame.len(), frame.meta(), frame.is_merged());
                    let headers = frame.head().len();
                    let bytes = frame.to_vec();
                    assert_eq!(bytes.len(), len);
                    if !honest {
                        return;
                    }
                    let tag = |bytes: &[u8]| match about.vlan {
                        Some(tag) => [&bytes[..12], &[0x81, 0], &tag.to_be_bytes(), &bytes[12..]].concat(),
                        None => bytes.to_vec(),
                    };
                    if !merged {
                        match about.checksum {
                            Verdict::Good => assert_ne!(sums(&bytes), Some(false)),
                            Verdict::Bad => assert_ne!(sums(&bytes), Some(true)),
                            Verdict::Unknown => {}
                        }
                        return came(wire, &mut left, &tag(&bytes), false);
                    }
                    assert_eq!(about.checksum, Verdict::Good);
                    let payload = [&bytes[headers..]];
                    let mut segments = Segments::from_meta(&bytes[..headers], &payload, &about.request).unwrap();
                    let mut slot = vec![0; 1 << 16];
                    let mut n = 0;
                    while let Some(len) = segments.write_next(&mut slot[..]) {
                        assert_eq!(sums(&slot[..len]), Some(true));
                        came(wire, &mut left, &tag(&slot[..len]), true);
                        n += 1;
                    }
                    assert!(n > 1);
                });
            }
        }
        self.far.rx.poll(0);
        self.into.sync();
    }

    /// Nothing that was given or put went without being counted.
    fn explained(&mut self) {
        let near = self.near_control.counters(0).unwrap();
        // What was segmented was given as one.
        assert_eq!(near.given() - near.of(Count::TxSegments) + near.of(Count::TxSegmented), self.given);
        let ledger = self.far_control.ledger();
        assert_eq!(ledger.frames + self.into.counters().dropped.total(), self.put);
        let arrived: u64 = (0..VIS).map(|vi| self.far_control.counters(vi).unwrap().arrived()).sum();
        assert_eq!(ledger.frames + ledger.copies, arrived + ledger.nobody());
    }
}

/// All frames that a queue has, whole.
fn frames(rx: &mut RxQueue) -> Vec<OnWire> {
    let (mut frames, mut open) = (Vec::<OnWire>::new(), false);
    loop {
        rx.sync();
        let mut batch = rx.ring.batch(u32::MAX);
        let n = batch.len();
        if n == 0 {
            assert!(!open);
            return frames;
        }
        for i in 0..n {
            let meta = batch.meta(i);
            let (part, word) = batch.frame(i).unwrap();
            if !open {
                frames.push((Vec::new(), meta));
            }
            frames.last_mut().unwrap().0.extend(part.to_vec());
            open = word & flags::MOREFRAG != 0;
        }
        batch.release(n);
    }
}

/// A frame without the tag that was put in.
fn without(frame: &[u8], tag: Option<u16>) -> Vec<u8> {
    let Some(tag) = tag else { return frame.to_vec() };
    assert_eq!((&frame[12..14], &frame[14..16]), (&[0x81, 0][..], &tag.to_be_bytes()[..]));
    [&frame[..12], &frame[16..]].concat()
}

/// Whether a frame's checksums are right, by the views of `wire`; None if it has none that those find.
fn sums(frame: &[u8]) -> Option<bool> {
    let ethernet = EthernetFrame::new_checked(frame).ok()?;
    let (mut ethertype, mut packet) = (ethernet.ethertype(), ethernet.payload());
    while ethertype.is_vlan() {
        let tag = VlanHeader::new_checked(packet).ok()?;
        (ethertype, packet) = (tag.ethertype(), tag.payload());
    }
    if ethertype == EtherType::IPV4 {
        let ip = Ipv4Packet::new_checked(packet).ok()?;
        let right = ip.verify_checksum();
        if ip.is_fragment() {
            return None;
        }
        return match ip.protocol() {
            IpProtocol::UDP => {
                let udp = UdpDatagram::new_checked(ip.payload()).ok().filter(|udp| udp.checksum() != 0)?;
                // A datagram shorter than its packet is judged over other bytes.
                (usize::from(udp.len()) == ip.payload().len())
                    .then(|| right && udp.verify_checksum_v4(ip.src(), ip.dst()))
            }
            IpProtocol::TCP => {
                let tcp = TcpSegment::new_checked(ip.payload()).ok()?;
                Some(right && tcp.verify_checksum_v4(ip.src(), ip.dst()))
            }
            _ => None,
        };
    }
    if ethertype != EtherType::IPV6 {
        return None;
    }
    let ip = Ipv6Packet::new_checked(packet).ok()?;
    match ip.next_header() {
        IpProtocol::UDP => {
            let udp = UdpDatagram::new_checked(ip.payload()).ok()?;
            (usize::from(udp.len()) == ip.payload().len()).then(|| udp.verify_checksum_v6(ip.src(), ip.dst()))
        }
        IpProtocol::TCP => Some(TcpSegment::new_checked(ip.payload()).ok()?.verify_checksum_v6(ip.src(), ip.dst())),
        _ => None,
    }
}

/// What is shown came, byte for byte unless it was merged; takes it off the list of what did, in which frames are alike
/// that merging makes alike.
fn came(wire: &[OnWire], left: &mut Vec<Vec<u8>>, shown: &[u8], merged: bool) {
    let exact = plain(shown, false);
    assert!(merged || wire.iter().any(|(frame, _)| plain(frame, false) == exact), "nothing such came: {shown:02x?}");
    let alike = plain(shown, true);
    let at = left.iter().position(|frame| *frame == alike);
    let at = at.unwrap_or_else(|| panic!("of {} frames none is {shown:02x?}, merged: {merged}", left.len()));
    left.swap_remove(at);
}

/// A frame without what may be lost on its way: a tag that says nothing; and by merging padding, the identification of
/// a packet that must not be fragmented, and later time-stamps, with the sums over them.
fn plain(frame: &[u8], merged: bool) -> Vec<u8> {
    let mut frame = frame.to_vec();
    if frame.get(12..16) == Some(&[0x81, 0, 0, 0]) {
        frame.drain(12..16);
    }
    let headers = Headers::parse(&frame, frame.len()).filter(|_| merged);
    let Some((network, ip)) = headers.and_then(|headers| Some((headers.network, headers.ip?))) else { return frame };
    frame.truncate(ip.end);
    let tcp = ip.transport;
    if ip.protocol != IpProtocol::TCP || frame.len() < tcp + 20 {
        return frame;
    }
    if ip.version == Version::V4 && frame[network + 6] & 0x40 != 0 {
        frame[network + 4..network + 6].fill(0);
        frame[network + 10..network + 12].fill(0);
    }
    if frame[tcp + 12] >> 4 == 8 && frame.get(tcp + 20..tcp + 24) == Some(&[1, 1, 8, 10]) && frame.len() >= tcp + 32 {
        frame[tcp + 24..tcp + 28].fill(0);
        frame[tcp + 16..tcp + 18].fill(0);
    }
    frame
}

/// A super-frame of `len` bytes of payload with an open checksum, and the request for it: TCP or UDP, IPv4 or IPv6,
/// with a time-stamp option or not, as bits of `kind` say.
fn built(kind: u8, to: [u8; 6], len: usize, seq: u32, tcp_flags: u8) -> (Vec<u8>, Meta) {
    let (v6, udp, stamped) = (kind & 1 != 0, kind & 2 != 0, kind & 4 != 0);
    let transport = if udp { 8 } else { 20 + if stamped { 12 } else { 0 } };
    let network = if v6 { 40 } else { 20 };
    let protocol = if udp { IpProtocol::UDP } else { IpProtocol::TCP };
    let mut frame = vec![0; 14 + network + transport + len];
    let ethertype = if v6 { EtherType::IPV6 } else { EtherType::IPV4 };
    let rest = EthernetRepr { dst: MacAddr(to), src: MacAddr(A), ethertype }.emit(&mut frame).unwrap();
    let payload_len = transport + len;
    let rest = if v6 {
        let ip = Ipv6Repr::new([0xfd; 16].into(), [0xfe; 16].into(), protocol);
        Ipv6Repr { payload_len, ..ip }.emit(rest).unwrap()
    } else {
        let ip = Ipv4Repr::new([10, 0, 0, 1].into(), [10, 0, 0, 2].into(), protocol);
        Ipv4Repr { payload_len, dont_fragment: kind & 8 != 0, ident: 0xfffe, ..ip }.emit(rest).unwrap()
    };
    rest[..4].copy_from_slice(&[3, 232, 7, 208]);
    if udp {
        rest[4..6].copy_from_slice(&u16::try_from(payload_len).unwrap().to_be_bytes());
    } else {
        rest[4..8].copy_from_slice(&seq.to_be_bytes());
        rest[12..16].copy_from_slice(&[if stamped { 0x80 } else { 0x50 }, tcp_flags, 1, 0]);
        if stamped {
            rest[20..32].copy_from_slice(&[1, 1, 8, 10, 0, 0, 0, 9, 0, 0, 0, 7]);
        }
    }
    for (i, byte) in rest[transport..].iter_mut().enumerate() {
        *byte = (i % 251) as u8;
    }
    let headers = Headers::parse(&frame, frame.len()).unwrap();
    let sum = !pseudo_header(&headers, &headers.ip.unwrap(), &frame, payload_len as u32).finish();
    let (start, offset) = (14 + network, if udp { 6 } else { 16 });
    frame[start + offset..start + offset + 2].copy_from_slice(&sum.to_be_bytes());
    let meta = Meta {
        flags: Meta::NEEDS_CSUM,
        gso_type: if udp { 5 } else { 1 + 3 * u8::from(v6) },
        hdr_len: (start + transport) as u16,
        csum_start: start as u16,
        csum_offset: offset as u16,
        ..Meta::default()
    };
    (frame, meta)
}

/// One change of what can be set; most are taken, none does harm.
fn set(control: &Control, vi: usize, what: &[u8]) {
    const FLAGS: [&str; 9] =
        ["txcsum", "rxcsum", "tso4", "tso6", "lro", "vlanhwtag", "vlanhwfilter", "vlanhwtso", "vlanhwcsum"];
    let [kind, a, ..] = *what else { return };
    let a = usize::from(a);
    match kind % 6 {
        0 => drop(control.set_flag(vi, FLAGS[a % FLAGS.len()])),
        1 => drop(control.set_flag(vi, &format!("-{}", FLAGS[a % FLAGS.len()]))),
        2 => drop(control.change(vi, |vi| vi.mtu = 68 + a * 12)),
        3 => drop(control.change(vi, |vi| vi.vlans = (1..=a as u16 % 8).collect())),
        4 => drop(control.set_parameter(vi, "rx.rss_queues", ["0", "1", "4", "9"][a % 4])),
        _ => {
            let mut steering = Steering::new(4);
            let fields = Match { dst_port: Some(2000), ..Match::default() };
            let action = if a & 1 == 0 { Action::Queue(3) } else { Action::Drop };
            steering.insert(Rule { location: 1, fields, action }).unwrap();
            let _ = control.change(vi, |vi| {
                vi.steering = (a & 2 == 0).then(|| Arc::new(steering));
                (vi.promiscuous, vi.up) = (a & 4 != 0, a & 0xc0 != 0xc0);
            });
        }
    }
}

fn step(world: &mut World, operation: u8, bytes: &[u8]) {
    match operation & 7 {
        // Any frame with any request: where it is cut, the request, the frame.
        0 => {
            let [cut, bytes @ ..] = bytes else { return };
            let Some((words, frame)) = bytes.split_first_chunk::<16>() else { return };
            let [a, b] = [0, 8].map(|at| u64::from_le_bytes(std::array::from_fn(|i| words[at + i])));
            let wire = world.send(frame, (*cut).into(), Some(Meta::from_words([a, b])));
            world.put(&wire, 4096);
            world.receive(&wire, usize::MAX, true);
        }
        1 => {
            let wire = world.send(bytes, bytes.len() / 2, None);
            world.put(&wire, 4096);
            world.receive(&wire, usize::MAX, true);
        }
        // Super-frames, the wire changing bytes of their segments, or not; their sums are right again, or not.
        2..=4 => {
            let [kind, size @ .., len_hi, len_lo, tci, tcp_flags] =
                bytes.first_chunk::<7>().copied().unwrap_or_default();
            let size = u16::from_be_bytes(size) % 2000;
            let len = usize::from(u16::from_be_bytes([len_hi, len_lo])) % 9000;
            let to = [B, B, [B[0], 0, 0, 0, 0, 10], [0xff; 6]][usize::from(kind >> 4 & 3)];
            let (frame, meta) = built(kind, to, len, u32::from(operation) << 24, tcp_flags);
            let request = Meta { gso_size: size, vlan_tci: u16::from(tci & 0x87), ..meta };
            let cut = usize::from(meta.hdr_len) + usize::from(kind >> 6) * 10;
            let request = if kind & 0x40 != 0 && len < 1400 { Meta { gso_type: 0, ..request } } else { request };
            let mut wire = world.send(&frame, cut, Some(request));
            for (sent, _) in &wire {
                assert_eq!(sums(sent), Some(true));
            }
            for change in bytes.get(7..).unwrap_or_default().as_chunks::<3>().0 {
                let [which, at, what] = *change;
                let n = wire.len().max(1);
                match wire.get_mut(usize::from(which) % n) {
                    // Out of order, twice, or another byte.
                    Some(_) if what == 0 => wire.swap(usize::from(which) % n, usize::from(at) % n),
                    Some((frame, _)) if what == 0xff => {
                        let twice = (frame.clone(), None);
                        wire.push(twice);
                    }
                    Some((frame, _)) => {
                        let at = usize::from(at) % frame.len().min(90);
                        frame[at] ^= what;
                        if operation & 0x40 == 0 {
                            let _ = fill_checksums(frame, &[]);
                        }
                    }
                    None => {}
                }
            }
            world.put(&wire, if operation & 0x80 == 0 { 4096 } else { 100 });
            let most = if operation & 0x20 == 0 { usize::MAX } else { 3 };
            world.receive(&wire, most, true);
        }
        // Any frame with any metadata comes: how it lies in slots, the metadata, the frame.
        5 => {
            let [part, bytes @ ..] = bytes else { return };
            let Some((words, frame)) = bytes.split_first_chunk::<16>() else { return };
            let [a, b] = [0, 8].map(|at| u64::from_le_bytes(std::array::from_fn(|i| words[at + i])));
            // What fits a chain of the smallest buffers.
            let frame = &frame[..frame.len().min(15_000)];
            let wire = [(frame.to_vec(), Some(Meta::from_words([a, b])))];
            world.put(&wire, (*part).into());
            world.receive(&wire, usize::MAX, false);
        }
        6 => {
            set(&world.near_control, 0, bytes);
            world.near.tx.sync(0);
        }
        _ => set(&world.far_control, usize::from(operation >> 7), bytes),
    }
}

fuzz_target!(|script: &[u8]| {
    let Some((shape, mut rest)) = script.split_first() else { return };
    let mut world = World::new(*shape);
    while let [operation, high, low, after @ ..] = rest {
        let len = usize::from(*high) << 8 | usize::from(*low);
        let (bytes, after) = after.split_at(after.len().min(len));
        rest = after;
        step(&mut world, *operation, bytes);
        world.explained();
    }
});

//! Checksums that frames ask for: who completes them, and what becomes of requests that cannot be.

use crate::sys::Packets;
use crate::*;
use linerate_host::Rtnetlink;
use linerate_ring::Meta;
use std::net::UdpSocket;

const FROM: [u8; 6] = [2, 0, 0, 0, 0, 1];

/// RFC 1071, not complemented.
fn sum(bytes: &[u8], start: u32) -> u16 {
    let mut sum = start;
    for pair in bytes.chunks(2) {
        sum += u32::from(pair[0]) << 8 | pair.get(1).copied().map_or(0, u32::from);
    }
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    u16::try_from(sum).unwrap()
}

/// A datagram from 10.0.0.1 to 10.0.0.2's port 7000 with its checksum left open, the pseudo-header's sum in its place; the
/// request for it; and the frame as it has to arrive.
fn datagram(to: [u8; 6], payload: usize) -> (Vec<u8>, Meta, Vec<u8>) {
    let udp = u16::try_from(8 + payload).unwrap();
    let mut open = [&to[..], &FROM, &[8, 0]].concat();
    open.extend([0x45, 0, 0, 0, 0, 1, 0x40, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
    open[16..18].copy_from_slice(&(20 + udp).to_be_bytes());
    let header = !sum(&open[14..34], 0);
    open[24..26].copy_from_slice(&header.to_be_bytes());
    open.extend([[0, 7], 7000u16.to_be_bytes(), udp.to_be_bytes()].concat());
    open.extend(sum(&open[26..34], 17 + u32::from(udp)).to_be_bytes());
    open.extend((0..payload).map(|i| u8::try_from(i % 251).unwrap()));
    let mut closed = open.clone();
    let whole = !sum(&open[34..], 0);
    closed[40..42].copy_from_slice(&if whole == 0 { 0xffff } else { whole }.to_be_bytes());
    let meta = Meta { flags: Meta::NEEDS_CSUM, csum_start: 34, csum_offset: 6, ..Meta::default() };
    (open, meta, closed)
}

/// Sends a frame in parts, with a request.
fn ask(tx: &mut TxQueue, bytes: &[u8], part: usize, meta: Meta) {
    let parts: Vec<_> = bytes.chunks(part).collect();
    let n = u32::try_from(parts.len()).unwrap();
    let mut batch = tx.ring.reserve(n);
    assert_eq!(batch.len(), n);
    for (i, part) in (0..).zip(&parts) {
        assert!(batch.put(i, part));
        batch.set(i, part.len(), if i + 1 < n { flags::MOREFRAG } else { 0 });
    }
    batch.set_meta(0, meta);
    batch.commit(n);
    drain(tx);
}

/// The next IPv4 frame of ours.
fn next(far: &Packets) -> Vec<u8> {
    let mut got = None;
    until("the frame comes", || {
        got = far.receive().filter(|bytes| bytes.get(6..14) == Some(&[2, 0, 0, 0, 0, 1, 8, 0]));
        got.is_some()
    });
    got.unwrap()
}

/// A port whose kernel completes checksums; None, and why on standard output, if this one does not.
fn completing(ns: &Namespace, name: &str) -> Option<Port> {
    let port = ports(ns, &[name]).remove(0);
    if !port.info().caps.checksum {
        let note = port.info().notes.iter().find(|note| note.contains("this kernel does not take them"));
        linerate_skip::skip!("{}", note.expect("it says why"));
        return None;
    }
    assert!(port.info().path.contains("need_wakeup, transmit checksums"), "{}", port.info().path);
    Some(port)
}

#[test]
fn the_kernel_completes_what_is_asked_for() {
    let Some(ns) = namespace() else { return };
    let pair = veth(&ns, 1, 9000);
    let far = ns.run_in(|| Packets::open("vb")).unwrap().unwrap();
    let to = pair.link("vb").unwrap().mac.unwrap();
    for mode in ["copy", "generic"] {
        let Some(mut port) = completing(&ns, &format!("xdp:va,mode={mode},buf=4096,slots=256")) else { return };
        let longest = port.info().largest.min(9000);
        let mut tx = port.take_tx(0).unwrap();
        // In one buffer; in parts, the field in the first, at its end, behind it; in several buffers.
        for (payload, part) in
            [(18, 3840), (19, 3840), (1458, 3840), (1001, 100), (300, 42), (300, 41), (400, 8), (longest - 42, 3840)]
        {
            let (open, meta, closed) = datagram(to, payload);
            assert_ne!(open, closed);
            ask(&mut tx, &open, part, meta);
            assert!(next(&far) == closed, "{mode}: {payload} bytes in parts of {part}");
            // Not asked for: nobody touches it.
            ask(&mut tx, &open, part, Meta::default());
            assert!(next(&far) == open, "{mode}: {payload} bytes in parts of {part}, nothing asked");
        }
        assert_eq!((tx.counters().frames, tx.counters().dropped.total()), (16, 0));
    }
}

#[test]
fn a_socket_of_the_kernels_takes_what_the_kernel_completed() {
    let Some(ns) = namespace() else { return };
    let pair = veth(&ns, 1, 1500);
    let to = pair.link("vb").unwrap().mac.unwrap();
    let socket = ns.run_in(|| {
        Rtnetlink::open().unwrap().add_address("vb", [10, 0, 0, 2].into(), 24).unwrap();
        UdpSocket::bind("10.0.0.2:7000").unwrap()
    });
    let socket = socket.unwrap();
    socket.set_read_timeout(Some(LIMIT)).unwrap();
    let Some(mut port) = completing(&ns, "xdp:va") else { return };
    let mut tx = port.take_tx(0).unwrap();
    let (open, meta, closed) = datagram(to, 100);
    let mut buffer = [0; 2000];
    // The kernel drops the one that is left open.
    ask(&mut tx, &open, 1500, Meta::default());
    ask(&mut tx, &datagram(to, 200).0, 1500, meta);
    assert_eq!(socket.recv(&mut buffer).unwrap(), 200);
    ask(&mut tx, &open, 1500, meta);
    assert_eq!(socket.recv(&mut buffer).unwrap(), 100);
    assert_eq!(buffer[..100], closed[42..]);
}

#[test]
fn a_veth_that_would_pass_checksums_on_open_is_not_asked() {
    let Some(ns) = namespace() else { return };
    let pair = veth(&ns, 1, 1500);
    let on = Offloads { tx_checksum: true, ..OFF };
    assert!(pair.set_offloads("va", on).unwrap().tx_checksum);
    let port = ports(&ns, &["xdp:va"]).remove(0);
    assert!(!port.info().caps.checksum && !port.info().path.contains("checksum"), "{}", port.info().path);
    let notes = port.notes();
    let old = notes.iter().any(|note| note.contains("this kernel does not take them"));
    assert!(old || notes.iter().any(|note| note.contains("ethtool -K va tx off")), "{notes:?}");
    drop(port);
    pair.set_offloads("va", OFF).unwrap();
    let port = ports(&ns, &["xdp:va"]).remove(0);
    assert!(old || port.info().caps.checksum && !port.notes().iter().any(|note| note.contains("checksum")));
}

#[test]
fn requests_that_cannot_be_are_dropped_and_what_is_behind_them_goes() {
    let Some(ns) = namespace() else { return };
    let pair = veth(&ns, 1, 1500);
    let far = ns.run_in(|| Packets::open("vb")).unwrap().unwrap();
    let to = pair.link("vb").unwrap().mac.unwrap();
    let Some(mut port) = completing(&ns, "xdp:va,slots=64") else { return };
    let mut tx = port.take_tx(0).unwrap();
    let (open, meta, closed) = datagram(to, 100);
    let beyond = u16::try_from(open.len()).unwrap();
    let mut dropped = 0;
    // More of them than the ring has slots.
    for _ in 0..40 {
        for bad in [
            Meta { csum_start: beyond, ..meta },
            Meta { csum_start: u16::MAX, csum_offset: u16::MAX, ..meta },
            Meta { csum_offset: beyond - 34 - 1, ..meta },
        ] {
            ask(&mut tx, &open, 1500, bad);
            ask(&mut tx, &open, 50, bad);
            dropped += 2;
        }
        ask(&mut tx, &open, 1500, meta);
        assert!(next(&far) == closed);
    }
    ask(&mut tx, &open, 1500, Meta { gso_type: 5, gso_size: 20, ..meta });
    let count = tx.counters().dropped;
    assert_eq!(
        (count.of(DropReason::Refused), count.of(DropReason::Unfinished), count.total()),
        (dropped, 1, dropped + 1)
    );
    assert_eq!(tx.counters().frames, 40);
    let raw: Vec<_> = port.raw_counters().into_iter().filter(|(name, _)| name.ends_with("tx_invalid_descs")).collect();
    assert_eq!(raw, vec![("xdp_q0_tx_invalid_descs".to_owned(), 0)]);
}

/// Next frame that arrives for port 7000, and its request.
fn arrived(rx: &mut RxQueue) -> (Vec<u8>, Option<Meta>) {
    let mut got = None;
    until("a datagram arrives", || {
        rx.sync();
        let mut batch = rx.ring.batch(u32::MAX);
        let (mut i, n) = (0, batch.len());
        while i < n && got.is_none() {
            let (meta, mut bytes) = (batch.meta(i), Vec::new());
            loop {
                let (part, slot) = batch.frame(i).unwrap();
                part.append_to(&mut bytes);
                i += 1;
                if slot & flags::MOREFRAG == 0 {
                    break;
                }
            }
            let ours = bytes.get(12..14) == Some(&[8, 0]) && bytes.get(36..38) == Some(&7000u16.to_be_bytes());
            got = ours.then_some((bytes, meta));
        }
        batch.release(i);
        got.is_some()
    });
    got.unwrap()
}

/// Regression: frames of a veth's far stack, which leaves checksums to the adapter, arrived with a wrong checksum and no
/// word about it.
#[test]
fn a_checksum_that_the_far_stack_left_open_arrives_as_a_request() {
    let Some(ns) = namespace() else { return };
    for mtu in [1500, 6000] {
        let pair = veth(&ns, 1, mtu);
        let mut port = ports(&ns, &["xdp:va"]).remove(0);
        assert!(port.info().caps.metadata);
        let mut rx = port.take_rx(0).unwrap();
        let on = Offloads { tx_checksum: true, ..OFF };
        assert!(pair.set_offloads("vb", on).unwrap().tx_checksum);
        let socket = ns.run_in(|| {
            let mut net = Rtnetlink::open().unwrap();
            net.add_address("vb", [10, 0, 0, 2].into(), 24).unwrap();
            net.add_neighbour("vb", [10, 0, 0, 1].into(), FROM).unwrap();
            UdpSocket::bind("10.0.0.2:9").unwrap()
        });
        for len in [1, 200, usize::try_from(mtu).unwrap() - 28] {
            let body: Vec<u8> = (0..len).map(|i| u8::try_from(i % 251).unwrap()).collect();
            socket.as_ref().unwrap().send_to(&body, "10.0.0.1:7000").unwrap();
            let (mut bytes, meta) = arrived(&mut rx);
            let meta = meta.unwrap_or_else(|| panic!("{len} bytes came without a request"));
            assert_eq!(meta, Meta { flags: Meta::NEEDS_CSUM, csum_start: 34, csum_offset: 6, ..Meta::default() });
            assert_eq!(sum(&bytes[26..34], 17 + u32::try_from(8 + len).unwrap()).to_be_bytes(), bytes[40..42]);
            let whole = !sum(&bytes[34..42 + len], 0);
            bytes[40..42].copy_from_slice(&if whole == 0 { 0xffff } else { whole }.to_be_bytes());
            assert_eq!(sum(&bytes[26..42 + len], 17 + u32::try_from(8 + len).unwrap()), 0xffff);
            assert_eq!(bytes[42..42 + len], body);
        }
        // What others send is left as it is.
        let far = ns.run_in(|| Packets::open("vb")).unwrap().unwrap();
        let (open, meta, closed) = datagram([2, 0, 0, 0, 0, 9], 100);
        far.send(&open).unwrap();
        assert_eq!(arrived(&mut rx), (open.clone(), Some(meta)));
        far.send(&closed).unwrap();
        assert_eq!(arrived(&mut rx), (closed.clone(), None), "a right checksum");
        let mut wrong = closed.clone();
        wrong[41] ^= 0x10;
        far.send(&wrong).unwrap();
        assert_eq!(arrived(&mut rx), (wrong, None), "a wrong checksum is nobody's request");
        // A right checksum that is the pseudo-header's sum by accident: two bytes of the payload make it so. From the UDP
        // header on, that field included, the sum is then what a right checksum leaves to the pseudo-header.
        let mut same = open;
        same[42..44].fill(0);
        let pseudo = sum(&same[26..34], 17 + 108);
        let missing = !sum(&same[34..], pseudo.into());
        same[42..44].copy_from_slice(&missing.to_be_bytes());
        assert_eq!((sum(&same[34..], pseudo.into()), same[40..42].to_vec()), (0xffff, pseudo.to_be_bytes().to_vec()));
        far.send(&same).unwrap();
        assert_eq!(arrived(&mut rx), (same, None), "right by accident");
        let raw = port.raw_counters();
        assert!(raw.contains(&("xdp_q0_open_checksums".into(), 4)), "those four and no other: {raw:?}");
        drop((rx, port, pair));
    }
}

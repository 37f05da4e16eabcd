//! Each kind of request, on each IP version, to ports that carry it out and to ports that do not.

use super::*;
use crate::open::open_all;
use crate::queue::{RxQueue, TxQueue};
use linerate_offload::{Verdict, verify_checksums};
use linerate_ring::flags;

const BODY: usize = 5000;

fn all() -> Caps {
    Caps { checksum: true, gso: true, uso: true, ..Caps::default() }
}

/// A frame of TCP or UDP, its checksum open, and its request; `payload` bytes behind its headers.
fn frame(v6: bool, udp: bool, tagged: bool, payload: usize) -> (Vec<u8>, Meta) {
    let transport = if udp { 8 } else { 20 };
    let mut bytes = vec![2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1];
    if tagged {
        bytes.extend([0x81, 0, 0x20, 7]);
    }
    let protocol = if udp { 17 } else { 6 };
    let size = u16::try_from(transport + payload).unwrap();
    if v6 {
        bytes.extend([0x86, 0xdd, 0x60, 0, 0, 0]);
        bytes.extend(size.to_be_bytes());
        bytes.extend([protocol, 64]);
        bytes.extend([[0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1], [0xfd; 16]].concat());
    } else {
        bytes.extend([8, 0, 0x45, 0]);
        bytes.extend((size + 20).to_be_bytes());
        bytes.extend([0, 9, 0, 0, 64, protocol, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
        let at = bytes.len() - 20;
        let sum = linerate_sum::checksum(&bytes[at..]);
        bytes[at + 10..at + 12].copy_from_slice(&sum.to_be_bytes());
    }
    let (start, ends) = (bytes.len(), if v6 { 32 } else { 8 });
    let pseudo = linerate_sum::Sum::new()
        .add_bytes(&bytes[start - ends..])
        .add_u16(protocol.into())
        .add_u16(size)
        .fold()
        .to_be_bytes();
    bytes.extend([0x12, 0x34, 0, 9]);
    if udp {
        bytes.extend([size.to_be_bytes(), pseudo].concat());
    } else {
        bytes.extend([0, 0, 0, 1, 0, 0, 0, 2, 0x50, 0x18, 1, 0, pseudo[0], pseudo[1], 0, 0]);
    }
    bytes.extend((0..payload).map(|n| u8::try_from(n % 251).unwrap()));
    let meta = Meta {
        flags: Meta::NEEDS_CSUM,
        csum_start: u16::try_from(start).unwrap(),
        csum_offset: if udp { 6 } else { 16 },
        ..Meta::default()
    };
    (bytes, meta)
}

fn of_segments(meta: Meta, v6: bool, udp: bool, gso_size: u16) -> Meta {
    let gso_type = match (udp, v6) {
        (true, _) => GSO_UDP_L4,
        (false, false) => GSO_TCPV4,
        (false, true) => GSO_TCPV6,
    };
    Meta { gso_type, gso_size, ..meta }
}

fn ring(slots: u32) -> (TxQueue, RxQueue) {
    ring_of(slots, "")
}

fn ring_of(slots: u32, more: &str) -> (TxQueue, RxQueue) {
    static NEXT: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
    let n = NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    let names = ["{1", "}1"].map(|end| format!("cable:finish{}-{n}{end},slots={slots}{more}", std::process::id()));
    let mut ends = open_all(&names).unwrap();
    (ends[0].take_tx(0).unwrap(), ends[1].take_rx(0).unwrap())
}

fn received(tx: &mut TxQueue, rx: &mut RxQueue) -> Vec<(Vec<u8>, Option<Meta>)> {
    tx.sync();
    rx.sync();
    let mut batch = rx.ring.batch(u32::MAX);
    let (mut all, mut at) = (Vec::new(), 0);
    while at < batch.len() {
        let (meta, mut bytes) = (batch.meta(at), Vec::new());
        loop {
            let (part, slot) = batch.frame(at).unwrap();
            part.append_to(&mut bytes);
            at += 1;
            if slot & flags::MOREFRAG == 0 {
                break;
            }
        }
        all.push((bytes, meta));
    }
    batch.release(at);
    all
}

#[test]
fn each_kind_is_carried_out_or_handed_down() {
    for (v6, udp, tagged) in (0..8).map(|n| (n & 1 > 0, n & 2 > 0, n & 4 > 0)) {
        let what = format!("IPv6 {v6}, UDP {udp}, tag {tagged}");
        let (mut tx, mut rx) = ring(64);
        let (bytes, open) = frame(v6, udp, tagged, BODY);
        let meta = of_segments(open, v6, udp, 1000);
        let headers = bytes.len() - BODY;
        // A port that does all gets the frame as it is.
        let mut whole = Finisher::new(all(), 1518);
        assert!(whole.takes(&meta) && whole.takes(&open), "{what}");
        assert_eq!(whole.frames(&bytes, Some(meta)), 1);
        assert_eq!(whole.put(&mut tx.ring, 63, &bytes, Some(meta)).frames, 1, "{what}");
        assert_eq!(received(&mut tx, &mut rx), [(bytes.clone(), Some(meta))], "{what}");
        assert_eq!(whole.done(), Finished::default());
        // One that does nothing gets segments.
        let mut none = Finisher::new(Caps::default(), 1518);
        assert!(!none.takes(&meta) && !none.takes(&open));
        assert_eq!((none.frames(&bytes, Some(meta)), none.slots(&tx.ring, &bytes, Some(meta))), (5, Some(5)));
        let put = none.put(&mut tx.ring, 63, &bytes, Some(meta));
        let came = received(&mut tx, &mut rx);
        assert_eq!((put.frames, put.dropped, came.len()), (5, None, 5), "{what}");
        assert_eq!(put.bytes, came.iter().map(|(bytes, _)| bytes.len() as u64).sum());
        let mut body = Vec::new();
        for (segment, meta) in &came {
            assert_eq!((verify_checksums(segment, &[]), *meta), (Verdict::Good, None), "{what}");
            body.extend_from_slice(&segment[headers..]);
        }
        assert!(body == bytes[headers..], "{what}: every byte");
        // A frame whose checksum alone is open.
        let (short, open) = frame(v6, udp, tagged, 333);
        assert_eq!(none.put(&mut tx.ring, 63, &short, Some(open)).frames, 1);
        let came = received(&mut tx, &mut rx);
        assert_eq!((came.len(), verify_checksums(&came[0].0, &[]), came[0].1), (1, Verdict::Good, None), "{what}");
        assert_eq!(came[0].0[headers..], short[headers..]);
        let (tso, uso) = if udp { (0, 1) } else { (1, 0) };
        assert_eq!(none.done(), Finished { checksums: 1, tso, uso, segments: 5 }, "{what}");
    }
}

#[test]
fn tcp_and_udp_are_segmented_by_ports_that_say_so_of_each() {
    for (udp, caps) in [(false, Caps { gso: false, ..all() }), (true, Caps { uso: false, ..all() })] {
        for v6 in [false, true] {
            let (mut tx, mut rx) = ring(64);
            let mut finisher = Finisher::new(caps, 1518);
            for kind in [udp, !udp] {
                let (bytes, open) = frame(v6, kind, false, 2500);
                let meta = of_segments(open, v6, kind, 1000);
                finisher.put(&mut tx.ring, 63, &bytes, Some(Meta { gso_type: meta.gso_type | GSO_ECN, ..meta }));
                let n = received(&mut tx, &mut rx).len();
                assert_eq!(n, if kind == udp { 3 } else { 1 }, "UDP {kind}, IPv6 {v6}");
            }
        }
    }
}

#[test]
fn segments_beyond_the_room_are_counted_and_longer_ones_than_the_link_carries_refused() {
    let (mut tx, mut rx) = ring(64);
    let (bytes, open) = frame(false, false, false, BODY);
    let meta = of_segments(open, false, false, 500);
    let mut finisher = Finisher::new(Caps::default(), 1514);
    let put = finisher.put(&mut tx.ring, 4, &bytes, Some(meta));
    assert_eq!((put.frames, put.dropped), (4, Some((DropReason::NoRoom, 6))));
    assert_eq!(received(&mut tx, &mut rx).len(), 4);
    assert_eq!(finisher.put(&mut tx.ring, 0, &bytes, Some(meta)).dropped, Some((DropReason::NoRoom, 10)));
    for caps in [Caps::default(), all()] {
        let mut finisher = Finisher::new(caps, 1514);
        let long = finisher.put(&mut tx.ring, 63, &bytes, Some(Meta { gso_size: 1461, ..meta }));
        assert_eq!((long.frames, long.dropped), (0, Some((DropReason::TooLong, 1))));
        assert!(finisher.put(&mut tx.ring, 63, &bytes, Some(Meta { gso_size: 1460, ..meta })).frames > 0);
        received(&mut tx, &mut rx);
    }
    assert_eq!(finisher.frames(&bytes, Some(Meta { gso_size: 0, ..meta })), 1);
    // Found by the fuzzer: a slot without bytes is no frame.
    assert_eq!(finisher.put(&mut tx.ring, 63, &[], Some(open)).dropped, Some((DropReason::TooShort, 1)));
    assert_eq!((finisher.put(&mut tx.ring, 63, &[], None).frames, received(&mut tx, &mut rx).len()), (0, 0));
}

/// Segments that fill several slots each: as many as there are slots for.
#[test]
fn segments_of_several_slots_are_whole_and_counted() {
    let (mut tx, mut rx) = ring_of(64, ",buf=512");
    let (bytes, open) = frame(false, false, false, BODY);
    let meta = of_segments(open, false, false, 500);
    let mut finisher = Finisher::new(Caps::default(), 1514);
    let each = SlotWriter::slots(&tx.ring, 500 + 54).unwrap();
    assert!(each > 1);
    assert_eq!((finisher.put(&mut tx.ring, 63, &bytes, Some(meta)).frames, received(&mut tx, &mut rx).len()), (10, 10));
    let put = finisher.put(&mut tx.ring, 4 * each + 1, &bytes, Some(meta));
    assert_eq!((put.frames, put.dropped), (4, Some((DropReason::NoRoom, 6))));
    assert!(received(&mut tx, &mut rx).iter().all(|(segment, _)| segment.len() == 554));
}

//! Frames of several slots or with metadata, which go one by one; and the room that there is for frames.

use super::*;
use crate::kinds::packet::tests::{OPEN, sum, tcp};
use linerate_ring::Meta;

/// Sends a frame in parts of so many bytes at most, with what its first slot says.
pub(super) fn send_parts(b: &mut Bench, name: &str, bytes: &[u8], part: usize, meta: Option<Meta>) {
    let end = b.end(name);
    end.tx.sync();
    let parts: Vec<_> = bytes.chunks(part).collect();
    let n = u32::try_from(parts.len()).unwrap();
    let mut batch = end.tx.ring.reserve(n);
    assert_eq!(batch.len(), n, "{name} has no room to send");
    for (i, part) in (0..).zip(parts) {
        assert!(batch.put(i, part));
        batch.set(i, part.len(), if i + 1 < n { flags::MOREFRAG } else { 0 });
    }
    meta.into_iter().for_each(|meta| batch.set_meta(0, meta));
    batch.commit(n);
    end.tx.sync();
    b.poll();
}

/// A chain of more slots than a frame may have, its rest in the same batch, and one of more slots than its ring can hold,
/// its rest in the next batch. Each slot of it looks like a frame.
#[test]
fn the_rest_of_a_refused_chain_is_dropped_with_it_and_the_next_frame_goes_on() {
    for slots in [128, 64] {
        let names = ["a", "b"].map(|name| format!("vale:s:{name},slots={slots}"));
        let mut ports = open_all(&names).unwrap();
        let (mut tx, mut rx) = (ports[0].take_tx(0).unwrap(), ports[1].take_rx(0).unwrap());
        let whole: Vec<_> = (60..63)
            .map(|len| {
                let mut bytes = frame(mac(2), mac(1));
                bytes.resize(len, 0x77);
                bytes
            })
            .collect();
        let chain = (1..=70).map(|n| (frame(mac(2), mac(1)), if n < 70 { flags::MOREFRAG } else { 0 }));
        let all: Vec<_> = chain.chain(whole.iter().map(|bytes| (bytes.clone(), 0))).collect();
        let mut left = &all[..];
        while !left.is_empty() {
            let mut batch = tx.ring.reserve(u32::try_from(left.len()).unwrap());
            let n = batch.len();
            assert!(n > 0, "what was refused is given back");
            for (i, (bytes, flags)) in (0..n).zip(left) {
                assert!(batch.put(i, bytes));
                batch.set(i, bytes.len(), *flags);
            }
            batch.commit(n);
            tx.sync();
            left = &left[n as usize..];
        }
        rx.sync();
        let mut batch = rx.ring.batch(u32::MAX);
        let came: Vec<_> = (0..batch.len()).map(|i| batch.frame(i).unwrap().0.to_vec()).collect();
        assert_eq!(came, whole, "{slots} slots");
        let count = tx.counters();
        assert_eq!((count.frames, count.dropped.of(DropReason::TooManyFragments), count.dropped.total()), (3, 1, 1));
    }
}

/// As a guest says it in virtio's header: a cable's engine fills in nothing, and so what reads it from there, or a network
/// behind it, would see a wrong checksum.
#[test]
fn open_checksums_are_filled_in_on_the_way_out_and_nothing_else_is_changed() {
    let mut b = Bench::new(&[("a", vlans("10")), ("b", vlans("10")), ("t", vlans("t10"))]);
    let tagged = |bytes: &[u8]| [&bytes[..12], &[0x81, 0, 0, 10], &bytes[12..]].concat();
    // Of even and odd length, in one slot and in several.
    for (payload, part) in [(100, 1500), (101, 1500), (101, 64)] {
        let open = tcp(payload);
        let mut closed = open.clone();
        closed[50..52].copy_from_slice(&(!sum(&open[34..], 0)).to_be_bytes());
        assert_ne!(closed, open);
        send_parts(&mut b, "a", &open, part, Some(OPEN));
        assert_eq!([b.receive("b"), b.receive("t")], [[closed.clone()], [tagged(&closed)]], "{payload} in {part}");
        // The same words, but nothing is asked for: one says that the checksum was looked at, one only a hash.
        for flags in [Meta::DATA_VALID, 0] {
            send_parts(&mut b, "a", &open, part, Some(Meta { flags, hash: 7, ..OPEN }));
            assert_eq!([b.receive("b"), b.receive("t")], [[open.clone()], [tagged(&open)]], "{payload} in {part}");
        }
    }
    b.ledger();
}

/// A frame that is exchanged keeps the slots that it came in, what is copied is put into as few as it takes. All else is alike: the
/// bytes, the metadata, the counts.
#[test]
fn chains_are_exchanged_within_a_region_if_their_receiver_takes_them_as_they_are() {
    let bytes = tcp(246);
    let gso = Meta { gso_type: linerate_offload::GSO_TCPV4, gso_size: 123, ..OPEN };
    let part = 100;
    let (off, on) = (Caps::default(), Caps { checksum: true, gso: true, uso: true, ..Caps::default() });
    let cases = [
        // One region, what the receiver does, its longest frame, metadata; slots that arrive, and frames.
        (true, on, 1514, None, (3, 1)),
        (true, on, 1514, Some(OPEN), (3, 1)),
        (true, on, 1514, Some(gso), (3, 1)),
        (true, off, 1514, None, (3, 1)),
        (true, off, 1514, Some(OPEN), (1, 1)),
        // Of what it does not know, nothing is told.
        (true, off, 1514, Some(Meta { flags: Meta::DATA_VALID, ..Meta::default() }), (1, 1)),
        (true, off, 1514, Some(gso), (2, 2)),
        (false, on, 1514, Some(gso), (1, 1)),
        // Longer than a frame of the receiver's link, whole or in segments.
        (true, on, 299, None, (0, 0)),
        (true, on, 176, Some(gso), (0, 0)),
        (true, on, 177, Some(gso), (3, 1)),
        // A tag beside the frame goes inside.
        (true, on, 1514, Some(Meta { vlan_tci: 10, ..OPEN }), (1, 1)),
    ];
    for (one_region, caps, largest, meta, wanted) in cases {
        let ports = [("a", Policy::default()), ("b", Policy::default())];
        let mut b = if one_region { Bench::together(&ports) } else { Bench::new(&ports) };
        b.switch.members[1].as_mut().unwrap().finisher = Finisher::new(caps, largest);
        let what = format!("one region {one_region}, {caps:?}, {largest}, {meta:?}");
        send_parts(&mut b, "a", &bytes, part, meta);
        let end = b.end("b");
        end.rx.sync();
        let (slots, said) = {
            let batch = end.rx.ring.batch(u32::MAX);
            (batch.len(), (!batch.is_empty()).then(|| batch.meta(0)).flatten())
        };
        let came = b.receive("b");
        assert_eq!((slots, came.len()), wanted, "{what}");
        if slots == 3 {
            assert_eq!((&came[0], said), (&bytes, meta), "{what}");
        }
        let (from, to) = (b.count("a"), b.count("b"));
        let tag = if meta.is_some_and(|meta| meta.vlan_tci > 0) { 4 } else { 0 };
        assert_eq!((from.received, from.received_bytes, from.flooded), (1, 300 + tag, 1), "{what}");
        assert_eq!(to.sent_bytes, came.iter().map(|frame| frame.len() as u64).sum::<u64>(), "{what}");
        assert_eq!((to.sent, to.priorities[0].sent), (came.len() as u64, came.len() as u64), "{what}");
        b.ledger();
    }
}

/// Without room for all of it a chain is dropped whole, in exchange as by copy.
#[test]
fn a_chain_that_does_not_fit_is_dropped_whole() {
    let mut b = Bench::together(&[("a", Policy::default()), ("b", pausing(1 << 3))]);
    let (bytes, mut sent) = (tcp(246), 0);
    while b.count("b").dropped.total() == 0 {
        send_parts(&mut b, "a", &bytes, 50, None);
        sent += 1;
    }
    assert_eq!(b.count("b").dropped.of(DropReason::NoRoom), 1);
    // There is room that is kept for the class that waits.
    let waits = [&bytes[..12], &[0x81, 0, 0x60, 0], &bytes[12..]].concat();
    b.burst("a", &vec![waits.clone(); 16]);
    assert_eq!(b.count("b").dropped.total(), 1);
    assert!(b.receive("b") == [vec![bytes.clone(); sent - 1], vec![waits; 16]].concat());
    send_parts(&mut b, "a", &bytes, 50, None);
    assert_eq!(b.receive("b"), [bytes]);
    b.ledger();
}

#[test]
fn a_chain_waits_for_a_port_that_pauses() {
    let mut b = Bench::plain(&["a"]);
    b.add("b", pausing(0xff), 1, 1500);
    b.send("b", &frame(ALL, mac(2)));
    b.arrived(["a"]);
    let bytes = frame(mac(2), mac(1));
    for _ in 0..70 {
        send_parts(&mut b, "a", &bytes, 25, None);
    }
    assert!(b.switch.has_waiting());
    assert_eq!((b.count("b").sent, b.count("b").dropped.total()), (63, 0));
    let mut came = 0;
    while came < 70 {
        let now = b.receive("b");
        assert!(!now.is_empty() && now.iter().all(|frame| *frame == bytes), "{came} came");
        came += now.len();
        b.poll();
    }
    assert!(b.count("b").priorities[0].waits > 0 && !b.switch.has_waiting());
    b.ledger();
}

#[test]
fn bytes_of_chains_and_of_frames_with_metadata_are_counted() {
    let mut b = Bench::plain(&["a", "b"]);
    let bytes = tcp(246);
    assert_eq!(bytes.len(), 300);
    let mut all = 0;
    for (part, meta) in [(150, None), (7, None), (300, Some(OPEN)), (100, Some(OPEN))] {
        send_parts(&mut b, "a", &bytes, part, meta);
        all += 300;
        let (from, to) = (b.count("a"), b.count("b"));
        assert_eq!((from.received_bytes, to.sent_bytes), (all, all), "in parts of {part}");
    }
    // A tag that came beside a frame is one of its bytes from then on.
    send_parts(&mut b, "a", &bytes, 300, Some(Meta { vlan_tci: 0x600a, ..Meta::default() }));
    assert_eq!((b.count("a").received_bytes, b.count("b").sent_bytes), (all + 304, all + 304));
    assert_eq!((b.arrived(["b"]), b.ledger().received), ([5], 5));
}

/// A port's room is what its receiver has freed by now, not the number seen at the last look: frames that have to leave
/// room for others are dropped only when the ring is really that full.
#[test]
fn a_receiver_that_has_taken_all_has_room_for_frames_that_keep_some_free() {
    // To one other port frames go as runs, to two one by one.
    for others in [&["b"][..], &["b", "c"]] {
        let mut b = Bench::plain(&["a"]);
        others.iter().for_each(|name| b.add(name, pausing(1 << 3), 1, 1500));
        for n in [30, 20, 40, 47] {
            b.burst("a", &vec![frame(ALL, mac(1)); n]);
            for other in others {
                assert_eq!(b.receive(other).len(), n, "{other} of {others:?}");
            }
        }
        assert_eq!(b.ledger().dropped.total(), 0);
    }
}

/// A super-frame of TCP, and what its metadata says.
pub(super) fn super_frame(payload: usize, gso_size: u16) -> (Vec<u8>, Meta) {
    let mut bytes = tcp(payload);
    for (n, byte) in (0u8..=250).cycle().zip(&mut bytes[54..]) {
        *byte = n;
    }
    bytes[..6].copy_from_slice(&mac(2));
    bytes[6..12].copy_from_slice(&mac(1));
    (bytes, Meta { gso_type: 1, gso_size, hdr_len: 54, ..OPEN })
}

#[test]
fn a_super_frame_is_segmented_for_a_port_that_does_not_segment() {
    let mut b = Bench::new(&[("a", vlans("10")), ("b", vlans("10")), ("t", vlans("t10"))]);
    let (bytes, meta) = super_frame(10_500, 1000);
    send_parts(&mut b, "a", &bytes, 1700, Some(meta));
    let (plain, tagged) = (b.receive("b"), b.receive("t"));
    assert_eq!(plain.iter().map(Vec::len).collect::<Vec<_>>(), [&[1054; 10][..], &[554]].concat());
    for (segment, tagged) in plain.iter().zip(&tagged) {
        assert_eq!(linerate_offload::verify_checksums(segment, &[]), linerate_offload::Verdict::Good);
        assert_eq!([&segment[..12], &[0x81, 0, 0, 10], &segment[12..]].concat(), *tagged);
    }
    assert_eq!(plain.iter().flat_map(|segment| segment[54..].to_vec()).collect::<Vec<_>>(), bytes[54..]);
    assert_eq!(tagged.len(), 11);
    let ledger = b.ledger();
    assert_eq!((ledger.received, ledger.copies, ledger.sent), (1, 22, 22));
    assert_eq!(b.count("b").finished.iter().collect::<Vec<_>>(), [("tso", 1), ("segments", 11)]);
    // The ring holds 63: of 100 segments, the rest finds no room.
    let (bytes, meta) = super_frame(50_000, 500);
    send_parts(&mut b, "a", &bytes, 1700, Some(meta));
    assert_eq!(b.receive("b").len(), 63);
    assert_eq!(b.count("b").dropped.of(DropReason::NoRoom), 37);
    b.ledger();
}

#[test]
fn metadata_that_does_not_fit_its_frame_is_dropped_with_a_reason() {
    let mut b = Bench::plain(&["a", "b"]);
    let (bytes, meta) = super_frame(3000, 1000);
    let lies = [
        Meta { gso_size: 0, ..meta },
        Meta { gso_type: 4, ..meta },
        Meta { gso_type: 3, ..meta },
        Meta { gso_type: 5, ..meta },
        Meta { gso_type: 0x7f, ..meta },
        Meta { gso_type: 0, csum_start: 3053, csum_offset: 16, ..meta },
    ];
    for (n, lie) in (1..).zip(lies) {
        send_parts(&mut b, "a", if lie.gso_type == 0 { &bytes[..100] } else { &bytes }, 1700, Some(lie));
        assert_eq!((b.receive("b"), b.count("b").dropped.of(DropReason::Unfinished)), (vec![], n), "{lie:?}");
    }
    // A longer segment than the link carries, and a frame that is no super-frame.
    for (meta, n) in [(Meta { gso_size: 2000, ..meta }, 1), (Meta { gso_type: 0, gso_size: 0, ..meta }, 2)] {
        send_parts(&mut b, "a", &bytes, 1700, Some(meta));
        assert_eq!((b.receive("b"), b.count("b").dropped.of(DropReason::TooLong)), (vec![], n));
    }
    assert_eq!(b.count("b").finished, Default::default());
    b.ledger();
}

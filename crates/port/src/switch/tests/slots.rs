//! Frames of several slots or with metadata, which go one by one; and the room that there is for frames.

use super::*;
use crate::kinds::packet::tests::{OPEN, sum, tcp};
use linerate_ring::Meta;

/// Sends a frame in parts of so many bytes at most, with what its first slot says.
fn send_parts(b: &mut Bench, name: &str, bytes: &[u8], part: usize, meta: Option<Meta>) {
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

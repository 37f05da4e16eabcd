//! Requests in metadata, carried out on the way to a port that does not: nothing panics, what was put is what lies in the
//! ring and what was counted, no frame is longer than the link carries, and the segments of a super-frame hold its bytes,
//! with right checksums.
//!
//! The input: capabilities, longest frame, room, length of the slots (1 byte each), a request (10), and the frame.
#![no_main]

use libfuzzer_sys::fuzz_target;
use linerate_offload::{Verdict, header_len, verify_checksums};
use linerate_port::{Caps, Finisher, Port, RxQueue, TxQueue, open_all, tag_inside};
use linerate_ring::{Meta, flags};
use std::cell::RefCell;

/// A cable with slots of 2048 bytes, and one with slots of 512.
struct World {
    ends: [(TxQueue, RxQueue); 2],
    _ports: Vec<Port>,
}

impl World {
    fn new() -> Self {
        let mut ports = Vec::new();
        let ends = [512, 2048].map(|buf| {
            let names =
                ["{1", "}1"].map(|end| format!("cable:finish{buf}-{}{end},slots=64,buf={buf}", std::process::id()));
            let mut pair = open_all(&names).unwrap();
            let ends = (pair[0].take_tx(0).unwrap(), pair[1].take_rx(0).unwrap());
            ports.append(&mut pair);
            ends
        });
        Self { ends, _ports: ports }
    }
}

thread_local!(static WORLD: RefCell<World> = RefCell::new(World::new()));

fn received(tx: &mut TxQueue, rx: &mut RxQueue) -> Vec<(Vec<u8>, Option<Meta>)> {
    tx.sync();
    rx.sync();
    let mut batch = rx.ring.batch(u32::MAX);
    let (mut all, mut at) = (Vec::new(), 0);
    while at < batch.len() {
        let (meta, mut bytes) = (batch.meta(at), Vec::new());
        loop {
            let (part, slot) = batch.frame(at).expect("every slot holds a frame");
            part.append_to(&mut bytes);
            at += 1;
            if slot & flags::MOREFRAG == 0 {
                break;
            }
        }
        all.push((bytes, meta));
    }
    batch.release(at);
    tx.sync();
    all
}

fuzz_target!(|input: &[u8]| {
    let Some((&[caps, largest, room, which], rest)) = input.split_first_chunk() else { return };
    let Some((request, frame)) = rest.split_first_chunk::<10>() else { return };
    let word = |at: usize| u16::from_be_bytes([request[at], request[at + 1]]);
    let asked = Meta {
        flags: request[0] & Meta::NEEDS_CSUM,
        gso_type: request[1],
        gso_size: word(2),
        csum_start: word(4),
        csum_offset: word(6),
        vlan_tci: word(8),
        ..Meta::default()
    };
    let mut frame = frame.to_vec();
    let mut meta = (asked != Meta::default()).then_some(asked);
    let caps = Caps { checksum: caps & 1 > 0, gso: caps & 2 > 0, uso: caps & 4 > 0, ..Caps::default() };
    let largest = 60 + 8 * usize::from(largest);
    tag_inside(&mut frame, &mut meta);
    assert!(frame.len() < 14 || meta.is_none_or(|meta| meta.vlan_tci == 0));
    WORLD.with_borrow_mut(|world| {
        let (tx, rx) = &mut world.ends[usize::from(which) % 2];
        let mut finisher = Finisher::new(caps, largest);
        let room = u32::from(room).min(tx.ring.free());
        let slots = finisher.slots(&tx.ring, &frame, meta);
        let put = finisher.put(&mut tx.ring, room, &frame, meta);
        let done = finisher.done();
        let came = received(tx, rx);
        assert_eq!(came.len(), put.frames as usize);
        assert_eq!(came.iter().map(|(bytes, _)| bytes.len() as u64).sum::<u64>(), put.bytes);
        assert!(put.frames > 0 || put.dropped.is_some(), "what is not put has a reason");
        if slots.is_some_and(|slots| slots <= room) && put.frames > 0 {
            assert_eq!(put.dropped, None, "there was room for all");
        }
        if done.segments == 0 {
            let Some((bytes, meta_there)) = came.first() else { return };
            assert!(came.len() == 1 && bytes.len() == frame.len());
            assert!(meta_there.is_none() || *meta_there == meta);
            assert!(done.checksums > 0 || *bytes == frame, "as it came");
            return;
        }
        assert_eq!((done.segments, done.tso + done.uso), (came.len() as u64, 1));
        let headers = header_len(&frame).expect("it was segmented");
        let mut body = Vec::new();
        for (segment, meta) in &came {
            assert!(segment.len() <= largest && meta.is_none());
            // A datagram whose template says that it has no checksum, or a packet that nobody can check, is neither.
            assert_ne!(verify_checksums(segment, &[]), Verdict::Bad);
            body.extend_from_slice(&segment[headers..]);
        }
        assert!(frame[headers..].starts_with(&body), "the payload, in order");
        assert!(put.dropped.is_some() || body.len() == frame.len() - headers, "all of it");
    });
});

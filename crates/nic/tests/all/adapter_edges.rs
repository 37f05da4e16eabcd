//! Frames at the limits of an adapter, and one frame as received by two of its interfaces.

use crate::common::{A, B, Kind, payload, receive};
use linerate_nic::{Count, Nic, NicConfig, NicQueue};
use linerate_offload::Verdict;
use linerate_port::{Port, TxQueue, open_all};
use linerate_ring::{Meta, flags};

/// A bare transmit queue, and an adapter of `interfaces` interfaces at the other end of its cable.
fn bare(test: &str, options: &str, interfaces: usize) -> (Port, TxQueue, Nic, NicQueue) {
    let id = format!("{test}{}", std::process::id());
    let ports = open_all(&[format!("cable:{id}{{1{options}"), format!("cable:{id}}}1{options}")]).unwrap();
    let [mut a, b] = <[_; 2]>::try_from(ports).ok().unwrap();
    let tx = a.take_tx(0).unwrap();
    let mut nic = Nic::new(b, &NicConfig { interfaces, mac: Some(B), ..NicConfig::default() }).unwrap();
    let queue = nic.take(0).unwrap();
    (a, tx, nic, queue)
}

/// Sends a frame with metadata as from a kernel.
fn tell(tx: &mut TxQueue, frame: &[u8], meta: Meta) {
    tx.sync();
    let mut batch = tx.ring.reserve(1);
    assert!(batch.put(0, frame));
    batch.set_meta(0, meta);
    batch.commit(1);
    tx.sync();
}

/// 64 slots of 16 KiB: the limit of the memory for copies, and of the slots of a frame.
#[test]
fn a_frame_of_a_mebibyte_in_64_slots_is_taken() {
    let (_port, mut tx, nic, mut queue) = bare("mebibyte", ",buf=32768,slots=256", 1);
    let mut batch = tx.ring.reserve(64);
    let mut part = vec![7; 16384];
    part[..12].copy_from_slice(&[B, A].concat());
    for i in 0..64 {
        assert!(batch.put(i, &part));
        batch.set(i, part.len(), if i < 63 { flags::MOREFRAG } else { 0 });
    }
    batch.commit(64);
    tx.sync();
    let got = receive(&mut queue, 0);
    assert_eq!(got.iter().map(|(frame, _)| frame.len()).collect::<Vec<_>>(), [1 << 20]);
    assert_eq!(nic.control().ledger().spoiled, 0);
}

/// One interface does not verify checksums: it gets the frame with its checksum completed. The others get it as
/// received.
#[test]
fn a_checksum_that_is_filled_in_for_one_interface_is_open_for_the_next() {
    let (_port, mut tx, nic, mut queue) = bare("open", "", 3);
    nic.control().set_flag(1, "-rxcsum").unwrap();
    let frame = Kind::Udp4.frame([0xff; 6], &payload(10), 1);
    let (open, meta) = (Kind::Udp4.open(&frame), Kind::Udp4.shape().meta);
    tell(&mut tx, &open, meta);
    queue.rx.poll(0);
    for (vi, bytes, request, checksum) in [
        (0, &open, meta, Verdict::Good),
        (1, &frame, Meta::default(), Verdict::Unknown),
        (2, &open, meta, Verdict::Good),
    ] {
        let mut shown = 0;
        queue.rx.receive(vi, usize::MAX, |got| {
            shown += 1;
            assert_eq!((got.head(), got.meta().request, got.meta().checksum), (&bytes[..], request, checksum), "{vi}");
        });
        assert_eq!(shown, 1, "{vi}");
    }
}

/// The segment was offered for merging and found no other: its metadata from the port is kept, for whoever sends it on.
#[test]
fn a_lone_segment_keeps_what_the_port_said_of_it() {
    let (_port, mut tx, nic, mut queue) = bare("lone", "", 1);
    nic.control().change(0, |vi| vi.vlans = vec![5]).unwrap();
    let frame = Kind::Tcp4.open(&Kind::Tcp4.frame(B, &payload(500), 1));
    let meta = Kind::Tcp4.shape().meta;
    let tagged = [&frame[..12], &[0x81, 0, 0, 5], &frame[12..]].concat();
    for (bytes, said, vlan) in [(&frame, meta, None), (&tagged, Meta { csum_start: 38, ..meta }, Some(5))] {
        tell(&mut tx, bytes, said);
        let got = receive(&mut queue, 0);
        assert_eq!(got.len(), 1);
        assert_eq!((&got[0].0, got[0].1.request, got[0].1.vlan), (&frame, meta, vlan));
    }
}

/// Interfaces that have read all frames are no longer listed, the others still are; frames they leave are counted for
/// them.
#[test]
fn those_with_frames_left_are_named_and_no_others() {
    let (_port, mut tx, nic, mut queue) = bare("ready", "", 3);
    for k in 0..2 {
        tell(&mut tx, &Kind::Udp4.frame([0xff; 6], &payload(10), k), Meta::default());
    }
    queue.rx.poll(0);
    let named = |queue: &NicQueue| queue.rx.ready().collect::<Vec<_>>();
    assert_eq!(named(&queue), [0, 1, 2]);
    assert_eq!(queue.rx.receive(1, usize::MAX, |_| ()), 2);
    assert_eq!(named(&queue), [0, 2]);
    assert_eq!(queue.rx.receive(0, 1, |_| ()), 1);
    assert_eq!(named(&queue), [0, 2]);
    assert_eq!(queue.rx.receive(0, 1, |_| ()), 1);
    assert_eq!(named(&queue), [2]);
    queue.rx.poll(0);
    assert!(named(&queue).is_empty());
    assert_eq!([0, 1, 2].map(|vi| nic.control().counters(vi).unwrap().of(Count::RxUnread)), [0, 0, 2]);
}

//! Marks and messages of queues that are getting long.

use super::pfc::of;
use super::*;
use crate::switch::congestion::{Ecn, Qcn};
use linerate_wire::{Cnm, EtherType};

/// Ports a and b, each known by its address, at a switch with these buffers; what fits into b's ring is there.
fn bench(buffers: &Buffers, policy: &Policy) -> Bench {
    let mut b = Bench::new(&[("a", policy.clone()), ("b", Policy::default())]);
    b.switch.buffers(buffers);
    b.send("b", &frame(ALL, mac(2)));
    b.send("a", &frame(ALL, mac(1)));
    b.arrived(["a", "b"]);
    b
}

/// A packet of IPv4 whose second byte ends with the bits of ECN, with a number.
fn packet(ecn: u8, number: u8) -> Vec<u8> {
    let mut ip = [0x45, 0xb8 | ecn, 0, 28, 0, number, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
    let sum = linerate_sum::checksum(&ip);
    ip[10..12].copy_from_slice(&sum.to_be_bytes());
    let mut bytes = frame(mac(2), mac(1));
    bytes[12..14].copy_from_slice(&[8, 0]);
    bytes[14..34].copy_from_slice(&ip);
    bytes
}

/// Frames of 60 bytes: more than 600 are eleven and more that wait, and the ring has 63 others.
#[test]
fn packets_are_marked_as_they_leave_a_long_queue_if_they_may_be() {
    let step = Ecn { least: 600, most: 600, chance: 1 };
    let run = |ecn| {
        let mut b = bench(&Buffers { ecn: [ecn; 8], ..Buffers::default() }, &Policy::default());
        for n in 0..110 {
            b.send("a", &packet(n % 4, n));
        }
        let came = b.receive_all("b");
        assert_eq!(b.ledger().dropped.total(), 0);
        (came, b.class("b", 0).marked)
    };
    let sent: Vec<_> = (0..110).map(|n| packet(n % 4, n)).collect();
    assert!(run(None) == (sent.clone(), 0));
    let (came, marked) = run(Some(step));
    // 47 have waited; the first 37 left a queue of more than ten.
    let wanted: Vec<_> =
        (0..110).map(|n| packet(if (63..100).contains(&n) && n % 4 > 0 { 3 } else { n % 4 }, n)).collect();
    assert!(came == wanted);
    let changed = sent.iter().zip(&wanted).filter(|(sent, wanted)| sent != wanted).count();
    assert_eq!(marked, changed as u64);
    assert!(changed > 15);
}

/// The source of sampled frames hears how long the queue is; frames of other priorities are not sampled.
#[test]
fn the_source_of_a_sampled_frame_is_told() {
    let qcn = Some(Qcn { priorities: 1 << 3, set_point: 2000 });
    let mut b = bench(&Buffers { qcn, ..Buffers::default() }, &Policy::default());
    let mut told = Vec::new();
    for priority in [0, 3] {
        for _ in 0..400 {
            let mut long = of(priority, 2, 1);
            long.resize(1500, 0x5a);
            b.send("a", &long);
            told.extend(b.receive("a"));
        }
        assert_eq!(told.is_empty(), priority == 0, "{}", told.len());
    }
    assert_eq!(b.class("b", 0).notices, told.len() as u64);
    let first = &told[0];
    assert_eq!(first[..6], mac(1));
    assert_eq!(first[12..22], [0x81, 0, 0xc0, 0, 0x22, 0xe9, 0, 0, 0x22, 0xe7]);
    let (cnm, msdu) = Cnm::parse(&first[22..]).unwrap();
    assert_eq!((cnm.feedback, cnm.priority, cnm.dst.0, cnm.msdu_len), (63, 3, mac(2), 64));
    // Of 400 frames of priority 0 all but the 63 in the ring are before it; 150 000 bytes are 100 frames.
    let waiting = (400 - 63 + 100) * 1500_i32;
    let wanted = ((waiting - 2000) / 64, waiting / 64);
    assert_eq!((i32::from(cnm.q_offset), i32::from(cnm.q_delta)), wanted);
    assert_eq!(EtherType(u16::from_be_bytes([msdu[0], msdu[1]])), EtherType(0x88b5));
    b.ledger();
    let came = b.receive_all("b").len();
    assert_eq!(came, 800);
    assert_eq!(b.class("b", 0).waiting_bytes, 0);
}

/// A message goes out as its port has its VLAN: without a tag where frames of that come without one.
#[test]
fn a_message_leaves_in_the_vlan_of_its_frame() {
    let qcn = Some(Qcn { priorities: 0xff, set_point: 2000 });
    let mut b = bench(&Buffers { qcn, ..Buffers::default() }, &vlans("10"));
    let mut long = frame(mac(2), mac(1));
    long.resize(1500, 0x5a);
    for _ in 0..400 {
        b.send("a", &long);
    }
    let told = b.receive("a");
    assert!(!told.is_empty());
    assert!(told.iter().all(|frame| frame[12..18] == [0x22, 0xe9, 0, 0, 0x22, 0xe7]), "{:02x?}", &told[0][..20]);
    b.ledger();
}

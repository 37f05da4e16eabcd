//! Sequences over cables, and frames from hand-made rings.

use super::*;
use crate::machine::Sleeper;
use crate::machine::{Machine, Progress};
use linerate_fcoe::{Disks, DisksConfig, Link, Node, NodeEvent, Sequence, Transmit};
use linerate_nic::Verdict;
use linerate_port::{RxCounters, RxEngine, RxQueue, open_all};
use linerate_ring::{Region, RegionConfig, RxRing, Sharing, flags};
use linerate_wire::{Eof, EtherType, FcHeader, FcId, FcType, MacAddr, OxId, RxId, Sof, VlanTag, f_ctl, r_ctl};

/// Two ends of a cable, one to send and one to receive.
fn cable(name: &str, more: &str) -> (FcTx, FcRx) {
    let names = ["{1", "}1"].map(|end| format!("cable:fc-{name}{end}{more}"));
    let mut ports = open_all(&names.each_ref().map(String::as_str)).unwrap();
    let (tx, rx) = (ports[0].take_tx(0).unwrap(), ports[1].take_rx(0).unwrap());
    let (mut tx, mut rx) = (FcTx::new(tx, None), FcRx::new(rx));
    tx.sync();
    rx.sync();
    (tx, rx)
}

fn link(vlan: Option<u16>) -> Link {
    let vlan = vlan.map(|vid| VlanTag::new(3, false, vid).unwrap());
    Link { src: MacAddr([0x0e, 0xfd, 0, 0, 0x0e, 2]), dst: MacAddr([0x0e, 0xfd, 0, 0, 0x0e, 1]), vlan }
}

/// Data of a READ, as its target sends it.
fn header() -> FcHeader {
    FcHeader {
        r_ctl: r_ctl::DATA,
        d_id: FcId::new(0x0e01),
        cs_ctl: 0,
        s_id: FcId::new(0x0e02),
        fc_type: FcType::FCP,
        f_ctl: f_ctl::EXCHANGE_RESPONDER | f_ctl::END_SEQUENCE | f_ctl::RELATIVE_OFFSET,
        seq_id: 1,
        df_ctl: 0,
        seq_cnt: 0,
        ox_id: OxId(7),
        rx_id: RxId(9),
        parameter: 0,
    }
}

fn data(len: usize) -> Vec<u8> {
    (0..len).map(|i| u8::try_from((i * 7 + i / 256) % 251).unwrap()).collect()
}

/// What arrived at a place of the sequence: start, end, SEQ_CNT, relative offset, payload.
type Seen = (Sof, Eof, u16, u32, Vec<u8>);

/// Takes all that has arrived; each frame has the link's headers and a right CRC.
fn take(rx: &mut FcRx, link: &Link) -> Vec<Seen> {
    let mut seen = Vec::new();
    let n = rx.receive(usize::MAX, |frame, verdict| {
        assert_eq!(verdict, Verdict::Good);
        assert_eq!((&frame[..6], &frame[6..12]), (&link.dst.0[..], &link.src.0[..]));
        let mut at = 12;
        if let Some(tag) = link.vlan {
            assert_eq!(frame[at..at + 4], [[0x81, 0x00], tag.0.to_be_bytes()].concat());
            at += 4;
        }
        assert_eq!(frame[at..at + 2], EtherType::FCOE.0.to_be_bytes());
        let fc = FcoeFrame::new_checked(&frame[at + 2..]).unwrap();
        let its = fc.header();
        assert_eq!(FcHeader { f_ctl: 0, seq_cnt: 0, parameter: 0, ..*its }, FcHeader { f_ctl: 0, ..header() });
        let ends = fc.eof() == Eof::T;
        assert_eq!(its.has(f_ctl::END_SEQUENCE), ends);
        assert_eq!(its.f_ctl & !f_ctl::FILL, header().f_ctl & if ends { !0 } else { !f_ctl::END_SEQUENCE });
        seen.push((fc.sof(), fc.eof(), its.seq_cnt, its.parameter, fc.payload().to_vec()));
    });
    assert_eq!(n, seen.len());
    seen
}

/// What a sequence of these octets is to arrive as.
fn wanted(payload: &[u8], size: usize) -> Vec<Seen> {
    let last = payload.len().div_ceil(size) - 1;
    let frame = |(i, chunk): (usize, &[u8])| {
        let (sof, eof) = (if i == 0 { Sof::I3 } else { Sof::N3 }, if i == last { Eof::T } else { Eof::N });
        (sof, eof, u16::try_from(i).unwrap(), u32::try_from(i * size).unwrap(), chunk.to_vec())
    };
    payload.chunks(size).enumerate().map(frame).collect()
}

#[test]
fn a_sequence_arrives_as_it_was_sent() {
    let whole = data(32_768 + 3);
    let pieces = [&whole[..1], &whole[1..5000], &[], &whole[5000..]];
    // Frames of one slot, and chains of two and of ten.
    for (name, more, size) in
        [("one", ",mtu=2180", 2112), ("two", ",buf=2048", 2112), ("ten", ",buf=512", 2048), ("small", "", 1452)]
    {
        let (mut tx, mut rx) = cable(name, more);
        for vlan in [None, Some(100)] {
            let link = link(vlan);
            let sequence =
                Sequence { link, header: header(), max_payload: size, start: true, end: true, payload: &pieces };
            let right = wanted(&whole, size);
            assert_eq!(tx.sequence(&sequence), right.len(), "{more}");
            tx.sync();
            rx.sync();
            assert!(take(&mut rx, &link) == right, "{more}: {vlan:?}");
        }
        let count = rx.counters();
        assert_eq!(count.frames, tx.counters().frames);
        assert_eq!((count.bad_crc, count.too_long, count.spoiled, tx.counters().refused), (0, 0, 0, 0));
    }
}

#[test]
fn a_sequence_longer_than_the_ring_goes_on_where_it_stopped() {
    let (mut tx, mut rx) = cable("long", ",mtu=2180,slots=64");
    let whole = data(500_000);
    let (mut sent, mut seen) = (0, Vec::new());
    let mut rounds = 0;
    while sent < whole.len() {
        let frames_before = sent / 2112;
        let header = FcHeader {
            seq_cnt: u16::try_from(frames_before).unwrap(),
            parameter: u32::try_from(sent).unwrap(),
            ..header()
        };
        let payload = [&whole[sent..]];
        let sequence =
            Sequence { link: link(None), header, max_payload: 2112, start: sent == 0, end: true, payload: &payload };
        let room = tx.room();
        let n = tx.sequence(&sequence);
        assert!(n >= room.min(whole.len().div_ceil(2112) - frames_before));
        sent = whole.len().min(sent + n * 2112);
        if sent < whole.len() {
            assert_eq!(tx.sequence(&Sequence { payload: &[&[0]], ..sequence }), 0, "full");
            assert_eq!((tx.room(), tx.frame(&[0; 60])), (0, false));
        }
        tx.sync();
        rx.sync();
        seen.extend(take(&mut rx, &link(None)));
        rx.sync();
        tx.sync();
        rounds += 1;
        assert!(rounds < 100, "the ring does not come free");
    }
    assert!(rounds > 3 && seen == wanted(&whole, 2112));
}

#[test]
fn what_can_never_be_sent_is_counted_and_passed_over() {
    let (mut tx, mut rx) = cable("never", ",mtu=2180");
    let whole = data(4096);
    let payload = [&whole[..]];
    let sequence =
        Sequence { link: link(None), header: header(), max_payload: 6, start: true, end: true, payload: &payload };
    assert_eq!(tx.sequence(&sequence), 683, "all of it is gone");
    assert_eq!(tx.sequence(&Sequence { max_payload: 0, ..sequence }), 4096);
    assert_eq!(tx.sequence(&Sequence { max_payload: 0, payload: &[], ..sequence }), 1);
    assert!(tx.frame(&vec![0; 64 * 4096 + 1]));
    assert_eq!(tx.counters(), FcTxCounters { frames: 0, refused: 4 });
    tx.sync();
    rx.sync();
    assert_eq!((take(&mut rx, &link(None)), rx.counters()), (Vec::new(), FcRxCounters::default()));
}

#[test]
fn tagged_frames_wait_for_a_pause_of_their_priority_alone() {
    let mut ports = open_all(&["cable:fc-class{1,mtu=2180", "cable:fc-class}1"]).unwrap();
    let (tx, mut rx) = (ports[0].take_tx(0).unwrap(), FcRx::new(ports[1].take_rx(0).unwrap()));
    let link = link(Some(100));
    let mut tx = FcTx::new(tx, link.vlan);
    let sequence = Sequence { link, header: header(), max_payload: 2112, start: true, end: true, payload: &[&[1; 8]] };
    for (paused, arrive) in [(0xf7, 1), (0x08, 0), (0, 1)] {
        rx.queue().pause(paused);
        if paused != 0 {
            assert_eq!(tx.sequence(&sequence), 1);
        }
        tx.sync();
        rx.sync();
        assert_eq!(rx.receive(usize::MAX, |_, _| ()), arrive, "{paused:x}");
    }
}

#[test]
fn a_wrong_crc_is_dropped_and_what_has_none_is_shown() {
    let (mut tx, mut rx) = cable("crc", ",mtu=2180");
    let payload = [&[1, 2, 3][..]];
    let sequence =
        Sequence { link: link(None), header: header(), max_payload: 2112, start: true, end: true, payload: &payload };
    assert_eq!(tx.sequence(&sequence), 1);
    tx.sync();
    rx.sync();
    let mut good = Vec::new();
    assert_eq!(rx.receive(usize::MAX, |frame, _| good = frame.to_vec()), 1);
    let mut bad = good.clone();
    bad[53] ^= 1;
    let mut fip = good.clone();
    fip[12..14].copy_from_slice(&EtherType::FIP.0.to_be_bytes());
    for frame in [&bad, &fip, &good, &good[..50].to_vec(), &good] {
        assert!(tx.frame(frame));
    }
    tx.sync();
    rx.sync();
    let mut seen = Vec::new();
    assert_eq!(rx.receive(3, |frame, verdict| seen.push((frame.to_vec(), verdict))), 3);
    assert_eq!(rx.receive(usize::MAX, |frame, verdict| seen.push((frame.to_vec(), verdict))), 1);
    let (good_one, unknown) = ((good.clone(), Verdict::Good), Verdict::Unknown);
    assert_eq!(seen, [(fip, unknown), good_one.clone(), (good[..50].to_vec(), unknown), good_one]);
    assert_eq!(rx.counters(), FcRxCounters { frames: 6, bad_crc: 1, ..FcRxCounters::default() });
}

/// Slots to be delivered, one list a sync: octets, and whether the frame goes on.
struct Script(Vec<Vec<(Vec<u8>, bool)>>);

impl RxEngine for Script {
    fn sync(&mut self, ring: &mut RxRing, _: &mut RxCounters) {
        if self.0.is_empty() {
            return;
        }
        let slots = self.0.remove(0);
        for (i, (bytes, more)) in (0..).zip(&slots) {
            assert!(ring.free_frame(i).unwrap().write(0, bytes));
            ring.set_free(i, bytes.len(), if *more { flags::MOREFRAG } else { 0 }, None);
        }
        ring.deliver(u32::try_from(slots.len()).unwrap());
    }
}

#[test]
fn chains_and_memory_of_others_are_copied_and_bad_chains_counted() {
    let (mut tx, mut rx) = cable("source", ",mtu=2180");
    let whole = data(2112);
    let payload = [&whole[..]];
    let sequence =
        Sequence { link: link(None), header: header(), max_payload: 2112, start: true, end: true, payload: &payload };
    assert_eq!(tx.sequence(&sequence), 1);
    tx.sync();
    rx.sync();
    let mut good = Vec::new();
    rx.receive(1, |frame, _| good = frame.to_vec());
    let cut = |n: usize| {
        let parts = good.chunks(n).map(<[u8]>::to_vec);
        let last = good.len().div_ceil(n) - 1;
        parts.enumerate().map(move |(i, part)| (part, i < last)).collect::<Vec<_>>()
    };
    for sharing in [Sharing::Private, Sharing::Shared] {
        let config = RegionConfig {
            buf_size: 4096,
            buffers: 300,
            ring_bytes: Region::ring_room(256) + 4096,
            sharing,
            huge: false,
        };
        let region = Region::new(&config).unwrap();
        let script = vec![
            // In one slot; in many; with an empty slot in front.
            [vec![(good.clone(), false)], cut(100), vec![(vec![], true), (good.clone(), false)]].concat(),
            // The end comes later.
            cut(1000)[..2].to_vec(),
            cut(1000)[2..].to_vec(),
            // Too long for FCoE, in one slot and in a chain; a void slot at a chain's end; a frame of 65 slots.
            [
                vec![(vec![0; 2187], false), (vec![0; 1500], true), (vec![0; 1500], false)],
                vec![(good.clone(), true), (vec![], false), (good[..9].to_vec(), true)],
                vec![(vec![1], true); 63],
                vec![(vec![2], false), (good.clone(), false)],
            ]
            .concat(),
            // A chain that is never ended.
            vec![(vec![1], true); 64],
        ];
        let mut rx = FcRx::new(RxQueue::new(RxRing::new(&region, 0, 256).unwrap(), Box::new(Script(script))));
        let mut counts = Vec::new();
        for _ in 0..5 {
            rx.sync();
            counts.push(rx.receive(usize::MAX, |frame, verdict| {
                assert_eq!(verdict, Verdict::Good);
                assert_eq!(frame, good);
            }));
        }
        assert_eq!(counts, [3, 0, 1, 1, 0], "{sharing:?}");
        let count = rx.counters();
        assert_eq!(count, FcRxCounters { frames: 10, bad_crc: 0, too_long: 2, spoiled: 3 }, "{sharing:?}");
        assert_eq!(rx.queue().ring.available(), 0, "all slots were given back");
    }
}

/// Has nothing to do.
struct Idle;

impl Watcher<Disks> for Idle {
    fn event(&mut self, _: u64, _: &NodeEvent, _: &mut Node<Disks>) {}
    fn turn(&mut self, _: u64, _: &mut Node<Disks>) -> bool {
        false
    }
    fn poll_timeout(&self) -> Option<u64> {
        None
    }
    fn waits_for(&mut self, _: &mut dyn FnMut(&mut dyn Sleeper)) {}
    fn is_done(&self) -> bool {
        true
    }
}

/// Regression: a node that was done slept for as long as a logout may take, though it was logged in nowhere.
#[test]
fn a_node_that_is_done_and_logged_in_nowhere_ends_at_once() {
    let port = FcPort::open("null:", &FcOptions::default()).unwrap();
    let config = port.config();
    let disks = Disks::new(&DisksConfig { wwpn: config.wwpn, wwnn: config.wwnn, buffers: 0 });
    let mut node = port.node(&config, disks, Idle).unwrap();
    assert_eq!(node.handle(1), Progress::Worked, "it is to be asked again before it sleeps");
    assert_eq!(node.handle(1), Progress::Done);
}

//! Programs at an adapter's interfaces: what their frames cost, and what they are told of those that they get.

use crate::common::Kind;
use linerate_nic::{Guests, InterfaceReport, adapter_for_guests};
use linerate_port::switch::Listener;
use linerate_port::{Link, Port, Spec, open};
use linerate_ring::Meta;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// An adapter over a cable with two interfaces, a program at each, and the far end of the cable.
struct Rig {
    guests: Guests,
    programs: [Side; 2],
    far: Side,
    now: u64,
    /// Whoever has it open lets the programs stay.
    _door: Listener,
}

/// Queues of a port.
struct Side {
    tx: linerate_port::TxQueue,
    rx: linerate_port::RxQueue,
    _port: Port,
}

fn mac(vi: u8) -> [u8; 6] {
    [2, 0, 0, 0, 0x55, vi]
}

impl Side {
    fn new(mut port: Port) -> Self {
        Self { tx: port.take_tx(0).unwrap(), rx: port.take_rx(0).unwrap(), _port: port }
    }

    fn send(&mut self, frame: &[u8], meta: Option<Meta>) {
        self.tx.sync();
        let mut batch = self.tx.ring.reserve(1);
        assert!(batch.put(0, frame));
        if let Some(meta) = meta {
            batch.set_meta(0, meta);
        }
        batch.commit(1);
        self.tx.sync();
    }

    /// Frames that have come, with their metadata.
    fn came(&mut self) -> Vec<(Vec<u8>, Meta)> {
        self.rx.sync();
        let mut batch = self.rx.ring.batch(u32::MAX);
        let n = batch.len();
        let frames = (0..n).map(|i| (batch.frame(i).unwrap().0.to_vec(), batch.meta(i).unwrap_or_default())).collect();
        batch.release(n);
        frames
    }
}

impl Rig {
    /// `words`: settings of the first interface.
    fn new(words: &[&str]) -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!("cable:guests-{}-{}", std::process::id(), NEXT.fetch_add(1, Relaxed));
        let spec = Spec::parse(&format!("{name}{{1")).unwrap();
        let listener = Listener::of_adapter(&spec).unwrap();
        let mut nic = adapter_for_guests(spec.open().unwrap()).unwrap();
        let far = Side::new(open(&format!("{name}}}1")).unwrap());
        let mut guests = Guests::new(&mut nic).unwrap();
        for (vi, own) in [(0, words), (1, &[])] {
            let address = mac(u8::try_from(vi).unwrap()).map(|byte| format!("{byte:02x}")).join(":");
            let words: Vec<String> =
                own.iter().map(|word| (*word).to_owned()).chain([format!("mac={address}")]).collect();
            guests.add(vi, &words).unwrap();
        }
        listener.grant(guests.grants());
        let programs = [0, 1].map(|vi| {
            let port = format!("{name}{{1/vi{vi},slots=256");
            let opens = std::thread::spawn(move || open(&port));
            while !opens.is_finished() {
                guests.admit(&listener);
            }
            Side::new(opens.join().unwrap().unwrap())
        });
        let until = Instant::now() + Duration::from_secs(30);
        while guests.present().count() < 2 || guests.link() == Link::Down {
            assert!(Instant::now() < until, "not all ends are there");
            guests.admit(&listener);
        }
        let mut rig = Self { guests, programs, far, now: 0, _door: listener };
        rig.turns();
        rig
    }

    /// Turns of the adapter, in which no time passes.
    fn turns(&mut self) {
        for _ in 0..4 {
            self.guests.poll(self.now);
        }
    }

    fn report(&self, vi: usize) -> InterfaceReport {
        self.guests.reports().into_iter().find(|report| report.interface == vi).unwrap()
    }
}

fn frame(to: [u8; 6], from: [u8; 6], len: usize) -> Vec<u8> {
    let mut frame = [&to[..], &from, &[0x88, 0xb5]].concat();
    frame.resize(len, 7);
    frame
}

#[test]
fn frames_that_stay_within_the_adapter_count_for_a_cap() {
    let mut rig = Rig::new(&["cap=10M"]);
    for _ in 0..100 {
        rig.programs[0].send(&frame(mac(1), mac(0), 1500), None);
    }
    rig.turns();
    // What may leave at once is 10 ms, 12,500 bytes.
    let first = rig.programs[1].came().len();
    assert!((2..12).contains(&first), "{first} of 100 at once");
    let mut all = first;
    // The rest takes 110 ms and a little more, as a frame has 24 bytes of framing.
    for _ in 0..100 {
        rig.now += 1_000_000;
        rig.turns();
        all += rig.programs[1].came().len();
    }
    assert!((85..95).contains(&all), "{all} of 100 in 100 ms");
    assert_eq!((rig.report(0).count.stayed, rig.report(1).count.from_inside), (all as u64, all as u64));
}

#[test]
fn a_checksum_is_vouched_for_where_somebody_has_verified_it_and_found_it_right() {
    let right = Kind::Udp4.frame(mac(0), &[1; 100], 0);
    let mut wrong = right.clone();
    *wrong.last_mut().unwrap() ^= 1;
    let vouched = |rig: &mut Rig| {
        [&right, &wrong].map(|frame| {
            rig.far.send(frame, None);
            rig.turns();
            let came = rig.programs[0].came();
            assert_eq!((came.len(), &came[0].0), (1, frame));
            came[0].1.flags & Meta::DATA_VALID != 0
        })
    };
    assert_eq!(vouched(&mut Rig::new(&[])), [false, false], "nobody has looked");
    let mut rig = Rig::new(&[]);
    rig.far.send(&right, Some(Meta { flags: Meta::DATA_VALID, ..Meta::default() }));
    rig.turns();
    assert_eq!(rig.programs[0].came()[0].1.flags & Meta::DATA_VALID, Meta::DATA_VALID, "the port has");
}

#[test]
fn a_program_gets_no_frame_that_is_longer_than_its_own() {
    let mut rig = Rig::new(&["mtu=600"]);
    for (len, comes) in [(600 + 22, true), (600 + 23, false), (1500, false)] {
        let before = rig.report(0).count.too_long_in;
        rig.far.send(&frame(mac(0), mac(9), len), None);
        rig.programs[1].send(&frame(mac(0), mac(1), len), None);
        rig.turns();
        let came = rig.programs[0].came();
        assert_eq!(came.len(), if comes { 2 } else { 0 }, "{len} bytes");
        assert!(came.iter().all(|(frame, _)| frame.len() == len));
        assert_eq!(rig.report(0).count.too_long_in - before, if comes { 0 } else { 2 }, "{len} bytes");
    }
}

#[test]
fn a_tag_in_metadata_passes_no_check_of_vlans() {
    let mut rig = Rig::new(&[]);
    rig.programs[0].send(&frame(mac(9), mac(0), 64), Some(Meta { vlan_tci: 5, ..Meta::default() }));
    rig.programs[0].send(&frame(mac(9), mac(0), 65), None);
    rig.turns();
    let came = rig.far.came();
    assert_eq!(came.iter().map(|(frame, _)| frame.len()).collect::<Vec<_>>(), [65]);
    assert_eq!((rig.report(0).count.vlan, rig.report(0).count.to_port), (1, 1));
}

/// Somebody else would be slowed down by it.
#[test]
fn a_program_sends_no_message_of_a_congestion_point() {
    let mut rig = Rig::new(&[]);
    for front in [&[0x22, 0xe9, 0, 0, 0x22, 0xe7][..], &[0x22, 0xe7], &[0x81, 0, 0xc0, 0, 0x22, 0xe9, 0, 0, 0x22, 0xe7]]
    {
        rig.programs[0].send(&[&mac(1)[..], &mac(0), front, &[0; 60]].concat(), None);
    }
    rig.turns();
    assert_eq!((rig.programs[1].came().len(), rig.far.came().len()), (0, 0));
    assert_eq!(rig.report(0).count.reserved, 3);
}

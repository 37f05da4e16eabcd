//! Tests of `linerate nic up --dcb`: the adapter serves its interfaces by what it negotiates with a peer in another process.
#![cfg(target_os = "linux")]

use crate::nic_vis_rig::{Endpoint, Rig, TEST, end, frame, mac, row};
use crate::process::{LIMIT, until};
use linerate_dcb::{Classes, Config, Dcb, Selection, Settings};
use linerate_port::open;
use linerate_wire::{Lldpdu, MacAddr};
use std::time::Instant;

/// Frames that the far end takes at once: fewer than a program's ring holds.
const BATCH: u32 = 256;
/// More frames than the adapter sends by itself meanwhile.
const OWN: u32 = 16;
/// Frames in the port's ring, and some more.
const RING: u64 = 1500;

/// The far end of the port: it speaks LLDP, and counts the tests' frames of each interface.
struct Peer {
    dcb: Dcb,
    began: Instant,
    taken: [u64; 2],
}

/// Settings in which priority 0 has the first share, and 1 the second.
fn shares(first: u8, second: u8) -> Settings {
    let mut classes = Classes { of: [0, 1, 0, 0, 0, 0, 0, 0], selection: [Selection::Strict; 8] };
    (classes.selection[0], classes.selection[1]) = (Selection::Ets(first), Selection::Ets(second));
    Settings { classes, recommendation: Some(classes), ..Settings::default() }
}

impl Peer {
    fn new(settings: Settings) -> Self {
        let mut dcb = Dcb::new(Config::new(MacAddr([2, 0, 0, 0, 0x99, 1]), "switch"), settings, 0).unwrap();
        dcb.set_link(true, 0);
        Self { dcb, began: Instant::now(), taken: [0; 2] }
    }

    fn now(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_nanos()).unwrap()
    }

    /// Takes some frames, and sends what is due.
    fn look(&mut self, far: &mut Endpoint) {
        let now = self.now();
        far.rx.sync();
        let mut batch = far.rx.ring.batch(BATCH);
        let n = batch.len();
        for at in 0..n {
            let frame = batch.frame(at).unwrap().0.to_vec();
            match (&frame[12..14], frame[11]) {
                ([0x88, 0xcc], _) => self.dcb.receive(&frame, now),
                (ethertype, vi @ 1..=2) if ethertype == TEST => self.taken[usize::from(vi) - 1] += 1,
                _ => {}
            }
        }
        batch.release(n);
        far.rx.sync();
        if let Some(frame) = self.dcb.poll_transmit(now) {
            far.send(&frame);
        }
        far.tx.sync();
    }
}

/// Fills a program's ring with large frames.
fn fill(program: &mut Endpoint, vi: u8) {
    let mut frame = [[2, 0, 0, 0, 0x88, 1], mac(vi)].concat();
    frame.extend(TEST);
    frame.resize(1500, vi);
    program.tx.sync();
    let mut batch = program.tx.ring.reserve(u32::MAX);
    let n = batch.len();
    assert!((0..n).all(|at| batch.put(at, &frame)));
    batch.commit(n);
    program.tx.sync();
}

/// Percent of the frames that are the first program's, of so many while both always have some. The far end takes frames
/// once those that it took before have been replaced, so that the port's ring stays full.
fn first_of(peer: &mut Peer, far: &mut Endpoint, programs: &mut [Endpoint; 2], frames: u64) -> u64 {
    let (deadline, mut skipped) = (Instant::now() + LIMIT, false);
    let sum = |peer: &Peer| peer.taken[0] + peer.taken[1];
    peer.taken = [0; 2];
    while !skipped || sum(peer) < frames {
        // What was in the ring before is not of interest.
        if !skipped && sum(peer) >= RING {
            (peer.taken, skipped) = ([0; 2], true);
        }
        fill(&mut programs[0], 1);
        fill(&mut programs[1], 2);
        let before = sum(peer);
        peer.look(far);
        let taken = u32::try_from(sum(peer) - before).unwrap();
        let room = |programs: &mut [Endpoint; 2]| {
            programs
                .iter_mut()
                .map(|program| {
                    program.tx.sync();
                    program.tx.ring.free()
                })
                .sum::<u32>()
        };
        // Some of the room at the port is taken by the adapter's own frames.
        while room(programs) + OWN < taken {
            assert!(Instant::now() < deadline, "the adapter does not go on: {:?}", peer.taken);
            far.rx.sync();
            std::thread::yield_now();
        }
        assert!(Instant::now() < deadline, "{:?} in so long", peer.taken);
    }
    100 * peer.taken[0] / sum(peer)
}

/// Waits until an adapter has these classes.
fn has(rig: &mut Rig, peer: &mut Peer, classes: &str) {
    until(&format!("the adapter has {classes}"), || {
        peer.look(&mut rig.far);
        let listed: serde_json::Value = serde_json::from_str(&rig.does("vi list -i PORT --json")).unwrap();
        row(&listed, 1)["parameters"]["tx.class_weights"] == classes
    });
}

/// A peer that recommends shares, changes its mind, and takes leave; a program that would speak for the adapter is not heard.
#[test]
fn an_adapter_shares_its_port_by_what_its_peer_says() {
    let mut rig = Rig::over_cable();
    rig.does("vi add -i PORT 1 mac=02:00:00:00:77:01 tx.priority=0");
    rig.does("vi add -i PORT 2 mac=02:00:00:00:77:02 tx.priority=1");
    let adapter = rig.up("--dcb --willing yes");
    let mut programs = [1, 2].map(|vi| Endpoint::new(open(&format!("{}/vi{vi},slots=1024", rig.port)).unwrap()));
    rig.seats(3);
    let strict = ",strict".repeat(6);
    let mut peer = Peer::new(shares(80, 20));
    has(&mut rig, &mut peer, &format!("80,20{strict}"));
    let share = first_of(&mut peer, &mut rig.far, &mut programs, 6000);
    assert!((75..=85).contains(&share), "{share} percent, not 80");
    let now = peer.now();
    peer.dcb.set(shares(30, 70), now).unwrap();
    has(&mut rig, &mut peer, &format!("30,70{strict}"));
    let share = first_of(&mut peer, &mut rig.far, &mut programs, 6000);
    assert!((25..=35).contains(&share), "{share} percent, not 30");

    let mut spoken = frame(Lldpdu::NEAREST_BRIDGE.0, mac(1), None, 0);
    spoken[12..14].copy_from_slice(&[0x88, 0xcc]);
    while programs[0].tx.ring.free() == 0 {
        peer.look(&mut rig.far);
        programs[0].tx.sync();
    }
    programs[0].send(&spoken);
    until("a program's LLDP is refused", || {
        peer.look(&mut rig.far);
        let listed: serde_json::Value = serde_json::from_str(&rig.does("vi list -i PORT --json")).unwrap();
        row(&listed, 1)["not_carried"]["tx.reserved"] == 1
    });
    assert_eq!(peer.dcb.neighbours().len(), 1);

    peer.dcb.stop();
    has(&mut rig, &mut peer, &["strict"; 8].join(","));
    let share = first_of(&mut peer, &mut rig.far, &mut programs, 2000);
    assert!((40..=60).contains(&share), "{share} percent: both are in class 0 now");
    until("all has left", || {
        peer.look(&mut rig.far);
        programs.iter_mut().all(|program| {
            program.tx.sync();
            program.tx.ring.outstanding() == 0
        })
    });
    let document = end(adapter);
    let own = row(&document, 127);
    assert_eq!((&own["present"], &own["not_carried"]), (&true.into(), &serde_json::json!({})));
}

#[test]
fn words_for_dcb_without_it_and_interfaces_that_it_needs_are_one_line() {
    let rig = Rig::over_cable();
    for (arguments, says) in [
        ("up -i null: --willing yes", "give it, too"),
        ("up -i null: --dcb --class-weights 1,2", "--class-weights"),
        ("up -i null: --dcb --ets tc-bw 0:50", "tc-bw"),
        ("up -i null: --dcb --vis 128", "virtual interface 127 is the adapter's own"),
    ] {
        let (code, out, error) = rig.nic(arguments);
        assert_eq!((code, out.as_str()), (Some(2), ""), "{arguments}: {error}");
        assert!(error.lines().last().unwrap().contains(says), "{arguments}: {error}");
    }
}

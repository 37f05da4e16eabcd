//! Priority-based flow control: what is asked of neighbours, what they ask for, and what finds room meanwhile.

use super::*;
use crate::switch::headroom::Headroom;
use linerate_offload::{ClassTable, Selection};
use linerate_wire::MacControl;

/// Class 1 has priority 3 and is lossless, class 0 has the others.
pub(super) fn storage() -> ClassTable {
    let mut selection = [Selection::Strict; 8];
    (selection[0], selection[1]) = (Selection::Share(50), Selection::Share(50));
    ClassTable::new([0, 0, 0, 1, 0, 0, 0, 0], selection, 1 << 3).unwrap()
}

/// Ports a, b and c, each known by its address, at a switch with so many bytes of buffers; the neighbour of those `by_frame` has
/// no mask.
fn bench(bytes: u64, by_frame: &[&str]) -> Bench {
    let mut b = Bench::plain(&["a", "b", "c"]);
    b.switch.buffers(&Buffers { bytes, reserved: 0, classes: storage(), ..Buffers::default() });
    for name in by_frame {
        let id = b.switch.find(name).unwrap();
        b.switch.members[usize::from(id)].as_mut().unwrap().masks = false;
    }
    for (name, n) in [("a", 1), ("b", 2), ("c", 3)] {
        b.send(name, &frame(ALL, mac(n)));
    }
    b.now = SECOND;
    b.arrived(["a", "b", "c"]);
    b
}

pub(super) fn of(priority: u16, to: u8, from: u8) -> Vec<u8> {
    tagged(mac(to), mac(from), priority << 13)
}

/// Quanta of each priority that a frame of the switch asks for; the other frames.
fn asked(frames: &[Vec<u8>]) -> (Vec<[u16; 8]>, usize) {
    let control = |frame: &&Vec<u8>| frame[..6] == MacControl::GROUP.0;
    let quanta = |frame: &Vec<u8>| match MacControl::parse(&frame[14..]) {
        Ok(MacControl::Pfc { enabled: 0x08, quanta }) if frame[12..14] == [0x88, 0x08] => quanta,
        other => panic!("{other:?}"),
    };
    let asked: Vec<_> = frames.iter().filter(control).map(quanta).collect();
    (asked.clone(), frames.len() - asked.len())
}

impl Bench {
    pub(super) fn pfc(&self, name: &str) -> PfcCounters {
        self.switch.ports().into_iter().find(|port| port.name == name).unwrap().pfc
    }

    /// Sends frames of priority 3 from `a` to `b` until the neighbour at a is asked to pause; returns their number.
    pub(super) fn until_asked(&mut self) -> usize {
        let before = self.pfc("a").requests[3];
        for n in 1..10_000 {
            self.send("a", &of(3, 2, 1));
            if self.pfc("a").requests[3] > before {
                return n;
            }
        }
        panic!("nobody was asked");
    }
}

/// After the pause was asked for there is room for all that may still come, and not for a frame more.
#[test]
fn a_neighbour_is_asked_by_frame_in_time_and_again_and_let_go() {
    let mut b = bench(256 << 10, &["a"]);
    let sent = b.until_asked();
    assert!(sent > 63 && b.class("b", 1).waiting == sent as u64 - 63, "{:?}", b.class("b", 1));
    let pause = [0, 0, 0, u16::MAX, 0, 0, 0, 0];
    assert_eq!(asked(&b.receive("a")), (vec![pause], 0));
    let headroom = Headroom::new(&Span::default(), 1522).cells as usize;
    // The frame that was too many for the share is the first in the headroom.
    for n in 1..headroom {
        b.send("a", &of(3, 2, 1));
        assert!(!b.switch.has_waiting(), "{n} of {headroom}");
    }
    b.send("a", &of(3, 2, 1));
    assert!(b.switch.has_waiting(), "one more is one too many");
    assert_eq!(asked(&b.receive("a")), (vec![], 0), "it knows already");
    // It is asked again before the time is over.
    let half = Span::default().quanta_ns(u16::MAX) / 2;
    assert_eq!(b.switch.due(), Some(b.now + half));
    b.now += half;
    b.poll();
    assert_eq!(asked(&b.receive("a")), (vec![pause], 0));
    let came = b.receive_all("b");
    assert_eq!(came.len(), sent + headroom, "none is lost");
    assert_eq!(asked(&b.receive("a")), (vec![[0; 8]], 0), "it may go on");
    assert_eq!((b.switch.due(), b.switch.has_waiting(), b.switch.queued()), (None, false, false));
    let pfc = b.pfc("a");
    assert_eq!((pfc.requests, pfc.tx_pause_frames), ([0, 0, 0, 3, 0, 0, 0, 0], 3));
    assert_eq!((b.class("b", 1).waiting_bytes, b.ledger().dropped.total()), (0, 0));
}

/// Other classes of the same neighbour, and other ports, go on.
#[test]
fn a_pause_is_of_its_class_and_its_port() {
    let mut b = bench(256 << 10, &["a", "c"]);
    b.until_asked();
    b.send("a", &of(0, 3, 1));
    b.send("c", &of(3, 1, 3));
    assert_eq!(b.arrived(["c"]), [1]);
    assert_eq!(asked(&b.receive("a")).1, 1);
    assert_eq!((b.pfc("c").requests, b.pfc("b").requests), ([0; 8], [0; 8]));
    b.ledger();
}

/// The other end of a cable is held by its mask, priority by priority where it has a queue for each.
#[test]
fn the_other_end_of_a_cable_is_paused_by_mask() {
    let mut b = Bench::plain(&["b"]);
    b.switch.buffers(&Buffers { bytes: 128 << 10, reserved: 0, classes: storage(), ..Buffers::default() });
    let options = ",slots=64,queues=8";
    let mut ports = open_all(&[format!("cable:t{{a{options}"), format!("cable:t}}a{options}")]).unwrap().into_iter();
    b.switch.attach("a", ports.next().unwrap(), Policy::default()).unwrap();
    let mut end = ports.next().unwrap();
    let mut tx: Vec<TxQueue> = (0..8).map(|q| end.take_tx(q).unwrap()).collect();
    b.send("b", &frame(ALL, mac(2)));
    // Priority 3 has queue 3, and priority 0 queue 1.
    let mut send = |b: &mut Bench, q: usize, priority: u16| {
        tx[q].sync();
        let mut batch = tx[q].ring.reserve(1);
        let n = batch.len();
        assert!(n == 0 || batch.put(0, &of(priority, 2, 1)));
        batch.commit(n);
        tx[q].sync();
        b.poll();
        tx[q].ring.pending()
    };
    let mut sent = 0;
    while send(&mut b, 3, 3) == 0 {
        sent += 1;
        assert!(sent < 5000, "it is never paused");
    }
    assert!(b.pfc("a").requests[3] > 0 && !b.switch.has_waiting());
    assert_eq!(send(&mut b, 1, 0), 0, "its other queues send");
    assert_eq!(b.class("b", 0).waiting, 1);
    assert_eq!(b.receive_all("b").len(), sent + 1);
    assert_eq!(send(&mut b, 3, 3), 0, "it sends what it held, too");
    assert_eq!(b.receive_all("b").len(), 2);
    assert_eq!(b.ledger().dropped.total(), 0);
}

pub(super) fn pfc_frame(enabled: u8, quanta: [u16; 8]) -> Vec<u8> {
    let mut bytes = frame(MacControl::GROUP.0, mac(9));
    bytes[12..14].copy_from_slice(&[0x88, 0x08]);
    MacControl::Pfc { enabled, quanta }.emit(&mut bytes[14..]).unwrap();
    bytes
}

#[test]
fn a_neighbour_stops_its_class_for_its_time_and_no_longer() {
    let mut b = bench(1 << 20, &["b"]);
    let quanta = |n| [0, 0, 0, n, 0, 0, 0, 0];
    b.send("b", &pfc_frame(0x08, quanta(1000)));
    let until = b.now + Span::default().quanta_ns(1000);
    b.burst("a", &[of(3, 2, 1), of(0, 2, 1), of(3, 2, 1), of(5, 2, 1)]);
    let priorities = |frames: Vec<Vec<u8>>| frames.iter().map(|frame| frame[14] >> 5).collect::<Vec<_>>();
    assert_eq!(priorities(b.receive("b")), [0, 5]);
    assert_eq!((b.class("b", 1).waiting, b.switch.due()), (2, Some(until)));
    b.now = until - 1;
    b.poll();
    assert_eq!(b.arrived(["b"]), [0]);
    b.now = until;
    b.poll();
    assert_eq!(priorities(b.receive("b")), [3, 3]);
    assert!(!b.switch.queued());
    // It is asked again, and lets go by itself.
    b.send("b", &pfc_frame(0x08, quanta(u16::MAX)));
    b.send("a", &of(3, 2, 1));
    assert_eq!(b.arrived(["b"]), [0]);
    b.send("b", &pfc_frame(0x08, quanta(0)));
    assert_eq!(b.arrived(["b"]), [1]);
    let pfc = b.pfc("b");
    assert_eq!((pfc.indications[3], pfc.rx_pause_frames), (3, 3));
    assert_eq!(b.count("b").refused.of(DropReason::Reserved), 3, "they go no further");
    b.ledger();
}

/// PFC for classes that nobody has, a pause of all that was not agreed on, what is cut short, and a guest's, which has a mask.
#[test]
fn what_is_not_to_be_heard_stops_nobody() {
    let mut b = bench(1 << 20, &["b"]);
    let mut pause = pfc_frame(0, [0; 8]);
    MacControl::Pause(u16::MAX).emit(&mut pause[14..]).unwrap();
    let mut other = pfc_frame(0xff, [u16::MAX; 8]);
    other[15] = 2;
    for bytes in [
        &pfc_frame(0xf7, [u16::MAX; 8]),
        &pause,
        &other,
        &other[..14].to_vec(),
        &pfc_frame(8, [u16::MAX; 8])[..30].to_vec(),
    ] {
        b.send("b", bytes);
    }
    b.send("c", &pfc_frame(0xff, [u16::MAX; 8]));
    b.burst("a", &[of(3, 2, 1), of(0, 2, 1), of(3, 3, 1)]);
    assert_eq!(b.arrived(["b", "c"]), [2, 1]);
    assert_eq!((b.pfc("b").rx_pause_frames, b.pfc("c").rx_pause_frames), (2, 0));
    assert_eq!(b.pfc("b").indications, [1, 1, 1, 0, 1, 1, 1, 1]);
    b.ledger();
}

/// A neighbour that stops its class stops the senders to it in turn, and none else; nothing is lost.
#[test]
fn a_stopped_class_stops_its_senders() {
    let mut b = bench(256 << 10, &["a", "b", "c"]);
    b.send("b", &pfc_frame(0x08, [0, 0, 0, u16::MAX, 0, 0, 0, 0]));
    let sent = b.until_asked();
    assert_eq!((b.arrived(["b"]), b.class("b", 1).waiting), ([0], sent as u64));
    assert_eq!(b.pfc("c").requests, [0; 8]);
    b.now += Span::default().quanta_ns(u16::MAX);
    b.poll();
    assert_eq!(b.receive_all("b").len(), sent);
    assert_eq!(b.ledger().dropped.total(), 0);
}

/// Without this, a neighbour would be asked to pause and let go with every frame.
#[test]
fn a_neighbour_goes_on_when_there_is_room_for_some_frames() {
    let mut b = bench(256 << 10, &["a"]);
    b.until_asked();
    b.receive("a");
    let take = |b: &mut Bench, n: u32| {
        let end = b.end("b");
        end.rx.sync();
        end.rx.ring.batch(n).release(n);
        end.rx.sync();
        b.poll();
        asked(&b.receive("a")).0
    };
    assert_eq!(take(&mut b, 1), [[0; 8]; 0], "the headroom is empty, the share is full");
    assert_eq!(take(&mut b, 4), [[0; 8]; 0]);
    assert_eq!(take(&mut b, 20), [[0; 8]]);
    b.ledger();
}

#[test]
fn a_neighbour_goes_on_when_others_have_made_room() {
    let mut b = bench(256 << 10, &["a", "b"]);
    for _ in 0..600 {
        b.send("b", &of(0, 3, 2));
    }
    assert!(b.class("c", 0).waiting > 300);
    b.send("b", &pfc_frame(0x08, [0, 0, 0, u16::MAX, 0, 0, 0, 0]));
    let sent = b.until_asked();
    assert!(sent < 250, "{sent}: others have their part");
    b.receive("a");
    b.receive_all("c");
    assert_eq!(asked(&b.receive("a")).0, [[0; 8]; 0]);
    b.now = b.switch.due().unwrap();
    b.poll();
    assert_eq!(asked(&b.receive("a")).0, [[0; 8]], "its own frames wait still");
    assert_eq!(b.class("b", 1).waiting, sent as u64);
    b.ledger();
}

/// A frame of several slots that finds no room in the headroom waits as a short one does.
#[test]
fn a_chain_beyond_the_headroom_waits() {
    let mut b = bench(256 << 10, &["a"]);
    b.until_asked();
    for _ in 1..Headroom::new(&Span::default(), 1522).cells {
        b.send("a", &of(3, 2, 1));
    }
    super::slots::send_parts(&mut b, "a", &of(3, 2, 1), 20, None);
    assert_eq!((b.switch.has_waiting(), b.ledger().dropped.total()), (true, 0));
    let sent = b.count("a").received;
    let came = b.receive_all("b").len() as u64;
    assert_eq!((b.count("a").received, came), (sent + 1, sent), "a's own first frame was a flood to c, too");
    assert_eq!(b.ledger().dropped.total(), 0);
}

/// A monitor that is slow, and a port that is slow among those that get a group's frames.
#[test]
fn a_monitor_and_one_of_several_ports_pause_nobody() {
    let mut b = bench(64 << 10, &["a"]);
    b.switch.mirror("a", "m", Direction::In);
    b.add("m", Policy::default(), 1, 1500);
    for _ in 0..300 {
        b.send("a", &of(3, 2, 1));
        assert_eq!(b.arrived(["b"]), [1]);
    }
    assert!(b.class("m", 1).waiting > 20 && b.class("m", 1).dropped.total() > 0, "{:?}", b.class("m", 1));
    for _ in 0..300 {
        b.burst("a", &[tagged(ALL, mac(1), 3 << 13), tagged(ALL, mac(1), 3 << 13)]);
        assert_eq!(b.arrived(["b"]), [2]);
    }
    assert!(b.class("c", 1).waiting > 20 && b.class("c", 1).dropped.total() > 0, "{:?}", b.class("c", 1));
    assert_eq!((b.pfc("a").requests, b.switch.has_waiting()), ([0; 8], false));
    b.ledger();
}

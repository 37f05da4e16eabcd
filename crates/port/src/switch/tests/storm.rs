//! The watchdog of lossless classes: storms that begin, go on and end, and what becomes of frames and pauses meanwhile.

use super::pfc::{of, pfc_frame};
use super::*;
use linerate_offload::{ClassTable, Selection};

const MS: u64 = 1_000_000;
/// A pause of 3 and 4 for longer than anything here takes between two of them.
const PAUSE: [u16; 8] = [0, 0, 0, u16::MAX, u16::MAX, 0, 0, 0];

/// Class 1 has priority 3 and class 2 priority 4, both lossless; class 0 has the others.
fn two_lossless() -> ClassTable {
    let mut selection = [Selection::Strict; 8];
    selection[..3].copy_from_slice(&[Selection::Share(40), Selection::Share(30), Selection::Share(30)]);
    ClassTable::new([0, 0, 0, 1, 2, 0, 0, 0], selection, 1 << 3 | 1 << 4).unwrap()
}

/// Ports a, b and c, whose neighbours pause by frame, at a switch whose links are so slow that a pause lasts 33 ms.
fn bench(action: StormAction) -> Bench {
    let mut b = Bench::plain(&["a", "b", "c"]);
    let watchdog = Some(Watchdog { detect: 200 * MS, restore: 400 * MS, action });
    let span = Span { rate: 1_000_000_000, metres: 100 };
    let buffers =
        Buffers { bytes: 1 << 20, reserved: 0, classes: two_lossless(), span, watchdog, ..Buffers::default() };
    b.switch.buffers(&buffers);
    for (name, n) in [("a", 1), ("b", 2), ("c", 3)] {
        let id = b.switch.find(name).unwrap();
        b.switch.members[usize::from(id)].as_mut().unwrap().masks = false;
        b.send(name, &frame(ALL, mac(n)));
    }
    b.now = SECOND;
    b.arrived(["a", "b", "c"]);
    b
}

impl Bench {
    /// Lets so many milliseconds go by; the neighbours at these ports pause both lossless classes all the time.
    fn paused(&mut self, ms: u64, by: &[&str]) {
        for _ in 0..ms / 10 {
            by.iter().for_each(|name| self.send(name, &pfc_frame(0x18, PAUSE)));
            self.now += 10 * MS;
            self.poll();
        }
    }

    /// Ports and classes in a storm, each with its circle.
    fn storms(&self) -> Vec<(String, usize, Vec<String>)> {
        self.switch.storms().into_iter().map(|storm| (storm.port, storm.class, storm.circle)).collect()
    }
}

fn storm(port: &str, class: usize) -> (String, usize, Vec<String>) {
    (port.to_owned(), class, Vec::new())
}

#[test]
fn a_class_that_is_stopped_too_long_stops_nobody_until_it_goes_again() {
    let mut b = bench(StormAction::Drop);
    b.send("b", &pfc_frame(0x18, PAUSE));
    let sent = b.until_asked() as u64;
    b.paused(190, &["b"]);
    assert_eq!((b.storms(), b.class("b", 1).waiting), (vec![], sent), "not yet");
    b.paused(20, &["b"]);
    assert_eq!(b.storms(), [storm("b", 1)]);
    assert_eq!(b.switch.storms()[0].priorities, 1 << 3);
    let class = b.class("b", 1);
    assert_eq!((class.waiting, class.waiting_bytes, class.storms), (0, 0, 1));
    assert_eq!(class.dropped.of(QueueDrop::Storm), sent, "what waited is dropped");
    // The sender was let go, and is asked no more, whatever it sends.
    let asked = b.pfc("a").requests[3];
    for _ in 0..5000 {
        b.send("a", &of(3, 2, 1));
    }
    b.paused(500, &["b"]);
    assert_eq!((b.pfc("a").requests[3], b.switch.has_waiting()), (asked, false));
    assert_eq!(b.class("b", 1).dropped.of(QueueDrop::Storm), sent + 5000);
    // Class 0 goes on through the same port, class 1 through others.
    b.burst("a", &[of(0, 2, 1), of(3, 3, 1)]);
    assert_eq!(b.receive("b").len() + b.receive("c").iter().filter(|frame| frame[..6] == mac(3)).count(), 2);
    // The last pause is over after 33 ms, the storm 400 ms later.
    b.paused(420, &[]);
    assert_eq!(b.storms(), [storm("b", 1)]);
    b.paused(30, &[]);
    assert_eq!(b.storms(), []);
    b.send("a", &of(3, 2, 1));
    assert_eq!((b.arrived(["b"]), b.class("b", 1).storms, b.switch.queued()), ([1], 1, false));
    assert_eq!(b.switch.due(), None);
    assert_eq!(b.ledger().dropped.of(DropReason::NoRoom), sent + 5000);
}

/// Each class is watched by itself, and nothing is lost for want of one that goes.
#[test]
fn all_lossless_classes_of_a_port_may_be_in_a_storm_at_once() {
    let mut b = bench(StormAction::Drop);
    b.send("b", &pfc_frame(0x18, PAUSE));
    b.until_asked();
    b.send("a", &of(4, 2, 1));
    b.paused(220, &["b"]);
    assert_eq!(b.storms(), [storm("b", 1), storm("b", 2)]);
    b.burst("a", &[of(3, 2, 1), of(4, 2, 1), of(0, 2, 1), of(3, 3, 1), of(4, 3, 1)]);
    assert_eq!(b.receive("b").iter().filter(|frame| frame[..6] == mac(2)).count(), 1);
    assert_eq!(b.receive("c").iter().filter(|frame| frame[..6] == mac(3)).count(), 2);
    b.paused(300, &["b"]);
    assert_eq!((b.storms().len(), b.class("b", 1).storms, b.class("b", 2).storms), (2, 1, 1));
    b.paused(440, &[]);
    assert_eq!(b.storms(), []);
    b.ledger();
}

#[test]
fn ports_that_wait_for_each_other_are_named() {
    let mut b = bench(StormAction::Drop);
    b.add("d", Policy::default(), 1, 1500);
    ["a", "b"].iter().for_each(|name| b.send(name, &pfc_frame(0x18, PAUSE)));
    // c waits for b and d for c: they hang on the circle, and are not in it.
    b.burst("c", &[of(3, 2, 3)]);
    b.burst("a", &[of(3, 2, 1)]);
    b.burst("b", &[of(3, 1, 2)]);
    b.paused(220, &["a", "b"]);
    let circle = |ports: [&str; 2]| (ports[0].to_owned(), 1, ports.map(str::to_owned).to_vec());
    assert_eq!(b.storms(), [circle(["a", "b"]), circle(["b", "a"])]);
    b.ledger();
}

/// Pauses that end in time are none of its business; one that comes again in a storm is the same storm.
#[test]
fn a_neighbour_that_flaps_is_one_storm() {
    let mut b = bench(StormAction::Drop);
    for _ in 0..10 {
        b.send("b", &pfc_frame(0x18, PAUSE));
        b.send("a", &of(3, 2, 1));
        b.paused(150, &["b"]);
        b.paused(50, &[]);
        assert_eq!(b.arrived(["b"]), [1]);
    }
    assert_eq!((b.storms(), b.class("b", 1).storms), (vec![], 0));
    b.send("b", &pfc_frame(0x18, PAUSE));
    b.send("a", &of(3, 2, 1));
    b.paused(220, &["b"]);
    for _ in 0..10 {
        b.paused(300, &[]);
        b.paused(20, &["b"]);
        assert_eq!(b.storms(), [storm("b", 1)]);
    }
    assert_eq!(b.class("b", 1).storms, 1);
    b.paused(440, &[]);
    assert_eq!(b.storms(), []);
    b.ledger();
}

#[test]
fn frames_leave_in_spite_of_the_pause_if_that_is_wanted() {
    let mut b = bench(StormAction::Forward);
    b.send("b", &pfc_frame(0x18, PAUSE));
    b.burst("a", &vec![of(3, 2, 1); 20]);
    b.paused(220, &["b"]);
    assert_eq!((b.storms(), b.receive("b").len()), (vec![storm("b", 1)], 20));
    b.burst("a", &vec![of(3, 2, 1); 63]);
    b.burst("a", &vec![of(3, 2, 1); 10]);
    assert_eq!(b.class("b", 1).dropped.of(QueueDrop::Storm), 10, "the ring has no room for them");
    assert_eq!((b.receive("b").len(), b.pfc("a").requests[3]), (63, 0));
    b.ledger();
}

/// A receiver at a cable's other end that takes nothing is one that stops all classes.
#[test]
fn a_receiver_that_takes_nothing_is_a_storm_until_it_takes() {
    let mut b = bench(StormAction::Drop);
    for _ in 0..70 {
        b.send("a", &of(3, 2, 1));
    }
    assert_eq!(b.class("b", 1).waiting, 7);
    b.paused(190, &[]);
    assert_eq!(b.storms(), []);
    b.paused(20, &[]);
    assert_eq!((b.storms(), b.class("b", 1).dropped.of(QueueDrop::Storm)), (vec![storm("b", 1)], 7));
    b.paused(1000, &[]);
    assert_eq!(b.storms(), [storm("b", 1)]);
    assert_eq!(b.arrived(["b"]), [63]);
    b.paused(420, &[]);
    assert_eq!(b.storms(), []);
    // One that is slow is none.
    for _ in 0..200 {
        b.send("a", &of(3, 2, 1));
    }
    for _ in 0..20 {
        let end = b.end("b");
        end.rx.sync();
        end.rx.ring.batch(1).release(1);
        end.rx.sync();
        b.paused(100, &[]);
    }
    assert_eq!((b.storms(), b.class("b", 1).storms), (vec![], 1));
    b.ledger();
}

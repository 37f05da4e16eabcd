//! The switch with its ports in one process: destinations of frames, and the accounting of each.

mod congestion;
mod ets;
mod flood;
mod groups;
mod headroom;
mod kept;
mod loops;
mod parked;
mod pfc;
mod queues;
mod slots;
mod storm;

use super::*;
use crate::counters::DropReason;
use crate::kinds::packet::tests::until;
use crate::open::open_all;
use crate::sleep::Sleeper;
use linerate_ring::flags;

/// A switch, and the far ends of its ports, which a program holds.
struct Bench {
    switch: Switch,
    ends: Vec<End>,
    now: u64,
}

struct End {
    name: &'static str,
    tx: TxQueue,
    rx: RxQueue,
}

const SECOND: u64 = 1_100_000_000;

impl Bench {
    /// Ports with one policy each, over rings of 64 slots.
    fn new(ports: &[(&'static str, Policy)]) -> Self {
        let mut bench = Self { switch: Switch::new(), ends: Vec::new(), now: 0 };
        for (name, policy) in ports {
            bench.add(name, policy.clone(), 1, 1500);
        }
        bench
    }

    fn plain(names: &[&'static str]) -> Self {
        Self::new(&names.iter().map(|name| (*name, Policy::default())).collect::<Vec<_>>())
    }

    /// Adds a port: the left end of a cable is the switch's, the right one is the program's.
    fn add(&mut self, name: &'static str, policy: Policy, queues: u32, mtu: u32) {
        let options = format!(",slots=64,queues={queues},mtu={mtu}");
        let ports = open_all(&[format!("cable:t{{{name}{options}"), format!("cable:t}}{name}{options}")]).unwrap();
        self.take(name, policy, ports.try_into().ok().unwrap());
    }

    /// Ports whose cables lie in one region: between them buffers are exchanged.
    fn together(ports: &[(&'static str, Policy)]) -> Self {
        let mut bench = Self { switch: Switch::new(), ends: Vec::new(), now: 0 };
        let ends = |(name, _): &(&str, Policy)| ["{", "}"].map(|end| format!("cable:t{end}{name},slots=64"));
        let mut all = open_all(&ports.iter().flat_map(ends).collect::<Vec<_>>()).unwrap().into_iter();
        for (name, policy) in ports {
            bench.take(name, policy.clone(), [all.next().unwrap(), all.next().unwrap()]);
        }
        bench
    }

    fn take(&mut self, name: &'static str, policy: Policy, [near, mut end]: [Port; 2]) {
        self.switch.attach(name, near, policy).unwrap();
        self.ends.push(End { name, tx: end.take_tx(0).unwrap(), rx: end.take_rx(0).unwrap() });
    }

    fn end(&mut self, name: &str) -> &mut End {
        self.ends.iter_mut().find(|end| end.name == name).unwrap()
    }

    fn send(&mut self, name: &str, frame: &[u8]) {
        let end = self.end(name);
        end.tx.sync();
        let mut batch = end.tx.ring.reserve(1);
        assert!(!batch.is_empty() && batch.put(0, frame), "{name} has no room to send");
        batch.commit(1);
        end.tx.sync();
        self.poll();
    }

    /// Commits all frames, and lets the switch see them at once.
    fn burst(&mut self, name: &str, frames: &[Vec<u8>]) {
        let end = self.end(name);
        end.tx.sync();
        let mut batch = end.tx.ring.reserve(u32::MAX);
        assert!(batch.len() as usize >= frames.len(), "{name} has no room to send");
        for (i, frame) in (0..).zip(frames) {
            assert!(batch.put(i, frame));
        }
        batch.commit(u32::try_from(frames.len()).unwrap());
        end.tx.sync();
        self.poll();
    }

    fn poll(&mut self) {
        while self.switch.poll(self.now) {}
    }

    /// All frames that have arrived.
    fn receive(&mut self, name: &str) -> Vec<Vec<u8>> {
        let end = self.end(name);
        end.rx.sync();
        let (mut frames, mut part) = (Vec::new(), Vec::new());
        let mut batch = end.rx.ring.batch(u32::MAX);
        let n = batch.len();
        for i in 0..n {
            let Some((frame, slot)) = batch.frame(i) else { continue };
            part.extend(frame.to_vec());
            if slot & flags::MOREFRAG == 0 {
                frames.push(std::mem::take(&mut part));
            }
        }
        batch.release(n);
        end.rx.sync();
        frames
    }

    /// Number of frames that have arrived at each of these ports.
    fn arrived<const N: usize>(&mut self, names: [&str; N]) -> [usize; N] {
        names.map(|name| self.receive(name).len())
    }

    fn count(&self, name: &str) -> PortCounters {
        self.switch.ports().into_iter().find(|port| port.name == name && !port.gone).unwrap().count
    }

    fn ledger(&self) -> Ledger {
        let ledger = Ledger::of(&self.switch.ports());
        assert_eq!(ledger.unexplained, 0, "{ledger:?}");
        ledger
    }
}

fn mac(n: u8) -> [u8; 6] {
    [2, 0, 0, 0, 0, n]
}

const ALL: [u8; 6] = [0xff; 6];

fn frame(dst: [u8; 6], src: [u8; 6]) -> Vec<u8> {
    let mut bytes = vec![0x5a; 60];
    bytes[..6].copy_from_slice(&dst);
    bytes[6..12].copy_from_slice(&src);
    bytes[12..14].copy_from_slice(&[0x88, 0xb5]);
    bytes
}

fn tagged(dst: [u8; 6], src: [u8; 6], tci: u16) -> Vec<u8> {
    let mut bytes = frame(dst, src);
    let [c0, c1] = tci.to_be_bytes();
    bytes.splice(12..12, [0x81, 0, c0, c1]);
    bytes
}

fn vlans(text: &str) -> Policy {
    Policy { vlans: Vlans::parse(text).unwrap(), pause: 0 }
}

fn pausing(pause: u8) -> Policy {
    Policy { pause, ..Policy::default() }
}

#[test]
fn unknown_ones_are_flooded_known_ones_are_not_and_nothing_comes_back() {
    let mut b = Bench::plain(&["a", "b", "c"]);
    b.send("a", &frame(mac(2), mac(1)));
    assert_eq!(b.arrived(["a", "b", "c"]), [0, 1, 1], "nobody knows where 2 is");
    b.send("b", &frame(mac(1), mac(2)));
    assert_eq!(b.arrived(["a", "b", "c"]), [1, 0, 0], "1 was seen at a");
    b.send("a", &frame(mac(2), mac(1)));
    assert_eq!(b.arrived(["a", "b", "c"]), [0, 1, 0]);
    b.send("c", &frame(ALL, mac(3)));
    assert_eq!(b.arrived(["a", "b", "c"]), [1, 1, 0]);
    b.send("a", &frame(mac(1), mac(9)));
    assert_eq!(b.arrived(["a", "b", "c"]), [0, 0, 0], "its destination is where it came from");
    assert_eq!(b.count("a").refused.of(DropReason::SamePort), 1);
    let ledger = b.ledger();
    assert_eq!((ledger.received, ledger.copies, ledger.sent), (4, 6, 6));
    assert_eq!((b.count("a").flooded, b.count("b").flooded, b.count("c").flooded), (1, 0, 1));
}

/// IEEE 802.1Q-2022, table 8-1.
#[test]
fn what_is_for_the_neighbour_on_the_link_goes_no_further() {
    // To one other port frames go as runs, to two one by one.
    for others in [&["b"][..], &["b", "c"]] {
        let mut b = Bench::plain(&[&["a"], others].concat());
        let reserved = |last| frame([1, 0x80, 0xc2, 0, 0, last], mac(1));
        let beside = [[1, 0x80, 0xc2, 0, 0, 0x10], [1, 0x80, 0xc2, 0, 1, 0], [1, 0x80, 0xc3, 0, 0, 0]];
        let all: Vec<_> = (0..16).map(reserved).chain(beside.map(|dst| frame(dst, mac(1)))).collect();
        b.burst("a", &all);
        b.send("a", &tagged([1, 0x80, 0xc2, 0, 0, 14], mac(1), 0x6005));
        others.iter().for_each(|other| assert_eq!(b.receive(other), all[16..], "{other}"));
        assert_eq!((b.count("a").refused.of(DropReason::Reserved), b.count("a").refused.total()), (17, 17));
        assert_eq!(b.switch.table().known, 2, "their sender is learned, in both VLANs");
        b.switch.forward_reserved(true);
        b.burst("a", &all);
        others.iter().for_each(|other| assert_eq!(b.receive(other), all, "{other}"));
        assert_eq!(b.count("a").refused.total(), 17);
        b.ledger();
    }
}

#[test]
fn addresses_move_age_and_go_with_their_port() {
    let mut b = Bench::plain(&["a", "b", "c"]);
    b.send("a", &frame(ALL, mac(1)));
    b.send("b", &frame(ALL, mac(1)));
    b.arrived(["a", "b", "c"]);
    b.send("c", &frame(mac(1), mac(3)));
    assert_eq!(b.arrived(["a", "b"]), [0, 1], "it has moved to b");
    b.now += 400 * SECOND;
    b.send("c", &frame(mac(1), mac(3)));
    assert_eq!(b.arrived(["a", "b"]), [1, 1], "it was not heard of for too long");
    b.send("b", &frame(ALL, mac(1)));
    b.arrived(["a", "b", "c"]);
    assert!(b.switch.detach("b") && !b.switch.detach("b"));
    b.send("c", &frame(mac(1), mac(3)));
    assert_eq!(b.arrived(["a"]), [1], "forgotten with its port");
    assert_eq!(b.switch.ports().iter().filter(|port| port.gone).count(), 1);
    b.ledger();
}

/// IEEE 802.1Q-2018 clause 8.7: only individual source addresses are learned. A group address or the zero address takes
/// no place in the table.
#[test]
fn group_addresses_and_none_are_not_learned() {
    // To one other port frames go as runs, to two one by one.
    for others in [&["b"][..], &["b", "c"]] {
        let mut b = Bench::plain(&[&["a"], others].concat());
        for src in [ALL, [3, 0, 0, 0, 0, 9], [1, 0, 0x5e, 0, 0, 1], [0; 6]] {
            b.send("a", &frame(ALL, src));
            b.send("a", &frame(mac(7), src));
            b.send("a", &tagged(mac(7), src, 0x6005));
        }
        for other in others {
            assert_eq!(b.receive(other).len(), 12, "they are carried like others");
        }
        assert_eq!((b.switch.table().learned, b.switch.table().known), (0, 0));
        b.send("a", &frame(ALL, mac(1)));
        assert_eq!(b.switch.table().learned, 1);
        b.ledger();
    }
}

#[test]
fn a_full_port_drops_and_others_go_on() {
    let mut b = Bench::plain(&["a", "b", "c"]);
    b.send("c", &frame(ALL, mac(3)));
    b.send("b", &frame(ALL, mac(2)));
    b.arrived(["a", "b", "c"]);
    for _ in 0..200 {
        b.send("a", &frame(mac(2), mac(1)));
        b.send("a", &frame(mac(3), mac(1)));
        assert_eq!(b.arrived(["c"]), [1]);
    }
    assert_eq!(b.arrived(["b"]), [63]);
    assert_eq!(b.count("b").dropped.of(DropReason::NoRoom), 137);
    assert_eq!(b.count("b").priorities[0].dropped, 137);
    assert_eq!(b.ledger().dropped.total(), 137);
    b.send("a", &frame(mac(2), mac(1)));
    assert_eq!(b.arrived(["b"]), [1]);
}

/// Runs to one port and to another, of any lengths, across the ends of all rings; then one of the two is full.
#[test]
fn bursts_are_carried_in_order_and_counted_frame_by_frame() {
    let mut b = Bench::plain(&["a", "b", "c"]);
    b.send("b", &frame(ALL, mac(2)));
    b.send("c", &frame(ALL, mac(3)));
    b.arrived(["a", "b", "c"]);
    let long = |to: u8, n: usize| {
        let mut bytes = frame(mac(to), mac(1));
        bytes.resize(60 + n * 37 % 1400, 0x77);
        bytes[20..24].copy_from_slice(&u32::try_from(n).unwrap().to_be_bytes());
        bytes
    };
    let (mut n, mut sent) = (0, [0u64; 2]);
    for round in 0..40 {
        let burst: Vec<_> = (0..50)
            .map(|k| {
                n += 1;
                long(if k * 7 / (3 + round % 11) % 2 == 0 { 2 } else { 3 }, n)
            })
            .collect();
        b.burst("a", &burst);
        for (which, name) in [(0, "b"), (1, "c")] {
            let wanted: Vec<_> = burst.iter().filter(|frame| frame[5] == which + 2).cloned().collect();
            assert!(b.receive(name) == wanted, "round {round}: {name}");
            sent[usize::from(which)] += wanted.iter().map(|frame| frame.len() as u64).sum::<u64>();
        }
    }
    let first = [b.count("a"), b.count("b"), b.count("c")];
    assert_eq!((first[0].received, first[0].received_bytes), (2000, sent[0] + sent[1]));
    // Each has got the other's announcement too.
    assert_eq!([first[1].sent_bytes, first[2].sent_bytes], [sent[0] + 60, sent[1] + 60]);

    // 63 slots, 40 of them taken: those that follow to the other port are not part of the run that finds no room.
    b.burst("a", &(0..40).map(|n| long(2, n)).collect::<Vec<_>>());
    let burst: Vec<_> = (0..40).map(|n| long(2, n)).chain((0..15).map(|n| long(3, n))).collect();
    b.burst("a", &burst);
    assert_eq!(b.arrived(["b", "c"]), [63, 15]);
    let [from, full] = [b.count("a"), b.count("b")];
    assert_eq!((from.received, from.copies), (2095, 2095));
    assert_eq!((full.sent - first[1].sent, full.dropped.of(DropReason::NoRoom)), (63, 17));
    let bytes: u64 = (0..40).map(|n| long(2, n).len() as u64).sum();
    assert_eq!(
        from.received_bytes - first[0].received_bytes,
        2 * bytes + (0..15).map(|n| long(3, n).len() as u64).sum::<u64>()
    );
    assert_eq!(full.sent_bytes - first[1].sent_bytes, bytes + (0..23).map(|n| long(2, n).len() as u64).sum::<u64>());
    b.ledger();
}

/// Frames without room are learned from and counted by source, VLAN and priority as others are.
#[test]
fn bursts_to_a_full_port_are_learned_from_and_counted_by_priority() {
    let mut b = Bench::plain(&["a", "b", "c"]);
    b.send("b", &frame(ALL, mac(2)));
    b.burst("a", &vec![frame(mac(2), mac(1)); 63]);
    let sources = (11..19).flat_map(|n| [frame(mac(2), mac(n)), frame(mac(2), mac(n))]);
    let priorities = (1..8).map(|pcp| tagged(mac(2), mac(1), pcp << 13));
    b.burst("a", &sources.chain(priorities).collect::<Vec<_>>());
    assert_eq!(b.switch.table().known, 2 + 8);
    let full = b.count("b").priorities;
    assert_eq!(
        (full[0].dropped, full[1..].iter().map(|priority| priority.dropped).collect::<Vec<_>>()),
        (16, vec![1; 7])
    );
    b.ledger();
}

#[test]
fn there_is_a_most_of_ports() {
    let mut b = Bench::plain(&[]);
    let names: Vec<_> = (0..MOST_PORTS).map(|n| format!("p{n}")).collect();
    for name in &names {
        b.switch.attach(name, crate::open("null:,slots=64").unwrap(), Policy::default()).unwrap();
    }
    let line =
        b.switch.attach("more", crate::open("null:,slots=64").unwrap(), Policy::default()).unwrap_err().to_string();
    assert!(line.contains(&format!("has {MOST_PORTS} ports")), "{line}");
}

/// A port that frames wait for stays in the list of those to be synced when another one is removed.
#[test]
fn a_port_that_goes_takes_no_other_off_the_list_of_those_written_to() {
    let mut b = Bench::plain(&["a", "b", "c"]);
    let ids = ["a", "b", "c"].map(|name| b.switch.find(name).unwrap());
    b.switch.touched = ids.to_vec();
    assert!(b.switch.detach("b"));
    assert_eq!(b.switch.touched, [ids[0], ids[2]]);
}

/// A switch without visitors sleeps, and one at whose listener a program has arrived does not.
#[test]
fn a_door_ends_a_sleep_when_a_program_has_arrived() {
    let name = format!("doorsleep{}", std::process::id());
    let listener = Listener::open(&name, None).unwrap();
    assert!((&listener).fall_asleep().is_some_and(|sleep| sleep.on.is_some()));
    let visitor = std::thread::spawn({
        let name = name.clone();
        move || crate::open(&format!("vale:{name}:a")).map(drop).map_err(|e| e.to_string())
    });
    let mut switch = Switch::new();
    until("a visitor ends the sleep", || (&listener).fall_asleep().is_none());
    assert!(listener.admit(&mut switch));
    assert_eq!(visitor.join().unwrap(), Ok(()));
    assert_eq!(listener.counters().admitted, 1);
}

#[test]
fn a_time_in_seconds_is_held_for_no_less() {
    assert_eq!([0, 1, 30, u32::MAX].map(ticks), [0, 2, 29, 4_000_000_001]);
}

#[test]
fn a_class_that_pauses_loses_nothing_and_others_drop() {
    let mut b = Bench::plain(&["a", "c"]);
    b.add("b", pausing(1 << 3), 1, 1500);
    b.send("b", &frame(ALL, mac(2)));
    b.arrived(["a", "c"]);
    // Priority 0 fills three quarters, and then drops: the rest is kept for priority 3.
    for _ in 0..60 {
        b.send("c", &tagged(mac(2), mac(3), 0x0001));
    }
    assert_eq!(b.count("b").priorities[0], PriorityCounters { sent: 47, dropped: 13, waits: 0 });
    let lossless = tagged(mac(2), mac(1), 0x6001);
    for _ in 0..70 {
        b.send("a", &lossless);
    }
    assert_eq!(b.count("b").priorities[3].sent, 16);
    assert!(b.switch.has_waiting());
    b.end("a").tx.sync();
    assert_eq!(b.end("a").tx.ring.outstanding(), 54, "the rest waits at its sender");
    let (mut came, mut rounds) = (0, 0);
    while came < 70 {
        came += b.receive("b").iter().filter(|frame| **frame == lossless).count();
        b.poll();
        rounds += 1;
        assert!(rounds < 100, "{came} came");
    }
    let count = b.count("b");
    assert_eq!((count.priorities[3].sent, count.priorities[3].dropped), (70, 0));
    assert!(count.priorities[3].waits > 0 && !b.switch.has_waiting());
    b.ledger();
}

/// Four senders of a class that pauses, and a receiver that makes room for less than one of them has.
#[test]
fn those_that_wait_for_room_at_one_port_have_equal_shares_of_it() {
    let senders = ["a", "b", "c", "d"];
    let mut bench = Bench::plain(&senders);
    bench.add("e", pausing(1), 1, 1500);
    bench.send("e", &frame(ALL, mac(9)));
    bench.arrived(senders);
    let mut came = [0_u32; 4];
    for round in 0..400 {
        for (n, name) in (1..).zip(senders) {
            let end = bench.end(name);
            end.tx.sync();
            let mut batch = end.tx.ring.reserve(u32::MAX);
            let n_frames = (0..batch.len()).filter(|i| batch.put(*i, &frame(mac(9), mac(n)))).count();
            batch.commit(u32::try_from(n_frames).unwrap());
            end.tx.sync();
        }
        bench.poll();
        for frame in bench.receive("e") {
            came[usize::from(frame[11]) - 1] += 1;
        }
        assert!(round < 399 || came.iter().sum::<u32>() > 20_000, "{came:?}");
    }
    let (least, most) = (came.iter().min().unwrap(), came.iter().max().unwrap());
    assert!(least * 10 > most * 9, "{came:?}");
    assert_eq!(bench.ledger().dropped.total(), 0);
}

#[test]
fn a_receiver_that_has_stopped_stops_others_for_a_second_only() {
    let mut b = Bench::plain(&["a", "c"]);
    b.add("b", pausing(0xff), 1, 1500);
    b.send("b", &frame(ALL, mac(2)));
    b.send("c", &frame(ALL, mac(3)));
    b.arrived(["a", "b", "c"]);
    for _ in 0..63 {
        b.send("a", &frame(mac(2), mac(1)));
    }
    b.send("a", &frame(mac(2), mac(1)));
    b.send("a", &frame(mac(3), mac(1)));
    assert!(b.switch.has_waiting());
    assert_eq!(b.arrived(["c"]), [0], "it stands behind one that waits");
    // Frames with several destinations never wait for one of them.
    b.send("c", &frame(ALL, mac(3)));
    assert_eq!(b.count("b").dropped.of(DropReason::NoRoom), 1);
    b.now += SECOND;
    b.poll();
    assert_eq!(b.arrived(["c"]), [1]);
    assert_eq!(b.count("b").dropped.of(DropReason::NoRoom), 2);
    assert_eq!(b.arrived(["b"]), [63]);
    b.send("a", &frame(mac(2), mac(1)));
    assert_eq!(b.arrived(["b"]), [1], "it counts again once it has taken something");
    b.ledger();
}

#[test]
fn priorities_have_queues_of_their_own_where_there_are_such() {
    let mut b = Bench::plain(&["a"]);
    b.add("b", Policy::default(), 8, 1500);
    for pcp in 0..8u16 {
        b.send("a", &tagged(ALL, mac(1), pcp << 13 | 1));
    }
    for _ in 0..200 {
        b.send("a", &tagged(ALL, mac(1), 0));
    }
    let priorities = b.count("b").priorities;
    assert!((1..8).all(|priority| priorities[priority] == PriorityCounters { sent: 1, ..PriorityCounters::default() }));
    assert_eq!(priorities[0].sent, 63);
    b.send("a", &tagged(ALL, mac(1), 7 << 13));
    assert_eq!(b.count("b").priorities[7].sent, 2, "a full priority does not stop another");
    b.ledger();
}

#[test]
fn vlans_are_kept_apart_and_tags_come_and_go() {
    let ports = [("a", vlans("10")), ("b", vlans("10")), ("c", vlans("20")), ("t", vlans("5+t10+t20"))];
    let mut b = Bench::new(&ports);
    b.send("a", &frame(ALL, mac(1)));
    assert_eq!(b.arrived(["b", "c"]), [1, 0]);
    assert_eq!(b.receive("t"), [tagged(ALL, mac(1), 10)]);
    b.send("t", &tagged(mac(1), mac(9), 0x600a));
    assert_eq!(b.receive("a"), [frame(mac(1), mac(9))], "the trunk's tag is gone");
    b.send("t", &tagged(ALL, mac(9), 20));
    assert_eq!(b.receive("c"), [frame(ALL, mac(9))]);
    b.send("c", &frame(mac(1), mac(3)));
    assert_eq!(b.receive("t"), [tagged(mac(1), mac(3), 20)], "1 is not known in VLAN 20");
    assert_eq!(b.arrived(["a", "b"]), [0, 0]);
    b.send("t", &tagged(ALL, mac(9), 30));
    b.send("a", &tagged(ALL, mac(1), 20));
    b.send("t", &frame(ALL, mac(9)));
    assert_eq!(b.arrived(["a", "b", "c", "t"]), [0; 4]);
    assert_eq!(b.count("t").refused.of(DropReason::Vlan), 1);
    assert_eq!(b.count("t").refused.of(DropReason::NoReceiver), 1, "nobody else is in VLAN 5");
    assert_eq!(b.count("a").refused.of(DropReason::Vlan), 1);
    b.ledger();
}

#[test]
fn monitors_see_what_was_asked_for_and_do_nothing_else() {
    let mut b = Bench::plain(&["a", "b", "c"]);
    b.switch.mirror("a", "m", Direction::In);
    b.switch.mirror("b", "n", Direction::Both);
    b.add("m", Policy::default(), 1, 1500);
    b.add("n", Policy::default(), 1, 1500);
    b.send("a", &frame(ALL, mac(1)));
    assert_eq!(b.arrived(["a", "b", "c", "m", "n"]), [0, 1, 1, 1, 1]);
    b.send("b", &frame(mac(1), mac(2)));
    assert_eq!(b.arrived(["a", "b", "c", "m", "n"]), [1, 0, 0, 0, 1]);
    b.send("c", &frame(mac(1), mac(3)));
    assert_eq!(b.arrived(["a", "b", "c", "m", "n"]), [1, 0, 0, 0, 0]);
    b.send("m", &frame(ALL, mac(7)));
    assert_eq!(b.arrived(["a", "b", "c", "n"]), [0; 4]);
    assert_eq!(b.count("m").refused.of(DropReason::Monitor), 1);
    // A monitor that is full costs the port nothing.
    for _ in 0..100 {
        b.send("b", &frame(mac(1), mac(2)));
        assert_eq!(b.arrived(["a"]), [1]);
    }
    assert_eq!(b.count("n").dropped.of(DropReason::NoRoom), 37);
    let ledger = b.ledger();
    assert_eq!(ledger.copies, 4 + 2 + 1 + 200);
}

#[test]
fn long_ones_chains_and_short_ones() {
    let mut b = Bench::plain(&["a"]);
    b.add("b", Policy::default(), 1, 9000);
    let mut long = frame(ALL, mac(2));
    long.resize(9014, 7);
    b.send("b", &long);
    assert_eq!(b.count("a").dropped.of(DropReason::TooLong), 1);
    b.send("b", &frame(ALL, mac(2))[..13]);
    b.send("b", &frame(ALL, mac(2))[..14]);
    assert_eq!(b.count("b").refused.of(DropReason::TooShort), 1);
    assert_eq!(b.receive("a"), [frame(ALL, mac(2))[..14].to_vec()]);
    let chain: Vec<u8> = (0..1400u32).map(|n| n.to_le_bytes()[0]).collect();
    let chain = [&frame(ALL, mac(1))[..], &chain].concat();
    for parts in [2usize, 5, 60] {
        let end = b.end("a");
        end.tx.sync();
        let pieces: Vec<_> = chain.chunks(chain.len().div_ceil(parts)).collect();
        let mut batch = end.tx.ring.reserve(u32::try_from(pieces.len()).unwrap());
        for (i, piece) in (0..).zip(&pieces) {
            assert!(batch.put(i, piece));
            batch.set(i, piece.len(), if i as usize + 1 < pieces.len() { flags::MOREFRAG } else { 0 });
        }
        let n = batch.len();
        batch.commit(n);
        end.tx.sync();
        b.poll();
        assert_eq!(b.receive("b"), std::slice::from_ref(&chain), "{parts} parts");
    }
    b.ledger();
}

#[test]
fn invented_addresses_cost_nobody_else_anything() {
    let mut b = Bench::plain(&["a", "b", "evil"]);
    b.send("a", &frame(ALL, mac(1)));
    b.send("b", &frame(ALL, mac(2)));
    b.now += 2 * SECOND;
    b.send("a", &frame(mac(2), mac(1)));
    b.send("b", &frame(mac(1), mac(2)));
    b.arrived(["a", "b", "evil"]);
    for n in 0..60_000u32 {
        let [x, y, z, w] = n.to_be_bytes();
        b.send("evil", &frame(mac(9), [6, 1, x, y, z, w]));
        if n % 32 == 0 {
            b.arrived(["a", "b", "evil"]);
        }
    }
    b.arrived(["a", "b", "evil"]);
    b.send("a", &frame(mac(2), mac(1)));
    b.send("b", &frame(mac(1), mac(2)));
    assert_eq!(b.arrived(["a", "b", "evil"]), [1, 1, 0], "who lives there is still known");
    let table = b.switch.table();
    assert!(table.known > 4096 && table.known <= 8192 && table.learned > 50_000, "{table:?}");
    b.ledger();
}

/// A buffer given to a receiver must not be its sender's as well: waiting frames would be overwritten.
#[test]
fn frames_that_wait_in_exchanged_buffers_stay_as_they_are() {
    let mut b = Bench::together(&[("a", Policy::default()), ("b", pausing(0xff)), ("c", pausing(0xff))]);
    for (name, n) in [("a", 1), ("b", 2), ("c", 3)] {
        b.send(name, &frame(ALL, mac(n)));
    }
    b.arrived(["a", "b", "c"]);
    let (mut sent, mut received) = ([0_u32; 2], [0_u32; 2]);
    for round in 0..400_usize {
        // To each in its turn, and one of them looks seldom.
        for which in [0, 0, 1] {
            let mut bytes = frame(mac([2, 3][which]), mac(1));
            bytes[20..24].copy_from_slice(&sent[which].to_be_bytes());
            bytes[56..].copy_from_slice(&sent[which].to_be_bytes());
            let end = b.end("a");
            end.tx.sync();
            let mut batch = end.tx.ring.reserve(1);
            if !batch.is_empty() {
                assert!(batch.put(0, &bytes));
                batch.commit(1);
                end.tx.sync();
                sent[which] += 1;
            }
            b.poll();
        }
        for (which, name, each) in [(0, "b", 29), (1, "c", 1)] {
            if round % each == 0 || round == 399 {
                for _ in 0..if round == 399 { 100 } else { 1 } {
                    for frame in b.receive(name) {
                        let number = received[which].to_be_bytes();
                        assert_eq!((&frame[20..24], &frame[56..]), (&number[..], &number[..]), "{name}, round {round}");
                        received[which] += 1;
                    }
                    b.poll();
                }
            }
        }
    }
    assert!(sent[0] > 300 && sent[1] > 200, "rings of 64 slots went round: {sent:?}");
    assert_eq!((received, b.ledger().unexplained), (sent, 0));
}

#[test]
fn ports_of_one_process_meet_without_a_thread() {
    let names = ["vale:s:a,slots=64", "vale:s:b,slots=64,vlan=all", "vale:s:c,slots=64"];
    let mut ports = open_all(&names).unwrap();
    let mut ends: Vec<_> = ports.iter_mut().map(|port| (port.take_tx(0).unwrap(), port.take_rx(0).unwrap())).collect();
    let mut send = |from: usize, bytes: &[u8]| {
        let (tx, _) = &mut ends[from];
        let mut batch = tx.ring.reserve(1);
        assert!(batch.put(0, bytes));
        batch.commit(1);
        tx.sync();
        assert_eq!(tx.ring.outstanding(), 0);
        ends.iter_mut()
            .map(|(_, rx)| {
                rx.sync();
                let batch = rx.ring.batch(u32::MAX);
                let n = batch.len();
                batch.release(n);
                n
            })
            .collect::<Vec<_>>()
    };
    assert_eq!(send(0, &frame(ALL, mac(1))), [0, 1, 1]);
    assert_eq!(send(1, &frame(mac(1), mac(2))), [1, 0, 0]);
    assert_eq!(ports[0].link(), Link::Up);
    // A departed port's addresses are forgotten, and it no longer counts.
    drop((ports.remove(0), ends.remove(0)));
    let (tx, rx) = (&mut ends.remove(0).0, &mut ends.remove(0).1);
    for _ in 0..2 {
        let mut batch = tx.ring.reserve(1);
        assert!(batch.put(0, &frame(mac(1), mac(2))));
        batch.commit(1);
        tx.sync();
    }
    rx.sync();
    assert_eq!(rx.ring.available(), 2, "1 has gone, so it is unknown");
    assert_eq!(tx.counters().frames, 3);
}

#[test]
fn wrong_names_and_options_are_named() {
    for (names, word) in [
        (&["vale:s"][..], "names no port"),
        (&["vale:s:a/b"], "no name for a switch"),
        (&["vale:s:a,pause=300"], "mask of 8"),
        (&["vale:s:a,vlan=0"], "list of VLANs"),
        (&["vale:s:a,queues=17"], "queues=17"),
        (&["vale:s:a,slots=64K,buf=64K"], "gigabyte"),
        (&["vale:s:a", "vale:s:a"], "has a port 'a'"),
        (&["vale:nobody-runs-this:a"], "start: linerate switch nobody-runs-this"),
    ] {
        let line = open_all(names).err().unwrap().to_string();
        assert!(line.contains(word) && !line.contains('\n') && line.contains("; "), "{names:?}: {line}");
    }
}

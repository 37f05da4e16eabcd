//! Ports that are joined outside of the switch: found, blocked, opened again, and every frame accounted for.

use super::*;
use std::sync::Arc;

/// A switch that looks for loops, with these ports attached, at some time after its start.
fn bench(names: &[&'static str]) -> Bench {
    let mut b = Bench::plain(names);
    b.switch.find_loops();
    b.now = 100 * SECOND;
    b.poll();
    b
}

/// Carries what has arrived at each of two ports to the other one, as a cable between them would, for some turns;
/// returns the number of frames.
fn turn(b: &mut Bench, one: &str, other: &str, turns: usize) -> usize {
    let mut all = 0;
    for _ in 0..turns {
        for (from, to) in [(one, other), (other, one)] {
            let frames = b.receive(from);
            all += frames.len();
            b.burst(to, &frames);
        }
    }
    all
}

fn blocked(b: &Bench) -> Vec<(String, String)> {
    b.switch.blocked().map(|row| (row.port.to_owned(), row.joined_to.to_owned())).collect()
}

/// Makes a port a program's; the other side of its life goes into `lives`.
fn make_guest(b: &mut Bench, name: &str, lives: &mut Vec<Arc<Side>>) {
    let [near, far] = [0, 1].map(|_| Arc::new(Side::within(1).unwrap()));
    near.hang_up(&far);
    far.hang_up(&near);
    let id = b.switch.find(name).unwrap();
    b.switch.members[usize::from(id)].as_mut().unwrap().life = Some(far);
    lives.push(near);
}

/// Tries for the time of some rounds, with frames in circulation.
fn seconds(b: &mut Bench, n: u64) {
    for _ in 0..n {
        b.now += SECOND;
        b.poll();
    }
}

#[test]
fn of_two_joined_ports_the_higher_is_blocked_until_they_are_parted() {
    let mut b = bench(&["c", "a", "b"]);
    assert!(turn(&mut b, "a", "b", 2) > 0, "probes");
    assert_eq!(blocked(&b), [("b".to_owned(), "a".to_owned())]);
    b.receive("c");
    b.send("c", &frame(ALL, mac(3)));
    b.send("a", &frame(ALL, mac(1)));
    let circulating = turn(&mut b, "a", "b", 50);
    assert!(circulating <= 3, "{circulating} frames: what came from c and a goes round no more");
    assert_eq!(b.receive("c"), [frame(ALL, mac(1))], "once");
    let refused = b.count("b").refused;
    assert!(refused.of(DropReason::Blocked) >= 1 && refused.of(DropReason::Own) >= 1, "{refused:?}");
    // It lasts while they are joined: nothing but probes leaves through the blocked port.
    for _ in 0..30 {
        seconds(&mut b, 1);
        turn(&mut b, "a", "b", 2);
    }
    b.send("c", &frame(ALL, mac(3)));
    assert_eq!((blocked(&b).len(), b.arrived(["a", "b"])), (1, [1, 0]));
    let report = b.switch.ports();
    assert_eq!(report.iter().filter_map(|port| port.blocked.as_deref()).collect::<Vec<_>>(), ["a"]);
    // They are parted.
    for _ in 0..10 {
        seconds(&mut b, 1);
        b.arrived(["a", "b", "c"]);
    }
    assert_eq!(blocked(&b), []);
    b.send("c", &frame(ALL, mac(3)));
    assert_eq!(b.arrived(["a", "b"]), [1, 1]);
    let ledger = b.ledger();
    assert!(ledger.own > 60, "{ledger:?}");
    assert_eq!(ledger.copies + ledger.own, ledger.sent + ledger.dropped.total());
}

/// Stations that were learned behind the wrong port while frames went round are found again.
#[test]
fn addresses_at_both_are_forgotten() {
    let mut b = Bench::plain(&["c", "a", "b"]);
    b.send("c", &frame(ALL, mac(3)));
    turn(&mut b, "a", "b", 1);
    b.send("a", &frame(mac(3), mac(1)));
    assert!(!b.receive("c").contains(&frame(mac(3), mac(1))), "the switch believes that 3 is at b");
    b.switch.find_loops();
    b.now = 100 * SECOND;
    b.poll();
    turn(&mut b, "a", "b", 2);
    seconds(&mut b, 2);
    assert_eq!(blocked(&b).len(), 1);
    b.receive("c");
    b.send("a", &frame(mac(3), mac(1)));
    assert_eq!(b.receive("c"), [frame(mac(3), mac(1))]);
    b.ledger();
}

#[test]
fn programs_get_no_probes_and_block_nobody_but_themselves() {
    let mut b = bench(&["a", "g", "z"]);
    let mut lives = Vec::new();
    make_guest(&mut b, "g", &mut lives);
    b.arrived(["a", "g", "z"]);
    seconds(&mut b, 3);
    assert_eq!(b.arrived(["g"]), [0]);
    // It has seen the probe of a port with a higher number, and sends it.
    let probe = b.receive("z").pop().unwrap();
    b.send("g", &probe);
    assert_eq!(blocked(&b), [("g".to_owned(), "z".to_owned())]);
    assert_eq!(b.count("g").refused.of(DropReason::Own), 1);
    // A probe that comes back by its own port, and one that was changed, close nothing.
    let mut b = bench(&["a", "z"]);
    let probe = b.receive("z").pop().unwrap();
    b.send("z", &probe);
    let mut forged = probe.clone();
    forged[27] = 0;
    b.receive("z");
    b.send("a", &forged);
    assert_eq!((blocked(&b), b.receive("z")), (vec![], vec![forged]), "it is carried, as another switch's");
    b.ledger();
}

#[test]
fn a_probe_waits_for_room_and_a_link_that_is_full_loses_none() {
    let mut b = bench(&["a", "b"]);
    b.receive("b");
    (0..70).for_each(|_| b.send("a", &frame(ALL, mac(1))));
    let own = b.count("b").own;
    seconds(&mut b, 1);
    assert_eq!(b.count("b").own, own, "no room");
    assert_eq!(b.arrived(["b"]), [63]);
    b.poll();
    assert_eq!((b.count("b").own, b.arrived(["b"])), (own + 1, [1]));
    b.ledger();
}

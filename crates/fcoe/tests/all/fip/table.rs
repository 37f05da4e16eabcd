//! The table of neighbours: it ages, and it does not grow.

use crate::fip::node::*;
use linerate_fcoe::{FipDrop, FipEvent};
use linerate_wire::*;

const OURS: [u8; 6] = [2, 0, 0, 0, 0x0e, 2];

/// The port number `i` of a crowd.
fn one_of_many(i: u32) -> Other {
    let [a, b, c, d] = i.to_be_bytes();
    Other::new([6, 0, a, b, c, d], 0x1000 + i % 0xe000)
}

/// Becomes a neighbour, and beacons.
fn arrive(node: &mut Node, other: Other) {
    node.hear(&other.frame(Vn2vnKind::ClaimNotification));
    node.hear(&other.frame(Vn2vnKind::Beacon));
}

#[test]
fn a_neighbour_is_gone_20_s_after_its_last_beacon() {
    // Capture 03: two and a half Beacon periods.
    let mut node = Node::up(&config(OURS));
    let other = Other::new([2, 0, 0, 0, 0, 1], 1);
    arrive(&mut node, other);
    let first = node.now;
    node.run(first + 15 * SECOND);
    node.hear(&other.frame(Vn2vnKind::Beacon));
    node.run(first + 35 * SECOND - 1);
    assert_eq!(node.machine.neighbours().count(), 1);
    let neighbour = *node.machine.neighbour(FcId::new(1)).unwrap();
    assert_eq!(node.events(), [FipEvent::Beacon(neighbour), FipEvent::Beacon(neighbour)]);
    node.run(first + 36 * SECOND);
    assert_eq!(node.told, [(first + 35 * SECOND, FipEvent::Gone(neighbour))]);
    assert_eq!((node.machine.neighbours().count(), node.machine.neighbour(FcId::new(1))), (0, None));

    // Pinned ones too; one of which nothing was told goes untold.
    arrive(&mut node, other);
    assert!(node.machine.pin(FcId::new(1), true) && !node.machine.pin(FcId::new(2), true));
    node.hear(&Other::new([2, 0, 0, 0, 0, 2], 2).frame(Vn2vnKind::ClaimNotification));
    node.events();
    node.run(node.now + 21 * SECOND);
    assert_eq!(node.events(), [FipEvent::Gone(neighbour)]);
    assert_eq!(node.machine.neighbours().count(), 0);
}

#[test]
fn a_claim_is_a_sign_of_life_and_another_ports_beacon_is_none() {
    let mut node = Node::up(&config(OURS));
    let other = Other::new([2, 0, 0, 0, 0, 1], 1);
    arrive(&mut node, other);
    node.events();
    let first = node.now;
    node.run(first + 15 * SECOND);
    node.hear(&other.frame(Vn2vnKind::ClaimNotification));
    // The same identifier and port name, of another node or from another ENode.
    for (node_name, enode_mac) in
        [(Wwn(7), MacAddr(other.mac)), (Wwn::from_mac(0x1000, MacAddr(other.mac)), MacAddr([4; 6]))]
    {
        node.run(node.now + SECOND);
        let beacon = FipVn2vnRepr { node_name, enode_mac, ..other.repr(Vn2vnKind::Beacon) };
        node.hear(&frame(beacon.port.mac, FipFrame::ALL_VN2VN_MACS, &beacon));
    }
    assert_eq!(node.machine.counters().dropped(FipDrop::Inconsistent), 2);
    node.run(first + 35 * SECOND - 1);
    assert!(matches!(node.events()[..], [FipEvent::Claimed(_)]));
    node.run(first + 35 * SECOND);
    assert!(matches!(node.events()[..], [FipEvent::Gone(_)]));
}

#[test]
fn claiming_again_is_being_the_same_and_claiming_elsewhere_is_leaving() {
    let mut node = Node::up(&config(OURS));
    let other = Other::new([2, 0, 0, 0, 0, 1], 1);
    arrive(&mut node, other);
    let neighbour = *node.machine.neighbour(FcId::new(1)).unwrap();
    node.hear(&Other { max_fcoe_size: 1498, ..other }.frame(Vn2vnKind::ClaimNotification));
    assert_eq!(node.machine.neighbour(FcId::new(1)).unwrap().max_fcoe_size, 1498);
    let small = *node.machine.neighbour(FcId::new(1)).unwrap();
    assert_eq!(node.events(), [FipEvent::Beacon(neighbour), FipEvent::Claimed(small)]);

    node.hear(&Other { fc_id: 7, ..other }.frame(Vn2vnKind::ClaimNotification));
    assert_eq!(node.events(), [FipEvent::Gone(small)]);
    assert_eq!(node.machine.neighbours().map(|n| n.fc_id).collect::<Vec<_>>(), [FcId::new(7)]);
}

#[test]
fn an_identifier_changes_hands_before_a_beacon_and_after_its_holder_has_moved() {
    let mut node = Node::up(&config(OURS));
    let [lesser, middle, greater] = [1, 2, 3].map(|last| Other::new([2, 0, 0, 0, 0, last], 1));
    let holder = |node: &Node| node.machine.neighbour(FcId::new(1)).unwrap().enode_mac;
    // Claims that cross: the greater name's is repeated.
    node.hear(&lesser.frame(Vn2vnKind::ClaimNotification));
    node.hear(&middle.frame(Vn2vnKind::ClaimNotification));
    assert_eq!(holder(&node), MacAddr(middle.mac));
    node.hear(&middle.frame(Vn2vnKind::Beacon));
    for other in [lesser, greater] {
        node.hear(&other.frame(Vn2vnKind::ClaimNotification));
        node.hear(&other.frame(Vn2vnKind::Beacon));
    }
    let dropped = |reason| node.machine.counters().dropped(reason);
    assert_eq!((dropped(FipDrop::IdInUse), dropped(FipDrop::Inconsistent)), (2, 2));
    assert_eq!(holder(&node), MacAddr(middle.mac));
    // It gives way itself.
    node.hear(&Other { fc_id: 7, ..middle }.frame(Vn2vnKind::ClaimNotification));
    node.hear(&greater.frame(Vn2vnKind::ClaimNotification));
    assert_eq!(holder(&node), MacAddr(greater.mac));
}

#[test]
fn a_million_beacons_of_invented_ports_change_nothing() {
    let mut node = Node::up(&config(OURS));
    let friend = Other::new([2, 0, 0, 0, 0, 1], 1);
    arrive(&mut node, friend);
    node.events();
    let mut beacon = one_of_many(0).frame(Vn2vnKind::Beacon);
    let claims_before = node.sent.len();
    for i in 0..1_000_000_u32 {
        let [a, b, c, d] = i.to_be_bytes();
        let [e, f] = u16::try_from(0x1000 + i % 0xe000).unwrap().to_be_bytes();
        // MAC, name, identifier and port name of a port of its own.
        beacon[26..32].copy_from_slice(&[6, 0, a, b, c, d]);
        beacon[38..44].copy_from_slice(&[6, 0, a, b, c, d]);
        beacon[58..64].copy_from_slice(&[6, 0, a, b, c, d]);
        for at in [10, 50, 54] {
            beacon[at..at + 2].copy_from_slice(&[e, f]);
        }
        node.now += 1000;
        node.hear(&beacon);
    }
    let counters = node.machine.counters();
    assert_eq!(counters.dropped(FipDrop::Unknown), 1_000_000, "{counters:?}");
    // In the second that this took, three claims.
    assert!(node.sent.len() - claims_before <= 3, "{}", node.sent.len());
    assert_eq!(node.machine.neighbours().map(|n| n.fc_id).collect::<Vec<_>>(), [FcId::new(1)]);
    assert_eq!(node.events(), []);
}

#[test]
fn a_crowd_pushes_out_nobody_who_is_logged_in() {
    let mut node = Node::up(&config(OURS));
    let (silent, friend) = (Other::new([2, 0, 0, 0, 0, 1], 1), Other::new([2, 0, 0, 0, 0, 2], 2));
    node.hear(&silent.frame(Vn2vnKind::ClaimNotification));
    arrive(&mut node, friend);
    assert!(node.machine.pin(FcId::new(1), true) && node.machine.pin(FcId::new(2), true));
    node.events();
    for i in 0..100_000 {
        node.now += 1000;
        node.hear(&one_of_many(i).frame(Vn2vnKind::ClaimNotification));
        node.sent.clear();
        assert!(node.machine.neighbours().count() <= 256);
    }
    assert!(node.machine.neighbour(FcId::new(1)).is_some() && node.machine.neighbour(FcId::new(2)).is_some());
    assert_eq!(node.events(), [], "nobody was told of the crowd");

    // Beacons prove nothing: the oldest gives way, however often it is heard.
    let stays = |node: &Node, id| node.machine.neighbour(FcId::new(id)).is_some();
    for i in 0..600 {
        node.now += 1000;
        arrive(&mut node, one_of_many(i));
        node.hear(&one_of_many(0).frame(Vn2vnKind::Beacon));
        assert_eq!(stays(&node, 0x1000), i < 254, "{i}");
    }
    assert!(stays(&node, 1) && stays(&node, 2) && stays(&node, 0x1000 + 599));
    assert_eq!((node.machine.neighbours().count(), node.machine.counters().dropped(FipDrop::TableFull)), (256, 0));
    // Where all are logged in, no more fit.
    (346..600).for_each(|i| assert!(node.machine.pin(FcId::new(0x1000 + i), true), "{i}"));
    node.hear(&one_of_many(600).frame(Vn2vnKind::ClaimNotification));
    assert_eq!(node.machine.counters().dropped(FipDrop::TableFull), 1);
    node.events();
    node.run(node.now + 21 * SECOND);
    assert_eq!(node.machine.neighbours().count(), 0, "all age");
    let pinned = |event: &FipEvent| matches!(event, FipEvent::Gone(neighbour) if neighbour.fc_id == FcId::new(1));
    assert_eq!(node.events().iter().filter(|event| pinned(event)).count(), 1, "who pinned it is told");
}

/// Regression: one that answers was known to be there only until others came, and logged in to 8 s later, when it was forgotten.
#[test]
fn who_answers_in_a_crowd_is_told_of_at_once() {
    let mut node = Node::up(&config(OURS));
    let friend = Other::new([2, 0, 0, 0, 0, 1], 1);
    node.run(3 * SECOND);
    node.hear(&friend.frame(Vn2vnKind::ClaimResponse));
    assert_eq!(node.events(), [], "there is room until its next Beacon");
    (0..256).for_each(|i| node.hear(&one_of_many(i).frame(Vn2vnKind::ClaimNotification)));
    assert_eq!(node.machine.neighbour(FcId::new(1)), None);
    node.sent.clear();
    node.hear(&friend.frame(Vn2vnKind::Beacon));
    assert!(node.take().iter().any(|heard| heard.code == FipCode::CLAIM_NOTIFICATION), "it is asked");
    for _ in 0..2 {
        node.hear(&friend.frame(Vn2vnKind::ClaimResponse));
    }
    let neighbour = *node.machine.neighbour(FcId::new(1)).unwrap();
    assert_eq!(node.events(), [FipEvent::Answered(neighbour)]);
}

#[test]
fn events_that_nobody_takes_are_bounded_and_counted() {
    let mut machine = linerate_fcoe::Vn2vn::new(&config(OURS));
    let mut out = Recorder::default();
    machine.set_link(0, true);
    while machine.own().is_none() {
        machine.poll(machine.poll_timeout().unwrap(), &mut out);
    }
    let other = Other::new([2, 0, 0, 0, 0, 1], 1);
    machine.handle(2 * SECOND, &other.frame(Vn2vnKind::ClaimNotification), &mut out);
    for _ in 0..10_000 {
        machine.handle(2 * SECOND, &other.frame(Vn2vnKind::Beacon), &mut out);
    }
    // Events that must not be lost still have room.
    machine.set_link(3 * SECOND, false);
    let events: Vec<_> = std::iter::from_fn(|| machine.poll_event()).collect();
    let lost = machine.counters().dropped(FipDrop::EventsFull);
    assert_eq!(u64::try_from(events.len()).unwrap() + lost, 10_002);
    assert!(events.len() < 1000 && events.last() == Some(&FipEvent::Down));

    // Even those: a neighbour that moves on and on.
    machine.set_link(3 * SECOND, true);
    while machine.own().is_none() {
        machine.poll(machine.poll_timeout().unwrap(), &mut out);
    }
    for fc_id in 1..5000 {
        machine.handle(5 * SECOND, &Other { fc_id, ..other }.frame(Vn2vnKind::ClaimNotification), &mut out);
        machine.pin(FcId::new(fc_id), true);
        out.frames.clear();
    }
    assert_eq!(std::iter::from_fn(|| machine.poll_event()).count(), 1024);
}

//! One name or identifier and two stations: who has it keeps it, until it leaves or is silent for 20 s.

use crate::fip::node::*;
use crate::fip::pairs::Ethernet;
use linerate_fcoe::{FipConfig, FipDrop, FipEvent, Identity, RefusedClaim};
use linerate_wire::*;

const OURS: [u8; 6] = [2, 0, 0, 0, 0x0e, 2];
/// The station that comes second.
const SECOND_STATION: MacAddr = MacAddr([2, 0, 0, 0, 0, 0x99]);
const KINDS: [Vn2vnKind; 5] = [
    Vn2vnKind::ProbeRequest,
    Vn2vnKind::ProbeReply,
    Vn2vnKind::ClaimNotification,
    Vn2vnKind::ClaimResponse,
    Vn2vnKind::Beacon,
];

/// A port of another ENode, in all else as `other`.
fn twin(other: Other, kind: Vn2vnKind) -> Vec<u8> {
    let repr = FipVn2vnRepr { enode_mac: SECOND_STATION, ..other.repr(kind) };
    frame(if kind == Vn2vnKind::Beacon { repr.port.mac } else { SECOND_STATION }, other.dst, &repr)
}

/// The same name from another MAC address.
fn second(first: FipConfig) -> FipConfig {
    FipConfig { mac: SECOND_STATION, seed: 9, ..first }
}

#[test]
fn a_second_station_of_our_name_takes_nothing_from_us() {
    let mut node = Node::up(&config(OURS));
    let own = node.machine.own();
    for fc_id in [0x0e02, 7] {
        for kind in KINDS {
            node.hear(&twin(Other::new(OURS, fc_id), kind));
            let answer = match kind {
                Vn2vnKind::ProbeRequest => Some(FipCode::PROBE_REPLY),
                Vn2vnKind::ClaimNotification => Some(FipCode::CLAIM_RESPONSE),
                _ => None,
            };
            let sent = node.take();
            assert_eq!(sent.iter().map(|heard| heard.code).collect::<Vec<_>>(), Vec::from_iter(answer), "{kind:?}");
            assert!(sent.iter().all(|heard| heard.dst == SECOND_STATION));
        }
    }
    node.run(node.now + 30 * SECOND);
    let what = Identity::Name(config(OURS).wwpn);
    let refused = RefusedClaim { what, holder: MacAddr(OURS), claimant: SECOND_STATION };
    assert_eq!((node.machine.own(), node.events()), (own, vec![FipEvent::Refused(refused)]));
    assert_eq!(node.machine.counters().dropped(FipDrop::SameName), 10);
}

#[test]
fn a_neighbours_name_and_identifier_are_refused_to_another_station() {
    // The neighbour's name with and without its identifier; its identifier under a greater name.
    let first = Other::new([2, 0, 0, 0, 0, 1], 1);
    let greater = Other::new([6, 0, 0, 0, 0, 1], 1);
    for pinned in [false, true] {
        let mut node = Node::up(&config(OURS));
        node.hear(&first.frame(Vn2vnKind::ClaimNotification));
        node.hear(&first.frame(Vn2vnKind::Beacon));
        node.machine.pin(FcId::new(1), pinned);
        let known = *node.machine.neighbour(FcId::new(1)).unwrap();
        let what = Identity::Name(known.wwpn);
        let refused = RefusedClaim { what, holder: known.enode_mac, claimant: SECOND_STATION };
        node.events();
        for kind in KINDS {
            node.hear(&twin(first, kind));
            node.hear(&twin(Other { fc_id: 7, ..first }, kind));
            node.hear(&greater.frame(kind));
        }
        assert_eq!(node.events(), [FipEvent::Refused(refused)], "one in 20 s");
        assert_eq!(node.machine.neighbours().collect::<Vec<_>>(), [&known]);
        let dropped = |reason| node.machine.counters().dropped(reason);
        assert_eq!((dropped(FipDrop::NameInUse), dropped(FipDrop::IdInUse)), (4, 2));

        // Another claimant is told of 20 s later; the neighbour lives as long as it is heard itself.
        node.run(node.now + 19 * SECOND);
        node.hear(&first.frame(Vn2vnKind::Beacon));
        node.run(node.now + SECOND);
        node.hear(&greater.frame(Vn2vnKind::ClaimNotification));
        let what = Identity::Id(FcId::new(1));
        let refused = RefusedClaim { what, holder: known.enode_mac, claimant: MacAddr(greater.mac) };
        assert_eq!(node.events(), [FipEvent::Beacon(known), FipEvent::Refused(refused)]);
        assert!(
            refused.to_string().starts_with("N_Port_ID 000001 belongs to MAC 02:00:00:00:00:01: refused to MAC 06")
        );
    }
}

#[test]
fn a_station_that_moves_on_takes_its_name_along() {
    let first = Other::new([2, 0, 0, 0, 0, 1], 1);
    let mut node = Node::up(&config(OURS));
    node.hear(&first.frame(Vn2vnKind::ClaimNotification));
    node.hear(&first.frame(Vn2vnKind::Beacon));
    node.hear(&Other { fc_id: 7, ..first }.frame(Vn2vnKind::ClaimNotification));
    assert_eq!(node.machine.neighbours().map(|known| known.fc_id).collect::<Vec<_>>(), [FcId::new(7)]);
    // What it left is free, its name is not.
    node.hear(&Other::new([2, 0, 0, 0, 0, 3], 1).frame(Vn2vnKind::ClaimNotification));
    assert!(node.machine.neighbour(FcId::new(1)).is_some());
    node.hear(&twin(Other { fc_id: 9, ..first }, Vn2vnKind::ClaimNotification));
    assert_eq!(node.machine.counters().dropped(FipDrop::NameInUse), 1);
}

/// A logout or a login of a port inside FIP.
fn els(kind: FipElsKind, from: Other, src: MacAddr) -> Vec<u8> {
    let s_id = FcId::new(from.fc_id);
    let header = FcHeader {
        r_ctl: r_ctl::ELS_REQUEST,
        d_id: FcId::new(0x0e02),
        s_id,
        fc_type: FcType::ELS,
        ..FcHeader::parse(&[0; 24]).unwrap()
    };
    let mac = Some(s_id.mac(FipFrame::VN2VN_FC_MAP));
    let repr = FipElsRepr { kind, reply: false, flags: FipFlags::default(), header, payload: &[0; 16], mac };
    let mut bytes = vec![0; 14 + repr.buffer_len()];
    let rest = EthernetRepr { dst: MacAddr(OURS), src, ethertype: EtherType::FIP }.emit(&mut bytes).unwrap();
    repr.emit(rest).unwrap();
    bytes
}

#[test]
fn a_logout_frees_a_name_if_it_is_the_holders_own() {
    let first = Other::new([2, 0, 0, 0, 0, 1], 1);
    let own = MacAddr(first.mac);
    for (said, freed) in [
        (vec![], false),
        (vec![els(FipElsKind::Logo, first, SECOND_STATION)], false),
        (vec![els(FipElsKind::Logo, first, own)], true),
        (vec![els(FipElsKind::Logo, first, own), els(FipElsKind::Flogi, first, own)], false),
        (vec![els(FipElsKind::Logo, first, own), first.frame(Vn2vnKind::Beacon)], false),
        (vec![els(FipElsKind::Logo, first, own), first.frame(Vn2vnKind::ClaimNotification)], false),
    ] {
        let mut node = Node::up(&config(OURS));
        node.hear(&first.frame(Vn2vnKind::ClaimNotification));
        node.hear(&first.frame(Vn2vnKind::Beacon));
        said.iter().for_each(|frame| node.hear(frame));
        node.hear(&twin(first, Vn2vnKind::ClaimNotification));
        let holder = node.machine.neighbour(FcId::new(1)).unwrap().enode_mac;
        assert_eq!(holder == SECOND_STATION, freed, "{} frames", said.len());
    }
}

#[test]
fn a_newcomer_learns_that_its_name_is_in_use_and_disturbs_nobody() {
    let (first, other) = (config([2, 0, 0, 0, 0, 1]), config([2, 0, 0, 0, 0, 2]));
    for start in [3000, 4700, 8300] {
        for lost in 0..4 {
            let mut ethernet = Ethernet::new(&[first, other, second(first)]);
            (0..2).for_each(|node| ethernet.link(node, true));
            ethernet.run(start * MS);
            // The answers to its first frames may be lost, and the last ones tell it.
            let mut left = lost;
            ethernet.lost = Box::new(move |from, heard, _| {
                let answer = from == 0 && heard.dst == SECOND_STATION && left > 0;
                left -= usize::from(answer);
                answer
            });
            ethernet.link(2, true);
            ethernet.run(60 * SECOND);
            let told = |node: usize, wanted: fn(&FipEvent) -> bool| {
                ethernet.nodes[node].told.iter().filter(|(_, event)| wanted(event)).count()
            };
            let lasting = |event: &FipEvent| matches!(event, FipEvent::Down | FipEvent::Gone(_));
            assert_eq!((told(0, lasting), told(1, lasting)), (0, 0), "start {start}, {lost} lost");
            if lost < 3 {
                assert!(ethernet.nodes[2].machine.own().is_none());
                assert_eq!(told(2, |event| *event == FipEvent::NameInUse(MacAddr([2, 0, 0, 0, 0, 1]))), 1);
            }
            assert_eq!(told(0, |event| matches!(event, FipEvent::Refused(_))), 1);
        }
    }
}

/// Two stations that have all in common, as two processes with the same options: the second one yields, and both say so.
#[test]
fn a_second_station_of_our_name_and_address_is_told_apart() {
    let (first, other) = (config([2, 0, 0, 0, 0, 1]), config([2, 0, 0, 0, 0, 2]));
    for start in [500, 700, 950, 3000, 4700, 8300] {
        let mut ethernet = Ethernet::new(&[first, other, FipConfig { seed: 9, ..first }]);
        (0..2).for_each(|node| ethernet.link(node, true));
        ethernet.run(start * MS);
        ethernet.link(2, true);
        ethernet.run(60 * SECOND);
        let told = |node: usize, wanted: &dyn Fn(&FipEvent) -> bool| {
            ethernet.nodes[node].told.iter().filter(|(_, event)| wanted(event)).count()
        };
        let lasting = |event: &FipEvent| matches!(event, FipEvent::Down | FipEvent::Gone(_));
        assert_eq!((told(0, &lasting), told(1, &lasting)), (0, 0), "start {start}");
        let what = Identity::Name(first.wwpn);
        let refused = RefusedClaim { what, holder: first.mac, claimant: first.mac };
        // A claim that is heard while it probes is enough for it to yield without a word to the other one.
        if start > 1000 {
            assert_eq!(told(0, &|event| *event == FipEvent::Refused(refused)), 1, "start {start}");
        }
        assert_eq!(told(2, &|event| *event == FipEvent::NameInUse(first.mac)), 1, "start {start}");
        assert!(ethernet.nodes[2].machine.own().is_none());
    }
}

/// Each of two stations that have one MAC address and names of their own tells of the other, once.
#[test]
fn a_station_with_our_address_and_another_name_is_told() {
    let (mut here, mut there) = (config([2, 0, 0, 0, 0, 1]), config([2, 0, 0, 0, 0, 2]));
    there.mac = here.mac;
    for swapped in [false, true] {
        let mut ethernet = Ethernet::new(&[here, there]);
        ethernet.link(0, true);
        ethernet.run(5 * SECOND);
        ethernet.link(1, true);
        ethernet.run(40 * SECOND);
        for (node, other) in [(0, there), (1, here)] {
            let refused = RefusedClaim { what: Identity::Mac(other.wwpn), holder: here.mac, claimant: here.mac };
            let told =
                ethernet.nodes[node].told.iter().filter(|(_, event)| *event == FipEvent::Refused(refused)).count();
            assert_eq!(told, 1, "{swapped} {node}");
            assert!(refused.to_string().contains(&other.wwpn.to_string()) && refused.to_string().contains("--mac"));
        }
        (here, there) = (there, here);
    }
}

/// A network that sends our own frames back to us.
#[test]
fn an_echo_is_no_second_station() {
    let mut node = Node::new(&config(OURS));
    node.link(true);
    while node.now < 40 * SECOND {
        node.run(node.machine.poll_timeout().unwrap());
        for frame in std::mem::take(&mut node.sent) {
            node.now += 3 * MS;
            node.hear(&frame.bytes);
            assert!(node.sent.is_empty());
        }
    }
    assert!(matches!(node.events()[..], [FipEvent::Up { .. }]));
}

#[test]
fn a_new_mac_address_gets_the_name_of_a_station_that_is_silent() {
    let (first, other) = (config([2, 0, 0, 0, 0, 1]), config([2, 0, 0, 0, 0, 2]));
    let mut ethernet = Ethernet::new(&[first, other, second(first)]);
    (0..2).for_each(|node| ethernet.link(node, true));
    ethernet.run(12 * SECOND);
    // Its host is dead, and starts again with another adapter.
    ethernet.link(0, false);
    ethernet.lost = Box::new(|from, _, _| from == 0);
    ethernet.link(2, true);
    ethernet.run(40 * SECOND);
    assert!(ethernet.nodes[2].machine.own().is_some());
    let told: Vec<_> =
        ethernet.nodes[1].told.iter().filter(|(_, event)| !matches!(event, FipEvent::Up { .. })).collect();
    let at = |wanted: &dyn Fn(&FipEvent) -> bool| told.iter().position(|(_, event)| wanted(event)).unwrap();
    let refused = at(&|event| matches!(event, FipEvent::Refused(_)));
    let gone = at(&|event| matches!(event, FipEvent::Gone(old) if old.enode_mac != SECOND_STATION));
    let found = at(&|event| matches!(event, FipEvent::Beacon(new) if new.enode_mac == SECOND_STATION));
    assert!(refused < gone && gone < found && told[found].0 < 40 * SECOND, "{told:?}");
}

#[test]
fn of_two_that_start_at_once_under_one_name_one_gets_it() {
    let first = config([2, 0, 0, 0, 0, 1]);
    for seed in 0..200 {
        let mut ethernet = Ethernet::new(&[FipConfig { seed, ..first }, FipConfig { seed: seed + 7, ..second(first) }]);
        (0..2).for_each(|node| ethernet.link(node, true));
        ethernet.run(60 * SECOND);
        assert_eq!(ethernet.nodes.iter().filter(|node| node.machine.own().is_some()).count(), 1, "seed {seed}");
        assert!(ethernet.all.len() < 60, "{}", ethernet.all.len());
    }
}

//! The captures, with our machine in the place of one of the kernels: it hears what that kernel heard, when it heard it,
//! and sends what that kernel sent. What the login side of the kernel sent inside FIP is handed to ours at its time.

use crate::fip::capture;
use crate::fip::node::*;
use linerate_fcoe::{FipConfig, FipEvent, Role};
use linerate_wire::*;

const TARGET: [u8; 6] = [0x52, 0x54, 0, 0xfc, 0x0e, 2];
const INITIATOR: [u8; 6] = [0x52, 0x54, 0, 0xfc, 0x0e, 1];
/// The initiator of capture 03, whose name ends as the target's.
const RIVAL: [u8; 6] = [0x52, 0x54, 0, 0xfd, 0x0e, 2];

/// Fields of a frame to compare: all but the other FC-4 types of a claim (the kernel also names CT, ours FCP alone).
fn meaning(heard: &Heard) -> impl PartialEq + std::fmt::Debug + use<> {
    let discovery = heard.discovery.map(|repr| {
        let claim = repr.claim.map(|claim| (claim.features.fcp(), claim.max_fcoe_size));
        (FipVn2vnRepr { claim: None, ..repr }, claim)
    });
    let link_service = if heard.code.protocol == 2 { heard.bytes.clone() } else { Vec::new() };
    (heard.src, heard.dst, heard.vlan, heard.code, heard.flags, discovery, heard.bytes.len(), link_service)
}

/// Replays a capture as `config`'s node, whose link goes down at `bounce` if it does. `late` is how much later than its
/// timers the kernel in its emulator was at worst.
fn replay(number: &str, config: FipConfig, bounce: Option<u64>, late: u64) -> Node {
    let mut all: Vec<_> = capture::golden(number).iter().filter_map(Heard::of).collect();
    // Two taps saw some frames of capture 13 twice.
    all.dedup_by(|b, a| a.bytes == b.bytes && b.at - a.at < MS);
    let (ours, theirs): (Vec<_>, Vec<_>) = all.into_iter().partition(|frame| frame.enode == config.mac);
    let end = ours.last().unwrap().at + 50 * MS;

    // Time zero of the node is 1 s before the capture's, so that it may begin before the first frame; its first Probe
    // Request then goes out when the kernel's did.
    let shift = SECOND;
    let mut node = Node::new(&config);
    node.link(true);
    let delay = node.machine.poll_timeout().unwrap();
    assert!(delay < 100 * MS);
    let mut node = Node::new(&config);
    let first = ours[0].at + shift - delay;

    let again = bounce.map(|at| ours.iter().find(|frame| frame.at > at).unwrap().at - 100 * MS);
    let mut steps: Vec<(u64, Step<'_>)> = vec![(first, Step::Link(true))];
    steps.extend(theirs.iter().map(|frame| (frame.at + shift, Step::Hear(frame))));
    steps.extend(
        ours.iter().filter(|frame| frame.code.protocol == 2).map(|frame| (frame.at + shift, Step::Send(frame))),
    );
    steps.extend(bounce.map(|at| (at + shift, Step::Link(false))));
    steps.extend(again.map(|at| (at + shift, Step::Link(true))));
    steps.sort_by_key(|(at, _)| *at);
    for (at, step) in steps.into_iter().filter(|(at, _)| *at <= end + shift) {
        node.run(at);
        match step {
            Step::Hear(frame) => node.hear(&frame.bytes),
            Step::Link(up) => node.link(up),
            Step::Send(frame) => {
                let at = if frame.vlan.is_some() { 18 } else { 14 };
                let fip = FipFrame::new_checked(&frame.bytes[at..]).unwrap();
                let repr = FipElsRepr::parse(&fip).unwrap();
                let Node { machine, out, .. } = &mut node;
                assert!(machine.send_els(frame.dst, repr.kind, &repr.header, repr.payload, out), "{frame:?}");
                node.gather();
            }
        }
    }
    node.run(end + shift);

    let mut sent: Vec<_> = node.sent.iter().map(|frame| Heard::of(frame).unwrap()).collect();
    sent.iter_mut().for_each(|frame| frame.at -= shift);
    let beacons = |frames: &[Heard]| -> (Vec<Heard>, Vec<Heard>) {
        frames.iter().cloned().partition(|frame| frame.code == FipCode::BEACON)
    };
    let ((our_beacons, our_rest), (beacons, rest)) = (beacons(&sent), beacons(&ours));

    assert_eq!(our_rest.len(), rest.len(), "{number}: {our_rest:#?}\n{rest:#?}");
    for (our, its) in our_rest.iter().zip(&rest) {
        assert_eq!(meaning(our), meaning(its), "{number}: at {} and {}", our.at, its.at);
        assert!(our.at.abs_diff(its.at) <= late, "{number}: {:?} at {} and {}", our.code, our.at, its.at);
    }
    // The kernel's timer is coarse: its Beacons are 8.19 s apart, ours at most 8.1 s.
    let most = beacons.len() + beacons.len() / 20 + 1;
    assert!((beacons.len()..=most).contains(&our_beacons.len()), "{number}: {}", our_beacons.len());
    for (at, its) in beacons.iter().enumerate() {
        assert_eq!(meaning(&our_beacons[at]), meaning(its), "{number}");
        let late = late + u64::try_from(at).unwrap() * SECOND;
        assert!(our_beacons[at].at.abs_diff(its.at) <= late, "{number}: Beacon {at}");
    }
    node
}

enum Step<'a> {
    Hear(&'a Heard),
    Send(&'a Heard),
    Link(bool),
}

fn target() -> FipConfig {
    config(TARGET)
}

fn initiator(mac: [u8; 6]) -> FipConfig {
    FipConfig { role: Role { target: false, initiator: true }, ..config(mac) }
}

/// Times of the capture at which events were told that `wanted` wants.
fn when(node: &Node, wanted: impl Fn(&FipEvent) -> bool) -> Vec<u64> {
    node.told.iter().filter(|(_, event)| wanted(event)).map(|(at, _)| at - SECOND).collect()
}

#[test]
fn capture_01_discovery_and_login_as_either_side() {
    let node = replay("01", target(), None, 100 * MS);
    // The initiator's first Beacon makes the target log in.
    assert_eq!(when(&node, |event| matches!(event, FipEvent::Beacon(n) if n.fc_id == FcId::new(0x0e01))).len(), 1);
    let neighbour = *node.machine.neighbour(FcId::new(0x0e01)).unwrap();
    assert_eq!((neighbour.wwpn, neighbour.wwnn), (Wwn(0x2000_5254_00fc_0e01), Wwn(0x1000_5254_00fc_0e01)));
    assert_eq!((neighbour.mac, neighbour.enode_mac), (MacAddr([0x0e, 0xfd, 0, 0, 0x0e, 1]), MacAddr(INITIATOR)));
    assert_eq!((neighbour.role, neighbour.max_fcoe_size), (Role { target: false, initiator: true }, 2158));
    let FipEvent::Els { kind, from, header, payload, mac, .. } = &node.told.last().unwrap().1 else {
        panic!("{:?}", node.told)
    };
    assert_eq!((*kind, *from, header.r_ctl, payload[0]), (FipElsKind::Flogi, Some(neighbour), r_ctl::ELS_REPLY, 2));
    assert_eq!((payload.len(), *mac), (116, Some(neighbour.mac)));

    let node = replay("01", initiator(INITIATOR), None, 100 * MS);
    let both = Role { target: true, initiator: true };
    assert_eq!(node.machine.neighbours().map(|n| (n.fc_id, n.role)).collect::<Vec<_>>(), [(FcId::new(0x0e02), both)]);
    let flogi = when(&node, |event| matches!(event, FipEvent::Els { kind: FipElsKind::Flogi, from: Some(_), .. }));
    assert_eq!(flogi, [6_047_545_000]);
}

#[test]
fn capture_03_conflict_as_either_side() {
    // The target answers the rival's Probe Request, and is told when the rival has been silent for 20 s.
    let node = replay("03", target(), None, 200 * MS);
    let gone = when(&node, |event| matches!(event, FipEvent::Gone(n) if n.fc_id == FcId::new(0x78df)));
    let [gone] = gone[..] else { panic!("{gone:?}") };
    assert_eq!(gone, 5_193_548_000 + 20 * SECOND, "the kernel logs it out at 25.336 s");

    // The rival takes the Probe Reply and tries the identifier that the kernel tried.
    let node = replay("03", initiator(RIVAL), None, 200 * MS);
    assert_eq!(node.machine.own(), Some((FcId::new(0x78df), MacAddr([0x0e, 0xfd, 0, 0, 0x78, 0xdf]))));
    assert_eq!(node.machine.counters().conflicts, 1);
}

#[test]
fn capture_07_link_bounce_as_either_side() {
    let node = replay("07", initiator(INITIATOR), Some(6 * SECOND), 200 * MS);
    let ups = when(&node, |event| matches!(event, FipEvent::Up { fc_id, .. } if *fc_id == FcId::new(0x0e01)));
    let downs = when(&node, |event| *event == FipEvent::Down);
    assert_eq!((ups.len(), downs), (2, vec![6 * SECOND]));

    // The target sees a neighbour claim anew what it had: the same neighbour.
    let node = replay("07", target(), None, 200 * MS);
    assert_eq!(when(&node, |event| matches!(event, FipEvent::Gone(_))), []);
    assert_eq!(node.machine.neighbours().count(), 1);
}

#[test]
fn capture_08_silence_as_either_side() {
    let node = replay("08", initiator(INITIATOR), None, SECOND);
    let gone = when(&node, |event| matches!(event, FipEvent::Gone(n) if n.fc_id == FcId::new(0x0e02)));
    assert_eq!(gone, [27_897_385_000 + 20 * SECOND], "the kernel logs it out at 47.900 s");
    replay("08", target(), None, SECOND);
}

#[test]
fn capture_10_one_in_point_to_point_mode_is_told_that_this_is_multipoint() {
    let node = replay("10", target(), None, 200 * MS);
    assert_eq!(node.machine.neighbours().count(), 0);
    assert_eq!(when(&node, |event| *event == FipEvent::Down), []);
}

#[test]
fn capture_11_a_greater_name_takes_the_identifier() {
    let node = replay("11", target(), None, 200 * MS);
    assert_eq!(when(&node, |event| *event == FipEvent::Down), [9_651_587_000]);
    assert_eq!(node.machine.own().map(|(fc_id, _)| fc_id), Some(FcId::new(0x1b65)));
}

#[test]
fn capture_13_on_a_vlan_as_either_side() {
    let vlan = Some(VlanTag::new(0, false, 100).unwrap());
    let node = replay("13", FipConfig { vlan, ..target() }, None, 200 * MS);
    assert_eq!(when(&node, |event| matches!(event, FipEvent::Gone(_))), [3_833_718_000 + 20 * SECOND]);
    replay("13", FipConfig { vlan, ..initiator(INITIATOR) }, None, 200 * MS);
}

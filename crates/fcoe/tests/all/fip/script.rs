//! One port and what is said to it, rule by rule (FC-BB-6, clause 7, VN2VN: N_Port_ID selection, conflicts, Beacons, and
//! their times).

use crate::fip::capture;
use crate::fip::node::*;
use linerate_fcoe::{FipConfig, FipDrop, FipEvent, FipMode, Role, told_vlans, vlan_discovery};
use linerate_wire::*;

const OURS: [u8; 6] = [2, 0, 0, 0, 0x0e, 2];
/// Of a lesser and a greater name than ours.
const LESSER: [u8; 6] = [2, 0, 0, 0, 0x0e, 1];
const GREATER: [u8; 6] = [2, 0, 0, 0, 0x0e, 3];
const ID: u32 = 0x0e02;

fn codes(heard: &[Heard]) -> Vec<FipCode> {
    heard.iter().map(|frame| frame.code).collect()
}

/// A node in each state of its way up, and which: its link came up, it sent one Probe Request, two, its Claim, a Beacon.
fn on_the_way() -> [Node; 5] {
    std::array::from_fn(|sent| {
        let mut node = Node::new(&config(OURS));
        node.link(true);
        while node.sent.len() < sent {
            node.run(node.machine.poll_timeout().unwrap());
        }
        if sent > 0 {
            node.run(node.now + MS);
        }
        node.sent.clear();
        node.told.clear();
        node
    })
}

/// True if the node silently chose another identifier.
fn yielded(node: &mut Node) -> bool {
    let silent = node.take().is_empty();
    node.run(node.now + 100 * MS);
    let probe = &node.take()[0];
    silent && probe.code == FipCode::PROBE_REQUEST && probe.fc_id() != FcId::new(ID)
}

#[test]
fn alone_a_port_probes_twice_claims_and_beacons() {
    for seed in 0..20 {
        let mut node = Node::new(&FipConfig { seed, ..config(OURS) });
        node.run(SECOND);
        assert_eq!((node.machine.poll_timeout(), node.machine.own()), (None, None));
        node.link(true);
        node.run(100 * SECOND);
        let sent = node.take();
        assert!((SECOND..SECOND + 100 * MS).contains(&sent[0].at), "a random delay below 100 ms");
        let waits: Vec<_> = sent.windows(2).map(|pair| pair[1].at - pair[0].at).collect();
        assert_eq!(waits[..4], [100 * MS, 400 * MS, 400 * MS, 400 * MS]);
        assert!(waits[4..].iter().all(|wait| (8000 * MS..8100 * MS).contains(wait)), "{waits:?}");
        let mut fuzz = waits[4..].to_vec();
        fuzz.dedup();
        assert!(fuzz.len() > 5, "Beacons of many ports spread: {fuzz:?}");

        let (probe, claim, beacon) = (FipCode::PROBE_REQUEST, FipCode::CLAIM_NOTIFICATION, FipCode::BEACON);
        assert_eq!(codes(&sent)[..5], [probe, probe, claim, beacon, beacon]);
        assert!(codes(&sent)[5..].iter().all(|code| *code == beacon));
        let mac = MacAddr([0x0e, 0xfd, 0, 0, 0x0e, 2]);
        for frame in &sent {
            let from = if frame.code == beacon { mac } else { MacAddr(OURS) };
            assert_eq!((frame.src, frame.dst, frame.flags.0), (from, FipFrame::ALL_VN2VN_MACS, 0));
            assert_eq!(frame.bytes.len(), if frame.code == claim { 232 } else { 64 });
        }
        assert_eq!(node.told, [(sent[3].at, FipEvent::Up { fc_id: FcId::new(ID), mac })]);
        assert_eq!(node.machine.own(), Some((FcId::new(ID), mac)));
        assert_eq!(node.machine.counters().sent, sent.len() as u64);
    }
}

#[test]
fn delays_differ_with_the_seed() {
    let delays: std::collections::BTreeSet<_> = (0..100)
        .map(|seed| {
            let mut node = Node::new(&FipConfig { seed, ..config(OURS) });
            node.link(true);
            node.machine.poll_timeout().unwrap()
        })
        .collect();
    assert!(delays.len() > 95 && delays.iter().all(|delay| *delay < 100 * MS));
    assert!(*delays.first().unwrap() < 10 * MS && *delays.last().unwrap() > 90 * MS);
}

#[test]
fn a_claim_tells_what_the_port_is() {
    for (target, initiator, bits) in [(true, false, 1), (false, true, 2), (true, true, 3), (false, false, 0)] {
        let role = Role { target, initiator };
        let mut node = Node::new(&FipConfig { role, max_fcoe_size: 1498, ..config(OURS) });
        node.link(true);
        node.run(SECOND);
        let claim = node.take()[2].discovery.unwrap().claim.unwrap();
        assert_eq!((claim.features, claim.max_fcoe_size), (Fc4Features::of_fcp(bits), 1498));
    }
}

#[test]
fn a_probe_for_what_we_have_or_ask_for_is_answered_or_makes_us_yield() {
    // In each state: whether a Probe Request of a lesser name, of a greater, and of a lesser with REC is replied to.
    let replies = [[false; 3], [true, false, false], [true, false, false], [true; 3], [true; 3]];
    for (state, wanted) in replies.into_iter().enumerate() {
        for (who, replied) in [(LESSER, false), (GREATER, false), (LESSER, true)].into_iter().zip(wanted) {
            let ((mac, recorded), mut node) = (who, on_the_way().into_iter().nth(state).unwrap());
            let flags = if recorded { FipFlags::REC_P2P } else { FipFlags::default() };
            node.hear(&Other { flags, ..Other::new(mac, ID) }.frame(Vn2vnKind::ProbeRequest));
            if replied {
                // Captures 03, 10 and 11: to the ENode that asks, without REC, about our own port.
                let [reply] = &node.take()[..] else { panic!("state {state}") };
                assert_eq!((reply.code, reply.dst, reply.src), (FipCode::PROBE_REPLY, MacAddr(mac), MacAddr(OURS)));
                let port = reply.discovery.unwrap().port;
                assert_eq!((port.fc_id, port.name, reply.flags.0), (FcId::new(ID), config(OURS).wwpn, 0));
                assert_eq!(node.machine.counters().conflicts, 0);
            } else {
                assert!(yielded(&mut node), "state {state}");
            }
        }
    }
}

#[test]
fn in_point_to_point_mode_the_flag_is_no_record() {
    // One bit is REC in multipoint mode and P2P here, where the greater name has what both ask for.
    for (mac, replied) in [(LESSER, true), (GREATER, false)] {
        let mut node = Node::new(&FipConfig { mode: FipMode::PointToPoint, ..config(OURS) });
        node.link(true);
        node.run(node.machine.poll_timeout().unwrap());
        node.take();
        let other = Other { flags: FipFlags::REC_P2P, dst: FipFrame::ALL_PT2PT_MACS, ..Other::new(mac, ID) };
        node.hear(&other.frame(Vn2vnKind::ProbeRequest));
        let answers = node.take();
        assert_eq!(codes(&answers), if replied { vec![FipCode::PROBE_REPLY] } else { vec![] });
        assert!(answers.iter().all(|reply| reply.flags == FipFlags::REC_P2P && reply.dst == MacAddr(mac)));
        assert_eq!(node.machine.counters().conflicts, u64::from(!replied));
        assert_eq!(node.machine.mode(), FipMode::PointToPoint);
    }
}

#[test]
fn who_expects_one_other_is_content_with_one_of_its_kind_only() {
    // FC-BB-6, VN2VN point-to-point: a group and a flag of its own; with a second other, or one in the other mode, it goes on
    // as multipoint.
    let paired =
        |mac, fc_id| Other { flags: FipFlags::REC_P2P, dst: FipFrame::ALL_PT2PT_MACS, ..Other::new(mac, fc_id) };
    let lonely = || {
        let mut node = Node::new(&FipConfig { mode: FipMode::PointToPoint, ..config(OURS) });
        node.link(true);
        node.run(1900 * MS);
        let sent = node.take();
        assert!(sent.iter().all(|frame| (frame.dst, frame.flags) == (FipFrame::ALL_PT2PT_MACS, FipFlags::REC_P2P)));
        assert_eq!(sent.len(), 5);
        node.hear(&paired(LESSER, 0x0e01).frame(Vn2vnKind::ClaimNotification));
        assert_eq!((node.machine.mode(), node.machine.neighbours().count()), (FipMode::PointToPoint, 1));
        node.take();
        node.events();
        node
    };
    let mut again = lonely();
    again.hear(&paired(LESSER, 0x0e01).frame(Vn2vnKind::Beacon));
    assert_eq!((again.machine.mode(), again.events().len()), (FipMode::PointToPoint, 1));
    let (second, plain) = (paired(GREATER, 0x0e03), Other::new(LESSER, 0x0e01));
    for other in [second.frame(Vn2vnKind::ClaimNotification), plain.frame(Vn2vnKind::Beacon)] {
        let mut node = lonely();
        node.hear(&other);
        assert_eq!((node.machine.mode(), node.events()), (FipMode::Multipoint, vec![FipEvent::Down]));
        node.run(node.now + 2 * SECOND);
        let sent = node.take();
        assert!(sent.iter().all(|frame| (frame.dst, frame.flags.0) == (FipFrame::ALL_VN2VN_MACS, 0)), "{sent:?}");
        assert!(node.machine.own().is_some());
    }
}

#[test]
fn before_our_claim_nobody_is_a_neighbour() {
    // FC-BB-6, neighbour set: those who answer our claim; and a Beacon counts only while we beacon.
    for (state, mut node) in on_the_way().into_iter().enumerate() {
        let other = Other::new(LESSER, 0x0e01);
        node.hear(&Other { dst: MacAddr(OURS), ..other }.frame(Vn2vnKind::ClaimResponse));
        assert_eq!(node.machine.neighbours().count(), usize::from(state >= 3), "state {state}");
        node.hear(&other.frame(Vn2vnKind::Beacon));
        assert_eq!((node.take(), node.events().len()), (vec![], usize::from(state == 4)), "state {state}");
        assert_eq!(node.machine.counters().drops().map(|(_, count)| count).sum::<u64>(), 0);
    }
}

#[test]
fn a_probe_reply_makes_us_yield_until_we_beacon() {
    for (state, mut node) in on_the_way().into_iter().enumerate() {
        let reply = Other { dst: MacAddr(OURS), ..Other::new(LESSER, ID) }.frame(Vn2vnKind::ProbeReply);
        node.hear(&reply);
        if state == 4 {
            assert_eq!(codes(&node.take()), [FipCode::CLAIM_NOTIFICATION]);
            assert!(node.machine.own().is_some());
        } else {
            assert!(yielded(&mut node), "state {state}");
        }
    }
}

#[test]
fn a_claim_of_what_we_have_goes_to_the_greater_name() {
    for (mac, keeps) in [(LESSER, true), (GREATER, false)] {
        for (state, mut node) in on_the_way().into_iter().enumerate() {
            let up = node.machine.own().is_some();
            node.hear(&Other::new(mac, ID).frame(Vn2vnKind::ClaimNotification));
            if keeps && state >= 3 {
                let [claim] = &node.take()[..] else { panic!("state {state}") };
                assert_eq!((claim.code, claim.fc_id()), (FipCode::CLAIM_NOTIFICATION, FcId::new(ID)));
                assert_eq!(node.events(), []);
            } else {
                assert_eq!(node.events(), if up { vec![FipEvent::Down] } else { vec![] });
                assert!(node.machine.own().is_none() && yielded(&mut node), "state {state}");
            }
        }
    }
}

#[test]
fn other_identifiers_do_not_disturb() {
    for (state, mut node) in on_the_way().into_iter().enumerate() {
        let other = Other::new(GREATER, 0x0e03);
        let due = node.machine.poll_timeout();
        node.hear(&other.frame(Vn2vnKind::ProbeRequest));
        node.hear(&other.frame(Vn2vnKind::ProbeReply));
        assert_eq!(node.take(), []);
        node.hear(&other.frame(Vn2vnKind::ClaimNotification));
        let answers = codes(&node.take());
        assert_eq!(answers, if state >= 3 { vec![FipCode::CLAIM_RESPONSE] } else { vec![] });
        assert_eq!(node.machine.neighbours().count(), answers.len());
        assert_eq!((node.machine.poll_timeout(), node.machine.counters().conflicts), (due, 0));
    }
}

#[test]
fn after_ten_conflicts_each_try_waits_ten_seconds() {
    let mut node = Node::new(&config(OURS));
    node.link(true);
    let mut waits = Vec::new();
    for _ in 0..12 {
        let began = node.now;
        node.run(node.machine.poll_timeout().unwrap());
        let probe = node.take().pop().unwrap();
        waits.push(probe.at - began);
        let reply = Other { dst: MacAddr(OURS), ..Other::new(LESSER, probe.fc_id().value()) };
        node.hear(&reply.frame(Vn2vnKind::ProbeReply));
    }
    assert!(waits[..10].iter().all(|wait| *wait < 100 * MS), "{waits:?}");
    assert_eq!(waits[10..], [10 * SECOND; 2]);
    assert_eq!(node.machine.counters().conflicts, 12);

    // The link's way down and up is a new beginning.
    node.link(false);
    node.link(true);
    assert!(node.machine.poll_timeout().unwrap() - node.now < 100 * MS);
}

#[test]
fn what_was_lost_once_is_not_tried_again() {
    // The second identifier of the sequence is had, the link bounces, and the sequence begins anew.
    let conflict = |node: &mut Node| {
        let own = node.machine.own().unwrap().0.value();
        node.hear(&Other::new(GREATER, own).frame(Vn2vnKind::ClaimNotification));
        node.run(node.now + 2 * SECOND);
        (own, node.machine.own().unwrap().0.value())
    };
    let mut node = Node::up(&config(OURS));
    let (first, second) = conflict(&mut node);
    node.link(false);
    node.link(true);
    node.run(node.now + 2 * SECOND);
    let (again, third) = conflict(&mut node);
    assert_eq!((first, again), (ID, second), "the last is tried first");
    assert!(third != second && second != first);
}

#[test]
fn a_claim_response_tries_the_way() {
    // Captures 01 and 12: as long as the shorter of both ports' longest FCoE frames.
    for (theirs, ours, len) in
        [(2158, 2158, 2172), (1498, 2158, 1512), (2158, 1498, 1512), (0, 2158, 232), (65535, 2158, 2172)]
    {
        let mut node = Node::up(&FipConfig { max_fcoe_size: ours, ..config(OURS) });
        let other = Other { max_fcoe_size: theirs, ..Other::new(LESSER, 0x0e01) };
        node.hear(&other.frame(Vn2vnKind::ClaimNotification));
        let [response] = &node.take()[..] else { panic!("{theirs} {ours}") };
        assert_eq!(
            (response.code, response.dst, response.src),
            (FipCode::CLAIM_RESPONSE, MacAddr(LESSER), MacAddr(OURS))
        );
        assert_eq!(response.bytes.len(), len, "{theirs} {ours}");
        assert!(response.bytes[232..].iter().all(|byte| *byte == 0));
        assert_eq!(response.discovery.unwrap().claim.unwrap().max_fcoe_size, ours);
    }
}

/// FC-BB-6, VN2VN login begins with the neighbour's Beacon; one that was there before us has sent its last up to 8 s ago.
#[test]
fn who_answered_our_claim_and_is_silent_is_told_of_at_our_second_beacon() {
    let mut node = Node::new(&config(OURS));
    node.link(true);
    // The first Beacon goes out 900 ms to 1 s after the start.
    node.run(1050 * MS);
    node.events();
    let (silent, loud) = (Other::new(LESSER, 0x0e01), Other::new(GREATER, 0x0e09));
    for other in [silent, loud] {
        node.hear(&Other { dst: MacAddr(OURS), ..other }.frame(Vn2vnKind::ClaimResponse));
    }
    node.hear(&loud.frame(Vn2vnKind::Beacon));
    let [silent, loud] = [silent, loud].map(|other| *node.machine.neighbour(FcId::new(other.fc_id)).unwrap());
    assert_eq!(node.events(), [FipEvent::Beacon(loud)]);
    node.run(1299 * MS);
    assert_eq!(node.events(), []);
    node.run(1400 * MS);
    assert_eq!(node.events(), [FipEvent::Answered(silent)]);
    node.run(node.now + 18 * SECOND);
    assert_eq!(node.events(), [], "once");
    node.run(node.now + 2 * SECOND);
    assert!(node.events().contains(&FipEvent::Gone(silent)));
}

#[test]
fn who_beacons_without_having_claimed_is_asked_to_once_in_400_ms() {
    let mut node = Node::up(&config(OURS));
    let stranger = Other::new(LESSER, 0x0e01);
    let mut claims = Vec::new();
    for _ in 0..100 {
        node.run(node.now + 10 * MS);
        node.hear(&stranger.frame(Vn2vnKind::Beacon));
        claims.extend(node.take().into_iter().filter(|frame| frame.code == FipCode::CLAIM_NOTIFICATION));
    }
    let waits: Vec<_> = claims.windows(2).map(|pair| pair[1].at - pair[0].at).collect();
    assert_eq!(waits, [410 * MS, 410 * MS]);
    assert_eq!(node.machine.counters().dropped(FipDrop::Unknown), 100);
    assert_eq!((node.machine.neighbours().count(), node.events()), (0, vec![]));

    // Its answer makes it a neighbour, its next Beacon an event.
    node.hear(&Other { dst: MacAddr(OURS), ..stranger }.frame(Vn2vnKind::ClaimResponse));
    assert_eq!((node.machine.neighbours().count(), node.events()), (1, vec![]));
    node.hear(&stranger.frame(Vn2vnKind::Beacon));
    let neighbour = *node.machine.neighbour(FcId::new(0x0e01)).unwrap();
    assert_eq!(node.events(), [FipEvent::Beacon(neighbour)]);
    assert_eq!(neighbour.role, Role { target: false, initiator: true });
}

#[test]
fn a_conflict_that_only_beacons_show_is_resolved_by_a_claim() {
    let mut node = Node::up(&config(OURS));
    node.run(node.now + SECOND);
    node.take();
    let twin = Other::new(GREATER, ID);
    node.hear(&twin.frame(Vn2vnKind::Beacon));
    assert_eq!(codes(&node.take()), [FipCode::CLAIM_NOTIFICATION]);
    // It is the greater, so it claims too.
    node.hear(&twin.frame(Vn2vnKind::ClaimNotification));
    assert!(yielded(&mut node));
}

#[test]
fn what_goes_down_is_told_and_forgotten() {
    let mut node = Node::up(&config(OURS));
    let other = Other::new(LESSER, 0x0e01);
    node.hear(&other.frame(Vn2vnKind::ClaimNotification));
    node.hear(&other.frame(Vn2vnKind::Beacon));
    node.events();
    node.link(false);
    node.link(false);
    assert_eq!(node.events(), [FipEvent::Down]);
    assert_eq!((node.machine.own(), node.machine.neighbours().count(), node.machine.poll_timeout()), (None, 0, None));
    node.take();
    node.hear(&other.frame(Vn2vnKind::ProbeRequest));
    node.run(node.now + 60 * SECOND);
    assert_eq!(node.take(), []);
    assert_eq!(node.machine.counters().dropped(FipDrop::NotReady), 1);
    node.link(true);
    node.run(node.now + 2 * SECOND);
    let up = FipEvent::Up { fc_id: FcId::new(ID), mac: MacAddr([0x0e, 0xfd, 0, 0, 0x0e, 2]) };
    assert_eq!(node.events(), [up]);
}

#[test]
fn what_finds_no_room_is_sent_later_or_counted() {
    let mut node = Node::new(&config(OURS));
    node.link(true);
    node.out.full = true;
    node.run(SECOND);
    let unsent = node.machine.counters().unsent;
    assert!((90..=100).contains(&unsent), "tried each 10 ms: {unsent}");
    assert!(node.machine.own().is_none());
    node.out.full = false;
    node.run(3 * SECOND);
    assert!(node.machine.own().is_some());
    assert_eq!(codes(&node.take())[..2], [FipCode::PROBE_REQUEST; 2]);

    node.out.full = true;
    node.hear(&Other::new(LESSER, 0x0e01).frame(Vn2vnKind::ClaimNotification));
    assert_eq!(node.machine.counters().unsent, unsent + 1);
}

/// The FLOGI of capture 01, frame 11, and the accept of frame 12.
fn flogi() -> (Heard, Heard) {
    let frames = capture::golden("01");
    (Heard::of(&frames[10]).unwrap(), Heard::of(&frames[11]).unwrap())
}

/// The initiator of capture 01, with the target as its neighbour.
fn kernels() -> Node {
    let mut node = Node::up(&config([0x52, 0x54, 0, 0xfc, 0x0e, 1]));
    let target = Other::new([0x52, 0x54, 0, 0xfc, 0x0e, 2], 0x0e02);
    node.hear(&target.frame(Vn2vnKind::ClaimNotification));
    node.take();
    node
}

#[test]
fn logins_pass_in_both_directions() {
    let ((request, accept), mut node) = (flogi(), kernels());
    node.hear(&request.bytes);
    let [FipEvent::Els { kind, from, enode_mac, header, payload, mac }] = &node.events()[..] else { panic!() };
    assert_eq!((*kind, *enode_mac), (FipElsKind::Flogi, request.src));
    assert_eq!(*from, node.machine.neighbour(FcId::new(0x0e02)).copied());
    assert_eq!((header.d_id, header.s_id), (FcId::new(0x0e01), FcId::new(0x0e02)));
    assert_eq!((&payload[..], *mac), (&request.bytes[52..168], Some(MacAddr([0x0e, 0xfd, 0, 0, 0x0e, 2]))));

    // Our answer has the same bytes as the kernel's.
    let answer = FcHeader::parse(&accept.bytes[28..52]).unwrap();
    let Node { machine, out, .. } = &mut node;
    assert!(machine.send_els(*enode_mac, FipElsKind::Flogi, &answer, &accept.bytes[52..168], out));
    assert_eq!(out.frames.pop().unwrap(), accept.bytes);
    // A reject has no MAC address: capture 07, frame 32.
    let reject = capture::golden("07").remove(31);
    let mut target = Node::up(&config([0x52, 0x54, 0, 0xfc, 0x0e, 2]));
    let header = FcHeader::parse(&reject.bytes[28..52]).unwrap();
    let Node { machine, out, .. } = &mut target;
    assert!(machine.send_els(accept.src, FipElsKind::Flogi, &header, &reject.bytes[52..60], out));
    assert_eq!(out.frames.pop().unwrap(), reject.bytes);
    assert!(!machine.send_els(accept.src, FipElsKind::Flogi, &header, &[1, 2, 3], out), "no number of words");
    assert!(!machine.send_els(accept.src, FipElsKind::Flogi, &header, &[0; 996], out), "too long");
    assert_eq!(machine.counters().unsent, 0);
    let mut down = Node::new(&config(OURS));
    assert!(!down.machine.send_els(accept.src, FipElsKind::Flogi, &header, &[0; 4], &mut down.out), "no identifier");
}

#[test]
fn a_login_that_is_not_for_us_or_contradicts_itself_is_dropped() {
    let (request, _) = flogi();
    let changed = |at: usize, byte: u8| {
        let mut bytes = request.bytes.clone();
        bytes[at] = byte;
        bytes
    };
    for (what, bytes, reason) in [
        ("destination MAC", changed(5, 7), FipDrop::NotForUs),
        ("a group", [&FipFrame::ALL_VN2VN_MACS.0[..], &request.bytes[6..]].concat(), FipDrop::NotForUs),
        ("from ourselves", changed(11, 1), FipDrop::Own),
        ("D_ID", changed(31, 7), FipDrop::NotForUs),
        ("S_ID that the MAC descriptor is not made of", changed(35, 7), FipDrop::Inconsistent),
        ("MAC descriptor", changed(175, 7), FipDrop::Inconsistent),
        ("R_CTL of a reply", changed(28, 0x23), FipDrop::Malformed),
        ("TYPE", changed(36, 8), FipDrop::Malformed),
        ("ELP", changed(24, 10), FipDrop::Foreign),
        ("descriptor type", changed(24, 14), FipDrop::Malformed),
        ("version", changed(14, 0x20), FipDrop::Malformed),
        ("cut", request.bytes[..170].to_vec(), FipDrop::Malformed),
    ] {
        let mut node = kernels();
        node.hear(&bytes);
        assert_eq!(node.events(), [], "{what}");
        assert_eq!(node.machine.counters().dropped(reason), 1, "{what}: {:?}", node.machine.counters());
    }
    // One that was told of by its login is told to be gone, though it never beaconed.
    let mut node = kernels();
    node.hear(&request.bytes);
    node.run(node.now + 21 * SECOND);
    assert!(matches!(node.events()[..], [FipEvent::Els { .. }, FipEvent::Gone(_)]));
    // One from another station than the neighbour is told likewise, as nobody's: it changes nothing.
    let mut node = kernels();
    let mut other = request.bytes.clone();
    other[11] = 7;
    node.hear(&other);
    let events = node.events();
    assert!(matches!(&events[..], [FipEvent::Els { from: None, enode_mac, .. }] if enode_mac.0[5] == 7), "{events:?}");
    // From a port that never claimed it is told, without a neighbour: it wants a reject.
    let mut node = Node::up(&config([0x52, 0x54, 0, 0xfc, 0x0e, 1]));
    node.hear(&request.bytes);
    assert!(matches!(node.events()[..], [FipEvent::Els { from: None, .. }]));
    let mut node = Node::up(&config([0x52, 0x54, 0, 0xfc, 0x0e, 1]));
    node.hear(&changed(6, 0x53));
    assert_eq!((node.events(), node.machine.counters().dropped(FipDrop::Inconsistent)), (vec![], 1), "a group");
    // Before we have an identifier, none.
    let mut node = Node::new(&config([0x52, 0x54, 0, 0xfc, 0x0e, 1]));
    node.link(true);
    node.hear(&request.bytes);
    assert_eq!(node.machine.counters().dropped(FipDrop::NotReady), 1);
}

#[test]
fn each_frame_that_does_nothing_has_a_reason() {
    let other = Other::new(LESSER, 0x0e01);
    let tagged = |vid: u16, frame: &[u8]| [&frame[..12], &[0x81, 0], &vid.to_be_bytes(), &frame[12..]].concat();
    let of = |change: &dyn Fn(&mut FipVn2vnRepr)| {
        let mut repr = other.repr(Vn2vnKind::ClaimNotification);
        change(&mut repr);
        frame(MacAddr(LESSER), FipFrame::ALL_VN2VN_MACS, &repr)
    };
    let claim = other.frame(Vn2vnKind::ClaimNotification);
    let to = |dst| Other { dst, ..other }.frame(Vn2vnKind::ClaimNotification);
    let with = |at: usize, byte: u8| {
        let mut bytes = claim.clone();
        bytes[at] = byte;
        bytes
    };
    let ours = Other::new(OURS, ID);
    let solicitation = capture::golden("09")[0].bytes.clone();
    let mut vlan_request = capture::golden("09")[2].bytes.clone();
    let to_fcfs = vlan_request.clone();
    vlan_request[5] = 4;
    for (what, bytes, reason) in [
        ("nothing", vec![], FipDrop::NotFip),
        ("FCoE", with(13, 6), FipDrop::NotFip),
        ("a tag cut off", tagged(100, &claim)[..16].to_vec(), FipDrop::NotFip),
        ("a tag", tagged(100, &claim), FipDrop::Vlan),
        ("our own", ours.frame(Vn2vnKind::Beacon), FipDrop::Own),
        ("another station", to(MacAddr([2, 9, 9, 9, 9, 9])), FipDrop::NotForUs),
        ("broadcast", to(MacAddr::BROADCAST), FipDrop::NotForUs),
        ("solicitation", solicitation, FipDrop::NotForUs),
        ("VLAN request", to_fcfs, FipDrop::NotForUs),
        ("VLAN request to VN2VN ports", vlan_request, FipDrop::Foreign),
        ("keep alive", with(17, 3), FipDrop::Foreign),
        ("subcode", with(19, 6), FipDrop::Malformed),
        ("descriptor length", with(25, 3), FipDrop::Malformed),
        ("twice the same descriptor", with(32, 2), FipDrop::Malformed),
        ("cut", claim[..200].to_vec(), FipDrop::Malformed),
        ("source", with(11, 9), FipDrop::Inconsistent),
        ("MAC descriptor", of(&|repr| repr.enode_mac.0[5] = 9), FipDrop::Inconsistent),
        ("MAC descriptor of nobody", Other::new([0; 6], 0x0e01).frame(Vn2vnKind::Beacon), FipDrop::Inconsistent),
        (
            "a claim from a VN_Port's address",
            frame(
                FcId::new(0x0e01).mac(FipFrame::VN2VN_FC_MAP),
                FipFrame::ALL_VN2VN_MACS,
                &other.repr(Vn2vnKind::ClaimNotification),
            ),
            FipDrop::Inconsistent,
        ),
        (
            "a claim response about our identifier",
            Other { dst: MacAddr(OURS), ..Other::new(LESSER, ID) }.frame(Vn2vnKind::ClaimResponse),
            FipDrop::Inconsistent,
        ),
        ("MAC descriptor of a group", of(&|repr| repr.enode_mac.0[0] |= 1), FipDrop::Inconsistent),
        (
            "a group as the sender",
            Other::new([3, 0, 0, 0, 0x0e, 1], 0x0e01).frame(Vn2vnKind::Beacon),
            FipDrop::Inconsistent,
        ),
        ("VN_Port MAC", of(&|repr| repr.port.mac.0[5] = 9), FipDrop::Inconsistent),
        ("FC-MAP", of(&|repr| repr.port.mac.0[1] = 0xfc), FipDrop::Inconsistent),
        (
            "identifier 0",
            of(&|repr| (repr.port.fc_id, repr.port.mac) = (FcId::new(0), FcId::new(0).mac(FipFrame::VN2VN_FC_MAP))),
            FipDrop::Inconsistent,
        ),
    ] {
        let mut node = Node::up(&config(OURS));
        node.hear(&bytes);
        assert_eq!((node.take(), node.events()), (vec![], vec![]), "{what}");
        let counters = node.machine.counters();
        assert_eq!((counters.received, counters.dropped(reason)), (1, 1), "{what}: {counters:?}");
        assert_eq!(counters.drops().map(|(_, n)| n).sum::<u64>(), 1);
    }
}

#[test]
fn only_frames_of_our_vlan_are_ours() {
    let tag = VlanTag::new(3, false, 100).unwrap();
    let mut node = Node::up(&FipConfig { vlan: Some(tag), ..config(OURS) });
    let claim = Other::new(LESSER, 0x0e01).frame(Vn2vnKind::ClaimNotification);
    let tagged = |tci: u16| [&claim[..12], &[0x81, 0], &tci.to_be_bytes(), &claim[12..]].concat();
    for wrong in [claim.clone(), tagged(101), tagged(0)] {
        node.hear(&wrong);
    }
    assert_eq!((node.take(), node.machine.counters().dropped(FipDrop::Vlan)), (vec![], 3));
    node.hear(&tagged(0xe064));
    let [response] = &node.take()[..] else { panic!() };
    assert_eq!((response.vlan, response.bytes.len()), (Some(tag), 2176));

    // A priority tag is no VLAN.
    let mut node = Node::up(&config(OURS));
    node.hear(&tagged(0x6000));
    assert_eq!(node.take().len(), 1);
    assert_eq!(node.machine.mode(), FipMode::Multipoint);
}

/// FC-BB-6, clause 7, FIP VLAN Discovery: a node that has a VLAN tells it to who asks for it without one; nobody else has an answer.
#[test]
fn a_station_without_a_vlan_is_told_ours() {
    let tag = VlanTag::new(3, false, 100).unwrap();
    let asks = MacAddr([2, 0, 0, 0, 0x0a, 7]);
    let request = vlan_discovery(asks);
    let tagged = |tci: u16| [&request[..12], &[0x81, 0], &tci.to_be_bytes(), &request[12..]].concat();
    let mut node = Node::up(&FipConfig { vlan: Some(tag), ..config(OURS) });
    for asked in [request.clone(), tagged(0x6000)] {
        node.hear(&asked);
        let [answer] = &node.take()[..] else { panic!() };
        assert_eq!(
            (answer.code, answer.src, answer.dst, answer.vlan),
            (FipCode::VLAN_VN2VN_NOTIFICATION, MacAddr(OURS), asks, None)
        );
        assert_eq!(told_vlans(asks, &answer.bytes), Some((MacAddr(OURS), vec![100])));
        assert_eq!(told_vlans(MacAddr(OURS), &answer.bytes), None, "it is for another");
    }
    let changed = |at: usize, byte: u8| {
        let mut frame = request.clone();
        frame[at] = byte;
        frame
    };
    // The address in the list is at 14 + 10 + 2.
    for (what, frame, reason) in [
        ("another VLAN", tagged(101), FipDrop::Vlan),
        ("a notification", changed(17, 3), FipDrop::Vlan),
        ("for another station", [&[2, 0, 0, 0, 0, 9], &request[6..]].concat(), FipDrop::NotForUs),
        ("of two addresses", changed(31, 8), FipDrop::Inconsistent),
        ("our own", vlan_discovery(MacAddr(OURS)), FipDrop::Own),
        ("short", request[..30].to_vec(), FipDrop::Vlan),
    ] {
        let before = node.machine.counters().dropped(reason);
        node.hear(&frame);
        assert_eq!((node.take(), node.machine.counters().dropped(reason)), (vec![], before + 1), "{what}");
    }
    assert_eq!(told_vlans(asks, &request), None);
    node.link(false);
    node.take();
    node.hear(&request);
    assert_eq!((node.take(), node.machine.counters().dropped(FipDrop::NotReady)), (vec![], 1));
    // One without a VLAN has none to tell.
    let mut node = Node::up(&config(OURS));
    node.hear(&request);
    assert_eq!((node.take(), node.machine.counters().dropped(FipDrop::Foreign)), (vec![], 1));
}

#[test]
fn a_link_that_is_up_already_stays_so() {
    let mut node = Node::up(&config(OURS));
    node.link(true);
    node.run(node.now + 10 * SECOND);
    assert!(node.machine.own().is_some() && node.events().is_empty());
    assert!(codes(&node.take()).iter().all(|code| *code == FipCode::BEACON));
}

#[test]
fn who_beacons_unknown_is_asked_to_claim_but_not_at_once_again() {
    // Its claim was before our time: who hears our claim answers it. ANNOUNCE_WAIT, 400 ms, is what answers may take.
    let mut node = Node::new(&config(OURS));
    node.link(true);
    node.run(SECOND);
    let up = node.take()[3].at;
    let mut node = Node::new(&config(OURS));
    node.link(true);
    node.run(up);
    node.take();
    let beacon = Other::new(LESSER, 0x0e01).frame(Vn2vnKind::Beacon);
    let mut claims = Vec::new();
    for after in [0, 1, 100, 401, 500, 802] {
        node.now = up + after * MS;
        node.hear(&beacon);
        claims.push(node.take().len());
    }
    assert_eq!(claims, [0, 1, 0, 0, 1, 0]);
    // A claim for which there was no room does not count as sent.
    node.now += SECOND;
    node.out.full = true;
    node.hear(&beacon);
    node.out.full = false;
    node.now += MS;
    node.hear(&beacon);
    assert_eq!(codes(&node.take()), [FipCode::CLAIM_NOTIFICATION]);
}

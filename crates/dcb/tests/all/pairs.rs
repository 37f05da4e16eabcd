//! Two ports: each pair of willing and not, IEEE and CEE, converges.

use crate::rig::*;
use linerate_dcb::*;
use linerate_wire::{LldpCongestion, LldpTlv};

fn pair(mut ours: Settings, mut theirs: Settings, dcbx: [Dcbx; 2]) -> (Dcb, Dcb) {
    [ours.dcbx, theirs.dcbx] = dcbx;
    let (mut a, mut b, mut now) = (port(1, ours), port(2, theirs), 0);
    let sent = run(&mut [&mut a, &mut b], &mut now, 100 * SECOND);
    for port in [&mut a, &mut b] {
        assert_eq!((port.neighbours().len(), port.counters().dropped.total()), (1, 0));
        assert_eq!((port.counters().tlvs_discarded.total(), port.counters().changes_held), (0, 0));
    }
    let last = sent.last().unwrap();
    assert!(sent.len() < 30 && last.0 > 60 * SECOND, "{} frames, the last at {}", sent.len(), last.0);
    // It stays so: nothing changes from here on.
    let before = (a.operative().clone(), b.operative().clone());
    events(&mut a);
    run(&mut [&mut a, &mut b], &mut now, 400 * SECOND);
    assert_eq!((events(&mut a), a.operative(), b.operative()), (vec![], &before.0, &before.1));
    (a, b)
}

/// The settings of a and b that both have: shares of class 1, and lossless priorities.
fn state(port: &Dcb) -> (Option<Version>, Option<u8>, u8) {
    let table = port.operative();
    (table.version, table.classes.selection[1].share(), table.pfc)
}

const SAN: (Option<u8>, u8) = (Some(40), 1 << 3);
const LAN: (Option<u8>, u8) = (Some(80), 1 << 4);

fn both(version: Version, a: (Option<u8>, u8), b: (Option<u8>, u8)) -> [(Option<Version>, Option<u8>, u8); 2] {
    [(Some(version), a.0, a.1), (Some(version), b.0, b.1)]
}

#[test]
fn ieee_converges_for_each_pair_of_willing() {
    let auto = [Dcbx::Auto; 2];
    for dcbx in [auto, [Dcbx::Ieee; 2], [Dcbx::Ieee, Dcbx::Auto], [Dcbx::Auto, Dcbx::Ieee]] {
        for (willing, wanted) in [
            ([false, true], both(Version::Ieee, SAN, SAN)),
            ([true, false], both(Version::Ieee, LAN, LAN)),
            ([false, false], both(Version::Ieee, SAN, LAN)),
            // ETS is asymmetric, each takes what the other recommends; PFC is that of the lower MAC address.
            ([true, true], both(Version::Ieee, (LAN.0, SAN.1), SAN)),
        ] {
            let (a, b) = pair(san(willing[0]), lan(willing[1]), dcbx);
            assert_eq!([state(&a), state(&b)], wanted, "{dcbx:?} {willing:?}");
        }
    }
}

#[test]
fn cee_converges_for_each_pair_of_willing() {
    for dcbx in [[Dcbx::Cee; 2], [Dcbx::Cee, Dcbx::Auto], [Dcbx::Auto, Dcbx::Cee]] {
        for (willing, wanted) in [
            ([false, true], both(Version::Cee, SAN, SAN)),
            ([true, false], both(Version::Cee, LAN, LAN)),
            // As willing as each other, and different: flow control is off, groups are each end's own.
            ([false, false], both(Version::Cee, (SAN.0, 0), (LAN.0, 0))),
            ([true, true], both(Version::Cee, (SAN.0, 0), (LAN.0, 0))),
        ] {
            let (a, b) = pair(san(willing[0]), lan(willing[1]), dcbx);
            assert_eq!([state(&a), state(&b)], wanted, "{dcbx:?} {willing:?}");
            let conflict = willing[0] == willing[1];
            let wanted = Taken { classes: false, pfc: conflict, applications: conflict };
            assert_eq!([a.operative().conflict, b.operative().conflict], [wanted; 2]);
        }
        let mut other = san(true);
        other.applications.reverse();
        let (a, b) = pair(san(true), other, dcbx);
        assert_eq!([state(&a), state(&b)], both(Version::Cee, SAN, SAN), "the same settings go together");
        assert_eq!([a.operative().conflict, b.operative().conflict], [Taken::default(); 2]);
    }
}

#[test]
fn versions_that_differ_leave_each_its_own() {
    for dcbx in [[Dcbx::Ieee, Dcbx::Cee], [Dcbx::Cee, Dcbx::Ieee]] {
        let (a, b) = pair(san(true), lan(true), dcbx);
        assert_eq!([state(&a), state(&b)], [(None, SAN.0, SAN.1), (None, LAN.0, LAN.1)]);
        assert_eq!((a.operative().off, b.operative().off), (Some(Off::NoPeer), Some(Off::NoPeer)));
    }
}

#[test]
fn applications_are_informational() {
    let (a, b) = pair(san(false), lan(true), [Dcbx::Auto; 2]);
    let of = |port: &Dcb, selector, protocol| port.operative().priority(selector, protocol).map(|p| p.number());
    assert_eq!(of(&a, Selector::Stream, 3260), None, "who is not willing has its own alone");
    assert_eq!((of(&b, Selector::EtherType, 0x8906), of(&b, Selector::EtherType, 0x8914)), (Some(3), Some(3)));
    assert_eq!((of(&b, Selector::Stream, 3260), of(&b, Selector::Datagram, 3260)), (Some(4), Some(4)));
    // The peer's go before ours.
    let mut ours = lan(true);
    ours.applications = vec![app(Selector::EtherType, 0x8906, 5), app(Selector::EtherType, 0, 1)];
    let (_, b) = pair(san(false), ours, [Dcbx::Auto; 2]);
    assert_eq!((of(&b, Selector::EtherType, 0x8906), of(&b, Selector::Dscp, 46)), (Some(3), Some(1)));
    assert_eq!(b.operative().applications.len(), 3, "each has one entry");
}

/// A setting that one withdraws does not come back by what the other has taken.
#[test]
fn what_is_withdrawn_is_gone_at_both_ends() {
    for dcbx in [Dcbx::Ieee, Dcbx::Cee] {
        let (mut a, mut b) = (Settings { dcbx, ..san(false) }, Settings { dcbx, ..Settings::default() });
        b.willing = true;
        let (mut a, mut b, mut now) = (port(1, std::mem::take(&mut a)), port(2, b), 0);
        run(&mut [&mut a, &mut b], &mut now, 10 * SECOND);
        assert_eq!((b.operative().pfc, b.operative().applications.len()), (1 << 3, 2), "{dcbx:?}");
        let fewer =
            Settings { pfc: 0, applications: vec![app(Selector::EtherType, 0x8914, 3)], ..a.settings().clone() };
        a.set(fewer, now).unwrap();
        run(&mut [&mut a, &mut b], &mut now, 20 * SECOND);
        assert_eq!((b.operative().pfc, b.operative().applications.len()), (0, 1), "{dcbx:?}");
        assert!(b.operative().taken.pfc);
    }
}

#[test]
fn a_peer_that_changes_its_version_is_followed_and_back() {
    let (mut a, mut b, mut now) = (port(1, Settings { willing: true, ..Settings::default() }), port(2, san(false)), 0);
    for (dcbx, version) in [(Dcbx::Ieee, Version::Ieee), (Dcbx::Cee, Version::Cee), (Dcbx::Ieee, Version::Ieee)] {
        b.set(Settings { dcbx, ..san(false) }, now).unwrap();
        let until = now + 20 * SECOND;
        run(&mut [&mut a, &mut b], &mut now, until);
        assert_eq!([state(&a), state(&b)], both(version, SAN, SAN), "{dcbx:?}");
    }
    // A peer that is gone leaves us ours.
    b.stop();
    let until = now + SECOND;
    run(&mut [&mut a, &mut b], &mut now, until);
    assert_eq!((state(&a), a.neighbours().len()), ((None, None, 0), 0));
    assert!(matches!(events(&mut a).as_slice(), [.., Event::Gone(_, Gone::Left), Event::Operative(_)]));
}

/// IEEE 802.1Q-2022, clause 38.4.1.
#[test]
fn a_third_that_speaks_it_switches_it_off_until_it_is_gone() {
    let mut ports =
        [port(1, Settings { willing: true, ..Settings::default() }), port(2, san(false)), port(3, lan(false))];
    ports[2].set_link(false, 0);
    let mut now = 0;
    let mut go = |ports: &mut [Dcb; 3], seconds| {
        let [a, b, c] = ports;
        let until = now + seconds * SECOND;
        run(&mut [a, b, c], &mut now, until);
        now
    };
    let then = go(&mut ports, 10);
    assert_eq!(state(&ports[0]), both(Version::Ieee, SAN, SAN)[0]);
    ports[2].set_link(true, then);
    go(&mut ports, 10);
    assert_eq!((state(&ports[0]), ports[0].operative().off), ((None, None, 0), Some(Off::Peers(2))));
    assert_eq!(ports[1].operative().off, Some(Off::Peers(2)));
    ports[2].stop();
    go(&mut ports, 10);
    assert_eq!(state(&ports[0]), both(Version::Ieee, SAN, SAN)[0]);
}

/// A feature that the peer has switched off, or has found in error, is ours (DCBX 1.01, feature state machine).
#[test]
fn a_cee_feature_that_is_off_at_the_peer_leaves_us_ours() {
    use linerate_wire::{Cee, CeeControl, CeeFeature, CeePfc, LldpTlv};
    let on = CeeFeature { version: 0, max_version: 0, enabled: true, willing: false, error: false, subtype: 0 };
    for (feature, wanted) in [(on, 4), (CeeFeature { enabled: false, ..on }, 1), (CeeFeature { error: true, ..on }, 1)]
    {
        let mut a = port(1, Settings { willing: true, pfc: 1, ..Settings::default() });
        let control = CeeControl { version: 0, max_version: 0, sequence: 1, acknowledged: 0 };
        let pfc = Some(CeePfc { feature, enabled: 4, max_classes: 8 });
        a.receive(&frame(2, 1, 120, &[LldpTlv::Cee(Cee { control, groups: None, pfc, applications: None })]), 0);
        assert_eq!((a.operative().version, a.operative().pfc), (Some(Version::Cee), wanted), "{feature:?}");
    }
}

/// CEE's numbers: settings that have not been acknowledged are not replaced.
#[test]
fn cee_waits_for_the_acknowledgement() {
    use linerate_wire::{CeeControl, LldpTlv, Lldpdu};
    let told = |frame: &[u8]| {
        let unit = Lldpdu::parse(&frame[14..]).unwrap();
        match unit.tlvs().next() {
            Some(Ok(LldpTlv::Cee(cee))) => (cee.control, cee.pfc.unwrap().enabled, cee),
            other => panic!("{other:?}"),
        }
    };
    let cee = |pfc| Settings { dcbx: Dcbx::Cee, pfc, ..san(false) };
    let mut a = port(1, cee(1));
    let (control, _, mut peer) = told(&a.poll_transmit(0).unwrap());
    assert_eq!(control, CeeControl { version: 0, max_version: 0, sequence: 1, acknowledged: 0 });
    let mut hear = |a: &mut Dcb, sequence, acknowledged, now| {
        peer.control = CeeControl { version: 0, max_version: 0, sequence, acknowledged };
        a.receive(&frame(2, 1, 120, &[LldpTlv::Cee(peer.clone())]), now);
        let sent = std::iter::from_fn(|| a.poll_transmit(now)).last();
        sent.map(|frame| told(&frame)).map(|(control, pfc, _)| (control.sequence, control.acknowledged, pfc))
    };
    assert_eq!(hear(&mut a, 7, 0, SECOND), Some((1, 7, 1)));
    a.set(cee(2), SECOND).unwrap();
    assert_eq!(a.poll_transmit(SECOND).map(|frame| told(&frame).0.sequence), None, "the first is not acknowledged");
    assert_eq!(hear(&mut a, 7, 1, 40 * SECOND), Some((2, 7, 2)));
    assert_eq!(hear(&mut a, 8, 2, 80 * SECOND), Some((2, 8, 2)));
    // A peer that is gone is forgotten: the next one begins with us.
    a.receive(&frame(2, 1, 0, &[]), 90 * SECOND);
    let control = told(&std::iter::from_fn(|| a.poll_transmit(90 * SECOND)).last().unwrap()).0;
    assert_eq!((control.sequence, control.acknowledged), (1, 0));
}

/// Each end is told of the other's points; a reaction point is in the domain that its neighbour has, and in none without one.
#[test]
fn congestion_notification_has_an_interior_where_both_have_it() {
    let settings = |congestion| Settings { congestion, ..Settings::default() };
    let (points, reacts) = (Congestion::Points(0x18), Congestion::Reacts);
    let table = |priorities, interior, ready| Notification { priorities, interior, ready };
    for (ours, theirs, wanted) in [
        (points, reacts, [table(0x18, 0x18, 0x18); 2]),
        (points, Congestion::Points(0x30), [table(0x18, 0x10, 0x10), table(0x30, 0x10, 0x10)]),
        (points, Congestion::Off, [table(0x18, 0, 0), table(0, 0, 0)]),
        (reacts, reacts, [table(0, 0, 0); 2]),
    ] {
        for dcbx in [Dcbx::Ieee, Dcbx::Cee] {
            let (a, b) = pair(settings(ours), settings(theirs), [dcbx; 2]);
            assert_eq!([a.operative().congestion, b.operative().congestion], wanted, "{ours:?} {theirs:?}");
        }
    }
    let (mut a, mut now) = (port(1, settings(points)), 0);
    let tlv = |priorities, ready| LldpTlv::Congestion(LldpCongestion { priorities, ready });
    a.receive(&frame(2, 1, 120, &[tlv(0x18, 0x08)]), now);
    run(&mut [&mut a], &mut now, SECOND);
    assert!(a.operative().to_string().ends_with("; cn: 3 interior ready, 4 interior"), "{}", a.operative());
    // Another neighbour's beside it: who of them is meant is not known.
    a.receive(&frame(3, 1, 120, &[tlv(0x18, 0x18)]), now);
    assert!(a.operative().to_string().ends_with("; cn: 3 edge, 4 edge"), "{}", a.operative());
}

//! Hostile neighbours: what they send is counted by reason, and the last good settings stay.

use crate::rig::*;
use linerate_dcb::*;
use linerate_wire::*;
use proptest::collection::vec;
use proptest::prelude::*;

fn willing() -> Dcb {
    port(1, Settings { willing: true, ..Settings::default() })
}

/// A port that has taken a peer's settings: 60:40, priority 3.
fn settled() -> Dcb {
    let mut port = willing();
    port.receive(&frame(2, 1, 120, &good()), 0);
    assert_eq!((port.operative().classes, port.operative().pfc), (classes(60, 40), 8));
    events(&mut port);
    port
}

fn good() -> [LldpTlv<'static>; 3] {
    let recommendation = LldpTlv::EtsRecommendation(classes_wire());
    let fcoe = DcbxApplication { priority: 3, selector: 1, protocol: 0x8906 };
    [recommendation, pfc(false, 8), LldpTlv::Applications(vec![fcoe])]
}

fn classes_wire() -> DcbxClasses {
    DcbxClasses { algorithms: [2, 2, 0, 0, 0, 0, 0, 0], ..wire([60, 40, 0, 0, 0, 0, 0, 0], 0) }
}

/// A unit of our peer's whose TLVs are these bytes.
fn raw(tlvs: &[u8]) -> Vec<u8> {
    let mut frame = frame(2, 1, 120, &[]);
    let end = 14 + 2 + 7 + 2 + 2 + 2 + 2;
    frame.truncate(end);
    frame.extend(tlvs);
    frame.resize(frame.len().max(60), 0);
    frame
}

fn discards(port: &Dcb) -> Vec<(&'static str, u64)> {
    port.counters().tlvs_discarded.iter().collect()
}

#[test]
fn a_tlv_that_is_refused_leaves_what_was_said_before() {
    let bad = |classes| vec![LldpTlv::EtsRecommendation(classes)];
    let twice = |priority| DcbxApplication { priority, selector: 1, protocol: 0x8906 };
    let high = DcbxClasses { classes: [0, 0, 0, 9, 0, 0, 0, 0], ..classes_wire() };
    let control = CeeControl { version: 1, max_version: 1, sequence: 1, acknowledged: 0 };
    let right = CeeControl { version: 0, ..control };
    let feature = |version| {
        let feature = CeeFeature { version, max_version: 1, enabled: true, willing: false, error: false, subtype: 0 };
        Some(CeePfc { feature, enabled: 1, max_classes: 8 })
    };
    for (tlvs, reason) in [
        (bad(wire([60, 41, 0, 0, 0, 0, 0, 0], 2)), "shares"),
        (bad(wire([0; 8], 2)), "shares"),
        (bad(wire([255; 8], 2)), "shares"),
        (bad(high), "class"),
        (bad(wire([0; 8], 1)), "algorithm"),
        (bad(wire([0; 8], 77)), "algorithm"),
        (vec![LldpTlv::Applications(vec![twice(3), twice(4)])], "application_twice"),
        (vec![LldpTlv::Cee(Cee { control, groups: None, pfc: None, applications: None })], "version"),
        (vec![LldpTlv::Cee(Cee { control: right, groups: None, pfc: feature(1), applications: None })], "version"),
    ] {
        let mut port = settled();
        let before = port.operative().clone();
        port.receive(&frame(2, 1, 120, &tlvs), SECOND);
        assert_eq!((port.operative(), discards(&port)), (&before, vec![(reason, 1)]));
        let [Event::Refused(_, _, told)] = events(&mut port)[..] else { panic!("{reason}: one line") };
        assert_eq!(told.name(), reason);
        // The same again is counted, and told no more.
        port.receive(&frame(2, 1, 120, &tlvs), 2 * SECOND);
        assert_eq!((events(&mut port), discards(&port)), (vec![], vec![(reason, 2)]));
        // What is good again is taken, and what is left out then is withdrawn.
        port.receive(&frame(2, 1, 120, &[pfc(false, 16)]), 3 * SECOND);
        assert_eq!((port.operative().pfc, port.operative().taken.classes), (16, false));
    }
}

#[test]
fn truncated_tlvs_leave_what_was_said_before() {
    let unit = frame(2, 1, 120, &good());
    let tlvs = &unit[31..];
    for (at, kind) in [(0, 0x0a_u8), (27, 0x0b)] {
        let mut port = settled();
        let before = port.operative().clone();
        // Its length is one less: the next one begins in the wrong place, or the unit ends within it.
        let mut bytes = tlvs.to_vec();
        assert_eq!(bytes[at + 5], kind);
        bytes.remove(at + 6);
        bytes[at + 1] -= 1;
        port.receive(&raw(&bytes), SECOND);
        assert_eq!((port.operative(), discards(&port)), (&before, vec![("malformed", 1)]), "{kind}");
    }
    // Cut anywhere, a unit that ends within a TLV is dropped whole.
    let end = 31 + 27 + 8 + 10;
    for len in (0..end).filter(|len| ![31, 58, 66].contains(len)) {
        let mut port = settled();
        let before = port.operative().clone();
        port.receive(&unit[..len], SECOND);
        let counters = port.counters();
        let wanted = if len < 14 { Drop::NotForUs } else { Drop::Malformed };
        assert_eq!((counters.dropped.of(wanted), counters.dropped.total()), (1, 1), "{len}");
        assert_eq!((port.operative(), port.neighbours().len()), (&before, 1));
    }
}

#[test]
fn a_tlv_that_comes_twice_counts_once() {
    let mut port = willing();
    port.receive(
        &frame(2, 1, 120, &[pfc(false, 8), pfc(false, 16), LldpTlv::SystemName(b"a"), LldpTlv::SystemName(b"b")]),
        0,
    );
    assert_eq!((port.operative().pfc, discards(&port)), (8, vec![("duplicate", 2)]));
    assert_eq!(port.neighbours()[0].system.as_deref(), Some("a"));
}

#[test]
fn what_nobody_fetches_or_knows_is_counted() {
    let mut port = willing();
    let unknown =
        [LldpTlv::Reserved { kind: 9, info: &[1] }, LldpTlv::Organization { oui: [1; 3], subtype: 1, info: &[] }];
    for second in 0..50 {
        port.receive(&frame(2, 1, 120, &unknown), second * SECOND);
        port.receive(&frame(2, 1, 0, &[]), second * SECOND);
    }
    let counters = *port.counters();
    assert_eq!((counters.tlvs_unrecognized, counters.events_lost), (100, 36));
    assert_eq!((events(&mut port).len(), port.neighbours().len()), (64, 0));
}

#[test]
fn many_neighbours_are_sixteen() {
    let mut port = willing();
    for round in 0..3 {
        for last in 0..64 {
            port.receive(&frame(2, last, 120, &[]), round * SECOND);
        }
    }
    assert_eq!((port.neighbours().len(), port.counters().dropped.of(Drop::TooManyNeighbours)), (16, 144));
    let told = events(&mut port).iter().filter(|event| **event == Event::TooManyNeighbours).count();
    assert_eq!(told, 1, "one line");
    // One that leaves makes room.
    port.receive(&frame(2, 3, 0, &[]), 4 * SECOND);
    port.receive(&frame(2, 63, 120, &[]), 4 * SECOND);
    assert_eq!((port.neighbours().len(), port.counters().dropped.total()), (16, 144));
    assert!(std::iter::from_fn(|| port.poll_transmit(4 * SECOND)).count() <= 5);
    // Too many once more are told once more.
    port.receive(&frame(2, 62, 120, &[]), 5 * SECOND);
    assert!(events(&mut port).contains(&Event::TooManyNeighbours));
}

#[test]
fn ends_of_nobody_and_our_own_frames_are_dropped() {
    let mut port = settled();
    let before = port.operative().clone();
    let own = port.poll_transmit(0).unwrap();
    for n in 0..1000 {
        port.receive(&frame(9, u8::try_from(n % 256).unwrap(), 0, &[]), 0);
        port.receive(&own, 0);
    }
    // From another address, but with our chassis and port.
    let mut forged = own.clone();
    forged[11] = 7;
    port.receive(&forged, 0);
    // From our address, with another's.
    let mut forged = frame(7, 1, 120, &[]);
    forged[11] = 1;
    port.receive(&forged, 0);
    let dropped = port.counters().dropped;
    assert_eq!((dropped.of(Drop::UnknownShutdown), dropped.of(Drop::Own)), (1000, 1002));
    let mut other = frame(2, 1, 120, &[]);
    other[5] = 0x03;
    port.receive(&other, 0);
    assert_eq!(port.counters().dropped.of(Drop::NotForUs), 1, "the group of another scope");
    assert_eq!((events(&mut port), port.operative(), port.neighbours().len()), (vec![], &before, 1));
}

#[test]
fn settings_that_flap_are_followed_a_few_times() {
    let mut port = settled();
    for second in 1..=100 {
        port.receive(&frame(2, 1, 120, &[pfc(false, if second % 2 == 0 { 8 } else { 16 })]), second * SECOND);
    }
    assert_eq!((port.counters().changes, port.counters().changes_held), (5, 96));
    let stayed = port.operative().pfc;
    assert_eq!(events(&mut port).iter().filter(|event| **event == Event::Held).count(), 1);
    // It keeps still: half a minute later it is followed.
    let last = if stayed == 8 { 16 } else { 8 };
    port.receive(&frame(2, 1, 120, &[pfc(false, last)]), 101 * SECOND);
    assert!(port.poll_timeout().unwrap() <= 131 * SECOND);
    port.poll_transmit(130 * SECOND);
    assert_eq!(port.operative().pfc, stayed);
    port.poll_transmit(131 * SECOND);
    assert_eq!(port.operative().pfc, last);
    // With half a minute between, each change is followed.
    let mut port = settled();
    for n in 1..=20 {
        let pfc = if n % 2 == 0 { 8 } else { 16 };
        port.receive(&frame(2, 1, 120, &[self::pfc(false, pfc)]), n * 31 * SECOND);
        assert_eq!(port.operative().pfc, pfc);
    }
    // What is set here takes effect at once.
    let mut port = settled();
    for second in 1..=100 {
        port.set(Settings { pfc: u8::try_from(second).unwrap(), ..Settings::default() }, second * SECOND).unwrap();
        assert_eq!(port.operative().pfc, u8::try_from(second).unwrap());
    }
}

/// A neighbour that comes and goes each second is one that flaps, too.
#[test]
fn a_peer_that_comes_and_goes_is_followed_a_few_times() {
    let mut port = settled();
    for second in 1..=50 {
        port.receive(&frame(2, 1, if second % 2 == 0 { 120 } else { 0 }, &good()), second * SECOND);
    }
    assert!(port.counters().changes <= 6 && port.counters().changes_held >= 44, "{:?}", port.counters());
}

/// Application map of CEE that has two bits, or none.
#[test]
fn a_cee_application_has_one_priority() {
    let feature = CeeFeature { version: 0, max_version: 0, enabled: true, willing: false, error: false, subtype: 0 };
    let control = CeeControl { version: 0, max_version: 0, sequence: 1, acknowledged: 0 };
    let heard = |priorities, groups| {
        let mut port = willing();
        let applications = Some((feature, vec![CeeApplication::new(0, 0x8906, priorities)]));
        let groups = Some(CeeGroups { feature, groups, shares: [60, 40, 0, 0, 0, 0, 0, 0], max_classes: 8 });
        port.receive(&frame(2, 1, 120, &[LldpTlv::Cee(Cee { control, groups, pfc: None, applications })]), 0);
        (port.operative().clone(), discards(&port))
    };
    let (table, discarded) = heard(8, [0, 0, 0, 1, 0, 0, 0, 15]);
    assert_eq!((table.applications, discarded), (vec![app(Selector::EtherType, 0x8906, 3)], vec![]));
    // Group 15 is strict priority, of the highest class that is free.
    assert_eq!((table.classes.of, table.classes.selection[7]), ([0, 0, 0, 1, 0, 0, 0, 7], Selection::Strict));
    let heard_with = |groups: [u8; 8], shares| {
        let mut port = willing();
        let groups = Some(CeeGroups { feature, groups, shares, max_classes: 8 });
        port.receive(&frame(2, 1, 120, &[LldpTlv::Cee(Cee { control, groups, pfc: None, applications: None })]), 0);
        port.operative().classes.of
    };
    let shares = [50, 0, 0, 0, 0, 0, 30, 20];
    assert_eq!(
        heard_with([0, 7, 15, 0, 0, 0, 0, 0], shares),
        [0, 7, 5, 0, 0, 0, 0, 0],
        "a share of nobody's is a class"
    );
    let all = [13, 13, 13, 13, 12, 12, 12, 12];
    assert_eq!(heard_with([0, 15, 1, 2, 3, 4, 5, 6], all), [0; 8], "no class is left for strict priority: refused");
    assert_eq!(heard(0x18, [0; 8]).1, [("application_twice", 1)]);
    assert_eq!((heard(0, [0; 8]).0.applications, heard(0, [0; 8]).1), (vec![], vec![]));
    assert_eq!(heard(8, [0, 0, 0, 8, 0, 0, 0, 0]).1, [("class", 1)]);
}

/// Applications of an organization's own are none of ours.
#[test]
fn a_cee_application_of_another_oui_is_skipped() {
    let feature = CeeFeature { version: 0, max_version: 0, enabled: true, willing: false, error: false, subtype: 0 };
    let control = CeeControl { version: 0, max_version: 0, sequence: 1, acknowledged: 0 };
    let own = CeeApplication::new(0, 0x8906, 8);
    let entries = vec![CeeApplication { oui_low: 0x1b22, ..own }, CeeApplication { oui_high: 1, protocol: 7, ..own }];
    let mut port = willing();
    let cee = Cee { control, groups: None, pfc: None, applications: Some((feature, entries)) };
    port.receive(&frame(2, 1, 120, &[LldpTlv::Cee(cee)]), 0);
    assert_eq!((port.operative().version, port.operative().applications.len()), (Some(Version::Cee), 0));
}

proptest! {
    /// Whatever arrives, memory and frames stay within their limits, and there is a time for the next call.
    #[test]
    fn any_frames(frames in vec((0..8_u8, vec(any::<u8>(), 0..80), 0..3_u64), 0..60), dcbx in 0..3_usize) {
        let dcbx = [Dcbx::Auto, Dcbx::Ieee, Dcbx::Cee][dcbx];
        let (mut port, mut now) = (port(1, Settings { dcbx, ..san(true) }), 0);
        for (n, tlvs, wait) in frames {
            now += wait * SECOND;
            let mut bytes = frame(2, n, 3, &good());
            let at = 31 + usize::from(n);
            bytes.splice(at.min(bytes.len()).., tlvs);
            port.receive(&bytes, now);
            prop_assert!(std::iter::from_fn(|| port.poll_transmit(now)).count() <= 5);
            prop_assert!(port.poll_timeout().is_some_and(|at| at > now));
            prop_assert!(port.neighbours().len() <= MAX_NEIGHBOURS && port.settings().check().is_ok());
            let table = port.operative();
            let checked = Settings { classes: table.classes, pfc: table.pfc, ..Settings::default() };
            prop_assert!(checked.check().is_ok());
        }
    }
}

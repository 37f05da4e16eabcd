//! Captures of two lldpad, of which the second is willing: our port in the place of each ends where that one did.

use crate::rig::*;
use linerate_dcb::*;
use linerate_wire::*;

/// The frames of a capture, and when they were sent, in ns from the first.
fn capture(bytes: &[u8]) -> Vec<(u64, &[u8])> {
    let number = |at: usize| u64::from(u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()));
    let (mut at, mut frames) = (24, Vec::new());
    while at < bytes.len() {
        let (time, len) = (number(at) * SECOND + number(at + 4) * 1000, usize::try_from(number(at + 8)).unwrap());
        frames.push((time, &bytes[at + 16..at + 16 + len]));
        at += 16 + len;
    }
    let first = frames[0].0;
    frames.into_iter().map(|(time, frame)| (time - first, frame)).collect()
}

fn in_place_of(mac: MacAddr, settings: Settings, frames: &[(u64, &[u8])]) -> Dcb {
    let mut port = Dcb::new(Config::new(mac, ""), settings, 0).unwrap();
    port.set_link(true, 0);
    for (time, frame) in frames.iter().filter(|(_, frame)| frame[6..12] != mac.0) {
        port.receive(frame, *time);
    }
    assert_eq!((port.counters().dropped.total(), port.counters().tlvs_discarded.total()), (0, 0));
    port
}

#[test]
fn the_willing_one_takes_what_it_took() {
    let capture = capture(include_bytes!("../../../fcoe/tests/golden/21-lldpad-dcbx-ieee8021qaz.pcap"));
    assert_eq!(capture.len(), 13);
    let willing = MacAddr([2, 0, 0, 0, 0x0b, 0x0b]);
    let mut ours = in_place_of(willing, Settings { willing: true, ..Settings::default() }, &capture);
    let table = ours.operative();
    assert_eq!((table.version, table.classes, table.pfc), (Some(Version::Ieee), classes(60, 40), 1 << 3));
    let fcoe = [app(Selector::EtherType, 0x8906, 3), app(Selector::EtherType, 0x8914, 3)];
    assert_eq!(table.applications, fcoe);
    // What we tell then is what it told: the classes and flow control that were taken.
    tells_what_was_told(&mut ours, willing, &capture);
}

/// Checks that our classes and flow control, or all of CEE, are what the end in whose place we are told last.
fn tells_what_was_told(ours: &mut Dcb, mac: MacAddr, capture: &[(u64, &[u8])]) {
    let tlvs = |frame: &[u8]| -> Vec<LldpTlv<'static>> {
        let unit = Lldpdu::parse(&frame[14..]).unwrap();
        let of = |tlv| match tlv {
            Ok(LldpTlv::EtsConfiguration(ets)) => Some(LldpTlv::EtsConfiguration(DcbxEts { max_classes: 0, ..ets })),
            Ok(LldpTlv::Pfc(pfc)) => Some(LldpTlv::Pfc(pfc)),
            Ok(LldpTlv::Cee(mut cee)) => {
                let applications = cee.applications.iter_mut();
                applications.for_each(|(_, entries)| entries.sort_by_key(|entry| (entry.selector, entry.protocol)));
                Some(LldpTlv::Cee(cee))
            }
            _ => None,
        };
        unit.tlvs().filter_map(of).collect()
    };
    let unit = ours.poll_transmit(20 * SECOND).unwrap();
    let last = capture.iter().rev().find(|(_, frame)| frame[6..12] == mac.0).unwrap();
    assert_eq!(tlvs(&unit), tlvs(last.1));
    assert!(!tlvs(last.1).is_empty());
}

/// Each end of CEE tells its own settings, whichever are operative.
#[test]
fn both_ends_of_cee_end_where_they_did() {
    let capture = capture(include_bytes!("../../../fcoe/tests/golden/22-lldpad-dcbx-cee.pcap"));
    assert_eq!(capture.len(), 14);
    let apps = |san| {
        let fcoe = [app(Selector::EtherType, 0x8906, san), app(Selector::EtherType, 0x8914, san)];
        [fcoe[0], app(Selector::Any, 3260, 4), fcoe[1]].to_vec()
    };
    let mut plain = Classes::default();
    plain.selection[0] = Selection::Ets(100);
    let willing = Settings { classes: plain, applications: apps(4), willing: true, ..Settings::default() };
    let other = Settings { applications: apps(3), ..san(false) };
    for (last, settings) in [(0x0b, willing), (0x0a, other)] {
        let mac = MacAddr([2, 0, 0, 0, last, last]);
        let is_willing = settings.willing;
        let mut ours = in_place_of(mac, settings, &capture);
        let table = ours.operative();
        assert_eq!((table.version, table.classes, table.pfc), (Some(Version::Cee), classes(60, 40), 1 << 3));
        assert_eq!((&table.applications, table.conflict), (&apps(3), Taken::default()));
        let taken = Taken { classes: is_willing, pfc: is_willing, applications: is_willing };
        assert_eq!(table.taken, taken);
        tells_what_was_told(&mut ours, mac, &capture);
    }
}

#[test]
fn the_other_keeps_its_own() {
    let capture = capture(include_bytes!("../../../fcoe/tests/golden/21-lldpad-dcbx-ieee8021qaz.pcap"));
    let ours = in_place_of(MacAddr([2, 0, 0, 0, 0x0a, 0x0a]), san(false), &capture);
    assert_eq!((ours.operative().classes, ours.operative().pfc), (classes(60, 40), 1 << 3));
    assert_eq!((ours.operative().version, ours.operative().taken), (Some(Version::Ieee), Taken::default()));
    let Some(HeardIeee { configuration: Some(theirs), pfc, .. }) = &ours.neighbours()[0].heard.ieee else { panic!() };
    assert_eq!((*theirs, *pfc), ((true, classes(60, 40)), Some((true, 1 << 3))), "it has taken them");
}

/// Two that speak no DCBX: they come, and take leave in the end.
#[test]
fn a_neighbour_without_dcbx_is_a_neighbour() {
    let capture = capture(include_bytes!("../../../fcoe/tests/golden/20-lldpad-veth-no-dcbnl.pcap"));
    let mut ours = in_place_of(MacAddr([0xb6, 0x38, 0x3a, 0x67, 0xb5, 0x9c]), san(true), &capture);
    assert_eq!((ours.neighbours().len(), ours.operative().off), (0, Some(Off::NoPeer)));
    let lines: Vec<String> = events(&mut ours).iter().map(Event::to_string).collect();
    assert_eq!(
        lines,
        [
            "neighbour ce:fd:a9:87:fe:d1 port ce:fd:a9:87:fe:d1: appeared",
            "neighbour ce:fd:a9:87:fe:d1 port ce:fd:a9:87:fe:d1 (vm): took leave"
        ]
    );
}

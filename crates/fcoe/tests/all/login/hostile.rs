//! Arbitrary frames: no panic, and bounded memory and output.

use crate::login::golden::{self, Message};
use crate::login::world::*;
use linerate_fcoe::*;
use linerate_wire::OxId;
use linerate_wire::*;
use proptest::prelude::*;

/// A header of any content, more often than by chance one that goes far.
fn header() -> impl Strategy<Value = FcHeader> {
    let r_ctl = prop_oneof![3 => Just(0x22), 3 => Just(0x23), 1 => 0x80..=0x86_u8, 1 => any::<u8>()];
    let f_ctl = prop_oneof![Just(0x29_0000), Just(0x99_0000), any::<u32>()];
    let id = || prop_oneof![4 => 0..12_u32, 1 => any::<u32>()];
    let ox_id = prop_oneof![0xf000..0xf010_u16, any::<u16>()];
    let fc_type = prop_oneof![4 => Just(1), 1 => Just(0), 1 => any::<u8>()];
    (r_ctl, f_ctl, id(), prop_oneof![4 => Just(1), 1 => id()], ox_id, fc_type).prop_map(
        |(r_ctl, f_ctl, s_id, d_id, ox_id, fc_type)| FcHeader {
            r_ctl,
            f_ctl: f_ctl & !3,
            fc_type: FcType(fc_type),
            s_id: FcId::new(s_id),
            d_id: FcId::new(d_id),
            ..request(2, 1, OxId(ox_id))
        },
    )
}

/// A payload of any content, more often than by chance one that parses.
fn payload() -> impl Strategy<Value = Vec<u8>> {
    let command = prop_oneof![
        Just(1),
        Just(2),
        Just(3),
        Just(4),
        Just(5),
        Just(0x0e),
        Just(0x10),
        Just(0x13),
        Just(0x20),
        Just(0x21),
        Just(0x52),
        any::<u8>()
    ];
    let login = (0..12_u16, any::<u16>(), command.clone()).prop_map(|(number, size, command)| {
        LoginRepr { receive_size: size & 0xfff, ..parameters(number) }.bytes(ElsCommand(command)).to_vec()
    });
    let page = (any::<u16>(), any::<u32>(), command.clone())
        .prop_map(|(flags, bits, command)| ServicePage::fcp(flags, bits).payload(ElsCommand(command)).to_vec());
    let any = (command, prop::collection::vec(any::<u8>(), 0..160)).prop_map(|(command, mut bytes)| {
        bytes.insert(0, command);
        bytes
    });
    prop_oneof![login, page, any]
}

#[derive(Debug, Clone)]
enum Step {
    Fcoe(u16, FcHeader, Vec<u8>),
    Fip(u16, bool, FcHeader, Vec<u8>),
    Beacon(u16, u16, u16),
    Gone(u16),
    Wait(u64),
    Own(Option<u16>),
    LogOut,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        12 => (0..12_u16, header(), payload()).prop_map(|(src, header, payload)| Step::Fcoe(src, header, payload)),
        8 => (0..12_u16, any::<bool>(), header(), payload())
            .prop_map(|(src, known, header, payload)| Step::Fip(src, known, header, payload)),
        8 => (0..12_u16, 0..12_u16, any::<u16>()).prop_map(|(number, id, size)| Step::Beacon(number, id, size)),
        1 => (0..12_u16).prop_map(Step::Gone),
        4 => (0..20 * SECOND).prop_map(Step::Wait),
        1 => prop_oneof![Just(None), Just(Some(1)), Just(Some(3))].prop_map(Step::Own),
        1 => Just(Step::LogOut),
    ]
}

/// A machine that has gone through these steps.
fn go(steps: Vec<Step>) -> Result<(), TestCaseError> {
    let mut logins = logins(1, BOTH);
    let mut ways = Recorder::default();
    let (mut now, mut up) = (0, std::collections::BTreeSet::new());
    for step in steps {
        let polled = matches!(step, Step::Wait(_) | Step::LogOut | Step::Own(_));
        match step {
            Step::Fcoe(src, header, payload) => {
                let bytes = fcoe(&header, &payload);
                let link = Link { src: neighbour(src, None).vn_mac, dst: neighbour(1, None).vn_mac, vlan: None };
                logins.handle(now, &link, &FcoeFrame::new_checked(&bytes).unwrap(), &mut ways);
            }
            Step::Fip(src, known, header, payload) => {
                let info = neighbour(src, None);
                let (src, neighbour) = (info.enode_mac, known.then_some(info));
                let els = TunneledEls { src, mac: Some(info.vn_mac), neighbour, header, payload: &payload };
                logins.handle_fip_els(now, &els, &mut ways);
            }
            Step::Beacon(number, id, max_fcoe_size) => {
                let info = NeighbourInfo { max_fcoe_size, ..neighbour(number, None) };
                // Now and then with the address of another.
                let fc_id = if id % 4 == 0 { FcId::new(id.into()) } else { info.fc_id };
                let info = NeighbourInfo { fc_id, vn_mac: fc_id.mac(FC_MAP), ..info };
                logins.neighbour_beacon(now, &info, &mut ways);
            }
            Step::Gone(id) => logins.neighbour_gone(now, FcId::new(id.into()), &mut ways),
            Step::Wait(time) => {
                now += time;
                logins.poll(now, &mut ways);
                prop_assert!(logins.poll_timeout().is_none_or(|next| next > now), "what was due is done");
            }
            Step::Own(own) => {
                logins.set_own(own.map(|own| (FcId::new(own.into()), neighbour(own, None).vn_mac)));
            }
            Step::LogOut => logins.log_out_all(now, &mut ways),
        }
        // One thing that comes in sends a few things at most.
        let sent = ways.take();
        prop_assert!(polled || sent.len() <= 4, "{sent:?}");
        for event in events(&mut logins) {
            match event {
                LoginEvent::Up(peer) => prop_assert!(up.insert(peer.id), "twice up"),
                LoginEvent::Down(id, _) => prop_assert!(up.remove(&id), "down, and was not up"),
                LoginEvent::Changed(peer) => prop_assert!(up.contains(&peer.id)),
                LoginEvent::NameTaken(_) | LoginEvent::Authenticated(..) | LoginEvent::Unauthenticated(..) => {}
            }
        }
        let peers: std::collections::BTreeSet<_> = logins.peers().map(|peer| peer.id).collect();
        prop_assert_eq!(&peers, &up);
        for peer in logins.peers() {
            prop_assert!((256..=2112).contains(&peer.max_payload) && peer.max_payload % 4 == 0);
            prop_assert_eq!(logins.peer_by_id(peer.fc_id), Some(peer));
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn anything_may_come(steps in prop::collection::vec(step(), 1..60)) {
        go(steps)?;
    }
}

/// Each byte of each captured link service inverted in turn.
#[test]
fn damaged_captures_are_taken_calmly() {
    for name in ["01-vn2vn-mp-discovery-login", "06-abts-unanswered-lureset-logo-relogin", "02-scsi-scan-rw-tmf-echo"] {
        for frame in golden::read(name) {
            let mut scene = Scene::ready();
            let them = scene.info;
            match frame.message {
                Message::Fcoe(bytes) => {
                    for at in 14..bytes.len() - 8 {
                        let mut bytes = bytes.clone();
                        bytes[at] ^= 0xff;
                        let Ok(seen) = FcoeFrame::new_checked(&bytes) else { continue };
                        let header = FcHeader { s_id: them.fc_id, d_id: FcId::new(1), ..*seen.header() };
                        scene.frame(them.vn_mac, &FcHeader { f_ctl: header.f_ctl & !3, ..header }, seen.payload());
                    }
                }
                Message::Fip { header, payload, .. } => {
                    for at in 0..payload.len() {
                        let mut payload = payload.clone();
                        payload[at] ^= 0xff;
                        let header = FcHeader { s_id: them.fc_id, d_id: FcId::new(1), ..header };
                        let mac = Some(them.vn_mac);
                        let els = TunneledEls { src: them.enode_mac, mac, neighbour: None, header, payload: &payload };
                        scene.logins.handle_fip_els(0, &els, &mut scene.ways);
                    }
                }
                Message::Vn2vn { .. } => continue,
            }
            let counters = scene.logins.counters();
            assert!(counters.malformed + counters.rejects_sent + counters.unknown_replies > 0, "{name}: {counters:?}");
        }
    }
}

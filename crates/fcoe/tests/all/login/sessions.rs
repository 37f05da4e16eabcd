//! Answers and endings of sessions, clause by clause: a machine on one side and the test on the other.

use crate::login::world::*;
use linerate_fcoe::*;
use linerate_wire::*;
use linerate_wire::{OxId, RxId};

/// FC-LS-3, RTV: time-outs are told and asked for; bad ones are not taken.
#[test]
fn time_outs_are_told_and_taken() {
    let mut scene = Scene::ready();
    scene.ask(&ElsRequest::Rtv);
    let accept = scene.ways.only();
    // As the captured kernel's (01, frame 21).
    assert_eq!(accept.payload, [2, 0, 0, 0, 0, 0, 0x0f, 0xa0, 0, 0, 0x07, 0xd0, 0, 0, 0, 0]);

    for (e_d_tov, qualifier, taken) in [(3000, 0, 3 * SECOND), (5_000_000, 0x0400_0000, 5_000_000), (0, 0, 2 * SECOND)]
    {
        let mut scene = Scene::new(1, TARGET, 2);
        scene.ask_fip(&ElsRequest::Flogi(parameters(2)));
        scene.ask(&ElsRequest::Plogi(parameters(2)));
        let prli = scene.ways.take().pop().unwrap();
        scene.answer(&prli, &page(ServicePage::EXECUTED, 0x1a2));
        let rtv = scene.ways.only();
        scene.answer(&rtv, &RtvAccRepr { r_a_tov: 6000, e_d_tov, qualifier }.bytes());
        let peer = *scene.logins.peers().next().unwrap();
        assert_eq!(peer.e_d_tov, taken);
        let changed = events(&mut scene.logins).contains(&LoginEvent::Changed(peer));
        assert_eq!(changed, taken != 2 * SECOND);
    }
    // R_A_TOV must be a time too, and not the lesser one.
    for (r_a_tov, e_d_tov) in [(0, 0), (600_001, 3000), (2999, 3000)] {
        let mut scene = Scene::new(1, TARGET, 2);
        scene.ask_fip(&ElsRequest::Flogi(parameters(2)));
        scene.ask(&ElsRequest::Plogi(parameters(2)));
        let prli = scene.ways.take().pop().unwrap();
        scene.answer(&prli, &page(ServicePage::EXECUTED, 0x1a2));
        let rtv = scene.ways.only();
        scene.answer(&rtv, &RtvAccRepr { r_a_tov, e_d_tov, qualifier: 0 }.bytes());
        let peer = *scene.logins.peers().next().unwrap();
        assert_eq!((peer.e_d_tov, peer.r_a_tov), (2 * SECOND, 4 * SECOND));
        assert_eq!(scene.logins.counters().malformed, 1);
    }
}

/// FC-LS-3, ADISC: ADISC is answered with our names and address; who has others than when he logged in is out.
#[test]
fn adisc_is_answered_and_checked() {
    let them = neighbour(2, None);
    let adisc = AdiscRepr { hard_address: FcId::new(0), port_name: them.wwpn, node_name: them.wwnn, id: FcId::new(2) };
    let mut scene = Scene::ready();
    scene.ask(&ElsRequest::Adisc(adisc));
    let us = neighbour(1, None);
    assert_eq!(
        AdiscRepr::parse(&scene.ways.only().payload).unwrap(),
        AdiscRepr { port_name: us.wwpn, node_name: us.wwnn, id: FcId::new(1), ..adisc }
    );
    for other in [AdiscRepr { node_name: Wwn(1), ..adisc }, AdiscRepr { id: FcId::new(3), ..adisc }] {
        let mut scene = Scene::ready();
        scene.ask(&ElsRequest::Adisc(other));
        assert_eq!(scene.ways.only().reject(), LOGIN_FIRST);
        assert!(matches!(events(&mut scene.logins)[..], [LoginEvent::Down(_, SessionEnd::Moved)]));
    }
}

/// The first beacon after a login that the neighbour began asks whether the session holds (08, frame 26): an answer
/// with other names, a reject or none ends it, and the login begins anew.
#[test]
fn the_first_beacon_after_a_login_asks_who_is_there() {
    let them = neighbour(2, None);
    let good = AdiscRepr { hard_address: FcId::new(0), port_name: them.wwpn, node_name: them.wwnn, id: FcId::new(2) };
    for (answer, holds) in [
        (Some(good), true),
        (Some(AdiscRepr { port_name: Wwn(1), ..good }), false),
        (Some(AdiscRepr { id: FcId::new(3), ..good }), false),
        (None, false),
    ] {
        let mut scene = Scene::ready();
        scene.beacon(Some(INITIATOR));
        let adisc = scene.ways.only();
        assert_eq!((adisc.command(), adisc.fip), (ElsCommand::ADISC, false));
        match answer {
            Some(answer) => scene.answer(&adisc, &answer.bytes(ElsCommand::LS_ACC)),
            None => scene.refuse(&adisc, els_reason::UNABLE, els_explanation::LOGIN_REQUIRED),
        }
        assert_eq!((events(&mut scene.logins).is_empty(), scene.ways.commands().is_empty()), (holds, holds));
        scene.beacon(Some(INITIATOR));
        assert_eq!(scene.ways.commands(), []);
    }
    let mut scene = Scene::ready();
    scene.beacon(Some(INITIATOR));
    scene.ways.take();
    assert_eq!(scene.wait(), 8);
    assert_eq!(scene.ways.commands(), [ElsCommand::FLOGI]);
    assert!(matches!(events(&mut scene.logins)[..], [LoginEvent::Down(_, SessionEnd::Silent)]));
}

/// One request at a time: what is to be asked waits for the reply to what was asked.
#[test]
fn adisc_waits_for_the_reply_to_rtv() {
    let mut scene = Scene::new(1, TARGET, 2);
    scene.ask_fip(&ElsRequest::Flogi(parameters(2)));
    scene.ask(&ElsRequest::Plogi(parameters(2)));
    let prli = scene.ways.take().pop().unwrap();
    scene.answer(&prli, &page(ServicePage::EXECUTED, 0x1a2));
    let rtv = scene.ways.only();
    scene.beacon(Some(INITIATOR));
    assert_eq!(scene.ways.commands(), []);
    scene.answer(&rtv, &RtvAccRepr { r_a_tov: 4000, e_d_tov: 2000, qualifier: 0 }.bytes());
    assert_eq!(scene.ways.commands(), [ElsCommand::ADISC]);
}

/// A neighbour that claims its address anew may have restarted: its next beacon asks again.
#[test]
fn who_claims_anew_is_asked_again() {
    let them = neighbour(2, None);
    let good = AdiscRepr { hard_address: FcId::new(0), port_name: them.wwpn, node_name: them.wwnn, id: FcId::new(2) };
    let mut scene = Scene::ready();
    scene.beacon(Some(INITIATOR));
    let adisc = scene.ways.only();
    scene.answer(&adisc, &good.bytes(ElsCommand::LS_ACC));
    scene.beacon(Some(INITIATOR));
    assert_eq!(scene.ways.commands(), []);
    scene.logins.neighbour_claimed(FcId::new(7));
    scene.beacon(Some(INITIATOR));
    assert_eq!(scene.ways.commands(), []);
    scene.logins.neighbour_claimed(FcId::new(2));
    scene.beacon(Some(INITIATOR));
    assert_eq!(scene.ways.commands(), [ElsCommand::ADISC]);
}

/// FCP-4, clause 12.3: who does not answer ABTS is logged out, and in again.
#[test]
fn who_does_not_answer_is_logged_out_and_in_again() {
    let mut scene = Scene::ready();
    let peer = scene.logins.peers().next().unwrap().id;
    let earlier = PeerId { generation: peer.generation.wrapping_sub(1), ..peer };
    scene.logins.log_in_again(scene.now, earlier, &mut scene.ways);
    assert_eq!((scene.ways.take(), events(&mut scene.logins)), (vec![], vec![]), "another session");
    scene.logins.log_in_again(scene.now, peer, &mut scene.ways);
    let logo = scene.ways.only();
    assert_eq!((logo.fip, logo.command()), (true, ElsCommand::LOGO));
    assert_eq!(events(&mut scene.logins), [LoginEvent::Down(peer, SessionEnd::Silent)]);
    scene.answer(&logo, &[2, 0, 0, 0]);
    scene.beacon(Some(INITIATOR));
    assert_eq!(scene.ways.commands(), [ElsCommand::FLOGI]);
}

/// FC-LS-3, LOGO: LOGO is accepted in FIP and in FCoE, ends the session, and the next beacon begins another.
#[test]
fn logo_is_accepted_both_ways() {
    let logo = ElsRequest::Logo(LogoRepr { id: FcId::new(2), port_name: neighbour(2, None).wwpn });
    for fip in [true, false] {
        let mut scene = Scene::ready();
        scene.ask(&ElsRequest::Logo(LogoRepr { id: FcId::new(2), port_name: Wwn(1) }));
        assert_eq!(scene.ways.only().reject(), (els_reason::LOGICAL_ERROR, els_explanation::PORT_NAME));
        match fip {
            true => scene.ask_fip(&logo),
            false => scene.ask(&logo),
        }
        let accept = scene.ways.only();
        assert_eq!((accept.fip, &accept.payload[..]), (fip, &[2, 0, 0, 0][..]));
        assert!(matches!(events(&mut scene.logins)[..], [LoginEvent::Down(_, SessionEnd::LoggedOut)]));
        scene.ask(&ElsRequest::Rtv);
        assert_eq!(scene.ways.only().reject(), LOGIN_FIRST);
        scene.beacon(Some(INITIATOR));
        assert_eq!(scene.ways.commands(), [ElsCommand::FLOGI]);
    }
}

/// FC-LS-3, LOGO: who ends says so, inside FIP; no login begins after that.
#[test]
fn logging_out_says_so_and_is_final() {
    let mut scene = Scene::ready();
    assert!(scene.logins.is_quiet());
    scene.logins.log_out_all(scene.now, &mut scene.ways);
    let logo = scene.ways.only();
    // As the captured kernel's (08, frame 33).
    assert_eq!((logo.fip, &logo.payload[..8]), (true, &[5, 0, 0, 0, 0, 0, 0, 1][..]));
    assert!(matches!(events(&mut scene.logins)[..], [LoginEvent::Down(_, SessionEnd::Shutdown)]));
    assert!(!scene.logins.is_quiet());
    scene.beacon(Some(INITIATOR));
    scene.ask_fip(&ElsRequest::Flogi(parameters(2)));
    assert_eq!(scene.ways.only().reject(), BUSY);
    scene.ask(&ElsRequest::Plogi(parameters(2)));
    assert_eq!(scene.ways.only().reject(), BUSY);
    scene.answer(&logo, &[2, 0, 0, 0]);
    assert!(scene.logins.is_quiet());
    assert_eq!(scene.logins.counters().unknown_replies, 0);
}

/// FC-BB-6, neighbour set: a neighbour without beacons is logged out.
#[test]
fn a_neighbour_that_is_gone_is_logged_out() {
    let mut scene = Scene::ready();
    scene.logins.neighbour_gone(scene.now, FcId::new(2), &mut scene.ways);
    assert_eq!(scene.ways.commands(), [ElsCommand::LOGO]);
    assert!(matches!(events(&mut scene.logins)[..], [LoginEvent::Down(_, SessionEnd::Gone)]));
    scene.ask(&ElsRequest::Plogi(parameters(2)));
    assert_eq!(scene.ways.only().reject(), NOT_NEIGHBOUR);
}

/// FC-LS-3, REC: REC is answered from the exchange, also when its RX_ID is not known; 03/17 when there is none.
#[test]
fn rec_asks_the_exchange() {
    let mut scene = Scene::ready();
    let status = ExchangeStatus { rx_id: RxId(7), transferred: 4096, status: e_stat::SEQUENCE_INITIATIVE };
    scene.ways.exchange = Some((FcId::new(2), OxId(5), status));
    let rec =
        |originator, ox_id, rx_id| ElsRequest::Rec(ExchangeRepr { originator: FcId::new(originator), ox_id, rx_id });
    for rx_id in [7, 0xffff] {
        scene.ask(&rec(2, OxId(5), RxId(rx_id)));
        let accept = RecAccRepr {
            ox_id: OxId(5),
            rx_id: RxId(7),
            originator: FcId::new(2),
            responder: FcId::new(1),
            transferred: 4096,
            status: status.status,
        };
        assert_eq!(RecAccRepr::parse(&scene.ways.only().payload), Ok(accept));
    }
    for (originator, ox_id, rx_id) in [(2, 6, 0xffff), (2, 5, 8), (1, 5, 7)] {
        scene.ask(&rec(originator, OxId(ox_id), RxId(rx_id)));
        assert_eq!(scene.ways.only().reject(), (els_reason::LOGICAL_ERROR, els_explanation::EXCHANGE));
    }
    scene.ask(&rec(3, OxId(5), RxId(7)));
    assert_eq!(scene.ways.only().reject(), (els_reason::LOGICAL_ERROR, els_explanation::ORIGINATOR));
    // Of an exchange of ours the one who asks is the responder.
    scene.ways.exchange = Some((FcId::new(1), OxId(5), status));
    scene.ask(&rec(1, OxId(5), RxId(7)));
    let accept = RecAccRepr::parse(&scene.ways.only().payload).unwrap();
    assert_eq!((accept.originator, accept.responder), (FcId::new(1), FcId::new(2)));
}

/// FC-LS-3, RRQ, ECHO, TEST: RRQ is accepted where there is such an exchange, ECHO comes back byte for byte,
/// TEST does not.
#[test]
fn rrq_echo_and_test() {
    let mut scene = Scene::ready();
    let status = ExchangeStatus { rx_id: RxId(7), transferred: 0, status: e_stat::COMPLETE | e_stat::ABNORMAL };
    scene.ways.exchange = Some((FcId::new(2), OxId(5), status));
    let rrq =
        |originator, ox_id| ElsRequest::Rrq(ExchangeRepr { originator: FcId::new(originator), ox_id, rx_id: RxId(7) });
    for (originator, ox_id) in [(2, 5), (1, 9)] {
        scene.ask(&rrq(originator, OxId(ox_id)));
        assert_eq!(scene.ways.only().payload, [2, 0, 0, 0]);
    }
    for (originator, ox_id, explanation) in [(2, 6, els_explanation::EXCHANGE), (3, 5, els_explanation::ORIGINATOR)] {
        scene.ask(&rrq(originator, OxId(ox_id)));
        assert_eq!(scene.ways.only().reject(), (els_reason::LOGICAL_ERROR, explanation));
    }
    let long = vec![7; 2108];
    for bytes in [&b"hello"[..], &[], &long] {
        scene.ask(&ElsRequest::Echo(bytes));
        assert_eq!(scene.ways.only().payload, [&[2, 0, 0, 0], bytes].concat());
        scene.ask(&ElsRequest::Test(bytes));
        assert_eq!(scene.ways.take(), []);
    }
    // An echo that does not fit into one frame is not answered.
    scene.logins = Logins::new(&LoginConfig { max_payload: 1452, ..config(1, TARGET) });
    scene.logins.set_own(Some((FcId::new(1), neighbour(1, None).vn_mac)));
    scene.beacon(Some(TARGET));
    scene.ask(&ElsRequest::Echo(&long[..1448]));
    assert_eq!(scene.ways.only().payload.len(), 1452);
    scene.ask(&ElsRequest::Echo(&long[..1452]));
    assert_eq!((scene.ways.take(), scene.logins.counters().malformed), (vec![], 1));
}

/// FC-LS-3, LS_RJT reason codes: what we do not do is refused by name, and what is cut short as well.
#[test]
fn unknown_commands_are_refused() {
    let mut scene = Scene::ready();
    for command in [0x00, 0x06, 0x0f, 0x24, 0x54, 0x60, 0x78, 0xff] {
        scene.ask_bytes(&[command, 0, 0, 0]);
        assert_eq!(scene.ways.only().reject(), (els_reason::NOT_SUPPORTED, els_explanation::NOT_SUPPORTED));
    }
    scene.ask(&ElsRequest::Fdisc(parameters(2)));
    assert_eq!(scene.ways.only().reject(), (els_reason::NOT_SUPPORTED, els_explanation::NOT_SUPPORTED));
    for command in [3, 4, 5, 0x13, 0x20, 0x52] {
        scene.ask_bytes(&[command, 0, 0, 0]);
        assert_eq!(scene.ways.only().reject(), (els_reason::PROTOCOL_ERROR, els_explanation::PAYLOAD_LENGTH));
    }
    assert_eq!(scene.logins.counters().rejects_sent, 15);
}

/// FC-FS-3, BA_RJT: there is nothing of ours to abort.
#[test]
fn an_abort_is_rejected() {
    let mut scene = Scene::ready();
    let abort = FcHeader { r_ctl: r_ctl::BLS_ABTS, fc_type: FcType::BLS, f_ctl: 0x09_0000, ..request(2, 1, OxId(4)) };
    scene.frame(neighbour(2, None).vn_mac, &abort, &[]);
    let reject = scene.ways.only();
    assert_eq!((reject.header.r_ctl, reject.header.fc_type), (r_ctl::BLS_BA_RJT, FcType::BLS));
    assert_eq!((reject.header.ox_id, &reject.payload[..]), (OxId(4), &[0, 3, 3, 0][..]));
}

/// A port that is no neighbour, or claims another's identity, cannot log in.
/// A station that has started again under another MAC address: who knows it by the one before says so, and it is told once.
#[test]
fn a_login_under_a_name_that_another_has_is_rejected_and_told() {
    let mut scene = Scene::new(1, TARGET, 2);
    scene.beacon(Some(INITIATOR));
    let mut payload = [0; 116];
    let len = ElsRequest::Flogi(parameters(2)).emit(&mut payload).unwrap();
    for from in [2, 3] {
        scene.ways.take();
        let els = TunneledEls {
            src: MacAddr([2, 9, 9, 9, 9, 9]),
            mac: None,
            neighbour: None,
            header: request(from, 1, OxId(1)),
            payload: &payload[..len],
        };
        scene.logins.handle_fip_els(scene.now, &els, &mut scene.ways);
        let reject = scene.ways.only();
        assert_eq!((reject.reject(), reject.dst), ((els_reason::LOGICAL_ERROR, els_explanation::PORT_NAME), els.src));
    }
    assert_eq!(events(&mut scene.logins), []);

    let mut scene = Scene::new(1, INITIATOR, 2);
    scene.beacon(Some(TARGET));
    for told in [&[LoginEvent::NameTaken(neighbour(2, None).wwpn)][..], &[]] {
        let flogi = scene.ways.only();
        scene.refuse(&flogi, els_reason::LOGICAL_ERROR, els_explanation::PORT_NAME);
        assert_eq!(events(&mut scene.logins), told);
        scene.wait();
    }
}

#[test]
fn strangers_and_impostors_are_refused_and_counted() {
    let mut scene = Scene::ready();
    let stranger = neighbour(3, None);
    let plogi = parameters(3).bytes(ElsCommand::PLOGI);
    scene.frame(stranger.vn_mac, &request(3, 1, OxId(1)), &plogi);
    let reject = scene.ways.only();
    assert_eq!((reject.reject(), reject.dst), (NOT_NEIGHBOUR, stranger.vn_mac));
    let els = TunneledEls {
        src: stranger.enode_mac,
        mac: None,
        neighbour: None,
        header: request(3, 1, OxId(2)),
        payload: &parameters(3).bytes(ElsCommand::FLOGI),
    };
    scene.logins.handle_fip_els(0, &els, &mut scene.ways);
    let reject = scene.ways.only();
    assert_eq!((reject.reject(), reject.dst, reject.fip), (NOT_NEIGHBOUR, stranger.enode_mac, true));
    assert_eq!(scene.logins.counters().strangers, 2);
    // LOGO of a port that is none is as good as done, TEST has no reply, all else needs a login.
    let logo = LogoRepr { id: FcId::new(3), port_name: stranger.wwpn };
    scene.frame(stranger.vn_mac, &request(3, 1, OxId(1)), &logo.bytes());
    assert_eq!(scene.ways.only().payload, [2, 0, 0, 0]);
    scene.frame(stranger.vn_mac, &request(3, 1, OxId(1)), &[ElsCommand::TEST.0, 0, 0, 0]);
    assert_eq!(scene.ways.take(), []);
    for command in [ElsCommand::RTV.0, ElsCommand::ECHO.0, 0x78] {
        scene.frame(stranger.vn_mac, &request(3, 1, OxId(1)), &[command, 0, 0, 0]);
        assert_eq!(scene.ways.only().reject(), LOGIN_FIRST);
    }

    // The neighbour's S_ID from another's MAC address.
    let prli = ServicePage::fcp(ServicePage::IMAGE_PAIR, 0x1a2).payload(ElsCommand::PRLI);
    for payload in [&parameters(2).bytes(ElsCommand::PLOGI)[..], &prli] {
        scene.frame(stranger.vn_mac, &request(2, 1, OxId(3)), payload);
        assert_eq!(scene.ways.only().reject(), NOT_NEIGHBOUR);
    }
    let logo = LogoRepr { id: FcId::new(2), port_name: neighbour(2, None).wwpn };
    scene.frame(stranger.vn_mac, &request(2, 1, OxId(4)), &logo.bytes());
    assert_eq!(scene.ways.take(), []);
    // The same inside FIP, from another ENode, or of another VN_Port.
    let them = scene.info;
    for (src, mac) in [(stranger.enode_mac, them.vn_mac), (them.enode_mac, stranger.vn_mac)] {
        let header = request(2, 1, OxId(5));
        let els = TunneledEls { src, mac: Some(mac), neighbour: None, header, payload: &logo.bytes() };
        scene.logins.handle_fip_els(0, &els, &mut scene.ways);
        assert_eq!(scene.ways.take(), []);
    }
    assert_eq!((scene.logins.counters().wrong_source, scene.logins.peers().count()), (5, 1));
    assert_eq!(events(&mut scene.logins), []);
}

/// Frames that are no whole link service for us are dropped, and counted by what is wrong.
#[test]
fn frames_that_are_none_are_dropped() {
    let mut scene = Scene::ready();
    let src = neighbour(2, None).vn_mac;
    let good = request(2, 1, OxId(1));
    let rtv = [ElsCommand::RTV.0, 0, 0, 0];
    for bad in [
        FcHeader { seq_cnt: 1, ..good },
        FcHeader { df_ctl: 1, ..good },
        FcHeader { f_ctl: 0x21_0000, ..good },
        FcHeader { f_ctl: 0xa9_0000, ..good },
        FcHeader { fc_type: FcType::FCP, ..good },
        FcHeader { r_ctl: r_ctl::ELS_REPLY, ..good },
    ] {
        scene.frame(src, &bad, &rtv);
    }
    assert_eq!(scene.logins.counters().malformed, 6);
    scene.frame(src, &FcHeader { d_id: FcId::new(7), ..good }, &rtv);
    scene.frame(src, &FcHeader { d_id: FcId::FABRIC, ..good }, &rtv);
    assert_eq!(scene.logins.counters().wrong_destination, 2);
    scene.frame(src, &FcHeader { r_ctl: r_ctl::ELS_REPLY, f_ctl: 0x99_0000, ..good }, &[2, 0, 0, 0]);
    assert_eq!(scene.logins.counters().unknown_replies, 1);
    // FC-FS-3, frame delimiters: a sequence of one frame begins with SOFi3 and ends with EOFt.
    let link = Link { src, dst: neighbour(1, None).vn_mac, vlan: None };
    for (from_end, delimiter) in [(4, Eof::N.0), (4, Eof::NI.0), (4, Eof::A.0), (0, Sof::N3.0)] {
        let mut bytes = fcoe(&good, &rtv);
        let at = if from_end == 0 { 13 } else { bytes.len() - from_end };
        bytes[at] = delimiter;
        scene.logins.handle(scene.now, &link, &FcoeFrame::new_checked(&bytes).unwrap(), &mut scene.ways);
    }
    assert_eq!((scene.ways.take(), scene.logins.counters().malformed), (vec![], 10));
}

/// FC-LS-3, reply time: a request is sent again after twice R_A_TOV, three times, and then with the next beacon.
#[test]
fn silence_is_answered_with_three_retries() {
    let mut scene = Scene::new(9, TARGET, 2);
    scene.beacon(None);
    let first = scene.ways.only();
    let mut ids = vec![first.header.ox_id];
    for _ in 0..3 {
        assert_eq!(scene.wait(), 8);
        let again = scene.ways.only();
        assert_eq!(again.payload, first.payload);
        assert!(!ids.contains(&again.header.ox_id), "an exchange that may be open has its id");
        ids.push(again.header.ox_id);
    }
    scene.answer(&first, &flogi_accept(2));
    assert_eq!(scene.logins.counters().unknown_replies, 1);
    scene.rest();
    scene.beacon(None);
    assert_eq!(scene.ways.commands(), [ElsCommand::FLOGI]);
    assert_eq!((scene.logins.counters().timeouts, scene.logins.counters().retries), (4, 3));
}

/// Busy (FC-LS-3, LS_RJT reason codes): the same after E_D_TOV, three times (07, frames 36 and 37).
#[test]
fn busy_is_tried_again_after_two_seconds() {
    let mut scene = Scene::new(9, TARGET, 2);
    scene.beacon(None);
    for round in 0..4 {
        let flogi = scene.ways.only();
        assert_eq!(flogi.command(), ElsCommand::FLOGI);
        scene.refuse(&flogi, BUSY.0, BUSY.1);
        assert_eq!(scene.ways.take(), []);
        if round < 3 {
            assert_eq!(scene.wait(), 2);
        }
    }
    scene.rest();
    // After PLOGI the N_Port session is said to be over.
    scene.beacon(None);
    let flogi = scene.ways.only();
    scene.answer(&flogi, &flogi_accept(2));
    for round in 0..4 {
        let plogi = scene.ways.only();
        scene.refuse(&plogi, BUSY.0, BUSY.1);
        if round < 3 {
            assert_eq!(scene.wait(), 2);
        }
    }
    let logo = scene.ways.only();
    assert_eq!(logo.command(), ElsCommand::LOGO);
    scene.answer(&logo, &[2, 0, 0, 0]);
    // So it is when it takes no PRLI and sends none.
    scene.beacon(None);
    let flogi = scene.ways.only();
    scene.answer(&flogi, &flogi_accept(2));
    let plogi = scene.ways.only();
    scene.answer(&plogi, &parameters(2).bytes(ElsCommand::LS_ACC));
    for round in 0..4 {
        let prli = scene.ways.only();
        assert_eq!(prli.command(), ElsCommand::PRLI);
        scene.refuse(&prli, BUSY.0, BUSY.1);
        if round < 3 {
            assert_eq!(scene.wait(), 2);
        }
    }
    assert_eq!(scene.ways.commands(), [ElsCommand::LOGO]);
}

/// Without an address, or with another, nothing is left.
#[test]
fn sessions_end_with_the_address() {
    let mut scene = Scene::ready();
    let own = (FcId::new(1), neighbour(1, None).vn_mac);
    scene.logins.set_own(Some(own));
    assert_eq!(events(&mut scene.logins), []);
    scene.logins.set_own(None);
    assert!(matches!(events(&mut scene.logins)[..], [LoginEvent::Down(_, SessionEnd::NoAddress)]));
    scene.beacon(None);
    scene.ask(&ElsRequest::Rtv);
    assert_eq!((scene.ways.take(), scene.logins.counters().wrong_destination), (vec![], 1));
    scene.logins.set_own(Some(own));
    scene.beacon(None);
    assert_eq!(scene.ways.commands(), [ElsCommand::FLOGI]);
}

/// An address that another port has now, or a port that has another address now, is another neighbour.
#[test]
fn neighbours_that_moved_are_others() {
    let old = neighbour(2, None);
    let elsewhere = NeighbourInfo { fc_id: FcId::new(5), vn_mac: FcId::new(5).mac(FC_MAP), ..old };
    let other = NeighbourInfo { wwpn: Wwn(0x2000_0000_0000_0007), ..old };
    for moved in [elsewhere, other] {
        let mut scene = Scene::ready();
        scene.logins.neighbour_beacon(scene.now, &moved, &mut scene.ways);
        assert!(matches!(events(&mut scene.logins)[..], [LoginEvent::Down(_, SessionEnd::Moved)]));
        assert_eq!(scene.ways.only().header.d_id, moved.fc_id);
        assert_eq!(scene.logins.peer_by_id(old.fc_id), None);
    }
}

/// FC-BB-6, clause 7.9.7: only a claim says how long frames may be that reach its sender. A beacon takes nothing back.
#[test]
fn a_beacon_leaves_what_the_claim_said_of_size() {
    for (said, takes) in [(1406, 1360), (0, 2112)] {
        let mut scene = Scene::new(1, TARGET, 2);
        scene.info.max_fcoe_size = said;
        scene.ask_fip(&ElsRequest::Flogi(parameters(2)));
        scene.info.max_fcoe_size = 0;
        scene.beacon(None);
        scene.ways.take();
        scene.ask(&ElsRequest::Plogi(parameters(2)));
        let prli = scene.ways.take().pop().unwrap();
        scene.answer(&prli, &page(ServicePage::EXECUTED, 0x1a2));
        let peer = scene.logins.peers().next().unwrap();
        assert_eq!(peer.max_payload, takes, "FCoE header, FC header, CRC and EOF are 46 bytes");
    }
}

/// The table is as long as it was made, and addresses are those that VN2VN has.
#[test]
fn neighbours_are_bounded() {
    let mut scene = Scene::new(1, TARGET, 2);
    for number in 2..60_000 {
        scene.logins.neighbour_beacon(0, &neighbour(number, Some(INITIATOR)), &mut scene.ways);
    }
    assert_eq!((scene.ways.take().len(), scene.logins.counters().table_full), (8, 59_998 - 8));
    for id in [0, 1, 0x01_0000, 0xff_fffe] {
        let info = NeighbourInfo { fc_id: FcId::new(id), ..neighbour(100, None) };
        scene.logins.neighbour_beacon(0, &info, &mut scene.ways);
    }
    assert_eq!((scene.ways.take(), scene.logins.counters().bad_neighbours), (vec![], 4));
    let twin = NeighbourInfo { wwpn: neighbour(1, None).wwpn, ..neighbour(100, None) };
    scene.logins.neighbour_beacon(0, &twin, &mut scene.ways);
    assert_eq!((scene.ways.take(), scene.logins.counters().bad_neighbours), (vec![], 5), "it has our name");
}

/// FC-FS-3, exchange identifiers: that of a request whose reply is awaited is not given to another.
#[test]
fn the_name_of_a_request_is_its_own_until_it_is_answered() {
    let mut scene = Scene::new(9, TARGET, 2);
    scene.beacon(None);
    let waits = scene.ways.only().header.ox_id;
    let other = neighbour(3, None);
    let logo = LogoRepr { id: FcId::new(3), port_name: other.wwpn }.bytes();
    for name in Logins::FIRST_OX_ID.0..=Logins::LAST_OX_ID.0 {
        scene.logins.neighbour_beacon(scene.now, &other, &mut scene.ways);
        assert_ne!(scene.ways.only().header.ox_id, waits);
        // It has not answered, and logs out.
        scene.frame(other.vn_mac, &request(3, 9, OxId(name)), &logo);
        scene.ways.take();
    }
}

/// A frame without room is counted, and sent again as if lost.
#[test]
fn a_full_queue_is_a_lost_frame() {
    let mut scene = Scene::new(9, TARGET, 2);
    scene.ways.full = true;
    scene.beacon(None);
    assert_eq!((scene.ways.commands().len(), scene.logins.counters().unsent), (1, 1));
    scene.ways.full = false;
    assert_eq!(scene.wait(), 8);
    assert_eq!((scene.ways.commands().len(), scene.logins.counters().unsent), (1, 1));
    // An answer is not sent again by itself: who asked asks again.
    scene.ways.full = true;
    let other = neighbour(3, None);
    let logo = LogoRepr { id: FcId::new(3), port_name: other.wwpn }.bytes();
    scene.frame(other.vn_mac, &request(3, 9, OxId(1)), &logo);
    assert_eq!((scene.ways.commands().len(), scene.logins.counters().unsent), (1, 2));
}

//! Logins of ports, FLOGI and PLOGI, clause by clause: a machine on one side and the test on the other.

use crate::login::world::*;
use linerate_fcoe::*;
use linerate_wire::*;
use linerate_wire::{OxId, RxId};

/// FC-BB-6, VN2VN login: the first beacon begins the login, inside FIP; FC-LS-3, N_Port login without a
/// fabric: the greater name sends PLOGI.
#[test]
fn the_first_beacon_begins_and_the_greater_name_goes_on() {
    let mut scene = Scene::new(9, TARGET, 2);
    scene.beacon(Some(INITIATOR));
    let flogi = scene.ways.only();
    assert_eq!((flogi.fip, flogi.dst, flogi.command()), (true, neighbour(2, None).enode_mac, ElsCommand::FLOGI));
    let header = flogi.header;
    assert_eq!((header.s_id, header.d_id, header.f_ctl), (FcId::new(9), FcId::new(2), 0x29_0000));
    assert!((Logins::FIRST_OX_ID..=Logins::LAST_OX_ID).contains(&header.ox_id));
    let ours = LoginRepr::parse(&flogi.payload).unwrap();
    assert_eq!((ours.port_name, ours.receive_size), (neighbour(9, None).wwpn, 2112));
    scene.beacon(Some(INITIATOR));
    assert_eq!(scene.ways.commands(), [], "a login is under way");

    scene.answer(&flogi, &flogi_accept(2));
    let plogi = scene.ways.only();
    assert_eq!((plogi.fip, plogi.dst, plogi.command()), (false, neighbour(2, None).vn_mac, ElsCommand::PLOGI));
    scene.answer(&plogi, &flogi_accept(2));
    let prli = scene.ways.only();
    let page = ServicePages::new_checked(&prli.payload).unwrap().fcp().unwrap();
    assert_eq!((prli.command(), page.flags, page.parameters), (ElsCommand::PRLI, 0x2000, 0x192));
    scene.answer(&prli, &self::page(ServicePage::EXECUTED, 0x1a2));
    let [LoginEvent::Up(peer)] = events(&mut scene.logins)[..] else { panic!() };
    assert_eq!((peer.role, peer.retry, peer.confirm), (INITIATOR, true, true));
    assert_eq!((peer.max_payload, peer.own, peer.fc_id), (2112, FcId::new(9), FcId::new(2)));
    assert_eq!(scene.logins.peer_by_id(FcId::new(2)), Some(&peer));
    assert_eq!(scene.logins.peer(peer.id), Some(&peer));
    assert_eq!(scene.ways.commands(), [ElsCommand::RTV]);
}

/// The lesser name waits for PLOGI, and not for ever: a Linux kernel whose own FLOGI was lost with the process that we
/// were before accepts ours and then waits for 8 s for that reply, and refuses PLOGI. LOGO makes it begin anew.
#[test]
fn the_lesser_name_waits() {
    let mut scene = Scene::new(1, TARGET, 2);
    scene.beacon(Some(INITIATOR));
    let flogi = scene.ways.only();
    scene.answer(&flogi, &flogi_accept(2));
    assert_eq!(scene.ways.commands(), []);
    assert_eq!(scene.wait(), 2);
    let logo = scene.ways.only();
    assert_eq!((logo.fip, logo.command()), (true, ElsCommand::LOGO));
    scene.answer(&logo, &[2, 0, 0, 0]);
    scene.ask_fip(&ElsRequest::Flogi(parameters(2)));
    assert_eq!(scene.ways.commands(), [ElsCommand::LS_ACC]);
    assert_eq!(scene.wait(), 16, "it has our reply, and may need its time");
    let logo = scene.ways.only();
    assert_eq!(logo.command(), ElsCommand::LOGO);
    scene.answer(&logo, &[2, 0, 0, 0]);
    scene.beacon(Some(INITIATOR));
    let flogi = scene.ways.only();
    assert_eq!(flogi.command(), ElsCommand::FLOGI);
    // Meanwhile it has nothing for us, and nothing to wait for either; later it has.
    scene.answer(&flogi, &flogi_accept(2));
    scene.beacon(Some(TARGET));
    scene.rest();
    scene.beacon(Some(INITIATOR));
    assert_eq!(scene.ways.commands(), [ElsCommand::FLOGI]);
}

/// A neighbour that answered our claim and sends no beacon is logged in to as well, unless its login has begun.
#[test]
fn who_was_there_before_us_is_not_waited_for() {
    let mut scene = Scene::new(9, TARGET, 2);
    let info = NeighbourInfo { role: Some(INITIATOR), ..scene.info };
    scene.logins.neighbour_answered(0, &info, &mut scene.ways);
    let flogi = scene.ways.only();
    assert_eq!((flogi.fip, flogi.command()), (true, ElsCommand::FLOGI));
    scene.logins.neighbour_answered(0, &info, &mut scene.ways);
    scene.beacon(Some(INITIATOR));
    assert_eq!(scene.ways.commands(), []);
}

/// FC-BB-6, VN2VN login: ports whose roles do not fit have nothing to log in for.
#[test]
fn roles_that_do_not_fit_do_not_begin() {
    for (ours, theirs, begins) in [
        (TARGET, Some(TARGET), false),
        (INITIATOR, Some(INITIATOR), false),
        (TARGET, Some(INITIATOR), true),
        (INITIATOR, Some(TARGET), true),
        (BOTH, Some(TARGET), true),
        (INITIATOR, None, true),
    ] {
        let mut scene = Scene::new(9, ours, 2);
        scene.beacon(theirs);
        assert_eq!(scene.ways.commands().len(), usize::from(begins), "{ours:?} {theirs:?}");
    }
}

/// FC-LS-3, FLOGI: FLOGI is answered the way it came; crossed with ours, the reply to ours decides.
#[test]
fn flogi_is_answered_and_may_cross() {
    let mut scene = Scene::new(9, TARGET, 2);
    scene.beacon(None);
    let ours = scene.ways.only();
    scene.ask_fip(&ElsRequest::Flogi(parameters(2)));
    let accept = scene.ways.only();
    assert_eq!((accept.fip, accept.command(), accept.header.f_ctl), (true, ElsCommand::LS_ACC, 0x99_0000));
    assert_eq!((accept.header.ox_id, accept.header.rx_id), (OxId(1), RxId::UNASSIGNED));
    assert_eq!(LoginRepr::parse(&accept.payload).unwrap().port_name, neighbour(9, None).wwpn);
    scene.answer(&ours, &flogi_accept(2));
    assert_eq!(scene.ways.commands(), [ElsCommand::PLOGI]);
    // While PLOGI is under way a FLOGI begins anew (the captured kernel: 07, frame 37).
    scene.ask_fip(&ElsRequest::Flogi(parameters(2)));
    assert_eq!(scene.ways.commands(), [ElsCommand::LS_ACC, ElsCommand::PLOGI]);
}

/// A FLOGI of a port that is logged in: busy, its session is over, and the login begins anew (07, frames 31 to 33).
#[test]
fn flogi_of_a_logged_in_port_is_busy_and_ends_the_session() {
    let mut scene = Scene::ready();
    scene.ask_fip(&ElsRequest::Flogi(parameters(2)));
    let sent = scene.ways.take();
    assert_eq!((sent[0].reject(), sent[0].fip, sent[1].command()), (BUSY, true, ElsCommand::FLOGI));
    assert!(matches!(events(&mut scene.logins)[..], [LoginEvent::Down(_, SessionEnd::LoginAgain)]));
    assert_eq!(scene.logins.peer_by_id(FcId::new(2)), None);
}

/// The same while processes log in: the N_Ports are logged in already.
#[test]
fn flogi_during_process_login_begins_anew() {
    let mut scene = Scene::new(9, TARGET, 2);
    scene.beacon(None);
    let flogi = scene.ways.only();
    scene.answer(&flogi, &flogi_accept(2));
    let plogi = scene.ways.only();
    scene.answer(&plogi, &flogi_accept(2));
    assert_eq!(scene.ways.commands(), [ElsCommand::PRLI]);
    scene.ask_fip(&ElsRequest::Flogi(parameters(2)));
    let sent = scene.ways.take();
    assert_eq!((sent.len(), sent[0].reject(), sent[1].command()), (2, BUSY, ElsCommand::FLOGI));
}

/// FC-LS-3, FLOGI: it may go to the F_Port's address, whose part each VN_Port takes.
#[test]
fn flogi_to_the_fabrics_address_is_ours() {
    let mut scene = Scene::new(1, TARGET, 2);
    let header = FcHeader { d_id: FcId::FABRIC, ..request(2, 1, OxId(1)) };
    scene.fip(&header, &parameters(2).bytes(ElsCommand::FLOGI));
    let accept = scene.ways.only();
    assert_eq!((accept.command(), accept.header.s_id), (ElsCommand::LS_ACC, FcId::FABRIC));
}

/// FC-LS-3, LS_RJT explanations: what is wrong with service parameters is said.
#[test]
fn bad_service_parameters_are_refused_with_their_reason() {
    let good = parameters(2);
    let bad = [
        (LoginRepr { port_name: Wwn(1), ..good }, els_explanation::PORT_NAME),
        (LoginRepr { node_name: Wwn(1), ..good }, els_explanation::NODE_NAME),
        (LoginRepr { class_3: ClassParameters { options: 0, ..good.class_3 }, ..good }, els_explanation::OPTIONS),
        (LoginRepr { receive_size: 252, ..good }, els_explanation::RECEIVE_SIZE),
        (
            LoginRepr { class_3: ClassParameters { receive_size: 252, ..good.class_3 }, ..good },
            els_explanation::RECEIVE_SIZE,
        ),
    ];
    for (i, (login, explanation)) in bad.into_iter().enumerate() {
        let mut scene = Scene::new(1, TARGET, 2);
        if i < 4 {
            scene.ask_fip(&ElsRequest::Flogi(login));
            assert_eq!(scene.ways.only().reject(), (els_reason::LOGICAL_ERROR, explanation));
        }
        scene.ask_fip(&ElsRequest::Flogi(good));
        assert_eq!(scene.ways.commands(), [ElsCommand::LS_ACC]);
        scene.ask(&ElsRequest::Plogi(login));
        assert_eq!(scene.ways.only().reject(), (els_reason::LOGICAL_ERROR, explanation));
    }
    // FC-LS-3, receive data field size: 256 is the least there is.
    let mut scene = Scene::new(1, TARGET, 2);
    let class_3 = ClassParameters { receive_size: 256, ..good.class_3 };
    let least = LoginRepr { receive_size: 256, class_3, ..good };
    scene.ask_fip(&ElsRequest::Flogi(LoginRepr { receive_size: 256, ..good }));
    assert_eq!(scene.ways.commands(), [ElsCommand::LS_ACC]);
    scene.ask(&ElsRequest::Plogi(least));
    assert_eq!(scene.ways.commands(), [ElsCommand::LS_ACC, ElsCommand::PRLI]);
    scene.prli(0x1a2);
    assert_eq!(scene.logins.peers().next().unwrap().max_payload, 256);
}

/// The same when they come as an answer: the login is tried again later.
#[test]
fn bad_service_parameters_are_not_taken_as_an_answer() {
    let bad = LoginRepr { port_name: Wwn(1), ..parameters(2) }.bytes(ElsCommand::LS_ACC);
    let mut scene = Scene::new(9, TARGET, 2);
    scene.beacon(None);
    let flogi = scene.ways.only();
    scene.answer(&flogi, &bad);
    assert_eq!((scene.ways.commands(), scene.wait()), (vec![], 2));
    let flogi = scene.ways.only();
    assert_eq!(flogi.command(), ElsCommand::FLOGI);
    scene.answer(&flogi, &flogi_accept(2));
    let plogi = scene.ways.only();
    scene.answer(&plogi, &bad);
    assert_eq!((scene.ways.commands(), scene.wait()), (vec![], 2));
    assert_eq!(scene.ways.commands(), [ElsCommand::PLOGI]);
}

/// A reply counts that comes from whom the request went to.
#[test]
fn a_reply_from_another_station_is_none() {
    let mut scene = Scene::new(9, TARGET, 2);
    scene.beacon(None);
    let flogi = scene.ways.only();
    scene.answer(&flogi, &flogi_accept(2));
    let plogi = scene.ways.only();
    scene.frame(neighbour(3, None).vn_mac, &reply(&plogi), &flogi_accept(2));
    assert_eq!((scene.ways.take(), scene.logins.counters().wrong_source), (vec![], 1));
    scene.answer(&plogi, &flogi_accept(2));
    assert_eq!(scene.ways.commands(), [ElsCommand::PRLI]);
}

/// FC-BB-6, VN2VN login: who turns out to have nothing for us is not logged in to, though our name is the greater.
#[test]
fn a_role_that_becomes_known_may_end_a_login() {
    let mut scene = Scene::new(9, TARGET, 2);
    scene.beacon(None);
    let flogi = scene.ways.only();
    scene.beacon(Some(TARGET));
    scene.answer(&flogi, &flogi_accept(2));
    scene.rest();
    scene.beacon(Some(INITIATOR));
    assert_eq!(scene.ways.commands(), [ElsCommand::FLOGI]);
}

/// Payload of a frame: the least of both receive sizes and the path's limit (FC-LS-3, receive data field size).
#[test]
fn the_payload_is_the_least_of_all_limits() {
    for (common, class, reaches, ours, agreed) in [
        (2112, 2112, 2158, 2112, 2112),
        (2112, 1452, 2158, 2112, 1452),
        (1024, 2112, 2158, 2112, 1024),
        (2112, 2112, 1498, 2112, 1452),
        (2112, 2112, 0, 1452, 1452),
        (2111, 2112, 2158, 2112, 2108),
        (2112, 2112, 100, 2112, 256),
    ] {
        let mut logins = Logins::new(&LoginConfig { max_payload: ours, ..config(1, TARGET) });
        logins.set_own(Some((FcId::new(1), neighbour(1, None).vn_mac)));
        let mut scene = Scene::new(1, TARGET, 2);
        scene.logins = logins;
        scene.info.max_fcoe_size = reaches;
        scene.beacon(None);
        let flogi = scene.ways.only();
        assert_eq!(LoginRepr::parse(&flogi.payload).unwrap().receive_size, ours);
        scene.answer(&flogi, &flogi_accept(2));
        let good = parameters(2);
        let class_3 = ClassParameters { receive_size: class, ..good.class_3 };
        scene.ask(&ElsRequest::Plogi(LoginRepr { receive_size: common, class_3, ..good }));
        scene.prli(0x1a2);
        assert_eq!(scene.logins.peers().next().unwrap().max_payload, agreed);
    }
}

/// FCP-4, PRLI: retries and confirmed completion are what both sides said they do.
#[test]
fn a_feature_is_one_of_both_sides() {
    for (retry, confirm, theirs) in [(true, false, 0x1a2), (false, true, 0x1a2), (true, true, 0x22)] {
        let mut scene = Scene::new(1, TARGET, 2);
        scene.logins = Logins::new(&LoginConfig { retry, confirm, ..config(1, TARGET) });
        scene.logins.set_own(Some((FcId::new(1), neighbour(1, None).vn_mac)));
        scene.ask_fip(&ElsRequest::Flogi(parameters(2)));
        scene.ask(&ElsRequest::Plogi(parameters(2)));
        let prli = scene.ways.take().pop().unwrap();
        let said = ServicePages::new_checked(&prli.payload).unwrap().fcp().unwrap().parameters;
        let bits = if retry { 0x100 } else { 0 } | if confirm { 0x80 } else { 0 };
        assert_eq!(said, 0x12 | bits);
        scene.prli(theirs);
        let peer = scene.logins.peers().next().unwrap();
        assert_eq!((peer.retry, peer.confirm), (retry && theirs == 0x1a2, confirm && theirs == 0x1a2));
    }
}

/// FC-LS-3, PLOGI: a PLOGI that crosses ours is refused by the greater name and taken by the lesser; while FLOGI is
/// under way it is too early.
#[test]
fn plogi_may_cross() {
    let mut scene = Scene::new(9, TARGET, 2);
    scene.beacon(None);
    let flogi = scene.ways.only();
    scene.ask(&ElsRequest::Plogi(parameters(2)));
    assert_eq!(scene.ways.only().reject(), BUSY);
    scene.answer(&flogi, &flogi_accept(2));
    let plogi = scene.ways.only();
    scene.ask(&ElsRequest::Plogi(parameters(2)));
    assert_eq!(scene.ways.only().reject(), (els_reason::IN_PROGRESS, els_explanation::NONE));
    scene.answer(&plogi, &flogi_accept(2));
    assert_eq!(scene.ways.commands(), [ElsCommand::PRLI]);
}

/// The PLOGI of a neighbour may overtake its reply to our FLOGI. It is refused, and comes again after E_D_TOV: our patience must
/// not end at the same moment, or our LOGO could meet the session that this one begins.
#[test]
fn a_plogi_that_came_too_early_is_waited_for() {
    for early in [false, true] {
        let mut scene = Scene::new(1, TARGET, 2);
        scene.beacon(Some(INITIATOR));
        let flogi = scene.ways.only();
        if early {
            scene.ask(&ElsRequest::Plogi(parameters(2)));
            assert_eq!(scene.ways.only().reject(), BUSY);
        }
        scene.answer(&flogi, &flogi_accept(2));
        let waited = scene.wait();
        assert_eq!((scene.ways.only().command(), waited), (ElsCommand::LOGO, if early { 16 } else { 2 }));
    }
}

/// FC-LS-3, PLOGI: a PLOGI of a logged-in port ends its session and begins another.
#[test]
fn plogi_of_a_logged_in_port_is_a_new_session() {
    let mut scene = Scene::ready();
    let before = *scene.logins.peers().next().unwrap();
    scene.ask(&ElsRequest::Plogi(parameters(2)));
    assert_eq!(scene.ways.commands(), [ElsCommand::LS_ACC, ElsCommand::PRLI]);
    scene.prli(0x1a2);
    let [LoginEvent::Down(id, SessionEnd::LoginAgain), LoginEvent::Up(after)] = events(&mut scene.logins)[..] else {
        panic!()
    };
    assert_eq!((id, after.id.index), (before.id, before.id.index));
    assert_ne!(before.id.generation, after.id.generation);
    assert_eq!(scene.logins.peer(before.id), None);
}

/// FC-LS-3, LS_RJT: who is not logged in is told to; a PRLI that overtakes the LS_ACC to our PLOGI is busy.
#[test]
fn without_a_login_nothing_else_is_answered() {
    let asked = ExchangeRepr { originator: FcId::new(2), ox_id: OxId(1), rx_id: RxId::UNASSIGNED };
    let adisc = AdiscRepr {
        hard_address: FcId::new(0),
        port_name: neighbour(2, None).wwpn,
        node_name: neighbour(2, None).wwnn,
        id: FcId::new(2),
    };
    let mut scene = Scene::new(9, TARGET, 2);
    scene.beacon(None);
    let flogi = scene.ways.only();
    for request in [ElsRequest::Rtv, ElsRequest::Rec(asked), ElsRequest::Rrq(asked), ElsRequest::Adisc(adisc)] {
        scene.ask(&request);
        assert_eq!(scene.ways.only().reject(), LOGIN_FIRST, "{request:?}");
    }
    scene.prli(0x1a2);
    assert_eq!(scene.ways.only().reject(), LOGIN_FIRST);
    scene.answer(&flogi, &flogi_accept(2));
    assert_eq!(scene.ways.commands(), [ElsCommand::PLOGI]);
    scene.prli(0x1a2);
    assert_eq!(scene.ways.only().reject(), BUSY);
}

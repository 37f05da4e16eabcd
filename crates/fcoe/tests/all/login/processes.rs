//! Logins of processes, PRLI and PRLO, clause by clause: a machine on one side and the test on the other.

use crate::login::world::*;
use linerate_fcoe::*;
use linerate_wire::*;

/// FC-LS-3, PRLI; FCP-4, PRLI: crossed PRLIs are both answered and make one session; a page of another type, or of a
/// role that does not fit, is answered with its code.
#[test]
fn prli_is_answered_page_by_page() {
    let mut scene = Scene::ready();
    let mut payload = [0; 64];
    let pages = [
        ServicePage { fc_type: FcType(0x28), ..ServicePage::fcp(ServicePage::IMAGE_PAIR, 7) },
        ServicePage::fcp(ServicePage::IMAGE_PAIR, 0x1a2),
    ];
    let len = ServicePages::emit(ElsCommand::PRLI, pages.into_iter(), &mut payload).unwrap();
    scene.ask_bytes(&payload[..len]);
    let accept = scene.ways.only();
    let answered: Vec<_> = ServicePages::new_checked(&accept.payload).unwrap().iter().collect();
    assert_eq!((answered[0].response(), answered[0].parameters), (ServicePage::INVALID, 0));
    assert_eq!((answered[1].flags, answered[1].parameters), (0x2100, 0x192));
    assert_eq!(events(&mut scene.logins), [], "the same once more");
    scene.prli(fcp_service::TARGET);
    let page = ServicePages::new_checked(&scene.ways.only().payload).unwrap().fcp().unwrap();
    assert_eq!(page.flags, ServicePage::EXECUTED, "no image pair");
    scene.prli(fcp_service::INITIATOR);
    assert!(matches!(events(&mut scene.logins)[..], [LoginEvent::Changed(Peer { retry: false, confirm: false, .. })]));
    scene.ask_bytes(&[0x20, 15, 0, 20, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    scene.ways.take();
    scene.ask_bytes(&[0x20, 16, 0, 20, 8]);
    assert_eq!(scene.ways.only().reject(), (els_reason::PROTOCOL_ERROR, els_explanation::PAYLOAD_LENGTH));
    assert_eq!(scene.logins.counters().malformed, 2);
}

/// FC-LS-3, PRLI: the reply repeats nothing of the request's flags but the image pair, and establishes none that was not
/// asked for.
#[test]
fn prli_flags_are_answered_as_they_are_meant() {
    let mut scene = Scene::ready();
    let prli = |flags| ServicePage::fcp(flags, 0x1a2).payload(ElsCommand::PRLI);
    scene.ask_bytes(&prli(0xe000));
    let page = |scene: &mut Scene| ServicePages::new_checked(&scene.ways.only().payload).unwrap().fcp().unwrap();
    assert_eq!(page(&mut scene).flags, 0x2100, "associators are not used");
    scene.ask_bytes(&ServicePage::fcp(0, 0).payload(ElsCommand::PRLO));
    scene.ways.take();
    events(&mut scene.logins);
    scene.ask_bytes(&prli(0));
    assert_eq!((page(&mut scene).flags, events(&mut scene.logins)), (0x0100, vec![]));
}

/// Ours is refused because the peer knows of no N_Port login: the next beacon begins anew.
#[test]
fn prli_without_a_login_over_there_begins_anew() {
    let mut scene = Scene::new(9, TARGET, 2);
    scene.beacon(None);
    let flogi = scene.ways.only();
    scene.answer(&flogi, &flogi_accept(2));
    let plogi = scene.ways.only();
    scene.answer(&plogi, &flogi_accept(2));
    let prli = scene.ways.only();
    scene.refuse(&prli, LOGIN_FIRST.0, LOGIN_FIRST.1);
    scene.rest();
    scene.beacon(None);
    assert_eq!(scene.ways.commands(), [ElsCommand::FLOGI]);
}

/// A session that the other side's PRLI has made does not end because ours is not answered.
#[test]
fn prli_that_is_not_answered_ends_no_session() {
    let mut scene = Scene::new(1, TARGET, 2);
    scene.ask_fip(&ElsRequest::Flogi(parameters(2)));
    scene.ask(&ElsRequest::Plogi(parameters(2)));
    scene.prli(0x1a2);
    scene.ways.take();
    assert!(matches!(events(&mut scene.logins)[..], [LoginEvent::Up(_)]));
    for _ in 0..3 {
        assert_eq!((scene.wait(), scene.ways.commands()), (8, vec![ElsCommand::PRLI]));
    }
    assert_eq!((scene.wait(), scene.ways.commands()), (8, vec![ElsCommand::RTV]));
    assert_eq!((events(&mut scene.logins), scene.logins.peers().count()), (vec![], 1));
}

/// FCP-4, PRLI: a target knows an initiator by its PRLI. An initiator begins when its own is answered, a target as soon
/// as it answered.
#[test]
fn a_session_is_up_when_commands_can_go() {
    for (ours, theirs, at_once) in [(TARGET, 0x22, true), (INITIATOR, 0x12, false), (BOTH, 0x32, true)] {
        let mut scene = Scene::new(1, ours, 2);
        scene.ask_fip(&ElsRequest::Flogi(parameters(2)));
        scene.ask(&ElsRequest::Plogi(parameters(2)));
        let prli = scene.ways.take().pop().unwrap();
        scene.prli(theirs);
        assert_eq!(events(&mut scene.logins).len(), usize::from(at_once), "{ours:?}");
        scene.answer(&prli, &page(ServicePage::EXECUTED, theirs));
        assert_eq!(events(&mut scene.logins).len(), usize::from(!at_once), "{ours:?}");
    }
}

/// FC-LS-3, PRLI response codes: an answer without an image pair is no process login (tcm_fc without an ACL); it is
/// tried again with the next beacon.
#[test]
fn an_answer_without_image_pair_is_no_session() {
    let mut scene = Scene::new(9, INITIATOR, 2);
    scene.beacon(None);
    let flogi = scene.ways.only();
    scene.answer(&flogi, &flogi_accept(2));
    let plogi = scene.ways.only();
    scene.answer(&plogi, &flogi_accept(2));
    for flags in [ServicePage::EXECUTED, ServicePage::IMAGE_PAIR | ServicePage::NO_IMAGE, ServicePage::INVALID] {
        let prli = scene.ways.only();
        scene.answer(&prli, &ServicePage::fcp(flags, 0xb2).payload(ElsCommand::LS_ACC));
        assert_eq!((events(&mut scene.logins), scene.ways.commands()), (vec![], vec![]));
        scene.beacon(None);
    }
    let prli = scene.ways.only();
    scene.answer(&prli, &page(ServicePage::EXECUTED, 0xb2));
    assert!(matches!(events(&mut scene.logins)[..], [LoginEvent::Up(Peer { role: BOTH, .. })]));
}

/// FCP-4, PRLI: a peer that turns out to have nothing for us is no session, and is not asked again.
#[test]
fn an_answer_of_a_role_that_does_not_fit_is_no_session() {
    let mut scene = Scene::new(9, INITIATOR, 2);
    scene.beacon(None);
    let flogi = scene.ways.only();
    scene.answer(&flogi, &flogi_accept(2));
    let plogi = scene.ways.only();
    scene.answer(&plogi, &flogi_accept(2));
    let prli = scene.ways.only();
    scene.answer(&prli, &page(ServicePage::EXECUTED, 0x1a2));
    scene.beacon(None);
    assert_eq!((events(&mut scene.logins), scene.ways.commands()), (vec![], vec![]));
    scene.beacon(Some(TARGET));
    assert_eq!(scene.ways.commands(), [ElsCommand::PRLI]);
}

/// FC-LS-3, PRLO: PRLO ends the image pair; the N_Ports stay logged in.
#[test]
fn prlo_ends_the_process_only() {
    let mut scene = Scene::ready();
    scene.ask_bytes(&ServicePage::fcp(0, 0).payload(ElsCommand::PRLO));
    let page = ServicePages::new_checked(&scene.ways.only().payload).unwrap().fcp().unwrap();
    assert_eq!(page.flags, ServicePage::EXECUTED);
    assert!(matches!(events(&mut scene.logins)[..], [LoginEvent::Down(_, SessionEnd::ProcessLoggedOut)]));
    scene.ask(&ElsRequest::Rtv);
    assert_eq!(scene.ways.commands(), [ElsCommand::LS_ACC]);
    scene.prli(0x1a2);
    assert!(matches!(events(&mut scene.logins)[..], [LoginEvent::Up(_)]));
    assert_eq!(scene.ways.commands(), [ElsCommand::LS_ACC, ElsCommand::RTV], "it is a session as any other");
}

/// FC-LS-3, PRLO: of another type there is nothing to end.
#[test]
fn prlo_of_another_type_ends_nothing() {
    let mut scene = Scene::ready();
    let page = ServicePage { fc_type: FcType(0x28), ..ServicePage::fcp(0, 7) };
    scene.ask_bytes(&page.payload(ElsCommand::PRLO));
    let answer: Vec<_> = ServicePages::new_checked(&scene.ways.only().payload).unwrap().iter().collect();
    assert_eq!(answer, [ServicePage { flags: ServicePage::INVALID, parameters: 0, ..page }]);
    assert_eq!((events(&mut scene.logins), scene.logins.peers().count()), (vec![], 1));
}

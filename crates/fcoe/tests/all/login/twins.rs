//! Logins and logouts that a network delivers twice, the second one late.

use crate::login::world::*;
use linerate_fcoe::*;
use linerate_wire::*;

const MILLISECOND: u64 = 1_000_000;

impl Scene {
    /// Requests that have come, in their order.
    fn asked(&self) -> Vec<Sent> {
        let asked = |sent: &&Sent| sent.header.s_id == FcId::new(2) && sent.header.r_ctl == r_ctl::ELS_REQUEST;
        self.trace.iter().filter(asked).cloned().collect()
    }

    /// A frame comes again.
    fn again(&mut self, sent: &Sent) {
        match sent.fip {
            true => self.fip(&sent.header, &sent.payload),
            false => self.frame(self.info.vn_mac, &sent.header, &sent.payload),
        }
    }
}

/// FC-LS-3: FLOGI and PLOGI end the session before them, but not the one that they have begun themselves.
#[test]
fn a_login_that_comes_twice_leaves_its_session_alone() {
    let mut scene = Scene::ready();
    let asked = scene.asked();
    let commands: Vec<_> = asked.iter().map(Sent::command).collect();
    assert_eq!(commands, [ElsCommand::FLOGI, ElsCommand::PLOGI, ElsCommand::PRLI]);
    scene.now += 40 * MILLISECOND - 1;
    asked.iter().rev().for_each(|sent| scene.again(sent));
    assert_eq!((scene.ways.take(), events(&mut scene.logins)), (vec![], vec![]));
    assert_eq!((scene.logins.counters().twins, scene.logins.peers().count()), (3, 1));
}

/// What differs in a byte, or comes later than a network holds frames back, is a login of its own.
#[test]
fn a_login_that_is_another_one_ends_the_session() {
    let mut scene = Scene::ready();
    scene.now += 40 * MILLISECOND;
    let plogi = scene.asked()[1].clone();
    scene.again(&plogi);
    assert!(matches!(events(&mut scene.logins)[..], [LoginEvent::Down(_, SessionEnd::LoginAgain)]), "later");
    for other in [
        Sent { header: FcHeader { ox_id: OxId(9), ..plogi.header }, ..plogi.clone() },
        Sent { payload: parameters_with_credit(11), ..plogi },
    ] {
        let mut scene = Scene::ready();
        scene.again(&other);
        assert!(matches!(events(&mut scene.logins)[..], [LoginEvent::Down(_, SessionEnd::LoginAgain)]));
        assert_eq!(scene.ways.commands(), [ElsCommand::LS_ACC, ElsCommand::PRLI]);
        assert_eq!(scene.logins.counters().twins, 0);
    }
}

fn parameters_with_credit(bb_credit: u16) -> Vec<u8> {
    let mut payload = vec![0; LoginRepr::LEN];
    ElsRequest::Plogi(LoginRepr { bb_credit, ..parameters(2) }).emit(&mut payload).unwrap();
    payload
}

/// A logout ends one session only, and after it Linux may log in again with the same OX_IDs at once.
#[test]
fn a_logout_that_comes_twice_leaves_the_next_session_alone() {
    let mut scene = Scene::ready();
    let asked = scene.asked();
    scene.ask_fip(&ElsRequest::Logo(LogoRepr { id: FcId::new(2), port_name: neighbour(2, None).wwpn }));
    let logo = scene.asked().pop().unwrap();
    assert_eq!(scene.ways.commands(), [ElsCommand::LS_ACC]);
    assert!(matches!(events(&mut scene.logins)[..], [LoginEvent::Down(_, SessionEnd::LoggedOut)]));
    asked.iter().for_each(|sent| scene.again(sent));
    assert!(matches!(events(&mut scene.logins)[..], [LoginEvent::Up(_)]), "{:?}", scene.logins.counters());
    scene.ways.take();
    scene.again(&logo);
    assert_eq!((scene.ways.take(), events(&mut scene.logins)), (vec![], vec![]));
    assert_eq!((scene.logins.counters().twins, scene.logins.peers().count()), (1, 1));
}

//! Authentication between PLOGI and PRLI: who is let in, who is not, and what goes over the wire.

use crate::login::pairs::{BEACONS, Loss, Pair, number};
use crate::login::world::*;
use linerate_fcoe::*;
use linerate_wire::*;
use std::collections::{BTreeMap, BTreeSet};

const AUTHENTICATE_FIRST: (u8, u8) = (els_reason::LOGICAL_ERROR, els_explanation::AUTHENTICATION);
/// Side of a pair.
const FIRST: usize = 0;
const SECOND_SIDE: usize = 1;

fn secret(text: &str) -> Secret {
    Secret::new(text.as_bytes()).unwrap()
}

/// The secret of a port, by its number.
fn of(port: u16) -> Secret {
    secret(&format!("the secret of port {port}"))
}

fn name(port: u16) -> Wwn {
    neighbour(port, None).wwpn
}

/// A port with its own secret, and those of others.
fn knows(own: u16, others: &[u16], all: bool) -> AuthConfig {
    let names: BTreeMap<_, _> = others.iter().map(|port| (name(*port), of(*port))).collect();
    AuthConfig { own: Some(of(own)), names, all, open: BTreeSet::new() }
}

/// A target that lets nobody in without a proof, and an initiator that proves its name; the second port is the greater name.
fn pair(roles: [Role; 2], mutual: bool, beacons: [u64; 2], loss: Loss) -> Pair {
    let mut pair = Pair::new(roles, beacons, loss);
    for side in [FIRST, SECOND_SIDE] {
        let (own, other) = (number(side), number(1 - side));
        let target = roles[side].target;
        let others = if target || mutual { &[other][..] } else { &[] };
        pair.sides[side].authenticate_with(knows(own, others, target), [side.to_be_bytes()[7]; 32]);
    }
    pair
}

/// Change of a port's secrets; None for a port without any.
type Change = Option<fn(&mut AuthConfig)>;

const ROLES: [[Role; 2]; 2] = [[TARGET, INITIATOR], [INITIATOR, TARGET]];

/// Reasons for which logins were given up, by side.
fn failures(pair: &Pair) -> [Vec<AuthFailure>; 2] {
    [FIRST, SECOND_SIDE].map(|side| {
        let why = |event: &LoginEvent| match event {
            LoginEvent::Unauthenticated(_, why) => Some(*why),
            _ => None,
        };
        pair.events[side].iter().filter_map(why).collect()
    })
}

/// Proofs of the peer's name, by side.
fn proofs(pair: &Pair) -> [Vec<AuthProof>; 2] {
    [FIRST, SECOND_SIDE].map(|side| {
        let proof = |event: &LoginEvent| match event {
            LoginEvent::Authenticated(_, proof) => Some(*proof),
            _ => None,
        };
        pair.events[side].iter().filter_map(proof).collect()
    })
}

#[test]
fn who_knows_its_secret_is_let_in_once() {
    for roles in ROLES {
        for beacons in BEACONS {
            for mutual in [false, true] {
                let mut pair = pair(roles, mutual, beacons, Loss::One(usize::MAX));
                pair.run(100 * SECOND);
                assert_eq!((pair.is_up(), pair.ups()), (true, [1, 1]), "{roles:?} {beacons:?} {:?}", pair.events);
                let target = usize::from(!roles[FIRST].target);
                let proof = AuthProof { hash: "SHA-1", bits: 2048, theirs: true, ours: mutual };
                let [ref first, ref second] = proofs(&pair);
                let [theirs, ours] = if target == FIRST { [first, second] } else { [second, first] };
                assert_eq!(
                    (&theirs[..], &ours[..]),
                    (&[proof][..], &[AuthProof { theirs: mutual, ours: true, ..proof }][..])
                );
                for (side, peer) in pair.sides.iter().map(|side| side.peers().next().unwrap()).enumerate() {
                    assert_eq!(peer.authenticated, mutual || side == target);
                }
                for side in &pair.sides {
                    let counters = side.counters();
                    assert_eq!((counters.rejects, counters.timeouts, counters.unknown_replies), (0, 0, 0));
                    assert_eq!(side.auth_counters().unwrap().done, 1);
                }
            }
        }
    }
}

/// Two that are target and initiator each have one begin, and prove both names.
#[test]
fn two_that_are_both_prove_both_names() {
    for beacons in BEACONS {
        let mut pair = pair([BOTH, BOTH], true, beacons, Loss::One(usize::MAX));
        pair.run(100 * SECOND);
        assert_eq!((pair.is_up(), pair.ups()), (true, [1, 1]), "{beacons:?} {:?}", pair.events);
        assert!(proofs(&pair).iter().flatten().all(|proof| proof.theirs && proof.ours));
    }
}

#[test]
fn who_has_no_secret_or_a_wrong_one_stays_out() {
    for roles in ROLES {
        let target = usize::from(!roles[FIRST].target);
        let initiator = 1 - target;
        let cases: [(Change, Change, AuthFailure, Option<AuthFailure>); 4] = [
            // The initiator has no secrets at all.
            (None, Some(|_| {}), AuthFailure::Demanded, None),
            // The initiator's is another one.
            (
                Some(|config| config.own = Some(secret("an unknown secret"))),
                Some(|_| {}),
                AuthFailure::Refused,
                Some(AuthFailure::Wrong),
            ),
            // The target does not know the initiator.
            (Some(|_| {}), Some(|config| config.names.clear()), AuthFailure::Refused, Some(AuthFailure::Unknown)),
            // The initiator expects another secret of the target.
            (
                Some(|config| config.names.values_mut().for_each(|known| *known = secret("an unknown secret"))),
                Some(|_| {}),
                AuthFailure::Wrong,
                Some(AuthFailure::Refused),
            ),
        ];
        for (ours, theirs, told, tells) in cases {
            let mut pair = Pair::new(roles, [0, 0], Loss::One(usize::MAX));
            for (side, change) in [(initiator, ours), (target, theirs)] {
                let Some(change) = change else { continue };
                let mut config = knows(number(side), &[number(1 - side)], side == target);
                change(&mut config);
                pair.sides[side].authenticate_with(config, [7; 32]);
            }
            pair.run(200 * SECOND);
            assert_eq!(pair.ups(), [0, 0], "{told:?}");
            assert_eq!((pair.sides[0].peers().count(), pair.sides[1].peers().count()), (0, 0));
            let failed = failures(&pair);
            assert_eq!(
                (failed[initiator].first(), failed[target].first()),
                (Some(&told), tells.as_ref()),
                "{failed:?}"
            );
            let counted: Vec<_> = pair.sides[target].auth_failures().collect();
            let expected = failed[target].len() as u64;
            assert_eq!(counted, if expected > 0 { vec![(name(number(initiator)), expected)] } else { Vec::new() });
            // Between beacons of 8 s, waits of up to 32 s: a guesser does not get far.
            let wrong = failed[target].iter().filter(|why| **why == AuthFailure::Wrong).count();
            assert!(wrong < 15, "{wrong} guesses in 200 s");
        }
    }
}

/// An initiator that asks for a proof goes to no target that has none, and a target without secrets lets one in that has some.
#[test]
fn a_target_without_secrets_serves_those_that_ask_for_no_proof() {
    for (mutual, ups) in [(false, [1, 1]), (true, [0, 0])] {
        for roles in ROLES {
            let initiator = usize::from(!roles[FIRST].initiator);
            let mut pair = Pair::new(roles, [0, 0], Loss::One(usize::MAX));
            let others = if mutual { vec![number(1 - initiator)] } else { Vec::new() };
            pair.sides[initiator].authenticate_with(knows(number(initiator), &others, false), [7; 32]);
            pair.run(50 * SECOND);
            assert_eq!(pair.ups(), ups);
            assert_eq!(failures(&pair)[initiator].first(), mutual.then_some(&AuthFailure::NotOffered));
        }
    }
}

/// Names that are open come in without a proof, until they are open no more.
#[test]
fn open_names_come_in_until_they_are_open_no_more() {
    for roles in ROLES {
        let target = usize::from(!roles[FIRST].target);
        let mut pair = Pair::new(roles, [0, 0], Loss::One(usize::MAX));
        let open = BTreeSet::from([name(number(1 - target))]);
        pair.sides[target].authenticate_with(AuthConfig { open: open.clone(), ..knows(1, &[], true) }, [7; 32]);
        pair.run(20 * SECOND);
        assert_eq!((pair.is_up(), pair.ups()), (true, [1, 1]));
        pair.sides[target].open_to(pair.now, open);
        pair.run(20 * SECOND);
        assert_eq!((pair.is_up(), pair.ups()), (true, [1, 1]), "nothing has changed");
        pair.sides[target].open_to(pair.now, BTreeSet::new());
        pair.run(SECOND);
        assert!(matches!(pair.events[target].last(), Some(LoginEvent::Down(_, SessionEnd::Unauthenticated))));
        pair.run(20 * SECOND);
        assert_eq!((pair.is_up(), pair.ups()), (false, [1, 1]));
    }
}

#[test]
fn each_lost_frame_in_turn_still_authenticates() {
    for roles in ROLES {
        for mutual in [false, true] {
            let mut whole = pair(roles, mutual, [0, 0], Loss::One(usize::MAX));
            whole.run(60 * SECOND);
            for lost in 0..whole.sent {
                let mut pair = pair(roles, mutual, [0, 0], Loss::One(lost));
                pair.run(120 * SECOND);
                assert!(pair.is_up(), "{roles:?} {mutual} without frame {lost}: {:?}", pair.events);
                assert!(pair.sides.iter().any(|side| side.peers().all(|peer| peer.authenticated)));
            }
        }
    }
}

#[test]
fn after_any_losses_they_authenticate() {
    for seed in 0..100 {
        let until = 200 * SECOND;
        let roles = ROLES[usize::try_from(seed % 2).unwrap()];
        let loss = Loss::Random { one_of: 2 + seed % 4, seed, until };
        let mut pair = pair(roles, seed % 3 == 0, [0, seed % 3 * SECOND], loss);
        pair.run(until + 150 * SECOND);
        assert!(pair.is_up(), "seed {seed}: {:?}", pair.events);
        let target = usize::from(!roles[FIRST].target);
        assert!(pair.sides[target].peers().all(|peer| peer.authenticated));
    }
}

/// A target by hand: what it says, and when it lets nothing through.
fn target() -> Scene {
    let mut scene = Scene::new(1, TARGET, 2);
    scene.logins.authenticate_with(knows(1, &[2], true), [7; 32]);
    scene.ask_fip(&ElsRequest::Flogi(parameters(2)));
    scene.ways.take();
    scene
}

/// FC-SP-2: PLOGI's LS_ACC offers it, nothing else is answered before, and the state is freed.
#[test]
fn nothing_is_answered_before_the_proof() {
    let mut scene = target();
    let negotiate = AuthBody::Negotiate { name: name(2), dh_chap: None }.message(1).unwrap();
    scene.ask_bytes(&negotiate);
    assert_eq!(scene.ways.only().reject(), LOGIN_FIRST, "before PLOGI");
    scene.ask(&ElsRequest::Plogi(parameters(2)));
    let accept = scene.ways.only();
    let login = LoginRepr::parse(&accept.payload).unwrap();
    assert_eq!(login.features, LoginRepr::CONTINUOUS_OFFSET | LoginRepr::SECURITY);
    scene.prli(0x1a2);
    assert_eq!(scene.ways.only().reject(), AUTHENTICATE_FIRST);
    scene.ask(&ElsRequest::Rtv);
    assert_eq!(scene.ways.only().reject(), AUTHENTICATE_FIRST);
    assert_eq!((scene.logins.peers().count(), events(&mut scene.logins)), (0, Vec::new()));
    // AUTH_TMO.
    assert_eq!(scene.wait(), 45);
    assert_eq!(scene.ways.only().command(), ElsCommand::LOGO);
    assert_eq!(events(&mut scene.logins), [LoginEvent::Unauthenticated(name(2), AuthFailure::Silent)]);
}

/// A message cut short, or whose length is wrong, is none; a transaction that stops after the challenge is forgotten.
#[test]
fn what_is_begun_and_not_ended_is_forgotten() {
    let mut scene = target();
    scene.ask(&ElsRequest::Plogi(parameters(2)));
    scene.ways.take();
    let lists = (6_u32.to_be_bytes(), 1_u32.to_be_bytes());
    let dh_chap = Some((AuthNumbers::new(&lists.0), AuthNumbers::new(&lists.1)));
    let negotiate = AuthBody::Negotiate { name: name(2), dh_chap }.message(0x99).unwrap();
    for len in 4..negotiate.len() {
        scene.ask_bytes(&negotiate[..len]);
        assert_eq!(scene.ways.only().reject(), (els_reason::PROTOCOL_ERROR, els_explanation::PAYLOAD_LENGTH));
    }
    scene.ask_bytes(&negotiate);
    let [accept, challenge] = &scene.ways.take()[..] else { panic!() };
    assert_eq!((&accept.payload[..], challenge.command()), (&[2, 0, 0, 0][..], ElsCommand::AUTH));
    let message = AuthMessage::parse(&challenge.payload).unwrap();
    assert_eq!(message.header.transaction, 0x99);
    let body = AuthBody::parse(message.header.code, message.body).unwrap();
    assert!(
        matches!(body, AuthBody::Challenge { hash: 6, group: 1, challenge, dh, .. } if challenge.len() == 20 && dh.len() == 128)
    );
    // Again after 8 s, until it has arrived; what arrived of the first one by then counts for nothing.
    scene.now += SECOND;
    assert_eq!(scene.wait(), 7);
    let again = scene.ways.only();
    assert_eq!(again.payload, challenge.payload);
    scene.answer(challenge, &[2, 0, 0, 0]);
    scene.answer(&again, &[2, 0, 0, 0]);
    assert_eq!((scene.wait(), scene.ways.only().command()), (45, ElsCommand::LOGO));
    assert_eq!(events(&mut scene.logins), [LoginEvent::Unauthenticated(name(2), AuthFailure::Silent)]);
    // A port without secrets knows no such service.
    let mut scene = Scene::ready();
    scene.ask_bytes(&negotiate);
    assert_eq!(scene.ways.only().reject(), (els_reason::NOT_SUPPORTED, els_explanation::NOT_SUPPORTED));
}

//! Two of our machines with each other, over a network that may lose frames. They are not each other's only evidence:
//! replay.rs has the kernels'.

use crate::login::world::*;
use linerate_fcoe::*;
use linerate_wire::*;
use std::collections::VecDeque;

/// Transit time of a frame.
const LATENCY: u64 = SECOND / 1000;
const BEACON: u64 = 8 * SECOND;

/// Frames that arrive.
pub(crate) enum Loss {
    /// All but this one.
    One(usize),
    /// All but one of so many, drawn with this seed, until this time.
    Random { one_of: u64, seed: u64, until: u64 },
}

pub(crate) struct Pair {
    pub(crate) sides: [Logins; 2],
    roles: [Role; 2],
    ways: [Recorder; 2],
    /// Time of each side's next beacon; never, if it has died.
    beacons: [Option<u64>; 2],
    /// Frames under way: time of arrival, receiver, and frame.
    way: VecDeque<(u64, usize, Sent)>,
    pub(crate) now: u64,
    loss: Loss,
    pub(crate) sent: usize,
    pub(crate) events: [Vec<LoginEvent>; 2],
}

/// The number of a side.
pub(crate) fn number(side: usize) -> u16 {
    [1, 2][side]
}

impl Pair {
    /// Sides 1 and 2; the second has the greater name. Beacons begin at these times.
    pub(crate) fn new(roles: [Role; 2], beacons: [u64; 2], loss: Loss) -> Self {
        Self {
            sides: [0, 1].map(|side| logins(number(side), roles[side])),
            roles,
            ways: Default::default(),
            beacons: beacons.map(Some),
            way: VecDeque::new(),
            now: 0,
            loss,
            sent: 0,
            events: Default::default(),
        }
    }

    fn is_lost(&mut self) -> bool {
        self.sent += 1;
        match &mut self.loss {
            Loss::One(index) => *index == self.sent - 1,
            Loss::Random { one_of, seed, until } => {
                *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                self.now < *until && (*seed >> 33).is_multiple_of(*one_of)
            }
        }
    }

    /// Takes what a side sent and what happened to it.
    fn collect(&mut self, side: usize) {
        for sent in self.ways[side].take() {
            if !self.is_lost() {
                self.way.push_back((self.now + LATENCY, 1 - side, sent));
            }
        }
        self.events[side].extend(events(&mut self.sides[side]));
    }

    /// Lets a time pass.
    pub(crate) fn run(&mut self, time: u64) {
        let end = self.now + time;
        loop {
            let timers = self.sides.iter().filter_map(Logins::poll_timeout);
            let arrival = self.way.front().map(|(at, ..)| *at);
            let next = timers.chain(self.beacons.into_iter().flatten()).chain(arrival).min().unwrap();
            if next > end {
                self.now = end;
                return;
            }
            assert!(next >= self.now, "time does not go back");
            self.now = next;
            for side in 0..2 {
                self.sides[side].poll(self.now, &mut self.ways[side]);
                self.collect(side);
                if self.beacons[side].is_some_and(|at| at <= self.now) {
                    self.beacons[side] = Some(self.now + BEACON);
                    let other = 1 - side;
                    let info = neighbour(number(side), Some(self.roles[side]));
                    self.sides[other].neighbour_beacon(self.now, &info, &mut self.ways[other]);
                    self.collect(other);
                }
            }
            while let Some((_, to, sent)) = self.way.pop_front_if(|(at, ..)| *at <= self.now) {
                self.deliver(to, &sent);
                self.collect(to);
            }
        }
    }

    fn deliver(&mut self, to: usize, sent: &Sent) {
        let from = neighbour(number(1 - to), None);
        let (machine, ways) = (&mut self.sides[to], &mut self.ways[to]);
        if sent.fip {
            let (src, mac, neighbour) = (from.enode_mac, Some(from.vn_mac), Some(from));
            let els = TunneledEls { src, mac, neighbour, header: sent.header, payload: &sent.payload };
            machine.handle_fip_els(self.now, &els, ways);
        } else {
            let bytes = fcoe(&sent.header, &sent.payload);
            let link = Link { src: from.vn_mac, dst: sent.dst, vlan: None };
            machine.handle(self.now, &link, &FcoeFrame::new_checked(&bytes).unwrap(), ways);
        }
    }

    /// True if both are logged in, and each knows the other's role.
    pub(crate) fn is_up(&self) -> bool {
        (0..2).all(|side| {
            let peer = self.sides[side].peer_by_id(FcId::new(number(1 - side).into()));
            peer.is_some_and(|peer| peer.role == self.roles[1 - side])
        })
    }

    pub(crate) fn ups(&self) -> [usize; 2] {
        [0, 1].map(|side| self.events[side].iter().filter(|event| matches!(event, LoginEvent::Up(_))).count())
    }
}

const ROLES: [[Role; 2]; 4] = [[TARGET, INITIATOR], [INITIATOR, TARGET], [BOTH, BOTH], [BOTH, TARGET]];
/// The first beacons: of one before the other's, the other way round, and both at a time, so that all frames cross.
pub(crate) const BEACONS: [[u64; 2]; 3] = [[0, SECOND], [SECOND, 0], [0, 0]];

#[test]
fn both_orders_and_crossings_log_in_once() {
    for roles in ROLES {
        for beacons in BEACONS {
            let mut pair = Pair::new(roles, beacons, Loss::One(usize::MAX));
            pair.run(3 * SECOND);
            assert!(pair.is_up(), "{roles:?} {beacons:?}");
            pair.run(100 * SECOND);
            assert_eq!((pair.is_up(), pair.ups()), (true, [1, 1]), "{roles:?} {beacons:?}");
            for side in &pair.sides {
                let counters = side.counters();
                assert_eq!((counters.rejects, counters.timeouts, counters.unknown_replies), (0, 0, 0));
            }
        }
    }
}

#[test]
fn each_lost_frame_in_turn_still_logs_in() {
    for roles in ROLES {
        for beacons in BEACONS {
            let mut pair = Pair::new(roles, beacons, Loss::One(usize::MAX));
            pair.run(100 * SECOND);
            let frames = pair.sent;
            assert!((12..=20).contains(&frames), "{frames}");
            for lost in 0..frames {
                let mut pair = Pair::new(roles, beacons, Loss::One(lost));
                pair.run(45 * SECOND);
                assert!(pair.is_up(), "{roles:?} {beacons:?} without frame {lost}: {:?}", pair.events);
                let ups = pair.ups();
                pair.run(100 * SECOND);
                assert_eq!((pair.is_up(), pair.ups()), (true, ups), "without frame {lost}");
            }
        }
    }
}

#[test]
fn after_any_losses_they_log_in() {
    for seed in 0..300 {
        let until = 200 * SECOND;
        let roles = ROLES[usize::try_from(seed % 4).unwrap()];
        let mut pair = Pair::new(roles, [0, seed % 3 * SECOND], Loss::Random { one_of: 2 + seed % 4, seed, until });
        pair.run(until + 100 * SECOND);
        assert!(pair.is_up(), "seed {seed}: {:?}", pair.events);
        for side in 0..2 {
            // Sessions come and go in turn.
            let mut up = false;
            for event in &pair.events[side] {
                match event {
                    LoginEvent::Up(_) => assert!(!std::mem::replace(&mut up, true)),
                    LoginEvent::Down(..) => assert!(std::mem::replace(&mut up, false)),
                    LoginEvent::Changed(_) => assert!(up),
                    LoginEvent::NameTaken(_) | LoginEvent::Authenticated(..) | LoginEvent::Unauthenticated(..) => {}
                }
            }
        }
    }
}

#[test]
fn a_peer_that_was_started_anew_logs_in_anew() {
    for restarted in 0..2 {
        let mut pair = Pair::new([TARGET, INITIATOR], [0, 0], Loss::One(usize::MAX));
        pair.run(20 * SECOND);
        pair.sides[restarted] = logins(number(restarted), pair.roles[restarted]);
        pair.run(60 * SECOND);
        assert!(pair.is_up(), "{:?}", pair.events);
        let downs = pair.events[1 - restarted].iter().filter(|event| matches!(event, LoginEvent::Down(..))).count();
        assert_eq!((pair.ups(), downs), ([2, 2], 1));
    }
}

#[test]
fn a_shutdown_is_heard_and_answered() {
    let mut pair = Pair::new([TARGET, INITIATOR], [0, 0], Loss::One(usize::MAX));
    pair.run(20 * SECOND);
    pair.sides[0].log_out_all(pair.now, &mut pair.ways[0]);
    pair.collect(0);
    assert!(!pair.sides[0].is_quiet());
    pair.beacons[0] = None;
    pair.run(SECOND);
    assert!(pair.sides[0].is_quiet());
    assert!(matches!(pair.events[1].last(), Some(LoginEvent::Down(_, SessionEnd::LoggedOut))));
    assert_eq!(pair.sides[0].counters().timeouts, 0);
}

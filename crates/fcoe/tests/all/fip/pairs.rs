//! Ports against each other: whoever starts when, whatever is lost, identifiers end up unique and all know all.

use crate::fip::node::*;
use linerate_fcoe::{FipConfig, FipEvent, FipMode};
use linerate_wire::*;

/// Loss of a frame: decided by its sender, the frame, and the number of frames before it.
type Lost = Box<dyn FnMut(usize, &Heard, usize) -> bool>;

/// Some nodes on one Ethernet, whose frames arrive at once, or never.
pub(crate) struct Ethernet {
    pub(crate) nodes: Vec<Node>,
    now: u64,
    pub(crate) lost: Lost,
    /// All frames that were sent, and by whom.
    pub(crate) all: Vec<(usize, Heard)>,
}

impl Ethernet {
    pub(crate) fn new(configs: &[FipConfig]) -> Self {
        let nodes = configs.iter().map(Node::new).collect();
        Self { nodes, now: 0, lost: Box::new(|_, _, _| false), all: Vec::new() }
    }

    pub(crate) fn link(&mut self, node: usize, up: bool) {
        self.nodes[node].now = self.now;
        self.nodes[node].link(up);
    }

    pub(crate) fn run(&mut self, until: u64) {
        let next = |nodes: &[Node]| nodes.iter().filter_map(|node| node.machine.poll_timeout()).min();
        let mut steps = 0;
        while let Some(at) = next(&self.nodes).filter(|&at| at <= until) {
            self.now = self.now.max(at);
            steps += 1;
            assert!(steps < 100_000, "a storm");
            for i in 0..self.nodes.len() {
                self.nodes[i].run(self.now);
            }
            self.deliver();
        }
        self.now = until;
    }

    fn deliver(&mut self) {
        let mut frames = 0;
        while let Some(from) = self.nodes.iter().position(|node| !node.sent.is_empty()) {
            for heard in self.nodes[from].take() {
                frames += 1;
                assert!(frames < 10_000, "a storm");
                if !(self.lost)(from, &heard, self.all.len()) {
                    for to in (0..self.nodes.len()).filter(|&to| to != from) {
                        self.nodes[to].now = self.now;
                        self.nodes[to].hear(&heard.bytes);
                    }
                }
                self.all.push((from, heard));
            }
        }
    }

    /// All are up, with identifiers of their own, and know each other by them.
    fn settled(&self) {
        let ids: Vec<_> = self.nodes.iter().map(|node| node.machine.own().expect("up").0).collect();
        for (i, node) in self.nodes.iter().enumerate() {
            let mut wanted: Vec<_> = (0..ids.len()).filter(|&j| j != i).map(|j| ids[j]).collect();
            let mut known: Vec<_> = node.machine.neighbours().map(|neighbour| neighbour.fc_id).collect();
            wanted.sort_unstable();
            wanted.dedup();
            known.sort_unstable();
            assert_eq!(known, wanted, "node {i} of {ids:?}");
            assert!(!known.contains(&ids[i]), "{ids:?}");
            for fc_id in known {
                let alive = node.told.iter().any(|(_, e)| matches!(e, FipEvent::Beacon(n) if n.fc_id == fc_id));
                assert!(alive, "node {i} heard no Beacon of {fc_id}");
            }
        }
    }

    fn id(&self, node: usize) -> u32 {
        self.nodes[node].machine.own().unwrap().0.value()
    }
}

/// Names that end alike, so that all try the identifier 0e02 first; the greater `rank`, the greater the name.
fn alike(rank: u8, seed: u64) -> FipConfig {
    FipConfig { seed, ..config([2, 0, 0, rank, 0x0e, 2]) }
}

#[test]
fn two_that_want_different_identifiers_have_them_and_each_other() {
    for (start, seed) in [(0, 1), (50, 2), (150, 3), (550, 4), (950, 5), (5000, 6)] {
        let mut ethernet =
            Ethernet::new(&[config([2, 0, 0, 0, 0, 1]), FipConfig { seed, ..config([2, 0, 0, 0, 0, 2]) }]);
        ethernet.link(0, true);
        ethernet.run(start * MS);
        ethernet.link(1, true);
        ethernet.run(start * MS + 20 * SECOND);
        ethernet.settled();
        assert_eq!((ethernet.id(0), ethernet.id(1)), (1, 2));
        assert_eq!(ethernet.nodes[0].machine.counters().conflicts + ethernet.nodes[1].machine.counters().conflicts, 0);
    }
}

#[test]
fn of_two_that_want_the_same_the_first_or_the_greater_has_it() {
    for seed in 0..50 {
        for (first, second) in [(1, 2), (2, 1)] {
            for start in [0, 20, 60, 100, 250, 499, 501, 700, 899, 901, 3000, 9000] {
                let mut ethernet = Ethernet::new(&[alike(first, seed), alike(second, seed ^ 0xff)]);
                ethernet.link(0, true);
                ethernet.run(start * MS);
                ethernet.link(1, true);
                ethernet.run(start * MS + 30 * SECOND);
                ethernet.settled();
                if start > 700 {
                    assert_eq!(ethernet.id(0), 0x0e02, "who has it keeps it");
                }
                // Both probe, and neither hears the other before it does.
                if start == 250 {
                    let greater = usize::from(second > first);
                    assert_eq!(
                        ethernet.id(greater),
                        0x0e02,
                        "of two that probe the greater has it: {start} {first} {second}"
                    );
                }
            }
        }
    }
}

#[test]
fn three_at_once_have_three() {
    for seed in 0..100 {
        let configs = [(1, 0), (2, 1), (3, 2)].map(|(rank, n)| alike(rank, seed * 3 + n));
        let mut ethernet = Ethernet::new(&configs);
        (0..3).for_each(|node| ethernet.link(node, true));
        ethernet.run(30 * SECOND);
        ethernet.settled();
    }
}

#[test]
fn lost_frames_delay_and_do_not_confuse() {
    for seed in 0..60_u64 {
        for kinds in [
            &[FipCode::PROBE_REQUEST, FipCode::PROBE_REPLY][..],
            &[FipCode::PROBE_REQUEST, FipCode::CLAIM_NOTIFICATION],
            &[FipCode::CLAIM_RESPONSE],
        ] {
            let mut ethernet = Ethernet::new(&[alike(1, seed), alike(2, seed + 1000), alike(3, seed + 2000)]);
            // All frames of these kinds in the first 2 s, and of all kinds each that a pattern says.
            ethernet.lost = Box::new(move |_, heard, n| {
                let all = heard.at < 2 * SECOND && kinds.contains(&heard.code);
                all || heard.at < 20 * SECOND && ((seed + 1) * (n as u64 * 7 + 3)).is_multiple_of(5)
            });
            (0..3).for_each(|node| ethernet.link(node, true));
            ethernet.run(100 * SECOND);
            ethernet.settled();
        }
    }
}

#[test]
fn two_halves_that_meet_settle_what_both_have() {
    for (first, second) in [(1, 2), (2, 1)] {
        let mut ethernet = Ethernet::new(&[alike(first, 7), alike(second, 8)]);
        ethernet.lost = Box::new(|_, heard, _| heard.at < 10 * SECOND);
        (0..2).for_each(|node| ethernet.link(node, true));
        ethernet.run(10 * SECOND);
        assert_eq!((ethernet.id(0), ethernet.id(1)), (0x0e02, 0x0e02));
        ethernet.run(40 * SECOND);
        ethernet.settled();
        let greater = usize::from(second > first);
        assert_eq!(ethernet.id(greater), 0x0e02);
        let downs =
            |node: usize| ethernet.nodes[node].told.iter().filter(|(_, event)| *event == FipEvent::Down).count();
        assert_eq!((downs(greater), downs(1 - greater)), (0, 1));
    }
}

#[test]
fn two_that_are_sure_of_one_name_do_not_shout_at_each_other() {
    let one = config([2, 0, 0, 0, 0, 1]);
    let mut ethernet = Ethernet::new(&[one, FipConfig { mac: MacAddr([2, 0, 0, 0, 0, 9]), seed: 5, ..one }]);
    ethernet.lost = Box::new(|_, heard, _| heard.at < 10 * SECOND);
    (0..2).for_each(|node| ethernet.link(node, true));
    ethernet.run(60 * SECOND);
    assert!(ethernet.all.len() < 30, "{}", ethernet.all.len());
    for node in &ethernet.nodes {
        assert!(node.machine.own().is_some());
        assert!(node.machine.counters().dropped(linerate_fcoe::FipDrop::SameName) > 5);
    }
}

fn point_to_point(config: FipConfig) -> FipConfig {
    FipConfig { mode: FipMode::PointToPoint, ..config }
}

#[test]
fn two_in_point_to_point_mode_stay_in_it() {
    for (a, b) in [
        (config([2, 0, 0, 0, 0, 1]), config([2, 0, 0, 0, 0, 2])),
        (alike(1, 1), alike(2, 2)),
        (alike(2, 1), alike(1, 2)),
    ] {
        let mut ethernet = Ethernet::new(&[point_to_point(a), point_to_point(b)]);
        ethernet.link(0, true);
        ethernet.run(30 * MS);
        ethernet.link(1, true);
        ethernet.run(60 * SECOND);
        ethernet.settled();
        for (_, heard) in &ethernet.all {
            assert!(heard.flags.has(FipFlags::REC_P2P), "{heard:?}");
            assert!(heard.dst == FipFrame::ALL_PT2PT_MACS || !heard.dst.is_multicast(), "{heard:?}");
        }
        assert!(ethernet.nodes.iter().all(|node| node.machine.mode() == FipMode::PointToPoint));
    }
}

#[test]
fn a_third_makes_it_multipoint() {
    for start in [0, 70, 400, 800, 5000] {
        let configs =
            [1, 2, 3].map(|last| point_to_point(FipConfig { seed: last.into(), ..config([2, 0, 0, 0, 0, last]) }));
        let mut ethernet = Ethernet::new(&configs);
        ethernet.link(0, true);
        ethernet.link(1, true);
        ethernet.run(start * MS);
        ethernet.link(2, true);
        ethernet.run(60 * SECOND);
        ethernet.settled();
        assert!(ethernet.nodes.iter().all(|node| node.machine.mode() == FipMode::Multipoint), "{start}");
        // The link's way down and up begins anew.
        ethernet.link(2, false);
        ethernet.link(2, true);
        assert_eq!(ethernet.nodes[2].machine.mode(), FipMode::PointToPoint);
    }
}

#[test]
fn with_one_that_knows_only_multipoint_it_is_multipoint() {
    for point_to_point_first in [true, false] {
        for start in [0, 70, 300, 600, 5000] {
            for (a, b) in [(1, 2), (2, 1)] {
                let mut ethernet = Ethernet::new(&[point_to_point(alike(a, 1)), alike(b, 2)]);
                ethernet.link(usize::from(!point_to_point_first), true);
                ethernet.run(start * MS);
                ethernet.link(usize::from(point_to_point_first), true);
                ethernet.run(start * MS + 30 * SECOND);
                ethernet.settled();
                assert_eq!(ethernet.nodes[0].machine.mode(), FipMode::Multipoint);
                let downs = ethernet.nodes[1].told.iter().filter(|(_, event)| *event == FipEvent::Down).count();
                assert_eq!(downs, 0, "the multipoint port is not disturbed");
            }
        }
    }
}

#[test]
fn with_the_kernel_that_knows_only_multipoint_it_is_multipoint() {
    // Capture 10: what the kernel says to a Beacon or a Claim with the P2P flag (frame 7), and to a Probe Request for
    // its identifier (frame 15).
    let frames = crate::fip::capture::golden("10");
    for answer in [&frames[6], &frames[14]] {
        let mut node = Node::new(&point_to_point(config([0x52, 0x54, 0, 0xfc, 0x0e, 9])));
        node.link(true);
        node.run(SECOND);
        let said = node.take();
        assert!(said.len() == 4 && said.iter().all(|heard| heard.flags.has(FipFlags::REC_P2P)), "{said:?}");
        node.hear(&answer.bytes);
        assert_eq!((node.machine.mode(), node.events().pop()), (FipMode::Multipoint, Some(FipEvent::Down)));
        node.run(node.now + 110 * MS);
        let probe = &node.take()[0];
        assert_eq!((probe.code, probe.dst), (FipCode::PROBE_REQUEST, FipFrame::ALL_VN2VN_MACS));
        assert_eq!((probe.flags.0, probe.fc_id()), (0, FcId::new(0x0e09)));
    }
}

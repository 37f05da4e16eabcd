//! Two nodes: what one does, the other must bear.

use crate::fip::node::Other;
use crate::node::wire::*;
use linerate_block::{Buffer, Tag};
use linerate_fcoe::*;
use linerate_wire::*;
use linerate_wire::{OxId, RxId};

/// A target and an initiator, and a wire that loses nothing.
struct Pair {
    now: u64,
    nodes: [Node<Disks>; 2],
    events: Vec<(u64, usize, NodeEvent)>,
}

impl Pair {
    fn new(configs: [NodeConfig; 2]) -> Self {
        let mut pair = Self { now: 0, nodes: configs.map(|config| node(&config)), events: Vec::new() };
        for i in 0..2 {
            pair.link(i, true);
        }
        pair
    }

    /// Both are logged in.
    fn up() -> Self {
        let mut pair = Self::new([config(TARGET), config(INITIATOR)]);
        pair.pass(3 * SECOND);
        assert!(pair.nodes.iter().all(|node| node.peers().count() == 1), "{:?}", pair.events);
        pair
    }

    fn link(&mut self, i: usize, up: bool) {
        let mut out = Out::default();
        self.nodes[i].set_link(self.now, up, &mut out);
        self.deliver(1 - i, out.0);
    }

    fn deliver(&mut self, to: usize, frames: Vec<Vec<u8>>) {
        for frame in frames {
            let mut out = Out::default();
            self.nodes[to].handle(self.now, &frame, &mut out);
            self.nodes[to].poll(self.now, &mut out);
            self.deliver(1 - to, out.0);
        }
        while let Some(event) = self.nodes[to].poll_event() {
            self.events.push((self.now, to, event));
        }
    }

    fn pass(&mut self, time: u64) {
        let end = self.now + time;
        loop {
            for i in 0..2 {
                let mut out = Out::default();
                self.nodes[i].poll(self.now, &mut out);
                self.deliver(1 - i, out.0);
                self.deliver(i, Vec::new());
            }
            let due = self.nodes.iter().filter_map(Node::poll_timeout).min();
            match due.filter(|due| *due <= end) {
                Some(due) => self.now = due.max(self.now + 1),
                None => break,
            }
        }
        self.now = end;
    }

    /// Passes a frame to the target; returns the reason if no part took it.
    fn drop_of(&mut self, frame: &[u8]) -> Option<NodeDrop> {
        let before: Vec<_> = self.nodes[0].drops().collect();
        let mut out = Out::default();
        self.nodes[0].handle(self.now, frame, &mut out);
        let counted: Vec<_> = self.nodes[0].drops().zip(before).filter(|(now, before)| now != before).collect();
        assert!(counted.len() <= 1 && counted.iter().all(|((_, now), (_, before))| *now == before + 1));
        assert!(counted.is_empty() || out.0.is_empty(), "what is dropped is not answered");
        counted.first().map(|((reason, _), _)| *reason)
    }

    /// A TEST UNIT READY from the initiator.
    fn command(&self) -> (Link, FcHeader, [u8; 32]) {
        let peer = self.nodes[1].peers().next().unwrap();
        let header = FcHeader {
            r_ctl: r_ctl::COMMAND,
            d_id: peer.fc_id,
            cs_ctl: 0,
            s_id: peer.own,
            fc_type: FcType::FCP,
            f_ctl: 0x29_0000,
            seq_id: 0,
            df_ctl: 0,
            seq_cnt: 0,
            ox_id: OxId(5),
            rx_id: RxId::UNASSIGNED,
            parameter: 0,
        };
        (peer.link, header, [0; 32])
    }
}

#[test]
fn each_reason_to_drop_a_frame_has_its_count() {
    let mut pair = Pair::up();
    let (link, header, payload) = pair.command();
    let good = frame(&link, header, &payload);
    assert_eq!(pair.drop_of(&good), None);
    assert_eq!(pair.nodes[0].target().unwrap().counters().commands, 1);

    assert_eq!(pair.drop_of(&good[..13]), Some(NodeDrop::NotEthernet));
    let mut tag_cut = good[..16].to_vec();
    tag_cut[12..14].copy_from_slice(&[0x81, 0]);
    assert_eq!(pair.drop_of(&tag_cut), Some(NodeDrop::NotEthernet));
    let mut arp = good.clone();
    arp[12..14].copy_from_slice(&[8, 6]);
    assert_eq!(pair.drop_of(&arp), Some(NodeDrop::OtherProtocol));
    let tagged = Link { vlan: Some(VlanTag(7)), ..link };
    assert_eq!(pair.drop_of(&frame(&tagged, header, &payload)), Some(NodeDrop::Vlan));
    let priority = Link { vlan: Some(VlanTag(0x6000)), ..link };
    assert_eq!(pair.drop_of(&frame(&priority, header, &payload)), None, "VLAN 0 is a priority and no VLAN");
    let elsewhere = Link { dst: TARGET, ..link };
    assert_eq!(pair.drop_of(&frame(&elsewhere, header, &payload)), Some(NodeDrop::OtherStation));
    assert_eq!(pair.drop_of(&good[..good.len() - 9]), Some(NodeDrop::Malformed));
    // FC-BB-6, clause 7.8.5: the source address is that of the S_ID.
    let forged = Link { src: INITIATOR, ..link };
    assert_eq!(pair.drop_of(&frame(&forged, header, &payload)), Some(NodeDrop::WrongSource));
    let stranger = FcHeader { s_id: FcId::new(0x77), ..header };
    assert_eq!(pair.drop_of(&frame(&link, stranger, &payload)), Some(NodeDrop::NotLoggedIn));
    let ip = FcHeader { fc_type: FcType(5), ..header };
    assert_eq!(pair.drop_of(&frame(&link, ip, &payload)), Some(NodeDrop::Unexpected));
    let answer = FcHeader { f_ctl: 0x98_0000, r_ctl: r_ctl::STATUS, ..header };
    assert_eq!(pair.drop_of(&frame(&link, answer, &payload)), Some(NodeDrop::Unexpected), "it is no initiator");

    pair.link(0, false);
    assert_eq!(pair.drop_of(&good), Some(NodeDrop::NoAddress));
    let names: std::collections::BTreeSet<_> = NodeDrop::ALL.iter().map(|reason| reason.name()).collect();
    assert_eq!(names.len(), NodeDrop::ALL.len());
    for (reason, count) in pair.nodes[0].drops() {
        assert!(count > 0, "{reason:?} is tested");
    }
}

#[test]
fn a_node_on_a_vlan_meets_only_those_on_it() {
    let vlan = |mac, vid| NodeConfig { vlan: Some(VlanTag(vid)), ..config(mac) };
    let mut same = Pair::new([vlan(TARGET, 9), vlan(INITIATOR, 9)]);
    same.pass(3 * SECOND);
    assert!(same.nodes.iter().all(|node| node.peers().count() == 1));
    let (link, header, payload) = same.command();
    assert_eq!(same.drop_of(&frame(&link, header, &payload)), None);
    let untagged = Link { vlan: None, ..link };
    assert_eq!(same.drop_of(&frame(&untagged, header, &payload)), Some(NodeDrop::Vlan));
    let mut other = Pair::new([vlan(TARGET, 9), vlan(INITIATOR, 10)]);
    other.pass(30 * SECOND);
    assert!(other.nodes.iter().all(|node| node.peers().count() == 0));
}

#[test]
fn a_session_that_ends_takes_its_commands_with_it() {
    let mut pair = Pair::up();
    let peer = *pair.nodes[1].peers().next().unwrap();
    let command = |tag| Command {
        tag: Tag(tag),
        lun: Lun([0; 8]),
        cdb: [0; 32],
        cdb_len: 6,
        attribute: TaskAttribute::Simple,
        data: Data::None,
        timeout: 30 * SECOND,
    };
    let (now, mut lost) = (pair.now, Out::default());
    let (initiator, _) = pair.nodes[1].initiator_mut().unwrap();
    initiator.submit(now, &peer, command(1)).unwrap();
    initiator.poll(now, &mut lost);
    assert_eq!(lost.0.len(), 1, "its FCP_CMND is lost");
    pair.link(1, false);
    let (initiator, _) = pair.nodes[1].initiator_mut().unwrap();
    let completed = initiator.poll_completion().unwrap();
    assert_eq!((completed.tag, completed.outcome), (Tag(1), Outcome::LinkLost));
    assert_eq!(initiator.exchanges(), 0);
    assert_eq!(pair.nodes[1].poll_event(), Some(NodeEvent::NoAddress));
    assert_eq!(pair.nodes[1].poll_event(), Some(NodeEvent::Down(peer, SessionEnd::NoAddress)));
    assert!(pair.nodes[1].peer(peer.id).is_none() && pair.nodes[1].own().is_none());
    // The target hears of it when the link is up again.
    pair.link(1, true);
    pair.pass(12 * SECOND);
    let again = *pair.nodes[1].peers().next().expect("it logs in again");
    assert_ne!(again.id, peer.id);
    assert_eq!(pair.nodes[0].target().unwrap().exchanges(), 0);
}

#[test]
fn a_target_that_restarts_is_found_out_soon() {
    let mut pair = Pair::up();
    let before = *pair.nodes[1].peers().next().unwrap();
    pair.pass(3 * SECOND);
    pair.nodes[0] = node(&config(TARGET));
    pair.link(0, true);
    pair.events.clear();
    // It claims its identifier anew, and its first beacon after that makes its neighbour ask whether it is still
    // logged in (FC-LS-3, ADISC), without waiting for a beacon of its own.
    pair.pass(2 * SECOND);
    let (up, _, _) = pair.events.iter().find(|(_, i, event)| *i == 1 && matches!(event, NodeEvent::Up(_))).unwrap();
    assert!(*up < pair.now);
    let after = *pair.nodes[1].peers().next().unwrap();
    assert!(after.id != before.id && (after.wwpn, after.fc_id) == (before.wwpn, before.fc_id));
    assert_eq!(pair.nodes[0].peers().count(), 1);
}

/// Regression: claims and Beacons in invented names filled the table of neighbours, so that no new initiator got in.
#[test]
fn invented_ports_keep_nobody_out() {
    for rate in [400, 2000] {
        let mut pair = Pair::new([config(TARGET), config(INITIATOR)]);
        pair.nodes[1] = node(&config(INITIATOR));
        let mut ports = 0..u32::MAX;
        let mut crowd = |pair: &mut Pair, time: u64| {
            for _ in 0..time * rate / 2 / SECOND {
                pair.pass(2 * SECOND / rate);
                let [a, b, c, d] = ports.next().unwrap().to_be_bytes();
                let other = Other::new([6, 0, a, b, c, d], 0x1000 + u32::from_be_bytes([a, b, c, d]) % 0xe000);
                for kind in [Vn2vnKind::ClaimNotification, Vn2vnKind::Beacon] {
                    (0..2).for_each(|i| pair.deliver(i, vec![other.frame(kind)]));
                }
            }
        };
        crowd(&mut pair, 3 * SECOND);
        pair.link(1, true);
        let begun = pair.now;
        crowd(&mut pair, 12 * SECOND);
        let came = pair.events.iter().find(|(_, i, event)| *i == 1 && matches!(event, NodeEvent::Up(_)));
        assert!(came.is_some_and(|(at, ..)| *at < begun + 9 * SECOND), "{rate} frames a second: {came:?}");
        crowd(&mut pair, 5 * SECOND);
        let lost = pair.events.iter().find(|(.., event)| matches!(event, NodeEvent::Down(..)));
        assert!(lost.is_none() && pair.nodes.iter().all(|node| node.peers().count() == 1), "{rate}: {lost:?}");
    }
}

#[test]
fn who_does_not_say_what_it_is_is_asked() {
    // A claim without FC-4 features of FCP: PRLI tells (FC-LS-3).
    let mut pair = Pair::new([config(TARGET), config(INITIATOR)]);
    for _ in 0..3000 {
        pair.now += MS;
        for i in 0..2 {
            let mut out = Out::default();
            pair.nodes[i].poll(pair.now, &mut out);
            for frame in &mut out.0 {
                // The features of types 08 to 0f: the second word of the map in descriptor 0x0f.
                if let Some(at) = frame.windows(2).position(|bytes| bytes == [0x0f, 41]) {
                    frame[at + 4 + 32..][..8].fill(0);
                }
            }
            pair.deliver(1 - i, out.0);
            pair.deliver(i, Vec::new());
        }
    }
    let found = |event: &NodeEvent| matches!(event, NodeEvent::Found(who) if !who.role.target && !who.role.initiator);
    assert!(pair.events.iter().any(|(_, _, event)| found(event)), "{:?}", pair.events);
    assert!(pair.nodes.iter().all(|node| node.peers().count() == 1), "{:?}", pair.events);
}

#[test]
fn a_write_that_comes_twice_does_not_last() {
    // FC-LS-3, Read Exchange Concise: either end asks, and either end answers.
    let mut pair = Pair::up();
    let peer = *pair.nodes[1].peers().next().unwrap();
    let mut cdb = [0; 32];
    (cdb[0], cdb[8]) = (0x2a, 1);
    let mut late = Vec::new();
    for (tag, status) in [(0, 2), (1, 0)] {
        let command = Command {
            tag: Tag(tag),
            lun: Lun([0; 8]),
            cdb,
            cdb_len: 10,
            attribute: TaskAttribute::Simple,
            data: Data::Out(Buffer::new(512)),
            timeout: 30 * SECOND,
        };
        let (now, mut out) = (pair.now, Out::default());
        let (initiator, _) = pair.nodes[1].initiator_mut().unwrap();
        initiator.submit(now, &peer, command).unwrap();
        initiator.poll(now, &mut out);
        late = out.0.clone();
        pair.deliver(0, out.0);
        let (initiator, _) = pair.nodes[1].initiator_mut().unwrap();
        assert_eq!(initiator.poll_completion().unwrap().status, status);
    }
    pair.pass(SECOND);
    pair.deliver(0, late);
    let depth = |pair: &Pair| pair.nodes[0].target().unwrap().peers().next().unwrap().queue_depth;
    assert_eq!((depth(&pair), pair.nodes[1].initiator().unwrap().counters(peer.id).unknown_exchange), (1, 1));
    pair.pass(5 * SECOND);
    let counters = *pair.nodes[0].target().unwrap().counters();
    assert_eq!((depth(&pair), counters.rec_polls, counters.forgotten), (0, 1, 1));
    assert!(pair.nodes.iter().all(|node| node.peers().count() == 1));
}

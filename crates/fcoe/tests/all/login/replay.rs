//! The captures once more, with our machine in place of each kernel in turn: what the other kernel sent goes in, and
//! our machine must send what the replaced one did, in meaning.

use crate::login::golden::{self, Frame, Message};
use crate::login::world::{FC_MAP, INITIATOR, Recorder, SECOND, Sent, TARGET, events};
use linerate_fcoe::*;
use linerate_wire::*;
use linerate_wire::{OxId, RxId};
use std::collections::{HashMap, VecDeque};

const FLOGI: u8 = ElsCommand::FLOGI.0;
const PLOGI: u8 = ElsCommand::PLOGI.0;
const PRLI: u8 = ElsCommand::PRLI.0;
const RTV: u8 = ElsCommand::RTV.0;
const ADISC: u8 = ElsCommand::ADISC.0;
const LOGO: u8 = ElsCommand::LOGO.0;
const ACC: u8 = ElsCommand::LS_ACC.0;

/// MAC address of the kernel's target: it ends in 02 in all captures.
const TARGET_MAC: MacAddr = MacAddr([0x52, 0x54, 0x00, 0xfc, 0x0e, 0x02]);

/// Fields of a link service to compare: its destination and payload, and the command of the request.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Meaning {
    fip: bool,
    dst: [u8; 6],
    /// Of the request.
    command: u8,
    /// LS_ACC, LS_RJT, or 0 in a request.
    reply: u8,
    payload: Vec<u8>,
}

/// Link services in a capture: frames that two taps saw count once.
fn frames(name: &str) -> Vec<Frame> {
    let mut frames = golden::read(name);
    frames.dedup_by(|a, b| a.message == b.message);
    frames
}

/// A kernel's names and addresses, as discovery saw them last in the capture.
struct Port {
    info: NeighbourInfo,
}

impl Port {
    /// A port of a capture. Ports with that MAC address in their names.
    fn of(name: &str, target: bool) -> Self {
        let role = if target { TARGET } else { INITIATOR };
        let size = if name.starts_with("12") { 1498 } else { 2158 };
        // The last word counts: it may have chosen another address before it settled.
        let seen = frames(name).into_iter().rev().find_map(|frame| match frame.message {
            Message::Vn2vn { subcode: 5, wwnn, wwpn, id, mac } => {
                let enode_mac = enode(wwpn);
                ((enode_mac == TARGET_MAC) == target).then_some(NeighbourInfo {
                    wwpn,
                    wwnn,
                    fc_id: id,
                    enode_mac,
                    vn_mac: mac,
                    max_fcoe_size: size,
                    role: Some(role),
                })
            }
            _ => None,
        });
        let info = seen.unwrap();
        assert_eq!(info.vn_mac, info.fc_id.mac(FC_MAP));
        Self { info }
    }

    fn is(&self, mac: MacAddr) -> bool {
        mac == self.info.enode_mac || mac == self.info.vn_mac
    }
}

/// Linux makes port names of the ENode's MAC address.
fn enode(wwpn: Wwn) -> MacAddr {
    MacAddr(wwpn.0.to_be_bytes()[2..].try_into().unwrap())
}

/// One side of a capture, in which our machine takes the place of a port.
struct Replay {
    logins: Logins,
    ways: Recorder,
    ours: Port,
    theirs: Port,
    /// OX_IDs of the replaced kernel's open requests by command, and ours.
    asked: HashMap<u8, VecDeque<OxId>>,
    open: HashMap<u8, VecDeque<Sent>>,
    /// Commands of the other's requests, by OX_ID, which Linux uses again at once; the last is the newest.
    answered: HashMap<OxId, Vec<ElsCommand>>,
    events: Vec<LoginEvent>,
}

impl Replay {
    fn new(name: &str, target: bool) -> Self {
        let (ours, theirs) = (Port::of(name, target), Port::of(name, !target));
        let config = LoginConfig {
            wwpn: ours.info.wwpn,
            wwnn: ours.info.wwnn,
            role: ours.info.role.unwrap(),
            max_payload: max_payload(if name.starts_with("12") { 1500 } else { 2500 }),
            // The kernel's initiator does; its target does not.
            retry: !target,
            confirm: true,
            vlan: None,
            peers: 4,
        };
        Self {
            logins: Logins::new(&config),
            ways: Recorder::default(),
            ours,
            theirs,
            asked: HashMap::new(),
            open: HashMap::new(),
            answered: HashMap::new(),
            events: Vec::new(),
        }
    }

    /// A frame of the other kernel goes in. The OX_ID of a reply becomes that of our request.
    fn hear(&mut self, frame: &Frame) {
        let now = frame.time;
        match &frame.message {
            // Linux looks at beacons only, and at its own links that go down and up.
            Message::Vn2vn { subcode: 5, .. } => {
                self.logins.neighbour_beacon(now, &self.theirs.info, &mut self.ways);
            }
            Message::Vn2vn { .. } => {}
            Message::Fip { header, payload, mac } => {
                let Some(header) = self.turn(header, payload) else { return };
                let neighbour = Some(self.theirs.info);
                let els = TunneledEls { src: frame.src, mac: *mac, neighbour, header, payload };
                self.logins.handle_fip_els(now, &els, &mut self.ways);
            }
            Message::Fcoe(bytes) => {
                let seen = FcoeFrame::new_checked(bytes).unwrap();
                let Some(header) = self.turn(seen.header(), seen.payload()) else { return };
                let bytes = crate::login::world::fcoe(&header, seen.payload());
                let link = Link { src: frame.src, dst: frame.dst, vlan: None };
                self.logins.handle(now, &link, &FcoeFrame::new_checked(&bytes).unwrap(), &mut self.ways);
            }
        }
        self.events.extend(events(&mut self.logins));
    }

    /// The header as it would have come to us; none for the reply to a request that we did not send (yet).
    fn turn(&mut self, header: &FcHeader, payload: &[u8]) -> Option<FcHeader> {
        if header.r_ctl == r_ctl::ELS_REQUEST {
            self.answered.entry(header.ox_id).or_default().push(ElsCommand::of(payload));
            return Some(*header);
        }
        let asked = &mut self.asked;
        let open = [FLOGI, PLOGI, PRLI, RTV, ADISC, LOGO].into_iter().find(|command| {
            fits(ElsCommand(*command), payload) && asked.get(command).is_some_and(|ids| ids.contains(&header.ox_id))
        })?;
        asked.get_mut(&open).unwrap().retain(|id| *id != header.ox_id);
        let sent = self.open.get_mut(&open)?.pop_front()?;
        Some(FcHeader { ox_id: sent.header.ox_id, ..*header })
    }

    /// Fields of a frame of the replaced kernel.
    fn meaning(&mut self, frame: &Frame) -> Option<Meaning> {
        let (fip, header, payload) = match &frame.message {
            Message::Vn2vn { .. } => return None,
            Message::Fip { header, payload, .. } => (true, *header, payload.clone()),
            Message::Fcoe(bytes) => {
                let seen = FcoeFrame::new_checked(bytes).unwrap();
                (false, *seen.header(), seen.payload().to_vec())
            }
        };
        if header.r_ctl == r_ctl::ELS_REQUEST {
            self.asked.entry(payload[0]).or_default().push_back(header.ox_id);
        }
        Some(self.means(fip, frame.dst, &header, &payload))
    }

    fn means(&self, fip: bool, dst: MacAddr, header: &FcHeader, payload: &[u8]) -> Meaning {
        assert_eq!((header.s_id, header.d_id), (self.ours.info.fc_id, self.theirs.info.fc_id));
        assert_eq!((header.rx_id, header.seq_cnt, header.df_ctl), (RxId::UNASSIGNED, 0, 0));
        let (command, reply, f_ctl) = match header.r_ctl {
            r_ctl::ELS_REQUEST => (payload[0], 0, 0x29_0000),
            _ => {
                let asked = self.answered[&header.ox_id].iter().rfind(|command| fits(**command, payload));
                (asked.unwrap().0, payload[0], 0x99_0000)
            }
        };
        assert_eq!(header.f_ctl, f_ctl);
        let mut payload = payload.to_vec();
        if (command, reply) == (PRLI, 0) || (command, reply) == (PRLI, ACC) {
            // tcm_fc says that it is an initiator too, which a target need not be.
            payload[19] &= !0x30;
        }
        Meaning { fip, dst: dst.0, command, reply, payload }
    }

    /// Fields of the frames that our machine sent.
    fn sent(&mut self) -> Vec<Meaning> {
        let sent = self.ways.take();
        for request in sent.iter().filter(|sent| sent.header.r_ctl == r_ctl::ELS_REQUEST) {
            self.open.entry(request.payload[0]).or_default().push_back(request.clone());
        }
        let means = |sent: &Sent| self.means(sent.fip, sent.dst, &sent.header, &sent.payload);
        sent.iter().map(means).collect()
    }
}

/// A neighbour without beacons for this long is gone (FC-BB-6, neighbour set).
const AGE: u64 = 20 * SECOND;

/// Plays a capture until the replaced kernel's last frame, as some die, and returns what the replaced kernel and our
/// machine sent of logins, and what happened.
fn play(name: &str, target: bool) -> (Vec<Meaning>, Vec<Meaning>, Vec<LoginEvent>) {
    let mut replay = Replay::new(name, target);
    let (mut expected, mut ours) = (Vec::new(), Vec::new());
    let mut heard = None;
    let mut frames = frames(name);
    let last = frames.iter().rposition(|frame| replay.ours.is(frame.src)).unwrap();
    frames.truncate(last + 1);
    for frame in frames {
        while let Some(due) = replay.logins.poll_timeout().filter(|due| *due <= frame.time) {
            replay.logins.poll(due, &mut replay.ways);
            ours.extend(replay.sent());
        }
        if let Some(last) = heard.take_if(|last| *last + AGE <= frame.time) {
            replay.logins.neighbour_gone(last + AGE, replay.theirs.info.fc_id, &mut replay.ways);
            replay.events.extend(events(&mut replay.logins));
            ours.extend(replay.sent());
        }
        if replay.ours.is(frame.src) {
            let own = (replay.ours.info.fc_id, replay.ours.info.vn_mac);
            match frame.message {
                // Probes come first, and after its link was down: it has no address.
                Message::Vn2vn { subcode: 1, .. } => replay.logins.set_own(None),
                Message::Vn2vn { subcode: 5, .. } => replay.logins.set_own(Some(own)),
                _ => expected.extend(replay.meaning(&frame)),
            }
            replay.events.extend(events(&mut replay.logins));
        } else if replay.theirs.is(frame.src) {
            if let Message::Vn2vn { subcode: 5, .. } = frame.message {
                heard = Some(frame.time);
            }
            replay.hear(&frame);
            ours.extend(replay.sent());
        }
    }
    (expected, ours, replay.events)
}

/// True if this may be the reply to a request of this command.
fn fits(command: ElsCommand, payload: &[u8]) -> bool {
    ElsReply::parse(command, payload).and_then(|reply| reply.emit(&mut [0; 2112])) == Ok(payload.len())
}

/// Link services in sorted order: the order of crossing ones is random.
fn sorted(mut all: Vec<Meaning>) -> Vec<Meaning> {
    all.sort();
    all
}

/// Both sides of a capture: the same link services with the same bytes, as many as there are on the target's and on
/// the initiator's side; and as many sessions.
fn same(name: &str, services: [usize; 2], sessions: usize) {
    for (target, services) in [(true, services[0]), (false, services[1])] {
        let (expected, ours, events) = play(name, target);
        assert_eq!(sorted(ours), sorted(expected.clone()), "{name}, in place of the target: {target}");
        assert_eq!(expected.len(), services, "{name}, in place of the target: {target}");
        let ups = events.iter().filter(|event| matches!(event, LoginEvent::Up(_))).count();
        assert_eq!(ups, sessions, "{events:?}");
    }
}

/// The target has the greater name; FLOGI, PLOGI, PRLI both ways, RTV both ways.
#[test]
fn capture_01_login() {
    same("01-vn2vn-mp-discovery-login", [6, 6], 1);
}

/// The initiator has the greater name and sends PLOGI; it dies, and the target logs out.
#[test]
fn capture_03_the_other_order() {
    same("03-id-conflict-probe-reply", [7, 6], 1);
}

/// The initiator's link goes down and up. Its FLOGI finds the target logged in: busy, crossed logins, a second session.
#[test]
fn capture_07_busy() {
    same("07-link-bounce-flogi-busy-relogin", [15, 15], 2);
}

/// The target's first beacon after login is asked by ADISC; it dies, and the initiator logs out.
#[test]
fn capture_08_adisc_and_logo() {
    same("08-beacon-timeout-adisc-logo", [7, 8], 1);
}

/// MTU 1500: receive sizes of 1452.
#[test]
fn capture_12_small_frames() {
    same("12-mtu1500-login-write", [7, 6], 1);
    let (_, _, events) = play("12-mtu1500-login-write", true);
    assert!(matches!(events[0], LoginEvent::Up(Peer { max_payload: 1452, .. })));
}

/// On a VLAN. The kernel's target heard no answer to its PRLI, and asks until the initiator is gone; ours heard it, and
/// goes on with RTV.
#[test]
fn capture_13_vlan() {
    let name = "13-vlan100-discovery";
    let (expected, ours, events) = play(name, false);
    assert_eq!(sorted(ours), sorted(expected));
    assert!(matches!(events[..], [LoginEvent::Up(_)]));

    let (expected, ours, events) = play(name, true);
    let again = expected.iter().filter(|sent| (sent.command, sent.reply) == (PRLI, 0)).count();
    assert_eq!(again, 4);
    let once = |all: Vec<Meaning>| {
        let mut all = sorted(all);
        all.dedup();
        all.retain(|sent| (sent.command, sent.reply) != (RTV, 0));
        all
    };
    assert_eq!(once(ours), once(expected));
    assert!(matches!(events[..], [LoginEvent::Up(_), LoginEvent::Down(_, SessionEnd::Gone)]));
}

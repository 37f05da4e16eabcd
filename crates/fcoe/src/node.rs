//! An ENode with one VN_Port: discovery, logins, target and initiator, joined.

mod dispatch;

use crate::{
    DeviceServer, FipConfig, FipCounters, FipEvent, FipMode, Initiator, InitiatorConfig, InitiatorEvent, LoginConfig,
    LoginCounters, LoginEvent, Logins, Neighbour, NeighbourInfo, Peer, PeerId, Role, SessionEnd, Target, TargetConfig,
    Transmit, TunneledEls, Vn2vn, max_payload,
};
use dispatch::Out;
use linerate_wire::{FcId, FcoeFrame, MacAddr, VlanTag, Wwn};
use std::collections::VecDeque;

pub use dispatch::NodeDrop;

/// What a node is told about itself.
#[derive(Debug, Clone, Copy)]
pub struct NodeConfig {
    /// The ENode's MAC address.
    pub mac: MacAddr,
    /// The port's name; [`Wwn::from_mac`] of kind 0x2000 is what Linux takes.
    pub wwpn: Wwn,
    /// The node's name; of kind 0x1000 likewise.
    pub wwnn: Wwn,
    /// Bytes behind the Ethernet header that the network carries: 2158 for full FC frames.
    pub mtu: usize,
    /// The tag of all frames.
    pub vlan: Option<VlanTag>,
    /// Number of others expected.
    pub mode: FipMode,
    /// What random delays are drawn from.
    pub seed: u64,
    /// Retries of sequences (SRR) and confirmed completion are offered.
    pub retry: bool,
    /// The target's limits; none for a node without LUNs.
    pub target: Option<TargetConfig>,
    /// The initiator's limits; none for a node that sends no commands.
    pub initiator: Option<InitiatorConfig>,
}

impl NodeConfig {
    /// A node at this address with names as Linux makes them, on a network of this MTU; neither target nor initiator yet.
    #[must_use]
    pub fn new(mac: MacAddr, mtu: usize, seed: u64) -> Self {
        Self {
            mac,
            wwpn: Wwn::from_mac(0x2000, mac),
            wwnn: Wwn::from_mac(0x1000, mac),
            mtu,
            vlan: None,
            mode: FipMode::Multipoint,
            seed,
            retry: true,
            target: None,
            initiator: None,
        }
    }
}

/// Event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NodeEvent {
    /// We have an address.
    Address(FcId),
    /// We have none any more.
    NoAddress,
    /// A neighbour is alive: its first beacon.
    Found(Neighbour),
    /// A neighbour is gone.
    Lost(Neighbour),
    /// A peer has logged in.
    Up(Peer),
    /// A peer is no longer logged in.
    Down(Peer, SessionEnd),
}

/// Events that wait at most; the oldest are lost beyond.
const EVENTS: usize = 4096;

/// One VN_Port on one Ethernet port: all that is between frames and, on the one side, LUNs, on the other, commands.
///
/// `handle` takes frames whose CRC was right; `poll` is called in each turn of the loop. Time is in nanoseconds and does
/// not go back.
#[derive(Debug)]
pub struct Node<S> {
    vlan: Option<VlanTag>,
    fip: Vn2vn,
    logins: Logins,
    target: Option<Target<S>>,
    initiator: Option<Initiator>,
    events: VecDeque<NodeEvent>,
    heard: Vec<FcId>,
    /// Who is logged in, and under which address.
    sessions: Vec<Peer>,
    drops: [u64; NodeDrop::ALL.len()],
}

/// Bytes of a frame around its payload.
const OVERHEAD: u16 = 46;
const _: () = assert!(FcoeFrame::OVERHEAD == OVERHEAD as usize);

impl<S: DeviceServer> Node<S> {
    /// A node whose link is down. `device` is behind its target, if it is one.
    #[must_use]
    pub fn new(config: &NodeConfig, device: S) -> Self {
        let role = Role { target: config.target.is_some(), initiator: config.initiator.is_some() };
        let payload = max_payload(config.mtu);
        let fip = Vn2vn::new(&FipConfig {
            mac: config.mac,
            wwpn: config.wwpn,
            wwnn: config.wwnn,
            max_fcoe_size: payload + OVERHEAD,
            role,
            mode: config.mode,
            vlan: config.vlan,
            seed: config.seed,
        });
        let logins = Logins::new(&LoginConfig {
            wwpn: config.wwpn,
            wwnn: config.wwnn,
            role,
            max_payload: payload,
            retry: config.retry,
            confirm: true,
            vlan: config.vlan,
            peers: 256,
        });
        Self {
            vlan: config.vlan,
            fip,
            logins,
            target: config.target.map(|limits| Target::new(limits, device)),
            initiator: config.initiator.map(Initiator::new),
            events: VecDeque::new(),
            heard: Vec::new(),
            sessions: Vec::new(),
            drops: [0; NodeDrop::ALL.len()],
        }
    }

    /// The link is up, or down.
    pub fn set_link(&mut self, now: u64, up: bool, out: &mut impl Transmit) {
        self.fip.set_link(now, up);
        self.settle(now, out);
    }

    /// Takes a frame that begins with its Ethernet header. The CRC of an FCoE frame was right.
    #[inline]
    pub fn handle(&mut self, now: u64, frame: &[u8], out: &mut impl Transmit) {
        if let Err(reason) = self.dispatch(now, frame, out) {
            self.drops[reason as usize] += 1;
        }
    }

    /// Does what is due, and sends what there is room for.
    pub fn poll(&mut self, now: u64, out: &mut impl Transmit) {
        if self.fip.poll_timeout().is_some_and(|at| at <= now) {
            self.fip.poll(now, out);
            self.settle(now, out);
        }
        if self.logins.poll_timeout().is_some_and(|at| at <= now) {
            let (logins, mut ways) = Out::of(self, out);
            logins.poll(now, &mut ways);
            self.settle(now, out);
        }
        if let Some(target) = &mut self.target {
            target.poll(now, out);
        }
        if let Some(initiator) = &mut self.initiator {
            initiator.poll(now, out);
        }
        while let Some(InitiatorEvent::Logout(peer)) = self.initiator.as_mut().and_then(Initiator::poll_event) {
            let (logins, mut ways) = Out::of(self, out);
            logins.log_in_again(now, peer, &mut ways);
            self.settle(now, out);
        }
    }

    /// Time at which [`poll`](Self::poll) has something to do though nothing came and no room was made.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<u64> {
        let target = self.target.as_ref().and_then(Target::poll_timeout);
        let initiator = self.initiator.as_ref().and_then(Initiator::poll_timeout);
        [self.fip.poll_timeout(), self.logins.poll_timeout(), target, initiator].into_iter().flatten().min()
    }

    /// True if frames wait for room.
    #[must_use]
    pub fn is_blocked(&self) -> bool {
        self.target.as_ref().is_some_and(Target::is_blocked)
            || self.initiator.as_ref().is_some_and(Initiator::wants_room)
    }

    /// Events, in order.
    pub fn poll_event(&mut self) -> Option<NodeEvent> {
        self.events.pop_front()
    }

    /// Logs out of all sessions and begins no more; [`is_quiet`](Self::is_quiet) tells when that is done.
    pub fn log_out(&mut self, now: u64, out: &mut impl Transmit) {
        let (logins, mut ways) = Out::of(self, out);
        logins.log_out_all(now, &mut ways);
        self.settle(now, out);
    }

    /// True if no login or logout waits for its answer.
    #[must_use]
    pub fn is_quiet(&self) -> bool {
        self.logins.is_quiet()
    }

    /// Our address and VN_Port MAC address, once claimed.
    #[must_use]
    pub fn own(&self) -> Option<(FcId, MacAddr)> {
        self.fip.own()
    }

    /// Discovery.
    #[must_use]
    pub fn fip(&self) -> &Vn2vn {
        &self.fip
    }

    /// What discovery counted.
    #[must_use]
    pub fn fip_counters(&self) -> &FipCounters {
        self.fip.counters()
    }

    /// The peers that are logged in.
    pub fn peers(&self) -> impl Iterator<Item = &Peer> {
        self.logins.peers()
    }

    /// The peer of a session that is still up.
    #[must_use]
    pub fn peer(&self, id: PeerId) -> Option<&Peer> {
        self.logins.peer(id)
    }

    /// What logins counted.
    #[must_use]
    pub fn login_counters(&self) -> &LoginCounters {
        self.logins.counters()
    }

    /// The target.
    #[must_use]
    pub fn target(&self) -> Option<&Target<S>> {
        self.target.as_ref()
    }

    /// The target, to change what is behind it.
    pub fn target_mut(&mut self) -> Option<&mut Target<S>> {
        self.target.as_mut()
    }

    /// The initiator.
    #[must_use]
    pub fn initiator(&self) -> Option<&Initiator> {
        self.initiator.as_ref()
    }

    /// The initiator, and who is logged in, to submit commands.
    pub fn initiator_mut(&mut self) -> Option<(&mut Initiator, &Logins)> {
        self.initiator.as_mut().map(|initiator| (initiator, &self.logins))
    }

    /// Frames that belong to none of the parts, by reason.
    pub fn drops(&self) -> impl Iterator<Item = (NodeDrop, u64)> + '_ {
        NodeDrop::ALL.into_iter().zip(self.drops)
    }

    /// Carries events from each part to those that want to know, until there are none.
    fn settle(&mut self, now: u64, out: &mut impl Transmit) {
        loop {
            if let Some(event) = self.fip.poll_event() {
                self.discovered(now, event, out);
            } else if let Some(event) = self.logins.poll_event() {
                self.logged(event);
            } else {
                return;
            }
        }
    }

    fn discovered(&mut self, now: u64, event: FipEvent, out: &mut impl Transmit) {
        match event {
            FipEvent::Up { fc_id, mac } => {
                self.logins.set_own(Some((fc_id, mac)));
                self.tell(NodeEvent::Address(fc_id));
            }
            FipEvent::Down => {
                self.logins.set_own(None);
                self.heard.clear();
                self.tell(NodeEvent::NoAddress);
            }
            FipEvent::Beacon(neighbour) => {
                if !self.heard.contains(&neighbour.fc_id) {
                    self.heard.push(neighbour.fc_id);
                    self.tell(NodeEvent::Found(neighbour));
                }
                let (logins, mut ways) = Out::of(self, out);
                logins.neighbour_beacon(now, &info(&neighbour), &mut ways);
            }
            FipEvent::Answered(neighbour) => {
                let (logins, mut ways) = Out::of(self, out);
                logins.neighbour_answered(now, &info(&neighbour), &mut ways);
            }
            FipEvent::Claimed(neighbour) => self.logins.neighbour_claimed(neighbour.fc_id),
            FipEvent::Gone(neighbour) => {
                let (logins, mut ways) = Out::of(self, out);
                logins.neighbour_gone(now, neighbour.fc_id, &mut ways);
                if self.heard.contains(&neighbour.fc_id) {
                    self.heard.retain(|id| *id != neighbour.fc_id);
                    self.tell(NodeEvent::Lost(neighbour));
                }
            }
            FipEvent::Els { kind, from, enode_mac, header, payload, mac } => {
                let els =
                    TunneledEls { src: enode_mac, mac, neighbour: from.as_ref().map(info), header, payload: &payload };
                let (logins, ways) = Out::of(self, out);
                logins.handle_fip_els(now, &els, &mut ways.answering(kind));
            }
        }
    }

    fn logged(&mut self, event: LoginEvent) {
        match event {
            LoginEvent::Up(peer) => {
                self.fip.pin(peer.fc_id, true);
                self.sessions.push(peer);
                if let Some(target) = self.target.as_mut().filter(|_| peer.role.initiator) {
                    target.up(&peer);
                }
                self.tell(NodeEvent::Up(peer));
            }
            LoginEvent::Changed(peer) => {
                if let Some(target) = &mut self.target {
                    target.change(&peer);
                }
            }
            LoginEvent::Down(id, why) => {
                if let Some(target) = &mut self.target {
                    target.down(id);
                }
                if let Some(initiator) = &mut self.initiator {
                    initiator.down(id);
                }
                if let Some(at) = self.sessions.iter().position(|peer| peer.id == id) {
                    let peer = self.sessions.swap_remove(at);
                    self.fip.pin(peer.fc_id, false);
                    self.tell(NodeEvent::Down(peer, why));
                }
            }
        }
    }

    fn tell(&mut self, event: NodeEvent) {
        if self.events.len() == EVENTS {
            self.events.pop_front();
        }
        self.events.push_back(event);
    }
}

fn info(neighbour: &Neighbour) -> NeighbourInfo {
    NeighbourInfo {
        wwpn: neighbour.wwpn,
        wwnn: neighbour.wwnn,
        fc_id: neighbour.fc_id,
        enode_mac: neighbour.enode_mac,
        vn_mac: neighbour.mac,
        max_fcoe_size: neighbour.max_fcoe_size,
        // A claim that names neither was damaged, or is of one that does not say: then PRLI tells.
        role: Some(neighbour.role).filter(|role| role.target || role.initiator),
    }
}

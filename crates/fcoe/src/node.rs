//! An ENode with one VN_Port: discovery, logins, target and initiator, joined.

mod backlog;
mod dispatch;

use crate::{
    AuthConfig, AuthFailure, AuthProof, DeviceServer, FipConfig, FipCounters, FipEvent, FipMode, Initiator,
    InitiatorConfig, InitiatorEvent, LoginConfig, LoginCounters, LoginEvent, Logins, Neighbour, NeighbourInfo, Peer,
    PeerId, RefusedClaim, Role, SessionEnd, Target, TargetConfig, Transmit, TunneledEls, Vn2vn, max_payload,
};
use backlog::Backlog;
use dispatch::Out;
use linerate_wire::{FcId, FcoeFrame, MacAddr, VlanTag, Wwn};
use std::collections::{BTreeSet, VecDeque};

pub use dispatch::NodeDrop;
use dispatch::NodeDrops;

#[derive(Debug, Clone, Copy)]
pub struct NodeConfig {
    /// The ENode's MAC address.
    pub mac: MacAddr,
    /// The port's name; Linux accepts [`Wwn::from_mac`] of kind 0x2000.
    pub wwpn: Wwn,
    /// The node's name; of kind 0x1000 likewise.
    pub wwnn: Wwn,
    /// MTU of the network: bytes after the Ethernet header, 2158 for full FC frames.
    pub mtu: usize,
    /// VLAN tag of all frames.
    pub vlan: Option<VlanTag>,
    pub mode: FipMode,
    /// Seed of random delays.
    pub seed: u64,
    /// Offer sequence retransmission (SRR) and confirmed completion.
    pub retry: bool,
    /// Limits of the target; None for a node without LUNs.
    pub target: Option<TargetConfig>,
    /// Limits of the initiator; None for a node that sends no commands.
    pub initiator: Option<InitiatorConfig>,
}

impl NodeConfig {
    /// Node at this address with names in Linux's form, on a network of this MTU; neither target nor initiator yet.
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

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NodeEvent {
    /// The node has an address.
    Address(FcId),
    /// The node has lost its address.
    NoAddress,
    /// A neighbour is alive: its first beacon.
    Found(Neighbour),
    Lost(Neighbour),
    /// A claim to the identity of a neighbour, or to our name, was refused.
    Refused(RefusedClaim),
    /// The ENode of this MAC address had our name before us: we have no address.
    NameInUse(MacAddr),
    /// The neighbour of this name rejects our login, because it knows another station by our name. It is free again when that
    /// one logs out or has sent no beacon for 20 s.
    NameTaken(Wwn),
    /// A peer has logged in.
    Up(Peer),
    /// A peer is no longer logged in.
    Down(Peer, SessionEnd),
    /// The login with the port of this name was authenticated.
    Authenticated(Wwn, AuthProof),
    /// It could not be, and is given up until the port's next beacon.
    Unauthenticated(Wwn, AuthFailure),
}

/// Most events that wait to be taken; the oldest are dropped beyond.
const EVENTS: usize = 4096;

/// One VN_Port on one Ethernet port: the whole stack between frames and LUNs (as target) or commands (as initiator).
///
/// `handle` takes frames whose CRC was checked; `poll` is called in each turn of the loop. Time is in nanoseconds and
/// does not go back.
#[derive(Debug)]
pub struct Node<S> {
    vlan: Option<VlanTag>,
    fip: Vn2vn,
    logins: Logins,
    backlog: Backlog,
    target: Option<Target<S>>,
    initiator: Option<Initiator>,
    events: VecDeque<NodeEvent>,
    heard: Vec<FcId>,
    /// Peers that are logged in, with their addresses.
    sessions: Vec<Peer>,
    drops: NodeDrops,
    /// Logs out at this time, or earlier when the target has answered all commands.
    leaving: Option<u64>,
}

/// Nanoseconds that a target that logs out has to answer its commands.
const LAST_ANSWERS: u64 = 1_000_000_000;

/// Bytes of a frame besides its payload.
const OVERHEAD: u16 = 46;
const _: () = assert!(FcoeFrame::OVERHEAD == OVERHEAD as usize);

impl<S: DeviceServer> Node<S> {
    /// Node whose link is down. `device` is the device server of its target, if it is one.
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
            backlog: Backlog::default(),
            target: config.target.map(|limits| Target::new(limits, device)),
            initiator: config.initiator.map(Initiator::new),
            events: VecDeque::new(),
            heard: Vec::new(),
            sessions: Vec::new(),
            drops: NodeDrops::default(),
            leaving: None,
        }
    }

    pub fn set_link(&mut self, now: u64, up: bool, out: &mut impl Transmit) {
        self.fip.set_link(now, up);
        self.settle(now, out);
    }

    /// Processes a frame that begins with its Ethernet header. The CRC of an FCoE frame must have been checked.
    #[inline]
    pub fn handle(&mut self, now: u64, frame: &[u8], out: &mut impl Transmit) {
        if let Err(reason) = self.dispatch(now, frame, out) {
            self.drops.add(reason, 1);
        }
    }

    /// Does the work that is due, and sends as many frames as there is room for.
    pub fn poll(&mut self, now: u64, out: &mut impl Transmit) {
        self.backlog.flush(out);
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
        self.leave(now, out);
    }

    /// Time at which [`poll`](Self::poll) has work even without a frame or new room.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<u64> {
        let target = self.target.as_ref().and_then(Target::poll_timeout);
        let initiator = self.initiator.as_ref().and_then(Initiator::poll_timeout);
        [self.fip.poll_timeout(), self.logins.poll_timeout(), target, initiator, self.leaving]
            .into_iter()
            .flatten()
            .min()
    }

    /// True if frames wait for room.
    #[must_use]
    pub fn is_blocked(&self) -> bool {
        !self.backlog.is_empty()
            || self.target.as_ref().is_some_and(Target::is_blocked)
            || self.initiator.as_ref().is_some_and(Initiator::wants_room)
    }

    /// The next event, in order.
    pub fn poll_event(&mut self) -> Option<NodeEvent> {
        self.events.pop_front()
    }

    /// Logs out of all sessions and begins no more; [`is_quiet`](Self::is_quiet) is true when that is done. A target
    /// first answers the commands that it has, for up to a second.
    pub fn log_out(&mut self, now: u64, out: &mut impl Transmit) {
        self.leaving = Some(now.saturating_add(LAST_ANSWERS));
        if let Some(target) = &mut self.target {
            target.close();
        }
        self.leave(now, out);
    }

    /// Logs out if that was asked for and no command waits for its answer any more.
    fn leave(&mut self, now: u64, out: &mut impl Transmit) {
        let Some(at) = self.leaving else { return };
        if now < at && self.target.as_ref().is_some_and(Target::has_commands) {
            return;
        }
        self.leaving = None;
        let (logins, mut ways) = Out::of(self, out);
        logins.log_out_all(now, &mut ways);
        self.settle(now, out);
    }

    /// True if no command waits for its answer before a logout, and no login or logout for its own.
    #[must_use]
    pub fn is_quiet(&self) -> bool {
        self.leaving.is_none() && self.logins.is_quiet()
    }

    /// Has ports authenticate each other with these secrets, before there is any session. See [`Logins::authenticate_with`].
    pub fn authenticate_with(&mut self, config: AuthConfig, seed: [u8; 32]) {
        self.logins.authenticate_with(config, seed);
    }

    /// Changes which ports need no authentication. See [`Logins::open_to`].
    pub fn open_to(&mut self, now: u64, names: BTreeSet<Wwn>) {
        self.logins.open_to(now, names);
    }

    /// The logins, with what they know of authentications.
    #[must_use]
    pub fn logins(&self) -> &Logins {
        &self.logins
    }

    /// Own address and VN_Port MAC address, once claimed.
    #[must_use]
    pub fn own(&self) -> Option<(FcId, MacAddr)> {
        self.fip.own()
    }

    #[must_use]
    pub fn fip(&self) -> &Vn2vn {
        &self.fip
    }

    #[must_use]
    pub fn fip_counters(&self) -> &FipCounters {
        self.fip.counters()
    }

    /// Peers that are logged in.
    pub fn peers(&self) -> impl Iterator<Item = &Peer> {
        self.logins.peers()
    }

    /// The peer of a session that is still up.
    #[must_use]
    pub fn peer(&self, id: PeerId) -> Option<&Peer> {
        self.logins.peer(id)
    }

    #[must_use]
    pub fn login_counters(&self) -> &LoginCounters {
        self.logins.counters()
    }

    #[must_use]
    pub fn target(&self) -> Option<&Target<S>> {
        self.target.as_ref()
    }

    /// The target, for changes of its device server.
    pub fn target_mut(&mut self) -> Option<&mut Target<S>> {
        self.target.as_mut()
    }

    #[must_use]
    pub fn initiator(&self) -> Option<&Initiator> {
        self.initiator.as_ref()
    }

    /// The initiator with the logged-in peers, to submit commands.
    pub fn initiator_mut(&mut self) -> Option<(&mut Initiator, &Logins)> {
        self.initiator.as_mut().map(|initiator| (initiator, &self.logins))
    }

    /// Dropped frames that belong to none of the parts, by reason.
    pub fn drops(&self) -> impl Iterator<Item = (NodeDrop, u64)> + '_ {
        NodeDrop::ALL.into_iter().map(|reason| (reason, self.drops.of(reason)))
    }

    /// Passes events between the parts until there are none.
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
                self.backlog.clear();
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
            FipEvent::Refused(refused) => self.tell(NodeEvent::Refused(refused)),
            FipEvent::NameInUse(holder) => self.tell(NodeEvent::NameInUse(holder)),
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
            LoginEvent::Authenticated(name, proof) => self.tell(NodeEvent::Authenticated(name, proof)),
            LoginEvent::Unauthenticated(name, why) => self.tell(NodeEvent::Unauthenticated(name, why)),
            LoginEvent::NameTaken(by) => self.tell(NodeEvent::NameTaken(by)),
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
        // A claim that names neither role was damaged, or its sender states none: then PRLI decides.
        role: Some(neighbour.role).filter(|role| role.target || role.initiator),
    }
}

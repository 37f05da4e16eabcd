//! Dispatch of frames to the parts of a node, and the logins' access to the other parts.

use super::Node;
use super::backlog::Patient;
use crate::{
    DeviceServer, ExchangeStatus, Initiator, Logins, NeighbourInfo, Peer, Sequence, Target, Transmit, Vn2vn, Ways,
};
use linerate_text::reasons;
use linerate_wire::{
    ElsCommand, EtherType, EthernetFrame, FcHeader, FcId, FcType, FcoeFrame, FipElsKind, OxId, RxId, VlanHeader,
    VlanTag, r_ctl,
};

reasons! {
    /// Reason that a frame was given to no part.
    pub enum NodeDrop {
        /// Too short for Ethernet or its tag.
        NotEthernet = "not_ethernet",
        OtherProtocol = "other_protocol",
        /// Another VLAN.
        Vlan = "vlan",
        /// Destination address of another station.
        OtherStation = "other_station",
        /// Not an FC frame (version, length, fill).
        Malformed = "malformed",
        /// The node has no address yet.
        NoAddress = "no_address",
        /// The source MAC address does not belong to the S_ID (FC-BB-6, clause 7.8.5).
        WrongSource = "wrong_source",
        /// The sender is not logged in.
        NotLoggedIn = "not_logged_in",
        /// A kind of frame that no part takes.
        Unexpected = "unexpected",
    }

    /// Frames given to no part, by reason.
    pub struct NodeDrops;
}

impl<S: DeviceServer> Node<S> {
    #[inline]
    pub(super) fn dispatch(&mut self, now: u64, bytes: &[u8], out: &mut impl Transmit) -> Result<(), NodeDrop> {
        let ethernet = EthernetFrame::new_checked(bytes).map_err(|_| NodeDrop::NotEthernet)?;
        let (vid, ethertype, payload) = match ethernet.ethertype() {
            EtherType::VLAN => {
                let header = VlanHeader::new_checked(ethernet.payload()).map_err(|_| NodeDrop::NotEthernet)?;
                (header.tag().vid(), header.ethertype(), header.payload())
            }
            ethertype => (0, ethertype, ethernet.payload()),
        };
        match ethertype {
            EtherType::FCOE => {}
            EtherType::FIP => {
                self.fip.handle(now, bytes, out);
                self.settle(now, out);
                return Ok(());
            }
            _ => return Err(NodeDrop::OtherProtocol),
        }
        if vid != self.vlan.map_or(0, VlanTag::vid) {
            return Err(NodeDrop::Vlan);
        }
        let (_, own) = self.fip.own().ok_or(NodeDrop::NoAddress)?;
        if ethernet.dst() != own {
            return Err(NodeDrop::OtherStation);
        }
        let frame = FcoeFrame::new_checked(payload).map_err(|_| NodeDrop::Malformed)?;
        let header = frame.header();
        // Of the link services with OX_IDs below those of logins, the initiator's come first, then the target's.
        let rec_poll = header.fc_type == FcType::ELS && header.ox_id >= crate::target::FIRST_OX_ID;
        let ours = header.from_responder() && !rec_poll;
        match (header.fc_type, header.r_ctl) {
            (FcType::FCP, _) | (FcType::BLS, r_ctl::BLS_ABTS | r_ctl::BLS_BA_ACC | r_ctl::BLS_BA_RJT) => {}
            (FcType::ELS, r_ctl::ELS_REPLY) if header.ox_id < Logins::FIRST_OX_ID => {}
            (FcType::ELS, _) => {
                let link = crate::Link { src: ethernet.src(), dst: own, vlan: self.vlan };
                let (logins, mut ways) = Out::of(self, out);
                logins.handle(now, &link, &frame, &mut ways);
                self.settle(now, out);
                return Ok(());
            }
            _ => return Err(NodeDrop::Unexpected),
        }
        let peer = self.logins.peer_by_id(header.s_id).ok_or(NodeDrop::NotLoggedIn)?;
        if ethernet.src() != peer.link.dst {
            return Err(NodeDrop::WrongSource);
        }
        match (ours, &mut self.initiator, &mut self.target) {
            (true, Some(initiator), _) => initiator.handle(now, peer, &frame, out),
            (false, _, Some(target)) => target.handle(now, peer, &frame, out),
            _ => return Err(NodeDrop::Unexpected),
        }
        Ok(())
    }
}

/// Parts of the node that the logins use.
pub(super) struct Out<'a, S, T> {
    fip: &'a mut Vn2vn,
    target: &'a mut Option<Target<S>>,
    initiator: Option<&'a mut Initiator>,
    /// Request that is being answered.
    asked: FipElsKind,
    out: Patient<'a, T>,
}

impl<'a, S, T> Out<'a, S, T> {
    /// The logins, and the parts around them.
    pub(super) fn of(node: &'a mut Node<S>, out: &'a mut T) -> (&'a mut Logins, Self) {
        let Node { fip, target, initiator, logins, backlog, .. } = node;
        let out = Patient { backlog, out };
        (logins, Self { fip, target, initiator: initiator.as_mut(), asked: FipElsKind::Flogi, out })
    }

    /// The same parts, to answer a request of this kind.
    pub(super) fn answering(self, asked: FipElsKind) -> Self {
        Self { asked, ..self }
    }
}

impl<S: DeviceServer, T: Transmit> Ways for Out<'_, S, T> {
    fn fip(&mut self, to: &NeighbourInfo, header: &FcHeader, payload: &[u8]) -> bool {
        let kind = match (header.r_ctl, payload.first().map(|command| ElsCommand(*command))) {
            // A reply is sent in a descriptor of the request's kind.
            (r_ctl::ELS_REPLY, _) => self.asked,
            (_, Some(ElsCommand::LOGO)) => FipElsKind::Logo,
            _ => FipElsKind::Flogi,
        };
        self.fip.send_els(to.enode_mac, kind, header, payload, &mut self.out)
    }

    fn fc(&mut self, sequence: &Sequence<'_>) -> bool {
        self.out.sequence(sequence) > 0
    }

    fn exchange_status(&mut self, peer: &Peer, originator: FcId, ox_id: OxId, rx_id: RxId) -> Option<ExchangeStatus> {
        if originator == peer.own {
            self.initiator.as_ref()?.exchange_status(peer.id, ox_id, rx_id)
        } else {
            self.target.as_ref()?.exchange_status(originator, ox_id, rx_id)
        }
    }

    fn reinstate(&mut self, peer: &Peer, ox_id: OxId, rx_id: RxId) -> bool {
        self.target.as_mut().is_none_or(|target| target.reinstate(peer.fc_id, ox_id, rx_id))
    }
}

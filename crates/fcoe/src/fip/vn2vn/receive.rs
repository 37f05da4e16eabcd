//! Processing of received frames: their sender and receiver, and the changes that they cause.

use super::{EVENTS, FipEvent, State, Vn2vn, tell};
use crate::Transmit;
use crate::fip::config::{ANNOUNCE_WAIT, ECHO, FipMode, RATE_LIMIT_WAIT};
use crate::fip::counters::FipDrop;
use crate::fip::neighbours::{Identity, Neighbour, RefusedClaim, is_consistent};
use linerate_wire::*;

impl Vn2vn {
    /// Processes a frame; the error is the reason to drop it.
    pub(super) fn take(&mut self, now: u64, ethernet: &[u8], out: &mut impl Transmit) -> Result<(), FipDrop> {
        let frame = EthernetFrame::new_checked(ethernet).map_err(|_| FipDrop::NotFip)?;
        let (vid, ethertype, payload) = match frame.ethertype() {
            EtherType::VLAN => {
                let header = VlanHeader::new_checked(frame.payload()).map_err(|_| FipDrop::NotFip)?;
                (header.tag().vid(), header.ethertype(), header.payload())
            }
            ethertype => (0, ethertype, frame.payload()),
        };
        if ethertype != EtherType::FIP {
            return Err(FipDrop::NotFip);
        }
        if vid != self.config.vlan.map_or(0, VlanTag::vid) {
            return if vid == 0 { self.vlan_request(&frame, payload, out) } else { Err(FipDrop::Vlan) };
        }
        if self.state == State::Off {
            return Err(FipDrop::NotReady);
        }
        let (src, dst) = (frame.src(), frame.dst());
        if ![self.config.mac, FipFrame::ALL_VN2VN_MACS, FipFrame::ALL_PT2PT_MACS].contains(&dst) {
            return Err(FipDrop::NotForUs);
        }
        let fip = FipFrame::new_checked(payload).map_err(|_| FipDrop::Malformed)?;
        match fip.code().protocol {
            5 => self.vn2vn(now, src, &FipVn2vnRepr::parse(&fip).map_err(|_| FipDrop::Malformed)?, out),
            _ if src == self.config.mac => Err(FipDrop::Own),
            2 => self.els(src, dst, &FipElsRepr::parse(&fip).map_err(|_| FipDrop::Malformed)?),
            _ => Err(FipDrop::Foreign),
        }
    }

    /// A frame outside of our VLAN: who asks for it is told.
    fn vlan_request(
        &mut self,
        frame: &EthernetFrame<&[u8]>,
        payload: &[u8],
        out: &mut impl Transmit,
    ) -> Result<(), FipDrop> {
        let asked = FipFrame::new_checked(payload).and_then(|fip| FipVlanRepr::parse(&fip));
        let (Ok(FipVlanRepr { kind: FipVlanKind::Request, mac, .. }), Some(vlan)) = (asked, self.config.vlan) else {
            return Err(FipDrop::Vlan);
        };
        if self.state == State::Off {
            return Err(FipDrop::NotReady);
        }
        if ![self.config.mac, FipFrame::ALL_VN2VN_MACS].contains(&frame.dst()) {
            return Err(FipDrop::NotForUs);
        }
        if mac == self.config.mac {
            return Err(FipDrop::Own);
        }
        if mac != frame.src() || mac.is_multicast() {
            return Err(FipDrop::Inconsistent);
        }
        let sent = self.sender.vlan(mac, vlan, out);
        self.counted(sent);
        Ok(())
    }

    /// A frame of discovery.
    fn vn2vn(&mut self, now: u64, src: MacAddr, repr: &FipVn2vnRepr, out: &mut impl Transmit) -> Result<(), FipDrop> {
        if !is_consistent(src, repr) {
            return Err(FipDrop::Inconsistent);
        }
        // A Beacon's source address proves nothing: another port with our identifier has our VN_Port's.
        if repr.enode_mac == self.config.mac {
            // Some networks send our frames back to us: the last one, and soon.
            let echo = self.last.is_some_and(|(kind, at)| kind == repr.kind && now < at.saturating_add(ECHO));
            if repr.port.name != self.config.wwpn {
                if self.rival.is_news(now, self.config.mac) {
                    let (what, holder) = (Identity::Mac(repr.port.name), self.config.mac);
                    tell(&mut self.events, FipEvent::Refused(RefusedClaim { what, holder, claimant: holder }));
                }
            } else if !echo {
                self.same_name(now, repr, out);
            }
            return Err(FipDrop::Own);
        }
        if repr.port.name == self.config.wwpn {
            self.same_name(now, repr, out);
            return Err(FipDrop::SameName);
        }
        let flagged = repr.flags.has(FipFlags::REC_P2P);
        if self.mode == FipMode::PointToPoint {
            let third = self.neighbours().any(|neighbour| neighbour.wwpn != repr.port.name);
            if !flagged || third {
                self.begin(now, FipMode::Multipoint);
            }
        }
        let multipoint = self.mode == FipMode::Multipoint;
        match repr.kind {
            Vn2vnKind::ProbeRequest => self.probe_request(now, repr, flagged && multipoint, out),
            Vn2vnKind::ProbeReply => self.probe_reply(now, repr, out),
            // A port that expects to be alone with us learns from a Probe Request that this is multipoint (captures
            // 10).
            Vn2vnKind::ClaimNotification | Vn2vnKind::Beacon if flagged && multipoint => {
                self.multicast(now, Vn2vnKind::ProbeRequest, FipMode::Multipoint, out);
            }
            Vn2vnKind::ClaimNotification => return self.claim_notification(now, repr, out),
            Vn2vnKind::ClaimResponse => return self.claim_response(now, repr),
            Vn2vnKind::Beacon => return self.beacon(now, repr, out),
        }
        Ok(())
    }

    /// A port of another station has our name: who had it first keeps it.
    fn same_name(&mut self, now: u64, repr: &FipVn2vnRepr, out: &mut impl Transmit) {
        let other = repr.enode_mac;
        let first = match (self.state, repr.kind) {
            (State::Up, _) | (State::Claim, Vn2vnKind::ProbeRequest) => true,
            // Both have just begun, and nothing but this tells them apart.
            (State::Probe1 | State::Probe2, Vn2vnKind::ProbeRequest) => self.config.mac > other,
            (State::Off, _) | (State::Start, Vn2vnKind::ProbeRequest) => return,
            _ => false,
        };
        let news = self.rival.is_news(now, other);
        if !first {
            self.leave();
            (self.state, self.due) = (State::Start, now.saturating_add(RATE_LIMIT_WAIT));
            if news {
                tell(&mut self.events, FipEvent::NameInUse(other));
            }
            return;
        }
        match repr.kind {
            // One with our address too hears nothing that is sent to it alone.
            Vn2vnKind::ProbeRequest if other == self.config.mac => match self.state {
                State::Up => self.multicast(now, Vn2vnKind::Beacon, self.mode, out),
                _ => self.multicast(now, Vn2vnKind::ClaimNotification, self.mode, out),
            },
            Vn2vnKind::ProbeRequest => self.unicast(Vn2vnKind::ProbeReply, other, 0, out),
            // Neither is answered, so that two that are both sure of the name do not go on and on.
            Vn2vnKind::ClaimNotification if other != self.config.mac => {
                self.unicast(Vn2vnKind::ClaimResponse, other, 0, out)
            }
            _ => true,
        };
        if news {
            let what = Identity::Name(self.config.wwpn);
            let refused = RefusedClaim { what, holder: self.config.mac, claimant: other };
            tell(&mut self.events, FipEvent::Refused(refused));
        }
    }

    /// A port probes for an identifier; `recorded` when it had the identifier in an earlier life.
    fn probe_request(&mut self, now: u64, repr: &FipVn2vnRepr, recorded: bool, out: &mut impl Transmit) {
        if repr.port.fc_id != self.fc_id {
            return;
        }
        let ours = match self.state {
            State::Claim | State::Up => true,
            // The identifier that we probe for was never recorded, so a recorded one takes precedence over the greater
            // name.
            State::Probe1 | State::Probe2 => self.config.wwpn > repr.port.name && !recorded,
            State::Off | State::Start => false,
        };
        if ours {
            self.unicast(Vn2vnKind::ProbeReply, repr.enode_mac, 0, out);
        } else {
            self.restart(now);
        }
    }

    /// A port replies that it has an identifier.
    fn probe_reply(&mut self, now: u64, repr: &FipVn2vnRepr, out: &mut impl Transmit) {
        if repr.port.fc_id != self.fc_id {
            return;
        }
        if self.state == State::Up {
            self.claim(now, out);
        } else {
            self.restart(now);
        }
    }

    /// A port claims an identifier.
    fn claim_notification(&mut self, now: u64, repr: &FipVn2vnRepr, out: &mut impl Transmit) -> Result<(), FipDrop> {
        let claimed = matches!(self.state, State::Claim | State::Up);
        if repr.port.fc_id == self.fc_id {
            if claimed && self.config.wwpn > repr.port.name {
                self.claim(now, out);
            } else {
                self.restart(now);
            }
        } else if claimed {
            let size = repr.claim.map_or(0, |claim| claim.max_fcoe_size).min(self.config.max_fcoe_size);
            self.unicast(Vn2vnKind::ClaimResponse, repr.enode_mac, size, out);
            let told = self.neighbours.is_told(repr);
            self.learn(now, repr)?;
            if let Some(neighbour) = self.neighbours.find(repr.port.fc_id).copied().filter(|_| told) {
                return self.tell_or_drop(FipEvent::Claimed(neighbour));
            }
        }
        Ok(())
    }

    /// A port describes itself in response to our claim.
    fn claim_response(&mut self, now: u64, repr: &FipVn2vnRepr) -> Result<(), FipDrop> {
        if repr.port.fc_id == self.fc_id {
            return Err(FipDrop::Inconsistent);
        }
        if !matches!(self.state, State::Claim | State::Up) {
            return Ok(());
        }
        self.learn(now, repr)?;
        if let Some(neighbour) = self.neighbours.untold_in_crowd(repr.port.fc_id).filter(|_| self.settled) {
            self.tell_or_drop(FipEvent::Answered(neighbour))?;
            self.neighbours.told(neighbour.fc_id);
        }
        Ok(())
    }

    /// A port still has its identifier.
    fn beacon(&mut self, now: u64, repr: &FipVn2vnRepr, out: &mut impl Transmit) -> Result<(), FipDrop> {
        if self.state != State::Up {
            return Ok(());
        }
        let Some(neighbour) = self.neighbours.find(repr.port.fc_id).copied() else {
            // Its claim was before ours, or conflicts with ours: every port answers our claim.
            if self.claimed.is_none_or(|at| now > at.saturating_add(ANNOUNCE_WAIT)) {
                self.claim(now, out);
            }
            return Err(FipDrop::Unknown);
        };
        if !neighbour.sent(repr) {
            return Err(FipDrop::Inconsistent);
        }
        self.neighbours.beacon(now, neighbour.fc_id);
        self.tell_or_drop(FipEvent::Beacon(neighbour))?;
        self.neighbours.told(neighbour.fc_id);
        Ok(())
    }

    /// A login or logout.
    fn els(&mut self, src: MacAddr, dst: MacAddr, repr: &FipElsRepr<'_>) -> Result<(), FipDrop> {
        let FipElsRepr { kind, reply, header, payload, mac, .. } = *repr;
        let wanted = if reply { r_ctl::ELS_REPLY } else { r_ctl::ELS_REQUEST };
        if (header.fc_type, header.r_ctl) != (FcType::ELS, wanted) {
            return Err(FipDrop::Malformed);
        }
        if kind == FipElsKind::Elp {
            return Err(FipDrop::Foreign);
        }
        let Some((own, _)) = self.own() else { return Err(FipDrop::NotReady) };
        if dst.is_multicast() || header.d_id != own {
            return Err(FipDrop::NotForUs);
        }
        let from = self.neighbours.find(header.s_id).copied();
        let stated = mac.is_none_or(|mac| mac == header.s_id.mac(FipFrame::VN2VN_FC_MAP));
        if !stated || src.is_multicast() {
            return Err(FipDrop::Inconsistent);
        }
        if from.is_some_and(|neighbour| neighbour.enode_mac != src) {
            // Another station's login is told, without a neighbour: it wants a reject, to know why it is kept waiting.
            if kind == FipElsKind::Flogi && !reply {
                let payload = payload.to_vec();
                return self.tell_or_drop(FipEvent::Els { kind, from: None, enode_mac: src, header, payload, mac });
            }
            return Err(FipDrop::Inconsistent);
        }
        self.neighbours.leave(header.s_id, kind == FipElsKind::Logo && !reply);
        let payload = payload.to_vec();
        self.tell_or_drop(FipEvent::Els { kind, from, enode_mac: src, header, payload, mac })?;
        self.neighbours.told(header.s_id);
        Ok(())
    }

    /// Enters the sender of a claim into the table.
    fn learn(&mut self, now: u64, repr: &FipVn2vnRepr) -> Result<(), FipDrop> {
        let new = Neighbour::from_claim(repr).ok_or(FipDrop::Malformed)?;
        let events = &mut self.events;
        let learned = self.neighbours.learn(now, new, |gone| tell(events, FipEvent::Gone(gone)));
        if matches!(learned, Err(FipDrop::NameInUse | FipDrop::IdInUse))
            && let Some(refused) = self.neighbours.refuse(now, &new)
        {
            tell(&mut self.events, FipEvent::Refused(refused));
        }
        learned
    }

    /// Queues an event, or drops it if the queue is half full.
    fn tell_or_drop(&mut self, event: FipEvent) -> Result<(), FipDrop> {
        if self.events.len() >= EVENTS / 2 {
            return Err(FipDrop::EventsFull);
        }
        self.events.push_back(event);
        Ok(())
    }
}

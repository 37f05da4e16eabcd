//! Serialization of our frames, from Ethernet header to padding.

use super::config::{FipConfig, FipMode};
use super::vlan::vlan_request;
use crate::Transmit;
use linerate_wire::*;

/// Bytes of the longest frame of a link service: all words a descriptor can state, and a MAC address.
const LONGEST_ELS: usize = FipFrame::HEADER_LEN + 255 * 4 + 8;

/// Writes frames into a buffer of its own and sends them.
#[derive(Debug)]
pub(super) struct Sender {
    config: FipConfig,
    buffer: Vec<u8>,
}

impl Sender {
    pub(super) fn new(config: &FipConfig) -> Self {
        let longest = LONGEST_ELS.max(usize::from(config.max_fcoe_size));
        Self { config: *config, buffer: vec![0; 14 + 4 + longest] }
    }

    /// Sends a frame of discovery about our identifier, to one ENode or to all; `padded` is its least length after the
    /// Ethernet header.
    pub(super) fn vn2vn(
        &mut self,
        kind: Vn2vnKind,
        fc_id: FcId,
        mode: FipMode,
        to: Option<MacAddr>,
        padded: u16,
        out: &mut impl Transmit,
    ) -> bool {
        let config = &self.config;
        let (group, flags) = match mode {
            FipMode::Multipoint => (FipFrame::ALL_VN2VN_MACS, FipFlags::default()),
            FipMode::PointToPoint => (FipFrame::ALL_PT2PT_MACS, FipFlags::REC_P2P),
        };
        let mac = fc_id.mac(FipFrame::VN2VN_FC_MAP);
        let target = if config.role.target { Fc4Features::TARGET } else { 0 };
        let initiator = if config.role.initiator { Fc4Features::INITIATOR } else { 0 };
        let repr = FipVn2vnRepr {
            kind,
            flags,
            enode_mac: config.mac,
            node_name: config.wwnn,
            port: FipVnPort { mac, fc_id, name: config.wwpn },
            claim: kind.is_claim().then_some(FipClaim {
                features: Fc4Features::of_fcp(target | initiator),
                max_fcoe_size: config.max_fcoe_size,
            }),
        };
        // A Beacon comes from the VN_Port, so that switches learn its address; all other frames from the ENode.
        let src = if kind == Vn2vnKind::Beacon { mac } else { config.mac };
        let tag = config.vlan;
        self.send(to.unwrap_or(group), src, tag, padded, out, |buffer| repr.emit(buffer).map(|rest| rest.len()))
    }

    /// Sends a link service.
    pub(super) fn els(&mut self, to: MacAddr, repr: &FipElsRepr<'_>, out: &mut impl Transmit) -> bool {
        self.send(to, self.config.mac, self.config.vlan, 0, out, |buffer| repr.emit(buffer).map(|rest| rest.len()))
    }

    /// Tells a station the VLAN of our frames, in a frame without a tag.
    pub(super) fn vlan(&mut self, to: MacAddr, vlan: VlanTag, out: &mut impl Transmit) -> bool {
        let FipConfig { mac, wwnn, .. } = self.config;
        let repr = FipVlanRepr { name: Some(wwnn), vlans: vec![vlan.vid()], ..vlan_request(mac) };
        let repr = FipVlanRepr { kind: FipVlanKind::Vn2vnNotification, ..repr };
        self.send(to, mac, None, 0, out, |buffer| repr.emit(buffer).map(|rest| rest.len()))
    }

    /// Sends a frame that `emit` writes; `emit` returns the number of bytes left over.
    fn send(
        &mut self,
        dst: MacAddr,
        src: MacAddr,
        tag: Option<VlanTag>,
        padded: u16,
        out: &mut impl Transmit,
        emit: impl FnOnce(&mut [u8]) -> Result<usize, Error>,
    ) -> bool {
        let ethertype = if tag.is_some() { EtherType::VLAN } else { EtherType::FIP };
        let written = EthernetRepr { dst, src, ethertype }.emit(&mut self.buffer).and_then(|rest| {
            let rest = match tag {
                Some(tag) => VlanRepr { tag, ethertype: EtherType::FIP }.emit(rest)?,
                None => rest,
            };
            let len = rest.len();
            Ok((len, emit(rest)?))
        });
        let Ok((room, left)) = written else { return false };
        let (end, headers) = (self.buffer.len() - left, self.buffer.len() - room);
        let len = end.max(headers + usize::from(padded)).min(self.buffer.len());
        self.buffer[end..len].fill(0);
        out.frame(&self.buffer[..len])
    }
}

//! Discovery of VLANs by a station that knows none yet (FC-BB-6, clause 7, FIP VLAN Discovery): its request, which has no tag, and what
//! others answer. Who answers, and with what, is in [`super::Vn2vn`].

use linerate_wire::*;

/// Bytes of the shortest frame, without FCS.
const SHORTEST: usize = 60;

pub(super) fn vlan_request(mac: MacAddr) -> FipVlanRepr {
    FipVlanRepr { kind: FipVlanKind::Request, flags: FipFlags::default(), mac, name: None, vlans: Vec::new() }
}

/// The frame by which a station asks all VN2VN ENodes on its link for the VLANs that carry FCoE.
#[must_use]
pub fn vlan_discovery(mac: MacAddr) -> Vec<u8> {
    let mut frame = vec![0; SHORTEST];
    let header = EthernetRepr { dst: FipFrame::ALL_VN2VN_MACS, src: mac, ethertype: EtherType::FIP };
    // 14 bytes and 20 fit.
    let _ = header.emit(&mut frame).and_then(|rest| vlan_request(mac).emit(rest).map(|_| ()));
    frame
}

/// VLANs that a frame tells a station of, with the frame's sender: the answer of an FCF or of a VN2VN ENode, without a tag or with
/// one of VLAN 0. None for all other frames, and for one that tells of no VLAN.
#[must_use]
pub fn told_vlans(mac: MacAddr, frame: &[u8]) -> Option<(MacAddr, Vec<u16>)> {
    let ethernet = EthernetFrame::new_checked(frame).ok()?;
    let payload = match ethernet.ethertype() {
        EtherType::VLAN => {
            let header = VlanHeader::new_checked(ethernet.payload()).ok()?;
            (header.tag().vid() == 0 && header.ethertype() == EtherType::FIP).then(|| header.payload())
        }
        EtherType::FIP => Some(ethernet.payload()),
        _ => None,
    }?;
    let repr = FipVlanRepr::parse(&FipFrame::new_checked(payload).ok()?).ok()?;
    let vlans: Vec<u16> = repr.vlans.into_iter().filter(|vid| (1..=4094).contains(vid)).collect();
    (repr.kind != FipVlanKind::Request && ethernet.dst() == mac && !vlans.is_empty()).then(|| (ethernet.src(), vlans))
}

//! Ethernet header and VLAN tag, parsed and emitted.

use super::Link;
use crate::Transmit;
use crate::counters::Discard;
use linerate_ring::Meta;
use linerate_wire::{EtherType, EthernetFrame, EthernetRepr, MacAddr, VlanHeader, VlanRepr};

/// Bytes of the Ethernet header with a tag.
const LONGEST: usize = 14 + 4;

/// Payload of a frame for us, and its header's fields.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrived<'a> {
    pub(crate) ethertype: EtherType,
    pub(crate) payload: &'a [u8],
    /// Source and destination MAC address.
    pub(crate) stations: (MacAddr, MacAddr),
    /// The adapter has verified the upper checksum, or the frame never left the machine.
    pub(crate) verified: bool,
}

impl Link {
    /// Strips the header and tag from a frame; an error if it is not for us.
    #[inline]
    pub(crate) fn open<'a>(&self, frame: &'a [u8], meta: Option<Meta>) -> Result<Arrived<'a>, Discard> {
        let ethernet = EthernetFrame::new_checked(frame).map_err(|_| Discard::Malformed)?;
        let (dst, station) = (ethernet.dst(), ethernet.src());
        if !self.station.up || (dst != self.station.mac && !dst.is_multicast()) {
            return Err(Discard::NotForUs);
        }
        if station.is_multicast() {
            return Err(Discard::BadAddress);
        }
        let (mut ethertype, mut payload) = (ethernet.ethertype(), ethernet.payload());
        let mut vid = meta.map_or(0, |meta| meta.vlan_tci & 0x0fff);
        // A second tag, after one that the adapter has stripped, is not for us.
        if ethertype == EtherType::VLAN && vid == 0 {
            let tag = VlanHeader::new_checked(payload).map_err(|_| Discard::Malformed)?;
            (vid, ethertype, payload) = (tag.tag().vid(), tag.ethertype(), tag.payload());
        }
        // VLAN 0 is a priority tag without a VLAN (IEEE 802.1Q, 9.6).
        if vid != self.station.vlan.map_or(0, |tag| tag.vid()) {
            return Err(Discard::NotForUs);
        }
        let verified = meta.is_some_and(|meta| meta.flags & (Meta::DATA_VALID | Meta::NEEDS_CSUM) != 0);
        Ok(Arrived { ethertype, payload, stations: (station, dst), verified })
    }

    /// Sends a whole IP packet to a station.
    pub(super) fn send_frame<T: Transmit>(&self, mac: MacAddr, v4: bool, packet: &[u8], tx: &mut T) -> bool {
        let mut head = [0; LONGEST];
        let len = self.header_len();
        self.emit_header(&mut head[..len], mac, v4);
        self.station.carrier && tx.send(&head[..len], &[packet], None)
    }

    /// Sends a frame other than IP to a station.
    pub(super) fn send_other<T: Transmit>(&self, mac: MacAddr, ethertype: EtherType, body: &[u8], tx: &mut T) -> bool {
        let mut head = [0; LONGEST];
        let len = self.header_len();
        self.emit(&mut head[..len], mac, ethertype);
        self.station.carrier && tx.send(&head[..len], &[body], None)
    }

    /// Bytes of the header, with the tag if there is one.
    #[inline]
    pub(crate) fn header_len(&self) -> usize {
        14 + if self.station.vlan.is_some() { 4 } else { 0 }
    }

    /// Writes the header and tag of an IP packet; `head` has exactly their length.
    pub(crate) fn emit_header(&self, head: &mut [u8], dst: MacAddr, v4: bool) {
        self.emit(head, dst, if v4 { EtherType::IPV4 } else { EtherType::IPV6 });
    }

    fn emit(&self, head: &mut [u8], dst: MacAddr, ethertype: EtherType) {
        let outer = if self.station.vlan.is_some() { EtherType::VLAN } else { ethertype };
        let rest = EthernetRepr { dst, src: self.station.mac, ethertype: outer }.emit(head);
        if let (Ok(rest), Some(tag)) = (rest, self.station.vlan) {
            let tagged = VlanRepr { tag, ethertype }.emit(rest);
            debug_assert!(tagged.is_ok(), "there is room for the tag");
        }
    }
}

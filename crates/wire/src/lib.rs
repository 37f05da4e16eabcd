//! Views and builders of packet formats: no state, no time, no I/O, no unsafe.
//!
//! One file holds one protocol, in two shapes:
//!
//! - A *view* (`EthernetFrame`, `Ipv4Packet`, …) over bytes that stay where they are. `new_checked` verifies once that
//!   the lengths in the header fit the bytes there are; after that the getters do not fail. Over mutable bytes it has
//!   setters, which write a field and nothing else.
//! - A *representation* (`EthernetRepr`, `Ipv4Repr`, …): the header parsed into a plain struct. `parse` makes one from a
//!   view, `emit` writes it to the front of a buffer and returns the rest, where the payload belongs.
//!
//! A field is declared in one line, with its place, type and documentation: see `field.rs`. A few formats have a module
//! of offsets instead.
//!
//! Values are in host order, the bytes in network order. No input bytes can cause a panic here.
//!
//! ```
//! use linerate_wire::*;
//! # fn main() -> Result<(), Error> {
//! let (src, dst) = ([10, 0, 0, 1].into(), [10, 0, 0, 2].into());
//! let ethernet = EthernetRepr {
//!     dst: "02:00:00:00:00:02".parse()?,
//!     src: "02-00-00-00-00-01".parse()?,
//!     ethertype: EtherType::IPV4,
//! };
//! let udp = UdpRepr { src_port: 1234, dst_port: 9, payload_len: 18 };
//! let ip = Ipv4Repr { payload_len: 26, ..Ipv4Repr::new(src, dst, IpProtocol::UDP) };
//!
//! let mut frame = [0; 60];
//! let packet = ethernet.emit(&mut frame)?;
//! let datagram = ip.emit(packet)?;
//! udp.emit(datagram)?.fill(0x2a);
//! UdpDatagram::new_checked(datagram)?.fill_checksum_v4(src, dst);
//!
//! assert_eq!(
//!     summary(&frame),
//!     "02:00:00:00:00:01 > 02:00:00:00:00:02, IPv4 (0x0800), length 60: 10.0.0.1.1234 > 10.0.0.2.9: UDP, length 18"
//! );
//!
//! let ethernet = EthernetFrame::new_checked(&frame[..])?;
//! let ip = Ipv4Packet::new_checked(ethernet.payload())?;
//! let udp = UdpDatagram::new_checked(ip.payload())?;
//! assert!(ip.verify_checksum() && udp.verify_checksum_v4(ip.src(), ip.dst()));
//! assert_eq!(udp.payload(), [0x2a; 18]);
//! # Ok(())
//! # }
//! ```

#![deny(missing_docs)]
#![forbid(unsafe_code)]

mod arp;
mod congestion;
mod dcbx;
mod els;
mod error;
mod ethernet;
mod fc;
mod fcp;
mod field;
mod fip;
mod group_packet;
mod icmp;
mod icmpv4;
mod icmpv6;
mod igmp;
mod ip;
mod ipv4;
mod ipv6;
mod ipv6_ext;
mod lldp;
mod mac_control;
mod membership;
mod mld;
mod multicast;
mod ndp;
mod quote;
pub mod scsi;
mod summary;
mod tcp;
mod tlv;
mod udp;
mod vlan;

pub use arp::{ArpOperation, ArpPacket, ArpRepr};
pub use congestion::{CnTag, CnTagRepr, Cnm};
pub use dcbx::{
    Cee, CeeApplication, CeeControl, CeeFeature, CeeGroups, CeePfc, DcbxApplication, DcbxApplicationVlan, DcbxClasses,
    DcbxEts, DcbxPfc, cee_selector, dcbx_algorithm, dcbx_selector,
};
pub use els::{
    AdiscRepr, AuthBody, AuthCode, AuthHeader, AuthMessage, AuthNumbers, BaAccRepr, BaRjtRepr, ClassParameters,
    ElsAccept, ElsCommand, ElsReply, ElsRequest, ExchangeRepr, LoginRepr, LogoRepr, LsRjtRepr, RecAccRepr, RtvAccRepr,
    ServicePage, ServicePages, auth_explanation, auth_hash, auth_reason, e_stat, els_explanation, els_reason,
    fcp_service,
};
pub use error::Error;
pub use ethernet::{EtherType, EthernetFrame, EthernetRepr, MacAddr};
pub use fc::{Eof, FcHeader, FcId, FcType, FcoeFrame, FcoeRepr, OxId, RxId, Sof, Wwn, f_ctl, r_ctl};
pub use fcp::{FcpCommand, FcpResponse, FcpSrr, FcpSrrReply, FcpTransferReady, fcp_attribute, fcp_code, fcp_function};
pub use fip::{
    Fc4Features, FipClaim, FipCode, FipDescriptor, FipDescriptors, FipElsKind, FipElsRepr, FipFlags, FipFrame, FipRepr,
    FipSolicitationRepr, FipVlanKind, FipVlanRepr, FipVn2vnRepr, FipVnPort, Vn2vnKind,
};
pub use icmpv4::{Icmpv4Packet, Icmpv4Repr};
pub use icmpv6::{Icmpv6Packet, Icmpv6Repr};
pub use ip::{IpProtocol, origin, pseudo_header_v4, pseudo_header_v6};
pub use ipv4::{Ipv4Packet, Ipv4Repr};
pub use ipv6::{Ipv6Packet, Ipv6Repr};
pub use ipv6_ext::{Ipv6Chain, Ipv6FragmentAt, Ipv6FragmentHeader, Ipv6FragmentRepr, Ipv6Problem};
pub use lldp::{
    LldpAggregation, LldpCapabilities, LldpCongestion, LldpId, LldpMacPhy, LldpManagementAddress, LldpPortProtocolVlan,
    LldpPower, LldpTlv, LldpTlvs, Lldpdu, lldp_id,
};
pub use mac_control::MacControl;
pub use membership::{GroupPacket, GroupQuery, GroupRecord, GroupRecords, Listening};
pub use multicast::{multicast_mac, solicited_node};
pub use ndp::{NdpPacket, NdpPrefix, NdpRepr, NdpRouter};
pub use quote::Quote;
pub use summary::summary;
pub use tcp::{FastOpenCookie, SackBlocks, TcpFlags, TcpOptions, TcpSegment};
pub use udp::{UdpDatagram, UdpRepr};
pub use vlan::{Priority, VlanHeader, VlanRepr, VlanTag};

//! The TLVs behind the mandatory ones, each with its meaning.

use super::NAME;
use super::organization::{LldpAggregation, LldpCongestion, LldpMacPhy, LldpPortProtocolVlan, LldpPower};
use crate::field::{counted_u8, record, u16_at, u32_at};
use crate::tlv::{put_tlv, table, whole};
use crate::{Cee, DcbxApplication, DcbxApplicationVlan, DcbxClasses, DcbxEts, DcbxPfc, Error};

/// Types (IEEE 802.1AB-2016, table 8-1).
mod kind {
    pub(super) const PORT_DESCRIPTION: u8 = 4;
    pub(super) const SYSTEM_NAME: u8 = 5;
    pub(super) const SYSTEM_DESCRIPTION: u8 = 6;
    pub(super) const CAPABILITIES: u8 = 7;
    pub(super) const MANAGEMENT: u8 = 8;
    pub(super) const ORGANIZATION: u8 = 127;
}

/// OUI of IEEE 802.1.
const IEEE_8021: [u8; 3] = [0x00, 0x80, 0xc2];
/// OUI of IEEE 802.3.
const IEEE_8023: [u8; 3] = [0x00, 0x12, 0x0f];
/// Most octets of a description or a name.
const MAX_TEXT: usize = 255;
/// Most octets of a VLAN's name (IEEE 802.1Q-2022, D.2.3).
const MAX_VLAN_NAME: usize = 32;

record! {
    /// System Capabilities (IEEE 802.1AB-2016, clause 8.5.8): bits as in table 8-4.
    LldpCapabilities[4] bytes;
    0 capable: u16 = "What the system can be.";
    2 enabled: u16 = "What it is.";
}

/// Management Address (IEEE 802.1AB-2016, clause 8.5.9).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LldpManagementAddress<'a> {
    /// Family of the address (IANA, Address Family Numbers).
    pub family: u8,
    /// The address: 1 to 31 octets.
    pub address: &'a [u8],
    /// Kind of the interface number: 1 unknown, 2 ifIndex, 3 a port of the system.
    pub numbering: u8,
    /// Interface number.
    pub interface: u32,
    /// Object identifier of hardware or protocol entity, as ASN.1 has it: at most 128 octets.
    pub oid: &'a [u8],
}

impl<'a> LldpManagementAddress<'a> {
    fn parse(info: &'a [u8]) -> Option<Self> {
        let (&len, rest) = info.split_first()?;
        let (address, rest) = rest.split_at_checked(usize::from(len))?;
        let (&family, address) = address.split_first()?;
        let (number, rest) = rest.split_at_checked(5)?;
        let (&oid_len, oid) = rest.split_first()?;
        let fits = (1..=31).contains(&address.len()) && oid.len() == usize::from(oid_len) && oid.len() <= 128;
        fits.then(|| Self { family, address, numbering: number[0], interface: u32_at(number, 1), oid })
    }

    fn bytes(&self) -> Vec<u8> {
        let address = [&[self.family], self.address].concat();
        // What is cut here is longer than who reads it again allows.
        let ((address, len), (oid, oid_len)) = (counted_u8(&address), counted_u8(self.oid));
        [&[len], address, &[self.numbering], &self.interface.to_be_bytes(), &[oid_len], oid].concat()
    }
}

/// A TLV behind the mandatory ones. One whose length is not that of its fields is discarded (IEEE 802.1AB-2016, clause
/// 9.2.7.7).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LldpTlv<'a> {
    /// Port Description, at most 255 octets.
    PortDescription(&'a [u8]),
    /// System Name, at most 255 octets.
    SystemName(&'a [u8]),
    /// System Description, at most 255 octets.
    SystemDescription(&'a [u8]),
    /// System Capabilities; what is enabled is among what there is.
    Capabilities(LldpCapabilities),
    /// Management Address.
    Management(LldpManagementAddress<'a>),
    /// 802.1: Port VLAN ID; 0 if the port has none.
    PortVlan(u16),
    /// 802.1: Port And Protocol VLAN ID.
    PortProtocolVlan(LldpPortProtocolVlan),
    /// 802.1: VLAN Name.
    VlanName {
        /// The VLAN.
        vid: u16,
        /// Its name, at most 32 octets.
        name: &'a [u8],
    },
    /// 802.1: Congestion Notification.
    Congestion(LldpCongestion),
    /// 802.1, DCBX: ETS Configuration.
    EtsConfiguration(DcbxEts),
    /// 802.1, DCBX: ETS Recommendation.
    EtsRecommendation(DcbxClasses),
    /// 802.1, DCBX: Priority-based Flow Control Configuration.
    Pfc(DcbxPfc),
    /// 802.1, DCBX: Application Priority.
    Applications(Vec<DcbxApplication>),
    /// 802.1, DCBX: Application VLAN.
    ApplicationVlans(Vec<DcbxApplicationVlan>),
    /// 802.3: MAC/PHY Configuration/Status.
    MacPhy(LldpMacPhy),
    /// 802.3: Power Via MDI.
    Power(LldpPower<'a>),
    /// 802.1, and 802.3 before 802.1AX: Link Aggregation; written as 802.1's.
    Aggregation(LldpAggregation),
    /// 802.3: Maximum Frame Size.
    MaxFrameSize(u16),
    /// CEE: DCBX 1.01.
    Cee(Cee),
    /// Another organization's, or another subtype.
    Organization {
        /// The organization.
        oui: [u8; 3],
        /// Its subtype.
        subtype: u8,
        /// The information.
        info: &'a [u8],
    },
    /// A type that is reserved.
    Reserved {
        /// The type.
        kind: u8,
        /// The information.
        info: &'a [u8],
    },
}

impl<'a> LldpTlv<'a> {
    /// Meaning of a TLV that is none of the mandatory ones.
    pub(super) fn parse(kind: u8, info: &'a [u8]) -> Result<Self, Error> {
        let text = || if info.len() <= MAX_TEXT { Ok(info) } else { Err(Error::Malformed(NAME, "length")) };
        Ok(match kind {
            kind::PORT_DESCRIPTION => Self::PortDescription(text()?),
            kind::SYSTEM_NAME => Self::SystemName(text()?),
            kind::SYSTEM_DESCRIPTION => Self::SystemDescription(text()?),
            kind::CAPABILITIES => {
                let capabilities: LldpCapabilities = whole(info, LldpCapabilities::LEN, NAME)?;
                // Clause 8.5.8.3.
                if capabilities.enabled & !capabilities.capable != 0 {
                    return Err(Error::Malformed(NAME, "enabled capability that the system lacks"));
                }
                Self::Capabilities(capabilities)
            }
            kind::MANAGEMENT => {
                let address = LldpManagementAddress::parse(info);
                Self::Management(address.ok_or(Error::Malformed(NAME, "management address"))?)
            }
            kind::ORGANIZATION => {
                let ([a, b, c, subtype], info) = info.split_first_chunk().ok_or(Error::Malformed(NAME, "length"))?;
                Self::organization([*a, *b, *c], *subtype, info)?
            }
            kind => Self::Reserved { kind, info },
        })
    }

    fn organization(oui: [u8; 3], subtype: u8, info: &'a [u8]) -> Result<Self, Error> {
        let behind = |info: &'a [u8]| info.get(1..).ok_or(Error::Malformed(NAME, "length"));
        Ok(match (oui, subtype) {
            (IEEE_8021, 1) => Self::PortVlan(whole(info, 2, NAME)?),
            (IEEE_8021, 2) => Self::PortProtocolVlan(whole(info, LldpPortProtocolVlan::LEN, NAME)?),
            (IEEE_8021, 3) => match info {
                [_, _, len, name @ ..] if name.len() == usize::from(*len) && name.len() <= MAX_VLAN_NAME => {
                    Self::VlanName { vid: u16_at(info, 0), name }
                }
                _ => return Err(Error::Malformed(NAME, "VLAN name")),
            },
            (IEEE_8021, 7) | (IEEE_8023, 3) => Self::Aggregation(whole(info, LldpAggregation::LEN, NAME)?),
            (IEEE_8021, 8) => Self::Congestion(whole(info, LldpCongestion::LEN, NAME)?),
            (IEEE_8021, 9) => Self::EtsConfiguration(whole(info, DcbxEts::LEN, NAME)?),
            (IEEE_8021, 11) => Self::Pfc(whole(info, DcbxPfc::LEN, NAME)?),
            // An octet is reserved before the tables of these two.
            (IEEE_8021, 10) => Self::EtsRecommendation(whole(behind(info)?, DcbxClasses::LEN, NAME)?),
            (IEEE_8021, 12) => Self::Applications(table(behind(info)?, DcbxApplication::LEN, NAME)?),
            (IEEE_8021, 16) => Self::ApplicationVlans(table(info, DcbxApplicationVlan::LEN, NAME)?),
            (IEEE_8023, 1) => Self::MacPhy(whole(info, LldpMacPhy::LEN, NAME)?),
            (IEEE_8023, 2) => match info {
                [support, pair, class, classification @ ..] if matches!(classification.len(), 0 | 5 | 22) => {
                    Self::Power(LldpPower { support: *support, pair: *pair, class: *class, classification })
                }
                _ => return Err(Error::Malformed(NAME, "length")),
            },
            (IEEE_8023, 4) => Self::MaxFrameSize(whole(info, 2, NAME)?),
            (Cee::OUI, Cee::SUBTYPE) => Self::Cee(Cee::parse(info)?),
            _ => Self::Organization { oui, subtype, info },
        })
    }

    /// Writes the TLV behind what there is; refuses what would not be read again.
    pub(super) fn put(&self, out: &mut Vec<u8>) -> Result<(), Error> {
        let (kind, info) = match self {
            Self::PortDescription(text) => (kind::PORT_DESCRIPTION, text.to_vec()),
            Self::SystemName(text) => (kind::SYSTEM_NAME, text.to_vec()),
            Self::SystemDescription(text) => (kind::SYSTEM_DESCRIPTION, text.to_vec()),
            Self::Capabilities(capabilities) => (kind::CAPABILITIES, capabilities.bytes().to_vec()),
            Self::Management(address) => (kind::MANAGEMENT, address.bytes()),
            Self::Reserved { kind, info } => (*kind, info.to_vec()),
            of_organization => {
                let (oui, subtype, info) = of_organization.organized()?;
                (kind::ORGANIZATION, [&oui[..], &[subtype], &info].concat())
            }
        };
        LldpTlv::parse(kind, &info)?;
        put_tlv(out, kind, &info)
    }

    /// Organization, subtype and information.
    fn organized(&self) -> Result<([u8; 3], u8, Vec<u8>), Error> {
        let (oui, subtype, info) = match self {
            Self::PortVlan(vid) => (IEEE_8021, 1, vid.to_be_bytes().to_vec()),
            Self::PortProtocolVlan(vlan) => (IEEE_8021, 2, vlan.bytes().to_vec()),
            Self::VlanName { vid, name } => {
                let len = u8::try_from(name.len()).map_err(|_| Error::TooLarge(NAME, "VLAN name"))?;
                (IEEE_8021, 3, [&vid.to_be_bytes()[..], &[len], name].concat())
            }
            Self::Congestion(congestion) => (IEEE_8021, 8, congestion.bytes().to_vec()),
            Self::EtsConfiguration(ets) => (IEEE_8021, 9, ets.bytes().to_vec()),
            Self::EtsRecommendation(classes) => (IEEE_8021, 10, [&[0][..], &classes.bytes()].concat()),
            Self::Pfc(pfc) => (IEEE_8021, 11, pfc.bytes().to_vec()),
            Self::Applications(entries) => {
                (IEEE_8021, 12, [0].into_iter().chain(entries.iter().flat_map(DcbxApplication::bytes)).collect())
            }
            Self::ApplicationVlans(entries) => {
                (IEEE_8021, 16, entries.iter().flat_map(DcbxApplicationVlan::bytes).collect())
            }
            Self::MacPhy(status) => (IEEE_8023, 1, status.bytes().to_vec()),
            Self::Power(power) => {
                (IEEE_8023, 2, [&[power.support, power.pair, power.class], power.classification].concat())
            }
            Self::Aggregation(aggregation) => (IEEE_8021, 7, aggregation.bytes().to_vec()),
            Self::MaxFrameSize(size) => (IEEE_8023, 4, size.to_be_bytes().to_vec()),
            Self::Cee(cee) => (Cee::OUI, Cee::SUBTYPE, cee.bytes()?),
            Self::Organization { oui, subtype, info } => (*oui, *subtype, info.to_vec()),
            _ => return Err(Error::Malformed(NAME, "organization")),
        };
        Ok((oui, subtype, info))
    }
}

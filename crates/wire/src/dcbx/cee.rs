//! DCBX as it was before IEEE 802.1Qaz: Converged Enhanced Ethernet, version 1.01. One TLV has sub-TLVs, each with a type of
//! 7 and a length of 9 bits: a control sub-TLV, and one for each feature.

use crate::Error;
use crate::field::{Bit, Bits, Field, Nibbles, record};
use crate::tlv::{Tlv, put_tlv, table, whole};

const NAME: &str = "cee";

/// Types of sub-TLVs.
mod kind {
    pub(super) const CONTROL: u8 = 1;
    pub(super) const GROUPS: u8 = 2;
    pub(super) const PFC: u8 = 3;
    pub(super) const APPLICATION: u8 = 4;
}

/// Meanings of an application's protocol.
pub mod cee_selector {
    /// An EtherType.
    pub const ETHERTYPE: u8 = 0;
    /// A port of TCP or UDP.
    pub const PORT: u8 = 1;
}

record! {
    /// The control sub-TLV: each end tells which of the other's numbered settings it has seen.
    CeeControl[10] bytes;
    0 version: u8 = "Version in use.";
    1 max_version: u8 = "Highest version that the sender has.";
    2 sequence: u32 = "Number of the sender's settings.";
    6 acknowledged: u32 = "Number of the peer's settings that the sender has seen last.";
}

record! {
    /// The header of a feature.
    CeeFeature[4];
    0 version: u8 = "Version in use.";
    1 max_version: u8 = "Highest version that the sender has.";
    2 enabled: bool as Bit<7> = "The sender has the feature on.";
    2 willing: bool as Bit<6> = "The sender takes its peer's settings.";
    2 error: bool as Bit<5> = "The sender has found the settings of both not to go together.";
    3 subtype: u8 = "Kind of the feature; 0 for all that there are.";
}

record! {
    /// Priority groups.
    CeeGroups[17] bytes;
    0 feature: CeeFeature = "The feature's header.";
    4 groups: [u8; 8] as Nibbles = "Group of each priority; 15 is strict priority, without a limit.";
    8 shares: [u8; 8] = "Bandwidth of each group in percent.";
    16 max_classes: u8 = "Traffic classes that the sender supports.";
}

record! {
    /// Priority-based flow control.
    CeePfc[6] bytes;
    0 feature: CeeFeature = "The feature's header.";
    4 enabled: u8 = "A bit for each priority with flow control.";
    5 max_classes: u8 = "Traffic classes that may have flow control at once.";
}

record! {
    /// An entry of the application table.
    CeeApplication[6] bytes;
    0 protocol: u16 = "EtherType or port.";
    2 oui_high: u8 as Bits<7, 2> = "The upper six bits of the first octet of the OUI.";
    2 selector: u8 as Bits<1, 0> = "Meaning of `protocol`, a [`cee_selector`].";
    3 oui_low: u16 = "The other octets of the OUI.";
    5 priorities: u8 = "A bit for each priority of the application.";
}

impl CeeApplication {
    /// An entry of CEE's own OUI.
    #[must_use]
    pub const fn new(selector: u8, protocol: u16, priorities: u8) -> Self {
        let [first, second, third] = Cee::OUI;
        Self { protocol, oui_high: first >> 2, selector, oui_low: u16::from_be_bytes([second, third]), priorities }
    }
}

/// A DCBX TLV of CEE 1.01. Sub-TLVs of other types are skipped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cee {
    /// The control sub-TLV.
    pub control: CeeControl,
    /// Priority groups.
    pub groups: Option<CeeGroups>,
    /// Priority-based flow control.
    pub pfc: Option<CeePfc>,
    /// Applications.
    pub applications: Option<(CeeFeature, Vec<CeeApplication>)>,
}

impl Cee {
    /// OUI of the TLV.
    pub const OUI: [u8; 3] = [0x00, 0x1b, 0x21];
    /// Subtype of the TLV.
    pub const SUBTYPE: u8 = 2;

    /// Reads all that follows the subtype.
    ///
    /// # Errors
    ///
    /// [`Error::Malformed`] when a sub-TLV is cut short, has a wrong length or comes twice, or there is none for control: the
    /// TLV is discarded then.
    pub fn parse(mut bytes: &[u8]) -> Result<Self, Error> {
        let (mut control, mut groups, mut pfc, mut applications) = (None, None, None, None);
        while !bytes.is_empty() {
            let Tlv { kind, info, rest } = Tlv::split(bytes).ok_or(Error::Malformed(NAME, "length"))?;
            bytes = rest;
            let twice = match kind {
                kind::CONTROL => control.replace(whole::<CeeControl>(info, CeeControl::LEN, NAME)?).is_some(),
                kind::GROUPS => groups.replace(whole::<CeeGroups>(info, CeeGroups::LEN, NAME)?).is_some(),
                kind::PFC => pfc.replace(whole::<CeePfc>(info, CeePfc::LEN, NAME)?).is_some(),
                kind::APPLICATION => {
                    let (feature, entries) =
                        info.split_at_checked(CeeFeature::LEN).ok_or(Error::Malformed(NAME, "length"))?;
                    let read = (CeeFeature::get(feature, 0), table(entries, CeeApplication::LEN, NAME)?);
                    applications.replace(read).is_some()
                }
                _ => false,
            };
            if twice {
                return Err(Error::Malformed(NAME, "sub-TLV that comes twice"));
            }
        }
        let control = control.ok_or(Error::Malformed(NAME, "list: no control sub-TLV"))?;
        Ok(Self { control, groups, pfc, applications })
    }

    /// All sub-TLVs, as they follow the subtype.
    ///
    /// # Errors
    ///
    /// [`Error::TooLarge`] when there are more applications than a sub-TLV can have.
    pub fn bytes(&self) -> Result<Vec<u8>, Error> {
        let mut out = Vec::new();
        put_tlv(&mut out, kind::CONTROL, &self.control.bytes())?;
        self.groups.map_or(Ok(()), |groups| put_tlv(&mut out, kind::GROUPS, &groups.bytes()))?;
        self.pfc.map_or(Ok(()), |pfc| put_tlv(&mut out, kind::PFC, &pfc.bytes()))?;
        if let Some((feature, entries)) = &self.applications {
            let mut info = vec![0; CeeFeature::LEN];
            CeeFeature::put(*feature, &mut info, 0);
            info.extend(entries.iter().flat_map(CeeApplication::bytes));
            put_tlv(&mut out, kind::APPLICATION, &info)?;
        }
        Ok(out)
    }
}

//! Link Layer Discovery Protocol (IEEE 802.1AB-2016): its data unit and its TLVs.

mod organization;
mod tlv;

use crate::field::{put, u16_at};
use crate::tlv::{Tlv, put_tlv};
use crate::{Error, MacAddr};
pub use organization::{LldpAggregation, LldpCongestion, LldpMacPhy, LldpPortProtocolVlan, LldpPower};
pub use tlv::{LldpCapabilities, LldpManagementAddress, LldpTlv};

const NAME: &str = "lldp";

/// Types of the TLVs that each unit begins and ends with (IEEE 802.1AB-2016, table 8-1).
mod kind {
    pub(super) const END: u8 = 0;
    pub(super) const CHASSIS: u8 = 1;
    pub(super) const PORT: u8 = 2;
    pub(super) const TTL: u8 = 3;
}

/// Subtypes of a chassis' and of a port's identifier (IEEE 802.1AB-2016, tables 8-2 and 8-3).
pub mod lldp_id {
    /// Chassis: a MAC address.
    pub const CHASSIS_MAC: u8 = 4;
    /// Chassis: a name of the system's own choice.
    pub const CHASSIS_LOCAL: u8 = 7;
    /// Port: a MAC address.
    pub const PORT_MAC: u8 = 3;
    /// Port: the name of an interface.
    pub const PORT_INTERFACE: u8 = 5;
    /// Port: a name of the system's own choice.
    pub const PORT_LOCAL: u8 = 7;
}

/// Identifier of a chassis or a port: a subtype, and 1 to 255 octets of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LldpId<'a> {
    /// Kind of the identifier, of [`lldp_id`].
    pub subtype: u8,
    /// The identifier.
    pub id: &'a [u8],
}

impl<'a> LldpId<'a> {
    /// The clause refuses the whole unit for another length than 2 to 256.
    fn parse(info: &'a [u8], what: &'static str) -> Result<Self, Error> {
        match info {
            [subtype, id @ ..] if (1..=255).contains(&id.len()) => Ok(Self { subtype: *subtype, id }),
            _ => Err(Error::Malformed(NAME, what)),
        }
    }

    fn put(&self, out: &mut Vec<u8>, kind: u8, what: &'static str) -> Result<(), Error> {
        let info = [&[self.subtype][..], self.id].concat();
        LldpId::parse(&info, what)?;
        put_tlv(out, kind, &info)
    }
}

/// An LLDP data unit (IEEE 802.1AB-2016, clause 8.2): three mandatory TLVs, then others. Three faults discard it as a whole
/// (clause 9.2.7.7): another order of the first three or a wrong length of one of them, one of their types again, and a TLV
/// that ends behind the unit. Any other fault discards the TLV that has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lldpdu<'a> {
    /// The sender's chassis.
    pub chassis: LldpId<'a>,
    /// The port of that chassis.
    pub port: LldpId<'a>,
    /// Seconds for which a receiver keeps the information; 0: no longer.
    pub ttl: u16,
    /// All behind the mandatory TLVs.
    rest: &'a [u8],
}

impl<'a> Lldpdu<'a> {
    /// The nearest bridge, the group of DCBX's units: no bridge forwards it.
    pub const NEAREST_BRIDGE: MacAddr = MacAddr([0x01, 0x80, 0xc2, 0, 0, 0x0e]);
    /// Longest unit: the payload of an Ethernet frame.
    pub const MAX_LEN: usize = 1500;

    /// Reads all that follows the Ethernet header, padding too.
    ///
    /// # Errors
    ///
    /// [`Error::Truncated`] when a TLV ends behind the unit, [`Error::Malformed`] when the mandatory TLVs are not the first,
    /// have a wrong length or come again.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, Error> {
        let (chassis, rest) = mandatory(bytes, kind::CHASSIS, "chassis ID")?;
        let (port, rest) = mandatory(rest, kind::PORT, "port ID")?;
        let (ttl, rest) = mandatory(rest, kind::TTL, "time to live")?;
        if ttl.len() < 2 {
            return Err(Error::Malformed(NAME, "time to live"));
        }
        let mut left = rest;
        while !left.is_empty() {
            let tlv = Tlv::split(left).ok_or(Error::Truncated(NAME))?;
            left = match tlv.kind {
                kind::END => break,
                kind::CHASSIS..=kind::TTL => return Err(Error::Malformed(NAME, "mandatory TLV that comes twice")),
                _ => tlv.rest,
            };
        }
        let (chassis, port) = (LldpId::parse(chassis, "chassis ID")?, LldpId::parse(port, "port ID")?);
        Ok(Self { chassis, port, ttl: u16_at(ttl, 0), rest })
    }

    /// The other TLVs, up to the end of the unit: for each its meaning, or the fault for which it is discarded.
    pub fn tlvs(&self) -> LldpTlvs<'a> {
        LldpTlvs { rest: self.rest }
    }

    /// A unit with these TLVs.
    ///
    /// # Errors
    ///
    /// [`Error::TooLarge`] when it is longer than [`MAX_LEN`](Self::MAX_LEN) or a TLV too long, [`Error::Malformed`] when
    /// an identifier is empty or too long.
    pub fn build(chassis: LldpId<'_>, port: LldpId<'_>, ttl: u16, tlvs: &[LldpTlv<'_>]) -> Result<Vec<u8>, Error> {
        let mut out = Vec::new();
        chassis.put(&mut out, kind::CHASSIS, "chassis ID")?;
        port.put(&mut out, kind::PORT, "port ID")?;
        put_tlv(&mut out, kind::TTL, &ttl.to_be_bytes())?;
        for tlv in tlvs {
            tlv.put(&mut out)?;
        }
        put_tlv(&mut out, kind::END, &[])?;
        if out.len() > Self::MAX_LEN { Err(Error::TooLarge(NAME, "unit")) } else { Ok(out) }
    }

    /// The Ethernet frame of a unit, as long as a frame is at least.
    #[must_use]
    pub fn frame(src: MacAddr, unit: &[u8]) -> Vec<u8> {
        let mut frame = vec![0; 14];
        put(&mut frame, 0, &Self::NEAREST_BRIDGE.0);
        put(&mut frame, 6, &src.0);
        put(&mut frame, 12, &crate::EtherType::LLDP.0.to_be_bytes());
        frame.extend(unit);
        frame.resize(frame.len().max(60), 0);
        frame
    }
}

/// Information of the TLV at the front, which must be of this type; and what follows.
fn mandatory<'a>(bytes: &'a [u8], kind: u8, what: &'static str) -> Result<(&'a [u8], &'a [u8]), Error> {
    let tlv = Tlv::split(bytes).ok_or(Error::Truncated(NAME))?;
    if tlv.kind == kind { Ok((tlv.info, tlv.rest)) } else { Err(Error::Malformed(NAME, what)) }
}

/// The TLVs of a unit behind the mandatory ones.
#[derive(Debug, Clone)]
pub struct LldpTlvs<'a> {
    rest: &'a [u8],
}

impl<'a> Iterator for LldpTlvs<'a> {
    type Item = Result<LldpTlv<'a>, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        let tlv = Tlv::split(self.rest).filter(|tlv| tlv.kind != kind::END)?;
        self.rest = tlv.rest;
        Some(LldpTlv::parse(tlv.kind, tlv.info))
    }
}

#[cfg(test)]
mod tests;

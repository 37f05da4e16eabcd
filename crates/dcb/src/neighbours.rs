//! Neighbours on a port: at most [`MAX_NEIGHBOURS`], each for as long as it says or until it takes leave.

use crate::heard::Heard;
use linerate_wire::{LldpId, MacAddr, lldp_id};
use std::fmt;

/// Most neighbours of a port.
pub const MAX_NEIGHBOURS: usize = 16;

/// Identifier of a chassis or a port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identifier {
    /// Its kind, of [`lldp_id`].
    pub subtype: u8,
    /// The identifier, 1 to 255 octets.
    pub id: Vec<u8>,
    /// It is a chassis's: the subtypes of a chassis and a port differ.
    chassis: bool,
}

impl Identifier {
    /// Identifier of a chassis.
    #[must_use]
    pub fn chassis(subtype: u8, id: &[u8]) -> Self {
        Self { subtype, id: id.to_vec(), chassis: true }
    }

    /// Identifier of a port.
    #[must_use]
    pub fn port(subtype: u8, id: &[u8]) -> Self {
        Self { subtype, id: id.to_vec(), chassis: false }
    }

    pub(crate) fn wire(&self) -> LldpId<'_> {
        LldpId { subtype: self.subtype, id: &self.id }
    }
}

impl fmt::Display for Identifier {
    /// A MAC address as such, text as it stands, anything else as hexadecimal digits.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mac = if self.chassis { lldp_id::CHASSIS_MAC } else { lldp_id::PORT_MAC };
        if let (true, Ok(mac)) = (self.subtype == mac, <[u8; 6]>::try_from(&self.id[..])) {
            return write!(f, "{}", MacAddr(mac));
        }
        match std::str::from_utf8(&self.id) {
            Ok(text) if !text.chars().any(linerate_text::drives) => f.write_str(text),
            _ => f.write_str(&linerate_text::hex(&self.id)),
        }
    }
}

/// A neighbour.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Neighbour {
    /// Its chassis.
    pub chassis: Identifier,
    /// Its port.
    pub port: Identifier,
    /// MAC address from which it sends.
    pub mac: MacAddr,
    /// Name of the system, if it says one.
    pub system: Option<String>,
    /// Description of the port, if it says one.
    pub description: Option<String>,
    /// Seconds for which its information is valid, as it said last.
    pub ttl: u16,
    /// Time at which it is not any more.
    pub expires: u64,
    /// Its DCBX.
    pub heard: Heard,
    /// A bit for each reason for which a TLV of its was discarded, as was told.
    pub(crate) refused: u8,
}

impl Neighbour {
    /// One of which nothing else is known.
    pub(crate) fn new(chassis: LldpId<'_>, port: LldpId<'_>, mac: MacAddr) -> Self {
        Self {
            chassis: Identifier::chassis(chassis.subtype, chassis.id),
            port: Identifier::port(port.subtype, port.id),
            mac,
            system: None,
            description: None,
            ttl: 0,
            expires: 0,
            heard: Heard::default(),
            refused: 0,
        }
    }
}

impl fmt::Display for Neighbour {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { chassis, port, system, .. } = self;
        write!(f, "{chassis} port {port}")?;
        system.as_ref().map_or(Ok(()), |system| write!(f, " ({})", linerate_text::plain(system)))
    }
}

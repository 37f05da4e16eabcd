//! Standard INQUIRY data.

use crate::Error;
use crate::field::{Bit, Bits, Field, newtype, padded, record};

const NAME: &str = "inquiry data";

/// Presence of a unit at a LUN (SPC-4, table 174: PERIPHERAL QUALIFIER).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Qualifier(pub u8);

impl Qualifier {
    /// A unit is present.
    pub const CONNECTED: Self = Self(0);
    /// No unit is possible.
    pub const NOT_SUPPORTED: Self = Self(3);
}

newtype!(Qualifier(Bits<7, 5>));

record! {
    /// Standard INQUIRY data (SPC-4, clause 6.6.2). Its format is 2, its additional length 91.
    Inquiry[96] bytes([0, 0, 0, 2, 91]);
    0 qualifier: Qualifier = "Presence of the unit.";
    0 device_type: u8 as Bits<4, 0> = "Peripheral device type: 0 for a disk, 0x1f for none.";
    2 version: u8 = "Version of SPC: 6 for SPC-4.";
    3 hierarchical: bool as Bit<4> = "LUNs are hierarchical addresses.";
    5 protect: bool as Bit<0> = "PROTECT: the unit supports protection information.";
    5 copies: bool as Bit<3> = "3PC: the unit copies to others.";
    5 port_groups: u8 as Bits<5, 4> = "TPGS: states of target port groups change by themselves (1), by command (2), by both (3), or are not told (0).";
    6 multi_port: bool as Bit<4> = "MULTIP: the unit has more than one port.";
    7 queues: bool as Bit<1> = "CMDQUE: the unit accepts several commands at once.";
    8 vendor: [u8; 8] = "Vendor identification, padded with spaces.";
    16 product: [u8; 16] = "Product identification, padded with spaces.";
    32 revision: [u8; 4] = "Product revision level.";
    58 standards: [u16; 8] = "Version descriptors of the standards that it follows (SPC-4, table 179), zeros last.";
}

impl Inquiry {
    /// Version descriptors of a disk: SAM-5, FCP-4, SPC-4, SBC-3, no versions claimed.
    pub const DISK_STANDARDS: [u16; 8] = [0x00a0, 0x0a40, 0x0460, 0x04c0, 0, 0, 0, 0];

    /// Parses the first 36 bytes or more; bytes cut off by an allocation length count as zeros.
    ///
    /// # Errors
    ///
    /// [`Error::Truncated`] when there are fewer.
    pub fn parse(bytes: &[u8]) -> Result<Self, Error> {
        if bytes.len() < 36 {
            return Err(Error::Truncated(NAME));
        }
        let there = bytes.len().min(5 + usize::from(bytes[4])).max(36);
        Ok(Self::get(&padded::<{ Self::LEN }>(&bytes[..there]), 0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Answer of LIO (capture 02, frame 5).
    const LIO: &[u8; 36] = b"\0\0\x06\x02\x5b\xb8\0\x02LIO-ORG RAMDISK-MCP     4.0 ";

    #[test]
    fn inquiry_data_is_as_spc_4_clause_6_6_2_lays_it_out() {
        let mut lio = [0; 96];
        lio[..36].copy_from_slice(LIO);
        lio[58..66].copy_from_slice(&[0, 0xa0, 0x0a, 0x40, 4, 0x60, 4, 0xc0]);
        let disk = Inquiry::parse(&lio).unwrap();
        assert_eq!((disk.qualifier, disk.device_type, disk.version), (Qualifier::CONNECTED, 0, 6));
        assert_eq!((&disk.vendor, &disk.product, &disk.revision), (b"LIO-ORG ", b"RAMDISK-MCP     ", b"4.0 "));
        assert_eq!(disk.standards, Inquiry::DISK_STANDARDS);
        // SCCS, which this type does not claim, is set too.
        assert!(disk.port_groups == 3 && disk.copies);
        lio[5] &= 0x7f;
        assert_eq!(disk.bytes(), lio);
        let none = Inquiry {
            qualifier: Qualifier::NOT_SUPPORTED,
            device_type: 0x1f,
            hierarchical: true,
            protect: true,
            port_groups: 1,
            copies: true,
            multi_port: true,
            ..disk
        };
        assert_eq!(none.bytes()[..8], [0x7f, 0, 6, 0x12, 91, 0x19, 0x10, 2]);
        assert_eq!(Inquiry::parse(&none.bytes()), Ok(none));
        assert_eq!(Inquiry::parse(&none.bytes()[..36]).unwrap().standards, [0; 8]);
        assert!(Inquiry::parse(&[0; 35]).is_err());
    }
}

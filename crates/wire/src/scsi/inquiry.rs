//! Standard INQUIRY data.

use crate::Error;
use crate::field::{array_at, put, put_u16, u16_at};

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

/// Offsets of the fields of standard INQUIRY data (SPC-4, clause 6.6.2).
mod field {
    pub(super) const PERIPHERAL: usize = 0;
    pub(super) const VERSION: usize = 2;
    pub(super) const FORMAT: usize = 3;
    pub(super) const ADDITIONAL_LENGTH: usize = 4;
    pub(super) const PROTECT: usize = 5;
    pub(super) const MULTI_PORT: usize = 6;
    pub(super) const QUEUES: usize = 7;
    pub(super) const VENDOR: usize = 8;
    pub(super) const PRODUCT: usize = 16;
    pub(super) const REVISION: usize = 32;
    pub(super) const STANDARDS: usize = 58;
}

/// Standard INQUIRY data (SPC-4, clause 6.6.2).
///
/// ```text
///  0  qualifier (3 bits), device type     8  vendor (8 bytes)
///  2  version                            16  product (16)
///  3  HISUP, response data format (2)    32  revision (4)
///  4  additional length                  58  version descriptors (8 of 2)
///  5  PROTECT, 3PC    6  MULTIP    7  CMDQUE
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Inquiry {
    /// Presence of the unit.
    pub qualifier: Qualifier,
    /// Peripheral device type: 0 for a disk, 0x1f for none.
    pub device_type: u8,
    /// Version of SPC: 6 for SPC-4.
    pub version: u8,
    /// LUNs are hierarchical addresses.
    pub hierarchical: bool,
    /// PROTECT: the unit supports protection information.
    pub protect: bool,
    /// TPGS: states of target port groups change by themselves (1), by command (2), by both (3), or are not told (0).
    pub port_groups: u8,
    /// 3PC: the unit copies to others.
    pub copies: bool,
    /// MULTIP: the unit has more than one port.
    pub multi_port: bool,
    /// CMDQUE: the unit accepts several commands at once.
    pub queues: bool,
    /// Vendor identification, padded with spaces.
    pub vendor: [u8; 8],
    /// Product identification, padded with spaces.
    pub product: [u8; 16],
    /// Product revision level.
    pub revision: [u8; 4],
    /// Version descriptors of the standards that it follows (SPC-4, table 179), zeros last.
    pub standards: [u16; 8],
}

impl Inquiry {
    /// Length of the data in bytes.
    pub const LEN: usize = 96;
    /// Version descriptors of a disk: SAM-5, FCP-4, SPC-4, SBC-3, no versions claimed.
    pub const DISK_STANDARDS: [u16; 8] = [0x00a0, 0x0a40, 0x0460, 0x04c0, 0, 0, 0, 0];

    /// Serializes the data.
    #[must_use]
    pub fn bytes(&self) -> [u8; Self::LEN] {
        let mut bytes = [0; Self::LEN];
        bytes[field::PERIPHERAL] = self.qualifier.0 << 5 | self.device_type & 0x1f;
        bytes[field::VERSION] = self.version;
        bytes[field::FORMAT] = u8::from(self.hierarchical) << 4 | 2;
        bytes[field::ADDITIONAL_LENGTH] = 91;
        bytes[field::PROTECT] = (self.port_groups & 3) << 4 | u8::from(self.copies) << 3 | u8::from(self.protect);
        bytes[field::MULTI_PORT] = u8::from(self.multi_port) << 4;
        bytes[field::QUEUES] = u8::from(self.queues) << 1;
        put(&mut bytes, field::VENDOR, &self.vendor);
        put(&mut bytes, field::PRODUCT, &self.product);
        put(&mut bytes, field::REVISION, &self.revision);
        for (i, standard) in self.standards.into_iter().enumerate() {
            put_u16(&mut bytes, field::STANDARDS + 2 * i, standard);
        }
        bytes
    }

    /// Parses the first 36 bytes or more; bytes cut off by an allocation length count as zeros.
    ///
    /// # Errors
    ///
    /// [`Error::Truncated`] when there are fewer.
    pub fn parse(bytes: &[u8]) -> Result<Self, Error> {
        if bytes.len() < 36 {
            return Err(Error::Truncated(NAME));
        }
        let mut full = [0; Self::LEN];
        let there = bytes.len().min(Self::LEN).min(5 + usize::from(bytes[field::ADDITIONAL_LENGTH])).max(36);
        full[..there].copy_from_slice(&bytes[..there]);
        Ok(Self {
            qualifier: Qualifier(full[field::PERIPHERAL] >> 5),
            device_type: full[field::PERIPHERAL] & 0x1f,
            version: full[field::VERSION],
            hierarchical: full[field::FORMAT] & 0x10 != 0,
            protect: full[field::PROTECT] & 1 != 0,
            port_groups: full[field::PROTECT] >> 4 & 3,
            copies: full[field::PROTECT] & 8 != 0,
            multi_port: full[field::MULTI_PORT] & 0x10 != 0,
            queues: full[field::QUEUES] & 2 != 0,
            vendor: array_at(&full, field::VENDOR),
            product: array_at(&full, field::PRODUCT),
            revision: array_at(&full, field::REVISION),
            standards: std::array::from_fn(|i| u16_at(&full, field::STANDARDS + 2 * i)),
        })
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

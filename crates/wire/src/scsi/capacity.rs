//! READ CAPACITY data.

use crate::Error;
use crate::field::{array_at, at_most_u32, put, u32_at};

const NAME: &str = "capacity data";

/// Logical block provisioning (SBC-3, clause 4.7).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Provisioning {
    /// LBPME: blocks can be given back.
    pub managed: bool,
    /// LBPRZ: blocks that are not there read as zeros.
    pub zeroes: bool,
}

/// Offsets of the data of READ CAPACITY (16) (SBC-3, clause 5.16.2).
mod long {
    pub(super) const LAST: usize = 0;
    pub(super) const BLOCK_SIZE: usize = 8;
    pub(super) const PROTECTION: usize = 12;
    pub(super) const EXPONENTS: usize = 13;
    pub(super) const PROVISIONING_AND_ALIGNMENT: usize = 14;
}

/// Offsets of the data of READ CAPACITY (10) (SBC-3, clause 5.15.2).
mod short {
    pub(super) const LAST: usize = 0;
    pub(super) const BLOCK_SIZE: usize = 4;
}

/// Data of READ CAPACITY (10) and (16) (SBC-3, clauses 5.15.2 and 5.16.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Capacity {
    /// The last logical block.
    pub last: u64,
    /// Bytes of a logical block, without protection information.
    pub block_size: u32,
    /// The type of protection information, 1 to 3; 0 for none.
    pub protection: u8,
    /// Log2 of the intervals of protection information in a block.
    pub interval_exponent: u8,
    /// Log2 of logical blocks in a physical one.
    pub physical_exponent: u8,
    /// The first logical block at the start of a physical one.
    pub lowest_aligned: u16,
    /// Logical block provisioning.
    pub provisioning: Provisioning,
}

impl Capacity {
    /// Bytes of READ CAPACITY (16) data.
    pub const LEN: usize = 32;

    /// READ CAPACITY (10) data: the last block and the block size; 0xffffffff means that (16) is needed.
    #[must_use]
    pub fn bytes_10(&self) -> [u8; 8] {
        let mut bytes = [0; 8];
        put(&mut bytes, short::LAST, &at_most_u32(self.last).to_be_bytes());
        put(&mut bytes, short::BLOCK_SIZE, &self.block_size.to_be_bytes());
        bytes
    }

    /// READ CAPACITY (16) data.
    #[must_use]
    pub fn bytes_16(&self) -> [u8; Self::LEN] {
        let mut bytes = [0; Self::LEN];
        put(&mut bytes, long::LAST, &self.last.to_be_bytes());
        put(&mut bytes, long::BLOCK_SIZE, &self.block_size.to_be_bytes());
        if let Some(kind) = self.protection.checked_sub(1) {
            bytes[long::PROTECTION] = (kind & 7) << 1 | 1;
        }
        bytes[long::EXPONENTS] = self.interval_exponent << 4 | self.physical_exponent & 0xf;
        put(&mut bytes, long::PROVISIONING_AND_ALIGNMENT, &(self.lowest_aligned & 0x3fff).to_be_bytes());
        bytes[long::PROVISIONING_AND_ALIGNMENT] |=
            u8::from(self.provisioning.managed) << 7 | u8::from(self.provisioning.zeroes) << 6;
        bytes
    }

    /// Parses READ CAPACITY (10) data. None if (16) is needed.
    ///
    /// # Errors
    ///
    /// [`Error::Truncated`] when there are fewer than 8 bytes.
    pub fn parse_10(bytes: &[u8]) -> Result<Option<Self>, Error> {
        if bytes.len() < 8 {
            return Err(Error::Truncated(NAME));
        }
        let last = u32_at(bytes, short::LAST);
        Ok((last != u32::MAX).then(|| Self {
            last: u64::from(last),
            block_size: u32_at(bytes, short::BLOCK_SIZE),
            protection: 0,
            interval_exponent: 0,
            physical_exponent: 0,
            lowest_aligned: 0,
            provisioning: Provisioning::default(),
        }))
    }

    /// From READ CAPACITY (16) data.
    ///
    /// # Errors
    ///
    /// [`Error::Truncated`] when there are fewer than 32 bytes.
    pub fn parse_16(bytes: &[u8]) -> Result<Self, Error> {
        if bytes.len() < Self::LEN {
            return Err(Error::Truncated(NAME));
        }
        Ok(Self {
            last: u64::from_be_bytes(array_at(bytes, long::LAST)),
            block_size: u32_at(bytes, long::BLOCK_SIZE),
            protection: if bytes[long::PROTECTION] & 1 == 0 { 0 } else { (bytes[long::PROTECTION] >> 1 & 7) + 1 },
            interval_exponent: bytes[long::EXPONENTS] >> 4,
            physical_exponent: bytes[long::EXPONENTS] & 0xf,
            lowest_aligned: u16::from_be_bytes(array_at(bytes, long::PROVISIONING_AND_ALIGNMENT)) & 0x3fff,
            provisioning: Provisioning {
                managed: bytes[long::PROVISIONING_AND_ALIGNMENT] & 0x80 != 0,
                zeroes: bytes[long::PROVISIONING_AND_ALIGNMENT] & 0x40 != 0,
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn capacity_is_as_sbc_3_clause_5_16_2_lays_it_out() {
        // Answer of LIO for a RAM disk of 64 MiB (capture 02, frame 70).
        let mut bytes = [0; 32];
        bytes[..12].copy_from_slice(&[0, 0, 0, 0, 0, 1, 0xff, 0xff, 0, 0, 2, 0]);
        let disk = Capacity::parse_16(&bytes).unwrap();
        assert_eq!((disk.last, disk.block_size, disk.protection), (0x1ffff, 512, 0));
        assert_eq!(disk.bytes_16(), bytes);
        let full = Capacity {
            protection: 3,
            physical_exponent: 3,
            lowest_aligned: 7,
            provisioning: Provisioning { managed: true, zeroes: true },
            ..disk
        };
        assert_eq!(full.bytes_16()[12..16], [5, 3, 0xc0, 7]);
        assert_eq!(Capacity::parse_16(&full.bytes_16()), Ok(full));
        assert!(Capacity::parse_16(&bytes[..31]).is_err());
    }

    #[test]
    fn a_disk_too_large_for_read_capacity_10_says_so() {
        let disk = Capacity::parse_10(&[0, 0, 0xff, 0xff, 0, 0, 2, 0]).unwrap().unwrap();
        assert_eq!(disk.bytes_10(), [0, 0, 0xff, 0xff, 0, 0, 2, 0]);
        let large = Capacity { last: 1 << 32, ..disk };
        assert_eq!(large.bytes_10(), [0xff, 0xff, 0xff, 0xff, 0, 0, 2, 0]);
        assert_eq!(Capacity::parse_10(&large.bytes_10()), Ok(None));
        assert!(Capacity::parse_10(&[0; 7]).is_err());
    }
}

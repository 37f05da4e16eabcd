//! READ CAPACITY data.

use crate::Error;
use crate::field::{Bit, Bits, Field, Low16, at_most_u32, record};

const NAME: &str = "capacity data";

record! {
    /// Logical block provisioning (SBC-3, clause 4.7).
    #[derive(Default)]
    Provisioning[1];
    0 managed: bool as Bit<7> = "LBPME: blocks can be given back.";
    0 zeroes: bool as Bit<6> = "LBPRZ: blocks that are not there read as zeros.";
}

record! {
    /// Data of READ CAPACITY (16) (SBC-3, clause 5.16.2), of which READ CAPACITY (10) has the first two (clause 5.15.2).
    Capacity[32];
    0 last: u64 = "The last logical block.";
    8 block_size: u32 = "Bytes of a logical block, without protection information.";
    12 protection: u8 as ProtectionType = "The type of protection information, 1 to 3; 0 for none.";
    13 interval_exponent: u8 as Bits<7, 4> = "Log2 of the intervals of protection information in a block.";
    13 physical_exponent: u8 as Bits<3, 0> = "Log2 of logical blocks in a physical one.";
    14 lowest_aligned: u16 as Low16<14> = "The first logical block at the start of a physical one.";
    14 provisioning: Provisioning = "Logical block provisioning.";
}

/// PROT_EN in bit 0; P_TYPE, which is one less than the type, in the three bits above it.
struct ProtectionType;

impl Field for ProtectionType {
    type Value = u8;

    fn get(bytes: &[u8], at: usize) -> u8 {
        if bytes[at] & 1 == 0 { 0 } else { (bytes[at] >> 1 & 7) + 1 }
    }

    fn put(value: u8, bytes: &mut [u8], at: usize) {
        bytes[at] = value.checked_sub(1).map_or(0, |kind| (kind & 7) << 1 | 1);
    }
}

impl Capacity {
    /// READ CAPACITY (10) data: the last block and the block size; 0xffffffff means that (16) is needed.
    #[must_use]
    pub fn bytes_10(&self) -> [u8; 8] {
        let mut bytes = [0; 8];
        u32::put(at_most_u32(self.last), &mut bytes, 0);
        u32::put(self.block_size, &mut bytes, 4);
        bytes
    }

    /// READ CAPACITY (16) data.
    #[must_use]
    pub fn bytes_16(&self) -> [u8; Self::LEN] {
        let mut bytes = [0; Self::LEN];
        Self::put(*self, &mut bytes, 0);
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
        let last = u32::get(bytes, 0);
        Ok((last != u32::MAX).then(|| Self {
            last: u64::from(last),
            block_size: u32::get(bytes, 4),
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
        bytes.get(..Self::LEN).map(|bytes| Self::get(bytes, 0)).ok_or(Error::Truncated(NAME))
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

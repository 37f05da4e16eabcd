//! T10 protection information (SBC-3, clause 4.22): eight bytes behind each block that show if the block is intact and
//! belongs at its address.

mod apart;

use thiserror::Error;

/// Algorithm of the guard.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Guard {
    /// CRC16-T10DIF: the only one for devices.
    #[default]
    Crc16,
    /// The Internet checksum (RFC 1071), which hosts may use towards their adapter (DIX) because it is cheap.
    IpChecksum,
}

impl Guard {
    /// Guard of a block.
    #[must_use]
    pub fn of(self, block: &[u8]) -> u16 {
        match self {
            Self::Crc16 => linerate_sum::crc16_t10dif(block),
            Self::IpChecksum => linerate_sum::checksum(block),
        }
    }
}

/// Meaning of the tags (SBC-3, clause 4.22.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProtectionType {
    /// The reference tag is the low half of the block's address.
    Type1,
    /// The reference tag counts up from the command's value.
    Type2,
    /// The reference tag is not checked.
    Type3,
}

impl ProtectionType {
    /// Type of this number; None if there is no such type.
    #[must_use]
    pub const fn of(code: u8) -> Option<Self> {
        match code {
            1 => Some(Self::Type1),
            2 => Some(Self::Type2),
            3 => Some(Self::Type3),
            _ => None,
        }
    }

    /// Reference tag of the block at this address: its low half, or zero for type 3, which has none.
    #[must_use]
    pub const fn reference(self, lba: u64) -> u32 {
        let [.., a, b, c, d] = lba.to_be_bytes();
        match self {
            Self::Type1 | Self::Type2 => u32::from_be_bytes([a, b, c, d]),
            Self::Type3 => 0,
        }
    }

    /// Number of the type: 1 to 3.
    #[must_use]
    pub const fn code(self) -> u8 {
        match self {
            Self::Type1 => 1,
            Self::Type2 => 2,
            Self::Type3 => 3,
        }
    }
}

/// The protection information of a block (SBC-3, clause 4.22.3).
///
/// ```text
///  0                   1                   2                   3
///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |             guard             |        application tag        |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |                         reference tag                         |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProtectionTuple {
    /// Guard: checksum of the block.
    pub guard: u16,
    /// Application tag: set by the owner of the block.
    pub application: u16,
    /// Reference tag: address of the block.
    pub reference: u32,
}

impl ProtectionTuple {
    /// Length in bytes.
    pub const LEN: usize = 8;
    /// Tuple without meaning, not checked: the block was never written, or was deallocated.
    pub(crate) const NONE: Self = Self { guard: u16::MAX, application: u16::MAX, reference: u32::MAX };

    #[must_use]
    pub fn bytes(&self) -> [u8; Self::LEN] {
        let ([a, b], [c, d], [e, f, g, h]) =
            (self.guard.to_be_bytes(), self.application.to_be_bytes(), self.reference.to_be_bytes());
        [a, b, c, d, e, f, g, h]
    }

    /// Reads the tuple at the start of a slice, which must be long enough.
    pub(crate) fn read(bytes: &[u8]) -> Self {
        let mut tuple = [0; Self::LEN];
        tuple.copy_from_slice(&bytes[..Self::LEN]);
        Self::parse(tuple)
    }

    #[must_use]
    pub const fn parse(bytes: [u8; Self::LEN]) -> Self {
        let [a, b, c, d, e, f, g, h] = bytes;
        Self {
            guard: u16::from_be_bytes([a, b]),
            application: u16::from_be_bytes([c, d]),
            reference: u32::from_be_bytes([e, f, g, h]),
        }
    }
}

/// Fields to compare.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ProtectionChecks {
    pub guard: bool,
    /// The reference tag; never compared for type 3.
    pub reference: bool,
    /// Expected application tag, and the bits of it that are compared.
    pub application: Option<(u16, u16)>,
}

/// Mismatch of a field; holds the index of the block. Blocks count from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum ProtectionError {
    /// The guard differs: the block was changed.
    #[error("block {0}: its guard is another: read or write it again")]
    Guard(u64),
    /// The application tag differs: the block belongs to another owner.
    #[error("block {0}: its application tag is another: it belongs to something else")]
    Application(u64),
    /// The reference tag differs: the block belongs to another address.
    #[error("block {0}: its reference tag is another: it belongs to another place")]
    Reference(u64),
}

/// Parameters of the protection of blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Protection {
    /// Meaning of the tags.
    pub kind: ProtectionType,
    pub guard: Guard,
    /// Bytes of a block without protection information.
    pub block: usize,
}

impl Protection {
    /// Bytes of a block with protection information.
    #[must_use]
    pub const fn stride(&self) -> usize {
        self.block + ProtectionTuple::LEN
    }

    /// Protection information of a block; `reference` is the tag of the first block of a transfer, and `index` counts
    /// from there.
    #[must_use]
    pub fn tuple(&self, block: &[u8], application: u16, reference: u32, index: u64) -> ProtectionTuple {
        ProtectionTuple { guard: self.guard.of(block), application, reference: self.reference(reference, index) }
    }

    /// Copies blocks to `to` with protection information behind each; the length of `to` must match.
    pub fn insert(&self, data: &[u8], application: u16, reference: u32, to: &mut [u8]) {
        let pairs = data.chunks_exact(self.block).zip(to.chunks_exact_mut(self.stride()));
        for (index, (block, to)) in (0..).zip(pairs) {
            to[..self.block].copy_from_slice(block);
            to[self.block..].copy_from_slice(&self.tuple(block, application, reference, index).bytes());
        }
    }

    /// Sets the protection information behind blocks.
    pub fn seal(&self, blocks: &mut [u8], application: u16, reference: u32) {
        for (index, block) in (0..).zip(blocks.chunks_exact_mut(self.stride())) {
            let (block, tuple) = block.split_at_mut(self.block);
            tuple.copy_from_slice(&self.tuple(block, application, reference, index).bytes());
        }
    }

    /// Sets the reference tags behind blocks, starting with `reference`; for type 3 all get the same. Tuples without
    /// meaning stay so.
    pub fn number(&self, blocks: &mut [u8], reference: u32) {
        for (index, block) in (0..).zip(blocks.chunks_exact_mut(self.stride())) {
            let tuple = &mut block[self.block..];
            tuple.copy_from_slice(&self.numbered(ProtectionTuple::read(tuple), reference, index).bytes());
        }
    }

    /// Tuple with its reference tag set, for the `index`-th block of a transfer.
    pub(crate) fn numbered(&self, tuple: ProtectionTuple, reference: u32, index: u64) -> ProtectionTuple {
        let reference = if tuple == ProtectionTuple::NONE { u32::MAX } else { self.reference(reference, index) };
        ProtectionTuple { reference, ..tuple }
    }

    /// Removes the protection information between blocks, moving them together; returns the bytes left.
    pub fn strip(&self, blocks: &mut [u8]) -> usize {
        let count = blocks.len() / self.stride();
        for index in 1..count {
            let start = index * self.stride();
            blocks.copy_within(start..start + self.block, index * self.block);
        }
        count * self.block
    }

    /// Compares blocks with the protection information behind each.
    ///
    /// # Errors
    ///
    /// [`ProtectionError`]: the first mismatch.
    pub fn verify(&self, blocks: &[u8], reference: u32, checks: &ProtectionChecks) -> Result<(), ProtectionError> {
        self.verify_all(blocks.chunks_exact(self.stride()).map(|all| all.split_at(self.block)), reference, checks)
    }

    fn verify_all<'a>(
        &self,
        pairs: impl Iterator<Item = (&'a [u8], &'a [u8])>,
        reference: u32,
        checks: &ProtectionChecks,
    ) -> Result<(), ProtectionError> {
        for (index, (block, tuple)) in (0..).zip(pairs) {
            let tuple = ProtectionTuple::read(tuple);
            if self.is_unchecked(tuple) {
                continue;
            }
            if checks.guard && tuple.guard != self.guard.of(block) {
                return Err(ProtectionError::Guard(index));
            }
            if checks.application.is_some_and(|(value, mask)| (tuple.application ^ value) & mask != 0) {
                return Err(ProtectionError::Application(index));
            }
            let counts = checks.reference && self.kind != ProtectionType::Type3;
            if counts && tuple.reference != self.reference(reference, index) {
                return Err(ProtectionError::Reference(index));
            }
        }
        Ok(())
    }

    /// Tags of all ones disable the comparison (SBC-3, clause 4.22.2.1).
    fn is_unchecked(&self, tuple: ProtectionTuple) -> bool {
        tuple.application == u16::MAX && (self.kind != ProtectionType::Type3 || tuple.reference == u32::MAX)
    }

    /// Reference tag of the `index`-th block of a transfer whose first block has tag `first`.
    pub(crate) fn reference(&self, first: u32, index: u64) -> u32 {
        match self.kind {
            // The low half of the sum: tags wrap as addresses do.
            ProtectionType::Type1 | ProtectionType::Type2 => {
                let [.., a, b, c, d] = (u64::from(first) + index).to_be_bytes();
                u32::from_be_bytes([a, b, c, d])
            }
            ProtectionType::Type3 => first,
        }
    }
}

#[cfg(test)]
mod tests;

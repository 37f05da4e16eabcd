//! Vital product data.

use crate::Error;
use crate::field::{array_at, counted_u8, counted_u16, put, put_u16, u16_at, u32_at};

const NAME: &str = "vital product data";

/// Appends a page to `to` (SPC-4, clause 7.8): a header of 4 bytes, of which `peripheral` is the first (qualifier and
/// device type), and the bytes appended by `body`, at most 65535.
pub fn vpd(peripheral: u8, page: u8, to: &mut Vec<u8>, body: impl FnOnce(&mut Vec<u8>)) {
    let at = to.len();
    to.extend([peripheral, page, 0, 0]);
    let start = to.len();
    body(to);
    let (counted, len) = counted_u16(&to[start..]);
    let end = start + counted.len();
    to.truncate(end);
    put_u16(to, at + page::LENGTH, len);
}

/// Offsets of the header of a VPD page (SPC-4, clause 7.8).
mod page {
    pub(super) const PERIPHERAL: usize = 0;
    pub(super) const CODE: usize = 1;
    pub(super) const LENGTH: usize = 2;
}

/// A VPD page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VpdPage<'a> {
    /// Peripheral qualifier and device type, as in standard INQUIRY data.
    pub peripheral: u8,
    /// Page code.
    pub page: u8,
    /// Length of the body in bytes; fewer are present if the allocation length was too small.
    pub len: u16,
    /// Bytes of the body that are present.
    pub body: &'a [u8],
}

impl<'a> VpdPage<'a> {
    /// Page 00h: list of supported pages.
    pub const SUPPORTED: u8 = 0x00;
    /// Page 80h: the serial number.
    pub const SERIAL: u8 = 0x80;
    /// Page 83h: designators.
    pub const DESIGNATORS: u8 = 0x83;
    /// Page 86h: extended INQUIRY data.
    pub const EXTENDED: u8 = 0x86;
    /// Page B0h: block limits.
    pub const LIMITS: u8 = 0xb0;
    /// Page B1h: block device characteristics.
    pub const CHARACTERISTICS: u8 = 0xb1;
    /// Page B2h: logical block provisioning.
    pub const PROVISIONING: u8 = 0xb2;

    /// Parses the page at the front of `bytes`.
    ///
    /// # Errors
    ///
    /// [`Error::Truncated`] when the header is incomplete.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, Error> {
        let (header, rest) = bytes.split_at_checked(4).ok_or(Error::Truncated(NAME))?;
        let len = u16_at(header, page::LENGTH);
        let body = &rest[..rest.len().min(usize::from(len))];
        Ok(Self { peripheral: header[page::PERIPHERAL], page: header[page::CODE], len, body })
    }
}

/// Offsets of the header of a designator (SPC-4, clause 7.8.5).
mod designator {
    pub(super) const CODE_SET: usize = 0;
    pub(super) const KIND: usize = 1;
    pub(super) const LENGTH: usize = 3;
}

/// A name of a unit, a port or a device (SPC-4, clause 7.8.5).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Designator<'a> {
    /// Encoding of the identifier: binary (1), ASCII (2), UTF-8 (3).
    pub code_set: u8,
    /// T10 vendor identification (1), EUI-64 (2), NAA (3), relative port (4), port group (5), SCSI name (8) …
    pub kind: u8,
    /// Subject of the name: the unit (0), the port (1), the device (2).
    pub association: u8,
    /// Protocol of the port: 0 for Fibre Channel.
    pub protocol: Option<u8>,
    /// The name.
    pub identifier: &'a [u8],
}

impl<'a> Designator<'a> {
    /// An NAA name (a WWN is one) of the unit, the port or the device.
    #[must_use]
    pub const fn naa(association: u8, identifier: &'a [u8]) -> Self {
        Self { code_set: 1, kind: 3, association, protocol: None, identifier }
    }

    /// Appends the designator to `to`; an identifier of more than 255 bytes is cut.
    pub fn put(&self, to: &mut Vec<u8>) {
        let (identifier, len) = counted_u8(self.identifier);
        to.push(self.protocol.unwrap_or(0) << 4 | self.code_set & 0xf);
        to.push(u8::from(self.protocol.is_some()) << 7 | (self.association & 3) << 4 | self.kind & 0xf);
        to.extend([0, len]);
        to.extend(identifier);
    }

    /// Iterates over the designators in the body of page 83h; ends at one that is incomplete.
    pub fn all(mut body: &'a [u8]) -> impl Iterator<Item = Self> {
        std::iter::from_fn(move || {
            let (header, rest) = body.split_at_checked(4)?;
            let (identifier, next) = rest.split_at_checked(usize::from(header[designator::LENGTH]))?;
            body = next;
            Some(Self {
                code_set: header[designator::CODE_SET] & 0xf,
                kind: header[designator::KIND] & 0xf,
                association: header[designator::KIND] >> 4 & 3,
                protocol: (header[designator::KIND] & 0x80 != 0).then_some(header[designator::CODE_SET] >> 4),
                identifier,
            })
        })
    }
}

/// Offsets in the body of page 86 (SPC-4, clause 7.8.7).
mod extended {
    pub(super) const CHECKS: usize = 0;
    pub(super) const TASKS: usize = 1;
    pub(super) const CACHE: usize = 2;
    pub(super) const REPORTS: usize = 3;
}

/// The body of page 86h (SPC-4, clause 7.8.7).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ExtendedInquiry {
    /// SPT: supported types of protection information (SBC-3, table 149).
    pub protection_types: u8,
    /// Guards are checked.
    pub guard: bool,
    /// Application tags are checked.
    pub application: bool,
    /// Reference tags are checked.
    pub reference: bool,
    /// Simple, ordered and head-of-queue tasks are supported.
    pub attributes: bool,
    /// The unit has a volatile cache.
    pub volatile: bool,
    /// LUICLR: reporting a unit attention to one nexus does not clear it for others.
    pub nexus_attentions: bool,
}

impl ExtendedInquiry {
    /// Bytes of the body.
    pub const LEN: usize = 60;

    /// Serializes the body.
    #[must_use]
    pub fn bytes(&self) -> [u8; Self::LEN] {
        let mut bytes = [0; Self::LEN];
        bytes[extended::CHECKS] = (self.protection_types & 7) << 3
            | u8::from(self.guard) << 2
            | u8::from(self.application) << 1
            | u8::from(self.reference);
        bytes[extended::TASKS] = if self.attributes { 7 } else { 0 };
        bytes[extended::CACHE] = u8::from(self.volatile);
        bytes[extended::REPORTS] = u8::from(self.nexus_attentions);
        bytes
    }

    /// Parses the first 4 bytes or more.
    ///
    /// # Errors
    ///
    /// [`Error::Truncated`] when there are fewer.
    pub fn parse(body: &[u8]) -> Result<Self, Error> {
        let body: &[u8; 4] = body.first_chunk().ok_or(Error::Truncated(NAME))?;
        let (types, tasks) = (body[extended::CHECKS], body[extended::TASKS]);
        let (cache, reports) = (body[extended::CACHE], body[extended::REPORTS]);
        Ok(Self {
            protection_types: types >> 3 & 7,
            guard: types & 4 != 0,
            application: types & 2 != 0,
            reference: types & 1 != 0,
            attributes: tasks & 7 == 7,
            volatile: cache & 1 != 0,
            nexus_attentions: reports & 1 != 0,
        })
    }
}

/// Offsets in the body of page B0 (SBC-3, clause 6.6.3).
mod limits {
    pub(super) const WRITE_SAME_NON_ZERO: usize = 0;
    pub(super) const COMPARE_AND_WRITE: usize = 1;
    pub(super) const GRANULARITY: usize = 2;
    pub(super) const TRANSFER: usize = 4;
    pub(super) const OPTIMAL: usize = 8;
    pub(super) const PREFETCH: usize = 12;
    pub(super) const UNMAP_BLOCKS: usize = 16;
    pub(super) const UNMAP_RANGES: usize = 20;
    pub(super) const UNMAP_GRANULARITY: usize = 24;
    pub(super) const UNMAP_ALIGNMENT: usize = 28;
    pub(super) const WRITE_SAME: usize = 32;
}

/// The body of page B0h (SBC-3, clause 6.6.3); numbers are of logical blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct BlockLimits {
    /// WSNZ: WRITE SAME must give a number of blocks other than zero.
    pub write_same_non_zero: bool,
    /// Most blocks of COMPARE AND WRITE.
    pub compare_and_write: u8,
    /// Optimal transfer length granularity: lengths of transfers should be multiples of it.
    pub granularity: u16,
    /// Most blocks of a transfer.
    pub transfer: u32,
    /// Optimal transfer length.
    pub optimal: u32,
    /// Most blocks of a PRE-FETCH.
    pub prefetch: u32,
    /// Most blocks that one UNMAP deallocates.
    pub unmap_blocks: u32,
    /// Most ranges (block descriptors) of one UNMAP.
    pub unmap_ranges: u32,
    /// Optimal unmap granularity: lengths of ranges should be multiples of it.
    pub unmap_granularity: u32,
    /// Address of the first block at which such a multiple begins.
    pub unmap_alignment: Option<u32>,
    /// Most blocks of WRITE SAME.
    pub write_same: u64,
}

impl BlockLimits {
    /// Bytes of the body.
    pub const LEN: usize = 60;

    /// Serializes the body.
    #[must_use]
    pub fn bytes(&self) -> [u8; Self::LEN] {
        let mut bytes = [0; Self::LEN];
        bytes[limits::WRITE_SAME_NON_ZERO] = u8::from(self.write_same_non_zero);
        bytes[limits::COMPARE_AND_WRITE] = self.compare_and_write;
        put_u16(&mut bytes, limits::GRANULARITY, self.granularity);
        let alignment = self.unmap_alignment.map_or(0, |at| at | 1 << 31);
        let words = [
            (limits::TRANSFER, self.transfer),
            (limits::OPTIMAL, self.optimal),
            (limits::PREFETCH, self.prefetch),
            (limits::UNMAP_BLOCKS, self.unmap_blocks),
            (limits::UNMAP_RANGES, self.unmap_ranges),
            (limits::UNMAP_GRANULARITY, self.unmap_granularity),
            (limits::UNMAP_ALIGNMENT, alignment),
        ];
        for (at, word) in words {
            put(&mut bytes, at, &word.to_be_bytes());
        }
        put(&mut bytes, limits::WRITE_SAME, &self.write_same.to_be_bytes());
        bytes
    }

    /// Parses the first 12 bytes or more (SBC-2 had no more); missing bytes count as zeros.
    ///
    /// # Errors
    ///
    /// [`Error::Truncated`] when there are fewer.
    pub fn parse(body: &[u8]) -> Result<Self, Error> {
        if body.len() < 12 {
            return Err(Error::Truncated(NAME));
        }
        let mut full = [0; Self::LEN];
        let there = body.len().min(full.len());
        full[..there].copy_from_slice(&body[..there]);
        let alignment = u32_at(&full, limits::UNMAP_ALIGNMENT);
        Ok(Self {
            write_same_non_zero: full[limits::WRITE_SAME_NON_ZERO] & 1 != 0,
            compare_and_write: full[limits::COMPARE_AND_WRITE],
            granularity: u16_at(&full, limits::GRANULARITY),
            transfer: u32_at(&full, limits::TRANSFER),
            optimal: u32_at(&full, limits::OPTIMAL),
            prefetch: u32_at(&full, limits::PREFETCH),
            unmap_blocks: u32_at(&full, limits::UNMAP_BLOCKS),
            unmap_ranges: u32_at(&full, limits::UNMAP_RANGES),
            unmap_granularity: u32_at(&full, limits::UNMAP_GRANULARITY),
            unmap_alignment: (alignment >> 31 != 0).then_some(alignment & !(1 << 31)),
            write_same: u64::from_be_bytes(array_at(&full, limits::WRITE_SAME)),
        })
    }
}

/// Offsets in the body of page B1 (SBC-3, clause 6.6.2).
mod characteristics {
    pub(super) const ROTATION: usize = 0;
    pub(super) const FORM_FACTOR: usize = 3;
    pub(super) const VERIFIES_UNMAPPED: usize = 4;
}

/// The body of page B1h (SBC-3, clause 6.6.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct BlockCharacteristics {
    /// Rotations per minute; 0 when not stated, 1 for a non-rotating medium.
    pub rotation: u16,
    /// WABEREQ (SBC-4): answer to a READ of blocks not written since SANITIZE: BLOCK ERASE; 0 when not stated, 1 without
    /// an error, 2 and 3 with one.
    pub after_erase: u8,
    /// Form factor; 0 when not stated.
    pub form_factor: u8,
    /// VBULS: VERIFY compares data with unmapped blocks as with others.
    pub verifies_unmapped: bool,
}

impl BlockCharacteristics {
    /// Bytes of the body.
    pub const LEN: usize = 60;

    /// Serializes the body.
    #[must_use]
    pub fn bytes(&self) -> [u8; Self::LEN] {
        let mut bytes = [0; Self::LEN];
        put_u16(&mut bytes, characteristics::ROTATION, self.rotation);
        bytes[characteristics::FORM_FACTOR] = (self.after_erase & 3) << 6 | self.form_factor & 0xf;
        bytes[characteristics::VERIFIES_UNMAPPED] = u8::from(self.verifies_unmapped);
        bytes
    }

    /// Parses the first 4 bytes or more (SBC-2 had no more); missing bytes count as zeros.
    ///
    /// # Errors
    ///
    /// [`Error::Truncated`] when there are fewer.
    pub fn parse(body: &[u8]) -> Result<Self, Error> {
        let &[high, low, _, form, ..] = body else { return Err(Error::Truncated(NAME)) };
        let verifies_unmapped = body.get(4).is_some_and(|byte| byte & 1 != 0);
        let rotation = u16::from_be_bytes([high, low]);
        Ok(Self { rotation, after_erase: form >> 6, form_factor: form & 0xf, verifies_unmapped })
    }
}

/// The body of page B2h (SBC-3, clause 6.6.4).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct BlockProvisioning {
    /// LBPU: UNMAP deallocates blocks.
    pub unmap: bool,
    /// LBPWS: WRITE SAME (16) can deallocate blocks.
    pub write_same_16: bool,
    /// LBPWS10: WRITE SAME (10) can deallocate blocks.
    pub write_same_10: bool,
    /// LBPRZ: unmapped blocks read as zeros.
    pub zeroes: bool,
    /// ANC_SUP: blocks can be anchored.
    pub anchors: bool,
    /// Provisioning type: none (0), resource (1), thin (2).
    pub kind: u8,
}

impl BlockProvisioning {
    /// Bytes of the body.
    pub const LEN: usize = 4;

    /// Serializes the body.
    #[must_use]
    pub fn bytes(&self) -> [u8; Self::LEN] {
        let flags = u8::from(self.unmap) << 7
            | u8::from(self.write_same_16) << 6
            | u8::from(self.write_same_10) << 5
            | u8::from(self.zeroes) << 2
            | u8::from(self.anchors) << 1;
        [0, flags, self.kind & 7, 0]
    }

    /// Parses the first 4 bytes or more.
    ///
    /// # Errors
    ///
    /// [`Error::Truncated`] when there are fewer.
    pub fn parse(body: &[u8]) -> Result<Self, Error> {
        let &[_, flags, kind, _, ..] = body else { return Err(Error::Truncated(NAME)) };
        Ok(Self {
            unmap: flags & 0x80 != 0,
            write_same_16: flags & 0x40 != 0,
            write_same_10: flags & 0x20 != 0,
            zeroes: flags & 4 != 0,
            anchors: flags & 2 != 0,
            kind: kind & 7,
        })
    }
}

#[cfg(test)]
mod tests;

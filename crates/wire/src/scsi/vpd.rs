//! Vital product data.

use crate::Error;
use crate::field::{Bit, Bits, Field, counted_u8, counted_u16, put_u16, record, u16_at, values};

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

values! {
    impl VpdPage<'_>: u8;
    SUPPORTED = 0x00, "Page 00h: list of supported pages.";
    SERIAL = 0x80, "Page 80h: the serial number.";
    DESIGNATORS = 0x83, "Page 83h: designators.";
    EXTENDED = 0x86, "Page 86h: extended INQUIRY data.";
    LIMITS = 0xb0, "Page B0h: block limits.";
    CHARACTERISTICS = 0xb1, "Page B1h: block device characteristics.";
    PROVISIONING = 0xb2, "Page B2h: logical block provisioning.";
}

impl<'a> VpdPage<'a> {
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

record! {
    /// The body of page 86h (SPC-4, clause 7.8.7).
    #[derive(Default)]
    ExtendedInquiry[60] parse(4) bytes;
    0 protection_types: u8 as Bits<5, 3> = "SPT: supported types of protection information (SBC-3, table 149).";
    0 guard: bool as Bit<2> = "GRD_CHK: guards are checked.";
    0 application: bool as Bit<1> = "APP_CHK: application tags are checked.";
    0 reference: bool as Bit<0> = "REF_CHK: reference tags are checked.";
    1 attributes: bool as All<7> = "SIMPSUP, ORDSUP and HEADSUP: simple, ordered and head-of-queue tasks are supported.";
    2 volatile: bool as Bit<0> = "V_SUP: the unit has a volatile cache.";
    3 nexus_attentions: bool as Bit<0> = "LUICLR: reporting a unit attention to one nexus does not clear it for others.";
}

/// Bits that are set together.
struct All<const BITS: u8>;

impl<const BITS: u8> Field for All<BITS> {
    type Value = bool;

    fn get(bytes: &[u8], at: usize) -> bool {
        bytes[at] & BITS == BITS
    }

    fn put(value: bool, bytes: &mut [u8], at: usize) {
        bytes[at] |= if value { BITS } else { 0 };
    }
}

record! {
    /// The body of page B0h (SBC-3, clause 6.6.3); numbers are of logical blocks. SBC-2 had 12 bytes of it.
    #[derive(Default)]
    BlockLimits[60] parse(12) bytes;
    0 write_same_non_zero: bool as Bit<0> = "WSNZ: WRITE SAME must give a number of blocks other than zero.";
    1 compare_and_write: u8 = "Most blocks of COMPARE AND WRITE.";
    2 granularity: u16 = "Optimal transfer length granularity: lengths of transfers should be multiples of it.";
    4 transfer: u32 = "Most blocks of a transfer.";
    8 optimal: u32 = "Optimal transfer length.";
    12 prefetch: u32 = "Most blocks of a PRE-FETCH.";
    16 unmap_blocks: u32 = "Most blocks that one UNMAP deallocates.";
    20 unmap_ranges: u32 = "Most ranges (block descriptors) of one UNMAP.";
    24 unmap_granularity: u32 = "Optimal unmap granularity: lengths of ranges should be multiples of it.";
    28 unmap_alignment: Option<u32> as IfValid = "Address of the first block at which such a multiple begins.";
    32 write_same: u64 = "Most blocks of WRITE SAME.";
}

/// A number of 31 bits, behind one that says that it is valid.
struct IfValid;

impl Field for IfValid {
    type Value = Option<u32>;

    fn get(bytes: &[u8], at: usize) -> Option<u32> {
        let word = u32::get(bytes, at);
        (word >> 31 != 0).then_some(word & !(1 << 31))
    }

    fn put(value: Option<u32>, bytes: &mut [u8], at: usize) {
        u32::put(value.map_or(0, |number| number | 1 << 31), bytes, at);
    }
}

record! {
    /// The body of page B1h (SBC-3, clause 6.6.2). SBC-2 had 4 bytes of it.
    #[derive(Default)]
    BlockCharacteristics[60] parse(4) bytes;
    0 rotation: u16 = "Rotations per minute; 0 when not stated, 1 for a non-rotating medium.";
    3 after_erase: u8 as Bits<7, 6> = "WABEREQ (SBC-4): answer to a READ of blocks not written since SANITIZE: BLOCK ERASE; \
        0 when not stated, 1 without an error, 2 and 3 with one.";
    3 form_factor: u8 as Bits<3, 0> = "NOMINAL FORM FACTOR; 0 when not stated.";
    4 verifies_unmapped: bool as Bit<0> = "VBULS: VERIFY compares data with unmapped blocks as with others.";
}

record! {
    /// The body of page B2h (SBC-3, clause 6.6.4).
    #[derive(Default)]
    BlockProvisioning[4] parse bytes;
    1 unmap: bool as Bit<7> = "LBPU: UNMAP deallocates blocks.";
    1 write_same_16: bool as Bit<6> = "LBPWS: WRITE SAME (16) can deallocate blocks.";
    1 write_same_10: bool as Bit<5> = "LBPWS10: WRITE SAME (10) can deallocate blocks.";
    1 zeroes: bool as Bit<2> = "LBPRZ: unmapped blocks read as zeros.";
    1 anchors: bool as Bit<1> = "ANC_SUP: blocks can be anchored.";
    2 kind: u8 as Bits<2, 0> = "Provisioning type: none (0), resource (1), thin (2).";
}

#[cfg(test)]
mod tests;

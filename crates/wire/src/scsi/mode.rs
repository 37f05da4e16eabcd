//! Mode parameters: how a unit behaves.

use crate::Error;
use crate::field::{array_at, at_most_u32, counted_u8, counted_u16, u16_at, u32_at, values};

const NAME: &str = "mode data";

/// Offsets of the header of MODE SENSE (10) (SPC-4, clause 7.5.4).
mod ten {
    pub(super) const LENGTH: usize = 0;
    pub(super) const SPECIFIC: usize = 3;
    pub(super) const LONG_DESCRIPTORS: usize = 4;
    pub(super) const DESCRIPTORS_LENGTH: usize = 6;
}

/// Offsets of the header of MODE SENSE (6) (SPC-4, clause 7.5.4).
mod six {
    pub(super) const LENGTH: usize = 0;
    pub(super) const SPECIFIC: usize = 2;
    pub(super) const DESCRIPTORS_LENGTH: usize = 3;
}

/// Offsets of a short LBA block descriptor (SBC-3, clause 6.5); the block size has 3 bytes, read with the one before them.
mod short {
    pub(super) const BLOCKS: usize = 0;
    pub(super) const BLOCK_SIZE: usize = 4;
}

/// Offsets of a long LBA block descriptor (SBC-3, clause 6.5).
mod long {
    pub(super) const BLOCKS: usize = 0;
    pub(super) const BLOCK_SIZE: usize = 12;
}

/// Header of mode data, before the pages, with at most one block descriptor (SPC-4, clause 7.5.4; SBC-3, clause 6.5).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ModeHeader {
    /// WP: the medium is write-protected.
    pub write_protected: bool,
    /// DPOFUA: both bits are known.
    pub dpo_fua: bool,
    /// Logical blocks and the bytes of one, if there is a block descriptor.
    pub blocks: Option<(u64, u32)>,
}

/// Appends mode data to `to`: a header of MODE SENSE (10) or (6), the block descriptor, long or short, and the pages.
///
/// # Errors
///
/// [`Error::TooLarge`] when the data's length does not fit its field.
pub fn emit_mode(ten: bool, long: bool, header: &ModeHeader, pages: &[u8], to: &mut Vec<u8>) -> Result<(), Error> {
    let too_large = |_| Error::TooLarge(NAME, "number of pages");
    let specific = u8::from(header.write_protected) << 7 | u8::from(header.dpo_fua) << 4;
    let descriptor: u8 = match (header.blocks, long) {
        (None, _) => 0,
        (Some(_), false) => 8,
        (Some(_), true) => 16,
    };
    let after = usize::from(descriptor) + pages.len();
    if ten {
        let len = u16::try_from(after + 6).map_err(too_large)?;
        to.extend(len.to_be_bytes());
        to.extend([0, specific, u8::from(descriptor == 16), 0, 0, descriptor]);
    } else {
        let len = u8::try_from(after + 3).map_err(too_large)?;
        to.extend([len, 0, specific, descriptor]);
    }
    match (header.blocks, long) {
        (None, _) => {}
        (Some((blocks, size)), false) => {
            to.extend(at_most_u32(blocks).to_be_bytes());
            let [_, size @ ..] = size.to_be_bytes();
            to.push(0);
            to.extend(size);
        }
        (Some((blocks, size)), true) => {
            to.extend(blocks.to_be_bytes());
            to.extend([0; 4]);
            to.extend(size.to_be_bytes());
        }
    }
    to.extend(pages);
    Ok(())
}

/// The header of mode data and its pages, of which some are missing when an allocation length was too small.
///
/// # Errors
///
/// [`Error::Truncated`] when header and block descriptor are not there.
pub fn parse_mode(ten: bool, bytes: &[u8]) -> Result<(ModeHeader, ModePages<'_>), Error> {
    let short = Error::Truncated(NAME);
    let (header, rest) = bytes.split_at_checked(if ten { 8 } else { 4 }).ok_or(short)?;
    let (len, specific, long, descriptor) = if ten {
        (
            usize::from(u16_at(header, ten::LENGTH)) + 2,
            header[ten::SPECIFIC],
            header[ten::LONG_DESCRIPTORS] & 1 != 0,
            usize::from(u16_at(header, ten::DESCRIPTORS_LENGTH)),
        )
    } else {
        (
            usize::from(header[six::LENGTH]) + 1,
            header[six::SPECIFIC],
            false,
            usize::from(header[six::DESCRIPTORS_LENGTH]),
        )
    };
    let (descriptor, pages) = rest.split_at_checked(descriptor).ok_or(short)?;
    let blocks = match (descriptor.len(), long) {
        (8.., false) => {
            Some((u64::from(u32_at(descriptor, short::BLOCKS)), u32_at(descriptor, short::BLOCK_SIZE) & 0xff_ffff))
        }
        (16.., true) => {
            Some((u64::from_be_bytes(array_at(descriptor, long::BLOCKS)), u32_at(descriptor, long::BLOCK_SIZE)))
        }
        _ => None,
    };
    let end = len.saturating_sub(header.len() + descriptor.len()).min(pages.len());
    let header = ModeHeader { write_protected: specific & 0x80 != 0, dpo_fua: specific & 0x10 != 0, blocks };
    Ok((header, ModePages { bytes: &pages[..end] }))
}

/// Pages one after another.
#[derive(Debug, Clone, Copy)]
pub struct ModePages<'a> {
    bytes: &'a [u8],
}

/// A mode page (SPC-4, clause 7.5.6).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ModePage<'a> {
    /// Page code: six bits.
    pub page: u8,
    /// Subpage code; 0 for the page itself.
    pub subpage: u8,
    /// Bytes after its header, which is 2 bytes long, or 4 for a subpage; fewer than 256 for a page.
    pub body: &'a [u8],
}

values! {
    impl ModePage<'_>: u8;
    ERROR_RECOVERY = 0x01, "Read-write error recovery (SBC-3, clause 6.5).";
    CACHING = 0x08, "Caching (SBC-3, clause 6.5): byte 0 of the body has WCE (0x04) and RCD (0x01).";
    CONTROL = 0x0a, "Control (SPC-4, clause 7.5.8).";
    EXCEPTIONS = 0x1c, "Informational exceptions control (SPC-4, clause 7.5.11).";
    ALL = 0x3f, "All pages.";
    ALL_SUBPAGES = 0xff, "All subpages.";
}

impl ModePage<'_> {
    /// Appends the page to `to`; a body longer than its length field can say is cut.
    pub fn put(&self, to: &mut Vec<u8>) {
        if self.subpage == 0 {
            let (body, len) = counted_u8(self.body);
            to.extend([self.page & 0x3f, len]);
            to.extend(body);
        } else {
            let (body, len) = counted_u16(self.body);
            to.extend([0x40 | self.page & 0x3f, self.subpage]);
            to.extend(len.to_be_bytes());
            to.extend(body);
        }
    }
}

impl<'a> Iterator for ModePages<'a> {
    type Item = ModePage<'a>;

    /// The next page that is there as a whole.
    fn next(&mut self) -> Option<ModePage<'a>> {
        let &[first, second, ..] = self.bytes else { return None };
        let (subpage, header, len) = if first & 0x40 == 0 {
            (0, 2, usize::from(second))
        } else {
            (second, 4, usize::from(u16_at(self.bytes.get(..4)?, 2)))
        };
        let (body, next) = self.bytes[header..].split_at_checked(len)?;
        self.bytes = next;
        Some(ModePage { page: first & 0x3f, subpage, body })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mode_data_of_the_linux_target_is_read() {
        // MODE SENSE (6) of the caching page (capture 02, frame 79).
        let mut bytes = vec![0x1f, 0, 0, 8, 0, 1, 0xff, 0xff, 0, 0, 2, 0, 8, 0x12];
        bytes.extend([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x20, 0, 0, 0, 0, 0, 0, 0]);
        let (header, mut pages) = parse_mode(false, &bytes).unwrap();
        assert_eq!(header, ModeHeader { blocks: Some((0x1ffff, 512)), ..ModeHeader::default() });
        let page = pages.next().unwrap();
        assert_eq!((page.page, page.subpage, page.body), (ModePage::CACHING, 0, &bytes[14..]));
        assert!(pages.next().is_none());
        let mut again = Vec::new();
        emit_mode(false, false, &header, &bytes[12..], &mut again).unwrap();
        assert_eq!(again, bytes);
    }

    #[test]
    fn both_headers_and_descriptors_are_as_spc_4_clause_7_5_4_lays_them_out() {
        let mut pages = Vec::new();
        ModePage { page: 0x0a, subpage: 0, body: &[1, 2] }.put(&mut pages);
        ModePage { page: 0x0a, subpage: 1, body: &[3; 300] }.put(&mut pages);
        assert_eq!(pages[..8], [0x0a, 2, 1, 2, 0x4a, 1, 1, 44]);
        let header = ModeHeader { write_protected: true, dpo_fua: true, blocks: Some((1 << 33, 4096)) };
        let mut bytes = Vec::new();
        emit_mode(true, true, &header, &pages, &mut bytes).unwrap();
        assert_eq!(bytes[..8], [1, 0x4a, 0, 0x90, 1, 0, 0, 16]);
        assert_eq!(bytes[8..24], [0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x10, 0]);
        let (read, all) = parse_mode(true, &bytes).unwrap();
        assert_eq!((read, all.count()), (header, 2));
        let (_, all) = parse_mode(true, &bytes[..40]).unwrap();
        assert_eq!(all.count(), 1, "a page that is cut short is not there");
        assert!(parse_mode(true, &bytes[..23]).is_err());
        assert_eq!(
            emit_mode(false, false, &header, &pages, &mut Vec::new()),
            Err(Error::TooLarge(NAME, "number of pages"))
        );
        let mut bytes = Vec::new();
        emit_mode(true, false, &header, &[], &mut bytes).unwrap();
        assert_eq!(bytes, [0, 14, 0, 0x90, 0, 0, 0, 8, 0xff, 0xff, 0xff, 0xff, 0, 0, 0x10, 0]);
    }
}

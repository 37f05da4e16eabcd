//! FC frames in Ethernet frames.

use super::FcHeader;
use crate::Error;
use crate::field::{array_at, values};

const NAME: &str = "fcoe";

values! {
    /// The delimiter that starts a frame (FC-BB-6, table 23).
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub struct Sof(u8);
    I3 = 0x2e, "Class 3, the first frame of a sequence.";
    N3 = 0x36, "Class 3, any other frame of it.";
}

values! {
    /// The delimiter that ends a frame (FC-BB-6, table 24).
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub struct Eof(u8);
    T = 0x42, "The last frame of a sequence.";
    N = 0x41, "Any other frame of it.";
    NI = 0x49, "A frame that is to be thrown away.";
    A = 0x50, "A sequence that is to be thrown away.";
}

/// Offsets of the fields before the FC header (FC-BB-6, clause 7.7.1).
mod field {
    pub(super) const VERSION: usize = 0;
    pub(super) const SOF: usize = 13;
}

/// Offsets of the fields behind payload and fill, from there on (FC-BB-6, clause 7.7.1).
mod trailer {
    pub(super) const CRC: usize = 0;
    pub(super) const EOF: usize = 4;
}

/// A view of an encapsulated FC frame: what follows the Ethernet header (FC-BB-6, clause 7.7.1).
///
/// ```text
///  0                   1                   2                   3
///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |version|                   reserved: 100 bits …
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
///                 |      SOF      |   FC header, 24 bytes …
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |                 payload and fill, 0 to 2112 …
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |      CRC of FC header, payload and fill, lowest byte first    |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |      EOF      |                   reserved                    |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FcoeFrame<'a> {
    bytes: &'a [u8],
    header: FcHeader,
}

impl<'a> FcoeFrame<'a> {
    /// Bytes before the FC header.
    pub const HEADER_LEN: usize = 14;
    /// Bytes after payload and fill.
    pub const TRAILER_LEN: usize = 8;
    /// Bytes of a frame without payload.
    pub const OVERHEAD: usize = Self::HEADER_LEN + FcHeader::LEN + Self::TRAILER_LEN;

    /// Views the payload of an Ethernet frame. The shortest frame is as long as Ethernet's shortest, so there is no
    /// padding.
    ///
    /// # Errors
    ///
    /// [`Error::Truncated`] when there is not even a header, [`Error::Malformed`] when the version is not 0, the length
    /// no number of words, or the fill longer than the payload.
    pub fn new_checked(bytes: &'a [u8]) -> Result<Self, Error> {
        if bytes.len() < Self::OVERHEAD {
            return Err(Error::Truncated(NAME));
        }
        if bytes[field::VERSION] >> 4 != 0 {
            return Err(Error::Malformed(NAME, "version"));
        }
        let header = FcHeader::parse(&bytes[Self::HEADER_LEN..])?;
        let payload = bytes.len() - Self::OVERHEAD;
        if !payload.is_multiple_of(4) {
            return Err(Error::Malformed(NAME, "length"));
        }
        if header.fill() > payload {
            return Err(Error::Malformed(NAME, "fill"));
        }
        Ok(Self { bytes, header })
    }

    /// The delimiter in front.
    #[must_use]
    pub fn sof(&self) -> Sof {
        Sof(self.bytes[field::SOF])
    }

    /// The delimiter behind.
    #[must_use]
    pub fn eof(&self) -> Eof {
        Eof(self.bytes[self.end() + trailer::EOF])
    }

    /// The CRC as received.
    #[must_use]
    pub fn crc(&self) -> u32 {
        u32::from_le_bytes(array_at(self.bytes, self.end() + trailer::CRC))
    }

    /// The FC header.
    #[must_use]
    pub fn header(&self) -> &FcHeader {
        &self.header
    }

    /// Bytes that the CRC covers: FC header, payload and fill.
    #[must_use]
    pub fn covered(&self) -> &'a [u8] {
        &self.bytes[Self::HEADER_LEN..self.end()]
    }

    /// The payload, without fill.
    #[must_use]
    pub fn payload(&self) -> &'a [u8] {
        &self.bytes[Self::HEADER_LEN + FcHeader::LEN..self.end() - self.header.fill()]
    }

    fn end(&self) -> usize {
        self.bytes.len() - Self::TRAILER_LEN
    }
}

/// The bytes around an FC frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FcoeRepr {
    /// The delimiter in front.
    pub sof: Sof,
    /// The delimiter behind.
    pub eof: Eof,
}

impl FcoeRepr {
    /// Encapsulation header, between Ethernet and FC header.
    #[must_use]
    pub const fn header(self) -> [u8; 14] {
        [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, self.sof.0]
    }

    /// Encapsulation trailer, behind payload and fill.
    #[must_use]
    pub const fn trailer(self, crc: u32) -> [u8; 8] {
        let [a, b, c, d] = crc.to_le_bytes();
        [a, b, c, d, self.eof.0, 0, 0, 0]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_is_what_stands_between_its_delimiters() {
        let repr = FcoeRepr { sof: Sof::I3, eof: Eof::T };
        let header = FcHeader { f_ctl: 0x98_0001, ..FcHeader::parse(&[0; 24]).unwrap() };
        let mut bytes = repr.header().to_vec();
        bytes.extend(header.bytes());
        bytes.extend([1, 2, 3, 0]);
        bytes.extend(repr.trailer(0x1234_5678));
        let frame = FcoeFrame::new_checked(&bytes).unwrap();
        assert_eq!((frame.sof(), frame.eof(), frame.crc()), (Sof::I3, Eof::T, 0x1234_5678));
        assert_eq!((frame.payload(), frame.covered().len()), (&[1, 2, 3][..], 28));
        assert_eq!(*frame.header(), header);

        assert_eq!(FcoeFrame::new_checked(&bytes[..45]), Err(Error::Truncated("fcoe")));
        assert_eq!(FcoeFrame::new_checked(&bytes[..49]), Err(Error::Malformed("fcoe", "length")));
        bytes[0] = 0x10;
        assert_eq!(FcoeFrame::new_checked(&bytes), Err(Error::Malformed("fcoe", "version")));
        let mut empty = [0; 46];
        empty[25] = 3;
        assert_eq!(FcoeFrame::new_checked(&empty), Err(Error::Malformed("fcoe", "fill")));
    }
}

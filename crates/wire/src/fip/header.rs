//! The header of every FIP frame.

use super::{FipDescriptor, FipDescriptors};
use crate::field::{put, put_u16, u16_at, values};
use crate::{Error, MacAddr};

const NAME: &str = "fip";

/// Offsets of the fields (FC-BB-6, clause 7, FIP operation format).
mod field {
    pub(super) const VERSION: usize = 0;
    pub(super) const PROTOCOL: usize = 2;
    pub(super) const RESERVED: usize = 4;
    pub(super) const SUBCODE: usize = 5;
    pub(super) const LIST_LENGTH: usize = 6;
    pub(super) const FLAGS: usize = 8;
}

/// A view of a FIP frame: what follows the Ethernet header (FC-BB-6, clause 7, FIP operation format).
///
/// ```text
///  0                   1                   2                   3
///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// | version=1 |      reserved       |       protocol code         |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |   reserved    |    subcode    |  descriptor list, in words    |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |F|S|      reserved     |P|A|S|F|  descriptors …
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FipFrame<'a> {
    bytes: &'a [u8],
    end: usize,
}

values! {
    impl FipFrame<'_>: MacAddr;
    ALL_VN2VN_MACS = MacAddr([0x01, 0x10, 0x18, 0x01, 0x00, 0x04]), "All ENodes in VN2VN multipoint mode.";
    ALL_PT2PT_MACS = MacAddr([0x01, 0x10, 0x18, 0x01, 0x00, 0x05]), "All ENodes in VN2VN point-to-point mode.";
}

impl<'a> FipFrame<'a> {
    /// Bytes of the header.
    pub const HEADER_LEN: usize = 10;
    /// The upper half of every VN2VN VN_Port's MAC address; the lower is its N_Port_ID.
    pub const VN2VN_FC_MAP: [u8; 3] = [0x0e, 0xfd, 0x00];

    /// Views the payload of an Ethernet frame; what follows the descriptors is padding.
    ///
    /// # Errors
    ///
    /// [`Error::Truncated`] when header and descriptor list are longer than the bytes there are, [`Error::Malformed`]
    /// when the version is not 1.
    pub fn new_checked(bytes: &'a [u8]) -> Result<Self, Error> {
        if bytes.len() < Self::HEADER_LEN {
            return Err(Error::Truncated(NAME));
        }
        if bytes[field::VERSION] >> 4 != 1 {
            return Err(Error::Malformed(NAME, "version"));
        }
        let end = Self::HEADER_LEN + usize::from(u16_at(bytes, field::LIST_LENGTH)) * 4;
        if bytes.len() < end {
            return Err(Error::Truncated(NAME));
        }
        Ok(Self { bytes, end })
    }

    /// Protocol code and subcode.
    #[must_use]
    pub fn code(&self) -> FipCode {
        FipCode { protocol: u16_at(self.bytes, field::PROTOCOL), subcode: self.bytes[field::SUBCODE] }
    }

    /// The flags.
    #[must_use]
    pub fn flags(&self) -> FipFlags {
        FipFlags(u16_at(self.bytes, field::FLAGS))
    }

    /// The descriptors, one after the other; ends with an error at the first whose length is wrong.
    #[must_use]
    pub fn descriptors(&self) -> FipDescriptors<'a> {
        FipDescriptors::new(&self.bytes[Self::HEADER_LEN..self.end])
    }

    /// Bytes after the descriptors.
    #[must_use]
    pub fn padding(&self) -> &'a [u8] {
        &self.bytes[self.end..]
    }
}

/// Kind of a FIP frame: protocol code and subcode (FC-BB-6, clause 7, FIP protocol codes).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct FipCode {
    /// The protocol code.
    pub protocol: u16,
    /// Its subcode.
    pub subcode: u8,
}

values! {
    impl FipCode: Self;
    SOLICITATION = Self::new(1, 1), "Discovery solicitation.";
    ELS_REQUEST = Self::new(2, 1), "A link service's request: FLOGI, FDISC, LOGO, ELP.";
    ELS_REPLY = Self::new(2, 2), "A link service's reply.";
    KEEP_ALIVE = Self::new(3, 1), "Keep alive.";
    VLAN_REQUEST = Self::new(4, 1), "VLAN request.";
    VLAN_NOTIFICATION = Self::new(4, 2), "VLAN notification of an FCF.";
    VLAN_VN2VN_NOTIFICATION = Self::new(4, 3), "VLAN notification of a VN2VN ENode.";
    PROBE_REQUEST = Self::new(5, 1), "N_Port_ID Probe Request.";
    PROBE_REPLY = Self::new(5, 2), "N_Port_ID Probe Reply.";
    CLAIM_NOTIFICATION = Self::new(5, 3), "N_Port_ID Claim Notification.";
    CLAIM_RESPONSE = Self::new(5, 4), "N_Port_ID Claim Response.";
    BEACON = Self::new(5, 5), "N_Port_ID Beacon.";
}

impl FipCode {
    /// From its parts.
    #[must_use]
    pub const fn new(protocol: u16, subcode: u8) -> Self {
        Self { protocol, subcode }
    }
}

values! {
    /// The flags of a FIP frame (FC-BB-6, clause 7, FIP operation format).
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
    pub struct FipFlags(u16);
    FPMA = 0x8000, "Fabric provided MAC addresses.";
    SPMA = 0x4000, "Server provided MAC addresses.";
    REC_P2P = 0x0008, "In a Probe Request: the identifier was recorded in an earlier life (REC). In all else of VN2VN: point-to-point mode (P2P).";
    SOLICITED = 0x0002, "Solicited.";
    F_PORT = 0x0001, "Sent by an FCF.";
}

impl FipFlags {
    /// True if all of these are set.
    #[must_use]
    pub const fn has(self, flags: Self) -> bool {
        self.0 & flags.0 == flags.0
    }
}

/// Bytes of a frame with these descriptors.
pub(super) fn frame_len(descriptors: &[Option<FipDescriptor<'_>>]) -> usize {
    FipFrame::HEADER_LEN + descriptors.iter().flatten().map(FipDescriptor::len).sum::<usize>()
}

/// Writes header and descriptors to the front of `buffer`; returns the rest. When an error is returned, the front may
/// have been written.
pub(super) fn emit<'b>(
    code: FipCode,
    flags: FipFlags,
    descriptors: &[Option<FipDescriptor<'_>>],
    buffer: &'b mut [u8],
) -> Result<&'b mut [u8], Error> {
    let words = (frame_len(descriptors) - FipFrame::HEADER_LEN) / 4;
    let words = u16::try_from(words).map_err(|_| Error::TooLarge(NAME, "descriptor list"))?;
    let (header, mut rest) = buffer.split_at_mut_checked(FipFrame::HEADER_LEN).ok_or(Error::Truncated(NAME))?;
    put(header, field::VERSION, &[0x10, 0]);
    put_u16(header, field::PROTOCOL, code.protocol);
    put(header, field::RESERVED, &[0, code.subcode]);
    put_u16(header, field::LIST_LENGTH, words);
    put_u16(header, field::FLAGS, flags.0);
    for descriptor in descriptors.iter().flatten() {
        rest = descriptor.emit(rest)?;
    }
    Ok(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_states_its_list() {
        let mut bytes = [0x10, 0, 0, 5, 0, 1, 0, 1, 0x80, 0x08, 1, 1, 0, 9, 0xee];
        let frame = FipFrame::new_checked(&bytes).unwrap();
        assert_eq!((frame.code(), frame.flags().0, frame.padding()), (FipCode::PROBE_REQUEST, 0x8008, &[0xee][..]));
        assert!(frame.flags().has(FipFlags::REC_P2P) && !frame.flags().has(FipFlags::SPMA));
        assert!(frame.descriptors().eq([Ok(FipDescriptor::Priority(9))]));

        assert_eq!(FipFrame::new_checked(&bytes[..13]), Err(Error::Truncated("fip")));
        assert_eq!(FipFrame::new_checked(&bytes[..9]), Err(Error::Truncated("fip")));
        bytes[0] = 0x20;
        assert_eq!(FipFrame::new_checked(&bytes), Err(Error::Malformed("fip", "version")));
    }
}

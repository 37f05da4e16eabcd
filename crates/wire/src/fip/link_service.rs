//! Logins and logouts inside FIP.

use super::found::{Found, optional};
use super::header::{emit, frame_len};
use super::{FipCode, FipDescriptor, FipElsKind, FipFlags, FipFrame};
use crate::{Error, FcHeader, MacAddr};

/// A link service's request or reply inside FIP (FC-BB-6, clause 7, FIP Virtual Link Instantiation).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FipElsRepr<'a> {
    /// Command; a reply repeats it.
    pub kind: FipElsKind,
    /// True if it is a reply.
    pub reply: bool,
    /// The way in which MAC addresses are given, between ENode and FCF; nothing in VN2VN.
    pub flags: FipFlags,
    /// The FC header.
    pub header: FcHeader,
    /// The payload; a number of words.
    pub payload: &'a [u8],
    /// The VN_Port's MAC address, proposed or granted; a reject has none.
    pub mac: Option<MacAddr>,
}

impl<'a> FipElsRepr<'a> {
    /// The fields of `frame`.
    ///
    /// # Errors
    ///
    /// [`Error::Malformed`] when it is no link service, or its list is not one frame of it and at most one MAC address.
    pub fn parse(frame: &FipFrame<'a>) -> Result<Self, Error> {
        let reply = match frame.code() {
            FipCode::ELS_REQUEST => false,
            FipCode::ELS_REPLY => true,
            _ => return Err(Error::Malformed("fip", "subcode")),
        };
        let found = Found::collect(frame, &[2, 7, 8, 9, 10], |_| false)?;
        let mut services = (7..=10).filter_map(|code| found.find(code));
        let (Some(FipDescriptor::Els { kind, header, payload }), None) = (services.next(), services.next()) else {
            return Err(Error::Malformed("fip", "list: not one link service"));
        };
        let mac = optional!(found, 2, FipDescriptor::Mac(mac) => mac);
        Ok(Self { kind, reply, flags: frame.flags(), header, payload, mac })
    }

    /// Bytes that [`emit`](Self::emit) writes.
    #[must_use]
    pub fn buffer_len(&self) -> usize {
        frame_len(&self.descriptors())
    }

    /// Writes the frame to the front of `buffer`; returns the rest, which is padding.
    ///
    /// # Errors
    ///
    /// [`Error::Truncated`] when it does not fit, [`Error::TooLarge`] when the payload is longer than 992 bytes,
    /// [`Error::Malformed`] when it is no number of words.
    pub fn emit<'b>(&self, buffer: &'b mut [u8]) -> Result<&'b mut [u8], Error> {
        let code = if self.reply { FipCode::ELS_REPLY } else { FipCode::ELS_REQUEST };
        emit(code, self.flags, &self.descriptors(), buffer)
    }

    fn descriptors(&self) -> [Option<FipDescriptor<'a>>; 2] {
        let Self { kind, header, payload, .. } = *self;
        [Some(FipDescriptor::Els { kind, header, payload }), self.mac.map(FipDescriptor::Mac)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(code: FipCode, descriptors: &[Option<FipDescriptor<'_>>]) -> Vec<u8> {
        let mut bytes = vec![0; frame_len(descriptors)];
        emit(code, FipFlags::default(), descriptors, &mut bytes).unwrap();
        bytes
    }

    fn parse(bytes: &[u8]) -> Result<FipElsRepr<'_>, Error> {
        FipElsRepr::parse(&FipFrame::new_checked(bytes).unwrap())
    }

    #[test]
    fn a_list_holds_one_link_service() {
        let header = FcHeader::parse(&[0x22; 24]).unwrap();
        let els = |kind| Some(FipDescriptor::Els { kind, header, payload: &[4, 0, 0, 0] });
        let mac = Some(FipDescriptor::Mac(MacAddr([2, 0, 0, 0, 0, 1])));
        let name = Some(FipDescriptor::Name(crate::Wwn(1)));
        let other = Some(FipDescriptor::Unknown(200, &[0, 0]));

        let bytes = frame(FipCode::ELS_REPLY, &[other, els(FipElsKind::Logo), mac]);
        let repr = parse(&bytes).unwrap();
        assert_eq!((repr.kind, repr.reply, repr.payload), (FipElsKind::Logo, true, &[4, 0, 0, 0][..]));
        assert_eq!(repr.mac, Some(MacAddr([2, 0, 0, 0, 0, 1])));

        let not_one = Err(Error::Malformed("fip", "list: not one link service"));
        assert_eq!(parse(&frame(FipCode::ELS_REQUEST, &[mac])), not_one);
        assert_eq!(parse(&frame(FipCode::ELS_REQUEST, &[els(FipElsKind::Flogi), els(FipElsKind::Logo)])), not_one);
        let twice = Err(Error::Malformed("fip", "descriptor that comes twice"));
        assert_eq!(parse(&frame(FipCode::ELS_REQUEST, &[els(FipElsKind::Flogi), els(FipElsKind::Flogi)])), twice);
        assert_eq!(parse(&frame(FipCode::ELS_REQUEST, &[els(FipElsKind::Flogi), mac, mac])), twice);
        let unexpected = Err(Error::Malformed("fip", "unexpected descriptor"));
        assert_eq!(parse(&frame(FipCode::ELS_REQUEST, &[els(FipElsKind::Flogi), name])), unexpected);
        assert_eq!(parse(&frame(FipCode::BEACON, &[els(FipElsKind::Flogi)])), Err(Error::Malformed("fip", "subcode")));
    }
}

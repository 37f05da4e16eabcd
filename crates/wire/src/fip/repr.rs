//! A FIP frame of any kind.

use super::found::{Found, optional, required};
use super::header::{emit, frame_len};
use super::{FipCode, FipDescriptor, FipElsRepr, FipFlags, FipFrame, FipVlanRepr, FipVn2vnRepr};
use crate::{Error, MacAddr, Wwn};

/// A FIP frame that a VN2VN node may receive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FipRepr<'a> {
    /// Discovery of VN2VN.
    Vn2vn(FipVn2vnRepr),
    /// A login or logout.
    Els(FipElsRepr<'a>),
    /// Discovery of VLANs.
    Vlan(FipVlanRepr),
    /// Discovery of a fabric.
    Solicitation(FipSolicitationRepr),
}

impl<'a> FipRepr<'a> {
    /// Parses `frame`.
    ///
    /// # Errors
    ///
    /// [`Error::Malformed`] when it is of another kind (an FCF's), or its descriptor list does not match its kind.
    pub fn parse(frame: &FipFrame<'a>) -> Result<Self, Error> {
        match frame.code() {
            FipCode::SOLICITATION => FipSolicitationRepr::parse(frame).map(Self::Solicitation),
            FipCode { protocol: 2, .. } => FipElsRepr::parse(frame).map(Self::Els),
            FipCode { protocol: 4, .. } => FipVlanRepr::parse(frame).map(Self::Vlan),
            FipCode { protocol: 5, .. } => FipVn2vnRepr::parse(frame).map(Self::Vn2vn),
            _ => Err(Error::Malformed("fip", "protocol code")),
        }
    }

    /// Bytes that [`emit`](Self::emit) writes.
    #[must_use]
    pub fn buffer_len(&self) -> usize {
        match self {
            Self::Vn2vn(repr) => repr.buffer_len(),
            Self::Els(repr) => repr.buffer_len(),
            Self::Vlan(repr) => repr.buffer_len(),
            Self::Solicitation(repr) => repr.buffer_len(),
        }
    }

    /// Writes the frame to the front of `buffer`; returns the rest, which is padding.
    ///
    /// # Errors
    ///
    /// The errors of its kind.
    pub fn emit<'b>(&self, buffer: &'b mut [u8]) -> Result<&'b mut [u8], Error> {
        match self {
            Self::Vn2vn(repr) => repr.emit(buffer),
            Self::Els(repr) => repr.emit(buffer),
            Self::Vlan(repr) => repr.emit(buffer),
            Self::Solicitation(repr) => repr.emit(buffer),
        }
    }
}

/// A discovery solicitation (FC-BB-6, clause 7, FIP Discovery Solicitation): an ENode or an FCF asks for FCFs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FipSolicitationRepr {
    /// Addressing mode; [`FipFlags::F_PORT`] when an FCF asks.
    pub flags: FipFlags,
    /// The sender's MAC address.
    pub mac: MacAddr,
    /// FC-MAP of the fabric, when an FCF asks.
    pub fc_map: Option<[u8; 3]>,
    /// The sender's node or switch name.
    pub name: Wwn,
    /// Bytes of its longest FCoE frame after the Ethernet header.
    pub max_fcoe_size: u16,
}

impl FipSolicitationRepr {
    /// Parses `frame`.
    ///
    /// # Errors
    ///
    /// [`Error::Malformed`] when it is no solicitation, or its list is not MAC address, Name_Identifier, Max FCoE Size
    /// and optionally FC-MAP.
    pub fn parse(frame: &FipFrame<'_>) -> Result<Self, Error> {
        if frame.code() != FipCode::SOLICITATION {
            return Err(Error::Malformed("fip", "subcode"));
        }
        let found = Found::collect(frame, &[2, 3, 4, 6], |_| false)?;
        Ok(Self {
            flags: frame.flags(),
            mac: required!(found, 2, FipDescriptor::Mac(mac) => mac),
            fc_map: optional!(found, 3, FipDescriptor::FcMap(fc_map) => fc_map),
            name: required!(found, 4, FipDescriptor::Name(name) => name),
            max_fcoe_size: required!(found, 6, FipDescriptor::MaxFcoeSize(size) => size),
        })
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
    /// [`Error::Truncated`] when it does not fit.
    pub fn emit<'b>(&self, buffer: &'b mut [u8]) -> Result<&'b mut [u8], Error> {
        emit(FipCode::SOLICITATION, self.flags, &self.descriptors(), buffer)
    }

    fn descriptors(&self) -> [Option<FipDescriptor<'static>>; 4] {
        [
            Some(FipDescriptor::Mac(self.mac)),
            self.fc_map.map(FipDescriptor::FcMap),
            Some(FipDescriptor::Name(self.name)),
            Some(FipDescriptor::MaxFcoeSize(self.max_fcoe_size)),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_solicitation_is_strict() {
        let repr = FipSolicitationRepr {
            flags: FipFlags::F_PORT,
            mac: MacAddr([2, 0, 0, 0, 0, 1]),
            fc_map: Some([0x0e, 0xfc, 0]),
            name: Wwn(7),
            max_fcoe_size: 2158,
        };
        let mut bytes = vec![0; repr.buffer_len()];
        repr.emit(&mut bytes).unwrap();
        fn parse(bytes: &[u8]) -> Result<FipRepr<'_>, Error> {
            FipRepr::parse(&FipFrame::new_checked(bytes)?)
        }
        assert_eq!(parse(&bytes), Ok(FipRepr::Solicitation(repr)));
        let mut other = bytes.clone();
        other[5] = 2;
        let other = FipFrame::new_checked(&other).unwrap();
        assert_eq!(FipSolicitationRepr::parse(&other), Err(Error::Malformed("fip", "subcode")));
        bytes[7] -= 1;
        assert_eq!(parse(&bytes), Err(Error::Malformed("fip", "list: a descriptor is missing")));
        bytes[5] = 2;
        assert_eq!(parse(&bytes), Err(Error::Malformed("fip", "protocol code")), "an advertisement is an FCF's");
    }
}

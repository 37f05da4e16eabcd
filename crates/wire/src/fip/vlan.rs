//! FIP VLAN discovery.

use super::found::{Found, optional, required};
use super::header::{emit, frame_len};
use super::{FipCode, FipDescriptor, FipFlags, FipFrame};
use crate::{Error, MacAddr, Wwn};

/// Kind of a VLAN discovery frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FipVlanKind {
    /// Request of an ENode.
    Request,
    /// Answer of an FCF.
    Notification,
    /// Answer of a VN2VN ENode.
    Vn2vnNotification,
}

/// A frame of VLAN discovery (FC-BB-6, clause 7, FIP VLAN Discovery).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FipVlanRepr {
    /// Kind of the frame.
    pub kind: FipVlanKind,
    /// Addressing mode.
    pub flags: FipFlags,
    /// The sender's MAC address.
    pub mac: MacAddr,
    /// The sender's name, if present.
    pub name: Option<Wwn>,
    /// VLANs with FCoE; empty in a request, which is written without them.
    pub vlans: Vec<u16>,
}

impl FipVlanRepr {
    /// Parses `frame`.
    ///
    /// # Errors
    ///
    /// [`Error::Malformed`] when it is no VLAN frame, or its list is not a MAC address, optionally a name, and in a
    /// notification VLANs.
    pub fn parse(frame: &FipFrame<'_>) -> Result<Self, Error> {
        let kind = match frame.code() {
            FipCode::VLAN_REQUEST => FipVlanKind::Request,
            FipCode::VLAN_NOTIFICATION => FipVlanKind::Notification,
            FipCode::VLAN_VN2VN_NOTIFICATION => FipVlanKind::Vn2vnNotification,
            _ => return Err(Error::Malformed("fip", "subcode")),
        };
        let mut vlans = Vec::new();
        let found = Found::collect(frame, &[2, 4], |descriptor| match descriptor {
            FipDescriptor::Vlan(vid) if kind != FipVlanKind::Request => {
                vlans.push(*vid);
                true
            }
            _ => false,
        })?;
        Ok(Self {
            kind,
            flags: frame.flags(),
            mac: required!(found, 2, FipDescriptor::Mac(mac) => mac),
            name: optional!(found, 4, FipDescriptor::Name(name) => name),
            vlans,
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
    /// [`Error::Truncated`] when it does not fit, [`Error::TooLarge`] when there are more VLANs than a list can hold.
    pub fn emit<'b>(&self, buffer: &'b mut [u8]) -> Result<&'b mut [u8], Error> {
        let code = match self.kind {
            FipVlanKind::Request => FipCode::VLAN_REQUEST,
            FipVlanKind::Notification => FipCode::VLAN_NOTIFICATION,
            FipVlanKind::Vn2vnNotification => FipCode::VLAN_VN2VN_NOTIFICATION,
        };
        emit(code, self.flags, &self.descriptors(), buffer)
    }

    fn descriptors(&self) -> Vec<Option<FipDescriptor<'static>>> {
        let vlans = self.vlans.iter().filter(|_| self.kind != FipVlanKind::Request);
        let front = [Some(FipDescriptor::Mac(self.mac)), self.name.map(FipDescriptor::Name)];
        front.into_iter().chain(vlans.map(|&vid| Some(FipDescriptor::Vlan(vid)))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_notification_names_many_vlans_and_a_request_none() {
        let mut repr = FipVlanRepr {
            kind: FipVlanKind::Notification,
            flags: FipFlags::FPMA,
            mac: MacAddr([2, 0, 0, 0, 0, 1]),
            name: Some(Wwn(7)),
            vlans: vec![100, 4094],
        };
        for kind in [FipVlanKind::Notification, FipVlanKind::Vn2vnNotification, FipVlanKind::Request] {
            repr.kind = kind;
            let mut bytes = vec![0; repr.buffer_len()];
            assert!(repr.emit(&mut bytes).unwrap().is_empty());
            let read = FipVlanRepr::parse(&FipFrame::new_checked(&bytes).unwrap()).unwrap();
            let vlans = if kind == FipVlanKind::Request { Vec::new() } else { repr.vlans.clone() };
            assert_eq!(read, FipVlanRepr { vlans, ..repr.clone() });
            bytes[5] = 1;
            let as_request = FipVlanRepr::parse(&FipFrame::new_checked(&bytes).unwrap());
            assert_eq!(as_request.is_ok(), kind == FipVlanKind::Request, "a request has no place for a VLAN");
        }
    }
}

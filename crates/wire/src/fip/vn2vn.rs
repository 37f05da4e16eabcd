//! The five frames of VN2VN discovery.

use super::found::{Found, optional, required};
use super::header::{emit, frame_len};
use super::{Fc4Features, FipCode, FipDescriptor, FipFlags, FipFrame, FipVnPort};
use crate::{Error, MacAddr, Wwn};

/// Kind of a VN2VN discovery frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Vn2vnKind {
    /// N_Port_ID Probe Request: asks if a port has this identifier.
    ProbeRequest,
    /// N_Port_ID Probe Reply: the sender has it.
    ProbeReply,
    /// N_Port_ID Claim Notification: the sender takes this identifier, and asks for the other ports.
    ClaimNotification,
    /// N_Port_ID Claim Response: the sender is present. As long as the longest FCoE frame, to test the path.
    ClaimResponse,
    /// N_Port_ID Beacon: the sender still has its identifier.
    Beacon,
}

impl Vn2vnKind {
    /// Protocol code and subcode.
    #[must_use]
    pub const fn code(self) -> FipCode {
        match self {
            Self::ProbeRequest => FipCode::PROBE_REQUEST,
            Self::ProbeReply => FipCode::PROBE_REPLY,
            Self::ClaimNotification => FipCode::CLAIM_NOTIFICATION,
            Self::ClaimResponse => FipCode::CLAIM_RESPONSE,
            Self::Beacon => FipCode::BEACON,
        }
    }

    /// True if it carries a [`FipClaim`].
    #[must_use]
    pub const fn is_claim(self) -> bool {
        matches!(self, Self::ClaimNotification | Self::ClaimResponse)
    }

    fn from_code(code: FipCode) -> Option<Self> {
        let all = [Self::ProbeRequest, Self::ProbeReply, Self::ClaimNotification, Self::ClaimResponse, Self::Beacon];
        all.into_iter().find(|kind| kind.code() == code)
    }
}

/// A frame of VN2VN discovery (FC-BB-6, clause 7, FIP VN2VN operations).
///
/// ```
/// use linerate_wire::*;
///
/// let mac = MacAddr([2, 0, 0, 0, 0, 1]);
/// let fc_id = FcId::new(1);
/// let beacon = FipVn2vnRepr {
///     kind: Vn2vnKind::Beacon,
///     flags: FipFlags::default(),
///     enode_mac: mac,
///     node_name: Wwn::from_mac(0x1000, mac),
///     port: FipVnPort { mac: fc_id.mac(FipFrame::VN2VN_FC_MAP), fc_id, name: Wwn::from_mac(0x2000, mac) },
///     claim: None,
/// };
/// let mut bytes = [0; 50];
/// beacon.emit(&mut bytes)?;
/// assert_eq!(FipVn2vnRepr::parse(&FipFrame::new_checked(&bytes)?)?, beacon);
/// # Ok::<(), linerate_wire::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FipVn2vnRepr {
    /// Kind of the frame.
    pub kind: Vn2vnKind,
    /// Flags REC and P2P.
    pub flags: FipFlags,
    /// The sender's own MAC address.
    pub enode_mac: MacAddr,
    /// The sender's node name.
    pub node_name: Wwn,
    /// The identifier in question, its MAC address, and the name of the port that has it or wants it.
    pub port: FipVnPort,
    /// Properties of the port in a claim; None in the other kinds, which are written without them.
    pub claim: Option<FipClaim>,
}

/// Properties of a port in a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FipClaim {
    /// FC-4 features of the port.
    pub features: Fc4Features,
    /// Bytes of its longest FCoE frame after the Ethernet header.
    pub max_fcoe_size: u16,
}

impl FipVn2vnRepr {
    /// Parses `frame`.
    ///
    /// # Errors
    ///
    /// [`Error::Malformed`] when it is none of the five kinds, or its list is not MAC, Name_Identifier and Vx_Port
    /// Identification, and with a claim FC-4 Features and Max FCoE Size.
    pub fn parse(frame: &FipFrame<'_>) -> Result<Self, Error> {
        let kind = Vn2vnKind::from_code(frame.code()).ok_or(Error::Malformed("fip", "subcode"))?;
        let allowed: &[u8] = if kind.is_claim() { &[2, 4, 6, 11, 15] } else { &[2, 4, 11] };
        let found = Found::collect(frame, allowed, |_| false)?;
        let claim = match optional!(found, 15, FipDescriptor::Fc4Features(features) => features) {
            Some(features) => Some(FipClaim {
                features,
                max_fcoe_size: required!(found, 6, FipDescriptor::MaxFcoeSize(size) => size),
            }),
            None if kind.is_claim() => return Err(Error::Malformed("fip", "list: a descriptor is missing")),
            None => None,
        };
        Ok(Self {
            kind,
            flags: frame.flags(),
            enode_mac: required!(found, 2, FipDescriptor::Mac(mac) => mac),
            node_name: required!(found, 4, FipDescriptor::Name(name) => name),
            port: required!(found, 11, FipDescriptor::VnPort(port) => port),
            claim,
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
        emit(self.kind.code(), self.flags, &self.descriptors(), buffer)
    }

    fn descriptors(&self) -> [Option<FipDescriptor<'static>>; 5] {
        let claim = self.claim.filter(|_| self.kind.is_claim());
        [
            Some(FipDescriptor::Mac(self.enode_mac)),
            Some(FipDescriptor::Name(self.node_name)),
            Some(FipDescriptor::VnPort(self.port)),
            claim.map(|claim| FipDescriptor::Fc4Features(claim.features)),
            claim.map(|claim| FipDescriptor::MaxFcoeSize(claim.max_fcoe_size)),
        ]
    }
}

#[cfg(test)]
mod tests;

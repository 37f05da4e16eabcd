//! The two identifiers of an exchange.

use crate::field::{array_at, put};

/// The number that stands in a header where no identifier has been assigned (FC-FS-3, clause 12, OX_ID and RX_ID). It
/// is never the identifier of an exchange.
const UNASSIGNED: u16 = 0xffff;

/// An Originator Exchange_ID: the identifier that the originator of an exchange assigns to it (FC-FS-3, clause 12, OX_ID).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OxId(pub u16);

impl OxId {
    /// No identifier: an originator that keeps none. Ours assign one always.
    pub const UNASSIGNED: Self = Self(UNASSIGNED);

    /// True if it identifies an exchange.
    #[must_use]
    pub const fn is_assigned(self) -> bool {
        self.0 != UNASSIGNED
    }

    pub(crate) fn parse(bytes: &[u8], at: usize) -> Self {
        Self(u16::from_be_bytes(array_at(bytes, at)))
    }

    pub(crate) fn emit(self, bytes: &mut [u8], at: usize) {
        put(bytes, at, &self.0.to_be_bytes());
    }
}

/// A Responder Exchange_ID: the identifier that the responder of an exchange assigns to it (FC-FS-3, clause 12, RX_ID).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RxId(pub u16);

impl RxId {
    /// No identifier: the responder has assigned none yet, or the sender does not know it.
    pub const UNASSIGNED: Self = Self(UNASSIGNED);

    /// True if it identifies an exchange.
    #[must_use]
    pub const fn is_assigned(self) -> bool {
        self.0 != UNASSIGNED
    }

    pub(crate) fn parse(bytes: &[u8], at: usize) -> Self {
        Self(u16::from_be_bytes(array_at(bytes, at)))
    }

    pub(crate) fn emit(self, bytes: &mut [u8], at: usize) {
        put(bytes, at, &self.0.to_be_bytes());
    }
}

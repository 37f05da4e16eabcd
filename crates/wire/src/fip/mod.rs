//! The FCoE Initialization Protocol (FC-BB-6, clause 7): how ENodes find each other and log in.
//!
//! A [`FipFrame`] is a header and a list of [`FipDescriptor`]s. What each operation wants in its list is strict: a
//! descriptor that is missing, comes twice, has another length than its type's, or has no place there makes the frame
//! [`Error::Malformed`](crate::Error::Malformed), unless its type is 128 or more: such are not critical and are skipped.

mod descriptor;
mod found;
mod header;
mod link_service;
mod repr;
mod vlan;
mod vn2vn;

pub use descriptor::{Fc4Features, FipDescriptor, FipDescriptors, FipEls, FipVnPort};
pub use header::{FipCode, FipFlags, FipFrame};
pub use link_service::FipElsRepr;
pub use repr::{FipRepr, FipSolicitationRepr};
pub use vlan::{FipVlanKind, FipVlanRepr};
pub use vn2vn::{FipClaim, FipVn2vnRepr, Vn2vnKind};

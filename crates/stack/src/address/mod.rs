//! Addresses: with their networks, in comparable form, and those of the host itself.
//!
//! Every layer may use this module; it depends on no layer.

mod cidr;
mod key;
mod own;
mod scope;

pub use cidr::{Cidr, CidrError};
pub(crate) use key::Key;
pub(crate) use own::{ALL_NODES, Own};
pub(crate) use scope::{is_link_local, is_link_multicast, is_mapped, link_local};

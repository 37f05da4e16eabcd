//! Addresses: with their networks, as they are compared, and those of the host itself.
//!
//! Every layer may know them; they know no layer.

mod cidr;
mod key;
mod own;
mod scope;

pub use cidr::{Cidr, CidrError};
pub(crate) use key::Key;
pub(crate) use own::{ALL_NODES, Own};
pub(crate) use scope::{is_link_local, is_link_multicast, is_mapped, link_local};

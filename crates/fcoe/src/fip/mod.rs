//! Discovery of VN_Ports on an Ethernet without a fabric (FC-BB-6, clause 7, VN2VN): selection of our N_Port_ID, and
//! the table of other ports.
//!
//! [`Vn2vn`] also carries logins and logouts, which travel inside FIP, between the wire and the login machine.
//!
//! A node that has a VLAN tells it to who asks ([`vlan_discovery`]).
//!
//! Out of scope: discovery of FCFs, and logins themselves.

mod config;
mod counters;
mod identifiers;
mod neighbours;
mod sender;
mod vlan;
mod vn2vn;

pub use config::{FipConfig, FipMode};
pub use counters::{FipCounters, FipDrop};
pub use neighbours::{Identity, Neighbour, RefusedClaim};
pub use vlan::{told_vlans, vlan_discovery};
pub use vn2vn::{FipEvent, Vn2vn};

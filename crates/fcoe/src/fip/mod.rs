//! Discovery of VN_Ports on an Ethernet without a fabric (FC-BB-6, clause 7, VN2VN): selection of our N_Port_ID, and
//! the table of other ports.
//!
//! [`Vn2vn`] also carries logins and logouts, which travel inside FIP, between the wire and the login machine.
//!
//! Out of scope: discovery of FCFs and of VLANs, as a client or a server (a VN2VN ENode has a configured VLAN), and
//! logins themselves.

mod config;
mod counters;
mod identifiers;
mod neighbours;
mod sender;
mod vn2vn;

pub use config::{FipConfig, FipMode};
pub use counters::{FipCounters, FipDrop};
pub use neighbours::{Identity, Neighbour, RefusedClaim};
pub use vn2vn::{FipEvent, Vn2vn};

//! Discovery of VN_Ports on an Ethernet without a fabric (FC-BB-6, clause 7, VN2VN): which N_Port_ID is ours, who else is there.
//!
//! [`Vn2vn`] also carries logins and logouts, which travel inside FIP, between the wire and whoever does the logging in.
//!
//! Out of scope: it looks for no FCF and answers no search for one, nor for VLANs (a VN2VN ENode is
//! told its VLAN); it logs in nowhere.

mod config;
mod counters;
mod identifiers;
mod neighbours;
mod sender;
mod vn2vn;

pub use config::{FipConfig, FipMode};
pub use counters::{FipCounters, FipDrop};
pub use neighbours::Neighbour;
pub use vn2vn::{FipEvent, Vn2vn};

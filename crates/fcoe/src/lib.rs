//! Fibre Channel over Ethernet without a fabric (FC-BB-6, VN2VN), target and initiator: discovery, logins, exchanges, FCP
//! and SCSI disks.
//!
//! Sans-IO: frames and times are passed in, frames are handed out through [`Transmit`], blocks are read and written
//! through [`linerate_block::Backend`], and nothing in between waits.
//!
//! Out of scope: system calls, clocks, threads, sources of randomness, and ports.

#![forbid(unsafe_code)]

mod auth;
mod fip;
mod indexed;
mod initiator;
mod link;
mod login;
mod node;
mod pi;
mod scsi;
mod target;
mod transmit;
mod twin;

pub use auth::{AuthConfig, AuthCounters, AuthFailure, AuthProof, Secret};
pub use fip::{FipConfig, FipCounters, FipDrop, FipEvent, FipMode, Identity, Neighbour, RefusedClaim, Vn2vn};
pub use fip::{told_vlans, vlan_discovery};
pub use initiator::{Carried, FoundLun, LunScan, ScanError, SkipReason, Skipped};
pub use initiator::{
    Command, Completed, Data, Event as InitiatorEvent, Initiator, InitiatorConfig, InitiatorCounters, Outcome, Refused,
    TransportError,
};
pub use link::{Link, Peer, PeerId, Role};
pub use login::{
    E_D_TOV, ExchangeStatus, LoginConfig, LoginCounters, LoginEvent, Logins, MAX_PAYLOAD, MIN_PAYLOAD, NeighbourInfo,
    R_A_TOV, SessionEnd, TunneledEls, Ways, max_payload,
};
pub use node::{Node, NodeConfig, NodeDrop, NodeEvent};
pub use pi::{Guard, Protection, ProtectionChecks, ProtectionError, ProtectionTuple, ProtectionType};
pub use scsi::{DeviceServer, Function, FunctionResponse, Lun, Response, Step, Task, TaskAttribute};
pub use scsi::{
    DiskPort, DiskStatus, Disks, DisksConfig, DisksError, Keeper, Naa, NaaError, UnitCounters, UnitName, UnitOptions,
};
pub use target::{Target, TargetConfig, TargetCounters, TargetDrop, TargetPeer};
pub use transmit::{Sequence, Transmit};

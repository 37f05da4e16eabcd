//! Data Center Bridging on one port: the agent of LLDP (IEEE 802.1AB-2016), DCBX over it as IEEE 802.1Q-2022 (clause 38, annex
//! D) has it and as CEE 1.01 had it before, and what they end in: a [`Table`] of priorities, traffic classes and applications.
//!
//! Sans-IO: frames and times (ns) are passed in, frames are handed out by [`Dcb::poll_transmit`], and nothing waits.
//!
//! Out of scope: system calls, clocks, threads, ports; what an adapter does with the table.
//!
//! ```
//! use linerate_dcb::{Config, Dcb, Settings, Version};
//! use linerate_wire::MacAddr;
//!
//! let port = |last| Config::new(MacAddr([2, 0, 0, 0, 0, last]), "port");
//! let ours = Settings { pfc: 1 << 3, ..Settings::default() };
//! let mut switch = Dcb::new(port(1), ours, 0)?;
//! let mut host = Dcb::new(port(2), Settings { willing: true, ..Settings::default() }, 0)?;
//! for port in [&mut switch, &mut host] {
//!     port.set_link(true, 0);
//! }
//! while let Some(frame) = switch.poll_transmit(0) {
//!     host.receive(&frame, 0);
//! }
//! assert!(host.operative().version == Some(Version::Ieee) && host.operative().pfc == 1 << 3);
//! # Ok::<(), linerate_dcb::SettingsError>(())
//! ```

#![deny(missing_docs)]
#![forbid(unsafe_code)]

mod cee;
mod congestion;
mod counters;
mod event;
mod heard;
mod ieee;
mod neighbours;
mod port;
mod settings;
mod steady;
mod table;
mod transmit;

pub use cee::HeardCee;
pub use congestion::{Congestion, Defence, Notification};
pub use counters::{Counters, Drop, Drops, TlvDrop, TlvDrops};
pub use event::{Event, Gone};
pub use heard::Heard;
pub use ieee::HeardIeee;
pub use neighbours::{Identifier, MAX_NEIGHBOURS, Neighbour};
pub use port::{Config, Dcb};
pub use settings::{Application, Classes, Dcbx, MAX_APPLICATIONS, Selection, Selector, Settings, SettingsError};
pub use table::{Off, Table, Taken, Version};

//! Ports: input and output of frames, independent of the medium.
//!
//! A port is opened by name (`cable:x{1`, `xdp:eth0`, `pcap:file.pcap`, see [`KINDS`]) and gives queues. A queue is a
//! netmap ring and an engine: fill or read the ring's slots, then [`TxQueue::sync`] or [`RxQueue::sync`]. Kinds differ
//! only in their engines; one file and one row of [`KINDS`] make one.
//!
//! ```
//! use linerate_port::open_all;
//! let mut ports = open_all(&["cable:demo{1", "cable:demo}1"])?;
//! let (mut tx, mut rx) = (ports[0].take_tx(0).unwrap(), ports[1].take_rx(0).unwrap());
//! let mut batch = tx.ring.reserve(1);
//! assert!(batch.put(0, &[0xff; 60]));
//! batch.commit(1);
//! tx.sync();
//! rx.sync();
//! let mut batch = rx.ring.batch(1);
//! assert_eq!(batch.frame(0).unwrap().0.len(), 60);
//! batch.release(1);
//! # Ok::<(), linerate_port::OpenError>(())
//! ```
//!
//! Out of scope: protocols above Ethernet, threads (except the one that watches a cable between processes), and
//! sleeping inside a sync.

#![deny(missing_docs)]

mod admission;
mod cable;
pub mod capture;
mod chain;
mod class;
mod clock;
mod counters;
mod error;
mod finish;
#[cfg(target_os = "linux")]
mod frames;
#[cfg(fuzzing)]
#[doc(hidden)]
pub mod fuzz;
mod grammar;
mod hint;
mod info;
#[cfg(target_os = "linux")]
mod interface;
mod kind;
mod kinds;
mod look;
#[cfg(target_os = "linux")]
mod memberships;
mod open;
mod port;
mod queue;
mod random;
#[cfg(target_os = "linux")]
mod release;
mod sleep;
pub mod switch;
pub mod sys;
#[cfg(target_os = "linux")]
mod vnet;
mod wrap;
mod write;

pub use admission::{Admission, Crowded, Limits, Origin, Ticket};
pub use clock::Clock;
pub use counters::{DropReason, Drops, RxCounters, TxCounters};
pub use error::{Cause, OpenError};
pub use finish::{Finished, Finisher, Put, tag_inside};
pub use grammar::{COMMON, option_rows};
pub use info::{Caps, Filter, Info, Link};
pub use kind::{Demand, Kind, OptionRow, Spec};
pub use kinds::KINDS;
pub use look::Eye;
pub use open::{open, open_all, open_specs};
pub use port::Port;
pub use queue::{RxEngine, RxQueue, TxEngine, TxQueue};
pub use random::random;
pub use sleep::{Interest, Sleep, Sleeper};
pub use sys::seqpacket::{DirLock, runtime_dir};
pub use wrap::{FaultPlan, Planned, WRAPPERS, Wrapper};
pub use write::SlotWriter;

//! The software adapter: the functions of a NIC between the stack and the wire, over any port.
//!
//! Each offload is usable alone, on plain bytes. The adapter, [`Nic`], applies them to the queues of any port: a
//! frame's offload request is handed down if the port supports it, and executed in software if not.
//!
//! ```
//! use linerate_nic::{Nic, NicConfig};
//! use linerate_port::open_all;
//!
//! let mut ports = open_all(&["cable:doc{1", "cable:doc}1"])?.into_iter();
//! let (left, right) = (ports.next().unwrap(), ports.next().unwrap());
//! let mut left = Nic::new(left, &NicConfig::default())?;
//! let mut right = Nic::new(right, &NicConfig { mac: Some([2, 0, 0, 0, 0, 9]), ..NicConfig::default() })?;
//! let (mut a, mut b) = (left.take(0).unwrap(), right.take(0).unwrap());
//!
//! // Interface 0 sends a frame: a header, and a body, without an offload request.
//! let header = [2, 0, 0, 0, 0, 9, 2, 0, 0, 0, 0, 1, 0x88, 0xb5];
//! assert!(a.tx.send(0, &header, &[b"hello"], None));
//! a.tx.sync(0);
//!
//! b.rx.poll(0);
//! b.rx.receive(0, usize::MAX, |frame| assert_eq!(&frame.head()[14..], b"hello"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Out of scope: this crate knows no sessions and no host adapters.

#![deny(missing_docs)]
#![forbid(unsafe_code)]

mod adapter;
mod flags;
mod guests;
mod rule;
mod saved;

pub use adapter::{
    Control, Count, FRAMING, FilterHits, Inside, MAX_INTERFACES, MAX_MTU, MIN_MTU, Nic, NicConfig, NicError, NicQueue,
    NicRx, NicTx, PARAMETERS, Parameter, RxFrame, RxLedger, RxMeta, ViCounters, ViSettings, on_the_wire,
};
pub use flags::{AdapterFlags, Change, FLAGS, Flag, FlagError, Flags, PUBLISHED};
pub use guests::{
    Fate, GuestCounters, GuestLedger, GuestPolicy, Guests, InterfaceReport, UplinkReport, adapter_for_guests,
    setting_of,
};
pub use linerate_offload::{ClassTable, Rule};
pub use rule::{RuleError, parse_rule, rule_text};
pub use saved::{Saved, SavedError};

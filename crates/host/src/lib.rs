//! Interfaces, network namespaces and BPF hooks of the machine, queried and configured without external programs.
//!
//! ```no_run
//! use linerate_host::{Namespace, VethPair};
//! let ns = Namespace::new()?;
//! let pair = ns.run_in(|| VethPair::new(["left", "right"], 1, 1500))??;
//! println!("{:?}", pair.link("left")?.stats);
//! # Ok::<(), linerate_host::Error>(())
//! ```
//!
//! Out of scope: this crate knows no port and has no policy. Linux-specific parts are missing on other systems;
//! [`freebsd`] parses what programs of a FreeBSD host print, on any system.

mod absent;
#[cfg(target_os = "linux")]
pub mod adapter;
#[cfg(target_os = "linux")]
pub mod bpf;
#[cfg(target_os = "linux")]
mod claim;
#[cfg(target_os = "linux")]
mod cut;
#[cfg(target_os = "linux")]
mod echo;
mod error;
#[cfg(target_os = "linux")]
mod ethtool;
mod facts;
pub mod freebsd;
#[cfg(target_os = "linux")]
mod namespace;
#[cfg(target_os = "linux")]
mod netlink;
pub mod place;
#[cfg(target_os = "linux")]
mod printed;
#[cfg(target_os = "linux")]
mod rtnetlink;
#[cfg(target_os = "linux")]
pub mod settings;
pub mod shell;
mod sys;
#[cfg(target_os = "linux")]
pub mod tunables;
#[cfg(target_os = "linux")]
mod veth;

pub use absent::{Absent, Part};
#[cfg(target_os = "linux")]
pub use claim::claims;
#[cfg(target_os = "linux")]
pub use cut::{Cut, Place};
#[cfg(target_os = "linux")]
pub use echo::Echo;
pub use error::{Cause, Error};
#[cfg(target_os = "linux")]
pub use ethtool::{Channels, Driver, Ethtool, Feature, Features, Offloads};
pub use facts::{Facts, is_name};
#[cfg(target_os = "linux")]
pub use namespace::Namespace;
#[cfg(target_os = "linux")]
pub use netlink::link::{LinkState, LinkStats};
#[cfg(target_os = "linux")]
pub use netlink::netdev::{XSK_TX_CHECKSUM, xsk_features};
#[cfg(target_os = "linux")]
pub use netlink::path::Path;
#[cfg(target_os = "linux")]
pub use printed::{Printed, kept};
#[cfg(target_os = "linux")]
pub use rtnetlink::Rtnetlink;
#[cfg(target_os = "linux")]
pub use sys::control::{Control, Membership};
pub use sys::user::user;
#[cfg(target_os = "linux")]
pub use veth::VethPair;

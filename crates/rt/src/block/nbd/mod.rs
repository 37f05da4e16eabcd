//! Block devices over the network, as the NBD project's `doc/proto.md` has it: a client, which is a [`Device`], and a server
//! for whatever is a [`BlockService`].
//!
//! Fixed newstyle negotiation with GO and EXPORT_NAME, simple and structured replies, FUA, FLUSH, TRIM, WRITE_ZEROES and
//! several connections to one export. What this module refuses to do: no TLS, no oldstyle, no extended headers, no block
//! status.
//!
//! [`Device`]: super::Device

mod client;
mod coverage;
mod info;
mod memory;
mod negotiate;
mod offer;
mod plan;
mod reconnect;
mod server;
mod service;
mod session;
mod stream;
mod uri;
pub mod wire;

pub use client::{NbdBackend, NbdOptions};
pub use info::{ExportInfo, Sizes};
pub use negotiate::{Agreed, NegotiateError, negotiate};
pub use offer::{Offer, Verdict};
pub use server::NbdServer;
pub use service::{BlockService, Export, Exported};
pub use uri::{Address, NbdUri};

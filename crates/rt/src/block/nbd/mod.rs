//! Block devices over the network by NBD: a client, which is a [`Device`], and a server for any [`BlockService`]. The
//! protocol is in `linerate_nbd`; this module has the sockets and the waiting.
//!
//! [`Device`]: super::Device
//! [`BlockService`]: linerate_nbd::BlockService

mod client;
mod connect;
mod server;
mod stream;
mod uri;

pub use client::NbdBackend;
pub use server::NbdServer;
pub use uri::{Address, NbdUri};

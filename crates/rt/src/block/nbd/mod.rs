//! Block devices over the network by NBD: a client, which is a [`Device`], and a server for whatever is a
//! [`BlockService`]. What is said is `linerate_nbd`'s matter; here are sockets, and what to sleep on.
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

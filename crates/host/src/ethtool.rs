//! What `ethtool` does: an interface's offloads and queues.

use crate::error::Error;
use crate::sys::ethtool;
pub use crate::sys::ethtool::{Channels, Offloads};
use crate::sys::netlink::Socket;
use std::os::fd::AsFd;

/// What `ethtool` does, for the network namespace of the thread that opened it. Needs CAP_NET_ADMIN to change a thing.
pub struct Ethtool(Socket);

impl Ethtool {
    /// For the calling thread's network namespace.
    pub fn open() -> Result<Self, Error> {
        Socket::open(libc::NETLINK_ROUTE).map(Self).map_err(|e| Error::of("ethtool", "opening a socket", &e))
    }

    /// An interface's offloads.
    pub fn offloads(&self, name: &str) -> Result<Offloads, Error> {
        ethtool::offloads(self.0.as_fd(), name).map_err(|e| Error::of(name, "reading its offloads", &e))
    }

    /// Sets an interface's offloads; gives what it then has, because some need others (TSO needs checksums).
    pub fn set_offloads(&self, name: &str, offloads: Offloads) -> Result<Offloads, Error> {
        ethtool::set_offloads(self.0.as_fd(), name, offloads).map_err(|e| Error::of(name, "setting its offloads", &e))
    }

    /// The queues that an interface uses; an error if its driver does not say.
    pub fn channels(&self, name: &str) -> Result<Channels, Error> {
        ethtool::channels(self.0.as_fd(), name).map_err(|e| Error::of(name, "reading its queues", &e))
    }
}

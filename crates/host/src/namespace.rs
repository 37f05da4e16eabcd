//! Network namespaces without names, in which the kernel's interfaces can be tested and measured without touching the
//! host's network.

use crate::error::Error;
use crate::netlink::Netlink;
use crate::netlink::link::LinkChange;
use crate::sys::netns;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::panic::resume_unwind;
use std::thread;

/// A network namespace of its own, its loopback up. It has no name anywhere: the kernel ends it when this value and all
/// sockets and threads in it are gone, even if the process was killed.
#[derive(Debug)]
pub struct Namespace {
    fd: OwnedFd,
}

impl Namespace {
    /// Makes a namespace. Needs CAP_SYS_ADMIN.
    pub fn new() -> Result<Self, Error> {
        // Only a thread's namespace can be changed, so a thread makes it and ends.
        let made = thread::spawn(|| -> io::Result<Self> {
            netns::unshare()?;
            let mut links = Netlink::open()?;
            let lo = links.link("lo")?;
            links.change(lo.index, LinkChange { up: Some(true), ..LinkChange::default() })?;
            Ok(Self { fd: netns::current()? })
        });
        let made = made.join().unwrap_or_else(|panic| resume_unwind(panic));
        made.map_err(|e| Error::of("network namespace", "making one", &e))
    }

    /// Makes a namespace whose new interfaces send nothing by themselves: they have no IPv6.
    pub fn quiet() -> Result<Self, Error> {
        let namespace = Self::new()?;
        // A kernel without IPv6 has no such file, and its interfaces send nothing anyhow.
        let _ = namespace.run_in(|| std::fs::write("/proc/sys/net/ipv6/conf/default/disable_ipv6", "1"))?;
        Ok(namespace)
    }

    pub(crate) fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }

    /// Runs a closure in the namespace, on a new thread. Sockets and ports opened there, and threads started there,
    /// stay in the namespace; they can be used from anywhere.
    pub fn run_in<T: Send>(&self, run: impl FnOnce() -> T + Send) -> Result<T, Error> {
        thread::scope(|scope| {
            let inside = scope.spawn(|| netns::enter(self.fd.as_fd()).map(|()| run()));
            inside.join().unwrap_or_else(|panic| resume_unwind(panic))
        })
        .map_err(|e| Error::of("network namespace", "entering it", &e))
    }
}

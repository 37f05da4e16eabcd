//! BPF programs that count packets at a hook of the kernel's network path, and pass or drop them, without tracers.
//!
//! ```no_run
//! use linerate_host::{Cut, Namespace, Place, Rtnetlink};
//! let ns = Namespace::new()?;
//! ns.run_in(|| {
//!     let mut net = Rtnetlink::open()?;
//!     net.make_sink("sink")?;
//!     net.add_address("sink", [10, 0, 0, 1].into(), 24)?;
//!     let cut = Cut::drop_at(Place::TcEgress("sink"))?;
//!     // ... send something to 10.0.0.2 ...
//!     println!("{} packets came that far", cut.count()?);
//!     Ok::<(), linerate_host::Error>(())
//! })??;
//! # Ok::<(), linerate_host::Error>(())
//! ```

use crate::bpf::{At, Attached, Insn, Map};
use crate::error::{Cause, Error};
use crate::netlink::Netlink;
use std::io;
use std::os::fd::{AsFd, AsRawFd};

/// A hook in the kernel's network path, by the name its subsystem gives it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place<'a> {
    /// Netfilter, IPv4: received, before the routing decision.
    PreRouting,
    /// Netfilter, IPv4: received, for this host.
    LocalIn,
    /// Netfilter, IPv4: generated here, its IP header finished.
    LocalOut,
    /// Netfilter, IPv4: before the neighbour lookup's output.
    PostRouting,
    /// Traffic control, before an interface's queueing discipline: the frame is complete.
    TcEgress(&'a str),
    /// Traffic control, after an interface's receive: the frame has its socket buffer.
    TcIngress(&'a str),
    /// XDP in an interface's driver, before there is a socket buffer.
    Xdp(&'a str),
}

/// A program at a [`Place`] that counts all packets there. It is detached when this value is dropped.
///
/// Programs at netfilter hooks need Linux 6.4, at traffic control hooks 6.6.
#[derive(Debug)]
#[must_use = "the program is taken off when this value goes"]
pub struct Cut {
    counter: Map,
    _attached: Attached,
}

impl Cut {
    /// Drops every packet there. In the calling thread's network namespace; needs CAP_BPF and CAP_NET_ADMIN.
    pub fn drop_at(place: Place<'_>) -> Result<Self, Error> {
        Self::attach(place, false)
    }

    /// Lets every packet pass.
    pub fn pass_at(place: Place<'_>) -> Result<Self, Error> {
        Self::attach(place, true)
    }

    fn attach(place: Place<'_>, pass: bool) -> Result<Self, Error> {
        let index = |name: &str| Netlink::open().and_then(|mut net| net.link(name)).map(|link| link.index);
        let attach = || -> io::Result<Self> {
            // enum nf_inet_hooks
            let at = match place {
                Place::PreRouting => At::Netfilter(0),
                Place::LocalIn => At::Netfilter(1),
                Place::LocalOut => At::Netfilter(3),
                Place::PostRouting => At::Netfilter(4),
                Place::TcEgress(name) => At::TcEgress(index(name)?),
                Place::TcIngress(name) => At::TcIngress(index(name)?),
                Place::Xdp(name) => At::Xdp { interface: index(name)?, driver: true, fragments: false },
            };
            count(at, pass)
        };
        attach().map_err(|e| match e.raw_os_error() {
            Some(libc::EINVAL | libc::EOPNOTSUPP) => Error::new(
                format!("{place:?}"),
                Cause::Capability,
                "the kernel takes no BPF program there",
                "use Linux 6.6 or newer, with CONFIG_NETFILTER_BPF_LINK and CONFIG_NET_XGRESS",
            ),
            _ => Error::of(format!("{place:?}"), "attaching a BPF program", &e),
        })
    }

    /// Packets counted so far.
    pub fn count(&self) -> Result<u64, Error> {
        self.counter.counter(0).map_err(|e| Error::of("BPF map", "reading it", &e))
    }
}

/// Attaches a program that counts each packet and returns one verdict for all.
fn count(at: At, pass: bool) -> io::Result<Cut> {
    let counter = Map::counters(1)?;
    let (passes, drops) = match at {
        // NF_ACCEPT, NF_DROP
        At::Netfilter(_) => (1, 0),
        // TCX_PASS, TCX_DROP
        At::TcIngress(_) | At::TcEgress(_) => (0, 2),
        // XDP_PASS, XDP_DROP
        At::Xdp { .. } => (2, 1),
    };
    let program = [
        // r1 = the counter's address          (two words; source 2: address of a map's value)
        Insn::new(0x18, 0x21, 0, counter.as_fd().as_raw_fd()),
        Insn::new(0, 0, 0, 0),
        // r2 = 1
        Insn::new(0xb7, 0x02, 0, 1),
        // atomically *(u64 *)r1 += r2
        Insn::new(0xdb, 0x21, 0, 0),
        // return the verdict
        Insn::new(0xb7, 0x00, 0, if pass { passes } else { drops }),
        Insn::new(0x95, 0x00, 0, 0),
    ];
    let attached = Attached::new(at, "linerate_count", &program)?;
    Ok(Cut { counter, _attached: attached })
}

#[cfg(test)]
mod tests;

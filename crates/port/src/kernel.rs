//! The kernel's own path, set up and looked at: addresses, routes, sinks, and programs that count packets at a place of
//! it and let them pass or end their way there. Without `ip`, `tc` or `nft`, and without tracers.
//!
//! ```no_run
//! use linerate_port::{Cut, Namespace, Place, Rtnetlink};
//! let ns = Namespace::new()?;
//! ns.run_in(|| {
//!     let mut net = Rtnetlink::open()?;
//!     net.make_sink("sink")?;
//!     net.add_address("sink", [10, 0, 0, 1].into(), 24)?;
//!     let cut = Cut::drop_at(Place::TcEgress("sink"))?;
//!     // ... send something to 10.0.0.2 ...
//!     println!("{} packets came that far", cut.count()?);
//!     Ok::<(), linerate_port::OpenError>(())
//! })??;
//! # Ok::<(), linerate_port::OpenError>(())
//! ```

use crate::error::{Cause, OpenError};
use crate::sys::count::{At, Counting};
use crate::sys::netlink::{LinkChange, LinkState, Netlink};
use crate::veth::{Namespace, oops};
use std::io;
use std::net::Ipv4Addr;

/// What `ip` and `tc` do, for the network namespace of the thread that opened it. Needs CAP_NET_ADMIN to change a thing.
pub struct Rtnetlink(Netlink);

impl Rtnetlink {
    /// For the calling thread's network namespace.
    pub fn open() -> Result<Self, OpenError> {
        Netlink::open().map(Self).map_err(|e| oops("rtnetlink", "opening a socket", &e))
    }

    /// What a link is now, with the kernel's counters.
    pub fn link(&mut self, name: &str) -> Result<LinkState, OpenError> {
        self.0.link(name).map_err(|e| oops(name, "reading its state", &e))
    }

    /// Makes an interface that drops all that is sent out of it, in its transmit function, and counts it as `rx_dropped`
    /// (an `ifb` that nothing is redirected to). It is switched on.
    pub fn make_sink(&mut self, name: &str) -> Result<(), OpenError> {
        let quiet = LinkChange { no_ipv6_address: true, ..LinkChange::default() };
        let up = LinkChange { up: Some(true), ..LinkChange::default() };
        let make = |net: &mut Netlink| -> io::Result<()> {
            net.make_ifb(name)?;
            let index = net.link(name)?.index;
            match net.change(index, quiet) {
                // A kernel without IPv6 does not know what is asked, and does not need it.
                Err(e) if e.raw_os_error() != Some(libc::EAFNOSUPPORT) => Err(e),
                _ => net.change(index, up),
            }
        };
        make(&mut self.0).map_err(|e| oops(name, "making an ifb", &e))
    }

    /// Gives an interface an address, and the network around it a route.
    pub fn add_address(&mut self, name: &str, address: Ipv4Addr, prefix: u8) -> Result<(), OpenError> {
        self.of(name, "giving it an address", |net, index| net.add_address(index, address, prefix))
    }

    /// Says for good at which MAC address a neighbour is, so that nobody asks.
    pub fn add_neighbour(&mut self, name: &str, address: Ipv4Addr, mac: [u8; 6]) -> Result<(), OpenError> {
        self.of(name, "adding a neighbour", |net, index| net.add_neighbour(index, address, mac))
    }

    /// Adds a route on which sending fails with EHOSTUNREACH.
    pub fn add_unreachable(&mut self, network: Ipv4Addr, prefix: u8) -> Result<(), OpenError> {
        let route = format!("route {network}/{prefix}");
        self.0.add_unreachable(network, prefix).map_err(|e| oops(&route, "adding it", &e))
    }

    /// Has an interface drop everything in its queueing discipline (`tc qdisc replace dev NAME root blackhole`), or not
    /// any more.
    pub fn blackhole(&mut self, name: &str, on: bool) -> Result<(), OpenError> {
        self.of(name, "setting its queueing discipline", |net, index| net.blackhole(index, on))
    }

    /// Packets that an interface's queueing discipline has dropped. The kernel counts them in 32 bits.
    pub fn queue_drops(&mut self, name: &str) -> Result<u32, OpenError> {
        self.of(name, "reading its queueing discipline", Netlink::queue_drops)
    }

    /// Moves a link into another network namespace, where it is switched off and has no addresses.
    pub fn move_to(&mut self, name: &str, namespace: &Namespace) -> Result<(), OpenError> {
        self.of(name, "moving it", |net, index| net.move_to(index, namespace.as_fd()))
    }

    /// Switches a link on or off.
    pub fn set_up(&mut self, name: &str, up: bool) -> Result<(), OpenError> {
        let change = LinkChange { up: Some(up), ..LinkChange::default() };
        self.of(name, "switching it", |net, index| net.change(index, change))
    }

    fn of<T>(
        &mut self,
        name: &str,
        doing: &str,
        ask: impl FnOnce(&mut Netlink, u32) -> io::Result<T>,
    ) -> Result<T, OpenError> {
        let asked = self.0.link(name).and_then(|link| ask(&mut self.0, link.index));
        asked.map_err(|e| oops(name, doing, &e))
    }
}

/// A place of the kernel's path, by the names of those who look after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place<'a> {
    /// Netfilter, IPv4: received, before the routing decision.
    PreRouting,
    /// Netfilter, IPv4: received and for this host.
    LocalIn,
    /// Netfilter, IPv4: made here, its IP header finished.
    LocalOut,
    /// Netfilter, IPv4: about to be handed to the neighbour's code.
    PostRouting,
    /// Traffic control, before an interface's queueing discipline: the frame is complete.
    TcEgress(&'a str),
    /// Traffic control, behind an interface: the frame has its socket buffer.
    TcIngress(&'a str),
    /// XDP in an interface's driver, before there is a socket buffer.
    Xdp(&'a str),
}

/// A program at a [`Place`] that counts all packets that come by. It goes when this value does.
///
/// Netfilter's programs need Linux 6.4, traffic control's 6.6.
#[derive(Debug)]
#[must_use = "the program is taken off when this value goes"]
pub struct Cut(Counting);

impl Cut {
    /// Ends every packet's way there. In the calling thread's network namespace; needs CAP_BPF and CAP_NET_ADMIN.
    pub fn drop_at(place: Place<'_>) -> Result<Self, OpenError> {
        Self::attach(place, false)
    }

    /// Lets every packet pass.
    pub fn pass_at(place: Place<'_>) -> Result<Self, OpenError> {
        Self::attach(place, true)
    }

    fn attach(place: Place<'_>, pass: bool) -> Result<Self, OpenError> {
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
                Place::Xdp(name) => At::Xdp(index(name)?),
            };
            Counting::attach(at, pass).map(Self)
        };
        attach().map_err(|e| match e.raw_os_error() {
            Some(libc::EINVAL | libc::EOPNOTSUPP) => OpenError::new(
                format!("{place:?}"),
                Cause::Capability,
                "the kernel takes no BPF program there",
                "use Linux 6.6 or newer, with CONFIG_NETFILTER_BPF_LINK and CONFIG_NET_XGRESS",
            ),
            _ => oops(&format!("{place:?}"), "attaching a BPF program", &e),
        })
    }

    /// Packets that came by so far.
    pub fn count(&self) -> Result<u64, OpenError> {
        self.0.count().map_err(|e| oops("BPF map", "reading it", &e))
    }
}

#[cfg(test)]
mod tests;

//! Functions of `ip` and `tc`: links, addresses, neighbours, routes and queueing disciplines, set and read.

use crate::Namespace;
use crate::error::{Cause, Error};
use crate::netlink::Netlink;
use crate::netlink::link::{LinkChange, LinkState};
use crate::netlink::path::Path;
use std::io;
use std::net::{IpAddr, Ipv4Addr};

/// Functions of `ip` and `tc`, for the network namespace of the thread that opened it. Changes need CAP_NET_ADMIN.
pub struct Rtnetlink(Netlink);

impl Rtnetlink {
    /// Opens a socket in the calling thread's network namespace.
    pub fn open() -> Result<Self, Error> {
        Netlink::open().map(Self).map_err(|e| Error::of("rtnetlink", "opening a socket", &e))
    }

    /// Reads the state of a link, with the kernel's counters.
    pub fn link(&mut self, name: &str) -> Result<LinkState, Error> {
        self.0.link(name).map_err(|e| Error::of(name, "reading its state", &e))
    }

    /// Reads the state of the link with that index, with the kernel's counters.
    pub fn link_at(&mut self, index: u32) -> Result<LinkState, Error> {
        self.0.link_at(index).map_err(|e| Error::of(format!("interface {index}"), "reading its state", &e))
    }

    /// The way of packets to an address, as the kernel would choose it now.
    pub fn way_to(&mut self, to: IpAddr) -> io::Result<Path> {
        self.0.path_to(to)
    }

    /// Likewise; a refusal is a line for the user.
    pub fn path_to(&mut self, to: IpAddr) -> Result<Path, Error> {
        self.0.path_to(to).map_err(|e| match e.raw_os_error() {
            Some(libc::ENETUNREACH | libc::EHOSTUNREACH) => {
                Error::new(to, Cause::Missing, "there is no route to it", "see 'ip route'")
            }
            _ => Error::of(to, "looking for a route", &e),
        })
    }

    /// Losses of an interface that goes down, which do not come back when it comes up again, in words: routes that
    /// somebody has set, and addresses of IPv6.
    pub fn lost_when_down(&mut self, name: &str) -> Result<Vec<String>, Error> {
        self.of(name, "reading its routes and addresses", Netlink::lost_when_down)
    }

    /// Makes an interface that drops all frames sent on it, in its transmit function, and counts them as `rx_dropped`
    /// (an `ifb` to which nothing is redirected). It is up.
    pub fn make_sink(&mut self, name: &str) -> Result<(), Error> {
        let make = |net: &mut Netlink| -> io::Result<()> {
            net.make_ifb(name)?;
            let index = net.link(name)?.index;
            net.start_quietly(index)
        };
        make(&mut self.0).map_err(|e| Error::of(name, "making an ifb", &e))
    }

    /// Adds an address to an interface, and a route to the network around it.
    pub fn add_address(&mut self, name: &str, address: Ipv4Addr, prefix: u8) -> Result<(), Error> {
        self.of(name, "giving it an address", |net, index| net.add_address(index, address, prefix))
    }

    /// Adds a permanent neighbour entry, so that no ARP request is sent.
    pub fn add_neighbour(&mut self, name: &str, address: Ipv4Addr, mac: [u8; 6]) -> Result<(), Error> {
        self.of(name, "adding a neighbour", |net, index| net.add_neighbour(index, address, mac))
    }

    /// Adds a route on which sending fails with EHOSTUNREACH.
    pub fn add_unreachable(&mut self, network: Ipv4Addr, prefix: u8) -> Result<(), Error> {
        let route = format!("route {network}/{prefix}");
        self.0.add_unreachable(network, prefix).map_err(|e| Error::of(route, "adding it", &e))
    }

    /// Sets an interface's root queueing discipline to one that drops everything (`tc qdisc replace dev NAME root
    /// blackhole`), or back to the default one.
    pub fn blackhole(&mut self, name: &str, on: bool) -> Result<(), Error> {
        self.of(name, "setting its queueing discipline", |net, index| net.blackhole(index, on))
    }

    /// Packets dropped by an interface's root queueing discipline. The kernel counts them in 32 bits.
    pub fn queue_drops(&mut self, name: &str) -> Result<u32, Error> {
        self.of(name, "reading its queueing discipline", Netlink::queue_drops)
    }

    /// Moves a link into another network namespace, where it is down and has no addresses.
    pub fn move_to(&mut self, name: &str, namespace: &Namespace) -> Result<(), Error> {
        self.of(name, "moving it", |net, index| net.move_to(index, namespace.as_fd()))
    }

    pub fn set_up(&mut self, name: &str, up: bool) -> Result<(), Error> {
        let change = LinkChange { up: Some(up), ..LinkChange::default() };
        self.of(name, "switching it", |net, index| net.change(index, change))
    }

    pub fn set_mtu(&mut self, name: &str, mtu: u32) -> Result<(), Error> {
        let change = LinkChange { mtu: Some(mtu), ..LinkChange::default() };
        self.of(name, "setting its MTU", |net, index| net.change(index, change))
    }

    fn of<T>(
        &mut self,
        name: &str,
        doing: &str,
        ask: impl FnOnce(&mut Netlink, u32) -> io::Result<T>,
    ) -> Result<T, Error> {
        let asked = self.0.link(name).and_then(|link| ask(&mut self.0, link.index));
        asked.map_err(|e| Error::of(name, doing, &e))
    }
}

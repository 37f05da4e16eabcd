//! Links: reading, making, setting and deleting them.

use super::message::{MAKES, Message, attribute, attributes, long, text, word};
use super::{Netlink, bad_answer};
use crate::absent::Part;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

// linux/if_link.h, linux/veth.h, linux/if_addr.h
const IFLA_ADDRESS: u16 = 1;
const IFLA_IFNAME: u16 = 3;
const IFLA_MTU: u16 = 4;
const IFLA_LINK: u16 = 5;
const IFLA_LINKINFO: u16 = 18;
const IFLA_STATS64: u16 = 23;
const IFLA_AF_SPEC: u16 = 26;
const IFLA_PROMISCUITY: u16 = 30;
const IFLA_NUM_TX_QUEUES: u16 = 31;
const IFLA_NUM_RX_QUEUES: u16 = 32;
const IFLA_LINK_NETNSID: u16 = 37;
const IFLA_XDP: u16 = 43;
const IFLA_XDP_ATTACHED: u16 = 2;
const IFLA_XDP_PROG_ID: u16 = 4;
const IFLA_NET_NS_FD: u16 = 28;
const IFLA_INFO_KIND: u16 = 1;
const IFLA_INFO_DATA: u16 = 2;
const VETH_INFO_PEER: u16 = 1;
const IFLA_INET6_ADDR_GEN_MODE: u16 = 8;
const IN6_ADDR_GEN_MODE_NONE: u8 = 1;

/// `struct ifinfomsg`.
const HEADER: usize = 16;

/// Counters of a link, from the kernel's point of view (`struct rtnl_link_stats64`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkStats {
    pub rx_packets: u64,
    pub tx_packets: u64,
    pub rx_bytes: u64,
    pub tx_bytes: u64,
    pub rx_errors: u64,
    pub tx_errors: u64,
    /// Frames received and dropped for lack of buffers.
    pub rx_dropped: u64,
    /// Frames dropped before transmission.
    pub tx_dropped: u64,
}

impl LinkStats {
    /// All counters, with their names.
    #[must_use]
    pub fn rows(&self) -> [(&'static str, u64); 8] {
        [
            ("rx_packets", self.rx_packets),
            ("tx_packets", self.tx_packets),
            ("rx_bytes", self.rx_bytes),
            ("tx_bytes", self.tx_bytes),
            ("rx_errors", self.rx_errors),
            ("tx_errors", self.tx_errors),
            ("rx_dropped", self.rx_dropped),
            ("tx_dropped", self.tx_dropped),
        ]
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LinkState {
    pub index: u32,
    pub name: String,
    /// Link type of a software interface (`veth`, `tun`); else empty.
    pub kind: String,
    /// MAC address, if it has six bytes.
    pub mac: Option<[u8; 6]>,
    pub mtu: u32,
    /// Administratively up.
    pub up: bool,
    /// Up, and with a carrier.
    pub running: bool,
    /// Promiscuous mode is on: frames to all addresses are received.
    pub promiscuous: bool,
    pub tx_queues: u32,
    pub rx_queues: u32,
    /// Index of the far end (of a `veth`) or of the lower link, if it is in the same network namespace.
    pub peer: Option<u32>,
    /// Identifier of the XDP program attached to the link.
    pub xdp_program: Option<u32>,
    pub stats: LinkStats,
}

/// Changes to be made to a link; `None` leaves a value as it is.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LinkChange {
    /// Administratively up or down.
    pub(crate) up: Option<bool>,
    pub(crate) mtu: Option<u32>,
    /// Make IPv6 assign no link-local address, so that the link sends nothing by itself.
    pub(crate) no_ipv6_address: bool,
}

impl Netlink {
    /// Reads a link's state; `ENODEV` if there is none of that name.
    pub(crate) fn link(&mut self, name: &str) -> io::Result<LinkState> {
        // No interface has a name this long (IFNAMSIZ), and a longer one would not fit into a request.
        if name.len() >= libc::IFNAMSIZ {
            return Err(io::Error::from_raw_os_error(libc::ENODEV));
        }
        let mut message = about(libc::RTM_GETLINK, 0, 0, None);
        message.text(IFLA_IFNAME, name);
        self.describe(message)
    }

    /// Reads the state of the link with that index.
    pub(crate) fn link_at(&mut self, index: u32) -> io::Result<LinkState> {
        self.describe(about(libc::RTM_GETLINK, 0, index, None))
    }

    /// A link as the kernel tells it: `struct ifinfomsg` and its attributes.
    pub(crate) fn link_body(&mut self, index: u32) -> Part<Vec<u8>> {
        self.ask_words(about(libc::RTM_GETLINK, 0, index, None))?.ok_or_else(|| bad_answer().into())
    }

    fn describe(&mut self, message: Message) -> io::Result<LinkState> {
        LinkState::parse(&self.answer(message)?).ok_or_else(bad_answer)
    }

    /// Makes two links that are each other's far ends, both down.
    pub(crate) fn make_veth(&mut self, names: [&str; 2], queues: u32, mtu: u32) -> io::Result<()> {
        let shape = |message: &mut Message, name: &str| {
            message.text(IFLA_IFNAME, name);
            message.attribute(IFLA_MTU, &mtu.to_ne_bytes());
            message.attribute(IFLA_NUM_TX_QUEUES, &queues.to_ne_bytes());
            message.attribute(IFLA_NUM_RX_QUEUES, &queues.to_ne_bytes());
        };
        let mut message = about(libc::RTM_NEWLINK, MAKES, 0, None);
        shape(&mut message, names[0]);
        message.nest(IFLA_LINKINFO, |info| {
            info.attribute(IFLA_INFO_KIND, b"veth");
            info.nest(IFLA_INFO_DATA, |data| {
                data.nest(VETH_INFO_PEER, |peer| {
                    peer.raw(&[0; HEADER]);
                    shape(peer, names[1]);
                });
            });
        });
        self.ask(message).map(drop)
    }

    /// Makes an `ifb`, down: an interface that drops all frames sent on it, in its transmit function.
    pub(crate) fn make_ifb(&mut self, name: &str) -> io::Result<()> {
        let mut message = about(libc::RTM_NEWLINK, MAKES, 0, None);
        message.text(IFLA_IFNAME, name);
        message.nest(IFLA_LINKINFO, |info| info.attribute(IFLA_INFO_KIND, b"ifb"));
        self.ask(message).map(drop)
    }

    /// Moves a link into another network namespace.
    pub(crate) fn move_to(&mut self, index: u32, namespace: BorrowedFd<'_>) -> io::Result<()> {
        let mut message = about(libc::RTM_NEWLINK, 0, index, None);
        message.attribute(IFLA_NET_NS_FD, &namespace.as_raw_fd().to_ne_bytes());
        self.ask(message).map(drop)
    }

    pub(crate) fn change(&mut self, index: u32, change: LinkChange) -> io::Result<()> {
        let mut message = about(libc::RTM_NEWLINK, 0, index, change.up);
        if let Some(mtu) = change.mtu {
            message.attribute(IFLA_MTU, &mtu.to_ne_bytes());
        }
        if change.no_ipv6_address {
            message.nest(IFLA_AF_SPEC, |families| {
                families.nest(u16::try_from(libc::AF_INET6).unwrap_or(0), |inet6| {
                    inet6.attribute(IFLA_INET6_ADDR_GEN_MODE, &[IN6_ADDR_GEN_MODE_NONE]);
                });
            });
        }
        self.ask(message).map(drop)
    }

    /// Stops a link from sending anything by itself, and switches it on.
    pub(crate) fn start_quietly(&mut self, index: u32) -> io::Result<()> {
        match self.change(index, LinkChange { no_ipv6_address: true, ..LinkChange::default() }) {
            // A kernel without IPv6 does not know the attribute, and does not need it.
            Err(e) if e.raw_os_error() != Some(libc::EAFNOSUPPORT) => Err(e),
            _ => self.change(index, LinkChange { up: Some(true), ..LinkChange::default() }),
        }
    }

    /// Deletes a link (and its far end).
    pub(crate) fn delete(&mut self, index: u32) -> io::Result<()> {
        self.ask(about(libc::RTM_DELLINK, 0, index, None)).map(drop)
    }
}

/// A request for the list of all links.
pub(crate) fn every_link() -> Message {
    about(libc::RTM_GETLINK, 0, 0, None)
}

/// A request about one link.
fn about(kind: u16, flags: u16, index: u32, up: Option<bool>) -> Message {
    // struct ifinfomsg: family, type, index, flags, which flags
    let iff_up = u32::try_from(libc::IFF_UP).unwrap_or(1);
    let mut header = [0; HEADER];
    header[4..8].copy_from_slice(&index.to_ne_bytes());
    header[8..12].copy_from_slice(&if up == Some(true) { iff_up } else { 0 }.to_ne_bytes());
    header[12..].copy_from_slice(&if up.is_some() { iff_up } else { 0 }.to_ne_bytes());
    Message::about(kind, flags, &header)
}

impl LinkState {
    fn parse(body: &[u8]) -> Option<Self> {
        let (header, rest) = body.split_at_checked(HEADER)?;
        let flag = |f: libc::c_int| word(header, 8) & f.unsigned_abs() != 0;
        let mut link = Self {
            index: word(header, 4),
            up: flag(libc::IFF_UP),
            running: flag(libc::IFF_UP) && flag(libc::IFF_RUNNING),
            ..Self::default()
        };
        let mut elsewhere = false;
        for (kind, value) in attributes(rest) {
            match kind {
                IFLA_LINK => link.peer = Some(word(value, 0)).filter(|peer| *peer != 0 && *peer != link.index),
                IFLA_LINK_NETNSID => elsewhere = true,
                IFLA_XDP => {
                    let mode = attribute(value, IFLA_XDP_ATTACHED).and_then(|mode| mode.first().copied());
                    let program = attribute(value, IFLA_XDP_PROG_ID).map_or(0, |id| word(id, 0));
                    link.xdp_program = mode.is_some_and(|mode| mode != 0).then_some(program);
                }
                IFLA_IFNAME => link.name = text(value),
                IFLA_ADDRESS => link.mac = value.try_into().ok(),
                IFLA_MTU => link.mtu = word(value, 0),
                IFLA_PROMISCUITY => link.promiscuous = word(value, 0) != 0,
                IFLA_NUM_TX_QUEUES => link.tx_queues = word(value, 0),
                IFLA_NUM_RX_QUEUES => link.rx_queues = word(value, 0),
                IFLA_STATS64 => link.stats = LinkStats::parse(value),
                IFLA_LINKINFO => link.kind = attribute(value, IFLA_INFO_KIND).map(text).unwrap_or_default(),
                _ => {}
            }
        }
        if elsewhere {
            link.peer = None;
        }
        Some(link)
    }
}

impl LinkStats {
    fn parse(value: &[u8]) -> Self {
        let n = |i: usize| long(value, i * 8);
        Self {
            rx_packets: n(0),
            tx_packets: n(1),
            rx_bytes: n(2),
            tx_bytes: n(3),
            rx_errors: n(4),
            tx_errors: n(5),
            rx_dropped: n(6),
            tx_dropped: n(7),
        }
    }
}

//! rtnetlink (`rtnetlink(7)`): what a link is, and making, setting and deleting links. Addresses, neighbours, routes
//! and queueing disciplines are in [`super::route`].

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::time::{Duration, Instant};

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

const NLMSG_HEADER: usize = 16;
const LINK_HEADER: usize = 16;
/// Flags of a request that wants an answer, and of one that makes something new.
const ACKED: u16 = 0x1 | 0x4;
pub(super) const MAKES: u16 = 0x200 | 0x400;

/// What the kernel counted of a link, from its own point of view (`struct rtnl_link_stats64`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkStats {
    /// Frames received.
    pub rx_packets: u64,
    /// Frames sent.
    pub tx_packets: u64,
    /// Bytes received.
    pub rx_bytes: u64,
    /// Bytes sent.
    pub tx_bytes: u64,
    /// Frames received damaged.
    pub rx_errors: u64,
    /// Frames that could not be sent.
    pub tx_errors: u64,
    /// Frames received and dropped for lack of room.
    pub rx_dropped: u64,
    /// Frames dropped on their way out.
    pub tx_dropped: u64,
}

impl LinkStats {
    /// All of them, by name.
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

/// A link as the kernel describes it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LinkState {
    /// Its number.
    pub index: u32,
    /// Its name.
    pub name: String,
    /// What drives it, for those that were made by software (`veth`, `tun`); else empty.
    pub kind: String,
    /// Its MAC address, if it has one of six bytes.
    pub mac: Option<[u8; 6]>,
    /// Largest payload of a frame.
    pub mtu: u32,
    /// Switched on.
    pub up: bool,
    /// Switched on, and the other side is there.
    pub running: bool,
    /// Somebody has it receive frames to all addresses.
    pub promiscuous: bool,
    /// Transmit queues.
    pub tx_queues: u32,
    /// Receive queues.
    pub rx_queues: u32,
    /// The number of the far end (of a `veth`) or of the link below, if it is in the same network namespace.
    pub peer: Option<u32>,
    /// The XDP program that is attached to it, by the kernel's number.
    pub xdp_program: Option<u32>,
    /// Its counters.
    pub stats: LinkStats,
}

/// What to set of a link.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LinkChange {
    /// Switched on or off.
    pub(crate) up: Option<bool>,
    /// Largest payload.
    pub(crate) mtu: Option<u32>,
    /// IPv6 shall give itself no address, and so send nothing by itself.
    pub(crate) no_ipv6_address: bool,
}

/// A socket for requests about the links of the network namespace in which it was opened.
pub(crate) struct Netlink {
    fd: OwnedFd,
    sequence: u32,
}

impl Netlink {
    pub(crate) fn open() -> io::Result<Self> {
        Self::open_to(libc::NETLINK_ROUTE)
    }

    /// To the generic families, which are found by name.
    pub(super) fn open_generic() -> io::Result<Self> {
        Self::open_to(libc::NETLINK_GENERIC)
    }

    fn open_to(protocol: libc::c_int) -> io::Result<Self> {
        // SAFETY: no pointers; the descriptor that comes back is new and ours.
        let fd = unsafe {
            match libc::socket(libc::AF_NETLINK, libc::SOCK_RAW | libc::SOCK_CLOEXEC, protocol) {
                -1 => return Err(io::Error::last_os_error()),
                fd => OwnedFd::from_raw_fd(fd),
            }
        };
        Ok(Self { fd, sequence: 0 })
    }

    /// What a link is now; `ENODEV` if there is none of that name.
    pub(crate) fn link(&mut self, name: &str) -> io::Result<LinkState> {
        // No interface has so long a name (IFNAMSIZ), and a longer one would not fit into a request.
        if name.len() >= libc::IFNAMSIZ {
            return Err(io::Error::from_raw_os_error(libc::ENODEV));
        }
        let mut message = Message::new(libc::RTM_GETLINK, 0, 0, None);
        message.name(name);
        self.describe(message)
    }

    /// What the link of that number is now.
    pub(crate) fn link_at(&mut self, index: u32) -> io::Result<LinkState> {
        self.describe(Message::new(libc::RTM_GETLINK, 0, index, None))
    }

    fn describe(&mut self, message: Message) -> io::Result<LinkState> {
        let answer = self.ask(message)?.ok_or_else(bad_answer)?;
        LinkState::parse(&answer).ok_or_else(bad_answer)
    }

    /// Makes two links that are each other's far ends, both switched off.
    pub(crate) fn make_veth(&mut self, names: [&str; 2], queues: u32, mtu: u32) -> io::Result<()> {
        let shape = |message: &mut Message, name: &str| {
            message.name(name);
            message.attribute(IFLA_MTU, &mtu.to_ne_bytes());
            message.attribute(IFLA_NUM_TX_QUEUES, &queues.to_ne_bytes());
            message.attribute(IFLA_NUM_RX_QUEUES, &queues.to_ne_bytes());
        };
        let mut message = Message::new(libc::RTM_NEWLINK, MAKES, 0, None);
        shape(&mut message, names[0]);
        message.nest(IFLA_LINKINFO, |info| {
            info.attribute(IFLA_INFO_KIND, b"veth");
            info.nest(IFLA_INFO_DATA, |data| {
                data.nest(VETH_INFO_PEER, |peer| {
                    peer.bytes.extend([0; LINK_HEADER]);
                    shape(peer, names[1]);
                });
            });
        });
        self.ask(message).map(drop)
    }

    /// Makes an `ifb`, switched off: an interface that drops what is sent out of it, in its transmit function.
    pub(crate) fn make_ifb(&mut self, name: &str) -> io::Result<()> {
        let mut message = Message::new(libc::RTM_NEWLINK, MAKES, 0, None);
        message.name(name);
        message.nest(IFLA_LINKINFO, |info| info.attribute(IFLA_INFO_KIND, b"ifb"));
        self.ask(message).map(drop)
    }

    /// Moves a link into another network namespace.
    pub(crate) fn move_to(&mut self, index: u32, namespace: BorrowedFd<'_>) -> io::Result<()> {
        let mut message = Message::new(libc::RTM_NEWLINK, 0, index, None);
        message.attribute(IFLA_NET_NS_FD, &namespace.as_raw_fd().to_ne_bytes());
        self.ask(message).map(drop)
    }

    /// Sets a link.
    pub(crate) fn change(&mut self, index: u32, change: LinkChange) -> io::Result<()> {
        let mut message = Message::new(libc::RTM_NEWLINK, 0, index, change.up);
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

    /// Deletes a link (and its far end).
    pub(crate) fn delete(&mut self, index: u32) -> io::Result<()> {
        self.ask(Message::new(libc::RTM_DELLINK, 0, index, None)).map(drop)
    }

    /// Sends a request; gives the body of the answer, if it has one besides the acknowledgement.
    pub(super) fn ask(&mut self, message: Message) -> io::Result<Option<Vec<u8>>> {
        self.sequence = self.sequence.wrapping_add(1);
        let request = message.finish(self.sequence);
        // SAFETY: `request` is readable for its length.
        if unsafe { libc::send(self.fd.as_raw_fd(), request.as_ptr().cast(), request.len(), 0) } < 0 {
            return Err(io::Error::last_os_error());
        }
        // The kernel answers within the call; the time limit is for kernels that do not.
        let until = Instant::now() + Duration::from_secs(5);
        let mut buffer = vec![0u8; 32 << 10];
        let mut body = None;
        while Instant::now() < until {
            // SAFETY: `buffer` is writable for its length.
            let got = unsafe {
                libc::recv(self.fd.as_raw_fd(), buffer.as_mut_ptr().cast(), buffer.len(), libc::MSG_DONTWAIT)
            };
            let Ok(got) = usize::try_from(got) else {
                match io::Error::last_os_error() {
                    e if e.kind() == io::ErrorKind::WouldBlock => std::thread::sleep(Duration::from_millis(1)),
                    e if e.kind() == io::ErrorKind::Interrupted => {}
                    e => return Err(e),
                }
                continue;
            };
            let mut rest = &buffer[..got];
            while let Some((header, message)) = rest.split_at_checked(NLMSG_HEADER) {
                let len = word(header, 0) as usize;
                let Some(payload) = len.checked_sub(NLMSG_HEADER).and_then(|n| message.get(..n)) else { break };
                rest = rest.get(len.next_multiple_of(4)..).unwrap_or_default();
                if word(header, 8) != self.sequence {
                    continue;
                }
                if i32::from(half(header, 4)) == libc::NLMSG_ERROR {
                    let error = payload.get(..4).map_or(0, |b| i32::from_ne_bytes([b[0], b[1], b[2], b[3]]));
                    return if error == 0 { Ok(body) } else { Err(io::Error::from_raw_os_error(-error)) };
                }
                body = Some(payload.to_vec());
            }
        }
        Err(io::Error::from(io::ErrorKind::TimedOut))
    }
}

impl AsFd for Netlink {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// A request, as it grows.
pub(super) struct Message {
    bytes: Vec<u8>,
}

impl Message {
    /// About anything; `header` is the structure that such requests begin with.
    pub(super) fn about(kind: u16, flags: u16, header: &[u8]) -> Self {
        let mut bytes = Vec::with_capacity(256);
        bytes.extend([0; 4]);
        bytes.extend(kind.to_ne_bytes());
        bytes.extend((ACKED | flags).to_ne_bytes());
        bytes.extend([0; 8]);
        bytes.extend(header);
        Self { bytes }
    }

    /// About one link.
    fn new(kind: u16, flags: u16, index: u32, up: Option<bool>) -> Self {
        let mut bytes = Self::about(kind, flags, &[]).bytes;
        // struct ifinfomsg: family, type, index, flags, which flags
        let iff_up = u32::try_from(libc::IFF_UP).unwrap_or(1);
        bytes.extend([0; 4]);
        bytes.extend(index.to_ne_bytes());
        bytes.extend(if up == Some(true) { iff_up } else { 0 }.to_ne_bytes());
        bytes.extend(if up.is_some() { iff_up } else { 0 }.to_ne_bytes());
        Self { bytes }
    }

    pub(super) fn attribute(&mut self, kind: u16, value: &[u8]) {
        self.nest(kind, |message| message.bytes.extend(value));
    }

    fn name(&mut self, name: &str) {
        self.nest(IFLA_IFNAME, |message| {
            message.bytes.extend(name.as_bytes());
            message.bytes.push(0);
        });
    }

    fn nest(&mut self, kind: u16, fill: impl FnOnce(&mut Self)) {
        let at = self.bytes.len();
        self.bytes.extend([0; 2]);
        self.bytes.extend(kind.to_ne_bytes());
        fill(self);
        let len = u16::try_from(self.bytes.len() - at).expect("requests are short");
        self.bytes[at..at + 2].copy_from_slice(&len.to_ne_bytes());
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }

    /// What stands behind the header.
    #[cfg(test)]
    pub(super) fn body(&self) -> &[u8] {
        &self.bytes[NLMSG_HEADER..]
    }

    fn finish(mut self, sequence: u32) -> Vec<u8> {
        let len = u32::try_from(self.bytes.len()).expect("requests are short");
        self.bytes[..4].copy_from_slice(&len.to_ne_bytes());
        self.bytes[8..12].copy_from_slice(&sequence.to_ne_bytes());
        self.bytes
    }
}

pub(super) fn word(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..at + 4).map_or(0, |b| u32::from_ne_bytes([b[0], b[1], b[2], b[3]]))
}

fn half(bytes: &[u8], at: usize) -> u16 {
    bytes.get(at..at + 2).map_or(0, |b| u16::from_ne_bytes([b[0], b[1]]))
}

pub(super) fn bad_answer() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "the kernel's answer about a link makes no sense")
}

/// Calls `each` with kind and value of every attribute.
pub(super) fn attributes(mut bytes: &[u8], mut each: impl FnMut(u16, &[u8])) {
    while bytes.len() >= 4 {
        let len = usize::from(half(bytes, 0));
        let Some(value) = bytes.get(4..len) else { return };
        // The two high bits mark nesting and byte order.
        each(half(bytes, 2) & 0x3fff, value);
        bytes = bytes.get(len.next_multiple_of(4)..).unwrap_or_default();
    }
}

impl LinkState {
    fn parse(body: &[u8]) -> Option<Self> {
        let (header, rest) = body.split_at_checked(LINK_HEADER)?;
        let flag = |f: libc::c_int| word(header, 8) & f.unsigned_abs() != 0;
        let mut link = Self {
            index: word(header, 4),
            up: flag(libc::IFF_UP),
            running: flag(libc::IFF_UP) && flag(libc::IFF_RUNNING),
            ..Self::default()
        };
        let text = |value: &[u8]| {
            let end = value.iter().position(|b| *b == 0).unwrap_or(value.len());
            String::from_utf8_lossy(&value[..end]).into_owned()
        };
        let mut elsewhere = false;
        attributes(rest, |kind, value| match kind {
            IFLA_LINK => link.peer = Some(word(value, 0)).filter(|peer| *peer != 0 && *peer != link.index),
            IFLA_LINK_NETNSID => elsewhere = true,
            IFLA_XDP => {
                let (mut attached, mut program) = (false, 0);
                attributes(value, |kind, value| match kind {
                    IFLA_XDP_ATTACHED => attached = value.first().is_some_and(|mode| *mode != 0),
                    IFLA_XDP_PROG_ID => program = word(value, 0),
                    _ => {}
                });
                link.xdp_program = attached.then_some(program);
            }
            IFLA_IFNAME => link.name = text(value),
            IFLA_ADDRESS => link.mac = value.try_into().ok(),
            IFLA_MTU => link.mtu = word(value, 0),
            IFLA_PROMISCUITY => link.promiscuous = word(value, 0) != 0,
            IFLA_NUM_TX_QUEUES => link.tx_queues = word(value, 0),
            IFLA_NUM_RX_QUEUES => link.rx_queues = word(value, 0),
            IFLA_STATS64 => link.stats = LinkStats::parse(value),
            IFLA_LINKINFO => attributes(value, |kind, value| {
                if kind == IFLA_INFO_KIND {
                    link.kind = text(value);
                }
            }),
            _ => {}
        });
        if elsewhere {
            link.peer = None;
        }
        Some(link)
    }
}

impl LinkStats {
    fn parse(value: &[u8]) -> Self {
        let n =
            |i: usize| value.get(i * 8..i * 8 + 8).map_or(0, |b| u64::from_ne_bytes(b.try_into().unwrap_or([0; 8])));
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

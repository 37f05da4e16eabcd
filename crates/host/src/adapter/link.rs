//! An interface as rtnetlink tells it (RTM_GETLINK): names, addresses, sizes, state, and the counters that every
//! interface has.

use super::details::Details;
use super::fields::{Rows, byte, whole};
use crate::netlink::message::{attribute, attributes, half, long, text, word};
use serde::Serialize;

/// `struct ifinfomsg`.
const HEADER: usize = 16;

// linux/if_link.h
const IFLA_ADDRESS: u16 = 1;
const IFLA_IFNAME: u16 = 3;
const IFLA_MTU: u16 = 4;
const IFLA_LINK: u16 = 5;
const IFLA_QDISC: u16 = 6;
const IFLA_MASTER: u16 = 10;
const IFLA_TXQLEN: u16 = 13;
const IFLA_OPERSTATE: u16 = 16;
const IFLA_LINKINFO: u16 = 18;
const IFLA_IFALIAS: u16 = 20;
const IFLA_STATS64: u16 = 23;
const IFLA_PROMISCUITY: u16 = 30;
const IFLA_NUM_TX_QUEUES: u16 = 31;
const IFLA_NUM_RX_QUEUES: u16 = 32;
const IFLA_CARRIER_CHANGES: u16 = 35;
const IFLA_PROTO_DOWN: u16 = 39;
const IFLA_LINK_NETNSID: u16 = 37;
const IFLA_XDP: u16 = 43;
const IFLA_CARRIER_UP_COUNT: u16 = 47;
const IFLA_CARRIER_DOWN_COUNT: u16 = 48;
const IFLA_MIN_MTU: u16 = 50;
const IFLA_MAX_MTU: u16 = 51;
const IFLA_PROP_LIST: u16 = 52;
const IFLA_ALT_IFNAME: u16 = 53;
const IFLA_PERM_ADDRESS: u16 = 54;
const IFLA_PARENT_DEV_NAME: u16 = 56;
const IFLA_PARENT_DEV_BUS_NAME: u16 = 57;
// Within IFLA_LINKINFO.
const IFLA_INFO_KIND: u16 = 1;
const IFLA_INFO_DATA: u16 = 2;
const IFLA_INFO_SLAVE_KIND: u16 = 4;
const IFLA_INFO_SLAVE_DATA: u16 = 5;
/// Sizes of super-frames.
const SIZES: &[(u16, &str)] = &[
    (41, "gso_max_size"),
    (40, "gso_max_segs"),
    (59, "tso_max_size"),
    (60, "tso_max_segs"),
    (58, "gro_max_size"),
    (63, "gso_ipv4_max_size"),
    (64, "gro_ipv4_max_size"),
];

/// IFF_UP … of linux/if.h.
pub(crate) const FLAGS: &[(u32, &str)] = &[
    (0x1, "UP"),
    (0x2, "BROADCAST"),
    (0x4, "DEBUG"),
    (0x8, "LOOPBACK"),
    (0x10, "POINTOPOINT"),
    (0x20, "NOTRAILERS"),
    (0x40, "RUNNING"),
    (0x80, "NOARP"),
    (0x100, "PROMISC"),
    (0x200, "ALLMULTI"),
    (0x400, "MASTER"),
    (0x800, "SLAVE"),
    (0x1000, "MULTICAST"),
    (0x2000, "PORTSEL"),
    (0x4000, "AUTOMEDIA"),
    (0x8000, "DYNAMIC"),
    (0x1_0000, "LOWER_UP"),
    (0x2_0000, "DORMANT"),
    (0x4_0000, "ECHO"),
];

/// States of RFC 2863.
pub(crate) const STATES: &[&str] = &["unknown", "notpresent", "down", "lowerlayerdown", "testing", "dormant", "up"];

/// Counters of `struct rtnl_link_stats64`.
pub(crate) const COUNTERS: &[&str] = &[
    "rx_packets",
    "tx_packets",
    "rx_bytes",
    "tx_bytes",
    "rx_errors",
    "tx_errors",
    "rx_dropped",
    "tx_dropped",
    "multicast",
    "collisions",
    "rx_length_errors",
    "rx_over_errors",
    "rx_crc_errors",
    "rx_frame_errors",
    "rx_fifo_errors",
    "rx_missed_errors",
    "tx_aborted_errors",
    "tx_carrier_errors",
    "tx_fifo_errors",
    "tx_heartbeat_errors",
    "tx_window_errors",
    "rx_compressed",
    "tx_compressed",
    "rx_nohandler",
    "rx_otherhost_dropped",
];

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Interface {
    pub index: u32,
    pub name: String,
    pub other_names: Vec<String>,
    /// Note that somebody left.
    pub alias: Option<String>,
    /// Kind of a software interface (`veth`, `bridge`); none for a device's.
    pub kind: Option<String>,
    /// Values that interfaces of its kind have.
    pub details: Details,
    /// Values of a member of the bond or bridge that it belongs to.
    pub member: Details,
    /// Hardware type (`ARPHRD_…`): 1 for Ethernet, 772 for loopback.
    pub hardware: u16,
    pub address: Option<String>,
    /// Address that the device came with.
    pub permanent_address: Option<String>,
    pub mtu: Option<u32>,
    /// Least MTU that the driver takes.
    pub mtu_least: Option<u32>,
    /// Greatest MTU that the driver takes; none if it has no limit of its own.
    pub mtu_most: Option<u32>,
    /// Flags, by the kernel's names.
    pub flags: Vec<&'static str>,
    /// Operational state (RFC 2863).
    pub state: Option<&'static str>,
    /// Times that the carrier came or went, came, and went.
    pub carrier_changes: [Option<u32>; 3],
    /// Somebody keeps it down from above (`protodown`).
    pub kept_down: bool,
    /// Root queueing discipline.
    pub qdisc: Option<String>,
    /// Frames that it may hold, if it limits them.
    pub queue_length: Option<u32>,
    /// Transmit and receive queues that the kernel has room for.
    pub queues: [Option<u32>; 2],
    /// Index of the bridge, bond or team that it belongs to.
    pub master: Option<u32>,
    /// Index of the lower link or the far end.
    pub lower: Option<u32>,
    /// That one is in another network namespace, and its index of that namespace.
    pub lower_elsewhere: bool,
    /// Identifier of the XDP program that is attached to it.
    pub xdp_program: Option<u32>,
    /// That program runs in generic mode, after the kernel has made a socket buffer of the frame.
    pub xdp_generic: bool,
    /// Number of users that have it receive all frames.
    pub promiscuity: Option<u32>,
    /// Address of its device on the device's bus, and that bus.
    pub device: Option<String>,
    pub bus: Option<String>,
    /// Sizes of super-frames.
    pub super_frames: Rows,
    pub counters: Rows,
}

impl Interface {
    /// Parses a link's message; `None` if it has no header or no name.
    #[must_use]
    pub fn parse(body: &[u8]) -> Option<Self> {
        let (header, rest) = body.split_at_checked(HEADER)?;
        let written = |kind| attribute(rest, kind).map(text).filter(|text| !text.is_empty());
        let number = |kind| whole(rest, kind);
        let flags = word(header, 8);
        let xdp = attribute(rest, IFLA_XDP).unwrap_or_default();
        let info = attribute(rest, IFLA_LINKINFO).unwrap_or_default();
        let kind = |at| attribute(info, at).map(text).unwrap_or_default();
        let data = |at| attribute(info, at).unwrap_or_default();
        Some(Self {
            index: word(header, 4),
            name: written(IFLA_IFNAME)?,
            other_names: attributes(attribute(rest, IFLA_PROP_LIST).unwrap_or_default())
                .filter(|(kind, _)| *kind == IFLA_ALT_IFNAME)
                .map(|(_, name)| text(name))
                .collect(),
            alias: written(IFLA_IFALIAS),
            kind: attribute(info, IFLA_INFO_KIND).map(text),
            details: Details::of_kind(&kind(IFLA_INFO_KIND), data(IFLA_INFO_DATA)),
            member: Details::of_member(&kind(IFLA_INFO_SLAVE_KIND), data(IFLA_INFO_SLAVE_DATA)),
            hardware: half(header, 2),
            address: attribute(rest, IFLA_ADDRESS).and_then(hex),
            permanent_address: attribute(rest, IFLA_PERM_ADDRESS).and_then(hex),
            mtu: number(IFLA_MTU),
            mtu_least: number(IFLA_MIN_MTU),
            mtu_most: number(IFLA_MAX_MTU).filter(|most| *most != 0),
            flags: FLAGS.iter().filter(|(bit, _)| flags & bit != 0).map(|(_, name)| *name).collect(),
            state: byte(rest, IFLA_OPERSTATE).and_then(|state| STATES.get(usize::from(state)).copied()),
            carrier_changes: [IFLA_CARRIER_CHANGES, IFLA_CARRIER_UP_COUNT, IFLA_CARRIER_DOWN_COUNT].map(number),
            kept_down: byte(rest, IFLA_PROTO_DOWN).is_some_and(|down| down != 0),
            qdisc: written(IFLA_QDISC),
            queue_length: number(IFLA_TXQLEN),
            queues: [IFLA_NUM_TX_QUEUES, IFLA_NUM_RX_QUEUES].map(number),
            master: number(IFLA_MASTER),
            lower: number(IFLA_LINK).filter(|lower| *lower != 0),
            lower_elsewhere: attribute(rest, IFLA_LINK_NETNSID).is_some(),
            // XDP_ATTACHED_SKB
            xdp_generic: byte(xdp, 2) == Some(2),
            xdp_program: byte(xdp, 2).filter(|mode| *mode != 0).map(|_| whole(xdp, 4).unwrap_or(0)),
            promiscuity: number(IFLA_PROMISCUITY),
            device: written(IFLA_PARENT_DEV_NAME),
            bus: written(IFLA_PARENT_DEV_BUS_NAME),
            super_frames: Rows::of(rest, SIZES),
            counters: counters(attribute(rest, IFLA_STATS64).unwrap_or_default()),
        })
    }

    #[must_use]
    pub fn has(&self, flag: &str) -> bool {
        self.flags.contains(&flag)
    }
}

fn counters(stats: &[u8]) -> Rows {
    let there = stats.len() / 8;
    Rows(COUNTERS.iter().take(there).enumerate().map(|(i, name)| ((*name).to_owned(), long(stats, i * 8))).collect())
}

/// Bytes of an address, with colons.
pub(super) fn hex(address: &[u8]) -> Option<String> {
    (!address.is_empty()).then(|| linerate_text::colons(&address[..address.len().min(32)]))
}

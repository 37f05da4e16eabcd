//! The table of settings: a row for each, with its name as typed, the group that it is read and written with, its
//! attribute there, and its form. The groups have the order in which drivers accept them.

use super::dcb::Unit;
use crate::adapter::Question;

/// Settings that one answer tells and one message sets. Their order is that of writing: what others need comes first
/// (private flags change what there is, channels are before the table that spreads over them), and the interface goes
/// up last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Group {
    /// Files of /proc/sys/net. They are the machine's, not the interface's.
    Sysctl,
    /// Flags that only this driver has.
    PrivateFlags,
    /// Speed, duplex, modes.
    LinkModes,
    /// Error correction.
    Fec,
    Pause,
    /// Energy-efficient Ethernet.
    Eee,
    /// Numbers of queues.
    Channels,
    Rings,
    /// Distribution of received frames over queues.
    Rss,
    /// Checksums and scatter-gather, which segmentation needs.
    Checksums,
    /// All other offloads.
    Features,
    /// Interrupt moderation.
    Coalesce,
    /// Sizes and flags of the link.
    Link,
    /// Who negotiates Data Center Bridging.
    Dcbx,
    /// Traffic classes.
    DcbEts,
    /// Rates that classes are held to.
    DcbMaxrate,
    /// Lossless priorities.
    DcbPfc,
    /// Buffers for received frames.
    DcbBuffer,
    /// Priorities of applications.
    DcbApp,
    /// Administratively up.
    Up,
}

/// All groups, in the order of writing.
pub(super) const GROUPS: [Group; 20] = [
    Group::Sysctl,
    Group::PrivateFlags,
    Group::LinkModes,
    Group::Fec,
    Group::Pause,
    Group::Eee,
    Group::Channels,
    Group::Rings,
    Group::Rss,
    Group::Checksums,
    Group::Features,
    Group::Coalesce,
    Group::Link,
    Group::Dcbx,
    Group::DcbEts,
    Group::DcbMaxrate,
    Group::DcbPfc,
    Group::DcbBuffer,
    Group::DcbApp,
    Group::Up,
];

impl Group {
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Sysctl => "sysctl",
            Self::PrivateFlags => "private flags",
            Self::LinkModes => "link modes",
            Self::Fec => "FEC",
            Self::Pause => "pause frames",
            Self::Eee => "EEE",
            Self::Channels => "channels",
            Self::Rings => "rings",
            Self::Rss => "RSS",
            Self::Checksums | Self::Features => "offloads",
            Self::Coalesce => "interrupt moderation",
            Self::Link | Self::Up => "link",
            Self::Dcbx | Self::DcbEts | Self::DcbMaxrate | Self::DcbPfc | Self::DcbBuffer | Self::DcbApp => "DCB",
        }
    }

    /// Question whose answer has the group's values.
    pub(super) fn question(self) -> Option<Question> {
        match self {
            Self::PrivateFlags => Some(Question::PrivateFlags),
            Self::LinkModes => Some(Question::LinkModes),
            Self::Fec => Some(Question::Fec),
            Self::Pause => Some(Question::Pause),
            Self::Eee => Some(Question::Eee),
            Self::Channels => Some(Question::Channels),
            Self::Rings => Some(Question::Rings),
            Self::Checksums | Self::Features => Some(Question::Features),
            Self::Coalesce => Some(Question::Coalesce),
            Self::Link | Self::Up => Some(Question::Link),
            Self::Dcbx | Self::DcbEts | Self::DcbMaxrate | Self::DcbPfc | Self::DcbBuffer | Self::DcbApp => {
                Some(Question::Dcb)
            }
            Self::Sysctl | Self::Rss => None,
        }
    }

    /// ETHTOOL_MSG_…_SET.
    pub(super) fn command(self) -> Option<u8> {
        match self {
            Self::LinkModes => Some(5),
            Self::Checksums | Self::Features => Some(12),
            Self::PrivateFlags => Some(14),
            Self::Rings => Some(16),
            Self::Channels => Some(18),
            Self::Coalesce => Some(20),
            Self::Pause => Some(22),
            Self::Eee => Some(24),
            Self::Fec => Some(30),
            _ => None,
        }
    }
}

/// Form of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// On or off, in 8 bits.
    Switch,
    /// 32 bits.
    Number,
    /// 8 bits, each number with a word.
    Word(&'static [&'static str]),
    /// A flag of `struct ifinfomsg`, whose bit is in place of the attribute.
    Flag,
    /// A set of link modes.
    Modes,
    /// A set of codes.
    Codes,
    /// RSS's table.
    Table,
    /// A file of numbers or words.
    File,
    /// A value for each priority, class or buffer; the attribute is its place in dcbnl's structure.
    Each(Unit),
    /// Priorities of applications.
    Apps,
    /// Words for who negotiates.
    Dcbx,
}

#[derive(Debug)]
pub(super) struct Row {
    pub(super) group: Group,
    /// Name as typed, and as kept in files.
    pub(super) name: &'static str,
    /// Attribute, or flag.
    pub(super) at: u16,
    pub(super) form: Form,
}

const fn row(group: Group, name: &'static str, at: u16, form: Form) -> Row {
    Row { group, name, at, form }
}

use Form::{Codes, Each, File, Flag, Modes, Number, Switch, Table, Word};
use Group::{Channels, Coalesce, Eee, Fec, Link, LinkModes, Pause, Rings, Rss, Sysctl, Up};
use Group::{DcbApp, DcbBuffer, DcbEts, DcbMaxrate, DcbPfc, Dcbx};
use Unit::{Algorithm, Bits, Bytes, Rate, UpTo};

/// All settings but offloads and private flags, whose names the kernel and the driver tell.
pub(super) const ROWS: &[Row] = &[
    row(Sysctl, "net.core.rmem_max", 0, File),
    row(Sysctl, "net.core.wmem_max", 0, File),
    row(Sysctl, "net.core.netdev_max_backlog", 0, File),
    row(Sysctl, "net.core.netdev_budget", 0, File),
    row(Sysctl, "net.core.busy_poll", 0, File),
    row(Sysctl, "net.core.busy_read", 0, File),
    row(Sysctl, "net.core.default_qdisc", 0, File),
    row(Sysctl, "net.ipv4.tcp_rmem", 0, File),
    row(Sysctl, "net.ipv4.tcp_wmem", 0, File),
    row(Sysctl, "net.ipv4.tcp_congestion_control", 0, File),
    row(LinkModes, "autoneg", 2, Switch),
    row(LinkModes, "advertise", 3, Modes),
    row(LinkModes, "speed", 5, Number),
    row(LinkModes, "duplex", 6, Word(&["half", "full"])),
    row(Fec, "fec", 2, Codes),
    row(Pause, "pause-autoneg", 2, Switch),
    row(Pause, "pause-rx", 3, Switch),
    row(Pause, "pause-tx", 4, Switch),
    row(Eee, "eee", 5, Switch),
    row(Eee, "tx-lpi", 6, Switch),
    row(Eee, "tx-timer", 7, Number),
    row(Channels, "channels-rx", 6, Number),
    row(Channels, "channels-tx", 7, Number),
    row(Channels, "channels-other", 8, Number),
    row(Channels, "combined", 9, Number),
    row(Rings, "ring-rx", 6, Number),
    row(Rings, "ring-rx-mini", 7, Number),
    row(Rings, "ring-rx-jumbo", 8, Number),
    row(Rings, "ring-tx", 9, Number),
    row(Rings, "rx-buf-len", 10, Number),
    row(Rings, "tcp-data-split", 11, Word(&["auto", "off", "on"])),
    row(Rings, "cqe-size", 12, Number),
    row(Rings, "tx-push", 13, Switch),
    row(Rings, "rx-push", 14, Switch),
    row(Rings, "tx-push-buf-len", 15, Number),
    row(Rings, "hds-thresh", 17, Number),
    row(Rss, "rss", 0, Table),
    row(Coalesce, "adaptive-rx", 11, Switch),
    row(Coalesce, "adaptive-tx", 12, Switch),
    row(Coalesce, "rx-usecs", 2, Number),
    row(Coalesce, "rx-frames", 3, Number),
    row(Coalesce, "rx-usecs-irq", 4, Number),
    row(Coalesce, "rx-frames-irq", 5, Number),
    row(Coalesce, "tx-usecs", 6, Number),
    row(Coalesce, "tx-frames", 7, Number),
    row(Coalesce, "tx-usecs-irq", 8, Number),
    row(Coalesce, "tx-frames-irq", 9, Number),
    row(Coalesce, "stats-block-usecs", 10, Number),
    row(Coalesce, "pkt-rate-low", 13, Number),
    row(Coalesce, "rx-usecs-low", 14, Number),
    row(Coalesce, "rx-frames-low", 15, Number),
    row(Coalesce, "tx-usecs-low", 16, Number),
    row(Coalesce, "tx-frames-low", 17, Number),
    row(Coalesce, "pkt-rate-high", 18, Number),
    row(Coalesce, "rx-usecs-high", 19, Number),
    row(Coalesce, "rx-frames-high", 20, Number),
    row(Coalesce, "tx-usecs-high", 21, Number),
    row(Coalesce, "tx-frames-high", 22, Number),
    row(Coalesce, "sample-interval", 23, Number),
    row(Coalesce, "cqe-mode-tx", 24, Switch),
    row(Coalesce, "cqe-mode-rx", 25, Switch),
    row(Coalesce, "tx-aggr-max-bytes", 26, Number),
    row(Coalesce, "tx-aggr-max-frames", 27, Number),
    row(Coalesce, "tx-aggr-time-usecs", 28, Number),
    row(Link, "mtu", 4, Number),
    row(Link, "txqueuelen", 13, Number),
    row(Link, "gso-max-size", 41, Number),
    row(Link, "gso-max-segs", 40, Number),
    row(Link, "gro-max-size", 58, Number),
    row(Link, "gso-ipv4-max-size", 63, Number),
    row(Link, "gro-ipv4-max-size", 64, Number),
    row(Link, "promisc", 0x100, Flag),
    row(Link, "allmulti", 0x200, Flag),
    row(Dcbx, "dcbx", 0, Form::Dcbx),
    row(DcbEts, "ets-willing", 0, Switch),
    row(DcbEts, "tc-bw", 3, Each(UpTo(100))),
    row(DcbEts, "pg-bw", 11, Each(UpTo(100))),
    row(DcbEts, "tc-tsa", 19, Each(Algorithm)),
    row(DcbEts, "prio-tc", 27, Each(UpTo(7))),
    row(DcbEts, "reco-tc-bw", 35, Each(UpTo(100))),
    row(DcbEts, "reco-tc-tsa", 43, Each(Algorithm)),
    row(DcbEts, "reco-prio-tc", 51, Each(UpTo(7))),
    row(DcbMaxrate, "tc-maxrate", 0, Each(Rate)),
    row(DcbPfc, "prio-pfc", 1, Each(Bits)),
    row(DcbPfc, "macsec-bypass", 2, Switch),
    row(DcbPfc, "pfc-delay", 4, Number),
    row(DcbBuffer, "prio-buffer", 0, Each(UpTo(7))),
    row(DcbBuffer, "buffer-size", 8, Each(Bytes)),
    row(DcbApp, "dcb-app", 0, Form::Apps),
    row(Up, "up", 0x1, Flag),
];

/// Prefix of names of private flags.
pub(super) const PRIVATE: &str = "private.";

pub(super) fn find(name: &str) -> Option<&'static Row> {
    ROWS.iter().find(|row| row.name == name)
}

/// Rows of a group.
pub(super) fn of(group: Group) -> impl Iterator<Item = &'static Row> {
    ROWS.iter().filter(move |row| row.group == group)
}

/// Group of an offload, by the kernel's name.
pub(super) fn group_of_feature(name: &str) -> Group {
    let first = ["rx-checksum", "tx-checksum", "tx-scatter-gather"].iter().any(|begin| name.starts_with(begin));
    if first { Group::Checksums } else { Group::Features }
}

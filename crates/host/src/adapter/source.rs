//! Places from which an adapter is read: the machine, or a recorded tree. Files go by their paths, questions to the
//! kernel by a table; nothing here knows what an answer means.

use crate::absent::{Absent, Part};
use std::io;

/// An interface that a question is about: netlink takes its index, which stays through a change of name, dcbnl and ioctls its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subject {
    pub index: u32,
    pub name: String,
}

/// A question to the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Question {
    /// RTM_GETLINK of rtnetlink.
    Link,
    /// LINKINFO_GET of ethtool's family: port and transceiver.
    LinkInfo,
    /// LINKMODES_GET: speed, duplex, what is supported, advertised, and by the partner.
    LinkModes,
    /// LINKSTATE_GET: link, and why there is none.
    LinkState,
    /// FEATURES_GET: offloads.
    Features,
    /// PRIVFLAGS_GET: flags that only this driver has.
    PrivateFlags,
    /// RINGS_GET.
    Rings,
    /// CHANNELS_GET: queues.
    Channels,
    /// COALESCE_GET.
    Coalesce,
    /// PAUSE_GET, with statistics.
    Pause,
    /// EEE_GET.
    Eee,
    /// DCB_CMD_IEEE_GET of RTM_GETDCB.
    Dcb,
    /// TSINFO_GET: time-stamping.
    Stamps,
    /// FEC_GET, with statistics.
    Fec,
    /// RSS_GET.
    Rss,
    /// ETHTOOL_GRSSH by ioctl, for kernels before 6.2.
    Indirection,
    /// ETHTOOL_GRXFH by ioctl, for kernels before 6.17: fields of a kind of flow, by its number.
    Fields(u8),
    /// STATS_GET: the standard groups.
    Groups,
    /// DEV_GET of the netdev family: XDP and AF_XDP.
    Xdp,
    /// QUEUE_GET of the netdev family.
    Queues,
    /// NAPI_GET of the netdev family.
    Napis,
    /// QSTATS_GET of the netdev family, by queue.
    QueueCounters,
    /// A page of the module's memory (MODULE_EEPROM_GET).
    Module(ModulePage),
    /// ETHTOOL_GDRVINFO by ioctl.
    Driver,
    /// ETHTOOL_GSTRINGS by ioctl: names of the driver's own counters.
    Names,
    /// ETHTOOL_GSTATS by ioctl: values of the driver's own counters.
    Values,
    /// DEVLINK_CMD_INFO_GET of the devlink family, about the device that the interface stands on: versions.
    Devlink,
    /// NFT_MSG_GETCHAIN of netfilter: chains of the packet filter. It is about no interface.
    Chains,
    /// NFT_MSG_GETRULE: rules of the packet filter.
    FilterRules,
    /// RTM_GETADDR of rtnetlink, of all interfaces.
    Addresses,
    /// RTM_GETNEIGH, of all interfaces.
    Neighbours,
    /// RTM_GETROUTE, of all tables.
    Routes,
    /// RTM_GETRULE: which table is looked up for which packets.
    Policies,
    /// RTM_GETQDISC, of all interfaces.
    Qdiscs,
    /// RTM_GETTCLASS: classes of an interface's queueing disciplines.
    Classes,
    /// RTM_GETTFILTER: filters of what an interface receives and of what it sends.
    Filters,
}

/// A range of a module's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ModulePage {
    /// Address on the module's bus: 0x50, or 0x51 for the diagnostics of an SFP.
    pub device: u8,
    /// Page of the upper half.
    pub page: u8,
    /// First byte: 0 for the lower half, 128 for the upper.
    pub offset: u8,
    /// Number of bytes.
    pub length: u8,
}

/// All questions but those with a number, with the name of the file in a recorded tree.
pub(crate) const QUESTIONS: &[(Question, &str)] = &[
    (Question::Link, "netlink/link"),
    (Question::LinkInfo, "netlink/linkinfo"),
    (Question::LinkModes, "netlink/linkmodes"),
    (Question::LinkState, "netlink/linkstate"),
    (Question::Features, "netlink/features"),
    (Question::PrivateFlags, "netlink/privflags"),
    (Question::Rings, "netlink/rings"),
    (Question::Channels, "netlink/channels"),
    (Question::Coalesce, "netlink/coalesce"),
    (Question::Pause, "netlink/pause"),
    (Question::Eee, "netlink/eee"),
    (Question::Dcb, "netlink/dcb"),
    (Question::Stamps, "netlink/tsinfo"),
    (Question::Fec, "netlink/fec"),
    (Question::Rss, "netlink/rss"),
    (Question::Groups, "netlink/stats"),
    (Question::Xdp, "netlink/netdev-dev"),
    (Question::Queues, "netlink/netdev-queue"),
    (Question::Napis, "netlink/netdev-napi"),
    (Question::QueueCounters, "netlink/netdev-qstats"),
    (Question::Indirection, "ioctl/rxfh"),
    (Question::Driver, "ioctl/drvinfo"),
    (Question::Names, "ioctl/gstrings"),
    (Question::Values, "ioctl/gstats"),
    (Question::Devlink, "netlink/devlink-info"),
    (Question::Chains, "netlink/nft-chains"),
    (Question::FilterRules, "netlink/nft-rules"),
    (Question::Addresses, "netlink/addresses"),
    (Question::Neighbours, "netlink/neighbours"),
    (Question::Routes, "netlink/routes"),
    (Question::Policies, "netlink/rules"),
    (Question::Qdiscs, "netlink/qdiscs"),
    (Question::Classes, "netlink/classes"),
    (Question::Filters, "netlink/filters"),
];

impl Question {
    /// Name of the file with the answer in a recorded tree.
    #[must_use]
    pub fn file(self) -> String {
        match self {
            Self::Module(ModulePage { device, page, offset, length }) => {
                return format!("netlink/module-{device:02x}-{page:02x}-{offset}-{length}");
            }
            Self::Fields(flow) => return format!("ioctl/rxnfc-{flow:02x}"),
            _ => {}
        }
        QUESTIONS.iter().find(|(question, _)| *question == self).map_or("", |(_, file)| file).to_owned()
    }
}

/// A place from which adapters are read. Paths are below its root and do not begin with a slash.
pub trait Source {
    /// Content of a file.
    fn file(&self, path: &str) -> io::Result<Vec<u8>>;

    /// Names in a directory, sorted.
    fn names(&self, path: &str) -> io::Result<Vec<String>>;

    /// Path without symbolic links.
    fn real(&self, path: &str) -> io::Result<String>;

    /// The kernel's answers to a question about an interface, or, without one, about all: of a netlink message the
    /// attributes (of rtnetlink's with the header before them), of an ioctl its structure.
    ///
    /// # Errors
    /// The reason for which there is no answer.
    fn ask(&mut self, question: Question, of: Option<&Subject>) -> Part<Vec<Vec<u8>>>;

    /// Texts of which nothing was read, by their commands or files.
    fn untaken(&self) -> Vec<String> {
        Vec::new()
    }
}

/// The one answer to a question.
pub(crate) fn one(source: &mut dyn Source, question: Question, subject: &Subject) -> Part<Vec<u8>> {
    source.ask(question, Some(subject))?.pop().ok_or_else(nonsense)
}

/// The reason if an answer cannot be read.
pub(crate) fn nonsense() -> Absent {
    Absent::told("the kernel's answer makes no sense")
}

/// Text of a small file, trimmed; empty ones are an error, as sysfs has them for what a driver does not know.
pub(crate) fn text(source: &dyn Source, path: &str) -> Part<String> {
    let bytes = source.file(path)?;
    let text = String::from_utf8_lossy(&bytes).trim().to_owned();
    if text.is_empty() { Err(Absent::told("the file is empty")) } else { Ok(text) }
}

/// Number in a file of one number.
pub(crate) fn number<T: std::str::FromStr>(source: &dyn Source, path: &str) -> Part<T> {
    let text = text(source, path)?;
    text.parse().map_err(|_| Absent::told(format!("the kernel says {text}")))
}

/// Name of what a symbolic link leads to.
pub(crate) fn end(source: &dyn Source, path: &str) -> Part<String> {
    let real = source.real(path)?;
    Ok(real.rsplit('/').next().unwrap_or_default().to_owned())
}

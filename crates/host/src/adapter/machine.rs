//! The machine as a source: its files, and its kernel's netlink families and ioctls.

use super::dcb::DCB_ATTR_IFNAME;
use super::source::{ModulePage, Question, Source, Subject, end, nonsense};
use crate::absent::{Absent, Part};
use crate::ethtool::Driver;
use crate::netlink::Netlink;
use crate::netlink::generic::{Family, request};
use crate::netlink::link::every_link;
use crate::netlink::message::{self, Message, word};
use crate::sys::ethtool;
use std::fs::File;
use std::io::{self, Read};
use std::path::PathBuf;

/// Largest file that is read; /proc/interrupts of hundreds of processors has some MiB.
const LARGEST: u64 = 16 << 20;
/// More strings or counters than any driver has.
const MOST: usize = 1 << 20;

// linux/ethtool_netlink.h
const NESTED: u16 = 0x8000;
const HEADER_DEV_INDEX: u16 = 1;
const HEADER_FLAGS: u16 = 3;
/// ETHTOOL_FLAG_STATS
const WITH_STATS: u32 = 1 << 2;
const ETHTOOL_A_STATS_HEADER: u16 = 2;
const ETHTOOL_A_STATS_GROUPS: u16 = 3;
const ETHTOOL_A_HEADER: u16 = 1;
const BITSET_NOMASK: u16 = 1;
const BITSET_SIZE: u16 = 2;
const BITSET_VALUE: u16 = 4;
// linux/devlink.h
const BUS_NAME: u16 = 1;
const DEV_NAME: u16 = 2;
// linux/netfilter/nfnetlink.h, nf_tables.h: NFNL_SUBSYS_NFTABLES, and bytes of `struct nfgenmsg`.
const NFT_MSG_GETCHAIN: u16 = 10 << 8 | 4;
const NFT_MSG_GETRULE: u16 = 10 << 8 | 7;
const NFGENMSG: usize = 4;
// linux/dcbnl.h
const DCB_CMD_IEEE_GET: u8 = 21;
// linux/pkt_sched.h: parents of filters, of a `struct tcmsg`.
const TC_ROOT: u32 = 0;
const TC_INGRESS: u32 = 0xffff_fff2;
const TC_EGRESS: u32 = 0xffff_fff3;
// linux/ethtool.h
const ETHTOOL_GSTRINGS: u32 = 0x1b;
const ETHTOOL_GSTATS: u32 = 0x1d;
const ETHTOOL_GRXFH: u32 = 0x29;
const ETHTOOL_GRSSH: u32 = 0x46;
const ETHTOOL_GSSET_INFO: u32 = 0x37;
const ETH_SS_STATS: u32 = 1;

/// Form of a request.
enum Form {
    /// Of rtnetlink.
    Route,
    /// Of dcbnl.
    Dcb,
    /// Of the ethtool family: command, and flags in its header.
    Ethtool(u8, u32),
    /// Of the netdev family, one object for each interface: command, and the attribute for its index.
    Device(u8, u16),
    /// Of the netdev family, a list of objects of an interface.
    Objects(u8, u16),
    /// By ioctl.
    Ioctl(fn(&str) -> io::Result<Vec<u8>>),
    /// By ioctl, about a kind of flow.
    Flow(u8),
    /// Of the devlink family, about the device: command.
    Devlink(u8),
    /// Of netfilter: message.
    Netfilter(u16),
    /// Of rtnetlink, all objects of a kind: message, and bytes of the structure with which it begins.
    Lists(u16, usize),
    /// Of traffic control, the classes of an interface.
    Classes,
    /// Of traffic control, the filters of an interface.
    Filters,
}

fn form(question: Question) -> Form {
    match question {
        Question::Link => Form::Route,
        Question::LinkInfo => Form::Ethtool(2, 0),
        Question::LinkModes => Form::Ethtool(4, 0),
        Question::LinkState => Form::Ethtool(6, 0),
        Question::Features => Form::Ethtool(11, 0),
        Question::PrivateFlags => Form::Ethtool(13, 0),
        Question::Rings => Form::Ethtool(15, 0),
        Question::Channels => Form::Ethtool(17, 0),
        Question::Coalesce => Form::Ethtool(19, 0),
        Question::Pause => Form::Ethtool(21, WITH_STATS),
        Question::Eee => Form::Ethtool(23, 0),
        Question::Dcb => Form::Dcb,
        Question::Stamps => Form::Ethtool(25, 0),
        Question::Fec => Form::Ethtool(29, WITH_STATS),
        Question::Module(_) => Form::Ethtool(31, 0),
        Question::Groups => Form::Ethtool(32, 0),
        Question::Rss => Form::Ethtool(38, 0),
        Question::Xdp => Form::Device(1, 1),
        Question::Queues => Form::Objects(10, 2),
        Question::Napis => Form::Objects(11, 1),
        Question::QueueCounters => Form::Objects(12, 1),
        Question::Indirection => Form::Ioctl(indirection),
        Question::Fields(flow) => Form::Flow(flow),
        Question::Driver => Form::Ioctl(Driver::blob),
        Question::Names => Form::Ioctl(names),
        Question::Values => Form::Ioctl(values),
        Question::Devlink => Form::Devlink(51),
        Question::Chains => Form::Netfilter(NFT_MSG_GETCHAIN),
        Question::FilterRules => Form::Netfilter(NFT_MSG_GETRULE),
        Question::Addresses => Form::Lists(libc::RTM_GETADDR, 8),
        Question::Neighbours => Form::Lists(libc::RTM_GETNEIGH, 12),
        Question::Routes => Form::Lists(libc::RTM_GETROUTE, 12),
        Question::Policies => Form::Lists(libc::RTM_GETRULE, 12),
        Question::Qdiscs => Form::Lists(libc::RTM_GETQDISC, 20),
        Question::Classes => Form::Classes,
        Question::Filters => Form::Filters,
    }
}

/// The machine, as the network namespace of the thread that opened it has it. `/sys` shows the namespace of who mounted
/// it.
pub struct Machine {
    root: PathBuf,
    route: Option<Netlink>,
    ethtool: Option<Family>,
    netdev: Option<Family>,
    devlink: Option<Family>,
    netfilter: Option<Netlink>,
}

impl Machine {
    /// Makes a source; nothing is opened before the first question.
    #[must_use]
    pub fn new() -> Self {
        Self { root: PathBuf::from("/"), route: None, ethtool: None, netdev: None, devlink: None, netfilter: None }
    }
}

impl Default for Machine {
    fn default() -> Self {
        Self::new()
    }
}

impl Source for Machine {
    fn file(&self, path: &str) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        File::open(self.root.join(path))?.take(LARGEST).read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    fn names(&self, path: &str) -> io::Result<Vec<String>> {
        let entries = std::fs::read_dir(self.root.join(path))?.flatten();
        let mut names: Vec<_> = entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        Ok(names)
    }

    fn real(&self, path: &str) -> io::Result<String> {
        let real = self.root.join(path).canonicalize()?;
        Ok(real.to_string_lossy().trim_start_matches('/').to_owned())
    }

    fn ask(&mut self, question: Question, of: Option<&Subject>) -> Part<Vec<Vec<u8>>> {
        match (form(question), of) {
            (Form::Route, None) => self.route()?.list(every_link),
            (Form::Route, Some(subject)) => Ok(vec![self.route()?.link_body(subject.index)?]),
            (Form::Dcb, Some(subject)) => {
                self.dcb(libc::RTM_GETDCB, DCB_CMD_IEEE_GET, &subject.name, &[]).map(|body| vec![body])
            }
            (Form::Ethtool(command, flags), _) => {
                let family = self.ethtool()?;
                let build = |id| ethtool_request(id, command, flags, question, of);
                if of.is_none() { family.list(build) } else { Ok(vec![family.ask_words(build(family.id()))?]) }
            }
            (Form::Device(command, _), None) => self.netdev()?.list(|id| request(id, command)),
            (Form::Device(command, kind), Some(subject)) => {
                let family = self.netdev()?;
                let mut message = family.request(command);
                message.attribute(kind, &subject.index.to_ne_bytes());
                Ok(vec![family.ask_words(message)?])
            }
            (Form::Objects(command, kind), _) => self.netdev()?.list(|id| {
                let mut message = request(id, command);
                if let Some(subject) = of {
                    message.attribute(kind, &subject.index.to_ne_bytes());
                }
                if question == Question::QueueCounters {
                    // NETDEV_A_QSTATS_SCOPE, NETDEV_QSTATS_SCOPE_QUEUE
                    message.attribute(4, &1_u32.to_ne_bytes());
                }
                message
            }),
            (Form::Ioctl(ask), Some(subject)) => Ok(vec![ask(&subject.name)?]),
            (Form::Devlink(command), Some(subject)) => self.about_device(command, &subject.name),
            (Form::Devlink(command), None) => self.devlink()?.list(|id| request(id, command)),
            (Form::Netfilter(message), _) => {
                // Of all families.
                let answers = self.netfilter()?.list(|| Message::about(message, 0, &[0; NFGENMSG]))?;
                Ok(answers.into_iter().filter_map(|answer| Some(answer.get(NFGENMSG..)?.to_vec())).collect())
            }
            // Of all families.
            (Form::Lists(message, header), _) => self.route()?.list(|| Message::about(message, 0, &vec![0; header])),
            (Form::Classes, Some(subject)) => {
                let header = traffic(subject.index, TC_ROOT);
                self.route()?.list(|| Message::about(libc::RTM_GETTCLASS, 0, &header))
            }
            (Form::Filters, Some(subject)) => self.filters(subject.index),
            (Form::Classes | Form::Filters | Form::Dcb, None) => Err(Absent::told("it is about one interface")),
            (Form::Flow(flow), Some(subject)) => Ok(vec![fields(&subject.name, flow)?]),
            (Form::Ioctl(_) | Form::Flow(_), None) => Err(Absent::told("an ioctl is about one interface")),
        }
    }
}

impl Machine {
    pub(crate) fn ethtool(&mut self) -> Part<&mut Family> {
        opened(&mut self.ethtool, || Family::open("ethtool")).map_err(|e| lacks(e, "ethtool"))
    }

    pub(crate) fn route(&mut self) -> Part<&mut Netlink> {
        Ok(opened(&mut self.route, Netlink::open)?)
    }

    /// Sends a message of dcbnl, which knows interfaces by their names.
    pub(crate) fn dcb(&mut self, kind: u16, command: u8, interface: &str, attributes: &[u8]) -> Part<Vec<u8>> {
        let mut message = Message::about(kind, 0, &[0, command, 0, 0]);
        message.text(DCB_ATTR_IFNAME, interface);
        message.raw(attributes);
        self.route()?.ask_words(message)?.ok_or_else(nonsense)
    }

    /// Filters of an interface's root, and of what it receives and sends before and after that (`tc filter show`).
    fn filters(&mut self, index: u32) -> Part<Vec<Vec<u8>>> {
        let mut all = Vec::new();
        for parent in [TC_ROOT, TC_INGRESS, TC_EGRESS] {
            let header = traffic(index, parent);
            match self.route()?.list(|| Message::about(libc::RTM_GETTFILTER, 0, &header)) {
                Ok(some) => all.extend(some),
                // It has no such discipline, or one without classes.
                Err(absent) if matches!(absent.errno, Some(libc::EINVAL | libc::EOPNOTSUPP)) => {}
                Err(absent) => return Err(absent),
            }
        }
        Ok(all)
    }

    fn netfilter(&mut self) -> Part<&mut Netlink> {
        Ok(opened(&mut self.netfilter, Netlink::open_netfilter)?)
    }

    fn devlink(&mut self) -> Part<&mut Family> {
        opened(&mut self.devlink, || Family::open("devlink")).map_err(|e| lacks(e, "devlink"))
    }

    /// Answer about the device of an interface, which devlink knows by its bus and its name there.
    fn about_device(&mut self, command: u8, interface: &str) -> Part<Vec<Vec<u8>>> {
        let at = format!("sys/class/net/{interface}/device");
        let (bus, device) = (end(self, &format!("{at}/subsystem"))?, end(self, &at)?);
        let family = self.devlink()?;
        let mut message = family.request(command);
        message.text(BUS_NAME, &bus);
        message.text(DEV_NAME, &device);
        Ok(vec![family.ask_words(message)?])
    }

    fn netdev(&mut self) -> Part<&mut Family> {
        opened(&mut self.netdev, || Family::open("netdev")).map_err(|e| lacks(e, "netdev"))
    }
}

/// Content of a slot, opened at the first call.
fn opened<T>(slot: &mut Option<T>, open: impl FnOnce() -> io::Result<T>) -> io::Result<&mut T> {
    match slot {
        Some(open) => Ok(open),
        None => Ok(slot.insert(open()?)),
    }
}

/// `struct tcmsg`: family and padding, interface, handle, parent, info.
fn traffic(index: u32, parent: u32) -> Vec<u8> {
    [0, index, 0, parent, 0].map(u32::to_ne_bytes).concat()
}

fn lacks(error: io::Error, family: &str) -> Absent {
    match error.raw_os_error() {
        Some(errno @ libc::ENOENT) => {
            Absent::new(errno, Some(&format!("this kernel's netlink has no family {family}")))
        }
        _ => error.into(),
    }
}

fn ethtool_request(id: u16, command: u8, flags: u32, question: Question, of: Option<&Subject>) -> Message {
    let mut message = request(id, command);
    let header = if question == Question::Groups { ETHTOOL_A_STATS_HEADER } else { ETHTOOL_A_HEADER };
    if of.is_some() || flags != 0 {
        message.nest(header | NESTED, |header| {
            if let Some(subject) = of {
                header.attribute(HEADER_DEV_INDEX, &subject.index.to_ne_bytes());
            }
            if flags != 0 {
                header.attribute(HEADER_FLAGS, &flags.to_ne_bytes());
            }
        });
    }
    match question {
        Question::Groups => message.nest(ETHTOOL_A_STATS_GROUPS | NESTED, |set| {
            set.attribute(BITSET_NOMASK, &[]);
            set.attribute(BITSET_SIZE, &4_u32.to_ne_bytes());
            set.attribute(BITSET_VALUE, &0xf_u32.to_ne_bytes());
        }),
        Question::Module(ModulePage { device, page, offset, length }) => {
            message.attribute(2, &u32::from(offset).to_ne_bytes());
            message.attribute(3, &u32::from(length).to_ne_bytes());
            message.attribute(4, &[page]);
            message.attribute(5, &[0]);
            message.attribute(6, &[device]);
        }
        _ => {}
    }
    message
}

/// Number of the driver's own counters (ETHTOOL_GSSET_INFO).
fn count(interface: &str) -> io::Result<usize> {
    // cmd, reserved, mask of sets; behind them a number for each set in the mask that there is.
    let request = [&ETHTOOL_GSSET_INFO.to_ne_bytes()[..], &[0; 4], &(1_u64 << ETH_SS_STATS).to_ne_bytes()].concat();
    let answer = ethtool::ask(interface, &request, 20)?;
    let there = word(&answer, 8) | word(&answer, 12) != 0;
    let count = if there { message::count(&answer, 16) } else { 0 };
    if count == 0 {
        return Err(io::Error::from_raw_os_error(libc::EOPNOTSUPP));
    }
    Ok(count.min(MOST))
}

fn names(interface: &str) -> io::Result<Vec<u8>> {
    let count = count(interface)?;
    let words = [ETHTOOL_GSTRINGS, ETH_SS_STATS, u32::try_from(count).unwrap_or(0)];
    ethtool::ask(interface, &words.map(u32::to_ne_bytes).concat(), 12 + count * 32)
}

fn values(interface: &str) -> io::Result<Vec<u8>> {
    let count = count(interface)?;
    let words = [ETHTOOL_GSTATS, u32::try_from(count).unwrap_or(0)];
    ethtool::ask(interface, &words.map(u32::to_ne_bytes).concat(), 8 + count * 8)
}

/// `struct ethtool_rxfh`, with the table and the key behind it.
fn indirection(interface: &str) -> io::Result<Vec<u8>> {
    // cmd, context, entries of the table, bytes of the key; function, mixing, reserved.
    let request = |entries: u32, key: u32| [ETHTOOL_GRSSH, 0, entries, key, 0, 0].map(u32::to_ne_bytes).concat();
    let sizes = ethtool::ask(interface, &request(0, 0), 24)?;
    let most = u32::try_from(MOST).unwrap_or(0);
    let (entries, key) = (word(&sizes, 8).min(most), word(&sizes, 12).min(most));
    let room = message::count(&sizes, 8).min(MOST) * 4 + message::count(&sizes, 12).min(MOST);
    ethtool::ask(interface, &request(entries, key), 24 + room)
}

/// Beginning of `struct ethtool_rxnfc`.
fn fields(interface: &str, flow: u8) -> io::Result<Vec<u8>> {
    ethtool::ask(interface, &[ETHTOOL_GRXFH, u32::from(flow), 0, 0].map(u32::to_ne_bytes).concat(), 16)
}

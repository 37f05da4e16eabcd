//! The machine's own adapters, as kernel and drivers tell them: everything about one interface in one value of optional
//! parts, each read and parsed by one file. A part that is not there has the reason with it, in the kernel's own words.
//!
//! Nothing is changed, judged or shown here. What an interface loses while it is read (it vanishes, or gets another name)
//! is said in [`Adapter::fate`]; its other parts stay.

mod addresses;
mod chains;
mod counters;
pub(crate) mod dcb;
mod details;
mod device;
mod devlink;
pub(crate) mod fields;
mod irqs;
pub(crate) mod link;
mod list;
mod machine;
mod modes;
mod module;
mod neighbours;
mod notation;
mod pause;
mod policies;
pub(crate) mod qdiscs;
mod queues;
mod recorded;
mod recorder;
mod routes;
pub(crate) mod rss;
pub(crate) mod source;
mod stamps;
#[cfg(test)]
mod tests;
mod xdp;

use crate::absent::{Absent, Part, part};
use crate::ethtool::{Driver, Features, bitset};
use crate::netlink::message::attribute;
use serde::Serialize;
use source::{nonsense, one};
use std::collections::BTreeMap;

pub use addresses::{Address, addresses};
pub use chains::{FilterChain, FilterRule, Limit, chains, filter_rules};
pub use counters::{Group, Rate, rates};
pub use dcb::{App, Buffer, Dcb, Dcbx, Ets, Peer, Pfc, algorithm, dcb};
pub use details::{Detail, Details};
pub use device::{Device, Pci, PciLink};
pub use devlink::Devlink;
pub use fields::Rows;
pub use irqs::{Irq, Steering};
pub use link::Interface;
pub use list::{Row, list};
pub use machine::Machine;
pub use modes::{LinkDetail, Modes, PortInfo};
#[doc(hidden)]
pub use module::parse as parse_module;
pub use module::{Lane, Module, dbm};
pub use neighbours::{Neighbour, neighbours};
#[doc(hidden)]
pub use notation::read as recorded_answers;
pub use pause::{Eee, Fec, Pause};
pub use policies::{Policy, policies};
pub use qdiscs::{Filter, Qdisc, filters, least_ceiling, qdiscs};
pub use queues::{Amount, Rings};
pub use recorded::Recorded;
pub use recorder::Recorder;
pub use routes::{Metric, Route, routes};
pub use rss::Rss;
pub use source::{ModulePage, Question, Source, Subject};
pub use stamps::Stamps;
pub use xdp::{Queue, Xdp};

/// Everything about an interface.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Adapter {
    /// Names, addresses, sizes, state.
    pub interface: Interface,
    pub fate: Fate,
    /// Driver and firmware, as the driver says.
    #[serde(serialize_with = "part")]
    pub driver: Part<Driver>,
    #[serde(serialize_with = "part")]
    pub device: Part<Device>,
    /// Versions of the device, as devlink tells them.
    #[serde(serialize_with = "part")]
    pub devlink: Part<Devlink>,
    /// Speed, duplex, modes.
    #[serde(serialize_with = "part")]
    pub modes: Part<Modes>,
    /// Port and transceiver.
    #[serde(serialize_with = "part")]
    pub port: Part<PortInfo>,
    /// The module in its cage.
    #[serde(serialize_with = "part")]
    pub module: Part<Module>,
    /// Link, and why there is none.
    #[serde(serialize_with = "part")]
    pub link: Part<LinkDetail>,
    /// Numbers of queues.
    #[serde(serialize_with = "part")]
    pub channels: Part<Vec<Amount>>,
    #[serde(serialize_with = "part")]
    pub rings: Part<Rings>,
    /// Interrupt moderation.
    #[serde(serialize_with = "part")]
    pub coalesce: Part<Rows>,
    /// Distribution of received frames over queues.
    #[serde(serialize_with = "part")]
    pub rss: Part<Rss>,
    /// Offloads, by the kernel's names.
    #[serde(serialize_with = "part")]
    pub features: Part<Features>,
    /// Flags that only this driver has.
    #[serde(serialize_with = "part")]
    pub private_flags: Part<BTreeMap<String, bool>>,
    #[serde(serialize_with = "part")]
    pub pause: Part<Pause>,
    /// Error correction.
    #[serde(serialize_with = "part")]
    pub fec: Part<Fec>,
    /// Energy-efficient Ethernet.
    #[serde(serialize_with = "part")]
    pub eee: Part<Eee>,
    /// Data Center Bridging.
    #[serde(serialize_with = "part")]
    pub dcb: Part<Dcb>,
    /// XDP and AF_XDP.
    #[serde(serialize_with = "part")]
    pub xdp: Part<Xdp>,
    /// Queues and what serves them.
    #[serde(serialize_with = "part")]
    pub queues: Part<Vec<Queue>>,
    /// Processors that queues are tied to.
    #[serde(serialize_with = "part")]
    pub steering: Part<Vec<Steering>>,
    #[serde(serialize_with = "part")]
    pub irqs: Part<Vec<Irq>>,
    /// Time-stamping.
    #[serde(serialize_with = "part")]
    pub stamps: Part<Stamps>,
}

/// Fate of an interface while it was read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Fate {
    /// It is there, under its name.
    Stayed,
    /// It has that name now.
    Renamed(String),
    Gone,
}

/// Finds an interface by its name, or one of its other names.
///
/// # Errors
/// The reason: ENODEV if there is none of that name.
pub fn find(source: &mut dyn Source, name: &str) -> Part<Interface> {
    let all = interfaces(source)?;
    let named = |one: &&Interface| one.name == name || one.other_names.iter().any(|other| other == name);
    all.iter()
        .find(|one| one.name == name)
        .or_else(|| all.iter().find(named))
        .cloned()
        .ok_or_else(|| Absent::new(19, None))
}

/// All interfaces, in the kernel's order.
pub fn interfaces(source: &mut dyn Source) -> Part<Vec<Interface>> {
    Ok(source.ask(Question::Link, None)?.iter().filter_map(|body| Interface::parse(body)).collect())
}

pub fn read(source: &mut dyn Source, interface: Interface) -> Adapter {
    let subject = Subject { index: interface.index, name: interface.name.clone() };
    let name = interface.name.as_str();
    let shown = shown(source, &interface);
    let device = shown.clone().and_then(|()| device::read(source, name));
    let path = device.as_ref().ok().map(|device| device.path.clone());
    let mut adapter = Adapter {
        fate: Fate::Stayed,
        driver: one(source, Question::Driver, &subject).map(|blob| Driver::parse(&blob)),
        devlink: one(source, Question::Devlink, &subject).map(|answer| devlink::parse(&answer)),
        modes: one(source, Question::LinkModes, &subject).map(|answer| modes::modes(&answer)),
        port: one(source, Question::LinkInfo, &subject).map(|answer| modes::port(&answer)),
        module: module::read(source, &subject),
        link: one(source, Question::LinkState, &subject).map(|answer| modes::state(&answer)),
        channels: one(source, Question::Channels, &subject).map(|answer| queues::channels(&answer)),
        rings: one(source, Question::Rings, &subject).map(|answer| queues::rings(&answer)),
        coalesce: one(source, Question::Coalesce, &subject).map(|answer| queues::coalesce(&answer)),
        rss: rss::read(source, &subject),
        features: one(source, Question::Features, &subject)
            .and_then(|answer| Features::parse(&answer).ok_or_else(nonsense)),
        private_flags: one(source, Question::PrivateFlags, &subject)
            .map(|answer| attribute(&answer, 2).map(bitset::parse).unwrap_or_default().into_iter().collect()),
        pause: one(source, Question::Pause, &subject).map(|answer| pause::pause(&answer)),
        fec: one(source, Question::Fec, &subject).map(|answer| pause::fec(&answer)),
        eee: one(source, Question::Eee, &subject).map(|answer| pause::eee(&answer)),
        dcb: dcb(source, &subject),
        xdp: one(source, Question::Xdp, &subject).and_then(|answer| Ok(xdp::parse(&answer)?.1)),
        queues: source.ask(Question::Queues, Some(&subject)).map(|queues| {
            // A kernel that has queues and no instances leaves them without interrupts.
            let napis = source.ask(Question::Napis, Some(&subject)).unwrap_or_default();
            xdp::queues(&queues, &napis)
        }),
        steering: shown.clone().and_then(|()| irqs::steering(source, name)),
        irqs: shown.and_then(|()| irqs::read(source, name, path.as_deref())),
        stamps: one(source, Question::Stamps, &subject).map(|answer| stamps::parse(&answer)),
        device,
        interface,
    };
    adapter.fate = fate(source, &subject);
    adapter
}

/// Counters of an interface, by groups.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counters {
    pub groups: Vec<Group>,
    /// Sources that have none, and why.
    pub absent: Vec<(&'static str, Absent)>,
}

impl Counters {
    fn add(&mut self, name: &'static str, groups: Part<Vec<Group>>) {
        match groups {
            Ok(groups) => self.groups.extend(groups.into_iter().filter(|group| !group.rows.is_empty())),
            Err(absent) => self.absent.push((name, absent)),
        }
    }
}

/// Reads the counters of an interface, whatever its name is by now.
///
/// # Errors
/// The reason for which there is none: it is gone.
pub fn counters(source: &mut dyn Source, interface: &Interface) -> Part<Counters> {
    let subject = Subject { index: interface.index, name: interface.name.clone() };
    let now = Interface::parse(&one(source, Question::Link, &subject)?).ok_or_else(nonsense)?;
    let subject = Subject { name: now.name, ..subject };
    let group = |name: &str, rows: Rows| vec![Group { name: name.to_owned(), rows }];
    let mut all = Counters::default();
    all.add("link", Ok(group("link", now.counters)));
    all.add("standard", one(source, Question::Groups, &subject).map(|answer| counters::standard(&answer)));
    let pause = one(source, Question::Pause, &subject).map(|answer| pause::pause(&answer).counters);
    all.add("pause", pause.map(|rows| group("pause", rows)));
    let fec = one(source, Question::Fec, &subject).map(|answer| pause::fec(&answer).counters);
    all.add("fec", fec.map(|rows| group("fec", rows)));
    all.add("queues", source.ask(Question::QueueCounters, Some(&subject)).map(|all| counters::queues(&all)));
    let pfc = dcb(source, &subject).map(|dcb| dcb.pfc.map(|pfc| pfc.counters()).unwrap_or_default());
    all.add("pfc", pfc.map(|rows| group("pfc", rows)));
    let names = one(source, Question::Names, &subject);
    let own = names.and_then(|names| Ok(counters::own(&names, &one(source, Question::Values, &subject)?)));
    all.add("driver", own.map(|rows| group("driver", rows)));
    Ok(all)
}

/// The reason if sysfs has no such interface, or another one of that name: it shows the network namespace of who mounted
/// it.
fn shown(source: &dyn Source, interface: &Interface) -> Part<()> {
    let at = format!("sys/class/net/{}", interface.name);
    let index = source::number::<u32>(source, &format!("{at}/ifindex"));
    let address = source::text(source, &format!("{at}/address")).ok();
    match index {
        Ok(index) if index == interface.index && address == interface.address => Ok(()),
        Ok(_) => Err(Absent::told("/sys shows another network namespace")),
        Err(absent) => Err(absent),
    }
}

fn fate(source: &mut dyn Source, subject: &Subject) -> Fate {
    match one(source, Question::Link, subject) {
        Ok(body) => match Interface::parse(&body) {
            Some(now) if now.name != subject.name => Fate::Renamed(now.name),
            _ => Fate::Stayed,
        },
        Err(absent) if absent.is_gone() => Fate::Gone,
        Err(_) => Fate::Stayed,
    }
}

//! Two hosts of a workload: in namespaces of their own with a veth pair between them, or of our own stack at the two ends of a
//! cable. Nothing of the machine's own network is touched, and nothing is left when the process ends, however it does.

use super::{Place, Site};
use linerate_host::{Namespace, Rtnetlink, VethPair};
use linerate_result::PortUsed;
use linerate_rt::net::{Net, Options};
use std::net::Ipv4Addr;
use std::sync::Arc;

/// Path between the two hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Via {
    /// The kernel's sockets, over a veth pair.
    Kernel,
    /// Our own stack, over a cable.
    Stack,
}

impl Via {
    pub(crate) const WORDS: [&str; 2] = ["kernel", "stack"];

    pub(crate) fn parse(word: &str) -> Option<Self> {
        match word {
            "kernel" => Some(Self::Kernel),
            "stack" => Some(Self::Stack),
            _ => None,
        }
    }
}

/// Interfaces of the pair, and addresses.
const NAMES: [&str; 2] = ["lr0", "lr1"];
const PREFIX: u8 = 24;
const ADDRESSES: [Ipv4Addr; 2] = [Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(10, 0, 0, 2)];
/// Slots of a cable's rings.
const SLOTS: u32 = 1024;

/// A host.
pub(crate) struct Side {
    pub(crate) site: Site,
    pub(crate) address: String,
    /// Namespace in which its sockets are opened.
    namespace: Option<Arc<Namespace>>,
}

impl Side {
    /// Runs something where the host is.
    pub(crate) fn run<T: Send>(&self, run: impl FnOnce() -> T + Send) -> Result<T, String> {
        match &self.namespace {
            Some(namespace) => namespace.run_in(run).map_err(|e| e.to_string()),
            None => Ok(run()),
        }
    }
}

pub(crate) struct Pair {
    pub(crate) sides: [Side; 2],
    pub(crate) ports: Vec<PortUsed>,
    /// Dropped after the namespaces' users.
    _link: Option<Arc<VethPair>>,
}

impl Pair {
    /// Describes what [`Self::new`] makes.
    pub(crate) fn describe(via: Via, mtu: u32) -> String {
        let [a, b] = ADDRESSES;
        match via {
            Via::Kernel => {
                let [near, far] = NAMES;
                format!(
                    "two network namespaces, veth pair {near} {a}/{PREFIX} to {far} {b}/{PREFIX}, MTU {mtu}, as shipped"
                )
            }
            Via::Stack => format!("two hosts of linerate's stack, {a}/{PREFIX} to {b}/{PREFIX}, on a cable, MTU {mtu}"),
        }
    }

    /// Makes two hosts whose packets have so many bytes at most; servers listen at this port.
    pub(crate) fn new(via: Via, port: u16, mtu: u32) -> Result<Self, String> {
        let place = Place { port, bind: None, device: None, family: None };
        match via {
            Via::Kernel => Self::of_kernel(&place, mtu),
            Via::Stack => Self::of_stack(&place, mtu),
        }
    }

    /// The same hosts, with servers at another port.
    pub(crate) fn at(&self, port: u16) -> Self {
        let side = |side: &Side| {
            let place = Place { port, ..side.site.place().clone() };
            Side { site: side.site.placed(place), address: side.address.clone(), namespace: side.namespace.clone() }
        };
        let [a, b] = &self.sides;
        Self { sides: [side(a), side(b)], ports: self.ports.clone(), _link: self._link.clone() }
    }

    fn of_kernel(place: &Place, mtu: u32) -> Result<Self, String> {
        let wrong = |e: linerate_host::Error| e.to_string();
        let spaces = [Namespace::quiet().map_err(wrong)?, Namespace::quiet().map_err(wrong)?];
        // Default queues and offloads, as shipped.
        let link = spaces[0].run_in(|| VethPair::new(NAMES, 1, mtu)).map_err(wrong)?.map_err(wrong)?;
        let moved = spaces[0].run_in(|| Rtnetlink::open()?.move_to(NAMES[1], &spaces[1])).map_err(wrong)?;
        moved.map_err(wrong)?;
        for ((space, name), address) in spaces.iter().zip(NAMES).zip(ADDRESSES) {
            let set = space.run_in(|| {
                let mut links = Rtnetlink::open()?;
                links.add_address(name, address, PREFIX)?;
                links.set_up(name, true)
            });
            set.map_err(wrong)?.map_err(wrong)?;
        }
        let ports = NAMES.map(|name| PortUsed {
            name: name.to_owned(),
            path: "the kernel's sockets over a veth pair, each end in a namespace".to_owned(),
            mtu: Some(mtu),
            ..PortUsed::default()
        });
        let [a, b] = spaces;
        let mut sides = Vec::with_capacity(2);
        for (namespace, address) in [a, b].into_iter().zip(ADDRESSES) {
            let site = Site::open(place, None)?;
            sides.push(Side { site, address: address.to_string(), namespace: Some(Arc::new(namespace)) });
        }
        Self::of(sides, ports, Some(link))
    }

    fn of_stack(place: &Place, mtu: u32) -> Result<Self, String> {
        // A number of its own in this process: a cable that is going is not there for the next pair.
        let name = format!("pair-{}-{}", std::process::id(), super::number());
        let names = ["{1", "}1"].map(|end| format!("cable:{name}{end},slots={SLOTS},mtu={mtu}"));
        let cidrs = ADDRESSES.map(|address| format!("{address}/{PREFIX}").parse());
        let [Ok(a), Ok(b)] = cidrs else { return Err("addresses of the hosts".to_owned()) };
        let options = Options { mtu: usize::try_from(mtu).ok(), ..Options::default() };
        let nets = Net::open_pair([&names[0], &names[1]], [a, b], &options).map_err(|e| e.to_string())?;
        // Without the number, so that those of all tests are the same in a report.
        let ports = ["{1", "}1"].map(|end| PortUsed {
            name: format!("cable:pair{end},slots={SLOTS},mtu={mtu}"),
            path: "linerate's own stack over a cable within this process".to_owned(),
            mtu: Some(mtu),
            ..PortUsed::default()
        });
        let sides = nets.into_iter().zip(ADDRESSES).map(|(net, address)| Side {
            site: Site::of(place, net),
            address: address.to_string(),
            namespace: None,
        });
        Self::of(sides.collect(), ports, None)
    }

    fn of(sides: Vec<Side>, ports: [PortUsed; 2], link: Option<VethPair>) -> Result<Self, String> {
        let sides = <[Side; 2]>::try_from(sides).map_err(|_| "two hosts".to_owned())?;
        Ok(Self { sides, ports: ports.into(), _link: link.map(Arc::new) })
    }
}

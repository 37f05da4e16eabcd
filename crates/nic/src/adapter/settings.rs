//! Settings of an adapter's virtual interfaces, and how a change reaches the threads that carry frames: they look at
//! one number, the generation, once a batch, and fetch the settings anew when it has changed.

use super::cap::Bucket;
use super::count::{LedgerCells, ViCells};
use super::demux::{Demux, ViSet};
use super::filters::{Filters, in_force};
use super::share::Part;
use crate::flags::{AdapterFlags, Flags};
use linerate_offload::{ClassTable, Rss, Steering};
use linerate_wire::{EtherType, Priority};
use std::convert::Infallible;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Settings of one virtual interface.
#[derive(Clone, Debug)]
pub struct ViSettings {
    /// True if it takes part at all.
    pub up: bool,
    /// Its own address. Another interface may have it too if no frame could be for both, by their EtherTypes.
    pub mac: [u8; 6],
    /// The EtherTypes whose frames it receives, and no interface that does not name them; none: all that nobody names.
    /// An adapter tells at most 15 apart.
    pub ethertypes: Vec<EtherType>,
    /// Addresses that it receives besides its own, unicast and multicast; at most 32.
    pub addresses: Vec<[u8; 6]>,
    /// It receives all that comes to the port.
    pub promiscuous: bool,
    /// It receives all multicasts.
    pub all_multicast: bool,
    /// The VLANs whose frames it receives while VLAN_HWFILTER is on; untagged and priority-tagged frames always pass.
    pub vlans: Vec<u16>,
    /// Largest payload of a frame, in bytes.
    pub mtu: usize,
    /// Capabilities of the adapter for it, and those switched on.
    pub flags: AdapterFlags,
    /// Most that it may send, in bit/s on the wire: framing of 24 bytes a frame included.
    pub rate: Option<u64>,
    /// Its 802.1Q priority, which chooses its traffic class ([`ClassTable`]). It is the interface's: tags of single
    /// frames, with other priorities, change nothing in how the link is shared.
    pub priority: Priority,
    /// Its share of what its traffic class has of the link when there is not enough for all: 1 to 1000, against the
    /// weights of the others in that class.
    pub weight: u32,
    /// How its flows are spread over receive queues; None hashes nothing.
    pub rss: Option<Arc<Rss>>,
    /// Filters that send flows to queues before RSS is asked.
    pub steering: Option<Arc<Steering>>,
}

impl ViSettings {
    /// True if a frame to one address could be for both.
    pub(crate) fn shares_types(&self, other: &Self) -> bool {
        let both_take_the_rest = self.ethertypes.is_empty() && other.ethertypes.is_empty();
        both_take_the_rest || self.ethertypes.iter().any(|ethertype| other.ethertypes.contains(ethertype))
    }

    /// True if a flag is on for IPv6: IPv4's flag stands for both where the adapter has none of its own for IPv6, as in
    /// the published one.
    pub(crate) fn on_v6(&self, both: Flags, v6: Flags) -> bool {
        self.flags.enabled().contains(if self.flags.capabilities().contains(v6) { v6 } else { both })
    }
}

/// All interfaces' settings, and the adapter's, as the threads use them.
pub(crate) struct Compiled {
    pub(crate) vis: Vec<ViSettings>,
    pub(crate) classes: ClassTable,
    pub(crate) demux: Demux,
    /// Receive filters of the adapter; None: there are none.
    pub(crate) filters: Option<Arc<Filters>>,
    /// Rate in bit/s that senders have while no congestion point tells them to slow down; None: nobody is heard.
    pub(crate) reaction: Option<u64>,
}

impl Compiled {
    /// Those of interfaces alone.
    fn new(vis: Vec<ViSettings>) -> Self {
        Self { demux: Demux::new(&vis), vis, classes: ClassTable::default(), filters: None, reaction: None }
    }

    /// The same with other interfaces.
    fn with(&self, vis: Vec<ViSettings>) -> Self {
        let Self { classes, filters, reaction, .. } = self;
        Self { classes: *classes, filters: filters.clone(), reaction: *reaction, ..Self::new(vis) }
    }

    /// True if received frames are looked into before anything else.
    #[inline]
    pub(crate) fn looks(&self) -> bool {
        self.filters.is_some() || self.reaction.is_some()
    }

    /// Each interface's part of the link.
    pub(crate) fn parts(&self) -> Vec<Part> {
        self.vis.iter().map(|vi| Part { class: self.classes.class(vi.priority), weight: vi.weight }).collect()
    }
}

/// State shared by all threads of an adapter.
pub(crate) struct Shared {
    generation: AtomicU64,
    compiled: Mutex<Arc<Compiled>>,
    /// Counters of all interfaces on each port queue.
    pub(crate) cells: Vec<Arc<QueueCells>>,
    /// When each interface may send again, if its rate is capped.
    pub(crate) buckets: Box<[Bucket]>,
    /// Of each port queue.
    pub(crate) notices: Vec<Notices>,
}

/// One port queue's counters.
pub(crate) struct QueueCells {
    pub(crate) vis: Box<[ViCells]>,
    pub(crate) ledger: LedgerCells,
}

impl Shared {
    pub(crate) fn new(vis: Vec<ViSettings>, queues: usize) -> Self {
        let cells = |_| {
            let vis = vis.iter().map(|_| ViCells::default()).collect();
            Arc::new(QueueCells { vis, ledger: LedgerCells::default() })
        };
        Self {
            cells: (0..queues).map(cells).collect(),
            buckets: vis.iter().map(|_| Bucket::default()).collect(),
            notices: (0..queues).map(|_| Notices::default()).collect(),
            generation: AtomicU64::new(1),
            compiled: Mutex::new(Arc::new(Compiled::new(vis))),
        }
    }

    /// Changes with every change of a setting.
    #[inline]
    pub(crate) fn generation(&self) -> u64 {
        // Acquire pairs with the release in `replace`; the settings themselves come through the mutex.
        self.generation.load(Ordering::Acquire)
    }

    pub(crate) fn now(&self) -> Arc<Compiled> {
        self.compiled.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Puts other settings in force, made of those that are; an error leaves all as it was.
    fn change<T, E>(&self, change: impl FnOnce(&Compiled) -> Result<(Compiled, T), E>) -> Result<T, E> {
        let mut compiled = self.compiled.lock().unwrap_or_else(PoisonError::into_inner);
        let (changed, done) = change(&compiled)?;
        *compiled = Arc::new(changed);
        self.generation.fetch_add(1, Ordering::Release);
        Ok(done)
    }

    /// Puts other settings of interfaces in force, made of those that are; an error leaves all as it was.
    pub(crate) fn replace<T, E>(&self, change: impl FnOnce(&mut Vec<ViSettings>) -> Result<T, E>) -> Result<T, E> {
        self.change(|compiled| {
            let mut vis = compiled.vis.clone();
            let done = change(&mut vis)?;
            Ok((compiled.with(vis), done))
        })
    }

    /// Puts other traffic classes in force.
    pub(crate) fn replace_classes(&self, classes: ClassTable) {
        let Ok(()) = self.change(|now| Ok::<_, Infallible>((Compiled { classes, ..now.with(now.vis.clone()) }, ())));
    }

    /// Has the adapter hear congestion points, or no more.
    pub(crate) fn replace_reaction(&self, reaction: Option<u64>) {
        let Ok(()) = self.change(|now| Ok::<_, Infallible>((Compiled { reaction, ..now.with(now.vis.clone()) }, ())));
    }

    /// Puts other receive filters in force, made of those that are; an error leaves all as it was.
    pub(crate) fn replace_filters<T, E>(&self, change: impl FnOnce(&mut Filters) -> Result<T, E>) -> Result<T, E> {
        self.change(|now| {
            let mut filters = now.filters.as_deref().cloned().unwrap_or_default();
            let done = change(&mut filters)?;
            Ok((Compiled { filters: in_force(filters), ..now.with(now.vis.clone()) }, done))
        })
    }

    /// Has every queue's senders of these interfaces slow down.
    pub(crate) fn notify(&self, interfaces: ViSet, feedback: u8) {
        for notices in &self.notices {
            notices.add(interfaces, feedback);
        }
    }
}

/// Messages of congestion points, on their way to a queue's transmit half.
#[derive(Default)]
pub(crate) struct Notices {
    any: AtomicBool,
    list: Mutex<Vec<(ViSet, u8)>>,
}

impl Notices {
    /// Most that wait. A queue that takes none for so long sends nothing either.
    const MOST: usize = 256;

    fn add(&self, interfaces: ViSet, feedback: u8) {
        let mut list = self.list.lock().unwrap_or_else(PoisonError::into_inner);
        if list.len() < Self::MOST {
            list.push((interfaces, feedback));
        }
        self.any.store(true, Ordering::Release);
    }

    /// Takes all that there are.
    pub(crate) fn take(&self) -> Vec<(ViSet, u8)> {
        // Acquire pairs with the release in `add`; the list itself comes through the mutex.
        if !self.any.swap(false, Ordering::Acquire) {
            return Vec::new();
        }
        std::mem::take(&mut self.list.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

//! Settings and counters from any thread.

use super::count::{RxLedger, ViCounters};
use super::demux::{MAX_TYPES, named};
use super::settings::{Shared, ViSettings};
use super::tx::Down;
use super::{MAX_MTU, MIN_MTU};
use crate::flags::{FlagError, Flags};
use linerate_offload::{ClassTable, Selection, SteerError};
use linerate_port::{Filter, Info, Link, Port};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Most addresses of an interface besides its own.
pub(super) const MAX_ADDRESSES: usize = 32;

/// Why an adapter, or a setting, cannot be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NicError {
    /// Too many or no interfaces.
    #[error("{0} virtual interfaces: give 1 to 128")]
    Interfaces(usize),
    /// There is no such interface.
    #[error("there is no virtual interface {0}; this adapter has {1}, counted from 0")]
    NoInterface(usize, usize),
    /// An MTU beyond the limits.
    #[error("mtu {mtu} will not do; give {MIN_MTU} to {most}{}", beyond(*.most))]
    Mtu {
        /// The value asked for.
        mtu: usize,
        /// The most that the port takes.
        most: usize,
    },
    /// An MTU that needs JUMBO_MTU.
    #[error("mtu {0} needs the capability JUMBO_MTU; give at most 1500")]
    Jumbo(usize),
    /// A group address where an interface's own is wanted.
    #[error("{} is a group's address or nobody's; give a unicast one, as 02:00:00:00:00:01", linerate_text::colons(.0))]
    Mac([u8; 6]),
    /// Two interfaces would have one address.
    #[error("{} is interface {other}'s address; give another", linerate_text::colons(.mac))]
    MacTaken {
        /// The address.
        mac: [u8; 6],
        /// Whose it is.
        other: usize,
    },
    /// Too many EtherTypes.
    #[error("{0} EtherTypes: the interfaces of an adapter name at most {MAX_TYPES}")]
    EtherTypes(usize),
    /// Too many addresses.
    #[error("{0} addresses: an interface takes at most {MAX_ADDRESSES} besides its own; set allmulti or promisc")]
    Addresses(usize),
    /// A VLAN that there is not.
    #[error("vlan {0} will not do; give 1 to 4094")]
    Vlan(u16),
    /// A weight beyond the limits.
    #[error("weight {0} will not do; give 1 to {most}", most = Selection::MAX_WEIGHT)]
    Weight(u32),
    /// A rate of nothing.
    #[error("a rate of {0} bit/s will not do; give at least 1000, or none")]
    Rate(u64),
    /// A parameter that there is not, or that cannot be so: one line that says which, and what can be.
    #[error("{0}")]
    Parameter(String),
    /// The port does not take the addresses.
    #[error("{0}")]
    Filter(String),
    /// A receive filter that cannot be.
    #[error(transparent)]
    Steer(#[from] SteerError),
    /// A flag that cannot be so.
    #[error(transparent)]
    Flag(#[from] FlagError),
}

/// The mend, in words.
fn beyond(most: usize) -> &'static str {
    if most < MAX_MTU { " (for more open the port with a larger mtu=)" } else { "" }
}

/// Reads and changes an adapter's settings and reads its counters, from any thread.
#[derive(Clone)]
pub struct Control {
    pub(super) shared: Arc<Shared>,
    under: Arc<Mutex<Under>>,
    info: Arc<Info>,
    down: Down,
}

/// The port without its queues.
struct Under {
    port: Port,
    /// Which addresses it was told to receive.
    filter: Filter,
    /// Why it receives all frames, if it did not take the addresses.
    unfiltered: Option<String>,
}

impl Control {
    pub(super) fn new(shared: Arc<Shared>, port: Port, down: Down) -> Result<Self, NicError> {
        let info = Arc::new(port.info().clone());
        let under = Under { port, filter: Filter::default(), unfiltered: None };
        let control = Self { shared, under: Arc::new(Mutex::new(under)), info, down };
        control.tell(&control.shared.now().vis)?;
        Ok(control)
    }

    fn under(&self) -> MutexGuard<'_, Under> {
        self.under.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells a port that chooses what it delivers what all interfaces together want. One that does not take their
    /// addresses receives all frames instead.
    fn tell(&self, vis: &[ViSettings]) -> Result<(), NicError> {
        if !self.info.caps.filters {
            return Ok(());
        }
        let up = || vis.iter().filter(|vi| vi.up);
        let own = |mac: &[u8; 6]| Some(*mac) != self.info.mac;
        let addresses = up().flat_map(|vi| std::iter::once(vi.mac).chain(vi.addresses.iter().copied())).filter(own);
        let filter = Filter {
            promiscuous: up().any(|vi| vi.promiscuous),
            all_multicast: up().any(|vi| vi.all_multicast),
            addresses: addresses.collect(),
        };
        let mut under = self.under();
        if filter != under.filter {
            under.unfiltered = None;
            if let Err(why) = under.port.filter(&filter) {
                let all = Filter { promiscuous: true, all_multicast: true, addresses: Vec::new() };
                under.port.filter(&all).map_err(|_| NicError::Filter(why.to_string()))?;
                under.unfiltered = Some(format!("{why}: the port receives all frames instead"));
            }
            under.filter = filter;
        }
        Ok(())
    }

    /// State of the link.
    #[must_use]
    pub fn link(&self) -> Link {
        self.under().port.link()
    }

    /// MTU that the port's interface has now, as [`Port::mtu`] has it.
    #[must_use]
    pub fn port_mtu(&self) -> Option<usize> {
        self.under().port.mtu()
    }

    /// Raw counters that somebody else keeps (the kernel), by name.
    #[must_use]
    pub fn raw_counters(&self) -> Vec<(String, u64)> {
        self.under().port.raw_counters()
    }

    /// Notes on the port for the user, as [`Port::notes`] has them, and one if it receives more than was asked for.
    #[must_use]
    pub fn notes(&self) -> Vec<String> {
        let under = self.under();
        under.port.notes().into_iter().chain(under.unfiltered.clone()).collect()
    }

    /// Trouble of the port since it was opened, in one line for the user.
    #[must_use]
    pub fn trouble(&self) -> Option<String> {
        self.under().port.trouble()
    }

    /// Description of the port.
    #[must_use]
    pub fn port(&self) -> &Info {
        &self.info
    }

    /// Virtual interfaces.
    #[must_use]
    pub fn interfaces(&self) -> usize {
        self.shared.now().vis.len()
    }

    /// The settings' generation: it changes with each change.
    #[must_use]
    #[inline]
    pub fn generation(&self) -> u64 {
        self.shared.generation()
    }

    /// An interface's settings.
    ///
    /// # Errors
    /// [`NicError::NoInterface`].
    pub fn settings(&self, vi: usize) -> Result<ViSettings, NicError> {
        let now = self.shared.now();
        now.vis.get(vi).cloned().ok_or(NicError::NoInterface(vi, now.vis.len()))
    }

    /// Changes an interface's settings, all or nothing; they are in force with each queue's next sync or poll.
    ///
    /// # Errors
    /// [`NicError`] names what cannot be; nothing is changed then.
    pub fn change<T>(&self, vi: usize, change: impl FnOnce(&mut ViSettings) -> T) -> Result<T, NicError> {
        self.try_change(vi, |settings| Ok(change(settings)))
    }

    /// The same; an error of the change itself changes nothing.
    pub(super) fn try_change<T>(
        &self,
        vi: usize,
        change: impl FnOnce(&mut ViSettings) -> Result<T, NicError>,
    ) -> Result<T, NicError> {
        self.shared.replace(|vis| {
            let n = vis.len();
            let settings = vis.get_mut(vi).ok_or(NicError::NoInterface(vi, n))?;
            let done = change(settings)?;
            self.check(settings)?;
            let settings = &vis[vi];
            let taken = |other: &ViSettings| other.mac == settings.mac && other.shares_types(settings);
            if let Some(other) = vis.iter().enumerate().position(|(k, other)| k != vi && taken(other)) {
                return Err(NicError::MacTaken { mac: settings.mac, other });
            }
            let types = named(vis);
            if types > MAX_TYPES {
                return Err(NicError::EtherTypes(types));
            }
            self.tell(vis)?;
            Ok(done)
        })
    }

    /// The adapter's traffic classes.
    #[must_use]
    pub fn classes(&self) -> ClassTable {
        self.shared.now().classes
    }

    /// Changes the adapter's traffic classes, all of them; they are in force with each queue's next sync.
    pub fn set_classes(&self, classes: ClassTable) {
        self.shared.replace_classes(classes);
    }

    /// Has the adapter obey congestion points (QCN): an interface whose frames they sample is slowed down, from this rate in bit/s
    /// on, the link's. None: it hears none.
    pub fn react(&self, rate: Option<u64>) {
        self.shared.replace_reaction(rate);
    }

    /// Enables a flag, or with `-` before it disables it, in FreeBSD's or ethtool's words; gives all flags that changed,
    /// those that went along included.
    ///
    /// # Errors
    /// [`NicError::Flag`].
    pub fn set_flag(&self, vi: usize, word: &str) -> Result<Flags, NicError> {
        self.try_change(vi, |settings| Ok(settings.flags.apply(word)?))
    }

    fn check(&self, settings: &ViSettings) -> Result<(), NicError> {
        let most = self.info.mtu.min(MAX_MTU);
        if !(MIN_MTU..=most).contains(&settings.mtu) {
            return Err(NicError::Mtu { mtu: settings.mtu, most });
        }
        if settings.mtu > 1500 && !settings.flags.enabled().contains(Flags::JUMBO_MTU) {
            return Err(NicError::Jumbo(settings.mtu));
        }
        if settings.mac[0] & 1 != 0 || settings.mac == [0; 6] {
            return Err(NicError::Mac(settings.mac));
        }
        if settings.addresses.len() > MAX_ADDRESSES {
            return Err(NicError::Addresses(settings.addresses.len()));
        }
        if let Some(vid) = settings.vlans.iter().find(|vid| !(1..=4094).contains(*vid)) {
            return Err(NicError::Vlan(*vid));
        }
        if !(1..=Selection::MAX_WEIGHT).contains(&settings.weight) {
            return Err(NicError::Weight(settings.weight));
        }
        match settings.rate.filter(|rate| *rate < 1000) {
            Some(rate) => Err(NicError::Rate(rate)),
            None => Ok(()),
        }
    }

    /// Counters of an interface, of all queues together.
    ///
    /// # Errors
    /// [`NicError::NoInterface`].
    pub fn counters(&self, vi: usize) -> Result<ViCounters, NicError> {
        let mut sum = ViCounters::default();
        for queue in &self.shared.cells {
            let cells = queue.vis.get(vi).ok_or(NicError::NoInterface(vi, queue.vis.len()))?;
            sum.add(&cells.read());
        }
        Ok(sum)
    }

    /// Counters of all port queues, as of their last polls.
    #[must_use]
    pub fn ledger(&self) -> RxLedger {
        let mut sum = RxLedger::default();
        self.shared.cells.iter().for_each(|queue| sum += queue.ledger.read());
        sum
    }

    /// Where each offload is done, transmit and then receive, in words.
    #[must_use]
    pub fn where_done(&self) -> Vec<(&'static str, &'static str)> {
        const SOFTWARE: &str = "in software";
        let to = |down: bool| if down { "handed down to the port" } else { SOFTWARE };
        let from = if self.info.caps.metadata { "by the port where it vouches, else in software" } else { SOFTWARE };
        vec![
            ("transmit checksum", to(self.down.checksum)),
            ("TCP segmentation", to(self.down.tso)),
            ("UDP segmentation", to(self.down.uso)),
            ("VLAN tag insertion", SOFTWARE),
            ("receive checksum", from),
            ("LRO", SOFTWARE),
            ("VLAN tag stripping", SOFTWARE),
            ("VLAN and address filters", SOFTWARE),
            ("RSS and receive filters", SOFTWARE),
        ]
    }
}

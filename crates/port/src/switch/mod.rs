//! The switch: forwards frames from each of its ports to the port of their destination address (IEEE 802.1Q-2018 clause
//! 8).
//!
//! [`Switch`] is the engine: ports are attached to it, and whenever it is polled it moves frames from their receive
//! rings into others' transmit rings, by exchanging buffers where it can and by copies elsewhere. It learns addresses
//! in a table of fixed size (`table`), knows VLANs (`vlan`), and drops frames without room, as VALE does, or lets their
//! sender wait, priority by priority ([`Policy`]). `vale:SW:PORT` opened together in one call are ports of a switch of this
//! process: then each sender forwards its own frames within its sync (`within`). Otherwise they are ports of a switch
//! in another process, which admits them at its [`Listener`]. An adapter's virtual interfaces are taken at such a listener too
//! (`vi`): whoever runs the adapter gets each program as a [`Guest`].
//!
//! Each frame is accounted for: see [`Ledger`].
//!
//! A port that is joined to another one outside of the switch is blocked (`guard`), and groups of IP go to their listeners
//! (`snoop`), where that is asked for.
//!
//! Out of scope: spanning tree and clocks. A buffer is never lent from one port to another: a port that gets one gives
//! another for it at once.

mod buffer;
mod cells;
mod congestion;
mod flood;
mod forward;
mod grant;
mod groups;
mod guard;
mod guest;
mod headroom;
mod hello;
mod inlet;
mod kept;
mod ledger;
mod listener;
mod member;
mod own;
mod parked;
mod pfc;
mod portset;
mod probe;
mod querier;
mod queues;
mod rewrite;
mod show;
mod snoop;
mod storm;
mod table;
mod turn;
mod vale;
mod vi;
mod vlan;
mod within;

pub use buffer::{Alpha, CELL, QueueDrop, QueueDrops};
pub use congestion::{Ecn, Qcn};
pub use groups::GroupCounters;
pub use guest::Guest;
pub use headroom::{Headroom, Span};
pub use kept::PortNews;
pub use ledger::{Ledger, PortReport};
pub use listener::{Grant, Listener, ListenerCounters};
pub use member::{Fate, Policy, PortCounters, PriorityCounters};
pub use pfc::PfcCounters;
pub use queues::{Buffers, ClassCounters};
pub use rewrite::retag;
pub use show::{AddressRow, BlockedRow, GroupRow, QuerierRow, RouterRow};
pub use storm::{Storm, StormAction, Watchdog};
pub use table::{MOST_PORTS, TABLE_SIZES, TableCounters};
pub(crate) use vale::{KIND, meets_within};
pub(crate) use vi::KIND as INTERFACE;
pub use vlan::{Leave, Vlans};

use crate::cable::Side;
use crate::error::{Cause, OpenError};
use crate::finish::Finisher;
use crate::info::{Caps, Link};
use crate::port::Port;
use crate::queue::{RxQueue, TxQueue};
use crate::random::random;
use flood::{Flock, Share};
use forward::{Passed, Target};
use ledger::Retired;
use linerate_sum::SplitMix64;
use member::{Member, Outlet, Source};
use own::Own;
use parked::Parked;
use queues::Store;
use rewrite::Whole;
use std::sync::Arc;
use table::{PortId, Table};

/// Number of addresses in the learning table.
pub const ADDRESSES: u32 = 8192;
/// Slots taken from one queue before the next one's turn.
const BURST: u32 = 512;

/// Time of the learning table, in units of about a second.
fn tick_of(now: u64) -> u32 {
    u32::try_from(now >> 30 & u64::from(u32::MAX)).unwrap_or(0)
}

/// Seconds in units of the table's time, rounded up.
fn ticks(seconds: u32) -> u32 {
    let whole = (u64::from(seconds) * 1_000_000_000).div_ceil(1 << 30);
    // The tick in which an address was last seen may be nearly over.
    u32::try_from(whole).map_or(u32::MAX, |ticks| if ticks == 0 { 0 } else { ticks + 1 })
}

/// Direction of the frames that a monitor shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Frames that the port sends into the switch.
    In,
    /// Frames that the switch sends to the port.
    Out,
    /// Both.
    Both,
}

/// Mirroring of a port to a monitor.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Mirror {
    of: String,
    to: String,
    direction: Direction,
}

/// A learning switch; see the module's text.
pub struct Switch {
    members: Vec<Option<Member>>,
    /// Attached ports, in order.
    live: Vec<PortId>,
    /// Those of them that turns visit, in order: those with a queue that is not parked, or without queues.
    awake: Vec<PortId>,
    /// Those of them with frames that wait for room at other ports, in the order in which they get it.
    waiting: Vec<PortId>,
    /// Those that come behind them in the next turn.
    behind: Vec<PortId>,
    /// A frame of the port served last waits for room.
    cut: bool,
    parked: Parked,
    /// A port has left the awake ones in this turn.
    parks: bool,
    /// The last turn forwarded frames.
    worked: bool,
    /// Ports into whose rings something was put since the last flush.
    touched: Vec<PortId>,
    /// Buffers of outputs without room, if there are any.
    store: Option<Box<Store>>,
    share: Share,
    flock: Flock,
    table: Table,
    mirrors: Vec<Mirror>,
    forwards_reserved: bool,
    retired: Retired,
    own: Own,
    /// Address of the switch's own frames.
    mac: [u8; 6],
    /// Time of the last call, in ns.
    now: u64,
    whole: Whole,
    changed: Vec<u8>,
    targets: Vec<Target>,
}

/// Resources of a port to be attached.
pub(crate) struct Plug {
    pub(crate) name: String,
    pub(crate) path: String,
    pub(crate) policy: Policy,
    pub(crate) caps: Caps,
    pub(crate) largest: usize,
    pub(crate) rx: Vec<RxQueue>,
    pub(crate) tx: Vec<TxQueue>,
    pub(crate) life: Option<Arc<Side>>,
    keep: Option<Port>,
}

impl Default for Switch {
    fn default() -> Self {
        Self::new()
    }
}

impl Switch {
    /// A switch without ports.
    #[must_use]
    pub fn new() -> Self {
        Self::with_addresses(ADDRESSES)
    }

    /// The same with a table for so many addresses, within [`TABLE_SIZES`], rounded up to a power of two.
    #[must_use]
    pub fn with_addresses(addresses: u32) -> Self {
        let addresses = addresses.clamp(*TABLE_SIZES.start(), *TABLE_SIZES.end());
        Self {
            members: Vec::new(),
            live: Vec::new(),
            awake: Vec::new(),
            waiting: Vec::new(),
            behind: Vec::new(),
            cut: false,
            parked: Parked::default(),
            parks: false,
            worked: false,
            touched: Vec::new(),
            store: None,
            share: Share::default(),
            flock: Flock::default(),
            table: Table::new(addresses as usize, [random(), random()]),
            mirrors: Vec::new(),
            forwards_reserved: false,
            retired: Retired::default(),
            own: Own::default(),
            mac: [0; 6],
            now: 0,
            whole: Whole::default(),
            changed: Vec::new(),
            targets: Vec::new(),
        }
    }

    /// A switch in virtual time: its work takes none, and what another one draws at random is of `seed`, so that it does the same
    /// again when the same happens.
    #[must_use]
    pub fn of_virtual_time(seed: u64) -> Self {
        let [first, second] = [0, 1].map(|n| SplitMix64::nth(seed, n));
        let [a, b, c, d, e, ..] = first.to_be_bytes();
        let table = Table::new(ADDRESSES as usize, [first, second]);
        Self { share: Share::timeless(), table, mac: [2, a, b, c, d, e], ..Self::new() }
    }

    /// Attaches an open port, with all its queues, under a name; as `vale-ctl -a` does.
    ///
    /// # Errors
    /// When there is a port of that name already, or no place for one more.
    pub fn attach(&mut self, name: &str, mut port: Port, policy: Policy) -> Result<(), OpenError> {
        let info = port.info().clone();
        let plug = Plug {
            name: name.to_owned(),
            path: format!("{}: {}", info.name, info.path),
            policy,
            caps: info.caps,
            largest: info.largest,
            rx: (0..info.rx_queues).filter_map(|q| port.take_rx(q)).collect(),
            tx: (0..info.tx_queues).filter_map(|q| port.take_tx(q)).collect(),
            life: None,
            keep: Some(port),
        };
        self.plug(plug).map(drop).map_err(|refused| refused.named(&info.name))
    }

    pub(crate) fn plug(&mut self, plug: Plug) -> Result<PortId, Refused> {
        if self.find(&plug.name).is_some() {
            return Err(Refused::Taken(plug.name));
        }
        let place = self.members.iter().position(Option::is_none).unwrap_or(self.members.len());
        let id = PortId::try_from(place).ok().filter(|id| usize::from(*id) < MOST_PORTS).ok_or(Refused::Full)?;
        if place == self.members.len() {
            self.members.push(None);
        }
        let keeps = if plug.policy.pause == 0 { 0 } else { !plug.policy.pause };
        let mut member = Member {
            was_up: plug.rx.first().is_some_and(|rx| rx.link() == Link::Up),
            name: plug.name,
            path: plug.path,
            policy: plug.policy,
            finisher: Finisher::new(plug.caps, plug.largest),
            largest: plug.largest,
            sources: plug.rx.into_iter().map(|rx| Source::new(rx, self.now)).collect(),
            outlets: plug.tx.into_iter().map(Outlet::new).collect(),
            keeps,
            masks: plug.caps.pause || plug.life.is_some(),
            pfc: Box::default(),
            monitor: false,
            blocked: None,
            apart: false,
            copy_in: Vec::new(),
            copy_out: Vec::new(),
            count: PortCounters::default(),
            told: 0,
            awake: true,
            waits: false,
            touched: false,
            life: plug.life,
            _keep: plug.keep,
        };
        if let Some(store) = self.store.as_deref_mut() {
            member.give_queues(id, store);
        }
        self.members[place] = Some(member);
        self.own.changed(id, self.members[usize::from(id)].as_ref().map(|member| member.name.as_str()));
        let at = self.awake.partition_point(|awake| *awake < id);
        self.awake.insert(at, id);
        self.rewire();
        Ok(id)
    }

    /// Holds addresses: an address stays at the port that it was learned at until that port has sent nothing from it
    /// for `seconds`, or is gone; 0, the default: it moves with the first frame that comes from elsewhere.
    pub fn hold_addresses(&mut self, seconds: u32) {
        self.table.hold(ticks(seconds));
    }

    /// Forwards the sixteen reserved addresses too (01-80-C2-00-00-00 to 0F), as a cable does; otherwise they are dropped, as
    /// all bridges do: LLDP and LACP speak to the neighbour, and two switches must not hear each other's PAUSE.
    pub fn forward_reserved(&mut self, on: bool) {
        self.forwards_reserved = on;
    }

    /// Removes a port: frames that wait for it, in its rings or queues, are lost and counted, addresses learned at it are forgotten.
    pub fn detach(&mut self, name: &str) -> bool {
        let id = self.find(name);
        id.map(|id| self.remove(id)).is_some()
    }

    fn remove(&mut self, id: PortId) {
        let Some(mut member) = self.members[usize::from(id)].take() else { return };
        // While their descriptors are open.
        member.sources.iter_mut().for_each(|source| self.parked.wake(source, self.now));
        self.awake.retain(|awake| *awake != id);
        self.waiting.retain(|waiting| *waiting != id);
        self.touched.retain(|touched| *touched != id);
        self.share.forget(id);
        // The last sync counts the frames that the other end took.
        member.outlets.iter_mut().for_each(|outlet| outlet.tx.sync());
        if let Some(store) = self.store.as_deref_mut() {
            store.close(id, &mut member);
        }
        self.retired.add(&member);
        self.table.flush(id);
        self.own.changed(id, None);
        self.rewire();
    }

    fn find(&self, name: &str) -> Option<PortId> {
        self.live.iter().copied().find(|id| self.members[usize::from(*id)].as_ref().is_some_and(|m| m.name == name))
    }

    /// Mirrors a port's traffic to another port, which takes no part in forwarding from then on. Either may be attached
    /// later.
    pub fn mirror(&mut self, of: &str, to: &str, direction: Direction) {
        self.mirrors.push(Mirror { of: of.to_owned(), to: to.to_owned(), direction });
        self.rewire();
    }

    /// Updates the tables after ports have come or gone.
    fn rewire(&mut self) {
        let live = |(id, member): (usize, &Option<Member>)| PortId::try_from(id).ok().filter(|_| member.is_some());
        self.live = self.members.iter().enumerate().filter_map(live).collect();
        self.table.shared_by(self.live.len());
        let names: Vec<(PortId, String)> = self
            .live
            .iter()
            .filter_map(|id| Some((*id, self.members[usize::from(*id)].as_ref()?.name.clone())))
            .collect();
        let mirrors = &self.mirrors;
        for member in self.members.iter_mut().flatten() {
            let watchers = |shows: fn(Direction) -> bool| -> Vec<PortId> {
                let mine = mirrors.iter().filter(|mirror| mirror.of == member.name && shows(mirror.direction));
                mine.filter_map(|mirror| names.iter().find(|(_, name)| *name == mirror.to)).map(|(id, _)| *id).collect()
            };
            let (copy_in, copy_out) = (watchers(|d| d != Direction::Out), watchers(|d| d != Direction::In));
            (member.copy_in, member.copy_out) = (copy_in, copy_out);
            member.monitor = mirrors.iter().any(|mirror| mirror.to == member.name);
            member.apart = member.monitor || member.blocked.is_some();
        }
        if let Some(snoop) = &mut self.own.snoop {
            let takes_part = |id: &PortId| self.members[usize::from(*id)].as_ref().is_some_and(|member| !member.apart);
            snoop.live(self.live.iter().copied().filter(takes_part).collect());
        }
    }

    fn begin(&mut self, now: u64) {
        self.now = now;
        self.table.tick(tick_of(now));
    }

    /// Names of the attached ports, and the states of their links; not of those that other processes have taken, which go
    /// with their link.
    pub fn links(&self) -> impl Iterator<Item = (&str, Link)> {
        let attached = self.members.iter().flatten().filter(|member| member.life.is_none());
        attached.filter_map(|member| Some((member.name.as_str(), member.sources.first()?.rx.link())))
    }

    /// True if a frame waits for room.
    #[must_use]
    pub fn has_waiting(&self) -> bool {
        let sources = self.members.iter().flatten().flat_map(|member| &member.sources);
        sources.into_iter().any(|source| source.state.waits_for.is_some())
    }

    fn count_mut(&mut self, id: PortId) -> &mut PortCounters {
        match &mut self.members[usize::from(id)] {
            Some(member) => &mut member.count,
            None => self.retired.nobody(),
        }
    }

    /// Counters of the learning table.
    #[must_use]
    pub fn table(&self) -> TableCounters {
        self.table.counters()
    }

    /// Reports of all ports: the attached ones, then the departed ones.
    #[must_use]
    pub fn ports(&self) -> Vec<PortReport> {
        let live = self.members.iter().flatten().map(PortReport::of);
        live.chain(self.retired.reports()).collect()
    }
}

/// Reason that a port was not attached.
#[derive(Debug)]
pub(crate) enum Refused {
    Taken(String),
    Full,
}

impl Refused {
    pub(crate) fn named(&self, port: &str) -> OpenError {
        match self {
            Self::Taken(name) => {
                let what = format!("the switch has a port '{name}'");
                OpenError::new(port, Cause::Busy, what, "give it once, or use another name")
            }
            Self::Full => {
                let what = format!("the switch has {MOST_PORTS} ports, and can have no more");
                OpenError::new(port, Cause::Busy, what, "use a second switch")
            }
        }
    }
}

/// Parses the first message of a program; a valid message must survive serialization.
#[cfg(fuzzing)]
pub(crate) fn fuzz(message: &[u8]) {
    if let Ok((hello, _)) = hello::Hello::read(message) {
        assert_eq!(hello.write(), message);
    }
}

#[cfg(test)]
mod tests;

//! Data Center Bridging as a client of an adapter, beside others: its adapter then obeys what is negotiated. On a port of its own
//! ([`DcbNode`]), on one that programs share ([`SharedDcb`]), and at the ports of a switch ([`SwitchDcb`]).

mod switch;

pub use linerate_dcb::{Settings, SettingsError};
pub use switch::SwitchDcb;

use crate::identity::host_hash;
use crate::line::{Line, SeenLink, local_mac};
use crate::machine::{Machine, Progress, Sleeper};
use linerate_dcb::{Classes, Config, Dcb, Event, Selection, Table};
use linerate_nic::{ClassTable, Control, Guests, MAX_INTERFACES, NicError, NicRx};
use linerate_offload::Selection as Service;
use linerate_port::{Link, OpenError, Port, Spec};
use linerate_wire::{EtherType, Lldpdu, MacAddr};
use std::iter::once;
use thiserror::Error;

/// Most frames processed in a turn.
const BATCH: usize = 32;
/// The interface of the adapter.
const LLDP: usize = 0;
/// The interface of an adapter that programs share.
const SHARED: usize = MAX_INTERFACES - 1;
/// Time for which the last frame waits for room before the end comes without it, in ns.
const PARTING: u64 = 1_000_000_000;

/// Reason for which a port could not be set up.
#[derive(Debug, Error)]
pub enum DcbError {
    #[error(transparent)]
    Open(#[from] OpenError),
    #[error("{0}: it has no queue for each way, and LLDP needs both: choose another port")]
    OneWay(String),
    #[error(transparent)]
    Nic(#[from] NicError),
    #[error(transparent)]
    Settings(#[from] SettingsError),
}

/// LLDP and DCBX as a client of an adapter, or of a switch's port, and what they have to send.
pub struct DcbClient {
    dcb: Dcb,
    mac: MacAddr,
    /// Frame that there was no room for.
    unsent: Option<Vec<u8>>,
    /// Time of the next turn even if nothing is new; 0 if something is.
    due: u64,
    /// Changes of what is operative that were told by [`DcbClient::news`].
    told: Option<u64>,
}

impl DcbClient {
    /// A client of a port of this MAC address and name, whose link is down.
    pub fn new(mac: MacAddr, name: &str, settings: Settings, now: u64) -> Result<Self, SettingsError> {
        let dcb = Dcb::new(Config::new(mac, name), settings, now)?;
        Ok(Self { dcb, mac, unsent: None, due: 0, told: None })
    }

    /// A client at an interface of an adapter, which receives LLDP's frames alone from then on. Its MAC address is the port's own,
    /// or else `other`.
    pub(crate) fn at(
        control: &Control,
        interface: usize,
        other: MacAddr,
        settings: Settings,
        now: u64,
    ) -> Result<Self, DcbError> {
        let client = Self::of_port(control, other, settings, now)?;
        control.change(interface, |vi| {
            (vi.mac, vi.ethertypes) = (client.mac.0, vec![EtherType::LLDP]);
            vi.addresses = vec![Lldpdu::NEAREST_BRIDGE.0];
        })?;
        Ok(client)
    }

    fn of_port(control: &Control, other: MacAddr, settings: Settings, now: u64) -> Result<Self, DcbError> {
        let info = control.port();
        Ok(Self::new(info.mac.map_or(other, MacAddr), &info.name, settings, now)?)
    }

    #[must_use]
    pub fn dcb(&self) -> &Dcb {
        &self.dcb
    }

    #[must_use]
    pub fn mac(&self) -> MacAddr {
        self.mac
    }

    /// Tells it that the link has come up, before what has come by it, or gone down, after that: a neighbour whose last frame took
    /// leave has done so.
    pub fn set_link(&mut self, link: Link, now: u64) {
        self.dcb.set_link(link == Link::Up, now);
        self.due = 0;
    }

    /// Takes a frame that has come.
    pub fn receive(&mut self, frame: &[u8], now: u64) {
        self.dcb.receive(frame, now);
        self.due = 0;
    }

    /// Sends what is due, as far as there is room; true if there was anything.
    #[inline]
    pub fn turn(&mut self, now: u64, send: impl FnMut(&[u8]) -> bool) -> bool {
        (now >= self.due || self.unsent.is_some()) && self.transmit(now, send)
    }

    fn transmit(&mut self, now: u64, mut send: impl FnMut(&[u8]) -> bool) -> bool {
        let mut sent = false;
        while let Some(frame) = self.unsent.take().or_else(|| self.dcb.poll_transmit(now)) {
            if !send(&frame) {
                self.unsent = Some(frame);
                break;
            }
            sent = true;
        }
        // Who waits for room has nothing to do before.
        let due = if self.unsent.is_none() { self.dcb.poll_timeout() } else { None };
        self.due = due.unwrap_or(u64::MAX);
        sent
    }

    /// Time of the next turn even if nothing has come.
    #[must_use]
    pub fn due(&self) -> u64 {
        self.due
    }

    /// Takes leave with the next turn.
    pub fn stop(&mut self) {
        self.dcb.stop();
        self.due = 0;
    }

    /// True if a frame waits for room.
    #[must_use]
    pub fn is_held_up(&self) -> bool {
        self.unsent.is_some()
    }

    /// Next event to be told.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.dcb.poll_event()
    }

    /// Operative settings, if they are others than when this was last called.
    pub fn news(&mut self) -> Option<&Table> {
        let changes = self.dcb.counters().changes;
        (self.told.replace(changes) != Some(changes)).then(|| self.dcb.operative())
    }

    /// Has an adapter serve the operative traffic classes; gives the operative settings if they are others than before.
    pub(crate) fn obey(&mut self, control: &Control) -> Option<&Table> {
        let table = self.news()?;
        if let Some(classes) = class_table(&table.classes, table.pfc) {
            control.set_classes(classes);
        }
        Some(table)
    }
}

/// LLDP and DCBX, and their port: a machine for [`crate::run`]. When it is stopped, it takes leave first.
pub struct DcbNode {
    client: DcbClient,
    line: Line,
    /// Receive halves of the adapter's other queues: frames arrive by whichever the port chooses.
    others: Vec<NicRx>,
    /// Time at which it ends even if its last frame finds no room.
    parting: Option<u64>,
}

impl DcbNode {
    /// Opens a port; its MAC address is the port's own, or one that goes with the port's name on this host.
    pub fn open(port: &str, settings: Settings, now: u64) -> Result<Self, DcbError> {
        settings.check()?;
        Self::over(Spec::parse(port)?.open()?, settings, now)
    }

    /// Uses an open port.
    pub fn over(port: Port, settings: Settings, now: u64) -> Result<Self, DcbError> {
        let info = port.info().clone();
        let mac = info.mac.map_or_else(|| local_mac(host_hash(info.name.as_bytes())), MacAddr);
        let mut nic = Line::adapter(port, 1, mac, true)?;
        let client = DcbClient::at(&nic.control(), LLDP, mac, settings, now)?;
        let line = Line::new(&mut nic, 0).ok_or(DcbError::OneWay(info.name))?;
        let others = (1..nic.info().rx_queues).filter_map(|queue| nic.take_rx(queue)).collect();
        Ok(Self { client, line, others, parting: None })
    }

    #[must_use]
    pub fn client(&self) -> &DcbClient {
        &self.client
    }

    #[must_use]
    pub fn line(&self) -> &Line {
        &self.line
    }

    /// Next event to be told.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.client.poll_event()
    }
}

impl Machine for DcbNode {
    fn handle(&mut self, now: u64) -> Progress {
        self.line.tx.tick(now);
        let link = self.line.changed(now);
        let Self { client, line, others, .. } = self;
        if link == Some(Link::Up) {
            client.set_link(Link::Up, now);
        }
        let queues = once(&mut line.arrivals.rx).chain(others);
        let arrived: usize = queues.map(|rx| rx.take(now, BATCH, |_, frame| client.receive(frame.head(), now))).sum();
        if link == Some(Link::Down) {
            client.set_link(Link::Down, now);
        }
        let sent = client.turn(now, |frame| line.tx.send(LLDP, frame, &[], None));
        line.flush(now);
        match self.parting {
            Some(at) if !self.client.is_held_up() || now >= at || self.line.link() != Link::Up => Progress::Done,
            _ if arrived > 0 || sent || link.is_some() => Progress::Worked,
            _ => Progress::Idle,
        }
    }

    fn poll_timeout(&self) -> Option<u64> {
        [Some(self.client.due()), self.parting, self.line.resumes()].into_iter().flatten().min()
    }

    fn waits_for(&mut self, visit: &mut dyn FnMut(&mut dyn Sleeper)) {
        self.line.waits_for(self.client.is_held_up(), visit);
        self.others.iter_mut().for_each(|queue| visit(queue.port()));
    }

    fn stop(&mut self, now: u64) {
        self.client.stop();
        self.parting.get_or_insert(now.saturating_add(PARTING));
    }
}

/// LLDP and DCBX at an interface of an adapter whose others programs have: its traffic classes are those that are operative.
pub struct SharedDcb {
    client: DcbClient,
    seen: SeenLink,
}

impl SharedDcb {
    /// Takes the last interface of an adapter. Its MAC address is the port's own, or else the interface's.
    pub fn new(guests: &mut Guests, settings: Settings, now: u64) -> Result<Self, DcbError> {
        guests.keep(SHARED, &[EtherType::LLDP], &[Lldpdu::NEAREST_BRIDGE.0])?;
        let control = guests.control();
        let own = MacAddr(control.settings(SHARED)?.mac);
        let mut client = DcbClient::of_port(control, own, settings, now)?;
        client.obey(control);
        Ok(Self { client, seen: SeenLink::default() })
    }

    #[must_use]
    pub fn client(&self) -> &DcbClient {
        &self.client
    }

    /// Next event to be told.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.client.poll_event()
    }

    /// Processes what has come and what is due, before the adapter moves the programs' frames; true if there was anything.
    pub fn turn(&mut self, guests: &mut Guests, now: u64) -> bool {
        let Self { client, seen } = self;
        let link = seen.changed(guests.first_rx());
        if link == Some(Link::Up) {
            client.set_link(Link::Up, now);
        }
        let came = guests.take_own(|frame| client.receive(frame, now)) > 0;
        if link == Some(Link::Down) {
            client.set_link(Link::Down, now);
        }
        let sent = client.turn(now, |frame| guests.send_own(frame));
        client.obey(guests.control());
        came || link.is_some() || sent
    }

    /// Takes leave with the next turn.
    pub fn stop(&mut self) {
        self.client.stop();
    }
}

/// Traffic classes as an adapter and a switch have them, with a bit for each lossless priority; None if there is a class above
/// 7. A class of ETS with 0 percent has what the others leave.
#[must_use]
pub fn class_table(classes: &Classes, pfc: u8) -> Option<ClassTable> {
    let service = |selection| match selection {
        Selection::Strict => Service::Strict,
        Selection::Ets(0) => Service::Rest,
        Selection::Ets(share) => Service::Share(share.into()),
    };
    ClassTable::new(classes.of, classes.selection.map(service), pfc)
}

#[cfg(test)]
mod tests {
    use super::*;
    use linerate_dcb::Gone;
    use linerate_port::open_all;

    /// Regression: the frame that takes leave was not read any more when the link was seen to be down in the same turn.
    #[test]
    fn who_takes_leave_before_the_link_goes_down_has_left() {
        let ports = open_all(&["cable:dcb-leave{1", "cable:dcb-leave}1"]).unwrap().into_iter();
        let mut nodes = ports.map(|port| DcbNode::over(port, Settings::default(), 0).unwrap());
        let (mut near, mut far) = (nodes.next().unwrap(), nodes.next().unwrap());
        for now in 0..100 {
            near.handle(now);
            far.handle(now);
        }
        assert_eq!((near.client().dcb().neighbours().len(), far.client().dcb().neighbours().len()), (1, 1));
        while near.poll_event().is_some() {}
        far.stop(100);
        assert_eq!(far.handle(100), Progress::Done);
        drop(far);
        near.handle(101);
        let events: Vec<Event> = std::iter::from_fn(|| near.poll_event()).collect();
        assert!(matches!(events[0], Event::Gone(_, Gone::Left)), "{events:?}");
        assert!(near.client().dcb().neighbours().is_empty());
    }
}

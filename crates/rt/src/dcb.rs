//! Data Center Bridging on a port of its own, and on one that programs share: its adapter then obeys what is negotiated.

use crate::identity::host_hash;
use crate::line::{Line, SeenLink, local_mac};
use crate::machine::{Machine, Progress, Sleeper};
use linerate_dcb::{Classes, Config, Dcb, Selection, Settings, SettingsError};
use linerate_nic::{ClassTable, Guests, MAX_INTERFACES, NicError, NicRx};
use linerate_offload::Selection as Service;
use linerate_port::{Info, Link, OpenError, Port, Spec};
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

/// LLDP and DCBX, and what they have to send.
struct Agent {
    dcb: Dcb,
    mac: MacAddr,
    /// Frame that there was no room for.
    unsent: Option<Vec<u8>>,
}

impl Agent {
    /// An agent of a port; its MAC address is the port's own, or else `other`.
    fn new(info: &Info, other: impl FnOnce() -> MacAddr, settings: Settings, now: u64) -> Result<Self, SettingsError> {
        let mac = info.mac.map_or_else(other, MacAddr);
        Ok(Self { dcb: Dcb::new(Config::new(mac, &info.name), settings, now)?, mac, unsent: None })
    }

    /// Sends what is due, as far as there is room.
    fn transmit(&mut self, now: u64, mut send: impl FnMut(&[u8]) -> bool) -> bool {
        let mut sent = false;
        while let Some(frame) = self.unsent.take().or_else(|| self.dcb.poll_transmit(now)) {
            if !send(&frame) {
                self.unsent = Some(frame);
                break;
            }
            sent = true;
        }
        sent
    }

    /// Time of the next [`Agent::transmit`]: who waits for room has nothing to do before.
    fn timeout(&self) -> Option<u64> {
        if self.unsent.is_none() { self.dcb.poll_timeout() } else { None }
    }
}

/// LLDP and DCBX, and their port: a machine for [`crate::run`]. When it is stopped, it takes leave first.
pub struct DcbNode {
    agent: Agent,
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
        let agent = Agent::new(&info, || local_mac(host_hash(info.name.as_bytes())), settings, now)?;
        let mut nic = Line::adapter(port, 1, agent.mac, true)?;
        nic.control().change(LLDP, |vi| {
            vi.ethertypes = vec![EtherType::LLDP];
            vi.addresses = vec![Lldpdu::NEAREST_BRIDGE.0];
        })?;
        let line = Line::new(&mut nic, 0).ok_or_else(|| DcbError::OneWay(info.name.clone()))?;
        let others = (1..nic.info().rx_queues).filter_map(|queue| nic.take_rx(queue)).collect();
        Ok(Self { agent, line, others, parting: None })
    }

    #[must_use]
    pub fn dcb(&self) -> &Dcb {
        &self.agent.dcb
    }

    pub fn dcb_mut(&mut self) -> &mut Dcb {
        &mut self.agent.dcb
    }

    #[must_use]
    pub fn mac(&self) -> MacAddr {
        self.agent.mac
    }

    #[must_use]
    pub fn line(&self) -> &Line {
        &self.line
    }
}

impl Machine for DcbNode {
    fn handle(&mut self, now: u64) -> Progress {
        self.line.tx.tick(now);
        let link = self.line.changed(now);
        let Self { agent, line, others, .. } = self;
        let dcb = &mut agent.dcb;
        if link == Some(Link::Up) {
            dcb.set_link(true, now);
        }
        let queues = once(&mut line.arrivals.rx).chain(others);
        let arrived: usize = queues.map(|rx| rx.take(now, BATCH, |_, frame| dcb.receive(frame.head(), now))).sum();
        // Last, so that a neighbour whose last frame took leave before the link went down has done so.
        if link == Some(Link::Down) {
            dcb.set_link(false, now);
        }
        let sent = agent.transmit(now, |frame| line.tx.send(LLDP, frame, &[], None));
        line.flush(now);
        match self.parting {
            Some(at) if self.agent.unsent.is_none() || now >= at || self.line.link() != Link::Up => Progress::Done,
            _ if arrived > 0 || sent || link.is_some() => Progress::Worked,
            _ => Progress::Idle,
        }
    }

    fn poll_timeout(&self) -> Option<u64> {
        [self.agent.timeout(), self.parting, self.line.resumes()].into_iter().flatten().min()
    }

    fn waits_for(&mut self, visit: &mut dyn FnMut(&mut dyn Sleeper)) {
        self.line.waits_for(self.agent.unsent.is_some(), visit);
        self.others.iter_mut().for_each(|queue| visit(queue.port()));
    }

    fn stop(&mut self, now: u64) {
        self.agent.dcb.stop();
        self.parting.get_or_insert(now.saturating_add(PARTING));
    }
}

/// LLDP and DCBX at an interface of an adapter whose others programs have: its traffic classes are those that are operative.
pub struct SharedDcb {
    agent: Agent,
    seen: SeenLink,
    /// Time of the next turn even if nothing is new.
    due: u64,
    /// Changes of what is operative that the adapter knows of.
    obeyed: Option<u64>,
}

impl SharedDcb {
    /// Takes the last interface of an adapter. Its MAC address is the port's own, or else the interface's.
    pub fn new(guests: &mut Guests, settings: Settings, now: u64) -> Result<Self, DcbError> {
        guests.keep(SHARED, &[EtherType::LLDP], &[Lldpdu::NEAREST_BRIDGE.0])?;
        let own = MacAddr(guests.control().settings(SHARED)?.mac);
        let agent = Agent::new(guests.control().port(), || own, settings, now)?;
        let mut shared = Self { agent, seen: SeenLink::default(), due: 0, obeyed: None };
        shared.obey(guests);
        Ok(shared)
    }

    #[must_use]
    pub fn dcb(&self) -> &Dcb {
        &self.agent.dcb
    }

    pub fn dcb_mut(&mut self) -> &mut Dcb {
        &mut self.agent.dcb
    }

    #[must_use]
    pub fn mac(&self) -> MacAddr {
        self.agent.mac
    }

    /// Processes what has come and what is due, before the adapter moves the programs' frames; true if there was anything.
    pub fn turn(&mut self, guests: &mut Guests, now: u64) -> bool {
        let link = self.seen.changed(guests.first_rx());
        let dcb = &mut self.agent.dcb;
        if link == Some(Link::Up) {
            dcb.set_link(true, now);
        }
        let came = guests.take_own(|frame| dcb.receive(frame, now)) > 0;
        if link == Some(Link::Down) {
            dcb.set_link(false, now);
        }
        let new = came || link.is_some();
        if !new && now < self.due && self.agent.unsent.is_none() {
            return false;
        }
        let sent = self.agent.transmit(now, |frame| guests.send_own(frame));
        self.due = self.agent.timeout().unwrap_or(u64::MAX);
        self.obey(guests);
        new || sent
    }

    /// Time of the next turn even if nothing has come.
    #[must_use]
    pub fn due(&self) -> u64 {
        self.due
    }

    /// Takes leave with the next turn.
    pub fn stop(&mut self) {
        self.agent.dcb.stop();
        self.due = 0;
    }

    /// True if a frame waits for room.
    #[must_use]
    pub fn is_held_up(&self) -> bool {
        self.agent.unsent.is_some()
    }

    fn obey(&mut self, guests: &Guests) {
        let changes = self.agent.dcb.counters().changes;
        if self.obeyed.replace(changes) == Some(changes) {
            return;
        }
        let table = self.agent.dcb.operative();
        if let Some(classes) = class_table(&table.classes, table.pfc) {
            guests.control().set_classes(classes);
        }
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
    use linerate_dcb::{Event, Gone};
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
        assert_eq!((near.dcb().neighbours().len(), far.dcb().neighbours().len()), (1, 1));
        while near.dcb_mut().poll_event().is_some() {}
        far.stop(100);
        assert_eq!(far.handle(100), Progress::Done);
        drop(far);
        near.handle(101);
        let events: Vec<Event> = std::iter::from_fn(|| near.dcb_mut().poll_event()).collect();
        assert!(matches!(events[0], Event::Gone(_, Gone::Left)), "{events:?}");
        assert!(near.dcb().neighbours().is_empty());
    }
}

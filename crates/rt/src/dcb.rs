//! Data Center Bridging on a port, in one thread.

use crate::identity::host_hash;
use crate::line::{Line, local_mac};
use crate::machine::{Machine, Progress, Sleeper};
use linerate_dcb::{Config, Dcb, Settings, SettingsError};
use linerate_nic::{NicError, NicRx};
use linerate_port::{Link, OpenError, Port, Spec};
use linerate_wire::{EtherType, Lldpdu, MacAddr};
use std::iter::once;
use thiserror::Error;

/// Most frames processed in a turn.
const BATCH: usize = 32;
/// The interface of the adapter.
const LLDP: usize = 0;
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

/// LLDP and DCBX, and their port: a machine for [`crate::run`]. When it is stopped, it takes leave first.
pub struct DcbNode {
    dcb: Dcb,
    mac: MacAddr,
    line: Line,
    /// Receive halves of the adapter's other queues: frames arrive by whichever the port chooses.
    others: Vec<NicRx>,
    /// Frame that there was no room for.
    unsent: Option<Vec<u8>>,
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
        nic.control().change(LLDP, |vi| {
            vi.ethertypes = vec![EtherType::LLDP];
            vi.addresses = vec![Lldpdu::NEAREST_BRIDGE.0];
        })?;
        let line = Line::new(&mut nic, 0).ok_or_else(|| DcbError::OneWay(info.name.clone()))?;
        let others = (1..nic.info().rx_queues).filter_map(|queue| nic.take_rx(queue)).collect();
        let dcb = Dcb::new(Config::new(mac, &info.name), settings, now)?;
        Ok(Self { dcb, mac, line, others, unsent: None, parting: None })
    }

    #[must_use]
    pub fn dcb(&self) -> &Dcb {
        &self.dcb
    }

    pub fn dcb_mut(&mut self) -> &mut Dcb {
        &mut self.dcb
    }

    #[must_use]
    pub fn mac(&self) -> MacAddr {
        self.mac
    }

    #[must_use]
    pub fn line(&self) -> &Line {
        &self.line
    }

    /// Sends what is due, as far as there is room.
    fn transmit(&mut self, now: u64) -> bool {
        let mut sent = false;
        while let Some(frame) = self.unsent.take().or_else(|| self.dcb.poll_transmit(now)) {
            if !self.line.tx.send(LLDP, &frame, &[], None) {
                self.unsent = Some(frame);
                break;
            }
            sent = true;
        }
        self.line.flush(now);
        sent
    }
}

impl Machine for DcbNode {
    fn handle(&mut self, now: u64) -> Progress {
        self.line.tx.tick(now);
        let link = self.line.changed(now);
        if link == Some(Link::Up) {
            self.dcb.set_link(true, now);
        }
        let Self { dcb, line, others, .. } = self;
        let queues = once(&mut line.arrivals.rx).chain(others);
        let arrived: usize = queues.map(|rx| rx.take(now, BATCH, |_, frame| dcb.receive(frame.head(), now))).sum();
        // Last, so that a neighbour whose last frame took leave before the link went down has done so.
        if link == Some(Link::Down) {
            dcb.set_link(false, now);
        }
        let sent = self.transmit(now);
        match self.parting {
            Some(at) if self.unsent.is_none() || now >= at || self.line.link() != Link::Up => Progress::Done,
            _ if arrived > 0 || sent || link.is_some() => Progress::Worked,
            _ => Progress::Idle,
        }
    }

    fn poll_timeout(&self) -> Option<u64> {
        // Who waits for room has nothing to do before.
        let dcb = if self.unsent.is_none() { self.dcb.poll_timeout() } else { None };
        [dcb, self.parting, self.line.resumes()].into_iter().flatten().min()
    }

    fn waits_for(&mut self, visit: &mut dyn FnMut(&mut dyn Sleeper)) {
        self.line.waits_for(self.unsent.is_some(), visit);
        self.others.iter_mut().for_each(|queue| visit(queue.port()));
    }

    fn stop(&mut self, now: u64) {
        self.dcb.stop();
        self.parting.get_or_insert(now.saturating_add(PARTING));
    }
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

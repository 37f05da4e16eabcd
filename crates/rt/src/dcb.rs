//! Data Center Bridging on a port, in one thread.

use crate::identity::host_hash;
use crate::line::{Line, local_mac};
use crate::machine::{Machine, Progress, Sleeper};
use linerate_dcb::{Config, Dcb, Settings, SettingsError};
use linerate_nic::{NicError, NicRx};
use linerate_port::{Link, OpenError, Spec};
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
        let port = Spec::parse(port)?.open()?;
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
        if let Some(link) = link {
            self.dcb.set_link(link == Link::Up, now);
        }
        let Self { dcb, line, others, .. } = self;
        let queues = once(&mut line.arrivals.rx).chain(others);
        let arrived: usize = queues.map(|rx| rx.take(now, BATCH, |_, frame| dcb.receive(frame.head(), now))).sum();
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

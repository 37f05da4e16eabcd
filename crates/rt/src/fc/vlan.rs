//! Discovery of a port's VLAN, before there is a node on it.

use super::FcError;
use super::node::address;
use crate::line::Line;
use crate::machine::{Machine, Progress, Sleeper};
use crate::{Stop, Waiter, run};
use linerate_fcoe::{told_vlans, vlan_discovery};
use linerate_port::{Link, Port};
use linerate_wire::{EtherType, FipFrame, MacAddr};

/// Requests, and the time from one to the next, in ns. So long after the last one there is no answer.
const REQUESTS: u32 = 3;
const EACH: u64 = 1_000_000_000;
/// Time after the first answer for which others count, in ns.
const OTHERS: u64 = 500_000_000;
/// Most VLANs that are told.
const MOST: usize = 8;
/// Most frames of a turn.
const BATCH: usize = 32;

struct Seeker {
    line: Line,
    mac: MacAddr,
    /// Requests that are left, and time of the next one, or of the end; none while the link is down.
    left: u32,
    due: Option<u64>,
    /// VLANs, each with the first station that tells of it.
    told: Vec<(u16, MacAddr)>,
    stopped: bool,
}

/// Asks the other stations on a port's link for the VLAN that carries FCoE (FC-BB-6, clause 7, FIP VLAN Discovery), from when the link
/// is up, for three seconds, or half a second from the first answer on: each VLAN, with the first station that tells of it.
///
/// # Errors
/// A port that has no queue for each way, or that the adapter refuses.
pub fn find_vlan(
    port: Port,
    mac: Option<MacAddr>,
    waiter: &mut Waiter,
    stop: &Stop,
) -> Result<Vec<(u16, MacAddr)>, FcError> {
    let name = port.info().name.clone();
    let mac = address(mac, port.info())?;
    let mut nic = Line::adapter(port, 1, mac, true)?;
    nic.control().change(0, |vi| {
        vi.ethertypes = vec![EtherType::FIP];
        vi.addresses = vec![FipFrame::ALL_VN2VN_MACS.0];
    })?;
    let line = Line::new(&mut nic, 0).ok_or(FcError::OneWay(name))?;
    let mut seeker = Seeker { line, mac, left: REQUESTS, due: None, told: Vec::new(), stopped: false };
    run(&mut seeker, waiter, stop);
    Ok(seeker.told)
}

impl Machine for Seeker {
    fn handle(&mut self, now: u64) -> Progress {
        let Self { line, mac, told, .. } = self;
        line.tx.tick(now);
        match line.changed(now) {
            Some(Link::Up) => (self.left, self.due) = (REQUESTS, Some(now)),
            Some(Link::Down | Link::Gone) => self.due = None,
            None => {}
        }
        let arrived = line.arrivals.rx.take(now, BATCH, |_, frame| {
            for (vid, who) in told_vlans(*mac, frame.head())
                .into_iter()
                .flat_map(|(who, all)| all.into_iter().map(move |vid| (vid, who)))
            {
                if told.len() < MOST && told.iter().all(|(known, _)| *known != vid) {
                    told.push((vid, who));
                }
            }
        });
        if !self.told.is_empty() && self.left > 0 {
            (self.left, self.due) = (0, Some(now.saturating_add(OTHERS)));
        }
        if self.stopped {
            return Progress::Done;
        }
        let due = self.due.is_some_and(|at| at <= now);
        if due {
            if self.left == 0 {
                return Progress::Done;
            }
            // One for which there is no room is as one that is lost.
            let _ = self.line.tx.send(0, &vlan_discovery(self.mac), &[], None);
            (self.left, self.due) = (self.left - 1, Some(now.saturating_add(EACH)));
        }
        self.line.flush(now);
        if arrived > 0 || due { Progress::Worked } else { Progress::Idle }
    }

    fn poll_timeout(&self) -> Option<u64> {
        self.due
    }

    fn waits_for(&mut self, visit: &mut dyn FnMut(&mut dyn Sleeper)) {
        self.line.waits_for(false, visit);
    }

    fn stop(&mut self, _: u64) {
        self.stopped = true;
    }
}

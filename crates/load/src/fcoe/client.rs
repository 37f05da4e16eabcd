//! An initiator for a while: finds disks, does something with them, and goes.

use linerate_fcoe::{Disks, DisksConfig, InitiatorConfig, Node, NodeConfig, NodeEvent};
use linerate_port::Link;
use linerate_rt::fc::{FcError, FcPort, Remote, RemoteUnit, Watcher};
use linerate_rt::{Sleeper, Stop, WaitMode, Waiter, run as run_machine};
use linerate_wire::{Wwn, scsi};

const SECOND: u64 = 1_000_000_000;
/// How long it is quiet before nobody else is expected: beacons come at the latest 400 ms after each other at the start.
const QUIET: u64 = SECOND;

/// A port from which disks are looked for, and whose.
pub struct Visit<'a> {
    /// The port.
    pub port: FcPort,
    /// The target's port name; otherwise all targets are looked at.
    pub target: Option<Wwn>,
    /// How many seconds targets are looked for.
    pub timeout: u64,
    /// How the thread waits.
    pub wait: WaitMode,
    /// Ends it early.
    pub stop: &'a Stop,
    /// Done once all is open that takes privileges.
    pub opened: fn(),
}

/// The disks that were found, and what went wrong.
#[derive(Debug, Default)]
pub struct Found {
    /// The disks.
    pub units: Vec<RemoteUnit>,
    /// A line for each target that gave none, and why.
    pub failures: Vec<String>,
}

/// What is to be done after a turn.
pub(super) enum Turn {
    /// Nothing until something comes, or until then.
    Wait(Option<u64>),
    /// Something was done.
    Worked,
    /// It is over.
    Done,
}

/// Something to be done with disks, a turn at a time.
pub(super) trait Work {
    /// Does what can be done now.
    fn turn(&mut self, now: u64, remote: &mut Remote) -> Turn;

    /// Shows what else to sleep on.
    fn waits_for(&mut self, _visit: &mut dyn FnMut(&mut dyn Sleeper)) {}
}

impl<F: FnMut(u64, &mut Remote) -> Turn> Work for F {
    fn turn(&mut self, now: u64, remote: &mut Remote) -> Turn {
        self(now, remote)
    }
}

/// Does its work a turn at a time.
struct Client<'a> {
    remote: Remote,
    work: &'a mut dyn Work,
    until: Option<u64>,
    done: bool,
}

impl Watcher<Disks> for Client<'_> {
    fn event(&mut self, _: u64, event: &NodeEvent, _: &mut Node<Disks>) {
        self.remote.event(event);
    }

    fn turn(&mut self, now: u64, node: &mut Node<Disks>) -> bool {
        let Some((initiator, logins)) = node.initiator_mut() else { return false };
        let moved = self.remote.turn(now, initiator, logins);
        if self.done {
            return moved;
        }
        let turn = self.work.turn(now, &mut self.remote);
        self.until = None;
        match turn {
            Turn::Wait(until) => self.until = until,
            Turn::Worked => {}
            Turn::Done => self.done = true,
        }
        let worked = matches!(turn, Turn::Worked);
        // What was asked for goes out in this turn.
        let more = worked && self.remote.turn(now, initiator, logins);
        moved || worked || more
    }

    fn poll_timeout(&self) -> Option<u64> {
        [self.remote.poll_timeout(), self.until].into_iter().flatten().min()
    }

    fn waits_for(&mut self, visit: &mut dyn FnMut(&mut dyn Sleeper)) {
        self.work.waits_for(visit);
    }

    fn is_done(&self) -> bool {
        self.done
    }
}

impl Visit<'_> {
    /// Does some work, a turn at a time, until it is done or the stop is asked for. Gives what to add to what went wrong, if
    /// the link is down.
    pub(super) fn work(self, work: &mut dyn Work) -> Result<&'static str, FcError> {
        let port = self.port;
        let config = NodeConfig { initiator: Some(InitiatorConfig::default()), ..port.config() };
        let disks = Disks::new(&DisksConfig { wwpn: config.wwpn, wwnn: config.wwnn, buffers: 0 });
        let client = Client { remote: Remote::new(self.target), work, until: None, done: false };
        let mut node = port.node(&config, disks, client)?;
        (self.opened)();
        run_machine(&mut node, &mut Waiter::new(self.wait), self.stop);
        Ok(if node.line().link() == Link::Down { " The link is down: nobody is at its other end." } else { "" })
    }

    /// The disks that are there, when nobody else is expected.
    ///
    /// # Errors
    /// [`FcError`] when there can be no node on the port.
    pub fn find(self) -> Result<Found, FcError> {
        let (mut search, mut found, timeout) = (Search::new(&self), Found::default(), self.timeout);
        let remark = self.work(&mut |now: u64, remote: &mut Remote| {
            let turn = search.turn(now, remote);
            if matches!(turn, Turn::Done) {
                found.failures.extend(remote.failures().iter().map(|(wwpn, error)| format!("{wwpn}: {error}")));
                found.units = remote.units().to_vec();
            }
            turn
        })?;
        if found.units.is_empty() && found.failures.is_empty() {
            found.failures.push(nothing("LUN", timeout) + remark);
        }
        Ok(found)
    }
}

/// That there is none of what was looked for, and why that may be.
pub(super) fn nothing(what: &str, seconds: u64) -> String {
    let mend = "is the target up, on this network and VLAN, and does it let this port name in?";
    format!("no {what} was found in {seconds} s: {mend}")
}

/// Waits until all targets have been looked at.
pub(super) struct Search {
    named: bool,
    timeout: u64,
    until: Option<u64>,
    quiet: Option<(usize, u64)>,
}

impl Search {
    pub(super) fn new(visit: &Visit<'_>) -> Self {
        Self { named: visit.target.is_some(), timeout: visit.timeout * SECOND, until: None, quiet: None }
    }

    /// Done when the target that was named has been looked at, or when for a while no other has come; and when the time is
    /// over.
    pub(super) fn turn(&mut self, now: u64, remote: &Remote) -> Turn {
        let until = *self.until.get_or_insert(now.saturating_add(self.timeout));
        if now >= until {
            return Turn::Done;
        }
        let Some(scanned) = remote.scanned().filter(|scanned| *scanned > 0) else { return Turn::Wait(Some(until)) };
        if self.named {
            return Turn::Done;
        }
        let (before, since) = *self.quiet.get_or_insert((scanned, now));
        if before != scanned {
            self.quiet = Some((scanned, now));
            return Turn::Wait(Some(until.min(now + QUIET)));
        }
        if now - since >= QUIET { Turn::Done } else { Turn::Wait(Some(until.min(since + QUIET))) }
    }
}

/// The number of a LUN, as targets and people count them.
#[must_use]
pub fn number(unit: &RemoteUnit) -> String {
    scsi::lun_number(unit.lun.lun.0).map_or_else(
        || unit.lun.lun.0.iter().map(|octet| format!("{octet:02x}")).collect(),
        |number| number.to_string(),
    )
}

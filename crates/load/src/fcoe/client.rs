//! An initiator for a limited time: finds disks, works with them, and ends.

use linerate_fcoe::{Disks, DisksConfig, InitiatorConfig, Node, NodeConfig, NodeEvent};
use linerate_port::Link;
use linerate_rt::fc::{FcError, FcPort, Integrity, Remote, RemoteUnit, Watcher};
use linerate_rt::{Sleeper, Stop, WaitMode, Waiter, run as run_machine};
use linerate_wire::Wwn;

const SECOND: u64 = 1_000_000_000;

/// Port from which disks are looked for, and their target.
pub struct Visit<'a> {
    pub port: FcPort,
    /// Port name of the target; `None` for all targets.
    pub target: Option<Wwn>,
    /// Seconds to look for targets.
    pub timeout: u64,
    /// Protection information that is checked, of disks that have it.
    pub integrity: Integrity,
    pub wait: WaitMode,
    pub stop: &'a Stop,
    /// Called once everything that needs privileges is open.
    pub opened: fn(),
}

#[derive(Debug, Default)]
pub struct Found {
    pub units: Vec<RemoteUnit>,
    /// One line for each target that gave no disks, with the reason.
    pub failures: Vec<String>,
}

pub(super) enum Turn {
    /// Nothing to do until an event, or until this time.
    Wait(Option<u64>),
    Worked,
    /// All work is done.
    Done,
}

/// Work with disks, a turn at a time.
pub(super) trait Work {
    /// Does the work that can be done now.
    fn turn(&mut self, now: u64, remote: &mut Remote) -> Turn;

    /// Visits further objects to sleep on.
    fn waits_for(&mut self, _visit: &mut dyn FnMut(&mut dyn Sleeper)) {}
}

impl<F: FnMut(u64, &mut Remote) -> Turn> Work for F {
    fn turn(&mut self, now: u64, remote: &mut Remote) -> Turn {
        self(now, remote)
    }
}

/// Watcher that runs the work turn by turn.
struct Client<'a> {
    remote: Remote,
    work: &'a mut dyn Work,
    until: Option<u64>,
    done: bool,
}

impl Watcher<Disks> for Client<'_> {
    fn event(&mut self, now: u64, event: &NodeEvent, _: &mut Node<Disks>) {
        self.remote.event(now, event);
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
        // Requests made now are sent in this turn.
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
    /// Runs the work, turn by turn, until it is done or a stop is requested. Returns a remark for error messages if the
    /// link is down.
    pub(super) fn work(self, work: &mut dyn Work) -> Result<&'static str, FcError> {
        let port = self.port;
        let config = NodeConfig { initiator: Some(InitiatorConfig::default()), ..port.config() };
        let disks = Disks::new(&DisksConfig { wwpn: config.wwpn, wwnn: config.wwnn, buffers: 0 });
        let client = Client { remote: Remote::new(self.target, 0, self.integrity), work, until: None, done: false };
        let mut node = port.node(&config, disks, client)?;
        (self.opened)();
        run_machine(&mut node, &mut Waiter::new(self.wait), self.stop);
        node.check()?;
        Ok(if node.line().link() != Link::Up { " The link is down: nobody is at its other end." } else { "" })
    }

    /// Finds the disks, until no more are expected.
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

/// Message that none of `what` was found, with possible causes.
pub(super) fn nothing(what: &str, seconds: u64) -> String {
    let mend = "is the target up, on this network and VLAN, and does it let this port name in?";
    format!("no {what} was found in {seconds} s: {mend}")
}

/// Waits until all targets have been scanned.
pub(super) struct Search {
    timeout: u64,
    until: Option<u64>,
}

impl Search {
    pub(super) fn new(visit: &Visit<'_>) -> Self {
        Self { timeout: visit.timeout * SECOND, until: None }
    }

    /// Done when no more disks are expected, and at the time limit.
    pub(super) fn turn(&mut self, now: u64, remote: &Remote) -> Turn {
        let limit = *self.until.get_or_insert(now.saturating_add(self.timeout));
        let until = remote.complete_at().map_or(limit, |at| at.min(limit));
        if now >= until { Turn::Done } else { Turn::Wait(Some(until)) }
    }
}

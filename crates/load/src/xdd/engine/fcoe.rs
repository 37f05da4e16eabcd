//! LUNs of an FCoE target on a port: one node for all of them, which the thread that opened it drives.

use super::{Ended, Engine, Failure, Opened, Request, Shape};
use linerate_block::{Operation, Tag};
use linerate_fcoe::{Disks, DisksConfig, InitiatorConfig, Node, NodeConfig, NodeEvent};
use linerate_rt::fc::{FcNode, FcOptions, FcPort, Remote, RemoteCompletion, RemoteUnit, Watcher};
use linerate_rt::{Clock, Machine, Progress, Sleeper, WaitMode, Waiter};
use linerate_wire::Wwn;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

/// Time to look for the target: two of its beacons (FC-BB-6, clause 7.9.8.3: one each 8 s).
const PATIENCE: u64 = 16_000_000_000;

/// Opens the LUNs of all targets that are found on the port, or of the named one.
pub(super) fn open(request: &Request<'_>) -> Opened {
    let name = request.target.name.strip_prefix("fcoe:").unwrap_or(&request.target.name);
    // The name of a port may have slashes too.
    let named = name.rsplit_once('/').and_then(|(port, wwpn)| Some((port, wwpn.parse::<Wwn>().ok()?)));
    let (port, wwpn) = named.map_or((name, None), |(port, wwpn)| (port, Some(wwpn)));
    let port = FcPort::open(port, &FcOptions { wwpn: request.target.wwpn, ..FcOptions::default() })
        .map_err(|error| error.to_string())?;
    let config = NodeConfig { initiator: Some(InitiatorConfig::default()), ..port.config() };
    let none = Disks::new(&DisksConfig { wwpn: config.wwpn, wwnn: config.wwnn, buffers: 0 });
    let node = port
        .node(&config, none, Client(Remote::new(wwpn, 0, request.target.pi.unwrap_or_default())))
        .map_err(|error| error.to_string())?;
    let mut driver =
        Driver { node, clock: Clock::new(), running: Vec::new(), tags: 0, free: Vec::new(), ended: Vec::new() };
    let units = driver.find(request.units)?;
    let asked = request.target.pi.is_some_and(|pi| pi.guard.is_some());
    if let Some(bare) = units.iter().take(request.units).position(|unit| asked && unit.checked().is_none()) {
        return Err(format!("-pi: LUN {bare} has no protection information; leave it out, or format the LUN with it"));
    }
    driver.ended.resize_with(units.len(), VecDeque::new);
    let path = driver.node.line().info().path.clone();
    let driver = Rc::new(RefCell::new(driver));
    let engine = |(unit, found): (usize, &RemoteUnit)| -> Box<dyn Engine> {
        let lun = &found.lun;
        let pi = found.protection().map_or_else(String::new, |protection| format!(", {protection}"));
        let path = format!("FCoE, LUN {unit} of {}: {} {}{pi}, {path}", found.wwpn, lun.vendor, lun.product);
        let shape = Shape {
            path,
            block_size: lun.block_size,
            blocks: lun.blocks,
            read_only: lun.read_only,
            protected: found.checked().is_some(),
        };
        Box::new(Unit { driver: driver.clone(), unit, shape })
    };
    Ok(units.iter().enumerate().map(engine).collect())
}

/// Watcher that only carries operations to the disks.
struct Client(Remote);

impl Watcher<Disks> for Client {
    fn event(&mut self, now: u64, event: &NodeEvent, _: &mut Node<Disks>) {
        self.0.event(now, event);
    }

    fn turn(&mut self, now: u64, node: &mut Node<Disks>) -> bool {
        node.initiator_mut().is_some_and(|(initiator, logins)| self.0.turn(now, initiator, logins))
    }

    fn poll_timeout(&self) -> Option<u64> {
        self.0.poll_timeout()
    }

    fn waits_for(&mut self, _: &mut dyn FnMut(&mut dyn Sleeper)) {}

    fn is_done(&self) -> bool {
        false
    }
}

/// The node, and the operations of its units.
struct Driver {
    node: FcNode<Disks, Client>,
    clock: Clock,
    /// Unit and the unit's own tag, by the tag that the node knows.
    running: Vec<(usize, Tag)>,
    /// Number of tags made so far: the length of `running`.
    tags: u32,
    free: Vec<u32>,
    /// Operations that have ended, by unit.
    ended: Vec<VecDeque<Ended>>,
}

impl Driver {
    /// Waits for `wanted` disks.
    fn find(&mut self, wanted: usize) -> Result<Vec<RemoteUnit>, String> {
        let mut waiter = Waiter::new(WaitMode::Adaptive);
        let until = self.clock.now() + PATIENCE;
        loop {
            let now = self.clock.now();
            if self.node.handle(now) == Progress::Worked {
                waiter.worked();
            } else {
                waiter.idle(&mut self.node, &mut self.clock, None);
            }
            self.node.check().map_err(|error| error.to_string())?;
            let remote = &self.node.watcher().0.0;
            if let Some((wwpn, error)) = remote.failures().first() {
                return Err(format!("{wwpn}: {error}; look at the target"));
            }
            let looked = remote.scanned().is_some_and(|scanned| scanned > 0);
            if looked && remote.units().len() >= wanted {
                return Ok(remote.units().to_vec());
            }
            if now >= until {
                return Err(match remote.units().len() {
                    0 => "no such target, or no LUNs for us, within 16 s; see linerate fcoe ls".into(),
                    n => format!("{wanted} units are wanted and there are {n}; give -targets {n}"),
                });
            }
        }
    }

    /// Drives the node, and sorts the operations that have ended.
    fn turn(&mut self) {
        let now = self.clock.now();
        let _ = self.node.handle(now);
        let remote = &mut self.node.watcher().0.0;
        while let Some(RemoteCompletion { completion, trouble, .. }) = remote.complete() {
            let Tag(at) = completion.tag;
            if let Some((unit, tag)) = self.running.get(at as usize).copied() {
                self.free.push(at);
                let mut ended = Ended::from(completion);
                ended.tag = tag;
                if let (Err(failure), Some(trouble)) = (&mut ended.result, trouble) {
                    **failure = Failure::Remote(trouble);
                }
                self.ended[unit].push_back(ended);
            }
        }
    }
}

impl Drop for Driver {
    /// Logs out.
    fn drop(&mut self) {
        let mut waiter = Waiter::new(WaitMode::Sleep);
        let now = self.clock.now();
        self.node.stop(now);
        // The node itself bounds the time of this.
        loop {
            let now = self.clock.now();
            match self.node.handle(now) {
                Progress::Done => return,
                Progress::Worked => waiter.worked(),
                Progress::Idle => waiter.idle(&mut self.node, &mut self.clock, None),
            }
        }
    }
}

/// One LUN.
struct Unit {
    driver: Rc<RefCell<Driver>>,
    unit: usize,
    shape: Shape,
}

impl Engine for Unit {
    fn shape(&self) -> &Shape {
        &self.shape
    }

    fn submit(&mut self, tag: Tag, operation: Operation) {
        let driver = &mut *self.driver.borrow_mut();
        let at = driver.free.pop().unwrap_or_else(|| {
            driver.running.push((0, Tag(0)));
            driver.tags += 1;
            driver.tags - 1
        });
        driver.running[at as usize] = (self.unit, tag);
        driver.node.watcher().0.0.submit(self.unit, Tag(at), operation);
    }

    fn flush(&mut self) {
        self.driver.borrow_mut().turn();
    }

    fn complete(&mut self) -> Option<Ended> {
        let mut driver = self.driver.borrow_mut();
        if driver.ended[self.unit].is_empty() {
            driver.turn();
        }
        driver.ended[self.unit].pop_front()
    }
}

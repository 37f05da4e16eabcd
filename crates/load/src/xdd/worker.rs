//! Targets of one thread.

use super::config::Target;
use super::engine::{Engine, Open, Request};
use super::lane::{Lane, Shared};
use super::sys;
use super::tally::Account;
use crate::team::Member;
use linerate_rt::{Clock, Machine, Progress, Sleeper, Stop, WaitMode, Waiter, pin};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender};

/// Targets of a thread, and its further input.
pub(super) struct Orders {
    /// Targets with their numbers; those of one name are adjacent when one device has several units.
    pub(super) targets: Vec<(usize, Target)>,
    pub(super) cpu: Option<usize>,
    pub(super) priority: bool,
    pub(super) open: Open,
    pub(super) shared: Arc<Shared>,
    pub(super) errors_told: u64,
    pub(super) stop: Stop,
}

/// A pass that a thread is told to begin.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pass {
    pub(super) number: u64,
    pub(super) from: u64,
    pub(super) until: u64,
}

#[derive(Clone, Debug)]
pub(super) struct Device {
    pub(super) number: usize,
    /// Path by which it was actually opened.
    pub(super) path: String,
}

/// Message of a thread.
pub(super) enum Report {
    /// Its targets are open; with remarks on what it could not do.
    Ready(Vec<Device>, Vec<String>),
    Refused(String),
    /// A pass is over; with the account of each target.
    Done(Vec<(usize, Account)>),
}

/// Main function of a thread: opens its targets, and does passes as long as it is told to.
pub(super) fn work(orders: Orders, member: &mut Member, passes: &Receiver<Pass>, reports: &Sender<Report>) {
    let mut notes = Vec::new();
    if let Some(cpu) = orders.cpu
        && let Err(e) = pin(&[cpu])
    {
        let _ = reports.send(Report::Refused(format!("-processor {cpu}: {e}; give one that this program may use")));
        return;
    }
    if orders.priority
        && let Err(e) = sys::priority()
    {
        notes.push(format!("priority stays as it is: {e}"));
    }
    let mut worker = match Worker::open(&orders) {
        Ok(worker) => worker,
        Err(line) => {
            let _ = reports.send(Report::Refused(line));
            return;
        }
    };
    let mut waiter = Waiter::new(WaitMode::Adaptive);
    if reports.send(Report::Ready(worker.devices.clone(), notes)).is_err() {
        return;
    }
    while let Ok(pass) = passes.recv() {
        worker.lanes.iter_mut().for_each(|lane| lane.begin(pass.number, pass.from, pass.until));
        member.run(&mut worker, &mut waiter, &orders.stop);
        let accounts = worker.lanes.iter().map(|lane| (lane.number, lane.account.clone())).collect();
        if reports.send(Report::Done(accounts)).is_err() {
            return;
        }
    }
}

/// Lanes that are polled in turn.
struct Worker {
    lanes: Vec<Lane>,
    devices: Vec<Device>,
    clock: Clock,
}

impl Worker {
    fn open(orders: &Orders) -> Result<Self, String> {
        let (mut lanes, mut devices) = (Vec::new(), Vec::new());
        let mut engines: Vec<Option<Box<dyn Engine>>> = Vec::new();
        for (k, (number, target)) in orders.targets.iter().enumerate() {
            let trouble = |why: &str| format!("target {number} ({}): {why}", target.name);
            // Opening the first unit of a device opens all of them.
            if target.unit == 0 {
                let name = &target.name;
                let rest = &orders.targets[k + 1..];
                let units = 1 + rest.iter().take_while(|(_, next)| next.unit > 0 && next.name == *name).count();
                let opened = (orders.open)(&Request { target, units }).map_err(|why| trouble(&why))?;
                if opened.len() < units {
                    let n = opened.len();
                    return Err(trouble(&format!("{units} units are wanted and it has {n}; give -targets {n}")));
                }
                engines = opened.into_iter().map(Some).collect();
            }
            let engine = engines.get_mut(target.unit).and_then(Option::take);
            let engine =
                engine.ok_or_else(|| trouble("this unit was not opened; name its device with -targets N NAME"))?;
            let shape = engine.shape();
            devices.push(Device { number: *number, path: shape.path.clone() });
            lanes.push(Lane::new(target.clone(), *number, engine, orders.shared.clone(), orders.errors_told)?);
        }
        Ok(Self { lanes, devices, clock: Clock::new() })
    }
}

impl Machine for Worker {
    fn handle(&mut self, now: u64) -> Progress {
        let (mut done, mut worked) = (true, false);
        for lane in &mut self.lanes {
            match lane.handle(now, &mut self.clock) {
                Progress::Done => continue,
                Progress::Worked => worked = true,
                Progress::Idle => {}
            }
            done = false;
        }
        match (done, worked) {
            (true, _) => Progress::Done,
            (false, true) => Progress::Worked,
            (false, false) => Progress::Idle,
        }
    }

    fn poll_timeout(&self) -> Option<u64> {
        self.lanes.iter().filter_map(Lane::timeout).min()
    }

    fn waits_for(&mut self, visit: &mut dyn FnMut(&mut dyn Sleeper)) {
        self.lanes.iter_mut().for_each(|lane| lane.waits_for(visit));
    }

    fn stop(&mut self, now: u64) {
        self.lanes.iter_mut().for_each(|lane| lane.stop(now));
    }
}

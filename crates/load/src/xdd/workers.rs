//! Threads of a run, and which targets each of them drives.

use super::config::{Config, Target};
use super::engine::Open;
use super::lane::{Live, Shared};
use super::run::Refusal;
use super::tally::Account;
use super::worker::{Device, Orders, Pass, Report, work};
use crate::team::{Member, Team};
use linerate_rt::{Stop, cpus};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

/// Interval at which a thread that waits for others polls.
const LOOK: Duration = Duration::from_millis(50);

/// Threads of a run, each with its channel of passes and its channel of reports.
pub(super) struct Workers {
    team: Team<()>,
    ends: Vec<(Sender<Pass>, Receiver<Report>)>,
    pub(super) shared: Arc<Shared>,
}

impl Workers {
    pub(super) fn start(config: &Config, open: Open, stop: &Stop) -> Result<Self, Refusal> {
        let enough = if config.stop_on_error { 1 } else { config.max_errors.unwrap_or(u64::MAX) };
        let live = config.targets.iter().map(|_| Live::default()).collect();
        let shared = Arc::new(Shared {
            errors: AtomicU64::new(0),
            enough,
            over: AtomicBool::new(false),
            step: config.step,
            live,
        });
        let system = |source| Refusal::System { what: "a thread", source };
        let (mut team, mut ends) = (Team::new().map_err(system)?, Vec::new());
        for (n, (cpu, targets)) in workers(&config.targets).into_iter().enumerate() {
            let orders = Orders {
                targets,
                cpu,
                priority: config.priority,
                open,
                shared: shared.clone(),
                errors_told: config.errors_told,
                stop: stop.clone(),
            };
            let (pass, passes) = channel();
            let (report, reports) = channel();
            let body = move |member: &mut Member| work(orders, member, &passes, &report);
            team.add(&format!("xdd {n}"), &[], body).map_err(system)?;
            ends.push((pass, reports));
        }
        Ok(Self { team, ends, shared })
    }

    /// Waits until all targets are open; returns them in order, and remarks. Threads that still wait for a server or a
    /// login when a stop is requested are left to the end of the process.
    pub(super) fn ready(&self, stop: &Stop) -> Result<(Vec<Device>, Vec<String>), Refusal> {
        let (mut devices, mut notes, mut refused) = (Vec::new(), Vec::new(), None);
        for (_, reports) in &self.ends {
            let report = loop {
                match reports.recv_timeout(LOOK) {
                    Err(RecvTimeoutError::Timeout) if stop.asked() => return Err(Refusal::Stopped),
                    Err(RecvTimeoutError::Timeout) => {}
                    report => break report,
                }
            };
            match report {
                Ok(Report::Ready(list, more)) => {
                    devices.extend(list);
                    notes.extend(more);
                }
                Ok(Report::Refused(line)) => refused = refused.or(Some(line)),
                Ok(Report::Done(_)) | Err(_) => refused = refused.or(Some("a thread ended too early".into())),
            }
        }
        match refused {
            None => {
                devices.sort_by_key(|device| device.number);
                Ok((devices, notes))
            }
            Some(line) => Err(Refusal::Usage(line)),
        }
    }

    /// Runs a pass; returns each target's account. `look` is called now and then.
    pub(super) fn pass(&self, pass: Pass, mut look: impl FnMut()) -> BTreeMap<usize, Account> {
        for (passes, _) in &self.ends {
            // A thread that has ended is noticed when its report is missing.
            let _ = passes.send(pass);
        }
        let mut done = BTreeMap::new();
        for (_, reports) in &self.ends {
            loop {
                match reports.recv_timeout(LOOK) {
                    Ok(Report::Done(list)) => {
                        done.extend(list);
                        break;
                    }
                    Err(RecvTimeoutError::Timeout) => look(),
                    Ok(_) | Err(RecvTimeoutError::Disconnected) => {
                        self.shared.over.store(true, Relaxed);
                        break;
                    }
                }
            }
        }
        done
    }

    /// Lets all threads end, and waits for them.
    pub(super) fn end(self) {
        drop(self.ends);
        self.team.join();
    }
}

/// Targets that a thread drives, with their numbers.
type Numbered = Vec<(usize, Target)>;

/// Distribution of targets to threads: the units of one device have one thread; otherwise targets are spread over as
/// many threads as there are processors, unless they are assigned one.
fn workers(targets: &[Target]) -> Vec<(Option<usize>, Numbered)> {
    let mut devices: Vec<Numbered> = Vec::new();
    for (number, target) in targets.iter().enumerate() {
        let further = |device: &&mut Numbered| target.unit > 0 && device[0].1.name == target.name;
        match devices.last_mut().filter(further) {
            Some(device) => device.push((number, target.clone())),
            None => devices.push(vec![(number, target.clone())]),
        }
    }
    let free = devices.iter().filter(|device| device[0].1.cpu.is_none()).count();
    let threads = free.min(cpus().len()).max(1);
    let mut workers: BTreeMap<(Option<usize>, usize), Numbered> = BTreeMap::new();
    let mut turn = 0..;
    for device in devices {
        let cpu = device[0].1.cpu;
        let place = if cpu.is_some() { 0 } else { turn.next().unwrap_or(0) % threads };
        workers.entry((cpu, place)).or_default().extend(device);
    }
    workers.into_iter().map(|((cpu, _), targets)| (cpu, targets)).collect()
}

//! A run: opens the targets, does the passes, adds up.

use super::config::{Config, Target, WHOLE};
use super::crew::{Device, Orders, Pass, Report, work};
use super::engine::{Open, path_of};
use super::lane::{Live, Shared};
use super::streams::Streams;
use super::table::{CSV_HEADER, HEADER, Row, percentiles};
use super::tally::{Account, float};
use super::{document, fio, sys};
use crate::sampler::Sampler;
use crate::team::{Member, Team};
use linerate_port::saturating_ns;
use linerate_result::{RunResult, Sample, Timestamp};
use linerate_rt::{Stop, cpus, monotonic_ns, pause};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;
use thiserror::Error;

/// Reason why a run did not take place: one line that names the fault and the mend.
#[derive(Debug, Error)]
pub enum Refusal {
    /// A flag or a target is wrong.
    #[error("{0}")]
    Usage(String),
    /// Error of the system.
    #[error("{what}: {source}; free some memory, threads or descriptors")]
    System {
        /// Resource that was requested.
        what: &'static str,
        /// Error of the request.
        source: std::io::Error,
    },
    /// A stop was requested while its targets were being opened.
    #[error("stopped before all targets were open")]
    Stopped,
}

/// A run that has ended.
#[derive(Debug)]
pub struct Finished {
    /// The result document, without its environment.
    pub result: RunResult,
    /// The result in fio's format.
    pub fio: serde_json::Value,
    /// Accounts of the targets over all passes, by their numbers.
    pub targets: Vec<Account>,
    /// Account of all targets.
    pub all: Account,
}

/// Measurements of all passes.
pub(super) struct Facts<'a> {
    pub(super) config: &'a Config,
    pub(super) command: Vec<String>,
    pub(super) start: Timestamp,
    /// Targets with the paths by which they were actually opened.
    pub(super) devices: Vec<Device>,
    pub(super) accounts: Vec<Account>,
    pub(super) all: Account,
    pub(super) passes: u64,
    /// Processor time of the process during passes: user and system.
    pub(super) cpu: (Duration, Duration),
    pub(super) samples: Vec<Sample>,
    pub(super) elapsed: u64,
    pub(super) signal: Option<u8>,
    pub(super) notes: Vec<String>,
}

impl Facts<'_> {
    /// Processor time in per cent of one processor, over the time measured.
    pub(super) fn cpu_percent(&self) -> f64 {
        percent(self.cpu.0 + self.cpu.1, self.all.elapsed_ns)
    }
}

/// Interval at which a thread that waits for others polls.
const LOOK: Duration = Duration::from_millis(50);
/// Interval of samples.
const SAMPLE: Duration = Duration::from_secs(1);

/// Runs a configuration to its end. `open` opens targets, on the threads that will drive them.
///
/// # Errors
/// [`Refusal`], before anything was read or written.
pub fn run(
    config: &Config,
    open: Open,
    command: Vec<String>,
    stop: &Stop,
    streams: &mut Streams,
) -> Result<Finished, Refusal> {
    introduce(config, streams);
    let (start, began) = (Timestamp::now(), monotonic_ns());
    let crews = Crews::start(config, open, stop)?;
    let (devices, mut notes) = match crews.ready(stop) {
        Ok(ready) => ready,
        // Threads that still wait for a server are left to the end of the process.
        Err(Refusal::Stopped) => return Err(Refusal::Stopped),
        Err(refusal) => {
            crews.end();
            return Err(refusal);
        }
    };
    if config.lock
        && let Err(e) = sys::lock_memory()
    {
        notes.push(format!("memory is not locked: {e}"));
    }
    notes.sort();
    notes.dedup();
    notes.iter().for_each(|note| streams.remark(note));
    for Device { number, path } in &devices {
        streams.line(&format!("Target {number}, opened by {path}"));
    }
    let mut facts = Facts {
        config,
        command,
        start,
        devices,
        accounts: vec![Account::default(); config.targets.len()],
        all: Account::default(),
        passes: 0,
        cpu: Default::default(),
        samples: Vec::new(),
        elapsed: 0,
        signal: None,
        notes,
    };
    if !config.dry {
        passes(&mut facts, &crews, stop, streams);
    }
    crews.end();
    for target in config.targets.iter().filter(|target| target.delete && !config.dry) {
        if let Some(Err(e)) = path_of(&target.name).map(std::fs::remove_file) {
            streams.error(&format!("{}: {e}; it was not deleted", target.name));
        }
    }
    (facts.elapsed, facts.signal) = (monotonic_ns() - began, stop.signal());
    conclude(&facts, streams);
    Ok(Finished {
        result: document::of(&facts),
        fio: fio::of(&facts),
        all: facts.all.clone(),
        targets: std::mem::take(&mut facts.accounts),
    })
}

/// Prints the lines at the start.
fn introduce(config: &Config, streams: &mut Streams) {
    if let Some(id) = &config.id {
        streams.line(&format!("ID for this run, '{id}'"));
    }
    let passes =
        config.runtime.map_or(config.passes.to_string(), |s| format!("as many as {} s allow", s.as_secs_f64()));
    streams.line(&format!("Number of targets, {}; passes, {passes}", config.targets.len()));
    for (number, target) in config.targets.iter().enumerate() {
        let reads = f64::from(target.reads) * 100.0 / f64::from(WHOLE);
        let size = target.request_bytes();
        streams.line(&format!(
            "Target {number}, {}, queue depth {}, request size {size} bytes ({} blocks of {}), {reads} % reads",
            target.name, target.depth, target.request_blocks, target.block_size
        ));
    }
}

/// Runs all passes.
fn passes(facts: &mut Facts<'_>, crews: &Crews, stop: &Stop, streams: &mut Streams) {
    let config = facts.config;
    streams.line(HEADER);
    streams.csv(CSV_HEADER);
    let began = monotonic_ns();
    let end = config.runtime.map_or(u64::MAX, |runtime| began.saturating_add(saturating_ns(runtime)));
    let mut watch = Watch { began, sampler: Sampler::new(began), beat: began };
    for pass in 0.. {
        let from = monotonic_ns();
        let enough = config.runtime.map_or(pass >= config.passes, |_| from >= end);
        if enough || stop.asked() || crews.shared.over.load(Relaxed) {
            break;
        }
        let before = sys::process_time();
        let done = crews.pass(Pass { number: pass, from, until: end }, || watch.look(config, &crews.shared, streams));
        let after = sys::process_time();
        let spent = (after.0.saturating_sub(before.0), after.1.saturating_sub(before.1));
        facts.cpu = (facts.cpu.0 + spent.0, facts.cpu.1 + spent.1);
        facts.passes += 1;
        let mut all = Account::default();
        done.values().for_each(|account| all.beside(account));
        for (number, account) in &done {
            account.told.iter().for_each(|line| streams.error(line));
            if config.verbose {
                let cpu = share(spent.0 + spent.1, account, &all);
                let (depth, what) = (config.targets[*number].depth, format!("TARGET   PASS{:04}", pass + 1));
                let row = Row::of(what, *number, depth.into(), account, cpu);
                streams.line(&row.line());
                streams.csv(&row.csv());
            }
            facts.accounts[*number].follow(account);
        }
        facts.all.follow(&all);
        // No delay follows a pass that may be the last.
        if config.pass_delay > Duration::ZERO && (config.runtime.is_some() || pass + 1 < config.passes) {
            pause(&[stop], Some(monotonic_ns().saturating_add(saturating_ns(config.pass_delay)).min(end)));
        }
    }
    facts.samples = watch.sampler.into_samples();
}

/// Prints the lines at the end.
fn conclude(facts: &Facts<'_>, streams: &mut Streams) {
    let config = facts.config;
    if config.dry {
        return;
    }
    let spent = facts.cpu.0 + facts.cpu.1;
    for (number, account) in facts.accounts.iter().enumerate() {
        let (depth, cpu) = (config.targets[number].depth, share(spent, account, &facts.all));
        let row = Row::of("TARGET   Average".into(), number, depth.into(), account, cpu);
        streams.line(&row.line());
        streams.csv(&row.csv());
    }
    let row = combined(facts);
    streams.line(&row.line());
    streams.csv(&row.csv());
    streams.combined(&row.line());
    if config.percentiles {
        for (what, tally) in [("reads", &facts.all.reads), ("writes", &facts.all.writes)] {
            if let Some(line) = percentiles(what, &tally.latency) {
                streams.line(&line);
            }
        }
    }
    let all = &facts.all;
    if all.errors() > 0 {
        let (failed, lost) = (all.reads.errors + all.writes.errors, all.lost);
        streams.line(&format!("Errors, {failed} failed, {} miscompared, {lost} did not end", all.miscompares));
    }
}

/// Row of all targets.
pub(super) fn combined(facts: &Facts<'_>) -> Row {
    let depth = facts.config.targets.iter().map(|target| u64::from(target.depth)).sum();
    Row::of("         Combined".into(), facts.config.targets.len(), depth, &facts.all, facts.cpu_percent())
}

/// Share of a target in the process's time, by requests, in per cent of one processor.
fn share(spent: Duration, account: &Account, all: &Account) -> f64 {
    spent.as_secs_f64() * float(account.ops()) / float(all.ops().max(1)) * 100.0
        / (float(account.elapsed_ns.max(1)) / 1e9)
}

fn percent(spent: Duration, ns: u64) -> f64 {
    if ns == 0 { 0.0 } else { spent.as_secs_f64() * 100.0 / (float(ns) / 1e9) }
}

/// Threads of a run, each with its channel of passes and its channel of reports.
struct Crews {
    team: Team<()>,
    ends: Vec<(Sender<Pass>, Receiver<Report>)>,
    shared: Arc<Shared>,
}

impl Crews {
    fn start(config: &Config, open: Open, stop: &Stop) -> Result<Self, Refusal> {
        let enough = if config.stop_on_error { 1 } else { config.max_errors.unwrap_or(u64::MAX) };
        let live = config.targets.iter().map(|_| Live::default()).collect();
        let shared = Arc::new(Shared { errors: AtomicU64::new(0), enough, over: AtomicBool::new(false), live });
        let system = |source| Refusal::System { what: "a thread", source };
        let (mut team, mut ends) = (Team::new().map_err(system)?, Vec::new());
        for (n, (cpu, targets)) in crews(&config.targets).into_iter().enumerate() {
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
    fn ready(&self, stop: &Stop) -> Result<(Vec<Device>, Vec<String>), Refusal> {
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
    fn pass(&self, pass: Pass, mut look: impl FnMut()) -> BTreeMap<usize, Account> {
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
    fn end(self) {
        drop(self.ends);
        self.team.join();
    }
}

/// Targets that a thread drives, with their numbers.
type Numbered = Vec<(usize, Target)>;

/// Distribution of targets to threads: the units of one device have one thread; otherwise targets are spread over as
/// many threads as there are processors, unless they are assigned one.
fn crews(targets: &[Target]) -> Vec<(Option<usize>, Numbered)> {
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
    let mut crews: BTreeMap<(Option<usize>, usize), Numbered> = BTreeMap::new();
    let mut turn = 0..;
    for device in devices {
        let cpu = device[0].1.cpu;
        let place = if cpu.is_some() { 0 } else { turn.next().unwrap_or(0) % threads };
        crews.entry((cpu, place)).or_default().extend(device);
    }
    crews.into_iter().map(|((cpu, _), targets)| (cpu, targets)).collect()
}

/// Observes a pass while it lasts.
struct Watch {
    began: u64,
    /// Sampler of requests.
    sampler: Sampler,
    beat: u64,
}

impl Watch {
    fn look(&mut self, config: &Config, shared: &Shared, streams: &mut Streams) {
        let now = monotonic_ns();
        let sum = |of: fn(&Live) -> &AtomicU64| shared.live.iter().map(|live| of(live).load(Relaxed)).sum::<u64>();
        if self.sampler.since(now) >= saturating_ns(SAMPLE) {
            self.sampler.take(now, sum(|live| &live.ops));
        }
        let Some(every) = config.heartbeat else { return };
        if now - self.beat >= saturating_ns(every) {
            self.beat = now;
            let (ops, bytes, seconds) = (sum(|live| &live.ops), sum(|live| &live.bytes), float(now - self.began) / 1e9);
            let (rate, iops) = (float(bytes) / 1e6 / seconds, float(ops) / seconds);
            streams.remark(&format!("{seconds:.1} s: {ops} ops, {bytes} bytes, {rate:.3} MB/s, {iops:.0} IOPS"));
        }
    }
}

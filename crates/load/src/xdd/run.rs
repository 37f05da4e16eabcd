//! A run: opens the targets, does the passes, adds up.

use super::config::{Config, WHOLE};
use super::engine::{Open, is_file, path_of};
use super::streams::Streams;
use super::table::{self, Row, percentiles};
use super::tally::{Account, float};
use super::watch::Watch;
use super::worker::{Device, Pass};
use super::workers::Workers;
use super::{document, fio, sys, timer};
use linerate_result::{RunResult, Sample, Timestamp};
use linerate_rt::{Stop, ThreadTime, monotonic_ns, pause};
use linerate_text::saturating_ns;
use std::path::PathBuf;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;
use thiserror::Error;

/// Reason why a run did not take place: one line that names the fault and the mend.
#[derive(Debug, Error)]
pub enum Refusal {
    /// A flag or a target is wrong.
    #[error("{0}")]
    Usage(String),
    #[error("{what}: {source}; free some memory, threads or descriptors")]
    System {
        /// Resource that was requested.
        what: &'static str,
        source: std::io::Error,
    },
    #[error("stopped before all targets were open")]
    Stopped,
}

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
    let missing = missing(config);
    let unmake = || missing.iter().for_each(|path| drop(std::fs::remove_file(path)));
    let workers = Workers::start(config, open, stop)?;
    let (devices, mut notes) = match workers.ready(stop) {
        Ok(ready) => ready,
        // Threads that still wait for a server are left to the end of the process.
        Err(Refusal::Stopped) => return Err(Refusal::Stopped),
        Err(refusal) => {
            workers.end();
            unmake();
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
    if config.timer {
        streams.line(&timer::line());
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
        passes(&mut facts, &workers, stop, streams);
    }
    workers.end();
    if config.dry {
        unmake();
    }
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

/// Files that opening their targets makes, which stay only if the run takes place.
fn missing(config: &Config) -> Vec<PathBuf> {
    let made = config.targets.iter().filter(|target| target.writes() && is_file(target));
    made.filter_map(|target| path_of(&target.name)).filter(|path| path.symlink_metadata().is_err()).collect()
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

fn passes(facts: &mut Facts<'_>, workers: &Workers, stop: &Stop, streams: &mut Streams) {
    let config = facts.config;
    table::head(config, streams);
    let began = monotonic_ns();
    let end = config.runtime.map_or(u64::MAX, |runtime| began.saturating_add(saturating_ns(runtime)));
    let mut watch = Watch::new(began);
    for pass in 0.. {
        let from = monotonic_ns();
        let enough = config.runtime.map_or(pass >= config.passes, |_| from >= end);
        if enough || stop.asked() || workers.shared.over.load(Relaxed) {
            break;
        }
        let before = ThreadTime::of_this_process();
        let done =
            workers.pass(Pass { number: pass, from, until: end }, || watch.look(config, &workers.shared, streams));
        let ThreadTime { user, system } = ThreadTime::of_this_process().since(before);
        let spent = (user, system);
        facts.cpu = (facts.cpu.0 + user, facts.cpu.1 + system);
        facts.passes += 1;
        let mut all = Account::default();
        done.values().for_each(|account| all.beside(account));
        for (number, account) in &done {
            account.told.iter().for_each(|line| streams.error(line));
            account.late_told.iter().for_each(|line| streams.line(line));
            if config.verbose {
                let target = (*number, &config.targets[*number]);
                let row = Row::of(("TARGET_PASS", pass + 1), target, (account, &all), spent, config.relative);
                table::write(config, &row, streams);
            }
            facts.accounts[*number].follow(account);
        }
        facts.all.follow(&all);
        // No delay follows a pass that may be the last.
        if config.pass_delay > Duration::ZERO && (config.runtime.is_some() || pass + 1 < config.passes) {
            pause(&[stop], Some(monotonic_ns().saturating_add(saturating_ns(config.pass_delay)).min(end)));
        }
    }
    facts.samples = watch.into_samples();
}

/// Prints the lines at the end.
fn conclude(facts: &Facts<'_>, streams: &mut Streams) {
    let config = facts.config;
    if config.dry {
        return;
    }
    if config.verbose {
        for (number, account) in facts.accounts.iter().enumerate() {
            let target = (number, &config.targets[number]);
            let accounts = (account, &facts.all);
            let row = Row::of(("TARGET_AVERAGE", facts.passes), target, accounts, facts.cpu, config.relative);
            table::write(config, &row, streams);
        }
    }
    let row = Row::combined(config, facts.passes, &facts.all, facts.cpu);
    let separated = table::write(config, &row, streams);
    streams.combined(&separated);
    if config.percentiles {
        for (what, tally) in [("reads", &facts.all.reads), ("writes", &facts.all.writes)] {
            if let Some(line) = percentiles(what, &tally.latency) {
                streams.line(&line);
            }
        }
    }
    let all = &facts.all;
    if all.late > 0 {
        streams.line(&format!("Threshold exceeded, {} requests", all.late));
    }
    if all.retries > 0 {
        streams.line(&format!("Retries, {}", all.retries));
    }
    if all.errors() > 0 {
        let (failed, lost) = (all.reads.errors + all.writes.errors, all.lost);
        streams.line(&format!("Errors, {failed} failed, {} miscompared, {lost} did not end", all.miscompares));
    }
}

fn percent(spent: Duration, ns: u64) -> f64 {
    if ns == 0 { 0.0 } else { spent.as_secs_f64() * 100.0 / (float(ns) / 1e9) }
}

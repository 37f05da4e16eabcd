//! Proof: what a finding's changes do is measured, in rounds that take turns with rounds without them, and taken back.

use super::fix::{Step, before};
use super::rule::Proof;
use super::rules::RULES;
use super::undo::{self, TRIED, TakenBack, Was, folder, take_back};
use crate::proofs::HELPS;
use crate::student::two_sided;
use linerate_host::Rtnetlink;
use linerate_host::adapter::find;
use linerate_host::tunables::Target;
use linerate_load::{WORKLOADS, Workload};
use linerate_result::{Parameters, Unit, parameters};
use linerate_rt::Stop;
use serde::Serialize;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Bytes of a write.
const BLOCK: u64 = 128 << 10;
/// Longest time that an interface's link takes to come back behind a change, and time that it is given beside it.
const LINK: Duration = Duration::from_secs(10);
const SETTLES: Duration = Duration::from_millis(100);
/// Share of cases in which the true difference lies within an interval.
pub(super) const SURE: f64 = 0.95;

/// Addresses at which the other end serves what is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProofServer {
    /// Streams, by iperf3's protocol.
    pub streams: SocketAddr,
    /// Requests, by netperf's.
    pub requests: SocketAddr,
}

impl ProofServer {
    /// A peer at which `linerate stream -s` and `linerate netserver` were started, at their own ports.
    #[must_use]
    pub fn usual(peer: IpAddr) -> Self {
        let at = |port| SocketAddr::new(peer, port);
        Self { streams: at(5201), requests: at(12_865) }
    }
}

#[derive(Clone, Copy, Debug)]
pub struct Rounds {
    /// The other end.
    pub server: ProofServer,
    /// Pairs of rounds, at least 2.
    pub pairs: u32,
    /// Seconds of each.
    pub seconds: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// More than before, beyond the spread.
    Helps,
    /// Less than before, beyond the spread.
    Harms,
    /// The spread is wider than the difference.
    Unclear,
}

impl Verdict {
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Helps => HELPS,
            Self::Harms => "it harms",
            Self::Unclear => "no difference beyond the spread",
        }
    }
}

/// Figures of both kinds of rounds.
#[derive(Clone, Debug, Serialize)]
pub struct Measured {
    pub workload: &'static str,
    pub unit: Unit,
    /// As it was, and with the changes.
    pub rounds: [Vec<f64>; 2],
    /// Difference of the means as a share of the first, and how far it may be from the true one (95 %).
    pub change: f64,
    /// Half the interval's width, as such a share.
    pub spread: f64,
    pub verdict: Verdict,
}

/// A finding whose changes were tried.
#[derive(Clone, Debug, Serialize)]
pub struct Proven {
    pub rule: &'static str,
    /// The interface, or `host`.
    pub subject: String,
    /// The fault, in a line.
    pub what: String,
    /// Figures, or the reason for which there are none.
    pub measured: Result<Measured, String>,
}

/// Mean, and the square of its standard error.
fn mean(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (n - 1.0);
    (mean, variance / n)
}

/// Judges two series by Welch's test: of unequal variances.
fn judge(before: &[f64], after: &[f64]) -> (f64, f64, Verdict) {
    let ((a, ea), (b, eb)) = (mean(before), mean(after));
    let error = ea + eb;
    let n = |values: &[f64]| values.len() as f64 - 1.0;
    // Welch-Satterthwaite.
    let free = if error > 0.0 { error.powi(2) / (ea.powi(2) / n(before) + eb.powi(2) / n(after)) } else { 1.0 };
    let half = if error > 0.0 { two_sided(SURE, free) * error.sqrt() } else { 0.0 };
    let verdict = match b - a {
        more if more > half => Verdict::Helps,
        less if -less > half => Verdict::Harms,
        _ => Verdict::Unclear,
    };
    ((b - a) / a, half / a, verdict)
}

/// The workload by which a rule is proven, and its parameters.
fn load(proof: Proof, rounds: &Rounds) -> Option<(&'static Workload, Parameters)> {
    let ProofServer { streams, requests } = rounds.server;
    let (name, peer, more) = match proof {
        Proof::Stream => ("TCP_STREAM", streams, Some(("io_bytes", BLOCK.into()))),
        Proof::Back => ("TCP_MAERTS", streams, Some(("io_bytes", BLOCK.into()))),
        Proof::Requests => ("TCP_RR", requests, None),
        Proof::Look => return None,
    };
    let peer = peer.to_string();
    let all = [("peer", peer.as_str().into()), ("seconds", u64::from(rounds.seconds).into())];
    let workload = WORKLOADS.iter().find(|workload| workload.name == name)?;
    Some((workload, parameters(all.into_iter().chain(more))))
}

/// Name of the interface by which the peer is reached.
fn way(peer: IpAddr) -> Result<String, String> {
    let mut links = Rtnetlink::open().map_err(|e| e.to_string())?;
    let link = links.path_to(peer).and_then(|path| links.link_at(path.index)).map_err(|e| e.to_string())?;
    Ok(link.name)
}

/// Waits until the link is up.
fn settle(target: &mut dyn Target, interface: &str, stop: &Stop) -> Result<(), String> {
    let began = Instant::now();
    loop {
        std::thread::sleep(SETTLES);
        let found = find(target, interface).map_err(|absent| format!("{interface}: {absent}"))?;
        if found.flags.contains(&"LOWER_UP") {
            return Ok(());
        }
        if stop.asked() || began.elapsed() > LINK {
            return Err(format!("{interface}: its link does not come back"));
        }
    }
}

/// Tries the changes of each step, and takes them back. `tell` hears of each that is done.
///
/// # Errors
/// Nothing can be tried: the peer cannot be reached, or no record be written.
pub fn prove(
    target: &mut dyn Target,
    steps: &[Step],
    rounds: &Rounds,
    stop: &Stop,
    mut tell: impl FnMut(&Proven),
) -> Result<(Vec<Proven>, TakenBack), String> {
    let peer = rounds.server.streams.ip();
    let way = way(peer)?;
    let (mut all, mut left) = (Vec::new(), TakenBack::default());
    for step in steps {
        if stop.asked() {
            break;
        }
        let measured = match step.subject.as_str() {
            subject if subject != way && subject != "host" => {
                Err(format!("{peer} is reached by {way}, not by {subject}"))
            }
            _ => one(target, step, &way, rounds, stop, &mut left),
        };
        let Step { rule, subject, what, .. } = step.clone();
        let proven = Proven { rule, subject, what, measured };
        tell(&proven);
        all.push(proven);
    }
    Ok((all, left))
}

/// Tries the changes of one step.
fn one(
    target: &mut dyn Target,
    step: &Step,
    way: &str,
    rounds: &Rounds,
    stop: &Stop,
    left: &mut TakenBack,
) -> Result<Measured, String> {
    let proof = RULES.iter().find(|rule| rule.name == step.rule).map_or(Proof::Look, |rule| rule.proof);
    let (workload, asked) = load(proof, rounds).ok_or("no load shows it: look again when it is mended")?;
    let (changes, unable) = before(target, std::slice::from_ref(step));
    if let Some(refused) = unable.into_iter().find_map(|did| did.refused) {
        return Err(refused);
    }
    if changes.is_empty() {
        return Err("it is so already".to_owned());
    }
    let record = pending()?;
    undo::write(&record, &changes)?;
    let outcome = turns(target, &changes, way, rounds, stop, &mut || {
        let test = workload.measure(&asked, stop)?;
        let value = test.value.as_ref().and_then(|value| value.median.known());
        match (value, test.failures.into_iter().next()) {
            (Some(value), None) => Ok(value),
            (_, why) => Err(why.unwrap_or_else(|| "it gave no figure".to_owned())),
        }
    });
    let back = take_back(target, &changes);
    if back.left.is_empty() {
        let _ = std::fs::remove_file(&record);
    }
    left.done.extend(back.done);
    left.left.extend(back.left);
    let series = outcome?;
    let (change, spread, verdict) = judge(&series[0], &series[1]);
    let unit = workload.reports.first().map_or(Unit::Ratio, |(_, unit)| unit.clone());
    Ok(Measured { workload: workload.name, unit, rounds: series, change, spread, verdict })
}

/// Measures in turns: without, with; with, without; and so on.
fn turns(
    target: &mut dyn Target,
    changes: &[Was],
    way: &str,
    rounds: &Rounds,
    stop: &Stop,
    measure: &mut dyn FnMut() -> Result<f64, String>,
) -> Result<[Vec<f64>; 2], String> {
    let mut series = [Vec::new(), Vec::new()];
    for pair in 0..rounds.pairs {
        let order = if pair % 2 == 0 { [0, 1] } else { [1, 0] };
        for with in order {
            if stop.asked() {
                return Err("stopped".to_owned());
            }
            if with == 1 {
                changes.iter().try_for_each(|was| was.knob.set(target, &was.after))?;
            } else if let Some(why) = take_back(target, changes).left.into_iter().next() {
                return Err(why);
            }
            settle(target, way, stop)?;
            series[with].push(measure()?);
        }
    }
    Ok(series)
}

/// File of the changes that this process tries. It says whose it is.
fn pending() -> Result<PathBuf, String> {
    let id = std::process::id();
    Ok(folder()?.join(format!("{TRIED}{id}-{}.json", started(id).unwrap_or_default())))
}

/// Start of a process, in clock ticks since the machine's (proc_pid_stat(5), field 22); none if there is no such process.
fn started(id: u32) -> Option<u64> {
    let text = std::fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    let (_, rest) = text.rsplit_once(')')?;
    let mut fields = rest.split_whitespace();
    // A zombie changes nothing any more.
    let state = fields.next()?;
    fields.nth(18)?.parse().ok().filter(|_| state != "Z")
}

/// The process that a file of tried changes names is gone.
fn is_left(path: &Path) -> bool {
    let name = path.file_stem().and_then(|name| name.to_str()).and_then(|name| name.strip_prefix(TRIED));
    let Some((id, start)) = name.and_then(|name| name.split_once('-')) else { return false };
    matches!((id.parse(), start.parse::<u64>()), (Ok(id), Ok(start)) if started(id) != Some(start))
}

/// Files of what processes have tried in this network namespace that ended before they took it back.
///
/// # Errors
/// The folder cannot be read.
pub fn abandoned() -> Result<Vec<PathBuf>, String> {
    Ok(undo::named(TRIED)?.into_iter().filter(|path| is_left(path)).collect())
}

/// Takes back what processes have tried that ended before they did so themselves.
///
/// # Errors
/// The folder cannot be read.
pub fn recover(target: &mut dyn Target) -> Result<TakenBack, String> {
    let mut all = TakenBack::default();
    let folder = folder()?;
    let files = std::fs::read_dir(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    for path in files.flatten().map(|file| file.path()).filter(|path| is_left(path)) {
        match undo::undo(target, &path) {
            // Of another namespace, which has to be asked there; or of an earlier start, which has nothing.
            Err(why) if why.contains("another network namespace") => continue,
            Err(_) => {}
            Ok(back) => {
                let is_back = back.left.is_empty();
                all.done.extend(back.done);
                all.left.extend(back.left);
                if !is_back {
                    continue;
                }
            }
        }
        let _ = std::fs::remove_file(&path);
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_beyond_the_spread_helps_or_harms() {
        let before = [10.0, 10.1, 9.9, 10.0, 10.05];
        let (change, spread, verdict) = judge(&before, &[12.0, 12.2, 11.9, 12.1, 12.0]);
        assert!(verdict == Verdict::Helps && (0.19..0.22).contains(&change) && spread < 0.05, "{change} {spread}");
        assert_eq!(judge(&[12.0, 12.2, 11.9, 12.1, 12.0], &before).2, Verdict::Harms);
        assert_eq!(judge(&before, &[10.02, 10.1, 9.95, 10.0, 9.9]).2, Verdict::Unclear);
        // A difference of the means that one round makes.
        assert_eq!(judge(&before, &[10.0, 10.0, 10.0, 10.0, 20.0]).2, Verdict::Unclear);
        assert_eq!(judge(&[1.0, 1.0], &[1.0, 1.0]).2, Verdict::Unclear);
    }

    /// Means of 21 and 23.367, 7.637 degrees of freedom, of which 95 % lie within 2.3252: an interval of 4.2672 on either side.
    #[test]
    fn the_interval_is_that_of_welchs_test() {
        let (change, spread, verdict) =
            judge(&[27.5, 21.0, 19.0, 23.6, 17.0, 17.9], &[27.1, 22.0, 20.8, 23.4, 23.4, 23.5]);
        assert!(
            (change * 21.0 - 2.366_67).abs() < 1e-4 && (spread * 21.0 - 4.267_18).abs() < 1e-4,
            "{change} {spread}"
        );
        assert_eq!(verdict, Verdict::Unclear);
    }

    #[test]
    fn a_process_is_known_by_its_start() {
        let id = std::process::id();
        assert!(started(id).is_some_and(|start| start > 0));
        assert_eq!(started(u32::MAX), None);
    }
}

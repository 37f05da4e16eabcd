//! Disks of remote targets, as block devices: found when a target logs in, unreachable when it logs out, the same again
//! when it comes back. Operations on an unreachable disk are held for a while (Linux calls that time
//! `fast_io_fail_tmo` or `dev_loss_tmo`), and begun again if the same disk is back.
//!
//! A target's answer may question which disk it is ([`Sense::questions_identity`](linerate_wire::scsi::Sense)). Then no more
//! commands are sent to that target, those under way end, and its disks are looked for again: those that are what they were
//! go on, another one under a known LUN is never used, and neither is one that is gone.

mod answer;
mod integrity;
mod job;
mod search;
mod unit;
mod watch;
mod written;

pub use integrity::{Integrity, Mismatches};
pub use unit::RemoteUnit;

use integrity::Mismatch;
use job::{Job, Next};
use linerate_block::{BackendError, Completion, Operation, Pool, Tag};
use linerate_fcoe::{Completed, Initiator, Logins, NodeEvent, Peer, PeerId, ScanError};
use linerate_wire::Wwn;
use search::Known;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

#[derive(Debug)]
pub struct RemoteCompletion {
    pub completion: Completion,
    /// Index of the disk in [`Remote::units`].
    pub unit: usize,
    /// For a command that failed: the command and its answer, in one line.
    pub trouble: Option<String>,
}

/// All disks of all targets, or of one target.
pub struct Remote {
    only: Option<Wwn>,
    known: Vec<Known>,
    units: Vec<RemoteUnit>,
    jobs: Vec<Option<Job>>,
    free: Vec<u32>,
    /// Jobs whose next command has not been accepted yet.
    waiting: VecDeque<u32>,
    /// Jobs whose command is to be tried again, by the time of that.
    pausing: BinaryHeap<Reverse<(u64, u32)>>,
    /// Jobs whose disk is unreachable.
    held: Vec<u32>,
    /// Longest time that they are held, in ns.
    hold: u64,
    /// Time in ns between two rounds of a target's disks.
    watch: Option<u64>,
    integrity: Integrity,
    /// Buffers of the commands that move pieces of operations.
    pool: Pool,
    /// Time of the last turn.
    now: u64,
    done: VecDeque<RemoteCompletion>,
    failures: Vec<(Wwn, ScanError)>,
    /// Number of targets that were scanned, successfully or not.
    scanned: usize,
    /// Time of the last of them.
    scanned_at: u64,
    /// Sentences for the user.
    news: Vec<String>,
}

/// Flag in the tags of scans; the tags of jobs lack it.
const SCAN: u32 = 1 << 31;
/// Flag, beside that one, in the tags of rounds.
const WATCH: u32 = 1 << 30;
/// Flag, beside both, in the tags of REQUEST SENSE.
const SENSE: u32 = 1 << 29;
/// Reason for the end of a held job.
const NOBODY: &str = "the target did not come back in time";
/// Time limit of each command, in ns.
const TIMEOUT: u64 = 30_000_000_000;
/// Least time for which operations are held while a target's disks are looked for again, in ns.
const SEARCH: u64 = 30_000_000_000;
/// Time without a new target after which no more are expected, in ns: at the start beacons follow each other within 400 ms.
const QUIET: u64 = 1_000_000_000;
/// Most bytes of buffers that are pooled for reuse.
const MEMORY: usize = 64 << 20;

impl Remote {
    /// Starts without disks; finds those of the target with this name, or of all targets. Operations on an unreachable
    /// disk are held for `hold` nanoseconds; `integrity` says what is checked of disks that have protection information.
    #[must_use]
    pub fn new(only: Option<Wwn>, hold: u64, integrity: Integrity) -> Self {
        Self {
            only,
            known: Vec::new(),
            units: Vec::new(),
            jobs: Vec::new(),
            free: Vec::new(),
            waiting: VecDeque::new(),
            pausing: BinaryHeap::new(),
            held: Vec::new(),
            hold,
            watch: None,
            integrity,
            pool: Pool::new(MEMORY),
            now: 0,
            done: VecDeque::new(),
            failures: Vec::new(),
            scanned: 0,
            scanned_at: 0,
            news: Vec::new(),
        }
    }

    /// Asks targets every so many nanoseconds whether their disks are what they were.
    #[must_use]
    pub fn watching(self, every: u64) -> Self {
        Self { watch: Some(every), ..self }
    }

    /// Disks found so far, reachable or not; each keeps its index.
    #[must_use]
    pub fn units(&self) -> &[RemoteUnit] {
        &self.units
    }

    /// Targets whose scans failed, and those that were not authenticated.
    #[must_use]
    pub fn failures(&self) -> &[(Wwn, ScanError)] {
        &self.failures
    }

    /// Takes what the user should know of the disks, a sentence each.
    pub fn take_news(&mut self) -> Vec<String> {
        std::mem::take(&mut self.news)
    }

    /// Number of targets that were scanned; None while a scan is under way.
    #[must_use]
    pub fn scanned(&self) -> Option<usize> {
        self.known.iter().all(|known| known.scanned).then_some(self.scanned)
    }

    /// Time from which no more disks are expected, as the named target was scanned, or no other target appeared for a while;
    /// None while a scan is under way, and before the first one has ended.
    #[must_use]
    pub fn complete_at(&self) -> Option<u64> {
        let quiet = if self.only.is_some() { 0 } else { QUIET };
        self.scanned().filter(|scanned| *scanned > 0).map(|_| self.scanned_at.saturating_add(quiet))
    }

    #[must_use]
    pub fn is_busy(&self) -> bool {
        self.jobs.len() > self.free.len()
    }

    /// To be called with every event of the node.
    pub fn event(&mut self, now: u64, event: &NodeEvent) {
        match event {
            NodeEvent::Unauthenticated(name, why) if self.only.is_none_or(|only| only == *name) => {
                self.failures.retain(|(of, _)| of != name);
                self.failures.push((*name, (*why).into()));
                (self.scanned, self.scanned_at) = (self.scanned + 1, now);
            }
            NodeEvent::Authenticated(name, _) => self.failures.retain(|(of, _)| of != name),
            NodeEvent::Up(peer) if peer.role.target && self.only.is_none_or(|only| only == peer.wwpn) => {
                self.known.retain(|known| known.peer.wwpn != peer.wwpn);
                self.known.push(Known::new(now, *peer));
            }
            NodeEvent::Down(peer, _) => {
                self.known.retain(|known| known.peer.id != peer.id);
                for unit in self.units.iter_mut().filter(|unit| unit.peer == Some(peer.id)) {
                    (unit.peer, unit.lost) = (None, Some(now));
                    unit.written.question(None);
                }
            }
            _ => {}
        }
    }

    /// Submits an operation on a disk, by its index in [`units`](Self::units); it ends as one [`RemoteCompletion`] of
    /// this tag.
    pub fn submit(&mut self, unit: usize, tag: Tag, operation: Operation) {
        let Some(found) = self.units.get(unit) else {
            return self.refuse(unit, job::refused(tag, operation, BackendError::Gone));
        };
        // Told once, and not with each request of clients who go on.
        if found.ended.is_some() {
            return self.refuse(unit, job::refused(tag, operation, BackendError::Gone));
        }
        let job = match Job::new(unit, tag, operation, found) {
            Ok(job) => job,
            Err(completion) => return self.refuse(unit, completion),
        };
        let at = self.free.pop().unwrap_or_else(|| {
            self.jobs.push(None);
            u32::try_from(self.jobs.len() - 1).unwrap_or(SCAN - 1)
        });
        self.jobs[at as usize] = Some(job);
        self.waiting.push_back(at);
    }

    pub fn complete(&mut self) -> Option<RemoteCompletion> {
        self.done.pop_front()
    }

    /// Processes completed commands, and submits as many new ones as there is room for. True if there was something to
    /// do.
    pub fn turn(&mut self, now: u64, initiator: &mut Initiator, logins: &Logins) -> bool {
        let mut worked = false;
        self.now = now;
        while let Some(completed) = initiator.poll_completion() {
            worked = true;
            let attention = answer::is_attention(&completed).then(|| self.unit_of(&completed)).flatten();
            if let (Some(unit), Some(peer)) = (attention, logins.peer(completed.peer)) {
                self.sense(now, unit, peer, initiator);
            }
            self.completed(now, completed);
        }
        worked |= self.scan(now, initiator, logins);
        worked |= self.watch(now, initiator, logins);
        worked |= self.look_after_held(now);
        while let Some(Reverse((until, at))) = self.pausing.peek().copied()
            && until <= now
        {
            self.pausing.pop();
            self.waiting.push_back(at);
        }
        for _ in 0..self.waiting.len() {
            let Some(at) = self.waiting.pop_front() else { break };
            if !self.start(now, at, initiator, logins) {
                self.waiting.push_back(at);
                break;
            }
            worked = true;
        }
        worked
    }

    /// Time of the next [`turn`](Self::turn) even if nothing happens.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<u64> {
        let scans = self.known.iter().filter_map(|known| known.due(self.watch));
        let pauses = self.pausing.peek().map(|Reverse((until, _))| *until);
        scans.chain(self.held.iter().filter_map(|at| self.held_until(*at))).chain(pauses).min()
    }

    /// Time until which a job is held; None if its disk is reachable by another session than the one that was lost.
    fn held_until(&self, at: u32) -> Option<u64> {
        let job = self.jobs.get(at as usize)?.as_ref()?;
        let (since, session) = job.lost()?;
        let unit = &self.units[job.unit()];
        let begins = unit.ended.is_some() || unit.peer.is_some_and(|peer| Some(peer) != session);
        let hold = if self.known.iter().any(|known| known.peer.wwpn == unit.wwpn) { SEARCH } else { 0 };
        (!begins).then(|| since.saturating_add(hold.max(self.hold)))
    }

    /// Begins held jobs again whose disk is back, and ends those that were held for too long. True if there were any.
    fn look_after_held(&mut self, now: u64) -> bool {
        let before = self.held.len();
        for at in std::mem::take(&mut self.held) {
            match self.held_until(at) {
                None => self.waiting.push_back(at),
                Some(until) if now < until => self.held.push(at),
                Some(_) => {
                    let about = self.jobs[at as usize].as_ref().map_or(String::new(), Job::about);
                    self.end(at, Err(BackendError::NotReady), Some(format!("{about}: {NOBODY}")));
                }
            }
        }
        self.held.len() < before
    }

    /// Keeps a job until its disk is reachable by another session than this one, in which a command may still be under
    /// way at the target: a new session ends all commands of the one before.
    fn hold(&mut self, at: u32, session: Option<PeerId>) {
        let Some(job) = self.jobs.get_mut(at as usize).and_then(Option::as_mut) else { return };
        job.lose(self.units[job.unit()].lost.unwrap_or(self.now), session);
        self.held.push(at);
    }

    /// Submits the next command of a job. False if it has to wait.
    fn start(&mut self, now: u64, at: u32, initiator: &mut Initiator, logins: &Logins) -> bool {
        let Some(job) = self.jobs.get_mut(at as usize).and_then(Option::as_mut) else { return true };
        let unit = &self.units[job.unit()];
        if let Some(why) = &unit.ended {
            let trouble = format!("{}: {why}", job.about());
            self.end(at, Err(BackendError::Gone), Some(trouble));
            return true;
        }
        let peer = unit.peer.and_then(|id| logins.peer(id));
        // What was done while the disk is in question has not ended either: it may have been done to another one.
        let questioned = peer.is_none() && self.known.iter().any(|known| known.peer.wwpn == unit.wwpn);
        if peer.is_none() && (job.has_command() || questioned) {
            if self.hold > 0 || questioned {
                self.hold(at, unit.peer);
            } else {
                self.end(at, Err(BackendError::Gone), None);
            }
            return true;
        }
        // A command that is not accepted would be made in vain.
        if job.has_command() && peer.is_some_and(|peer| initiator.room(peer.id) == 0) {
            return false;
        }
        match (job.next(Tag(at), &unit.lun, &mut self.pool, TIMEOUT), peer) {
            (Next::Command(command), Some(peer)) => match initiator.submit(now, peer, command) {
                Ok(()) => {
                    job.sent = unit.written.count;
                    if let Some(known) = self.known.iter_mut().find(|known| known.peer.id == peer.id) {
                        known.under_way += 1;
                    }
                    true
                }
                Err((_, command)) => {
                    job.take_back(command, &mut self.pool);
                    false
                }
            },
            (Next::Command(command), None) => {
                job.take_back(command, &mut self.pool);
                self.hold(at, None);
                true
            }
            (Next::Done, _) => {
                self.end(at, Ok(()), None);
                true
            }
            (Next::Never, _) => {
                let trouble = job.is_beyond(&unit.lun).then(|| format!("{}: the disk ends before", job.about()));
                self.end(at, Err(BackendError::Unsupported), trouble);
                true
            }
            (Next::Damaged(mismatch), _) => {
                self.damaged(at, mismatch);
                true
            }
        }
    }

    /// Disk that a command of an operation or a round was for.
    fn unit_of(&self, completed: &Completed) -> Option<usize> {
        let Tag(tag) = completed.tag;
        match tag & (SCAN | WATCH | SENSE) {
            0 => self.jobs.get(tag as usize)?.as_ref().map(Job::unit),
            flags if flags == SCAN | WATCH => {
                self.known.iter().find(|known| known.peer.id == completed.peer)?.round.as_ref().map(|round| round.unit)
            }
            _ => None,
        }
    }

    /// Sends REQUEST SENSE to a unit that has reported an attention, before the command is tried again: the unit may keep it
    /// until then (SPC-5, clause 7.5.10, UA_INTLCK_CTRL).
    fn sense(&mut self, now: u64, unit: usize, peer: &Peer, initiator: &mut Initiator) {
        let tag = Tag(SCAN | WATCH | SENSE | u32::from(peer.id.index));
        if let Some(command) = self.units[unit].lun.sense(tag, TIMEOUT)
            && initiator.submit(now, peer, command).is_ok()
            && let Some(known) = self.known.iter_mut().find(|known| known.peer.id == peer.id)
        {
            known.under_way += 1;
        }
    }

    fn completed(&mut self, now: u64, completed: Completed) {
        let Tag(tag) = completed.tag;
        let known = self.known.iter_mut().find(|known| known.peer.id == completed.peer);
        if tag & (SCAN | WATCH) == SCAN {
            if let Some(scan) = known.and_then(|known| known.scan.as_mut()) {
                scan.completed(now, &completed);
            }
            return;
        }
        if let Some(known) = known {
            known.under_way = known.under_way.saturating_sub(1);
        }
        if tag & SENSE != 0 {
            if answer::has_question(&completed) {
                self.question(now, completed.peer, now, None);
            }
            return;
        }
        if tag & WATCH != 0 {
            return self.watched(now, &completed);
        }
        let result = answer::result(&completed);
        let Some(job) = self.jobs.get_mut(tag as usize).and_then(Option::as_mut) else { return };
        match result {
            Ok(()) => {
                if let Some(blocks) = job.writes() {
                    self.units[job.unit()].written.add(blocks);
                }
                match job.done(completed.buffer, &mut self.pool) {
                    Ok(()) => self.waiting.push_front(tag),
                    Err(mismatch) => self.damaged(tag, mismatch),
                }
            }
            Err(answer::Failed::For(BackendError::Unsupported)) if job.otherwise() => self.waiting.push_back(tag),
            Err(answer::Failed::Lost) if self.hold > 0 => {
                job.again(completed.buffer, &mut self.pool);
                self.hold(tag, Some(completed.peer));
            }
            Err(failed) => {
                let again = match failed {
                    answer::Failed::Again | answer::Failed::Questioned => job.try_again(now, true),
                    answer::Failed::Later => job.try_again(now, false),
                    _ => None,
                };
                let questioned = matches!(failed, answer::Failed::Questioned);
                let (unit, sent) = (job.unit(), job.sent);
                if let Some(until) = again {
                    job.again(completed.buffer, &mut self.pool);
                    if questioned {
                        self.question(now, completed.peer, until, Some((unit, sent)));
                        self.hold(tag, None);
                    } else {
                        self.pausing.push(Reverse((until, tag)));
                    }
                    return;
                }
                let trouble = format!("{}: {}", job.about(), answer::why(&completed));
                let strange = answer::is_strange(&completed) && !self.units[unit].lun.read_only;
                if let answer::Failed::Mismatch(field) = failed {
                    self.units[job.unit()].found_there.count(field);
                }
                job.again(completed.buffer, &mut self.pool);
                self.end(tag, Err(failed.error()), Some(trouble));
                if strange {
                    self.question(now, completed.peer, now, Some((unit, sent)));
                }
            }
        }
    }

    /// Ends a job whose data does not match its protection information.
    fn damaged(&mut self, at: u32, mismatch: Mismatch) {
        let Some(job) = self.jobs.get(at as usize).and_then(Option::as_ref) else { return };
        let trouble = format!("{}: {mismatch}", job.about());
        self.units[job.unit()].found_here.count(mismatch.field);
        self.end(at, Err(BackendError::Medium), Some(trouble));
    }

    fn refuse(&mut self, unit: usize, completion: Completion) {
        self.done.push_back(RemoteCompletion { completion, unit, trouble: None });
    }

    fn end(&mut self, at: u32, result: Result<(), BackendError>, trouble: Option<String>) {
        if let Some(job) = self.jobs.get_mut(at as usize).and_then(Option::take) {
            self.free.push(at);
            let unit = job.unit();
            self.done.push_back(RemoteCompletion { completion: job.end(result), unit, trouble });
        }
    }
}

#[cfg(test)]
mod tests;

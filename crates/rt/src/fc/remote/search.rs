//! The search for a target's disks: at its login, and whenever it is in question which ones they are.

use super::watch::Round;
use super::{Remote, RemoteUnit, SCAN, answer};
use linerate_block::Tag;
use linerate_fcoe::{FoundLun, Initiator, Logins, Lun, LunScan, Peer, PeerId, SkipReason, Skipped};

/// Pause before a search is repeated because a disk does not say what it is, in ns.
const PAUSE: u64 = 1_000_000_000;
/// Time after which a disk that was not ready is looked at again, in ns.
const LATER: u64 = 10_000_000_000;

/// A target that is logged in.
pub(super) struct Known {
    pub(super) peer: Peer,
    /// Scan for its disks, while one is under way.
    pub(super) scan: Option<LunScan>,
    /// Time from which the next one is wanted.
    pub(super) wanted: Option<u64>,
    /// It begins when no command is under way any more.
    pub(super) drains: bool,
    /// It was scanned in this session.
    pub(super) scanned: bool,
    /// Commands of operations and of rounds that are under way.
    pub(super) under_way: u32,
    /// Round of its disks, while one is under way.
    pub(super) round: Option<Round>,
    /// Time of the last round, or scan.
    pub(super) checked: u64,
}

impl Known {
    pub(super) fn new(now: u64, peer: Peer) -> Self {
        let (scan, round) = (None, None);
        Self { peer, scan, wanted: Some(now), drains: false, scanned: false, under_way: 0, round, checked: now }
    }

    /// Time at which there is something to do for it, if its disks are watched every so many nanoseconds.
    pub(super) fn due(&self, watch: Option<u64>) -> Option<u64> {
        match (&self.scan, self.wanted, &self.round) {
            (Some(scan), ..) => scan.poll_timeout(),
            (_, Some(wanted), _) => (!self.drains || self.under_way == 0).then_some(wanted),
            (.., Some(round)) => round.due(),
            _ => watch.map(|every| self.checked.saturating_add(every)),
        }
    }
}

impl Remote {
    /// Continues the scans.
    pub(super) fn scan(&mut self, now: u64, initiator: &mut Initiator, logins: &Logins) -> bool {
        let mut worked = false;
        for at in 0..self.known.len() {
            let Known { peer, scan, wanted, drains, .. } = &mut self.known[at];
            // What is under way would be about a disk of which the scan tells nothing, and may be let pass by its questions.
            if scan.is_none() && wanted.is_some_and(|wanted| wanted <= now) && !*drains {
                let peer = peer.id;
                self.question(now, peer, now, None);
            }
            let Known { peer, scan, wanted, drains, under_way, round, .. } = &mut self.known[at];
            if scan.is_none() && *under_way == 0 && wanted.take_if(|wanted| *wanted <= now).is_some() {
                (*drains, *round) = (false, None);
                *scan = Some(LunScan::new(Tag(SCAN | u32::from(peer.id.index))));
            }
            let Some(running) = scan else { continue };
            if let Some(command) = running.command(now)
                && let Some(peer) = logins.peer(peer.id)
            {
                worked = true;
                if let Err((_, command)) = initiator.submit(now, peer, command) {
                    // Handled like BUSY: it is retried after a while.
                    running.completed(now, &answer::busy(command.tag, peer.id));
                }
            }
            let Some(result) = running.result() else { continue };
            worked = true;
            let skipped = running.skipped().to_vec();
            *scan = None;
            let wwpn = peer.wwpn;
            let known = &mut self.known[at];
            (known.checked, known.round) = (now, None);
            let first = !std::mem::replace(&mut known.scanned, true);
            if first {
                (self.scanned, self.scanned_at) = (self.scanned + 1, now);
            }
            match result {
                Ok(luns) => self.found(now, at, luns, &skipped),
                Err(error) if first => self.failures.push((wwpn, error)),
                Err(_) => known.wanted = Some(now.saturating_add(PAUSE)),
            }
        }
        worked
    }

    /// Takes what a scan has found.
    fn found(&mut self, now: u64, at: usize, luns: Vec<FoundLun>, skipped: &[Skipped]) {
        let Known { peer, wanted, .. } = &mut self.known[at];
        if self.watch.is_some() && skipped.iter().any(|skipped| skipped.why == SkipReason::NotReady) {
            *wanted = Some(now.saturating_add(LATER));
        }
        let listed: Vec<Lun> = luns.iter().map(|lun| lun.lun).collect();
        for lun in luns {
            let found = RemoteUnit::found(peer, lun, &self.integrity);
            let known = |unit: &&mut RemoteUnit| (unit.wwpn, unit.lun.lun) == (found.wwpn, found.lun.lun);
            match self.units.iter_mut().find(known) {
                Some(unit) => self.news.extend(unit.is_found(found)),
                None => self.units.push(found),
            }
        }
        let ours = |unit: &RemoteUnit| unit.wwpn == peer.wwpn && !listed.contains(&unit.lun.lun);
        for (at, unit) in self.units.iter_mut().enumerate().filter(|(_, unit)| ours(unit)) {
            let why = skipped.iter().find(|skipped| skipped.lun == unit.lun.lun).map(|skipped| skipped.why);
            match why {
                // It may be the same one, and say so later.
                Some(SkipReason::NotReady | SkipReason::Changes | SkipReason::Capacity) if unit.ended.is_none() => {
                    *wanted = Some(now.saturating_add(PAUSE));
                }
                _ => {
                    let lost = self.jobs.iter().flatten().filter(|job| job.unit() == at && job.is_write()).count();
                    let (why, writes) =
                        ("the target has no such disk any more", if lost == 1 { "write" } else { "writes" });
                    let told = unit.end(why);
                    let failed =
                        if lost > 0 { format!("; {lost} {writes} had no answer, and failed") } else { String::new() };
                    self.news.extend(told.map(|told| told + &failed));
                }
            }
        }
    }

    /// Sends no more commands to a target, and looks for its disks again once those under way have ended, from a time on.
    /// The writes of a disk behind the first `sure` ones may have reached another one; those of disks of which nothing was
    /// told, behind the last look at their names.
    pub(super) fn question(&mut self, now: u64, peer: PeerId, from: u64, sure: Option<(usize, u64)>) {
        let Some(known) = self.known.iter_mut().find(|known| known.peer.id == peer) else { return };
        if known.scan.is_none() {
            known.wanted = Some(known.wanted.map_or(from, |wanted| wanted.min(from)));
            (known.drains, known.round) = (true, None);
        }
        for (at, unit) in self.units.iter_mut().enumerate().filter(|(_, unit)| unit.peer == Some(peer)) {
            (unit.peer, unit.lost) = (None, Some(now));
            if sure.is_none_or(|(told, _)| told != at) {
                unit.written.question(None);
            }
        }
        if let Some((unit, sure)) = sure {
            self.units[unit].written.question(Some(sure));
        }
    }
}

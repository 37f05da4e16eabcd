//! Rounds of a target's disks: each is asked for its names and whether it is ready, one command after the other. Not every
//! target tells an initiator that it has exchanged a disk, and none tells who sends nothing.

use super::answer::{self, Failed};
use super::{Remote, SCAN, TIMEOUT, WATCH};
use linerate_block::Tag;
use linerate_fcoe::{Completed, Initiator, Logins};

/// Pause before a disk is asked again for its names because the target has no room for the command, in ns, and most times of
/// that.
const PAUSE: u64 = 20_000_000;
const TRIES: u8 = 50;

/// A round under way.
pub(super) struct Round {
    /// The disk whose turn it is.
    pub(super) unit: usize,
    /// It has said its names, and is asked whether it is ready.
    named: bool,
    /// A command is under way.
    waits: bool,
    /// Number of commands of the disk that had written when that was sent.
    sent: u64,
    /// There is no room for one until another ends, which makes a turn.
    full: bool,
    /// Time before which none is sent, and the number of times that the target had no room for it.
    from: u64,
    tries: u8,
}

impl Round {
    /// The turn of a disk.
    fn of(unit: usize) -> Self {
        Self { unit, named: false, waits: false, sent: 0, full: false, from: 0, tries: 0 }
    }

    /// Time of its next command, unless another must end first.
    pub(super) fn due(&self) -> Option<u64> {
        (!self.waits && !self.full).then_some(self.from)
    }
}

impl Remote {
    /// Continues the rounds, and begins those that are due. A target without disks is searched for some instead.
    /// True if a command was sent.
    pub(super) fn watch(&mut self, now: u64, initiator: &mut Initiator, logins: &Logins) -> bool {
        let Some(every) = self.watch else { return false };
        let mut worked = false;
        for known in self.known.iter_mut().filter(|known| known.scan.is_none() && known.wanted.is_none()) {
            if known.round.is_none() {
                if now < known.checked.saturating_add(every) {
                    continue;
                }
                known.round = Some(Round::of(0));
            }
            let Some(round) = known.round.as_mut().filter(|round| !round.waits) else { continue };
            round.full = initiator.room(known.peer.id) == 0;
            if round.full || now < round.from {
                continue;
            }
            let mut units = self.units.iter().enumerate().skip(round.unit);
            let Some((at, unit)) = units.find(|(_, unit)| unit.peer == Some(known.peer.id)) else {
                (known.round, known.checked) = (None, now);
                if self.units.iter().all(|unit| unit.peer != Some(known.peer.id)) {
                    known.wanted = Some(now);
                }
                continue;
            };
            if at != round.unit {
                *round = Round::of(at);
            }
            let tag = Tag(SCAN | WATCH | u32::from(known.peer.id.index));
            // The question would have a guarded disk's target execute what is under way for the one before it: its answer that
            // it is ready tells as much.
            let names = if round.named || unit.written.guarded { None } else { unit.lun.names(tag, TIMEOUT) };
            round.named = names.is_none();
            let command = names.or_else(|| unit.lun.ready(tag, TIMEOUT));
            if let (Some(command), Some(peer)) = (command, logins.peer(known.peer.id))
                && initiator.submit(now, peer, command).is_ok()
            {
                (round.waits, round.sent) = (true, unit.written.count);
                known.under_way += 1;
                worked = true;
            } else {
                round.full = true;
            }
        }
        worked
    }

    /// Takes the answer to a command of a round.
    pub(super) fn watched(&mut self, now: u64, completed: &Completed) {
        let Some(known) = self.known.iter_mut().find(|known| known.peer.id == completed.peer) else { return };
        let Some(round) = known.round.as_mut() else { return };
        let Round { unit: at, named, sent, tries, .. } = *round;
        let result = answer::result(completed);
        let unit = &mut self.units[at];
        let tells = !named || unit.written.guarded;
        *round = match result {
            Err(Failed::Later) if tells && tries < TRIES => {
                Round { from: now.saturating_add(PAUSE), tries: tries + 1, ..Round::of(at) }
            }
            _ if named => Round::of(at + 1),
            _ => Round { named: true, ..Round::of(at) },
        };
        if named {
            if matches!(result, Err(Failed::Questioned)) {
                self.question(now, completed.peer, now, Some((at, sent)));
            } else if tells && completed.is_good() {
                unit.written.verify(sent);
            }
        } else if completed.is_good() {
            if unit.lun.is_named_in(completed.data()) {
                unit.written.verify(sent);
            } else {
                unit.written.exchange();
                self.question(now, completed.peer, now, None);
            }
        }
    }
}

//! Rounds of a target's disks: each is asked for its names and whether it is ready, one command after the other. Not every
//! target tells an initiator that it has exchanged a disk, and none tells who sends nothing.

use super::answer::{self, Failed};
use super::{Remote, SCAN, TIMEOUT, WATCH};
use linerate_block::Tag;
use linerate_fcoe::{Completed, Initiator, Logins};

/// A round under way.
pub(super) struct Round {
    /// The disk whose turn it is.
    unit: usize,
    /// It has said its names, and is asked whether it is ready.
    named: bool,
    /// A command is under way.
    pub(super) waits: bool,
    /// Number of commands of the disk that had written when that was sent.
    sent: u64,
}

impl Remote {
    /// Continues the rounds, and begins those that are due. A target without disks is searched for some instead.
    pub(super) fn watch(&mut self, now: u64, initiator: &mut Initiator, logins: &Logins) {
        let Some(every) = self.watch else { return };
        for known in self.known.iter_mut().filter(|known| known.scan.is_none() && known.wanted.is_none()) {
            if known.round.is_none() {
                if now < known.checked.saturating_add(every) {
                    continue;
                }
                known.round = Some(Round { unit: 0, named: false, waits: false, sent: 0 });
            }
            let Some(round) = known.round.as_mut().filter(|round| !round.waits) else { continue };
            let mut units = self.units.iter().enumerate().skip(round.unit);
            let Some((at, unit)) = units.find(|(_, unit)| unit.peer == Some(known.peer.id)) else {
                (known.round, known.checked) = (None, now);
                if self.units.iter().all(|unit| unit.peer != Some(known.peer.id)) {
                    known.wanted = Some(now);
                }
                continue;
            };
            if at != round.unit {
                *round = Round { unit: at, named: false, waits: false, sent: 0 };
            }
            let tag = Tag(SCAN | WATCH | u32::from(known.peer.id.index));
            let names = if round.named { None } else { unit.lun.names(tag, TIMEOUT) };
            round.named = names.is_none();
            let command = names.or_else(|| unit.lun.ready(tag, TIMEOUT));
            if let (Some(command), Some(peer)) = (command, logins.peer(known.peer.id))
                && initiator.submit(now, peer, command).is_ok()
            {
                (round.waits, round.sent) = (true, unit.written.count);
                known.under_way += 1;
            } else {
                // There is no room: later.
                (known.round, known.checked) = (None, now);
            }
        }
    }

    /// Takes the answer to a command of a round.
    pub(super) fn watched(&mut self, now: u64, completed: &Completed) {
        let Some(known) = self.known.iter_mut().find(|known| known.peer.id == completed.peer) else { return };
        let Some(round) = known.round.as_mut() else { return };
        let Round { unit: at, named, sent, .. } = *round;
        *round = Round { unit: if named { at + 1 } else { at }, named: !named, waits: false, sent };
        let unit = &mut self.units[at];
        if named {
            if matches!(answer::result(completed), Err(Failed::Questioned)) {
                self.question(now, completed.peer, now, Some((at, sent)));
            }
        } else if completed.is_good() {
            if unit.lun.is_named_in(completed.data()) {
                unit.written.verify(sent);
            } else {
                self.question(now, completed.peer, now, None);
            }
        }
    }
}

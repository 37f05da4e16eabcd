//! Loops outside of the switch: ports that are joined there make one frame go round for ever, multiplied with each turn.
//!
//! Each second a probe (`probe`) leaves through each attached port. One that comes back by another port says that the
//! two are joined, and the one with the higher number is blocked, as spanning tree would do with two ports of one bridge
//! on one segment (IEEE 802.1Q-2022, clause 13.10): nothing is forwarded from it or to it. It goes on sending probes and
//! looking for them, and is opened again when none has come for some seconds. How long differs from block to block:
//! two switches that are joined twice may each block a port, on different links, and the one that opens first keeps the
//! other's closed by carrying its probes.
//!
//! Programs behind the switch's listener get no probes: they count what they receive, and one that joins two ports of its
//! own does to others what it could do by sending. A probe that comes from a program closes the program's port, whatever
//! its number: it has joined its port to a network where the switch has one, and only what arrives at a program's own
//! port can close it. A probe that comes back by the port that it left by closes nothing: no frame goes round through
//! this switch for that, and any station of that network could have sent it back.

use super::probe::{LEN, Prober};
use super::table::{MOST_PORTS, PortId};

/// Rounds of probes after which one that comes back is out of date.
const FRESH: u32 = 8;
/// Least time in ns from the last probe that came back to the end of a block.
const QUIET: u64 = 4_000_000_000;
/// Part of it that differs from block to block: up to as much again.
const SPREAD: u64 = QUIET;

/// See the module's text.
pub(super) struct Guard {
    prober: Prober,
    sequence: u32,
    ports: Box<[Watch]>,
}

#[derive(Clone, Copy, Default)]
struct Watch {
    /// First round of this port.
    first: u32,
    /// A probe is to be sent.
    wanted: bool,
    block: Option<Block>,
}

#[derive(Clone, Copy)]
struct Block {
    until: u64,
    /// Time from a probe to its end.
    length: u64,
    /// It began in this round.
    fresh: bool,
}

/// A probe of this switch that came back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Heard {
    /// It says nothing new.
    Known,
    /// The first port is to be blocked, for it is joined to the second one.
    Loop(PortId, PortId),
}

impl Guard {
    pub(super) fn new() -> Self {
        Self { prober: Prober::new(), sequence: 0, ports: vec![Watch::default(); MOST_PORTS].into() }
    }

    /// Address of the switch.
    pub(super) fn source(&self) -> [u8; 6] {
        self.prober.source()
    }

    /// Takes note of a new port, or of one that has gone.
    pub(super) fn begin(&mut self, port: PortId) {
        if let Some(watch) = self.ports.get_mut(usize::from(port)) {
            *watch = Watch { first: self.sequence.wrapping_add(1), ..Watch::default() };
        }
    }

    /// Begins a round: these ports are to send a probe each.
    pub(super) fn round(&mut self, ports: impl Iterator<Item = PortId>) {
        self.sequence = self.sequence.wrapping_add(1);
        self.ports.iter_mut().for_each(|watch| watch.wanted = false);
        for port in ports {
            if let Some(watch) = self.ports.get_mut(usize::from(port)) {
                watch.wanted = true;
            }
        }
    }

    /// True if this port's probe of the round has not been sent.
    pub(super) fn wants(&self, port: PortId) -> bool {
        self.ports.get(usize::from(port)).is_some_and(|watch| watch.wanted)
    }

    /// The probe of a port, to be sent now.
    pub(super) fn probe(&mut self, port: PortId) -> [u8; LEN] {
        if let Some(watch) = self.ports.get_mut(usize::from(port)) {
            watch.wanted = false;
        }
        self.prober.frame(port, self.sequence)
    }

    /// Takes note of a frame for the probes' group that came from a port; None if it is no probe of this switch.
    /// `guest`: that port is a program's; `watches`: it takes no part in forwarding.
    pub(super) fn hear(&mut self, now: u64, at: PortId, (guest, watches): (bool, bool), frame: &[u8]) -> Option<Heard> {
        let (from, sequence) = self.prober.read(frame)?;
        let Some(sender) = self.ports.get(usize::from(from)) else { return Some(Heard::Known) };
        let age = self.sequence.wrapping_sub(sequence);
        // A probe from before the port's first round was sent by an earlier port of its number.
        let is_of_another = sequence.wrapping_sub(sender.first) > u32::MAX / 2;
        if age > FRESH || is_of_another || watches || from == at {
            return Some(Heard::Known);
        }
        let (block, other) = if guest || at > from { (at, from) } else { (from, at) };
        let length = QUIET + self.prober.random(now) % SPREAD;
        let Some(watch) = self.ports.get_mut(usize::from(block)) else { return Some(Heard::Known) };
        match &mut watch.block {
            Some(block) => {
                block.until = now.saturating_add(block.length);
                Some(Heard::Known)
            }
            none => {
                *none = Some(Block { until: now.saturating_add(length), length, fresh: true });
                Some(Heard::Loop(block, other))
            }
        }
    }

    /// Ports whose block is over, and ports whose block has begun since the last call.
    pub(super) fn look(&mut self, now: u64) -> (Vec<PortId>, Vec<PortId>) {
        let (mut over, mut fresh) = (Vec::new(), Vec::new());
        for (port, watch) in (0..).zip(&mut self.ports) {
            let Some(block) = &mut watch.block else { continue };
            if now >= block.until {
                watch.block = None;
                over.push(port);
            } else if std::mem::take(&mut block.fresh) {
                fresh.push(port);
            }
        }
        (over, fresh)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;
    const ATTACHED: (bool, bool) = (false, false);
    const GUEST: (bool, bool) = (true, false);

    fn guard() -> Guard {
        let mut guard = Guard::new();
        (0..8).for_each(|port| guard.begin(port));
        guard.round(0..4);
        guard
    }

    #[test]
    fn the_higher_one_of_two_is_blocked_and_a_program_always() {
        for (from, at, who, wanted) in [
            (0, 1, ATTACHED, Heard::Loop(1, 0)),
            (3, 2, ATTACHED, Heard::Loop(3, 2)),
            (3, 1, GUEST, Heard::Loop(1, 3)),
            (1, 5, GUEST, Heard::Loop(5, 1)),
            (1, 1, ATTACHED, Heard::Known),
            (0, 1, (false, true), Heard::Known),
        ] {
            let mut guard = guard();
            let probe = guard.probe(from);
            assert_eq!(guard.hear(SECOND, at, who, &probe), Some(wanted), "{from} {at} {who:?}");
        }
        let foreign = Guard::new().probe(0);
        assert_eq!(guard().hear(SECOND, 1, ATTACHED, &foreign), None, "another switch's is carried");
    }

    #[test]
    fn a_block_lasts_while_probes_come_back() {
        let mut guard = guard();
        for second in 1..100 {
            guard.round(0..4);
            let (low, high) = (guard.probe(0), guard.probe(1));
            // Of a loop of one direction too.
            let heard = if second % 2 == 0 {
                guard.hear(second * SECOND, 1, ATTACHED, &low)
            } else {
                guard.hear(second * SECOND, 0, ATTACHED, &high)
            };
            assert_eq!(heard, Some(if second == 1 { Heard::Loop(1, 0) } else { Heard::Known }));
            let (over, fresh) = guard.look(second * SECOND);
            assert_eq!((over, fresh.is_empty()), (vec![], second > 1));
        }
        assert_eq!(guard.look(99 * SECOND + QUIET - 1).0, []);
        assert_eq!(guard.look(99 * SECOND + QUIET + SPREAD).0, [1]);
        assert_eq!(guard.look(200 * SECOND).0, []);
    }

    #[test]
    fn a_probe_that_was_kept_closes_nothing() {
        let mut guard = guard();
        let kept = guard.probe(0);
        (0..=FRESH).for_each(|_| guard.round(0..4));
        assert_eq!(guard.hear(SECOND, 1, ATTACHED, &kept), Some(Heard::Known), "out of date");
        let kept = guard.probe(2);
        guard.begin(2);
        assert_eq!(guard.hear(SECOND, 3, ATTACHED, &kept), Some(Heard::Known), "no probe of the new one was sent");
        guard.round(0..4);
        assert_eq!(guard.hear(SECOND, 3, ATTACHED, &kept), Some(Heard::Known), "of the port that was number 2 before");
        let probe = guard.probe(2);
        assert_eq!(guard.hear(SECOND, 3, ATTACHED, &probe), Some(Heard::Loop(3, 2)));
    }

    #[test]
    fn blocks_differ_in_length() {
        let lengths: std::collections::HashSet<u64> = (0..20)
            .map(|n| {
                let mut guard = guard();
                let probe = guard.probe(0);
                guard.hear(SECOND + n, 1, ATTACHED, &probe);
                guard.ports[1].block.unwrap().length
            })
            .collect();
        assert!(lengths.len() > 10 && lengths.iter().all(|length| (QUIET..QUIET + SPREAD).contains(length)));
    }
}

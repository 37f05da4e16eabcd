//! Accounting of every frame, per port and in total.
//!
//! A received frame is refused (with a reason) or becomes one copy per destination; a copy gets into its port's ring or
//! is dropped (with a reason), or waits in a queue; so does a frame that the switch itself makes; a copy in a ring is carried on,
//! or lost with its receiver. Both sides of each step are counted independently, so that unexplained frames are a finding and not a definition.

use super::member::{Fate, Member, PortCounters};
use super::pfc::PfcCounters;
use super::queues::ClassCounters;
use crate::counters::{DropReason, Drops};
use linerate_offload::TrafficClass;

/// Number of departed ports that are remembered by name.
const REMEMBERED: usize = 256;

/// Report on one port.
#[derive(Clone, Debug)]
pub struct PortReport {
    /// Its name at the switch.
    pub name: String,
    /// Path to the port, in words.
    pub path: String,
    /// The port has gone.
    pub gone: bool,
    /// Name of the port that this one is joined to outside of the switch, for which it is blocked.
    pub blocked: Option<String>,
    /// Counters of the port.
    pub count: PortCounters,
    /// Fate of the copies put into its rings.
    pub fate: Fate,
    /// Counters of its traffic classes; None at a switch without buffers.
    pub classes: Option<[ClassCounters; TrafficClass::MOST]>,
    /// Counters of its flow control.
    pub pfc: PfcCounters,
}

impl PortReport {
    /// Copies that wait in its queues.
    #[must_use]
    pub fn waiting(&self) -> u64 {
        self.classes.iter().flatten().map(|class| class.waiting).sum()
    }

    pub(super) fn of(member: &Member) -> Self {
        Self {
            name: member.name.clone(),
            path: member.path.clone(),
            gone: false,
            blocked: member.blocked.clone(),
            count: member.counters(),
            fate: member.fate(),
            classes: member.classes(),
            pfc: *member.pfc,
        }
    }
}

/// Totals of all ports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ledger {
    /// Frames received and forwarded.
    pub received: u64,
    /// Frames received and refused.
    pub refused: Drops,
    /// Copies to be made of the forwarded frames.
    pub copies: u64,
    /// Frames that the switch itself made: probes and queries.
    pub own: u64,
    /// Copies, and frames of its own, that got into a ring.
    pub sent: u64,
    /// Copies, and frames of its own, that did not get into a ring.
    pub dropped: Drops,
    /// Copies, and frames of its own, that wait in queues.
    pub waiting: u64,
    /// Copies in rings whose receiver went before it took them.
    pub lost: u64,
    /// Copies that the counts above miss, or count twice.
    pub unexplained: u64,
}

impl Ledger {
    /// Totals of these ports.
    #[must_use]
    pub fn of(ports: &[PortReport]) -> Self {
        let mut sum = Self::default();
        for port in ports {
            let PortReport { count, fate, .. } = port;
            sum.waiting += port.waiting();
            sum.received += count.received;
            sum.refused += count.refused;
            sum.copies += count.copies;
            sum.own += count.own;
            sum.sent += count.sent;
            sum.dropped += count.dropped;
            sum.lost += fate.lost.of(DropReason::PeerDied);
            sum.unexplained += fate.unexplained(count.sent);
            let by_priority: u64 = count.priorities.iter().map(|priority| priority.sent + priority.dropped).sum();
            sum.unexplained += by_priority.abs_diff(count.sent + count.dropped.total());
        }
        sum.unexplained += (sum.copies + sum.own).abs_diff(sum.sent + sum.dropped.total() + sum.waiting);
        // A forwarded frame became one copy at least.
        sum.unexplained += sum.received.saturating_sub(sum.copies);
        sum
    }
}

/// Departed ports by name; beyond a limit, all further ones together.
#[derive(Default)]
pub(super) struct Retired {
    ports: Vec<PortReport>,
    nobody: PortCounters,
}

impl Retired {
    pub(super) fn add(&mut self, member: &Member) {
        let mut report = PortReport::of(member);
        // Copies in rings without a reader are lost.
        let known = report.fate.carried + report.fate.lost.total() - report.fate.lost.of(DropReason::PeerDied);
        let left = report.count.sent.saturating_sub(known).min(report.fate.in_ring);
        report.fate.carried += left;
        report.fate.lost.add(DropReason::PeerDied, left);
        (report.fate.in_ring, report.gone, report.blocked) = (0, true, None);
        if self.ports.len() >= REMEMBERED && !self.ports.iter().any(|port| port.name == report.name) {
            (report.name, report.path) = ("others".into(), String::new());
        }
        match self.ports.iter_mut().find(|port| port.name == report.name) {
            Some(port) => {
                port.count += report.count;
                port.fate += report.fate;
                port.pfc += report.pfc;
                for (class, more) in port.classes.iter_mut().flatten().zip(report.classes.into_iter().flatten()) {
                    *class += more;
                }
            }
            None => self.ports.push(report),
        }
    }

    pub(super) fn reports(&self) -> impl Iterator<Item = PortReport> + '_ {
        self.ports.iter().cloned()
    }

    /// Counters for a port that does not exist.
    pub(super) fn nobody(&mut self) -> &mut PortCounters {
        &mut self.nobody
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::switch::PriorityCounters;

    /// Reports of ten frames from one port to another, as all parties should count them.
    fn ports() -> [PortReport; 2] {
        let port = |name: &str, count, fate| PortReport {
            name: name.into(),
            path: String::new(),
            gone: false,
            blocked: None,
            count,
            fate,
            classes: None,
            pfc: PfcCounters::default(),
        };
        let from = PortCounters { received: 10, copies: 10, ..PortCounters::default() };
        let mut to = PortCounters { sent: 10, ..PortCounters::default() };
        to.priorities[0] = PriorityCounters { sent: 10, ..PriorityCounters::default() };
        [port("a", from, Fate::default()), port("b", to, Fate { carried: 10, ..Fate::default() })]
    }

    fn unexplained(change: impl FnOnce(&mut PortCounters, &mut PortCounters, &mut Fate)) -> u64 {
        let [mut a, mut b] = ports();
        change(&mut a.count, &mut b.count, &mut b.fate);
        Ledger::of(&[a, b]).unexplained
    }

    #[test]
    fn a_surplus_is_a_finding_as_a_lack_is() {
        assert_eq!(unexplained(|_, _, _| {}), 0);
        for n in [7, 13] {
            assert_eq!(unexplained(|_, _, fate| fate.carried = n), 3, "the engine's {n} of 10 put");
            assert_eq!(unexplained(|a, _, _| a.copies = n), 3 + 10u64.saturating_sub(n), "{n} copies wanted of 10");
            assert_eq!(
                unexplained(|_, b, _| b.priorities[3].dropped = n),
                n,
                "a priority's drops that the port has not"
            );
        }
        // Dropped by the engine: that explains three, and does not explain three more than there were.
        let dropped = |fate: &mut Fate, carried| {
            fate.carried = carried;
            fate.lost.add(DropReason::TooManyFragments, 3);
        };
        assert_eq!(unexplained(|_, _, fate| dropped(fate, 7)), 0);
        assert_eq!(unexplained(|_, _, fate| dropped(fate, 10)), 3);
        // In the ring: counted in slots, of which a frame may have several.
        assert_eq!(unexplained(|_, _, fate| (fate.carried, fate.in_ring) = (7, 5)), 0);
        assert_eq!(unexplained(|_, _, fate| (fate.carried, fate.in_ring) = (7, 2)), 1);
        assert_eq!(unexplained(|_, _, fate| (fate.carried, fate.in_ring) = (13, 9)), 3, "a surplus waits nowhere");
        assert_eq!(unexplained(|a, _, _| (a.received, a.copies) = (11, 10)), 1, "one frame became nothing");
        // One port's surplus does not hide another's deficit.
        let [a, b] = ports();
        let (mut more, mut less) = (b.clone(), b);
        (more.fate.carried, less.fate.carried) = (12, 8);
        let twice = PortReport { count: PortCounters { copies: 20, received: 20, ..a.count }, ..a };
        assert_eq!(Ledger::of(&[twice, more, less]).unexplained, 4);
    }

    #[test]
    fn what_became_of_copies_is_added_up_term_by_term() {
        let fate = |carried, in_ring, lost: &[(DropReason, u64)]| {
            let mut fate = Fate { carried, in_ring, ..Fate::default() };
            lost.iter().for_each(|(reason, n)| fate.lost.add(*reason, *n));
            fate
        };
        let (long, died) = (DropReason::TooLong, DropReason::PeerDied);
        let mut sum = fate(100, 50, &[(long, 3), (died, 4)]);
        sum += fate(20, 7, &[(died, 5), (DropReason::NoRoom, 6)]);
        assert_eq!(sum, fate(120, 57, &[(long, 3), (died, 9), (DropReason::NoRoom, 6)]));
        sum += Fate::default();
        assert_eq!((sum.carried, sum.in_ring, sum.lost.total()), (120, 57, 18));
    }
}

//! Shares of the link: weighted deficit round robin (Shreedhar and Varghese 1995) where frames are admitted to a ring,
//! not where they wait in queues: there are no queues between an interface and its port's ring.
//!
//! The link is divided among traffic classes, and what a class has among its interfaces. A strict class goes before those
//! below it ([`Selection::level`]): theirs are refused while one of its interfaces waits for room. Among classes of one
//! level each round gives each credit for as many bytes as its weight says, and each round of a class does the same for its
//! interfaces. An interface without credit is refused as long as another one of its class that was refused for want of
//! room still has some, or one of another class, if that class has some and its own has none. Alone, an interface is never
//! refused.
//!
//! Sending looks at the interface's credit, and at who goes before it. What a class has sent is found out when one of its
//! interfaces has no credit left; so a class may exceed its own by what its interfaces have, and the debt is paid.
//!
//! A source that was refused is expected to come back for some time, as a thread takes a while to wake up. It is not once it is known to
//! have nothing more and the ring has run dry, as the link would stand still for nothing; one of a strict class not when a
//! frame of it gets through.

use super::demux::ViSet;
use linerate_offload::{ClassTable, Selection, TrafficClass};

/// Bytes of credit that one weight gets a round. A program's ring has to hold an interface's whole credit, or its part of
/// the link is what its ring holds: 1023 of the shortest frames are enough for a weight of 14.
const QUANTUM: i64 = 4 * 1024;
/// How long one that was refused is waited for, in nanoseconds, and at most twice as long.
const PATIENCE: u64 = 200_000;

/// An interface's part of the link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    /// The class that it shares with others.
    pub(crate) class: TrafficClass,
    /// Its weight among them.
    pub(crate) weight: u32,
}

/// The credit of a port queue's interfaces.
pub(crate) struct Share {
    credit: Box<[i64]>,
    quantum: Box<[i64]>,
    /// Interfaces that have credit.
    rich: ViSet,
    /// Interfaces that were refused lately, in this span of time and in the one before.
    waiting: ViSet,
    waited: ViSet,
    /// Interfaces that had nothing more to send when they were last asked.
    drained: ViSet,
    turned: u64,
    /// Class of each interface: its place among `classes`.
    class: Box<[usize]>,
    /// Interfaces that go before each.
    before: Box<[ViSet]>,
    /// Interfaces of strict classes.
    strict: ViSet,
    classes: Box<[Class]>,
    table: ClassTable,
}

/// The credit of a traffic class.
struct Class {
    level: usize,
    /// No other class of its level has interfaces, so it needs no credit.
    alone: bool,
    credit: i64,
    quantum: i64,
    interfaces: ViSet,
    /// Sum of its interfaces' credit when its own was last settled: what is missing of it has been sent since then.
    given: i64,
}

impl Class {
    /// Rounds after which it has credit.
    fn rounds(&self) -> i64 {
        if self.credit > 0 { 0 } else { 1 - self.credit / self.quantum }
    }
}

impl Share {
    pub(crate) fn new(table: ClassTable, parts: &[Part]) -> Self {
        let quanta: Box<[i64]> = parts.iter().map(|part| quantum(part.weight)).collect();
        let class_of: Box<[usize]> = parts.iter().map(|part| part.class.index()).collect();
        let level = |class: usize| table.selection()[class].level(class);
        let those = |wanted: &dyn Fn(usize) -> bool| {
            let all = class_of.iter().enumerate().filter(|(_, class)| wanted(**class));
            all.fold(0, |set: ViSet, (vi, _)| set | 1 << vi)
        };
        let classes = table.selection().iter().enumerate().map(|(class, selection)| Class {
            level: level(class),
            alone: those(&|other| other != class && level(other) == level(class)) == 0,
            credit: weight(*selection),
            quantum: weight(*selection),
            interfaces: those(&|other| other == class),
            given: class_of.iter().zip(&quanta).filter(|(other, _)| **other == class).map(|(_, quantum)| quantum).sum(),
        });
        Self {
            classes: classes.collect(),
            before: class_of.iter().map(|class| those(&|other| level(other) > level(*class))).collect(),
            strict: those(&|class| table.selection()[class] == Selection::Strict),
            table,
            class: class_of,
            credit: quanta.clone(),
            rich: (0..parts.len()).fold(0, |set, vi| set | 1 << vi),
            quantum: quanta,
            waiting: 0,
            waited: 0,
            drained: 0,
            turned: 0,
        }
    }

    /// True if these are the classes, and the interfaces' parts.
    pub(crate) fn has(&self, table: ClassTable, parts: &[Part]) -> bool {
        let own = self.class.iter().copied().zip(self.quantum.iter().copied());
        self.table == table && own.eq(parts.iter().map(|part| (part.class.index(), quantum(part.weight))))
    }

    /// True if an interface may send now.
    #[inline]
    pub(crate) fn may(&mut self, vi: usize) -> bool {
        (self.credit[vi] > 0 && !self.is_held(vi)) || self.next_round(vi)
    }

    /// True if one that goes before an interface waits for room.
    #[inline]
    fn is_held(&self, vi: usize) -> bool {
        (self.waiting | self.waited) & self.before[vi] != 0
    }

    /// Bytes that an interface may send now; 0 if it is not its turn.
    #[inline]
    pub(crate) fn credit(&mut self, vi: usize) -> u64 {
        if self.may(vi) { self.credit[vi].cast_unsigned() } else { 0 }
    }

    /// True if an interface may send so many bytes now; if so they are taken from its credit, which may become a debt.
    #[inline]
    pub(crate) fn take(&mut self, vi: usize, bytes: u64) -> bool {
        if !self.may(vi) {
            return false;
        }
        self.credit[vi] -= bytes.cast_signed();
        if self.credit[vi] <= 0 {
            self.rich &= !(1 << vi);
        }
        if self.strict >> vi & 1 != 0 {
            self.gone(vi);
        }
        true
    }

    /// Gives new credit if nobody else waits with some left, or goes before.
    #[cold]
    fn next_round(&mut self, vi: usize) -> bool {
        let class = self.class[vi];
        if self.is_held(vi) {
            self.refused(vi);
            return false;
        }
        while self.credit[vi] <= 0 {
            let others = self.classes[class].interfaces & !(1 << vi);
            if !self.class_may(class) || (self.waiting | self.waited) & self.rich & others != 0 {
                self.refused(vi);
                return false;
            }
            self.give(class);
        }
        true
    }

    /// True if a class may send now; gives the classes new credit if it has none, and no other waits with some left.
    fn class_may(&mut self, class: usize) -> bool {
        if self.classes[class].alone {
            return true;
        }
        self.settle();
        if self.classes[class].credit > 0 {
            return true;
        }
        // As many rounds at once as it takes until this class has credit, or one that waits: an interface's credit may
        // exceed its class's by far, and so may the debt. No round while one that waits has some.
        let (waiting, level) = (self.waiting | self.waited, self.classes[class].level);
        let peers = self.classes.iter().enumerate().filter(|(_, other)| other.level == level);
        let those = peers.filter(|(k, other)| *k == class || other.interfaces & waiting != 0);
        let rounds = those.map(|(_, class)| class.rounds()).min().unwrap_or(0);
        if rounds > 0 {
            for class in self.classes.iter_mut().filter(|other| other.level == level) {
                // Credit that was not used is not saved up; a debt is paid.
                class.credit = (class.credit.min(0) + rounds * class.quantum).min(class.quantum);
            }
        }
        self.classes[class].credit > 0
    }

    /// Takes what each class's interfaces have sent from its credit.
    fn settle(&mut self) {
        let mut left = [0; TrafficClass::MOST];
        for (class, credit) in self.class.iter().zip(&self.credit) {
            left[*class] += credit;
        }
        for (class, left) in self.classes.iter_mut().zip(left) {
            class.credit -= class.given - left;
            class.given = left;
        }
    }

    /// Gives a class's interfaces a round's credit.
    fn give(&mut self, class: usize) {
        let mut given = 0;
        for k in (0..self.credit.len()).filter(|k| self.class[*k] == class) {
            // Credit that was not used is not saved up; a debt is paid.
            self.credit[k] = self.credit[k].min(0) + self.quantum[k];
            self.rich |= if self.credit[k] > 0 { 1 << k } else { 0 };
            given += self.credit[k];
        }
        self.classes[class].given = given;
    }

    /// There was no room for an interface's frame.
    #[inline]
    pub(crate) fn refused(&mut self, vi: usize) {
        self.waiting |= 1 << vi;
        self.drained &= !(1 << vi);
    }

    /// An interface has nothing more to send at the moment.
    #[inline]
    pub(crate) fn drained(&mut self, vi: usize) {
        self.drained |= 1 << vi;
    }

    /// An interface does not wait for room any more.
    #[inline]
    pub(crate) fn gone(&mut self, vi: usize) {
        self.waiting &= !(1 << vi);
        self.waited &= !(1 << vi);
    }

    /// Time goes by: who has not come back for some while waits no more, nor does who has nothing if the ring is dry.
    #[inline]
    pub(crate) fn tick(&mut self, now: u64, dry: bool) {
        if dry {
            self.waiting &= !self.drained;
            self.waited &= !self.drained;
        }
        if now.saturating_sub(self.turned) >= PATIENCE {
            self.waited = std::mem::take(&mut self.waiting);
            self.turned = now;
        }
    }
}

fn quantum(weight: u32) -> i64 {
    QUANTUM * i64::from(weight.max(1))
}

/// Credit of a class each round.
fn weight(selection: Selection) -> i64 {
    quantum(if let Selection::Share(weight) = selection { weight } else { 1 })
}

#[cfg(test)]
#[expect(clippy::cast_possible_truncation, reason = "small numbers")]
mod tests {
    use super::*;
    use linerate_wire::Priority;

    /// Interfaces of one class.
    fn one_class(weights: &[u32]) -> Share {
        let part = |weight: &u32| Part { class: TrafficClass::default(), weight: *weight };
        Share::new(ClassTable::default(), &weights.iter().map(part).collect::<Vec<_>>())
    }

    /// Interfaces of several classes, each with its priority and weight.
    fn several(classes: &[u32], vis: &[(usize, u32)]) -> Share {
        let shares: Vec<_> = classes.iter().copied().map(Selection::Share).collect();
        under(ClassTable::recommended(&shares).unwrap(), vis)
    }

    /// The same, by any table.
    fn under(classes: ClassTable, vis: &[(usize, u32)]) -> Share {
        let part = |(priority, weight): &(usize, u32)| Part {
            class: classes.class(Priority::ALL[*priority]),
            weight: *weight,
        };
        Share::new(classes, &vis.iter().map(part).collect::<Vec<_>>())
    }

    /// Bytes sent in so many turns over a ring of a few slots by those interfaces that `active` names: they always have
    /// frames, in an order that favours the first.
    fn flood<const N: usize>(
        share: &mut Share,
        sizes: [u64; N],
        turns: std::ops::Range<u64>,
        active: impl Fn(usize) -> bool,
    ) -> [u64; N] {
        let mut sent = [0u64; N];
        for now in turns {
            let mut room = 7;
            share.tick(1000 * now, false);
            for vi in (0..N).filter(|vi| active(*vi)) {
                loop {
                    if room == 0 {
                        share.refused(vi);
                        break;
                    }
                    if !share.take(vi, sizes[vi]) {
                        break;
                    }
                    (sent[vi], room) = (sent[vi] + sizes[vi], room - 1);
                }
            }
        }
        sent
    }

    #[test]
    fn bytes_go_by_weight_whatever_the_frame_sizes() {
        let weights = [1, 2, 5];
        let sizes = [9000, 84, 1538];
        let sent = flood(&mut one_class(&weights), sizes, 0..200_000, |_| true);
        let total: u64 = sent.iter().sum();
        for (vi, weight) in weights.iter().enumerate() {
            let wanted = total * u64::from(*weight) / 8;
            let slack = 2 * 5 * QUANTUM.unsigned_abs() + 2 * sizes[vi] + total / 200;
            assert!(sent[vi].abs_diff(wanted) < slack, "{vi}: {} of {wanted}", sent[vi]);
        }
    }

    /// Frames of several kilobytes and of 84 bytes, super-frames too, on both sides of a class's border.
    #[test]
    fn bytes_go_by_class_and_then_by_weight_whatever_the_frame_sizes() {
        for sizes in [[9000, 84, 1538, 84, 300], [84, 60_000, 84, 60_000, 1538], [1538; 5]] {
            // Priorities 0 and 1 are in class 0, 3 is in 1 and 7 in 3: nobody is in class 2. The weights of a class's
            // interfaces say nothing against another class's.
            let vis = [(0, 1), (1, 3), (3, 1), (7, 500), (7, 250)];
            let sent = flood(&mut several(&[2, 1, 9, 5], &vis), sizes, 0..1_000_000, |_| true);
            let total: u64 = sent.iter().sum();
            let parts = [(2, 1, 4), (2, 3, 4), (1, 1, 1), (5, 2, 3), (5, 1, 3)];
            for (vi, (class, weight, of)) in parts.into_iter().enumerate() {
                let wanted = total * class * weight / (8 * of);
                // A round of the heaviest class, and a frame.
                let slack = 2 * 750 * QUANTUM.unsigned_abs() + 2 * 60_000 + total / 200;
                assert!(sent[vi].abs_diff(wanted) < slack, "{sizes:?} {vi}: {} of {wanted}", sent[vi]);
                assert!(slack < wanted, "the test tells shares apart");
            }
        }
    }

    #[test]
    fn a_class_that_falls_silent_leaves_its_share_to_the_others_and_gets_it_back() {
        let mut share = several(&[1, 3, 4], &[(0, 1), (0, 1), (4, 1), (6, 1)]);
        let sizes = [1538; 4];
        let full = (100_000 - 2 * PATIENCE / 1000) * 7 * sizes[0];
        let of = |sent: [u64; 4], vi: usize| sent[vi] * 80 / sent.iter().sum::<u64>();
        let all = flood(&mut share, sizes, 0..100_000, |_| true);
        assert!([(0, 5), (1, 5), (2, 30), (3, 40)].iter().all(|(vi, n)| of(all, *vi).abs_diff(*n) <= 1), "{all:?}");
        let fewer = flood(&mut share, sizes, 100_000..200_000, |vi| vi != 3);
        assert!(fewer.iter().sum::<u64>() >= full, "no slot stays empty for longer than it is waited for");
        assert!([(0, 10), (1, 10), (2, 60)].iter().all(|(vi, n)| of(fewer, *vi).abs_diff(*n) <= 1), "{fewer:?}");
        let alone = flood(&mut share, sizes, 200_000..300_000, |vi| vi == 1);
        assert!(alone[1] >= full, "alone, an interface is refused no longer than others are waited for");
        let again = flood(&mut share, sizes, 300_000..400_000, |_| true);
        assert!([(0, 5), (1, 5), (2, 30), (3, 40)].iter().all(|(vi, n)| of(again, *vi).abs_diff(*n) <= 1), "{again:?}");
    }

    #[test]
    fn a_class_that_has_gone_holds_nobody_up() {
        let mut share = several(&[1, 1], &[(0, 1), (7, 1)]);
        share.refused(1);
        let used = (0..100_000).take_while(|_| share.take(0, 1000)).count();
        assert!(used < 20, "the other class waits, and has credit");
        for now in 1..4 {
            share.tick(now * PATIENCE, false);
        }
        assert!(share.take(0, 1000), "the other class has gone");
    }

    /// Credit that a class's interfaces were given and have not used does not let it exceed its share for ever.
    #[test]
    fn a_debt_of_a_class_is_paid() {
        let mut share = several(&[1, 1], &[(0, 10), (0, 10), (7, 1)]);
        assert!((0..20).all(|k| share.take(k % 2, QUANTUM.unsigned_abs())), "its interfaces' credit");
        share.refused(2);
        assert!(!share.may(0), "its class is in debt, and the other waits with credit");
        let mut other = 0;
        while !share.may(0) {
            share.refused(0);
            assert!(share.take(2, 1024), "the debtor holds nobody up");
            other += 1024;
            share.refused(2);
        }
        assert!((19..=21).contains(&(other / QUANTUM.unsigned_abs())), "{other}");
    }

    /// With one class, or all interfaces in one, each call gives what weighted round robin of interfaces alone gives.
    #[test]
    fn one_class_is_as_none() {
        let weights = [3, 1, 7, 2];
        let vis = weights.map(|weight| (5, weight));
        let mut shares = [one_class(&weights), several(&[4], &vis), several(&[1, 2, 1, 1, 1], &vis)];
        let mut seed = 7_u64;
        for now in 0..200_000 {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let (vi, what) = ((seed >> 33) as usize % 4, (seed >> 40) % 5);
            let bytes = (seed >> 45) % 9000;
            let said = shares.each_mut().map(|share| {
                share.tick(100 * now, false);
                match what {
                    0 => share.refused(vi),
                    1 => return share.credit(vi),
                    _ => return u64::from(share.take(vi, bytes)),
                }
                0
            });
            assert!(said.iter().all(|answer| *answer == said[0]), "{now}: {said:?}");
        }
    }

    /// Load of one interface.
    #[derive(Clone, Copy, Debug, PartialEq)]
    enum Load {
        /// It always has frames.
        Full,
        /// So many bytes come each time after so many microseconds.
        Comes(u64, u64),
    }

    /// An interface of a link in virtual time.
    #[derive(Clone, Copy, Debug)]
    struct Source {
        priority: usize,
        weight: u32,
        size: u64,
        load: Load,
    }

    /// Bytes in a microsecond of the link, slots of its ring, bytes of a slot.
    const LINK: u64 = 400;
    const SLOTS: u64 = 1024;
    const SLOT: u64 = 2048;

    /// Bytes that each interface puts on the link in a second of virtual time, once a ring that was filled before anybody waited
    /// has been sent. As the thread of an adapter has it, each 10 us there is a look at all, or at once while one is refused
    /// though there is room.
    fn second(table: ClassTable, sources: &[Source]) -> Vec<u64> {
        let vis: Vec<_> = sources.iter().map(|source| (source.priority, source.weight)).collect();
        let mut share = under(table, &vis);
        let (mut backlog, mut out) = (vec![0; sources.len()], vec![0; sources.len()]);
        let (mut ring, mut room, mut budget) = (std::collections::VecDeque::new(), SLOTS, 0);
        for now in (0..1_020_000_u64).step_by(10) {
            for (source, backlog) in sources.iter().zip(&mut backlog) {
                match source.load {
                    Load::Full => *backlog = u64::MAX,
                    Load::Comes(bytes, each) if now % each < 10 => *backlog += bytes,
                    Load::Comes(..) => {}
                }
            }
            if now == 20_000 {
                out.fill(0);
            }
            budget = if ring.is_empty() { 0 } else { budget } + 10 * LINK;
            while let Some((vi, bytes, slots)) = ring.front().copied().filter(|(_, bytes, _)| *bytes <= budget) {
                ring.pop_front();
                (out[vi], room, budget) = (out[vi] + bytes, room + slots, budget - bytes);
            }
            for _look in 0..4 {
                share.tick(1000 * now, ring.is_empty());
                let mut pressed = false;
                for k in 0..sources.len() {
                    let vi = (k + now as usize / 10) % sources.len();
                    let (bytes, slots) = (sources[vi].size, sources[vi].size.div_ceil(SLOT));
                    while backlog[vi] >= bytes {
                        if room < slots {
                            share.refused(vi);
                            break;
                        }
                        if !share.take(vi, bytes) {
                            pressed = true;
                            break;
                        }
                        ring.push_back((vi, bytes, slots));
                        (room, backlog[vi]) = (room - slots, backlog[vi] - bytes);
                    }
                    if backlog[vi] < bytes {
                        share.drained(vi);
                    }
                }
                if !pressed {
                    break;
                }
            }
        }
        out
    }

    /// Bytes in a second that each class is to have: strict ones in their order all that they want, then the others of a level by
    /// weight, none more than it wants.
    fn due(table: &ClassTable, wants: &[u64]) -> Vec<u64> {
        let (mut left, mut due) = (LINK * 1_000_000, vec![0; wants.len()]);
        let level = |class: usize| table.selection()[class].level(class);
        for now in (0..=9).rev() {
            let mut open: Vec<usize> = (0..wants.len()).filter(|k| level(*k) == now && wants[*k] > 0).collect();
            while !open.is_empty() {
                let sum: u64 = open.iter().map(|k| weight(table.selection()[*k]).unsigned_abs()).sum();
                let part = |k: usize| left * weight(table.selection()[k]).unsigned_abs() / sum;
                let full: Vec<usize> = open.iter().copied().filter(|k| wants[*k] <= part(*k)).collect();
                if full.is_empty() {
                    open.iter().for_each(|k| due[*k] = part(*k));
                    left = 0;
                    break;
                }
                full.iter().for_each(|k| due[*k] = wants[*k]);
                left -= full.iter().map(|k| wants[*k]).sum::<u64>();
                open.retain(|k| !full.contains(k));
            }
        }
        due
    }

    /// Random tables and loads, frames of 60 bytes beside super-frames of 64 KiB.
    #[test]
    fn classes_have_their_shares_of_a_second_within_two_percent() {
        let (mut strict, mut shares, mut idle) = (0, 0, 0);
        for seed in 1..=32 {
            let mut random = linerate_sum::SplitMix64::new(seed);
            let mut below = |n: u64| random.next_u64() % n;
            // Shares that sum to 100, none below 5; one class in four is strict, one in eight has the rest.
            let kinds: Vec<u64> = (0..8).map(|_| below(8)).collect();
            let parts = kinds.iter().filter(|kind| **kind > 2).count() as u32;
            let mut left = 100;
            let mut seen = 0;
            let selection: [Selection; 8] = std::array::from_fn(|k| match kinds[k] {
                0 | 1 => Selection::Strict,
                2 => Selection::Rest,
                _ => {
                    seen += 1;
                    let most = left - 5 * (parts - seen);
                    let share = if seen == parts { left } else { 5 + below(u64::from(most - 4)) as u32 };
                    left -= share;
                    Selection::Share(share)
                }
            });
            let of: [u8; 8] = std::array::from_fn(|_| below(8) as u8);
            let table = ClassTable::new(of, selection, 0).unwrap();
            let sizes = [60, 60, 300, 1514, 9014, 65_536];
            let sources: Vec<Source> = (0..2 + below(10))
                .filter_map(|_| {
                    let (priority, size) = (below(8) as usize, sizes[below(6) as usize]);
                    let class = usize::from(of[priority]);
                    let bursts = |percent: u64, each: u64| {
                        let bytes = LINK * each * percent / 100;
                        Load::Comes((bytes / size).max(1) * size, each)
                    };
                    let load = match (selection[class], below(8)) {
                        (_, 0) => return None,
                        // Less than an eighth of the smallest share, so that it is to have all of that.
                        (Selection::Share(_), 1 | 2) if size < 9000 => {
                            let each = 1000 + 10 * below(400);
                            Load::Comes((LINK * each / 400 / size).max(1) * size, each)
                        }
                        (Selection::Strict, 1..=6) if size < 9000 => bursts(1 + below(5), 500 + 10 * below(200)),
                        (Selection::Strict, _) if seed % 8 != 0 => return None,
                        _ => Load::Full,
                    };
                    Some(Source { priority, weight: 1 + below(4) as u32, size, load })
                })
                .collect();
            let (mut wants, mut got) = (vec![0_u64; 8], vec![0_u64; 8]);
            for source in &sources {
                wants[usize::from(of[source.priority])] += match source.load {
                    Load::Full => LINK * 1_000_000,
                    Load::Comes(bytes, each) => bytes * 1_000_000 / each,
                };
            }
            for (source, bytes) in sources.iter().zip(second(table, &sources)) {
                got[usize::from(of[source.priority])] += bytes;
            }
            let due = due(&table, &wants);
            for class in 0..8 {
                // What is in the ring at the end, and one burst of what comes in bursts, is not out.
                let slack = due[class] / 50 + 2 * 65_536;
                assert!(
                    got[class].abs_diff(due[class]) <= slack,
                    "seed {seed}, class {class}: {} of {} ({table}; {of:?}; {sources:?})",
                    got[class],
                    due[class]
                );
                strict += usize::from(selection[class] == Selection::Strict && due[class] > 0);
                shares += usize::from(matches!(selection[class], Selection::Share(_)) && due[class] > 0);
                idle += usize::from(wants[class] == 0);
            }
        }
        assert!(strict > 15 && shares > 40 && idle > 40, "{strict} {shares} {idle}");
    }

    /// A strict class is served before others even if they have credit, and gets in their way no longer than it waits.
    #[test]
    fn a_strict_class_goes_first_and_leaves_what_it_does_not_take() {
        let mut share = under("1,strict".parse().unwrap(), &[(0, 9), (7, 1)]);
        assert!(share.take(0, 60));
        share.refused(1);
        assert!(share.credit[0] > 0 && !share.take(0, 60), "the strict one waits");
        assert!(share.take(1, 1 << 20) && share.take(0, 60), "it got through, and has no more");
        share.refused(1);
        share.gone(1);
        assert!(share.take(0, 60), "it waits for its rate, not for room");
    }

    /// A source that is known to have nothing is waited for as long as the link has something to send; one that may only be late, for a while.
    #[test]
    fn nobody_waits_for_who_has_nothing_at_a_ring_that_has_run_dry() {
        let mut share = several(&[1, 1], &[(0, 1), (7, 1)]);
        for (drained, dry, may) in
            [(false, false, false), (false, true, false), (true, false, false), (true, true, true)]
        {
            while share.take(0, 1000) {
                share.refused(1);
            }
            if drained {
                share.drained(1);
            }
            share.tick(1, dry);
            assert_eq!(share.take(0, 1000), may, "{drained} {dry}");
        }
        share.refused(1);
        while share.take(0, 1000) {}
        share.tick(2, true);
        assert!(!share.take(0, 1000), "it has something again");
    }

    #[test]
    fn one_that_waits_without_credit_holds_nobody_up() {
        let mut share = one_class(&[1, 1]);
        for vi in 0..2 {
            assert!(share.take(vi, 1 << 20));
            share.refused(vi);
        }
        assert!(share.take(0, 1000), "all that wait are in debt: a new round");
    }

    /// Credit that is used to the last byte is used up.
    #[test]
    fn one_without_a_byte_left_waits_for_who_has_some() {
        let mut share = one_class(&[1, 1]);
        share.refused(1);
        assert!(share.take(0, QUANTUM.unsigned_abs()));
        assert!(!share.may(0) && share.may(1));
    }

    #[test]
    fn one_that_has_gone_holds_nobody_up() {
        let mut share = one_class(&[1, 1]);
        share.refused(1);
        let used = (0..100_000).take_while(|_| share.take(0, 1000)).count();
        assert!(used < 20, "the other waits");
        share.tick(PATIENCE, false);
        assert!(!share.take(0, 1000));
        share.tick(PATIENCE + PATIENCE, false);
        share.tick(PATIENCE + PATIENCE + PATIENCE, false);
        assert!(share.take(0, 1000), "the other has gone");
    }
}

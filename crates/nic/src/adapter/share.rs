//! Shares of the link: weighted deficit round robin (Shreedhar and Varghese 1995) where frames are admitted to a ring,
//! not where they wait in queues: there are no queues between an interface and its port's ring.
//!
//! The link is divided among traffic classes, and what a class has among its interfaces. Each round of a class gives
//! each of its interfaces credit for as many bytes as its weight says; each round of the link does the same for the
//! classes. An interface without credit is refused as long as another one of its class that was refused for want of room
//! still has some, or one of another class, if that class has some and its own has none. Alone, an interface is never
//! refused.
//!
//! Sending looks at the interface's credit only. What a class has sent is found out when one of its interfaces has no
//! credit left; so a class may exceed its own by what its interfaces have, and the debt is paid.

use super::classes::ClassWeights;
use super::demux::ViSet;
use linerate_offload::TrafficClass;

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
    turned: u64,
    /// Class of each interface: its place among `classes`.
    class: Box<[usize]>,
    classes: Box<[Class]>,
}

/// The credit of a traffic class.
struct Class {
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
    pub(crate) fn new(classes: &ClassWeights, parts: &[Part]) -> Self {
        let quanta: Box<[i64]> = parts.iter().map(|part| quantum(part.weight)).collect();
        let class_of: Box<[usize]> = parts.iter().map(|part| part.class.index()).collect();
        let all = |class: usize| (0..parts.len()).filter(move |vi| parts[*vi].class.index() == class);
        let classes = classes.weights().iter().enumerate().map(|(class, weight)| Class {
            credit: quantum(*weight),
            quantum: quantum(*weight),
            interfaces: all(class).fold(0, |set, vi| set | 1 << vi),
            given: all(class).map(|vi| quanta[vi]).sum(),
        });
        Self {
            classes: classes.collect(),
            class: class_of,
            credit: quanta.clone(),
            rich: (0..parts.len()).fold(0, |set, vi| set | 1 << vi),
            quantum: quanta,
            waiting: 0,
            waited: 0,
            turned: 0,
        }
    }

    /// True if these are the classes, and the interfaces' parts.
    pub(crate) fn has(&self, classes: &ClassWeights, parts: &[Part]) -> bool {
        let class_quanta = self.classes.iter().map(|class| class.quantum);
        let own = self.class.iter().copied().zip(self.quantum.iter().copied());
        class_quanta.eq(classes.weights().iter().map(|weight| quantum(*weight)))
            && own.eq(parts.iter().map(|part| (part.class.index(), quantum(part.weight))))
    }

    /// True if an interface may send now.
    #[inline]
    pub(crate) fn may(&mut self, vi: usize) -> bool {
        self.credit[vi] > 0 || self.next_round(vi)
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
        true
    }

    /// Gives new credit if nobody else waits with some left.
    #[cold]
    fn next_round(&mut self, vi: usize) -> bool {
        let class = self.class[vi];
        while self.credit[vi] <= 0 {
            let others = self.classes[class].interfaces & !(1 << vi);
            if !self.class_may(class) || (self.waiting | self.waited) & self.rich & others != 0 {
                self.waiting |= 1 << vi;
                return false;
            }
            self.give(class);
        }
        true
    }

    /// True if a class may send now; gives the classes new credit if it has none, and no other waits with some left.
    fn class_may(&mut self, class: usize) -> bool {
        if self.classes.len() == 1 {
            return true;
        }
        self.settle();
        if self.classes[class].credit > 0 {
            return true;
        }
        // As many rounds at once as it takes until this class has credit, or one that waits: an interface's credit may
        // exceed its class's by far, and so may the debt. No round while one that waits has some.
        let waiting = self.waiting | self.waited;
        let those = self.classes.iter().enumerate().filter(|(k, other)| *k == class || other.interfaces & waiting != 0);
        let rounds = those.map(|(_, class)| class.rounds()).min().unwrap_or(0);
        if rounds > 0 {
            for class in &mut self.classes {
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
    }

    /// Time goes by: who has not come back for some while waits no more.
    #[inline]
    pub(crate) fn tick(&mut self, now: u64) {
        if now.saturating_sub(self.turned) >= PATIENCE {
            self.waited = std::mem::take(&mut self.waiting);
            self.turned = now;
        }
    }
}

fn quantum(weight: u32) -> i64 {
    QUANTUM * i64::from(weight.max(1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use linerate_wire::Priority;

    /// Interfaces of one class.
    fn one_class(weights: &[u32]) -> Share {
        let part = |weight: &u32| Part { class: TrafficClass::default(), weight: *weight };
        Share::new(&ClassWeights::default(), &weights.iter().map(part).collect::<Vec<_>>())
    }

    /// Interfaces of several classes, each with its priority and weight.
    fn several(classes: &[u32], vis: &[(usize, u32)]) -> Share {
        let classes = ClassWeights::new(classes).unwrap();
        let part = |(priority, weight): &(usize, u32)| Part {
            class: classes.class(Priority::ALL[*priority]),
            weight: *weight,
        };
        Share::new(&classes, &vis.iter().map(part).collect::<Vec<_>>())
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
            share.tick(1000 * now);
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
            share.tick(now * PATIENCE);
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
                share.tick(100 * now);
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
        share.tick(PATIENCE);
        assert!(!share.take(0, 1000));
        share.tick(PATIENCE + PATIENCE);
        share.tick(PATIENCE + PATIENCE + PATIENCE);
        assert!(share.take(0, 1000), "the other has gone");
    }
}

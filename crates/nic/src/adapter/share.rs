//! Shares of the link: weighted deficit round robin (Shreedhar and Varghese 1995) where frames are admitted to a ring,
//! not where they wait in queues: there are no queues between an interface and its port's ring.
//!
//! Each round gives each interface credit for as many bytes as its weight says. An interface without credit is refused
//! as long as another one that was refused for want of room still has some. Alone, an interface is never refused.

use super::demux::ViSet;

/// Bytes of credit that one weight gets a round.
const QUANTUM: i64 = 16 * 1024;
/// How long one that was refused is waited for, in nanoseconds, and at most twice as long.
const PATIENCE: u64 = 200_000;

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
}

impl Share {
    pub(crate) fn new(weights: &[u32]) -> Self {
        let quantum: Box<[i64]> = weights.iter().map(|weight| quantum(*weight)).collect();
        let rich = weights.iter().enumerate().fold(0, |set, (k, _)| set | 1 << k);
        Self { credit: quantum.clone(), quantum, rich, waiting: 0, waited: 0, turned: 0 }
    }

    /// True if these are the weights.
    pub(crate) fn has(&self, weights: &[u32]) -> bool {
        self.quantum.iter().copied().eq(weights.iter().map(|weight| quantum(*weight)))
    }

    /// True if an interface may send now.
    #[inline]
    pub(crate) fn may(&mut self, vi: usize) -> bool {
        self.credit[vi] > 0 || self.next_round(vi)
    }

    /// Bytes that an interface may send now; 0 if it is not its turn.
    #[inline]
    pub(crate) fn credit(&mut self, vi: usize) -> u64 {
        if self.may(vi) { u64::try_from(self.credit[vi]).unwrap_or(0) } else { 0 }
    }

    /// True if an interface may send so many bytes now; if so they are taken from its credit, which may become a debt.
    #[inline]
    pub(crate) fn take(&mut self, vi: usize, bytes: u64) -> bool {
        if !self.may(vi) {
            return false;
        }
        self.credit[vi] -= i64::try_from(bytes).unwrap_or(i64::MAX);
        if self.credit[vi] <= 0 {
            self.rich &= !(1 << vi);
        }
        true
    }

    /// Gives new credit if nobody else waits with some left.
    #[cold]
    fn next_round(&mut self, vi: usize) -> bool {
        while self.credit[vi] <= 0 {
            if (self.waiting | self.waited) & self.rich & !(1 << vi) != 0 {
                self.waiting |= 1 << vi;
                return false;
            }
            for k in 0..self.credit.len() {
                // Credit that was not used is not saved up; a debt is paid.
                self.credit[k] = self.credit[k].min(0) + self.quantum[k];
                self.rich |= if self.credit[k] > 0 { 1 << k } else { 0 };
            }
        }
        true
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

    /// A ring of a few slots, and interfaces that all always have frames, in an order that favours the first.
    #[test]
    fn bytes_go_by_weight_whatever_the_frame_sizes() {
        let weights = [1, 2, 5];
        let sizes = [9000, 84, 1538];
        let mut share = Share::new(&weights);
        let mut sent = [0u64; 3];
        for now in 0..200_000 {
            let mut room = 7;
            share.tick(1000 * now);
            for vi in 0..3 {
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
        let total: u64 = sent.iter().sum();
        for (vi, weight) in weights.iter().enumerate() {
            let wanted = total * u64::from(*weight) / 8;
            let slack = 2 * 5 * 16384 + 2 * sizes[vi] + total / 200;
            assert!(sent[vi].abs_diff(wanted) < slack, "{vi}: {} of {wanted}", sent[vi]);
        }
    }

    #[test]
    fn one_that_waits_without_credit_holds_nobody_up() {
        let mut share = Share::new(&[1, 1]);
        for vi in 0..2 {
            assert!(share.take(vi, 1 << 20));
            share.refused(vi);
        }
        assert!(share.take(0, 1000), "all that wait are in debt: a new round");
    }

    /// Credit that is used to the last byte is used up.
    #[test]
    fn one_without_a_byte_left_waits_for_who_has_some() {
        let mut share = Share::new(&[1, 1]);
        share.refused(1);
        assert!(share.take(0, QUANTUM.unsigned_abs()));
        assert!(!share.may(0) && share.may(1));
    }

    #[test]
    fn one_that_has_gone_holds_nobody_up() {
        let mut share = Share::new(&[1, 1]);
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

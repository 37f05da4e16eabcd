//! Streams that several threads receive: each thread's share of the numbers is merged before losses are counted.
//!
//! A thread marks the numbers that arrived in a page of its own, and hands the page over when it goes on to the next
//! one: it takes a lock every 4096 numbers, not every frame.

use super::{Order, Received};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

/// Words of a page.
const WORDS: usize = 64;
/// Numbers per page.
const PAGE: u64 = 64 * WORDS as u64;
/// Number of pages that are kept until they are complete. When there are more, the oldest is given up: its missing
/// numbers are lost, and those that arrive later count as late without a lookup.
const KEPT: usize = 4096;

type Bits = [u64; WORDS];
/// Key of a stream: run, stream, IPv6.
pub(super) type Key = (u16, u16, bool);

/// Streams that the threads of a team receive.
#[derive(Debug, Default)]
pub(crate) struct Joint(Mutex<BTreeMap<Key, Pages>>);

impl Joint {
    pub(super) fn share(self: &Arc<Self>, key: Key) -> Share {
        Share { joint: self.clone(), key, page: None, next: 0, reordered: 0, duplicates: 0 }
    }

    /// Counts of all threads that have handed their pages over.
    pub(crate) fn received(&self) -> Received {
        let mut all = Received::default();
        for pages in self.0.lock().unwrap_or_else(PoisonError::into_inner).values() {
            all.ours += pages.received;
            all.duplicates += pages.duplicates;
            all.reordered += pages.reordered;
            all.lost += (pages.end - pages.first).saturating_sub(pages.received);
        }
        all.unsent = all.duplicates;
        all
    }
}

/// Share of a stream that one thread received.
#[derive(Debug)]
pub(super) struct Share {
    joint: Arc<Joint>,
    key: Key,
    page: Option<(u64, Box<Bits>)>,
    /// One more than the greatest number that this thread received.
    next: u64,
    reordered: u64,
    duplicates: u64,
}

impl Share {
    /// Records that this thread received a frame with this number.
    pub(super) fn note(&mut self, number: u64) -> Order {
        let (page, at) = (number / PAGE, usize::try_from(number % PAGE).unwrap_or(0));
        if self.page.as_ref().is_none_or(|(current, _)| *current != page) {
            self.hand_over();
            self.page = Some((page, Box::new([0; WORDS])));
        }
        let Some((_, bits)) = &mut self.page else { return Order::Again };
        let bit = 1 << (at % 64);
        if bits[at / 64] & bit != 0 {
            self.duplicates += 1;
            return Order::Again;
        }
        bits[at / 64] |= bit;
        let order = match number {
            n if n == self.next => Order::Next,
            n if n > self.next => Order::Ahead,
            _ => Order::Late,
        };
        self.reordered += u64::from(order == Order::Late);
        self.next = self.next.max(number + 1);
        order
    }

    pub(super) fn next(&self) -> u64 {
        self.next
    }

    /// Merges the numbers received since the last call into the counts of all threads.
    pub(super) fn hand_over(&mut self) {
        let Some((page, bits)) = self.page.take() else { return };
        let mut streams = self.joint.0.lock().unwrap_or_else(PoisonError::into_inner);
        let pages = streams.entry(self.key).or_insert_with(|| Pages { first: u64::MAX, ..Pages::default() });
        pages.add(page, &bits);
        pages.reordered += std::mem::take(&mut self.reordered);
        pages.duplicates += std::mem::take(&mut self.duplicates);
    }
}

/// Sequence numbers that arrived of one stream, as bits in pages.
#[derive(Debug, Default)]
struct Pages {
    /// Smallest number that arrived; earlier ones are not counted as lost.
    first: u64,
    /// One more than the greatest number.
    end: u64,
    received: u64,
    duplicates: u64,
    reordered: u64,
    /// Pages with missing numbers.
    open: BTreeMap<u64, Box<Bits>>,
    full: BTreeSet<u64>,
    /// First page not closed: earlier pages are neither in `open` nor in `full`; they were complete, or given up.
    closed: u64,
    /// Numbers missing from pages that were given up.
    given_up: u64,
}

impl Pages {
    fn add(&mut self, page: u64, bits: &Bits) {
        let ones = |word: &u64| u64::from(word.count_ones());
        let place = |k: usize, bit: u32| page * PAGE + 64 * k as u64 + u64::from(bit);
        let mut set = bits.iter().enumerate().filter(|(_, word)| **word != 0);
        let Some((k, word)) = set.next() else { return };
        let (last_k, last) = set.next_back().unwrap_or((k, word));
        self.first = self.first.min(place(k, word.trailing_zeros()));
        self.end = self.end.max(place(last_k, 63 - last.leading_zeros()) + 1);
        let n: u64 = bits.iter().map(ones).sum();
        if page < self.closed {
            let late = n.min(self.given_up);
            self.given_up -= late;
            self.received += late;
            self.duplicates += n - late;
            return;
        }
        if self.full.contains(&page) {
            self.duplicates += n;
            return;
        }
        let all = self.open.entry(page).or_insert_with(|| Box::new([0; WORDS]));
        for (all, new) in all.iter_mut().zip(bits) {
            self.duplicates += ones(&(*all & new));
            self.received += ones(&(!*all & new));
            *all |= new;
        }
        if all.iter().all(|word| *word == u64::MAX) {
            self.open.remove(&page);
            self.full.insert(page);
        }
        self.close();
    }

    /// Forgets complete pages, and gives the oldest pages up when there are too many.
    fn close(&mut self) {
        while self.full.remove(&self.closed) {
            self.closed += 1;
        }
        while self.open.len() + self.full.len() > KEPT {
            let oldest = self.open.keys().next().into_iter().chain(self.full.first()).min().copied();
            let Some(page) = oldest else { return };
            // Between the closed pages and this one nothing arrived at all; numbers before the first do not count as
            // missing.
            let from = self.first.max(self.closed * PAGE);
            let came = self.open.remove(&page).map_or(0, |bits| bits.iter().map(|w| u64::from(w.count_ones())).sum());
            let came = if self.full.remove(&page) { PAGE } else { came };
            self.given_up += ((page + 1) * PAGE).saturating_sub(from).saturating_sub(came);
            self.closed = page + 1;
            while self.full.remove(&self.closed) {
                self.closed += 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Deals numbers out to threads; returns their merged counts.
    fn dealt(numbers: &[u64], threads: usize, to: impl Fn(usize) -> usize) -> Received {
        let joint = Arc::new(Joint::default());
        let mut shares: Vec<Share> = (0..threads).map(|_| joint.share((1, 0, false))).collect();
        for (k, number) in numbers.iter().enumerate() {
            shares[to(k)].note(*number);
        }
        shares.iter_mut().for_each(Share::hand_over);
        joint.received()
    }

    #[test]
    fn what_threads_received_of_one_stream_is_judged_together() {
        let numbers: Vec<u64> = (0..20_000).collect();
        let all = dealt(&numbers, 4, |k| k % 4);
        assert_eq!((all.ours, all.lost, all.duplicates, all.reordered), (20_000, 0, 0, 0));
        let again: Vec<u64> = (0..20_000).flat_map(|n| [n, n]).filter(|n| n % 100 != 7).collect();
        let all = dealt(&again, 3, |k| k % 3);
        assert_eq!((all.ours, all.lost, all.duplicates), (19_800, 200, 19_800));
        let late = [0, 2, 1, 4, 3, 5];
        assert_eq!(dealt(&late, 1, |_| 0).reordered, 2);
        assert_eq!(dealt(&late, 2, |k| usize::from(k > 2)).reordered, 2, "of both threads together");
    }

    #[test]
    fn more_pages_than_are_kept_lose_nothing_of_the_count() {
        // One number of each page, then the rest of the first pages: late, and counted once.
        let pages = KEPT as u64 + 100;
        let mut numbers: Vec<u64> = (0..pages).map(|page| page * PAGE).collect();
        numbers.extend(1..50);
        let all = dealt(&numbers, 2, |k| k % 2);
        assert_eq!((all.ours, all.duplicates), (pages + 49, 0));
        assert_eq!(all.lost, (pages - 1) * PAGE + 1 - pages - 49);
    }

    /// Complete pages are forgotten, and of the others no more than the limit are kept: a number missing from an older
    /// page may still arrive, once.
    #[test]
    fn old_pages_are_given_up_with_as_much_as_they_miss() {
        let (whole, mut cut) = ([u64::MAX; WORDS], [u64::MAX; WORDS]);
        cut[3] &= !(1 << 9);
        let mut pages = Pages { first: u64::MAX, ..Pages::default() };
        (0..2).for_each(|page| pages.add(page, &whole));
        assert_eq!((pages.closed, pages.full.len()), (2, 0));
        pages.add(2, &cut);
        for page in 3..3 + KEPT as u64 {
            pages.add(page, &whole);
            assert!(pages.open.len() + pages.full.len() <= KEPT);
        }
        assert_eq!((pages.closed, pages.given_up, pages.open.len() + pages.full.len()), (3 + KEPT as u64, 1, 0));
        let mut late = [0; WORDS];
        late[3] = 1 << 9;
        let before = (pages.received, pages.duplicates);
        pages.add(2, &late);
        assert_eq!((pages.received, pages.duplicates, pages.given_up), (before.0 + 1, before.1, 0));
        pages.add(2, &late);
        assert_eq!((pages.received, pages.duplicates), (before.0 + 1, before.1 + 1));
    }

    #[test]
    fn a_thread_knows_the_number_after_its_greatest() {
        let mut share = Arc::new(Joint::default()).share((1, 0, false));
        assert_eq!(share.next(), 0);
        for (number, next) in [(0, 1), (7, 8), (3, 8), (PAGE, PAGE + 1)] {
            share.note(number);
            assert_eq!(share.next(), next);
        }
    }

    proptest! {
        #[test]
        fn it_agrees_with_a_set(dealt_to in prop::collection::vec((5_000u64..30_000, 0usize..4), 1..400)) {
            let (numbers, threads): (Vec<u64>, Vec<usize>) = dealt_to.into_iter().unzip();
            let all = dealt(&numbers, 4, |k| threads[k]);
            let set: BTreeSet<u64> = numbers.iter().copied().collect();
            let (first, last) = (set.first().unwrap(), set.last().unwrap());
            prop_assert_eq!(all.ours, set.len() as u64);
            prop_assert_eq!(all.duplicates, (numbers.len() - set.len()) as u64);
            prop_assert_eq!(all.lost, last - first + 1 - set.len() as u64);
        }
    }
}

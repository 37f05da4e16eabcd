//! Accounting of the switch's buffers, in cells, as switch chips have it: each queue has a part of its own, and all of them
//! share the rest. A queue may have so much of the shared part as is [`Alpha`] times what is left of it: the more queues are
//! long, the less each has, and what is left is room for the next one that becomes long (Choudhury and Hahne, "Dynamic queue
//! length thresholds for shared-memory packet switches", IEEE/ACM Transactions on Networking, 1998).
//!
//! The parts of all queues and the shared part are never more than there is, so whoever was given cells finds them.

use linerate_text::reasons;
use std::fmt;
use std::str::FromStr;

/// Bytes of a cell; a frame has whole ones.
pub const CELL: usize = 256;

/// Number of cells of a frame of so many bytes.
#[inline]
pub(super) fn cells_for(bytes: usize) -> u32 {
    u32::try_from(bytes.div_ceil(CELL)).unwrap_or(u32::MAX)
}

reasons! {
    /// Reason that a frame found no place in the queue of its class.
    pub enum QueueDrop {
        /// The queue has its share of the buffers.
        Threshold = "threshold",
        /// The buffers are used up.
        Buffers = "buffers",
        /// The class was stopped for too long, and the watchdog drops its frames.
        Storm = "storm",
    }

    /// Frames that found no place in a queue, by reason.
    pub struct QueueDrops;
}

/// Factor of the dynamic threshold: a power of two from 1/128 to 8.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Alpha(i8);

impl Alpha {
    /// That part of so many cells.
    #[inline]
    fn of(self, cells: u32) -> u32 {
        match self.0 {
            power @ 0.. => cells.saturating_mul(1 << power),
            power => cells >> -power,
        }
    }
}

impl fmt::Display for Alpha {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            power @ 0.. => write!(f, "{}", 1 << power),
            power => write!(f, "1/{}", 1 << -power),
        }
    }
}

impl FromStr for Alpha {
    type Err = &'static str;

    /// Parses 1/128, 1/64 and so on to 8.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let all = (-7..=3).map(Self);
        let found = all.into_iter().find(|alpha| alpha.to_string() == text);
        found.ok_or("give a power of two from 1/128 to 8, as 1/2 or 4")
    }
}

/// All cells of a switch.
#[derive(Debug)]
pub(super) struct Pool {
    /// Cells that are nobody's own, and those of them that are used.
    shared: u32,
    used: u32,
    /// Cells that each queue gets as its own, as long as there are some; those that are left to be given so.
    each: u32,
    owned: u32,
    alpha: Alpha,
}

/// Cells of one queue.
#[derive(Debug, Default)]
pub(super) struct Account {
    own: u32,
    used: u32,
}

impl Account {
    /// Cells in use.
    pub(super) fn used(&self) -> u32 {
        self.used
    }
}

impl Pool {
    pub(super) fn new(cells: u32, each: u32, alpha: Alpha) -> Self {
        Self { shared: cells, used: 0, each, owned: cells / 2, alpha }
    }

    /// Opens the account of a queue. Half of all cells stay shared: if there are not enough beyond these that nobody uses, it
    /// has fewer of its own, or none.
    pub(super) fn open(&mut self) -> Account {
        Account { own: self.reserve(self.each), used: 0 }
    }

    /// Takes cells out of the shared part for good, fewer if half of all would not stay shared; returns their number.
    pub(super) fn reserve(&mut self, cells: u32) -> u32 {
        let got = cells.min(self.owned).min(self.shared - self.used);
        (self.shared, self.owned) = (self.shared - got, self.owned - got);
        got
    }

    /// Closes the account of a queue that is empty.
    pub(super) fn close(&mut self, account: Account) {
        debug_assert_eq!(account.used, 0);
        (self.shared, self.owned) = (self.shared + account.own, self.owned + account.own);
    }

    /// Cells of the shared part that one queue may have now.
    fn threshold(&self) -> u32 {
        self.alpha.of(self.shared - self.used)
    }

    /// Takes cells for a frame; with an error, none.
    #[inline]
    pub(super) fn take(&mut self, account: &mut Account, cells: u32) -> Result<(), QueueDrop> {
        let more = self.asks(account, cells)?;
        self.used += more;
        account.used += cells;
        Ok(())
    }

    /// Cells of the shared part that a frame would take, if it may.
    #[inline]
    pub(super) fn asks(&self, account: &Account, cells: u32) -> Result<u32, QueueDrop> {
        let beyond = |used: u32| used.saturating_sub(account.own);
        let after = beyond(account.used.saturating_add(cells));
        let more = after - beyond(account.used);
        match more {
            0 => Ok(0),
            _ if after > self.threshold() => Err(QueueDrop::Threshold),
            _ if more > self.shared - self.used => Err(QueueDrop::Buffers),
            _ => Ok(more),
        }
    }

    /// Gives the cells of a frame back.
    #[inline]
    pub(super) fn give(&mut self, account: &mut Account, cells: u32) {
        let beyond = |used: u32| used.saturating_sub(account.own);
        self.used -= beyond(account.used) - beyond(account.used - cells);
        account.used -= cells;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use linerate_sum::SplitMix64;

    impl Pool {
        /// Cells that are nobody's own and not in use.
        fn left(&self) -> u32 {
            self.shared - self.used
        }
    }

    fn alpha(text: &str) -> Alpha {
        text.parse().unwrap()
    }

    /// Cells that each of so many queues gets, one by one, of a hundred.
    fn filled(each: u32, text: &str, queues: usize) -> Vec<u32> {
        let mut pool = Pool::new(100, each, alpha(text));
        let mut accounts: Vec<Account> = (0..queues).map(|_| pool.open()).collect();
        // In turns: none is the first to get all that it may have.
        while accounts.iter_mut().filter_map(|account| pool.take(account, 1).ok()).count() > 0 {}
        accounts.iter().map(Account::used).collect()
    }

    /// One long queue has α/(1+α) of the buffers, each of n has α/(1+nα).
    #[test]
    fn the_threshold_falls_with_what_is_left() {
        for (text, queues, wanted) in
            [("1", 1, &[50][..]), ("1", 3, &[25, 25, 25]), ("8", 1, &[88]), ("1/4", 2, &[16, 16]), ("1/128", 1, &[0])]
        {
            let got = filled(0, text, queues);
            let near = got.iter().zip(wanted).all(|(got, wanted)| got.abs_diff(*wanted) <= 1);
            assert!(near && got.len() == wanted.len(), "{text}: {got:?}, not {wanted:?}");
        }
    }

    #[test]
    fn a_queue_has_its_own_cells_whatever_the_others_have() {
        let mut pool = Pool::new(100, 10, alpha("8"));
        let (mut long, mut short) = (pool.open(), pool.open());
        while pool.take(&mut long, 1).is_ok() {}
        assert_eq!((long.used(), pool.left()), (10 + 72, 8), "one more, and it had more than 8 times what is left");
        while pool.take(&mut short, 1).is_ok() {}
        assert_eq!((short.used(), pool.left()), (10 + 8, 0));
        assert_eq!(pool.asks(&long, 1), Err(QueueDrop::Threshold));
        pool.give(&mut long, 8);
        assert_eq!(pool.asks(&Account::default(), 9), Err(QueueDrop::Buffers));
    }

    #[test]
    fn half_of_the_cells_stay_shared() {
        let mut pool = Pool::new(100, 20, alpha("1"));
        let accounts = [(); 4].map(|()| pool.open());
        assert_eq!((accounts.each_ref().map(|account| account.own), pool.left()), ([20, 20, 10, 0], 50));
        accounts.into_iter().for_each(|account| pool.close(account));
        assert_eq!(pool.left(), 100);
    }

    #[test]
    fn cells_come_back_whatever_is_taken_in_whatever_order() {
        let mut random = SplitMix64::new(3);
        let mut below = |most: u64| u32::try_from(random.next_u64() % most).unwrap();
        for round in 0..200 {
            let mut pool = Pool::new(below(500), below(40), Alpha(i8::try_from(below(11)).unwrap() - 7));
            let all = pool.left();
            let mut queues: Vec<(Account, Vec<u32>)> = (0..5).map(|_| (pool.open(), Vec::new())).collect();
            for _ in 0..500 {
                let (account, frames) = &mut queues[below(5) as usize];
                let cells = 1 + below(8);
                if below(2) == 0 {
                    let asked = pool.asks(account, cells);
                    assert_eq!(pool.take(account, cells).is_ok(), asked.is_ok(), "{round}");
                    frames.extend(asked.is_ok().then_some(cells));
                } else if !frames.is_empty() {
                    pool.give(account, frames.remove(0));
                }
                let used: u32 = queues.iter().map(|(account, _)| account.used()).sum();
                assert!(used <= all, "{round}: {used} of {all}");
            }
            for (mut account, frames) in queues {
                frames.into_iter().for_each(|cells| pool.give(&mut account, cells));
                pool.close(account);
            }
            assert_eq!(pool.left(), all, "{round}");
        }
    }

    #[test]
    fn factors_are_read_as_they_are_written() {
        for text in ["1/128", "1/2", "1", "8"] {
            assert_eq!(alpha(text).to_string(), text);
        }
        for text in ["", "0", "1/1", "3", "16", "1/256", "-1", "0.5"] {
            assert!(text.parse::<Alpha>().is_err(), "{text}");
        }
    }
}

//! Connections of a listener that have begun with data, and whose handshake is not over (Fast Open): their number is limited
//! (RFC 7413, sections 4.2 and 5.1).

use super::SECOND;
use std::collections::VecDeque;

/// Time for which a connection counts that was reset, ns.
const COUNTS: u64 = 60 * SECOND;

/// Connections of a listener.
#[derive(Debug, Default)]
pub(super) struct Early {
    /// Most at a time; 0 if the listener takes none.
    pub(super) most: usize,
    pub(super) begun: usize,
    /// Times until which those count that were reset. Who has stolen cookies and forges their addresses has their hosts send
    /// resets: that makes no room for more.
    reset: VecDeque<u64>,
}

impl Early {
    /// The handshake of one is over.
    pub(super) fn ends(&mut self, now: u64, reset: bool) {
        self.begun = self.begun.saturating_sub(1);
        if reset {
            while self.reset.pop_front_if(|until| *until <= now).is_some() {}
            self.reset.push_back(now.saturating_add(COUNTS));
        }
    }

    /// True if there is room for one more; None if Fast Open is off.
    pub(super) fn room(&self, now: u64) -> Option<bool> {
        let reset = self.reset.iter().filter(|until| now < **until).count();
        (self.most > 0).then_some(self.begun + reset < self.most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn those_that_were_reset_count_for_a_time_and_are_no_more_than_the_limit() {
        let mut early = Early { most: 3, ..Early::default() };
        for turn in 0..100 {
            let now = turn * 2 * COUNTS;
            for _ in 0..3 {
                assert_eq!(early.room(now), Some(true));
                early.begun += 1;
                early.ends(now, true);
            }
            assert_eq!((early.room(now + COUNTS - 1), early.room(now + COUNTS)), (Some(false), Some(true)));
            assert!(early.reset.len() <= 3 && early.begun == 0);
        }
        early.most = 0;
        assert_eq!(early.room(0), None);
    }
}

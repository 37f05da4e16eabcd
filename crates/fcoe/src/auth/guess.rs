//! Limit of what can be guessed: a name whose authentications fail waits longer and longer for the next.

use linerate_wire::Wwn;
use std::collections::BTreeMap;

/// Transactions in a row that may fail without a wait: frames get lost, too.
const FREE: u32 = 3;
const SECOND: u64 = 1_000_000_000;
/// The longest wait is 2 to this power, in seconds.
const LONGEST: u32 = 5;
/// Most names whose failures are counted one by one; there are fewer secrets.
const MOST: usize = 4096;

#[derive(Debug, Default)]
struct Tried {
    /// Transactions begun since the last that ended well.
    begun: u32,
    /// Time of the next.
    until: u64,
    /// Logins that failed, ever.
    failed: u64,
}

/// Logins that were tried, by port name.
#[derive(Debug, Default)]
pub(crate) struct Guesses(BTreeMap<Wwn, Tried>);

impl Guesses {
    fn tried(&mut self, name: Wwn) -> Option<&mut Tried> {
        let room = self.0.len() < MOST || self.0.contains_key(&name);
        room.then(|| self.0.entry(name).or_default())
    }

    /// Counts a transaction with a port; the time from which it may begin, if that is not yet.
    pub(crate) fn begin(&mut self, now: u64, name: Wwn) -> Result<(), u64> {
        let Some(tried) = self.tried(name) else { return Err(now.saturating_add(SECOND)) };
        if now < tried.until {
            return Err(tried.until);
        }
        tried.begun = tried.begun.saturating_add(1);
        if let Some(beyond) = tried.begun.checked_sub(FREE) {
            tried.until = now.saturating_add(SECOND << beyond.min(LONGEST));
        }
        Ok(())
    }

    /// A transaction has ended well.
    pub(super) fn end(&mut self, name: Wwn) {
        if let Some(tried) = self.tried(name) {
            (tried.begun, tried.until) = (0, 0);
        }
    }

    /// Counts a login that failed.
    pub(crate) fn fail(&mut self, name: Wwn) {
        if let Some(tried) = self.tried(name) {
            tried.failed += 1;
        }
    }

    /// Logins that failed, by port name.
    pub(crate) fn failures(&self) -> impl Iterator<Item = (Wwn, u64)> + '_ {
        self.0.iter().map(|(name, tried)| (*name, tried.failed)).filter(|(_, failed)| *failed > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_fails_waits_longer_and_longer_and_no_other_name_with_him() {
        let (mut guesses, name) = (Guesses::default(), Wwn(1));
        let (mut now, mut waits) = (0, Vec::new());
        for _ in 0..10 {
            let before = now;
            if let Err(until) = guesses.begin(now, name) {
                assert_eq!(guesses.begin(until - 1, name), Err(until));
                now = until;
                assert_eq!(guesses.begin(now, name), Ok(()));
            }
            waits.push((now - before) / SECOND);
            assert_eq!(guesses.begin(now, Wwn(2)).is_ok(), waits.len() <= 3 || now > before);
        }
        assert_eq!(waits, [0, 0, 0, 1, 2, 4, 8, 16, 32, 32]);
        guesses.end(name);
        assert_eq!([guesses.begin(now, name), guesses.begin(now, name)], [Ok(()), Ok(())]);
    }

    #[test]
    fn names_that_are_made_up_take_no_more_room_than_there_is() {
        let mut guesses = Guesses::default();
        for name in 0..2 * MOST as u64 {
            guesses.fail(Wwn(name));
        }
        assert_eq!((guesses.failures().count(), guesses.begin(5, Wwn(u64::MAX))), (MOST, Err(5 + SECOND)));
        assert_eq!(guesses.begin(5, Wwn(1)), Ok(()));
    }
}

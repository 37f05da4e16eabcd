//! The memory of all clients' data: so much is each one's own, so much is lent to whoever comes.
//!
//! A client that asks for more than it takes fills its own part and what it may borrow; all others go on with theirs.

use crate::service::LONGEST;
use linerate_block::{Buffer, Pool};

/// Bytes that each client can have whatever others do: its longest request.
pub(super) const OWN: usize = LONGEST as usize;
/// Bytes that one client has at most, borrowed ones included.
const MOST: usize = 32 << 20;
/// Bytes that are lent.
const COMMON: usize = 128 << 20;

/// The memory of a server.
#[derive(Debug)]
pub(super) struct Memory {
    pool: Pool,
    /// Bytes that can still be lent; fewer than none when clients have left with much under way.
    common: i64,
}

/// What one client has of it.
#[derive(Debug, Default)]
pub(super) struct Share(usize);

/// The part of so many bytes that is borrowed.
fn borrowed(octets: usize) -> i64 {
    signed(octets.saturating_sub(OWN))
}

/// Bytes that a buffer of so many takes of the pool.
fn whole(octets: usize) -> usize {
    octets.next_power_of_two().max(4096)
}

fn signed(octets: usize) -> i64 {
    0_i64.saturating_add_unsigned(octets as u64)
}

impl Memory {
    /// Memory for so many clients.
    pub(super) fn new(clients: usize) -> Self {
        Self { pool: Pool::new(clients * OWN + COMMON), common: signed(COMMON) }
    }

    /// A buffer for a client; none when it has all that it may have.
    pub(super) fn take(&mut self, share: &mut Share, octets: usize) -> Option<Buffer> {
        let after = share.0.checked_add(whole(octets)).filter(|after| *after <= MOST)?;
        let more = borrowed(after) - borrowed(share.0);
        if more > 0 && more > self.common {
            return None;
        }
        let buffer = self.pool.take(octets)?;
        self.common -= more;
        share.0 = after;
        Some(buffer)
    }

    /// Takes a client's buffer back, which it took with this length.
    pub(super) fn give(&mut self, share: &mut Share, octets: usize, buffer: Option<Buffer>) {
        let after = share.0.saturating_sub(whole(octets));
        self.common += borrowed(share.0) - borrowed(after);
        share.0 = after;
        self.give_late(buffer);
    }

    /// A client has gone; what it still has under way is lent to it from now on.
    pub(super) fn leave(&mut self, share: &Share) {
        self.common -= signed(share.0) - borrowed(share.0);
    }

    /// Takes so many bytes back that were under way when their client left.
    pub(super) fn give_after_leave(&mut self, octets: usize, buffer: Option<Buffer>) {
        self.common += signed(whole(octets));
        self.give_late(buffer);
    }

    /// True if one more client can be given what is its own.
    pub(super) fn has_room(&self) -> bool {
        self.common >= 0
    }

    fn give_late(&mut self, buffer: Option<Buffer>) {
        if let Some(buffer) = buffer {
            self.pool.give(buffer);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_client_has_its_own_whatever_others_take() {
        let mut memory = Memory::new(8);
        let mut greedy: [Share; 7] = Default::default();
        for share in &mut greedy {
            let taken = std::iter::from_fn(|| memory.take(share, OWN)).count();
            assert!((1..=MOST / OWN).contains(&taken));
        }
        let mut last = Share::default();
        assert!(memory.take(&mut last, OWN).is_some() && memory.take(&mut last, 4096).is_none());
    }

    #[test]
    fn what_clients_leave_behind_is_lent_to_them_until_it_comes_back() {
        let mut memory = Memory::new(2);
        let mut n = 0;
        while memory.has_room() && n < 1000 {
            let mut share = Share::default();
            memory.take(&mut share, OWN).unwrap();
            memory.leave(&share);
            n += 1;
        }
        assert_eq!(n, COMMON / OWN + 1);
        memory.give_after_leave(OWN, None);
        assert!(memory.has_room());
        let mut share = Share::default();
        let buffer = memory.take(&mut share, OWN);
        memory.give(&mut share, OWN, buffer);
        assert_eq!((share.0, memory.common), (0, 0));
    }
}

//! Memory for the data of all clients: each client has a reserved part, and all share a common part.
//!
//! A client that asks for more than its part borrows from the common part, up to a limit; the parts of others stay
//! free.

use crate::service::LONGEST;
use linerate_block::{Buffer, Pool};

/// Bytes reserved for each client: its longest request.
pub(super) const OWN: usize = LONGEST as usize;
/// Bytes that one client may hold at most, borrowed ones included.
const MOST: usize = 32 << 20;
/// Bytes of the common part.
const COMMON: usize = 128 << 20;

/// The memory of a server.
#[derive(Debug)]
pub(super) struct Memory {
    pool: Pool,
    /// Free bytes of the common part; negative when clients have left with many operations under way.
    common: i64,
}

/// Bytes that one client holds.
#[derive(Debug, Default)]
pub(super) struct Share(usize);

/// Bytes borrowed by a client that holds `len` bytes.
fn borrowed(len: usize) -> i64 {
    signed(len.saturating_sub(OWN))
}

/// Bytes that a buffer of length `len` takes from the pool.
fn whole(len: usize) -> usize {
    len.next_power_of_two().max(4096)
}

fn signed(len: usize) -> i64 {
    0_i64.saturating_add_unsigned(len as u64)
}

impl Memory {
    /// Memory for this number of clients.
    pub(super) fn new(clients: usize) -> Self {
        Self { pool: Pool::new(clients * OWN + COMMON), common: signed(COMMON) }
    }

    /// Takes a buffer for a client; None when the client's limit or the common part is exhausted.
    pub(super) fn take(&mut self, share: &mut Share, len: usize) -> Option<Buffer> {
        let after = share.0.checked_add(whole(len)).filter(|after| *after <= MOST)?;
        let more = borrowed(after) - borrowed(share.0);
        if more > 0 && more > self.common {
            return None;
        }
        let buffer = self.pool.take(len)?;
        self.common -= more;
        share.0 = after;
        Some(buffer)
    }

    /// Takes back a client's buffer, which was taken with length `len`.
    pub(super) fn give(&mut self, share: &mut Share, len: usize, buffer: Option<Buffer>) {
        let after = share.0.saturating_sub(whole(len));
        self.common += borrowed(share.0) - borrowed(after);
        share.0 = after;
        self.give_late(buffer);
    }

    /// Removes a client; the memory of its operations still under way is charged to the common part.
    pub(super) fn leave(&mut self, share: &Share) {
        self.common -= signed(share.0) - borrowed(share.0);
    }

    /// Takes back `len` bytes of an operation whose client has left.
    pub(super) fn give_after_leave(&mut self, len: usize, buffer: Option<Buffer>) {
        self.common += signed(whole(len));
        self.give_late(buffer);
    }

    /// True if there is memory for one more client.
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

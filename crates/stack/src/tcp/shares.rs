//! Shares of the memory of all connections: what those of one origin hold is counted together.
//!
//! An origin may hold less than three times what is free: alone three quarters of all, and several as much each. Above that its
//! own connections have little, and no more of them are let in; so what one origin takes too much of is not taken from others,
//! and who is new finds room. Where nothing at all is free everybody has little, but a newcomer is let in.
//!
//! The account of an origin is found when a connection begins, and changed when the connection's memory does: a segment costs a
//! comparison.

use crate::address::Key;
use crate::secret::Keyed;
use linerate_wire::origin;
use std::collections::HashMap;
use std::net::IpAddr;

/// Share of all memory that an origin may always hold before its connections are refused: one of so many.
const LEAST: usize = 1024;

/// Memory of the connections of an origin.
#[derive(Debug, Default)]
struct Account {
    origin: u128,
    connections: usize,
    held: usize,
}

/// Memory of all connections.
#[derive(Debug)]
pub(crate) struct Shares {
    /// Bytes that all may hold, and do.
    limit: usize,
    held: usize,
    accounts: Vec<Account>,
    /// Places of accounts that nobody has.
    free: Vec<u32>,
    by_origin: HashMap<u128, u32, Keyed>,
}

impl Shares {
    pub(super) fn new(key: Keyed, limit: usize) -> Self {
        let by_origin = HashMap::with_hasher(key);
        Self { limit, held: 0, accounts: Vec::new(), free: Vec::new(), by_origin }
    }

    /// Bytes that all may hold.
    pub(crate) fn limit(&self) -> usize {
        self.limit
    }

    /// Bytes that all hold.
    pub(crate) fn held(&self) -> usize {
        self.held
    }

    /// Account of a new connection with this peer.
    pub(super) fn open(&mut self, peer: IpAddr) -> u32 {
        let key = key(peer);
        let at = self.by_origin.get(&key).copied().unwrap_or_else(|| {
            let at = self.free.pop().unwrap_or_else(|| {
                self.accounts.push(Account::default());
                super::count(self.accounts.len() - 1)
            });
            self.accounts[at as usize].origin = key;
            self.by_origin.insert(key, at);
            at
        });
        self.accounts[at as usize].connections += 1;
        at
    }

    /// A connection that holds nothing any more has ended.
    pub(super) fn close(&mut self, at: u32) {
        let Some(account) = self.accounts.get_mut(at as usize) else { return };
        account.connections -= 1;
        if account.connections == 0 {
            self.by_origin.remove(&account.origin);
            self.free.push(at);
        }
    }

    /// A connection holds so many bytes instead of so many.
    #[inline]
    pub(super) fn change(&mut self, at: u32, was: u32, is: u32) {
        if let Some(account) = self.accounts.get_mut(at as usize) {
            let (was, is) = (was as usize, is as usize);
            account.held = account.held + is - was;
            self.held = self.held + is - was;
        }
    }

    /// True if the connections of an account hold their share, so have little.
    #[inline]
    pub(super) fn is_pressed(&self, at: u32) -> bool {
        let free = self.limit.saturating_sub(self.held);
        self.accounts.get(at as usize).is_some_and(|account| account.held >= free.saturating_mul(3))
    }

    /// True if no more connections of a peer's origin are let in.
    pub(super) fn refuses(&self, peer: IpAddr) -> bool {
        let Some(at) = self.by_origin.get(&key(peer)) else { return false };
        self.is_pressed(*at) && self.accounts[*at as usize].held > self.limit / LEAST
    }
}

fn key(peer: IpAddr) -> u128 {
    Key::new(origin(peer)).bits()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::secret::{Secret, Use};

    fn shares(limit: usize) -> Shares {
        Shares::new(Secret::new(7).key(Use::Connections), limit)
    }

    /// Takes memory while there is a share of it; gives what it has then.
    fn fill(shares: &mut Shares, at: u32) -> u32 {
        let mut held = 0;
        while !shares.is_pressed(at) {
            shares.change(at, held, held + 1);
            held += 1;
        }
        held
    }

    #[test]
    fn each_origin_has_three_times_what_is_free() {
        let mut shares = shares(1 << 20);
        let peers = ["10.0.0.1", "10.0.0.2", "fd00::1"].map(|peer| peer.parse().unwrap());
        let held = peers.map(|peer| {
            let at = shares.open(peer);
            fill(&mut shares, at)
        });
        assert_eq!(held, [3 << 18, 3 << 16, 3 << 14]);
        assert_eq!(peers.map(|peer| shares.refuses(peer)), [true; 3]);
        assert!(!shares.refuses("10.0.0.3".parse().unwrap()));
    }

    #[test]
    fn a_network_of_ipv6_has_one_account_which_goes_with_its_last_connection() {
        let mut shares = shares(1 << 20);
        let [one, same, other] = ["fd00::1", "fd00::2", "fd00:0:0:1::1"].map(|peer| shares.open(peer.parse().unwrap()));
        assert!(one == same && one != other);
        shares.change(one, 0, 100);
        shares.change(one, 100, 0);
        shares.close(one);
        assert_eq!(shares.open("fd00::3".parse().unwrap()), one);
        (0..2).for_each(|_| shares.close(one));
        assert_eq!((shares.open("10.0.0.1".parse().unwrap()), shares.by_origin.len(), shares.held()), (one, 2, 0));
    }

    /// Where others hold everything, each newcomer is let in, and has little.
    #[test]
    fn a_newcomer_is_let_in_though_nothing_is_free() {
        let mut shares = shares(1 << 20);
        let [first, second] = ["10.0.0.1", "10.0.0.2"].map(|peer| shares.open(peer.parse().unwrap()));
        shares.change(first, 0, 2 << 20);
        assert!(shares.is_pressed(second) && !shares.refuses("10.0.0.2".parse().unwrap()));
        shares.change(second, 0, 1025);
        assert!(shares.refuses("10.0.0.2".parse().unwrap()));
    }
}

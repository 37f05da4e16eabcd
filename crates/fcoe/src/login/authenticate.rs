//! Authentication between PLOGI and PRLI (FC-SP-2): who begins it, its messages as link services, and its end.
//!
//! A port that sends commands begins, because a target that demands a proof knows only then that there is one. What the
//! messages say is of no concern here.

use super::send::BUSY;
use super::table::{NeighbourIndex, Proved, ReplyPath, State};
use super::{LoginEvent, Logins, SessionEnd, Ways};
use crate::auth::{Authenticator, Ends, Heard, Transaction};
use crate::{AuthConfig, AuthCounters, AuthFailure};
use linerate_wire::{AuthCode, AuthHeader, AuthMessage, ElsAccept, ElsCommand, FcHeader, Wwn};
use std::collections::BTreeSet;

/// AUTH_TMO in nanoseconds: time limit for the other side's next message.
const AUTH_TMO: u64 = 45_000_000_000;

impl Logins {
    /// Has ports authenticate each other with these secrets, before there is any login. `seed` are random bytes that nobody
    /// else has, and of which nothing else is made.
    pub fn authenticate_with(&mut self, config: AuthConfig, seed: [u8; 32]) {
        self.auth = Some(Authenticator::new(config, seed));
    }

    /// Changes which ports need no authentication, by port name: sessions of others that have not proved their names end at
    /// the next [`Logins::poll`].
    pub fn open_to(&mut self, now: u64, names: BTreeSet<Wwn>) {
        let Some(auth) = &mut self.auth else { return };
        auth.config.open = names;
        for index in self.table.indices() {
            if self.owes(index) && self.table.entry(index).is_some_and(|entry| entry.up.is_some()) {
                self.wake_at(index, now);
            }
        }
    }

    /// Counters of authentication, if there is any.
    #[must_use]
    pub fn auth_counters(&self) -> Option<&AuthCounters> {
        self.auth.as_ref().map(|auth| &auth.counters)
    }

    /// Logins that could not be authenticated, by port name.
    pub fn auth_failures(&self) -> impl Iterator<Item = (Wwn, u64)> + '_ {
        self.auth.iter().flat_map(|auth| auth.guesses.failures())
    }

    /// True if a neighbour must prove its name, and has not.
    pub(super) fn owes(&self, index: NeighbourIndex) -> bool {
        let (Some(auth), Some(entry)) = (&self.auth, self.table.entry(index)) else { return false };
        !entry.proved.theirs && auth.demands(entry.info.wwpn, entry.info.wwnn)
    }

    /// True if we are to prove our name to a neighbour: it offers authentication, and we have a secret.
    pub(super) fn should_prove(&self, index: NeighbourIndex) -> bool {
        let (Some(auth), Some(entry)) = (&self.auth, self.table.entry(index)) else { return false };
        entry.secure && !entry.proved.ours && auth.config.own.is_some() && self.begins_auth(index)
    }

    /// True if PLOGI, or its LS_ACC, is to offer authentication.
    pub(super) fn offers_auth(&self, index: NeighbourIndex) -> bool {
        let Some(auth) = &self.auth else { return false };
        self.owes(index) || self.config.role.initiator && auth.config.own.is_some()
    }

    /// True if the first message is ours.
    fn begins_auth(&self, index: NeighbourIndex) -> bool {
        let Some(entry) = self.table.entry(index) else { return false };
        let role = self.config.role;
        let can_begin = self.auth.as_ref().is_some_and(|auth| auth.config.own.is_some());
        role.initiator && can_begin && (!role.target || self.config.wwpn > entry.info.wwpn)
    }

    /// Begins an authentication, or waits for that of the neighbour.
    pub(super) fn authenticate(&mut self, now: u64, index: NeighbourIndex, ways: &mut impl Ways) {
        let begins = self.begins_auth(index);
        let (Some(auth), Some(entry)) = (&mut self.auth, self.table.entry_mut(index)) else { return };
        entry.state = State::Auth;
        if !begins {
            return self.wake_at(index, now.saturating_add(AUTH_TMO));
        }
        if auth.demands(entry.info.wwpn, entry.info.wwnn) && !auth.knows(entry.info.wwpn, entry.info.wwnn) {
            return self.unauthenticated(now, index, AuthFailure::Unknown, ways);
        }
        if !entry.secure {
            return self.unauthenticated(now, index, AuthFailure::NotOffered, ways);
        }
        let ends = Ends { own: self.config.wwpn, wwpn: entry.info.wwpn, wwnn: entry.info.wwnn };
        if let Err(until) = auth.guesses.begin(now, entry.info.wwpn) {
            auth.counters.put_off += 1;
            entry.transaction = None;
            return self.wake_at(index, until);
        }
        let begun = Transaction::begin(auth, &ends);
        let message = begun.sent.clone();
        entry.transaction = Some(begun);
        self.request_bytes(now, index, &message, ways);
    }

    /// Answers AUTH_ELS, and sends what follows from it.
    pub(super) fn answer_auth(
        &mut self,
        now: u64,
        index: NeighbourIndex,
        way: ReplyPath,
        header: &FcHeader,
        message: &AuthMessage<'_>,
        ways: &mut impl Ways,
    ) {
        let own = self.config.wwpn;
        let (Some(auth), Some(entry)) = (&mut self.auth, self.table.entry_mut(index)) else {
            return self.reject(way, header, super::answer::NOT_SUPPORTED, ways);
        };
        let AuthHeader { code, transaction, .. } = message.header;
        let begins =
            code == AuthCode::NEGOTIATE && entry.transaction.as_ref().is_none_or(|known| !known.is(transaction));
        let other = entry.pending.is_some_and(|pending| pending.command != ElsCommand::AUTH);
        // One request at a time.
        if begins && (other || entry.state == State::Prli) {
            return self.reject(way, header, BUSY, ways);
        }
        let ends = Ends { own, wwpn: entry.info.wwpn, wwnn: entry.info.wwnn };
        let heard = Transaction::hear(&mut entry.transaction, now, auth, &ends, message);
        if heard == Heard::Later {
            return self.reject(way, header, BUSY, ways);
        }
        self.accept(way, header, ElsAccept::Plain, ways);
        match heard {
            Heard::Nothing | Heard::Later => {}
            Heard::Moved => self.auth_moved(now, index, ways),
            Heard::Ended(why) => self.unauthenticated(now, index, why, ways),
            Heard::Refuse(refusal) => {
                // Nothing waits for its LS_ACC: a peer that does not get it waits no longer than for anything else.
                self.send_request(index, &refusal.message(transaction), ways);
                if let Some(why) = refusal.ends {
                    self.unauthenticated(now, index, why, ways);
                }
            }
        }
    }

    /// Sends the transaction's next message, if there is one, and takes over what was proved.
    fn auth_moved(&mut self, now: u64, index: NeighbourIndex, ways: &mut impl Ways) {
        let Some(entry) = self.table.entry_mut(index) else { return };
        let Some(transaction) = &entry.transaction else { return };
        let (message, proof, done) = (transaction.sent.clone(), transaction.proof(), transaction.is_done());
        // What was sent before has arrived.
        (entry.pending, entry.wake, entry.retries) = (None, None, 0);
        entry.proved = Proved { theirs: entry.proved.theirs || proof.theirs, ours: entry.proved.ours || proof.ours };
        let last_is_theirs = done && message.is_empty();
        if done {
            let name = entry.info.wwpn;
            self.events.push_back(LoginEvent::Authenticated(name, proof));
            if let Some(auth) = &mut self.auth {
                auth.counters.done += 1;
            }
        }
        if last_is_theirs {
            self.auth_over(now, index, ways);
        } else {
            self.request_bytes(now, index, &message, ways);
        }
    }

    /// Our message has arrived.
    pub(super) fn auth_arrived(&mut self, now: u64, index: NeighbourIndex, ways: &mut impl Ways) {
        let transaction = self.table.entry_mut(index).and_then(|entry| entry.transaction.as_mut());
        match transaction.filter(|transaction| !transaction.is_done()) {
            Some(transaction) => {
                transaction.arrived = true;
                self.wake_at(index, now.saturating_add(AUTH_TMO));
            }
            None => self.auth_over(now, index, ways),
        }
    }

    /// Goes on after a transaction: with PRLI, unless it was one of a session.
    fn auth_over(&mut self, now: u64, index: NeighbourIndex, ways: &mut impl Ways) {
        match self.table.entry(index).map(|entry| entry.state) {
            Some(State::Auth) => self.process_login(now, index, ways),
            _ => {
                self.raise(index);
                self.settle(now, index, ways);
            }
        }
    }

    /// Sends the message again that has not arrived; false if there is none.
    pub(super) fn send_auth_again(&mut self, now: u64, index: NeighbourIndex, ways: &mut impl Ways) -> bool {
        let Some(entry) = self.table.entry(index) else { return false };
        let message = entry.transaction.as_ref().map(|transaction| transaction.sent.clone());
        let is_of = |message: &Vec<u8>| entry.state >= State::Auth && entry.state != State::Prli && !message.is_empty();
        let Some(message) = message.filter(is_of) else { return false };
        self.request_bytes(now, index, &message, ways);
        true
    }

    /// Handles the timer of an entry that waits for the neighbour's next message, or until it may try again; false if it is
    /// not of that.
    pub(super) fn wake_auth(&mut self, now: u64, index: NeighbourIndex, ways: &mut impl Ways) -> bool {
        let Some(entry) = self.table.entry(index) else { return false };
        match (entry.state, &entry.transaction) {
            (State::Auth, None) if self.begins_auth(index) => self.authenticate(now, index, ways),
            (State::Auth, None) => self.unauthenticated(now, index, AuthFailure::Silent, ways),
            (_, Some(open)) if open.arrived && !open.is_done() => {
                self.unauthenticated(now, index, AuthFailure::Silent, ways);
            }
            _ => return false,
        }
        true
    }

    /// Gives a login up, until the neighbour's next beacon.
    pub(super) fn unauthenticated(&mut self, now: u64, index: NeighbourIndex, why: AuthFailure, ways: &mut impl Ways) {
        let Some(entry) = self.table.entry(index) else { return };
        let name = entry.info.wwpn;
        if let Some(auth) = &mut self.auth {
            auth.counters.failed += 1;
            auth.guesses.fail(name);
        }
        self.events.push_back(LoginEvent::Unauthenticated(name, why));
        self.log_out(now, index, SessionEnd::Unauthenticated, ways);
    }
}

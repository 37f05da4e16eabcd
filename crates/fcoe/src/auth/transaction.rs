//! A transaction of DH-CHAP: who begins it proves its name first, and may ask the other one for the same.
//!
//! Messages that come twice, or late, are passed over. A message of another transaction does not harm the one under way.

use super::compute::{EXPONENT, GROUPS, Group, HASHES, Hash, response};
use super::{AuthFailure, AuthProof, Authenticator, is_same};
use linerate_wire::{AuthBody, AuthHeader, AuthMessage, AuthNumbers, Wwn, auth_explanation, auth_reason};
use std::fmt;

/// Most hash functions or groups that a port may offer: the standard has fewer.
const MOST: usize = 16;

/// The names of both ends: ours, and those of the peer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ends {
    pub(crate) own: Wwn,
    pub(crate) wwpn: Wwn,
    pub(crate) wwnn: Wwn,
}

/// The last message that was sent, in the order of both roles; and the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Step {
    Negotiate,
    Reply,
    Challenge,
    /// With our response; the peer's own success is still to come.
    Success,
    Done,
}

/// Hash, group and numbers that both ends have agreed on.
struct Terms {
    hash: &'static Hash,
    group: &'static Group,
    exponent: [u8; EXPONENT],
    /// Our public value.
    public: Vec<u8>,
    /// Our challenge, if we have made one.
    challenge: Vec<u8>,
    /// The number that both ends have computed.
    shared: Vec<u8>,
}

/// A transaction with a peer, in either role.
pub(crate) struct Transaction {
    id: u32,
    step: Step,
    terms: Option<Terms>,
    /// Last message: it is sent again until it has arrived.
    pub(crate) sent: Vec<u8>,
    /// It has arrived, and the peer's next message is awaited.
    pub(crate) arrived: bool,
    theirs: bool,
    ours: bool,
}

/// An AUTH_Reject to be sent, in the message's own transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Refusal {
    reason: u8,
    explanation: u8,
    /// Failure of the login; None if it goes on.
    pub(crate) ends: Option<AuthFailure>,
}

impl Refusal {
    /// The message.
    pub(crate) fn message(&self, transaction: u32) -> Vec<u8> {
        let body = AuthBody::Reject { reason: self.reason, explanation: self.explanation };
        body.message(transaction).unwrap_or_default()
    }
}

/// Consequence of a message.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Heard {
    /// Nothing.
    Nothing,
    /// The message is to be sent again later.
    Later,
    /// The transaction has a message to send, or is done.
    Moved,
    Refuse(Refusal),
    /// The peer has ended it.
    Ended(AuthFailure),
}

fn refuse(reason: u8, explanation: u8, ends: Option<AuthFailure>) -> Heard {
    Heard::Refuse(Refusal { reason, explanation, ends })
}

/// Refuses a message that is not what it must be.
fn bad(explanation: u8) -> Heard {
    refuse(auth_reason::FAILURE, explanation, Some(AuthFailure::Protocol))
}

/// Refuses a port that does not prove its name.
fn wrong(why: AuthFailure) -> Heard {
    refuse(auth_reason::FAILURE, auth_explanation::FAILED, Some(why))
}

fn numbers(ids: impl Iterator<Item = u32>) -> Vec<u8> {
    ids.flat_map(u32::to_be_bytes).collect()
}

/// The best of ours that is among theirs.
fn best<T>(ours: &'static [T], id: impl Fn(&T) -> u32, theirs: &AuthNumbers<'_>) -> Option<&'static T> {
    ours.iter().find(|known| theirs.iter().any(|their| their == id(known)))
}

impl Transaction {
    /// Begins one with a peer: AUTH_Negotiate is to be sent.
    pub(crate) fn begin(auth: &mut Authenticator, ends: &Ends) -> Self {
        let id = u32::from_be_bytes(auth.draws.draw());
        let hashes = numbers(HASHES.iter().map(|hash| hash.id));
        let groups = numbers(GROUPS.iter().map(|group| group.id));
        let dh_chap = Some((AuthNumbers::new(&hashes), AuthNumbers::new(&groups)));
        let mut begun = Self {
            id,
            step: Step::Negotiate,
            terms: None,
            sent: Vec::new(),
            arrived: false,
            theirs: false,
            ours: false,
        };
        begun.send(Step::Negotiate, &AuthBody::Negotiate { name: ends.own, dh_chap });
        begun
    }

    pub(crate) fn is(&self, id: u32) -> bool {
        self.id == id
    }

    pub(crate) fn is_done(&self) -> bool {
        self.step == Step::Done
    }

    /// Names that were proved so far, and how.
    pub(crate) fn proof(&self) -> AuthProof {
        let terms = self.terms.as_ref();
        let (hash, bits) = terms.map_or(("", 0), |terms| (terms.hash.name, terms.group.bits));
        AuthProof { hash, bits, theirs: self.theirs, ours: self.ours }
    }

    fn send(&mut self, step: Step, body: &AuthBody<'_>) {
        (self.step, self.arrived) = (step, false);
        // What we send is shorter than any limit.
        self.sent = body.message(self.id).unwrap_or_default();
    }

    /// Takes a message of the peer. `slot` has the transaction with it that is under way, or was the last one.
    pub(crate) fn hear(
        slot: &mut Option<Self>,
        now: u64,
        auth: &mut Authenticator,
        ends: &Ends,
        message: &AuthMessage<'_>,
    ) -> Heard {
        let AuthHeader { flags, code, version, transaction, .. } = message.header;
        let under_way = slot.as_mut().filter(|known| known.id == transaction);
        // What is of no transaction here cannot end one.
        let only = |heard| match heard {
            Heard::Refuse(refusal) if under_way.is_none() => Heard::Refuse(Refusal { ends: None, ..refusal }),
            heard => heard,
        };
        if version != AuthHeader::VERSION {
            return only(refuse(auth_reason::LOGICAL_ERROR, auth_explanation::VERSION, Some(AuthFailure::Protocol)));
        }
        let Some(body) = AuthBody::parse(code, message.body).ok().filter(|_| flags == 0) else {
            return only(bad(auth_explanation::PAYLOAD));
        };
        match (body, under_way) {
            (AuthBody::Negotiate { name, dh_chap }, None) => {
                Self::negotiate(slot, now, auth, ends, (transaction, name, dh_chap))
            }
            (AuthBody::Reject { .. }, None) => {
                auth.counters.strays += 1;
                Heard::Nothing
            }
            (_, None) => {
                auth.counters.strays += 1;
                refuse(auth_reason::FAILURE, auth_explanation::MESSAGE, None)
            }
            (body, Some(known)) => known.go_on(auth, ends, &body),
        }
    }

    /// Answers AUTH_Negotiate with a challenge.
    fn negotiate(
        slot: &mut Option<Self>,
        now: u64,
        auth: &mut Authenticator,
        ends: &Ends,
        (id, name, dh_chap): (u32, Wwn, Option<(AuthNumbers<'_>, AuthNumbers<'_>)>),
    ) -> Heard {
        // Both have begun: the greater name goes on (FC-SP-2, concurrent authentication transactions).
        let goes_on = |known: &Self| match known.step {
            Step::Negotiate => ends.own > ends.wwpn,
            Step::Reply => true,
            _ => false,
        };
        if slot.as_ref().is_some_and(goes_on) {
            return refuse(auth_reason::LOGICAL_ERROR, auth_explanation::STARTED, None);
        }
        if name != ends.wwpn && name != ends.wwnn {
            return bad(auth_explanation::PAYLOAD);
        }
        let unusable = |explanation| refuse(auth_reason::LOGICAL_ERROR, explanation, Some(AuthFailure::Protocol));
        let Some((hashes, groups)) = dh_chap else { return unusable(auth_explanation::MECHANISM) };
        if hashes.iter().count() > MOST || groups.iter().count() > MOST {
            return bad(auth_explanation::PAYLOAD);
        }
        let Some(hash) = best(&HASHES, |hash| hash.id, &hashes) else { return unusable(auth_explanation::HASH) };
        let Some(group) = best(&GROUPS, |group| group.id, &groups) else { return unusable(auth_explanation::GROUP) };
        if auth.config.secret(ends.wwpn, ends.wwnn).is_none() {
            return wrong(AuthFailure::Unknown);
        }
        if auth.guesses.begin(now, ends.wwpn).is_err() {
            auth.counters.put_off += 1;
            return Heard::Later;
        }
        let terms = Terms::new(auth, hash, group);
        let (challenge, public) = (terms.challenge.clone(), terms.public.clone());
        let mut begun = Self {
            id,
            step: Step::Challenge,
            terms: Some(terms),
            sent: Vec::new(),
            arrived: false,
            theirs: false,
            ours: false,
        };
        begun.send(
            Step::Challenge,
            &AuthBody::Challenge { name: ends.own, hash: hash.id, group: group.id, challenge: &challenge, dh: &public },
        );
        *slot = Some(begun);
        Heard::Moved
    }

    /// Takes a message of this transaction.
    fn go_on(&mut self, auth: &mut Authenticator, ends: &Ends, body: &AuthBody<'_>) -> Heard {
        match (self.step, body) {
            (Step::Done, _) => Heard::Nothing,
            // The other side has begun, too, and goes on: its own message comes.
            (_, AuthBody::Reject { explanation: auth_explanation::STARTED, .. }) => Heard::Nothing,
            (_, AuthBody::Reject { explanation: auth_explanation::FAILED, .. }) => Heard::Ended(AuthFailure::Refused),
            (_, AuthBody::Reject { explanation, .. }) => Heard::Ended(AuthFailure::Rejected(*explanation)),
            (Step::Negotiate, AuthBody::Challenge { name, hash, group, challenge, dh }) => {
                if *name != ends.wwpn && *name != ends.wwnn {
                    return bad(auth_explanation::PAYLOAD);
                }
                let (Some(hash), Some(group)) =
                    (HASHES.iter().find(|known| known.id == *hash), GROUPS.iter().find(|known| known.id == *group))
                else {
                    return bad(auth_explanation::PAYLOAD);
                };
                if challenge.len() != hash.len {
                    return bad(auth_explanation::PAYLOAD);
                }
                self.reply(auth, ends, (hash, group), challenge, dh)
            }
            (Step::Reply, AuthBody::Success { response }) => self.verify_success(auth, ends, response),
            (Step::Challenge, AuthBody::Reply { response, dh, challenge }) => {
                self.verify_reply(auth, ends, response, dh, challenge)
            }
            (Step::Success, AuthBody::Success { response: [] }) => {
                self.step = Step::Done;
                Heard::Moved
            }
            // What was sent again before our answer had arrived.
            (Step::Reply, AuthBody::Challenge { .. })
            | (Step::Challenge | Step::Success, AuthBody::Negotiate { .. })
            | (Step::Success, AuthBody::Reply { .. }) => Heard::Nothing,
            _ => bad(auth_explanation::MESSAGE),
        }
    }

    /// Proves our name, and asks the peer for the same if we have its secret.
    fn reply(
        &mut self,
        auth: &mut Authenticator,
        ends: &Ends,
        (hash, group): (&'static Hash, &'static Group),
        theirs: &[u8],
        dh: &[u8],
    ) -> Heard {
        let mut terms = Terms::new(auth, hash, group);
        let Some(secret) = &auth.config.own else { return bad(auth_explanation::MESSAGE) };
        if !terms.share(dh) {
            return bad(auth_explanation::PAYLOAD);
        }
        let response = response(hash, self.id, secret.bytes(), theirs, &terms.shared);
        if auth.config.secret(ends.wwpn, ends.wwnn).is_none() {
            terms.challenge.clear();
        }
        let (public, challenge) = (terms.public.clone(), terms.challenge.clone());
        self.terms = Some(terms);
        self.send(Step::Reply, &AuthBody::Reply { response: &response, dh: &public, challenge: &challenge });
        Heard::Moved
    }

    /// Checks the peer's proof, and proves our name if it asks for that.
    fn verify_reply(
        &mut self,
        auth: &mut Authenticator,
        ends: &Ends,
        theirs: &[u8],
        dh: &[u8],
        challenge: &[u8],
    ) -> Heard {
        let Some(terms) = &mut self.terms else { return bad(auth_explanation::MESSAGE) };
        let hash = terms.hash;
        let lengths = theirs.len() == hash.len && (challenge.is_empty() || challenge.len() == hash.len);
        if !lengths || !terms.share(dh) {
            return bad(auth_explanation::PAYLOAD);
        }
        let Some(secret) = auth.config.secret(ends.wwpn, ends.wwnn) else { return wrong(AuthFailure::Unknown) };
        // Who sends back what we have sent wants us to compute the response for it.
        let reflects = challenge == terms.challenge || !dh.is_empty() && dh == terms.public;
        let right = response(hash, self.id, secret.bytes(), &terms.challenge, &terms.shared);
        if reflects || !is_same(theirs, &right) {
            return wrong(AuthFailure::Wrong);
        }
        let ours = match (challenge, &auth.config.own) {
            ([], _) => Vec::new(),
            (_, None) => return bad(auth_explanation::MESSAGE),
            (challenge, Some(own)) => response(hash, self.id, own.bytes(), challenge, &terms.shared),
        };
        auth.guesses.end(ends.wwpn);
        (self.theirs, self.ours) = (true, !ours.is_empty());
        let step = if ours.is_empty() { Step::Done } else { Step::Success };
        self.send(step, &AuthBody::Success { response: &ours });
        Heard::Moved
    }

    /// Our proof was taken; checks the peer's, if we have asked for it.
    fn verify_success(&mut self, auth: &mut Authenticator, ends: &Ends, theirs: &[u8]) -> Heard {
        let Some(terms) = &self.terms else { return bad(auth_explanation::MESSAGE) };
        let (hash, asked) = (terms.hash, !terms.challenge.is_empty());
        if theirs.len() != if asked { hash.len } else { 0 } {
            return bad(if theirs.is_empty() { auth_explanation::MESSAGE } else { auth_explanation::PAYLOAD });
        }
        if asked {
            let Some(secret) = auth.config.secret(ends.wwpn, ends.wwnn) else { return wrong(AuthFailure::Unknown) };
            let right = response(hash, self.id, secret.bytes(), &terms.challenge, &terms.shared);
            if !is_same(theirs, &right) {
                return wrong(AuthFailure::Wrong);
            }
        }
        auth.guesses.end(ends.wwpn);
        (self.theirs, self.ours) = (asked, true);
        self.sent.clear();
        if asked {
            self.send(Step::Done, &AuthBody::Success { response: &[] });
        }
        self.step = Step::Done;
        Heard::Moved
    }
}

impl fmt::Debug for Transaction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Transaction({:x}, {:?})", self.id, self.step)
    }
}

impl Terms {
    fn new(auth: &mut Authenticator, hash: &'static Hash, group: &'static Group) -> Self {
        let (challenge, exponent) = (auth.draws.draw::<EXPONENT>(), auth.draws.draw());
        let (challenge, public) = (challenge[..hash.len].to_vec(), group.public(&exponent));
        Self { hash, group, exponent, public, challenge, shared: Vec::new() }
    }

    /// Computes the shared number; false if the peer's public value is none.
    fn share(&mut self, theirs: &[u8]) -> bool {
        let shared = self.group.shared(&self.exponent, theirs);
        shared.is_some_and(|shared| {
            self.shared = shared;
            true
        })
    }
}

//! The machine of DH-CHAP: numbers computed elsewhere, and messages by hand.

use super::compute::{GROUPS, HASHES, response};
use super::*;
use linerate_wire::*;

/// Numbers of a program that shares nothing with this one: Python's hashlib and pow.
const VECTORS: &str = include_str!("vectors");
const US: Ends = Ends { own: Wwn(1), wwpn: Wwn(2), wwnn: Wwn(20) };
const THEM: Ends = Ends { own: Wwn(2), wwpn: Wwn(1), wwnn: Wwn(10) };

fn secret(text: &str) -> Secret {
    Secret::new(text.as_bytes()).unwrap()
}

/// An end with the secret of its own name, and of the other's if it is to ask for that.
fn end(own: Option<&str>, other: Option<(Wwn, &str)>, seed: u8) -> Authenticator {
    let names = other.map(|(name, text)| (name, secret(text))).into_iter().collect();
    Authenticator::new(AuthConfig { own: own.map(secret), names, ..AuthConfig::default() }, [seed; 32])
}

const OURS: &str = "our own secret";
const THEIRS: &str = "the other's secret";

/// One that proves its name as 1, and one that checks it as 2.
struct Pair {
    first: (Authenticator, Option<Transaction>),
    second: (Authenticator, Option<Transaction>),
}

impl Pair {
    fn new(mutual: bool) -> Self {
        let mut first = end(Some(OURS), mutual.then_some((Wwn(2), THEIRS)), 1);
        let begun = Transaction::begin(&mut first, &US);
        Self { first: (first, Some(begun)), second: (end(Some(THEIRS), Some((Wwn(1), OURS)), 2), None) }
    }

    fn second_hears(&mut self, bytes: &[u8]) -> Heard {
        hear(&mut self.second, &THEM, bytes)
    }

    fn first_hears(&mut self, bytes: &[u8]) -> Heard {
        hear(&mut self.first, &US, bytes)
    }

    /// Last message of each.
    fn sent(&self) -> [Vec<u8>; 2] {
        [&self.first, &self.second].map(|(_, slot)| slot.as_ref().map_or(Vec::new(), |known| known.sent.clone()))
    }

    /// Messages of the second and the first in turn, so many in all.
    fn go(&mut self, messages: usize) {
        for number in 0..messages {
            let [first, second] = self.sent();
            let heard = if number % 2 == 0 { self.second_hears(&first) } else { self.first_hears(&second) };
            assert_eq!(heard, Heard::Moved, "message {number}");
        }
    }
}

fn hear(end: &mut (Authenticator, Option<Transaction>), ends: &Ends, bytes: &[u8]) -> Heard {
    let message = AuthMessage::parse(bytes).unwrap();
    Transaction::hear(&mut end.1, 0, &mut end.0, ends, &message)
}

/// The message with another body, in the same transaction.
fn with(bytes: &[u8], body: &AuthBody<'_>) -> Vec<u8> {
    body.message(AuthHeader::parse(bytes).unwrap().transaction).unwrap()
}

fn body(bytes: &[u8]) -> AuthBody<'_> {
    let message = AuthMessage::parse(bytes).unwrap();
    AuthBody::parse(message.header.code, message.body).unwrap()
}

/// The explanation of a refusal, and what it means for the login.
fn refusal(heard: &Heard) -> (u8, Option<AuthFailure>) {
    let Heard::Refuse(refusal) = heard else { panic!("{heard:?}") };
    let message = refusal.message(7);
    let AuthBody::Reject { explanation, .. } = body(&message) else { panic!() };
    assert_eq!(AuthHeader::parse(&message).unwrap().transaction, 7);
    (explanation, refusal.ends)
}

#[test]
fn numbers_are_those_of_another_program() {
    let lines = VECTORS.lines().filter(|line| !line.starts_with('#'));
    let mut seen = 0;
    for line in lines {
        let fields: Vec<_> = line.split(' ').collect();
        let of = |at: usize| linerate_text::unhex(if fields[at] == "-" { "" } else { fields[at] }).unwrap();
        let hash = HASHES.iter().find(|hash| hash.id.to_string() == fields[0]).unwrap();
        let group = GROUPS.iter().find(|group| group.id.to_string() == fields[1]).unwrap();
        let id = u32::from_str_radix(fields[2], 16).unwrap();
        let [x, y] = [5, 6].map(|at| <[u8; 32]>::try_from(of(at)).unwrap());
        assert_eq!((group.public(&x), group.public(&y)), (of(7), of(8)), "{line}");
        assert_eq!(group.shared(&x, &of(8)), Some(of(9)), "{line}");
        assert_eq!(group.shared(&y, &of(7)), Some(of(9)), "{line}");
        assert_eq!(response(hash, id, &of(3), &of(4), &of(9)), of(10), "{line}");
        seen += 1;
    }
    assert_eq!(seen, HASHES.len() * GROUPS.len());
}

/// 0, 1, -1, what is not below the modulus and what has another length are no public values.
#[test]
fn numbers_that_make_a_known_key_are_refused() {
    for group in &GROUPS[..4] {
        let modulus = linerate_text::unhex(group.modulus).unwrap();
        let len = modulus.len();
        let small = |last: u8| [&vec![0; len - 1][..], &[last]].concat();
        let with_last = |last: u8| [&modulus[..len - 1], &[last]].concat();
        let last = modulus[len - 1];
        for bad in [small(0), small(1), with_last(last - 1), modulus.clone(), vec![0xff; len], small(2)[1..].to_vec()] {
            assert_eq!(group.shared(&[9; 32], &bad), None, "{} {bad:?}", group.bits);
        }
        for good in [small(2), with_last(last - 2)] {
            assert!(group.shared(&[9; 32], &good).is_some());
        }
    }
    assert_eq!(GROUPS[4].shared(&[9; 32], &[]), Some(Vec::new()));
    assert_eq!(GROUPS[4].shared(&[9; 32], &[2]), None);
}

#[test]
fn each_hash_and_group_authenticates_one_or_both() {
    for (hash, name, group, bits) in
        HASHES.iter().flat_map(|hash| GROUPS.iter().map(move |group| (hash.id, hash.name, group.id, group.bits)))
    {
        for mutual in [false, true] {
            let mut pair = Pair::new(mutual);
            let [begun, _] = pair.sent();
            let (hashes, groups) = (hash.to_be_bytes(), group.to_be_bytes());
            let lists = Some((AuthNumbers::new(&hashes), AuthNumbers::new(&groups)));
            let offer = with(&begun, &AuthBody::Negotiate { name: Wwn(1), dh_chap: lists });
            assert_eq!(pair.second_hears(&offer), Heard::Moved);
            for number in 0..if mutual { 4 } else { 3 } {
                let [first, second] = pair.sent();
                let heard = if number % 2 == 0 { pair.first_hears(&second) } else { pair.second_hears(&first) };
                assert_eq!(heard, Heard::Moved);
            }
            let [first, second] = [&pair.first, &pair.second].map(|(_, slot)| slot.as_ref().unwrap());
            assert!(first.is_done() && second.is_done());
            let proof = AuthProof { hash: name, bits, theirs: mutual, ours: true };
            assert_eq!(first.proof(), proof);
            assert_eq!(second.proof(), AuthProof { theirs: true, ours: mutual, ..proof });
            assert_eq!(pair.sent()[0].is_empty(), !mutual, "the last message is the second's, or the first's");
        }
    }
}

/// A message that comes again changes nothing, at any time.
#[test]
fn messages_that_come_twice_are_passed_over() {
    let mut pair = Pair::new(true);
    let mut seen: Vec<(usize, Vec<u8>)> = Vec::new();
    for number in 0..5 {
        let [first, second] = pair.sent();
        let (to, message) = if number % 2 == 0 { (1, first) } else { (0, second) };
        let mut tell =
            |to, message: &[u8]| if to == 0 { pair.first_hears(message) } else { pair.second_hears(message) };
        assert_eq!(tell(to, &message), Heard::Moved);
        seen.push((to, message));
        for (to, message) in &seen {
            assert_eq!(tell(*to, message), Heard::Nothing, "after message {number}");
        }
    }
}

#[test]
fn wrong_secrets_and_reflections_fail() {
    // Another secret than ours is expected.
    let mut pair = Pair::new(false);
    pair.second.0 = end(Some(THEIRS), Some((Wwn(1), "not our secret")), 2);
    pair.go(2);
    let [reply, _] = pair.sent();
    assert_eq!(refusal(&pair.second_hears(&reply)), (auth_explanation::FAILED, Some(AuthFailure::Wrong)));
    // We expect another secret than theirs.
    let mut pair = Pair::new(true);
    pair.first.0 = end(Some(OURS), Some((Wwn(2), "not their secret")), 1);
    pair.go(3);
    let [_, success] = pair.sent();
    assert_eq!(refusal(&pair.first_hears(&success)), (auth_explanation::FAILED, Some(AuthFailure::Wrong)));
    // Its challenge comes back, and so does its public value, with a response that would be right.
    for (challenge, public) in [(true, false), (false, true)] {
        let mut pair = Pair::new(true);
        pair.go(2);
        let [reply, sent] = pair.sent();
        let (AuthBody::Challenge { challenge: c, dh: d, .. }, AuthBody::Reply { response, dh, challenge: own }) =
            (body(&sent), body(&reply))
        else {
            panic!()
        };
        let back =
            AuthBody::Reply { response, dh: if public { d } else { dh }, challenge: if challenge { c } else { own } };
        assert_eq!(refusal(&pair.second_hears(&with(&reply, &back))).1, Some(AuthFailure::Wrong));
    }
    // A name without a secret.
    let mut pair = Pair::new(false);
    pair.second.0 = end(Some(THEIRS), None, 2);
    let [begun, _] = pair.sent();
    assert_eq!(refusal(&pair.second_hears(&begun)), (auth_explanation::FAILED, Some(AuthFailure::Unknown)));
    // A success without the proof that was asked for, and one with a proof that was not.
    for mutual in [false, true] {
        let mut pair = Pair::new(mutual);
        pair.go(2);
        let [reply, _] = pair.sent();
        let success = AuthBody::Success { response: if mutual { &[] } else { &[0; 20] } };
        assert_eq!(refusal(&pair.first_hears(&with(&reply, &success))).1, Some(AuthFailure::Protocol));
    }
}

/// A challenge is made once: the reply to another one, or of another transaction, is worth nothing.
#[test]
fn replies_of_another_time_prove_nothing() {
    let mut pair = Pair::new(false);
    pair.go(2);
    let [old, _] = pair.sent();
    assert_eq!(pair.second_hears(&old), Heard::Moved);
    let begun = Transaction::begin(&mut pair.first.0, &US);
    pair.first.1 = Some(begun);
    pair.go(2);
    // As it was: its transaction is over, which does not end the one that is under way.
    assert_eq!(refusal(&pair.second_hears(&old)), (auth_explanation::MESSAGE, None));
    let [new, _] = pair.sent();
    let replayed = with(&new, &body(&old));
    assert_eq!(refusal(&pair.second_hears(&replayed)), (auth_explanation::FAILED, Some(AuthFailure::Wrong)));
    assert_eq!(pair.second.0.counters.strays, 1);
}

#[test]
fn what_is_no_message_of_the_protocol_is_refused() {
    let many: Vec<u8> = (0..17_u32).flat_map(|_| 6_u32.to_be_bytes()).collect();
    let (hash, group) = (6_u32.to_be_bytes(), 4_u32.to_be_bytes());
    let (hash, group, many) = (AuthNumbers::new(&hash), AuthNumbers::new(&group), AuthNumbers::new(&many));
    let none = AuthNumbers::new(&[]);
    let offers = [
        (Wwn(3), Some((hash, group)), auth_explanation::PAYLOAD),
        (Wwn(1), None, auth_explanation::MECHANISM),
        (Wwn(1), Some((none, group)), auth_explanation::HASH),
        (Wwn(1), Some((hash, none)), auth_explanation::GROUP),
        (Wwn(1), Some((many, group)), auth_explanation::PAYLOAD),
    ];
    for (name, dh_chap, explanation) in offers {
        let mut pair = Pair::new(false);
        let [begun, _] = pair.sent();
        let heard = pair.second_hears(&with(&begun, &AuthBody::Negotiate { name, dh_chap }));
        assert_eq!(refusal(&heard), (explanation, Some(AuthFailure::Protocol)));
    }
    // The node's name will do, too.
    let mut pair = Pair::new(false);
    let [begun, _] = pair.sent();
    let offer = AuthBody::Negotiate { name: Wwn(10), dh_chap: Some((hash, group)) };
    assert_eq!(pair.second_hears(&with(&begun, &offer)), Heard::Moved);

    let [_, sent] = pair.sent();
    let AuthBody::Challenge { name, hash, group, challenge, dh } = body(&sent) else { panic!() };
    let right = (name, hash, group, challenge, dh);
    for (name, hash, group, challenge, dh) in [
        (Wwn(3), hash, group, challenge, dh),
        (name, 7, group, challenge, dh),
        (name, hash, 5, challenge, dh),
        (name, hash, group, &challenge[1..], dh),
        (name, hash, group, challenge, &dh[1..]),
        (name, hash, 0, challenge, dh),
    ] {
        assert_ne!((name, hash, group, challenge, dh), right);
        let mut pair = Pair::new(false);
        pair.go(1);
        let [_, sent] = pair.sent();
        let heard = pair.first_hears(&with(&sent, &AuthBody::Challenge { name, hash, group, challenge, dh }));
        assert_eq!(refusal(&heard), (auth_explanation::PAYLOAD, Some(AuthFailure::Protocol)));
    }

    // Messages of another time; of another version; with flags; and bodies cut short, whose length says so.
    let at = |messages: usize| {
        let mut pair = Pair::new(true);
        pair.go(messages);
        pair
    };
    for messages in 1..5 {
        let (to_first, last) = (messages % 2 == 1, messages);
        let sent = &at(last).sent()[usize::from(to_first)];
        let tell = |bytes: &[u8]| {
            let mut pair = at(last);
            if to_first { pair.first_hears(bytes) } else { pair.second_hears(bytes) }
        };
        assert_eq!(tell(sent), Heard::Moved);
        assert_eq!(refusal(&tell(&with(sent, &AuthBody::Done))).0, auth_explanation::MESSAGE);
        for (byte, value, explanation) in [
            (3, 2, auth_explanation::VERSION),
            (3, 0, auth_explanation::VERSION),
            (1, 1, auth_explanation::PAYLOAD),
            (2, 0x13, auth_explanation::PAYLOAD),
        ] {
            let mut bytes = sent.clone();
            bytes[byte] = value;
            assert_eq!(refusal(&tell(&bytes)), (explanation, Some(AuthFailure::Protocol)), "{bytes:x?}");
        }
        for len in 12..sent.len() {
            let mut bytes = sent[..len].to_vec();
            bytes[4..8].copy_from_slice(&u32::try_from(len - 12).unwrap().to_be_bytes());
            assert_eq!(refusal(&tell(&bytes)).0, auth_explanation::PAYLOAD, "{len} bytes of message {messages}");
        }
        // In a transaction that there is not, it ends nothing.
        let mut bytes = sent.clone();
        bytes[8] ^= 1;
        assert_eq!(refusal(&tell(&bytes)), (auth_explanation::MESSAGE, None));
        let reject = AuthBody::Reject { reason: auth_reason::FAILURE, explanation: auth_explanation::FAILED };
        assert_eq!(tell(&with(&bytes, &reject)), Heard::Nothing);
        assert_eq!(tell(&with(sent, &reject)), Heard::Ended(AuthFailure::Refused));
    }
}

/// Both begin: the greater name's goes on.
#[test]
fn of_two_that_begin_the_greater_name_goes_on() {
    let mut pair = Pair::new(false);
    pair.first.0 = end(Some(OURS), Some((Wwn(2), THEIRS)), 1);
    let theirs = Transaction::begin(&mut pair.second.0, &THEM);
    pair.second.1 = Some(theirs);
    let [first, second] = pair.sent();
    let heard = pair.second_hears(&first);
    assert_eq!(refusal(&heard), (auth_explanation::STARTED, None));
    assert_eq!(pair.first_hears(&second), Heard::Moved);
    // The refusal comes late, and speaks of a transaction that is no more.
    let reject = AuthBody::Reject { reason: auth_reason::LOGICAL_ERROR, explanation: auth_explanation::STARTED };
    assert_eq!(pair.first_hears(&with(&first, &reject)), Heard::Nothing);
    for number in 0..3 {
        let [first, second] = pair.sent();
        let heard = if number % 2 == 0 { pair.second_hears(&first) } else { pair.first_hears(&second) };
        assert_eq!(heard, Heard::Moved);
    }
    assert!(pair.second.1.unwrap().proof().ours);
}

#[test]
fn who_fails_too_often_is_put_off() {
    let mut pair = Pair::new(false);
    let mut put_off = 0;
    for _ in 0..5 {
        let begun = Transaction::begin(&mut pair.first.0, &US);
        pair.first.1 = Some(begun);
        let [begun, _] = pair.sent();
        put_off += u64::from(pair.second_hears(&begun) == Heard::Later);
    }
    assert_eq!((put_off, pair.second.0.counters.put_off), (2, 2));
}

#[test]
fn secrets_are_not_shown_and_drawn_numbers_are_new() {
    let config = AuthConfig { own: Some(secret(OURS)), ..AuthConfig::default() };
    assert!(!format!("{:?}", Authenticator::new(config, [1; 32])).contains("secret"));
    assert_eq!([11, 12, 128, 129].map(|len| Secret::new(&vec![7; len]).is_some()), [false, true, true, false]);
    let mut draws = Draws::new([3; 32]);
    let drawn: BTreeSet<[u8; 32]> = (0..1000).map(|_| draws.draw()).collect();
    assert_eq!(drawn.len(), 1000);
    assert_ne!(Draws::new([3; 32]).draw::<32>(), Draws::new([4; 32]).draw::<32>());
    let long = Draws::new([3; 32]).draw::<64>();
    assert_ne!(long[..32], long[32..]);
}

//! Tests of settings: bytes of the messages, and drivers that obey, refuse, round, lie and vanish.

use super::build::build;
use super::*;
use crate::absent::{Absent, Part};
use crate::adapter::{Question, Recorded, Source, Subject, find};
use crate::ethtool::bitset;
use crate::netlink::message::{Message, attribute, attributes, word};
use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;

fn wish(name: &str, value: Value) -> Wish {
    Wish { name: name.to_owned(), value }
}

fn on(name: &str, on: bool) -> Wish {
    wish(name, Value::On(on))
}

fn number(name: &str, number: u64) -> Wish {
    wish(name, Value::Number(number))
}

fn words(name: &str, text: &str) -> Wish {
    wish(name, Value::Text(text.to_owned()))
}

/// Bytes of an attribute of 32 bits, and of one of 8.
fn whole(kind: u16, value: u32) -> Vec<u8> {
    [&8_u16.to_ne_bytes()[..], &kind.to_ne_bytes(), &value.to_ne_bytes()].concat()
}

fn byte(kind: u16, value: u8) -> Vec<u8> {
    [&5_u16.to_ne_bytes()[..], &kind.to_ne_bytes(), &[value, 0, 0, 0]].concat()
}

fn built(group: Group, wishes: &[Wish]) -> (u8, Vec<u8>) {
    match build(group, &wishes.iter().collect::<Vec<_>>(), &State::default()).unwrap() {
        Change::Ethtool { command, attributes } => (command, attributes),
        other => panic!("{other:?}"),
    }
}

#[test]
fn each_message_has_its_bytes() {
    let rows = [
        (Group::Rings, vec![number("ring-rx", 1024), number("ring-tx", 512)], 16, [whole(6, 1024), whole(9, 512)]),
        (Group::Rings, vec![words("tcp-data-split", "on"), on("tx-push", true)], 16, [byte(11, 2), byte(13, 1)]),
        (Group::Channels, vec![number("combined", 4), number("channels-rx", 0)], 18, [whole(9, 4), whole(6, 0)]),
        (Group::Coalesce, vec![on("adaptive-rx", false), number("rx-usecs", 50)], 20, [byte(11, 0), whole(2, 50)]),
        (Group::Coalesce, vec![on("cqe-mode-rx", true), number("tx-frames", 9)], 20, [byte(25, 1), whole(7, 9)]),
        (Group::Pause, vec![on("pause-rx", true), on("pause-tx", false)], 22, [byte(3, 1), byte(4, 0)]),
        (Group::Eee, vec![on("eee", true), number("tx-timer", 17)], 24, [byte(5, 1), whole(7, 17)]),
        (Group::LinkModes, vec![number("speed", 1000), words("duplex", "full")], 5, [whole(5, 1000), byte(6, 1)]),
        (Group::LinkModes, vec![on("autoneg", false), number("speed", 10)], 5, [byte(2, 0), whole(5, 10)]),
    ];
    for (group, wishes, command, attributes) in rows {
        assert_eq!(built(group, &wishes), (command, attributes.concat()), "{group:?}");
    }
}

#[test]
fn sets_name_their_bits() {
    let (command, features) = built(Group::Features, &[on("rx-gro", false), on("rx-lro", true)]);
    let set = attribute(&features, 3).unwrap();
    assert_eq!((command, bitset::parse(set)), (12, vec![("rx-gro".into(), false), ("rx-lro".into(), true)]));
    let (command, flags) = built(Group::PrivateFlags, &[on("private.legacy-rx", true)]);
    assert_eq!((command, bitset::parse(attribute(&flags, 2).unwrap())), (14, vec![("legacy-rx".to_owned(), true)]));
    let (command, fec) = built(Group::Fec, &[words("fec", "auto,rs")]);
    assert_eq!((command, attribute(&fec, 3)), (30, Some(&[1][..])));
    assert_eq!(bitset::on(attribute(&fec, 2).unwrap()), ["RS"]);
    let mut state = State::default();
    let value = Value::Text("100baseT/Full,1000baseT/Full".into());
    let tunable = Tunable { name: "advertise".into(), group: Group::LinkModes, value, fixed: false, waits: false };
    state.all.push(tunable);
    let wanted = words("advertise", "1000baseT/Full,2500baseT/Full");
    let Change::Ethtool { attributes, .. } = build(Group::LinkModes, &[&wanted], &state).unwrap() else { panic!() };
    let bits = [("1000baseT/Full", true), ("2500baseT/Full", true), ("100baseT/Full", false)];
    assert_eq!(bitset::parse(attribute(&attributes, 3).unwrap()), bits.map(|(name, on)| (name.to_owned(), on)));
}

#[test]
fn links_tables_and_files_are_told_their_way() {
    let told = |group, wish: &Wish| build(group, &[wish], &State::default());
    let mtu = Change::Link { flags: 0, mask: 0, attributes: whole(4, 9000) };
    assert_eq!(told(Group::Link, &number("mtu", 9000)), Ok(mtu));
    let up = Change::Link { flags: 1, mask: 1, attributes: Vec::new() };
    assert_eq!(told(Group::Up, &on("up", true)), Ok(up));
    let quiet = Change::Link { flags: 0, mask: 0x100, attributes: Vec::new() };
    assert_eq!(told(Group::Link, &on("promisc", false)), Ok(quiet));
    let spread = Change::Spread { queues: 4, table: Vec::new() };
    assert_eq!(told(Group::Rss, &number("rss", 4)), Ok(spread));
    let uneven = Change::Spread { queues: 0, table: vec![0, 0, 1] };
    assert_eq!(told(Group::Rss, &words("rss", "0,0,1")), Ok(uneven));
    let path = "proc/sys/net/core/rmem_max".to_owned();
    assert_eq!(told(Group::Sysctl, &number("net.core.rmem_max", 9)), Ok(Change::File { path, text: "9".into() }));
    assert!(told(Group::Link, &on("mtu", true)).is_err() && told(Group::Rss, &number("rss", 0)).is_err());
}

#[test]
fn a_table_is_equal_over_its_queues_or_told_whole() {
    let text = |table: &[u32]| sets::spread(table).to_string();
    assert_eq!((text(&[0, 1, 2, 0, 1, 2, 0]), text(&[0, 0]), text(&[1, 0])), ("3".into(), "1".into(), "1,0".into()));
    assert_eq!(sets::equal(3, 5).collect::<Vec<_>>(), [0, 1, 2, 0, 1]);
}

/// A card whose driver keeps what it is told, but for what it refuses, or says it did.
struct Fake {
    card: Recorded,
    answers: BTreeMap<Question, Vec<u8>>,
    told: Vec<Change>,
    /// Answer of the driver to a change; after Ok(false) it has done nothing.
    says: fn(&mut Fake, &Change) -> Part<bool>,
    /// It rounds sizes of rings up.
    rounds: bool,
    /// Its link comes back after so many questions for its modes; until then there is no speed.
    back: u32,
}

impl Source for Fake {
    fn file(&self, path: &str) -> io::Result<Vec<u8>> {
        self.card.file(path)
    }

    fn names(&self, path: &str) -> io::Result<Vec<String>> {
        self.card.names(path)
    }

    fn real(&self, path: &str) -> io::Result<String> {
        self.card.real(path)
    }

    fn ask(&mut self, question: Question, of: Option<&Subject>) -> Part<Vec<Vec<u8>>> {
        if question == Question::LinkModes && self.back > 0 {
            self.back -= 1;
            let known = self.back == 0;
            let (speed, duplex) = if known { (100, 1) } else { (u32::MAX, 255) };
            let answer = [byte(2, 0), whole(5, speed), byte(6, duplex)].concat();
            if known {
                self.answers.insert(question, answer.clone());
            }
            return Ok(vec![answer]);
        }
        match self.answers.get(&question) {
            Some(answer) if answer.is_empty() => Err(Absent::new(19, None)),
            Some(answer) => Ok(vec![answer.clone()]),
            None => self.card.ask(question, of),
        }
    }
}

impl Target for Fake {
    fn tell(&mut self, subject: &Subject, change: &Change) -> Part<()> {
        self.told.push(change.clone());
        let says = self.says;
        if says(self, change)? {
            self.keep(subject, change);
        }
        Ok(())
    }
}

impl Fake {
    fn new(says: fn(&mut Fake, &Change) -> Part<bool>) -> (Self, Subject) {
        let tree = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/cards/ixgbe-82599");
        let mut fake = Self {
            card: Recorded::open(&tree).unwrap(),
            answers: BTreeMap::new(),
            told: Vec::new(),
            says,
            rounds: false,
            back: 0,
        };
        let found = find(&mut fake.card, "ens2f0").unwrap();
        (fake, Subject { index: found.index, name: found.name })
    }

    /// Takes over what was told: numbers in place of those there, and each bit of a set by its name.
    fn keep(&mut self, subject: &Subject, change: &Change) {
        let (question, attributes_told) = match change {
            Change::Ethtool { command, attributes } => {
                let groups = [Group::Rings, Group::Channels, Group::Coalesce, Group::Pause, Group::Features];
                let group = groups.into_iter().find(|group| group.command() == Some(*command)).unwrap();
                (group.question().unwrap(), attributes.clone())
            }
            Change::Link { attributes, .. } => (Question::Link, attributes.clone()),
            Change::Spread { queues, .. } => {
                let table = sets::equal(*queues, 128).flat_map(u32::to_ne_bytes).collect::<Vec<_>>();
                let mut message = Message::about(0, 0, &[]);
                message.attribute(4, &table);
                self.answers.insert(Question::Rss, message.into_body());
                return;
            }
            Change::File { .. } | Change::Dcb { .. } | Change::DcbApps(_) | Change::Dcbx(_) => panic!("{change:?}"),
        };
        let attributes_told = if self.rounds { rounded(&attributes_told) } else { attributes_told };
        let answer = self.ask(question, Some(subject)).unwrap().pop().unwrap();
        let head = if question == Question::Link { 16 } else { 0 };
        let mut message = Message::about(0, 0, &answer[..head]);
        for (kind, value) in attributes(&answer[head..]) {
            let told = attribute(&attributes_told, if question == Question::Features { 3 } else { kind });
            match told {
                Some(told) if question != Question::Features => message.attribute(kind, told),
                Some(told) if kind == 3 || kind == 4 => {
                    let mut bits: BTreeMap<_, _> = bitset::parse(value).into_iter().collect();
                    bits.extend(bitset::parse(told));
                    let bits: Vec<_> = bits.iter().map(|(name, on)| (name.as_str(), *on)).collect();
                    bitset::build(&mut message, kind, &bits);
                }
                _ => message.attribute(kind, value),
            }
        }
        self.answers.insert(question, message.into_body());
    }
}

fn rounded(told: &[u8]) -> Vec<u8> {
    attributes(told).flat_map(|(kind, value)| whole(kind, word(value, 0).next_power_of_two())).collect()
}

fn refusals(outcome: &Outcome) -> Vec<(String, String, String)> {
    let row = |one: &Refused| {
        let now = one.now.as_ref().map(Value::to_string).unwrap_or_default();
        (one.wish.name.clone(), one.why.to_string(), now)
    };
    outcome.refused.iter().map(row).collect()
}

#[test]
fn what_is_saved_of_a_card_is_there_and_nothing_is_told() {
    let (mut fake, subject) = Fake::new(|_, _| Ok(true));
    let state = read(&mut fake, &subject);
    let wishes: Vec<_> = state.all.iter().filter(|one| !one.fixed).map(|one| wish(&one.name, one.kept())).collect();
    assert!(wishes.len() > 25 && wishes.contains(&on("rx-lro", true)), "requested, and off: {wishes:?}");
    let outcome = apply(&mut fake, &subject, &wishes, Aim::Request);
    assert!(fake.told.is_empty() && outcome.refused.is_empty() && !outcome.gone, "{outcome:?}");
    assert_eq!(outcome.before, outcome.after);
}

#[test]
fn changes_come_in_the_order_that_drivers_accept() {
    let (mut fake, subject) = Fake::new(|_, _| Ok(true));
    let wishes = [
        number("mtu", 9000),
        number("rss", 2),
        on("tx-tcp-segmentation", false),
        number("rx-usecs", 30),
        on("rx-checksum", false),
        number("ring-rx", 1024),
        number("combined", 2),
        on("pause-rx", false),
    ];
    let outcome = apply(&mut fake, &subject, &wishes, Aim::Effect);
    assert_eq!(refusals(&outcome), []);
    let order: Vec<_> = fake
        .told
        .iter()
        .map(|change| match change {
            Change::Ethtool { command, .. } => *command,
            Change::Spread { .. } => 0,
            _ => 255,
        })
        .collect();
    assert_eq!(order, [22, 18, 16, 0, 12, 12, 20, 255]);
    let [Change::Ethtool { attributes: first, .. }, Change::Ethtool { attributes: then, .. }] = &fake.told[4..6] else {
        panic!("{:?}", fake.told)
    };
    let names = |set: &[u8]| bitset::parse(attribute(set, 3).unwrap());
    assert_eq!(names(first), [("rx-checksum".to_owned(), false)]);
    assert_eq!(names(then), [("tx-tcp-segmentation".to_owned(), false)]);
    let names: Vec<_> = difference(&outcome.before, &outcome.after).into_iter().map(|(name, ..)| name).collect();
    assert_eq!(names.len(), wishes.len(), "{names:?}");
}

#[test]
fn a_driver_that_says_yes_and_does_nothing_is_not_believed() {
    let (mut fake, subject) = Fake::new(|_, _| Ok(false));
    let outcome = apply(&mut fake, &subject, &[number("ring-rx", 1024), on("rx-checksum", false)], Aim::Effect);
    let nothing = "the driver answered yes, and did nothing".to_owned();
    let rows = [("ring-rx", "512"), ("rx-checksum", "on")];
    assert_eq!(refusals(&outcome), rows.map(|(name, now)| (name.to_owned(), nothing.clone(), now.to_owned())));
}

#[test]
fn a_refusal_has_the_kernels_words_and_the_others_are_set() {
    let (mut fake, subject) = Fake::new(|_, change| match change {
        Change::Ethtool { command: 16, attributes } if attribute(attributes, 6).is_some() => {
            Err(Absent::new(22, Some("requested ring size exceeds maximum")))
        }
        _ => Ok(true),
    });
    let outcome = apply(&mut fake, &subject, &[number("ring-rx", 99999), number("ring-tx", 64)], Aim::Effect);
    let why = "requested ring size exceeds maximum: Invalid argument".to_owned();
    assert_eq!(refusals(&outcome), [("ring-rx".to_owned(), why, "512".to_owned())]);
    assert_eq!(outcome.after.get("ring-tx").map(|one| one.value.clone()), Some(Value::Number(64)));
}

/// Fewer queues than the table has are refused until the table is narrower, which comes behind them.
/// Regression: a driver that had been told autoneg=off, speed and duplex together was told the speed once more by itself, because
/// nobody knows it before the link is back; it refused that, and so it was said that it had refused all of it.
#[test]
fn a_speed_is_known_when_the_link_is_back() {
    fn told(fake: &mut Fake, change: &Change) -> Part<bool> {
        let Change::Ethtool { attributes, .. } = change else { panic!("{change:?}") };
        assert_eq!(*attributes, [byte(2, 0), whole(5, 100), byte(6, 1)].concat());
        fake.back = 4;
        Ok(false)
    }
    let agreed = [byte(2, 1), whole(5, 1000), byte(6, 1)].concat();
    let (mut fake, subject) = Fake::new(told);
    fake.answers.insert(Question::LinkModes, agreed.clone());
    let wishes = [on("autoneg", false), number("speed", 100), words("duplex", "full")];
    let outcome = apply(&mut fake, &subject, &wishes, Aim::Effect);
    assert!(fake.told.len() == 1 && outcome.refused.is_empty(), "{:?} {:?}", fake.told, outcome.refused);
    // It never comes back: that is said, and the driver is told no more.
    let (mut fake, subject) = Fake::new(|fake, _| {
        fake.answers.insert(Question::LinkModes, [byte(2, 0), whole(5, u32::MAX), byte(6, 255)].concat());
        Ok(false)
    });
    fake.answers.insert(Question::LinkModes, agreed);
    let outcome = apply(&mut fake, &subject, &wishes, Aim::Effect);
    let why = "the driver answered yes; it is known when the link is up, which it is not";
    let expected = ["speed", "duplex"].map(|name| (name.to_owned(), why.to_owned(), String::new()));
    assert_eq!(refusals(&outcome), expected);
}

#[test]
fn what_needs_another_is_tried_again() {
    let (mut fake, subject) = Fake::new(|fake, change| match change {
        Change::Ethtool { command: 18, .. } if !fake.answers.contains_key(&Question::Rss) => {
            Err(Absent::new(22, Some("requested channel counts are too low for existing indirection table")))
        }
        _ => Ok(true),
    });
    let outcome = apply(&mut fake, &subject, &[number("combined", 2), number("rss", 2)], Aim::Effect);
    assert_eq!(refusals(&outcome), []);
    assert_eq!(outcome.after.get("combined").map(|one| one.value.clone()), Some(Value::Number(2)));
}

#[test]
fn a_value_that_the_driver_made_another_is_named() {
    let (mut fake, subject) = Fake::new(|_, _| Ok(true));
    fake.rounds = true;
    let outcome = apply(&mut fake, &subject, &[number("ring-rx", 1000)], Aim::Effect);
    let why = "the driver made another value of it".to_owned();
    assert_eq!(refusals(&outcome), [("ring-rx".to_owned(), why, "1024".to_owned())]);
}

#[test]
fn what_is_not_there_is_refused_with_the_reason() {
    let (mut fake, subject) = Fake::new(|_, _| Ok(true));
    fake.answers.insert(Question::Pause, whole(9, 0));
    let wishes =
        [on("pause-rx", true), on("private.none", true), words("advertise", "10baseT/Full"), words("fec", "rs")];
    let outcome = apply(&mut fake, &subject, &wishes, Aim::Effect);
    let whys: Vec<_> = refusals(&outcome).into_iter().map(|(name, why, _)| format!("{name}: {why}")).collect();
    assert_eq!(
        whys,
        [
            "private.none: it has no such setting",
            "advertise: nothing is advertised while autoneg is off",
            "fec: Operation not supported",
            "pause-rx: it has no such setting",
        ]
    );
    assert!(fake.told.is_empty(), "{:?}", fake.told);
}

#[test]
fn an_interface_that_goes_away_ends_it() {
    let (mut fake, subject) = Fake::new(|fake, change| match change {
        Change::Ethtool { command: 18, .. } => {
            fake.answers.insert(Question::Link, Vec::new());
            Err(Absent::new(19, None))
        }
        _ => Ok(true),
    });
    let outcome =
        apply(&mut fake, &subject, &[number("combined", 2), number("ring-rx", 64), number("mtu", 9000)], Aim::Effect);
    assert!(outcome.gone, "{outcome:?}");
    assert_eq!(fake.told.len(), 1, "nothing is told an interface that is gone: {:?}", fake.told);
    let (mut fake, subject) = Fake::new(|_, _| Ok(true));
    fake.answers.insert(Question::Link, Vec::new());
    assert!(apply(&mut fake, &subject, &[], Aim::Effect).gone);
}

/// ethtool's family says ENODEV of a device that is there and detached, as do drivers that cannot start one.
#[test]
fn a_driver_that_only_says_that_it_is_gone_is_asked_on() {
    let (mut fake, subject) = Fake::new(|_, change| match change {
        Change::Ethtool { command: 18, .. } => Err(Absent::new(19, None)),
        _ => Ok(true),
    });
    let outcome = apply(&mut fake, &subject, &[number("combined", 2), number("mtu", 9000)], Aim::Effect);
    assert_eq!(refusals(&outcome), [("combined".to_owned(), "No such device".to_owned(), "4".to_owned())]);
    assert!(!outcome.gone);
    assert_eq!(outcome.after.get("mtu").map(|one| one.value.clone()), Some(Value::Number(9000)));
}

#[test]
fn words_mean_what_ethtool_and_freebsd_mean() {
    let (mut fake, subject) = Fake::new(|_, _| Ok(true));
    let state = read(&mut fake, &subject);
    let names = |word: &str| -> Vec<String> {
        let wishes = meant(&state, word).unwrap_or_else(|unknown| panic!("{word}: {unknown:?}"));
        wishes.into_iter().map(|wish| format!("{}={}", wish.name, wish.value)).collect()
    };
    for (word, wishes) in [
        ("-tso", &["tx-tcp-segmentation=off", "tx-tcp6-segmentation=off"][..]),
        ("TSO4", &["tx-tcp-segmentation=on"]),
        ("-TSO6", &["tx-tcp6-segmentation=off"]),
        ("-LRO", &["rx-lro=off"]),
        ("RXCSUM", &["rx-checksum=on"]),
        ("-TXCSUM", &["tx-checksum-ip-generic=off"]),
        ("VLAN_HWTAGGING", &["rx-vlan-hw-parse=on", "tx-vlan-hw-insert=on"]),
        ("rx-lro=off", &["rx-lro=off"]),
        ("legacy-rx", &["private.legacy-rx=on"]),
        ("mtu=9000", &["mtu=9000"]),
        ("MTU=9000", &["mtu=9000"]),
        ("down", &["up=off"]),
        ("-up", &["up=off"]),
        ("rss=4", &["rss=4"]),
        ("fec=auto,rs", &["fec=auto,rs"]),
        ("adaptive-rx", &["adaptive-rx=on"]),
    ] {
        assert_eq!(names(word), wishes, "{word}");
    }
    let unknown = |word: &str| meant(&state, word).unwrap_err();
    assert_eq!(unknown("tsoo"), Unknown::Name("tsoo".into()));
    for word in ["mtu", "-mtu"] {
        assert!(matches!(unknown(word), Unknown::Bare(name, _) if name == "mtu"), "{word}");
    }
    for word in ["mtu=-1", "mtu=", "mtu=4294967296", "mtu=9k", "up=maybe", "rss=0", "rss=1,", "fec=best", "tso=2"] {
        assert!(matches!(unknown(word), Unknown::Value(typed, _) if typed == word), "{word}");
    }
    let modes = |count: usize| format!("advertise={}", vec!["10baseT/Full"; count].join(","));
    assert!(meant(&state, &modes(256)).is_ok());
    for word in [modes(257), modes(60_000), format!("advertise={}", "x".repeat(41)), "advertise=,".to_owned()] {
        assert!(matches!(meant(&state, &word), Err(Unknown::Value(..))), "{} bytes", word.len());
    }
    for word in ["", "-", "=", "=1", "-=", "\u{0}", "private.", "-private."] {
        assert!(meant(&state, word).is_err(), "{word:?}");
    }
}

#[test]
fn sets_have_no_order_and_tables_have() {
    let same = |one: &str, other: &str| same(&Value::Text(one.into()), &Value::Text(other.into()));
    assert!(same("10baseT/Full,100baseT/Full", "100baseT/Full,10baseT/Full") && same("auto,rs", "rs,auto"));
    assert!(!same("0,1,1", "1,0,1") && !same("4096 1 2", "4096 2 1") && !same("rs", "rs,auto"));
    assert!(!super::same(&Value::Number(1), &Value::On(true)));
}

/// A message with as many modes, offloads or flags as a name may be given for is made.
#[test]
fn the_longest_messages_are_made() {
    let mode = format!("{}/Full", "9".repeat(35));
    let all = words("advertise", &vec![mode; 256].join(","));
    assert!(build(Group::LinkModes, &[&all], &State::default()).is_ok());
}

/// Every row is read and written with the same group, and no two have one name.
#[test]
fn the_table_is_sound() {
    for row in table::ROWS {
        assert_eq!(table::ROWS.iter().filter(|one| one.name == row.name).count(), 1, "{}", row.name);
        assert!(!row.name.starts_with('-') && !row.name.contains('='), "{}", row.name);
        assert_eq!(group_of_name(row.name), row.group);
    }
    assert!(table::GROUPS.is_sorted());
}

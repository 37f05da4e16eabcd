//! Settings of an interface as they are, each with its group, and the groups that it has not, with the reason.

use super::Value;
use super::table::{Form, GROUPS, Group, PRIVATE, Row, group_of_feature, of};
use super::{dcb, sets};
use crate::absent::{Absent, Part};
use crate::adapter::fields::{byte, whole};
use crate::adapter::source::{nonsense, one};
use crate::adapter::{Question, Source, Subject, rss};
use crate::ethtool::{Features, bitset};
use crate::netlink::message::{attribute, word};

/// `struct ifinfomsg`.
pub(super) const HEADER: usize = 16;

/// A setting with its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tunable {
    /// Name, as it is typed and kept.
    pub name: String,
    /// Group that it is read and written with.
    pub group: Group,
    pub value: Value,
    /// The driver does not let it be changed.
    pub fixed: bool,
    /// It is requested and not in effect, as something that it needs is off.
    pub(super) waits: bool,
}

impl Tunable {
    /// Value that a file keeps: of an offload what is requested, which may wait for another one.
    #[must_use]
    pub fn kept(&self) -> Value {
        if self.waits { Value::On(true) } else { self.value.clone() }
    }
}

/// All settings of an interface.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct State {
    /// Settings, in the order of writing.
    pub all: Vec<Tunable>,
    /// Groups without values, and why.
    pub absent: Vec<(Group, Absent)>,
}

impl State {
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Tunable> {
        self.all.iter().find(|one| one.name == name)
    }

    /// Reason for which a group has no values.
    #[must_use]
    pub fn why(&self, group: Group) -> Option<&Absent> {
        self.absent.iter().find(|(one, _)| *one == group).map(|(_, absent)| absent)
    }

    /// Takes the values that a group has now.
    pub(super) fn put(&mut self, group: Group, values: Part<Vec<Tunable>>) {
        self.all.retain(|one| one.group != group);
        self.absent.retain(|(one, _)| *one != group);
        match values {
            Ok(values) => self.all.extend(values),
            Err(absent) => self.absent.push((group, absent)),
        }
        self.all.sort_by_key(|one| one.group);
    }
}

/// Settings that differ: name, and the value in each of the two.
#[must_use]
pub fn difference(before: &State, after: &State) -> Vec<(String, Option<Value>, Option<Value>)> {
    let mut rows: Vec<_> = Vec::new();
    for one in &before.all {
        let now = after.get(&one.name).map(|now| now.value.clone());
        if now.as_ref() != Some(&one.value) {
            rows.push((one.name.clone(), Some(one.value.clone()), now));
        }
    }
    let new = after.all.iter().filter(|one| before.get(&one.name).is_none());
    rows.extend(new.map(|one| (one.name.clone(), None, Some(one.value.clone()))));
    rows
}

pub fn read(source: &mut dyn Source, subject: &Subject) -> State {
    let mut state = State::default();
    for group in GROUPS {
        state.put(group, group_of(source, subject, group));
    }
    state
}

pub(super) fn group_of(source: &mut dyn Source, subject: &Subject, group: Group) -> Part<Vec<Tunable>> {
    let answer = match group.question() {
        Some(question) => one(source, question, subject)?,
        None => Vec::new(),
    };
    let set = |kind| attribute(&answer, kind).unwrap_or_default();
    let plain = |name: String, value| Tunable { name, group, value, fixed: false, waits: false };
    match group {
        Group::Checksums | Group::Features => {
            let features = Features::parse(&answer).ok_or_else(nonsense)?;
            let ours = features.0.into_iter().filter(|(name, _)| group_of_feature(name) == group);
            let tunable = |(name, feature): (String, crate::Feature)| Tunable {
                fixed: !feature.changeable,
                waits: feature.changeable && feature.wanted && !feature.active,
                ..plain(name, Value::On(feature.active))
            };
            Ok(ours.map(tunable).collect())
        }
        Group::PrivateFlags => {
            let flags = bitset::parse(set(2)).into_iter();
            Ok(flags.map(|(name, on)| plain(format!("{PRIVATE}{name}"), Value::On(on))).collect())
        }
        Group::Rss => {
            let table = rss::read(source, subject)?.table.ok_or_else(|| Absent::told("it has no table"))?;
            Ok(vec![plain("rss".to_owned(), sets::spread(&table))])
        }
        Group::Sysctl => {
            let values = of(group).filter_map(|row| Some(plain(row.name.to_owned(), file(source, row)?)));
            Ok(values.collect())
        }
        Group::Link | Group::Up if answer.len() < HEADER => Err(nonsense()),
        _ => {
            let values = of(group).filter_map(|row| Some(plain(row.name.to_owned(), value(row, &answer)?)));
            Ok(values.collect())
        }
    }
}

/// Value of a row in an answer.
fn value(row: &Row, answer: &[u8]) -> Option<Value> {
    if row.group.question() == Some(Question::Dcb) {
        return dcb::value(row, answer);
    }
    let (header, rest) = match row.group {
        Group::Link | Group::Up => answer.split_at_checked(HEADER)?,
        _ => (&[][..], answer),
    };
    match row.form {
        Form::Switch => byte(rest, row.at).map(|on| Value::On(on != 0)),
        Form::Number => {
            let number = whole(rest, row.at)?;
            // A speed is a setting where it is not agreed with the partner, and known.
            let known = row.name != "speed" || (!agreed(rest) && number != 0 && number != u32::MAX);
            known.then_some(Value::Number(number.into()))
        }
        Form::Word(words) => {
            let word = words.get(usize::from(byte(rest, row.at)?))?;
            (row.name != "duplex" || !agreed(rest)).then(|| Value::Text((*word).to_owned()))
        }
        Form::Flag => Some(Value::On(word(header, 8) & u32::from(row.at) != 0)),
        Form::Modes if agreed(rest) => Some(Value::Text(bitset::on(attribute(rest, row.at)?).join(","))),
        Form::Codes => Some(Value::Text(sets::codes(rest))),
        Form::Modes | Form::Table | Form::File | Form::Each(_) | Form::Apps | Form::Dcbx => None,
    }
}

/// Speeds are agreed with the partner (ETHTOOL_A_LINKMODES_AUTONEG).
fn agreed(answer: &[u8]) -> bool {
    byte(answer, 2).is_some_and(|on| on != 0)
}

/// Path of a sysctl, below the root.
pub(super) fn path(name: &str) -> String {
    format!("proc/sys/{}", name.replace('.', "/"))
}

fn file(source: &dyn Source, row: &Row) -> Option<Value> {
    let bytes = source.file(&path(row.name)).ok()?;
    let words: Vec<_> = String::from_utf8_lossy(&bytes).split_whitespace().map(str::to_owned).collect();
    let text = words.join(" ");
    Some(text.parse().map_or(Value::Text(text), Value::Number))
}

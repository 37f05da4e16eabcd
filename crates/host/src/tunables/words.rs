//! Names as they are typed: the table's, those of the kernel and of the driver, ethtool's for families of offloads, and
//! FreeBSD's flags.

use super::state::{State, Tunable};
use super::table::{Form, PRIVATE, ROWS, find};
use super::{Value, dcb, sets};
use crate::adapter::Dcbx;

/// A value wanted of a setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wish {
    /// Name of the setting, as [`State`] has it.
    pub name: String,
    pub value: Value,
}

/// A word that means nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unknown {
    /// There is no setting of that name here.
    Name(String),
    /// The value is none of it: name, and values there are.
    Value(String, String),
    /// A name without a value, which needs one: name, and values there are.
    Bare(String, String),
}

/// A name for several offloads: as typed, and beginnings and ends of the kernel's names.
struct Family(&'static [&'static str], &'static [(&'static str, &'static str)]);

/// ethtool's names (long and short), and FreeBSD's. An end of `=` means the whole name.
const FAMILIES: &[Family] = &[
    Family(&["rx-checksumming", "rx", "rxcsum", "rxcsum_ipv6"], &[("rx-checksum", "=")]),
    Family(&["tx-checksumming", "tx"], &[("tx-checksum-", "")]),
    Family(&["txcsum"], &[("tx-checksum-ipv4", "="), ("tx-checksum-ip-generic", "=")]),
    Family(&["txcsum_ipv6"], &[("tx-checksum-ipv6", "="), ("tx-checksum-ip-generic", "=")]),
    Family(&["scatter-gather", "sg"], &[("tx-scatter-gather", "")]),
    Family(&["tcp-segmentation-offload", "tso"], &[("tx-tcp", "-segmentation")]),
    Family(&["tso4"], &[("tx-tcp-segmentation", "=")]),
    Family(&["tso6"], &[("tx-tcp6-segmentation", "=")]),
    Family(&["generic-segmentation-offload", "gso"], &[("tx-generic-segmentation", "=")]),
    Family(&["generic-receive-offload", "gro"], &[("rx-gro", "=")]),
    Family(&["large-receive-offload", "lro"], &[("rx-lro", "=")]),
    Family(&["rx-vlan-offload", "rxvlan"], &[("rx-vlan-hw-parse", "=")]),
    Family(&["tx-vlan-offload", "txvlan"], &[("tx-vlan-hw-insert", "=")]),
    Family(&["vlan_hwtagging"], &[("rx-vlan-hw-parse", "="), ("tx-vlan-hw-insert", "=")]),
    Family(&["vlan_hwfilter"], &[("rx-vlan-filter", "=")]),
    Family(&["ntuple-filters", "ntuple"], &[("rx-ntuple-filter", "=")]),
    Family(&["receive-hashing", "rxhash"], &[("rx-hashing", "=")]),
];

impl Family {
    fn has(&self, feature: &str) -> bool {
        self.1.iter().any(|(begin, end)| match *end {
            "=" => feature == *begin,
            end => feature.starts_with(begin) && feature.ends_with(end),
        })
    }
}

/// All names that mean something here, as they are typed.
pub fn names(state: &State) -> impl Iterator<Item = &str> {
    let families = FAMILIES.iter().flat_map(|family| family.0.iter().copied());
    ROWS.iter().map(|row| row.name).chain(families).chain(state.all.iter().map(|one| one.name.as_str()))
}

/// Reads a word as typed, `NAME=VALUE`, `NAME` or `-NAME`: a wish, or several for a family of offloads.
pub fn meant(state: &State, word: &str) -> Result<Vec<Wish>, Unknown> {
    let bare = !word.contains('=');
    let (name, value) = match (word.split_once('='), word.strip_prefix('-')) {
        (Some((name, value)), _) => (name, Some(value)),
        (None, Some(name)) => (name, Some("off")),
        (None, None) => (word, None),
    };
    // Names of rows and families are small letters; those of drivers are theirs.
    let small = name.to_ascii_lowercase();
    let (name, value) = match (small.as_str(), value) {
        ("down", None) => ("up", Some("off")),
        (known, value) if find(known).is_some() => (known, value),
        (_, value) => (name, value),
    };
    if let Some(row) = find(name) {
        if let (Form::Each(unit), Some(text)) = (row.form, value.filter(|_| !bare)) {
            let value = unit.merged(state.get(name).map(|one| &one.value), text);
            let value = value.ok_or_else(|| Unknown::Value(word.to_owned(), unit.said()))?;
            return Ok(vec![Wish { name: name.to_owned(), value }]);
        }
        let switch = matches!(row.form, Form::Switch | Form::Flag);
        // What is no switch has no -NAME.
        let value = value.filter(|_| switch || !bare);
        let wanted = value.map_or_else(
            || if switch { Ok(Value::On(true)) } else { Err(Unknown::Bare(name.to_owned(), said(row.form))) },
            |value| parse(row.form, value).ok_or_else(|| Unknown::Value(word.to_owned(), said(row.form))),
        );
        return Ok(vec![Wish { name: name.to_owned(), value: wanted? }]);
    }
    let family = FAMILIES.iter().find(|family| family.0.contains(&small.as_str()));
    let has = |one: &Tunable| match family {
        Some(family) => family.has(&one.name),
        None => one.name == name || one.name.strip_prefix(PRIVATE) == Some(name),
    };
    let mut members: Vec<&Tunable> = state.all.iter().filter(|one| find(&one.name).is_none() && has(one)).collect();
    if members.is_empty() {
        return Err(Unknown::Name(name.to_owned()));
    }
    if members.iter().any(|one| !one.fixed) {
        members.retain(|one| !one.fixed);
    }
    let wanted = parse(Form::Switch, value.unwrap_or("on"));
    let value = wanted.ok_or_else(|| Unknown::Value(word.to_owned(), said(Form::Switch)))?;
    Ok(members.into_iter().map(|one| Wish { name: one.name.clone(), value: value.clone() }).collect())
}

impl Wish {
    /// A wish for a setting with a value as a file has it; None if that is none of it.
    #[must_use]
    pub fn kept(name: &str, value: &Value) -> Option<Self> {
        let form = find(name).map_or(Form::Switch, |row| row.form);
        let fits = match (form, value) {
            (Form::Switch | Form::Flag, Value::On(_)) | (Form::File, Value::Text(_) | Value::Number(_)) => true,
            (Form::Number | Form::Table, Value::Number(_)) | (_, Value::Text(_)) => {
                parse(form, &value.to_string()).is_some()
            }
            _ => false,
        };
        let plain = |name: &str| !name.is_empty() && name.len() < 64 && !name.contains(char::is_control);
        (fits && plain(name)).then(|| Self { name: name.to_owned(), value: value.clone() })
    }

    /// Values that a setting of that name takes, in words.
    #[must_use]
    pub fn values(name: &str) -> String {
        said(find(name).map_or(Form::Switch, |row| row.form))
    }
}

/// Values of a form, in words.
fn said(form: Form) -> String {
    match form {
        Form::Switch | Form::Flag => "on or off".to_owned(),
        Form::Number => format!("a number from 0 to {}", u32::MAX),
        Form::Word(words) => format!("one of {}", words.join(", ")),
        Form::Modes => "link modes as 1000baseT/Full, with commas between".to_owned(),
        Form::Codes => "some of auto, off, rs, baser, llrs, with commas between".to_owned(),
        Form::Table => "a number of queues, or all entries with commas between".to_owned(),
        Form::File => "numbers or words".to_owned(),
        Form::Each(unit) => unit.said(),
        Form::Apps => "applications as ethtype 0x8906:3, with commas between, or none".to_owned(),
        Form::Dcbx => "some of host, lld-managed, cee, ieee, static, with commas between, or none".to_owned(),
    }
}

/// Longest text of a value: RSS's table of some thousand entries.
const LONGEST: usize = 64 << 10;

/// More link modes than there are, with longer names: all of them fit into a message.
const MOST_MODES: usize = 256;
const LONGEST_MODE: usize = 40;

fn parse(form: Form, text: &str) -> Option<Value> {
    let clean = !text.is_empty() && text.len() <= LONGEST && !text.contains(char::is_control);
    let digits = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
    let number = || digits(text).then(|| text.parse::<u32>().ok()).flatten().map(|number| Value::Number(number.into()));
    let kept = || Value::Text(text.to_owned());
    match form {
        _ if !clean => None,
        Form::Switch | Form::Flag => match text.to_ascii_lowercase().as_str() {
            "on" | "1" | "yes" | "true" => Some(Value::On(true)),
            "off" | "0" | "no" | "false" => Some(Value::On(false)),
            _ => None,
        },
        Form::Number => number(),
        Form::Word(words) => words.contains(&text).then(kept),
        Form::Modes => {
            let named = |mode: &str| (1..=LONGEST_MODE).contains(&mode.len()) && !mode.contains(' ');
            (text.split(',').count() <= MOST_MODES && text.split(',').all(named)).then(kept)
        }
        Form::Codes => sets::parse_codes(text).map(|_| kept()),
        Form::Each(unit) => unit.whole(text).map(Value::Text),
        Form::Apps => dcb::parse_apps(text).map(|apps| Value::Text(dcb::text_of(&apps))),
        Form::Dcbx => dcb::parse_dcbx(text).map(|bits| Value::Text(Dcbx(bits).to_string())),
        Form::Table if text.contains(',') => {
            text.split(',').all(|entry| digits(entry) && entry.parse::<u32>().is_ok()).then(kept)
        }
        Form::Table => number().filter(|queues| *queues != Value::Number(0)),
        Form::File => {
            let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
            Some(words.parse().map_or(Value::Text(words), Value::Number))
        }
    }
}

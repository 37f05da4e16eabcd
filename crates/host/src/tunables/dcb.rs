//! Settings of Data Center Bridging: fields of the structures that dcbnl reads and writes whole, as text and as bytes.
//!
//! Maps are written in the words of iproute2's `dcb`, with commas between: `0:0,3:1`, and `all:` for each.

use super::build::Change;
use super::table::{Form, Group, Row, find};
use super::words::Wish;
use super::{State, Value};
use crate::absent::{Absent, Part};
use crate::adapter::dcb::{ALGORITHMS, APP_TABLE, BUFFER, DCB_ATTR_DCBX, Dcbx, ETS, HEADER, MAXRATE, MODES, PFC};
use crate::adapter::dcb::{algorithm, apps, structure};
use crate::adapter::{App, fields::byte};
use crate::netlink::message::{half, long, word};
use std::collections::BTreeSet;

/// Meaning of a map's numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unit {
    /// Up to so much, in 8 bits.
    UpTo(u8),
    /// Transmission selection algorithm.
    Algorithm,
    /// Bytes, in 32 bits.
    Bytes,
    /// kbit/s, in 64 bits.
    Rate,
    /// On or off, a bit each in 8 bits.
    Bits,
}

use Unit::{Algorithm, Bits, Bytes, Rate, UpTo};

impl Unit {
    fn parse(self, text: &str) -> Option<u64> {
        let digits = |text: &str| text.bytes().all(|b| b.is_ascii_digit()).then(|| text.parse::<u64>().ok()).flatten();
        let most = |most: u64| digits(text).filter(|number| *number <= most);
        match self {
            UpTo(limit) => most(limit.into()),
            Algorithm => {
                let known = ALGORITHMS.iter().find(|(_, name)| *name == text).map(|(number, _)| u64::from(*number));
                known.or_else(|| most(u8::MAX.into()))
            }
            Bytes => most(u32::MAX.into()),
            Rate => digits(text.strip_suffix("kbit").unwrap_or(text)),
            Bits => [("off", 0), ("on", 1)].iter().find(|(name, _)| *name == text).map(|(_, bit)| *bit),
        }
    }

    fn show(self, number: u64) -> String {
        match self {
            UpTo(_) | Bytes => number.to_string(),
            Algorithm => u8::try_from(number).map_or_else(|_| number.to_string(), algorithm),
            Rate => format!("{number}kbit"),
            Bits => if number == 0 { "off" } else { "on" }.to_owned(),
        }
    }

    fn read(self, value: &[u8], at: usize) -> [u64; 8] {
        std::array::from_fn(|n| match self {
            UpTo(_) | Algorithm => value.get(at + n).copied().unwrap_or(0).into(),
            Bytes => word(value, at + 4 * n).into(),
            Rate => long(value, at + 8 * n),
            Bits => (value.get(at).copied().unwrap_or(0) >> n & 1).into(),
        })
    }

    fn bytes(self, numbers: [u64; 8]) -> Vec<u8> {
        match self {
            Bits => vec![numbers.iter().enumerate().fold(0, |bits, (n, on)| bits | u8::from(*on != 0) << n)],
            UpTo(_) | Algorithm => numbers.iter().filter_map(|number| u8::try_from(*number).ok()).collect(),
            Bytes => numbers.iter().filter_map(|n| u32::try_from(*n).ok()).flat_map(u32::to_ne_bytes).collect(),
            Rate => numbers.iter().flat_map(|number| number.to_ne_bytes()).collect(),
        }
    }

    /// Values that there are, in words.
    pub(super) fn said(self) -> String {
        let value = match self {
            UpTo(most) => {
                return format!("pairs as 0:1, of numbers 0 to 7 or all and 0 to {most}, with commas between");
            }
            Algorithm => "strict, ets, cbs or vendor",
            Bytes => "bytes",
            Rate => "kbit/s",
            Bits => "on or off",
        };
        format!("pairs of a number, 0 to 7 or all, a colon and {value}, with commas between")
    }

    /// Numbers that a text gives.
    fn given(self, text: &str) -> Option<[Option<u64>; 8]> {
        let mut all = [None; 8];
        for pair in text.split(',') {
            let (of, value) = pair.split_once(':')?;
            let value = self.parse(value)?;
            match of {
                "all" => all = [Some(value); 8],
                _ => *all.get_mut(of.parse::<usize>().ok().filter(|_| of.len() == 1)?)? = Some(value),
            }
        }
        Some(all)
    }

    fn text(self, numbers: [u64; 8]) -> String {
        let pairs = numbers.iter().enumerate().map(|(at, number)| format!("{at}:{}", self.show(*number)));
        pairs.collect::<Vec<_>>().join(",")
    }

    /// Reads a map of all eight, in our own spelling.
    pub(super) fn whole(self, text: &str) -> Option<String> {
        self.numbers(text).map(|numbers| self.text(numbers))
    }

    fn numbers(self, text: &str) -> Option<[u64; 8]> {
        let given = self.given(text)?;
        given.iter().all(Option::is_some).then(|| given.map(Option::unwrap_or_default))
    }

    /// A map as typed, in which what is not said stays as it is.
    pub(super) fn merged(self, present: Option<&Value>, text: &str) -> Option<Value> {
        let given = self.given(text)?;
        let now = match present {
            Some(Value::Text(now)) => self.numbers(now)?,
            _ => return Some(Value::Text(text.to_owned())),
        };
        Some(Value::Text(self.text(std::array::from_fn(|at| given[at].unwrap_or(now[at])))))
    }
}

/// Structure of a group.
fn kind(group: Group) -> Option<u16> {
    match group {
        Group::DcbEts => Some(ETS),
        Group::DcbPfc => Some(PFC),
        Group::DcbMaxrate => Some(MAXRATE),
        Group::DcbBuffer => Some(BUFFER),
        Group::DcbApp => Some(APP_TABLE),
        _ => None,
    }
}

/// Value of a row in an answer of dcbnl; none if the driver has none, or one that is none of it.
pub(super) fn value(row: &Row, answer: &[u8]) -> Option<Value> {
    if row.form == Form::Dcbx {
        return byte(answer.get(HEADER..)?, DCB_ATTR_DCBX).map(|bits| Value::Text(Dcbx(bits).to_string()));
    }
    let (value, at) = (structure(answer, kind(row.group)?)?, usize::from(row.at));
    match row.form {
        Form::Each(unit) => unit.whole(&unit.text(unit.read(value, at))).map(Value::Text),
        Form::Switch => value.get(at).map(|on| Value::On(*on != 0)),
        Form::Number => Some(Value::Number(half(value, at).into())),
        Form::Apps => Some(Value::Text(text_of(&apps(value)))),
        _ => None,
    }
}

/// Place and bytes of a map in its structure, by the name of the setting.
pub(crate) fn map(name: &str, text: &str) -> Option<(usize, Vec<u8>)> {
    let row = find(name)?;
    let Form::Each(unit) = row.form else { return None };
    Some((usize::from(row.at), unit.bytes(unit.numbers(text)?)))
}

/// Word for an empty set.
const NONE: &str = "none";

/// Applications as text, each once.
pub(super) fn text_of(apps: &[App]) -> String {
    let all: BTreeSet<App> = apps.iter().copied().collect();
    let words: Vec<String> = all.iter().map(App::to_string).collect();
    if words.is_empty() { NONE.to_owned() } else { words.join(",") }
}

/// Applications as a text has them.
pub(super) fn parse_apps(text: &str) -> Option<Vec<App>> {
    if text == NONE { Some(Vec::new()) } else { text.split(',').map(App::read).collect() }
}

/// Bits of DCBX's words.
pub(super) fn parse_dcbx(text: &str) -> Option<u8> {
    let bit = |word: &str| match MODES.iter().find(|(_, name)| *name == word) {
        Some((bit, _)) => Some(*bit),
        None => u8::from_str_radix(word.strip_prefix("0x")?, 16).ok(),
    };
    if text == NONE { Some(0) } else { text.split(',').try_fold(0, |bits, word| Some(bits | bit(word)?)) }
}

/// Makes the change of a group's settings; none of a group that is none of DCB's.
pub(super) fn build(group: Group, wishes: &[&Wish]) -> Option<Part<Change>> {
    let misfit = |wish: &Wish| Absent::told(format!("{} is no value of it", wish.value));
    let patch = |wish: &&Wish| {
        let row = find(&wish.name).ok_or_else(|| misfit(wish))?;
        let bytes = match (row.form, &wish.value) {
            (Form::Each(unit), Value::Text(text)) => unit.numbers(text).map(|numbers| unit.bytes(numbers)),
            (Form::Switch, Value::On(on)) => Some(vec![u8::from(*on)]),
            (Form::Number, Value::Number(number)) => u16::try_from(*number).ok().map(|n| n.to_ne_bytes().to_vec()),
            _ => None,
        };
        Ok((usize::from(row.at), bytes.ok_or_else(|| misfit(wish))?))
    };
    let texts =
        || wishes.iter().map(|wish| (*wish, if let Value::Text(text) = &wish.value { text.as_str() } else { "" }));
    let last = |read: &dyn Fn(&str) -> Option<Change>| {
        let change = |(wish, text): (&Wish, &str)| read(text).ok_or_else(|| misfit(wish));
        texts().map(change).next_back().unwrap_or_else(|| Err(Absent::told("nothing to be set")))
    };
    match group {
        Group::Dcbx => Some(last(&|text| parse_dcbx(text).map(Change::Dcbx))),
        Group::DcbApp => Some(last(&|text| parse_apps(text).map(Change::DcbApps))),
        _ => kind(group).map(|kind| {
            let patches: Part<Vec<_>> = wishes.iter().map(patch).collect();
            patches.map(|patches| Change::Dcb { kind, patches })
        }),
    }
}

/// Words for `nic set` of a change of some applications: others of the same applications go, and those of `gone`.
#[must_use]
pub fn applications(state: &State, set: &[App], gone: &[App]) -> Option<Wish> {
    let now = match &state.get("dcb-app")?.value {
        Value::Text(text) => parse_apps(text)?,
        _ => return None,
    };
    let stays = |app: &App| !gone.contains(app) && set.iter().all(|one| one.key() != app.key());
    let all: Vec<App> = now.into_iter().filter(stays).chain(set.iter().copied()).collect();
    Some(Wish { name: "dcb-app".to_owned(), value: Value::Text(text_of(&all)) })
}

#[cfg(test)]
mod tests {
    use super::super::state::Tunable;
    use super::super::{Unknown, meant};
    use super::*;
    use crate::adapter::recorded_answers;

    fn state() -> State {
        let ets =
            "010801 3c28000000000000 0000000000000000 0202000000000000 0000000100000000".to_owned() + &"00".repeat(24);
        let pfc = format!("08080000 05000000 {}", "00".repeat(128));
        let text =
            format!("raw hex 00150000\n13 {{\n1 hex {ets}\n2 hex {pfc}\n3 {{\n1 hex 01030689\n}}\n}}\n14 u8 9\n");
        let answer = recorded_answers(&text).unwrap().remove(0);
        let mut state = State::default();
        for row in super::super::table::ROWS.iter().filter(|row| kind(row.group).is_some() || row.form == Form::Dcbx) {
            let plain =
                |value| Tunable { name: row.name.to_owned(), group: row.group, value, fixed: false, waits: false };
            state.all.extend(value(row, &answer).map(plain));
        }
        state
    }

    #[test]
    fn what_a_driver_tells_is_text_in_the_words_of_dcb() {
        let state = state();
        let text = |name: &str| state.get(name).map(|one| one.value.to_string()).unwrap_or_default();
        assert_eq!(text("tc-bw"), "0:60,1:40,2:0,3:0,4:0,5:0,6:0,7:0");
        assert_eq!(text("tc-tsa"), "0:ets,1:ets,2:strict,3:strict,4:strict,5:strict,6:strict,7:strict");
        assert_eq!(text("prio-pfc"), "0:off,1:off,2:off,3:on,4:off,5:off,6:off,7:off");
        let rest = ["ets-willing", "pfc-delay", "dcb-app", "dcbx", "buffer-size"].map(text);
        assert_eq!(rest, ["on", "5", "ethtype 0x8906:3", "host,ieee", ""], "buffers are not there");
    }

    #[test]
    fn what_is_not_said_of_a_map_stays() {
        let state = state();
        let wish = |word: &str| meant(&state, word).map(|mut all| all.remove(0).value.to_string());
        assert_eq!(wish("prio-tc=all:0,4:1"), Ok("0:0,1:0,2:0,3:0,4:1,5:0,6:0,7:0".into()));
        assert_eq!(wish("prio-tc=4:1"), Ok("0:0,1:0,2:0,3:1,4:1,5:0,6:0,7:0".into()));
        assert_eq!(wish("dcb-app=dscp 46:5,ethtype 35078:3"), Ok("ethtype 0x8906:3,dscp 46:5".into()));
        for word in [
            "prio-tc=8:0",
            "prio-tc=0:8",
            "prio-tc=00:1",
            "prio-tc=0",
            "tc-bw=0:101",
            "tc-tsa=0:best",
            "prio-pfc=3:1",
            "buffer-size=all:4294967296",
            "dcb-app=ethtype 1",
            "dcbx=cisco",
            "tc-bw",
        ] {
            assert!(matches!(wish(word), Err(Unknown::Value(..) | Unknown::Bare(..))), "{word}: {:?}", wish(word));
        }
    }

    #[test]
    fn a_change_has_the_bytes_of_the_structure() {
        let text = |name: &str, text: &str| Wish { name: name.to_owned(), value: Value::Text(text.to_owned()) };
        let told = |group, wish: &Wish| build(group, &[wish]).unwrap();
        let patch = |kind, at, bytes: &[u8]| Ok(Change::Dcb { kind, patches: vec![(at, bytes.to_vec())] });
        assert_eq!(told(Group::DcbPfc, &text("prio-pfc", "all:off,3:on,7:on")), patch(PFC, 1, &[0x88]));
        assert_eq!(
            told(Group::DcbEts, &text("tc-tsa", "all:strict,0:ets,7:vendor")),
            patch(ETS, 19, &[2, 0, 0, 0, 0, 0, 0, 255])
        );
        let delay = Wish { name: "pfc-delay".to_owned(), value: Value::Number(0x1234) };
        assert_eq!(told(Group::DcbPfc, &delay), patch(PFC, 4, &0x1234_u16.to_ne_bytes()));
        let rate = [10_000_000_u64, 0, 0, 0, 0, 0, 0, 0].map(u64::to_ne_bytes).concat();
        assert_eq!(told(Group::DcbMaxrate, &text("tc-maxrate", "all:0,0:10000000kbit")), patch(MAXRATE, 0, &rate));
        let sizes = [1_u32, 2, 1, 1, 1, 1, 1, 1].map(u32::to_ne_bytes).concat();
        assert_eq!(told(Group::DcbBuffer, &text("buffer-size", "all:1,1:2")), patch(BUFFER, 8, &sizes));
        assert_eq!(told(Group::Dcbx, &text("dcbx", "host,0x40")), Ok(Change::Dcbx(0x41)));
        let app = App { selector: 5, protocol: 46, priority: 5 };
        assert_eq!(told(Group::DcbApp, &text("dcb-app", "dscp 46:5")), Ok(Change::DcbApps(vec![app])));
        assert_eq!(told(Group::DcbApp, &text("dcb-app", "none")), Ok(Change::DcbApps(Vec::new())));
        let much = Wish { name: "pfc-delay".to_owned(), value: Value::Number(65536) };
        assert!(told(Group::DcbPfc, &much).is_err() && told(Group::DcbEts, &text("tc-bw", "0:1")).is_err());
        assert!(build(Group::Pause, &[]).is_none());
    }

    #[test]
    fn an_application_takes_the_place_of_its_own_alone() {
        let app = |text: &str| App::read(text).unwrap();
        let text = |set: &[App], gone: &[App]| applications(&state(), set, gone).unwrap().value.to_string();
        assert_eq!(text(&[app("ethtype 0x8906:4"), app("default:1")], &[]), "default:1,ethtype 0x8906:4");
        assert_eq!(text(&[app("dscp 46:5")], &[app("ethtype 0x8906:3")]), "dscp 46:5");
        assert_eq!(text(&[], &[app("ethtype 0x8906:3")]), "none");
        assert_eq!(applications(&State::default(), &[], &[]), None);
    }
}

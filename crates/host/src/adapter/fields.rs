//! Fields of netlink answers: numbers and texts of attributes, and tables of named numbers. A field that is too short is
//! not there.

use crate::netlink::message::{attribute, attributes, long, word};
use serde::ser::{Serialize, SerializeMap, Serializer};

/// 8-bit number.
pub(crate) fn byte(answer: &[u8], kind: u16) -> Option<u8> {
    attribute(answer, kind)?.first().copied()
}

/// Truth value in 8 bits.
pub(crate) fn truth(answer: &[u8], kind: u16) -> Option<bool> {
    byte(answer, kind).map(|value| value != 0)
}

/// 32-bit number.
pub(crate) fn whole(answer: &[u8], kind: u16) -> Option<u32> {
    attribute(answer, kind).filter(|value| value.len() >= 4).map(|value| word(value, 0))
}

/// Number of 8, 32 or 64 bits.
pub(crate) fn uint(answer: &[u8], kind: u16) -> Option<u64> {
    attribute(answer, kind).and_then(of_any_size)
}

fn of_any_size(value: &[u8]) -> Option<u64> {
    match value.len() {
        1 => Some(value[0].into()),
        4 => Some(word(value, 0).into()),
        8 => Some(long(value, 0)),
        _ => None,
    }
}

/// Named numbers, in the order of their table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rows(pub Vec<(String, u64)>);

impl Rows {
    /// Numbers of the attributes that a table names.
    pub(crate) fn of(answer: &[u8], table: &[(u16, &str)]) -> Self {
        let rows = table.iter().filter_map(|(kind, name)| Some(((*name).to_owned(), uint(answer, *kind)?)));
        Self(rows.collect())
    }

    /// Numbers of attributes in the answer's order, named by their place in a table.
    pub(crate) fn listed(answer: &[u8], names: &[&str]) -> Self {
        let rows = attributes(answer).filter_map(|(kind, value)| {
            let name =
                names.get(usize::from(kind)).map_or_else(|| format!("counter {kind}"), |name| (*name).to_owned());
            Some((name, of_any_size(value)?))
        });
        Self(rows.collect())
    }

    #[must_use]
    pub fn get(&self, name: &str) -> Option<u64> {
        self.0.iter().find_map(|(one, value)| (one == name).then_some(*value))
    }

    pub fn iter(&self) -> impl Iterator<Item = (&str, u64)> {
        self.0.iter().map(|(name, value)| (name.as_str(), *value))
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Serialize for Rows {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (name, value) in &self.0 {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}

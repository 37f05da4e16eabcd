//! JSON whose fields keep their order, printed with tabs as iperf3 prints it, or in one line.

use serde::ser::{Serialize, SerializeMap, SerializeSeq, Serializer};
use serde_json::ser::Formatter;
use std::io::{self, Write};

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Tree {
    Flag(bool),
    Whole(u64),
    Signed(i64),
    Float(f64),
    Text(String),
    List(Vec<Tree>),
    Fields(Fields),
    Foreign(serde_json::Value),
}

/// Fields of an object, in order.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Fields(Vec<(&'static str, Tree)>);

impl Fields {
    pub(super) fn with(mut self, name: &'static str, value: impl Into<Tree>) -> Self {
        self.add(name, value);
        self
    }

    pub(super) fn add(&mut self, name: &'static str, value: impl Into<Tree>) {
        self.0.push((name, value.into()));
    }

    /// Adds the fields of another object.
    pub(super) fn and(mut self, other: Self) -> Self {
        self.0.extend(other.0);
        self
    }

    /// The same, if these values are known; otherwise those of these names are null.
    pub(super) fn known(mut self, known: bool, names: &[&str]) -> Self {
        for (_, value) in self.0.iter_mut().filter(|(name, _)| !known && names.contains(name)) {
            *value = Tree::Foreign(serde_json::Value::Null);
        }
        self
    }

    pub(super) fn all(&self) -> impl Iterator<Item = (&'static str, &Tree)> {
        self.0.iter().map(|(name, value)| (*name, value))
    }

    /// Gives a field another value.
    pub(super) fn renew(&mut self, name: &str, value: impl Into<Tree>) {
        if let Some((_, old)) = self.0.iter_mut().find(|(known, _)| *known == name) {
            *old = value.into();
        }
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.0.iter().any(|(known, _)| *known == name)
    }
}

macro_rules! from {
    ($($type:ty, $variant:ident;)*) => {
        $(impl From<$type> for Tree {
            fn from(value: $type) -> Self {
                Self::$variant(value)
            }
        })*
    };
}

from! { bool, Flag; u64, Whole; i64, Signed; f64, Float; String, Text; Vec<Tree>, List; Fields, Fields; serde_json::Value, Foreign; }

impl From<&str> for Tree {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<u16> for Tree {
    fn from(n: u16) -> Self {
        Self::Whole(n.into())
    }
}

impl Serialize for Tree {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Flag(value) => to.serialize_bool(*value),
            Self::Whole(value) => to.serialize_u64(*value),
            Self::Signed(value) => to.serialize_i64(*value),
            Self::Float(value) => to.serialize_f64(*value),
            Self::Text(value) => to.serialize_str(value),
            Self::List(values) => {
                let mut list = to.serialize_seq(Some(values.len()))?;
                values.iter().try_for_each(|value| list.serialize_element(value))?;
                list.end()
            }
            Self::Fields(Fields(fields)) => {
                let mut map = to.serialize_map(Some(fields.len()))?;
                fields.iter().try_for_each(|(name, value)| map.serialize_entry(name, value))?;
                map.end()
            }
            Self::Foreign(value) => value.serialize(to),
        }
    }
}

pub(super) fn text(value: &impl Serialize) -> String {
    formatted(value, Tabs::default())
}

/// The text of a value in one line: what would end it is escaped.
pub(super) fn line(value: &impl Serialize) -> String {
    formatted(value, Compact)
}

fn formatted(value: &impl Serialize, formatter: impl Formatter) -> String {
    let mut bytes = Vec::new();
    let mut to = serde_json::Serializer::with_formatter(&mut bytes, formatter);
    // Writing to memory does not fail, and there are no keys but texts.
    let _ = value.serialize(&mut to);
    linerate_text::escaped(&String::from_utf8(bytes).unwrap_or_default())
}

/// Writes a float as cJSON does: one that is whole, without a point.
fn write_float<W: Write + ?Sized>(to: &mut W, value: f64) -> io::Result<()> {
    if value == value.trunc() && value.abs() < 1e15 { write!(to, "{value:.0}") } else { write!(to, "{value}") }
}

/// Layout of cJSON without blanks.
struct Compact;

impl Formatter for Compact {
    fn write_f64<W: Write + ?Sized>(&mut self, to: &mut W, value: f64) -> io::Result<()> {
        write_float(to, value)
    }
}

/// Layout of cJSON: a field a line, behind tabs; elements of a list on one line.
#[derive(Default)]
struct Tabs {
    depth: usize,
}

impl Tabs {
    fn line<W: Write + ?Sized>(&self, to: &mut W) -> io::Result<()> {
        to.write_all(b"\n")?;
        (0..self.depth).try_for_each(|_| to.write_all(b"\t"))
    }
}

impl Formatter for Tabs {
    fn begin_array<W: Write + ?Sized>(&mut self, to: &mut W) -> io::Result<()> {
        self.depth += 1;
        to.write_all(b"[")
    }

    fn end_array<W: Write + ?Sized>(&mut self, to: &mut W) -> io::Result<()> {
        self.depth -= 1;
        to.write_all(b"]")
    }

    fn begin_array_value<W: Write + ?Sized>(&mut self, to: &mut W, first: bool) -> io::Result<()> {
        if first { Ok(()) } else { to.write_all(b", ") }
    }

    fn begin_object<W: Write + ?Sized>(&mut self, to: &mut W) -> io::Result<()> {
        self.depth += 1;
        to.write_all(b"{")
    }

    fn end_object<W: Write + ?Sized>(&mut self, to: &mut W) -> io::Result<()> {
        self.depth -= 1;
        self.line(to)?;
        to.write_all(b"}")
    }

    fn begin_object_key<W: Write + ?Sized>(&mut self, to: &mut W, first: bool) -> io::Result<()> {
        if !first {
            to.write_all(b",")?;
        }
        self.line(to)
    }

    fn begin_object_value<W: Write + ?Sized>(&mut self, to: &mut W) -> io::Result<()> {
        to.write_all(b":\t")
    }

    fn write_f64<W: Write + ?Sized>(&mut self, to: &mut W, value: f64) -> io::Result<()> {
        write_float(to, value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The text that cJSON makes of it.
    #[test]
    fn the_layout_is_that_of_cjson() {
        let inner = |n: u64| Tree::from(Fields::default().with("socket", n).with("x", 0.5));
        let top = Fields::default()
            .with("start", Fields::default().with("connected", vec![inner(5), inner(7)]).with("cookie", "a\"b"))
            .with("intervals", Vec::new())
            .with("end", Fields::default().with("seconds", 2.0).with("lost", -1_i64).with("sender", true));
        let expected = "{\n\t\"start\":\t{\n\t\t\"connected\":\t[{\n\t\t\t\t\"socket\":\t5,\n\t\t\t\t\"x\":\t0.5\n\t\t\t}, \
                        {\n\t\t\t\t\"socket\":\t7,\n\t\t\t\t\"x\":\t0.5\n\t\t\t}],\n\t\t\"cookie\":\t\"a\\\"b\"\n\t},\n\
                        \t\"intervals\":\t[],\n\t\"end\":\t{\n\t\t\"seconds\":\t2,\n\t\t\"lost\":\t-1,\n\
                        \t\t\"sender\":\ttrue\n\t}\n}";
        let line_of_all = "{\"start\":{\"connected\":[{\"socket\":5,\"x\":0.5},{\"socket\":7,\"x\":0.5}],\"cookie\":\"a\\\"b\"},\
                           \"intervals\":[],\"end\":{\"seconds\":2,\"lost\":-1,\"sender\":true}}";
        let top = Tree::from(top);
        assert_eq!((text(&top).as_str(), line(&top).as_str()), (expected, line_of_all));
        assert_eq!(text(&Tree::from(f64::NAN)), "null");
    }
}

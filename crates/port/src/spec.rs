//! The port grammar.
//!
//! ```text
//!   port   = kind ":" name [ "@" queue ] { "," key "=" value }
//!   kind   = cable | vale | xdp | packet | tap | unix | pcap | null        (KINDS)
//!   name   = what the kind wants: an interface, a file, two socket paths, NAME{ID or NAME}ID, SW:PORT
//! ```
//! Sizes take K, M, G (binary for counts and bytes: `slots=1K` is 1024; decimal for bit/s: `rate=10G` is 10^10).
//! Which keys exist is in the kind's row, in [`COMMON`] and in [`WRAPPERS`]: see [`option_rows`].

use crate::error::OpenError;
use crate::kinds::{KINDS, Kind, OptionRow};
use crate::path::shown;
use crate::wrap::WRAPPERS;
use std::collections::BTreeMap;
use std::fmt;

/// Keys that every kind takes.
pub const COMMON: &[OptionRow] = &[
    OptionRow { key: "slots", value: "N", about: "slots of each ring, a power of two from 64 to 65536 (1024)" },
    OptionRow { key: "mtu", value: "BYTES", about: "largest payload of a frame, 64 to 65000 (1500; FCoE: 2180)" },
    OptionRow {
        key: "buf",
        value: "BYTES",
        about: "bytes of a buffer with its headroom, a power of two (from the MTU)",
    },
];

/// All options of a kind: the common ones, those of wrappers, its own.
pub fn option_rows(kind: &Kind) -> impl Iterator<Item = &'static OptionRow> + use<> {
    COMMON.iter().chain(WRAPPERS.iter().map(|wrapper| &wrapper.option)).chain(kind.options)
}

/// Longest port name that is looked at.
const LONGEST: usize = 4096;

/// A port's name, parsed: the kind is known, keys are the kind's; values are checked when it is opened.
#[derive(Clone)]
pub struct Spec {
    /// The row of its kind.
    pub kind: &'static Kind,
    /// What follows the colon, without queue and options.
    pub name: String,
    /// The one queue asked for by `@N`.
    pub queue: Option<u16>,
    text: String,
    options: BTreeMap<&'static str, String>,
    /// The MTU that is meant when none is named.
    unnamed_mtu: u16,
}

impl fmt::Debug for Spec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Spec({})", self.text)
    }
}

impl fmt::Display for Spec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&shown(&self.text))
    }
}

impl Spec {
    /// Parses a port's name.
    pub fn parse(text: &str) -> Result<Self, OpenError> {
        let shown: String = text.chars().take(80).filter(|c| !c.is_control()).collect();
        let oops = |what: String, mend: String| OpenError::usage(format!("port '{shown}'"), what, mend);
        if text.len() > LONGEST || text.contains('\0') {
            return Err(oops("the name is too long or has a NUL".into(), "give KIND:NAME".into()));
        }
        let hint = |otherwise: String| crate::hint::of(text).unwrap_or(otherwise);
        let Some((kind_name, rest)) = text.split_once(':') else {
            let mend = hint(format!("give KIND:NAME, KIND being one of {}", kind_names()));
            return Err(oops("no kind".into(), mend));
        };
        let Some(kind) = KINDS.iter().find(|k| k.name == kind_name) else {
            return Err(oops(
                format!("no kind of port is called '{}'", tidy(kind_name)),
                hint(format!("there are {}", kind_names())),
            ));
        };
        let mut parts = rest.split(',');
        let head = parts.next().unwrap_or_default();
        let (name, queue) = match head.rsplit_once('@') {
            Some((name, digits)) if kind.queue_suffix => match digits.parse::<u16>() {
                Ok(queue) => (name, Some(queue)),
                Err(_) => return Err(oops(format!("queue '@{}' is no number", tidy(digits)), "give @0, @1, …".into())),
            },
            _ => (head, None),
        };
        if name.is_empty() && kind.needs_name {
            return Err(oops("nothing after the colon".into(), format!("write it as {}", kind.example)));
        }
        let mut options = BTreeMap::new();
        for part in parts {
            let (key, value) = part.split_once('=').unwrap_or((part, ""));
            let Some(row) = option_rows(kind).find(|row| row.key == key) else {
                let keys: Vec<_> = option_rows(kind).map(|row| row.key).collect();
                return Err(oops(
                    format!("{}: has no option '{}'", kind.name, tidy(key)),
                    format!("it has {}", keys.join(", ")),
                ));
            };
            if value.is_empty() {
                return Err(oops(format!("option '{key}' has no value"), format!("write {key}={}", row.value)));
            }
            if options.insert(row.key, value.to_owned()).is_some() {
                return Err(oops(format!("option '{key}' stands twice"), "give it once".into()));
            }
        }
        Ok(Self { kind, name: name.to_owned(), queue, text: text.to_owned(), options, unnamed_mtu: 1500 })
    }

    /// Means this MTU when none is named, of kinds that have none of their own: a wish, that yields to the other end's.
    #[must_use]
    pub fn wanting_mtu(self, mtu: u16) -> Self {
        Self { unnamed_mtu: mtu, ..self }
    }

    /// An option's value as it was typed.
    #[must_use]
    pub fn option(&self, key: &str) -> Option<&str> {
        self.options.get(key).map(String::as_str)
    }

    /// A usage error about this port.
    pub fn oops(&self, what: impl fmt::Display, mend: impl fmt::Display) -> OpenError {
        OpenError::usage(&self.text, what, mend)
    }

    /// A number with an optional K, M or G (powers of 1024), inside a range.
    pub fn number(&self, key: &str, default: u64, least: u64, most: u64) -> Result<u64, OpenError> {
        self.scaled(key, 1024, least, most).map(|n| n.unwrap_or(default))
    }

    /// A rate in bit/s with an optional K, M or G (powers of 1000).
    pub fn rate(&self) -> Result<Option<u64>, OpenError> {
        self.scaled("rate", 1000, 1_000, 10_000_000_000_000)
    }

    fn scaled(&self, key: &str, kilo: u64, least: u64, most: u64) -> Result<Option<u64>, OpenError> {
        let Some(text) = self.option(key) else { return Ok(None) };
        let n = scaled(text, kilo).filter(|n| (least..=most).contains(n));
        n.map(Some).ok_or_else(|| {
            self.oops(
                format!("{key}={} will not do", tidy(text)),
                format!("give a number from {least} to {most} (K, M, G may follow)"),
            )
        })
    }

    /// Slots of each ring.
    pub fn slots(&self) -> Result<u32, OpenError> {
        let n = self.number("slots", 1024, 64, 65536)?;
        if !n.is_power_of_two() {
            return Err(self.oops(format!("slots={n} is no power of two"), format!("give {}", n.next_power_of_two())));
        }
        Ok(u32::try_from(n).unwrap_or(65536))
    }

    /// Largest payload of a frame.
    pub fn mtu(&self) -> Result<usize, OpenError> {
        self.number("mtu", self.unnamed_mtu.into(), 64, 65000).map(|n| usize::try_from(n).unwrap_or(1500))
    }

    /// Bytes of a buffer: what was asked for, or the smallest that holds headroom, MTU and 22 bytes of Ethernet and tags.
    pub fn buf_size(&self) -> Result<u32, OpenError> {
        let needed = (linerate_ring::HEADROOM + self.mtu()? + 22).next_power_of_two().min(65536);
        let n = self.number("buf", needed as u64, 512, 65536)?;
        if !n.is_power_of_two() {
            return Err(self.oops(format!("buf={n} is no power of two"), format!("give {}", n.next_power_of_two())));
        }
        Ok(u32::try_from(n).unwrap_or(65536))
    }
}

/// A number with an optional suffix.
fn scaled(text: &str, kilo: u64) -> Option<u64> {
    let (digits, power) = match text.as_bytes().last()? {
        b'k' | b'K' => (&text[..text.len() - 1], 1),
        b'm' | b'M' => (&text[..text.len() - 1], 2),
        b'g' | b'G' => (&text[..text.len() - 1], 3),
        _ => (text, 0),
    };
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    digits.parse::<u64>().ok()?.checked_mul(kilo.pow(power))
}

fn kind_names() -> String {
    KINDS.iter().map(|k| k.name).collect::<Vec<_>>().join(", ")
}

/// User text fit for one line of a terminal.
fn tidy(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(40).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_options_are_told_apart() {
        let s = Spec::parse("cable:lab{1,rate=10G,slots=2K").unwrap();
        assert_eq!((s.kind.name, s.name.as_str()), ("cable", "lab{1"));
        assert_eq!(s.rate().unwrap(), Some(10_000_000_000));
        assert_eq!(s.slots().unwrap(), 2048);
        assert_eq!(s.mtu().unwrap(), 1500);
        assert_eq!(s.buf_size().unwrap(), 2048);
        assert_eq!(Spec::parse("null:,mtu=2180").unwrap().buf_size().unwrap(), 4096);
        let wanting = |name| Spec::parse(name).unwrap().wanting_mtu(2180);
        assert_eq!(["null:", "null:,mtu=1500"].map(|name| wanting(name).mtu().unwrap()), [2180, 1500]);
        assert_eq!(wanting("null:").buf_size().unwrap(), 4096);
    }

    #[test]
    fn whatever_is_wrong_is_named_with_its_mend() {
        for (text, word) in [
            ("", "no kind"),
            ("eth0", "no kind; write xdp:eth0"),
            ("wire:x", "no kind of port is called 'wire'"),
            ("cable:", "nothing after the colon"),
            ("null:,color=red", "no option 'color'"),
            ("null:,slots", "has no value"),
            ("null:,slots=64,slots=64", "stands twice"),
        ] {
            let line = Spec::parse(text).unwrap_err().to_string();
            assert!(line.contains(word) && line.contains("; ") && !line.contains('\n'), "{text}: {line}");
        }
        for (text, word) in
            [("null:,slots=100", "power of two"), ("null:,slots=1", "64 to 65536"), ("null:,slots=9Z", "will not do")]
        {
            let line = Spec::parse(text).unwrap().slots().unwrap_err().to_string();
            assert!(line.contains(word), "{text}: {line}");
        }
        assert!(Spec::parse("null:,slots=99999999999999999999G").unwrap().slots().is_err());
    }
}

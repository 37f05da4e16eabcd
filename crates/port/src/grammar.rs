//! The port grammar.
//!
//! ```text
//!   port   = kind ":" name [ "@" queue ] { "," key "=" value }
//!   kind   = a name of KINDS
//!   name   = what the kind wants: an interface, a file, two socket paths, NAME{ID or NAME}ID, SW:PORT
//! ```
//! A kind and name with `/vi` and a number behind them are that virtual interface of the adapter that runs on the port;
//! this is a kind of its own, without a word for it before the colon.
//! Sizes take K, M, G (binary for counts and bytes: `slots=1K` is 1024; decimal for bit/s: `rate=10G` is 10^10).
//! The keys are those of the kind's row, of [`COMMON`] and of [`WRAPPERS`]: see [`option_rows`].

use crate::error::OpenError;
use crate::hint;
use crate::kind::{Kind, OptionRow, Spec};
use crate::kinds::KINDS;
use crate::switch::INTERFACE;
use crate::wrap::WRAPPERS;
use linerate_text::short;
use std::collections::BTreeMap;

/// Keys that every kind accepts.
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

/// Length in bytes of the longest port name that is parsed.
const LONGEST: usize = 4096;

impl Spec {
    /// Parses a port's name.
    pub fn parse(text: &str) -> Result<Self, OpenError> {
        let shown = short(text, 80);
        let oops = |what: String, mend: String| OpenError::usage(format!("port '{shown}'"), what, mend);
        if text.len() > LONGEST || text.contains('\0') {
            return Err(oops("the name is too long or has a NUL".into(), "give KIND:NAME".into()));
        }
        let hint = |otherwise: String| hint::of(text, kind_names()).unwrap_or(otherwise);
        if let Some(head) = interface(text) {
            return Self::options(&INTERFACE, head, None, text);
        }
        let Some((kind_name, rest)) = text.split_once(':') else {
            let mend = hint(format!("give KIND:NAME, KIND being one of {}", all_kinds()));
            return Err(oops("no kind".into(), mend));
        };
        if kind_name == INTERFACE.name {
            return Err(oops(
                "a virtual interface is named behind its port".into(),
                format!("write it as {}", INTERFACE.example),
            ));
        }
        let Some(kind) = KINDS.iter().find(|k| k.name == kind_name) else {
            return Err(oops(
                format!("no kind of port is called '{}'", short(kind_name, 40)),
                hint(format!("there are {}", all_kinds())),
            ));
        };
        let head = rest.split(',').next().unwrap_or_default();
        let (name, queue) = match head.rsplit_once('@') {
            Some((name, digits)) if kind.queue_suffix => match digits.parse::<u16>() {
                Ok(queue) => (name, Some(queue)),
                Err(_) => {
                    return Err(oops(format!("queue '@{}' is no number", short(digits, 40)), "give @0, @1, …".into()));
                }
            },
            _ => (head, None),
        };
        if name.is_empty() && kind.needs_name {
            return Err(oops("nothing after the colon".into(), format!("write it as {}", kind.example)));
        }
        Self::options(kind, name, queue, text)
    }

    /// The spec of a kind and name, with the options of the text.
    fn options(kind: &'static Kind, name: &str, queue: Option<u16>, text: &str) -> Result<Self, OpenError> {
        let shown = short(text, 80);
        let oops = |what: String, mend: String| OpenError::usage(format!("port '{shown}'"), what, mend);
        let mut options = BTreeMap::new();
        for part in text.split(',').skip(1) {
            let (key, value) = part.split_once('=').unwrap_or((part, ""));
            let Some(row) = option_rows(kind).find(|row| row.key == key) else {
                let keys: Vec<_> = option_rows(kind).map(|row| row.key).collect();
                return Err(oops(
                    format!("{}: has no option '{}'", kind.name, short(key, 40)),
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
        Ok(Self::new(kind, name, queue, text, options))
    }
}

/// The kind and name in a port's text, with `/viN` behind them; None if it names no virtual interface.
fn interface(text: &str) -> Option<&str> {
    let head = text.split(',').next()?;
    let (port, number) = head.rsplit_once("/vi")?;
    let kind = KINDS.iter().find(|kind| Some(kind.name) == port.split_once(':').map(|(kind, _)| kind))?;
    let is_number = (1..=3).contains(&number.len()) && number.bytes().all(|digit| digit.is_ascii_digit());
    (is_number && !kind.is_path && kind.name != INTERFACE.name).then_some(head)
}

fn kind_names() -> impl Iterator<Item = &'static str> {
    KINDS.iter().map(|kind| kind.name).filter(|name| *name != INTERFACE.name)
}

fn all_kinds() -> String {
    kind_names().collect::<Vec<_>>().join(", ")
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
    fn a_virtual_interface_is_named_behind_its_port() {
        for (text, port, number) in [
            ("xdp:eth0/vi5", "xdp:eth0", 5),
            ("packet:veth-1/vi127,queues=2", "packet:veth-1", 127),
            ("cable:lab{1/vi0", "cable:lab{1", 0),
            ("vale:lab:a/vi3", "vale:lab:a", 3),
        ] {
            let spec = Spec::parse(text).unwrap();
            assert_eq!((spec.kind.name, spec.interface()), ("vi", Some((port, number))), "{text}");
        }
        for text in ["pcap:dir/vi5", "unix:/a/b:/c/vi1", "xdp:eth0", "xdp:eth0/vi", "xdp:eth0/vi1234", "xdp:eth0/vi5x"]
        {
            assert_eq!(Spec::parse(text).unwrap().interface(), None, "{text}");
        }
        for text in ["vi:xdp:eth0", "vi:5", "vi:xdp:eth0/vi5"] {
            let line = Spec::parse(text).unwrap_err().to_string();
            assert!(line.contains("write it as PORT/viN"), "{text}: {line}");
        }
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

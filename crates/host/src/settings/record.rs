//! The record: the settings that were changed, and their earlier values. A text file, one change a line, with a
//! checksum at its end.

use super::setting::Key;

/// Version of the format, raised when the meaning of a record changes.
const SCHEMA: &str = "1";
const MAGIC: &str = "linerate-settings";

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Change {
    pub(super) index: u32,
    pub(super) interface: String,
    pub(super) key: Key,
    /// Value before the first change.
    pub(super) before: String,
    /// Values that were set, each listed once. One of them may not have been set yet.
    pub(super) set: Vec<String>,
}

/// All changes of a process in a network namespace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Record {
    /// Boot id under which the record was written.
    pub(super) boot: String,
    /// Inode number of the network namespace.
    pub(super) net: u64,
    /// Changes, in the order in which they were first made.
    pub(super) changes: Vec<Change>,
}

impl Record {
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut text = format!("{MAGIC}\t{SCHEMA}\nboot\t{}\nnet\t{}\n", escape(&self.boot), self.net);
        for Change { index, interface, key, before, set } in &self.changes {
            let (kind, name) = key.words();
            let words = [kind, name, before].into_iter().chain(set.iter().map(String::as_str)).map(escape);
            let words: Vec<_> = words.collect();
            text += &format!("change\t{index}\t{}\t{}\n", escape(interface), words.join("\t"));
        }
        text += &format!("end\t{:016x}\n", sum(text.as_bytes()));
        text.into_bytes()
    }

    /// Decodes a file's contents, or says why they are refused.
    pub(super) fn decode(bytes: &[u8]) -> Result<Self, &'static str> {
        const DAMAGED: &str = "it is damaged or cut off";
        let text = std::str::from_utf8(bytes).map_err(|_| "it is no record")?;
        let schema = text.strip_prefix(MAGIC).and_then(|rest| rest.strip_prefix('\t')).ok_or("it is no record")?;
        if schema.split_once('\n').ok_or(DAMAGED)?.0 != SCHEMA {
            return Err("it was written by another version");
        }
        let at = text.rfind("end\t").ok_or(DAMAGED)?;
        let (body, end) = text.split_at(at);
        if end != format!("end\t{:016x}\n", sum(body.as_bytes())) {
            return Err(DAMAGED);
        }
        Self::parse(body).ok_or(DAMAGED)
    }

    fn parse(body: &str) -> Option<Self> {
        let mut lines = body.lines().skip(1);
        let boot = unescape(lines.next()?.strip_prefix("boot\t")?)?;
        let net = lines.next()?.strip_prefix("net\t")?.parse().ok()?;
        let change = |line: &str| {
            let words: Option<Vec<_>> = line.strip_prefix("change\t")?.split('\t').map(unescape).collect();
            let words = words?;
            let [index, interface, kind, name, before, set @ ..] = words.as_slice() else { return None };
            Some(Change {
                index: index.parse().ok()?,
                interface: interface.clone(),
                key: Key::of_words(kind, name)?,
                before: before.clone(),
                set: set.to_vec(),
            })
        };
        Some(Self { boot, net, changes: lines.map(change).collect::<Option<_>>()? })
    }
}

/// FNV-1a checksum: it detects a damaged record, not a forged one.
fn sum(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |sum, byte| (sum ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

/// Escapes tabs and line breaks, which separate words and lines.
fn escape(word: &str) -> String {
    word.replace('%', "%25").replace('\t', "%09").replace('\n', "%0A").replace('\r', "%0D")
}

fn unescape(word: &str) -> Option<String> {
    let mut parts = word.split('%');
    let mut text = parts.next()?.to_owned();
    for part in parts {
        let (code, rest) = part.split_at_checked(2)?;
        text.push(match code {
            "25" => '%',
            "09" => '\t',
            "0A" => '\n',
            "0D" => '\r',
            _ => return None,
        });
        text += rest;
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(crate) fn sample() -> Record {
        let change = |key, before: &str, set: &[&str]| Change {
            index: 7,
            interface: "va%\u{e9}".into(),
            key,
            before: before.into(),
            set: set.iter().map(|&value| value.into()).collect(),
        };
        Record {
            boot: "6a1e".into(),
            net: 4_026_531_840,
            changes: vec![
                change(Key::Mtu, "1500", &["9000", "4000"]),
                change(Key::Feature("rx-gro".into()), "on", &["off"]),
                change(Key::Up, "on", &["off"]),
                change(Key::Channels, "0 0 4", &["0 0 2"]),
                change(Key::File("queues/rx-0/rps_cpus".into()), "", &["a\tb\nc\r"]),
            ],
        }
    }

    #[test]
    fn what_is_written_is_read() {
        let record = sample();
        assert_eq!(Record::decode(&record.encode()), Ok(record));
    }

    #[test]
    fn what_is_cut_off_or_bent_anywhere_is_not_taken() {
        let whole = sample().encode();
        for end in 0..whole.len() {
            assert!(Record::decode(&whole[..end]).is_err(), "cut at {end}");
        }
        for at in 0..whole.len() {
            for bit in 0..8 {
                let mut bent = whole.clone();
                bent[at] ^= 1 << bit;
                assert!(Record::decode(&bent).is_err(), "bit {bit} of byte {at}");
            }
        }
        let more = [&whole[..], b"change\t1\tx\tmtu\t\t1\t2\n"].concat();
        assert!(Record::decode(&more).is_err(), "with more behind it");
        let later = String::from_utf8(whole).unwrap().replacen("settings\t1", "settings\t2", 1);
        assert_eq!(Record::decode(later.as_bytes()), Err("it was written by another version"));
        assert_eq!(Record::decode(b"linerate"), Err("it is no record"));
        assert_eq!(Record::decode(&[0xff; 9]), Err("it is no record"));
    }
}

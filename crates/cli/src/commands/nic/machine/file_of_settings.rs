//! The file with an interface's settings: TOML with a table of names and values. It is refused as a whole, with the
//! line, if anything in it is wrong.

use linerate_host::Driver;
use linerate_host::tunables::{Tunable, Value, Wish};
use linerate_result::Timestamp;
use linerate_text::one_line;
use std::fs::File;
use std::io::Read;
use std::path::Path;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Longest file: RSS's table has some thousand entries, and all else a hundred lines.
const LONGEST: u64 = 1 << 20;
const SCHEMA: &str = "linerate.nic.settings";
const VERSION: &str = "1";

/// Text of a file.
pub(super) fn write(interface: &str, driver: &Driver, settings: &[&Tunable]) -> String {
    let word = |part: &Option<String>, unknown: &str| part.clone().unwrap_or_else(|| unknown.to_owned());
    let firmware = driver.firmware.as_ref().map(|version| format!(", firmware {version}")).unwrap_or_default();
    let comment = format!(
        "Settings of {interface}: driver {} {}{firmware}; saved {} by linerate {}.",
        word(&driver.name, "not known"),
        word(&driver.version, ""),
        Timestamp::now().readable(),
        env!("CARGO_PKG_VERSION"),
    );
    let mut text = format!("# {}\n", one_line(&comment));
    text += &format!("schema = \"{SCHEMA}\"\nversion = {VERSION}\n\n[settings]\n");
    for one in settings {
        let value = match &one.kept() {
            Value::On(on) => on.to_string(),
            Value::Number(number) => number.to_string(),
            Value::Text(text) => quoted(text),
        };
        text += &format!("{} = {value}\n", key(&one.name));
    }
    text
}

fn key(name: &str) -> String {
    let bare = |b: u8| b.is_ascii_alphanumeric() || b == b'-' || b == b'_';
    if !name.is_empty() && name.bytes().all(bare) { name.to_owned() } else { quoted(name) }
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", one_line(text).replace('\\', "\\\\").replace('"', "\\\""))
}

/// Settings of a file; one line if it is wrong.
pub(super) fn read(path: &Path) -> Result<Vec<Wish>, String> {
    let mut bytes = Vec::new();
    let opened = File::open(path).and_then(|file| file.take(LONGEST + 1).read_to_end(&mut bytes));
    opened.map_err(|e| format!("{e}; give a file that 'linerate nic save' wrote"))?;
    if bytes.len() as u64 > LONGEST {
        return Err(format!("it is longer than {LONGEST} bytes; give a file that 'linerate nic save' wrote"));
    }
    let text = String::from_utf8(bytes).map_err(|e| {
        let line = lines(&e.as_bytes()[..e.utf8_error().valid_up_to()]);
        format!("line {line}: it is no UTF-8; write it as text")
    })?;
    parse(&text)
}

fn lines(before: &[u8]) -> usize {
    1 + before.iter().filter(|b| **b == b'\n').count()
}

fn parse(text: &str) -> Result<Vec<Wish>, String> {
    let wrong = |at: usize, what: &str| {
        let line = lines(&text.as_bytes()[..at.min(text.len())]);
        format!("line {line}: {}", one_line(what))
    };
    let table = DeTable::parse(text).map_err(|e| wrong(e.span().map_or(0, |span| span.start), e.message()))?;
    let table = table.into_inner();
    let whole = |name: &str, fits: &dyn Fn(&DeValue<'_>) -> bool, mend: &str| match table.get(name) {
        Some(value) if fits(value.get_ref()) => Ok(()),
        Some(value) => Err(wrong(value.span().start, &format!("{name}: {mend}"))),
        None => Err(wrong(0, &format!("{name} is missing; {mend}"))),
    };
    whole(
        "schema",
        &|value| value.as_str() == Some(SCHEMA),
        &format!("it is \"{SCHEMA}\" in files of 'linerate nic save'"),
    )?;
    whole("version", &|value| number(value) == Some(1), &format!("this linerate reads version {VERSION}"))?;
    let known = ["schema", "version", "settings"];
    if let Some((key, _)) = table.iter().find(|(key, _)| !known.contains(&key.get_ref().as_ref())) {
        return Err(wrong(
            key.span().start,
            &format!("{}: no such key; there are {}", key.get_ref(), known.join(", ")),
        ));
    }
    let settings = table.get("settings").and_then(|settings| settings.get_ref().as_table());
    let settings = settings.ok_or_else(|| wrong(0, "the table [settings] is missing"))?;
    let wish = |(key, value): (&Spanned<std::borrow::Cow<'_, str>>, &Spanned<DeValue<'_>>)| {
        let name = key.get_ref();
        let kept = match value.get_ref() {
            DeValue::Boolean(on) => Some(Value::On(*on)),
            DeValue::String(text) => Some(Value::Text(text.to_string())),
            other => number(other).map(Value::Number),
        };
        kept.and_then(|value| Wish::kept(name, &value)).ok_or_else(|| {
            let values = Wish::values(name).replace("on or off", "true or false");
            wrong(value.span().start, &format!("{name}: that is no value of it; give {values}"))
        })
    };
    settings.iter().map(wish).collect()
}

fn number(value: &DeValue<'_>) -> Option<u64> {
    let integer = value.as_integer()?;
    u64::from_str_radix(integer.as_str(), integer.radix()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "# x\nschema = \"linerate.nic.settings\"\nversion = 1\n[settings]\n";

    #[test]
    fn a_wrong_file_is_refused_with_its_line() {
        for (rows, line, word) in [
            ("mtu = true\n", 5, "a number"),
            ("mtu = 1500\nup = 1\n", 6, "true or false"),
            ("mtu = 1500\n\nmtu = 1400\n", 7, "duplicate"),
            ("mtu = -5\n", 5, "a number"),
            ("mtu = 99999999999\n", 5, "a number"),
            ("duplex = \"both\"\n", 5, "half, full"),
            ("fec = \"rs,best\"\n", 5, "baser"),
            ("rss = \"0,1,x\"\n", 5, "queues"),
            ("mtu = [1]\n", 5, "a number"),
            ("mtu 1500\n", 5, ""),
            ("[other]\n", 5, "no such key"),
            ("\"\" = true\n", 5, ""),
        ] {
            let told = parse(&format!("{HEAD}{rows}")).unwrap_err();
            assert!(told.starts_with(&format!("line {line}: ")) && told.contains(word), "{rows}: {told}");
            assert!(!told.contains('\n'), "{told}");
        }
        let told = parse(&HEAD.replace("= 1", "= 2")).unwrap_err();
        assert!(told.starts_with("line 3: version: "), "{told}");
        assert!(parse(&HEAD.replace("nic", "nice")).unwrap_err().starts_with("line 2: schema: "));
        assert!(parse("version = 1\n").unwrap_err().contains("schema is missing"));
        assert!(parse("").is_err());
    }

    #[test]
    fn what_is_written_is_read() {
        let wanted = [
            ("mtu", Value::Number(9000)),
            ("net.ipv4.tcp_rmem", Value::Text("4096 131072 6291456".into())),
            ("private.odd \"name\\", Value::On(false)),
            ("rss", Value::Text("0,0,1".into())),
            ("up", Value::On(true)),
        ];
        let rows: String = wanted
            .iter()
            .map(|(name, value)| {
                let value = match value {
                    Value::On(on) => on.to_string(),
                    Value::Number(number) => number.to_string(),
                    Value::Text(text) => quoted(text),
                };
                format!("{} = {value}\n", key(name))
            })
            .collect();
        let read = parse(&format!("{HEAD}{rows}")).unwrap();
        let mut wanted: Vec<_> = wanted.map(|(name, value)| Wish { name: name.into(), value }).into();
        wanted.sort_by(|one, other| one.name.cmp(&other.name));
        assert_eq!(read, wanted);
    }
}

//! Words of a command line that somebody types into a shell (POSIX.1-2024, XCU 2.2): names of interfaces and files may have any
//! bytes, which are to be no commands, expansions or options.

use linerate_text::drives;
use std::ffi::OsStr;
use std::fmt::Write;
use std::os::unix::ffi::OsStrExt;

/// A word that is that text, in quotes if a shell would take it for more.
#[must_use]
pub fn word(text: impl AsRef<OsStr>) -> String {
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"_@%+:,./-".contains(byte);
    match std::str::from_utf8(text.as_ref().as_bytes()) {
        Ok(plainly) if !plainly.is_empty() && plainly.as_bytes().iter().all(plain) => plainly.to_owned(),
        _ => quoted(text),
    }
}

/// Likewise, in quotes whatever it is.
#[must_use]
pub fn quoted(text: impl AsRef<OsStr>) -> String {
    let bytes = text.as_ref().as_bytes();
    match std::str::from_utf8(bytes) {
        Ok(text) if !text.contains(drives) => format!("'{}'", text.replace('\'', r"'\''")),
        _ => escaped(bytes),
    }
}

/// A word with the escapes of a dollar and single quotes: no line ends in it, and nothing in it drives a terminal.
fn escaped(bytes: &[u8]) -> String {
    bytes.iter().fold("$'".to_owned(), |mut text, byte| {
        match byte {
            b'\'' | b'\\' => text.extend(['\\', char::from(*byte)]),
            b' '..=b'~' => text.push(char::from(*byte)),
            // Three digits: what follows may be one.
            _ => _ = write!(text, "\\{byte:03o}"),
        }
        text
    }) + "'"
}

/// An operand of a program that takes what begins with a dash for an option.
#[must_use]
pub fn operand(text: impl AsRef<OsStr>) -> String {
    let dash = if text.as_ref().as_bytes().starts_with(b"-") { "-- " } else { "" };
    format!("{dash}{}", word(text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    /// Words of a line, as a shell reads them.
    fn read(shell: &str, line: &str) -> Vec<Vec<u8>> {
        let out = Command::new(shell).args(["-c", &format!("printf '%s\\0' {line}")]).output().unwrap();
        assert!(out.status.success(), "{line}: {out:?}");
        let text = out.stdout.strip_suffix(b"\0").unwrap();
        text.split(|byte| *byte == 0).map(<[u8]>::to_vec).collect()
    }

    #[test]
    fn a_shell_reads_each_word_as_it_was() {
        let hostile = [
            "eth0", "eth0.5", "$(id)", ";reboot", "-x", "--", "'", "''", "a'b", "\"", "`id`", "\\", "\\n", "~",
            "~root", "#x", "a#b", "*", "?", "[a]", "{a,b}", "!!", "a=b", "&", "|", ">x", "<x", "$HOME", "(", "", " ",
            "a b", "a  b", "é", "日本",
        ];
        let line: Vec<String> = hostile.iter().map(word).collect();
        assert_eq!(read("sh", &line.join(" ")), hostile.map(|one| one.as_bytes().to_vec()));
        assert_eq!(read("sh", &hostile.map(quoted).join(" ")), hostile.map(|one| one.as_bytes().to_vec()));
        // Every byte but zero, alone and between others.
        let all: Vec<Vec<u8>> = (1..=255_u8).flat_map(|byte| [vec![byte], vec![b'a', byte, b'7']]).collect();
        let words: Vec<String> = all.iter().map(|one| word(OsStr::from_bytes(one))).collect();
        assert!(words.iter().all(|word| !word.contains(drives)), "{words:?}");
        assert_eq!(word("a\u{202e}b"), r"$'a\342\200\256b'");
        // Older shells, as dash, have no such escapes.
        if linerate_skip::is_installed("bash") {
            assert_eq!(read("bash", &words.join(" ")), all);
        }
        assert_eq!([operand("eth0"), operand("-x"), operand("-'")], ["eth0", "-- -x", "-- '-'\\'''"]);
    }
}

//! Names of files inside texts. A port's name, a LUN's device and a flag's value are text, but a file's name on Unix is
//! any sequence of bytes: those that are not UTF-8 become characters of a private plane, one each, and are restored by
//! [`from_text`].
//!
//! Words of a command line are converted by [`to_text`]; a file named by such a text is opened by [`from_text`].

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

/// The character that stands for byte 0, in a range that Unicode leaves to private use (plane 16).
const BASE: u32 = 0x10_fe00;

fn character(byte: u8) -> char {
    char::from_u32(BASE + u32::from(byte)).unwrap_or(char::REPLACEMENT_CHARACTER)
}

/// The byte that a character stands for. ASCII bytes are always valid UTF-8, and are never represented so.
fn byte(c: char) -> Option<u8> {
    u8::try_from(u32::from(c).checked_sub(BASE)?).ok().filter(|byte| *byte >= 0x80)
}

/// File name as text, without loss. A character of the private range is itself converted byte by byte.
#[must_use]
pub fn to_text(bytes: &OsStr) -> String {
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.as_bytes().utf8_chunks() {
        for c in chunk.valid().chars() {
            match byte(c) {
                None => text.push(c),
                Some(_) => text.extend(c.encode_utf8(&mut [0; 4]).bytes().map(character)),
            }
        }
        text.extend(chunk.invalid().iter().copied().map(character));
    }
    text
}

/// Path that a text names.
#[must_use]
pub fn from_text(text: &str) -> PathBuf {
    let mut bytes = Vec::with_capacity(text.len());
    for c in text.chars() {
        match byte(c) {
            None => bytes.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
            Some(byte) => bytes.push(byte),
        }
    }
    OsString::from_vec(bytes).into()
}

/// Text for display: bytes that are not UTF-8 appear as replacement characters.
#[must_use]
pub fn shown(text: &str) -> String {
    text.chars().map(|c| if byte(c).is_some() { char::REPLACEMENT_CHARACTER } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_bytes_come_back_as_they_were() {
        let private = to_text(OsStr::from_bytes(b"\xff"));
        let mut names: Vec<Vec<u8>> = (0..=255).map(|byte| vec![byte]).collect();
        names.extend([
            b"".to_vec(),
            "caf\u{e9} \u{1f600}".into(),
            b"caf\xe9.pcap".to_vec(),
            b"\xf0\x9f\x98".to_vec(),
            // A name that contains such a character itself.
            private.clone().into(),
            [private.as_bytes(), b"\xff\x80a"].concat(),
        ]);
        for name in names {
            let text = to_text(OsStr::from_bytes(&name));
            assert_eq!(from_text(&text).as_os_str().as_bytes(), name);
            assert_eq!(text.is_ascii(), name.is_ascii());
        }
        assert_eq!(to_text(OsStr::new("plain \u{e9}")), "plain \u{e9}");
        assert_eq!(shown(&to_text(OsStr::from_bytes(b"a\xe9"))), "a\u{fffd}");
    }
}

//! `--auth`: secrets of ports, in a file that nobody but its owner can read.

use crate::trouble::Trouble;
use clap::Args;
use linerate_fcoe::{AuthConfig, Secret};
use linerate_text::unhex;
use linerate_wire::Wwn;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Longest file, in bytes.
const LONGEST: u64 = 1 << 20;
/// Bits of a file's mode that let others than its owner use it.
const OTHERS: u32 = 0o077;

/// Secrets of an initiator.
#[derive(Args)]
pub(super) struct InitiatorSecrets {
    /// Prove our name to targets (DH-CHAP, FC-SP-2) with the secret that stands in this file as `own SECRET`; a target whose
    /// name stands there, as `WWPN SECRET`, must prove its own. A secret has 12 to 128 characters without spaces, or as many
    /// bytes as 0x and hexadecimal digits; nobody but its owner may read the file (chmod 600).
    #[arg(long, value_name = "FILE", value_parser = crate::commands::shared::file)]
    auth: Option<PathBuf>,
}

impl InitiatorSecrets {
    pub(super) fn read(&self) -> Result<Option<AuthConfig>, Trouble> {
        let Some(path) = &self.auth else { return Ok(None) };
        let config = read(path)?;
        if config.own.is_none() {
            return Err(Trouble::usage(format!(
                "{}: it has no secret of our own: write a line own SECRET",
                path.display()
            )));
        }
        Ok(Some(config))
    }
}

/// Reads a file of secrets.
pub(super) fn read(path: &Path) -> Result<AuthConfig, Trouble> {
    text_of(path).and_then(|text| parse(&text)).map_err(|why| Trouble::usage(format!("{}: {why}", path.display())))
}

fn text_of(path: &Path) -> Result<String, String> {
    let open = |e: std::io::Error| format!("{e}; give a file that can be read");
    let file = std::fs::File::open(path).map_err(open)?;
    let about = file.metadata().map_err(open)?;
    if !about.is_file() {
        return Err("it is no file: secrets are read from a file, whose mode says who can read them".into());
    }
    let mode = about.permissions().mode() & 0o777;
    if mode & OTHERS != 0 {
        return Err(format!("its mode is {mode:03o}, and others can use it: chmod 600 it, and change the secrets"));
    }
    if about.len() > LONGEST {
        return Err(format!("it is longer than {LONGEST} bytes: give a file of secrets"));
    }
    let mut text = String::new();
    file.take(LONGEST).read_to_string(&mut text).map_err(open)?;
    Ok(text)
}

fn parse(text: &str) -> Result<AuthConfig, String> {
    let mut config = AuthConfig::default();
    let mut lines = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let wrong = |what: &str| format!("line {number}: {what}");
        let mut words = line.split_whitespace();
        let Some(name) = words.next().filter(|word| !word.starts_with('#')) else { continue };
        let (Some(secret), None) = (words.next(), words.next()) else {
            return Err(wrong(
                "write a name and a secret without spaces, as 20:00:52:54:00:00:00:01 SECRET, or own SECRET",
            ));
        };
        let secret = bytes(secret).map_err(wrong)?;
        // What stands there may be a secret in the wrong place: it is not shown.
        let before = match name {
            "own" => config.own.replace(secret).is_some(),
            name => {
                let name: Wwn = name.parse().map_err(|_| {
                    wrong("its first word is no name: write it as 20:00:52:54:00:00:00:01, or own for our own secret")
                })?;
                lines.push((number, name));
                config.names.insert(name, secret).is_some()
            }
        };
        if before {
            return Err(wrong("this name has a secret above: leave one of them"));
        }
    }
    // Otherwise whoever is asked for a proof could have it made by us.
    let as_own = |name: &Wwn| config.own.is_some() && config.names.get(name) == config.own.as_ref();
    match lines.iter().find(|(_, name)| as_own(name)) {
        Some((number, _)) => Err(format!("line {number}: its secret is our own, too: give each name another")),
        None if config.own.is_none() && config.names.is_empty() => {
            Err("it has no secrets: write lines as 20:00:52:54:00:00:00:01 SECRET, or own SECRET".into())
        }
        None => Ok(config),
    }
}

/// A secret: characters that can be seen, or 0x and hexadecimal digits.
fn bytes(word: &str) -> Result<Secret, &'static str> {
    let bytes = match word.strip_prefix("0x") {
        Some(digits) => unhex(digits).ok_or("its secret begins with 0x: go on with pairs of hexadecimal digits")?,
        None if word.bytes().all(|byte| byte.is_ascii_graphic()) => word.as_bytes().to_vec(),
        None => return Err("its secret has characters outside ASCII: write it as 0x and hexadecimal digits"),
    };
    Secret::new(&bytes).ok_or("its secret is too short or too long: give 12 to 128 characters, or bytes behind 0x")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_read_line_by_line_and_show_no_secret() {
        let config = parse(
            "# of the SAN\n\nown 0x000102030405060708090a0b\n  20:00:00:00:00:00:00:01\tabcdefghijkl \n\
             20:00:00:00:00:00:00:02 abcdefghijkl\n",
        );
        let config = config.unwrap();
        let secret = |bytes: &[u8]| Secret::new(bytes).unwrap();
        assert!(config.own.unwrap() == secret(&[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]));
        let [one, two] = [1, 2].map(|last| config.names[&Wwn(0x2000_0000_0000_0000 + last)].clone());
        assert!(one == secret(b"abcdefghijkl") && one == two, "names may have one secret together");
        for (text, why) in [
            ("", "it has no secrets"),
            ("# own abcdefghijkl", "it has no secrets"),
            ("own", "line 1: write a name and a secret"),
            ("own abcdefghijkl mnopqr", "line 1: write a name and a secret"),
            ("\nabcdefghijkl own", "line 2: its secret is too short or too long"),
            ("\nabcdefghijkl abcdefghijkl", "line 2: its first word is no name"),
            ("own abcdefghijk", "line 1: its secret is too short or too long: give 12 to 128 characters"),
            ("own 0x0102030405060708090a0", "line 1: its secret begins with 0x"),
            ("own abcdefghijkl\u{e4}", "line 1: its secret has characters outside ASCII"),
            ("own abcdefghijkl\nown abcdefghijkm", "line 2: this name has a secret above"),
            ("own abcdefghijkl\n\n20:00:00:00:00:00:00:01 abcdefghijkl", "line 3: its secret is our own"),
        ] {
            let wrong = parse(text).unwrap_err();
            assert!(wrong.starts_with(why), "{text}: {wrong}");
            assert!(!wrong.contains("abcdefg"), "{wrong}");
        }
        assert!(parse(&format!("own {}", "x".repeat(129))).is_err());
    }

    #[test]
    fn files_that_others_can_read_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("secrets");
        std::fs::write(&path, "own abcdefghijkl\n").unwrap();
        for (mode, good) in [(0o600, true), (0o400, true), (0o640, false), (0o604, false), (0o620, false)] {
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
            assert_eq!(read(&path).is_ok(), good, "{mode:o}");
        }
        let why = read(&path).unwrap_err().to_string();
        assert!(why.contains("its mode is 620, and others can use it: chmod 600"), "{why}");
        assert!(read(dir.path()).unwrap_err().to_string().contains("it is no file"));
    }
}

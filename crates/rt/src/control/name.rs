//! Files of control sockets: what process a file is of.
//!
//! A name may be any text (`packet:eth0,queues=2`, `pcap:/tmp/x`), a file's name may not, and a socket's path has 107
//! bytes at most. So bytes that are unusual in files are written as `%2F`, and a name that is too long is cut and gets
//! its hash behind a `~`, which stands for nothing else; who wants to know it asks the process.

use crate::sys::socket::MOST_PATH;
use std::fmt::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

const END: &str = ".sock";
/// Bytes of a hash, and the sign before it.
const HASH: usize = 17;

fn prefix(kind: &str) -> String {
    format!("control-{kind}-")
}

pub(super) fn path(dir: &Path, kind: &str, name: &str) -> PathBuf {
    let (prefix, mut file) = (prefix(kind), encoded(name));
    let room = MOST_PATH.saturating_sub(dir.as_os_str().as_bytes().len() + 1 + prefix.len() + END.len());
    if file.len() > room {
        // All of it is ASCII by now. Cut within a `%2F`, it is still no other name: that is what the hash is for.
        file.truncate(room.saturating_sub(HASH));
        // A write to a string cannot fail.
        let _ = write!(file, "~{:016x}", hash(name));
    }
    dir.join(format!("{prefix}{file}{END}"))
}

/// The process's name that a file's name stands for.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Named {
    /// This name.
    As(String),
    /// A name that was too long: the process knows it.
    Cut,
}

/// Name that a file of the directory stands for, if it is a socket of this kind.
pub(super) fn of_file(kind: &str, file: &str) -> Option<Named> {
    let name = file.strip_prefix(&prefix(kind))?.strip_suffix(END)?;
    if name.contains('~') { Some(Named::Cut) } else { decoded(name).map(Named::As) }
}

fn encoded(name: &str) -> String {
    let mut text = String::with_capacity(name.len());
    for byte in name.bytes() {
        if byte.is_ascii_alphanumeric() || b"._+-:,=@".contains(&byte) {
            text.push(char::from(byte));
        } else {
            let _ = write!(text, "%{byte:02X}");
        }
    }
    text
}

fn decoded(text: &str) -> Option<String> {
    let (mut bytes, mut rest) = (Vec::new(), text.as_bytes());
    while let [first, behind @ ..] = rest {
        rest = behind;
        if *first != b'%' {
            bytes.push(*first);
            continue;
        }
        let (two, behind) = rest.split_at_checked(2)?;
        bytes.push(u8::from_str_radix(std::str::from_utf8(two).ok()?, 16).ok()?);
        rest = behind;
    }
    String::from_utf8(bytes).ok()
}

/// FNV-1a, 64 bits: the same in every build, which the standard library's hashes are not.
fn hash(name: &str) -> u64 {
    name.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_name_is_a_file_and_comes_back() {
        for name in ["lab", "xdp:eth0,queues=2", "pcap:/tmp/a b%2F", "a/../../b", "..", "cable:x{1", "ä~\n", "", "n#2"]
        {
            let path = path(Path::new("/run/x"), "stack", name);
            assert_eq!(path.parent(), Some(Path::new("/run/x")), "{name}");
            let file = path.file_name().unwrap().to_str().unwrap();
            assert_eq!(of_file("stack", file), Some(Named::As(name.to_owned())), "{file}");
            assert_eq!(of_file("switch", file), None);
        }
        for strange in ["control-stack-%2.sock", "control-stack-%zz.sock", "control-stack-%ff.sock", "switch-lab.sock"]
        {
            assert_eq!(of_file("stack", strange), None);
        }
    }

    #[test]
    fn a_long_name_has_a_path_of_its_own_that_a_socket_can_have() {
        let long = "x".repeat(300);
        let paths =
            [format!("{long}a"), format!("{long}b")].map(|name| path(Path::new("/run/user/1000"), "stack", &name));
        assert_ne!(paths[0], paths[1]);
        for path in paths {
            assert_eq!(path.as_os_str().len(), MOST_PATH);
            assert_eq!(of_file("stack", path.file_name().unwrap().to_str().unwrap()), Some(Named::Cut));
        }
    }
}

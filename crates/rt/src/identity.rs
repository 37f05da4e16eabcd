//! Names that are the same at each start: of this host, and of what it has.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// Files with the identifier of the system's installation: machine-id(5), and D-Bus' where there is no systemd.
const MACHINE: [&str; 2] = ["/etc/machine-id", "/var/lib/dbus/machine-id"];

/// Hash of a name on this host: the same at each start, and not that of the same name on another host.
#[must_use]
pub fn host_hash(name: &[u8]) -> u64 {
    static HOST: OnceLock<String> = OnceLock::new();
    let host = HOST.get_or_init(|| host(&MACHINE.map(Path::new), state_directory().as_deref()));
    hash(&[host.as_bytes(), b"\0", name].concat())
}

/// FNV-1a hash of a name (IETF draft-eastlake-fnv): the same on all hosts.
#[must_use]
pub fn hash(name: &[u8]) -> u64 {
    name.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3))
}

/// Identifier of this host: the system's, or else one that is drawn once and kept in the state directory. Where nothing can
/// be kept, the host's name must do.
fn host(machine: &[&Path], state: Option<&Path>) -> String {
    let read = |path: &Path| {
        let text = std::fs::read_to_string(path).ok()?.trim().to_owned();
        (!text.is_empty() && text != "uninitialized").then_some(text)
    };
    machine
        .iter()
        .find_map(|path| read(path))
        .or_else(|| {
            let path = state?.join("host-id");
            read(&path).or_else(|| {
                draw(&path)?;
                read(&path)
            })
        })
        .unwrap_or_else(|| read(Path::new("/proc/sys/kernel/hostname")).unwrap_or_default())
}

/// Writes a new identifier, unless another process was faster.
fn draw(path: &Path) -> Option<()> {
    std::fs::create_dir_all(path.parent()?).ok()?;
    if let Ok(mut file) = OpenOptions::new().write(true).create_new(true).open(path) {
        writeln!(file, "{:016x}{:016x}", crate::random(), crate::random()).ok()?;
    }
    Some(())
}

/// The directory for what is kept from one start to the next: that of a systemd service, or `linerate` in the user's state
/// directory (XDG Base Directory Specification).
pub(crate) fn state_directory() -> Option<PathBuf> {
    let absolute = |name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    absolute("STATE_DIRECTORY")
        .or_else(|| Some(absolute("XDG_STATE_HOME")?.join("linerate")))
        .or_else(|| Some(absolute("HOME")?.join(".local/state/linerate")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_the_same_at_each_start() {
        let dir = tempfile::tempdir().unwrap();
        let (machine, state) = (dir.path().join("machine-id"), dir.path().join("state/linerate"));
        let drawn = host(&[&machine], Some(&state));
        assert_eq!((drawn.len(), host(&[&machine], Some(&state))), (32, drawn.clone()));
        let other = dir.path().join("other");
        assert_ne!(host(&[&machine], Some(&other)), drawn, "another host");
        std::fs::write(&machine, "uninitialized\n").unwrap();
        assert_eq!(host(&[&machine], Some(&state)), drawn, "an image before its first start");
        std::fs::write(&machine, "0123456789abcdef0123456789abcdef\n").unwrap();
        assert_eq!(host(&[&machine], Some(&state)), "0123456789abcdef0123456789abcdef");
        let file = dir.path().join("file");
        std::fs::write(&file, "").unwrap();
        assert_eq!(host(&[], Some(&file)), host(&[], None), "nothing can be kept there");
    }

    #[test]
    fn names_have_the_hash_of_the_draft() {
        assert_eq!((hash(b""), hash(b"a")), (0xcbf2_9ce4_8422_2325, 0xaf63_dc4c_8601_ec8c));
        assert_eq!(host_hash(b"a"), host_hash(b"a"));
        assert_ne!(host_hash(b"a"), host_hash(b"b"));
    }
}

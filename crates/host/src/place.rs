//! Places of files that users name, where others may write, too.
//!
//! Whoever may make files in a folder can put a link or a FIFO there before somebody with more rights writes, and has what is
//! written go where he likes (the kernel's `fs.protected_symlinks` and `fs.protected_fifos` are off on many hosts). So no link of
//! another user is followed in a folder in which others may write, neither on the way nor at the end; and what lies at the end is
//! ours, or is a plain file with one name that belongs to whose folder it is.
//!
//! Out of scope: a folder on the way that another user may rename is looked at once; who changes it between the look and the
//! use can still have a new file made elsewhere.

use crate::sys::user::user;
use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Folder in which others may write.
struct Shared {
    owner: u32,
}

impl Shared {
    /// Folder of this description, if others than this user and root may make files there.
    fn of(folder: &Metadata, us: u32) -> Option<Self> {
        let others = !is_trusted(folder, us) || folder.mode() & 0o022 != 0;
        (folder.is_dir() && others).then_some(Self { owner: folder.uid() })
    }

    /// Refuses what may be there for us to fall into.
    fn judge(&self, there: &Metadata, us: u32) -> io::Result<()> {
        let ours = is_trusted(there, us);
        let what = if there.is_dir() || there.is_symlink() && ours {
            return Ok(());
        } else if there.is_symlink() {
            "a link of another user"
        } else if !there.is_file() && !ours {
            "another user's, and no plain file"
        } else if there.is_file() && there.nlink() > 1 {
            "a file with other names"
        } else if !ours && there.uid() != self.owner {
            "another user's file"
        } else {
            return Ok(());
        };
        Err(io::Error::new(ErrorKind::PermissionDenied, format!("{what}, where others may write")))
    }
}

fn is_trusted(file: &Metadata, us: u32) -> bool {
    [0, us].contains(&file.uid())
}

/// Looks at all that lies on the way to a file; gives its folder, if others may write there, and true if the file is a link.
fn look(path: &Path, us: u32) -> io::Result<(Option<Shared>, bool)> {
    let (mut shared, mut above, mut link) = (None::<Shared>, None, false);
    let mut at = PathBuf::new();
    for part in std::path::absolute(path)?.components() {
        at.push(part);
        above = shared.take();
        let there = match at.symlink_metadata() {
            Ok(there) => there,
            // What is missing is made in the folder before.
            Err(e) if e.kind() == ErrorKind::NotFound => return Ok((above, false)),
            Err(e) => return Err(e),
        };
        above.as_ref().map_or(Ok(()), |folder| folder.judge(&there, us))?;
        link = there.is_symlink();
        shared = if link { at.metadata().ok() } else { Some(there) }.and_then(|folder| Shared::of(&folder, us));
    }
    Ok((above, link))
}

/// Opens a file to write, with options that make it where it is missing and do not empty it, and further flags of open(2).
///
/// # Errors
/// The system's, or `PermissionDenied` where another user may have the file lead elsewhere.
pub fn open(path: &Path, options: &OpenOptions, flags: i32) -> io::Result<File> {
    let us = user();
    let (shared, link) = look(path, us)?;
    let Some(folder) = shared else { return options.clone().custom_flags(flags).open(path) };
    // A link that is there already is ours. One that comes now is not followed.
    let flags = if link { flags } else { flags | libc::O_NOFOLLOW };
    let file = options.clone().custom_flags(flags).open(path)?;
    folder.judge(&file.metadata()?, us)?;
    Ok(file)
}

/// Opens a file to write, made where it is missing, and empties it.
///
/// # Errors
/// As of [`open`].
pub fn create(path: &Path) -> io::Result<File> {
    let file = open(path, OpenOptions::new().write(true).create(true).truncate(false), 0)?;
    if file.metadata()?.is_file() {
        file.set_len(0)?;
    }
    Ok(file)
}

/// Opens a file to write at its end, made where it is missing.
///
/// # Errors
/// As of [`open`].
pub fn append(path: &Path) -> io::Result<File> {
    open(path, OpenOptions::new().append(true).create(true), 0)
}

/// Checks a place of a file that is to be made or replaced, or opened by others.
///
/// # Errors
/// As of [`open`].
pub fn check(path: &Path) -> io::Result<()> {
    look(path, user()).map(drop)
}

/// Makes a folder, and those above it, where they are missing.
///
/// # Errors
/// As of [`open`].
pub fn make_folder(path: &Path) -> io::Result<()> {
    check(path)?;
    fs::create_dir_all(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, chown, symlink};

    const STRANGER: u32 = 65_534;

    /// A folder in which everybody may write, and a file of ours elsewhere; None where files cannot be given away.
    fn scene() -> Option<(tempfile::TempDir, PathBuf, PathBuf)> {
        let scratch = tempfile::tempdir().unwrap();
        let (open, victim) = (scratch.path().join("open"), scratch.path().join("victim"));
        fs::create_dir(&open).unwrap();
        fs::set_permissions(&open, fs::Permissions::from_mode(0o1777)).unwrap();
        fs::write(&victim, "kept").unwrap();
        if user() != 0 {
            linerate_skip::skip!("only root can give files away");
            return None;
        }
        Some((scratch, open, victim))
    }

    /// Each way to write to a place.
    fn all(path: &Path) -> [io::Result<()>; 3] {
        [create(path).map(drop), append(path).map(drop), check(path)]
    }

    /// Regression: links and FIFOs that another user had put where root writes were followed, and waited for.
    #[test]
    fn what_another_user_has_put_there_is_refused() {
        let Some((_scratch, open, victim)) = scene() else { return };
        let [link, fifo, file, twice] = ["link", "fifo", "file", "twice"].map(|name| open.join(name));
        symlink(&victim, &link).unwrap();
        std::os::unix::fs::lchown(&link, Some(STRANGER), None).unwrap();
        assert!(std::process::Command::new("mkfifo").arg(&fifo).status().unwrap().success());
        fs::write(&file, "theirs").unwrap();
        [&fifo, &file].into_iter().for_each(|path| chown(path, Some(STRANGER), None).unwrap());
        fs::hard_link(&victim, &twice).unwrap();
        for (path, what) in [
            (&link, "a link of another user"),
            (&fifo, "another user's, and no plain file"),
            (&file, "another user's file"),
            (&twice, "a file with other names"),
        ] {
            for result in all(path) {
                assert_eq!(result.unwrap_err().to_string(), format!("{what}, where others may write"), "{path:?}");
            }
        }
        // On the way, too; no folder is made behind it.
        let way = open.join("way");
        symlink(open.parent().unwrap(), &way).unwrap();
        std::os::unix::fs::lchown(&way, Some(STRANGER), None).unwrap();
        all(&way.join("victim")).into_iter().for_each(|result| assert!(result.is_err()));
        assert!(make_folder(&way.join("new/folder")).is_err() && !open.parent().unwrap().join("new").exists());
        assert_eq!(fs::read_to_string(&victim).unwrap(), "kept");
    }

    #[test]
    fn what_is_ours_is_written() {
        let Some((_scratch, open, victim)) = scene() else { return };
        let (link, new) = (open.join("link"), open.join("new"));
        symlink(&victim, &link).unwrap();
        for path in [&new, &link, &new] {
            assert!(all(path).iter().all(Result::is_ok), "{path:?}");
        }
        assert_eq!(fs::read_to_string(&victim).unwrap(), "", "a link of ours is followed");
        // In a user's own folder his plain files are written, and his links are not followed.
        let home = open.join("home");
        make_folder(&home).unwrap();
        let (theirs, to) = (home.join("file"), home.join("to"));
        fs::write(&theirs, "old").unwrap();
        symlink(&victim, &to).unwrap();
        std::os::unix::fs::lchown(&to, Some(STRANGER), None).unwrap();
        [&home, &theirs].into_iter().for_each(|path| chown(path, Some(STRANGER), None).unwrap());
        assert!(create(&theirs).is_ok() && create(&to).is_err());
        for path in ["/dev/null", "/dev/stderr"] {
            assert!(append(Path::new(path)).is_ok(), "{path}");
        }
    }
}

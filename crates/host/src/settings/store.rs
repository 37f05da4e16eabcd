//! Storage of records: one file for each process, written so that after a death at any instruction either the old or
//! the new one is there, whole; and locked as long as its owner lives.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Suffixes of the names of records, and of records being written.
const ENDING: &str = ".settings";
const UNFINISHED: &str = ".settings.new";
/// Largest size of a record, in bytes.
const MOST: u64 = 1 << 20;

/// Place of one record. Its owner holds the record's lock once the record was written.
pub(super) struct Store {
    directory: PathBuf,
    path: PathBuf,
    held: Option<File>,
}

/// Kind of a file found in the directory.
pub(super) enum Found {
    /// A record without a living owner, now locked, and its contents.
    Abandoned(Store, Vec<u8>),
    /// A record whose owner lives, or that is gone meanwhile, or a file without a record's name.
    Nothing,
    /// A file with a record's name that is refused, and why.
    Foreign(&'static str),
}

/// Makes a directory for records, or checks that only its owner can write to the existing one.
pub(super) fn prepare(directory: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
    check(directory)
}

/// Checks that a directory is ours, and that only its owner can write to it.
pub(super) fn check(directory: &Path) -> io::Result<()> {
    if is_ours(&fs::metadata(directory)?) {
        return Ok(());
    }
    Err(io::Error::new(io::ErrorKind::PermissionDenied, "others can write there"))
}

fn is_ours(found: &fs::Metadata) -> bool {
    found.mode() & 0o022 == 0 && fs::metadata("/proc/self").is_ok_and(|own| own.uid() == found.uid())
}

/// True if a path still leads to a file.
fn leads_to(path: &Path, file: &File) -> bool {
    let (Ok(there), Ok(here)) = (fs::symlink_metadata(path), file.metadata()) else { return false };
    (there.dev(), there.ino()) == (here.dev(), here.ino())
}

impl Store {
    /// A place in a directory, under a new unique name.
    pub(super) fn new(directory: &Path) -> io::Result<Self> {
        let unique = fs::read_to_string("/proc/sys/kernel/random/uuid")?;
        let name = format!("{}-{}{ENDING}", std::process::id(), unique.trim());
        Ok(Self { directory: directory.into(), path: directory.join(name), held: None })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Writes a record in its place. The new file is locked before it is renamed there, so it is never taken for a
    /// record without an owner.
    pub(super) fn write(&mut self, record: &[u8]) -> io::Result<()> {
        let unfinished = self.path.with_extension("settings.new");
        let mut file = loop {
            let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&unfinished);
            let file = match file {
                // Left by an earlier attempt: no other process uses this name.
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists => match fs::remove_file(&unfinished) {
                    Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(e),
                    _ => continue,
                },
                file => file?,
            };
            // A recovering process may just have opened it, and then deletes it.
            if file.try_lock().is_ok() && leads_to(&unfinished, &file) {
                break file;
            }
            std::thread::sleep(Duration::from_millis(1));
        };
        file.write_all(record)?;
        file.sync_all()?;
        fs::rename(&unfinished, &self.path)?;
        File::open(&self.directory)?.sync_all()?;
        self.held = Some(file);
        Ok(())
    }

    pub(super) fn remove(&mut self) -> io::Result<()> {
        if self.held.is_some() {
            fs::remove_file(&self.path)?;
            self.held = None;
        }
        Ok(())
    }

    /// Examines a file of a directory. A record that was being written when its owner died is deleted: it was not in
    /// effect yet, and nothing had been changed for it.
    pub(super) fn find(directory: &Path, path: PathBuf) -> io::Result<Found> {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let unfinished = name.ends_with(UNFINISHED);
        if !unfinished && !name.ends_with(ENDING) {
            return Ok(Found::Nothing);
        }
        let look = fs::symlink_metadata(&path);
        let look = match look {
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Found::Nothing),
            look => look?,
        };
        if !look.is_file() || !is_ours(&look) || look.len() > MOST {
            return Ok(Found::Foreign("it is no file that only its owner can write"));
        }
        let file = OpenOptions::new().read(true).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK).open(&path);
        let file = match file {
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Found::Nothing),
            file => file?,
        };
        // A living owner may have put another file in its place since.
        if file.try_lock().is_err() || !leads_to(&path, &file) {
            return Ok(Found::Nothing);
        }
        if unfinished {
            fs::remove_file(&path)?;
            return Ok(Found::Nothing);
        }
        let mut bytes = Vec::new();
        (&file).take(MOST).read_to_end(&mut bytes)?;
        Ok(Found::Abandoned(Self { directory: directory.into(), path, held: Some(file) }, bytes))
    }
}

//! Documents kept from one start to the next, in the state directory: each is as it was before, or as it was written, whatever
//! happens meanwhile.

use crate::identity::state_directory;
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Longest document that is read.
const LONGEST: u64 = 1 << 20;

/// A directory of documents. Their names are names of files.
#[derive(Debug)]
pub struct StateFiles {
    directory: PathBuf,
}

impl StateFiles {
    /// Opens a directory in the state directory, which is made if it is not there. None where nothing can be kept.
    #[must_use]
    pub fn open(name: &str) -> Option<Self> {
        Self::at(&state_directory()?.join(name))
    }

    fn at(directory: &Path) -> Option<Self> {
        DirBuilder::new().recursive(true).mode(0o700).create(directory).ok()?;
        // Whether it can be written to shows when it is: now, while nobody relies on it.
        let files = Self { directory: directory.to_owned() };
        let trial = format!("trial-{}", std::process::id());
        files.write(&trial, b"").ok()?;
        std::fs::remove_file(files.path(&trial)).ok()?;
        Some(files)
    }

    #[must_use]
    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    /// A document; None if there is none.
    ///
    /// # Errors
    ///
    /// Those of the file system, and [`ErrorKind::InvalidData`] for a file that is too long to be one of them.
    pub fn read(&self, name: &str) -> io::Result<Option<Vec<u8>>> {
        // A FIFO is not waited for, and no link is followed.
        let flags = libc::O_NONBLOCK | libc::O_NOFOLLOW;
        let file = match OpenOptions::new().read(true).custom_flags(flags).open(self.path(name)) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let mut document = Vec::new();
        file.take(LONGEST + 1).read_to_end(&mut document)?;
        if document.len() as u64 > LONGEST {
            return Err(ErrorKind::InvalidData.into());
        }
        Ok(Some(document))
    }

    /// Writes a document in place of the one before. It is on stable storage on return.
    ///
    /// # Errors
    ///
    /// Those of the file system; the document is the one before then, or after a failure to synchronize the directory it
    /// may be either of them at the next start.
    pub fn write(&self, name: &str, document: &[u8]) -> io::Result<()> {
        let new = self.path(&format!("{name}.new"));
        // What a process left that was killed.
        match std::fs::remove_file(&new) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&new)?;
        let written = file.write_all(document).and_then(|()| file.sync_all());
        let renamed = written.and_then(|()| std::fs::rename(&new, self.path(name)));
        if renamed.is_err() {
            let _ = std::fs::remove_file(&new);
        }
        renamed?;
        File::open(&self.directory)?.sync_all()
    }

    /// Puts a document that cannot be used aside, so that no other takes its place; returns where it is then.
    ///
    /// # Errors
    ///
    /// Those of the file system.
    pub fn set_aside(&self, name: &str) -> io::Result<PathBuf> {
        let aside = self.path(&format!("{name}.damaged"));
        std::fs::rename(self.path(name), &aside)?;
        Ok(aside)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_document_is_what_was_written_last() {
        let dir = tempfile::tempdir().unwrap();
        let files = StateFiles::at(&dir.path().join("state/linerate/units")).unwrap();
        assert_eq!(files.read("a").unwrap(), None);
        files.write("a", b"first").unwrap();
        // What a killed process left is no document, and in nobody's way.
        std::fs::write(files.path("a.new"), "half").unwrap();
        assert_eq!(files.read("a").unwrap().unwrap(), b"first");
        files.write("a", b"second").unwrap();
        let again = StateFiles::at(&dir.path().join("state/linerate/units")).unwrap();
        assert_eq!((again.read("a").unwrap().unwrap(), again.read("b").unwrap()), (b"second".to_vec(), None));
        let names: Vec<_> =
            std::fs::read_dir(&again.directory).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(names, ["a"]);
        assert_eq!(std::fs::metadata(files.path("a")).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(std::fs::read(files.set_aside("a").unwrap()).unwrap(), b"second");
        assert_eq!(files.read("a").unwrap(), None);
        assert!(files.set_aside("a").is_err());
    }

    #[test]
    fn what_is_no_document_is_an_error() {
        let dir = tempfile::tempdir().unwrap();
        let files = StateFiles::at(dir.path()).unwrap();
        std::fs::write(files.path("long"), vec![0; 1 + (1 << 20)]).unwrap();
        assert_eq!(files.read("long").unwrap_err().kind(), ErrorKind::InvalidData);
        files.write("short", b"x").unwrap();
        std::os::unix::fs::symlink("short", files.path("link")).unwrap();
        assert!(files.read("link").is_err() && files.read("short").is_ok());
        std::fs::create_dir_all(files.path("taken/inside")).unwrap();
        assert!(files.write("taken", b"x").is_err() && !files.path("taken.new").exists());
        let file = dir.path().join("long");
        assert!(StateFiles::at(&file).is_none() && StateFiles::at(&file.join("under")).is_none());
    }
}

//! Recorded trees: a directory with the files that were read (`sys/…`, `proc/…`), a file for each answer of the kernel
//! (`netlink/…`, `ioctl/…`, in the notation of `notation.rs`), and symbolic links where the machine has them.
//!
//! A tree is of one interface. What is not in it is absent: files as on a machine that lacks them, answers as not recorded.

use super::notation;
use super::source::{Question, Source, Subject};
use crate::absent::{Absent, Part};
use std::cell::RefCell;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// A recorded tree as a source.
pub struct Recorded {
    root: PathBuf,
}

impl Recorded {
    pub fn open(root: &Path) -> io::Result<Self> {
        Ok(Self { root: root.canonicalize()? })
    }

    /// A path in the tree; an error if a symbolic link leads out of it.
    fn inside(&self, path: &str) -> io::Result<PathBuf> {
        let real = self.root.join(path.trim_start_matches('/')).canonicalize()?;
        if real.starts_with(&self.root) {
            Ok(real)
        } else {
            Err(io::Error::new(io::ErrorKind::PermissionDenied, "it leads out of the recorded tree"))
        }
    }
}

impl Source for Recorded {
    fn file(&self, path: &str) -> io::Result<Vec<u8>> {
        fs::read(self.inside(path)?)
    }

    fn names(&self, path: &str) -> io::Result<Vec<String>> {
        let entries = fs::read_dir(self.inside(path)?)?.flatten();
        let mut names: Vec<_> = entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        Ok(names)
    }

    fn real(&self, path: &str) -> io::Result<String> {
        let real = self.inside(path)?;
        Ok(real.strip_prefix(&self.root).unwrap_or(&real).to_string_lossy().into_owned())
    }

    fn ask(&mut self, question: Question, _: Option<&Subject>) -> Part<Vec<Vec<u8>>> {
        match self.file(&question.file()) {
            Ok(text) => notation::read(&String::from_utf8_lossy(&text)),
            Err(e) if e.kind() == io::ErrorKind::NotFound => Err(Absent::told("not recorded")),
            Err(e) => Err(e.into()),
        }
    }
}

/// A source that writes all that is read from another one to a tree.
pub struct Recorder<S> {
    inner: S,
    root: PathBuf,
    /// First failure of a write.
    failure: RefCell<Option<io::Error>>,
}

impl<S: Source> Recorder<S> {
    /// Makes a recorder into a directory that does not exist yet.
    pub fn new(inner: S, root: &Path) -> io::Result<Self> {
        fs::create_dir(root)?;
        Ok(Self { inner, root: root.to_path_buf(), failure: RefCell::new(None) })
    }

    /// Ends the recording.
    ///
    /// # Errors
    /// The first write that failed.
    pub fn finish(self) -> io::Result<()> {
        self.failure.into_inner().map_or(Ok(()), Err)
    }

    fn keep(&self, path: &str, write: impl FnOnce(&Path) -> io::Result<()>) {
        let at = self.root.join(path);
        let done = at.parent().map_or(Ok(()), fs::create_dir_all).and_then(|()| write(&at));
        if let Err(e) = done {
            self.failure.borrow_mut().get_or_insert(e);
        }
    }
}

impl<S: Source> Source for Recorder<S> {
    fn file(&self, path: &str) -> io::Result<Vec<u8>> {
        let bytes = self.inner.file(path)?;
        self.keep(path, |at| fs::write(at, &bytes));
        Ok(bytes)
    }

    fn names(&self, path: &str) -> io::Result<Vec<String>> {
        let names = self.inner.names(path)?;
        self.keep(path, |at| {
            fs::create_dir_all(at)?;
            // Entries that are read later are files by then.
            names.iter().filter(|name| !at.join(name).exists()).try_for_each(|name| {
                if path.ends_with("/queues") { fs::create_dir_all(at.join(name)) } else { fs::write(at.join(name), "") }
            })
        });
        Ok(names)
    }

    fn real(&self, path: &str) -> io::Result<String> {
        let real = self.inner.real(path)?;
        self.keep(path, |at| {
            let target = self.root.join(&real);
            fs::create_dir_all(&target)?;
            if at.exists() {
                return Ok(());
            }
            // Up from where the link really is, and down to its target.
            let root = self.root.canonicalize()?;
            let from = at.parent().unwrap_or(&root).canonicalize()?;
            let depth = from.strip_prefix(&root).map_or(0, |below| below.components().count());
            std::os::unix::fs::symlink(format!("{}{real}", "../".repeat(depth)), at)
        });
        Ok(real)
    }

    fn ask(&mut self, question: Question, of: Option<&Subject>) -> Part<Vec<Vec<u8>>> {
        let answers = self.inner.ask(question, of);
        // A list of all interfaces is no part of a tree of one.
        if of.is_some() {
            let header = match question {
                Question::Link => 16,
                _ if question.file().starts_with("ioctl") => usize::MAX,
                _ => 0,
            };
            let text = notation::write(&answers, header);
            self.keep(&question.file(), |at| fs::write(at, text));
        }
        answers
    }
}

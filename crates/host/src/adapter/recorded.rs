//! Recorded trees: a directory with the files that were read (`sys/…`, `proc/…`), a file for each answer of the kernel
//! (`netlink/…`, `ioctl/…`, in the notation of `notation.rs`), and symbolic links where the machine has them.
//!
//! A tree is of one interface, whose name is in the file `interface`, and of the machine around it; one without that file is of
//! any interface that it is asked for. What is not in it is absent: files as on a machine that lacks them, answers as not recorded.

use super::notation;
use super::source::{Question, Source, Subject};
use crate::absent::{Absent, Part};
use crate::netlink::message::word;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// File with the name of the interface.
pub(super) const INTERFACE: &str = "interface";

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

    fn ask(&mut self, question: Question, of: Option<&Subject>) -> Part<Vec<Vec<u8>>> {
        let own = self.file(INTERFACE).ok().map(|name| String::from_utf8_lossy(&name).trim().to_owned());
        if question != Question::Link && of.is_some_and(|of| own.is_some_and(|own| own != of.name)) {
            return Err(Absent::told("not recorded of this interface"));
        }
        let mut answers = match self.file(&question.file()) {
            Ok(text) => notation::read(&String::from_utf8_lossy(&text))?,
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Err(Absent::told("not recorded")),
            Err(e) => return Err(e.into()),
        };
        // The list has all interfaces; `ifi_index` of `struct ifinfomsg`.
        if let (Question::Link, Some(of)) = (question, of)
            && answers.iter().any(|answer| word(answer, 4) == of.index)
        {
            answers.retain(|answer| word(answer, 4) == of.index);
        }
        Ok(answers)
    }
}

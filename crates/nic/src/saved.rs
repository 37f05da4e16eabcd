//! Settings that are kept for adapters to be made: words by port, in one JSON file of the user's configuration directory.

use linerate_port::Spec;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// The version of the file's form.
const SCHEMA: u64 = 1;

/// What is kept.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Saved {
    path: PathBuf,
    ports: BTreeMap<String, Vec<String>>,
}

/// Why settings cannot be kept, or had back.
#[derive(Debug, Error)]
pub enum SavedError {
    /// Nothing says where a user's settings are.
    #[error("neither XDG_CONFIG_HOME nor HOME is an absolute path; set one, to have a place for settings")]
    NoHome,
    /// The file is there and cannot be read.
    #[error("{}: {why}; make it readable or move it away", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's answer.
        why: io::Error,
    },
    /// What stands in the file is not what is written here.
    #[error("{}: {what}; mend it or move it away", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        what: String,
    },
    /// The file cannot be written.
    #[error("{}: {why}; make its directory writable", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// The system's answer.
        why: io::Error,
    },
}

impl Saved {
    /// What the user's file says; nothing if there is none.
    ///
    /// # Errors
    /// [`SavedError`], if there is a file and it cannot be had, or nothing says where it is.
    pub fn load() -> Result<Self, SavedError> {
        let path = path()?;
        match std::fs::read_to_string(&path) {
            Ok(text) => Self::parse(&path, &text),
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(Self { path, ports: BTreeMap::new() }),
            Err(why) => Err(SavedError::Read { path, why }),
        }
    }

    fn parse(path: &Path, text: &str) -> Result<Self, SavedError> {
        let oops = |what: &str| SavedError::Damaged { path: path.to_owned(), what: what.to_owned() };
        let document: Value = serde_json::from_str(text).map_err(|e| oops(&format!("no JSON ({e})")))?;
        if document["schema"].as_u64() != Some(SCHEMA) {
            return Err(oops(&format!("its schema is not {SCHEMA}")));
        }
        let ports = document["ports"].as_object().ok_or_else(|| oops("it has no ports"))?;
        let words = |value: &Value| -> Option<Vec<String>> {
            value.as_array()?.iter().map(|word| word.as_str().map(str::to_owned)).collect()
        };
        let ports = ports.iter().map(|(port, value)| Some((port.clone(), words(value)?))).collect::<Option<_>>();
        Ok(Self { path: path.to_owned(), ports: ports.ok_or_else(|| oops("a port's words are no list of words"))? })
    }

    /// What a port is known by here: kind and name, without options.
    #[must_use]
    pub fn key(port: &str) -> String {
        Spec::parse(port).map_or_else(|_| port.to_owned(), |spec| format!("{}:{}", spec.kind.name, spec.name))
    }

    /// The words kept for a port.
    #[must_use]
    pub fn words(&self, port: &str) -> &[String] {
        self.ports.get(&Self::key(port)).map_or(&[], Vec::as_slice)
    }

    /// All ports that words are kept for.
    pub fn ports(&self) -> impl Iterator<Item = (&String, &Vec<String>)> {
        self.ports.iter()
    }

    /// Keeps words for a port in place of those that were.
    pub fn put(&mut self, port: &str, words: Vec<String>) {
        if words.is_empty() {
            self.ports.remove(&Self::key(port));
        } else {
            self.ports.insert(Self::key(port), words);
        }
    }

    /// Writes the file, whole or not at all; says where it is.
    ///
    /// # Errors
    /// [`SavedError::Write`].
    pub fn store(&self) -> Result<&Path, SavedError> {
        let text = format!("{:#}\n", json!({ "schema": SCHEMA, "ports": self.ports }));
        let new = self.path.with_extension(format!("new{}", std::process::id()));
        let write = || {
            self.path.parent().map_or(Ok(()), std::fs::create_dir_all)?;
            std::fs::write(&new, text)?;
            std::fs::rename(&new, &self.path)
        };
        match write() {
            Ok(()) => Ok(&self.path),
            Err(why) => Err(SavedError::Write { path: self.path.clone(), why }),
        }
    }
}

/// `linerate/nic.json` in `$XDG_CONFIG_HOME`, or in `~/.config` (XDG Base Directory Specification).
fn path() -> Result<PathBuf, SavedError> {
    let absolute = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let config = absolute("XDG_CONFIG_HOME").or_else(|| Some(absolute("HOME")?.join(".config")));
    Ok(config.ok_or(SavedError::NoHome)?.join("linerate").join("nic.json"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_comes_back_and_damage_is_told() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("sub").join("nic.json");
        let mut saved = Saved { path: path.clone(), ports: BTreeMap::new() };
        saved.put("cable:x{1,slots=64", vec!["-tso".into(), "mtu=1400".into()]);
        saved.store().unwrap();
        let back = Saved::parse(&path, &std::fs::read_to_string(&path).unwrap()).unwrap();
        assert_eq!(back, saved);
        assert_eq!(back.words("cable:x{1,rate=1G"), ["-tso", "mtu=1400"]);
        assert!(back.words("cable:x}1").is_empty());
        saved.put("cable:x{1", Vec::new());
        assert_eq!(saved.ports().count(), 0);
        for text in ["", "{}", r#"{"schema":2,"ports":{}}"#, r#"{"schema":1}"#, r#"{"schema":1,"ports":{"a":[1]}}"#] {
            let line = Saved::parse(&path, text).unwrap_err().to_string();
            assert!(line.contains("mend it") && !line.contains('\n'), "{line}");
        }
    }
}

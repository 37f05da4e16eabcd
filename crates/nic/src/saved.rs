//! Settings saved for adapters: words by port and by virtual interface, and receive filters, in one JSON file of the user's
//! configuration directory.

use linerate_port::Spec;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Version of the file's format.
const SCHEMA: u64 = 1;

/// Saved settings.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Saved {
    path: PathBuf,
    ports: BTreeMap<String, Vec<String>>,
    /// Words of virtual interfaces, by port and number.
    interfaces: BTreeMap<String, BTreeMap<usize, Vec<String>>>,
    /// Receive filters, each in words, by port.
    filters: BTreeMap<String, Vec<String>>,
}

/// Reason for which settings cannot be saved or loaded.
#[derive(Debug, Error)]
pub enum SavedError {
    /// The user's configuration directory is unknown.
    #[error("neither XDG_CONFIG_HOME nor HOME is an absolute path; set one, to have a place for settings")]
    NoHome,
    /// The file exists and cannot be read.
    #[error("{}: {why}; make it readable or move it away", path.display())]
    Read {
        /// Path of the file.
        path: PathBuf,
        /// Error of the system.
        why: io::Error,
    },
    /// The file's contents are not in this module's format.
    #[error("{}: {what}; mend it or move it away", path.display())]
    Damaged {
        /// Path of the file.
        path: PathBuf,
        /// Fault of the contents.
        what: String,
    },
    /// The file cannot be written.
    #[error("{}: {why}; make its directory writable", path.display())]
    Write {
        /// Path of the file.
        path: PathBuf,
        /// Error of the system.
        why: io::Error,
    },
}

impl Saved {
    /// Loads the user's file; empty if there is none.
    ///
    /// # Errors
    /// [`SavedError`], if there is a file and it cannot be loaded, or its place is unknown.
    pub fn load() -> Result<Self, SavedError> {
        let path = path()?;
        match std::fs::read_to_string(&path) {
            Ok(text) => Self::parse(&path, &text),
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(Self { path, ..Self::default() }),
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
        let lists = |rows: &Map<String, Value>| {
            rows.iter().map(|(port, value)| Some((port.clone(), words(value)?))).collect::<Option<BTreeMap<_, _>>>()
        };
        let numbered = |rows: &Map<String, Value>| {
            let one = |(number, value): (&String, &Value)| Some((number.parse().ok()?, words(value)?));
            rows.iter().map(one).collect::<Option<BTreeMap<usize, _>>>()
        };
        // Both came later than the format's version: a file without them is one without any.
        let none = Map::new();
        let of = |name: &str| document[name].as_object().unwrap_or(&none);
        let interfaces = of("interfaces").iter().map(|(port, rows)| Some((port.clone(), numbered(rows.as_object()?)?)));
        let interfaces = interfaces.collect::<Option<_>>();
        Ok(Self {
            path: path.to_owned(),
            ports: lists(ports).ok_or_else(|| oops("a port's words are no list of words"))?,
            interfaces: interfaces.ok_or_else(|| oops("an interface's words are no list of words"))?,
            filters: lists(of("filters")).ok_or_else(|| oops("a port's filters are no list of words"))?,
        })
    }

    /// Key of a port in the file: kind and name, without options.
    #[must_use]
    pub fn key(port: &str) -> String {
        Spec::parse(port).map_or_else(|_| port.to_owned(), |spec| spec.key())
    }

    /// Words saved for a port.
    #[must_use]
    pub fn words(&self, port: &str) -> &[String] {
        self.ports.get(&Self::key(port)).map_or(&[], Vec::as_slice)
    }

    /// All ports that have saved words, with these.
    pub fn ports(&self) -> impl Iterator<Item = (&String, &Vec<String>)> {
        self.ports.iter()
    }

    /// Replaces the words saved for a port.
    pub fn put(&mut self, port: &str, words: Vec<String>) {
        if words.is_empty() {
            self.ports.remove(&Self::key(port));
        } else {
            self.ports.insert(Self::key(port), words);
        }
    }

    /// Virtual interfaces saved for a port, by number, with their words.
    #[must_use]
    pub fn interfaces(&self, port: &str) -> BTreeMap<usize, Vec<String>> {
        self.interfaces.get(&Self::key(port)).cloned().unwrap_or_default()
    }

    /// Replaces the words of a virtual interface; None: it is forgotten.
    pub fn put_interface(&mut self, port: &str, interface: usize, words: Option<Vec<String>>) {
        let rows = self.interfaces.entry(Self::key(port)).or_default();
        match words {
            Some(words) => rows.insert(interface, words),
            None => rows.remove(&interface),
        };
        self.interfaces.retain(|_, rows| !rows.is_empty());
    }

    /// Receive filters saved for a port, each in words.
    #[must_use]
    pub fn filters(&self, port: &str) -> &[String] {
        self.filters.get(&Self::key(port)).map_or(&[], Vec::as_slice)
    }

    /// Replaces the receive filters of a port.
    pub fn put_filters(&mut self, port: &str, filters: Vec<String>) {
        self.filters.insert(Self::key(port), filters);
        self.filters.retain(|_, filters| !filters.is_empty());
    }

    /// Writes the file atomically; returns its path.
    ///
    /// # Errors
    /// [`SavedError::Write`].
    pub fn store(&self) -> Result<&Path, SavedError> {
        let mut document = json!({ "schema": SCHEMA, "ports": self.ports });
        if !self.interfaces.is_empty() {
            document["interfaces"] = json!(self.interfaces);
        }
        if !self.filters.is_empty() {
            document["filters"] = json!(self.filters);
        }
        let text = format!("{document:#}\n");
        let new = self.path.with_extension(format!("new{}", std::process::id()));
        let write = || {
            self.path.parent().map_or(Ok(()), std::fs::create_dir_all)?;
            // Whatever lies there is no file of ours: a link is not followed.
            let _ = std::fs::remove_file(&new);
            std::fs::File::create_new(&new)?.write_all(text.as_bytes())?;
            std::fs::rename(&new, &self.path)
        };
        match write() {
            Ok(()) => Ok(&self.path),
            Err(why) => Err(SavedError::Write { path: self.path.clone(), why }),
        }
    }
}

/// Path of the file: `linerate/nic.json` in `$XDG_CONFIG_HOME`, or in `~/.config` (XDG Base Directory Specification).
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
        let mut saved = Saved { path: path.clone(), ..Saved::default() };
        saved.put("cable:x{1,slots=64", vec!["-tso".into(), "mtu=1400".into()]);
        saved.put_interface("cable:x{1", 12, Some(vec!["vlan=5".into()]));
        saved.put_interface("cable:x{1,queues=2", 3, Some(Vec::new()));
        saved.put_filters("cable:x{1", vec!["loc 0 action -1".into()]);
        saved.store().unwrap();
        let back = Saved::parse(&path, &std::fs::read_to_string(&path).unwrap()).unwrap();
        assert_eq!(back, saved);
        assert_eq!(back.words("cable:x{1,rate=1G"), ["-tso", "mtu=1400"]);
        assert!(back.words("cable:x}1").is_empty() && back.interfaces("cable:x}1").is_empty());
        let interfaces = back.interfaces("cable:x{1,slots=64").into_iter().collect::<Vec<_>>();
        assert_eq!(interfaces, [(3, Vec::new()), (12, vec!["vlan=5".to_owned()])]);
        assert_eq!(back.filters("cable:x{1"), ["loc 0 action -1"]);
        saved.put_interface("cable:x{1", 12, None);
        saved.put_interface("cable:x{1", 3, None);
        saved.put_filters("cable:x{1", Vec::new());
        assert!(saved.interfaces.is_empty() && saved.filters.is_empty());
        saved.put("cable:x{1", Vec::new());
        assert_eq!(saved.ports().count(), 0);
        for text in [
            "",
            "{}",
            r#"{"schema":2,"ports":{}}"#,
            r#"{"schema":1}"#,
            r#"{"schema":1,"ports":{"a":[1]}}"#,
            r#"{"schema":1,"ports":{},"interfaces":{"a":{"x":[]}}}"#,
            r#"{"schema":1,"ports":{},"filters":{"a":5}}"#,
        ] {
            let line = Saved::parse(&path, text).unwrap_err().to_string();
            assert!(line.contains("mend it") && !line.contains('\n'), "{line}");
        }
    }
}

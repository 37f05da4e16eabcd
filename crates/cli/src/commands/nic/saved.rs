//! Settings that are kept for adapters to be made: words by port, in one JSON file of the user's configuration directory.

use crate::trouble::Trouble;
use linerate_port::Spec;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The version of the file's form.
const SCHEMA: u64 = 1;

/// What is kept.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Saved {
    path: PathBuf,
    ports: BTreeMap<String, Vec<String>>,
}

/// What a port is known by: kind and name, without options.
pub(super) fn key(port: &str) -> String {
    Spec::parse(port).map_or_else(|_| port.to_owned(), |spec| format!("{}:{}", spec.kind.name, spec.name))
}

impl Saved {
    /// What the user's file says; nothing if there is none.
    pub(super) fn load() -> Result<Self, Trouble> {
        let path = path()?;
        match std::fs::read_to_string(&path) {
            Ok(text) => Self::parse(&path, &text),
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(Self { path, ports: BTreeMap::new() }),
            Err(e) => Err(Trouble::failed(format!("{}: {e}; make it readable or move it away", path.display()))),
        }
    }

    fn parse(path: &Path, text: &str) -> Result<Self, Trouble> {
        let oops = |what: &str| Trouble::failed(format!("{}: {what}; mend it or move it away", path.display()));
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

    /// The words kept for a port.
    pub(super) fn words(&self, port: &str) -> &[String] {
        self.ports.get(&key(port)).map_or(&[], Vec::as_slice)
    }

    /// All ports that words are kept for.
    pub(super) fn ports(&self) -> impl Iterator<Item = (&String, &Vec<String>)> {
        self.ports.iter()
    }

    /// Keeps words for a port in place of those that were.
    pub(super) fn put(&mut self, port: &str, words: Vec<String>) {
        if words.is_empty() {
            self.ports.remove(&key(port));
        } else {
            self.ports.insert(key(port), words);
        }
    }

    /// Writes the file, whole or not at all; says where it is.
    pub(super) fn store(&self) -> Result<&Path, Trouble> {
        let text = format!("{:#}\n", json!({ "schema": SCHEMA, "ports": self.ports }));
        let new = self.path.with_extension(format!("new{}", std::process::id()));
        let write = || {
            self.path.parent().map_or(Ok(()), std::fs::create_dir_all)?;
            std::fs::write(&new, text)?;
            std::fs::rename(&new, &self.path)
        };
        match write() {
            Ok(()) => Ok(&self.path),
            Err(e) => Err(Trouble::failed(format!("{}: {e}; make its directory writable", self.path.display()))),
        }
    }
}

/// `linerate/nic.json` in `$XDG_CONFIG_HOME`, or in `~/.config` (XDG Base Directory Specification).
fn path() -> Result<PathBuf, Trouble> {
    let absolute = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let config = absolute("XDG_CONFIG_HOME").or_else(|| Some(absolute("HOME")?.join(".config")));
    let config = config.ok_or_else(|| {
        Trouble::usage("neither XDG_CONFIG_HOME nor HOME is an absolute path; set one, to have a place for settings")
    })?;
    Ok(config.join("linerate").join("nic.json"))
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

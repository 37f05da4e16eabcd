//! `sysctl -a`: a line for each variable, `NAME: VALUE` (with `-e` `NAME=VALUE`). With `-d` the value is its description.

use super::lines;
use serde::Serialize;
use std::collections::BTreeMap;

/// Variables of sysctl(8) by name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SysctlText(BTreeMap<String, String>);

impl SysctlText {
    /// Parses the text. Of a value of several lines the first is taken; other lines are left out.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        let row = |line: &str| {
            let (name, value) = line.split_once([':', '='])?;
            is_variable(name).then(|| (name.to_owned(), value.trim().to_owned()))
        };
        Self(lines(text).filter_map(row).collect())
    }

    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// Variables below a node (`dev.oce.0`): name without the node, and value.
    pub fn below<'a>(&'a self, node: &str) -> impl Iterator<Item = (&'a str, &'a str)> {
        let node = format!("{node}.");
        self.0.iter().filter_map(move |(name, value)| Some((name.strip_prefix(&node)?, value.as_str())))
    }

    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// True for a name of several parts with dots between.
fn is_variable(name: &str) -> bool {
    let part = |part: &str| !part.is_empty() && part.chars().all(|c| c.is_ascii_alphanumeric() || "_%-".contains(c));
    name.contains('.') && name.split('.').all(part)
}

/// True for a variable that counts, by its place below a device: statistics and queues have nodes of their own.
pub(super) fn counts(leaf: &str) -> bool {
    let mut nodes: Vec<_> = leaf.split('.').collect();
    nodes.pop();
    let queue = |node: &&str| ["queue", "rxq", "txq"].iter().any(|begin| node.starts_with(begin));
    nodes.iter().any(|node| node.ends_with("stats") || queue(node))
}

/// Default that a description tells: `(default 64)`, `default: 64`, `defaults to 64`, `Default is 64`.
pub(super) fn default_in(description: &str) -> Option<String> {
    let low = description.to_ascii_lowercase();
    let (_, behind) = low.split_once("default")?;
    let behind = behind.strip_prefix('s').unwrap_or(behind);
    let words = behind.split(|c: char| c.is_whitespace() || ":=(),;".contains(c)).map(|word| word.trim_matches('.'));
    let word = words.filter(|word| !word.is_empty()).find(|word| !matches!(*word, "is" | "to" | "value"))?;
    word.starts_with(|c: char| c.is_ascii_digit() || c == '-').then(|| word.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_have_names_with_dots() {
        let all = SysctlText::parse(
            "dev.oce.0.%desc: Emulex: a card\ndev.oce.0.speed=10000\nno variable: 1\nplain: 2\n.a: 3\ndev.oce.01.x: 4\n\
             dev.oce.0.stats.rx.total_pkts: 12\nempty.one:\n",
        );
        assert_eq!(all.get("dev.oce.0.%desc"), Some("Emulex: a card"));
        assert_eq!((all.len(), all.get("empty.one")), (5, Some("")));
        let below: Vec<_> = all.below("dev.oce.0").collect();
        assert_eq!(below, [("%desc", "Emulex: a card"), ("speed", "10000"), ("stats.rx.total_pkts", "12")]);
    }

    #[test]
    fn counters_are_known_by_their_nodes() {
        for leaf in
            ["stats.rx.err.crc_errs", "mac_stats.good", "queue0.rx_packets", "queue_rx_0.x", "iflib.rxq0.rxq_fl0.x"]
        {
            assert!(counts(leaf), "{leaf}");
        }
        for leaf in ["max_rsp_handled", "stats", "iflib.override_nrxqs", "%desc"] {
            assert!(!counts(leaf), "{leaf}");
        }
    }

    #[test]
    fn defaults_are_found_in_descriptions() {
        for (text, value) in [
            ("Receive frames an interrupt (default 64)", Some("64")),
            ("Default: -1, which is none", Some("-1")),
            ("what defaults to 2048.", Some("2048")),
            ("The default value is 9k", Some("9k")),
            ("on by default", None),
            ("defaults to the number of processors", None),
            ("Maximum receive frames", None),
        ] {
            assert_eq!(default_in(text).as_deref(), value, "{text}");
        }
    }
}

//! Raw counters: port, name and value.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Counters over a test, each counted where it happens. JSON: a list of [`Counter`]s.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "Vec<Counter>", from = "Vec<Counter>")]
pub struct Counters(BTreeMap<(Option<String>, String), u64>);

/// One counter as it is written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counter {
    /// Name of the port that counted; `null` for a counter that belongs to no port, such as the workload's checks.
    #[serde(default)]
    pub port: Option<String>,
    /// Name of what is counted, such as `tx0.syscalls`: queue, then event.
    pub name: String,
    pub value: u64,
}

impl Counters {
    /// Value of the counter; `None` if there is no such counter.
    #[must_use]
    pub fn get(&self, port: Option<&str>, name: &str) -> Option<u64> {
        self.iter().find(|counter| counter.0 == port && counter.1 == name).map(|counter| counter.2)
    }

    /// Sum of the counters of that name over all ports and the workload; `None` if there is none.
    #[must_use]
    pub fn total(&self, name: &str) -> Option<u64> {
        self.iter().filter(|counter| counter.1 == name).map(|counter| counter.2).reduce(u64::saturating_add)
    }

    /// Adds `more` to a counter, which begins at zero.
    pub fn add(&mut self, port: Option<&str>, name: impl Into<String>, more: u64) {
        let count = self.0.entry((port.map(str::to_owned), name.into())).or_default();
        *count = count.saturating_add(more);
    }

    pub fn append(&mut self, other: &Self) {
        other.iter().for_each(|(port, name, value)| self.add(port, name, value));
    }

    /// Port, name and value of each counter in alphabetical order, those without a port first.
    pub fn iter(&self) -> impl Iterator<Item = (Option<&str>, &str, u64)> {
        self.0.iter().map(|((port, name), value)| (port.as_deref(), name.as_str(), *value))
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// Makes counters that belong to no port.
impl<N: Into<String>> FromIterator<(N, u64)> for Counters {
    fn from_iter<I: IntoIterator<Item = (N, u64)>>(list: I) -> Self {
        let mut all = Self::default();
        list.into_iter().for_each(|(name, value)| all.add(None, name, value));
        all
    }
}

impl From<Vec<Counter>> for Counters {
    fn from(list: Vec<Counter>) -> Self {
        let mut all = Self::default();
        list.into_iter().for_each(|counter| all.add(counter.port.as_deref(), counter.name, counter.value));
        all
    }
}

impl From<Counters> for Vec<Counter> {
    fn from(all: Counters) -> Self {
        all.0.into_iter().map(|((port, name), value)| Counter { port, name, value }).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::Counters;

    #[test]
    fn counters_add_up_by_port_and_name() {
        let mut all = Counters::from_iter([("lost", 2)]);
        for (port, more) in [("b", 1), ("a", 5), ("b", u64::MAX)] {
            all.add(Some(port), "tx0.syscalls", more);
        }
        assert_eq!(all.get(Some("b"), "tx0.syscalls"), Some(u64::MAX));
        assert_eq!((all.get(None, "lost"), all.get(Some("a"), "lost"), all.total("nothing")), (Some(2), None, None));
        assert_eq!((all.total("tx0.syscalls"), all.total("lost")), (Some(u64::MAX), Some(2)));
        let json = r#"[{"port":null,"name":"lost","value":2},{"port":"a","name":"tx0.syscalls","value":5}"#;
        assert!(serde_json::to_string(&all).unwrap().starts_with(json));
        let twice: Counters = serde_json::from_str(r#"[{"name":"x","value":2},{"name":"x","value":3}]"#).unwrap();
        assert_eq!(twice.get(None, "x"), Some(5), "as two queues' of one name");
    }
}

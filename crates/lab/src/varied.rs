//! Parameters in which points differ beside those that a table has columns and a chart has axes for.

use std::collections::{BTreeSet, HashSet};

use linerate_result::{Parameters, Test};

use crate::sweep::PLANNED;

/// Parameters that are an axis of a table or a chart: sizes of what is handed over at a time, then the MTU.
pub(crate) const AXES: &[&str] =
    &["message_bytes", "block_bytes", "datagram_bytes", "io_bytes", "frame_bytes", "request_bytes", "bs", "mtu"];

/// For each test the values of the parameters that differ among the tests, without those that are `known`:
/// `parallel 8, window 512000`. Empty texts where none differs.
pub(crate) fn varied(tests: &[&Test], known: &[&str]) -> Vec<String> {
    let mut names = varying(&tests.iter().map(|test| &test.parameters).collect::<Vec<_>>());
    names.retain(|name| !known.contains(name));
    let value = |test: &Test, name: &str| test.parameters.get(name).map(|value| format!("{name} {value}"));
    tests.iter().map(|test| names.iter().filter_map(|name| value(test, name)).collect::<Vec<_>>().join(", ")).collect()
}

/// Names of the parameters in which tests differ: sizes and the MTU before all others.
pub(crate) fn varying<'a>(tests: &[&'a Parameters]) -> Vec<&'a str> {
    let all: BTreeSet<&str> = tests.iter().flat_map(|test| test.keys()).map(String::as_str).collect();
    let differs = |name: &&str| *name != PLANNED && tests.iter().any(|test| test.get(*name) != tests[0].get(*name));
    let mut names: Vec<&str> = all.into_iter().filter(differs).collect();
    names.sort_by_key(|name| AXES.iter().position(|axis| axis == name).unwrap_or(AXES.len()));
    names
}

/// Of these names as few as are needed to tell the tests apart.
pub(crate) fn differing<'a>(tests: &[&'a Parameters]) -> Vec<&'a str> {
    let mut names = varying(tests);
    for at in (0..names.len()).rev() {
        let others = || names.iter().enumerate().filter(|(other, _)| *other != at).map(|(_, name)| *name);
        let named: HashSet<_> = tests
            .iter()
            .map(|test| others().map(|name| test.get(name).map(ToString::to_string)).collect::<Vec<_>>())
            .collect();
        if named.len() == tests.len() {
            names.remove(at);
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;
    use linerate_result::parameters;

    #[test]
    fn only_what_differs_and_has_no_place_of_its_own_is_told() {
        let test = |parallel: u32, bytes: u32| Test {
            parameters: parameters([
                ("io_bytes", bytes.into()),
                ("parallel", parallel.into()),
                ("seconds", 1_u32.into()),
                (PLANNED, bytes.into()),
            ]),
            ..Test::default()
        };
        let [one, two] = [test(1, 64), test(8, 128)];
        assert_eq!(varied(&[&one, &two], &["io_bytes"]), ["parallel 1", "parallel 8"]);
        assert_eq!(varied(&[&one, &test(1, 128)], &["io_bytes"]), ["", ""]);
        assert_eq!(varied(&[], &[]), Vec::<String>::new());
    }
}

//! Conversion of documents of older versions before they are read.
//!
//! Version 1 had parameters as strings, counters as a map keyed by one name, and, at first, no list of failures: a
//! failure was a warning that begins with [`FAILED`], or was only counted.

use serde_json::{Map, Value, json};

use super::Parameter;

/// Prefix of a warning of an older document that is a failure.
const FAILED: &str = "failed: ";

/// Converts a whole document of version 1.
pub(crate) fn document(document: &mut Value) {
    let tests = document.get_mut("tests").and_then(Value::as_array_mut);
    tests.into_iter().flatten().for_each(test);
}

/// Converts a test of version 1; a test of the present version stays unchanged.
pub(crate) fn test(test: &mut Value) {
    let Some(test) = test.as_object_mut() else { return };
    // Counters are in every document, and only version 1 has them as a map.
    if test.get("counters").is_some_and(Value::is_array) {
        return;
    }
    failures(test);
    parameters(test);
    counters(test);
}

fn failures(test: &mut Map<String, Value>) {
    let mut failed = Vec::new();
    if let Some(Value::Array(warnings)) = test.get_mut("warnings") {
        let failure = |warning: &Value| warning.as_str().and_then(|line| line.strip_prefix(FAILED)).map(Value::from);
        failed.extend(warnings.iter().filter_map(failure));
        warnings.retain(|warning| failure(warning).is_none());
    }
    let list = test.entry("failures").or_insert_with(|| json!([]));
    let Some(list) = list.as_array_mut() else { return };
    list.append(&mut failed);
    let silent = list.is_empty();
    let errors = test.get("counters").and_then(|counters| counters.get("errors")?.as_u64());
    if let Some(errors) = errors.filter(|errors| *errors > 0 && silent) {
        test.insert("failures".to_owned(), json!([format!("{errors} requests failed")]));
    }
}

fn parameters(test: &mut Map<String, Value>) {
    let Some(Value::Object(parameters)) = test.get_mut("parameters") else { return };
    for value in parameters.values_mut() {
        if let Value::String(text) = value {
            *value = json!(Parameter::of_text(std::mem::take(text)));
        }
    }
}

/// Version 1 had the port in the counter's name: `far.` before a queue's name meant the second port, a queue's name
/// alone the first port, and a port's own counters began with the port's name.
fn counters(test: &mut Map<String, Value>) {
    let name = |port: &Value| port.get("name").and_then(Value::as_str).map(str::to_owned);
    let ports: Vec<String> =
        test.get("ports").and_then(Value::as_array).into_iter().flatten().filter_map(name).collect();
    let Some(Value::Object(counters)) = test.get("counters") else { return };
    let list = counters.iter().map(|(whole, value)| {
        let of_port = ports.iter().find_map(|port| Some((port, whole.strip_prefix(port)?.strip_prefix('.')?)));
        let (port, name) = match (of_port, whole.strip_prefix("far.")) {
            (Some((port, name)), _) => (Some(port), name),
            (None, Some(name)) => (ports.get(1), name),
            (None, None) if is_of_queue(whole) => (ports.first(), whole.as_str()),
            (None, None) => (None, whole.as_str()),
        };
        json!({"port": port, "name": name, "value": value})
    });
    let list = list.collect();
    test.insert("counters".to_owned(), Value::Array(list));
}

/// True if a name begins with a queue, such as `tx0.` or `rx12.`.
fn is_of_queue(name: &str) -> bool {
    let queue = name.strip_prefix("tx").or_else(|| name.strip_prefix("rx")).and_then(|rest| rest.split_once('.'));
    queue.is_some_and(|(number, _)| !number.is_empty() && number.bytes().all(|digit| digit.is_ascii_digit()))
}

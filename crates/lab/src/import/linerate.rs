//! linerate's own documents: `result.json`, `--json` and `--ndjson`. They stay as they are.

use linerate_result::{RunResult, SCHEMA};
use serde_json::Value;

use super::{Import, Read, Wrong, json, shown};
use crate::run::is_run_id;

pub(super) const IMPORT: Import = Import {
    name: "linerate",
    about: "result documents: result.json, or what --json and --ndjson print",
    looks,
    read: Read::Documents(read),
};

fn looks(text: &str) -> bool {
    text.contains(SCHEMA)
}

fn read(text: &str) -> Result<Vec<RunResult>, Wrong> {
    let mut all = Vec::new();
    for (document, line) in json::documents(text)? {
        // Behind events as they happen, the document is the last event's.
        let document = match document.get("event").and_then(Value::as_str) {
            Some("result") => document.get("result").cloned().unwrap_or_default(),
            Some(_) => continue,
            None => document,
        };
        let run = RunResult::from_json(&document.to_string());
        let wrong = |why: &str| Wrong { line: Some(line), why: shown(why, 200) };
        let run = run.map_err(|why| wrong(&why.to_string()))?;
        if !is_run_id(&run.run_id) {
            let id = shown(&run.run_id, 64);
            return Err(wrong(&format!("run_id {id:?} is no run's: give it 1 to 64 letters, digits and dashes")));
        }
        all.push(run);
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use linerate_result::{RunResult, Timestamp};

    #[test]
    fn documents_and_events_are_read_as_they_are() {
        let run = RunResult::new("7f".to_owned(), vec!["pkt-gen".to_owned()], Timestamp::default());
        let read = |text: &str| super::super::read("x", text, None, Timestamp::now(), &[]);
        assert_eq!(read(&run.to_json()).unwrap(), std::slice::from_ref(&run));
        let events =
            format!("{{\"event\":\"rate\",\"pps\":5}}\n{{\"event\":\"result\",\"result\":{}}}\n", run.to_line());
        assert_eq!(read(&events).unwrap(), std::slice::from_ref(&run));
        assert_eq!(read(&(run.to_line() + &run.to_json())).unwrap().len(), 2);
        let newer = run.to_line() + &run.to_line().replace("\"version\":2", "\"version\":9");
        assert!(read(&newer).unwrap_err().to_string().starts_with("x:2: result is schema linerate.result version 9"));
    }
}

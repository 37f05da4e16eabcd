//! Documents that older versions wrote are read.

use linerate_result::{Outcome, RunResult};

/// A pkt-gen document of version 1, unchanged.
const PKT_GEN_1: &str = include_str!("data/pkt-gen-1.json");

#[test]
fn a_document_that_version_1_wrote_is_read() {
    let run = RunResult::from_json(PKT_GEN_1).unwrap();
    let test = &run.tests[0];
    assert_eq!((run.outcome, test.parameters["count"].count()), (Outcome::Pass, Some(1000)));
    assert_eq!((test.parameters["sizes"].count(), test.parameters["wait"].text()), (Some(60), Some("adaptive")));
    let [sender, receiver] = [&test.ports[0].name, &test.ports[1].name].map(|name| Some(name.as_str()));
    let counters = &test.counters;
    assert!(counters.get(sender, "tx0.batches") > Some(0) && counters.get(receiver, "rx0.batches") > Some(0));
    assert!(counters.get(sender, "fault_dropped") > Some(0));
    assert_eq!(counters.get(sender, "fault_dropped"), counters.get(None, "check.drop.found"));
    assert!(test.ledger.as_ref().unwrap().settle().is_zero());
    assert_eq!(RunResult::from_json(&run.to_json()).unwrap(), run);
}

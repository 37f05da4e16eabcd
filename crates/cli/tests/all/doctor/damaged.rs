//! Tests of `doctor --peer` over a path that loses frames, or damages them.

use super::shell;
use crate::process::BINARY;
use serde_json::Value;

/// Findings of more than a note with a peer in another namespace, behind a bridge of ours with faults.
fn warned(faults: &str) -> Option<Vec<String>> {
    let line = format!(
        "trap 'kill $P $B 2>/dev/null' EXIT; \
         space P; \
         ip link add back numtxqueues 2 numrxqueues 2 type veth peer name far address 02:00:00:00:00:02; \
         ip link set far netns $P; ip link set back up; \
         nsenter -t $P -n sh -c \"ip addr add 10.0.0.2/24 dev far; ip link set far up; \
             ip neigh add 10.0.0.1 lladdr $(cat /sys/class/net/left/address) dev far\"; \
         ip neigh add 10.0.0.2 lladdr 02:00:00:00:00:02 dev left; \
         {BINARY} bridge -i packet:right,faults={faults} -i packet:back >/dev/null 2>$PWD/said & B=$!; \
         awaits \"grep -q 'packet:back -> ' $PWD/said\"; \
         {BINARY} doctor left --json --peer 10.0.0.2 || [ $? = 3 ]"
    );
    let folder = tempfile::tempdir().unwrap();
    let out = shell(&format!("cd {}; {line}", folder.path().display()))?;
    assert!(out.status.success(), "{out:?}");
    let document: Value = serde_json::from_slice(&out.stdout).unwrap_or_else(|e| panic!("{e}: {out:?}"));
    let all = document["findings"].as_array().unwrap().iter().filter(|one| one["severity"] != "note");
    Some(all.map(|one| one["rule"].as_str().unwrap().to_owned()).collect())
}

#[test]
fn loss_and_damage_on_the_way_are_found() {
    for (faults, rules) in [
        ("drop:0.2/seed:3", &["peer-loss"][..]),
        ("corrupt:0.4/seed:3", &["peer-loss", "checksum-errors"]),
        ("dup:0.001/seed:3", &[]),
    ] {
        let Some(found) = warned(faults) else { return };
        for rule in rules {
            assert!(found.iter().any(|one| one == rule), "{faults}: no {rule} in {found:?}");
        }
        assert!(!rules.is_empty() || found.is_empty(), "{faults}: {found:?}");
    }
}

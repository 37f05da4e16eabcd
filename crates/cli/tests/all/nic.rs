//! Tests of `linerate nic` as a user types it.

use std::path::Path;
use std::process::Command;

/// Runs it with settings of its own; returns exit code, standard output, standard error.
fn nic(config: &Path, arguments: &[&str]) -> (i32, String, String) {
    let out = Command::new(env!("CARGO_BIN_EXE_linerate"))
        .arg("nic")
        .args(arguments)
        .env("XDG_CONFIG_HOME", config)
        .output()
        .unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (out.status.code().unwrap(), text(out.stdout), text(out.stderr))
}

/// The `options=` of `nic show`.
fn options(config: &Path) -> String {
    let (code, text, error) = nic(config, &["show", "-i", "null:"]);
    assert_eq!((code, error.as_str()), (0, ""));
    text.lines().find_map(|line| line.trim().strip_prefix("options=")).unwrap().to_owned()
}

#[test]
fn flags_are_printed_as_published_and_changed_by_the_published_rules() {
    let dir = tempfile::tempdir().unwrap();
    let config = dir.path();
    let whole =
        "507bb<RXCSUM,TXCSUM,VLAN_MTU,VLAN_HWTAGGING,JUMBO_MTU,VLAN_HWCSUM,TSO4,TSO6,LRO,VLAN_HWFILTER,VLAN_HWTSO>";
    assert_eq!(options(config), whole);
    // Settings are saved for later adapters.
    let (code, text, _) = nic(config, &["set", "-i", "null:", "-txcsum", "-lro", "mtu=1400", "tx.rate=1G"]);
    assert_eq!(code, 0);
    assert!(
        text.contains("mtu: 1500 -> 1400") && text.contains("saved for null:: -txcsum -lro mtu=1400 tx.rate=1G"),
        "{text}"
    );
    assert_eq!(options(config), "500b9<RXCSUM,VLAN_MTU,VLAN_HWTAGGING,JUMBO_MTU,VLAN_HWCSUM,VLAN_HWFILTER,VLAN_HWTSO>");
    let (_, text, _) = nic(config, &["list"]);
    assert!(text.contains("-txcsum -lro mtu=1400 tx.rate=1G"), "{text}");
    // Words that restore a default are not saved.
    let (code, text, _) = nic(config, &["set", "-i", "null:", "lro", "mtu=1500", "tx.rate=0"]);
    assert!(code == 0 && text.contains("saved for null:: -txcsum\n"), "{text}");
    // The adapter's traffic classes are kept and forgotten like an interface's settings.
    let (code, text, _) = nic(config, &["set", "-i", "null:", "tx.class_weights=1,3", "tx.priority=5"]);
    assert!(code == 0 && text.contains("tx.class_weights: 1 -> 1,3\n"), "{text}");
    let (code, text, _) = nic(config, &["set", "-i", "null:", "tx.class_weights=1", "tx.priority=0"]);
    assert!(code == 0 && text.contains("saved for null:: -txcsum\n"), "{text}");
    nic(config, &["set", "-i", "null:", "tx.class_weights=2,1"]);
    let (code, text, _) = nic(config, &["set", "-i", "null:", "default"]);
    assert!(code == 0 && text.contains("tx.class_weights: 2,1 -> 1\n"), "{text}");
    nic(config, &["set", "-i", "null:", "-txcsum"]);
    let (code, text, _) = nic(config, &["set", "-i", "null:", "lro"]);
    assert!(code == 0 && text.contains("nothing changed"), "{text}");
    let (code, text, _) = nic(config, &["set", "-i", "null:", "default"]);
    assert!(code == 0 && text.contains("nothing but defaults"), "{text}");
    assert_eq!(options(config), whole);
}

#[test]
fn what_cannot_be_is_one_line_exit_2_and_is_not_saved() {
    let dir = tempfile::tempdir().unwrap();
    let config = dir.path();
    for words in [
        &["set", "-i", "null:", "-tso6"][..],
        &["set", "-i", "null:", "-jumbomtu"],
        &["set", "-i", "null:", "fast"],
        &["set", "-i", "null:", "-lro", "mtu=9000"],
        &["set", "-i", "null:", "colour=red"],
        &["set", "-i", "null:", "rx.ring_size=64"],
        &["set", "-i", "null:", "default", "lro"],
        &["set", "-i", "null:"],
        &["set", "-i", "wire:x", "lro"],
        &["show", "-i", "wire:x"],
        &["show"],
        &["frob"],
    ] {
        let (code, text, error) = nic(config, words);
        assert_eq!((code, text.as_str(), error.lines().count()), (2, "", 1), "{words:?}: {error}");
    }
    assert!(!config.join("linerate").exists(), "something was saved");
    std::fs::create_dir_all(config.join("linerate")).unwrap();
    std::fs::write(config.join("linerate/nic.json"), r#"{"schema":1,"ports":{"null:":["mtu=9000"]}}"#).unwrap();
    let (code, _, error) = nic(config, &["show", "-i", "null:"]);
    assert!(code == 2 && error.contains("saved settings") && error.contains("default"), "{error}");
    assert_eq!(nic(config, &["show", "-i", "null:,mtu=9000"]).0, 0);
    assert_eq!(nic(config, &["set", "-i", "null:", "default"]).0, 0);
    assert_eq!(nic(config, &["show", "-i", "null:"]).0, 0);
}

#[test]
fn json_says_the_same() {
    let dir = tempfile::tempdir().unwrap();
    let (code, text, _) = nic(dir.path(), &["show", "-i", "null:,slots=256", "--json"]);
    let document: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!((code, document["mtu"].as_u64()), (0, Some(1500)));
    assert!(document["options"].as_str().unwrap().starts_with("507bb<RXCSUM"));
    assert_eq!(document["parameters"]["tx.ring_size"]["actual"], "256");
    assert_eq!(document["parameters"]["tx.ring_size"]["default"], "1024");
    assert_eq!(document["offloads"]["TCP segmentation"], "in software");
    let (_, text, _) = nic(dir.path(), &["list", "--json"]);
    let document: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert!(document["kinds"].as_array().unwrap().iter().any(|kind| kind["kind"] == "cable"));
}

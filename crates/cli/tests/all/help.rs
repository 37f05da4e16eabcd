//! Help: how commands end is said where it can be looked up.

use std::process::Command;

fn help(words: &[&str]) -> String {
    let out = Command::new(env!("CARGO_BIN_EXE_linerate")).args(words).output().unwrap();
    assert!(out.status.success(), "{words:?}");
    String::from_utf8(out.stdout).unwrap()
}

#[test]
fn exit_codes_3_and_4_stand_in_help_where_they_occur_and_in_the_readme() {
    let readme = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../README.md")).unwrap();
    for code in ["0", "1", "2", "3", "4", "128+n"] {
        assert!(help(&["help"]).contains(&format!("\n  {code} ")), "{code}");
        assert!(readme.contains(&format!("\n| {code} | ")), "{code}");
    }
    for (words, codes) in [
        (&["qualify", "--help"][..], &[1, 2, 4][..]),
        (&["sweep", "--help"], &[1, 2, 4]),
        (&["profile", "--help"], &[1, 2, 3, 4]),
        (&["profile", "tx", "--help"], &[1, 2, 3, 4]),
        (&["profile", "flood", "--help"], &[1, 2, 3, 4]),
        (&["bench", "--help"], &[1, 2, 3]),
        (&["xdd", "-h"], &[1, 2]),
        (&["pkt-gen", "-h"], &[1, 2]),
    ] {
        // However it is broken into lines.
        let text = help(words).split_whitespace().collect::<Vec<_>>().join(" ");
        let (_, ends) = text.split_once("Exit codes: 0 ").unwrap_or_else(|| panic!("{words:?}: {text}"));
        assert!(
            codes.iter().all(|code| ends.contains(&format!(" {code} "))) && ends.contains("128+n"),
            "{words:?}: {ends}"
        );
    }
}

#[test]
fn every_preset_stands_in_the_help_of_sweep() {
    let out = Command::new(env!("CARGO_BIN_EXE_linerate")).args(["sweep", "none"]).output().unwrap();
    let line = String::from_utf8(out.stderr).unwrap();
    let (_, presets) = line.trim().split_once("there are: ").unwrap();
    let text = help(&["sweep", "--help"]);
    assert!(presets.split(", ").all(|preset| text.contains(preset)), "{presets}: {text}");
}

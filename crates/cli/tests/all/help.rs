//! Tests of help and version of all commands; the help documents the exit codes.

use std::os::unix::fs::symlink;
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
        (&["agent", "--help"], &[1]),
        (&["doctor", "--help"], &[1, 2, 3]),
        (&["profile", "--help"], &[1, 2, 3, 4]),
        (&["profile", "tx", "--help"], &[1, 2, 3, 4]),
        (&["profile", "flood", "--help"], &[1, 2, 3, 4]),
        (&["bench", "--help"], &[1, 2, 3]),
        (&["xdd", "-h"], &[1, 2]),
        (&["stream", "-h"], &[1, 2]),
        (&["netperf", "-h"], &[1, 2]),
        (&["netserver", "-h"], &[1, 2]),
        (&["iperf", "-h"], &[1, 2]),
        (&["nic", "diff", "--help"], &[1, 2, 3]),
        (&["nic", "restore", "--help"], &[1, 2]),
        (&["pkt-gen", "-h"], &[1, 2]),
    ] {
        // Line breaks do not matter.
        let text = help(words).split_whitespace().collect::<Vec<_>>().join(" ");
        let (_, ends) = text.split_once("Exit codes: 0 ").unwrap_or_else(|| panic!("{words:?}: {text}"));
        assert!(
            codes.iter().all(|code| ends.contains(&format!(" {code} "))) && ends.contains("128+n"),
            "{words:?}: {ends}"
        );
    }
}

#[test]
fn the_codes_of_a_comparison_stand_in_its_help() {
    let text = help(&["compare", "--help"]).split_whitespace().collect::<Vec<_>>().join(" ");
    let (_, ends) = text.split_once("Exit codes: 0 ").unwrap();
    assert!([1, 2, 3, 4].iter().all(|code| ends.contains(&format!(", {code} "))), "{ends}");
}

#[test]
fn every_preset_stands_in_the_help_of_sweep() {
    let out = Command::new(env!("CARGO_BIN_EXE_linerate")).args(["sweep", "none"]).output().unwrap();
    let line = String::from_utf8(out.stderr).unwrap();
    let (_, presets) = line.trim().split_once("give one of ").unwrap();
    let (presets, _) = presets.split_once(", or a file").unwrap();
    let text = help(&["sweep", "--help"]);
    assert!(presets.split(", ").all(|preset| text.contains(preset)), "{presets}: {text}");
}

/// Every command with its subcommands, as its help lists them.
fn commands() -> Vec<Vec<String>> {
    let mut all = vec![Vec::new()];
    let mut at = 0;
    while at < all.len() {
        let path = all[at].clone();
        let text = help(&[path.iter().map(String::as_str).collect::<Vec<_>>(), vec!["--help"]].concat());
        // The root has a list for each kind of user.
        let (begin, end) = if path.is_empty() { ("\n\n", "Options:\n") } else { ("Commands:\n", "\n\n") };
        let list = text.split_once(begin).and_then(|(_, list)| list.split(end).next()).unwrap_or_default();
        for line in list.lines() {
            let name = line.strip_prefix("  ").and_then(|line| line.split(' ').next()).unwrap_or_default();
            if !matches!(name, "" | "help") {
                all.push([&path[..], &[name.to_owned()]].concat());
            }
        }
        at += 1;
    }
    all
}

#[test]
fn help_and_version_are_there_at_every_command_and_subcommand() {
    let all = commands();
    for path in [
        "fcoe target",
        "stack up",
        "nic set",
        "nic save",
        "nic diff",
        "nic restore",
        "nic vi add",
        "nic filter del",
        "profile tx",
        "pkt-gen",
        "xdd",
        "stream",
        "netperf",
        "netserver",
        "iperf",
        "bench",
    ] {
        assert!(all.iter().any(|known| known.join(" ") == path), "{path}: {all:?}");
    }
    for path in all {
        let path: Vec<&str> = path.iter().map(String::as_str).collect();
        let long = help(&[&path[..], &["--help"]].concat());
        assert!(long.contains("Usage: "), "{path:?}: {long}");
        assert!(help(&[&path[..], &["-h"]].concat()).contains("Usage: "), "{path:?}");
        assert_eq!(help(&[&["help"], &path[..]].concat()), long, "help {path:?}");
        for asked in ["-V", "--version"] {
            // The -V of iperf3 and of iperf is another flag, and their -v the one for the version.
            let asked = if (path == ["stream"] || path == ["iperf"]) && asked == "-V" { "-v" } else { asked };
            let version = help(&[&path[..], &[asked]].concat());
            assert!(version.contains(&format!("linerate {}", env!("CARGO_PKG_VERSION"))), "{path:?}: {version}");
            assert_eq!(version.lines().count(), 1, "{path:?}");
        }
    }
    assert_eq!(help(&[]), help(&["-h"]), "no words ask for help");
    assert_eq!(help(&["fcoe", "help", "target"]), help(&["help", "fcoe", "target"]));
}

#[test]
fn a_program_that_is_stood_in_for_has_help_and_version_of_its_own() {
    let dir = tempfile::tempdir().unwrap();
    for name in ["pkt-gen", "xdd"] {
        let link = dir.path().join(name);
        symlink(env!("CARGO_BIN_EXE_linerate"), &link).unwrap();
        let said = |word: &str| {
            let out = Command::new(&link).arg(word).output().unwrap();
            assert_eq!((out.status.code(), out.stderr.len()), (Some(0), 0), "{name} {word}");
            String::from_utf8(out.stdout).unwrap()
        };
        for word in ["-h", "--help", "help"] {
            assert_eq!(said(word), help(&[name, "--help"]), "{name} {word}");
        }
        assert!(said("-h").starts_with(&format!("Usage: {name} ")));
        for word in ["-V", "--version"] {
            assert_eq!(said(word), format!("{name} (linerate {})\n", env!("CARGO_PKG_VERSION")));
        }
        let wrong = Command::new(&link).arg("--bogus").output().unwrap();
        let line = String::from_utf8(wrong.stderr).unwrap();
        assert_eq!((wrong.status.code(), line.lines().count()), (Some(2), 1), "{line}");
        assert!(line.starts_with(&format!("{name}: --bogus: ")), "{line}");
    }
}

/// The commit that was built stands behind the version, and in the runs that it measures.
#[test]
fn a_version_names_its_commit_and_runs_record_it() {
    let version = help(&["--version"]);
    let version = version.trim().strip_prefix("linerate ").unwrap();
    let git = |words: &[&str]| {
        let out = Command::new("git").args(words).current_dir(env!("CARGO_MANIFEST_DIR")).output();
        out.ok().filter(|out| out.status.success()).map(|out| String::from_utf8(out.stdout).unwrap().trim().to_owned())
    };
    let plain = env!("CARGO_PKG_VERSION").to_owned();
    match git(&["ls-files", "--error-unmatch", "Cargo.toml"])
        .and_then(|_| git(&["log", "-1", "--abbrev=12", "--format=%h %cs"]))
    {
        // The last commit may be later than the build of the program.
        Some(commit) => {
            let (_, commits) = version.split_once(" (").unwrap_or_else(|| panic!("{version}, not {commit}"));
            let (hash, date) = commits.trim_end_matches(')').split_once(' ').unwrap();
            assert_eq!(git(&["log", "-1", "--abbrev=12", "--format=%h %cs", hash]), Some(format!("{hash} {date}")));
        }
        None => assert_eq!(version, plain),
    }
    let home = tempfile::tempdir().unwrap();
    let run = |words: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_linerate"));
        command.args(words).env("HOME", home.path()).env_remove("XDG_DATA_HOME").output().unwrap()
    };
    assert!(run(&["pkt-gen", "-i", "null:", "-f", "tx", "-n", "1000", "--keep"]).status.success());
    let document: serde_json::Value = serde_json::from_slice(&run(&["show", "last", "--json"]).stdout).unwrap();
    assert_eq!(document["environment"]["linerate"], version);
}

#[test]
fn commands_stand_in_the_groups_of_the_readme_and_each_has_an_example() {
    let root = help(&[]);
    let readme = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../README.md")).unwrap();
    let groups: Vec<&str> =
        readme.lines().filter_map(|line| line.strip_prefix("**You ")?.split(".**").next()).collect();
    assert!(groups.len() > 4, "{groups:?}");
    for group in groups {
        assert!(root.contains(&format!("\nYou {group}:\n")), "{group}: {root}");
    }
    let names: Vec<String> = commands().into_iter().filter(|path| path.len() == 1).flatten().collect();
    assert!(names.len() > 20, "{names:?}");
    for name in names {
        let text = help(&[&name, "--help"]);
        let (_, example) = text.split_once("Example").unwrap_or_else(|| panic!("{name}: {text}"));
        let mut lines = example.trim_start_matches(['s', ':']).lines().map(str::trim_start);
        assert!(lines.any(|line| line.starts_with(&format!("linerate {name}"))), "{name}: {example}");
    }
    for line in root.lines() {
        assert!(line.chars().count() <= 104, "{line}");
    }
}

//! Tests of the files made from the command line: completions of shells, and man pages.

use crate::process::{Process, until};
use std::path::Path;
use std::process::Command;

fn linerate(words: &[&str]) -> String {
    let out = Command::new(env!("CARGO_BIN_EXE_linerate")).args(words).output().unwrap();
    assert!(out.status.success(), "{words:?}: {}", String::from_utf8_lossy(&out.stderr));
    String::from_utf8(out.stdout).unwrap()
}

/// True if a program is installed; otherwise reports a skip.
fn there(program: &str) -> bool {
    let there = Command::new(program).arg("--version").output().is_ok();
    if !there {
        linerate_skip::skip!("there is no {program}");
    }
    there
}

#[test]
fn bash_completes_commands_subcommands_options_and_values() {
    if !there("bash") {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let script = dir.path().join("linerate.bash");
    std::fs::write(&script, linerate(&["completions", "bash"])).unwrap();
    let checked = Command::new("bash").arg("-n").arg(&script).output().unwrap();
    assert!(checked.status.success() && checked.stderr.is_empty(), "{checked:?}");
    for (typed, wanted) in [
        ("linerate fc", "fcoe"),
        ("linerate fcoe ta", "target"),
        ("linerate nic fi", "filter"),
        ("linerate nic vi se", "set"),
        ("linerate fcoe target --lu", "--lun"),
        ("linerate stack up --wait ada", "adaptive"),
        ("linerate bench chec", "checksum"),
        ("linerate pkt-gen --lat", "--latency"),
        ("linerate completions fi", "fish"),
    ] {
        let replies = completed(&script, dir.path(), typed);
        assert!(replies.iter().any(|word| word == wanted), "{typed}: {replies:?}");
    }
}

/// Words that bash offers in place of the last word, with linerate and the data of a directory; words are broken as bash breaks them.
fn completed(script: &Path, home: &Path, typed: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for word in typed.split(' ') {
        let mut rest = word;
        while let Some(at) = rest.find([':', '=']) {
            words.extend([&rest[..at], &rest[at..=at]].into_iter().filter(|part| !part.is_empty()).map(str::to_owned));
            rest = &rest[at + 1..];
        }
        if !rest.is_empty() || word.is_empty() {
            words.push(rest.to_owned());
        }
    }
    let last = words.last().unwrap();
    let current = if [":", "="].contains(&last.as_str()) { "" } else { last };
    // As readline does: the function that `complete` has registered, compgen's filter behind it.
    let ask = format!(
        "source \"$SCRIPT\"; COMP_LINE='{typed}'; COMP_POINT=${{#COMP_LINE}}; COMP_WORDS=({}); COMP_CWORD={}; \
         registered=$(complete -p '{program}'); [[ $registered =~ -F\\ ([a-z_]+) ]] || exit 9; \
         ${{BASH_REMATCH[1]}} '{program}' '{current}' '{}'; compgen -W \"${{COMPREPLY[*]}}\" -- '{current}'",
        words.iter().map(|word| format!("'{word}' ")).collect::<String>(),
        words.len() - 1,
        words[words.len() - 2],
        program = words[0],
    );
    let bin = home.join("bin");
    if !bin.exists() {
        std::fs::create_dir(&bin).unwrap();
        std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_linerate"), bin.join("linerate")).unwrap();
    }
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    let mut bash = Command::new("bash");
    bash.args(["-c", &ask]).env("SCRIPT", script).env("PATH", path);
    bash.env("XDG_DATA_HOME", home.join("data")).env("XDG_RUNTIME_DIR", home);
    let out = bash.output().unwrap();
    assert!(out.stderr.is_empty(), "{typed}: {}", String::from_utf8_lossy(&out.stderr));
    String::from_utf8(out.stdout).unwrap().lines().map(str::to_owned).collect()
}

/// Regression: scripts knew commands and options alone, and nothing for the names of links.
#[test]
#[cfg(target_os = "linux")]
fn bash_completes_ports_interfaces_runs_switches_and_settings_and_knows_the_names_of_links() {
    if !there("bash") {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let script = dir.path().join("linerate.bash");
    std::fs::write(&script, linerate(&["completions", "bash"])).unwrap();
    let mut switch = Command::new(env!("CARGO_BIN_EXE_linerate"));
    switch.args(["switch", "guests"]).env("XDG_RUNTIME_DIR", dir.path());
    let switch = Process::start(switch);
    let socket = dir.path().join("linerate/control-switch-guests.sock");
    until("the switch is there", || socket.exists());
    let mut kept = Command::new(env!("CARGO_BIN_EXE_linerate"));
    kept.args(["pkt-gen", "-i", "null:", "-f", "tx", "-n", "10", "--keep"])
        .env("XDG_DATA_HOME", dir.path().join("data"));
    assert!(kept.output().unwrap().status.success());
    let folder = std::fs::read_dir(dir.path().join("data/linerate/runs")).unwrap().next().unwrap().unwrap();
    let id = folder.file_name().into_string().unwrap().split_once('-').unwrap().1.to_owned();
    for (typed, wanted) in [
        ("linerate fcoe target -i ca", "cable:"),
        ("linerate pkt-gen -i pa", "packet:"),
        ("pkt-gen -f tx -i packet:l", "lo"),
        ("linerate bridge -i packet:", "lo"),
        ("linerate qualify xdp:lo xdp:l", "lo"),
        ("linerate stack up -i vale:gu", "guests:"),
        ("iperf3 -s --via ta", "tap:"),
        ("iperf3 --para", "--parallel"),
        ("linerate stream --via=ke", "kernel"),
        ("iperf -s --via=packet:l", "lo"),
        ("linerate doctor l", "lo"),
        ("linerate nic set l", "lo"),
        ("linerate nic set lo mt", "mtu"),
        ("linerate nic stats l", "lo"),
        ("linerate switch show g", "guests"),
        ("linerate show la", "last"),
        ("linerate compare last ", &id),
        ("linerate runs rm ", &id),
    ] {
        let replies = completed(&script, dir.path(), typed);
        assert!(replies.iter().any(|word| word == wanted), "{typed}: {replies:?}");
        assert!(!replies.iter().any(|word| word.contains(['<', '['])), "{typed}: {replies:?}");
    }
    // A TCP port is no port.
    for typed in ["iperf3 -p ca", "netperf -p pa", "linerate doctor --fi"] {
        assert!(!completed(&script, dir.path(), typed).iter().any(|word| word.ends_with(':')), "{typed}");
    }
    switch.stop();
}

#[test]
fn every_shell_has_a_script_that_knows_all_commands() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = linerate(&["completions", shell]);
        for word in ["fcoe", "target", "pkt-gen", "latency", "completions"] {
            assert!(script.contains(word), "{shell}: {word}");
        }
    }
}

#[test]
fn man_pages_are_written_named_and_without_fault() {
    let dir = tempfile::tempdir().unwrap();
    let place = dir.path().join("new/man1");
    let said = linerate(&["man", place.to_str().unwrap()]);
    let read = |name: &str| std::fs::read_to_string(place.join(name)).unwrap_or_else(|e| panic!("{name}: {e}"));
    for (name, parts) in [
        ("linerate.1", &["linerate\\-fcoe(1)", "Exit codes:", "128+n"][..]),
        ("linerate-fcoe-target.1", &["\\-\\-lun", "\\-\\-config", "\\-i", "linerate fcoe target"]),
        ("linerate-pkt-gen.1", &["pkt\\-gen \\-i port", "\\-\\-latency", "Functions", "Exit codes:"]),
        ("linerate-xdd.1", &["\\-queuedepth, \\-qd", "Exit codes:"]),
        ("linerate-switch.1", &["linerate switch lab \\-\\-ports a,b:pause=0xff"]),
    ] {
        let page = read(name);
        parts.iter().for_each(|part| assert!(page.contains(part), "{name}: {part}: {page}"));
    }
    assert_eq!(said.lines().count(), std::fs::read_dir(&place).unwrap().count(), "{said}");
    assert!(!said.contains("help"), "{said}");
    if !there("groff") {
        return;
    }
    for page in said.lines() {
        let rendered = Command::new("groff").args(["-man", "-ww", "-Tutf8", "-P-cbu", page]).output().unwrap();
        let faults = String::from_utf8_lossy(&rendered.stderr);
        assert!(rendered.status.success() && faults.is_empty(), "{page}: {faults}");
        let text = String::from_utf8_lossy(&rendered.stdout);
        assert!(text.contains("SYNOPSIS") && text.contains(env!("CARGO_PKG_VERSION")), "{page}: {text}");
    }
}

/// The README's line puts the pages where `man` looks for those of programs in ~/.cargo/bin.
#[test]
fn man_finds_the_pages_where_the_readme_puts_them() {
    if !there("man") {
        return;
    }
    let readme = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../README.md")).unwrap();
    let line = readme.lines().find(|line| line.starts_with("linerate man ")).unwrap();
    let home = tempfile::tempdir().unwrap();
    let bin = home.path().join(".cargo/bin");
    std::fs::create_dir_all(&bin).unwrap();
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_linerate"), bin.join("linerate")).unwrap();
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    let script = format!("{line} >/dev/null && man -w linerate && man -w linerate-fcoe-target");
    let mut shell = Command::new("sh");
    shell.args(["-c", &script]).env("HOME", home.path()).env("PATH", path).env_remove("MANPATH");
    let out = shell.output().unwrap();
    let said = String::from_utf8_lossy(&out.stdout);
    assert!(out.status.success() && said.lines().count() == 2, "{said}{}", String::from_utf8_lossy(&out.stderr));
    let pages = home.path().canonicalize().unwrap();
    assert!(said.lines().all(|page| page.starts_with(pages.to_str().unwrap())), "{said}");
}

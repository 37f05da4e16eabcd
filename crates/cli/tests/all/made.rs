//! Tests of the files made from the command line: completions of shells, and man pages.

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
        let words: Vec<&str> = typed.split(' ').collect();
        let ask = format!(
            "source '{}'; COMP_WORDS=({typed}); COMP_CWORD={}; _linerate linerate '{}' '{}'; echo ${{COMPREPLY[@]}}",
            script.display(),
            words.len() - 1,
            words[words.len() - 1],
            words[words.len() - 2],
        );
        let out = Command::new("bash").args(["-c", &ask]).output().unwrap();
        let reply = String::from_utf8(out.stdout).unwrap();
        assert!(reply.split_whitespace().any(|word| word == wanted), "{typed}: {reply}");
    }
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

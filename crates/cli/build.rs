//! Hands the version with the commit that is built to the crate, as `LINERATE_VERSION`: `0.1.0 (abcdef012345 2026-11-28)`, or
//! `0.1.0` where there is no repository.

use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let commit = commit().map_or_else(String::new, |commit| format!(" ({commit})"));
    println!("cargo::rustc-env=LINERATE_VERSION={}{commit}", env!("CARGO_PKG_VERSION"));
}

/// Commit and its date.
fn commit() -> Option<String> {
    // A source tree may lie in a repository that is not its own.
    git(&["ls-files", "--error-unmatch", "Cargo.toml"])?;
    // Each change of HEAD is a line of its log; without a log, HEAD and the branch change.
    let branch = git(&["rev-parse", "--symbolic-full-name", "HEAD"]);
    for name in ["HEAD", "logs/HEAD"].into_iter().chain(branch.as_deref()) {
        let path = git(&["rev-parse", "--git-path", name])?;
        // A path that is not there would have the crate built each time.
        if Path::new(&path).exists() {
            println!("cargo::rerun-if-changed={path}");
        }
    }
    git(&["log", "-1", "--abbrev=12", "--format=%h %cs"])
}

/// Output of a git command, if it succeeds.
fn git(words: &[&str]) -> Option<String> {
    let out = Command::new("git").args(words).output().ok().filter(|out| out.status.success())?;
    let text = String::from_utf8(out.stdout).ok()?.trim().to_owned();
    (!text.is_empty()).then_some(text)
}

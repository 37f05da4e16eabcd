//! Report of tests that are skipped, wholly or in part: the only way to do so, so that a list of them can be made after
//! a run of all tests. The output of a test is shown only if it fails.
#![forbid(unsafe_code)]

use std::fmt;
use std::io::Write;
use std::panic::Location;

/// Environment variable with the file to which each skip adds a line; without it they go to standard error.
pub const FILE: &str = "LINERATE_SKIPS";

/// Reports that this test is skipped, and why, in the form of `println!`: `skip!("{tool} is not installed")`.
#[macro_export]
macro_rules! skip {
    ($($why:tt)*) => { $crate::skipped(format_args!($($why)*)) };
}

/// True if a program is in the `PATH`. It is not started: an option that prints the version in one program starts the
/// work of another.
#[must_use]
pub fn is_installed(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|dir| dir.join(program).is_file())
}

/// Reports that the test of this thread was skipped at this place.
#[track_caller]
pub fn skipped(why: fmt::Arguments<'_>) {
    let thread = std::thread::current();
    let line = line(thread.name().unwrap_or("a thread"), &Location::caller().to_string(), &why.to_string());
    let kept = std::env::var_os(FILE).map(|file| {
        let file = std::fs::OpenOptions::new().append(true).create(true).open(file);
        // A single write, so that tests running in parallel do not mix their lines.
        file.and_then(|mut file| file.write_all(line.as_bytes()))
    });
    if !matches!(kept, Some(Ok(()))) {
        // `eprintln!` would be captured by the test harness.
        let _ = std::io::stderr().write_all(line.as_bytes());
    }
    print!("{line}");
}

/// Result of a step that needs a privilege or a feature of the kernel; None, with the skip reported, if it failed because
/// that is `missing`. Any other failure fails the test.
#[track_caller]
#[must_use]
pub fn permitted<T, E: fmt::Display>(made: Result<T, E>, missing: impl FnOnce(&E) -> bool) -> Option<T> {
    match made {
        Ok(made) => Some(made),
        Err(e) if missing(&e) => {
            skipped(format_args!("{e}"));
            None
        }
        Err(e) => panic!("{e}"),
    }
}

fn line(test: &str, place: &str, why: &str) -> String {
    let why: Vec<&str> = why.split_whitespace().collect();
    format!("skipped: {test} ({place}): {}\n", why.join(" "))
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    #[test]
    fn programs_are_found_by_the_path() {
        assert!(super::is_installed("sh") && !super::is_installed("no-such-program") && !super::is_installed(""));
    }

    #[test]
    fn only_what_is_missing_is_skipped() {
        assert_eq!(super::permitted(Ok::<_, &str>(7), |_| true), Some(7));
        let failed = std::panic::catch_unwind(|| super::permitted(Err::<u8, _>("broken"), |e| *e == "no privilege"));
        assert_eq!(failed.unwrap_err().downcast_ref::<String>().unwrap(), "broken");
    }

    #[test]
    #[ignore = "a role of another test"]
    fn is_skipped() {
        if std::env::var_os("LINERATE_ROLE").is_some() {
            skip!("no {} here\nat all", "snow");
        }
    }

    #[test]
    fn a_skip_is_seen_although_the_harness_keeps_what_tests_print() {
        let dir = std::env::temp_dir().join(format!("linerate-skip-{}", std::process::id()));
        let role = |file: Option<&std::path::Path>| {
            let mut command = Command::new(std::env::current_exe().unwrap());
            command
                .args(["tests::is_skipped", "--exact", "--ignored"])
                .env("LINERATE_ROLE", "1")
                .env_remove(super::FILE);
            if let Some(file) = file {
                command.env(super::FILE, file);
            }
            let out = command.output().unwrap();
            assert!(out.status.success());
            String::from_utf8(out.stderr).unwrap()
        };
        let is_it =
            |line: &str| line.starts_with("skipped: tests::is_skipped (") && line.ends_with("): no snow here at all");
        assert!(role(None).lines().any(is_it));
        std::fs::create_dir(&dir).unwrap();
        let file = dir.join("skips");
        assert!((0..2).all(|_| !role(Some(&file)).contains("snow")));
        let kept = std::fs::read_to_string(&file).unwrap();
        assert!(kept.lines().count() == 2 && kept.lines().all(is_it), "{kept}");
        assert!(role(Some(&dir)).lines().any(is_it), "a file that cannot be written");
        std::fs::remove_dir_all(dir).unwrap();
    }
}

//! Tests of commands on a terminal and elsewhere: colours, and the progress line.

use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Qualifies a cable, on a terminal of util-linux's `script` or with pipes; returns all output.
fn qualified(terminal: bool, variables: &[(&str, &str)]) -> String {
    static CABLES: AtomicUsize = AtomicUsize::new(0);
    let cable = format!("cable:terminal-{}-{}", std::process::id(), CABLES.fetch_add(1, Relaxed));
    let home = tempfile::tempdir().unwrap();
    let words = format!(
        "'{}' qualify '{cable}{{1' '{cable}}}1' --time 10 --repeats 1 --out out",
        env!("CARGO_BIN_EXE_linerate")
    );
    let mut command = Command::new(if terminal { "script" } else { "sh" });
    match terminal {
        true => command.args(["-qec", &words, "/dev/null"]),
        false => command.args(["-c", &(words + " 2>&1")]),
    };
    command.env_remove("NO_COLOR").envs(variables.iter().copied()).current_dir(&home).env("SHELL", "/bin/sh");
    command.env("XDG_DATA_HOME", home.path());
    let out = command.stdin(Stdio::null()).output().unwrap();
    let said = String::from_utf8_lossy(&out.stdout).into_owned();
    assert!(said.contains("Result: out/result.json"), "{said}{}", String::from_utf8_lossy(&out.stderr));
    said
}

const BOLD: &str = "\x1b[1m";
/// The first step on a line that is overwritten, and on a line of its own.
const RENEWED: &str = "\r\x1b[?7l1/4 ";
const LINE: &str = "1/4 ";

#[test]
#[cfg(target_os = "linux")]
fn a_terminal_has_colours_and_a_line_of_progress_that_is_written_over() {
    let said = qualified(true, &[("TERM", "xterm")]);
    assert!(said.contains(BOLD) && said.contains(RENEWED), "{said:?}");
    // The last step is erased before the table is printed.
    let table = said.rfind("4/4 ").unwrap();
    assert!(said[table..].contains("\r\x1b[?7l\x1b[K"), "{said:?}");
}

#[test]
#[cfg(target_os = "linux")]
fn no_color_takes_the_colours_away_and_a_dumb_terminal_all_escapes() {
    let said = qualified(true, &[("TERM", "xterm"), ("NO_COLOR", "1")]);
    assert!(!said.contains(BOLD) && !said.contains("\x1b[3") && said.contains(RENEWED), "{said:?}");
    let said = qualified(true, &[("TERM", "dumb")]);
    assert!(!said.contains('\x1b') && said.lines().any(|line| line.starts_with(LINE)), "{said:?}");
}

#[test]
fn in_a_pipe_each_step_is_a_plain_line_with_its_number_the_last_figure_and_the_time_left() {
    let said = qualified(false, &[("TERM", "xterm")]);
    assert!(!said.contains(['\x1b', '\r']), "{said:?}");
    let steps: Vec<&str> = said.lines().filter(|line| line.contains("/4 ports: ")).collect();
    assert_eq!(steps.len(), 4, "{said}");
    for (n, step) in (1..).zip(&steps) {
        assert!(step.starts_with(&format!("{n}/4 ")), "{step}");
        assert_eq!(n > 1, step.contains(" left; last: ports: "), "{step}");
    }
}

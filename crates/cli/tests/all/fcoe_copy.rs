//! Tests of `linerate fcoe read` and `linerate fcoe write` between a LUN and pipes that end early, late or never, and
//! outputs that are full.
#![cfg(target_os = "linux")]

use crate::process::{BINARY, LIMIT, Process, SEARCH, killed_by};
use std::fs::File;
use std::io::{Read, Write};
use std::process::{Child, Command, Output, Stdio};

const LUN: usize = 2 << 20;

struct Rig {
    dir: tempfile::TempDir,
    port: String,
    /// Name of the target's port.
    wwpn: String,
    _target: Process,
}

impl Rig {
    fn new(name: &str) -> Self {
        let (dir, cable) = (tempfile::tempdir().unwrap(), format!("cable:{name}-{}", std::process::id()));
        let theirs = format!("{cable}{{1");
        let lun = format!("0=ram:{LUN}");
        let mut target = Process::linerate(&["fcoe", "target", "-i", &theirs, "--lun", &lun], "LUN 0");
        let named = target.line_with("port 20:00:");
        let wwpn = named.trim_start_matches("port ").split(',').next().unwrap().to_owned();
        Self { dir, port: format!("{cable}}}1"), wwpn, _target: target }
    }

    /// Starts a command whose input is a pipe; it is killed if it hangs.
    fn start(&self, what: &[&str], out: Stdio) -> Child {
        let mut command = Command::new("timeout");
        command.args(["-s", "KILL", &LIMIT.as_secs().to_string(), BINARY, "fcoe", what[0], "-i", &self.port]);
        command.args(SEARCH).args(&what[1..]).stdin(Stdio::piped()).stdout(out).stderr(Stdio::piped()).spawn().unwrap()
    }

    /// Writes the input from a pipe to the LUN.
    fn write(&self, more: &[&str], bytes: &[u8]) -> Output {
        let mut child = self.start(&[&["write", "--lun", "0"], more].concat(), Stdio::piped());
        let mut to = child.stdin.take().unwrap();
        std::thread::scope(|scope| {
            // A process that does not take all input closes the pipe.
            scope.spawn(move || drop(to.write_all(bytes)));
            child.wait_with_output().unwrap()
        })
    }

    fn read(&self, len: usize) -> Vec<u8> {
        let path = self.dir.path().join("back");
        let bytes = len.to_string();
        let child = self.start(&["read", "--bytes", &bytes, path.to_str().unwrap()], Stdio::piped());
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{output:?}");
        assert_eq!(String::from_utf8_lossy(&output.stdout), format!("{len} bytes from {}/0\n", self.wwpn));
        std::fs::read(path).unwrap()
    }
}

fn content(n: usize, seed: u32) -> Vec<u8> {
    (0..n).map(|i| (u32::try_from(i).unwrap().wrapping_add(seed).wrapping_mul(2_654_435_761) >> 24) as u8).collect()
}

/// Checks for one line on standard error with these words, and exit code 1.
fn fails(output: &Output, words: &[&str]) {
    let line = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert!(words.iter().all(|word| line.contains(word)) && line.lines().count() == 1, "{words:?}: {line}");
}

/// Regression: a copy waited for the rest of an input that was shorter than the LUN in a loop that no signal ended, and
/// input beyond the end of the LUN was dropped silently.
#[test]
fn an_input_from_a_pipe_may_be_shorter_than_the_lun_and_a_longer_one_is_an_error() {
    let rig = Rig::new("copy-in");
    for n in [0, 512 << 10, 700 << 10, LUN] {
        let input = content(n, 7);
        let output = rig.write(&[], &input);
        assert!(output.status.success(), "{n}: {output:?}");
        // Which disk it was is said: without --target it is that of the target that was found.
        assert_eq!(String::from_utf8_lossy(&output.stdout), format!("{n} bytes to {}/0\n", rig.wwpn));
        assert!(n == 0 || rig.read(n) == input, "{n}");
    }
    for n in [LUN + 1, 3 * LUN] {
        let input = content(n, 9);
        fails(&rig.write(&[], &input), &["longer than the LUN", &format!("{LUN} bytes were written")]);
        assert!(rig.read(LUN) == input[..LUN], "{n}");
    }
    // From the middle on; exactly so much; more than the input has; no multiple of the block size.
    let input = content(1 << 20, 11);
    fails(&rig.write(&["--offset", "1536K"], &input), &["longer than the LUN", "524288 bytes were written"]);
    let output = rig.write(&["--bytes", "256K"], &input);
    assert!(output.status.success() && output.stdout.starts_with(b"262144 bytes to "), "{output:?}");
    fails(&rig.write(&["--bytes", "2M"], &input), &["1048576 bytes were written"]);
    fails(&rig.write(&[], &input[..1000]), &["multiple", "512 bytes were written"]);
    // A file that is not regular has a length of 0 and no end.
    fails(&rig.write(&["/dev/zero"], &[]), &["longer than the LUN", "2097152 bytes were written"]);
    assert!(rig.read(LUN).iter().all(|byte| *byte == 0));
}

/// Sends a signal to `timeout`, which passes it on to its child, and checks the end of the copy.
fn ends_of(mut child: Child, signal: &str) {
    let pid = child.id().to_string();
    assert!(Command::new("kill").args(["-s", signal, &pid]).status().unwrap().success());
    // `timeout` returns the exit code of its child, or 124 if it was itself told to end.
    let status = child.wait().unwrap();
    assert!(matches!(status.code(), Some(124 | 130 | 143)) || killed_by(status).is_some(), "{status:?}");
    let mut log = String::new();
    child.stderr.take().unwrap().read_to_string(&mut log).unwrap();
    assert!(log.contains("bytes were copied"), "{log}");
}

#[test]
fn a_signal_ends_a_copy_whose_pipe_has_nothing_or_takes_nothing() {
    let rig = Rig::new("copy-signal");
    for signal in ["TERM", "INT"] {
        let mut child = rig.start(&["write"], Stdio::piped());
        let mut to = child.stdin.take().unwrap();
        // More than the pipe holds: some of it was read, so the copy has begun.
        to.write_all(&content(600 << 10, 1)).unwrap();
        ends_of(child, signal);
        drop(to);

        let mut child = rig.start(&["read"], Stdio::piped());
        let mut from = child.stdout.take().unwrap();
        from.read_exact(&mut [0; 4096]).unwrap();
        ends_of(child, signal);
        drop(from);
    }
}

#[test]
fn an_output_that_takes_no_more_is_an_error() {
    let rig = Rig::new("copy-out");
    // Less than the buffer of standard output, and much more.
    for bytes in ["512", "2M"] {
        let full = File::options().write(true).open("/dev/full").unwrap();
        let output = rig.start(&["read", "--bytes", bytes], full.into()).wait_with_output().unwrap();
        fails(&output, &["standard output", "No space left", "0 bytes were copied"]);
        let output = rig.start(&["read", "--bytes", bytes, "/dev/full"], Stdio::piped()).wait_with_output().unwrap();
        fails(&output, &["/dev/full", "No space left", "0 bytes were copied"]);
        let mut child = rig.start(&["read", "--bytes", bytes], Stdio::piped());
        drop(child.stdout.take());
        // As with every command: a reader that is gone needs no message.
        let output = child.wait_with_output().unwrap();
        assert_eq!((output.status.code(), &output.stderr[..]), (Some(141), &b""[..]), "{output:?}");
    }
}

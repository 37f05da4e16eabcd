//! The lines to and from the far end, which `ssh` starts.

use super::near::Far;
use super::words::{GREETING, LONGEST_REPLY, Request, reply};
use linerate_host::shell::word;
use linerate_rt::Stop;
use linerate_text::plain;
use std::io::{BufRead, BufReader, Read, Write, stderr};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::{Duration, Instant};

/// Time for `ssh` to have the far end run: somebody may have to type a password.
const LOGIN: Duration = Duration::from_secs(120);
/// Time for a reply.
const PATIENCE: Duration = Duration::from_secs(40);
/// Time for the far end to put back what it changed.
const SETTLES: Duration = Duration::from_secs(20);
const LOOK: Duration = Duration::from_millis(100);
/// Lines before the greeting that a login may print, and lines of errors that are shown.
const NOISE: usize = 200;
/// Longest piece of such a line of errors, bytes.
const LONGEST_ERROR: u64 = 1000;
/// Time for the last errors to be read once the login has ended: a process that it left behind may keep its end open.
const LAST_ERRORS: Duration = Duration::from_secs(1);

/// The command of the far end, which ssh(1) hands to a shell there: a path, which may begin at the user's home.
fn command_there(program: &str) -> String {
    match program.strip_prefix("~/") {
        Some(rest) => format!("~/{} agent", word(rest)),
        None => format!("{} agent", word(program)),
    }
}

/// Shows the errors of a login, which are whatever the other machine says: each line with the login's name, and without what
/// would drive a terminal.
fn show(from: impl Read, whose: &str, _shows: &SyncSender<()>) {
    let (mut from, mut lines) = (BufReader::new(from), 0);
    loop {
        let mut bytes = Vec::new();
        if !matches!((&mut from).take(LONGEST_ERROR).read_until(b'\n', &mut bytes), Ok(1..)) {
            return;
        }
        lines += 1;
        // They are read on, or the other end would wait.
        let _ = match lines {
            ..=NOISE => writeln!(stderr(), "{whose}: {}", plain(String::from_utf8_lossy(&bytes).trim_end())),
            _ if lines == NOISE + 1 => {
                writeln!(stderr(), "{whose}: it says more than {NOISE} lines; the rest is left out")
            }
            _ => Ok(()),
        };
    }
}

/// The lines to and from the far end.
pub(super) struct Line {
    child: Child,
    /// Closed in the end: that ends the far one.
    input: Option<ChildStdin>,
    replies: Receiver<String>,
    /// Ends when there are no more errors to be shown.
    errors: Receiver<()>,
    destination: String,
    program: String,
    /// The far end's version, host and kernel.
    pub(super) system: String,
}

impl Line {
    pub(super) fn open(far: &Far, stop: &Stop) -> Result<Self, String> {
        let mut words = far.ssh.split_ascii_whitespace();
        let program = words.next().ok_or("--ssh: give a command that logs in, as ssh -p 2222")?;
        let mut command = Command::new(program);
        command.args(words).args(["--", far.destination.as_str(), &command_there(&far.program)]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(|e| format!("--remote: {program}: {e}; name it by --ssh"))?;
        let (input, output) = (child.stdin.take(), child.stdout.take());
        let (shows, errors) = sync_channel(0);
        if let Some(from) = child.stderr.take() {
            let whose = plain(&format!("{program} {}", far.destination));
            std::thread::spawn(move || show(from, &whose, &shows));
        }
        let (send, replies) = sync_channel(1);
        std::thread::spawn(move || {
            let Some(output) = output else { return };
            let mut output = BufReader::new(output);
            loop {
                let mut bytes = Vec::new();
                let read = (&mut output).take(LONGEST_REPLY as u64).read_until(b'\n', &mut bytes);
                let line = String::from_utf8_lossy(&bytes).trim_end().to_owned();
                if !matches!(read, Ok(1..)) || send.send(line).is_err() {
                    return;
                }
            }
        });
        let (destination, program) = (far.destination.clone(), far.program.clone());
        let mut line = Self { child, input, replies, errors, destination, program, system: String::new() };
        let until = Instant::now() + LOGIN;
        for _ in 0..NOISE {
            let said = line.next(until, stop)?;
            if let Some(system) = said.strip_prefix(GREETING) {
                system.clone_into(&mut line.system);
                return Ok(line);
            }
        }
        Err(line.trouble("it prints much, and no greeting"))
    }

    fn trouble(&self, why: &str) -> String {
        let (to, runs) = (plain(&self.destination), command_there(&self.program));
        format!("--remote: {to}: {why}; see that this runs there: {runs}")
    }

    fn next(&mut self, until: Instant, stop: &Stop) -> Result<String, String> {
        loop {
            match self.replies.recv_timeout(LOOK) {
                Ok(line) => return Ok(line),
                Err(RecvTimeoutError::Disconnected) => return Err(self.trouble("the connection has ended")),
                Err(RecvTimeoutError::Timeout) if stop.asked() => return Err("stopped".to_owned()),
                Err(RecvTimeoutError::Timeout) if Instant::now() >= until => return Err(self.trouble("no answer")),
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }

    pub(super) fn ask(&mut self, request: Request, stop: &Stop) -> Result<String, String> {
        let sent = self.input.as_mut().map(|input| writeln!(input, "{request}").and_then(|()| input.flush()));
        if !matches!(sent, Some(Ok(()))) {
            return Err(self.trouble("the connection has ended"));
        }
        let said = self.next(Instant::now() + PATIENCE, stop)?;
        let answer = reply(&said).ok_or_else(|| self.trouble(&format!("it says {said:?}")))?;
        answer.map_err(|why| format!("{} says: {}", plain(&self.destination), plain(&why)))
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        self.input = None;
        let until = Instant::now() + SETTLES;
        while Instant::now() < until && matches!(self.child.try_wait(), Ok(None)) {
            std::thread::sleep(Duration::from_millis(10));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = self.errors.recv_timeout(LAST_ERRORS);
    }
}

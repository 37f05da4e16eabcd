//! Processes of a test: each is read while it runs, awaited with a time limit, and ended with the test.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

pub(crate) const BINARY: &str = env!("CARGO_BIN_EXE_linerate");
/// Time limit for any event that must happen.
pub(crate) const LIMIT: Duration = Duration::from_secs(60);
/// Words for a search for targets that a pause amid a login, which may cost two rounds of beacons, does not end. Without them it
/// takes 15 s.
pub(crate) const SEARCH: [&str; 2] = ["--timeout", "50"];
/// Time limit for a process to end after a signal, before it is killed.
const PATIENCE: Duration = Duration::from_secs(10);

/// Tries until it is so, which another program or the kernel makes it a little later.
pub(crate) fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + LIMIT;
    while !is_so() {
        assert!(Instant::now() < deadline, "not within {LIMIT:?}: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// A process that is ended when it is dropped.
pub(crate) struct Process {
    child: Child,
    lines: Receiver<Line>,
    limit: Duration,
    out: String,
    log: String,
}

/// A line of output: from standard output or standard error.
enum Line {
    Out(String),
    Log(String),
}

/// Exit code and output of a process that has ended.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) log: String,
}

/// Held while a process is started, and while a port is tried: what is open here is open in a new process until that begins its
/// program, and a listener that was closed here still has its port.
pub(crate) fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Process {
    pub(crate) fn start(mut command: Command) -> Self {
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let spawned = {
            let _alone = alone();
            command.spawn()
        };
        let mut child = spawned.unwrap_or_else(|e| panic!("{command:?}: {e}"));
        let (to, lines) = channel();
        read(child.stdout.take().unwrap(), Line::Out, to.clone());
        read(child.stderr.take().unwrap(), Line::Log, to);
        Self { child, lines, limit: LIMIT, out: String::new(), log: String::new() }
    }

    /// Starts a command, and returns when a line of its output has these words.
    pub(crate) fn ready(command: Command, words: &str) -> Self {
        let mut process = Self::start(command);
        process.until(words);
        process
    }

    /// Starts `linerate …`, and returns when a line of its output has these words.
    pub(crate) fn linerate(arguments: &[&str], words: &str) -> Self {
        let mut command = Command::new(BINARY);
        command.args(arguments);
        Self::ready(command, words)
    }

    /// Sets the time limit of each wait.
    pub(crate) fn within(mut self, limit: Duration) -> Self {
        self.limit = limit;
        self
    }

    /// Reads on until a line has these words; returns the line.
    pub(crate) fn until(&mut self, words: &str) -> String {
        let deadline = Instant::now() + self.limit;
        loop {
            match self.lines.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(line) => {
                    let line = self.note(line);
                    if line.contains(words) {
                        return line;
                    }
                }
                Err(e) => panic!("{e}: no '{words}' in: {}{}", self.out, self.log),
            }
        }
    }

    /// Returns the line with these words, which may have come already: lines of the two outputs overtake each other.
    pub(crate) fn line_with(&mut self, words: &str) -> String {
        let before = self.out.lines().chain(self.log.lines()).find(|line| line.contains(words)).map(str::to_owned);
        before.unwrap_or_else(|| self.until(words))
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn signal(&self, name: &str) {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args(["-s", name, &pid]).status().unwrap().success());
    }

    /// True if the process ends by itself within `time`.
    pub(crate) fn ends_within(&mut self, time: Duration) -> bool {
        let deadline = Instant::now() + time;
        while self.child.try_wait().unwrap().is_none() {
            if Instant::now() > deadline {
                return false;
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        true
    }

    /// Waits for the end of the process.
    pub(crate) fn end(mut self) -> Ended {
        let deadline = Instant::now() + self.limit;
        loop {
            match self.lines.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(line) => drop(self.note(line)),
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => panic!("it goes on: {}{}", self.out, self.log),
            }
        }
        assert!(self.ends_within(self.limit), "it goes on: {}{}", self.out, self.log);
        let code = self.child.wait().unwrap().code();
        Ended { code, out: std::mem::take(&mut self.out), log: std::mem::take(&mut self.log) }
    }

    /// Waits for the end of the process, which must succeed; returns all output.
    pub(crate) fn done(self) -> String {
        self.ends_by(0)
    }

    /// Sends Ctrl-C; returns all output.
    pub(crate) fn stop(self) -> String {
        self.signal("INT");
        self.ends_by(130)
    }

    /// Sends SIGKILL and waits.
    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    fn ends_by(self, code: i32) -> String {
        let ended = self.end();
        assert_eq!(ended.code, Some(code), "{}", ended.said());
        ended.said()
    }

    fn note(&mut self, line: Line) -> String {
        let (to, line) = match line {
            Line::Out(line) => (&mut self.out, line),
            Line::Log(line) => (&mut self.log, line),
        };
        to.push_str(&line);
        line
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if let Ok(None) = self.child.try_wait() {
            // Not SIGKILL: processes that it has started must end too.
            let _ = Command::new("kill").args(["-s", "TERM", &self.child.id().to_string()]).status();
            if !self.ends_within(PATIENCE) {
                let _ = self.child.kill();
                let _ = self.child.wait();
            }
        }
        // A test that fails prints the output of its processes.
        if std::thread::panicking() {
            while let Ok(line) = self.lines.recv_timeout(PATIENCE) {
                self.note(line);
            }
            eprintln!("process {} said: {}{}", self.child.id(), self.out, self.log);
        }
    }
}

impl Ended {
    /// All output.
    pub(crate) fn said(&self) -> String {
        self.out.clone() + &self.log
    }
}

/// Passes on lines, of any bytes.
fn read(stream: impl Read + Send + 'static, line: fn(String) -> Line, to: Sender<Line>) {
    std::thread::spawn(move || {
        let (mut stream, mut bytes) = (BufReader::new(stream), Vec::new());
        while stream.read_until(b'\n', &mut bytes).is_ok_and(|n| n > 0) {
            if to.send(line(String::from_utf8_lossy(&bytes).into_owned())).is_err() {
                return;
            }
            bytes.clear();
        }
    });
}

/// Signal that a process died of.
pub(crate) fn killed_by(status: std::process::ExitStatus) -> Option<i32> {
    std::os::unix::process::ExitStatusExt::signal(&status)
}

/// Number behind a name at the beginning of a line.
pub(crate) fn counter(said: &str, name: &str) -> u64 {
    let value = said.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.trim().parse().ok());
    value.unwrap_or_else(|| panic!("no {name} in:\n{said}"))
}

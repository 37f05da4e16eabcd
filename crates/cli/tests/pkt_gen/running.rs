//! A pkt-gen that runs beside the test.

use linerate_load::result::{RunResult, Test};
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How long anything may take that must happen.
pub(crate) const LIMIT: Duration = Duration::from_secs(60);

/// A child process whose output is read while it runs. It is killed when this value goes first.
pub(crate) struct Running {
    child: Child,
    log: Receiver<String>,
    /// The lines of its log so far.
    pub(crate) said: Vec<String>,
    out: Option<JoinHandle<String>>,
}

/// What it left.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) log: String,
}

impl Running {
    /// Starts a command, and returns when it has said `word` on standard error.
    pub(crate) fn start(command: Command, word: &str) -> Self {
        let mut running = Self::spawn(command);
        running.until_said(word);
        running
    }

    /// Starts a command whose standard output and error are pipes.
    pub(crate) fn spawn(mut command: Command) -> Self {
        let mut child = command.spawn().unwrap();
        let (lines, log) = channel();
        let stderr = BufReader::new(child.stderr.take().unwrap());
        std::thread::spawn(move || stderr.lines().map_while(Result::ok).try_for_each(|line| lines.send(line)));
        let mut stdout = child.stdout.take().unwrap();
        let out = std::thread::spawn(move || {
            let mut text = String::new();
            stdout.read_to_string(&mut text).unwrap();
            text
        });
        Self { child, log, said: Vec::new(), out: Some(out) }
    }

    /// Until a line of its log contains `word`.
    pub(crate) fn until_said(&mut self, word: &str) {
        let deadline = Instant::now() + LIMIT;
        while !self.said.iter().any(|line| line.contains(word)) {
            match self.log.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(line) => self.said.push(line),
                Err(e) => panic!("{e}: no '{word}' in {:?}", self.said),
            }
        }
    }

    /// Sends a signal as `kill` does.
    pub(crate) fn signal(&self, name: &str) {
        crate::signal(&self.child, name);
    }

    /// Whether it ends by itself in that time.
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

    /// Waits for its end.
    pub(crate) fn end(mut self) -> Ended {
        assert!(self.ends_within(LIMIT), "still running: {:?}", self.said);
        let code = self.child.wait().unwrap().code();
        loop {
            match self.log.recv_timeout(LIMIT) {
                Ok(line) => self.said.push(line),
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => panic!("somebody holds its standard error open"),
            }
        }
        let out = self.out.take().map(|out| out.join().unwrap()).unwrap_or_default();
        Ended { code, out, log: self.said.join("\n") }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Ended {
    /// The one test of the document on standard output.
    pub(crate) fn test(&self) -> Test {
        let mut result = RunResult::from_json(&self.out).unwrap_or_else(|e| panic!("{e}: {self:?}"));
        assert_eq!(result.tests.len(), 1);
        result.tests.remove(0)
    }
}

//! One client of a control socket: its request is read, then its answer written, as far as it goes without waiting.

use linerate_port::{Interest, Sleep};
use std::io::{ErrorKind, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;

/// Longest request, bytes, without its line's end.
pub(super) const LONGEST_REQUEST: usize = 4096;
/// Longest answer that a client takes, bytes.
pub(super) const LONGEST_ANSWER: usize = 64 << 20;
/// Time limits for a client to ask, and to take the answer, ns.
const ASKS: u64 = 2_000_000_000;
const READS: u64 = 10_000_000_000;

pub(super) struct Session {
    stream: UnixStream,
    /// Time at which it is given up.
    pub(super) until: u64,
    state: State,
}

enum State {
    /// The part of its request that has come.
    Asks(Vec<u8>),
    /// The answer, and how much of it was sent.
    Reads(Vec<u8>, usize),
}

/// Outcome of a turn of a session.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Turn {
    /// It waits for its client.
    Waits,
    /// The client asks this; [`Session::answer`] comes next.
    Asked(String),
    Over,
}

impl Session {
    /// Begins with a client that has connected; the stream does not block.
    pub(super) fn new(stream: UnixStream, now: u64) -> Self {
        Self { stream, until: now + ASKS, state: State::Asks(Vec::new()) }
    }

    /// Goes on as far as possible.
    pub(super) fn turn(&mut self) -> Turn {
        match &mut self.state {
            State::Asks(request) => hear(&mut self.stream, request),
            State::Reads(answer, sent) => tell(&mut self.stream, answer, sent),
        }
    }

    pub(super) fn answer(&mut self, now: u64, answer: Result<String, String>) {
        let (status, text) = match answer {
            Ok(text) => ("ok", text),
            Err(text) => ("error", text),
        };
        let head = format!("{status} {}\n", text.len());
        self.state = State::Reads([head.as_bytes(), text.as_bytes()].concat(), 0);
        self.until = now + READS;
    }

    /// Bytes of the answer that its client was sent.
    pub(super) fn sent(&self) -> usize {
        match self.state {
            State::Asks(_) => 0,
            State::Reads(_, sent) => sent,
        }
    }

    /// Condition of a sleep that its client ends.
    pub(super) fn sleep(&self) -> Sleep<'_> {
        let interest = match self.state {
            State::Asks(_) => Interest::Readable,
            State::Reads(..) => Interest::Writable,
        };
        Sleep::on(self.stream.as_fd(), interest)
    }
}

fn hear(stream: &mut UnixStream, request: &mut Vec<u8>) -> Turn {
    let mut chunk = [0; 1024];
    // One byte more than the longest request: its line's end.
    while request.len() <= LONGEST_REQUEST {
        match stream.read(&mut chunk) {
            Ok(0) => return Turn::Over,
            Ok(n) => request.extend_from_slice(&chunk[..n]),
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            Err(e) if e.kind() == ErrorKind::WouldBlock => return Turn::Waits,
            Err(_) => return Turn::Over,
        }
        if let Some(end) = request.iter().position(|byte| *byte == b'\n') {
            // A request that is no text, or is followed by something, is none.
            let behind = end + 1 != request.len();
            return match std::str::from_utf8(&request[..end]) {
                Ok(line) if !behind => Turn::Asked(line.to_owned()),
                _ => Turn::Over,
            };
        }
    }
    Turn::Over
}

fn tell(stream: &mut UnixStream, answer: &[u8], sent: &mut usize) -> Turn {
    while *sent < answer.len() {
        match stream.write(&answer[*sent..]) {
            Ok(0) => return Turn::Over,
            Ok(n) => *sent += n,
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            Err(e) if e.kind() == ErrorKind::WouldBlock => return Turn::Waits,
            Err(_) => return Turn::Over,
        }
    }
    Turn::Over
}

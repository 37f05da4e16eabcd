//! The control connection: states and messages, each within a time, and until a stop is requested.

use super::fault::Fault;
use super::protocol::{Inbox, Malformed, State, framed};
use crate::socket::TcpStream;
use crate::socket::sys::{Ready, poll};
use linerate_rt::Stop;
use serde::Serialize;
use std::io::{ErrorKind, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

/// Time for the other end to take what is sent to it.
const TAKES: Duration = Duration::from_secs(10);
/// Bytes of a message that are read at once.
const PIECE: usize = 16 << 10;

pub(super) struct Control {
    stream: TcpStream,
    stop: Stop,
}

impl Control {
    /// Takes a connection, whose waits end when the stop is requested.
    pub(super) fn new(stream: TcpStream, stop: &Stop) -> Result<Self, Fault> {
        stream.set_nodelay(true).and_then(|()| stream.set_polled(TAKES)).map_err(Fault::Receive)?;
        Ok(Self { stream, stop: stop.clone() })
    }

    pub(super) fn send(&self, bytes: &[u8]) -> Result<(), Fault> {
        (&self.stream).write_all(bytes).map_err(Fault::Send)
    }

    /// Sends a state.
    pub(super) fn say(&self, state: State) -> Result<(), Fault> {
        self.send(&[state.byte()])
    }

    /// Sends a message.
    pub(super) fn tell(&self, message: &impl Serialize) -> Result<(), Fault> {
        self.send(&framed(message).map_err(Fault::Results)?)
    }

    /// Tells a client why it is refused; it need not listen.
    pub(super) fn refuse(&self, fault: &Fault) {
        let (code, errno) = fault.numbers();
        let words = [&[State::ServerError.byte()][..], &code.to_be_bytes(), &errno.to_be_bytes()].concat();
        let _ = self.send(&words);
    }

    /// Waits for a state; `None` when the time is over.
    pub(super) fn state(&self, within: Duration) -> Result<Option<State>, Fault> {
        let mut byte = [0];
        match self.read(&mut byte, Instant::now() + within)? {
            Some(0) => Err(Fault::Closed),
            Some(_) => State::from_byte(byte[0]).map(Some).ok_or(Fault::Unknown),
            None => Ok(None),
        }
    }

    /// Receives a message of at most so many bytes, whole within this time.
    pub(super) fn message(&self, most: u32, within: Duration, wrong: fn(Malformed) -> Fault) -> Result<Vec<u8>, Fault> {
        let (mut inbox, until) = (Inbox::new(most), Instant::now() + within);
        let mut piece = [0; PIECE];
        loop {
            let wants = inbox.wants().map_err(wrong)?.min(PIECE);
            if wants == 0 {
                return Ok(inbox.json().to_vec());
            }
            match self.read(&mut piece[..wants], until)? {
                Some(0) => return Err(Fault::Closed),
                Some(n) => inbox.take(&piece[..n]),
                None => return Err(wrong(Malformed::Content("it did not come in time".to_owned()))),
            }
        }
    }

    /// Receives two numbers, iperf3's and the system's, behind [`State::ServerError`].
    pub(super) fn refusal(&self, within: Duration) -> Fault {
        let (mut bytes, mut got, until) = ([0; 8], 0, Instant::now() + within);
        while got < bytes.len() {
            match self.read(&mut bytes[got..], until) {
                Ok(Some(n)) if n > 0 => got += n,
                // Some versions send one number.
                _ => break,
            }
        }
        let word = |at: usize| bytes.get(at..).and_then(|rest| rest.first_chunk::<4>()).copied().unwrap_or_default();
        Fault::Refused { code: u32::from_be_bytes(word(0)), errno: i32::from_be_bytes(word(4)) }
    }

    /// Reads what there is, until this time; 0 bytes are the end, `None` says that the time is over.
    fn read(&self, to: &mut [u8], until: Instant) -> Result<Option<usize>, Fault> {
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let stream = self.stream.readiness().map_err(Fault::Receive)?;
            let on = [(stream, Ready::Read), (self.stop.as_fd(), Ready::Read)];
            let ready = poll(&on, Some(left)).map_err(Fault::Receive)?;
            if ready[1] {
                return Err(Fault::Stopped);
            }
            if !ready[0] {
                return Ok(None);
            }
            match (&self.stream).read(to) {
                Ok(n) => return Ok(Some(n)),
                Err(e) if matches!(e.kind(), ErrorKind::Interrupted | ErrorKind::WouldBlock) => {}
                Err(e) if e.kind() == ErrorKind::ConnectionReset => return Ok(Some(0)),
                Err(e) => return Err(Fault::Receive(e)),
            }
        }
    }

    /// Round trip to the other end, as far as it is known.
    pub(super) fn round_trip(&self) -> Duration {
        self.stream.info().map_or(Duration::ZERO, |info| Duration::from_micros(info.rtt))
    }

    /// Descriptor for poll, readable when the other end may have said something, or is gone.
    pub(super) fn readiness(&self) -> Result<BorrowedFd<'_>, Fault> {
        self.stream.readiness().map_err(Fault::Receive)
    }

    /// True if it has, after [`Self::readiness`] was readable.
    pub(super) fn is_readable(&self) -> bool {
        self.stream.is_readable()
    }
}

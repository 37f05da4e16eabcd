//! Connecting to a server in a thread of its own, since name resolution, connection and negotiation may take long;
//! repeated while there is no server, at growing intervals.

use super::stream::{Stream, Until};
use super::uri::NbdUri;
use linerate_nbd::{Agreed, NegotiateError, Negotiation};
use std::io::{self, ErrorKind, Read, Write};
use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError, sync_channel};
use std::time::{Duration, Instant};
use thiserror::Error;

/// Time between the first two attempts, doubled each time.
const FIRST: Duration = Duration::from_millis(100);
/// Longest time between attempts.
const LAST: Duration = Duration::from_secs(1);
/// Interval of checks for the end of an attempt.
const LOOK: Duration = Duration::from_millis(20);

/// Reason for which there is no connection to an export.
#[derive(Debug, Error)]
pub(super) enum ConnectError {
    #[error("the server cannot be reached ({0})")]
    Unreachable(#[from] io::Error),
    #[error(transparent)]
    Negotiate(#[from] NegotiateError),
}

type Outcome = Result<(Stream, Agreed), ConnectError>;

/// Connects and negotiates; ends within `timeout`.
pub(super) fn connect(uri: &NbdUri, timeout: Duration) -> Outcome {
    attempt(uri, timeout)?.recv_timeout(timeout).unwrap_or_else(|e| match e {
        RecvTimeoutError::Timeout => Err(io::Error::from(ErrorKind::TimedOut).into()),
        RecvTimeoutError::Disconnected => Err(io::Error::from(ErrorKind::ConnectionAborted).into()),
    })
}

/// Starts a connection. If the receiver is dropped, the attempt ends by itself.
fn attempt(uri: &NbdUri, timeout: Duration) -> io::Result<Receiver<Outcome>> {
    let (tx, rx) = sync_channel(1);
    let uri = uri.clone();
    std::thread::Builder::new().name("nbd-connect".into()).spawn(move || {
        let deadline = Instant::now() + timeout;
        let connected = || {
            let mut stream = Stream::connect(&uri.address, deadline)?;
            let agreed = negotiate(&mut Until(&mut stream, deadline), &uri.export)?;
            stream.set_nonblocking()?;
            Ok((stream, agreed))
        };
        // The receiver may be gone.
        let _ = tx.send(connected());
    })?;
    Ok(rx)
}

/// Negotiates over a fresh connection, up to the first request.
fn negotiate(stream: &mut Until<'_>, export: &str) -> Result<Agreed, ConnectError> {
    let mut negotiation = Negotiation::new(export);
    loop {
        match stream.read(negotiation.room()) {
            Ok(0) => return Err(negotiation.hung_up().into()),
            Ok(count) => {
                if let Some(agreed) = negotiation.received(count)? {
                    return Ok(agreed);
                }
            }
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            Err(e) => return Err(e.into()),
        }
        stream.write_all(&negotiation.output())?;
    }
}

/// Attempts to reconnect to a lost server.
#[derive(Debug)]
pub(super) struct Reconnect {
    running: Option<Receiver<Outcome>>,
    next: Instant,
    pause: Duration,
}

impl Reconnect {
    /// To be called when the server was lost, with the time from which it may be connected to.
    pub(super) fn new(from: Instant) -> Self {
        Self { running: None, next: from + FIRST, pause: FIRST }
    }

    /// Continues the attempts; returns a connection once there is one.
    pub(super) fn poll(&mut self, now: Instant, uri: &NbdUri, timeout: Duration) -> Option<(Stream, Agreed)> {
        if let Some(running) = &self.running {
            match running.try_recv() {
                Ok(Ok(connected)) => {
                    self.running = None;
                    return Some(connected);
                }
                Err(TryRecvError::Empty) => return None,
                Ok(Err(_)) | Err(TryRecvError::Disconnected) => self.failed(now),
            }
        } else if now >= self.next {
            match attempt(uri, timeout) {
                Ok(running) => self.running = Some(running),
                Err(_) => self.failed(now),
            }
        }
        None
    }

    /// To be called after an attempt that failed, or that found a different export.
    pub(super) fn failed(&mut self, now: Instant) {
        self.running = None;
        self.pause = (self.pause * 2).min(LAST);
        self.next = now + self.pause;
    }

    /// Time of the next call of [`Reconnect::poll`].
    pub(super) fn due(&self, now: Instant) -> Instant {
        if self.running.is_some() { now + LOOK } else { self.next }
    }
}

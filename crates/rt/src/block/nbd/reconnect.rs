//! Connecting to a server in a thread of its own, since names, connections and negotiations may take their time; again
//! and again while there is no server, at growing distances.

use super::negotiate::{Agreed, NegotiateError, negotiate};
use super::stream::{Stream, Until};
use super::uri::NbdUri;
use std::io::ErrorKind;
use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError, sync_channel};
use std::time::{Duration, Instant};

/// Between the first two attempts, and doubled each time.
const FIRST: Duration = Duration::from_millis(100);
/// Between attempts at most.
const LAST: Duration = Duration::from_secs(5);
/// How often one looks whether an attempt has ended.
const LOOK: Duration = Duration::from_millis(20);

type Outcome = Result<(Stream, Agreed), NegotiateError>;

/// Connects and negotiates; ends within `timeout`.
pub(super) fn connect(uri: &NbdUri, timeout: Duration) -> Outcome {
    attempt(uri, timeout)?.recv_timeout(timeout).unwrap_or_else(|e| match e {
        RecvTimeoutError::Timeout => Err(std::io::Error::from(ErrorKind::TimedOut).into()),
        RecvTimeoutError::Disconnected => Err(std::io::Error::from(ErrorKind::ConnectionAborted).into()),
    })
}

/// A connection under way. Whoever does not wait for it lets it end by itself.
fn attempt(uri: &NbdUri, timeout: Duration) -> std::io::Result<Receiver<Outcome>> {
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
        // Nobody may be waiting any more.
        let _ = tx.send(connected());
    })?;
    Ok(rx)
}

/// Attempts to get a lost server back.
#[derive(Debug)]
pub(super) struct Reconnect {
    running: Option<Receiver<Outcome>>,
    next: Instant,
    pause: Duration,
}

impl Reconnect {
    /// The server was lost now.
    pub(super) fn new(now: Instant) -> Self {
        Self { running: None, next: now + FIRST, pause: FIRST }
    }

    /// Goes on; gives a connection once there is one.
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

    /// The attempt came to nothing, or to something else than what was lost.
    pub(super) fn failed(&mut self, now: Instant) {
        self.running = None;
        self.pause = (self.pause * 2).min(LAST);
        self.next = now + self.pause;
    }

    /// When to go on.
    pub(super) fn due(&self, now: Instant) -> Instant {
        if self.running.is_some() { now + LOOK } else { self.next }
    }
}

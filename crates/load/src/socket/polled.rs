//! Reads of a connection that end in time, and when a stop is requested.

use super::TcpStream;
use super::sys::{Ready, poll};
use linerate_rt::Stop;
use std::io::{ErrorKind, Read, Result as Io};
use std::os::fd::AsFd;
use std::time::Instant;

/// Outcome of a read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Got {
    /// Number of bytes; 0 at the end.
    Bytes(usize),
    /// The time is over.
    Late,
    Stopped,
}

impl TcpStream {
    /// Reads what there is by this time, unless the stop is requested before. The stream must have been
    /// [`set_polled`](Self::set_polled).
    pub(crate) fn read_until(&self, into: &mut [u8], until: Instant, stop: Option<&Stop>) -> Io<Got> {
        loop {
            let mut on = vec![(self.readiness()?, Ready::Read)];
            on.extend(stop.map(|stop| (stop.as_fd(), Ready::Read)));
            let ready = poll(&on, Some(until.saturating_duration_since(Instant::now())))?;
            if ready.get(1) == Some(&true) {
                return Ok(Got::Stopped);
            }
            if !ready[0] {
                return Ok(Got::Late);
            }
            match { self }.read(into) {
                // What is readable may be taken back.
                Err(e) if matches!(e.kind(), ErrorKind::Interrupted | ErrorKind::WouldBlock) => {}
                read => return read.map(Got::Bytes),
            }
        }
    }
}

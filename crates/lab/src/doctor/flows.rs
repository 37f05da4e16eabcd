//! Connections to a peer that differ in their source port alone, which may take different ways, and the segments of one.

use super::examine::wait;
use linerate_load::{acknowledges, connect_from};
use linerate_rt::Stop;
use std::io::ErrorKind;
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

/// Connections that are tried: of a way that takes one flow in eight by chance one is among them 98 times in 100.
const FLOWS: u16 = 32;
/// Time for all of them.
const LONGEST: Duration = Duration::from_secs(8);
/// Ports of clients: below those that Linux gives by itself, and that are given by no authority (RFC 6335) to anybody.
const PORTS: std::ops::Range<u16> = 20_000..32_000;
/// Silent ones that are tried again, slowly: who limits how many connections come in a second answers then.
const AGAIN: usize = 4;
const PAUSES: [Duration; 3] = [Duration::from_millis(50), Duration::from_millis(200), Duration::from_millis(400)];
/// Time for the acknowledgement of a segment, in which it is sent several times, more slowly each time.
const ACKNOWLEDGED: Duration = Duration::from_secs(3);

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Flows {
    /// Port of the peer.
    pub port: u16,
    /// Connections that were tried, and those that were not answered.
    pub asked: usize,
    pub silent: usize,
    /// Slow tries of some of those, and how many were not answered.
    pub again: usize,
    pub silent_again: usize,
    /// Source ports from which no try was answered.
    pub dead: Vec<u16>,
}

/// Segments of one connection that were acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segments {
    pub short: bool,
    pub full: bool,
    /// Bytes of the full one.
    pub length: u32,
}

/// True if it is answered, by a connection or by a reset; none if the port is another one's.
fn answered(port: u16, to: SocketAddr, limit: Duration) -> Option<bool> {
    match connect_from(port, to, limit) {
        Ok(_) => Some(true),
        Err(e) => match e.kind() {
            ErrorKind::ConnectionRefused | ErrorKind::ConnectionReset => Some(true),
            ErrorKind::TimedOut | ErrorKind::HostUnreachable | ErrorKind::NetworkUnreachable => Some(false),
            _ => None,
        },
    }
}

/// Tries a port of the peer from several source ports.
pub(super) fn flows(to: SocketAddr, limit: Duration, stop: &Stop) -> Option<Flows> {
    let began = Instant::now();
    // Others than those of the last call, which may be in TIME-WAIT.
    let room = u32::from(PORTS.end - PORTS.start - FLOWS);
    let first =
        PORTS.start + u16::try_from(std::process::id().wrapping_mul(u32::from(FLOWS)) % room).unwrap_or_default();
    let (mut answers, mut silent) = (0, Vec::new());
    for port in first..first + FLOWS {
        if stop.asked() || began.elapsed() > LONGEST {
            break;
        }
        match answered(port, to, limit) {
            Some(true) => answers += 1,
            Some(false) => silent.push(port),
            None => {}
        }
    }
    let mut found = Flows { port: to.port(), asked: answers + silent.len(), silent: silent.len(), ..Flows::default() };
    silent.truncate(AGAIN);
    found.dead.clone_from(&silent);
    for pause in PAUSES {
        for port in &silent {
            wait(pause, stop);
            let is_answered = answered(*port, to, limit).unwrap_or(true);
            answers += usize::from(is_answered);
            found.again += 1;
            found.silent_again += usize::from(!is_answered);
            found.dead.retain(|dead| dead != port || !is_answered);
        }
    }
    // Where nothing is answered at all, it is no matter of the flow.
    (answers > 0 && !stop.asked()).then_some(found)
}

/// Sends a short segment over a connection, and a full one.
pub(super) fn segments(mut stream: TcpStream, length: u32) -> Option<Segments> {
    let short = acknowledges(&mut stream, 2, ACKNOWLEDGED)?;
    let full = acknowledges(&mut stream, usize::try_from(length).ok()?, ACKNOWLEDGED)?;
    Some(Segments { short, full, length })
}

//! Lanes of datagrams.

use super::{Another, Calendar, Ended, LOOK, Receiving, Sending};
use crate::iperf::flow::{Flow, Tally};
use crate::iperf::protocol::{Datagram, Receipt, Report};
use crate::iperf::report::Reporter;
use crate::iperf::settings::DATAGRAMS;
use crate::sequence::{Seen, Sequence, doubled, told};
use crate::socket::{UdpSocket, is_tick};
use linerate_rt::{Stop, monotonic_ns};
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

/// Time between two datagrams that say the end.
const ASKS: Duration = Duration::from_millis(10);
/// Silence that tells a server that its report has arrived, and number of times that it sends it.
const SILENCE: Duration = Duration::from_millis(250);
const REPORTS: u32 = 9;
/// Time for which a server says the end of what it has sent.
const HEARS: Duration = Duration::from_secs(15);
/// Time for the second datagram of a session that a server has begun with one: whoever it is from, it may be all there is.
const GOES_ON: Duration = Duration::from_secs(10);
/// Number of times that a client says what it wants to receive, and the time between two.
const REQUESTS: u32 = 100;
const BETWEEN: Duration = Duration::from_millis(15);
/// Time after a refusal, ns, for which nobody is taken to be there: kernels tell a sender so once a second at least.
const REFUSES: u64 = 1_500_000_000;

/// Datagram that was received before its lane began.
#[derive(Clone, Copy, Debug)]
pub(in crate::iperf) struct Early {
    pub(in crate::iperf) datagram: Datagram,
    pub(in crate::iperf) bytes: usize,
    /// Time of its arrival, ns.
    pub(in crate::iperf) at: u64,
}

/// Report at the end of the datagrams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::iperf) enum Reply {
    None,
    /// Counters.
    Plain,
    /// Counters and times.
    Timed,
}

/// Sends datagrams until the end or a limit, and says the end.
pub(super) fn send(
    socket: &UdpSocket,
    flow: &Arc<Flow>,
    work: &Sending,
    (over, told): (&Stop, &Stop),
    reporter: &Reporter,
) -> Ended {
    let mut tally = Tally::new(flow);
    let calendar = Calendar::new();
    let mut block = work.block.clone();
    let mut refused = None;
    let (number, result) = match socket.set_write_timeout(Some(LOOK)) {
        Ok(()) => datagrams(socket, &mut block, work, &mut tally, &mut refused, calendar, over),
        Err(e) => (0, Err(format!("socket: {e}"))),
    };
    let mut last = Datagram { number: -signed(number + 1), sent: calendar.stamp(monotonic_ns()) };
    last.write(&mut block);
    match socket.send(&block) {
        Ok(_) => tally.fins(1),
        Err(e) if e.kind() == ErrorKind::ConnectionRefused => refused = Some(monotonic_ns()),
        Err(_) => {}
    }
    let at = monotonic_ns();
    let refused = refused.is_some_and(|then| at.saturating_sub(then) < REFUSES);
    let mut fault = result.err();
    if refused && work.answer.is_none() && !flow.reversed && !flow.duplex {
        fault = fault.or_else(|| Some(format!("[{:3}] write failed: connection refused", flow.id)));
    }
    let figures = reporter.end(flow, at, fault.as_deref());
    if work.insists && fault.is_none() {
        insist(socket, &mut block, &mut last, told);
    }
    let mut report = None;
    if let Some(within) = work.answer.filter(|_| fault.is_none()) {
        report = answer(socket, &mut block, &mut last, within);
        match &report {
            Some(report) => reporter.report(flow, report),
            None => {
                let why = if refused { ": connection refused" } else { "" };
                fault = Some(format!("[{:3}] did not receive ack of last datagram{why}", flow.id));
            }
        }
    }
    Ended { at, fault, reported: Some((figures, report)) }
}

/// Says the end of what a server sends again, until the client is gone, or says something: nothing tells whether it has come, and
/// a client that has not heard it waits.
fn insist(socket: &UdpSocket, block: &mut [u8], last: &mut Datagram, told: &Stop) {
    let (until, mut rests, mut bytes) = (Instant::now() + HEARS, ASKS, [0; 64]);
    // What it has said before the first data came to it, each time.
    let said = |socket: &UdpSocket| (0..REQUESTS).find(|_| socket.recv(&mut [0; 64]).is_err());
    if socket.set_read_timeout(Some(Duration::from_millis(1))).is_err() || said(socket).is_none() {
        return;
    }
    while !told.asked() && Instant::now() < until && socket.set_read_timeout(Some(rests)).is_ok() {
        match socket.recv(&mut bytes) {
            Err(e) if is_tick(&e) => {}
            // Its socket is closed, or it has something else to say.
            _ => return,
        }
        rests = (2 * rests).min(SILENCE);
        last.number -= 1;
        last.write(block);
        if socket.send(block).is_err_and(|e| !is_tick(&e)) {
            return;
        }
    }
}

fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(0)
}

/// Sends datagrams; returns the number of the last one, and notes the time of the last one that was refused.
fn datagrams(
    socket: &UdpSocket,
    block: &mut [u8],
    work: &Sending,
    tally: &mut Tally<'_>,
    refused: &mut Option<u64>,
    calendar: Calendar,
    over: &Stop,
) -> (u64, Result<(), String>) {
    let (mut pace, mut number, mut first) = (work.rate.pace(), 0, work.first.clone());
    let mut file = work.file.as_ref();
    while !over.asked() {
        let size = match work.limit.map(|limit| limit.saturating_sub(tally.bytes)) {
            Some(0) => break,
            Some(left) => usize::try_from(left.min(block.len() as u64)).unwrap_or(0).max(Datagram::LEN),
            None => block.len(),
        };
        if !pace.wait(work.rate.of(tally.bytes, number), || over.asked()) {
            break;
        }
        let mut size = size;
        if let Some(file) = &mut file {
            match part(file, &mut block[Datagram::LEN..]) {
                Ok(0) => break,
                Ok(n) => size = Datagram::LEN + n,
                Err(e) => return (number, Err(format!("-F: {e}; give a file that can be read"))),
            }
        }
        let datagram = if number == 0 && !first.is_empty() { &mut first[..] } else { &mut block[..size] };
        Datagram { number: signed(number + 1), sent: calendar.stamp(monotonic_ns()) }.write(datagram);
        match socket.send(datagram) {
            Ok(n) => {
                number += 1;
                tally.moved(n);
                tally.sent(number);
            }
            // Nobody is there yet, or the interface's queue is full: it is sent again.
            Err(e) if e.kind() == ErrorKind::ConnectionRefused => {
                *refused = Some(monotonic_ns());
                tally.failed();
            }
            Err(e) if is_tick(&e) || e.raw_os_error() == Some(libc::ENOBUFS) => tally.failed(),
            Err(e) => return (number, Err(format!("write failed: {e}"))),
        }
    }
    (number, Ok(()))
}

fn part(mut file: &File, into: &mut [u8]) -> std::io::Result<usize> {
    loop {
        match file.read(into) {
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            read => return read,
        }
    }
}

/// Waits for the server's report, and says the end again until it comes.
fn answer(socket: &UdpSocket, block: &mut [u8], last: &mut Datagram, within: Duration) -> Option<Report> {
    let (until, mut bytes, mut asked) = (Instant::now() + within, [0; 2048], 1);
    socket.set_read_timeout(Some(ASKS)).ok()?;
    while Instant::now() < until {
        match socket.recv(&mut bytes) {
            Ok(n) => {
                let Some(report) = Report::read(&bytes[..n]) else { continue };
                if asked > 1 {
                    // A report for each time that it was asked for is on its way: somebody has to be there.
                    let until = Instant::now() + SILENCE;
                    while Instant::now() < until && !matches!(socket.recv(&mut bytes), Err(e) if !is_tick(&e)) {}
                }
                return Some(report);
            }
            Err(e) if is_tick(&e) => {}
            Err(_) => std::thread::sleep(ASKS),
        }
        // Each has a number of its own, so that none is counted twice.
        last.number -= 1;
        asked += 1;
        last.write(block);
        let _ = socket.send(block);
    }
    None
}

/// Receives until the other end says its end, or this one is told to end.
pub(super) fn receive(
    socket: &UdpSocket,
    flow: &Arc<Flow>,
    work: &Receiving,
    over: &Stop,
    reporter: &Reporter,
) -> Ended {
    let (mut tally, mut receipt, calendar) = (Tally::new(flow), Receipt::default(), Calendar::new());
    let (sequence, seen) = (Sequence::default(), Seen::default());
    let mut taking = Taking {
        flow,
        tally: &mut tally,
        receipt: &mut receipt,
        sequence,
        seen,
        calendar,
        last: flow.begin,
        newest: i64::MIN,
        first: None,
        another: None,
    };
    let result = taking.all(socket, work, over);
    taking.end(None);
    for told in told(taking.sequence.outside()).into_iter().chain(doubled(taking.seen.copies())) {
        reporter.error(&format!("{}: {told}", flow.remote));
    }
    let (newest, mut another) = (taking.newest, taking.another.take());
    let at = if result.is_ok() { taking.last } else { monotonic_ns() };
    let figures = reporter.end(flow, at, result.as_ref().err().map(String::as_str));
    if result.is_ok() && work.reply != Reply::None && another.is_none() {
        let seconds = at.saturating_sub(flow.begin) as f64 / 1e9;
        let latency = (work.reply == Reply::Timed).then_some(figures.times);
        another = reply(socket, &Report::of(&receipt, figures.bytes, seconds, latency), work, newest);
    }
    if let Some(place) = &work.another {
        *place.lock().unwrap_or_else(PoisonError::into_inner) = another;
    }
    Ended { at, fault: result.err(), reported: Some((figures, None)) }
}

/// Sends the report until the client is silent, or begins another test: `newest` is the time that the last datagram of this one
/// says.
fn reply(socket: &UdpSocket, report: &Report, work: &Receiving, newest: i64) -> Option<Another> {
    let bytes = report.bytes();
    let mut block = vec![0; DATAGRAMS[1]];
    socket.set_read_timeout(Some(SILENCE)).ok()?;
    let until = Instant::now() + SILENCE * REPORTS;
    for _ in 0..REPORTS {
        socket.send(&bytes).ok()?;
        // Late datagrams may go on and on.
        while Instant::now() < until {
            let n = socket.recv(&mut block).ok()?;
            match Datagram::read(work.wide, &block[..n]) {
                Some(datagram) if datagram.number > 0 && work.another.is_some() => {
                    // What is late of this test asks for nothing.
                    if datagram.sent.micros() > newest {
                        let early = vec![Early { datagram, bytes: n, at: monotonic_ns() }];
                        return Some(Another { early, first: block[..n].to_vec() });
                    }
                }
                _ => break,
            }
        }
    }
    None
}

/// Account of what is received.
struct Taking<'a, 'b> {
    flow: &'a Flow,
    tally: &'a mut Tally<'b>,
    receipt: &'a mut Receipt,
    /// Judge of what somebody else may have sent in the other end's name.
    sequence: Sequence<Early>,
    seen: Seen,
    calendar: Calendar,
    /// Time of the last datagram, ns.
    last: u64,
    /// Latest time that a datagram says, microseconds.
    newest: i64,
    /// Datagram that may be the first of another test, and its bytes; that test, once the second one has come.
    first: Option<(Early, Vec<u8>)>,
    another: Option<Another>,
}

impl Taking<'_, '_> {
    fn all(&mut self, socket: &UdpSocket, work: &Receiving, over: &Stop) -> Result<(), String> {
        let mut block = vec![0; self.flow.block];
        for early in &work.early {
            if self.take(early.datagram, early.bytes, early.at) {
                return Ok(());
            }
        }
        // Until something comes, what is wanted is said again.
        let mut asks = if work.first.is_empty() { 0 } else { REQUESTS };
        let time = |socket: &UdpSocket, asks| socket.set_read_timeout(Some(if asks > 0 { BETWEEN } else { LOOK }));
        time(socket, asks).map_err(|e| format!("socket: {e}"))?;
        if asks > 0 {
            let _ = socket.send(&work.first);
        }
        let (mut quiet, limit) = (Duration::ZERO, work.limit.unwrap_or(u64::MAX));
        let mut idle = if work.early.len() == 1 { work.idle.min(GOES_ON) } else { work.idle };
        while !over.asked() && self.tally.bytes < limit {
            match socket.recv(&mut block) {
                Ok(n) => {
                    (quiet, idle) = (Duration::ZERO, work.idle);
                    if asks > 0 {
                        asks = 0;
                        time(socket, asks).map_err(|e| format!("socket: {e}"))?;
                    }
                    if let Some(datagram) = Datagram::read(work.wide, &block[..n]) {
                        let early = Early { datagram, bytes: n, at: monotonic_ns() };
                        if work.another.is_some() && self.begins_anew(early, &block[..n]) {
                            if self.another.is_some() {
                                break;
                            }
                        } else if self.take(datagram, n, early.at) {
                            break;
                        }
                    }
                }
                // What the other end's kernel says of a socket that is closed there comes before its time.
                Err(e) if is_tick(&e) || e.kind() == ErrorKind::ConnectionRefused => {
                    if !is_tick(&e) {
                        std::thread::sleep(if asks > 0 { BETWEEN } else { LOOK });
                    }
                    if asks > 0 {
                        asks -= 1;
                        if asks == 0 {
                            return Err("no answer from the server".to_owned());
                        }
                        let _ = socket.send(&work.first);
                        continue;
                    }
                    quiet += LOOK;
                    if quiet >= idle {
                        return Err(format!("no data for {} s", idle.as_secs_f64()));
                    }
                }
                Err(e) => return Err(format!("read failed: {e}")),
            }
        }
        Ok(())
    }

    /// True if a datagram belongs to another test of the same sender, which began anew: number 1, later than all before, and
    /// then number 2. A single one may be anybody's.
    fn begins_anew(&mut self, early: Early, bytes: &[u8]) -> bool {
        let Early { datagram: Datagram { number, sent }, .. } = early;
        let before = self.newest;
        self.newest = before.max(sent.micros());
        match self.first.take() {
            Some((first, bytes)) if number == 2 && sent.micros() >= first.datagram.sent.micros() => {
                self.another = Some(Another { early: vec![first, early], first: bytes });
                return true;
            }
            other => self.first = other,
        }
        if number == 1 && self.receipt.highest > 1 && sent.micros() > before {
            self.first = Some((early, bytes.to_vec()));
            return true;
        }
        false
    }

    /// Takes a datagram in; true if it says the end.
    #[inline]
    fn take(&mut self, datagram: Datagram, bytes: usize, at: u64) -> bool {
        let number = datagram.number.unsigned_abs();
        self.newest = self.newest.max(datagram.sent.micros());
        if datagram.number < 0 {
            if !self.sequence.ends(self.receipt.highest, number) {
                return false;
            }
            self.last = at.max(self.last);
            self.end(Some(number));
            self.receipt.ended(number);
            self.tally.received(self.receipt);
            return true;
        }
        // Numbers begin with 1: others are none of a test.
        if number > 0 {
            for early in self.sequence.take(self.receipt.highest, number, Early { datagram, bytes, at }) {
                self.count(early);
            }
        }
        false
    }

    /// Counts what was set aside, if the end says that it belongs to the test.
    fn end(&mut self, end: Option<u64>) {
        if let Some(early) = self.sequence.last(end) {
            self.count(early);
        }
    }

    #[inline]
    fn count(&mut self, Early { datagram, bytes, at }: Early) {
        self.last = at.max(self.last);
        let took = self.calendar.since(datagram.sent, at);
        let number = datagram.number.unsigned_abs();
        self.receipt.arrived(number, took, self.seen.again(number));
        self.tally.read(bytes);
        self.tally.received(self.receipt);
        self.flow.took(took);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::iperf::protocol::Stamp;
    use std::sync::atomic::{AtomicBool, Ordering::SeqCst};

    /// Regression: a sender of late datagrams kept the server's lane waiting for as long as it went on.
    #[test]
    fn a_report_waits_for_no_sender_of_late_datagrams_that_goes_on() {
        let (here, there) = [(); 2].map(|()| std::net::UdpSocket::bind("127.0.0.1:0").unwrap()).into();
        here.connect(there.local_addr().unwrap()).unwrap();
        there.connect(here.local_addr().unwrap()).unwrap();
        let (done, mut late) = (AtomicBool::new(false), [0; 64]);
        Datagram { number: 2, sent: Stamp::of(Duration::from_secs(1)) }.write(&mut late);
        std::thread::scope(|scope| {
            let sends = scope.spawn(|| {
                let until = Instant::now() + Duration::from_secs(30);
                while !done.load(SeqCst) && Instant::now() < until {
                    let _ = there.send(&late);
                    std::thread::sleep(Duration::from_millis(5));
                }
                done.load(SeqCst)
            });
            let work = Receiving { another: Some(Arc::default()), ..Receiving::new(Duration::from_secs(1)) };
            let report = Report::of(&Receipt::default(), 0, 1.0, None);
            assert!(reply(&UdpSocket::Kernel(here), &report, &work, 5_000_000).is_none());
            done.store(true, SeqCst);
            assert!(sends.join().unwrap(), "it ended when the sender did");
        });
    }
}

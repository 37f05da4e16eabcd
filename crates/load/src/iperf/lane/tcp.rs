//! Lanes of byte streams.

use super::{Calendar, Ended, LOOK, Receiving, Sending};
use crate::iperf::flow::{Flow, Tally};
use crate::iperf::protocol::{Burst, Request};
use crate::iperf::settings::Rate;
use crate::socket::{Pace, PageAligned, TcpStream, is_tick};
use linerate_rt::{Stop, monotonic_ns};
use std::fs::File;
use std::io::{Read, Write};
use std::net::Shutdown;
use std::time::{Duration, Instant};

/// Time that the other end still has to take what is on its way, once somebody wants the end.
const HURRY: Duration = Duration::from_secs(1);

/// Sends blocks until the end, a limit, or the end of the file; then closes its direction, and waits for the other end.
pub(super) fn send(stream: &TcpStream, flow: &Flow, work: Sending, over: &Stop, told: &Stop) -> Ended {
    let answer = work.answer;
    let mut sent = blocks(stream, flow, work, over);
    // What was sent is to arrive, whatever ended it.
    let closed = stream.shutdown(Shutdown::Write);
    if sent.is_ok() {
        sent = match (closed, answer) {
            (Err(e), _) => Err(format!("close failed: {e}")),
            (Ok(()), Some(within)) => drained(stream, within, told),
            (Ok(()), None) => Ok(()),
        };
    }
    Ended::now(sent)
}

fn blocks(stream: &TcpStream, flow: &Flow, mut work: Sending, over: &Stop) -> Result<(), String> {
    let mut tally = Tally::new(flow);
    stream.set_write_timeout(Some(LOOK)).map_err(failed)?;
    all(stream, &work.first, &mut tally, over)?;
    let mut pace = work.rate.pace();
    if let Some(file) = work.file.take() {
        return from_file(stream, file, &mut work.block, &mut tally, (work.rate, pace), over);
    }
    if let Some(begun) = work.begun {
        let (calendar, mut number) = (Calendar::new(), 0u32);
        while let Some(size) = next(&tally, &work)
            && !over.asked()
            && pace.wait(work.rate.of(tally.bytes, 0), || over.asked())
        {
            number = number.wrapping_add(1);
            let block = work.block.get_mut(..size.max(Burst::LEN)).unwrap_or_default();
            let sent = calendar.stamp(monotonic_ns());
            let size = u32::try_from(block.len()).unwrap_or(0);
            Burst { number, size, sent }.write(block, begun, tally.bytes);
            all(stream, block, &mut tally, over)?;
        }
        return Ok(());
    }
    let mut stream = stream;
    while let Some(size) = next(&tally, &work)
        && !over.asked()
        && pace.wait(work.rate.of(tally.bytes, 0), || over.asked())
    {
        match stream.write(&work.block[..size]) {
            Ok(n) => tally.moved(n),
            Err(e) if is_tick(&e) => tally.failed(),
            Err(e) => return Err(failed(e)),
        }
    }
    Ok(())
}

/// Bytes of the next block; `None` after the last one.
#[inline]
fn next(tally: &Tally<'_>, work: &Sending) -> Option<usize> {
    let Some(limit) = work.limit else { return Some(work.block.len()) };
    let left = limit.saturating_sub(tally.bytes).min(work.block.len() as u64);
    usize::try_from(left).ok().filter(|size| *size > 0)
}

fn failed(error: std::io::Error) -> String {
    format!("write failed: {error}")
}

/// Writes all of these bytes, unless the test is over.
fn all(mut stream: &TcpStream, mut bytes: &[u8], tally: &mut Tally<'_>, over: &Stop) -> Result<(), String> {
    while !bytes.is_empty() {
        match stream.write(bytes) {
            Ok(n) => {
                tally.moved(n);
                bytes = bytes.get(n..).unwrap_or_default();
            }
            Err(e) if is_tick(&e) => {
                tally.failed();
                if over.asked() {
                    return Ok(());
                }
            }
            Err(e) => return Err(failed(e)),
        }
    }
    Ok(())
}

/// Sends what is read from a file.
fn from_file(
    stream: &TcpStream,
    mut file: File,
    block: &mut [u8],
    tally: &mut Tally<'_>,
    (rate, mut pace): (Rate, Pace),
    over: &Stop,
) -> Result<(), String> {
    while !over.asked() && pace.wait(rate.of(tally.bytes, 0), || over.asked()) {
        match file.read(block) {
            Ok(0) => break,
            Ok(n) => all(stream, &block[..n], tally, over)?,
            Err(e) if is_tick(&e) => {}
            Err(e) => return Err(format!("-F: {e}; give a file that can be read")),
        }
    }
    Ok(())
}

/// Waits until the other end has closed its direction too: it has all then. `within` is the time in which it must take something
/// of what is on its way.
fn drained(mut stream: &TcpStream, within: Duration, told: &Stop) -> Result<(), String> {
    let (mut until, mut hurry, mut scratch) = (Instant::now() + within, None, [0; 4096]);
    let taken = || stream.info().map_or(0, |info| info.acknowledged);
    let mut took = taken();
    stream.set_read_timeout(Some(LOOK)).map_err(|e| format!("read failed: {e}"))?;
    while Instant::now() < until {
        let now = taken();
        if now != took {
            (took, until) = (now, Instant::now() + within);
        }
        if told.asked() && Instant::now() > *hurry.get_or_insert_with(|| Instant::now() + HURRY) {
            return Ok(());
        }
        match stream.read(&mut scratch) {
            Ok(0) => return Ok(()),
            Ok(_) => {}
            Err(e) if is_tick(&e) => {}
            Err(e) => return Err(format!("the server did not take all: {e}")),
        }
    }
    Err(format!("the server did not take all within {} s", within.as_secs()))
}

/// Receives until the other end is done, or this one is told to end.
pub(super) fn receive(stream: &TcpStream, flow: &Flow, work: &Receiving, over: &Stop) -> Ended {
    let received = stream_in(stream, flow, work, over);
    if !flow.duplex {
        // Whoever sent waits for this: it has all arrived.
        let _ = stream.shutdown(Shutdown::Write);
    }
    Ended::now(received)
}

fn stream_in(mut stream: &TcpStream, flow: &Flow, work: &Receiving, over: &Stop) -> Result<(), String> {
    let mut tally = Tally::new(flow);
    let mut block = PageAligned::new(flow.block);
    if work.before > 0 {
        tally.read(work.before);
    }
    if !work.first.is_empty() {
        stream.set_write_timeout(Some(LOOK)).map_err(failed)?;
        // What this end says of the test is no data that it receives.
        let mut rest = &work.first[..];
        while !rest.is_empty() && !over.asked() {
            match stream.write(rest) {
                Ok(n) => rest = rest.get(n..).unwrap_or_default(),
                Err(e) if is_tick(&e) => {}
                Err(e) => return Err(failed(e)),
            }
        }
    }
    stream.set_read_timeout(Some(LOOK)).map_err(|e| format!("read failed: {e}"))?;
    let mut reader = Reader { stream, over, idle: work.idle, quiet: Duration::ZERO };
    if work.timed {
        return bursts(&mut reader, flow, work, &mut tally, &mut block);
    }
    let limit = work.limit.unwrap_or(u64::MAX);
    while tally.bytes < limit {
        match reader.read(&mut block)? {
            0 => break,
            n => tally.read(n),
        }
    }
    Ok(())
}

/// Receives blocks that say when they were sent.
fn bursts(
    reader: &mut Reader<'_>,
    flow: &Flow,
    work: &Receiving,
    tally: &mut Tally<'_>,
    block: &mut [u8],
) -> Result<(), String> {
    if work.headed {
        let mut first = [0; Request::FIRST];
        if !reader.fill(&mut first, tally)? {
            return Ok(());
        }
        let length = Request::length(first).ok().flatten().ok_or("the server's times do not begin with its header")?;
        let mut rest = [0; Request::LONGEST];
        if !reader.fill(&mut rest[Request::FIRST..length], tally)? {
            return Ok(());
        }
    }
    let calendar = Calendar::new();
    let mut head = [0; Burst::LEN];
    while tally.bytes < work.limit.unwrap_or(u64::MAX) && reader.fill(&mut head, tally)? {
        let burst = Burst::read(&head).ok_or("a block says that it is shorter than its own beginning")?;
        let mut left = burst.size as usize - Burst::LEN;
        while left > 0 {
            let most = left.min(block.len());
            let n = reader.read(&mut block[..most])?;
            if n == 0 {
                return Ok(());
            }
            tally.read(n);
            left -= n;
        }
        flow.took(calendar.since(burst.sent, monotonic_ns()));
    }
    Ok(())
}

/// Reads with limits.
struct Reader<'a> {
    stream: &'a TcpStream,
    over: &'a Stop,
    idle: Duration,
    /// Time since the last data.
    quiet: Duration,
}

impl Reader<'_> {
    /// Reads something; 0 at the end.
    #[inline]
    fn read(&mut self, into: &mut [u8]) -> Result<usize, String> {
        loop {
            if self.over.asked() {
                return Ok(0);
            }
            let mut stream = self.stream;
            match stream.read(into) {
                Ok(n) => {
                    self.quiet = Duration::ZERO;
                    return Ok(n);
                }
                Err(e) if is_tick(&e) => {
                    self.quiet += LOOK;
                    if self.quiet >= self.idle {
                        return Err(format!("no data for {} s", self.idle.as_secs_f64()));
                    }
                }
                Err(e) => return Err(format!("read failed: {e}")),
            }
        }
    }

    /// Reads all of these bytes; false if the end comes before.
    fn fill(&mut self, into: &mut [u8], tally: &mut Tally<'_>) -> Result<bool, String> {
        let mut got = 0;
        while got < into.len() {
            match self.read(&mut into[got..])? {
                0 => return Ok(false),
                n => {
                    tally.read(n);
                    got += n;
                }
            }
        }
        Ok(true)
    }
}

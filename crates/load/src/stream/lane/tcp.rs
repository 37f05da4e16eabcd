//! Lanes of byte streams.

use super::Job;
use super::pace::Pace;
use crate::stream::fault::Fault;
use crate::stream::sys::{send_file, set_option};
use linerate_rt::monotonic_ns;
use std::fs::File;
use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::os::fd::AsFd;

/// Time in ns after the end within which a receiver takes what has arrived.
const LATE_NS: u64 = 200_000_000;

/// Bytes, and time in ns within which they come on a fast path.
const FAST: (u64, u64) = (16 << 20, 1_000_000_000);
/// Greatest number of bytes for which a receiver sleeps at once: at such a rate, some milliseconds of data.
const GULP: usize = 128 << 10;

impl Job {
    /// Sends blocks until the end, a limit, or the end of the file.
    pub(super) fn send_tcp(&self, stream: &TcpStream) -> Result<(), Fault> {
        match (&self.file, &self.payload.file) {
            (Some(path), Some(_)) => self.send_whole(stream, &File::open(path).map_err(Fault::File)?, true),
            (None, Some(file)) => self.send_whole(stream, file, false),
            (Some(path), None) => self.send_read(stream, File::open(path).map_err(Fault::File)?),
            (None, None) => self.send_block(stream),
        }
    }

    /// Sends the same block over and over.
    fn send_block(&self, mut stream: &TcpStream) -> Result<(), Fault> {
        let (block, mut bytes) = (&self.payload.block[..], 0);
        let mut pace = Pace::new(self.settings.rate, self.settings.burst);
        while !self.shared.is_done(true) && self.shared.claim(block.len() as u64) && pace.wait(bytes, &self.shared) {
            let mut left = block;
            while !left.is_empty() {
                match stream.write(left) {
                    Ok(n) => {
                        left = left.get(n..).unwrap_or_default();
                        bytes += n as u64;
                        self.counters.bytes(bytes);
                    }
                    Err(e) if e.kind() == ErrorKind::Interrupted => {}
                    Err(e) => return self.is_over(Fault::Write(e)),
                }
            }
        }
        Ok(())
    }

    /// Sends a file without a copy: the payload's over and over, or another one once.
    fn send_whole(&self, stream: &TcpStream, file: &File, once: bool) -> Result<(), Fault> {
        let (block, mut bytes, mut at) = (self.payload.block.len(), 0, 0);
        let mut pace = Pace::new(self.settings.rate, self.settings.burst);
        while !self.shared.is_done(true) && self.shared.claim(block as u64) && pace.wait(bytes, &self.shared) {
            let mut left = block;
            while left > 0 {
                match send_file(stream.as_fd(), file.as_fd(), at, left) {
                    Ok(0) => return Ok(()),
                    Ok(n) => {
                        left -= n.min(left);
                        at += n as u64;
                        bytes += n as u64;
                        self.counters.bytes(bytes);
                    }
                    Err(e) if e.kind() == ErrorKind::Interrupted => {}
                    Err(e) => return self.is_over(Fault::Write(e)),
                }
            }
            if !once {
                at = 0;
            }
        }
        Ok(())
    }

    /// Sends what is read from a file.
    fn send_read(&self, mut stream: &TcpStream, mut file: File) -> Result<(), Fault> {
        let (mut block, mut bytes) = (vec![0; self.payload.block.len()], 0);
        let mut pace = Pace::new(self.settings.rate, self.settings.burst);
        while !self.shared.is_done(true) && self.shared.claim(block.len() as u64) && pace.wait(bytes, &self.shared) {
            let got = fill(&mut file, &mut block).map_err(Fault::File)?;
            let mut left = &block[..got];
            while !left.is_empty() {
                match stream.write(left) {
                    Ok(n) => {
                        left = left.get(n..).unwrap_or_default();
                        bytes += n as u64;
                        self.counters.bytes(bytes);
                    }
                    Err(e) if e.kind() == ErrorKind::Interrupted => {}
                    Err(e) => return self.is_over(Fault::Write(e)),
                }
            }
            if got < block.len() {
                break;
            }
        }
        Ok(())
    }

    /// Receives until the other end is done, or, once this one is, until nothing more has arrived.
    pub(super) fn receive_tcp(&self, mut stream: &TcpStream) -> Result<(), Fault> {
        let (mut block, mut bytes, mut late_until) = (vec![0; self.payload.block.len()], 0, None);
        let (began, mut looked) = (monotonic_ns(), false);
        let mut file = self.file.as_ref().map(File::create).transpose().map_err(Fault::File)?;
        loop {
            if self.shared.is_done(false)
                && monotonic_ns() > *late_until.get_or_insert_with(|| monotonic_ns() + LATE_NS)
            {
                return Ok(());
            }
            match stream.read(&mut block) {
                Ok(0) => return Ok(()),
                Ok(n) => {
                    let before = bytes;
                    bytes += n as u64;
                    self.counters.bytes(bytes);
                    let size = block.len() as u64;
                    let blocks = if self.shared.counts_blocks() { bytes / size - before / size } else { 0 };
                    self.shared.got(n as u64, blocks);
                    if !looked && bytes >= FAST.0 {
                        looked = true;
                        self.sleep_longer(stream, monotonic_ns() - began);
                    }
                    if let Some(file) = &mut file {
                        file.write_all(&block[..n]).map_err(Fault::File)?;
                    }
                }
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) => return self.is_over(Fault::Read(e)),
            }
        }
    }
}

impl Job {
    /// On a fast path, has a receiver woken for a whole block instead of each segment: a sleep and a read a block, and
    /// the sender has the time in between. On a slow one that would be seen in the figures of an interval.
    fn sleep_longer(&self, stream: &TcpStream, took_ns: u64) {
        let (settings, bytes) = (&self.settings, self.payload.block.len().min(GULP) as u64);
        if took_ns < FAST.1 && settings.rate == 0 && settings.window == 0 {
            // If it cannot be, it is as before.
            let _ = set_option(stream.as_fd(), libc::SOL_SOCKET, libc::SO_RCVLOWAT, bytes);
        }
    }
}

/// Reads until a block is full, or the file ends.
fn fill(file: &mut File, block: &mut [u8]) -> io::Result<usize> {
    let mut got = 0;
    while got < block.len() {
        match file.read(&mut block[got..]) {
            Ok(0) => break,
            Ok(n) => got += n,
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(got)
}

//! Lanes of byte streams.

use super::Job;
use crate::socket::{Pace, PageAligned, TcpStream};
use crate::stream::fault::Fault;
use linerate_host::place;
use linerate_rt::monotonic_ns;
use std::fs::File;
use std::io::{self, ErrorKind, Read, Write};

/// Time in ns after the end within which a receiver takes what has arrived.
const LATE_NS: u64 = 200_000_000;

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
    fn send_block(&self, stream: &TcpStream) -> Result<(), Fault> {
        let (block, mut bytes) = (&self.payload.block[..], 0);
        let mut pace = Pace::new(self.settings.rate, self.settings.burst);
        while !self.shared.is_done(true)
            && self.shared.may_send(block.len() as u64)
            && pace.wait(u128::from(bytes) * 8, || self.shared.is_done(true))
        {
            if let Err(e) = self.write(stream, block, &mut bytes) {
                return self.is_over(Fault::Write(e));
            }
        }
        Ok(())
    }

    /// Sends a file without a copy: the payload's over and over, or another one once.
    fn send_whole(&self, stream: &TcpStream, file: &File, once: bool) -> Result<(), Fault> {
        let (block, mut bytes, mut at) = (self.payload.block.len(), 0, 0);
        let mut pace = Pace::new(self.settings.rate, self.settings.burst);
        while !self.shared.is_done(true)
            && self.shared.may_send(block as u64)
            && pace.wait(u128::from(bytes) * 8, || self.shared.is_done(true))
        {
            let mut left = block;
            while left > 0 {
                match stream.send_file(file, at, left) {
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
    fn send_read(&self, stream: &TcpStream, mut file: File) -> Result<(), Fault> {
        let (mut block, mut bytes) = (PageAligned::new(self.payload.block.len()), 0);
        let mut pace = Pace::new(self.settings.rate, self.settings.burst);
        while !self.shared.is_done(true)
            && self.shared.may_send(block.len() as u64)
            && pace.wait(u128::from(bytes) * 8, || self.shared.is_done(true))
        {
            let got = fill(&mut file, &mut block).map_err(Fault::File)?;
            if let Err(e) = self.write(stream, &block[..got], &mut bytes) {
                return self.is_over(Fault::Write(e));
            }
            if got < block.len() {
                break;
            }
        }
        Ok(())
    }

    /// Writes all of a block; `bytes` counts what was written.
    #[inline]
    fn write(&self, mut stream: &TcpStream, mut block: &[u8], bytes: &mut u64) -> io::Result<()> {
        while !block.is_empty() {
            match stream.write(block) {
                Ok(n) => {
                    block = block.get(n..).unwrap_or_default();
                    *bytes += n as u64;
                    self.counters.bytes(*bytes);
                }
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
        Ok(())
    }

    /// Receives until the other end is done, or, once this one is, until nothing more has arrived.
    pub(super) fn receive_tcp(&self, mut stream: &TcpStream) -> Result<(), Fault> {
        let (mut block, mut bytes, mut late_until) = (PageAligned::new(self.payload.block.len()), 0, None);
        let mut file = self.file.as_deref().map(place::create).transpose().map_err(Fault::File)?;
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

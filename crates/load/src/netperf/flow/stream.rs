//! Streams of bytes.

use super::{End, Flow};
use crate::netperf::fault::Fault;
use crate::netperf::ring::Ring;
use crate::socket::{TcpStream, is_tick};
use std::fs::File;
use std::io::{self, ErrorKind, Read, Write};

/// Beginning of a file that is sent over and over.
pub(in crate::netperf) struct Part {
    pub(in crate::netperf) file: File,
    /// Bytes that are sent of it, not 0.
    pub(in crate::netperf) len: u64,
}

impl Flow<'_> {
    /// Writes all of a block, or as much as the time allows; returns the number of bytes.
    #[inline]
    pub(super) fn write(&mut self, mut stream: &TcpStream, block: &[u8]) -> Result<usize, Fault> {
        match stream.write(block) {
            Ok(n) if n == block.len() => {
                self.moved();
                Ok(n)
            }
            first => self.write_on(stream, block, first),
        }
    }

    /// The same behind a first call that has not written all.
    #[cold]
    fn write_on(&mut self, mut stream: &TcpStream, block: &[u8], first: io::Result<usize>) -> Result<usize, Fault> {
        let (mut done, mut first) = (0, Some(first));
        while done < block.len() {
            match first.take().unwrap_or_else(|| stream.write(&block[done..])) {
                Ok(n) => {
                    done += n;
                    self.moved();
                }
                Err(e) if is_tick(&e) => {
                    if self.tick()? {
                        break;
                    }
                }
                Err(e) => return Err(Fault::Send(e)),
            }
        }
        Ok(done)
    }

    /// Sends blocks in turn until the time is over, or the bytes are sent.
    pub(in crate::netperf) fn send(&mut self, stream: &TcpStream, ring: &mut Ring) -> Result<End, Fault> {
        self.begins();
        while !self.time.is_over() {
            let block = ring.next();
            let sent = if self.left >= block.len() as u64 {
                self.write(stream, block)?
            } else {
                let left = usize::try_from(self.left).unwrap_or(block.len());
                self.write(stream, &block[..left])?
            };
            self.ends();
            self.tally.sent += sent as u64;
            self.tally.sends += 1;
            self.publish(self.tally.sent);
            self.left -= sent as u64;
            if self.left == 0 {
                return Ok(End::Done);
            }
        }
        Ok(End::Time)
    }

    /// Sends a part of a file block by block without a copy, and from its beginning again when it ends.
    pub(in crate::netperf) fn send_file(
        &mut self,
        stream: &TcpStream,
        part: &Part,
        block: usize,
    ) -> Result<End, Fault> {
        let mut at = 0;
        self.begins();
        while !self.time.is_over() {
            let mut left = usize::try_from(self.left).map_or(block, |left| left.min(block));
            while left > 0 {
                let here = usize::try_from(part.len - at).map_or(left, |rest| rest.min(left));
                match stream.send_file(&part.file, at, here) {
                    // It has become shorter.
                    Ok(0) => return Err(Fault::Send(ErrorKind::UnexpectedEof.into())),
                    Ok(n) => {
                        self.moved();
                        left -= n.min(left);
                        self.left -= n as u64;
                        self.tally.sent += n as u64;
                        at = (at + n as u64) % part.len;
                    }
                    Err(e) if is_tick(&e) => {
                        if self.tick()? {
                            return Ok(End::Time);
                        }
                    }
                    Err(e) => return Err(Fault::Send(e)),
                }
            }
            self.ends();
            self.tally.sends += 1;
            self.publish(self.tally.sent);
            if self.left == 0 {
                return Ok(End::Done);
            }
        }
        Ok(End::Time)
    }

    /// Receives until the other end is done, the time is over, or the bytes have come.
    pub(in crate::netperf) fn receive(&mut self, mut stream: &TcpStream, ring: &mut Ring) -> Result<End, Fault> {
        self.begins();
        while !self.time.is_over() {
            match stream.read(ring.next()) {
                Ok(0) => return Ok(End::Done),
                Ok(n) => {
                    if self.received(n) {
                        return Ok(End::Done);
                    }
                }
                Err(e) if is_tick(&e) => {
                    if self.tick()? {
                        return Ok(End::Time);
                    }
                }
                Err(e) => return Err(Fault::Receive(e)),
            }
        }
        Ok(End::Time)
    }
}

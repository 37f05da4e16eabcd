//! A window of fixed size on a stream of bytes: what a parser looks at, never more.

use std::io::{ErrorKind, Read, Result, Seek};

/// Bytes of the window: a record of the greatest length with headers and options.
pub(super) const WINDOW: usize = super::LONGEST + (64 << 10);

#[derive(Debug)]
pub(super) struct Window<R> {
    source: R,
    bytes: Box<[u8]>,
    start: usize,
    end: usize,
    eof: bool,
    /// Reads so far.
    pub(super) reads: u64,
}

impl<R: Read> Window<R> {
    pub(super) fn new(source: R) -> Self {
        Self { source, bytes: vec![0; WINDOW].into_boxed_slice(), start: 0, end: 0, eof: false, reads: 0 }
    }

    pub(super) fn source(&self) -> &R {
        &self.source
    }

    /// Has at least `n` bytes (no more than [`WINDOW`]) in view; false if the stream ends before.
    pub(super) fn need(&mut self, n: usize) -> Result<bool> {
        debug_assert!(n <= WINDOW);
        while self.available() < n {
            if self.eof {
                return Ok(false);
            }
            if self.bytes.len() - self.start < n {
                self.bytes.copy_within(self.start..self.end, 0);
                (self.start, self.end) = (0, self.end - self.start);
            }
            self.fill()?;
        }
        Ok(true)
    }

    fn fill(&mut self) -> Result<()> {
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
        }
        self.reads += 1;
        match self.source.read(&mut self.bytes[self.end..]) {
            Ok(0) => self.eof = true,
            Ok(n) => self.end += n,
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
        Ok(())
    }

    /// Bytes in view.
    pub(super) fn available(&self) -> usize {
        self.end - self.start
    }

    /// The first `n` bytes in view, which were needed before.
    pub(super) fn view(&self, n: usize) -> &[u8] {
        &self.bytes[self.start..self.start + n]
    }

    /// Goes on by `n` bytes, which were needed before.
    pub(super) fn pass(&mut self, n: usize) {
        debug_assert!(n <= self.available());
        self.start += n.min(self.available());
    }

    /// Goes on by up to `n` bytes, in one read at most; gives by how many, 0 at the stream's end.
    pub(super) fn skip(&mut self, n: u64) -> Result<u64> {
        if self.available() == 0 && !self.eof {
            self.fill()?;
        }
        let some = usize::try_from(n).unwrap_or(usize::MAX).min(self.available());
        self.start += some;
        Ok(some as u64)
    }

    /// Whether the stream has ended and all of it was passed. True is final.
    pub(super) fn is_over(&self) -> bool {
        self.eof && self.available() == 0
    }
}

impl<R: Read + Seek> Window<R> {
    pub(super) fn rewind(&mut self) -> Result<()> {
        self.source.rewind()?;
        (self.start, self.end, self.eof) = (0, 0, false);
        Ok(())
    }
}

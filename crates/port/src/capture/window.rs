//! Window of fixed size on a stream of bytes: a parser sees only its content.

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
    /// Number of reads so far.
    pub(super) reads: u64,
}

impl<R: Read> Window<R> {
    pub(super) fn new(source: R) -> Self {
        Self { source, bytes: vec![0; WINDOW].into_boxed_slice(), start: 0, end: 0, eof: false, reads: 0 }
    }

    pub(super) fn source(&self) -> &R {
        &self.source
    }

    /// Brings at least `n` bytes (no more than [`WINDOW`]) into the window; false if the stream ends before.
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

    /// Number of bytes in the window.
    pub(super) fn available(&self) -> usize {
        self.end - self.start
    }

    /// The first `n` bytes of the window; the caller has called [`Self::need`] for them.
    pub(super) fn view(&self, n: usize) -> &[u8] {
        &self.bytes[self.start..self.start + n]
    }

    /// Advances by `n` bytes; the caller has called [`Self::need`] for them.
    pub(super) fn pass(&mut self, n: usize) {
        debug_assert!(n <= self.available());
        self.start += n.min(self.available());
    }

    /// Advances by up to `n` bytes, with one read at most; returns the number of bytes, 0 at the stream's end.
    pub(super) fn skip(&mut self, n: u64) -> Result<u64> {
        if self.available() == 0 && !self.eof {
            self.fill()?;
        }
        let available = self.available();
        let some = usize::try_from(n).unwrap_or(available).min(available);
        self.start += some;
        Ok(some as u64)
    }

    /// True if the stream has ended and all of it was passed. True is final.
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

//! Buffers for the data of I/O operations: owned, aligned for direct I/O.

/// Alignment of the start of a buffer, in bytes: enough for `O_DIRECT` on any device.
const ALIGN: usize = 4096;

/// Data buffer of one I/O operation; its address is a multiple of 4096.
#[derive(Debug)]
pub struct Buffer {
    bytes: Box<[u8]>,
    start: usize,
    len: usize,
}

impl Buffer {
    /// Zeroed buffer of `len` bytes.
    #[must_use]
    pub fn new(len: usize) -> Self {
        let bytes = vec![0; len + ALIGN].into_boxed_slice();
        let start = bytes.as_ptr().align_offset(ALIGN);
        Self { bytes, start, len }
    }

    /// Bytes in use.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// True if no byte is in use.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Number of bytes that the buffer can hold.
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.bytes.len() - ALIGN
    }

    /// Uses the first `len` bytes, or all if the capacity is smaller.
    pub fn resize(&mut self, len: usize) {
        self.len = len.min(self.capacity());
    }

    /// The bytes in use.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[self.start..self.start + self.len]
    }

    /// The bytes in use, to write.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.bytes[self.start..self.start + self.len]
    }
}

//! Memory that begins with a page.

use std::ops::{Deref, DerefMut};

/// Size of a page, or a part of one.
const PAGE: usize = 4096;

/// Bytes that begin with a page: kernels copy to such a place faster than to one that lies 16 bytes behind, where an allocator puts
/// what it takes in whole pages.
pub(crate) struct PageAligned {
    whole: Vec<u8>,
    at: usize,
    len: usize,
}

impl PageAligned {
    /// So many zeros.
    pub(crate) fn new(len: usize) -> Self {
        let whole = vec![0; len + PAGE];
        let at = whole.as_ptr().align_offset(PAGE).min(PAGE);
        Self { whole, at, len }
    }
}

impl Deref for PageAligned {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.whole[self.at..self.at + self.len]
    }
}

impl DerefMut for PageAligned {
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.whole[self.at..self.at + self.len]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_as_long_as_asked_and_begins_with_a_page() {
        for len in [0, 1, 131_072] {
            let mut bytes = PageAligned::new(len);
            bytes.fill(7);
            assert_eq!((bytes.as_ptr().addr() % PAGE, &bytes[..]), (0, &vec![7; len][..]));
        }
    }
}

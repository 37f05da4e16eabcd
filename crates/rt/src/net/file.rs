//! Files as they are sent: read into buffers that a connection keeps until what they hold is acknowledged, and that serve again
//! then. It maps no file: one that becomes shorter meanwhile ends early, and kills nobody.

use bytes::{Bytes, BytesMut};
use std::collections::VecDeque;
use std::fs::File;
use std::io::Result;
use std::os::unix::fs::FileExt;

/// Most bytes of a buffer: two super-frames.
const MOST: usize = 128 << 10;

/// Buffers of a file, in the order in which they were sent.
#[derive(Debug, Default)]
pub(super) struct Chunks(VecDeque<Bytes>);

impl Chunks {
    /// Reads up to so many bytes of a file from a place on: none at its end, and at most a buffer.
    pub(super) fn read(&mut self, file: &File, at: u64, most: usize) -> Result<Bytes> {
        if most == 0 {
            return Ok(Bytes::new());
        }
        let mut buffer = self.buffer(most.min(MOST));
        let most = most.min(buffer.len());
        let n = loop {
            match file.read_at(&mut buffer[..most], at) {
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                done => break done?,
            }
        };
        let buffer = buffer.freeze();
        self.0.push_back(buffer.clone());
        Ok(buffer.slice(..n))
    }

    /// A buffer of at least so many bytes: the first one, if nobody else has it any more.
    fn buffer(&mut self, least: usize) -> BytesMut {
        while let Some(first) = self.0.pop_front() {
            match first.try_into_mut() {
                Ok(free) if free.len() >= least => return free,
                Ok(_) => {}
                Err(first) => {
                    self.0.push_front(first);
                    break;
                }
            }
        }
        BytesMut::zeroed(least)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn buffers_serve_again_when_nobody_has_them() {
        let mut file = tempfile::tempfile().unwrap();
        let data: Vec<u8> = (0..400_000_u32).map(|i| (i % 251) as u8).collect();
        file.write_all(&data).unwrap();
        let mut chunks = Chunks::default();
        let first = chunks.read(&file, 0, usize::MAX).unwrap();
        assert_eq!((first.len(), &first[..]), (MOST, &data[..MOST]));
        let second = chunks.read(&file, MOST as u64, MOST).unwrap();
        assert_eq!(&second[..], &data[MOST..2 * MOST]);
        assert!(second.as_ptr() != first.as_ptr(), "the first one is still there");
        let place = first.as_ptr();
        drop(first);
        let third = chunks.read(&file, 2 * MOST as u64, 70_000).unwrap();
        assert_eq!((third.as_ptr(), &third[..]), (place, &data[2 * MOST..2 * MOST + 70_000]));
        let rest = chunks.read(&file, 3 * MOST as u64, MOST).unwrap();
        assert_eq!((rest.len(), chunks.0.len()), (400_000 - 3 * MOST, 3));
        assert_eq!(chunks.read(&file, 400_000, MOST).unwrap().len(), 0);
        assert_eq!(chunks.read(&file, 0, 0).unwrap().len(), 0);
        drop(second);
        drop(third);
        chunks.read(&file, 0, 10).unwrap();
        chunks.read(&file, 0, 10).unwrap();
        assert!(chunks.0.len() <= 5);
    }
}

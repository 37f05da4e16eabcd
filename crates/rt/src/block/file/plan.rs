//! Plan of an operation: the sequence of its requests, and its result.

use crate::sys::uring::Request;
use linerate_block::{BackendError, Buffer, Operation};
use std::io;

/// Most bytes of zeros written by one request, where a file has no holes.
const ZEROS: u64 = 1 << 20;
/// Most tries of a request for which the kernel had no resources.
const TRIES: u8 = 100;

/// Next step of a plan.
#[derive(Debug)]
pub(super) enum Next {
    Request(Request),
    /// End the operation with this result.
    End(Result<(), BackendError>),
}

/// Method by which the plan does its operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum How {
    Read,
    Write,
    /// fallocate(PUNCH_HOLE): the range reads as zeros, and its space is freed.
    Punch,
    /// fallocate(ZERO_RANGE): the range reads as zeros, and its space is kept.
    Zero,
    /// Zeros are written.
    Fill,
    Sync,
}

/// An operation on a range of bytes of the file from `offset` on, of which `done` are complete.
#[derive(Debug)]
pub(super) struct IoPlan {
    how: How,
    fua: bool,
    block: u64,
    offset: u64,
    len: u64,
    done: u64,
    tries: u8,
}

impl IoPlan {
    /// Makes the plan of an operation on blocks of `block` bytes, and its buffer; no plan if its end exceeds the file
    /// offsets.
    pub(super) fn new(operation: Operation, block: u64) -> (Option<Self>, Option<Buffer>) {
        let bytes = |buffer: &Buffer| u64::try_from(buffer.len()).ok();
        let (how, fua, lba, len, buffer) = match operation {
            Operation::Read { lba, buffer } => (How::Read, false, lba, bytes(&buffer), Some(buffer)),
            Operation::Write { lba, buffer, fua } => (How::Write, fua, lba, bytes(&buffer), Some(buffer)),
            Operation::Flush => (How::Sync, false, 0, Some(0), None),
            Operation::Discard { lba, blocks } => (How::Punch, false, lba, blocks.checked_mul(block), None),
            Operation::WriteZeroes { lba, blocks, discard, fua } => {
                (if discard { How::Punch } else { How::Zero }, fua, lba, blocks.checked_mul(block), None)
            }
        };
        let plan = || {
            let (offset, len) = (lba.checked_mul(block)?, len?);
            offset.checked_add(len).filter(|end| i64::try_from(*end).is_ok())?;
            Some(Self { how, fua, block, offset, len, done: 0, tries: 0 })
        };
        (plan(), buffer)
    }

    /// True if it flushes data to stable storage and does nothing else.
    pub(super) fn is_sync(&self) -> bool {
        self.how == How::Sync
    }

    /// True if its success means that data is on stable storage.
    pub(super) fn promises(&self) -> bool {
        self.fua || self.how == How::Sync
    }

    /// True if its buffer belongs to the submitter.
    pub(super) fn is_transfer(&self) -> bool {
        matches!(self.how, How::Read | How::Write)
    }

    pub(super) fn request(&self) -> Request {
        let (offset, len) = (self.offset + self.done, self.len - self.done);
        // `done` cannot exceed the buffer's length, which fits a usize.
        let from = usize::try_from(self.done).unwrap_or(usize::MAX);
        match self.how {
            How::Read => Request::Read { from, offset },
            How::Write => Request::Write { from, offset, dsync: self.fua },
            How::Fill => Request::Write { from: 0, offset, dsync: self.fua },
            How::Punch => {
                Request::Allocate { mode: libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE, offset, len }
            }
            How::Zero => {
                Request::Allocate { mode: libc::FALLOC_FL_ZERO_RANGE | libc::FALLOC_FL_KEEP_SIZE, offset, len }
            }
            How::Sync => Request::Sync,
        }
    }

    /// Advances the plan by the result of a request.
    pub(super) fn advance(&mut self, result: io::Result<usize>, buffer: &mut Option<Buffer>) -> Next {
        match (result, self.how) {
            (Ok(n), How::Read | How::Write | How::Fill) => {
                // Whole blocks count: direct I/O continues at a block's start, and reading again does no harm.
                let n = u64::try_from(n).unwrap_or(0).min(self.len - self.done);
                let moved = if n == self.len - self.done { n } else { n - n % self.block };
                self.done += moved;
                if moved == 0 && self.len > 0 {
                    // The file has become shorter, or accepts no more data.
                    return Next::End(Err(BackendError::Medium));
                }
                if self.done == self.len {
                    return Next::End(Ok(()));
                }
            }
            // Zeros that must be on stable storage: the result of fallocate is flushed.
            (Ok(_), How::Punch | How::Zero) if self.fua => self.how = How::Sync,
            (Ok(_), _) => return Next::End(Ok(())),
            (Err(error), how) => match (error.raw_os_error().unwrap_or(libc::EIO), how) {
                (libc::EINTR | libc::EAGAIN, _) if self.tries < TRIES => self.tries += 1,
                // EINVAL: a device needs whole sectors, which are larger than blocks.
                (libc::EOPNOTSUPP | libc::EINVAL, How::Punch) => self.how = How::Zero,
                (libc::EOPNOTSUPP | libc::EINVAL, How::Zero) => {
                    self.how = How::Fill;
                    *buffer = Some(Buffer::new(usize::try_from(self.len.min(ZEROS)).unwrap_or(0)));
                }
                (errno, _) => return Next::End(Err(meaning(errno))),
            },
        }
        if let (How::Fill, Some(buffer)) = (self.how, buffer) {
            buffer.resize(usize::try_from(self.len - self.done).unwrap_or(usize::MAX));
        }
        Next::Request(self.request())
    }
}

/// Maps an errno of the kernel to the error of the operation.
fn meaning(errno: libc::c_int) -> BackendError {
    match errno {
        libc::ENOSPC | libc::EDQUOT | libc::EFBIG => BackendError::NoSpace,
        libc::ENODEV | libc::ENXIO | libc::ENOMEDIUM => BackendError::Gone,
        libc::EROFS | libc::EPERM | libc::EBADF => BackendError::ReadOnly,
        _ => BackendError::Medium,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(next: Next) -> Request {
        match next {
            Next::Request(request) => request,
            Next::End(end) => panic!("{end:?}"),
        }
    }

    fn errno<T>(errno: libc::c_int) -> io::Result<T> {
        Err(io::Error::from_raw_os_error(errno))
    }

    #[test]
    fn what_was_read_in_part_is_resumed_at_a_block() {
        let (plan, mut buffer) = IoPlan::new(Operation::Read { lba: 2, buffer: Buffer::new(2048) }, 512);
        let mut plan = plan.unwrap();
        assert!(matches!(plan.request(), Request::Read { from: 0, offset: 1024 }));
        let next = request(plan.advance(Ok(700), &mut buffer));
        assert!(matches!(next, Request::Read { from: 512, offset: 1536 }));
        assert!(matches!(plan.advance(Ok(1536), &mut buffer), Next::End(Ok(()))));
    }

    #[test]
    fn a_file_that_became_shorter_is_an_error_and_no_loop() {
        for n in [0, 511] {
            let (plan, mut buffer) = IoPlan::new(Operation::Read { lba: 0, buffer: Buffer::new(1024) }, 512);
            let end = plan.unwrap().advance(Ok(n), &mut buffer);
            assert!(matches!(end, Next::End(Err(BackendError::Medium))));
        }
    }

    #[test]
    fn zeros_come_by_the_best_way_there_is() {
        let operation = Operation::WriteZeroes { lba: 1, blocks: 3000, discard: true, fua: true };
        let (plan, mut buffer) = IoPlan::new(operation, 512);
        let (mut plan, len) = (plan.unwrap(), 3000 * 512_usize);
        let punch = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
        assert!(
            matches!(plan.request(), Request::Allocate { mode, offset: 512, len: l } if mode == punch && l == 3000 * 512)
        );
        let zero = request(plan.advance(errno(libc::EOPNOTSUPP), &mut buffer));
        assert!(matches!(zero, Request::Allocate { mode, .. } if mode & libc::FALLOC_FL_ZERO_RANGE != 0));
        let fill = request(plan.advance(errno(libc::EINVAL), &mut buffer));
        assert!(matches!(fill, Request::Write { from: 0, offset: 512, dsync: true }));
        assert_eq!(buffer.as_ref().unwrap().len(), 1 << 20);
        let rest = request(plan.advance(Ok(1 << 20), &mut buffer));
        assert!(matches!(rest, Request::Write { from: 0, offset, .. } if offset == 512 + (1 << 20)));
        assert_eq!(buffer.as_ref().unwrap().len(), len - (1 << 20));
        assert!(matches!(plan.advance(Ok(len - (1 << 20)), &mut buffer), Next::End(Ok(()))));
    }

    #[test]
    fn zeros_with_fua_are_flushed() {
        let operation = Operation::WriteZeroes { lba: 0, blocks: 8, discard: false, fua: true };
        let mut plan = IoPlan::new(operation, 512).0.unwrap();
        assert!(matches!(request(plan.advance(Ok(0), &mut None)), Request::Sync));
        assert!(plan.promises() && plan.is_sync());
        assert!(matches!(plan.advance(Ok(0), &mut None), Next::End(Ok(()))));
    }

    #[test]
    fn errors_are_told_apart_and_no_range_overflows() {
        for (number, meant) in [
            (libc::EIO, BackendError::Medium),
            (libc::ENOSPC, BackendError::NoSpace),
            (libc::ENODEV, BackendError::Gone),
            (libc::EROFS, BackendError::ReadOnly),
        ] {
            let mut plan = IoPlan::new(Operation::Flush, 512).0.unwrap();
            assert!(matches!(plan.advance(errno(number), &mut None), Next::End(Err(e)) if e == meant), "{number}");
        }
        let mut plan = IoPlan::new(Operation::Flush, 512).0.unwrap();
        let ends = (0..1000).take_while(|_| matches!(plan.advance(errno(libc::EAGAIN), &mut None), Next::Request(_)));
        assert_eq!(ends.count(), usize::from(TRIES), "a kernel that never has room is no endless loop");
        assert!(IoPlan::new(Operation::Discard { lba: u64::MAX / 512, blocks: 9 }, 512).0.is_none());
    }
}

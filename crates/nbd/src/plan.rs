//! Sequence of requests that carries out an operation: servers limit the length of a request.

use crate::negotiation::Agreed;
use crate::wire::{command, error, export};
use linerate_block::{BackendError, Buffer, Operation};

/// Bytes that one TRIM or WRITE_ZEROES covers at most.
const LONGEST: u64 = 1 << 30;
/// Bytes of zeros in one WRITE where the server has no WRITE_ZEROES.
const ZEROS: u64 = 1 << 20;

/// An operation on `len` bytes of the export from `offset` on, of which `done` are done.
#[derive(Debug)]
pub(crate) struct RequestPlan {
    kind: u16,
    flags: u16,
    offset: u64,
    len: u64,
    done: u64,
    /// Offset of the next request's data in the buffer.
    from: usize,
    /// Bytes that one request covers at most.
    most: u64,
    /// The buffer holds zeros, and is written again and again.
    fills: bool,
    /// A FLUSH follows, because the server has no FUA.
    then_flush: bool,
}

/// A request without its cookie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    pub(crate) kind: u16,
    pub(crate) flags: u16,
    pub(crate) offset: u64,
    pub(crate) len: u32,
    /// Offset of its data in the buffer.
    pub(crate) from: usize,
}

/// True if a request of this kind changes the export.
pub(crate) fn is_change(kind: u16) -> bool {
    matches!(kind, command::WRITE | command::TRIM | command::WRITE_ZEROES)
}

impl Part {
    /// True if it changes the export.
    pub(crate) fn is_change(&self) -> bool {
        is_change(self.kind)
    }

    /// Bytes that the request covers.
    pub(crate) fn bytes(&self) -> usize {
        self.len as usize
    }
}

/// First step of an operation.
#[derive(Debug)]
pub(crate) enum Start {
    /// Send a request, with this buffer.
    RequestPlan(RequestPlan, Option<Buffer>),
    /// The operation has ended without a request.
    End(Result<(), BackendError>, Option<Buffer>),
}

/// Step after the reply to a request.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// Send this request.
    Part(Part),
    /// None: the operation has ended with this result.
    End(Result<(), BackendError>),
}

impl RequestPlan {
    /// Plans an operation on blocks of `block` bytes.
    pub(crate) fn start(operation: Operation, block: u32, agreed: &Agreed) -> Start {
        let block = u64::from(block);
        let has = |flag| agreed.info.has(flag);
        let bytes = |buffer: &Buffer| u64::try_from(buffer.len()).ok();
        let (mut kind, mut flags, mut fua, mut fills) = (command::READ, 0, false, false);
        let (lba, len, mut buffer) = match operation {
            Operation::Read { lba, buffer } => (lba, bytes(&buffer), Some(buffer)),
            Operation::Write { lba, buffer, fua: stable } => {
                (kind, fua) = (command::WRITE, stable);
                (lba, bytes(&buffer), Some(buffer))
            }
            Operation::Flush => {
                kind = command::FLUSH;
                (0, Some(0), None)
            }
            Operation::Discard { lba, blocks } => {
                kind = command::TRIM;
                (lba, blocks.checked_mul(block), None)
            }
            Operation::WriteZeroes { lba, blocks, discard, fua: stable } => {
                (kind, fua) = (command::WRITE_ZEROES, stable);
                flags |= if discard { 0 } else { command::FLAG_NO_HOLE };
                (lba, blocks.checked_mul(block), None)
            }
        };
        let writes = !matches!(kind, command::READ | command::FLUSH);
        let refused = match kind {
            _ if writes && has(export::READ_ONLY) => Some(Err(BackendError::ReadOnly)),
            command::TRIM if !has(export::SEND_TRIM) => Some(Err(BackendError::Unsupported)),
            // Without FLUSH, a completed write is as stable as it will ever be.
            command::FLUSH if !has(export::SEND_FLUSH) => Some(Ok(())),
            _ => None,
        };
        if let Some(end) = refused {
            return Start::End(end, buffer);
        }
        let range = || {
            let (offset, len) = (lba.checked_mul(block)?, len?);
            offset.checked_add(len).map(|_| (offset, len))
        };
        // The submitter has checked the range; one that overflows is still not sent to the server.
        let Some((offset, len)) = range() else { return Start::End(Err(BackendError::Medium), buffer) };
        if kind == command::WRITE_ZEROES && !has(export::SEND_WRITE_ZEROES) {
            (kind, flags, fills) = (command::WRITE, 0, true);
            buffer = Some(Buffer::new(usize::try_from(len.min(ZEROS)).unwrap_or(0)));
        }
        let mut then_flush = false;
        if fua && has(export::SEND_FUA) {
            flags |= command::FLAG_FUA;
        } else if fua {
            then_flush = has(export::SEND_FLUSH);
        }
        let payload = matches!(kind, command::READ | command::WRITE);
        let most = match (payload, fills) {
            (true, true) => ZEROS.min(agreed.sizes.most.into()),
            (true, false) => agreed.sizes.most.into(),
            (false, _) => LONGEST,
        };
        let most = (most.min(LONGEST) / block * block).max(block);
        Start::RequestPlan(Self { kind, flags, offset, len, done: 0, from: 0, most, fills, then_flush }, buffer)
    }

    /// True if its buffer is that of the submitter.
    pub(crate) fn is_transfer(&self) -> bool {
        !self.fills
    }

    /// The next request.
    pub(crate) fn part(&self) -> Part {
        let len = (self.len - self.done).min(self.most);
        Part {
            kind: self.kind,
            flags: self.flags,
            offset: self.offset + self.done,
            len: u32::try_from(len).unwrap_or(0),
            from: self.from,
        }
    }

    /// Processes the reply to the last request: its error number, 0 for none.
    pub(crate) fn advance(&mut self, number: u32) -> Next {
        if number != 0 {
            return Next::End(Err(meaning(number)));
        }
        let part = self.part();
        self.done += u64::from(part.len);
        self.from += if self.fills { 0 } else { part.bytes() };
        if self.done < self.len {
            return Next::Part(self.part());
        }
        if !self.then_flush {
            return Next::End(Ok(()));
        }
        (self.then_flush, self.kind, self.flags) = (false, command::FLUSH, 0);
        (self.offset, self.len, self.done, self.from) = (0, 0, 0, 0);
        Next::Part(self.part())
    }
}

/// Backend error for an NBD error number.
fn meaning(number: u32) -> BackendError {
    match number {
        error::EPERM => BackendError::ReadOnly,
        error::ENOSPC => BackendError::NoSpace,
        error::ENOTSUP => BackendError::Unsupported,
        error::ESHUTDOWN => BackendError::Gone,
        _ => BackendError::Medium,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::negotiation::Labels;
    use crate::wire::facts::{ExportInfo, Sizes};

    fn agreed(flags: u16) -> Agreed {
        let sizes = Sizes { least: 512, preferred: 4096, most: 4096 };
        Agreed {
            info: ExportInfo { size: 1 << 40, flags: flags | export::HAS_FLAGS },
            sizes,
            structured: true,
            labels: Labels::default(),
        }
    }

    fn plan(operation: Operation, flags: u16) -> (RequestPlan, Option<Buffer>) {
        match RequestPlan::start(operation, 512, &agreed(flags)) {
            Start::RequestPlan(plan, buffer) => (plan, buffer),
            Start::End(end, _) => panic!("{end:?}"),
        }
    }

    #[test]
    fn long_operations_go_in_parts() {
        let (mut plan, _) = plan(Operation::Read { lba: 1, buffer: Buffer::new(9216) }, 0);
        let part = |offset, len, from| Part { kind: command::READ, flags: 0, offset, len, from };
        assert_eq!(plan.part(), part(512, 4096, 0));
        assert_eq!(plan.advance(0), Next::Part(part(4608, 4096, 4096)));
        assert_eq!(plan.advance(0), Next::Part(part(8704, 1024, 8192)));
        assert_eq!(plan.advance(0), Next::End(Ok(())));
    }

    #[test]
    fn what_a_server_lacks_is_done_without_or_refused() {
        let write = || Operation::Write { lba: 0, buffer: Buffer::new(512), fua: true };
        let (direct, _) = plan(write(), export::SEND_FUA | export::SEND_FLUSH);
        assert_eq!(direct.part().flags, command::FLAG_FUA);
        let (mut flushed, _) = plan(write(), export::SEND_FLUSH);
        assert_eq!(flushed.part().flags, 0);
        assert!(matches!(flushed.advance(0), Next::Part(Part { kind: command::FLUSH, len: 0, .. })));
        assert_eq!(flushed.advance(0), Next::End(Ok(())));
        let zeroes = Operation::WriteZeroes { lba: 0, blocks: 16, discard: false, fua: false };
        let (mut filled, buffer) = plan(zeroes, 0);
        assert_eq!(buffer.unwrap().len(), 8192);
        assert_eq!((filled.part().kind, filled.part().len, filled.is_transfer()), (command::WRITE, 4096, false));
        assert!(matches!(filled.advance(0), Next::Part(Part { offset: 4096, from: 0, .. })));
        let end = |operation, flags| match RequestPlan::start(operation, 512, &agreed(flags)) {
            Start::End(end, _) => end,
            Start::RequestPlan(plan, _) => panic!("{plan:?}"),
        };
        assert_eq!(end(Operation::Flush, 0), Ok(()));
        assert_eq!(end(Operation::Discard { lba: 0, blocks: 1 }, 0), Err(BackendError::Unsupported));
        assert_eq!(end(write(), export::READ_ONLY), Err(BackendError::ReadOnly));
        assert_eq!(end(Operation::Discard { lba: u64::MAX, blocks: 1 }, export::SEND_TRIM), Err(BackendError::Medium));
    }

    #[test]
    fn errors_are_told_apart() {
        for (number, meant) in [
            (error::EPERM, BackendError::ReadOnly),
            (error::EIO, BackendError::Medium),
            (error::ENOSPC, BackendError::NoSpace),
            (error::ESHUTDOWN, BackendError::Gone),
            (9999, BackendError::Medium),
        ] {
            assert_eq!(plan(Operation::Flush, export::SEND_FLUSH).0.advance(number), Next::End(Err(meant)));
        }
    }
}

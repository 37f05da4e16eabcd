//! Requests: the operation of each, its checks, and the error numbers of replies.

use crate::service::{Export, LONGEST};
use crate::wire::{Request, command, error};
use linerate_block::{BackendError, Buffer, Operation};

/// Longest WRITE whose data is skipped and answered with an error; the sender of a longer one is dropped
/// (`doc/proto.md`, "Block size constraints").
pub(super) const BEARABLE: u32 = 64 << 20;

/// A request under way.
#[derive(Clone, Copy, Debug)]
pub(super) struct Asked {
    /// Place of the export.
    pub(super) export: usize,
    pub(super) cookie: u64,
    pub(super) kind: u16,
    pub(super) offset: u64,
    /// Bytes of data memory that it holds.
    pub(super) memory: usize,
    /// A TRIM with FUA: a flush follows.
    pub(super) then_flush: bool,
    /// Number of the last client at the time when the client left, if it has.
    pub(super) left: Option<u64>,
}

impl Asked {
    /// A request to the export at a place.
    pub(super) fn new(request: &Request, export: usize, len: usize) -> Self {
        let Request { flags, kind, cookie, offset, .. } = *request;
        let memory = if matches!(kind, command::READ | command::WRITE) { len } else { 0 };
        let then_flush = kind == command::TRIM && flags & command::FLAG_FUA != 0;
        Self { export, cookie, kind, offset, memory, then_flush, left: None }
    }

    pub(super) fn is_read(&self) -> bool {
        self.kind == command::READ
    }
}

/// Error number of a request that must be refused; 0 if it can be tried.
pub(super) fn wrong(export: &Export, request: &Request) -> u32 {
    let g = &export.geometry;
    let (len, block) = (u64::from(request.len), u64::from(g.block_size));
    let writes = matches!(request.kind, command::WRITE | command::TRIM | command::WRITE_ZEROES);
    let moves = matches!(request.kind, command::READ | command::WRITE);
    let end = request.offset.checked_add(len);
    match request.kind {
        command::FLUSH => 0,
        _ if writes && g.read_only => error::EPERM,
        command::TRIM if !g.discards => error::ENOTSUP,
        command::READ | command::WRITE | command::TRIM | command::WRITE_ZEROES => {
            let aligned = len > 0 && request.offset.is_multiple_of(block) && len.is_multiple_of(block);
            let within = end.is_some_and(|end| end <= export.info().size);
            match (aligned && !(moves && request.len > LONGEST), within) {
                (true, true) => 0,
                (true, false) if writes && request.kind != command::TRIM => error::ENOSPC,
                _ => error::EINVAL,
            }
        }
        _ => error::EINVAL,
    }
}

/// Operation of a request that passed the checks; None if it needs a data buffer and there is none.
pub(super) fn operation(request: &Request, block: u32, buffer: impl FnOnce() -> Option<Buffer>) -> Option<Operation> {
    let (block, stable) = (u64::from(block), request.flags & command::FLAG_FUA != 0);
    let (lba, blocks) = (request.offset / block, u64::from(request.len) / block);
    Some(match request.kind {
        command::READ => Operation::Read { lba, buffer: buffer()? },
        command::WRITE => Operation::Write { lba, buffer: buffer()?, fua: stable },
        command::TRIM => Operation::Discard { lba, blocks },
        command::WRITE_ZEROES => {
            let discard = request.flags & command::FLAG_NO_HOLE == 0;
            Operation::WriteZeroes { lba, blocks, discard, fua: stable }
        }
        _ => Operation::Flush,
    })
}

/// NBD error number of a backend error.
pub(super) fn number(error: BackendError) -> u32 {
    match error {
        BackendError::Medium | BackendError::Gone | BackendError::NotReady | BackendError::Replaced => error::EIO,
        BackendError::NoSpace => error::ENOSPC,
        BackendError::Unsupported => error::ENOTSUP,
        BackendError::ReadOnly => error::EPERM,
    }
}

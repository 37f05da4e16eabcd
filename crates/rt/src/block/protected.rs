//! Protection information (T10 DIF) in a file beside a device: 8 bytes for each block, not interpreted here.
//!
//! Buffers have each block's bytes followed by its 8 bytes of protection information, as [`Geometry::protection`] says.
//! In the side file these are behind a header, in the order of blocks, each byte inverted, so that a hole reads as all
//! ones: blocks that were never written or were discarded are not checked (SBC-3, clause 4.22.2).
//!
//! Data and side file are written together, but not atomically: after a crash, a block whose write was never
//! acknowledged may fail its check. One that was acknowledged and flushed does not.

mod side;

use super::{Device, DeviceError, FileBackend, FileOptions};
use crate::machine::Sleeper;
use linerate_block::{Backend, BackendError, Buffer, Completion, Extent, Geometry, Operation, Pool, Tag};
use side::{HEADER, Header, Mode};
use std::collections::{HashMap, VecDeque};
use std::path::{Path, PathBuf};

/// Options for the side file of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProtectedOptions {
    /// Type of protection information, 1 to 3 (SBC-3, clause 4.22.2).
    pub kind: u8,
    /// Make a side file if there is none.
    pub makes: bool,
    /// Take a side file that was made for another file, or for another number of blocks.
    pub adopts: bool,
}

/// Bytes of protection information for a block.
const TUPLE: usize = 8;
/// Most bytes of half buffers that are pooled for reuse.
const MEMORY: usize = 64 << 20;

/// A device and the file with its protection information.
pub struct Protected<D> {
    geometry: Geometry,
    data: D,
    side: FileBackend,
    /// The side file was made by this start.
    is_new: bool,
    /// Operations of which one half has not completed.
    halves: HashMap<Tag, Halves>,
    done: VecDeque<Completion>,
    pool: Pool,
}

/// State of an operation's halves, data and side file.
struct Halves {
    /// The buffer with both, for a read or write.
    whole: Option<Buffer>,
    is_read: bool,
    left: u8,
    data: Option<Buffer>,
    side: Option<Buffer>,
    result: Result<(), BackendError>,
}

impl<D: Device> Protected<D> {
    /// Opens the side file of the device whose file is at this path.
    ///
    /// # Errors
    /// The side file does not belong to the device, or cannot be created, opened or locked.
    pub fn open(data: D, path: &Path, options: &ProtectedOptions) -> Result<Self, DeviceError> {
        let geometry = Geometry { protection: true, ..data.geometry().clone() };
        let read_only = geometry.read_only;
        let header = Header::of(path, &geometry, options.kind)
            .map_err(|e| DeviceError::new(path.display(), e, "let it be read, or leave out 'pi='"))?;
        let mode = match (read_only || !options.makes, options.adopts) {
            (true, _) => Mode::Fits,
            (false, false) => Mode::Makes,
            (false, true) => Mode::Adopts,
        };
        let side = Self::side_of(path);
        let is_new = header.ensure(&side, mode)?;
        let side = FileBackend::open(&side, &FileOptions { read_only, block_size: 8, direct: false })?;
        let (halves, done) = (HashMap::new(), VecDeque::new());
        Ok(Self { geometry, data, side, is_new, halves, done, pool: Pool::new(MEMORY) })
    }

    /// Path of the side file of a file: PATH.pi.
    #[must_use]
    pub fn side_of(path: &Path) -> PathBuf {
        let mut name = path.as_os_str().to_owned();
        name.push(".pi");
        name.into()
    }

    fn stride(&self) -> usize {
        usize::try_from(self.geometry.block_size).unwrap_or(0) + TUPLE
    }

    /// Buffers for the halves of `len` bytes.
    fn split(&mut self, len: usize) -> (Buffer, Buffer) {
        let blocks = len / self.stride();
        let mut take = |len| self.pool.take(len).unwrap_or_else(|| Buffer::new(len));
        (take(len - blocks * TUPLE), take(blocks * TUPLE))
    }

    /// Records the completion of one half.
    fn half(&mut self, completion: Completion, is_side: bool) {
        let Completion { tag, buffer, result } = completion;
        let Some(halves) = self.halves.get_mut(&tag) else { return };
        *(if is_side { &mut halves.side } else { &mut halves.data }) = buffer;
        halves.result = halves.result.and(result);
        halves.left -= 1;
        if halves.left > 0 {
            return;
        }
        let Some(mut halves) = self.halves.remove(&tag) else { return };
        if let (Some(whole), Some(data), Some(side)) = (&mut halves.whole, &halves.data, &halves.side)
            && halves.is_read
            && halves.result.is_ok()
        {
            let block = self.stride() - TUPLE;
            let parts = data.bytes().chunks_exact(block).zip(side.bytes().chunks_exact(TUPLE));
            for (to, (data, side)) in whole.bytes_mut().chunks_exact_mut(self.stride()).zip(parts) {
                to[..block].copy_from_slice(data);
                to[block..].iter_mut().zip(side).for_each(|(to, byte)| *to = !byte);
            }
        }
        halves.data.into_iter().chain(halves.side).for_each(|buffer| self.pool.give(buffer));
        self.done.push_back(Completion { tag, buffer: halves.whole, result: halves.result });
    }
}

fn behind_header(operation: Operation) -> Operation {
    const BEHIND: u64 = HEADER / TUPLE as u64;
    match operation {
        Operation::Read { lba, buffer } => Operation::Read { lba: lba.saturating_add(BEHIND), buffer },
        Operation::Write { lba, buffer, fua } => Operation::Write { lba: lba.saturating_add(BEHIND), buffer, fua },
        Operation::Discard { lba, blocks } => Operation::Discard { lba: lba.saturating_add(BEHIND), blocks },
        Operation::WriteZeroes { lba, blocks, discard, fua } => {
            Operation::WriteZeroes { lba: lba.saturating_add(BEHIND), blocks, discard, fua }
        }
        Operation::Flush => Operation::Flush,
    }
}

impl<D: Device> Backend for Protected<D> {
    fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    /// A write goes to both halves, and what deallocates data makes a hole in the side file: the data tells of both.
    fn extent(&mut self, lba: u64) -> Extent {
        self.data.extent(lba)
    }

    fn submit(&mut self, tag: Tag, operation: Operation) {
        let (stride, block) = (self.stride(), self.stride() - TUPLE);
        let (mut kept, mut is_read) = (None, false);
        let (data, side) = match operation {
            Operation::Read { lba, buffer } => {
                let (data, side) = self.split(buffer.len());
                (kept, is_read) = (Some(buffer), true);
                (Operation::Read { lba, buffer: data }, Operation::Read { lba, buffer: side })
            }
            Operation::Write { lba, buffer, fua } => {
                let (mut data, mut side) = self.split(buffer.len());
                let parts = data.bytes_mut().chunks_exact_mut(block).zip(side.bytes_mut().chunks_exact_mut(TUPLE));
                for (from, (data, side)) in buffer.bytes().chunks_exact(stride).zip(parts) {
                    data.copy_from_slice(&from[..block]);
                    side.iter_mut().zip(&from[block..]).for_each(|(to, byte)| *to = !byte);
                }
                kept = Some(buffer);
                (Operation::Write { lba, buffer: data, fua }, Operation::Write { lba, buffer: side, fua })
            }
            Operation::Flush => (Operation::Flush, Operation::Flush),
            // Blocks that read as zeros have no protection information: holes in the side file.
            Operation::Discard { lba, blocks } => {
                (Operation::Discard { lba, blocks }, Operation::Discard { lba, blocks })
            }
            Operation::WriteZeroes { lba, blocks, discard, fua } => {
                let zeroes = |discard| Operation::WriteZeroes { lba, blocks, discard, fua };
                (zeroes(discard), zeroes(true))
            }
        };
        let side = behind_header(side);
        let halves = Halves { whole: kept, is_read, left: 2, data: None, side: None, result: Ok(()) };
        self.halves.insert(tag, halves);
        self.data.submit(tag, data);
        self.side.submit(tag, side);
    }

    fn flush(&mut self) {
        self.data.flush();
        self.side.flush();
    }

    fn complete(&mut self) -> Option<Completion> {
        while self.done.is_empty() {
            let (data, side) = (self.data.complete(), self.side.complete());
            if data.is_none() && side.is_none() {
                break;
            }
            data.into_iter().for_each(|completion| self.half(completion, false));
            side.into_iter().for_each(|completion| self.half(completion, true));
        }
        self.done.pop_front()
    }
}

impl<D: Device> Device for Protected<D> {
    fn path(&self) -> String {
        let side =
            if self.is_new { "a new side file: nothing that is there already is protected" } else { "a side file" };
        format!("{}, protection information in {side}", self.data.path())
    }

    fn news(&mut self) -> Option<String> {
        self.data.news().or_else(|| self.side.news())
    }

    fn loss(&self) -> Option<String> {
        self.data.loss().or_else(|| self.side.loss())
    }

    fn waits_for(&mut self, visit: &mut dyn FnMut(&mut dyn Sleeper)) {
        self.data.waits_for(visit);
        self.side.waits_for(visit);
    }
}

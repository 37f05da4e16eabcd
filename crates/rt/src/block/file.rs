//! Files and block devices through io_uring, bypassing the page cache (O_DIRECT) where possible.
//!
//! Operations of a batch are submitted in one system call. Short reads and writes are resumed. Blocks are discarded by
//! punching holes, which read as zeros; where there are no holes, zeros are written.

mod identity;
mod lost;
mod open;
mod plan;

pub use open::FileOptions;

use super::Device;
use crate::machine::Sleeper;
use crate::sys::uring::{Ended, Ring};
use linerate_block::{Backend, BackendError, Buffer, Completion, Extent, Geometry, Operation, SizeError, Tag};
use linerate_port::{Interest, Sleep};
use lost::Place;
use plan::{IoPlan, Next};
use std::collections::VecDeque;
use std::io;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

/// Most operations in the kernel at once; others wait in a queue.
const DEPTH: u32 = 256;
/// Interval of retrying operations for which the kernel had no memory.
const NO_MEMORY: Duration = Duration::from_millis(1);

/// A file, or a block device of the kernel.
///
/// Completed writes are in the page cache or the disk's; those with FUA, and all before a Flush, are on stable storage
/// as far as fdatasync(2) reports. Once fdatasync has failed, it fails for ever, because the kernel forgets which data
/// it lost.
///
/// Dropping it waits for the operations under way.
pub struct FileBackend {
    geometry: Geometry,
    direct: bool,
    /// It is a block device, whose size need not be whole blocks.
    is_device: bool,
    /// Bytes of a block device after its last whole block.
    beyond: u64,
    /// Its path; None of a block device, which is no other one without a name.
    place: Option<Place>,
    ring: Ring<Job>,
    waiting: VecDeque<(Job, Option<Buffer>)>,
    done: VecDeque<Completion>,
    /// Written data was lost: stable storage cannot be guaranteed any more.
    lost: bool,
    /// Note at the end of its path.
    note: &'static str,
}

/// An operation and its progress.
struct Job {
    tag: Tag,
    plan: IoPlan,
}

impl FileBackend {
    /// True if the page cache is bypassed.
    #[must_use]
    pub fn is_direct(&self) -> bool {
        self.direct
    }

    /// The same, with this at the end of its path.
    #[must_use]
    pub(super) fn noting(self, note: &'static str) -> Self {
        Self { note, ..self }
    }

    /// Blocks from `lba` on that are in a hole, or that are not.
    fn holes(&self, lba: u64) -> io::Result<Extent> {
        let block = u64::from(self.geometry.block_size);
        let offset = lba.saturating_mul(block);
        let Some(data) = self.ring.seek(offset, false)? else {
            return Ok(Extent { blocks: self.geometry.blocks.saturating_sub(lba).max(1), deallocated: true });
        };
        let blocks = (data / block).saturating_sub(lba);
        if blocks > 0 {
            return Ok(Extent { blocks, deallocated: true });
        }
        // A block that is only partly in a hole has data.
        let hole = self.ring.seek(data, true)?.unwrap_or(data);
        Ok(Extent { blocks: hole.div_ceil(block).saturating_sub(lba).max(1), deallocated: false })
    }

    fn begin(&mut self, job: Job, buffer: Option<Buffer>) {
        if self.waiting.is_empty() && self.ring.has_room() {
            let request = job.plan.request();
            self.ring.begin(job, buffer, request);
        } else {
            self.waiting.push_back((job, buffer));
        }
    }

    /// Continues after a completed request: with the operation's next request, or its completion.
    fn advance(&mut self, ended: Ended<Job>) -> Option<Completion> {
        let Ended { what: mut job, mut buffer, result } = ended;
        match job.plan.advance(result, &mut buffer) {
            Next::Request(request) => {
                // The request's place in the ring is free now and is reused.
                self.ring.begin(job, buffer, request);
                None
            }
            Next::End(result) => {
                // A write through the page cache with FUA may have been given an error about other data lost.
                let tells = job.plan.is_sync() || !self.direct && job.plan.promises();
                self.lost |= tells && result.is_err();
                let result = if self.lost && job.plan.promises() { Err(BackendError::Medium) } else { result };
                // A buffer of zeros, written where there are no holes, is not the submitter's.
                let buffer = buffer.filter(|_| job.plan.is_transfer());
                Some(Completion { tag: job.tag, buffer, result })
            }
        }
    }

    /// Sleep that ends when a request completes, or after a while if the kernel could not take all requests.
    fn sleep(&self) -> Sleep<'_> {
        // No event tells when the kernel has memory again.
        let until = self.ring.is_behind().then(|| Instant::now() + NO_MEMORY);
        Sleep::on(self.ring.as_fd(), Interest::Readable).until(until)
    }

    fn begin_waiting(&mut self) {
        while self.ring.has_room() {
            let Some((job, buffer)) = self.waiting.pop_front() else { break };
            let request = job.plan.request();
            self.ring.begin(job, buffer, request);
        }
    }
}

impl Backend for FileBackend {
    fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    /// Holes are deallocated, if the file system tells of them; it may read its own tables for that.
    fn extent(&mut self, lba: u64) -> Extent {
        let unknown = Extent { blocks: self.geometry.blocks.saturating_sub(lba).max(1), deallocated: false };
        self.holes(lba).unwrap_or(unknown)
    }

    fn refresh(&mut self) -> Result<(), SizeError> {
        let size = self.ring.size().map_err(|e| SizeError::Unreadable(e.kind()))?;
        let block_size = self.geometry.block_size;
        let (blocks, beyond) = (size / u64::from(block_size), size % u64::from(block_size));
        if blocks == 0 || beyond > 0 && !self.is_device {
            return Err(SizeError::Blocks { size, block_size });
        }
        (self.geometry.blocks, self.beyond) = (blocks, beyond);
        Ok(())
    }

    fn submit(&mut self, tag: Tag, operation: Operation) {
        let writes = !matches!(operation, Operation::Read { .. } | Operation::Flush);
        let (plan, buffer) = IoPlan::new(operation, u64::from(self.geometry.block_size));
        let refused = match plan {
            Some(_) if writes && self.geometry.read_only => Err(BackendError::ReadOnly),
            // The submitter has checked the range; if it overflows all the same, the kernel is not asked.
            None => Err(BackendError::Medium),
            // Nothing was written, so there is nothing to flush.
            Some(ref plan) if self.geometry.read_only && plan.is_sync() => Ok(()),
            Some(plan) => return self.begin(Job { tag, plan }, buffer),
        };
        self.done.push_back(Completion { tag, buffer, result: refused });
    }

    fn flush(&mut self) {
        self.ring.submit();
    }

    fn complete(&mut self) -> Option<Completion> {
        if let Some(completion) = self.done.pop_front() {
            return Some(completion);
        }
        while let Some(ended) = self.ring.reap() {
            let completion = self.advance(ended);
            self.begin_waiting();
            if completion.is_some() {
                return completion;
            }
        }
        // Submits operations that were resumed or had waited.
        self.ring.submit();
        None
    }
}

impl Device for FileBackend {
    fn path(&self) -> String {
        let path = if self.direct { "io_uring, O_DIRECT" } else { "io_uring, page cache" };
        let beyond = match self.beyond {
            0 => String::new(),
            bytes => format!(", without its last {bytes} bytes"),
        };
        format!("{path}{beyond}{}", self.note)
    }

    fn news(&mut self) -> Option<String> {
        self.place.as_mut()?.news(self.ring.file(), Instant::now())
    }

    fn loss(&self) -> Option<String> {
        self.place.as_ref()?.loss(self.ring.file())
    }

    fn waits_for(&mut self, visit: &mut dyn FnMut(&mut dyn Sleeper)) {
        visit(self);
    }
}

impl Sleeper for FileBackend {
    fn fall_asleep(&mut self) -> Option<Sleep<'_>> {
        self.ring.submit();
        (self.done.is_empty() && !self.ring.has_ended()).then(|| self.sleep())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Regression: after the kernel refused requests for lack of memory, the sleep never ended.
    #[test]
    fn what_the_kernel_was_not_told_of_is_tried_again() {
        let file = tempfile::NamedTempFile::new().unwrap();
        file.as_file().set_len(1 << 20).unwrap();
        let options = FileOptions { read_only: false, block_size: 512, direct: false };
        let mut disk = FileBackend::open(file.path(), &options).unwrap();
        assert!(disk.sleep().until.is_none(), "there is nothing to tell");
        disk.submit(Tag(1), Operation::Read { lba: 0, buffer: Buffer::new(512) });
        assert!(disk.sleep().until.is_some());
        disk.flush();
        assert!(disk.sleep().until.is_none(), "its end wakes");
    }
}

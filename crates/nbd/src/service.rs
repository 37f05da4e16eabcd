//! Exports of a server.

use crate::wire::export;
use crate::wire::facts::{ExportInfo, Sizes};
use linerate_block::{Backend, Completion, Geometry, Operation, Tag};

/// Length in bytes of the longest READ or WRITE that is accepted.
pub(crate) const LONGEST: u32 = 4 << 20;

/// One device that clients can choose.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Export {
    /// Name that clients ask for. The only export is also the default one, whose name is empty; where there were two, there
    /// is no default any more.
    pub name: String,
    /// Description for people, which tells disks apart: NBD has no other means to.
    pub description: String,
    /// Geometry and capabilities.
    pub geometry: Geometry,
    /// No client can choose it any more.
    pub ended: bool,
}

impl Export {
    /// Size and flags in NBD's terms. All connections lead to one device, so a flush on one is a flush for all.
    pub(crate) fn info(&self) -> ExportInfo {
        let (g, mut flags) = (&self.geometry, export::HAS_FLAGS | export::CAN_MULTI_CONN | export::SEND_FLUSH);
        if g.read_only {
            flags |= export::READ_ONLY;
        } else {
            flags |= export::SEND_FUA | export::SEND_WRITE_ZEROES | if g.discards { export::SEND_TRIM } else { 0 };
        }
        ExportInfo { size: g.blocks.saturating_mul(g.block_size.into()), flags }
    }

    /// Sizes of the requests that the export takes.
    pub(crate) fn sizes(&self) -> Sizes {
        let least = self.geometry.block_size;
        let preferred = least.checked_shl(self.geometry.physical_exponent.into()).unwrap_or(least).clamp(4096, LONGEST);
        Sizes { least, preferred: preferred.max(least), most: LONGEST }
    }
}

/// Block devices that operations are submitted to, and that complete them later in any order: as a [`Backend`], but for
/// several devices. Blocks are those of the export's geometry; a server checks ranges and read-only exports before it
/// submits.
pub trait BlockService {
    /// Exports of the service now. An export keeps its place for as long as the service lives.
    fn exports(&self) -> &[Export];

    /// Takes note that a client asked for the default export: its place, or None if the client was refused.
    fn asked_default(&mut self, _given: Option<usize>) {}

    /// Submits an operation on an export, by its place.
    fn submit(&mut self, export: usize, tag: Tag, operation: Operation);

    /// Passes the submitted operations on.
    fn flush(&mut self);

    /// Takes the completion of an operation that has ended.
    fn complete(&mut self) -> Option<Completion>;
}

/// One back end as the only export.
#[derive(Debug)]
pub struct Exported<B> {
    exports: [Export; 1],
    backend: B,
}

impl<B: Backend> Exported<B> {
    /// A back end under a name.
    pub fn new(name: &str, backend: B) -> Self {
        let geometry = backend.geometry().clone();
        let description = format!("{}, {:016x}", geometry.product, geometry.serial);
        Self { exports: [Export { name: name.to_owned(), description, geometry, ended: false }], backend }
    }

    /// The back end.
    pub fn backend(&mut self) -> &mut B {
        &mut self.backend
    }
}

impl<B: Backend> BlockService for Exported<B> {
    fn exports(&self) -> &[Export] {
        &self.exports
    }

    fn submit(&mut self, _: usize, tag: Tag, operation: Operation) {
        self.backend.submit(tag, operation);
    }

    fn flush(&mut self) {
        self.backend.flush();
    }

    fn complete(&mut self) -> Option<Completion> {
        self.backend.complete()
    }
}

//! A block device of the FCoE target, driven directly: the medium of a LUN, without a network in between.

use super::{Ended, Engine, Shape};
use linerate_block::{Backend, Operation, Tag};
use linerate_port::Sleep;
use linerate_rt::Sleeper;

/// Engine over any [`Backend`].
pub struct Blocks<B> {
    backend: B,
    shape: Shape,
    /// Function that shows the objects to sleep on.
    waits: Option<Waits<B>>,
}

type Waits<B> = fn(&mut B, &mut dyn FnMut(&mut dyn Sleeper));

impl<B: Backend> Blocks<B> {
    /// Drives `backend`; `path` describes it.
    pub fn new(backend: B, path: String) -> Self {
        let geometry = backend.geometry();
        let shape = Shape {
            path,
            block_size: geometry.block_size,
            blocks: geometry.blocks,
            read_only: geometry.read_only,
            protected: false,
        };
        Self { backend, shape, waits: None }
    }

    /// Sets the function that shows the objects to sleep on.
    #[must_use]
    pub fn waiting_for(self, waits: Waits<B>) -> Self {
        Self { waits: Some(waits), ..self }
    }
}

impl<B: Backend> Engine for Blocks<B> {
    fn shape(&self) -> &Shape {
        &self.shape
    }

    #[inline]
    fn submit(&mut self, tag: Tag, operation: Operation) {
        self.backend.submit(tag, operation);
    }

    fn flush(&mut self) {
        self.backend.flush();
    }

    #[inline]
    fn complete(&mut self) -> Option<Ended> {
        self.backend.complete().map(Ended::from)
    }

    fn waits_for(&mut self, visit: &mut dyn FnMut(&mut dyn Sleeper)) {
        match self.waits {
            Some(waits) => waits(&mut self.backend, visit),
            None => visit(&mut Sleep::default()),
        }
    }
}

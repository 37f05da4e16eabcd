//! A block device of the FCoE target, driven directly: what a LUN lives on, without a network in between.

use super::{Blind, Engine, Shape};
use linerate_fcoe::{Backend, BackendError, Completion, Operation, Tag};
use linerate_rt::Sleeper;
use std::collections::VecDeque;

/// An engine over any [`Backend`].
pub struct Blocks<B> {
    backend: B,
    shape: Shape,
    /// What a device that is memory has done already.
    done: VecDeque<Completion>,
    memory: bool,
    /// How it says what to sleep on.
    waits: Option<Waits<B>>,
}

type Waits<B> = fn(&mut B, &mut dyn FnMut(&mut dyn Sleeper));

impl<B: Backend> Blocks<B> {
    /// Drives `backend`; `path` says what it is, `depth` how many operations will be under way.
    pub fn new(mut backend: B, path: String, depth: usize) -> Self {
        let geometry = backend.geometry();
        let shape =
            Shape { path, block_size: geometry.block_size, blocks: geometry.blocks, read_only: geometry.read_only };
        let memory = backend.memory().is_some();
        Self { backend, shape, done: VecDeque::with_capacity(depth + 1), memory, waits: None }
    }

    /// The thread sleeps on what `waits` shows.
    #[must_use]
    pub fn waiting_for(self, waits: Waits<B>) -> Self {
        Self { waits: Some(waits), ..self }
    }

    /// What is done at once: a copy from or to the device's memory.
    fn copy(&mut self, operation: Operation) -> Result<Completion, Operation> {
        let block = u64::from(self.shape.block_size);
        let (size, read_only) = (self.shape.bytes(), self.shape.read_only);
        let Some(memory) = self.backend.memory() else { return Err(operation) };
        let inside = |lba: u64, len: usize| {
            let begin = lba.checked_mul(block);
            begin
                .filter(|begin| begin.checked_add(len as u64).is_some_and(|end| end <= size))
                .ok_or(BackendError::Medium)
        };
        let (buffer, result) = match operation {
            Operation::Read { lba, mut buffer } => {
                let result = inside(lba, buffer.len()).and_then(|mut offset| {
                    let mut rest = buffer.bytes_mut();
                    while !rest.is_empty() {
                        let piece = memory.read(offset, rest.len());
                        let n = piece.len().min(rest.len());
                        if n == 0 {
                            return Err(BackendError::Medium);
                        }
                        rest[..n].copy_from_slice(&piece[..n]);
                        offset += n as u64;
                        rest = &mut rest[n..];
                    }
                    Ok(())
                });
                (Some(buffer), result)
            }
            Operation::Write { buffer, .. } if read_only => (Some(buffer), Err(BackendError::ReadOnly)),
            Operation::Write { lba, buffer, .. } => {
                let result = inside(lba, buffer.len()).map(|offset| memory.write(offset, buffer.bytes()));
                (Some(buffer), result)
            }
            // Memory is as stable as it gets.
            Operation::Flush => (None, Ok(())),
            other => return Err(other),
        };
        Ok(Completion { tag: Tag(0), buffer, result })
    }
}

impl<B: Backend> Engine for Blocks<B> {
    fn shape(&self) -> &Shape {
        &self.shape
    }

    #[inline]
    fn submit(&mut self, tag: Tag, operation: Operation) {
        if !self.memory {
            return self.backend.submit(tag, operation);
        }
        match self.copy(operation) {
            Ok(done) => self.done.push_back(Completion { tag, ..done }),
            Err(operation) => self.backend.submit(tag, operation),
        }
    }

    fn flush(&mut self) {
        self.backend.flush();
    }

    #[inline]
    fn complete(&mut self) -> Option<Completion> {
        self.done.pop_front().or_else(|| self.backend.complete())
    }

    fn waits_for(&mut self, visit: &mut dyn FnMut(&mut dyn Sleeper)) {
        match self.waits {
            Some(waits) => waits(&mut self.backend, visit),
            None => visit(&mut Blind),
        }
    }
}

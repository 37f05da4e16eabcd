//! A device with two owners: one submits and completes its operations, the other sleeps on it.
//!
//! A target owns its back ends, and does not sleep; the loop that drives it has no access to its back ends. Both are in
//! one thread, so the lock between them never blocks.

use super::Device;
use crate::machine::Sleeper;
use linerate_block::{Backend, Completion, Extent, Geometry, Operation, SizeError, Tag};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The owner that submits.
pub(super) struct Shared {
    geometry: Geometry,
    device: Arc<Mutex<Box<dyn Device>>>,
}

/// The owner that sleeps: gives the sleepers of an opened device.
#[derive(Clone)]
pub struct Waits(Arc<Mutex<Box<dyn Device>>>);

pub(super) fn share(device: Box<dyn Device>) -> (Shared, Waits) {
    let geometry = device.geometry().clone();
    let device = Arc::new(Mutex::new(device));
    (Shared { geometry, device: device.clone() }, Waits(device))
}

fn lock(device: &Mutex<Box<dyn Device>>) -> MutexGuard<'_, Box<dyn Device>> {
    device.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Waits {
    /// Visits the sleepers to wait for until an operation completes: see [`Device::waits_for`].
    pub fn waits_for(&self, visit: &mut dyn FnMut(&mut dyn Sleeper)) {
        lock(&self.0).waits_for(visit);
    }

    /// Takes what has become of the device since the last call: see [`Device::news`].
    #[must_use]
    pub fn news(&self) -> Option<String> {
        lock(&self.0).news()
    }

    /// Loss when the device is closed: see [`Device::loss`].
    #[must_use]
    pub fn loss(&self) -> Option<String> {
        lock(&self.0).loss()
    }

    /// Present access path to its blocks, for display.
    #[must_use]
    pub fn path(&self) -> String {
        lock(&self.0).path()
    }
}

impl Backend for Shared {
    fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    fn extent(&mut self, lba: u64) -> Extent {
        lock(&self.device).extent(lba)
    }

    fn refresh(&mut self) -> Result<(), SizeError> {
        let mut device = lock(&self.device);
        device.refresh()?;
        self.geometry = device.geometry().clone();
        Ok(())
    }

    fn submit(&mut self, tag: Tag, operation: Operation) {
        lock(&self.device).submit(tag, operation);
    }

    fn flush(&mut self) {
        lock(&self.device).flush();
    }

    fn complete(&mut self) -> Option<Completion> {
        lock(&self.device).complete()
    }
}

//! What a kind of port is: its row, what it is told, what it needs. Every kind knows this; the table of them, `kinds`,
//! stands above all.

mod number;
mod spec;

pub(crate) use number::decimal;
pub use spec::Spec;

use crate::error::OpenError;
use crate::port::Parts;
use linerate_ring::Region;
use std::any::Any;
use std::collections::HashMap;
use std::sync::Arc;

/// One option of a kind.
#[derive(Debug)]
pub struct OptionRow {
    /// Its key.
    pub key: &'static str,
    /// What its value is called in help.
    pub value: &'static str,
    /// What it does, and its default.
    pub about: &'static str,
}

/// One kind of port.
pub struct Kind {
    /// What stands before the colon.
    pub name: &'static str,
    /// What it is.
    pub about: &'static str,
    /// How it is written.
    pub example: &'static str,
    /// Whether something must follow the colon.
    pub needs_name: bool,
    /// Whether `@N` chooses one queue.
    pub queue_suffix: bool,
    /// Its options besides the common ones.
    pub options: &'static [OptionRow],
    /// What it needs of the region; checks all options' values.
    pub(crate) demand: fn(&Spec) -> Result<Demand, OpenError>,
    /// Opens it.
    pub(crate) open: fn(&Spec, &mut Context<'_>) -> Result<Parts, OpenError>,
}

/// What a port needs of the region.
#[derive(Clone, Copy, Debug)]
pub struct Demand {
    /// Bytes for rings and interfaces.
    pub ring_bytes: usize,
    /// Buffers.
    pub buffers: u32,
    /// Bytes of a buffer.
    pub buf_size: u32,
}

impl Demand {
    /// For so many rings, each with a buffer a slot.
    #[must_use]
    pub fn rings(tx: u32, rx: u32, slots: u32, buf_size: u32) -> Self {
        let rings = tx + rx;
        let ring_bytes = Region::ring_room(slots) * rings as usize + Region::if_room(tx, rx);
        Self { ring_bytes, buffers: rings * slots, buf_size }
    }
}

/// What a kind's `open` works with.
pub(crate) struct Context<'a> {
    /// The region of the ports opened together.
    pub(crate) region: &'a Arc<Region>,
    /// All ports that are being opened.
    pub(crate) specs: &'a [Spec],
    /// What one port leaves for another that is opened with it, by name.
    pub(crate) left: HashMap<String, Box<dyn Any>>,
}

//! A kind of port: its row in the table, the context of its `open`, and its demand for memory. Every kind uses this
//! module; the table of kinds, `kinds`, is above all of them.

mod spec;

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
    /// Key of the option.
    pub key: &'static str,
    /// Name of the value in help texts.
    pub value: &'static str,
    /// Effect of the option, and its default.
    pub about: &'static str,
}

/// One kind of port.
pub struct Kind {
    /// Kind name: the part before the colon.
    pub name: &'static str,
    /// Description for help texts.
    pub about: &'static str,
    /// Example of a port name.
    pub example: &'static str,
    /// A name must follow the colon.
    pub needs_name: bool,
    /// The name is a path, or has paths in it, so that a `/` in it says nothing else.
    pub is_path: bool,
    /// `@N` chooses one queue.
    pub queue_suffix: bool,
    /// Options of the kind besides the common ones.
    pub options: &'static [OptionRow],
    /// Computes the port's demand for memory; checks the values of all options.
    pub(crate) demand: fn(&Spec) -> Result<Demand, OpenError>,
    /// Opens the port.
    pub(crate) open: fn(&Spec, &mut Context<'_>) -> Result<Parts, OpenError>,
}

/// Memory that a port needs in the region.
#[derive(Clone, Copy, Debug)]
pub struct Demand {
    /// Bytes for rings and interfaces.
    pub ring_bytes: usize,
    /// Number of buffers.
    pub buffers: u32,
    /// Bytes of a buffer.
    pub buf_size: u32,
}

impl Demand {
    /// Demand of this number of rings, with one buffer per slot.
    #[must_use]
    pub fn rings(tx: u32, rx: u32, slots: u32, buf_size: u32) -> Self {
        let rings = tx + rx;
        let ring_bytes = Region::ring_room(slots) * rings as usize + Region::if_room(tx, rx);
        Self { ring_bytes, buffers: rings * slots, buf_size }
    }
}

/// Environment of a kind's `open`.
pub(crate) struct Context<'a> {
    /// The region of the ports opened together.
    pub(crate) region: &'a Arc<Region>,
    /// All ports that are being opened.
    pub(crate) specs: &'a [Spec],
    /// State that one port leaves for another that is opened with it, by name.
    pub(crate) left: HashMap<String, Box<dyn Any>>,
}

//! Opening ports: all at once over one region, so that frames pass between them by a swap of buffers. Ports whose memory
//! another process maps have a region each, and frames are copied to and from them.

use crate::class::classes_of;
use crate::error::{Cause, OpenError};
use crate::info::{Filter, Info, Link};
use crate::queue::{RxQueue, TxQueue};
use crate::spec::Spec;
use crate::wrap;
use linerate_ring::{Region, RegionConfig, RegionError, Sharing};
use std::any::Any;
use std::collections::HashMap;
use std::sync::Arc;

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

/// What a kind's `open` gives.
pub(crate) struct Parts {
    pub(crate) info: Info,
    pub(crate) tx: Vec<TxQueue>,
    pub(crate) rx: Vec<RxQueue>,
    pub(crate) device: Box<dyn Device>,
}

/// What a port is beside its queues.
pub(crate) trait Device: Send + Sync {
    /// Whether frames can pass.
    fn link(&self) -> Link {
        Link::Up
    }

    /// Chooses what is delivered.
    fn filter(&self, _: &Filter) -> Result<(), String> {
        Err("this kind of port delivers all that arrives".into())
    }

    /// What the user should know since then.
    fn notes(&self) -> Vec<String> {
        Vec::new()
    }

    /// Raw counters that somebody else keeps (the kernel, a file, a wrapper), by name.
    fn raw_counters(&self) -> Vec<(String, u64)> {
        Vec::new()
    }

    /// What went wrong since it was opened, in one line.
    fn trouble(&self) -> Option<String> {
        None
    }
}

/// An open port. Its queues are taken out and used by one thread each; the port itself may stay elsewhere.
pub struct Port {
    info: Info,
    tx: Vec<Option<TxQueue>>,
    rx: Vec<Option<RxQueue>>,
    device: Box<dyn Device>,
    memory: (usize, usize),
}

impl Port {
    /// What it is.
    #[must_use]
    pub fn info(&self) -> &Info {
        &self.info
    }

    /// Address and bytes of the region that was made for it in this process.
    #[must_use]
    pub fn memory(&self) -> (usize, usize) {
        self.memory
    }

    /// Takes a transmit queue; None if there is no such queue, or it was taken.
    pub fn take_tx(&mut self, queue: usize) -> Option<TxQueue> {
        self.tx.get_mut(queue)?.take()
    }

    /// Takes a receive queue; None if there is no such queue, or it was taken.
    pub fn take_rx(&mut self, queue: usize) -> Option<RxQueue> {
        self.rx.get_mut(queue)?.take()
    }

    /// Whether frames can pass.
    #[must_use]
    pub fn link(&self) -> Link {
        self.device.link()
    }

    /// Chooses what is delivered. The error says why not.
    pub fn filter(&self, filter: &Filter) -> Result<(), OpenError> {
        self.device.filter(filter).map_err(|why| {
            OpenError::new(&self.info.name, Cause::Capability, why, "leave the filter out, or use packet: or xdp:")
        })
    }

    /// What the user should know: [`Info::notes`], and what has come about since the port was opened (an interface
    /// that cannot filter what it was asked to).
    #[must_use]
    pub fn notes(&self) -> Vec<String> {
        let mut notes = self.info.notes.clone();
        notes.extend(self.device.notes());
        notes
    }

    /// Raw counters that somebody else keeps (the kernel), by name.
    #[must_use]
    pub fn raw_counters(&self) -> Vec<(String, u64)> {
        self.device.raw_counters()
    }

    /// What went wrong since it was opened (a disk is full, a file is damaged), in one line for the user: why the link
    /// is down, or why a trace is not whole.
    #[must_use]
    pub fn trouble(&self) -> Option<String> {
        self.device.trouble()
    }
}

/// Opens one port.
pub fn open(name: &str) -> Result<Port, OpenError> {
    Spec::parse(name)?.open()
}

impl Spec {
    /// Opens it.
    pub fn open(&self) -> Result<Port, OpenError> {
        let port = open_specs(std::slice::from_ref(self))?.pop();
        port.ok_or_else(|| OpenError::usage(self, "nothing to open", "give a port"))
    }
}

/// Opens ports that share one region, but for those whose memory another process maps; in the order given.
pub fn open_all<S: AsRef<str>>(names: &[S]) -> Result<Vec<Port>, OpenError> {
    open_specs(&names.iter().map(|name| Spec::parse(name.as_ref())).collect::<Result<Vec<_>, _>>()?)
}

fn open_specs(specs: &[Spec]) -> Result<Vec<Port>, OpenError> {
    let mut config = RegionConfig { buf_size: 512, buffers: 0, ring_bytes: 0, sharing: Sharing::Private, huge: true };
    for (i, spec) in specs.iter().enumerate() {
        let demand = (spec.kind.demand)(spec)?;
        let wrapped = wrap::demand(spec, demand)?;
        // Who maps a region reads and writes all of it: what another process maps is a region apart, of one port alone.
        let apart = match spec.kind.name {
            "cable" => !crate::cable::both_ends_in(spec, specs),
            "vale" => !crate::switch::meets_within(spec, specs),
            _ => false,
        };
        // Of a cable, whichever end comes first makes both directions, by its own options.
        let cable = spec.kind.name == "cable";
        let second = cable && crate::cable::both_ends_in(spec, &specs[..i]);
        let ends = if apart || second { 0 } else { 1 + usize::from(cable) };
        config.ring_bytes += ends * demand.ring_bytes + (wrapped.ring_bytes - demand.ring_bytes);
        // Too many are refused by the region, in one line.
        let ends = u32::try_from(ends).unwrap_or(1);
        let wanted = demand.buffers.saturating_mul(ends).saturating_add(wrapped.buffers - demand.buffers);
        config.buffers = config.buffers.saturating_add(wanted);
        config.buf_size = config.buf_size.max(demand.buf_size);
    }
    let region = Region::new(&config).map_err(|e| region_error(specs, &e))?;
    let (buffers, bytes) = region.buffer_memory();
    let before = usize::try_from(region.buf_area()).unwrap_or(0);
    let memory = (buffers.addr().get().saturating_sub(before), before + bytes);
    let mut context = Context { region: &region, specs, left: HashMap::new() };
    specs
        .iter()
        .map(|spec| {
            let mut parts = wrap::wrap(spec, &region, (spec.kind.open)(spec, &mut context)?)?;
            let queues = parts.tx.len();
            parts.tx.iter_mut().enumerate().for_each(|(q, tx)| tx.set_classes(classes_of(q, queues)));
            let (tx, rx) = (parts.tx.into_iter().map(Some).collect(), parts.rx.into_iter().map(Some).collect());
            Ok(Port { info: parts.info, tx, rx, device: parts.device, memory })
        })
        .collect()
}

fn region_error(specs: &[Spec], error: &RegionError) -> OpenError {
    let names: Vec<_> = specs.iter().map(ToString::to_string).collect();
    OpenError::new(names.join(" "), Cause::System, error, "use smaller rings (slots=) or fewer queues")
}

//! Opening of ports: all at once over one region, so that frames pass between them by a swap of buffers. A port whose
//! memory another process maps has a region of its own, and its frames are copied.

use crate::error::{Cause, OpenError};
use crate::kind::{Context, Spec};
use crate::port::Port;
use crate::{cable, switch, wrap};
use linerate_ring::{Region, RegionConfig, RegionError, Sharing};
use std::collections::HashMap;

/// Opens one port.
pub fn open(name: &str) -> Result<Port, OpenError> {
    Spec::parse(name)?.open()
}

impl Spec {
    /// Opens the port.
    pub fn open(&self) -> Result<Port, OpenError> {
        let port = open_specs(std::slice::from_ref(self))?.pop();
        port.ok_or_else(|| OpenError::usage(self, "nothing to open", "give a port"))
    }
}

/// Opens ports in the order given. They share one region, except those whose memory another process maps.
pub fn open_all<S: AsRef<str>>(names: &[S]) -> Result<Vec<Port>, OpenError> {
    open_specs(&names.iter().map(|name| Spec::parse(name.as_ref())).collect::<Result<Vec<_>, _>>()?)
}

/// Like [`open_all`], of parsed names.
pub fn open_specs(specs: &[Spec]) -> Result<Vec<Port>, OpenError> {
    let mut config = RegionConfig { buf_size: 512, buffers: 0, ring_bytes: 0, sharing: Sharing::Private, huge: true };
    for (i, spec) in specs.iter().enumerate() {
        let demand = (spec.kind.demand)(spec)?;
        let wrapped = wrap::demand(spec, demand)?;
        // A process that maps a region can read and write all of it: a region mapped by another process holds one port
        // alone.
        let apart = match spec.kind.name {
            "cable" => !cable::both_ends_in(spec, specs),
            "vale" => !switch::meets_within(spec, specs),
            "vi" => true,
            _ => false,
        };
        // The end of a cable that comes first makes both directions, by its own options.
        let cable = spec.kind.name == "cable";
        let second = cable && cable::both_ends_in(spec, &specs[..i]);
        let ends = if apart || second { 0 } else { 1 + usize::from(cable) };
        config.ring_bytes += ends * demand.ring_bytes + (wrapped.ring_bytes - demand.ring_bytes);
        // Too many are refused by the region, with an error of one line.
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
            let parts = wrap::wrap(spec, &region, (spec.kind.open)(spec, &mut context)?)?;
            Ok(Port::new(parts, memory))
        })
        .collect()
}

fn region_error(specs: &[Spec], error: &RegionError) -> OpenError {
    let names: Vec<_> = specs.iter().map(ToString::to_string).collect();
    OpenError::new(names.join(" "), Cause::System, error, "use smaller rings (slots=) or fewer queues")
}

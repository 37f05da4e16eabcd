//! VALE switches that this process runs, what it has attached to switches, and its persistent ports.

use crate::forward::Forwarder;
use crate::sys::process::quietly;
use crate::sys::say::{Once, say};
use linerate_port::Cause;
use linerate_port::switch::Listener;
use std::collections::BTreeMap;
use std::ffi::c_int;
use std::sync::Arc;

static UNATTACHED: Once = Once::new();

/// Switches, attachments and persistent ports of the process.
#[derive(Default)]
pub(crate) struct Switches {
    /// The switches that it runs, in the order in which LIST tells them; an ended one keeps its place.
    pub(crate) switches: Vec<(String, Arc<Forwarder>)>,
    pub(crate) attached: Vec<Attached>,
    /// Persistent ports by name.
    pub(crate) interfaces: BTreeMap<String, Interface>,
}

pub(crate) struct Attached {
    pub(crate) switch: String,
    pub(crate) port: String,
    /// Names of its ports at the switch: itself, and its host.
    pub(crate) names: Vec<String>,
    pub(crate) forwarder: Arc<Forwarder>,
    /// Processor that polls it.
    pub(crate) polled: Option<u32>,
}

pub(crate) struct Interface {
    pub(crate) slots: u32,
    pub(crate) rings: u16,
    /// Switch that it is attached to.
    pub(crate) switch: Option<String>,
}

impl Switches {
    /// Place of an attachment.
    pub(crate) fn find(&self, switch: &str, port: &str) -> Option<usize> {
        self.attached.iter().position(|one| one.switch == switch && one.port == port)
    }

    /// The switch of this name, run by this process from now on if nobody runs it; None if another process does.
    pub(crate) fn run(&mut self, switch: &str) -> Result<Option<Arc<Forwarder>>, c_int> {
        let known = self.switches.iter().position(|(name, _)| name == switch);
        if let Some(running) = known.map(|at| &self.switches[at].1).filter(|one| !one.has_ended()) {
            return Ok(Some(running.clone()));
        }
        let door = match quietly(|| Listener::open(switch, None)) {
            Ok(door) => door,
            Err(error) if error.cause == Cause::Busy => return Ok(None),
            Err(error) => {
                say(format_args!("{error}"));
                return Err(libc::EIO);
            }
        };
        let forwarder = Forwarder::start(Some(door)).map_err(|e| e.raw_os_error().unwrap_or(libc::ENOMEM))?;
        self.switches.extend(known.is_none().then(|| (switch.into(), forwarder.clone())));
        if let Some(at) = known {
            self.switches[at].1 = forwarder.clone();
        }
        Ok(Some(forwarder))
    }

    /// The port that a persistent port is; None for a name of none. ENXIO, and a line, while it is attached to no switch.
    pub(crate) fn persistent(&self, name: &str) -> Result<Option<String>, c_int> {
        let Some(Interface { slots, rings, switch }) = self.interfaces.get(name) else { return Ok(None) };
        let Some(switch) = switch else {
            UNATTACHED.say(format_args!("{name} is attached to no switch; attach it first (VALE_ATTACH)"));
            return Err(libc::ENXIO);
        };
        Ok(Some(format!("vale:{switch}:{name},slots={slots},queues={rings}")))
    }
}

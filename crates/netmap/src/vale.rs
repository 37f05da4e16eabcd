//! Requests about VALE switches: which of them this process runs, what it has attached to switches, and its persistent ports.
//!
//! netmap makes a switch when its first port is opened. So the first program that opens a port of a switch that nobody runs
//! (`linerate switch`) runs it, for all programs of the user, until its last port has gone or the program ends. What a program
//! attaches is attached as long as it runs.

use crate::facts::{ALL_NIC, NIC_SW, short};
use crate::forward::{Forwarder, NO_PORT};
use crate::name;
use crate::port::{State, known_state, lock, opened, state};
use crate::register::no_host;
use crate::sys::process::quietly;
use crate::sys::say::{Once, say};
use linerate_port::Cause;
use linerate_port::switch::{Listener, Policy};
use std::collections::BTreeMap;
use std::ffi::c_int;
use std::path::Path;
use std::sync::Arc;

/// Switches, attachments and persistent ports of the process.
#[derive(Default)]
pub(crate) struct Vale {
    /// The switches that it runs, in the order in which LIST tells them; an ended one keeps its place.
    switches: Vec<(String, Arc<Forwarder>)>,
    attached: Vec<Attached>,
    /// Persistent ports by name.
    interfaces: BTreeMap<String, Interface>,
}

struct Attached {
    switch: String,
    port: String,
    /// Names of its ports at the switch: itself, and its host.
    names: Vec<String>,
    forwarder: Arc<Forwarder>,
    /// Processor that polls it.
    polled: Option<u32>,
}

struct Interface {
    slots: u32,
    rings: u16,
    /// Switch that it is attached to.
    switch: Option<String>,
}

/// Most rings and slots of a port of a switch.
const MOST_RINGS: u16 = 16;
const SLOTS: std::ops::RangeInclusive<u32> = 64..=4096;
/// Modes of polling: one processor for all rings, or one for each.
pub(crate) const SINGLE_CPU: u32 = 1;
pub(crate) const MULTI_CPU: u32 = 2;

static UNATTACHED: Once = Once::new();

/// Switch and port of a name; EINVAL for one that names no port of a switch.
fn parts(name: &str) -> Result<(String, String), c_int> {
    name::of_switch(name).map(|(switch, port)| (switch.into(), port.into())).ok_or(libc::EINVAL)
}

impl Vale {
    fn find(&self, switch: &str, port: &str) -> Option<usize> {
        self.attached.iter().position(|one| one.switch == switch && one.port == port)
    }

    /// The switch of this name, run by this process from now on if nobody runs it; None if another process does.
    pub(crate) fn run(&mut self, switch: &str) -> Result<Option<Arc<Forwarder>>, c_int> {
        let vale = self;
        let known = vale.switches.iter().position(|(name, _)| name == switch);
        if let Some(running) = known.map(|at| &vale.switches[at].1).filter(|one| !one.has_ended()) {
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
        match known {
            Some(at) => vale.switches[at].1 = forwarder.clone(),
            None => vale.switches.push((switch.into(), forwarder.clone())),
        }
        Ok(Some(forwarder))
    }
}

/// VALE_ATTACH: attaches a port to a switch, and its host with it (NIC_SW); the number of the port there.
pub(crate) fn attach(name: &str, mode: u32) -> Result<u32, c_int> {
    let ((switch, port), state) = (parts(name)?, state()?);
    if ![ALL_NIC, NIC_SW].contains(&mode) {
        return Err(libc::EINVAL);
    }
    let open = state.is_open(&port);
    let vale = &mut *lock(&state.vale);
    if open || vale.attached.iter().any(|one| one.port == port) {
        return Err(libc::EBUSY);
    }
    if let Some(interface) = vale.interfaces.get_mut(&port) {
        // It is there when a program opens it.
        return match interface.switch {
            Some(_) => Err(libc::EBUSY),
            None => Ok(interface.switch.insert(switch)).map(|_| NO_PORT),
        };
    }
    let table = name::table();
    let mut ports = vec![(port.clone(), name::ports(&port, &table))];
    if mode == NIC_SW {
        ports.push((format!("{port}^"), vec![name::host(&port, &table).ok_or_else(|| no_host(&port, "NIC_SW"))?]));
    }
    let names: Vec<String> = ports.iter().map(|(name, _)| name.clone()).collect();
    let all = ports.into_iter().map(|(name, ports)| Ok((opened(&name, &ports, None)?, name)));
    let mut all = all.collect::<Result<Vec<_>, c_int>>()?;
    let forwarder = match vale.run(&switch)? {
        Some(forwarder) => forwarder,
        None => {
            let way = format!("vale:{switch}:{port}");
            all.push((opened(name, &[way], None)?, format!("switch {switch}")));
            Forwarder::start(None).map_err(|e| e.raw_os_error().unwrap_or(libc::ENOMEM))?
        }
    };
    let wanted = names.clone();
    let at = forwarder.ask(move |turn| {
        if wanted.iter().any(|name| turn.port(name) != NO_PORT) {
            return Err(libc::EBUSY);
        }
        let mut all = all.into_iter();
        let done = all.try_for_each(|(port, name)| turn.switch.attach(&name, port, Policy::default()));
        if let Err(error) = done {
            say(format_args!("{error}"));
            turn.remove(&wanted);
            return Err(libc::ENOMEM);
        }
        Ok(turn.port(&wanted[0]))
    });
    let at = at.unwrap_or(Err(libc::EAGAIN))?;
    vale.attached.push(Attached { switch, port, names, forwarder, polled: None });
    Ok(at)
}

/// VALE_DETACH; the number that the port had. EBUSY while it is polled or open.
pub(crate) fn detach(name: &str) -> Result<u32, c_int> {
    let ((switch, port), state) = (parts(name)?, state()?);
    let open = state.is_open(&port);
    let vale = &mut *lock(&state.vale);
    if let Some(interface) = vale.interfaces.get_mut(&port).filter(|one| one.switch.as_ref() == Some(&switch)) {
        if open {
            return Err(libc::EBUSY);
        }
        interface.switch = None;
        return Ok(NO_PORT);
    }
    let at = vale.find(&switch, &port).ok_or(libc::ENXIO)?;
    if vale.attached[at].polled.is_some() {
        return Err(libc::EBUSY);
    }
    let Attached { names, forwarder, .. } = vale.attached.remove(at);
    let gone = forwarder.ask(move |turn| {
        let at = turn.port(&names[0]);
        turn.remove(&names);
        at
    });
    gone.ok_or(libc::ENXIO)
}

/// VALE_LIST: with a name, the numbers of its switch, which this process runs, and of its port there; without one, the first
/// port from a switch and a port of it on. Name and numbers; ENOENT if there is none.
pub(crate) fn list(name: &str, from: u16, mut port: u32) -> Result<(String, u16, u32), c_int> {
    let vale = lock(&state()?.vale);
    if !name.is_empty() {
        let (switch, port) = parts(name)?;
        let at = vale.switches.iter().position(|(name, one)| *name == switch && !one.has_ended());
        let at = at.ok_or(libc::ENOENT)?;
        let found = vale.switches[at].1.ask(move |turn| turn.port(&port));
        return Ok((name.into(), short(at), found.ok_or(libc::ENOENT)?));
    }
    for (at, (switch, one)) in vale.switches.iter().enumerate().skip(from.into()) {
        let ports = one.ask(|turn| turn.ports()).unwrap_or_default();
        if let Some(found) = ports.get(port as usize) {
            return Ok((format!("vale{switch}:{found}"), short(at), port));
        }
        port = 0;
    }
    Err(libc::ENOENT)
}

/// VALE_POLLING_ENABLE and DISABLE: the thread of an attached port spins on a processor instead of sleeping.
///
/// `asked`: mode, first processor and number of processors.
pub(crate) fn poll(name: &str, on: bool, asked: [u32; 3]) -> Result<(), c_int> {
    let [mode, first, cpus] = asked;
    let (switch, port) = parts(name)?;
    let vale = &mut *lock(&state()?.vale);
    let at = vale.find(&switch, &port).ok_or(libc::ENXIO)?;
    let Attached { forwarder, polled, .. } = &mut vale.attached[at];
    // As netmap: EFAULT if it is polled already, or not.
    if polled.is_some() == on {
        return Err(libc::EFAULT);
    }
    let cpu = match *polled {
        Some(cpu) => cpu,
        None => {
            let all = std::thread::available_parallelism().map_or(1, |n| u32::try_from(n.get()).unwrap_or(u32::MAX));
            if cpus == 0 || cpus >= all || ![SINGLE_CPU, MULTI_CPU].contains(&mode) || mode == SINGLE_CPU && cpus > 1 {
                return Err(libc::EINVAL);
            }
            if cpus > 1 {
                say(format_args!("{name}: one processor polls all rings of a port here; ask for 1"));
                return Err(libc::EOPNOTSUPP);
            }
            first
        }
    };
    forwarder.ask(move |turn| turn.spin(cpu, on)).unwrap_or(Err(libc::ENXIO))?;
    *polled = on.then_some(cpu);
    Ok(())
}

/// VALE_NEWIF: a persistent port, with so many slots and rings or the usual ones; what it got.
pub(crate) fn create(name: &str, slots: u32, rings: u16) -> Result<(u32, u16), c_int> {
    let state = state()?;
    if name.is_empty() || name::of_switch(name).is_some() || name.contains([',', '{', '}']) {
        return Err(libc::EINVAL);
    }
    let vale = &mut *lock(&state.vale);
    if vale.interfaces.contains_key(name) || Path::new("/sys/class/net").join(name).exists() {
        return Err(libc::EEXIST);
    }
    let slots = if slots == 0 { 1024 } else { slots.clamp(*SLOTS.start(), *SLOTS.end()).next_power_of_two() };
    let rings = rings.clamp(1, MOST_RINGS);
    vale.interfaces.insert(name.into(), Interface { slots, rings, switch: None });
    Ok((slots, rings))
}

/// VALE_DELIF; ENXIO for one that is none, EBUSY while it is attached or open.
pub(crate) fn destroy(name: &str) -> Result<(), c_int> {
    let state = state()?;
    let open = state.is_open(name);
    let vale = &mut *lock(&state.vale);
    let interface = vale.interfaces.get(name).ok_or(libc::ENXIO)?;
    if interface.switch.is_some() || open {
        return Err(libc::EBUSY);
    }
    vale.interfaces.remove(name);
    Ok(())
}

/// The port that a persistent port is; None for a name of none. ENXIO, and a line, while it is attached to no switch.
pub(crate) fn persistent(state: &State, name: &str) -> Result<Option<String>, c_int> {
    let vale = lock(&state.vale);
    let Some(Interface { slots, rings, switch }) = vale.interfaces.get(name) else { return Ok(None) };
    let Some(switch) = switch else {
        UNATTACHED.say(format_args!("{name} is attached to no switch; attach it first (VALE_ATTACH)"));
        return Err(libc::ENXIO);
    };
    Ok(Some(format!("vale:{switch}:{name},slots={slots},queues={rings}")))
}

/// Says at the program's end what ends with it.
pub(crate) fn tell_attached() {
    let Some(state) = known_state() else { return };
    let Ok(vale) = state.vale.try_lock() else { return };
    for one in &vale.attached {
        say(format_args!(
            "{} is attached to switch {} no longer: the program that attached it ends",
            one.port, one.switch
        ));
    }
}

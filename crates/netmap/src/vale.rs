//! Requests about VALE switches and their ports.
//!
//! netmap makes a switch when its first port is opened. So the first program that opens a port of a switch that nobody runs
//! (`linerate switch`) runs it, for all programs of the user, until its last port has gone or the program ends. What a program
//! attaches is attached as long as it runs.

use crate::facts::{ALL_NIC, NIC_SW, short};
use crate::forward::{Forwarder, NO_PORT};
use crate::name;
use crate::port::{known_state, opened, state};
use crate::register::no_host;
use crate::request::Answer;
use crate::switches::{Attached, Interface};
use crate::sys::process::lock;
use crate::sys::say::say;
use crate::vnet::LENGTHS;
use linerate_port::switch::Policy;
use linerate_text::cut;
use std::ffi::c_int;
use std::path::Path;

/// Most rings and slots of a port of a switch.
const MOST_RINGS: u16 = 16;
const SLOTS: std::ops::RangeInclusive<u32> = 64..=4096;
/// Modes of polling: one processor for all rings, or one for each.
pub(crate) const SINGLE_CPU: u32 = 1;
pub(crate) const MULTI_CPU: u32 = 2;

/// Switch and port of a name; EINVAL for one that names no port of a switch.
fn parts(name: &str) -> Result<(String, String), c_int> {
    name::of_switch(name).map(|(switch, port)| (switch.into(), port.into())).ok_or(libc::EINVAL)
}

/// VALE_ATTACH: attaches a port to a switch, and its host with it (NIC_SW); the number of the port there.
pub(crate) fn attach(name: &str, mode: u32) -> Result<u32, c_int> {
    let ((switch, port), state) = (parts(name)?, state()?);
    if ![ALL_NIC, NIC_SW].contains(&mode) {
        return Err(libc::EINVAL);
    }
    let open = state.is_open(&port);
    let vale = &mut *lock(&state.switches);
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
    let vale = &mut *lock(&state.switches);
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
    let gone = forwarder.ask(move |turn| (turn.port(&names[0]), turn.remove(&names)).0);
    gone.ok_or(libc::ENXIO)
}

/// VALE_LIST: with a name, the numbers of its switch, which this process runs, and of its port there; without one, the first
/// port from a switch and a port of it on. Name and numbers; ENOENT if there is none.
pub(crate) fn list(name: &str, from: u16, mut port: u32) -> Result<(String, u16, u32), c_int> {
    let vale = lock(&state()?.switches);
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
    let vale = &mut *lock(&state()?.switches);
    let at = vale.find(&switch, &port).ok_or(libc::ENXIO)?;
    let Attached { forwarder, polled, .. } = &mut vale.attached[at];
    // As netmap: EFAULT if it is polled already, or not.
    if polled.is_some() == on {
        return Err(libc::EFAULT);
    }
    let cpu = match *polled {
        Some(cpu) => cpu,
        None => {
            let all = std::thread::available_parallelism().map_or(1, |n| cut(n.get(), u32::MAX));
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
    let vale = &mut *lock(&state.switches);
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
    let vale = &mut *lock(&state.switches);
    match vale.interfaces.get(name).ok_or(libc::ENXIO)?.switch {
        None if !open => vale.interfaces.remove(name).map(drop).ok_or(libc::ENXIO),
        _ => Err(libc::EBUSY),
    }
}

/// PORT_HDR_SET: virtio-net's header before each frame of a port of a switch; ENXIO if it is none, or not open here.
pub(crate) fn set_header(name: &str, bytes: u32) -> Answer {
    if !LENGTHS.contains(&bytes) {
        return Err(libc::EINVAL);
    }
    let port = state()?.known(name).filter(|_| name::of_switch(name).is_some()).ok_or(libc::ENXIO)?;
    port.set_header(bytes as usize);
    Ok(())
}

/// PORT_HDR_GET: bytes of the header; of a port of a switch that is not open here ENXIO.
pub(crate) fn header_of(name: &str) -> Result<u32, c_int> {
    match state()?.known(name) {
        Some(port) => Ok(u32::try_from(port.header()).unwrap_or(0)),
        None if name::of_switch(name).is_some() => Err(libc::ENXIO),
        None => Ok(0),
    }
}

/// Says at the program's end what ends with it.
pub(crate) fn tell_attached() {
    let Some(state) = known_state() else { return };
    let Ok(vale) = state.switches.try_lock() else { return };
    for one in &vale.attached {
        say(format_args!(
            "{} is attached to switch {} no longer: the program that attached it ends",
            one.port, one.switch
        ));
    }
}

//! NIOCREGIF and NIOCGINFO: the older requests, in one structure of 60 bytes, carried out as those of NIOCCTRL.

use crate::facts::{ALL_NIC, API, NIC_SW, ONE_NIC, PIPE_MASTER, PIPE_SLAVE, SW, old, register, short};
use crate::file::File;
use crate::port::{Port, state};
use crate::register::{Wanted, refuse_memory};
use crate::request::{Answer, Struct, unserved};
use crate::sys::say::say;
use crate::vale;
use std::ffi::c_int;
use std::sync::Arc;
use std::sync::atomic::AtomicU32;

static COMMANDS_SAID: AtomicU32 = AtomicU32::new(0);

/// Carries out a request: NIOCREGIF if it `registers`.
pub(crate) fn call(file: &File, registers: bool, argument: u64) -> Answer {
    let mut request = Struct::<60>::read(argument)?;
    // Later ones are served, as netmap does: the structure is what it was.
    if request.u32(16) < u32::from(*API.start()) {
        say(format_args!("netmap's version {} is asked for; there is {} and later", request.u32(16), API.start()));
        request.set_u32(16, u32::from(*API.start()));
        request.write()?;
        return Err(libc::EINVAL);
    }
    let name = request.name(0, 16)?;
    if request.u16(42) != 0 {
        return command(registers, &mut request, &name);
    }
    let port = if registers { registered(file, &mut request, name)? } else { known(&name, request.u16(46))? };
    request.set_u32(24, u32::try_from(port.area.memory.len).map_err(|_| libc::EOVERFLOW)?);
    request.set_u32(28, port.slots[0]);
    request.set_u32(32, port.slots[1]);
    let [tx, rx, ..] = port.counts();
    request.set_u16(36, tx);
    request.set_u16(38, rx);
    request.set_u16(46, port.area.id);
    request.write()
}

/// What is asked of switches: `nr_cmd`.
fn command(registers: bool, request: &mut Struct<60>, name: &str) -> Answer {
    let (command, argument) = (request.u16(42), request.u16(44));
    match command {
        old::LIST if !registers => {
            let (found, switch, port) = vale::list(name, argument, request.u16(46).into())?;
            request.set_name(0, 16, &found);
            request.set_u16(44, switch);
            request.set_u16(46, short(port as usize));
        }
        old::ATTACH if registers => {
            vale::attach(name, if argument & old::HOST != 0 { NIC_SW } else { ALL_NIC })?;
        }
        old::DETACH if registers => {
            vale::detach(name)?;
        }
        old::HDR_SET if registers => vale::set_header(name, argument.into())?,
        old::HDR_GET if registers => request.set_u16(44, short(vale::header_of(name)? as usize)),
        old::NEWIF if registers => {
            let (slots, rings) = (request.u32(28).max(request.u32(32)), request.u16(36).max(request.u16(38)));
            let (slots, rings) = vale::create(name, slots, rings)?;
            [28, 32].into_iter().for_each(|at| request.set_u32(at, slots));
            [36, 38].into_iter().for_each(|at| request.set_u16(at, rings));
            request.set_u16(46, state()?.area.id);
        }
        old::DELIF if registers => vale::destroy(name)?,
        old::POLLING_ON | old::POLLING_OFF if registers => {
            let mode = match request.u32(52) & old::MODE_MASK {
                ALL_NIC => vale::SINGLE_CPU,
                ONE_NIC => vale::MULTI_CPU,
                _ => 0,
            };
            let first = u32::from(request.u16(40) & old::RING_MASK);
            vale::poll(name, command == old::POLLING_ON, [mode, first, argument.into()])?;
        }
        _ => return Err(unserved(&format!("nr_cmd {command}"), &COMMANDS_SAID, command.into())),
    }
    request.write()
}

fn known(name: &str, memory: u16) -> Result<Arc<Port>, c_int> {
    refuse_memory(memory)?;
    Port::open(name)
}

fn registered(file: &File, request: &mut Struct<60>, mut name: String) -> Result<Arc<Port>, c_int> {
    let (ring, given) = (request.u16(40), request.u32(52));
    let mode = match given & old::MODE_MASK {
        0 if ring & old::SW_RING != 0 => SW,
        0 if ring & old::HW_RING != 0 => ONE_NIC,
        0 => ALL_NIC,
        mode => mode,
    };
    // A pipe was the number of a ring, and is part of the name today.
    let pipe = match mode {
        PIPE_MASTER => Some('{'),
        PIPE_SLAVE => Some('}'),
        _ => None,
    };
    if let Some(brace) = pipe {
        name = format!("{name}{brace}{}", ring & old::RING_MASK);
    }
    let poll = [(old::NO_TX_POLL, register::NO_TX_POLL), (old::DO_RX_POLL, register::DO_RX_POLL)];
    let flags = poll.into_iter().filter(|(bit, _)| ring & bit != 0).fold(0, |all, (_, flag)| all | flag);
    let wanted = Wanted {
        name,
        mode: if pipe.is_some() { ALL_NIC } else { mode },
        ring: if pipe.is_some() { 0 } else { ring & old::RING_MASK },
        flags: u64::from(given & !old::MODE_MASK) | flags,
        extra: request.u32(48),
        memory: request.u16(46),
        slots: [request.u32(28), request.u32(32)],
        rings: [request.u16(36), request.u16(38)],
        host: [0; 2],
    };
    let bound = file.bind(|| wanted.bind())?;
    request.set_u32(20, u32::try_from(bound.interface).unwrap_or(0));
    request.set_u32(48, bound.extra);
    Ok(bound.port.clone())
}

//! Requests of ioctl: read from the program's memory, carried out, and answered there.

use crate::area::{self, Area};
use crate::facts::{API, BODIES, BUF_BYTES, PAGE, REQUESTS, ioctl, request};
use crate::file::File;
use crate::legacy;
use crate::parents::{self, what};
use crate::port::{Port, state};
use crate::register::{Wanted, refuse_memory};
use crate::request::{Answer, Struct, refuse_options, unserved};
use crate::sys::say::say;
use crate::vale;
use std::ffi::c_int;
use std::sync::Arc;
use std::sync::atomic::AtomicU32;

/// Carries out a request on a file; the error is errno.
pub(crate) fn call(file: &File, request: u64, argument: u64) -> Answer {
    match request {
        ioctl::TXSYNC if file.is_foreign() => parents::call(file, what::TXSYNC, 0, None).map(drop),
        ioctl::RXSYNC if file.is_foreign() => parents::call(file, what::RXSYNC, 0, None).map(drop),
        _ if file.is_foreign() => Err(parents::refuse()),
        ioctl::TXSYNC | ioctl::RXSYNC => sync(file, request == ioctl::TXSYNC),
        ioctl::CTRL => control(file, argument),
        ioctl::REGIF | ioctl::GINFO => legacy::call(file, request == ioctl::REGIF, argument),
        _ => Err(libc::EINVAL),
    }
}

/// Syncs the transmit rings of a file, or its receive rings.
pub(crate) fn sync(file: &File, transmits: bool) -> Answer {
    let bound = file.bound().ok_or(libc::ENXIO)?;
    // A ring that was set back is no error of the call, as with netmap.
    if transmits {
        bound.port.sync_tx(bound.tx.clone());
    } else {
        bound.port.sync_rx(bound.rx.clone());
    }
    Ok(())
}

static REQUESTS_SAID: AtomicU32 = AtomicU32::new(0);

/// NIOCCTRL: `struct nmreq_header`, which names a request and the address of its body.
fn control(file: &File, argument: u64) -> Answer {
    let mut header = Struct::<88>::read(argument)?;
    if !API.contains(&header.u16(0)) {
        say(format_args!(
            "netmap's version {} is asked for; there are {} to {}",
            header.u16(0),
            API.start(),
            API.end()
        ));
        header.set_u16(0, *API.start());
        header.write()?;
        return Err(libc::EINVAL);
    }
    let (number, name, body) = (header.u16(2), header.name(8, 64)?, header.u64(80));
    let size = BODIES.get(usize::from(number)).copied().unwrap_or(0);
    // A body that is wanted and missing, or there and not wanted.
    if header.u32(4) != 0 || (size == 0) != (body == 0) {
        return Err(libc::EINVAL);
    }
    let (refused, extmem) = refuse_options(header.u64(72), size, number == request::REGISTER)?;
    match number {
        // Elsewhere an option that is not known is told by its status alone, as with netmap.
        request::REGISTER if refused => Err(libc::EOPNOTSUPP),
        request::REGISTER => {
            let mut body = Struct::<56>::read(body)?;
            let wanted = Wanted::of(name, &body);
            let brought = |area: Arc<Area>| {
                let bound = file.bind(|| wanted.bind_in(Some(area.clone())))?;
                state()?.keep(&area);
                Ok(bound)
            };
            let bound = match extmem {
                Some(at) => area::brought(at, brought)?,
                None => file.bind(|| wanted.bind())?,
            };
            body.set_u64(0, bound.interface as u64);
            body.set_u64(8, bound.port.area.memory.len as u64);
            sizes(&mut body, 16, &bound.port);
            body.set_u32(40, bound.extra);
            body.write()
        }
        request::PORT_INFO_GET => {
            let mut body = Struct::<32>::read(body)?;
            refuse_memory(body.u16(24))?;
            let mut area = state()?.area.clone();
            body.set_u16(24, area.id);
            if !name.is_empty() {
                let port = Port::open(&name)?;
                sizes(&mut body, 8, &port);
                area = port.area.clone();
            }
            body.set_u64(0, area.memory.len as u64);
            body.write()
        }
        request::VALE_ATTACH => {
            let mut body = Struct::<64>::read(body)?;
            refuse_memory(body.u16(32))?;
            let at = vale::attach(&name, body.u32(36))?;
            body.set_u32(56, at);
            body.write()
        }
        request::VALE_DETACH => {
            let mut body = Struct::<8>::read(body)?;
            body.set_u32(0, vale::detach(&name)?);
            body.write()
        }
        request::VALE_LIST => {
            let mut body = Struct::<8>::read(body)?;
            let (found, switch, port) = vale::list(&name, body.u16(0), body.u32(4))?;
            body.set_u16(0, switch);
            body.set_u32(4, port);
            header.set_name(8, 64, &found);
            header.write()?;
            body.write()
        }
        request::PORT_HDR_SET => vale::set_header(&name, Struct::<8>::read(body)?.u32(0)),
        request::PORT_HDR_GET => {
            let mut body = Struct::<8>::read(body)?;
            body.set_u32(0, vale::header_of(&name)?);
            body.write()
        }
        request::VALE_NEWIF => {
            let mut body = Struct::<16>::read(body)?;
            refuse_memory(body.u16(12))?;
            let (slots, rings) = vale::create(&name, body.u32(0).max(body.u32(4)), body.u16(8).max(body.u16(10)))?;
            [0, 4].into_iter().for_each(|at| body.set_u32(at, slots));
            [8, 10].into_iter().for_each(|at| body.set_u16(at, rings));
            body.set_u16(12, state()?.area.id);
            body.write()
        }
        request::VALE_DELIF => vale::destroy(&name),
        request::POLLING_ENABLE | request::POLLING_DISABLE => {
            let body = Struct::<16>::read(body)?;
            vale::poll(&name, number == request::POLLING_ENABLE, [body.u32(0), body.u32(4), body.u32(8)])
        }
        request::POOLS_INFO_GET => pools(&name, body),
        _ => match REQUESTS.get(usize::from(number)).filter(|_| number > 0) {
            Some(known) => Err(unserved(known, &REQUESTS_SAID, number.into())),
            None => Err(libc::EINVAL),
        },
    }
}

/// Writes slots, rings and the memory's number, as REGISTER and PORT_INFO_GET have them one behind the other.
fn sizes<const N: usize>(body: &mut Struct<N>, at: usize, port: &Port) {
    body.set_u32(at, port.slots[0]);
    body.set_u32(at + 4, port.slots[1]);
    port.counts().into_iter().enumerate().for_each(|(i, rings)| body.set_u16(at + 8 + 2 * i, rings));
    body.set_u16(at + 16, port.area.id);
}

/// POOLS_INFO_GET: the memory of a port. Interfaces and rings are made of pages of one area, which is told for both.
fn pools(name: &str, body: u64) -> Result<(), c_int> {
    let mut body = Struct::<64>::read(body)?;
    refuse_memory(body.u16(8))?;
    if name.is_empty() {
        return Err(libc::ENXIO);
    }
    let area = Port::open(name)?.area.clone();
    body.set_u64(0, area.memory.len as u64);
    body.set_u16(8, area.id);
    let (rings, bufs) = (area.memory.rings, area.memory.bufs);
    let pages = [(rings / PAGE) as u64, PAGE as u64];
    for (at, offset, [total, size]) in
        [(16, 0, pages), (32, 0, pages), (48, rings as u64, [bufs.into(), BUF_BYTES.into()])]
    {
        body.set_u64(at, offset);
        body.set_u32(at + 8, u32::try_from(total).unwrap_or(0));
        body.set_u32(at + 12, u32::try_from(size).unwrap_or(0));
    }
    body.write()
}

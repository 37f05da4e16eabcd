//! Requests of ioctl: read from the program's memory, carried out, and answered there.

use crate::facts::{
    ALL_NIC, API, MEMORY, MEMORY_BYTES, MODES, ONE_NIC, REQUESTS, ioctl, memory_number, old, register, short,
};
use crate::file::{Bound, File};
use crate::port::Port;
use crate::sys::process::generation;
use crate::sys::say::say;
use crate::sys::user;
use crate::wait::FOREIGN;
use std::ffi::c_int;
use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// Number of this process's memory.
fn mem_id() -> u16 {
    memory_number(generation())
}

type Answer = Result<(), c_int>;

/// Carries out a request on a file; the error is errno.
pub(crate) fn call(file: &File, request: u64, argument: u64) -> Answer {
    if file.is_foreign() {
        FOREIGN.say(format_args!("a child of fork has no rings of its parent's; let it open /dev/netmap itself"));
        return Err(libc::EOPNOTSUPP);
    }
    match request {
        ioctl::TXSYNC | ioctl::RXSYNC => {
            let bound = file.bound().ok_or(libc::ENXIO)?;
            // A ring that was set back is no error of the call, as with netmap.
            if request == ioctl::TXSYNC {
                bound.port.sync_tx(bound.tx.clone());
            } else {
                bound.port.sync_rx(bound.rx.clone());
            }
            Ok(())
        }
        ioctl::CTRL => control(file, argument),
        ioctl::REGIF | ioctl::GINFO => older(file, request == ioctl::REGIF, argument),
        _ => Err(libc::EINVAL),
    }
}

/// A structure of the program's, copied: fields by their offsets in bytes.
struct Struct<const N: usize> {
    at: u64,
    bytes: [u8; N],
}

macro_rules! field {
    ($get:ident, $set:ident, $type:ty) => {
        fn $get(&self, at: usize) -> $type {
            let mut bytes = [0; size_of::<$type>()];
            bytes.copy_from_slice(&self.bytes[at..at + size_of::<$type>()]);
            <$type>::from_ne_bytes(bytes)
        }

        fn $set(&mut self, at: usize, value: $type) {
            self.bytes[at..at + size_of::<$type>()].copy_from_slice(&value.to_ne_bytes());
        }
    };
}

impl<const N: usize> Struct<N> {
    fn read(at: u64) -> Result<Self, c_int> {
        let mut bytes = [0; N];
        user::read(at, &mut bytes)?;
        Ok(Self { at, bytes })
    }

    fn write(&self) -> Answer {
        user::write(self.at, &self.bytes)
    }

    field!(u16, set_u16, u16);
    field!(u32, set_u32, u32);
    field!(u64, set_u64, u64);

    /// A name in so many bytes, up to its NUL.
    fn name(&self, at: usize, bytes: usize) -> Result<String, c_int> {
        let name = &self.bytes[at..at + bytes];
        let end = name.iter().position(|byte| *byte == 0).ok_or(libc::EINVAL)?;
        String::from_utf8(name[..end].to_vec()).map_err(|_| libc::EINVAL)
    }
}

/// Says once of each request, mode or option that it is not served.
fn unserved(what: &str, said: &AtomicU32, number: u32) -> c_int {
    if said.fetch_or(1 << (number % 32), Relaxed) & 1 << (number % 32) == 0 {
        say(format_args!("{what} is not served here (EOPNOTSUPP)"));
    }
    libc::EOPNOTSUPP
}

static REQUESTS_SAID: AtomicU32 = AtomicU32::new(0);
static MODES_SAID: AtomicU32 = AtomicU32::new(0);
static OPTIONS_SAID: AtomicU32 = AtomicU32::new(0);
static FLAGS_SAID: AtomicU32 = AtomicU32::new(0);

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
    if header.u32(4) != 0 {
        return Err(libc::EINVAL);
    }
    let (request, name, body) = (header.u16(2), header.name(8, 64)?, header.u64(80));
    let known = REQUESTS.get(usize::from(request)).filter(|_| request > 0).ok_or(libc::EINVAL)?;
    refuse_options(header.u64(72))?;
    match request {
        1 => {
            let mut body = Struct::<56>::read(body)?;
            let wanted = Wanted {
                mode: body.u32(36),
                ring: body.u16(34),
                flags: body.u64(48),
                extra: body.u32(40),
                memory: body.u16(32),
            };
            let bound = file.bind(|| wanted.bind(&name))?;
            body.set_u64(0, bound.interface as u64);
            body.set_u64(8, MEMORY as u64);
            sizes(&mut body, 16, &bound.port);
            body.set_u32(40, bound.extra);
            body.write()
        }
        2 => {
            let mut body = Struct::<32>::read(body)?;
            refuse_memory(body.u16(24))?;
            body.set_u64(0, MEMORY as u64);
            if name.is_empty() {
                body.set_u16(24, mem_id());
            } else {
                let port = Port::open(&name)?;
                sizes(&mut body, 8, &port);
            }
            body.write()
        }
        // No port here takes virtio-net's header: its length is 0.
        6 if Struct::<8>::read(body)?.u32(0) == 0 => Ok(()),
        7 => {
            let mut body = Struct::<8>::read(body)?;
            body.set_u32(0, 0);
            body.write()
        }
        _ => Err(unserved(known, &REQUESTS_SAID, request.into())),
    }
}

/// Writes slots, rings and the memory's number, as REGISTER and PORT_INFO_GET have them one behind the other.
fn sizes<const N: usize>(body: &mut Struct<N>, at: usize, port: &Port) {
    body.set_u32(at, port.slots);
    body.set_u32(at + 4, port.slots);
    body.set_u16(at + 8, short(port.tx.len()));
    body.set_u16(at + 10, short(port.rx.len()));
    body.set_u32(at + 12, 0);
    body.set_u16(at + 16, mem_id());
}

/// Answers a list of options: none is served, and each says so.
fn refuse_options(mut at: u64) -> Answer {
    let mut answer = Ok(());
    // A list may lead back to itself.
    for _ in 0..64 {
        if at == 0 {
            return answer;
        }
        let mut option = Struct::<24>::read(at)?;
        let number = option.u32(8);
        answer = Err(unserved(&format!("option {number}"), &OPTIONS_SAID, number));
        option.set_u32(12, libc::EOPNOTSUPP.unsigned_abs());
        option.write()?;
        at = option.u64(0);
    }
    Err(libc::EMSGSIZE)
}

/// There is one memory: another number means another memory.
fn refuse_memory(id: u16) -> Answer {
    if id == 0 || id == mem_id() { Ok(()) } else { Err(libc::EINVAL) }
}

/// Values of a registration.
struct Wanted {
    mode: u32,
    ring: u16,
    flags: u64,
    extra: u32,
    memory: u16,
}

impl Wanted {
    fn bind(&self, name: &str) -> Result<Bound, c_int> {
        refuse_memory(self.memory)?;
        let mode = MODES.get(self.mode as usize).filter(|_| self.mode > 0).ok_or(libc::EINVAL)?;
        if ![ALL_NIC, ONE_NIC].contains(&self.mode) {
            return Err(unserved(&format!("registration {mode}"), &MODES_SAID, self.mode));
        }
        // Others are ignored, as netmap does: programs set bits of the older interface.
        if self.flags & register::MONITOR != 0 {
            return Err(unserved("a monitor", &FLAGS_SAID, 0));
        }
        if name.is_empty() {
            return Err(libc::EINVAL);
        }
        let port = Port::open(name)?;
        let rings = |n: usize| -> Range<usize> {
            if self.mode == ALL_NIC { 0..n } else { n.min(self.ring.into())..n.min(usize::from(self.ring) + 1) }
        };
        let (mut tx, mut rx) = (rings(port.tx.len()), rings(port.rx.len()));
        if tx.is_empty() && rx.is_empty() {
            return Err(libc::EINVAL);
        }
        if self.flags & register::RX_RINGS_ONLY != 0 {
            tx = 0..0;
        }
        if self.flags & register::TX_RINGS_ONLY != 0 {
            rx = 0..0;
        }
        Bound::new(port, tx, rx, self.flags, self.extra, name)
    }
}

/// NIOCREGIF and NIOCGINFO: `struct nmreq` of 60 bytes.
fn older(file: &File, registers: bool, argument: u64) -> Answer {
    let mut request = Struct::<60>::read(argument)?;
    let version = request.u32(16);
    if !u16::try_from(version).is_ok_and(|version| API.contains(&version)) {
        say(format_args!("netmap's version {version} is asked for; there are {} to {}", API.start(), API.end()));
        request.set_u32(16, u32::from(*API.start()));
        request.write()?;
        return Err(libc::EINVAL);
    }
    let (name, ring) = (request.name(0, 16)?, request.u16(40));
    let command = request.u16(42);
    if command != 0 {
        return Err(unserved(&format!("nr_cmd {command}"), &REQUESTS_SAID, 16 + u32::from(command)));
    }
    request.set_u32(24, MEMORY_BYTES);
    let port = if registers {
        let given = request.u32(52);
        let mode = match given & old::MODE_MASK {
            0 if ring & old::HW_RING != 0 => ONE_NIC,
            // Modes SW and, with neither bit, ALL_NIC.
            0 if ring & old::SW_RING != 0 => 2,
            0 => ALL_NIC,
            mode => mode,
        };
        let poll = [(old::NO_TX_POLL, register::NO_TX_POLL), (old::DO_RX_POLL, register::DO_RX_POLL)];
        let flags = poll.into_iter().filter(|(bit, _)| ring & bit != 0).fold(0, |all, (_, flag)| all | flag);
        let wanted = Wanted {
            mode,
            ring: ring & old::RING_MASK,
            flags: u64::from(given & !old::MODE_MASK) | flags,
            extra: request.u32(48),
            memory: request.u16(46),
        };
        let bound = file.bind(|| wanted.bind(&name))?;
        request.set_u32(20, u32::try_from(bound.interface).unwrap_or(0));
        request.set_u32(48, bound.extra);
        bound.port.clone()
    } else {
        refuse_memory(request.u16(46))?;
        Port::open(&name)?
    };
    request.set_u32(28, port.slots);
    request.set_u32(32, port.slots);
    request.set_u16(36, short(port.tx.len()));
    request.set_u16(38, short(port.rx.len()));
    request.set_u16(46, mem_id());
    request.write()
}

//! REGISTER: rings of a port for an open file, by the mode and the flags of the request.

use crate::area::Area;
use crate::facts::{ALL_NIC, MODES, NIC_SW, NULL, ONE_NIC, ONE_SW, SW, register};
use crate::file::Bound;
use crate::port::{Port, Sizes, state};
use crate::request::Struct;
use crate::sys::say::{Once, say};
use std::ffi::c_int;
use std::ops::Range;
use std::sync::Arc;

static NOT_OPEN: Once = Once::new();
static NO_HOST: Once = Once::new();

/// Refuses the number of no memory.
pub(crate) fn refuse_memory(id: u16) -> Result<(), c_int> {
    state()?.area(id).map(drop)
}

/// Says that a port has no host rings, for which a mode asks.
pub(crate) fn no_host(name: &str, mode: &str) -> c_int {
    NO_HOST
        .say(format_args!("{name} has no host rings ({mode}): give it a port for them, as --port '{name}^=tap:host0'"));
    libc::EINVAL
}

/// Values of a registration (`struct nmreq_register`).
pub(crate) struct Wanted {
    pub(crate) name: String,
    pub(crate) mode: u32,
    pub(crate) ring: u16,
    pub(crate) flags: u64,
    pub(crate) extra: u32,
    pub(crate) memory: u16,
    /// Slots and rings, transmit and receive; only a port of no interface (NULL) is made as the program wants it.
    pub(crate) slots: [u32; 2],
    pub(crate) rings: [u16; 2],
    /// Rings of the host's; of the older requests none.
    pub(crate) host: [u16; 2],
}

impl Wanted {
    pub(crate) fn of<const N: usize>(name: String, body: &Struct<N>) -> Self {
        Self {
            name,
            mode: body.u32(36),
            ring: body.u16(34),
            flags: body.u64(48),
            extra: body.u32(40),
            memory: body.u16(32),
            slots: [body.u32(16), body.u32(20)],
            rings: [body.u16(24), body.u16(26)],
            host: [body.u16(28), body.u16(30)],
        }
    }

    /// The rings that are meant, opened and in use.
    pub(crate) fn bind(&self) -> Result<Bound, c_int> {
        self.bind_in(None)
    }

    /// In memory that the program brings, if it does.
    pub(crate) fn bind_in(&self, brought: Option<Arc<Area>>) -> Result<Bound, c_int> {
        let named = state()?.area(self.memory)?;
        let (area, given) = (brought.clone().unwrap_or(named), brought.is_some() || self.memory != 0);
        if self.name.is_empty() {
            return Err(libc::EINVAL);
        }
        if self.mode == NULL {
            // As with netmap, its memory must be named.
            let port = if given { Port::null(&self.name, area, self.slots, self.rings) } else { Err(libc::EINVAL) };
            return Bound::new(port?, [0..0, 0..0], self.flags, self.extra, &self.name);
        }
        if ![ALL_NIC, SW, NIC_SW, ONE_NIC, ONE_SW].contains(&self.mode) {
            return Err(libc::EINVAL);
        }
        // Other flags are ignored, as netmap does: programs set bits of the older interface.
        if self.flags & register::MONITOR != 0 {
            return self.watch();
        }
        let port = Port::open_in(&self.name, given.then_some(area), Sizes { slots: self.slots, host: self.host })?;
        let rings = self.rings(&port)?;
        if port.header() > 0 && self.flags & register::ACCEPT_VNET_HDR == 0 {
            say(format_args!(
                "{}: its frames have a header of {} bytes, which the program does not accept",
                self.name,
                port.header()
            ));
            return Err(libc::EIO);
        }
        Bound::new(port, rings, self.flags, self.extra, &self.name)
    }

    /// A monitor of the rings that are meant, whose port this process has open.
    fn watch(&self) -> Result<Bound, c_int> {
        let Some(watched) = state()?.known(&self.name) else {
            NOT_OPEN
                .say(format_args!("{}: a monitor sees ports that its own program has open, and no others", self.name));
            return Err(libc::EINVAL);
        };
        let [tx, rx] = self.rings(&watched)?;
        let slots =
            if self.slots[1] == 0 { watched.slots[1] } else { self.slots[1].clamp(64, 4096).next_power_of_two() };
        // Without a direction: both, and copies as those of the others.
        let both = self.flags & register::ZCOPY_MON != 0;
        let of = |rings: &Range<usize>, flag| if both || self.flags & flag != 0 { rings.clone() } else { 0..0 };
        let seen = [of(&tx, register::MONITOR_TX), of(&rx, register::MONITOR_RX)];
        let port = Port::monitor(&self.name, &watched, seen, slots)?;
        let own = if tx.is_empty() { rx } else { tx.start.min(rx.start)..tx.end.max(rx.end) };
        Bound::new(port, [0..0, own], self.flags, self.extra, &self.name)
    }

    /// Transmit and receive rings of a port that the mode names.
    fn rings(&self, port: &Port) -> Result<[Range<usize>; 2], c_int> {
        let (nics, all) = (port.nics, [port.tx.len(), port.rx.len()]);
        if [SW, NIC_SW, ONE_SW].contains(&self.mode) && nics == all {
            return Err(no_host(&self.name, MODES[self.mode as usize]));
        }
        let of = |from: [usize; 2], to: [usize; 2]| Ok([from[0]..to[0], from[1]..to[1]]);
        let one = |from: [usize; 2], to: [usize; 2]| {
            let (n, ring) = ([to[0] - from[0], to[1] - from[1]], usize::from(self.ring));
            if ring >= n[0].max(n[1]) {
                return Err(libc::EINVAL);
            }
            // Of the direction with fewer rings the first one.
            let at = [0, 1].map(|dir| from[dir] + if ring < n[dir] { ring } else { 0 });
            Ok([0, 1].map(|dir| at[dir]..to[dir].min(at[dir] + 1)))
        };
        let [mut tx, mut rx] = match self.mode {
            SW => of(nics, all),
            NIC_SW => of([0; 2], all),
            ONE_NIC => one([0; 2], nics),
            ONE_SW => one(nics, all),
            _ => of([0; 2], nics),
        }?;
        if self.flags & register::RX_RINGS_ONLY != 0 {
            tx = 0..0;
        }
        if self.flags & register::TX_RINGS_ONLY != 0 {
            rx = 0..0;
        }
        Ok([tx, rx])
    }
}

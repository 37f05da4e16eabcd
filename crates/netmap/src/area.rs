//! Memory that ports have their rings and buffers in: one of the process's own, and what a program brings itself (EXTMEM).

use crate::facts::{BUF, BUF_BYTES, BUFS, PAGE, RINGS, short};
use crate::pool::Pool;
use crate::request::Struct;
use crate::sys::memory::Memory;
use crate::sys::say::say;
use std::ffi::c_int;
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

/// Bytes that a piece of the program's memory is a multiple of: a ring is aligned so.
const UNIT: usize = 128;
/// Numbers of such memories begin here, far behind the number of forks.
static NEXT: AtomicUsize = AtomicUsize::new(0x8000);

pub(crate) struct Area {
    pub(crate) memory: Memory,
    pub(crate) pool: Mutex<Pool>,
    pub(crate) id: u16,
}

impl Area {
    /// Memory of the library's own, of this number.
    pub(crate) fn new(id: u16) -> io::Result<Arc<Self>> {
        Ok(Arc::new(Self { memory: Memory::new()?, pool: Mutex::new(Pool::new(RINGS, PAGE, BUFS)), id }))
    }
}

/// Option EXTMEM (`struct nmreq_opt_extmem`) at an address: the program's memory, laid out as it asks, with interfaces first, rings and
/// then buffers; `register` has its first port there. The option tells how it went, and where what lies.
pub(crate) fn brought<T>(at: u64, register: impl FnOnce(Arc<Area>) -> Result<T, c_int>) -> Result<T, c_int> {
    let mut option = Struct::<96>::read(at)?;
    let done = laid_out(&mut option).and_then(register);
    option.set_u32(12, done.as_ref().err().map_or(0, |errno| errno.unsigned_abs()));
    option.write().and(done)
}

fn laid_out(option: &mut Struct<96>) -> Result<Arc<Area>, c_int> {
    // Number and size of interfaces, rings and buffers, which netmap has of its own where the program names none.
    for (at, usual) in [(56, 2), (60, 1024), (72, 4), (76, 5 * 4096), (88, 4098), (92, BUF_BYTES)] {
        option.set_u32(at, if option.u32(at) == 0 { usual } else { option.u32(at) });
    }
    let [ifs, rings] = [56, 72].map(|at| (option.u32(at) as usize).saturating_mul(option.u32(at + 4) as usize));
    let (from, len) = (option.u64(24), usize::try_from(option.u64(32)).map_err(|_| libc::EINVAL)?);
    let rings = ifs.saturating_add(rings).checked_next_multiple_of(UNIT).unwrap_or(usize::MAX);
    let room = len.saturating_sub(rings) / BUF;
    let bufs = u32::try_from(room.min(option.u32(88) as usize)).map_err(|_| libc::EINVAL)?;
    if option.u32(92) != BUF_BYTES || bufs <= 2 || rings <= UNIT {
        say(format_args!(
            "option EXTMEM: {len} bytes have no room for what is asked, or buffers are not of {BUF} bytes"
        ));
        return Err(libc::EINVAL);
    }
    let memory = Memory::over(from, len, rings, bufs).map_err(|error| {
        say(format_args!(
            "option EXTMEM: memory at {from:#x} cannot be had ({error}); give whole pages of one mapping"
        ));
        error.raw_os_error().unwrap_or(libc::EFAULT)
    })?;
    option.set_u64(64, ifs as u64);
    option.set_u64(48, 0);
    option.set_u64(80, rings as u64);
    option.set_u32(88, bufs);
    let id = short(NEXT.fetch_add(1, Relaxed).clamp(0x8000, 0xffff));
    option.set_u16(40, id);
    Ok(Arc::new(Area { memory, pool: Mutex::new(Pool::new(rings, UNIT, bufs)), id }))
}

//! Requests as they lie in the program's memory: structures, copied and read field by field, and lists of options.

use crate::facts::OPTIONS;
use crate::sys::say::say;
use crate::sys::user;
use std::ffi::c_int;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

pub(crate) type Answer = Result<(), c_int>;

/// A structure of the program's, copied: fields by their offsets in bytes.
pub(crate) struct Struct<const N: usize> {
    at: u64,
    bytes: [u8; N],
}

macro_rules! field {
    ($get:ident, $set:ident, $type:ty) => {
        pub(crate) fn $get(&self, at: usize) -> $type {
            let mut bytes = [0; size_of::<$type>()];
            bytes.copy_from_slice(&self.bytes[at..at + size_of::<$type>()]);
            <$type>::from_ne_bytes(bytes)
        }

        pub(crate) fn $set(&mut self, at: usize, value: $type) {
            self.bytes[at..at + size_of::<$type>()].copy_from_slice(&value.to_ne_bytes());
        }
    };
}

impl<const N: usize> Struct<N> {
    pub(crate) fn read(at: u64) -> Result<Self, c_int> {
        let mut bytes = [0; N];
        user::read(at, &mut bytes)?;
        Ok(Self { at, bytes })
    }

    pub(crate) fn write(&self) -> Answer {
        user::write(self.at, &self.bytes)
    }

    field!(u16, set_u16, u16);
    field!(u32, set_u32, u32);
    field!(u64, set_u64, u64);

    /// A name in so many bytes, up to its NUL; the last byte counts as one.
    pub(crate) fn name(&self, at: usize, bytes: usize) -> Result<String, c_int> {
        let name = &self.bytes[at..at + bytes - 1];
        let end = name.iter().position(|byte| *byte == 0).unwrap_or(name.len());
        String::from_utf8(name[..end].to_vec()).map_err(|_| libc::EINVAL)
    }

    /// Writes a name, cut to fit with its NUL.
    pub(crate) fn set_name(&mut self, at: usize, bytes: usize, name: &str) {
        let place = &mut self.bytes[at..at + bytes];
        place.fill(0);
        place.iter_mut().zip(name.bytes().take(bytes - 1)).for_each(|(to, from)| *to = from);
    }
}

/// Says once of each request, mode or option that it is not served.
pub(crate) fn unserved(what: &str, said: &AtomicU32, number: u32) -> c_int {
    if said.fetch_or(1 << (number % 32), Relaxed) & 1 << (number % 32) == 0 {
        say(format_args!("{what} is not served here (EOPNOTSUPP)"));
    }
    libc::EOPNOTSUPP
}

static OPTIONS_SAID: AtomicU32 = AtomicU32::new(0);

/// Bytes of a request with its options at most, and what netmap reckons for each option beside its body.
const MOST: usize = 4096;
const EACH: usize = 32;
/// Option with memory of the program's (`struct nmreq_opt_extmem`).
const EXTMEM: u32 = 1;
/// Option whose length the program gives (SYNC_KLOOP_EVENTFDS).
const OF_ANY_SIZE: u32 = 2;

/// Answers the list of options behind a request whose body has so many bytes. One that `registers` may bring memory (EXTMEM): its
/// address. No other option is served, and each has EOPNOTSUPP as its status: true if there are some.
///
/// # Errors
/// As netmap tells them: EINVAL for an option that comes twice, or has number 0; EMSGSIZE for a list that is too long, which may
/// lead back to itself, so nothing is written there; EFAULT.
pub(crate) fn refuse_options(mut at: u64, body: usize, registers: bool) -> Result<(bool, Option<u64>), c_int> {
    let (mut all, mut room): (Vec<Struct<24>>, _) = (Vec::new(), MOST - body);
    let mut answer = Ok(());
    while at != 0 && answer.is_ok() {
        room = room.checked_sub(EACH).ok_or(libc::EMSGSIZE)?;
        let mut option = Struct::<24>::read(at)?;
        let number = option.u32(8);
        at = option.u64(0);
        option.set_u32(12, 0);
        let known = (1..OPTIONS.len()).contains(&(number as usize));
        let twin = all.iter_mut().find(|other| known && other.u32(8) == number);
        if number == 0 || twin.is_some() {
            for wrong in twin.into_iter().chain([&mut option]) {
                wrong.set_u32(12, libc::EINVAL.unsigned_abs());
            }
            answer = Err(libc::EINVAL);
        } else if number == OF_ANY_SIZE {
            // Its 24 bytes of header are among those of each.
            let more = usize::try_from(option.u64(16)).unwrap_or(MOST).saturating_sub(24);
            match room.checked_sub(more) {
                Some(left) => room = left,
                None => answer = Err(libc::EMSGSIZE),
            }
        }
        all.push(option);
    }
    let (mut refused, mut extmem) = (false, None);
    for option in &mut all {
        if answer.is_ok() && registers && option.u32(8) == EXTMEM {
            extmem = Some(option.at);
        } else if answer.is_ok() {
            refused = true;
            let number = option.u32(8);
            let what = OPTIONS.get(number as usize).map_or(format!("option {number}"), |name| format!("option {name}"));
            option.set_u32(12, unserved(&what, &OPTIONS_SAID, number).unsigned_abs());
        }
        option.write()?;
    }
    answer.map(|()| (refused, extmem))
}

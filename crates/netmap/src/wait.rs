//! poll and its relatives, for sets of descriptors with netmap's among them.
//!
//! No wake-up is lost: each queue is told first, and looks once more for work; then the thread sleeps on the queues'
//! descriptors, on the program's others, and on netmap's own, which another thread's close rings. Signals are blocked except
//! in the sleep itself, so one that comes between the last look and the sleep ends it.

use crate::file::{self, SHARED};
use crate::parents;
use crate::sys::process::Blocked;
use crate::sys::real;
use crate::table;
use linerate_ring::Bell;
use std::ffi::c_int;
use std::os::fd::{AsFd, AsRawFd};
use std::time::{Duration, Instant};

/// Time that a thread looks again and again before it sleeps: less than a wake-up costs.
const SPIN: Duration = Duration::from_micros(20);

/// Waits as ppoll(2) does; the number of entries with events, or errno.
pub(crate) fn poll(
    fds: &mut [libc::pollfd],
    timeout: Option<Duration>,
    mask: Option<&libc::sigset_t>,
) -> Result<usize, c_int> {
    // A handler that polls, too, would wait for the thread that it interrupted.
    let blocked = Blocked::all();
    let ready = look(fds)?;
    if ready > 0 || timeout == Some(Duration::ZERO) {
        return Ok(ready);
    }
    let begun = Instant::now();
    let end = timeout.and_then(|timeout| begun.checked_add(timeout));
    let mask = mask.unwrap_or(&blocked.0);
    loop {
        let ready = look(fds)?;
        if ready > 0 {
            return Ok(ready);
        }
        let now = Instant::now();
        if end.is_some_and(|end| end <= now) {
            return Ok(0);
        }
        if now < begun + SPIN {
            std::hint::spin_loop();
        } else {
            sleep(fds, end, mask)?;
        }
    }
}

/// Looks once at all entries.
fn look(fds: &mut [libc::pollfd]) -> Result<usize, c_int> {
    let mut others = false;
    for entry in &mut *fds {
        entry.revents = 0;
        match table::file(entry.fd) {
            Some(file) if file.is_foreign() => entry.revents = parents::ready(file, entry.events),
            Some(file) => entry.revents = file.bound().map_or(libc::POLLERR, |bound| bound.ready(entry.events)),
            None if table::is_closing(entry.fd) => entry.revents = libc::POLLNVAL,
            None => others |= entry.fd >= 0,
        }
    }
    if others {
        let mine = |entry: &libc::pollfd| table::file(entry.fd).is_none();
        let mut rest: Vec<_> = fds.iter().copied().filter(mine).collect();
        real::ppoll(&mut rest, Some(Duration::ZERO), None)?;
        let mut rest = rest.into_iter();
        for entry in &mut *fds {
            // Another thread may close one meanwhile; what is meant is told by the number.
            if entry.revents == 0 && rest.as_slice().first().is_some_and(|next| next.fd == entry.fd) {
                entry.revents = rest.next().map_or(0, |next| next.revents);
            }
        }
    }
    Ok(fds.iter().filter(|entry| entry.revents != 0).count())
}

fn sleep(fds: &[libc::pollfd], end: Option<Instant>, mask: &libc::sigset_t) -> Result<(), c_int> {
    let (mut set, mut asleep, mut until, mut sleeps) = (Vec::new(), Vec::new(), end, true);
    let mut bell = None;
    for entry in fds {
        match table::file(entry.fd) {
            Some(file) if file.is_foreign() => {
                if bell.is_none() {
                    bell = Some(Bell::new().map_err(|e| e.raw_os_error().unwrap_or(libc::EMFILE))?);
                }
                let rung =
                    bell.as_ref().is_some_and(|bell| parents::sleep_on(file, entry.events, bell.as_fd(), &mut set));
                sleeps &= rung;
                // Its own descriptor is its parent's, too, and tells nobody that it was closed here.
                until = [until, Some(Instant::now() + SHARED)].into_iter().flatten().min();
            }
            Some(file) => {
                set.push(libc::pollfd { events: libc::POLLIN, ..*entry });
                if let Some(bound) = file.bound() {
                    sleeps &= bound.sleep_on(entry.events, &mut set, &mut until, &mut asleep);
                }
            }
            None => set.push(*entry),
        }
    }
    if let Some(bell) = &bell {
        set.push(libc::pollfd { fd: bell.as_fd().as_raw_fd(), events: libc::POLLIN, revents: 0 });
    }
    sleeps &= file::carry_on(&file::all_tx(), &mut set, &mut until, &mut asleep);
    let result = if sleeps {
        let left = until.map(|until| until.saturating_duration_since(Instant::now()));
        real::ppoll(&mut set, left, Some(mask)).map(drop)
    } else {
        Ok(())
    };
    asleep.into_iter().for_each(file::Asleep::end);
    result
}

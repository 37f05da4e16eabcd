//! select as poll: sets of descriptors to entries and back.

use crate::{table, wait};
use std::ffi::c_int;
use std::time::Duration;

const READ: i16 = libc::POLLIN | libc::POLLRDNORM | libc::POLLRDBAND | libc::POLLHUP | libc::POLLERR;
const WRITE: i16 = libc::POLLOUT | libc::POLLWRNORM | libc::POLLWRBAND | libc::POLLERR;
const EXCEPT: i16 = libc::POLLPRI;
const EVENTS: [i16; 3] = [READ, WRITE, EXCEPT];

/// The three sets of a select, each with the descriptors that it has, in order.
pub(crate) type Sets = [Vec<c_int>; 3];

/// True if a descriptor of netmap's is in one of the sets.
pub(crate) fn concerns(sets: &Sets) -> bool {
    sets.iter().flatten().any(|fd| table::file(*fd).is_some())
}

/// Waits as pselect(2) does: what is left in the sets is ready; the number of these, or errno.
pub(crate) fn select(
    sets: &mut Sets,
    timeout: Option<Duration>,
    mask: Option<&libc::sigset_t>,
) -> Result<usize, c_int> {
    let mut numbers: Vec<c_int> = sets.iter().flatten().copied().collect();
    numbers.sort_unstable();
    numbers.dedup();
    let mut fds: Vec<libc::pollfd> = numbers
        .into_iter()
        .map(|fd| {
            let events = sets.iter().zip(EVENTS).filter(|(set, _)| set.contains(&fd)).map(|(_, events)| events);
            libc::pollfd { fd, events: events.fold(0, |all, one| all | one), revents: 0 }
        })
        .collect();
    wait::poll(&mut fds, timeout, mask)?;
    if fds.iter().any(|entry| entry.revents & libc::POLLNVAL != 0) {
        return Err(libc::EBADF);
    }
    for (set, events) in sets.iter_mut().zip(EVENTS) {
        set.retain(|fd| fds.iter().any(|entry| entry.fd == *fd && entry.revents & events != 0));
    }
    Ok(sets.iter().map(Vec::len).sum())
}

//! What a thread sleeps on.

use linerate_port::{Interest, Sleep};
use std::os::fd::AsRawFd;
use std::time::{Duration, Instant};

/// Time after which a thread looks again at a queue that cannot wake it, or that another thread sleeps on.
const BLIND: Duration = Duration::from_micros(100);

/// Adds what ends a sleep to a set of descriptors and a time.
pub(crate) fn add_sleep(sleep: &Sleep<'_>, set: &mut Vec<libc::pollfd>, until: &mut Option<Instant>) {
    let mut times = [*until, sleep.until, None];
    match sleep.on {
        Some((fd, interest)) => {
            let events = match interest {
                Interest::Readable => libc::POLLIN,
                Interest::Writable => libc::POLLOUT,
            };
            set.push(libc::pollfd { fd: fd.as_raw_fd(), events, revents: 0 });
        }
        None if sleep.until.is_none() => times[2] = Some(Instant::now() + BLIND),
        None => {}
    }
    *until = times.into_iter().flatten().min();
}

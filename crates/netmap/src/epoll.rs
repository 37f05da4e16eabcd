//! epoll, for sets with netmap's descriptors among their members. The kernel keeps these, too, for no event: it refuses what
//! cannot be, and forgets what is closed. What is watched of them stands in `members.rs`, and is told while it is ready, as poll
//! tells it: EPOLLET is no different.

use crate::members::{Member, Members};
use crate::sys::real;
use crate::{table, wait};
use std::ffi::c_int;
use std::os::fd::{AsFd, AsRawFd};
use std::sync::atomic::Ordering::{Acquire, Relaxed};
use std::time::{Duration, Instant};

/// True while the open file that became a member has its descriptor.
pub(crate) fn is_open(member: &Member) -> bool {
    table::file(member.fd).is_some_and(|file| file.number() == member.file)
}

/// Waits as epoll_pwait2(2) does: the number of events told, or errno.
pub(crate) fn wait(
    all: &Members,
    fd: c_int,
    told: &mut [libc::epoll_event],
    timeout: Option<Duration>,
    mask: Option<&libc::sigset_t>,
) -> Result<usize, c_int> {
    let end = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
    loop {
        let set = all.set();
        let known = set.as_ref().map_or(&[][..], |set| &set.members);
        let members: Vec<&Member> = known
            .iter()
            .map(|member| &**member)
            .filter(|member| member.armed.load(Acquire) && is_open(member))
            .collect();
        let own = [Some(fd), set.as_ref().map(|set| set.changed.as_fd().as_raw_fd())];
        let own = own.into_iter().flatten().map(|fd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 });
        let mut fds: Vec<_> = members.iter().map(|member| member.entry()).chain(own).collect();
        let left = end.map(|end| end.saturating_duration_since(Instant::now()));
        wait::poll(&mut fds, left, mask)?;
        let kernel = fds[members.len()].revents;
        if kernel & libc::POLLNVAL != 0 {
            return Err(libc::EBADF);
        }
        let n = tell(all, fd, &members, &fds, kernel != 0, told);
        if n > 0 || end.is_some_and(|end| end <= Instant::now()) {
            return Ok(n);
        }
    }
}

/// Tells what is ready, members and what the kernel watches first by turns: there may be room for one of them only.
fn tell(
    all: &Members,
    fd: c_int,
    members: &[&Member],
    fds: &[libc::pollfd],
    kernel: bool,
    told: &mut [libc::epoll_event],
) -> usize {
    let (turn, mut n) = (all.turn.fetch_add(1, Relaxed), 0);
    if kernel && turn % 2 == 1 {
        n += real::epoll_now(fd, told);
    }
    for i in 0..members.len() {
        let at = (turn / 2 + i) % members.len();
        let events = u32::from((fds[at].revents & !libc::POLLNVAL).cast_unsigned());
        if n < told.len() && events != 0 && members[at].tell() {
            told[n] = libc::epoll_event { events, u64: members[at].data };
            n += 1;
        }
    }
    if kernel && turn % 2 == 0 {
        n += real::epoll_now(fd, &mut told[n..]);
    }
    n
}

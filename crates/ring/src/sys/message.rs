//! Messages between processes that carry descriptors (`SCM_RIGHTS`).

use super::check;
use super::closing::Foreign;
use std::io;
use std::mem::{MaybeUninit, size_of, zeroed};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

/// Most descriptors of one message (`SCM_MAX_FD`). Every receive has room for so many: descriptors that find no room
/// are closed by the kernel within the call, which then takes as long as the sender likes.
pub const MOST_FDS: usize = 253;
/// Bytes for other control messages, which a process that shares the socket can enable: times, users, security labels.
const ELSE: usize = 8192;
/// An upper bound of the messages in a socket's queue with the kernel's largest limits.
const MOST_QUEUED: usize = 1 << 16;
/// Empty messages in a row that are not taken for the end of the stream: more than a queue of Linux's default size
/// holds.
const MOST_EMPTY: usize = 512;
const ROOM: usize = 64 + MOST_FDS * size_of::<libc::c_int>();

#[repr(align(16))]
struct Control<const ROOM: usize>([u8; ROOM]);

/// Type of control messages with a pidfd of the sender (linux/socket.h); other systems have none of this number.
const SCM_PIDFD: libc::c_int = if cfg!(target_os = "linux") { 4 } else { -1 };

/// Sends one message with its descriptors; never blocks.
pub fn send(socket: &impl AsFd, bytes: &[u8], fds: &[BorrowedFd<'_>]) -> io::Result<()> {
    if fds.len() > MOST_FDS {
        return Err(io::Error::from(io::ErrorKind::InvalidInput));
    }
    let mut control = Control::<ROOM>([0; ROOM]);
    let mut part = libc::iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: bytes.len() };
    let room = u32::try_from(size_of_val(fds)).unwrap_or(0);
    // SAFETY: the message names one readable part and a control buffer with room for `fds`; CMSG_* compute inside it.
    let sent = unsafe {
        let mut message: libc::msghdr = zeroed();
        message.msg_iov = &raw mut part;
        message.msg_iovlen = 1;
        if !fds.is_empty() {
            message.msg_control = control.0.as_mut_ptr().cast();
            message.msg_controllen = libc::CMSG_SPACE(room) as _;
            let head = libc::CMSG_FIRSTHDR(&raw const message);
            (*head).cmsg_level = libc::SOL_SOCKET;
            (*head).cmsg_type = libc::SCM_RIGHTS;
            (*head).cmsg_len = libc::CMSG_LEN(room) as _;
            let data = libc::CMSG_DATA(head).cast::<libc::c_int>();
            for (i, fd) in fds.iter().enumerate() {
                data.add(i).write_unaligned(fd.as_raw_fd());
            }
        }
        libc::sendmsg(socket.as_fd().as_raw_fd(), &raw const message, libc::MSG_NOSIGNAL | libc::MSG_DONTWAIT)
    };
    match usize::try_from(sent) {
        Err(_) => Err(io::Error::last_os_error()),
        Ok(n) if n == bytes.len() => Ok(()),
        Ok(_) => Err(io::Error::from(io::ErrorKind::WriteZero)),
    }
}

/// Receives one message of up to `most` bytes with its descriptors; never blocks. No bytes from a `SOCK_SEQPACKET`
/// socket mean that the other side is gone.
pub fn receive(socket: &impl AsFd, most: usize) -> io::Result<(Vec<u8>, Vec<Foreign>)> {
    let mut control = MaybeUninit::<Control<{ ROOM + ELSE }>>::uninit();
    let mut bytes = vec![0u8; most];
    let mut part = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: bytes.len() };
    let mut fds = Vec::new();
    // SAFETY: the message names one writable part and a control buffer; the kernel writes control messages that CMSG_*
    // walk, as far as it says, and descriptors in them are new and ours.
    let (got, flags) = unsafe {
        let mut message: libc::msghdr = zeroed();
        message.msg_iov = &raw mut part;
        message.msg_iovlen = 1;
        message.msg_control = control.as_mut_ptr().cast();
        message.msg_controllen = (ROOM + ELSE) as _;
        let flags = libc::MSG_CMSG_CLOEXEC | libc::MSG_DONTWAIT;
        let got = libc::recvmsg(socket.as_fd().as_raw_fd(), &raw mut message, flags);
        if got >= 0 {
            let mut head = libc::CMSG_FIRSTHDR(&raw const message);
            while !head.is_null() {
                let socket = (*head).cmsg_level == libc::SOL_SOCKET;
                let n = ((*head).cmsg_len as usize).saturating_sub(libc::CMSG_LEN(0) as usize) / 4;
                let data = libc::CMSG_DATA(head).cast::<libc::c_int>();
                if socket && (*head).cmsg_type == libc::SCM_RIGHTS {
                    for i in 0..n {
                        fds.push(Foreign::from(OwnedFd::from_raw_fd(data.add(i).read_unaligned())));
                    }
                } else if socket && (*head).cmsg_type == SCM_PIDFD && n > 0 && data.read_unaligned() >= 0 {
                    // A pidfd of the sender, if a process that shares the socket has enabled it.
                    drop(OwnedFd::from_raw_fd(data.read_unaligned()));
                }
                head = libc::CMSG_NXTHDR(&raw const message, head);
            }
        }
        (got, message.msg_flags)
    };
    let got = usize::try_from(got).map_err(|_| io::Error::last_os_error())?;
    if flags & (libc::MSG_TRUNC | libc::MSG_CTRUNC) != 0 {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "the message was cut"));
    }
    bytes.truncate(got);
    Ok((bytes, fds))
}

/// Makes the kernel refuse messages with descriptors to this socket, from Linux 6.16 on; such messages never arrive
/// then.
pub fn refuse_descriptors(socket: &impl AsFd) {
    #[cfg(target_os = "linux")]
    {
        const SO_PASSRIGHTS: libc::c_int = 83;
        let no: libc::c_int = 0;
        let len = libc::socklen_t::try_from(size_of::<libc::c_int>()).unwrap_or(0);
        // SAFETY: the value is readable for its length. Older kernels refuse the option, and there is nothing to do.
        unsafe {
            let at = (&raw const no).cast();
            libc::setsockopt(socket.as_fd().as_raw_fd(), libc::SOL_SOCKET, SO_PASSRIGHTS, at, len);
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = socket;
}

/// Makes the kernel refuse all that is sent to this socket from now on, so that nothing of others is in its queue.
pub(super) fn hear_nothing(socket: &impl AsFd) -> io::Result<()> {
    // SAFETY: the call takes numbers only.
    check(unsafe { libc::shutdown(socket.as_fd().as_raw_fd(), libc::SHUT_RD) }).map(drop)
}

/// Empties a UNIX socket's queue of messages or connections, so that the close of the socket does not close those; no
/// more arrive. Does nothing to other descriptors.
pub(crate) fn empty(fd: &OwnedFd) {
    let is = |name, value| option(fd.as_fd(), name).is_ok_and(|found| found == value);
    if !is(libc::SO_DOMAIN, libc::AF_UNIX) {
        return;
    }
    // After this nobody waits for more: accept is told that there will be no more connections.
    if hear_nothing(fd).is_err() {
        return;
    }
    for _ in 0..MOST_QUEUED {
        // SAFETY: null is allowed for the address; the descriptor that comes back is new and ours.
        match unsafe { libc::accept(fd.as_raw_fd(), std::ptr::null_mut(), std::ptr::null_mut()) } {
            // SAFETY: as above.
            new if new >= 0 => drop(Foreign::from(unsafe { OwnedFd::from_raw_fd(new) })),
            _ => break,
        }
    }
    // The end of a byte stream is no message; that of packets looks like one without bytes, of which there may be some.
    let (bytes, most_empty) = if is(libc::SO_TYPE, libc::SOCK_STREAM) { (4096, 1) } else { (0, MOST_EMPTY) };
    let mut empty = 0;
    for _ in 0..MOST_QUEUED {
        match receive(fd, bytes) {
            Ok((bytes, fds)) if bytes.is_empty() && fds.is_empty() => empty += 1,
            Ok(_) => empty = 0,
            // Longer than the buffer.
            Err(e) if e.kind() == io::ErrorKind::InvalidData => empty = 0,
            Err(_) => return,
        }
        if empty == most_empty {
            return;
        }
    }
}

/// True if the socket was shut for reading, by a process that shares it: then it stays readable.
pub(super) fn is_shut(socket: &impl AsFd) -> bool {
    #[cfg(target_os = "linux")]
    {
        let mut poll = libc::pollfd { fd: socket.as_fd().as_raw_fd(), events: libc::POLLRDHUP, revents: 0 };
        // SAFETY: one writable pollfd.
        unsafe { libc::poll(&raw mut poll, 1, 0) > 0 }
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = socket;
        false
    }
}

/// Turns lingering on close off, unless a process that shares the socket turns it on again. Does nothing to other
/// descriptors.
pub(crate) fn linger_not(fd: &OwnedFd) {
    let no = libc::linger { l_onoff: 0, l_linger: 0 };
    let len = libc::socklen_t::try_from(size_of::<libc::linger>()).unwrap_or(0);
    // SAFETY: the value is readable for its length.
    unsafe { libc::setsockopt(fd.as_raw_fd(), libc::SOL_SOCKET, libc::SO_LINGER, (&raw const no).cast(), len) };
}

/// Reads an integer socket option.
fn option(socket: BorrowedFd<'_>, name: libc::c_int) -> io::Result<libc::c_int> {
    let mut value: libc::c_int = -1;
    let mut len = libc::socklen_t::try_from(size_of::<libc::c_int>()).unwrap_or(0);
    // SAFETY: the value is writable for its length.
    check(unsafe {
        let at = (&raw mut value).cast();
        libc::getsockopt(socket.as_raw_fd(), libc::SOL_SOCKET, name, at, &raw mut len)
    })?;
    Ok(value)
}

/// True for a UNIX datagram socket: sending to it blocks only if the call does not forbid it.
pub(super) fn is_datagram(fd: BorrowedFd<'_>) -> bool {
    let is = |name, value| option(fd, name).is_ok_and(|found| found == value);
    is(libc::SO_DOMAIN, libc::AF_UNIX) && is(libc::SO_TYPE, libc::SOCK_DGRAM)
}

/// Two datagram sockets that are each other's only peer.
pub(super) fn datagrams() -> io::Result<[OwnedFd; 2]> {
    let mut fds = [-1; 2];
    let kind = libc::SOCK_DGRAM | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
    // SAFETY: room for two descriptors, which are new and ours.
    unsafe {
        check(libc::socketpair(libc::AF_UNIX, kind, 0, fds.as_mut_ptr()))?;
        Ok(fds.map(|fd| OwnedFd::from_raw_fd(fd)))
    }
}

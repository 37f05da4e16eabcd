//! UNIX sequenced-packet sockets that carry descriptors, for the handshake of two processes. No call blocks, except
//! those with a time limit.

use linerate_host::user;
use linerate_ring::Foreign;
pub(crate) use linerate_ring::sys::message::{MOST_FDS, receive, refuse_descriptors, send};
use std::fs::{self, DirBuilder, File};
use std::io;
use std::mem::{size_of, zeroed};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

fn check(result: libc::c_int) -> io::Result<libc::c_int> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

/// Directory of this user's sockets, accessible to this user alone, made if need be: `$XDG_RUNTIME_DIR/linerate`, or
/// `/run/linerate` of root, or `/tmp/linerate-UID`.
///
/// # Errors
/// It cannot be made, or it is another user's.
pub fn runtime_dir() -> io::Result<PathBuf> {
    let dir = match std::env::var_os("XDG_RUNTIME_DIR").filter(|d| Path::new(d).is_absolute()) {
        Some(runtime) => PathBuf::from(runtime).join("linerate"),
        None if user() == 0 && Path::new("/run").is_dir() => PathBuf::from("/run/linerate"),
        None => std::env::temp_dir().join(format!("linerate-{}", user())),
    };
    if let Err(e) = DirBuilder::new().mode(0o700).create(&dir)
        && e.kind() != io::ErrorKind::AlreadyExists
    {
        return Err(io::Error::new(e.kind(), format!("{}: {e}", dir.display())));
    }
    let meta = fs::symlink_metadata(&dir)?;
    if !meta.is_dir() || meta.uid() != user() || meta.permissions().mode() & 0o077 != 0 {
        let what = format!("{} is not a directory of yours alone (mode 0700)", dir.display());
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, what));
    }
    Ok(dir)
}

/// Holds a directory's lock until dropped. Whoever replaces a socket of a dead process has it meanwhile.
pub struct DirLock(#[expect(dead_code, reason = "closing it unlocks")] File);

impl DirLock {
    /// Takes the lock. Holders keep it for a few system calls that do not block.
    ///
    /// # Errors
    /// `WouldBlock` if another process has it.
    pub fn take(dir: &Path) -> io::Result<Self> {
        let dir = File::open(dir)?;
        // SAFETY: integer arguments on a descriptor of ours.
        check(unsafe { libc::flock(dir.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) })?;
        Ok(Self(dir))
    }
}

fn socket() -> io::Result<OwnedFd> {
    let kind = libc::SOCK_SEQPACKET | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
    // SAFETY: integer arguments; the descriptor that comes back is new and ours.
    Ok(unsafe { OwnedFd::from_raw_fd(check(libc::socket(libc::AF_UNIX, kind, 0))?) })
}

fn address(path: &Path) -> io::Result<(libc::sockaddr_un, libc::socklen_t)> {
    // SAFETY: all zeroes is a valid socket address.
    let mut address: libc::sockaddr_un = unsafe { zeroed() };
    address.sun_family = libc::AF_UNIX.try_into().unwrap_or(1);
    let bytes = path.as_os_str().as_bytes();
    if bytes.len() >= address.sun_path.len() {
        let what = format!("{} is too long for a socket: use a shorter name", path.display());
        return Err(io::Error::new(io::ErrorKind::InvalidInput, what));
    }
    for (to, from) in address.sun_path.iter_mut().zip(bytes) {
        *to = from.cast_signed();
    }
    Ok((address, libc::socklen_t::try_from(size_of::<libc::sockaddr_un>()).unwrap_or(0)))
}

/// Binds and listens; only this user can connect. The kernel refuses descriptors from a connecting process, where it
/// can.
pub(crate) fn listen(path: &Path) -> io::Result<OwnedFd> {
    let fd = socket()?;
    let (address, len) = address(path)?;
    // SAFETY: the address is valid for its length; descriptors are ours. The directory is 0700 already.
    unsafe {
        check(libc::bind(fd.as_raw_fd(), (&raw const address).cast(), len))?;
        check(libc::listen(fd.as_raw_fd(), 16))?;
    }
    refuse_descriptors(&fd);
    fs::set_permissions(path, fs::Permissions::from_mode(0o600))?;
    Ok(fd)
}

/// Connects to the listening process; `WouldBlock` if too many others wait for it.
pub(crate) fn connect(path: &Path) -> io::Result<Foreign> {
    let fd = socket()?;
    let (address, len) = address(path)?;
    // SAFETY: the address is valid for its length.
    check(unsafe { libc::connect(fd.as_raw_fd(), (&raw const address).cast(), len) })?;
    Ok(fd.into())
}

/// Accepts a connection that `poll` has announced.
pub(crate) fn accept(listener: &OwnedFd) -> io::Result<Foreign> {
    // SAFETY: null is allowed for the address; the descriptor that comes back is new and ours.
    let fd = unsafe {
        let flags = libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
        let fd = libc::accept4(listener.as_raw_fd(), std::ptr::null_mut(), std::ptr::null_mut(), flags);
        OwnedFd::from_raw_fd(check(fd)?)
    };
    refuse_descriptors(&fd);
    Ok(fd.into())
}

/// The user at the other side.
#[cfg(target_os = "linux")]
pub(crate) fn peer_user(fd: &Foreign) -> io::Result<u32> {
    credentials(fd).map(|credentials| credentials.uid)
}

/// The process at the other side, if the kernel knows it.
#[cfg(target_os = "linux")]
pub(crate) fn peer_process(fd: &Foreign) -> Option<i32> {
    credentials(fd).ok().map(|credentials| credentials.pid).filter(|pid| *pid > 0)
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn peer_process(_: &Foreign) -> Option<i32> {
    None
}

#[cfg(target_os = "linux")]
fn credentials(fd: &Foreign) -> io::Result<libc::ucred> {
    let mut cred = libc::ucred { pid: 0, uid: u32::MAX, gid: u32::MAX };
    let mut len = libc::socklen_t::try_from(size_of::<libc::ucred>()).unwrap_or(0);
    // SAFETY: the value is writable for its length.
    check(unsafe {
        let at = (&raw mut cred).cast();
        libc::getsockopt(fd.as_fd().as_raw_fd(), libc::SOL_SOCKET, libc::SO_PEERCRED, at, &raw mut len)
    })?;
    Ok(cred)
}

/// The user at the other side.
#[cfg(not(target_os = "linux"))]
pub(crate) fn peer_user(fd: &Foreign) -> io::Result<u32> {
    let (mut uid, mut gid) = (u32::MAX, u32::MAX);
    // SAFETY: both values are writable.
    check(unsafe { libc::getpeereid(fd.as_fd().as_raw_fd(), &raw mut uid, &raw mut gid) })?;
    Ok(uid)
}

/// Receives one message, waiting for it until a deadline at the most (`WouldBlock`); see [`receive`].
pub(crate) fn receive_until(socket: &Foreign, most: usize, end: Instant) -> io::Result<(Vec<u8>, Vec<Foreign>)> {
    loop {
        match receive(socket, most) {
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => {}
            done => return done,
        }
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        poll(&[Some(socket.as_fd())], Some(left));
    }
}

/// Waits until one of the descriptors can be read or is hung up; true for those.
pub(crate) fn poll(fds: &[Option<BorrowedFd<'_>>], patience: Option<Duration>) -> Vec<bool> {
    let raw = |fd: &Option<BorrowedFd<'_>>| fd.map_or(-1, |fd| fd.as_raw_fd());
    let entry = |fd| libc::pollfd { fd: raw(fd), events: libc::POLLIN, revents: 0 };
    let mut list: Vec<_> = fds.iter().map(entry).collect();
    // Rounded up, so that the wait does not end just before a deadline.
    let ms = patience.map_or(-1, |p| i32::try_from(p.as_micros().div_ceil(1000)).unwrap_or(i32::MAX));
    let n = libc::nfds_t::try_from(list.len()).unwrap_or(0);
    // SAFETY: n entries; negative descriptors are ignored by poll. An interrupted poll reports nothing.
    unsafe { libc::poll(list.as_mut_ptr(), n, ms) };
    list.iter().map(|entry| entry.revents != 0).collect()
}

/// Borrows a descriptor if there is one.
pub(crate) fn borrow<F: AsFd>(fd: Option<&F>) -> Option<BorrowedFd<'_>> {
    fd.map(AsFd::as_fd)
}

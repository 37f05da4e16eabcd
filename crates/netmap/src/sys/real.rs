//! The C library's own functions behind the entry points of this library: found once, before the program begins, because a
//! search takes locks and a signal handler or a child of vfork must not.

use std::ffi::{CStr, c_int, c_void};
use std::os::fd::BorrowedFd;
use std::sync::atomic::{AtomicPtr, Ordering::Relaxed};
use std::time::Duration;

/// A function of the C library, or of another library that is preloaded behind this one.
pub(crate) struct Real {
    name: &'static CStr,
    at: AtomicPtr<c_void>,
}

impl Real {
    const fn new(name: &'static CStr) -> Self {
        Self { name, at: AtomicPtr::new(std::ptr::null_mut()) }
    }

    /// Address of the function.
    pub(crate) fn get(&self) -> *mut c_void {
        let known = self.at.load(Relaxed);
        if known.is_null() { self.find() } else { known }
    }

    #[cold]
    fn find(&self) -> *mut c_void {
        // SAFETY: the name is a C string.
        let found = unsafe { libc::dlsym(libc::RTLD_NEXT, self.name.as_ptr()) };
        self.at.store(found, Relaxed);
        if found.is_null() {
            super::say::say(format_args!("the C library has no {}", self.name.to_string_lossy()));
            // SAFETY: no arguments; does not return.
            unsafe { libc::abort() }
        }
        found
    }
}

macro_rules! functions {
    ($($name:ident = $text:literal;)*) => {
        $(pub(crate) static $name: Real = Real::new($text);)*

        /// Finds all of them.
        pub(crate) fn begin() {
            $($name.get();)*
        }
    };
}

functions! {
    OPENAT = c"openat";
    CLOSE = c"close";
    DUP = c"dup";
    DUP3 = c"dup3";
    FCNTL = c"fcntl";
    IOCTL = c"ioctl";
    MMAP = c"mmap";
    POLL = c"poll";
    PPOLL = c"ppoll";
    EPOLL_CTL = c"epoll_ctl";
    EPOLL_WAIT = c"epoll_wait";
    EPOLL_PWAIT = c"epoll_pwait";
    SELECT = c"select";
    PSELECT = c"pselect";
}

/// Sleeps until one of these is ready, the time has passed or a signal is received, with this signal mask; the number of ready
/// ones, or errno.
pub(crate) fn ppoll(
    fds: &mut [libc::pollfd],
    timeout: Option<Duration>,
    mask: Option<&libc::sigset_t>,
) -> Result<usize, c_int> {
    type Ppoll =
        unsafe extern "C" fn(*mut libc::pollfd, libc::nfds_t, *const libc::timespec, *const libc::sigset_t) -> c_int;
    // The longest is what is left of a time that came as seconds with a sign.
    let time = timeout.map(|timeout| libc::timespec {
        tv_sec: timeout.as_secs().cast_signed(),
        tv_nsec: timeout.subsec_nanos().into(),
    });
    let time = time.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
    let mask = mask.map_or(std::ptr::null(), std::ptr::from_ref);
    // SAFETY: the C library's function of this type; entries, time and mask outlive the call or are null.
    let ready = unsafe {
        let ppoll = std::mem::transmute::<*mut c_void, Ppoll>(PPOLL.get());
        ppoll(fds.as_mut_ptr(), fds.len() as libc::nfds_t, time, mask)
    };
    usize::try_from(ready).map_err(|_| std::io::Error::last_os_error().raw_os_error().unwrap_or(libc::EINVAL))
}

/// Takes the events that an epoll descriptor has now; the number of them.
pub(crate) fn epoll_now(fd: c_int, told: &mut [libc::epoll_event]) -> usize {
    type Wait = unsafe extern "C" fn(c_int, *mut libc::epoll_event, c_int, c_int) -> c_int;
    let room = c_int::try_from(told.len()).unwrap_or(0);
    // SAFETY: the C library's function of this type, with room for so many events.
    let n = unsafe { std::mem::transmute::<*mut c_void, Wait>(EPOLL_WAIT.get())(fd, told.as_mut_ptr(), room, 0) };
    usize::try_from(n).unwrap_or(0)
}

/// Makes an event counter, the descriptor that the program gets for netmap's.
pub(crate) fn event(cloexec: bool) -> Result<c_int, c_int> {
    let flags = libc::EFD_NONBLOCK | if cloexec { libc::EFD_CLOEXEC } else { 0 };
    // SAFETY: no pointers.
    let fd = unsafe { libc::eventfd(0, flags) };
    if fd < 0 { Err(std::io::Error::last_os_error().raw_os_error().unwrap_or(libc::EMFILE)) } else { Ok(fd) }
}

/// Closes a descriptor.
pub(crate) fn close(fd: c_int) -> c_int {
    // SAFETY: the C library's own function of this type.
    unsafe { std::mem::transmute::<*mut c_void, unsafe extern "C" fn(c_int) -> c_int>(CLOSE.get())(fd) }
}

/// A descriptor that stays open as long as the process, or is none: then calls on it fail.
pub(crate) fn borrowed(fd: c_int) -> BorrowedFd<'static> {
    // SAFETY: not -1; whoever closes it in between closes what the library alone has.
    unsafe { BorrowedFd::borrow_raw(fd.max(0)) }
}

/// Number of the calling thread.
pub(crate) fn thread() -> u32 {
    // SAFETY: no arguments; never fails.
    unsafe { libc::gettid() }.cast_unsigned()
}

/// True for a descriptor that a library like this one may have given for netmap's in another process: an event counter.
pub(crate) fn is_event(fd: c_int) -> bool {
    let link = std::fs::read_link(format!("/proc/self/fd/{fd}"));
    link.is_ok_and(|link| link.as_os_str() == "anon_inode:[eventfd]")
}

/// Wakes all who sleep on such a descriptor.
pub(crate) fn ring(fd: c_int) {
    let one = 1u64.to_ne_bytes();
    // SAFETY: eight readable bytes.
    unsafe { libc::write(fd, one.as_ptr().cast(), one.len()) };
}

//! The C entry points: what is netmap's goes to the library, everything else to the C library, with nothing but a look at the
//! descriptor in between. Those of fortified programs (`__poll_chk`, `__open64_2`) and of large files (`fcntl64`, `mmap64`)
//! are the same functions under other names.
//!
//! Variadic functions are defined with the one argument that they may have: 64-bit Linux passes it as any other.
//!
//! Rust's standard library calls these, too, on descriptors of its own: they pass through without a lock.

use crate::facts::{MEMORY, ioctl};
use crate::members::Member;
use crate::select::{self, Sets};
use crate::sys::say::Once;
use crate::sys::{process, real};
use crate::{control, epoll, file, forks, heirs, table, tx, vale, wait};
use std::ffi::{CStr, c_char, c_int, c_long, c_uint, c_ulong, c_void};
use std::mem::transmute;
use std::time::Duration;

/// One function under several names.
macro_rules! entries {
    ($($name:ident)*: $arguments:tt -> $result:ty $body:block) => {
        $(
            /// # Safety
            /// As the C library's function of this name.
            #[unsafe(no_mangle)]
            unsafe extern "C" fn $name $arguments -> $result $body
        )*
    };
}

/// Runs before the program: everything is found and set up while there is one thread.
#[used]
#[unsafe(link_section = ".init_array")]
static BEGIN: extern "C" fn() = begin;

extern "C" fn begin() {
    real::begin();
    process::begin([forks::before, forks::after, forks::child]);
}

/// Runs when the program ends by exit(3).
#[used]
#[unsafe(link_section = ".fini_array")]
static END: extern "C" fn() = end;

extern "C" fn end() {
    heirs::succeed();
    file::drain(&file::all_tx());
    tx::tell_dropped();
    vale::tell_attached();
}

entries! { _exit _Exit: (status: c_int) -> ! {
    if !process::is_borrowed() {
        heirs::succeed();
    }
    process::end_now(status)
} }

/// As daemon(3), whose own end of the parent would pass by this library.
#[unsafe(no_mangle)]
extern "C" fn daemon(stays: c_int, speaks: c_int) -> c_int {
    // SAFETY: no arguments, or C strings and numbers.
    unsafe {
        match libc::fork() {
            -1 => return -1,
            0 => {}
            _ => _exit(0),
        }
        if libc::setsid() < 0 || stays == 0 && libc::chdir(c"/".as_ptr()) < 0 {
            return -1;
        }
    }
    if speaks == 0 && !process::no_streams() { -1 } else { 0 }
}

fn fail(errno: c_int) -> c_int {
    // SAFETY: the thread's own errno.
    unsafe { *libc::__errno_location() = errno };
    -1
}

fn answer(answer: Result<(), c_int>) -> c_int {
    answer.map_or_else(fail, |()| 0)
}

fn count(answer: Result<usize, c_int>) -> c_int {
    answer.map_or_else(fail, |n| c_int::try_from(n).unwrap_or_default())
}

// Opening.

type Openat = unsafe extern "C" fn(c_int, *const c_char, c_int, ...) -> c_int;

/// # Safety
/// As openat(2).
unsafe fn open_at(dir: c_int, path: *const c_char, flags: c_int, mode: c_uint) -> c_int {
    // SAFETY: the caller's path, a C string or null; the C library's own function of this type.
    unsafe {
        if !path.is_null() && CStr::from_ptr(path) == c"/dev/netmap" {
            return open_netmap(flags);
        }
        transmute::<*mut c_void, Openat>(real::OPENAT.get())(dir, path, flags, mode)
    }
}

fn open_netmap(flags: c_int) -> c_int {
    match real::event(flags & libc::O_CLOEXEC != 0) {
        Ok(fd) if table::fits(fd) && table::open(fd) => fd,
        Ok(fd) => {
            real::close(fd);
            fail(libc::EMFILE)
        }
        Err(errno) => fail(errno),
    }
}

entries! { open open64: (path: *const c_char, flags: c_int, mode: c_uint) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { open_at(libc::AT_FDCWD, path, flags, mode) }
} }

entries! { openat openat64: (dir: c_int, path: *const c_char, flags: c_int, mode: c_uint) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { open_at(dir, path, flags, mode) }
} }

entries! { __open_2 __open64_2: (path: *const c_char, flags: c_int) -> c_int {
    // SAFETY: the caller's promise; without O_CREAT there is no mode.
    unsafe { open_at(libc::AT_FDCWD, path, flags, 0) }
} }

entries! { __openat_2 __openat64_2: (dir: c_int, path: *const c_char, flags: c_int) -> c_int {
    // SAFETY: the caller's promise; without O_CREAT there is no mode.
    unsafe { open_at(dir, path, flags, 0) }
} }

// Closing and copying.

/// Forgets a descriptor while `end` closes it or gives its number to something else. A child of vfork closes its own, in its
/// parent's memory.
fn ending(fd: c_int, end: impl FnOnce() -> c_int) -> c_int {
    let netmaps = table::any() && table::is_known(fd) && !process::is_borrowed();
    if netmaps {
        table::close(fd);
    }
    let done = end();
    if netmaps {
        table::closed(fd);
    }
    done
}

#[unsafe(no_mangle)]
extern "C" fn close(fd: c_int) -> c_int {
    ending(fd, || real::close(fd))
}

#[unsafe(no_mangle)]
extern "C" fn close_range(first: c_uint, last: c_uint, flags: c_int) -> c_int {
    const CLOEXEC: c_int = 4;
    let number = |fd: c_uint| fd.min(c_int::MAX.unsigned_abs()).cast_signed();
    let netmaps = flags & CLOEXEC == 0 && table::any() && !process::is_borrowed();
    if netmaps {
        table::close_range(number(first), number(last), false);
    }
    // SAFETY: no pointers.
    let done =
        unsafe { libc::syscall(libc::SYS_close_range, c_long::from(first), c_long::from(last), c_long::from(flags)) };
    if netmaps {
        table::close_range(number(first), number(last), true);
    }
    c_int::try_from(done).unwrap_or(-1)
}

#[unsafe(no_mangle)]
extern "C" fn closefrom(first: c_int) {
    close_range(first.max(0).unsigned_abs(), c_uint::MAX, 0);
}

/// Copies a netmap descriptor: a new event counter, put at a number by `place`, so that a close wakes its own sleepers only.
fn copy_netmap(from: c_int, cloexec: bool, place: impl FnOnce(c_int) -> c_int) -> c_int {
    let event = match real::event(cloexec) {
        Ok(event) => event,
        Err(errno) => return fail(errno),
    };
    let to = place(event);
    if to != event {
        real::close(event);
    }
    if to >= 0 && !table::fits(to) {
        real::close(to);
        return fail(libc::EMFILE);
    }
    if to >= 0 {
        table::copy(from, to);
    }
    to
}

#[unsafe(no_mangle)]
extern "C" fn dup(fd: c_int) -> c_int {
    if table::any() && table::file(fd).is_some() {
        return copy_netmap(fd, false, |event| event);
    }
    // SAFETY: the C library's own function of this type.
    unsafe { transmute::<*mut c_void, unsafe extern "C" fn(c_int) -> c_int>(real::DUP.get())(fd) }
}

fn dup3_real(from: c_int, to: c_int, flags: c_int) -> c_int {
    // SAFETY: the C library's own function of this type.
    unsafe {
        transmute::<*mut c_void, unsafe extern "C" fn(c_int, c_int, c_int) -> c_int>(real::DUP3.get())(from, to, flags)
    }
}

#[unsafe(no_mangle)]
extern "C" fn dup3(from: c_int, to: c_int, flags: c_int) -> c_int {
    if from == to || !table::any() {
        return dup3_real(from, to, flags);
    }
    if table::file(from).is_some() {
        // A free number may be the very one that the new counter got.
        let place = |event| if event == to { to } else { ending(to, || dup3_real(event, to, flags)) };
        return copy_netmap(from, flags & libc::O_CLOEXEC != 0, place);
    }
    // A copy of what is no descriptor closes nothing.
    if fcntl_real(from, libc::F_GETFD, 0) < 0 { -1 } else { ending(to, || dup3_real(from, to, flags)) }
}

#[unsafe(no_mangle)]
extern "C" fn dup2(from: c_int, to: c_int) -> c_int {
    if from == to {
        // Of one descriptor nothing changes, and it must be one.
        return if fcntl_real(from, libc::F_GETFD, 0) < 0 { -1 } else { to };
    }
    dup3(from, to, 0)
}

fn fcntl_real(fd: c_int, command: c_int, argument: c_ulong) -> c_int {
    // SAFETY: the C library's own function of this type; the argument is the program's.
    unsafe {
        transmute::<*mut c_void, unsafe extern "C" fn(c_int, c_int, ...) -> c_int>(real::FCNTL.get())(
            fd, command, argument,
        )
    }
}

entries! { fcntl fcntl64: (fd: c_int, command: c_int, argument: c_ulong) -> c_int {
    if [libc::F_DUPFD, libc::F_DUPFD_CLOEXEC].contains(&command) && table::any() && table::file(fd).is_some() {
        let cloexec = command == libc::F_DUPFD_CLOEXEC;
        // The argument is an int; a negative one fits nothing.
        let fits = |event| c_ulong::try_from(event).is_ok_and(|event| event >= argument & 0xffff_ffff);
        return copy_netmap(
            fd,
            cloexec,
            |event| if fits(event) { event } else { fcntl_real(event, command, argument) },
        );
    }
    fcntl_real(fd, command, argument)
} }

// Requests and memory.

static PASSED: Once = Once::new();

#[unsafe(no_mangle)]
extern "C" fn ioctl(fd: c_int, request: c_ulong, argument: *mut c_void) -> c_int {
    match table::file(fd) {
        Some(file) => {
            // A handler that asked, too, would wait for the thread that it interrupted.
            let _blocked = process::Blocked::all();
            answer(control::call(file, request & 0xffff_ffff, argument.addr() as u64))
        }
        None if ioctl::is_netmaps(request) && real::is_event(fd) => {
            PASSED.say(format_args!(
                "descriptor {fd} is of another program's /dev/netmap, which exec and SCM_RIGHTS do not pass on (EOPNOTSUPP); open it here"
            ));
            fail(libc::EOPNOTSUPP)
        }
        // SAFETY: the C library's own function of this type; the argument is the program's.
        None => unsafe {
            transmute::<*mut c_void, unsafe extern "C" fn(c_int, c_ulong, ...) -> c_int>(real::IOCTL.get())(
                fd, request, argument,
            )
        },
    }
}

type Mmap = unsafe extern "C" fn(*mut c_void, usize, c_int, c_int, c_int, libc::off_t) -> *mut c_void;

entries! { mmap mmap64:
(at: *mut c_void, len: usize, prot: c_int, flags: c_int, fd: c_int, from: libc::off_t) -> *mut c_void {
    let mut file = fd;
    if flags & libc::MAP_ANONYMOUS == 0
        && let Some(netmap) = table::file(fd)
    {
        // Beyond its end an access would end the program.
        let inside = usize::try_from(from).is_ok_and(|from| len <= MEMORY.saturating_sub(from));
        file = if inside { netmap.memory() } else { -1 };
        if file < 0 {
            fail(libc::EINVAL);
            return libc::MAP_FAILED;
        }
    }
    // SAFETY: the caller's promise; the C library's own function of this type.
    unsafe { transmute::<*mut c_void, Mmap>(real::MMAP.get())(at, len, prot, flags, file, from) }
} }

// Waiting.

/// # Safety
/// As poll(2): null, or so many entries, that live longer than what is returned.
unsafe fn entries<'a>(fds: *mut libc::pollfd, n: libc::nfds_t) -> Option<&'a mut [libc::pollfd]> {
    if !table::any() || fds.is_null() {
        return None;
    }
    // SAFETY: the caller's promise.
    let entries = unsafe { std::slice::from_raw_parts_mut(fds, usize::try_from(n).ok()?) };
    entries.iter().any(|entry| table::file(entry.fd).is_some()).then_some(entries)
}

/// # Safety
/// As poll(2).
#[unsafe(no_mangle)]
unsafe extern "C" fn poll(fds: *mut libc::pollfd, n: libc::nfds_t, timeout: c_int) -> c_int {
    type Poll = unsafe extern "C" fn(*mut libc::pollfd, libc::nfds_t, c_int) -> c_int;
    // SAFETY: the caller's promise; the C library's own function of this type.
    unsafe {
        match entries(fds, n) {
            Some(entries) => count(wait::poll(entries, u64::try_from(timeout).ok().map(Duration::from_millis), None)),
            None => transmute::<*mut c_void, Poll>(real::POLL.get())(fds, n, timeout),
        }
    }
}

/// # Safety
/// As poll(2), and `bytes` lie behind `fds`.
#[unsafe(no_mangle)]
unsafe extern "C" fn __poll_chk(fds: *mut libc::pollfd, n: libc::nfds_t, timeout: c_int, bytes: usize) -> c_int {
    within(n, bytes);
    // SAFETY: the caller's promise.
    unsafe { poll(fds, n, timeout) }
}

/// Ends a fortified program whose entries reach beyond their array, as its C library would.
fn within(n: libc::nfds_t, bytes: usize) {
    if ((bytes / size_of::<libc::pollfd>()) as u64) < n {
        crate::sys::say::say(format_args!("poll of {n} entries in an array of {bytes} bytes"));
        // SAFETY: no arguments; does not return.
        unsafe { libc::abort() }
    }
}

/// A time, or none; None if it is no time.
///
/// # Safety
/// Null or readable.
unsafe fn span(time: *const libc::timespec) -> Option<Option<Duration>> {
    // SAFETY: the caller's promise.
    let Some(time) = (unsafe { time.as_ref() }) else { return Some(None) };
    let (seconds, nanos) = (u64::try_from(time.tv_sec).ok()?, u32::try_from(time.tv_nsec).ok()?);
    (nanos < 1_000_000_000).then(|| Some(Duration::new(seconds, nanos)))
}

/// # Safety
/// As ppoll(2).
#[unsafe(no_mangle)]
unsafe extern "C" fn ppoll(
    fds: *mut libc::pollfd,
    n: libc::nfds_t,
    time: *const libc::timespec,
    mask: *const libc::sigset_t,
) -> c_int {
    type Ppoll =
        unsafe extern "C" fn(*mut libc::pollfd, libc::nfds_t, *const libc::timespec, *const libc::sigset_t) -> c_int;
    // SAFETY: the caller's promise; the C library's own function of this type.
    unsafe {
        match (entries(fds, n), span(time)) {
            (Some(entries), Some(timeout)) => count(wait::poll(entries, timeout, mask.as_ref())),
            (Some(_), None) => fail(libc::EINVAL),
            (None, _) => transmute::<*mut c_void, Ppoll>(real::PPOLL.get())(fds, n, time, mask),
        }
    }
}

/// # Safety
/// As ppoll(2), and `bytes` lie behind `fds`.
#[unsafe(no_mangle)]
unsafe extern "C" fn __ppoll_chk(
    fds: *mut libc::pollfd,
    n: libc::nfds_t,
    time: *const libc::timespec,
    mask: *const libc::sigset_t,
    bytes: usize,
) -> c_int {
    within(n, bytes);
    // SAFETY: the caller's promise.
    unsafe { ppoll(fds, n, time, mask) }
}

/// # Safety
/// As epoll_ctl(2).
#[unsafe(no_mangle)]
unsafe extern "C" fn epoll_ctl(poller: c_int, operation: c_int, fd: c_int, event: *mut libc::epoll_event) -> c_int {
    type Control = unsafe extern "C" fn(c_int, c_int, c_int, *mut libc::epoll_event) -> c_int;
    // SAFETY: the C library's own function of this type; the event is the program's, or ours.
    let real =
        |event| unsafe { transmute::<*mut c_void, Control>(real::EPOLL_CTL.get())(poller, operation, fd, event) };
    let Some(file) = table::file(fd) else { return real(event) };
    // SAFETY: the caller's promise; a deletion has none.
    let given = unsafe { event.as_ref() }.filter(|_| operation != libc::EPOLL_CTL_DEL);
    let (mut none, (events, data)) =
        (libc::epoll_event { events: 0, u64: 0 }, given.map_or((0, 0), |given| (given.events, given.u64)));
    if given.is_none() && operation != libc::EPOLL_CTL_DEL {
        return fail(libc::EFAULT);
    }
    match real(&raw mut none) {
        0 => {}
        error => return error,
    }
    let Some(members) = table::epoll_of(poller) else { return fail(libc::ENOSPC) };
    answer(members.change(Member::new(fd, file.number(), events, data), epoll::is_open))
}

/// # Safety
/// `told` has room for `room` events, and the mask is null or readable.
unsafe fn epoll(
    poller: c_int,
    told: *mut libc::epoll_event,
    room: c_int,
    timeout: Option<Duration>,
    mask: *const libc::sigset_t,
) -> Option<c_int> {
    let members = table::epoll(poller).filter(|_| !told.is_null())?;
    let Some(room) = usize::try_from(room).ok().filter(|room| *room > 0) else { return Some(fail(libc::EINVAL)) };
    // SAFETY: the caller's promise.
    let (told, mask) = unsafe { (std::slice::from_raw_parts_mut(told, room), mask.as_ref()) };
    Some(count(epoll::wait(members, poller, told, timeout, mask)))
}

/// # Safety
/// As epoll_wait(2).
#[unsafe(no_mangle)]
unsafe extern "C" fn epoll_wait(poller: c_int, told: *mut libc::epoll_event, room: c_int, timeout: c_int) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { epoll_pwait(poller, told, room, timeout, std::ptr::null()) }
}

/// # Safety
/// As epoll_pwait(2).
#[unsafe(no_mangle)]
unsafe extern "C" fn epoll_pwait(
    poller: c_int,
    told: *mut libc::epoll_event,
    room: c_int,
    timeout: c_int,
    mask: *const libc::sigset_t,
) -> c_int {
    type Pwait = unsafe extern "C" fn(c_int, *mut libc::epoll_event, c_int, c_int, *const libc::sigset_t) -> c_int;
    let time = u64::try_from(timeout).ok().map(Duration::from_millis);
    // SAFETY: the caller's promise; the C library's own function of this type.
    unsafe {
        epoll(poller, told, room, time, mask).unwrap_or_else(|| {
            transmute::<*mut c_void, Pwait>(real::EPOLL_PWAIT.get())(poller, told, room, timeout, mask)
        })
    }
}

/// A system call where it is not netmap's: C libraries before glibc 2.35 have no such function.
///
/// # Safety
/// As epoll_pwait2(2).
#[unsafe(no_mangle)]
unsafe extern "C" fn epoll_pwait2(
    poller: c_int,
    told: *mut libc::epoll_event,
    room: c_int,
    time: *const libc::timespec,
    mask: *const libc::sigset_t,
) -> c_int {
    /// Bytes of the kernel's set of signals.
    const SET: c_long = 8;
    // SAFETY: the caller's promise.
    unsafe {
        let served = match span(time) {
            Some(timeout) => epoll(poller, told, room, timeout, mask),
            None => None,
        };
        served.unwrap_or_else(|| {
            let n =
                libc::syscall(libc::SYS_epoll_pwait2, c_long::from(poller), told, c_long::from(room), time, mask, SET);
            c_int::try_from(n).unwrap_or(-1)
        })
    }
}

/// Descriptors below `n` in three sets; None if none of netmap's is among them.
///
/// # Safety
/// Each is null or has room for `n` bits, rounded up to a word.
unsafe fn read_sets(n: c_int, sets: [*mut libc::fd_set; 3]) -> Option<Sets> {
    if !table::any() {
        return None;
    }
    let sets = sets.map(|set| {
        let words = set.cast::<c_ulong>();
        // SAFETY: the caller's promise.
        let has = |fd: &c_int| !words.is_null() && unsafe { *words.add(word(*fd)) } & bit(*fd) != 0;
        (0..n).filter(has).collect()
    });
    select::concerns(&sets).then_some(sets)
}

/// Index of a descriptor's word in a set.
fn word(fd: c_int) -> usize {
    usize::try_from(fd).unwrap_or(0) / c_ulong::BITS as usize
}

/// Bit of a descriptor in its word.
fn bit(fd: c_int) -> c_ulong {
    1 << (fd.unsigned_abs() % c_ulong::BITS)
}

/// # Safety
/// As [`read_sets`].
unsafe fn write_sets(n: c_int, to: [*mut libc::fd_set; 3], from: &Sets) {
    for (set, ready) in to.into_iter().zip(from) {
        let words = set.cast::<c_ulong>();
        if words.is_null() {
            continue;
        }
        // SAFETY: the caller's promise.
        (0..n).for_each(|fd| unsafe { *words.add(word(fd)) &= !bit(fd) });
        // SAFETY: as above; what is ready was in the set, below `n`.
        ready.iter().for_each(|fd| unsafe { *words.add(word(*fd)) |= bit(*fd) });
    }
}

/// # Safety
/// As select(2).
#[unsafe(no_mangle)]
unsafe extern "C" fn select(
    n: c_int,
    read: *mut libc::fd_set,
    write: *mut libc::fd_set,
    except: *mut libc::fd_set,
    time: *mut libc::timeval,
) -> c_int {
    type Select = unsafe extern "C" fn(
        c_int,
        *mut libc::fd_set,
        *mut libc::fd_set,
        *mut libc::fd_set,
        *mut libc::timeval,
    ) -> c_int;
    let to = [read, write, except];
    // SAFETY: the caller's promise; the C library's own function of this type.
    unsafe {
        let Some(mut sets) = read_sets(n, to) else {
            return transmute::<*mut c_void, Select>(real::SELECT.get())(n, read, write, except, time);
        };
        let timeout = match time.as_ref() {
            None => None,
            Some(time) => match (u64::try_from(time.tv_sec), u64::try_from(time.tv_usec)) {
                (Ok(seconds), Ok(micros)) => {
                    Some(Duration::from_secs(seconds).saturating_add(Duration::from_micros(micros)))
                }
                _ => return fail(libc::EINVAL),
            },
        };
        let ready = select::select(&mut sets, timeout, None);
        if ready.is_ok() {
            write_sets(n, to, &sets);
        }
        count(ready)
    }
}

/// # Safety
/// As pselect(2).
#[unsafe(no_mangle)]
unsafe extern "C" fn pselect(
    n: c_int,
    read: *mut libc::fd_set,
    write: *mut libc::fd_set,
    except: *mut libc::fd_set,
    time: *const libc::timespec,
    mask: *const libc::sigset_t,
) -> c_int {
    type Pselect = unsafe extern "C" fn(
        c_int,
        *mut libc::fd_set,
        *mut libc::fd_set,
        *mut libc::fd_set,
        *const libc::timespec,
        *const libc::sigset_t,
    ) -> c_int;
    let to = [read, write, except];
    // SAFETY: the caller's promise; the C library's own function of this type.
    unsafe {
        let Some(mut sets) = read_sets(n, to) else {
            return transmute::<*mut c_void, Pselect>(real::PSELECT.get())(n, read, write, except, time, mask);
        };
        let Some(timeout) = span(time) else { return fail(libc::EINVAL) };
        let ready = select::select(&mut sets, timeout, mask.as_ref());
        if ready.is_ok() {
            write_sets(n, to, &sets);
        }
        count(ready)
    }
}

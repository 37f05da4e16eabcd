//! State that a process has of its own: a child of fork begins without what its parent had, and takes no lock that a thread of its
//! parent held.

use std::sync::atomic::{AtomicBool, AtomicI32, AtomicPtr, AtomicU32, Ordering::*};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

/// Number of forks between the program's start and this process.
static FORKS: AtomicU32 = AtomicU32::new(0);
/// This process, as its descriptors know it. A child of vfork is another one, in the same memory.
static PROCESS: AtomicI32 = AtomicI32::new(0);

/// Number of forks between the program's start and this process: what carries another number is the parent's.
pub(crate) fn generation() -> u32 {
    FORKS.load(Relaxed)
}

/// True in a child of vfork, which lives in its parent's memory for a moment.
pub(crate) fn is_borrowed() -> bool {
    // SAFETY: no arguments; never fails.
    PROCESS.load(Relaxed) != unsafe { libc::getpid() }
}

/// True while the process makes its own successor: a child that has all that it has.
static SPLITS: AtomicBool = AtomicBool::new(false);
/// Steps before a fork, and behind it in the parent and in the child.
static HANDLERS: OnceLock<[extern "C" fn(); 3]> = OnceLock::new();

fn handle(which: usize) {
    if !SPLITS.load(Relaxed)
        && let Some(handlers) = HANDLERS.get()
    {
        handlers[which]();
    }
}

extern "C" fn before() {
    handle(0);
}

extern "C" fn after() {
    handle(1);
}

extern "C" fn forked() {
    // SAFETY: no arguments; never fails.
    PROCESS.store(unsafe { libc::getpid() }, Relaxed);
    if !SPLITS.load(Relaxed) {
        FORKS.fetch_add(1, Relaxed);
    }
    handle(2);
}

/// Makes a copy of the process that is no child as others are: what this one has is its own. True in the copy, which has this thread
/// alone, no terminal and no standard streams.
pub(crate) fn split() -> bool {
    SPLITS.store(true, Relaxed);
    // SAFETY: no arguments. The copy goes on in this thread, which holds what others could be amid.
    let copy = unsafe { libc::fork() == 0 };
    SPLITS.store(false, Relaxed);
    if copy {
        // SAFETY: no arguments.
        unsafe { libc::setsid() };
        no_streams();
    }
    copy
}

/// Has the standard streams lead nowhere; false if that cannot be.
pub(crate) fn no_streams() -> bool {
    // SAFETY: a C string and numbers.
    unsafe {
        let null = libc::open(c"/dev/null".as_ptr(), libc::O_RDWR);
        for fd in (0..3).filter(|_| null >= 0) {
            libc::dup2(null, fd);
        }
        if null > 2 {
            libc::close(null);
        }
        null >= 0
    }
}

/// Ends the process, with nothing done before.
pub(crate) fn end_now(status: libc::c_int) -> ! {
    loop {
        // SAFETY: a number; does not return.
        unsafe { libc::syscall(libc::SYS_exit_group, libc::c_long::from(status)) };
    }
}

/// Begins: to be called before the program does. The handlers are called before a fork, in the parent and in the child.
pub(crate) fn begin(handlers: [extern "C" fn(); 3]) {
    let _ = HANDLERS.set(handlers);
    // SAFETY: the handler in the child takes no lock that another thread may have had, and allocates nothing.
    unsafe {
        PROCESS.store(libc::getpid(), Relaxed);
        libc::pthread_atfork(Some(before), Some(after), Some(forked));
    }
    // One line, whatever panics and however the library was built: no panic crosses into the program.
    std::panic::set_hook(Box::new(|panic| {
        super::say::say(format_args!("a fault of the library itself: {panic}"));
        // SAFETY: no arguments; does not return.
        unsafe { libc::abort() }
    }));
}

/// A value that each process makes for itself when it is first wanted, and keeps for good.
pub(crate) struct PerProcess<T> {
    at: AtomicPtr<(u32, T)>,
}

impl<T: Send + Sync> PerProcess<T> {
    pub(crate) const fn new() -> Self {
        Self { at: AtomicPtr::new(std::ptr::null_mut()) }
    }

    /// The process's value, if it was wanted before.
    pub(crate) fn known(&'static self) -> Option<&'static T> {
        // SAFETY: what is stored here was leaked and lives for good.
        let (generation, value) = unsafe { self.at.load(Acquire).as_ref() }?;
        (*generation == self::generation()).then_some(value)
    }

    /// The process's value.
    pub(crate) fn get<E>(&'static self, make: impl FnOnce() -> Result<T, E>) -> Result<&'static T, E> {
        let was = self.at.load(Acquire);
        if let Some(value) = self.known() {
            return Ok(value);
        }
        // Release: who finds it by the Acquire in `known` sees it whole.
        let new = Box::into_raw(Box::new((self::generation(), make()?)));
        let kept = match self.at.compare_exchange(was, new, AcqRel, Acquire) {
            Ok(_) => new,
            Err(first) => {
                // SAFETY: made above, and seen by nobody.
                drop(unsafe { Box::from_raw(new) });
                first
            }
        };
        // SAFETY: leaked above, or by the thread that came first.
        Ok(unsafe { &(*kept).1 })
    }
}

/// Signals that were blocked for a while; those that were not, are not again when this is dropped.
pub(crate) struct Blocked(pub(crate) libc::sigset_t);

impl Blocked {
    /// Blocks all signals of this thread: for threads that it makes, which shall get none of the program's, and for a wait
    /// that has to notice each.
    pub(crate) fn all() -> Self {
        // SAFETY: both sets are ours, the first is filled before it is read.
        unsafe {
            let (mut all, mut was) = (std::mem::zeroed(), std::mem::zeroed());
            libc::sigfillset(&raw mut all);
            libc::pthread_sigmask(libc::SIG_SETMASK, &raw const all, &raw mut was);
            Self(was)
        }
    }
}

/// Makes what has threads of its own, which shall get none of the program's signals.
pub(crate) fn quietly<T>(make: impl FnOnce() -> T) -> T {
    let _blocked = Blocked::all();
    make()
}

/// Has this thread run on these processors alone, or on all that there are if none is named; EINVAL if there are no such.
pub(crate) fn run_on(cpus: &[u32]) -> Result<(), libc::c_int> {
    // SAFETY: a set of bits, valid when all are 0.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    let most = libc::CPU_SETSIZE.unsigned_abs();
    let all = if cpus.is_empty() { (0..most).collect() } else { cpus.to_vec() };
    for cpu in all {
        if cpu >= most {
            return Err(libc::EINVAL);
        }
        // SAFETY: the bit is inside the set, as was checked.
        unsafe { libc::CPU_SET(cpu as usize, &mut set) };
    }
    // SAFETY: the set is ours, of the size that is told; 0 is the calling thread.
    let done = unsafe { libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &raw const set) };
    if done == 0 { Ok(()) } else { Err(std::io::Error::last_os_error().raw_os_error().unwrap_or(libc::EINVAL)) }
}

impl Drop for Blocked {
    fn drop(&mut self) {
        // SAFETY: the set that was in force before.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &raw const self.0, std::ptr::null_mut()) };
    }
}

/// Locks. A panic ends the process, so what a lock guards is whole.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

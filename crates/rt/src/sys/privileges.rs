//! Capabilities, which Linux keeps for each thread.
//!
//! A thread can change only its own capabilities, so all others are sent a signal, in whose handler they give them up.
//! Success is checked in `/proc`.

use super::signal;
use std::collections::HashSet;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering::Acquire, Ordering::Release};
use std::time::{Duration, Instant};

/// Time limit for all threads.
const PATIENCE: Duration = Duration::from_secs(2);
/// `_LINUX_CAPABILITY_VERSION_3` of linux/capability.h.
const VERSION: u32 = 0x2008_0522;

#[repr(C)]
struct Header {
    version: u32,
    pid: libc::c_int,
}

/// 32 of the 64 capability bits.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Half {
    effective: u32,
    permitted: u32,
    inheritable: u32,
}

/// Capabilities that the handler keeps, one bit for each. Written before any signal is sent (its Release pairs with the
/// handler's Acquire).
static KEEP: AtomicU64 = AtomicU64::new(u64::MAX);

/// Gives up all capabilities but those whose bits are set, in all threads.
pub(crate) fn give_up(keep: u64) -> io::Result<()> {
    KEEP.store(keep, Release);
    give_up_here(keep)?;
    let number = libc::SIGRTMAX();
    signal::catch(&[number], true, on_signal)?;
    let until = Instant::now() + PATIENCE;
    // Threads started meanwhile by others may have inherited capabilities.
    let mut told = HashSet::new();
    loop {
        let open: Vec<libc::pid_t> = threads()?.into_iter().filter(|thread| has_more(*thread, keep)).collect();
        if open.is_empty() {
            return Ok(());
        }
        if Instant::now() > until {
            return Err(io::Error::new(io::ErrorKind::TimedOut, "a thread keeps its capabilities"));
        }
        for thread in open.into_iter().filter(|thread| told.insert(*thread)) {
            // SAFETY: the call takes any numbers and no memory. A thread that has ended meanwhile is no trouble.
            unsafe { libc::syscall(libc::SYS_tgkill, libc::getpid(), thread, number) };
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// In a signal handler: atomics and system calls only, and errno as it was.
extern "C" fn on_signal(_: libc::c_int) {
    // The sender of the signal checks the result.
    signal::keeping_errno(|| drop(give_up_here(KEEP.load(Acquire))));
}

/// Gives up the capabilities of the calling thread. Safe in a signal handler.
fn give_up_here(keep: u64) -> io::Result<()> {
    let mut header = Header { version: VERSION, pid: 0 };
    let mut halves = [Half::default(); 2];
    let done = |result: libc::c_long| if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) };
    // SAFETY: the call takes numbers only.
    done(unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) }.into())?;
    // SAFETY: version 3 writes two halves, and the header if it is another version.
    done(unsafe { libc::syscall(libc::SYS_capget, &raw mut header, halves.as_mut_ptr()) })?;
    for (half, keep) in halves.iter_mut().zip([keep & 0xffff_ffff, keep >> 32]) {
        let keep = u32::try_from(keep).unwrap_or(0);
        *half = Half { effective: half.effective & keep, permitted: half.permitted & keep, inheritable: 0 };
    }
    // SAFETY: version 3 reads two halves.
    done(unsafe { libc::syscall(libc::SYS_capset, &raw const header, halves.as_ptr()) })
}

fn threads() -> io::Result<Vec<libc::pid_t>> {
    let entries = std::fs::read_dir("/proc/self/task")?;
    entries.map(|entry| Ok(entry?.file_name().to_string_lossy().parse().unwrap_or(0))).collect()
}

/// True if a thread has, or could regain, capabilities that are not to be kept.
fn has_more(thread: libc::pid_t, keep: u64) -> bool {
    let status = match std::fs::read_to_string(format!("/proc/self/task/{thread}/status")) {
        Ok(status) => status,
        // A thread that has ended has none; a thread whose status cannot be read may have some.
        Err(e) => return !(e.kind() == io::ErrorKind::NotFound || e.raw_os_error() == Some(libc::ESRCH)),
    };
    let field = |name: &str| status.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
    // io_uring's kernel threads take no signals and run no code of ours.
    if field("Name:").is_some_and(|name| name.starts_with("iou-")) {
        return false;
    }
    let permitted = field("CapPrm:").and_then(|caps| u64::from_str_radix(caps, 16).ok());
    permitted.is_none_or(|caps| caps & !keep != 0) || field("NoNewPrivs:") != Some("1")
}

//! Threads with names and places.

use crate::sys::affinity;
use std::io;
use std::thread::{Builder, JoinHandle};

/// The processors that this program may use, by number (`sched_getaffinity`); never empty.
#[must_use]
pub fn cpus() -> Vec<usize> {
    affinity::allowed().ok().filter(|cpus| !cpus.is_empty()).unwrap_or_else(|| vec![0])
}

/// Keeps the calling thread on these processors.
///
/// # Errors
/// The kernel's, when none of them can be used.
pub fn pin(cpus: &[usize]) -> io::Result<()> {
    affinity::restrict(cpus)
}

/// Starts a thread on these processors, or on any when none is named. The name is cut to what the kernel keeps.
///
/// # Errors
/// The kernel's, when there can be no more threads or none of the processors can be used.
pub fn spawn<T, F>(name: &str, on: &[usize], body: F) -> io::Result<JoinHandle<T>>
where
    T: Send + 'static,
    F: FnOnce() -> T + Send + 'static,
{
    let name: String = name.chars().filter(|c| *c != '\0').take(15).collect();
    let builder = Builder::new().name(name);
    if on.is_empty() {
        return builder.spawn(body);
    }
    // A thread begins where the one that starts it may run.
    let before = cpus();
    pin(on)?;
    let thread = builder.spawn(body);
    pin(&before)?;
    thread
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_runs_where_it_was_told() {
        let before = cpus();
        let last = *before.last().unwrap();
        let thread = spawn("a name that is much too long", &[last], || {
            (cpus(), std::thread::current().name().map(str::to_owned))
        });
        let (on, name) = thread.unwrap().join().unwrap();
        assert_eq!(on, [last]);
        assert_eq!(name.as_deref(), Some("a name that is "));
        assert_eq!(cpus(), before, "the starter stays where it was");
        assert!(spawn("x", &[4095], || ()).is_err(), "no such processor");
    }
}

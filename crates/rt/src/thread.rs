//! Threads with names and CPU affinity.

use crate::sys::affinity;
use std::io;
use std::thread::{Builder, JoinHandle};

/// CPUs that this program may use, by number (`sched_getaffinity`); never empty.
#[must_use]
pub fn cpus() -> Vec<usize> {
    affinity::allowed().ok().filter(|cpus| !cpus.is_empty()).unwrap_or_else(|| vec![0])
}

/// Pins the calling thread to these CPUs.
///
/// # Errors
/// Errors of the kernel, if none of them can be used.
pub fn pin(cpus: &[usize]) -> io::Result<()> {
    affinity::restrict(cpus)
}

/// Starts a thread on these CPUs, or on any if the list is empty. The name is truncated to the kernel's limit.
///
/// # Errors
/// Errors of the kernel, if there can be no more threads or none of the CPUs can be used.
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
    // A new thread inherits the affinity of the thread that starts it.
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

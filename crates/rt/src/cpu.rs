//! CPU time of a thread, of the process, and of each core.

use crate::sys::usage;
use std::time::Duration;

/// CPU time that a thread, or all threads of a process, have used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ThreadTime {
    /// Time in user mode.
    pub user: Duration,
    /// Time in the kernel, on behalf of the thread.
    pub system: Duration,
}

impl ThreadTime {
    #[must_use]
    pub fn of_this_thread() -> Self {
        let (user, system) = usage::of_this_thread();
        Self { user, system }
    }

    /// Time of all threads of this process, and of its children that were waited for.
    #[must_use]
    pub fn of_this_process() -> Self {
        let (user, system) = usage::of_this_process();
        Self { user, system }
    }

    #[must_use]
    pub fn since(self, earlier: Self) -> Self {
        Self { user: self.user.saturating_sub(earlier.user), system: self.system.saturating_sub(earlier.system) }
    }
}

/// Time for which the calling thread was ready to run and had no processor, since it began (`/proc/PID/schedstat`); None
/// where the kernel does not count it.
#[must_use]
pub fn run_delay() -> Option<Duration> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split_ascii_whitespace().nth(1)?.parse().ok().map(Duration::from_nanos)
}

/// Use of one core's time since the system's start (`/proc/stat`, see proc(5)).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CoreTime {
    pub core: u32,
    /// Time in user mode, nice included.
    pub user: Duration,
    pub system: Duration,
    /// Idle time, waiting for I/O included.
    pub idle: Duration,
    pub irq: Duration,
    /// Time in soft interrupts, such as the kernel's receive path.
    pub softirq: Duration,
    /// Time taken by the host of this virtual machine.
    pub steal: Duration,
}

impl CoreTime {
    #[must_use]
    pub fn since(self, earlier: Self) -> Self {
        Self {
            core: self.core,
            user: self.user.saturating_sub(earlier.user),
            system: self.system.saturating_sub(earlier.system),
            idle: self.idle.saturating_sub(earlier.idle),
            irq: self.irq.saturating_sub(earlier.irq),
            softirq: self.softirq.saturating_sub(earlier.softirq),
            steal: self.steal.saturating_sub(earlier.steal),
        }
    }
}

/// Ticks of one core since the system's start (`/proc/stat`, see proc(5)): user, nice, system, idle, waiting for I/O, interrupts,
/// soft interrupts, stolen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CoreTicks {
    pub core: u32,
    pub ticks: [u64; 8],
}

/// Ticks of all cores, in the kernel's order; empty if there is no `/proc/stat`.
#[must_use]
pub fn core_ticks() -> Vec<CoreTicks> {
    parse(&std::fs::read_to_string("/proc/stat").unwrap_or_default())
}

/// Times of all cores, in the kernel's order; empty if there is no `/proc/stat`.
#[must_use]
pub fn core_times() -> Vec<CoreTime> {
    let hz = usage::ticks_per_second();
    core_ticks().into_iter().map(|core| core.times(hz)).collect()
}

impl CoreTicks {
    fn times(self, hz: u64) -> CoreTime {
        let time = |ticks: u64| Duration::from_millis(ticks * 1000 / hz);
        let [user, nice, system, idle, iowait, irq, softirq, steal] = self.ticks.map(time);
        CoreTime { core: self.core, user: user + nice, system, idle: idle + iowait, irq, softirq, steal }
    }
}

fn parse(text: &str) -> Vec<CoreTicks> {
    let line = |line: &str| -> Option<CoreTicks> {
        // The first line, which sums all cores, has a space where the others have the core's number.
        let rest = line.strip_prefix("cpu").filter(|rest| !rest.starts_with(' '))?;
        let mut words = rest.split_ascii_whitespace();
        let core = words.next()?.parse().ok()?;
        let ticks: Vec<u64> = words.map_while(|word| word.parse().ok()).collect();
        Some(CoreTicks { core, ticks: *ticks.first_chunk()? })
    };
    text.lines().filter_map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_cores_line_is_read_and_the_sum_is_not() {
        let text = "cpu  9 9 9 9 9 9 9 9 0 0\ncpu0 100 1 20 500 3 4 50 6 0 0\ncpu11 1 2 3 4 5 6 7 8 9 10\nintr 1\n";
        let cores: Vec<CoreTime> = parse(text).into_iter().map(|core| core.times(100)).collect();
        assert_eq!(cores.len(), 2);
        assert_eq!((cores[0].core, cores[1].core), (0, 11));
        assert_eq!(cores[0].user, Duration::from_millis(1010));
        assert_eq!((cores[0].softirq, cores[0].steal), (Duration::from_millis(500), Duration::from_millis(60)));
        assert_eq!(cores[1].idle, Duration::from_millis(90));
        assert!(parse("cpu0 1 2 3\ncpu1 x\n").is_empty(), "a line cut short is no core");
    }

    #[test]
    fn a_busy_thread_is_charged() {
        let start = ThreadTime::of_this_thread();
        let mut x = 1u64;
        // Bounded by work, not by time.
        for i in 0..200_000_000u64 {
            x = std::hint::black_box(x.wrapping_mul(i | 1));
            if i % 1_000_000 == 0 && ThreadTime::of_this_thread().since(start).user > Duration::ZERO {
                return;
            }
        }
        panic!("no user time after 2e8 multiplications ({x})");
    }
}

//! Processor time: of a thread, and of each core.

use crate::sys::usage;
use std::time::Duration;

/// Processor time that a thread has used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ThreadTime {
    /// In user mode.
    pub user: Duration,
    /// In the kernel, on the thread's behalf.
    pub system: Duration,
}

impl ThreadTime {
    /// Of the calling thread, so far.
    #[must_use]
    pub fn of_this_thread() -> Self {
        let (user, system) = usage::of_this_thread();
        Self { user, system }
    }

    /// What was used since an earlier reading.
    #[must_use]
    pub fn since(self, earlier: Self) -> Self {
        Self { user: self.user.saturating_sub(earlier.user), system: self.system.saturating_sub(earlier.system) }
    }
}

/// How one core has spent its time since it was started (`/proc/stat`, see proc(5)).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CoreTime {
    /// The core's number.
    pub core: u32,
    /// In user mode, nice included.
    pub user: Duration,
    /// In the kernel.
    pub system: Duration,
    /// Doing nothing, waiting for I/O included.
    pub idle: Duration,
    /// In interrupts.
    pub irq: Duration,
    /// In soft interrupts: the kernel's receive path.
    pub softirq: Duration,
    /// Taken by the host of this virtual machine.
    pub steal: Duration,
}

impl CoreTime {
    /// What was spent since an earlier reading.
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

/// All cores, in the kernel's order; empty where there is no `/proc/stat`.
#[must_use]
pub fn core_times() -> Vec<CoreTime> {
    let text = std::fs::read_to_string("/proc/stat").unwrap_or_default();
    parse(&text, usage::ticks_per_second())
}

fn parse(text: &str, hz: u64) -> Vec<CoreTime> {
    let line = |line: &str| -> Option<CoreTime> {
        // The first line, which sums all cores, has a space where the others have their number.
        let rest = line.strip_prefix("cpu").filter(|rest| !rest.starts_with(' '))?;
        let mut words = rest.split_ascii_whitespace();
        let core = words.next()?.parse().ok()?;
        let spent: Vec<Duration> =
            words.map_while(|w| w.parse::<u64>().ok()).map(|t| Duration::from_millis(t * 1000 / hz)).collect();
        let [user, nice, system, idle, iowait, irq, softirq, steal, ..] = spent[..] else { return None };
        Some(CoreTime { core, user: user + nice, system, idle: idle + iowait, irq, softirq, steal })
    };
    text.lines().filter_map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_cores_line_is_read_and_the_sum_is_not() {
        let text = "cpu  9 9 9 9 9 9 9 9 0 0\ncpu0 100 1 20 500 3 4 50 6 0 0\ncpu11 1 2 3 4 5 6 7 8 9 10\nintr 1\n";
        let cores = parse(text, 100);
        assert_eq!(cores.len(), 2);
        assert_eq!((cores[0].core, cores[1].core), (0, 11));
        assert_eq!(cores[0].user, Duration::from_millis(1010));
        assert_eq!((cores[0].softirq, cores[0].steal), (Duration::from_millis(500), Duration::from_millis(60)));
        assert_eq!(cores[1].idle, Duration::from_millis(90));
        assert!(parse("cpu0 1 2 3\ncpu1 x\n", 100).is_empty(), "a line cut short is no core");
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

//! Use of all processors of the system, from `/proc/stat`, as netperf counts it: all time that is not idle, waiting for
//! disks included, in per cent of each processor, and the mean of all. What guests used counts once, as the user's.
//!
//! Two ends in one process are told apart by the time of their threads instead.

use crate::socket::Site;
use linerate_rt::{CoreTicks, ThreadTime, core_ticks, monotonic_ns};
use linerate_text::cut;
use std::time::Duration;

/// Way of measuring, in messages and in reports.
pub(super) const METHOD: u32 = 8;

/// Letter of a way of measuring.
pub(super) fn letter(method: u32) -> char {
    // netperf's letters for the methods 0 to 12.
    "UIPTLRNKSCEMO".chars().nth(cut(method, usize::MAX)).unwrap_or('?')
}

/// Processor time that an end's figures are of.
#[derive(Clone)]
pub(super) enum Meter {
    Off,
    /// That of all the system's processors.
    System,
    /// That of the thread that reads it, which moves the data, and of the threads of a host of our own; in per cent of one
    /// processor.
    Threads(Site),
}

/// Time, and what a meter says, at one moment.
#[derive(Clone, Debug)]
pub(super) struct Reading {
    /// CLOCK_MONOTONIC, ns.
    at: u64,
    used: Used,
}

/// Time used since the beginning.
#[derive(Clone, Debug)]
enum Used {
    Unknown,
    /// Ticks of each processor.
    Cores(Vec<CoreTicks>),
    Threads(ThreadTime),
}

/// Use of the processors between two readings, per cent.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Cpu {
    /// All that is not idle.
    pub all: f64,
    pub user: f64,
    pub system: f64,
    /// Waiting for disks.
    pub waiting: f64,
    pub interrupts: f64,
    /// Soft interrupts, as the kernel's receive path.
    pub soft: f64,
    /// Use of the busiest processor.
    pub peak: f64,
    pub peak_id: i32,
    /// Number of processors.
    pub count: u32,
    pub method: u32,
}

impl Meter {
    /// That of an end, if it is wanted: of the system's processors, or of threads.
    pub(super) fn of(wanted: bool, threads: bool, site: &Site) -> Self {
        match (wanted, threads) {
            (false, _) => Self::Off,
            (true, false) => Self::System,
            (true, true) => Self::Threads(site.clone()),
        }
    }

    /// True if any thread may read it.
    pub(super) fn is_system(&self) -> bool {
        matches!(self, Self::System)
    }
}

impl Reading {
    /// Reads the clock, and a meter.
    pub(super) fn now(meter: &Meter) -> Self {
        let used = match meter {
            Meter::Off => Used::Unknown,
            Meter::System => Used::Cores(core_ticks()),
            Meter::Threads(site) => Used::Threads(site.spent_with_this_thread()),
        };
        Self { at: monotonic_ns(), used }
    }

    /// The same at an earlier moment, as far as that was read. Threads that waited since then have used nothing.
    pub(super) fn back_at(self, earlier: Self) -> Self {
        match earlier.used {
            Used::Unknown => Self { at: earlier.at, ..self },
            _ => earlier,
        }
    }

    pub(super) fn seconds_since(&self, earlier: &Self) -> f64 {
        self.at.saturating_sub(earlier.at) as f64 / 1e9
    }

    /// Use of the processors since an earlier reading; `None` if nothing was read.
    pub(super) fn since(&self, earlier: &Self) -> Option<Cpu> {
        match (&self.used, &earlier.used) {
            (Used::Cores(now), Used::Cores(before)) => between(before, now),
            (Used::Threads(now), Used::Threads(before)) => {
                let (spent, ns) = (now.since(*before), self.at.saturating_sub(earlier.at).max(1));
                let percent = |time: Duration| 100.0 * time.as_secs_f64() / (ns as f64 / 1e9);
                let (user, system) = (percent(spent.user), percent(spent.system));
                Some(Cpu { all: user + system, user, system, peak_id: -1, count: 1, ..Cpu::default() })
            }
            _ => None,
        }
    }
}

/// Use of the processors between two readings of their ticks.
fn between(before: &[CoreTicks], now: &[CoreTicks]) -> Option<Cpu> {
    let mut cpu = Cpu { method: METHOD, peak_id: -1, ..Cpu::default() };
    for core in now {
        let Some(before) = before.iter().find(|before| before.core == core.core) else { continue };
        let spent: [u64; 8] = std::array::from_fn(|at| core.ticks[at].saturating_sub(before.ticks[at]));
        cpu.count += 1;
        let total: u64 = spent.iter().sum();
        if total == 0 {
            continue;
        }
        let percent = |ticks: u64| 100.0 * ticks as f64 / total as f64;
        let used = 100.0 - percent(spent[3]);
        cpu.all += used;
        cpu.user += percent(spent[0]);
        cpu.system += percent(spent[2]);
        cpu.waiting += percent(spent[4]);
        cpu.interrupts += percent(spent[5]);
        cpu.soft += percent(spent[6]);
        if used > cpu.peak {
            (cpu.peak, cpu.peak_id) = (used, cut(core.core, i32::MAX));
        }
    }
    let n = f64::from(cpu.count);
    for sum in [&mut cpu.all, &mut cpu.user, &mut cpu.system, &mut cpu.waiting, &mut cpu.interrupts, &mut cpu.soft] {
        *sum /= n.max(1.0);
    }
    (cpu.count > 0).then_some(cpu)
}

/// Time of the processors for one unit of work, microseconds: all processors' use, over what was moved in a second.
pub(super) fn service_demand(cpu: f64, cpus: u32, units: f64, seconds: f64) -> f64 {
    let rate = units / seconds;
    if rate > 0.0 { cpu * 10_000.0 / rate * f64::from(cpus) } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::socket::Place;

    #[test]
    fn use_is_what_is_not_idle_and_the_mean_of_all() {
        let at = |at, ticks: &[[u64; 8]]| {
            let cores = (0..).zip(ticks).map(|(core, ticks)| CoreTicks { core, ticks: *ticks });
            Reading { at, used: Used::Cores(cores.collect()) }
        };
        let before = at(0, &[[100, 0, 0, 100, 0, 0, 0, 0], [0; 8]]);
        let after = at(2_000_000_000, &[[130, 0, 20, 140, 10, 0, 0, 0], [0, 0, 50, 25, 0, 0, 25, 0]]);
        let cpu = after.since(&before).unwrap();
        assert_eq!((cpu.count, cpu.peak, cpu.peak_id), (2, 75.0, 1));
        assert_eq!((cpu.all, cpu.user, cpu.system, cpu.waiting, cpu.soft), (67.5, 15.0, 35.0, 5.0, 12.5));
        assert_eq!(after.seconds_since(&before), 2.0);
        assert_eq!(at(1, &[]).since(&before), None);
    }

    #[test]
    fn threads_are_read_at_their_own_time_and_processors_when_they_were_due() {
        let time = |ms| ThreadTime { user: Duration::from_millis(ms), system: Duration::from_millis(ms / 2) };
        let threads = |at, ms| Reading { at, used: Used::Threads(time(ms)) };
        let due = Reading { at: 2_000_000_000, used: Used::Unknown };
        let after = threads(3_000_000_000, 1200).back_at(due);
        let cpu = after.since(&threads(0, 200)).unwrap();
        assert_eq!((cpu.user, cpu.system, cpu.all, cpu.count), (50.0, 25.0, 75.0, 1));
        let cores = Reading { at: 5, used: Used::Cores(Vec::new()) };
        let earlier = threads(1, 1).back_at(cores);
        assert!(earlier.at == 5 && matches!(earlier.used, Used::Cores(_)));
    }

    #[test]
    fn time_of_other_threads_is_not_an_ends() {
        let place = Place { port: 0, bind: None, device: None, family: None };
        let meter = Meter::Threads(Site::open(&place, None).unwrap());
        let spin = || {
            let begin = ThreadTime::of_this_thread();
            while ThreadTime::of_this_thread().since(begin).user < Duration::from_millis(100) {}
        };
        let percent = |run: &dyn Fn()| {
            let before = Reading::now(&meter);
            run();
            Reading::now(&meter).since(&before).unwrap().all * Reading::now(&meter).seconds_since(&before)
        };
        // In per cent times seconds: a tenth of a second is ten.
        let (others, own) = (percent(&|| std::thread::spawn(spin).join().unwrap()), percent(&spin));
        assert!(others < 5.0 && own >= 10.0, "{others} {own}");
    }

    #[test]
    fn the_demand_is_processor_time_for_a_unit() {
        // Half of two processors, for 1000 KB in a second: 1000 us for each.
        assert_eq!(service_demand(50.0, 2, 1000.0, 1.0), 1000.0);
        assert_eq!(service_demand(50.0, 2, 0.0, 1.0), 0.0);
    }

    #[test]
    fn this_system_has_processors() {
        let before = Reading::now(&Meter::System);
        std::thread::sleep(std::time::Duration::from_millis(50));
        let cpu = Reading::now(&Meter::System).since(&before).unwrap();
        assert!(cpu.count > 0 && (0.0..=100.0).contains(&cpu.all), "{cpu:?}");
        assert!(Reading::now(&Meter::Off).since(&before).is_none());
    }

    #[test]
    fn methods_have_letters() {
        assert_eq!((letter(0), letter(METHOD), letter(99)), ('U', 'S', '?'));
    }
}

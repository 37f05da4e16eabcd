//! Validity of measurements, for all that measure: other programs, a hypervisor's other guests, processors that heat slowed
//! down, TCP's segments that were sent again. They are told with the figures, or the figures do not count.

use linerate_result::{PortUsed, Test};
use linerate_rt::{CoreTime, ThreadTime, core_times, monotonic_ns};
use std::fs::{read_dir, read_to_string};
use std::path::Path;
use std::time::Duration;

/// Greatest share of a core that others may take.
const SHARE: f64 = 0.1;
/// Time that the accounting may be wrong by: most kernels look once a tick who runs.
const UNSURE: Duration = Duration::from_millis(60);

/// Greatest time that others may take of so long a measurement.
pub(crate) fn allowed(elapsed: Duration) -> Duration {
    elapsed.mul_f64(SHARE) + UNSURE
}

/// State of the machine at the beginning of a measurement.
pub struct Validity {
    began: u64,
    cores: Vec<CoreTime>,
    own: ThreadTime,
    throttled: u64,
    sent_again: Option<u64>,
}

/// Disturbances of a measurement.
#[derive(Debug, Default)]
pub struct Found {
    /// Reason why the measurement does not count, if there is one.
    pub invalid: Option<String>,
    /// Disturbances that leave it valid, a line each.
    pub warnings: Vec<String>,
}

impl Validity {
    #[must_use]
    pub fn begin() -> Self {
        let (began, cores, own) = (monotonic_ns(), core_times(), ThreadTime::of_this_process());
        Self { began, cores, own, throttled: throttled(), sent_again: namespace_again() }
    }

    /// Compares with the state at the end.
    #[must_use]
    pub fn end(self) -> Found {
        let elapsed = Duration::from_nanos(monotonic_ns() - self.began);
        let own = ThreadTime::of_this_process().since(self.own);
        let cores = core_times().into_iter().zip(self.cores);
        let spent: Vec<CoreTime> = cores.map(|(now, before)| now.since(before)).collect();
        let mut warnings = Vec::new();
        if spent.is_empty() {
            warnings.push("whether other programs ran is not known: there is no /proc/stat".to_owned());
        }
        let again = namespace_again().zip(self.sent_again).map_or(0, |(now, before)| now.saturating_sub(before));
        if again > 0 {
            warnings.push(format!("{again} TCP segments of this network namespace were sent again"));
        }
        let heat = throttled().saturating_sub(self.throttled);
        let heat = (heat > 0).then(|| format!("heat slowed processors down {heat} times"));
        Found { invalid: in_the_way(elapsed, &spent, own).or(heat), warnings }
    }
}

impl Validity {
    /// Tells what was found with each test.
    pub fn tell(self, tests: &mut [Test]) {
        let lines: Vec<_> = self.end().lines().collect();
        tests.iter_mut().for_each(|test| test.warnings.extend(lines.iter().cloned()));
    }
}

impl Found {
    /// All that was found, as warnings.
    pub fn lines(self) -> impl Iterator<Item = String> {
        self.invalid.into_iter().chain(self.warnings)
    }
}

/// Makes a measurement, of one test or of several at once. If others were in the way, none of its repeats counts; on a machine
/// that is meant to be `shared` they do, with a warning.
pub fn watched(shared: bool, measure: impl FnOnce() -> Result<Vec<Test>, String>) -> Result<Vec<Test>, String> {
    let validity = Validity::begin();
    let mut tests = measure()?;
    let Found { invalid, warnings } = validity.end();
    for test in &mut tests {
        match &invalid {
            Some(why) if shared => test.warnings.push(why.clone()),
            Some(why) => test.discard(why),
            None => {}
        }
        test.warnings.extend(warnings.iter().cloned());
    }
    Ok(tests)
}

/// Number of times that heat has slowed cores down; 0 where nobody counts it.
fn throttled() -> u64 {
    let cores = read_dir("/sys/devices/system/cpu").into_iter().flatten().flatten();
    let count = |core: std::fs::DirEntry| read_to_string(core.path().join("thermal_throttle/core_throttle_count")).ok();
    cores.filter_map(count).filter_map(|text| text.trim().parse::<u64>().ok()).sum()
}

/// TCP segments that this network namespace has sent again.
fn namespace_again() -> Option<u64> {
    retransmitted(&read_to_string("/proc/thread-self/net/snmp").ok()?)
}

/// Line about segments that TCP has sent again on the way between these ports, where no wire can lose any.
pub(crate) fn sent_again(ports: &[PortUsed], segments: u64) -> Option<String> {
    let device = |port: &PortUsed| Path::new("/sys/class/net").join(&port.name).join("device").exists();
    (segments > 0 && !ports.iter().any(device))
        .then(|| format!("{segments} segments were sent again, on a path without a wire that could lose any"))
}

/// Two lines are of TCP: names, and their numbers (proc_pid_net(5)).
fn retransmitted(text: &str) -> Option<u64> {
    let mut lines = text.lines().filter_map(|line| line.strip_prefix("Tcp: ")).map(str::split_ascii_whitespace);
    let (mut names, mut numbers) = (lines.next()?, lines.next()?);
    numbers.nth(names.position(|name| name == "RetransSegs")?)?.parse().ok()
}

/// Reason why a measurement does not count: another program ran while no core was free for it, or a hypervisor's other guests.
fn in_the_way(elapsed: Duration, spent: &[CoreTime], own: ThreadTime) -> Option<String> {
    let sum = |of: fn(&CoreTime) -> Duration| spent.iter().map(of).sum::<Duration>();
    let others = sum(|core| core.user + core.system).saturating_sub(own.user + own.system);
    let idle = sum(|core| core.idle);
    // A little of each of many cores is in nobody's way.
    let stolen = spent.iter().map(|core| core.steal).max().unwrap_or_default();
    let share = |time: Duration| 100.0 * time.as_secs_f64() / elapsed.as_secs_f64();
    let most = allowed(elapsed);
    if stolen > most {
        return Some(format!("other guests of this machine's host took {:.0} % of a core", share(stolen)));
    }
    (others > most && idle < elapsed).then(|| format!("other programs took {:.0} % of a core", share(others)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(idle: u64, user: u64, steal: u64, own: u64) -> Option<String> {
        let ms = Duration::from_millis;
        let core = |user| CoreTime { user: ms(user), idle: ms(idle), steal: ms(steal), ..CoreTime::default() };
        in_the_way(ms(1000), &[core(user), core(0)], ThreadTime { user: ms(own), system: ms(0) })
    }

    #[test]
    fn others_are_in_the_way_where_no_core_is_free() {
        assert_eq!(told(0, 1000, 0, 1000), None);
        assert_eq!(told(0, 1000, 0, 850), None, "within what the accounting may be wrong by");
        assert_eq!(told(0, 1000, 0, 600).unwrap(), "other programs took 40 % of a core");
        assert_eq!(told(600, 1000, 0, 600), None, "more than a core was idle");
        assert_eq!(told(600, 1000, 150, 1000), None, "within what the accounting may be wrong by, of each core");
        assert_eq!(told(600, 1000, 300, 1000).unwrap(), "other guests of this machine's host took 30 % of a core");
        assert_eq!(in_the_way(Duration::from_secs(1), &[], ThreadTime::default()), None, "no /proc/stat");
    }

    #[test]
    fn segments_sent_again_are_read_by_their_name() {
        let text = "Ip: Forwarding DefaultTTL\nIp: 1 64\nTcp: RtoAlgorithm OutSegs RetransSegs InErrs\nTcp: 1 900 17 0\nUdp: A\nUdp: 5\n";
        assert_eq!(retransmitted(text), Some(17));
        for text in ["", "Tcp: RetransSegs\n", "Tcp: RetransSegs\nTcp: x\n", "Tcp: A\nTcp: 1\n"] {
            assert_eq!(retransmitted(text), None, "{text}");
        }
        let found = Validity::begin().end();
        assert!(!found.warnings.iter().any(|line| line.contains("/proc/stat")) || core_times().is_empty());
    }

    #[test]
    fn a_measurement_beside_a_busy_program_does_not_count() {
        use linerate_result::{Repeat, Unit};
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let mut busy: Vec<_> = (0..2 * cores)
            .map(|_| {
                let mut command = std::process::Command::new("sh");
                // It ends by itself if the test is killed.
                command.args(["-c", "i=0; while [ $i -lt 9000000 ]; do i=$((i+1)); done"]).spawn().unwrap()
            })
            .collect();
        let measured = [false, true].map(|shared| {
            watched(shared, || {
                std::thread::sleep(Duration::from_secs(1));
                let repeats = vec![Repeat { value: 1.0.into(), valid: true, ..Repeat::default() }];
                let mut test = Test { repeats, ..Test::default() };
                test.summarize(Unit::Pps);
                Ok(vec![test])
            })
            .unwrap()
            .remove(0)
        });
        for child in &mut busy {
            child.kill().unwrap();
            child.wait().unwrap();
        }
        let [alone, shared] = measured;
        let why = alone.repeats[0].why_invalid.as_deref().unwrap();
        assert!(why.starts_with("other ") && !alone.repeats[0].valid && alone.value.is_none(), "{why}");
        assert!(shared.repeats[0].valid && shared.warnings[0].starts_with("other "), "{shared:?}");
    }
}

//! Other users of the processors during a measurement: a repeat beside other programs tells of them, too, and does not count.

use linerate_result::Test;
use linerate_rt::{CoreTime, ThreadTime, core_times, monotonic_ns};
use std::time::Duration;

/// Greatest share of a core that others may take.
const SHARE: f64 = 0.1;
/// Time that the accounting may be wrong by: most kernels look once a tick who runs.
const UNSURE: Duration = Duration::from_millis(60);

/// Makes a measurement of a sweep. If others were in the way, none of its repeats counts; on a machine that is meant to be `shared` they
/// do, with a warning.
pub fn watched(shared: bool, measure: impl FnOnce() -> Result<Test, String>) -> Result<Test, String> {
    let (began, cores, own) = (monotonic_ns(), core_times(), ThreadTime::of_this_process());
    let mut test = measure()?;
    let elapsed = Duration::from_nanos(monotonic_ns() - began);
    let own = ThreadTime::of_this_process().since(own);
    let spent: Vec<CoreTime> = core_times().into_iter().zip(cores).map(|(now, before)| now.since(before)).collect();
    let why = in_the_way(elapsed, &spent, own);
    if shared {
        test.warnings.extend(why);
    } else if let Some(why) = why {
        for repeat in test.repeats.iter_mut().filter(|repeat| repeat.valid) {
            (repeat.valid, repeat.why_invalid) = (false, Some(why.clone()));
        }
        if let Some(unit) = test.value.as_ref().map(|value| value.unit.clone()) {
            test.summarize(unit);
        }
    }
    Ok(test)
}

/// Reason why a measurement does not count: another program ran while no core was free for it, or a hypervisor's other guests.
fn in_the_way(elapsed: Duration, spent: &[CoreTime], own: ThreadTime) -> Option<String> {
    let sum = |of: fn(&CoreTime) -> Duration| spent.iter().map(of).sum::<Duration>();
    let others = sum(|core| core.user + core.system).saturating_sub(own.user + own.system);
    let idle = sum(|core| core.idle);
    // A little of each of many cores is in nobody's way.
    let stolen = spent.iter().map(|core| core.steal).max().unwrap_or_default();
    let share = |time: Duration| 100.0 * time.as_secs_f64() / elapsed.as_secs_f64();
    let most = elapsed.mul_f64(SHARE) + UNSURE;
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
                Ok(test)
            })
            .unwrap()
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

//! Fault schedules: a whole target and whole initiators, from discovery to SCSI, on a network that loses, doubles,
//! delays and corrupts frames, whose stations restart and lose their links, all by chance from a seed and in virtual
//! time. No wrong byte may be delivered as good, no command may stay without an end, and nothing may be left behind.
//!
//! `LINERATE_SEED=n` runs the one schedule of that seed, `LINERATE_SCHEDULES=n` those of the seeds below n.

mod chance;
mod medium;
mod model;
mod network;
mod station;
mod work;
mod world;

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use world::{Tally, World};

/// Approximate time limit for the schedules of an ordinary test run: as many are run as fit.
const BUDGET: Duration = Duration::from_secs(15);
/// Least number of schedules, even on a slow machine.
const LEAST: u64 = 20;

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().unwrap_or_else(|_| panic!("{name}={text} is no number")))
}

/// Prints the schedule of a panic.
struct Seed(u64);

impl Drop for Seed {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("the schedule of LINERATE_SEED={} fails: set that to see it again", self.0);
        }
    }
}

fn run(seed: u64) -> Tally {
    let _seed = Seed(seed);
    World::new(seed).run()
}

#[test]
fn no_schedule_of_faults_makes_a_wrong_byte_or_leaves_anything_behind() {
    if let Some(seed) = number("LINERATE_SEED") {
        return eprintln!("{}", run(seed));
    }
    let begun = Instant::now();
    let (limit, budget) = match number("LINERATE_SCHEDULES") {
        Some(count) => (count, Duration::MAX),
        None => (u64::MAX, BUDGET),
    };
    let next = AtomicU64::new(0);
    let goes_on = |seed| seed < limit && (seed < LEAST || begun.elapsed() < budget);
    let work = || {
        let mut sum = Tally::default();
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if !goes_on(seed) {
                return sum;
            }
            sum.add(&run(seed));
        }
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let sum = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        let mut sum = Tally::default();
        for worker in workers {
            sum.add(&worker.join().unwrap());
        }
        sum
    });
    eprintln!("{sum}\n{:.1} s", begun.elapsed().as_secs_f64());
    sum.assert_all_happened();
}

/// A frame that comes twice, or is overtaken within a tenth of a millisecond, is not lost, nor is one that finds no room: nothing
/// is sent again, and who has logged in stays so. Commands fail only on a medium that takes longer than they may.
#[test]
fn frames_that_overtake_each_other_cost_no_recovery() {
    let mut sum = Tally::default();
    for seed in 0..number("LINERATE_SCHEDULES").unwrap_or(100) {
        let _seed = Seed(seed);
        let world = World::that_reorders(seed);
        let initiators = world.initiators();
        let tally = world.run();
        assert_eq!((tally.recovered, tally.lost(), tally.logins), (0, 0, initiators), "{tally}");
        sum.add(&tally);
    }
    eprintln!("{sum}");
    let [_, doubled, late, _] = sum.faults;
    assert!(sum.early > 100 && doubled > 100 && late > 100, "{sum}");
}

#[test]
fn a_schedule_happens_again_from_its_seed() {
    assert_eq!(run(1), run(1));
}

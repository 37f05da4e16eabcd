//! TCP between two ends over a network that loses, doubles, delays and reorders, by seeds: `LINERATE_SEED=n` runs one again,
//! `LINERATE_SCHEDULES=n` runs as many.

mod hostile;
mod network;
mod pair;
mod wire;

use pair::{Pair, Plan};

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().unwrap())
}

/// Every byte offered arrives, in order, and both ends close.
#[test]
fn every_byte_arrives() {
    let seeds = match number("LINERATE_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..number("LINERATE_SCHEDULES").unwrap_or(300),
    };
    let mut sum = pair::Tally::default();
    let count = seeds.end - seeds.start;
    for seed in seeds {
        let tally = std::panic::catch_unwind(|| Pair::new(Plan::random(seed)).run());
        match tally {
            Ok(tally) => sum.add(&tally),
            Err(why) => {
                eprintln!("LINERATE_SEED={seed} fails");
                std::panic::resume_unwind(why);
            }
        }
    }
    eprintln!("{sum:?}");
    if number("LINERATE_SEED").is_none() {
        assert!(sum.recoveries > 50 && sum.timeouts > 20 && sum.lost > 500 && sum.undone > 0, "{sum:?}");
        assert!(sum.fast > 50 && sum.late <= 1 + count / 5000, "{sum:?}");
        assert!(sum.black_holes > 20 && sum.path_probes > 100, "{sum:?}");
    }
}

/// Losses are found by what overtakes them, not by time-outs, and little else is sent again.
#[test]
fn losses_are_found_by_what_overtakes_them() {
    let tally = Pair::new(Plan::lossy(4 << 20)).run();
    assert!(tally.lost > 15 && tally.recoveries > 5 && tally.timeouts <= 1, "{tally:?}");
    assert!(tally.sent_again < 2 * 1448 * tally.lost, "{tally:?}");
}

/// Without faults nothing is sent again, no probe is needed, and the path is full.
#[test]
fn a_clean_path_is_filled() {
    for (bytes, delay, rate) in [(8 << 20, 1_000_000, 1_250_000_000), (4 << 20, 10_000_000, 125_000_000)] {
        let tally = Pair::new(Plan::clean(bytes, delay, rate)).run();
        assert_eq!((tally.sent_again, tally.timeouts), (0, 0), "{tally:?}");
        let least = bytes as f64 / rate as f64 + 4e-9 * delay as f64;
        let took = tally.time as f64 / 1e9;
        // The first round trips fill the window: eight of them, and as much again for what they lack.
        assert!(took < 1.6 * least + 24.0 * delay as f64 / 1e9, "{took} s, {least} s at best: {tally:?}");
    }
}

/// Segments that are sent again do not meet a full queue again and again (RFC 9937): of these 16 MiB 1.0 MB are sent again; 1.6
/// where the window may grow with acknowledgements that tell of loss, and 11.6 where what they tell to be lost still counts as
/// under way when the window is made.
#[test]
fn what_is_sent_again_gets_through_a_short_queue() {
    let tally = Pair::new(Plan::short_queue(16 << 20)).run();
    assert!(tally.recoveries > 0 && tally.timeouts == 0 && tally.sent_again < 1_300_000, "{tally:?}");
}

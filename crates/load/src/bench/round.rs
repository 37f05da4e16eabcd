//! Rounds: one figure of linerate and one of each peer, in one state of the machine.

use super::peer::{How, Peer};
use super::probe::{round_trip, same_state};
use super::{Bench, Missing, Setting, failed};
use linerate_result::{Comparison, Kind, Number, Repeat, Summary, Test, parameters};
use linerate_rt::{Stop, monotonic_ns, pause, spawn};
use linerate_text::saturating_ns;

/// Result of comparing: linerate's figure with all its rounds, and the comparisons with peers.
#[derive(Clone, Debug, Default)]
pub struct Compared {
    /// Figure of linerate.
    pub test: Test,
    /// One comparison for each peer that was measured or skipped.
    pub comparisons: Vec<Comparison>,
}

/// Rounds of a peer.
#[derive(Default)]
struct Beside {
    /// Figures of linerate and the peer in each round that counts.
    rounds: Vec<(Number, Number)>,
    /// Best variant of a roof in each of those rounds.
    variants: Vec<String>,
    made: usize,
    missing: Option<Missing>,
}

/// Measures a bench and its peers in rounds, at most twice as many rounds as wanted. When a stop is requested, the
/// result holds the rounds measured so far.
#[must_use]
pub fn compare(bench: &Bench, setting: &Setting, stop: &Stop, mut progress: impl FnMut(&str)) -> Compared {
    let mut test = test(bench, setting);
    let mut beside: Vec<Beside> = bench.peers.iter().map(|_| Beside::default()).collect();
    for round in 0..2 * setting.rounds {
        let enough = |beside: &Beside| beside.rounds.is_empty() || beside.rounds.len() >= setting.rounds;
        if test.counted().counted >= setting.rounds && beside.iter().all(enough) {
            break;
        }
        progress(&format!("{}: round {}", bench.name, round + 1));
        let began = monotonic_ns();
        let measured = figure(bench, setting, stop, bench.run);
        if stop.asked() && measured.is_err() {
            break;
        }
        let seconds = Number::new((monotonic_ns() - began) as f64 / 1e9);
        let (value, trips) = match measured {
            Ok(own) => own,
            Err(Missing::Discarded(why)) => {
                test.repeats.push(Repeat { seconds, why_invalid: Some(why), ..Repeat::default() });
                continue;
            }
            Err(Missing::Skipped(why)) => {
                test.skipped = Some(why);
                break;
            }
            Err(Missing::Failed(why)) => {
                test.failures.push(why);
                break;
            }
        };
        for (peer, beside) in bench.peers.iter().zip(&mut beside) {
            if matches!(beside.missing, Some(Missing::Skipped(_))) {
                continue;
            }
            progress(&format!("{}: round {}, {}", bench.name, round + 1, peer.name));
            let more = bench.unit.more_is_better();
            let measured = figure(bench, setting, stop, move |setting| peer.measure(setting, more));
            if stop.asked() {
                break;
            }
            beside.made += usize::from(!matches!(measured, Err(Missing::Skipped(_))));
            match measured {
                Ok((theirs, theirs_trips)) if one_state(trips, theirs_trips) => {
                    beside.rounds.push((value.into(), theirs.value.into()));
                    beside.variants.extend(theirs.variant);
                    beside.missing = None;
                }
                Ok(_) | Err(Missing::Discarded(_)) => test.counters.add(None, "discarded", 1),
                Err(why) => beside.missing = Some(why),
            }
        }
        let [rtt_ns_before, rtt_ns_after] = trips.map_or([Number::UNKNOWN; 2], |trips| trips.map(Number::new));
        let value = value.into();
        test.repeats.push(Repeat { value, seconds, rtt_ns_before, rtt_ns_after, valid: true, why_invalid: None });
        if stop.asked() {
            break;
        }
    }
    test.summarize(bench.unit.clone());
    let ours = test.value.as_ref().map_or(Number::UNKNOWN, |value| value.median);
    let mut comparisons = Vec::new();
    for (peer, beside) in bench.peers.iter().zip(beside) {
        if let Some(Missing::Failed(why)) = &beside.missing {
            test.failures.push(format!("{}: {why}", peer.name));
        }
        comparisons.extend(beside.comparison(bench, peer, ours));
    }
    Compared { test, comparisons }
}

fn test(bench: &Bench, setting: &Setting) -> Test {
    let milliseconds = saturating_ns(setting.time) / 1_000_000;
    let [first, second] = setting.cores;
    Test {
        id: bench.name.to_owned(),
        title: bench.about.to_owned(),
        workload: "bench".to_owned(),
        parameters: parameters([
            ("time_ms", milliseconds.into()),
            ("rounds", setting.rounds.into()),
            ("cores", format!("{first},{second}").into()),
        ]),
        wanted: bench.bound.into(),
        ..Test::default()
    }
}

impl Beside {
    /// Comparison with the peer; `None` if there was no time for the peer.
    fn comparison(self, bench: &Bench, peer: &Peer, ours: Number) -> Option<Comparison> {
        if self.made == 0 && self.missing.is_none() {
            return None;
        }
        let (kind, source) = match peer.how {
            How::Script(words) => (Kind::Peer, format!("peer {}", words.join(" "))),
            How::Own(_) => (Kind::Peer, "measured by linerate itself".to_owned()),
            How::Best(_) => (Kind::Roof, "the best of its variants, measured by linerate itself".to_owned()),
        };
        let mut values: Vec<f64> = self.rounds.iter().filter_map(|(_, theirs)| theirs.known()).collect();
        let value = Summary::of_values(&mut values, bench.unit.clone()).map_or(Number::UNKNOWN, |of| of.median);
        let won = |name: &&String| self.variants.iter().filter(|other| other == name).count();
        let variant = self.variants.iter().max_by_key(won).cloned();
        let all = Comparison::new(kind, bench.name, peer.name, &source, bench.unit.clone(), value, ours);
        Some(Comparison {
            wanted: peer.wanted.into(),
            variant,
            missing: self.missing.map(|why| why.to_string()),
            ..all.with_rounds(&self.rounds, self.made)
        })
    }
}

/// Makes one measurement, with the round trips before and after; discarded if the cores changed state meanwhile, or a
/// stop was requested.
fn figure<T: Send + 'static>(
    bench: &Bench,
    setting: &Setting,
    stop: &Stop,
    measure: impl FnOnce(&Setting) -> Result<T, Missing> + Send + 'static,
) -> Result<(T, Trips), Missing> {
    let (two_cores, own) = (bench.two_cores, setting.clone());
    let measure = move || {
        if !two_cores {
            return Ok((measure(&own)?, None));
        }
        let probe = || round_trip(own.cores).ok_or_else(|| Missing::Skipped("two cores are needed".into()));
        let before = probe()?;
        let value = measure(&own)?;
        let round_trips = [before, probe()?];
        if !same_state(&round_trips) {
            return Err(Missing::Discarded("the cores changed state".into()));
        }
        Ok((value, Some(round_trips)))
    };
    unless_stopped(stop, measure).unwrap_or_else(|| Err(Missing::Discarded("a stop was requested".into())))
}

/// Runs a measurement on a thread of its own. When a stop is requested, the thread is left to end with the process:
/// measurements do not poll the stop. Processes that they started end by themselves.
fn unless_stopped<T: Send + 'static>(
    stop: &Stop,
    measure: impl FnOnce() -> Result<T, Missing> + Send + 'static,
) -> Option<Result<T, Missing>> {
    /// Reports the end of its thread, even after a panic.
    struct Tells(Stop);
    impl Drop for Tells {
        fn drop(&mut self) {
            self.0.ask(0);
        }
    }
    let done = match Stop::new() {
        Ok(done) => done,
        Err(e) => return Some(Err(failed(e))),
    };
    let tells = Tells(done.clone());
    let thread = spawn("round", &[], move || {
        let _tells = tells;
        measure()
    });
    let thread = match thread {
        Ok(thread) => thread,
        Err(e) => return Some(Err(failed(e))),
    };
    pause(&[stop, &done], None);
    done.asked().then(|| thread.join().unwrap_or_else(|_| Err(failed("the measurement panicked"))))
}

/// Round trips before and after, nanoseconds; `None` for a bench that uses one core only.
type Trips = Option<[f64; 2]>;

fn one_state(a: Trips, b: Trips) -> bool {
    same_state(&[a, b].into_iter().flatten().flatten().collect::<Vec<f64>>())
}

#[cfg(test)]
mod tests {
    use super::super::Variant;
    use super::*;
    use linerate_result::Unit;
    use std::time::Duration;

    fn setting() -> Setting {
        Setting { cores: [0, 1], time: Duration::ZERO, rounds: 3, peers: None }
    }

    const fn bench(unit: Unit, peers: &'static [Peer]) -> Bench {
        Bench { name: "b", about: "", unit, two_cores: false, bound: None, run: |_| Ok(200.0), peers }
    }

    #[test]
    fn a_ratio_says_how_much_better_linerate_is() {
        const PEERS: &[Peer] = &[Peer { name: "p", how: How::Own(|_| Ok(100.0)), wanted: None }];
        for (unit, times) in [(Unit::Pps, 2.0), (Unit::BytesPerSecond, 2.0), (Unit::Ns, 0.5)] {
            let all = compare(&bench(unit, PEERS), &setting(), &Stop::new().unwrap(), |_| ());
            let comparison = &all.comparisons[0];
            assert_eq!(comparison.times_better(), [Number::new(times); 3]);
            assert_eq!((comparison.ratio, comparison.value), (Number::new(2.0), Number::new(100.0)));
        }
    }

    /// Both are measured in every round, and the roof of a round is its best variant.
    #[test]
    fn a_roof_is_measured_in_the_rounds_of_what_it_is_compared_with() {
        fn variants() -> Vec<Variant> {
            [("slow", 100.0), ("fast", 400.0)]
                .map(|(name, value)| Variant::new(name, move |_: &Setting| Ok(value)))
                .into()
        }
        const PEERS: &[Peer] = &[Peer { name: "roof", how: How::Best(variants), wanted: Some(0.4) }];
        let bench = bench(Unit::Pps, PEERS);
        let mut told = Vec::new();
        let all = compare(&bench, &setting(), &Stop::new().unwrap(), |line| told.push(line.to_owned()));
        assert_eq!(told, [1, 2, 3].map(|n| [format!("b: round {n}"), format!("b: round {n}, roof")]).concat());
        let roof = &all.comparisons[0];
        assert_eq!((roof.kind, roof.ratio, roof.variant.as_deref()), (Kind::Roof, Number::new(0.5), Some("fast")));
        assert!(roof.is_valid() && roof.holds() && all.test.holds());
        let counted = [Some(all.test.counted()), roof.rounds()].map(|counted| counted.unwrap().to_string());
        assert_eq!(counted, ["3 of 3", "3 of 3"]);
    }

    #[test]
    fn the_variant_that_is_named_won_most_rounds() {
        let names = ["a", "b", "b", "c", "b"].map(str::to_owned).to_vec();
        let beside = Beside { variants: names, made: 5, ..Beside::default() };
        let roof = Peer { name: "roof", how: How::Best(Vec::new), wanted: None };
        let comparison = beside.comparison(&bench(Unit::Pps, &[]), &roof, Number::UNKNOWN).unwrap();
        assert_eq!(comparison.variant.as_deref(), Some("b"));
    }

    #[test]
    fn what_is_missing_is_said_and_not_divided() {
        const PEERS: &[Peer] = &[
            Peer { name: "scripted", how: How::Script(&["rtt"]), wanted: None },
            Peer { name: "broken", how: How::Own(|_| Err(Missing::Failed("no".into()))), wanted: None },
        ];
        let all = compare(&bench(Unit::Pps, PEERS), &setting(), &Stop::new().unwrap(), |_| ());
        let [scripted, broken] = &all.comparisons[..] else { panic!("{all:?}") };
        assert_eq!((scripted.ratio, broken.ratio), (Number::UNKNOWN, Number::UNKNOWN));
        assert!(scripted.missing.as_ref().unwrap().starts_with("skipped: "), "{scripted:?}");
        assert_eq!((broken.missing.as_deref(), &all.test.failures[..]), (Some("no"), &["broken: no".to_owned()][..]));
        assert_eq!(all.test.counted().counted, 3);
    }

    /// Regression: a busy machine on which the paced datagrams came to 0.963 of a million a second failed a bench.
    #[test]
    fn what_is_discarded_does_not_count_and_fails_nothing() {
        fn busy(_: &Setting) -> Result<f64, Missing> {
            Err(Missing::Discarded("busy".into()))
        }
        const PEERS: &[Peer] = &[Peer { name: "p", how: How::Own(busy), wanted: None }];
        let stop = Stop::new().unwrap();
        let own = compare(&Bench { run: busy, ..bench(Unit::Pps, &[]) }, &setting(), &stop, |_| ()).test;
        let whys: Vec<_> = own.repeats.iter().map(|repeat| (repeat.valid, repeat.why_invalid.as_deref())).collect();
        assert_eq!((&whys[..], own.counted().counted), (&[(false, Some("busy")); 6][..], 0));
        let beside = compare(&bench(Unit::Pps, PEERS), &setting(), &stop, |_| ());
        assert!(own.failures.is_empty() && beside.test.failures.is_empty(), "{own:?} {beside:?}");
        assert_eq!(beside.comparisons[0].rounds().unwrap().to_string(), "0 of 3");
    }

    #[test]
    fn what_was_measured_when_the_stop_is_asked_for_is_kept_and_nothing_is_waited_for() {
        fn endless(_: &Setting) -> Result<f64, Missing> {
            loop {
                std::thread::sleep(Duration::from_secs(1));
            }
        }
        const PEERS: &[Peer] = &[
            Peer { name: "p", how: How::Own(|_| Ok(100.0)), wanted: None },
            Peer { name: "endless", how: How::Own(endless), wanted: None },
        ];
        let stop = Stop::new().unwrap();
        let all = compare(&bench(Unit::Pps, PEERS), &setting(), &stop, |line| {
            if line.ends_with("endless") {
                let stop = stop.clone();
                std::thread::spawn(move || stop.ask(2));
            }
        });
        assert_eq!((all.test.counted().counted, all.comparisons.len()), (1, 1));
        assert_eq!((all.comparisons[0].name.as_str(), all.comparisons[0].counted), ("p", Some(1)));
        assert!(all.comparisons[0].missing.is_none() && all.test.failures.is_empty(), "{all:?}");
    }
}

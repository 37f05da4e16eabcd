//! Rounds: one figure of linerate and one of each peer, in one state of the machine.

use super::probe::{round_trip, same_state};
use super::{Bench, Missing, Peer, Setting, failed};
use linerate_result::Counted;
use linerate_rt::{Stop, pause, spawn};
use std::collections::BTreeMap;

/// One figure with the core-to-core round trips around it.
#[derive(Clone, Debug)]
pub struct Figure {
    /// The figure.
    pub value: f64,
    /// Nanoseconds before and after; none where one core works alone.
    pub round_trips: Option<[f64; 2]>,
}

/// What comparing gave.
#[derive(Clone, Debug, Default)]
pub struct Compared {
    /// linerate's figures in rounds that count.
    pub own: Vec<Figure>,
    /// Each peer's ratios linerate : peer, one a round that counts for it; for less-is-better units inverted, so more is
    /// always better for linerate.
    pub ratios: BTreeMap<&'static str, Vec<f64>>,
    /// Each peer's figures.
    pub peers: BTreeMap<&'static str, Vec<f64>>,
    /// Each roof's best variant, one a round that counts for it.
    pub variants: BTreeMap<&'static str, Vec<String>>,
    /// Rounds of linerate that were made.
    pub made: usize,
    /// Rounds of each peer that were made.
    pub peers_made: BTreeMap<&'static str, usize>,
    /// Why something is missing, by peer or bench.
    pub missing: BTreeMap<&'static str, Missing>,
    /// Measurements thrown away because the cores changed state meanwhile.
    pub discarded: usize,
}

/// Measures a bench and its peers in rounds. Up to twice the rounds are tried. When the stop is asked for, what was measured
/// so far is all there is.
#[must_use]
pub fn compare(bench: &Bench, setting: &Setting, stop: &Stop, mut progress: impl FnMut(&str)) -> Compared {
    let mut all = Compared::default();
    for round in 0..2 * setting.rounds {
        if all.own.len() >= setting.rounds && all.ratios.values().all(|r| r.len() >= setting.rounds) {
            break;
        }
        progress(&format!("{}: round {}", bench.name, round + 1));
        let measured = figure(bench, setting, stop, bench.run);
        if stop.asked() && !matches!(measured, Ok(Some(_))) {
            return all;
        }
        all.made += 1;
        let own = match measured {
            Ok(Some((value, round_trips))) => Figure { value, round_trips },
            Ok(None) => {
                all.discarded += 1;
                continue;
            }
            Err(why) => {
                all.missing.insert(bench.name, why);
                return all;
            }
        };
        for peer in bench.peers {
            if matches!(all.missing.get(peer.name), Some(Missing::Skipped(_))) {
                continue;
            }
            progress(&format!("{}: round {}, {}", bench.name, round + 1, peer.name));
            let rate = bench.unit.is_rate();
            let measured = figure(bench, setting, stop, move |setting| peer.measure(setting, rate));
            if stop.asked() {
                break;
            }
            if !matches!(measured, Err(Missing::Skipped(_))) {
                *all.peers_made.entry(peer.name).or_default() += 1;
            }
            match measured {
                Ok(Some((theirs, round_trips))) if one_state(own.round_trips, round_trips) => {
                    let ratio = if bench.unit.is_rate() { own.value / theirs.value } else { theirs.value / own.value };
                    all.ratios.entry(peer.name).or_default().push(ratio);
                    all.peers.entry(peer.name).or_default().push(theirs.value);
                    if let Some(variant) = theirs.variant {
                        all.variants.entry(peer.name).or_default().push(variant);
                    }
                    all.missing.remove(peer.name);
                }
                Ok(_) => all.discarded += 1,
                Err(why) => {
                    all.missing.insert(peer.name, why);
                }
            }
        }
        all.own.push(own);
        if stop.asked() {
            break;
        }
    }
    all
}

impl Compared {
    /// How many of linerate's rounds count.
    #[must_use]
    pub fn counted(&self) -> Counted {
        Counted { counted: self.own.len(), made: self.made }
    }

    /// How many of a peer's rounds count.
    #[must_use]
    pub fn counted_of(&self, peer: &Peer) -> Counted {
        Counted {
            counted: self.ratios.get(peer.name).map_or(0, Vec::len),
            made: self.peers_made.get(peer.name).copied().unwrap_or(0),
        }
    }

    /// Median, least and greatest of linerate's figures.
    #[must_use]
    pub fn own_spread(&self) -> Option<[f64; 3]> {
        spread(&self.own.iter().map(|figure| figure.value).collect::<Vec<_>>())
    }

    /// Median, least and greatest of the ratios linerate : peer.
    #[must_use]
    pub fn ratio_of(&self, peer: &Peer) -> Option<[f64; 3]> {
        spread(self.ratios.get(peer.name)?)
    }

    /// Whether a peer that was measured can be believed; one that was not says nothing.
    #[must_use]
    pub fn is_valid(&self, peer: &Peer) -> bool {
        self.ratio_of(peer).is_none_or(|[ratio, ..]| peer.believes(ratio))
    }

    /// The variant of a roof that was the best in most of its rounds.
    #[must_use]
    pub fn variant_of(&self, peer: &Peer) -> Option<&str> {
        let all = self.variants.get(peer.name)?;
        all.iter().map(String::as_str).max_by_key(|name| all.iter().filter(|other| other == name).count())
    }

    /// Whether something is worse than wanted, or compared with a roof that cannot be right.
    #[must_use]
    pub fn misses(&self, bench: &Bench) -> bool {
        let worse = |bound: f64, median: f64| if bench.unit.is_rate() { median < bound } else { median > bound };
        let bound = bench.bound.zip(self.own_spread()).is_some_and(|(bound, [median, ..])| worse(bound, median));
        bound
            || bench.peers.iter().any(|peer| {
                let low = |[ratio, ..]: [f64; 3]| peer.wanted.is_some_and(|wanted| ratio < wanted);
                !self.is_valid(peer) || self.ratio_of(peer).is_some_and(low)
            })
    }
}

/// One measurement with the round trips around it; None if the cores changed state meanwhile, or it was not waited for.
fn figure<T: Send + 'static>(
    bench: &Bench,
    setting: &Setting,
    stop: &Stop,
    measure: impl FnOnce(&Setting) -> Result<T, Missing> + Send + 'static,
) -> Result<Option<(T, Trips)>, Missing> {
    let (two_cores, own) = (bench.two_cores, setting.clone());
    let measure = move || {
        if !two_cores {
            return Ok(Some((measure(&own)?, None)));
        }
        let probe = || round_trip(own.cores).ok_or_else(|| Missing::Skipped("two cores are needed".into()));
        let before = probe()?;
        let value = measure(&own)?;
        let round_trips = [before, probe()?];
        Ok(same_state(&round_trips).then_some((value, Some(round_trips))))
    };
    unless_stopped(stop, measure).unwrap_or(Ok(None))
}

/// Does something on a thread of its own. When the stop is asked for it is left behind, to end with the process: measurements
/// have no room for a look at it. What they have started themselves ends by itself.
fn unless_stopped<T: Send + 'static>(
    stop: &Stop,
    measure: impl FnOnce() -> Result<T, Missing> + Send + 'static,
) -> Option<Result<T, Missing>> {
    /// Tells of its thread's end, whatever it ended by.
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

/// Round trips before and after, in nanoseconds; none where one core works alone.
type Trips = Option<[f64; 2]>;

fn one_state(a: Trips, b: Trips) -> bool {
    same_state(&[a, b].into_iter().flatten().flatten().collect::<Vec<f64>>())
}

/// The middle one, the least and the greatest; None of nothing.
#[must_use]
pub fn spread(values: &[f64]) -> Option<[f64; 3]> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let (least, most) = (*sorted.first()?, *sorted.last()?);
    let middle = sorted.len() / 2;
    let median =
        if sorted.len().is_multiple_of(2) { (sorted[middle - 1] + sorted[middle]) / 2.0 } else { sorted[middle] };
    Some([median, least, most])
}

#[cfg(test)]
mod tests {
    use super::super::{How, Unit, Variant};
    use super::*;
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
        assert_eq!(compare(&bench(Unit::Pps, PEERS), &setting(), &Stop::new().unwrap(), |_| ()).ratios["p"], [2.0; 3]);
        assert_eq!(
            compare(&bench(Unit::BytesPerSecond, PEERS), &setting(), &Stop::new().unwrap(), |_| ()).ratios["p"],
            [2.0; 3]
        );
        assert_eq!(compare(&bench(Unit::Ns, PEERS), &setting(), &Stop::new().unwrap(), |_| ()).ratios["p"], [0.5; 3]);
    }

    /// Both in every round, and the roof of a round is its best variant.
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
        assert_eq!((&all.ratios["roof"], all.variant_of(&PEERS[0])), (&vec![0.5; 3], Some("fast")));
        assert!(all.is_valid(&PEERS[0]) && !all.misses(&bench));
        assert_eq!(
            (all.counted().to_string(), all.counted_of(&PEERS[0]).to_string()),
            ("3 of 3".into(), "3 of 3".into())
        );
    }

    /// A ratio of 9.35 to a copy once passed as a good one.
    #[test]
    fn a_ratio_above_a_roof_is_no_pass() {
        fn variants() -> Vec<Variant> {
            vec![Variant::new("slow", |_: &Setting| Ok(150.0))]
        }
        const ROOF: &[Peer] = &[Peer { name: "roof", how: How::Best(variants), wanted: Some(0.6) }];
        const PEER: &[Peer] = &[Peer { name: "peer", how: How::Own(|_| Ok(150.0)), wanted: Some(0.6) }];
        let [above, peer] = [ROOF, PEER].map(|peers| bench(Unit::Pps, peers));
        let all = compare(&above, &setting(), &Stop::new().unwrap(), |_| ());
        assert!(!all.is_valid(&ROOF[0]) && all.misses(&above));
        let all = compare(&peer, &setting(), &Stop::new().unwrap(), |_| ());
        assert!(all.is_valid(&PEER[0]) && !all.misses(&peer));
    }

    #[test]
    fn the_variant_that_is_named_won_most_rounds() {
        let names = ["a", "b", "b", "c", "b"].map(str::to_owned).to_vec();
        let all = Compared { variants: [("roof", names)].into(), ..Compared::default() };
        let roof = Peer { name: "roof", how: How::Best(Vec::new), wanted: None };
        assert_eq!(all.variant_of(&roof), Some("b"));
    }

    #[test]
    fn what_is_missing_is_said_and_not_divided() {
        const PEERS: &[Peer] = &[
            Peer { name: "scripted", how: How::Script(&["rtt"]), wanted: None },
            Peer { name: "broken", how: How::Own(|_| Err(Missing::Failed("no".into()))), wanted: None },
        ];
        let all = compare(&bench(Unit::Pps, PEERS), &setting(), &Stop::new().unwrap(), |_| ());
        assert!(all.ratios.is_empty());
        assert!(matches!(all.missing["scripted"], Missing::Skipped(_)));
        assert_eq!(all.missing["broken"], Missing::Failed("no".into()));
        assert_eq!(all.own.len(), 3);
    }

    #[test]
    fn what_was_measured_when_the_stop_is_asked_for_is_kept_and_nothing_is_waited_for() {
        /// Never ends.
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
        assert_eq!((all.own.len(), all.ratios["p"].len()), (1, 1));
        assert!(all.missing.is_empty() && !all.ratios.contains_key("endless"), "{all:?}");
    }

    #[test]
    fn spreads() {
        assert_eq!(spread(&[3.0, 1.0, 2.0]), Some([2.0, 1.0, 3.0]));
        assert_eq!(spread(&[4.0, 1.0]), Some([2.5, 1.0, 4.0]));
        assert_eq!(spread(&[]), None);
    }
}

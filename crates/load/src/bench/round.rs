//! Rounds: one figure of linerate and one of each peer, in one state of the machine.

use super::probe::{round_trip, same_state};
use super::{Bench, Missing, Setting};
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
    /// Why something is missing, by peer or bench.
    pub missing: BTreeMap<&'static str, Missing>,
    /// Measurements thrown away because the cores changed state meanwhile.
    pub discarded: usize,
}

/// Measures a bench and its peers in rounds. Up to twice the rounds are tried.
#[must_use]
pub fn compare(bench: &Bench, setting: &Setting, mut progress: impl FnMut(&str)) -> Compared {
    let mut all = Compared::default();
    for round in 0..2 * setting.rounds {
        if all.own.len() >= setting.rounds && all.ratios.values().all(|r| r.len() >= setting.rounds) {
            break;
        }
        progress(&format!("{}: round {}", bench.name, round + 1));
        let own = match figure(bench, setting, bench.run) {
            Ok(Some(figure)) => figure,
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
            match figure(bench, setting, |setting| peer.measure(setting)) {
                Ok(Some(theirs)) if one_state(&own, &theirs) => {
                    let ratio = if bench.unit.is_rate() { own.value / theirs.value } else { theirs.value / own.value };
                    all.ratios.entry(peer.name).or_default().push(ratio);
                    all.peers.entry(peer.name).or_default().push(theirs.value);
                    all.missing.remove(peer.name);
                }
                Ok(_) => all.discarded += 1,
                Err(why) => {
                    all.missing.insert(peer.name, why);
                }
            }
        }
        all.own.push(own);
    }
    all
}

/// One measurement; None if the cores changed state meanwhile.
fn figure(
    bench: &Bench,
    setting: &Setting,
    measure: impl FnOnce(&Setting) -> Result<f64, Missing>,
) -> Result<Option<Figure>, Missing> {
    if !bench.two_cores {
        return Ok(Some(Figure { value: measure(setting)?, round_trips: None }));
    }
    let probe = || round_trip(setting.cores).ok_or_else(|| Missing::Skipped("two cores are needed".into()));
    let before = probe()?;
    let value = measure(setting)?;
    let round_trips = [before, probe()?];
    Ok(same_state(&round_trips).then_some(Figure { value, round_trips: Some(round_trips) }))
}

fn one_state(a: &Figure, b: &Figure) -> bool {
    let all: Vec<f64> = [a, b].iter().filter_map(|f| f.round_trips).flatten().collect();
    same_state(&all)
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
    use super::super::{How, Peer, Unit};
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
        assert_eq!(compare(&bench(Unit::Pps, PEERS), &setting(), |_| ()).ratios["p"], [2.0; 3]);
        assert_eq!(compare(&bench(Unit::BytesPerSecond, PEERS), &setting(), |_| ()).ratios["p"], [2.0; 3]);
        assert_eq!(compare(&bench(Unit::Ns, PEERS), &setting(), |_| ()).ratios["p"], [0.5; 3]);
    }

    #[test]
    fn what_is_missing_is_said_and_not_divided() {
        const PEERS: &[Peer] = &[
            Peer { name: "scripted", how: How::Script(&["rtt"]), wanted: None },
            Peer { name: "broken", how: How::Own(|_| Err(Missing::Failed("no".into()))), wanted: None },
        ];
        let all = compare(&bench(Unit::Pps, PEERS), &setting(), |_| ());
        assert!(all.ratios.is_empty());
        assert!(matches!(all.missing["scripted"], Missing::Skipped(_)));
        assert_eq!(all.missing["broken"], Missing::Failed("no".into()));
        assert_eq!(all.own.len(), 3);
    }

    #[test]
    fn spreads() {
        assert_eq!(spread(&[3.0, 1.0, 2.0]), Some([2.0, 1.0, 3.0]));
        assert_eq!(spread(&[4.0, 1.0]), Some([2.5, 1.0, 4.0]));
        assert_eq!(spread(&[]), None);
    }
}

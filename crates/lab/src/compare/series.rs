//! Points of a series: tests of one workload that differ in the size of what is handed over, each measured too rarely to be
//! judged alone. Their ratios are judged together, by the paired t-test on their logarithms: a spread from point to point counts
//! as a spread from repeat to repeat does.

use std::collections::BTreeMap;

use linerate_result::{Number, Test, Unit};
use serde::Serialize;

use super::Judged;
use super::spread::Difference;
use crate::student::LEAST;
use crate::varied::{AXES, varied};

/// The method, in words.
pub(super) const METHOD: &str = "paired t on the logarithms of their ratios, 95 %";

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Series {
    /// Workload, and what tells the series from others of it.
    pub name: String,
    /// Points that were measured in both runs.
    pub points: usize,
    pub unit: Unit,
    /// The second run's figures over the first one's, geometric mean over the points.
    pub ratio: Number,
    /// Lower end of the ratio's interval at 95 %.
    pub low: Number,
    /// Upper end of the ratio's interval at 95 %.
    pub high: Number,
    pub judged: Judged,
}

/// A point: the test of the first run, and the ratio of the two figures.
pub(super) type Point<'a> = (&'a Test, f64);

/// The series of [`LEAST`] points or more, not judged yet, each with the logarithm of its ratio.
pub(super) fn series(points: &[Point<'_>]) -> Vec<(Series, Difference)> {
    let mut groups: BTreeMap<(usize, String), Vec<&Point<'_>>> = BTreeMap::new();
    let mut places: BTreeMap<String, usize> = BTreeMap::new();
    for point in points {
        let mut parameters = point.0.parameters.clone();
        parameters.retain(|name, _| name == "mtu" || !AXES.contains(&name.as_str()));
        let unit = point.0.value.as_ref().map(|value| value.unit.clone());
        let key = format!("{} {unit:?} {}", point.0.workload, serde_json::to_string(&parameters).unwrap_or_default());
        let next = places.len();
        let place = *places.entry(key.clone()).or_insert(next);
        groups.entry((place, key)).or_default().push(point);
    }
    let groups: Vec<_> = groups.into_values().filter(|group| group.len() >= LEAST).collect();
    // Sizes have no part in the name: they differ inside of a series.
    let firsts: Vec<&Test> = groups.iter().map(|group| group[0].0).collect();
    let of_workload = |test: &&&Test, workload: &str| test.workload == workload;
    groups
        .iter()
        .map(|group| {
            let first = group[0].0;
            let alike: Vec<&Test> = firsts.iter().filter(|test| of_workload(test, &first.workload)).copied().collect();
            let sizes: Vec<&str> = AXES.iter().copied().filter(|axis| *axis != "mtu").collect();
            let at = alike.iter().position(|test| std::ptr::eq(*test, first)).unwrap_or(0);
            let differs = varied(&alike, &sizes).swap_remove(at);
            let name =
                if differs.is_empty() { first.workload.clone() } else { format!("{}, {differs}", first.workload) };
            of(name, group)
        })
        .collect()
}

fn of(name: String, group: &[&Point<'_>]) -> (Series, Difference) {
    let mean = Difference::paired(&group.iter().map(|(_, ratio)| ratio.ln()).collect::<Vec<_>>());
    let [ratio, low, high] = mean.interval();
    let unit = group[0].0.value.as_ref().map_or(Unit::Other("".into()), |value| value.unit.clone());
    (Series { name, points: group.len(), unit, ratio, low, high, judged: Judged::NotEnough }, mean)
}

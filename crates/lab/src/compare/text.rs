//! A comparison on a terminal.

use super::series::METHOD;
use super::{Compared, INTERVALS, Judged, Pair, VERDICTS};
use crate::quantity::{UNKNOWN, count, ratio, value};
use crate::table::{Cell, Table, Tone};
use crate::text::section;
use linerate_result::Number;
use linerate_text::plain;

/// The pairs as a table, and what could not be paired.
#[must_use]
pub fn render(compared: &Compared, colour: bool) -> String {
    let mut lines = vec![
        format!(
            "A {}, B {}; worse beyond {} % and beyond the spread counts",
            plain(&compared.a),
            plain(&compared.b),
            compared.threshold_per_cent
        ),
        format!("B/A with its interval: {}", INTERVALS),
        format!("Judged: {}", VERDICTS),
    ];
    let mut table = Table::new(&["@Test", "#A", "#B", "#B/A", "#Interval", "#Repeats", "Judged"]);
    compared.pairs.iter().for_each(|pair| table.row(row(pair)));
    section(&mut lines, "", &table, colour, usize::MAX);
    let mut table = Table::new(&["@Series", "#Points", "#B/A", "#Interval", "Judged"]);
    for series in &compared.series {
        let points = count(series.points as u64);
        let interval = interval(series.low, series.high);
        table.row([
            series.name.as_str().into(),
            points.into(),
            ratio(series.ratio).into(),
            interval.into(),
            judged(series.judged, None),
        ]);
    }
    if !compared.series.is_empty() {
        lines.push(format!("Points that are too few to be judged alone, together: {METHOD}"));
        section(&mut lines, "", &table, colour, usize::MAX);
    }
    for (whose, list) in [("A", &compared.only_a), ("B", &compared.only_b)] {
        lines.extend(list.iter().map(|test| format!("only in {whose}: {}", plain(test))));
    }
    if compared.pairs.is_empty() {
        lines.push("no test is in both runs".to_owned());
    }
    lines.extend(power(&compared.pairs));
    if !compared.suspects.is_empty() {
        lines.push(format!(
            "{} may be worse (unclear): more repeats of both decide it, as by `linerate sweep PLAN --only IDS --repeats 8`",
            plain(&compared.suspects.join(", "))
        ));
    }
    lines.push(String::new());
    lines.join("\n")
}

/// Line about the loss that would have been found.
fn power(pairs: &[Pair]) -> Option<String> {
    let mut found: Vec<f64> = pairs.iter().filter_map(|pair| pair.finds_per_cent.known()).collect();
    found.sort_by(f64::total_cmp);
    let (least, most) = (found.first()?, found.last()?);
    let middle = found[found.len() / 2];
    let range =
        if found.len() > 1 { format!(" (median; {least:.1} to {most:.1} %, by the test)") } else { String::new() };
    Some(format!("A loss of {middle:.1} % would have been called worse in 95 of 100 comparisons{range}"))
}

fn interval(low: Number, high: Number) -> String {
    match (low.known(), high.known()) {
        (Some(low), Some(high)) => format!("{low:.3} to {high:.3}"),
        _ => UNKNOWN.to_owned(),
    }
}

fn judged(judged: Judged, why: Option<&str>) -> Cell {
    match judged {
        Judged::Same => Cell::from("same"),
        Judged::Better => Cell::from("better").tone(Tone::Good),
        Judged::Worse => Cell::from("worse").tone(Tone::Bad),
        Judged::Unclear => Cell::from("unclear").tone(Tone::Doubtful),
        Judged::NotEnough => {
            let why = why.map(|why| format!("not enough: {why}"));
            Cell::from(why.unwrap_or_else(|| "not enough".to_owned())).tone(Tone::Doubtful)
        }
    }
}

fn row(pair: &Pair) -> [Cell; 7] {
    let name = if pair.test == pair.other { pair.test.clone() } else { format!("{} / {}", pair.test, pair.other) };
    [
        name.into(),
        value(pair.a, &pair.unit).into(),
        value(pair.b, &pair.unit).into(),
        ratio(pair.ratio).into(),
        interval(pair.low, pair.high).into(),
        format!("{}/{}", count(pair.a_counted as u64), count(pair.b_counted as u64)).into(),
        judged(pair.judged, pair.why.as_deref()),
    ]
}

//! Bench results as text for the terminal.

use crate::quantity::value;
use linerate_load::bench::Compared;
use linerate_result::{Comparison, Counted, Number, Summary, Test, Unit};
use std::fmt::Write as _;

#[must_use]
pub fn figure(test: &Test) -> String {
    let shown = test.value.as_ref().map(|all| value(all.median, &all.unit));
    format!("{}: {}", test.id, shown.as_deref().unwrap_or("none"))
}

/// Text of a bench: its figures, then each peer and roof beside them, one per line.
#[must_use]
pub fn text(Compared { test, comparisons }: &Compared) -> String {
    let mut text = format!("\n{}: {}\n", test.id, test.title);
    let counted = test.counted();
    if let Some(all) = &test.value {
        let [median, least, most] = [all.median, all.least, all.greatest].map(|number| value(number, &all.unit));
        let wanted = test.wanted.known().map(|_| format!("   wanted: {}", value(test.wanted, &all.unit)));
        line(&mut text, "linerate", &format!("{median} ({least} to {most}; {}){}", rounds(counted), or_none(wanted)));
    } else if counted.made > 0 {
        line(&mut text, "linerate", &format!("no figure: {}", rounds(counted)));
    } else if test.skipped.is_none() && test.failures.is_empty() {
        text += "  no round was measured to its end\n";
    }
    if let Some(trips) = round_trips(test) {
        let [median, least, most] = [trips.median, trips.least, trips.greatest].map(|ns| value(ns, &Unit::Ns));
        line(&mut text, "core-to-core round trip", &format!("{median} ({least} to {most})"));
    }
    comparisons.iter().for_each(|comparison| beside(&mut text, comparison));
    if let Some(why) = &test.skipped {
        line(&mut text, &test.id, &format!("skipped: {why}"));
    }
    for why in &test.failures {
        line(&mut text, "failed", why);
    }
    let discarded = counted.made - counted.counted;
    let discarded = discarded as u64 + test.counters.total("discarded").unwrap_or(0);
    if discarded > 0 {
        let _ = writeln!(text, "  {discarded} measurements were thrown away: the cores changed state");
    }
    text
}

fn line(text: &mut String, name: &str, said: &str) {
    let _ = writeln!(text, "  {name:24} {said}");
}

fn or_none(text: Option<String>) -> String {
    text.unwrap_or_default()
}

fn beside(text: &mut String, all: &Comparison) {
    let counted = all.rounds().unwrap_or_default();
    let times = all.times_better().map(Number::known);
    let ([Some(ratio), Some(least), Some(most)], None) = (times, &all.missing) else {
        match &all.missing {
            Some(why) => line(text, &all.name, why),
            None => line(text, &all.name, &format!("no figure: {}", rounds(counted))),
        }
        return;
    };
    let wanted = if all.is_valid() {
        or_none(all.wanted.known().map(|wanted| format!("   wanted: {wanted}")))
    } else {
        "   roof not valid: nothing is faster than a roof".to_owned()
    };
    let (shown, rounds) = (value(all.value, &all.unit), rounds(counted));
    line(text, &all.name, &format!("{shown}, linerate is {ratio:.2}x ({least:.2} to {most:.2}; {rounds}){wanted}"));
    if let Some(variant) = &all.variant {
        line(text, "", &format!("best of its variants: {variant}"));
    }
}

/// Core-to-core round trips before and after the rounds that count, ns; `None` for a bench that uses one core only.
pub(crate) fn round_trips(test: &Test) -> Option<Summary> {
    let counted = test.repeats.iter().filter(|repeat| repeat.valid);
    let mut trips: Vec<f64> =
        counted.flat_map(|repeat| [repeat.rtt_ns_before, repeat.rtt_ns_after]).filter_map(Number::known).collect();
    Summary::of_values(&mut trips, Unit::Ns)
}

/// Text such as `3 of 5 rounds`, with `only` in front if these are few.
fn rounds(counted: Counted) -> String {
    let only = if counted.few() { "only " } else { "" };
    format!("{only}{counted} rounds")
}

#[cfg(test)]
mod tests {
    use super::*;
    use linerate_result::{Kind, Repeat};

    /// A comparison: seven rounds of linerate, and five rounds of ratios to each of two peers.
    fn compared(own: &[f64], ratios: &[f64]) -> Compared {
        let valid = |&value: &f64| Repeat { value: value.into(), valid: true, ..Repeat::default() };
        let mut repeats: Vec<Repeat> = own.iter().map(valid).collect();
        repeats.resize(7, Repeat::default());
        let mut test = Test { id: "b".into(), title: "something".into(), repeats, ..Test::default() };
        test.summarize(Unit::BytesPerSecond);
        let beside = |kind, name| {
            let all = Comparison::new(kind, "b", name, "", Unit::BytesPerSecond, 20e9.into(), 1.0.into());
            let rounds: Vec<_> = ratios.iter().map(|ratio| ((*ratio).into(), 1.0.into())).collect();
            Comparison { wanted: 0.6.into(), ..all.with_rounds(&rounds, 5) }
        };
        let variant = Some("rep movsb, 4 KiB at a time".to_owned());
        let roof = Comparison { variant, ..beside(Kind::Roof, "memcpy") };
        Compared { test, comparisons: vec![roof, beside(Kind::Peer, "peer")] }
    }

    #[test]
    fn medians_stand_with_their_spread_and_how_many_rounds_counted() {
        let all = text(&compared(&[3e9, 1e9, 2e9, 9e9, 2e9], &[0.7, 0.6, 0.9]));
        assert!(all.contains("2.000 GB/s (1.000 GB/s to 9.000 GB/s; 5 of 7 rounds)\n"), "{all}");
        assert!(all.contains("20.000 GB/s, linerate is 0.70x (0.60 to 0.90; 3 of 5 rounds)   wanted: 0.6\n"), "{all}");
        assert!(all.contains("best of its variants: rep movsb, 4 KiB at a time\n"), "{all}");
        assert!(all.contains("  2 measurements were thrown away"), "{all}");
        let few = text(&compared(&[3e9, 1e9], &[0.7]));
        assert!(few.contains("; only 2 of 7 rounds)") && few.contains("; only 1 of 5 rounds)"), "{few}");
    }

    #[test]
    fn what_was_measured_in_vain_is_said() {
        let mut all = compared(&[], &[]);
        all.test.repeats.truncate(4);
        all.comparisons
            .push(Comparison { missing: Some("skipped: no such program".into()), ..all.comparisons[1].clone() });
        let text = text(&all);
        assert!(text.contains("linerate                 no figure: only 0 of 4 rounds\n"), "{text}");
        assert!(text.contains("peer                     no figure: only 0 of 5 rounds\n"), "{text}");
        assert!(text.contains("peer                     skipped: no such program\n"), "{text}");
        let mut failed = compared(&[], &[]).test;
        (failed.repeats, failed.failures) = (Vec::new(), vec!["it broke".into()]);
        let text = super::text(&Compared { test: failed, comparisons: Vec::new() });
        assert!(text.contains("failed                   it broke\n") && !text.contains("no round"), "{text}");
    }

    #[test]
    fn a_roof_that_is_passed_is_said_to_be_not_valid() {
        let text = text(&compared(&[3e9; 3], &[9.35; 3]));
        let lines: Vec<&str> = text.lines().filter(|line| line.contains("9.35x")).collect();
        assert!(lines[0].contains("memcpy") && lines[0].contains("roof not valid"), "{text}");
        assert!(lines[1].contains("peer") && lines[1].contains("wanted: 0.6"), "{text}");
    }
}

//! All details of each test, collapsed.

use linerate_result::{Test, Unit};
use maud::{Markup, html};

use super::drawn::{pairs, ports, table};
use crate::facts;
use crate::quantity::{count, value};
use crate::table::anchor;
use crate::tables;
use crate::view::{self, View, with_sense};

pub(super) fn tests(view: &View<'_>) -> Option<Markup> {
    let tests = || view.run.tests.iter().zip(&view.labels).enumerate();
    (!view.run.tests.is_empty()).then(|| html! { @for (index, (one, label)) in tests() { (test(index, one, label)) } })
}

fn test(index: usize, test: &Test, label: &str) -> Markup {
    html! {
        details class="test" {
            summary {
                span { (with_sense(label, &view::unit(test))) }
                span class="number" {
                    @match (&test.skipped, &test.value) {
                        (Some(_), _) => "skipped",
                        (None, Some(summary)) => {
                            @let class = test.counted().few().then_some("doubtful");
                            span class=[class] { (value(summary.median, &summary.unit)) " " small { (facts::standing(test)) } }
                        },
                        (None, None) => "no value",
                    }
                }
            }
            // The anchor is inside, so that following it opens the test.
            div id=(anchor(index)) {
                (pairs(&facts_of(test)))
                (ports(test.ports.iter()))
                @if let Some(why) = &test.skipped { p { "Skipped: " (why) } }
                @for failure in &test.failures { p class="bad" { "Failed: " (failure) } }
                @for warning in &test.warnings { p class="bad" { (warning) } }
                @if !test.repeats.is_empty() { h4 { "Repeats" } (table(&tables::repeats(test), "Repeats")) }
                @if !test.further.is_empty() {
                    h4 { "Further figures" }
                    @let further: Vec<_> = test.further.iter().map(|(name, summary)| {
                        (name.as_str(), value(summary.median, &summary.unit))
                    }).collect();
                    (pairs(&further))
                }
                @for (timed, latency) in test.latencies() {
                    @let what = if test.wire_bytes.is_none() { "requests" } else { "frames" };
                    h4 { "Latency" (timed) " of " (count(latency.count)) " " (what) }
                    @let quantiles: Vec<_> = latency.quantiles().into_iter().chain([("mean", latency.mean)])
                        .map(|(name, ns)| (name, value(ns, &Unit::Ns))).collect();
                    (pairs(&quantiles))
                }
                @if !test.connections.is_empty() { h4 { "TCP, at the sender" } (table(&tables::connections(test), "TCP, at the sender")) }
                @if let Some(ledger) = &test.ledger { h4 { "Ledger" } (table(&tables::ledger(ledger), "Ledger")) }
                @if !test.counters.is_empty() { h4 { "Raw counters" } (table(&tables::counters(test), "Raw counters")) }
            }
        }
    }
}

fn facts_of(test: &Test) -> Vec<(&str, String)> {
    let bytes = |bytes: Option<u32>| bytes.map(|bytes| format!("{bytes} B"));
    let fixed = [
        ("Id", Some(test.id.clone())),
        ("Workload", Some(test.workload.clone())),
        ("Frame in memory", bytes(test.frame_bytes)),
        ("Frame with FCS", bytes(test.wire_bytes)),
    ];
    let fixed = fixed.into_iter().filter_map(|(name, value)| Some((name, value?)));
    fixed.chain(test.parameters.iter().map(|(name, value)| (name.as_str(), value.to_string()))).collect()
}

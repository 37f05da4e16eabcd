//! The sections of the page, from the verdict to the command line.

use linerate_result::{Interface, Kind, Outcome, RunResult, SCHEMA, Summary, Test, Unit, VERSION};
use maud::{Markup, html};

use super::drawn::{pairs, ports, table};
use crate::facts::Headline;
use crate::quantity::{UNKNOWN, count, duration, ratio, value};
use crate::tables::Titled;
use crate::view::View;
use crate::{facts, proofs, published};

/// Headline and verdict.
pub(super) fn header(run: &RunResult, headline: &Headline) -> Markup {
    let (class, sign) = match run.outcome {
        Outcome::Pass => ("pass", "✓"),
        Outcome::Failed => ("failed", "✕"),
        Outcome::Gate => ("gate", "!"),
        Outcome::Partial => ("partial", "…"),
    };
    html! {
        p class="eyebrow" { "linerate" span { (run.start.readable()) } span { (duration(run.elapsed_s)) } span { "run " (run.run_id) } }
        h1 class=[headline.doubtful.then_some("doubtful")] { (headline.figure) }
        @if !headline.lead.is_empty() {
            p class=(if headline.doubtful { "lead doubtful" } else { "lead" }) { (headline.lead) }
        }
        @if !headline.under.is_empty() { p class="under" { @for line in &headline.under { (line) br; } } }
        div class=(format!("verdict {class}")) {
            span class="badge" { span aria-hidden="true" { (sign) } " " (run.outcome.word()) }
            div {
                p { (facts::verdict(run)) }
                @if let Some(away) = facts::thrown_away(run) { p class="doubtful" { (away) } }
                @if !run.reasons.is_empty() { ul { @for reason in &run.reasons { li { (reason) } } } }
            }
        }
    }
}

/// The machine; shown before any figure.
pub(super) fn machine(run: &RunResult) -> Markup {
    html! { section class="machine" aria-label="Measured on" { (pairs(&facts::machine(run))) } }
}

/// Four figures at a glance.
pub(super) fn tiles(view: &View<'_>) -> Markup {
    let run = view.run;
    let first = facts::first_figure(run);
    let of =
        |(_, test, _): (usize, &Test, &Summary)| run.comparisons.iter().find(|comparison| comparison.test == test.id);
    let compared = first.map_or(run.comparisons.first(), of);
    let proofs = proofs::summary(run);
    let latency = run.tests.iter().find_map(|test| Some((test, test.latency.as_ref()?)));
    let left = facts::unexplained(run);
    let ran = run.tests.iter().filter(|test| test.skipped.is_none()).count();
    html! {
        section class="tiles" aria-label="At a glance" {
            div {
                h2 { "Tests run" }
                p class="figure" { (ran) }
                p { "of " (run.tests.len()) ", " (run.tests.len() - ran) " skipped" }
            }
            div {
                h2 { (match compared.map(|c| c.kind) {
                    _ if proofs.is_some() => "Changes that help",
                    Some(Kind::Peer) => "Beside a peer",
                    _ => "Beside published",
                }) }
                @match compared {
                    _ if let Some(proofs) = proofs => {
                        p class="figure" { (proofs.helps) }
                        p { "of " (proofs.tried) " tried" }
                    },
                    Some(c) => {
                        @let test = run.tests.iter().find(|test| test.id == c.test);
                        @let doubtful = test.is_some_and(|test| test.counted().few());
                        p class=(if doubtful { "figure doubtful" } else { "figure" }) { (ratio(c.ratio)) }
                        p { (value(c.value, &c.unit)) ", " (c.name) @if let Some(test) = test { "; " (test.counted()) " repeats" } }
                    },
                    None => { p class="figure quiet" { (UNKNOWN) } p { "nothing to compare with" } },
                }
            }
            div {
                h2 { "Latency, median" }
                @match latency {
                    Some((test, latency)) => {
                        p class="figure" { (value(latency.p50, &Unit::Ns)) }
                        p { "99 % within " (value(latency.p99, &Unit::Ns)) ", " (test.id) ", of " (count(latency.count)) " timed" }
                    },
                    None => { p class="figure quiet" { (UNKNOWN) } p { "not measured" } },
                }
            }
            div {
                h2 { "Unexplained frames" }
                @match left {
                    Some(frames) => {
                        p class=(if frames == 0 { "figure good" } else { "figure bad" }) { (count(frames)) }
                        p { (count(facts::received(run))) " received" }
                    },
                    None => { p class="figure quiet" { (UNKNOWN) } p { "not counted" } },
                }
            }
        }
    }
}

/// Warnings; shown before the figures.
pub(super) fn warnings(view: &View<'_>) -> Markup {
    let warnings = facts::warnings(view);
    html! {
        @if !warnings.is_empty() {
            section class="warnings" aria-label="Warnings" {
                h2 { "Warnings" }
                ul { @for (test, warning) in warnings { li { code { (test.id) } " " (warning) } } }
            }
        }
    }
}

pub(super) fn setup(run: &RunResult) -> Option<Markup> {
    let used = || run.tests.iter().flat_map(|test| &test.ports);
    (used().next().is_some() || !run.environment.interfaces.is_empty()).then(|| html! {
        (ports(used()))
        @for (name, interface) in &run.environment.interfaces {
            div class="interface" { h3 { "Interface " code { (name) } } (pairs(&facts_of(interface))) (offloads(interface)) }
        }
    })
}

fn facts_of(interface: &Interface) -> Vec<(&'static str, String)> {
    [
        ("Driver", interface.driver.clone()),
        ("Firmware", interface.firmware.clone()),
        ("MTU", interface.mtu.map(|mtu| format!("{mtu} bytes"))),
        ("Speed, as claimed", interface.speed_mbps.map(|speed| format!("{} Mb/s", count(speed.into())))),
        ("State", interface.state.clone()),
        ("NUMA node", interface.numa_node.map(|node| node.to_string())),
        ("Queues", interface.queues.map(|queues| format!("{} tx, {} rx", queues.tx, queues.rx))),
    ]
    .into_iter()
    .filter_map(|(name, value)| Some((name, value?)))
    .collect()
}

fn offloads(interface: &Interface) -> Markup {
    let names = |wanted: bool| {
        let all = interface.offloads.iter().flatten();
        all.filter(|&(_, &on)| on == wanted).map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(", ")
    };
    html! {
        @if interface.offloads.is_some() {
            details {
                summary { "Offloads" }
                dl class="long" { div { dt { "On" } dd { (names(true)) } } div { dt { "Off" } dd { (names(false)) } } }
            }
        }
    }
}

/// A table and how to read it; below rates of frames the published ones, and processor time folded.
pub(super) fn titled(view: &View<'_>, titled: &Titled) -> Markup {
    let frames =
        facts::first_figure(view.run).filter(|(_, _, figure)| titled.id == "results" && figure.unit == Unit::Pps);
    html! {
        @if !titled.alike.is_empty() { p class="reading" { "Each with " (titled.alike) "." } }
        @if !titled.reading.is_empty() { p class="reading" { (titled.reading) } }
        @if titled.id == "cpu" {
            details { summary { (titled.table.rows.len()) " threads" } (table(&titled.table, &titled.title)) }
        } @else {
            (table(&titled.table, &titled.title))
        }
        @if let (Some(_), Ok(figures)) = (frames, published::t5_netmap()) {
            p class="reading" {
                "Published for 64-byte frames: "
                @for (index, figure) in figures.iter().enumerate() {
                    @if index > 0 { ", " }
                    (figure.configuration) " " (value(figure.pps.into(), &Unit::Pps))
                }
                @if let Some(figure) = figures.first() { ". " (figure.source) }
            }
        }
    }
}

/// Tests that did not run, with the reasons.
pub(super) fn skipped(run: &RunResult) -> Option<Markup> {
    let skipped: Vec<_> = run.tests.iter().filter_map(|test| Some((test, test.skipped.as_ref()?))).collect();
    (!skipped.is_empty()).then(|| html! { ul { @for (test, why) in skipped { li { code { (test.id) } " " (why) } } } })
}

/// Command line to repeat the run, schema, and exit code.
pub(super) fn footer(run: &RunResult) -> Markup {
    let all = facts::counted(run);
    html! {
        pre { code { (run.command_line.join(" ")) } }
        p {
            (SCHEMA) " version " (VERSION) ", run " (run.run_id) ", " (all) " repeats count, exit code " (run.exit_code())
        }
        p class="paper" { "Processor time, each test's repeats, latencies and counters are in the page itself, folded." }
    }
}

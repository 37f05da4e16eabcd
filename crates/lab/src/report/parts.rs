//! The sections of the page, from the verdict to the command line.

use linerate_load::result::{Interface, Kind, Outcome, RunResult, SCHEMA, Test, VERSION, unit};
use maud::{Markup, html};

use super::tables::{pairs, ports, table};
use crate::quantity::{UNKNOWN, count, duration, per_cent, ratio, value};
use crate::{facts, published, sweep, tables};

/// Headline and verdict.
pub(super) fn header(run: &RunResult) -> Markup {
    let (class, sign) = match run.outcome {
        Outcome::Pass => ("pass", "✓"),
        Outcome::Failed => ("failed", "✕"),
        Outcome::Gate => ("gate", "!"),
        Outcome::Partial => ("partial", "…"),
    };
    html! {
        p class="eyebrow" { "linerate" span { (run.start.readable()) } span { (duration(run.elapsed_s)) } span { "run " (run.run_id) } }
        @match (facts::best_rate(run), sweep::glance(run)) {
            (Some((test, rate)), _) => {
                h1 { (value(rate.into(), unit::PPS)) }
                p class="lead" { (facts::route(&test.ports)) }
                p class="under" { (about(test)) }
            },
            (None, Some(sweep)) if let Some(range) = sweep.range() => {
                h1 { (range) }
                p class="lead" { (sweep.about()) }
                p class="under" { @for span in &sweep.spans { (span.line()) br; } }
            },
            _ => h1 { (facts::headline(run)) },
        }
        div class=(format!("verdict {class}")) {
            span class="badge" { span aria-hidden="true" { (sign) } " " (run.outcome.word()) }
            div {
                p { (facts::verdict(run)) }
                @if !run.reasons.is_empty() { ul { @for reason in &run.reasons { li { (reason) } } } }
            }
        }
    }
}

/// What a test is, in a line: its title, and the paths its ports really got.
fn about(test: &Test) -> String {
    let mut paths: Vec<&str> = Vec::new();
    for port in &test.ports {
        if !port.path.is_empty() && !paths.contains(&port.path.as_str()) {
            paths.push(&port.path);
        }
    }
    let title = if test.title.is_empty() { &test.id } else { &test.title };
    if paths.is_empty() { title.clone() } else { format!("{title}. Path: {}", paths.join("; ")) }
}

/// Four figures at a glance.
pub(super) fn tiles(run: &RunResult) -> Markup {
    let best = facts::best_rate(run);
    let of = |(test, _): (&Test, f64)| run.comparisons.iter().find(|comparison| comparison.test == test.id);
    let compared = best.map_or(run.comparisons.first(), of);
    let sweep = sweep::glance(run).filter(|_| best.is_none());
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
                h2 { (match compared.map(|c| c.kind) { Some(Kind::Peer) => "Beside a peer", _ => "Beside published" }) }
                @match (sweep, compared) {
                    (Some(sweep), _) => {
                        p class="figure" { (sweep.range().unwrap_or_else(|| UNKNOWN.to_owned())) }
                        p { (sweep.about()) }
                    },
                    (None, Some(c)) => { p class="figure" { (ratio(c.ratio)) } p { (value(c.value, &c.unit)) ", " (c.name) } },
                    (None, None) => { p class="figure quiet" { (UNKNOWN) } p { "nothing to compare with" } },
                }
            }
            div {
                h2 { "Latency, median" }
                @match latency {
                    Some((test, latency)) => {
                        p class="figure" { (value(latency.p50, "ns")) }
                        p { "99 % within " (value(latency.p99, "ns")) ", " (test.id) }
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

/// Warnings, before anybody trusts a figure.
pub(super) fn warnings(run: &RunResult) -> Markup {
    let warnings: Vec<(&Test, &String)> =
        run.tests.iter().flat_map(|test| test.warnings.iter().map(move |warning| (test, warning))).collect();
    html! {
        @if !warnings.is_empty() {
            section class="warnings" {
                h2 { "Warnings" }
                ul { @for (test, warning) in warnings { li { code { (test.id) } " " (warning) } } }
            }
        }
    }
}

/// The machine, the interfaces and the ports.
pub(super) fn environment(run: &RunResult) -> Markup {
    html! {
        section {
            h2 { "Measured on" }
            (pairs(&facts::machine(&run.environment)))
            (ports(run.tests.iter().flat_map(|test| &test.ports)))
            @for (name, interface) in &run.environment.interfaces {
                div class="interface" { h3 { "Interface " code { (name) } } (pairs(&facts_of(interface))) (offloads(interface)) }
            }
        }
    }
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

/// A sweep's points beside the published ones.
pub(super) fn sweep(run: &RunResult) -> Markup {
    let beside = sweep::beside(run);
    html! {
        @if !beside.rows.is_empty() {
            section {
                h2 { "FCoE, beside the published table" }
                p class="reading" {
                    "MB/s and IOPS are all initiators' together, CPU is the target's, per cent of its cores. "
                    @if let Ok(setup) = published::fcoe::setup() { "Published: " (setup) }
                }
                (table(&beside, "FCoE, beside the published table"))
            }
        }
    }
}

/// Every test's value beside the published figures.
pub(super) fn results(run: &RunResult) -> Markup {
    html! {
        section {
            h2 { "Results" }
            @if run.tests.is_empty() { p class="quiet" { "The run has no tests." } }
            @else { (table(&tables::summary(run), "Results")) }
            @if let Ok(figures) = published::t5_netmap() {
                p class="reading" {
                    "Rates are medians of the valid repeats, summed over the sending ports. Published for 64-byte frames: "
                    @for (index, figure) in figures.iter().enumerate() {
                        @if index > 0 { ", " }
                        (figure.configuration) " " (value(figure.pps.into(), unit::PPS))
                    }
                    @if let Some(figure) = figures.first() { ". " (figure.source) }
                }
            }
        }
    }
}

/// The conservation ledgers.
pub(super) fn ledgers(run: &RunResult) -> Markup {
    let ledgers = tables::ledgers(run);
    html! {
        @if !ledgers.rows.is_empty() {
            section {
                h2 { "What became of every frame" }
                p class="reading" {
                    "offered = sent + refused; sent = received + dropped + in flight. Each term is counted where it happens; \
                     what they leave over, on either side, is unexplained."
                }
                (table(&ledgers, "Ledgers"))
            }
        }
    }
}

/// Processor time.
pub(super) fn cpu(run: &RunResult) -> Markup {
    let cpu = tables::cpu(run);
    html! {
        @if !cpu.rows.is_empty() {
            section {
                h2 { "Processor time" }
                p class="reading" { "Over the whole test. A thread that polls is always busy; the last column says how often it found work." }
                (table(&cpu, "Processor time"))
            }
        }
    }
}

/// Tests that did not run, and why.
pub(super) fn skipped(run: &RunResult) -> Markup {
    let skipped: Vec<_> = run.tests.iter().filter_map(|test| Some((test, test.skipped.as_ref()?))).collect();
    html! {
        @if !skipped.is_empty() {
            section {
                h2 { "Skipped" }
                ul { @for (test, why) in skipped { li { code { (test.id) } " " (why) } } }
            }
        }
    }
}

/// How to do it again.
pub(super) fn footer(run: &RunResult) -> Markup {
    let valid = run.tests.iter().flat_map(|test| &test.repeats).filter(|repeat| repeat.valid).count();
    let all = run.tests.iter().map(|test| test.repeats.len()).sum::<usize>();
    #[expect(clippy::cast_precision_loss, reason = "a share to three digits")]
    let share = if all > 0 { format!(" ({})", per_cent((valid as f64 / all as f64).into())) } else { String::new() };
    html! {
        pre { code { (run.command_line.join(" ")) } }
        p {
            (SCHEMA) " version " (VERSION) ", run " (run.run_id) ", " (valid) " of " (all) " repeats valid" (share)
            ", exit code " (run.exit_code())
        }
    }
}

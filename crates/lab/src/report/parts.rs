//! The sections of the page, from the verdict to the command line.

use linerate_result::{Interface, Kind, Outcome, RunResult, SCHEMA, Summary, Test, Unit, VERSION};
use maud::{Markup, html};

use super::tables::{pairs, ports, table};
use crate::quantity::{UNKNOWN, count, duration, ratio, value};
use crate::{facts, fcoe, proofs, published, streams, tables};

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
        @match (facts::first_rate(run), fcoe::summary(run)) {
            (Some((test, summary)), _) => {
                @let doubtful = test.counted().few();
                h1 class=[doubtful.then_some("doubtful")] { (value(summary.median, &Unit::Pps)) }
                p class=(if doubtful { "lead doubtful" } else { "lead" }) { (facts::standing(test)) }
                p class="under" { (about(test)) @if !test.ports.is_empty() { ", " (facts::route(&test.ports)) } }
            },
            (None, Some(sweep)) if let Some(range) = sweep.range() => {
                h1 { (range) }
                p class="lead" { (sweep.about()) }
                p class="under" { @for span in &sweep.spans { (span.line()) br; } }
            },
            _ if let Some(sweep) = streams::summary(run) => {
                    h1 { (sweep.headline()) }
                    p class="lead" { (sweep.about()) }
                    p class="under" { @for line in &sweep.lines { (line) br; } }
                },
                _ if let Some(proofs) = proofs::summary(run) => {
                    h1 { (proofs.headline) }
                    p class="lead" { "each measured in rounds with the change and without it, in turns" }
                    p class="under" { @for line in &proofs.lines { (line) br; } }
                },
                _ if let Some((test, figure)) = facts::first_figure(run) => {
                    h1 { (value(figure.median, &figure.unit)) }
                    p class="lead" { (facts::standing(test)) }
                    p class="under" { (about(test)) }
                },
                _ => h1 { (facts::headline(run)) },
        }
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

/// Description of a test in one line: its title, and the paths that its ports actually use.
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

/// The machine; shown before any figure.
pub(super) fn machine(run: &RunResult) -> Markup {
    html! { section class="machine" aria-label="Measured on" { (pairs(&facts::machine(run))) } }
}

/// Four figures at a glance.
pub(super) fn tiles(run: &RunResult) -> Markup {
    let first = facts::first_rate(run);
    let of = |(test, _): (&Test, &Summary)| run.comparisons.iter().find(|comparison| comparison.test == test.id);
    let compared = first.map_or(run.comparisons.first(), of);
    let sweep = fcoe::summary(run).filter(|_| first.is_none());
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
                @match (sweep, compared) {
                    _ if let Some(proofs) = proofs => {
                        p class="figure" { (proofs.helps) }
                        p { "of " (proofs.tried) " tried" }
                    },
                    (Some(sweep), _) => {
                        p class="figure" { (sweep.range().unwrap_or_else(|| UNKNOWN.to_owned())) }
                        p { (sweep.about()) }
                    },
                    (None, Some(c)) => {
                        @let test = run.tests.iter().find(|test| test.id == c.test);
                        @let doubtful = test.is_some_and(|test| test.counted().few());
                        p class=(if doubtful { "figure doubtful" } else { "figure" }) { (ratio(c.ratio)) }
                        p { (value(c.value, &c.unit)) ", " (c.name) @if let Some(test) = test { "; " (test.counted()) " repeats" } }
                    },
                    (None, None) => { p class="figure quiet" { (UNKNOWN) } p { "nothing to compare with" } },
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
pub(super) fn warnings(run: &RunResult) -> Markup {
    let warnings = facts::warnings(run);
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

/// Table of a sweep's points beside the published ones.
pub(super) fn sweep(run: &RunResult) -> Option<Markup> {
    let beside = fcoe::beside(run);
    (!beside.rows.is_empty()).then(|| html! {
        p class="reading" {
            "MB/s (10⁶ bytes a second) and IOPS are all initiators' together, 50/50 counts both directions. CPU is the \
             target's, per cent of all its cores. "
            @if let Ok(setup) = published::fcoe::setup() { "Published: " (setup) }
        }
        (table(&beside, "FCoE, beside the published table"))
    })
}

pub(super) fn streams(run: &RunResult) -> Option<Markup> {
    let beside = streams::beside(run);
    (!beside.rows.is_empty()).then(|| html! {
        p class="reading" {
            "Goodput: bits that arrived per second, without headers, all streams together, both directions if there are two; \
             higher is better. CPU: processor time of the threads of the test at the end that asks for it, and at the other \
             one, per cent of one core; with the kernel's sockets, work that the kernel does in interrupts is not in it."
        }
        (table(&beside, "Streams"))
    })
}

/// Table of every test's value beside the published figures.
pub(super) fn results(run: &RunResult) -> Option<Markup> {
    let summary = tables::summary(run);
    (!summary.rows.is_empty()).then(|| html! {
        p class="reading" {
            "Medians of the repeats that count, with the least and the greatest of them; rates are sums over the sending \
             ports. A repeat does not count if the time from core to core changed meanwhile. Amber, “only”: repeats were \
             thrown away, and fewer than three or fewer than half are left."
        }
        (table(&summary, "Results"))
        @if let (Some(_), Ok(figures)) = (facts::first_rate(run), published::t5_netmap()) {
            p class="reading" {
                "Published for 64-byte frames: "
                @for (index, figure) in figures.iter().enumerate() {
                    @if index > 0 { ", " }
                    (figure.configuration) " " (value(figure.pps.into(), &Unit::Pps))
                }
                @if let Some(figure) = figures.first() { ". " (figure.source) }
            }
        }
    })
}

/// Table of what was measured beside each test's figure.
pub(super) fn further(run: &RunResult) -> Option<Markup> {
    let further = tables::further(run);
    (!further.rows.is_empty()).then(|| {
        html! {
            p class="reading" { "Medians of the repeats. Here is the end that wrote the log, there the other one." }
            (table(&further, "Beside the figures"))
        }
    })
}

pub(super) fn ledgers(run: &RunResult) -> Option<Markup> {
    let ledgers = tables::ledgers(run);
    (!ledgers.rows.is_empty()).then(|| html! {
        p class="reading" {
            "All columns count frames. offered = sent + refused; sent = received + dropped + in flight. Each term is counted \
             where it happens; what they leave over, on either side, is unexplained."
        }
        (table(&ledgers, "Ledgers"))
    })
}

/// Processor time, collapsed.
pub(super) fn cpu(run: &RunResult) -> Option<Markup> {
    let cpu = tables::cpu(run);
    (!cpu.rows.is_empty()).then(|| html! {
        p class="reading" {
            "Seconds of a core that each thread took, all repeats of a test together. A thread that polls is always busy; the \
             last column says how often it found work."
        }
        details { summary { (cpu.rows.len()) " threads" } (table(&cpu, "Processor time")) }
    })
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

//! Summary of a result in a few words: its headline, its verdict, and sums over its tests.

use linerate_result::{Counted, Environment, Number, Outcome, PortUsed, Role, RunResult, Summary, Test, Unit};

use crate::sweep::PLANNED;
use crate::view::{self, Group, View, with_sense, word};
use crate::{proofs, quantity};

/// The figure that represents the run: the first one in the order of the plan. It is chosen by its place, not by its value: the
/// greatest of many medians is a stroke of luck. A paced rate is left out, since it was given, and so are whole paths, whose
/// stages are the figures.
pub(crate) fn first_figure(run: &RunResult) -> Option<(usize, &Test, &Summary)> {
    let tests = run.tests.iter().enumerate();
    tests.filter(|(_, test)| test.workload != "paced" && test.stages.is_empty()).find_map(|(index, test)| {
        Some((index, test, test.value.as_ref().filter(|value| value.median.known().is_some())?))
    })
}

/// Basis of a figure: `median of 4 of 5 repeats, 43.2 to 45.1 Mpps`; empty when the number of repeats is not known.
pub(crate) fn standing(test: &Test) -> String {
    let (counted, Some(value)) = (test.counted(), &test.value) else { return String::new() };
    match (counted.made, counted.counted) {
        (0, _) | (_, 0) => String::new(),
        (1, _) => "measured once".to_owned(),
        (_, 1) => format!("only {counted} repeats counted"),
        _ => {
            let only = if counted.few() { "only " } else { "" };
            format!("median of {only}{counted} repeats, {}", quantity::range(value.least, value.greatest, &value.unit))
        }
    }
}

/// All repeats of a run, and those that count.
pub(crate) fn counted(run: &RunResult) -> Counted {
    run.tests
        .iter()
        .map(Test::counted)
        .fold(Counted::default(), |all, one| Counted { counted: all.counted + one.counted, made: all.made + one.made })
}

/// Number of repeats that were discarded, and how the figures that suffer from it are marked; `None` when all count.
pub(crate) fn thrown_away(run: &RunResult) -> Option<String> {
    let all = counted(run);
    let away = all.made - all.counted;
    let few = run.tests.iter().filter(|test| test.counted().few()).count();
    let marked = match few {
        0 => "every figure keeps three repeats and half of them".to_owned(),
        1 => "one figure with fewer than three, or fewer than half of its repeats left is marked “only”".to_owned(),
        n => format!("{n} figures with fewer than three, or fewer than half of their repeats left are marked “only”"),
    };
    (away > 0).then(|| format!("{away} of {} do not count; {marked}.", linerate_text::many(all.made, "repeat")))
}

/// The run at a glance.
pub(crate) struct Headline {
    pub(crate) figure: String,
    /// Words behind the figure: how often and how it was measured.
    pub(crate) lead: String,
    /// Tests and conditions of the figure, a line each.
    pub(crate) under: Vec<String>,
    /// True if too little of it counts.
    pub(crate) doubtful: bool,
    /// All of it in one line.
    pub(crate) line: String,
}

/// The first figure of the plan with its spread and its ports; of a sweep the span of its first metric.
pub(crate) fn headline(view: &View<'_>) -> Headline {
    let run = view.run;
    let plain = |figure: &str| Headline {
        figure: figure.to_owned(),
        lead: String::new(),
        under: Vec::new(),
        doubtful: false,
        line: figure.to_owned(),
    };
    if let Some(proofs) = proofs::summary(run) {
        let lead = "each measured in rounds with the change and without it, in turns".to_owned();
        return Headline { lead, under: proofs.lines, ..plain(&proofs.headline) };
    }
    let Some((index, test, figure)) = first_figure(run) else {
        let stages = run.tests.iter().any(|test| !test.stages.is_empty());
        return plain(if stages { "Nanoseconds, stage by stage" } else { "Nothing was measured" });
    };
    if let Some(of_sweep) = sweep(view, index) {
        return of_sweep;
    }
    let (standing, label) = (standing(test), &view.labels[index]);
    let lead = with_sense(&standing, &figure.unit).trim_start_matches(", ").to_owned();
    let route = Some(route(&test.ports)).filter(|route| figure.unit == Unit::Pps && !route.is_empty());
    let of = route.clone().unwrap_or_else(|| label.clone());
    let mut paths: Vec<&str> =
        test.ports.iter().map(|port| port.path.as_str()).filter(|path| !path.is_empty()).collect();
    paths.dedup();
    let paths = if paths.is_empty() { String::new() } else { format!(". Path: {}", paths.join("; ")) };
    let under = format!("{label}{paths}{}", route.map_or_else(String::new, |route| format!(", {route}")));
    let value = quantity::value(figure.median, &figure.unit);
    let stands = if lead.is_empty() { String::new() } else { format!(" ({lead})") };
    let of = Some(of).filter(|of| !of.is_empty()).map_or_else(String::new, |of| format!(", {of}"));
    let line = format!("{value}{stands}{of}");
    Headline { figure: value, lead, under: vec![under], doubtful: test.counted().few(), line }
}

/// The headline of a sweep that begins with this test: of several points the span of their first metric.
fn sweep(view: &View<'_>, first: usize) -> Option<Headline> {
    let run = view.run;
    let planned = |test: &Test| usize::try_from(test.parameters.get(PLANNED)?.count()?).ok();
    let most = planned(&run.tests[first])?;
    let group = view.groups.iter().find(|group| group.points.iter().any(|(index, _)| *index == first))?;
    let done = run.tests.iter().filter(|test| planned(test).is_some() && test.value.is_some()).count();
    let known = |of: &Group<'_>| {
        let mut points: Vec<(f64, usize)> =
            of.points.iter().filter_map(|(index, test)| Some((test.value.as_ref()?.median.known()?, *index))).collect();
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        points.first().copied().zip(points.last().copied())
    };
    let (least, greatest) = known(group)?;
    if done < 2 {
        return None;
    }
    let metric = &group.metrics[0];
    let spans = |least: f64, greatest: f64, unit: &Unit| match least == greatest {
        true => quantity::value(least.into(), unit),
        false => quantity::range(least.into(), greatest.into(), unit),
    };
    let figure = spans(least.0, greatest.0, &metric.unit);
    let counted: Vec<usize> = run.tests.iter().map(|test| test.counted().counted).filter(|n| *n > 0).collect();
    let times = match (counted.iter().min(), counted.iter().max()) {
        (Some(1), Some(1)) => ", each measured once".to_owned(),
        (Some(least), Some(most)) if least == most => format!(", medians of {least} repeats each"),
        (Some(least), Some(most)) => format!(", medians of {least} to {most} repeats"),
        _ => String::new(),
    };
    let of_metric = |group: &Group<'_>| {
        let beside = |(_, test): &(usize, &Test)| view::beside(run, test, test.value.as_ref()?)?.ratio.known();
        group.points.iter().filter_map(beside).collect::<Vec<_>>()
    };
    let beside = |ratios: &[f64]| {
        let (least, greatest) =
            (ratios.iter().copied().fold(f64::MAX, f64::min), ratios.iter().copied().fold(0.0, f64::max));
        let [least, greatest] = [least, greatest].map(|ratio| quantity::ratio(ratio.into()));
        match ratios.len() {
            0 => String::new(),
            _ if least == greatest => format!("; {least} of what was published"),
            _ => format!("; {least} to {greatest} of what was published"),
        }
    };
    let name = with_sense(&format!("{} of {}", metric.title.to_lowercase(), group.title), &metric.unit);
    let lead = format!(
        "{name}; {done} of {}{times}{}",
        linerate_text::many(most.max(done), "point"),
        beside(&of_metric(group))
    );
    let line = |group: &Group<'_>| {
        let (least, greatest) = known(group)?;
        let of = |(value, index): (f64, usize)| {
            let told = group.axes.iter().map(|axis| format!("{} {}", word(axis), view::at(&run.tests[index], axis)));
            format!(
                "{} ({})",
                quantity::value(value.into(), &group.metrics[0].unit),
                told.collect::<Vec<_>>().join(", ")
            )
        };
        let span = if least.1 == greatest.1 { of(least) } else { format!("{} to {}", of(least), of(greatest)) };
        Some(format!("{}: {span}{}", group.title, beside(&of_metric(group))))
    };
    let line_of_all = format!("{figure} {lead}");
    let under = view.groups.iter().filter_map(line).collect();
    Some(Headline { figure, lead, under, doubtful: false, line: line_of_all })
}

/// Senders and receivers as typed: `a, b → c`.
pub(crate) fn route(ports: &[PortUsed]) -> String {
    let names = |wanted: &[Role]| {
        ports
            .iter()
            .filter(|port| wanted.contains(&port.role))
            .map(|port| port.name.as_str())
            .collect::<Vec<_>>()
            .join(", ")
    };
    match (names(&[Role::Tx]), names(&[Role::Rx]), names(&[Role::Both])) {
        (tx, rx, both) if both.is_empty() && !tx.is_empty() && !rx.is_empty() => format!("{tx} → {rx}"),
        (tx, rx, both) => [tx, both, rx].into_iter().filter(|names| !names.is_empty()).collect::<Vec<_>>().join(" ↔ "),
    }
}

/// The outcome as a sentence. Gates are spoken of where there are any.
pub(crate) fn verdict(run: &RunResult) -> String {
    let gates = run.tests.iter().map(|test| test.wanted).chain(run.comparisons.iter().map(|all| all.wanted));
    let sentence = match run.outcome {
        Outcome::Pass if run.tests.is_empty() => "There was no test.",
        Outcome::Pass if gates.filter_map(Number::known).next().is_some() => "Every test ran and every gate held.",
        Outcome::Pass => "Every test ran.",
        Outcome::Failed => "A test failed.",
        Outcome::Gate => "Every test ran, but a gate or comparison was not met.",
        Outcome::Partial => "Some tests did not run to their end.",
    };
    match run.signal {
        Some(signal) => format!("{sentence} Signal {signal} ended the run early."),
        None => sentence.to_owned(),
    }
}

/// Remarks to be read before a figure is trusted, each with its test: warnings, and reasons for doubt. Failures are among the
/// reasons for the outcome instead.
pub(crate) fn warnings<'a>(view: &'a View<'a>) -> Vec<(&'a Test, &'a String)> {
    let of = |(index, test): (usize, &'a Test)| {
        test.warnings.iter().chain(view.doubts.get(&index)).map(move |warning| (test, warning))
    };
    view.run.tests.iter().enumerate().flat_map(of).collect()
}

/// Unexplained frames over all ledgers; `None` when no test has a ledger whose frames were counted.
pub(crate) fn unexplained(run: &RunResult) -> Option<u64> {
    let frames = run.tests.iter().filter_map(|test| test.ledger.as_ref()?.settle().frames());
    frames.reduce(u64::saturating_add)
}

/// Frames received, summed over all ledgers.
pub(crate) fn received(run: &RunResult) -> u64 {
    let frames = run.tests.iter().filter_map(|test| test.ledger.as_ref()?.received);
    frames.fold(0, u64::saturating_add)
}

/// Ports that were opened with the same path, MTU and queues.
pub(crate) struct Alike<'a> {
    /// Names of the ports as typed, each once, in order of first use.
    pub(crate) names: Vec<&'a str>,
    pub(crate) path: &'a str,
    pub(crate) shape: String,
}

/// Groups the ports by path, MTU and queues.
pub(crate) fn ports<'a>(ports: impl Iterator<Item = &'a PortUsed>) -> Vec<Alike<'a>> {
    let mut list: Vec<Alike<'a>> = Vec::new();
    for port in ports {
        let shape = port_shape(port);
        match list.iter_mut().find(|alike| alike.path == port.path && alike.shape == shape) {
            Some(alike) if alike.names.contains(&port.name.as_str()) => {}
            Some(alike) => alike.names.push(&port.name),
            None => list.push(Alike { names: vec![&port.name], path: &port.path, shape }),
        }
    }
    list
}

/// MTU and queues of a port: `MTU 1500, queues 4 tx 4 rx`.
fn port_shape(port: &PortUsed) -> String {
    let mtu = port.mtu.map(|mtu| format!("MTU {mtu}"));
    let queues = port.queues.map(|queues| format!("queues {} tx {} rx", queues.tx, queues.rx));
    [mtu, queues].into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// The known facts of the machine, with their names.
pub(crate) fn machine(run: &RunResult) -> Vec<(&'static str, String)> {
    let environment = &run.environment;
    let pages = environment.huge_pages_2m.map(|pages| format!("{} of {} free", pages.free, pages.total));
    [
        ("CPU", environment.cpu.clone()),
        ("Cores", environment.cores.map(|cores| cores.to_string())),
        ("Core to core and back", round_trip(run)),
        ("Interfaces", adapters(environment)),
        ("Memory", environment.memory_bytes.map(quantity::memory)),
        ("2 MiB pages", pages),
        ("Hypervisor", environment.hypervisor.clone()),
        ("Kernel", environment.kernel.clone()),
        ("System", environment.os.clone()),
        ("Host", environment.host.clone()),
        ("linerate", environment.linerate.clone()),
        ("Build", environment.build.clone()),
    ]
    .into_iter()
    .filter_map(|(name, value)| Some((name, value?)))
    .collect()
}

/// Round trip of a cache line between two cores, over all repeats: `120 ns (117 ns to 241 ns)`.
fn round_trip(run: &RunResult) -> Option<String> {
    let repeats = run.tests.iter().flat_map(|test| &test.repeats);
    let mut trips: Vec<f64> =
        repeats.flat_map(|repeat| [repeat.rtt_ns_before, repeat.rtt_ns_after]).filter_map(|ns| ns.known()).collect();
    let all = Summary::of_values(&mut trips, Unit::Ns)?;
    let spread = quantity::range(all.least, all.greatest, &Unit::Ns);
    Some(format!("{} ({spread})", quantity::value(all.median, &Unit::Ns)))
}

/// The interfaces that the tests used, with driver, speed and firmware:
/// `eth0: mlx5_core, 100000 Mb/s claimed, firmware 16.35`.
fn adapters(environment: &Environment) -> Option<String> {
    let list = environment.interfaces.iter().map(|(name, interface)| {
        let speed = interface.speed_mbps.map(|speed| format!("{speed} Mb/s claimed"));
        let firmware = interface.firmware.as_ref().map(|version| format!("firmware {version}"));
        let known: Vec<String> = [interface.driver.clone(), speed, firmware].into_iter().flatten().collect();
        if known.is_empty() { name.clone() } else { format!("{name}: {}", known.join(", ")) }
    });
    Some(list.collect::<Vec<_>>().join("; ")).filter(|list| !list.is_empty())
}

#[cfg(test)]
mod tests {
    use linerate_result::{Outcome, PortUsed, Repeat, Role, RunResult, Test, Timestamp, Unit};

    use super::{first_figure, ports, route, thrown_away, verdict};
    use crate::view::View;

    fn headline(run: &RunResult) -> String {
        super::headline(&View::of(run)).line
    }

    fn rate(id: &str, values: &[(f64, bool)]) -> Test {
        let repeat = |&(value, valid): &(f64, bool)| Repeat { value: value.into(), valid, ..Repeat::default() };
        let mut test = Test { id: id.to_owned(), workload: "tx".to_owned(), ..Test::default() };
        test.repeats = values.iter().map(repeat).collect();
        test.summarize(Unit::Pps);
        test
    }

    fn run(tests: Vec<Test>) -> RunResult {
        let mut run = RunResult::new("r".to_owned(), Vec::new(), Timestamp::default());
        run.tests = tests;
        run
    }

    #[test]
    fn the_headline_is_a_median_with_its_spread_and_not_the_maximum_of_all() {
        let plain = rate("tx-64", &[(2e6, true), (4e6, true), (3e6, true), (9e6, false)]);
        let lucky = rate("tx-128", &[(50e6, true), (1e6, false), (1e6, false)]);
        let paced = Test { workload: "paced".to_owned(), ..rate("paced", &[(1e6, true)]) };
        let run = run(vec![paced, plain, lucky]);
        assert_eq!(first_figure(&run).unwrap().1.id, "tx-64");
        assert_eq!(headline(&run), "3.000 Mpps (median of 3 of 4 repeats, 2.000 to 4.000 Mpps), tx-64");
    }

    #[test]
    fn the_headline_is_the_first_figure_and_gates_are_spoken_of_where_there_are_any() {
        let mut stream = Test { id: "tcp".to_owned(), workload: "iperf-tcp".to_owned(), ..Test::default() };
        stream.repeats = vec![Repeat { value: 28.2e9.into(), valid: true, ..Repeat::default() }];
        stream.summarize(Unit::BitsPerSecond);
        let mut run = run(vec![stream]);
        assert_eq!(headline(&run), "28.200 Gb/s (measured once), tcp");
        run.outcome = Outcome::Pass;
        assert_eq!(verdict(&run), "Every test ran.");
        run.tests[0].wanted = 1e9.into();
        assert_eq!(verdict(&run), "Every test ran and every gate held.");
        run.tests.clear();
        assert_eq!(
            (verdict(&run), headline(&run)),
            ("There was no test.".to_owned(), "Nothing was measured".to_owned())
        );
    }

    #[test]
    fn a_headline_says_when_few_repeats_counted() {
        let one = run(vec![rate("tx-64", &[(50e6, true), (1e6, false), (1e6, false)])]);
        assert_eq!(headline(&one), "50.000 Mpps (only 1 of 3 repeats counted), tx-64");
        let two = run(vec![rate("tx-64", &[(2e6, true), (4e6, true), (1e6, false)])]);
        assert_eq!(headline(&two), "3.000 Mpps (median of only 2 of 3 repeats, 2.000 to 4.000 Mpps), tx-64");
        assert_eq!(headline(&run(vec![rate("tx-64", &[(2e6, true)])])), "2.000 Mpps (measured once), tx-64");
    }

    #[test]
    fn repeats_that_were_thrown_away_are_told_with_the_rule() {
        let whole = rate("a", &[(1.0, true), (1.0, true), (1.0, true)]);
        assert_eq!(thrown_away(&run(vec![whole.clone()])), None);
        let poor = rate("b", &[(1.0, false), (1.0, true), (1.0, false)]);
        let said = thrown_away(&run(vec![whole, poor])).unwrap();
        assert!(said.starts_with("2 of 6 repeats do not count; one figure") && said.contains("“only”"), "{said}");
    }

    #[test]
    fn ports_are_gathered_by_what_they_are() {
        let port =
            |name: &str, path: &str| PortUsed { name: name.to_owned(), path: path.to_owned(), ..PortUsed::default() };
        let list = [port("a", "x"), port("b", "x"), port("a", "x"), port("a", "y")];
        let found: Vec<_> = ports(list.iter()).into_iter().map(|alike| (alike.names, alike.path)).collect();
        assert_eq!(found, [(vec!["a", "b"], "x"), (vec!["a"], "y")]);
    }

    #[test]
    fn routes_read_from_sender_to_receiver() {
        let port = |name: &str, role| PortUsed { name: name.to_owned(), role, ..PortUsed::default() };
        assert_eq!(route(&[port("b", Role::Rx), port("a", Role::Tx), port("c", Role::Tx)]), "a, c → b");
        assert_eq!(route(&[port("a", Role::Both), port("b", Role::Both)]), "a, b");
        assert_eq!(route(&[port("a", Role::Tx)]), "a");
        assert_eq!(route(&[]), "");
    }
}

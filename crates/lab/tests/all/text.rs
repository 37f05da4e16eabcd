//! Tests of the terminal's table.

use linerate_lab::text;
use linerate_result::{Repeat, RunResult, Test, Timestamp, Unit, parameters};

#[test]
fn columns_line_up_and_nothing_is_coloured() {
    let text = text::render(&crate::sample::passed(), false, usize::MAX);
    assert!(!text.contains('\x1b'));
    let lines: Vec<&str> = text.lines().collect();
    let head = lines.iter().position(|line| line.starts_with("Test ")).unwrap();
    let end_of = |line: &str, word: &str| line.find(word).map(|at| line[..at].chars().count() + word.chars().count());
    let median = end_of(lines[head], "Median").unwrap();
    for line in &lines[head + 1..head + 11] {
        assert_eq!(end_of(line, "Mpps"), Some(median), "{line}");
    }
    for told in ["pass ", "44.567 Mpps", "×1.1", "Skipped", "/dev/netmap is not there", "shared memory"] {
        assert!(text.contains(told), "{told}\n{text}");
    }
    assert!(!text.contains("What became of every frame"), "ledgers are shown when they do not add up");
    println!("{text}");
}

/// A result like one of `qualify`: frames, and a few points of a sweep.
#[test]
fn a_sweep_beside_other_tests_has_a_table_of_its_own() {
    let mut run = crate::sample::passed();
    let frames = run.comparisons.len();
    let latency = run.tests.iter().find_map(|test| test.latency.clone());
    for bytes in [512_u32, 4096] {
        let asked = [("io_bytes", bytes.into()), ("op", "read".into()), ("points", 9_u32.into())];
        let mut point = Test {
            id: format!("fcoe-unlimited-read-{bytes}"),
            title: format!("READ of {bytes} bytes, unlimited wire"),
            workload: "fcoe".into(),
            parameters: parameters(asked),
            repeats: vec![Repeat { value: 1.2e9.into(), valid: true, ..Repeat::default() }],
            latency: latency.clone(),
            ..Test::default()
        };
        point.summarize(Unit::BytesPerSecond);
        run.comparisons.extend(linerate_lab::published::fcoe::compare(std::slice::from_ref(&point)).unwrap());
        run.tests.push(point);
    }
    assert_eq!(run.comparisons.len(), frames + 2);
    let text = text::render(&run, false, usize::MAX);
    let (before, compared) = text.split_once("\nCompared\n").unwrap();
    assert!(before.contains("44.567 Mpps") && before.contains("\nfcoe\n"), "{text}");
    let compared = compared.split("\n\n").next().unwrap();
    assert!(compared.contains("Mpps") && !compared.contains("READ"), "{compared}");
    let html = linerate_lab::report::render(&run);
    let latency = html.split("id=\"latency\"").nth(1).unwrap().split("</figure>").next().unwrap();
    assert!(latency.contains("Round trip") && !latency.contains("READ of 512"), "{latency}");
    assert!(html.contains("<section id=\"points-1\">") && html.contains("×1.14"));
}

#[test]
fn losses_are_shown_with_their_ledger() {
    let text = text::render(&crate::sample::failed(), false, usize::MAX);
    for told in ["failed", "What became of every frame", "37", "Signal 2"] {
        assert!(text.contains(told), "{told}\n{text}");
    }
}

#[test]
fn colour_changes_nothing_but_colours() {
    let run = crate::sample::failed();
    let coloured = text::render(&run, true, usize::MAX);
    let mut bare = String::new();
    for (index, part) in coloured.split("\x1b[").enumerate() {
        bare.push_str(if index == 0 { part } else { part.split_once('m').unwrap().1 });
    }
    assert!(coloured.contains("\x1b[31m37\x1b[0m"));
    assert_eq!(bare, text::render(&run, false, usize::MAX));
}

#[test]
fn outsiders_cannot_drive_the_terminal() {
    let mut run = crate::sample::failed();
    let hostile = "x\x1b]0;owned\x07\r\n\u{202e}";
    run.run_id = hostile.to_owned();
    run.reasons = vec![hostile.to_owned()];
    run.environment.cpu = Some(hostile.to_owned());
    for test in &mut run.tests {
        (test.id, test.title) = (hostile.to_owned(), hostile.to_owned());
        test.ports.iter_mut().for_each(|port| (port.name, port.path) = (hostile.to_owned(), hostile.to_owned()));
        test.warnings = vec![hostile.to_owned()];
        test.skipped = Some(hostile.to_owned());
        if let Some(value) = &mut test.value {
            value.unit = Unit::named(hostile);
        }
    }
    for comparison in &mut run.comparisons {
        (comparison.name, comparison.source, comparison.unit) =
            (hostile.to_owned(), hostile.to_owned(), Unit::named(hostile));
    }
    let text = text::render(&run, false, usize::MAX);
    assert!(!text.chars().any(|c| (c.is_control() && c != '\n') || c == '\u{202e}'), "{text:?}");
    assert_eq!(text.lines().next().map(|line| line.starts_with("failed")), Some(true));
}

#[test]
fn an_empty_run_is_told() {
    let text = text::render(&RunResult::new("r".to_owned(), Vec::new(), Timestamp::default()), false, usize::MAX);
    assert!(text.starts_with("partial  Nothing was measured\n"), "{text}");
}

#[test]
fn a_run_of_the_bench_is_shown_as_the_bench_prints_it() {
    let mut run = crate::sample::passed();
    run.tests.truncate(2);
    run.comparisons.clear();
    for test in &mut run.tests {
        test.workload = "bench".to_owned();
    }
    run.tests[0].title = "odd\x1b[2J title".to_owned();
    let shown = linerate_lab::text::as_printed(&run, true, usize::MAX);
    assert!(shown.contains(&format!("\n{}: odd\u{fffd}[2J title\n  linerate ", run.tests[0].id)), "{shown}");
    assert!(!shown.contains('\x1b'), "{shown}");
    assert_eq!(
        linerate_lab::text::as_printed(&crate::sample::passed(), false, usize::MAX),
        linerate_lab::text::render(&crate::sample::passed(), false, usize::MAX)
    );
}

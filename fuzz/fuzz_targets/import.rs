//! Logs of other programs: the first byte says the format, or that it is to be recognized; the rest is the file. Whatever
//! that is, it is refused in one line or read as runs, whose documents are read again as they are, and nothing grows
//! beyond its limit.
#![no_main]

use libfuzzer_sys::fuzz_target;
use linerate_lab::import::{IMPORTS, MOST_SAMPLES, MOST_TESTS, read, source};
use linerate_result::{RunResult, Timestamp};

fuzz_target!(|input: &[u8]| {
    let Some((&first, bytes)) = input.split_first() else { return };
    let text = String::from_utf8_lossy(bytes);
    let format = IMPORTS.get(usize::from(first) % (IMPORTS.len() + 1));
    let runs = match read("log", &text, format, Timestamp::default(), &[]) {
        Ok(runs) => runs,
        Err(error) => {
            let line = error.to_string();
            assert!(
                line.starts_with("log") && line.len() < 2000 && !line.contains(|c: char| c.is_control()),
                "{line:?}"
            );
            return;
        }
    };
    assert!(!runs.is_empty());
    for run in &runs {
        assert!(
            run.tests.len() <= MOST_TESTS
                && run.tests.iter().map(|test| test.samples.len()).sum::<usize>() <= MOST_SAMPLES
        );
        assert_eq!(RunResult::from_json(&run.to_json()).unwrap(), *run);
        // A document of linerate stays as it is; what other programs wrote has clean names and no machine.
        if format.is_some_and(|row| row.name != "linerate") {
            assert_eq!(source(run).as_deref(), Some("log"));
            assert!(run.environment.cpu.is_none() && run.environment.linerate.is_none());
            let names = run.tests.iter().flat_map(|test| [&test.id, &test.title, &test.workload]);
            assert!(names.into_iter().all(|name| !name.contains(|c: char| c.is_control())), "{run:?}");
        }
    }
});

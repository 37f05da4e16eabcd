//! Conformance of `linerate stack up`, held beside the Linux kernel's own stack: every case's frames are played to both, and
//! the answers compared byte for byte.
//!
//! The table says for each case what Linux answers, and that linerate answers the same, or what else and why. A difference
//! that is not in the table fails the test, and so does one that is no longer there.
#![cfg(target_os = "linux")]

mod cases;
mod craft;
mod record;
mod stations;
mod subject;
mod table;
mod tester;

use record::Record;
use stations::At;
use std::fmt::Write as _;
use table::{Case, Expected};

/// Judgement of a case: None if it is as the table says.
fn judge(case: &Case, linux: &Record, ours: &Record) -> Option<String> {
    let mut wrong = String::new();
    let (theirs, own) = (linux.words(), ours.words());
    if theirs != case.linux {
        writeln!(wrong, "    Linux answers otherwise than the table says: {}", case.linux).unwrap();
    }
    match case.expected {
        Expected::Same if linux.frames == ours.frames => {}
        Expected::Same => wrong.push_str("    a difference that the table does not have\n"),
        Expected::Differs(..) if linux.frames == ours.frames => {
            wrong.push_str("    the difference that the table has is no longer there\n");
        }
        Expected::Differs(words, _) if own == words => {}
        Expected::Differs(words, _) => {
            writeln!(wrong, "    linerate differs otherwise than the table says: {words}").unwrap()
        }
    }
    for bad in linux.wrong.iter().chain(&ours.wrong) {
        writeln!(wrong, "    wrong {bad}").unwrap();
    }
    if wrong.is_empty() {
        return None;
    }
    let head = format!("{} ({}):\n", case.name, case.clause);
    Some(format!("{head}{wrong}    Linux: {theirs}\n{linux}    linerate: {own}\n{ours}"))
}

#[test]
fn conformance_with_the_kernels_stack() {
    if !linerate_skip::is_installed("ip") {
        return linerate_skip::skip!("ip is not installed");
    }
    // One processor for all, so that frames keep their order: see `tester`.
    let cpu = linerate_rt::cpus().last().copied();
    linerate_rt::pin(cpu.as_slice()).unwrap();
    let all = table::all();
    let play = |subject: Option<subject::Subject>| {
        let mut subject = subject?;
        let records = (1..).zip(&all).map(|(n, case)| subject.tester.play(At(n), case)).collect::<Vec<_>>();
        Some((records, subject.end()))
    };
    let Some((linux, _)) = play(subject::kernel()) else { return };
    let Some((ours, counters)) = play(subject::ours()) else { return };
    let wrong: Vec<String> = std::iter::zip(&all, std::iter::zip(&linux, &ours))
        .filter_map(|(case, (linux, ours))| judge(case, linux, ours))
        .collect();
    let differ = all.iter().filter(|case| matches!(case.expected, Expected::Differs(..))).count();
    for case in &all {
        if let Expected::Differs(words, why) = case.expected {
            println!("differs: {} ({}): Linux: {}; linerate: {words}: {why}", case.name, case.clause, case.linux);
        }
    }
    println!("{} cases: {} the same, {differ} with a documented difference", all.len(), all.len() - differ);
    assert!(wrong.is_empty(), "{} cases are not as the table says:\n{}", wrong.len(), wrong.concat());
    let counters = counters.unwrap_or_default();
    assert_eq!(crate::process::counter(&counters, "unexplained"), 0, "{counters}");
}

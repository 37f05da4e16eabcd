//! Conformance of `linerate stack up`, held beside the Linux kernel's own stack: every case's frames are played to
//! both, and the answers compared byte for byte.
//!
//! The table says for each case what Linux answers, and that linerate answers the same, or what else and why. A
//! difference that is not in the table fails the test, and so does one that is no longer there.
#![cfg(target_os = "linux")]

mod cases;
mod craft;
mod record;
mod stations;
mod subject;
mod table;
mod tester;

use craft::{ICMP, IPV4, V4, ethernet, icmp};
use record::Record;
use stations::{At, HOST_MAC, HOST4};
use std::fmt::Write as _;
use subject::Subject;
use table::{Case, Expected, case};

/// Kinds of ports on which linerate's host is tried.
const KINDS: [&str; 2] = ["packet", "xdp"];

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
            writeln!(wrong, "    linerate differs otherwise than the table says: {words}").unwrap();
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

/// Plays all cases to a subject; returns its answers, and what it printed. None if it cannot be made here.
fn play(subject: Option<Subject>, all: &[&Case]) -> Option<(Vec<Record>, String)> {
    let mut subject = subject?;
    let records = (1..).zip(all).map(|(n, case)| subject.tester.play(At(n), case)).collect();
    Some((records, subject.end()))
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
    let Some((linux, _)) = play(subject::kernel(), &all) else { return };
    for case in &all {
        if let Expected::Differs(words, why) = case.expected {
            println!("differs: {} ({}): Linux: {}; linerate: {words}: {why}", case.name, case.clause, case.linux);
        }
    }
    let differ = all.iter().filter(|case| matches!(case.expected, Expected::Differs(..))).count();
    for kind in KINDS {
        let Some((ours, said)) = play(subject::ours(kind), &all) else { continue };
        let answers = std::iter::zip(&linux, &ours);
        let wrong = std::iter::zip(&all, answers).filter_map(|(case, (linux, ours))| judge(case, linux, ours));
        let wrong: Vec<String> = wrong.collect();
        let same = all.len() - differ;
        println!("{kind}: {} cases: {same} the same, {differ} with a documented difference", all.len());
        assert!(wrong.is_empty(), "{kind}: {} cases are not as the table says:\n{}", wrong.len(), wrong.concat());
        assert_eq!(crate::process::counter(&said, "unexplained"), 0, "{said}");
    }
}

#[test]
fn every_case_has_a_name_of_its_own_and_a_clause() {
    let all = table::all();
    let names: std::collections::HashSet<&str> = all.iter().map(|case| case.name).collect();
    assert_eq!(names.len(), all.len());
    for Case { name, clause, linux, expected, .. } in all {
        assert!(clause.starts_with("RFC ") || clause.starts_with("IEEE "), "{name}: {clause}");
        // Reasons are read after the words of both.
        let reason = if let Expected::Differs(words, why) = expected { words.len().min(why.len()) } else { 1 };
        assert!(!linux.is_empty() && reason > 0, "{name}");
    }
}

/// Records of a single frame, and rows for them.
#[test]
fn a_case_fails_by_any_difference_that_is_not_in_the_table() {
    let at = At(1);
    let record = |packet: Option<Vec<u8>>| {
        let mut record = Record::new(false);
        packet.into_iter().for_each(|packet| record.add(ethernet(at.mac(1), HOST_MAC, IPV4, &packet)));
        record
    };
    let with = |change: fn(&mut V4)| {
        let mut ip = V4::new(HOST4, at.v4(1), ICMP);
        change(&mut ip);
        record(Some(ip.with(&icmp(0, 0, at.ident(), b"answer"))))
    };
    let (reply, silence) = (with(|_| {}), record(None));
    let same = |linux| case("a case", "a clause", linux, Expected::Same, |_| vec![]);
    let differs = |words| case("a case", "a clause", "icmp 0/0", Expected::Differs(words, "a reason"), |_| vec![]);
    let judged = |case: &Case, ours: &Record| judge(case, &reply, ours).unwrap_or_default();
    for (case, ours, words) in [
        (same("icmp 0/0"), &reply, ""),
        (same("icmp 0/0"), &with(|ip| ip.ident = 7), ""),
        (same("icmp 0/0"), &with(|ip| ip.ttl = 63), "does not have"),
        (same("icmp 0/0"), &with(|ip| ip.tos = 0x10), "does not have"),
        (same("icmp 0/0"), &with(|ip| ip.place = 0x4000), "does not have"),
        (same("icmp 0/0"), &with(|ip| ip.checksum = Some(7)), "wrong header checksum"),
        (same("icmp 0/0"), &record(Some(V4::new(HOST4, at.v4(1), ICMP).with(&[0; 9]))), "does not have"),
        (same("icmp 0/0"), &silence, "does not have"),
        (same("nothing"), &reply, "Linux answers otherwise"),
        (differs("nothing"), &silence, ""),
        (differs("icmp 0/0"), &with(|ip| ip.ttl = 63), ""),
        (differs("nothing"), &reply, "no longer there"),
        (differs("icmp 3/3"), &silence, "linerate differs otherwise"),
    ] {
        let said = judged(&case, ours);
        assert!(said.contains(words) && said.is_empty() == words.is_empty(), "{case:?}: {said}");
    }
    let broken = record(Some(V4::new(HOST4, at.v4(1), ICMP).with(&[0, 0, 1, 2, 0, 0, 0, 0])));
    let said = judge(&same("icmp 0/0"), &broken, &broken).unwrap();
    assert!(said.contains("wrong checksum"), "{said}");
}

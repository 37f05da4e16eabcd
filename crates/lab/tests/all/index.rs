//! Tests of the index of runs: what it lists and keeps, what it makes of damaged, older, newer and foreign files, and of
//! several writers.

use std::fs;
use std::path::{Path, PathBuf};

use linerate_lab::index::{Index, IndexError, Wanted, json, render};
use linerate_lab::store::{self, Place};
use linerate_result::{Outcome, Repeat, RunResult, Test, Timestamp, Unit};

/// A database that version 1 has written: one run, whose folder is gone.
const VERSION_1: &[u8] = include_bytes!("../data/index-1.db");

fn run(id: &str, second: u32) -> RunResult {
    let start: Timestamp = format!("2001-02-03T04:05:{second:02}Z").parse().unwrap();
    let mut run = RunResult::new(id.to_owned(), vec!["linerate".to_owned(), "qualify".to_owned()], start);
    run.outcome = Outcome::Pass;
    let repeat = |value: f64| Repeat { value: value.into(), valid: true, ..Repeat::default() };
    let mut test = Test { id: "tx-64".to_owned(), workload: "tx".to_owned(), ..Test::default() };
    test.repeats = [1e6, 2e6, 3e6].map(repeat).into();
    test.summarize(Unit::Pps);
    run.tests = vec![Test { id: "first".to_owned(), workload: "none".to_owned(), ..Test::default() }, test];
    run
}

fn add(path: &Path, run: &RunResult) {
    Index::open(path).unwrap().add(run, None, None).unwrap();
}

fn ids(path: &Path, wanted: &Wanted) -> Vec<String> {
    let index = Index::look(path).unwrap().unwrap();
    index.list(wanted).unwrap().into_iter().map(|listed| listed.id).collect()
}

fn all(path: &Path) -> Vec<String> {
    ids(path, &Wanted::default())
}

fn here() -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("new/runs.db");
    (dir, path)
}

#[test]
fn runs_are_listed_as_they_were_stored_the_last_first_with_their_first_figure() {
    let (_dir, path) = here();
    for (id, second) in [("aa", 1), ("bb", 3), ("cc", 2)] {
        add(&path, &run(id, second));
    }
    let mut failed = run("dd", 4);
    (failed.outcome, failed.environment.host) = (Outcome::Failed, Some("elsewhere".to_owned()));
    failed.tests[1].workload = "rx".to_owned();
    add(&path, &failed);
    assert_eq!(all(&path), ["dd", "cc", "bb", "aa"]);
    let wanted = |wanted: Wanted| ids(&path, &wanted);
    let text = |text: &str| Some(text.to_owned());
    assert_eq!(wanted(Wanted { last: Some(2), ..Wanted::default() }), ["dd", "cc"]);
    assert_eq!(wanted(Wanted { workload: text("tx"), last: Some(1), ..Wanted::default() }), ["cc"]);
    assert_eq!(wanted(Wanted { outcome: text("failed"), ..Wanted::default() }), ["dd"]);
    assert_eq!(wanted(Wanted { host: text("elsewhere"), ..Wanted::default() }), ["dd"]);
    assert_eq!(wanted(Wanted { begins: text("b"), ..Wanted::default() }), ["bb"]);
    assert_eq!(wanted(Wanted { begins: text("20010203T040502Z-c"), ..Wanted::default() }), ["cc"]);
    assert_eq!(wanted(Wanted { begins: text("'; DROP TABLE runs"), ..Wanted::default() }), Vec::<String>::new());
    let list = Index::look(&path).unwrap().unwrap().list(&Wanted::default()).unwrap();
    let first = list[1].first.as_ref().unwrap();
    assert_eq!((first.test.as_str(), first.median, first.unit.as_str(), first.counted), ("tx-64", 2e6, "pps", 3));
    assert_eq!((list[1].tests, list[1].name().as_str()), (2, "20010203T040502Z-cc"));
    let text = render(&list, false);
    assert_eq!(text.lines().count(), 5, "{text}");
    assert!(text.lines().nth(2).unwrap().contains("tx-64: 2.000 Mpps"), "{text}");
    let document: serde_json::Value = serde_json::from_str(&json(&list)).unwrap();
    assert_eq!(document["runs"][1]["first"]["median"], 2e6);
}

#[test]
fn a_run_that_is_added_again_is_replaced_and_one_of_another_start_is_not() {
    let (_dir, path) = here();
    add(&path, &run("aa", 1));
    let mut longer = run("aa", 1);
    longer.tests.push(Test { id: "more".to_owned(), ..Test::default() });
    add(&path, &longer);
    add(&path, &run("aa", 2));
    let list = Index::look(&path).unwrap().unwrap().list(&Wanted::default()).unwrap();
    assert_eq!(list.iter().map(|listed| listed.tests).collect::<Vec<_>>(), [2, 3]);
}

#[test]
fn the_folder_counts_as_long_as_it_holds_the_run_and_the_index_afterwards() {
    let (dir, path) = here();
    let folder = dir.path().join("run");
    let stored = run("aa", 1);
    Place::open(&folder).unwrap().save(&stored).unwrap();
    Index::open(&path).unwrap().add(&stored, Some(&folder), None).unwrap();
    let document = || {
        let index = Index::look(&path).unwrap().unwrap();
        index.list(&Wanted::default()).unwrap().iter().map(|listed| index.document(listed).unwrap()).collect::<Vec<_>>()
    };
    // The file is the truth, also when it was changed.
    let mut changed = stored.clone();
    changed.reasons = vec!["noted by hand".to_owned()];
    fs::write(folder.join("result.json"), changed.to_json()).unwrap();
    assert_eq!(document(), [changed]);
    // A run of the same id and of another start, which the index knows nothing of, is not this one.
    fs::write(folder.join("result.json"), run("aa", 9).to_json()).unwrap();
    assert_eq!(document(), std::slice::from_ref(&stored));
    // Another run in the same folder.
    let other = run("bb", 2);
    Place::open(&folder).unwrap().save(&other).unwrap();
    Index::open(&path).unwrap().add(&other, Some(&folder), None).unwrap();
    assert_eq!(document(), [other.clone(), stored.clone()]);
    let list = Index::look(&path).unwrap().unwrap().list(&Wanted::default()).unwrap();
    assert_eq!(list.iter().map(|listed| listed.folder.is_some()).collect::<Vec<_>>(), [true, false]);
    fs::remove_dir_all(&folder).unwrap();
    assert_eq!(document(), [other, stored]);
}

#[test]
fn an_index_of_version_1_is_brought_up_to_date_with_all_it_holds() {
    let (_dir, path) = here();
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, VERSION_1).unwrap();
    add(&path, &run("new", 1));
    assert_eq!(all(&path), ["new", "0ldf00d5"]);
    let index = Index::look(&path).unwrap().unwrap();
    let list = index.list(&Wanted { workload: Some("tx".to_owned()), ..Wanted::default() }).unwrap();
    let old = index.document(&list[1]).unwrap();
    assert_eq!((old.tests[0].counted().to_string().as_str(), &list[1].imported), ("3 of 3", &None));
    // A database that was only read is of the new version too, and stays so.
    assert_eq!(all(&path).len(), 2);
}

/// Bytes of the file with its version, at offset 60 of the header, changed.
fn of_version(version: u32) -> Vec<u8> {
    let mut bytes = VERSION_1.to_vec();
    bytes[60..64].copy_from_slice(&version.to_be_bytes());
    bytes
}

#[test]
fn a_newer_index_and_another_programs_are_refused_and_not_touched() {
    let (_dir, path) = here();
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let foreign = {
        let mut bytes = VERSION_1.to_vec();
        bytes[68..72].copy_from_slice(&[0; 4]);
        bytes
    };
    for (bytes, words) in
        [(of_version(99), "is of version 99"), (of_version(u32::MAX), "is of version"), (foreign, "another program")]
    {
        fs::write(&path, &bytes).unwrap();
        for error in
            [Index::open(&path).unwrap_err(), Index::look(&path).unwrap_err(), Index::rebuild(&path, &[]).unwrap_err()]
        {
            let line = error.to_string();
            assert!(line.contains(words) && line.contains("--db FILE") && !line.contains('\n'), "{line}");
        }
        assert!(fs::read(&path).unwrap() == bytes);
    }
}

#[test]
fn a_damaged_index_is_said_to_be_so_and_made_anew_from_the_folders() {
    let (dir, path) = here();
    let root = dir.path().join("runs");
    for (id, second) in [("aa", 1), ("bb", 2)] {
        store::write_document(&root.join(id), &run(id, second)).unwrap();
    }
    fs::create_dir_all(root.join("empty")).unwrap();
    fs::create_dir_all(root.join("broken")).unwrap();
    fs::write(root.join("broken/result.json"), "{").unwrap();
    let rebuilt = Index::rebuild(&path, std::slice::from_ref(&root)).unwrap();
    assert_eq!((rebuilt.read, rebuilt.kept, rebuilt.faults.len()), (2, 0, 1));
    assert!(rebuilt.faults[0].contains("broken"), "{:?}", rebuilt.faults);
    let sound = fs::read(&path).unwrap();
    let text = "SQLite has no such file".repeat(400);
    let mut holed = sound.clone();
    holed[4096..].fill(0xa5);
    for (at, bytes) in [text.as_bytes(), &sound[..100], &sound[..5000], &holed].into_iter().enumerate() {
        fs::write(&path, bytes).unwrap();
        let said = Index::look(&path).and_then(|index| index.unwrap().list(&Wanted::default()));
        let error = said.unwrap_err();
        assert!(matches!(error, IndexError::Damaged { .. }), "{at}: {error}");
        assert!(error.to_string().contains("runs --reindex") && !error.to_string().contains('\n'), "{error}");
        let rebuilt = Index::rebuild(&path, std::slice::from_ref(&root)).unwrap();
        let aside = rebuilt.aside.unwrap();
        assert!(fs::read(&aside).unwrap() == bytes, "what was damaged is kept");
        assert_eq!((rebuilt.read, all(&path).len()), (2, 2), "{at}");
    }
}

#[test]
fn a_rebuilt_index_keeps_the_runs_whose_folders_are_gone_and_finds_those_elsewhere() {
    let (dir, path) = here();
    let elsewhere = dir.path().join("elsewhere");
    store::write_document(&elsewhere, &run("away", 5)).unwrap();
    Index::open(&path).unwrap().add(&run("away", 5), Some(&elsewhere), None).unwrap();
    // Its clock was wrong.
    add(&path, &run("gone", 9));
    store::write_document(&dir.path().join("runs/x"), &run("new", 7)).unwrap();
    let rebuilt = Index::rebuild(&path, &[dir.path().join("runs")]).unwrap();
    assert_eq!((rebuilt.read, rebuilt.kept), (2, 1));
    assert_eq!(all(&path), ["new", "gone", "away"]);
    assert_eq!(
        Index::rebuild(&path, &[dir.path().join("runs"), dir.path().join("none")]).unwrap().kept,
        1,
        "twice is once"
    );
}

#[test]
fn what_is_read_from_a_damaged_document_is_an_error_of_one_line() {
    let (_dir, path) = here();
    add(&path, &run("aa", 1));
    let bytes = fs::read(&path).unwrap();
    // The packed document begins by zlib's header.
    let packed: Vec<usize> =
        bytes.windows(2).enumerate().filter(|(_, two)| two == b"\x78\x01").map(|(at, _)| at).collect();
    assert!(!packed.is_empty());
    let mut broken = bytes;
    for at in packed {
        broken[at + 2..at + 40].fill(0xff);
    }
    fs::write(&path, broken).unwrap();
    let index = Index::look(&path).unwrap().unwrap();
    let listed = index.list(&Wanted::default()).unwrap();
    let line = index.document(&listed[0]).unwrap_err().to_string();
    assert!(line.contains("document of run aa") && line.contains("--reindex") && !line.contains('\n'), "{line}");
}

#[test]
fn writers_wait_for_each_other() {
    let (_dir, path) = here();
    std::thread::scope(|scope| {
        for writer in 0..4u32 {
            let path = &path;
            scope.spawn(move || {
                for n in 0..10 {
                    add(path, &run(&format!("w{writer}-{n}"), writer * 10 + n));
                }
            });
        }
    });
    assert_eq!(all(&path).len(), 40);
}

#[test]
fn ten_thousand_runs_are_listed_without_their_documents() {
    let (dir, path) = here();
    let root = dir.path().join("runs");
    let mut run = run("aa", 1);
    for n in 0..10_000u32 {
        let start = format!("2002-01-01T{:02}:{:02}:{:02}Z", n / 3600, n / 60 % 60, n % 60).parse().unwrap();
        let folder = root.join(n.to_string());
        fs::create_dir_all(&folder).unwrap();
        (run.run_id, run.start) = (format!("{n:08x}"), start);
        fs::write(folder.join("result.json"), run.to_line()).unwrap();
    }
    let rebuilt = Index::rebuild(&path, std::slice::from_ref(&root)).unwrap();
    assert_eq!(rebuilt.read, 10_000, "{:?}", rebuilt.faults.first());
    // To read them would take seconds.
    fs::remove_dir_all(root).unwrap();
    let list = Index::look(&path).unwrap().unwrap().list(&Wanted::default()).unwrap();
    let text = render(&list, false);
    assert_eq!((list.len(), text.lines().count()), (10_000, 10_001));
}

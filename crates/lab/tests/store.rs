//! Results on disk.

mod sample;

use std::fs;
use std::path::Path;

use linerate_lab::store::{self, StoreError};

fn names(directory: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn a_run_is_stored_whole_and_comes_back() {
    let root = tempfile::tempdir().unwrap();
    let directory = root.path().join("a/b");
    let run = sample::passed();
    let stored = store::save(&run, Some(&directory)).unwrap();
    assert_eq!(names(&directory), ["report.html", "result.json"], "nothing else is left behind");
    assert_eq!(store::load(&stored.result).unwrap(), run);
    assert_eq!(store::load(&directory).unwrap(), run);
    assert!(fs::read_to_string(&stored.report).unwrap().starts_with("<!DOCTYPE html>"));
}

#[test]
fn a_second_run_replaces_the_first() {
    let root = tempfile::tempdir().unwrap();
    store::save(&sample::passed(), Some(root.path())).unwrap();
    store::save(&sample::failed(), Some(root.path())).unwrap();
    assert_eq!(store::load(root.path()).unwrap(), sample::failed());
    assert_eq!(names(root.path()).len(), 2);
}

#[test]
fn what_cannot_be_written_is_said_in_one_line() {
    let root = tempfile::tempdir().unwrap();
    let file = root.path().join("file");
    fs::write(&file, "").unwrap();
    let error = store::save(&sample::passed(), Some(&file.join("below"))).unwrap_err();
    assert!(matches!(error, StoreError::Directory { .. }));
    assert!(error.to_string().contains("--out DIR") && !error.to_string().contains('\n'), "{error}");
    // A directory where the file should stand: the rename fails and the part is taken away.
    let blocked = root.path().join("blocked");
    fs::create_dir_all(blocked.join("report.html/x")).unwrap();
    let error = store::save(&sample::passed(), Some(&blocked)).unwrap_err();
    assert!(matches!(error, StoreError::Write { .. }), "{error}");
    assert_eq!(names(&blocked), ["report.html"]);
}

#[test]
fn what_cannot_be_read_is_said_in_one_line() {
    let root = tempfile::tempdir().unwrap();
    let file = root.path().join("result.json");
    assert!(matches!(store::load(&file).unwrap_err(), StoreError::Read { .. }));
    fs::write(&file, "{\"schema\": \"linerate.result\", \"version\": 9}").unwrap();
    let error = store::load(root.path()).unwrap_err().to_string();
    assert!(error.contains("version 9") && error.contains("version 1") && !error.contains('\n'), "{error}");
    fs::write(&file, [0xff, 0xfe]).unwrap();
    assert!(matches!(store::load(&file).unwrap_err(), StoreError::Read { .. }));
}

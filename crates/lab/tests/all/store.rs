//! Tests of results on disk.

use std::fs;
use std::path::Path;

use linerate_lab::store::{self, Place, StoreError, Stored};
use linerate_result::RunResult;

fn names(directory: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn save(run: &RunResult, directory: &Path) -> Result<Stored, StoreError> {
    Place::open(directory)?.save(run)
}

#[test]
fn a_run_is_stored_whole_and_comes_back() {
    let root = tempfile::tempdir().unwrap();
    let directory = root.path().join("a/b");
    let run = crate::sample::passed();
    let stored = save(&run, &directory).unwrap();
    assert_eq!(names(&directory), ["report.html", "result.json"], "nothing else is left behind");
    assert_eq!(store::load(&stored.result).unwrap(), run);
    assert_eq!(store::load(&directory).unwrap(), run);
    assert!(fs::read_to_string(&stored.report).unwrap().starts_with("<!DOCTYPE html>"));
}

#[test]
fn a_second_run_replaces_the_first() {
    let root = tempfile::tempdir().unwrap();
    save(&crate::sample::passed(), root.path()).unwrap();
    save(&crate::sample::failed(), root.path()).unwrap();
    assert_eq!(store::load(root.path()).unwrap(), crate::sample::failed());
    assert_eq!(names(root.path()).len(), 2);
}

#[test]
fn what_cannot_be_written_is_said_in_one_line() {
    let root = tempfile::tempdir().unwrap();
    let file = root.path().join("file");
    fs::write(&file, "").unwrap();
    let error = save(&crate::sample::passed(), &file.join("below")).unwrap_err();
    assert!(matches!(error, StoreError::Directory { .. }));
    assert!(error.to_string().contains("--out DIR") && !error.to_string().contains('\n'), "{error}");
    let error = save(&crate::sample::passed(), &file).unwrap_err();
    assert!(matches!(error, StoreError::Directory { .. }) && error.to_string().contains("not a directory"), "{error}");
    // A directory at the path of the file: reported before anything is measured, and the part file is removed.
    let blocked = root.path().join("blocked");
    fs::create_dir_all(blocked.join("report.html/x")).unwrap();
    let error = Place::open(&blocked).unwrap_err();
    assert!(matches!(error, StoreError::Write { .. }), "{error}");
    assert_eq!(names(&blocked), ["report.html"]);
}

#[test]
fn the_result_is_kept_when_the_page_cannot_be_written() {
    let root = tempfile::tempdir().unwrap();
    let place = Place::open(root.path()).unwrap();
    assert_eq!(names(root.path()).len(), 2, "there is room before anything is measured");
    fs::create_dir_all(root.path().join("report.html/x")).unwrap();
    let error = place.save(&crate::sample::passed()).unwrap_err();
    assert!(matches!(error, StoreError::Write { .. }) && error.to_string().contains("report.html"), "{error}");
    assert_eq!(store::load(root.path()).unwrap(), crate::sample::passed());
    assert_eq!(names(root.path()), ["report.html", "result.json"]);
}

#[test]
fn a_place_that_is_not_used_leaves_nothing() {
    let root = tempfile::tempdir().unwrap();
    drop(Place::open(root.path()).unwrap());
    assert_eq!(names(root.path()), Vec::<String>::new());
}

#[test]
fn what_cannot_be_read_is_said_in_one_line() {
    let root = tempfile::tempdir().unwrap();
    let file = root.path().join("result.json");
    assert!(matches!(store::load(&file).unwrap_err(), StoreError::Read { .. }));
    fs::write(&file, "{\"schema\": \"linerate.result\", \"version\": 9}").unwrap();
    let error = store::load(root.path()).unwrap_err().to_string();
    assert!(error.contains("version 9") && error.contains("versions 1 to 2") && !error.contains('\n'), "{error}");
    fs::write(&file, [0xff, 0xfe]).unwrap();
    assert!(matches!(store::load(&file).unwrap_err(), StoreError::Read { .. }));
}

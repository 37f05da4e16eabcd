//! Tests of the architecture: imports run downwards only, within a crate too, and `unsafe` is limited to certain
//! places.

mod circles;
mod words;

use std::path::{Path, PathBuf};
use std::process::Command;

/// Each crate and the crates that it may import.
const WALLS: &[(&str, &[&str])] = &[
    ("linerate-skip", &[]),
    ("linerate-result", &["text"]),
    ("linerate-text", &[]),
    ("linerate-sum", &[]),
    ("linerate-wire", &["sum"]),
    ("linerate-block", &[]),
    ("linerate-ring", &[]),
    ("linerate-host", &["text"]),
    ("linerate-offload", &["wire", "sum", "ring"]),
    ("linerate-port", &["text", "host", "wire", "sum", "ring", "offload"]),
    ("linerate-netmap", &["text", "ring", "port"]),
    ("linerate-nic", &["text", "wire", "sum", "ring", "offload", "port"]),
    ("linerate-stack", &["text", "wire", "sum", "ring"]),
    ("linerate-fcoe", &["text", "wire", "sum", "block"]),
    ("linerate-dcb", &["text", "wire"]),
    ("linerate-nbd", &["block"]),
    ("linerate-rt", &["text", "wire", "block", "ring", "offload", "port", "nic", "stack", "fcoe", "dcb", "nbd"]),
    (
        "linerate-load",
        &["text", "host", "wire", "sum", "block", "ring", "offload", "port", "nic", "stack", "fcoe", "rt", "result"],
    ),
    ("linerate-lab", &["text", "host", "nic", "rt", "result", "load"]),
    (
        "linerate",
        &[
            "text", "host", "wire", "block", "ring", "port", "nic", "stack", "fcoe", "dcb", "nbd", "rt", "result",
            "load", "lab",
        ],
    ),
];

/// Crates without any `unsafe`.
const FORBIDDEN: &[&str] =
    &["skip", "text", "result", "wire", "block", "offload", "nic", "stack", "fcoe", "dcb", "nbd", "lab", "cli"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

#[test]
fn imports_run_downwards_only() {
    let out = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--no-deps", "--offline"])
        .current_dir(root())
        .output()
        .unwrap();
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    let metadata: serde_json::Value = serde_json::from_slice(&out.stdout).unwrap();
    let packages = metadata["packages"].as_array().unwrap();
    assert_eq!(packages.len(), WALLS.len(), "a crate without a row");
    for package in packages {
        let name = package["name"].as_str().unwrap();
        let (_, may) = WALLS.iter().find(|(n, _)| *n == name).unwrap_or_else(|| panic!("{name} has no row"));
        for dependency in package["dependencies"].as_array().unwrap() {
            // Tests may import any crate.
            if dependency["kind"] == "dev" {
                continue;
            }
            if let Some(known) = dependency["name"].as_str().unwrap().strip_prefix("linerate-") {
                assert!(may.contains(&known), "{name} must not know {known}");
            }
        }
    }
}

/// Two modules that import each other can neither be understood nor changed alone.
#[test]
fn modules_of_different_folders_form_no_cycle() {
    let mut wrong = Vec::new();
    for (package, _) in WALLS {
        let name = package.strip_prefix("linerate-").unwrap_or("cli");
        let (dir, mut files) = (root().join("crates").join(name).join("src"), Vec::new());
        sources(&dir, &mut files);
        let read = |file: &PathBuf| {
            let inside = file.strip_prefix(&dir).unwrap().to_str().unwrap().to_owned();
            (inside, std::fs::read_to_string(file).unwrap())
        };
        let circles = circles::circles(&files.iter().map(read).collect::<Vec<_>>());
        wrong.extend(circles.iter().map(|circle| format!("{name}: {circle}")));
    }
    assert!(wrong.is_empty(), "modules that import each other in a circle:\n{}", wrong.join("\n"));
}

/// Output of a passing test is not shown: a skip is reported by [`linerate_skip::skip`], and `./test` lists those.
#[test]
fn a_test_that_is_skipped_says_so_in_one_way() {
    let mut files = Vec::new();
    sources(&root().join("crates"), &mut files);
    assert!(files.len() > 300);
    for file in files {
        let text = std::fs::read_to_string(&file).unwrap();
        for print in ["println!", "eprintln!", "print!", "eprint!"] {
            // In two parts, or this file would match.
            let own = format!("{print}(\"{}", "skipped");
            assert!(!text.contains(&own), "{}: say it by linerate_skip::skip!", file.display());
        }
    }
}

fn sources(dir: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|e| e == "rs") {
            found.push(path);
        }
    }
}

#[test]
fn unsafe_stands_where_it_may() {
    for name in FORBIDDEN {
        let dir = root().join("crates").join(name).join("src");
        let main = ["lib.rs", "main.rs"].map(|f| dir.join(f)).into_iter().find(|p| p.exists()).unwrap();
        let text = std::fs::read_to_string(&main).unwrap();
        assert!(text.contains("#![forbid(unsafe_code)]"), "{} must forbid unsafe", main.display());
    }
    for name in ["host", "port", "netmap", "rt", "load"] {
        let (dir, mut files) = (root().join("crates").join(name).join("src"), Vec::new());
        sources(&dir, &mut files);
        assert!(!files.is_empty());
        for file in files {
            let inside = file.strip_prefix(&dir).unwrap();
            let may = inside.components().any(|c| matches!(c.as_os_str().to_str(), Some("sys" | "sys.rs")));
            let text = std::fs::read_to_string(&file).unwrap();
            let code = text.lines().filter(|l| !l.trim_start().starts_with("//"));
            let has = code
                .into_iter()
                .any(|l| l.contains("unsafe {") || l.contains("unsafe fn") || l.contains("unsafe impl"));
            assert!(may || !has, "{}: unsafe outside sys", file.display());
        }
    }
}

#[test]
fn each_module_of_these_tests_that_has_tests_is_in_one_line_of_what_they_reach() {
    let here = root().join("crates/cli/tests/all");
    let read = |file: &str| std::fs::read_to_string(here.join(file)).unwrap();
    let mut listed = Vec::new();
    for line in read("reaches").lines().filter(|line| !line.starts_with('#')) {
        let (name, modules) = line.split_once(": ").unwrap();
        assert!(["lab", "load", "rt"].contains(&name), "{line}");
        listed.extend(modules.split(' ').map(str::to_string));
    }
    listed.sort();
    let has_tests = |module: &str| {
        let folder = std::fs::read_dir(here.join(module)).into_iter().flatten();
        let files = folder.map(|file| file.unwrap().path()).chain([here.join(format!("{module}.rs"))]);
        files.filter_map(|file| std::fs::read_to_string(file).ok()).any(|text| text.contains("#[test]"))
    };
    let main = read("main.rs");
    let modules = main.lines().filter_map(|line| line.strip_prefix("mod ")?.strip_suffix(';'));
    let mut wanted: Vec<String> = modules.filter(|module| has_tests(module)).map(str::to_string).collect();
    wanted.sort();
    assert_eq!(listed, wanted);
}

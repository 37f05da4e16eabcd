//! Tests of imports, exports and reports.

use super::{Data, log, made, said};
use crate::process::BINARY;
use linerate_result::RunResult;
use linerate_skip::{is_installed, skip};
use serde_json::Value;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::{env, fs};

#[test]
fn logs_are_kept_as_runs_that_say_what_they_were_read_from() {
    let data = Data::new();
    let files: Vec<String> = [
        "npresults.txt",
        "iperf3-tcp.json",
        "iperf2-tcp.txt",
        "iperf2-tcp.csv",
        "fio-randrw.json",
        "xdd-passes.txt",
        "pktgen-tx.txt",
    ]
    .iter()
    .map(|name| log(name))
    .collect();
    let words: Vec<&str> = ["import"].into_iter().chain(files.iter().map(String::as_str)).collect();
    let lines = data.out(&words);
    assert_eq!(lines.lines().count(), files.len(), "{lines}");
    assert!(lines.lines().next().unwrap().contains(&format!("10 tests from {}, in ", files[0])), "{lines}");
    // The same once more is the same once.
    data.out(&words);
    assert_eq!(data.ids().len(), files.len());
    let list = data.out(&["runs"]);
    assert_eq!(list.matches("imported from /").count(), files.len(), "{list}");
    for line in lines.lines() {
        let id = line.split(' ').next().unwrap();
        let run = RunResult::from_json(&data.out(&["show", id, "--json"])).unwrap();
        assert!(run.tests[0].ports[0].path.starts_with("imported from /"), "{line}");
        assert_eq!((&run.environment.cpu, &run.environment.linerate, run.environment.cores), (&None, &None, None));
        // A long line is broken where a space is.
        let shown = data.out(&["show", id]).split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(shown.contains("imported from /"), "{line}");
    }
    // From the folders alone they are the same.
    fs::remove_file(data.path("data/linerate/runs.db")).unwrap();
    data.out(&["runs", "--reindex"]);
    let sorted = |text: &str| {
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        lines.sort();
        lines
    };
    assert_eq!(sorted(&data.out(&["runs"])), sorted(&list));
}

#[test]
fn a_log_that_cannot_be_read_is_named_with_its_line() {
    let data = Data::new();
    let broken = fs::read_to_string(log("iperf2-tcp.txt")).unwrap().replace("30.6 Gbits/sec", "30.6 \x1b[31mGfurlongs");
    fs::write(data.path("broken.txt"), broken).unwrap();
    fs::write(data.path("text"), "nothing of interest\n").unwrap();
    fs::write(data.path("empty"), "").unwrap();
    fs::write(data.path("bytes"), [0xff, 0, 0x1b, 0xfe].repeat(1000)).unwrap();
    for (words, code, begins) in [
        (&["import", "broken.txt"][..], 1, "linerate import: broken.txt:8: an amount or a rate in no unit"),
        (
            &["import", "text"],
            1,
            "linerate import: text: no format that is known; name it by --format, one of linerate, iperf3, ",
        ),
        (&["import", "empty"], 1, "linerate import: empty: no format"),
        (&["import", "bytes"], 1, "linerate import: bytes: no format"),
        (&["import", "text", "--format", "fio"], 1, "linerate import: text: no result of fio in it"),
        (&["import", "missing"], 2, "linerate import: missing: No such file"),
        (&["import", "."], 2, "linerate import: .: Is a directory"),
        (
            &["import", "text", "--format", "iperf4"],
            2,
            "linerate import: --format iperf4: no such value; did you mean iperf3?",
        ),
    ] {
        let said = data.run(words);
        assert_eq!((said.code, said.out.as_str(), said.log.lines().count()), (code, "", 1), "{words:?}: {said:?}");
        assert!(said.log.starts_with(begins) && !said.log.contains('\x1b'), "{words:?}: {said:?}");
    }
    // Neither is anything kept of a good file before a bad one.
    let said = data.run(&["import", &log("xdd.txt"), "broken.txt"]);
    assert_eq!((said.code, said.out.as_str(), said.log.lines().count()), (1, "", 1), "{said:?}");
    assert!(!data.path("data/linerate").exists(), "nothing is kept of them");
}

#[test]
fn an_import_that_cannot_be_written_leaves_nothing_and_last_is_what_was_stored_last() {
    let data = Data::new();
    let (first, second) = (log("iperf3-tcp.json"), log("fio-randrw.json"));
    data.out(&["import", &second]);
    let list: Value = serde_json::from_str(&data.out(&["runs", "--json"])).unwrap();
    let folder = list["runs"][0]["folder"].as_str().unwrap().to_owned();
    // A file where the second one's folder was.
    fs::remove_dir_all(data.path("data/linerate")).unwrap();
    fs::create_dir_all(Path::new(&folder).parent().unwrap()).unwrap();
    fs::write(&folder, "").unwrap();
    let said = data.run(&["import", &first, &second]);
    assert_eq!((said.code, said.out.as_str(), said.log.lines().count()), (1, "", 1), "{said:?}");
    let left = fs::read_dir(Path::new(&folder).parent().unwrap()).unwrap().count();
    assert_eq!(left, 1, "the file alone");
    assert!(!data.path("data/linerate/runs.db").exists());
    fs::remove_file(&folder).unwrap();
    // Whatever they say of their start, and also of what was there before.
    let last = || data.out(&["show", "last", "--json"]);
    for (file, format) in [(&second, "fio"), (&first, "iperf3-tcp"), (&second, "fio")] {
        data.out(&["import", file]);
        assert_eq!(RunResult::from_json(&last()).unwrap().tests[0].workload, format);
    }
    // As PowerShell writes what a program prints.
    let text = fs::read_to_string(log("iperf2-tcp.txt")).unwrap().replace('\n', "\r\n");
    let bytes: Vec<u8> = [0xfeff].into_iter().chain(text.encode_utf16()).flat_map(u16::to_le_bytes).collect();
    fs::write(data.path("wide.txt"), bytes).unwrap();
    data.out(&["import", "wide.txt"]);
    assert_eq!(RunResult::from_json(&last()).unwrap().tests[0].id, "tcp-1s-client");
}

#[test]
fn a_log_may_come_by_standard_input_and_documents_of_other_machines_too() {
    let data = Data::new();
    let from = |file: &str| {
        let mut command = data.command(&["import", "-"]);
        command.stdin(fs::File::open(file).unwrap());
        said(&mut command)
    };
    let xdd = from(&log("xdd.txt"));
    assert!(xdd.code == 0 && xdd.out.contains("1 tests from -, in "), "{xdd:?}");
    let document = Path::new(env!("CARGO_MANIFEST_DIR")).join("../result/tests/data/pkt-gen-1.json");
    let read = from(document.to_str().unwrap());
    assert_eq!(read.code, 0, "{read:?}");
    let id = read.out.split(' ').next().unwrap();
    let kept = RunResult::from_json(&data.out(&["show", id, "--json"])).unwrap();
    assert_eq!(kept, RunResult::from_json(&fs::read_to_string(document).unwrap()).unwrap());
}

/// Imports the log of an iperf3; returns the run's id.
fn iperf3(data: &Data) -> String {
    data.out(&["import", &log("iperf3-tcp.json")]).split(' ').next().unwrap().to_owned()
}

#[test]
fn exports_are_read_by_who_reads_their_form() {
    let data = Data::new();
    let id = iperf3(&data);
    let export = |form: &str| data.out(&["export", &id, "--format", form]);
    let document = RunResult::from_json(&export("json")).unwrap();
    assert_eq!(document.run_id, id);
    let csv = export("csv");
    let cells: Vec<usize> = csv.lines().map(|line| line.split(',').count()).collect();
    assert!(cells.len() > 10 && cells.iter().all(|count| *count == 8), "{csv}");
    let median = csv.lines().find(|line| line.contains(",median,")).unwrap();
    assert!(median.ends_with(",bit/s,23876337209.436012"), "{median}");
    let theirs: Value = serde_json::from_str(&export("iperf3")).unwrap();
    assert_eq!(theirs["end"]["sum_received"]["bits_per_second"], 23_876_337_209.436_012);
    assert_eq!(theirs["start"]["test_start"]["protocol"], "TCP");
    data.put(&made("gauge", 1, &[1.0, 2.0, 3.0]));
    data.out(&["runs", "--reindex"]);
    let metrics = data.out(&["export", &id, "gauge", "--format", "prometheus"]);
    assert!(
        metrics.contains("# TYPE linerate_test_bytes_per_second gauge") && metrics.contains("run=\"gauge\""),
        "{metrics}"
    );
    let bytes = format!("statistic=\"median\"}} {}\n", 23_876_337_209.436_012 / 8.0);
    assert!(metrics.contains(&bytes), "a rate in Prometheus' base unit, {bytes}: {metrics}");
    assert!(metrics.lines().filter(|line| line.starts_with("# TYPE")).count() >= 4, "{metrics}");
    if is_installed("promtool") {
        let mut child = Command::new("promtool")
            .args(["check", "metrics"])
            .stdin(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        std::io::Write::write_all(&mut child.stdin.take().unwrap(), metrics.as_bytes()).unwrap();
        let out = child.wait_with_output().unwrap();
        assert!(out.status.success(), "{out:?}");
    } else {
        skip!("promtool is not installed");
    }
    let wrong = data.run(&["export", &id, "gauge", "--format", "flent"]);
    assert!(
        wrong.code == 2 && wrong.log.contains("--format flent: run ") && wrong.log.lines().count() == 1,
        "{wrong:?}"
    );
    assert_eq!(data.run(&["export", "gauge", "--format", "iperf3"]).code, 2);
}

#[test]
fn flents_file_is_packed_json() {
    let data = Data::new();
    let id = iperf3(&data);
    let packed = data.run(&["export", &id, "--format", "flent"]);
    assert!(packed.code == 0 && packed.bytes.starts_with(&[0x1f, 0x8b]), "{:?}", packed.log);
    data.out(&["export", &id, "--format", "flent", "--out", "x.flent.gz"]);
    data.out(&["export", &id, "--format", "flent", "--out", "x.flent"]);
    let document: Value = serde_json::from_slice(&fs::read(data.path("x.flent")).unwrap()).unwrap();
    assert_eq!((document["version"].as_u64(), document["metadata"]["NAME"].as_str()), (Some(4), Some("tcp_nup")));
    if !is_installed("python3") {
        skip!("python3 is not installed");
        return;
    }
    let check = "import gzip, json, sys; d = json.load(gzip.open('x.flent.gz')); n = len(d['x_values']); \
                 sys.exit(0 if d == json.load(open('x.flent')) and all(len(s) == n for s in d['results'].values()) else 1)";
    let out = Command::new("python3").current_dir(data.0.path()).args(["-c", check]).output().unwrap();
    assert!(out.status.success(), "{out:?}");
    // A result that flent itself reads, where it is there: by the interpreter that its program names.
    let read = "import sys; from flent import resultset; r = resultset.load('x.flent.gz'); sys.exit(0 if r.series_names else 1)";
    let path = env::var_os("PATH").unwrap_or_default();
    let program = env::split_paths(&path).find_map(|dir| fs::read_to_string(dir.join("flent")).ok());
    let Some(python) = program.as_deref().and_then(|text| text.lines().next()?.strip_prefix("#!")) else {
        skip!("flent is not installed");
        return;
    };
    let out = Command::new(python.trim()).current_dir(data.0.path()).args(["-c", read]).output().unwrap();
    assert!(out.status.success(), "{out:?}");
}

#[test]
fn reports_have_the_form_and_the_file_that_are_named() {
    let data = Data::new();
    let id = iperf3(&data);
    let report = |form: &str| data.out(&["report", &id, "--format", form]);
    assert!(data.out(&["report", &id]).starts_with("<!DOCTYPE html>"));
    assert!(report("md").starts_with("# ") && report("md").contains("| Test | Median | "));
    assert!(report("csv").starts_with("run,test,parameters,metric,"));
    let few = data.run(&["report", &id, "--format", "svg"]);
    assert!(few.code == 2 && few.log.contains("--format svg: no chart of it has enough points"), "{few:?}");
    assert_eq!(data.out(&["report", &id, "--format", "md", "--out", "x.md"]), "");
    assert_eq!(fs::read_to_string(data.path("x.md")).unwrap(), report("md"));
    let bad = data.run(&["report", &id, "--out", "no/such/x.html"]);
    assert!(bad.code == 1 && bad.log.contains("no/such/x.html") && bad.log.contains("--out FILE"), "{bad:?}");
}

#[test]
fn a_report_is_opened_or_its_path_is_said() {
    let data = Data::new();
    let id = iperf3(&data);
    let bin = data.path("bin");
    fs::create_dir(&bin).unwrap();
    let open = |form: &str| {
        let mut command = Command::new(BINARY);
        command
            .args(["report", &id, "--open", "--format", form])
            .env("XDG_DATA_HOME", data.path("data"))
            .env("PATH", &bin);
        said(&mut command)
    };
    let without = open("html");
    assert!(
        without.code == 0 && without.log.contains("xdg-open") && without.log.contains("/report.html yourself"),
        "{without:?}"
    );
    let opener = bin.join("xdg-open");
    let opened = data.path("opened");
    fs::write(&opener, format!("#!/bin/sh\necho \"$1\" >{}\n", opened.display())).unwrap();
    fs::set_permissions(&opener, fs::Permissions::from_mode(0o755)).unwrap();
    let with = open("md");
    assert_eq!((with.code, with.log.as_str()), (0, ""));
    let path = fs::read_to_string(opened).unwrap();
    assert!(
        path.trim().ends_with("/report.md") && fs::read_to_string(path.trim()).unwrap().starts_with("# "),
        "{path}"
    );
}

#[test]
fn help_lists_the_rows_of_the_tables() {
    let data = Data::new();
    let text = |command: &str| data.out(&[command, "--help"]).split_whitespace().collect::<Vec<_>>().join(" ");
    let import = text("import");
    for name in ["linerate", "iperf3", "iperf", "iperf-csv", "netperf", "pkt-gen", "xdd", "fio"] {
        assert!(import.contains(&format!(" {name}: ")), "{name}: {import}");
    }
    let export = text("export");
    for name in ["json", "csv", "flent", "iperf3", "prometheus"] {
        assert!(export.contains(&format!(" {name}: ")), "{name}: {export}");
    }
    assert!(text("report").contains(" svg: "));
}

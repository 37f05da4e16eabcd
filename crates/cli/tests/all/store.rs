//! Tests of kept runs: `linerate runs`, `show`, `compare`, `report`, `export` and `import` as programs. What goes wrong
//! with disks, databases and files has a file of its own.

mod attacks;
mod forms;
mod speakers;
mod streams;

use crate::process::BINARY;
use linerate_result::{Outcome, Repeat, RunResult, Test, Timestamp, Unit};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A user's data directory that is gone with the test.
struct Data(tempfile::TempDir);

/// Output of a command.
#[derive(Debug)]
struct Said {
    code: i32,
    out: String,
    log: String,
    bytes: Vec<u8>,
}

impl Data {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// `linerate …` of this user.
    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(BINARY);
        command.args(words).current_dir(self.0.path()).env("XDG_DATA_HOME", self.path("data"));
        command
    }

    fn run(&self, words: &[&str]) -> Said {
        said(&mut self.command(words))
    }

    /// Output of a command that must succeed and say nothing else.
    fn out(&self, words: &[&str]) -> String {
        let said = self.run(words);
        assert_eq!((said.code, said.log.as_str()), (0, ""), "{words:?}: {}", said.out);
        said.out
    }

    /// Ids of all runs, as `runs --json` lists them.
    fn ids(&self) -> Vec<String> {
        let list: Value = serde_json::from_str(&self.out(&["runs", "--json"])).unwrap();
        let id = |run: &Value| run["id"].as_str().unwrap().to_owned();
        list["runs"].as_array().unwrap().iter().map(id).collect()
    }

    /// Writes a run into its folder, as an earlier linerate without an index did.
    fn put(&self, run: &RunResult) {
        let folder = self.path("data/linerate/runs").join(format!("{}-{}", run.start.compact(), run.run_id));
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("result.json"), run.to_json()).unwrap();
    }
}

fn said(command: &mut Command) -> Said {
    let out = command.output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let code = out.status.code().unwrap_or_else(|| panic!("{command:?}: {out:?}"));
    Said { code, out: text(&out.stdout), log: text(&out.stderr), bytes: out.stdout }
}

/// A log that one of the programs has written.
fn log(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../lab/tests/logs").join(name);
    path.canonicalize().unwrap().to_str().unwrap().to_owned()
}

/// A made-up run of one test of these repeats.
fn made(id: &str, second: u32, values: &[f64]) -> RunResult {
    let start: Timestamp = format!("2001-02-03T04:05:{second:02}Z").parse().unwrap();
    let mut run = RunResult::new(id.to_owned(), vec!["linerate".to_owned(), "qualify".to_owned()], start);
    run.outcome = Outcome::Pass;
    let repeat = |value: &f64| Repeat { value: (*value).into(), valid: true, ..Repeat::default() };
    let mut test = Test { id: "tx-64".to_owned(), workload: "tx".to_owned(), ..Test::default() };
    test.repeats = values.iter().map(repeat).collect();
    test.summarize(Unit::Pps);
    run.tests = vec![test];
    run
}

fn qualify(data: &Data) -> Said {
    static NUMBER: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
    let number = NUMBER.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    let cable = format!("cable:store-{}-{number}", std::process::id());
    let ports = [format!("{cable}{{1"), format!("{cable}}}1")];
    data.run(&["qualify", &ports[0], &ports[1], "--time", "10", "--repeats", "1"])
}

#[test]
fn a_run_is_listed_and_shown_as_it_was_printed() {
    let data = Data::new();
    let printed = qualify(&data);
    let (table, _) = printed.out.split_once("\nResult: ").unwrap_or_else(|| panic!("{printed:?}"));
    assert_eq!(data.out(&["show", "last"]), table);
    let list = data.out(&["runs"]);
    let id = &data.ids()[0];
    assert!(list.lines().count() == 2 && list.lines().nth(1).unwrap().starts_with(&format!("{id}  ")), "{list}");
    assert!(list.contains("linerate qualify cable:store-"), "{list}");
    // Without its folder too.
    fs::remove_dir_all(data.path("data/linerate/runs")).unwrap();
    assert_eq!(data.out(&["show", &id[..6]]), table);
    let document = RunResult::from_json(&data.out(&["show", id, "--json"])).unwrap();
    assert_eq!((&document.run_id, document.exit_code()), (id, u8::try_from(printed.code).unwrap()));
    assert!(document.environment.host.is_some());
}

#[test]
fn every_command_that_measures_keeps_its_run() {
    let data = Data::new();
    for (words, first) in [
        (&["bench", "null", "--time", "50", "--rounds", "1"][..], "linerate bench"),
        (&["profile", "tx", "--time", "1", "--rounds", "1"], "linerate profile"),
        (&["profile", "flood", "127.0.0.1:9", "--time", "1"], "linerate profile"),
        (&["pkt-gen", "-i", "null:", "-f", "tx", "-n", "1000", "--keep"], "pkt-gen"),
        (&["xdd", "-targets", "1", "null:1M", "-numreqs", "10", "--keep"], "xdd"),
    ] {
        let said = data.run(words);
        assert!(matches!(said.code, 0 | 3) && !said.log.contains("linerate: "), "{words:?}: {said:?}");
        let list: Value = serde_json::from_str(&data.out(&["runs", "--json", "--last", "1"])).unwrap();
        let command: Vec<&str> =
            list["runs"][0]["command_line"].as_array().unwrap().iter().map(|word| word.as_str().unwrap()).collect();
        assert!(command.join(" ").starts_with(first), "{list}");
        let folder = list["runs"][0]["folder"].as_str().unwrap();
        assert!(Path::new(folder).join("result.json").is_file(), "{list}");
        let shown = data.out(&["show", "last"]);
        if words[0] == "bench" || words[0] == "profile" {
            assert_eq!(shown, said.out, "{words:?}");
        }
    }
    assert_eq!(data.ids().len(), 5);
    // Nobody has asked for these to be kept, and a program of that name has never kept any.
    data.run(&["pkt-gen", "-i", "null:", "-f", "tx", "-n", "1000", "--json"]);
    assert_eq!(data.ids().len(), 5);
}

#[test]
fn another_index_is_named_by_db() {
    let data = Data::new();
    let words = ["bench", "null", "--time", "50", "--rounds", "1", "--db", "mine.db"];
    assert!(matches!(data.run(&words).code, 0 | 3));
    assert!(data.path("mine.db").is_file() && !data.path("data/linerate/runs.db").exists());
    assert_eq!(data.out(&["runs", "--db", "mine.db"]).lines().count(), 2);
    let none = data.run(&["runs"]);
    assert!(none.code == 0 && none.out.is_empty() && none.log.contains("runs --reindex"), "{none:?}");
}

#[test]
fn a_run_is_meant_by_id_beginning_last_or_path() {
    let data = Data::new();
    for (id, second) in [("ab12", 1), ("ab34", 2), ("ab", 3), ("cd", 4), ("cd", 5)] {
        data.put(&made(id, second, &[1e6]));
    }
    assert_eq!(data.out(&["runs", "--reindex"]), "5 runs read from their folders, 0 more kept in the index alone\n");
    let shown = |word: &str| RunResult::from_json(&data.out(&["show", word, "--json"])).unwrap();
    assert_eq!(shown("last").start.to_string(), "2001-02-03T04:05:05.000Z");
    assert_eq!((shown("ab1").run_id.as_str(), shown("ab").run_id.as_str()), ("ab12", "ab"));
    assert_eq!(shown("20010203T040504Z-cd").start.to_string(), "2001-02-03T04:05:04.000Z");
    let folder = "data/linerate/runs/20010203T040501Z-ab12";
    assert_eq!((shown(folder).run_id, shown(&format!("{folder}/result.json")).run_id), ("ab12".into(), "ab12".into()));
    for (word, words) in [
        ("cd", "2 runs begin so; give one of 20010203T040505Z-cd, 20010203T040504Z-cd"),
        ("a", "3 runs begin so"),
        ("zz", "no run's id begins so; `linerate runs` lists them"),
        ("no/such", "cannot read"),
        ("x\x1b[2J", "no run's id begins so"),
    ] {
        let said = data.run(&["show", word]);
        assert_eq!((said.code, said.log.lines().count(), said.out.as_str()), (2, 1, ""), "{word}: {said:?}");
        assert!(said.log.contains(words) && !said.log.contains('\x1b'), "{word}: {said:?}");
    }
}

#[test]
fn an_import_says_what_failed_and_what_was_not_taken() {
    let data = Data::new();
    let died = "Connecting to host 192.0.2.2, port 5201\n[  5] local 192.0.2.1 port 4 connected to 192.0.2.2 port 5201\n\
        [  5]   0.00-1.00   sec  12.0 MBytes   101 Mbits/sec    0    767 KBytes\n\
        iperf3: error - control socket has closed unexpectedly\n";
    fs::write(data.path("died.log"), died).unwrap();
    let said = data.out(&["import", "died.log"]);
    assert!(said.ends_with("; failed: tcp-1s: line 4: control socket has closed unexpectedly\n"), "{said}");
    let row = "131072  16384  16384    1.00     9000.00\n";
    let table = "MIGRATED TCP STREAM TEST from a () port 0 to b ()\nbytes  bytes   bytes    secs.    10^6bits/sec\n\n";
    fs::write(data.path("np.log"), format!("{table}{row}some words\n{row}")).unwrap();
    let said = data.out(&["import", "np.log"]);
    assert!(said.contains("; line 6 was not taken: numbers behind other text") && said.lines().count() == 1, "{said}");
    assert!(data.out(&["show", "last"]).contains("line 6 was not taken"));
}

#[test]
fn a_run_of_the_year_9999_is_not_the_last_for_ever() {
    let data = Data::new();
    let mut wrong = made("far", 1, &[1e6]);
    wrong.start = "9999-12-31T23:59:59Z".parse().unwrap();
    fs::write(data.path("far.json"), wrong.to_json()).unwrap();
    fs::write(data.path("near.json"), made("near", 2, &[1e6]).to_json()).unwrap();
    let last = || RunResult::from_json(&data.out(&["show", "last", "--json"])).unwrap().run_id;
    for (file, id) in [("far.json", "far"), ("near.json", "near"), ("far.json", "far"), ("near.json", "near")] {
        data.out(&["import", file]);
        assert_eq!(last(), id);
    }
    let listed = data.out(&["runs", "--last", "1"]);
    assert!(listed.contains("near") && !listed.contains("far"), "{listed}");
    // Nor behind an index that is made anew.
    data.out(&["runs", "--reindex"]);
    assert_eq!(last(), "near");
    fs::remove_file(data.path("data/linerate/runs.db")).unwrap();
    let folder = |id: &str| data.path("data/linerate/runs").join(id).join("result.json");
    let at = |seconds| std::time::UNIX_EPOCH + std::time::Duration::from_secs(seconds);
    for (id, seconds) in [("99991231T235959Z-far", 1), ("20010203T040502Z-near", 2)] {
        fs::File::options().write(true).open(folder(id)).unwrap().set_modified(at(seconds)).unwrap();
    }
    data.out(&["runs", "--reindex"]);
    assert_eq!(last(), "near");
}

#[test]
fn runs_are_chosen_by_number_workload_outcome_and_host() {
    let data = Data::new();
    let mut failed = made("bad", 2, &[1e6]);
    (failed.outcome, failed.environment.host) = (Outcome::Failed, Some("elsewhere".to_owned()));
    failed.tests[0].workload = "rx".to_owned();
    for run in [&made("one", 1, &[1e6]), &failed, &made("two", 3, &[1e6])] {
        data.put(run);
    }
    data.out(&["runs", "--reindex"]);
    let listed = |words: &[&str]| {
        let text = data.out(&[&["runs"], words].concat());
        text.lines().skip(1).map(|line| line.split(' ').next().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(listed(&[]), ["two", "bad", "one"]);
    assert_eq!(listed(&["--last", "1"]), ["two"]);
    assert_eq!(listed(&["--workload", "rx"]), ["bad"]);
    assert_eq!(listed(&["--workload", "tx", "--last", "9"]), ["two", "one"]);
    assert_eq!(listed(&["--outcome", "failed"]), ["bad"]);
    assert_eq!(listed(&["--host", "elsewhere"]), ["bad"]);
    assert_eq!(listed(&["--workload", "none"]), Vec::<String>::new());
}

#[test]
fn a_comparison_ends_with_3_only_if_a_test_is_worse_beyond_threshold_and_spread() {
    let data = Data::new();
    for (id, second, values) in [
        ("base", 1, &[100e6, 101e6, 99e6, 100e6][..]),
        ("slow", 2, &[90e6, 91e6, 89e6, 90e6]),
        ("wild", 3, &[60e6, 130e6, 70e6, 110e6]),
        ("fast", 4, &[120e6, 121e6, 119e6, 120e6]),
        ("once", 5, &[50e6]),
    ] {
        data.put(&made(id, second, values));
    }
    data.out(&["runs", "--reindex"]);
    for (words, code, judged) in [
        (&["base", "base"][..], 0, "same"),
        (&["base", "slow"], 3, "worse"),
        (&["base", "slow", "--threshold", "15"], 0, "same"),
        (&["base", "wild"], 0, "unclear"),
        (&["base", "fast"], 0, "better"),
        (&["fast", "last"], 4, "not enough"),
    ] {
        let said = data.run(&[&["compare"], words].concat());
        assert_eq!((said.code, said.log.as_str()), (code, ""), "{words:?}: {}", said.out);
        assert!(
            said.out.lines().any(|line| line.contains("tx-64") && line.contains(judged)),
            "{words:?}: {}",
            said.out
        );
        let document = data.run(&[&["compare", "--json"], words].concat());
        assert_eq!(document.code, code);
        let document: Value = serde_json::from_str(&document.out).unwrap();
        assert_eq!(document["pairs"][0]["judged"], judged, "{words:?}");
        assert!(document["method"].as_str().unwrap().contains("Welch"));
        let suspects = if judged == "unclear" { 1 } else { 0 };
        assert_eq!(document["suspects"].as_array().unwrap().len(), suspects, "{words:?}");
    }
    let worse: Value = serde_json::from_str(&data.run(&["compare", "base", "slow", "--json"]).out).unwrap();
    let number = |name: &str| worse["pairs"][0][name].as_f64().unwrap();
    assert!((number("ratio") - 0.9).abs() < 1e-3 && number("low") < 0.9 && number("high") < 1.0, "{worse}");
}

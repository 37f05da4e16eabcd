//! Tests of what happens to the index: damage, full and read-only disks, locks, several writers, SIGKILL, hostile names.
//! No finished result is lost by it.

use super::{Data, log, made, said};
use crate::process::BINARY;
use crate::unwritten::on_tmpfs;
use linerate_result::{RunResult, Unit};
use linerate_skip::{is_installed, skip};
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const BENCH: &[&str] = &["bench", "null", "--time", "50", "--rounds", "1", "--json"];

/// Documents in the folders of runs.
fn documents(data: &Data) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(data.path("data/linerate/runs")) else { return Vec::new() };
    let files = entries.map(|entry| entry.unwrap().path().join("result.json"));
    files.filter(|file| RunResult::from_json(&fs::read_to_string(file).unwrap_or_default()).is_ok()).collect()
}

#[test]
fn a_damaged_index_is_said_before_anything_is_measured() {
    let data = Data::new();
    data.run(BENCH);
    let path = data.path("data/linerate/runs.db");
    let sound = fs::read(&path).unwrap();
    for (at, bytes) in
        [b"not a database, but long enough to be one ".repeat(200), sound[..3000].to_vec()].iter().enumerate()
    {
        fs::write(&path, bytes).unwrap();
        let said = data.run(BENCH);
        assert_eq!((said.code, said.out.as_str()), (1, ""), "{said:?}");
        let remarks: Vec<&str> = said.log.lines().filter(|line| line.contains("index")).collect();
        assert!(
            remarks.len() == 1 && remarks[0].contains("is damaged") && remarks[0].contains("runs --reindex"),
            "{said:?}"
        );
        assert_eq!(documents(&data).len(), at + 1, "nothing was measured");
        let listed = data.run(&["runs"]);
        assert_eq!((listed.code, listed.out.as_str(), listed.log.lines().count()), (1, "", 1), "{listed:?}");
        let mended = data.run(&["runs", "--reindex"]);
        assert!(mended.code == 0 && mended.log.contains("is kept as") && mended.log.contains("damaged-"), "{mended:?}");
        assert!(matches!(data.run(BENCH).code, 0 | 3));
        assert_eq!(data.ids().len(), at + 2);
    }
}

#[test]
fn a_newer_index_is_refused_with_a_mend() {
    let data = Data::new();
    data.run(BENCH);
    let path = data.path("data/linerate/runs.db");
    let mut bytes = fs::read(&path).unwrap();
    bytes[60..64].copy_from_slice(&77u32.to_be_bytes());
    fs::write(&path, &bytes).unwrap();
    for words in [&["runs"][..], &["show", "last"], &["runs", "--reindex"]] {
        let said = data.run(words);
        assert!(said.code == 1 && said.log.contains("of version 77") && said.log.contains("--db FILE"), "{said:?}");
    }
    let measured = data.run(BENCH);
    assert!(measured.code == 1 && measured.log.contains("of version 77"), "{measured:?}");
    assert!(documents(&data).len() == 1 && fs::read(&path).unwrap() == bytes);
}

/// Regression: the run was measured and kept, and the command a success, but nothing on the list.
#[test]
fn an_index_without_room_is_said_before_anything_is_measured() {
    let script = r#"
        mkdir "$DIR/tight"; mount -t tmpfs -o size=256k none "$DIR/tight"
        export XDG_DATA_HOME="$DIR/data"; mkdir -p "$DIR/data/linerate"; ln -s "$DIR/tight/runs.db" "$DIR/data/linerate/runs.db"
        "$LINERATE" pkt-gen -i null: -f tx -n 1000 --keep >/dev/null 2>&1; echo "code $?"
        cat /dev/zero >"$DIR/tight/fill" 2>/dev/null || true
        for words in "pkt-gen -i null: -f tx -n 1000 --keep" "bench null --time 50" "qualify null: null: --time 60000" \
            "xdd -targets 1 null:1M -numreqs 10 --keep" "stream -c 127.0.0.1 --keep"; do
            code=0; "$LINERATE" $words 2>&1 || code=$?; echo "code $code"
        done
        "$LINERATE" runs | wc -l"#;
    let Some((_dir, mut command)) = on_tmpfs("size=16m", script) else { return };
    let said = said(&mut command);
    let lines: Vec<&str> = said.out.lines().collect();
    assert_eq!((lines[0], lines.len()), ("code 0", 12), "{said:?}");
    for pair in lines[1..11].chunks(2) {
        assert!(pair[0].contains("runs.db") && pair[0].contains("no room left on its disk"), "{said:?}");
        assert_eq!(pair[1], "code 1", "{said:?}");
    }
    assert_eq!(lines[11].trim(), "2", "heading and one run: {said:?}");
}

/// The results lie on another disk than the index, which fills while a run is measured.
#[test]
fn a_disk_that_fills_costs_the_entry_and_the_exit_code_and_no_result() {
    let script = r#"
        mkdir "$DIR/tight"; mount -t tmpfs -o size=256k none "$DIR/tight"
        export XDG_DATA_HOME="$DIR/data"
        "$LINERATE" bench null --time 50 --rounds 1 --db "$DIR/tight/runs.db" >/dev/null || [ $? = 3 ]
        "$LINERATE" bench null checksum --time 1000 --rounds 1 --db "$DIR/tight/runs.db" >"$DIR/out" 2>"$DIR/log" & pid=$!
        until grep -q null: "$DIR/out" || ! kill -0 $pid; do sleep 0.05; done
        cat /dev/zero >"$DIR/tight/fill" 2>/dev/null || true
        code=0; wait $pid || code=$?; echo "code $code"
        grep -a index "$DIR/log" || true
        ls "$DIR"/data/linerate/runs/*/result.json | wc -l
        rm "$DIR/tight/fill"
        "$LINERATE" runs --reindex --db "$DIR/tight/runs.db" || true
        "$LINERATE" runs --db "$DIR/tight/runs.db" | wc -l"#;
    let Some((_dir, mut command)) = on_tmpfs("size=8m", script) else { return };
    let said = said(&mut command);
    assert_eq!(said.code, 0, "{said:?}");
    let lines: Vec<&str> = said.out.lines().collect();
    assert_eq!(lines[0], "code 1", "{said:?}");
    assert!(lines[1].contains("no room left on its disk") && lines[1].contains("runs --reindex"), "{said:?}");
    assert_eq!(lines[2].trim(), "2", "both results are there: {said:?}");
    // The index that was there is whole, and takes the second run when there is room.
    assert!(lines.last().unwrap().trim().parse::<u32>().unwrap() >= 2, "{said:?}");
}

#[test]
fn a_read_only_store_is_listed_and_said_to_be_read_only() {
    let script = r#"
        export XDG_DATA_HOME="$DIR/data"
        "$LINERATE" bench null --time 50 --rounds 1 >/dev/null || [ $? = 3 ]
        mount -o remount,ro "$DIR"
        "$LINERATE" runs | wc -l
        "$LINERATE" show last | head -2 | tail -1
        "$LINERATE" runs --reindex 2>&1 || echo "code $?"
        "$LINERATE" bench null --time 50 --rounds 1 2>&1 >/dev/null || echo "code $?""#;
    let Some((_dir, mut command)) = on_tmpfs("size=8m", script) else { return };
    let said = said(&mut command);
    let lines: Vec<&str> = said.out.lines().filter(|line| !line.contains("null: ") || !line.contains('/')).collect();
    assert_eq!((said.code, lines[0].trim()), (0, "2"), "{said:?}");
    assert!(lines[1].starts_with("null: "), "{said:?}");
    assert!(
        lines[2].contains("cannot be written") && lines[2].contains("--db FILE") && lines[3] == "code 1",
        "{said:?}"
    );
    assert!(lines[4].contains("no result can be kept") && lines[4].contains("Read-only"), "{said:?}");
    assert_eq!(lines[5..], ["code 2"], "{said:?}");
}

#[test]
fn a_locked_index_is_waited_for_and_then_said() {
    if !is_installed("python3") {
        skip!("python3 is not installed");
        return;
    }
    let data = Data::new();
    data.run(BENCH);
    // Holds the lock until its standard input ends.
    let hold = "import sqlite3, sys; d = sqlite3.connect(sys.argv[1], isolation_level=None); d.execute('BEGIN EXCLUSIVE'); \
                print('held', flush=True); sys.stdin.read()";
    let holder = |path: &PathBuf| {
        let mut child = Command::new("python3")
            .args(["-c", hold])
            .arg(path)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        std::io::BufRead::read_line(&mut std::io::BufReader::new(child.stdout.take().unwrap()), &mut line).unwrap();
        assert_eq!(line, "held\n");
        child
    };
    let path = data.path("data/linerate/runs.db");
    let mut held = holder(&path);
    let began = Instant::now();
    let said = data.run(BENCH);
    drop(held.stdin.take());
    held.wait().unwrap();
    assert!(said.code == 1 && said.log.contains("has been locked by another program for 10 s"), "{said:?}");
    assert!(began.elapsed() > Duration::from_secs(9) && documents(&data).len() == 1, "nothing was measured");
    // A lock that is given up in time costs nothing.
    let mut held = holder(&path);
    let bench = data.command(BENCH).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    std::thread::sleep(Duration::from_secs(2));
    drop(held.stdin.take());
    held.wait().unwrap();
    let out = bench.wait_with_output().unwrap();
    assert!(!String::from_utf8_lossy(&out.stderr).contains("index"), "{out:?}");
    assert_eq!(data.ids().len(), 2);
}

#[test]
fn several_writers_at_once_lose_nothing() {
    let data = Data::new();
    let files = [
        "npresults.txt",
        "iperf3-tcp.json",
        "iperf3-r.json",
        "iperf2-tcp.txt",
        "iperf2-tcp.csv",
        "fio-randrw.json",
        "xdd-passes.txt",
        "pktgen-tx.txt",
    ];
    // The first of them makes the index, and nobody knows who that is.
    let writers: Vec<_> = files
        .iter()
        .map(|file| data.command(&["import", &log(file)]).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap())
        .collect();
    for writer in writers {
        let out = writer.wait_with_output().unwrap();
        assert!(out.status.success() && out.stderr.is_empty(), "{out:?}");
    }
    assert_eq!(data.ids().len(), files.len());
}

/// A writer that is killed in the middle leaves the index as it was before, or with all that it wrote.
#[test]
fn sigkill_in_the_middle_leaves_a_whole_index() {
    let data = Data::new();
    let runs = 1500;
    for number in 0..runs {
        let mut run = made(&format!("{number:06x}"), number % 60, &[1e6, 2e6, 3e6]);
        run.tests[0].samples =
            (0..50).map(|n| linerate_result::Sample { t_s: f64::from(n).into(), value: 1.0.into() }).collect();
        data.put(&run);
    }
    let whole = Instant::now();
    data.out(&["runs", "--reindex"]);
    let whole = whole.elapsed();
    assert_eq!(data.ids().len(), runs as usize);
    for part in 1..=12u32 {
        let mut writer = data.command(&["runs", "--reindex"]).stdout(Stdio::null()).spawn().unwrap();
        std::thread::sleep(whole * part / 13);
        let _ = writer.kill();
        writer.wait().unwrap();
        // The list rolls back what was not ended.
        assert_eq!(data.ids().len(), runs as usize, "killed after {part}/13 of {whole:?}");
    }
    assert_eq!(data.run(&["runs", "--reindex"]).code, 0);
    // One that is killed while it makes the index.
    fs::remove_file(data.path("data/linerate/runs.db")).unwrap();
    let mut writer = data.command(&["runs", "--reindex"]).stdout(Stdio::null()).spawn().unwrap();
    std::thread::sleep(whole / 2);
    let _ = writer.kill();
    writer.wait().unwrap();
    assert_eq!(data.run(&["runs", "--reindex"]).code, 0);
    assert_eq!(data.ids().len(), runs as usize);
}

#[test]
fn ten_thousand_runs_are_listed_without_their_documents() {
    let data = Data::new();
    let mut run = made("x", 1, &[1e6, 2e6, 3e6]);
    for number in 0..10_000u32 {
        run.run_id = format!("{number:08x}");
        data.put(&run);
    }
    assert!(data.out(&["runs", "--reindex"]).starts_with("10000 runs read"));
    // To read them would take seconds.
    fs::remove_dir_all(data.path("data/linerate/runs")).unwrap();
    assert_eq!(data.out(&["runs"]).lines().count(), 10_001);
    assert_eq!(data.out(&["runs", "--last", "5"]).lines().count(), 6);
}

/// Names in logs and documents would drive the terminal.
#[test]
fn no_name_from_outside_reaches_the_terminal_as_it_is() {
    let data = Data::new();
    let hostile = "\x1b]0;owned\x07\u{202e}\u{9b}2J";
    let text = fs::read_to_string(log("fio-randrw.json")).unwrap();
    let json = serde_json::to_string(hostile).unwrap();
    let text = text.replace("\"jobname\" : \"r\"", &format!("\"jobname\" : {json}")).replace("\"randrw\"", &json);
    fs::write(data.path("fio\x1b[2J.json"), text).unwrap();
    let banner = fs::read_to_string(log("npresults.txt")).unwrap().replace("to 127.0.0.1", &format!("to {hostile}"));
    fs::write(data.path("np"), banner).unwrap();
    let mut run = made("doc", 1, &[1e6, 2e6, 3e6]);
    run.run_id = format!("id{hostile}");
    run.command_line = vec!["linerate".to_owned(), hostile.to_owned()];
    run.environment.host = Some(hostile.to_owned());
    run.tests[0].id = format!("test{hostile}");
    run.tests[0].workload = "bench".to_owned();
    run.tests[0].title = hostile.to_owned();
    run.tests[0].failures = vec![hostile.to_owned()];
    run.tests[0].summarize(Unit::BitsPerSecond);
    data.put(&run);
    let mut output = data.out(&["import", "fio\x1b[2J.json", "np"]);
    output += &data.out(&["runs", "--reindex"]);
    output += &data.out(&["runs"]);
    let json = data.out(&["runs", "--json"]);
    let list: serde_json::Value = serde_json::from_str(&json).unwrap();
    output += &json;
    for entry in list["runs"].as_array().unwrap() {
        let name = entry["name"].as_str().unwrap();
        for words in [
            &["show", name][..],
            &["show", name, "--json"],
            &["report", name],
            &["report", name, "--format", "md"],
            &["report", name, "--format", "svg"],
            &["export", name, "--format", "json"],
            &["export", name, "--format", "iperf3"],
            &["export", name, "--format", "prometheus"],
            &["export", name, "--format", "csv"],
            &["compare", name, name],
        ] {
            let said = data.run(words);
            output += &(said.out + &said.log);
        }
    }
    output += &data.run(&["show", "id"]).out;
    assert!(output.matches('\u{fffd}').count() > 20, "{output}");
    for c in ['\x1b', '\x07', '\u{9b}', '\u{202e}'] {
        let line = output.lines().find(|line| line.contains(c));
        assert!(line.is_none(), "{line:?}");
    }
}

/// A log with numbers beyond all bounds, nesting, and a name for a folder.
#[test]
fn extreme_files_are_refused_or_kept_within_bounds() {
    let data = Data::new();
    let deep = format!("{{\"start\":{}", "[".repeat(100_000));
    fs::write(data.path("deep.json"), deep + "\"intervals\"").unwrap();
    let huge = fs::read_to_string(log("xdd.txt")).unwrap().replace("1230150.213", &"9".repeat(400));
    fs::write(data.path("huge.txt"), huge).unwrap();
    fs::File::create(data.path("sparse")).unwrap().set_len(1 << 40).unwrap();
    for (file, code) in [("deep.json", 1), ("huge.txt", 1), ("sparse", 2)] {
        let said = data.run(&["import", file]);
        assert_eq!((said.code, said.log.lines().count()), (code, 1), "{file}: {said:?}");
    }
    let mut run = made("7f", 1, &[1.0]);
    run.tests[0].parameters.insert("n".to_owned(), u64::MAX.into());
    fs::write(data.path("out.json"), run.to_json()).unwrap();
    data.out(&["import", "out.json"]);
    assert_eq!(documents(&data).len(), 1);
    assert!(Command::new(BINARY).arg("show").arg("/dev/zero").output().unwrap().status.code() == Some(2));
}

/// Regression: the link was replaced, and the file that it led to stayed as it was.
#[test]
fn what_is_written_to_a_link_is_where_it_leads() {
    let data = Data::new();
    data.put(&made("ab", 1, &[1e6]));
    data.out(&["runs", "--reindex"]);
    fs::write(data.path("file"), "old").unwrap();
    std::os::unix::fs::symlink("file", data.path("link")).unwrap();
    for words in [&["report", "last", "--format", "md"][..], &["export", "last", "--format", "csv"]] {
        data.run(&[words, &["--out", "link"]].concat());
        assert!(data.path("link").is_symlink(), "{words:?}");
        assert!(fs::read_to_string(data.path("file")).unwrap().len() > 3, "{words:?}");
        fs::write(data.path("file"), "old").unwrap();
    }
}

/// Regression: ids of 5000 characters were listed whole, and two that differ in a sign shared a folder.
#[test]
fn an_id_that_no_run_has_is_refused_and_never_listed_whole() {
    let data = Data::new();
    let long = "7".repeat(5000);
    for id in ["", "..", "../../../../x", "a/b", "a\u{1b}b", &long] {
        fs::write(data.path("id.json"), made(id, 1, &[1.0]).to_json()).unwrap();
        let said = data.run(&["import", "id.json"]);
        assert_eq!((said.code, said.out.as_str(), said.log.lines().count()), (1, "", 1), "{said:?}");
        assert!(said.log.contains("id.json:1: run_id") && said.log.len() < 300, "{said:?}");
    }
    assert!(documents(&data).is_empty());
    // In a folder of another linerate.
    let mut run = made(&long, 1, &[1.0]);
    run.environment.host = Some(long.clone());
    run.tests[0].id = long;
    fs::create_dir_all(data.path("others/one")).unwrap();
    fs::write(data.path("others/one/result.json"), run.to_json()).unwrap();
    data.out(&["runs", "--reindex", "--under", "others"]);
    let list = data.out(&["runs"]);
    assert!(list.lines().count() == 2 && list.len() < 1000, "{list}");
}

/// Regression: a document with the id and the start of a kept run replaced it without a word.
#[test]
fn an_import_replaces_no_kept_run_of_other_contents() {
    let data = Data::new();
    let honest = made("7f3a", 1, &[1e6, 2e6, 3e6]);
    let (mut other, mut index_only) = (honest.clone(), made("77aa", 2, &[1e6]));
    other.environment.host = Some("another".to_owned());
    let write = |name: &str, run: &RunResult| fs::write(data.path(name), run.to_json()).unwrap();
    write("honest.json", &honest);
    write("other.json", &other);
    write("index.json", &index_only);
    index_only.environment.host = Some("another".to_owned());
    write("other-index.json", &index_only);
    data.out(&["import", "honest.json", "index.json"]);
    fs::remove_dir_all(data.path("data/linerate/runs").join("20010203T040502Z-77aa")).unwrap();
    let shown = || data.out(&["show", "7f3a", "--json"]);
    let before = shown();
    for file in ["other.json", "other-index.json"] {
        let said = data.run(&["import", &log("xdd.txt"), file]);
        assert_eq!((said.code, said.out.as_str(), said.log.lines().count()), (1, "", 1), "{said:?}");
        assert!(said.log.contains(" is kept already") && said.log.contains("linerate runs rm 7"), "{said:?}");
    }
    assert_eq!((shown(), data.ids().len(), documents(&data).len()), (before, 2, 1), "nothing is kept beside them");
    // Without an index, and of two in one file.
    fs::remove_file(data.path("data/linerate/runs.db")).unwrap();
    assert_eq!(data.run(&["import", "other.json"]).code, 1);
    let both = made("two", 3, &[1.0]).to_line() + &made("two", 3, &[2.0]).to_line();
    fs::write(data.path("both.json"), both).unwrap();
    assert_eq!((data.run(&["import", "both.json"]).code, documents(&data).len()), (1, 1));
    // The same again is one run, whatever its file is called; what was removed makes room.
    fs::copy(log("iperf3-tcp.json"), data.path("copy")).unwrap();
    data.out(&["import", &log("iperf3-tcp.json"), "honest.json"]);
    data.out(&["import", "./copy", "honest.json"]);
    assert_eq!(data.ids().len(), 2);
    data.out(&["runs", "rm", "7f3a"]);
    data.out(&["import", "other.json"]);
}

/// Regression: the exit code was 0, and what could not be listed was kept.
#[test]
fn an_import_that_does_not_get_on_the_list_is_refused() {
    let script = r#"
        export XDG_DATA_HOME="$DIR/data"
        mkdir "$DIR/tight"; mount -t tmpfs -o size=16k none "$DIR/tight"
        cat /dev/zero >"$DIR/tight/fill" 2>/dev/null || true
        code=0; "$LINERATE" import "$LOG" --db "$DIR/tight/runs.db" >/dev/null || code=$?
        find "$DIR/data" -name result.json 2>/dev/null | wc -l
        exit $code"#;
    let Some((_dir, mut command)) = on_tmpfs("size=8m", script) else { return };
    let said = said(command.env("LOG", log("xdd.txt")));
    assert_eq!((said.code, said.out.trim(), said.log.lines().count()), (1, "0", 1), "{said:?}");
    assert!(said.log.contains("no room left"), "{said:?}");
}

//! Tests of outputs that cannot be written: standard output, the place of a result, a file that a flag names.

use serde_json::Value;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// Time limit of a command.
const LIMIT: Duration = Duration::from_secs(120);

/// A run, by its path.
const DOCUMENT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../result/tests/data/pkt-gen-1.json");

/// Settings that no interface has.
const SETTINGS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/all/nic_host/nothing.toml");

/// A short command of each kind that prints a result. NAME is replaced by a unique name, DIR by a directory.
const COMMANDS: &[&[&str]] = &[
    &["help"],
    &["--version"],
    &["qualify", "cable:NAME{1", "cable:NAME}1", "--time", "10", "--repeats", "1", "--out", "DIR/q"],
    &["qualify", "cable:NAME{1", "cable:NAME}1", "--time", "10", "--repeats", "1", "--out", "DIR/q", "--json"],
    &["pkt-gen", "-i", "null:", "-f", "tx", "-n", "1000"],
    &["pkt-gen", "-i", "null:", "-f", "tx", "-n", "1000", "--json"],
    &["pkt-gen", "-i", "null:", "-f", "tx", "-n", "1000", "--ndjson"],
    &["pkt-gen", "-h"],
    &["bridge", "-i", "cable:NAME{1", "-i", "cable:NAME}1", "-w", "0", "-T", "10"],
    &["switch", "NAME", "--seconds", "1"],
    &["switch", "NAME", "--seconds", "1", "--json"],
    &["switch", "show", "-h"],
    &["simulate", "san", "--initiators", "1", "--time", "1"],
    &["simulate", "san", "--initiators", "1", "--time", "1", "--json"],
    &["netmap", "run", "-h"],
    &["ports"],
    &["dcb", "up", "-i", "cable:NAME{1", "--seconds", "1"],
    &["dcb", "up", "-i", "cable:NAME{1", "--seconds", "1", "--json"],
    &["dcb", "show", "-h"],
    &["stack", "up", "-i", "cable:NAME{1", "--addr", "10.0.0.2/24", "--seconds", "1"],
    &["stack", "up", "-i", "cable:NAME{1", "--addr", "10.0.0.2/24", "--seconds", "1", "--json"],
    &["fcoe", "discover", "-i", "cable:NAME{1", "--seconds", "1"],
    &["fcoe", "discover", "-i", "cable:NAME{1", "--seconds", "1", "--json"],
    &["fcoe", "target", "-i", "cable:NAME{1", "--lun", "0=ram:1M", "--seconds", "1"],
    &["fcoe", "target", "-i", "cable:NAME{1", "--lun", "0=ram:1M", "--seconds", "1", "--json"],
    &["fcoe", "target", "-i", "cable:NAME{1", "--lun", "0=ram:1M", "--check"],
    &["fcoe", "initiator", "-i", "cable:NAME{1", "--nbd", "unix:DIR/nbd", "--seconds", "1"],
    &["fcoe", "ls", "-h"],
    &["nic", "list"],
    &["nic", "list", "--json"],
    &["doctor", "--rules"],
    &["nic", "show", "-i", "null:"],
    &["nic", "show", "lo"],
    &["nic", "show", "lo", "--json"],
    &["nic", "stats", "lo", "--interval", "0"],
    &["nic", "stats", "lo", "--interval", "0", "--json"],
    &["nic", "record", "lo", "DIR/lo"],
    &["nic", "set", "-i", "null:", "-tso"],
    // These are refused, so that the machine stays as it is.
    &["nic", "set", "lo", "lro"],
    &["nic", "save", "lo", "DIR/lo.toml"],
    &["nic", "diff", "lo", SETTINGS],
    &["nic", "restore", "lo", SETTINGS],
    &["nic", "up", "-i", "cable:NAME{1", "--vis", "2", "--seconds", "1"],
    &["nic", "up", "-i", "cable:NAME{1", "--vis", "2", "--seconds", "1", "--json"],
    &["nic", "vi", "add", "-i", "cable:NAME{1", "5", "vlan=7"],
    &["nic", "vi", "list", "-i", "cable:NAME{1"],
    &["nic", "vi", "list", "-i", "cable:NAME{1", "--json"],
    &["nic", "filter", "add", "-i", "cable:NAME{1", "vlan", "7", "action", "-1"],
    &["nic", "filter", "list", "-i", "cable:NAME{1"],
    &["nic", "filter", "list", "-i", "cable:NAME{1", "--json"],
    &["profile", "flood", "127.0.0.1:9", "--time", "1"],
    &["profile", "flood", "127.0.0.1:9", "--time", "1", "--json"],
    &["profile", "tx", "--time", "1", "--rounds", "1"],
    &["xdd", "-targets", "1", "null:1M", "-numreqs", "10"],
    &["xdd", "-targets", "1", "null:1M", "-numreqs", "10", "--json"],
    &["stream", "-h"],
    &["stream", "-v"],
    &["iperf", "-h"],
    &["iperf", "-v"],
    &["netperf", "-h"],
    &["netperf", "-V"],
    &["netserver", "-h"],
    &["sweep", "-h"],
    &["agent", "-h"],
    &["bench", "list"],
    &["bench", "null", "--time", "50", "--rounds", "1"],
    &["bench", "null", "--time", "50", "--rounds", "1", "--json"],
    &["runs", "--json"],
    &["runs", "--reindex"],
    &["show", DOCUMENT],
    &["show", DOCUMENT, "--json"],
    &["compare", DOCUMENT, DOCUMENT],
    &["compare", DOCUMENT, DOCUMENT, "--json"],
    &["report", DOCUMENT],
    &["export", DOCUMENT, "--format", "flent"],
    &["export", DOCUMENT, "--format", "csv"],
    &["import", DOCUMENT],
    &["completions", "bash"],
    &["man", "DIR/man"],
];

fn linerate(words: &[&str], home: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_linerate"));
    command.args(words).env("HOME", home).env_remove("XDG_DATA_HOME").env_remove("XDG_CONFIG_HOME");
    command
}

/// Words that an endless command prints once it runs.
fn runs(words: &[&str]) -> Option<&'static str> {
    (words[0] == "bridge").then_some("main [200]")
}

/// Runs a command to its end; when a line of its standard error has `words`, it is signalled to end.
fn run(mut command: Command, words: Option<&str>) -> Output {
    let mut child = command.stdin(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let id = child.id().to_string();
    let mut words = words.map(str::to_owned);
    let errors = BufReader::new(child.stderr.take().unwrap());
    let errors = std::thread::spawn(move || {
        let mut all = String::new();
        for line in errors.lines().map_while(Result::ok) {
            if words.take_if(|words| line.contains(&**words)).is_some() {
                assert!(Command::new("kill").args(["-s", "INT", &id]).status().unwrap().success());
            }
            all += &(line + "\n");
        }
        all
    });
    let out = child.stdout.take().map(|mut stream| {
        std::thread::spawn(move || {
            let mut all = Vec::new();
            stream.read_to_end(&mut all).unwrap();
            all
        })
    });
    let deadline = Instant::now() + LIMIT;
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if Instant::now() > deadline {
            let _ = child.kill();
            panic!("it goes on: {command:?}");
        }
        std::thread::sleep(Duration::from_millis(2));
    };
    let stdout = out.map(|out| out.join().unwrap()).unwrap_or_default();
    Output { status, stdout, stderr: errors.join().unwrap().into_bytes() }
}

fn log(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn printed(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// A row of the table with NAME and DIR replaced.
fn row(dir: &Path, words: &[&str]) -> Command {
    static ROWS: AtomicUsize = AtomicUsize::new(0);
    let n = ROWS.fetch_add(1, Relaxed);
    let (name, dir) = (format!("unwritten-{}-{n}", std::process::id()), dir.join(n.to_string()));
    fs::create_dir(&dir).unwrap();
    let words: Vec<String> =
        words.iter().map(|word| word.replace("NAME", &name).replace("DIR", dir.to_str().unwrap())).collect();
    linerate(&words.iter().map(String::as_str).collect::<Vec<_>>(), &dir)
}

#[test]
fn the_table_has_every_command() {
    let dir = tempfile::tempdir().unwrap();
    let help = printed(&run(piped(linerate(&["help"], dir.path())), None));
    // Lines of a group: `  NAME  what it does`; further lines stand deeper.
    let lines = help.lines().take_while(|line| !line.starts_with("Options:"));
    let names: Vec<&str> = lines.filter_map(|line| line.strip_prefix("  ")?.split(' ').next()).collect();
    let names: Vec<&str> = names.into_iter().filter(|name| !name.is_empty()).collect();
    assert!(names.len() > 10, "{help}");
    for name in names {
        assert!(COMMANDS.iter().any(|words| words[0] == name), "{name}");
    }
}

fn piped(mut command: Command) -> Command {
    command.stdout(Stdio::piped());
    command
}

/// Regression: all of these commands reported success.
#[test]
#[cfg(target_os = "linux")]
fn a_failed_write_of_standard_output_is_said_and_ends_with_1_in_every_command() {
    let dir = tempfile::tempdir().unwrap();
    for words in COMMANDS {
        let mut command = row(dir.path(), words);
        command.stdout(File::options().write(true).open("/dev/full").unwrap());
        let ended = run(command, runs(words));
        assert_eq!(ended.status.code(), Some(1), "{words:?}: {}", log(&ended));
        let said: Vec<String> =
            log(&ended).lines().filter(|line| line.contains("standard output")).map(str::to_owned).collect();
        assert!(said.len() == 1 && said[0].contains("No space left"), "{words:?}: {}", log(&ended));
    }
}

/// Regression: as after `linerate … >&-`; Rust's runtime opens /dev/null in its place, and all of these commands reported success.
#[test]
#[cfg(target_os = "linux")]
fn a_standard_output_that_was_closed_is_said_and_ends_with_1_in_every_command() {
    let dir = tempfile::tempdir().unwrap();
    for words in COMMANDS {
        let direct = row(dir.path(), words);
        let mut command = Command::new("sh");
        command.args(["-c", "exec \"$@\" >&-", "sh"]).arg(direct.get_program()).args(direct.get_args());
        command.envs(direct.get_envs().filter_map(|(name, value)| Some((name, value?))));
        if let Some(place) = direct.get_current_dir() {
            command.current_dir(place);
        }
        let ended = run(command, runs(words));
        assert_eq!(ended.status.code(), Some(1), "{words:?}: {}", log(&ended));
        let said = log(&ended).lines().filter(|line| line.contains("standard output: it was closed")).count();
        assert_eq!(said, 1, "{words:?}: {}", log(&ended));
    }
    // /dev/null is a place, however it was opened.
    let null = File::options().read(true).write(true).open("/dev/null").unwrap();
    let mut command = linerate(&["ports"], dir.path());
    command.stdout(null);
    assert_eq!(run(command, None).status.code(), Some(0));
}

/// As after `linerate … | head -1`.
#[test]
fn a_reader_that_is_gone_ends_every_command_in_silence_with_141() {
    let dir = tempfile::tempdir().unwrap();
    for words in COMMANDS {
        let mut command = row(dir.path(), words);
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        command.stdout(writer);
        let ended = run(command, runs(words));
        assert_eq!(ended.status.code(), Some(141), "{words:?}: {}", log(&ended));
        for word in ["standard output", "panicked", "Broken pipe"] {
            assert!(!log(&ended).contains(word), "{words:?}: {}", log(&ended));
        }
    }
}

/// Regression: `eprintln!` panicked and ended the commands.
#[test]
#[cfg(target_os = "linux")]
fn a_full_standard_error_costs_no_result() {
    let dir = tempfile::tempdir().unwrap();
    for words in [&["bench", "null", "--time", "50", "--rounds", "1", "--json"][..], &["qualify", "wrong"]] {
        let mut command = piped(linerate(words, dir.path()));
        let full = File::options().write(true).open("/dev/full").unwrap();
        let out = command.stdin(Stdio::null()).stderr(full).output().unwrap();
        let codes: &[i32] = if words[0] == "bench" { &[0, 3] } else { &[2] };
        assert!(out.status.code().is_some_and(|code| codes.contains(&code)), "{words:?}: {out:?}");
    }
}

/// Regression: the last bytes of a LUN stayed in a buffer that could not be written.
#[test]
#[cfg(target_os = "linux")]
fn a_lun_that_is_read_to_a_full_standard_output_is_no_success() {
    let dir = tempfile::tempdir().unwrap();
    let cable = format!("cable:unwritten-lun-{}", std::process::id());
    let ports = [format!("{cable}{{1"), format!("{cable}}}1")];
    let target = ["fcoe", "target", "-i", &ports[0], "--lun", "0=ram:64k", "--seconds", "200"];
    let mut target = linerate(&target, dir.path()).stdin(Stdio::null()).stdout(Stdio::null()).spawn().unwrap();
    let read = ["fcoe", "read", "-i", &ports[1], "--lun", "0", "--bytes", "512", "-"];
    let mut full = linerate(&read, dir.path());
    full.stdout(File::options().write(true).open("/dev/full").unwrap());
    let full = run(full, None);
    let mut unread = linerate(&read, dir.path());
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    unread.stdout(writer);
    let unread = run(unread, None);
    let _ = target.kill();
    let _ = target.wait();
    assert_eq!(full.status.code(), Some(1), "{}", log(&full));
    assert!(log(&full).contains("standard output"), "{}", log(&full));
    assert_eq!((unread.status.code(), log(&unread).as_str()), (Some(141), ""));
}

/// Commands that store their result, without the directory; each would measure for minutes.
const KEEPERS: &[&[&str]] = &[
    &["qualify", "--time", "60000"],
    &["qualify", "null:", "null:", "--time", "60000"],
    &["sweep", "t5-fcoe"],
    &["profile", "tx", "--time", "10000"],
];

/// Checks for one line, before anything is measured, and the exit code.
fn refused(command: Command, words: &str, code: i32) {
    let (shown, began) = (format!("{command:?}"), Instant::now());
    let ended = run(piped(command), None);
    assert_eq!(ended.status.code(), Some(code), "{shown}: {}", log(&ended));
    assert!(log(&ended).lines().count() == 1 && log(&ended).contains(words), "{shown}: {}", log(&ended));
    assert!(ended.stdout.is_empty() && began.elapsed() < LIMIT, "{shown}: {}", printed(&ended));
}

#[test]
fn a_file_in_the_directorys_place_is_refused_before_anything_is_measured() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("file");
    fs::write(&file, "mine").unwrap();
    for words in KEEPERS {
        let mut command = linerate(words, dir.path());
        command.arg("--out").arg(&file);
        refused(command, "ot a directory", 2);
    }
    assert_eq!(fs::read_to_string(&file).unwrap(), "mine");
}

#[test]
fn without_a_home_a_directory_is_asked_for_before_anything_is_measured() {
    for words in KEEPERS.iter().filter(|words| words[0] != "profile") {
        let mut command = linerate(words, Path::new("/"));
        command.env_remove("HOME");
        refused(command, "--out DIR", 2);
    }
}

/// Commands that write a file, PATH, or a folder, WAY/new.
#[cfg(target_os = "linux")]
const WRITERS: &[&[&str]] = &[
    &["pkt-gen", "-i", "pcap:PATH,mode=w", "-f", "tx", "-n", "5"],
    &["pkt-gen", "-i", "null:,trace=PATH", "-f", "tx", "-n", "5"],
    &["stream", "-c", "127.0.0.1", "-p", "1", "--logfile", "PATH"],
    &["stream", "-s", "-B", "127.0.0.1", "-p", "5998", "-1", "-I", "PATH"],
    &["iperf", "-c", "127.0.0.1", "-p", "1", "-o", "PATH"],
    &["xdd", "-targets", "1", "null:1M", "-numreqs", "10", "-csvout", "PATH"],
    &["xdd", "-targets", "1", "PATH", "-op", "write", "-numreqs", "1"],
    &["bench", "null", "--time", "50", "--rounds", "1", "--history", "PATH"],
    &["report", DOCUMENT, "--out", "PATH"],
    &["export", DOCUMENT, "--format", "csv", "--out", "PATH"],
    &["runs", "--db", "PATH"],
    &["qualify", "null:", "null:", "--out", "WAY/new"],
    &["sweep", "t5-fcoe", "--out", "WAY/new"],
    &["profile", "tx", "--out", "WAY/new"],
    &["man", "WAY/new"],
];

/// Regression: what root wrote went where a link of another user led, or waited for the reader of his FIFO.
#[test]
#[cfg(target_os = "linux")]
fn what_another_user_has_planted_leads_nowhere() {
    use std::os::unix::fs::{PermissionsExt, lchown, symlink};
    let dir = tempfile::tempdir().unwrap();
    let [open, victim, away] = ["open", "victim", "away"].map(|name| dir.path().join(name));
    [&open, &away].into_iter().for_each(|folder| fs::create_dir(folder).unwrap());
    fs::set_permissions(&open, fs::Permissions::from_mode(0o1777)).unwrap();
    let [link, fifo, way] = ["link", "fifo", "way"].map(|name| open.join(name));
    symlink(&victim, &link).unwrap();
    symlink(&away, &way).unwrap();
    assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    for path in [&link, &fifo, &way] {
        if let Err(e) = lchown(path, Some(65_534), None) {
            return linerate_skip::skip!("files cannot be given to another user: {e}");
        }
    }
    for words in WRITERS {
        for path in [&link, &fifo] {
            fs::write(&victim, "kept").unwrap();
            let words: Vec<String> = words
                .iter()
                .map(|word| word.replace("PATH", path.to_str().unwrap()).replace("WAY", way.to_str().unwrap()))
                .collect();
            let ended = run(piped(linerate(&words.iter().map(String::as_str).collect::<Vec<_>>(), dir.path())), None);
            let said = log(&ended).lines().filter(|line| line.contains("where others may write")).count();
            assert!(!ended.status.success() && said == 1, "{words:?}: {} {}", log(&ended), printed(&ended));
            assert_eq!(fs::read_to_string(&victim).unwrap(), "kept", "{words:?}");
            assert_eq!(fs::read_dir(&away).unwrap().count(), 0, "{words:?}");
        }
    }
}

/// A shell in which DIR is a file system of that size; `None`, with a skip reported, where that is not possible.
#[cfg(target_os = "linux")]
pub(crate) fn on_tmpfs(options: &str, script: &str) -> Option<(tempfile::TempDir, Command)> {
    let dir = tempfile::tempdir().unwrap();
    let mut command = Command::new("unshare");
    command.args(["--user", "--map-root-user", "--mount", "sh", "-ec"]);
    command.arg(format!("mount -t tmpfs -o {options} none \"$DIR\"; {script}"));
    command.env("DIR", dir.path()).env("LINERATE", env!("CARGO_BIN_EXE_linerate")).env("HOME", dir.path());
    let probe = ["--user", "--map-root-user", "--mount", "mount", "-t", "tmpfs", "none"];
    let probe = Command::new("unshare").args(probe).arg(dir.path()).output();
    if probe.as_ref().is_ok_and(|out| out.status.success()) {
        return Some((dir, command));
    }
    linerate_skip::skip!("no file system of one's own can be mounted: {probe:?}");
    None
}

#[test]
#[cfg(target_os = "linux")]
fn a_full_disk_and_a_read_only_one_are_refused_before_anything_is_measured() {
    // A disk without room is no mistake of the command line.
    for (options, words, code) in [("size=16k", "No space left", 1), ("ro", "Read-only", 2)] {
        for keeper in KEEPERS {
            let script = format!("exec \"$LINERATE\" {} --out \"$DIR/out\"", keeper.join(" "));
            let Some((_dir, command)) = on_tmpfs(options, &script) else { return };
            refused(command, words, code);
        }
    }
}

/// Regression: a history without room was told after the first bench.
#[test]
#[cfg(target_os = "linux")]
fn a_history_on_a_full_disk_is_refused_before_anything_is_measured() {
    let runs = tempfile::tempdir().unwrap();
    let script = "exec \"$LINERATE\" bench null --history \"$DIR/history\"";
    let Some((_dir, mut command)) = on_tmpfs("size=16k", script) else { return };
    command.env("XDG_DATA_HOME", runs.path());
    refused(command, "--history ", 1);
}

/// The disk fills during a measurement. The space that was reserved at the start holds the result.
#[test]
#[cfg(target_os = "linux")]
fn a_sweep_whose_disk_fills_ends_with_a_table_and_a_result() {
    let script = r#"
        "$LINERATE" sweep t5-fcoe --out "$DIR/out" 2>"$DIR/log" & pid=$!
        until grep -q '^2/' "$DIR/log" || ! kill -0 $pid; do sleep 0.05; done
        cat /dev/zero >"$DIR/fill" || true
        code=0; wait $pid || code=$?
        echo "RESULT"; cat "$DIR/out/result.json"
        exit $code"#;
    let Some((_dir, command)) = on_tmpfs("size=4m", script) else { return };
    let ended = run(piped(command), None);
    let out = printed(&ended);
    assert_eq!(ended.status.code(), Some(1), "{out}{}", log(&ended));
    let (table, result) = out.split_once("RESULT\n").unwrap();
    let of_points = |text: &str| text.contains("points.ndjson") && text.contains("No space left");
    let words: String = table.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(of_points(&words) && table.contains("read"), "{out}");
    let result: Value = serde_json::from_str(result).unwrap();
    let tests = result["tests"].as_array().unwrap().len();
    assert!(of_points(result["reasons"][0].as_str().unwrap()) && (1..27).contains(&tests), "{result}");
}

/// The directory is removed during a measurement: the table is printed all the same.
#[test]
fn a_result_that_cannot_be_kept_is_printed() {
    let dir = tempfile::tempdir().unwrap();
    let cable = format!("cable:unkept-{}", std::process::id());
    let measured = |json: bool, n: u32| {
        let out: PathBuf = dir.path().join(format!("out{json}{n}"));
        let mut command = linerate(&["qualify", "--time", "10", "--repeats", "1"], dir.path());
        command.args([format!("{cable}{{1"), format!("{cable}}}1")]).arg("--out").arg(&out);
        if json {
            command.arg("--json");
        }
        let gone = std::thread::spawn(move || {
            // Both files exist from the start.
            let deadline = Instant::now() + LIMIT;
            while fs::read_dir(&out).map_or(0, Iterator::count) < 2 && Instant::now() < deadline {
                std::thread::sleep(Duration::from_millis(1));
            }
            fs::remove_dir_all(&out).unwrap();
        });
        let ended = run(piped(command), None);
        gone.join().unwrap();
        ended
    };
    for json in [false, true] {
        // On a busy machine the result may have been kept by then.
        let all = (0..20).map(|n| measured(json, n));
        let ended = all.into_iter().find(|ended| ended.status.code() != Some(0)).expect("its loss is a failure");
        assert_eq!(ended.status.code(), Some(1), "{}", log(&ended));
        assert!(log(&ended).contains("result.json"), "{}", log(&ended));
        let text = printed(&ended);
        assert!(text.contains("round trip") || text.contains("ping"), "{text}");
        if json {
            assert_eq!(serde_json::from_str::<Value>(&text).unwrap()["schema"], "linerate.result");
        }
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_history_that_cannot_be_written_costs_neither_table_nor_document() {
    let dir = tempfile::tempdir().unwrap();
    let words = ["bench", "null", "--time", "50", "--rounds", "1", "--json", "--history", "/dev/full"];
    let ended = run(piped(linerate(&words, dir.path())), None);
    assert_eq!(ended.status.code(), Some(1), "{}", log(&ended));
    assert!(log(&ended).contains("--history /dev/full: No space left"), "{}", log(&ended));
    assert_eq!(serde_json::from_str::<Value>(&printed(&ended)).unwrap()["tests"][0]["id"], "null");
}

/// Regression: it ended with 141, as after the loss of a reader, without a message.
#[test]
#[cfg(target_os = "linux")]
fn files_of_xdd_that_cannot_be_written_are_named() {
    let dir = tempfile::tempdir().unwrap();
    for flag in ["-output", "-csvout", "-combinedout"] {
        let words = ["xdd", "-targets", "1", "null:1M", "-numreqs", "10", flag, "/dev/full"];
        let ended = run(piped(linerate(&words, dir.path())), None);
        assert_eq!(ended.status.code(), Some(1), "{flag}: {}", log(&ended));
        assert!(log(&ended).contains(&format!("{flag} /dev/full: No space left")), "{flag}: {}", log(&ended));
    }
}

#[test]
fn a_sweep_that_is_not_there_is_not_resumed() {
    let dir = tempfile::tempdir().unwrap();
    let missing = dir.path().join("missing");
    let mut command = linerate(&["sweep", "t5-fcoe", "--resume"], dir.path());
    command.arg("--out").arg(&missing);
    refused(command, "has no sweep to go on with", 2);
    assert!(!missing.exists());
}

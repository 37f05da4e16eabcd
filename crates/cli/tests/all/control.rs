//! Tests of control sockets: commands that run, shown from another process.
#![cfg(target_os = "linux")]

use crate::process::{BINARY, Ended, LIMIT, Process};
use crate::unwritten::on_tmpfs;
use linerate_rt::net::{Net, Options};
use serde_json::{Value, json};
use std::fs::File;
use std::io::Write;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

/// `linerate …` with a directory of its own for its sockets.
fn linerate(place: &Path, words: &str) -> Command {
    let mut command = Command::new(BINARY);
    command.env("XDG_RUNTIME_DIR", place).args(words.split_whitespace());
    command
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn run(place: &Path, words: &str) -> Output {
    linerate(place, words).output().unwrap()
}

/// Runs a command that must succeed; returns its output.
fn said(place: &Path, words: &str) -> String {
    let Output { status, stdout, stderr } = run(place, words);
    assert!(status.success() && stderr.is_empty(), "{words}: {}", text(&stderr));
    text(&stdout)
}

fn document(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|e| panic!("{e}: {text}"))
}

/// Checks the exit code, and the only line of standard error.
fn refused(output: &Output, code: i32, words: &str) {
    let log = text(&output.stderr);
    assert_eq!((output.status.code(), log.lines().count()), (Some(code), 1), "{log}");
    assert!(log.contains(words) && output.stdout.is_empty(), "{log}");
}

fn switch(place: &Path, name: &str) -> Process {
    Process::ready(linerate(place, &format!("switch {name} --json")), "attach to it as vale:")
}

fn ended(process: Process) -> Ended {
    process.signal("INT");
    let ended = process.end();
    assert_eq!(ended.code, Some(130), "{}", ended.said());
    ended
}

/// Asks until the answer is as wanted.
fn until(place: &Path, words: &str, wanted: impl Fn(&Value) -> bool) -> Value {
    let deadline = Instant::now() + LIMIT;
    loop {
        let shown = document(&said(place, words));
        if wanted(&shown) {
            return shown;
        }
        assert!(Instant::now() < deadline, "{words}: {shown}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_switch_shows_what_it_prints_at_its_end() {
    let dir = tempfile::tempdir().unwrap();
    let place = dir.path();
    // Senders wait for the receiver, which drops nothing then.
    let running = Process::ready(linerate(place, "switch lab --json --ports a,b:pause=255"), "attach to it as vale:");
    let receiver = Process::ready(linerate(place, "pkt-gen -i vale:lab:b -f rx -w 0"), "threads and");
    let sender = "pkt-gen -i vale:lab:a -f tx -n 2000 -R 20000 -S 02:00:00:00:00:07 -D ff:ff:ff:ff:ff:ff";
    let sent = run(place, sender);
    assert!(sent.status.success(), "{}", text(&sent.stderr));
    let b_has_all = |shown: &Value| {
        shown["ports"].as_array().unwrap().iter().any(|port| port["name"] == "b" && port["sent"] == 2000)
    };
    until(place, "switch show lab --json", b_has_all);
    let shown = said(place, "switch show lab");
    for words in ["switch lab, process ", "another process of this user", "unexplained frames: 0"] {
        assert!(shown.contains(words), "{words}: {shown}");
    }
    assert!(shown.lines().any(|line| line.starts_with("b     0          2000")), "{shown}");
    ended(receiver);
    let all_gone = |shown: &Value| shown["ports"].as_array().unwrap().iter().all(|port| port["gone"] == true);
    let mut shown = until(place, "switch show lab --json", all_gone);
    let pid = shown.as_object_mut().unwrap().remove("pid");
    assert_eq!(pid, Some(running.id().into()));
    assert_eq!(shown, document(&ended(running).out));
}

#[test]
fn a_switch_shows_the_age_of_an_address() {
    let dir = tempfile::tempdir().unwrap();
    let place = dir.path();
    let running = switch(place, "lab");
    let b = Process::ready(linerate(place, "pkt-gen -i vale:lab:b -f rx -w 0"), "threads and");
    let a = "pkt-gen -i vale:lab:a -f tx -R 1000 -S 02:00:00:00:00:07 -D ff:ff:ff:ff:ff:ff";
    let a = Process::ready(linerate(place, a), "pps");
    let shown = until(place, "switch show --json", |shown| shown["addresses"].as_array().unwrap().len() == 1);
    let row = &shown["addresses"][0];
    assert_eq!((&row["mac"], &row["vlan"], &row["port"]), (&json!("02:00:00:00:00:07"), &json!(1), &json!("a")));
    assert!(row["age_s"].as_u64() < Some(60), "{row}");
    let text = said(place, "switch show");
    let line = text.lines().find(|line| line.starts_with("02:00:00:00:00:07  1     a     "));
    assert!(line.is_some_and(|line| line.ends_with(" s")), "{text}");
    for process in [a, b] {
        ended(process);
    }
    ended(running);
}

/// The far end is a host of this process, so the sockets lie where all others are.
#[test]
fn a_host_shows_what_it_prints_at_its_end_and_what_it_knows() {
    let name = format!("cable:shown-{}", std::process::id());
    let (ours, theirs) = (format!("{name}{{1"), format!("{name}}}1"));
    let words = ["stack", "up", "-i", &theirs, "--addr", "10.9.2.2/24", "--route", "0.0.0.0/0=10.9.2.1", "--json"];
    let mut command = Command::new(BINARY);
    command.args(words);
    let running = Process::start(command);
    let net = Net::open(&ours, "10.9.2.1/24".parse().unwrap(), &Options::default()).unwrap();
    let client = net.udp_bind("0.0.0.0:0".parse().unwrap()).unwrap();
    client.set_read_timeout(Some(Duration::from_millis(200)));
    let deadline = Instant::now() + LIMIT;
    let echo = || client.send_to(b"there?", "10.9.2.2:7".parse().unwrap()).is_ok() && client.recv(&mut [0; 64]).is_ok();
    while !echo() {
        assert!(Instant::now() < deadline, "nobody answers");
    }
    let show = |more: &[&str]| {
        let shown = Command::new(BINARY).args([&["stack", "show", &theirs], more].concat()).output().unwrap();
        assert!(shown.status.success(), "{}", text(&shown.stderr));
        text(&shown.stdout)
    };
    let shown = document(&show(&["--json"]));
    let row = |name: &str| shown[name][0].clone();
    assert_eq!(row("address_states")["address"], "10.9.2.2/24");
    assert_eq!((&row("routes")["to"], &row("routes")["via"]), (&json!("0.0.0.0/0"), &json!("10.9.2.1")));
    assert_eq!(row("neighbours")["address"], "10.9.2.1");
    assert_eq!((&shown["link"], &shown["services"]), (&json!("up"), &json!(["discard", "echo"])));
    assert!(shown["counters"]["echo.sent"].as_u64() >= Some(1), "{shown}");
    let shown = show(&[]);
    for words in ["10.9.2.2/24  ", "10.9.2.1   ", "0.0.0.0/0", "services: discard, echo", "echo.sent"] {
        assert!(shown.contains(words), "{words}: {shown}");
    }
    drop((client, net));
    // The far end has gone: nothing moves any more.
    let mut at_rest = Value::Null;
    while std::mem::replace(&mut at_rest, document(&show(&["--json"]))) != at_rest || at_rest["link"] != "down" {
        assert!(Instant::now() < deadline, "{at_rest}");
        std::thread::sleep(Duration::from_millis(50));
    }
    let last = document(&ended(running).out);
    for (name, value) in last.as_object().unwrap() {
        assert_eq!(&at_rest[name], value, "{name}");
    }
}

#[test]
fn a_target_shows_what_it_prints_at_its_end_and_who_is_logged_in() {
    let dir = tempfile::tempdir().unwrap();
    let place = dir.path();
    let target = "fcoe target -i cable:san{1,mtu=2180 --lun 0=ram:1M --lun 7=null:1T --json";
    let running = Process::start(linerate(place, target));
    let nbd = place.join("nbd");
    let client = format!("fcoe initiator -i cable:san}}1 --mac 02:00:00:00:00:01 --nbd unix:{}", nbd.display());
    let client = Process::ready(linerate(place, &client), "/0:");
    let show = "fcoe show cable:san{1 --json";
    let shown = until(place, show, |shown| shown["initiators"][0]["commands"].as_u64() > Some(0));
    assert_eq!(shown["initiators"][0]["wwpn"], "20:00:02:00:00:00:00:01");
    assert_eq!(shown["luns"].as_array().unwrap().len(), 2);
    let text = said(place, "fcoe show");
    for words in ["LUN 7: null:1T", "20:00:02:00:00:00:00:01  ", "sessions", "link up"] {
        assert!(text.contains(words), "{words}: {text}");
    }
    ended(client);
    let at_rest = until(place, show, |shown| shown["link"] == "down" && shown["initiators"] == json!([]));
    let last = document(&ended(running).out);
    for name in ["schema", "version", "port", "path", "wwpn", "wwnn", "mac", "luns"] {
        assert_eq!(at_rest[name], last[name], "{name}");
    }
    for name in ["commands", "bytes_sent", "sessions", "sessions_ended", "frames_received", "fip_received"] {
        assert_eq!(at_rest["counters"][name], last["counters"][name], "{name}");
    }
}

#[test]
fn without_a_name_the_only_one_is_shown_and_several_are_listed() {
    let dir = tempfile::tempdir().unwrap();
    let place = dir.path();
    for (kind, mend) in [
        ("switch", "linerate switch NAME"),
        ("stack", "linerate stack up"),
        ("dcb", "linerate dcb up"),
        ("fcoe", "fcoe target"),
    ] {
        refused(&run(place, &format!("{kind} show")), 1, mend);
        refused(&run(place, &format!("{kind} show nope")), 1, mend);
        refused(&run(place, &format!("{kind} show --watch --json")), 1, mend);
    }
    let one = switch(place, "one");
    assert!(said(place, "switch show").contains("switch one, process "));
    let two = switch(place, "two");
    assert_eq!(said(place, "switch show"), "linerate switch show one\nlinerate switch show two\n");
    assert_eq!(document(&said(place, "switch show --json"))["names"], json!(["one", "two"]));
    refused(&run(place, "switch show three"), 1, "give one of one, two");
    refused(&run(place, "switch show --watch"), 2, "give one of one, two");
    assert_eq!(document(&said(place, "switch show two --json"))["pid"], two.id());
    // Nobody asks a switch for a host.
    refused(&run(place, "stack show one"), 1, "no stack 'one' runs");
    ended(one);
    assert!(said(place, "switch show").contains("switch two, process "));
    ended(two);
    refused(&run(place, "switch show"), 1, "no switch runs");
    let left: Vec<_> =
        std::fs::read_dir(place.join("linerate")).unwrap().map(|file| file.unwrap().file_name()).collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn two_hosts_of_one_name_are_told_apart() {
    let dir = tempfile::tempdir().unwrap();
    let place = dir.path();
    let host =
        |addr: &str| Process::start(linerate(place, &format!("stack up -i null: --addr {addr}/24 --wait sleep")));
    let mut first = host("10.0.0.1");
    first.until("10.0.0.1/24");
    let mut second = host("10.0.0.2");
    second.line_with("10.0.0.2/24");
    second.line_with("this one is shown by: linerate stack show 'null:#2'");
    let addresses = |name: &str| document(&said(place, &format!("stack show {name} --json")))["addresses"].clone();
    assert_eq!((addresses("null:"), addresses("null:#2")), (json!(["10.0.0.1/24"]), json!(["10.0.0.2/24"])));
    first.stop();
    second.stop();
}

#[test]
fn what_a_killed_command_left_is_in_nobodys_way() {
    let dir = tempfile::tempdir().unwrap();
    let place = dir.path();
    let first = switch(place, "lab");
    let pid = first.id();
    first.kill();
    let socket = place.join("linerate/control-switch-lab.sock");
    assert!(socket.exists());
    refused(&run(place, "switch show lab"), 1, "no switch 'lab' runs");
    let second = switch(place, "lab");
    let shown = document(&said(place, "switch show --json"));
    assert_eq!(shown["pid"], second.id());
    assert_ne!(shown["pid"], pid);
    ended(second);
    assert!(!socket.exists());
}

#[test]
fn a_watch_ends_with_what_it_watches_and_when_it_is_told_to() {
    let dir = tempfile::tempdir().unwrap();
    let place = dir.path();
    let running = switch(place, "lab");
    let watch = |more: &str| Process::start(linerate(place, &format!("switch show lab --watch {more}")));
    for (signal, code) in [("INT", 130), ("TERM", 143)] {
        let mut watched = watch("");
        watched.until("nothing moved");
        watched.signal(signal);
        let ended = watched.end();
        assert_eq!((ended.code, ended.log.as_str()), (Some(code), ""));
    }
    let mut unread = linerate(place, "switch show lab --watch");
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    unread.stdout(writer);
    let unread = unread.stderr(Stdio::piped()).spawn().unwrap().wait_with_output().unwrap();
    assert_eq!((unread.status.code(), text(&unread.stderr)), (Some(141), String::new()));
    let mut watched = watch("--json");
    watched.until("linerate.switch");
    let receiver = Process::ready(linerate(place, "pkt-gen -i vale:lab:b -f rx -w 0"), "threads and");
    let sender = linerate(place, "pkt-gen -i vale:lab:a -f tx -R 1000 -D ff:ff:ff:ff:ff:ff");
    let sender = Process::ready(sender, "pps");
    let mut line = watch("");
    line.until("a: in ");
    ended(sender);
    ended(receiver);
    let last = document(&ended(running).out);
    for watched in [watched, line] {
        let ended = watched.end();
        assert_eq!((ended.code, ended.log.as_str()), (Some(0), "linerate: switch 'lab' has ended\n"), "{}", ended.out);
        if ended.out.starts_with('{') {
            let lines: Vec<Value> = ended.out.lines().map(document).collect();
            let received = |document: &Value| document["ledger"]["received"].as_u64().unwrap();
            assert!(lines.windows(2).all(|two| received(&two[0]) <= received(&two[1])));
            assert!(lines.iter().all(|line| received(line) <= received(&last)));
        }
    }
}

/// It is another process, whatever its name is.
#[test]
fn a_watch_ends_when_another_one_has_the_name() {
    let dir = tempfile::tempdir().unwrap();
    let place = dir.path();
    let first = switch(place, "lab");
    let mut watched = Process::start(linerate(place, "switch show --watch"));
    watched.until("nothing moved");
    first.kill();
    let second = switch(place, "lab");
    let ended_watch = watched.end();
    assert_eq!((ended_watch.code, ended_watch.log.as_str()), (Some(0), "linerate: switch 'lab' has ended\n"));
    ended(second);
}

#[test]
fn an_answer_that_cannot_be_written_is_no_success() {
    let dir = tempfile::tempdir().unwrap();
    let place = dir.path();
    let running = switch(place, "lab");
    for words in ["switch show", "switch show lab --json"] {
        let mut full = linerate(place, words);
        full.stdout(File::options().write(true).open("/dev/full").unwrap()).stderr(Stdio::piped());
        let full = full.spawn().unwrap().wait_with_output().unwrap();
        refused(&full, 1, "No space left");
    }
    ended(running);
}

/// Without a directory for it, or room in it, there is no socket, and a line says so.
#[test]
fn a_command_goes_on_without_a_control_socket() {
    let host = "stack up -i null: --addr 10.0.0.1/24 --seconds 1 --wait sleep --json";
    let checked = |ended: Output| {
        let log = text(&ended.stderr);
        assert!(ended.status.success() && log.lines().count() == 1, "{log}");
        assert!(log.contains("there is no control socket (") && log.contains("linerate stack show"), "{log}");
        assert_eq!(document(&text(&ended.stdout))["schema"], "linerate.stack");
    };
    checked(run(Path::new("/dev/null/directory"), host));
    let script = format!("XDG_RUNTIME_DIR=\"$DIR\" exec \"$LINERATE\" {host}");
    // Room for the file system's root and the directory of sockets.
    let Some((_dir, mut full)) = on_tmpfs("nr_inodes=2", &script) else { return };
    checked(full.output().unwrap());
}

/// Clients that say nothing, half of something, too much, or read nothing: frames are carried, and others are answered.
#[test]
fn hostile_clients_delay_neither_frames_nor_others() {
    const FRAMES: u64 = 200_000;
    let dir = tempfile::tempdir().unwrap();
    let place = dir.path();
    let running = Process::ready(linerate(place, "switch lab --json --ports a,b:pause=255"), "attach to it as vale:");
    let socket = place.join("linerate/control-switch-lab.sock");
    let receiver = Process::ready(linerate(place, &format!("pkt-gen -i vale:lab:b -f rx -n {FRAMES}")), "threads and");
    let sender = Process::start(linerate(place, &format!("pkt-gen -i vale:lab:a -f tx -n {FRAMES} -R 100000")));
    let mut kept = std::collections::VecDeque::new();
    for n in 0..2000 {
        let mut stream = UnixStream::connect(&socket).unwrap();
        // The other end may have closed it already.
        let _ = stream.write_all([&b""[..], b"sho", b"show\n", b"frob\n", &[0xff; 5000]][n % 5]);
        kept.push_back(stream);
        if kept.len() > 200 {
            kept.pop_front();
        }
        if n % 500 == 0 {
            said(place, "switch show lab");
        }
    }
    for process in [sender, receiver] {
        process.done();
    }
    said(place, "switch show lab");
    let last = document(&ended(running).out);
    assert_eq!((&last["ledger"]["received"], &last["ledger"]["unexplained"]), (&json!(FRAMES), &json!(0)));
}

//! Logins between iperf3 and us, and among us: who is taken in, who is not, what either end says about it, and that nobody sees a
//! password.

use super::document::skeleton_of;
use super::{End, PAIRINGS, has_iperf3, lines, port, until_open};
use crate::ends::accepted;
use crate::process::{BINARY, Ended, LIMIT, Process};
use linerate_skip::{is_installed, skip};
use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Instant;
use tempfile::TempDir;

const PRIVATE: &str = include_str!("../../../../load/tests/login/private.pem");
const PUBLIC: &str = include_str!("../../../../load/tests/login/public.pem");
const USERS: &str = include_str!("../../../../load/tests/login/users.csv");
/// Token of mario's that iperf3 3.12 sent, long ago.
const TOKEN: &str = include_str!("../../../../load/tests/login/iperf3-3.12.token");
const REFUSED: &str = "error - test authorization failed";
const OLD: &str = "--use-pkcs1-padding";

/// Keys and users of a test; mario's password is rossi.
struct Files {
    dir: TempDir,
}

impl Files {
    fn new() -> Self {
        let files = Self { dir: tempfile::tempdir().unwrap() };
        for (name, text) in [("private", PRIVATE), ("public", PUBLIC), ("users", USERS)] {
            files.write(name, text);
        }
        files
    }

    fn path(&self, name: &str) -> String {
        self.dir.path().join(name).to_str().unwrap().to_owned()
    }

    /// Writes a file that nobody else may read.
    fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).unwrap();
        fs::set_permissions(self.path(name), fs::Permissions::from_mode(0o600)).unwrap();
    }

    /// Starts a server that wants a login.
    fn server(&self, end: End, port: u16, more: &[&str]) -> Process {
        let (key, users, port_word) = (self.path("private"), self.path("users"), port.to_string());
        let login = ["-s", "-p", &port_word, "--rsa-private-key-path", &key, "--authorized-users-path", &users];
        let process = Process::start(end.command("stream", "iperf3", &[&login[..], more].concat()));
        until_open(port, false);
        process
    }

    /// Command of a client that logs in.
    fn asks(&self, end: End, port: u16, user: &str, more: &[&str]) -> Command {
        let (key, port) = (self.path("public"), port.to_string());
        let login = ["-c", "127.0.0.1", "-p", &port, "--username", user, "--rsa-public-key-path", &key];
        let mut command = end.command("stream", "iperf3", &[&login[..], more].concat());
        command.env_remove("IPERF3_PASSWORD");
        command
    }

    fn client(&self, end: End, port: u16, (user, password): (&str, &str), more: &[&str]) -> Ended {
        let mut command = self.asks(end, port, user, more);
        command.env("IPERF3_PASSWORD", password);
        Process::start(command).end()
    }

    /// The same, at a server that may have refused or served somebody just now.
    fn next(&self, (end, server): (End, End), port: u16, who: (&str, &str), more: &[&str]) -> Ended {
        settled(server, || self.client(end, port, who, more))
    }
}

/// Words of our end that make it fit the other one: iperf3 3.12 has the old padding alone.
fn padding(end: End, other: End) -> &'static [&'static str] {
    if (end, other) == (End::Ours, End::Theirs) { &[OLD] } else { &[] }
}

/// Runs a client until it has been heard: iperf3's server opens its port anew when it has refused somebody, and is busy for a
/// moment when it has served somebody. Ours hears at once.
fn settled(server: End, client: impl Fn() -> Ended) -> Ended {
    let until = Instant::now() + LIMIT;
    loop {
        let ended = client();
        let deaf = ["Connection refused", "Connection reset", "closed unexpectedly", "the server is busy"];
        let heard = server == End::Ours || !deaf.iter().any(|words| ended.log.contains(words));
        if heard || Instant::now() > until {
            return ended;
        }
    }
}

/// True if the client ended as iperf3's does that is refused, and said nothing of a password.
#[track_caller]
fn is_refused(ended: &Ended) {
    assert_eq!(ended.code, Some(1), "{}", ended.said());
    let line = ended.log.strip_suffix('\n').unwrap_or_default();
    let line = line.strip_prefix("linerate stream: ").or(line.strip_prefix("iperf3: "));
    assert_eq!(line, Some(REFUSED), "{}", ended.said());
    assert_eq!(lines(&ended.out, "Connecting to host").len(), 1, "{}", ended.said());
    assert_eq!(ended.out.lines().count(), 1, "{}", ended.said());
}

/// Wrong ones are refused, right ones are served, and the one after them too; the server goes on.
#[test]
fn a_server_takes_in_who_knows_a_password_in_all_pairings() {
    if !has_iperf3() {
        return;
    }
    let files = Files::new();
    for (client, server) in PAIRINGS {
        let port = port();
        let process = files.server(server, port, padding(server, client));
        let right = ("mario", "rossi");
        is_refused(&files.client(client, port, ("mario", "Rossi"), &[]));
        is_refused(&files.next((client, server), port, ("luigi", "rossi"), &[]));
        let port_word = port.to_string();
        let without = ["-c", "127.0.0.1", "-p", &port_word, "-n", "1M"];
        is_refused(&settled(server, || Process::start(client.command("stream", "iperf3", &without)).end()));
        for words in [&["-n", "1M"][..], &["-n", "1M", "-R"], &["-u", "-n", "100K", "-b", "20M", "-l", "1000"]] {
            let ended = files.next((client, server), port, right, words);
            assert_eq!((ended.code, ended.log.as_str()), (Some(0), ""), "{client:?} {server:?}: {}", ended.said());
            assert_eq!(lines(&ended.out, "Connecting to host").len(), 1, "{}", ended.said());
            assert!(ended.out.ends_with("\niperf Done.\n"), "{}", ended.said());
        }
        process.signal("INT");
        let said = process.end();
        assert_eq!(lines(&said.out, "Accepted connection").len(), 3, "{client:?} {server:?}: {}", said.said());
        assert!(lines(&said.log, REFUSED).len() >= 3, "{client:?} {server:?}: {}", said.said());
        for secret in ["rossi", "Rossi"] {
            assert!(!said.said().contains(secret), "{}", said.said());
        }
    }
}

/// The padding that a flag names is the only one, at both ends.
#[test]
fn a_padding_that_is_named_is_the_only_one() {
    let files = Files::new();
    for (of_server, of_client, fits) in
        [(&[][..], &[][..], true), (&[OLD], &[], true), (&[OLD], &[OLD], true), (&[], &[OLD], false)]
    {
        let port = port();
        let server = files.server(End::Ours, port, of_server);
        let ended = files.client(End::Ours, port, ("mario", "rossi"), &[&["-n", "1M", "-V"], of_client].concat());
        assert_eq!(ended.code, Some(i32::from(!fits)), "{of_server:?} {of_client:?}: {}", ended.said());
        let again = "The login was refused; once more, by PKCS #1 v1.5";
        let expected = usize::from(!of_server.is_empty() && of_client.is_empty());
        assert_eq!(lines(&ended.out, again).len(), expected, "{of_server:?} {of_client:?}: {}", ended.said());
        server.signal("INT");
        let said = server.end();
        assert_eq!(
            lines(&said.log, "for another key or padding").len(),
            expected.max(usize::from(!fits)),
            "{}",
            said.said()
        );
    }
}

/// As with iperf3, a login that is refused is no client that a server of one client ends after.
#[test]
fn a_server_of_one_client_waits_for_one_that_it_takes_in() {
    let files = Files::new();
    let ends = if is_installed("iperf3") { &[End::Ours, End::Theirs][..] } else { &[End::Ours] };
    for server in ends {
        let port = port();
        // The padding has to be found meanwhile.
        let process =
            files.server(*server, port, &[&["-1"][..], if *server == End::Ours { &[OLD] } else { &[] }].concat());
        is_refused(&files.client(End::Ours, port, ("mario", "wrong"), &[]));
        let ended = files.next((End::Ours, *server), port, ("mario", "rossi"), &["-n", "1M"]);
        assert_eq!(ended.code, Some(0), "{server:?}: {}", ended.said());
        let said = process.end();
        assert_eq!(said.code, Some(0), "{server:?}: {}", said.said());
        assert_eq!(lines(&said.out, "Accepted connection").len(), 1, "{server:?}: {}", said.said());
    }
}

/// A client that sends a token as it is; the state that the server answers with, and the number behind it.
fn sends(port: u16, token: &str) -> (u8, u32) {
    let mut control = TcpStream::connect(("127.0.0.1", port)).unwrap();
    control.set_read_timeout(Some(LIMIT)).unwrap();
    control.write_all(b"abcdefghijklmnopqrstuvwxyz234567abcd\0").unwrap();
    let mut state = [0];
    control.read_exact(&mut state).unwrap();
    let json = format!(r#"{{"tcp":true,"parallel":1,"len":1000,"authtoken":"{token}"}}"#);
    control.write_all(&u32::try_from(json.len()).unwrap().to_be_bytes()).unwrap();
    control.write_all(json.as_bytes()).unwrap();
    let (mut answer, mut number) = ([0], [0; 4]);
    control.read_exact(&mut answer).unwrap();
    if answer == [0xfe] {
        control.read_exact(&mut number).unwrap();
    }
    (answer[0], u32::from_be_bytes(number))
}

#[test]
fn the_server_says_why_and_the_client_hears_only_that_it_was_refused() {
    let files = Files::new();
    let port = port();
    let mut server = files.server(End::Ours, port, &[OLD]);
    let users = files.path("users");
    let broken = format!("--authorized-users-path {users}: line 1 is no user; give NAME,HASH");
    let long = "A".repeat(60_000);
    for (token, content, why) in [
        (TOKEN.trim_end(), USERS, "behind this one; set both right, or give a larger --time-skew-threshold"),
        (&TOKEN.trim_end()[4..], USERS, "for another key or padding"),
        (&long, USERS, "for another key or padding"),
        ("", USERS, "for another key or padding"),
    ] {
        files.write("users", content);
        assert_eq!(sends(port, token), (0xfe, 142), "{why}");
        let line = server.until(REFUSED);
        assert!(line.contains(why) && !line.contains("mario") && !line.contains("rossi"), "{line}");
    }
    files.write("users", "mario;x\n");
    is_refused(&files.client(End::Ours, port, ("mario", "rossi"), &[OLD, "-n", "1M"]));
    assert!(server.until(REFUSED).contains(&broken));
    fs::remove_file(&users).unwrap();
    is_refused(&files.client(End::Ours, port, ("mario", "rossi"), &[OLD, "-n", "1M"]));
    assert!(server.until(REFUSED).contains(&format!("--authorized-users-path {users}: No such file")));
    files.write("users", USERS);
    assert_eq!(files.client(End::Ours, port, ("mario", "rossi"), &[OLD, "-n", "1M"]).code, Some(0));
    // A clock that is allowed to be off by years.
    let other = super::port();
    let _patient = files.server(End::Ours, other, &[OLD, "--time-skew-threshold", "4294967295"]);
    assert_eq!(sends(other, TOKEN.trim_end()).0, 10, "it wants the streams");
}

/// A server that answers the login of each of two connections with one of these, and closes it; the tokens that it gets.
fn answers(all: [&'static [u8]; 2]) -> (TcpListener, Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let open = listener.try_clone().unwrap();
    let (to, tokens) = channel();
    std::thread::spawn(move || {
        for answer in all {
            let mut control = accepted(&listener);
            control.set_read_timeout(Some(LIMIT)).unwrap();
            control.read_exact(&mut [0; 37]).unwrap();
            control.write_all(&[9]).unwrap();
            let mut length = [0; 4];
            control.read_exact(&mut length).unwrap();
            let mut json = vec![0; u32::from_be_bytes(length) as usize];
            control.read_exact(&mut json).unwrap();
            let parameters: serde_json::Value = serde_json::from_slice(&json).unwrap();
            to.send(parameters["authtoken"].as_str().unwrap().to_owned()).unwrap();
            control.write_all(answer).unwrap();
        }
    });
    (open, tokens)
}

/// iperf3 from 3.21 on closes the connection upon a login that it refuses: that is a refusal, and worth the other padding. What
/// comes behind a login that was taken is none.
#[test]
fn a_server_that_hangs_up_upon_a_login_is_asked_twice_and_named() {
    const NUMBER: &[u8] = &[0xfe, 0, 0, 0, 142, 0, 0, 0, 11];
    let files = Files::new();
    let closed = "error - control socket has closed unexpectedly";
    let hushed = format!("{closed}, as iperf3 from 3.21 on closes it when it refuses a login");
    for (all, told) in [
        ([&[][..], &[]], hushed.as_str()),
        ([&[], NUMBER], REFUSED),
        ([NUMBER, &[]], &hushed),
        // The second padding is taken, and the streams are wanted.
        ([NUMBER, &[10]], closed),
    ] {
        let (open, tokens) = answers(all);
        let port = open.local_addr().unwrap().port();
        let ended = files.client(End::Ours, port, ("mario", "rossi"), &[]);
        assert_eq!((ended.code, ended.log), (Some(1), format!("linerate stream: {told}\n")));
        let tokens: Vec<_> = all.iter().map(|_| tokens.recv_timeout(LIMIT).unwrap()).collect();
        assert!(tokens[0] != tokens[1] && tokens.iter().all(|token| token.len() == 344), "{tokens:?}");
    }
}

/// Documents are those of iperf3, with and without success, and hold nothing of the login.
#[test]
fn documents_are_those_of_iperf3_and_hold_no_secret() {
    if !has_iperf3() {
        return;
    }
    let files = Files::new();
    for (password, test) in [("rossi", &["-t", "1", "-b", "20M"][..]), ("wrong", &[])] {
        let documents = |end: End| {
            let port = port();
            let server = files.server(end, port, &[padding(end, End::Theirs), &["-J"]].concat());
            let words = [padding(end, End::Theirs), &["-J"], test].concat();
            let client = files.client(end, port, ("mario", password), &words);
            server.signal("INT");
            (client, server.end())
        };
        let (theirs, ours) = (documents(End::Theirs), documents(End::Ours));
        assert_eq!(skeleton_of(&ours.0.out), skeleton_of(&theirs.0.out), "the client of {password}");
        let first = |text: &str| text.split_inclusive("\n}\n").next().unwrap_or_default().to_owned();
        assert_eq!(skeleton_of(&first(&ours.1.out)), skeleton_of(&first(&theirs.1.out)), "the server of {password}");
        // No field is written twice by a second login.
        let port = port();
        let _server = files.server(End::Ours, port, &[OLD]);
        let twice = files.client(End::Ours, port, ("mario", password), &[&["-J"], test].concat());
        assert_eq!(skeleton_of(&twice.out), skeleton_of(&theirs.0.out), "the client of {password}");
        assert_eq!(lines(&twice.out, "\"cookie\"").len(), 1, "{}", twice.out);
        for end in [ours.0, ours.1, twice] {
            for secret in ["authtoken", "mario", "rossi", "wrong"] {
                assert!(!end.said().contains(secret), "{secret}: {}", end.said());
            }
        }
    }
}

/// Exit code and errors of an end that cannot begin.
fn ends(mut command: Command) -> (Option<i32>, String) {
    let run = command.stdin(Stdio::null()).output().unwrap();
    (run.status.code(), String::from_utf8(run.stderr).unwrap())
}

#[test]
fn files_that_are_none_are_named_and_one_that_everybody_reads_is_warned_of() {
    let files = Files::new();
    let path = |name: &str| files.path(name);
    files.write("broken", "mario\n");
    files.write("empty", "");
    let (private, public, users, none) = (path("private"), path("public"), path("users"), path("none"));
    let (key, list) = ("--rsa-private-key-path", "--authorized-users-path");
    for (words, why) in [
        ([key, &none, list, &users], format!("{key} {none}: No such file or directory (os error 2); give ")),
        ([key, &public, list, &users], format!("{key} {public}: it holds a public key, which is the client's; give ")),
        ([key, &private, list, &none], format!("{list} {none}: No such file or directory (os error 2); give ")),
        ([key, &private, list, &path("broken")], format!("{list} {}: line 1 is no user; give ", path("broken"))),
        ([key, &private, list, &path("empty")], format!("{list} {}: it names no user; give ", path("empty"))),
        (
            [key, &private, list, "/dev/null"],
            format!("{list} /dev/null: it is no file, and is read at each login; give "),
        ),
        (
            ["-c", "x", "--rsa-public-key-path", &private],
            format!("--rsa-public-key-path {private}: it holds a private key, which is the server's; give "),
        ),
    ] {
        let part: &[&str] = if words[0] == "-c" { &["--username", "mario"] } else { &["-s"] };
        let (code, log) = ends(End::Ours.command("stream", "", &[part, &words].concat()));
        assert_eq!((code, log.lines().count()), (Some(2), 1), "{words:?}: {log}");
        assert!(log.starts_with(&format!("linerate stream: {why}")), "{words:?}: {log}");
    }
    // A server starts all the same, as iperf3's does.
    fs::set_permissions(&users, fs::Permissions::from_mode(0o644)).unwrap();
    let mut server = files.server(End::Ours, port(), &[]);
    let line = server.line_with("warning");
    assert_eq!(line, format!("iperf3: warning - {list} {users}: everybody here may read it; chmod o-r {users}\n"));
}

#[test]
fn a_password_that_is_none_is_refused_in_a_line() {
    let files = Files::new();
    let command = || files.asks(End::Ours, 1, "mario", &[]);
    let (code, log) = ends(command());
    let told = "error - --username: there is no password; set IPERF3_PASSWORD, or have a terminal to be asked on";
    assert_eq!((code, log), (Some(1), format!("linerate stream: {told}\n")));
    for (password, why) in [
        ("", "the password (IPERF3_PASSWORD): a login has no room for a blank"),
        ("q z", "the password (IPERF3_PASSWORD): a login has no room for a blank"),
        (&"x".repeat(300), "--username: 335 bytes of name, password and time are too many for a key of 2048 bits"),
    ] {
        let mut command = command();
        command.env("IPERF3_PASSWORD", password);
        let (code, log) = ends(command);
        assert_eq!((code, log.lines().count()), (Some(1), 1), "{log}");
        assert!(log.starts_with(&format!("linerate stream: error - {why}")), "{log}");
        assert!(password.is_empty() || !log.contains(password), "{log}");
    }
}

/// A shell's line on a terminal of util-linux's `script`, to be typed on.
struct Terminal {
    child: Child,
    keys: ChildStdin,
    pieces: Receiver<Vec<u8>>,
    said: String,
}

impl Terminal {
    fn new(line: &str) -> Self {
        let mut command = Command::new("script");
        command.args(["-qec", line, "/dev/null"]).env_remove("IPERF3_PASSWORD").env("SHELL", "/bin/sh");
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (keys, mut out) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let (to, pieces) = channel();
        std::thread::spawn(move || {
            let mut piece = [0; 4096];
            while let Ok(got @ 1..) = out.read(&mut piece) {
                let _ = to.send(piece[..got].to_vec());
            }
        });
        Self { child, keys, pieces, said: String::new() }
    }

    /// Reads on until these words have been said.
    fn until(&mut self, words: &str) {
        let until = Instant::now() + LIMIT;
        while !self.said.contains(words) {
            let left = until.saturating_duration_since(Instant::now());
            match self.pieces.recv_timeout(left) {
                Ok(piece) => self.said.push_str(&String::from_utf8_lossy(&piece)),
                Err(e) => panic!("{e}: no '{words}' in {:?}", self.said),
            }
        }
    }

    fn types(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).unwrap();
        self.keys.flush().unwrap();
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_password_is_typed_on_the_terminal_and_not_seen() {
    if !is_installed("script") {
        skip!("script is not installed");
        return;
    }
    let files = Files::new();
    let port = port();
    let _server = files.server(End::Ours, port, &[]);
    let words =
        format!("-c 127.0.0.1 -p {port} -n 1M --username mario --rsa-public-key-path '{}'", files.path("public"));
    let line = format!("trap : INT; '{BINARY}' stream {words}; echo \"code $?\"; stty -a");
    for (keys, told, code) in
        [("rossi\r", "iperf Done.", 0), ("wrong\r", REFUSED, 1), ("\x03", "interrupt - the client has terminated", 1)]
    {
        let mut terminal = Terminal::new(&line);
        terminal.until("Password: ");
        // What is typed before the echo is off is thrown away; the prompt comes behind that.
        terminal.types(keys);
        terminal.until(&format!("code {code}"));
        terminal.until("iexten");
        terminal.until("extproc");
        let said = &terminal.said;
        assert!(said.contains(told) && !said.contains("rossi") && !said.contains("wrong"), "{said:?}");
        // The terminal shows again what is typed.
        assert!(said.contains(" echo ") && !said.contains("-echo "), "{said:?}");
    }
}

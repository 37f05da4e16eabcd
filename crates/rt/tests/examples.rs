//! Runs the examples, which `cargo test` builds, against each other.
#![cfg(target_os = "linux")]

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};

/// An example; none, with a skip reported, if only this test was built.
fn example(name: &str) -> Option<Command> {
    let mut path = std::env::current_exe().unwrap();
    path.pop();
    path.pop();
    path.extend(["examples", name]);
    if !path.exists() {
        linerate_skip::skip!("the example {name} is built by cargo test -p linerate-rt without --test");
        return None;
    }
    let mut command = Command::new("timeout");
    command.arg("60").arg(path).stdin(Stdio::null());
    Some(command)
}

/// A program, ended with the test.
struct Running(Child);

impl Running {
    /// Starts it, and waits for its first line.
    fn start(mut command: Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        assert!(!line.is_empty());
        Self(child)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // timeout hands it on.
        let _ = Command::new("kill").arg(self.0.id().to_string()).status();
        let _ = self.0.wait();
    }
}

/// Two ends of a cable of this test alone.
fn ends(name: &str) -> [String; 2] {
    ["{1", "}1"].map(|end| format!("cable:example-{name}-{}{end}", std::process::id()))
}

#[test]
fn a_client_gets_what_a_server_serves() {
    let (Some(mut server), Some(mut client)) = (example("http_server"), example("http_client")) else { return };
    let [theirs, ours] = ends("http");
    server.args([&theirs, "10.0.0.2/24"]);
    let _server = Running::start(server);
    let done = client.args([&ours, "10.0.0.1/24", "10.0.0.2:80", "/hello"]).output().unwrap();
    let (out, err) = (String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr));
    assert!(out.starts_with("HTTP/1.1 200 OK\r\n") && out.contains("You, 10.0.0.1:"), "{out}{err}");
    assert!(out.ends_with("\nGET /hello HTTP/1.1\n"), "{out}");
}

#[test]
fn datagrams_go_round() {
    let Some(mut pair) = example("udp_pair") else { return };
    let done = pair.output().unwrap();
    let out = String::from_utf8_lossy(&done.stdout);
    assert!(
        done.status.success() && out.starts_with("10000 rounds, "),
        "{out}{}",
        String::from_utf8_lossy(&done.stderr)
    );
}

/// The client reaches a server of the kernel's through linerate's stack.
#[test]
fn bytes_are_relayed() {
    let (Some(mut relay), Some(mut client)) = (example("relay"), example("http_client")) else { return };
    let server = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let to = server.local_addr().unwrap().to_string();
    let answering = std::thread::spawn(move || {
        let (mut stream, _) = server.accept().unwrap();
        let mut asked = [0; 4];
        stream.read_exact(&mut asked).unwrap();
        std::io::Write::write_all(&mut stream, b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nrelayed!\n").unwrap();
        asked
    });
    let [theirs, ours] = ends("relay");
    relay.args([&theirs, "10.0.0.2/24", "80", &to]);
    let _relay = Running::start(relay);
    let done = client.args([&ours, "10.0.0.1/24", "10.0.0.2:80", "/"]).output().unwrap();
    let out = String::from_utf8_lossy(&done.stdout);
    assert!(out.ends_with("relayed!\n"), "{out}{}", String::from_utf8_lossy(&done.stderr));
    assert_eq!(&answering.join().unwrap(), b"GET ");
}

/// The client reaches the server through a forwarder between two cables.
#[test]
fn frames_are_forwarded() {
    let all = (example("http_server"), example("forwarder"), example("http_client"));
    let (Some(mut server), Some(mut forwarder), Some(mut client)) = all else { return };
    let ([theirs, near], [far, ours]) = (ends("near"), ends("far"));
    server.args([&theirs, "10.0.0.2/24"]);
    forwarder.args([&near, &far]);
    let (_server, _forwarder) = (Running::start(server), Running::start(forwarder));
    let done = client.args([&ours, "10.0.0.1/24", "10.0.0.2:80", "/far"]).output().unwrap();
    let out = String::from_utf8_lossy(&done.stdout);
    assert!(out.ends_with("\nGET /far HTTP/1.1\n"), "{out}{}", String::from_utf8_lossy(&done.stderr));
}

/// It waits for initiators; that they find it is the command line's tests.
#[test]
fn a_disk_is_offered() {
    let Some(mut disk) = example("fcoe_disk") else { return };
    disk.arg(&ends("disk")[0]);
    let mut running = Running::start(disk);
    assert!(running.0.try_wait().unwrap().is_none(), "it goes on");
    let mut rest = String::new();
    let _ = Command::new("kill").arg(running.0.id().to_string()).status();
    running.0.stdout.as_mut().unwrap().read_to_string(&mut rest).unwrap();
    assert!(rest.is_empty(), "{rest}");
}

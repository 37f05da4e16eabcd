//! Tests of `linerate stack up --services http=FOLDER` with curl and wget in another namespace: whole files, ranges, connections
//! that are kept, and requests that nobody should send.
#![cfg(target_os = "linux")]

use crate::process::{LIMIT, counter};
use crate::stack::{Host, Link, V4, V6, are_installed, link, run};
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::path::Path;

/// A folder with files; the bytes of the greatest.
fn folder() -> (tempfile::TempDir, Vec<u8>) {
    let folder = tempfile::tempdir().unwrap();
    let served = folder.path().join("www");
    std::fs::create_dir_all(served.join("sub")).unwrap();
    let big: Vec<u8> = (0..20_000_000_u64).map(|i| (i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8).collect();
    std::fs::write(served.join("big"), &big).unwrap();
    std::fs::write(served.join("a b.txt"), "text\n").unwrap();
    std::fs::write(served.join("sub/index.html"), "<h1>index</h1>\n").unwrap();
    std::fs::write(folder.path().join("secret"), "secret\n").unwrap();
    (folder, big)
}

fn served(kind: &str) -> Option<(Link, Host, tempfile::TempDir, Vec<u8>)> {
    if !are_installed(&["curl"]) {
        return None;
    }
    let (link, (folder, big)) = (link(kind, false)?, folder());
    let host = Host::start(&link, &format!("--services http={}", folder.path().join("www").display()));
    Some((link, host, folder, big))
}

fn curl(link: &Link, line: &str) -> String {
    let done = run(&link.ns, &format!("curl -sS {line}"));
    assert!(done.status.success(), "curl {line}: {}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8_lossy(&done.stdout).into_owned()
}

/// Output of a program that is given these bytes.
fn fed(link: &Link, line: &str, bytes: &[u8]) -> Vec<u8> {
    let mut command = std::process::Command::new("timeout");
    command.arg("60").args(line.split(' ')).stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped());
    let mut child = link.ns.run_in(|| command.spawn()).unwrap().unwrap();
    let (mut into, bytes) = (child.stdin.take().unwrap(), bytes.to_vec());
    let feeding = std::thread::spawn(move || into.write_all(&bytes));
    let done = child.wait_with_output().unwrap();
    assert!(done.status.success(), "{line}: {:?}", done.status);
    feeding.join().unwrap().unwrap();
    done.stdout
}

/// wget, ApacheBench, netcat and socat have what they ask for.
#[test]
fn other_clients_are_served() {
    if !are_installed(&["wget", "ab", "nc", "socat"]) {
        return;
    }
    let (Some(link), (folder, big)) = (link("packet", false), folder()) else { return };
    let www = folder.path().join("www");
    let host = Host::start(&link, &format!("--services echo,http={}", www.display()));
    let one = folder.path().join("one");
    let done = run(&link.ns, &format!("wget -q -O {} http://{V4}/big", one.display()));
    assert!(done.status.success() && std::fs::read(&one).unwrap() == big, "{done:?}");
    for more in ["", "-k "] {
        let done = run(&link.ns, &format!("ab -q -n 2000 -c 50 {more}http://{V4}/sub/index.html"));
        let said = String::from_utf8_lossy(&done.stdout).split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(said.contains("Complete requests: 2000 Failed requests: 0"), "{said}");
    }
    for line in
        [format!("nc -N -w 20 {V4} 7"), format!("socat -t 20 - TCP:{V4}:7"), format!("socat -t 20 - TCP:[{V6}]:7")]
    {
        assert!(fed(&link, &line, &big[..3_000_000]) == big[..3_000_000], "{line}");
    }
    let (_, counters) = host.stop();
    assert_eq!(counter(&counters, "unexplained"), 0, "{counters}");
}

#[test]
fn curl_gets_files() {
    let Some((link, host, folder, big)) = served("packet") else { return };
    let at = |name: &str| format!("http://{V4}/{name}");
    let (one, two) = (folder.path().join("one"), folder.path().join("two"));
    let read = |path: &Path| std::fs::read(path).unwrap();
    // Two files over one connection.
    let paths = (one.display(), two.display());
    let told = curl(&link, &format!("-w %{{num_connects}} -o {} {} -o {} {}", paths.0, at("big"), paths.1, at("big")));
    assert_eq!(told, "10", "one connection is made, then none");
    assert!(read(&one) == big && read(&two) == big);
    // A part, and the rest of a file that has come in part.
    curl(&link, &format!("-r 1000-2999 -o {} {}", one.display(), at("big")));
    assert!(read(&one) == big[1000..3000]);
    std::fs::write(&one, &big[..7_000_000]).unwrap();
    curl(&link, &format!("-C - -o {} {}", one.display(), at("big")));
    assert!(read(&one) == big);
    assert_eq!(curl(&link, &at("a%20b.txt")), "text\n");
    assert_eq!(curl(&link, &format!("-L {}", at("sub"))), "<h1>index</h1>\n");
    assert!(curl(&link, &at("")).contains("<a href=\"./a%20b.txt\">a b.txt</a>"));
    let head = curl(&link, &format!("-I {}", at("big")));
    assert!(head.contains("Content-Length: 20000000\r\n") && head.contains("Accept-Ranges: bytes\r\n"), "{head}");
    for path in ["../secret", "%2e%2e/secret", "sub/../../secret"] {
        let told = curl(&link, &format!("-i --path-as-is {}", at(path)));
        assert!(told.starts_with("HTTP/1.1 404 ") && !told.contains("secret"), "{told}");
    }
    assert!(curl(&link, &format!("-i -d x {}", at(""))).starts_with("HTTP/1.1 405 "));
    let (code, counters) = host.stop();
    assert_eq!((code, counter(&counters, "unexplained")), (Some(130), 0), "{counters}");
    assert!(counter(&counters, "http.tcp.connections") >= 10, "{counters}");
}

/// Clients that close their side early, send several requests at once, in small pieces, or what is no request.
#[test]
fn http_answers_whatever_comes() {
    let Some((link, host, _folder, big)) = served("tap") else { return };
    let connect = || {
        let to = SocketAddr::new(V4.parse().unwrap(), 80);
        let stream = link.ns.run_in(|| TcpStream::connect_timeout(&to, LIMIT)).unwrap().unwrap();
        stream.set_read_timeout(Some(LIMIT)).unwrap();
        stream
    };
    let rest = |mut stream: TcpStream| {
        let mut all = Vec::new();
        stream.read_to_end(&mut all).unwrap();
        all
    };
    let mut early = connect();
    early.write_all(b"GET /big HTTP/1.0\r\n\r\n").unwrap();
    early.shutdown(Shutdown::Write).unwrap();
    assert!(rest(early).ends_with(&big));
    let mut several = connect();
    several.write_all(&b"GET /a%20b.txt HTTP/1.1\r\nHost: x\r\n\r\n".repeat(3)).unwrap();
    several.write_all(b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").unwrap();
    assert_eq!(String::from_utf8(rest(several)).unwrap().matches("HTTP/1.1 200 OK").count(), 4);
    let mut slow = connect();
    for byte in b"GET /sub/ HTTP/1.0\r\n\r\n" {
        slow.write_all(&[*byte]).unwrap();
    }
    assert!(rest(slow).ends_with(b"<h1>index</h1>\n"));
    let long = [&b"GET / HTTP/1.1\r\nX: "[..], &[b'x'; 20_000][..]].concat();
    for (wrong, status) in
        [(&b"\x16\x03\x01\x02hello\r\n\r\n"[..], "400"), (b"GET / HTTP/1.1\r\n\r\n", "400"), (&long, "431")]
    {
        let mut stream = connect();
        stream.write_all(wrong).unwrap();
        let told = String::from_utf8(rest(stream)).unwrap();
        assert!(told.starts_with(&format!("HTTP/1.1 {status} ")), "{told}");
    }
    // A client that leaves in the middle of an answer.
    let mut left = connect();
    left.write_all(b"GET /big HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
    left.read_exact(&mut [0; 1000]).unwrap();
    drop(left);
    let (code, counters) = host.stop();
    assert_eq!((code, counter(&counters, "unexplained")), (Some(130), 0), "{counters}");
}

#[test]
fn a_folder_that_is_none_is_named() {
    for (services, words) in [
        ("http=/nowhere/at/all", "/nowhere/at/all: No such file or directory"),
        ("http=/dev/null", "/dev/null is no folder"),
        ("echo=x", "only http takes a folder"),
        ("gopher", "--services gopher"),
    ] {
        let mut command = std::process::Command::new(crate::process::BINARY);
        let done = command.args(["stack", "up", "-i", "null:", "--services", services]).output().unwrap();
        let said = String::from_utf8_lossy(&done.stderr);
        assert!(done.status.code() == Some(2) && said.contains(words) && said.lines().count() == 1, "{said}");
    }
}

/// Regression: the empty list, of which the help speaks, was refused.
#[test]
fn no_service_is_offered_where_none_is_wanted() {
    let Some(link) = link("tap", false) else { return };
    let host = Host::start(&link, "--services=");
    let to = SocketAddr::new(V4.parse().unwrap(), 7);
    let refused = link.ns.run_in(|| TcpStream::connect_timeout(&to, LIMIT)).unwrap().unwrap_err();
    assert_eq!(refused.kind(), std::io::ErrorKind::ConnectionRefused);
    assert_eq!(host.stop().0, Some(130));
}

/// Clients of a host that ends, by whatever signal, hear of it at once: in the middle of an answer, and in silence.
#[test]
fn clients_hear_that_the_host_ends() {
    for kind in ["tap", "packet"] {
        let Some((link, host, _folder, _)) = served(kind) else { return };
        let connect = || {
            let to = SocketAddr::new(V4.parse().unwrap(), 80);
            let stream = link.ns.run_in(|| TcpStream::connect_timeout(&to, LIMIT)).unwrap().unwrap();
            stream.set_read_timeout(Some(LIMIT)).unwrap();
            stream
        };
        let (mut reads, mut silent) = (connect(), connect());
        reads.write_all(b"GET /big HTTP/1.0\r\n\r\n").unwrap();
        reads.read_exact(&mut [0; 1000]).unwrap();
        assert_eq!(host.stop().0, Some(130), "{kind}");
        let told = |stream: &mut TcpStream| stream.read_to_end(&mut Vec::new()).unwrap_err().kind();
        assert_eq!(told(&mut silent), std::io::ErrorKind::ConnectionReset, "{kind}");
        assert_eq!(told(&mut reads), std::io::ErrorKind::ConnectionReset, "{kind}");
    }
}

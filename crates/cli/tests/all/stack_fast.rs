//! Tests of TCP Fast Open (RFC 7413) against the kernel's: its clients at `linerate stack up`, and linerate's at its server. The
//! kernel's counters say what went with SYN.
#![cfg(target_os = "linux")]

use crate::process::{LIMIT, Process, counter};
use crate::stack::{Host, Link, V4, V6, are_installed, link};
use linerate_rt::net::{Net, Options};
use std::io::Read;
use std::net::SocketAddr;
use std::process::Command;

/// Connections one after the other, the first of which has no cookie.
const TURNS: u64 = 4;

/// Sends so many bytes with SYN, as far as they fit, and the rest behind it; has them back from echo.
const CLIENT: &str = "
import socket, sys
host, size, turns = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
data = bytes(i * 31 % 251 for i in range(size))
for turn in range(turns):
    s = socket.socket(socket.AF_INET6 if ':' in host else socket.AF_INET, socket.SOCK_STREAM)
    n = s.sendto(data, socket.MSG_FASTOPEN, (host, 7))
    s.settimeout(30)
    s.sendall(data[n:])
    s.shutdown(socket.SHUT_WR)
    back = b''
    while True:
        more = s.recv(65536)
        if not more:
            break
        back += more
    assert back == data, (turn, len(back))
    s.close()
";

/// Sends back what it gets, with Fast Open.
const SERVER: &str = "
import socket, sys
s = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
s.setsockopt(socket.IPPROTO_TCP, socket.TCP_FASTOPEN, 16)
s.bind(('10.9.0.1', 7000))
s.listen(16)
print('listening', flush=True)
for turn in range(int(sys.argv[1])):
    c, _ = s.accept()
    c.settimeout(30)
    c.sendall(c.recv(100).upper())
    c.close()
";

fn python(script: &str, arguments: &[String]) -> Command {
    let mut command = Command::new("python3");
    command.args(["-c", script]).args(arguments);
    command
}

/// A link whose kernel has Fast Open, as client and as server.
fn fast_link(kind: &str) -> Option<Link> {
    if !are_installed(&["python3"]) {
        return None;
    }
    let link = link(kind, kind == "tap")?;
    link.ns.run_in(|| std::fs::write("/proc/sys/net/ipv4/tcp_fastopen", "3")).unwrap().unwrap();
    Some(link)
}

/// One of the kernel's counters `TcpExt…`.
fn kernels(link: &Link, name: &str) -> u64 {
    link.ns.run_in(|| crate::ends::kernels("netstat", "TcpExt", name)).unwrap()
}

/// True if the kernel has sent again what was not answered in a second, as on a busy machine: SYN without data.
fn sent_again(link: &Link) -> bool {
    kernels(link, "TCPTimeouts") + kernels(link, "TCPSynRetrans") > 0
}

/// Data of the kernel's SYN are taken at once, over both families, from the second connection on.
fn kernel_connects(kind: &str) {
    assert!((0..30).any(|_| is_opened_fast(kind)), "the kernel had to send again each time");
}

/// False if the kernel had to send again, and nothing is known.
fn is_opened_fast(kind: &str) -> bool {
    let Some(link) = fast_link(kind) else { return true };
    let host = Host::start(&link, "--services echo");
    let (mut active, mut echoed) = (0, 0);
    for to in [V4, V6] {
        for size in [100, 1000, 30_000_u64] {
            // Cookies are the host's: only the very first connection over a family has none.
            active += if size == 100 { TURNS - 1 } else { TURNS };
            echoed += TURNS * size;
            let arguments = [to.to_string(), size.to_string(), TURNS.to_string()];
            let client = link.ns.run_in(|| Process::start(python(CLIENT, &arguments))).unwrap();
            client.done();
            let opened = kernels(&link, "TCPFastOpenActive");
            if sent_again(&link) {
                return false;
            }
            assert_eq!(opened, active, "{size} to {to}");
        }
    }
    assert_eq!(kernels(&link, "TCPFastOpenActiveFail"), 0);
    let (_, counters) = host.stop();
    assert_eq!(counter(&counters, "echo.tcp.received"), echoed, "{counters}");
    assert_eq!(counter(&counters, "echo.tcp.connections"), 2 * 3 * TURNS, "{counters}");
    assert_eq!(counter(&counters, "unexplained"), 0, "{counters}");
    true
}

#[test]
fn the_kernel_opens_fast_over_tap() {
    kernel_connects("tap");
}

#[test]
fn the_kernel_opens_fast_over_packet() {
    kernel_connects("packet");
}

/// The kernel's server gives linerate's client a cookie, and takes its data from then on.
#[test]
fn a_client_opens_fast_to_the_kernel() {
    let Some(link) = fast_link("packet") else { return };
    let server = link.ns.run_in(|| Process::ready(python(SERVER, &[TURNS.to_string()]), "listening")).unwrap();
    let net = link.ns.run_in(|| Net::open(&link.port, "10.9.0.2/24".parse().unwrap(), &Options::default()));
    let net = net.unwrap().unwrap_or_else(|e| panic!("{e}"));
    let to: SocketAddr = "10.9.0.1:7000".parse().unwrap();
    for turn in 0..TURNS {
        let mut client = net.tcp_connect_with(to, b"hello").unwrap();
        client.set_read_timeout(Some(LIMIT));
        let mut answer = String::new();
        client.read_to_string(&mut answer).unwrap();
        assert_eq!((answer.as_str(), client.is_fast_open()), ("HELLO", turn > 0), "turn {turn}");
    }
    server.done();
    assert_eq!(kernels(&link, "TCPFastOpenPassive"), TURNS - 1);
    assert_eq!(kernels(&link, "TCPFastOpenCookieReqd"), 1);
    assert_eq!(kernels(&link, "TCPFastOpenPassiveFail"), 0);
    assert_eq!(net.counters().unexplained(), 0);
}

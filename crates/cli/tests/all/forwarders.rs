//! TCP between the kernels of two namespaces with default offloads, through `bridge` and `switch`: frames whose checksums
//! are open, and super-frames, to a port that completes neither.
#![cfg(target_os = "linux")]

use crate::process::{BINARY, Process};
use linerate_host::{Cause, Namespace, Rtnetlink, VethPair};
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::process::Command;
use std::time::Duration;

const LIMIT: Duration = Duration::from_secs(30);
const ADDRESS: [Ipv4Addr; 2] = [Ipv4Addr::new(10, 7, 0, 1), Ipv4Addr::new(10, 7, 0, 2)];

fn bytes(n: usize) -> Vec<u8> {
    (0..n).map(|i| u8::try_from((i * 31 + i / 251) % 256).unwrap_or(0)).collect()
}

#[test]
fn the_kernels_tcp_passes_from_packet_to_xdp() {
    let made = || linerate_skip::permitted(Namespace::quiet(), |e| e.cause == Cause::Capability);
    let (Some(between), Some(a), Some(b)) = (made(), made(), made()) else { return };
    let ends = [("fa", "ea", &a, ADDRESS[0]), ("fb", "eb", &b, ADDRESS[1])];
    let pairs = ends.map(|(ours, theirs, ns, address)| {
        let pair = between.run_in(|| VethPair::new([ours, theirs], 1, 1500)).unwrap().unwrap();
        between.run_in(|| Rtnetlink::open().unwrap().move_to(theirs, ns).unwrap()).unwrap();
        ns.run_in(|| {
            let mut net = Rtnetlink::open().unwrap();
            net.set_up("lo", true).unwrap();
            net.add_address(theirs, address, 24).unwrap();
            net.set_up(theirs, true).unwrap();
        })
        .unwrap();
        pair
    });
    // XDP does not say which checksums are open: that end of the pair completes its own.
    let off = b.run_in(|| Command::new("ethtool").args(["-K", "eb", "tx", "off"]).output().unwrap()).unwrap();
    assert!(off.status.success(), "{off:?}");
    let switch = format!("tcp-{}", std::process::id());
    for command in [
        &["bridge", "-i", "packet:fa", "-i", "xdp:fb"][..],
        &["switch", &switch, "--attach", "packet:fa", "--attach", "xdp:fb"],
    ] {
        let mut program = Command::new(BINARY);
        program.args(command);
        let mut forwarder = between.run_in(|| Process::start(program)).unwrap();
        forwarder.until(if command[0] == "bridge" { "by exchanging buffers" } else { "attach to it" });
        let (sent, back) = (bytes(8 << 20), bytes(1 << 20));
        let listener = b.run_in(|| TcpListener::bind((ADDRESS[1], 7000)).unwrap()).unwrap();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let (mut stream, _) = listener.accept().unwrap();
                let mut got = vec![0; sent.len()];
                stream.set_read_timeout(Some(LIMIT)).unwrap();
                stream.read_exact(&mut got).unwrap();
                assert!(got == sent, "{}: every byte", command[0]);
                stream.write_all(&back).unwrap();
            });
            let stream = a.run_in(|| TcpStream::connect_timeout(&(ADDRESS[1], 7000).into(), LIMIT).unwrap()).unwrap();
            stream.set_write_timeout(Some(LIMIT)).unwrap();
            stream.set_read_timeout(Some(LIMIT)).unwrap();
            (&stream).write_all(&sent).unwrap();
            let mut got = vec![0; back.len()];
            (&stream).read_exact(&mut got).unwrap();
            assert!(got == back, "{}: every byte back", command[0]);
        });
        let said = forwarder.stop();
        assert!(said.contains("tso ") && said.contains("checksums "), "{said}");
        assert!(!said.contains("unfinished"), "{said}");
    }
    drop(pairs);
}

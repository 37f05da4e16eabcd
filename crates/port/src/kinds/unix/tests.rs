use crate::kinds::packet::tests::{LIMIT, until};
use crate::{Cause, DropReason, Link, Port, RxQueue, Sleeper, TxQueue, open};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixDatagram;
use std::time::Instant;
use tempfile::TempDir;

fn name(dir: &TempDir, local: &str, remote: &str, options: &str) -> String {
    let at = |file: &str| dir.path().join(file).display().to_string();
    format!("unix:{}:{}{options}", at(local), at(remote))
}

fn queues(port: &mut Port) -> (TxQueue, RxQueue) {
    (port.take_tx(0).unwrap(), port.take_rx(0).unwrap())
}

fn send(tx: &mut TxQueue, len: usize) {
    let mut batch = tx.ring.reserve(1);
    assert!(batch.put(0, &vec![7; len]));
    batch.commit(1);
    tx.sync();
}

fn receive(rx: &mut RxQueue) -> Vec<u8> {
    let mut came = None;
    until("a frame comes", || {
        rx.sync();
        let mut batch = rx.ring.batch(1);
        came = (!batch.is_empty()).then(|| batch.frame(0).map(|(frame, _)| frame.to_vec())).flatten();
        let n = batch.len();
        batch.release(n);
        came.is_some()
    });
    came.unwrap()
}

fn until_link(rx: &mut RxQueue, wanted: Link) {
    until(&format!("the link is {wanted:?}"), || {
        let is_so = rx.link() == wanted;
        if !is_so {
            rx.sync();
            std::thread::sleep(rx.fall_asleep().unwrap().until.unwrap().saturating_duration_since(Instant::now()));
        }
        is_so
    });
}

#[test]
fn a_plain_datagram_socket_is_a_peer() {
    let dir = tempfile::tempdir().unwrap();
    let qemu = UnixDatagram::bind(dir.path().join("qemu")).unwrap();
    qemu.set_read_timeout(Some(LIMIT)).unwrap();
    let mut port = open(&name(&dir, "us", "qemu", ",sndbuf=1M")).unwrap();
    let (mut tx, mut rx) = queues(&mut port);
    assert_eq!(port.link(), Link::Up);
    let mode = std::fs::metadata(dir.path().join("us")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    send(&mut tx, 1514);
    let mut buffer = [0; 2000];
    assert_eq!(qemu.recv(&mut buffer).unwrap(), 1514);
    qemu.send_to(&[9; 60], dir.path().join("us")).unwrap();
    assert_eq!(receive(&mut rx), [9; 60]);
    // Longer than a buffer, shorter than a header, and then one that fits.
    for len in [1793, 13, 0, 64] {
        qemu.send_to(&vec![8; len], dir.path().join("us")).unwrap();
    }
    assert_eq!(receive(&mut rx), [8; 64]);
    let dropped = rx.counters().dropped;
    assert_eq!((dropped.of(DropReason::Truncated), dropped.of(DropReason::TooShort)), (1, 2));
    drop((port, tx, rx));
    assert!(!dir.path().join("us").exists());
}

#[test]
fn a_peer_may_come_late_go_and_come_again() {
    let dir = tempfile::tempdir().unwrap();
    let mut a = open(&name(&dir, "a", "b", "")).unwrap();
    let (mut tx, mut rx) = queues(&mut a);
    assert_eq!(a.link(), Link::Down);
    assert!(rx.fall_asleep().unwrap().until.is_some(), "it looks again by itself");
    send(&mut tx, 60);
    assert_eq!((tx.counters().dropped.of(DropReason::NoReceiver), tx.ring.outstanding()), (1, 0));
    for round in 0..3 {
        let mut b = open(&name(&dir, "b", "a", "")).unwrap_or_else(|e| panic!("round {round}: {e}"));
        let (mut far_tx, mut far_rx) = queues(&mut b);
        until_link(&mut rx, Link::Up);
        until_link(&mut far_rx, Link::Up);
        send(&mut tx, 100);
        assert_eq!(receive(&mut far_rx).len(), 100);
        // More than the system's limit of datagrams for unconnected senders.
        for _ in 0..50 {
            send(&mut far_tx, 99);
        }
        for _ in 0..50 {
            assert_eq!(receive(&mut rx).len(), 99);
        }
        drop((b, far_tx, far_rx));
        until_link(&mut rx, Link::Down);
        send(&mut tx, 60);
    }
    assert_eq!((tx.counters().frames, tx.counters().dropped.of(DropReason::NoReceiver)), (3, 4));
}

#[test]
fn a_dead_programs_socket_is_replaced_and_a_living_ones_is_not() {
    let dir = tempfile::tempdir().unwrap();
    drop(UnixDatagram::bind(dir.path().join("a")).unwrap());
    assert!(dir.path().join("a").exists(), "left behind");
    let a = open(&name(&dir, "a", "b", "")).unwrap();
    let busy = open(&name(&dir, "a", "b", "")).err().unwrap();
    assert_eq!(busy.cause, Cause::Busy, "{busy}");
    // A foreign file at the port's path must not be removed.
    std::fs::remove_file(dir.path().join("a")).unwrap();
    std::fs::write(dir.path().join("a"), "precious").unwrap();
    drop(a);
    assert!(dir.path().join("a").exists());
    let busy = open(&name(&dir, "a", "b", "")).err().unwrap();
    assert!(busy.to_string().contains("is no socket"), "{busy}");
}

#[test]
fn wrong_names_and_options_are_named() {
    let long = format!("unix:/{}:b", "x".repeat(120));
    for (name, word) in [
        ("unix:a", "names not two sockets"),
        ("unix:a:b:c", "names not two sockets"),
        ("unix::b", "empty or too long"),
        (&long, "empty or too long"),
        ("unix:a:a", "both paths are the same"),
        ("unix:a:b,sndbuf=1", "sndbuf=1"),
        ("unix:/nosuch/dir/a:b", "directory is not there"),
        ("unix:a:b,slots=64,buf=512,mtu=40000", "slots"),
    ] {
        let line = open(name).err().unwrap().to_string();
        assert!(line.contains(word) && line.contains("; ") && !line.contains('\n'), "{name}: {line}");
    }
}

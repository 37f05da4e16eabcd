//! `xdp:` ports on veth pairs in network namespaces of their own.
//!
//! Frames carry a number and bytes that follow from it, so each test knows that every frame came once, in order, whole.
#![cfg(target_os = "linux")]

use linerate_port::{Cause, Namespace, Offloads, Port, RxQueue, TxQueue, VethPair, open, open_all};
use linerate_ring::flags;
use std::time::{Duration, Instant};

const LIMIT: Duration = Duration::from_secs(60);
const OFF: Offloads = Offloads { tx_checksum: false, tso: false, gso: false, gro: false };

/// None, and why on standard output, if a privilege or the kernel's AF_XDP is missing.
fn namespace() -> Option<Namespace> {
    let ns = match Namespace::new() {
        Ok(ns) => ns,
        Err(e) if e.cause == Cause::Capability => {
            println!("skipped: {e}");
            return None;
        }
        Err(e) => panic!("{e}"),
    };
    let pair = ns.run_in(|| VethPair::new(["probe0", "probe1"], 1, 1500)).unwrap().unwrap();
    match ns.run_in(|| open("xdp:probe0")).unwrap() {
        Err(e) if e.cause == Cause::Capability => {
            println!("skipped: {e}");
            None
        }
        Err(e) => panic!("{e}"),
        Ok(_) => {
            drop(pair);
            Some(ns)
        }
    }
}

fn veth(ns: &Namespace, queues: u32, mtu: u32) -> VethPair {
    let pair = ns.run_in(|| VethPair::new(["va", "vb"], queues, mtu)).unwrap().unwrap();
    for name in ["va", "vb"] {
        pair.set_offloads(name, OFF).unwrap();
    }
    pair
}

fn ports(ns: &Namespace, names: &[&str]) -> Vec<Port> {
    ns.run_in(|| open_all(names)).unwrap().unwrap_or_else(|e| panic!("{e}"))
}

/// The `n`th frame of `len` bytes (at least 60), with experimental Ethernet type.
fn frame(n: u64, len: usize) -> Vec<u8> {
    let mut bytes = vec![0u8; len];
    bytes[..6].fill(0xff);
    bytes[6..12].copy_from_slice(&[2, 0, 0, 0, 0, 1]);
    bytes[12..14].copy_from_slice(&[0x88, 0xb5]);
    bytes[14..22].copy_from_slice(&n.to_be_bytes());
    for (i, b) in bytes.iter_mut().enumerate().skip(22) {
        *b = u8::try_from((n.wrapping_mul(31).wrapping_add(i as u64 * 7)) & 0xff).unwrap();
    }
    bytes
}

/// Commits one frame in parts of at most `part` bytes; false if there is no room now.
fn put(tx: &mut TxQueue, bytes: &[u8], part: usize) -> bool {
    let parts: Vec<_> = bytes.chunks(part).collect();
    let n = u32::try_from(parts.len()).unwrap();
    if tx.ring.free() < n {
        return false;
    }
    let mut batch = tx.ring.reserve(n);
    for (i, part) in (0..).zip(&parts) {
        assert!(batch.put(i, part));
        batch.set(i, part.len(), if i + 1 < n { flags::MOREFRAG } else { 0 });
    }
    batch.commit(n);
    true
}

/// Takes all frames that are there, joined.
fn take(rx: &mut RxQueue) -> Vec<Vec<u8>> {
    rx.sync();
    let mut frames: Vec<Vec<u8>> = Vec::new();
    let mut batch = rx.ring.batch(u32::MAX);
    let (mut open, n) = (false, batch.len());
    for i in 0..n {
        let (part, slot_flags) = batch.frame(i).expect("whole frames");
        if !open {
            frames.push(Vec::new());
        }
        frames.last_mut().unwrap().extend(part.to_vec());
        open = slot_flags & flags::MOREFRAG != 0;
    }
    assert!(!open, "only whole frames are delivered");
    batch.release(n);
    frames
}

/// Only ours: a kernel may send frames of its own.
fn ours(frame: &[u8]) -> bool {
    frame.len() >= 22 && frame[12..14] == [0x88, 0xb5]
}

/// Sends `total` frames, all sizes in turn, and checks that each comes once, in order, byte for byte.
fn exchange(tx: &mut TxQueue, rx: &mut RxQueue, total: u64, sizes: &[usize], part: usize) {
    let (mut sent, mut got) = (0u64, 0u64);
    let until = Instant::now() + LIMIT;
    let size = |n: u64| sizes[usize::try_from(n).unwrap() % sizes.len()];
    // As many on their way as the receiver has slots for: then nothing may be lost.
    let window = u64::from(rx.ring.slots() / 4);
    while got < total {
        assert!(Instant::now() < until, "{got} of {total} in time; tx {:?}, rx {:?}", tx.counters(), rx.counters());
        while sent < total && sent - got < window && put(tx, &frame(sent, size(sent)), part) {
            sent += 1;
        }
        tx.sync();
        for received in take(rx).into_iter().filter(|f| ours(f)) {
            assert_eq!(received, frame(got, size(got)), "frame {got}");
            got += 1;
        }
    }
    drain(tx);
    assert_eq!(tx.counters().dropped.total(), 0);
}

/// Until all transmit slots are back.
fn drain(tx: &mut TxQueue) {
    let until = Instant::now() + LIMIT;
    while tx.ring.outstanding() > 0 {
        assert!(Instant::now() < until, "{} slots do not come back", tx.ring.outstanding());
        tx.sync();
    }
}

#[test]
fn every_frame_comes_once_and_in_order() {
    let Some(ns) = namespace() else { return };
    let pair = veth(&ns, 1, 1500);
    let mut ports = ports(&ns, &["xdp:va,slots=256", "xdp:vb,slots=256"]);
    println!("{:?}", ports[0].info());
    assert!(ports[0].info().path.starts_with("AF_XDP, native driver, copy, queue 0"), "{}", ports[0].info().path);
    assert_eq!(ports[0].info().largest, 1522);
    assert_eq!(ports[0].info().mac, pair.link("va").unwrap().mac);
    let (mut tx, mut rx) = (ports[0].take_tx(0).unwrap(), ports[1].take_rx(0).unwrap());
    let sizes: Vec<usize> = (60..=1514).collect();
    exchange(&mut tx, &mut rx, 100_000, &sizes, 1792);
    let sent = tx.counters();
    assert_eq!(sent.frames, 100_000);
    assert_eq!(sent.bytes, (0..100_000).map(|n| sizes[n % sizes.len()] as u64).sum::<u64>());
    assert!(sent.syscalls < sent.frames, "{} system calls", sent.syscalls);
}

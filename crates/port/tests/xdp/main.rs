//! `xdp:` ports on veth pairs in network namespaces of their own.
//!
//! Frames carry a number and bytes that follow from it, so each test knows that every frame came once, in order, whole.
#![cfg(target_os = "linux")]

mod carry;
mod checksum;
mod life;
mod sys;

use linerate_host::{Namespace, Offloads, VethPair};
use linerate_port::{Cause, DropReason, Filter, Port, RxQueue, TxQueue, open, open_all};
use linerate_ring::flags;
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

/// Most frames on their way at once: a veth keeps 256 for a receiving core that is late, and drops more.
pub(crate) const WINDOW: u64 = 128;
pub(crate) const LIMIT: Duration = Duration::from_secs(60);
pub(crate) const OFF: Offloads = Offloads { tx_checksum: false, tso: false, gso: false, gro: false };

/// None, and why on standard output, if a privilege or the kernel's AF_XDP is missing.
pub(crate) fn namespace() -> Option<Namespace> {
    let ns = linerate_skip::permitted(Namespace::new(), |e| e.cause == linerate_host::Cause::Capability)?;
    let pair = ns.run_in(|| VethPair::new(["probe0", "probe1"], 1, 1500)).unwrap().unwrap();
    let port = ns.run_in(|| open("xdp:probe0")).unwrap();
    linerate_skip::permitted(port, |e| e.cause == Cause::Capability)?;
    drop(pair);
    Some(ns)
}

pub(crate) fn veth(ns: &Namespace, queues: u32, mtu: u32) -> VethPair {
    let pair = ns.run_in(|| VethPair::new(["va", "vb"], queues, mtu)).unwrap().unwrap();
    for name in ["va", "vb"] {
        pair.set_offloads(name, OFF).unwrap();
    }
    pair
}

pub(crate) fn ports(ns: &Namespace, names: &[&str]) -> Vec<Port> {
    ns.run_in(|| open_all(names)).unwrap().unwrap_or_else(|e| panic!("{e}"))
}

/// Error of an open that must fail: one line with a remedy.
pub(crate) fn refusal(ns: &Namespace, names: &[&str]) -> (Cause, String) {
    let e = ns.run_in(|| open_all(names).err()).unwrap().unwrap_or_else(|| panic!("{names:?} must not open"));
    let line = e.to_string();
    assert!(line.contains("; ") && !line.contains('\n'), "{line}");
    (e.cause, line)
}

/// A veth keeps no unicast addresses: whoever asks for one has it receive all frames.
pub(crate) fn says_when_it_receives_all(port: &Port, pair: &VethPair) {
    let says = || port.notes().iter().filter(|note| note.contains("va keeps no further unicast address")).count();
    let group = vec![[1, 0, 0x5e, 0, 0, 9]];
    let one = Filter { addresses: [&group[..], &[[2, 0, 0, 0, 0, 9]]].concat(), ..Filter::default() };
    let other = Filter { addresses: vec![[2, 0, 0, 0, 0, 10]], ..Filter::default() };
    let (groups, all) = (Filter { addresses: group, ..Filter::default() }, Filter { promiscuous: true, ..one.clone() });
    for (filter, promiscuous, said) in [
        (&groups, false, 0),
        (&one, true, 1),
        (&one, true, 1),
        (&other, true, 1),
        // As it was asked to.
        (&all, true, 0),
        (&groups, false, 0),
    ] {
        port.filter(filter).unwrap();
        assert_eq!((pair.link("va").unwrap().promiscuous, says()), (promiscuous, said), "{filter:?}");
    }
    port.filter(&Filter::default()).unwrap();
}

pub(crate) fn queues(ports: &mut [Port]) -> (TxQueue, RxQueue) {
    (ports[0].take_tx(0).unwrap(), ports[1].take_rx(0).unwrap())
}

/// The `n`th frame of `len` bytes (at least 60), with an experimental Ethernet type.
pub(crate) fn frame(n: u64, len: usize) -> Vec<u8> {
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

/// The `n`th frame it is, of `len` bytes.
pub(crate) fn same(received: &[u8], n: u64, len: usize) {
    let start = &received[..received.len().min(64)];
    assert!(received == frame(n, len), "frame {n} of {len} bytes comes as {} bytes: {start:02x?}", received.len());
}

/// Only ours: a kernel may send frames of its own.
pub(crate) fn ours(frame: &[u8]) -> bool {
    frame.len() >= 22 && frame[12..14] == [0x88, 0xb5]
}

/// Commits one frame in parts of at most `part` bytes; false if there is no room now.
pub(crate) fn put(tx: &mut TxQueue, bytes: &[u8], part: usize) -> bool {
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

/// Takes all frames that are there, joined, with their slots.
pub(crate) fn take(rx: &mut RxQueue) -> Vec<(Vec<u8>, u32)> {
    rx.sync();
    let mut frames: Vec<(Vec<u8>, u32)> = Vec::new();
    let mut batch = rx.ring.batch(u32::MAX);
    let (mut open, n) = (false, batch.len());
    for i in 0..n {
        let (part, slot_flags) = batch.frame(i).expect("whole frames");
        if !open {
            frames.push((Vec::new(), 0));
        }
        let (bytes, slots) = frames.last_mut().unwrap();
        bytes.extend(part.to_vec());
        *slots += 1;
        open = slot_flags & flags::MOREFRAG != 0;
    }
    assert!(!open, "only whole frames are delivered");
    batch.release(n);
    frames
}

/// Repeats until it is done, or fails after the limit.
pub(crate) fn until(what: &str, mut done: impl FnMut() -> bool) {
    let end = Instant::now() + LIMIT;
    while !done() {
        assert!(Instant::now() < end, "not in time: {what}");
    }
}

/// Until all transmit slots are back.
pub(crate) fn drain(tx: &mut TxQueue) {
    until("all slots come back", || {
        tx.sync();
        tx.ring.outstanding() == 0
    });
}

/// Sends `total` frames, all sizes in turn, and checks that each comes once, in order, byte for byte.
pub(crate) fn exchange(tx: &mut TxQueue, rx: &mut RxQueue, total: u64, sizes: &[usize], part: usize) {
    let (mut sent, mut got) = (0u64, 0u64);
    let size = |n: u64| sizes[usize::try_from(n).unwrap() % sizes.len()];
    // On their way and released together fit the receiver's slots: then nothing is lost.
    let most = sizes.iter().map(|size| size.div_ceil(rx.ring.usable()) as u64).max().unwrap();
    let window = (u64::from(rx.ring.slots()) / 2 / most).min(WINDOW);
    let before = tx.counters();
    until("every frame arrives", || {
        while sent < total && sent - got < window && put(tx, &frame(sent, size(sent)), part) {
            sent += 1;
        }
        tx.sync();
        for (received, _) in take(rx).into_iter().filter(|(f, _)| ours(f)) {
            same(&received, got, size(got));
            got += 1;
        }
        got == total
    });
    drain(tx);
    let after = tx.counters();
    assert_eq!(after.frames - before.frames, total);
    assert_eq!(after.bytes - before.bytes, (0..total).map(|n| size(n) as u64).sum::<u64>());
    assert_eq!(after.dropped, before.dropped);
}

/// Every buffer is where it belongs: transmit slots hold one each, and an idle receiver can store as many frames as it
/// has slots, no more and no fewer.
pub(crate) fn nothing_leaked(tx: &mut TxQueue, rx: &mut RxQueue) {
    drain(tx);
    assert_eq!(tx.ring.free(), tx.ring.slots() - 1);
    let held: BTreeSet<_> = (0..tx.ring.slots()).map(|k| tx.ring.slot_word(k).buf_idx()).collect();
    assert_eq!(held.len(), tx.ring.slots() as usize, "a buffer a slot");
    assert!(held.first().is_some_and(|first| *first >= 2));
    // Every released buffer goes to the kernel, then nobody reads.
    assert!(take(rx).is_empty());
    let slots = u64::from(rx.ring.slots());
    let lost = rx.counters().dropped.of(DropReason::NoRoom);
    for n in 0..slots + 10 {
        assert!(put(tx, &frame(n, 60), 60));
        if n % 32 == 31 {
            drain(tx);
        }
    }
    drain(tx);
    let mut got = 0;
    until("what was stored", || {
        for (received, _) in take(rx).into_iter().filter(|(f, _)| ours(f)) {
            same(&received, got, 60);
            got += 1;
        }
        got + rx.counters().dropped.of(DropReason::NoRoom) - lost == slots + 10
    });
    assert_eq!(got, slots, "stored; the others were dropped and counted");
}

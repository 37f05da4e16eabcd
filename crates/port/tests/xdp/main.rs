//! `xdp:` ports on veth pairs in network namespaces of their own.
//!
//! Frames carry a number and bytes that follow from it, so each test knows that every frame came once, in order, whole.
#![cfg(target_os = "linux")]

mod sys;

use linerate_port::{
    Cause, DropReason, Filter, Interest, Link, Namespace, Offloads, Port, RxQueue, TxQueue, VethPair, open, open_all,
};
use linerate_ring::{flags, forward};
use std::collections::BTreeSet;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};
use sys::Packets;

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

/// What opening says when it must fail: one line with a mend.
fn refusal(ns: &Namespace, names: &[&str]) -> (Cause, String) {
    let e = ns.run_in(|| open_all(names).err()).unwrap().unwrap_or_else(|| panic!("{names:?} must not open"));
    let line = e.to_string();
    assert!(line.contains("; ") && !line.contains('\n'), "{line}");
    (e.cause, line)
}

fn queues(ports: &mut [Port]) -> (TxQueue, RxQueue) {
    (ports[0].take_tx(0).unwrap(), ports[1].take_rx(0).unwrap())
}

/// The `n`th frame of `len` bytes (at least 60), with an experimental Ethernet type.
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

/// The `n`th frame it is, of `len` bytes.
fn same(received: &[u8], n: u64, len: usize) {
    let start = &received[..received.len().min(64)];
    assert!(received == frame(n, len), "frame {n} of {len} bytes comes as {} bytes: {start:02x?}", received.len());
}

/// Only ours: a kernel may send frames of its own.
fn ours(frame: &[u8]) -> bool {
    frame.len() >= 22 && frame[12..14] == [0x88, 0xb5]
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

/// Takes all frames that are there, joined, with their slots.
fn take(rx: &mut RxQueue) -> Vec<(Vec<u8>, u32)> {
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
fn until(what: &str, mut done: impl FnMut() -> bool) {
    let end = Instant::now() + LIMIT;
    while !done() {
        assert!(Instant::now() < end, "not in time: {what}");
    }
}

/// Until all transmit slots are back.
fn drain(tx: &mut TxQueue) {
    until("all slots come back", || {
        tx.sync();
        tx.ring.outstanding() == 0
    });
}

/// Sends `total` frames, all sizes in turn, and checks that each comes once, in order, byte for byte.
fn exchange(tx: &mut TxQueue, rx: &mut RxQueue, total: u64, sizes: &[usize], part: usize) {
    let (mut sent, mut got) = (0u64, 0u64);
    let size = |n: u64| sizes[usize::try_from(n).unwrap() % sizes.len()];
    // On their way and released together fit the receiver's slots: then nothing may be lost.
    let most = sizes.iter().map(|size| size.div_ceil(rx.ring.usable()) as u64).max().unwrap();
    let window = u64::from(rx.ring.slots()) / 2 / most;
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
fn nothing_leaked(tx: &mut TxQueue, rx: &mut RxQueue) {
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
        until("a frame is taken", || {
            tx.sync();
            put(tx, &frame(n, 60), 60)
        });
    }
    drain(tx);
    let mut got = 0;
    until("what was stored", || {
        for (received, _) in take(rx).into_iter().filter(|(f, _)| ours(f)) {
            assert_eq!(received, frame(got, 60));
            got += 1;
        }
        got + rx.counters().dropped.of(DropReason::NoRoom) - lost == slots + 10
    });
    assert_eq!(got, slots, "stored; the others were dropped and counted");
}

#[test]
fn every_frame_comes_once_and_in_order() {
    let Some(ns) = namespace() else { return };
    let pair = veth(&ns, 1, 1500);
    let mut ports = ports(&ns, &["xdp:va,slots=256", "xdp:vb,slots=256"]);
    for (port, name) in ports.iter().zip(["va", "vb"]) {
        let info = port.info();
        assert!(info.path.starts_with("AF_XDP, native driver, copy, queue 0, need_wakeup"), "{}", info.path);
        assert_eq!((info.largest, info.mac), (1522, pair.link(name).unwrap().mac));
        assert_eq!(info.notes.iter().filter(|note| note.contains("checksum")).count(), 0, "{:?}", info.notes);
        assert_eq!(port.link(), Link::Up);
    }
    let (mut tx, mut rx) = queues(&mut ports);
    let sizes: Vec<usize> = (60..=1514).collect();
    exchange(&mut tx, &mut rx, 100_000, &sizes, 1792);
    let sent = tx.counters();
    assert!(sent.syscalls < sent.frames / 8, "{} system calls for {} frames", sent.syscalls, sent.frames);
    nothing_leaked(&mut tx, &mut rx);
    let nonsense = ports.iter().flat_map(Port::raw_counters).filter(|(name, _)| name.ends_with("nonsense"));
    assert_eq!(nonsense.map(|(_, n)| n).collect::<Vec<_>>(), [0, 0]);
    let (mut back, mut forth) = (ports[1].take_tx(0).unwrap(), ports[0].take_rx(0).unwrap());
    exchange(&mut back, &mut forth, 1000, &sizes, 1792);
}

#[test]
fn two_threads_share_a_socket() {
    let Some(ns) = namespace() else { return };
    let _pair = veth(&ns, 1, 1500);
    let mut ports = ports(&ns, &["xdp:va", "xdp:vb"]);
    const TOTAL: u64 = 100_000;
    let seen = [AtomicU64::new(0), AtomicU64::new(0)];
    let end = Instant::now() + LIMIT;
    thread::scope(|scope| {
        for (from, to) in [(0, 1), (1, 0)] {
            let (mut tx, mut rx) = (ports[from].take_tx(0).unwrap(), ports[to].take_rx(0).unwrap());
            let seen = &seen;
            scope.spawn(move || {
                let mut n = 0;
                while n < TOTAL {
                    assert!(Instant::now() < end, "{n} sent in time");
                    while n < TOTAL && n - seen[to].load(Relaxed) < 500 && put(&mut tx, &frame(n, 200), 200) {
                        n += 1;
                    }
                    tx.sync();
                    thread::yield_now();
                }
                drain(&mut tx);
                assert_eq!(tx.counters().frames, TOTAL);
            });
            scope.spawn(move || {
                let mut n = 0;
                while n < TOTAL {
                    assert!(Instant::now() < end, "{n} received in time");
                    for (received, _) in take(&mut rx).into_iter().filter(|(f, _)| ours(f)) {
                        assert_eq!(received, frame(n, 200));
                        n += 1;
                    }
                    seen[to].store(n, Relaxed);
                    thread::yield_now();
                }
            });
        }
    });
}

#[test]
fn the_kernel_receives_what_is_sent_and_sends_what_is_received() {
    let Some(ns) = namespace() else { return };
    let _pair = veth(&ns, 1, 1500);
    let far = ns.run_in(|| Packets::open("va")).unwrap().unwrap();
    let mut ports = ports(&ns, &["xdp:vb"]);
    let (mut tx, mut rx) = (ports[0].take_tx(0).unwrap(), ports[0].take_rx(0).unwrap());
    let size = |n: u64| 60 + usize::try_from(n).unwrap() % 1455;
    let (mut sent, mut got) = (0, 0);
    until("the kernel receives", || {
        while sent < 100_000 && sent - got < 500 && put(&mut tx, &frame(sent, size(sent)), 1792) {
            sent += 1;
        }
        tx.sync();
        while let Some(received) = far.receive() {
            if ours(&received) {
                same(&received, got, size(got));
                got += 1;
            }
        }
        got == 100_000
    });
    drain(&mut tx);
    assert_eq!(tx.counters().frames, 100_000);
    let (mut sent, mut got) = (0, 0);
    until("the kernel sends", || {
        while sent < 100_000 && sent - got < 500 {
            far.send(&frame(sent, size(sent))).unwrap();
            sent += 1;
        }
        for (received, _) in take(&mut rx).into_iter().filter(|(f, _)| ours(f)) {
            same(&received, got, size(got));
            got += 1;
        }
        got == 100_000
    });
    assert_eq!(rx.counters().dropped.total(), 0);
}

#[test]
fn frames_of_several_buffers_pass() {
    let Some(ns) = namespace() else { return };
    let _pair = veth(&ns, 1, 9000);
    for buf in [2048, 4096] {
        let names = [format!("xdp:va,buf={buf},slots=512"), format!("xdp:vb,buf={buf},slots=512")];
        let mut ports = ports(&ns, &[&names[0], &names[1]]);
        let info = ports[0].info();
        if !info.path.ends_with("fragments") {
            println!("skipped: no fragments here: {}", info.path);
            assert!(info.notes.iter().any(|note| note.contains("several buffers")), "{:?}", info.notes);
            assert_eq!(info.largest, buf - 256);
            return;
        }
        assert_eq!(info.largest, 9022);
        let (mut tx, mut rx) = queues(&mut ports);
        exchange(&mut tx, &mut rx, 20_000, &[4000, 60, 9014, 1500, 8000, buf - 256, buf - 255], buf - 256);
        // Parts of any size: up to 17 go as they are, more are copied together.
        for part in [61, 100, 500, 1000] {
            exchange(&mut tx, &mut rx, 500, &[3900, 1037, 3400, 60], part);
        }
        put(&mut tx, &frame(0, 9014), buf - 256);
        let mut got = Vec::new();
        until("the longest frame", || {
            tx.sync();
            got.extend(take(&mut rx));
            !got.is_empty()
        });
        assert_eq!(got, [(frame(0, 9014), u32::try_from(9014usize.div_ceil(buf - 256)).unwrap())]);
        nothing_leaked(&mut tx, &mut rx);
    }
}

#[test]
fn what_cannot_be_sent_is_counted_and_comes_back() {
    let Some(ns) = namespace() else { return };
    let _pair = veth(&ns, 1, 1500);
    let mut ports = ports(&ns, &["xdp:va,slots=128", "xdp:vb,slots=128"]);
    let (mut tx, mut rx) = queues(&mut ports);
    let commit = |tx: &mut TxQueue, slots: &[(usize, u16)]| {
        let mut batch = tx.ring.reserve(u32::try_from(slots.len()).unwrap());
        for (i, (len, flags)) in (0..).zip(slots) {
            assert!(batch.put(i, &frame(7, 1600)));
            batch.set(i, *len, *flags);
        }
        batch.commit(u32::try_from(slots.len()).unwrap());
    };
    const MORE: u16 = flags::MOREFRAG;
    commit(&mut tx, &[(0, 0), (13, 0), (1523, 0), (800, MORE), (800, 0), (0, MORE), (0, 0)]);
    drain(&mut tx);
    let count = tx.counters();
    assert_eq!((count.frames, count.bytes), (0, 0));
    assert_eq!(count.dropped.iter().collect::<Vec<_>>(), [("too_long", 2), ("too_short", 2)]);
    assert_eq!(count.syscalls, 0, "nothing to say to the kernel");
    // A chain of more than 64 slots, in two batches; then an unfinished one, which waits for its end.
    commit(&mut tx, &[(20, MORE); 50]);
    tx.sync();
    assert_eq!(tx.ring.in_flight(), 0, "unfinished");
    commit(&mut tx, &[(20, MORE); 20]);
    tx.sync();
    commit(&mut tx, &[(20, MORE), (20, 0), (30, MORE), (30, MORE)]);
    tx.sync();
    assert_eq!(tx.ring.pending(), 2, "unfinished");
    assert_eq!(tx.counters().dropped.of(DropReason::TooManyFragments), 1);
    commit(&mut tx, &[(0, MORE), (30, MORE), (0, 0), (60, 0)]);
    drain(&mut tx);
    assert_eq!((tx.counters().frames, tx.counters().bytes), (2, 150));
    let mut got = Vec::new();
    until("both frames", || {
        got.extend(take(&mut rx).into_iter().map(|(f, _)| f));
        got.len() == 2
    });
    let part = &frame(7, 1600)[..30];
    assert_eq!(got, [[part, part, part].concat(), frame(7, 1600)[..60].to_vec()]);
    nothing_leaked(&mut tx, &mut rx);
}

#[test]
fn a_queue_is_free_again_as_soon_as_it_is_closed() {
    let Some(ns) = namespace() else { return };
    let pair = veth(&ns, 1, 1500);
    for round in 0..20 {
        let mut ports = ports(&ns, &["xdp:va,slots=64", "xdp:vb,slots=64"]);
        let (mut tx, mut rx) = queues(&mut ports);
        exchange(&mut tx, &mut rx, 40 + round, &[60, 1514], 1792);
        // The program stays as long as one queue lives.
        drop(ports);
        exchange(&mut tx, &mut rx, 10, &[60], 1792);
    }
    for name in ["va", "vb"] {
        assert_eq!(pair.link(name).unwrap().xdp_program, None);
    }
}

/// Not a test of its own: what the next one kills.
#[test]
fn holds_a_port_until_killed() {
    if std::env::var_os("LINERATE_TEST_HOLD").is_none() {
        return;
    }
    let port = open("xdp:va").unwrap();
    port.filter(&Filter { promiscuous: true, ..Filter::default() }).unwrap();
    println!("holding");
    thread::sleep(LIMIT);
}

#[test]
fn nothing_stays_when_the_process_is_killed() {
    let Some(ns) = namespace() else { return };
    let pair = veth(&ns, 1, 1500);
    let mut child = ns
        .run_in(|| {
            Command::new(std::env::current_exe().unwrap())
                .args(["--exact", "holds_a_port_until_killed", "--nocapture"])
                .env("LINERATE_TEST_HOLD", "1")
                .stdout(Stdio::null())
                .spawn()
                .unwrap()
        })
        .unwrap();
    until("the child has the port", || {
        thread::sleep(Duration::from_millis(5));
        assert!(child.try_wait().unwrap().is_none(), "the child ended by itself");
        let link = pair.link("va").unwrap();
        link.xdp_program.is_some() && link.promiscuous
    });
    let (cause, line) = refusal(&ns, &["xdp:va"]);
    assert_eq!(cause, Cause::Busy);
    assert!(line.contains("XDP program is attached") && line.contains("ip link set va xdp off"), "{line}");
    child.kill().unwrap();
    child.wait().unwrap();
    let mut ports = ports(&ns, &["xdp:va", "xdp:vb"]);
    let (mut tx, mut rx) = queues(&mut ports);
    exchange(&mut tx, &mut rx, 1000, &[60], 60);
    drop((ports, tx, rx));
    let link = pair.link("va").unwrap();
    assert!(link.xdp_program.is_none() && !link.promiscuous);
}

#[test]
fn queues_are_apart() {
    let Some(ns) = namespace() else { return };
    let _pair = veth(&ns, 2, 1500);
    let mut both = ports(&ns, &["xdp:va", "xdp:vb"]);
    assert_eq!((both[0].info().tx_queues, both[1].info().rx_queues), (2, 2));
    assert!(both[1].info().path.contains("queues 0-1"), "{}", both[1].info().path);
    // A veth carries what leaves by queue N to the far end's queue N.
    for queue in [1, 0] {
        let (mut tx, mut rx) = (both[0].take_tx(queue).unwrap(), both[1].take_rx(queue).unwrap());
        exchange(&mut tx, &mut rx, 10_000, &[60, 1514], 1792);
        nothing_leaked(&mut tx, &mut rx);
    }
    drop(both);
    // One port a queue: they share the interface's one program.
    let mut four = ports(&ns, &["xdp:va@0", "xdp:va@1", "xdp:vb@1", "xdp:vb@0"]);
    for (from, to) in [(0, 3), (1, 2)] {
        let (mut tx, mut rx) = (four[from].take_tx(0).unwrap(), four[to].take_rx(0).unwrap());
        exchange(&mut tx, &mut rx, 1000, &[60], 60);
    }
    drop(four);
    assert_eq!(ports(&ns, &["xdp:va,queues=1"])[0].info().rx_queues, 1);
    for (name, word) in [("xdp:va@2", "2 queues"), ("xdp:va,queues=3", "2 queues"), ("xdp:va@0,queues=1", "both given")]
    {
        let (cause, line) = refusal(&ns, &[name]);
        assert!(cause == Cause::Usage && line.contains(word), "{line}");
    }
}

#[test]
fn a_mode_can_be_forced() {
    let Some(ns) = namespace() else { return };
    let pair = veth(&ns, 1, 1500);
    for (mode, word) in [("copy", "native driver, copy"), ("generic", "generic, copy")] {
        let names = [format!("xdp:va,mode={mode}"), format!("xdp:vb,mode={mode}")];
        let mut ports = ports(&ns, &[&names[0], &names[1]]);
        assert!(ports[0].info().path.contains(word), "{}", ports[0].info().path);
        let (mut tx, mut rx) = queues(&mut ports);
        exchange(&mut tx, &mut rx, 10_000, &[60, 1514], 1792);
        nothing_leaked(&mut tx, &mut rx);
    }
    // A veth has no zero-copy.
    let (cause, line) = refusal(&ns, &["xdp:va,mode=zerocopy"]);
    assert!(cause == Cause::Capability && line.contains("mode=zerocopy"), "{line}");
    assert_eq!(pair.link("va").unwrap().xdp_program, None);
    let (cause, line) = refusal(&ns, &["xdp:va,mode=fast"]);
    assert!(cause == Cause::Usage && line.contains("mode=fast"), "{line}");
}

#[test]
fn what_is_wrong_is_named_with_its_mend() {
    let Some(ns) = namespace() else { return };
    let pair = veth(&ns, 1, 1500);
    for (names, cause, word) in [
        (&["xdp:nosuch"][..], Cause::Missing, "no interface 'nosuch'"),
        (&["xdp:a-name-beyond-15-bytes"], Cause::Missing, "no interface"),
        (&["xdp:va,buf=8192"], Cause::Usage, "buf=4096"),
        (&["xdp:va", "null:,buf=8192"], Cause::Usage, "buf=4096"),
        (&["xdp:va,mtu=1501"], Cause::Usage, "ip link set va mtu 1501"),
        (&["xdp:va", "xdp:va"], Cause::Busy, "queue of va"),
    ] {
        let (got, line) = refusal(&ns, names);
        assert!(got == cause && line.contains(word), "{line}");
    }
    pair.set_up("va", false).unwrap();
    let off = ports(&ns, &["xdp:va"]).remove(0);
    assert_eq!(off.link(), Link::Down);
    assert!(off.info().notes.iter().any(|note| note.contains("ip link set va up")), "{:?}", off.info().notes);
    drop(off);
    pair.set_up("va", true).unwrap();
    let on = Offloads { tx_checksum: true, ..OFF };
    assert!(pair.set_offloads("vb", on).unwrap().tx_checksum);
    let ports = ports(&ns, &["xdp:va"]);
    let notes = &ports[0].info().notes;
    assert!(notes.iter().any(|note| note.contains("ethtool -K vb tx off")), "{notes:?}");
}

#[test]
fn what_an_idle_receiver_cannot_hold_is_counted() {
    let Some(ns) = namespace() else { return };
    let _pair = veth(&ns, 1, 1500);
    let mut ports = ports(&ns, &["xdp:va,slots=256", "xdp:vb,slots=64"]);
    let (mut tx, mut rx) = queues(&mut ports);
    for round in 0..3 {
        for n in 0..200 {
            assert!(put(&mut tx, &frame(n, 100), 100), "round {round}");
        }
        drain(&mut tx);
        let mut got = 0;
        until("received and dropped are what was sent", || {
            got += take(&mut rx).len() as u64;
            rx.counters().dropped.of(DropReason::NoRoom) == (round + 1) * (200 - 64)
        });
        assert_eq!(got, 64);
    }
    let rows = ports[1].raw_counters();
    assert!(rows.contains(&("xdp_q0_rx_dropped".into(), 3 * (200 - 64))), "{rows:?}");
    assert!(rows.contains(&("link_rx_packets".into(), 600)), "{rows:?}");
}

#[test]
fn buffers_pass_between_ports_by_a_swap() {
    let Some(ns) = namespace() else { return };
    let _pair = veth(&ns, 1, 1500);
    let _other = ns.run_in(|| VethPair::new(["vc", "vd"], 1, 1500)).unwrap().unwrap();
    let mut ports = ports(&ns, &["xdp:va,slots=256", "xdp:vb,slots=256", "xdp:vc,slots=256", "xdp:vd,slots=256"]);
    let mut txs: Vec<_> = ports.iter_mut().map(|port| port.take_tx(0).unwrap()).collect();
    let mut rxs: Vec<_> = ports.iter_mut().map(|port| port.take_rx(0).unwrap()).collect();
    // va sends; what vb receives vc sends, in the same buffers; vd receives.
    let (mut sent, mut got) = (0, 0);
    until("all came through", || {
        while sent < 20_000 && sent - got < 100 && put(&mut txs[0], &frame(sent, 300), 300) {
            sent += 1;
        }
        txs[0].sync();
        rxs[1].sync();
        let n = rxs[1].ring.available().min(txs[2].ring.free());
        forward(rxs[1].ring.batch(n), txs[2].ring.reserve(n), n).expect("one region");
        txs[2].sync();
        for (received, _) in take(&mut rxs[3]).into_iter().filter(|(f, _)| ours(f)) {
            assert_eq!(received, frame(got, 300));
            got += 1;
        }
        got == 20_000
    });
    drain(&mut txs[2]);
    assert_eq!(txs[2].counters().frames, 20_000);
    let (mut tx, mut rx) = (txs.remove(0), rxs.remove(1));
    nothing_leaked(&mut tx, &mut rx);
    let (mut tx, mut rx) = (txs.remove(1), rxs.remove(2));
    nothing_leaked(&mut tx, &mut rx);
}

#[test]
fn a_sleeper_wakes_and_the_link_is_told() {
    let Some(ns) = namespace() else { return };
    let pair = veth(&ns, 1, 1500);
    let mut ports = ports(&ns, &["xdp:va", "xdp:vb"]);
    let (mut tx, mut rx) = queues(&mut ports);
    assert!(take(&mut rx).is_empty());
    assert!(rx.fall_asleep());
    {
        let (fd, interest) = rx.waits_on().unwrap();
        assert_eq!(interest, Interest::Readable);
        assert!(!sys::readable(fd, 0), "nothing has come");
        thread::scope(|scope| {
            scope.spawn(|| {
                put(&mut tx, &frame(0, 60), 60);
                tx.sync();
            });
            assert!(sys::readable(fd, 60_000));
        });
    }
    assert!(!rx.fall_asleep(), "a frame is there");
    rx.wake_up();
    assert_eq!(take(&mut rx), [(frame(0, 60), 1)]);
    drain(&mut tx);
    assert!(tx.due().is_none() && tx.waits_on().is_none(), "nothing to wait for");

    pair.set_up("va", false).unwrap();
    put(&mut tx, &frame(1, 60), 60);
    tx.sync();
    assert_eq!((tx.link(), ports[0].link()), (Link::Down, Link::Down));
    // The kernel tells of carriers a little later.
    until("the far end's carrier goes", || ports[1].link() == Link::Down);
    assert_eq!((tx.ring.in_flight(), tx.counters().frames), (1, 1), "it waits");
    assert!(tx.due().is_some());
    pair.set_up("va", true).unwrap();
    drain(&mut tx);
    until("the carriers come", || tx.link() == Link::Up && ports.iter().all(|port| port.link() == Link::Up));
    until("the frame that waited", || take(&mut rx) == [(frame(1, 60), 1)]);
    drop(pair);
    put(&mut tx, &frame(2, 60), 60);
    tx.sync();
    rx.sync();
    assert_eq!((tx.link(), ports[1].link()), (Link::Down, Link::Down), "the interface is gone");
}

#[test]
fn a_filter_is_asked_of_the_interface() {
    let Some(ns) = namespace() else { return };
    let pair = veth(&ns, 1, 1500);
    let ports = ports(&ns, &["xdp:va"]);
    assert!(ports[0].info().caps.filters && !pair.link("va").unwrap().promiscuous);
    let all =
        Filter { promiscuous: true, all_multicast: true, addresses: vec![[1, 0, 0x5e, 0, 0, 9], [2, 0, 0, 0, 0, 9]] };
    ports[0].filter(&all).unwrap();
    ports[0].filter(&all).unwrap();
    assert!(pair.link("va").unwrap().promiscuous);
    ports[0].filter(&Filter::default()).unwrap();
    assert!(!pair.link("va").unwrap().promiscuous);
}

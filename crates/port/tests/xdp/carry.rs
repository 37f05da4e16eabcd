//! Frames: every one, in order, whole, and what becomes of those that are not carried.

use crate::sys::Packets;
use crate::*;
use linerate_port::Link;
use linerate_ring::forward;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread;

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
    let unknown = ports.iter().flat_map(Port::raw_counters).filter(|(name, _)| name.ends_with("unknown_buffer_descs"));
    assert_eq!(unknown.map(|(_, n)| n).collect::<Vec<_>>(), [0, 0]);
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
                    while n < TOTAL && n - seen[to].load(Relaxed) < WINDOW && put(&mut tx, &frame(n, 200), 200) {
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
                        same(&received, n, 200);
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
        while sent < 100_000 && sent - got < WINDOW && put(&mut tx, &frame(sent, size(sent)), 1792) {
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
        while sent < 100_000 && sent - got < WINDOW {
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
    for (buf, mode) in [(2048, "copy"), (4096, "copy"), (4096, "generic")] {
        let names = ["va", "vb"].map(|name| format!("xdp:{name},buf={buf},slots=512,mode={mode}"));
        let mut ports = ports(&ns, &[&names[0], &names[1]]);
        let info = ports[0].info();
        if !info.path.ends_with("fragments") {
            linerate_skip::skip!("no fragments here: {}", info.path);
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
    // Frames to a queue without a socket go to the network stack.
    let stack = ns.run_in(|| Packets::open("vb")).unwrap().unwrap();
    let mut mixed = ports(&ns, &["xdp:va", "xdp:vb@0"]);
    let mut tx = mixed[0].take_tx(1).unwrap();
    assert!(put(&mut tx, &frame(5, 60), 60));
    drain(&mut tx);
    until("the stack gets it", || stack.receive().is_some_and(|received| received == frame(5, 60)));
    drop((mixed, tx));
    assert_eq!(ports(&ns, &["xdp:va,queues=1"])[0].info().rx_queues, 1);
    for (name, word) in [("xdp:va@2", "2 queues"), ("xdp:va,queues=3", "2 queues"), ("xdp:va@0,queues=1", "both given")]
    {
        let (cause, line) = refusal(&ns, &[name]);
        assert!(cause == Cause::Usage && line.contains(word), "{line}");
    }
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
            if n % 100 == 99 {
                drain(&mut tx);
            }
        }
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
        while sent < 20_000 && sent - got < WINDOW && put(&mut txs[0], &frame(sent, 300), 300) {
            sent += 1;
        }
        txs[0].sync();
        rxs[1].sync();
        let n = rxs[1].ring.available().min(txs[2].ring.free());
        forward(rxs[1].ring.batch(n), txs[2].ring.reserve(n), n, |_| true).expect("one region");
        txs[2].sync();
        for (received, _) in take(&mut rxs[3]).into_iter().filter(|(f, _)| ours(f)) {
            same(&received, got, 300);
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

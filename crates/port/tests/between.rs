//! Cables between processes: two mappings of one region, peers that die, peers that write invalid values.
//!
//! Other processes are this test binary, started again with a role in its environment.

use linerate_port::{DropReason, Link, Port, RxQueue, Sleeper, TxQueue, open};
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// Far more than anything here takes on any machine; a test that gets there has hung.
const HUNG: Duration = Duration::from_secs(240);

/// A cable name of this test run alone.
fn name(test: &str, end: &str) -> String {
    format!("cable:{test}-{}{end}1", std::process::id())
}

fn send(tx: &mut TxQueue, bytes: &[u8]) -> bool {
    let mut batch = tx.ring.reserve(1);
    let ok = !batch.is_empty() && batch.put(0, bytes);
    batch.commit(ok.into());
    tx.sync();
    ok
}

fn receive(rx: &mut RxQueue) -> Option<Vec<u8>> {
    rx.sync();
    let mut batch = rx.ring.batch(1);
    let frame = (!batch.is_empty()).then(|| batch.frame(0).map(|(f, _)| f.to_vec())).flatten();
    let n = batch.len();
    batch.release(n);
    frame
}

fn until<T>(what: &str, mut try_it: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + HUNG;
    loop {
        if let Some(done) = try_it() {
            return done;
        }
        assert!(Instant::now() < deadline, "{what}: not within {HUNG:?}");
        std::thread::sleep(Duration::from_micros(200));
    }
}

fn linked(port: &Port, link: Link) {
    until("link", || (port.link() == link).then_some(()));
}

fn queues(port: &mut Port, queue: usize) -> (TxQueue, RxQueue) {
    (port.take_tx(queue).unwrap(), port.take_rx(queue).unwrap())
}

/// Time at which an idle queue wants to be synced again.
fn due(queue: &mut TxQueue) -> Option<Instant> {
    let until = queue.fall_asleep().expect("nothing to do").until;
    queue.wake_up();
    until
}

#[test]
fn two_mappings_of_one_region_carry_frames_both_ways() {
    let mut a = open(&format!("{},slots=64,queues=2", name("both", "{"))).unwrap();
    assert_eq!(a.link(), Link::Down, "nobody is there");
    let mut b = open(&name("both", "}")).unwrap();
    assert_eq!((b.info().slots, b.info().tx_queues), (64, 2), "the first one's options stand");
    linked(&a, Link::Up);
    for q in 0..2 {
        let ((mut atx, mut arx), (mut btx, mut brx)) = (queues(&mut a, q), queues(&mut b, q));
        for i in 0..1000u32 {
            assert!(send(&mut atx, &i.to_le_bytes()));
            assert_eq!(until("frame", || receive(&mut brx)), i.to_le_bytes());
            assert!(send(&mut btx, &[i.to_le_bytes(), [7; 4]].concat()));
            assert_eq!(until("frame", || receive(&mut arx)), [i.to_le_bytes(), [7; 4]].concat());
        }
    }
}

#[test]
fn shared_frames_are_copied_never_borrowed() {
    let mut a = open(&name("copied", "{")).unwrap();
    let (mut tx, _) = queues(&mut a, 0);
    let mut batch = tx.ring.reserve(1);
    assert!(batch.frame(0).bytes().is_none());
    assert!(batch.frame(0).bytes_mut().is_none());
}

#[test]
fn the_same_end_twice_and_a_third_process_are_refused() {
    let _a = open(&name("twice", "{")).unwrap();
    let line = open(&name("twice", "{")).err().unwrap().to_string();
    assert!(line.contains("this end is open") && !line.contains('\n'), "{line}");
    let _b = open(&name("twice", "}")).unwrap();
    let line = open(&name("twice", "}")).err().unwrap().to_string();
    assert!(line.contains("both ends are open"), "{line}");
    let _c = open(&format!("{},slots=64", name("options", "{"))).unwrap();
    let line = open(&format!("{},slots=128", name("options", "}"))).err().unwrap().to_string();
    assert!(line.contains("slots=64 at its other end"), "{line}");
}

#[test]
fn a_joiner_that_closes_is_replaced_by_the_next() {
    let mut a = open(&format!("{},slots=64", name("joiner", "{"))).unwrap();
    let (mut tx, mut rx) = queues(&mut a, 0);
    for round in 0..20u8 {
        let mut b = open(&name("joiner", "}")).unwrap();
        linked(&a, Link::Up);
        let (mut btx, mut brx) = queues(&mut b, 0);
        assert!(send(&mut tx, &[round, 1]));
        assert_eq!(until("frame", || receive(&mut brx)), [round, 1]);
        assert!(send(&mut btx, &[round, 2]));
        assert_eq!(until("frame", || receive(&mut rx)), [round, 2]);
        tx.sync();
        for _ in 0..3 {
            assert!(send(&mut tx, b"never read"));
        }
        assert!(send(&mut btx, b"published, then gone"));
        brx.sync();
        drop((b, btx, brx));
        linked(&a, Link::Down);
        assert_eq!(until("last frame", || receive(&mut rx)), b"published, then gone");
        tx.sync();
        rx.sync();
        assert_eq!(tx.counters().dropped.of(DropReason::PeerDied), 3 * (u64::from(round) + 1));
        assert_eq!(tx.ring.free(), 63, "all slots are back");
        assert_eq!(
            rx.counters().slots,
            2 * (u64::from(round) + 1),
            "what came after its sender had gone is counted too"
        );
    }
}

#[test]
fn what_came_before_the_first_sync_is_read_after_its_sender_has_gone() {
    let mut a = open(&format!("{},slots=64", name("unsynced", "{"))).unwrap();
    let (mut tx, mut rx) = queues(&mut a, 0);
    let visit = |first: u8| {
        let mut b = open(&name("unsynced", "}")).unwrap();
        linked(&a, Link::Up);
        let (mut btx, brx) = queues(&mut b, 0);
        (0..3).for_each(|i| assert!(send(&mut btx, &[first + i; 20])));
        drop((b, btx, brx));
        linked(&a, Link::Down);
    };
    visit(0);
    assert_eq!(receive(&mut rx).as_deref(), Some(&[0; 20][..]));
    // One more comes and goes while they are read.
    visit(3);
    for n in 1..6 {
        assert_eq!(until("frame", || receive(&mut rx)), [n; 20]);
    }
    assert_eq!((receive(&mut rx), rx.counters().slots), (None, 6));
    let mut b = open(&name("unsynced", "}")).unwrap();
    linked(&a, Link::Up);
    let (mut btx, mut brx) = queues(&mut b, 0);
    assert!(send(&mut btx, &[9; 20]) && send(&mut tx, &[8; 20]));
    assert_eq!(until("frame", || receive(&mut rx)), [9; 20]);
    assert_eq!(until("frame", || receive(&mut brx)), [8; 20]);
}

#[test]
fn a_maker_that_closes_leaves_a_cable_that_pairs_anew() {
    let mut a = open(&format!("{},slots=64", name("maker", "{"))).unwrap();
    let mut b = open(&name("maker", "}")).unwrap();
    let (mut btx, mut brx) = queues(&mut b, 0);
    {
        let (mut tx, _rx) = queues(&mut a, 0);
        linked(&a, Link::Up);
        assert!(send(&mut tx, b"from the maker"));
        assert_eq!(until("frame", || receive(&mut brx)), b"from the maker");
        assert!(send(&mut tx, b"last words"));
    }
    btx.sync();
    drop(a);
    linked(&b, Link::Down);
    let mut batch = btx.ring.reserve(1);
    assert!(batch.put(0, b"committed while alone"));
    batch.commit(1);
    assert_eq!(until("frame", || receive(&mut brx)), b"last words");
    btx.sync();
    brx.sync();
    let mut a = until("the next maker or joiner", || open(&name("maker", "{")).ok());
    // Either may have come first, with its own idea of the rings' size.
    linked(&a, Link::Up);
    linked(&b, Link::Up);
    let (mut tx, mut rx) = queues(&mut a, 0);
    let carried = until("carried over", || {
        btx.sync();
        receive(&mut rx)
    });
    assert_eq!(carried, b"committed while alone");
    assert!(send(&mut tx, b"hello again"));
    assert_eq!(until("frame", || receive(&mut brx)), b"hello again");
}

/// Regression: the maker heard the next joiner's first words before it looked whether the last one was still there.
#[test]
fn who_comes_right_after_the_last_one_left_is_let_in() {
    let mut maker = open(&name("after", "{")).unwrap();
    let (mut tx, mut rx) = queues(&mut maker, 0);
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Relaxed) {
                tx.sync();
                rx.sync();
                std::thread::sleep(Duration::from_micros(50));
            }
        });
        let opened = (0..100).map(|_| open(&name("after", "}")).map(drop)).find(Result::is_err);
        stop.store(true, Relaxed);
        assert!(opened.is_none(), "{}", opened.unwrap().unwrap_err());
    });
}

/// Starts this binary again; it runs the test `role` with LINERATE_ROLE set.
fn child(role: &str, cable: &str) -> (Child, BufReader<std::process::ChildStdout>) {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args([role, "--exact", "--nocapture", "--test-threads=1", "--ignored"])
        .env("LINERATE_ROLE", cable)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .spawn()
        .unwrap();
    let out = BufReader::new(child.stdout.take().unwrap());
    (child, out)
}

fn wait_for_line(out: &mut impl BufRead, word: &str) {
    let mut line = String::new();
    while out.read_line(&mut line).unwrap() > 0 {
        if line.contains(word) {
            return;
        }
        line.clear();
    }
    panic!("the child ended before it said {word}");
}

/// A thread that ends when this process is told something, or its parent is gone.
fn told() -> std::thread::JoinHandle<()> {
    std::thread::spawn(|| drop(std::io::stdin().read_line(&mut String::new())))
}

/// The role of a peer that floods both ways until it is killed.
#[test]
#[ignore = "a role of other tests"]
fn flooding_peer() {
    let Ok(cable) = std::env::var("LINERATE_ROLE") else { return };
    let mut port = until("open", || open(&cable).ok());
    let (mut tx, mut rx) = queues(&mut port, 0);
    println!("ready");
    let mut n = 0u64;
    let told = told();
    while !told.is_finished() {
        let mut batch = tx.ring.reserve(16);
        for i in 0..batch.len() {
            assert!(batch.put(i, &n.to_le_bytes()));
            n += 1;
        }
        let filled = batch.len();
        batch.commit(filled);
        tx.sync();
        rx.sync();
        let batch = rx.ring.batch(7);
        let n = batch.len();
        batch.release(n);
        if filled == 0 && n == 0 {
            std::thread::sleep(Duration::from_micros(50));
        }
    }
}

/// The role of a peer that pauses its sender, asks for it again and again, and ends it when it is told so.
#[test]
#[ignore = "a role of other tests"]
fn pausing_peer() {
    let Ok(cable) = std::env::var("LINERATE_ROLE") else { return };
    let mut port = until("open", || open(&cable).ok());
    let (_tx, mut rx) = queues(&mut port, 0);
    rx.pause(0xff);
    rx.sync();
    println!("paused");
    let told = told();
    while !told.is_finished() {
        rx.pause(0xff);
        std::thread::sleep(Duration::from_millis(50));
    }
    rx.pause(0);
    for n in 0..3 {
        assert_eq!(until("frame", || receive(&mut rx)), [n]);
    }
    println!("received");
}

#[test]
fn a_pause_holds_in_another_process_and_ends_with_it() {
    let mut port = open(&format!("{},slots=64", name("pause", "{"))).unwrap();
    let (mut tx, mut rx) = queues(&mut port, 0);
    let pausing = || {
        let (peer, mut out) = child("pausing_peer", &name("pause", "}"));
        wait_for_line(&mut out, "paused");
        linked(&port, Link::Up);
        (peer, out)
    };
    let (mut peer, mut out) = pausing();
    let mut batch = tx.ring.reserve(3);
    assert!((0..3).all(|n| batch.put(n.into(), &[n])));
    batch.commit(3);
    tx.sync();
    assert_eq!(tx.ring.pending(), 3);
    peer.kill().unwrap();
    out.read_to_string(&mut String::new()).unwrap();
    peer.wait().unwrap();
    linked(&port, Link::Down);
    tx.sync();
    rx.sync();
    assert_eq!((tx.ring.pending(), due(&mut tx)), (3, None), "its pause is gone with it");
    let (mut peer, mut out) = pausing();
    tx.sync();
    assert_eq!((tx.ring.pending(), tx.counters().frames), (3, 0), "the next one has paused too");
    peer.stdin.take().unwrap().write_all(b"go on\n").unwrap();
    until("the pause ends", || {
        tx.sync();
        (tx.ring.pending() == 0).then_some(())
    });
    wait_for_line(&mut out, "received");
    assert!(peer.wait().unwrap().success());
    assert_eq!((tx.counters().frames, tx.counters().dropped.total()), (3, 0), "nothing is lost");
}

fn kills(test: &str, rounds: u32, maker_dies: bool) {
    let (mine, theirs) = (name(test, "{"), name(test, "}"));
    let mut first = maker_dies.then(|| {
        let (child, mut out) = child("flooding_peer", &theirs);
        wait_for_line(&mut out, "ready");
        (child, out)
    });
    let mut port = open(&mine).unwrap();
    let (mut tx, mut rx) = queues(&mut port, 0);
    let slots = tx.ring.slots();
    for round in 0..rounds {
        let (mut peer, _out) = first.take().unwrap_or_else(|| child("flooding_peer", &theirs));
        until("link up", || {
            tx.sync();
            rx.sync();
            (port.link() == Link::Up).then_some(())
        });
        let end = Instant::now() + Duration::from_micros(u64::from(round) * 7919 % 20_000);
        let mut received = 0u64;
        // It dies at another point of its work each time, which nobody has to hit.
        while Instant::now() < end || received == 0 {
            assert_eq!(port.link(), Link::Up, "it lives");
            send(&mut tx, &[0; 60]);
            if let Some(frame) = receive(&mut rx) {
                assert_eq!(frame.len(), 8);
                received += 1;
            }
        }
        peer.kill().unwrap();
        peer.wait().unwrap();
        until("link down", || (port.link() == Link::Down).then_some(()));
        until("drained", || receive(&mut rx).is_none().then_some(()));
        until("all slots are back", || {
            tx.sync();
            (tx.ring.in_flight() == 0).then_some(())
        });
        assert_eq!(tx.ring.free() + tx.ring.pending(), slots - 1);
    }
}

/// Number of times that peers are killed: a few here, a thousand in the soak.
fn rounds() -> u32 {
    std::env::var("LINERATE_KILLS").ok().and_then(|n| n.parse().ok()).unwrap_or(12)
}

#[test]
fn joiners_killed_under_load_leave_nothing_behind() {
    kills("kill-joiner", rounds(), false);
}

#[test]
fn makers_killed_under_load_leave_nothing_behind() {
    kills("kill-maker", rounds(), true);
}

#[test]
fn a_stale_socket_does_not_stop_the_next_start() {
    let cable = name("stale", "{");
    let (mut peer, mut out) = child("flooding_peer", &cable);
    wait_for_line(&mut out, "ready");
    peer.kill().unwrap();
    peer.wait().unwrap();
    let mut rest = String::new();
    out.read_to_string(&mut rest).unwrap();
    let port = open(&cable).unwrap();
    assert!(port.info().path.contains("this one's memory"), "{}", port.info().path);
}

//! A stranger that listens where a maker would.

use super::descriptors::Slow;
use super::*;

const AREA: u64 = 2 << 20;
const BUFFERS: u64 = 2 + 128;
const LEN: u64 = AREA + BUFFERS * 2048;

/// An offer that is right: one queue, 64 slots.
fn offer() -> Vec<u64> {
    let mut words = vec![MAGIC, VERSION, 0, 1, 64, 1500, 2048, 0, AREA, BUFFERS];
    for (at, first) in [(1 << 12, 2), (1 << 15, 66)] {
        words.extend([at, at + 2048, at + 4096, at + 6144, at + 8192, first]);
    }
    // No address.
    words.push(0);
    words
}

/// A maker's dealings with one who joins.
pub(super) type Act = Box<dyn Fn(&OwnedFd) + Send>;

fn answers(words: Vec<u64>, file: fn() -> Vec<OwnedFd>) -> Act {
    Box::new(move |peer| {
        receive(peer);
        let files = file();
        let fds: Vec<_> = files.iter().map(AsFd::as_fd).collect();
        send(peer, &stranger::words(&words), &fds);
        if receive(peer).0 == b"ready" {
            bells(peer);
        }
    })
}

/// Hands over what a joiner of one queue sleeps on, and what it rings by; gives the other ends.
fn bells(peer: &OwnedFd) -> [OwnedFd; 4] {
    let [a, b, c, d] = [doorbell(), doorbell(), doorbell(), doorbell()];
    send(peer, b"bells", &[a[0].as_fd(), b[0].as_fd(), c[1].as_fd(), d[1].as_fd()]);
    let ([_, a], [_, b], [c, _], [d, _]) = (a, b, c, d);
    [a, b, c, d]
}

fn memory_offered() -> Vec<OwnedFd> {
    vec![memory(LEN, SEALS)]
}

/// A maker that offers what is right.
pub(super) fn proper() -> Act {
    answers(offer(), memory_offered)
}

/// An offer that is right, and bells that one thing is changed of.
fn wrong_bells(change: fn(&mut Vec<OwnedFd>, &OwnedFd)) -> Act {
    Box::new(move |peer| {
        receive(peer);
        send(peer, &stranger::words(&offer()), &[memory(LEN, SEALS).as_fd()]);
        receive(peer);
        let mut bells: Vec<OwnedFd> = (0..4).map(|_| doorbell()[1].try_clone().unwrap()).collect();
        change(&mut bells, peer);
        let fds: Vec<_> = bells.iter().map(AsFd::as_fd).collect();
        send(peer, b"bells", &fds);
    })
}

fn with(at: usize, value: u64) -> Act {
    let mut words = offer();
    words[at] = value;
    answers(words, memory_offered)
}

/// Opens an end against such a maker; gives the error.
fn refused(what: &str, act: &Act, serial: usize) -> String {
    let (left, right, path) = cable(&format!("maker{serial}"));
    drop(open(&left).unwrap());
    let line = met(what, listen(&path), &right, act);
    std::fs::remove_file(path).unwrap();
    line
}

/// The same at this socket.
pub(super) fn met(what: &str, listener: OwnedFd, right: &str, act: &Act) -> String {
    let done = std::sync::atomic::AtomicBool::new(false);
    let line = std::thread::scope(|scope| {
        let end = scope.spawn(|| {
            let opened = open(right);
            done.store(true, std::sync::atomic::Ordering::Relaxed);
            opened.err().map(|e| e.to_string())
        });
        let begun = Instant::now();
        while !done.load(std::sync::atomic::Ordering::Relaxed) {
            if let Some(peer) = accept(&listener, Duration::from_millis(20)) {
                act(&peer);
            }
            assert!(begun.elapsed() < HUNG, "{what}: it goes on for ever");
        }
        end.join().unwrap()
    });
    line.unwrap_or_else(|| panic!("{what}: was taken for a cable"))
}

/// The maker could take such pages away under the joiner, whatever the seals.
#[cfg(target_os = "linux")]
#[test]
fn that_offer_reserved_pages_are_refused_for_them() {
    let file = || vec![stranger::reserved_memory(LEN.next_multiple_of(2 << 20))];
    let line = refused("reserved pages", &answers(offer(), file), 900);
    assert!(line.contains("reserved"), "{line}");
}

#[test]
fn that_offer_invalid_regions_are_refused_in_one_line() {
    let queues_change = std::sync::atomic::AtomicU64::new(0);
    let cases: Vec<(&str, Act)> = vec![
        ("not sealed", answers(offer(), || vec![memory(LEN, 0)])),
        ("may shrink", answers(offer(), || vec![memory(LEN, libc::F_SEAL_GROW)])),
        ("cannot be written", answers(offer(), || vec![memory(LEN, SEALS | libc::F_SEAL_WRITE)])),
        ("too small", answers(offer(), || vec![memory(LEN - 1, SEALS)])),
        ("empty", answers(offer(), || vec![memory(0, SEALS)])),
        ("a file", answers(offer(), || vec![std::fs::File::open("/proc/self/exe").unwrap().into()])),
        ("an event", answers(offer(), || vec![event()])),
        ("no file", answers(offer(), Vec::new)),
        ("two files", answers(offer(), || vec![memory(LEN, SEALS), memory(LEN, SEALS)])),
        ("no queue", with(3, 0)),
        ("too many queues", with(3, 129)),
        ("very many queues", with(3, 1 << 40)),
        ("one queue more than it describes", with(3, 2)),
        ("63 slots", with(4, 63)),
        ("no slots", with(4, 0)),
        ("2^31 slots", with(4, 1 << 31)),
        ("no MTU", with(5, 0)),
        ("huge MTU", with(5, u64::MAX)),
        ("odd buffers", with(6, 2047)),
        ("tiny buffers", with(6, 256)),
        ("huge buffers", with(6, 1 << 31)),
        ("slow rate", with(7, 1)),
        ("no ring area", with(8, 0)),
        ("unaligned buffers", with(8, AREA + 64)),
        ("buffers far away", with(8, u64::MAX - 4095)),
        ("too many buffers", with(9, BUFFERS + 1)),
        ("2^32 - 1 buffers", with(9, u32::MAX.into())),
        ("an unaligned ring", with(10, (1 << 12) + 64)),
        ("a ring among the buffers", with(10, AREA)),
        ("a ring beyond", with(12, 1 << 40)),
        ("a ring at the end of time", with(12, u64::MAX - 127)),
        ("metadata among the buffers", with(11, AREA - 128)),
        ("lines over a ring", with(14, (1 << 12) + 128)),
        ("one ring for both ends", with(12, 1 << 12)),
        ("rings of two queues in one place", with(16, 1 << 12)),
        ("no buffer", with(15, 0)),
        ("a reserved buffer", with(15, 1)),
        ("buffers beyond", with(15, BUFFERS - 63)),
        ("buffers that wrap", with(15, u64::from(u32::MAX) - 10)),
        ("buffers of two rings in one place", with(15, 66)),
        ("a word more", {
            let mut words = offer();
            words.push(0);
            answers(words, memory_offered)
        }),
        ("half an offer", answers(offer()[..12].to_vec(), memory_offered)),
        ("garbage", answers(vec![u64::MAX; 40], memory_offered)),
        ("says nothing", Box::new(|_| ())),
        ("stalls", Box::new(|_| std::thread::sleep(Duration::from_secs(3)))),
        (
            "another number of queues each time",
            Box::new(move |peer| {
                receive(peer);
                let queues = 1 + queues_change.fetch_add(1, std::sync::atomic::Ordering::Relaxed) % 2;
                let mut words = offer();
                words[3] = queues;
                if queues == 1 {
                    words[3] = 2;
                    words.pop();
                    words.extend_from_slice(&offer()[10..]);
                }
                send(peer, &stranger::words(&words), &[memory(LEN, SEALS).as_fd()]);
            }),
        ),
        (
            "bells one by one, never all",
            Box::new(|peer| {
                receive(peer);
                send(peer, &stranger::words(&offer()), &[memory(LEN, SEALS).as_fd()]);
                for _ in 0..3 {
                    std::thread::sleep(Duration::from_millis(900));
                    send(peer, b"bells", &[doorbell()[1].as_fd()]);
                }
            }),
        ),
        (
            "files for bells",
            Box::new(|peer| {
                receive(peer);
                send(peer, &stranger::words(&offer()), &[memory(LEN, SEALS).as_fd()]);
                receive(peer);
                let (_reader, writer) = std::io::pipe().unwrap();
                send(peer, b"bells", &[writer.as_fd(); 4]);
            }),
        ),
        ("events for bells", wrong_bells(|bells, _| bells[1] = event())),
        ("a closed pipe for a bell", wrong_bells(|bells, _| bells[3] = std::io::pipe().unwrap().1.into())),
        ("a device for a bell", wrong_bells(|bells, _| bells[0] = std::fs::File::open("/dev/null").unwrap().into())),
        (
            "a stream for a bell",
            wrong_bells(|bells, _| bells[2] = std::os::unix::net::UnixStream::pair().unwrap().0.into()),
        ),
        (
            "a socket of the network",
            wrong_bells(|bells, _| bells[0] = std::net::UdpSocket::bind("127.0.0.1:0").unwrap().into()),
        ),
        ("its own socket for a bell", wrong_bells(|bells, peer| bells[2] = peer.try_clone().unwrap())),
        ("too many bells", wrong_bells(|bells, _| bells.push(doorbell()[1].try_clone().unwrap()))),
        (
            "a longer word",
            Box::new(|peer| {
                receive(peer);
                send(peer, &stranger::words(&offer()), &[memory(LEN, SEALS).as_fd()]);
                receive(peer);
                send(peer, b"bells and whistles", &[doorbell()[1].as_fd()]);
            }),
        ),
    ];
    std::thread::scope(|scope| {
        let list: Vec<_> = cases
            .into_iter()
            .enumerate()
            .map(|(serial, (what, act))| (what, scope.spawn(move || refused(what, &act, serial))))
            .collect();
        for (what, run) in list {
            let line = run.join().unwrap();
            assert!(!line.contains('\n') && line.contains("; "), "{what}: {line}");
        }
    });
}

/// A joiner takes descriptors, and lets those that are slow to close go where nobody waits.
#[test]
fn that_hand_over_what_is_slow_to_close_hold_up_no_joiner() {
    in_time(|| {
        static ALIVE: std::sync::Mutex<Vec<std::net::TcpStream>> = std::sync::Mutex::new(Vec::new());
        fn slowly(by: impl FnOnce(&OwnedFd)) {
            ALIVE.lock().unwrap().push(Slow::new().hand_over(by));
        }
        let offers = |peer: &OwnedFd, fds: &[BorrowedFd<'_>]| {
            receive(peer);
            send(peer, &stranger::words(&offer()), fds);
        };
        let cases: [(&str, Act); 6] = [
            ("for memory", Box::new(move |peer| slowly(|slow| offers(peer, &[slow.as_fd()])))),
            (
                "beside memory",
                Box::new(move |peer| slowly(|slow| offers(peer, &[memory(LEN, SEALS).as_fd(), slow.as_fd()]))),
            ),
            (
                "for bells",
                Box::new(move |peer| {
                    offers(peer, &[memory(LEN, SEALS).as_fd()]);
                    receive(peer);
                    slowly(|slow| assert!(send(peer, b"bells", &[slow.as_fd(); 4])));
                }),
            ),
            (
                "in a bell's queue, and one bell too few",
                Box::new(move |peer| {
                    offers(peer, &[memory(LEN, SEALS).as_fd()]);
                    receive(peer);
                    let [near, far] = doorbell();
                    slowly(|slow| assert!(send(&far, b"", &[slow.as_fd()])));
                    send(peer, b"bells", &[near.as_fd(); 3]);
                }),
            ),
            (
                "behind a packet without bytes",
                Box::new(move |peer| {
                    let [near, far] = packets();
                    slowly(|slow| assert!(send(&far, b"", &[]) && send(&far, b"", &[slow.as_fd()])));
                    offers(peer, &[near.as_fd()]);
                }),
            ),
            (
                "in a connection that nobody has accepted",
                Box::new(move |peer| {
                    let dir = tempfile::tempdir().unwrap();
                    let listener = listen(&dir.path().join("s"));
                    let far = connect(&dir.path().join("s")).unwrap();
                    slowly(|slow| assert!(send(&far, b"", &[slow.as_fd()])));
                    offers(peer, &[listener.as_fd()]);
                }),
            ),
        ];
        for (serial, (what, act)) in (1000..).zip(cases) {
            let line = refused(what, &act, serial);
            assert!(line.contains("; "), "{what}: {line}");
        }
        // And that others are closed: each pairing's end is heard.
        joins(&mut Honest::new("after-slow"));
    });
}

/// It offers what is right, then writes invalid values: the honest joiner disconnects and makes a cable of its own.
#[test]
fn that_write_invalid_values_are_left_and_the_joiner_becomes_a_maker() {
    for invalid in ["published", "released", "noise"] {
        let (left, right, path) = cable(&format!("invalid-{invalid}"));
        drop(open(&left).unwrap());
        let (listener, file) = (listen(&path), memory(LEN, SEALS));
        let map = Map::new(&file, usize::try_from(LEN).unwrap());
        let end = std::thread::spawn(move || open(&right).unwrap());
        let peer = accept(&listener, HUNG).unwrap();
        receive(&peer);
        send(&peer, &words(&offer()), &[file.as_fd()]);
        assert_eq!(receive(&peer).0, b"ready");
        let _own = bells(&peer);
        let mut port = end.join().unwrap();
        let (mut tx, mut rx) = (port.take_tx(0).unwrap(), port.take_rx(0).unwrap());
        assert_eq!(port.link(), Link::Up);
        std::fs::remove_file(&path).unwrap();
        drop(listener);
        match invalid {
            // From left to right: this end publishes. From right to left: it releases.
            "published" => map.put((1 << 12) + 8192, 64),
            "released" => map.put((1 << 15) + 8192 + 128, 1),
            _ => (512..6000).for_each(|k| map.put_u64(k * 8, k.wrapping_mul(0x9e37_79b9_7f4a_7c15))),
        }
        until("link down", || {
            tx.sync();
            rx.sync();
            let n = rx.ring.available();
            let mut batch = rx.ring.batch(n);
            for i in 0..n {
                let _ = batch.frame(i).map(|(frame, _)| frame.to_vec());
            }
            batch.release(n);
            (port.link() == Link::Down).then_some(())
        });
        let mut next = until("an honest end joins", || {
            tx.sync();
            rx.sync();
            open(&left).ok()
        });
        assert!(next.info().path.contains("the other one's memory"), "{}", next.info().path);
        until("link up", || (port.link() == Link::Up).then_some(()));
        let (mut ntx, mut nrx) = (next.take_tx(0).unwrap(), next.take_rx(0).unwrap());
        let mut batch = ntx.ring.reserve(1);
        assert!(batch.put(0, b"honest"));
        batch.commit(1);
        ntx.sync();
        until("frame", || {
            rx.sync();
            (rx.ring.available() > 0).then_some(())
        });
        assert_eq!(rx.ring.batch(1).frame(0).unwrap().0.to_vec(), b"honest");
        nrx.sync();
    }
}

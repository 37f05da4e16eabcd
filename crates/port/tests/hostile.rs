//! Cables against strangers: at the socket, as joiners, as makers.
//!
//! In each case an honest end neither panics nor hangs; it counts what it refuses, keeps its buffers, and serves the
//! next honest peer.
#![cfg(target_os = "linux")]

#[path = "hostile/descriptors.rs"]
mod descriptors;
#[path = "hostile/early.rs"]
mod early;
#[path = "hostile/former.rs"]
mod former;
#[path = "hostile/guests.rs"]
mod guests;
#[path = "hostile/makers.rs"]
mod makers;
mod stranger;
#[path = "hostile/switch.rs"]
mod switch;
#[path = "hostile/users.rs"]
mod users;

use linerate_port::{DropReason, Link, Port, RxQueue, Sleeper, TxQueue, open};
use linerate_ring::{Gathered, RxBatch};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::PathBuf;
use std::time::{Duration, Instant};
use stranger::*;

/// Far more than anything here takes on any machine; a test that gets there has hung.
const HUNG: Duration = Duration::from_secs(240);

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

/// Runs what would hang, rather than fail, if the honest end could be held up within a system call.
fn in_time(test: impl FnOnce() + Send + 'static) {
    let (done, ended) = std::sync::mpsc::channel();
    let thread = std::thread::spawn(move || {
        test();
        let _ = done.send(());
    });
    match ended.recv_timeout(HUNG) {
        Err(std::sync::mpsc::RecvTimeoutError::Timeout) => panic!("held up"),
        _ => thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
    }
}

/// A cable of this run alone: the honest left end's name, the right end's, the socket.
fn cable(test: &str) -> (String, String, PathBuf) {
    let name = format!("{test}-{}", std::process::id());
    (format!("cable:{name}{{1"), format!("cable:{name}}}1"), path(&name))
}

/// The honest end under attack.
struct Honest {
    port: Port,
    tx: TxQueue,
    rx: RxQueue,
    right: String,
    path: PathBuf,
    buffers: Vec<u32>,
    /// Frames sent by [`Honest::send`].
    committed: u64,
}

impl Honest {
    fn new(test: &str) -> Self {
        let (left, right, path) = cable(test);
        let mut port = open(&format!("{left},slots=64")).unwrap();
        let (tx, rx) = (port.take_tx(0).unwrap(), port.take_rx(0).unwrap());
        let mut honest = Self { port, tx, rx, right, path, buffers: Vec::new(), committed: 0 };
        honest.buffers = honest.held();
        honest.sync();
        honest
    }

    fn held(&self) -> Vec<u32> {
        let tx = (0..64).map(|k| self.tx.ring.slot_word(k).buf_idx());
        tx.chain((0..64).map(|k| self.rx.ring.slot_word(k).buf_idx())).collect()
    }

    /// Syncs both ways and reads what there is; gives whole frames that arrived.
    fn sync(&mut self) -> u64 {
        self.tx.sync();
        self.rx.sync();
        let mut frames = 0;
        let mut batch = self.rx.ring.batch(64);
        for i in 0..batch.len() {
            let _ = batch.meta(i);
            if let Some((frame, _)) = batch.frame(i) {
                assert!(frame.to_vec().len() <= 2048 - 256);
                frames += 1;
            }
        }
        let n = batch.len();
        batch.release(n);
        self.rx.sync();
        frames
    }

    fn send(&mut self, byte: u8) {
        let mut batch = self.tx.ring.reserve(1);
        let ok = !batch.is_empty() && batch.put(0, &[byte; 60]);
        batch.commit(ok.into());
        self.committed += u64::from(ok);
        self.tx.sync();
    }

    fn dropped(&self, reason: DropReason) -> u64 {
        self.rx.counters().dropped.of(reason)
    }

    /// A hostile joiner, once it is let in.
    fn attacked(&mut self) -> Joiner {
        let path = self.path.clone();
        let joiner = until("a stranger is let in", || {
            self.sync();
            Joiner::join(&path)
        });
        until("link up", || (self.port.link() == Link::Up).then_some(()));
        self.sync();
        joiner
    }

    /// The link is down, and both queues know it and have let go.
    fn link_down(&mut self) {
        until("link down", || {
            self.sync();
            (self.port.link() == Link::Down).then_some(())
        });
        until("what was published is read", || (self.sync() == 0).then_some(()));
    }

    /// Checks that no slot was lost, and that an honest joiner is served.
    fn serves_the_next(&mut self, attack: &str) {
        self.link_down();
        until("the hostile one's frames are out", || (self.sync() == 0).then_some(()));
        assert_eq!(self.tx.ring.in_flight(), 0, "{attack}: all slots are back");
        assert_eq!(self.held(), self.buffers, "{attack}: all buffers are where they were");
        let right = self.right.clone();
        // Opening takes part in a handshake only; the queues here have reported.
        let mut peer = until("an honest joiner is let in", || {
            self.sync();
            open(&right).ok()
        });
        until("link up", || (self.port.link() == Link::Up).then_some(()));
        let (mut tx, mut rx) = (peer.take_tx(0).unwrap(), peer.take_rx(0).unwrap());
        // Frames that the user had committed meanwhile are sent first, as the hostile peer left them. One more frame
        // ends a chain without an end.
        for _ in 0..3 {
            self.send(0);
            rx.sync();
            let n = rx.ring.available();
            rx.ring.batch(n).release(n);
            rx.sync();
        }
        self.tx.sync();
        assert_eq!(self.tx.ring.outstanding(), 0, "{attack}: nothing sticks");
        for round in 0..150u8 {
            self.send(round);
            rx.sync();
            assert_eq!(rx.ring.batch(1).frame(0).expect("a frame").0.to_vec(), [round; 60], "{attack}");
            rx.ring.batch(1).release(1);
            rx.sync();
            let mut batch = tx.ring.reserve(1);
            assert!(batch.put(0, &[round; 61]));
            batch.commit(1);
            tx.sync();
            assert_eq!(self.sync(), 1, "{attack}");
            tx.sync();
        }
        assert_eq!((self.port.link(), peer.link()), (Link::Up, Link::Up), "{attack}: no violation is reported");
        drop((peer, tx, rx));
        self.link_down();
        assert_eq!(self.held(), self.buffers, "{attack}: all buffers are where they were");
    }
}

/// An honest end serves an honest one at once, whoever else is at its socket.
fn joins(honest: &mut Honest) {
    let mut peer = open(&honest.right).unwrap();
    until("link up", || (honest.port.link() == Link::Up).then_some(()));
    let mut rx = peer.take_rx(0).unwrap();
    honest.send(7);
    rx.sync();
    assert_eq!(rx.ring.batch(1).frame(0).unwrap().0.to_vec(), [7; 60]);
    drop((peer, rx));
    honest.link_down();
    until("slots", || {
        honest.sync();
        (honest.tx.ring.in_flight() == 0).then_some(())
    });
}

/// Time at which an idle queue wants to be synced again.
fn due(queue: &mut TxQueue) -> Option<Instant> {
    let until = queue.fall_asleep().expect("nothing to do").until;
    queue.wake_up();
    until
}

#[test]
fn whoever_cannot_talk_is_sent_away() {
    let mut honest = Honest::new("talk");
    let long = words(&[MAGIC; 30]);
    let hellos: [&[u8]; 8] = [
        b"GET / HTTP/1.0\r\n\r\n",
        b"x",
        &hello()[..16],
        &words(&[MAGIC + 1, VERSION, 0]),
        &words(&[MAGIC, VERSION + 1, 0]),
        &words(&[MAGIC, VERSION, 2]),
        &words(&[MAGIC, VERSION, 0, 0]),
        &long,
    ];
    for bad in hellos {
        let socket = connect(&honest.path).unwrap();
        assert!(send(&socket, bad, &[]));
        let (answer, fds) = receive(&socket);
        assert!(answer.is_empty() || answer == words(&[MAGIC, VERSION, 1]), "{bad:?}: {answer:?}");
        assert!(fds.is_empty(), "{bad:?}: nothing is handed out");
        assert_eq!(honest.port.link(), Link::Down);
    }
    let same_end = connect(&honest.path).unwrap();
    send(&same_end, &words(&[MAGIC, VERSION, 1]), &[]);
    assert_eq!(receive(&same_end).0, words(&[MAGIC, VERSION, 2]));
    joins(&mut honest);
}

#[test]
fn whoever_has_an_offer_and_is_not_ready_is_sent_away() {
    let mut honest = Honest::new("unready");
    let [_near, good] = doorbell();
    let file = std::fs::File::open("/proc/self/exe").unwrap();
    let cases: [(&str, &[u8], Vec<BorrowedFd<'_>>); 7] = [
        ("nothing", b"", vec![]),
        ("another word", b"bells", vec![]),
        ("half a word", b"read", vec![]),
        ("a longer word", b"ready, steady", vec![]),
        ("a doorbell", b"ready", vec![good.as_fd()]),
        ("a file", b"ready", vec![file.as_fd()]),
        ("very many", b"ready", vec![file.as_fd(); 250]),
    ];
    for (what, word, fds) in cases {
        let (socket, ..) = until("an offer", || offered(&honest.path, &hello()));
        let sent = send(&socket, word, &fds);
        // From Linux 6.16 on the kernel refuses descriptors.
        assert!(sent || !fds.is_empty(), "{what}");
        if sent {
            let (answer, fds) = receive(&socket);
            assert!(answer.is_empty() && fds.is_empty(), "{what}: hung up");
        }
        assert_eq!(honest.port.link(), Link::Down, "{what}");
    }
    joins(&mut honest);
}

#[test]
fn a_hundred_who_stall_keep_nobody_waiting() {
    let mut honest = Honest::new("stall");
    let mut stalling = Vec::new();
    for i in 0..100u32 {
        stalling.push(until("a place in the queue", || connect(&honest.path).ok()));
        if i % 3 > 0 {
            send(stalling.last().unwrap(), &hello()[..if i % 3 == 1 { 24 } else { 8 }], &[]);
        }
    }
    joins(&mut honest);
    joins(&mut honest);
    drop(stalling);
    joins(&mut honest);
}

/// Regression: of too many visitors the oldest was sent away, whatever it had said already. A machine may be so slow that its
/// time is over meanwhile: then once more.
#[test]
fn who_holds_an_offer_is_not_sent_away_for_those_who_say_nothing() {
    let honest = Honest::new("crowd");
    let joins = |_| {
        let (socket, ..) = until("an offer", || offered(&honest.path, &hello()));
        let silent: Vec<_> = (0..40).map(|_| until("a place in the queue", || connect(&honest.path).ok())).collect();
        until("some of them are sent away", || hung_up(&silent[20]).then_some(()));
        send(&socket, b"ready", &[]) && receive(&socket).0 == b"bells"
    };
    assert!((0..10).any(joins));
}

/// The end of a peer is seen while others stall. Each of these is sent away after two seconds, and a machine may be so slow
/// that they have passed: then once more.
#[test]
fn a_stranger_who_stalls_does_not_hide_that_the_peer_is_gone() {
    let mut honest = Honest::new("hide");
    let mut seen_beside_all = false;
    for _ in 0..20 {
        let joiner = honest.attacked();
        let stalling: Vec<_> = (0..10).map(|_| connect(&honest.path).unwrap()).collect();
        drop(joiner);
        honest.link_down();
        seen_beside_all = stalling.iter().all(|socket| !hung_up(socket));
        drop(stalling);
        honest.serves_the_next("stalling");
        if seen_beside_all {
            break;
        }
    }
    assert!(seen_beside_all, "nobody looks at the peer before all who stall are sent away");
}

#[test]
fn a_third_is_told_that_the_cable_is_busy() {
    let mut honest = Honest::new("third");
    let joiner = honest.attacked();
    let third = connect(&honest.path).unwrap();
    send(&third, &hello(), &[]);
    assert_eq!(receive(&third).0, words(&[MAGIC, VERSION, 3]));
    drop(joiner);
    honest.serves_the_next("a third");
}

/// Two may hold an offer; the second to be ready has an offer of the past.
#[test]
fn an_offer_is_good_for_one() {
    let mut honest = Honest::new("offer");
    let (second, ..) = offered(&honest.path, &hello()).unwrap();
    let first = honest.attacked();
    send(&second, b"ready", &[]);
    assert!(receive(&second).0.is_empty(), "hung up");
    drop(first);
    honest.serves_the_next("two offers");
}

/// Regression: the queues had not looked meanwhile, never reported, and the link stayed down for good.
#[test]
fn a_pairing_that_came_and_went_between_two_syncs_is_left_behind() {
    let mut honest = Honest::new("unseen");
    for published in [0, 3] {
        let joiner = until("let in", || Joiner::join(&honest.path));
        joiner.publish(&vec![slot(joiner.outward.first_buf, 60, 0); published]);
        until("link up", || (honest.port.link() == Link::Up).then_some(()));
        drop(joiner);
        until("link down", || (honest.port.link() == Link::Down).then_some(()));
        honest.serves_the_next("unseen");
    }
}

#[test]
fn a_slot_that_names_what_was_not_lent_is_refused_and_counted() {
    let mut honest = Honest::new("index");
    let joiner = honest.attacked();
    let (own, other) = (joiner.outward.first_buf, joiner.inward.first_buf);
    let bad = [0, 1, own + 5, other, joiner.buffers - 1, joiner.buffers, u32::MAX];
    joiner.publish(&bad.map(|buf| slot(buf, 60, 0)));
    let mut frames = 0;
    until("slots", || {
        frames += honest.sync();
        (honest.rx.counters().slots == 7).then_some(())
    });
    assert_eq!((frames, honest.dropped(DropReason::BadIndex)), (0, 7));
    assert_eq!(honest.port.link(), Link::Up, "a bad frame is no protocol violation");
    drop(joiner);
    honest.serves_the_next("bad indices");
}

#[test]
fn a_slot_longer_than_a_buffer_is_refused_and_counted() {
    let mut honest = Honest::new("length");
    let joiner = honest.attacked();
    let first = joiner.outward.first_buf;
    joiner.publish(&[
        slot(first, 1793, 0),
        slot(first + 1, u16::MAX, 0),
        slot(first + 2, 1792, 0),
        slot(first + 3, 0, 0),
    ]);
    let mut frames = 0;
    until("slots", || {
        frames += honest.sync();
        (honest.rx.counters().slots == 4).then_some(())
    });
    assert_eq!((frames, honest.dropped(DropReason::BadLength)), (1, 2));
    drop(joiner);
    honest.serves_the_next("bad lengths");
}

#[test]
fn flags_and_metadata_of_any_kind_are_only_read() {
    let mut honest = Honest::new("flags");
    let joiner = honest.attacked();
    for k in 0..128 {
        joiner.map.put_u64(joiner.outward.rx_meta + k * 8, u64::MAX);
        joiner.map.put_u64(joiner.inward.tx_meta + k * 8, u64::MAX);
    }
    let first = joiner.outward.first_buf;
    for round in 0..4u32 {
        let slots: Vec<u64> = (0..60).map(|k| slot(first + (60 * round + k) % 64, 60, u16::MAX)).collect();
        joiner.publish(&slots);
        // All flags include MOREFRAG: a frame without an end.
        assert_eq!(honest.sync(), 60);
    }
    assert_eq!(honest.port.link(), Link::Up);
    drop(joiner);
    honest.serves_the_next("flags");
}

#[test]
fn invalid_cursors_take_the_link_down_and_only_that() {
    type Attack = fn(&Joiner);
    let attacks: [(&str, Attack); 9] = [
        ("published a whole ring", |j| j.map.put(j.outward.published(), j.map.see(j.outward.published()) + 64)),
        ("published far", |j| j.map.put(j.outward.published(), j.map.see(j.outward.published()) ^ 1 << 31)),
        ("published backward", |j| j.map.put(j.outward.published(), j.map.see(j.outward.published()).wrapping_sub(1))),
        ("published, then took back", |j| {
            j.publish(&[slot(0, 0, 0); 5]);
            until("seen", || (j.map.see(j.outward.released()) == j.map.see(j.outward.published())).then_some(()));
            j.map.put(j.outward.published(), j.map.see(j.outward.published()) - 3);
        }),
        ("released what it never had", |j| j.map.put(j.inward.released(), j.map.see(j.inward.published()) + 1)),
        ("released far", |j| j.map.put(j.inward.released(), j.map.see(j.inward.published()) ^ 1 << 31)),
        ("released backward", |j| j.map.put(j.inward.released(), j.map.see(j.inward.released()).wrapping_sub(1))),
        ("swapped a foreign buffer in", |j| {
            j.map.put(j.inward.swaps(), 1);
            let from = j.map.see(j.inward.released());
            j.map.put_u64(j.inward.slot(from), slot(j.outward.first_buf, 60, 1));
            j.map.put(j.inward.released(), from.wrapping_add(1));
        }),
        ("swapped buffer 0 in", |j| {
            j.map.put(j.inward.swaps(), u32::MAX);
            let from = j.map.see(j.inward.released());
            j.map.put_u64(j.inward.slot(from), slot(0, 0, u16::MAX));
            j.map.put(j.inward.released(), from.wrapping_add(1));
        }),
    ];
    let mut honest = Honest::new("cursors");
    for (what, attack) in attacks {
        let joiner = honest.attacked();
        for byte in 0..8 {
            honest.send(byte);
        }
        std::thread::scope(|scope| {
            let attacker = scope.spawn(|| attack(&joiner));
            while !attacker.is_finished() {
                honest.sync();
            }
        });
        // The attacker stays connected: it is the honest end that disconnects.
        honest.link_down();
        assert!(receive(&joiner.socket).0.is_empty(), "{what}: hung up");
        drop(joiner);
        honest.serves_the_next(what);
    }
}

/// Regression: what was committed when the last pairing ended lay in memory that the hostile end could write; flagged as
/// an endless chain it would have stopped the ring for good.
#[test]
fn a_chain_without_an_end_written_into_the_honest_ring_does_not_stop_it() {
    let mut honest = Honest::new("endless");
    let joiner = honest.attacked();
    let published = |joiner: &Joiner| joiner.map.see(joiner.inward.published());
    for byte in 0..63 {
        honest.send(byte);
    }
    assert_eq!(published(&joiner), 63, "the ring is full");
    for k in 0..64 {
        joiner.map.put_u64(joiner.inward.tx + 256 + k * 16, slot(u32::MAX, u16::MAX, 0x20));
    }
    drop(joiner);
    honest.link_down();
    honest.sync();
    let mut batch = honest.tx.ring.reserve(63);
    assert_eq!(batch.len(), 63);
    for i in 0..63 {
        batch.set(i, 60, 0);
    }
    batch.commit(63);
    let joiner = honest.attacked_without_sync();
    for k in 0..64 {
        joiner.map.put_u64(joiner.inward.tx + 256 + k * 16, slot(u32::MAX, u16::MAX, 0x20));
    }
    honest.sync();
    assert_eq!(honest.tx.ring.pending(), 0);
    let count = honest.tx.counters();
    assert_eq!((count.frames, count.dropped.of(DropReason::TooManyFragments)), (126, 0), "they left as committed");
    drop(joiner);
    honest.serves_the_next("endless chain");
}

impl Honest {
    /// As [`Honest::attacked`], but what is committed stays where it is.
    fn attacked_without_sync(&mut self) -> Joiner {
        let joiner = until("a stranger is let in", || Joiner::join(&self.path));
        until("link up", || (self.port.link() == Link::Up).then_some(()));
        joiner
    }
}

#[test]
fn sleepers_flags_that_flap_cost_bells_and_nothing_else() {
    let mut honest = Honest::new("flap");
    let joiner = honest.attacked();
    let stop = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                for at in joiner.inward.sleepers().into_iter().chain(joiner.outward.sleepers()) {
                    joiner.map.put(at, 1);
                    joiner.map.put(at, u32::MAX);
                }
                // Gives all frames back at once.
                joiner.map.put(joiner.inward.released(), joiner.map.see(joiner.inward.published()));
            }
        });
        for round in 0..2000u32 {
            honest.send(round.to_le_bytes()[0]);
            honest.sync();
            honest.rx.fall_asleep();
            honest.rx.wake_up();
            honest.tx.fall_asleep();
            honest.tx.wake_up();
        }
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
    });
    let count = honest.tx.counters();
    assert!(count.syscalls <= count.batches, "a bell a batch");
    drop(joiner);
    honest.serves_the_next("flapping");
}

/// A peer that has hung up, but keeps the memory: what it publishes from then on does not keep the pairing up.
#[test]
fn who_was_parted_from_and_goes_on_publishing_is_left_behind() {
    let mut honest = Honest::new("parted");
    let Joiner { socket, map, outward, .. } = honest.attacked();
    drop(socket);
    until("link down", || (honest.port.link() == Link::Down).then_some(()));
    for _ in 0..100 {
        map.put(outward.published(), map.see(outward.released()).wrapping_add(63));
        honest.tx.sync();
        honest.rx.sync();
        // Never all: the ring is full again before it is looked at.
        let n = honest.rx.ring.available().min(10);
        honest.rx.ring.batch(n).release(n);
    }
    // An offer comes when both queues have let go.
    assert!(offered(&honest.path, &hello()).is_some());
    honest.serves_the_next("publishing for ever");
}

/// A pause has its time, and goes with who asked for it.
#[test]
fn a_pause_that_nobody_ends_stops_nobody_for_good() {
    let mut honest = Honest::new("pause");
    let joiner = honest.attacked();
    joiner.map.put(joiner.inward.pause(), u32::MAX);
    honest.send(1);
    assert_eq!(honest.tx.ring.pending(), 1);
    let end = due(&mut honest.tx).expect("a pause that has an end");
    until("the pause has had its time", || {
        honest.tx.sync();
        (honest.tx.ring.pending() == 0).then_some(())
    });
    assert!(Instant::now() >= end && due(&mut honest.tx).is_none());
    joiner.map.put(joiner.inward.pause(), 0xff);
    honest.send(2);
    assert_eq!(honest.tx.ring.pending(), 1, "asked for anew");
    drop(joiner);
    honest.serves_the_next("pausing");
}

/// Everything at once: all rings and lines overwritten with noise, again and again; the honest end's counts stay its own.
#[test]
fn noise_all_over_the_rings_harms_nobody() {
    let mut honest = Honest::new("noise");
    let mut seed = 0x9e37_79b9_7f4a_7c15u64;
    for _ in 0..8 {
        let joiner = honest.attacked_without_sync();
        let area = (joiner.outward.lines + 512) / 8;
        for _ in 0..4000 {
            seed ^= seed << 13;
            seed ^= seed >> 7;
            seed ^= seed << 17;
            let at = 16 + seed % (area - 16);
            joiner.map.put_u64(at * 8, seed.rotate_left(29) >> (seed % 60));
            if seed.is_multiple_of(5) {
                honest.send(1);
                honest.sync();
            }
        }
        drop(joiner);
        honest.serves_the_next("noise");
        // Offered frames are those that the engine counts, whatever the rings contain.
        let count = honest.tx.counters();
        let refused = count.dropped.total() - count.dropped.of(DropReason::PeerDied);
        assert_eq!((count.frames + u64::from(honest.tx.ring.pending()), refused), (honest.committed, 0));
    }
}

/// The role of an end that is opened while somebody keeps the directory locked.
#[test]
#[ignore = "a role of another test"]
fn opens_under_a_lock() {
    if std::env::var_os("LINERATE_ROLE").is_some() {
        println!("said: {}", open("cable:locked{1").err().unwrap());
    }
}

#[test]
fn a_directory_that_stays_locked_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let inner = dir.path().join("linerate");
    std::os::unix::fs::DirBuilderExt::mode(&mut std::fs::DirBuilder::new(), 0o700).create(&inner).unwrap();
    let lock = std::fs::File::open(inner).unwrap();
    lock.lock().unwrap();
    let out = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["opens_under_a_lock", "--exact", "--nocapture", "--ignored"])
        .envs([("LINERATE_ROLE", "1".as_ref()), ("XDG_RUNTIME_DIR", dir.path())])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&out.stdout).into_owned();
    assert!(said.contains("said: ") && said.contains("directory of sockets locked"), "{said}");
}

/// Regression: who reads whole frames waited for the rest of one, and nobody was let in any more.
#[test]
fn a_frame_without_an_end_goes_with_who_published_it() {
    let mut honest = Honest::new("part");
    for read in [0, 1] {
        let joiner = honest.attacked();
        let first = joiner.outward.first_buf;
        joiner.publish(&[slot(first, 60, 0), slot(first + 1, 61, 0x20), slot(first + 2, 62, 0x20)]);
        honest.rx.sync();
        let mut to = Vec::new();
        let mut whole = |batch: &mut RxBatch<'_>| batch.gather(0, 5000, &mut to);
        assert_eq!(whole(&mut honest.rx.ring.batch(64)), Gathered::Whole { slots: 1 });
        honest.rx.ring.batch(1).release(1);
        assert_eq!(whole(&mut honest.rx.ring.batch(64)), Gathered::Later);
        // Others take a frame part by part.
        honest.rx.ring.batch(read).release(read);
        drop(joiner);
        until("link down", || {
            honest.tx.sync();
            honest.rx.sync();
            (honest.port.link() == Link::Down && honest.rx.ring.available() == 0).then_some(())
        });
        honest.rx.refresh();
        assert_eq!(honest.dropped(DropReason::PeerDied), 1 + u64::from(read));
        honest.serves_the_next("part");
    }
}

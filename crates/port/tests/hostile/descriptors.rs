//! Descriptors passed by hostile processes: some that take long to close, doorbells that they keep, and regions that
//! are smaller than claimed.

use super::stranger::*;
use super::{Honest, in_time, joins, until};
use linerate_port::switch::Listener;
use linerate_port::{Link, Sleeper, open_all};
use std::net::TcpStream;
use std::os::fd::{AsFd, OwnedFd};

/// A TCP connection whose sender, closed with data that nobody reads, keeps who closes it last for an hour.
pub(super) struct Slow {
    sender: OwnedFd,
    /// Ends it when it is dropped.
    receiver: TcpStream,
}

impl Slow {
    pub(super) fn new() -> Self {
        let (receiver, sender) = lingering(3600);
        let sender = sender.into();
        Self { sender, receiver }
    }

    /// Whoever closes it last waits: this process by a thread of its own, if the honest end was first.
    pub(super) fn hand_over(self, by: impl FnOnce(&OwnedFd)) -> TcpStream {
        by(&self.sender);
        std::thread::spawn(move || drop(self.sender));
        self.receiver
    }
}

/// Each way to leave such a descriptor with an honest end, often enough for that end to be the last that closes it; whoever
/// comes next is served all the same.
#[test]
fn descriptors_that_are_slow_to_close_hold_up_nobody() {
    in_time(leave_slow_descriptors);
}

fn leave_slow_descriptors() {
    let mut honest = Honest::new("slow");
    // From Linux 6.16 on the kernel refuses all of it.
    let (mut alive, mut through) = (Vec::new(), false);
    let ways = ["with a hello", "with a hello, very many", "with an offer", "within a bell", "to a bell", "later"];
    for way in std::iter::repeat_n(ways, 8).flatten() {
        let slow = Slow::new();
        match way {
            "with a hello" => {
                let socket = connect(&honest.path).unwrap();
                alive.push(slow.hand_over(|slow| through |= send(&socket, &hello(), &[slow.as_fd()])));
            }
            "with a hello, very many" => {
                let socket = connect(&honest.path).unwrap();
                alive.push(slow.hand_over(|slow| through |= send(&socket, &hello(), &[slow.as_fd(); 250])));
            }
            "with an offer" => {
                let (socket, ..) = until("an offer", || offered(&honest.path, &hello()));
                alive.push(slow.hand_over(|slow| through |= send(&socket, b"ready", &[slow.as_fd(); 2])));
            }
            _ => {
                let joiner = honest.attacked();
                alive.push(slow.hand_over(|slow| {
                    let slow = &[slow.as_fd()];
                    match way {
                        // It would lie in the queue of the socket that the honest end holds and never reads.
                        "within a bell" => assert!(!send(&joiner.own[0], b"", slow)),
                        "to a bell" => through |= send(&joiner.bells[1], b"", slow),
                        _ => through |= send(&joiner.socket, b"more", slow),
                    }
                }));
                honest.rx.fall_asleep();
                honest.rx.wake_up();
                drop(joiner);
            }
        }
        honest.link_down();
        joins(&mut honest);
    }
    // Until here whoever closed one of them last had to wait.
    drop(alive);
    assert!(!through || !kernel_refuses(), "a kernel that can refuse descriptors was not told to");
}

/// True if the kernel knows SO_PASSRIGHTS (Linux 6.16).
fn kernel_refuses() -> bool {
    use std::os::fd::AsRawFd;
    let socket = std::os::unix::net::UnixDatagram::unbound().unwrap();
    let no: libc::c_int = 0;
    // SAFETY: the value is readable for its length.
    unsafe { libc::setsockopt(socket.as_raw_fd(), libc::SOL_SOCKET, 83, (&raw const no).cast(), 4) == 0 }
}

#[test]
fn a_descriptor_that_is_slow_to_close_does_not_shut_a_switchs_door() {
    in_time(leave_slow_descriptors_at_a_door);
}

fn leave_slow_descriptors_at_a_door() {
    let name = format!("slow-door-{}", std::process::id());
    let _door = Listener::open(&name, None).unwrap();
    let path = switch_path(&name);
    let mut alive = Vec::new();
    let words = [b"garbage".to_vec(), switch_hello("evil", 64, 2048)];
    for words in std::iter::repeat_n(words, 8).flatten() {
        let socket = connect(&path).unwrap();
        alive.push(Slow::new().hand_over(|slow| {
            if !send(&socket, &words, &[slow.as_fd()]) {
                // The kernel refuses descriptors; without them it is heard.
                assert!(send(&socket, &words, &[]));
            }
        }));
        drop(socket);
        until("the next gets an offer", || offered(&path, &switch_hello("next", 64, 2048)));
    }
}

/// A stranger never empties what it is rung by, and fills what it rings by: then whoever rings must not care.
#[test]
fn doorbells_that_are_full_and_blocking_stop_nobody() {
    in_time(ring_full_doorbells);
}

fn ring_full_doorbells() {
    let mut honest = Honest::new("full-bell");
    let joiner = honest.attacked();
    joiner.bells.iter().for_each(fill);
    for round in 0..200u8 {
        for at in joiner.inward.sleepers().into_iter().chain(joiner.outward.sleepers()) {
            joiner.map.put(at, 1);
        }
        honest.send(round);
        joiner.map.put(joiner.inward.released(), joiner.map.see(joiner.inward.published()));
        honest.sync();
        honest.rx.fall_asleep();
        honest.rx.wake_up();
        honest.tx.fall_asleep();
        honest.tx.wake_up();
    }
    assert!(honest.tx.counters().syscalls >= 190, "it was rung");
    drop(joiner);
    honest.serves_the_next("full bells");
}

/// Two ends opened in one call, each joined by another process: who has the one sees nothing of the other.
#[test]
fn who_joins_one_of_two_ports_maps_nothing_of_the_other() {
    let name = |n: u8| format!("apart{n}-{}", std::process::id());
    let names = [1, 2].map(|n| format!("cable:{}{{1,slots=64", name(n)));
    let mut ports = open_all(&[&names[0], &names[1], &"null:".to_owned()]).unwrap();
    let mut queues: Vec<_> = ports.iter_mut().map(|p| (p.take_tx(0).unwrap(), p.take_rx(0).unwrap())).collect();
    let mut regions: Vec<_> = queues.iter().map(|(tx, _)| tx.ring.region().id()).collect();
    regions.sort_unstable();
    regions.dedup();
    assert_eq!(regions.len(), 3, "a region of its own for each that another process maps");
    let joiners = [1, 2].map(|n| {
        until("a stranger is let in", || {
            queues.iter_mut().for_each(|(tx, _)| tx.sync());
            Joiner::join(&path(&name(n)))
        })
    });
    until("both are up", || ports[..2].iter().all(|port| port.link() == Link::Up).then_some(()));
    let secret = *b"for the second port's peer alone";
    for (tx, _) in &mut queues[1..] {
        tx.sync();
        let mut batch = tx.ring.reserve(1);
        assert!(batch.put(0, &[&[0; 28][..], &secret].concat()));
        batch.commit(1);
        tx.sync();
    }
    let holds = |joiner: &Joiner| joiner.map.bytes().windows(secret.len()).any(|window| window == secret);
    assert!(holds(&joiners[1]), "its own peer gets it");
    assert!(!holds(&joiners[0]));
    let buffers = joiners[0].buffers;
    assert_eq!(buffers, 2 * 64 + 2, "as many buffers as its own rings have slots, and netmap's two");
}

#[test]
fn a_frame_with_a_descriptor_that_is_slow_to_close_does_not_stop_a_unix_port() {
    in_time(|| {
        let dir = tempfile::tempdir().unwrap();
        let [near, far] = ["near", "far"].map(|name| dir.path().join(name).display().to_string());
        let peer = std::os::unix::net::UnixDatagram::bind(&far).unwrap();
        let mut port = linerate_port::open(&format!("unix:{near}:{far}")).unwrap();
        let mut rx = port.take_rx(0).unwrap();
        peer.connect(&near).unwrap();
        let peer = OwnedFd::from(peer);
        let alive: Vec<_> = (0..8)
            .map(|_| {
                Slow::new().hand_over(|slow| {
                    if send(&peer, &[0x11; 60], &[slow.as_fd()]) {
                        linerate_skip::skip!("this kernel (before Linux 6.16) cannot refuse descriptors to a socket");
                        linger(slow, 0);
                    }
                    rx.sync();
                })
            })
            .collect();
        assert!(send(&peer, &[0x22; 60], &[]));
        until("an honest frame", || {
            rx.sync();
            let mut batch = rx.ring.batch(64);
            let n = batch.len();
            let honest = (0..n).any(|i| batch.frame(i).is_some_and(|(frame, _)| frame.to_vec() == [0x22; 60]));
            batch.release(n);
            honest.then_some(())
        });
        drop(alive);
    });
}

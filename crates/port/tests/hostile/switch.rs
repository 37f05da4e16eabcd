//! A switch against strangers: at its listener, and as its ports. What they do costs themselves only.

use super::stranger::*;
use super::until;
use linerate_port::switch::{Ledger, Listener, Policy, PortReport, Switch};
use linerate_port::{DropReason, Link, Port, RxQueue, TxQueue, open};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// A switch that runs, and two honest ports that talk over it.
pub(super) struct Host {
    pub(super) switch: Arc<Mutex<Switch>>,
    pub(super) listener: Arc<Listener>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
    pub(super) path: PathBuf,
    name: String,
    pub(super) ends: Vec<(Port, TxQueue, RxQueue)>,
}

impl Host {
    /// `guests`: what it is run with behind `--ports`; nothing: without.
    pub(super) fn new(test: &str, guests: &[&str]) -> Self {
        let name = format!("{test}-{}", std::process::id());
        let granted = |text: &&str| Policy::behind(text).map(|(name, policy)| (name.to_owned(), policy)).unwrap();
        let granted = (!guests.is_empty()).then(|| guests.iter().map(granted).collect());
        let mut switch = Switch::new();
        switch.hold_addresses(if guests.is_empty() { 0 } else { 30 });
        let (switch, listener) = (Arc::new(Mutex::new(switch)), Arc::new(Listener::open(&name, granted).unwrap()));
        let stop = Arc::new(AtomicBool::new(false));
        let thread = std::thread::spawn({
            let (switch, listener, stop) = (switch.clone(), listener.clone(), stop.clone());
            move || {
                let start = Instant::now();
                while !stop.load(Relaxed) {
                    let mut switch = switch.lock().unwrap();
                    listener.admit(&mut switch);
                    let worked = switch.poll(u64::try_from(start.elapsed().as_nanos()).unwrap());
                    drop(switch);
                    if !worked {
                        std::thread::sleep(Duration::from_micros(50));
                    }
                }
            }
        });
        let path = switch_path(&name);
        let mut host = Self { switch, listener, stop, thread: Some(thread), path, name, ends: Vec::new() };
        for port in ["a", "b"] {
            let mut port = open(&format!("vale:{}:{port},slots=64", host.name)).unwrap();
            let (tx, rx) = (port.take_tx(0).unwrap(), port.take_rx(0).unwrap());
            host.ends.push((port, tx, rx));
        }
        until("both are there", || (host.live().len() == 2).then_some(()));
        host
    }

    fn ports(&self) -> Vec<PortReport> {
        self.switch.lock().unwrap().ports()
    }

    pub(super) fn live(&self) -> Vec<String> {
        self.ports().into_iter().filter(|port| !port.gone).map(|port| port.name).collect()
    }

    pub(super) fn port(&self, name: &str) -> Option<PortReport> {
        self.ports().into_iter().find(|port| port.name == name)
    }

    fn stranger(&self) -> Joiner {
        let hello = switch_hello("evil", 64, 2048);
        let joiner = until("a stranger is let in", || Joiner::join_saying(&self.path, &hello));
        until("it has a port", || self.live().iter().any(|name| name == "evil").then_some(()));
        joiner
    }

    /// The honest ports talk; each frame arrives once.
    pub(super) fn talks(&mut self, what: &str) {
        self.drain();
        for (from, to) in [(0, 1), (1, 0)] {
            let mut frame = [0x5a; 60];
            let mac = |n: usize| [2, 0, 0, 0, 0, u8::try_from(n).unwrap()];
            frame[..6].copy_from_slice(&mac(to));
            frame[6..12].copy_from_slice(&mac(from));
            let (_, tx, _) = &mut self.ends[from];
            for n in 0..20 {
                tx.sync();
                frame[20] = n;
                let mut batch = tx.ring.reserve(1);
                assert!(batch.put(0, &frame), "{what}");
                batch.commit(1);
                tx.sync();
            }
            let (_, _, rx) = &mut self.ends[to];
            let mut next = 0;
            until(what, || {
                rx.sync();
                let mut batch = rx.ring.batch(64);
                let n = batch.len();
                for i in 0..n {
                    let bytes = batch.frame(i).unwrap().0.to_vec();
                    // Others may be flooding.
                    if bytes.len() == 60 && bytes[..12] == frame[..12] {
                        assert_eq!(bytes[20], next, "{what}");
                        next += 1;
                    }
                }
                batch.release(n);
                (next == 20).then_some(())
            });
        }
        self.whole(what);
    }

    /// Checks that every frame is accounted for.
    pub(super) fn whole(&self, what: &str) {
        let ledger = Ledger::of(&self.ports());
        assert_eq!(ledger.unexplained, 0, "{what}: {ledger:?}");
    }

    fn drain(&mut self) {
        for (_, _, rx) in &mut self.ends {
            rx.sync();
            let batch = rx.ring.batch(64);
            let n = batch.len();
            batch.release(n);
            rx.sync();
        }
    }

    pub(super) fn gone(&self, what: &str) {
        until(what, || (!self.live().iter().any(|name| name == "evil")).then_some(()));
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        self.stop.store(true, Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

#[test]
fn invalid_messages_at_the_door_are_refused_and_counted() {
    let mut host = Host::new("door", &[]);
    let sized = |slots, buf| switch_hello("evil", slots, buf);
    for (what, message) in [
        ("nothing", vec![]),
        ("no words", b"GET / HTTP/1.0\r\n\r\n".to_vec()),
        ("a cable's hello", hello()),
        ("slots of no power of two", sized(100, 2048)),
        ("too many slots", sized(1 << 40, 2048)),
        ("more memory than there is", sized(65536, 65536)),
        ("no name", switch_hello("", 64, 2048)),
        ("a path for a name", switch_hello("../../etc", 64, 2048)),
        ("a name that is taken", switch_hello("a", 64, 2048)),
        ("a long message", vec![0xff; 5000]),
    ] {
        let before = host.listener.counters().refused;
        let socket = connect(&host.path).unwrap();
        send(&socket, &message, &[]);
        let (answer, fds) = receive(&socket);
        assert!(answer.len() <= 24 && fds.is_empty(), "{what}");
        until(what, || (host.listener.counters().refused > before).then_some(()));
    }
    // Silent ones, one that goes when it has the offer, and one that has it and says something else.
    let silent: Vec<_> = (0..40).filter_map(|_| connect(&host.path).ok()).collect();
    drop(offered(&host.path, &sized(64, 2048)).unwrap());
    let (socket, ..) = offered(&host.path, &sized(64, 2048)).unwrap();
    send(&socket, b"bells", &[]);
    assert_eq!(receive(&socket).0, b"", "it is sent away");
    host.talks("after invalid messages at the door");
    drop(silent);
    assert_eq!(host.live(), ["a", "b"]);
    drop(host.stranger());
    host.gone("the honest stranger");
}

#[test]
fn only_guests_are_let_in() {
    let host = Host::new("guests", &["a", "b", "kept"]);
    host.listener.reserve("kept");
    let line = open(&format!("vale:{}:kept", host.name)).err().unwrap().to_string();
    assert!(line.contains("has a port of that name"), "{line}");
    let line = open(&format!("vale:{}:c", host.name)).err().unwrap().to_string();
    assert!(line.contains("no port of that name") && line.contains("--ports"), "{line}");
    let line = open(&format!("vale:{}:a", host.name)).err().unwrap().to_string();
    assert!(line.contains("has a port of that name"), "{line}");
    let line = Listener::open(&host.name, None).err().unwrap().to_string();
    assert!(line.contains("it runs already"), "{line}");
}

/// A wish is let in, or refused with the number of a reason.
fn wish(host: &Host, port: &str, pause: u64, vlans: &str) -> Result<(), u64> {
    let hello = switch_wish(port, 64, 2048, pause, vlans);
    let socket = connect(&host.path).unwrap();
    send(&socket, &hello, &[]);
    let (answer, _) = receive(&socket);
    match u64::from_le_bytes(answer[16..24].try_into().unwrap()) {
        0 => Ok(()),
        reason => Err(reason),
    }
}

#[test]
fn pause_and_vlans_are_granted_by_who_runs_the_switch() {
    const PAUSE: Result<(), u64> = Err(8);
    const VLANS: Result<(), u64> = Err(9);
    let mut open_to_all = Host::new("ungranted", &[]);
    assert_eq!(wish(&open_to_all, "evil", 0xff, ""), PAUSE);
    assert_eq!(wish(&open_to_all, "evil", 1, "all"), PAUSE);
    assert_eq!(wish(&open_to_all, "evil", 0, "all"), Ok(()));
    let line = open(&format!("vale:{}:evil,pause=0xff", open_to_all.name)).err().unwrap().to_string();
    assert!(line.contains("does not grant pause=0xff") && line.contains("--ports 'evil:pause=0xff'"), "{line}");
    open_to_all.talks("after wishes that were not granted");
    let mut host = Host::new("granted", &["a", "b:pause=8", "evil:vlan=10+t20:pause=1"]);
    for (pause, vlans, gets) in [
        (0xff, "", PAUSE),
        (2, "", PAUSE),
        (256, "all", VLANS),
        (256, "1", VLANS),
        (0, "10+t20-21", VLANS),
        (1, "10", Ok(())),
        (0, "t20", Ok(())),
        (256, "", Ok(())),
    ] {
        assert_eq!(wish(&host, "evil", pause, vlans), gets, "{pause} {vlans}");
    }
    let line = open(&format!("vale:{}:evil,vlan=30", host.name)).err().unwrap().to_string();
    assert!(line.contains("does not grant vlan=30") && line.contains("leave vlan= out"), "{line}");
    // The grant holds without a request: frames of the honest ports' VLAN do not come here.
    let evil = host.stranger();
    host.talks("beside a guest of another VLAN");
    assert_eq!(evil.map.see(evil.inward.published()), 0);
}

/// One that takes another's address and then nothing: with a pause of its own it would stop whoever sends there.
#[test]
fn a_stolen_address_stays_with_its_owner_while_that_speaks() {
    let mut host = Host::new("stolen", &["a", "b", "evil:pause=0xff"]);
    host.talks("first");
    let evil = host.stranger();
    for mac in 0..2u8 {
        let mut frame = [0x5a; 60];
        frame[..12].copy_from_slice(&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2, 0, 0, 0, 0, mac]);
        evil.send(&frame);
    }
    until("the switch has seen both", || (host.port("evil")?.count.received == 2).then_some(()));
    assert_eq!(host.port("evil").unwrap().count.held, 2);
    host.talks("while somebody sends from their addresses");
    assert_eq!(host.port("evil").unwrap().count.sent, 0, "nothing of it went elsewhere");
    assert_eq!(host.switch.lock().unwrap().table().moved, 0);
}

#[test]
fn bad_slots_are_counted_and_nothing_of_them_goes_on() {
    let mut host = Host::new("slots", &[]);
    let evil = host.stranger();
    let own = evil.outward.first_buf;
    let (past, theirs) = (evil.buffers, evil.inward.first_buf);
    let slots = [
        slot(own, 2000, 0),
        slot(past, 60, 0),
        slot(u32::MAX, 60, 0),
        slot(0, 60, 0),
        slot(theirs, 60, 0),
        slot(own, 0, 0),
        slot(own + 6, u16::MAX, 0x20),
        slot(own + 7, 13, 0),
    ];
    evil.publish(&slots);
    let refused = |host: &Host, reason| host.port("evil").unwrap().count.refused.of(reason);
    until("all are counted", || (refused(&host, DropReason::TooShort) == 1).then_some(()));
    assert_eq!(refused(&host, DropReason::BadLength), 2);
    assert_eq!(refused(&host, DropReason::BadIndex), 4);
    assert_eq!(host.port("evil").unwrap().count.received, 0);
    // A chain without an end.
    let chain: Vec<u64> = (8..71).map(|k| slot(own + k % 64, 60, 0x20)).collect();
    until("slots are back", || (evil.map.see(evil.outward.released()) == 8).then_some(()));
    evil.publish(&chain);
    until("it is refused", || (refused(&host, DropReason::TooManyFragments) == 1).then_some(()));
    host.talks("beside one with bad slots");
    drop(evil);
    host.gone("it went");
    host.talks("after one with bad slots");
}

/// A guest writes over the slots that the switch has filled for it, before they are published: what it gets is what the
/// switch has put there, and the switch's counts stay its own.
#[test]
fn what_a_guest_writes_over_its_own_copies_leaves_the_ledger_whole() {
    let mut host = Host::new("over", &[]);
    host.talks("first");
    let evil = host.stranger();
    let noise = [0, 60 << 32 | 0x20 << 48, 0xffff << 32, u64::MAX];
    for (round, word) in (1..).zip(noise) {
        // Held by its pause, copies wait in its ring at the switch.
        evil.map.put(evil.inward.pause(), round << 8 | 0xff);
        let (_, tx, _) = &mut host.ends[0];
        for n in 0..10 {
            tx.sync();
            let mut batch = tx.ring.reserve(1);
            let mut frame = [n; 60];
            frame[..12].copy_from_slice(&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2, 0, 0, 0, 0, 0]);
            assert!(batch.put(0, &frame));
            batch.commit(1);
            tx.sync();
        }
        let copies = |host: &Host| host.port("evil").unwrap().count.sent;
        until("copies are there", || (copies(&host) == u64::from(10 * round)).then_some(()));
        for k in 0..64 {
            evil.map.put_u64(evil.inward.sent_slot(k), word);
        }
        evil.map.put(evil.inward.pause(), (round + 100) << 8);
        until("they are published", || (evil.map.see(evil.inward.published()) == 10 * round).then_some(()));
        for k in 10 * (round - 1)..10 * round {
            assert_eq!(evil.map.see_u64(evil.inward.slot(k)) >> 32, 60, "length and flags as the switch has put them");
        }
        evil.map.put(evil.inward.released(), 10 * round);
        host.talks("beside one that writes over its copies");
    }
    drop(evil);
    host.gone("it went");
    host.talks("after one that wrote over its copies");
    let port = host.port("evil").unwrap();
    assert_eq!((port.fate.carried, port.fate.lost.total()), (port.count.sent, 0));
}

#[test]
fn a_process_that_writes_invalid_values_is_disconnected() {
    let mut host = Host::new("invalid", &[]);
    for attack in 0..5u64 {
        let evil = host.stranger();
        match attack {
            0 => evil.map.put(evil.outward.published(), 1 << 20),
            1 => evil.map.put(evil.inward.released(), 77),
            2 => {
                // A swap, by one who may not.
                evil.map.put_u64(evil.inward.slot(0), slot(9, 0, 1));
                evil.map.put(evil.inward.swaps(), 1);
                evil.map.put(evil.inward.released(), 1);
            }
            3 => assert!(send(&evil.socket, b"more words", &[])),
            _ => {
                // Random values everywhere, all the time, until it is noticed.
                let end = Instant::now() + Duration::from_millis(300);
                let mut x = 1u64;
                while Instant::now() < end {
                    for at in (0..evil.map.len as u64).step_by(4096) {
                        x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                        evil.map.put_u64(at + (x >> 32) % 4096 / 8 * 8, x);
                    }
                    evil.map.put(evil.outward.published(), u32::try_from(x >> 40).unwrap());
                }
            }
        }
        // A frame towards it makes the switch look at what it has released.
        until("it is disconnected", || {
            host.talks("beside a violator");
            let (_, tx, _) = &mut host.ends[0];
            let mut batch = tx.ring.reserve(1);
            assert!(batch.put(0, &[0xff; 60]));
            batch.commit(1);
            tx.sync();
            (!host.live().iter().any(|name| name == "evil")).then_some(())
        });
        host.talks("after a violator");
    }
    assert!(host.listener.counters().violations >= 4, "{:?}", host.listener.counters());
}

#[test]
fn a_switch_that_comes_again_is_joined_again() {
    let host = Host::new("again", &[]);
    let mut port = open(&format!("vale:{}:c,slots=64", host.name)).unwrap();
    let (mut tx, mut rx) = (port.take_tx(0).unwrap(), port.take_rx(0).unwrap());
    let mut sync = || {
        tx.sync();
        rx.sync();
    };
    sync();
    assert_eq!(port.link(), Link::Up);
    let name = host.name.clone();
    drop(host);
    until("link down", || {
        sync();
        (port.link() == Link::Down).then_some(())
    });
    let line = open(&format!("vale:{name}:d")).err().unwrap().to_string();
    assert!(line.contains("start: linerate switch"), "{line}");
    let (listener, mut switch) = (Listener::open(&name, None).unwrap(), Switch::new());
    until("it is back", || {
        sync();
        listener.admit(&mut switch);
        switch.poll(1);
        (port.link() == Link::Up && switch.ports().len() == 1).then_some(())
    });
}

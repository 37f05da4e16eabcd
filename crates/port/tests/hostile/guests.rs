//! A switch with a hostile guest of each kind in turn, while two honest ones exchange checked frames: nothing is lost,
//! altered or read by who it is not for, and the ledger is whole.
//!
//! `LINERATE_HOSTILE_SECONDS` says how long it takes in all (3). If it is said, the honest guests' rate is judged too: at half
//! of what they can alone, they keep 0.9 of it beside each kind, by the median of interleaved stretches.

use super::HUNG;
use super::stranger::*;
use super::switch::Host;
use std::os::fd::AsFd;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// Frames that one honest guest sends before it waits for the other one's.
const BURST: u32 = 16;
/// Stretches of this length are compared.
const STRETCH: Duration = Duration::from_secs(2);
/// Stands in all honest frames, and in no others.
const SECRET: [u64; 2] = [0x5ec2_e7f2_a3e5_0b1d, 0xc0ff_ee00_dead_10cc];

type Kind = (&'static str, fn(&Attack<'_>));

const KINDS: [Kind; 8] = [
    ("garbage handshakes", garbage),
    ("noise over the shared memory", noise),
    ("a pause and a stolen address", hog),
    ("full doorbells", bells),
    ("descriptors that linger", linger),
    ("a flood of connections", flood),
    ("a reader of others' buffers", reader),
    ("a writer over all that it maps", writer),
];

/// The means of a hostile guest.
struct Attack<'a> {
    path: &'a Path,
    stop: &'a AtomicBool,
    acts: &'a AtomicU64,
    seed: std::cell::Cell<u64>,
}

impl Attack<'_> {
    fn goes_on(&self) -> bool {
        !self.stop.load(Relaxed)
    }

    /// Did something; leaves the processors to others for a while.
    fn acted(&self, rest: Duration) {
        self.acts.fetch_add(1, Relaxed);
        std::thread::sleep(rest);
    }

    fn random(&self) -> u64 {
        let mut x = self.seed.get();
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        self.seed.set(x);
        x.rotate_left(23)
    }

    fn below(&self, most: usize) -> usize {
        usize::try_from(self.random() >> 32).unwrap() % most
    }

    fn bytes(&self, most: u64) -> Vec<u8> {
        (0..self.random() % most).map(|_| self.random().to_le_bytes()[0]).collect()
    }

    /// A port of the switch, as soon as its predecessor is gone.
    fn join(&self) -> Option<Joiner> {
        let hello = switch_hello("evil", 64, 2048);
        while self.goes_on() {
            if let Some(joiner) = Joiner::join_saying(self.path, &hello) {
                return Some(joiner);
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        None
    }
}

const SHORT: Duration = Duration::from_millis(1);

fn garbage(attack: &Attack<'_>) {
    let file = memory(1 << 20, SEALS);
    let hello = switch_hello("evil", 64, 2048);
    while attack.goes_on() {
        let Ok(socket) = connect(attack.path) else { continue };
        match attack.random() % 6 {
            0 => drop(send(&socket, &attack.bytes(2000), &[])),
            1 => {
                let mut bent = hello.clone();
                let bit = attack.below(8 * bent.len());
                bent[bit / 8] ^= 1 << (bit % 8);
                send(&socket, &bent, &[]);
            }
            2 => drop(send(&socket, &hello, &[])),
            3 => drop(send(&socket, &hello, &vec![file.as_fd(); 100])),
            4 => {
                send(&socket, &hello, &[]);
                receive(&socket);
                send(&socket, b"ready", &[file.as_fd(), file.as_fd()]);
            }
            _ => {
                let word = |most: u64| attack.random() % most;
                let wish = switch_wish(
                    "evil",
                    1 << word(40),
                    1 << word(34),
                    word(300),
                    ["", "all", "t1-4094", "x"][attack.below(4)],
                );
                send(&socket, &wish, &[]);
            }
        }
        drop(socket);
        attack.acted(SHORT);
    }
}

fn noise(attack: &Attack<'_>) {
    while let Some(evil) = attack.join() {
        let lines = (evil.outward.lines + 512) / 8;
        let mode = attack.random() % 5;
        for step in 0..50u32 {
            if !attack.goes_on() {
                return;
            }
            let published = evil.map.see(evil.outward.published());
            // Frames that wait here for the pause's end are still to be published.
            let comes = evil.map.see(evil.inward.published());
            for n in 0..16 {
                let word = attack.random() >> (attack.random() % 60);
                let k = published.wrapping_add(n);
                match mode {
                    0 => evil.map.put_u64(8 * (16 + attack.random() % (lines - 16)), word),
                    1 => evil.map.put_u64(evil.outward.slot(k), word),
                    2 => {
                        let flags = [0, 0x20, 0x80, 0xa0, 0xffff][attack.below(5)];
                        evil.map.put_u64(evil.outward.slot(k), slot(evil.outward.first_buf + k % 64, 60, flags));
                    }
                    _ => {
                        evil.map.put_u64(evil.inward.slot(comes.wrapping_add(n)), word);
                        evil.map.put_u64(evil.inward.sent_slot(comes.wrapping_add(n)), word);
                    }
                }
            }
            match mode {
                1 | 2 => evil.map.put(evil.outward.published(), published.wrapping_add(16)),
                3 => {
                    evil.map.put(evil.inward.pause(), step << 8 | if step % 8 == 7 { 0 } else { 0xff });
                    evil.map.put(evil.inward.released(), comes);
                }
                4 => {
                    evil.map.put(evil.inward.swaps(), 1);
                    evil.map.put(evil.inward.released(), evil.map.see(evil.inward.published()));
                }
                _ => {}
            }
            attack.acted(SHORT);
        }
    }
}

/// A frame for all, as from one of the honest ones.
fn stolen(mac: u8) -> [u8; 60] {
    let mut frame = [0x5a; 60];
    frame[..14].copy_from_slice(&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2, 0, 0, 0, 0, mac, 0x88, 0xb6]);
    frame
}

fn hog(attack: &Attack<'_>) {
    while attack.goes_on() {
        let socket = connect(attack.path).unwrap();
        send(&socket, &switch_wish("evil", 64, 2048, 0xff, ""), &[]);
        assert_eq!(receive(&socket).0.get(16), Some(&8), "a pause that was not granted");
        drop(socket);
        let Some(evil) = attack.join() else { return };
        for n in 0..200u32 {
            if !attack.goes_on() {
                return;
            }
            evil.send(&stolen(u8::from(n % 2 == 1)));
            evil.map.put(evil.inward.pause(), n << 8 | 0xff);
            attack.acted(Duration::from_millis(5));
        }
    }
}

fn bells(attack: &Attack<'_>) {
    while let Some(evil) = attack.join() {
        evil.bells.iter().for_each(fill);
        for n in 0..200 {
            if !attack.goes_on() {
                return;
            }
            for pair in [&evil.inward, &evil.outward] {
                pair.sleepers().into_iter().for_each(|at| evil.map.put(at, 1));
            }
            evil.send(&stolen(7));
            evil.map.put(evil.inward.released(), evil.map.see(evil.inward.published()));
            if n % 50 == 0 {
                evil.bells.iter().for_each(fill);
            }
            attack.acted(SHORT);
        }
    }
}

fn linger(attack: &Attack<'_>) {
    // Nobody reads at the other ends as long as this goes on.
    let mut kept = Vec::new();
    while attack.goes_on() {
        let (far, socket) = lingering(30);
        kept.push(far);
        if let Ok(visitor) = connect(attack.path) {
            send(&visitor, &attack.bytes(100), &[socket.as_fd()]);
        }
        // Whoever closes it last waits: it may be this one.
        std::thread::spawn(move || drop(socket));
        attack.acted(Duration::from_millis(200));
    }
}

fn flood(attack: &Attack<'_>) {
    let mut kept = Vec::new();
    while attack.goes_on() {
        kept.extend(connect(attack.path).ok());
        if kept.len() > 100 {
            kept.drain(..50);
        }
        attack.acted(SHORT);
    }
}

fn reader(attack: &Attack<'_>) {
    while let Some(evil) = attack.join() {
        for _ in 0..20 {
            if !attack.goes_on() {
                return;
            }
            let mut at = (0..evil.map.len as u64 - 8).step_by(8);
            let found = at.find(|at| SECRET.contains(&evil.map.see_u64(*at)));
            assert_eq!(found, None, "an honest frame lies in a guest's memory that it is not for");
            attack.acted(Duration::from_millis(20));
        }
    }
}

/// Writes over every buffer while the switch puts frames into them, and over all slots that name them.
fn writer(attack: &Attack<'_>) {
    while let Some(evil) = attack.join() {
        let len = evil.map.len as u64;
        for _ in 0..20 {
            if !attack.goes_on() {
                return;
            }
            let buffers = evil.area..len - 8;
            buffers.step_by(64).for_each(|at| evil.map.put_u64(at, u64::from_le_bytes(*b"ALTERED!")));
            for k in 0..64 {
                evil.map.put_u64(evil.inward.slot(k), slot(evil.inward.first_buf + (k + 1) % 64, 1518, 0));
            }
            attack.acted(SHORT);
        }
    }
}

/// Two honest guests and what they have sent.
struct Honest {
    host: Host,
    round: u64,
    /// From the beginning of a round to that of the next one, if it is over by then.
    pace: Duration,
}

impl Honest {
    fn frame(&self, to: usize, number: u32) -> [u8; 124] {
        let mut frame = [0; 124];
        let mac = |n: usize| [2, 0, 0, 0, 0, u8::try_from(n).unwrap()];
        frame[..6].copy_from_slice(&mac(to));
        frame[6..12].copy_from_slice(&mac(1 - to));
        frame[12..14].copy_from_slice(&[0x88, 0xb5]);
        let mut x = self.round << 8 | u64::from(number) << 1 | to as u64;
        frame[16..24].copy_from_slice(&x.to_le_bytes());
        frame[24..32].copy_from_slice(&SECRET[0].to_le_bytes());
        frame[32..40].copy_from_slice(&SECRET[1].to_le_bytes());
        for byte in &mut frame[40..] {
            x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            *byte = x.to_be_bytes()[0];
        }
        frame
    }

    /// A burst each way; each frame arrives once, in order and whole.
    fn exchange(&mut self) {
        for to in [0, 1] {
            let frames: Vec<_> = (0..BURST).map(|n| self.frame(to, n)).collect();
            let (_, tx, _) = &mut self.host.ends[1 - to];
            tx.sync();
            let mut batch = tx.ring.reserve(BURST);
            assert_eq!(batch.len(), BURST, "all of the last burst has arrived");
            assert!((0..BURST).zip(&frames).all(|(i, frame)| batch.put(i, frame)));
            batch.commit(BURST);
            tx.sync();
            // One for all, so that the switch has something for hostile guests too.
            let mut batch = tx.ring.reserve(1);
            assert!(batch.put(0, &stolen(u8::try_from(1 - to).unwrap())));
            batch.commit(1);
            tx.sync();
            let (mut next, deadline) = (frames.iter(), Instant::now() + HUNG);
            while next.len() > 0 {
                assert!(Instant::now() < deadline, "honest traffic stands still");
                let mut came = false;
                for (at, (_, _, rx)) in self.host.ends.iter_mut().enumerate() {
                    rx.sync();
                    let mut batch = rx.ring.batch(u32::MAX);
                    let n = batch.len();
                    for i in 0..n {
                        let bytes = batch.frame(i).map(|(frame, _)| frame.to_vec()).unwrap_or_default();
                        // Frames of hostile guests come here too; none of them is of this kind.
                        if bytes.get(12..14) == Some(&[0x88, 0xb5]) {
                            assert_eq!(at, to, "it is for the other one");
                            assert_eq!(Some(&bytes[..]), next.next().map(|frame| &frame[..]), "whole, in order, once");
                        }
                    }
                    batch.release(n);
                    rx.sync();
                    came |= n > 0;
                }
                if !came {
                    std::thread::sleep(Duration::from_micros(20));
                }
            }
        }
        self.round += 1;
    }

    /// Exchanges for so long; rounds a second.
    fn rate(&mut self, time: Duration) -> f64 {
        let (start, before) = (Instant::now(), self.round);
        while start.elapsed() < time {
            let begin = Instant::now();
            self.exchange();
            std::thread::sleep(self.pace.saturating_sub(begin.elapsed()));
        }
        (self.round - before) as f64 / start.elapsed().as_secs_f64()
    }

    /// The same beside a hostile guest; it has done something.
    fn rate_beside(&mut self, (what, attack): Kind, seed: u64, time: Duration) -> f64 {
        let (stop, acts, path) = (AtomicBool::new(false), AtomicU64::new(0), self.host.path.clone());
        std::thread::scope(|scope| {
            let (stop, acts, path) = (&stop, &acts, &path);
            let guest = std::thread::Builder::new().name(what.into());
            let guest = guest.spawn_scoped(scope, move || {
                attack(&Attack { path, stop, acts, seed: std::cell::Cell::new(seed) });
            });
            let end = EndOnDrop(stop);
            let rate = self.rate(time);
            let deadline = Instant::now() + HUNG;
            while acts.load(Relaxed) == 0 {
                self.exchange();
                assert!(Instant::now() < deadline, "{what}: it did nothing");
            }
            drop(end);
            guest.unwrap().join().unwrap();
            rate
        })
    }
}

/// Ends the hostile guest also when the honest ones fail.
struct EndOnDrop<'a>(&'a AtomicBool);

impl Drop for EndOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Relaxed);
    }
}

#[test]
fn honest_guests_go_on_beside_a_hostile_one_of_each_kind() {
    let asked = std::env::var("LINERATE_HOSTILE_SECONDS").ok().map(|n| n.parse().expect("whole seconds"));
    let time = Duration::from_secs(asked.unwrap_or(3)) / u32::try_from(KINDS.len()).unwrap();
    let stretches = if asked.is_some() { (time.as_secs() / (2 * STRETCH).as_secs()).max(1) } else { 0 };
    let host = Host::new("kinds", &["a:pause=1", "b:pause=1", "evil"]);
    let mut honest = Honest { host, round: 0, pace: Duration::ZERO };
    // Both addresses are known from here on: nothing honest is flooded.
    honest.exchange();
    if stretches > 0 {
        honest.pace = Duration::from_secs(2).div_f64(honest.rate(STRETCH));
    }
    for (seed, kind) in (0x9e37_79b9_7f4a_7c15u64..).zip(KINDS) {
        if stretches == 0 {
            honest.rate_beside(kind, seed, time);
        }
        let mut ratios: Vec<f64> = (0..stretches)
            .map(|n| {
                let alone = honest.rate(STRETCH);
                honest.rate_beside(kind, seed.wrapping_add(n), STRETCH) / alone
            })
            .collect();
        ratios.sort_by(f64::total_cmp);
        if let Some(median) = ratios.get(ratios.len() / 2) {
            println!("{}: {median:.3} of the rate alone ({:.3} to {:.3})", kind.0, ratios[0], ratios[ratios.len() - 1]);
            assert!(*median >= 0.9, "{}: {median:.3} of the rate alone", kind.0);
        }
        // The former process is gone, and an honest one is admitted under its name.
        let next = super::until("the next one is let in", || {
            Joiner::join_saying(&honest.host.path, &switch_hello("evil", 64, 2048))
        });
        drop(next);
        honest.host.gone(kind.0);
        honest.host.whole(kind.0);
    }
    let count = |name| honest.host.port(name).unwrap().count;
    for name in ["a", "b"] {
        let all = honest.round * u64::from(BURST + 1);
        assert_eq!((count(name).received, count(name).refused.total()), (all, 0), "what {name} sent");
    }
    println!("{} rounds; {:?}", honest.round, honest.host.listener.counters());
}

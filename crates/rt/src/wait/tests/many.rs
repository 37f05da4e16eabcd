//! Sleeping on many descriptors, on descriptors that come and go, and beside a thread that rings.

use super::*;
use linerate_port::{Interest, Sleep};
use linerate_ring::Bell;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

/// A moment that is long beside a look of a blind waiter, and the time within which a thread wakes on a busy machine.
const MOMENT: Duration = Duration::from_millis(30);
const LIMIT: Duration = Duration::from_secs(60);

/// Prepares and makes one sleep of at most `limit`; true if it ended before.
fn sleeps(set: &mut PollSet, on: &[Sleep<'_>], limit: Duration) -> bool {
    set.begin();
    on.iter().for_each(|sleep| assert!(set.add(sleep)));
    assert!(set.watch());
    let began = Instant::now();
    set.sleep(Some(limit));
    began.elapsed() < limit
}

/// Waits for what other threads have to say at many bells.
struct Ears {
    bells: Vec<Bell>,
    said: Arc<AtomicU64>,
    heard: u64,
    until: u64,
    /// Counts when it falls asleep, and when it wakes.
    sleeps: Arc<AtomicU64>,
}

impl Machine for Ears {
    fn handle(&mut self, _: u64) -> Progress {
        let said = self.said.load(SeqCst);
        match std::mem::replace(&mut self.heard, said) {
            _ if said >= self.until => Progress::Done,
            heard if heard < said => Progress::Worked,
            _ => Progress::Idle,
        }
    }
    fn poll_timeout(&self) -> Option<u64> {
        None
    }
    fn waits_for(&mut self, visit: &mut dyn FnMut(&mut dyn Sleeper)) {
        for bell in &self.bells {
            visit(&mut Ear(bell, &self.said, self.heard));
        }
        self.sleeps.fetch_add(1, SeqCst);
    }
    fn stop(&mut self, _: u64) {}
}

struct Ear<'a>(&'a Bell, &'a AtomicU64, u64);

impl Sleeper for Ear<'_> {
    fn fall_asleep(&mut self) -> Option<Sleep<'_>> {
        self.0.clear();
        (self.1.load(SeqCst) == self.2).then(|| Sleep::on_bell(self.0))
    }
}

fn ears(n: usize, until: u64) -> Ears {
    let bells = (0..n).map(|_| Bell::new().unwrap()).collect();
    Ears { bells, said: Arc::default(), heard: 0, until, sleeps: Arc::default() }
}

/// Regression: of more than 256 the rest was not watched, and looked at each 100 us.
#[test]
fn a_thousand_sleepers_are_watched_and_cost_nothing() {
    let mut ears = ears(1000, 1);
    let (last, said, sleeps) = (ears.bells[999].clone(), ears.said.clone(), ears.sleeps.clone());
    let stop = Stop::new().unwrap();
    let thread = std::thread::spawn(move || run(&mut ears, &mut Waiter::new(WaitMode::Sleep), &stop));
    let until = Instant::now() + LIMIT;
    while sleeps.load(SeqCst) == 0 {
        assert!(Instant::now() < until, "it does not fall asleep");
        std::thread::yield_now();
    }
    // Time in which one that is not watched would be looked at often.
    std::thread::sleep(10 * MOMENT);
    said.store(1, SeqCst);
    last.ring();
    let stats = thread.join().unwrap();
    assert!((1..10).contains(&stats.sleeps), "it woke without a reason: {stats:?}");
}

#[test]
fn what_stays_as_it_was_is_not_told_again() {
    let bells: Vec<Bell> = (0..300).map(|_| Bell::new().unwrap()).collect();
    let (mut set, all) = (PollSet::new(), bells.iter().map(Sleep::on_bell).collect::<Vec<_>>());
    assert!(!sleeps(&mut set, &all, Duration::ZERO));
    let told = set.changes();
    assert_eq!(told, 300);
    for _ in 0..3 {
        assert!(!sleeps(&mut set, &all, Duration::from_micros(1)));
    }
    assert_eq!(set.changes(), told);
    // One goes and comes back.
    assert!(!sleeps(&mut set, &all[1..], Duration::ZERO));
    bells[0].ring();
    assert!(!sleeps(&mut set, &all[1..], MOMENT), "it is not waited for");
    assert_eq!(set.changes(), told + 1);
    assert!(sleeps(&mut set, &all, LIMIT));
    assert_eq!(set.changes(), told + 2);
    assert!(sleeps(&mut set, &all, LIMIT), "as long as it is rung");
    bells[0].clear();
    assert!(!sleeps(&mut set, &all, MOMENT));
}

/// A pair of which the first end has the descriptor `at`, unless another thread has taken that.
fn pair_at(at: std::os::fd::RawFd) -> Option<(UnixStream, UnixStream)> {
    let mut held: Vec<OwnedFd> = Vec::new();
    while held.len() < 100 {
        let (a, b) = UnixStream::pair().unwrap();
        if a.as_raw_fd() == at {
            return Some((a, b));
        }
        held.extend([OwnedFd::from(a), b.into()]);
    }
    None
}

#[test]
fn a_number_that_is_given_again_is_another_file() {
    let mut set = PollSet::new();
    let mut seen = 0;
    for turn in 0..20 {
        let (a, first) = UnixStream::pair().unwrap();
        let number = a.as_raw_fd();
        assert!(!sleeps(&mut set, &[Sleep::on(a.as_fd(), Interest::Readable)], Duration::ZERO));
        // On every other turn the file lives on elsewhere, and so does its registration.
        let elsewhere = (turn % 2 == 1).then(|| a.try_clone().unwrap());
        drop(a);
        let Some((b, far)) = pair_at(number) else { continue };
        seen += 1;
        let again = [Sleep::on(b.as_fd(), Interest::Readable)];
        assert!(!sleeps(&mut set, &again, Duration::ZERO), "nothing was sent to it");
        std::io::Write::write_all(&mut &far, &[1]).unwrap();
        assert!(sleeps(&mut set, &again, LIMIT), "turn {turn}: it is not watched");
        std::io::Read::read_exact(&mut &b, &mut [0]).unwrap();
        // What is left of the first one ends one sleep at most.
        if elsewhere.is_some() {
            std::io::Write::write_all(&mut &first, &[1]).unwrap();
        }
        sleeps(&mut set, &again, MOMENT);
        assert!(!sleeps(&mut set, &again, MOMENT), "turn {turn}: a file that is not waited for ends each sleep");
        drop(elsewhere);
    }
    assert!(seen > 0);
}

fn known(fd: &UnixStream, file: u64) -> Sleep<'_> {
    Sleep { file: Some(file), ..Sleep::on(fd.as_fd(), Interest::Readable) }
}

#[test]
fn a_file_is_known_by_its_own_number_and_by_its_descriptor() {
    let (mut set, file) = (PollSet::new(), linerate_ring::next_id());
    let (a, _a) = UnixStream::pair().unwrap();
    let (b, mut far) = UnixStream::pair().unwrap();
    assert!(!sleeps(&mut set, &[known(&a, file)], Duration::ZERO));
    std::io::Write::write_all(&mut far, &[1]).unwrap();
    assert!(sleeps(&mut set, &[known(&b, file)], LIMIT), "another descriptor");
    assert!(!sleeps(&mut set, &[known(&a, linerate_ring::next_id())], MOMENT));
    let changes = set.changes();
    assert!(!sleeps(&mut set, &[known(&a, linerate_ring::next_id())], MOMENT), "another file, for all that it knows");
    assert_eq!(set.changes(), changes + 1);
}

#[test]
fn two_sleepers_on_one_descriptor_are_both_watched() {
    let (a, mut far) = UnixStream::pair().unwrap();
    let mut set = PollSet::new();
    let reads = Sleep::on(a.as_fd(), Interest::Readable);
    let writes = Sleep::on(a.as_fd(), Interest::Writable);
    assert!(sleeps(&mut set, &[reads, writes], LIMIT), "there is room to write");
    assert!(!sleeps(&mut set, &[reads], MOMENT));
    std::io::Write::write_all(&mut far, &[1]).unwrap();
    assert!(sleeps(&mut set, &[reads], LIMIT) && sleeps(&mut set, &[writes, reads], LIMIT));
}

/// Each word is said when the one before was heard, so that a wake-up that is lost ends it all.
#[test]
fn no_ring_is_lost_between_two_threads() {
    const WORDS: u64 = 20_000;
    for mode in [WaitMode::Sleep, WaitMode::Adaptive] {
        let (mut ears, heard) = (ears(40, WORDS), Arc::new(AtomicU64::new(0)));
        let (bells, said, stop) = (ears.bells.clone(), ears.said.clone(), Stop::new().unwrap());
        let echo = heard.clone();
        let thread = std::thread::spawn(move || {
            struct Echo(Ears, Arc<AtomicU64>);
            impl Machine for Echo {
                fn handle(&mut self, now: u64) -> Progress {
                    let progress = self.0.handle(now);
                    self.1.store(self.0.heard, SeqCst);
                    progress
                }
                fn poll_timeout(&self) -> Option<u64> {
                    None
                }
                fn waits_for(&mut self, visit: &mut dyn FnMut(&mut dyn Sleeper)) {
                    self.0.waits_for(visit);
                }
                fn stop(&mut self, _: u64) {}
            }
            ears.until = WORDS;
            run(&mut Echo(ears, echo), &mut Waiter::new(mode), &stop)
        });
        for word in 1..=WORDS {
            said.store(word, SeqCst);
            bells[usize::try_from(word * 7 % 40).unwrap()].ring();
            let until = Instant::now() + LIMIT;
            while heard.load(SeqCst) < word {
                assert!(Instant::now() < until, "{mode}: word {word} was not heard");
                std::thread::yield_now();
            }
        }
        thread.join().unwrap();
    }
}

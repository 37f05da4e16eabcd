use super::*;
use crate::event::run;
use crate::machine::{Progress, Sleeper};
use linerate_port::{Port, RxQueue, open_all};
use std::sync::Arc;
use std::sync::atomic::AtomicU32;

const LIMIT: Duration = Duration::from_secs(60);

/// Receives until it has `left` more frames.
struct Receive {
    queue: RxQueue,
    left: u32,
    stopped: bool,
    /// Odd while it sleeps, or is about to.
    asleep: Arc<AtomicU32>,
}

impl Machine for Receive {
    fn handle(&mut self, _: u64) -> Progress {
        self.queue.sync();
        let batch = self.queue.ring.batch(64);
        let n = batch.len();
        batch.release(n);
        self.left = self.left.saturating_sub(n);
        match (self.left == 0 || self.stopped, n) {
            (true, _) => Progress::Done,
            (false, 0) => Progress::Idle,
            (false, _) => Progress::Worked,
        }
    }
    fn poll_timeout(&self) -> Option<u64> {
        None
    }
    fn waits_for(&mut self, visit: &mut dyn FnMut(&mut dyn Sleeper)) {
        visit(&mut self.queue);
        self.asleep.fetch_add(1, Relaxed);
    }
    fn stop(&mut self, _: u64) {
        self.stopped = true;
    }
}

fn cable() -> Vec<Port> {
    open_all(&["cable:wait{1", "cable:wait}1"]).unwrap()
}

#[test]
fn frames_wake_a_receiver_in_every_mode() {
    for (name, mode) in WaitMode::ALL {
        let mut ports = cable();
        let (mut tx, queue) = (ports[0].take_tx(0).unwrap(), ports[1].take_rx(0).unwrap());
        let (stop, asleep) = (Stop::new().unwrap(), Arc::new(AtomicU32::new(0)));
        let mut receive = Receive { queue, left: 100, stopped: false, asleep: asleep.clone() };
        let receiver = std::thread::spawn(move || run(&mut receive, &mut Waiter::new(mode), &stop));
        let until = Instant::now() + LIMIT;
        for _ in 0..100 {
            while mode != WaitMode::Busy && asleep.load(Relaxed).is_multiple_of(2) {
                assert!(Instant::now() < until, "{name}: it does not fall asleep");
                std::thread::yield_now();
            }
            let mut batch = tx.ring.reserve(1);
            assert!(batch.put(0, &[1; 60]));
            batch.commit(1);
            tx.sync();
            std::thread::sleep(Duration::from_micros(200));
        }
        let stats = receiver.join().unwrap();
        assert!(stats.polls > 0 && stats.empty_polls < stats.polls, "{name}: {stats:?}");
        match mode {
            WaitMode::Busy => assert_eq!(stats.sleeps, 0),
            WaitMode::Adaptive | WaitMode::Sleep => assert!(stats.sleeps > 0, "{name}: {stats:?}"),
        }
    }
}

#[test]
fn a_stop_ends_an_endless_sleep() {
    let mut ports = cable();
    let queue = ports[1].take_rx(0).unwrap();
    let stop = Stop::new().unwrap();
    let asked = stop.clone();
    let (done, ended) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let mut receive = Receive { queue, left: 1, stopped: false, asleep: Arc::default() };
        run(&mut receive, &mut Waiter::new(WaitMode::Sleep), &asked);
        done.send(()).unwrap();
    });
    // By then it is asleep, unless the machine is very busy.
    assert!(ended.recv_timeout(Duration::from_millis(20)).is_err(), "it goes on");
    stop.ask(0);
    assert_eq!(ended.recv_timeout(LIMIT), Ok(()));
}

/// Counts its own calls; requests each a millisecond after the one before.
struct Tick {
    next: u64,
    calls: u32,
    early: u32,
}

impl Machine for Tick {
    fn handle(&mut self, now: u64) -> Progress {
        if now < self.next {
            self.early += 1;
            return Progress::Idle;
        }
        self.next = now + 1_000_000;
        self.calls += 1;
        if self.calls == 20 { Progress::Done } else { Progress::Worked }
    }
    fn poll_timeout(&self) -> Option<u64> {
        Some(self.next)
    }
    fn waits_for(&mut self, _: &mut dyn FnMut(&mut dyn Sleeper)) {}
    fn stop(&mut self, _: u64) {}
}

#[test]
fn a_timed_machine_sleeps_between_its_times() {
    let stop = Stop::new().unwrap();
    let mut tick = Tick { next: crate::monotonic_ns(), calls: 0, early: 0 };
    let stats = run(&mut tick, &mut Waiter::new(WaitMode::Sleep), &stop);
    assert_eq!(tick.calls, 20);
    assert!(tick.early < 200, "{} idle calls in 20 ms", tick.early);
    assert!(stats.sleeps > 0);
}

#[test]
fn a_pause_ends_at_its_time_or_when_asked() {
    let stop = Stop::new().unwrap();
    let at = crate::monotonic_ns() + 5_000_000;
    pause(&[&stop], Some(at));
    assert!(crate::monotonic_ns() >= at);
    stop.ask(0);
    pause(&[&Stop::new().unwrap(), &stop], None);
}

mod many;

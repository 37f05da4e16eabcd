//! Lossy paths: every GOOD is correct, and no command outlives its time.

use crate::initiator::model::{Dice, Faults, Manner, Path, Target};
use crate::initiator::world::*;
use linerate_block::{Buffer, Tag};
use linerate_fcoe::{Completed, Data, Initiator, InitiatorConfig, InitiatorEvent, Outcome};
use linerate_wire::FcoeFrame;
use proptest::prelude::*;

const PLACES: usize = 8;
const PLACE: usize = 8192;
const TIMEOUT: u64 = 30 * SECOND;

/// Possible contents of the disk at a place: one, or two after a WRITE that failed.
struct Place {
    may_be: Vec<Vec<u8>>,
    writes: Option<Vec<u8>>,
    deadline: Option<u64>,
}

struct Run {
    dice: Dice,
    now: u64,
    world: World,
    target: Target,
    there: Path,
    back: Path,
    places: Vec<Place>,
    good: usize,
    failed: usize,
}

impl Run {
    fn new(seed: u64, manner: Manner, faults: Faults) -> Self {
        let target = Target::new(manner, PLACES * PLACE);
        let places = target
            .disk
            .chunks(PLACE)
            .map(|bytes| Place { may_be: vec![bytes.to_vec()], writes: None, deadline: None })
            .collect();
        let world = World::with(peer(), InitiatorConfig { exchanges: 16, queue_depth: 16, retries: 5 });
        let (there, back) = (Path::new(faults), Path::new(faults));
        Self { dice: Dice::new(seed), now: world.now, world, target, there, back, places, good: 0, failed: 0 }
    }

    /// Does so many commands, and fails when one of them returns wrong data or does not end.
    fn go(&mut self, commands: usize) {
        let mut left = commands;
        loop {
            for at in 0..PLACES {
                if self.places[at].deadline.is_none() && left > 0 {
                    self.submit(at);
                    left -= 1;
                }
            }
            if self.places.iter().all(|place| place.deadline.is_none()) {
                return;
            }
            self.step();
        }
    }

    fn submit(&mut self, at: usize) {
        let len = (1 + usize::try_from(self.dice.below(16)).unwrap()) * 512;
        let write = self.dice.permille(500);
        let bytes = pattern(len, u8::try_from(self.dice.below(256)).unwrap());
        let mut cdb = if write { write_cdb(len) } else { read_cdb(len) };
        cdb[2..6].copy_from_slice(&u32::try_from(at * PLACE / 512).unwrap().to_be_bytes());
        let mut buffer = Buffer::new(len);
        let place = &mut self.places[at];
        // A second R_A_TOV for an ABTS that is sent twice, each awaited twice as long.
        place.deadline = Some(self.now + TIMEOUT + 4 * self.world.peer.r_a_tov + SECOND);
        let data = if write {
            buffer.bytes_mut().copy_from_slice(&bytes);
            place.writes = Some(bytes);
            Data::Out(buffer)
        } else {
            place.writes = None;
            Data::In(buffer)
        };
        let command = command(u32::try_from(at).unwrap(), &cdb, data);
        assert!(self.world.initiator.submit(self.now, &self.world.peer, command).is_ok());
    }

    /// The next thing happens.
    fn step(&mut self) {
        let next = [
            self.there.next(),
            self.back.next(),
            self.target.next(),
            self.world.initiator.poll_timeout(),
            self.world.initiator.wants_room().then_some(self.now),
        ];
        self.now = next.into_iter().flatten().min().expect("something happens").max(self.now);
        let now = self.now;
        while let Some(bytes) = self.there.arrived(now) {
            self.target.handle(now, &bytes, &mut self.dice);
        }
        for bytes in self.target.poll(now) {
            self.back.send(now, bytes, &mut self.dice);
        }
        while let Some(bytes) = self.back.arrived(now) {
            let World { initiator, out, peer, .. } = &mut self.world;
            initiator.handle(now, peer, &FcoeFrame::new_checked(&bytes).unwrap(), out);
        }
        // Room for a few frames at a time.
        self.world.out.room = usize::try_from(self.dice.below(9)).unwrap();
        self.world.initiator.poll(now, &mut self.world.out);
        for bytes in self.world.out.frames.drain(..) {
            self.there.send(now, bytes, &mut self.dice);
        }
        while let Some(InitiatorEvent::Logout(id)) = self.world.initiator.poll_event() {
            self.world.initiator.down(id);
            self.target.reset();
            self.world.peer.id.generation += 1;
        }
        while let Some(done) = self.world.initiator.poll_completion() {
            self.check(&done);
        }
        for place in &self.places {
            assert!(place.deadline.is_none_or(|deadline| now <= deadline), "a command outlives its time");
        }
    }

    fn check(&mut self, done: &Completed) {
        let Tag(at) = done.tag;
        let at = at as usize;
        let place = &mut self.places[at];
        place.deadline = None;
        let bytes = done.buffer.as_ref().unwrap().bytes();
        if !done.is_good() {
            assert!(matches!(done.outcome, Outcome::TimedOut | Outcome::Transport(_) | Outcome::LinkLost));
            self.failed += 1;
            if let Some(written) = place.writes.take() {
                for mut may_be in place.may_be.clone() {
                    may_be[..written.len()].copy_from_slice(&written);
                    place.may_be.push(may_be);
                }
            }
            return;
        }
        self.good += 1;
        assert_eq!(done.residual, 0);
        if let Some(written) = place.writes.take() {
            let on_disk = &self.target.disk[at * PLACE..(at + 1) * PLACE];
            assert_eq!(on_disk[..written.len()], written, "GOOD, and not on the disk");
            place.may_be.iter_mut().for_each(|may_be| may_be[..written.len()].copy_from_slice(&written));
        } else {
            place.may_be.retain(|may_be| may_be[..bytes.len()] == *bytes);
            assert!(!place.may_be.is_empty(), "GOOD, and never on the disk");
        }
        place.may_be.dedup();
        place.may_be.truncate(64);
    }
}

fn faults() -> impl Strategy<Value = Faults> {
    (0_u64..60, 0_u64..40, 0_u64..60, 0_u64..40, 0_u64..30)
        .prop_map(|(lose, repeat, overtake, delay, corrupt)| Faults { lose, repeat, overtake, delay, corrupt })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 192, ..ProptestConfig::default() })]

    #[test]
    fn what_is_good_is_right(seed: u64, manner in 0..3, faults in faults()) {
        let manner = [Manner::Full, Manner::Linux, Manner::NoRec][usize::try_from(manner).unwrap()];
        let mut run = Run::new(seed, manner, faults);
        run.go(40);
        assert_eq!(run.good + run.failed, 40);
    }
}

/// One frame in a hundred is lost or corrupt: a target that answers REC correctly loses no command by it.
#[test]
fn a_hundredth_of_the_frames_is_no_reason_to_fail() {
    let faults = Faults { lose: 5, repeat: 0, overtake: 0, delay: 0, corrupt: 5 };
    for seed in 0..40 {
        let mut run = Run::new(seed, Manner::Full, faults);
        run.go(100);
        assert_eq!((run.good, run.failed), (100, 0), "{seed}");
    }
}

/// Without a fault nothing is sent twice, and nothing fails.
#[test]
fn a_path_without_faults_costs_nothing() {
    let faults = Faults { lose: 0, repeat: 0, overtake: 0, delay: 0, corrupt: 0 };
    for manner in [Manner::Full, Manner::NoRec] {
        let mut run = Run::new(1, manner, faults);
        run.go(200);
        let counters = run.world.initiator.counters(run.world.peer.id);
        assert_eq!((run.good, counters.resent, counters.abts, counters.out_of_order), (200, 0, 0, 0));
        assert!(Initiator::poll_timeout(&run.world.initiator).is_none());
    }
}

//! Faults of each frame, decided in advance by a seed.

use super::super::dice::Dice;
use crate::error::OpenError;
use crate::kind::Spec;
use linerate_text::decimal;
use std::time::Duration;

/// Probabilities are in billionths.
const ONE: u64 = 1_000_000_000;
/// Numbers drawn for each frame, whether they are needed or not, so that one fault does not change the others.
const DRAWS: u64 = 8;

/// Parsed value of the option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Settings {
    drop: u64,
    dup: u64,
    reorder: u64,
    corrupt: u64,
    pub(super) delay: Duration,
    seed: u64,
}

impl Settings {
    pub(super) fn parse(spec: &Spec) -> Result<Self, OpenError> {
        let mut all = Self { drop: 0, dup: 0, reorder: 0, corrupt: 0, delay: Duration::ZERO, seed: 1 };
        let mut given = Vec::new();
        for part in spec.option("faults").unwrap_or_default().split('/') {
            let (key, value) = part.split_once(':').unwrap_or((part, ""));
            if given.contains(&key) {
                return Err(spec.oops(format!("faults= has '{key}' twice"), "give it once"));
            }
            given.push(key);
            let chance = decimal(value, 9).filter(|p| *p <= ONE);
            let fits = match key {
                "drop" => chance.map(|p| all.drop = p),
                "dup" => chance.map(|p| all.dup = p),
                "reorder" => chance.map(|p| all.reorder = p),
                "corrupt" => chance.map(|p| all.corrupt = p),
                "delay" => time(value).map(|t| all.delay = t),
                "seed" => value.parse().ok().map(|n| all.seed = n),
                _ => {
                    let there = "there are drop, dup, reorder, corrupt, delay and seed, as in drop:0.01/seed:7";
                    return Err(spec.oops("faults= names no such fault", there));
                }
            };
            if fits.is_none() {
                let mend = match key {
                    "delay" => "give a time up to 10s, as 1ms or 20us",
                    "seed" => "give a number below 2^64",
                    _ => "give a number from 0 to 1 with at most 9 digits behind the point",
                };
                return Err(spec.oops(format!("faults={key}: will not do"), mend));
            }
        }
        Ok(all)
    }

    pub(super) fn corrupts(&self) -> bool {
        self.corrupt > 0
    }

    /// Fate of one frame by itself; None if it is dropped.
    fn fate(&self, dice: Dice, number: u64, bytes: usize) -> Option<Fate> {
        let base = number.wrapping_mul(DRAWS);
        let falls = |draw: u64, chance| dice.below(base.wrapping_add(draw), ONE) < chance;
        if falls(0, self.drop) {
            return None;
        }
        let bit = || usize::try_from(dice.below(base.wrapping_add(4), bytes as u64 * 8)).unwrap_or(0);
        Some(Fate {
            copies: 1 + u8::from(falls(1, self.dup)),
            again: false,
            flip: falls(3, self.corrupt).then(bit),
            overtaken: falls(2, self.reorder),
        })
    }
}

/// A time as `1ms`: at most ten seconds.
fn time(text: &str) -> Option<Duration> {
    let unit = text.find(|c: char| !c.is_ascii_digit() && c != '.')?;
    let digits = match &text[unit..] {
        "ns" => 0,
        "us" => 3,
        "ms" => 6,
        "s" => 9,
        _ => return None,
    };
    decimal(&text[..unit], digits).map(Duration::from_nanos).filter(|time| *time <= Duration::from_secs(10))
}

/// Treatment of a frame that is not dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Fate {
    /// Copies to be sent.
    pub(super) copies: u8,
    /// The first copy was sent already.
    pub(super) again: bool,
    /// Index of the bit to be flipped in the first copy.
    pub(super) flip: Option<usize>,
    /// The next frame overtakes this one.
    pub(super) overtaken: bool,
}

/// Faults of a port's `faults=` option, known in advance: they follow from the seed, the queue and the frame's number
/// in the queue, so that a receiver can tell by number which frames are missing, doubled or damaged on purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FaultPlan(Settings);

/// Planned faults of one frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Planned {
    /// Number of times that it is sent.
    pub copies: u8,
    /// Index of the bit that is flipped in its first copy.
    pub flip: Option<usize>,
}

impl FaultPlan {
    /// Plan of a port of this name; None if it has no `faults=` or the name is invalid.
    #[must_use]
    pub fn of(port: &str) -> Option<Self> {
        let spec = Spec::parse(port).ok()?;
        spec.option("faults")?;
        Settings::parse(&spec).ok().map(Self)
    }

    /// Faults of the frame with this number, counted from 0, and this length in bytes.
    #[must_use]
    pub fn fate(&self, queue: u16, number: u64, bytes: usize) -> Planned {
        let fate = self.0.fate(Dice::new(self.0.seed, queue.into()), number, bytes);
        fate.map_or(Planned { copies: 0, flip: None }, |fate| Planned { copies: fate.copies, flip: fate.flip })
    }
}

/// Fates of a queue's frames, one after the other.
#[derive(Debug)]
pub(super) struct Fates {
    settings: Settings,
    dice: Dice,
    frames: u64,
    /// This frame overtakes the last frame that was not dropped.
    passing: bool,
}

impl Fates {
    pub(super) fn new(settings: Settings, queue: u16) -> Self {
        Self { settings, dice: Dice::new(settings.seed, queue.into()), frames: 0, passing: false }
    }

    /// Fate of the next frame, which has `bytes` bytes; None if it is dropped.
    pub(super) fn next(&mut self, bytes: usize) -> Option<Fate> {
        let number = self.frames;
        self.frames += 1;
        let mut fate = self.settings.fate(self.dice, number, bytes)?;
        fate.overtaken &= !self.passing;
        self.passing = fate.overtaken;
        Some(fate)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_read_or_refused_by_name() {
        let parse = |text: &str| Settings::parse(&Spec::parse(&format!("null:,faults={text}")).unwrap());
        let all = parse("drop:0.01/dup:1/reorder:.5/corrupt:0.000000001/delay:1.5ms/seed:7").unwrap();
        assert_eq!((all.drop, all.dup, all.reorder, all.corrupt, all.seed), (ONE / 100, ONE, ONE / 2, 1, 7));
        assert_eq!(all.delay, Duration::from_micros(1500));
        for (text, word) in [
            ("drop", "faults=drop: will not do"),
            ("drop:2", "from 0 to 1"),
            ("drop:-0.1", "from 0 to 1"),
            ("drop:0.1/drop:0.1", "twice"),
            ("delay:1", "as 1ms"),
            ("delay:11s", "up to 10s"),
            ("delay:0.5ns", "as 1ms"),
            ("seed:x", "below 2^64"),
            ("lose:0.1", "no such fault"),
            ("drop:0.1/", "no such fault"),
        ] {
            let line = parse(text).unwrap_err().to_string();
            assert!(line.contains(word) && !line.contains('\n'), "{text}: {line}");
        }
    }

    #[test]
    fn fates_depend_on_seed_queue_and_number_alone() {
        let spec = Spec::parse("null:,faults=drop:0.1/dup:0.1/reorder:0.3/corrupt:0.1/seed:3").unwrap();
        let settings = Settings::parse(&spec).unwrap();
        let fates = |settings, queue| {
            let mut fates = Fates::new(settings, queue);
            (0..1000).map(|_| fates.next(60)).collect::<Vec<_>>()
        };
        let once = fates(settings, 0);
        assert_eq!(once, fates(settings, 0));
        assert_ne!(once, fates(settings, 1));
        assert_ne!(once, fates(Settings { seed: 4, ..settings }, 0));
        let without = fates(Settings { dup: 0, ..settings }, 0);
        let dropped = |fates: &[Option<Fate>]| fates.iter().map(Option::is_none).collect::<Vec<_>>();
        assert_eq!(dropped(&once), dropped(&without), "one fault does not change another");
        let sent: Vec<_> = once.iter().flatten().collect();
        assert!(sent.windows(2).all(|two| !(two[0].overtaken && two[1].overtaken)));
        assert!(sent.iter().filter_map(|fate| fate.flip).all(|bit| bit < 480));
    }

    #[test]
    fn a_plan_tells_each_frames_fate_by_its_number() {
        let name = "null:,faults=drop:0.1/dup:0.1/reorder:0.3/corrupt:0.1/seed:3";
        let plan = FaultPlan::of(name).unwrap();
        for queue in [0, 3] {
            let mut fates = Fates::new(Settings::parse(&Spec::parse(name).unwrap()).unwrap(), queue);
            let happened: Vec<_> = (0..1000).map(|number| (number, fates.next(60))).collect();
            for (number, fate) in happened.into_iter().rev() {
                let Planned { copies, flip } = plan.fate(queue, number, 60);
                assert_eq!((copies, flip), fate.map_or((0, None), |fate| (fate.copies, fate.flip)), "{number}");
            }
        }
        assert_eq!((FaultPlan::of("null:"), FaultPlan::of("no such port")), (None, None));
    }
}

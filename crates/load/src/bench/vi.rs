//! Bench of an adapter's virtual interfaces: the cost of distributing arriving frames among many of them.

use super::alone::{Stretches, on_core};
use super::{Bench, How, Missing, Peer, Setting, failed};
use linerate_nic::{Count, Flags, Nic, NicConfig, NicRx, RxFrame};
use linerate_offload::{Verdict, fill_checksums};
use linerate_port::{TxQueue, open_all};
use linerate_result::Unit;
use linerate_rt::Clock;
use linerate_text::saturating_ns;

pub(super) const BENCH: Bench = Bench {
    name: "vi-128",
    about: "64-byte UDP frames to 128 virtual interfaces in turn, received by their readers: the adapter's and the \
            readers' time, on one core",
    unit: Unit::Pps,
    two_cores: false,
    bound: None,
    run: |setting| run(setting, 128, 1, Offloads::On),
    peers: &[
        Peer { name: "one interface", how: How::Own(|setting| run(setting, 1, 1, Offloads::On)), wanted: Some(0.9) },
        Peer {
            name: "128, 16 frames each in turn",
            how: How::Own(|setting| run(setting, 128, 16, Offloads::On)),
            wanted: None,
        },
        Peer {
            name: "128, one of them busy",
            how: How::Own(|setting| run(setting, 128, u64::MAX, Offloads::On)),
            wanted: None,
        },
        Peer {
            name: "one, without offloads",
            how: How::Own(|setting| run(setting, 1, 1, Offloads::Off)),
            wanted: None,
        },
        Peer {
            name: "two, without offloads",
            how: How::Own(|setting| run(setting, 2, 1, Offloads::Off)),
            wanted: None,
        },
    ],
};

/// Frames per turn.
const BATCH: u32 = 256;
const SIZE: usize = 64;
/// Index of the word that holds a frame's number; the next word holds the complement, so that the checksum stays right.
const NUMBER: usize = 6;

/// The adapter's flags, and with them its ways of reading.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Offloads {
    /// All: frames are divided into lists, and checksums are verified.
    On,
    /// None: frames are read where they lie, those of several interfaces in one pass.
    Off,
}

fn run(setting: &Setting, interfaces: u8, row: u64, offloads: Offloads) -> Result<f64, Missing> {
    let time = saturating_ns(setting.time);
    on_core(setting.cores[0], move || measure(interfaces, row, offloads, time))
}

/// Measures with one thread that sends frames, `row` of them to an interface and then to the next, and reads them; only
/// receiving is timed.
fn measure(interfaces: u8, row: u64, offloads: Offloads, time: u64) -> Result<f64, Missing> {
    let mut ports = open_all(&["cable:vi{1", "cable:vi}1"]).map_err(failed)?.into_iter();
    let (Some(mut near), Some(far)) = (ports.next(), ports.next()) else { return Err(failed("no cable")) };
    let mut tx = near.take_tx(0).ok_or_else(|| failed("no queue"))?;
    let mut config = NicConfig { interfaces: interfaces.into(), mac: Some(mac(0)), ..NicConfig::default() };
    if offloads == Offloads::Off {
        config.capabilities = Flags::NONE;
    }
    let mut nic = Nic::new(far, &config).map_err(failed)?;
    let mut rx = nic.take_rx(0).ok_or_else(|| failed("no queue"))?;
    let mut sender = Sender::new(interfaces, row)?;
    let mut readers = Readers::new(&sender.frames, offloads);
    let mut clock = Clock::new();
    let mut times = Stretches::new()?;
    let mut now = clock.now();
    let until = now + time;
    while now < until {
        let sent = sender.send(&mut tx)?;
        let before = clock.now();
        readers.receive(&mut rx, before);
        now = clock.now();
        times.add(now - before, sent.into());
    }
    readers.judge(&sender)?;
    let control = nic.control();
    let ledger = control.ledger();
    let counted: u64 =
        (0..interfaces).filter_map(|vi| control.counters(vi.into()).ok()).map(|c| c.of(Count::RxFrames)).sum();
    if (ledger.frames, counted) != (sender.next, sender.next) {
        return Err(failed(format!(
            "of {} frames {} were counted, and {counted} handed over",
            sender.next, ledger.frames
        )));
    }
    Ok(1e9 / times.each_ns()?)
}

/// Address of an interface; addresses count up.
fn mac(vi: u8) -> [u8; 6] {
    [2, 0, 0, 0, 1, vi]
}

struct Sender {
    /// A frame for each interface, into which numbers are filled in.
    frames: Vec<[u8; SIZE]>,
    row: u64,
    /// Number of the next frame, counted from 0.
    next: u64,
}

impl Sender {
    fn new(interfaces: u8, row: u64) -> Result<Self, Missing> {
        let frames = (0..interfaces).map(|vi| {
            let mut frame = [0; SIZE];
            frame[..6].copy_from_slice(&mac(vi));
            frame[6..14].copy_from_slice(&[2, 0, 0, 0, 0, 1, 8, 0]);
            frame[14..34].copy_from_slice(&[0x45, 0, 0, 50, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
            frame[34..42].copy_from_slice(&[4, 210, 0, 9, 0, 30, 0, 0]);
            frame[8 * NUMBER + 8..].fill(0xff);
            fill_checksums(&mut frame, &[]).map_err(failed)?;
            Ok(frame)
        });
        Ok(Self { frames: frames.collect::<Result<_, Missing>>()?, row, next: 0 })
    }

    /// Interface that a frame is for.
    fn interface(&self, number: u64) -> usize {
        usize::try_from(number / self.row % self.frames.len() as u64).unwrap_or(0)
    }

    /// Sends a batch; returns the number of frames.
    fn send(&mut self, tx: &mut TxQueue) -> Result<u32, Missing> {
        let mut batch = tx.ring.reserve(BATCH);
        let n = batch.len();
        for i in 0..n {
            let template = &self.frames[self.interface(self.next)];
            let mut written = batch.put(i, template);
            written &= batch.frame(i).write_u64(8 * NUMBER, self.next);
            written &= batch.frame(i).write_u64(8 * NUMBER + 8, !self.next);
            if !written {
                return Err(failed("a frame does not fit"));
            }
            self.next += 1;
        }
        batch.commit(n);
        tx.sync();
        Ok(n)
    }
}

struct Readers {
    each: Vec<Reader>,
    offloads: Offloads,
}

#[derive(Clone, Default)]
struct Reader {
    /// Wrapping sum of a frame's words: the same for each number.
    sum: u64,
    frames: u64,
    /// Sum of index times number over all frames, which reveals frames out of order.
    numbers: u64,
    wrong: u64,
}

impl Reader {
    #[inline]
    fn look(&mut self, frame: &RxFrame<'_>, verdict: Verdict) {
        let Some(bytes) = frame.head().first_chunk::<SIZE>() else {
            self.wrong += 1;
            return;
        };
        let words = bytes.as_chunks::<8>().0;
        let sum = words.iter().fold(0u64, |sum, word| sum.wrapping_add(u64::from_be_bytes(*word)));
        let right = sum == self.sum && frame.len() == SIZE && frame.meta().checksum == verdict;
        self.wrong += u64::from(!right);
        self.frames += 1;
        self.note(u64::from_be_bytes(words[NUMBER]));
    }

    #[inline]
    fn note(&mut self, number: u64) {
        self.numbers = self.numbers.wrapping_mul(3).wrapping_add(number);
    }
}

impl Readers {
    fn new(frames: &[[u8; SIZE]], offloads: Offloads) -> Self {
        let sum = |frame: &[u8; SIZE]| {
            frame.as_chunks::<8>().0.iter().fold(0u64, |sum, word| sum.wrapping_add(u64::from_be_bytes(*word)))
        };
        let each = frames.iter().map(|frame| Reader { sum: sum(frame), ..Reader::default() }).collect();
        Self { each, offloads }
    }

    #[inline]
    fn receive(&mut self, rx: &mut NicRx, now: u64) {
        if self.offloads == Offloads::Off && self.each.len() > 1 {
            rx.take(now, usize::MAX, |vi, frame| self.each[vi].look(&frame, Verdict::Unknown));
            return;
        }
        let verdict = if self.offloads == Offloads::On { Verdict::Good } else { Verdict::Unknown };
        rx.poll(now);
        for vi in rx.ready() {
            let reader = &mut self.each[vi];
            rx.receive(vi, usize::MAX, |frame| reader.look(&frame, verdict));
        }
    }

    /// Checks that each interface got its own frames, whole and in order.
    fn judge(&self, sender: &Sender) -> Result<(), Missing> {
        let mut wanted = vec![Reader::default(); self.each.len()];
        for number in 0..sender.next {
            let reader = &mut wanted[sender.interface(number)];
            reader.frames += 1;
            reader.note(number);
        }
        for (vi, (seen, wanted)) in self.each.iter().zip(&wanted).enumerate() {
            if seen.wrong > 0 || (seen.frames, seen.numbers) != (wanted.frames, wanted.numbers) {
                let what = format!("{} frames, {} of them wrong", seen.frames, seen.wrong);
                return Err(failed(format!("interface {vi} got {what}; it was sent {}", wanted.frames)));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_interface_gets_its_own() {
        for (interfaces, row) in [(1, 1), (128, 1), (128, 16), (128, u64::MAX), (3, 2)] {
            for offloads in [Offloads::On, Offloads::Off] {
                assert!(measure(interfaces, row, offloads, 5_000_000).unwrap() > 0.0);
            }
        }
    }

    #[test]
    fn a_frame_in_the_wrong_place_fails_the_run() {
        let mut sender = Sender::new(4, 1).unwrap();
        sender.next = 8;
        let note = |numbers: &[(usize, u64)]| {
            let mut readers = Readers::new(&sender.frames, Offloads::On);
            for (vi, number) in numbers {
                readers.each[*vi].frames += 1;
                readers.each[*vi].note(*number);
            }
            readers
        };
        let right = [(0, 0), (1, 1), (2, 2), (3, 3), (0, 4), (1, 5), (2, 6), (3, 7)];
        assert!(note(&right).judge(&sender).is_ok());
        let mut twisted = right;
        twisted.swap(0, 4);
        assert!(note(&twisted).judge(&sender).is_err(), "out of order");
        assert!(note(&right[..7]).judge(&sender).is_err(), "one is missing");
        let mut astray = right;
        astray[2].0 = 3;
        assert!(note(&astray).judge(&sender).is_err(), "at another interface");
        let mut damaged = note(&right);
        damaged.each[1].wrong = 1;
        assert!(damaged.judge(&sender).is_err());
    }
}

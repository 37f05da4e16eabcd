//! A small target that is written for these tests alone, and a path that loses, repeats, reorders, delays and corrupts.

use crate::initiator::world::*;
use linerate_wire::*;
use linerate_wire::{OxId, RxId};
use std::collections::{BTreeMap, HashMap};

/// Numbers that look random and are the same for the same seed (xorshift).
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % end
    }

    /// True so many times in a thousand.
    pub(crate) fn permille(&mut self, times: u64) -> bool {
        self.below(1000) < times
    }
}

/// Rates of faults, per thousand frames.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Faults {
    pub(crate) lose: u64,
    pub(crate) repeat: u64,
    pub(crate) overtake: u64,
    pub(crate) delay: u64,
    pub(crate) corrupt: u64,
}

/// A path in one direction: frames by the time of their arrival.
pub(crate) struct Path {
    faults: Faults,
    arrivals: BTreeMap<(u64, u64), Vec<u8>>,
    count: u64,
    last: u64,
}

impl Path {
    pub(crate) fn new(faults: Faults) -> Self {
        Self { faults, arrivals: BTreeMap::new(), count: 0, last: 0 }
    }

    pub(crate) fn send(&mut self, now: u64, mut bytes: Vec<u8>, dice: &mut Dice) {
        let faults = self.faults;
        if dice.permille(faults.lose) {
            return;
        }
        if dice.permille(faults.repeat) {
            self.push(now + dice.below(SECOND), bytes.clone());
        }
        if dice.permille(faults.corrupt) {
            let at = usize::try_from(dice.below(bytes.len() as u64)).unwrap();
            bytes[at] ^= 1 << dice.below(8);
        }
        if dice.permille(faults.delay) {
            self.push(now + dice.below(SECOND), bytes);
        } else if dice.permille(faults.overtake) {
            self.push(now + dice.below(200_000), bytes);
        } else {
            self.last = self.last.max(now + 10_000) + 100;
            self.push(self.last, bytes);
        }
    }

    fn push(&mut self, at: u64, bytes: Vec<u8>) {
        self.count += 1;
        self.arrivals.insert((at, self.count), bytes);
    }

    pub(crate) fn next(&self) -> Option<u64> {
        self.arrivals.keys().next().map(|(at, _)| *at)
    }

    /// A frame that has arrived whole: the CRC finds all others.
    pub(crate) fn arrived(&mut self, now: u64) -> Option<Vec<u8>> {
        while self.next()? <= now {
            let (_, bytes) = self.arrivals.pop_first()?;
            if FcoeFrame::new_checked(&bytes).is_ok_and(|frame| frame.crc() == crc32(frame.covered())) {
                return Some(bytes);
            }
        }
        None
    }
}

/// Support of a target for REC and ABTS.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Manner {
    /// The target knows its exchanges by OX_ID and counts bytes.
    Full,
    /// The target behaves as Linux: REC and ABTS find an exchange by its RX_ID only; bytes are not counted.
    Linux,
    /// The target has no REC.
    NoRec,
}

struct Work {
    rx_id: RxId,
    offset: usize,
    len: usize,
    write: bool,
    /// Data received, and a flag for each byte received.
    data: Vec<u8>,
    there: Vec<bool>,
    /// Time of the answer.
    due: Option<u64>,
}

/// A disk of so many bytes, one LUN.
pub(crate) struct Target {
    manner: Manner,
    pub(crate) disk: Vec<u8>,
    works: HashMap<OxId, Work>,
    next_rx_id: RxId,
    out: Vec<Vec<u8>>,
}

impl Target {
    pub(crate) fn new(manner: Manner, len: usize) -> Self {
        Self { manner, disk: pattern(len, 1), works: HashMap::new(), next_rx_id: RxId(0), out: Vec::new() }
    }

    /// All exchanges are gone, as after a logout.
    pub(crate) fn reset(&mut self) {
        self.works.clear();
    }

    pub(crate) fn next(&self) -> Option<u64> {
        self.works.values().filter_map(|work| work.due).min()
    }

    /// Answers what is due.
    pub(crate) fn poll(&mut self, now: u64) -> Vec<Vec<u8>> {
        let mut due: Vec<OxId> = self
            .works
            .iter()
            .filter(|(_, work)| work.due.is_some_and(|due| due <= now))
            .map(|(ox_id, _)| *ox_id)
            .collect();
        due.sort_unstable();
        for ox_id in due {
            self.answer(ox_id);
        }
        std::mem::take(&mut self.out)
    }

    fn answer(&mut self, ox_id: OxId) {
        let work = self.works.get_mut(&ox_id).unwrap();
        let (rx_id, place) = (work.rx_id, work.offset..work.offset + work.len);
        if work.write && work.there.is_empty() {
            // The unit is ready for the data now.
            work.there = vec![false; work.len];
            work.due = None;
            let len = u32::try_from(work.len).unwrap();
            self.send(rx_id, xfer_rdy(ox_id, 0, len));
            return;
        }
        let work = self.works.remove(&ox_id).unwrap();
        if work.write {
            self.disk[place].copy_from_slice(&work.data);
        } else {
            for frame in data(ox_id, &self.disk[place]) {
                self.send(rx_id, frame);
            }
        }
        self.send(rx_id, good(ox_id));
    }

    fn send(&mut self, rx_id: RxId, mut frame: Frame) {
        frame.header.rx_id = rx_id;
        self.out.push(frame.bytes());
    }

    pub(crate) fn handle(&mut self, now: u64, bytes: &[u8], dice: &mut Dice) {
        let frame = Frame::parse(bytes);
        let ox_id = frame.header.ox_id;
        match frame.header.r_ctl {
            r_ctl::COMMAND => self.command(now, &frame, dice),
            r_ctl::DATA => {
                let Some(work) = self.works.get_mut(&ox_id).filter(|work| work.rx_id == frame.header.rx_id) else {
                    return;
                };
                let at = frame.header.parameter as usize;
                work.data[at..at + frame.payload.len()].copy_from_slice(&frame.payload);
                work.there[at..at + frame.payload.len()].fill(true);
                if !work.there.contains(&false) && work.due.is_none() {
                    work.due = Some(now + pause(dice));
                }
            }
            r_ctl::ELS_REQUEST if frame.payload[0] == 0x13 => self.rec(&frame),
            r_ctl::ELS_REQUEST => self.send(RxId::UNASSIGNED, els_reply(&frame, &[2, 0, 0, 0])),
            r_ctl::BLS_ABTS => {
                let known = self.works.get(&ox_id).map(|work| work.rx_id);
                let named = frame.header.rx_id;
                if self.manner == Manner::Linux && named == RxId::UNASSIGNED {
                    return;
                }
                if known.is_some_and(|rx_id| named == RxId::UNASSIGNED || named == rx_id) {
                    self.works.remove(&ox_id);
                    self.send(named, ba_acc(ox_id, 0, 0xffff));
                } else {
                    self.send(named, ba_rjt(ox_id));
                }
            }
            _ => {}
        }
    }

    fn command(&mut self, now: u64, frame: &Frame, dice: &mut Dice) {
        let unit = FcpCommand::parse(&frame.payload).unwrap();
        if self.works.contains_key(&frame.header.ox_id) {
            return;
        }
        self.next_rx_id = RxId((self.next_rx_id.0 + 1) % 0xfff0);
        let lba = u32::from_be_bytes(unit.cdb[2..6].try_into().unwrap());
        let len = unit.data_len as usize;
        let work = Work {
            rx_id: self.next_rx_id,
            offset: lba as usize * 512,
            len,
            write: unit.write,
            data: vec![0; len],
            there: Vec::new(),
            due: Some(now + pause(dice)),
        };
        self.works.insert(frame.header.ox_id, work);
    }

    fn rec(&mut self, request: &Frame) {
        let which = ExchangeRepr::parse(&request.payload).unwrap();
        let work = self.works.get(&which.ox_id).filter(|work| match self.manner {
            Manner::Linux => work.rx_id == which.rx_id,
            _ => which.rx_id == RxId::UNASSIGNED || work.rx_id == which.rx_id,
        });
        let reply = match (self.manner, work) {
            (Manner::NoRec, _) => reject(request, els_reason::NOT_SUPPORTED, els_explanation::NONE),
            (_, None) => reject(request, els_reason::LOGICAL_ERROR, els_explanation::EXCHANGE),
            (manner, Some(work)) => {
                // It holds the initiative unless it waits for data.
                let waits = work.write && work.due.is_none();
                let count = work.there.iter().take_while(|there| **there).count();
                let (status, count) = match manner {
                    Manner::Linux => (e_stat::SEQUENCE_INITIATIVE, 0),
                    _ if waits => (0, count),
                    _ => (e_stat::SEQUENCE_INITIATIVE, count),
                };
                let mut reply = rec_accept(request, status, u32::try_from(count).unwrap());
                reply.payload[6..8].copy_from_slice(&work.rx_id.0.to_be_bytes());
                reply
            }
        };
        self.send(RxId::UNASSIGNED, reply);
    }
}

/// Time that the unit takes: mostly microseconds, sometimes seconds.
fn pause(dice: &mut Dice) -> u64 {
    if dice.permille(20) { dice.below(6 * SECOND) } else { dice.below(100_000) }
}

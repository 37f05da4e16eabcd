//! A transport that does every step at once.

use crate::*;
use linerate_block::{Backend, Ram, Tag};
use linerate_wire::Wwn;
use linerate_wire::scsi::{Cdb, Sense, lun_bytes};

/// Default initiator of the tests.
pub(super) const ALICE: PeerId = PeerId { index: 0, generation: 1 };
/// Another initiator.
pub(super) const BOB: PeerId = PeerId { index: 1, generation: 1 };

pub(super) fn wwpn(peer: PeerId) -> Wwn {
    Wwn(0x2000_0200_0000_0001 + u64::from(peer.index))
}

pub(super) fn lun(number: u16) -> Lun {
    Lun(lun_bytes(number).unwrap())
}

/// Disks and a transport.
pub(super) struct Bench {
    pub(super) disks: Disks,
    pub(super) next: u32,
}

/// Outcome of a command.
#[derive(Debug)]
pub(super) struct Ended {
    pub(super) response: Response,
    pub(super) data: Vec<u8>,
}

impl Ended {
    /// The data of a command that ended well.
    pub(super) fn good(self) -> Vec<u8> {
        assert_eq!(self.response.status, Response::GOOD, "{:x?}", self.sense());
        self.data
    }

    pub(super) fn sense(&self) -> Option<Sense> {
        self.response.parsed_sense()
    }

    /// Sense key and code.
    pub(super) fn why(&self) -> (u8, (u8, u8)) {
        assert_eq!(self.response.status, Response::CHECK_CONDITION);
        let sense = self.sense().unwrap();
        (sense.key.0, sense.code)
    }
}

pub(super) const CONFIG: DisksConfig =
    DisksConfig { wwpn: Wwn(0x2000_0200_0000_00ff), wwnn: Wwn(0x1000_0200_0000_00ff), buffers: 64 << 20 };

impl Bench {
    /// One disk with that back end as LUN 0, and Alice and Bob, who have received their first unit attention.
    pub(super) fn new(backend: impl Backend + 'static) -> Self {
        let mut bench = Self { disks: Disks::new(&CONFIG), next: 0 };
        bench.disks.add(0, Box::new(backend)).unwrap();
        for peer in [ALICE, BOB] {
            bench.disks.nexus(peer, wwpn(peer));
            assert_eq!(bench.raw(peer, lun(0), &[0; 16], &[], 0).why(), (6, (0x29, 0)));
        }
        bench
    }

    /// 1 MiB of memory in blocks of 512 bytes.
    pub(super) fn ram() -> Self {
        Self::new(Ram::new(1 << 20, 512, false, 0x1234).unwrap())
    }

    pub(super) fn task<'a>(&mut self, nexus: PeerId, lun: Lun, cdb: &'a [u8], out: usize, data_in: u32) -> Task<'a> {
        self.next = (self.next + 1) % 64;
        let data_out = u32::try_from(out).unwrap();
        Task { tag: Tag(self.next), nexus, lun, cdb, attribute: TaskAttribute::Simple, data_out, data_in }
    }

    /// A command of Alice to LUN 0 with data out, and room for as much data in as it wants.
    pub(super) fn send(&mut self, cdb: &Cdb, out: &[u8]) -> Ended {
        self.by(ALICE, cdb, out)
    }

    pub(super) fn by(&mut self, nexus: PeerId, cdb: &Cdb, out: &[u8]) -> Ended {
        let bytes = cdb.bytes().unwrap();
        let mut padded = bytes.to_vec();
        padded.resize(bytes.len().max(16), 0);
        self.raw(nexus, lun(0), &padded, out, if out.is_empty() { u32::MAX } else { 0 })
    }

    pub(super) fn raw(&mut self, nexus: PeerId, lun: Lun, cdb: &[u8], out: &[u8], data_in: u32) -> Ended {
        let task = self.task(nexus, lun, cdb, out.len(), data_in);
        let step = self.disks.command(0, &task);
        self.finish(task.tag, step, out, data_in)
    }

    /// Does the steps of a task until it has ended.
    pub(super) fn finish(&mut self, tag: Tag, mut step: Step, out: &[u8], data_in: u32) -> Ended {
        let room = usize::try_from(data_in).unwrap();
        for _ in 0..100_000 {
            step = match step {
                Step::Pending => match self.disks.poll(0) {
                    Some((other, step)) => {
                        assert_eq!(other, tag);
                        step
                    }
                    None => Step::Pending,
                },
                Step::SendMemory { offset, len, then } => {
                    let mut data = Vec::new();
                    let end = offset + u64::from(len);
                    let memory = self.disks.memory(tag).unwrap();
                    while offset + (data.len() as u64) < end {
                        let at = offset + data.len() as u64;
                        data.extend(memory.read(at, usize::try_from(end - at).unwrap()));
                    }
                    data.truncate(room);
                    self.disks.sent(tag);
                    return Ended { response: then, data };
                }
                Step::Send { buffer, then } => {
                    let data = buffer.bytes()[..buffer.len().min(room)].to_vec();
                    self.disks.give_back(buffer);
                    return Ended { response: then, data };
                }
                Step::ReceiveMemory { offset, len } => {
                    self.disks.memory(tag).unwrap().write(offset, &out[..usize::try_from(len).unwrap()]);
                    self.disks.received(0, tag, None)
                }
                Step::Receive { mut buffer } => {
                    let len = buffer.len();
                    buffer.bytes_mut().copy_from_slice(&out[..len]);
                    self.disks.received(0, tag, Some(buffer))
                }
                Step::End(response) => return Ended { response, data: Vec::new() },
            };
        }
        panic!("the task does not end");
    }
}

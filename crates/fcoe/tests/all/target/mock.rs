//! A device server scripted by the test; by default it reads and writes blocks of one memory.

use linerate_block::{Buffer, Memory, Tag};
use linerate_fcoe::{DeviceServer, Function, FunctionResponse, Lun, PeerId, Response, Step, Task};
use linerate_wire::Wwn;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Behaviour for one command.
#[derive(Debug, Clone)]
pub(crate) enum Behaviour {
    End(Response),
    /// Data in from a buffer.
    Send(Vec<u8>, Response),
    SendMemory(u64, u32, Response),
    /// Data out into a buffer, then the response.
    Receive(usize, Response),
    ReceiveMemory(u64, u32, Response),
    /// The command stays with the device server.
    Wait,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Event {
    Nexus(u16),
    Lost(u16),
    Abort(u32),
    Received(Vec<u8>),
    Manage(Function, Lun),
}

/// GOOD for a command that wanted this number of bytes.
pub(crate) fn good(wanted: u64) -> Response {
    Response { status: 0, sense: [0; 32], sense_len: 0, wanted }
}

/// CHECK CONDITION with sense data of 18 bytes.
pub(crate) fn check(key: u8, wanted: u64) -> Response {
    let mut sense = [0; 32];
    (sense[0], sense[2], sense[7], sense[12]) = (0x70, key, 10, 0x29);
    Response { status: 2, sense, sense_len: 18, wanted }
}

#[derive(Debug)]
pub(crate) struct Mock {
    pub(crate) memory: Chunked,
    /// Behaviour for the next commands; when it is empty, READ(10) and WRITE(10) are executed.
    pub(crate) plans: VecDeque<Behaviour>,
    pub(crate) events: Vec<Event>,
    /// Steps that `poll` will return.
    pub(crate) later: VecDeque<(Tag, Step)>,
    /// Data goes through buffers instead of memory.
    pub(crate) buffers: bool,
    /// Number of buffers not yet given back.
    pub(crate) away: i32,
    pub(crate) function: FunctionResponse,
    /// The memory cannot be found any more.
    pub(crate) memory_gone: bool,
    /// Tasks that have a step to come: their unit, nexus, and the end.
    pub(crate) open: BTreeMap<u32, (Lun, PeerId, Response, u64)>,
    /// Tasks whose data goes out of memory.
    pub(crate) sending: BTreeSet<u32>,
}

/// Memory that lies in pieces.
#[derive(Debug)]
pub(crate) struct Chunked {
    pub(crate) bytes: Vec<u8>,
    pub(crate) piece: usize,
}

impl Memory for Chunked {
    fn read(&self, offset: u64, len: usize) -> &[u8] {
        let start = usize::try_from(offset).unwrap().min(self.bytes.len());
        let piece = (start / self.piece + 1) * self.piece;
        &self.bytes[start..(start + len).min(piece).min(self.bytes.len())]
    }

    fn write(&mut self, offset: u64, bytes: &[u8]) {
        self.bytes[usize::try_from(offset).unwrap()..][..bytes.len()].copy_from_slice(bytes);
    }

    fn protection(&self, _: u64) -> Option<[u8; 8]> {
        None
    }

    fn set_protection(&mut self, _: u64, _: [u8; 8]) {}
}

impl Mock {
    /// With a memory of so many bytes, each of them known.
    pub(crate) fn new(len: usize) -> Self {
        let bytes = (0..len).map(pattern).collect();
        Self {
            memory: Chunked { bytes, piece: 1 << 20 },
            plans: VecDeque::new(),
            events: Vec::new(),
            later: VecDeque::new(),
            buffers: false,
            away: 0,
            function: FunctionResponse::Complete,
            memory_gone: false,
            open: BTreeMap::new(),
            sending: BTreeSet::new(),
        }
    }

    fn by_cdb(&self, task: &Task<'_>) -> Behaviour {
        let lba = u64::from(u32::from_be_bytes(task.cdb[2..6].try_into().unwrap()));
        let len = usize::from(u16::from_be_bytes([task.cdb[7], task.cdb[8]])) * 512;
        let (start, wanted) = (lba * 512, len as u64);
        if start + wanted > self.memory.bytes.len() as u64 {
            return Behaviour::End(check(5, 0));
        }
        let bytes = u32::try_from(len).unwrap();
        match (task.cdb[0], self.buffers) {
            (0x28, false) => Behaviour::SendMemory(start, bytes, good(wanted)),
            (0x28, true) => {
                Behaviour::Send(self.memory.bytes[usize::try_from(start).unwrap()..][..len].to_vec(), good(wanted))
            }
            (0x2a, false) => Behaviour::ReceiveMemory(start, bytes.min(task.data_out), good(wanted)),
            (0x2a, true) => Behaviour::Receive(len.min(task.data_out as usize), good(wanted)),
            (0x00, _) => Behaviour::End(good(0)),
            _ => Behaviour::End(check(5, 0)),
        }
    }
}

/// Initial value of byte `at` of the memory.
pub(crate) fn pattern(at: usize) -> u8 {
    (at * 7 + at / 251).to_le_bytes()[0]
}

impl DeviceServer for Mock {
    fn nexus(&mut self, nexus: PeerId, _: Wwn) {
        self.events.push(Event::Nexus(nexus.index));
    }

    fn nexus_lost(&mut self, nexus: PeerId) {
        self.open.retain(|_, (_, whose, _, _)| *whose != nexus);
        self.events.push(Event::Lost(nexus.index));
    }

    fn command(&mut self, _: u64, task: &Task<'_>) -> Step {
        let ended = !self.open.contains_key(&task.tag.0) && !self.sending.contains(&task.tag.0);
        assert!(ended, "a tag is given again only when its task has ended");
        let plan = self.plans.pop_front().unwrap_or_else(|| self.by_cdb(task));
        let lba = u64::from(u32::from_be_bytes(task.cdb[2..6].try_into().unwrap()));
        let mut open = |then| _ = self.open.insert(task.tag.0, (task.lun, task.nexus, then, lba * 512));
        match plan {
            Behaviour::End(response) => Step::End(response),
            Behaviour::SendMemory(offset, len, then) => {
                self.sending.insert(task.tag.0);
                Step::SendMemory { offset, len, then }
            }
            Behaviour::Send(data, then) => {
                self.away += 1;
                let mut buffer = Buffer::new(data.len());
                buffer.bytes_mut().copy_from_slice(&data);
                Step::Send { buffer, then }
            }
            Behaviour::ReceiveMemory(offset, len, then) => {
                open(then);
                Step::ReceiveMemory { offset, len }
            }
            Behaviour::Receive(len, then) => {
                open(then);
                self.away += 1;
                Step::Receive { buffer: Buffer::new(len) }
            }
            Behaviour::Wait => {
                open(good(0));
                Step::Pending
            }
        }
    }

    fn received(&mut self, _: u64, tag: Tag, buffer: Option<Buffer>) -> Step {
        let (_, _, then, offset) = self.open.remove(&tag.0).expect("the task is open");
        if let Some(buffer) = buffer {
            self.away -= 1;
            self.events.push(Event::Received(buffer.bytes().to_vec()));
            if self.buffers {
                self.memory.write(offset, buffer.bytes());
            }
        }
        Step::End(then)
    }

    fn give_back(&mut self, _: Buffer) {
        self.away -= 1;
    }

    fn sent(&mut self, tag: Tag) -> bool {
        self.sending.remove(&tag.0);
        false
    }

    fn abort(&mut self, tag: Tag, buffer: Option<Buffer>) {
        self.away -= i32::from(buffer.is_some());
        assert!(self.open.remove(&tag.0).is_some(), "only open tasks are aborted");
        self.events.push(Event::Abort(tag.0));
    }

    fn manage(
        &mut self,
        _: u64,
        nexus: PeerId,
        lun: Lun,
        function: Function,
        aborted: &mut dyn FnMut(Tag),
    ) -> FunctionResponse {
        self.events.push(Event::Manage(function, lun));
        if self.function == FunctionResponse::Complete {
            self.open.retain(|tag, (of, by, _, _)| {
                let ends = match function {
                    Function::AbortTaskSet => *of == lun && *by == nexus,
                    Function::ClearTaskSet | Function::LogicalUnitReset => *of == lun,
                    Function::TargetReset => true,
                    Function::ClearAca => false,
                };
                if ends {
                    aborted(Tag(*tag));
                }
                !ends
            });
        }
        self.function
    }

    fn poll(&mut self, _: u64) -> Option<(Tag, Step)> {
        let (tag, step) = self.later.pop_front()?;
        self.open.remove(&tag.0);
        Some((tag, step))
    }

    fn with_memory<R>(&mut self, _: Tag, with: impl FnOnce(&mut dyn Memory) -> R) -> Option<R> {
        if self.memory_gone { None } else { Some(with(&mut self.memory)) }
    }
}

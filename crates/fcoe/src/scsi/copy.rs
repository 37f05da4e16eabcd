//! EXTENDED COPY (SPC-4, clause 6.4) between units of one target: blocks that never cross the network.
//!
//! A copy goes on by one operation a [`poll`](super::DeviceServer::poll), as upkeep does. Both units are as open to it as to
//! its initiator: hidden ones are not found, reservations and write protection hold, before each piece again. What is
//! written is held against COMPARE AND WRITE like any WRITE.

use super::disks::Disks;
use super::hold::{Hold, Span};
use super::task::{OperationId, Owner, Stage};
use super::unit::{Unit, UnitIndex};
use super::work::{Next, Outcome, PIECE};
use super::{Response, Step};
use crate::PeerId;
use crate::indexed::TableIndex;
use linerate_block::{Buffer, Operation, Tag};
use linerate_wire::scsi::{Cdb, CopyList, Sense, SenseKey, Transfer, asc};
use std::collections::VecDeque;

/// Most bytes of one segment.
const MAX_SEGMENT: u32 = 64 << 20;
/// Most copies at a time.
const MAX_COPIES: u8 = 16;

/// Blocks that are copied.
#[derive(Debug, Clone, Copy)]
struct Segment {
    from: UnitIndex,
    to: UnitIndex,
    source: u64,
    destination: u64,
    blocks: u64,
    /// Blocks that are done: the first ones, or the last ones if it goes backwards.
    done: u64,
    /// Blocks that are written overlap those that are still to be read when it goes forwards.
    backwards: bool,
}

impl Segment {
    /// First block, from that of the segment, and number of blocks of the next piece.
    fn piece(&self, most: u64) -> (u64, u64) {
        let blocks = (self.blocks - self.done).min(most);
        (if self.backwards { self.blocks - self.done - blocks } else { self.done }, blocks)
    }
}

/// Progress of a copy with its present piece.
#[derive(Debug)]
enum Phase {
    /// Nothing yet.
    Begin,
    Reading,
    /// It was read, without protection information.
    Read(Buffer),
    Writing,
}

/// A copy under way.
#[derive(Debug)]
pub(super) struct Copy {
    tag: Tag,
    /// The first is the present one.
    segments: VecDeque<Segment>,
    phase: Phase,
    /// The unit and the operation under way; then the outcome is awaited.
    operation: Option<(UnitIndex, OperationId)>,
    outcome: Option<Outcome>,
    /// It waits for others: for buffers, or for changes of the same blocks.
    blocked: bool,
}

impl Disks {
    /// EXTENDED COPY before its parameter list has come.
    pub(super) fn extended_copy(&mut self, tag: Tag, cdb: Cdb, len: u32) -> Result<Step, Response> {
        if len == 0 {
            return Ok(Step::End(Response::good(0)));
        }
        if len > CopyList::MAX_LEN {
            return Err(Response::illegal(asc::PARAMETER_LENGTH));
        }
        self.receive_list(tag, cdb, len)
    }

    /// EXTENDED COPY with its parameter list: nothing is copied unless all segments can be.
    pub(super) fn copy(&mut self, tag: Tag, list: &[u8]) -> Result<Step, Response> {
        let nexus = self.tasks[tag].nexus;
        let CopyList { targets, segments } = CopyList::parse(list).map_err(|sense| Response::check(&sense))?;
        let unreachable = Response::check(&Sense::new(SenseKey::COPY_ABORTED, asc::COPY_TARGET_NOT_REACHABLE));
        let mut units = Vec::new();
        for target in &targets {
            // Units are known by their NAA names.
            let named = |unit: &Unit| {
                (target.code_set, target.kind, target.association) == (1, 3, 0)
                    && unit.name.naa().bytes() == target.identifier
            };
            let seen = self.units.indices().find(|index| named(&self.units[*index]) && self.is_seen(nexus, *index));
            let index = seen.ok_or(unreachable)?;
            if self.units[index].geometry.block_size != target.block_size {
                return Err(Response::illegal(asc::FIELD_IN_PARAMETERS));
            }
            units.push(index);
        }
        let mut copies = VecDeque::new();
        for segment in segments {
            let unit = |index: u16| units.get(usize::from(index)).copied();
            let (Some(from), Some(to)) = (unit(segment.from), unit(segment.to)) else { return Err(unreachable) };
            let (source, destination, blocks) = (segment.source, segment.destination, u64::from(segment.blocks));
            let [read, written] = [from, to].map(|index| &self.units[index]);
            if read.block() != written.block() || blocks * read.block() > u64::from(MAX_SEGMENT) {
                return Err(Response::illegal(asc::FIELD_IN_PARAMETERS));
            }
            read.has(source, blocks).and(written.has(destination, blocks)).map_err(aborted)?;
            self.may_copy(nexus, from, to)?;
            let backwards = from == to && source < destination;
            if blocks > 0 {
                copies.push_back(Segment { from, to, source, destination, blocks, done: 0, backwards });
            }
        }
        let slot = &mut self.tasks[tag];
        slot.wanted = list.len() as u64;
        if copies.is_empty() {
            return Ok(Step::End(Response::good(slot.wanted)));
        }
        if self.copies.len() >= usize::from(MAX_COPIES) {
            return Err(Response::status(Response::TASK_SET_FULL));
        }
        slot.stage = Stage::Copying;
        self.copies.push_back(Copy {
            tag,
            segments: copies,
            phase: Phase::Begin,
            operation: None,
            outcome: Some(Outcome::NONE),
            blocked: false,
        });
        Ok(Step::Pending)
    }

    /// RECEIVE COPY OPERATING PARAMETERS (SPC-4, clause 6.23): appends the data to the scratch buffer.
    pub(super) fn copy_parameters(&mut self) {
        let to = &mut self.scratch;
        // SNLID 0; what follows is counted at the end.
        to.extend([0; 8]);
        to.extend(CopyList::MAX_TARGETS.to_be_bytes());
        to.extend(CopyList::MAX_SEGMENTS.to_be_bytes());
        to.extend(CopyList::MAX_DESCRIPTORS.to_be_bytes());
        to.extend(MAX_SEGMENT.to_be_bytes());
        // No inline data, nothing held, no stream; pieces of 2^9 bytes or more.
        to.extend([0; 12]);
        to.extend([0, 0, 0, MAX_COPIES, MAX_COPIES, 9, 0, 0, 0, 0, 0]);
        let [segment, target] = CopyList::KNOWN;
        to.extend([2, segment, target]);
        linerate_wire::scsi::put_list_len(to, 0, 4);
    }

    /// True if a unit is not hidden from a nexus.
    fn is_seen(&self, nexus: PeerId, index: UnitIndex) -> bool {
        let attentions = self.nexuses.get(nexus).and_then(|nexus| nexus.units.get(index.number()));
        attentions.is_some_and(|attentions| !attentions.is_hidden())
    }

    /// Checks that a nexus may read one unit and write the other one now.
    fn may_copy(&self, nexus: PeerId, from: UnitIndex, to: UnitIndex) -> Result<(), Response> {
        let who = self.nexuses.name(nexus);
        let transfer = Transfer::new(0, 0);
        for (index, cdb) in [(from, Cdb::Read(transfer)), (to, Cdb::Write(transfer))] {
            let unit = &self.units[index];
            if !unit.reservations.allows(who, &cdb) {
                return Err(aborted(Response::status(Response::RESERVATION_CONFLICT)));
            }
            if let Some(sense) = unit.upkeep.sense(unit.geometry.blocks) {
                return Err(aborted(Response::check(&sense)));
            }
            self.ready(index).map_err(aborted)?;
        }
        self.units[to].writable().map_err(aborted)
    }

    /// Takes the outcome of a copy's operation.
    pub(super) fn copied(&mut self, tag: Tag, outcome: Outcome) {
        match self.copies.iter_mut().find(|copy| copy.tag == tag) {
            Some(copy) => (copy.operation, copy.outcome) = (None, Some(outcome)),
            None => outcome.buffer.into_iter().for_each(|buffer| self.pool.give(buffer)),
        }
    }

    /// Ends the copy of a task that is gone; what its operation may still write is held.
    pub(super) fn drop_copy(&mut self, tag: Tag) {
        let Some(at) = self.copies.iter().position(|copy| copy.tag == tag) else { return };
        let Some(copy) = self.copies.remove(at) else { return };
        if let (Phase::Writing, Some(segment)) = (&copy.phase, copy.segments.front()) {
            if let Some((unit, id)) = copy.operation {
                let span = self.operations.orphan(id);
                self.units[unit].holds.orphan(span);
            }
            self.let_go(segment.to, Hold::Shared);
        } else if let Some((_, id)) = copy.operation {
            self.operations.orphan(id);
        }
        let buffer = copy.outcome.and_then(|outcome| outcome.buffer);
        let read = if let Phase::Read(buffer) = copy.phase { Some(buffer) } else { None };
        buffer.into_iter().chain(read).for_each(|buffer| self.pool.give(buffer));
    }

    /// Tasks of copies that read or write a unit.
    pub(super) fn copies_of(&self, index: UnitIndex) -> Vec<Tag> {
        let touches = |copy: &&Copy| copy.segments.iter().any(|segment| segment.from == index || segment.to == index);
        self.copies.iter().filter(touches).map(|copy| copy.tag).collect()
    }

    /// True if a copy can go on without any event.
    pub(super) fn is_copying(&self) -> bool {
        self.copies.iter().any(|copy| copy.outcome.is_some() && !copy.blocked)
    }

    /// Lets the next copy that can go on do so by one operation.
    #[inline]
    pub(super) fn tend_copies(&mut self) {
        for _ in 0..self.copies.len() {
            let Some(mut copy) = self.copies.pop_front() else { return };
            let waits = copy.outcome.is_none();
            match self.copy_on(&mut copy) {
                None => {
                    let acted = !waits && !copy.blocked;
                    self.copies.push_back(copy);
                    if acted {
                        return;
                    }
                }
                Some(response) => {
                    let tag = copy.tag;
                    let mut step = Step::End(response);
                    self.settle(tag, &mut step);
                    self.tasks[tag].stage = Stage::Ready;
                    return self.ready.push_back((tag, step));
                }
            }
        }
    }

    /// Submits the next operation of a copy; its response, if there is none.
    fn copy_on(&mut self, copy: &mut Copy) -> Option<Response> {
        let Outcome { result, buffer } = copy.outcome.take()?;
        copy.blocked = false;
        let nexus = self.tasks[copy.tag].nexus;
        let Some(segment) = copy.segments.front_mut() else { return Some(self.copy_ended(copy.tag)) };
        let most = PIECE / self.units[segment.from].block();
        let (skip, blocks) = segment.piece(most);
        let span = Span::new(segment.destination + skip, blocks);
        let phase = std::mem::replace(&mut copy.phase, Phase::Begin);
        if matches!(phase, Phase::Writing) {
            self.let_go(segment.to, Hold::Shared);
        }
        if let Err(error) = result {
            buffer.into_iter().for_each(|buffer| self.pool.give(buffer));
            return Some(aborted(super::response::failure(error, false, 0)));
        }
        let phase = match (phase, buffer) {
            (Phase::Writing, buffer) => {
                buffer.into_iter().for_each(|buffer| self.pool.give(buffer));
                segment.done += blocks;
                if segment.done == segment.blocks {
                    copy.segments.pop_front();
                }
                // The next piece begins with the next poll.
                copy.outcome = Some(Outcome::NONE);
                return copy.segments.is_empty().then(|| self.copy_ended(copy.tag));
            }
            (Phase::Reading, Some(mut buffer)) => {
                let lba = segment.source + skip;
                let verified = self.units[segment.from].tools(&mut self.pool, 0).verify_and_strip(lba, &mut buffer);
                if let Err(response) = verified {
                    self.pool.give(buffer);
                    return Some(aborted(response));
                }
                Phase::Read(buffer)
            }
            (phase, _) => phase,
        };
        let (from, to) = (segment.from, segment.to);
        let (unit, next) = match phase {
            Phase::Read(buffer) => {
                if !self.units[to].holds.share(span) {
                    (copy.phase, copy.blocked, copy.outcome) = (Phase::Read(buffer), true, Some(Outcome::NONE));
                    return None;
                }
                if let Err(response) = self.may_copy(nexus, from, to) {
                    self.pool.give(buffer);
                    self.let_go(to, Hold::Shared);
                    return Some(response);
                }
                copy.phase = Phase::Writing;
                (to, self.units[to].tools(&mut self.pool, 0).write(segment.destination + skip, buffer, false))
            }
            _ => {
                if let Err(response) = self.may_copy(nexus, from, to) {
                    return Some(response);
                }
                copy.phase = Phase::Reading;
                (from, self.units[from].tools(&mut self.pool, 0).read(segment.source + skip, blocks))
            }
        };
        let Next::Submit(operation) = next else {
            // There are no buffers: the piece is read again when there are.
            if matches!(copy.phase, Phase::Writing) {
                self.let_go(to, Hold::Shared);
            }
            (copy.phase, copy.blocked, copy.outcome) = (Phase::Begin, true, Some(Outcome::NONE));
            return None;
        };
        self.copy_submit(copy, unit, operation);
        None
    }

    fn copy_submit(&mut self, copy: &mut Copy, unit: UnitIndex, operation: Operation) {
        match self.launch(unit, Owner::Copy(copy.tag), operation) {
            Ok(outcome) => copy.outcome = Some(outcome),
            Err(id) => copy.operation = Some((unit, id)),
        }
    }

    fn copy_ended(&self, tag: Tag) -> Response {
        Response::good(self.tasks[tag].wanted)
    }
}

/// COPY ABORTED, for what one of the units would have answered (SPC-4, clause 6.4.4).
fn aborted(response: Response) -> Response {
    let code = response.parsed_sense().map_or(asc::THIRD_PARTY_FAILURE, |sense| sense.code);
    Response::check(&Sense::new(SenseKey::COPY_ABORTED, code))
}

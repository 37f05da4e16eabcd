//! What each command does.

use super::attention::Attentions;
use super::disks::Disks;
use super::mode::Question;
use super::task::Stage;
use super::unit::{MAX_COMPARE, MAX_SPAN, Unit, length_field, options_field};
use super::work::{Compare, Flush, Guarded, Read, Same, SameStage, Unmap, Verify, Work, Write};
use super::{Response, Step, Task, inquiry, mode, opcodes};
use crate::{Buffer, ProtectionType};
use linerate_wire::Wwn;
use linerate_wire::scsi::{Cdb, ReserveParameters, Sense, SenseKey, Transfer, Width, asc, lun_octets, put_luns};

impl Disks {
    /// A command to a LUN that is none to that initiator (SPC-4, clause 4.6.4): only three commands say more than LOGICAL
    /// UNIT NOT SUPPORTED.
    pub(super) fn no_unit(&mut self, task: &Task<'_>) -> Step {
        let none = Sense::new(SenseKey::ILLEGAL_REQUEST, asc::LUN);
        self.scratch.clear();
        let (done, allocation) = match super::response::parse(task.cdb) {
            Ok(Cdb::Inquiry { page, allocation }) => (inquiry::nobody(page, &mut self.scratch), u32::from(allocation)),
            // Everybody may ask LUN 0 which units there are (SPC-4, clause 6.33.1).
            Ok(Cdb::ReportLuns { select, allocation }) if matches!(task.lun.0, [0 | 0x40, 0, 0, 0, 0, 0, 0, 0]) => {
                (self.report_luns(task.nexus, select), allocation)
            }
            Ok(Cdb::RequestSense { descriptors, allocation }) => {
                put_sense(&none, descriptors, &mut self.scratch);
                (Ok(()), u32::from(allocation))
            }
            _ => (Err(Response::check(&none)), 0),
        };
        match done.and_then(|()| self.answer(allocation)) {
            Ok(step) => step,
            Err(response) => Step::End(response),
        }
    }

    /// What a nexus must be told before its command is done; some commands are done all the same (SAM-5, clause 5.14).
    pub(super) fn attention(&mut self, task: &Task<'_>, unit: usize) -> Option<Response> {
        match super::response::parse(task.cdb) {
            Ok(Cdb::Inquiry { .. } | Cdb::ReportLuns { .. } | Cdb::RequestSense { .. }) => None,
            _ => {
                let sense = self.nexuses.get_mut(task.nexus)?.units.get_mut(unit)?.take()?;
                Some(self.count(unit, Response::check(&sense)))
            }
        }
    }

    /// Counts an end that comes before a task has begun.
    pub(super) fn count(&mut self, unit: usize, response: Response) -> Response {
        self.units[unit].counters.checks += u64::from(response.status == Response::CHECK_CONDITION);
        response
    }

    /// Does a command, or its first step.
    #[inline]
    pub(super) fn execute(&mut self, place: usize, cdb: Cdb) -> Result<Step, Response> {
        let slot = &self.tasks[place];
        let reservations = &self.units[usize::from(slot.unit)].reservations;
        if reservations.is_held() {
            let who = self.nexuses.get(slot.nexus).map_or(Wwn(0), |nexus| nexus.wwpn);
            if !reservations.allows(who, &cdb) {
                return Err(Response::status(Response::RESERVATION_CONFLICT));
            }
        }
        match cdb {
            Cdb::Read(transfer) => self.read(place, &transfer),
            Cdb::Write(transfer) => self.write(place, &transfer, false),
            _ => self.execute_other(place, cdb),
        }
    }

    fn execute_other(&mut self, place: usize, cdb: Cdb) -> Result<Step, Response> {
        let nexus = self.tasks[place].nexus;
        let index = usize::from(self.tasks[place].unit);
        self.scratch.clear();
        let allocation = match cdb {
            Cdb::TestUnitReady => {
                self.ready(index)?;
                return Ok(Step::End(Response::good(0)));
            }
            Cdb::RequestSense { descriptors, allocation } => {
                let sense = self.nexuses.get_mut(nexus).and_then(|nexus| nexus.units.get_mut(index)?.take());
                let sense = sense.unwrap_or_else(|| match self.ready(index) {
                    Ok(()) => Sense::new(SenseKey::NO_SENSE, asc::NONE),
                    Err(_) => STOPPED,
                });
                put_sense(&sense, descriptors, &mut self.scratch);
                u32::from(allocation)
            }
            Cdb::Inquiry { page, allocation } => {
                inquiry::inquire(&self.units[index], &self.config, page, &mut self.scratch)?;
                u32::from(allocation)
            }
            Cdb::ReportLuns { select, allocation } => {
                self.report_luns(nexus, select)?;
                // They are known now (SPC-4, clause 6.33.1).
                for attentions in self.nexuses.get_mut(nexus).into_iter().flat_map(|nexus| &mut nexus.units) {
                    attentions.remove(Attentions::LUNS_CHANGED);
                }
                allocation
            }
            Cdb::ModeSense { ten, no_descriptors, long, control, page, subpage, allocation } => {
                let question = Question { ten, no_descriptors, long, control, page, subpage };
                mode::sense(&self.units[index], question, &mut self.scratch)?;
                u32::from(allocation)
            }
            Cdb::ReadCapacity10 => {
                self.ready(index)?;
                self.scratch.extend(self.units[index].capacity().octets_10());
                8
            }
            Cdb::ReadCapacity16 { allocation } => {
                self.ready(index)?;
                self.scratch.extend(self.units[index].capacity().octets_16());
                allocation
            }
            Cdb::ReportSupportedOperationCodes { timeouts, options, opcode, action, allocation } => {
                opcodes::report(&self.units[index], timeouts, options, opcode, action, &mut self.scratch)?;
                allocation
            }
            Cdb::StartStop { power, no_flush, load, start, .. } => {
                return self.start_stop(place, power, no_flush, load, start);
            }
            Cdb::SynchronizeCache { lba, blocks, .. } => {
                self.ready(index)?;
                self.units[index].has(lba, u64::from(blocks))?;
                return self.flush(place);
            }
            Cdb::PreFetch { lba, blocks, .. } => {
                self.ready(index)?;
                self.units[index].has(lba, u64::from(blocks))?;
                // GOOD says that not all of it is in a cache (SBC-3, clause 5.8): there is none.
                return Ok(Step::End(Response::good(0)));
            }
            Cdb::WriteAndVerify { transfer, compare } => {
                // What is written is always compared with what came: BYTCHK 0 asks for less.
                if compare > 1 {
                    return Err(Response::invalid_field(options_field(transfer.width), Some(2)));
                }
                return self.write(place, &transfer, true);
            }
            Cdb::Verify { transfer, compare } => return self.verify(place, &transfer, compare),
            Cdb::WriteSame { .. } => return self.write_same(place, &cdb),
            Cdb::Unmap { anchor, len } => return self.unmap(place, anchor, len),
            Cdb::CompareAndWrite { lba, blocks, protect, fua, .. } => {
                return self.compare_and_write(place, lba, blocks, protect, fua);
            }
            Cdb::PersistentReserveIn { action, allocation } => {
                self.units[index].reservations.report(action, &mut self.scratch);
                u32::from(allocation)
            }
            Cdb::PersistentReserveOut { len, .. } => {
                // Nothing but the parameters without names is accepted (SPC-4, clause 6.16.3).
                if usize::try_from(len).ok() != Some(ReserveParameters::LEN) {
                    return Err(Response::illegal(asc::PARAMETER_LENGTH));
                }
                self.tasks[place].cdb = cdb;
                return self.receive(place, len, Work::Reserve(None));
            }
            Cdb::Read(_) | Cdb::Write(_) => return self.execute(place, cdb),
        };
        self.answer(allocation)
    }

    /// Sends what stands in the scratch, as much of it as is taken.
    fn answer(&mut self, allocation: u32) -> Result<Step, Response> {
        let len = self.scratch.len().min(usize::try_from(allocation).unwrap_or(usize::MAX));
        let then = Response::good(len as u64);
        if len == 0 {
            return Ok(Step::End(then));
        }
        let mut buffer = self.pool.take(len).ok_or(Response::status(Response::TASK_SET_FULL))?;
        buffer.bytes_mut().copy_from_slice(&self.scratch[..len]);
        Ok(Step::Send { buffer, then })
    }

    fn report_luns(&mut self, nexus: crate::PeerId, select: u8) -> Result<(), Response> {
        let mut list = std::mem::take(&mut self.scratch);
        let mut luns: Vec<u16> = match select {
            0 | 2 => self.seen(nexus).collect(),
            // There is no well known unit.
            1 => Vec::new(),
            _ => {
                self.scratch = list;
                return Err(Response::invalid_field(2, None));
            }
        };
        luns.sort_unstable();
        put_luns(luns.into_iter().filter_map(lun_octets), &mut list);
        self.scratch = list;
        Ok(())
    }

    /// Whether the medium can be reached.
    fn ready(&self, index: usize) -> Result<(), Response> {
        if self.units[index].stopped { Err(Response::check(&STOPPED)) } else { Ok(()) }
    }

    #[inline]
    fn read(&mut self, place: usize, transfer: &Transfer) -> Result<Step, Response> {
        let slot = &mut self.tasks[place];
        let unit = &mut self.units[usize::from(slot.unit)];
        let guarded = medium(unit, transfer)?;
        let (offset, len) = unit.span(transfer)?;
        unit.counters.reads += 1;
        unit.counters.octets_read += u64::from(len);
        slot.wanted = moved(unit, transfer, guarded.as_ref());
        let then = Response::good(slot.wanted);
        if len == 0 {
            return Ok(Step::End(then));
        }
        if unit.is_direct() {
            return Ok(Step::SendMemory { offset, len, then });
        }
        let flush = transfer.fua && unit.geometry.volatile;
        slot.work = Work::Read(Read { lba: transfer.lba, blocks: transfer.blocks, guarded, flush });
        Ok(self.go(place))
    }

    /// WRITE, and WRITE AND VERIFY.
    #[inline]
    fn write(&mut self, place: usize, transfer: &Transfer, verify: bool) -> Result<Step, Response> {
        let slot = &mut self.tasks[place];
        let unit = &mut self.units[usize::from(slot.unit)];
        if verify {
            medium_only(unit, transfer)?;
        }
        let guarded = medium(unit, transfer)?;
        unit.writable()?;
        let (offset, len) = unit.span(transfer)?;
        let out = u32::try_from(moved(unit, transfer, guarded.as_ref())).unwrap_or(u32::MAX);
        if out > slot.data_out {
            return Err(Response { wanted: u64::from(out), ..Response::illegal(asc::INFORMATION_UNIT) });
        }
        unit.counters.writes += 1;
        unit.counters.octets_written += u64::from(len);
        slot.wanted = u64::from(out);
        if len == 0 {
            return Ok(Step::End(Response::good(0)));
        }
        // What is in memory is what was written: there is nothing to verify.
        if unit.is_direct() {
            slot.stage = Stage::ReceivingMemory;
            return Ok(Step::ReceiveMemory { offset, len });
        }
        let blocks = u64::from(transfer.blocks);
        let verify = verify.then_some(Verify { lba: transfer.lba, left: blocks, done: 0, data: None, one: false });
        // What is verified is on the medium first (SBC-3, clause 5.37).
        let fua = transfer.fua || verify.is_some() && unit.geometry.volatile;
        let work = Work::Write(Write { lba: transfer.lba, fua, data: None, guarded, then: verify });
        self.receive(place, out, work)
    }

    /// Asks for data out, as much of it as the command needs. Half a command would not be what was asked: when FCP_DL is
    /// less, nothing is moved.
    fn receive(&mut self, place: usize, len: u32, work: Work) -> Result<Step, Response> {
        let slot = &mut self.tasks[place];
        if len > slot.data_out {
            return Err(Response { wanted: u64::from(len), ..Response::illegal(asc::INFORMATION_UNIT) });
        }
        let buffer = usize::try_from(len).ok().and_then(|len| self.pool.take(len));
        let buffer: Buffer = buffer.ok_or(Response::status(Response::TASK_SET_FULL))?;
        slot.wanted = u64::from(len);
        slot.work = work;
        slot.stage = Stage::Receiving;
        Ok(Step::Receive { buffer })
    }

    fn flush(&mut self, place: usize) -> Result<Step, Response> {
        let slot = &mut self.tasks[place];
        slot.wanted = 0;
        if !self.units[usize::from(slot.unit)].geometry.volatile {
            return Ok(Step::End(Response::good(0)));
        }
        slot.work = Work::Flush(Flush::default());
        Ok(self.go(place))
    }

    /// START STOP UNIT (SBC-3, clause 5.25): a stopped unit has all that was written on its medium.
    fn start_stop(
        &mut self,
        place: usize,
        power: u8,
        no_flush: bool,
        load: bool,
        start: bool,
    ) -> Result<Step, Response> {
        if power != 0 {
            return Err(Response::invalid_field(4, Some(7)));
        }
        if load {
            return Err(Response::invalid_field(4, Some(1)));
        }
        self.units[usize::from(self.tasks[place].unit)].stopped = !start;
        if start || no_flush {
            return Ok(Step::End(Response::good(0)));
        }
        self.flush(place)
    }

    /// VERIFY (SBC-3, clause 5.29).
    fn verify(&mut self, place: usize, transfer: &Transfer, compare: u8) -> Result<Step, Response> {
        let slot = &mut self.tasks[place];
        let unit = &mut self.units[usize::from(slot.unit)];
        medium_only(unit, transfer)?;
        let blocks = u64::from(transfer.blocks);
        unit.has(transfer.lba, blocks)?;
        slot.wanted = 0;
        let one = compare == 3;
        let len = match compare {
            0 => 0,
            1 => unit.span(transfer)?.1,
            3 if blocks == 0 => 0,
            3 => unit.geometry.block_size,
            _ => return Err(Response::invalid_field(options_field(transfer.width), Some(2))),
        };
        if blocks == 0 || len == 0 && unit.is_direct() {
            return Ok(Step::End(Response::good(0)));
        }
        // A comparison with one block is as long as WRITE SAME of it.
        if one && blocks > MAX_SPAN / unit.block() {
            return Err(Response::invalid_field(length_field(transfer.width), None));
        }
        let work = Work::Verify(Verify { lba: transfer.lba, left: blocks, done: 0, data: None, one });
        if len == 0 {
            slot.work = work;
            return Ok(self.go(place));
        }
        self.receive(place, len, work)
    }

    /// WRITE SAME (SBC-3, clause 5.43).
    fn write_same(&mut self, place: usize, cdb: &Cdb) -> Result<Step, Response> {
        let Cdb::WriteSame { width, lba, blocks, protect, anchor, unmap, no_data } = *cdb else {
            return Err(Response::illegal(asc::OPCODE));
        };
        let unit = &mut self.units[usize::from(self.tasks[place].unit)];
        medium_only(unit, &Transfer { width, lba, blocks, protect, dpo: false, fua: false })?;
        let options = options_field(width);
        if unmap && !unit.geometry.discards {
            return Err(Response::invalid_field(options, Some(3)));
        }
        if anchor {
            return Err(Response::invalid_field(options, Some(4)));
        }
        unit.writable()?;
        unit.has(lba, u64::from(blocks))?;
        // Clause 6.5.3: WSNZ, and MAXIMUM WRITE SAME LENGTH.
        if blocks == 0 || u64::from(blocks) > MAX_SPAN / unit.block() {
            return Err(Response::invalid_field(length_field(width), None));
        }
        let block = unit.geometry.block_size;
        // What is given back reads as zeros only on some devices.
        let unmap = unmap && unit.geometry.discard_zeroes;
        let work = Work::Same(Same { lba, left: u64::from(blocks), unmap, data: None, stage: SameStage::Begin });
        if no_data {
            let slot = &mut self.tasks[place];
            slot.wanted = 0;
            slot.work = work;
            return Ok(self.go(place));
        }
        self.receive(place, block, work)
    }

    /// UNMAP (SBC-3, clause 5.28).
    fn unmap(&mut self, place: usize, anchor: bool, len: u16) -> Result<Step, Response> {
        let index = usize::from(self.tasks[place].unit);
        self.ready(index)?;
        let unit = &self.units[index];
        if !unit.geometry.discards {
            return Err(Response::illegal(asc::OPCODE));
        }
        if anchor {
            return Err(Response::invalid_field(1, Some(0)));
        }
        unit.writable()?;
        match len {
            0 => Ok(Step::End(Response::good(0))),
            1..8 => Err(Response::illegal(asc::PARAMETER_LENGTH)),
            _ => self.receive(place, u32::from(len), Work::Unmap(Unmap::default())),
        }
    }

    /// PERSISTENT RESERVE OUT whose parameters are there.
    pub(super) fn reserve(&mut self, place: usize) -> Result<Step, Response> {
        let slot = &mut self.tasks[place];
        let (nexus, index, wanted) = (slot.nexus, usize::from(slot.unit), slot.wanted);
        let (Work::Reserve(Some(list)), Cdb::PersistentReserveOut { action, scope, kind, .. }) =
            (std::mem::take(&mut slot.work), slot.cdb)
        else {
            return Err(Response::illegal(asc::OPCODE));
        };
        let parameters = ReserveParameters::parse(list.bytes());
        self.pool.give(list);
        let parameters = parameters.map_err(|_| Response::illegal(asc::PARAMETER_LENGTH))?;
        let who = self.nexuses.get(nexus).map_or(Wwn(0), |nexus| nexus.wwpn);
        let effects = self.units[index].reservations.act(who, action, scope, kind, &parameters)?;
        for (wwpn, attention) in effects.told {
            for other in self.nexuses.iter_mut().filter(|other| other.wwpn == wwpn) {
                other.units[index].add(attention);
            }
        }
        for wwpn in effects.aborted {
            let ids: Vec<_> =
                self.nexuses.iter_mut().filter(|other| other.wwpn == wwpn).map(|other| other.id).collect();
            for id in ids {
                // They are others' tasks, which end with TASK ABORTED.
                self.end_tasks(index, nexus, Some(id), &mut |_| {});
            }
        }
        Ok(Step::End(Response::good(wanted)))
    }

    /// COMPARE AND WRITE (SBC-3, clause 5.2).
    fn compare_and_write(
        &mut self,
        place: usize,
        lba: u64,
        blocks: u8,
        protect: u8,
        fua: bool,
    ) -> Result<Step, Response> {
        let unit = &self.units[usize::from(self.tasks[place].unit)];
        let transfer = Transfer { protect, ..Transfer::new(lba, u32::from(blocks)) };
        medium_only(unit, &transfer)?;
        unit.writable()?;
        unit.has(lba, u64::from(blocks))?;
        const { assert!(MAX_COMPARE == u8::MAX, "every number of blocks is within the limit") };
        if blocks == 0 {
            return Ok(Step::End(Response::good(0)));
        }
        let len = 2 * u32::from(blocks) * unit.geometry.block_size;
        self.receive(place, len, Work::Compare(Compare { lba, fua, data: None }))
    }
}

const STOPPED: Sense = Sense::new(SenseKey::NOT_READY, asc::STOPPED);

/// What all commands to the medium ask first; how they move blocks if these have protection information.
#[inline]
fn medium(unit: &Unit, transfer: &Transfer) -> Result<Option<Guarded>, Response> {
    if unit.stopped {
        return Err(Response::check(&STOPPED));
    }
    let protect = || Response::invalid_field(options_field(transfer.width), Some(7));
    let long = matches!(transfer.width, Width::ThirtyTwo(_));
    let Some(protection) = unit.protection else {
        // Without protection information there is none to move or check (SBC-3, clause 4.22), and commands of 32 octets are
        // for type 2.
        if long {
            return Err(Response::illegal(asc::OPCODE));
        }
        return if transfer.protect != 0 { Err(protect()) } else { Ok(None) };
    };
    // Of type 2, only commands of 32 octets may move it (SBC-3, clause 4.22.2.4).
    let second = protection.kind == ProtectionType::Type2;
    if long && !second || !long && second && transfer.protect != 0 {
        return Err(Response::illegal(asc::OPCODE));
    }
    Guarded::new(protection.kind, transfer).ok_or_else(protect).map(Some)
}

/// The same of commands that do not move protection information: it is made and checked here.
fn medium_only(unit: &Unit, transfer: &Transfer) -> Result<(), Response> {
    medium(unit, transfer)?;
    if matches!(transfer.width, Width::ThirtyTwo(_)) {
        return Err(Response::illegal(asc::OPCODE));
    }
    if transfer.protect != 0 {
        return Err(Response::invalid_field(options_field(transfer.width), Some(7)));
    }
    Ok(())
}

/// Octets that a transfer moves.
fn moved(unit: &Unit, transfer: &Transfer, guarded: Option<&Guarded>) -> u64 {
    let stride = if guarded.is_some_and(|guarded| guarded.moved) { unit.stride() } else { unit.block() };
    u64::from(transfer.blocks) * stride
}

/// Sense data as data in (SPC-4, clause 6.39).
fn put_sense(sense: &Sense, descriptors: bool, to: &mut Vec<u8>) {
    if descriptors {
        let (octets, len) = sense.descriptors();
        to.extend(&octets[..len]);
    } else {
        to.extend(sense.fixed());
    }
}

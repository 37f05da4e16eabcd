//! Execution of commands.

use super::attention::Attentions;
use super::disks::Disks;
use super::mode::Question;
use super::task::Stage;
use super::transfer::STOPPED;
use super::unit::{Unit, UnitIndex};
use super::work::{Flush, Work};
use super::{Response, Step, Task, defects, inquiry, mode, opcodes};
use crate::indexed::TableIndex;
use linerate_block::{Buffer, Tag};
use linerate_wire::scsi::{Cdb, ReserveParameters, Sense, SenseKey, VpdPage, asc, lun_bytes, put_luns};

impl Disks {
    /// Answers a command to a LUN that the initiator does not see (SPC-4, clause 4.6.4): only three commands give more
    /// than LOGICAL UNIT NOT SUPPORTED.
    pub(super) fn no_unit(&mut self, task: &Task<'_>) -> Step {
        let none = Sense::new(SenseKey::ILLEGAL_REQUEST, asc::LUN);
        self.scratch.clear();
        let (done, allocation) = match super::response::parse(task.cdb) {
            Ok(Cdb::Inquiry { page, allocation }) => (inquiry::nobody(page, &mut self.scratch), u32::from(allocation)),
            // Any initiator may ask LUN 0 for the list of units (SPC-4, clause 6.33.1).
            Ok(Cdb::ReportLuns { select, allocation }) if matches!(task.lun.0, [0 | 0x40, 0, 0, 0, 0, 0, 0, 0]) => {
                (self.report_luns(task.nexus, select), allocation)
            }
            Ok(Cdb::RequestSense { descriptors, allocation }) => {
                put_sense(&none, descriptors, &mut self.scratch);
                (Ok(()), u32::from(allocation))
            }
            _ => (Err(Response::check(&none)), 0),
        };
        match done.and_then(|()| self.answer(allocation, task.data_out)) {
            Ok(step) => step,
            Err(response) => Step::End(response.in_fixed_format()),
        }
    }

    /// Pending unit attention, reported instead of executing the command; some commands are exempt (SAM-5, clause 5.14). A
    /// nexus that knows another unit by this LUN gets LOGICAL UNIT NOT SUPPORTED for all but these until it has asked for the
    /// name of this one: an attention ends one command, and WRITEs that are queued behind it are meant for the other disk.
    pub(super) fn attention(&mut self, task: &Task<'_>, unit: UnitIndex) -> Option<Response> {
        match super::response::parse(task.cdb) {
            Ok(Cdb::Inquiry { .. } | Cdb::ReportLuns { .. } | Cdb::RequestSense { .. }) => None,
            _ => {
                let attentions = self.nexuses.get_mut(task.nexus)?.units.get_mut(unit.number())?;
                let response = match attentions.take() {
                    Some(sense) => Response::check(&sense),
                    None if attentions.is_unmet() => Response::illegal(asc::LUN),
                    None => return None,
                };
                Some(self.count(unit, response))
            }
        }
    }

    /// Counts the response of a command, and puts its sense data in the unit's format.
    pub(super) fn count(&mut self, unit: UnitIndex, response: Response) -> Response {
        let unit = &mut self.units[unit];
        unit.counters.checks += u64::from(response.status == Response::CHECK_CONDITION);
        if unit.mode.descriptors { response } else { response.in_fixed_format() }
    }

    /// Executes a command, or its first step.
    #[inline]
    pub(super) fn execute(&mut self, tag: Tag, cdb: Cdb) -> Result<Step, Response> {
        let slot = &self.tasks[tag];
        let Unit { reservations, upkeep, geometry, .. } = &self.units[slot.unit];
        if !upkeep.is_idle()
            && !upkeep.admits(&cdb)
            && let Some(sense) = upkeep.sense(geometry.blocks)
        {
            return Err(Response::check(&sense));
        }
        if reservations.is_held() {
            let who = self.nexuses.name(slot.nexus);
            if !reservations.allows(who, &cdb) {
                return Err(Response::status(Response::RESERVATION_CONFLICT));
            }
        }
        match cdb {
            Cdb::Read(transfer) => self.read(tag, &transfer),
            Cdb::Write(transfer) => self.write(tag, &transfer, None),
            _ => self.execute_other(tag, cdb),
        }
    }

    fn execute_other(&mut self, tag: Tag, cdb: Cdb) -> Result<Step, Response> {
        let nexus = self.tasks[tag].nexus;
        let index = self.tasks[tag].unit;
        self.scratch.clear();
        let allocation = match cdb {
            Cdb::TestUnitReady => {
                self.ready(index)?;
                return Ok(Step::End(Response::good(0)));
            }
            Cdb::RequestSense { descriptors, allocation } => {
                let sense = self.nexuses.get_mut(nexus).and_then(|nexus| nexus.units.get_mut(index.number())?.take());
                let unit = &self.units[index];
                let sense = sense.or_else(|| unit.upkeep.sense(unit.geometry.blocks));
                let sense = sense.unwrap_or_else(|| match self.ready(index) {
                    Ok(()) => Sense::new(SenseKey::NO_SENSE, asc::NONE),
                    Err(_) => STOPPED,
                });
                put_sense(&sense, descriptors, &mut self.scratch);
                u32::from(allocation)
            }
            Cdb::Inquiry { page, allocation } => {
                let number = self.port_of(self.tasks[tag].nexus);
                let port = inquiry::Port { ports: &self.ports, number, node: self.config.wwnn };
                inquiry::inquire(&self.units[index], &port, page, &mut self.scratch)?;
                if page == Some(VpdPage::DESIGNATORS)
                    && let Some(nexus) = self.nexuses.get_mut(nexus)
                {
                    self.met.learn(nexus.name.wwpn, &self.units[index]);
                    nexus.units[index.number()].remove(Attentions::UNMET);
                }
                u32::from(allocation)
            }
            Cdb::ReportLuns { select, allocation } => {
                self.report_luns(nexus, select)?;
                // The initiator knows the units now (SPC-4, clause 6.33.1).
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
                self.scratch.extend(self.units[index].capacity().bytes_10());
                8
            }
            Cdb::ReadCapacity16 { allocation } => {
                self.ready(index)?;
                self.scratch.extend(self.units[index].capacity().bytes_16());
                allocation
            }
            Cdb::GetLbaStatus { lba, allocation } => {
                self.ready(index)?;
                let unit = &mut self.units[index];
                unit.has(lba, 1)?;
                let (blocks, state) = unit.extent(lba);
                // SBC-3, clause 5.4.2: one descriptor; the initiator asks again for the blocks behind it.
                self.scratch.extend(20_u32.to_be_bytes());
                self.scratch.extend([0; 4]);
                self.scratch.extend(lba.to_be_bytes());
                self.scratch.extend(&blocks.to_be_bytes()[4..]);
                self.scratch.extend([state, 0, 0, 0]);
                allocation
            }
            Cdb::ReportTargetPortGroups { format, allocation } => {
                inquiry::port_groups(format, self.port_count, &mut self.scratch)?;
                allocation
            }
            Cdb::ReportSupportedOperationCodes { timeouts, options, opcode, action, allocation } => {
                opcodes::report(&self.units[index], timeouts, options, opcode, action, &mut self.scratch)?;
                allocation
            }
            Cdb::StartStop { power, no_flush, load, start, .. } => {
                return self.start_stop(tag, power, no_flush, load, start);
            }
            Cdb::SendDiagnostic { .. } => return self.send_diagnostic(tag, &cdb),
            Cdb::ReceiveDiagnostic { coded, page, allocation } => {
                self.diagnosed(coded, page)?;
                u32::from(allocation)
            }
            Cdb::ModeSelect { .. } => return self.mode_select(tag, cdb),
            Cdb::LogSense { allocation, .. } => {
                self.log_sense(tag, &cdb)?;
                u32::from(allocation)
            }
            Cdb::LogSelect { .. } => return self.log_select(tag, &cdb),
            Cdb::ReadBuffer { mode, id, offset, allocation } => {
                self.read_buffer(tag, mode, id, offset)?;
                allocation
            }
            Cdb::WriteBuffer { .. } => return self.write_buffer(tag, cdb),
            Cdb::ReadDefectData { twelve, primary, grown, format, allocation, .. } => {
                self.ready(index)?;
                let then = defects::report(twelve, primary, grown, format, &mut self.scratch);
                let data_out = self.tasks[tag].data_out;
                return self.answer_with(then, allocation, data_out);
            }
            Cdb::ReportIdentifyingInformation { kind, allocation } => {
                self.identified(tag, kind)?;
                allocation
            }
            Cdb::SetIdentifyingInformation { .. } => return self.set_identifying(tag, cdb),
            Cdb::ExtendedCopy { len } => return self.extended_copy(tag, cdb, len),
            Cdb::CopyParameters { allocation } => {
                self.copy_parameters();
                allocation
            }
            Cdb::FormatUnit { .. } => return self.format_unit(tag, cdb),
            Cdb::Sanitize { .. } => return self.sanitize(tag, cdb),
            Cdb::OrWrite(transfer) => return self.or_write(tag, &transfer),
            Cdb::SynchronizeCache { lba, blocks, .. } => {
                self.ready(index)?;
                self.units[index].has(lba, u64::from(blocks))?;
                return self.flush(tag, 0);
            }
            Cdb::PreFetch { lba, blocks, .. } => {
                self.ready(index)?;
                self.units[index].has(lba, u64::from(blocks))?;
                // GOOD means that not all blocks are in a cache (SBC-3, clause 5.8): there is none.
                return Ok(Step::End(Response::good(0)));
            }
            Cdb::WriteAndVerify { transfer, compare } => return self.write(tag, &transfer, Some(compare)),
            Cdb::Verify { transfer, compare } => return self.verify(tag, &transfer, compare),
            Cdb::WriteSame { .. } => return self.write_same(tag, &cdb),
            Cdb::Unmap { anchor, len } => return self.unmap(tag, anchor, len),
            Cdb::CompareAndWrite { lba, blocks, protect, fua, .. } => {
                return self.compare_and_write(tag, lba, blocks, protect, fua);
            }
            Cdb::PersistentReserveIn { action, allocation } => {
                let keeps = self.keeping.keeps();
                self.units[index].reservations.report(action, keeps, &mut self.scratch);
                u32::from(allocation)
            }
            Cdb::PersistentReserveOut { len, .. } => {
                // Only the parameters without names are accepted (SPC-4, clause 6.16.3).
                if usize::try_from(len).ok() != Some(ReserveParameters::LEN) {
                    return Err(Response::illegal(asc::PARAMETER_LENGTH));
                }
                return self.receive_list(tag, cdb, len);
            }
            Cdb::Read(_) | Cdb::Write(_) => return self.execute(tag, cdb),
        };
        let data_out = self.tasks[tag].data_out;
        self.answer(allocation, data_out)
    }

    /// Sends the data in the scratch buffer, up to the allocation length, unless the initiator wants to send some itself.
    fn answer(&mut self, allocation: u32, data_out: u32) -> Result<Step, Response> {
        self.answer_with(Response::good(0), allocation, data_out)
    }

    /// Sends the data likewise, with another response than GOOD behind it.
    fn answer_with(&mut self, then: Response, allocation: u32, data_out: u32) -> Result<Step, Response> {
        let len = self.scratch.len().min(allocation as usize);
        let then = Response { wanted: len as u64, ..then };
        if len == 0 {
            return Ok(Step::End(then));
        }
        if data_out > 0 {
            return Err(Response::illegal(asc::INFORMATION_UNIT));
        }
        let mut buffer = self.pool.take(len).ok_or(Response::status(Response::TASK_SET_FULL))?;
        buffer.bytes_mut().copy_from_slice(&self.scratch[..len]);
        Ok(Step::Send { buffer, then })
    }

    fn report_luns(&mut self, nexus: crate::PeerId, select: u8) -> Result<(), Response> {
        let mut list = std::mem::take(&mut self.scratch);
        let mut luns: Vec<u16> = match select {
            0 | 2 => self.seen(nexus).collect(),
            // There are no well known units.
            1 => Vec::new(),
            _ => {
                self.scratch = list;
                return Err(Response::invalid_field(2, None));
            }
        };
        luns.sort_unstable();
        put_luns(luns.into_iter().filter_map(lun_bytes), &mut list);
        self.scratch = list;
        Ok(())
    }

    /// Checks that the medium is accessible.
    pub(super) fn ready(&self, index: UnitIndex) -> Result<(), Response> {
        if self.units[index].stopped { Err(Response::check(&STOPPED)) } else { Ok(()) }
    }

    /// Asks for as much data out as the command needs. A partial command would not be the requested one: when FCP_DL is
    /// less, nothing is moved.
    pub(super) fn receive(&mut self, tag: Tag, len: u32, work: Work) -> Result<Step, Response> {
        let slot = &mut self.tasks[tag];
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

    /// Flushes the cache, after which the command has moved what it wanted.
    pub(super) fn flush(&mut self, tag: Tag, wanted: u64) -> Result<Step, Response> {
        let slot = &mut self.tasks[tag];
        slot.wanted = wanted;
        if !self.units[slot.unit].geometry.volatile {
            return Ok(Step::End(Response::good(wanted)));
        }
        slot.work = Work::Flush(Flush::default());
        Ok(self.go(tag))
    }

    /// START STOP UNIT (SBC-3, clause 5.25): all data of a stopped unit is on its medium.
    fn start_stop(&mut self, tag: Tag, power: u8, no_flush: bool, load: bool, start: bool) -> Result<Step, Response> {
        if power != 0 {
            return Err(Response::invalid_field(4, Some(7)));
        }
        if load {
            return Err(Response::invalid_field(4, Some(1)));
        }
        self.units[self.tasks[tag].unit].stopped = !start;
        if start || no_flush {
            return Ok(Step::End(Response::good(0)));
        }
        self.flush(tag, 0)
    }

    /// PERSISTENT RESERVE OUT whose parameters have arrived.
    pub(super) fn reserve(&mut self, tag: Tag, action: u8, scope: u8, kind: u8, list: &[u8]) -> Result<Step, Response> {
        let parameters = ReserveParameters::parse(list).map_err(|_| Response::illegal(asc::PARAMETER_LENGTH))?;
        let who = self.nexuses.name(self.tasks[tag].nexus);
        let keeps = self.keeping.keeps();
        self.change(tag, |reservations, _| reservations.act(who, action, scope, kind, &parameters, keeps))
    }
}

/// Sense data as data in (SPC-4, clause 6.39).
fn put_sense(sense: &Sense, descriptors: bool, to: &mut Vec<u8>) {
    if descriptors {
        let (bytes, len) = sense.descriptors();
        to.extend(&bytes[..len]);
    } else {
        to.extend(sense.fixed());
    }
}

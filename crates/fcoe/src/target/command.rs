//! FCP_CMND, and the steps of the device server for it.

use super::early::Early;
use super::exchange::{Answering, ExchangeIndex, Place, Receiving, Said, State, Which};
use super::{Target, TargetDrop};
use crate::twin::digest;
use crate::{DeviceServer, Function, FunctionResponse, Lun, Peer, Response, Step, Task, TaskAttribute};
use linerate_wire::{
    FcHeader, FcoeFrame, FcpCommand, FcpResponse, OxId, RxId, f_ctl, fcp_attribute, fcp_code, fcp_function,
};
use std::ptr::NonNull;

/// BUSY (SAM-5, clause 5.3.1): there is no room for the command, and the initiator has no other that could end; or the
/// target is about to log out.
pub(super) const BUSY: u8 = 0x08;
/// Bytes of the longest transfer whose memory is fetched before its turn: of longer ones the CPU sees in time that they go on.
const SHORT: u32 = 2048;
/// Bytes of a cache line.
const LINE: usize = 64;
/// TASK SET FULL (SAM-5, clause 5.3.1): there is no room while the initiator has tasks.
const TASK_SET_FULL: u8 = 0x28;

impl<S: DeviceServer> Target<S> {
    /// Takes FCP_CMND (FCP-4, clause 9.2): a new exchange.
    pub(super) fn command(&mut self, now: u64, peer: &Peer, frame: &FcoeFrame<'_>) -> Result<(), TargetDrop> {
        let header = frame.header();
        if !peer.role.initiator {
            return Err(TargetDrop::NotInitiator);
        }
        // One frame, which begins the exchange and hands over the initiative.
        if !header.has(f_ctl::FIRST_SEQUENCE | f_ctl::END_SEQUENCE | f_ctl::SEQUENCE_INITIATIVE)
            || header.rx_id != RxId::UNASSIGNED
            || header.ox_id == OxId::UNASSIGNED
        {
            return Err(TargetDrop::Unexpected);
        }
        let digest = digest(frame.payload());
        // Whatever is held back under this OX_ID is not what its initiator means by it now.
        self.is_twin(now, peer.id, header.ox_id);
        if let Some(place) = self.table.find(peer.id, header.ox_id, RxId::UNASSIGNED) {
            self.admit(now, peer, place, digest)?;
        }
        let Ok(command) = FcpCommand::parse(frame.payload()) else {
            self.refuse(peer, header, fcp_code::INVALID_FIELDS);
            return Err(TargetDrop::Malformed);
        };
        if command.function != 0 {
            return self.manage(now, peer, header, &command);
        }
        if self.hold_back(now, peer, header, frame.payload(), digest) {
            return Ok(());
        }
        self.begin(now, peer, header, &command, digest)
    }

    /// Opens the exchange of a command, and gives it to the device server.
    #[inline]
    pub(super) fn begin(
        &mut self,
        now: u64,
        peer: &Peer,
        header: &FcHeader,
        command: &FcpCommand<'_>,
        digest: u64,
    ) -> Result<(), TargetDrop> {
        let attribute = match command.attribute {
            fcp_attribute::SIMPLE => Some(TaskAttribute::Simple),
            fcp_attribute::HEAD_OF_QUEUE => Some(TaskAttribute::HeadOfQueue),
            fcp_attribute::ORDERED => Some(TaskAttribute::Ordered),
            fcp_attribute::ACA => Some(TaskAttribute::Aca),
            _ => None,
        };
        // No disk has a command with both directions; FCP-4, clause 9.5: fields that are not supported are not valid.
        let (Some(attribute), false) = (attribute, command.read && command.write) else {
            self.refuse(peer, header, fcp_code::INVALID_FIELDS);
            return Err(TargetDrop::Malformed);
        };
        let data_len = if command.read || command.write { command.data_len } else { 0 };
        let place = if self.closing { None } else { self.open(peer, header.ox_id) };
        let Some(place) = place else {
            self.counters.task_set_full += 1;
            self.doubts.excuse(peer.id, header.ox_id, digest);
            let depth = self.peer(peer.id).map_or(0, |known| known.queue_depth);
            let status = if depth > 0 && !self.closing { TASK_SET_FULL } else { BUSY };
            self.respond(
                peer,
                header,
                &FcpResponse { status, residual: -i64::from(data_len), ..FcpResponse::default() },
            );
            return Ok(());
        };
        let exchange = self.table.at_mut(place);
        (exchange.lun, exchange.digest, exchange.data_len, exchange.started) =
            (Lun(command.lun), digest, data_len, now);
        let task = Task {
            tag: place.tag(),
            nexus: peer.id,
            lun: Lun(command.lun),
            cdb: command.cdb,
            attribute,
            data_out: if command.write { data_len } else { 0 },
            data_in: if command.read { data_len } else { 0 },
        };
        let step = self.device.command(now, &task);
        self.step(now, place, step);
        Ok(())
    }

    /// Checks that FCP_CMND may begin an exchange whose OX_ID is in use; the older exchange is over then.
    ///
    /// Only the originator assigns OX_IDs, and never one that is in use (FC-FS-3, exchange identifiers). So one of the
    /// two is late: a frame may take R_A_TOV (FC-FS-3, timers), and a network may deliver it twice. The end of the
    /// older exchange proves nothing, since originators reuse an OX_ID at once (Linux does), perhaps for the same
    /// command.
    fn admit(&mut self, now: u64, peer: &Peer, place: ExchangeIndex, digest: u64) -> Result<(), TargetDrop> {
        let exchange = self.table.at(place);
        let age = now.saturating_sub(exchange.started);
        if matches!(exchange.state, State::Aborted) && now < exchange.deadline {
            // The identifiers rest, and frames of the exchange are to be dropped (FC-FS-3, recovery qualifier).
            return Err(TargetDrop::Late);
        }
        if exchange.is_open() {
            // An originator that gave an exchange up without ABTS waited for longer than E_D_TOV, in which each frame
            // arrives or is lost: until then the same command under the same OX_ID is the same frame.
            let same = exchange.digest == digest;
            if same && age < peer.e_d_tov {
                return Err(TargetDrop::Duplicate);
            }
            let late = !same && age < peer.r_a_tov;
            if late && exchange.is_acknowledged() {
                return Err(TargetDrop::Late);
            }
            self.counters.replaced += 1;
            if late {
                // The exchange that the initiator knows cannot be determined: its data or ours would go to the other.
                // So both end; the initiator asks (REC) and sends the command again.
                self.end(place);
                return Err(TargetDrop::Late);
            }
        }
        self.end(place);
        Ok(())
    }

    /// Opens an exchange in the peer's queue, if both the table and the queue have room.
    fn open(&mut self, peer: &Peer, ox_id: OxId) -> Option<ExchangeIndex> {
        if self.peer(peer.id)?.queue_depth >= self.config.max_queue {
            return None;
        }
        let place = match self.table.open(peer.id, ox_id) {
            Some(place) => place,
            None => {
                // A finished or aborted exchange makes room for a new one.
                let oldest = self.table.first(Which::Finished).or_else(|| self.table.first(Which::Aborted))?;
                self.end(oldest);
                self.table.open(peer.id, ox_id)?
            }
        };
        self.table.at_mut(place).queued = true;
        let known = self.peer_mut(peer.id)?;
        known.queue_depth += 1;
        known.commands += 1;
        self.counters.commands += 1;
        Some(place)
    }

    /// Carries out the next step of the device server.
    #[inline]
    pub(super) fn step(&mut self, now: u64, place: ExchangeIndex, mut step: Step) {
        loop {
            let (into, len) = match step {
                Step::Pending => {
                    self.table.at_mut(place).state = State::Working;
                    return;
                }
                Step::End(ref response) => return self.respond_later(place, Place::Nowhere, 0, response),
                Step::SendMemory { offset, len, ref then } => {
                    self.expect(place, offset, len);
                    return self.respond_later(place, Place::Memory(offset), len, then);
                }
                Step::Send { buffer, ref then } => {
                    let Ok(len) = u32::try_from(buffer.len()) else {
                        self.device.give_back(buffer);
                        return self.fail(place);
                    };
                    return self.respond_later(place, Place::Buffer(buffer), len, then);
                }
                Step::ReceiveMemory { offset, len } => {
                    self.expect(place, offset, len);
                    (Place::Memory(offset), len)
                }
                Step::Receive { buffer } => {
                    let Ok(len) = u32::try_from(buffer.len()) else {
                        self.device.abort(place.tag(), Some(buffer));
                        return self.fail(place);
                    };
                    (Place::Buffer(buffer), len)
                }
            };
            let exchange = self.table.at_mut(place);
            if len > exchange.data_len {
                self.device.abort(place.tag(), into.into_buffer());
                return self.fail(place);
            }
            if len > 0 {
                exchange.deadline = now.saturating_add(self.config.patience);
                let burst_end = len.min(self.config.burst);
                exchange.state = State::Receiving(Receiving {
                    into,
                    len,
                    received: 0,
                    burst_end,
                    asked: false,
                    sequence: None,
                    size: 0,
                    before: None,
                    early: Early::default(),
                    polled: 0,
                });
                return self.table.append(Which::Ready, place);
            }
            exchange.state = State::Working;
            step = self.device.received(now, place.tag(), into.into_buffer());
        }
    }

    /// Fetches memory that data is sent from or comes into while other frames are read: otherwise it would be waited for when
    /// its turn has come.
    #[inline]
    fn expect(&mut self, place: ExchangeIndex, offset: u64, len: u32) {
        if len <= SHORT {
            self.device.with_memory(place.tag(), |memory| {
                let bytes = memory.read(offset, len as usize);
                bytes.chunks(LINE).for_each(|line| linerate_sum::prefetch(NonNull::from(&line[0])));
            });
        }
    }

    fn respond_later(&mut self, place: ExchangeIndex, from: Place, len: u32, response: &Response) {
        let exchange = self.table.at_mut(place);
        let len = len.min(exchange.data_len);
        exchange.deadline = u64::MAX;
        exchange.response.store(response);
        let answering = Answering { from, len, sent: 0, begun: false, seq_cnt: 0, said: Said::No };
        exchange.state = State::Answering(answering);
        self.table.append(Which::Ready, place);
    }

    /// Ends a command whose step could not be done: CHECK CONDITION, HARDWARE ERROR, INTERNAL TARGET FAILURE (SPC-4,
    /// clause 4.5.6). The device server takes no further part in it.
    pub(super) fn fail(&mut self, place: ExchangeIndex) {
        self.counters.failed_steps += 1;
        let mut sense = [0; 32];
        (sense[0], sense[2], sense[7], sense[12]) = (0x70, 0x04, 10, 0x44);
        let response = Response { status: 0x02, sense, sense_len: 18, wanted: 0 };
        self.respond_later(place, Place::Nowhere, 0, &response);
    }

    /// Carries out a task management function (FCP-4, clause 4.9) and answers it with response information of 8 bytes.
    fn manage(&mut self, now: u64, peer: &Peer, header: &FcHeader, command: &FcpCommand<'_>) -> Result<(), TargetDrop> {
        let function = match command.function {
            fcp_function::ABORT_TASK_SET => Function::AbortTaskSet,
            fcp_function::CLEAR_TASK_SET => Function::ClearTaskSet,
            fcp_function::LOGICAL_UNIT_RESET => Function::LogicalUnitReset,
            fcp_function::TARGET_RESET => Function::TargetReset,
            fcp_function::CLEAR_ACA => Function::ClearAca,
            _ => {
                self.refuse(peer, header, fcp_code::INVALID_FIELDS);
                return Err(TargetDrop::Malformed);
            }
        };
        self.counters.functions += 1;
        self.doubts.drop_all_of(peer.id);
        let lun = Lun(command.lun);
        let Self { device, table, .. } = self;
        let response = device.manage(now, peer.id, lun, function, &mut |tag| {
            if let Some(place) = table.of_tag(tag) {
                table.at_mut(place).doomed = true;
            }
        });
        let complete = response == FunctionResponse::Complete;
        for place in self.table.touched() {
            let exchange = self.table.at(place);
            // The device server has finished the exchanges that are being answered: the sender of the function gets no
            // more frames of them (FCP-4, clause 4.9), while other initiators, which know nothing of it, get their
            // answers.
            let covered = complete
                && matches!(exchange.state, State::Answering(_))
                && exchange.peer == peer.id
                && match function {
                    Function::AbortTaskSet | Function::ClearTaskSet | Function::LogicalUnitReset => exchange.lun == lun,
                    Function::TargetReset => true,
                    Function::ClearAca => false,
                };
            if matches!(exchange.state, State::Free) {
                self.table.at_mut(place).doomed = false;
            } else if exchange.doomed || covered {
                self.end(place);
            }
        }
        // Ended commands of other initiators change nothing from now on.
        self.advance(now);
        let code = match response {
            FunctionResponse::Complete => fcp_code::COMPLETE,
            FunctionResponse::Rejected => fcp_code::REJECTED,
            FunctionResponse::Failed => fcp_code::FAILED,
            FunctionResponse::IncorrectLun => fcp_code::INCORRECT_LUN,
        };
        self.refuse(peer, header, code);
        Ok(())
    }

    /// Answers with response information: the result of a function, or that FCP_CMND is invalid.
    fn refuse(&mut self, peer: &Peer, header: &FcHeader, code: u8) {
        self.respond(peer, header, &FcpResponse { code: Some(code), ..FcpResponse::default() });
    }
}

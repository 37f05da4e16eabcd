//! Frames of a target for a command: XFER_RDY, DATA and RSP.

use super::exchange::{Burst, Direction, Exchange, ExchangeIndex, Held, Phase, want};
use super::ranges::Piece;
use super::{Initiator, Outcome, TransportError};
use crate::{Peer, Transmit};
use linerate_wire::{FcHeader, FcType, FcoeFrame, FcpResponse, FcpTransferReady, OxId, RxId, f_ctl, fcp_code, r_ctl};

impl Initiator {
    /// Processes a frame of a target: FCP, a reply to a link service request of ours, or a basic link service. Its CRC
    /// was checked, and it came from the peer. A frame that matches no exchange is dropped and counted.
    pub fn handle(&mut self, now: u64, peer: &Peer, frame: &FcoeFrame<'_>, out: &mut impl Transmit) {
        self.now = now;
        let header = frame.header();
        if header.s_id != peer.fc_id {
            self.count(peer.id).unknown_exchange += 1;
            return;
        }
        match (header.r_ctl, header.fc_type) {
            (r_ctl::DATA, FcType::FCP) => self.data(peer, frame),
            (r_ctl::DATA_DESCRIPTOR, FcType::FCP) => {
                self.transfer_ready(peer, frame);
                self.pump(out);
            }
            (r_ctl::STATUS, FcType::FCP) => {
                self.response(peer, frame);
                self.pump(out);
            }
            (r_ctl::BLS_BA_ACC | r_ctl::BLS_BA_RJT, _) => {
                self.aborted(peer, frame);
                self.pump(out);
            }
            (r_ctl::BLS_ABTS, _) => self.answer_abort(peer, header, out),
            (r_ctl::ELS_REPLY, FcType::ELS) | (r_ctl::FC4_LS_REPLY, FcType::FCP) => {
                self.reply(peer, frame);
                self.pump(out);
            }
            _ => self.count(peer.id).unexpected += 1,
        }
    }

    /// Exchange of a responder's frame. Its first frame gives the responder's RX_ID.
    pub(super) fn find(&mut self, peer: &Peer, header: &FcHeader) -> Option<ExchangeIndex> {
        let mut sooner = false;
        let found = self.ids.place(header.ox_id).filter(|&at| {
            let exchange = &mut self.exchanges[at];
            let named = [exchange.rx_id, header.rx_id].contains(&RxId::UNASSIGNED) || exchange.rx_id == header.rx_id;
            let fits = named && exchange.peer == peer.id && exchange.is_open() && header.from_responder();
            if fits && exchange.rx_id == RxId::UNASSIGNED {
                exchange.rx_id = header.rx_id;
                sooner = exchange.attempts > 0;
            }
            fits
        });
        if let Some(at) = found.filter(|_| sooner) {
            // The time-out is shorter for a target that can be asked with its RX_ID.
            self.schedule(at);
        }
        if found.is_none() {
            self.count(peer.id).unknown_exchange += 1;
        }
        found
    }

    /// Records progress of the target: no loss so far.
    fn progressed(&mut self, at: ExchangeIndex) {
        let exchange = &mut self.exchanges[at];
        exchange.progress = self.now;
        if exchange.phase == Phase::Asking {
            self.services.release(exchange.service);
            exchange.service = OxId::UNASSIGNED;
            exchange.phase = Phase::Running;
            exchange.wants &= !want::REC;
            exchange.silent = 0;
        }
    }

    /// FCP_XFER_RDY (FCP-4, clause 9.3): the target is ready for a part of the data. It transfers the sequence
    /// initiative to us, so it sends no other before that part was sent.
    fn transfer_ready(&mut self, peer: &Peer, frame: &FcoeFrame<'_>) {
        let Some(at) = self.find(peer, frame.header()) else { return };
        let exchange = &mut self.exchanges[at];
        let waits = matches!(exchange.phase, Phase::Running | Phase::Asking | Phase::Requesting);
        if exchange.direction != Direction::Out || exchange.wants & want::DATA != 0 || !waits {
            self.count(peer.id).unexpected += 1;
            return;
        }
        let Ok(ready) = FcpTransferReady::parse(frame.payload()) else {
            self.count(peer.id).malformed += 1;
            return;
        };
        let Some(end) = ready.offset.checked_add(ready.len).filter(|end| *end <= exchange.length) else {
            self.count(peer.id).beyond += 1;
            return;
        };
        let retransmission = exchange.retransmission;
        if exchange.phase == Phase::Requesting
            && exchange.wants & want::SRR == 0
            && (retransmission.r_ctl, retransmission.offset) == (r_ctl::DATA_DESCRIPTOR, ready.offset)
        {
            // What SRR has asked for has overtaken the reply to it.
            self.services.release(exchange.service);
            exchange.service = OxId::UNASSIGNED;
            exchange.phase = Phase::Running;
            exchange.ranges.truncate(ready.offset);
        }
        match exchange.ranges.insert(ready.offset, end) {
            Piece::New => {}
            Piece::Known | Piece::Overlap => {
                self.count(peer.id).duplicate += 1;
                return;
            }
            Piece::Scattered => {
                self.count(peer.id).discontinuous += 1;
                return;
            }
        }
        let seq_id = exchange.next_seq_id();
        exchange.burst = Burst { offset: ready.offset, end, seq_id, seq_cnt: 0 };
        exchange.wants |= want::DATA;
        self.progressed(at);
        self.queue(at);
    }

    /// FCP_DATA (FCP-4, clause 9.4): stored at its relative offset, if it is consistent.
    fn data(&mut self, peer: &Peer, frame: &FcoeFrame<'_>) {
        let (header, payload) = (frame.header(), frame.payload());
        let Some(at) = self.find(peer, header) else { return };
        let exchange = &mut self.exchanges[at];
        if exchange.direction != Direction::In {
            self.count(peer.id).unexpected += 1;
            return;
        }
        let offset = header.parameter;
        let len = u32::try_from(payload.len()).unwrap_or(0);
        if len == 0 || header.df_ctl != 0 || !header.has(f_ctl::RELATIVE_OFFSET) {
            self.count(peer.id).malformed += 1;
            return;
        }
        let Some(end) = offset.checked_add(len).filter(|end| *end <= exchange.length) else {
            self.count(peer.id).beyond += 1;
            return;
        };
        if !exchange.continuity.admit(header, frame.sof(), len) {
            self.count(peer.id).discontinuous += 1;
            return;
        }
        let in_order = offset == exchange.ranges.end() && exchange.ranges.is_whole();
        let Some(place) =
            exchange.buffer.as_mut().and_then(|buffer| buffer.bytes_mut().get_mut(offset as usize..end as usize))
        else {
            self.count(peer.id).unexpected += 1;
            return;
        };
        match exchange.ranges.insert(offset, end) {
            Piece::New => place.copy_from_slice(payload),
            Piece::Known if *place == *payload => {
                self.count(peer.id).duplicate += 1;
                return;
            }
            Piece::Known | Piece::Overlap => {
                exchange.damaged = true;
                self.count(peer.id).overlap += 1;
                return;
            }
            Piece::Scattered => {
                self.count(peer.id).discontinuous += 1;
                return;
            }
        }
        let done = exchange.held.filter(|held| exchange.has_moved(held.under));
        self.progressed(at);
        let counters = self.count(peer.id);
        counters.bytes_in += u64::from(len);
        counters.out_of_order += u64::from(!in_order);
        if let Some(held) = done {
            let good = FcpResponse { residual: held.residual, confirm: held.confirm, ..FcpResponse::default() };
            self.answered(at, Outcome::Response, &good);
        }
    }

    /// FCP_RSP (FCP-4, clause 9.5): the command is done. GOOD is accepted only when exactly the stated amount of data
    /// was transferred.
    fn response(&mut self, peer: &Peer, frame: &FcoeFrame<'_>) {
        let Some(at) = self.find(peer, frame.header()) else { return };
        let Ok(response) = FcpResponse::parse(frame.payload()) else {
            self.count(peer.id).malformed += 1;
            return;
        };
        let exchange = &mut self.exchanges[at];
        if exchange.reset {
            let code = response.code.unwrap_or(fcp_code::COMPLETE);
            self.answered(at, Outcome::Function(code), &response);
            if matches!(code, fcp_code::COMPLETE | fcp_code::SUCCEEDED) {
                self.was_reset(at);
            }
            return;
        }
        if let Some(code) = response.code.filter(|code| *code != fcp_code::COMPLETE) {
            self.answered(at, Outcome::Transport(TransportError::ResponseCode(code)), &response);
            return;
        }
        if response.status != 0 {
            self.answered(at, Outcome::Response, &response);
            return;
        }
        let under = response.residual.min(0).unsigned_abs();
        if exchange.reported || exchange.has_moved(under) {
            self.answered(at, Outcome::Response, &response);
            return;
        }
        // Missing data in may still come, if frames have overtaken each other. Data out that was not sent was not
        // written: this GOOD belongs to another command.
        if exchange.direction == Direction::In && exchange.held.is_none() {
            let confirm = response.confirm && peer.confirm;
            exchange.held = Some(Held { since: self.now, under, residual: response.residual, confirm });
            self.progressed(at);
            self.schedule(at);
        }
        self.count(peer.id).short += 1;
    }

    /// Reports the target's answer, and confirms it if requested (FCP-4, clause 9.6).
    fn answered(&mut self, at: ExchangeIndex, outcome: Outcome, response: &FcpResponse<'_>) {
        self.report(at, outcome, Some(response));
        let exchange = &mut self.exchanges[at];
        let confirms =
            self.targets.get_mut(usize::from(exchange.peer.index)).and_then(Option::as_mut).is_some_and(|target| {
                target.hinted = false;
                target.peer.confirm && response.confirm
            });
        if matches!(exchange.phase, Phase::Aborting(_)) && exchange.wants & want::ABTS == 0 {
            // Its BA_ACC is under way.
            self.rest(at, None);
            self.vacate(at);
        } else if confirms {
            exchange.phase = Phase::Confirming;
            exchange.wants = want::CONF;
            self.wheel.cancel(at);
            self.queue(at);
        } else {
            self.close(at);
        }
    }

    /// Ends the earlier commands of a unit that was reset: they are not answered (SAM-5, clause 5.3.4).
    fn was_reset(&mut self, reset: ExchangeIndex) {
        let Exchange { peer, lun, started, .. } = self.exchanges[reset];
        for at in self.exchanges.indices() {
            let exchange = &self.exchanges[at];
            let before = exchange.started <= started && exchange.wants & want::COMMAND == 0;
            let same = exchange.peer == peer && exchange.lun == lun && !exchange.reset;
            if exchange.phase != Phase::Free && exchange.phase != Phase::Confirming && same && before {
                self.fail(at, Outcome::Transport(TransportError::Reset), None);
            }
        }
    }
}

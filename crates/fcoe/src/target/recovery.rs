//! Recovery of exchanges after a loss: ABTS, REC, RRQ, SRR; and FCP_CONF, which confirms the response.

use super::exchange::{ExchangeIndex, Place, Said, State, Which};
use super::{Target, TargetDrop};
use crate::{DeviceServer, ExchangeStatus, Peer};
use linerate_wire::{BaAccRepr, FcId, FcType, FcoeFrame, FcpSrr, FcpSrrReply, OxId, RxId, e_stat, f_ctl, r_ctl};

/// Reason and explanation of BA_RJT: logical error, invalid OX_ID-RX_ID combination (FC-FS-3, Basic Reject).
const BA_RJT: [u8; 4] = [0, 0x03, 0x03, 0];
/// Reasons of FCP_RJT and their explanations (FCP-4, clause 8.4).
const UNKNOWN: FcpSrrReply = FcpSrrReply::Reject { reason: 0x03, explanation: 0x17 };
const LOGICAL_ERROR: FcpSrrReply = FcpSrrReply::Reject { reason: 0x03, explanation: 0x00 };
const CANNOT_SUPPLY: FcpSrrReply = FcpSrrReply::Reject { reason: 0x09, explanation: 0x2a };
const NOT_SUPPORTED: FcpSrrReply = FcpSrrReply::Reject { reason: 0x0b, explanation: 0x00 };

impl<S: DeviceServer> Target<S> {
    /// Status of an exchange that `s_id` has originated, for REC (FC-LS-3, Read Exchange Concise; FCP-4, clause 6.5);
    /// `rx_id` is unassigned when the originator does not know ours. None when there is no such exchange: the answer is
    /// LS_RJT, 0x03, 0x17 (FCP-4, clause 12.4).
    ///
    /// Without our RX_ID an ended exchange is not found: Linux reuses an OX_ID at once, so it may as well ask for a
    /// command that was lost on its way as for the one before it, whose response must not be taken for that command's.
    /// An originator that moved data knows the RX_ID; any other may send the command again.
    pub fn exchange_status(&self, s_id: FcId, ox_id: OxId, rx_id: RxId) -> Option<ExchangeStatus> {
        let place = self.place_of(s_id, ox_id, rx_id)?;
        let exchange = self.table.at(place);
        if rx_id == RxId::UNASSIGNED && !exchange.is_open() {
            return None;
        }
        let state = match &exchange.state {
            State::Receiving(receiving) if receiving.asked => 0,
            State::Free | State::Working | State::Receiving(_) => e_stat::SEQUENCE_INITIATIVE,
            State::Answering(answering) => match answering.said {
                Said::No => e_stat::SEQUENCE_INITIATIVE,
                Said::ToConfirm => 0,
                Said::Done => e_stat::COMPLETE,
            },
            State::Aborted => e_stat::COMPLETE | e_stat::ABNORMAL | e_stat::RECOVERY_QUALIFIER,
        };
        let status = e_stat::RESPONDER | state;
        Some(ExchangeStatus { rx_id: exchange.rx_id, transferred: exchange.moved, status })
    }

    /// RRQ (FC-LS-3, Reinstate Recovery Qualifier): `s_id` has finished the recovery of an exchange that it aborted,
    /// whose identifiers are free from now on. False when there is no such exchange: the answer is LS_RJT, 0x03, 0x17.
    pub fn reinstate(&mut self, s_id: FcId, ox_id: OxId, rx_id: RxId) -> bool {
        match self.place_of(s_id, ox_id, rx_id) {
            Some(place) if matches!(self.table.at(place).state, State::Aborted) => {
                self.end(place);
                true
            }
            _ => false,
        }
    }

    fn place_of(&self, s_id: FcId, ox_id: OxId, rx_id: RxId) -> Option<ExchangeIndex> {
        let peer = self.peers().find(|known| known.peer.fc_id == s_id)?.peer.id;
        self.table.find(peer, ox_id, rx_id)
    }

    /// ABTS (FCP-4, clause 12.3): the exchange ends in any state, answered with BA_ACC; with BA_RJT when the RX_ID is
    /// not that exchange's. An unassigned RX_ID is not compared; when there is no exchange with that OX_ID, its
    /// FCP_CMND has not come yet, and is not executed if it comes.
    pub(super) fn abort(&mut self, now: u64, peer: &Peer, frame: &FcoeFrame<'_>) -> Result<(), TargetDrop> {
        let header = frame.header();
        self.doubts.drop_one(peer.id, header.ox_id);
        let place = self.table.find(peer.id, header.ox_id, header.rx_id);
        let rx_id = match place {
            Some(place) => self.table.at(place).rx_id,
            None if header.rx_id == RxId::UNASSIGNED => {
                self.bar(now, peer, header.ox_id);
                RxId::UNASSIGNED
            }
            None => {
                self.answer(peer, header, r_ctl::BLS_BA_RJT, FcType::BLS, header.rx_id, &BA_RJT);
                return Err(TargetDrop::UnknownExchange);
            }
        };
        if let Some(place) = place {
            if !matches!(self.table.at(place).state, State::Aborted) {
                self.counters.aborted += 1;
                self.dispose(place);
            }
            // The identifiers rest until RRQ, or until no frame of the exchange can be under way any more (FC-FS-3,
            // recovery qualifier).
            self.table.at_mut(place).deadline = now.saturating_add(peer.r_a_tov);
            self.table.append(Which::Aborted, place);
        }
        // No SEQ_ID, as there is no delivered sequence to report; all frames of the exchange, SEQ_CNT from 0 to 0xffff,
        // have the recovery qualifier (FC-FS-3, Basic Accept).
        let accept =
            BaAccRepr { last_seq_id: None, ox_id: header.ox_id, rx_id, low_seq_cnt: 0, high_seq_cnt: u16::MAX };
        self.answer(peer, header, r_ctl::BLS_BA_ACC, FcType::BLS, rx_id, &accept.bytes());
        Ok(())
    }

    /// Enters an exchange as aborted before its command has come, if there is room.
    fn bar(&mut self, now: u64, peer: &Peer, ox_id: OxId) {
        if self.table.count(Which::Aborted) < usize::from(self.config.max_finished)
            && let Some(place) = self.table.open(peer.id, ox_id)
        {
            let exchange = self.table.at_mut(place);
            exchange.state = State::Aborted;
            exchange.deadline = now.saturating_add(peer.r_a_tov);
            self.table.append(Which::Aborted, place);
        }
    }

    /// FCP_CONF (FCP-4, clause 9.6): the response with its sense data has arrived.
    pub(super) fn confirmed(&mut self, peer: &Peer, frame: &FcoeFrame<'_>) -> Result<(), TargetDrop> {
        let header = frame.header();
        let place = self.table.find(peer.id, header.ox_id, header.rx_id).ok_or(TargetDrop::UnknownExchange)?;
        match &self.table.at(place).state {
            State::Answering(answering) if answering.said == Said::ToConfirm => {
                self.end(place);
                Ok(())
            }
            _ => Err(TargetDrop::Unexpected),
        }
    }

    /// SRR (FCP-4, clause 12.4): retransmits data or response that the initiator did not get, if retry was agreed.
    pub(super) fn retransmit(&mut self, now: u64, peer: &Peer, frame: &FcoeFrame<'_>) -> Result<(), TargetDrop> {
        let header = frame.header();
        if !header.has(f_ctl::END_SEQUENCE | f_ctl::SEQUENCE_INITIATIVE) {
            return Err(TargetDrop::Unexpected);
        }
        let (reply, result) = match FcpSrr::parse(frame.payload()) {
            Ok(request) if peer.retry => (self.again(now, peer, &request), Ok(())),
            Ok(_) => (NOT_SUPPORTED, Ok(())),
            Err(_) => (NOT_SUPPORTED, Err(TargetDrop::Malformed)),
        };
        if reply == FcpSrrReply::Accept {
            self.counters.retransmissions += 1;
        }
        let (bytes, len) = reply.bytes();
        self.answer(peer, header, r_ctl::FC4_LS_REPLY, FcType::FCP, header.rx_id, &bytes[..len]);
        result
    }

    fn again(&mut self, now: u64, peer: &Peer, request: &FcpSrr) -> FcpSrrReply {
        let Some(place) = self.table.find(peer.id, request.ox_id, request.rx_id) else { return UNKNOWN };
        let burst = self.config.burst;
        let exchange = self.table.at_mut(place);
        // As with REC: the OX_ID may belong to another exchange by now.
        if request.rx_id == RxId::UNASSIGNED && !exchange.is_open() {
            return UNKNOWN;
        }
        let (finished, kept) = (exchange.list == Some(Which::Finished), exchange.kept());
        match (&mut exchange.state, request.r_ctl) {
            (State::Receiving(receiving), r_ctl::DATA_DESCRIPTOR) => {
                if request.offset > receiving.received {
                    return CANNOT_SUPPLY;
                }
                receiving.ask(request.offset, burst);
                exchange.deadline = now.saturating_add(self.config.patience);
            }
            (State::Answering(answering), r_ctl::DATA) => {
                if matches!(answering.from, Place::Nowhere)
                    || request.offset >= answering.len
                    || !request.offset.is_multiple_of(4)
                {
                    return CANNOT_SUPPLY;
                }
                answering.sent = answering.sent.min(request.offset);
                (answering.begun, answering.seq_cnt, answering.said) = (false, 0, Said::No);
                exchange.deadline = u64::MAX;
            }
            (State::Answering(answering), r_ctl::STATUS) => {
                answering.said = Said::No;
                exchange.deadline = u64::MAX;
            }
            // The response will be sent anyway.
            (State::Working, r_ctl::STATUS) => return FcpSrrReply::Accept,
            _ => return LOGICAL_ERROR,
        }
        if finished {
            self.finished_bytes -= kept;
        }
        self.table.append(Which::Ready, place);
        FcpSrrReply::Accept
    }
}

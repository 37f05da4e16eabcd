//! Transmission: each exchange in turn, as there is room.

use super::Initiator;
use super::exchange::{Direction, Exchange, ExchangeIndex, Phase, want};
use super::ids::Service;
use crate::{Peer, Sequence, TaskAttribute, Transmit};
use linerate_wire::{
    ElsCommand, ExchangeRepr, FcHeader, FcType, FcpCommand, FcpSrr, OxId, RxId, f_ctl, fcp_attribute, fcp_function,
    r_ctl,
};

/// F_CTL of a sequence that begins an exchange and transfers the initiative: a command, a link service request.
const REQUEST: u32 = f_ctl::FIRST_SEQUENCE | f_ctl::END_SEQUENCE | f_ctl::SEQUENCE_INITIATIVE;
/// F_CTL of a later sequence that transfers the initiative.
const PASS: u32 = f_ctl::END_SEQUENCE | f_ctl::SEQUENCE_INITIATIVE;

/// Bytes of data out in a frame: a multiple of 512 if possible, so that no frame splits a block for a peer that checks
/// blocks.
fn data_payload(max_payload: usize) -> usize {
    match max_payload / 512 * 512 {
        0 => (max_payload / 4 * 4).max(4),
        bytes => bytes,
    }
}

/// Header of a frame of ours.
pub(super) fn header(peer: &Peer, r_ctl: u8, fc_type: FcType, f_ctl: u32, ox_id: OxId, rx_id: RxId) -> FcHeader {
    FcHeader {
        r_ctl,
        d_id: peer.fc_id,
        cs_ctl: 0,
        s_id: peer.own,
        fc_type,
        f_ctl,
        seq_id: 0,
        df_ctl: 0,
        seq_cnt: 0,
        ox_id,
        rx_id,
        parameter: 0,
    }
}

/// Sends a sequence of one frame; false when there is no room.
pub(super) fn send_one(peer: &Peer, header: FcHeader, payload: &[u8], out: &mut impl Transmit) -> bool {
    let payload = &[payload][..];
    let max_payload = peer.max_payload.max(4);
    out.sequence(&Sequence { link: peer.link, header, max_payload, start: true, end: true, payload }) > 0
}

impl Initiator {
    /// Sends frames of the waiting exchanges, in order.
    pub(super) fn pump(&mut self, out: &mut impl Transmit) {
        while let Some(&at) = self.ready.front() {
            if self.exchanges[at].wants != 0 && !self.send(at, out) {
                return;
            }
            self.ready.pop_front();
            self.exchanges[at].queued = false;
        }
    }

    /// Sends all frames that the exchange wants; false when there is no more room.
    fn send(&mut self, at: ExchangeIndex, out: &mut impl Transmit) -> bool {
        let now = self.now;
        let exchange = &mut self.exchanges[at];
        let index = usize::from(exchange.peer.index);
        let Some(target) = self.targets.get_mut(index).and_then(Option::as_deref_mut) else { return true };
        let (peer, counters) = (&target.peer, &mut target.counters);
        if exchange.wants & want::COMMAND != 0 {
            if !send_command(exchange, peer, out) {
                return false;
            }
            exchange.wants &= !want::COMMAND;
            exchange.progress = now;
        }
        if exchange.wants & want::DATA != 0 {
            let before = exchange.burst.offset;
            let all = send_data(exchange, peer, out);
            if exchange.burst.offset != before {
                exchange.progress = now;
                counters.bytes_out += u64::from(exchange.burst.offset - before);
            }
            if !all {
                return false;
            }
            exchange.wants &= !want::DATA;
        }
        if exchange.wants & want::REC != 0 {
            if exchange.service == OxId::UNASSIGNED {
                exchange.service = self.services.take(exchange.peer, Service::Rec(at));
            }
            let header = header(peer, r_ctl::ELS_REQUEST, FcType::ELS, REQUEST, exchange.service, RxId::UNASSIGNED);
            let which = ExchangeRepr { originator: peer.own, ox_id: exchange.ox_id, rx_id: exchange.rx_id };
            if !send_one(peer, header, &which.bytes(ElsCommand::REC), out) {
                return false;
            }
            exchange.wants &= !want::REC;
            exchange.asked = now;
            counters.rec += 1;
        }
        if exchange.wants & want::SRR != 0 {
            if exchange.service == OxId::UNASSIGNED {
                exchange.service = self.services.take(exchange.peer, Service::Srr(at));
            }
            let header = header(peer, r_ctl::FC4_LS_REQUEST, FcType::FCP, REQUEST, exchange.service, RxId::UNASSIGNED);
            let srr = FcpSrr {
                ox_id: exchange.ox_id,
                rx_id: exchange.rx_id,
                offset: exchange.retransmission.offset,
                r_ctl: exchange.retransmission.r_ctl,
            };
            if !send_one(peer, header, &srr.bytes(), out) {
                return false;
            }
            exchange.wants &= !want::SRR;
            exchange.asked = now;
            counters.srr += 1;
        }
        if exchange.wants & want::ABTS != 0 {
            // The parameter is zero: the exchange is aborted, not a sequence (FCP-4, clause 12.3).
            let header = header(peer, r_ctl::BLS_ABTS, FcType::BLS, PASS, exchange.ox_id, exchange.rx_id);
            if !send_one(peer, FcHeader { seq_id: exchange.next_seq_id(), ..header }, &[], out) {
                return false;
            }
            // The time for its reply runs from when it was wanted: lack of room must not extend a command's time.
            exchange.wants &= !want::ABTS;
            counters.abts += 1;
        }
        if exchange.wants & want::CONF != 0 {
            let f_ctl = f_ctl::LAST_SEQUENCE | f_ctl::END_SEQUENCE;
            let header = header(peer, r_ctl::CONFIRM, FcType::FCP, f_ctl, exchange.ox_id, exchange.rx_id);
            if !send_one(peer, FcHeader { seq_id: exchange.next_seq_id(), ..header }, &[], out) {
                return false;
            }
            exchange.wants &= !want::CONF;
            if exchange.phase == Phase::Confirming {
                self.close(at);
            }
        }
        true
    }
}

fn send_command(exchange: &Exchange, peer: &Peer, out: &mut impl Transmit) -> bool {
    let attribute = match exchange.attribute {
        TaskAttribute::Simple => fcp_attribute::SIMPLE,
        TaskAttribute::HeadOfQueue => fcp_attribute::HEAD_OF_QUEUE,
        TaskAttribute::Ordered => fcp_attribute::ORDERED,
        TaskAttribute::Aca => fcp_attribute::ACA,
    };
    let command = FcpCommand {
        lun: exchange.lun.0,
        reference: 0,
        priority: 0,
        attribute,
        function: if exchange.reset { fcp_function::LOGICAL_UNIT_RESET } else { 0 },
        read: exchange.direction == Direction::In,
        write: exchange.direction == Direction::Out,
        cdb: &exchange.cdb[..usize::from(exchange.cdb_len).min(exchange.cdb.len())],
        data_len: exchange.length,
        bidirectional_read_len: 0,
    };
    let mut bytes = [0; FcpCommand::LEN + 16];
    let len = command.emit(&mut bytes).unwrap_or(0);
    let header = header(peer, r_ctl::COMMAND, FcType::FCP, REQUEST, exchange.ox_id, RxId::UNASSIGNED);
    send_one(peer, header, &bytes[..len], out)
}

/// Sends the rest of the burst; false when there was no room for all of it.
fn send_data(exchange: &mut Exchange, peer: &Peer, out: &mut impl Transmit) -> bool {
    let burst = exchange.burst;
    let bytes = exchange.buffer.as_ref().map_or(&[][..], |buffer| buffer.bytes());
    let Some(rest) = bytes.get(burst.offset as usize..burst.end as usize).filter(|rest| !rest.is_empty()) else {
        return true;
    };
    let max_payload = data_payload(peer.max_payload);
    let f_ctl = PASS | f_ctl::RELATIVE_OFFSET;
    let header = FcHeader {
        seq_id: burst.seq_id,
        seq_cnt: burst.seq_cnt,
        parameter: burst.offset,
        ..header(peer, r_ctl::DATA, FcType::FCP, f_ctl, exchange.ox_id, exchange.rx_id)
    };
    let start = burst.seq_cnt == 0;
    let frames = out.sequence(&Sequence { link: peer.link, header, max_payload, start, end: true, payload: &[rest] });
    let sent = frames.saturating_mul(max_payload).min(rest.len());
    exchange.burst.offset += u32::try_from(sent).unwrap_or(u32::MAX - burst.offset);
    let [.., high, low] = frames.to_be_bytes();
    exchange.burst.seq_cnt = burst.seq_cnt.wrapping_add(u16::from_be_bytes([high, low]));
    sent == rest.len()
}

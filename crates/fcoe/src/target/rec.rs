//! REC polling of initiators that send no data, to find out if they know the exchange at all. Either end of an exchange
//! may send REC (FC-LS-3, Read Exchange Concise).
//!
//! A WRITE whose FCP_CMND came twice, the second time after the end of the first, asks for data that nobody will send:
//! initiators silently drop an FCP_XFER_RDY for an unknown exchange, as Linux does. But they answer REC.

use super::exchange::{ExchangeIndex, State};
use super::{SECOND, Target, TargetDrop};
use crate::{DeviceServer, Peer, PeerId};
use linerate_wire::{
    ElsAccept, ElsCommand, ElsReply, ExchangeRepr, FcHeader, FcType, FcoeFrame, OxId, RxId, e_stat, els_explanation,
    els_reason, f_ctl, r_ctl,
};

/// First OX_ID of RECs: above those of an initiator, below those of logins.
pub(crate) const FIRST_OX_ID: OxId = OxId(0xef00);
const COUNT: u16 = 0x100;
/// Most RECs sent in one pass over all exchanges.
const AT_ONCE: usize = 64;

/// RECs under way: the peer, and the index and RX_ID of the exchange. The oldest make room for new ones.
#[derive(Debug)]
pub(super) struct RecPolls {
    out: Box<[Option<(PeerId, ExchangeIndex, RxId)>]>,
    next: u16,
}

impl RecPolls {
    pub(super) fn new() -> Self {
        Self { out: vec![None; usize::from(COUNT)].into_boxed_slice(), next: 0 }
    }

    /// Records a new REC; returns its OX_ID.
    fn open(&mut self, peer: PeerId, place: ExchangeIndex, rx_id: RxId) -> OxId {
        let at = self.next;
        self.next = (at + 1) % COUNT;
        self.out[usize::from(at)] = Some((peer, place, rx_id));
        OxId(FIRST_OX_ID.0 + at)
    }

    /// Exchange that a reply is about; removes the REC, so that a second reply is ignored.
    fn close(&mut self, peer: PeerId, ox_id: OxId) -> Option<(ExchangeIndex, RxId)> {
        let at = usize::from(ox_id.0.checked_sub(FIRST_OX_ID.0)?);
        self.out.get_mut(at)?.take_if(|(whose, ..)| *whose == peer).map(|(_, place, rx_id)| (place, rx_id))
    }
}

impl<S: DeviceServer> Target<S> {
    /// Polls for exchanges whose data has not come for REC_TOV, which is E_D_TOV and a second (FCP-4, clause 11).
    pub(super) fn poll_by_rec(&mut self, now: u64) {
        let mut left = AT_ONCE;
        for place in self.table.touched() {
            let exchange = self.table.at(place);
            let State::Receiving(receiving) = &exchange.state else { continue };
            let Some(peer) = self.peer(exchange.peer).map(|known| known.peer).filter(|_| receiving.asked) else {
                continue;
            };
            let rec_tov = peer.e_d_tov.saturating_add(SECOND);
            let since = exchange.deadline.saturating_sub(self.config.patience).max(receiving.polled);
            if now.saturating_sub(since) < rec_tov {
                continue;
            }
            let (ox_id, rx_id) = (exchange.ox_id, exchange.rx_id);
            if let State::Receiving(receiving) = &mut self.table.at_mut(place).state {
                receiving.polled = now;
            }
            let header = FcHeader {
                r_ctl: r_ctl::ELS_REQUEST,
                fc_type: FcType::ELS,
                f_ctl: f_ctl::FIRST_SEQUENCE | f_ctl::END_SEQUENCE | f_ctl::SEQUENCE_INITIATIVE,
                seq_id: 0,
                ox_id: self.rec_polls.open(peer.id, place, rx_id),
                rx_id: RxId::UNASSIGNED,
                // These fields are the same in every frame.
                d_id: peer.fc_id,
                s_id: peer.own,
                cs_ctl: 0,
                df_ctl: 0,
                seq_cnt: 0,
                parameter: 0,
            };
            let exchange = ExchangeRepr { originator: peer.fc_id, ox_id, rx_id };
            self.reply(&peer, header, &exchange.bytes(ElsCommand::REC));
            self.counters.rec_polls += 1;
            left -= 1;
            if left == 0 {
                return;
            }
        }
    }

    /// Processes a reply to REC: an exchange that its originator does not know, or has ended, is over. After any other
    /// reply the exchange stays until its usual deadline.
    pub(super) fn rec_answered(&mut self, peer: &Peer, frame: &FcoeFrame<'_>) -> Result<(), TargetDrop> {
        let header = frame.header();
        if !header.from_responder() {
            return Err(TargetDrop::Unexpected);
        }
        let (place, rx_id) = self.rec_polls.close(peer.id, header.ox_id).ok_or(TargetDrop::UnknownExchange)?;
        let over = match ElsReply::parse(ElsCommand::REC, frame.payload()) {
            Ok(ElsReply::Reject(why)) => {
                (why.reason, why.explanation) == (els_reason::LOGICAL_ERROR, els_explanation::EXCHANGE)
            }
            Ok(ElsReply::Accept(ElsAccept::Rec(answer))) => answer.status & e_stat::COMPLETE != 0,
            Ok(ElsReply::Accept(_)) | Err(_) => return Err(TargetDrop::Malformed),
        };
        let exchange = self.table.at(place);
        if over
            && (exchange.peer, exchange.rx_id) == (peer.id, rx_id)
            && matches!(&exchange.state, State::Receiving(receiving) if receiving.asked)
        {
            self.counters.forgotten += 1;
            self.end(place);
        }
        Ok(())
    }
}

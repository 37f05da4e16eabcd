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

/// Subject of a REC.
#[derive(Debug, Clone, Copy)]
struct Subject {
    ox_id: OxId,
    rx_id: RxId,
    /// Exchange in the table; None for a command that is held back.
    place: Option<ExchangeIndex>,
}

/// RECs under way, and whom they went to. The oldest make room for new ones.
#[derive(Debug)]
pub(super) struct RecPolls {
    out: Box<[Option<(PeerId, Subject)>]>,
    next: u16,
}

impl RecPolls {
    pub(super) fn new() -> Self {
        Self { out: vec![None; usize::from(COUNT)].into_boxed_slice(), next: 0 }
    }

    /// Records a new REC; returns its OX_ID.
    fn open(&mut self, peer: PeerId, subject: Subject) -> OxId {
        let at = self.next;
        self.next = (at + 1) % COUNT;
        self.out[usize::from(at)] = Some((peer, subject));
        OxId(FIRST_OX_ID.0 + at)
    }

    /// Subject of a reply; removes the REC, so that a second reply is ignored.
    fn close(&mut self, peer: PeerId, ox_id: OxId) -> Option<Subject> {
        let at = usize::from(ox_id.0.checked_sub(FIRST_OX_ID.0)?);
        self.out.get_mut(at)?.take_if(|(whose, _)| *whose == peer).map(|(_, subject)| subject)
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
            self.ask_about(&peer, ox_id, rx_id, Some(place));
            left -= 1;
            if left == 0 {
                return;
            }
        }
    }

    /// Sends REC about an exchange of which the peer is the originator.
    pub(super) fn ask_about(&mut self, peer: &Peer, ox_id: OxId, rx_id: RxId, place: Option<ExchangeIndex>) {
        let header = FcHeader {
            r_ctl: r_ctl::ELS_REQUEST,
            fc_type: FcType::ELS,
            f_ctl: f_ctl::FIRST_SEQUENCE | f_ctl::END_SEQUENCE | f_ctl::SEQUENCE_INITIATIVE,
            seq_id: 0,
            ox_id: self.rec_polls.open(peer.id, Subject { ox_id, rx_id, place }),
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
        self.reply(peer, header, &exchange.bytes(ElsCommand::REC));
        self.counters.rec_polls += 1;
    }

    /// Processes a reply to REC: an exchange that its originator does not know, or has ended, is over. After any other
    /// reply the exchange stays until its usual deadline.
    pub(super) fn rec_answered(&mut self, now: u64, peer: &Peer, frame: &FcoeFrame<'_>) -> Result<(), TargetDrop> {
        let header = frame.header();
        if !header.from_responder() {
            return Err(TargetDrop::Unexpected);
        }
        let Subject { ox_id, rx_id, place } =
            self.rec_polls.close(peer.id, header.ox_id).ok_or(TargetDrop::UnknownExchange)?;
        let over = match ElsReply::parse(ElsCommand::REC, frame.payload()) {
            Ok(ElsReply::Reject(why)) => {
                (why.reason, why.explanation) == (els_reason::LOGICAL_ERROR, els_explanation::EXCHANGE)
            }
            Ok(ElsReply::Accept(ElsAccept::Rec(answer))) => answer.status & e_stat::COMPLETE != 0,
            Ok(ElsReply::Accept(_)) | Err(_) => return Err(TargetDrop::Malformed),
        };
        let Some(place) = place else {
            self.doubt_answered(now, peer.id, ox_id, over);
            return Ok(());
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

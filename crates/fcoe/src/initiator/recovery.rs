//! Recovery of lost frames, which class 3 does not report (FCP-4, clause 12).
//!
//! Without progress for REC_TOV the target is asked for its status (REC). Its answer decides: wait, ask for the
//! sequence again (SRR, where both support it), abort and send the command again, or send it again at once because the
//! target does not know it. A command that is sent again has another OX_ID, and the old one rests.

use super::exchange::{After, Direction, Exchange, ExchangeIndex, Phase, want};
use super::ids::{Resting, Service};
use super::send::{header, send_one};
use super::{Event, Initiator, Outcome, TransportError};
use crate::{ExchangeStatus, Peer, PeerId, Transmit};
use linerate_wire::{
    BaAccRepr, BaRjtRepr, ElsAccept, ElsCommand, ElsReply, ExchangeRepr, FcHeader, FcType, FcoeFrame, FcpSrrReply,
    LsRjtRepr, OxId, RecAccRepr, RxId, e_stat, els_explanation, els_reason, f_ctl, r_ctl,
};

/// Nanoseconds for which missing data may come after its status.
const REORDER: u64 = 10_000_000;
/// Pause before a command whose data was lost twice is sent again. A path that drops frames for lack of room continues
/// to do so while all are requested again at once, so each pause is twice as long as the one before, and differs from
/// those of other commands.
const PAUSE: u64 = 150_000_000;
/// RECs without a reply after which the command is aborted.
const SILENT_RECS: u8 = 3;
/// ABTSs without a reply after which the exchange is given up.
const SILENT_ABORTS: u8 = 2;

/// Decision after the answer to REC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Wait,
    Resend,
    Abort,
    /// Send SRR for the unit with this R_CTL from this byte on; abort if the peer does not support it.
    Retransmit(u8, u32),
}

/// Decision about an exchange that the target has, and that has not progressed for REC_TOV (FCP-4, clause 12.4.1, and
/// the diagrams of annex C).
fn verdict(exchange: &Exchange, answer: &RecAccRepr, retry: bool, now: u64) -> Verdict {
    let seen = exchange.ranges.end();
    if answer.status & e_stat::COMPLETE != 0 {
        // The target has finished, and its frames were lost.
        let ended = answer.status & e_stat::ABNORMAL == 0;
        return match exchange.direction {
            _ if !retry || !ended => Verdict::Resend,
            Direction::In if answer.transferred > seen => Verdict::Retransmit(r_ctl::DATA, seen),
            _ => Verdict::Retransmit(r_ctl::STATUS, 0),
        };
    }
    if answer.status & e_stat::SEQUENCE_INITIATIVE == 0 {
        // Each side waits for the other: frames of the target, or the end of our data, were lost.
        return match exchange.direction {
            Direction::Out => Verdict::Retransmit(r_ctl::DATA_DESCRIPTOR, answer.transferred.min(seen)),
            Direction::In if answer.transferred > seen => Verdict::Retransmit(r_ctl::DATA, seen),
            Direction::In | Direction::None => Verdict::Retransmit(r_ctl::STATUS, 0),
        };
    }
    if exchange.direction == Direction::Out && seen > 0 {
        if answer.transferred > 0 && answer.transferred < seen {
            return Verdict::Retransmit(r_ctl::DATA_DESCRIPTOR, answer.transferred);
        }
        // A target that does not count bytes (Linux's) may lack some and not know it. It is either slow or waits in
        // vain: half of the time that the command had left when it was sent is for the first case, half for the second,
        // in which it may be lost again.
        let half = exchange.deadline.saturating_sub(exchange.attempted) / 2;
        if answer.transferred == 0 && now.saturating_sub(exchange.attempted) >= half {
            return Verdict::Abort;
        }
    }
    Verdict::Wait
}

impl Initiator {
    /// Status of an exchange of ours for a peer that asks (REC); `None`: LS_RJT, invalid OX_ID-RX_ID combination
    /// (FC-LS-3, clause 4.2.29).
    #[must_use]
    pub fn exchange_status(&self, peer: PeerId, ox_id: OxId, rx_id: RxId) -> Option<ExchangeStatus> {
        let exchange = &self.exchanges[self.ids.place(ox_id)?];
        let named = [rx_id, exchange.rx_id].contains(&RxId::UNASSIGNED) || rx_id == exchange.rx_id;
        let sends = exchange.wants & want::DATA != 0;
        (exchange.peer == peer && exchange.is_open() && named).then(|| ExchangeStatus {
            rx_id: exchange.rx_id,
            status: if sends { e_stat::SEQUENCE_INITIATIVE } else { 0 },
            transferred: if sends { exchange.burst.offset } else { exchange.ranges.end() },
        })
    }

    /// Handles the timers of an exchange.
    pub(super) fn look(&mut self, at: ExchangeIndex) {
        let now = self.now;
        let exchange = &mut self.exchanges[at];
        let Some(target) = self.targets.get(usize::from(exchange.peer.index)).and_then(Option::as_deref) else {
            return;
        };
        let rec_tov = target.rec_tov();
        let waited = now.saturating_sub(exchange.asked);
        match exchange.phase {
            Phase::Free | Phase::Confirming => return,
            Phase::Aborting(_) => {
                if waited >= target.abort_tov() {
                    self.abort_unanswered(at);
                }
            }
            _ if now >= exchange.deadline => self.time_out(at),
            Phase::Pausing(until) => {
                if now >= until {
                    exchange.phase = Phase::Running;
                    (exchange.attempted, exchange.progress) = (now, now);
                    self.queue(at);
                }
            }
            Phase::Running => {
                let quiet = now.saturating_sub(exchange.progress);
                if let Some(held) = exchange.held {
                    if now.saturating_sub(held.since) >= REORDER {
                        self.lacks_data(at);
                    }
                } else if exchange.wants & (want::COMMAND | want::DATA) != 0 {
                    // There is no room for our frames: that is not the target's fault.
                    exchange.progress = now;
                } else if quiet >= exchange.patience(rec_tov) && target.answers_rec {
                    self.ask(at);
                }
            }
            Phase::Asking if waited >= rec_tov => {
                exchange.silent += 1;
                if exchange.silent >= SILENT_RECS {
                    self.abort(at, After::Resend);
                } else {
                    self.ask(at);
                }
            }
            Phase::Requesting if waited >= rec_tov => self.abort(at, After::Resend),
            Phase::Asking | Phase::Requesting => {}
        }
        self.schedule(at);
    }

    /// Sets the time at which the exchange is to be looked at again.
    pub(super) fn schedule(&mut self, at: ExchangeIndex) {
        let exchange = &self.exchanges[at];
        let Some(target) = self.targets.get(usize::from(exchange.peer.index)).and_then(Option::as_deref) else {
            return;
        };
        let due = match exchange.phase {
            Phase::Free | Phase::Confirming => return,
            Phase::Aborting(_) => exchange.asked.saturating_add(target.abort_tov()),
            Phase::Pausing(until) => exchange.deadline.min(until),
            Phase::Asking | Phase::Requesting => exchange.deadline.min(exchange.asked.saturating_add(target.rec_tov())),
            Phase::Running => match exchange.held {
                Some(held) => exchange.deadline.min(held.since.saturating_add(REORDER)),
                None if target.answers_rec => {
                    let patience = exchange.patience(target.rec_tov());
                    exchange.deadline.min(exchange.progress.saturating_add(patience))
                }
                None => exchange.deadline,
            },
        };
        self.wheel.set(at, due);
    }

    /// Sends REC.
    fn ask(&mut self, at: ExchangeIndex) {
        let exchange = &mut self.exchanges[at];
        self.services.release(exchange.service);
        exchange.service = OxId::UNASSIGNED;
        exchange.phase = Phase::Asking;
        exchange.wants |= want::REC;
        exchange.asked = self.now;
        self.queue(at);
    }

    /// Sends SRR if the peer supports it (FCP-4, clause 12.4.1), otherwise aborts.
    fn request(&mut self, at: ExchangeIndex, r_ctl: u8, offset: u32) {
        let exchange = &mut self.exchanges[at];
        let index = usize::from(exchange.peer.index);
        let retry = self.targets.get(index).and_then(Option::as_ref).is_some_and(|target| target.peer.retry);
        if !retry || exchange.damaged {
            self.abort(at, After::Resend);
            return;
        }
        self.services.release(exchange.service);
        exchange.service = OxId::UNASSIGNED;
        exchange.phase = Phase::Requesting;
        exchange.retransmission = super::exchange::Retransmission { offset, r_ctl };
        exchange.held = None;
        if r_ctl == r_ctl::DATA {
            // What comes from now on counts: data that is sent again may overtake the reply.
            exchange.ranges.truncate(offset);
            exchange.continuity.begin(offset);
        }
        exchange.wants |= want::SRR;
        exchange.asked = self.now;
        self.queue(at);
        self.schedule(at);
    }

    /// Handles GOOD without all of its data.
    fn lacks_data(&mut self, at: ExchangeIndex) {
        let exchange = &self.exchanges[at];
        match exchange.held {
            // The target waits for FCP_CONF, and so can still be asked.
            Some(held) if held.confirm => self.request(at, r_ctl::DATA, exchange.ranges.end()),
            _ => {
                let doubled = exchange.attempts.checked_sub(1).map(|again| again.min(8));
                let share = 8 + u64::from(at.0 % 8);
                self.resend(at, None, doubled.map_or(0, |doubled| (PAUSE << doubled) * share / 8));
            }
        }
    }

    /// Ends a command that has taken too long. Data in can no longer come into the buffer, so a read is reported at
    /// once; data out may still be written, until the target has answered ABTS.
    fn time_out(&mut self, at: ExchangeIndex) {
        let exchange = &self.exchanges[at];
        let (peer, out, unsent) =
            (exchange.peer, exchange.direction == Direction::Out, exchange.wants & want::COMMAND != 0);
        self.count(peer).timed_out += 1;
        if unsent {
            self.fail(at, Outcome::TimedOut, None);
            return;
        }
        if !out {
            self.report(at, Outcome::TimedOut, None);
        }
        self.abort(at, After::TimedOut);
    }

    /// Sends ABTS, with the RX_ID if it is known (FCP-4, clause 12.3).
    fn abort(&mut self, at: ExchangeIndex, after: After) {
        let exchange = &mut self.exchanges[at];
        self.services.release(exchange.service);
        exchange.service = OxId::UNASSIGNED;
        exchange.phase = Phase::Aborting(after);
        exchange.held = None;
        exchange.silent = 0;
        exchange.wants = want::ABTS;
        exchange.asked = self.now;
        self.queue(at);
        self.schedule(at);
    }

    /// Handles an unanswered ABTS: it is repeated once, then the exchange is given up and a logout of the peer is
    /// recommended (FCP-4, clause 12.3).
    fn abort_unanswered(&mut self, at: ExchangeIndex) {
        let exchange = &mut self.exchanges[at];
        exchange.silent += 1;
        if exchange.silent < SILENT_ABORTS {
            exchange.wants |= want::ABTS;
            exchange.asked = self.now;
            self.queue(at);
            return;
        }
        let id = exchange.peer;
        if let Some(target) = self.targets.get_mut(usize::from(id.index)).and_then(Option::as_mut) {
            target.counters.abts_unanswered += 1;
            if !std::mem::replace(&mut target.hinted, true) {
                self.events.push_back(Event::Logout(id));
            }
        }
        self.fail(at, Outcome::Transport(TransportError::AbortUnanswered), None);
    }

    /// Processes BA_ACC or BA_RJT: the target has released the exchange (FCP-4, clause 12.3).
    pub(super) fn aborted(&mut self, peer: &Peer, frame: &FcoeFrame<'_>) {
        let header = frame.header();
        let Some(at) = self.find(peer, header) else { return };
        let exchange = &self.exchanges[at];
        let Phase::Aborting(after) = exchange.phase else {
            self.count(peer.id).unexpected += 1;
            return;
        };
        let rx_id = exchange.rx_id;
        let qualifier = if header.r_ctl == r_ctl::BLS_BA_ACC {
            let Ok(accept) = BaAccRepr::parse(frame.payload()) else {
                self.count(peer.id).malformed += 1;
                return;
            };
            (accept.low_seq_cnt <= accept.high_seq_cnt).then_some(rx_id)
        } else if BaRjtRepr::parse(frame.payload()).is_ok() {
            None
        } else {
            self.count(peer.id).malformed += 1;
            return;
        };
        if let Some(target) = self.targets.get_mut(usize::from(peer.id.index)).and_then(Option::as_mut) {
            target.hinted = false;
        }
        self.ended(at, after, qualifier);
    }

    /// Continues after the target has released the exchange.
    fn ended(&mut self, at: ExchangeIndex, after: After, qualifier: Option<RxId>) {
        match after {
            After::Resend => self.resend(at, qualifier, 0),
            After::TimedOut => self.fail(at, Outcome::TimedOut, qualifier),
        }
    }

    /// Sends the command again with another OX_ID after a pause, unless its time is over, it was repeated too often, or
    /// a repetition does harm.
    fn resend(&mut self, at: ExchangeIndex, qualifier: Option<RxId>, pause: u64) {
        let exchange = &self.exchanges[at];
        let peer = exchange.peer;
        if self.now >= exchange.deadline {
            self.count(peer).timed_out += 1;
            self.fail(at, Outcome::TimedOut, qualifier);
            return;
        }
        let error = if !exchange.is_repeatable() {
            Some(TransportError::NotRepeatable)
        } else if exchange.attempts >= self.config.retries {
            Some(TransportError::Retries)
        } else {
            None
        };
        let ox_id = if error.is_none() { self.ids.take(at) } else { None };
        let Some(ox_id) = ox_id else {
            let error = error.unwrap_or(TransportError::Retries);
            self.fail(at, Outcome::Transport(error), qualifier);
            return;
        };
        self.rest(at, qualifier);
        let exchange = &mut self.exchanges[at];
        self.services.release(exchange.service);
        exchange.service = OxId::UNASSIGNED;
        exchange.attempts += 1;
        exchange.restart(self.now, ox_id);
        if pause > 0 {
            exchange.phase = Phase::Pausing(self.now.saturating_add(pause));
        } else {
            self.queue(at);
        }
        self.count(peer).resent += 1;
        self.schedule(at);
    }

    /// Processes a reply to REC, SRR or RRQ.
    pub(super) fn reply(&mut self, peer: &Peer, frame: &FcoeFrame<'_>) {
        let header = frame.header();
        let service = if header.from_responder() { self.services.answered(peer.id, header.ox_id) } else { None };
        let (at, phase) = match service {
            None => {
                self.count(peer.id).unknown_exchange += 1;
                return;
            }
            Some(Service::Rrq) => return,
            Some(Service::Rec(at)) => (at, Phase::Asking),
            Some(Service::Srr(at)) => (at, Phase::Requesting),
        };
        let exchange = &mut self.exchanges[at];
        if exchange.phase != phase {
            self.count(peer.id).unexpected += 1;
            return;
        }
        exchange.service = OxId::UNASSIGNED;
        if phase == Phase::Asking {
            self.rec_answered(peer, at, frame.payload());
        } else {
            self.srr_answered(peer, at, frame.payload());
        }
        self.schedule(at);
    }

    fn rec_answered(&mut self, peer: &Peer, at: ExchangeIndex, payload: &[u8]) {
        let exchange = &mut self.exchanges[at];
        let verdict = match ElsReply::parse(ElsCommand::REC, payload) {
            Ok(ElsReply::Accept(ElsAccept::Rec(answer))) if answer.ox_id == exchange.ox_id => {
                if exchange.rx_id == RxId::UNASSIGNED {
                    exchange.rx_id = answer.rx_id;
                }
                verdict(exchange, &answer, peer.retry, self.now)
            }
            Ok(ElsReply::Reject(LsRjtRepr {
                reason: els_reason::NOT_SUPPORTED | els_reason::INVALID_COMMAND, ..
            })) => {
                // From now on only the command's time limit ends the wait.
                if let Some(target) = self.targets.get_mut(usize::from(peer.id.index)).and_then(Option::as_mut) {
                    target.answers_rec = false;
                }
                Verdict::Wait
            }
            Ok(ElsReply::Reject(LsRjtRepr {
                reason: els_reason::LOGICAL_ERROR | els_reason::UNABLE,
                explanation: els_explanation::EXCHANGE,
                ..
            })) => Verdict::Resend,
            Ok(ElsReply::Reject(_)) => Verdict::Wait,
            Ok(ElsReply::Accept(_)) | Err(_) => {
                // The reply is ignored: the phase does not change.
                self.count(peer.id).malformed += 1;
                return;
            }
        };
        match verdict {
            Verdict::Wait => {
                exchange.phase = Phase::Running;
                exchange.progress = self.now;
                exchange.silent = 0;
            }
            Verdict::Resend => self.resend(at, None, 0),
            Verdict::Abort => self.abort(at, After::Resend),
            Verdict::Retransmit(r_ctl, offset) => self.request(at, r_ctl, offset),
        }
    }

    fn srr_answered(&mut self, peer: &Peer, at: ExchangeIndex, payload: &[u8]) {
        let exchange = &mut self.exchanges[at];
        match FcpSrrReply::parse(payload) {
            Ok(FcpSrrReply::Accept) => {
                exchange.phase = Phase::Running;
                exchange.progress = self.now;
                if exchange.retransmission.r_ctl == r_ctl::DATA_DESCRIPTOR {
                    exchange.ranges.truncate(exchange.retransmission.offset);
                }
            }
            Ok(FcpSrrReply::Reject { .. }) => self.abort(at, After::Resend),
            Err(_) => {
                self.count(peer.id).malformed += 1;
                self.abort(at, After::Resend);
            }
        }
    }

    /// Answers ABTS of a target for an exchange of ours (FC-FS-3, clause 16.3.2): it has released it, and the command
    /// is sent again.
    pub(super) fn answer_abort(&mut self, peer: &Peer, abort: &FcHeader, out: &mut impl Transmit) {
        let found = self.find(peer, abort);
        let f_ctl = f_ctl::LAST_SEQUENCE | f_ctl::END_SEQUENCE | f_ctl::SEQUENCE_INITIATIVE;
        let reply = |r_ctl| FcHeader {
            seq_id: abort.seq_id,
            ..header(peer, r_ctl, FcType::BLS, f_ctl, abort.ox_id, abort.rx_id)
        };
        let Some(at) = found else {
            let reject =
                BaRjtRepr { reason: BaRjtRepr::LOGICAL_ERROR, explanation: BaRjtRepr::INVALID_EXCHANGE, vendor: 0 };
            send_one(peer, reply(r_ctl::BLS_BA_RJT), &reject.bytes(), out);
            return;
        };
        let accept = BaAccRepr {
            last_seq_id: None,
            ox_id: abort.ox_id,
            rx_id: abort.rx_id,
            low_seq_cnt: 0,
            high_seq_cnt: u16::MAX,
        };
        // Without room for the answer the target asks again.
        if send_one(peer, reply(r_ctl::BLS_BA_ACC), &accept.bytes(), out) {
            let after = match self.exchanges[at].phase {
                Phase::Aborting(after) => after,
                _ => After::Resend,
            };
            self.ended(at, after, None);
            self.pump(out);
        }
    }

    /// Sends RRQ for identifiers that have rested and have a recovery qualifier (FC-LS-3, clause 4.2.16); the others,
    /// and those whose RRQ has timed out, become free.
    pub(super) fn reinstate(&mut self, out: &mut impl Transmit) {
        while let Some(resting) = self.ids.rested(self.now) {
            let Some((id, rx_id)) = resting.qualifier else {
                self.services.release(resting.service);
                self.ids.release(resting.ox_id);
                continue;
            };
            let Some(target) = self.targets.get_mut(usize::from(id.index)).and_then(Option::as_mut) else {
                self.ids.release(resting.ox_id);
                continue;
            };
            let service = self.services.take(id, Service::Rrq);
            let which = ExchangeRepr { originator: target.peer.own, ox_id: resting.ox_id, rx_id };
            let f_ctl = f_ctl::FIRST_SEQUENCE | f_ctl::END_SEQUENCE | f_ctl::SEQUENCE_INITIATIVE;
            let header = header(&target.peer, r_ctl::ELS_REQUEST, FcType::ELS, f_ctl, service, RxId::UNASSIGNED);
            let wait = target.abort_tov();
            let sent = send_one(&target.peer, header, &which.bytes(ElsCommand::RRQ), out);
            let again = if sent {
                target.counters.rrq += 1;
                Resting { until: self.now.saturating_add(wait.max(1)), qualifier: None, service, ..resting }
            } else {
                self.services.release(service);
                Resting { until: self.now.saturating_add(REORDER), ..resting }
            };
            self.ids.rest(again);
        }
    }
}

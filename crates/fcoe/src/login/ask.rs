//! Our requests: their sequence, and the evaluation of their replies.

use super::logins::PLOGI_TIME;
use super::send::{AUTHENTICATE_FIRST, BAD_NAME, LOGIN_FIRST};
use super::table::{Entry, NeighbourIndex, Process, Proved, ReplyPath, State, fits};
use super::{E_D_TOV, LoginEvent, Logins, MIN_PAYLOAD, SessionEnd, Ways};
use crate::{AuthFailure, Link, Peer, Role};
use linerate_wire::{
    ElsAccept, ElsCommand, ElsReply, FcHeader, LoginRepr, LsRjtRepr, RtvAccRepr, ServicePage, els_explanation,
    els_reason, fcp_service,
};

/// Valid range of a peer's time-outs in milliseconds; a value outside is taken for a mistake.
const TIMES: std::ops::RangeInclusive<u64> = 1..=600_000;

impl Logins {
    /// Processes a reply.
    pub(super) fn replied(
        &mut self,
        now: u64,
        way: ReplyPath,
        header: &FcHeader,
        payload: &[u8],
        ways: &mut impl Ways,
    ) {
        let Some(index) = self.table.find(header.s_id) else { return self.counters.unknown_replies += 1 };
        let Some(entry) = self.table.entry_mut(index) else { return };
        if !way.is_from(&entry.info) {
            self.counters.wrong_source += 1;
            return;
        }
        let Some(pending) = entry.pending.take_if(|pending| pending.ox_id == header.ox_id) else {
            self.counters.unknown_replies += 1;
            return;
        };
        entry.wake = None;
        match ElsReply::parse(pending.command, payload) {
            Ok(ElsReply::Accept(accept)) => self.accepted(now, index, pending.command, accept, ways),
            Ok(ElsReply::Reject(reject)) => {
                self.counters.rejects += 1;
                self.rejected(now, index, pending.command, reject, ways);
            }
            Err(_) => {
                self.counters.malformed += 1;
                self.rejected(now, index, pending.command, LsRjtRepr::new(0, 0), ways);
            }
        }
    }

    fn accepted(
        &mut self,
        now: u64,
        index: NeighbourIndex,
        command: ElsCommand,
        accept: ElsAccept<'_>,
        ways: &mut impl Ways,
    ) {
        let Some(entry) = self.table.entry_mut(index) else { return };
        match (command, accept) {
            (ElsCommand::FLOGI, ElsAccept::Login(login)) => match objection(entry, &login, false) {
                // Linux sends PLOGI at once, unless it waits for the reply to a lost FLOGI of its own.
                None => {
                    let patience = if entry.plogi_refused { PLOGI_TIME } else { E_D_TOV };
                    self.after_flogi(now, index, patience, ways);
                }
                Some(_) => self.retry_later(now, index, ways),
            },
            (ElsCommand::PLOGI, ElsAccept::Login(login)) => match objection(entry, &login, true) {
                None => self.after_plogi(now, index, &login, ways),
                Some(_) => self.retry_later(now, index, ways),
            },
            (ElsCommand::PRLI, ElsAccept::Process(pages)) => {
                let paired = |page: &ServicePage| {
                    page.response() == ServicePage::EXECUTED && page.flags & ServicePage::IMAGE_PAIR != 0
                };
                if let Some(page) = pages.fcp().filter(paired) {
                    let process = process(page.parameters);
                    entry.info.role = Some(process.role);
                    if fits(self.config.role, entry.info.role) {
                        entry.process = Some(process);
                    }
                }
                self.process_done(now, index, ways);
            }
            (ElsCommand::ADISC, ElsAccept::Adisc(adisc)) => {
                if entry.is_named(adisc.port_name, adisc.node_name) && adisc.id == entry.info.fc_id {
                    self.settle(now, index, ways);
                } else {
                    self.restart(now, index, SessionEnd::Moved, ways);
                }
            }
            (ElsCommand::AUTH, _) => self.auth_arrived(now, index, ways),
            (ElsCommand::RTV, ElsAccept::Rtv(rtv)) => {
                self.take_times(index, &rtv);
                self.settle(now, index, ways);
            }
            _ => {}
        }
    }

    fn rejected(
        &mut self,
        now: u64,
        index: NeighbourIndex,
        command: ElsCommand,
        reject: LsRjtRepr,
        ways: &mut impl Ways,
    ) {
        if command == ElsCommand::FLOGI
            && (reject.reason, reject.explanation) == BAD_NAME
            && let Some(entry) = self.table.entry_mut(index)
            && !std::mem::replace(&mut entry.told, true)
        {
            self.events.push_back(LoginEvent::NameTaken(entry.info.wwpn));
        }
        match command {
            // The peer does not know our PLOGI: its next beacon begins a new login.
            ElsCommand::PRLI if (reject.reason, reject.explanation) == LOGIN_FIRST => {
                self.lose(index, SessionEnd::Refused);
                self.reset(index);
            }
            ElsCommand::PRLI if (reject.reason, reject.explanation) == AUTHENTICATE_FIRST => {
                self.unauthenticated(now, index, AuthFailure::Demanded, ways);
            }
            ElsCommand::AUTH if reject.reason != els_reason::LOGICAL_BUSY => {
                self.unauthenticated(now, index, AuthFailure::NotOffered, ways);
            }
            ElsCommand::FLOGI | ElsCommand::PLOGI | ElsCommand::PRLI | ElsCommand::AUTH => {
                self.retry_later(now, index, ways);
            }
            ElsCommand::ADISC => self.restart(now, index, SessionEnd::Refused, ways),
            _ => self.settle(now, index, ways),
        }
    }

    /// Continues after FLOGI: both know each other as VN_Ports. The one with the greater name sends PLOGI (FC-LS-3,
    /// N_Port login without a fabric); if that is the neighbour, `patience` is its time limit.
    pub(super) fn after_flogi(&mut self, now: u64, index: NeighbourIndex, patience: u64, ways: &mut impl Ways) {
        let Some(entry) = self.table.entry_mut(index) else { return };
        (entry.retries, entry.pending) = (0, None);
        if self.config.wwpn > entry.info.wwpn && fits(self.config.role, entry.info.role) {
            entry.state = State::Plogi;
            self.request(now, index, ElsCommand::PLOGI, ways);
        } else {
            entry.state = State::PlogiWait;
            self.wake_at(index, now.saturating_add(patience));
        }
    }

    /// Continues after PLOGI: both are logged in as N_Ports.
    pub(super) fn after_plogi(&mut self, now: u64, index: NeighbourIndex, login: &LoginRepr, ways: &mut impl Ways) {
        let Some(entry) = self.table.entry_mut(index) else { return };
        entry.agree_on_payload(self.config.max_payload, login);
        entry.secure = login.features & LoginRepr::SECURITY != 0;
        (entry.proved, entry.transaction) = (Proved::default(), None);
        self.process_login(now, index, ways);
    }

    /// Sends PRLI, if the roles fit, and nothing is to be proved before.
    pub(super) fn process_login(&mut self, now: u64, index: NeighbourIndex, ways: &mut impl Ways) {
        let Some(entry) = self.table.entry_mut(index) else { return };
        (entry.retries, entry.pending, entry.wake) = (0, None, None);
        if !fits(self.config.role, entry.info.role) {
            entry.state = State::Port;
            return;
        }
        if self.owes(index) || self.should_prove(index) {
            return self.authenticate(now, index, ways);
        }
        let Some(entry) = self.table.entry_mut(index) else { return };
        entry.state = State::Prli;
        self.request(now, index, ElsCommand::PRLI, ways);
    }

    /// Continues after our PRLI has ended, with an image pair or without.
    pub(super) fn process_done(&mut self, now: u64, index: NeighbourIndex, ways: &mut impl Ways) {
        let Some(entry) = self.table.entry_mut(index) else { return };
        (entry.retries, entry.pending, entry.wake) = (0, None, None);
        entry.state = if entry.process.is_some() { State::Ready } else { State::Port };
        entry.ask_times = entry.state == State::Ready;
        self.raise(index);
        self.settle(now, index, ways);
    }

    /// Sends the requests that wait until nothing is pending.
    pub(super) fn settle(&mut self, now: u64, index: NeighbourIndex, ways: &mut impl Ways) {
        let Some(entry) = self.table.entry_mut(index) else { return };
        if entry.pending.is_some() {
            return;
        }
        if std::mem::take(&mut entry.ask_times) {
            self.request(now, index, ElsCommand::RTV, ways);
        } else if std::mem::take(&mut entry.verify) {
            self.request(now, index, ElsCommand::ADISC, ways);
        }
    }

    /// Brings a session up if an image pair allows it, or reports its changes.
    pub(super) fn raise(&mut self, index: NeighbourIndex) {
        let (Some((own, mac)), Some(entry)) = (self.own, self.table.entry(index)) else { return };
        let Some(process) = entry.process.filter(|_| !self.owes(index)) else { return };
        // Targets know an initiator by its PRLI: we send no command before ours is answered. If we accept commands too,
        // the session comes up before, since they may come at once.
        let takes = self.config.role.target && process.role.initiator;
        if entry.state < State::Ready && !takes {
            return;
        }
        let (known, info) = (entry.up, entry.info);
        let id = known.map_or_else(|| self.table.next_session(index), |peer| peer.id);
        let Some(entry) = self.table.entry_mut(index) else { return };
        let peer = Peer {
            id,
            wwpn: info.wwpn,
            wwnn: info.wwnn,
            fc_id: info.fc_id,
            own,
            link: Link { src: mac, dst: info.vn_mac, vlan: self.config.vlan },
            max_payload: entry.max_payload,
            role: process.role,
            retry: self.config.retry && process.retry,
            confirm: self.config.confirm && process.confirm,
            e_d_tov: entry.e_d_tov,
            r_a_tov: entry.r_a_tov,
            authenticated: entry.proved.theirs,
        };
        entry.up = Some(peer);
        match known {
            None => {
                entry.told = false;
                self.counters.ups += 1;
                self.events.push_back(LoginEvent::Up(peer));
            }
            Some(known) if known != peer => self.events.push_back(LoginEvent::Changed(peer)),
            Some(_) => {}
        }
    }

    fn take_times(&mut self, index: NeighbourIndex, rtv: &RtvAccRepr) {
        const MILLISECOND: u64 = 1_000_000;
        let (e_d_tov, r_a_tov) = (rtv.e_d_tov_ns(), u64::from(rtv.r_a_tov) * MILLISECOND);
        let sane = |time: u64| TIMES.contains(&(time / MILLISECOND));
        let Some(entry) = self.table.entry_mut(index) else { return };
        if sane(e_d_tov) && sane(r_a_tov) && e_d_tov <= r_a_tov {
            (entry.e_d_tov, entry.r_a_tov) = (e_d_tov, r_a_tov);
            self.raise(index);
        } else {
            self.counters.malformed += 1;
        }
    }
}

/// Reason and explanation for rejecting a neighbour's service parameters, or None to accept them (FC-LS-3, LS_RJT
/// explanations). FLOGI's class parameters have no receive size.
pub(super) fn objection(entry: &Entry, login: &LoginRepr, of_port: bool) -> Option<(u8, u8)> {
    let short = |size: u16| size < MIN_PAYLOAD;
    let explanation = if login.port_name != entry.info.wwpn {
        els_explanation::PORT_NAME
    } else if login.node_name != entry.info.wwnn {
        els_explanation::NODE_NAME
    } else if !login.class_3.is_valid() {
        els_explanation::OPTIONS
    } else if short(login.receive_size) || of_port && short(login.class_3.receive_size) {
        els_explanation::RECEIVE_SIZE
    } else {
        return None;
    };
    Some((els_reason::LOGICAL_ERROR, explanation))
}

/// Process properties from FCP's service parameters.
pub(super) fn process(parameters: u32) -> Process {
    let has = |bit| parameters & bit != 0;
    Process {
        role: Role { target: has(fcp_service::TARGET), initiator: has(fcp_service::INITIATOR) },
        retry: has(fcp_service::RETRY),
        confirm: has(fcp_service::CONFIRMED_COMPLETION),
    }
}

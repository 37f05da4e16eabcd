//! Answers to received requests: acceptance, rejection, and its reason.

use super::ask::{objection, process};
use super::logins::PLOGI_TIME;
use super::recent::Request;
use super::send::{AUTHENTICATE_FIRST, BAD_NAME, BUSY, LOGIN_FIRST, NOT_NEIGHBOUR};
use super::table::{Entry, NeighbourIndex, Proved, ReplyPath, State, fits};
use super::{Logins, MAX_PAYLOAD, SessionEnd, Ways};
use linerate_wire::{
    AdiscRepr, BaRjtRepr, ElsAccept, ElsCommand, ElsRequest, Error, ExchangeRepr, FcHeader, FcType, LoginRepr,
    LogoRepr, RecAccRepr, RtvAccRepr, ServicePage, ServicePages, els_explanation, els_reason, r_ctl,
};

const IN_PROGRESS: (u8, u8) = (els_reason::IN_PROGRESS, els_explanation::NONE);
pub(super) const NOT_SUPPORTED: (u8, u8) = (els_reason::NOT_SUPPORTED, els_explanation::NOT_SUPPORTED);
const BAD_LENGTH: (u8, u8) = (els_reason::PROTOCOL_ERROR, els_explanation::PAYLOAD_LENGTH);
const BAD_ORIGINATOR: (u8, u8) = (els_reason::LOGICAL_ERROR, els_explanation::ORIGINATOR);
const NO_EXCHANGE: (u8, u8) = (els_reason::LOGICAL_ERROR, els_explanation::EXCHANGE);

/// Parse error of an unknown command.
const UNKNOWN: Error = Error::Malformed("els", "command");

impl Logins {
    pub(super) fn answer(&mut self, now: u64, way: ReplyPath, header: &FcHeader, payload: &[u8], ways: &mut impl Ways) {
        self.counters.requests += 1;
        let request = match ElsRequest::parse(payload) {
            Ok(request) => Ok(request),
            Err(UNKNOWN) => Err(NOT_SUPPORTED),
            Err(_) => {
                self.counters.malformed += 1;
                Err(BAD_LENGTH)
            }
        };
        let known = self.table.find(header.s_id);
        let Some(index) = known.filter(|index| self.table.entry(*index).is_some_and(|entry| way.is_from(&entry.info)))
        else {
            match known {
                Some(_) => self.counters.wrong_source += 1,
                None => self.counters.strangers += 1,
            }
            return self.answer_stranger(way, header, request.ok(), known.is_some(), ways);
        };
        let request = match request {
            Ok(request) => request,
            Err(reason) => return self.reject(way, header, reason, ways),
        };
        let recent = Request::of(now, header, payload);
        let is_twin = |entry: &Entry| recent.is_some_and(|request| entry.recent.has_twin(&request));
        if self.table.entry(index).is_some_and(is_twin) {
            self.counters.twins += 1;
            return;
        }
        match request {
            ElsRequest::Flogi(login) => self.answer_flogi(now, index, way, header, &login, ways),
            ElsRequest::Fdisc(_) => self.reject(way, header, NOT_SUPPORTED, ways),
            ElsRequest::Plogi(login) => self.answer_plogi(now, index, way, header, &login, ways),
            ElsRequest::Logo(logo) => self.answer_logo(index, way, header, logo, ways),
            ElsRequest::Echo(bytes) => self.accept(way, header, ElsAccept::Echo(bytes), ways),
            ElsRequest::Test(_) => {}
            request => self.answer_port(now, index, way, header, request, ways),
        }
        if let (Some(entry), Some(request)) = (self.table.entry_mut(index), recent) {
            entry.recent.note(request);
        }
    }

    /// Answers an ABTS for no exchange of FCP: our replies are immediate, so there is nothing to abort (FC-FS-3,
    /// BA_RJT).
    pub(super) fn answer_abort(&mut self, way: ReplyPath, header: &FcHeader, ways: &mut impl Ways) {
        self.counters.rejects_sent += 1;
        let reject =
            BaRjtRepr { reason: BaRjtRepr::LOGICAL_ERROR, explanation: BaRjtRepr::INVALID_EXCHANGE, vendor: 0 };
        self.send_back(way, header, (r_ctl::BLS_BA_RJT, FcType::BLS), &reject.bytes(), ways);
    }

    /// Answers a request of a port that discovery does not know, or that uses another's identity. Logins are rejected;
    /// a request in a neighbour's name gets no other reply, as the neighbour might take the reply for its own.
    fn answer_stranger(
        &mut self,
        way: ReplyPath,
        header: &FcHeader,
        request: Option<ElsRequest<'_>>,
        in_a_name: bool,
        ways: &mut impl Ways,
    ) {
        match request {
            Some(ElsRequest::Flogi(login)) if self.table.find_name(login.port_name).is_some() => {
                self.reject(way, header, BAD_NAME, ways);
            }
            Some(ElsRequest::Flogi(_) | ElsRequest::Plogi(_) | ElsRequest::Prli(_)) => {
                self.reject(way, header, NOT_NEIGHBOUR, ways);
            }
            _ if in_a_name => {}
            Some(ElsRequest::Logo(_)) => self.accept(way, header, ElsAccept::Plain, ways),
            Some(ElsRequest::Test(_)) => {}
            _ => self.reject(way, header, LOGIN_FIRST, ways),
        }
    }

    fn answer_flogi(
        &mut self,
        now: u64,
        index: NeighbourIndex,
        way: ReplyPath,
        header: &FcHeader,
        login: &LoginRepr,
        ways: &mut impl Ways,
    ) {
        let Some(entry) = self.table.entry(index) else { return };
        if let Some(reason) = objection(entry, login, false) {
            return self.reject(way, header, reason, ways);
        }
        let state = entry.state;
        if self.closing {
            return self.reject(way, header, BUSY, ways);
        }
        if state >= State::Auth {
            // FC-LS-3, FLOGI: a FLOGI ends all sessions. The exchanges end first, then a new login begins.
            self.reject(way, header, BUSY, ways);
            return self.restart(now, index, SessionEnd::LoginAgain, ways);
        }
        self.accept(way, header, ElsAccept::Login(self.fabric_parameters()), ways);
        // If our own FLOGI is pending, its reply decides.
        if state != State::Flogi {
            self.after_flogi(now, index, PLOGI_TIME, ways);
        }
    }

    fn answer_plogi(
        &mut self,
        now: u64,
        index: NeighbourIndex,
        way: ReplyPath,
        header: &FcHeader,
        login: &LoginRepr,
        ways: &mut impl Ways,
    ) {
        let Some(entry) = self.table.entry(index) else { return };
        if let Some(reason) = objection(entry, login, true) {
            return self.reject(way, header, reason, ways);
        }
        match entry.state {
            _ if self.closing => return self.reject(way, header, BUSY, ways),
            State::Flogi => {
                if let Some(entry) = self.table.entry_mut(index) {
                    entry.plogi_refused = true;
                }
                return self.reject(way, header, BUSY, ways);
            }
            // Crossed PLOGIs: the port with the greater name logs in (FC-LS-3, PLOGI), which is the sender of a PLOGI.
            State::Plogi => return self.reject(way, header, IN_PROGRESS, ways),
            _ => {}
        }
        // FC-LS-3, PLOGI: a PLOGI ends the previous session.
        self.lose(index, SessionEnd::LoginAgain);
        let parameters = self.port_parameters(index);
        self.accept(way, header, ElsAccept::Login(parameters), ways);
        self.after_plogi(now, index, login, ways);
    }

    fn answer_logo(
        &mut self,
        index: NeighbourIndex,
        way: ReplyPath,
        header: &FcHeader,
        logo: LogoRepr,
        ways: &mut impl Ways,
    ) {
        let Some(entry) = self.table.entry(index) else { return };
        if logo.port_name != entry.info.wwpn {
            return self.reject(way, header, BAD_NAME, ways);
        }
        self.accept(way, header, ElsAccept::Plain, ways);
        self.lose(index, SessionEnd::LoggedOut);
        self.reset(index);
    }

    /// Answers a request that only a logged-in N_Port may send.
    fn answer_port(
        &mut self,
        now: u64,
        index: NeighbourIndex,
        way: ReplyPath,
        header: &FcHeader,
        request: ElsRequest<'_>,
        ways: &mut impl Ways,
    ) {
        let Some(entry) = self.table.entry(index) else { return };
        if entry.state < State::Auth {
            // Our PLOGI may have been accepted, with the reply lost or late.
            let soon = entry.state == State::Plogi && [ElsCommand::PRLI, ElsCommand::AUTH].contains(&request.command());
            return self.reject(way, header, if soon { BUSY } else { LOGIN_FIRST }, ways);
        }
        if let ElsRequest::Auth(message) = request {
            return self.answer_auth(now, index, way, header, &message, ways);
        }
        if self.owes(index) {
            return self.reject(way, header, AUTHENTICATE_FIRST, ways);
        }
        match request {
            ElsRequest::Prli(pages) => self.answer_prli(index, way, header, &pages, ways),
            ElsRequest::Prlo(pages) => self.answer_prlo(index, way, header, &pages, ways),
            ElsRequest::Adisc(adisc) => self.answer_adisc(index, way, header, &adisc, ways),
            ElsRequest::Rec(exchange) => self.answer_rec(index, way, header, exchange, ways),
            ElsRequest::Rrq(exchange) => self.answer_rrq(index, way, header, exchange, ways),
            ElsRequest::Rtv => {
                let rtv = RtvAccRepr { r_a_tov: super::R_A_TOV_MS, e_d_tov: super::E_D_TOV_MS, qualifier: 0 };
                self.accept(way, header, ElsAccept::Rtv(rtv), ways);
            }
            _ => self.reject(way, header, NOT_SUPPORTED, ways),
        }
        self.settle(now, index, ways);
    }

    /// FC-LS-3, PRLI; FCP-4, PRLI. Both sides may send it, even at the same time, and both are answered. Where the
    /// roles do not fit, the request is executed without an image pair, as tcm_fc does for unknown ports: after any
    /// other response code Linux repeats PLOGI and PRLI at once, endlessly.
    fn answer_prli(
        &mut self,
        index: NeighbourIndex,
        way: ReplyPath,
        header: &FcHeader,
        pages: &ServicePages<'_>,
        ways: &mut impl Ways,
    ) {
        let (role, parameters) = (self.config.role, self.fcp_parameters());
        let asked = pages.fcp();
        let allowed = asked.is_some_and(|page| fits(role, Some(process(page.parameters).role)));
        let answer = |page: ServicePage| match (page.fc_type, allowed) {
            (FcType::FCP, true) => ServicePage {
                flags: page.flags & ServicePage::IMAGE_PAIR | ServicePage::EXECUTED,
                parameters,
                ..ServicePage::fcp(0, 0)
            },
            (FcType::FCP, false) => ServicePage::fcp(ServicePage::EXECUTED, parameters),
            _ => ServicePage { flags: ServicePage::INVALID, parameters: 0, ..page },
        };
        self.answer_pages(way, header, pages, answer, ways);
        let Some(page) = asked.filter(|page| allowed && page.flags & ServicePage::IMAGE_PAIR != 0) else { return };
        let Some(entry) = self.table.entry_mut(index) else { return };
        entry.process = Some(process(page.parameters));
        if entry.state == State::Port {
            entry.state = State::Ready;
            entry.ask_times = true;
        }
        self.raise(index);
    }

    /// FC-LS-3, PRLO: the image pair is gone, the N_Ports stay logged in.
    fn answer_prlo(
        &mut self,
        index: NeighbourIndex,
        way: ReplyPath,
        header: &FcHeader,
        pages: &ServicePages<'_>,
        ways: &mut impl Ways,
    ) {
        let answer = |page: ServicePage| match page.fc_type {
            FcType::FCP => ServicePage::fcp(ServicePage::EXECUTED, 0),
            _ => ServicePage { flags: ServicePage::INVALID, parameters: 0, ..page },
        };
        self.answer_pages(way, header, pages, answer, ways);
        if pages.fcp().is_some() {
            let proved = self.table.entry(index).map_or(Proved::default(), |entry| entry.proved);
            self.lose(index, SessionEnd::ProcessLoggedOut);
            self.reset(index);
            if let Some(entry) = self.table.entry_mut(index) {
                (entry.state, entry.proved) = (State::Port, proved);
            }
        }
    }

    fn answer_pages(
        &mut self,
        way: ReplyPath,
        header: &FcHeader,
        pages: &ServicePages<'_>,
        answer: impl Fn(ServicePage) -> ServicePage,
        ways: &mut impl Ways,
    ) {
        let mut bytes = [0; MAX_PAYLOAD as usize];
        let emitted = ServicePages::emit(ElsCommand::LS_ACC, pages.iter().map(answer), &mut bytes);
        match emitted.and_then(|len| ServicePages::new_checked(&bytes[..len])) {
            Ok(pages) => self.accept(way, header, ElsAccept::Process(pages), ways),
            Err(_) => self.reject(way, header, BAD_LENGTH, ways),
        }
    }

    /// FC-LS-3, ADISC: a port whose name or address has changed is not the one that logged in.
    fn answer_adisc(
        &mut self,
        index: NeighbourIndex,
        way: ReplyPath,
        header: &FcHeader,
        adisc: &AdiscRepr,
        ways: &mut impl Ways,
    ) {
        let (Some((own, _)), Some(entry)) = (self.own, self.table.entry(index)) else { return };
        if entry.is_named(adisc.port_name, adisc.node_name) && adisc.id == entry.info.fc_id {
            return self.accept(way, header, ElsAccept::Adisc(self.address(own)), ways);
        }
        self.reject(way, header, LOGIN_FIRST, ways);
        self.lose(index, SessionEnd::Moved);
        self.reset(index);
    }

    /// FC-LS-3, RRQ. Exchanges that we began and the peer aborted are over here in any case.
    fn answer_rrq(
        &mut self,
        index: NeighbourIndex,
        way: ReplyPath,
        header: &FcHeader,
        exchange: ExchangeRepr,
        ways: &mut impl Ways,
    ) {
        if !is_between(header, exchange) {
            return self.reject(way, header, BAD_ORIGINATOR, ways);
        }
        let Some(peer) = self.table.entry(index).and_then(|entry| entry.up) else {
            return self.reject(way, header, LOGIN_FIRST, ways);
        };
        if exchange.originator == peer.fc_id && !ways.reinstate(&peer, exchange.ox_id, exchange.rx_id) {
            return self.reject(way, header, NO_EXCHANGE, ways);
        }
        self.accept(way, header, ElsAccept::Plain, ways);
    }

    fn answer_rec(
        &mut self,
        index: NeighbourIndex,
        way: ReplyPath,
        header: &FcHeader,
        exchange: ExchangeRepr,
        ways: &mut impl Ways,
    ) {
        if !is_between(header, exchange) {
            return self.reject(way, header, BAD_ORIGINATOR, ways);
        }
        let Some(peer) = self.table.entry(index).and_then(|entry| entry.up) else {
            return self.reject(way, header, LOGIN_FIRST, ways);
        };
        let ExchangeRepr { originator, ox_id, rx_id } = exchange;
        let Some(status) = ways.exchange_status(&peer, originator, ox_id, rx_id) else {
            return self.reject(way, header, NO_EXCHANGE, ways);
        };
        let rec = RecAccRepr {
            ox_id,
            rx_id: status.rx_id,
            originator,
            responder: if originator == header.s_id { header.d_id } else { header.s_id },
            transferred: status.transferred,
            status: status.status,
        };
        self.accept(way, header, ElsAccept::Rec(rec), ways);
    }
}

/// True if an exchange was begun by one of the two ports in the header.
fn is_between(header: &FcHeader, exchange: ExchangeRepr) -> bool {
    [header.s_id, header.d_id].contains(&exchange.originator)
}

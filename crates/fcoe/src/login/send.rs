//! Transmission of requests and replies, with our service parameters.

use super::logins::REPLY_TIME;
use super::table::{NeighbourIndex, Pending, ReplyPath};
use super::{Logins, NeighbourInfo, Ways};
use crate::{Link, Sequence};
use linerate_wire::{
    AdiscRepr, ClassParameters, ElsAccept, ElsCommand, ElsReply, ElsRequest, FcHeader, FcId, FcType, LoginRepr,
    LogoRepr, LsRjtRepr, MacAddr, OxId, RxId, ServicePage, ServicePages, Wwn, els_explanation, els_reason, f_ctl,
    fcp_service, r_ctl,
};

/// Bytes of the longest request except ECHO, which we do not send.
const REQUEST_LEN: usize = LoginRepr::LEN;

impl Logins {
    /// Sends a request to a neighbour, and starts to wait for its reply.
    pub(super) fn request(&mut self, now: u64, index: NeighbourIndex, command: ElsCommand, ways: &mut impl Ways) {
        let Some((own, _)) = self.own else { return };
        let page = ServicePage::fcp(ServicePage::IMAGE_PAIR, self.fcp_parameters()).payload(command);
        let request = match command {
            ElsCommand::FLOGI => ElsRequest::Flogi(self.fabric_parameters()),
            ElsCommand::PLOGI => ElsRequest::Plogi(self.port_parameters(index)),
            ElsCommand::LOGO => ElsRequest::Logo(LogoRepr { id: own, port_name: self.config.wwpn }),
            ElsCommand::ADISC => ElsRequest::Adisc(self.address(own)),
            ElsCommand::PRLI => match ServicePages::new_checked(&page) {
                Ok(pages) => ElsRequest::Prli(pages),
                Err(_) => return,
            },
            _ => ElsRequest::Rtv,
        };
        let mut payload = [0; REQUEST_LEN];
        let Ok(len) = request.emit(&mut payload) else { return };
        self.request_bytes(now, index, &payload[..len], ways);
    }

    /// Sends a request of this payload, and starts to wait for its reply.
    pub(super) fn request_bytes(&mut self, now: u64, index: NeighbourIndex, payload: &[u8], ways: &mut impl Ways) {
        let Some(ox_id) = self.send_request(index, payload, ways) else { return };
        if let Some(entry) = self.table.entry_mut(index) {
            entry.pending = Some(Pending { command: ElsCommand::of(payload), ox_id });
        }
        self.wake_at(index, now.saturating_add(REPLY_TIME));
    }

    /// Sends a request of this payload, and nothing else; returns its exchange.
    pub(super) fn send_request(&mut self, index: NeighbourIndex, payload: &[u8], ways: &mut impl Ways) -> Option<OxId> {
        let ((own, mac), info) = (self.own?, self.table.entry(index)?.info);
        let header = FcHeader {
            r_ctl: r_ctl::ELS_REQUEST,
            d_id: info.fc_id,
            cs_ctl: 0,
            s_id: own,
            fc_type: FcType::ELS,
            f_ctl: f_ctl::FIRST_SEQUENCE | f_ctl::END_SEQUENCE | f_ctl::SEQUENCE_INITIATIVE,
            seq_id: 0,
            df_ctl: 0,
            seq_cnt: 0,
            ox_id: self.ox_id(),
            rx_id: RxId::UNASSIGNED,
            parameter: 0,
        };
        // FC-BB-6, VN2VN login: logins and logouts of VN_Ports are sent inside FIP.
        let sent = match ElsCommand::of(payload) {
            ElsCommand::FLOGI | ElsCommand::LOGO => ways.fip(&info, &header, payload),
            _ => ways.fc(&self.sequence(self.link(mac, info.vn_mac), header, &[payload])),
        };
        self.counters.requests_sent += 1;
        self.counters.unsent += u64::from(!sent);
        Some(header.ox_id)
    }

    pub(super) fn accept(&mut self, way: ReplyPath, header: &FcHeader, accept: ElsAccept<'_>, ways: &mut impl Ways) {
        self.counters.accepts_sent += 1;
        self.reply(way, header, ElsReply::Accept(accept), ways);
    }

    pub(super) fn reject(&mut self, way: ReplyPath, header: &FcHeader, reason: (u8, u8), ways: &mut impl Ways) {
        self.counters.rejects_sent += 1;
        self.reply(way, header, ElsReply::Reject(LsRjtRepr::new(reason.0, reason.1)), ways);
    }

    fn reply(&mut self, way: ReplyPath, header: &FcHeader, reply: ElsReply<'_>, ways: &mut impl Ways) {
        let mut payload = [0; super::MAX_PAYLOAD as usize];
        // An echo too long for a frame here came in a frame of impossible length.
        let Ok(len) = reply.emit(&mut payload) else { return self.counters.malformed += 1 };
        self.send_back(way, header, (r_ctl::ELS_REPLY, FcType::ELS), &payload[..len], ways);
    }

    /// Sends a sequence that ends an exchange back to its sender.
    pub(super) fn send_back(
        &mut self,
        way: ReplyPath,
        header: &FcHeader,
        (r_ctl, fc_type): (u8, FcType),
        payload: &[u8],
        ways: &mut impl Ways,
    ) {
        let Some((_, mac)) = self.own else { return };
        let back = FcHeader {
            r_ctl,
            d_id: header.s_id,
            cs_ctl: 0,
            s_id: header.d_id,
            fc_type,
            f_ctl: f_ctl::EXCHANGE_RESPONDER | f_ctl::LAST_SEQUENCE | f_ctl::END_SEQUENCE | f_ctl::SEQUENCE_INITIATIVE,
            df_ctl: 0,
            seq_cnt: 0,
            parameter: 0,
            ..*header
        };
        let sent = match way {
            ReplyPath::Fc(to) => ways.fc(&self.sequence(self.link(mac, to), back, &[payload])),
            ReplyPath::Fip(enode_mac, vn_mac) => {
                let known = self.table.find(header.s_id).and_then(|index| self.table.entry(index));
                let info = match known.filter(|entry| way.is_from(&entry.info)) {
                    Some(entry) => entry.info,
                    None => stranger(header.s_id, enode_mac, vn_mac),
                };
                ways.fip(&info, &back, payload)
            }
        };
        self.counters.unsent += u64::from(!sent);
    }

    fn link(&self, src: MacAddr, dst: MacAddr) -> Link {
        Link { src, dst, vlan: self.config.vlan }
    }

    fn sequence<'a>(&self, link: Link, header: FcHeader, payload: &'a [&'a [u8]]) -> Sequence<'a> {
        Sequence { link, header, max_payload: usize::from(self.config.max_payload), start: true, end: true, payload }
    }

    /// Identity for ADISC and its answer.
    pub(super) fn address(&self, own: FcId) -> AdiscRepr {
        AdiscRepr { hard_address: FcId::UNASSIGNED, port_name: self.config.wwpn, node_name: self.config.wwnn, id: own }
    }

    /// Service parameters of FLOGI and its answer (FC-LS-3, FLOGI service parameters).
    pub(super) fn fabric_parameters(&self) -> LoginRepr {
        LoginRepr {
            version: 0x2020,
            bb_credit: 10,
            features: LoginRepr::CONTINUOUS_OFFSET,
            bb_sc_n: 0,
            receive_size: self.receive_size(),
            sequences: 0,
            relative_offset: 0,
            e_d_tov: 0,
            port_name: self.config.wwpn,
            node_name: self.config.wwnn,
            class_3: ClassParameters {
                options: ClassParameters::VALID | ClassParameters::SEQUENTIAL_DELIVERY,
                ..ClassParameters::default()
            },
        }
    }

    /// Service parameters of PLOGI and its answer: relative offset for all categories, class 3 only, one sequence at a
    /// time in an exchange; authentication if it is to be with this neighbour.
    pub(super) fn port_parameters(&self, index: NeighbourIndex) -> LoginRepr {
        let fabric = self.fabric_parameters();
        LoginRepr {
            features: fabric.features | if self.offers_auth(index) { LoginRepr::SECURITY } else { 0 },
            sequences: 255,
            relative_offset: 0x1f,
            e_d_tov: super::E_D_TOV_MS,
            class_3: ClassParameters {
                receive_size: self.receive_size(),
                sequences: 255,
                open_sequences: 1,
                ..fabric.class_3
            },
            ..fabric
        }
    }

    /// Service parameters of PRLI and its answer (FCP-4, PRLI).
    pub(super) fn fcp_parameters(&self) -> u32 {
        [
            (true, fcp_service::READ_XFER_RDY_DISABLED),
            (self.config.role.target, fcp_service::TARGET),
            (self.config.role.initiator, fcp_service::INITIATOR),
            (self.config.confirm, fcp_service::CONFIRMED_COMPLETION),
            (self.config.retry, fcp_service::RETRY),
        ]
        .into_iter()
        .filter_map(|(does, bit)| does.then_some(bit))
        .sum()
    }

    fn receive_size(&self) -> u16 {
        self.config.max_payload
    }
}

/// Destination of a reject inside FIP for an unknown port.
fn stranger(fc_id: FcId, enode_mac: MacAddr, vn_mac: Option<MacAddr>) -> NeighbourInfo {
    NeighbourInfo {
        wwpn: Wwn(0),
        wwnn: Wwn(0),
        fc_id,
        enode_mac,
        vn_mac: vn_mac.unwrap_or(enode_mac),
        max_fcoe_size: 0,
        role: None,
    }
}

/// Reasons and explanations of our rejects.
pub(super) const BAD_NAME: (u8, u8) = (els_reason::LOGICAL_ERROR, els_explanation::PORT_NAME);
pub(super) const BUSY: (u8, u8) = (els_reason::LOGICAL_BUSY, els_explanation::NONE);
pub(super) const AUTHENTICATE_FIRST: (u8, u8) = (els_reason::LOGICAL_ERROR, els_explanation::AUTHENTICATION);
pub(super) const LOGIN_FIRST: (u8, u8) = (els_reason::UNABLE, els_explanation::LOGIN_REQUIRED);
pub(super) const NOT_NEIGHBOUR: (u8, u8) = (els_reason::FIP_ERROR, els_explanation::NOT_NEIGHBOUR);

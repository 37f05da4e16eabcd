//! A recorder in place of the network, frames by hand, and a short way to make a machine.

use linerate_fcoe::*;
use linerate_wire::*;
use linerate_wire::{OxId, RxId};

pub(crate) const SECOND: u64 = 1_000_000_000;
/// VN2VN's prefix of a VN_Port's MAC address.
pub(crate) const FC_MAP: [u8; 3] = [0x0e, 0xfd, 0];
pub(crate) const TARGET: Role = Role { target: true, initiator: false };
pub(crate) const INITIATOR: Role = Role { target: false, initiator: true };
pub(crate) const BOTH: Role = Role { target: true, initiator: true };

/// Frame sent by a machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Sent {
    /// Inside FIP, to this ENode MAC address; else in FCoE, to the VN_Port's.
    pub(crate) fip: bool,
    pub(crate) dst: MacAddr,
    /// FC header of the frame.
    pub(crate) header: FcHeader,
    pub(crate) payload: Vec<u8>,
}

impl Sent {
    /// Command of a request, or LS_ACC or LS_RJT.
    pub(crate) fn command(&self) -> ElsCommand {
        ElsCommand::of(&self.payload)
    }

    /// The reason and explanation of a reject.
    pub(crate) fn reject(&self) -> (u8, u8) {
        match ElsReply::parse(ElsCommand::LOGO, &self.payload) {
            Ok(ElsReply::Reject(reject)) => (reject.reason, reject.explanation),
            reply => panic!("{reply:?}"),
        }
    }
}

/// All frames that a machine has sent since the last call of `take`.
#[derive(Debug, Default)]
pub(crate) struct Recorder {
    pub(crate) sent: Vec<Sent>,
    /// There is no room to send.
    pub(crate) full: bool,
    /// The only exchange, and its status.
    pub(crate) exchange: Option<(FcId, OxId, ExchangeStatus)>,
}

impl Ways for Recorder {
    fn fip(&mut self, to: &NeighbourInfo, header: &FcHeader, payload: &[u8]) -> bool {
        self.sent.push(Sent { fip: true, dst: to.enode_mac, header: *header, payload: payload.to_vec() });
        !self.full
    }

    fn fc(&mut self, sequence: &Sequence<'_>) -> bool {
        let payload = sequence.payload.concat();
        assert!(sequence.start && sequence.end && payload.len() <= sequence.max_payload, "one frame");
        assert_eq!(sequence.link.src, sequence.header.s_id.mac(FC_MAP));
        self.sent.push(Sent { fip: false, dst: sequence.link.dst, header: sequence.header, payload });
        !self.full
    }

    fn exchange_status(&mut self, _: &Peer, originator: FcId, ox_id: OxId, rx_id: RxId) -> Option<ExchangeStatus> {
        let (of, called, status) = self.exchange?;
        ((of, called) == (originator, ox_id) && [status.rx_id, RxId::UNASSIGNED].contains(&rx_id)).then_some(status)
    }

    fn reinstate(&mut self, peer: &Peer, ox_id: OxId, rx_id: RxId) -> bool {
        self.exchange_status(peer, peer.fc_id, ox_id, rx_id).is_some()
    }
}

impl Recorder {
    /// Takes the frames sent.
    pub(crate) fn take(&mut self) -> Vec<Sent> {
        std::mem::take(&mut self.sent)
    }

    /// The only thing that was sent.
    pub(crate) fn only(&mut self) -> Sent {
        let sent = self.take();
        let [only] = &sent[..] else { panic!("{sent:#?}") };
        only.clone()
    }

    /// Commands of what was sent.
    pub(crate) fn commands(&mut self) -> Vec<ElsCommand> {
        self.take().iter().map(Sent::command).collect()
    }
}

/// Ethernet's payload that carries a sequence of one frame.
pub(crate) fn fcoe(header: &FcHeader, payload: &[u8]) -> Vec<u8> {
    let fill = payload.len().next_multiple_of(4) - payload.len();
    let header = FcHeader { f_ctl: header.f_ctl | u32::try_from(fill).unwrap(), ..*header };
    let repr = FcoeRepr { sof: Sof::I3, eof: Eof::T };
    let mut bytes = repr.header().to_vec();
    bytes.extend(header.bytes());
    bytes.extend(payload);
    bytes.extend([0; 3].iter().take(fill));
    let crc = crc32(&bytes[14..]);
    bytes.extend(repr.trailer(crc));
    bytes
}

fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| crc >> 1 ^ if crc & 1 == 1 { 0xedb8_8320 } else { 0 })
    })
}

/// A port by a number below 65536, which is its address and the end of its names.
pub(crate) fn neighbour(number: u16, role: Option<Role>) -> NeighbourInfo {
    let [high, low] = number.to_be_bytes();
    let enode_mac = MacAddr([2, 0, 0, 0, high, low]);
    let fc_id = FcId::new(number.into());
    NeighbourInfo {
        wwpn: Wwn::from_mac(0x2000, enode_mac),
        wwnn: Wwn::from_mac(0x1000, enode_mac),
        fc_id,
        enode_mac,
        vn_mac: fc_id.mac(FC_MAP),
        max_fcoe_size: 2158,
        role,
    }
}

/// Configuration of a port.
pub(crate) fn config(number: u16, role: Role) -> LoginConfig {
    let NeighbourInfo { wwpn, wwnn, .. } = neighbour(number, None);
    LoginConfig { wwpn, wwnn, role, max_payload: 2112, retry: true, confirm: true, vlan: None, peers: 8 }
}

/// A machine that has its address.
pub(crate) fn logins(number: u16, role: Role) -> Logins {
    let mut logins = Logins::new(&config(number, role));
    let NeighbourInfo { fc_id, vn_mac, .. } = neighbour(number, None);
    logins.set_own(Some((fc_id, vn_mac)));
    logins
}

/// All events there are.
pub(crate) fn events(logins: &mut Logins) -> Vec<LoginEvent> {
    std::iter::from_fn(|| logins.poll_event()).collect()
}

/// The header of a request.
pub(crate) fn request(from: u16, to: u16, ox_id: OxId) -> FcHeader {
    FcHeader {
        r_ctl: r_ctl::ELS_REQUEST,
        d_id: FcId::new(to.into()),
        s_id: FcId::new(from.into()),
        f_ctl: 0x29_0000,
        fc_type: FcType::ELS,
        ox_id,
        rx_id: RxId::UNASSIGNED,
        ..FcHeader::parse(&[0; 24]).unwrap()
    }
}

/// The header of the reply to what was sent.
pub(crate) fn reply(to: &Sent) -> FcHeader {
    let FcHeader { d_id, s_id, .. } = to.header;
    FcHeader { r_ctl: r_ctl::ELS_REPLY, d_id: s_id, s_id: d_id, f_ctl: 0x99_0000, ..to.header }
}

/// Service parameters as the Linux kernel's.
pub(crate) fn parameters(number: u16) -> LoginRepr {
    let NeighbourInfo { wwpn, wwnn, .. } = neighbour(number, None);
    LoginRepr {
        version: 0x2020,
        bb_credit: 10,
        features: LoginRepr::CONTINUOUS_OFFSET,
        bb_sc_n: 0,
        receive_size: 2112,
        sequences: 255,
        relative_offset: 0x1f,
        e_d_tov: 2000,
        port_name: wwpn,
        node_name: wwnn,
        class_3: ClassParameters {
            options: 0x8800,
            receive_size: 2112,
            sequences: 255,
            open_sequences: 1,
            ..ClassParameters::default()
        },
    }
}

/// A machine and a neighbour that is played by the test.
pub(crate) struct Scene {
    pub(crate) logins: Logins,
    pub(crate) ways: Recorder,
    pub(crate) now: u64,
    pub(crate) us: u16,
    pub(crate) them: u16,
    /// The neighbour as discovery describes it, but for its role.
    pub(crate) info: NeighbourInfo,
    /// Frames of both sides.
    pub(crate) trace: Vec<Sent>,
    ox_id: OxId,
}

impl Scene {
    /// A machine of this role; the neighbour is of the other.
    pub(crate) fn new(us: u16, role: Role, them: u16) -> Self {
        Self {
            logins: logins(us, role),
            ways: Recorder::default(),
            now: SECOND,
            us,
            them,
            info: neighbour(them, None),
            trace: Vec::new(),
            ox_id: OxId(0),
        }
    }

    /// A machine that is logged in with an initiator of Linux, as target; the initiator began the login.
    pub(crate) fn ready() -> Self {
        let mut scene = Self::new(1, TARGET, 2);
        scene.ask_fip(&ElsRequest::Flogi(parameters(2)));
        scene.ask(&ElsRequest::Plogi(parameters(2)));
        let prli = scene.ways.take().pop().unwrap();
        scene.prli(0x1a2);
        scene.answer(&prli, &page(ServicePage::EXECUTED, 0x1a2));
        let rtv = scene.ways.take().pop().unwrap();
        assert_eq!(rtv.command(), ElsCommand::RTV);
        let times = RtvAccRepr { r_a_tov: 4000, e_d_tov: 2000, qualifier: 0 };
        scene.answer(&rtv, &times.bytes());
        assert_eq!(scene.logins.peers().count(), 1);
        assert!(matches!(events(&mut scene.logins)[..], [LoginEvent::Up(_)]));
        scene
    }

    pub(crate) fn beacon(&mut self, role: Option<Role>) {
        let before = self.ways.sent.len();
        self.logins.neighbour_beacon(self.now, &NeighbourInfo { role, ..self.info }, &mut self.ways);
        self.trace.extend_from_slice(&self.ways.sent[before..]);
    }

    /// Asks for something in FCoE; the reply, if there is one, is recorded.
    pub(crate) fn ask(&mut self, asked: &ElsRequest<'_>) {
        let mut payload = [0; 2112];
        let len = asked.emit(&mut payload).unwrap();
        self.ask_bytes(&payload[..len]);
    }

    pub(crate) fn ask_bytes(&mut self, payload: &[u8]) {
        self.ox_id.0 += 1;
        self.frame(self.info.vn_mac, &request(self.them, self.us, self.ox_id), payload);
    }

    /// Asks for something in FIP.
    pub(crate) fn ask_fip(&mut self, asked: &ElsRequest<'_>) {
        let mut payload = [0; 2112];
        let len = asked.emit(&mut payload).unwrap();
        self.ox_id.0 += 1;
        let header = request(self.them, self.us, self.ox_id);
        self.fip(&header, &payload[..len]);
    }

    /// A PRLI with these parameters.
    pub(crate) fn prli(&mut self, parameters: u32) {
        self.ask_bytes(&ServicePage::fcp(ServicePage::IMAGE_PAIR, parameters).payload(ElsCommand::PRLI));
    }

    /// Replies to what the machine asked, the same way.
    pub(crate) fn answer(&mut self, to: &Sent, payload: &[u8]) {
        match to.fip {
            true => self.fip(&reply(to), payload),
            false => self.frame(self.info.vn_mac, &reply(to), payload),
        }
    }

    /// Rejects what the machine asked.
    pub(crate) fn refuse(&mut self, to: &Sent, reason: u8, explanation: u8) {
        self.answer(to, &LsRjtRepr::new(reason, explanation).bytes());
    }

    /// A frame from a MAC address.
    pub(crate) fn frame(&mut self, src: MacAddr, header: &FcHeader, payload: &[u8]) {
        let bytes = fcoe(header, payload);
        let link = Link { src, dst: neighbour(self.us, None).vn_mac, vlan: None };
        let frame = FcoeFrame::new_checked(&bytes).unwrap();
        let before = self.hear(Sent { fip: false, dst: link.dst, header: *header, payload: payload.to_vec() });
        self.logins.handle(self.now, &link, &frame, &mut self.ways);
        self.trace.extend_from_slice(&self.ways.sent[before..]);
    }

    /// Keeps a trace of what comes, and says how much was sent before.
    fn hear(&mut self, sent: Sent) -> usize {
        self.trace.push(sent);
        self.ways.sent.len()
    }

    pub(crate) fn fip(&mut self, header: &FcHeader, payload: &[u8]) {
        let info = self.info;
        let els = TunneledEls {
            src: info.enode_mac,
            mac: Some(info.vn_mac),
            neighbour: Some(info),
            header: *header,
            payload,
        };
        let dst = neighbour(self.us, None).enode_mac;
        let before = self.hear(Sent { fip: true, dst, header: *header, payload: payload.to_vec() });
        self.logins.handle_fip_els(self.now, &els, &mut self.ways);
        self.trace.extend_from_slice(&self.ways.sent[before..]);
    }

    /// Lets time pass until the machine sends something; returns the seconds.
    pub(crate) fn wait(&mut self) -> u64 {
        let before = self.now;
        while self.ways.sent.is_empty() {
            self.poll().expect("something is to come");
        }
        (self.now - before) / SECOND
    }

    /// Lets time pass until the machine waits for nothing, which it does without a word.
    pub(crate) fn rest(&mut self) {
        while self.poll().is_some() {}
        assert_eq!(self.ways.take(), []);
    }

    fn poll(&mut self) -> Option<()> {
        let next = self.logins.poll_timeout()?;
        assert!(next >= self.now);
        self.now = next;
        self.logins.poll(self.now, &mut self.ways);
        Some(())
    }
}

/// An LS_ACC to PRLI with an image pair.
pub(crate) fn page(response: u16, parameters: u32) -> [u8; 20] {
    ServicePage::fcp(ServicePage::IMAGE_PAIR | response, parameters).payload(ElsCommand::LS_ACC)
}

pub(crate) const BUSY: (u8, u8) = (els_reason::LOGICAL_BUSY, els_explanation::NONE);
pub(crate) const LOGIN_FIRST: (u8, u8) = (els_reason::UNABLE, els_explanation::LOGIN_REQUIRED);
pub(crate) const NOT_NEIGHBOUR: (u8, u8) = (els_reason::FIP_ERROR, els_explanation::NOT_NEIGHBOUR);

pub(crate) fn flogi_accept(number: u16) -> [u8; 116] {
    parameters(number).bytes(ElsCommand::LS_ACC)
}

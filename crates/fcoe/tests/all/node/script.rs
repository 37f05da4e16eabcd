//! A node and a neighbour that the test plays, frame by frame (FC-BB-6, clause 7, VN2VN; FC-LS-3; FCP-4).

use crate::node::wire::*;
use linerate_block::Tag;
use linerate_fcoe::*;
use linerate_wire::*;
use linerate_wire::{OxId, RxId};

/// The node's address and the neighbour's, which are the ends of their MAC addresses.
const OURS: FcId = FcId::new(0x0e01);
const THEIRS: FcId = FcId::new(0x0e02);
/// PRLI parameters of the neighbour: target and initiator, no FCP_XFER_RDY for reads.
const BOTH: u32 = fcp_service::TARGET | fcp_service::INITIATOR | fcp_service::READ_XFER_RDY_DISABLED;

/// The time-outs of a kernel.
const TIMES: RtvAccRepr = RtvAccRepr { r_a_tov: 4000, e_d_tov: 2000, qualifier: 0 };

/// A frame that the node sent, but for discovery's.
#[derive(Debug, Clone)]
struct Sent {
    /// In FIP: the descriptor, and whether it is a reply.
    fip: Option<(FipElsKind, bool)>,
    header: FcHeader,
    payload: Vec<u8>,
}

impl Sent {
    fn of(bytes: &[u8]) -> Option<Self> {
        let ethernet = EthernetFrame::new_checked(bytes).unwrap();
        if ethernet.ethertype() == EtherType::FIP {
            let frame = FipFrame::new_checked(ethernet.payload()).unwrap();
            let els = FipElsRepr::parse(&frame).ok()?;
            assert_eq!((ethernet.src(), ethernet.dst()), (TARGET, INITIATOR), "from ENode to ENode");
            return Some(Self { fip: Some((els.kind, els.reply)), header: els.header, payload: els.payload.to_vec() });
        }
        assert_eq!((ethernet.src(), ethernet.dst()), (mac(OURS), mac(THEIRS)), "from VN_Port to VN_Port");
        let frame = FcoeFrame::new_checked(ethernet.payload()).unwrap();
        Some(Self { fip: None, header: *frame.header(), payload: frame.payload().to_vec() })
    }

    fn command(&self) -> ElsCommand {
        self.service().unwrap_or_else(|| panic!("{self:?}"))
    }

    /// The link service that it is, if it is one.
    fn service(&self) -> Option<ElsCommand> {
        (self.header.fc_type == FcType::ELS).then(|| ElsCommand::of(&self.payload))
    }
}

fn mac(id: FcId) -> MacAddr {
    id.mac(FipFrame::VN2VN_FC_MAP)
}

/// A header of the neighbour's.
fn header(r_ctl: u8, fc_type: FcType, ox_id: OxId) -> FcHeader {
    let f_ctl = f_ctl::FIRST_SEQUENCE | f_ctl::END_SEQUENCE | f_ctl::SEQUENCE_INITIATIVE;
    let none = FcHeader::parse(&[0; 24]).unwrap();
    FcHeader { r_ctl, d_id: OURS, s_id: THEIRS, fc_type, f_ctl, ox_id, rx_id: RxId::UNASSIGNED, ..none }
}

/// Service parameters of the neighbour.
fn parameters() -> LoginRepr {
    LoginRepr {
        version: 0x2020,
        bb_credit: 10,
        features: LoginRepr::CONTINUOUS_OFFSET,
        bb_sc_n: 0,
        receive_size: 2112,
        sequences: 255,
        relative_offset: 0x1f,
        e_d_tov: 2000,
        port_name: Wwn::from_mac(0x2000, INITIATOR),
        node_name: Wwn::from_mac(0x1000, INITIATOR),
        class_3: ClassParameters {
            options: 0x8800,
            receive_size: 2112,
            sequences: 255,
            open_sequences: 1,
            ..ClassParameters::default()
        },
    }
}

struct Scene {
    node: Node<Disks>,
    now: u64,
    sent: Vec<Sent>,
    ox_id: OxId,
}

impl Scene {
    /// A node, target and initiator both, that has its address; nobody is there yet.
    fn new() -> Self {
        let config = NodeConfig { initiator: Some(InitiatorConfig::default()), ..config(TARGET) };
        let mut scene = Self { node: node(&config), now: 0, sent: Vec::new(), ox_id: OxId(0) };
        scene.turn(|node, now, out| node.set_link(now, true, out));
        scene.pass(2 * SECOND);
        assert_eq!(scene.node.own(), Some((OURS, mac(OURS))));
        scene.events();
        scene
    }

    /// The neighbour has claimed and logged in, and its time-outs are known.
    fn up() -> Self {
        Self::with_times(TIMES)
    }

    fn with_times(times: RtvAccRepr) -> Self {
        Self::with(times, BOTH)
    }

    /// The same with other service parameters of PRLI.
    fn with(times: RtvAccRepr, does: u32) -> Self {
        let mut scene = Self::new();
        scene.discover(Vn2vnKind::ClaimNotification, 3, INITIATOR);
        scene.take();
        scene.ask_fip(FipElsKind::Flogi, &ElsRequest::Flogi(parameters()));
        scene.ask(&ElsRequest::Plogi(parameters()));
        scene.ask_bytes(&ServicePage::fcp(ServicePage::IMAGE_PAIR, does).payload(ElsCommand::PRLI));
        let sent = scene.take();
        let commands: Vec<_> = sent.iter().map(Sent::command).collect();
        assert_eq!(commands, [ElsCommand::LS_ACC, ElsCommand::LS_ACC, ElsCommand::PRLI, ElsCommand::LS_ACC]);
        let flags = ServicePage::IMAGE_PAIR | ServicePage::EXECUTED;
        scene.answer(&sent[2], &ServicePage::fcp(flags, does).payload(ElsCommand::LS_ACC));
        let rtv = scene.only();
        assert_eq!(rtv.command(), ElsCommand::RTV);
        scene.answer(&rtv, &times.bytes());
        assert_eq!((scene.take().len(), scene.node.peers().count()), (0, 1));
        scene.events();
        scene
    }

    /// The node does something, and what it sends is kept.
    fn turn(&mut self, does: impl FnOnce(&mut Node<Disks>, u64, &mut Out)) {
        let mut out = Out::default();
        does(&mut self.node, self.now, &mut out);
        self.node.poll(self.now, &mut out);
        self.sent.extend(out.0.iter().filter_map(|bytes| Sent::of(bytes)));
    }

    fn hear(&mut self, frame: &[u8]) {
        self.turn(|node, now, out| node.handle(now, frame, out));
    }

    fn pass(&mut self, time: u64) {
        let end = self.now + time;
        while let Some(due) = self.node.poll_timeout().filter(|due| *due <= end) {
            self.now = due.max(self.now + 1);
            self.turn(|_, _, _| {});
        }
        self.now = end;
    }

    /// Takes what was sent.
    fn take(&mut self) -> Vec<Sent> {
        std::mem::take(&mut self.sent)
    }

    fn only(&mut self) -> Sent {
        let mut sent = self.take();
        assert_eq!(sent.len(), 1, "{sent:?}");
        sent.remove(0)
    }

    fn events(&mut self) -> Vec<NodeEvent> {
        std::iter::from_fn(|| self.node.poll_event()).collect()
    }

    /// Discovery's frame of the ENode with this MAC address, about the neighbour's identifier.
    fn discover(&mut self, kind: Vn2vnKind, features: u32, enode: MacAddr) {
        let port = FipVnPort { mac: mac(THEIRS), fc_id: THEIRS, name: Wwn::from_mac(0x2000, enode) };
        let claim = FipClaim { features: Fc4Features::of_fcp(features), max_fcoe_size: 2158 };
        let repr = FipVn2vnRepr {
            kind,
            flags: FipFlags::default(),
            enode_mac: enode,
            node_name: Wwn::from_mac(0x1000, enode),
            port,
            claim: kind.is_claim().then_some(claim),
        };
        let src = if kind == Vn2vnKind::Beacon { port.mac } else { enode };
        let dst = if kind == Vn2vnKind::ClaimResponse { TARGET } else { FipFrame::ALL_VN2VN_MACS };
        let mut bytes = vec![0; 14 + repr.buffer_len()];
        let rest = EthernetRepr { dst, src, ethertype: EtherType::FIP }.emit(&mut bytes).unwrap();
        repr.emit(rest).unwrap();
        self.hear(&bytes);
    }

    fn beacon(&mut self) {
        self.discover(Vn2vnKind::Beacon, 0, INITIATOR);
    }

    /// A link service inside FIP.
    fn fip(&mut self, kind: FipElsKind, reply: bool, header: FcHeader, payload: &[u8]) {
        let repr = FipElsRepr { kind, reply, flags: FipFlags::default(), header, payload, mac: Some(mac(THEIRS)) };
        let mut bytes = vec![0; 14 + repr.buffer_len()];
        let ethernet = EthernetRepr { dst: TARGET, src: INITIATOR, ethertype: EtherType::FIP };
        repr.emit(ethernet.emit(&mut bytes).unwrap()).unwrap();
        self.hear(&bytes);
    }

    /// Asks for something inside FIP, in this descriptor.
    fn ask_fip(&mut self, kind: FipElsKind, asked: &ElsRequest<'_>) {
        let mut payload = [0; 256];
        let len = asked.emit(&mut payload).unwrap();
        self.ox_id.0 += 1;
        self.fip(kind, false, header(r_ctl::ELS_REQUEST, FcType::ELS, self.ox_id), &payload[..len]);
    }

    /// A frame from VN_Port to VN_Port.
    fn fc(&mut self, header: FcHeader, payload: &[u8]) {
        self.hear(&frame(&Link { src: mac(THEIRS), dst: mac(OURS), vlan: None }, header, payload));
    }

    fn ask(&mut self, asked: &ElsRequest<'_>) {
        let mut payload = [0; 256];
        let len = asked.emit(&mut payload).unwrap();
        self.ask_bytes(&payload[..len]);
    }

    fn ask_bytes(&mut self, payload: &[u8]) {
        self.ox_id.0 += 1;
        self.fc(header(r_ctl::ELS_REQUEST, FcType::ELS, self.ox_id), payload);
    }

    /// Replies to a link service of the node's, the same way.
    fn answer(&mut self, to: &Sent, payload: &[u8]) {
        let f_ctl = f_ctl::EXCHANGE_RESPONDER | f_ctl::LAST_SEQUENCE | f_ctl::END_SEQUENCE;
        let header = FcHeader { f_ctl, ..header(r_ctl::ELS_REPLY, FcType::ELS, to.header.ox_id) };
        match to.fip {
            Some((kind, _)) => self.fip(kind, true, header, payload),
            None => self.fc(header, payload),
        }
    }

    /// Tells that it is still logged in.
    fn confirm(&mut self, asked: &Sent) {
        assert_eq!(asked.command(), ElsCommand::ADISC);
        let LoginRepr { port_name, node_name, .. } = parameters();
        let address = AdiscRepr { hard_address: FcId::UNASSIGNED, port_name, node_name, id: THEIRS };
        let mut payload = [0; 28];
        ElsReply::Accept(ElsAccept::Adisc(address)).emit(&mut payload).unwrap();
        self.answer(asked, &payload);
    }

    /// A command for the node's first unit: nothing but its FCP_CMND comes yet.
    fn command(&mut self, ox_id: OxId, cdb: &[u8], written: u32) {
        let command = FcpCommand { cdb, write: written > 0, data_len: written, ..FcpCommand::parse(&[0; 32]).unwrap() };
        let mut payload = [0; 32];
        command.emit(&mut payload).unwrap();
        self.fc(header(r_ctl::COMMAND, FcType::FCP, ox_id), &payload);
    }

    /// A command whose status comes at once: what UNIT ATTENTION there was is gone.
    fn ready(&mut self) {
        self.command(OxId(0x70), &[0; 6], 0);
        self.take();
        self.command(OxId(0x71), &[0; 6], 0);
        assert_eq!(FcpResponse::parse(&self.only().payload).unwrap().status, 0);
    }

    /// A command of the node's, of which nothing but its FCP_CMND has gone yet: its OX_ID.
    fn submit(&mut self) -> OxId {
        let peer = *self.node.peers().next().unwrap();
        let command = Command {
            tag: Tag(1),
            lun: Lun([0; 8]),
            cdb: [0; 32],
            cdb_len: 6,
            attribute: TaskAttribute::Simple,
            data: Data::None,
            timeout: 60 * SECOND,
        };
        let (initiator, _) = self.node.initiator_mut().unwrap();
        initiator.submit(self.now, &peer, command).unwrap();
        self.turn(|_, _, _| {});
        let sent = self.only();
        assert_eq!((sent.header.r_ctl, sent.header.d_id), (r_ctl::COMMAND, THEIRS));
        sent.header.ox_id
    }
}

/// A node whose events nobody takes keeps the newest, and is as small after years.
#[test]
fn events_that_nobody_takes_are_bounded() {
    let mut scene = Scene::new();
    for _ in 0..5000 {
        scene.turn(|node, now, out| node.set_link(now, false, out));
        scene.turn(|node, now, out| node.set_link(now, true, out));
        scene.pass(2 * SECOND);
    }
    let events = scene.events();
    let newest = events.last().and_then(|event| if let NodeEvent::Address(id) = event { Some(*id) } else { None });
    assert_eq!((events.len(), newest), (4096, Some(OURS)));
}

const WRITE: [u8; 10] = [0x2a, 0, 0, 0, 0, 0, 0, 0, 1, 0];

#[test]
fn what_is_for_another_goes_nowhere() {
    let mut scene = Scene::up();
    let payload = [0; 32];
    let header = header(r_ctl::COMMAND, FcType::FCP, OxId(9));
    let link = Link { src: mac(THEIRS), dst: mac(OURS), vlan: None };
    let tagged = |tag| Link { vlan: Some(VlanTag(tag)), ..link };
    let wrong = [
        (tagged(7), header, NodeDrop::Vlan),
        (Link { dst: TARGET, ..link }, header, NodeDrop::OtherStation),
        (Link { dst: MacAddr([0xff; 6]), ..link }, header, NodeDrop::OtherStation),
        // FC-BB-6, clause 7.8.5: the source address is that of the S_ID.
        (Link { src: INITIATOR, ..link }, header, NodeDrop::WrongSource),
        (link, FcHeader { s_id: FcId::new(0x77), ..header }, NodeDrop::NotLoggedIn),
    ];
    for (link, header, reason) in wrong {
        let count = |scene: &Scene| scene.node.drops().find(|(why, _)| *why == reason).unwrap().1;
        let before = count(&scene);
        scene.hear(&frame(&link, header, &payload));
        assert_eq!((count(&scene), scene.take().len()), (before + 1, 0), "{reason:?}");
    }
    // VLAN 0 is a priority and no VLAN.
    for (link, ox_id) in [(tagged(0x6000), OxId(10)), (link, OxId(11))] {
        scene.hear(&frame(&link, FcHeader { ox_id, ..header }, &payload));
        assert_eq!((scene.only().header.ox_id, scene.node.drops().map(|(_, count)| count).sum::<u64>()), (ox_id, 5));
    }
}

#[test]
fn logins_inside_fip_are_in_the_descriptor_of_what_is_asked() {
    // FC-BB-6, clause 7, FIP Virtual Link Instantiation: a reply repeats the request's descriptor type.
    let mut scene = Scene::new();
    scene.discover(Vn2vnKind::ClaimNotification, 3, INITIATOR);
    let logo = ElsRequest::Logo(LogoRepr { id: THEIRS, port_name: parameters().port_name });
    for (kind, asked, accepted) in [
        (FipElsKind::Flogi, ElsRequest::Flogi(parameters()), true),
        (FipElsKind::Fdisc, ElsRequest::Fdisc(parameters()), false),
        (FipElsKind::Logo, logo, true),
    ] {
        scene.ask_fip(kind, &asked);
        let reply = scene.only();
        let wanted = if accepted { ElsCommand::LS_ACC } else { ElsCommand::LS_RJT };
        assert_eq!((reply.fip, reply.command()), (Some((kind, true)), wanted));
    }
    // Our requests: FLOGI with the neighbour's beacon, LOGO when we go.
    scene.beacon();
    let flogi = scene.only();
    assert_eq!((flogi.fip, flogi.command()), (Some((FipElsKind::Flogi, false)), ElsCommand::FLOGI));
    let mut scene = Scene::up();
    scene.turn(|node, now, out| node.log_out(now, out));
    let logo = scene.only();
    assert_eq!((logo.fip, logo.command()), (Some((FipElsKind::Logo, false)), ElsCommand::LOGO));
    assert!(!scene.node.is_quiet());
    scene.answer(&logo, &[2, 0, 0, 0]);
    assert!(scene.node.is_quiet() && scene.node.peers().next().is_none());
}

#[test]
fn a_target_that_goes_answers_its_commands_first() {
    let status = |sent: &Sent| FcpResponse::parse(&sent.payload).unwrap().status;
    for comes in [true, false] {
        let mut scene = Scene::up();
        scene.ready();
        scene.command(OxId(1), &WRITE, 512);
        let ready = scene.only();
        scene.turn(|node, now, out| node.log_out(now, out));
        scene.command(OxId(2), &WRITE, 512);
        // BUSY (SAM-5, clause 5.3.1): Linux asks again, and finds the target gone or another in its place.
        assert_eq!((status(&scene.only()), scene.node.is_quiet()), (0x08, false));
        if comes {
            let f_ctl = f_ctl::END_SEQUENCE | f_ctl::SEQUENCE_INITIATIVE | f_ctl::RELATIVE_OFFSET;
            let header = FcHeader { f_ctl, rx_id: ready.header.rx_id, ..header(r_ctl::DATA, FcType::FCP, OxId(1)) };
            scene.fc(header, &[7; 512]);
            let answer = scene.sent.remove(0);
            assert_eq!((answer.header.ox_id, status(&answer)), (OxId(1), 0));
        } else {
            scene.pass(SECOND);
        }
        assert_eq!(scene.only().command(), ElsCommand::LOGO);
    }
}

#[test]
fn rec_is_answered_by_the_side_that_has_the_exchange() {
    // FC-LS-3, Read Exchange Concise: the originator's address tells which side of us is meant. The OX_IDs are equal.
    let mut scene = Scene::up();
    scene.ready();
    let ox_id = scene.submit();
    let other = OxId(ox_id.0 + 1);
    scene.command(ox_id, &WRITE, 512);
    let ready = scene.only();
    assert_eq!(ready.header.r_ctl, r_ctl::DATA_DESCRIPTOR);
    let rec = |originator, ox_id| ElsRequest::Rec(ExchangeRepr { originator, ox_id, rx_id: RxId::UNASSIGNED });
    for (originator, ox_id, known) in
        [(THEIRS, ox_id, true), (OURS, ox_id, true), (THEIRS, other, false), (OURS, other, false)]
    {
        scene.ask(&rec(originator, ox_id));
        let reply = scene.only();
        let ElsReply::Accept(ElsAccept::Rec(answer)) = ElsReply::parse(ElsCommand::REC, &reply.payload).unwrap() else {
            assert!(!known, "{originator} {ox_id:x?}");
            assert_eq!(reply.payload[4..], [0, els_reason::LOGICAL_ERROR, els_explanation::EXCHANGE, 0]);
            continue;
        };
        assert!(known);
        let responder = if originator == OURS { THEIRS } else { OURS };
        assert_eq!((answer.originator, answer.ox_id, answer.responder), (originator, ox_id, responder));
        assert_eq!(answer.status & e_stat::RESPONDER != 0, originator == THEIRS);
    }
    assert_eq!(scene.node.target().unwrap().counters().commands, 3);
}

#[test]
fn rrq_reaches_the_target() {
    // FC-LS-3, Reinstate Recovery Qualifier: of an exchange that was aborted, and of no other.
    let mut scene = Scene::up();
    scene.ready();
    scene.command(OxId(5), &WRITE, 512);
    let rx_id = scene.only().header.rx_id;
    let rrq = |ox_id| ElsRequest::Rrq(ExchangeRepr { originator: THEIRS, ox_id, rx_id });
    let command = |scene: &mut Scene, ox_id| {
        scene.ask(&rrq(ox_id));
        scene.only().command()
    };
    assert_eq!(command(&mut scene, OxId(5)), ElsCommand::LS_RJT);
    scene.fc(FcHeader { rx_id, ..header(r_ctl::BLS_ABTS, FcType::BLS, OxId(5)) }, &[]);
    assert_eq!(scene.only().header.r_ctl, r_ctl::BLS_BA_ACC);
    assert_eq!(command(&mut scene, OxId(6)), ElsCommand::LS_RJT);
    assert_eq!(command(&mut scene, OxId(5)), ElsCommand::LS_ACC);
    assert_eq!(command(&mut scene, OxId(5)), ElsCommand::LS_RJT);
}

#[test]
fn replies_go_to_whom_the_ox_id_says() {
    // FCP-4, clause 12.4: an initiator's REC; FC-LS-3: a target's REC, which is of its own; and a login's ADISC.
    let mut scene = Scene::up();
    scene.ready();
    let ours = scene.submit();
    scene.command(OxId(5), &WRITE, 512);
    let rx_id = scene.only().header.rx_id;
    scene.pass(4 * SECOND);
    let sent = scene.take();
    let about = |originator| {
        let of = |sent: &&Sent| match ElsRequest::parse(&sent.payload) {
            Ok(ElsRequest::Rec(exchange)) => exchange.originator == originator,
            _ => false,
        };
        sent.iter().find(of).unwrap_or_else(|| panic!("{sent:?}"))
    };
    let reject = LsRjtRepr::new(els_reason::LOGICAL_ERROR, els_explanation::EXCHANGE).bytes();
    // The target's exchange is over, whoever the OX_ID might be of too.
    scene.answer(about(THEIRS), &reject);
    assert_eq!(scene.node.target().unwrap().counters().forgotten, 1);
    scene.ask(&ElsRequest::Rec(ExchangeRepr { originator: THEIRS, ox_id: OxId(5), rx_id }));
    assert_eq!(scene.only().command(), ElsCommand::LS_RJT);
    // The initiator's command was lost, and goes again.
    scene.answer(about(OURS), &reject);
    let again = scene.only();
    assert_eq!(again.header.r_ctl, r_ctl::COMMAND);
    assert_ne!(again.header.ox_id, ours);
    // The first beacon asks whether the login still holds.
    scene.beacon();
    let adisc = scene.only();
    assert_eq!(adisc.command(), ElsCommand::ADISC);
    scene.answer(&adisc, &reject);
    assert_eq!(scene.node.peers().count(), 0, "the logins took the reply");
}

#[test]
fn the_identifier_of_one_who_is_logged_in_goes_to_no_lesser_name() {
    let lesser = MacAddr([2, 0, 0, 0, 0x0d, 1]);
    let holds = |scene: &Scene| scene.node.fip().neighbours().find(|known| known.fc_id == THEIRS).unwrap().enode_mac;
    let mut scene = Scene::up();
    scene.discover(Vn2vnKind::ClaimNotification, 3, lesser);
    assert_eq!((holds(&scene), scene.node.peers().count(), scene.take().len()), (INITIATOR, 1, 0));
    // Once logged out it is as any other.
    scene.ask(&ElsRequest::Logo(LogoRepr { id: THEIRS, port_name: parameters().port_name }));
    assert_eq!(scene.only().command(), ElsCommand::LS_ACC);
    scene.discover(Vn2vnKind::ClaimNotification, 3, lesser);
    assert_eq!((holds(&scene), scene.node.peers().count()), (lesser, 0));
}

/// The frames of another station in a peer's name (FC-BB-6, clause 7.8.5: the source address is checked against the S_ID):
/// of link services a login is rejected, all else does nothing.
#[test]
fn frames_of_another_station_in_a_peers_name_do_nothing() {
    let forger = MacAddr([2, 0, 0, 0, 0, 0x66]);
    let mut scene = Scene::up();
    scene.ready();
    let peer = *scene.node.peers().next().unwrap();
    let ours = scene.submit();
    let mut payload = [0; 256];
    let logo = ElsRequest::Logo(LogoRepr { id: THEIRS, port_name: parameters().port_name });
    let len = logo.emit(&mut payload).unwrap();
    let asked = header(r_ctl::ELS_REQUEST, FcType::ELS, OxId(0x333));
    let repr = FipElsRepr {
        kind: FipElsKind::Logo,
        reply: false,
        flags: FipFlags::default(),
        header: asked,
        payload: &payload[..len],
        mac: Some(mac(THEIRS)),
    };
    let mut bytes = vec![0; 14 + repr.buffer_len()];
    repr.emit(EthernetRepr { dst: TARGET, src: forger, ethertype: EtherType::FIP }.emit(&mut bytes).unwrap()).unwrap();
    let mut out = Out::default();
    scene.node.handle(scene.now, &bytes, &mut out);
    let page = ServicePage::fcp(0, 0).payload(ElsCommand::PRLO);
    let mut login = [0; 256];
    let login_len = ElsRequest::Plogi(parameters()).emit(&mut login).unwrap();
    let response = FcHeader { f_ctl: f_ctl::EXCHANGE_RESPONDER | f_ctl::LAST_SEQUENCE | f_ctl::END_SEQUENCE, ..asked };
    for (header, payload) in [
        (asked, &payload[..len]),
        (asked, &page[..]),
        (asked, &login[..login_len]),
        (header(r_ctl::COMMAND, FcType::FCP, OxId(0x80)), &[0; 32][..]),
        (header(r_ctl::DATA, FcType::FCP, OxId(0x70)), &[0; 512]),
        (header(r_ctl::BLS_ABTS, FcType::BLS, OxId(0x70)), &[]),
        (FcHeader { r_ctl: r_ctl::STATUS, fc_type: FcType::FCP, ox_id: ours, ..response }, &[0; 24]),
    ] {
        let forged = frame(&Link { src: forger, dst: mac(OURS), vlan: None }, header, payload);
        scene.node.handle(scene.now, &forged, &mut out);
    }
    scene.node.poll(scene.now, &mut out);
    let [reject] = &out.0[..] else { panic!("{:?}", out.0) };
    assert_eq!(EthernetFrame::new_checked(&reject[..]).unwrap().dst(), forger);
    assert_eq!((scene.events(), scene.node.peers().collect::<Vec<_>>()), (vec![], vec![&peer]));
    let wrong = scene.node.drops().find(|(reason, _)| *reason == NodeDrop::WrongSource).unwrap().1;
    assert_eq!((wrong, scene.node.login_counters().wrong_source), (4, 3));
    assert_eq!(scene.node.initiator().unwrap().counters(peer.id).responses, 0);
}

#[test]
fn a_peer_that_answers_no_abts_is_logged_out() {
    // FCP-4, clause 12.3, as capture 06: neither REC nor ABTS, sent twice, is answered; LOGO, and in again with its beacon.
    let mut scene = Scene::up();
    scene.beacon();
    let adisc = scene.only();
    scene.confirm(&adisc);
    scene.submit();
    let mut sent = Vec::new();
    for _ in 0..40 {
        scene.pass(SECOND);
        scene.beacon();
        sent.extend(scene.take());
    }
    let aborts = sent.iter().filter(|sent| sent.header.r_ctl == r_ctl::BLS_ABTS).count();
    let commands: Vec<_> = sent.iter().filter_map(Sent::service).collect();
    assert_eq!(aborts, 2, "{sent:?}");
    assert!(commands.contains(&ElsCommand::LOGO) && commands.contains(&ElsCommand::FLOGI), "{commands:?}");
    assert!(scene.events().iter().any(|event| matches!(event, NodeEvent::Down(_, SessionEnd::Silent))));
}

#[test]
fn who_claims_again_is_asked_whether_it_is_still_logged_in() {
    let mut scene = Scene::up();
    for claims in [false, true, false, true] {
        if claims {
            scene.discover(Vn2vnKind::ClaimNotification, 3, INITIATOR);
            scene.take();
        }
        scene.beacon();
        let asked = scene.take();
        // The first beacon after the neighbour's login is one such.
        let first = scene.now < 3 * SECOND;
        assert_eq!(asked.len(), usize::from(claims || first), "{asked:?}");
        for request in asked {
            scene.confirm(&request);
        }
        scene.pass(SECOND);
    }
    assert_eq!((scene.node.peers().count(), scene.events().len()), (1, 1));
}

#[test]
fn who_answers_our_claim_is_logged_in_to_without_a_beacon() {
    let config = NodeConfig { initiator: Some(InitiatorConfig::default()), ..config(TARGET) };
    let mut scene = Scene { node: node(&config), now: 0, sent: Vec::new(), ox_id: OxId(0) };
    scene.turn(|node, now, out| node.set_link(now, true, out));
    // Our claim goes 0.5 s to 0.6 s after the link came up, the first beacon 0.4 s later.
    scene.pass(700 * MS);
    scene.discover(Vn2vnKind::ClaimResponse, 3, INITIATOR);
    scene.pass(2 * SECOND);
    assert_eq!(scene.only().command(), ElsCommand::FLOGI);
}

#[test]
fn who_is_silent_is_gone_and_logged_out() {
    // FC-BB-6: a neighbour whose beacons stay away for 2.5 periods of 8 s.
    let mut scene = Scene::up();
    scene.beacon();
    let adisc = scene.only();
    scene.confirm(&adisc);
    scene.pass(20 * SECOND - MS);
    assert!(scene.take().is_empty());
    scene.pass(SECOND);
    assert_eq!(scene.only().command(), ElsCommand::LOGO);
    let events = scene.events();
    assert!(matches!(events[..], [NodeEvent::Found(_), NodeEvent::Lost(_), NodeEvent::Down(_, SessionEnd::Gone)]));
    scene.discover(Vn2vnKind::ClaimNotification, 3, INITIATOR);
    scene.beacon();
    let events = scene.events();
    assert!(matches!(events[..], [NodeEvent::Found(_)]), "it came back: {events:?}");
}

#[test]
fn who_does_not_say_what_it_is_is_logged_in_to() {
    // A claim without FC-4 features of FCP: PRLI tells (FC-LS-3).
    let mut scene = Scene::new();
    scene.discover(Vn2vnKind::ClaimNotification, 0, INITIATOR);
    scene.take();
    scene.beacon();
    assert_eq!(scene.only().command(), ElsCommand::FLOGI);
}

#[test]
fn the_target_waits_as_long_as_the_peer_asks_for() {
    // FCP-4, clause 11: REC_TOV is E_D_TOV, which RTV told, and a second.
    for (e_d_tov, seconds) in [(2000, 3), (7000, 8)] {
        let mut scene = Scene::with_times(RtvAccRepr { r_a_tov: 10_000, e_d_tov, qualifier: 0 });
        scene.ready();
        scene.command(OxId(5), &WRITE, 512);
        assert_eq!(scene.only().header.r_ctl, r_ctl::DATA_DESCRIPTOR);
        scene.pass(seconds * SECOND - SECOND / 2);
        assert_eq!(scene.take().len(), 0);
        scene.pass(SECOND);
        assert_eq!(scene.only().command(), ElsCommand::REC);
    }
}

#[test]
fn a_session_takes_what_it_had_with_it() {
    // FCP-4, clause 4.10: LOGO ends all exchanges, on both sides and without a word; so does the loss of our address.
    for unplugged in [false, true] {
        let mut scene = Scene::up();
        scene.ready();
        scene.submit();
        scene.command(OxId(5), &WRITE, 512);
        assert_eq!((scene.only().header.r_ctl, scene.node.target().unwrap().exchanges()), (r_ctl::DATA_DESCRIPTOR, 1));
        let logo = ElsRequest::Logo(LogoRepr { id: THEIRS, port_name: parameters().port_name });
        match unplugged {
            false => scene.ask(&logo),
            true => scene.turn(|node, now, out| node.set_link(now, false, out)),
        }
        assert_eq!(scene.take().len(), usize::from(!unplugged), "LS_ACC");
        assert_eq!(scene.node.target().unwrap().exchanges(), 0);
        let (initiator, _) = scene.node.initiator_mut().unwrap();
        assert_eq!(initiator.poll_completion().map(|done| done.outcome), Some(Outcome::LinkLost));
        let events = scene.events();
        match unplugged {
            false => assert!(matches!(events[..], [NodeEvent::Down(_, SessionEnd::LoggedOut)]), "{events:?}"),
            true => assert!(
                matches!(events[..], [NodeEvent::NoAddress, NodeEvent::Down(_, SessionEnd::NoAddress)]),
                "{events:?}"
            ),
        }
    }
}

#[test]
fn a_neighbour_is_found_again_after_the_link_was_down() {
    let mut scene = Scene::up();
    for _ in 0..2 {
        scene.beacon();
        let found = |event: &&NodeEvent| matches!(event, NodeEvent::Found(_));
        assert_eq!(scene.events().iter().filter(found).count(), 1);
        scene.beacon();
        assert_eq!(scene.events().iter().filter(found).count(), 0);
        scene.turn(|node, now, out| node.set_link(now, false, out));
        scene.turn(|node, now, out| node.set_link(now, true, out));
        scene.pass(2 * SECOND);
        scene.discover(Vn2vnKind::ClaimNotification, 3, INITIATOR);
        scene.events();
    }
}

#[test]
fn only_who_sends_commands_is_an_initiator_to_the_target() {
    // FCP-4, PRLI: the function bits. Who is none has no place at the target, and so no command of its is done.
    for (does, known) in [(fcp_service::TARGET, 0), (fcp_service::INITIATOR, 1), (BOTH, 1)] {
        let scene = Scene::with(TIMES, does | fcp_service::READ_XFER_RDY_DISABLED);
        assert_eq!(scene.node.target().unwrap().peers().count(), known);
    }
}

#[test]
fn each_part_wakes_the_node_in_time() {
    // Discovery has nothing to do before its second Beacon period, 8 s after the first.
    let mut scene = Scene::up();
    scene.submit();
    scene.pass(3 * SECOND + 100 * MS);
    assert_eq!(scene.only().command(), ElsCommand::REC, "REC_TOV");

    let mut scene = Scene::new();
    scene.discover(Vn2vnKind::ClaimNotification, 3, INITIATOR);
    scene.take();
    scene.ask_fip(FipElsKind::Flogi, &ElsRequest::Flogi(parameters()));
    scene.ask(&ElsRequest::Plogi(parameters()));
    let prli = scene.take().pop().unwrap();
    scene.answer(&prli, &LsRjtRepr::new(els_reason::LOGICAL_BUSY, els_explanation::NONE).bytes());
    scene.pass(2 * SECOND + 100 * MS);
    assert_eq!(scene.only().command(), ElsCommand::PRLI, "E_D_TOV after the reject");
}

#[test]
fn who_was_never_found_is_not_lost() {
    // It logged in and sent no beacon.
    let mut scene = Scene::up();
    scene.pass(21 * SECOND);
    assert!(matches!(scene.events()[..], [NodeEvent::Down(_, SessionEnd::Gone)]));
}

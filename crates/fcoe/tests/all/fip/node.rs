//! A machine with its clock, the frames it sent and the events it told.

use crate::fip::capture::Frame;
use linerate_fcoe::{FipConfig, FipEvent, FipMode, Role, Sequence, Transmit, Vn2vn};
use linerate_wire::*;

pub(crate) const MS: u64 = 1_000_000;
pub(crate) const SECOND: u64 = 1000 * MS;

/// Frames handed out, while there is room.
#[derive(Debug, Default)]
pub(crate) struct Recorder {
    pub(crate) frames: Vec<Vec<u8>>,
    pub(crate) full: bool,
}

impl Transmit for Recorder {
    fn sequence(&mut self, _: &Sequence<'_>) -> usize {
        panic!("FIP sends no sequences");
    }

    fn frame(&mut self, frame: &[u8]) -> bool {
        if !self.full {
            self.frames.push(frame.to_vec());
        }
        !self.full
    }

    fn room(&self) -> usize {
        usize::from(!self.full)
    }
}

/// The configuration of a kernel in the captures: its names are made of its MAC address.
pub(crate) fn config(mac: [u8; 6]) -> FipConfig {
    let mac = MacAddr(mac);
    FipConfig {
        mac,
        wwpn: Wwn::from_mac(0x2000, mac),
        wwnn: Wwn::from_mac(0x1000, mac),
        max_fcoe_size: 2158,
        role: Role { target: true, initiator: true },
        mode: FipMode::Multipoint,
        vlan: None,
        seed: 1,
    }
}

pub(crate) struct Node {
    pub(crate) machine: Vn2vn,
    pub(crate) out: Recorder,
    pub(crate) now: u64,
    /// Frames sent, with their times.
    pub(crate) sent: Vec<Frame>,
    /// Events, with their times.
    pub(crate) told: Vec<(u64, FipEvent)>,
}

impl Node {
    /// Node whose link is down, at time 0.
    pub(crate) fn new(config: &FipConfig) -> Self {
        Self { machine: Vn2vn::new(config), out: Recorder::default(), now: 0, sent: Vec::new(), told: Vec::new() }
    }

    /// Node that has had its identifier for a second, with nothing recorded.
    pub(crate) fn up(config: &FipConfig) -> Self {
        let mut node = Self::new(config);
        node.link(true);
        node.run(1900 * MS);
        assert!(node.machine.own().is_some());
        node.sent.clear();
        node.told.clear();
        node
    }

    pub(crate) fn link(&mut self, up: bool) {
        self.machine.set_link(self.now, up);
        self.gather();
    }

    /// Lets time pass, doing what is due when it is due.
    pub(crate) fn run(&mut self, until: u64) {
        while let Some(at) = self.machine.poll_timeout().filter(|&at| at <= until) {
            assert!(at >= self.now || self.machine.poll_timeout().is_some());
            self.now = self.now.max(at);
            self.machine.poll(self.now, &mut self.out);
            self.gather();
            assert!(self.machine.poll_timeout().is_none_or(|next| next > self.now), "poll does what is due");
        }
        self.now = self.now.max(until);
    }

    pub(crate) fn hear(&mut self, frame: &[u8]) {
        self.machine.handle(self.now, frame, &mut self.out);
        self.gather();
    }

    /// Takes what was sent since it was last taken, understood.
    pub(crate) fn take(&mut self) -> Vec<Heard> {
        std::mem::take(&mut self.sent).iter().map(|frame| Heard::of(frame).expect("we send FIP")).collect()
    }

    pub(crate) fn events(&mut self) -> Vec<FipEvent> {
        std::mem::take(&mut self.told).into_iter().map(|(_, event)| event).collect()
    }

    /// Notes what was sent and told.
    pub(crate) fn gather(&mut self) {
        let at = self.now;
        self.sent.extend(self.out.frames.drain(..).map(|bytes| Frame { at, bytes }));
        self.told.extend(std::iter::from_fn(|| self.machine.poll_event()).map(|event| (at, event)));
    }
}

/// A FIP frame, understood.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Heard {
    pub(crate) at: u64,
    pub(crate) src: MacAddr,
    pub(crate) dst: MacAddr,
    pub(crate) vlan: Option<VlanTag>,
    pub(crate) code: FipCode,
    pub(crate) flags: FipFlags,
    pub(crate) discovery: Option<FipVn2vnRepr>,
    /// The ENode that sent it: its MAC descriptor's in discovery, the source in all else.
    pub(crate) enode: MacAddr,
    pub(crate) bytes: Vec<u8>,
}

impl std::fmt::Debug for Heard {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { at, src, dst, code, flags, .. } = self;
        let id = self.discovery.map(|repr| repr.port.fc_id.to_string()).unwrap_or_default();
        write!(f, "{} ms: {src} > {dst}: {code:?} {flags:?} {id}", at / MS)
    }
}

impl Heard {
    pub(crate) fn of(frame: &Frame) -> Option<Self> {
        let ethernet = EthernetRepr::parse(&EthernetFrame::new_checked(&frame.bytes[..]).unwrap());
        let tag = VlanHeader::new_checked(&frame.bytes[14..]).unwrap();
        let vlan = (ethernet.ethertype == EtherType::VLAN).then(|| tag.tag());
        let (ethertype, at) = if vlan.is_some() { (tag.ethertype(), 18) } else { (ethernet.ethertype, 14) };
        if ethertype != EtherType::FIP {
            return None;
        }
        let fip = FipFrame::new_checked(&frame.bytes[at..]).unwrap();
        let discovery = FipVn2vnRepr::parse(&fip).ok();
        Some(Self {
            at: frame.at,
            src: ethernet.src,
            dst: ethernet.dst,
            vlan,
            code: fip.code(),
            flags: fip.flags(),
            discovery,
            enode: discovery.map_or(ethernet.src, |repr| repr.enode_mac),
            bytes: frame.bytes.clone(),
        })
    }

    /// The identifier that it is about.
    pub(crate) fn fc_id(&self) -> FcId {
        self.discovery.expect("discovery").port.fc_id
    }
}

/// A frame of discovery of another port, written without any machine: all from its MAC address, as a kernel does.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Other {
    pub(crate) mac: [u8; 6],
    pub(crate) fc_id: u32,
    pub(crate) flags: FipFlags,
    pub(crate) max_fcoe_size: u16,
    pub(crate) dst: MacAddr,
}

impl Other {
    pub(crate) fn new(mac: [u8; 6], fc_id: u32) -> Self {
        let dst = FipFrame::ALL_VN2VN_MACS;
        Self { mac, fc_id, flags: FipFlags::default(), max_fcoe_size: 2158, dst }
    }

    pub(crate) fn repr(&self, kind: Vn2vnKind) -> FipVn2vnRepr {
        let (mac, fc_id) = (MacAddr(self.mac), FcId::new(self.fc_id));
        FipVn2vnRepr {
            kind,
            flags: self.flags,
            enode_mac: mac,
            node_name: Wwn::from_mac(0x1000, mac),
            port: FipVnPort { mac: fc_id.mac(FipFrame::VN2VN_FC_MAP), fc_id, name: Wwn::from_mac(0x2000, mac) },
            claim: kind.is_claim().then(|| FipClaim {
                features: Fc4Features::of_fcp(Fc4Features::INITIATOR),
                max_fcoe_size: self.max_fcoe_size,
            }),
        }
    }

    pub(crate) fn frame(&self, kind: Vn2vnKind) -> Vec<u8> {
        let repr = self.repr(kind);
        let src = if kind == Vn2vnKind::Beacon { repr.port.mac } else { repr.enode_mac };
        frame(src, self.dst, &repr)
    }
}

/// A frame of discovery with these addresses.
pub(crate) fn frame(src: MacAddr, dst: MacAddr, repr: &FipVn2vnRepr) -> Vec<u8> {
    let mut bytes = vec![0; 14 + repr.buffer_len()];
    let rest = EthernetRepr { dst, src, ethertype: EtherType::FIP }.emit(&mut bytes).unwrap();
    repr.emit(rest).unwrap();
    bytes
}

//! The captures of two Linux kernels, frame by frame.

use linerate_wire::{FcHeader, FcId, FcType, FcoeFrame, MacAddr, Wwn, r_ctl};
use std::path::Path;

/// All captures that have link services.
pub(crate) const NAMES: [&str; 14] = [
    "01-vn2vn-mp-discovery-login",
    "02-scsi-scan-rw-tmf-echo",
    "03-id-conflict-probe-reply",
    "04-write-data-lost-rec-abts-ba_acc-retry",
    "05-read-data-lost-rec-rjt-retry",
    "06-abts-unanswered-lureset-logo-relogin",
    "07-link-bounce-flogi-busy-relogin",
    "08-beacon-timeout-adisc-logo",
    "09-fabric-mode-fip-solicit-nonfip-flogi",
    "10-p2p-flag-injected",
    "11-probe-and-claim-steals-id",
    "12-mtu1500-login-write",
    "13-vlan100-discovery",
    "14-slow-target-rec-rejected-eio",
];

/// A frame with a link service in it, or a VN2VN message that tells of a neighbour.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Message {
    /// In an FCoE frame, whose bytes behind the Ethernet header these are.
    Fcoe(Vec<u8>),
    /// In a FIP frame, with the MAC descriptor if it has one.
    Fip { header: FcHeader, payload: Vec<u8>, mac: Option<MacAddr> },
    /// A probe, claim, claim response or beacon: subcode, node name, port name, address, VN_Port's MAC address.
    Vn2vn { subcode: u8, wwnn: Wwn, wwpn: Wwn, id: FcId, mac: MacAddr },
}

/// A message on its way.
#[derive(Debug, Clone)]
pub(crate) struct Frame {
    /// Nanoseconds.
    pub(crate) time: u64,
    pub(crate) dst: MacAddr,
    pub(crate) src: MacAddr,
    pub(crate) vlan: Option<u16>,
    pub(crate) message: Message,
}

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap())
}

/// Bytes from offset `at` on, as an array.
fn array<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    bytes[at..at + N].try_into().unwrap()
}

/// The frames of a capture that matter here.
pub(crate) fn read(name: &str) -> Vec<Frame> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(format!("{name}.pcap"));
    let file = std::fs::read(path).unwrap();
    let scale = match word(&file, 0) {
        0xa1b2_c3d4 => 1000,
        0xa1b2_3c4d => 1,
        magic => panic!("{name}: {magic:08x}"),
    };
    let mut frames = Vec::new();
    let mut rest = &file[24..];
    while !rest.is_empty() {
        let len = usize::try_from(word(rest, 8)).unwrap();
        let time = u64::from(word(rest, 0)) * 1_000_000_000 + u64::from(word(rest, 4)) * scale;
        let frame = &rest[16..16 + len];
        rest = &rest[16 + len..];
        let (vlan, at) = match frame[12..14] {
            [0x81, 0] => (Some(u16::from_be_bytes(array(frame, 14)) & 0xfff), 16),
            _ => (None, 12),
        };
        let bytes = &frame[at + 2..];
        let message = match frame[at..at + 2] {
            [0x89, 0x06] => fcoe(bytes),
            [0x89, 0x14] => fip(bytes),
            _ => None,
        };
        let (dst, src) = (MacAddr(array(frame, 0)), MacAddr(array(frame, 6)));
        frames.extend(message.map(|message| Frame { time, dst, src, vlan, message }));
    }
    frames
}

fn fcoe(bytes: &[u8]) -> Option<Message> {
    let frame = FcoeFrame::new_checked(bytes).unwrap();
    let basic = [r_ctl::BLS_ABTS, r_ctl::BLS_BA_ACC, r_ctl::BLS_BA_RJT].contains(&frame.header().r_ctl);
    (basic || frame.header().fc_type == FcType::ELS).then(|| Message::Fcoe(bytes.to_vec()))
}

fn fip(bytes: &[u8]) -> Option<Message> {
    let mut descriptors = Vec::new();
    let mut rest = &bytes[10..10 + 4 * usize::from(u16::from_be_bytes(array(bytes, 6)))];
    while let [kind, words, ..] = *rest {
        let (descriptor, behind) = rest.split_at(4 * usize::from(words));
        descriptors.push((kind, descriptor));
        rest = behind;
    }
    let find = |kind| descriptors.iter().find(|found| found.0 == kind).map(|found| found.1);
    let mac = find(2).map(|mac| MacAddr(array(mac, 2)));
    match (u16::from_be_bytes(array(bytes, 2)), bytes[5]) {
        (2, 1 | 2) => {
            let els = &find(7).or(find(9)).unwrap()[4..];
            Some(Message::Fip { header: FcHeader::parse(els).unwrap(), payload: els[24..].to_vec(), mac })
        }
        (5, subcode) => {
            let port = find(0x0b).unwrap();
            Some(Message::Vn2vn {
                subcode,
                wwnn: Wwn(u64::from_be_bytes(array(find(4).unwrap(), 4))),
                wwpn: Wwn(u64::from_be_bytes(array(port, 12))),
                id: FcId::from_bytes(array(port, 9)),
                mac: MacAddr(array(port, 2)),
            })
        }
        _ => None,
    }
}

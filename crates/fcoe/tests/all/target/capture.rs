//! The golden captures: frames of two Linux kernels.

use linerate_wire::{EtherType, EthernetFrame, FcoeFrame, VlanHeader};
use std::path::Path;

/// The Ethernet frames of a classic pcap file.
pub(crate) fn frames(name: &str) -> Vec<Vec<u8>> {
    timed(name).into_iter().map(|(_, frame)| frame).collect()
}

/// The same, each with the nanosecond it was recorded in, from the first one on.
pub(crate) fn timed(name: &str) -> Vec<(u64, Vec<u8>)> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    let file = std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    assert_eq!(file[..4], [0xd4, 0xc3, 0xb2, 0xa1], "{name}: little-endian, microseconds");
    let mut rest = &file[24..];
    let (mut frames, mut first) = (Vec::new(), None);
    while let Some((head, body)) = rest.split_at_checked(16) {
        let field = |at: usize| u32::from_le_bytes(head[at..at + 4].try_into().unwrap());
        let at = u64::from(field(0)) * 1_000_000_000 + u64::from(field(4)) * 1000;
        let len = field(8) as usize;
        frames.push((at - *first.get_or_insert(at), body[..len].to_vec()));
        rest = &body[len..];
    }
    frames
}

/// All captures there are.
pub(crate) fn names() -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let mut names: Vec<String> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.retain(|name| name.ends_with(".pcap"));
    names.sort();
    assert!(names.len() >= 14);
    names
}

/// FCoE frame after the Ethernet header, tagged or not.
pub(crate) fn fcoe(frame: &[u8]) -> Option<FcoeFrame<'_>> {
    let ethernet = EthernetFrame::new_checked(frame).ok()?;
    if ethernet.ethertype() == EtherType::VLAN {
        let tagged = VlanHeader::new_checked(&frame[14..]).ok()?;
        return (tagged.ethertype() == EtherType::FCOE).then(|| FcoeFrame::new_checked(&frame[18..]).unwrap());
    }
    (ethernet.ethertype() == EtherType::FCOE).then(|| FcoeFrame::new_checked(&frame[14..]).unwrap())
}

//! Frames of the kernels, parsed and serialized again, byte for byte.

use crate::fip::capture;
use linerate_wire::*;

#[test]
fn each_fip_frame_of_every_capture_rebuilds() {
    let (mut frames, mut tagged, mut kinds) = (0, 0, std::collections::BTreeMap::new());
    let mut paths: Vec<_> = std::fs::read_dir(capture::folder()).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    for path in paths {
        for (number, frame) in capture::read(&path).iter().enumerate() {
            let name = format!("{}, frame {}", path.file_name().unwrap().display(), number + 1);
            let ethernet = EthernetRepr::parse(&EthernetFrame::new_checked(&frame.bytes[..]).unwrap());
            let vlan = (ethernet.ethertype == EtherType::VLAN)
                .then(|| VlanRepr::parse(&VlanHeader::new_checked(&frame.bytes[14..]).unwrap()));
            if vlan.map_or(ethernet.ethertype, |vlan| vlan.ethertype) != EtherType::FIP {
                continue;
            }
            let at = 14 + vlan.map_or(0, |_| 4);
            let fip = FipFrame::new_checked(&frame.bytes[at..]).unwrap();
            let repr = FipRepr::parse(&fip).unwrap_or_else(|error| panic!("{name}: {error}"));

            let mut rebuilt = vec![0xa5; frame.bytes.len()];
            let mut rest = ethernet.emit(&mut rebuilt).unwrap();
            if let Some(vlan) = vlan {
                rest = vlan.emit(rest).unwrap();
                tagged += 1;
            }
            assert_eq!(repr.buffer_len(), rest.len() - fip.padding().len(), "{name}");
            let padding = repr.emit(rest).unwrap();
            assert_eq!(padding.len(), fip.padding().len(), "{name}");
            padding.fill(0);
            assert_eq!(rebuilt, frame.bytes, "{name}: {repr:?}");
            frames += 1;
            *kinds.entry((fip.code().protocol, fip.code().subcode)).or_insert(0) += 1;
        }
    }
    let all = [(1, 1), (2, 1), (2, 2), (4, 1), (5, 1), (5, 2), (5, 3), (5, 4), (5, 5)];
    assert!(kinds.keys().copied().eq(all), "{kinds:?}");
    assert_eq!((frames, tagged), (246, 33), "all that the captures hold");
}

use proptest::collection::vec;
use proptest::prelude::*;

use super::super::testing::{Shape, shapes};
use super::*;

#[test]
fn a_tag_goes_in_where_etherparse_reads_it() {
    let frame = Shape::default().frame();
    let mut buffer = frame.clone();
    buffer.resize(frame.len() + 4, 0);
    let tag = VlanTag::new(5, true, 1234).unwrap();
    assert_eq!(insert_tag(&mut buffer, frame.len(), EtherType::VLAN, tag), Ok(frame.len() + 4));
    let sliced = etherparse::SlicedPacket::from_ethernet(&buffer).unwrap();
    let vlan = sliced.vlan().unwrap();
    let etherparse::VlanSlice::SingleVlan(vlan) = vlan else { panic!("one tag") };
    assert_eq!((vlan.vlan_identifier().value(), vlan.priority_code_point().value()), (1234, 5));
    assert!(vlan.drop_eligible_indicator());
    assert_eq!(vlan.ether_type(), etherparse::EtherType::IPV4);
    assert!(sliced.transport.is_some());
}

#[test]
fn what_does_not_fit_is_refused() {
    let mut buffer = [7; 63];
    let none = VlanTag(0);
    assert_eq!(insert_tag(&mut buffer, 60, EtherType::VLAN, none), Err(VlanError::NoRoom { len: 60, room: 63 }));
    assert_eq!(insert_tag(&mut buffer, 13, EtherType::VLAN, none), Err(VlanError::Short(13)));
    assert_eq!(insert_tag(&mut buffer, 59, EtherType::IPV4, none), Err(VlanError::NotATag(EtherType::IPV4)));
    assert!(insert_tag(&mut buffer, usize::MAX - 2, EtherType::VLAN, none).is_err());
    assert_eq!(buffer, [7; 63]);
    assert_eq!(strip_tag(&mut buffer), None);
    assert_eq!(buffer, [7; 63]);
}

#[test]
fn the_filter_holds_4096_vlans() {
    let mut filter = VlanFilter::default();
    assert!(filter.passes(None) && filter.passes(Some(VlanTag(0x6000))), "untagged and priority-tagged");
    assert!(!filter.passes(Some(VlanTag(0x6001))));
    let vids = [1, 63, 64, 100, 4094, 4095];
    vids.iter().for_each(|&vid| filter.add(vid));
    assert_eq!(filter.iter().collect::<Vec<_>>(), vids);
    assert!(filter.passes(Some(VlanTag(0xf064))));
    filter.remove(100);
    assert!(!filter.contains(100) && filter.contains(64));
}

proptest! {
    #[test]
    fn stripping_undoes_inserting(shape in shapes(0..100), tci: u16, service: bool) {
        let frame = shape.frame();
        let tpid = if service { EtherType::QINQ } else { EtherType::VLAN };
        let mut buffer = [&frame[..], &[0; 9]].concat();
        let len = insert_tag(&mut buffer, frame.len(), tpid, VlanTag(tci)).unwrap();
        prop_assert_eq!(&tagged_front(&frame, tpid, VlanTag(tci)).unwrap(), &buffer[..16]);
        prop_assert_eq!(&buffer[16..len], &frame[12..]);
        prop_assert_eq!(outer_tag(&buffer[..len]), Some((tpid, VlanTag(tci))));
        prop_assert_eq!(strip_tag(&mut buffer[..len]), Some((tpid, VlanTag(tci))));
        prop_assert_eq!(&buffer[..frame.len()], &frame[..]);
    }

    #[test]
    fn hostile_bytes_do_not_panic(mut bytes in vec(any::<u8>(), 0..40), len in 0..60_usize) {
        let _ = strip_tag(&mut bytes);
        let _ = insert_tag(&mut bytes, len, EtherType::VLAN, VlanTag(1));
    }
}

//! Frames of a protocol of the link itself.

use super::*;
use linerate_wire::{EtherType, MacAddr};

/// The nearest bridge.
const GROUP: MacAddr = MacAddr([0x01, 0x80, 0xc2, 0x00, 0x00, 0x0e]);

fn to_group(from: u8, ethertype: EtherType) -> Vec<u8> {
    let [high, low] = ethertype.0.to_be_bytes();
    let mut frame = [&GROUP.0[..], &[2, 0, 0, 0, 0, from, high, low]].concat();
    frame.resize(60, from);
    frame
}

#[test]
fn frames_of_the_link_are_the_switchs_own_and_leave_by_one_port() {
    let mut b = Bench::plain(&["a", "b"]);
    let ours = to_group(1, EtherType::LLDP);
    b.send("a", &ours);
    assert_eq!((b.count("a").refused.of(DropReason::Reserved), b.switch.take_news()), (1, vec![]));
    b.switch.keep(EtherType::LLDP, GROUP);
    let come = |name: &str| PortNews::Come(name.to_owned());
    assert_eq!(b.switch.take_news(), [(0, come("a")), (1, come("b"))]);
    b.send("b", &ours);
    b.send("b", &to_group(1, EtherType::FIP));
    assert_eq!(b.switch.take_news(), [(1, PortNews::Frame(ours.clone()))]);
    assert_eq!((b.count("b").kept, b.count("b").refused.of(DropReason::Reserved)), (1, 1));
    assert_eq!(b.arrived(["a", "b"]), [0, 0]);
    assert!(b.switch.send_by(0, &ours));
    b.poll();
    assert_eq!((b.receive("a"), b.receive("b"), b.count("a").own), (vec![ours.clone()], vec![], 1));
    let sent = (0..100).filter(|_| b.switch.send_by(0, &ours)).count();
    b.poll();
    assert!(sent < 64 && b.receive("a").len() == sent, "{sent}: as many as there is room for");
    for _ in 0..10 {
        b.burst("b", &vec![ours.clone(); 30]);
    }
    assert_eq!((b.switch.take_news().len(), b.count("b").kept), (256, 257), "nobody takes them");
    assert_eq!(b.switch.link_of(0).map(|(link, _)| link), Some(Link::Up));
    b.switch.mirror("b", "a", Direction::Both);
    assert_eq!(b.switch.link_of(0).map(|(link, _)| link), Some(Link::Down), "a monitor has no neighbour");
    b.switch.detach("a");
    assert_eq!((b.switch.take_news(), b.switch.send_by(0, &ours)), (vec![(0, PortNews::Gone)], false));
    b.add("c", Policy::default(), 1, 1500);
    assert_eq!(b.switch.take_news(), [(0, come("c"))]);
    b.ledger();
}

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

use super::super::testing::{Shape, shapes};
use super::*;

fn key_of(shape: &Shape) -> FlowKey {
    let frame = shape.frame();
    FlowKey::new(&Headers::parse(&frame, frame.len()).unwrap(), &frame, 0)
}

fn to(location: u16, queue: u16, fields: Match) -> Rule {
    Rule { location, fields, action: Action::Queue(queue) }
}

#[test]
fn keys_hold_what_the_frame_says() {
    let key = key_of(&Shape { tags: 1, ..Shape::default() });
    assert_eq!(key.dst_mac.to_string(), "02:00:00:00:00:02");
    assert_eq!((key.vlan, key.ethertype, key.ports), (100, EtherType::IPV4, Some((4000, 80))));
    assert_eq!((key.src, key.dst), (Some([10, 0, 0, 1].into()), Some([10, 0, 0, 2].into())));
    assert_eq!(key.protocol, Some(IpProtocol::TCP));

    let key = key_of(&Shape { v6: true, udp: true, ..Shape::default() });
    assert_eq!(key.dst, Some("fd00::2".parse().unwrap()));
    assert_eq!((key.vlan, key.protocol), (0, Some(IpProtocol::UDP)));

    let mut frame = Shape::default().frame();
    frame[14 + 6] = 0x20;
    let key = FlowKey::new(&Headers::parse(&frame, frame.len()).unwrap(), &frame, 0x6005);
    assert_eq!((key.vlan, key.ports), (5, None), "stripped tags count, fragments have no ports");
}

#[test]
fn the_lowest_location_wins_whatever_the_order() {
    let any = Match::default();
    let port = Match { protocol: Some(IpProtocol::TCP), dst_port: Some(80), ..any };
    let host = Match { dst: Some([10, 0, 0, 2].into()), ..any };
    let key = key_of(&Shape::default());
    let mut steering = Steering::new(8);
    assert!(steering.is_empty() && steering.classify(&key).is_none());
    steering.insert(to(9, 1, any)).unwrap();
    steering.insert(to(5, 2, host)).unwrap();
    steering.insert(to(7, 3, port)).unwrap();
    let queue = |steering: &Steering| steering.classify(&key).map(|rule| rule.action);
    assert_eq!(queue(&steering), Some(Action::Queue(2)));
    steering.insert(Rule { location: 2, fields: port, action: Action::Drop }).unwrap();
    assert_eq!(queue(&steering), Some(Action::Drop), "a rule above an equal one");
    steering.remove(2).unwrap();
    steering.remove(5).unwrap();
    assert_eq!(queue(&steering), Some(Action::Queue(3)), "the equal one is back");
    steering.insert(to(7, 4, Match { dst_port: Some(81), ..any })).unwrap();
    assert_eq!(queue(&steering), Some(Action::Queue(1)), "replaced");
    assert_eq!(steering.remove(7).map(|rule| rule.action), Ok(Action::Queue(4)));
    assert_eq!(steering.remove(7), Err(SteerError::NoRule(7)));
    assert_eq!(steering.rules().len(), 1);
}

#[test]
fn rules_that_cannot_be_are_refused() {
    let mut steering = Steering::new(2);
    let any = Match::default();
    assert_eq!(steering.insert(to(0, 2, any)), Err(SteerError::Queue { queue: 2, queues: 2 }));
    for fields in [
        Match { vlan: Some(4096), ..any },
        Match { src: Some([1, 1, 1, 1].into()), dst: Some([1; 16].into()), ..any },
        Match { ethertype: Some(EtherType::IPV6), dst: Some([1, 1, 1, 1].into()), ..any },
        Match { ethertype: Some(EtherType::ARP), dst_port: Some(1), ..any },
        Match { protocol: Some(IpProtocol::ICMP), src_port: Some(1), ..any },
    ] {
        assert!(matches!(steering.insert(to(0, 0, fields)), Err(SteerError::Impossible(_))), "{fields:?}");
    }
    assert!(steering.is_empty());
    for location in 0..1024 {
        steering.insert(to(location, 1, Match { dst_port: Some(location), ..any })).unwrap();
    }
    assert_eq!(steering.insert(to(2000, 1, any)), Err(SteerError::Full(1024)));
    steering.insert(to(1023, 0, any)).unwrap();
    assert_eq!(steering.rules().len(), 1024);
}

/// Fields that often match the shapes of `shapes_of_few`.
fn fields() -> impl Strategy<Value = Match> {
    let nets = ["10.0.0.1", "fd00::1", "10.0.0.0/8", "11.0.0.0/8", "fd00::/15", "0.0.0.0/0"];
    let src = option::of((0..nets.len()).prop_map(move |at| nets[at].parse().unwrap()));
    let vlan = option::of(prop_oneof![Just(0), Just(100)]);
    let protocol = option::of(prop_oneof![Just(IpProtocol::TCP), Just(IpProtocol::UDP)]);
    (src, vlan, protocol, option::of(0..3_u16), option::of(0..3_u16)).prop_map(
        |(src, vlan, protocol, src_port, dst_port)| Match {
            src,
            vlan,
            protocol,
            src_port,
            dst_port,
            ..Match::default()
        },
    )
}

fn shapes_of_few() -> impl Strategy<Value = Shape> {
    (shapes(0..1), 0..3_u16, 0..3_u16).prop_map(|(shape, src, dst)| Shape { ports: (src, dst), ..shape })
}

/// True if an address is in a network, bit by bit.
fn holds(net: Prefix, address: IpAddr) -> bool {
    let bits = |address: IpAddr| match address {
        IpAddr::V4(v4) => (v4.octets().to_vec(), true),
        IpAddr::V6(v6) => (v6.octets().to_vec(), false),
    };
    let ((own, four), (first, of_four)) = (bits(address), bits(net.address));
    let bit = |bytes: &[u8], at: usize| bytes[at / 8] >> (7 - at % 8) & 1;
    four == of_four && (0..usize::from(net.len)).all(|at| bit(&own, at) == bit(&first, at))
}

#[test]
fn networks_are_read_as_they_are_written() {
    for text in ["10.0.0.1", "10.0.0.0/8", "0.0.0.0/0", "fd00::1", "fd00::/16", "::/0"] {
        assert_eq!(text.parse::<Prefix>().unwrap().to_string(), text);
    }
    assert_eq!("10.1.2.3/8".parse::<Prefix>().unwrap().to_string(), "10.0.0.0/8");
    for text in ["", "10", "10.0.0.0/33", "fd00::/129", "10.0.0.0/", "10.0.0.0/-1", "eth0"] {
        assert_eq!(text.parse::<Prefix>(), Err(PrefixError), "{text}");
    }
}

#[test]
fn interfaces_are_named_in_an_adapters_table_alone() {
    let rule = |action| Rule { location: 0, fields: Match::default(), action };
    for action in [Action::Interface(0, None), Action::Mirror(0)] {
        assert!(matches!(Steering::new(4).insert(rule(action)), Err(SteerError::Interface { .. })));
        assert_eq!(Steering::of_interfaces(1, 4).insert(rule(action)), Ok(()));
    }
    let mut table = Steering::of_interfaces(2, 4);
    assert!(matches!(
        table.insert(rule(Action::Mirror(2))),
        Err(SteerError::Interface { interface: 2, interfaces: 2 })
    ));
    assert_eq!(table.insert(rule(Action::Interface(1, Some(4)))), Err(SteerError::Queue { queue: 4, queues: 4 }));
    let mac = Match { src_mac: Some("02:00:00:00:00:01".parse().unwrap()), ..Match::default() };
    table.insert(Rule { fields: mac, ..rule(Action::Drop) }).unwrap();
    assert_eq!(table.classify(&key_of(&Shape::default())).map(|rule| rule.action), Some(Action::Drop));
}

/// Classifies rule by rule, as specified.
fn naive<'a>(rules: &'a [Rule], key: &FlowKey) -> Option<&'a Rule> {
    let fits = |fields: &Match| {
        fields.dst_mac.is_none_or(|mac| mac == key.dst_mac)
            && fields.vlan.is_none_or(|vlan| vlan == key.vlan)
            && fields.ethertype.is_none_or(|ethertype| ethertype == key.ethertype)
            && fields.src.is_none_or(|src| key.src.is_some_and(|own| holds(src, own)))
            && fields.dst.is_none_or(|dst| key.dst.is_some_and(|own| holds(dst, own)))
            && fields.protocol.is_none_or(|protocol| Some(protocol) == key.protocol)
            && fields.src_port.is_none_or(|port| key.ports.is_some_and(|(src, _)| port == src))
            && fields.dst_port.is_none_or(|port| key.ports.is_some_and(|(_, dst)| port == dst))
    };
    rules.iter().filter(|rule| fits(&rule.fields)).min_by_key(|rule| rule.location)
}

proptest! {
    #[test]
    fn rules_are_found_as_if_looked_at_one_by_one(
        rules in vec((0..50_u16, fields(), 0..4_u16), 0..40), gone in vec(0..50_u16, 0..10),
        shapes in vec(shapes_of_few(), 1..20),
    ) {
        let mut steering = Steering::new(4);
        for (location, fields, queue) in rules {
            steering.insert(to(location, queue, fields)).unwrap();
        }
        for location in gone {
            let _ = steering.remove(location);
        }
        prop_assert!(steering.rules().is_sorted_by_key(|rule| rule.location));
        for shape in &shapes {
            let key = key_of(shape);
            prop_assert_eq!(steering.classify(&key), naive(steering.rules(), &key));
        }
    }
}

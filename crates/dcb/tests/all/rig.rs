//! Ports that hear each other, in virtual time; units of a peer that is made by hand.

use linerate_dcb::*;
use linerate_wire::*;

pub(crate) const SECOND: u64 = 1_000_000_000;

pub(crate) fn mac(last: u8) -> MacAddr {
    MacAddr([2, 0, 0, 0, 0, last])
}

/// A port whose link is up.
pub(crate) fn port(last: u8, settings: Settings) -> Dcb {
    let mut port = Dcb::new(Config::new(mac(last), "port"), settings, 0).unwrap();
    port.set_link(true, 0);
    port
}

/// Shares of classes 0 and 1, of which priority 3 has the second.
pub(crate) fn classes(first: u8, second: u8) -> Classes {
    let mut classes = Classes { of: [0, 0, 0, 1, 0, 0, 0, 0], ..Classes::default() };
    classes.selection[..2].copy_from_slice(&[Selection::Ets(first), Selection::Ets(second)]);
    classes
}

pub(crate) fn app(selector: Selector, protocol: u16, priority: u8) -> Application {
    Application { selector, protocol, priority: Priority::new(priority).unwrap() }
}

/// Settings of a SAN: 60:40, priority 3 lossless for FCoE.
pub(crate) fn san(willing: bool) -> Settings {
    Settings {
        classes: classes(60, 40),
        recommendation: Some(classes(60, 40)),
        pfc: 1 << 3,
        applications: vec![app(Selector::EtherType, 0x8906, 3), app(Selector::EtherType, 0x8914, 3)],
        willing,
        ..Settings::default()
    }
}

/// Others: 20:80, priority 4 lossless for iSCSI.
pub(crate) fn lan(willing: bool) -> Settings {
    Settings {
        classes: classes(20, 80),
        recommendation: Some(classes(20, 80)),
        pfc: 1 << 4,
        applications: vec![app(Selector::Any, 3260, 4)],
        willing,
        ..Settings::default()
    }
}

/// Lets all hear each other until a time; returns the frames and when they were sent.
pub(crate) fn run(ports: &mut [&mut Dcb], now: &mut u64, until: u64) -> Vec<(u64, Vec<u8>)> {
    let mut sent = Vec::new();
    loop {
        let mut idle = true;
        for from in 0..ports.len() {
            while let Some(frame) = ports[from].poll_transmit(*now) {
                idle = false;
                for to in (0..ports.len()).filter(|to| *to != from) {
                    ports[to].receive(&frame, *now);
                }
                sent.push((*now, frame));
            }
        }
        if idle {
            let next = ports.iter().filter_map(|port| port.poll_timeout()).min().unwrap_or(until);
            if next >= until {
                *now = until;
                return sent;
            }
            assert!(next > *now, "a time-out that is over and has nothing to do");
            *now = next;
        }
    }
}

pub(crate) fn events(port: &mut Dcb) -> Vec<Event> {
    std::iter::from_fn(|| port.poll_event()).collect()
}

/// A frame of a peer with this port number: time to live, and TLVs.
pub(crate) fn frame(last: u8, port: u8, ttl: u16, tlvs: &[LldpTlv<'_>]) -> Vec<u8> {
    let mac = mac(last);
    let id = |subtype, id| LldpId { subtype, id };
    let (chassis, port) = (id(lldp_id::CHASSIS_MAC, &mac.0[..]), [port]);
    Lldpdu::frame(mac, &Lldpdu::build(chassis, id(lldp_id::PORT_LOCAL, &port), ttl, tlvs).unwrap())
}

pub(crate) fn wire(shares: [u8; 8], algorithm: u8) -> DcbxClasses {
    DcbxClasses { classes: [0, 0, 0, 1, 0, 0, 0, 0], shares, algorithms: [algorithm; 8] }
}

pub(crate) fn pfc(willing: bool, enabled: u8) -> LldpTlv<'static> {
    LldpTlv::Pfc(DcbxPfc { willing, bypass: false, max_classes: 8, enabled })
}

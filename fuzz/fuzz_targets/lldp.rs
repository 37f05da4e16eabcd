//! LLDP with DCBX, and MAC control: what parses is written again as it was understood; a port that hears a script of frames
//! stays within its limits.
//!
//! The script is a sequence of frames: the time since the last in units of 250 ms (1 byte), the length (2), the bytes behind
//! the Ethernet header. The whole input is a frame, too.
#![no_main]

use libfuzzer_sys::fuzz_target;
use linerate_dcb::*;
use linerate_wire::*;

fn rebuild(bytes: &[u8]) {
    let Ok(unit) = Lldpdu::parse(bytes) else { return };
    let tlvs: Vec<_> = unit.tlvs().filter_map(Result::ok).collect();
    let Ok(built) = Lldpdu::build(unit.chassis, unit.port, unit.ttl, &tlvs) else {
        assert!(bytes.len() > Lldpdu::MAX_LEN - 2);
        return;
    };
    let again = Lldpdu::parse(&built).unwrap();
    assert_eq!((again.chassis, again.port, again.ttl), (unit.chassis, unit.port, unit.ttl));
    assert_eq!(again.tlvs().map(Result::unwrap).collect::<Vec<_>>(), tlvs);
}

fn play(mut script: &[u8], dcbx: Dcbx) {
    let settings = Settings { willing: true, pfc: 8, dcbx, ..Settings::default() };
    let mut port = Dcb::new(Config::new(MacAddr([2, 0, 0, 0, 0, 1]), "port"), settings, 0).unwrap();
    port.set_link(true, 0);
    let mut now = 0;
    while let [wait, high, low, rest @ ..] = script {
        let (frame, rest) = rest.split_at(usize::from(u16::from_be_bytes([*high, *low])).min(rest.len()));
        script = rest;
        now += u64::from(*wait) * 250_000_000;
        port.receive(&Lldpdu::frame(MacAddr([2, 0, 0, 0, 0, 2]), frame), now);
        let sent = std::iter::from_fn(|| port.poll_transmit(now));
        assert!(sent.inspect(|frame| assert!(Lldpdu::parse(&frame[14..]).is_ok())).count() <= 5);
        assert!(port.poll_timeout().unwrap() > now && port.neighbours().len() <= MAX_NEIGHBOURS);
        assert!(std::iter::from_fn(|| port.poll_event()).count() <= 64);
        let Table { classes, .. } = *port.operative();
        assert!(Settings { classes, ..Settings::default() }.check().is_ok());
    }
}

fuzz_target!(|bytes: &[u8]| {
    for at in [0, 14] {
        let bytes = bytes.get(at..).unwrap_or_default();
        rebuild(bytes);
        if let Ok(frame) = MacControl::parse(bytes) {
            let mut written = [0xa5; MacControl::LEN];
            frame.emit(&mut written).unwrap();
            assert_eq!(MacControl::parse(&written), Ok(frame));
        }
        if let Ok((cnm, msdu)) = Cnm::parse(bytes) {
            assert_eq!(Cnm::parse(&[&cnm.bytes()[..], msdu].concat()), Ok((cnm, msdu)));
        }
    }
    for dcbx in [Dcbx::Auto, Dcbx::Cee] {
        play(bytes, dcbx);
    }
});

//! LLDP with DCBX, and MAC control: what parses is written again as it was understood.
#![no_main]

use libfuzzer_sys::fuzz_target;
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
});

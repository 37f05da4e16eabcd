//! LLDP with DCBX, and MAC control: whatever the bytes are, no panic; what parses is written again as it was understood;
//! tshark finds nothing malformed in what is written.

use std::process::{Command, Stdio};

use linerate_wire::*;
use proptest::collection::vec;
use proptest::prelude::*;

/// Reads `bytes` in each way; what parses, written again, parses to the same.
fn read_everything(bytes: &[u8]) {
    if let Ok(unit) = Lldpdu::parse(bytes) {
        let tlvs: Vec<_> = unit.tlvs().filter_map(Result::ok).collect();
        let built = Lldpdu::build(unit.chassis, unit.port, unit.ttl, &tlvs).unwrap();
        let again = Lldpdu::parse(&built).unwrap();
        assert_eq!((again.chassis, again.port, again.ttl), (unit.chassis, unit.port, unit.ttl));
        assert_eq!(again.tlvs().map(Result::unwrap).collect::<Vec<_>>(), tlvs);
    }
    if let Ok(frame) = MacControl::parse(bytes) {
        let mut written = [0xa5; MacControl::LEN];
        frame.emit(&mut written).unwrap();
        assert_eq!(MacControl::parse(&written), Ok(frame));
    }
    if let Ok((cnm, msdu)) = Cnm::parse(bytes) {
        assert_eq!(Cnm::parse(&[&cnm.bytes()[..], msdu].concat()), Ok((cnm, msdu)));
    }
}

fn tlv() -> impl Strategy<Value = Vec<u8>> {
    // Organization, subtype and a right length mostly, so that the information is read.
    let oui = prop_oneof![Just([0, 0x80, 0xc2]), Just([0, 0x12, 0x0f]), Just(Cee::OUI), any::<[u8; 3]>()];
    let len = |subtype| match subtype {
        1 | 4 | 8 | 11 => 6,
        2 => 7,
        3 | 7 => 9,
        9 | 10 => 25,
        12 => 11,
        16 => 12,
        _ => 30,
    };
    let organized = (oui, 0..18_u8, prop::option::weighted(0.2, 0..40_usize), vec(any::<u8>(), 60));
    let organized = organized.prop_map(move |(oui, subtype, other, info)| {
        let len = other.unwrap_or(len(subtype)).max(4);
        let control = [2, 10, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0];
        let info = if oui == Cee::OUI { [&control[..], &info].concat() } else { info };
        [&[0xfe, u8::try_from(len).unwrap()][..], &oui, &[subtype], &info[..len - 4]].concat()
    });
    let basic = (4..127_u8, vec(any::<u8>(), 0..40));
    let basic = basic.prop_map(|(kind, info)| [&[kind << 1, u8::try_from(info.len()).unwrap()][..], &info].concat());
    prop_oneof![4 => organized, 1 => basic]
}

proptest! {
    #[test]
    fn any_bytes(bytes in vec(any::<u8>(), 0..400)) {
        read_everything(&bytes);
    }

    #[test]
    fn any_tlvs(
        chassis in vec(any::<u8>(), 2..20),
        port in vec(any::<u8>(), 2..20),
        ttl: [u8; 2],
        tlvs in vec(tlv(), 0..10),
        cut in prop::option::weighted(0.2, 0..400_usize),
    ) {
        let len = |bytes: &[u8]| u8::try_from(bytes.len()).unwrap();
        let front = [&[2, len(&chassis)][..], &chassis, &[4, len(&port)], &port, &[6, 2], &ttl].concat();
        let mut bytes = [&front[..], &tlvs.concat()].concat();
        bytes.truncate(cut.unwrap_or(bytes.len()));
        read_everything(&bytes);
    }
}

/// A frame of each kind.
fn ours() -> Vec<Vec<u8>> {
    let mac = MacAddr([2, 0, 0, 0, 0, 1]);
    let classes = DcbxClasses {
        classes: [0, 0, 0, 1, 0, 0, 0, 0],
        shares: [50, 50, 0, 0, 0, 0, 0, 0],
        algorithms: [2, 2, 0, 0, 0, 0, 0, 0],
    };
    let feature = CeeFeature { version: 0, max_version: 0, enabled: true, willing: false, error: false, subtype: 0 };
    let cee = Cee {
        control: CeeControl { version: 0, max_version: 0, sequence: 1, acknowledged: 1 },
        groups: Some(CeeGroups { feature, groups: classes.classes, shares: classes.shares, max_classes: 8 }),
        pfc: Some(CeePfc { feature, enabled: 8, max_classes: 8 }),
        applications: Some((feature, vec![CeeApplication::new(cee_selector::ETHERTYPE, 0x8906, 8)])),
    };
    let application = DcbxApplication { priority: 3, selector: dcbx_selector::ETHERTYPE, protocol: 0x8906 };
    let address = LldpManagementAddress { family: 1, address: &[10, 0, 0, 1], numbering: 2, interface: 7, oid: &[] };
    let basic = [
        LldpTlv::PortDescription(b"eth1"),
        LldpTlv::SystemName(b"host"),
        LldpTlv::SystemDescription(b"linerate"),
        LldpTlv::Capabilities(LldpCapabilities { capable: 0x94, enabled: 0x80 }),
        LldpTlv::Management(address),
        LldpTlv::PortVlan(100),
        LldpTlv::PortProtocolVlan(LldpPortProtocolVlan { supported: true, enabled: true, vid: 5 }),
        LldpTlv::VlanName { vid: 100, name: b"san" },
        LldpTlv::MacPhy(LldpMacPhy { supported: true, enabled: true, advertised: 0x6c11, mau: 30 }),
        LldpTlv::Power(LldpPower { support: 7, pair: 1, class: 4, classification: &[0x52, 0, 130, 0, 130] }),
        LldpTlv::Aggregation(LldpAggregation { capable: true, enabled: false, port: 0 }),
        LldpTlv::MaxFrameSize(2180),
    ];
    let dcbx = [
        LldpTlv::Congestion(LldpCongestion { priorities: 0x30, ready: 0x10 }),
        LldpTlv::EtsConfiguration(DcbxEts { willing: true, credit: false, max_classes: 0, classes }),
        LldpTlv::EtsRecommendation(classes),
        LldpTlv::Pfc(DcbxPfc { willing: true, bypass: false, max_classes: 8, enabled: 8 }),
        LldpTlv::Applications(vec![application]),
    ];
    let id = |subtype| LldpId { subtype, id: &mac.0 };
    let frame = |ttl, tlvs: &[_]| {
        Lldpdu::frame(mac, &Lldpdu::build(id(lldp_id::CHASSIS_MAC), id(lldp_id::PORT_MAC), ttl, tlvs).unwrap())
    };
    let control = |control: MacControl| {
        let mut frame = vec![0; 60];
        let ethernet = EthernetRepr { dst: MacControl::GROUP, src: mac, ethertype: EtherType::MAC_CONTROL };
        control.emit(ethernet.emit(&mut frame).unwrap()).unwrap();
        frame
    };
    vec![
        frame(121, &basic),
        frame(121, &dcbx),
        frame(121, &[LldpTlv::Cee(cee)]),
        frame(0, &[]),
        control(MacControl::Pause(0xffff)),
        control(MacControl::Pfc { enabled: 8, quanta: [0, 0, 0, 0xffff, 0, 0, 0, 0] }),
    ]
}

/// Lines of tshark about frames, one each; None, and a skip, if it is not installed.
fn tshark(frames: &[Vec<u8>], fields: &[&str]) -> Option<Vec<String>> {
    let mut pcap = Vec::new();
    for word in [0xa1b2_c3d4_u32, 0x0002_0004, 0, 0, 65535, 1] {
        pcap.extend(word.to_be_bytes());
    }
    for frame in frames {
        let len = u32::try_from(frame.len()).unwrap();
        [0, 0, len, len].into_iter().for_each(|word| pcap.extend(word.to_be_bytes()));
        pcap.extend(frame);
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ours.pcap");
    std::fs::write(&path, pcap).unwrap();
    let mut command = Command::new("tshark");
    command.arg("-n").arg("-r").arg(&path).args(["-T", "fields"]).stderr(Stdio::null());
    let Ok(output) = command.args(fields.iter().flat_map(|field| ["-e", field])).output() else {
        linerate_skip::skip!("tshark is not installed");
        return None;
    };
    assert!(output.status.success(), "tshark refuses the capture");
    Some(String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect())
}

#[test]
fn tshark_reads_our_frames_without_a_complaint() {
    let fields = [
        "frame.protocols",
        "lldp.ieee.802_1.subtype",
        "lldp.dcbx.feature.app.proto",
        "lldp.time_to_live",
        "macc.opcode",
        "_ws.malformed",
        "_ws.expert.message",
    ];
    let Some(lines) = tshark(&ours(), &fields) else { return };
    assert_eq!(
        lines,
        [
            "eth:ethertype:lldp\t0x01,0x02,0x03,0x07\t\t121\t\t\t",
            "eth:ethertype:lldp\t0x08,0x09,0x0a,0x0b,0x0c\t0x8906\t121\t\t\t",
            "eth:ethertype:lldp\t\t0x8906\t121\t\t\t",
            "eth:ethertype:lldp\t\t\t0\t\t\t",
            "eth:ethertype:macc\t\t\t\t0x0001\t\t",
            "eth:ethertype:macc\t\t\t\t0x0101\t\t",
        ]
    );
}

#[test]
fn tshark_complains_of_a_wrong_one() {
    let mut wrong = ours().swap_remove(1);
    let at = wrong.windows(4).position(|bytes| bytes == [0, 0x80, 0xc2, 0x0b]).unwrap() - 1;
    wrong[at] = 5;
    let Some(lines) = tshark(&[wrong], &["_ws.malformed", "_ws.expert.message"]) else { return };
    assert_ne!(lines.concat().trim(), "");
}

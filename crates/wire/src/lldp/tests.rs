use super::*;
use crate::*;

const MAC_A: [u8; 6] = [2, 0, 0, 0, 0x0a, 0x0a];

fn id(subtype: u8, id: &[u8]) -> LldpId<'_> {
    LldpId { subtype, id }
}

fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.bytes().filter(u8::is_ascii_hexdigit).collect();
    digits.chunks(2).map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
}

/// One of each, and its bytes.
fn all() -> Vec<(LldpTlv<'static>, Vec<u8>)> {
    let classes = DcbxClasses {
        classes: [0, 0, 0, 1, 0, 0, 0, 7],
        shares: [60, 40, 0, 0, 0, 0, 0, 0],
        algorithms: [2, 2, 0, 0, 0, 0, 0, 255],
    };
    let tables = "0001 0007 3c28 0000 0000 0000 0202 0000 0000 00ff";
    let feature = CeeFeature { version: 0, max_version: 0, enabled: true, willing: true, error: false, subtype: 0 };
    let cee = Cee {
        control: CeeControl { version: 0, max_version: 0, sequence: 2, acknowledged: 1 },
        groups: Some(CeeGroups {
            feature,
            groups: [0, 0, 0, 1, 0, 0, 0, 15],
            shares: [60, 40, 0, 0, 0, 0, 0, 0],
            max_classes: 8,
        }),
        pfc: Some(CeePfc {
            feature: CeeFeature { willing: false, error: true, ..feature },
            enabled: 8,
            max_classes: 8,
        }),
        applications: Some((feature, vec![CeeApplication::new(cee_selector::ETHERTYPE, 0x8906, 8)])),
    };
    let cee_bytes = "fe37 001b21 02 020a 00000000000200000001 0411 0000c000 0001000f 3c28000000000000 08 \
                     0606 0000a000 08 08 080a 0000c000 8906 00 1b21 08";
    let of = |text: &str| hex(text);
    vec![
        (LldpTlv::PortDescription(b"eth1"), of("0804 65746831")),
        (LldpTlv::SystemName(b""), of("0a00")),
        (LldpTlv::SystemDescription(b"x"), of("0c01 78")),
        (LldpTlv::Capabilities(LldpCapabilities { capable: 0x94, enabled: 0x80 }), of("0e04 0094 0080")),
        (
            LldpTlv::Management(LldpManagementAddress {
                family: 1,
                address: &[10, 0, 0, 1],
                numbering: 2,
                interface: 7,
                oid: &[0x2b, 6],
            }),
            of("100e 05 01 0a000001 02 00000007 02 2b06"),
        ),
        (LldpTlv::PortVlan(100), of("fe06 0080c2 01 0064")),
        (
            LldpTlv::PortProtocolVlan(LldpPortProtocolVlan { supported: true, enabled: true, vid: 5 }),
            of("fe07 0080c2 02 06 0005"),
        ),
        (LldpTlv::VlanName { vid: 100, name: b"san" }, of("fe0a 0080c2 03 0064 03 73616e")),
        (LldpTlv::Congestion(LldpCongestion { priorities: 0x30, ready: 0x10 }), of("fe06 0080c2 08 3010")),
        (
            LldpTlv::EtsConfiguration(DcbxEts { willing: true, credit: false, max_classes: 3, classes }),
            of(&format!("fe19 0080c2 09 83 {tables}")),
        ),
        (LldpTlv::EtsRecommendation(classes), of(&format!("fe19 0080c2 0a 00 {tables}"))),
        (LldpTlv::Pfc(DcbxPfc { willing: true, bypass: true, max_classes: 8, enabled: 8 }), of("fe06 0080c2 0b c8 08")),
        (
            LldpTlv::Applications(vec![
                DcbxApplication { priority: 3, selector: dcbx_selector::ETHERTYPE, protocol: 0x8906 },
                DcbxApplication { priority: 4, selector: dcbx_selector::STREAM, protocol: 3260 },
            ]),
            of("fe0b 0080c2 0c 00 618906 820cbc"),
        ),
        (
            LldpTlv::ApplicationVlans(vec![DcbxApplicationVlan { vid: 0x123, selector: 1, protocol: 0x8906 }]),
            of("fe08 0080c2 10 1231 8906"),
        ),
        (
            LldpTlv::MacPhy(LldpMacPhy { supported: true, enabled: true, advertised: 0x6c11, mau: 30 }),
            of("fe09 00120f 01 03 6c11 001e"),
        ),
        (
            LldpTlv::Power(LldpPower { support: 7, pair: 1, class: 4, classification: &[0x52, 0, 130, 0, 130] }),
            of("fe0c 00120f 02 070104 5200820082"),
        ),
        (
            LldpTlv::Aggregation(LldpAggregation { capable: true, enabled: true, port: 4 }),
            of("fe09 0080c2 07 03 00000004"),
        ),
        (LldpTlv::MaxFrameSize(1518), of("fe06 00120f 04 05ee")),
        (LldpTlv::Cee(cee), of(cee_bytes)),
        (LldpTlv::Organization { oui: [0, 1, 2], subtype: 9, info: &[1] }, of("fe05 000102 09 01")),
        (LldpTlv::Reserved { kind: 9, info: &[1, 2] }, of("1202 0102")),
    ]
}

fn unit(tlvs: &[u8]) -> Vec<u8> {
    [&hex("0207 04 020000000a0a 0407 03 020000000a0a 0602 0078")[..], tlvs, &[0, 0]].concat()
}

#[test]
fn each_tlv_is_its_bytes() {
    let (tlvs, bytes): (Vec<_>, Vec<_>) = all().into_iter().unzip();
    let (chassis, port) = (id(lldp_id::CHASSIS_MAC, &MAC_A), id(lldp_id::PORT_MAC, &MAC_A));
    for (tlv, bytes) in tlvs.iter().zip(&bytes) {
        let mut written = Vec::new();
        tlv.put(&mut written).unwrap();
        assert_eq!(&written, bytes, "{tlv:?}");
    }
    let built = Lldpdu::build(chassis, port, 120, &tlvs).unwrap();
    assert_eq!(built, unit(&bytes.concat()));
    let read = Lldpdu::parse(&built).unwrap();
    assert_eq!((read.chassis, read.port, read.ttl), (chassis, port, 120));
    assert_eq!(read.tlvs().map(Result::unwrap).collect::<Vec<_>>(), tlvs);
}

/// IEEE 802.1AB-2016, clause 9.2.7.7: such a TLV is discarded, the others are not.
#[test]
fn a_length_that_is_not_that_of_its_fields_discards_the_tlv_alone() {
    let name = hex("0a01 78");
    for (tlv, bytes) in all() {
        let least = if bytes[0] == 0xfe { 4 } else { 0 };
        let free = |len: u16| match tlv {
            LldpTlv::PortDescription(_) | LldpTlv::SystemName(_) | LldpTlv::SystemDescription(_) => len <= 255,
            LldpTlv::Reserved { .. } | LldpTlv::Organization { .. } => len >= least,
            LldpTlv::Applications(_) => len >= 5 && (len - 5).is_multiple_of(3),
            LldpTlv::ApplicationVlans(_) => len >= 4 && (len - 4).is_multiple_of(4),
            LldpTlv::Power(_) => [7, 12, 29].contains(&len),
            // Whole sub-TLVs; zeros are some of a type that nobody knows.
            LldpTlv::Cee(_) => [16, 35, 43].contains(&len) || len > 55,
            _ => false,
        };
        for len in (0..=511_u16).filter(|len| usize::from(*len) + 2 != bytes.len() && !free(*len)) {
            let mut longer = bytes.clone();
            longer.resize(usize::from(len) + 2, 0);
            longer[..2].copy_from_slice(&(u16::from(bytes[0] >> 1) << 9 | len).to_be_bytes());
            let bytes = unit(&[&longer[..], &name].concat());
            let read: Vec<_> = Lldpdu::parse(&bytes).unwrap().tlvs().collect();
            assert!(matches!(read[0], Err(Error::Malformed(..))), "{tlv:?} {len}: {read:?}");
            assert_eq!(read[1..], [Ok(LldpTlv::SystemName(b"x"))], "{tlv:?} {len}");
        }
    }
}

/// The same clause: the unit is discarded.
#[test]
fn what_is_wrong_with_the_mandatory_ones_or_the_end_discards_the_unit() {
    let good = unit(&[]);
    assert!(Lldpdu::parse(&good).is_ok());
    assert!(Lldpdu::parse(&good[..good.len() - 2]).is_ok(), "the end may be that of the unit");
    for len in 0..good.len() - 2 {
        assert_eq!(Lldpdu::parse(&good[..len]), Err(Error::Truncated("lldp")), "{len}");
    }
    assert_eq!(Lldpdu::parse(&good[..good.len() - 1]), Err(Error::Truncated("lldp")), "half a header");
    let (chassis, port, ttl) = (&good[..9], &good[9..18], &good[18..22]);
    let bad = |parts: &[&[u8]], what| {
        assert_eq!(Lldpdu::parse(&parts.concat()), Err(Error::Malformed("lldp", what)), "{parts:x?}");
    };
    bad(&[port, chassis, ttl], "chassis ID");
    bad(&[chassis, ttl, port], "port ID");
    bad(&[chassis, port, &[0, 0]], "time to live");
    bad(&[chassis, port, &[6, 1, 0]], "time to live");
    for again in [chassis, port, ttl] {
        bad(&[chassis, port, ttl, &[0x0a, 0], again], "mandatory TLV that comes twice");
        assert!(Lldpdu::parse(&[chassis, port, ttl, &[0, 0], again].concat()).is_ok(), "behind the end is padding");
    }
    bad(&[&[2, 1, 4], port, ttl], "chassis ID");
    let long = [&[0x03, 0x01, 4][..], &[1; 256]].concat();
    bad(&[&long, port, ttl], "chassis ID");
    bad(&[chassis, &[4, 0], ttl], "port ID");
    // More than there is.
    let past = unit(&[0x0b, 0xff]);
    assert_eq!(Lldpdu::parse(&past), Err(Error::Truncated("lldp")));
}

#[test]
fn what_contradicts_itself_is_discarded() {
    let read = |text: &str| {
        let bytes = unit(&hex(text));
        Lldpdu::parse(&bytes).unwrap().tlvs().next().unwrap().map(|_| ()).unwrap_err()
    };
    assert_eq!(read("0e04 0010 0030"), Error::Malformed("lldp", "enabled capability that the system lacks"));
    for text in ["1008 01 01 02 00000007 00", "100c 05 01 0a000001 02 00000007 01", "1000"] {
        assert_eq!(read(text), Error::Malformed("lldp", "management address"), "{text}");
    }
    assert_eq!(read("fe0a 0080c2 03 0064 04 73616e"), Error::Malformed("lldp", "VLAN name"));
    let control = "020a 0000 00000001 00000000";
    assert_eq!(read("fe04 001b21 02"), Error::Malformed("cee", "list: no control sub-TLV"));
    assert_eq!(
        read(&format!("fe1c 001b21 02 {control} {control}")),
        Error::Malformed("cee", "sub-TLV that comes twice")
    );
    assert_eq!(read(&format!("fe12 001b21 02 {control} 0606")), Error::Malformed("cee", "length"));
    assert_eq!(read(&format!("fe18 001b21 02 {control} 0806 0000c000 8906")), Error::Malformed("cee", "table"));
}

#[test]
fn aggregation_is_read_as_802_3_had_it_too() {
    let aggregation = LldpAggregation { capable: true, enabled: false, port: 4 };
    let bytes = unit(&hex("fe09 00120f 03 01 00000004"));
    assert_eq!(Lldpdu::parse(&bytes).unwrap().tlvs().next(), Some(Ok(LldpTlv::Aggregation(aggregation))));
}

#[test]
fn what_no_field_can_state_is_not_built() {
    let (chassis, port) = (id(4, &MAC_A), id(3, &MAC_A));
    let build = |tlv| Lldpdu::build(chassis, port, 120, &[tlv]).unwrap_err();
    let long = [b'x'; 600];
    assert_eq!(build(LldpTlv::SystemName(&long[..256])), Error::Malformed("lldp", "length"));
    assert_eq!(build(LldpTlv::VlanName { vid: 1, name: &long[..33] }), Error::Malformed("lldp", "VLAN name"));
    let entry = DcbxApplication { priority: 0, selector: 1, protocol: 0x8906 };
    assert_eq!(build(LldpTlv::Applications(vec![entry; 169])), Error::TooLarge("lldp", "TLV"));
    assert!(Lldpdu::build(chassis, port, 120, &[LldpTlv::Applications(vec![entry; 168])]).is_ok());
    let address = LldpManagementAddress { family: 1, address: &long[..32], numbering: 1, interface: 0, oid: &[] };
    assert_eq!(build(LldpTlv::Management(address)), Error::Malformed("lldp", "management address"));
    let many = vec![LldpTlv::SystemDescription(&long[..255]); 6];
    assert_eq!(Lldpdu::build(chassis, port, 120, &many), Err(Error::TooLarge("lldp", "unit")));
    assert_eq!(Lldpdu::build(id(4, &[]), port, 120, &[]), Err(Error::Malformed("lldp", "chassis ID")));
    assert_eq!(Lldpdu::build(chassis, id(3, &long), 120, &[]), Err(Error::Malformed("lldp", "port ID")));
}

/// A unit of Open-LLDP 1.1 (lldpad), which offers PFC on priority 3, 60:40 and FCoE's applications.
#[test]
fn lldpads_unit_is_read_and_written_again() {
    let frame = hex("0180c200000e 020000000a0a 88cc 0207 04 020000000a0a 0407 03 020000000a0a 0602 0078
         fe19 0080c2 09 00 00010000 3c28000000000000 0202000000000000
         fe19 0080c2 0a 00 00010000 3c28000000000000 0202000000000000
         fe06 0080c2 0b 08 08 fe0b 0080c2 0c 00 618906 618914 0000");
    let unit = Lldpdu::parse(&frame[14..]).unwrap();
    let tlvs: Vec<_> = unit.tlvs().map(Result::unwrap).collect();
    let [LldpTlv::EtsConfiguration(ets), LldpTlv::EtsRecommendation(classes), LldpTlv::Pfc(pfc), apps] = &tlvs[..]
    else {
        panic!("{tlvs:?}");
    };
    assert_eq!((ets.willing, ets.classes, ets.classes.shares[..2].to_vec()), (false, *classes, vec![60, 40]));
    assert_eq!((pfc.willing, pfc.max_classes, pfc.enabled), (false, 8, 0x08));
    let fcoe = |protocol| DcbxApplication { priority: 3, selector: 1, protocol };
    assert_eq!(*apps, LldpTlv::Applications(vec![fcoe(0x8906), fcoe(0x8914)]));
    let built = Lldpdu::build(unit.chassis, unit.port, unit.ttl, &tlvs).unwrap();
    assert_eq!(Lldpdu::frame(MacAddr(MAC_A), &built), frame);
}

/// One of the same in CEE 1.01, before it has groups of its own: as many applications as it can have.
#[test]
fn lldpads_unit_of_cee_is_read_and_written_again() {
    let frame = hex("0180c200000e 020000000a0a 88cc 0207 04 020000000a0a 0407 03 020000000a0a 0602 0078
         fe43 001b21 02 020a 0000 00000000 00000000
         0411 0000c000 01234567 0d0d0d0d0c0c0c0c 08 0606 0000c000 00 08
         0816 0000c000 8906 00 1b21 08 0cbc 01 1b21 10 8914 00 1b21 08 0000");
    let unit = Lldpdu::parse(&frame[14..]).unwrap();
    let tlvs: Vec<_> = unit.tlvs().map(Result::unwrap).collect();
    let [LldpTlv::Cee(cee)] = &tlvs[..] else { panic!("{tlvs:?}") };
    let (groups, (feature, entries)) = (cee.groups.unwrap(), cee.applications.clone().unwrap());
    assert_eq!((groups.groups, groups.shares[0], groups.max_classes), ([0, 1, 2, 3, 4, 5, 6, 7], 13, 8));
    assert_eq!((cee.control.sequence, cee.pfc.unwrap().enabled), (0, 0));
    assert!(feature.enabled && feature.willing && !feature.error);
    let of = |selector, protocol, priorities| CeeApplication::new(selector, protocol, priorities);
    let (ethertype, port) = (cee_selector::ETHERTYPE, cee_selector::PORT);
    assert_eq!(entries, [of(ethertype, 0x8906, 8), of(port, 3260, 16), of(ethertype, 0x8914, 8)]);
    let built = Lldpdu::build(unit.chassis, unit.port, unit.ttl, &tlvs).unwrap();
    assert_eq!(Lldpdu::frame(MacAddr(MAC_A), &built), frame);
}

/// One of a veth without DCB, and its shutdown.
#[test]
fn a_short_unit_is_padded_to_a_frame() {
    for (ttl, name) in [(120, &b"vm"[..]), (0, &[])] {
        let mac = [0xce, 0xfd, 0xa9, 0x87, 0xfe, 0xd1];
        let mut wanted = hex("0180c200000e cefda987fed1 88cc 0207 04 cefda987fed1 0407 03 cefda987fed1 0602");
        wanted.extend([0, ttl]);
        let tlvs = if ttl == 0 { vec![] } else { vec![LldpTlv::SystemName(name)] };
        tlvs.iter().for_each(|tlv| tlv.put(&mut wanted).unwrap());
        wanted.resize(60, 0);
        let unit = Lldpdu::build(id(4, &mac), id(3, &mac), ttl.into(), &tlvs).unwrap();
        assert_eq!(Lldpdu::frame(MacAddr(mac), &unit), wanted);
        let read = Lldpdu::parse(&wanted[14..]).unwrap();
        assert_eq!((read.ttl, read.tlvs().map(Result::unwrap).collect::<Vec<_>>()), (ttl.into(), tlvs));
    }
}

use super::*;
use crate::FcId;

fn repr(kind: Vn2vnKind) -> FipVn2vnRepr {
    let mac = MacAddr([0x52, 0x54, 0, 0xfc, 0x0e, 2]);
    let fc_id = FcId::new(0x0e02);
    FipVn2vnRepr {
        kind,
        flags: FipFlags::default(),
        enode_mac: mac,
        node_name: Wwn::from_mac(0x1000, mac),
        port: FipVnPort { mac: fc_id.mac(FipFrame::VN2VN_FC_MAP), fc_id, name: Wwn::from_mac(0x2000, mac) },
        claim: kind
            .is_claim()
            .then(|| FipClaim { features: Fc4Features::of_fcp(Fc4Features::TARGET), max_fcoe_size: 2158 }),
    }
}

fn bytes(repr: &FipVn2vnRepr) -> Vec<u8> {
    let mut bytes = vec![0; repr.buffer_len()];
    assert!(repr.emit(&mut bytes).unwrap().is_empty());
    bytes
}

fn parse(bytes: &[u8]) -> Result<FipVn2vnRepr, Error> {
    FipVn2vnRepr::parse(&FipFrame::new_checked(bytes)?)
}

const KINDS: [Vn2vnKind; 5] = [
    Vn2vnKind::ProbeRequest,
    Vn2vnKind::ProbeReply,
    Vn2vnKind::ClaimNotification,
    Vn2vnKind::ClaimResponse,
    Vn2vnKind::Beacon,
];

/// The frame of `repr` with another descriptor behind its own.
fn with(repr: &FipVn2vnRepr, descriptor: FipDescriptor<'_>) -> Vec<u8> {
    let own = repr.descriptors();
    let list = [&own[..], &[Some(descriptor)]].concat();
    let mut bytes = vec![0; frame_len(&list)];
    emit(repr.kind.code(), repr.flags, &list, &mut bytes).unwrap();
    bytes
}

#[test]
fn the_five_kinds_are_as_long_as_the_kernel_makes_them() {
    for kind in KINDS {
        let repr = repr(kind);
        let bytes = bytes(&repr);
        // Golden capture 01: 10 and 52 words of descriptors.
        assert_eq!(bytes.len(), FipFrame::HEADER_LEN + if kind.is_claim() { 208 } else { 40 });
        assert_eq!(parse(&bytes), Ok(repr));
    }
}

#[test]
fn each_descriptor_is_wanted_once() {
    for kind in KINDS {
        let repr = repr(kind);
        for descriptor in repr.descriptors().into_iter().flatten() {
            let twice = Err(Error::Malformed("fip", "descriptor that comes twice"));
            assert_eq!(parse(&with(&repr, descriptor)), twice, "{kind:?}: {descriptor:?}");
            let rest: Vec<_> = repr.descriptors().into_iter().filter(|d| *d != Some(descriptor)).collect();
            let mut bytes = vec![0; frame_len(&rest)];
            emit(kind.code(), repr.flags, &rest, &mut bytes).unwrap();
            let missing = Err(Error::Malformed("fip", "list: a descriptor is missing"));
            assert_eq!(parse(&bytes), missing, "{kind:?}: {descriptor:?}");
        }
    }
}

#[test]
fn unexpected_ones_drop_the_frame_only_if_they_are_critical() {
    // FC-BB-6, clause 7, FIP descriptor types: those from 128 on are not critical.
    for kind in KINDS {
        let repr = repr(kind);
        let unexpected = Err(Error::Malformed("fip", "unexpected descriptor"));
        for code in [0, 16, 31, 32, 127] {
            assert_eq!(parse(&with(&repr, FipDescriptor::Unknown(code, &[0, 0]))), unexpected, "{kind:?}: {code}");
        }
        assert_eq!(parse(&with(&repr, FipDescriptor::Priority(1))), unexpected);
        assert!(parse(&with(&repr, FipDescriptor::MaxFcoeSize(1))).is_err());
        for code in [128, 241, 255] {
            assert_eq!(parse(&with(&repr, FipDescriptor::Unknown(code, &[0, 0]))), Ok(repr), "{kind:?}: {code}");
        }
    }
}

#[test]
fn no_prefix_of_a_frame_is_one() {
    for kind in KINDS {
        let bytes = bytes(&repr(kind));
        for len in 0..bytes.len() {
            assert_eq!(parse(&bytes[..len]), Err(Error::Truncated("fip")), "{kind:?} {len}");
        }
        let mut short = bytes.clone();
        for words in 0..bytes[7] {
            short[7] = words;
            assert!(matches!(parse(&short), Err(Error::Malformed(..))), "{kind:?} {words}");
        }
    }
    let mut other = bytes(&repr(Vn2vnKind::Beacon));
    other[5] = 6;
    assert_eq!(parse(&other), Err(Error::Malformed("fip", "subcode")));
}

//! FIP: whatever the bytes are, no panic; what parses is written again as it was understood.

use linerate_wire::*;
use proptest::collection::vec;
use proptest::prelude::*;

/// Views `bytes` as a FIP frame; what parses, written into fresh memory, parses to the same.
fn read_everything(bytes: &[u8]) {
    let Ok(frame) = FipFrame::new_checked(bytes) else { return };
    let _ = (frame.code(), frame.flags());
    let listed: usize = frame.descriptors().flatten().map(|descriptor| descriptor.len()).sum();
    assert!(FipFrame::HEADER_LEN + listed + frame.padding().len() <= bytes.len());
    let each =
        [FipVn2vnRepr::parse(&frame).is_ok(), FipElsRepr::parse(&frame).is_ok(), FipVlanRepr::parse(&frame).is_ok()];
    let Ok(repr) = FipRepr::parse(&frame) else {
        assert_eq!(each, [false; 3]);
        return;
    };
    let mut written = vec![0xa5; repr.buffer_len()];
    assert_eq!(repr.emit(&mut written), Ok(&mut [][..]));
    assert_eq!(FipRepr::parse(&FipFrame::new_checked(&written).unwrap()), Ok(repr.clone()));
    let short = written.len() - 1;
    assert!(repr.emit(&mut written[..short]).is_err());
}

fn descriptor() -> impl Strategy<Value = Vec<u8>> {
    // Right lengths mostly, so that lists are read to their end.
    let right = |code: u8| match code {
        1 | 6 | 14 => 1,
        2 | 3 | 12 => 2,
        4 | 13 => 3,
        5 => 4,
        11 => 5,
        15 => 41,
        _ => 9,
    };
    let code = prop_oneof![8 => 0..17_u8, 1 => any::<u8>()];
    (code, prop::option::weighted(0.1, any::<u8>()), vec(any::<u8>(), 1020)).prop_map(
        move |(code, words, mut bytes)| {
            bytes.truncate(usize::from(right(code)) * 4);
            (bytes[0], bytes[1]) = (code, words.unwrap_or(right(code)));
            bytes
        },
    )
}

proptest! {
    #[test]
    fn any_bytes(bytes in vec(any::<u8>(), 0..400)) {
        read_everything(&bytes);
    }

    #[test]
    fn any_list(
        protocol in 0..7_u8,
        subcode in 0..7_u8,
        flags: u16,
        list in vec(descriptor(), 0..6),
        padding in 0..60_usize,
        cut in prop::option::weighted(0.2, 0..1000_usize),
    ) {
        let list = list.concat();
        let words = u16::try_from(list.len() / 4).unwrap().to_be_bytes();
        let mut bytes = [&[0x10, 0, 0, protocol, 0, subcode][..], &words, &flags.to_be_bytes(), &list].concat();
        bytes.resize(bytes.len() + padding, 0);
        bytes.truncate(cut.unwrap_or(bytes.len()));
        read_everything(&bytes);
    }
}

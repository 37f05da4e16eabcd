//! iperf3's control messages, logins and datagrams: the first byte says which; the rest is what the peer says, in pieces. Whatever
//! that is, it is refused or understood; what is understood is written again as it was, and nothing grows beyond its limit.
#![no_main]

use libfuzzer_sys::fuzz_target;
use linerate_load::stream::protocol::{
    Claim, Cookie, Header, Inbox, Padding, Parameters, Receipt, Results, State, framed, is_accepted, is_connect, reply,
};
use rsa::PrivateKey;
use rsa::pkcs8::DecodePrivateKey;
use std::sync::LazyLock;

/// Key of the tests' logins.
static KEY: LazyLock<PrivateKey> = LazyLock::new(|| {
    let text = include_str!("../../crates/load/tests/login/private.pem");
    PrivateKey::from_pkcs8_pem(&text[text.find("-----BEGIN").unwrap()..]).unwrap()
});

/// JSON of a message that came in pieces; `None` if it is refused, or not whole.
fn received(bytes: &[u8], piece: usize, most: u32) -> Option<Vec<u8>> {
    let mut inbox = Inbox::new(most);
    let mut rest = bytes;
    loop {
        let wants = inbox.wants().ok()?.min(piece);
        if wants == 0 {
            assert!(inbox.json().len() <= most as usize);
            return Some(inbox.json().to_vec());
        }
        let (now, later) = rest.split_at_checked(wants)?;
        inbox.take(now);
        rest = later;
    }
}

/// Bytes that a peer says behind their length, or, with `whole`, the bytes themselves as what it says.
fn message(bytes: &[u8], piece: usize, most: u32, whole: bool) -> Option<Vec<u8>> {
    if !whole {
        return received(bytes, piece, most);
    }
    let length = u32::try_from(bytes.len()).unwrap().to_be_bytes();
    let json = received(&[&length[..], bytes].concat(), piece, most);
    assert!(json.as_ref().is_none_or(|json| json == bytes));
    json
}

fn parameters(json: &[u8]) {
    let Ok((settings, token)) = Parameters::read(json) else { return };
    assert!((1..=128).contains(&settings.streams) && (1..=1 << 20).contains(&settings.block));
    if let Some(token) = &token {
        for padding in [Padding::Oaep, Padding::Pkcs1] {
            let _ = Claim::open(token, &KEY, padding);
        }
    }
    let again = framed(&Parameters::of(&settings).with(token.clone())).unwrap();
    assert_eq!(Parameters::read(&again[4..]), Ok((settings, token)));
}

/// Text of a login, whoever enciphered it.
fn login(text: &[u8]) {
    let Some(claim) = Claim::read(text) else { return };
    assert!(!claim.user.is_empty() && !claim.password.is_empty());
    assert_eq!(Claim::read(&claim.text()), Some(claim));
}

fn results(json: &[u8]) {
    let Ok(results) = Results::read(json) else { return };
    let again = framed(&results).unwrap();
    assert_eq!(Results::read(&again[4..]), Ok(results));
}

fn datagrams(bytes: &[u8], wide: bool) {
    let mut receipt = Receipt::default();
    for (at, datagram) in bytes.chunks(Header::len(wide)).enumerate() {
        let Some(header) = Header::read(wide, datagram) else { continue };
        let mut again = [0; 16];
        header.write(wide, &mut again);
        let read = Header::read(wide, &again).unwrap();
        assert_eq!(read.number, header.number);
        receipt.arrived(header.number, header.transit(at as u64), at % 3 == 0);
        assert!(receipt.lost <= receipt.highest && receipt.jitter.is_finite() && receipt.jitter >= 0.0);
    }
    assert!(!(is_connect(bytes) && is_accepted(bytes)) && (!is_connect(bytes) || is_accepted(&reply(bytes))));
}

fuzz_target!(|input: &[u8]| {
    let Some((&[first, piece], bytes)) = input.split_first_chunk() else { return };
    let (piece, whole) = (usize::from(piece).max(1), first & 4 != 0);
    if first & 8 != 0 {
        return login(bytes);
    }
    match first & 3 {
        0 => {
            if let Some(json) = message(bytes, piece, Parameters::LONGEST, whole) {
                parameters(&json);
            }
        }
        1 => {
            if let Some(json) = message(bytes, piece, Results::LONGEST_OF_CLIENT, whole) {
                results(&json);
            }
        }
        2 => datagrams(bytes, whole),
        _ => {
            for byte in bytes {
                assert!(State::from_byte(*byte).is_none_or(|state| state.byte() == *byte));
            }
            if let Some(cookie) = bytes.first_chunk() {
                assert!(Cookie::received(*cookie).to_string().bytes().all(|byte| byte.is_ascii_graphic()));
            }
        }
    }
});

//! Users that a server takes in: a line each, with the name and the SHA-256 of name and password, as iperf3 has it. Lines that
//! begin with `#` and empty ones are passed over; any other line that is no user is refused, and the file with it.

use super::is_blank;
use ctutils::CtEq;
use rsa::sha2::{Digest, Sha256};

/// Bytes of a hash.
const HASH: usize = 32;

pub(super) struct Users(Vec<(Vec<u8>, [u8; HASH])>);

impl Users {
    pub(super) fn read(text: &[u8]) -> Result<Self, String> {
        let mut users = Vec::new();
        for (number, line) in (1..).zip(text.split(|byte| *byte == b'\n')) {
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            if line.first().is_none_or(|first| *first == b'#') {
                continue;
            }
            let mend = "give NAME,HASH without blanks, HASH by: printf '{%s}%s' NAME PASSWORD | sha256sum";
            users.push(user(line).ok_or_else(|| format!("line {number} is no user; {mend}"))?);
        }
        if users.is_empty() { Err("it names no user; give a line NAME,HASH for each".into()) } else { Ok(Self(users)) }
    }

    /// True if one of them has this name and this password. It takes as long for a wrong name as for a wrong password.
    pub(super) fn has(&self, name: &[u8], password: &[u8]) -> bool {
        let hash: [u8; HASH] = Sha256::digest([b"{", name, b"}", password].concat()).into();
        let same = |user: &(Vec<u8>, [u8; HASH])| user.1.ct_eq(&hash).to_bool() & (user.0 == name);
        self.0.iter().fold(false, |found, user| found | same(user))
    }
}

/// User of a line; what stands behind a second comma is passed over.
fn user(line: &[u8]) -> Option<(Vec<u8>, [u8; HASH])> {
    let mut fields = line.split(|byte| *byte == b',');
    let (name, digits) = (fields.next()?, fields.next()?);
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    let mut hash = [0; HASH];
    if name.is_empty() || name.iter().any(|byte| is_blank(*byte)) || digits.len() != 2 * HASH {
        return None;
    }
    for (byte, pair) in hash.iter_mut().zip(digits.chunks(2)) {
        *byte = digit(pair[0])? << 4 | digit(pair[1])?;
    }
    Some((name.to_vec(), hash))
}

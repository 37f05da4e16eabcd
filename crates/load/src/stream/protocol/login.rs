//! Login of a client: its user, password and time, enciphered with the server's public key, as text among the parameters.
//!
//! iperf3 before 3.17 pads by PKCS #1 v1.5, and later by OAEP unless it is told otherwise; neither the token nor the server
//! says which. What cannot be read is no login, for whatever reason: nobody learns from here what was wrong with it.

use base64ct::{Base64, Encoding};
use rsa::traits::PublicKeyParts;
use rsa::{PrivateKey, PublicKey};
use sha1::Sha1;
use std::fmt;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Padding {
    /// OAEP with SHA-1, of iperf3 from 3.17 on.
    Oaep,
    /// PKCS #1 v1.5, of iperf3 before 3.17, or with `--use-pkcs1-padding`.
    Pkcs1,
}

impl fmt::Display for Padding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Oaep => "OAEP",
            Self::Pkcs1 => "PKCS #1 v1.5",
        })
    }
}

impl Padding {
    /// Longest text that a key enciphers, bytes.
    #[must_use]
    pub fn room(self, key: &PublicKey) -> usize {
        let taken = match self {
            Self::Oaep => 2 * 20 + 2,
            Self::Pkcs1 => 11,
        };
        key.size().saturating_sub(taken)
    }
}

/// Login of a client.
#[derive(Clone, PartialEq, Eq)]
pub struct Claim {
    pub user: Vec<u8>,
    pub password: Vec<u8>,
    /// Time of the client, seconds since 1970.
    pub time: i64,
}

/// All but the password.
impl fmt::Debug for Claim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let user = String::from_utf8_lossy(&self.user);
        f.debug_struct("Claim").field("user", &user).field("time", &self.time).finish_non_exhaustive()
    }
}

/// True for what ends a word, in a login and in C.
pub(in crate::stream) fn is_blank(byte: u8) -> bool {
    byte == b' ' || (9..=13).contains(&byte)
}

impl Claim {
    /// Text that is enciphered.
    #[must_use]
    pub fn text(&self) -> Vec<u8> {
        let time = self.time.to_string();
        [b"user: ", &self.user[..], b"\npwd:  ", &self.password, b"\nts:   ", time.as_bytes()].concat()
    }

    /// Reads a text. Names and passwords are words without blanks, as iperf3 reads them.
    #[must_use]
    pub fn read(text: &[u8]) -> Option<Self> {
        let mut words = text.split(|byte| is_blank(*byte)).filter(|word| !word.is_empty());
        let mut behind = |name: &[u8]| words.next().filter(|word| *word == name).and_then(|_| words.next());
        let (user, password) = (behind(b"user:")?.to_vec(), behind(b"pwd:")?.to_vec());
        let time = std::str::from_utf8(behind(b"ts:")?).ok()?.parse().ok()?;
        words.next().is_none().then_some(Self { user, password, time })
    }

    /// Enciphers a login.
    ///
    /// # Errors
    /// Of the crate: the text is longer than the padding has room for, or the system has no random numbers.
    pub fn seal(&self, key: &PublicKey, padding: Padding) -> rsa::Result<String> {
        let text = self.text();
        let sealed = match padding {
            Padding::Oaep => key.oaep_encrypt::<Sha1>(&text),
            Padding::Pkcs1 => key.pkcs1v15_encrypt(&text),
        };
        sealed.map(|bytes| Base64::encode_string(&bytes))
    }

    /// Reads what a client enciphered; `None` for all that is no login.
    #[must_use]
    pub fn open(token: &str, key: &PrivateKey, padding: Padding) -> Option<Self> {
        // All tokens of a key have one length.
        if token.len() != key.size().div_ceil(3) * 4 {
            return None;
        }
        let sealed = Base64::decode_vec(token).ok()?;
        let text = match padding {
            Padding::Oaep => key.oaep_decrypt::<Sha1>(&sealed),
            Padding::Pkcs1 => key.pkcs1v15_decrypt(&sealed),
        };
        Self::read(&text.ok()?)
    }
}

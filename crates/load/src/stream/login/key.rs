//! Keys of a login, from files in PEM, as openssl makes them and iperf3 reads them. What is no such key is named.

use rsa::pkcs1::DecodeRsaPrivateKey;
use rsa::pkcs8::{DecodePrivateKey, DecodePublicKey};
use rsa::{PrivateKey, PublicKey};
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// Longest file with a key, bytes.
const LONGEST: u64 = 64 << 10;

/// Reads a file of at most so many bytes.
pub(super) fn read(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let (file, mut bytes) = (File::open(path)?, Vec::new());
    file.take(most + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        return Err(io::Error::other(format!("it is longer than {most} bytes")));
    }
    Ok(bytes)
}

pub(super) fn public(path: &Path) -> Result<PublicKey, String> {
    const MEND: &str = "give the public one, as made by openssl rsa -in PRIVATE -pubout -out PUBLIC";
    let named = |why: &str| format!("--rsa-public-key-path {}: {why}; {MEND}", path.display());
    let text = pem(path).map_err(|e| named(&e.to_string()))?;
    if let Some(block) = block(&text, "PUBLIC KEY") {
        return PublicKey::from_public_key_pem(block).map_err(|_| named(NONE));
    }
    Err(named(if text.contains("PRIVATE KEY-----") { "it holds a private key, which is the server's" } else { NONE }))
}

pub(super) fn private(path: &Path) -> Result<PrivateKey, String> {
    const MEND: &str = "give a private one without a password, as made by openssl genrsa -out PRIVATE 2048";
    let named = |why: &str| format!("--rsa-private-key-path {}: {why}; {MEND}", path.display());
    let text = pem(path).map_err(|e| named(&e.to_string()))?;
    if text.contains("ENCRYPTED") {
        return Err(named("it holds a key with a password"));
    }
    if let Some(block) = block(&text, "PRIVATE KEY") {
        return PrivateKey::from_pkcs8_pem(block).map_err(|_| named(NONE));
    }
    if let Some(block) = block(&text, "RSA PRIVATE KEY") {
        return PrivateKey::from_pkcs1_pem(block).map_err(|_| named(NONE));
    }
    Err(named(if text.contains("PUBLIC KEY-----") { "it holds a public key, which is the client's" } else { NONE }))
}

/// Reason for all that is no key.
const NONE: &str = "it holds no RSA key of 1024 to 8192 bits in PEM";

fn pem(path: &Path) -> io::Result<String> {
    read(path, LONGEST).map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
}

/// First block of this name, from its first line to its last; what stands around it is passed over.
fn block<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let (first, last) = (format!("-----BEGIN {name}-----"), format!("-----END {name}-----"));
    let from = text.find(&first)?;
    let to = from + text[from..].find(&last)? + last.len();
    text.get(from..to)
}

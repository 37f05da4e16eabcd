//! Arithmetic of DH-CHAP: hashes, powers in Diffie-Hellman groups, responses, and random numbers.

use crypto_bigint::modular::{BoxedMontyForm, BoxedMontyParams};
use crypto_bigint::{BoxedUint, Odd};
use linerate_wire::auth_hash;
use md5::Md5;
use sha1::Sha1;
use sha2::{Digest, Sha256};

/// A hash function of DH-CHAP.
#[derive(Debug)]
pub(super) struct Hash {
    /// Its number in messages.
    pub(super) id: u32,
    pub(super) name: &'static str,
    /// Bytes of a hash.
    pub(super) len: usize,
    of: fn(&[&[u8]]) -> Vec<u8>,
}

/// The functions that can be used, the best first.
pub(super) static HASHES: [Hash; 2] = [
    Hash { id: auth_hash::SHA_1, name: "SHA-1", len: 20, of: digest::<Sha1> },
    Hash { id: auth_hash::MD5, name: "MD5", len: 16, of: digest::<Md5> },
];

/// The hash of bytes, one piece behind the other.
fn digest<D: Digest>(pieces: &[&[u8]]) -> Vec<u8> {
    pieces.iter().fold(D::new(), D::chain_update).finalize().to_vec()
}

/// A Diffie-Hellman group of DH-CHAP; its generator is 2.
#[derive(Debug)]
pub(super) struct Group {
    /// Its number in messages.
    pub(super) id: u32,
    /// Bits of the modulus.
    pub(super) bits: u32,
    /// The modulus, in hexadecimal digits; empty without Diffie-Hellman.
    pub(super) modulus: &'static str,
}

/// The groups that can be used, the best first.
pub(super) static GROUPS: [Group; 5] = [
    Group { id: 4, bits: 2048, modulus: P_2048 },
    Group { id: 3, bits: 1536, modulus: P_1536 },
    Group { id: 2, bits: 1280, modulus: P_1280 },
    Group { id: 1, bits: 1024, modulus: P_1024 },
    Group { id: 0, bits: 0, modulus: "" },
];

/// Bytes of a secret exponent: twice the strength of the strongest group.
pub(super) const EXPONENT: usize = 32;
const EXPONENT_BITS: u32 = 256;

impl Group {
    /// Bytes of a public value.
    pub(super) fn len(&self) -> usize {
        self.bits as usize / 8
    }

    /// The public value of an exponent; nothing without Diffie-Hellman.
    pub(super) fn public(&self, exponent: &[u8; EXPONENT]) -> Vec<u8> {
        self.power(&[2], exponent)
    }

    /// The number that both sides can compute. None if the other side's value cannot be one: 0, 1 and -1 would make a key
    /// that everybody knows.
    pub(super) fn shared(&self, exponent: &[u8; EXPONENT], theirs: &[u8]) -> Option<Vec<u8>> {
        if self.bits == 0 {
            return theirs.is_empty().then(Vec::new);
        }
        if theirs.len() != self.len() {
            return None;
        }
        let (value, one) = (self.number(theirs), self.number(&[1]));
        let last = self.modulus()?.get().wrapping_sub(&one);
        (one < value && value < last).then(|| self.power(theirs, exponent))
    }

    fn number(&self, bytes: &[u8]) -> BoxedUint {
        BoxedUint::from_be_slice_truncated(bytes, self.bits)
    }

    fn modulus(&self) -> Option<Odd<BoxedUint>> {
        Option::from(BoxedUint::from_be_hex(self.modulus, self.bits).and_then(Odd::new))
    }

    /// A power, in a time that depends on the group only.
    fn power(&self, base: &[u8], exponent: &[u8; EXPONENT]) -> Vec<u8> {
        let Some(modulus) = (self.bits > 0).then(|| self.modulus()).flatten() else { return Vec::new() };
        let params = BoxedMontyParams::new(modulus);
        let exponent = BoxedUint::from_be_slice_truncated(exponent, EXPONENT_BITS);
        BoxedMontyForm::new(self.number(base), &params).pow(&exponent).retrieve().to_be_bytes().into_vec()
    }
}

/// The response to a challenge: the hash of the transaction's last byte, the secret, and the challenge, which is hashed with
/// the shared number before where there is one (FC-SP, DH-CHAP; as RFC 1994, clause 4.1).
pub(super) fn response(hash: &Hash, transaction: u32, secret: &[u8], challenge: &[u8], shared: &[u8]) -> Vec<u8> {
    let [.., last] = transaction.to_be_bytes();
    let augmented = if shared.is_empty() { challenge.to_vec() } else { (hash.of)(&[challenge, shared]) };
    (hash.of)(&[&[last], secret, &augmented])
}

/// Random numbers from a seed. Who learns the present state knows none of those before.
pub(super) struct Draws([u8; 32]);

impl Draws {
    pub(super) fn new(seed: [u8; 32]) -> Self {
        Self(seed)
    }

    /// Random bytes that were never drawn before.
    pub(super) fn draw<const N: usize>(&mut self) -> [u8; N] {
        let mut bytes = [0; N];
        for piece in bytes.chunks_mut(32) {
            let next = Sha256::new().chain_update(self.0).chain_update([1]).finalize();
            piece.copy_from_slice(&next[..piece.len()]);
            self.0 = Sha256::new().chain_update(self.0).chain_update([0]).finalize().into();
        }
        bytes
    }
}

impl std::fmt::Debug for Draws {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Draws")
    }
}

/// The modulus of 1024 bits (FC-SP, DH-CHAP Diffie-Hellman groups; RFC 5054, appendix A).
const P_1024: &str = "\
eeaf0ab9adb38dd69c33f80afa8fc5e86072618775ff3c0b9ea2314c9c256576d674df7496ea81d3383b4813d692c6e0e0d5d8e250b98be4\
8e495c1d6089dad15dc7d7b46154d6b6ce8ef4ad69b15d4982559b297bcf1885c529f566660e57ec68edbc3c05726cc02fd4cbf4976eaa9a\
fd5138fe8376435b9fc61d2fc0eb06e3";
/// The modulus of 1280 bits (FC-SP, DH-CHAP Diffie-Hellman groups).
const P_1280: &str = "\
d77946826e811914b39401d56a0a7843a8e7575d738c672a090ab1187d690dc43872fc06a7b6a43f3b95beaec7df04b9d242ebdc48111128\
3216ce816e004b786c5fce856780d41837d95ad787a50bbe90bd3a9c98ac0f5fc0de744b1cde1891690894bc1f65e00de15b4b2aa6d87100\
c9ecc2527e45eb849deb14bb2049b163ea04187fd27c1bd9c7958cd40ce7067a9c024f9b7c5a0b4f5003686161f0605b";
/// The modulus of 1536 bits (FC-SP, DH-CHAP Diffie-Hellman groups; RFC 5054, appendix A).
const P_1536: &str = "\
9def3cafb939277ab1f12a8617a47bbbdba51df499ac4c80beeea9614b19cc4d5f4f5f556e27cbde51c6a94be4607a291558903ba0d0f843\
80b655bb9a22e8dcdf028a7cec67f0d08134b1c8b97989149b609e0be3bab63d47548381dbc5b1fc764e3f4b53dd9da1158bfd3e2b9c8cf5\
6edf019539349627db2fd53d24b7c48665772e437d6c7f8ce442734af7ccb7ae837c264ae3a9beb87f8a2fe9b8b5292e5a021fff5e91479e\
8ce7a28c2442c6f315180f93499a234dcf76e3fed135f9bb";
/// The modulus of 2048 bits (FC-SP, DH-CHAP Diffie-Hellman groups; RFC 5054, appendix A).
const P_2048: &str = "\
ac6bdb41324a9a9bf166de5e1389582faf72b6651987ee07fc3192943db56050a37329cbb4a099ed8193e0757767a13dd52312ab4b03310d\
cd7f48a9da04fd50e8083969edb767b0cf6095179a163ab3661a05fbd5faaae82918a9962f0b93b855f97993ec975eeaa80d740adbf4ff74\
7359d041d5c33ea71d281e446b14773bca97b43a23fb801676bd207a436c6481f1d2b9078717461a5b9d32e688f87748544523b524b0d57d\
5ea77a2775d2ecfa032cfbdbf52fb3786160279004e57ae6af874e7303ce53299ccc041c7bc308d82a5698f3a8d0c38271ae35f8e9dbfbb6\
94b5c803d89f7ae435de236d525f54759b65e372fcd68ef20fa7111f9e4aff73";

//! Frames that a network delivers twice: what their receivers have in common that remember the first ones.

/// Time within which a twin comes, in ns: networks hold a frame back for no longer than their queues last.
pub(crate) const WINDOW: u64 = 40_000_000;

/// Digest of a payload. Payloads that are made to have the same one are all of the same sender, who fools itself.
pub(crate) fn digest(payload: &[u8]) -> u64 {
    payload.chunks(8).fold(payload.len() as u64, |digest, chunk| {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        (digest ^ u64::from_le_bytes(word)).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29)
    })
}

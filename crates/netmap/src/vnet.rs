//! The header of virtio-net that programs may have before each frame (PORT_HDR_SET): ten bytes that ask for a checksum or for
//! segments, and two more that count buffers and are 0 here (virtio 1.1, 5.1.6).

use linerate_ring::Meta;

/// Bytes that say something.
pub(crate) const HEADER: usize = 10;
/// Lengths that a header may have; 0 for none.
pub(crate) const LENGTHS: [u32; 3] = [0, 10, 12];

/// What a header asks for; None if the frame is to be sent as it is.
pub(crate) fn request(bytes: [u8; HEADER]) -> Option<Meta> {
    let [flags, gso_type, a, b, c, d, e, f, g, h] = bytes;
    let [hdr_len, gso_size, csum_start, csum_offset] = [[a, b], [c, d], [e, f], [g, h]].map(u16::from_le_bytes);
    let flags = flags & Meta::NEEDS_CSUM;
    (flags | gso_type != 0).then(|| Meta {
        flags,
        gso_type,
        hdr_len,
        gso_size,
        csum_start,
        csum_offset,
        ..Meta::default()
    })
}

/// The header of a frame that asks for so much.
pub(crate) fn header(meta: Option<Meta>) -> [u8; 12] {
    let mut bytes = [0; 12];
    if let Some(meta) = meta {
        (bytes[0], bytes[1]) = (meta.flags, meta.gso_type);
        let words = [meta.hdr_len, meta.gso_size, meta.csum_start, meta.csum_offset];
        bytes[2..HEADER].chunks_exact_mut(2).zip(words).for_each(|(to, word)| to.copy_from_slice(&word.to_le_bytes()));
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_is_what_a_frame_asks_for_and_back() {
        let bytes = [1, 4, 54, 0, 0xb4, 5, 34, 0, 16, 0];
        let meta = request(bytes).unwrap();
        assert_eq!((meta.gso_size, meta.csum_start, meta.csum_offset), (1460, 34, 16));
        assert_eq!((&header(Some(meta))[..HEADER], header(None)), (&bytes[..], [0; 12]));
        // That the checksum is right asks for nothing.
        assert_eq!(request([2, 0, 0, 0, 0, 0, 0, 0, 0, 0]), None);
    }
}

//! The header that the kernel puts before frames of TAP interfaces and packet sockets (`struct virtio_net_hdr`,
//! VIRTIO 1.2 section 5.1.6, in the host's byte order), as a slot's metadata.

use linerate_ring::Meta;

/// Bytes of the header without and with the number of buffers, which is always zero here.
pub(crate) const SHORT: usize = 10;
pub(crate) const LONG: usize = 12;

/// True if the kernel accepts UDP_L4 in these headers: since Linux 6.2.
pub(crate) fn segments_udp() -> bool {
    crate::release::is_at_least([6, 2])
}

/// Header for a slot's offload requests.
pub(crate) fn header(meta: Option<Meta>) -> [u8; LONG] {
    let mut header = [0; LONG];
    if let Some(meta) = meta {
        header[0] = meta.flags;
        header[1] = meta.gso_type;
        let words = [meta.hdr_len, meta.gso_size, meta.csum_start, meta.csum_offset];
        for (to, from) in header[2..SHORT].chunks_exact_mut(2).zip(words) {
            to.copy_from_slice(&from.to_ne_bytes());
        }
    }
    header
}

/// Metadata of a header; None if it requests nothing. `inserted`: bytes put into the frame since (a VLAN tag).
pub(crate) fn meta(header: &[u8], inserted: u16) -> Option<Meta> {
    let word = |at: usize| header.get(at..at + 2).map_or(0, |b| u16::from_ne_bytes([b[0], b[1]]));
    let (&flags, &gso_type) = (header.first()?, header.get(1)?);
    if flags == 0 && gso_type == 0 {
        return None;
    }
    let needs = flags & Meta::NEEDS_CSUM != 0;
    Some(Meta {
        flags,
        gso_type,
        hdr_len: if gso_type == 0 { 0 } else { word(2).saturating_add(inserted) },
        gso_size: word(4),
        csum_start: if needs { word(6).saturating_add(inserted) } else { 0 },
        csum_offset: if needs { word(8) } else { 0 },
        ..Meta::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_says_what_the_slot_said() {
        let asks = Meta {
            flags: 1,
            gso_type: 1,
            hdr_len: 54,
            gso_size: 1448,
            csum_start: 34,
            csum_offset: 16,
            ..Meta::default()
        };
        assert_eq!(meta(&header(Some(asks)), 0), Some(asks));
        let tagged = meta(&header(Some(asks)), 4).unwrap();
        assert_eq!((tagged.hdr_len, tagged.csum_start, tagged.csum_offset), (58, 38, 16));
        assert_eq!(header(None), [0; LONG]);
        assert_eq!(meta(&header(None), 4), None);
        assert_eq!(meta(&[], 0), None);
    }
}

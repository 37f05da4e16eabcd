//! FCoE RSS: a queue by exchange.
//!
//! The hash is the OX_ID, which is in each frame of an exchange in both directions, from the first on: all frames of an
//! exchange reach one queue on both ends, and an originator chooses the queue by choosing the OX_ID. Other
//! implementations use the ID that the receiver gave the exchange, selected by F_CTL's exchange context: at a responder
//! the RX_ID, as Linux does. There the first frame has none yet, and would go to another queue than the rest.

use linerate_wire::{EtherType, FcHeader, FcoeFrame};

use super::super::headers::Headers;

/// Hash of a frame that begins with `head`: its OX_ID (FC-FS-3, clause 12.9). `None` if it is no FCoE frame of the
/// known version, or too short.
#[inline]
pub(crate) fn fc_hash(headers: &Headers, head: &[u8]) -> Option<u32> {
    if headers.ethertype != EtherType::FCOE {
        return None;
    }
    let frame = head.get(headers.network..)?;
    if frame.len() < FcoeFrame::OVERHEAD || frame[0] >> 4 != 0 {
        return None;
    }
    FcHeader::parse(&frame[FcoeFrame::HEADER_LEN..]).ok().map(|header| header.ox_id.0.into())
}

#[cfg(test)]
mod tests {
    use super::super::super::{HashTypes, Rss};
    use super::super::testing::{CAPTURES, capture, fc};
    use super::*;
    use std::collections::BTreeMap;

    fn hash(rss: &Rss, frame: &[u8]) -> Option<u32> {
        let (hash, what) = rss.hash(&Headers::parse(frame, frame.len())?, frame)?;
        (what == HashTypes::FCOE).then_some(hash)
    }

    fn frame() -> [u8; 60] {
        let mut frame = [0; 60];
        frame[12..14].copy_from_slice(&[0x89, 0x06]);
        frame
    }

    #[test]
    fn all_frames_of_an_exchange_reach_one_queue_on_both_ends() {
        let (here, there) = (Rss::new(4), Rss::new(3));
        let mut responders = 0;
        for name in CAPTURES {
            let mut queues = BTreeMap::new();
            for frame in capture(name) {
                let Some(view) = fc(&frame) else {
                    assert_eq!(hash(&here, &frame), None);
                    continue;
                };
                let header = view.header();
                let hash = hash(&here, &frame).unwrap();
                let originator = if header.from_responder() { header.d_id } else { header.s_id };
                responders += usize::from(header.from_responder());
                let chosen = (here.queue(hash), there.queue(hash));
                assert_eq!(*queues.entry((originator, header.ox_id)).or_insert(chosen), chosen);
            }
        }
        assert!(responders > 50, "both directions are looked at");
    }

    #[test]
    fn exchanges_in_a_row_are_spread_evenly() {
        let (rss, mut frame) = (Rss::new(4), frame());
        let mut counts = [0; 4];
        for ox_id in 0..1024_u16 {
            frame[44..46].copy_from_slice(&ox_id.to_be_bytes());
            counts[usize::from(rss.queue(hash(&rss, &frame).unwrap()))] += 1;
        }
        assert_eq!(counts, [256; 4]);
    }

    #[test]
    fn what_is_no_whole_frame_of_the_known_version_is_not_hashed() {
        let (mut rss, frame) = (Rss::new(4), frame());
        assert_eq!(hash(&rss, &frame), Some(0));
        assert!((0..60).all(|len| hash(&rss, &frame[..len]).is_none()), "short");
        let mut other = frame;
        other[14] = 0x10;
        assert_eq!(hash(&rss, &other), None, "version 1");
        other = frame;
        other[13] = 0x14;
        assert_eq!(hash(&rss, &other), None, "FIP");
        rss.set_types(HashTypes(HashTypes::ALL.0 & !HashTypes::FCOE.0));
        assert_eq!(hash(&rss, &frame), None, "not asked for");
    }
}

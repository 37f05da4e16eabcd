//! FCoE RSS: a queue by exchange.
//!
//! The hash is the OX_ID alone, as adapters have it that redirect FCoE by its low bits (Intel 82599 data sheet, "FCoE
//! Redirection Table"), and the indirection table is the one of [`Rss`](super::super::Rss). The OX_ID stands in each frame
//! of an exchange in both directions, from its first one on, so that all its frames reach one queue on both ends; the RX_ID
//! is not there yet in the first frame. An originator chooses the queue by choosing the OX_ID.

use linerate_wire::{FcHeader, FcoeFrame};

use super::encapsulated;

/// The hash of a frame that begins with `head`, which holds at least all headers: its OX_ID (FC-FS-3, clause 12.9). `None`
/// when it is no FCoE frame: such ones go where [`Rss`](super::super::Rss) or its user says.
///
/// ```
/// use linerate_nic::{Rss, fc_hash};
///
/// let mut frame = [0; 60];
/// frame[12..14].copy_from_slice(&[0x89, 0x06]);
/// frame[44..46].copy_from_slice(&[0x01, 0x05]);
/// let rss = Rss::new(4);
/// assert_eq!(fc_hash(&frame).map(|hash| rss.queue(hash)), Some(1));
/// ```
#[inline]
#[must_use]
pub fn fc_hash(head: &[u8]) -> Option<u32> {
    let at = encapsulated(head)? + FcoeFrame::HEADER_LEN;
    FcHeader::parse(head.get(at..)?).ok().map(|header| header.ox_id.into())
}

#[cfg(test)]
mod tests {
    use super::super::super::Rss;
    use super::super::testing::{CAPTURES, capture, fc};
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn all_frames_of_an_exchange_reach_one_queue_on_both_ends() {
        let (here, there) = (Rss::new(4), Rss::new(3));
        let mut responders = 0;
        for name in CAPTURES {
            let mut queues = BTreeMap::new();
            for frame in capture(name) {
                let Some(view) = fc(&frame) else {
                    assert_eq!(fc_hash(&frame), None);
                    continue;
                };
                let header = view.header();
                let hash = fc_hash(&frame).unwrap();
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
        let rss = Rss::new(4);
        let mut frame = [0; 60];
        frame[12..14].copy_from_slice(&[0x89, 0x06]);
        let mut counts = [0; 4];
        for ox_id in 0..1024_u16 {
            frame[44..46].copy_from_slice(&ox_id.to_be_bytes());
            counts[usize::from(rss.queue(fc_hash(&frame).unwrap()))] += 1;
        }
        assert_eq!(counts, [256; 4]);
        assert_eq!(fc_hash(&frame[..51]), None, "no whole header");
    }
}

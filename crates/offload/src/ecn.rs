//! Explicit congestion notification (RFC 3168, section 5): the mark of a packet that has met congestion.

use super::headers::{Headers, Version, u16_at};

/// Both bits of the field: congestion experienced (CE). One of them alone says that a packet may be marked, none that it may not.
const CE: u8 = 3;

/// Marks the IP packet of a frame as one that has met congestion; true if it is one that may be marked, and was not before.
/// IPv4's header checksum is updated with it (RFC 1624).
#[must_use]
pub fn mark_congestion(frame: &mut [u8]) -> bool {
    let Some((at, version)) =
        Headers::parse(frame, frame.len()).and_then(|headers| Some((headers.network, headers.ip?.version)))
    else {
        return false;
    };
    // The field ends IPv4's second byte, and IPv6's traffic class four bits before.
    let shift = if version == Version::V4 { 0 } else { 4 };
    if matches!(frame[at + 1] >> shift & CE, 0 | CE) {
        return false;
    }
    let before = u16_at(frame, at);
    frame[at + 1] |= CE << shift;
    if version == Version::V4
        && let (Some(before), Some(after), Some(sum)) = (before, u16_at(frame, at), u16_at(frame, at + 10))
    {
        frame[at + 10..at + 12].copy_from_slice(&linerate_sum::update(sum, before, after).to_be_bytes());
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A frame of IPv4 with UDP, and its header's checksum.
    fn v4(tos: u8, tags: &[u8]) -> Vec<u8> {
        let mut ip = [0x45, tos, 0, 28, 0x12, 0x34, 0x40, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
        let sum = linerate_sum::checksum(&ip);
        ip[10..12].copy_from_slice(&sum.to_be_bytes());
        [&[2; 12][..], tags, &[8, 0], &ip, &[0x5a; 8], &[0; 18]].concat()
    }

    fn v6(class: u8) -> Vec<u8> {
        let ip = [0x60 | class >> 4, class << 4 | 0xb, 0xcd, 0xef, 0, 8, 17, 64];
        [&[2; 12][..], &[0x86, 0xdd], &ip, &[0xfe; 32], &[0x5a; 8]].concat()
    }

    #[test]
    fn a_packet_that_may_be_marked_is_and_nothing_else_changes() {
        for tags in [&[][..], &[0x81, 0, 0x60, 5], &[0x88, 0xa8, 0, 7, 0x81, 0, 0, 5]] {
            for (before, after) in [(0xb9, Some(0xbb)), (0xba, Some(0xbb)), (0xb8, None), (0xbb, None)] {
                let mut frame = v4(before, tags);
                assert_eq!(mark_congestion(&mut frame), after.is_some(), "{before:x}");
                assert_eq!(frame, v4(after.unwrap_or(before), tags), "{before:x}: checksum and all");
            }
        }
        for (before, after) in [(0xb9, Some(0xbb)), (0xba, Some(0xbb)), (0xb8, None), (0xbb, None)] {
            let mut frame = v6(before);
            assert_eq!(mark_congestion(&mut frame), after.is_some(), "{before:x}");
            assert_eq!(frame, v6(after.unwrap_or(before)), "{before:x}");
        }
    }

    #[test]
    fn what_is_no_packet_is_left_as_it_is() {
        let whole = v4(1, &[]);
        for len in 0..42 {
            let mut frame = whole[..len].to_vec();
            assert!(!mark_congestion(&mut frame) && frame == whole[..len], "{len}");
        }
        let mut other = whole;
        other[12..14].copy_from_slice(&[0x89, 6]);
        let before = other.clone();
        assert!(!mark_congestion(&mut other) && other == before);
    }
}

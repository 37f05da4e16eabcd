//! CRC of received FC frames (FC-FS-3, clause 11.3.7; its place in an Ethernet frame: FC-BB-6, clause 7.7.1).

use linerate_sum::crc32;
use linerate_wire::FcoeFrame;

use super::super::checksum::Verdict;
use super::encapsulated;

/// Checks the CRC of a whole frame, from its Ethernet header on, with tags or without. [`Verdict::Unknown`] if it is no
/// FCoE frame, or one whose CRC cannot be located: too short, of another version, or with partial words.
///
/// ```
/// use linerate_offload::{Verdict, verify_fc_crc};
/// use linerate_wire::*;
///
/// let mut frame = vec![0; 14];
/// EthernetRepr { dst: MacAddr([2; 6]), src: MacAddr([6; 6]), ethertype: EtherType::FCOE }.emit(&mut frame)?;
/// let fcoe = FcoeRepr { sof: Sof::I3, eof: Eof::T };
/// let header = [4; 24];
/// frame.extend(fcoe.header());
/// frame.extend(header);
/// frame.extend(fcoe.trailer(linerate_sum::crc32(&header)));
/// assert_eq!(verify_fc_crc(&frame), Verdict::Good);
/// frame[30] ^= 1;
/// assert_eq!(verify_fc_crc(&frame), Verdict::Bad);
/// # Ok::<(), Error>(())
/// ```
#[inline]
#[must_use]
pub fn verify_fc_crc(frame: &[u8]) -> Verdict {
    let bytes = encapsulated(frame).and_then(|at| frame.get(at..));
    match bytes.map(FcoeFrame::new_checked) {
        Some(Ok(fc)) if crc32(fc.covered()) == fc.crc() => Verdict::Good,
        Some(Ok(_)) => Verdict::Bad,
        Some(Err(_)) | None => Verdict::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{CAPTURES, capture};
    use super::*;
    use linerate_wire::EtherType;

    #[test]
    fn real_frames_are_good_until_a_bit_flips() {
        let mut checked = 0;
        for mut frame in CAPTURES.iter().flat_map(|name| capture(name)) {
            let Some(at) = encapsulated(&frame) else {
                assert_eq!(verify_fc_crc(&frame), Verdict::Unknown, "FIP and LLDP have none");
                continue;
            };
            assert_eq!(verify_fc_crc(&frame), Verdict::Good);
            checked += 1;
            // All covered bytes, and the CRC itself; except F_CTL's lowest byte, which could announce more fill than
            // there is.
            let (first, end) = (at + FcoeFrame::HEADER_LEN, frame.len() - 4);
            for byte in (first..end).filter(|byte| *byte != first + 11).step_by(17) {
                frame[byte] ^= 0x10;
                assert_eq!(verify_fc_crc(&frame), Verdict::Bad, "byte {byte}");
                frame[byte] ^= 0x10;
            }
        }
        assert_eq!(checked, 382, "FC frames in all captures");
    }

    #[test]
    fn what_has_no_crc_is_neither_good_nor_bad() {
        let frame = capture(CAPTURES[0]).into_iter().find(|frame| encapsulated(frame).is_some()).unwrap();
        for len in 0..14 + FcoeFrame::OVERHEAD {
            assert_eq!(verify_fc_crc(&frame[..len]), Verdict::Unknown, "{len} bytes");
        }
        assert_eq!(verify_fc_crc(&frame[..frame.len() - 1]), Verdict::Unknown, "no number of words");
        let mut other = frame.clone();
        other[14] = 0x10;
        assert_eq!(verify_fc_crc(&other), Verdict::Unknown, "another version");
        other = frame;
        other[12..14].copy_from_slice(&EtherType::FIP.0.to_be_bytes());
        assert_eq!(verify_fc_crc(&other), Verdict::Unknown, "another type");
    }
}

//! Rights of the program behind a virtual interface: its VLANs, and its own address alone.

use linerate_port::switch::{Leave, Vlans};

/// Rights of the program at an interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GuestPolicy {
    /// Its VLANs, as a switch's ports have them. The port itself is a member of all, and tags are unchanged there: a frame
    /// without one is of VLAN 1.
    pub vlans: Vlans,
    /// True if frames with a source address that is not the interface's are refused.
    pub spoof_check: bool,
}

impl Default for GuestPolicy {
    /// All VLANs, and the interface's own addresses.
    fn default() -> Self {
        Self { vlans: Vlans::default(), spoof_check: true }
    }
}

/// Ethertype of a tag.
const TPID: [u8; 2] = [0x81, 0x00];

/// The tag of a frame of 14 bytes or more.
pub(super) fn tag_of(frame: &[u8]) -> Option<u16> {
    let tci = frame.get(14..16).filter(|_| frame.get(12..14) == Some(&TPID))?;
    Some(u16::from_be_bytes([tci[0], tci[1]]))
}

/// Form in which a frame that came from the port with this tag goes to a program.
pub(super) fn from_port(policy: &GuestPolicy, tag: Option<u16>) -> Leave {
    if policy.vlans.is_all() {
        return Leave::AsItCame;
    }
    Vlans::default().enter(tag).map_or(Leave::Not, |vid| policy.vlans.leave(vid, tag))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_gets_the_frames_of_its_vlans() {
        let policy = |text| GuestPolicy { vlans: Vlans::parse(text).unwrap(), spoof_check: true };
        for (vlans, tag, wanted) in [
            ("all", None, Leave::AsItCame),
            ("all", Some(0x600a), Leave::AsItCame),
            ("10", None, Leave::Not),
            ("10", Some(0x600a), Leave::Bare),
            ("10", Some(11), Leave::Not),
            ("1", None, Leave::AsItCame),
            ("t10", Some(10), Leave::AsItCame),
            ("t10", None, Leave::Not),
            ("5+t10", Some(5), Leave::Bare),
        ] {
            assert_eq!(from_port(&policy(vlans), tag), wanted, "{vlans} {tag:?}");
        }
    }

    #[test]
    fn a_tag_is_where_a_frame_has_one() {
        let mut frame = [0; 18];
        assert_eq!(tag_of(&frame), None);
        frame[12..16].copy_from_slice(&[0x81, 0, 0x20, 5]);
        assert_eq!((tag_of(&frame), tag_of(&frame[..15])), (Some(0x2005), None));
    }
}

//! Probes: frames of the switch itself, by which it finds ports that are joined outside of it.
//!
//! ```text
//!  0   destination: a group that nobody is in   source: an address of this switch
//! 12   EtherType 0x88b5   subtype "lr"   version   0
//! 18   identity of the switch (8 bytes)   port (2)   sequence (4)   authentication (16)
//! 48   0, up to 60 bytes
//! ```
//! The EtherType is the first of the two that IEEE 802 keeps for local experiments, with the subtype and version that it
//! wants behind it. The group is locally administered, none of those that bridges keep to a link, and none of IP's: all
//! bridges flood it. Identity and keys are drawn at random by each switch; the authentication is the standard library's
//! keyed hash, so that a probe can be sent again by whoever has seen it, and made by nobody else.

use super::table::PortId;
use crate::random::random;
use std::hash::{BuildHasher, RandomState};

/// Destination of probes: 03-6C-72-00-88-B5.
pub(super) const GROUP: u64 = 0x036c_7200_88b5;
/// IEEE 802's local experimental EtherType 1, a subtype ("lr"), a version and a byte of 0.
const KIND: [u8; 6] = [0x88, 0xb5, b'l', b'r', 1, 0];
/// Bytes of a probe: Ethernet's least, without FCS.
pub(super) const LEN: usize = 60;
const ETHERTYPE: usize = 12;
const TAG: usize = 4;
/// Offsets behind the Ethertype.
const IDENTITY: usize = 6;
const PORT: usize = 14;
const SEQUENCE: usize = 16;
const PROOF: usize = 20;
const END: usize = 36;

/// The part of the switch that makes and recognises its probes.
pub(super) struct Prober {
    keys: [RandomState; 2],
    identity: [u8; 8],
}

impl Prober {
    pub(super) fn new() -> Self {
        Self { keys: [RandomState::new(), RandomState::new()], identity: random().to_be_bytes() }
    }

    /// Address of the switch, locally administered.
    pub(super) fn source(&self) -> [u8; 6] {
        let [a, b, c, d, e, ..] = self.identity;
        [2, a, b, c, d, e]
    }

    /// The probe of a port.
    pub(super) fn frame(&self, port: PortId, sequence: u32) -> [u8; LEN] {
        let mut frame = [0; LEN];
        frame[..6].copy_from_slice(&GROUP.to_be_bytes()[2..]);
        frame[6..ETHERTYPE].copy_from_slice(&self.source());
        let said = &mut frame[ETHERTYPE..];
        said[..IDENTITY].copy_from_slice(&KIND);
        said[IDENTITY..PORT].copy_from_slice(&self.identity);
        said[PORT..SEQUENCE].copy_from_slice(&port.to_be_bytes());
        said[SEQUENCE..PROOF].copy_from_slice(&sequence.to_be_bytes());
        let proof = self.proof(&said[..PROOF]);
        said[PROOF..END].copy_from_slice(&proof);
        frame
    }

    /// A number that nobody else foresees.
    pub(super) fn random(&self, of: u64) -> u64 {
        self.keys[0].hash_one(of)
    }

    fn proof(&self, said: &[u8]) -> [u8; 16] {
        let [first, second] = [0, 1].map(|key: usize| self.keys[key].hash_one(said));
        (u128::from(first) << 64 | u128::from(second)).to_be_bytes()
    }

    /// Port and sequence of a frame that is a probe of this switch, with or without a tag; None for all others.
    pub(super) fn read(&self, frame: &[u8]) -> Option<(PortId, u32)> {
        let at = if frame.get(ETHERTYPE..)?.starts_with(&[0x81, 0]) { ETHERTYPE + TAG } else { ETHERTYPE };
        let said = frame.get(at..at + END)?;
        let ours = said.starts_with(&KIND)
            && said[IDENTITY..PORT] == self.identity
            && said[PROOF..] == self.proof(&said[..PROOF]);
        let port = PortId::from_be_bytes([said[PORT], said[PORT + 1]]);
        let sequence = said[SEQUENCE..PROOF].first_chunk::<4>().map(|bytes| u32::from_be_bytes(*bytes))?;
        ours.then_some((port, sequence))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_switch_knows_its_own_probes_with_tags_or_without_and_no_others() {
        let (ours, others) = (Prober::new(), Prober::new());
        let frame = ours.frame(7, 0x0102_0304);
        assert_eq!(ours.read(&frame), Some((7, 0x0102_0304)));
        assert_eq!(others.read(&frame), None);
        let tagged = [&frame[..12], &[0x81, 0, 0x60, 5], &frame[12..]].concat();
        assert_eq!(ours.read(&tagged), Some((7, 0x0102_0304)));
        // All but addresses and padding is proved.
        for at in 12..48 {
            for bit in 0..8 {
                let mut bent = frame;
                bent[at] ^= 1 << bit;
                assert_eq!(ours.read(&bent), None, "byte {at}, bit {bit}");
            }
        }
        for len in 0..48 {
            assert_eq!(ours.read(&frame[..len]), None, "{len} bytes");
        }
    }

    /// Whoever knows identity and form of the probes has no proof for another port.
    #[test]
    fn a_probe_of_another_port_needs_the_key() {
        let ours = Prober::new();
        let mut forged = Prober { keys: Prober::new().keys, ..Prober::new() };
        forged.identity = ours.identity;
        assert_eq!(ours.read(&forged.frame(1, 5)), None);
        assert_eq!(ours.source(), forged.source());
        assert_eq!(ours.source()[0] & 3, 2, "one station's, locally administered");
    }
}

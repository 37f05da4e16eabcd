//! VLAN membership of a port, and the tagging of frames that enter and leave there (IEEE 802.1Q-2018 clauses 6.9, 8.6,
//! 8.8). Only the outer C-tag counts; a frame with an outer S-tag is untagged here.

use std::fmt;

/// Default VLAN of untagged frames.
const DEFAULT: u16 = 1;
/// Ethertype of a C-tag.
pub(super) const TPID: u16 = 0x8100;

/// A port's membership.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Vlans {
    /// VLAN of untagged and priority-tagged frames; None: they are not admitted.
    untagged: Option<u16>,
    /// VLANs whose frames enter and leave tagged, one bit each; None: all other VLANs.
    tagged: Option<Box<[u64; 64]>>,
}

impl fmt::Display for Vlans {
    /// The notation of [`Vlans::parse`].
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(bits) = &self.tagged else { return f.write_str("all") };
        let has = |vid: u16| (1..=4094).contains(&vid) && bits[usize::from(vid) / 64] >> (vid % 64) & 1 == 1;
        let mut parts: Vec<String> = self.untagged.iter().map(u16::to_string).collect();
        for first in (1..=4094).filter(|vid| has(*vid) && !has(vid - 1)) {
            let last = (first..=4094).take_while(|vid| has(*vid)).last().unwrap_or(first);
            parts.push(if last == first { format!("t{first}") } else { format!("t{first}-{last}") });
        }
        f.write_str(&parts.join("+"))
    }
}

/// Form in which a frame leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leave {
    /// Not at all: the port is no member.
    Not,
    /// Unchanged.
    AsItCame,
    /// With this tag, inserted or instead of its own.
    Tagged(u16),
    /// Without its tag.
    Bare,
}

impl Default for Vlans {
    /// A member of all: untagged frames belong to VLAN 1, and tags stay unchanged.
    fn default() -> Self {
        Self { untagged: Some(DEFAULT), tagged: None }
    }
}

impl Vlans {
    /// An access port: one VLAN, untagged.
    #[must_use]
    pub fn access(vid: u16) -> Self {
        Self { untagged: Some(vid), tagged: Some(Box::new([0; 64])) }
    }

    /// True if it is a member of all VLANs, with tags unchanged.
    #[must_use]
    pub fn is_all(&self) -> bool {
        self.tagged.is_none()
    }

    /// Parses parts joined by `+`: `10` is the VLAN of untagged frames, frames of `t20` and `t30-39` enter and leave
    /// tagged. None if the text is malformed.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        if text == "all" {
            return Some(Self::default());
        }
        let vid = |text: &str| text.parse().ok().filter(|vid: &u16| (1..=4094).contains(vid));
        let (mut untagged, mut tagged) = (None, Box::new([0u64; 64]));
        for part in text.split('+') {
            let Some(range) = part.strip_prefix('t') else {
                if untagged.replace(vid(part)?).is_some() {
                    return None;
                }
                continue;
            };
            let (first, last) = range.split_once('-').unwrap_or((range, range));
            let (first, last) = (vid(first)?, vid(last)?);
            if first > last {
                return None;
            }
            (first..=last).for_each(|vid| tagged[usize::from(vid) / 64] |= 1 << (vid % 64));
        }
        Some(Self { untagged, tagged: Some(tagged) })
    }

    /// True if all these VLANs are among `others`.
    pub(super) fn are_among(&self, others: &Self) -> bool {
        let Some(theirs) = &others.tagged else { return true };
        let Some(mine) = &self.tagged else { return false };
        let all = |bits: &[u64; 64], untagged: Option<u16>| {
            let mut bits = *bits;
            untagged.into_iter().for_each(|vid| bits[usize::from(vid) / 64] |= 1 << (vid % 64));
            bits
        };
        let (mine, theirs) = (all(mine, self.untagged), all(theirs, others.untagged));
        mine.iter().zip(theirs).all(|(mine, theirs)| mine & !theirs == 0)
    }

    fn has_tagged(&self, vid: u16) -> bool {
        self.tagged.as_ref().is_none_or(|bits| bits[usize::from(vid & 0xfff) / 64] >> (vid % 64) & 1 == 1)
    }

    /// VLAN of a frame that enters with this tag; None: it is not admitted.
    #[inline]
    #[must_use]
    pub fn enter(&self, tag: Option<u16>) -> Option<u16> {
        match tag.map_or(0, |tci| tci & 0xfff) {
            0 => self.untagged,
            0xfff => None,
            vid => (Some(vid) == self.untagged || self.has_tagged(vid)).then_some(vid),
        }
    }

    /// Form in which a frame of a VLAN leaves that entered with this tag.
    #[inline]
    #[must_use]
    pub fn leave(&self, vid: u16, tag: Option<u16>) -> Leave {
        if Some(vid) == self.untagged {
            // A member of all is not the edge of a VLAN: tags pass through it.
            return if tag.is_none() || self.tagged.is_none() { Leave::AsItCame } else { Leave::Bare };
        }
        match tag {
            _ if !self.has_tagged(vid) => Leave::Not,
            Some(tci) if tci & 0xfff == vid => Leave::AsItCame,
            Some(tci) => Leave::Tagged(tci & 0xf000 | vid),
            None => Leave::Tagged(vid),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn membership_is_read_and_kept() {
        let trunk = Vlans::parse("5+t10+t20-22").unwrap();
        for (tag, vid) in [(None, Some(5)), (Some(0xe000), Some(5)), (Some(5), Some(5)), (Some(10), Some(10))] {
            assert_eq!(trunk.enter(tag), vid, "{tag:?}");
        }
        for (vid, in_it) in [(19, false), (20, true), (22, true), (23, false), (0xfff, false)] {
            assert_eq!(trunk.enter(Some(vid)).is_some(), in_it, "{vid}");
        }
        assert_eq!(trunk.leave(5, None), Leave::AsItCame);
        assert_eq!(trunk.leave(5, Some(5)), Leave::Bare);
        assert_eq!(trunk.leave(10, Some(0x600a)), Leave::AsItCame);
        assert_eq!(trunk.leave(10, Some(0x6000)), Leave::Tagged(0x600a), "a priority tag gets its VLAN");
        assert_eq!(trunk.leave(10, None), Leave::Tagged(10));
        assert_eq!(trunk.leave(11, Some(11)), Leave::Not);
        assert_eq!(Vlans::parse("7").unwrap(), Vlans::access(7));
        assert_eq!(Vlans::parse("t7").unwrap().enter(None), None, "no place for untagged frames");
    }

    #[test]
    fn a_member_of_all_changes_nothing() {
        let all = Vlans::parse("all").unwrap();
        assert_eq!(all, Vlans::default());
        for tag in [None, Some(0), Some(0xe000), Some(1), Some(0x6001), Some(4094)] {
            let vid = all.enter(tag).unwrap();
            assert_eq!(all.leave(vid, tag), Leave::AsItCame, "{tag:?}");
        }
        assert_eq!(all.leave(7, None), Leave::Tagged(7), "from an access port of VLAN 7");
    }

    #[test]
    fn what_is_written_is_read_again() {
        for text in ["all", "7", "t7", "5+t10+t20-22", "1+t1-4094", "t4094", "9+t63-65"] {
            assert_eq!(Vlans::parse(text).unwrap().to_string(), text);
        }
    }

    #[test]
    fn what_is_no_list_of_vlans_is_refused() {
        for text in ["", "0", "4095", "5+6", "t", "t5-", "t9-5", "x", "5,6", "t1-4095", "+", "70000"] {
            assert_eq!(Vlans::parse(text), None, "{text}");
        }
    }
}

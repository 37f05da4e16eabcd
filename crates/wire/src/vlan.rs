//! VLAN tags: what follows an EtherType of 802.1Q (0x8100) or 802.1ad (0x88a8).

use crate::field::{newtype, payload, view};
use crate::{Error, EtherType};

const NAME: &str = "vlan";

/// Priority of a frame, 0 to 7 (IEEE 802.1Q-2022, clause 6.9.3): a tag carries it as its priority code point.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Priority(u8);

impl Priority {
    /// Number of priorities.
    pub const COUNT: usize = 8;
    /// All of them, by number.
    pub const ALL: [Self; Self::COUNT] = [Self(0), Self(1), Self(2), Self(3), Self(4), Self(5), Self(6), Self(7)];

    /// A priority by its number; None above 7.
    #[must_use]
    pub const fn new(number: u8) -> Option<Self> {
        if number < 8 { Some(Self(number)) } else { None }
    }

    /// Its number, 0 to 7.
    #[inline]
    #[must_use]
    pub const fn number(self) -> u8 {
        self.0
    }

    /// Its place in an array of [`Priority::COUNT`].
    #[inline]
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize & 7
    }

    /// Its bit in a set of priorities, as priority-based flow control has them (IEEE 802.1Q-2022, clause 36).
    #[inline]
    #[must_use]
    pub const fn bit(self) -> u8 {
        1 << (self.0 & 7)
    }
}

/// Tag control information (IEEE 802.1Q-2022, clause 9.6): priority, drop eligibility and VLAN, as the 16 bits sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct VlanTag(pub u16);

impl VlanTag {
    /// A tag of priority `pcp` (0 to 7), drop eligibility `dei` and VLAN `vid` (0 to 4095).
    ///
    /// # Errors
    ///
    /// [`Error::TooLarge`] when the priority or the VLAN does.
    ///
    /// ```
    /// use linerate_wire::VlanTag;
    ///
    /// let tag = VlanTag::new(3, false, 100)?;
    /// assert_eq!((tag.0, tag.priority().number(), tag.dei(), tag.vid()), (0x6064, 3, false, 100));
    /// assert!(VlanTag::new(3, false, 4096).is_err());
    /// # Ok::<(), linerate_wire::Error>(())
    /// ```
    pub fn new(pcp: u8, dei: bool, vid: u16) -> Result<Self, Error> {
        if pcp > 7 {
            return Err(Error::TooLarge(NAME, "priority"));
        }
        if vid > 0xfff {
            return Err(Error::TooLarge(NAME, "VLAN identifier"));
        }
        Ok(Self(u16::from(pcp) << 13 | u16::from(dei) << 12 | vid))
    }

    /// Priority, from the priority code point.
    #[inline]
    #[must_use]
    pub fn priority(self) -> Priority {
        Priority(self.0.to_be_bytes()[0] >> 5)
    }

    /// The same tag with another priority.
    #[must_use]
    pub fn with_priority(self, priority: Priority) -> Self {
        Self(self.0 & 0x1fff | u16::from(priority.number()) << 13)
    }

    /// Drop eligible indicator.
    pub fn dei(self) -> bool {
        self.0 & 0x1000 != 0
    }

    /// VLAN identifier, 0 to 4095; 0 is a priority tag without a VLAN, 4095 is reserved.
    pub fn vid(self) -> u16 {
        self.0 & 0xfff
    }
}

newtype!(VlanTag(u16));

view! {
    /// A view of a tag and what it tags, from behind the EtherType that announced it (IEEE 802.1Q-2022, clause 9.5).
    VlanHeader, HEADER_LEN = 4 "Bytes of the header.";
    =>
    /// A VLAN header.
    VlanRepr;
    0 pub tag set_tag: VlanTag = "Priority, drop eligibility and VLAN.";
    2 pub ethertype set_ethertype: EtherType = "The type of the payload; another tag's when there are two.";
}

payload!(VlanHeader, "All bytes after the header, padding included.");

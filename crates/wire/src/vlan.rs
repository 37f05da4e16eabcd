//! VLAN tags: what follows an EtherType of 802.1Q (0x8100) or 802.1ad (0x88a8).

use crate::field::{put_u16, u16_at};
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

    /// Drop eligible indicator.
    pub fn dei(self) -> bool {
        self.0 & 0x1000 != 0
    }

    /// VLAN identifier, 0 to 4095; 0 is a priority tag without a VLAN, 4095 is reserved.
    pub fn vid(self) -> u16 {
        self.0 & 0xfff
    }
}

/// Offsets of the fields, behind the EtherType that announces a tag (IEEE 802.1Q, clause 9.6).
mod field {
    pub(super) const TAG: usize = 0;
    pub(super) const ETHERTYPE: usize = 2;
}

/// A view of a tag and what it tags, from behind the EtherType that announced it (IEEE 802.1Q-2022, clause 9.5).
///
/// ```text
///  0                   1                   2                   3
///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// | PCP |D|          VID          |         type / length         |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |                           payload …
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VlanHeader<T> {
    buffer: T,
}

impl<T: AsRef<[u8]>> VlanHeader<T> {
    /// Bytes of the header.
    pub const HEADER_LEN: usize = 4;

    /// Views `buffer` as a tag and what it tags.
    ///
    /// # Errors
    ///
    /// [`Error::Truncated`] when it is shorter than the tag.
    pub fn new_checked(buffer: T) -> Result<Self, Error> {
        if buffer.as_ref().len() < Self::HEADER_LEN {
            return Err(Error::Truncated(NAME));
        }
        Ok(Self { buffer })
    }

    /// The viewed buffer back.
    pub fn into_inner(self) -> T {
        self.buffer
    }

    /// Priority, drop eligibility and VLAN.
    pub fn tag(&self) -> VlanTag {
        VlanTag(u16_at(self.buffer.as_ref(), field::TAG))
    }

    /// The type of the payload; another tag's when there are two.
    pub fn ethertype(&self) -> EtherType {
        EtherType(u16_at(self.buffer.as_ref(), field::ETHERTYPE))
    }
}

impl<'a, T: AsRef<[u8]> + ?Sized> VlanHeader<&'a T> {
    /// All bytes after the header, padding included.
    pub fn payload(&self) -> &'a [u8] {
        &self.buffer.as_ref()[VlanHeader::<&T>::HEADER_LEN..]
    }
}

impl<T: AsRef<[u8]> + AsMut<[u8]>> VlanHeader<T> {
    /// Sets priority, drop eligibility and VLAN.
    pub fn set_tag(&mut self, tag: VlanTag) {
        put_u16(self.buffer.as_mut(), field::TAG, tag.0);
    }

    /// Sets the type of the payload.
    pub fn set_ethertype(&mut self, ethertype: EtherType) {
        put_u16(self.buffer.as_mut(), field::ETHERTYPE, ethertype.0);
    }

    /// All bytes after the header, to write.
    pub fn payload_mut(&mut self) -> &mut [u8] {
        &mut self.buffer.as_mut()[Self::HEADER_LEN..]
    }
}

/// A VLAN header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VlanRepr {
    /// Priority, drop eligibility and VLAN.
    pub tag: VlanTag,
    /// The type of the payload.
    pub ethertype: EtherType,
}

impl VlanRepr {
    /// The header of `header`.
    pub fn parse<T: AsRef<[u8]>>(header: &VlanHeader<T>) -> Self {
        Self { tag: header.tag(), ethertype: header.ethertype() }
    }

    /// Bytes that [`emit`](Self::emit) writes.
    pub const fn buffer_len(&self) -> usize {
        VlanHeader::<&[u8]>::HEADER_LEN
    }

    /// Writes the header to the front of `buffer`; returns the rest.
    ///
    /// # Errors
    ///
    /// [`Error::Truncated`] when the header does not fit; nothing is written then.
    pub fn emit<'a>(&self, buffer: &'a mut [u8]) -> Result<&'a mut [u8], Error> {
        let (header, rest) = buffer.split_at_mut_checked(self.buffer_len()).ok_or(Error::Truncated(NAME))?;
        let mut header = VlanHeader { buffer: header };
        header.set_tag(self.tag);
        header.set_ethertype(self.ethertype);
        Ok(rest)
    }
}

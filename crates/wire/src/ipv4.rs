//! IPv4 packets. Options are stepped over, not read; fragments are described, not joined.

use std::net::Ipv4Addr;

use linerate_sum::checksum;

use crate::field::view;
use crate::{Error, IpProtocol};

const NAME: &str = "ipv4";

const DONT_FRAGMENT: u16 = 0x4000;
const MORE_FRAGMENTS: u16 = 0x2000;
const FRAGMENT_OFFSET: u16 = 0x1fff;

view! {
    /// A view of an IPv4 packet (RFC 791, section 3.1).
    Ipv4Packet, MIN_HEADER_LEN = 20 "Bytes of a header without options.";
    0 version_and_len set_version_and_len: u8 = "Version 4, and the header's length in words: four bits each.";
    1 pub tos set_tos: u8 = "Type of service: differentiated services code point (6 bits) and congestion notification (2).";
    2 pub total_len set_total_len: u16 = "Bytes of header and payload.";
    4 pub ident set_ident: u16 = "Identification, common to the fragments of a packet.";
    6 fragmenting set_fragmenting: u16 = "Flags DF and MF, and the fragment's offset in units of 8 bytes (13 bits).";
    8 pub ttl set_ttl: u8 = "Hops left.";
    9 pub protocol set_protocol: IpProtocol = "The protocol of the payload.";
    10 pub checksum set_checksum: u16 = "The header checksum as received.";
    12 pub src set_src: Ipv4Addr = "The sender.";
    16 pub dst set_dst: Ipv4Addr = "The receiver.";
}

impl<T: AsRef<[u8]>> Ipv4Packet<T> {
    /// Views `buffer` as a packet and, after its total length, padding. The checksum is not verified here: an adapter
    /// may have done it.
    ///
    /// # Errors
    ///
    /// [`Error::Truncated`] when it is shorter than the header or than the total length, [`Error::Malformed`] when the
    /// version is not 4 or the lengths contradict each other.
    #[inline]
    pub fn new_checked(buffer: T) -> Result<Self, Error> {
        let len = buffer.as_ref().len();
        if len < Self::MIN_HEADER_LEN {
            return Err(Error::Truncated(NAME));
        }
        let packet = Self { buffer };
        if packet.version() != 4 {
            return Err(Error::Malformed(NAME, "version"));
        }
        if packet.header_len() < Self::MIN_HEADER_LEN {
            return Err(Error::Malformed(NAME, "header length"));
        }
        if usize::from(packet.total_len()) < packet.header_len() {
            return Err(Error::Malformed(NAME, "total length"));
        }
        if len < usize::from(packet.total_len()) {
            return Err(Error::Truncated(NAME));
        }
        Ok(packet)
    }

    pub(crate) fn version(&self) -> u8 {
        self.version_and_len() >> 4
    }

    /// Bytes of the header with its options.
    pub fn header_len(&self) -> usize {
        usize::from(self.version_and_len() & 0xf) * 4
    }

    /// True if the packet must not be fragmented.
    pub fn dont_fragment(&self) -> bool {
        self.fragmenting() & DONT_FRAGMENT != 0
    }

    /// True if this is a fragment that others follow.
    pub fn more_fragments(&self) -> bool {
        self.fragmenting() & MORE_FRAGMENTS != 0
    }

    /// Place where this fragment belongs in its packet's payload, in bytes.
    pub fn fragment_offset(&self) -> u16 {
        (self.fragmenting() & FRAGMENT_OFFSET) << 3
    }

    /// True if this is one of several fragments.
    pub fn is_fragment(&self) -> bool {
        self.more_fragments() || self.fragment_offset() != 0
    }

    /// True if the header checksum is right.
    pub fn verify_checksum(&self) -> bool {
        checksum(self.header()) == 0
    }

    /// The header with its options; within the buffer even when the length was damaged since it was checked.
    #[inline]
    fn header(&self) -> &[u8] {
        let bytes = self.buffer.as_ref();
        &bytes[..self.header_len().min(bytes.len())]
    }

    /// Place where the payload lies; within the buffer even when a setter changed the total length.
    fn payload_range(&self) -> std::ops::Range<usize> {
        let end = usize::from(self.total_len()).min(self.buffer.as_ref().len());
        self.header_len().min(end)..end
    }
}

impl<'a, T: AsRef<[u8]> + ?Sized> Ipv4Packet<&'a T> {
    /// The options, padding included.
    pub fn options(&self) -> &'a [u8] {
        let bytes = self.buffer.as_ref();
        bytes.get(Ipv4Packet::<&T>::MIN_HEADER_LEN..self.header_len()).unwrap_or_default()
    }

    /// The bytes after header and options, padding excluded.
    #[inline]
    pub fn payload(&self) -> &'a [u8] {
        &self.buffer.as_ref()[self.payload_range()]
    }
}

impl<T: AsRef<[u8]> + AsMut<[u8]>> Ipv4Packet<T> {
    /// Sets whether the packet must not be fragmented.
    pub fn set_dont_fragment(&mut self, set: bool) {
        self.set_flag(DONT_FRAGMENT, set);
    }

    /// Sets whether other fragments follow.
    pub fn set_more_fragments(&mut self, set: bool) {
        self.set_flag(MORE_FRAGMENTS, set);
    }

    /// Sets where this fragment belongs, in bytes, rounded down to a multiple of 8.
    pub fn set_fragment_offset(&mut self, bytes: u16) {
        self.set_fragmenting(self.fragmenting() & !FRAGMENT_OFFSET | bytes >> 3);
    }

    /// Computes the header checksum and sets it.
    pub fn fill_checksum(&mut self) {
        self.set_checksum(0);
        let sum = checksum(self.header());
        self.set_checksum(sum);
    }

    /// The bytes after header and options, padding excluded, to write.
    pub fn payload_mut(&mut self) -> &mut [u8] {
        let range = self.payload_range();
        &mut self.buffer.as_mut()[range]
    }

    fn set_flag(&mut self, flag: u16, set: bool) {
        let others = self.fragmenting() & !flag;
        self.set_fragmenting(if set { others | flag } else { others });
    }
}

/// An IPv4 header without options.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ipv4Repr {
    /// The sender.
    pub src: Ipv4Addr,
    /// The receiver.
    pub dst: Ipv4Addr,
    /// The protocol of the payload.
    pub protocol: IpProtocol,
    /// Bytes of payload.
    pub payload_len: usize,
    /// Hops left.
    pub ttl: u8,
    /// Type of service.
    pub tos: u8,
    /// Identification.
    pub ident: u16,
    /// True if the packet must not be fragmented.
    pub dont_fragment: bool,
    /// True if other fragments follow.
    pub more_fragments: bool,
    /// Place where this fragment belongs, in bytes: a multiple of 8.
    pub fragment_offset: u16,
}

impl Ipv4Repr {
    /// The header of an unfragmented packet without payload, 64 hops to live, not to be fragmented.
    pub const fn new(src: Ipv4Addr, dst: Ipv4Addr, protocol: IpProtocol) -> Self {
        Self {
            src,
            dst,
            protocol,
            payload_len: 0,
            ttl: 64,
            tos: 0,
            ident: 0,
            dont_fragment: true,
            more_fragments: false,
            fragment_offset: 0,
        }
    }

    /// The header of `packet`; its options are left out.
    pub fn parse<T: AsRef<[u8]>>(packet: &Ipv4Packet<T>) -> Self {
        Self {
            src: packet.src(),
            dst: packet.dst(),
            protocol: packet.protocol(),
            payload_len: packet.payload_range().len(),
            ttl: packet.ttl(),
            tos: packet.tos(),
            ident: packet.ident(),
            dont_fragment: packet.dont_fragment(),
            more_fragments: packet.more_fragments(),
            fragment_offset: packet.fragment_offset(),
        }
    }

    /// Bytes that [`emit`](Self::emit) writes.
    pub const fn buffer_len(&self) -> usize {
        Ipv4Packet::<&[u8]>::MIN_HEADER_LEN
    }

    /// Writes the header, checksum included, to the front of `buffer`; returns the payload's bytes, or as many of them
    /// as `buffer` has: a header may be written apart from its payload.
    ///
    /// # Errors
    ///
    /// [`Error::Truncated`] when the header does not fit, [`Error::TooLarge`] when header and payload exceed 65535
    /// bytes, [`Error::Malformed`] when the fragment offset is not a multiple of 8; nothing is written then.
    pub fn emit<'a>(&self, buffer: &'a mut [u8]) -> Result<&'a mut [u8], Error> {
        let too_large = Error::TooLarge(NAME, "payload");
        let total_len = self.payload_len.checked_add(self.buffer_len()).ok_or(too_large)?;
        let total_len = u16::try_from(total_len).map_err(|_| too_large)?;
        if !self.fragment_offset.is_multiple_of(8) {
            return Err(Error::Malformed(NAME, "fragment offset"));
        }
        let (header, rest) = buffer.split_at_mut_checked(self.buffer_len()).ok_or(Error::Truncated(NAME))?;
        // Version 4, five 32-bit words; the fields not set below are zero.
        header.fill(0);
        let mut packet = Ipv4Packet { buffer: header };
        packet.set_version_and_len(0x45);
        packet.set_tos(self.tos);
        packet.set_total_len(total_len);
        packet.set_ident(self.ident);
        packet.set_dont_fragment(self.dont_fragment);
        packet.set_more_fragments(self.more_fragments);
        packet.set_fragment_offset(self.fragment_offset);
        packet.set_ttl(self.ttl);
        packet.set_protocol(self.protocol);
        packet.set_src(self.src);
        packet.set_dst(self.dst);
        packet.fill_checksum();
        let end = self.payload_len.min(rest.len());
        Ok(&mut rest[..end])
    }
}

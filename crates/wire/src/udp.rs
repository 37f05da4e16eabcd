//! UDP datagrams on IPv4 and IPv6.

use std::net::{Ipv4Addr, Ipv6Addr};

use linerate_sum::Sum;

use crate::field::view;
use crate::{Error, IpProtocol, pseudo_header_v4, pseudo_header_v6};

const NAME: &str = "udp";

view! {
    /// A view of a UDP datagram (RFC 768).
    UdpDatagram, HEADER_LEN = 8 "Bytes of the header.";
    0 pub src_port set_src_port: u16 = "The sender's port.";
    2 pub dst_port set_dst_port: u16 = "The receiver's port.";
    #[expect(clippy::len_without_is_empty, reason = "the length field counts the header: it is never empty")]
    4 pub len set_len: u16 = "Bytes of header and payload.";
    6 pub checksum set_checksum: u16 = "The checksum as received; zero when the sender made none.";
}

impl<T: AsRef<[u8]>> UdpDatagram<T> {
    /// Views `buffer` as a datagram and bytes after it. The checksum is not verified here: an adapter may have done
    /// it.
    ///
    /// # Errors
    ///
    /// [`Error::Truncated`] when it is shorter than the header or than the length in it, [`Error::Malformed`] when that
    /// length does not even count the header.
    #[inline]
    pub fn new_checked(buffer: T) -> Result<Self, Error> {
        let bytes = buffer.as_ref().len();
        if bytes < Self::HEADER_LEN {
            return Err(Error::Truncated(NAME));
        }
        let datagram = Self { buffer };
        let len = usize::from(datagram.len());
        if len < Self::HEADER_LEN {
            return Err(Error::Malformed(NAME, "length"));
        }
        if bytes < len {
            return Err(Error::Truncated(NAME));
        }
        Ok(datagram)
    }

    /// True if the checksum is right for a datagram between these addresses, or was not made: IPv4 permits that.
    #[inline]
    pub fn verify_checksum_v4(&self, src: Ipv4Addr, dst: Ipv4Addr) -> bool {
        self.checksum() == 0 || self.sum(pseudo_header_v4(src, dst, IpProtocol::UDP, usize::from(self.len()))) == 0
    }

    /// True if the checksum is right for a datagram between these addresses. Without one it is not (RFC 8200, section
    /// 8.1).
    pub fn verify_checksum_v6(&self, src: Ipv6Addr, dst: Ipv6Addr) -> bool {
        self.checksum() != 0 && self.sum(pseudo_header_v6(src, dst, IpProtocol::UDP, usize::from(self.len()))) == 0
    }

    fn sum(&self, mut pseudo_header: Sum) -> u16 {
        let bytes = self.buffer.as_ref();
        pseudo_header.add_bytes(&bytes[..self.end()]).finish()
    }

    /// Place where the datagram ends; within the buffer, and not before the header's end, even when a setter changed the
    /// length.
    fn end(&self) -> usize {
        usize::from(self.len()).clamp(Self::HEADER_LEN, self.buffer.as_ref().len())
    }
}

impl<'a, T: AsRef<[u8]> + ?Sized> UdpDatagram<&'a T> {
    /// The bytes after the header that the length counts.
    #[inline]
    pub fn payload(&self) -> &'a [u8] {
        &self.buffer.as_ref()[UdpDatagram::<&T>::HEADER_LEN..self.end()]
    }
}

impl<T: AsRef<[u8]> + AsMut<[u8]>> UdpDatagram<T> {
    /// Computes the checksum for a datagram between these addresses and sets it.
    pub fn fill_checksum_v4(&mut self, src: Ipv4Addr, dst: Ipv4Addr) {
        self.fill_checksum(pseudo_header_v4(src, dst, IpProtocol::UDP, usize::from(self.len())));
    }

    /// Computes the checksum for a datagram between these addresses and sets it.
    pub fn fill_checksum_v6(&mut self, src: Ipv6Addr, dst: Ipv6Addr) {
        self.fill_checksum(pseudo_header_v6(src, dst, IpProtocol::UDP, usize::from(self.len())));
    }

    /// The bytes after the header that the length counts, to write.
    pub fn payload_mut(&mut self) -> &mut [u8] {
        let end = self.end();
        &mut self.buffer.as_mut()[Self::HEADER_LEN..end]
    }

    fn fill_checksum(&mut self, pseudo_header: Sum) {
        self.set_checksum(0);
        // A sum of zero is sent as its equal, all ones: zero means no checksum (RFC 768, "Fields").
        let checksum = match self.sum(pseudo_header) {
            0 => 0xffff,
            sum => sum,
        };
        self.set_checksum(checksum);
    }
}

/// A UDP header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UdpRepr {
    /// The sender's port.
    pub src_port: u16,
    /// The receiver's port.
    pub dst_port: u16,
    /// Bytes of payload.
    pub payload_len: usize,
}

impl UdpRepr {
    /// The header of `datagram`.
    pub fn parse<T: AsRef<[u8]>>(datagram: &UdpDatagram<T>) -> Self {
        Self {
            src_port: datagram.src_port(),
            dst_port: datagram.dst_port(),
            payload_len: datagram.end() - UdpDatagram::<&[u8]>::HEADER_LEN,
        }
    }

    /// Bytes that [`emit`](Self::emit) writes.
    pub const fn buffer_len(&self) -> usize {
        UdpDatagram::<&[u8]>::HEADER_LEN
    }

    /// Writes the header to the front of `buffer`, without a checksum; returns the payload's bytes, or as many of them
    /// as `buffer` has: a header may be written apart from its payload. When the payload stands, let
    /// [`UdpDatagram::fill_checksum_v4`] or [`UdpDatagram::fill_checksum_v6`] complete the datagram.
    ///
    /// # Errors
    ///
    /// [`Error::Truncated`] when the header does not fit, [`Error::TooLarge`] when header and payload exceed 65535
    /// bytes; nothing is written then.
    pub fn emit<'a>(&self, buffer: &'a mut [u8]) -> Result<&'a mut [u8], Error> {
        let too_large = Error::TooLarge(NAME, "payload");
        let len = self.payload_len.checked_add(self.buffer_len()).ok_or(too_large)?;
        let len = u16::try_from(len).map_err(|_| too_large)?;
        let (header, rest) = buffer.split_at_mut_checked(self.buffer_len()).ok_or(Error::Truncated(NAME))?;
        let mut datagram = UdpDatagram { buffer: header };
        datagram.set_src_port(self.src_port);
        datagram.set_dst_port(self.dst_port);
        datagram.set_len(len);
        datagram.set_checksum(0);
        let end = self.payload_len.min(rest.len());
        Ok(&mut rest[..end])
    }
}

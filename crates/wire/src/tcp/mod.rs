//! TCP segments on IPv4 and IPv6.

mod options;

use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr};

use linerate_sum::Sum;

use crate::field::{values, view};
use crate::{Error, IpProtocol, pseudo_header_v4, pseudo_header_v6};

pub use options::{FastOpenCookie, SackBlocks, TcpOptions};

const NAME: &str = "tcp";

view! {
    /// A view of a TCP segment (RFC 9293, section 3.1). Its length is not in its header: it is that of the bytes viewed.
    TcpSegment, MIN_HEADER_LEN = 20 "Bytes of a header without options.";
    0 pub src_port set_src_port: u16 = "The sender's port.";
    2 pub dst_port set_dst_port: u16 = "The receiver's port.";
    4 pub seq set_seq: u32 = "The number of the first byte of payload, or of SYN.";
    8 pub ack set_ack: u32 = "The number of the byte that is expected next, when ACK is set.";
    12 data_offset set_data_offset: u8 = "The header's length in words, in the high four bits.";
    13 pub flags set_flags: TcpFlags = "The control bits.";
    14 pub window set_window: u16 = "Bytes that the sender is ready to take, before scaling.";
    16 pub checksum set_checksum: u16 = "The checksum as received.";
    18 pub urgent set_urgent: u16 = "Place where urgent data ends, counted from `seq`, when URG is set.";
}

impl<T: AsRef<[u8]>> TcpSegment<T> {
    /// Views `buffer` as a segment. The checksum is not verified here: an adapter may have done it.
    ///
    /// # Errors
    ///
    /// [`Error::Truncated`] when it is shorter than its header, [`Error::Malformed`] when the data offset does not even
    /// count the fixed header.
    #[inline]
    pub fn new_checked(buffer: T) -> Result<Self, Error> {
        let len = buffer.as_ref().len();
        if len < Self::MIN_HEADER_LEN {
            return Err(Error::Truncated(NAME));
        }
        let segment = Self { buffer };
        if segment.header_len() < Self::MIN_HEADER_LEN {
            return Err(Error::Malformed(NAME, "data offset"));
        }
        if len < segment.header_len() {
            return Err(Error::Truncated(NAME));
        }
        Ok(segment)
    }

    /// Bytes of the header with its options.
    pub fn header_len(&self) -> usize {
        usize::from(self.data_offset() >> 4) * 4
    }

    /// True if the checksum is right for a segment between these addresses.
    #[inline]
    pub fn verify_checksum_v4(&self, src: Ipv4Addr, dst: Ipv4Addr) -> bool {
        self.sum(self.pseudo_header_v4(src, dst)) == 0
    }

    /// True if the checksum is right for a segment between these addresses.
    pub fn verify_checksum_v6(&self, src: Ipv6Addr, dst: Ipv6Addr) -> bool {
        self.sum(self.pseudo_header_v6(src, dst)) == 0
    }

    fn pseudo_header_v4(&self, src: Ipv4Addr, dst: Ipv4Addr) -> Sum {
        pseudo_header_v4(src, dst, IpProtocol::TCP, self.buffer.as_ref().len())
    }

    fn pseudo_header_v6(&self, src: Ipv6Addr, dst: Ipv6Addr) -> Sum {
        pseudo_header_v6(src, dst, IpProtocol::TCP, self.buffer.as_ref().len())
    }

    fn sum(&self, mut pseudo_header: Sum) -> u16 {
        pseudo_header.add_bytes(self.buffer.as_ref()).finish()
    }

    /// Place where the header ends; within the buffer even when a setter changed the data offset.
    fn header_end(&self) -> usize {
        self.header_len().clamp(Self::MIN_HEADER_LEN, self.buffer.as_ref().len())
    }
}

impl<'a, T: AsRef<[u8]> + ?Sized> TcpSegment<&'a T> {
    /// The bytes of the options, padding included.
    pub fn options(&self) -> &'a [u8] {
        &self.buffer.as_ref()[TcpSegment::<&T>::MIN_HEADER_LEN..self.header_end()]
    }

    /// The bytes after the header.
    #[inline]
    pub fn payload(&self) -> &'a [u8] {
        &self.buffer.as_ref()[self.header_end()..]
    }
}

impl<T: AsRef<[u8]> + AsMut<[u8]>> TcpSegment<T> {
    /// Sets the bytes of the header, rounded down to a multiple of 4, at most 60.
    pub fn set_header_len(&mut self, len: u8) {
        self.set_data_offset((len.min(60) / 4) << 4);
    }

    /// Computes the checksum for a segment between these addresses and sets it.
    pub fn fill_checksum_v4(&mut self, src: Ipv4Addr, dst: Ipv4Addr) {
        self.set_checksum(0);
        let sum = self.sum(self.pseudo_header_v4(src, dst));
        self.set_checksum(sum);
    }

    /// Computes the checksum for a segment between these addresses and sets it.
    pub fn fill_checksum_v6(&mut self, src: Ipv6Addr, dst: Ipv6Addr) {
        self.set_checksum(0);
        let sum = self.sum(self.pseudo_header_v6(src, dst));
        self.set_checksum(sum);
    }

    /// The bytes after the header, to write.
    pub fn payload_mut(&mut self) -> &mut [u8] {
        let at = self.header_end();
        &mut self.buffer.as_mut()[at..]
    }
}

values! {
    /// TCP's control bits (RFC 9293, section 3.1; RFC 3168 for ECE and CWR), as a set.
    #[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
    pub struct TcpFlags(u8);
    FIN = 0x01, "No more data from the sender.";
    SYN = 0x02, "Synchronize sequence numbers.";
    RST = 0x04, "Reset the connection.";
    PSH = 0x08, "Push.";
    ACK = 0x10, "The acknowledgment number counts.";
    URG = 0x20, "The urgent pointer counts.";
    ECE = 0x40, "Congestion was experienced.";
    CWR = 0x80, "The congestion window was reduced.";
}

impl TcpFlags {
    /// Those of either.
    #[must_use]
    pub const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// True if all of `other` are set.
    #[must_use]
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// True if any of `other` is set.
    #[must_use]
    pub const fn intersects(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }
}

impl fmt::Display for TcpFlags {
    /// As tcpdump does: `S.` for SYN and ACK, `none` for none.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 == 0 {
            return f.write_str("none");
        }
        let letters = ["F", "S", "R", "P", ".", "U", "E", "W"];
        letters.iter().enumerate().filter(|(bit, _)| self.0 >> bit & 1 == 1).try_for_each(|(_, l)| f.write_str(l))
    }
}

impl fmt::Debug for TcpFlags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;

    #[test]
    fn flags_print_as_tcpdump_does() {
        assert_eq!(TcpFlags::SYN.union(TcpFlags::ACK).to_string(), "S.");
        assert_eq!(TcpFlags(0xff).to_string(), "FSRP.UEW");
        assert_eq!(TcpFlags::default().to_string(), "none");
    }

    #[test]
    fn refuses_what_is_cut_short() {
        assert_eq!(TcpSegment::new_checked([0; 19]), Err(Error::Truncated(NAME)));
        let mut header = [0; 20];
        assert_eq!(TcpSegment::new_checked(header), Err(Error::Malformed(NAME, "data offset")));
        header[12] = 0x60;
        assert_eq!(TcpSegment::new_checked(header), Err(Error::Truncated(NAME)));
        header[12] = 0x5f;
        assert_eq!(TcpSegment::new_checked(header).map(|tcp| tcp.header_len()), Ok(20));
    }

    proptest! {
        #[test]
        fn fields_are_where_etherparse_puts_them(
            ports: (u16, u16), seq: u32, ack: u32, flags: u8, window: u16, urgent: u16, words in 0..=10_usize,
            payload in vec(any::<u8>(), 0..100), (src, dst) in any::<([u8; 4], [u8; 4])>(),
        ) {
            let mut theirs = etherparse::TcpHeader::new(ports.0, ports.1, seq, window);
            theirs.acknowledgment_number = ack;
            theirs.urgent_pointer = urgent;
            theirs.set_options_raw(&vec![1; words * 4]).unwrap();
            [theirs.fin, theirs.syn, theirs.rst, theirs.psh, theirs.ack, theirs.urg, theirs.ece, theirs.cwr] =
                std::array::from_fn(|bit| flags >> bit & 1 == 1);
            theirs.checksum = theirs.calc_checksum_ipv4_raw(src, dst, &payload).unwrap();

            let mut ours = vec![0; 20 + words * 4 + payload.len()];
            ours[20..20 + words * 4].fill(1);
            let mut tcp = TcpSegment { buffer: &mut ours[..] };
            tcp.set_src_port(ports.0);
            tcp.set_dst_port(ports.1);
            tcp.set_seq(seq);
            tcp.set_ack(ack);
            tcp.set_header_len(u8::try_from(20 + words * 4).unwrap());
            tcp.set_flags(TcpFlags(flags));
            tcp.set_window(window);
            tcp.set_urgent(urgent);
            tcp.payload_mut().copy_from_slice(&payload);
            tcp.fill_checksum_v4(src.into(), dst.into());
            let mut right = theirs.to_bytes().to_vec();
            right.extend(&payload);
            prop_assert_eq!(&ours, &right);

            let tcp = TcpSegment::new_checked(&right[..]).unwrap();
            prop_assert_eq!((tcp.src_port(), tcp.dst_port(), tcp.seq(), tcp.ack()), (ports.0, ports.1, seq, ack));
            prop_assert_eq!((tcp.flags().0, tcp.window(), tcp.urgent()), (flags, window, urgent));
            prop_assert_eq!((tcp.options().len(), tcp.payload()), (words * 4, &payload[..]));
            prop_assert!(tcp.verify_checksum_v4(src.into(), dst.into()));
        }

        #[test]
        fn ipv6_checksums_are_etherparses(payload in vec(any::<u8>(), 0..100), (src, dst) in any::<([u8; 16], [u8; 16])>()) {
            let theirs = etherparse::TcpHeader::new(1, 2, 3, 4);
            let mut ours = theirs.to_bytes().to_vec();
            ours.extend(&payload);
            let mut tcp = TcpSegment::new_checked(&mut ours[..]).unwrap();
            tcp.fill_checksum_v6(src.into(), dst.into());
            prop_assert!(tcp.verify_checksum_v6(src.into(), dst.into()));
            prop_assert_eq!(tcp.checksum(), theirs.calc_checksum_ipv6_raw(src, dst, &payload).unwrap());
        }

        #[test]
        fn hostile_bytes_do_not_panic(mut bytes in vec(any::<u8>(), 0..100), len: u8) {
            if let Ok(tcp) = TcpSegment::new_checked(&bytes[..]) {
                let _ = (tcp.options(), tcp.payload(), tcp.flags().to_string(), tcp.verify_checksum_v6([0; 16].into(), [0; 16].into()));
            }
            if let Ok(mut tcp) = TcpSegment::new_checked(&mut bytes[..]) {
                tcp.set_header_len(len);
                tcp.payload_mut().fill(0);
                tcp.fill_checksum_v4([0; 4].into(), [0; 4].into());
            }
        }
    }
}

//! IPv6 extension headers: the walk over them, and the fragment header. Jumbograms (RFC 2675) are not supported;
//! authentication and encryption headers count as upper layers.

use crate::field::{values, view};
use crate::{Error, IpProtocol, Ipv6Packet};

const NAME: &str = "ipv6 fragment";

/// Most extension headers followed: each of RFC 8200, section 4.1 once, and destination options twice, is five.
const MAX_HEADERS: usize = 8;

values! {
    impl IpProtocol: Self;
    IPV6_ROUTING = Self(43), "IPv6 routing header.";
    IPV6_NO_NEXT = Self(59), "No next header: nothing follows.";
    IPV6_DESTINATION = Self(60), "IPv6 destination options.";
}

/// Result of walking a packet's extension headers (RFC 8200, section 4).
///
/// ```
/// use linerate_wire::*;
///
/// // Destination options (six bytes of padding), then UDP.
/// let options = [17, 0, 1, 4, 0, 0, 0, 0, 0, 1, 0, 2, 0, 8, 0, 0];
/// let ip = Ipv6Repr { payload_len: 16, ..Ipv6Repr::new([1; 16].into(), [2; 16].into(), IpProtocol(60)) };
/// let mut packet = [0; 56];
/// ip.emit(&mut packet)?.copy_from_slice(&options);
///
/// let packet = Ipv6Packet::new_checked(&packet[..])?;
/// let chain = Ipv6Chain::walk(&packet).expect("nothing in it is a problem");
/// assert_eq!((chain.protocol, chain.offset), (IpProtocol::UDP, 8));
/// assert!(UdpDatagram::new_checked(&packet.payload()[chain.offset..]).is_ok());
/// # Ok::<(), linerate_wire::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ipv6Chain {
    /// Protocol after the extension headers. In a fragment that is not the first, the protocol at the start of the
    /// fragmented part.
    pub protocol: IpProtocol,
    /// Offset of that protocol's header in the packet's payload.
    pub offset: usize,
    /// Offset in the packet of the byte that names the protocol: the pointer of a parameter problem about it.
    pub named_at: usize,
    /// The fragment header, when there is one.
    pub fragment: Option<Ipv6FragmentAt>,
}

/// A fragment header and its position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ipv6FragmentAt {
    /// Content of the header.
    pub repr: Ipv6FragmentRepr,
    /// Offset of the header in the packet's payload.
    pub at: usize,
    /// Offset in the packet of the byte that names the header.
    pub named_at: usize,
}

/// Reason that a packet's extension headers cannot be followed, and the receiver's duty to the sender.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ipv6Problem {
    /// Discard, and send an ICMPv6 parameter problem.
    Parameter {
        /// Its code (RFC 4443, section 3.4; RFC 7112, section 6).
        code: u8,
        /// Pointer: offset of the faulty byte in the packet.
        pointer: u32,
        /// True if the message is also sent for a packet to a group (RFC 8200, section 4.2, action 10).
        multicast: bool,
    },
    /// Discard silently: an option requests it (RFC 8200, section 4.2, action 01), the packet ends within a header, or
    /// it has too many extension headers (RFC 8504, section 5.3).
    Discard,
}

impl Ipv6Chain {
    /// Follows the extension headers of `packet` as its destination does, without routing it further: bounded by eight
    /// headers and by the packet's length. Ends at the fragment header of a fragment that is not the first.
    ///
    /// # Errors
    ///
    /// [`Ipv6Problem`].
    pub fn walk<T: AsRef<[u8]> + ?Sized>(packet: &Ipv6Packet<&T>) -> Result<Self, Ipv6Problem> {
        walk(packet.next_header(), packet.payload())
    }

    const fn packet_offset(&self) -> usize {
        Ipv6Packet::<&[u8]>::HEADER_LEN + self.offset
    }

    const fn step(&mut self, next: IpProtocol, len: usize) {
        self.named_at = self.packet_offset();
        self.protocol = next;
        self.offset += len;
    }

    /// True if this is the first of several fragments, which must have all headers, the upper layer's too (RFC 7112,
    /// section 5; RFC 8200, section 4.5).
    fn must_be_whole(&self) -> bool {
        self.fragment.is_some_and(|fragment| fragment.repr.more)
    }

    /// Problem of a header that is not completely in the packet.
    fn cut_short(&self) -> Ipv6Problem {
        if self.must_be_whole() { parameter(3, 0, false) } else { Ipv6Problem::Discard }
    }
}

/// [`Ipv6Chain::walk`] over a payload that may have been cut short.
pub(crate) fn walk(next_header: IpProtocol, payload: &[u8]) -> Result<Ipv6Chain, Ipv6Problem> {
    let mut chain = Ipv6Chain { protocol: next_header, offset: 0, named_at: 6, fragment: None };
    for count in 0..=MAX_HEADERS {
        let rest = &payload[chain.offset..];
        let len = match chain.protocol {
            // RFC 8200, section 4.3: hop-by-hop options must come first; otherwise the header before is at fault.
            IpProtocol::HOP_BY_HOP if count > 0 => return Err(parameter(1, chain.named_at, false)),
            IpProtocol::HOP_BY_HOP | IpProtocol::IPV6_DESTINATION => {
                let len = extension_len(rest).ok_or(chain.cut_short())?;
                options(&rest[2..len], chain.packet_offset() + 2)?;
                len
            }
            IpProtocol::IPV6_ROUTING => {
                let len = extension_len(rest).ok_or(chain.cut_short())?;
                // RFC 8200, section 4.4: no type is supported (type 0 is forbidden, RFC 5095), so there must be no
                // segments left.
                if rest[3] != 0 {
                    return Err(parameter(0, chain.packet_offset() + 2, false));
                }
                len
            }
            // One fragment header at most (RFC 8200, section 4.1).
            IpProtocol::IPV6_FRAGMENT if chain.fragment.is_some() => return Err(Ipv6Problem::Discard),
            IpProtocol::IPV6_FRAGMENT => {
                let header = Ipv6FragmentHeader::new_checked(rest).map_err(|_| Ipv6Problem::Discard)?;
                let repr = Ipv6FragmentRepr::parse(&header);
                chain.fragment = Some(Ipv6FragmentAt { repr, at: chain.offset, named_at: chain.named_at });
                if repr.offset != 0 {
                    chain.step(repr.next_header, Ipv6FragmentHeader::<&[u8]>::LEN);
                    return Ok(chain);
                }
                Ipv6FragmentHeader::<&[u8]>::LEN
            }
            // Outside of fragments, the upper layer checks the length of its header.
            upper if chain.must_be_whole() && rest.len() < upper_header_len(upper) => return Err(chain.cut_short()),
            _ => return Ok(chain),
        };
        chain.step(IpProtocol(rest[0]), len);
    }
    Err(Ipv6Problem::Discard)
}

/// Least length of an upper layer's header in bytes: of one that is not known here, its first byte.
const fn upper_header_len(protocol: IpProtocol) -> usize {
    match protocol {
        IpProtocol::IPV6_NO_NEXT => 0,
        IpProtocol::TCP => 20,
        IpProtocol::UDP | IpProtocol::ICMPV6 => 8,
        _ => 1,
    }
}

/// Bytes of an options or routing header, by its length field; None if `bytes` is shorter.
fn extension_len(bytes: &[u8]) -> Option<usize> {
    let len = (usize::from(*bytes.get(1)?) + 1) * 8;
    (len <= bytes.len()).then_some(len)
}

/// Checks options (RFC 8200, section 4.2), the first of which is byte `at` of the packet. Only padding is supported;
/// the first two bits of any other option give the action.
///
/// ```text
///  0                   1
///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |  option type  |    length     | data …
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// ```
fn options(bytes: &[u8], mut at: usize) -> Result<(), Ipv6Problem> {
    const PAD1: u8 = 0;
    const PADN: u8 = 1;
    let mut rest = bytes;
    while let [kind, after @ ..] = rest {
        let len = match (*kind, after) {
            (PAD1, _) => 1,
            (_, [len, data @ ..]) if usize::from(*len) <= data.len() => 2 + usize::from(*len),
            _ => return Err(parameter(0, at, false)),
        };
        match kind >> 6 {
            _ if matches!(*kind, PAD1 | PADN) => {}
            0b00 => {}
            0b01 => return Err(Ipv6Problem::Discard),
            action => return Err(parameter(2, at, action == 0b10)),
        }
        rest = &rest[len..];
        at += len;
    }
    Ok(())
}

/// Parameter problem at this offset; a silent discard if the pointer cannot express it, which no packet is long enough
/// for.
fn parameter(code: u8, at: usize, multicast: bool) -> Ipv6Problem {
    u32::try_from(at).map_or(Ipv6Problem::Discard, |pointer| Ipv6Problem::Parameter { code, pointer, multicast })
}

view! {
    /// A view of a fragment header (RFC 8200, section 4.5).
    Ipv6FragmentHeader, LEN = 8 "Bytes of the header.";
    0 pub next_header set_next_header: IpProtocol = "Protocol at the start of the fragmented part of the packet.";
    2 offset_and_more set_offset_and_more: u16 = "The fragment's offset in bytes, of which the lowest three bits are zero; bit 0: more.";
    4 pub ident set_ident: u32 = "Identification, common to the fragments of a packet.";
}

impl<T: AsRef<[u8]>> Ipv6FragmentHeader<T> {
    /// Views `buffer` as a fragment header and the fragment after it.
    ///
    /// # Errors
    ///
    /// [`Error::Truncated`] when it is shorter than the header.
    pub fn new_checked(buffer: T) -> Result<Self, Error> {
        if buffer.as_ref().len() < Self::LEN {
            return Err(Error::Truncated(NAME));
        }
        Ok(Self { buffer })
    }

    /// Offset of this fragment in the fragmented part, in bytes.
    pub fn fragment_offset(&self) -> u16 {
        self.offset_and_more() & 0xfff8
    }

    /// True if other fragments follow.
    pub fn more_fragments(&self) -> bool {
        self.offset_and_more() & 1 != 0
    }
}

/// A fragment header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ipv6FragmentRepr {
    /// Protocol at the start of the fragmented part of the packet.
    pub next_header: IpProtocol,
    /// Offset of this fragment in the fragmented part, in bytes: a multiple of 8.
    pub offset: u16,
    /// True if other fragments follow.
    pub more: bool,
    /// Identification.
    pub ident: u32,
}

impl Ipv6FragmentRepr {
    /// Parses `header`.
    pub fn parse<T: AsRef<[u8]>>(header: &Ipv6FragmentHeader<T>) -> Self {
        Self {
            next_header: header.next_header(),
            offset: header.fragment_offset(),
            more: header.more_fragments(),
            ident: header.ident(),
        }
    }

    /// Bytes that [`emit`](Self::emit) writes.
    pub const fn buffer_len(&self) -> usize {
        Ipv6FragmentHeader::<&[u8]>::LEN
    }

    /// Writes the header to the front of `buffer`; returns the rest, for the fragment.
    ///
    /// # Errors
    ///
    /// [`Error::Truncated`] when the header does not fit, [`Error::Malformed`] when the offset is not a multiple of 8;
    /// nothing is written then.
    pub fn emit<'a>(&self, buffer: &'a mut [u8]) -> Result<&'a mut [u8], Error> {
        if !self.offset.is_multiple_of(8) {
            return Err(Error::Malformed(NAME, "fragment offset"));
        }
        let (header, rest) = buffer.split_at_mut_checked(self.buffer_len()).ok_or(Error::Truncated(NAME))?;
        header[1] = 0;
        let mut header = Ipv6FragmentHeader { buffer: header };
        header.set_next_header(self.next_header);
        header.set_offset_and_more(self.offset | u16::from(self.more));
        header.set_ident(self.ident);
        Ok(rest)
    }
}

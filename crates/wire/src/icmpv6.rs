//! ICMP for IPv6: echo, and the errors about other packets. Neighbour discovery's messages are read by
//! [`NdpPacket`](crate::NdpPacket).

use std::net::Ipv6Addr;

use crate::field::{array_at, put, put_u16, u16_at};
use crate::{Error, IpProtocol, pseudo_header_v6};

const NAME: &str = "icmp6";

const UNREACHABLE: u8 = 1;
const PACKET_TOO_BIG: u8 = 2;
const TIME_EXCEEDED: u8 = 3;
const PARAMETER_PROBLEM: u8 = 4;
const ECHO_REQUEST: u8 = 128;
const ECHO_REPLY: u8 = 129;

/// Offsets of the fields (RFC 4443, section 2.1).
mod field {
    pub(super) const TYPE: usize = 0;
    pub(super) const CODE: usize = 1;
    pub(super) const CHECKSUM: usize = 2;
    pub(super) const REST: usize = 4;
}

/// A view of an ICMPv6 message (RFC 4443, section 2.1).
///
/// ```text
///  0                   1                   2                   3
///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |     type      |     code      |           checksum            |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |                      depends on the type                      |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |            payload: echoed data, or a quoted packet …
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Icmpv6Packet<T> {
    buffer: T,
}

impl<T: AsRef<[u8]>> Icmpv6Packet<T> {
    /// Bytes of the header.
    pub const HEADER_LEN: usize = 8;

    /// Views all of `buffer`, an IP packet's payload, as a message. The checksum is not verified here: an adapter may
    /// have done it.
    ///
    /// # Errors
    ///
    /// [`Error::Truncated`] when it is shorter than the header.
    pub fn new_checked(buffer: T) -> Result<Self, Error> {
        if buffer.as_ref().len() < Self::HEADER_LEN {
            return Err(Error::Truncated(NAME));
        }
        Ok(Self { buffer })
    }

    /// Returns the viewed buffer.
    pub fn into_inner(self) -> T {
        self.buffer
    }

    /// The type; errors are below 128.
    pub fn kind(&self) -> u8 {
        self.buffer.as_ref()[field::TYPE]
    }

    /// The code, a subtype of the type.
    pub fn code(&self) -> u8 {
        self.buffer.as_ref()[field::CODE]
    }

    /// The checksum as received.
    pub fn checksum(&self) -> u16 {
        u16_at(self.buffer.as_ref(), field::CHECKSUM)
    }

    /// Bytes 4 to 7, which depend on the type.
    pub fn rest(&self) -> [u8; 4] {
        array_at(self.buffer.as_ref(), field::REST)
    }

    /// True if the checksum is right for a message between these addresses (RFC 4443, section 2.3).
    pub fn verify_checksum(&self, src: Ipv6Addr, dst: Ipv6Addr) -> bool {
        self.sum(src, dst) == 0
    }

    fn sum(&self, src: Ipv6Addr, dst: Ipv6Addr) -> u16 {
        let bytes = self.buffer.as_ref();
        // IPv6's payload length limits the length of a message; a longer one cannot be sent, whatever its checksum.
        pseudo_header_v6(src, dst, IpProtocol::ICMPV6, bytes.len()).add_bytes(bytes).finish()
    }
}

impl<'a, T: AsRef<[u8]> + ?Sized> Icmpv6Packet<&'a T> {
    /// The bytes after the header: the data of an echo, or in an error the beginning of the packet that it is about,
    /// which [`Quote::parse_v6`](crate::Quote::parse_v6) reads.
    pub fn payload(&self) -> &'a [u8] {
        &self.buffer.as_ref()[Icmpv6Packet::<&T>::HEADER_LEN..]
    }
}

impl<T: AsRef<[u8]> + AsMut<[u8]>> Icmpv6Packet<T> {
    /// Sets the type.
    pub fn set_kind(&mut self, kind: u8) {
        self.buffer.as_mut()[field::TYPE] = kind;
    }

    /// Sets the code.
    pub fn set_code(&mut self, code: u8) {
        self.buffer.as_mut()[field::CODE] = code;
    }

    /// Sets the checksum.
    pub fn set_checksum(&mut self, checksum: u16) {
        put_u16(self.buffer.as_mut(), field::CHECKSUM, checksum);
    }

    /// Sets bytes 4 to 7.
    pub fn set_rest(&mut self, rest: [u8; 4]) {
        put(self.buffer.as_mut(), field::REST, &rest);
    }

    /// Computes the checksum for a message between these addresses and sets it.
    pub fn fill_checksum(&mut self, src: Ipv6Addr, dst: Ipv6Addr) {
        self.set_checksum(0);
        let sum = self.sum(src, dst);
        self.set_checksum(sum);
    }

    /// The bytes after the header, to write.
    pub fn payload_mut(&mut self) -> &mut [u8] {
        &mut self.buffer.as_mut()[Self::HEADER_LEN..]
    }
}

/// An ICMPv6 header.
///
/// ```
/// use linerate_wire::*;
///
/// let (src, dst) = ("fe80::1".parse().unwrap(), "fe80::2".parse().unwrap());
/// let mut message = [0; 8];
/// Icmpv6Repr::PacketTooBig { mtu: 1280 }.emit(&mut message)?;
/// Icmpv6Packet::new_checked(&mut message)?.fill_checksum(src, dst);
///
/// let message = Icmpv6Packet::new_checked(&message)?;
/// assert!(message.verify_checksum(src, dst));
/// assert_eq!(Icmpv6Repr::parse(&message), Icmpv6Repr::PacketTooBig { mtu: 1280 });
/// # Ok::<(), linerate_wire::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Icmpv6Repr {
    /// Asks for the payload to be sent back.
    EchoRequest {
        /// Identifier of the request.
        ident: u16,
        /// Sequence number of the request.
        sequence: u16,
    },
    /// Returns the payload of a request.
    EchoReply {
        /// Identifier of the request.
        ident: u16,
        /// Sequence number of the request.
        sequence: u16,
    },
    /// The quoted packet could not be delivered (RFC 4443, section 3.1).
    Unreachable {
        /// Reason: [`Icmpv6Repr::ADDRESS`] and others.
        code: u8,
    },
    /// The quoted packet exceeds the next link's MTU (section 3.2).
    PacketTooBig {
        /// MTU of the next link, in bytes.
        mtu: u32,
    },
    /// The quoted packet exceeded a time limit (section 3.3).
    TimeExceeded {
        /// 0: its hop limit was exceeded; [`Icmpv6Repr::REASSEMBLY`]: fragments of it were missing.
        code: u8,
    },
    /// A header of the quoted packet cannot be processed (section 3.4).
    ParameterProblem {
        /// 0: a bad field; 1: an unknown next header; 2: an unknown option; 3: headers beyond the first fragment (RFC
        /// 7112, section 6).
        code: u8,
        /// Offset of the faulty byte in the quoted packet.
        pointer: u32,
    },
    /// Any other message.
    Other {
        /// Type; one of those above is sent as it is, but parsed as that.
        kind: u8,
        /// Code.
        code: u8,
        /// Bytes 4 to 7.
        rest: [u8; 4],
    },
}

impl Icmpv6Repr {
    /// Code of [`Unreachable`](Self::Unreachable): no route.
    pub const NO_ROUTE: u8 = 0;
    /// Code of [`Unreachable`](Self::Unreachable): the address does not answer on its link.
    pub const ADDRESS: u8 = 3;
    /// Code of [`Unreachable`](Self::Unreachable): no receiver has the port.
    pub const PORT: u8 = 4;
    /// Code of [`TimeExceeded`](Self::TimeExceeded): fragments were missing.
    pub const REASSEMBLY: u8 = 1;

    /// Parses the header of `packet`.
    pub fn parse<T: AsRef<[u8]>>(packet: &Icmpv6Packet<T>) -> Self {
        let (kind, code, rest) = (packet.kind(), packet.code(), packet.rest());
        let [ident, sequence] = [u16_at(&rest, field::TYPE), u16_at(&rest, field::CHECKSUM)];
        match kind {
            ECHO_REQUEST if code == 0 => Self::EchoRequest { ident, sequence },
            ECHO_REPLY if code == 0 => Self::EchoReply { ident, sequence },
            UNREACHABLE => Self::Unreachable { code },
            // RFC 4443, section 3.2: its code is ignored.
            PACKET_TOO_BIG => Self::PacketTooBig { mtu: u32::from_be_bytes(rest) },
            TIME_EXCEEDED => Self::TimeExceeded { code },
            PARAMETER_PROBLEM => Self::ParameterProblem { code, pointer: u32::from_be_bytes(rest) },
            kind => Self::Other { kind, code, rest },
        }
    }

    /// True if this is an error, about which no other may be sent (RFC 4443, section 2.4, e.1), nor about a redirect
    /// (e.2).
    pub const fn is_error(&self) -> bool {
        match self {
            Self::EchoRequest { .. } | Self::EchoReply { .. } => false,
            Self::Unreachable { .. } | Self::PacketTooBig { .. } => true,
            Self::TimeExceeded { .. } | Self::ParameterProblem { .. } => true,
            Self::Other { kind, .. } => *kind < 128 || *kind == 137,
        }
    }

    /// Bytes that [`emit`](Self::emit) writes.
    pub const fn buffer_len(&self) -> usize {
        Icmpv6Packet::<&[u8]>::HEADER_LEN
    }

    /// Writes the header to the front of `buffer`, without a checksum; returns the rest, for the payload. Once the
    /// payload is written, [`Icmpv6Packet::fill_checksum`] completes the message.
    ///
    /// # Errors
    ///
    /// [`Error::Truncated`] when the header does not fit; nothing is written then.
    pub fn emit<'a>(&self, buffer: &'a mut [u8]) -> Result<&'a mut [u8], Error> {
        let (header, payload) = buffer.split_at_mut_checked(self.buffer_len()).ok_or(Error::Truncated(NAME))?;
        let words = |first: u16, second: u16| {
            let ([a, b], [c, d]) = (first.to_be_bytes(), second.to_be_bytes());
            [a, b, c, d]
        };
        let (kind, code, rest) = match *self {
            Self::EchoRequest { ident, sequence } => (ECHO_REQUEST, 0, words(ident, sequence)),
            Self::EchoReply { ident, sequence } => (ECHO_REPLY, 0, words(ident, sequence)),
            Self::Unreachable { code } => (UNREACHABLE, code, [0; 4]),
            Self::PacketTooBig { mtu } => (PACKET_TOO_BIG, 0, mtu.to_be_bytes()),
            Self::TimeExceeded { code } => (TIME_EXCEEDED, code, [0; 4]),
            Self::ParameterProblem { code, pointer } => (PARAMETER_PROBLEM, code, pointer.to_be_bytes()),
            Self::Other { kind, code, rest } => (kind, code, rest),
        };
        let mut packet = Icmpv6Packet { buffer: header };
        packet.set_kind(kind);
        packet.set_code(code);
        packet.set_checksum(0);
        packet.set_rest(rest);
        Ok(payload)
    }
}

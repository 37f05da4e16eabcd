//! ICMP for IPv4: echo, and the errors about other packets.

use linerate_sum::checksum;

use crate::Error;
use crate::field::{array_at, put, put_u16, u16_at};

const NAME: &str = "icmp";

const ECHO_REPLY: u8 = 0;
const UNREACHABLE: u8 = 3;
const ECHO_REQUEST: u8 = 8;
const TIME_EXCEEDED: u8 = 11;
const PARAMETER_PROBLEM: u8 = 12;

/// Offsets of the fields (RFC 792).
mod field {
    pub(super) const TYPE: usize = 0;
    pub(super) const CODE: usize = 1;
    pub(super) const CHECKSUM: usize = 2;
    pub(super) const REST: usize = 4;
}

/// A view of an ICMP message (RFC 792).
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
pub struct Icmpv4Packet<T> {
    buffer: T,
}

impl<T: AsRef<[u8]>> Icmpv4Packet<T> {
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

    /// The type.
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

    /// True if the checksum is right.
    pub fn verify_checksum(&self) -> bool {
        checksum(self.buffer.as_ref()) == 0
    }
}

impl<'a, T: AsRef<[u8]> + ?Sized> Icmpv4Packet<&'a T> {
    /// The bytes after the header: the data of an echo, or in an error the beginning of the packet that it is about,
    /// which [`Quote::parse_v4`](crate::Quote::parse_v4) reads.
    pub fn payload(&self) -> &'a [u8] {
        &self.buffer.as_ref()[Icmpv4Packet::<&T>::HEADER_LEN..]
    }
}

impl<T: AsRef<[u8]> + AsMut<[u8]>> Icmpv4Packet<T> {
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

    /// Computes the checksum and sets it.
    pub fn fill_checksum(&mut self) {
        self.set_checksum(0);
        let sum = checksum(self.buffer.as_ref());
        self.set_checksum(sum);
    }

    /// The bytes after the header, to write.
    pub fn payload_mut(&mut self) -> &mut [u8] {
        &mut self.buffer.as_mut()[Self::HEADER_LEN..]
    }
}

/// An ICMP header.
///
/// ```
/// use linerate_wire::*;
///
/// let ping = Icmpv4Repr::EchoRequest { ident: 7, sequence: 1 };
/// let mut message = [0; 12];
/// ping.emit(&mut message)?.copy_from_slice(b"data");
/// Icmpv4Packet::new_checked(&mut message)?.fill_checksum();
///
/// let message = Icmpv4Packet::new_checked(&message)?;
/// assert!(message.verify_checksum());
/// assert_eq!((Icmpv4Repr::parse(&message), message.payload()), (ping, &b"data"[..]));
/// # Ok::<(), linerate_wire::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Icmpv4Repr {
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
    /// The quoted packet could not be delivered.
    Unreachable {
        /// Reason: [`Icmpv4Repr::HOST`] and others.
        code: u8,
        /// The next hop's MTU when the code is [`Icmpv4Repr::FRAGMENTATION_NEEDED`] (RFC 1191, section 4), zero from
        /// routers that do not state it; without meaning in other codes.
        mtu: u16,
    },
    /// The quoted packet exceeded a time limit.
    TimeExceeded {
        /// 0: its time to live expired; [`Icmpv4Repr::REASSEMBLY`]: fragments of it were missing.
        code: u8,
    },
    /// A header of the quoted packet cannot be processed.
    ParameterProblem {
        /// 0: the pointer gives the position.
        code: u8,
        /// Offset of the faulty byte in the quoted packet.
        pointer: u8,
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

impl Icmpv4Repr {
    /// Code of [`Unreachable`](Self::Unreachable): no route.
    pub const NET: u8 = 0;
    /// Code of [`Unreachable`](Self::Unreachable): the host does not answer on its link.
    pub const HOST: u8 = 1;
    /// Code of [`Unreachable`](Self::Unreachable): the host does not support the protocol.
    pub const PROTOCOL: u8 = 2;
    /// Code of [`Unreachable`](Self::Unreachable): no receiver has the port.
    pub const PORT: u8 = 3;
    /// Code of [`Unreachable`](Self::Unreachable): too long, and fragmentation is forbidden.
    pub const FRAGMENTATION_NEEDED: u8 = 4;
    /// Code of [`TimeExceeded`](Self::TimeExceeded): fragments were missing.
    pub const REASSEMBLY: u8 = 1;

    /// Parses the header of `packet`.
    pub fn parse<T: AsRef<[u8]>>(packet: &Icmpv4Packet<T>) -> Self {
        let (kind, code, rest) = (packet.kind(), packet.code(), packet.rest());
        let [first, second] = [u16_at(&rest, field::TYPE), u16_at(&rest, field::CHECKSUM)];
        match (kind, code) {
            (ECHO_REQUEST, 0) => Self::EchoRequest { ident: first, sequence: second },
            (ECHO_REPLY, 0) => Self::EchoReply { ident: first, sequence: second },
            (UNREACHABLE, code) => {
                Self::Unreachable { code, mtu: if code == Self::FRAGMENTATION_NEEDED { second } else { 0 } }
            }
            (TIME_EXCEEDED, code) => Self::TimeExceeded { code },
            (PARAMETER_PROBLEM, code) => Self::ParameterProblem { code, pointer: rest[field::TYPE] },
            (kind, code) => Self::Other { kind, code, rest },
        }
    }

    /// True if this is an error, about which no other may be sent (RFC 1122, section 3.2.2). Types that RFC 792 does not
    /// make queries count as errors.
    pub const fn is_error(&self) -> bool {
        match self {
            Self::EchoRequest { .. } | Self::EchoReply { .. } => false,
            Self::Unreachable { .. } | Self::TimeExceeded { .. } | Self::ParameterProblem { .. } => true,
            // Echo, router discovery (RFC 1256), time-stamp, information, address mask (RFC 950).
            Self::Other { kind, .. } => !matches!(*kind, 0 | 8 | 9 | 10 | 13..=18),
        }
    }

    /// Bytes that [`emit`](Self::emit) writes.
    pub const fn buffer_len(&self) -> usize {
        Icmpv4Packet::<&[u8]>::HEADER_LEN
    }

    /// Writes the header to the front of `buffer`, without a checksum; returns the rest, for the payload. Once the
    /// payload is written, [`Icmpv4Packet::fill_checksum`] completes the message.
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
            Self::Unreachable { code, mtu } => {
                (UNREACHABLE, code, words(0, if code == Self::FRAGMENTATION_NEEDED { mtu } else { 0 }))
            }
            Self::TimeExceeded { code } => (TIME_EXCEEDED, code, [0; 4]),
            Self::ParameterProblem { code, pointer } => (PARAMETER_PROBLEM, code, [pointer, 0, 0, 0]),
            Self::Other { kind, code, rest } => (kind, code, rest),
        };
        let mut packet = Icmpv4Packet { buffer: header };
        packet.set_kind(kind);
        packet.set_code(code);
        packet.set_checksum(0);
        packet.set_rest(rest);
        Ok(payload)
    }
}

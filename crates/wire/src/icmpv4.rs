//! ICMP for IPv4: echo, and the errors about other packets.

use crate::field::values;
use linerate_sum::checksum;

use crate::Error;
use crate::icmp::icmp;

const NAME: &str = "icmp";

const UNREACHABLE: u8 = 3;
const TIME_EXCEEDED: u8 = 11;
const PARAMETER_PROBLEM: u8 = 12;

icmp! {
    /// A view of an ICMP message (RFC 792): all of an IP packet's payload.
    Icmpv4Packet, "The data of an echo, or in an error the packet it is about: [`Quote`](crate::Quote) reads that.";

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
    Icmpv4Repr, EchoRequest = 8, EchoReply = 0;
    enum {
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
    }
    read {
        (UNREACHABLE, Self::FRAGMENTATION_NEEDED, [_, _, high, low]) => {
            Self::Unreachable { code: Self::FRAGMENTATION_NEEDED, mtu: u16::from_be_bytes([high, low]) }
        }
        (UNREACHABLE, code, _) => Self::Unreachable { code, mtu: 0 },
        (TIME_EXCEEDED, code, _) => Self::TimeExceeded { code },
        (PARAMETER_PROBLEM, code, [pointer, ..]) => Self::ParameterProblem { code, pointer },
    }
    write {
        Self::Unreachable { code: code @ Self::FRAGMENTATION_NEEDED, mtu } => {
            let [high, low] = mtu.to_be_bytes();
            (UNREACHABLE, code, [0, 0, high, low])
        }
        Self::Unreachable { code, .. } => (UNREACHABLE, code, [0; 4]),
        Self::TimeExceeded { code } => (TIME_EXCEEDED, code, [0; 4]),
        Self::ParameterProblem { code, pointer } => (PARAMETER_PROBLEM, code, [pointer, 0, 0, 0]),
    }
}

impl<T: AsRef<[u8]>> Icmpv4Packet<T> {
    /// True if the checksum is right.
    pub fn verify_checksum(&self) -> bool {
        checksum(self.buffer.as_ref()) == 0
    }
}

impl<T: AsRef<[u8]> + AsMut<[u8]>> Icmpv4Packet<T> {
    /// Computes the checksum and sets it.
    pub fn fill_checksum(&mut self) {
        self.set_checksum(0);
        let sum = checksum(self.buffer.as_ref());
        self.set_checksum(sum);
    }
}

values! {
    impl Icmpv4Repr: u8;
    NET = 0, "Code of [`Unreachable`](Self::Unreachable): no route.";
    HOST = 1, "Code of [`Unreachable`](Self::Unreachable): the host does not answer on its link.";
    PROTOCOL = 2, "Code of [`Unreachable`](Self::Unreachable): the host does not support the protocol.";
    PORT = 3, "Code of [`Unreachable`](Self::Unreachable): no receiver has the port.";
    FRAGMENTATION_NEEDED = 4, "Code of [`Unreachable`](Self::Unreachable): too long, and fragmentation is forbidden.";
    REASSEMBLY = 1, "Code of [`TimeExceeded`](Self::TimeExceeded): fragments were missing.";
}

impl Icmpv4Repr {
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
}

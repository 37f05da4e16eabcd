//! ICMP for IPv6: echo, and the errors about other packets. Neighbour discovery's messages are read by
//! [`NdpPacket`](crate::NdpPacket).

use std::net::Ipv6Addr;

use crate::icmp::icmp;
use crate::{Error, IpProtocol, pseudo_header_v6};

const NAME: &str = "icmp6";

const UNREACHABLE: u8 = 1;
const PACKET_TOO_BIG: u8 = 2;
const TIME_EXCEEDED: u8 = 3;
const PARAMETER_PROBLEM: u8 = 4;

icmp! {
    /// A view of an ICMPv6 message (RFC 4443, section 2.1): all of an IP packet's payload.
    Icmpv6Packet, "The data of an echo, or in an error the packet it is about: [`Quote`](crate::Quote) reads that.";

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
    Icmpv6Repr, EchoRequest = 128, EchoReply = 129;
    enum {
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
    }
    read {
        (UNREACHABLE, code, _) => Self::Unreachable { code },
        // RFC 4443, section 3.2: its code is ignored.
        (PACKET_TOO_BIG, _, mtu) => Self::PacketTooBig { mtu: u32::from_be_bytes(mtu) },
        (TIME_EXCEEDED, code, _) => Self::TimeExceeded { code },
        (PARAMETER_PROBLEM, code, at) => Self::ParameterProblem { code, pointer: u32::from_be_bytes(at) },
    }
    write {
        Self::Unreachable { code } => (UNREACHABLE, code, [0; 4]),
        Self::PacketTooBig { mtu } => (PACKET_TOO_BIG, 0, mtu.to_be_bytes()),
        Self::TimeExceeded { code } => (TIME_EXCEEDED, code, [0; 4]),
        Self::ParameterProblem { code, pointer } => (PARAMETER_PROBLEM, code, pointer.to_be_bytes()),
    }
}

impl<T: AsRef<[u8]>> Icmpv6Packet<T> {
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

impl<T: AsRef<[u8]> + AsMut<[u8]>> Icmpv6Packet<T> {
    /// Computes the checksum for a message between these addresses and sets it.
    pub fn fill_checksum(&mut self, src: Ipv6Addr, dst: Ipv6Addr) {
        self.set_checksum(0);
        let sum = self.sum(src, dst);
        self.set_checksum(sum);
    }
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
}

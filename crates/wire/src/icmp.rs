//! Common parts of ICMP for IPv4 and for IPv6: the header, echo, and the reading and writing of messages.

/// Declares a version of ICMP: the view of its messages, and the messages with what their headers say. `read` has an arm for
/// each type of message beside echo, from type, code and bytes 4 to 7; `write` has those back.
macro_rules! icmp {
    (
        $(#[$doc:meta])* $packet:ident, $payload:literal;
        $(#[$repr_doc:meta])* $repr:ident, EchoRequest = $request:literal, EchoReply = $reply:literal;
        enum { $($variants:tt)* }
        read { $($read:tt)* }
        write { $($write:tt)* }
    ) => {
        $crate::field::view! {
            $(#[$doc])*
            $packet, HEADER_LEN = 8 "Bytes of the header.";
            0 pub kind set_kind: u8 = "The type.";
            1 pub code set_code: u8 = "The code, a subtype of the type.";
            2 pub checksum set_checksum: u16 = "The checksum as received.";
            4 pub rest set_rest: [u8; 4] = "Bytes 4 to 7, which depend on the type.";
        }

        $crate::field::payload!($packet, $payload);

        $(#[$repr_doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum $repr {
            /// Asks for the payload to be sent back.
            EchoRequest {
                /// Identifier that the sender chose for its requests.
                ident: u16,
                /// Sequence number of the request.
                sequence: u16,
            },
            /// Returns the payload of a request.
            EchoReply {
                /// Identifier, as in the request.
                ident: u16,
                /// Sequence number of the request.
                sequence: u16,
            },
            $($variants)*
            /// Any other message.
            Other {
                /// Type; one of those above is sent as it is, but parsed as that.
                kind: u8,
                /// The code, a subtype of the type.
                code: u8,
                /// Bytes 4 to 7.
                rest: [u8; 4],
            },
        }

        impl $repr {
            /// Parses the header of `packet`.
            pub fn parse<T: AsRef<[u8]>>(packet: &$packet<T>) -> Self {
                let echo = |[a, b, c, d]: [u8; 4]| (u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d]));
                match (packet.kind(), packet.code(), packet.rest()) {
                    ($request, 0, rest) => {
                        let (ident, sequence) = echo(rest);
                        Self::EchoRequest { ident, sequence }
                    }
                    ($reply, 0, rest) => {
                        let (ident, sequence) = echo(rest);
                        Self::EchoReply { ident, sequence }
                    }
                    $($read)*
                    (kind, code, rest) => Self::Other { kind, code, rest },
                }
            }

            /// Bytes that [`emit`](Self::emit) writes.
            pub const fn buffer_len(&self) -> usize {
                $packet::<&[u8]>::HEADER_LEN
            }

            /// Writes the header to the front of `buffer`, without a checksum; returns the rest, for the payload. Once the
            /// payload is written, `fill_checksum` completes the message.
            ///
            /// # Errors
            ///
            /// [`Error::Truncated`] when the header does not fit; nothing is written then.
            pub fn emit<'a>(&self, buffer: &'a mut [u8]) -> Result<&'a mut [u8], Error> {
                let (header, payload) = buffer.split_at_mut_checked(self.buffer_len()).ok_or(Error::Truncated(NAME))?;
                let echo = |ident: u16, sequence: u16| {
                    let ([a, b], [c, d]) = (ident.to_be_bytes(), sequence.to_be_bytes());
                    [a, b, c, d]
                };
                let (kind, code, rest) = match *self {
                    Self::EchoRequest { ident, sequence } => ($request, 0, echo(ident, sequence)),
                    Self::EchoReply { ident, sequence } => ($reply, 0, echo(ident, sequence)),
                    $($write)*
                    Self::Other { kind, code, rest } => (kind, code, rest),
                };
                let mut packet = $packet { buffer: header };
                packet.set_kind(kind);
                packet.set_code(code);
                packet.set_checksum(0);
                packet.set_rest(rest);
                Ok(payload)
            }
        }
    };
}

pub(crate) use icmp;

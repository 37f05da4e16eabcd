//! Errors of parsing bytes and of writing headers.

/// An error of this crate; each names the protocol it was found in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// There are fewer bytes than the format, or a length in the header, needs.
    #[error("{0}: cut short: give all bytes of the header and of the length it states")]
    Truncated(&'static str),
    /// A field has a value that the format does not allow.
    #[error("{0}: bad {1}: not a packet of this protocol, or damaged on the way")]
    Malformed(&'static str, &'static str),
    /// A value does not fit the field that carries it.
    #[error("{0}: {1} does not fit its field: give a smaller one")]
    TooLarge(&'static str, &'static str),
    /// The text is not a MAC address.
    #[error("not a MAC address: write six pairs of hexadecimal digits, as 02:00:00:00:00:01 or 02-00-00-00-00-01")]
    MacAddr,
    /// The text is not a world-wide name.
    #[error("not a world-wide name: write eight pairs of hexadecimal digits, as 20:00:02:00:00:00:00:01")]
    Wwn,
}

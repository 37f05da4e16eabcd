//! Errors of regions and rings. A bad slot is no error for the ring's user: it is counted.

use thiserror::Error;

/// Reasons for which a region could not be made, mapped or divided.
#[derive(Debug, Error)]
pub enum RegionError {
    /// A number outside its range.
    #[error("{what} is {got}: {want}")]
    Config {
        /// Name of the number.
        what: &'static str,
        /// Value that was given.
        got: u64,
        /// Range of valid values.
        want: &'static str,
    },
    /// A system call failed.
    #[error("{what}: {source}; free memory, or ask for fewer slots, rings or buffers")]
    System {
        /// Purpose of the call.
        what: &'static str,
        /// Error of the call.
        source: std::io::Error,
    },
    /// The region has no room left.
    #[error("the region has {left} {what} left and {wanted} are wanted: make it with more")]
    Exhausted {
        /// Name of the resource: ring bytes, or buffers.
        what: &'static str,
        /// Amount left.
        left: u64,
        /// Amount wanted.
        wanted: u64,
    },
    /// A half of a pair of rings that cannot be taken: in a private region each is taken once, from cursor 0.
    #[error("the {half} of these rings is in use or of another region: take each end once, from where it starts")]
    Taken {
        /// Sender or receiver.
        half: &'static str,
    },
    /// A region of another process does not match its description.
    #[error("the other process offers a region that cannot be right ({0}): both must be linerate of the same version")]
    Foreign(&'static str),
}

/// Reasons for which a slot written by another process gives no frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadSlot {
    /// Void, not bad: no bytes and no MOREFRAG flag. The sender took the frame back.
    Void,
    /// The buffer index lies outside the region.
    Index,
    /// The length exceeds a buffer's capacity.
    Length,
    /// The buffer is not one that was lent to the other side.
    NotLent,
}

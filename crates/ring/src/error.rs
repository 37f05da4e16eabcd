//! What can go wrong with memory. A bad slot is no error upwards: it is counted.

use thiserror::Error;

/// Why a region could not be made, mapped or carved up.
#[derive(Debug, Error)]
pub enum RegionError {
    /// A number outside its range.
    #[error("{what} is {got}: {want}")]
    Config {
        /// Which number.
        what: &'static str,
        /// What was given.
        got: u64,
        /// What would do.
        want: &'static str,
    },
    /// The system said no.
    #[error("{what}: {source}; free memory, or ask for fewer slots, rings or buffers")]
    System {
        /// Which call.
        what: &'static str,
        /// Its errno.
        source: std::io::Error,
    },
    /// The region has no room left.
    #[error("the region has {left} {what} left and {wanted} are wanted: make it with more")]
    Exhausted {
        /// Ring bytes, or buffers.
        what: &'static str,
        /// Left.
        left: u64,
        /// Wanted.
        wanted: u64,
    },
    /// A half of a pair of rings that is not to be had: in a private region it is taken once, from cursor 0.
    #[error("the {half} of these rings is in use or of another region: take each end once, from where it starts")]
    Taken {
        /// Sender or receiver.
        half: &'static str,
    },
    /// A region of another process does not hold what it says.
    #[error("the other process offers a region that cannot be right ({0}): both must be linerate of the same version")]
    Foreign(&'static str),
}

/// Why a slot that another process wrote is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadSlot {
    /// Not bad, but void: no bytes and no more fragments. The sender took the frame back.
    Void,
    /// The buffer index lies outside the region.
    Index,
    /// The length exceeds what a buffer holds.
    Length,
    /// The buffer is not one that was lent to the other side.
    NotLent,
}

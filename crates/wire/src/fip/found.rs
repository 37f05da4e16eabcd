//! Contents of a descriptor list in which only some types may occur, each once.

use super::{FipDescriptor, FipFrame};
use crate::Error;

const NAME: &str = "fip";

/// The descriptors of a frame, by type.
pub(super) struct Found<'a> {
    by_code: [Option<FipDescriptor<'a>>; 16],
}

impl<'a> Found<'a> {
    /// Reads the list of `frame`. Types of `allowed` may be there, each once; those of `many` are handed to `each` as
    /// often as they come; of all others only such as are not critical.
    pub(super) fn collect(
        frame: &FipFrame<'a>,
        allowed: &[u8],
        mut many: impl FnMut(&FipDescriptor<'a>) -> bool,
    ) -> Result<Self, Error> {
        let mut found = Self { by_code: [None; 16] };
        for descriptor in frame.descriptors() {
            let descriptor = descriptor?;
            if many(&descriptor) || !descriptor.is_critical() {
                continue;
            }
            let code = descriptor.code();
            let place = found.by_code.get_mut(usize::from(code)).filter(|_| allowed.contains(&code));
            let place = place.ok_or(Error::Malformed(NAME, "unexpected descriptor"))?;
            if place.replace(descriptor).is_some() {
                return Err(Error::Malformed(NAME, "descriptor that comes twice"));
            }
        }
        Ok(found)
    }

    /// The descriptor of this type.
    pub(super) fn find(&self, code: u8) -> Option<FipDescriptor<'a>> {
        self.by_code.get(usize::from(code)).copied().flatten()
    }
}

/// Extracts a value by a pattern from a [`Found`]'s descriptor of a type, if there is one.
macro_rules! optional {
    ($found:expr, $code:expr, $pattern:pat => $value:expr) => {
        match $found.find($code) {
            Some($pattern) => Some($value),
            _ => None,
        }
    };
}

/// Extracts a value by a pattern from a [`Found`]'s descriptor of a type, which must be there.
macro_rules! required {
    ($found:expr, $code:expr, $pattern:pat => $value:expr) => {
        $crate::fip::found::optional!($found, $code, $pattern => $value)
            .ok_or($crate::Error::Malformed("fip", "list: a descriptor is missing"))?
    };
}

pub(super) use {optional, required};

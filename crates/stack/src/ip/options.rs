//! IPv4's options: skipped, except for those that a host must process (RFC 1122, section 3.2.1.8).

/// Problem with a packet's options, for which it is discarded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Problem {
    /// Source routing: packets are not forwarded here, and answers would take a path of the sender's choice (RFC 7126,
    /// sections 4.3 and 4.4).
    SourceRoute,
    /// An option with an invalid length.
    Length {
        /// Offset of the option, in bytes from the first option.
        at: usize,
    },
}

const END: u8 = 0;
const NO_OPERATION: u8 = 1;
const LOOSE_SOURCE_ROUTE: u8 = 131;
const STRICT_SOURCE_ROUTE: u8 = 137;

/// Checks all options, the header's bytes after the first 20.
pub(crate) fn check(options: &[u8]) -> Result<(), Problem> {
    let mut at = 0;
    while let Some(kind) = options.get(at) {
        match *kind {
            END => break,
            NO_OPERATION => at += 1,
            LOOSE_SOURCE_ROUTE | STRICT_SOURCE_ROUTE => return Err(Problem::SourceRoute),
            _ => match options.get(at + 1).map(|len| usize::from(*len)) {
                Some(len) if len >= 2 && at + len <= options.len() => at += len,
                _ => return Err(Problem::Length { at }),
            },
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_stepped_over_as_far_as_they_go() {
        assert_eq!(check(&[]), Ok(()));
        assert_eq!(check(&[148, 4, 0, 0, 1, 7, 3, 4, 0, 131, 1, 1]), Ok(()), "behind the end is nothing");
        assert_eq!(check(&[1, 7, 3, 4]), Ok(()));
        assert_eq!(check(&[1, 131, 3, 4]), Err(Problem::SourceRoute));
        assert_eq!(check(&[137, 3, 4, 0]), Err(Problem::SourceRoute));
        for (options, at) in [(&[1, 7][..], 1), (&[7, 1, 0, 0], 0), (&[7, 0, 0, 0], 0), (&[7, 5, 0, 0], 0)] {
            assert_eq!(check(options), Err(Problem::Length { at }), "{options:?}");
        }
    }
}

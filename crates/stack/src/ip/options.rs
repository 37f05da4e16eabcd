//! IPv4's options: stepped over, but for those that a host must look at (RFC 1122, section 3.2.1.8).

/// What stands in the way of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Problem {
    /// It came, or wants to go, by a way of its sender's choice: nobody's packets are forwarded here, and answers would go
    /// where the sender wants (RFC 7126, sections 4.3 and 4.4).
    SourceRoute,
    /// The option at this byte of the options has a length that cannot be.
    Length {
        /// Counted from the first option.
        at: usize,
    },
}

const END: u8 = 0;
const NO_OPERATION: u8 = 1;
const LOOSE_SOURCE_ROUTE: u8 = 131;
const STRICT_SOURCE_ROUTE: u8 = 137;

/// Looks at all of a header behind its first 20 bytes.
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

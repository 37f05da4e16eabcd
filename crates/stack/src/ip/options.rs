//! IPv4's options: checked, and those that record something answered in echo replies (RFC 791, section 3.1; RFC 1122,
//! sections 3.2.1.8 and 3.2.2.6).
//!
//! Out of scope: a host's datagrams have no options but these.

use std::net::Ipv4Addr;

/// Problem with a packet's options, for which it is discarded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Problem {
    /// Source routing: packets are not forwarded here, and answers would take a path of the sender's choice (RFC 7126,
    /// sections 4.3 and 4.4).
    SourceRoute,
    /// An option that cannot be.
    Parameter {
        /// Offset of what is wrong, in bytes from the first option.
        at: usize,
    },
}

const END: u8 = 0;
const NO_OPERATION: u8 = 1;
const RECORD_ROUTE: u8 = 7;
const TIMESTAMP: u8 = 68;
const LOOSE_SOURCE_ROUTE: u8 = 131;
const STRICT_SOURCE_ROUTE: u8 = 137;

/// Offsets of fields of options that record something.
const LENGTH: usize = 1;
const POINTER: usize = 2;
const OVERFLOW: usize = 3;

/// Longest options of a header.
const LONGEST: usize = 40;

/// Entries of a timestamp option: times alone, addresses and times, times of the addresses that are given.
const TIMES: u8 = 0;
const WITH_ADDRESSES: u8 = 1;
const PRESPECIFIED: u8 = 3;

/// Checks all options, the header's bytes after the first 20.
pub(crate) fn check(options: &[u8]) -> Result<(), Problem> {
    let mut seen = [false; 256];
    for option in Options::new(options) {
        let (at, option) = option?;
        let kind = option[0];
        let recorded = matches!(kind, RECORD_ROUTE | TIMESTAMP);
        if matches!(kind, LOOSE_SOURCE_ROUTE | STRICT_SOURCE_ROUTE) {
            return Err(Problem::SourceRoute);
        }
        // Each of them appears at most once (RFC 791, section 3.1).
        let wrong = if recorded && seen[usize::from(kind)] { Some(0) } else { fault(option) };
        if let Some(field) = wrong {
            return Err(Problem::Parameter { at: at + field });
        }
        seen[usize::from(kind)] = true;
    }
    Ok(())
}

/// Options one by one, with their offsets; those without a length are left out.
struct Options<'a> {
    options: &'a [u8],
    at: usize,
}

impl<'a> Options<'a> {
    fn new(options: &'a [u8]) -> Self {
        Self { options, at: 0 }
    }
}

impl<'a> Iterator for Options<'a> {
    type Item = Result<(usize, &'a [u8]), Problem>;

    fn next(&mut self) -> Option<Self::Item> {
        while self.options.get(self.at) == Some(&NO_OPERATION) {
            self.at += 1;
        }
        let rest = self.options.get(self.at..).filter(|rest| rest.first().is_some_and(|kind| *kind != END))?;
        let at = self.at;
        let option = rest.get(LENGTH).and_then(|len| rest.get(..usize::from(*len))).filter(|option| option.len() >= 2);
        // After a wrong one nothing follows.
        self.at = option.map_or(self.options.len(), |option| at + option.len());
        Some(option.map(|option| (at, option)).ok_or(Problem::Parameter { at }))
    }
}

/// Offset of the wrong field of an option that records something; other options are not looked into.
fn fault(option: &[u8]) -> Option<usize> {
    let (least, entry) = match *option {
        [RECORD_ROUTE, _] | [TIMESTAMP, _] | [TIMESTAMP, _, _] => return Some(LENGTH),
        [RECORD_ROUTE, ..] => (4, 4),
        [TIMESTAMP, _, _, flag, ..] => (5, if matches!(flag & 15, WITH_ADDRESSES | PRESPECIFIED) { 8 } else { 4 }),
        _ => return None,
    };
    let pointer = usize::from(option[POINTER]);
    if pointer > option.len() {
        // Full; of the prespecified ones those that were missed are not counted.
        let missed = option[0] == TIMESTAMP && option[OVERFLOW] & 15 != PRESPECIFIED;
        return (missed && option[OVERFLOW] >> 4 == 15).then_some(OVERFLOW);
    }
    // Some room, but not for a whole entry, is an error.
    (pointer < least || pointer - 1 + entry > option.len()).then_some(POINTER)
}

/// Options of an echo reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Reply {
    bytes: [u8; LONGEST],
    len: usize,
}

impl Reply {
    /// No options.
    pub(crate) const NONE: Self = Self { bytes: [END; LONGEST], len: 0 };

    /// Makes the reply's options of those of the request, which have been checked: what records something comes back, with
    /// this host entered (RFC 1122, section 3.2.2.6). `now`: nanoseconds of a clock that says nothing about the time of day.
    pub(crate) fn to(options: &[u8], ours: Ipv4Addr, is_ours: impl Fn(Ipv4Addr) -> bool, now: u64) -> Self {
        let mut reply = Self::NONE;
        for (_, option) in Options::new(options).map_while(Result::ok) {
            if !matches!(option[0], RECORD_ROUTE | TIMESTAMP) {
                continue;
            }
            let Some(copy) = reply.bytes.get_mut(reply.len..reply.len + option.len()) else { break };
            copy.copy_from_slice(option);
            match option[0] {
                TIMESTAMP => stamp(copy, ours, is_ours(given(option)), now),
                _ => drop(enter(copy, &[ours.octets()])),
            }
            reply.len += option.len();
        }
        // The header ends at a multiple of four bytes.
        reply.len = reply.len.next_multiple_of(4);
        reply
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

/// Enters words where the pointer points to, and advances it; false if there is no room.
fn enter(option: &mut [u8], words: &[[u8; 4]]) -> bool {
    let at = usize::from(option[POINTER]) - 1;
    let Some(room) = option.get_mut(at..at + 4 * words.len()) else { return false };
    room.copy_from_slice(words.as_flattened());
    option[POINTER] += if words.len() > 1 { 8 } else { 4 };
    true
}

/// The address that a timestamp option points to.
fn given(option: &[u8]) -> Ipv4Addr {
    let at = usize::from(option[POINTER]) - 1;
    option
        .get(at..)
        .and_then(|rest| rest.first_chunk::<4>())
        .map_or(Ipv4Addr::UNSPECIFIED, |bytes| Ipv4Addr::from(*bytes))
}

/// Enters the time; what finds no room is counted in the option. `asked`: the address that it points to is ours.
fn stamp(option: &mut [u8], ours: Ipv4Addr, asked: bool, now: u64) {
    // Not of the day: the high bit says so (RFC 791, section 3.1).
    let ms = u32::try_from((now / 1_000_000) & 0x7fff_ffff).unwrap_or(0) | 0x8000_0000;
    let (ours, time) = (ours.octets(), ms.to_be_bytes());
    let entered = match option[OVERFLOW] & 15 {
        TIMES => enter(option, &[time]),
        WITH_ADDRESSES => enter(option, &[ours, time]),
        // The address stays as it is, which is one of ours.
        PRESPECIFIED if asked => enter(option, &[given(option).octets(), time]),
        _ => true,
    };
    if !entered {
        // Checked: there is room for one more.
        option[OVERFLOW] = option[OVERFLOW].wrapping_add(0x10);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const US: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
    const NOW: u64 = 0x1_2345_6789 * 1_000_000;
    const TIME: [u8; 4] = [0xa3, 0x45, 0x67, 0x89];

    fn at(at: usize) -> Result<(), Problem> {
        Err(Problem::Parameter { at })
    }

    #[test]
    fn options_are_stepped_over_as_far_as_they_go() {
        assert_eq!(check(&[]), Ok(()));
        assert_eq!(check(&[148, 4, 0, 0, 1, 7, 7, 4, 0, 0, 0, 0, 0, 131, 1, 1]), Ok(()), "behind the end is nothing");
        assert_eq!(check(&[1, 7, 3, 4]), Ok(()));
        assert_eq!(check(&[1, 131, 3, 4]), Err(Problem::SourceRoute));
        assert_eq!(check(&[137, 3, 4, 0]), Err(Problem::SourceRoute));
        for (options, wrong) in [(&[1, 7][..], 1), (&[7, 1, 0, 0], 0), (&[7, 0, 0, 0], 0), (&[7, 5, 0, 0], 0)] {
            assert_eq!(check(options), at(wrong), "{options:?}");
        }
    }

    #[test]
    fn rfc791_3_1_options_that_record_are_looked_into() {
        for (options, wrong) in [
            (&[7, 2, 0, 0][..], 1),
            (&[1, 7, 7, 3, 0, 0, 0, 0], 3),
            (&[7, 7, 5, 0, 0, 0, 0, 0], 2),
            (&[7, 3, 4, 7, 3, 4, 0, 0], 3),
            (&[68, 3, 5, 0], 1),
            (&[68, 8, 4, 0, 0, 0, 0, 0], 2),
            (&[68, 8, 6, 0, 0, 0, 0, 0], 2),
            (&[68, 8, 5, 1, 0, 0, 0, 0], 2),
            (&[68, 8, 5, 3, 0, 0, 0, 0], 2),
            (&[68, 8, 9, 0xf0, 0, 0, 0, 0], 3),
            (&[68, 4, 5, 0, 68, 4, 5, 0], 4),
        ] {
            assert_eq!(check(options), at(wrong), "{options:?}");
        }
        for options in [
            &[7, 7, 4, 0, 0, 0, 0, 0][..],
            &[7, 7, 255, 0, 0, 0, 0, 0],
            &[68, 8, 5, 0, 0, 0, 0, 0],
            &[68, 12, 5, 1, 0, 0, 0, 0, 0, 0, 0, 0],
            &[68, 8, 9, 0xe0, 0, 0, 0, 0],
            &[68, 8, 9, 0xf3, 0, 0, 0, 0],
            &[68, 8, 5, 2, 0, 0, 0, 0],
        ] {
            assert_eq!(check(options), Ok(()), "{options:?}");
        }
    }

    #[test]
    fn rfc1122_3_2_2_6_a_reply_has_what_was_recorded_and_us() {
        let reply = |options: &[u8]| Reply::to(options, US, |a| a == US, NOW).bytes().to_vec();
        let times = |pointer, flags, entries: &[[u8; 4]]| {
            let len = u8::try_from(4 + 4 * entries.len()).unwrap();
            [&[68, len, pointer, flags][..], entries.as_flattened()].concat()
        };
        assert_eq!(reply(&[148, 4, 0, 0]), [0; 0], "other options do not come back");
        assert_eq!(reply(&[1, 7, 7, 4, 0, 0, 0, 0]), [7, 7, 8, 10, 0, 0, 1, 0], "padded");
        assert_eq!(reply(&[7, 7, 8, 9, 9, 9, 9, 0]), [7, 7, 8, 9, 9, 9, 9, 0], "full");
        let (them, us, none) = ([10, 0, 0, 2], US.octets(), [0; 4]);
        assert_eq!(reply(&times(5, 0, &[none, none])), times(9, 0, &[TIME, none]));
        assert_eq!(reply(&times(13, 1, &[none, none, none, none])), times(21, 1, &[none, none, us, TIME]));
        assert_eq!(reply(&times(5, 3, &[us, none])), times(13, 3, &[us, TIME]));
        assert_eq!(reply(&times(5, 3, &[them, none])), times(5, 3, &[them, none]), "another is asked");
        assert_eq!(reply(&times(9, 0x20, &[TIME])), times(9, 0x30, &[TIME]), "no room: counted");
        assert_eq!(reply(&times(13, 0xf3, &[us, TIME])), times(13, 0xf3, &[us, TIME]));
        assert_eq!(reply(&times(5, 2, &[none])), times(5, 2, &[none]), "no such flag");
        let both = [&[7, 7, 4, 0, 0, 0, 0, 1][..], &times(5, 0, &[none])].concat();
        assert_eq!(reply(&both), [&[7, 7, 8, 10, 0, 0, 1][..], &times(9, 0, &[TIME]), &[0]].concat());
    }

    #[test]
    fn whatever_has_been_checked_can_be_answered() {
        let mut dice = linerate_sum::SplitMix64::new(7);
        for _ in 0..200_000 {
            let word = dice.next_u64().to_be_bytes();
            let mut options = [0; LONGEST];
            options.iter_mut().for_each(|byte| *byte = u8::try_from(dice.next_u64() % 12).unwrap_or(0));
            options[0] = if word[0] & 1 == 0 { RECORD_ROUTE } else { TIMESTAMP };
            options[1] = word[1] % 41;
            options[2] = word[2] % 48;
            options[3] = word[3];
            let len = usize::from(word[4] % 11) * 4;
            if check(&options[..len]).is_ok() {
                let reply = Reply::to(&options[..len], US, |a| a == US, NOW);
                assert!(reply.bytes().len() <= len.next_multiple_of(4) && reply.bytes().len().is_multiple_of(4));
                assert!(matches!(check(reply.bytes()), Ok(()) | Err(Problem::Parameter { .. })));
            }
        }
    }
}

//! Timestamps (RFC 7323): ours, and the peer's that are echoed.

use super::super::{MILLISECOND, low};

/// Time after which a peer's timestamp may have wrapped, so that an older one is believed again (section 5.5).
const FORGOTTEN: u64 = 24 * 24 * 3600 * 1_000_000_000;

/// Timestamps of a connection: milliseconds from a random number on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stamps {
    used: bool,
    offset: u32,
    /// The peer's timestamp to echo, and when it came.
    recent: Option<(u32, u64)>,
}

/// True if one timestamp is older than another.
fn is_older(one: u32, other: u32) -> bool {
    one != other && other.wrapping_sub(one) < 1 << 31
}

impl Stamps {
    pub(super) fn new(used: bool, offset: u32) -> Self {
        Self { used, offset, recent: None }
    }

    /// Bytes that the option takes in each segment.
    #[inline]
    pub(super) fn len(&self) -> u32 {
        if self.used { 12 } else { 0 }
    }

    fn at(&self, now: u64) -> u32 {
        low(now / MILLISECOND).wrapping_add(self.offset)
    }

    /// The option of a segment that is sent now.
    #[inline]
    pub(super) fn option(&self, now: u64) -> Option<(u32, u32)> {
        self.used.then(|| (self.at(now), self.recent.map_or(0, |(recent, _)| recent)))
    }

    /// The peer's SYN has this option: without it there are none.
    pub(super) fn agree(&mut self, now: u64, option: Option<(u32, u32)>) {
        self.used &= option.is_some();
        self.recent = option.filter(|_| self.used).map(|(value, _)| (value, now));
    }

    /// True if a segment is older than the last one in order (PAWS, section 5.3). One that lacks the option is not, though the
    /// option was agreed on: section 3.2 says that it should be dropped, but there are peers that leave it out, and boxes on the
    /// way that take it out, which would never be heard. Linux takes it, too.
    #[inline]
    pub(super) fn is_old(&self, now: u64, option: Option<(u32, u32)>) -> bool {
        let Some((recent, came)) = self.recent.filter(|_| self.used) else { return false };
        option.is_some_and(|(value, _)| is_older(value, recent) && now.saturating_sub(came) < FORGOTTEN)
    }

    /// Takes the timestamp of a segment that holds the last number that was acknowledged (section 4.3).
    #[inline]
    pub(super) fn take(&mut self, now: u64, option: Option<(u32, u32)>) {
        if let (true, Some((value, _))) = (self.used, option)
            && self.recent.is_none_or(|(recent, _)| !is_older(value, recent))
        {
            self.recent = Some((value, now));
        }
    }

    /// True if a timestamp is later than all of the peer's before.
    pub(super) fn is_newer(&self, option: Option<(u32, u32)>) -> bool {
        let (Some((recent, _)), Some((value, _))) = (self.recent, option) else { return false };
        is_older(recent, value)
    }

    /// True if an echo says that what was sent at this time, or later, may have been seen. Without timestamps anything may.
    pub(super) fn is_seen(&self, option: Option<(u32, u32)>, sent: u64) -> bool {
        !self.used || option.is_none_or(|(_, echo)| !is_older(echo, self.at(sent)))
    }

    /// True if an echo is of before this time: what is answered was sent then.
    pub(super) fn is_before(&self, option: Option<(u32, u32)>, time: u64) -> bool {
        self.used && option.is_some_and(|(_, echo)| is_older(echo, self.at(time)))
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::SECOND;
    use super::*;

    #[test]
    fn the_peers_are_echoed_and_old_ones_refused() {
        let mut stamps = Stamps::new(true, u32::MAX);
        assert_eq!(stamps.option(3 * MILLISECOND), Some((2, 0)));
        stamps.agree(0, Some((100, 0)));
        assert_eq!(stamps.option(3 * MILLISECOND), Some((2, 100)));
        assert!(stamps.is_old(1, Some((99, 0))) && !stamps.is_old(1, Some((100, 0))) && !stamps.is_old(1, None));
        stamps.take(1, Some((98, 0)));
        stamps.take(1, Some((105, 0)));
        assert_eq!(stamps.option(0).unwrap().1, 105);
        assert!(!stamps.is_old(25 * 24 * 3600 * SECOND, Some((99, 0))), "section 5.5");
        assert!(stamps.is_seen(Some((0, 2)), 3 * MILLISECOND) && !stamps.is_seen(Some((0, 1)), 3 * MILLISECOND));
        assert!(stamps.is_before(Some((0, 1)), 3 * MILLISECOND) && !stamps.is_before(Some((0, 2)), 3 * MILLISECOND));
        stamps.agree(0, None);
        assert_eq!((stamps.option(0), stamps.len(), stamps.is_old(0, None)), (None, 0, false));
    }
}

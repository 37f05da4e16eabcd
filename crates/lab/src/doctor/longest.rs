//! The longest packet that a path takes, by requests of several sizes. A size that fails is asked for again slowly: a limiter of
//! rate (tc-tbf(8), tc-police(8)) drops what comes fast, whatever its size is.

use std::time::Duration;

/// Requests of one size, one behind the other.
const ATTEMPTS: usize = 2;
/// Requests of the longest size that passed, of which a quarter may be lost on a path with an MTU.
const PROOFS: usize = 12;
/// Bytes of the shortest request.
pub(super) const SHORT: usize = 64;
/// Pauses before each of the slow ones, in which a limiter of 10 kbit/s has room for a packet of 1500 bytes again.
const PAUSES: [Duration; 3] = [Duration::from_millis(250), Duration::from_millis(750), Duration::from_millis(1500)];

pub(super) trait Path {
    /// Sends a request in a packet of so many bytes; true if it is answered, with `slow` after a longer time, too.
    fn ask(&mut self, size: usize, slow: bool) -> Result<bool, String>;
    /// MTU of the path that a router has told of.
    fn told(&mut self) -> Option<usize>;
    fn rest(&mut self, time: Duration);
    fn is_stopped(&self) -> bool;
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sizes {
    /// Longer packets than the longest are never answered.
    #[default]
    Sure,
    /// Requests were lost, of whatever size: longer ones may pass.
    Lossy,
    /// Packets of that length were not answered when they came fast, and are when they come slowly.
    Limited,
}

/// Longest packet, of up to `most` bytes, that is answered.
pub(super) fn longest(path: &mut dyn Path, most: usize) -> Result<(usize, Sizes), String> {
    // Where a short one is not answered either, requests are lost, or somebody limits their rate.
    let mut sizes = Sizes::Sure;
    let (mut low, mut high) = (SHORT, most);
    let mut size = most;
    while low + 1 < high && !path.is_stopped() {
        let mut comes = false;
        for _ in 0..ATTEMPTS {
            comes = comes || path.ask(size, false)?;
        }
        if comes {
            low = size;
        } else {
            high = size;
            if !path.ask(SHORT, false)? {
                sizes = Sizes::Lossy;
            }
        }
        if size == most && comes {
            return Ok((most, Sizes::Sure));
        }
        size = usize::midpoint(low, high);
    }
    // A limiter of rate tells of no MTU.
    if path.told() == Some(low) {
        return Ok((low, sizes));
    }
    // The whole first: where that passes, there is no smaller MTU.
    for size in [most, high] {
        if slowly(path, size)? {
            return Ok((size, Sizes::Limited));
        }
    }
    // And what passed has to pass still.
    if low > SHORT && !slowly(path, low)? {
        return Ok((low, Sizes::Lossy));
    }
    // What an MTU lets pass it lets pass always: random losses of long packets do not.
    let mut lost = 0;
    for _ in 0..PROOFS {
        if path.is_stopped() {
            break;
        }
        lost += usize::from(!path.ask(low, false)?);
    }
    Ok((low, if lost > PROOFS / 4 { Sizes::Lossy } else { sizes }))
}

/// Short requests one behind the other, and with a second between.
const FAST: usize = 24;
const SLOW: usize = 7;
const SECOND: Duration = Duration::from_secs(1);

/// True if it is the number of requests that is limited: of those that come fast half and more is not answered, and of those that
/// come slowly each is. Losses by chance of a half do that once in a hundred times.
pub(super) fn limits_requests(path: &mut dyn Path) -> Result<bool, String> {
    let mut lost = 0;
    for _ in 0..FAST {
        lost += usize::from(!path.ask(SHORT, false)?);
    }
    for _ in 0..SLOW {
        path.rest(SECOND);
        if lost < FAST / 2 || path.is_stopped() || !path.ask(SHORT, true)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// True if one of a few slow requests is answered.
fn slowly(path: &mut dyn Path, size: usize) -> Result<bool, String> {
    for pause in PAUSES {
        if path.is_stopped() {
            return Ok(false);
        }
        path.rest(pause);
        if path.ask(size, true)? {
            return Ok(true);
        }
    }
    Ok(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A path with a clock of its own.
    struct Made {
        mtu: usize,
        /// Bytes a second, and bytes that pass at once.
        rate: Option<(f64, f64)>,
        tokens: f64,
        /// Every so manieth packet is lost.
        loses: Option<usize>,
        /// Of packets above 1000 bytes six in ten are lost, by this generator's seed.
        random: Option<u64>,
        tells: bool,
        asked: usize,
        clock: Duration,
    }

    impl Made {
        fn new(mtu: usize, rate: Option<(f64, f64)>, loses: Option<usize>) -> Self {
            Self { mtu, rate, tokens: 0.0, loses, random: None, tells: false, asked: 0, clock: Duration::ZERO }
        }
    }

    impl Path for Made {
        fn ask(&mut self, size: usize, slow: bool) -> Result<bool, String> {
            self.asked += 1;
            let passes = self.rate.is_none_or(|_| self.tokens >= size as f64);
            if self.rate.is_some() && passes {
                self.tokens -= size as f64;
            }
            let comes = passes && size <= self.mtu && self.loses.is_none_or(|every| !self.asked.is_multiple_of(every));
            let comes = comes
                && self.random.as_mut().is_none_or(|seed| {
                    *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                    size <= 1000 || (*seed >> 33) % 10 >= 6
                });
            let wait = if slow { 500 } else { 50 };
            self.rest(Duration::from_millis(if comes { 1 } else { wait }));
            Ok(comes)
        }

        fn told(&mut self) -> Option<usize> {
            self.tells.then_some(self.mtu)
        }

        fn rest(&mut self, time: Duration) {
            self.clock += time;
            if let Some((rate, most)) = self.rate {
                self.tokens = (self.tokens + time.as_secs_f64() * rate).min(most);
            }
        }

        fn is_stopped(&self) -> bool {
            false
        }
    }

    #[test]
    fn a_smaller_mtu_is_told_from_a_limited_rate() {
        for (mtu, rate, loses, wanted) in [
            (1500, None, None, (1500, Sizes::Sure)),
            (1420, None, None, (1420, Sizes::Sure)),
            (1499, None, None, (1499, Sizes::Sure)),
            (576, None, None, (576, Sizes::Sure)),
            // 100 kbit/s and 10 kbit/s with room for one long packet.
            (1500, Some((12_500.0, 2048.0)), None, (1500, Sizes::Limited)),
            (1500, Some((1250.0, 1600.0)), None, (1500, Sizes::Limited)),
            // A small loss is none of it.
            (1500, None, Some(5), (1500, Sizes::Sure)),
        ] {
            let mut path = Made::new(mtu, rate, loses);
            assert_eq!(longest(&mut path, 1500).unwrap(), wanted, "{mtu} {rate:?} {loses:?}");
            assert!(path.clock < Duration::from_secs(20), "{:?}", path.clock);
        }
        // What a router tells needs no second look.
        let mut told = Made { tells: true, ..Made::new(1420, None, None) };
        assert_eq!(longest(&mut told, 1500).unwrap(), (1420, Sizes::Sure));
        assert!(told.clock < Duration::from_secs(2), "{:?}", told.clock);
        // Both: no judgement about a size that a limiter may have dropped.
        let mut both = Made::new(1400, Some((12_500.0, 2048.0)), None);
        assert_ne!(longest(&mut both, 1500).unwrap().1, Sizes::Sure);
        // Nor of one that random losses of long packets look like.
        let sure = (0_u64..1000).filter(|seed| {
            let mut path =
                Made { random: Some(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15)), ..Made::new(1500, None, None) };
            let (size, sizes) = longest(&mut path, 1500).unwrap();
            size < 1500 && sizes == Sizes::Sure
        });
        assert!(sure.count() < 5);
        // Answers that do not fall at one size.
        for every in 2..4 {
            let mut path = Made::new(1500, None, Some(every));
            let (size, sizes) = longest(&mut path, 1500).unwrap();
            assert!(size == 1500 || sizes != Sizes::Sure, "{every}: {size} {sizes:?}");
        }
    }

    #[test]
    fn a_limit_of_requests_is_told_from_losses() {
        // Of five requests a second, and of one, with room for five at once.
        for (rate, loses, limited) in [
            (Some((320.0, 320.0)), None, true),
            (Some((64.0, 320.0)), None, true),
            (None, Some(2), false),
            (None, Some(3), false),
            (None, None, false),
        ] {
            let mut path = Made::new(1500, rate, loses);
            path.rest(SECOND);
            assert_eq!(limits_requests(&mut path).unwrap(), limited, "{rate:?} {loses:?}");
        }
    }

    #[test]
    fn a_path_without_room_for_anything_is_searched_as_it_is() {
        for most in [0, 63, 64, 65, 66] {
            let mut path = Made::new(65_535, None, None);
            let (size, _) = longest(&mut path, most).unwrap();
            assert!(size <= most.max(SHORT), "{most}: {size}");
        }
    }
}

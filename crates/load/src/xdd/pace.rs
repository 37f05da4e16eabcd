//! Time at which a target's next request may begin: throttle, delay, and step with the other targets.

use super::config::{Target, Throttle};
use super::lane::Live;
use super::tally::float;
use linerate_text::saturating_ns;
use std::sync::atomic::Ordering::{Acquire, Release};
use std::time::Duration;

/// Bits that count the requests of a pass in a target's step; those above count passes.
const PASS: u32 = 44;
/// Interval at which a target looks whether the others have caught up, ns.
const LOOK_NS: u64 = 50_000;

#[derive(Debug)]
pub(super) struct Pace {
    throttle: Option<Throttle>,
    request_bytes: u64,
    delay_ns: u64,
    step: Option<u64>,
    pass: u64,
    from: u64,
    /// Number of requests of the pass so far.
    begun: u64,
    /// End of the delay behind the last request.
    resume: u64,
}

impl Pace {
    pub(super) fn new(target: &Target, step: Option<u64>) -> Self {
        Self {
            throttle: target.throttle,
            request_bytes: target.request_bytes(),
            delay_ns: saturating_ns(target.delay),
            step,
            pass: 0,
            from: 0,
            begun: 0,
            resume: 0,
        }
    }

    pub(super) fn begin(&mut self, pass: u64, from: u64) {
        (self.pass, self.from, self.begun, self.resume) = (pass, from, 0, 0);
    }

    /// Ends the pass: nobody waits for this target any more.
    pub(super) fn end(&self, live: &Live) {
        if self.step.is_some() {
            live.step.store((self.pass + 1) << PASS, Release);
        }
    }

    /// True if no request of the pass has begun.
    #[inline]
    pub(super) fn is_first(&self) -> bool {
        self.begun == 0
    }

    /// Counts a request that begins.
    #[inline]
    pub(super) fn begun(&mut self, now: u64, live: &Live) {
        self.begun += 1;
        self.ended(now);
        if self.step.is_some() {
            live.step.store(self.here(), Release);
        }
    }

    /// Notes the end of a request.
    #[inline]
    pub(super) fn ended(&mut self, now: u64) {
        if self.delay_ns > 0 {
            self.resume = now.saturating_add(self.delay_ns);
        }
    }

    /// Time at which the next request may begin, as far as the target itself is concerned.
    #[inline]
    pub(super) fn not_before(&self) -> u64 {
        let Some(throttle) = self.throttle else { return self.resume };
        let seconds = match throttle {
            Throttle::Requests(rate) => float(self.begun) / rate,
            Throttle::Bytes(rate) => float(self.begun) * float(self.request_bytes) / rate,
        };
        let throttled = saturating_ns(Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX));
        self.from.saturating_add(throttled).max(self.resume)
    }

    /// True if all targets have begun as many requests as they are to begin before this one's next.
    #[inline]
    pub(super) fn in_step(&self, all: &[Live]) -> bool {
        match self.step {
            Some(step) if self.begun > 0 && self.begun.is_multiple_of(step) => {
                all.iter().all(|live| live.step.load(Acquire) >= self.here())
            }
            _ => true,
        }
    }

    /// Time at which to look again whether the others have caught up.
    pub(super) fn look_again(now: u64) -> u64 {
        now.saturating_add(LOOK_NS)
    }

    /// This target's step: it never decreases, from pass to pass either.
    fn here(&self) -> u64 {
        self.pass << PASS | self.begun.min((1 << PASS) - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_waits_for_those_that_are_behind_and_for_none_that_has_ended() {
        let all = [Live::default(), Live::default()];
        let [mut a, mut b] = [0; 2].map(|_| Pace::new(&Target::new("t"), Some(2)));
        for pass in 0..3 {
            a.begin(pass, 0);
            assert!(a.in_step(&all), "the first request waits for nobody");
            a.begun(0, &all[0]);
            assert!(a.in_step(&all), "the second neither");
            a.begun(0, &all[0]);
            assert!(!a.in_step(&all), "pass {pass}: the other has begun none");
            b.begin(pass, 0);
            b.begun(0, &all[1]);
            assert!(!a.in_step(&all));
            if pass == 1 {
                b.end(&all[1]);
            } else {
                b.begun(0, &all[1]);
            }
            assert!(a.in_step(&all));
            a.end(&all[0]);
            b.end(&all[1]);
        }
    }

    #[test]
    fn a_delay_is_behind_a_request_and_a_throttle_counts_from_the_start() {
        let target = Target { delay: Duration::from_nanos(30), ..Target::new("t") };
        let (mut pace, live) = (Pace::new(&target, None), Live::default());
        pace.begin(0, 100);
        assert!(pace.is_first() && pace.not_before() == 0);
        pace.begun(110, &live);
        pace.ended(150);
        assert_eq!((pace.is_first(), pace.not_before()), (false, 180));
        let throttled = Target { throttle: Some(Throttle::Requests(1e6)), ..target };
        let mut pace = Pace::new(&throttled, None);
        pace.begin(0, 100);
        pace.begun(110, &live);
        assert_eq!(pace.not_before(), 100 + 1000);
    }
}

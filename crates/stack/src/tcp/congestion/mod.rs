//! Congestion control: how much may be under way.
//!
//! A connection tells it of acknowledgements, losses and time-outs; it answers with a window and a slow start threshold.
//! What is lost, and what is sent in recovery, is decided elsewhere.

mod cubic;
mod hystart;

use cubic::Cubic;
use hystart::Hystart;

/// Segments in the first window (RFC 6928).
pub(super) const INITIAL: u32 = 10;
/// Least slow start threshold, in segments (RFC 5681, section 3.1).
const LEAST: u32 = 2;

/// Algorithm for congestion avoidance.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Algorithm {
    /// CUBIC (RFC 9438).
    #[default]
    Cubic,
    /// NewReno (RFC 5681, section 3.1): a segment more each round trip, half after a loss.
    NewReno,
}

/// An acknowledgement.
#[derive(Clone, Copy, Debug)]
pub(super) struct Acked {
    pub(super) now: u64,
    /// Bytes newly acknowledged.
    pub(super) bytes: u32,
    /// A round trip that it measures.
    pub(super) rtt: Option<u64>,
    /// The smoothed round trip.
    pub(super) smoothed: u64,
    /// All that was sent when the last round began has been acknowledged: a new round begins.
    pub(super) round: bool,
    /// The window was full: it is what limits the sender (RFC 9438, section 5.8; RFC 7661).
    pub(super) full: bool,
}

/// State before a reduction, to be restored if it was for nothing.
#[derive(Clone, Copy, Debug)]
struct Before {
    window: u32,
    threshold: u32,
    cubic: Cubic,
}

/// Congestion window and its algorithm.
#[derive(Clone, Debug)]
pub(super) struct Congestion {
    /// Bytes that may be under way.
    window: u32,
    /// Slow start threshold.
    threshold: u32,
    mss: u32,
    algorithm: Algorithm,
    cubic: Cubic,
    hystart: Hystart,
    /// Bytes acknowledged since the window last grew (RFC 3465).
    counted: u32,
    before: Option<Before>,
}

impl Congestion {
    pub(super) fn new(algorithm: Algorithm, mss: u32) -> Self {
        Self {
            window: INITIAL * mss,
            threshold: u32::MAX,
            mss,
            algorithm,
            cubic: Cubic::default(),
            hystart: Hystart::default(),
            counted: 0,
            before: None,
        }
    }

    /// Goes on by another algorithm, with the same window.
    pub(super) fn set_algorithm(&mut self, algorithm: Algorithm) {
        (self.algorithm, self.cubic, self.before) = (algorithm, Cubic::default(), None);
    }

    /// Takes over another segment size, known after the handshake or by path MTU discovery.
    pub(super) fn set_mss(&mut self, mss: u32) {
        if self.window == INITIAL * self.mss {
            self.window = INITIAL * mss;
        }
        self.mss = mss;
        self.window = self.window.max(mss);
    }

    /// Takes over another segment size, found while data flow: the window stays the same bytes, but one segment at least.
    pub(super) fn resize(&mut self, mss: u32) {
        self.mss = mss;
        self.window = self.window.max(mss);
    }

    /// Bytes that may be under way.
    #[inline]
    pub(super) fn window(&self) -> u32 {
        self.window
    }

    /// Slow start threshold.
    pub(super) fn threshold(&self) -> u32 {
        self.threshold
    }

    /// True if the window doubles each round trip.
    #[inline]
    pub(super) fn is_slow_start(&self) -> bool {
        self.window < self.threshold
    }

    /// Sets the window: recovery decides itself how much goes out.
    pub(super) fn set_window(&mut self, window: u32) {
        self.window = window.max(self.mss);
    }

    /// An acknowledgement outside of recovery.
    #[inline]
    pub(super) fn acked(&mut self, acked: &Acked) {
        if !acked.full {
            return;
        }
        let mut bytes = acked.bytes;
        if self.is_slow_start() {
            let grows = self.hystart.acked(acked);
            let window = self.window.saturating_add(grows).min(self.threshold.max(self.window));
            if self.hystart.has_ended() {
                self.threshold = window;
            }
            let used = window - self.window;
            self.window = window;
            if self.window < self.threshold || used >= bytes {
                return;
            }
            bytes -= used;
        }
        match self.algorithm {
            Algorithm::Cubic => self.window = self.cubic.acked(acked, bytes, self.window, self.mss),
            Algorithm::NewReno => {
                self.counted = self.counted.saturating_add(bytes);
                if self.counted >= self.window {
                    self.counted -= self.window;
                    self.window = self.window.saturating_add(self.mss);
                }
            }
        }
    }

    /// Something was lost, or the network has marked congestion, with so much under way: the threshold becomes the window
    /// after recovery (RFC 5681, equation 4; RFC 9438, section 4.6).
    pub(super) fn congested(&mut self, flight: u32) {
        self.before = Some(Before { window: self.window, threshold: self.threshold, cubic: self.cubic });
        self.reduce(flight);
    }

    /// There was a time-out (RFC 5681, section 3.1): one segment goes out, then slow start to the threshold. Only the first
    /// one in a row reduces the threshold.
    pub(super) fn timed_out(&mut self, flight: u32, first: bool) {
        if first {
            self.before = Some(Before { window: self.window, threshold: self.threshold, cubic: self.cubic });
            self.reduce(flight);
        }
        self.window = self.mss;
        self.counted = 0;
        self.hystart = Hystart::default();
    }

    fn reduce(&mut self, flight: u32) {
        // What was not under way is not known to fit (RFC 5681, section 3.1; RFC 9438, section 4.6).
        let used = flight.min(self.window);
        self.threshold = match self.algorithm {
            Algorithm::Cubic => self.cubic.reduced(self.window, used, self.mss),
            Algorithm::NewReno => used / 2,
        }
        .max(LEAST * self.mss);
        self.counted = 0;
    }

    /// The last reduction was for nothing: nothing was lost (RFC 4015; RFC 5682).
    pub(super) fn undo(&mut self) {
        if let Some(Before { window, threshold, cubic }) = self.before.take() {
            (self.window, self.threshold, self.cubic) = (self.window.max(window), threshold, cubic);
        }
    }

    /// Nothing was sent for longer than a time-out: what the network takes is not known any more (RFC 5681, section 4.1).
    pub(super) fn restart(&mut self) {
        self.threshold = self.threshold.max(self.window / 4 * 3);
        self.window = self.window.min(INITIAL * self.mss);
        self.cubic.restart();
    }
}

#[cfg(test)]
mod tests {
    use super::super::{MILLISECOND, SECOND};
    use super::*;

    pub(super) const MSS: u32 = 1000;

    /// A path of so many bytes a round trip: acknowledges whole windows, and loses what is too much. Returns the window
    /// after each round.
    fn rounds(of: &mut Congestion, rtt: u64, holds: u32, count: usize) -> Vec<u32> {
        let mut now = SECOND;
        (0..count)
            .map(|_| {
                now += rtt;
                let window = of.window();
                for i in 0..window / MSS {
                    let round = i == 0;
                    of.acked(&Acked { now, bytes: MSS, rtt: Some(rtt), smoothed: rtt, round, full: true });
                }
                if window > holds {
                    of.congested(window);
                    of.set_window(of.threshold());
                }
                of.window()
            })
            .collect()
    }

    #[test]
    fn slow_start_doubles() {
        let mut of = Congestion::new(Algorithm::NewReno, MSS);
        assert_eq!(rounds(&mut of, 100 * MILLISECOND, u32::MAX, 4), [20_000, 40_000, 80_000, 160_000], "RFC 5681");
    }

    #[test]
    fn newreno_grows_a_segment_a_round_and_halves() {
        let mut of = Congestion::new(Algorithm::NewReno, MSS);
        of.congested(20_000);
        of.set_window(of.threshold());
        assert_eq!(rounds(&mut of, 100 * MILLISECOND, u32::MAX, 3), [6_000, 7_000, 8_000]);
        of.congested(8_000);
        assert_eq!(of.threshold(), 4_000);
        of.undo();
        assert_eq!((of.window(), of.threshold()), (8_000, 5_000));
        of.undo();
        assert_eq!(of.window(), 8_000, "once");
    }

    #[test]
    fn a_time_out_begins_with_one_segment_and_counts_once() {
        let mut of = Congestion::new(Algorithm::Cubic, MSS);
        of.timed_out(10_000, true);
        assert_eq!((of.window(), of.threshold()), (MSS, 7_000));
        of.timed_out(1_000, false);
        assert_eq!((of.window(), of.threshold()), (MSS, 7_000), "RFC 5681, section 3.1");
        let grown = rounds(&mut of, 50 * MILLISECOND, u32::MAX, 3);
        // Three of four acknowledgements reach the threshold, the fourth is CUBIC's.
        assert!(grown[..2] == [2_000, 4_000] && (7_000..7_500).contains(&grown[2]), "{grown:?}");
    }

    #[test]
    fn a_window_that_is_not_used_does_not_grow() {
        let mut of = Congestion::new(Algorithm::Cubic, MSS);
        of.acked(&Acked { now: 1, bytes: MSS, rtt: None, smoothed: 1, round: true, full: false });
        assert_eq!(of.window(), 10_000);
    }

    #[test]
    fn after_a_pause_the_window_is_the_first_one() {
        let mut of = Congestion::new(Algorithm::Cubic, MSS);
        rounds(&mut of, 100 * MILLISECOND, u32::MAX, 3);
        of.restart();
        assert_eq!((of.window(), of.threshold()), (10_000, u32::MAX));
    }

    #[test]
    fn a_cubic_comes_back_faster_than_newreno_on_a_long_fat_path() {
        let (mut cubic, mut reno) = (Congestion::new(Algorithm::Cubic, MSS), Congestion::new(Algorithm::NewReno, MSS));
        let path = |of: &mut Congestion| {
            rounds(of, 200 * MILLISECOND, 1_000_000, 100).iter().map(|w| u64::from((*w).min(1_000_000))).sum::<u64>()
        };
        let (a, b) = (path(&mut cubic), path(&mut reno));
        assert!(a > b * 11 / 10, "{a} against {b}");
    }
}

//! CUBIC (RFC 9438).

use super::Acked;

/// Constant C, in segments a cubic second (section 4.1).
const C: f64 = 0.4;
/// Factor by which a loss reduces the window (section 4.6).
const BETA: f64 = 0.7;
/// Growth of the window that Reno would have, segments each round trip, so that its mean is the same (section 4.3).
const ALPHA: f64 = 3.0 * (1.0 - BETA) / (1.0 + BETA);

/// State between two losses. Windows are in segments.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Cubic {
    /// Window before the last reduction, or less to leave room to newcomers (sections 4.6 and 4.7).
    before: f64,
    /// Window at the last reduction.
    prior: f64,
    epoch: Option<Epoch>,
}

/// Congestion avoidance since its first acknowledgement.
#[derive(Clone, Copy, Debug)]
struct Epoch {
    began: u64,
    /// Time until the window is what it was, s (section 4.2, K).
    back: f64,
    /// Window that Reno would have (section 4.3).
    reno: f64,
    /// Part of the window's growth that is less than a byte.
    rest: f64,
}

impl Cubic {
    /// Window in bytes after an acknowledgement (sections 4.2 to 4.5).
    pub(super) fn acked(&mut self, acked: &Acked, bytes: u32, window: u32, mss: u32) -> u32 {
        let (size, segments) = (f64::from(window) / f64::from(mss), f64::from(bytes) / f64::from(mss));
        let Self { before, prior, ref mut epoch } = *self;
        let epoch = epoch.get_or_insert_with(|| {
            let lacks = (before - size).max(0.0);
            Epoch { began: acked.now, back: (lacks / C).cbrt(), reno: size, rest: 0.0 }
        });
        // Without a loss before, the plateau is where it is.
        let plateau = before.max(size.min(if before == 0.0 { size } else { before }));
        let seconds = |ns: u64| ns as f64 / 1e9;
        let target = |at: f64| C * (at - epoch.back).powi(3) + plateau;
        let now = seconds(acked.now.saturating_sub(epoch.began));
        let alpha = if epoch.reno >= prior { 1.0 } else { ALPHA };
        epoch.reno += alpha * segments / size;
        let grows = if target(now) < epoch.reno {
            (epoch.reno - size).max(0.0)
        } else {
            let next = target(now + seconds(acked.smoothed)).clamp(size, 1.5 * size);
            (next - size) / size * segments
        };
        let grows = grows * f64::from(mss) + epoch.rest;
        let whole = grows.floor().clamp(0.0, f64::from(u32::MAX - window));
        epoch.rest = grows - whole;
        window + floor(whole)
    }

    /// Threshold in bytes after a loss with so much of the window in use.
    pub(super) fn reduced(&mut self, window: u32, used: u32, mss: u32) -> u32 {
        let size = f64::from(window) / f64::from(mss);
        // Fast convergence (section 4.7).
        self.before = if size < self.before { size * (1.0 + BETA) / 2.0 } else { size };
        (self.prior, self.epoch) = (size, None);
        floor(f64::from(used) * BETA)
    }

    /// The time that has passed was not used (section 5.8).
    pub(super) fn restart(&mut self) {
        self.epoch = None;
    }
}

/// The whole part of a number that fits.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "what it is for: numbers from 0 on, saturating"
)]
fn floor(number: f64) -> u32 {
    number as u32
}

#[cfg(test)]
mod tests {
    use super::super::super::{MILLISECOND, SECOND};
    use super::*;

    const MSS: u32 = 1000;

    fn window_after(cubic: &mut Cubic, mut window: u32, rtt: u64, time: u64) -> u32 {
        let (mut now, end) = (SECOND, SECOND + time);
        while now < end {
            for _ in 0..window / MSS {
                let acked = Acked { now, bytes: MSS, rtt: None, smoothed: rtt, round: false, full: true };
                window = cubic.acked(&acked, MSS, window, MSS);
            }
            now += rtt;
        }
        window
    }

    #[test]
    fn a_window_is_back_after_k_seconds() {
        // W_max is 1000 segments, so K = cbrt(300 / 0.4) = 9.1 s (section 4.2).
        let mut cubic = Cubic::default();
        assert_eq!(cubic.reduced(1_000_000, 1_000_000, MSS), 700_000);
        let almost = window_after(&mut cubic, 700_000, 100 * MILLISECOND, 9_100 * MILLISECOND);
        assert!((990_000..=1_010_000).contains(&almost), "{almost}");
        let mut cubic = Cubic::default();
        cubic.reduced(1_000_000, 1_000_000, MSS);
        let half = window_after(&mut cubic, 700_000, 100 * MILLISECOND, 4_550 * MILLISECOND);
        // C (K/2)^3 is an eighth of the way from the plateau.
        assert!((950_000..=975_000).contains(&half), "{half}");
    }

    #[test]
    fn a_short_path_grows_as_reno_would() {
        let mut cubic = Cubic::default();
        let threshold = cubic.reduced(20_000, 20_000, MSS);
        assert_eq!(threshold, 14_000);
        // 20 round trips of 1 ms: alpha each, 0.53, so 10.6 segments less those beyond 20, where it is 1.
        let after = window_after(&mut cubic, threshold, MILLISECOND, 20 * MILLISECOND);
        assert!((23_000..=30_000).contains(&after), "{after}");
    }

    #[test]
    fn a_second_loss_makes_room_for_newcomers() {
        let mut cubic = Cubic::default();
        cubic.reduced(100_000, 100_000, MSS);
        cubic.reduced(70_000, 70_000, MSS);
        assert!((cubic.before - 59.5).abs() < 1e-9, "section 4.7: {}", cubic.before);
    }

    #[test]
    fn a_great_window_grows_by_half_a_round_trip_and_no_further_than_a_number() {
        for (window, wanted) in [(4_000_000, 6_000_000), (u32::MAX - 10, u32::MAX)] {
            let mut cubic = Cubic::default();
            let acked = |now| Acked { now, bytes: window, rtt: None, smoothed: SECOND, round: true, full: true };
            cubic.acked(&acked(SECOND), 1, window, MSS);
            // After an hour the target is as far as it may be (section 4.4).
            assert_eq!(cubic.acked(&acked(3600 * SECOND), window, window, MSS), wanted);
        }
    }
}

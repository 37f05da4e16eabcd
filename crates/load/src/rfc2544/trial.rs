//! A trial (RFC 2544, section 23): so many frames at a rate to a device's port, counted at another one.

use super::search::Verdict;
use crate::pktgen::{Finished, Ready};
use linerate_result::Test;
use linerate_rt::{Stop, monotonic_ns, pause};
use linerate_text::saturating_u64;
use std::time::Duration;

const SECOND: u128 = 1_000_000_000;
/// Lateness of the last frame that is no sign of a sender that was held up: parts of the time, and nanoseconds.
const LATE: u64 = 5000;
const LATE_NS: u64 = 500_000;

/// Ports, frames and time of each trial.
pub(super) struct Tester {
    pub(super) pkt_gen: Ready,
    /// Bytes of a frame with its FCS.
    pub(super) frame_bytes: u64,
    /// Bytes, with FCS, from which on a frame has room for a time-stamp.
    pub(super) stamped: u64,
    pub(super) seconds: u64,
    /// Seconds between trials.
    pub(super) settle: u64,
    /// Frames of a million that may be lost.
    pub(super) loss_ppm: u64,
}

/// Result of a trial.
pub(super) struct Trial {
    /// Frames that were given to the port to be sent, and those that arrived.
    pub(super) sent: u64,
    pub(super) received: u64,
    /// True if the last frame arrived no later than the rate says.
    pub(super) in_time: bool,
    /// Frames per second that arrived.
    pub(super) arrived: Option<f64>,
    /// Rate of the sender's link, bit/s, if it has one.
    pub(super) link: Option<u64>,
    /// pkt-gen's own account.
    pub(super) test: Test,
}

impl Tester {
    /// Frames per second that the link of a bit rate carries: each with preamble, start and gap, 20 byte times.
    pub(super) fn line_rate(&self, bits_per_s: u64) -> u64 {
        bits_per_s / (8 * (self.frame_bytes + 20))
    }

    /// Frames that a rate makes in the time of a trial.
    pub(super) fn frames(&self, rate: u64) -> u64 {
        rate.saturating_mul(self.seconds).max(1)
    }

    /// Sends as much as the port takes, for a second at most: what teaches the devices between where the ports are, and tells
    /// the greatest rate that there is: the link's, which is true then, or else the sender's own.
    pub(super) fn greatest(&self, stop: &Stop) -> Result<(u64, bool), String> {
        let time = Duration::from_secs(self.seconds.min(1));
        let finished = self.pkt_gen.trial(stop, |config| config.seconds = Some(time))?;
        let trial = trial(finished, None)?;
        let sent = trial.test.value.as_ref().and_then(|rate| rate.median.known());
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a rate of frames")]
        let rate = trial.link.map(|bits| self.line_rate(bits)).or(sent.map(|rate| rate as u64));
        match rate.filter(|rate| *rate > 0) {
            Some(rate) => Ok((rate, trial.link.is_some())),
            None => Err("the port took no frame, so there is no rate to begin with".to_owned()),
        }
    }

    /// Sends frames at a rate; `None` is as fast as the port takes them.
    pub(super) fn offer(&self, frames: u64, rate: u64, latency: bool, stop: &Stop) -> Result<Trial, String> {
        if self.settle > 0 {
            pause(&[stop], Some(monotonic_ns() + self.settle * 1_000_000_000));
        }
        if stop.asked() {
            return Err("stopped".to_owned());
        }
        let finished = self.pkt_gen.trial(stop, |config| {
            (config.count, config.rate, config.latency) = (frames, Some(rate), latency);
        })?;
        trial(finished, Some((frames, rate)))
    }

    /// Verdict on a trial at a rate.
    pub(super) fn judge(&self, trial: &Trial) -> Verdict {
        let lost = u128::from(trial.sent.saturating_sub(trial.received));
        let few = |part: u128| lost * 1_000_000 <= part * u128::from(trial.sent);
        match (few(self.loss_ppm.into()), trial.in_time) {
            (true, true) => Verdict::Passes,
            // One in a thousand: of more it is not asked again.
            (_, true) if !few(u128::from(self.loss_ppm) + 1000) => Verdict::Fails,
            _ => Verdict::Doubtful,
        }
    }
}

fn trial(finished: Finished, asked: Option<(u64, u64)>) -> Result<Trial, String> {
    let Finished { result, received, arrived, link, .. } = finished;
    let mut test = result.tests.into_iter().next().ok_or("nothing was measured")?;
    let checked = received.ok_or("--to: give the port at which the frames arrive")?;
    if checked.spoiled() > 0 {
        return Err(format!("{} frames arrived damaged: the devices between change frames", checked.spoiled()));
    }
    // A frame that the port refuses, such as one that `faults=` drops, is lost on the way too.
    let sent = test.ledger.as_ref().and_then(|ledger| ledger.offered).unwrap_or(0);
    // A device that loses frames is what is measured.
    test.failures.clear();
    let ns = arrived.map(|arrived| arrived.usec.saturating_mul(1000));
    let in_time = asked.is_none_or(|(frames, rate)| {
        let due = saturating_u64(u128::from(frames) * SECOND / u128::from(rate.max(1)));
        sent == frames && ns.is_none_or(|ns| ns <= due.saturating_add(due / LATE).saturating_add(LATE_NS))
    });
    let arrived = arrived.and_then(|arrived| arrived.rates().ok()).map(|(frames, _)| frames);
    Ok(Trial { sent, received: checked.ours, in_time, arrived, link, test })
}

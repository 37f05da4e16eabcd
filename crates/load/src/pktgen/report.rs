//! The lines that netmap's pkt-gen prints, to the letter.

use super::config::Style;

/// Where today's and the older pkt-gen's `main_thread` print from; scripts match the bracket.
const LINE: u32 = 2781;
const CLASSIC_LINE: u32 = 1418;
/// Samples of `-A`'s window.
const WINDOW: usize = 15;

/// What happened between two reports, or in the whole run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progressed {
    /// Frames.
    pub frames: u64,
    /// Bytes without FCS.
    pub bytes: u64,
    /// Bursts.
    pub events: u64,
    /// Least room in the rings, slots.
    pub min_space: u64,
    /// Time, microseconds.
    pub usec: u64,
    /// Frames and bytes that were there when that time began.
    pub before: (u64, u64),
}

/// A rate over less time than this, microseconds, would tell of the clock and of one burst.
const LEAST_US: u64 = 100;

impl Progressed {
    /// Frames and bytes a second; why there are none if no time was measured in which they came or went.
    ///
    /// # Errors
    /// A line.
    pub fn rates(&self) -> Result<(f64, f64), String> {
        let (frames, bytes) = (self.frames.saturating_sub(self.before.0), self.bytes.saturating_sub(self.before.1));
        if self.usec < LEAST_US || frames == 0 {
            return Err(format!("{} packets within {} us are too few to measure a rate by", self.frames, self.usec));
        }
        let seconds = float(self.usec) / 1e6;
        Ok((float(frames) / seconds, float(bytes) / seconds))
    }
}

/// How figures are told.
#[derive(Clone, Debug)]
pub struct Teller {
    style: Style,
    normalize: bool,
    /// Bits of framing counted with each frame.
    framing: u64,
    window: Option<Vec<u64>>,
}

impl Teller {
    /// `framing`: count 24 bytes of it a frame (`-B`); `window`: tell mean and deviation too (`-A`).
    #[must_use]
    pub fn new(style: Style, normalize: bool, framing: bool, window: bool) -> Self {
        Self { style, normalize, framing: if framing { 24 * 8 } else { 0 }, window: window.then(Vec::new) }
    }

    /// A number with its prefix and the space before the unit, as netmap's `norm` makes it.
    fn norm(&self, value: f64) -> String {
        if !self.normalize {
            return format!("{value:.0} ");
        }
        let (mut value, mut prefix) = (value, "");
        for next in ["K", "M", "G", "T"] {
            if value < 1000.0 {
                break;
            }
            (value, prefix) = (value / 1000.0, next);
        }
        format!("{value:.3} {prefix}")
    }

    /// The periodic line: which line of `main_thread` it is said to come from, and its text.
    pub fn periodic(&mut self, x: &Progressed) -> (u32, String) {
        let usec = x.usec.max(1);
        let pps = (x.frames * 1_000_000 + usec / 2) / usec;
        if self.style == Style::Classic {
            return (CLASSIC_LINE, format!("{pps} pps ({} pkts in {usec} usec)", x.frames));
        }
        let batch = if x.events > 0 { float(x.frames) / float(x.events) } else { 0.0 };
        let bits = 1e6 * (float(x.bytes) * 8.0 + float(x.frames * self.framing)) / float(usec);
        let stats = self.stats(pps);
        let text = format!(
            "{}pps {stats}({}pkts {}bps in {usec} usec) {batch:.2} avg_batch {} min_space",
            self.norm(float(pps)),
            self.norm(float(x.frames)),
            self.norm(bits),
            x.min_space
        );
        (LINE, text)
    }

    /// Mean and deviation of the last reports' rates, those without frames left out.
    fn stats(&mut self, pps: u64) -> String {
        let Some(window) = &mut self.window else { return String::new() };
        if window.len() == WINDOW {
            window.remove(0);
        }
        window.push(pps);
        let live: Vec<f64> = window.iter().filter(|pps| **pps > 0).map(|pps| float(*pps)).collect();
        let n = float(live.len().max(1) as u64);
        let mean = live.iter().sum::<f64>() / n;
        let deviation = (live.iter().map(|pps| (pps - mean).powi(2)).sum::<f64>() / n).sqrt();
        format!("[avg/std {}/{} pps]", self.norm(mean), self.norm(deviation))
    }

    /// The last two lines; `verb` is "Sent" or "Received".
    #[must_use]
    pub fn last(&self, verb: &str, x: &Progressed) -> Vec<String> {
        if x.frames == 0 {
            return vec![format!("{verb} nothing.")];
        }
        let seconds = float(x.usec) / 1e6;
        let size = x.bytes / x.frames;
        let batch = float(x.frames) / float(x.events.max(1));
        let speed = match x.rates() {
            Ok((pps, bytes)) => {
                let (bits, raw) = (8.0 * bytes, 8.0 * bytes + pps * float(self.framing));
                format!("{}pps Bandwidth: {}bps (raw {}bps)", self.norm(pps), self.norm(bits), self.norm(raw))
            }
            Err(why) => format!("not measured: {why}"),
        };
        vec![
            format!(
                "{verb} {} packets {} bytes {} events {size} bytes each in {seconds:.2} seconds.",
                x.frames, x.bytes, x.events
            ),
            format!("Speed: {speed}. Average batch: {batch:.2} pkts"),
        ]
    }
}

/// A count as a float: to 53 bits, which no count here exceeds within a century.
#[expect(clippy::cast_precision_loss, reason = "see above")]
pub(super) fn float(n: u64) -> f64 {
    n as f64
}

#[cfg(test)]
mod tests;

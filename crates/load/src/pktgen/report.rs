//! Lines in the exact format of netmap's pkt-gen.

use super::config::Style;

/// Line numbers of `main_thread` in the present and the older pkt-gen; scripts match the bracket.
const LINE: u32 = 2781;
const CLASSIC_LINE: u32 = 1418;
/// Number of reports in the window of `-A`.
const WINDOW: usize = 15;

/// Counts between two reports, or of the whole run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progressed {
    pub frames: u64,
    /// Bytes without FCS.
    pub bytes: u64,
    /// Bursts.
    pub events: u64,
    /// Least free space in the rings, slots.
    pub min_space: u64,
    /// Time, microseconds.
    pub usec: u64,
    /// Frames and bytes that were present when that time began.
    pub before: (u64, u64),
}

/// Shortest time for a rate, microseconds: a shorter one would depend on the clock and on one burst.
const LEAST_US: u64 = 100;

impl Progressed {
    /// Frames and bytes per second; an error if no time was measured in which frames moved.
    pub fn rates(&self) -> Result<(f64, f64), String> {
        let (frames, bytes) = (self.frames.saturating_sub(self.before.0), self.bytes.saturating_sub(self.before.1));
        if self.usec < LEAST_US || frames == 0 {
            return Err(format!("{} packets within {} us are too few to measure a rate by", self.frames, self.usec));
        }
        let seconds = float(self.usec) / 1e6;
        Ok((float(frames) / seconds, float(bytes) / seconds))
    }
}

/// Formatter of figures.
#[derive(Clone, Debug)]
pub struct Teller {
    style: Style,
    normalize: bool,
    /// Bits of framing counted with each frame.
    framing: u64,
    window: Option<Vec<u64>>,
}

impl Teller {
    /// `framing`: count 24 bytes of framing per frame (`-B`); `window`: report mean and deviation too (`-A`).
    #[must_use]
    pub fn new(style: Style, normalize: bool, framing: bool, window: bool) -> Self {
        Self { style, normalize, framing: if framing { 24 * 8 } else { 0 }, window: window.then(Vec::new) }
    }

    /// A number with its prefix and the space before the unit, in the format of netmap's `norm`.
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

    /// The periodic line: its line number in `main_thread`, and its text.
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

    /// Mean and deviation of the last reports' rates, without those that have no frames.
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

//! Report that keeps the figures of a test.

use super::Report;
use crate::stream::figures::{Figure, StreamInfo, Summary};

#[derive(Debug, Default)]
pub(in crate::stream) struct Kept {
    /// Bytes that all streams moved in each interval, and its end, seconds.
    pub(in crate::stream) intervals: Vec<(f64, u64)>,
    pub(in crate::stream) summary: Option<(Vec<StreamInfo>, Summary)>,
}

impl Report for Kept {
    fn interval(&mut self, _: &[StreamInfo], figures: &[Figure]) {
        let Some(first) = figures.first().filter(|first| !first.omitted && first.seconds() > 0.0) else { return };
        self.intervals.push((first.end, figures.iter().map(|figure| figure.bytes).sum()));
    }

    fn summary(&mut self, infos: &[StreamInfo], summary: &Summary) {
        self.summary = Some((infos.to_vec(), summary.clone()));
    }
}

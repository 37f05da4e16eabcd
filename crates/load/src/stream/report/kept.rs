//! Report that keeps the figures of a test, and has it begin with those that are measured at the same time.

use super::Report;
use crate::stream::figures::{Figure, StreamInfo, Subject, Summary};
use crate::turn::Turn;
use linerate_rt::Stop;

pub(in crate::stream) struct Kept<'a> {
    /// Turn among others, and the stop that ends the wait for them.
    turn: (&'a Turn<'a>, &'a Stop),
    /// Bytes that all streams moved in each interval, and its end, seconds.
    pub(in crate::stream) intervals: Vec<(f64, u64)>,
    pub(in crate::stream) summary: Option<(Vec<StreamInfo>, Summary)>,
}

impl<'a> Kept<'a> {
    pub(in crate::stream) fn of(turn: &'a Turn<'a>, stop: &'a Stop) -> Self {
        Self { turn: (turn, stop), intervals: Vec::new(), summary: None }
    }
}

impl Report for Kept<'_> {
    /// The server begins its time once the streams are open, which they are not yet.
    fn agreed(&mut self, _: &Subject) {
        let (turn, stop) = self.turn;
        turn.wait(stop);
    }

    fn started(&mut self) {
        self.turn.0.begins();
    }

    fn interval(&mut self, _: &[StreamInfo], figures: &[Figure]) {
        let Some(first) = figures.first().filter(|first| !first.omitted && first.seconds() > 0.0) else { return };
        self.intervals.push((first.end, figures.iter().map(|figure| figure.bytes).sum()));
    }

    fn summary(&mut self, infos: &[StreamInfo], summary: &Summary) {
        self.summary = Some((infos.to_vec(), summary.clone()));
    }
}

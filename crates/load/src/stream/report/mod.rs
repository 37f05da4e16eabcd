//! Reports of a test, in iperf3's lines, in iperf3's document, or kept for whoever runs it.

mod document;
mod kept;
mod lines;
mod tree;

use super::config::Form;
use super::figures::{Buffers, Figure, ServerOutput, StreamInfo, Subject, Summary};
use crate::Output;
use document::Document;
pub(super) use kept::Kept;
use lines::Lines;
use std::sync::Arc;

/// What is told of a test, in this order. A report takes what it shows.
pub(super) trait Report {
    /// Version and system.
    fn hello(&mut self) {}
    /// A line for those who want more of them.
    fn detail(&mut self, _line: &str) {}
    /// The two ends know what to do; once more after a second login, by another connection.
    fn agreed(&mut self, _subject: &Subject) {}
    /// Sizes of the buffers of a stream.
    fn buffers(&mut self, _sizes: Buffers) {}
    /// A stream is open.
    fn stream(&mut self, _info: &StreamInfo) {}
    fn started(&mut self) {}
    fn interval(&mut self, infos: &[StreamInfo], figures: &[Figure]);
    /// The time that is omitted is over.
    fn counting(&mut self) {}
    fn summary(&mut self, infos: &[StreamInfo], summary: &Summary);
    /// Output for the client, if it asked for it.
    fn for_client(&self) -> ServerOutput {
        ServerOutput::None
    }
    /// The end, for a reason if there is one.
    fn end(&mut self, _fault: Option<&str>) {}
}

/// Reports of one test at once: the first one is what is printed.
pub(super) struct Reports(Vec<Box<dyn Report>>);

impl Reports {
    /// Begins a report, with a title in front of each line if one is given, and a record of the test if it is kept.
    pub(super) fn new(form: &Form, title: Option<&str>, output: &Arc<Output>) -> Self {
        let printed: Box<dyn Report> = if form.json {
            Box::new(Document::new(form, output.clone()))
        } else {
            Box::new(Lines::new(form, title, output.clone()))
        };
        let record = output.keeps().then(|| Box::new(Document::record(form, output.clone())) as Box<dyn Report>);
        Self(std::iter::once(printed).chain(record).collect())
    }

    fn each(&mut self, tell: impl FnMut(&mut Box<dyn Report>)) {
        self.0.iter_mut().for_each(tell);
    }
}

impl Report for Reports {
    fn hello(&mut self) {
        self.each(|report| report.hello());
    }

    fn detail(&mut self, line: &str) {
        self.each(|report| report.detail(line));
    }

    fn agreed(&mut self, subject: &Subject) {
        self.each(|report| report.agreed(subject));
    }

    fn buffers(&mut self, sizes: Buffers) {
        self.each(|report| report.buffers(sizes));
    }

    fn stream(&mut self, info: &StreamInfo) {
        self.each(|report| report.stream(info));
    }

    fn started(&mut self) {
        self.each(|report| report.started());
    }

    fn interval(&mut self, infos: &[StreamInfo], figures: &[Figure]) {
        self.each(|report| report.interval(infos, figures));
    }

    fn counting(&mut self) {
        self.each(|report| report.counting());
    }

    fn summary(&mut self, infos: &[StreamInfo], summary: &Summary) {
        self.each(|report| report.summary(infos, summary));
    }

    fn for_client(&self) -> ServerOutput {
        self.0.first().map_or(ServerOutput::None, |printed| printed.for_client())
    }

    fn end(&mut self, fault: Option<&str>) {
        self.each(|report| report.end(fault));
    }
}

/// True if the figures of an interval are worth a line: it is not very short, or something moved in it.
fn is_worth(figures: &[Figure], interval: f64) -> bool {
    figures.iter().any(|figure| figure.seconds() >= interval * 0.1 || figure.bytes > 0)
}

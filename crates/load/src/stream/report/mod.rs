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

/// Report of a test.
pub(super) enum Report {
    Lines(Box<Lines>),
    Document(Box<Document>),
    Kept(Box<Kept>),
}

impl Report {
    /// Begins a report, with a title in front of each line if one is given.
    pub(super) fn new(form: &Form, title: Option<&str>, output: &Arc<Output>) -> Self {
        if form.json {
            Self::Document(Box::new(Document::new(form, output.clone())))
        } else {
            Self::Lines(Box::new(Lines::new(form, title, output.clone())))
        }
    }

    /// Version and system.
    pub(super) fn hello(&mut self) {
        match self {
            Self::Lines(lines) => lines.hello(),
            Self::Document(_) | Self::Kept(_) => {}
        }
    }

    /// A line for those who want more of them.
    pub(super) fn detail(&mut self, line: &str) {
        match self {
            Self::Lines(lines) => lines.detail(line),
            Self::Document(_) | Self::Kept(_) => {}
        }
    }

    /// The two ends know what to do.
    pub(super) fn agreed(&mut self, subject: Subject) {
        match self {
            Self::Lines(lines) => lines.agreed(subject),
            Self::Document(document) => document.agreed(subject),
            Self::Kept(_) => {}
        }
    }

    /// Sizes of the buffers of a stream.
    pub(super) fn buffers(&mut self, sizes: Buffers) {
        match self {
            Self::Lines(_) | Self::Kept(_) => {}
            Self::Document(document) => document.buffers(sizes),
        }
    }

    /// A stream is open.
    pub(super) fn stream(&mut self, info: &StreamInfo) {
        match self {
            Self::Lines(lines) => lines.stream(info),
            Self::Document(document) => document.stream(info),
            Self::Kept(_) => {}
        }
    }

    /// The test begins.
    pub(super) fn started(&mut self) {
        match self {
            Self::Lines(lines) => lines.started(),
            Self::Document(document) => document.started(),
            Self::Kept(_) => {}
        }
    }

    /// Figures of an interval.
    pub(super) fn interval(&mut self, infos: &[StreamInfo], figures: &[Figure]) {
        match self {
            Self::Lines(lines) => lines.interval(infos, figures),
            Self::Document(document) => document.interval(infos, figures),
            Self::Kept(kept) => kept.interval(figures),
        }
    }

    /// The count begins.
    pub(super) fn counting(&mut self) {
        match self {
            Self::Lines(lines) => lines.counting(),
            Self::Document(_) | Self::Kept(_) => {}
        }
    }

    /// Figures of the whole test.
    pub(super) fn summary(&mut self, infos: &[StreamInfo], summary: Summary) {
        match self {
            Self::Lines(lines) => lines.summary(infos, summary),
            Self::Document(document) => document.summary(infos, summary),
            Self::Kept(kept) => kept.summary(infos, summary),
        }
    }

    /// Output for the client, if it asked for it.
    pub(super) fn for_client(&self) -> ServerOutput {
        match self {
            Self::Lines(lines) => lines.for_client(),
            Self::Document(document) => ServerOutput::Json(document.value()),
            Self::Kept(_) => ServerOutput::None,
        }
    }

    /// The end, for a reason if there is one.
    pub(super) fn end(&mut self, fault: Option<&str>) {
        match self {
            Self::Lines(lines) => lines.end(fault),
            Self::Document(document) => document.end(fault),
            Self::Kept(_) => {}
        }
    }
}

/// True if the figures of an interval are worth a line: it is not very short, or something moved in it.
fn is_worth(figures: &[Figure], interval: f64) -> bool {
    figures.iter().any(|figure| figure.seconds() >= interval * 0.1 || figure.bytes > 0)
}

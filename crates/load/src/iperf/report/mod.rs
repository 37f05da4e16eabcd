//! Reports: lines of flows, and sums of groups of them, in the order in which they come about.
//!
//! A [`Reporter`] knows all flows that go on. Whoever has the time tells it so (`tick`), and it prints what is due. Flows of
//! one group are summed: all of a client, or those of one address at a server. A reporter without an output prints nothing.

mod lines;
mod record;
mod settings;
mod table;

pub(super) use lines::Connected;
pub(super) use settings::{ClientSettings, EndSettings, ServerSettings};

use super::config::Form;
use super::flow::{Figures, Flow};
use super::protocol::Report;
use crate::Output;
use linerate_text::saturating_ns;
use lines::{Heading, Kind, Span};
use record::Rows;
use std::net::IpAddr;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

/// Share of an interval from which the last, shorter one has a line of its own.
const SHARE: f64 = 0.25;

pub(super) struct Reporter {
    pub(super) form: Form,
    output: Option<Arc<Output>>,
    inner: Mutex<Inner>,
    numbers: AtomicU32,
    serves: bool,
}

#[derive(Default)]
struct Inner {
    /// Headings printed since there were no flows.
    shown: Vec<Heading>,
    groups: Vec<Group>,
    /// What flows have moved, if it is kept: of each group that goes on at a server, of all flows at a client.
    rows: Vec<(Of, Rows)>,
}

/// Flows that are summed: those of one address, and of one of the ways that data flow one after the other (`-r`); `None` for
/// those of a client.
pub(super) type Of = Option<(IpAddr, bool)>;

/// Group of flows that are summed.
struct Group {
    of: Of,
    begin: u64,
    /// Intervals that were reported.
    ticks: u64,
    entries: Vec<Entry>,
    /// Sum at the last interval, and its time.
    before: Figures,
    at: u64,
}

struct Entry {
    flow: Arc<Flow>,
    /// Figures at the last interval, and its time.
    before: Figures,
    at: u64,
    /// End, and the last figures.
    ended: Option<(u64, Figures)>,
}

impl Reporter {
    pub(super) fn new(form: Form, output: Option<Arc<Output>>, serves: bool) -> Self {
        Self { form, output, inner: Mutex::default(), numbers: AtomicU32::new(0), serves }
    }

    pub(super) fn number(&self) -> u32 {
        self.numbers.fetch_add(1, Relaxed) + 1
    }

    fn print(&self, text: &str) {
        if let Some(output) = self.output.as_ref().filter(|_| !text.is_empty()) {
            output.print(text);
        }
    }

    pub(super) fn error(&self, line: &str) {
        if let Some(output) = &self.output {
            output.error(line);
        }
    }

    pub(super) fn settings(&self, text: &str) {
        if !self.form.without.settings && !self.form.csv {
            self.print(text);
        }
    }

    pub(super) fn connected(&self, connection: &Connected<'_>) {
        if !self.form.without.connections && !self.form.csv {
            self.print(&connection.line(&self.form));
        }
    }

    pub(super) fn connects(&self, text: &str) {
        if !self.form.csv && !self.form.without.data {
            self.print(text);
        }
    }

    /// A flow begins: of the client's group, or of an address.
    pub(super) fn begin(&self, of: Of, flow: &Arc<Flow>) {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        if inner.groups.is_empty() {
            inner.shown.clear();
        }
        let at = inner.groups.iter().position(|group| group.of == of).unwrap_or_else(|| {
            let (entries, before) = (Vec::new(), Figures::default());
            inner.groups.push(Group { of, begin: flow.begin, ticks: 0, entries, before, at: flow.begin });
            inner.groups.len() - 1
        });
        if self.keeps() {
            self::of(&mut inner.rows, of.filter(|_| self.serves)).begin();
        }
        let entry = Entry { flow: flow.clone(), before: Figures::default(), at: flow.begin, ended: None };
        inner.groups[at].entries.push(entry);
    }

    /// Prints what is due at this time; returns when the next lines are due.
    pub(super) fn tick(&self, now: u64) -> Option<u64> {
        let interval = saturating_ns(self.form.interval?);
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        let Inner { shown, groups, rows } = &mut *inner;
        let mut text = String::new();
        for group in groups.iter_mut() {
            if now >= group.due(interval) {
                group.ticks = now.saturating_sub(group.begin) / interval;
                if self.keeps() {
                    let rows = of(rows, group.of.filter(|_| self.serves));
                    for entry in group.entries.iter().filter(|entry| entry.ended.is_none()) {
                        let span = Span::new(entry.flow.begin, entry.at, now);
                        rows.add(&entry.flow, span, &entry.flow.figures(false).since(&entry.before), false);
                    }
                }
                text += &group.interval(now, &self.form, shown);
            }
        }
        let next = groups.iter().map(|group| group.due(interval)).min();
        self.figures(&text);
        next
    }

    /// A flow has ended, by a fault if there is one.
    pub(super) fn end(&self, flow: &Arc<Flow>, now: u64, fault: Option<&str>) -> Figures {
        let figures = flow.figures(false);
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        let Inner { shown, groups, rows } = &mut *inner;
        let mut text = String::new();
        for group in groups.iter_mut() {
            if group.entries.iter().any(|entry| Arc::ptr_eq(&entry.flow, flow)) {
                text += &group.end(flow, now, &figures, &self.form, shown);
                if self.keeps() {
                    let rows = of(rows, group.of.filter(|_| self.serves));
                    rows.add(flow, Span::new(flow.begin, flow.begin, now), &figures, true);
                    rows.fault = rows.fault.take().or_else(|| fault.map(str::to_owned));
                }
            }
        }
        groups.retain(|group| group.entries.iter().any(|entry| entry.ended.is_none()));
        self.figures(&text);
        if self.serves {
            let goes_on = |of: Of| groups.iter().any(|group| group.of == of);
            let over: Vec<Rows> = rows.extract_if(.., |(of, _)| !goes_on(*of)).map(|(_, rows)| rows).collect();
            drop(inner);
            over.into_iter().for_each(|rows| self.keep(rows));
        }
        figures
    }

    /// True if somebody takes the records of tests.
    fn keeps(&self) -> bool {
        self.output.as_ref().is_some_and(|output| output.keeps())
    }

    fn keep(&self, mut rows: Rows) {
        let fault = rows.fault.take();
        let records = rows.records(!self.serves);
        if let Some(output) = self.output.as_ref().filter(|_| !records.is_empty()) {
            output.keep(&records, fault.as_deref());
        }
    }

    /// A client's test is over, by a fault if there is one.
    pub(super) fn over(&self, fault: Option<&str>) {
        let rows = std::mem::take(&mut self.inner.lock().unwrap_or_else(PoisonError::into_inner).rows);
        for (_, mut rows) in rows {
            rows.fault = rows.fault.take().or_else(|| fault.map(str::to_owned));
            self.keep(rows);
        }
    }

    pub(super) fn report(&self, flow: &Flow, report: &Report) {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        let (span, figures) = lines::reported(report);
        inner.rows.iter_mut().for_each(|(_, rows)| rows.arrived(flow, span, &figures));
        if self.form.without.report || self.form.csv {
            return;
        }
        let text = lines::report(flow, report, &self.form, &mut inner.shown);
        self.figures(&text);
    }

    fn figures(&self, text: &str) {
        if !self.form.without.data {
            self.print(text);
        }
    }
}

fn of(rows: &mut Vec<(Of, Rows)>, of: Of) -> &mut Rows {
    let at = rows.iter().position(|(known, _)| *known == of).unwrap_or_else(|| {
        rows.push((of, Rows::default()));
        rows.len() - 1
    });
    &mut rows[at].1
}

impl Group {
    fn due(&self, interval: u64) -> u64 {
        self.begin.saturating_add((self.ticks + 1).saturating_mul(interval))
    }

    fn sum(&self) -> Figures {
        let of = |entry: &Entry| entry.ended.map_or_else(|| entry.flow.figures(false), |(_, figures)| figures);
        self.entries.iter().fold(Figures::default(), |sum, entry| sum.and(&of(entry)))
    }

    fn interval(&mut self, now: u64, form: &Form, shown: &mut Vec<Heading>) -> String {
        let mut text = String::new();
        for entry in self.entries.iter_mut().filter(|entry| entry.ended.is_none()) {
            text += &entry.interval(now, form, shown);
        }
        if let Some(kind) = Kind::of_sum(&self.flows(), self.of.is_none()) {
            let sum = self.sum();
            let span = Span::new(self.begin, self.at, now);
            text += &lines::sum(kind, &self.flows(), span, &sum.since(&self.before), form, shown, false);
            (self.before, self.at) = (sum, now);
        }
        text
    }

    /// Lines of the end of a flow, and of the group, if it was the last one.
    fn end(&mut self, flow: &Arc<Flow>, now: u64, figures: &Figures, form: &Form, shown: &mut Vec<Heading>) -> String {
        let mut text = String::new();
        for entry in self.entries.iter_mut().filter(|entry| Arc::ptr_eq(&entry.flow, flow)) {
            let interval = form.interval.map_or(f64::INFINITY, |interval| interval.as_secs_f64());
            let rest = Span::new(flow.begin, entry.at, now).seconds();
            if entry.at > flow.begin && rest > SHARE * interval && figures.bytes > entry.before.bytes {
                text += &entry.interval(now, form, shown);
            }
            text += &lines::flow(flow, Span::new(flow.begin, flow.begin, now), figures, form, shown);
            text += &lines::ended(flow, figures, form);
            entry.ended = Some((now, *figures));
        }
        text += &self.pair(flow, form, shown);
        if self.entries.iter().all(|entry| entry.ended.is_some())
            && let Some(kind) = Kind::of_sum(&self.flows(), self.of.is_none())
        {
            let last = self.entries.iter().filter_map(|entry| entry.ended).map(|(at, _)| at).max().unwrap_or(now);
            let span = Span::new(self.begin, self.begin, last);
            text += &lines::sum(kind, &self.flows(), span, &self.sum(), form, shown, true);
        }
        text
    }

    /// Line of both flows of a connection, if the other one has ended before.
    fn pair(&self, flow: &Flow, form: &Form, shown: &mut Vec<Heading>) -> String {
        let both: Vec<&Entry> = self.entries.iter().filter(|entry| entry.flow.id == flow.id).collect();
        let ends: Option<Vec<_>> = both.iter().map(|entry| entry.ended).collect();
        match ends {
            Some(ends) if flow.duplex && flow.enhanced && both.len() == 2 => {
                let last = ends.iter().map(|(at, _)| *at).max().unwrap_or(flow.begin);
                let sum = ends[0].1.and(&ends[1].1);
                lines::pair(flow, Span::new(flow.begin, flow.begin, last), &sum, form, shown)
            }
            _ => String::new(),
        }
    }

    fn flows(&self) -> Vec<&Flow> {
        self.entries.iter().map(|entry| &*entry.flow).collect()
    }
}

impl Entry {
    fn interval(&mut self, now: u64, form: &Form, shown: &mut Vec<Heading>) -> String {
        let figures = self.flow.figures(true);
        let span = Span::new(self.flow.begin, self.at, now);
        let text = lines::flow(&self.flow, span, &figures.since(&self.before), form, shown);
        (self.before, self.at) = (figures, now);
        text
    }
}

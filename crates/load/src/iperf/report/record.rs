//! Record of a test, for who keeps it: rows as `-y C` prints them, and behind those of several flows one of their sum.

use super::lines::Span;
use super::table;
use crate::Record;
use crate::iperf::config::Form;
use crate::iperf::flow::{Ends, Figures, Flow};
use crate::socket::TcpStream;
use crate::validity::Validity;
use linerate_result::Connection;

/// Format of the record.
const FORMAT: &str = "iperf-csv";

/// Digits of seconds behind the point.
const DIGITS: usize = 6;

/// Greatest number of rows of one test.
const MOST: usize = 200_000;

/// Figures of a flow, in an interval or from its begin to its end. The flow itself would hold its socket open.
struct Row {
    flow: Ends,
    span: Span,
    figures: Figures,
    /// The connection at its end, of a sender.
    connection: Option<Connection>,
    is_last: bool,
}

/// What flows have moved so far.
#[derive(Default)]
pub(super) struct Rows {
    all: Vec<Row>,
    /// State of the machine when the first flow began.
    validity: Option<Validity>,
    /// The first fault of a flow.
    pub(super) fault: Option<String>,
}

impl Rows {
    pub(super) fn add(&mut self, flow: &Flow, span: Span, figures: &Figures, is_last: bool) {
        let mut figures = *figures;
        if is_last && flow.sends && flow.is_udp() {
            // What arrives of datagrams, their sender does not know.
            figures.datagrams = 0;
        }
        if !is_last && self.all.len() >= MOST {
            return;
        }
        let connection = if is_last && flow.sends {
            flow.socket.tcp().and_then(TcpStream::info).map(|info| info.connection(info.retransmits))
        } else {
            None
        };
        self.all.push(Row { flow: flow.ends(), span, figures, connection, is_last });
    }

    /// A flow begins.
    pub(super) fn begin(&mut self) {
        self.validity.get_or_insert_with(Validity::begin);
    }

    /// The other end has told what it received of a flow.
    pub(super) fn arrived(&mut self, flow: &Flow, span: Span, figures: &Figures) {
        for row in self.all.iter_mut().filter(|row| row.is_last && row.flow == flow.ends()) {
            (row.span, row.figures) = (span, *figures);
        }
    }

    /// The record of each direction of a client's test, or of a server's.
    pub(super) fn records(mut self, is_client: bool) -> Vec<Record> {
        let validity = self.validity.take();
        let warnings: Vec<String> = validity.into_iter().flat_map(|validity| validity.end().lines()).collect();
        let of = |sends: bool| {
            let all: Vec<&Row> = self.all.iter().filter(|row| row.flow.sends == sends).collect();
            let last: Vec<&Row> = all.iter().copied().filter(|row| row.is_last).collect();
            let form = Form { enhanced: true, ..Form::default() };
            let row = |row: &&Row| table::row(&row.flow, row.span, &row.figures, &form, DIGITS);
            let text = match &last[..] {
                [] => return None,
                [_] => all.iter().map(row).collect(),
                [first, ..] => {
                    let to = last.iter().map(|row| row.span.to).fold(0.0, f64::max);
                    let sum = last.iter().fold(Figures::default(), |sum, row| sum.and(&row.figures));
                    last.iter().map(row).collect::<String>()
                        + &table::sum(&first.flow, Span { from: 0.0, to }, &sum, &form, DIGITS)
                }
            };
            let (reverse, warnings) = (is_client != sends, warnings.clone());
            let connections = last.iter().filter_map(|row| Some((reverse, row.connection?))).collect();
            Some(Record { reverse, connections, warnings, ..Record::new(FORMAT, text) })
        };
        [is_client, !is_client].into_iter().filter_map(of).collect()
    }
}

//! Columns of xdd's table, by the names that `-outputformat` gives them.
//!
//! Names, headings, units, widths and digits are those of xdd 7, so that programs that read its lines read these. What
//! was not measured is -1, as in xdd.

use super::table::Row;
use Value::{Count, Delimiter, Real, Text, Unknown};
use linerate_text::nearest;

/// Columns of a table without `-outputformat`.
const DEFAULT: &str = "+WHAT+PASS+TARGET+QUEUE+BYTESXFERED+OPS+ELAPSEDTIMEPASS+BANDWIDTH+IOPS+LATENCY+PERCENTCPUTIME+OPTYPE\
                       +XFERSIZEBYTES";

struct Column {
    /// Its names, separated by spaces.
    names: &'static str,
    width: usize,
    heading: &'static str,
    unit: &'static str,
    value: Value,
}

enum Value {
    Text(fn(&Row<'_>) -> String),
    /// A number; -1 if the targets of the row differ in it.
    Count(fn(&Row<'_>) -> Option<u64>),
    /// A number with so many digits behind the point.
    Real(usize, fn(&Row<'_>) -> f64),
    /// A time that is not measured, with so many digits.
    Unknown(usize),
    /// The character between columns, once more.
    Delimiter,
}

const fn column(names: &'static str, width: usize, heading: &'static str, unit: &'static str, value: Value) -> Column {
    Column { names, width, heading, unit, value }
}

#[rustfmt::skip]
static COLUMNS: &[Column] = &[
    column("+WHAT", 15, "What           ", "    UNITS>>    ", Text(|row| format!("{:14}", row.what))),
    column("+PASS", 7, "Pass", "Number", Count(|row| Some(row.pass))),
    column("+TARGET", 7, "Target", "Number", Count(|row| Some(row.target as u64))),
    column("+QUEUE", 7, "Queue", "Number", Count(|row| row.depth)),
    column("+BYTESTRANSFERED +BYTESXFERED", 16, "Bytes_Xfered", "Bytes", Count(|row| Some(row.account.bytes()))),
    column("+BYTESREAD", 16, "Bytes_Read", "Bytes", Count(|row| Some(row.account.reads.bytes))),
    column("+BYTESWRITTEN", 16, "Bytes_Written", "Bytes", Count(|row| Some(row.account.writes.bytes))),
    column("+OPS", 11, "Ops", "#ops", Count(|row| Some(row.account.ops()))),
    column("+READOPS", 11, "Read_Ops", "#ops", Count(|row| Some(row.account.reads.ops))),
    column("+WRITEOPS", 11, "Write_Ops", "#ops", Count(|row| Some(row.account.writes.ops))),
    column("+BANDWIDTH", 10, "Bandwidth", "MBytes/s", Real(3, |row| row.megabytes(row.account.bytes()))),
    column("+READBANDWIDTH", 10, "Read_BW", "MBytes/s", Real(3, |row| row.megabytes(row.account.reads.bytes))),
    column("+WRITEBANDWIDTH", 10, "Write_BW", "MBytes/s", Real(3, |row| row.megabytes(row.account.writes.bytes))),
    column("+IOPS", 10, "IOPS", "Ops/s", Real(3, |row| row.per_second(row.account.ops()))),
    column("+READIOPS", 10, "Rd_IOPS", "Ops/s", Real(3, |row| row.per_second(row.account.reads.ops))),
    column("+WRITEIOPS", 10, "Wrt_IOPS", "Ops/s", Real(3, |row| row.per_second(row.account.writes.ops))),
    column("+LATENCY", 9, "Latency", "millisec", Real(3, |row| row.latency())),
    column("+ELAPSEDTIME1STOP", 9, "1st_Op", "millisec", Real(3, |row| row.since_first_ms())),
    column("+ELAPSEDTIMEPASS", 11, "Elapsed", "seconds", Real(3, |row| row.seconds())),
    column("+OVERHEADTIME", 9, "Overhead", "millisec", Unknown(3)),
    column("+PATTERNFILLTIME", 9, "Pat_Fill", "millisec", Unknown(3)),
    column("+BUFFERFLUSHTIME", 9, "Flush", "millisec", Unknown(3)),
    column("+CPUTIME", 9, "CPU Time", "seconds", Real(3, |row| row.cpu.0 + row.cpu.1)),
    column("+PERCENTCPUTIME +PERCENTCPU", 9, "Pct_CPU", "percent", Real(3, |row| row.percent(row.cpu.0 + row.cpu.1))),
    column("+USERTIME +USER +USRTIME", 9, "User Time", "seconds", Real(3, |row| row.cpu.0)),
    column("+SYSTEMTIME +SYSTEM +SYSTIME", 9, "Sys Time", "seconds", Real(3, |row| row.cpu.1)),
    column("+PERCENTUSER +PERCENTUSERTIME +PERCENTUSR", 9, "Pct_Usr", "percent", Real(3, |row| row.percent(row.cpu.0))),
    column("+PERCENTSYSTEM +PERCENTSYSTEMTIME +PERCENTSYS", 9, "Pct_Sys", "percent", Real(3, |row| row.percent(row.cpu.1))),
    column("+OPTYPE", 8, "Op_Type", "text", Text(|row| row.operation.into())),
    column("+XFERSIZEBYTES", 12, "Xfer_Size", "bytes", Real(0, |row| row.size(1))),
    column("+XFERSIZEBLOCKS", 12, "Xfer_Size", "blocks", Real(2, |row| row.blocks())),
    column("+XFERSIZEKBYTES", 12, "Xfer_Size", "1024-bytes", Real(2, |row| row.size(1 << 10))),
    column("+XFERSIZEMBYTES", 12, "Xfer_Size", "1024^2 bytes", Real(2, |row| row.size(1 << 20))),
    column("+E2EIOTIME", 12, "E2E_I/O", "seconds", Unknown(2)),
    column("+E2ESRTIME", 12, "E2E_S/R", "seconds", Unknown(2)),
    column("+E2EPERCENTSRTIME", 12, "E2E_Pct_S/R", "percent", Unknown(2)),
    column("+E2ELAGTIME", 8, "E2E_Lag", "millisec", Unknown(2)),
    column("+E2EPERCENTLAGTIME", 12, "E2E_Pct_Lag ", "   percent  ", Unknown(2)),
    column("+E2EFIRSTREADTIME", 12, "E2E_1st_Rd", "millisec", Unknown(2)),
    column("+E2ELASTWRITETIME", 12, "E2E_Lst_Wrt", "millisec", Unknown(2)),
    column("+DELIM", 0, "", "", Delimiter),
    column("+NODENAME", 10, "Node_Name", "text", Text(|_| node())),
];

/// Contents of a line of the table.
#[derive(Clone, Copy)]
pub(super) enum Line<'a> {
    Headings,
    Units,
    Row(&'a Row<'a>),
}

/// First name of each column.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    COLUMNS.iter().map(Column::name)
}

/// Columns of a table without `-outputformat`.
pub(super) fn default() -> Vec<&'static str> {
    parse(DEFAULT).expect("columns of the table")
}

/// Parses names of columns, as `+PASS+OPS`; returns the first name of each.
pub(super) fn parse(text: &str) -> Result<Vec<&'static str>, String> {
    let Some(names) = text.trim().strip_prefix('+') else {
        return Err("columns begin with a plus sign, as +PASS+OPS; -h lists them".into());
    };
    let named = |name: &str| COLUMNS.iter().find(|column| column.names.split(' ').any(|known| &known[1..] == name));
    let column = |name: &str| {
        named(name.trim()).map(Column::name).ok_or_else(|| {
            let known = COLUMNS.iter().flat_map(|column| column.names.split(' ')).map(|name| &name[1..]);
            match nearest(&name.to_ascii_uppercase(), known) {
                Some(meant) => format!("+{name}: no such column; did you mean +{meant}?"),
                None => format!("+{name}: no such column; -h lists them"),
            }
        })
    };
    names.split('+').map(column).collect()
}

/// A line of the table: these columns, with `delimiter` between them.
pub(super) fn line(columns: &[&str], line: Line<'_>, delimiter: char) -> String {
    let cell = |name: &&str| {
        let column = COLUMNS.iter().find(|column| column.name() == *name);
        column.map(|column| column.cell(line, delimiter)).unwrap_or_default()
    };
    columns.iter().map(cell).collect::<Vec<_>>().join(delimiter.encode_utf8(&mut [0; 4]))
}

impl Column {
    /// First of its names.
    fn name(&self) -> &'static str {
        self.names.split(' ').next().unwrap_or_default()
    }

    fn cell(&self, line: Line<'_>, delimiter: char) -> String {
        let width = self.width;
        match (line, &self.value) {
            (_, Delimiter) => delimiter.to_string(),
            (Line::Headings, _) => format!("{:>width$}", self.heading),
            (Line::Units, _) => format!("{:>width$}", self.unit),
            (Line::Row(row), Text(of)) => format!("{:>width$}", of(row)),
            (Line::Row(row), Count(of)) => match of(row) {
                Some(n) => format!("{n:>width$}"),
                None => format!("{:>width$}", -1),
            },
            (Line::Row(row), Real(digits, of)) => format!("{:>width$.digits$}", of(row)),
            (Line::Row(_), Unknown(digits)) => format!("{:>width$.digits$}", -1.0),
        }
    }
}

/// Name of this machine (uname(2), nodename).
fn node() -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    name.trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::xdd::tally::Account;
    use std::collections::BTreeSet;

    fn account() -> Account {
        let mut account = Account { elapsed_ns: 2_000_000_000, from_first_ns: 1_999_500_000, ..Account::default() };
        for _ in 0..1000 {
            account.reads.done(512, 1_000_000);
        }
        for _ in 0..3000 {
            account.writes.done(512, 3_000_000);
        }
        account
    }

    fn row(account: &Account) -> Row<'_> {
        Row {
            what: "TARGET_PASS",
            pass: 2,
            target: 11,
            depth: Some(16),
            account,
            size: Some(512),
            block: Some(512),
            operation: "mixed",
            cpu: (0.125, 0.5),
            relative: false,
        }
    }

    /// The lines as xdd 7.0.0 prints them for the same numbers.
    #[test]
    fn the_default_columns_are_those_of_xdd() {
        let (account, columns) = (account(), default());
        let lines = [
            line(&columns, Line::Headings, ' '),
            line(&columns, Line::Units, ' '),
            line(&columns, Line::Row(&row(&account)), ' '),
            line(&columns, Line::Row(&Row { what: "TARGET_AVERAGE", ..row(&account) }), ' '),
            line(
                &columns,
                Line::Row(&Row { what: "COMBINED", target: 12, depth: None, size: None, ..row(&account) }),
                ' ',
            ),
        ];
        let golden = "\
What               Pass  Target   Queue     Bytes_Xfered         Ops     Elapsed  Bandwidth       IOPS   Latency   Pct_CPU  Op_Type    Xfer_Size
    UNITS>>      Number  Number  Number            Bytes        #ops     seconds   MBytes/s      Ops/s  millisec   percent     text        bytes
 TARGET_PASS          2      11      16          2048000        4000       2.000      1.024   2000.000     2.500    31.250    mixed          512
 TARGET_AVERAGE       2      11      16          2048000        4000       2.000      1.024   2000.000     2.500    31.250    mixed          512
 COMBINED             2      12      -1          2048000        4000       2.000      1.024   2000.000     2.500    31.250    mixed           -1";
        assert_eq!(lines.join("\n"), golden);
        assert_eq!(
            line(&columns, Line::Row(&row(&account)), ','),
            " TARGET_PASS   ,      2,     11,     16,         2048000,       4000,      2.000,     1.024,  2000.000,    2.500,   \
             31.250,   mixed,         512"
        );
    }

    /// Golden, as above: heading and unit of all other columns.
    #[test]
    fn the_other_columns_are_those_of_xdd() {
        let others: Vec<_> = names().filter(|name| !default().contains(name)).collect();
        assert_eq!(
            line(&others, Line::Headings, ' '),
            "      Bytes_Read    Bytes_Written    Read_Ops   Write_Ops    Read_BW   Write_BW    Rd_IOPS   Wrt_IOPS    1st_Op  \
             Overhead  Pat_Fill     Flush  CPU Time User Time  Sys Time   Pct_Usr   Pct_Sys    Xfer_Size    Xfer_Size    \
             Xfer_Size      E2E_I/O      E2E_S/R  E2E_Pct_S/R  E2E_Lag E2E_Pct_Lag    E2E_1st_Rd  E2E_Lst_Wrt    Node_Name"
        );
        assert_eq!(
            line(&others, Line::Units, ' '),
            "           Bytes            Bytes        #ops        #ops   MBytes/s   MBytes/s      Ops/s      Ops/s  millisec  \
             millisec  millisec  millisec   seconds   seconds   seconds   percent   percent       blocks   1024-bytes \
             1024^2 bytes      seconds      seconds      percent millisec    percent       millisec     millisec         text"
        );
    }

    #[test]
    fn every_column_has_a_true_value_or_says_that_it_has_none() {
        let account = account();
        let row = row(&account);
        let of = |name: &str, row: &Row<'_>| line(&parse(name).unwrap(), Line::Row(row), ' ').trim().to_owned();
        for (name, value) in [
            ("+BYTESREAD+BYTESWRITTEN", "512000          1536000"),
            ("+READOPS+WRITEOPS", "1000        3000"),
            ("+READBANDWIDTH+WRITEBANDWIDTH", "0.256      0.768"),
            ("+READIOPS+WRITEIOPS", "500.000   1500.000"),
            ("+ELAPSEDTIME1STOP", "1999.500"),
            ("+CPUTIME+USERTIME+SYSTEMTIME", "0.625     0.125     0.500"),
            ("+PERCENTUSER+PERCENTSYSTEM", "6.250    25.000"),
            ("+XFERSIZEBLOCKS+XFERSIZEKBYTES+XFERSIZEMBYTES", "1.00         0.50         0.00"),
            ("+OVERHEADTIME+PATTERNFILLTIME+BUFFERFLUSHTIME", "-1.000    -1.000    -1.000"),
            ("+E2ELAGTIME", "-1.00"),
            ("+OPS+DELIM+OPS", "4000          4000"),
        ] {
            assert_eq!(of(name, &row), value, "{name}");
        }
        assert!(!of("+NODENAME", &row).is_empty());
        let relative = Row { relative: true, ..row };
        assert_eq!(of("+PERCENTUSER+PERCENTSYSTEM+PERCENTCPU", &relative), "20.000    80.000   100.000");
        let nothing = Account::default();
        let idle = Row { account: &nothing, cpu: (0.0, 0.0), ..relative };
        assert_eq!(of("+IOPS+BANDWIDTH+LATENCY+PERCENTCPU", &idle), "-1.000     -1.000     0.000    -1.000");
    }

    #[test]
    fn names_are_found_in_every_form_and_what_is_none_is_said() {
        let names: Vec<_> = COLUMNS.iter().flat_map(|column| column.names.split(' ')).collect();
        assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len());
        assert_eq!(names.len(), 52, "xdd has so many");
        for name in names {
            assert_eq!(parse(name).unwrap().len(), 1, "{name}");
        }
        assert_eq!(parse(" +PASS+PERCENTCPU ").unwrap(), ["+PASS", "+PERCENTCPUTIME"]);
        for (text, why) in [
            ("PASS", "columns begin with a plus sign, as +PASS+OPS; -h lists them"),
            ("+PASS+LATENCI", "+LATENCI: no such column; did you mean +LATENCY?"),
            ("+pass", "+pass: no such column; did you mean +PASS?"),
            ("+PASS+", "+: no such column; -h lists them"),
        ] {
            assert_eq!(parse(text).unwrap_err(), why);
        }
    }
}

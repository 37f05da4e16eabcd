//! A row of iperf's and iperf3's tables: seconds from and to, amount, rate, and of datagrams jitter and losses.

use super::found::Line;
use super::{Wrong, lines, units};

#[derive(Clone, Copy)]
pub(super) struct Interval {
    pub(super) from: f64,
    pub(super) to: f64,
    pub(super) bytes: f64,
    /// Bits a second.
    pub(super) rate: f64,
    pub(super) jitter_ns: Option<f64>,
    /// Datagrams that were lost, and all.
    pub(super) lost: Option<(u64, u64)>,
    /// Mean, least and greatest latency, nanoseconds (iperf 2's `avg/min/max/stdev`).
    pub(super) latency_ns: Option<[f64; 3]>,
    /// Segments that were sent again (iperf 2's `Rtry`).
    pub(super) retries: Option<u64>,
    /// Datagrams that came out of order, which a line of their own tells.
    pub(super) late: Option<u64>,
    pub(super) line: usize,
}

/// End of the line that tells how many datagrams came out of order.
const LATE: &str = "datagrams received out-of-order";

impl Interval {
    /// Takes `0.00-10.02 sec  12 datagrams received out-of-order`, if it is of these seconds.
    pub(super) fn late(&mut self, text: &str) {
        let told = || {
            let (span, count) = text.strip_suffix(LATE)?.split_once(" sec")?;
            let (from, to) = span.split_once('-')?;
            let (from, to) = (units::number(from.trim())?, units::number(to.trim())?);
            let same = (from - self.from).abs() < 0.1 && (to - self.to).abs() <= 0.05 * self.to;
            count.trim().parse().ok().filter(|_| same)
        };
        self.late = told().or(self.late);
    }

    /// The row behind its brackets, and the words behind the rate; `None` for a line that has no seconds at its begin.
    pub(super) fn of<'a>(text: &'a str, line: Line<'_>) -> Result<Option<(Self, Vec<&'a str>)>, Wrong> {
        let Some((span, figures)) = text.split_once(" sec") else { return Ok(None) };
        if span.contains(',') && span.bytes().all(|byte| byte.is_ascii_digit() || b",- ".contains(&byte)) {
            return Err(line.wrong("decimal commas; measure with LC_ALL=C"));
        }
        let digit = 2.0 * units::last_digit(span.trim());
        let ends = span.split_once('-').map(|(from, to)| (units::number(from.trim()), units::number(to.trim())));
        let Some((Some(from), Some(to))) = ends.filter(|_| !figures.ends_with(LATE)) else { return Ok(None) };
        let words: Vec<&str> = figures.split_whitespace().collect();
        // A histogram of latencies (`T8-PDF:`, `T8(f)-PDF:`) beside the row of these seconds.
        if words.first().is_some_and(|first| first.ends_with("-PDF:")) {
            return Ok(None);
        }
        let [amount, amount_unit, rate, rate_unit, ref rest @ ..] = words[..] else {
            return Err(line.wrong("an interval without amount and rate"));
        };
        let read = || {
            let bytes = units::bytes(units::number(amount)?, amount_unit)?;
            Some((
                bytes,
                units::bit_rate(units::number(rate)?, rate_unit)?,
                units::bit_rate(units::last_digit(rate), rate_unit)?,
            ))
        };
        let (bytes, mut rate, rate_digit) =
            read().ok_or_else(|| line.wrong("an amount or a rate in no unit that is known"))?;
        let jitter_ns = match rest {
            [jitter, unit, ..] => units::number(jitter).and_then(|jitter| units::nanoseconds(jitter, unit)),
            _ => None,
        };
        let slack = units::last_digit(amount) * units::bytes(1.0, amount_unit).unwrap_or(0.0);
        if !units::agree(8.0 * bytes, 8.0 * slack, to - from, digit, rate, rate_digit) {
            return Err(line.wrong("an amount that is not that of the rate and the time beside it"));
        }
        // `0.01 Tbits/sec` says less than the amount beside it.
        let (of_rate, of_amount) = (rate_digit / rate, (slack / bytes).max(digit / (to - from)));
        if of_rate > 0.1 && bytes > 0.0 && to > from {
            if of_rate.min(of_amount) > 0.21 {
                return Err(line.wrong("an amount and a rate of too few digits; measure with -f k"));
            }
            if of_amount < of_rate {
                rate = 8.0 * bytes / (to - from);
            }
        }
        // `0/893 (0%)`, or `0/ 893 (0%)`.
        let behind = figures.split_once(" ms").filter(|_| jitter_ns.is_some()).map_or("", |(_, behind)| behind);
        let lost = behind.split_once('/').and_then(|(lost, of)| {
            let of = of.split('(').next()?.trim();
            Some((lost.trim().parse().ok()?, of.parse().ok()?))
        });
        let share = behind.split_once('(').and_then(|(_, share)| units::number(share.split_once('%')?.0));
        if let (Some((lost, all)), Some(share)) = (lost, share)
            && all > 0
        {
            let counted: f64 = 100.0 * lost as f64 / all as f64;
            // Two digits are written.
            if (counted - share).abs() > 0.06 * counted.max(share) + 0.01 {
                return Err(line.wrong("losses that are not the per cent beside them"));
            }
        }
        let (latency_ns, retries) = (latency(rest), retries(rest));
        let row = Self { from, to, bytes, rate, jitter_ns, lost, latency_ns, retries, late: None, line: line.number };
        Ok(Some((row, rest.to_vec())))
    }
}

/// True for a unit of a rate as programs write it: `Gbits/sec`, `Mbps`, `MiB/s`, `Kpps`.
pub(super) fn is_rate(word: &str) -> bool {
    let word = word.trim_end_matches([',', ';', '.', ')']);
    let of = ["/sec", "/s", "ps"].iter().find_map(|end| word.strip_suffix(end));
    let unit = of.map(|of| of.trim_start_matches(['k', 'K', 'M', 'G', 'T']).trim_start_matches('i'));
    unit.is_some_and(|unit| matches!(unit, "b" | "bit" | "bits" | "B" | "Byte" | "Bytes" | "bytes" | "p" | "msg"))
}

/// Rows that a mail program has wrapped, each with the number of the line on which its end stands.
pub(super) fn wrapped(text: &str) -> Vec<(Line<'_>, usize)> {
    let is_number =
        |word: &str| units::number(word).is_some() || word.split('/').all(|part| units::number(part).is_some());
    let is_word = |word: &str| {
        const WORDS: &[&str] = &["sender", "receiver", "(omitted)", "ms", "pps"];
        const HEADS: &[&str] =
            &["Transfer", "Bandwidth", "Bitrate", "Retr", "Cwnd", "Jitter", "Lost/Total", "Total", "Datagrams"];
        WORDS.contains(&word)
            || HEADS.contains(&word)
            || word.starts_with('(') && word.ends_with("%)")
            || units::bytes(1.0, word).is_some()
            || units::bit_rate(1.0, word).is_some()
    };
    let is_row = |line: &Line<'_>| {
        let name =
            line.text.strip_prefix('[').and_then(|rest| rest.split_once(']')).map_or("", |(name, _)| name.trim());
        name == "ID"
            || name.starts_with("SUM")
            || name.ends_with(|last: char| last.is_ascii_digit()) && !name.contains(' ')
    };
    let (mut all, mut before): (Vec<(Line<'_>, usize)>, Option<Line<'_>>) = (Vec::new(), None);
    for line in lines(text) {
        let words = || line.text.split_whitespace();
        let port = line.text.strip_prefix("port ").is_some_and(|port| port.bytes().all(|b| b.is_ascii_digit()));
        let begins = words().next().is_some_and(|first| is_word(first) && !is_number(first));
        let tail = words().any(is_word) && words().all(|word| is_word(word) || is_number(word));
        let open = |row: &Line<'_>| {
            !line.text.starts_with('[')
                && [" local", " port", " connected", " to", " with"].iter().any(|end| row.text.ends_with(end))
        };
        all.extend(
            before.filter(|row| is_row(row) && (port || begins || tail || open(row))).map(|row| (row, line.number)),
        );
        before = Some(line);
    }
    all
}

/// `0.207/0.100/1.305/0.030 ms`: mean, least and greatest; the fourth is the deviation.
fn latency(words: &[&str]) -> Option<[f64; 3]> {
    words.windows(2).find_map(|pair| {
        let times: Option<Vec<f64>> =
            pair[0].split('/').map(|time| units::nanoseconds(units::number(time)?, pair[1])).collect();
        <[f64; 4]>::try_from(times?).ok().map(|[mean, least, greatest, _]| [mean, least, greatest])
    })
}

/// `8930/0         23      895K/3742(719) us`: writes and their errors, segments sent again, window and time of a round trip. A
/// sum has the first two.
fn retries(words: &[&str]) -> Option<u64> {
    let [writes, retries, rest @ ..] = words else { return None };
    let is_count = |text: &str| text.parse::<u64>().is_ok();
    let known = rest.first().is_none_or(|window| window.contains('/') && window.ends_with(')'));
    let (all, errors) = writes.split_once('/')?;
    retries.parse().ok().filter(|_| known && is_count(all) && is_count(errors))
}

//! An examination on a terminal, in 80 columns.
//!
//! Texts come from drivers and files; control characters in them would be commands to the terminal, so they are replaced.

use super::Examination;
use super::finding::{Finding, Risk, Severity};
use super::fix::{Did, Step};
use super::prove::{Measured, Proven};
use crate::quantity;
use linerate_result::Number;
use linerate_text::one_line;
use linerate_text::plain;

/// Columns of a line, and of the words before a text.
const WIDTH: usize = 80;
const LABEL: usize = 9;

/// Interfaces that are named in one line.
const NAMED: usize = 8;

/// Renders it as lines, the last one ended: the counts first, then what was found, with `notes` those, too. With `colour`, ANSI
/// colours mark the severity.
#[must_use]
pub fn render(all: &Examination, notes: bool, colour: bool) -> String {
    rendered(all, Whose::Own, notes, colour)
}

/// The machine that found something.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Whose {
    Own,
    /// The other end, whose word it is: nothing of it is to be typed here.
    Others,
}

fn rendered(all: &Examination, whose: Whose, notes: bool, colour: bool) -> String {
    let count = |severity| all.findings.iter().filter(|finding| finding.severity == severity).count();
    let counts =
        [Severity::Error, Severity::Warning, Severity::Note].map(|severity| match (count(severity), severity) {
            (1, severity) => format!("1 {}", severity.word()),
            (n, severity) => format!("{n} {}s", severity.word()),
        });
    let names: Vec<&str> = all.interfaces.iter().map(String::as_str).collect();
    let looked = format!(
        "{}: {}; {} found nothing.",
        listed(&names),
        counts.join(", "),
        linerate_text::many(all.healthy, "rule")
    );
    let mut text = paragraph("", &looked);
    text += &all.peer.as_deref().map_or_else(String::new, |line| paragraph("", line));
    if !all.untaken.is_empty() {
        let names: Vec<&str> = all.untaken.iter().map(String::as_str).collect();
        text += &paragraph("", &format!("Not taken, as nothing in it is read: {}.", names.join("; ")));
    }
    let mut left = Vec::new();
    match (count(Severity::Note), notes) {
        (0, _) | (_, true) => {}
        (1, _) => left.push("1 note".to_owned()),
        (n, _) => left.push(format!("{n} notes")),
    }
    match (all.unable.len(), notes) {
        (0, _) => {}
        (_, true) => text += &paragraph("", &format!("Not looked at: {}.", unable(all))),
        (1, _) => left.push("1 rule that could not look".to_owned()),
        (n, _) => left.push(format!("{n} times that a rule could not look")),
    }
    if !left.is_empty() {
        text += &paragraph("", &format!("Left out: {}; --all tells them.", left.join(", ")));
    }
    for alike in grouped(all.findings.iter().filter(|finding| notes || finding.severity > Severity::Note)) {
        text += &format!("\n{}", shown(&alike, whose, colour));
    }
    if let Some(side) = &all.remote {
        let head = paragraph("", &format!("At {}, as that end says:", side.at));
        text += &format!("\n{head}\n{}", rendered(&side.examination, Whose::Others, notes, colour));
    }
    text
}

/// Names in a line, the first of them if they are many.
fn listed(names: &[&str]) -> String {
    match names.len().checked_sub(NAMED) {
        _ if names.is_empty() => "host".to_owned(),
        None | Some(0 | 1) => names.join(", "),
        Some(more) => format!("{} and {more} more", names[..NAMED].join(", ")),
    }
}

/// Findings in their order; those of a rule that differ in nothing but the name of their interface, and in what was seen, are one.
fn grouped<'a>(all: impl Iterator<Item = &'a Finding>) -> Vec<Vec<&'a Finding>> {
    let mut groups: Vec<((String, String), Vec<&Finding>)> = Vec::new();
    for finding in all {
        let of = |text: &str| unnamed(text, &finding.subject);
        let said = (of(&finding.what), of(finding.mend.as_deref().unwrap_or_default()));
        let alike = |(other, of): &&mut ((String, String), Vec<&Finding>)| {
            *other == said && of[0].rule == finding.rule && of[0].severity == finding.severity
        };
        match groups.iter_mut().find(alike) {
            Some((_, of)) => of.push(finding),
            None => groups.push((said, vec![finding])),
        }
    }
    groups.into_iter().map(|(_, of)| of).collect()
}

/// A text without a name that stands in it as a word.
fn unnamed(text: &str, name: &str) -> String {
    let inside = |c: char| c.is_alphanumeric() || "-_.".contains(c);
    let (mut rest, mut made) = (text, String::new());
    while let Some(at) = rest.find(name).filter(|_| !name.is_empty()) {
        let (before, behind) = (&rest[..at], &rest[at + name.len()..]);
        let is_word = !before.ends_with(inside) && !behind.starts_with(inside);
        made = made + before + if is_word { "\0" } else { name };
        rest = behind;
    }
    made + rest
}

/// Renders the changes that are about to be made.
#[must_use]
pub fn planned(steps: &[Step]) -> String {
    let mut text = String::new();
    for step in steps {
        let class = match step.risk {
            Risk::Safe => "",
            Risk::Traffic => ", interrupts traffic",
            Risk::Security => ", a security setting",
        };
        let Step { subject, what, rule, severity, .. } = step;
        text += &paragraph("", &format!("{subject}: {what} [{rule}: {}{class}]", severity.word()));
        text += &step
            .mends
            .iter()
            .map(|mend| paragraph("  set", &format!("{} to {}", mend.knob, mend.to)))
            .collect::<String>();
    }
    text
}

/// Renders changes as they were made, or refused.
#[must_use]
pub fn made(all: &[Did]) -> String {
    let line = |did: &Did| match &did.refused {
        None => paragraph("done", &format!("{}: {} -> {}", did.knob, did.before, did.to)),
        Some(why) => paragraph("refused", &format!("{}: {}: {why}", did.knob, did.to)),
    };
    all.iter().map(line).collect()
}

/// Columns of the longest bar: beside it a range takes up to 34 (`999.999 ktrans/s to 1.234 Mtrans/s`).
const BAR: usize = 16;

/// Renders a proof, with a bar for the mean of each series.
#[must_use]
pub fn proof(proven: &Proven) -> String {
    let mut text = paragraph("", &format!("{}: {} [{}]", proven.subject, proven.what, proven.rule));
    match &proven.measured {
        Err(why) => text += &paragraph("  not", &format!("measured: {why}")),
        Ok(measured) => text += &bars(measured),
    }
    text
}

fn bars(measured: &Measured) -> String {
    let Measured { workload, unit, rounds, change, spread, verdict } = measured;
    let means = rounds.each_ref().map(|values| values.iter().sum::<f64>() / values.len().max(1) as f64);
    let most = means[0].max(means[1]).max(f64::MIN_POSITIVE);
    let mut text = String::new();
    for (label, (mean, values)) in ["  before", "  changed"].into_iter().zip(means.iter().zip(rounds)) {
        let least = values.iter().copied().fold(f64::INFINITY, f64::min);
        let greatest = values.iter().copied().fold(0.0, f64::max);
        // At most BAR, and not below nought.
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is a number of columns")]
        let bar = "#".repeat((mean / most * BAR as f64).round() as usize);
        let mean = quantity::value(Number::from(*mean), unit);
        let range = quantity::range(Number::from(least), Number::from(greatest), unit);
        text += &format!("{label:10}{mean:>15}  {bar:BAR$}  {range}\n");
    }
    let word = verdict.word();
    let (change, spread) = (100.0 * change, 100.0 * spread);
    text + &paragraph("  so", &format!("{word}: {workload} {change:+.1} % ± {spread:.1} (95 %)"))
}

/// Rules that could not look, by the reason.
fn unable(all: &Examination) -> String {
    let mut reasons: Vec<(&str, Vec<String>)> = Vec::new();
    for (subject, rule, why) in &all.unable {
        // The path of a file is in the JSON document.
        let why = why.rsplit_once(": ").map_or(why.as_str(), |(_, why)| why);
        let why = why.split(" (os error").next().unwrap_or(why);
        let name = format!("{subject} {rule}");
        match reasons.iter_mut().find(|(known, _)| *known == why) {
            Some((_, names)) => names.push(name),
            None => reasons.push((why, vec![name])),
        }
    }
    let lines = reasons.iter().map(|(why, names)| format!("{} ({why})", names.join(", ")));
    lines.collect::<Vec<_>>().join("; ")
}

/// Findings that are alike, as the first of them.
fn shown(alike: &[&Finding], whose: Whose, colour: bool) -> String {
    let finding = alike[0];
    let word = finding.severity.word();
    let code = match finding.severity {
        Severity::Error => "31",
        Severity::Warning => "33",
        Severity::Note => "36",
    };
    let mut subjects: Vec<&str> = alike.iter().map(|one| one.subject.as_str()).collect();
    subjects.dedup();
    let head = paragraph(word, &format!("{}: {} [{}]", listed(&subjects), finding.what, finding.rule));
    let mut text = match head.strip_prefix(word).filter(|_| colour) {
        Some(rest) => format!("\x1b[{code}m{word}\x1b[0m{rest}"),
        None => head,
    };
    for evidence in &finding.evidence {
        text += &paragraph("  seen", &format!("{} ({})", evidence.value, evidence.read));
    }
    text += &paragraph("  means", &finding.means);
    let named = match finding.risk {
        _ if whose == Whose::Others || finding.fix.is_empty() => None,
        Risk::Safe => None,
        Risk::Traffic => Some("--fix=traffic, as it interrupts traffic for a moment".to_owned()),
        Risk::Security => {
            Some(format!("only by its name, as it may loosen what is meant: --fix --only {}", finding.rule))
        }
    };
    let others =
        (subjects.len() > 1).then(|| format!("at each of the {}; this is of {}", subjects.len(), finding.subject));
    let mend = match whose {
        Whose::Own => "  type",
        Whose::Others => "  there",
    };
    for (label, said) in [(mend, &finding.mend), ("  fix", &named), ("  gain", &finding.gain), ("  alike", &others)] {
        if let Some(said) = said {
            text += &paragraph(label, said);
        }
    }
    text + &paragraph("  source", &finding.published)
}

/// Lines of a text behind a label.
fn paragraph(label: &str, text: &str) -> String {
    let (mut lines, mut line) = (String::new(), format!("{label:LABEL$}"));
    let mut empty = true;
    if label.is_empty() {
        line.clear();
    }
    let indent = if label.is_empty() { 0 } else { LABEL };
    for word in plain(&one_line(text)).split_whitespace() {
        if !empty && line.chars().count() + 1 + word.chars().count() > WIDTH {
            lines += line.trim_end();
            lines.push('\n');
            (line, empty) = (" ".repeat(indent), true);
        }
        if !empty {
            line.push(' ');
        }
        line += word;
        empty = false;
    }
    lines + line.trim_end() + "\n"
}

//! Conditions that a log tells: its text between the results, the settings in it, and the time that a test took.
//!
//! Dates, and the numbers of runs (`run 2 of 3`), tell nothing. Text holds until other text comes; a setting (`mtu=9000`,
//! `mtu 9000`, `Block size = 64`) until it is set again, whatever text comes between.

use std::collections::BTreeMap;
use std::rc::Rc;

use super::{Line, shown};

/// The greatest number of settings of a log that are kept.
const MOST: usize = 64;

/// Words in front of a run's number.
const COUNTED: &[&str] = &["run", "iteration", "round", "repeat", "trial", "pass", "loop"];

const DATES: &[&str] = &[
    "mon", "tue", "wed", "thu", "fri", "sat", "sun", "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep",
    "oct", "nov", "dec",
];

#[derive(Clone, Debug, Default)]
pub(super) struct Told {
    /// The text in force.
    text: Rc<String>,
    settings: Rc<BTreeMap<String, String>>,
    /// True behind a result, so that the next text stands for itself.
    ended: bool,
    /// Length of a test that was asked to last a time, seconds.
    seconds: Option<f64>,
}

impl Told {
    /// Takes a line that is no part of a result.
    pub(super) fn line(&mut self, line: Line<'_>) {
        let words = words(line.text);
        if words.is_empty() {
            return;
        }
        let mut settings = |name: &str, value: &str| self.set(name, value);
        for (at, word) in words.iter().enumerate() {
            let next = words.get(at + 1).copied();
            match word.split_once('=') {
                Some(("", "")) if at > 0 => settings(words[at - 1], next.unwrap_or_default()),
                Some((name, value)) if !name.is_empty() && !value.is_empty() => settings(name, value),
                _ if word.trim_end_matches(':').eq_ignore_ascii_case("mtu") => {
                    settings("mtu", next.filter(|next| !next.starts_with('=')).unwrap_or_default());
                }
                _ => {}
            }
        }
        if std::mem::take(&mut self.ended) {
            self.text = Rc::default();
        }
        let text = Rc::make_mut(&mut self.text);
        text.push_str(&words.join(" "));
        text.push('\n');
    }

    pub(super) fn set(&mut self, name: &str, value: &str) {
        let name = shown(&name.to_ascii_lowercase(), 40);
        let known = self.settings.contains_key(&name);
        if (known || self.settings.len() < MOST) && !value.is_empty() {
            Rc::make_mut(&mut self.settings).insert(name, shown(value, 200));
        }
    }

    /// Notes that a result has come.
    pub(super) fn result(&mut self) {
        self.ended = true;
    }

    /// These conditions for a test that lasted `seconds`.
    pub(super) fn lasting(mut self, seconds: Option<f64>) -> Self {
        self.seconds = seconds;
        self
    }

    /// The difference of two tests' conditions, in words.
    pub(super) fn differs(&self, other: &Self) -> Option<String> {
        let names = self.settings.keys().chain(other.settings.keys());
        let of = |of: &Self, name: &String| of.settings.get(name).map_or("not said", String::as_str).to_owned();
        for name in names {
            let (there, here) = (of(self, name), of(other, name));
            if there != here {
                return Some(format!("{name} is {there} there and {here} here"));
            }
        }
        let (mut there, mut here) = (self.text.lines(), other.text.lines());
        loop {
            match (there.next(), here.next()) {
                (None, None) => break,
                (one, other) if one == other => {}
                (one, other) => {
                    let shown = |line: Option<&str>| shown(line.unwrap_or("nothing"), 60);
                    return Some(format!("the log says '{}' there and '{}' here", shown(one), shown(other)));
                }
            }
        }
        let (there, here) = self.seconds.zip(other.seconds)?;
        let apart = there.max(here) > 2.0 * there.min(here);
        apart.then(|| format!("it lasted {there} s there and {here} s here"))
    }
}

/// The words of a line, without rules, prompts, dates and numbers of runs.
fn words(line: &str) -> Vec<&str> {
    let all: Vec<&str> = line.split_whitespace().collect();
    let is_digits = |word: &str| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit());
    let is_time = |word: &str| {
        word.contains(':') && word.bytes().all(|byte| byte.is_ascii_digit() || b":.,Z".contains(&byte))
            || word
                .get(..8)
                .is_some_and(|date| date.bytes().take(4).all(|b| b.is_ascii_digit()) && date.matches('-').count() == 2)
    };
    let is_year = |word: &str| word.len() == 4 && is_digits(word) && (word.starts_with("19") || word.starts_with("20"));
    let is_date = |word: &str| DATES.contains(&word.to_ascii_lowercase().as_str());
    let counts = |word: &str| {
        let word = word.trim_matches(|c: char| !c.is_ascii_alphanumeric());
        COUNTED.iter().any(|known| known.eq_ignore_ascii_case(word))
    };
    let number = |word: &str| is_digits(word.trim_matches(|c: char| "#:.()".contains(c)));
    let dated = all.iter().any(|word| is_time(word));
    let told = |at: usize| {
        let word = all[at];
        let before = |n: usize| at.checked_sub(n).map_or("", |at| all[at]);
        let rule = !word.bytes().any(|byte| byte.is_ascii_alphanumeric()) && word != "=";
        let of_date = dated
            && (is_time(word)
                || is_date(word)
                || is_digits(word) && (is_date(before(1)) || all.get(at + 1).is_some_and(|next| is_date(next)))
                || (is_time(before(1)) || is_time(before(2)))
                    && (matches!(word, "AM" | "PM") || all.get(at + 1).is_some_and(|next| is_year(next)))
                || is_year(word) && (1..=3).any(|n| is_time(before(n))));
        let of_run = number(word) && (counts(before(1)) || before(1) == "of" && counts(before(3)))
            || word == "of" && number(before(1)) && counts(before(2));
        !rule && !of_date && !of_run
    };
    (0..all.len()).filter(|at| told(*at)).map(|at| all[at]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(text: &str) -> Told {
        let mut told = Told::default();
        super::super::lines(text).for_each(|line| told.line(line));
        told
    }

    #[test]
    fn dates_and_numbers_of_runs_tell_nothing() {
        for (one, other) in [
            ("Fri Nov 27 15:25:58 UTC 2026 TCP", "Sat Nov 28 01:02:03 PM CET 2026 TCP"),
            ("2026-11-27 07:07:11 start", "2027-01-02T03:04:05Z start"),
            ("== run 1 of 3 ==", "-- run 2 of 3 --"),
            ("Iteration #1:", "Iteration #12:"),
        ] {
            assert_eq!(told(one).differs(&told(other)), None, "{one} / {other}");
        }
    }

    #[test]
    fn other_words_settings_and_lengths_are_told() {
        for (one, other, says) in [
            ("mtu=1500 x", "mtu=9000 x", "mtu is 1500 there and 9000 here"),
            ("ip link set eth0 mtu 1500", "ip link set eth0 mtu 9000", "mtu is 1500 there and 9000 here"),
            ("MTU: 1500", "", "mtu is 1500 there and not said here"),
            ("Block size = 64", "Block size = 1K", "size is 64 there and 1K here"),
            ("gro on", "gro off", "'gro on' there and 'gro off' here"),
            ("", "jumbo frames", "'nothing' there and 'jumbo frames' here"),
            ("run 1500", "walk 1500", "'run' there and 'walk 1500' here"),
        ] {
            let differs = told(one).differs(&told(other)).unwrap_or_default();
            assert!(differs.contains(says), "{one} / {other}: {differs}");
        }
        let lasting = |seconds: f64| Told::default().lasting(Some(seconds));
        assert_eq!(lasting(1.0).differs(&lasting(1.02)), None);
        assert!(lasting(1.0).differs(&lasting(10.0)).unwrap().contains("1 s there and 10 s here"));
    }

    #[test]
    fn text_holds_until_other_text_and_a_setting_until_it_is_set_again() {
        let (mut log, line) = (Told::default(), |text| Line { text, number: 1 });
        log.line(line("mtu 1500"));
        let first = log.clone();
        log.result();
        assert_eq!(first.differs(&log), None);
        log.line(line("again"));
        log.result();
        assert!(first.differs(&log).unwrap().contains("'mtu 1500' there and 'again' here"));
        log.line(line("mtu 1500"));
        assert_eq!(first.differs(&log), None);
    }
}

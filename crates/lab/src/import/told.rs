//! Conditions that a log tells: its text between the results, settings and commands in it, and the time that a test took.
//!
//! Dates, the numbers of runs (`run 2 of 3`), prompts and commands that only look (`cat`) tell nothing. Text holds until other text
//! comes, a command's options until the next command; a setting (`mtu=9000`, `mtu 9000`, `Block size = 64`) until it is set again,
//! whatever text comes between. Text before the first result may have a title in front, which is no condition of it alone.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::rc::Rc;

use super::{Line, command, shown};

/// The greatest number of settings of a log that are kept.
const MOST: usize = 64;

/// Bytes of a text that are kept; of more of it only the sum.
const MOST_TEXT: usize = 4096;

/// Words in front of a run's number.
const COUNTED: &[&str] = &["run", "iteration", "round", "repeat", "trial", "pass", "loop", "try", "attempt"];

/// Commands of a shell that change nothing of a test.
const IDLE: &[&str] = &[
    "cat", "cd", "ls", "ll", "less", "more", "head", "tail", "grep", "vi", "nano", "pwd", "date", "uname", "hostname",
    "whoami", "history", "script", "sleep", "clear", "exit", "logout",
];

const DATES: &[&str] = &[
    "mon", "tue", "wed", "thu", "fri", "sat", "sun", "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep",
    "oct", "nov", "dec",
];

#[derive(Clone, Debug, Default)]
pub(super) struct Told {
    /// The text in force, the number of its lines, and the sum of what is not kept of it.
    text: Rc<String>,
    depth: usize,
    beyond: u32,
    settings: Rc<BTreeMap<String, String>>,
    /// Options of the command in force.
    options: Rc<BTreeMap<String, String>>,
    /// True behind a result, so that the next text stands for itself.
    ended: bool,
    /// True of text behind a result, and the greatest number of its lines so far.
    later: bool,
    deepest: usize,
    /// Length of a test that was asked to last a time, seconds.
    seconds: Option<f64>,
    /// Rate at which datagrams were sent, which is the one that was asked for, if no command tells that.
    sent: Option<f64>,
}

impl Told {
    /// Takes a line that is no part of a result.
    pub(super) fn line(&mut self, line: Line<'_>) {
        let all: Vec<&str> = line.text.split_whitespace().collect();
        let prompt = prompt(&all);
        let idle = prompt > 0 && all.get(prompt).is_some_and(|command| IDLE.contains(command));
        let of_script =
            ["#!", "Script started on ", "Script done on "].iter().any(|begin| line.text.starts_with(begin));
        let mut words = words(&all[prompt..]);
        if words.is_empty() || idle || of_script {
            return;
        }
        if let Some((options, at)) = command::options(&words) {
            self.options = Rc::new(options);
            words.truncate(at);
            // A prompt of another form.
            if words.last().is_some_and(|word| word.ends_with('>')) {
                words.clear();
            }
            words.retain(|word| !word.contains(['@', '$', '#', '~']));
        }
        let (mut at, mut text) = (0, Vec::new());
        while let Some(word) = words.get(at) {
            let next = words.get(at + 1).copied();
            at += 1;
            match word.split_once('=') {
                Some(("", "")) if at > 1 => {
                    self.set(words[at - 2], next.unwrap_or_default());
                    text.pop();
                    at += 1;
                }
                Some((name, value)) if !name.is_empty() && !value.is_empty() => self.set(name, value),
                _ if word.trim_end_matches(':').eq_ignore_ascii_case("mtu") && next.is_some_and(|next| next != "=") => {
                    self.set("mtu", next.unwrap_or_default());
                    at += 1;
                }
                _ => text.push(*word),
            }
        }
        if text.is_empty() {
            return;
        }
        if std::mem::take(&mut self.ended) {
            (self.text, self.depth, self.beyond, self.later) = (Rc::default(), 0, 0, true);
        }
        let line = text.join(" ") + "\n";
        if self.text.len() + line.len() > MOST_TEXT {
            self.beyond = self.beyond.rotate_left(1) ^ super::found::checksum(line.as_bytes());
        } else {
            Rc::make_mut(&mut self.text).push_str(&line);
        }
        self.depth += 1;
        if self.later {
            self.deepest = self.deepest.max(self.depth);
        }
    }

    pub(super) fn set(&mut self, name: &str, value: &str) {
        let (mut name, mut value) = (shown(&name.to_ascii_lowercase(), 40), value);
        if name == "mtu" {
            // A plain number, whatever a sentence puts behind it: others have one of their own (`Mtu : 4096[B]`).
            let plain = value.trim_end_matches([':', ',', ';', '.', ')']);
            match plain.parse::<u32>() {
                Ok(_) => value = plain,
                Err(_) => name.push_str("_as_written"),
            }
        }
        let known = self.settings.contains_key(&name);
        if (known || self.settings.len() < MOST) && !value.is_empty() {
            Rc::make_mut(&mut self.settings).insert(name, shown(value, 200));
        }
    }

    /// Takes the text, settings and options of others, without what is set here.
    pub(super) fn also(&mut self, other: &Self) {
        self.text = Rc::clone(&other.text);
        (self.depth, self.beyond) = (other.depth, other.beyond);
        (self.later, self.deepest) = (other.later, other.deepest);
        self.options = Rc::clone(&other.options);
        for (name, value) in other.settings.iter() {
            if !self.settings.contains_key(name) {
                self.set(name, value);
            }
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

    /// These conditions for datagrams that were sent at a rate.
    pub(super) fn sending(mut self, rate: Option<f64>) -> Self {
        self.sent = rate;
        self
    }

    /// True if nothing that the log tells keeps two tests apart.
    pub(super) fn is(&self, other: &Self) -> bool {
        let near = |one: Option<f64>, other: Option<f64>, share: f64| {
            one.zip(other).is_none_or(|(one, other)| one.max(other) <= share * one.min(other))
        };
        (&self.settings, &self.options) == (&other.settings, &other.options)
            && (self.text == other.text && self.beyond == other.beyond || self.titles(other) || other.titles(self))
            && near(self.seconds, other.seconds, 2.0)
            && (!self.options.is_empty() || near(self.sent, other.sent, 1.1))
    }

    /// True if this text stands before the first result and is another's behind a title: lines that no text since then has had
    /// the number of.
    fn titles(&self, other: &Self) -> bool {
        let title = self.text.strip_suffix(other.text.as_str()).filter(|_| !other.text.is_empty());
        !self.later
            && other.later
            && other.deepest <= other.depth
            && (self.beyond, other.beyond) == (0, 0)
            && title.is_some_and(|title| title.ends_with('\n'))
    }

    /// The value of a setting or an option.
    pub(super) fn value(&self, name: &str) -> Option<&str> {
        self.settings.get(name).or_else(|| self.options.get(name)).map(String::as_str)
    }

    /// True if a command is in force.
    pub(super) fn commanded(&self) -> bool {
        !self.options.is_empty()
    }

    /// Conditions that keep each of several tests apart from the others, by name.
    pub(super) fn apart(all: &[&Self]) -> Vec<BTreeMap<String, String>> {
        let named = |one: &Self| -> BTreeMap<String, String> {
            let mut named = (*one.options).clone();
            named.extend(one.settings.iter().map(|(name, value)| (name.clone(), value.clone())));
            named
        };
        let mut told: Vec<_> = all.iter().map(|one| named(one)).collect();
        let names: BTreeSet<String> = told.iter().flat_map(|one| one.keys().cloned()).collect();
        for name in names {
            if told.iter().all(|one| one.get(&name) == told[0].get(&name)) {
                told.iter_mut().for_each(|one| drop(one.remove(&name)));
            }
        }
        let same = |one: &Self| one.text == all[0].text && one.beyond == all[0].beyond;
        let differs = |one: &&Self| !same(one) && !one.titles(all[0]) && !all[0].titles(one);
        if all.iter().copied().any(|one| differs(&one)) {
            // In how many of the texts a line stands.
            let mut counts: HashMap<&str, usize> = HashMap::new();
            for one in all {
                let lines: BTreeSet<&str> = one.text.lines().collect();
                lines.into_iter().for_each(|line| *counts.entry(line).or_insert(0) += 1);
            }
            for (one, named) in all.iter().zip(&mut told) {
                let lines: Vec<&str> = one.text.lines().filter(|line| counts[line] < all.len()).collect();
                named.insert("text".to_owned(), shown(&lines.join("; "), 100));
            }
        }
        if all.iter().any(|one| !one.is(&Self { seconds: all[0].seconds, ..(*one).clone() })) {
            for (one, named) in all.iter().zip(&mut told) {
                named.extend(one.seconds.map(|seconds| ("lasted_s".to_owned(), format!("{seconds:.1}"))));
            }
        }
        told
    }
}

/// The number of words of the prompt that a line begins with: `$`, `root@a:~#`, `[root@a ~]#`, `PS C:\>`, `+` of `sh -x`.
fn prompt(words: &[&str]) -> usize {
    let ends = |word: &str| word.ends_with(['$', '#', '>', '%']);
    match *words {
        ["$" | "#" | ">" | "%" | "+" | "++", ..] => 1,
        [first, ..] if ends(first) && first.contains(['@', ':', '\\', '~']) => 1,
        [first, second, ..] if (first.starts_with(['[', '(']) || first == "PS") && ends(second) => 2,
        _ => 0,
    }
}

/// The words of a line that tell something: no rules, dates and numbers of runs.
fn words<'a>(all: &[&'a str]) -> Vec<&'a str> {
    let is_digits = |word: &str| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit());
    let is_time = |word: &str| {
        word.trim_end_matches(':').contains(':')
            && word.bytes().all(|byte| byte.is_ascii_digit() || b":.,Z".contains(&byte))
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
            assert!(told(one).is(&told(other)), "{one} / {other}");
        }
    }

    #[test]
    fn other_words_settings_options_and_lengths_keep_tests_apart() {
        for (one, other, says) in [
            ("mtu=1500 x", "mtu=9000 x", ["mtu=1500", "mtu=9000"]),
            ("ip link set eth0 mtu 1500", "ip link set eth0 mtu 9000", ["mtu=1500", "mtu=9000"]),
            ("MTU: 1500", "", ["mtu=1500", ""]),
            ("== MTU 1500: ==", "== MTU 9000: ==", ["mtu=1500", "mtu=9000"]),
            ("Block size = 64", "Block size = 1K", ["size=64", "size=1K"]),
            ("gro on", "gro off", ["text=gro on", "text=gro off"]),
            ("", "jumbo frames", ["text=", "text=jumbo frames"]),
            ("run 1500", "walk 1500", ["text=run", "text=walk 1500"]),
            ("$ iperf -c b -l 1K", "# iperf -c b -l 2K -i 1", ["block_bytes=1K", "block_bytes=2K"]),
        ] {
            let (one, other) = (told(one), told(other));
            assert!(!one.is(&other), "{says:?}");
            let apart = Told::apart(&[&one, &other]);
            let text = |named: &BTreeMap<String, String>| {
                named.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(" ")
            };
            assert_eq!([text(&apart[0]), text(&apart[1])], says);
        }
        let lasting = |seconds: f64| Told::default().lasting(Some(seconds));
        assert!(lasting(1.0).is(&lasting(1.02)) && !lasting(1.0).is(&lasting(10.0)));
        assert_eq!(Told::apart(&[&lasting(1.0), &lasting(10.0)])[1]["lasted_s"], "10.0");
    }

    #[test]
    fn text_holds_until_other_text_and_a_setting_until_it_is_set_again() {
        let (mut log, line) = (Told::default(), |text| Line::new(text, 1));
        log.line(line("mtu 1500"));
        let first = log.clone();
        log.result();
        assert!(first.is(&log));
        log.line(line("gro off"));
        let off = log.clone();
        log.result();
        assert!(!first.is(&log));
        log.line(line("mtu 9000"));
        log.result();
        log.line(line("mtu 1500"));
        assert!(off.is(&log) && !first.is(&log), "gro is off still");
    }

    /// Conditions of results behind lines, each behind one `result`.
    fn after(results: &[&str]) -> Vec<Told> {
        let mut log = Told::default();
        let one = |text: &&str| {
            super::super::lines(text).for_each(|line| log.line(line));
            let told = log.clone();
            log.result();
            told
        };
        results.iter().map(one).collect()
    }

    #[test]
    fn a_title_a_prompt_and_a_command_that_looks_keep_no_repeats_apart() {
        for results in [
            [
                "#!/bin/sh -x output of np.sh, Tue Oct  4 11:02:17 CEST 2022\n+ netperf -H b -- -m 64",
                "+ netperf -H b -- -m 64",
            ],
            ["Results of the lab\n$ netperf -H b", "$ netperf -H b"],
            ["Results of the lab\ngro on", "gro on"],
            ["root@a# cat old.txt\ngro on", "root@a#\ngro on"],
            ["[root@a ~]# iperf -c b", "iperf -c b"],
            ["Script started on 2024-08-30 16:20:11+02:00 [TERM=\"xterm\"]\ngro on", "gro on\nPS C:\\x> exit"],
        ] {
            let told = after(&results);
            assert!(
                told[0].is(&told[1]) && told[1].is(&told[0]),
                "{results:?}: {:?}",
                Told::apart(&[&told[0], &told[1]])
            );
        }
        // Of a text that is too long to keep, the end tells too.
        let long = |end: &str| told(&("some words\n".repeat(2000) + end));
        assert!(long("gro on").is(&long("gro on")) && !long("gro on").is(&long("gro off")));
        assert!(long("gro on").text.len() <= MOST_TEXT);
        // A heading of several results is none of the first alone.
        let told = after(&["gro on\nsize 64", "size 128", "gro off\nsize 64", "size 64"]);
        assert!(!told[0].is(&told[2]) && !told[0].is(&told[3]), "gro was off");
        let told = after(&["# gro on", "# gro off"]);
        assert!(!told[0].is(&told[1]));
    }
}

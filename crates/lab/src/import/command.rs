//! Command lines that a log tells between its results: their options are conditions of the tests behind them.

use std::collections::BTreeMap;

use super::shown;

/// The greatest number of options that are kept.
const MOST: usize = 64;

/// A program: its names, options that change nothing of the test, and names for those that do. Several words have blanks between.
struct Program {
    names: &'static [&'static str],
    /// Form of the figure, further measurements, and the port.
    silent: &'static str,
    named: &'static [(&'static str, &'static str)],
}

const PROGRAMS: &[Program] = &[
    Program {
        names: &["iperf", "iperf2", "iperf3"],
        silent: "i interval f format e enhanced p port y reportstyle J json json-stream V verbose o output \
            logfile forceflush timestamps get-server-output d debug connect-timeout T title",
        named: &[
            ("c client", "host"),
            ("l len length", "block_bytes"),
            ("w window", "window"),
            ("P parallel", "streams"),
            ("t time", "duration"),
            ("b bandwidth bitrate", "rate"),
            ("M set-mss", "mss"),
            ("Z congestion", "congestion"),
            ("N nodelay no-delay", "nodelay"),
            ("O omit", "omit"),
        ],
    },
    Program {
        names: &["netperf"],
        silent: "c C P v i I f D B d j S p",
        named: &[("H", "host"), ("l", "duration"), ("t", "test"), ("T", "cpu_bind")],
    },
    Program {
        names: &["pkt-gen"],
        // The port is told by the first line.
        silent: "i v w T X",
        named: &[
            ("f", "mode"),
            ("l", "frame"),
            ("n", "count"),
            ("p", "threads"),
            ("c", "cpus"),
            ("b", "burst"),
            ("R", "rate"),
        ],
    },
];

/// Words behind which a shell's own begin.
const SHELL: &[char] = &['|', '>', '<', '&', ';'];

/// Options of a command by name, and where in the line the program stands; `None` for a line that is no command.
pub(super) fn options(words: &[&str]) -> Option<(BTreeMap<String, String>, usize)> {
    let (at, program) = words.iter().enumerate().find_map(|(at, word)| {
        let name = word.rsplit(['/', '\\', '>']).next()?;
        let name = name.strip_suffix(".exe").unwrap_or(name);
        Some((at, PROGRAMS.iter().find(|program| program.names.contains(&name))?))
    })?;
    let rest = &words[at + 1..];
    if !rest.iter().any(|word| is_option(word)) || words[..at].iter().any(|word| is_option(word) && at > 4) {
        return None;
    }
    let (mut all, mut of_test) = (BTreeMap::new(), false);
    let mut rest = rest.iter().copied().take_while(|word| !word.trim_start_matches(['1', '2']).starts_with(SHELL));
    let mut next = rest.next();
    while let Some(word) = next {
        next = rest.next();
        // Behind it stand netperf's options of the test.
        if word == "--" {
            of_test = true;
            continue;
        }
        let Some(option) = word.strip_prefix('-').filter(|_| is_option(word)) else { continue };
        let (name, joined) = match option.strip_prefix('-') {
            Some(long) => long.split_once('=').map_or((long, None), |(name, value)| (name, Some(value))),
            None => {
                let end = option.chars().next().map_or(0, char::len_utf8);
                (&option[..end], Some(&option[end..]).filter(|value| !value.is_empty()))
            }
        };
        let value = joined.or_else(|| {
            let value = next.filter(|next| !is_option(next) && *next != "--")?;
            next = rest.next();
            Some(value)
        });
        if !of_test && is_of(program.silent, name) {
            continue;
        }
        let known = program.named.iter().find(|(names, _)| !of_test && is_of(names, name));
        let name = match known {
            Some((_, name)) => (*name).to_owned(),
            None => shown(&format!("{}{}", if of_test { "-- " } else { "" }, word.split('=').next()?), 40),
        };
        if all.len() < MOST {
            all.insert(name, value.map_or_else(|| "on".to_owned(), |value| shown(value, 100)));
        }
    }
    Some((all, at))
}

/// True for one of several words.
fn is_of(words: &str, word: &str) -> bool {
    words.split(' ').any(|known| known == word)
}

/// True for `-x…` and `--long`; `-1` is a number, `-` standard input.
fn is_option(word: &str) -> bool {
    word.strip_prefix('-')
        .is_some_and(|rest| rest.trim_start_matches('-').starts_with(|c: char| c.is_ascii_alphabetic()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(line: &str) -> Option<String> {
        let words: Vec<&str> = line.split_whitespace().collect();
        let (all, _) = options(&words)?;
        Some(all.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(" "))
    }

    #[test]
    fn options_that_are_conditions_are_kept_by_name() {
        for (line, wanted) in [
            (
                "iperf -c 10.0.0.2 -p 5001 -l 1K -t1 -P 2 -w 512k",
                "block_bytes=1K duration=1 host=10.0.0.2 streams=2 window=512k",
            ),
            (
                "root@a:~# /usr/bin/iperf3 --client=10.0.0.2 --len 64K -R -J > x.json",
                "-R=on block_bytes=64K host=10.0.0.2",
            ),
            (
                "$ netperf -H b -t TCP_RR -P 0 -v 1 -c -C -- -r 1,100 -D | tee -a log",
                "-- -D=on -- -r=1,100 host=b test=TCP_RR",
            ),
            ("netperf -tUDP_STREAM -T 1,2 -- -m 64 2>&1", "-- -m=64 cpu_bind=1,2 test=UDP_STREAM"),
        ] {
            assert_eq!(of(line).as_deref(), Some(wanted), "{line}");
        }
        for line in ["iperf with jumbo frames", "the iperf3 test", "ping -c 1 10.0.0.2", "iperf Done."] {
            assert_eq!(of(line), None, "{line}");
        }
    }
}

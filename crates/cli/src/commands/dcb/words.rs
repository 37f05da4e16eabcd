//! Settings in the words of iproute2's `dcb`.

use crate::commands::shared::one_of;
use crate::trouble::Trouble;
use clap::Args;
use linerate_dcb::{Application, Classes, Dcbx, Selection, Selector, Settings};
use linerate_wire::Priority;

/// Local settings.
#[derive(Args, PartialEq, Eq, Default)]
pub(in crate::commands) struct Words {
    /// Traffic classes, as iproute2's `dcb ets` has them: prio-tc 0:0 3:1, tc-tsa 0:ets 1:ets (or strict), tc-bw 0:50 1:50; `all`
    /// stands for each number. Without these all priorities are of class 0, and each class is strict. They are recommended
    /// to the neighbour too.
    #[arg(long, value_name = "WORDS", num_args = 1..)]
    ets: Vec<String>,
    /// Lossless priorities: prio 3, or as iproute2's `dcb pfc` has them, prio-pfc 3:on.
    #[arg(long, value_name = "WORDS", num_args = 1..)]
    pfc: Vec<String>,
    /// Priorities of applications, as iproute2's `dcb app` has them: ethtype 0x8906:3, stream-port 3260:4, dgram-port, port,
    /// dscp, default 0.
    #[arg(long, value_name = "WORDS", num_args = 1..)]
    app: Vec<String>,
    /// Precedence of the neighbour's settings over these; without it, no.
    #[arg(long, value_name = "yes|no", action = clap::ArgAction::Set, value_parser = one_of([("yes", true), ("no", false)]))]
    willing: Option<bool>,
    /// Version of DCBX: auto, as without it, is ieee, and cee as long as the neighbour speaks that alone.
    #[arg(long, value_name = "VERSION", value_parser = one_of([("auto", Dcbx::Auto), ("ieee", Dcbx::Ieee), ("cee", Dcbx::Cee)]))]
    dcbx: Option<Dcbx>,
}

/// The option to negotiate at a port that has other work, and local settings.
#[derive(Args)]
pub(in crate::commands) struct Negotiate {
    /// Negotiate Data Center Bridging with the neighbour on the link (LLDP and DCBX, as linerate dcb up does, with its options). Traffic
    /// classes are served as they are operative: an interface's tx.priority chooses its class. FCoE has the priority of its
    /// application (ethtype 0x8906). Lossless priorities are negotiated and not obeyed.
    #[arg(long)]
    dcb: bool,
    #[command(flatten)]
    words: Words,
}

impl Negotiate {
    /// Local settings, if there is to be a negotiation.
    pub(in crate::commands) fn settings(&self) -> Result<Option<Settings>, Trouble> {
        if !self.dcb && self.words != Words::default() {
            return Err(Trouble::usage("--ets, --pfc, --app, --willing and --dcbx are for --dcb: give it, too"));
        }
        let settings = self.dcb.then(|| self.words.settings()).transpose()?;
        settings.iter().try_for_each(Settings::check).map_err(|e| Trouble::usage(e.to_string()))?;
        Ok(settings)
    }
}

impl Words {
    pub(in crate::commands) fn settings(&self) -> Result<Settings, Trouble> {
        let classes = classes(&self.ets)?;
        Ok(Settings {
            classes: classes.unwrap_or_default(),
            recommendation: classes,
            pfc: lossless(&self.pfc)?,
            applications: applications("--app", &self.app)?,
            willing: self.willing.unwrap_or_default(),
            dcbx: self.dcbx.unwrap_or_default(),
            ..Settings::default()
        })
    }
}

/// Lists of words, each behind a word that says what they are.
pub(super) fn lists<'a>(flag: &str, words: &'a [String], known: &[&str]) -> Result<Vec<(&'a str, &'a str)>, Trouble> {
    let (mut list, mut all) = (None, Vec::new());
    for word in words.iter().flat_map(|words| words.split_whitespace()) {
        match list {
            _ if known.contains(&word) => list = Some(word),
            Some(list) => all.push((list, word)),
            None => return Err(Trouble::usage(format!("{flag}: {word}: give {} first", known.join(", or ")))),
        }
    }
    match (list, all.last()) {
        (Some(list), last) if last.is_none_or(|(of, _)| *of != list) => {
            Err(Trouble::usage(format!("{flag}: {list}: nothing follows; give what it is to be")))
        }
        _ => Ok(all),
    }
}

/// Numbers 0 to 7, or all, and what is said of them.
fn pair<'a>(flag: &str, word: &'a str) -> Result<(std::ops::Range<usize>, &'a str), Trouble> {
    let numbers = |text: &str| match (text, number(text)) {
        ("all", _) => Some(0..8),
        (_, Some(n @ 0..8)) => Some(usize::from(n)..usize::from(n) + 1),
        _ => None,
    };
    let pair = word.split_once(':').and_then(|(of, value)| Some((numbers(of)?, value)));
    pair.ok_or_else(|| Trouble::usage(format!("{flag}: {word}: give a number, 0 to 7 or all, a colon and a value")))
}

/// A number of 16 bits, in decimal digits or behind 0x.
fn number(text: &str) -> Option<u16> {
    match text.strip_prefix("0x") {
        Some(digits) if !digits.starts_with('+') => u16::from_str_radix(digits, 16).ok(),
        _ => text.parse().ok().filter(|_| text.starts_with(|c: char| c.is_ascii_digit())),
    }
}

/// `--ets`; none if nothing is said.
pub(in crate::commands) fn classes(words: &[String]) -> Result<Option<Classes>, Trouble> {
    let (mut classes, mut shares) = (Classes::default(), [None; 8]);
    for (list, word) in lists("--ets", words, &["prio-tc", "tc-tsa", "tc-bw"])? {
        let (of, value) = pair("--ets", word)?;
        let wrong = |give: &str| Trouble::usage(format!("--ets: {list} {word}: give {give}"));
        let small = |most: u16| number(value).filter(|n| *n <= most).and_then(|n| u8::try_from(n).ok());
        match list {
            "prio-tc" => classes.of[of].fill(small(7).ok_or_else(|| wrong("a class, 0 to 7"))?),
            "tc-bw" => shares[of].fill(Some(small(100).ok_or_else(|| wrong("percent, 0 to 100"))?)),
            _ => classes.selection[of].fill(match value {
                "strict" => Selection::Strict,
                "ets" => Selection::Ets(0),
                _ => return Err(wrong("strict or ets")),
            }),
        }
    }
    for (class, share) in shares.into_iter().enumerate() {
        match (&mut classes.selection[class], share) {
            (Selection::Ets(of), Some(share)) => *of = share,
            (Selection::Strict, Some(1..)) => {
                return Err(Trouble::usage(format!(
                    "--ets: class {class} has a tc-bw and is strict: give tc-tsa {class}:ets"
                )));
            }
            _ => {}
        }
    }
    Ok((!words.is_empty()).then_some(classes))
}

/// `--pfc`: a bit for each lossless priority.
pub(in crate::commands) fn lossless(words: &[String]) -> Result<u8, Trouble> {
    switched("--pfc", words, &["prio", "prio-pfc"])
}

/// Priorities of an option that has no other words, one bit each.
pub(in crate::commands) fn priorities_of(option: &str, words: &[String]) -> Result<u8, Trouble> {
    switched(option, words, &["prio"])
}

/// Priorities that are switched on.
fn switched(option: &str, words: &[String], known: &[&'static str]) -> Result<u8, Trouble> {
    let mut pfc = 0;
    for (list, word) in lists(option, words, known)? {
        let (of, value) = if list == "prio" { (word, "on") } else { word.split_once(':').unwrap_or((word, "")) };
        let text = format!("{of}:{value}");
        let (of, value) = pair(option, &text)?;
        let bits = Priority::ALL[of].iter().fold(0, |bits, priority| bits | priority.bit());
        match value {
            "on" => pfc |= bits,
            "off" => pfc &= !bits,
            _ => return Err(Trouble::usage(format!("{option}: {list} {word}: give on or off behind a colon"))),
        }
    }
    Ok(pfc)
}

/// `--app`, or another option of the same words.
pub(in crate::commands) fn applications(option: &str, words: &[String]) -> Result<Vec<Application>, Trouble> {
    const KNOWN: [(&str, &str, Option<Selector>, u16); 6] = [
        ("ethtype", "ethtype-prio", Some(Selector::EtherType), u16::MAX),
        ("stream-port", "stream-port-prio", Some(Selector::Stream), u16::MAX),
        ("dgram-port", "dgram-port-prio", Some(Selector::Datagram), u16::MAX),
        ("port", "port-prio", Some(Selector::Any), u16::MAX),
        ("dscp", "dscp-prio", Some(Selector::Dscp), 63),
        ("default", "default-prio", None, 0),
    ];
    let known: Vec<&str> = KNOWN.iter().flat_map(|(short, long, ..)| [*short, *long]).collect();
    let mut all = Vec::new();
    for (list, word) in lists(option, words, &known)? {
        let wrong = |give: &str| Trouble::usage(format!("{option}: {list} {word}: give {give}"));
        let row = KNOWN.iter().find(|(short, long, ..)| [*short, *long].contains(&list));
        let Some((_, _, selector, most)) = row else { return Err(wrong("another word")) };
        let (protocol, priority) = match selector {
            None => (Some(0), Some(word)),
            Some(_) => match word.split_once(':') {
                Some((protocol, priority)) => (number(protocol), Some(priority)),
                None => (number(word), None),
            },
        };
        let selector = selector.unwrap_or(Selector::EtherType);
        let protocol = protocol.filter(|n| *n <= *most);
        let protocol = protocol.ok_or_else(|| wrong(&format!("a number up to {most}, a colon and a priority")))?;
        let priority = priority.and_then(number).and_then(|n| u8::try_from(n).ok()).and_then(Priority::new);
        all.push(Application { selector, protocol, priority: priority.ok_or_else(|| wrong("a priority, 0 to 7"))? });
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split(' ').map(str::to_owned).collect()
    }

    #[test]
    fn settings_are_read_in_the_words_of_dcb() {
        let ets = classes(&words("prio-tc all:0 3:1 tc-tsa all:strict 0:ets 1:ets tc-bw 0:50 1:50")).unwrap().unwrap();
        assert_eq!(ets.of, [0, 0, 0, 1, 0, 0, 0, 0]);
        assert_eq!(ets.selection[..3], [Selection::Ets(50), Selection::Ets(50), Selection::Strict]);
        assert_eq!(classes(&words("tc-bw 0:50 1:50 tc-tsa 0:ets 1:ets prio-tc 3:1")).unwrap(), Some(ets), "any order");
        assert_eq!(
            classes(&["prio-tc 3:1 tc-tsa 0:ets 1:ets tc-bw 0:50 1:50".to_owned()]).unwrap(),
            Some(ets),
            "one word"
        );
        assert_eq!(classes(&[]).unwrap(), None);
        assert_eq!(
            (lossless(&words("prio 3 4")).unwrap(), lossless(&words("prio-pfc all:on 0:off")).unwrap()),
            (0x18, 0xfe)
        );
        let apps =
            applications("--app", &words("ethtype 0x8906:3 35092:3 stream-port-prio 3260:4 dscp 46:5 default 1"))
                .unwrap();
        let shown: Vec<String> = apps.iter().map(Application::to_string).collect();
        assert_eq!(shown, ["ethtype 0x8906:3", "ethtype 0x8914:3", "stream-port 3260:4", "dscp 46:5", "default:1"]);
    }

    #[test]
    fn what_is_wrong_is_named() {
        let ets = |text: &str| classes(&words(text)).unwrap_err().to_string();
        for (text, wanted) in [
            ("0:0", "--ets: 0:0: give prio-tc, or tc-tsa, or tc-bw first"),
            ("prio-tc", "--ets: prio-tc: nothing follows; give what it is to be"),
            ("prio-tc 8:0", "--ets: 8:0: give a number, 0 to 7 or all, a colon and a value"),
            ("prio-tc 0", "--ets: 0: give a number, 0 to 7 or all, a colon and a value"),
            ("prio-tc 0:8", "--ets: prio-tc 0:8: give a class, 0 to 7"),
            ("prio-tc 0:+1", "--ets: prio-tc 0:+1: give a class, 0 to 7"),
            ("tc-tsa 0:cbs", "--ets: tc-tsa 0:cbs: give strict or ets"),
            ("tc-bw 0:101", "--ets: tc-bw 0:101: give percent, 0 to 100"),
            ("tc-bw 2:50", "--ets: class 2 has a tc-bw and is strict: give tc-tsa 2:ets"),
        ] {
            assert_eq!(ets(text), wanted);
        }
        let pfc = |text: &str| lossless(&words(text)).unwrap_err().to_string();
        assert_eq!(pfc("prio 9"), "--pfc: 9:on: give a number, 0 to 7 or all, a colon and a value");
        assert_eq!(pfc("prio-pfc 3"), "--pfc: prio-pfc 3: give on or off behind a colon");
        let app = |text: &str| applications("--app", &words(text)).unwrap_err().to_string();
        assert_eq!(app("ethtype 0x8906"), "--app: ethtype 0x8906: give a priority, 0 to 7");
        assert_eq!(app("ethtype 0x8906:8"), "--app: ethtype 0x8906:8: give a priority, 0 to 7");
        assert_eq!(app("ethtype 0x+1:3"), "--app: ethtype 0x+1:3: give a number up to 65535, a colon and a priority");
        assert_eq!(app("dscp 64:3"), "--app: dscp 64:3: give a number up to 63, a colon and a priority");
    }
}

//! Lines of the two ends: a request of the near end, and the far end's reply.

use crate::doctor::Load;
use std::fmt;
use std::net::IpAddr;

/// First words of the first line, which the far end says by itself; its version and its system follow.
pub(super) const GREETING: &str = "linerate agent 1 ";

/// Longest request, bytes.
pub(super) const LONGEST: usize = 4096;
/// Longest reply.
pub(super) const LONGEST_REPLY: usize = 1 << 20;

/// Request of the near end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Request {
    /// Choose the interface on the way to this address. The reply has its name, MTU and own address.
    Path(IpAddr),
    /// Name the reason why the interface cannot be set so: cycled, and to an MTU of no less than this.
    Check { cycled: bool, least: u32 },
    /// Serve tests at the own address. The reply has the port.
    Serve,
    /// Answer netperf's requests at the own address. The reply has the port.
    Answer,
    /// Give the interface this MTU.
    Mtu(u32),
    /// Take the interface down and up.
    Cycle,
    /// Reply when the interface has its carrier.
    Ready,
    /// Examine the interface and the machine, which are to carry these loads. The reply is a JSON document.
    Doctor(Vec<Load>),
}

impl fmt::Display for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Path(address) => write!(f, "path {address}"),
            Self::Check { cycled, least } => write!(f, "check {cycled} {least}"),
            Self::Serve => f.write_str("serve"),
            Self::Answer => f.write_str("answer"),
            Self::Mtu(mtu) => write!(f, "mtu {mtu}"),
            Self::Cycle => f.write_str("cycle"),
            Self::Ready => f.write_str("ready"),
            Self::Doctor(loads) => {
                f.write_str("doctor")?;
                loads.iter().try_for_each(|load| write!(f, " {}", load.word()))
            }
        }
    }
}

impl Request {
    pub(super) fn parse(line: &str) -> Option<Self> {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        Some(match words[..] {
            ["path", address] => Self::Path(address.parse().ok()?),
            ["check", cycled, least] => Self::Check { cycled: cycled.parse().ok()?, least: least.parse().ok()? },
            ["serve"] => Self::Serve,
            ["answer"] => Self::Answer,
            ["mtu", mtu] => Self::Mtu(mtu.parse().ok()?),
            ["cycle"] => Self::Cycle,
            ["ready"] => Self::Ready,
            ["doctor", ref loads @ ..] => {
                Self::Doctor(loads.iter().map(|word| Load::named(word)).collect::<Option<_>>()?)
            }
            _ => return None,
        })
    }
}

/// The line of a reply.
pub(super) fn told(reply: &Result<String, String>) -> String {
    let (word, text) = match reply {
        Ok(text) => ("ok", text),
        Err(why) => ("no", why),
    };
    format!("{word} {}", linerate_text::one_line(text))
}

/// The reply in a line; `None` if it is none.
pub(super) fn reply(line: &str) -> Option<Result<String, String>> {
    let (word, text) = line.split_once(' ').unwrap_or((line, ""));
    match word {
        "ok" => Some(Ok(text.to_owned())),
        "no" => Some(Err(text.to_owned())),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_is_understood() {
        for request in [
            Request::Path([10, 0, 0, 1].into()),
            Request::Path("fd00::1".parse().unwrap()),
            Request::Check { cycled: true, least: 576 },
            Request::Serve,
            Request::Answer,
            Request::Mtu(9000),
            Request::Cycle,
            Request::Ready,
            Request::Doctor(Vec::new()),
            Request::Doctor(vec![Load::PktGen, Load::Tcp]),
        ] {
            assert_eq!(Request::parse(&request.to_string()), Some(request));
        }
        for line in
            ["", "path", "path there", "mtu -1", "mtu 1 2", "serve now", "Serve", "check 1 576", "doctor all", "\0"]
        {
            assert_eq!(Request::parse(line), None, "{line:?}");
        }
        for said in [Ok("eth0 1500".to_owned()), Ok(String::new()), Err("eth0: it is gone".to_owned())] {
            assert_eq!(reply(&told(&said)), Some(said));
        }
        assert_eq!(told(&Err("two\nlines".to_owned())), "no two lines");
        assert_eq!((reply("okay"), reply(""), reply("Last login: today")), (None, None, None));
    }
}

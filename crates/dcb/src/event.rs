//! Events of a port, each a line for the user.

use crate::counters::TlvDrop;
use crate::neighbours::MAX_NEIGHBOURS;
use crate::settings::{Application, Classes, Selection, Selector};
use crate::steady::STILL;
use crate::table::{Off, Table};
use crate::transmit::SECOND;
use linerate_wire::Priority;
use std::fmt;

/// Reason that a neighbour is gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Gone {
    /// It took leave.
    Left,
    /// Its time to live was over.
    AgedOut,
    /// The link went down.
    LinkDown,
}

/// Something that happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// There is a new neighbour.
    Appeared(String),
    /// A neighbour is gone.
    Gone(String, Gone),
    /// There is no place for another neighbour; told once until there was one again.
    TooManyNeighbours,
    /// A TLV of a neighbour was discarded for a reason for which none of its had been before.
    Refused(String, &'static str, TlvDrop),
    /// Something else is operative.
    Operative(Box<Table>),
    /// The peer's settings change too often to be followed.
    Held,
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Appeared(who) => write!(f, "neighbour {who}: appeared"),
            Self::Gone(who, Gone::Left) => write!(f, "neighbour {who}: took leave"),
            Self::Gone(who, Gone::AgedOut) => write!(f, "neighbour {who}: its time to live is over"),
            Self::Gone(who, Gone::LinkDown) => write!(f, "neighbour {who}: the link is down"),
            Self::TooManyNeighbours => {
                write!(f, "more than {MAX_NEIGHBOURS} neighbours: no other is taken note of until one of them is gone")
            }
            Self::Refused(who, what, reason) => {
                let name = reason.name().replace('_', " ");
                write!(f, "neighbour {who}: {what} discarded ({name}): its last good settings stay")
            }
            Self::Operative(table) => table.fmt(f),
            Self::Held => {
                let still = STILL / SECOND;
                write!(
                    f,
                    "the peer's settings change too often: what is operative stays until they keep still for {still} s"
                )
            }
        }
    }
}

impl fmt::Display for Table {
    /// One line in the words of iproute2's `dcb`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.version, self.off) {
            (Some(version), _) => write!(f, "dcbx {version}")?,
            (None, Some(Off::Peers(peers))) => write!(f, "dcbx off ({peers} neighbours speak it)")?,
            (None, _) => f.write_str("dcbx off (no peer)")?,
        }
        let whose = |taken| if taken { " (peer)" } else { "" };
        write!(f, "; ets{}: {}", whose(self.taken.classes), self.classes)?;
        write!(f, "; pfc{}: {}", whose(self.taken.pfc), Priorities(self.pfc))?;
        write!(f, "; app{}:", whose(self.taken.applications))?;
        if self.applications.is_empty() {
            f.write_str(" -")?;
        }
        self.applications.iter().try_for_each(|app| write!(f, " {app}"))?;
        let places = Priority::ALL.into_iter().filter_map(|of| Some((of.number(), self.congestion.defence(of)?)));
        for (at, (priority, defence)) in places.enumerate() {
            f.write_str(if at == 0 { "; cn:" } else { "," })?;
            write!(f, " {priority} {}", defence.name())?;
        }
        for (conflict, what) in [(self.conflict.pfc, "pfc"), (self.conflict.applications, "app")] {
            if conflict {
                write!(f, "; {what} of both ends do not go together")?;
            }
        }
        Ok(())
    }
}

impl fmt::Display for Classes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut list = |name: &str, value: &dyn Fn(usize) -> Option<String>| -> fmt::Result {
            let mut named = false;
            for at in 0..self.selection.len() {
                if let Some(value) = value(at) {
                    f.write_str(if named { " " } else { name })?;
                    named = true;
                    write!(f, "{at}:{value}")?;
                }
            }
            Ok(())
        };
        list("prio-tc ", &|at| Some(self.of[at].to_string()))?;
        let algorithm = |selection| if selection == Selection::Strict { "strict" } else { "ets" };
        list(" tc-tsa ", &|at| Some(algorithm(self.selection[at]).to_owned()))?;
        list(" tc-bw ", &|at| self.selection[at].share().map(|share| share.to_string()))
    }
}

/// Priorities of a set, by number.
struct Priorities(u8);

impl fmt::Display for Priorities {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let set = Priority::ALL.into_iter().filter(|priority| self.0 & priority.bit() != 0);
        let words: Vec<String> = set.map(|priority| priority.number().to_string()).collect();
        f.write_str(if words.is_empty() { "-".to_owned() } else { words.join(" ") }.as_str())
    }
}

impl fmt::Display for Selector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::EtherType => "ethtype",
            Self::Stream => "stream-port",
            Self::Datagram => "dgram-port",
            Self::Any => "port",
            Self::Dscp => "dscp",
        })
    }
}

impl fmt::Display for Application {
    /// As iproute2's `dcb app` has it: an EtherType in hexadecimal digits, its 0 as the default.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let priority = self.priority.number();
        match self.key() {
            (Selector::EtherType, 0) => write!(f, "default:{priority}"),
            (selector @ Selector::EtherType, protocol) => write!(f, "{selector} {protocol:#06x}:{priority}"),
            (selector, protocol) => write!(f, "{selector} {protocol}:{priority}"),
        }
    }
}

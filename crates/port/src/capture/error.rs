//! What can be wrong with a capture file.

use std::io;
use thiserror::Error;

/// A capture file that cannot be used (further). Each message is one line: what is wrong, and the mend.
#[derive(Debug, Error)]
#[error("{}; {}", self.what(), self.mend())]
pub enum CaptureError {
    /// It could not be opened.
    Open {
        /// The file.
        name: String,
        /// Why.
        source: io::Error,
    },
    /// Somebody reads or writes it, so that it cannot be written, or read.
    Busy {
        /// The file.
        name: String,
    },
    /// There is nothing in it.
    Empty {
        /// The file.
        name: String,
    },
    /// It is no capture, or of a version that is not known.
    NotCapture {
        /// The file.
        name: String,
        /// Its first four bytes.
        magic: [u8; 4],
    },
    /// Its frames are not Ethernet's.
    LinkType {
        /// The file.
        name: String,
        /// LINKTYPE_ value.
        link: u32,
    },
    /// Its interfaces do not include the one that was asked for.
    NoInterface {
        /// The file.
        name: String,
        /// The number that was asked for, counted from 0.
        wanted: u32,
    },
    /// Reading failed; [`CaptureError::is_later`] tells whether only for now.
    Read {
        /// The file.
        name: String,
        /// Why.
        source: io::Error,
    },
    /// Writing failed; [`CaptureError::is_later`] tells whether only for now.
    Write {
        /// The file.
        name: String,
        /// Why.
        source: io::Error,
    },
}

impl CaptureError {
    /// What is wrong.
    #[must_use]
    pub fn what(&self) -> String {
        match self {
            Self::Open { name, source } => format!("{name} cannot be opened: {source}"),
            Self::Busy { name } => format!("{name} is being read or written"),
            Self::Empty { name } => format!("{name} is empty"),
            Self::NotCapture { name, magic: [a, b, c, d] } => {
                format!("{name} is no capture: it begins with {a:02x} {b:02x} {c:02x} {d:02x}")
            }
            Self::LinkType { name, link } => {
                format!("{name} has frames of link type {link}{}, not Ethernet", link_name(*link))
            }
            Self::NoInterface { name, wanted } => format!("{name} has no interface {wanted}"),
            Self::Read { name, source } => format!("{name} cannot be read: {source}"),
            Self::Write { name, source } => format!("{name} cannot be written: {source}"),
        }
    }

    /// What to do about it.
    #[must_use]
    pub fn mend(&self) -> &'static str {
        match self {
            Self::Open { .. } => "check the path and its permissions",
            Self::Busy { .. } => "wait until it is closed, or use another file",
            Self::Empty { .. } | Self::NotCapture { .. } => "give a pcap or pcapng file, unpacked",
            Self::LinkType { .. } => "give a capture of an Ethernet interface",
            Self::NoInterface { .. } => "they are counted from 0; leave if= out to read all that are Ethernet",
            Self::Read { .. } => "check the file and the disk",
            Self::Write { .. } => "make room on the disk, or use another file",
        }
    }

    /// Whether the same call may succeed later: a pipe has nothing to read, or no room.
    #[must_use]
    pub fn is_later(&self) -> bool {
        matches!(self, Self::Read { source, .. } | Self::Write { source, .. }
            if source.kind() == io::ErrorKind::WouldBlock)
    }
}

fn link_name(link: u32) -> &'static str {
    match link {
        0 => " (BSD loopback)",
        9 => " (PPP)",
        101 => " (raw IP)",
        105 => " (IEEE 802.11)",
        113 => " (Linux cooked)",
        127 => " (radiotap)",
        228 => " (raw IPv4)",
        229 => " (raw IPv6)",
        276 => " (Linux cooked v2)",
        _ => "",
    }
}

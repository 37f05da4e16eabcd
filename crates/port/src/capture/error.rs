//! Errors of capture files.

use std::io;
use thiserror::Error;

/// A capture file that cannot be used (further). Each message is one line: the fault, and its remedy.
#[derive(Debug, Error)]
#[error("{}; {}", self.what(), self.mend())]
pub enum CaptureError {
    /// The file could not be opened.
    Open {
        /// The file.
        name: String,
        /// Error of the system.
        source: io::Error,
    },
    /// Another reader or writer has the file open.
    Busy {
        /// The file.
        name: String,
    },
    /// The file is empty.
    Empty {
        /// The file.
        name: String,
    },
    /// The file is no capture, or of an unknown version.
    NotCapture {
        /// The file.
        name: String,
        /// Its first four bytes.
        magic: [u8; 4],
    },
    /// A file with the name of a packed one is to be written.
    Packed {
        /// The file.
        name: String,
    },
    /// The frames are not Ethernet frames.
    LinkType {
        /// The file.
        name: String,
        /// LINKTYPE_ value.
        link: u32,
    },
    /// No interface in the file has the requested number.
    NoInterface {
        /// The file.
        name: String,
        /// The requested number, counted from 0.
        wanted: u32,
    },
    /// Reading failed; [`CaptureError::is_later`] is true if only for now.
    Read {
        /// The file.
        name: String,
        /// Error of the system.
        source: io::Error,
    },
    /// Writing failed; [`CaptureError::is_later`] is true if only for now.
    Write {
        /// The file.
        name: String,
        /// Error of the system.
        source: io::Error,
    },
}

impl CaptureError {
    /// Description of the fault.
    #[must_use]
    pub fn what(&self) -> String {
        match self {
            Self::Open { name, source } => format!("{name} cannot be opened: {source}"),
            Self::Busy { name } => format!("{name} is being read or written"),
            Self::Empty { name } => format!("{name} is empty"),
            Self::NotCapture { name, magic: [a, b, c, d] } => {
                format!("{name} is no capture: it begins with {a:02x} {b:02x} {c:02x} {d:02x}")
            }
            Self::Packed { name } => format!("{name}: captures are written unpacked"),
            Self::LinkType { name, link } => {
                format!("{name} has frames of link type {link}{}, not Ethernet", link_name(*link))
            }
            Self::NoInterface { name, wanted } => format!("{name} has no interface {wanted}"),
            Self::Read { name, source } => format!("{name} cannot be read: {source}"),
            Self::Write { name, source } => format!("{name} cannot be written: {source}"),
        }
    }

    /// Remedy for the user.
    #[must_use]
    pub fn mend(&self) -> &'static str {
        match self {
            Self::Open { .. } => "check the path and its permissions",
            Self::Busy { .. } => "wait until it is closed, or use another file",
            Self::Empty { .. } | Self::NotCapture { .. } => "give a pcap or pcapng file, as it is or packed by gzip",
            Self::Packed { .. } => "give a name without .gz",
            Self::LinkType { .. } => "give a capture of an Ethernet interface",
            Self::NoInterface { .. } => "they are counted from 0; leave if= out to read all that are Ethernet",
            Self::Read { .. } => "check the file and the disk",
            Self::Write { .. } => "make room on the disk, or use another file",
        }
    }

    /// True if the same call may succeed later: a pipe has nothing to read, or no room.
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

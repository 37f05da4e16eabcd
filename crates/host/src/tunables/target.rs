//! The machine as a place that is changed.

use super::build::Change;
use super::sets;
use crate::absent::{Absent, Part};
use crate::adapter::{Machine, Source, Subject};
use crate::netlink::message::{Message, word};
use crate::sys::ethtool;
use std::fs::OpenOptions;
use std::io::Write;

const NESTED: u16 = 0x8000;
/// ETHTOOL_A_HEADER, ETHTOOL_A_HEADER_DEV_INDEX.
const HEADER: u16 = 1;
const DEV_INDEX: u16 = 1;
const ETHTOOL_GRXFHINDIR: u32 = 0x38;
const ETHTOOL_SRXFHINDIR: u32 = 0x39;

/// A place whose adapters are read and changed.
pub trait Target: Source {
    /// Tells the kernel a change of an interface.
    fn tell(&mut self, subject: &Subject, change: &Change) -> Part<()>;
}

impl Target for Machine {
    fn tell(&mut self, subject: &Subject, change: &Change) -> Part<()> {
        match change {
            Change::Ethtool { command, attributes } => {
                let family = self.ethtool()?;
                let mut message = family.request(*command);
                message.nest(HEADER | NESTED, |header| header.attribute(DEV_INDEX, &subject.index.to_ne_bytes()));
                message.raw(attributes);
                family.ask_words(message).map(drop)
            }
            Change::Link { flags, mask, attributes } => {
                self.route()?.ask_words(link(subject.index, *flags, *mask, attributes)).map(drop)
            }
            Change::Spread { queues, table } => spread(&subject.name, *queues, table),
            Change::File { path, text } => {
                let mut file = OpenOptions::new().write(true).open(format!("/{path}"))?;
                Ok(file.write_all(text.as_bytes())?)
            }
        }
    }
}

/// RTM_NEWLINK about an interface that is there.
fn link(index: u32, flags: u32, mask: u32, attributes: &[u8]) -> Message {
    // struct ifinfomsg: family, type, index, flags, which flags
    let header = [0, index, flags, mask].map(u32::to_ne_bytes).concat();
    let mut message = Message::about(libc::RTM_NEWLINK, 0, &header);
    message.raw(attributes);
    message
}

/// Sets RSS's table, which has as many entries as the driver says.
fn spread(name: &str, queues: u32, table: &[u32]) -> Part<()> {
    // struct ethtool_rxfh_indir: command, number of entries, entries.
    let entries = word(&ethtool::ask(name, &[ETHTOOL_GRXFHINDIR, 0].map(u32::to_ne_bytes).concat(), 8)?, 4);
    let length = usize::try_from(entries).unwrap_or(0);
    let table = if table.is_empty() { sets::equal(queues, length).collect() } else { table.to_vec() };
    if table.len() != length || length == 0 {
        return Err(Absent::told(format!("its table has {length} entries, and {} were given", table.len())));
    }
    let request: Vec<u8> = [ETHTOOL_SRXFHINDIR, entries].into_iter().chain(table).flat_map(u32::to_ne_bytes).collect();
    Ok(ethtool::ask(name, &request, 8).map(drop)?)
}

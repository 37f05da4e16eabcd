//! Messages that set: attributes of ethtool's and of rtnetlink's requests, RSS's table, and files.

use super::state::{State, path};
use super::table::{Form, Group, PRIVATE, find};
use super::words::Wish;
use super::{Value, dcb, sets};
use crate::absent::{Absent, Part};
use crate::adapter::App;
use crate::ethtool::bitset;
use crate::netlink::message::Message;

/// A change as the kernel is told it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// A message of the ethtool family.
    Ethtool {
        /// ETHTOOL_MSG_…_SET.
        command: u8,
        /// Attributes behind the header.
        attributes: Vec<u8>,
    },
    /// RTM_NEWLINK.
    Link {
        /// Flags to be on or off.
        flags: u32,
        /// Flags that change.
        mask: u32,
        attributes: Vec<u8>,
    },
    /// ETHTOOL_SRXFHINDIR: queue for each value of the hash's last bits.
    Spread {
        /// Number of queues, equally.
        queues: u32,
        /// All entries, if not equally.
        table: Vec<u32>,
    },
    /// Parts of a structure of dcbnl: its attribute, and places and bytes.
    Dcb { kind: u16, patches: Vec<(usize, Vec<u8>)> },
    /// All applications with a priority in dcbnl.
    DcbApps(Vec<App>),
    /// DCB_CMD_SDCBX.
    Dcbx(u8),
    File {
        /// Its path, without the slash in front.
        path: String,
        text: String,
    },
}

/// Makes the message that sets some settings of a group.
pub(super) fn build(group: Group, wishes: &[&Wish], now: &State) -> Part<Change> {
    if let Some(change) = dcb::build(group, wishes) {
        return change;
    }
    let mut message = Message::about(0, 0, &[]);
    let (mut flags, mut mask) = (0, 0);
    let mut bits: Vec<(&str, bool)> = Vec::new();
    for wish in wishes {
        let Some(row) = find(&wish.name) else {
            let name = wish.name.strip_prefix(PRIVATE).unwrap_or(&wish.name);
            bits.push((name, wish.value == Value::On(true)));
            continue;
        };
        match (row.form, &wish.value) {
            (Form::Switch, Value::On(on)) => message.attribute(row.at, &[u8::from(*on)]),
            (Form::Number, Value::Number(number)) => {
                let number = u32::try_from(*number).map_err(|_| misfit(wish))?;
                message.attribute(row.at, &number.to_ne_bytes());
            }
            (Form::Word(words), Value::Text(text)) => {
                let at = words.iter().position(|word| word == text).and_then(|at| u8::try_from(at).ok());
                message.attribute(row.at, &[at.ok_or_else(|| misfit(wish))?]);
            }
            (Form::Flag, Value::On(on)) => {
                let bit = u32::from(row.at);
                mask |= bit;
                flags |= if *on { bit } else { 0 };
            }
            (Form::Modes, Value::Text(text)) => {
                let wanted: Vec<_> = text.split(',').filter(|mode| !mode.is_empty()).collect();
                let present = match now.get(row.name).map(|one| &one.value) {
                    Some(Value::Text(present)) => present.as_str(),
                    _ => "",
                };
                let gone = present.split(',').filter(|mode| !mode.is_empty() && !wanted.contains(mode));
                let all: Vec<_> =
                    wanted.iter().map(|mode| (*mode, true)).chain(gone.map(|mode| (mode, false))).collect();
                bitset::build(&mut message, row.at, &all);
            }
            (Form::Codes, Value::Text(text)) => {
                let (auto, codes) = sets::parse_codes(text).ok_or_else(|| misfit(wish))?;
                bitset::build(&mut message, sets::FEC_MODES, &codes);
                message.attribute(sets::FEC_AUTO, &[u8::from(auto)]);
            }
            (Form::Table, value) => return spread(value).ok_or_else(|| misfit(wish)),
            (Form::File, value) => return Ok(Change::File { path: path(row.name), text: value.to_string() }),
            _ => return Err(misfit(wish)),
        }
    }
    if !bits.is_empty() {
        // ETHTOOL_A_PRIVFLAGS_FLAGS, ETHTOOL_A_FEATURES_WANTED
        bitset::build(&mut message, if group == Group::PrivateFlags { 2 } else { 3 }, &bits);
    }
    let attributes = message.into_body();
    Ok(match group.command() {
        Some(command) => Change::Ethtool { command, attributes },
        None => Change::Link { flags, mask, attributes },
    })
}

fn misfit(wish: &Wish) -> Absent {
    Absent::told(format!("{} is no value of it", wish.value))
}

fn spread(value: &Value) -> Option<Change> {
    match value {
        Value::Number(queues) => {
            let queues = u32::try_from(*queues).ok().filter(|queues| *queues > 0)?;
            Some(Change::Spread { queues, table: Vec::new() })
        }
        Value::Text(text) => {
            let table: Result<Vec<u32>, _> = text.split(',').map(str::parse).collect();
            Some(Change::Spread { queues: 0, table: table.ok()? })
        }
        Value::On(_) => None,
    }
}

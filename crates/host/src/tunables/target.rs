//! The machine as a place that is changed.

use super::build::Change;
use super::sets;
use crate::absent::{Absent, Part};
use crate::adapter::fields::byte;
use crate::adapter::source::{nonsense, one};
use crate::adapter::{App, Machine, Question, Source, Subject, dcb};
use crate::netlink::message::{Message, word};
use crate::sys::ethtool;
use std::fs::OpenOptions;
use std::io::Write;

const NESTED: u16 = 0x8000;
/// ETHTOOL_A_HEADER, ETHTOOL_A_HEADER_DEV_INDEX.
const HEADER: u16 = 1;
const DEV_INDEX: u16 = 1;
/// DCB_CMD_IEEE_SET, DCB_CMD_IEEE_DEL, DCB_CMD_SDCBX.
const IEEE_SET: u8 = 20;
const IEEE_DEL: u8 = 27;
const SET_DCBX: u8 = 23;
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
            Change::Dcb { kind, patches } => {
                let now = one(self, Question::Dcb, subject)?;
                let value =
                    dcb::structure(&now, *kind).ok_or_else(|| Absent::told("its driver has no such setting"))?;
                let mut value = value.to_vec();
                for (at, bytes) in patches {
                    value.get_mut(*at..at + bytes.len()).ok_or_else(nonsense)?.copy_from_slice(bytes);
                }
                self.set_dcb(IEEE_SET, subject, &ieee(|ieee| ieee.attribute(*kind, &value)))
            }
            Change::DcbApps(wanted) => {
                let now = dcb::parse(&one(self, Question::Dcb, subject)?).ok_or_else(nonsense)?.app;
                let not_in =
                    |all: &[App], other: &[App]| all.iter().copied().filter(|app| !other.contains(app)).collect();
                let (new, gone): (Vec<App>, Vec<App>) = (not_in(wanted, &now), not_in(&now, wanted));
                for (command, apps) in
                    [(IEEE_SET, new), (IEEE_DEL, gone)].into_iter().filter(|(_, apps)| !apps.is_empty())
                {
                    let table =
                        |table: &mut Message| apps.iter().for_each(|app| table.attribute(dcb::APP, &app.bytes()));
                    self.set_dcb(command, subject, &ieee(|ieee| ieee.nest(dcb::APP_TABLE, table)))?;
                }
                Ok(())
            }
            Change::Dcbx(bits) => {
                let mut message = Message::about(0, 0, &[]);
                message.attribute(dcb::DCB_ATTR_DCBX, &[*bits]);
                self.set_dcb(SET_DCBX, subject, &message.into_body())
            }
            Change::File { path, text } => {
                let mut file = OpenOptions::new().write(true).open(format!("/{path}"))?;
                Ok(file.write_all(text.as_bytes())?)
            }
        }
    }
}

impl Machine {
    /// Sends a change to dcbnl, whose answer has the driver's error number, cut to 8 bits.
    fn set_dcb(&mut self, command: u8, subject: &Subject, attributes: &[u8]) -> Part<()> {
        let answer = self.dcb(libc::RTM_SETDCB, command, &subject.name, attributes)?;
        refusal(command, &answer).map_or(Ok(()), Err)
    }
}

/// The driver's refusal in an answer, if it is one.
fn refusal(command: u8, answer: &[u8]) -> Option<Absent> {
    let attribute = if command == SET_DCBX { dcb::DCB_ATTR_DCBX } else { dcb::DCB_ATTR_IEEE };
    match answer.get(dcb::HEADER..).and_then(|all| byte(all, attribute)).map(u8::cast_signed) {
        Some(0) => None,
        Some(error @ ..0) => Some(Absent::new(-i32::from(error), None)),
        Some(_) => Some(Absent::told("its driver refuses it")),
        None => Some(nonsense()),
    }
}

/// Attributes within DCB_ATTR_IEEE.
fn ieee(fill: impl FnOnce(&mut Message)) -> Vec<u8> {
    let mut message = Message::about(0, 0, &[]);
    message.nest(dcb::DCB_ATTR_IEEE, fill);
    message.into_body()
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

#[cfg(test)]
mod tests {
    use super::*;

    /// dcbnl acknowledges what a driver refuses: the refusal is a byte of its answer.
    #[test]
    fn a_drivers_refusal_is_in_the_answer() {
        let answer = |kind: u16, value: &[u8]| {
            let mut message = Message::about(0, 0, &[0, 20, 0, 0]);
            message.attribute(kind, value);
            message.into_body()
        };
        let (of_set, of_dcbx) = (dcb::DCB_ATTR_IEEE, dcb::DCB_ATTR_DCBX);
        assert_eq!(refusal(IEEE_SET, &answer(of_set, &[0])), None);
        assert_eq!(refusal(IEEE_DEL, &answer(of_set, &[0xfe])), Some(Absent::new(2, None)));
        assert_eq!(refusal(IEEE_SET, &answer(of_set, &[0xea])).unwrap().why, "Invalid argument");
        let words = refusal(SET_DCBX, &answer(of_dcbx, &[1])).unwrap();
        assert_eq!((refusal(SET_DCBX, &answer(of_dcbx, &[0])), words.errno), (None, None));
        assert_eq!(refusal(IEEE_SET, &answer(of_set, &[0x80])).unwrap().errno, Some(128));
        for wrong in [answer(of_set, &[]), answer(of_dcbx, &[0]), Vec::new(), vec![0; 3]] {
            assert_eq!(refusal(IEEE_SET, &wrong), Some(nonsense()), "{wrong:?}");
        }
    }
}

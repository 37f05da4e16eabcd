//! Generic netlink: families of requests that are found by name.

use super::message::{Message, attribute, half};
use super::{Netlink, bad_answer};
use crate::absent::Part;
use std::io;

// linux/genetlink.h
const CTRL_CMD_GETFAMILY: u8 = 3;
const CTRL_ATTR_FAMILY_ID: u16 = 1;
const CTRL_ATTR_FAMILY_NAME: u16 = 2;
/// `struct genlmsghdr`: command, version, two reserved bytes.
const HEADER: usize = 4;

/// A family of requests.
pub(crate) struct Family {
    netlink: Netlink,
    id: u16,
}

impl Family {
    /// Finds a family; `ENOENT` if this kernel has none of that name.
    pub(crate) fn open(name: &str) -> io::Result<Self> {
        let mut netlink = Netlink::open_generic()?;
        let controller = u16::try_from(libc::GENL_ID_CTRL).unwrap_or(0x10);
        let mut message = request(controller, CTRL_CMD_GETFAMILY);
        message.text(CTRL_ATTR_FAMILY_NAME, name);
        let answer = netlink.answer(message)?;
        let id = attributes_of(&answer).and_then(|all| attribute(all, CTRL_ATTR_FAMILY_ID)).map(|id| half(id, 0));
        Ok(Self { netlink, id: id.filter(|id| *id != 0).ok_or_else(bad_answer)? })
    }

    /// Begins a request of this family, without attributes yet.
    pub(crate) fn request(&self, command: u8) -> Message {
        request(self.id, command)
    }

    /// Sends a request; returns the answer's attributes, or the kernel's words.
    pub(crate) fn ask_words(&mut self, message: Message) -> Part<Vec<u8>> {
        let answer = self.netlink.ask_words(message)?.unwrap_or_default();
        Ok(attributes_of(&answer).unwrap_or_default().to_vec())
    }

    /// Asks for all objects of a kind; returns the attributes of each.
    pub(crate) fn list(&mut self, request: impl Fn(u16) -> Message) -> Part<Vec<Vec<u8>>> {
        let id = self.id;
        let answers = self.netlink.list(|| request(id))?;
        Ok(answers.iter().map(|answer| attributes_of(answer).unwrap_or_default().to_vec()).collect())
    }

    pub(crate) fn id(&self) -> u16 {
        self.id
    }

    /// Sends a request; returns the answer's attributes, empty if the request was only acknowledged.
    pub(crate) fn ask(&mut self, message: Message) -> io::Result<Vec<u8>> {
        let answer = self.netlink.ask(message)?.unwrap_or_default();
        Ok(attributes_of(&answer).unwrap_or_default().to_vec())
    }
}

/// Begins a request of a family, without attributes yet.
pub(crate) fn request(family: u16, command: u8) -> Message {
    Message::about(family, 0, &[command, 1, 0, 0])
}

fn attributes_of(answer: &[u8]) -> Option<&[u8]> {
    answer.get(HEADER..)
}

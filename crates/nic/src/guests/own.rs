//! The interface that the adapter's own process has, for a protocol of the link itself: its frames go before all others, and no
//! program sends any of its EtherTypes.

use super::policy::tag_of;
use super::{Guests, refuse};
use crate::adapter::NicError;
use linerate_wire::EtherType;

/// Most frames that wait to be fetched; what comes beyond them is dropped.
const WAITING: usize = 32;

/// The interface.
pub(super) struct Own {
    pub(super) interface: usize,
    ethertypes: Vec<EtherType>,
    came: Vec<Vec<u8>>,
}

impl Own {
    /// True if a frame is of an EtherType that is the interface's, behind a tag too.
    pub(super) fn names(&self, frame: &[u8]) -> bool {
        let at = if tag_of(frame).is_some() { 16 } else { 12 };
        let ethertype = frame.get(at..at + 2).map(|bytes| EtherType(u16::from_be_bytes([bytes[0], bytes[1]])));
        ethertype.is_some_and(|ethertype| self.ethertypes.contains(&ethertype))
    }

    /// Keeps a frame that has come; false if there is no room.
    pub(super) fn keep(&mut self, frame: &[u8]) -> bool {
        let room = self.came.len() < WAITING;
        if room {
            self.came.push(frame.to_vec());
        }
        room
    }
}

impl Guests {
    /// Takes an interface for the caller, which receives frames of these EtherTypes to these addresses: no program is let in there,
    /// and none may send such frames.
    ///
    /// # Errors
    /// [`NicError`], in one line, when the interface exists, or its settings cannot be.
    pub fn keep(&mut self, vi: usize, ethertypes: &[EtherType], addresses: &[[u8; 6]]) -> Result<(), NicError> {
        if self.exists(vi) {
            return refuse(format!("virtual interface {vi} is a program's: remove it, as the adapter needs it"));
        }
        self.control.change(vi, |settings| {
            (settings.up, settings.all_multicast) = (true, false);
            (settings.ethertypes, settings.addresses) = (ethertypes.to_vec(), addresses.to_vec());
        })?;
        self.desk.places[vi].exists = true;
        self.desk.own = Some(Own { interface: vi, ethertypes: ethertypes.to_vec(), came: Vec::new() });
        Ok(())
    }

    /// Hands over the frames that have come for the own interface since the last call; gives how many.
    pub fn take_own(&mut self, mut take: impl FnMut(&[u8])) -> usize {
        let came = self.desk.own.as_mut().map(|own| std::mem::take(&mut own.came)).unwrap_or_default();
        came.iter().for_each(|frame| take(frame));
        came.len()
    }

    /// Sends a frame from the own interface; false if it has to wait, as the port has no room.
    #[must_use = "false means that nothing was sent"]
    pub fn send_own(&mut self, frame: &[u8]) -> bool {
        let Some(own) = &self.desk.own else { return false };
        // The interface may have come since the last sync.
        self.tx.follow();
        let sent = self.tx.send_first(own.interface, frame);
        let count = &mut self.desk.places[own.interface].count;
        (count.sent, count.to_port) = (count.sent + u64::from(sent), count.to_port + u64::from(sent));
        count.sent_bytes += if sent { frame.len() as u64 } else { 0 };
        sent
    }
}

//! Functions that `-f` names.

use super::job::{Job, Lane, Setup};
use super::{ping, pong, rx, rxseq, tx, txseq};
use linerate_port::Info;

/// Role of a mode's threads at a port, which selects the words of the reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    Sender,
    Receiver,
    /// The threads do both.
    Other,
}

/// A function of `-f`.
#[derive(Debug)]
pub struct Mode {
    /// Name after `-f`.
    pub name: &'static str,
    pub about: &'static str,
    pub role: Role,
    /// Frames per sync, unless `-b` gives another number.
    pub burst: u32,
    /// True if there can be only one thread.
    pub single: bool,
    /// Mode at the far port, if that is opened by this process too (`Config::to`).
    pub(super) far: Option<&'static Mode>,
    /// Function that makes a thread's work over its queues.
    pub(super) job: fn(&Setup, Vec<Lane>) -> Box<dyn Job>,
}

impl Mode {
    /// True if the mode makes frames.
    #[must_use]
    pub fn sends(&self) -> bool {
        self.role == Role::Sender || self.name == "ping"
    }

    /// True if the mode receives streams.
    #[must_use]
    pub fn receives(&self) -> bool {
        self.role == Role::Receiver
    }

    /// Number of a port's queues that it can use.
    #[must_use]
    pub fn queues(&self, info: &Info) -> usize {
        match self.role {
            Role::Sender => info.tx_queues,
            Role::Receiver => info.rx_queues,
            Role::Other => info.tx_queues.min(info.rx_queues),
        }
    }
}

/// All functions; the first is the default.
pub static MODES: &[Mode] = &[rx::MODE, tx::MODE, ping::MODE, pong::MODE, txseq::MODE, rxseq::MODE];

//! The functions that `-f` names.

use super::job::{Job, Lane, Setup};
use super::{ping, pong, rx, rxseq, tx, txseq};
use linerate_port::Info;

/// What a mode's threads do with a port; it chooses words and lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// They send.
    Sender,
    /// They receive.
    Receiver,
    /// Both.
    Other,
}

/// One function.
#[derive(Debug)]
pub struct Mode {
    /// Its name after `-f`.
    pub name: &'static str,
    /// What it does.
    pub about: &'static str,
    /// Which way.
    pub role: Role,
    /// Frames a sync, unless `-b` says otherwise.
    pub burst: u32,
    /// Whether there can be but one thread.
    pub single: bool,
    /// What is done at the far port, if that is of this process too (`Config::to`).
    pub(super) far: Option<&'static Mode>,
    /// A thread's work over its queues.
    pub(super) job: fn(&Setup, Vec<Lane>) -> Box<dyn Job>,
}

impl Mode {
    /// Whether it makes frames.
    #[must_use]
    pub fn sends(&self) -> bool {
        self.role == Role::Sender || self.name == "ping"
    }

    /// Whether it receives streams.
    #[must_use]
    pub fn receives(&self) -> bool {
        self.role == Role::Receiver
    }

    /// Queues of a port that it can use.
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

//! An open port: its queues, and the device that they belong to.

use crate::class::classes_of;
use crate::error::{Cause, OpenError};
use crate::info::{Filter, Info, Link};
use crate::queue::{RxQueue, TxQueue};

/// What a kind's `open` gives.
pub(crate) struct Parts {
    pub(crate) info: Info,
    pub(crate) tx: Vec<TxQueue>,
    pub(crate) rx: Vec<RxQueue>,
    pub(crate) device: Box<dyn Device>,
}

/// What a port is beside its queues.
pub(crate) trait Device: Send + Sync {
    /// Whether frames can pass.
    fn link(&self) -> Link {
        Link::Up
    }

    /// Chooses what is delivered.
    fn filter(&self, _: &Filter) -> Result<(), String> {
        Err("this kind of port delivers all that arrives".into())
    }

    /// What the user should know since then.
    fn notes(&self) -> Vec<String> {
        Vec::new()
    }

    /// Raw counters that somebody else keeps (the kernel, a file, a wrapper), by name.
    fn raw_counters(&self) -> Vec<(String, u64)> {
        Vec::new()
    }

    /// What went wrong since it was opened, in one line.
    fn trouble(&self) -> Option<String> {
        None
    }
}

/// An open port. Its queues are taken out and used by one thread each; the port itself may stay elsewhere.
pub struct Port {
    info: Info,
    tx: Vec<Option<TxQueue>>,
    rx: Vec<Option<RxQueue>>,
    device: Box<dyn Device>,
    memory: (usize, usize),
}

impl Port {
    /// What a kind and its wrappers have opened, over memory at this address and of so many bytes.
    pub(crate) fn new(mut parts: Parts, memory: (usize, usize)) -> Self {
        let queues = parts.tx.len();
        parts.tx.iter_mut().enumerate().for_each(|(q, tx)| tx.set_classes(classes_of(q, queues)));
        let (tx, rx) = (parts.tx.into_iter().map(Some).collect(), parts.rx.into_iter().map(Some).collect());
        Self { info: parts.info, tx, rx, device: parts.device, memory }
    }

    /// What it is.
    #[must_use]
    pub fn info(&self) -> &Info {
        &self.info
    }

    /// Address and bytes of the region that was made for it in this process.
    #[must_use]
    pub fn memory(&self) -> (usize, usize) {
        self.memory
    }

    /// Takes a transmit queue; None if there is no such queue, or it was taken.
    pub fn take_tx(&mut self, queue: usize) -> Option<TxQueue> {
        self.tx.get_mut(queue)?.take()
    }

    /// Takes a receive queue; None if there is no such queue, or it was taken.
    pub fn take_rx(&mut self, queue: usize) -> Option<RxQueue> {
        self.rx.get_mut(queue)?.take()
    }

    /// Whether frames can pass.
    #[must_use]
    pub fn link(&self) -> Link {
        self.device.link()
    }

    /// Chooses what is delivered. The error says why not.
    pub fn filter(&self, filter: &Filter) -> Result<(), OpenError> {
        self.device.filter(filter).map_err(|why| {
            OpenError::new(&self.info.name, Cause::Capability, why, "leave the filter out, or use packet: or xdp:")
        })
    }

    /// What the user should know: [`Info::notes`], and what has come about since the port was opened (an interface
    /// that cannot filter what it was asked to).
    #[must_use]
    pub fn notes(&self) -> Vec<String> {
        let mut notes = self.info.notes.clone();
        notes.extend(self.device.notes());
        notes
    }

    /// Raw counters that somebody else keeps (the kernel), by name.
    #[must_use]
    pub fn raw_counters(&self) -> Vec<(String, u64)> {
        self.device.raw_counters()
    }

    /// What went wrong since it was opened (a disk is full, a file is damaged), in one line for the user: why the link
    /// is down, or why a trace is not whole.
    #[must_use]
    pub fn trouble(&self) -> Option<String> {
        self.device.trouble()
    }
}

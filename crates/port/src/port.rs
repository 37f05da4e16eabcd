//! An open port: its queues, and the device that they belong to.

use crate::class::priorities_of;
use crate::error::{Cause, OpenError};
use crate::info::{Filter, Info, Link};
use crate::queue::{RxQueue, TxQueue};

/// Result of a kind's `open`.
pub(crate) struct Parts {
    pub(crate) info: Info,
    pub(crate) tx: Vec<TxQueue>,
    pub(crate) rx: Vec<RxQueue>,
    pub(crate) device: Box<dyn Device>,
}

/// Interface of a port's device: all of a port but its queues.
pub(crate) trait Device: Send + Sync {
    /// State of the link.
    fn link(&self) -> Link {
        Link::Up
    }

    /// MTU that its interface has now; None if it has none, or it cannot be read.
    fn mtu(&self) -> Option<usize> {
        None
    }

    /// Sets the filter for delivered frames.
    fn filter(&self, _: &Filter) -> Result<(), String> {
        Err("this kind of port delivers all that arrives".into())
    }

    /// Notes for the user since the port was opened.
    fn notes(&self) -> Vec<String> {
        Vec::new()
    }

    /// Raw counters kept elsewhere (the kernel, a file, a wrapper), by name.
    fn raw_counters(&self) -> Vec<(String, u64)> {
        Vec::new()
    }

    /// Error since the port was opened, in one line.
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
    /// Port from the parts that its kind and wrappers made, over the region with this address and length in bytes.
    pub(crate) fn new(mut parts: Parts, memory: (usize, usize)) -> Self {
        let queues = parts.tx.len();
        parts.tx.iter_mut().enumerate().for_each(|(q, tx)| tx.set_priorities(priorities_of(q, queues)));
        let (tx, rx) = (parts.tx.into_iter().map(Some).collect(), parts.rx.into_iter().map(Some).collect());
        Self { info: parts.info, tx, rx, device: parts.device, memory }
    }

    /// Description of the port.
    #[must_use]
    pub fn info(&self) -> &Info {
        &self.info
    }

    /// Address and length in bytes of the region made for the port in this process.
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

    /// Puts a layer around each receive queue that was not taken yet.
    pub(crate) fn change_rx(&mut self, mut change: impl FnMut(RxQueue) -> RxQueue) {
        self.rx = std::mem::take(&mut self.rx).into_iter().map(|rx| rx.map(&mut change)).collect();
    }

    /// State of the link.
    #[must_use]
    pub fn link(&self) -> Link {
        self.device.link()
    }

    /// MTU that the port's interface has now, which others may have changed since [`Info::mtu`] was read; None if it has none, or it
    /// cannot be read.
    #[must_use]
    pub fn mtu(&self) -> Option<usize> {
        self.device.mtu()
    }

    /// Sets the filter for delivered frames. The error gives the reason of a refusal.
    pub fn filter(&self, filter: &Filter) -> Result<(), OpenError> {
        self.device.filter(filter).map_err(|why| {
            OpenError::new(&self.info.name, Cause::Capability, why, "leave the filter out, or use packet: or xdp:")
        })
    }

    /// Notes for the user: [`Info::notes`], and later ones (an interface that cannot filter as requested).
    #[must_use]
    pub fn notes(&self) -> Vec<String> {
        let mut notes = self.info.notes.clone();
        notes.extend(self.device.notes());
        notes
    }

    /// Raw counters kept elsewhere (the kernel), by name.
    #[must_use]
    pub fn raw_counters(&self) -> Vec<(String, u64)> {
        self.device.raw_counters()
    }

    /// Error since the port was opened (a disk is full, a file is damaged), in one line for the user: the reason that
    /// the link is down, or that a trace is incomplete.
    #[must_use]
    pub fn trouble(&self) -> Option<String> {
        self.device.trouble()
    }
}

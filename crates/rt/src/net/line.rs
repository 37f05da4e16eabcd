//! What carries a host's frames: a port's queue itself, or an adapter's over it.

use crate::machine::Sleeper;
use linerate_nic::{NicRx, NicTx};
use linerate_port::{Link, RxQueue, TxCounters, TxQueue};
use linerate_ring::{Frame, Meta, TxRing};
use linerate_stack::Transmit;

/// A host's interface of an adapter.
pub(super) const INTERFACE: usize = 0;

/// The way out.
pub enum Tx {
    /// A port's queue.
    Port(TxQueue),
    /// An adapter's: interface 0.
    Nic(NicTx),
}

impl Tx {
    /// Hands on what was sent, and gets sent slots back.
    #[inline]
    pub fn sync(&mut self, now: u64) {
        match self {
            Self::Port(queue) => queue.sync(),
            Self::Nic(nic) => nic.sync(now),
        }
    }

    /// What the port's queue did.
    #[must_use]
    pub fn counters(&self) -> TxCounters {
        match self {
            Self::Port(queue) => queue.counters(),
            Self::Nic(nic) => nic.port_counters(),
        }
    }

    /// The port's ring.
    #[inline]
    pub fn ring(&mut self) -> &mut TxRing {
        &mut self.queue().ring
    }

    pub(super) fn queue(&mut self) -> &mut TxQueue {
        match self {
            Self::Port(queue) => queue,
            Self::Nic(nic) => nic.port(),
        }
    }
}

impl Transmit for Tx {
    #[inline]
    fn send(&mut self, head: &[u8], body: &[u8], request: Option<Meta>) -> bool {
        match self {
            Self::Port(queue) => queue.ring.send(head, body, request),
            Self::Nic(nic) => nic.send(INTERFACE, head, body, request),
        }
    }

    #[inline]
    fn frame(&mut self, len: usize, request: Option<Meta>, fill: impl FnOnce(&mut Frame<'_>)) -> bool {
        match self {
            Self::Port(queue) => queue.ring.frame(len, request, fill),
            Self::Nic(nic) => nic.frame(INTERFACE, len, request, fill),
        }
    }

    #[inline]
    fn single(&self) -> usize {
        match self {
            Self::Port(queue) => queue.ring.usable(),
            Self::Nic(nic) => nic.single(INTERFACE),
        }
    }
}

/// The way in.
#[expect(clippy::large_enum_variant, reason = "a host has one, and it stays where it is")]
pub(super) enum Rx {
    Port(RxQueue),
    Nic(Box<NicRx>),
}

impl Rx {
    pub(super) fn link(&self) -> Link {
        match self {
            Self::Port(queue) => queue.link(),
            Self::Nic(nic) => nic.link(),
        }
    }

    pub(super) fn sleeper(&mut self) -> &mut dyn Sleeper {
        match self {
            Self::Port(queue) => queue,
            Self::Nic(nic) => nic.port(),
        }
    }
}

//! A queue of an adapter in one thread, and the protocols that share it, each on an interface of its own.

use crate::machine::Sleeper;
use linerate_nic::{Control, Flags, Nic, NicConfig, NicError, NicRx, NicTx, PUBLISHED};
use linerate_port::{Info, Link, Port, TxCounters};
use linerate_wire::MacAddr;

/// What an adapter does for protocols that verify what they copy: all that costs nothing until a frame asks for it.
const QUIET: Flags =
    PUBLISHED.difference(Flags::LRO).difference(Flags::VLAN_HWTAGGING).difference(Flags::VLAN_HWFILTER);

/// One queue of an adapter.
pub struct Line {
    /// The way out.
    pub tx: NicTx,
    /// The way in.
    pub rx: NicRx,
    control: Control,
    link: Link,
}

impl Line {
    /// Takes a queue of an adapter; None if it has no such queue for each way, or it was taken.
    #[must_use]
    pub fn new(nic: &mut Nic, queue: usize) -> Option<Self> {
        let queue = nic.take(queue)?;
        Some(Self { tx: queue.tx, rx: queue.rx, control: nic.control(), link: Link::Down })
    }

    /// An adapter over a port for so many protocols, with nothing switched on that costs anything. `software`: the port
    /// is asked for no offload.
    pub(crate) fn adapter(port: Port, interfaces: usize, mac: MacAddr, software: bool) -> Result<Nic, NicError> {
        let mac = Some(mac.0);
        Nic::new(port, &NicConfig { interfaces, mac, capabilities: QUIET, hand_down: !software, verify: false })
    }

    /// Reads and changes the adapter's settings.
    #[must_use]
    pub fn control(&self) -> &Control {
        &self.control
    }

    /// What the port is.
    #[must_use]
    pub fn info(&self) -> &Info {
        self.control.port()
    }

    /// What the user should know of the port, as [`Port::notes`] has it.
    #[must_use]
    pub fn notes(&self) -> Vec<String> {
        self.control.notes()
    }

    /// Whether frames can pass.
    #[must_use]
    pub fn link(&self) -> Link {
        self.rx.link()
    }

    /// What the port's transmit queue did.
    #[must_use]
    pub fn tx_counters(&self) -> TxCounters {
        self.tx.port_counters()
    }

    /// Looks after the link: gives what it became, if it changed since it was last asked.
    pub(crate) fn changed(&mut self, now: u64) -> Option<Link> {
        let link = self.rx.link();
        if link == self.link {
            return None;
        }
        self.link = link;
        // A queue that has nothing to send must look too: the far end of a cable is not let in before.
        self.tx.sync(now);
        Some(link)
    }

    /// Takes what has arrived, once all that came before was read.
    #[inline]
    pub(crate) fn take(&mut self, now: u64) {
        if self.rx.is_read() {
            self.rx.poll(now);
        }
    }

    /// Hands on what was sent since.
    #[inline]
    pub fn flush(&mut self, now: u64) {
        if self.tx.is_due() {
            self.tx.sync(now);
        }
    }

    /// What to wait on. `blocked`: somebody has more to send.
    pub(crate) fn waits_for(&mut self, blocked: bool, visit: &mut dyn FnMut(&mut dyn Sleeper)) {
        visit(self.rx.port());
        if blocked || self.tx.is_due() {
            visit(self.tx.port());
        }
    }
}

/// A locally administered address for one station (IEEE 802, section 8.4).
pub(crate) fn random_mac(seed: u64) -> MacAddr {
    let [a, b, c, d, e, f, ..] = seed.to_le_bytes();
    MacAddr([a & 0xfc | 2, b, c, d, e, f])
}

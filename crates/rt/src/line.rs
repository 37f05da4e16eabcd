//! A queue of an adapter, and the protocols that share it, each on an interface of its own.

use crate::machine::Sleeper;
use linerate_nic::{Control, Flags, Nic, NicConfig, NicError, NicRx, NicTx, PUBLISHED};
use linerate_port::{Info, Link, Port, TxCounters};
use linerate_wire::MacAddr;

/// Offloads for protocols that verify what they copy: all that cost nothing until a frame asks for one.
const QUIET: Flags =
    PUBLISHED.difference(Flags::LRO).difference(Flags::VLAN_HWTAGGING).difference(Flags::VLAN_HWFILTER);

/// One queue of an adapter, in one thread.
pub struct Line {
    pub tx: NicTx,
    /// The receive half.
    pub arrivals: Arrivals,
}

/// The receive half of a queue, and the state of its link.
pub struct Arrivals {
    pub rx: NicRx,
    control: Control,
    seen: SeenLink,
}

/// State of a link, as it was last asked for.
pub(crate) struct SeenLink {
    link: Link,
    generation: u32,
}

impl Default for SeenLink {
    fn default() -> Self {
        Self { link: Link::Down, generation: 0 }
    }
}

impl SeenLink {
    /// New state of the link, if it changed since this was last asked; a link that went and came back meanwhile is down,
    /// and up when this is asked again. Whoever asks then syncs the transmit half even if it has nothing to send: the far
    /// end of a cable is not let in before.
    pub(crate) fn changed(&mut self, rx: &NicRx) -> Option<Link> {
        let (generation, link) = (rx.link_generation(), rx.link());
        let unseen = std::mem::replace(&mut self.generation, generation) != generation && link == self.link;
        if unseen || link != self.link {
            self.link = if unseen { Link::Down } else { link };
            return Some(self.link);
        }
        None
    }
}

impl Arrivals {
    /// Reads and changes the adapter's settings.
    #[must_use]
    pub fn control(&self) -> &Control {
        &self.control
    }

    /// See [`SeenLink::changed`].
    pub(crate) fn changed(&mut self) -> Option<Link> {
        self.seen.changed(&self.rx)
    }

    /// True if the link has changed since it was last asked for.
    pub(crate) fn is_news(&self) -> bool {
        self.rx.link_generation() != self.seen.generation
    }

    /// Takes what has arrived, once all that came before was read.
    #[inline]
    pub(crate) fn take(&mut self, now: u64) {
        if self.rx.is_read() {
            self.rx.poll(now);
        }
    }
}

impl Line {
    /// Takes a queue of an adapter; None if it has no such queue for each way, or it was taken.
    #[must_use]
    pub fn new(nic: &mut Nic, queue: usize) -> Option<Self> {
        let queue = nic.take(queue)?;
        let arrivals = Arrivals { rx: queue.rx, control: nic.control(), seen: SeenLink::default() };
        Some(Self { tx: queue.tx, arrivals })
    }

    /// An adapter over a port for so many protocols, with nothing switched on that costs anything. `software`: the port
    /// is asked for no offload.
    pub(crate) fn adapter(port: Port, interfaces: usize, mac: MacAddr, software: bool) -> Result<Nic, NicError> {
        let mac = Some(mac.0);
        Nic::new(
            port,
            &NicConfig { interfaces, up: true, mac, capabilities: QUIET, hand_down: !software, verify: false },
        )
    }

    #[must_use]
    pub fn control(&self) -> &Control {
        &self.arrivals.control
    }

    #[must_use]
    pub fn info(&self) -> &Info {
        self.control().port()
    }

    /// Notes on the port for the user ([`Port::notes`]).
    #[must_use]
    pub fn notes(&self) -> Vec<String> {
        self.control().notes()
    }

    #[must_use]
    pub fn link(&self) -> Link {
        self.arrivals.rx.link()
    }

    #[must_use]
    pub fn tx_counters(&self) -> TxCounters {
        self.tx.port_counters()
    }

    /// True if committed frames wait in the port's ring, for the wire or the end of a pause.
    #[must_use]
    pub fn is_held_up(&self) -> bool {
        self.tx.is_held_up()
    }

    /// New state of the link, if it changed since this was last asked.
    pub(crate) fn changed(&mut self, now: u64) -> Option<Link> {
        let link = self.arrivals.changed()?;
        self.tx.sync(now);
        Some(link)
    }

    /// Takes what has arrived, once all that came before was read.
    #[inline]
    pub(crate) fn take(&mut self, now: u64) {
        self.arrivals.take(now);
    }

    /// Hands on what was sent since.
    #[inline]
    pub fn flush(&mut self, now: u64) {
        if self.tx.is_due() {
            self.tx.sync(now);
        }
    }

    /// Time at which an interface that has sent as much as its rate allows may go on.
    #[inline]
    #[must_use]
    pub fn resumes(&self) -> Option<u64> {
        self.tx.resumes()
    }

    /// Visits the port's queues that are to be waited for. `blocked`: a protocol has more to send.
    pub(crate) fn waits_for(&mut self, blocked: bool, visit: &mut dyn FnMut(&mut dyn Sleeper)) {
        visit(self.arrivals.rx.port());
        // The port has room for what waits for an interface's rate, and would tell so at once.
        let wants_room = blocked && self.resumes().is_none();
        if wants_room || self.tx.is_due() {
            visit(self.tx.port());
        }
    }
}

/// A locally administered address for one station (IEEE 802, section 8.4).
#[must_use]
pub fn local_mac(seed: u64) -> MacAddr {
    let [a, b, c, d, e, f, ..] = seed.to_le_bytes();
    MacAddr([a & 0xfc | 2, b, c, d, e, f])
}

#[cfg(test)]
mod tests {
    use super::*;
    use linerate_port::open_all;

    fn line(port: Port, seed: u64) -> Line {
        Line::new(&mut Line::adapter(port, 1, local_mac(seed), false).unwrap(), 0).unwrap()
    }

    /// Regression: who looks for room before it sends, as FCoE does, waited for slots that the far end had given back long before,
    /// because a flush fetched them only while something could not be sent.
    #[test]
    fn a_flush_fetches_the_slots_that_come_back() {
        let mut ports = open_all(&["cable:line-back{1,slots=64", "cable:line-back}1,slots=64"]).unwrap().into_iter();
        let (mut near, mut far) = (line(ports.next().unwrap(), 1), line(ports.next().unwrap(), 2));
        for line in [&mut near, &mut far] {
            line.changed(0);
        }
        near.flush(0);
        while near.tx.send(0, &[0xff; 60], &[], None) {}
        let full = near.tx.free();
        for now in 1..4 {
            near.flush(now);
            far.take(now);
            far.arrivals.rx.receive(0, usize::MAX, |_| {});
        }
        far.take(4);
        near.flush(4);
        assert!(full == 0 && near.tx.free() > 32, "{full}, then {}", near.tx.free());
    }
}

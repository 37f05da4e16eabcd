//! A host on a port, in one thread.

use super::line::{INTERFACE, Rx, Tx};
use crate::machine::Sleeper;
use crate::random::random;
use linerate_nic::{Control, Flags, Nic, NicError, RxFrame};
use linerate_offload::Verdict;
use linerate_port::{Filter, Info, Link, OpenError, Port, open_all};
use linerate_ring::layout::MAX_FRAGS;
use linerate_ring::{Frame, Meta, flags};
use linerate_stack::{Cidr, Config, ConfigError, Fills, Host};
use linerate_wire::{MacAddr, VlanTag};
use thiserror::Error;

/// Slots looked at between two polls of the time.
const BATCH: u32 = 256;

/// How a host is set up.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Its hardware address; otherwise the port's own, or a random one.
    pub mac: Option<MacAddr>,
    /// Longest IP packet; otherwise the port's.
    pub mtu: Option<usize>,
    /// The tag of all frames.
    pub vlan: Option<VlanTag>,
    /// Checksums are always made and verified here, whatever the port could do.
    pub software: bool,
}

/// Why a host could not be set up.
#[derive(Debug, Error)]
pub enum NetError {
    /// The port.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// An address, the MTU, a route.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// Packets longer than the port's.
    #[error("an MTU of {0} is more than {1} carries: give at most {2}, or open it with ,mtu={0} if it can be larger")]
    Mtu(usize, String, usize),
    /// An adapter.
    #[error(transparent)]
    Nic(#[from] NicError),
    /// The port sends or receives only.
    #[error("{0}: it has no queue for each way, and a host needs both: choose another port")]
    OneWay(String),
    /// No thread, no memory.
    #[error("{0}")]
    System(#[from] std::io::Error),
}

/// A host and its port. Whoever owns it calls [`Node::handle`] again and again, as [`crate::run`] does.
pub struct Node {
    /// The host.
    pub host: Host,
    /// Where its frames go.
    pub tx: Tx,
    rx: Rx,
    info: Info,
    below: Below,
    link: Link,
    software: bool,
    chain: Chain,
}

/// Who keeps what is under the queues.
enum Below {
    Port(Port),
    /// With the generation of its settings that the host knows.
    Nic(Control, u64),
}

/// A frame in several slots, which may come in two batches.
#[derive(Debug, Default)]
struct Chain {
    meta: Option<Meta>,
    bytes: Vec<u8>,
    /// Its slots so far.
    slots: usize,
}

impl Chain {
    /// Adds a slot; longer than any frame can be, it only counts on, so that who shares the ring cannot fill the memory.
    fn add(&mut self, meta: Option<Meta>, frame: &Frame<'_>) {
        if self.slots == 0 {
            self.meta = meta;
            self.bytes.clear();
        }
        self.slots += 1;
        if self.slots > MAX_FRAGS {
            return;
        }
        let at = self.bytes.len();
        self.bytes.resize(at + frame.len(), 0);
        let whole = frame.read(0, &mut self.bytes[at..]);
        debug_assert!(whole);
    }

    /// The frame, and what was said of it; nothing if it was too long.
    fn end(&mut self) -> Option<(&[u8], Option<Meta>)> {
        let slots = std::mem::take(&mut self.slots);
        (slots <= MAX_FRAGS).then_some((&self.bytes[..], self.meta))
    }
}

impl Node {
    /// Opens a port and sets up a host with these addresses on it.
    pub fn open(port: &str, addresses: &[Cidr], options: &Options) -> Result<Self, NetError> {
        let mut nodes = Self::open_all(&[port], &[addresses], options)?;
        nodes.pop().ok_or_else(|| NetError::OneWay(port.into()))
    }

    /// Several at once, which may be the ends of one cable.
    pub fn open_all(ports: &[&str], addresses: &[&[Cidr]], options: &Options) -> Result<Vec<Self>, NetError> {
        let ports = open_all(ports)?;
        ports.into_iter().zip(addresses).map(|(port, addresses)| Self::over(port, addresses, options)).collect()
    }

    fn over(mut port: Port, addresses: &[Cidr], options: &Options) -> Result<Self, NetError> {
        if let Some(mtu) = options.mtu.filter(|mtu| *mtu > port.info().mtu) {
            return Err(NetError::Mtu(mtu, port.info().name.clone(), port.info().mtu));
        }
        let seed = random();
        let mac = options.mac.or(port.info().mac.map(MacAddr)).unwrap_or_else(|| random_mac(seed));
        let mut config = Config::new(mac, seed);
        config.mtu = options.mtu.unwrap_or(port.info().mtu);
        config.vlan = options.vlan;
        let fills = port.info().caps.checksum && !options.software;
        config.fills = Fills { v4: fills, v6: fills };
        let mut host = Host::new(&config)?;
        addresses.iter().try_for_each(|address| host.add_address(*address))?;
        let (Some(tx), Some(rx)) = (port.take_tx(0), port.take_rx(0)) else {
            return Err(NetError::OneWay(port.info().name.clone()));
        };
        let (link, info) = (port.link(), port.info().clone());
        if info.caps.filters {
            // Neighbour discovery's groups are among them.
            let addresses = Some(mac.0).filter(|mac| Some(*mac) != info.mac).into_iter().collect();
            port.filter(&Filter { all_multicast: true, addresses, ..Filter::default() })?;
        }
        host.set_up(link == Link::Up);
        let (tx, rx, below) = (Tx::Port(tx), Rx::Port(rx), Below::Port(port));
        Ok(Self { host, tx, rx, info, below, link, software: options.software, chain: Chain::default() })
    }

    /// Sets up a host on interface 0 of an adapter, with the address, MTU and flags that are set there; it follows when
    /// they are changed.
    pub fn over_nic(mut nic: Nic, addresses: &[Cidr], options: &Options) -> Result<Self, NetError> {
        let control = nic.control();
        control.change(INTERFACE, |vi| {
            // Neighbour discovery's groups are among them.
            vi.all_multicast = true;
            vi.mac = options.mac.map_or(vi.mac, |mac| mac.0);
            vi.mtu = options.mtu.unwrap_or(vi.mtu);
            vi.vlans.extend(options.vlan.map(VlanTag::vid));
        })?;
        let (seed, settings) = (random(), control.settings(INTERFACE)?);
        let mut config = Config::new(MacAddr(settings.mac), seed);
        config.mtu = settings.mtu;
        config.vlan = options.vlan;
        let mut host = Host::new(&config)?;
        addresses.iter().try_for_each(|address| host.add_address(*address))?;
        let info = nic.info().clone();
        let queue = nic.take(0).ok_or_else(|| NetError::OneWay(info.name.clone()))?;
        let (tx, rx) = (Tx::Nic(queue.tx), Rx::Nic(Box::new(queue.rx)));
        let (link, below) = (nic.link(), Below::Nic(control, 0));
        let mut node = Self { host, tx, rx, info, below, link, software: options.software, chain: Chain::default() };
        node.follow();
        Ok(node)
    }

    /// Takes over what was changed at the adapter.
    fn follow(&mut self) {
        let Below::Nic(control, known) = &mut self.below else { return };
        let generation = control.generation();
        if generation == *known {
            return;
        }
        *known = generation;
        let Ok(settings) = control.settings(INTERFACE) else { return };
        let flags = settings.flags.enabled();
        // An IPv6 host's MTU cannot go below what its addresses need; then it stays, and the adapter cuts nothing.
        let _ = self.host.set_mtu(settings.mtu);
        self.host.set_mac(MacAddr(settings.mac));
        let fills = flags.contains(Flags::TXCSUM) && self.info.caps.checksum && !self.software;
        self.host.set_fills(Fills { v4: fills, v6: fills });
        self.host.set_up(settings.up && self.link == Link::Up);
    }

    /// What the port is.
    #[must_use]
    pub fn info(&self) -> &Info {
        &self.info
    }

    /// What the user should know of the port, as [`Port::notes`] has it.
    #[must_use]
    pub fn notes(&self) -> Vec<String> {
        match &self.below {
            Below::Port(port) => port.notes(),
            Below::Nic(control, _) => control.notes(),
        }
    }

    /// Whether frames can pass.
    #[must_use]
    pub fn link(&self) -> Link {
        match &self.below {
            Below::Port(port) => port.link(),
            Below::Nic(control, _) => control.link(),
        }
    }

    /// The adapter, if there is one between host and port.
    #[must_use]
    pub fn adapter(&self) -> Option<&Control> {
        match &self.below {
            Below::Port(_) => None,
            Below::Nic(control, _) => Some(control),
        }
    }

    /// Takes what has arrived and does what is due; true if there was something.
    pub fn handle(&mut self, now: u64) -> bool {
        let link = self.rx.link();
        if link != self.link {
            self.link = link;
            // A queue that has nothing to send must look too: the far end of a cable is not let in before.
            self.tx.sync(now);
            self.host.set_up(link == Link::Up);
            if link == Link::Up {
                self.announce(now);
            }
        }
        self.follow();
        let arrived = self.receive(now);
        let due = self.host.poll_timeout().is_some_and(|at| at <= now);
        if due {
            self.host.poll(now, &mut self.tx);
        }
        self.flush(now);
        arrived || due
    }

    fn receive(&mut self, now: u64) -> bool {
        let Self { host, tx, rx, software, chain, .. } = self;
        match rx {
            Rx::Port(queue) => {
                queue.sync();
                let mut batch = queue.ring.batch(BATCH);
                let slots = batch.len();
                for i in 0..slots {
                    let meta = batch.meta(i).map(|meta| seen(meta, *software));
                    let Some((frame, flags)) = batch.frame(i) else { continue };
                    let more = flags & flags::MOREFRAG != 0;
                    match frame.bytes() {
                        Some(bytes) if chain.slots == 0 && !more => host.handle(now, bytes, meta, tx),
                        _ => {
                            chain.add(meta, &frame);
                            if !more {
                                match chain.end() {
                                    Some((frame, meta)) => host.handle(now, frame, meta, tx),
                                    None => host.too_long(),
                                }
                            }
                        }
                    }
                }
                batch.release(slots);
                slots > 0
            }
            Rx::Nic(nic) => {
                let arrived = nic.poll(now);
                let software = *software;
                nic.receive(INTERFACE, usize::MAX, |frame| {
                    let meta = Some(seen(told(&frame), software));
                    if frame.is_merged() {
                        host.handle(now, &frame.to_vec(), meta, tx);
                    } else {
                        host.handle(now, frame.head(), meta, tx);
                    }
                });
                arrived > 0
            }
        }
    }

    /// Tells all on the link where the host's addresses are, so that nobody keeps what was true before.
    pub fn announce(&mut self, now: u64) {
        self.host.announce(&mut self.tx);
        self.flush(now);
    }

    /// Hands on what was sent since.
    #[inline]
    pub fn flush(&mut self, now: u64) {
        if self.tx.ring().outstanding() > 0 {
            self.tx.sync(now);
        }
    }

    /// When [`Node::handle`] is wanted although nothing arrives.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<u64> {
        self.host.poll_timeout()
    }

    /// What to wait on.
    pub fn waits_for(&mut self, visit: &mut dyn FnMut(&mut dyn Sleeper)) {
        visit(self.rx.sleeper());
        if self.tx.ring().outstanding() > 0 {
            visit(self.tx.queue());
        }
    }
}

/// What the host shall see of what the adapter says: without offloads, a checksum that is there is verified here.
fn seen(meta: Meta, software: bool) -> Meta {
    let not = if software { Meta::DATA_VALID } else { 0 };
    Meta { flags: meta.flags & !not, ..meta }
}

/// What an adapter found out, as a port would say it.
fn told(frame: &RxFrame<'_>) -> Meta {
    let meta = frame.meta();
    let valid = if meta.checksum == Verdict::Good { Meta::DATA_VALID } else { 0 };
    Meta { flags: meta.request.flags | valid, vlan_tci: meta.vlan.unwrap_or(0), ..Meta::default() }
}

/// Locally administered, for one station (IEEE 802, section 8.4).
fn random_mac(seed: u64) -> MacAddr {
    let [a, b, c, d, e, f, ..] = seed.to_le_bytes();
    MacAddr([a & 0xfc | 2, b, c, d, e, f])
}

#[cfg(test)]
mod tests {
    use super::*;
    use linerate_ring::{Region, RegionConfig, Sharing, TxRing};

    /// Chains of `slots` slots, each with other metadata.
    fn chain(slots: usize) -> Chain {
        let region =
            RegionConfig { buf_size: 2048, buffers: 80, ring_bytes: 16384, sharing: Sharing::Private, huge: false };
        let mut ring = TxRing::new(&Region::new(&region).unwrap(), 0, 64).unwrap();
        let mut batch = ring.reserve(1);
        assert!(batch.frame(0).write(0, &[7; 1000]));
        batch.set(0, 1000, 0);
        batch.commit(1);
        let mut chain = Chain::default();
        for i in 0..slots {
            let meta = Meta { csum_start: u16::try_from(i % 1000).unwrap(), ..Meta::default() };
            chain.add(Some(meta), &ring.pending_frame(0));
        }
        chain
    }

    #[test]
    fn the_first_slot_speaks_for_its_frame() {
        let mut three = chain(3);
        let (frame, meta) = three.end().unwrap();
        assert_eq!((frame, meta.unwrap().csum_start), (&[7; 3000][..], 0));
        assert_eq!(three.slots, 0, "the next is another");
    }

    #[test]
    fn a_chain_without_end_takes_no_memory() {
        let mut endless = chain(100_000);
        assert!(endless.bytes.capacity() <= MAX_FRAGS * 2048);
        assert!(endless.end().is_none());
        assert!(chain(MAX_FRAGS).end().is_some());
    }

    #[test]
    fn without_offloads_a_checksum_that_is_there_is_verified_here() {
        let both = Meta { flags: Meta::DATA_VALID | Meta::NEEDS_CSUM, ..Meta::default() };
        assert_eq!((seen(both, true).flags, seen(both, false).flags), (Meta::NEEDS_CSUM, both.flags));
    }
}

//! The adapter: virtual interfaces over the queues of any port.
//!
//! A [`Nic`] takes a port's queues and gives each as two halves, [`NicTx`] and [`NicRx`], that one thread each owns. All
//! virtual interfaces of a queue live on its thread, so that no frame meets a lock. Settings are changed through a
//! [`Control`] from any thread, and reach the queues by a generation number with their next sync or poll.

mod batch;
mod cap;
mod control;
mod count;
mod demux;
mod filters;
mod frame;
mod parameters;
mod reaction;
mod request;
mod rx;
mod settings;
mod share;
mod tx;
mod work;

pub use cap::{FRAMING, on_the_wire};
pub use control::{Control, NicError};
pub use count::{Count, RxLedger, ViCounters};
pub use filters::FilterHits;
pub use frame::{RxFrame, RxMeta};
pub use parameters::{PARAMETERS, Parameter};
pub(crate) use reaction::is_notification;
pub use rx::{Inside, NicRx};
pub use settings::ViSettings;
pub use tx::NicTx;

use crate::flags::{AdapterFlags, Flags, PUBLISHED};
use linerate_port::{Info, Link, Port};
use linerate_wire::Priority;
use settings::Shared;
use std::sync::Arc;

/// Most virtual interfaces of an adapter.
pub const MAX_INTERFACES: usize = 128;
/// Largest MTU.
pub const MAX_MTU: usize = 9216;
/// Smallest MTU: what IPv4 asks of every link (RFC 791).
pub const MIN_MTU: usize = 68;

/// How an adapter is made.
#[derive(Clone, Debug)]
pub struct NicConfig {
    /// Virtual interfaces, the physical function (number 0) included: 1 to 128.
    pub interfaces: usize,
    /// True if the interfaces take part from the start; otherwise each does from when it is set up ([`ViSettings::up`]).
    pub up: bool,
    /// Address of interface 0; the others count up from it. None: the port's, or a local one made of the port's name.
    pub mac: Option<[u8; 6]>,
    /// Capabilities of the interfaces, all on at first.
    pub capabilities: Flags,
    /// True if checksums and segmentation are handed down to a port that does them.
    pub hand_down: bool,
    /// True if received checksums that the port does not vouch for are verified here. Without, RXCSUM's verdict on them is
    /// [`Verdict::Unknown`](linerate_offload::Verdict::Unknown), and the reader verifies, as one does that copies anyway.
    pub verify: bool,
}

impl Default for NicConfig {
    fn default() -> Self {
        Self { interfaces: 1, up: true, mac: None, capabilities: PUBLISHED, hand_down: true, verify: true }
    }
}

/// One port queue's two halves.
pub struct NicQueue {
    /// Sends.
    pub tx: NicTx,
    /// Receives.
    pub rx: NicRx,
}

/// An adapter over a port.
pub struct Nic {
    control: Control,
    tx: Vec<Option<NicTx>>,
    rx: Vec<Option<NicRx>>,
}

impl Nic {
    /// An adapter over a port, of which it takes all queues that are still there.
    ///
    /// # Errors
    /// [`NicError`] when the configuration cannot be, or the port does not take the interfaces' addresses.
    pub fn new(mut port: Port, config: &NicConfig) -> Result<Self, NicError> {
        if !(1..=MAX_INTERFACES).contains(&config.interfaces) {
            return Err(NicError::Interfaces(config.interfaces));
        }
        let info = port.info().clone();
        let down = tx::Down::of(&info, config.hand_down);
        let mac = config.mac.or(info.mac).unwrap_or_else(|| made_of(&info.name));
        let one = |k| ViSettings { up: config.up, ..interface(mac, k, &info, config.capabilities) };
        let vis = (0..).take(config.interfaces).map(one).collect();
        let queues = info.tx_queues.max(info.rx_queues);
        let shared = Arc::new(Shared::new(vis, queues));
        let tx = (0..info.tx_queues)
            .map(|q| port.take_tx(q).map(|queue| NicTx::new(queue, shared.clone(), q, down, info.largest)));
        let tx = tx.collect();
        let rx = (0..info.rx_queues)
            .map(|q| port.take_rx(q).map(|queue| NicRx::new(queue, shared.clone(), q, config.verify)));
        let rx = rx.collect();
        Ok(Self { control: Control::new(shared, port, down)?, tx, rx })
    }

    /// Takes both halves of a queue; None if there is no such queue, or it was taken.
    pub fn take(&mut self, queue: usize) -> Option<NicQueue> {
        let tx = self.tx.get_mut(queue)?;
        let rx = self.rx.get_mut(queue)?;
        if tx.is_none() || rx.is_none() {
            return None;
        }
        Some(NicQueue { tx: tx.take()?, rx: rx.take()? })
    }

    /// Takes a transmit half alone.
    pub fn take_tx(&mut self, queue: usize) -> Option<NicTx> {
        self.tx.get_mut(queue)?.take()
    }

    /// Takes a receive half alone.
    pub fn take_rx(&mut self, queue: usize) -> Option<NicRx> {
        self.rx.get_mut(queue)?.take()
    }

    /// Description of the port.
    #[must_use]
    pub fn info(&self) -> &Info {
        self.control.port()
    }

    /// State of the link.
    #[must_use]
    pub fn link(&self) -> Link {
        self.control.link()
    }

    /// Control that reads and changes settings, and reads counters, from any thread.
    #[must_use]
    pub fn control(&self) -> Control {
        self.control.clone()
    }
}

/// Interface `k` as it is at first.
fn interface(mac: [u8; 6], k: u32, info: &Info, capabilities: Flags) -> ViSettings {
    let flags = AdapterFlags::new(capabilities);
    let jumbo = flags.enabled().contains(Flags::JUMBO_MTU);
    ViSettings {
        up: true,
        mac: counted(mac, k),
        ethertypes: Vec::new(),
        addresses: Vec::new(),
        promiscuous: false,
        all_multicast: false,
        vlans: Vec::new(),
        mtu: info.mtu.min(if jumbo { MAX_MTU } else { 1500 }),
        flags,
        rate: None,
        priority: Priority::default(),
        weight: 1,
        rss: None,
        steering: None,
    }
}

/// The `k`th address from one on, within its lower three bytes.
fn counted(mac: [u8; 6], k: u32) -> [u8; 6] {
    let [a, b, c, d, e, f] = mac;
    let low = u32::from_be_bytes([0, d, e, f]).wrapping_add(k);
    let [_, d, e, f] = low.to_be_bytes();
    [a, b, c, d, e, f]
}

/// A locally administered unicast address, the same for the same name (FNV-1a).
fn made_of(name: &str) -> [u8; 6] {
    let hash = name
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3));
    let [a, b, c, d, e, ..] = hash.to_be_bytes();
    [0x02, a, b, c, d, e]
}

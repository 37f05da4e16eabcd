//! State shared by the queues of an `xdp:` port, and the port's link state, filter and counters.

use crate::info::{Filter, Link};
use crate::interface::{self, Carrier};
use crate::memberships::Memberships;
use crate::port::Device;
use crate::sys::xsk::Xsk;
use linerate_host::{Control, LinkState, Rtnetlink};
use std::any::Any;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The interface, as long as the port or one of its queues lives.
pub(super) struct Interface {
    pub(super) carrier: Carrier,
    /// The program at the interface.
    _attachment: Arc<dyn Any + Send + Sync>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Interface {
    pub(super) fn new(control: Control, attachment: Arc<dyn Any + Send + Sync>) -> Self {
        Self { carrier: Carrier::new(control), _attachment: attachment }
    }
}

/// A queue's socket, shared by the thread that sends and the one that receives.
pub(super) struct Socket {
    pub(super) queue: u16,
    pub(super) xsk: Xsk,
    pub(super) interface: Arc<Interface>,
    /// Descriptors from the kernel that named no buffer of this port; always 0, or the kernel is broken.
    pub(super) unknown_buffers: AtomicU64,
    /// Frames received whose checksum was recognised as open.
    pub(super) open_checksums: AtomicU64,
}

impl Socket {
    pub(super) fn new(queue: u16, xsk: Xsk, interface: Arc<Interface>) -> Self {
        Self { queue, xsk, interface, unknown_buffers: AtomicU64::new(0), open_checksums: AtomicU64::new(0) }
    }
}

pub(super) struct XdpDevice {
    interface: Arc<Interface>,
    sockets: Vec<Arc<Socket>>,
    netlink: Mutex<Rtnetlink>,
    memberships: Memberships,
    name: String,
    index: u32,
}

impl XdpDevice {
    pub(super) fn new(
        interface: Arc<Interface>,
        sockets: Vec<Arc<Socket>>,
        netlink: Rtnetlink,
        link: LinkState,
    ) -> Self {
        let (name, index) = (link.name, link.index);
        Self { interface, sockets, netlink: Mutex::new(netlink), memberships: Memberships::default(), name, index }
    }
}

impl Device for XdpDevice {
    fn link(&self) -> Link {
        self.interface.carrier.look()
    }

    fn mtu(&self) -> Option<usize> {
        interface::mtu(&self.netlink, &self.name)
    }

    fn filter(&self, filter: &Filter) -> Result<(), String> {
        self.memberships.apply(filter, self.interface.carrier.control(), (&self.netlink, &self.name))
    }

    fn notes(&self) -> Vec<String> {
        self.memberships.note(&self.name).into_iter().collect()
    }

    fn raw_counters(&self) -> Vec<(String, u64)> {
        let mut rows = Vec::new();
        for socket in &self.sockets {
            if let Ok(s) = socket.xsk.statistics() {
                for (name, n) in [
                    ("rx_dropped", s.rx_dropped),
                    ("rx_invalid_descs", s.rx_invalid_descs),
                    ("tx_invalid_descs", s.tx_invalid_descs),
                    ("rx_ring_full", s.rx_ring_full),
                    ("rx_fill_ring_empty_descs", s.rx_fill_ring_empty_descs),
                    ("tx_ring_empty_descs", s.tx_ring_empty_descs),
                    ("unknown_buffer_descs", socket.unknown_buffers.load(Relaxed)),
                    ("open_checksums", socket.open_checksums.load(Relaxed)),
                ] {
                    rows.push((format!("xdp_q{}_{name}", socket.queue), n));
                }
            }
        }
        if let Ok(link) = lock(&self.netlink).link_at(self.index) {
            rows.extend(link.stats.rows().map(|(name, n)| (format!("link_{name}"), n)));
        }
        rows
    }
}

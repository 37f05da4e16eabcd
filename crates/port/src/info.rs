//! Properties of a port.

/// Capabilities of a port, fixed when it is opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Caps {
    /// Fills in checksums that a slot's metadata asks for.
    pub checksum: bool,
    /// Takes super-frames of TCP to be segmented.
    pub gso: bool,
    /// Takes super-frames of UDP to be segmented (virtio's UDP_L4).
    pub uso: bool,
    /// Carries frames of several slots.
    pub scatter: bool,
    /// Delivers metadata in received slots.
    pub metadata: bool,
    /// Its receive queues can pause the far end's transmit queues by priority ([`RxQueue::pause`](crate::RxQueue::pause)).
    pub pause: bool,
    /// Can filter by destination address; otherwise it delivers all frames that arrive.
    pub filters: bool,
}

/// Frames that a port shall deliver, besides those to its own address and broadcasts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// All frames.
    pub promiscuous: bool,
    /// All multicasts.
    pub all_multicast: bool,
    /// Frames to these addresses.
    pub addresses: Vec<[u8; 6]>,
}

/// State of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Link {
    /// Frames can pass.
    Up,
    /// Frames cannot pass: no peer, no carrier, or the end of a file.
    Down,
    /// The interface does not exist any more. A new one of its name is another one: the port has to be opened again.
    Gone,
}

/// Description of an open port.
#[derive(Clone, Debug)]
pub struct Info {
    /// Name as given.
    pub name: String,
    /// Data path in use, in words.
    pub path: String,
    /// Largest payload of a frame in bytes.
    pub mtu: usize,
    /// Largest frame in bytes, without FCS.
    pub largest: usize,
    /// Own address of the port, if it has one.
    pub mac: Option<[u8; 6]>,
    /// Capabilities.
    pub caps: Caps,
    /// Number of transmit queues.
    pub tx_queues: usize,
    /// Number of receive queues.
    pub rx_queues: usize,
    /// Slots of each ring.
    pub slots: u32,
    /// Bit/s of the link, if it has a rate that cannot be exceeded.
    pub rate: Option<u64>,
    /// Notes for the user from opening (an offload of the peer that is on, a fallback that was taken); later ones are
    /// in [`Port::notes`](crate::Port::notes).
    pub notes: Vec<String>,
}

//! What a port says of itself.

/// What a port can do for its user, stated from the start.
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
    /// Received slots may carry metadata.
    pub metadata: bool,
    /// Its receive queues can have the far end's transmit queues hold frames back by class
    /// ([`RxQueue::pause`](crate::RxQueue::pause)).
    pub pause: bool,
    /// Can be told which addresses to receive; otherwise it delivers all that arrives.
    pub filters: bool,
}

/// Which frames a port shall deliver, besides those to its own address and broadcasts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// Everything.
    pub promiscuous: bool,
    /// Every multicast.
    pub all_multicast: bool,
    /// These addresses.
    pub addresses: Vec<[u8; 6]>,
}

/// Whether frames can pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Link {
    /// They can.
    Up,
    /// They cannot: no peer, no carrier, or the end of a file.
    Down,
}

/// What a port is.
#[derive(Clone, Debug)]
pub struct Info {
    /// As it was named.
    pub name: String,
    /// The path it really got, in words.
    pub path: String,
    /// Largest payload of a frame in bytes.
    pub mtu: usize,
    /// Largest frame in bytes, without FCS.
    pub largest: usize,
    /// Its own address, if it has one.
    pub mac: Option<[u8; 6]>,
    /// What it can do.
    pub caps: Caps,
    /// Transmit queues.
    pub tx_queues: usize,
    /// Receive queues.
    pub rx_queues: usize,
    /// Slots of each ring.
    pub slots: u32,
    /// Bit/s of the link, if it has a rate that cannot be exceeded.
    pub rate: Option<u64>,
    /// What the user should know as it was opened (a peer's offload that is on, a fallback that was taken); later more may
    /// be known: [`Port::notes`](crate::Port::notes).
    pub notes: Vec<String>,
}

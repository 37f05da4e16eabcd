//! Stages of sending a datagram, and probes between them.

/// A stage of sending, in the order in which they are passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(usize)]
pub enum Stage {
    /// The socket is found, and the destination checked against it.
    Socket,
    /// Source address and next hop are chosen.
    Route,
    /// The UDP header is made, its checksum included.
    Udp,
    /// The IP header is made.
    Ip,
    /// The next hop's hardware address is found.
    Neighbour,
    /// The Ethernet header is made.
    Ethernet,
    /// Check for packets to ourselves.
    Loopback,
    /// The adapter and the ring took the frame.
    Ring,
}

/// All stages, with their names.
pub const STAGES: [(Stage, &str); 8] = [
    (Stage::Socket, "socket"),
    (Stage::Route, "route"),
    (Stage::Udp, "udp"),
    (Stage::Ip, "ip"),
    (Stage::Neighbour, "neighbour"),
    (Stage::Ethernet, "ethernet header"),
    (Stage::Loopback, "loopback check"),
    (Stage::Ring, "nic and ring"),
];

/// Observer between the stages.
pub trait Probe {
    /// Called when a stage has been passed, with the stage's result. False ends sending here: the datagram is not sent,
    /// and the call succeeds. A measuring probe must use the result ([`std::hint::black_box`]), or the compiler removes
    /// work.
    fn passed<M: ?Sized>(&mut self, stage: Stage, made: &M) -> bool;
}

/// No observer; costs nothing.
impl Probe for () {
    #[inline(always)]
    fn passed<M: ?Sized>(&mut self, _: Stage, _: &M) -> bool {
        true
    }
}

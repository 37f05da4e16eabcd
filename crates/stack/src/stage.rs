//! The stages of sending a datagram, and what may look in between.

/// One stage of the way down, in the order in which they are passed.
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

/// Looks between the stages.
pub trait Probe {
    /// A stage has been passed, and this is what it made. False ends the way here: the datagram is not sent, and the call
    /// succeeds; whoever measures that must look at what was made ([`std::hint::black_box`]), or the compiler makes less
    /// of it.
    fn passed<M: ?Sized>(&mut self, stage: Stage, made: &M) -> bool;
}

/// Nobody looks; costs nothing.
impl Probe for () {
    #[inline(always)]
    fn passed<M: ?Sized>(&mut self, _: Stage, _: &M) -> bool {
        true
    }
}

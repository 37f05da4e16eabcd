//! Stages of sending a datagram or a segment and of receiving a segment, and probes between them.

/// A stage. Each path passes some of them, in an order of its own: [`DATAGRAM`], [`SEGMENT`], [`ARRIVAL`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(usize)]
pub enum Stage {
    /// The socket is found. Of a datagram that is sent, the destination is checked against it, too.
    Socket,
    /// Source address and next hop are chosen.
    Route,
    /// The UDP header is made, its checksum included.
    Udp,
    /// The IP header is made, or checked.
    Ip,
    /// The next hop's hardware address is found.
    Neighbour,
    /// The Ethernet header is made, or checked.
    Ethernet,
    /// Check for packets to ourselves.
    Loopback,
    /// The adapter and the ring took the frame, or the adapter found it in the ring.
    Ring,
    /// The connection is found, and what was written is copied into its send buffer.
    Buffer,
    /// The host looked for work that is due, and has the connection that was written to.
    Turn,
    /// The connection chose what goes out: timers, windows, options. What it notes once that is out belongs here, too.
    Output,
    /// The TCP header is made, its checksum included.
    Header,
    /// The TCP header is read, its checksum verified.
    Segment,
    /// The connection took the segment: numbers, acknowledgement, and its data into the receive buffer.
    Input,
    /// Acknowledgements that are due are sent.
    Answer,
    /// Received bytes are copied to the caller.
    Read,
}

/// All stages, with their names.
pub const STAGES: [(Stage, &str); 16] = [
    (Stage::Socket, "socket"),
    (Stage::Route, "route"),
    (Stage::Udp, "udp"),
    (Stage::Ip, "ip"),
    (Stage::Neighbour, "neighbour"),
    (Stage::Ethernet, "ethernet header"),
    (Stage::Loopback, "loopback check"),
    (Stage::Ring, "nic and ring"),
    (Stage::Buffer, "send buffer"),
    (Stage::Turn, "host's turn"),
    (Stage::Output, "tcp output"),
    (Stage::Header, "tcp header"),
    (Stage::Segment, "tcp header"),
    (Stage::Input, "tcp input"),
    (Stage::Answer, "acknowledgement"),
    (Stage::Read, "read"),
];

/// Stages of a datagram that is sent ([`Host::udp_send_probed`](crate::Host::udp_send_probed)), in their order.
pub const DATAGRAM: [Stage; 8] = [
    Stage::Socket,
    Stage::Route,
    Stage::Udp,
    Stage::Ip,
    Stage::Neighbour,
    Stage::Ethernet,
    Stage::Loopback,
    Stage::Ring,
];

/// Stages of a segment that is sent ([`Host::tcp_send_probed`](crate::Host::tcp_send_probed)), in their order. After
/// [`Stage::Ring`] the connection notes what is out, which is of [`Stage::Output`].
pub const SEGMENT: [Stage; 9] = [
    Stage::Buffer,
    Stage::Turn,
    Stage::Route,
    Stage::Output,
    Stage::Neighbour,
    Stage::Ethernet,
    Stage::Ip,
    Stage::Header,
    Stage::Ring,
];

/// Stages of a segment that arrives ([`Host::handle_probed`](crate::Host::handle_probed) has those from
/// [`Stage::Ethernet`] to [`Stage::Input`]), in their order. The last two are passed once for all that arrive together.
pub const ARRIVAL: [Stage; 8] =
    [Stage::Ring, Stage::Ethernet, Stage::Ip, Stage::Segment, Stage::Socket, Stage::Input, Stage::Answer, Stage::Read];

/// Observer between the stages.
pub trait Probe {
    /// Called when a stage has been passed, with the stage's result. False ends the path here: the packet goes no further,
    /// and the call succeeds. A measuring probe must use the result ([`std::hint::black_box`]), or the compiler removes
    /// work.
    fn passed<M: ?Sized>(&mut self, stage: Stage, made: &M) -> bool;

    /// Called when a frame that arrived is done with, however far it came.
    #[inline(always)]
    fn done(&mut self) {}
}

/// No observer; costs nothing.
impl Probe for () {
    #[inline(always)]
    fn passed<M: ?Sized>(&mut self, _: Stage, _: &M) -> bool {
        true
    }
}

//! Settings of a test, which both ends have to know.

pub use crate::socket::Transport;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Direction {
    /// From the client to the server.
    #[default]
    Forward,
    /// From the server to the client.
    Reverse,
    /// Both at once, in streams of their own.
    Both,
}

/// End of a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// It asks for the test, and ends it.
    Client,
    /// It takes clients in.
    Server,
}

impl Direction {
    /// Numbers of streams that an end receives and sends by, of `streams` in each direction.
    #[must_use]
    pub fn split(self, role: Role, streams: usize) -> (usize, usize) {
        match (self, role) {
            (Self::Both, _) => (streams, streams),
            (Self::Forward, Role::Client) | (Self::Reverse, Role::Server) => (0, streams),
            (Self::Forward, Role::Server) | (Self::Reverse, Role::Client) => (streams, 0),
        }
    }
}

/// Largest block, bytes.
pub(super) const BLOCK: usize = 1 << 20;
/// Payload of the largest datagram over IPv4.
pub(super) const DATAGRAM: usize = 65_507;
/// Room for the widest header of a datagram.
pub(super) const LEAST_DATAGRAM: usize = 16;
/// Greatest number of streams in one direction.
pub(super) const STREAMS: usize = 128;
/// Longest test, seconds.
pub(super) const TIME: u64 = 86_400;
/// Longest time that is left out at the beginning, seconds.
pub(super) const OMIT: u64 = 60;
/// Largest socket buffer, bytes.
pub(super) const WINDOW: u64 = 512 << 20;
/// Greatest number of blocks in a burst.
pub(super) const BURST: u64 = 1000;
/// Greatest number of a processor.
pub(super) const CPU: usize = 1023;
/// Largest segment, bytes.
pub(super) const MSS: u64 = 9 << 10;
/// Rate of datagrams if none is given, bit/s.
pub(super) const UDP_RATE: u64 = 1 << 20;
/// Block of a byte stream if none is given, bytes.
pub(super) const TCP_BLOCK: usize = 128 << 10;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    pub transport: Transport,
    pub direction: Direction,
    /// Number of streams in one direction.
    pub streams: usize,
    /// Bytes of a read or write; 0 for datagrams that follow from the path.
    pub block: usize,
    /// Seconds at the beginning that do not count.
    pub omit: u64,
    /// Seconds that count; 0 for no limit.
    pub time: u64,
    /// Number of bytes after which the test ends; 0 for no limit.
    pub bytes: u64,
    /// Number of blocks after which the test ends; 0 for no limit.
    pub blocks: u64,
    /// Rate of a stream, bit/s; 0 for no limit.
    pub rate: u64,
    /// Number of blocks sent at once at that rate; 0 for one.
    pub burst: u64,
    /// Rate to which the kernel paces a stream, bit/s; 0 for no limit.
    pub pacing: u64,
    /// Largest segment, bytes; 0 for what follows from the path.
    pub mss: u64,
    pub no_delay: bool,
    /// Size of both socket buffers, bytes; 0 for the system's.
    pub window: u64,
    /// Type of service, or traffic class.
    pub tos: u8,
    /// Flow label (IPv6); 0 for none.
    pub flow_label: u32,
    /// Title in front of the client's lines.
    pub title: Option<String>,
    /// Text for the document.
    pub extra_data: Option<String>,
    /// Congestion control of both ends.
    pub congestion: Option<String>,
    /// True if the client wants the server's output.
    pub server_output: bool,
    /// True for datagrams that are counted with 64 bits.
    pub wide_counters: bool,
    /// True for a payload of digits.
    pub repeating: bool,
    /// True for sendfile(2).
    pub zero_copy: bool,
    /// True for datagrams that are not fragmented (IPv4).
    pub dont_fragment: bool,
    pub server_cpu: Option<usize>,
}

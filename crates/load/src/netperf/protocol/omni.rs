//! The newer dialect: one request for every test, its response when the server is ready, and the results.

use super::{Code, Malformed, Message};
use linerate_text::cut;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Directions, from the server's side.
pub mod direction {
    pub const SEND: u32 = 2;
    pub const RECEIVE: u32 = 4;
}

/// Flags of a request.
pub mod flag {
    pub const NO_DELAY: u32 = 1;
    /// Each transaction has a connection of its own.
    pub const CONNECT: u32 = 4;
    /// The server measures its processors.
    pub const MEASURE_CPU: u32 = 8;
    /// The data may go by a gateway.
    pub const ROUTING: u32 = 0x20;
    /// Data in the segment that opens a connection.
    pub const FAST_OPEN: u32 = 0x800;
    /// Addresses of datagrams are taken from the packets.
    pub const PACKET_INFO: u32 = 0x2000;
    /// Connections are taken in with their first data.
    pub const DEFER_ACCEPT: u32 = 0x8000;
    pub const KEEP_ALIVE: u32 = 0x8000_0000;
}

/// Numbers of socket types and protocols.
pub mod kind {
    pub const STREAM: u32 = 1;
    pub const DATAGRAM: u32 = 2;
    pub const TCP: u32 = 6;
    pub const UDP: u32 = 17;
}

/// Numbers of families of addresses.
const V4: u32 = 4;
const V6: u32 = 6;

/// Buffers of one direction at the server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Half {
    /// Buffer of the socket, bytes; `None` for the system's own.
    pub socket: Option<u32>,
    /// Bytes of one call; `None` for the socket's buffer.
    pub block: Option<u32>,
    /// Alignment of the memory, and the offset from it.
    pub align: u32,
    /// Offset from the alignment.
    pub offset: u32,
    /// Number of blocks that take turns; 0 for as many as fill the socket's buffer.
    pub width: u32,
    /// Size of a request, or of a response; `None` if there are none.
    pub transaction: Option<u32>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// Processor that the server shall run on.
    pub cpu: Option<u32>,
    /// The server's sending half; `transaction` is the size of a request, as on the wire.
    pub send: Half,
    /// Its receiving half; `transaction` is the size of a response.
    pub receive: Half,
    /// Of [`flag`].
    pub flags: u32,
    /// Seconds, or, negative, bytes or transactions; 0: until the client ends it.
    pub length: i32,
    /// Port of the data at the server; 0 for any.
    pub data_port: u16,
    pub v6: bool,
    /// Of [`kind`].
    pub socket_type: u32,
    /// Of [`kind`].
    pub protocol: u32,
    /// Of [`direction`].
    pub direction: u32,
    /// Port of the data at the client.
    pub client_port: u16,
    /// Sends in a burst, and the time between bursts: pacing.
    pub pacing: (u32, u32),
    /// Address of the client's data, if it is a certain one.
    pub client: Option<IpAddr>,
    /// Address of the server's data, if it is a certain one.
    pub server: Option<IpAddr>,
    /// Priority of the server's packets.
    pub priority: Option<u32>,
    /// Type of service of the server's packets.
    pub tos: Option<u32>,
    pub congestion: String,
    /// File of the server that is to fill its buffers.
    pub fill: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Response {
    /// Sizes that the server has: of its socket's buffers, and of its calls.
    pub receive_socket: u32,
    /// Bytes of one call that receives.
    pub receive_block: i32,
    /// Blocks that take turns.
    pub receive_width: u32,
    /// Buffer of the socket that sends.
    pub send_socket: u32,
    pub send_block: i32,
    pub send_width: u32,
    /// Of [`flag`].
    pub flags: u32,
    pub data_port: u16,
    pub priority: i32,
    pub tos: i32,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Results {
    /// Bytes received.
    pub received: u64,
    /// Calls that received them.
    pub receives: u32,
    /// Buffer of the socket that received, in the end.
    pub receive_socket: u32,
    /// Bytes sent.
    pub sent: u64,
    /// Calls that sent them.
    pub sends: u32,
    /// Buffer of the socket that sent, in the end.
    pub send_socket: u32,
    /// Datagrams that could not be sent.
    pub failed: u32,
    pub transactions: u32,
    /// Time of the test, seconds.
    pub seconds: f32,
    /// Use of the processors in per cent: all, user, system, waiting for disks, interrupts, soft interrupts. A server
    /// that has measured nothing leaves anything there, perhaps no numbers.
    pub cpu: Option<[f32; 6]>,
    pub method: u32,
    pub cpus: u32,
    /// The busiest processor.
    pub peak_id: i32,
    /// Its use in per cent.
    pub peak: f32,
    /// Segments sent again; -1 if nobody knows.
    pub retransmits: i32,
    pub congestion: String,
}

fn positive(n: i32) -> Option<u32> {
    u32::try_from(n).ok().filter(|n| *n > 0)
}

fn natural(n: i32) -> Option<u32> {
    u32::try_from(n).ok()
}

/// -1 for none; a number that has no place in the message is a caller's fault and becomes the largest.
fn or_default(n: Option<u32>) -> i32 {
    n.map_or(-1, |n| cut(n, i32::MAX))
}

fn port(n: u32, what: &'static str) -> Result<u16, Malformed> {
    u16::try_from(n).map_err(|_| Malformed::Range(what))
}

/// Address of a family in four words. Those of IPv4 are in the network's order; those of IPv6 are memory of the machine,
/// whose words have been turned round: netperf does that on machines whose order is not the network's.
fn address(words: [u32; 4], v6: bool) -> Option<IpAddr> {
    let ip = if v6 {
        let mut octets = [0; 16];
        for (to, word) in octets.chunks_exact_mut(4).zip(words) {
            to.copy_from_slice(&word.to_le_bytes());
        }
        IpAddr::V6(Ipv6Addr::from(octets))
    } else {
        IpAddr::V4(Ipv4Addr::from(words[0]))
    };
    Some(ip).filter(|ip| !ip.is_unspecified())
}

fn words(ip: Option<IpAddr>) -> [u32; 4] {
    match ip {
        None => [0; 4],
        Some(IpAddr::V4(v4)) => [u32::from(v4), 0, 0, 0],
        Some(IpAddr::V6(v6)) => {
            let octets = v6.octets();
            std::array::from_fn(|at| u32::from_le_bytes(std::array::from_fn(|byte| octets[4 * at + byte])))
        }
    }
}

impl Request {
    /// Request for a stream of bytes to the server, with nothing asked for that netperf does not always ask for.
    #[must_use]
    pub fn stream() -> Self {
        let half = Half { socket: None, block: None, align: 8, offset: 0, width: 0, transaction: None };
        Self {
            cpu: None,
            send: half,
            receive: half,
            flags: flag::ROUTING,
            length: 0,
            data_port: 0,
            v6: false,
            socket_type: kind::STREAM,
            protocol: kind::TCP,
            direction: direction::RECEIVE,
            client_port: 0,
            pacing: (0, 0),
            client: None,
            server: None,
            priority: None,
            tos: None,
            congestion: String::new(),
            fill: String::new(),
        }
    }

    pub fn read(message: &Message) -> Result<Self, Malformed> {
        if message.code() != Code::OMNI {
            return Err(Malformed::Code(message.code().0));
        }
        let mut r = message.reader();
        let mut half = || Half {
            socket: positive(r.int()),
            block: positive(r.int()),
            align: r.word(),
            offset: r.word(),
            width: r.word(),
            transaction: positive(r.int()),
        };
        let (send, receive) = (half(), half());
        let (flags, _rate, length) = (r.word(), r.float("the processors' rate")?, r.int());
        // Avoiding copies, and touching what is sent: hints that no server has to follow.
        let _hints: [u32; 5] = std::array::from_fn(|_| r.word());
        let data_port = port(r.word(), "the data's port")?;
        let v6 = match r.word() {
            0 | V4 => false,
            V6 => true,
            _ => return Err(Malformed::Range("the family of addresses")),
        };
        let (socket_type, protocol, direction) = (r.word(), r.word(), r.word());
        let client_port = port(r.word(), "the client's port")?;
        let pacing = (r.word(), r.word());
        let mut ip = || address(std::array::from_fn(|_| r.word()), v6);
        let (client, server) = (ip(), ip());
        let (priority, tos) = (natural(r.int()), natural(r.int()));
        let (congestion, fill) = (r.text(16), r.text(32));
        Ok(Self {
            cpu: natural(message.second()),
            send,
            receive,
            flags,
            length,
            data_port,
            v6,
            socket_type,
            protocol,
            direction,
            client_port,
            pacing,
            client,
            server,
            priority,
            tos,
            congestion,
            fill,
        })
    }

    #[must_use]
    pub fn message(&self) -> Message {
        let mut message = Message::new(Code::OMNI, or_default(self.cpu));
        let mut w = message.writer();
        for half in [&self.send, &self.receive] {
            w.int(or_default(half.socket)).int(or_default(half.block)).word(half.align).word(half.offset);
            w.word(half.width).int(or_default(half.transaction));
        }
        w.word(self.flags).float(0.0).int(self.length).word(0).word(0).int(-1).int(-1).int(-1);
        w.word(self.data_port.into()).word(if self.v6 { V6 } else { V4 }).word(self.socket_type).word(self.protocol);
        w.word(self.direction).word(self.client_port.into()).word(self.pacing.0).word(self.pacing.1);
        for word in words(self.client).into_iter().chain(words(self.server)) {
            w.word(word);
        }
        w.int(or_default(self.priority)).int(or_default(self.tos)).text(&self.congestion, 16).text(&self.fill, 32);
        message
    }
}

impl Response {
    /// Reads a response without an error.
    pub fn read(message: &Message) -> Result<Self, Malformed> {
        if message.code() != Code::OMNI_RESPONSE {
            return Err(Malformed::Code(message.code().0));
        }
        let mut r = message.reader();
        let (receive_socket, receive_block, receive_width) = (r.word(), r.int(), r.word());
        let (send_socket, send_block, send_width) = (r.word(), r.int(), r.word());
        let (flags, _rate, _length, _avoid) = (r.word(), r.float("the processors' rate")?, r.word(), r.wide());
        let data_port = port(r.word(), "the data's port")?;
        let _pacing_and_names: [u32; 4] = std::array::from_fn(|_| r.word());
        Ok(Self {
            receive_socket,
            receive_block,
            receive_width,
            send_socket,
            send_block,
            send_width,
            flags,
            data_port,
            priority: r.int(),
            tos: r.int(),
        })
    }

    #[must_use]
    pub fn message(&self) -> Message {
        let mut message = Message::new(Code::OMNI_RESPONSE, 0);
        let mut w = message.writer();
        w.word(self.receive_socket).int(self.receive_block).word(self.receive_width);
        w.word(self.send_socket).int(self.send_block).word(self.send_width);
        let rate = if self.flags & flag::MEASURE_CPU == 0 { 0.0 } else { 100.0 };
        w.word(self.flags).float(rate).word(0).wide(0).word(self.data_port.into());
        w.wide(0).wide(0).int(self.priority).int(self.tos);
        message
    }
}

impl Results {
    /// Reads results without an error.
    pub fn read(message: &Message) -> Result<Self, Malformed> {
        if !message.code().is_result_of(Code::OMNI_RESPONSE) {
            return Err(Malformed::Code(message.code().0));
        }
        let mut r = message.reader();
        let (received, receives, receive_socket) = (r.wide(), r.word(), r.word());
        let (sent, sends, send_socket) = (r.wide(), r.word(), r.word());
        let (failed, transactions, seconds) = (r.word(), r.word(), r.float("the time of the test")?);
        let cpu: [f32; 6] = std::array::from_fn(|_| r.float("").unwrap_or(f32::NAN));
        let cpu = Some(cpu).filter(|all| all.iter().all(|n| n.is_finite()));
        let _demand = r.word();
        let (method, cpus, peak_id) = (r.word(), r.word(), r.int());
        let peak = r.float("").unwrap_or(0.0);
        let _interface: [u32; 4] = std::array::from_fn(|_| r.word());
        let retransmits = r.int();
        let _names = r.text(16 + 4 * 32 + 16);
        let congestion = r.text(16);
        Ok(Self {
            received,
            receives,
            receive_socket,
            sent,
            sends,
            send_socket,
            failed,
            transactions,
            seconds,
            cpu,
            method,
            cpus,
            peak_id,
            peak,
            retransmits,
            congestion,
        })
    }

    #[must_use]
    pub fn message(&self) -> Message {
        let mut message = Message::new(Code::OMNI_RESULTS, 0);
        let mut w = message.writer();
        w.wide(self.received).word(self.receives).word(self.receive_socket);
        w.wide(self.sent).word(self.sends).word(self.send_socket).word(self.failed).word(self.transactions);
        w.float(self.seconds);
        for n in self.cpu.unwrap_or_default() {
            w.float(n);
        }
        w.float(0.0).word(self.method).word(self.cpus).int(self.peak_id).float(self.peak).wide(0).wide(0);
        w.int(self.retransmits).text("", 16 + 4 * 32 + 16).text(&self.congestion, 16);
        message
    }
}

//! The older dialect, of which netperf 2.7.0 still speaks one test: TCP_SENDFILE, for its server a stream of bytes.

use super::{Code, Malformed, Message};
use linerate_text::cut;

/// Request for a stream of bytes to the server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Request {
    /// Processor that the server shall run on.
    pub cpu: Option<u32>,
    /// Buffers of the server's socket, bytes; `None` for the system's own.
    pub send_socket: Option<u32>,
    /// The one that receives.
    pub receive_socket: Option<u32>,
    /// Bytes of one call; `None` for the socket's buffer.
    pub block: Option<u32>,
    /// Alignment of the memory.
    pub align: u32,
    /// Offset from it.
    pub offset: u32,
    pub no_delay: bool,
    /// The server measures its processors.
    pub measure_cpu: bool,
    /// Seconds, or, negative, bytes; 0: until the client ends it.
    pub length: i32,
    /// Port of the data at the server; 0 for any.
    pub data_port: u16,
    pub v6: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Response {
    /// Buffer of the server's socket that receives, bytes.
    pub receive_socket: u32,
    /// Bytes of one call.
    pub block: u32,
    pub no_delay: bool,
    pub measure_cpu: bool,
    /// Buffer that sends.
    pub send_socket: u32,
    pub data_port: u16,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Results {
    /// Bytes received.
    pub received: f64,
    /// Calls that received them.
    pub receives: u32,
    /// Time of the test, seconds.
    pub seconds: f32,
    /// Use of the processors in per cent. A server that has measured nothing leaves anything there, perhaps no number.
    pub cpu: Option<f32>,
    pub method: u32,
    pub cpus: u32,
}

fn positive(n: i32) -> Option<u32> {
    u32::try_from(n).ok().filter(|n| *n > 0)
}

fn or_default(n: Option<u32>) -> i32 {
    n.map_or(-1, |n| cut(n, i32::MAX))
}

fn port(n: u32) -> Result<u16, Malformed> {
    u16::try_from(n).map_err(|_| Malformed::Range("the data's port"))
}

impl Request {
    pub fn read(message: &Message) -> Result<Self, Malformed> {
        if message.code() != Code::STREAM {
            return Err(Malformed::Code(message.code().0));
        }
        let mut r = message.reader();
        let (send_socket, receive_socket, block) = (positive(r.int()), positive(r.int()), positive(r.int()));
        let (align, offset, no_delay, measure_cpu) = (r.word(), r.word(), r.int() > 0, r.int() > 0);
        let (_rate, length) = (r.float("the processors' rate")?, r.int());
        let _hints: [u32; 4] = std::array::from_fn(|_| r.word());
        let data_port = port(r.word())?;
        let v6 = match r.word() {
            0 | 4 => false,
            6 => true,
            _ => return Err(Malformed::Range("the family of addresses")),
        };
        let cpu = u32::try_from(message.second()).ok();
        Ok(Self {
            cpu,
            send_socket,
            receive_socket,
            block,
            align,
            offset,
            no_delay,
            measure_cpu,
            length,
            data_port,
            v6,
        })
    }

    #[must_use]
    pub fn message(&self) -> Message {
        let mut message = Message::new(Code::STREAM, or_default(self.cpu));
        let mut w = message.writer();
        w.int(or_default(self.send_socket)).int(or_default(self.receive_socket));
        w.int(self.block.map_or(0, |n| or_default(Some(n)))).word(self.align).word(self.offset);
        w.word(self.no_delay.into()).word(self.measure_cpu.into()).float(0.0).int(self.length);
        w.wide(0).wide(0).word(self.data_port.into()).word(if self.v6 { 6 } else { 4 });
        message
    }
}

impl Response {
    /// Reads a response without an error.
    pub fn read(message: &Message) -> Result<Self, Malformed> {
        if message.code() != Code::STREAM_RESPONSE {
            return Err(Malformed::Code(message.code().0));
        }
        let mut r = message.reader();
        let (receive_socket, block, no_delay, measure_cpu) = (r.word(), r.word(), r.int() > 0, r.int() > 0);
        let _length = r.word();
        Ok(Self { receive_socket, block, no_delay, measure_cpu, send_socket: r.word(), data_port: port(r.word())? })
    }

    #[must_use]
    pub fn message(&self) -> Message {
        let mut message = Message::new(Code::STREAM_RESPONSE, 0);
        let mut w = message.writer();
        w.word(self.receive_socket).word(self.block).word(self.no_delay.into()).word(self.measure_cpu.into()).word(0);
        w.word(self.send_socket).word(self.data_port.into()).float(if self.measure_cpu { 100.0 } else { 0.0 });
        message
    }
}

impl Results {
    /// Reads results without an error.
    pub fn read(message: &Message) -> Result<Self, Malformed> {
        if !message.code().is_result_of(Code::STREAM_RESPONSE) {
            return Err(Malformed::Code(message.code().0));
        }
        let mut r = message.reader();
        let received = Some(r.double("the bytes received")?).filter(|n| *n >= 0.0);
        let (receives, seconds, cpu) = (r.word(), r.float("the time of the test")?, r.float("").ok());
        let _demand = r.word();
        let received = received.ok_or(Malformed::Range("the bytes received"))?;
        Ok(Self { received, receives, seconds, cpu, method: r.word(), cpus: r.word() })
    }

    #[must_use]
    pub fn message(&self) -> Message {
        let mut message = Message::new(Code::STREAM_RESULTS, 0);
        let mut w = message.writer();
        w.double(self.received).word(self.receives).float(self.seconds).float(self.cpu.unwrap_or(0.0)).float(0.0);
        w.word(self.method).word(self.cpus);
        message
    }
}

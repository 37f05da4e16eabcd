//! Datagrams: the exchange that opens a stream, and the header of each.

/// Datagram by which a client opens a stream, in the machine's own byte order, as iperf3 has it.
pub const CONNECT: [u8; 4] = 0x3637_3839_u32.to_ne_bytes();
/// Answer of a server.
const REPLY: [u8; 4] = 0x3938_3736_u32.to_ne_bytes();
/// Both, as versions before 3.11 said them.
const OLD: ([u8; 4], [u8; 4]) = (123_456_789_u32.to_ne_bytes(), 987_654_321_u32.to_ne_bytes());

/// The datagrams that open a stream.
pub const CONNECTS: [[u8; 4]; 2] = [CONNECT, OLD.0];

/// True if a datagram opens a stream.
#[must_use]
pub fn is_connect(datagram: &[u8]) -> bool {
    datagram == CONNECT || datagram == OLD.0
}

#[must_use]
pub fn reply(connect: &[u8]) -> [u8; 4] {
    if connect == OLD.0 { OLD.1 } else { REPLY }
}

/// True if a datagram is a server's answer.
#[must_use]
pub fn is_accepted(datagram: &[u8]) -> bool {
    datagram == REPLY || datagram == OLD.1
}

/// Length of the longer header, bytes.
pub const HEADER: usize = 16;

/// Header of a datagram: time of sending and number, from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Time of sending on the sender's clock, microseconds.
    pub sent_us: u64,
    pub number: u64,
}

const SECOND_US: u64 = 1_000_000;

fn low(n: u64) -> [u8; 4] {
    let [.., a, b, c, d] = n.to_be_bytes();
    [a, b, c, d]
}

impl Header {
    /// Length on the wire, bytes.
    #[must_use]
    pub const fn len(wide: bool) -> usize {
        if wide { HEADER } else { 12 }
    }

    /// Writes the header to the front of a datagram, which has room for it.
    #[inline]
    pub fn write(self, wide: bool, datagram: &mut [u8]) {
        datagram[..4].copy_from_slice(&low(self.sent_us / SECOND_US));
        datagram[4..8].copy_from_slice(&low(self.sent_us % SECOND_US));
        if wide {
            datagram[8..16].copy_from_slice(&self.number.to_be_bytes());
        } else {
            datagram[8..12].copy_from_slice(&low(self.number));
        }
    }

    /// Header of a datagram; `None` if that is too short for one.
    #[inline]
    #[must_use]
    pub fn read(wide: bool, datagram: &[u8]) -> Option<Self> {
        let word = |at: usize| Some(u32::from_be_bytes(*datagram.get(at..)?.first_chunk()?));
        let number = if wide { u64::from_be_bytes(*datagram.get(8..)?.first_chunk()?) } else { word(8)?.into() };
        Some(Self { sent_us: u64::from(word(0)?) * SECOND_US + u64::from(word(4)?), number })
    }

    /// Seconds from its sending to a time on the own clock, microseconds. The clocks differ by any amount.
    #[inline]
    #[must_use]
    pub fn transit(self, now_us: u64) -> f64 {
        (now_us as f64 - self.sent_us as f64) / 1e6
    }
}

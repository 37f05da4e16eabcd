//! A client's request: at the beginning of a byte stream, and in each datagram behind its number.

use super::{Datagram, Stamp, VERSION, high, low, put, wide, word};

/// Bits of the first word.
const VERSION1: u32 = 0x8000_0000;
const EXTENDED: u32 = 0x4000_0000;
const UDP_TESTS: u32 = 0x2000_0000;
const KEY: u32 = 0x1000_0000;
const WIDE_NUMBERS: u32 = 0x0800_0000;
const VERSION2: u32 = 0x0400_0000;
const WANTS_ACK: u32 = 0x0200_0000;
const BOUNCE_BACK: u32 = 0x0080_0000;
const HAS_LENGTH: u32 = 0x0001_0000;
const LENGTH: u32 = 0x0000_01fe;
const AT_ONCE: u32 = 0x0000_0001;
/// Beginning of small datagrams that say times.
const SMALL_TIMES: [u8; 2] = [0, 2];

/// Bits of the second half of the header.
const ISOCHRONOUS: u32 = 0x0001;
const NO_FIN: u32 = 0x0008;
const TIMES: u32 = 0x0010;
const PER_PACKET: u32 = 0x0080;
const REVERSE: u32 = 0x0400;
const FULL_DUPLEX: u32 = 0x0800;
const BURSTS: u32 = 0x2000;

/// Bytes of the header's first half, of both, and with the time behind them.
const BASE: usize = 24;
const BOTH: usize = 60;
const TIMED: usize = 80;
/// Longest header that its length may announce.
const LONGEST: usize = 256;
/// Bytes between the header's second half and the time in a datagram.
const GAP: usize = 32;

/// Way of the data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ask {
    /// The client sends.
    #[default]
    Forward,
    /// The server sends.
    Reverse,
    /// Both send over the same connection.
    FullDuplex,
    /// The server sends too, over a connection of its own.
    Dual,
    /// The server sends afterwards, over a connection of its own.
    TradeOff,
}

/// Amount after which an end stops sending.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Amount {
    /// Hundredths of a second.
    Time(u32),
    Bytes(u32),
}

/// Reason for which a server does not do what is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The header is shorter than what it says it has.
    Short,
    /// It has a key (`--permit-key`).
    Key,
    /// It asks for a test of round trips (`--bounceback`).
    BounceBack,
    /// It asks the server for bursts or frames (`--isochronous`, `--burst-period`).
    Bursts,
}

impl Refusal {
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::Short => "its header is shorter than its flags say",
            Self::Key => "it has a key, and there are none here; leave --permit-key out",
            Self::BounceBack => "it asks for --bounceback, which is not there",
            Self::Bursts => "it asks the server for --isochronous or --burst-period, which are not there",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    pub ask: Ask,
    /// Number of streams.
    pub threads: u32,
    /// Port of the client at which it awaits the server's connection.
    pub port: u16,
    /// Bytes of a block; 0 for the server's own.
    pub block: u32,
    /// Amount that the server is to send.
    pub amount: Amount,
    /// Its rate: bits, or datagrams, per second; 0 for no limit.
    pub rate: u64,
    /// True if the rate counts datagrams.
    pub per_packet: bool,
    pub tos: u8,
    /// Time at which the client began, if it says times (`--trip-times`).
    pub begun: Option<Stamp>,
    /// True if no report is wanted at the end (datagrams).
    pub no_fin: bool,
    /// True if numbers of datagrams have 64 bits.
    pub wide_numbers: bool,
    /// True if the client waits for an answer, or ignores it (TCP).
    pub wants_ack: bool,
    /// The client's version, if it says it: two words.
    pub version: Option<(u32, u32)>,
}

impl Default for Request {
    fn default() -> Self {
        Self {
            ask: Ask::Forward,
            threads: 1,
            port: 0,
            block: 0,
            amount: Amount::Time(1000),
            rate: 0,
            per_packet: false,
            tos: 0,
            begun: None,
            no_fin: false,
            wide_numbers: false,
            wants_ack: false,
            version: None,
        }
    }
}

impl Request {
    /// Bytes of the first word, which says how many follow.
    pub const FIRST: usize = 4;
    /// Greatest length of a header over TCP, and of what a datagram has of one.
    pub const LONGEST: usize = LONGEST;
    /// Length of the part of a datagram that all requests have.
    pub const IN_DATAGRAM: usize = Datagram::LEN + BOTH;
    /// Length of a datagram that has room for the time of the beginning.
    pub const IN_TIMED_DATAGRAM: usize = Datagram::LEN + BOTH + GAP + (TIMED - BOTH);

    /// Length of a header over TCP by its first word; `None` if these bytes are data already.
    ///
    /// # Errors
    /// Headers with something that is not there.
    pub fn length(first: [u8; Self::FIRST]) -> Result<Option<usize>, Refusal> {
        let flags = u32::from_be_bytes(first);
        if flags & (VERSION1 | EXTENDED) == 0 {
            // Digits, as they are sent without a header, have bits of all kinds. A test of round trips has these alone.
            return if flags == BOUNCE_BACK { Err(Refusal::BounceBack) } else { Ok(None) };
        }
        if flags & BOUNCE_BACK != 0 {
            return Err(Refusal::BounceBack);
        }
        if flags & KEY != 0 {
            return Err(Refusal::Key);
        }
        let least = if flags & EXTENDED != 0 { BOTH } else { BASE };
        let said = (flags & LENGTH) as usize >> 1;
        match flags & HAS_LENGTH {
            0 => Ok(Some(least)),
            _ if (least..=LONGEST).contains(&said) => Ok(Some(said)),
            _ => Err(Refusal::Short),
        }
    }

    /// Reads a header over TCP, which is as long as [`Self::length`] says.
    ///
    /// # Errors
    /// Headers that are not whole, or ask for something that is not there.
    pub fn read(header: &[u8]) -> Result<Self, Refusal> {
        let first = header.first_chunk().ok_or(Refusal::Short)?;
        match Self::length(*first)? {
            Some(length) if header.len() >= length => Self::parse(&header[..length], BOTH, false),
            _ => Err(Refusal::Short),
        }
    }

    /// Reads the request in a datagram. One without a request is of a client that only sends.
    ///
    /// # Errors
    /// Requests that are not whole, or ask for something that is not there.
    pub fn read_datagram(datagram: &[u8]) -> Result<Self, Refusal> {
        let Some(body) = datagram.get(Datagram::LEN..) else { return Ok(Self::default()) };
        let flags = word(body, 0);
        if flags & (VERSION1 | EXTENDED) == 0 {
            let begun = Stamp { seconds: word(datagram, 4), micros: word(datagram, 8) };
            // Two bytes, where there is no room for more: what follows is data.
            let timed = body.starts_with(&SMALL_TIMES);
            return Ok(Self { begun: timed.then_some(begun), ..Self::default() });
        }
        Self::parse(body, BOTH + GAP, true)
    }

    /// Reads a request whose time, if there is one, is at this place.
    fn parse(bytes: &[u8], time: usize, datagram: bool) -> Result<Self, Refusal> {
        let flags = word(bytes, 0);
        let extended = flags & EXTENDED != 0;
        if bytes.len() < if extended { BOTH } else { BASE } {
            return Err(Refusal::Short);
        }
        let upper = if extended { word(bytes, 32) >> 16 } else { 0 };
        let ask = if flags & VERSION2 == 0 || !extended {
            match (flags & VERSION1 != 0, flags & AT_ONCE != 0) {
                (false, _) => Ask::Forward,
                (true, true) => Ask::Dual,
                (true, false) => Ask::TradeOff,
            }
        } else if upper & FULL_DUPLEX != 0 {
            Ask::FullDuplex
        } else if upper & REVERSE != 0 {
            Ask::Reverse
        } else {
            Ask::Forward
        };
        if ask != Ask::Forward && upper & (ISOCHRONOUS | BURSTS) != 0 {
            return Err(Refusal::Bursts);
        }
        let begun = match upper & TIMES {
            0 => None,
            _ if bytes.len() < time + 12 => return Err(Refusal::Short),
            _ => Some(Stamp { seconds: word(bytes, time + 4), micros: word(bytes, time + 8) }),
        };
        let amount = word(bytes, 20);
        let signed = i32::from_be_bytes(amount.to_be_bytes());
        Ok(Self {
            ask,
            threads: word(bytes, 4),
            port: u16::try_from(word(bytes, 8)).unwrap_or(0),
            block: word(bytes, 12),
            amount: if signed < 0 { Amount::Time(signed.unsigned_abs()) } else { Amount::Bytes(amount) },
            rate: if extended { wide(word(bytes, 52) >> 8, word(bytes, 48)) } else { 0 },
            per_packet: datagram && upper & PER_PACKET != 0,
            tos: if extended { word(bytes, 44).to_be_bytes()[3] } else { 0 },
            begun,
            no_fin: datagram && upper & NO_FIN != 0,
            wide_numbers: flags & WIDE_NUMBERS != 0,
            wants_ack: !datagram && (extended && flags & VERSION2 == 0 || flags & WANTS_ACK != 0),
            version: extended.then(|| (word(bytes, 36), word(bytes, 40))),
        })
    }

    /// Header over TCP.
    #[must_use]
    pub fn header(&self) -> Vec<u8> {
        let length = if self.begun.is_some() { TIMED } else { BOTH };
        let mut bytes = vec![0; length];
        self.write(&mut bytes, length, BOTH, 0, 0);
        bytes
    }

    /// Writes the request into a datagram of at least [`Self::IN_DATAGRAM`] bytes, or [`Self::IN_TIMED_DATAGRAM`] if it
    /// has a time.
    pub fn write_datagram(&self, datagram: &mut [u8]) {
        let tests = self.ask == Ask::Reverse || self.ask == Ask::FullDuplex || self.no_fin || self.begun.is_some();
        let flags = WIDE_NUMBERS | if tests { UDP_TESTS } else { 0 };
        let upper = if self.no_fin { NO_FIN } else { 0 } | if self.per_packet { PER_PACKET } else { 0 };
        // The length does not count the time, only what is before it.
        let length = Self::IN_DATAGRAM + if self.begun.is_some() { GAP } else { 0 };
        if let Some(body) = datagram.get_mut(Datagram::LEN..) {
            self.write(body, length, BOTH + GAP, flags, upper);
        }
    }

    fn write(&self, bytes: &mut [u8], length: usize, time: usize, flags: u32, upper: u32) {
        let (of_ask, upper_of_ask) = match self.ask {
            Ask::Forward => (0, 0),
            Ask::Reverse => (VERSION2, REVERSE),
            Ask::FullDuplex => (VERSION2, FULL_DUPLEX),
            Ask::Dual => (VERSION1 | AT_ONCE, 0),
            Ask::TradeOff => (VERSION1, 0),
        };
        let length = u32::try_from(length << 1).unwrap_or(0) & LENGTH;
        put(bytes, 0, flags | of_ask | EXTENDED | HAS_LENGTH | length);
        put(bytes, 4, self.threads);
        put(bytes, 8, self.port.into());
        put(bytes, 12, self.block);
        put(bytes, 16, 0);
        put(
            bytes,
            20,
            match self.amount {
                Amount::Time(hundredths) => hundredths.min(i32::MIN.unsigned_abs()).wrapping_neg(),
                Amount::Bytes(bytes) => bytes & i32::MAX.unsigned_abs(),
            },
        );
        let upper = upper | upper_of_ask | if self.begun.is_some() { TIMES } else { 0 };
        put(bytes, 24, 0);
        put(bytes, 28, 0);
        put(bytes, 32, upper << 16);
        put(bytes, 36, VERSION.0);
        put(bytes, 40, VERSION.1);
        put(bytes, 44, self.tos.into());
        put(bytes, 48, low(self.rate));
        put(bytes, 52, high(self.rate) << 8);
        put(bytes, 56, 0);
        if let Some(begun) = self.begun {
            bytes.get_mut(BOTH..time + 20).into_iter().for_each(|gap| gap.fill(0));
            put(bytes, time + 4, begun.seconds);
            put(bytes, time + 8, begun.micros);
        }
    }
}

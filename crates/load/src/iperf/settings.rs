//! Settings of a test, and their limits.

use super::protocol::{Ask, Burst, Request};
use crate::socket::Pace;
pub use crate::socket::Transport;
use std::path::PathBuf;
use std::time::Duration;

/// End of a sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    Time(Duration),
    /// After so many bytes of each stream.
    Bytes(u64),
    /// At a signal.
    None,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Rate {
    #[default]
    Unlimited,
    /// Bits per second.
    Bits(u64),
    /// Datagrams per second.
    Packets(u64),
}

impl Rate {
    /// A pace of this rate, which begins now.
    pub(super) fn pace(self) -> Pace {
        let (Self::Bits(rate) | Self::Packets(rate)) = self else { return Pace::new(0, 1) };
        Pace::new(rate.max(1), 1)
    }

    /// What was sent, in units of the rate.
    pub(super) fn of(self, bytes: u64, packets: u64) -> u128 {
        match self {
            Self::Unlimited | Self::Bits(_) => u128::from(bytes) * 8,
            Self::Packets(_) => packets.into(),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    pub transport: Transport,
    /// Way of the data.
    pub way: Ask,
    pub streams: u32,
    /// Bytes of a read, write or datagram.
    pub block: usize,
    /// True if that size was asked for, so that the server is told.
    pub block_given: bool,
    /// End of each stream.
    pub limit: Limit,
    /// Rate of each stream.
    pub rate: Rate,
    /// Size of the socket buffers, bytes; 0 for the system's.
    pub window: u64,
    /// Largest segment, bytes; 0 for what follows from the path.
    pub mss: u64,
    pub no_delay: bool,
    /// Type of service, or traffic class.
    pub tos: u8,
    /// Hops that packets may take; 0 for the system's number.
    pub ttl: u8,
    pub congestion: Option<String>,
    /// True if blocks say when they were sent.
    pub times: bool,
    /// True for a client that says nothing about the test (`-C`).
    pub silent: bool,
    /// True if a test with datagrams ends without the server's report.
    pub no_fin: bool,
    /// File that is sent instead of digits, to its end.
    pub file: Option<PathBuf>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            transport: Transport::Tcp,
            way: Ask::Forward,
            streams: 1,
            block: TCP_BLOCK,
            block_given: false,
            limit: Limit::Time(TIME),
            rate: Rate::Unlimited,
            window: 0,
            mss: 0,
            no_delay: false,
            tos: 0,
            ttl: 0,
            congestion: None,
            times: false,
            silent: false,
            no_fin: false,
            file: None,
        }
    }
}

impl Settings {
    /// Checks what a program may have set that no command line can.
    pub(super) fn check(&self) -> Result<(), String> {
        let (udp, told) = (self.transport == Transport::Udp, self.way != Ask::Forward);
        let [least, most] = if udp { DATAGRAMS } else { [1, BLOCK] };
        if !(least..=most).contains(&self.block) || !(1..=STREAMS).contains(&self.streams) {
            return Err(format!(
                "blocks of {} bytes in {} streams: give {least} to {most} in 1 to {STREAMS}",
                self.block, self.streams
            ));
        }
        let room = match (udp, self.times) {
            (_, false) => 0,
            (true, true) => Request::IN_TIMED_DATAGRAM,
            (false, true) => Burst::LEN,
        };
        if self.block < room {
            return Err(format!("blocks of {} bytes: a time takes room; give {room} or more", self.block));
        }
        match self.limit {
            Limit::Bytes(bytes) if told && bytes > i32::MAX.unsigned_abs().into() => {
                Err(format!("{bytes} bytes: the server is told, up to {}; give less, or a time", i32::MAX))
            }
            Limit::None if told => Err("no end: the server must know it; give a time".to_owned()),
            _ => Ok(()),
        }
    }
}

/// Time of a test if no end is given.
pub(super) const TIME: Duration = Duration::from_secs(10);
/// Block of a byte stream if none is given, bytes.
pub(super) const TCP_BLOCK: usize = 128 << 10;
/// Datagram if none is given, over IPv4 and IPv6, bytes.
pub(super) const UDP_BLOCK: [usize; 2] = [1470, 1450];
/// Largest block, bytes; and that of one which a client asks of a server.
pub(super) const BLOCK: usize = 16 << 20;
pub(super) const BLOCK_ASKED: usize = 1 << 20;
/// Smallest and largest datagram, bytes.
pub(super) const DATAGRAMS: [usize; 2] = [16, 65_507];
/// Rate of datagrams if none is given, bit/s.
pub(super) const UDP_RATE: u64 = 1 << 20;
/// Greatest number of streams of a client.
pub(super) const STREAMS: u32 = 128;
/// Longest test, seconds.
pub(super) const LONGEST: f64 = 864_000.0;
/// Largest socket buffer, bytes.
pub(super) const WINDOW: u64 = 1 << 30;
/// Largest segment, bytes.
pub(super) const MSS: u64 = 65_495;
/// Time beyond the end that the other end has to end too.
pub(super) const SLOP: Duration = Duration::from_secs(2);
/// Time without data after which a receiver gives up.
pub(super) const IDLE: Duration = Duration::from_secs(120);

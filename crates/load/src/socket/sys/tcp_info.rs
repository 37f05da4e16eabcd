//! State of a connection of the kernel's TCP (TCP_INFO, linux/tcp.h).

use linerate_result::{Connection, Number};
use std::os::fd::{AsRawFd, BorrowedFd};

/// Part of the kernel's structure; zero where an old kernel has no such field.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct TcpInfo {
    /// Congestion window, bytes.
    pub(crate) cwnd: u64,
    /// Window that the receiver offers, bytes.
    pub(crate) wnd: u64,
    /// Smoothed round-trip time, microseconds.
    pub(crate) rtt: u64,
    /// Its variation, microseconds.
    pub(crate) rttvar: u64,
    /// Least round-trip time of late, microseconds; 0 if it is not known.
    pub(crate) least_rtt: u64,
    /// Rate of the latest delivery, bytes per second; 0 if it is not known.
    pub(crate) delivery_rate: u64,
    /// Largest packet of the path, bytes.
    pub(crate) pmtu: u64,
    /// Segments sent again since the connection began.
    pub(crate) retransmits: u64,
    /// Bytes that the other end has acknowledged.
    pub(crate) acknowledged: u64,
}

impl TcpInfo {
    /// The connection in results, with the segments sent again that count.
    pub(crate) fn connection(&self, sent_again: u64) -> Connection {
        let known = |n: u64, unit: f64| if n > 0 { Number::new(n as f64 * unit) } else { Number::UNKNOWN };
        Connection {
            sent_again: Some(sent_again),
            rtt_ns: known(self.rtt, 1e3),
            least_rtt_ns: known(self.least_rtt, 1e3),
            window_bytes: Some(self.cwnd),
            delivered_bits_per_second: known(self.delivery_rate, 8.0),
        }
    }
}

/// Options that both ends of a connection agreed on, and its segments.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Handshake {
    /// Windows of more than 64 KiB (RFC 7323).
    pub window_scale: bool,
    /// Selective acknowledgements (RFC 2018).
    pub sack: bool,
    /// Time-stamps (RFC 7323).
    pub timestamps: bool,
    /// Longest segment that is sent, bytes.
    pub segment: u32,
}

/// Length of the structure up to its last field here.
const LEN: usize = 232;
// Offsets of its fields, which are words in the machine's byte order.
const OPTIONS: usize = 5;
const SND_MSS: usize = 16;
/// TCPI_OPT_….
const TIMESTAMPS: u8 = 1;
const SACK: u8 = 2;
const WINDOW_SCALE: u8 = 4;
const PMTU: usize = 60;
const RTT: usize = 68;
const RTTVAR: usize = 72;
const SND_CWND: usize = 80;
const TOTAL_RETRANS: usize = 100;
/// Two words each.
const BYTES_ACKED: usize = 120;
const DELIVERY_RATE: usize = 160;
const MIN_RTT: usize = 148;
const SND_WND: usize = 228;

/// The kernel's structure; `None` if the socket has no such thing.
fn read(of: BorrowedFd<'_>) -> Option<[u8; LEN]> {
    let mut bytes = [0u8; LEN];
    let mut len = libc::socklen_t::try_from(LEN).ok()?;
    // SAFETY: as many bytes as `len` says may be written, and `len` itself.
    let result = unsafe {
        libc::getsockopt(of.as_raw_fd(), libc::IPPROTO_TCP, libc::TCP_INFO, bytes.as_mut_ptr().cast(), &raw mut len)
    };
    (result == 0).then_some(bytes)
}

fn word(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..).and_then(|rest| rest.first_chunk()).map_or(0, |b| u32::from_ne_bytes(*b))
}

/// State of this connection; `None` if the socket has no such thing.
pub(crate) fn tcp_info(of: BorrowedFd<'_>) -> Option<TcpInfo> {
    let bytes = read(of)?;
    let word = |at| word(&bytes, at);
    let two = |at: usize| bytes[at..].first_chunk().map_or(0, |b| u64::from_ne_bytes(*b));
    Some(TcpInfo {
        cwnd: u64::from(word(SND_CWND)) * u64::from(word(SND_MSS)),
        wnd: word(SND_WND).into(),
        rtt: word(RTT).into(),
        rttvar: word(RTTVAR).into(),
        pmtu: word(PMTU).into(),
        retransmits: word(TOTAL_RETRANS).into(),
        // Without a measurement the kernel has all bits set.
        least_rtt: Some(word(MIN_RTT)).filter(|us| *us < u32::MAX).unwrap_or(0).into(),
        delivery_rate: two(DELIVERY_RATE),
        acknowledged: two(BYTES_ACKED),
    })
}

/// Options that the ends of this connection agreed on; `None` if the socket has no such thing.
#[must_use]
pub fn handshake(of: BorrowedFd<'_>) -> Option<Handshake> {
    let bytes = read(of)?;
    let has = |option| bytes[OPTIONS] & option != 0;
    Some(Handshake {
        window_scale: has(WINDOW_SCALE),
        sack: has(SACK),
        timestamps: has(TIMESTAMPS),
        segment: word(&bytes, SND_MSS),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{TcpListener, TcpStream, UdpSocket};
    use std::os::fd::AsFd;

    #[test]
    fn a_connection_over_loopback_has_its_packet_size_and_windows() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let info = tcp_info(stream.as_fd()).unwrap();
        assert_eq!((info.pmtu, info.retransmits), (65_535, 0));
        assert!(info.least_rtt > 0 && info.least_rtt <= info.rtt, "{info:?}");
        let told = info.connection(3);
        assert_eq!((told.sent_again, told.rtt_ns.known()), (Some(3), Some(info.rtt as f64 * 1e3)));
        assert!(info.cwnd >= 10 * 500 && info.wnd > 0 && info.rtt < 1_000_000, "{info:?}");
        // Segments of the loopback, whatever options the machine has switched off.
        assert!(handshake(stream.as_fd()).is_some_and(|all| all.segment > 20_000), "{:?}", handshake(stream.as_fd()));
        assert_eq!(tcp_info(UdpSocket::bind("127.0.0.1:0").unwrap().as_fd()), None);
    }
}

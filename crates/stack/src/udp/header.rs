//! Emission of UDP headers.

use super::Fills;
use crate::ip::PayloadLen;
use linerate_ring::Meta;
use linerate_wire::{IpProtocol, pseudo_header_v4, pseudo_header_v6};
use std::net::{IpAddr, SocketAddr};

/// Writes the UDP header of a datagram; returns the request to the adapter, if it completes the checksum. `at` is the
/// header's offset in the frame.
#[inline]
pub(super) fn emit(
    fills: &Fills,
    header: &mut [u8],
    at: usize,
    (from, to): (SocketAddr, SocketAddr),
    (body, len): (&[u8], PayloadLen),
) -> Option<Meta> {
    header[0..2].copy_from_slice(&from.port().to_be_bytes());
    header[2..4].copy_from_slice(&to.port().to_be_bytes());
    header[4..6].copy_from_slice(&len.bytes().to_be_bytes());
    let len = usize::from(len.bytes());
    let mut sum = match (from.ip(), to.ip()) {
        (IpAddr::V4(src), IpAddr::V4(dst)) => pseudo_header_v4(src, dst, IpProtocol::UDP, len),
        (IpAddr::V6(src), IpAddr::V6(dst)) => pseudo_header_v6(src, dst, IpProtocol::UDP, len),
        _ => return None,
    };
    if if to.is_ipv4() { fills.v4 } else { fills.v6 } {
        header[6..8].copy_from_slice(&sum.fold().to_be_bytes());
        let csum_start = u16::try_from(at).unwrap_or(0);
        return Some(Meta { flags: Meta::NEEDS_CSUM, csum_start, csum_offset: 6, ..Meta::default() });
    }
    sum.add_bytes(&header[..6]).add_bytes(body);
    let sum = match sum.finish() {
        0 => 0xffff,
        sum => sum,
    };
    header[6..8].copy_from_slice(&sum.to_be_bytes());
    None
}

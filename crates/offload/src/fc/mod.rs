//! Offloads for Fibre Channel over Ethernet: segmentation, the CRC, and the choice of a queue by exchange.
//!
//! Out of scope: it knows no exchange, no login, and only the sequence that it is given.

mod crc;
mod hash;
mod segment;

#[cfg(test)]
mod testing;

use linerate_wire::EtherType;

use super::headers::Headers;

pub use crc::verify_fc_crc;
pub(crate) use hash::fc_hash;
pub use segment::{FcSegmentError, FcSegments, MAX_FC_HEADER, MAX_FC_PAYLOAD};

/// Offset of the encapsulated FC frame, after the Ethernet header and its tags; `None` if there is none.
#[inline]
fn encapsulated(frame: &[u8]) -> Option<usize> {
    Headers::parse(frame, frame.len())
        .filter(|headers| headers.ethertype == EtherType::FCOE)
        .map(|headers| headers.network)
}

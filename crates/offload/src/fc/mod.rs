//! What an adapter does for Fibre Channel over Ethernet: segmentation, the CRC, and the choice of a queue by exchange.
//!
//! What this module refuses to do: it knows no exchange, no sequence but the one it is given, and no login.

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

/// Where the encapsulated FC frame begins behind the Ethernet header and its tags, if it is one.
#[inline]
fn encapsulated(frame: &[u8]) -> Option<usize> {
    Headers::parse(frame, frame.len())
        .filter(|headers| headers.ethertype == EtherType::FCOE)
        .map(|headers| headers.network)
}

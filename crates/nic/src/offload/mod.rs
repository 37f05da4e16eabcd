//! The adapter's offloads: one file each, on plain octets, each usable alone.

mod checksum;
mod fc;
mod headers;
mod lro;
mod rss;
mod segment;
mod sink;
mod steer;
mod tso;
mod udp;
mod vlan;

#[cfg(test)]
mod testing;

pub use checksum::{
    ChecksumError, Verdict, complete_checksum, fill_checksums, fill_ipv4_checksum, pseudo_header, verify_checksums,
    verify_parsed,
};
pub(crate) use checksum::{closed, requested};
use fc::fc_hash;
pub use fc::{FcSegmentError, FcSegments, MAX_FC_HEADER, MAX_FC_PAYLOAD, verify_fc_crc};
pub use headers::{Headers, Ip, Version};
pub use lro::{Lro, LroConfig, Merged, Piece, Pushed, Received};
pub use rss::{DEFAULT_KEY, HashTypes, KEY_LEN, Rss, RssError, SYMMETRIC_KEY, Toeplitz};
pub use segment::{MAX_HEADER, MAX_PAYLOAD, SegmentError, Segments, header_len};
pub use sink::Sink;
pub use steer::{Action, FlowKey, Match, Rule, SteerError, Steering};
pub use vlan::{TAG_LEN, VlanError, VlanFilter, insert_tag, outer_tag, strip_tag, tagged_front, traffic_class};

//! Offloads on plain bytes: one file each, each usable alone. Adapter, switch and bridge share them.
//!
//! Out of scope: it has no queue, no flag and no state of an adapter.

#![forbid(unsafe_code)]

mod checksum;
mod class;
mod ecn;
mod fc;
mod headers;
mod lro;
mod rss;
mod segment;
mod sink;
mod steer;
mod turns;
mod vlan;

#[cfg(test)]
mod testing;

pub use checksum::{
    ChecksumError, Verdict, closed, complete_checksum, fill_checksums, fill_ipv4_checksum, pseudo_header, requested,
    seems_open, verify_checksums, verify_parsed,
};
pub use class::{ClassTable, ClassTableError, Selection, TrafficClass};
pub use ecn::mark_congestion;
use fc::fc_hash;
pub use fc::{FcSegmentError, FcSegments, MAX_FC_HEADER, MAX_FC_PAYLOAD, verify_fc_crc};
pub use headers::{Headers, Ip, Version};
pub use lro::{Lro, LroConfig, Merged, Piece, Pushed, Received};
pub use rss::{DEFAULT_KEY, HashTypes, KEY_LEN, Rss, RssError, SYMMETRIC_KEY, Toeplitz};
pub use segment::{
    GSO_ECN, GSO_TCPV4, GSO_TCPV6, GSO_UDP_L4, MAX_HEADER, MAX_PAYLOAD, Prepared, SegmentError, Segments, header_len,
};
pub use sink::{Frames, Sink};
pub use steer::{Action, FlowKey, Match, Prefix, PrefixError, Rule, SteerError, Steering};
pub use turns::Turns;
pub use vlan::{
    TAG_LEN, VlanError, VlanFilter, insert_tag, outer_tag, strip_tag, tag_inserted, tag_stripped, tagged_front,
};

//! pcap.
//!
//! ```text
//!  file    magic u32, major u16, minor u16, 0 u32, 0 u32, snaplen u32, link u32        (draft-ietf-opsawg-pcap 4)
//!  record  seconds u32, fraction u32, captured u32, original u32, data                 (5)
//! ```
//! Records of the "modified" format (A. Kuznetzov's libpcap) have 8 more bytes of header: interface u32, protocol u16,
//! packet type u8, 0 u8. Before version 2.3 the two lengths are the other way round.

/// Bytes of the file's header.
pub(super) const HEAD: usize = 24;
/// Bytes of a record's header, and of the longest that there is.
const RECORD: usize = 16;
pub(super) const LONGEST_RECORD: usize = RECORD + 8;
/// Magic number of time-stamps in nanoseconds, in the byte order of the file.
pub(super) const MAGIC_NS: u32 = 0xa1b2_3c4d;
/// Magic number of time-stamps in microseconds, in the byte order of the file.
const MAGIC_US: u32 = 0xa1b2_c3d4;
/// Magic number of records with longer headers, in microseconds.
const MAGIC_MODIFIED: u32 = 0xa1b2_cd34;

/// Byte order of the file's integers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Order {
    pub(super) big: bool,
}

impl Order {
    pub(super) fn u16(self, bytes: &[u8], at: usize) -> u16 {
        let raw = [bytes[at], bytes[at + 1]];
        if self.big { u16::from_be_bytes(raw) } else { u16::from_le_bytes(raw) }
    }

    pub(super) fn u32(self, bytes: &[u8], at: usize) -> u32 {
        let raw = [bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]];
        if self.big { u32::from_be_bytes(raw) } else { u32::from_le_bytes(raw) }
    }

    pub(super) fn u64(self, bytes: &[u8], at: usize) -> u64 {
        let (a, b) = (u64::from(self.u32(bytes, at)), u64::from(self.u32(bytes, at + 4)));
        if self.big { a << 32 | b } else { b << 32 | a }
    }
}

/// Parameters from a file's header.
#[derive(Clone, Copy, Debug)]
pub(super) struct Classic {
    order: Order,
    /// Nanoseconds per unit of a record's fraction field.
    unit: u64,
    /// Bytes of a record's header.
    pub(super) record: usize,
    minor: u16,
    /// Bytes of FCS at the end of each frame.
    pub(super) fcs: u32,
    pub(super) link: u32,
}

/// Fields of a record's header.
#[derive(Clone, Copy, Debug)]
pub(super) struct Head {
    pub(super) time_ns: u64,
    pub(super) captured: u32,
    pub(super) original: u32,
}

impl Classic {
    /// Parses the header; None if it is not that of a pcap file of version 2.
    pub(super) fn parse(head: &[u8; HEAD]) -> Option<Self> {
        let (order, unit, record) = [false, true].into_iter().find_map(|big| {
            let order = Order { big };
            match order.u32(head, 0) {
                MAGIC_US => Some((order, 1_000, RECORD)),
                MAGIC_NS => Some((order, 1, RECORD)),
                MAGIC_MODIFIED => Some((order, 1_000, LONGEST_RECORD)),
                _ => None,
            }
        })?;
        let link = order.u32(head, 20);
        // Bit 26 says that the four highest bits count the FCS in 16-bit words.
        let fcs = if link & 1 << 26 != 0 { (link >> 28) * 2 } else { 0 };
        let (major, minor) = (order.u16(head, 4), order.u16(head, 6));
        (major == 2).then_some(Self { order, unit, record, minor, fcs, link: link & 0xffff })
    }

    pub(super) fn head(&self, bytes: &[u8]) -> Head {
        let field = |at| self.order.u32(bytes, at);
        let time_ns = u64::from(field(0)) * 1_000_000_000 + u64::from(field(4)) * self.unit;
        let (captured, original) = (field(8), field(12));
        // Writers of version 2.3 did either.
        let turned = self.minor < 3 || self.minor == 3 && captured > original;
        let (captured, original) = if turned { (original, captured) } else { (captured, original) };
        Head { time_ns, captured, original }
    }
}

//! pcap.
//!
//! ```text
//!  file    magic u32, major u16, minor u16, 0 u32, 0 u32, snaplen u32, link u32        (draft-ietf-opsawg-pcap 4)
//!  record  seconds u32, fraction u32, captured u32, original u32, data                 (5)
//! ```

/// Bytes of the file's header.
pub(super) const HEAD: usize = 24;
/// Bytes of a record's header.
pub(super) const RECORD: usize = 16;
/// Magic number of time-stamps in nanoseconds, in the byte order of the file.
pub(super) const MAGIC_NS: u32 = 0xa1b2_3c4d;
/// Magic number of time-stamps in microseconds, in the byte order of the file.
const MAGIC_US: u32 = 0xa1b2_c3d4;

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
        let (order, unit) = [false, true].into_iter().find_map(|big| {
            let order = Order { big };
            match order.u32(head, 0) {
                MAGIC_US => Some((order, 1_000)),
                MAGIC_NS => Some((order, 1)),
                _ => None,
            }
        })?;
        let link = order.u32(head, 20);
        // Bit 26 says that the four highest bits count the FCS in 16-bit words.
        let fcs = if link & 1 << 26 != 0 { (link >> 28) * 2 } else { 0 };
        (order.u16(head, 4) == 2).then_some(Self { order, unit, fcs, link: link & 0xffff })
    }

    pub(super) fn head(&self, bytes: &[u8]) -> Head {
        let field = |at| self.order.u32(bytes, at);
        let time_ns = u64::from(field(0)) * 1_000_000_000 + u64::from(field(4)) * self.unit;
        Head { time_ns, captured: field(8), original: field(12) }
    }
}

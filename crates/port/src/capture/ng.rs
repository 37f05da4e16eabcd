//! pcapng: parsing of blocks. (Sections of draft-ietf-opsawg-pcapng.)
//!
//! ```text
//!  block  type u32, length u32, body, padding to 4, length u32                                      (3.1)
//!  SHB    byte order 0x1a2b3c4d, major u16, minor u16, section length i64, options                  (4.1)
//!  IDB    link u16, 0 u16, snaplen u32, options                                                     (4.2)
//!  EPB    interface u32, time high u32, time low u32, captured u32, original u32, data, options     (4.3)
//!  SPB    original u32, data                                                                        (4.4)
//!  PB     interface u16, drops u16, then as EPB                                                     (A.)
//! ```

use super::classic::Order;
use linerate_text::saturating_u64;

pub(super) const SHB: u32 = 0x0a0d_0d0a;
const IDB: u32 = 1;
const PB: u32 = 2;
const SPB: u32 = 3;
const EPB: u32 = 6;
const BYTE_ORDER: u32 = 0x1a2b_3c4d;
/// Most interfaces of a section that are remembered; packets of others are bad.
const INTERFACES: u32 = 4096;

/// LINKTYPE_ETHERNET, the link type of frames that ports carry.
pub(super) const ETHERNET: u32 = 1;

/// True if a block of this type carries a packet.
pub(super) fn is_packet(kind: u32) -> bool {
    matches!(kind, PB | SPB | EPB)
}

/// State since the last section header.
#[derive(Clone, Debug)]
pub(super) struct Section {
    pub(super) order: Order,
    interfaces: Vec<Interface>,
    /// Time of the last packet that had one.
    last_ns: u64,
}

#[derive(Clone, Copy, Debug)]
struct Interface {
    link: u32,
    snaplen: u32,
    resolution: u8,
    offset_s: i64,
    fcs: u32,
}

/// Meaning of a block to a reader of frames.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Said {
    /// A block without a frame or an interface.
    Nothing,
    /// A packet; `at`: place of its first byte in the block's body.
    Packet { interface: u32, time_ns: u64, original: u32, captured: u32, fcs: u32, at: usize },
    /// A damaged packet.
    Bad,
    /// A packet of an interface that is not Ethernet.
    Other,
    /// An interface: its number in the section, its link type.
    Interface { number: u32, link: u32 },
}

/// The byte order of a section, from its header block's first 12 bytes.
pub(super) fn order(head: &[u8]) -> Option<Order> {
    [false, true].map(|big| Order { big }).into_iter().find(|order| order.u32(head, 8) == BYTE_ORDER)
}

impl Section {
    /// State before the first section header block.
    pub(super) fn before_any(order: Order) -> Self {
        Self { order, interfaces: Vec::new(), last_ns: 0 }
    }

    /// A section, from its header block's body; None if it is not version 1.
    pub(super) fn new(order: Order, body: &[u8]) -> Option<Self> {
        (body.len() >= 16 && order.u16(body, 4) == 1).then(|| Self::before_any(order))
    }

    /// Processes one block's body.
    pub(super) fn block(&mut self, kind: u32, body: &[u8]) -> Said {
        match kind {
            IDB => self.interface(body),
            EPB if body.len() >= 20 => self.packet(self.order.u32(body, 0), body),
            PB if body.len() >= 20 => self.packet(self.order.u16(body, 0).into(), body),
            SPB if body.len() >= 4 => self.simple(body),
            kind if is_packet(kind) => Said::Bad,
            _ => Said::Nothing,
        }
    }

    fn interface(&mut self, body: &[u8]) -> Said {
        if body.len() < 8 {
            return Said::Bad;
        }
        let link = u32::from(self.order.u16(body, 0));
        let mut new = Interface { link, snaplen: self.order.u32(body, 4), resolution: 6, offset_s: 0, fcs: 0 };
        let mut options = &body[8..];
        while options.len() >= 4 {
            let (code, len) = (self.order.u16(options, 0), usize::from(self.order.u16(options, 2)));
            let Some(value) = options.get(4..4 + len) else { break };
            match (code, len) {
                (0, _) => break,
                (9, 1) => new.resolution = value[0],
                // Bits according to the draft, bytes according to common programs.
                (13, 1) => new.fcs = u32::from(if value[0] >= 8 { value[0] / 8 } else { value[0] }),
                (14, 8) => new.offset_s = i64::from_ne_bytes(self.order.u64(value, 0).to_ne_bytes()),
                _ => {}
            }
            options = options.get(4 + len.next_multiple_of(4)..).unwrap_or_default();
        }
        match u32::try_from(self.interfaces.len()) {
            Ok(number) if number < INTERFACES => {
                self.interfaces.push(new);
                Said::Interface { number, link }
            }
            _ => Said::Nothing,
        }
    }

    fn packet(&mut self, number: u32, body: &[u8]) -> Said {
        let Some(interface) = self.interfaces.get(number as usize).copied() else { return Said::Bad };
        let captured = self.order.u32(body, 12);
        if captured as usize > body.len() - 20 {
            return Said::Bad;
        }
        let time = u64::from(self.order.u32(body, 4)) << 32 | u64::from(self.order.u32(body, 8));
        self.last_ns = interface.nanoseconds(time);
        if interface.link != ETHERNET {
            return Said::Other;
        }
        let original = self.order.u32(body, 16);
        Said::Packet { interface: number, time_ns: self.last_ns, original, captured, fcs: interface.fcs, at: 20 }
    }

    /// A simple packet block has no time of its own, so it takes that of the packet before.
    fn simple(&self, body: &[u8]) -> Said {
        let Some(interface) = self.interfaces.first() else { return Said::Bad };
        let original = self.order.u32(body, 0);
        let most = if interface.snaplen == 0 { u32::MAX } else { interface.snaplen };
        // A snaplen that promises more than the block holds, beyond the padding, is damage.
        let captured = original.min(most);
        if interface.link != ETHERNET {
            Said::Other
        } else if captured as usize <= body.len() - 4 {
            Said::Packet { interface: 0, time_ns: self.last_ns, original, captured, fcs: interface.fcs, at: 4 }
        } else {
            Said::Bad
        }
    }
}

impl Interface {
    /// Time in nanoseconds since 1970; a time out of the range is cut to it.
    fn nanoseconds(&self, time: u64) -> u64 {
        const BILLION: u128 = 1_000_000_000;
        let (time, power) = (u128::from(time), u32::from(self.resolution & 0x7f));
        let ns = if self.resolution & 0x80 != 0 {
            // At most 2^64 times 2^30, shifted by what is left of 127 bits.
            (time * BILLION) >> power
        } else if power <= 9 {
            time * 10u128.pow(9 - power)
        } else {
            10u128.checked_pow(power - 9).map_or(0, |scale| time / scale)
        };
        // Both are below 2^94.
        let ns = ns.cast_signed() + i128::from(self.offset_s) * 1_000_000_000;
        saturating_u64(ns.max(0).cast_unsigned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_all_resolutions_become_nanoseconds() {
        let ns = |resolution, offset_s, time| {
            Interface { link: ETHERNET, snaplen: 0, resolution, offset_s, fcs: 0 }.nanoseconds(time)
        };
        assert_eq!(ns(6, 0, 1_500_000), 1_500_000_000);
        assert_eq!(ns(9, 0, 123), 123);
        assert_eq!(ns(0, 0, 7), 7_000_000_000);
        assert_eq!(ns(12, 0, 5_000), 5);
        assert_eq!(ns(0x80 | 20, 0, 1 << 19), 500_000_000);
        assert_eq!(ns(0x80, 0, 3), 3_000_000_000);
        assert_eq!(ns(9, 2, 5), 2_000_000_005);
        assert_eq!(ns(9, -2, 5), 0, "before 1970");
        assert_eq!(ns(0, i64::MAX, u64::MAX), u64::MAX);
        assert_eq!((ns(127, 0, u64::MAX), ns(0xff, 0, u64::MAX)), (0, 0));
    }
}

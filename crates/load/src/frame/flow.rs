//! Flows of addresses and ports, and their order in a range.

use super::template::Layout;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Addresses and ports of a UDP packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flow {
    pub src: IpAddr,
    /// Destination address, of the same family.
    pub dst: IpAddr,
    pub src_port: u16,
    pub dst_port: u16,
}

impl Flow {
    pub(super) fn none(v6: bool) -> Self {
        let addr = if v6 { IpAddr::V6(Ipv6Addr::UNSPECIFIED) } else { IpAddr::V4(Ipv4Addr::UNSPECIFIED) };
        Self { src: addr, dst: addr, src_port: 0, dst_port: 0 }
    }

    /// Reads addresses and ports from a frame, if it is long enough.
    #[inline]
    #[must_use]
    pub fn of(frame: &[u8], layout: Layout) -> Option<Self> {
        let (at, each) = layout.addresses();
        let addr = |at: usize| -> Option<IpAddr> {
            if layout.v6 {
                Some(Ipv6Addr::from(<[u8; 16]>::try_from(frame.get(at..at + 16)?).ok()?).into())
            } else {
                Some(Ipv4Addr::from(<[u8; 4]>::try_from(frame.get(at..at + 4)?).ok()?).into())
            }
        };
        let port = |at: usize| Some(u16::from_be_bytes(frame.get(at..at + 2)?.try_into().ok()?));
        let udp = layout.udp();
        Some(Self { src: addr(at)?, dst: addr(at + each)?, src_port: port(udp)?, dst_port: port(udp + 2)? })
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowRange {
    /// First and last address, of one family.
    pub addrs: (IpAddr, IpAddr),
    /// First and last port.
    pub ports: (u16, u16),
}

impl FlowRange {
    /// True if the range has one address and one port.
    #[must_use]
    pub fn is_single(&self) -> bool {
        self.addrs.0 == self.addrs.1 && self.ports.0 == self.ports.1
    }

    /// Steps to the next address and port; true when it begins again.
    fn step(&self, addr: &mut IpAddr, port: &mut u16) -> bool {
        if *port < self.ports.1 {
            *port += 1;
            return false;
        }
        *port = self.ports.0;
        if *addr != self.addrs.1 {
            *addr = next(*addr);
            return false;
        }
        *addr = self.addrs.0;
        true
    }
}

fn next(addr: IpAddr) -> IpAddr {
    match addr {
        IpAddr::V4(addr) => Ipv4Addr::from_bits(addr.to_bits().wrapping_add(1)).into(),
        IpAddr::V6(addr) => Ipv6Addr::from_bits(addr.to_bits().wrapping_add(1)).into(),
    }
}

/// Flows of a stream, one per frame: source ports first, then source addresses, destination ports, destination
/// addresses, in the order of netmap's pkt-gen; or at random on either side.
#[derive(Clone, Debug)]
pub struct Flows {
    src: FlowRange,
    dst: FlowRange,
    random_src: bool,
    random_dst: bool,
    now: Flow,
    dice: Dice,
}

impl Flows {
    #[must_use]
    pub fn new(src: FlowRange, dst: FlowRange, random_src: bool, random_dst: bool, seed: u64) -> Self {
        let now = Flow { src: src.addrs.0, dst: dst.addrs.0, src_port: src.ports.0, dst_port: dst.ports.0 };
        Self { src, dst, random_src, random_dst, now, dice: Dice::new(seed) }
    }

    /// The flow, if there is only one.
    #[must_use]
    pub fn single(&self) -> Option<Flow> {
        let one = self.src.is_single() && self.dst.is_single() && !self.random_src && !self.random_dst;
        one.then_some(self.now)
    }

    #[inline]
    pub fn pick(&mut self) -> Flow {
        let flow = self.now;
        let again = if self.random_src {
            (self.now.src, self.now.src_port) = self.dice.address(flow.src);
            true
        } else {
            self.src.step(&mut self.now.src, &mut self.now.src_port)
        };
        if self.random_dst {
            (self.now.dst, self.now.dst_port) = self.dice.address(flow.dst);
        } else if again {
            self.dst.step(&mut self.now.dst, &mut self.now.dst_port);
        }
        flow
    }
}

/// Random number generator: xorshift64* (Vigna, "An experimental exploration of Marsaglia's xorshift generators").
#[derive(Clone, Debug)]
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed | 1)
    }

    #[inline]
    pub(crate) fn roll(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// Random number from `least` to `most`.
    #[inline]
    pub(crate) fn between(&mut self, least: usize, most: usize) -> usize {
        let span = (most - least) as u128 + 1;
        least + usize::try_from((u128::from(self.roll()) * span) >> 64).unwrap_or(0)
    }

    /// Random address of the same family as `like`, and random port.
    fn address(&mut self, like: IpAddr) -> (IpAddr, u16) {
        let a = self.roll().to_be_bytes();
        let b = self.roll().to_be_bytes();
        let port = u16::from_be_bytes([b[6], b[7]]);
        let addr = match like {
            IpAddr::V4(_) => Ipv4Addr::new(a[0], a[1], a[2], a[3]).into(),
            IpAddr::V6(_) => {
                let c = self.roll().to_be_bytes();
                let mut bytes = [0; 16];
                bytes[..8].copy_from_slice(&a);
                bytes[8..].copy_from_slice(&c);
                Ipv6Addr::from(bytes).into()
            }
        };
        (addr, port)
    }
}

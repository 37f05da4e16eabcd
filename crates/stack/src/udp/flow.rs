//! The flow table: cached routes and neighbours of destinations. Headers are not kept here; see [`super::template`].

use crate::link::Generation;
use linerate_wire::MacAddr;
use std::net::IpAddr;

/// Number of entries; a power of two. A destination has one place, which the latest flow overwrites.
const ENTRIES: usize = 256;

/// Result of a lookup of route and neighbour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Flow {
    /// The destination, and the source to which the socket is bound (unspecified: any).
    pub(crate) to: IpAddr,
    pub(crate) bound: IpAddr,
    /// Source address that was chosen.
    pub(crate) from: IpAddr,
    /// Next hop that has the MAC address.
    pub(crate) hop: IpAddr,
    pub(crate) mac: MacAddr,
    /// Longest IP packet.
    pub(crate) mtu: usize,
    pub(crate) valid: Generation,
    pub(crate) until: u64,
}

/// Flows by destination.
#[derive(Debug)]
pub(crate) struct Flows(Box<[Option<Flow>; ENTRIES]>);

impl Default for Flows {
    fn default() -> Self {
        Self(Box::new([None; ENTRIES]))
    }
}

impl Flows {
    #[inline]
    fn place(to: IpAddr) -> usize {
        let bits = match to {
            IpAddr::V4(a) => u64::from(a.to_bits()),
            IpAddr::V6(a) => {
                let bits = a.to_bits();
                u64::try_from(bits >> 64).unwrap_or(0) ^ u64::try_from(bits & u128::from(u64::MAX)).unwrap_or(0)
            }
        };
        usize::try_from(bits.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56).unwrap_or(0) % ENTRIES
    }

    /// Finds the flow, if it is known and valid.
    #[inline]
    pub(crate) fn find(&self, to: IpAddr, bound: IpAddr, valid: Generation, now: u64) -> Option<&Flow> {
        let holds = |f: &&Flow| f.to == to && f.bound == bound && f.valid == valid && now < f.until;
        self.0[Self::place(to)].as_ref().filter(holds)
    }

    /// Stores a flow.
    pub(crate) fn keep(&mut self, flow: Flow) {
        self.0[Self::place(flow.to)] = Some(flow);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flow_is_found_as_long_as_nothing_changes() {
        let valid = Generation(1);
        let any = IpAddr::from([0; 4]);
        let flow = |to: [u8; 4]| Flow {
            to: to.into(),
            bound: any,
            from: [10, 0, 0, 1].into(),
            hop: to.into(),
            mac: MacAddr([2; 6]),
            mtu: 1500,
            valid,
            until: 100,
        };
        let mut flows = Flows::default();
        (0..100).for_each(|i| flows.keep(flow([10, 0, 0, i])));
        let to = IpAddr::from([10, 0, 0, 99]);
        assert_eq!(flows.find(to, any, valid, 99), Some(&flow([10, 0, 0, 99])));
        assert_eq!(flows.find(to, any, valid, 100), None, "its time is over");
        assert_eq!(flows.find(to, any, Generation(2), 0), None);
        assert_eq!(flows.find(to, [10, 0, 0, 2].into(), valid, 0), None);
        assert_eq!(flows.find([10, 0, 1, 99].into(), any, valid, 0), None);
    }
}

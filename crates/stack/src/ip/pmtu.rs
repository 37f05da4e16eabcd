//! Path MTUs reported by routers (RFC 1191, RFC 8201), limited in number and in time.

use std::net::IpAddr;

const MOST: usize = 64;
/// Ten minutes in ns, after which the path MTU may have grown (RFC 1191, section 6.3).
const AGE: u64 = 600_000_000_000;
/// Smallest path MTUs accepted, so that nobody can force datagrams into tiny fragments (RFC 1191, section 3, gives 68,
/// which Linux raises to 552; RFC 8200, section 5).
const LEAST_V4: usize = 552;
const LEAST_V6: usize = 1280;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Told {
    to: IpAddr,
    mtu: usize,
    until: u64,
}

/// Path MTUs by destination.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Pmtu(Vec<Told>);

impl Pmtu {
    /// Longest packet to a destination over a link of this MTU.
    #[inline]
    pub(crate) fn of(&self, to: IpAddr, link: usize, now: u64) -> usize {
        if self.0.is_empty() {
            return link;
        }
        self.0.iter().find(|t| t.to == to && now < t.until).map_or(link, |t| t.mtu.min(link))
    }

    /// Path MTU after a router's report that packets may have at most `mtu` bytes; None if nothing changes.
    pub(crate) fn narrowed(&self, to: IpAddr, mtu: usize, link: usize, now: u64) -> Option<usize> {
        let mtu = mtu.max(if to.is_ipv4() { LEAST_V4 } else { LEAST_V6 });
        (mtu < self.of(to, link, now)).then_some(mtu)
    }

    /// Records a router's report that packets may have at most `mtu` bytes; false if nothing changes.
    pub(crate) fn tell(&mut self, to: IpAddr, mtu: usize, link: usize, now: u64) -> bool {
        let Some(mtu) = self.narrowed(to, mtu, link, now) else { return false };
        self.0.retain(|t| t.to != to && now < t.until);
        if self.0.len() >= MOST {
            self.0.remove(0);
        }
        self.0.push(Told { to, mtu, until: now.saturating_add(AGE) });
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_shrinks_when_told_and_widens_with_time() {
        let (mut pmtu, to) = (Pmtu::default(), IpAddr::from([10, 0, 0, 1]));
        assert_eq!(pmtu.of(to, 1500, 0), 1500);
        assert!(pmtu.tell(to, 1400, 1500, 0));
        assert!(!pmtu.tell(to, 1450, 1500, 1), "only smaller ones count");
        assert_eq!((pmtu.of(to, 1500, 1), pmtu.of(to, 1300, 1)), (1400, 1300));
        assert!(pmtu.tell(to, 68, 1500, 2));
        assert_eq!(pmtu.of(to, 1500, 2), LEAST_V4, "not below what links have");
        assert_eq!(pmtu.of(to, 1500, AGE + 2), 1500);
    }

    #[test]
    fn what_is_told_is_bounded() {
        let mut pmtu = Pmtu::default();
        (0..1000u32).for_each(|i| assert!(pmtu.tell(IpAddr::V4(i.into()), 600, 1500, 0)));
        assert_eq!(pmtu.0.len(), MOST);
        assert_eq!(pmtu.of(IpAddr::V4(999.into()), 1500, 0), 600);
    }
}

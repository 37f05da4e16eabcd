//! The way to an address, and what an interface loses when it goes down.

use super::message::{Message, attribute, attributes, ip, next_hops, word};
use super::{Netlink, bad_answer};
use std::io;
use std::net::IpAddr;

// linux/rtnetlink.h, linux/if_addr.h
const RTA_DST: u16 = 1;
const RTA_OIF: u16 = 4;
const RTA_GATEWAY: u16 = 5;
const RTA_PREFSRC: u16 = 7;
const RTA_METRICS: u16 = 8;
const RTAX_MTU: u16 = 2;
const RTA_MULTIPATH: u16 = 9;
const RTPROT_KERNEL: u8 = 2;
const RTPROT_RA: u8 = 9;
const RTN_UNICAST: u8 = 1;
const RTM_F_CLONED: u32 = 0x200;
const IFA_ADDRESS: u16 = 1;
const RT_SCOPE_UNIVERSE: u8 = 0;
/// `struct rtmsg`, and `struct ifaddrmsg`.
const ROUTE: usize = 12;
const ADDRESS: usize = 8;

/// The way of the machine's packets to an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Path {
    pub index: u32,
    /// Own address of such packets.
    pub source: IpAddr,
    /// Router that they go to, if the address is not on the link.
    pub gateway: Option<IpAddr>,
    /// MTU that the route sets, or that routers have told (RFC 1191).
    pub mtu: Option<u32>,
}

fn family(v4: bool) -> u8 {
    u8::try_from(if v4 { libc::AF_INET } else { libc::AF_INET6 }).unwrap_or_default()
}

fn bytes(address: IpAddr) -> Vec<u8> {
    match address {
        IpAddr::V4(v4) => v4.octets().into(),
        IpAddr::V6(v6) => v6.octets().into(),
    }
}

impl Netlink {
    /// The way to an address, as the kernel would choose it now.
    pub(crate) fn path_to(&mut self, to: IpAddr) -> io::Result<Path> {
        let to = to.to_canonical();
        let mut header = [0; ROUTE];
        (header[0], header[1]) = (family(to.is_ipv4()), if to.is_ipv4() { 32 } else { 128 });
        let mut message = Message::about(libc::RTM_GETROUTE, 0, &header);
        message.attribute(RTA_DST, &bytes(to));
        Path::parse(&self.answer(message)?).ok_or_else(bad_answer)
    }

    /// Losses of an interface that goes down, which do not come back by themselves, in words: routes that
    /// somebody has set, and addresses of IPv6.
    pub(crate) fn lost_when_down(&mut self, index: u32) -> io::Result<Vec<String>> {
        let mut lost = Vec::new();
        for v4 in [true, false] {
            let mut header = [0; ROUTE];
            header[0] = family(v4);
            let routes = self.list(|| Message::about(libc::RTM_GETROUTE, 0, &header))?;
            lost.extend(routes.iter().filter_map(|body| route_lost(body, index)));
        }
        let mut header = [0; ADDRESS];
        header[0] = family(false);
        let addresses = self.list(|| Message::about(libc::RTM_GETADDR, 0, &header))?;
        lost.extend(addresses.iter().filter_map(|body| address_lost(body, index)));
        Ok(lost)
    }
}

impl Path {
    fn parse(body: &[u8]) -> Option<Self> {
        let rest = body.get(ROUTE..)?;
        let index = attribute(rest, RTA_OIF).map(|index| word(index, 0))?;
        let mtu = attribute(attribute(rest, RTA_METRICS).unwrap_or_default(), RTAX_MTU).map(|mtu| word(mtu, 0));
        Some(Self {
            index,
            source: ip(attribute(rest, RTA_PREFSRC)?)?,
            gateway: attribute(rest, RTA_GATEWAY).and_then(ip),
            mtu: mtu.filter(|mtu| *mtu > 0),
        })
    }
}

/// A route in words, if it is one over this interface that the kernel does not make by itself.
fn route_lost(body: &[u8], index: u32) -> Option<String> {
    // family, lengths of destination and source, service, table, protocol, scope, type, flags
    let [family_, prefix, _, _, _, protocol, _, kind, ..] = *body.get(..ROUTE)? else { return None };
    let rest = &body[ROUTE..];
    let by_itself = matches!(protocol, RTPROT_KERNEL | RTPROT_RA) || word(body, 8) & RTM_F_CLONED != 0;
    let over = attribute(rest, RTA_OIF).is_some_and(|oif| word(oif, 0) == index);
    let among = attribute(rest, RTA_MULTIPATH).is_some_and(|hops| next_hops(hops).any(|(link, _)| link == index));
    if kind != RTN_UNICAST || by_itself || !(over || among) {
        return None;
    }
    let to = match attribute(rest, RTA_DST).and_then(ip) {
        Some(to) => format!("{to}/{prefix}"),
        None if family_ == family(false) => "::/0".to_owned(),
        None => "0.0.0.0/0".to_owned(),
    };
    let via = attribute(rest, RTA_GATEWAY).and_then(ip).map(|via| format!(" via {via}"));
    Some(format!("route {to}{}", via.unwrap_or_default()))
}

/// An address of IPv6 in words, if it is one of this interface that is not made anew when the link comes up.
fn address_lost(body: &[u8], index: u32) -> Option<String> {
    // family, prefix, flags, scope, index
    let [_, prefix, _, scope, ..] = *body.get(..ADDRESS)? else { return None };
    let mine = scope == RT_SCOPE_UNIVERSE && word(body, 4) == index;
    let of = attributes(&body[ADDRESS..]).find_map(|(kind, value)| (kind == IFA_ADDRESS).then(|| ip(value)));
    of.flatten().filter(|_| mine).map(|address| format!("address {address}/{prefix}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn route(protocol: u8, oif: u32, to: Option<[u8; 4]>) -> Vec<u8> {
        let mut body = vec![2, if to.is_some() { 24 } else { 0 }, 0, 0, 254, protocol, 0, 1, 0, 0, 0, 0];
        let mut put = |kind: u16, value: &[u8]| {
            body.extend(8_u16.to_ne_bytes());
            body.extend(kind.to_ne_bytes());
            body.extend(value);
        };
        to.iter().for_each(|to| put(RTA_DST, to));
        put(RTA_OIF, &oif.to_ne_bytes());
        put(RTA_GATEWAY, &[10, 0, 0, 1]);
        put(RTA_PREFSRC, &[10, 0, 0, 2]);
        body
    }

    #[test]
    fn routes_that_were_set_are_lost() {
        let set = route(4, 7, Some([192, 0, 2, 0]));
        assert_eq!(route_lost(&set, 7).as_deref(), Some("route 192.0.2.0/24 via 10.0.0.1"));
        assert_eq!(route_lost(&route(3, 7, None), 7).as_deref(), Some("route 0.0.0.0/0 via 10.0.0.1"));
        assert_eq!((route_lost(&set, 8), route_lost(&route(RTPROT_KERNEL, 7, None), 7)), (None, None));
        let gateway = Some([10, 0, 0, 1].into());
        let path = Path { index: 7, source: [10, 0, 0, 2].into(), gateway, mtu: None };
        assert_eq!(Path::parse(&set), Some(path));
        let mut v6 = vec![10, 64, 0x80, 0];
        v6.extend(7_u32.to_ne_bytes());
        v6.extend(20_u16.to_ne_bytes());
        v6.extend(IFA_ADDRESS.to_ne_bytes());
        v6.extend([0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9]);
        assert_eq!((address_lost(&v6, 7).as_deref(), address_lost(&v6, 6)), (Some("address fd00::9/64"), None));
        v6[3] = 253;
        assert_eq!(address_lost(&v6, 7), None, "it is the link's own");
        let hops = [&[8, 0, 0, 0][..], &6_u32.to_ne_bytes(), &[16, 0, 0, 0], &7_u32.to_ne_bytes(), &[0; 8]].concat();
        let links = |hops: &[u8]| next_hops(hops).map(|hop| hop.0).collect::<Vec<_>>();
        assert_eq!((links(&hops), links(&hops[..7])), (vec![6, 7], Vec::new()));
        for end in 0..set.len() {
            _ = (route_lost(&set[..end], 7), Path::parse(&set[..end]), address_lost(&set[..end], 7));
        }
    }
}

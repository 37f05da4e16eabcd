//! The machine's own way to another one: nothing is made, and nothing is changed.

use super::{Place, Site};
use linerate_host::Rtnetlink;
use linerate_result::{Parameters, PortUsed};
use std::net::SocketAddr;

/// The server that is given, if one is.
pub(crate) fn peer(all: &Parameters) -> Result<Option<SocketAddr>, String> {
    let Some(given) = all.get("peer") else { return Ok(None) };
    let peer = given.text().and_then(|text| text.parse().ok());
    peer.map(Some).ok_or_else(|| "peer: give an address and a port: 192.0.2.7:5201, [2001:db8::7]:5201".to_owned())
}

/// The kernel's sockets, on the way to a server.
pub(crate) struct Uplink {
    pub(crate) site: Site,
    pub(crate) ports: Vec<PortUsed>,
}

impl Uplink {
    /// Looks up the way to a server. If an MTU is given, its interface must have it.
    pub(crate) fn to(server: SocketAddr, mtu: Option<u64>) -> Result<Self, String> {
        let wrong = |e: linerate_host::Error| e.to_string();
        let mut links = Rtnetlink::open().map_err(wrong)?;
        let link = links.path_to(server.ip()).and_then(|path| links.link_at(path.index)).map_err(wrong)?;
        if let Some(mtu) = mtu.filter(|mtu| *mtu != u64::from(link.mtu)) {
            let (name, has) = (link.name, link.mtu);
            return Err(format!(
                "mtu: {name}, the way to {}, has {has}; give both ends {mtu}, or leave mtu out",
                server.ip()
            ));
        }
        let place = Place { port: server.port(), bind: None, device: None, family: None };
        let path = format!("the kernel's sockets over {} to {}", link.name, server.ip());
        let ports = vec![PortUsed { name: link.name, path, mtu: Some(link.mtu), ..PortUsed::default() }];
        Ok(Self { site: Site::open(&place, None)?, ports })
    }
}

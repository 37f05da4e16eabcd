//! Headers that a socket's owner keeps, so that it sends datagrams without the host: a host in a thread of its own goes
//! on receiving meanwhile.

use super::template::Template;
use super::{Udp, UdpId};
use crate::Transmit;
use crate::ip::Ip;
use crate::link::Common;
use std::net::SocketAddr;
use std::sync::Arc;

/// Headers of datagrams from one socket to one destination, made by [`crate::Host::udp_prepared`].
///
/// They are valid until something changes that they depend on: settings, addresses, routes, neighbours of any shard of
/// the host; at most a second. Errors about earlier datagrams are not reported here.
#[derive(Clone, Debug)]
pub struct Prepared {
    template: Template,
    common: Arc<Common>,
}

impl Prepared {
    /// Destination of the datagrams.
    #[inline]
    #[must_use]
    pub fn to(&self) -> SocketAddr {
        self.template.to()
    }

    /// Sends a datagram; false if there is no room for it. None, with nothing sent, if [`crate::Host::udp_send`] has to
    /// do it: the headers are valid no more, or the datagram is too long for one packet and one slot.
    #[inline]
    pub fn send<T: Transmit>(&mut self, now: u64, body: &[u8], tx: &mut T) -> Option<bool> {
        let Self { template, common } = self;
        if !template.holds(common.generation(), now, template.to()) {
            return None;
        }
        let udp_len = template.udp_len(body.len())?;
        let len = template.len() + body.len();
        Some(tx.frame(len, template.request(), |frame| template.write(frame, (body, udp_len))))
    }
}

impl Udp {
    /// Headers of the datagram that a socket sent last, if they may be used for others.
    pub(crate) fn prepared(&self, id: UdpId, ip: &Ip) -> Option<Prepared> {
        let template = self.sockets.get(id)?.template.clone()?;
        Some(Prepared { template, common: ip.link.common.clone() })
    }
}

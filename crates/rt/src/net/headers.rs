//! Prepared headers of a socket, by destination.

use linerate_stack::Prepared;
use std::net::{IpAddr, SocketAddr};

/// Most destinations whose headers a socket keeps.
const MOST: usize = 64;

/// Headers by destination: one place at first, and more for a socket that sends to several destinations. A destination
/// has one place, which the latest takes.
pub(super) struct Headers(Vec<Option<Prepared>>);

impl Headers {
    pub(super) fn new() -> Self {
        Self(vec![None])
    }

    /// Headers of datagrams to a destination.
    #[inline]
    pub(super) fn of(&mut self, to: SocketAddr) -> Option<&mut Prepared> {
        let place = self.place(to);
        self.0[place].as_mut().filter(|prepared| prepared.to() == to)
    }

    pub(super) fn keep(&mut self, prepared: Prepared) {
        let to = prepared.to();
        let mut place = self.place(to);
        if self.0.len() < MOST && self.0[place].as_ref().is_some_and(|other| other.to() != to) {
            let others = std::mem::replace(&mut self.0, vec![None; MOST]);
            others.into_iter().flatten().for_each(|other| self.keep(other));
            place = self.place(to);
        }
        self.0[place] = Some(prepared);
    }

    #[inline]
    fn place(&self, to: SocketAddr) -> usize {
        if self.0.len() == 1 {
            return 0;
        }
        let bits = match to.ip() {
            IpAddr::V4(ip) => u64::from(ip.to_bits()),
            IpAddr::V6(ip) => ip.segments().iter().fold(0, |bits: u64, part| bits.rotate_left(16) ^ u64::from(*part)),
        };
        let key = (bits.rotate_left(16) ^ u64::from(to.port())).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        // The upper bits of a product depend on all of its factor's, and addresses in a row are far apart.
        usize::from(key.to_be_bytes()[0]) * self.0.len() / 256
    }
}

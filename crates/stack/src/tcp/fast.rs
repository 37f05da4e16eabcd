//! Cookies of Fast Open (RFC 7413): those that the host gives as a server, and those that it was given as a client.

use super::SECOND;
use super::sockets::Ends;
use super::{Connection, FastOpenLesson, Segment};
use crate::address::Key;
use crate::secret::{Secret, Use};
use linerate_wire::FastOpenCookie;
use std::hash::BuildHasher;
use std::net::SocketAddr;

/// Time of a tick, ns: a cookie is good in its tick and in the next (section 4.1.2, property 5).
const TICK: u64 = 6 * 3600 * SECOND;
/// Servers, and servers' ports, that a client remembers.
const MOST: usize = 128;
/// Time for which Fast Open is not tried after it has failed, ns: doubled for each time in a row, so often at most.
const PAUSE: u64 = 60 * SECOND;
const DOUBLED: u32 = 6;
/// Segment sizes of a server that has named none, and the greatest that are used (section 4.1.3): over IPv4, and IPv6.
const UNKNOWN: [u16; 2] = [536, 1220];
const GREATEST: [u16; 2] = [1460, 1440];

// ---- server ----

/// The cookie of a tick, for the addresses of these ends (section 4.1.2): other hosts can neither make one, nor use another's.
fn cookie(tick: u64, secret: Secret, ends: Ends) -> FastOpenCookie {
    let Ends((local, _), (remote, _)) = ends;
    let hash = secret.key(Use::FastOpen).hash_one((local.bits(), remote.bits(), tick));
    FastOpenCookie::new(&hash.to_be_bytes()).unwrap_or_default()
}

/// Answers the option of a SYN: its data are taken if the cookie is right and there is `room`; otherwise, and where the
/// cookie is old, the answer brings the right one (section 4.2.2).
pub(super) fn answer(now: u64, secret: Secret, ends: Ends, room: bool, connection: &mut Connection, syn: &Segment<'_>) {
    let Some(theirs) = syn.options.fast_open else { return };
    let tick = now / TICK;
    let fresh = cookie(tick, secret, ends);
    let right = theirs == fresh || tick > 0 && theirs == cookie(tick - 1, secret, ends);
    if right && room {
        connection.open_at_once(now, syn);
    }
    if theirs != fresh || !room {
        connection.offer_cookie(fresh);
    }
}

// ---- client ----

/// A server's cookie, and the size of its segments: for each pair of addresses.
#[derive(Clone, Copy, Debug)]
struct Server {
    ends: (Key, Key),
    cookie: FastOpenCookie,
    mss: Option<u16>,
}

/// A port of a server with which Fast Open has failed.
#[derive(Clone, Copy, Debug)]
struct Failed {
    ends: (Key, Key, u16),
    /// Time until which it is not tried.
    until: u64,
    times: u32,
}

/// Memory of a client (section 4.1.3); in both tables what was used last is at the end.
#[derive(Debug, Default)]
pub(super) struct Known {
    servers: Vec<Server>,
    failed: Vec<Failed>,
}

impl Known {
    /// The option of a SYN to this server, and the size of segments that it takes; None if Fast Open is not to be tried.
    pub(super) fn option(&mut self, now: u64, local: SocketAddr, remote: SocketAddr) -> Option<(FastOpenCookie, u16)> {
        let (here, there) = (Key::new(local.ip()), Key::new(remote.ip()));
        let port = (here, there, remote.port());
        if self.failed.iter().any(|failed| failed.ends == port && now < failed.until) {
            return None;
        }
        let family = usize::from(remote.is_ipv6());
        let at = self.servers.iter().position(|server| server.ends == (here, there));
        let Some(at) = at else { return Some((FastOpenCookie::REQUEST, UNKNOWN[family])) };
        self.servers[at..].rotate_left(1);
        let server = self.servers.last()?;
        Some((server.cookie, server.mss.unwrap_or(UNKNOWN[family]).min(GREATEST[family])))
    }

    /// Takes what a connection has learnt.
    pub(super) fn learn(&mut self, now: u64, local: SocketAddr, remote: SocketAddr, lesson: FastOpenLesson) {
        let (here, there) = (Key::new(local.ip()), Key::new(remote.ip()));
        let port = (here, there, remote.port());
        let at = self.failed.iter().position(|failed| failed.ends == port);
        let before = at.map_or(0, |at| self.failed.remove(at).times);
        match lesson {
            FastOpenLesson::Failed => {
                let until = now.saturating_add(PAUSE << before.min(DOUBLED));
                push(&mut self.failed, Failed { ends: port, until, times: before + 1 });
            }
            FastOpenLesson::Answered { cookie, mss } => {
                let at = self.servers.iter().position(|server| server.ends == (here, there));
                let known = at.map(|at| self.servers.remove(at));
                if let Some(cookie) = cookie.or(known.map(|known| known.cookie)) {
                    let mss = mss.or(known.and_then(|known| known.mss));
                    push(&mut self.servers, Server { ends: (here, there), cookie, mss });
                }
            }
        }
    }
}

/// Adds to a table; what was used least lately gives way.
fn push<T>(table: &mut Vec<T>, new: T) {
    if table.len() >= MOST {
        table.remove(0);
    }
    table.push(new);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn to(last: u8, port: u16) -> SocketAddr {
        SocketAddr::from(([10, 0, 0, last], port))
    }

    fn given(byte: u8, mss: u16) -> FastOpenLesson {
        FastOpenLesson::Answered { cookie: FastOpenCookie::new(&[byte; 8]), mss: Some(mss) }
    }

    #[test]
    fn a_cookie_is_its_addresses_and_its_ticks() {
        let ends = |here: u8, there: u8, port: u16| {
            Ends((Key::new(to(here, 0).ip()), 80), (Key::new(to(there, 0).ip()), port))
        };
        let one = cookie(7, Secret::new(1), ends(1, 2, 4000));
        assert_eq!(one.bytes().len(), 8);
        assert_eq!(one, cookie(7, Secret::new(1), ends(1, 2, 4001)), "a client's, whatever its port");
        for other in [cookie(8, Secret::new(1), ends(1, 2, 4000)), cookie(7, Secret::new(2), ends(1, 2, 4000))] {
            assert_ne!(one, other);
        }
        assert_ne!(one, cookie(7, Secret::new(1), ends(1, 3, 4000)));
        assert_ne!(one, cookie(7, Secret::new(1), ends(3, 2, 4000)));
    }

    #[test]
    fn a_servers_cookie_and_size_are_known_for_all_its_ports() {
        let mut known = Known::default();
        let (us, request) = (to(1, 0), FastOpenCookie::REQUEST);
        assert_eq!(known.option(0, us, to(2, 80)), Some((request, 536)));
        let v6 = ("[fd00::1]:0".parse().unwrap(), "[fd00::2]:80".parse().unwrap());
        assert_eq!(known.option(0, v6.0, v6.1), Some((request, 1220)));
        known.learn(0, us, to(2, 80), given(5, 1000));
        let cookie = FastOpenCookie::new(&[5; 8]).unwrap();
        assert_eq!(known.option(0, us, to(2, 81)), Some((cookie, 1000)));
        assert_eq!(known.option(0, us, to(3, 80)), Some((request, 536)));
        assert_eq!(known.option(0, to(9, 0), to(2, 80)), Some((request, 536)), "given to another address of ours");
        let size = FastOpenLesson::Answered { cookie: None, mss: Some(9000) };
        known.learn(0, us, to(2, 80), size);
        assert_eq!(known.option(0, us, to(2, 80)), Some((cookie, 1460)));
        known.learn(0, us, to(3, 80), size);
        assert_eq!(known.option(0, us, to(3, 80)), Some((request, 536)), "it has given no cookie");
    }

    #[test]
    fn what_has_failed_is_left_for_a_time() {
        let mut known = Known::default();
        let (us, server) = (to(1, 0), to(2, 80));
        let tried = |known: &mut Known, now| known.option(now * SECOND, us, server).is_some();
        known.learn(0, us, server, FastOpenLesson::Failed);
        assert!(!tried(&mut known, 59) && tried(&mut known, 60));
        assert!(known.option(0, us, to(2, 81)).is_some(), "another port");
        known.learn(60 * SECOND, us, server, FastOpenLesson::Failed);
        assert!(!tried(&mut known, 60 + 119) && tried(&mut known, 60 + 120));
        (0..100).for_each(|_| known.learn(0, us, server, FastOpenLesson::Failed));
        assert!(!tried(&mut known, 3839) && tried(&mut known, 3840));
        known.learn(0, us, server, given(1, 1460));
        known.learn(0, us, server, FastOpenLesson::Failed);
        assert!(tried(&mut known, 60), "it has worked in between");
    }

    #[test]
    fn the_memory_is_bounded() {
        let mut known = Known::default();
        let us = to(1, 0);
        let server = |i: u32| SocketAddr::from((std::net::Ipv4Addr::from_bits(0x0a01_0000 + i), 80));
        for i in 0..1000 {
            known.learn(0, us, server(i), given(1, 1460));
            assert!(
                known.option(0, us, server(0)).is_some_and(|(cookie, _)| !cookie.is_request()),
                "the first is used"
            );
            known.learn(0, us, server(i + 5000), FastOpenLesson::Failed);
        }
        assert_eq!((known.servers.len(), known.failed.len()), (MOST, MOST));
    }
}

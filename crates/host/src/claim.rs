//! Stations that claim an IPv4 address (RFC 5227): an ARP probe is answered by all that have it.

use crate::sys::arp;
use std::io::{self, ErrorKind};
use std::net::{Ipv4Addr, UdpSocket};
use std::time::{Duration, Instant};

/// Bytes of an ARP packet for IPv4 over Ethernet.
const LENGTH: usize = 28;
/// Claims that are kept: one station may make any number of them.
const MOST: usize = 64;
/// Times that a probe is sent.
const PROBES: u32 = 2;

/// A probe: who has the address? A sender that names none of its own is one of whom nobody learns anything (section 2.1.1).
fn probe(mac: [u8; 6], from: Option<Ipv4Addr>, address: Ipv4Addr) -> [u8; LENGTH] {
    let mut packet = [0; LENGTH];
    // Ethernet, IPv4, their lengths, and a request.
    packet[..8].copy_from_slice(&[0, 1, 8, 0, 6, 4, 0, 1]);
    packet[8..14].copy_from_slice(&mac);
    packet[14..18].copy_from_slice(&from.unwrap_or(Ipv4Addr::UNSPECIFIED).octets());
    packet[24..].copy_from_slice(&address.octets());
    packet
}

/// Address and station of an ARP packet, whether it asks or answers.
fn claim(packet: &[u8]) -> Option<(Ipv4Addr, [u8; 6])> {
    let packet = packet.get(..LENGTH).filter(|packet| packet[..6] == [0, 1, 8, 0, 6, 4])?;
    let address = Ipv4Addr::from(*packet[14..].first_chunk::<4>()?);
    Some((address, *packet[8..].first_chunk::<6>()?)).filter(|_| !address.is_unspecified())
}

/// Stations that claim one of these addresses, each once, but not `mac` itself: the one of the interface, whose address
/// is `own`.
///
/// # Errors
/// There is no socket for it: it takes CAP_NET_RAW.
pub fn claims(
    index: u32,
    (mac, own): ([u8; 6], Option<Ipv4Addr>),
    of: &[Ipv4Addr],
    limit: Duration,
) -> io::Result<Vec<(Ipv4Addr, [u8; 6])>> {
    // The kernel's sockets are all read in one way.
    let socket = UdpSocket::from(arp::open(index)?);
    let mut found = Vec::new();
    for round in 0..PROBES {
        // Who answers for others asks who wants to know; of the own address that would be a claim itself.
        let from = |address: &Ipv4Addr| own.filter(|own| round > 0 && own != address);
        of.iter().try_for_each(|address| arp::send(&socket, index, &probe(mac, from(address), *address)))?;
        let until = Instant::now() + limit / PROBES;
        let mut packet = [0; 64];
        loop {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            socket.set_read_timeout(Some(left.max(Duration::from_millis(1))))?;
            match socket.recv(&mut packet) {
                Ok(n) => {
                    let claim = packet.get(..n).and_then(claim);
                    let news = claim.filter(|one| of.contains(&one.0) && one.1 != mac && !found.contains(one));
                    found.extend(news.filter(|_| found.len() < MOST));
                }
                Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => break,
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_claim_is_an_address_and_its_station() {
        let mac = [2, 0, 0, 0, 0, 9];
        let address = Ipv4Addr::new(10, 0, 0, 1);
        let asked = probe(mac, None, address);
        assert_eq!(claim(&asked), None, "a probe claims nothing");
        let mut answer = asked;
        answer[7] = 2;
        answer[14..18].copy_from_slice(&address.octets());
        assert_eq!(claim(&answer), Some((address, mac)));
        assert_eq!(claim(&answer[..27]), None);
        answer[1] = 6;
        assert_eq!(claim(&answer), None, "no Ethernet");
    }
}

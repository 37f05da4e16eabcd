//! No frame is sent with an outdated header: hosts go through the same changes, one using the fast path, one the general
//! path only, and one with headers that the sockets' owner keeps, changed by another shard than the one that sends. Their
//! frames are equal, bit for bit.

use linerate_ring::{Region, RegionConfig, Sharing, TxRing};
use linerate_stack::{Cidr, Config, Fills, Host, Path, Prepared, Route, SendError, UdpId};
use linerate_sum::SplitMix64;
use linerate_wire::{ArpOperation, ArpRepr, EtherType, EthernetRepr, MacAddr, VlanTag};
use std::net::{IpAddr, SocketAddr};

/// SplitMix64: all events follow from the seed.
struct Dice(SplitMix64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0.next_u64()
    }

    fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }

    fn of<T: Copy>(&mut self, all: &[T]) -> T {
        all[usize::try_from(self.below(all.len() as u64)).unwrap()]
    }
}

/// A host, its ring, and its sockets.
struct One {
    host: Host,
    /// Another shard of it, to which changes are made.
    changed: Option<Host>,
    ring: TxRing,
    sockets: Vec<UdpId>,
    /// Headers that are kept for the sockets; none are if there is one shard.
    kept: Vec<Option<Prepared>>,
    by_kept: u64,
}

const PORTS: [u16; 3] = [7001, 7002, 7003];

impl One {
    fn new(path: Path) -> Self {
        Self::with(path, false)
    }

    /// `shards`: changes are made to another shard than the one that sends.
    fn with(path: Path, shards: bool) -> Self {
        let mut config = Config::new(MacAddr([2, 0, 0, 0, 0, 1]), 7);
        config.mtu = 1500;
        let mut host = Host::new(&config).unwrap();
        host.set_path(path);
        host.add_address(cidr("10.0.0.1/24")).unwrap();
        host.add_address(cidr("fd00::1/64")).unwrap();
        let region =
            RegionConfig { buf_size: 2048, buffers: 256, ring_bytes: 65536, sharing: Sharing::Private, huge: false };
        let ring = TxRing::new(&Region::new(&region).unwrap(), 0, 128).unwrap();
        let any = ["0.0.0.0", "0.0.0.0", "::"];
        let bind = |(ip, port): (&str, u16)| SocketAddr::new(ip.parse().unwrap(), port);
        let sockets: Vec<_> = any.into_iter().zip(PORTS).map(|at| host.udp_bind(bind(at)).unwrap()).collect();
        let (other, kept) = (host.shard(), vec![None; sockets.len()]);
        Self { host, changed: shards.then_some(other), ring, sockets, kept, by_kept: 0 }
    }

    /// Sends, with kept headers if there are valid ones.
    fn send(&mut self, now: u64, socket: usize, to: Option<SocketAddr>, body: &[u8]) -> Result<(), SendError> {
        let Self { host, changed, ring, sockets, kept, by_kept } = self;
        let id = sockets[socket];
        let peer = host.udp_ends(id).and_then(|(_, peer)| peer);
        let headers = kept[socket].as_mut().filter(|kept| changed.is_some() && to.or(peer) == Some(kept.to()));
        if let Some(sent) = headers.and_then(|kept| kept.send(now, body, ring)) {
            *by_kept += 1;
            return if sent { Ok(()) } else { Err(SendError::NoRoom) };
        }
        let sent = host.udp_send(now, id, to, body, ring);
        kept[socket] = host.udp_prepared(id);
        sent
    }

    /// Frames sent since the last call, each with its request.
    fn sent(&mut self) -> Vec<(Vec<u8>, Option<linerate_ring::Meta>)> {
        let n = self.ring.pending();
        let frames = (0..n).map(|i| (self.ring.pending_frame(i).to_vec(), self.ring.pending_meta(i))).collect();
        self.ring.own().unwrap().take(n);
        self.ring.own().unwrap().complete(n);
        frames
    }
}

fn cidr(text: &str) -> Cidr {
    text.parse().unwrap()
}

fn gratuitous(ip: [u8; 4], mac: MacAddr, vlan: bool) -> Vec<u8> {
    let mut frame = vec![0; 64];
    let ethertype = if vlan { EtherType::VLAN } else { EtherType::ARP };
    let rest = EthernetRepr { dst: MacAddr::BROADCAST, src: mac, ethertype }.emit(&mut frame).unwrap();
    let rest = if vlan {
        rest[..4].copy_from_slice(&[0, 100, 0x08, 0x06]);
        &mut rest[4..]
    } else {
        rest
    };
    let arp = ArpRepr {
        operation: ArpOperation::REQUEST,
        sender_mac: mac,
        sender_ip: ip.into(),
        target_mac: MacAddr::UNSPECIFIED,
        target_ip: ip.into(),
    };
    arp.emit(rest).unwrap();
    frame
}

/// Makes one change, the same to all hosts.
fn change(dice: &mut Dice, hosts: &mut [One; 3], now: u64) {
    let what = dice.below(14);
    let mac = MacAddr([2, 0, 0, 0, 1, u8::try_from(dice.below(8)).unwrap()]);
    let neighbour: IpAddr = dice.of(&["10.0.0.2", "10.0.0.3", "10.0.0.254", "fd00::2", "fd00::3"]).parse().unwrap();
    let on = dice.below(2) == 0;
    let address = dice.of(&["10.0.0.1/24", "10.0.0.9/24", "10.0.1.1/24", "fd00::1/64", "fd00::9/64", "fd01::1/64"]);
    let network = dice.of(&["0.0.0.0/0", "10.5.0.0/16", "10.5.5.0/24", "::/0", "fd05::/32"]);
    let routers = if network.contains(':') { ["fd00::2", "fd00::3"] } else { ["10.0.0.254", "10.0.0.2"] };
    let router: IpAddr = dice.of(&routers).parse().unwrap();
    let mtu = usize::try_from(1280 + dice.below(220)).unwrap();
    let fills = Fills { v4: on, v6: dice.below(2) == 0 };
    let socket = usize::try_from(dice.below(3)).unwrap();
    let to = destination(dice, socket == 2);
    for One { host: sends, changed, ring, sockets, .. } in hosts {
        // Sockets and fills belong to a shard.
        let host = match changed {
            Some(changed) if what < 12 || what > 12 && dice_of(now) < 2 => changed,
            _ => sends,
        };
        match what {
            0 => drop(host.neighbours().insert_permanent(neighbour, mac)),
            1 => drop(host.neighbours().remove(neighbour)),
            2 | 3 => host.handle(now, &gratuitous([10, 0, 0, 2], mac, on), None, ring),
            4 => drop(host.add_address(cidr(address))),
            5 => drop(host.remove_address(cidr(address).addr())),
            6 | 7 => drop(host.set_route(Route { to: cidr(network), via: Some(router) })),
            8 => drop(host.remove_route(cidr(network))),
            9 => drop(host.set_mtu(mtu)),
            10 => host.set_mac(MacAddr([2, 0, 0, 0, 0, mac.0[5]])),
            11 => host.set_vlan(if on { Some(VlanTag::new(0, false, 100).unwrap()) } else { None }),
            12 => host.set_fills(fills),
            _ => match dice_of(now) {
                // Down is rare, or nothing would be sent.
                0 => host.set_up(!(now / 1000).is_multiple_of(8)),
                1 => host.neighbours().flush(),
                _ => drop(host.udp_connect(sockets[socket], if on { Some(to) } else { None })),
            },
        }
    }
}

fn dice_of(now: u64) -> u64 {
    (now / 1000).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 62
}

/// A destination, mostly of the requested family, or nothing would be sent.
fn destination(dice: &mut Dice, v6: bool) -> SocketAddr {
    let all = [
        "10.0.0.2",
        "10.0.0.3",
        "10.0.0.255",
        "10.5.5.5",
        "10.5.6.7",
        "8.8.8.8",
        "10.0.1.7",
        "fd00::2",
        "fd00::3",
        "fd05::1",
        "2001:db8::1",
    ];
    let mut ip = dice.of(&all);
    while ip.contains(':') != v6 && dice.below(8) > 0 {
        ip = dice.of(&all);
    }
    SocketAddr::new(ip.parse().unwrap(), 9000 + u16::try_from(dice.below(2)).unwrap())
}

#[test]
fn a_million_changes_leave_no_stale_frame() {
    // Miri and sanitizers run fewer changes.
    let changes: u64 = std::env::var("LINERATE_CHANGES").ok().and_then(|n| n.parse().ok()).unwrap_or(1_000_000);
    let mut dice = Dice(SplitMix64::new(0x11_2e_4a_7e));
    let mut hosts = [One::new(Path::Fast), One::new(Path::Long), One::with(Path::Fast, true)];
    let (mut sent, mut errors) = (0u64, 0u64);
    for step in 0..changes {
        // A second in all: the ageing of neighbours has its own test.
        let now = 1_000_000_000 + step * 1000;
        change(&mut dice, &mut hosts, now);
        let (mut socket, mut to) = (0, None);
        for i in 0..dice.below(5) {
            // Some go to the same destination as the one before.
            if i == 0 || dice.below(3) == 0 {
                socket = usize::try_from(dice.below(3)).unwrap();
                to = if dice.below(4) == 0 { None } else { Some(destination(&mut dice, socket == 2)) };
            }
            let longest = if dice.below(8) == 0 { 1500 } else { 60 };
            let body = vec![u8::try_from(step % 251).unwrap(); usize::try_from(dice.below(longest)).unwrap()];
            let results = hosts.each_mut().map(|one| one.send(now, socket, to, &body));
            assert!(results.iter().all(|result| *result == results[0]), "step {step}: {results:?}");
            let [fast, long, kept] = hosts.each_mut().map(One::sent);
            assert_eq!(fast, long, "step {step}: socket {socket} to {to:?}");
            assert_eq!(long, kept, "step {step}: socket {socket} to {to:?}, with kept headers");
            sent += u64::from(results[0].is_ok());
            errors += u64::from(results[0].is_err());
        }
    }
    let counters = hosts[0].host.counters();
    assert_eq!(hosts[1].host.counters().udp_fast + hosts[1].host.counters().udp_flow, 0);
    // The test is worth something only if all paths were taken often.
    assert!(counters.udp_fast > sent / 20, "{} of {sent} by the fast path", counters.udp_fast);
    assert!(counters.udp_flow > sent / 100, "{} of {sent} by the flow table", counters.udp_flow);
    assert!(hosts[2].by_kept > sent / 20, "{} of {sent} with kept headers", hosts[2].by_kept);
    assert!(errors > sent / 100 && sent > changes / 2, "{sent} sent, {errors} refused");
}

#[test]
fn a_kept_header_is_looked_at_again_in_a_second() {
    let mut one = One::new(Path::Fast);
    let to = "10.0.0.2:9".parse().unwrap();
    one.host.neighbours().insert_permanent([10, 0, 0, 2].into(), MacAddr([2; 6])).unwrap();
    let mut at = |now: u64| {
        let id = one.sockets[0];
        let sent = one.host.udp_send(now, id, Some(to), b"x", &mut one.ring);
        assert_eq!((sent, one.sent().len()), (Ok(()), 1));
        one.host.counters().udp_fast
    };
    assert_eq!([at(0), at(1), at(999_999_999), at(1_000_000_000), at(1_000_000_001)], [0, 1, 2, 2, 3]);
}

#[test]
fn a_full_ring_is_said_and_nothing_is_half_sent() {
    let mut one = One::new(Path::Fast);
    one.host.neighbours().insert_permanent([10, 0, 0, 2].into(), MacAddr([2; 6])).unwrap();
    let (id, to) = (one.sockets[0], "10.0.0.2:9".parse().unwrap());
    let results: Vec<_> = (0..200).map(|_| one.host.udp_send(0, id, Some(to), b"x", &mut one.ring)).collect();
    assert_eq!(results.iter().filter(|r| r.is_ok()).count(), 127);
    assert!(results[127..].iter().all(|r| *r == Err(SendError::NoRoom)));
    let sent = one.sent();
    assert!(sent.len() == 127 && sent.iter().all(|frame| *frame == sent[0]));
    assert_eq!(one.host.udp_send(0, id, Some(to), b"x", &mut one.ring), Ok(()));
    assert_eq!(one.sent(), sent[..1]);
}

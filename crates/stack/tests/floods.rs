//! Floods use fixed memory and leave the host working: allocations are counted.

#[expect(dead_code, reason = "other tests need more of it")]
mod world;

use std::alloc::{GlobalAlloc, Layout, System};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use world::*;

/// Counts bytes allocated and not freed.
struct Counting;

static HELD: AtomicUsize = AtomicUsize::new(0);

// SAFETY: passes everything to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        HELD.fetch_add(layout.size(), Relaxed);
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        HELD.fetch_sub(layout.size(), Relaxed);
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Most bytes that all tables of a host may use beyond those of a new one: reassembly's 4 MB and as much for its trees
/// and spare capacity, 1 MB of packets that wait for neighbours, and some more.
const MOST: usize = 10 << 20;
const FRAMES: u32 = 200_000;

/// Spreads the bits of a counter: a different value at each step.
fn spread(i: u32) -> u32 {
    i.wrapping_add(1).wrapping_mul(0x9e37_79b9).rotate_left(13).wrapping_mul(0x85eb_ca6b)
}

fn v4_of(i: u32) -> Ipv4Addr {
    let [_, b, c, d] = spread(i).to_be_bytes();
    // 10.0.0.0/24 has only 253 other hosts: the flood comes from the whole network.
    Ipv4Addr::new(10, b, c, d)
}

fn v6_of(i: u32) -> IpAddr {
    IpAddr::V6(Ipv6Addr::from_bits(0xfd00 << 112 | u128::from(spread(i)) << 8 | 0x99))
}

fn mac_of(i: u32) -> linerate_wire::MacAddr {
    let [a, b, c, d] = spread(i).to_be_bytes();
    linerate_wire::MacAddr([2, 1, a, b, c, d])
}

/// The `i`th frame of a flood.
type Flood = fn(u32) -> Vec<u8>;

const FLOODS: [(&str, Flood); 9] = [
    ("ARP requests for us", |i| {
        arp(1, (mac_of(i), v4_of(i)), (linerate_wire::MacAddr::UNSPECIFIED, Ipv4Addr::new(10, 0, 0, 1)), ALL)
    }),
    ("ARP replies", |i| arp(2, (mac_of(i), v4_of(i)), (US, Ipv4Addr::new(10, 0, 0, 1)), US)),
    ("gratuitous ARP", |i| arp(1, (mac_of(i), v4_of(i)), (linerate_wire::MacAddr::UNSPECIFIED, v4_of(i)), ALL)),
    ("solicitations", |i| discovery(v6_of(i), group(), 135, 0, us6(), Some((1, mac_of(i))))),
    ("advertisements", |i| discovery(v6_of(i), us6(), 136, 0x60, v6_of(i), Some((2, mac_of(i))))),
    ("fragments over IPv4", |i| {
        let (from, offset) = (v4_of(i / 3).into(), u16::try_from(i % 3 * 1400).unwrap());
        fragment(from, us4(), UDP, (u16::try_from(i % 65536).unwrap(), offset, true), &[7; 1400])
    }),
    ("fragments over IPv6", |i| {
        let offset = u16::try_from(i % 40 * 1400).unwrap();
        fragment(v6_of(i / 40), us6(), UDP, (1, offset, true), &[7; 1400])
    }),
    ("broadcasts", |i| to(ALL, datagram(v4_of(i).into(), ip("10.255.255.255"), 7, &[7; 1000]))),
    ("requests from spoofed stations", |i| {
        let mut frame =
            if i % 2 == 0 { ping(v4_of(i).into(), us4(), &[7; 900]) } else { ping(v6_of(i), us6(), &[7; 900]) };
        frame[6..12].copy_from_slice(&mac_of(i).0);
        frame
    }),
];

/// Lets the peer be resolved, and answers for it.
fn answered(world: &mut World) {
    for (peer, us) in families() {
        let id = world.bind(us, 6000);
        assert_eq!(world.send(id, (peer, 9), b"x").len(), 1);
        let answer = match peer {
            IpAddr::V4(ip) => arp(2, (PEER, ip), (US, Ipv4Addr::new(10, 0, 0, 1)), US),
            IpAddr::V6(_) => discovery(peer, us, 136, 0x60, peer, Some((2, PEER))),
        };
        assert_eq!(world.take(&answer).len(), 1);
        assert!(world.host.udp_close(id));
    }
}

/// Checks that the peer's datagram is delivered and answered, and its ping answered.
fn served(world: &mut World) {
    world.sent_with();
    for (peer, us) in families() {
        let id = world.bind(us, 6000);
        assert!(world.take(&datagram(peer, us, 6000, b"still there?")).is_empty());
        let (body, from) = world.recv(id).expect("delivered");
        assert_eq!(body, b"still there?");
        let answers = world.send(id, (from.ip(), from.port()), &body);
        assert!(answers.iter().any(|frame| frame.ends_with(b"still there?") && stations(frame) == (US, PEER)));
        assert!(world.host.udp_close(id));
        assert!(world.take(&ping(peer, us, b"x")).iter().any(|frame| stations(frame) == (US, PEER)));
    }
}

/// The only test in this program, so that nothing else allocates.
#[test]
fn floods_stay_in_fixed_memory_and_leave_the_host_working() {
    for (name, flood) in FLOODS {
        let mut world = World::alone();
        // A network wide enough for the flood; the peer is known and has answered.
        world.host.add_address("10.0.0.1/8".parse().unwrap()).unwrap();
        answered(&mut world);
        let (all, closed) = (world.bind(ip("0.0.0.0"), 7), world.bind(us4(), 8));
        world.host.udp_connect(closed, Some(SocketAddr::new(peer4(), 9)));
        let (before, mut most) = (HELD.load(Relaxed), 0);
        for i in 0..FRAMES {
            world.host.handle(world.now, &flood(i), None, &mut world.ring);
            // 100 000 a second, and all frames sent leave.
            world.now += 10_000;
            if i % 64 == 0 {
                world.host.poll(world.now, &mut world.ring);
                if i % 65_536 == 0 {
                    served(&mut world);
                }
                let n = world.ring.pending();
                world.ring.own().unwrap().take(n);
                world.ring.own().unwrap().complete(n);
                most = most.max(HELD.load(Relaxed).saturating_sub(before));
            }
        }
        assert!(most < MOST, "{name}: {most} bytes");
        assert!(world.host.neighbours().len() <= 1024, "{name}");
        assert!(world.host.neighbours().held_bytes() <= 1_000_000, "{name}");
        assert_eq!(world.host.counters().unexplained(), 0, "{name}");
        while world.recv(all).is_some() {}
        served(&mut world);
        // No memory stays in use.
        world.later(100 * SECOND);
        (0..10).for_each(|_| drop(world.later(SECOND)));
        let left = HELD.load(Relaxed).saturating_sub(before);
        assert!(left < 200_000, "{name}: {left} bytes stay");
    }
}
